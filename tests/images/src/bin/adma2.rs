//! Reads a card by ADMA2 and by PIO and compares, on QEMU's `virt` machine.
//!
//! QEMU's raspi4b has no DMA on its SD controllers; its SDHCI on PCI has. What the board adds to that
//! (caches, the stepping's addresses) stays untested; the descriptors, the registers and the order in
//! which they are written do not.
//!
//! No MMU: memory is Device memory here, so that nothing may be unaligned and no lock is taken.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("this is an image for QEMU: `cargo xtask test` boots it");
}

#[cfg(target_os = "none")]
mod image {
    use core::arch::{asm, global_asm};
    use core::fmt::{self, Write};
    use core::panic::PanicInfo;

    use drivers::clock::Clock;
    use drivers::dma::Caches;
    use drivers::mmio::Mmio;
    use drivers::sd::adma::{DmaMap, Table};
    use drivers::sd::base_clock::Question;
    use drivers::sd::host::{Notice, Transfer};
    use drivers::sd::registers::Block;
    use drivers::sd::{SdCard, Sdhci, sdhci};

    // Stack, floating point, BSS; an ELF starts at EL1.
    global_asm!(
        ".section .text.start, \"ax\"",
        ".global _start",
        "_start:",
        "    adrp x0, __stack_end",
        "    add  sp, x0, :lo12:__stack_end",
        "    mov  x0, #(3 << 20)",
        "    msr  cpacr_el1, x0",
        "    isb",
        "    adrp x0, __bss_start",
        "    add  x0, x0, :lo12:__bss_start",
        "    adrp x1, __bss_end",
        "    add  x1, x1, :lo12:__bss_end",
        "0:  cmp  x0, x1",
        "    b.hs 1f",
        "    str  xzr, [x0], #8",
        "    b    0b",
        "1:  b    {main}",
        main = sym main,
    );

    const UART_ADDR: usize = 0x0900_0000;
    /// Configuration space of the PCI bus, with `highmem=off`.
    const ECAM_ADDR: usize = 0x3F00_0000;
    /// In the window of PCI memory: where the controller is put.
    const SDHCI_ADDR: usize = 0x1000_0000;
    /// RAM that neither the image nor QEMU's device tree uses.
    const BUFFERS_ADDR: usize = 0x5000_0000;
    const BUFFER_BYTES: usize = 8 << 20;
    const TABLE_ADDR: usize = 0x4F00_0000;
    /// RAM that is said to lie where the controller's 32 bits do not reach.
    const FAR_ADDR: usize = BUFFERS_ADDR + 2 * BUFFER_BYTES;
    /// Bytes of the longest descriptor, which writes them as 0.
    const PIECE_BYTES: usize = 64 << 10;

    const CLASS_SDHCI: u32 = 0x0805;

    struct Uart;

    impl Write for Uart {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let data: *mut u32 = core::ptr::with_exposed_provenance_mut(UART_ADDR);
            for byte in text.bytes() {
                // SAFETY: the PL011's data register.
                unsafe { data.write_volatile(byte.into()) };
            }
            Ok(())
        }
    }

    fn say(text: fmt::Arguments<'_>) {
        // this writer takes everything
        let _ = Uart.write_fmt(text);
    }

    struct Timer;

    impl Clock for Timer {
        fn now_us(&self) -> u64 {
            let (ticks, hz): (u64, u64);
            // SAFETY: reading the counter and its rate.
            unsafe {
                asm!("mrs {}, cntvct_el0", out(reg) ticks);
                asm!("mrs {}, cntfrq_el0", out(reg) hz);
            }
            ticks / (hz / 1_000_000)
        }

        fn relax(&self) {
            // SAFETY: a hint.
            unsafe { asm!("yield") };
        }
    }

    struct Virt;

    impl Caches for Virt {
        fn clean_and_invalidate(&self, _: usize, _: usize) {
            // SAFETY: a barrier; there are no caches.
            unsafe { asm!("dsb sy") };
        }
    }

    impl sdhci::Board for Virt {
        fn set_expander_gpio(&mut self, _: u32, _: bool) -> bool {
            false
        }

        fn phys_addr(&self, addr: usize, _: usize) -> Option<usize> {
            let above = if addr >= FAR_ADDR { 1 << 32 } else { 0 };
            Some(addr + above)
        }

        fn power_controller(&mut self) {}

        fn tell(&mut self, _: Notice) {}

        fn base_clock_hz(&mut self, _: Question) -> Option<u32> {
            None
        }
    }

    type Card = SdCard<Sdhci<Mmio<Block>, Timer, Virt>>;

    extern "C" fn main() -> ! {
        let found = (0..32).any(place_controller);
        assert!(found, "no SD controller on the PCI bus");
        let table: *mut Table = core::ptr::with_exposed_provenance_mut(TABLE_ADDR);
        // SAFETY: RAM of our own, aligned, given out once; zeros are an empty table.
        let table = unsafe {
            table.write(Table::new());
            &mut *table
        };
        // SAFETY: the controller's block, used through this value only.
        let registers = unsafe { Mmio::new(SDHCI_ADDR) };
        let host = Sdhci::new(registers, Timer, Virt, table);
        assert!(host.can_dma(), "capabilities {:#x}", host.capabilities());
        let mut card = match SdCard::init(host) {
            Ok(card) => card,
            Err((error, _)) => panic!("{error}"),
        };

        let first: *mut u8 = core::ptr::with_exposed_provenance_mut(BUFFERS_ADDR);
        // SAFETY: RAM of our own, given out once.
        let buffers =
            unsafe { core::slice::from_raw_parts_mut(first, 2 * BUFFER_BYTES + PIECE_BYTES) };
        let (by_pio, others) = buffers.split_at_mut(BUFFER_BYTES);
        let (by_dma, far) = others.split_at_mut(BUFFER_BYTES);
        // The board's older map leads nowhere here: it must be seen through.
        let maps = [DmaMap::Alias, DmaMap::Identity];
        let test = 4096;
        let adopted = card.adopt_dma(&maps, &mut by_pio[..test], &mut by_dma[..test]);
        say(format_args!("adopted {adopted:?}\n"));
        let n_blocks = card.n_blocks();
        for (block, bytes) in [
            (0, 512),
            (1, 1024),
            (6, PIECE_BYTES - 512),
            (7, PIECE_BYTES),
            (100, PIECE_BYTES + 512),
            (2048, 1 << 20),
            // more than one command
            (3, 5 << 20),
            (11, BUFFER_BYTES),
            (n_blocks - 3, 1536),
            (n_blocks - 1, 512),
            (n_blocks - (PIECE_BYTES / 512) as u64, PIECE_BYTES),
        ] {
            compare(&mut card, block, &mut by_pio[..bytes], &mut by_dma[..bytes]);
        }
        // Off the line, by a word and by half a line: the data port takes over for this read alone.
        for off in [4, 32] {
            let odd = &mut by_dma[off..][..PIECE_BYTES];
            assert!(!card.is_direct(odd));
            compare(&mut card, 9, &mut by_pio[..PIECE_BYTES], odd);
        }
        // On the next line DMA goes on.
        let next_line = &mut by_dma[64..][..PIECE_BYTES];
        assert!(card.is_direct(next_line));
        compare(&mut card, 9, &mut by_pio[..PIECE_BYTES], next_line);
        assert!(!card.is_direct(far));
        compare(&mut card, 9, &mut by_pio[..PIECE_BYTES], far);
        say(format_args!("repeated {}\n", card.counters().retries));
        end()
    }

    /// Reads the same blocks both ways.
    fn compare(card: &mut Card, block: u64, by_pio: &mut [u8], by_dma: &mut [u8]) {
        by_dma.fill(0x5A);
        assert_eq!(card.transfer(), Transfer::Adma2);
        let dma = card.read_blocks(block, by_dma);
        by_pio.fill(0xA5);
        let pio = read_by_pio(card, block, by_pio);
        let same = by_dma == by_pio;
        say(format_args!(
            "{} bytes at block {block}: {dma:?} {pio:?} {}\n",
            by_dma.len(),
            if same { "same" } else { "different" },
        ));
    }

    /// Block by block into a buffer that DMA cannot fill.
    fn read_by_pio(
        card: &mut Card,
        first: u64,
        buf: &mut [u8],
    ) -> Result<(), drivers::sd::CardError> {
        #[repr(align(64))]
        struct Lines([u8; 576]);
        let mut lines = Lines([0; 576]);
        let odd = &mut lines.0[4..516];
        for (i, block) in buf.chunks_mut(512).enumerate() {
            assert!(!card.is_direct(odd));
            card.read_blocks(first + i as u64, odd)?;
            block.copy_from_slice(odd);
        }
        Ok(())
    }

    /// Gives the SD controller in a slot of the PCI bus its address; whether there is one.
    fn place_controller(slot: usize) -> bool {
        let config: *mut u32 = core::ptr::with_exposed_provenance_mut(ECAM_ADDR + (slot << 15));
        // SAFETY: configuration space of function 0 of the slot: reading it has no effect, and the
        // two registers written belong to the controller that was found there.
        unsafe {
            let class = config.add(2).read_volatile();
            if class >> 16 != CLASS_SDHCI {
                return false;
            }
            config.add(4).write_volatile(SDHCI_ADDR as u32);
            let command = config.add(1).read_volatile();
            // memory space and bus master
            config.add(1).write_volatile(command | 0b110);
        }
        true
    }

    /// Ends QEMU by semihosting.
    fn end() -> ! {
        const SYS_EXIT: usize = 0x18;
        const APPLICATION_EXIT: usize = 0x2_0026;
        let block = [APPLICATION_EXIT, 0];
        // SAFETY: QEMU runs with semihosting and reads the two words.
        unsafe {
            asm!("hlt #0xF000", in("x0") SYS_EXIT, in("x1") block.as_ptr(), options(noreturn));
        }
    }

    #[panic_handler]
    fn panic(info: &PanicInfo<'_>) -> ! {
        say(format_args!("panic: {info}\n"));
        end()
    }
}
