//! `pilm talk`: a board's console, or a QEMU's.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use link::serial::Serial;
use link::terminal::{End, Notice, PROMPT, RawMode, Screen, Watch, join, keys};
use link::{FAST_BAUD, Link, Options, Transport};
use qemu::Machine;

/// Talk to a board, or to a QEMU: Ctrl-] leaves
///
/// Keys go to the firmware as they are: it has the line editor, the history (the up key) and Ctrl-C, and says how far
/// it is while it loads. A port that goes away is opened again when it is back. Where standard input is no terminal,
/// its lines are typed, text or JSON.
#[derive(clap::Args)]
pub struct Args {
    /// Serial port of the board, or the path that `cargo xtask run --pty` prints.
    #[arg(long, value_name = "PORT", required_unless_present = "qemu")]
    port: Option<PathBuf>,
    /// Speed of the port: that of the board's setting `baud`.
    #[arg(long, value_name = "N", default_value_t = 115_200)]
    baud: u32,
    /// Go on at 921600 baud, if the board says that it can: what runs there is stopped.
    #[arg(long, conflicts_with = "qemu")]
    fast: bool,
    /// Boot this kernel8.img in QEMU instead.
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["port", "baud"])]
    qemu: Option<PathBuf>,
    /// With --qemu: the image of the SD card.
    #[arg(long, value_name = "IMAGE", requires = "qemu")]
    card: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    match (&args.qemu, &args.port) {
        (Some(kernel), _) => {
            let mut machine = Machine::new(kernel);
            if let Some(card) = &args.card {
                machine = machine.card(card);
            }
            talk(&mut machine.boot()?)
        }
        (None, port) => {
            let path = port.as_deref().context("a port is given")?;
            let port = Serial::open(path, args.baud);
            let port = port.with_context(|| format!("{}", path.display()))?;
            // a person's lines have no checksums
            let options = Options {
                crc: false,
                patience: Duration::from_secs(20),
                ..Options::default()
            };
            let mut link = Link::new(port, options);
            if args.fast && !link.speed_up()? {
                eprintln!("[board or port cannot run at {FAST_BAUD} baud]");
            }
            talk(link.transport())
        }
    }
}

fn talk(transport: &mut impl Transport) -> Result<()> {
    let keys = keys();
    let raw = RawMode::enter_at_terminal().context("the terminal cannot be set up")?;
    let mut screen = StandardOutput {
        prompt: Watch::new(PROMPT),
        is_at_prompt: false,
    };
    if raw.is_some() {
        // the firmware shows its prompt again
        transport.write(b"\r")?;
    }
    let ended = join(transport, &keys, &mut screen);
    drop(raw);
    // a reader that has left ends it without a word
    let ended = match ended {
        Err(error) => Err(error.downcast::<stdout::Error>()?),
        Ok(end) => Ok(end),
    };
    if ended? == End::Gone {
        eprintln!("[the other end has switched itself off]");
    }
    Ok(())
}

/// What the firmware says, on standard output; what happens to the line, beside it.
struct StandardOutput {
    prompt: Watch,
    is_at_prompt: bool,
}

impl Screen for StandardOutput {
    fn show(&mut self, bytes: &[u8]) -> io::Result<Option<String>> {
        if !bytes.is_empty() {
            self.is_at_prompt = self.prompt.sees(bytes);
        }
        stdout::write_bytes(bytes).map_err(io::Error::other)?;
        Ok(None)
    }

    fn notice(&mut self, notice: Notice<'_>) -> io::Result<()> {
        match notice {
            Notice::Waiting(error) => eprintln!("\n[the line is gone ({error}); it is waited for]"),
            Notice::Back => eprintln!("[the line is back]"),
        }
        Ok(())
    }

    fn is_at_prompt(&self) -> bool {
        self.is_at_prompt
    }
}
