//! Hands each image the linker script of its machine.

/// Images for QEMU's `virt`; the others are for the board.
const VIRT: [&str; 1] = ["adma2"];
const BOARD: [&str; 4] = ["exceptions", "kernels", "large", "translations"];

/// Words that make `large` an image of more than 3 MiB.
const PATTERN_WORDS: u32 = 3 << 18;

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let pattern: Vec<u8> = (0..PATTERN_WORDS)
        .flat_map(|i| i.wrapping_mul(0x9E37_79B1).to_le_bytes())
        .collect();
    std::fs::write(std::path::Path::new(&out).join("pattern.bin"), pattern)
        .expect("OUT_DIR is writable");
    let board = concat!(env!("CARGO_MANIFEST_DIR"), "/../../linker.ld");
    let virt = concat!(env!("CARGO_MANIFEST_DIR"), "/virt.ld");
    for (script, images) in [(board, &BOARD[..]), (virt, &VIRT)] {
        println!("cargo::rerun-if-changed={script}");
        if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "none") {
            for image in images {
                println!("cargo::rustc-link-arg-bin={image}=-T{script}");
            }
        }
    }
}
