//! A small model in memory whose metadata and weights can be changed.
//!
//! For tests and negative controls: a model is read, broken on purpose, and written again.

use llm::gguf::Gguf;
use ops::GgmlType;

use crate::gguf_writer::{Header, Value};
use crate::requantize::{Error, Target, copy_metadata, encode, values_of};

/// One tensor as f32.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Name in the file.
    pub name: String,
    /// Fastest dimension first.
    pub dims: Vec<u64>,
    /// `dims` values, rows contiguous.
    pub values: Vec<f32>,
}

impl Tensor {
    /// Length of a row.
    pub fn cols(&self) -> usize {
        self.dims[0] as usize
    }

    /// Puts old row `order(new row)` in each row; a vector's values count as rows of one.
    pub fn reorder_rows(&mut self, order: impl Fn(usize) -> usize) {
        let width = if self.dims.len() == 1 { 1 } else { self.cols() };
        let n_rows = self.values.len() / width;
        self.values = (0..n_rows)
            .flat_map(|row| self.values[order(row) * width..][..width].to_vec())
            .collect();
    }

    /// Puts old column `order(new column)` in each column.
    pub fn reorder_cols(&mut self, order: impl Fn(usize) -> usize) {
        let cols = self.cols();
        self.values = self
            .values
            .chunks_exact(cols)
            .flat_map(|row| (0..cols).map(|col| row[order(col)]).collect::<Vec<_>>())
            .collect();
    }
}

/// Metadata and tensors of a file.
#[derive(Clone, Debug)]
pub struct Editable {
    /// The metadata.
    pub header: Header,
    /// In file order.
    pub tensors: Vec<Tensor>,
}

impl Editable {
    /// Reads a file in memory.
    ///
    /// # Errors
    /// A file that is no sound GGUF, or a tensor type without a decoder.
    pub fn parse(file: &[u8]) -> Result<Editable, Error> {
        let gguf = Gguf::parse(file, file.len() as u64)?;
        let mut tensors = Vec::new();
        for tensor in gguf.tensors() {
            let start = tensor.offset_bytes as usize;
            let bytes = &file[start..start + tensor.len_bytes as usize];
            tensors.push(Tensor {
                name: tensor.name.to_owned(),
                dims: tensor.dims.to_vec(),
                values: values_of(tensor, bytes)?,
            });
        }
        Ok(Editable {
            header: copy_metadata(&gguf),
            tensors,
        })
    }

    /// Tensors whose name ends in `suffix`.
    pub fn ending_in<'a>(&'a mut self, suffix: &'a str) -> impl Iterator<Item = &'a mut Tensor> {
        self.tensors
            .iter_mut()
            .filter(move |t| t.name.ends_with(suffix))
    }

    fn key(&self, part: &str) -> Option<String> {
        let arch = self.header.get("general.architecture")?.as_str()?;
        Some(format!("{arch}.{part}"))
    }

    /// The value of `{architecture}.{part}`.
    pub fn get(&self, part: &str) -> Option<&Value> {
        self.header.get(&self.key(part)?)
    }

    /// The unsigned number under `{architecture}.{part}`.
    pub fn size(&self, part: &str) -> Option<usize> {
        Some(self.get(part)?.as_u32()? as usize)
    }

    /// Sets `{architecture}.{part}`.
    pub fn set(&mut self, part: &str, value: Value) {
        if let Some(key) = self.key(part) {
            self.header.set(key, value);
        }
    }

    /// The file, its matrices in `ggml_type`.
    ///
    /// # Errors
    /// A type that cannot be made, weights that are not finite.
    pub fn write(&self, ggml_type: GgmlType) -> Result<Vec<u8>, Error> {
        let target = Target {
            ggml_type,
            pure: true,
        };
        let tensors = self.tensors.iter();
        let tensors: Vec<_> = tensors
            .map(|t| target.tensor(&t.name, &t.dims, t))
            .collect();
        self.header
            .write(Vec::new(), &tensors, &mut |_, _| (), |tensor, rows| {
                let (values, cols) = (&tensor.source.values, tensor.cols());
                let values = &values[(rows.start * cols) as usize..(rows.end * cols) as usize];
                encode(&tensor.name, values, tensor.ggml_type)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::{Editable, Tensor};
    use crate::synth::{Shape, bytes};
    use ops::GgmlType;

    #[test]
    fn an_unchanged_model_is_the_same_file() {
        let file = bytes(&Shape::qwen2(), GgmlType::F32);
        let model = Editable::parse(&file).unwrap();
        assert_eq!(model.size("embedding_length"), Some(64));
        assert_eq!(model.write(GgmlType::F32).unwrap(), file);
    }

    #[test]
    fn rows_and_columns_move() {
        let mut tensor = Tensor {
            name: "t".into(),
            dims: vec![3, 2],
            values: vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0],
        };
        tensor.reorder_rows(|row| 1 - row);
        assert_eq!(tensor.values, [10.0, 11.0, 12.0, 0.0, 1.0, 2.0]);
        tensor.reorder_cols(|col| (col + 1) % 3);
        assert_eq!(tensor.values, [11.0, 12.0, 10.0, 1.0, 2.0, 0.0]);
        let mut bias = Tensor {
            name: "b".into(),
            dims: vec![3],
            values: vec![0.0, 1.0, 2.0],
        };
        bias.reorder_rows(|row| 2 - row);
        assert_eq!(bias.values, [2.0, 1.0, 0.0]);
    }
}
