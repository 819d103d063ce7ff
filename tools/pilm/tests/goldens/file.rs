//! The file of goldens: an array of JSON, one entry per line.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What one model gave when it was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    pub architecture: String,
    #[serde(rename = "type")]
    pub ggml_type: String,
    pub kv: String,
    pub kernels: String,
    /// CRC-32C of the logits after every token of the prompt.
    pub prefill: String,
    /// CRC-32C of the logits after every decoded token.
    pub decode: String,
}

impl Golden {
    /// Whether both are of the same model, run in the same way.
    pub fn is_of_case(&self, other: &Golden) -> bool {
        self.case() == other.case()
    }

    fn case(&self) -> [&str; 4] {
        [&self.architecture, &self.ggml_type, &self.kv, &self.kernels].map(String::as_str)
    }
}

impl fmt::Display for Golden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [architecture, ggml_type, kv, kernels] = self.case();
        write!(
            f,
            "{architecture} {ggml_type}, KV {kv}, {kernels} kernels: prefill {}, decode {}",
            self.prefill, self.decode
        )
    }
}

/// `tests/goldens.json` of the work tree.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/goldens.json")
}

/// All entries; none before the first are recorded.
pub fn read() -> Vec<Golden> {
    match fs::read(path()) {
        Ok(text) => serde_json::from_slice(&text).expect("goldens.json is an array of entries"),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => panic!("{}: {error}", path().display()),
    }
}

/// Writes all entries.
pub fn write(goldens: &[Golden]) {
    let lines: Vec<String> = goldens
        .iter()
        .map(|golden| serde_json::to_string(golden).expect("an entry is JSON"))
        .collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    fs::write(path(), text).unwrap_or_else(|error| panic!("{}: {error}", path().display()));
}
