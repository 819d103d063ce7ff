//! Records of measurements as rows, and the line after an answer.

use alloc::format;
use alloc::string::String;
use core::fmt::{self, Display, Formatter};
use protocol::event::{Bench, Check, Finish, Generated, Kernels, Membw, Phase, Samples};

/// A number of things, `s` unless there is one.
fn plural(n: usize, thing: &str) -> impl Display {
    fmt::from_fn(move |f| write!(f, "{n} {thing}{}", if n == 1 { " " } else { "s" }))
}

/// Mean and standard deviation of a figure that takes `per_run` in each sample.
fn rate(samples: &Samples, per_run: f64) -> (f64, f64) {
    let (mean, sd) = mean_sd(samples);
    let rate = per_run / mean;
    (rate, rate * sd / mean)
}

/// Mean and standard deviation; 0 without samples.
fn mean_sd(samples: &Samples) -> (f64, f64) {
    (samples.mean_s.unwrap_or(0.0), samples.sd_s.unwrap_or(0.0))
}

/// How many samples there are, and how many were void.
fn count(samples: &Samples) -> impl Display {
    fmt::from_fn(|f| {
        write!(f, "  n {}", samples.runs)?;
        match samples.void_runs {
            0 => Ok(()),
            n => write!(f, " ({n} void)"),
        }
    })
}

/// A measurement of prefill or decode.
pub fn bench_row(bench: &Bench) -> impl Display {
    fmt::from_fn(|f| {
        let samples = &bench.samples;
        let phase = match bench.phase {
            Phase::Prefill => "prefill",
            _ => "decode ",
        };
        write!(f, "{phase}  {}  ", plural(bench.cores, "core"))?;
        if bench.emulated {
            let (mean, sd) = mean_sd(samples);
            write!(f, "{mean:.3} s +- {sd:.3} (emulated: no speed)")?;
        } else {
            let (rate, sd) = rate(samples, bench.tokens as f64);
            let (p50, p99) = (samples.p50_s.unwrap_or(0.0), samples.p99_s.unwrap_or(0.0));
            write!(
                f,
                "{rate:8.2} tok/s +- {sd:.2}  p50 {p50:.4} s  p99 {p99:.4} s"
            )?;
        }
        write!(f, "{}", count(samples))
    })
}

/// A measurement of the memory.
pub fn membw_row(membw: &Membw) -> impl Display {
    fmt::from_fn(|f| {
        let (kib, cores) = (membw.buffer_bytes >> 10, plural(membw.cores, "core"));
        write!(f, "{:<6} {kib:>6} KiB  {cores}  ", membw.action)?;
        if membw.emulated {
            let (mean, sd) = mean_sd(&membw.samples);
            write!(f, "{mean:.4} s +- {sd:.4} (emulated: no speed)")?;
        } else {
            let (rate, sd) = rate(&membw.samples, membw.moved_bytes as f64 / 1e9);
            write!(f, "{rate:7.2} GB/s +- {sd:.2}")?;
        }
        write!(f, "{}", count(&membw.samples))
    })
}

/// The matrix of a measurement of kernels.
pub fn matrix_line(kernels: &Kernels) -> String {
    let (tensor, format) = (&kernels.tensor, &kernels.format);
    let (rows, cols) = (kernels.rows, kernels.cols);
    let all = format!("{tensor} {format}, {rows} x {cols}");
    match kernels.measured_rows {
        measured if measured < rows => format!("{all}, the first {measured} rows"),
        _ => all,
    }
}

/// A measurement of one set of kernels.
pub fn kernels_row(record: &Kernels) -> impl Display {
    fmt::from_fn(|f| {
        let (tokens, cores) = (plural(record.tokens, "token"), plural(record.cores, "core"));
        write!(f, "{:<10}  {tokens}  {cores}  ", record.kernels)?;
        if record.samples.runs == 0 {
            f.write_str("no sample")?;
        } else if record.emulated {
            let (mean, sd) = mean_sd(&record.samples);
            write!(f, "{mean:.4} s +- {sd:.4}")?;
        } else {
            let (rate, sd) = rate(&record.samples, record.read_bytes as f64 / 1e9);
            write!(f, "{rate:7.2} GB/s +- {sd:.2}")?;
        }
        if let Some(speedup) = record.speedup_over_reference {
            write!(f, "  x {speedup:5.2}")?;
        }
        if let Some(error) = record.max_relative_error {
            write!(f, "  error {error:.1e}")?;
        }
        write!(f, "{}", count(&record.samples))
    })
}

/// One check of the selftest.
pub fn check_row(check: &Check) -> impl Display {
    let verdict = if check.right { "ok" } else { "WRONG" };
    fmt::from_fn(move |f| {
        let Check {
            kind,
            check,
            values,
            error,
            limit,
            ..
        } = check;
        write!(
            f,
            "{kind:<9} {check:<24} {values:>8} values  error {error:8.1e}  limit {limit:8.1e}  {verdict}"
        )
    })
}

/// The line after an answer.
pub struct Status<'r> {
    /// The generation in numbers.
    pub generated: &'r Generated,
    /// Why it ended.
    pub finish: Finish,
    /// Whether drafts were made.
    pub speculates: bool,
    /// Whether the answer depends on the seed.
    pub is_sampled: bool,
}

impl Display for Status<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (usage, timing) = (&self.generated.usage, &self.generated.timing);
        f.write_str(match self.finish {
            Finish::Stop => "[",
            Finish::Length => "[cut at max_tokens | ",
            Finish::ContextFull => "[cut: the context is full | ",
            Finish::Repetition => "[cut: it repeats itself | ",
            Finish::Abort => "[stopped | ",
        })?;
        let (prompt, answer) = (usage.prefilled(), usage.completion_tokens);
        write!(f, "{prompt} prompt + {answer} answer tokens")?;
        if usage.reused_tokens > 0 {
            write!(f, " ({} kept)", usage.reused_tokens)?;
        }
        let first = timing.first_token_s;
        if timing.emulated {
            let all = timing.prefill_s + timing.decode_s;
            write!(f, " | emulated: first token {first:.1} s, all {all:.1} s")?;
        } else if let (Some(prefill), Some(decode)) =
            (timing.prefill_tokens_per_s, timing.decode_tokens_per_s)
        {
            write!(
                f,
                " | prefill {prefill:.1} tok/s, decode {decode:.1} tok/s | first token {first:.2} s"
            )?;
        }
        if let Some(per_pass) = timing.tokens_per_pass.filter(|_| self.speculates) {
            let (accepted, drafted) = (usage.accepted_tokens, usage.draft_tokens);
            write!(
                f,
                " | {per_pass:.2} tokens per pass, {accepted} of {drafted} draft tokens accepted"
            )?;
        }
        if self.is_sampled {
            write!(f, " | seed {}", self.generated.seed)?;
        }
        write!(
            f,
            " | context {}/{}]",
            usage.context_used, usage.context_len
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Status;
    use protocol::event::{Finish, Generated, Timing, Usage};

    const GENERATED: Generated = Generated {
        usage: Usage {
            prompt_tokens: 31,
            completion_tokens: 9,
            total_tokens: 40,
            reused_tokens: 1,
            drafts: 0,
            draft_tokens: 0,
            accepted_tokens: 0,
            context_used: 40,
            context_len: 2048,
        },
        timing: Timing {
            emulated: false,
            prefill_s: 0.4,
            first_token_s: 0.45,
            decode_s: 0.3,
            decode_steps: 9,
            decode_passes: 9,
            tokens_per_pass: Some(1.0),
            prefill_tokens_per_s: Some(75.0),
            decode_tokens_per_s: Some(30.0),
        },
        seed: 1,
        heap_growth_bytes: Some(0),
    };

    fn status(generated: &Generated, finish: Finish, speculates: bool) -> String {
        Status {
            generated,
            finish,
            speculates,
            is_sampled: false,
        }
        .to_string()
    }

    #[test]
    fn a_board_has_speeds() {
        assert_eq!(
            status(&GENERATED, Finish::Stop, false),
            "[30 prompt + 9 answer tokens (1 kept) | prefill 75.0 tok/s, decode 30.0 tok/s | first token 0.45 s \
             | context 40/2048]"
        );
    }

    #[test]
    fn the_seed_is_shown_where_it_decides() {
        let status = Status {
            generated: &GENERATED,
            finish: Finish::Repetition,
            speculates: false,
            is_sampled: true,
        };
        let status = status.to_string();
        assert!(
            status.starts_with("[cut: it repeats itself | 30 prompt"),
            "{status}"
        );
        assert!(status.ends_with(" | seed 1 | context 40/2048]"), "{status}");
    }

    #[test]
    fn a_prompt_that_was_stopped_has_none() {
        let mut stopped = GENERATED;
        stopped.usage.completion_tokens = 0;
        stopped.timing.prefill_tokens_per_s = None;
        stopped.timing.decode_tokens_per_s = None;
        assert_eq!(
            status(&stopped, Finish::Abort, false),
            "[stopped | 30 prompt + 0 answer tokens (1 kept) | context 40/2048]"
        );
    }

    #[test]
    fn drafts_are_shown_when_there_were_any() {
        let mut drafted = GENERATED;
        assert!(
            status(&drafted, Finish::Stop, true)
                .contains(" | 1.00 tokens per pass, 0 of 0 draft tokens accepted | context")
        );
        drafted.usage.draft_tokens = 14;
        drafted.usage.accepted_tokens = 5;
        drafted.timing.tokens_per_pass = Some(2.25);
        assert!(
            status(&drafted, Finish::Stop, true)
                .contains(" | 2.25 tokens per pass, 5 of 14 draft tokens accepted | context")
        );
    }

    #[test]
    fn an_emulator_has_none() {
        let mut emulated = GENERATED;
        emulated.timing.emulated = true;
        let status = status(&emulated, Finish::Stop, false);
        assert!(
            status.contains("emulated") && !status.contains("tok/s"),
            "{status}"
        );
    }
}
