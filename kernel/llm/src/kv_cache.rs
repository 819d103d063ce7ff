//! Keys and values of every position, in units of one KV head and 64 positions.

use alloc::vec::Vec;

use ops::arena::{Arena, OutOfMemory};
use ops::lanes::{F16x8, F32x8, I8x8};
use ops::scalar::attention::{BLOCK, KvF16, KvF32, KvFormat, KvI8};
use parallel::Shared;

use crate::config::Config;

/// How keys and values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvType {
    /// f16.
    F16,
    /// f32.
    F32,
    /// Bytes, with a float scale for each position's key and value of a head.
    I8,
}

impl KvType {
    /// Every type.
    pub const ALL: [KvType; 3] = [KvType::F16, KvType::F32, KvType::I8];

    /// The type with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kv_type| kv_type.name() == name)
    }

    /// Bytes of one head's keys and values of a block.
    fn unit_bytes(self, head_dim: usize) -> usize {
        match self {
            KvType::F16 => KvF16::unit_len(head_dim) * size_of::<F16x8>(),
            KvType::F32 => KvF32::unit_len(head_dim) * size_of::<F32x8>(),
            KvType::I8 => KvI8::unit_len(head_dim) * size_of::<I8x8>(),
        }
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            KvType::F16 => "f16",
            KvType::F32 => "f32",
            KvType::I8 => "int8",
        }
    }
}

/// One layer's units: unit `b · n_kv_heads + h` has block `b` of head `h`.
pub enum Units<'a> {
    /// f16.
    F16(Shared<'a, F16x8>),
    /// f32.
    F32(Shared<'a, F32x8>),
    /// Bytes.
    I8(Shared<'a, I8x8>),
}

/// The cache of all layers.
pub struct KvCache<'a> {
    layers: Vec<Units<'a>>,
    kv_type: KvType,
}

impl<'a> KvCache<'a> {
    /// An empty cache for `context_len` positions.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new(
        arena: &mut Arena<'a>,
        config: &Config,
        kv_type: KvType,
        context_len: usize,
    ) -> Result<Self, OutOfMemory> {
        let units = context_len.div_ceil(BLOCK) * config.n_kv_heads;
        let head_dim = config.head_dim;
        let mut layers = Vec::with_capacity(config.n_layers);
        for _ in 0..config.n_layers {
            layers.push(match kv_type {
                KvType::F16 => {
                    Units::F16(Shared::new(arena.slice(units * KvF16::unit_len(head_dim))?))
                }
                KvType::F32 => {
                    Units::F32(Shared::new(arena.slice(units * KvF32::unit_len(head_dim))?))
                }
                KvType::I8 => {
                    Units::I8(Shared::new(arena.slice(units * KvI8::unit_len(head_dim))?))
                }
            });
        }
        Ok(KvCache { layers, kv_type })
    }

    /// Bytes that `positions` positions take in all layers.
    pub fn bytes_for(config: &Config, kv_type: KvType, positions: usize) -> u64 {
        let units = positions.div_ceil(BLOCK) * config.n_kv_heads * config.n_layers;
        units as u64 * kv_type.unit_bytes(config.head_dim) as u64
    }

    /// Layer `l`.
    pub fn layer(&self, l: usize) -> &Units<'a> {
        &self.layers[l]
    }

    /// How the elements are stored.
    pub fn kv_type(&self) -> KvType {
        self.kv_type
    }
}
