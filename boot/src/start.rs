//! Pulls in `start.s` and `blink.s` and takes over from it.

use core::arch::global_asm;

use crate::layout::{CoreStacks, STACK_PAINT, STACKS};
use crate::{cores, mmu, registers, vectors};

/// Where the image is linked to run.
pub const LOAD_ADDR: u64 = 0x8_0000;

global_asm!(
    include_str!("start.s"),
    include_str!("blink.s"),
    load_addr = const LOAD_ADDR,
    stack_paint = const STACK_PAINT,
    stacks = sym STACKS,
    core_stack_bytes = const size_of::<CoreStacks>(),
    exception_stack_top = const CoreStacks::EXCEPTION_TOP,
    main_stack_top = const CoreStacks::MAIN_TOP,
    boot_core = sym boot_core,
    boot_secondary = sym boot_secondary,
    tables = sym mmu::TABLES,
    scr_el3 = const registers::SCR_EL3,
    sctlr_el2 = const registers::SCTLR_EL2,
    spsr_el2h = const registers::SPSR_EL2H,
    hcr_el2 = const registers::HCR_EL2,
    cptr_el2 = const registers::CPTR_EL2,
    cnthctl_el2_or = const registers::CNTHCTL_EL2_OR,
    actlr_el2 = const registers::ACTLR_EL2,
    spsr_el1h = const registers::SPSR_EL1H,
    sctlr_el1_off = const registers::SCTLR_EL1_OFF,
    sctlr_el1_on = const registers::SCTLR_EL1_ON,
    cpacr_el1 = const registers::CPACR_EL1,
    mair = const registers::MAIR_EL1,
    tcr = const registers::TCR_EL1,
    gpio = const registers::GPIO_ADDR,
    default_counter_hz = const registers::DEFAULT_COUNTER_HZ,
);

/// What the firmware left us, and how we came to run.
#[derive(Clone, Debug)]
pub struct BootInfo {
    /// `x0` at entry: the device tree if its magic is right, else anything.
    pub device_tree_addr: u64,
    /// Where the image was loaded; it has moved itself if this is not [`LOAD_ADDR`].
    pub loaded_at_addr: u64,
    /// Exception level at entry.
    pub entry_level: u8,
    /// ESR of an SError that was pending when the firmware handed over, and has been dropped.
    pub inherited_serror: Option<u64>,
}

unsafe extern "Rust" {
    // SAFETY (of all): `entry!` defines them with these signatures.
    safe fn __boot_main(info: &BootInfo) -> !;
    safe fn __boot_secondary(core: usize) -> !;
}

/// Core 0, still with MMU and caches off.
extern "C" fn boot_core(device_tree_addr: u64, loaded_at_addr: u64, entry_level: u64) -> ! {
    mmu::init();
    let inherited_serror = vectors::unmask_serror();
    __boot_main(&BootInfo {
        device_tree_addr,
        loaded_at_addr,
        entry_level: entry_level as u8,
        inherited_serror,
    })
}

/// Cores 1-3, with MMU and caches on.
extern "C" fn boot_secondary(core: usize) -> ! {
    vectors::unmask_serror();
    cores::report_alive(core);
    __boot_secondary(core)
}

/// Names the kernel's four entry points and checks their types.
#[macro_export]
macro_rules! entry {
    (main: $main:path, secondary: $secondary:path, exception: $exception:path, irq: $irq:path $(,)?) => {
        #[unsafe(no_mangle)]
        fn __boot_main(info: &$crate::start::BootInfo) -> ! {
            let main: fn(&$crate::start::BootInfo) -> ! = $main;
            main(info)
        }
        #[unsafe(no_mangle)]
        fn __boot_secondary(core: usize) -> ! {
            let secondary: fn(usize) -> ! = $secondary;
            secondary(core)
        }
        #[unsafe(no_mangle)]
        fn __boot_exception(report: &$crate::report::Report<'_>) -> ! {
            let exception: fn(&$crate::report::Report<'_>) -> ! = $exception;
            exception(report)
        }
        #[unsafe(no_mangle)]
        fn __boot_irq() {
            let irq: fn() = $irq;
            irq()
        }
    };
}
