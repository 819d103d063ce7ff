//! The card slot as a person, or the reader of a board's log, sees it.

use core::fmt::{self, Display, Formatter};
use protocol::event::{Sd, SdCard, SdErrors, SdRead, SdTransfer, SdWords};

/// What controller and card say, a line each, the last one without its end.
pub struct SdReport<'a>(pub &'a Sd);

impl Display for SdReport<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sd = self.0;
        let [low, high] = &sd.capabilities;
        let (name, version) = (&sd.controller, &sd.controller_version);
        writeln!(
            f,
            "slot     {name}, version {version}, capabilities {low} {high}"
        )?;
        match &sd.words_as_left {
            Some(words) => writeln!(f, "as left  {}", words_line(words))?,
            None => writeln!(f, "as left  unknown")?,
        }
        writeln!(f, "now      {}", words_line(&sd.words))?;
        let clock = &sd.base_clock;
        writeln!(
            f,
            "clock    measured {}, rate {}, highest {} Hz: {} MHz ({})",
            Answer(clock.measured_hz),
            Answer(clock.rate_hz),
            Answer(clock.highest_hz),
            clock.hz / 1_000_000,
            clock.source
        )?;
        let answer = |set| if set { "set" } else { "no answer" };
        write!(
            f,
            "rails    3.3 V on the lines: {}, card power: {}",
            answer(sd.io_3v3),
            answer(sd.card_power)
        )?;
        match &sd.card {
            Some(card) => write!(f, "\n{}", card_lines(card)),
            None => Ok(()),
        }
    }
}

fn words_line(words: &SdWords) -> impl Display {
    fmt::from_fn(move |f| {
        let (present, host_power) = (&words.present, &words.host_power);
        let (clock_reset, auto_host2) = (&words.clock_reset, &words.auto_host2);
        write!(
            f,
            "0x24 {present}, 0x28 {host_power}, 0x2c {clock_reset}, 0x3c {auto_host2}"
        )
    })
}

/// A number that the firmware has answered, or not.
struct Answer(Option<u32>);

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => write!(f, "{number}"),
            None => f.write_str("-"),
        }
    }
}

fn card_lines(card: &SdCard) -> impl Display {
    fmt::from_fn(move |f| {
        writeln!(f, "OCR      {}", card.ocr)?;
        writeln!(f, "CID      {}", card.cid)?;
        writeln!(f, "CSD      {}", card.csd)?;
        writeln!(f, "SCR      {}", card.scr.as_deref().unwrap_or("not read"))?;
        let status = card.switch_status.as_deref().unwrap_or("not asked for");
        writeln!(f, "CMD6     {status}")?;
        let (mib, lines, mhz) = (card.bytes >> 20, card.data_lines, card.clock_hz / 1_000_000);
        let s = if lines == 1 { "" } else { "s" };
        let speed = if card.high_speed { " (high speed)" } else { "" };
        write!(
            f,
            "mode     {mib} MiB, {lines} line{s} at {mhz} MHz{speed}, {}",
            card.transfer
        )?;
        if let Some(map) = &card.dma_map {
            write!(f, " ({map})")?;
        }
        if let Some(reason) = &card.pio_reason {
            write!(f, ": {}", pio_reason(reason))?;
        }
        write!(f, "\nerrors   {}", errors_line(&card.errors))
    })
}

/// A reason in words.
fn pio_reason(name: &str) -> &str {
    match name {
        "no_engine" => "not on a DMA controller",
        "left_out" => "board.sd=pio leaves DMA out",
        "trial_failed" => "what DMA brought in was not right",
        "trial_unread" => "the card could not be read for a trial of DMA",
        "out_of_reach" => "the controller does not reach the memory for a trial",
        "wrong_bytes" => "DMA brought in a block wrongly without an error",
        "given_up" => "reads by DMA failed",
        other => other,
    }
}

fn errors_line(errors: &SdErrors) -> impl Display {
    let SdErrors {
        retries,
        crc_errors,
        timeouts,
        mismatches,
    } = *errors;
    fmt::from_fn(move |f| {
        write!(
            f,
            "{retries} reads repeated ({crc_errors} for CRC errors, {timeouts} for time-outs)"
        )?;
        if mismatches > 0 {
            write!(f, ", {mismatches} wrong by DMA")?;
        }
        Ok(())
    })
}

/// A measurement of the card in one way; behind the last one whether both ways have brought the same.
pub fn sd_read_row(read: &SdRead) -> impl Display {
    fmt::from_fn(move |f| {
        let mib = read.read_bytes as f64 / f64::from(1 << 20);
        let seconds = read.read_s;
        write!(f, "{}      {mib:.1} MiB in {seconds:.3} s", read.transfer)?;
        match read.mb_per_s {
            Some(rate) => write!(f, ", {rate:.2} MB/s")?,
            None => f.write_str(" (emulated: no speed)")?,
        }
        if read.errors != SdErrors::default() {
            write!(f, "; {}", errors_line(&read.errors))?;
        }
        if read.transfer == SdTransfer::Pio && read.compared_bytes > 0 {
            write!(f, "\n{}", comparison(read))?;
        }
        Ok(())
    })
}

fn comparison(read: &SdRead) -> impl Display {
    fmt::from_fn(move |f| {
        let bytes = read.compared_bytes;
        match (read.differing_bytes, read.first_difference) {
            (0, _) => write!(f, "compared {bytes} bytes: DMA and PIO bring the same"),
            (n, at) => write!(
                f,
                "WRONG    {n} of {bytes} bytes differ between DMA and PIO, the first at byte {} of the card: start \
                 with board.sd=pio",
                at.unwrap_or(0)
            ),
        }
    })
}
