//! When the watchdog runs: from before the first access that may hang until after the last.

use qemu::{Machine, Qemu};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tests::boot::kernel;
use tests::bus::{Access, accesses, with_reads_and_writes};
use tests::monitor::MonitorSocket;
use tests::patch::Patch;

const PATIENCE: Duration = Duration::from_secs(120);

const PM_RSTC: u32 = 0xFE10_001C;
const PM_WDOG: u32 = 0xFE10_0024;
const GPIO: u32 = 0xFE20_0000;
const UART: u32 = 0xFE20_1000;
const LEGACY_SDHCI: u32 = 0xFE30_0000;
const EMMC2: u32 = 0xFE34_0000;

fn traced(machine: Machine) -> Qemu {
    with_reads_and_writes(machine).boot().unwrap()
}

fn is_of(block: u32) -> impl Fn(&Access) -> bool {
    move |access| access.addr & !0xFFF == block
}

fn is_write(addr: u32, value: u32) -> impl Fn(&Access) -> bool {
    move |access| access.is_write && (access.addr, access.value) == (addr, value)
}

/// With a board's counter the kernel arms it, which in QEMU is a reset: nothing comes after.
#[test]
fn it_is_armed_before_the_first_access_that_may_hang() {
    let machine = Machine::new(&kernel().image_path);
    let mut pi = traced(machine.arg("-global").arg("arm-cpu.cntfrq=54000000"));
    let status = pi.wait(PATIENCE).unwrap();
    assert!(status.success(), "{}", pi.transcript());
    let accesses = accesses(&pi.unexpected_log().unwrap());
    // the LED is what the first instructions switch
    let first = accesses.iter().find(|access| !is_of(GPIO)(access));
    // 15 s
    let seconds_15 = is_write(PM_WDOG, 0x5A00_0000 | 15 << 16);
    assert!(first.is_some_and(seconds_15), "{first:x?}");
    let last = accesses.last();
    assert!(
        last.is_some_and(|last| last.is_write && last.addr == PM_RSTC),
        "{last:x?}"
    );
}

#[test]
fn it_is_stopped_after_the_last_access_that_may_hang() {
    let mut pi = traced(Machine::new(&kernel().image_path).append("board.log"));
    pi.expect("> ", PATIENCE).unwrap();
    let accesses = accesses(&pi.unexpected_log().unwrap());
    let position = |matches: &dyn Fn(&Access) -> bool| accesses.iter().position(matches);
    let stops = accesses.iter().filter(|access| access.addr == PM_RSTC);
    assert_eq!(stops.count(), 1, "stopped once, and never armed");
    let stopped = position(&is_write(PM_RSTC, 0x5A00_0102)).expect("it is stopped");
    let last_emmc2 = accesses.iter().rposition(is_of(EMMC2));
    assert!(last_emmc2.is_some_and(|last| last < stopped));
    // On the way the UART was set up in the order that its manual wants: off, divisors, LCR_H latches them, on.
    let uart = accesses
        .iter()
        .filter(|access| access.is_write && is_of(UART)(access));
    let uart: Vec<_> = uart
        .map(|access| (access.addr - UART, access.value))
        .collect();
    let set_up = [
        (0x38, 0),
        (0x30, 0),
        (0x2C, 0),
        (0x44, 0x7FF),
        (0x24, 26),
        (0x28, 3),
        (0x2C, 0x70),
        (0x30, 0x301),
    ];
    assert_eq!(uart[..set_up.len()], set_up);
    // the card is tried without it
    let card = position(&is_of(LEGACY_SDHCI)).expect("the card is looked for");
    assert!(stopped < card);
}

/// What an older stub makes of the write to CPUECTLR is a trap to EL3 that nobody handles.
#[test]
fn it_runs_while_cpuectlr_is_written() {
    // msr s3_1_c15_c2_1, x0; b .
    let patch = Patch::new(&kernel().image.bytes).replace(&[0xD519_F220], &[0x1400_0000]);
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let image = patch.write(dir.join(format!("{}-cpuectlr.img", std::process::id())));
    let socket = MonitorSocket::new(&image);
    let machine = Machine::new(&image).append("board.prefetch=far");
    let pi = traced(socket.attach(machine));
    let mut monitor = socket.connect();
    let deadline = Instant::now() + PATIENCE;
    loop {
        // the four cores hang where the write was
        let counters = monitor.program_counters();
        if counters.iter().all(|counter| *counter == counters[0]) {
            break;
        }
        assert!(Instant::now() < deadline, "{counters:x?}");
        sleep(Duration::from_millis(100));
    }
    let accesses = accesses(&pi.unexpected_log().unwrap());
    assert!(accesses.iter().any(is_of(GPIO)));
    let touched = accesses.iter().find(|access| access.addr == PM_RSTC);
    assert_eq!(touched, None, "stopped before");
}
