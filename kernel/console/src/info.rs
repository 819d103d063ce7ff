//! Board and model as a person reads them.

use crate::screen::{Screen, Size, counted, say};
use core::fmt::{self, Display, Formatter};
use protocol::event::Info;
use protocol::facts::{BoardFacts, LoadTiming, ModelFacts};

/// The board in one line.
pub struct BoardLine<'a>(pub &'a BoardFacts);

impl Display for BoardLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let board = self.0;
        let (name, mib) = (&board.name, board.ram_bytes >> 20);
        write!(f, "{name}, {mib} MiB RAM, {}", counted(board.cores, "core"))?;
        if board.clock_hz > 0 {
            write!(f, " at {} MHz", board.clock_hz / 1_000_000)?;
        }
        if board.emulated {
            f.write_str(" (emulated: times are no speeds)")?;
        }
        Ok(())
    }
}

/// A model in one line.
pub struct Summary<'a>(pub &'a ModelFacts);

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let model = self.0;
        write!(
            f,
            "{}: {}, {:.1} M weights, {}{} ({}), context {} in {}",
            model.file,
            model.architecture,
            model.parameters as f64 / 1e6,
            model.format,
            Source(model),
            Size(model.tensor_bytes),
            model.context_len,
            model.kv
        )
    }
}

/// What the weights come from, if that had fewer bits.
struct Source<'a>(&'a ModelFacts);

impl Display for Source<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.requantized_from {
            Some((source, _)) => write!(f, " re-encoded from {source}"),
            None => Ok(()),
        }
    }
}

/// A load in one line.
struct LoadLine<'a>(&'a ModelFacts);

impl Display for LoadLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let LoadTiming {
            emulated,
            read_s,
            pack_s,
            checksum_s,
            total_s,
        } = self.0.load;
        write!(
            f,
            "{} in {total_s:.2} s: reading {read_s:.2} s, beside it packing {pack_s:.2} s \
             and checksum {checksum_s:.2} s",
            Size(self.0.load_bytes)
        )?;
        if emulated {
            f.write_str(" (an emulator's times are no speeds)")?;
        }
        Ok(())
    }
}

struct Flags(Option<u32>);

impl Display for Flags {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(0) => f.write_str("none"),
            Some(flags) => write!(f, "0x{flags:x}"),
            None => f.write_str("unknown"),
        }
    }
}

/// A board's revision code; nothing where there is none.
struct Revision(Option<u32>);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .map_or(Ok(()), |code| write!(f, ", revision {code:06x}"))
    }
}

/// All that runs here.
pub(crate) fn show_info(screen: Screen<'_>, info: &Info) {
    let (board, health) = (&info.board, &info.health);
    say!(screen, "firmware PiLM {}", info.version);
    say!(
        screen,
        "board    {}{}",
        BoardLine(board),
        Revision(board.revision)
    );
    if let Some(celsius) = health.celsius {
        say!(
            screen,
            "SoC      {celsius:.1} C, throttle flags {}",
            Flags(health.throttled)
        );
    }
    if let (Some(used), Some(size)) = (health.heap_used_bytes, health.heap_bytes) {
        say!(
            screen,
            "heap     {} of {}",
            Size(used as u64),
            Size(size as u64)
        );
    }
    for (core, stack) in health.stacks.iter().enumerate() {
        let (used, size) = (stack.used_bytes, stack.bytes);
        say!(screen, "stack {core}  at most {used} of {size} bytes used");
    }
    if let Some(card) = &health.card {
        say!(screen, "card     {card}");
    }
    match &info.model {
        None => screen.line("model    none is loaded; /models lists those on the card"),
        Some(model) => show_model(screen, model, info),
    }
}

fn show_model(screen: Screen<'_>, model: &ModelFacts, info: &Info) {
    say!(screen, "model    {}", Summary(model));
    if let Some(name) = &model.name {
        // It comes from the file, which must not steer the terminal.
        let name = name.replace(char::is_control, "\u{FFFD}");
        say!(screen, "name     {name}");
    }
    let bytes = Size(model.bytes_per_token);
    say!(screen, "reads    {bytes} of tensors per token");
    if let Some((source, source_bytes)) = &model.requantized_from {
        let from = Size(*source_bytes);
        say!(
            screen,
            "weights  re-encoded from {source}: no better than its, and {bytes} a token instead of {from}"
        );
    }
    say!(screen, "kernels  {}", info.settings.kernels);
    say!(screen, "load     {}", LoadLine(model));
    say!(screen, "trained  for {} tokens", model.trained_len);
    let none = "no template that is known: text is continued as it is";
    say!(
        screen,
        "chat     {}",
        model.template.as_deref().unwrap_or(none)
    );
    say!(
        screen,
        "tokens   {}, {} ids",
        model.tokenizer,
        model.vocab_size
    );
    let (used, len) = (model.context_used, model.context_len);
    say!(screen, "context  {used} of {len} tokens used");
    match info.settings.speculate {
        0 => screen.line("speculate off"),
        n => say!(
            screen,
            "speculate up to {n} draft tokens that repeat the context, checked in one pass"
        ),
    }
}
