//! A card image, and the slot that it is in.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Where a card is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The machine's own slot: a raspi4b's legacy controller.
    Machine,
    /// The only other bus for cards.
    Only,
    /// A raspi4b's EMMC2. Both controllers call their bus `sd-bus`: a path tells them apart.
    Emmc2,
}

impl Slot {
    /// The device of a drive that the machine does not plug in by itself.
    fn device(self) -> Option<&'static str> {
        match self {
            Self::Machine => None,
            Self::Only => Some("sd-card,drive=card"),
            Self::Emmc2 => Some("sd-card,drive=card,bus=main-system-bus/generic-sdhci/sd-bus"),
        }
    }
}

/// A card.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    pub(crate) image: PathBuf,
    /// Rules of QEMU's `blkdebug`: which reads fail.
    pub(crate) errors: Option<PathBuf>,
}

impl Drive {
    /// QEMU's arguments for it in `slot`. What the guest writes is lost with the machine.
    pub(crate) fn args(&self, slot: Slot) -> Vec<OsString> {
        let mut drive = OsString::from(match slot {
            Slot::Machine => "if=sd",
            Slot::Only | Slot::Emmc2 => "if=none,id=card",
        });
        drive.push(",format=raw,snapshot=on,file=");
        if let Some(rules) = &self.errors {
            drive.push("blkdebug:");
            drive.push(doubled_commas(rules.as_os_str()));
            drive.push(":");
        }
        drive.push(doubled_commas(self.image.as_os_str()));
        let mut args = vec!["-drive".into(), drive];
        if let Some(device) = slot.device() {
            args.extend(["-device".into(), device.into()]);
        }
        args
    }
}

/// QEMU splits option values at commas; a doubled one stands for itself.
fn doubled_commas(path: &OsStr) -> OsString {
    match path.to_str() {
        Some(text) => text.replace(',', ",,").into(),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_in_each_slot() {
        let drive = Drive {
            image: "a,b.img".into(),
            errors: None,
        };
        let file = "format=raw,snapshot=on,file=a,,b.img";
        assert_eq!(
            drive.args(Slot::Machine),
            ["-drive", &format!("if=sd,{file}")]
        );
        let args = drive.args(Slot::Emmc2);
        assert_eq!(args[1], *format!("if=none,id=card,{file}"));
        assert!(args[3].to_str().unwrap().contains("/generic-sdhci/"));
        assert_eq!(drive.args(Slot::Only)[3], "sd-card,drive=card");
    }

    #[test]
    fn reads_that_fail_are_between_the_guest_and_the_image() {
        let drive = Drive {
            image: "a.img".into(),
            errors: Some("rules".into()),
        };
        let args = drive.args(Slot::Machine);
        assert!(
            args[1]
                .to_str()
                .unwrap()
                .ends_with(",file=blkdebug:rules:a.img")
        );
    }
}
