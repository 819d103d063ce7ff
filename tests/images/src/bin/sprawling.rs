//! An image that reaches further than its translation tables: the start must end before the MMU is on.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("this is an image for the board: `cargo xtask test` boots it");
}

#[cfg(target_os = "none")]
mod image {
    use boot::page_tables::BLOCK_BYTES;
    use boot::report::Report;
    use boot::start::BootInfo;
    use boot::wait;
    use core::panic::PanicInfo;
    use core::sync::atomic::{AtomicU8, Ordering};
    use images::console::{self, Console};

    boot::entry! {
        main: main,
        secondary: secondary,
        exception: exception,
        irq: irq,
    }

    /// A table for each 2 MiB of it: more than there are.
    const SPACE_BYTES: usize = boot::POOL_TABLES * BLOCK_BYTES as usize;
    static SPACE: [AtomicU8; SPACE_BYTES] = [const { AtomicU8::new(0) }; SPACE_BYTES];

    fn main(_info: &BootInfo) -> ! {
        let last = core::hint::black_box(&SPACE).last();
        let byte = last.map(|last| last.load(Ordering::Relaxed));
        Console::init().print(format_args!("mapped all the same: {byte:?}\n"));
        console::end()
    }

    fn exception(report: &Report<'_>) -> ! {
        Console::resume().print(format_args!("{report}"));
        console::end()
    }

    fn irq() {}

    fn secondary(_core: usize) -> ! {
        loop {
            wait::for_event();
        }
    }

    #[panic_handler]
    fn panic(info: &PanicInfo<'_>) -> ! {
        console::end_by_panic(info)
    }
}
