//! Flag files: one flag per line, `#` lines for the reasons.

/// The machine's flags, as QEMU's arguments.
pub(crate) fn raspi4b() -> Vec<&'static str> {
    parse(include_str!("../raspi4b.args"))
}

/// The flags of the machine with DMA on its SD controller.
pub(crate) fn virt() -> Vec<&'static str> {
    parse(include_str!("../virt.args"))
}

/// Lines of QEMU's log that are expected.
pub(crate) fn allowed_log_lines() -> Vec<&'static str> {
    lines(include_str!("../allowed-log-lines.txt")).collect()
}

fn parse(text: &str) -> Vec<&str> {
    // a flag and its value; values with spaces are not needed
    lines(text).flat_map(str::split_whitespace).collect()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_and_blank_lines_are_dropped() {
        assert_eq!(
            parse("# why\n-smp 4\n\n  -no-reboot  \n"),
            ["-smp", "4", "-no-reboot"]
        );
    }

    #[test]
    fn every_flag_has_a_reason_above_it() {
        let mut reason = false;
        let files = [
            include_str!("../raspi4b.args"),
            include_str!("../virt.args"),
        ];
        for line in files.into_iter().flat_map(str::lines) {
            if line.starts_with('#') {
                reason = true;
            } else if line.is_empty() {
                reason = false;
            } else {
                assert!(reason, "no reason above: {line}");
            }
        }
        assert!(raspi4b().starts_with(&["-machine", "raspi4b"]));
        assert!(virt().starts_with(&["-machine", "virt,highmem=off"]));
    }
}
