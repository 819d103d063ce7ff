//! A GGUF file in other weight types: matrices re-encoded, everything else as it was.
//!
//! A matrix that already has the wanted type is copied byte for byte.

use std::io::Write;

use llm::gguf::{self, Gguf, TensorInfo};
use llm::source::ModelSource;
use ops::GgmlType;

use crate::dequantize::dequantize;
use crate::gguf_writer::{self, Header, Tensor, Value};
use crate::quantize::{TARGETS, quantize};

/// What to make of the matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// One of [`TARGETS`].
    pub ggml_type: GgmlType,
    /// Whether embedding and output matrix follow a 4-bit type; otherwise they become Q8_0.
    pub pure: bool,
}

impl Target {
    /// A tensor in the type in which it is stored; `dims` has the row length first.
    ///
    /// Vectors stay F32: they are small and sensitive. Rows that do not fill whole blocks are kept
    /// in F16.
    pub fn tensor<S>(self, name: &str, dims: &[u64], source: S) -> Tensor<S> {
        let ends = ["token_embd.weight", "output.weight"];
        let four_bit = matches!(self.ggml_type, GgmlType::Q4_0 | GgmlType::Q4_1);
        let wanted = if four_bit && !self.pure && ends.contains(&name) {
            GgmlType::Q8_0
        } else {
            self.ggml_type
        };
        let ggml_type = match dims {
            [_] => GgmlType::F32,
            [cols, ..] if cols.is_multiple_of(wanted.block_len() as u64) => wanted,
            _ => GgmlType::F16,
        };
        Tensor {
            name: name.to_owned(),
            ggml_type,
            dims: dims.to_vec(),
            source,
        }
    }
}

/// Writes the model of `source` to `out`; `progress` gets bytes done and in all.
///
/// # Errors
/// A source that is no sound GGUF, a tensor type without a decoder, weights that are not finite,
/// failing reads and writes.
pub fn requantize<W: Write, E: std::error::Error + Send + Sync + 'static>(
    source: &mut dyn ModelSource<Error = E>,
    target: Target,
    out: W,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<W, Error> {
    if !TARGETS.contains(&target.ggml_type) {
        return Err(Error::NoEncoder {
            ggml_type: target.ggml_type,
        });
    }
    let gguf = Gguf::read(source).map_err(|e| Error::Source(e.into()))?;
    let mut header = copy_metadata(&gguf);
    header.set_file_type(target.ggml_type);
    note_source(&gguf, target.ggml_type, &mut header);
    let infos = gguf.tensors();
    let tensors: Vec<_> = infos
        .map(|info| target.tensor(&info.name, &info.dims, info))
        .collect();
    header.write(out, &tensors, progress, |tensor, rows| {
        let info = tensor.source;
        let row_bytes = info.len_bytes / info.rows();
        let mut bytes = vec![0; ((rows.end - rows.start) * row_bytes) as usize];
        source
            .read_at(info.offset_bytes + rows.start * row_bytes, &mut bytes)
            .map_err(|e| Error::Source(e.into()))?;
        if tensor.ggml_type == info.ggml_type {
            return Ok(bytes);
        }
        encode(&info.name, &values_of(info, &bytes)?, tensor.ggml_type)
    })
}

/// Notes that the weights come from fewer bits, which more bits make no better: `pilm.requantized_from` is the type of
/// most of the source's bytes, `pilm.requantized_from_bytes` what a token reads of them. An earlier note stays.
fn note_source(gguf: &Gguf<'_>, target: GgmlType, header: &mut Header) {
    let matrices: Vec<&TensorInfo> = gguf.tensors().filter(|tensor| tensor.rows() > 1).collect();
    let bytes_of = |ggml_type: GgmlType| -> u64 {
        let of_type = matrices
            .iter()
            .filter(|tensor| tensor.ggml_type == ggml_type);
        of_type.map(|tensor| tensor.len_bytes).sum()
    };
    let types = matrices.iter().map(|tensor| tensor.ggml_type);
    let source = types.max_by_key(|&ggml_type| bytes_of(ggml_type));
    let bits = |t: GgmlType| 8.0 * t.block_bytes() as f64 / t.block_len() as f64;
    let is_noted = gguf.iter().any(|(key, _)| key == "pilm.requantized_from");
    if let Some(source) = source.filter(|&source| bits(source) < bits(target) && !is_noted)
        && let Ok(bytes) = u32::try_from(gguf.bytes_per_token())
    {
        header.set("pilm.requantized_from", Value::str(source.name()));
        header.set("pilm.requantized_from_bytes", Value::u32(bytes));
    }
}

/// Whole rows of `tensor` as f32.
pub(crate) fn values_of(tensor: &TensorInfo, rows: &[u8]) -> Result<Vec<f32>, Error> {
    dequantize(tensor.ggml_type, rows).ok_or_else(|| Error::NoDecoder {
        tensor: tensor.name.to_owned(),
        ggml_type: tensor.ggml_type,
    })
}

/// Values of the tensor `name` in `stored`, one of [`TARGETS`].
///
/// # Errors
/// [`Error::NotFinite`] when there is a NaN or an infinity, [`Error::NoEncoder`].
pub fn encode(name: &str, values: &[f32], stored: GgmlType) -> Result<Vec<u8>, Error> {
    if !values.iter().all(|v| v.is_finite()) {
        return Err(Error::NotFinite {
            tensor: name.to_owned(),
        });
    }
    let mut encoded = Vec::new();
    if TARGETS.contains(&stored) && quantize(stored, values, &mut encoded) {
        Ok(encoded)
    } else {
        Err(Error::NoEncoder { ggml_type: stored })
    }
}

/// A header with the metadata of `gguf`.
pub fn copy_metadata(gguf: &Gguf<'_>) -> Header {
    let mut header = Header::default();
    for (key, value) in gguf.iter() {
        header.set(key, Value::copy_of(&value));
    }
    header
}

/// Why a model could not be re-encoded.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are what the sentences of Display print"
)]
pub enum Error {
    /// The source is not a sound GGUF file.
    #[error(transparent)]
    Gguf(#[from] gguf::Error),
    /// The source could not be read, or its header is unsound.
    #[error(transparent)]
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// The result could not be written.
    #[error(transparent)]
    Write(#[from] gguf_writer::Error),
    /// A wanted type that cannot be made.
    #[error("{ggml_type} cannot be made; choose {}", TARGETS.map(GgmlType::name).join(", "))]
    NoEncoder { ggml_type: GgmlType },
    /// A source type that cannot be read.
    #[error("tensor {tensor} has type {ggml_type}, which cannot be read; start from an F16 file")]
    NoDecoder { tensor: String, ggml_type: GgmlType },
    /// NaN or infinity among the weights.
    #[error("tensor {tensor} holds NaN or infinity; the source is damaged")]
    NotFinite { tensor: String },
}

#[cfg(test)]
mod tests {
    use super::{Error, Target, requantize};
    use crate::gguf_writer::{Header, Value};
    use crate::synth::{Shape, bytes};
    use llm::gguf::Gguf;
    use ops::GgmlType;

    fn made(source: &[u8], ggml_type: GgmlType, pure: bool) -> Vec<u8> {
        let mut slice = source;
        requantize(
            &mut slice,
            Target { ggml_type, pure },
            Vec::new(),
            &mut |_, _| (),
        )
        .unwrap()
    }

    #[test]
    fn equals_the_model_made_in_that_type() {
        let shape = Shape::qwen2();
        let f32_file = bytes(&shape, GgmlType::F32);
        for ggml_type in [GgmlType::F32, GgmlType::F16, GgmlType::Q8_0] {
            assert_eq!(made(&f32_file, ggml_type, false), bytes(&shape, ggml_type));
        }
    }

    #[test]
    fn weights_that_come_from_fewer_bits_say_so() {
        let shape = Shape::qwen2();
        let source_of = |file: &[u8]| {
            let gguf = Gguf::parse(file, file.len() as u64).unwrap();
            let name = gguf.optional_str("pilm.requantized_from").unwrap();
            let bytes = gguf.optional_u32("pilm.requantized_from_bytes").unwrap();
            assert_eq!(name.is_some(), bytes.is_some());
            Some((name?.to_owned(), u64::from(bytes?)))
        };
        let [f16, q8_0, q4_1] =
            [GgmlType::F16, GgmlType::Q8_0, GgmlType::Q4_1].map(|t| bytes(&shape, t));
        let of = |file: &[u8]| {
            Gguf::parse(file, file.len() as u64)
                .unwrap()
                .bytes_per_token()
        };
        let expected = |name: &str, file: &[u8]| Some((name.to_owned(), of(file)));
        assert_eq!(
            source_of(&made(&q4_1, GgmlType::Q8_0, false)),
            expected("Q4_1", &q4_1)
        );
        assert_eq!(
            source_of(&made(&q8_0, GgmlType::F16, false)),
            expected("Q8_0", &q8_0)
        );
        for (file, target) in [
            (&f16, GgmlType::Q8_0),
            (&q8_0, GgmlType::Q4_1),
            (&q8_0, GgmlType::Q8_0),
        ] {
            assert_eq!(source_of(&made(file, target, false)), None);
        }
    }

    #[test]
    fn what_can_be_made_is_said() {
        let ggml_type = GgmlType::Q4_K;
        let error = Error::NoEncoder { ggml_type };
        assert_eq!(
            error.to_string(),
            "Q4_K cannot be made; choose F32, F16, Q8_0, Q4_0, Q4_1, Q1_0"
        );
    }

    #[test]
    fn four_bit_keeps_the_ends_in_q8_0_unless_pure() {
        let f32_file = bytes(&Shape::llama_untied(), GgmlType::F32);
        for (pure, ends) in [(false, GgmlType::Q8_0), (true, GgmlType::Q4_1)] {
            let file = made(&f32_file, GgmlType::Q4_1, pure);
            let gguf = Gguf::parse(&file, file.len() as u64).unwrap();
            let type_of = |name| gguf.tensor(name).unwrap().ggml_type;
            assert_eq!(type_of("token_embd.weight"), ends);
            assert_eq!(type_of("output.weight"), ends);
            assert_eq!(type_of("blk.0.attn_q.weight"), GgmlType::Q4_1);
            assert_eq!(type_of("blk.0.attn_norm.weight"), GgmlType::F32);
        }
    }

    #[test]
    fn progress_ends_at_the_total_and_metadata_survives() {
        let source = bytes(&Shape::llama_tied(), GgmlType::F16);
        let (mut last, mut slice) = ((0, 1), &source[..]);
        let target = Target {
            ggml_type: GgmlType::Q8_0,
            pure: false,
        };
        let file = requantize(&mut slice, target, Vec::new(), &mut |done, total| {
            last = (done, total)
        });
        assert_eq!(last.0, last.1);
        let file = file.unwrap();
        let before = Gguf::parse(&source, source.len() as u64).unwrap();
        let after = Gguf::parse(&file, file.len() as u64).unwrap();
        for (key, value) in before.iter().filter(|(key, _)| *key != "general.file_type") {
            assert_eq!(after.get(key), Some(value), "{key}");
        }
    }

    #[test]
    fn nan_is_refused_by_name() {
        let mut header = Header::default();
        header.set("general.architecture", Value::str("llama"));
        let one = Target {
            ggml_type: GgmlType::F32,
            pure: true,
        };
        let tensors = [one.tensor("w", &[32, 1], ())];
        let file = header.write(Vec::new(), &tensors, &mut |_, _| (), |_, _| {
            Ok::<_, Error>(vec![0xFF; 128])
        });
        let file = file.unwrap();
        let target = Target {
            ggml_type: GgmlType::Q8_0,
            pure: false,
        };
        let result = requantize(&mut &file[..], target, Vec::new(), &mut |_, _| ());
        assert!(matches!(result, Err(Error::NotFinite { tensor }) if tensor == "w"));
    }
}
