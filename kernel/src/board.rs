//! The Raspberry Pi 4B: where its devices are, and the only place where drivers are built.
//!
//! **Resources**: docs/hardware.md MEM-3 (addresses as the ARM sees them).

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use aarch64_cpu::asm::barrier;
use boot::esr::Esr;
use boot::layout::N_CORES;
use drivers::clock::Clock as _;
use drivers::dma::Caches;
use drivers::gic::{self, Gic};
use drivers::gpio::Gpio;
use drivers::machine;
use drivers::mailbox::{self, Mailbox};
use drivers::mmio::Mmio;
use drivers::pl011::{self, Divisors, Pl011};
use drivers::rng200::{self, Rng200};
use drivers::sd::registers::Word;
use drivers::watchdog::Watchdog;
use spin::{Mutex, Once};

use crate::card::Slot;
use crate::clock::Clock;
use crate::ending;
use crate::serial::{self, Serial};

const CHIP_REVISION_ADDR: usize = 0xFC40_4000;
const MAILBOX_ADDR: usize = 0xFE00_B880;
const PM_ADDR: usize = 0xFE10_0000;
const RNG200_ADDR: usize = 0xFE10_4000;
const GPIO_ADDR: usize = boot::registers::GPIO_ADDR as usize;
const PL011_ADDR: usize = 0xFE20_1000;
const LEGACY_SDHCI_ADDR: usize = 0xFE30_0000;
const EMMC2_ADDR: usize = 0xFE34_0000;
const GICD_ADDR: usize = 0xFF84_1000;
const GICC_ADDR: usize = 0xFF84_2000;

/// Baud rate until `pilm.txt` or the command line says otherwise.
pub const DEFAULT_BAUD: u32 = 115_200;

/// The mailbox with everything it needs.
pub type BoardMailbox = Mailbox<Mmio<mailbox::Registers>, Clock, CacheLines>;

static MAILBOX: Once<Mutex<BoardMailbox>> = Once::new();
static GIC: Mutex<Option<Gic>> = Mutex::new(None);
/// Interrupts that core 0 has taken.
static IRQS: AtomicU32 = AtomicU32::new(0);
/// Whether the interrupt that core 0 sent to itself has arrived.
static ARRIVED: AtomicBool = AtomicBool::new(false);
/// Longest that an interrupt of the core's own may take.
const ARRIVAL_LIMIT_US: u64 = 1000;

/// Cache maintenance for drivers.
#[derive(Clone, Copy, Debug)]
pub struct CacheLines;

impl Caches for CacheLines {
    fn clean_and_invalidate(&self, addr: usize, len_bytes: usize) {
        boot::cache::clean_and_invalidate(addr, len_bytes);
    }
}

/// The mailbox's buffer, in the image and so below 1 GiB; given out once.
struct MailboxBuffer {
    buffer: UnsafeCell<mailbox::Buffer>,
    taken: AtomicBool,
}

// SAFETY: `taken` gives the buffer to one caller.
unsafe impl Sync for MailboxBuffer {}

static MAILBOX_BUFFER: MailboxBuffer = MailboxBuffer {
    buffer: UnsafeCell::new(mailbox::Buffer::new()),
    taken: AtomicBool::new(false),
};

/// Pins, clock and UART: from here on the console can print. Needs nothing but the peripherals' mapping.
pub fn init_console() {
    // SAFETY: the GPIO block, mapped as Device memory; core 0 makes one such value at a time.
    let mut gpio = Gpio::new(unsafe { Mmio::new(GPIO_ADDR) });
    gpio.route_console();
    // Lit until the console answers: a board without a cable shows how far it came.
    gpio.set_led(true);
    let clock_hz = pl011::start_clock(&mut mailbox().lock());
    let mut uart = uart();
    if let Ok(divisors) = Divisors::new(clock_hz, DEFAULT_BAUD) {
        uart.init(divisors, &Clock);
    }
    serial::install(uart);
}

/// Switches the green LED.
pub fn set_led(on: bool) {
    // SAFETY: as in `init_console`, which has returned.
    Gpio::new(unsafe { Mmio::new(GPIO_ADDR) }).set_led(on);
}

/// A UART for the report of the end, which trusts nobody: by then all that used the console's has stopped.
pub fn uart_of_the_end() -> Pl011 {
    uart()
}

fn uart() -> Pl011 {
    // SAFETY: the PL011's block, mapped as Device memory. The console has one such value; the core that ends the
    // program makes another when the others stop using the first.
    Pl011::new(unsafe { Mmio::new(PL011_ADDR) })
}

/// Sets the console's baud rate; keeps the old one if it is not possible. What is to be sent at the old one has been
/// flushed: the UART waits for it with interrupts masked.
pub fn set_baud(clock_hz: u32, baud: u32) -> bool {
    match Divisors::new(clock_hz, baud) {
        Ok(divisors) => {
            serial::with_uart(|uart| uart.set_speed(divisors, &Clock));
            true
        }
        Err(_) => false,
    }
}

/// The mailbox.
pub fn mailbox() -> &'static Mutex<BoardMailbox> {
    MAILBOX.call_once(|| {
        let taken = MAILBOX_BUFFER.taken.swap(true, Ordering::AcqRel);
        assert!(!taken, "the mailbox's buffer is given out once");
        // SAFETY: given out once, see above.
        let buffer = unsafe { &mut *MAILBOX_BUFFER.buffer.get() };
        // SAFETY: the mailbox's block, mapped as Device memory, used through this value only.
        let doorbell = unsafe { Mmio::new(MAILBOX_ADDR) };
        Mutex::new(Mailbox::new(doorbell, buffer, Clock, CacheLines))
    })
}

/// Power management: reset and watchdog.
pub fn watchdog() -> Watchdog {
    // SAFETY: the block, mapped as Device memory; each use is a few writes that mean the same in any
    // order.
    Watchdog::new(unsafe { Mmio::new(PM_ADDR) })
}

/// Has the watchdog reset the board in `ms`, whatever is left of the last limit. Not in QEMU, where arming is a reset.
#[inline(never)]
pub fn arm_watchdog(ms: u32) {
    if machine::has_board_counter(boot::wait::ticks_per_second()) {
        watchdog().start(ms);
    }
}

/// Says that an asynchronous error came in while a register was looked for. It says nothing about the register.
fn note_bus_error(esr: Esr) {
    Serial.say(format_args!(
        "a bus error came in while a register was looked for (ESR {:#x}): looking again",
        esr.0
    ));
}

/// 64 bits from the random number generator; nothing where there is none.
pub fn random_bits() -> Option<u64> {
    // SAFETY: reading the control register has no effect.
    unsafe { boot::vectors::probe32(RNG200_ADDR, note_bus_error) }?;
    // SAFETY: the block answers, is mapped as Device memory and is used here only.
    let registers: Mmio<rng200::Registers> = unsafe { Mmio::new(RNG200_ADDR) };
    Rng200::new(registers).read(&Clock)
}

/// What stands in for [`random_bits`].
pub fn seed_without_generator() -> u64 {
    let serial = mailbox().lock().board_serial().unwrap_or(0);
    rng200::seed_without(boot::wait::ticks(), serial)
}

/// Capabilities of EMMC2, for telling board and emulator apart.
pub fn emmc2_capabilities() -> Option<u32> {
    emmc2_word(Word::Capabilities)
}

/// A word of EMMC2 that may be read at any time; nothing where there is no EMMC2.
pub fn emmc2_word(word: Word) -> Option<u32> {
    assert!(word != Word::Data, "a read takes data out of the port");
    // SAFETY: reading any other word has no effect.
    unsafe { boot::vectors::probe32(EMMC2_ADDR + word as usize, note_bus_error) }
}

/// Revision of the chip: its low byte is the stepping. QEMU does not have the register.
pub fn chip_revision() -> Option<u32> {
    // SAFETY: reading the register has no effect.
    unsafe { boot::vectors::probe32(CHIP_REVISION_ADDR, note_bus_error) }
}

/// The card slot. The legacy controller is named for QEMU's sake only, see [`Slot`].
///
/// # Panics
/// When called twice.
pub fn card_slot() -> Slot {
    static IS_TAKEN: AtomicBool = AtomicBool::new(false);
    let taken = IS_TAKEN.swap(true, Ordering::AcqRel);
    assert!(!taken, "there is one card slot");
    // SAFETY: the two controllers' blocks, mapped as Device memory, used through this slot only: there is one.
    let (emmc2, legacy) = unsafe { (Mmio::new(EMMC2_ADDR), Mmio::new(LEGACY_SDHCI_ADDR)) };
    Slot::new(emmc2, legacy)
}

/// The interrupt controller as the calling core sees it.
///
/// # Safety
/// The core has no other such value, or only sends interrupts through this one: a single write. The distributor's
/// switches are core 0's.
unsafe fn own_gic() -> Gic {
    // SAFETY: the controller's two blocks, mapped as Device memory; what a core sees through them is its own, and the
    // rest is the caller's.
    let (distributor, cpu) = unsafe { (Mmio::new(GICD_ADDR), Mmio::new(GICC_ADDR)) };
    Gic::new(distributor, cpu)
}

/// The interrupt controller of a core that can be woken by [`wake_core`].
pub fn init_worker_interrupts() -> Gic {
    // SAFETY: the core's only one, made before it serves; it touches no switch of the distributor's.
    let mut gic = unsafe { own_gic() };
    gic.init_for_wake();
    gic
}

/// Ends the sleep of `core`. For core 0.
///
/// # Panics
/// Before [`init_interrupts`].
pub fn wake_core(core: usize) {
    boot::cpu::without_irqs(|| {
        let mut gic = GIC.lock();
        gic.as_mut().expect("interrupts are on").wake(core);
    });
}

/// Has all cores but `core`, which calls, look whether the program has ended: core 0 at once, the others when they
/// sleep without work. Trusts no lock.
pub fn interrupt_others(core: usize) {
    // SAFETY: interrupts are sent, nothing else.
    let mut gic = unsafe { own_gic() };
    for other in (0..N_CORES).filter(|&other| other != core) {
        gic.wake(other);
    }
}

/// Received bytes arrive by interrupt from here on; whether interrupts do arrive. Core 0, with vectors live.
///
/// Without a device tree the firmware may leave them on its legacy controller. The core sends one to itself:
/// if it does not come, nor will those of the UART, and the console has to look for its bytes.
/// `fail`: none arrive, to show what that looks like.
pub fn init_interrupts(fail: bool) -> bool {
    // SAFETY: core 0's only one but for that of the end.
    let mut gic = unsafe { own_gic() };
    gic.init();
    gic.enable(gic::WAKE);
    gic.enable(gic::UART);
    if fail {
        gic.disconnect();
    }
    *GIC.lock() = Some(gic);
    serial::with_uart(Pl011::enable_rx_interrupts);
    boot::cpu::enable_irqs();
    boot::cpu::without_irqs(|| GIC.lock().as_mut().map(Gic::wake_self));
    let arrive = Clock.wait_until(ARRIVAL_LIMIT_US, &mut || ARRIVED.load(Ordering::Relaxed));
    serial::use_interrupts(arrive);
    arrive
}

/// The interrupt handler of core 0.
pub fn handle_interrupt() {
    ending::stop_if_begun();
    // Core 0 holds this lock here only, and the others never: it is free.
    let Some(mut gic) = GIC.try_lock() else {
        return;
    };
    let Some(gic) = gic.as_mut() else { return };
    while let Some(taken) = gic.take() {
        IRQS.store(
            IRQS.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
        match taken.id() {
            gic::UART => serial::handle_interrupt(),
            gic::WAKE => ARRIVED.store(true, Ordering::Relaxed),
            unexpected => gic.disable(unexpected),
        }
        // The device has lowered its line before the controller looks at it again.
        barrier::dsb(barrier::SY);
        gic.end(taken);
    }
}

/// Interrupts that core 0 has taken since the start: the same before and after a measured window, or
/// the window is void.
pub fn irqs_taken() -> u32 {
    IRQS.load(Ordering::Relaxed)
}
