//! Does what the translation tables forbid, and prints the report that comes of it.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("this is an image for the board: `cargo xtask test` boots it");
}

#[cfg(target_os = "none")]
mod image {
    use boot::report::Report;
    use boot::start::BootInfo;
    use boot::{layout, wait};
    use core::hint::black_box;
    use core::sync::atomic::{AtomicU32, Ordering};
    use images::console::{self, Console, LINE_BYTES};

    boot::entry! {
        main: main,
        secondary: secondary,
        exception: exception,
        irq: console::ignore_irq,
    }

    static CONSTANT: u32 = 0xC0FF_EE00;
    /// `ret`, as data.
    static DATA: AtomicU32 = AtomicU32::new(0xD65F_03C0);
    /// RAM that nobody has mapped.
    const UNMAPPED_ADDR: usize = 0x3000_0000;
    const PL011_ADDR: usize = 0xFE20_1000;

    fn main(_info: &BootInfo) -> ! {
        let mut line = [0; LINE_BYTES];
        let code_on_stack = DATA.load(Ordering::Relaxed);
        let mut console = Console::init();
        let case = console.ask(&mut line);
        match case {
            "counter" => {
                console.print(format_args!("counter {} Hz\n", wait::ticks_per_second()));
                console::end()
            }
            "read unmapped" => read(UNMAPPED_ADDR),
            "write text" => write(main as *const () as usize),
            "write rodata" => write(&raw const CONSTANT as usize),
            "execute data" => execute(DATA.as_ptr() as usize),
            "execute stack" => execute(&raw const code_on_stack as usize),
            "execute device" => execute(PL011_ADDR),
            "overflow" => overflow_on_this_core(),
            "overflow on core 1" => {
                boot::cores::start(1..2, 0);
                loop {
                    wait::for_event();
                }
            }
            "write data" => {
                DATA.store(1, Ordering::Relaxed);
                write(DATA.as_ptr() as usize);
            }
            _ => {}
        }
        console.print(format_args!("{case}: nothing happened\n"));
        console::end()
    }

    fn read(addr: usize) {
        let word: *const u32 = core::ptr::with_exposed_provenance(addr);
        // SAFETY: this is the test: nothing is read, the access takes an exception.
        black_box(unsafe { word.read_volatile() });
    }

    fn write(addr: usize) {
        let word: *mut u32 = core::ptr::with_exposed_provenance_mut(addr);
        // SAFETY: this is the test: an aligned word of ours, or an exception.
        unsafe { word.write_volatile(0) };
    }

    fn execute(addr: usize) {
        let code: *const () = core::ptr::with_exposed_provenance(addr);
        // SAFETY: this is the test: nothing is executed, the call takes an exception.
        let code: extern "C" fn() = unsafe { core::mem::transmute(code) };
        code();
    }

    fn overflow_on_this_core() {
        black_box(depth(1));
    }

    /// Needs a frame of its own for each level.
    fn depth(level: u64) -> u64 {
        if level == u64::MAX {
            return 0;
        }
        let frame = black_box([level; 64]);
        1 + depth(frame[(level % 64) as usize] + 1)
    }

    fn secondary(_core: usize) -> ! {
        overflow_on_this_core();
        loop {
            wait::for_event();
        }
    }

    fn exception(report: &Report<'_>) -> ! {
        let mut console = Console::resume();
        console.print(format_args!("{report}core {} is done\n", layout::core_id()));
        console::end()
    }
}
