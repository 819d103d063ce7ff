//! Keys and values of every position, in units of one KV head and 64 positions.

use alloc::vec::Vec;

use ops::arena::{Arena, OutOfMemory};
use ops::lanes::{F16x8, F32x8};
use ops::parallel::Shared;
use ops::scalar::attention::{BLOCK, unit_len};

use crate::config::Config;

/// How keys and values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvType {
    /// Halves.
    F16,
    /// Floats.
    F32,
}

impl KvType {
    /// Bytes per element.
    pub fn bytes(self) -> usize {
        match self {
            KvType::F16 => 2,
            KvType::F32 => 4,
        }
    }

    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            KvType::F16 => "f16",
            KvType::F32 => "f32",
        }
    }
}

/// One layer's units: unit `b · n_kv_heads + h` has block `b` of head `h`.
pub enum Units<'a> {
    /// Halves.
    F16(Shared<'a, F16x8>),
    /// Floats.
    F32(Shared<'a, F32x8>),
}

/// The cache of all layers.
pub struct KvCache<'a> {
    layers: Vec<Units<'a>>,
    kv_type: KvType,
    bytes: u64,
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
        let len = context_len.div_ceil(BLOCK) * config.n_kv_heads * unit_len(config.head_dim);
        let mut layers = Vec::with_capacity(config.n_layers);
        for _ in 0..config.n_layers {
            layers.push(match kv_type {
                KvType::F16 => Units::F16(Shared::new(arena.slice(len)?)),
                KvType::F32 => Units::F32(Shared::new(arena.slice(len)?)),
            });
        }
        let bytes = (config.n_layers * len * 8 * kv_type.bytes()) as u64;
        Ok(KvCache {
            layers,
            kv_type,
            bytes,
        })
    }

    /// Bytes that `positions` positions take in all layers.
    pub fn bytes_for(config: &Config, kv_type: KvType, positions: usize) -> u64 {
        let blocks = positions.div_ceil(BLOCK) as u64;
        blocks * (2 * BLOCK * config.kv_dim() * config.n_layers * kv_type.bytes()) as u64
    }

    /// Layer `l`.
    pub fn layer(&self, l: usize) -> &Units<'a> {
        &self.layers[l]
    }

    /// How the elements are stored.
    pub fn kv_type(&self) -> KvType {
        self.kv_type
    }

    /// Memory taken.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
