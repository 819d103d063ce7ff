//! What is in RAM before the firmware's first instruction.

use crate::boot::kernel;
use qemu::Machine;
use std::fs;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use xtask::raw_image::LOAD_ADDR;
use xtask::workspace::output_dir;

/// Where an image lies that moves itself to [`LOAD_ADDR`].
const ELSEWHERE: u64 = 0x20_0000;

/// A file of bytes that QEMU puts into memory; goes with its value.
#[derive(Debug)]
pub struct Blob {
    path: PathBuf,
    addr: u64,
}

impl Blob {
    /// `bytes` at `addr`.
    ///
    /// # Panics
    /// The file cannot be written.
    pub fn new(addr: u64, bytes: &[u8]) -> Blob {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let dir = output_dir().join("test-memory");
        fs::create_dir_all(&dir).expect("target/ can be written");
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!("{}-{n}.bin", process::id()));
        fs::write(&path, bytes).expect("target/ can be written");
        Blob { path, addr }
    }

    /// Lets `machine` start with it.
    #[must_use]
    pub fn attach(&self, machine: Machine) -> Machine {
        let (path, addr) = (self.path.display(), self.addr);
        let loader = format!("loader,file={path},addr={addr:#x},force-raw=on");
        machine.arg("-device").arg(loader)
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        // left behind it costs room in target/ and nothing else
        let _ = fs::remove_file(&self.path);
    }
}

/// RAM as it is after a warm reboot: anything but zeros, where BSS, stacks, heap and the arena come to lie, in
/// either order of the arena. Page 0 is the firmware's.
pub fn junk() -> [Blob; 3] {
    let image_end = LOAD_ADDR + kernel().image.bytes.len() as u64;
    let image_end = image_end.next_multiple_of(8);
    [
        (0x1000, LOAD_ADDR),
        // 48 MiB of it are the heap's
        (image_end, 0x500_0000),
        // the start of the arena with the highest RAM first
        (0x4000_0000, 0x4080_0000),
    ]
    .map(|(start, end)| Blob::new(start, &noise((end - start) as usize)))
}

/// Bytes without a zero among them.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state | 0x0101_0101_0101_0101).to_le_bytes()
    });
    words.flatten().take(len).collect()
}

/// A machine whose firmware finds `x0` as the board's firmware leaves it, and what must go with it.
///
/// Two pieces: a stub where QEMU starts, and the image, elsewhere.
pub fn machine_with_x0(x0: u64) -> (Machine, [Blob; 2]) {
    let half = |i: u64| ((x0 >> (16 * i)) as u32 & 0xFFFF) << 5;
    let words = [
        // movz and three movk of x0
        0xD280_0000 | half(0),
        0xF2A0_0000 | half(1),
        0xF2C0_0000 | half(2),
        0xF2E0_0000 | half(3),
        // mov x1, #0x200000; br x1
        0xD2A0_0401,
        0xD61F_0020,
    ];
    let stub: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let stub = Blob::new(LOAD_ADDR, &stub);
    let image = Blob::new(ELSEWHERE, &kernel().image.bytes);
    let machine = image.attach(Machine::new(&stub.path));
    (machine, [stub, image])
}
