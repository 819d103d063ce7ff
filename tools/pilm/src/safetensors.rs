//! Checkpoints in safetensors files, one or several.
//!
//! A file is a u64 length, a JSON table of that many bytes, and the data. A checkpoint of several
//! files has an index that names the file of each tensor.
//!
//! Resources: the format description in the safetensors repository's README.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use half::{bf16, f16};
use serde::Deserialize;

/// Longer tables are damage; the format's own library has the same limit.
const MAX_TABLE_BYTES: u64 = 100_000_000;

/// Element types that a checkpoint may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "the format's own names")]
pub enum Dtype {
    F32,
    F16,
    BF16,
}

impl Dtype {
    /// Bytes per value.
    pub fn len_bytes(self) -> u64 {
        match self {
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::BF16 => 2,
        }
    }
}

/// One tensor's place.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Element type.
    pub dtype: Dtype,
    /// Slowest dimension first.
    pub shape: Vec<u64>,
    /// Index into the checkpoint's files.
    file: usize,
    /// Where its data starts in the file.
    start: u64,
}

impl Entry {
    /// Length of a row, the last dimension.
    pub fn cols(&self) -> u64 {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.shape.iter().rev().skip(1).product()
    }
}

/// The tensors of all files of a checkpoint.
#[derive(Debug)]
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
        let index_path = dir.join("model.safetensors.index.json");
        let names = if index_path.exists() {
            let damaged = |what: String| Error {
                file: index_path.display().to_string(),
                what,
            };
            let text = fs::read(&index_path).map_err(|e| damaged(e.to_string()))?;
            let index: Index = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
            let mut names: Vec<String> = index.weight_map.into_values().collect();
            names.sort_unstable();
            names.dedup();
            if let Some(name) = names
                .iter()
                .find(|n| Path::new(n).components().count() != 1)
            {
                return Err(damaged(format!(
                    "names {name}, which is not a plain file name"
                )));
            }
            names
        } else {
            vec!["model.safetensors".to_owned()]
        };
        let mut checkpoint = Checkpoint {
            files: Vec::new(),
            entries: BTreeMap::new(),
        };
        for name in names {
            let path = dir.join(name);
            checkpoint.add(&path).map_err(|what| Error {
                file: path.display().to_string(),
                what,
            })?;
        }
        Ok(checkpoint)
    }

    fn add(&mut self, path: &Path) -> Result<(), String> {
        let text_of = |e: io::Error| e.to_string();
        let mut file = File::open(path).map_err(text_of)?;
        let file_len = file.metadata().map_err(text_of)?.len();
        let mut len = [0; 8];
        file.read_exact(&mut len).map_err(text_of)?;
        let table_len = u64::from_le_bytes(len);
        if table_len > MAX_TABLE_BYTES || 8 + table_len > file_len {
            return Err(format!("claims a table of {table_len} bytes"));
        }
        let mut table = vec![0; table_len as usize];
        file.read_exact(&mut table).map_err(text_of)?;
        let table: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&table).map_err(|e| e.to_string())?;
        for (name, value) in table {
            if name == "__metadata__" {
                continue;
            }
            let entry: TableEntry =
                serde_json::from_value(value).map_err(|e| format!("tensor {name}: {e}"))?;
            let entry = self.checked(&name, entry, 8 + table_len, file_len)?;
            if self.entries.insert(name.clone(), entry).is_some() {
                return Err(format!("tensor {name} is there twice"));
            }
        }
        self.files.push(file);
        Ok(())
    }

    fn checked(
        &self,
        name: &str,
        entry: TableEntry,
        data_start: u64,
        file_len: u64,
    ) -> Result<Entry, String> {
        let dtype: Dtype = serde_json::from_value(entry.dtype.as_str().into()).map_err(|_| {
            format!(
                "tensor {name} has type {}; F32, F16 and BF16 can be read",
                entry.dtype
            )
        })?;
        let (start, end) = entry.data_offsets;
        let len = entry
            .shape
            .iter()
            .try_fold(dtype.len_bytes(), |n, d| n.checked_mul(*d));
        let room = file_len - data_start;
        if len.is_none() || end.checked_sub(start) != len || end > room {
            return Err(format!(
                "tensor {name} does not lie in the file as its shape says"
            ));
        }
        let start = data_start + start;
        Ok(Entry {
            dtype,
            shape: entry.shape,
            file: self.files.len(),
            start,
        })
    }

    /// Every tensor's name and place, in the order of the names.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .map(|(name, entry)| (name.as_str(), entry))
    }

    /// The place of `name`, if there is such a tensor.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
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
        let row_bytes = entry.cols() * entry.dtype.len_bytes();
        let mut bytes = vec![0; ((rows.end - rows.start) * row_bytes) as usize];
        let file = &mut self.files[entry.file];
        file.seek(SeekFrom::Start(entry.start + rows.start * row_bytes))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|e| Error {
                file: format!("tensor {name}"),
                what: e.to_string(),
            })?;
        let pairs = bytes.chunks_exact(2).map(|b| [b[0], b[1]]);
        Ok(match entry.dtype {
            Dtype::F32 => bytes
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect(),
            Dtype::F16 => pairs.map(|b| f16::from_le_bytes(b).to_f32()).collect(),
            Dtype::BF16 => pairs.map(|b| bf16::from_le_bytes(b).to_f32()).collect(),
        })
    }
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
