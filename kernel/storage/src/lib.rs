//! Card blocks to files: a read-only FAT16 and FAT32 reader for cards that strangers formatted.
//!
//! ```text
//!   volume.rs      mount, list the root directory, open; reads.rs reads an open file
//!     │  layout.rs      where the card's FAT volumes are
//!     │  mbr.rs         sector 0: partitions, or none, or something else by name     (pure)
//!     │  gpt.rs         GUID partition tables                                        (pure)
//!     │  boot_sector.rs a FAT volume's geometry, checked so that later sums hold     (pure)
//!     │                 error.rs why not, kinds.rs which file system
//!     │  fs_info.rs     free space, where it can be believed                         (pure)
//!     │  directory.rs   32-byte entries to names and first clusters                  (pure)
//!     │  chain.rs       cluster chain to runs of blocks, once per file
//!     │  window.rs      read-ahead: one window for the FAT, one for data
//!   device.rs      the trait BlockDevice
//!   error.rs       why a card yields no file, one sentence each
//! ```
//!
//! A file's chain is resolved into runs when it is opened, so that a large `read_at` is one transfer
//! per run, straight into the caller's buffer: the card's speed, with nothing in between. Nothing on
//! the card is trusted: every number is checked before it is used, every walk has an end.
//!
//! ```
//! use storage::{BLOCK_BYTES, BlockDevice, Volume};
//!
//! /// 64 blocks that nobody has written.
//! struct NewCard;
//!
//! impl BlockDevice for NewCard {
//!     type Error = std::io::Error;
//!
//!     fn n_blocks(&self) -> u64 {
//!         64
//!     }
//!
//!     fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), Self::Error> {
//!         assert!(first + (buf.len() / BLOCK_BYTES) as u64 <= self.n_blocks());
//!         buf.fill(0);
//!         Ok(())
//!     }
//! }
//!
//! let refused = Volume::mount(NewCard).err().expect("there is no file system");
//! assert!(refused.to_string().contains("the card is empty"), "{refused}");
//! ```
//!
//! Resources: Microsoft, FAT: General Overview of On-Disk Format, 1.03 (`fatgen103`).

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod boot_sector;
pub mod chain;
pub mod device;
pub mod directory;
pub mod error;
pub mod file;
pub mod fs_info;
pub mod gpt;
pub mod layout;
pub mod mbr;
pub mod volume;
mod window;

pub use device::{BLOCK_BYTES, BlockDevice};
pub use error::Error;
pub use file::File;
pub use layout::Layout;
pub use volume::{Entry, Volume};
