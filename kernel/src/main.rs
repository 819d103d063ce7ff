//! PiLM: boots a Raspberry Pi 4B straight into a language model.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("this is firmware: `cargo xtask run` builds and boots it");
}

#[cfg(target_os = "none")]
mod firmware {
    use core::fmt::Write;

    use boot::report::Report;
    use boot::start::BootInfo;

    boot::entry! {
        main: kernel_main,
        secondary: kernel_secondary,
        exception: kernel_exception,
        irq: kernel_irq,
    }

    struct Uart;

    impl Write for Uart {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            let data: *mut u32 = core::ptr::with_exposed_provenance_mut(0xFE20_1000);
            for byte in text.bytes() {
                // SAFETY: the PL011's data register, mapped as Device memory.
                unsafe { data.write_volatile(byte.into()) };
            }
            Ok(())
        }
    }

    fn kernel_main(info: &BootInfo) -> ! {
        let _ = writeln!(Uart, "PiLM {}: {info:x?}", env!("CARGO_PKG_VERSION"));
        panic!("end of the line");
    }

    fn kernel_secondary(_core: usize) -> ! {
        loop {
            aarch64_cpu::asm::wfe();
        }
    }

    fn kernel_exception(report: &Report<'_>) -> ! {
        let _ = write!(Uart, "{report}");
        kernel_secondary(0)
    }

    fn kernel_irq() {}

    #[panic_handler]
    fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
        let _ = writeln!(Uart, "{info}");
        kernel_secondary(0)
    }
}
