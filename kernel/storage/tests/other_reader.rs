//! The same cards through `embedded-sdmmc`: names, lengths and bytes agree.

mod images;

use std::cell::RefCell;
use std::io::Cursor;
use std::ops::ControlFlow;

use embedded_sdmmc::{
    Block, BlockCount, BlockIdx, LfnBuffer, Mode, ShortFileName, TimeSource, Timestamp, VolumeIdx,
    VolumeManager,
};
use images::{BadBlock, Card, FAT16, FAT32, pattern, ram_card, write, write_interleaved};
use storage::{BlockDevice, Volume};

type RamCard = Card<Cursor<Vec<u8>>>;

struct Shared<'a>(&'a RefCell<RamCard>);

impl embedded_sdmmc::BlockDevice for Shared<'_> {
    type Error = BadBlock;

    fn read(&self, blocks: &mut [Block], start: BlockIdx) -> Result<(), BadBlock> {
        for (i, block) in blocks.iter_mut().enumerate() {
            let index = u64::from(start.0) + i as u64;
            self.0
                .borrow_mut()
                .read_blocks(index, &mut block.contents)?;
        }
        Ok(())
    }

    fn write(&self, _: &[Block], start: BlockIdx) -> Result<(), BadBlock> {
        // Closing a FAT32 volume updates FSInfo, which this comparison does not need.
        assert!(start.0 > 0);
        Ok(())
    }

    fn num_blocks(&self) -> Result<BlockCount, BadBlock> {
        Ok(BlockCount(self.0.borrow().n_blocks as u32))
    }
}

struct Epoch;

impl TimeSource for Epoch {
    fn get_timestamp(&self) -> Timestamp {
        Timestamp::from_fat(0, 0)
    }
}

/// Names, lengths and short names of the root directory's files.
fn their_list(card: &RefCell<RamCard>) -> Vec<(String, u64, ShortFileName)> {
    let manager = VolumeManager::new(Shared(card), Epoch);
    let volume = manager.open_volume(VolumeIdx(0)).unwrap();
    let root = volume.open_root_dir().unwrap();
    let mut storage = [0; 800];
    let mut names = Vec::new();
    root.iterate_dir_lfn(&mut LfnBuffer::new(&mut storage), |entry, long| {
        if !entry.attributes.is_directory() && !entry.attributes.is_volume() {
            let name = long.map_or_else(|| entry.name.to_string(), String::from);
            names.push((name, u64::from(entry.size), entry.name));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    names
}

fn their_bytes(card: &RefCell<RamCard>, name: ShortFileName) -> Vec<u8> {
    let manager = VolumeManager::new(Shared(card), Epoch);
    let volume = manager.open_volume(VolumeIdx(0)).unwrap();
    let root = volume.open_root_dir().unwrap();
    let file = root.open_file_in_dir(name, Mode::ReadOnly).unwrap();
    let mut bytes = vec![0; file.length() as usize];
    let mut done = 0;
    while done < bytes.len() {
        done += file.read(&mut bytes[done..]).unwrap();
    }
    bytes
}

#[test]
fn two_readers_agree() {
    for format in [FAT32, FAT16] {
        let card = RefCell::new(ram_card(48 << 20, format, |fs| {
            fs.root_dir().create_dir("overlays").unwrap();
            let (one, two) = (pattern(1, 200_001), pattern(2, 77_777));
            write_interleaved(
                fs,
                ["one model.Q8_0.gguf", "Zwei – 二.gguf"],
                [&one, &two],
                4096,
            );
            for i in 0..40 {
                write(
                    fs,
                    &format!("{i} is the number of this file.txt"),
                    &one[..i],
                );
            }
        }));
        let theirs = their_list(&card);
        let mut volume = Volume::mount(card.borrow().clone()).unwrap();
        let ours = volume.list().unwrap();
        assert_eq!(ours.len(), 42);
        assert_eq!(ours.len(), theirs.len());
        for (entry, (name, len_bytes, short_name)) in ours.iter().zip(theirs) {
            assert_eq!((&entry.name, entry.len_bytes), (&name, len_bytes));
            let file = volume.open(&name).unwrap();
            let mut bytes = vec![0; len_bytes as usize];
            volume.read_at(&file, 0, &mut bytes).unwrap();
            assert!(bytes == their_bytes(&card, short_name), "{name}");
        }
    }
}
