//! Asks the core how it translates addresses, and prints the answers.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("this is an image for the board: `cargo xtask test` boots it");
}

#[cfg(target_os = "none")]
mod image {
    use boot::page_tables::Memory;
    use boot::start::BootInfo;
    use boot::{layout, mmu};
    use images::console::{self, Console, LINE_BYTES};

    boot::entry! {
        main: main,
        secondary: console::park,
        exception: console::end_by_exception,
        irq: console::ignore_irq,
    }

    /// RAM above 1 GiB, mapped and unmapped again by this image.
    const HIGH_RAM: core::ops::Range<u64> = 0x4000_0000..0x4060_0000;
    const PL011_ADDR: u64 = 0xFE20_1000;

    fn main(_info: &BootInfo) -> ! {
        let mut line = [0; LINE_BYTES];
        let mut console = Console::init();
        let _ = console.ask(&mut line);
        let image = layout::image();
        let [exception_stack, main_stack] = layout::mapped_stacks(0);
        let stacks = image.stacks.start;
        show(&mut console, "text", image.text.start);
        show(&mut console, "rodata", image.rodata.start);
        show(&mut console, "data", image.data.start);
        show(&mut console, "stack", stacks + main_stack.start as u64);
        show(&mut console, "guard", stacks + main_stack.start as u64 - 1);
        show(
            &mut console,
            "exception guard",
            stacks + exception_stack.start as u64 - 1,
        );
        show(&mut console, "device", PL011_ADDR);
        show(&mut console, "page 0", 0);
        boot::cores::start(1..4, 0);
        show(&mut console, "page 0 later", 0);

        show(&mut console, "before map", HIGH_RAM.start);
        // SAFETY: QEMU's machine has 2 GiB, and nothing uses this part.
        let mapped = unsafe { mmu::map(HIGH_RAM, Memory::Data) };
        show(&mut console, "after map", HIGH_RAM.end - 64);
        // SAFETY: nothing is in there.
        let protected = unsafe { mmu::protect(HIGH_RAM, Memory::ReadOnly) };
        show(&mut console, "read-only", HIGH_RAM.end - 64);
        // SAFETY: as above.
        let unmapped = unsafe { mmu::unmap(HIGH_RAM) };
        show(&mut console, "after unmap", HIGH_RAM.end - 64);
        console.print(format_args!("{mapped:?} {protected:?} {unmapped:?}\n"));
        console::end()
    }

    fn show(console: &mut Console, name: &str, addr: u64) {
        let write = mmu::translate(addr, true).is_some();
        match mmu::translate(addr, false) {
            None => console.print(format_args!("{name}: none\n")),
            Some(found) => {
                let same = found.physical_addr == addr;
                let (attribute, shareability) = (found.attribute, found.shareability);
                console.print(format_args!(
                    "{name}: attribute {attribute:#04x}, shareability {shareability}, \
                     same address {same}, writable {write}\n"
                ));
            }
        }
    }
}
