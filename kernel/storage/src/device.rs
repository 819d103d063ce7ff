//! What a volume needs of a card.

/// Bytes in a block.
pub const BLOCK_BYTES: usize = 512;

/// One block, as read.
pub type Block = [u8; BLOCK_BYTES];

/// A card, a disk image, a fake.
pub trait BlockDevice {
    /// Why a read failed.
    type Error: core::error::Error;

    /// Blocks on the device.
    fn n_blocks(&self) -> u64;

    /// Reads `buf.len() / 512` blocks from block `first` on; the length is a whole number of blocks.
    fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), Self::Error>;

    /// Whether `buf` can be filled without a detour. A controller with DMA fills whole cache lines that
    /// it can reach; other buffers are copied to from one that is.
    fn is_direct(&self, buf: &[u8]) -> bool {
        let _ = buf;
        true
    }
}

impl<D: BlockDevice + ?Sized> BlockDevice for &mut D {
    type Error = D::Error;

    fn n_blocks(&self) -> u64 {
        (**self).n_blocks()
    }

    fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), Self::Error> {
        (**self).read_blocks(first, buf)
    }

    fn is_direct(&self, buf: &[u8]) -> bool {
        (**self).is_direct(buf)
    }
}

/// Little-endian 16 bits at `offset`.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([bytes[offset], bytes[offset + 1]])
}

/// Little-endian 32 bits at `offset`.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from(u16_at(bytes, offset + 2)) << 16 | u32::from(u16_at(bytes, offset))
}

/// Whether a sector ends in the two bytes that every boot sector ends in.
pub(crate) fn has_signature(sector: &Block) -> bool {
    sector[510..] == [0x55, 0xAA]
}
