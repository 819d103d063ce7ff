//! Hands each image the linker script of its machine.

/// Images for QEMU's `virt`; the others are for the board.
const VIRT: [&str; 1] = ["adma2"];
const BOARD: [&str; 4] = ["exceptions", "kernels", "large", "translations"];
/// The board's script with an error: the code's end is no multiple of a page.
const CROOKED: [&str; 1] = ["crooked"];

/// Words that make `large` an image of more than 3 MiB.
const PATTERN_WORDS: u32 = 3 << 18;

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let pattern: Vec<u8> = (0..PATTERN_WORDS)
        .flat_map(|i| i.wrapping_mul(0x9E37_79B1).to_le_bytes())
        .collect();
    let out = std::path::Path::new(&out);
    std::fs::write(out.join("pattern.bin"), pattern).expect("OUT_DIR is writable");
    let board = concat!(env!("CARGO_MANIFEST_DIR"), "/../../linker.ld");
    let virt = concat!(env!("CARGO_MANIFEST_DIR"), "/virt.ld");
    let script = std::fs::read_to_string(board).expect("the board's script is there");
    let end = "__text_end = .;";
    assert!(
        script.contains(end),
        "the board's script marks the code's end"
    );
    let crooked = out.join("crooked.ld");
    std::fs::write(&crooked, script.replace(end, "__text_end = . - 16;"))
        .expect("OUT_DIR is writable");
    let crooked = crooked.to_str().expect("a path of text");
    for (script, images) in [(board, &BOARD[..]), (virt, &VIRT), (crooked, &CROOKED)] {
        if script != crooked {
            println!("cargo::rerun-if-changed={script}");
        }
        if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "none") {
            for image in images {
                println!("cargo::rustc-link-arg-bin={image}=-T{script}");
            }
        }
    }
}
