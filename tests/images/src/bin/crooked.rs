//! An image whose code ends within a page (see `build.rs`), which no tables can tell apart from its constants: the start
//! must end before the MMU is on.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("this is an image for the board: `cargo xtask test` boots it");
}

#[cfg(target_os = "none")]
mod image {
    use boot::start::BootInfo;
    use images::console::{self, Console};

    boot::entry! {
        main: main,
        secondary: console::park,
        exception: console::end_by_exception,
        irq: console::ignore_irq,
    }

    fn main(_info: &BootInfo) -> ! {
        Console::init().print(format_args!("mapped all the same\n"));
        console::end()
    }
}
