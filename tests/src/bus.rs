//! What QEMU sees on the bus: accesses to devices, in their order.

use qemu::Machine;

/// One access to a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The host's time.
    pub seconds: f64,
    /// Where, as the cores see it.
    pub addr: u32,
    /// What was read or written.
    pub value: u32,
    /// Whether it was a write.
    pub is_write: bool,
}

const WRITE: &str = "memory_region_ops_write";
const READ: &str = "memory_region_ops_read";

/// Has QEMU's log show every write to a device.
#[must_use]
pub fn with_writes(machine: Machine) -> Machine {
    let machine = machine.arg("-msg").arg("timestamp=on");
    machine.arg("-trace").arg(WRITE)
}

/// Has it show every read too.
#[must_use]
pub fn with_reads_and_writes(machine: Machine) -> Machine {
    with_writes(machine).arg("-trace").arg(READ)
}

/// The accesses among the lines of QEMU's log.
pub fn accesses(lines: &[String]) -> Vec<Access> {
    lines.iter().filter_map(|line| access(line)).collect()
}

fn access(line: &str) -> Option<Access> {
    let (head, rest) = line.split_once(":memory_region_ops_")?;
    let hex = |text: &str| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let mut words = rest.split_ascii_whitespace();
    let is_write = words.next()? == "write";
    let mut field = |name: &str| hex(words.find(|&word| word == name).and(words.next())?);
    Some(Access {
        seconds: head.split_once('@')?.1.parse().ok()?,
        addr: field("addr")?,
        value: field("value")?,
        is_write,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_trace_is_an_access() {
        let lines = [
            "bcm2835_powermgt_write: WDOG".to_owned(),
            "12@1796277587.5:memory_region_ops_write cpu 0 mr 0x7f6c0 addr 0xfe200010 value 0x40 size 4 name 'gpio'"
                .to_owned(),
        ];
        let write = Access {
            seconds: 1_796_277_587.5,
            addr: 0xFE20_0010,
            value: 0x40,
            is_write: true,
        };
        assert_eq!(accesses(&lines), [write]);
    }
}
