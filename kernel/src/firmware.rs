//! `kernel_main`: the machine is put together, in the order in which the parts need each other.

use alloc::string::String;
use core::fmt::Write;

use boot::start::BootInfo;
use drivers::pl011;
use drivers::property::ClockId;

use crate::clock::Clock;
use crate::core_pool::CorePool;
use crate::info::BoardInfo;
use crate::platform::Platform;
use crate::serial::Serial;
use crate::{board, core_pool, info, memory, panic, shell};

boot::entry! {
    main: kernel_main,
    secondary: core_pool::work,
    exception: panic::exception,
    irq: board::handle_interrupt,
}

/// Longest kernel command line that is read.
const COMMAND_LINE_BYTES: usize = 2048;

fn kernel_main(boot: &BootInfo) -> ! {
    board::init_console();
    let mut log = Serial;
    note_hand_over(&mut log, boot);

    let mut info = BoardInfo::ask(boot);
    trust_uart_clock();
    let tree = memory::read_device_tree(boot.device_tree_addr);
    let low = board::mailbox().lock().arm_memory().ok();
    let survey = memory::survey(tree.ok(), low, info.revision, info.emulated);
    info.ram = survey.ram;
    let arenas = match memory::init(&survey) {
        Ok(arenas) => arenas,
        Err(error) => panic::end(format_args!("{error}")),
    };

    let command_line = command_line();
    info::raise_core_clock();
    let (cores, alive) = CorePool::start(boot::layout::N_CORES);
    for core in (0..alive.len()).filter(|&core| !alive[core]) {
        let n = cores.n_alive();
        let _ = writeln!(log, "core {core} did not come up: going on with {n}");
    }
    board::init_interrupts();
    shell::run(Platform {
        serial: Serial,
        clock: Clock,
        cores,
        card: board::card_slot(),
        arenas,
        info,
        command_line,
        entropy: board::random_bits().unwrap_or_else(boot::wait::ticks),
    })
}

/// What is unusual about how the firmware has left the machine.
fn note_hand_over(log: &mut Serial, boot: &BootInfo) {
    if boot.loaded_at_addr != boot::start::LOAD_ADDR {
        let _ = writeln!(
            log,
            "loaded at {:#x} and moved: set kernel_address=0x80000 in config.txt",
            boot.loaded_at_addr
        );
    }
    if let Some(esr) = boot.inherited_serror {
        let _ = writeln!(
            log,
            "a bus error of the firmware's was pending (ESR {esr:#x})"
        );
    }
}

/// Sets the baud rate again if the UART's clock is not what was assumed.
fn trust_uart_clock() {
    let reported = board::mailbox().lock().clock_rate_hz(ClockId::Uart).ok();
    let clock_hz = pl011::believable_clock_hz(reported);
    if clock_hz != pl011::DEFAULT_CLOCK_HZ {
        board::set_baud(clock_hz, board::DEFAULT_BAUD);
    }
}

fn command_line() -> String {
    let mut line = [0; COMMAND_LINE_BYTES];
    let len = board::mailbox().lock().command_line(&mut line).unwrap_or(0);
    String::from_utf8_lossy(&line[..len]).into_owned()
}
