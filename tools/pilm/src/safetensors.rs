//! Checkpoints in safetensors files, one or several.
//!
//! A file is a u64 length, a JSON table of that many bytes, and the data. A checkpoint of several
//! files has an index that names the file of each tensor.
//!
//! Resources: the format description in the safetensors repository's README.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use anyhow::{anyhow, bail, ensure};
use ops::GgmlType;
use serde::Deserialize;

use crate::dequantize::dequantize;

/// Longer tables are damage; the format's own library has the same limit.
const MAX_TABLE_BYTES: u64 = 100_000_000;

/// One tensor's place.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Element type: F32, F16 or BF16.
    ggml_type: GgmlType,
    /// Slowest dimension first.
    pub shape: Vec<u64>,
    /// Index into the checkpoint's files.
    file: usize,
    /// Where its data starts in the file.
    start: u64,
}

/// The tensors of all files of a checkpoint.
#[derive(Debug, Default)]
pub struct Checkpoint {
    files: Vec<File>,
    entries: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct TableEntry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Checkpoint {
    /// Opens `model.safetensors` in `dir`, or the files that `model.safetensors.index.json` names.
    ///
    /// # Errors
    /// [`Error`], with the file that is missing or damaged.
    pub fn open(dir: &Path) -> Result<Checkpoint, Error> {
        let error = |path: &Path, damage: anyhow::Error| Error {
            file: path.display().to_string(),
            what: damage.to_string(),
        };
        let index = dir.join("model.safetensors.index.json");
        let names = if index.exists() {
            names_in(&index).map_err(|damage| error(&index, damage))?
        } else {
            BTreeSet::from(["model.safetensors".to_owned()])
        };
        let mut checkpoint = Checkpoint::default();
        for name in names {
            let path = dir.join(name);
            let added = checkpoint.add(&path);
            added.map_err(|damage| error(&path, damage))?;
        }
        Ok(checkpoint)
    }

    fn add(&mut self, path: &Path) -> anyhow::Result<()> {
        let mut file = File::open(path)?;
        let file_len = file.metadata()?.len();
        let mut len = [0; 8];
        file.read_exact(&mut len)?;
        let table_len = u64::from_le_bytes(len);
        ensure!(
            table_len <= MAX_TABLE_BYTES && 8 + table_len <= file_len,
            "claims a table of {table_len} bytes"
        );
        let mut table = vec![0; table_len as usize];
        file.read_exact(&mut table)?;
        let table: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&table)?;
        for (name, value) in table.into_iter().filter(|(name, _)| name != "__metadata__") {
            let entry = serde_json::from_value(value).map_err(|e| anyhow!("tensor {name}: {e}"))?;
            let entry = self.checked(&name, entry, 8 + table_len, file_len)?;
            let twice = self.entries.insert(name.clone(), entry).is_some();
            ensure!(!twice, "tensor {name} is there twice");
        }
        self.files.push(file);
        Ok(())
    }

    fn checked(
        &self,
        name: &str,
        TableEntry {
            dtype,
            shape,
            data_offsets: (start, end),
        }: TableEntry,
        data_start: u64,
        file_len: u64,
    ) -> anyhow::Result<Entry> {
        let known = [GgmlType::F32, GgmlType::F16, GgmlType::BF16];
        let Some(ggml_type) = known.into_iter().find(|known| known.name() == dtype) else {
            bail!("tensor {name} has type {dtype}; F32, F16 and BF16 can be read");
        };
        let value_bytes = ggml_type.block_bytes() as u64;
        let times = |product: u64, dim: &u64| product.checked_mul(*dim);
        let len = shape.iter().try_fold(value_bytes, times);
        ensure!(
            len.is_some() && end.checked_sub(start) == len && end <= file_len - data_start,
            "tensor {name} does not lie in the file as its shape says"
        );
        Ok(Entry {
            ggml_type,
            shape,
            file: self.files.len(),
            start: data_start + start,
        })
    }

    /// Every tensor's place, by its name.
    pub fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    /// Some rows of `name` as f32.
    ///
    /// # Errors
    /// [`Error`] when the file cannot be read.
    ///
    /// # Panics
    /// When there is no such tensor.
    pub fn rows(&mut self, name: &str, rows: Range<u64>) -> Result<Vec<f32>, Error> {
        let entry = &self.entries[name];
        let cols = entry.shape.last().copied().unwrap_or(1);
        let row_bytes = cols * entry.ggml_type.block_bytes() as u64;
        let mut bytes = vec![0; ((rows.end - rows.start) * row_bytes) as usize];
        let file = &mut self.files[entry.file];
        file.seek(SeekFrom::Start(entry.start + rows.start * row_bytes))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|e| Error {
                file: format!("tensor {name}"),
                what: e.to_string(),
            })?;
        Ok(dequantize(entry.ggml_type, &bytes).expect("a type of floats"))
    }
}

/// The files that an index names.
fn names_in(index: &Path) -> anyhow::Result<BTreeSet<String>> {
    let index: Index = serde_json::from_slice(&fs::read(index)?)?;
    let names: BTreeSet<String> = index.weight_map.into_values().collect();
    let is_path = |name: &&String| Path::new(name).components().count() != 1;
    if let Some(name) = names.iter().find(is_path) {
        bail!("names {name}, which is not a plain file name");
    }
    Ok(names)
}

/// A checkpoint that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {what}")]
pub struct Error {
    /// The file, or the tensor.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
}

#[cfg(test)]
mod tests {
    use super::Checkpoint;
    use std::fs;

    /// What is said of a checkpoint of the files `a` and `b` with these tables and 8 bytes of data each.
    fn said(a: &str, b: &str) -> String {
        let dir = std::env::temp_dir().join(format!("pilm-checkpoint-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let index = r#"{"weight_map":{"x":"a","y":"b","z":"a"}}"#;
        fs::write(dir.join("model.safetensors.index.json"), index).unwrap();
        for (name, table) in [("a", a), ("b", b)] {
            let len = (table.len() as u64).to_le_bytes();
            fs::write(dir.join(name), [&len, table.as_bytes(), &[0; 8]].concat()).unwrap();
        }
        let said = match Checkpoint::open(&dir) {
            Ok(checkpoint) => format!("{:?}", checkpoint.entries().keys()),
            Err(error) => error.to_string(),
        };
        fs::remove_dir_all(&dir).unwrap();
        said
    }

    fn entry(name: &str, dtype: &str, shape: &str, end: u64) -> String {
        format!(r#"{{"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{end}]}}}}"#)
    }

    #[test]
    fn damage_is_named() {
        let sound = entry("x", "F32", "[2,1]", 8);
        let other = entry("y", "BF16", "[4]", 8);
        assert_eq!(said(&sound, &other), r#"["x", "y"]"#);
        for (b, expected) in [
            (&sound, "b: tensor x is there twice"),
            (
                &entry("y", "I64", "[1]", 8),
                "b: tensor y has type I64; F32, F16 and BF16 can be read",
            ),
            (
                &entry("y", "F16", "[3]", 8),
                "b: tensor y does not lie in the file as its shape says",
            ),
            (
                &entry("y", "F16", "[5]", 10),
                "b: tensor y does not lie in the file as its shape says",
            ),
            (
                &entry("y", "F32", "[4294967296,4294967296]", 0),
                "b: tensor y does not lie in the file as its shape says",
            ),
            (&r#"{"y":{}}"#.into(), "b: tensor y: missing field"),
            (&String::new(), "b: EOF while parsing"),
        ] {
            let said = said(&sound, b);
            assert!(said.contains(expected), "{said}");
        }
    }
}
