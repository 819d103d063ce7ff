//! Asynchronous errors, which QEMU has only as virtual ones that EL2 makes pending for EL1.

use qemu::Machine;
use std::path::PathBuf;
use std::time::Duration;
use tests::boot::kernel;
use tests::patch::{NOP, Patch};

const PATIENCE: Duration = Duration::from_secs(120);

/// `msr hcr_el2, x9; mov x9, #0x33ff; msr cptr_el2, x9; msr hstr_el2, xzr`
const EL2_SETUP: [u32; 4] = [0xD51C_1109, 0xD286_7FE9, 0xD51C_1149, 0xD51C_117F];
/// `movk x9, #0x120` first: an error that is pending (`VSE`) for EL1 (`AMO`). HSTR_EL2 is 0 in QEMU without a write.
const WITH_PENDING_ERROR: [u32; 4] = [0xF280_2409, 0xD51C_1109, 0xD286_7FE9, 0xD51C_1149];
/// `msr daifclr, #4`
const UNMASK: u32 = 0xD503_44FF;
const ISB: u32 = 0xD503_3FDF;
const DSB_SY: u32 = 0xD503_3F9F;
/// `ldr w0, [x0]`
const LOAD: u32 = 0xB940_0000;

fn with_pending_error() -> Patch {
    Patch::new(&kernel().image.bytes).replace(&EL2_SETUP, &WITH_PENDING_ERROR)
}

fn start_of(name: &str, patch: &Patch) -> String {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = patch.write(dir.join(format!("{}-{name}.img", std::process::id())));
    let mut pi = Machine::new(path).append("board.log").boot().unwrap();
    pi.expect("> ", PATIENCE).unwrap();
    pi.transcript()
}

#[test]
fn one_that_the_firmware_has_left_is_said_once() {
    let text = start_of("inherited", &with_pending_error());
    let line = "a bus error of the firmware's was pending (ESR 0xbe000000)";
    assert_eq!(text.matches(line).count(), 1, "{text}");
    assert!(text.contains("EMMC2 caps 0x052134b4"), "{text}");
    assert!(!text.contains("did not come up"), "{text}");
}

/// It stays masked until the first register that answers has been read.
#[test]
fn one_that_comes_in_beside_a_look_for_a_register_is_no_answer() {
    let patch = with_pending_error()
        .replace(&[UNMASK, ISB], &[NOP, ISB])
        .replace(&[LOAD, DSB_SY, ISB], &[LOAD, UNMASK, ISB]);
    let text = start_of("beside-a-probe", &patch);
    let line =
        "a bus error came in while a register was looked for (ESR 0xbe000000): looking again";
    assert_eq!(text.matches(line).count(), 1, "{text}");
    assert!(text.contains("EMMC2 caps 0x052134b4"), "{text}");
    // what does not answer is absent as before
    assert!(text.contains("chip       -"), "{text}");
    assert!(!text.contains("firmware's was pending"), "{text}");
}
