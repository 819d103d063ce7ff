//! `kernel_main`: the machine is put together, in the order in which the parts need each other.

use alloc::string::String;
use core::fmt::Write;
use core::sync::atomic::{AtomicBool, Ordering};

use boot::device_tree::Error;
use boot::start::BootInfo;
use boot::survey::Survey;
use drivers::property::ClockId;
use parallel::Cores;

use crate::core_pool::CorePool;
use crate::failures::Failure;
use crate::info::BoardInfo;
use crate::options::{self, Options};
use crate::platform::Platform;
use crate::serial::Serial;
use crate::{board, core_pool, failures, info, memory, panic, shell};

boot::entry! {
    main: kernel_main,
    secondary: core_pool::work,
    exception: panic::exception,
    irq: board::handle_interrupt,
}

/// Longest kernel command line that is read.
const COMMAND_LINE_BYTES: usize = 2048;

/// What a start-up may take before the watchdog restarts the board.
const BRING_UP_LIMIT_MS: u32 = 15_000;

/// The file by which the firmware knows to use the cores' interrupt controller.
const DEVICE_TREE: &str = "bcm2711-rpi-4-b.dtb";

/// How long a core may keep others waiting at a barrier unless an option says otherwise.
const BARRIER_LIMIT_S: u64 = 10;
/// The same in QEMU, whose cores share a host's.
const EMULATED_BARRIER_LIMIT_S: u64 = 60;

fn kernel_main(boot: &BootInfo) -> ! {
    // Before the first access that may hang.
    board::arm_watchdog(BRING_UP_LIMIT_MS);
    board::init_console();
    let mut log = Serial;
    note_hand_over(&mut log, boot);

    let tree = memory::read_device_tree(boot.device_tree_addr);
    let mut info = BoardInfo::ask(boot, tree);
    note_device_tree(&mut log, &info);
    let low = board::mailbox().lock().arm_memory().ok();
    let survey = Survey::new(
        info.tree.nodes.as_ref().ok(),
        low,
        info.revision,
        info.emulated,
    );
    info.ram = survey.ram;
    let mut line = [0; COMMAND_LINE_BYTES];
    let line = read_command_line(&mut line);
    // without the heap, which this decides about
    let options = Options::of_command_line(line);
    let order = if options.highest_memory_first {
        memory::Order::HighestFirst
    } else {
        memory::Order::LowestFirst
    };
    let arena = match memory::init(&survey, order) {
        Ok(arena) => arena,
        Err(error) => panic::end(format_args!("{error}"), core::iter::empty()),
    };

    let command_line = String::from_utf8_lossy(line).into_owned();
    for mistake in options::mistakes(&command_line) {
        let _ = writeln!(log, "{mistake}");
    }
    info::raise_core_clock();
    let stopped = failures::cores_that_stop(&command_line);
    info.interrupts = board::init_interrupts(failures::stop_interrupts(&command_line));
    note_interrupts(&mut log, info.interrupts);
    let (cores, alive) = CorePool::start(boot::layout::N_CORES, stopped, info.emulated);
    let limit_s = match info.emulated {
        false => BARRIER_LIMIT_S,
        true => EMULATED_BARRIER_LIMIT_S,
    };
    cores.set_barrier_limit(options.barrier_limit_s.unwrap_or(limit_s));
    note_missing_cores(&mut log, &alive, cores.n_alive());
    if options.far_prefetch {
        set_far_prefetch(&mut log, &cores);
    }
    let _ = board::mailbox()
        .lock()
        .set_clock_state(ClockId::Emmc2, true);
    if options.log {
        let _ = write!(log, "{}", info.details());
    }
    fail_on_request(&command_line, &cores);
    let platform = Platform {
        cores,
        card: board::card_slot(),
        arena,
        info,
        command_line,
        logs: options.log,
        entropy: board::random_bits().unwrap_or_else(board::seed_without_generator),
    };
    // What may hang from here on has limits of its own: the console, the card, the cores.
    board::watchdog().stop();
    board::set_led(false);
    shell::run(platform)
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

/// Says once that there is no device tree that can be read. QEMU hands one over only when it is asked to.
fn note_device_tree(log: &mut Serial, info: &BoardInfo) {
    match info.tree.nodes {
        Err(Error::BadAddress) if info.emulated => {}
        Err(error) => {
            let _ = writeln!(
                log,
                "{error} (at {:#x}); RAM as the mailbox knows it: put {DEVICE_TREE} on the card",
                info.tree.addr
            );
        }
        Ok(_) => {}
    }
}

/// Says once that no interrupt arrives.
fn note_interrupts(log: &mut Serial, arrive: bool) {
    if !arrive {
        let _ = writeln!(
            log,
            "no interrupts arrive: keys are polled, and a long paste may lose bytes; put {DEVICE_TREE} on the \
             card, and enable_gic=1 into config.txt"
        );
    }
}

/// Says once which cores are missing.
fn note_missing_cores(log: &mut Serial, alive: &[bool], n_alive: usize) {
    let missing = || (0..alive.len()).filter(|&core| !alive[core]);
    if missing().next().is_none() {
        return;
    }
    let _ = write!(log, "did not come up:");
    for core in missing() {
        let _ = write!(log, " core {core}");
    }
    let _ = writeln!(log, "; going on with {n_alive} of {}", alive.len());
}

/// Reads the command line without the heap: it has a word on memory.
fn read_command_line(line: &mut [u8]) -> &[u8] {
    let len = board::mailbox().lock().command_line(line).unwrap_or(0);
    &line[..len]
}

/// Undoes on every core what the firmware's stub does to `CPUECTLR`, to be measured both ways.
fn set_far_prefetch(log: &mut Serial, cores: &CorePool) {
    let refused = AtomicBool::new(false);
    cores.run(&|_| {
        if boot::cpu::set_far_prefetch().is_none() {
            refused.store(true, Ordering::Relaxed);
        }
    });
    if refused.into_inner() {
        let _ = writeln!(
            log,
            "board.prefetch=far: this board's firmware does not allow it"
        );
    }
}

fn fail_on_request(line: &str, cores: &CorePool) {
    for failure in failures::of_command_line(line) {
        match failure {
            Failure::Panic => panic!("the command line asks for it"),
            Failure::Exception => take_exception(cores),
            Failure::Hang(core) => hang(cores, core),
            // have failed before
            Failure::Interrupts | Failure::Cores(_) => {}
        }
    }
}

/// On the last core: what a probe would survive and this does not, a read from where nothing is mapped.
fn take_exception(cores: &CorePool) {
    let last = cores.n_cores() - 1;
    cores.run(&|core| {
        if core.id() == last {
            boot::cpu::read_null();
        }
    });
}

/// Core `hanging` stays in a step, the others wait for it.
fn hang(cores: &CorePool, hanging: usize) {
    cores.run(&|core| {
        while core.id() == hanging {
            boot::wait::for_event();
        }
        core.barrier();
    });
}
