//! An image of more than 3 MiB: whether it has arrived whole where it is linked to run.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("this is an image for the board: `cargo xtask test` boots it");
}

#[cfg(target_os = "none")]
mod image {
    use boot::start::BootInfo;
    use images::console::{self, Console, LINE_BYTES};

    boot::entry! {
        main: main,
        secondary: console::park,
        exception: console::end_by_exception,
        irq: console::ignore_irq,
    }

    /// Each word is its index times a constant, see `build.rs`.
    static PATTERN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pattern.bin"));

    fn main(info: &BootInfo) -> ! {
        let mut line = [0; LINE_BYTES];
        let mut console = Console::init();
        let _ = console.ask(&mut line);
        let (words, _) = core::hint::black_box(PATTERN).as_chunks::<4>();
        let damaged = words
            .iter()
            .enumerate()
            .find(|&(i, word)| u32::from_le_bytes(*word) != (i as u32).wrapping_mul(0x9E37_79B1));
        console.print(format_args!(
            "loaded at {:#x}; {} words, damaged: {:?}\n",
            info.loaded_at_addr,
            words.len(),
            damaged.map(|(i, _)| i)
        ));
        console::end()
    }
}
