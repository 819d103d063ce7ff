//! Runs the kernels' self-test: the NEON twins against the scalar definition, bit by bit.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("this is an image for the board: `cargo xtask test` boots it");
}

#[cfg(target_os = "none")]
mod image {
    use boot::start::BootInfo;
    use images::console::{self, Console, LINE_BYTES};
    use ops::arena::{Arena, Line};
    use ops::selftest::{self, ARENA_BYTES};
    use spin::Mutex;

    boot::entry! {
        main: main,
        secondary: console::park,
        exception: console::end_by_exception,
        irq: console::ignore_irq,
    }

    const N_LINES: usize = ARENA_BYTES as usize / Line::BYTES;
    static LINES: Mutex<[Line; N_LINES]> = Mutex::new([Line::ZERO; N_LINES]);

    fn main(_info: &BootInfo) -> ! {
        let mut line = [0; LINE_BYTES];
        let mut console = Console::init();
        console.ask(&mut line);
        let mut lines = LINES.lock();
        let result = selftest::run(Arena::new(&mut *lines), &mut |outcome| {
            console.print(format_args!(
                "kernel {}: {} of {} values differ\n",
                outcome.check, outcome.error, outcome.values
            ));
        });
        console.print(format_args!("result {result:?}\n"));
        console::end()
    }
}
