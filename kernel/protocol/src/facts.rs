//! What is known of the board and of the loaded model.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What does not change while the machine runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BoardFacts {
    /// Version of the firmware, with its commit.
    #[serde(skip)]
    pub version: String,
    /// The board in words.
    pub name: String,
    /// The board's revision code, where there is one.
    #[serde(with = "revision")]
    pub revision: Option<u32>,
    /// RAM of the board.
    pub ram_bytes: u64,
    /// Cores that came up.
    pub cores: usize,
    /// The cores' clock as the board states it, 0 if unknown.
    pub clock_hz: u64,
    /// The highest speed of the serial line; `None` where there is no line that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_baud: Option<u32>,
    /// Whether this is an emulator: times mean nothing then.
    pub emulated: bool,
    /// When the VideoCore's firmware was built, as a Unix time.
    #[serde(skip)]
    pub gpu_firmware: Option<u32>,
    /// The kernel command line.
    #[serde(skip)]
    pub command_line: Option<String>,
    /// What went wrong on the way up, each in one line.
    pub warnings: Vec<String>,
}

/// What changes while the machine runs. What cannot be read is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Health {
    /// Temperature of the SoC.
    pub celsius: Option<f32>,
    /// The firmware's throttle flags.
    pub throttled: Option<u32>,
    /// Bytes of the heap in use.
    pub heap_used_bytes: Option<usize>,
    /// Bytes of the heap.
    pub heap_bytes: Option<usize>,
    /// The card in one line: controller, card, mode, volume.
    pub card: Option<String>,
    /// The stack of each core.
    pub stacks: Vec<Stack>,
}

/// A core's stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// The most bytes of it that were in use.
    pub used_bytes: usize,
    /// Its size.
    pub bytes: usize,
}

/// What every record of a measurement says of the machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conditions {
    /// Version of the firmware, with its commit.
    pub version: String,
    /// The board's revision code, where there is one.
    #[serde(with = "revision")]
    pub revision: Option<u32>,
    /// When the VideoCore's firmware was built, as a Unix time.
    pub gpu_firmware: Option<u32>,
    /// The kernel command line.
    pub command_line: Option<String>,
    /// The first core's cycles over the time of the windows that count.
    pub clock_hz: Option<u64>,
    /// Temperature of the SoC before the first window.
    pub celsius_before: Option<f32>,
    /// Temperature of the SoC after the last one.
    pub celsius: Option<f32>,
    /// The firmware's throttle flags before the first window.
    pub throttled_before: Option<u32>,
    /// The firmware's throttle flags after the last one.
    pub throttled: Option<u32>,
}

impl Conditions {
    /// The conditions on a board in these states around the windows, whose clock was `clock_hz`.
    pub fn new(board: &BoardFacts, [before, after]: [&Health; 2], clock_hz: Option<u64>) -> Self {
        Self {
            version: board.version.clone(),
            revision: board.revision,
            gpu_firmware: board.gpu_firmware,
            command_line: board.command_line.clone(),
            clock_hz,
            celsius_before: before.celsius,
            celsius: after.celsius,
            throttled_before: before.throttled,
            throttled: after.throttled,
        }
    }
}

/// A loaded model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The file's name.
    pub file: String,
    /// The model's own name.
    pub name: Option<String>,
    /// Its architecture.
    pub architecture: Cow<'static, str>,
    /// Types of its matrices, the largest share first.
    pub format: String,
    /// Number of weights.
    pub parameters: u64,
    /// Bytes of all tensors.
    pub tensor_bytes: u64,
    /// Bytes of tensors that one decoded token reads.
    pub bytes_per_token: u64,
    /// Tokens of the context.
    pub context_len: usize,
    /// Tokens that are in it.
    pub context_used: usize,
    /// Tokens that the model was trained for.
    pub trained_len: usize,
    /// Type of the KV cache.
    pub kv: Cow<'static, str>,
    /// The chat template's family.
    pub template: Option<Cow<'static, str>>,
    /// The tokenizer's kind.
    pub tokenizer: Cow<'static, str>,
    /// Number of token ids.
    pub vocab_size: usize,
    /// Bytes read from the card.
    pub load_bytes: u64,
    /// In how many pieces the file lies on the card, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_pieces: Option<usize>,
    /// Time of the load.
    pub load_s: f64,
    /// What its parts took.
    #[serde(skip)]
    pub load: LoadTiming,
    /// What its weights were re-encoded from, if that had fewer bits: the type, and the bytes that a token would read.
    #[serde(skip)]
    pub requantized_from: Option<(String, u64)>,
    /// The system prompt that the template has of its own.
    #[serde(skip)]
    pub default_system: Option<String>,
    /// Whether the template has a switch for thinking.
    #[serde(skip)]
    pub can_think: bool,
    /// Layers times KV heads: pieces of attention that the cores share out.
    #[serde(skip)]
    pub attention_pieces: usize,
}

/// What the parts of a load took. The other cores pack and check while the first one reads.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadTiming {
    /// Whether an emulator's clock took these times.
    pub emulated: bool,
    /// Spent on the card.
    pub read_s: f64,
    /// Packing, of all cores together.
    pub pack_s: f64,
    /// The checksum, of all cores together; 0 without a checksum file.
    pub checksum_s: f64,
    /// From the first byte to the last.
    pub total_s: f64,
}

/// A revision code in six hexadecimal digits, or null.
pub(crate) mod revision {
    use alloc::string::String;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(
        revision: &Option<u32>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match revision {
            Some(revision) => serializer.collect_str(&format_args!("{revision:06x}")),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u32>, D::Error> {
        let digits = Option::<String>::deserialize(deserializer)?;
        let code = digits.map(|digits| u32::from_str_radix(&digits, 16));
        code.transpose().map_err(de::Error::custom)
    }
}
