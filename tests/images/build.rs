//! Hands each image the linker script of its machine.

/// Images for QEMU's `virt`; the others are for the board.
const VIRT: [&str; 1] = ["adma2"];
const BOARD: [&str; 3] = ["exceptions", "kernels", "translations"];

fn main() {
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
