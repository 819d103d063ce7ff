//! Records of `/kernels` for people and for programs.

use super::Configuration;
use super::subject::Subject;
use crate::json::Object;
use crate::session::platform::{BoardFacts, Health};
use core::fmt;
use ops::matrix::Kernels;

/// What one configuration came to.
pub(super) struct Record<'r> {
    pub configuration: &'r Configuration,
    pub subject: &'r Subject<'r, 'r>,
    /// How many times faster than the scalar definition, in this run.
    pub speedup: Option<f64>,
    pub is_first_of_subject: bool,
}

/// The records of all configurations, in their order.
pub(super) fn records<'r>(
    configurations: &'r [Configuration],
    subjects: &'r [Subject<'r, 'r>],
) -> impl Iterator<Item = Record<'r>> {
    configurations.iter().enumerate().map(move |(i, here)| {
        let scalar = configurations
            .iter()
            .find(|other| other.kernels == Kernels::Scalar && other.is_rival_of(here));
        let speedup = scalar
            .map(|scalar| scalar.samples.mean() / here.samples.mean())
            .filter(|speedup| speedup.is_finite() && *speedup > 0.0);
        Record {
            configuration: here,
            subject: &subjects[here.subject],
            speedup,
            is_first_of_subject: i == 0 || configurations[i - 1].subject != here.subject,
        }
    })
}

impl Record<'_> {
    /// Read bytes per second, in 10⁹.
    fn gigabytes_per_second(&self) -> f64 {
        self.subject.read_bytes() as f64 / 1e9 / self.configuration.samples.mean()
    }

    /// The fields of the event.
    pub(super) fn write(
        &self,
        event: &mut Object<'_>,
        facts: &BoardFacts,
        health: &Health,
        model: &str,
    ) {
        let (configuration, subject) = (self.configuration, self.subject);
        let [rows, cols] = subject.shape();
        event
            .field("kernels", configuration.kernels.name())
            .field("tensor", subject.tensor())
            .field("format", subject.format().name())
            .field("rows", rows)
            .field("cols", cols)
            .field("measured_rows", subject.measured_rows())
            .field("read_bytes", subject.read_bytes())
            .field("tokens", configuration.n_tokens)
            .field("cores", configuration.cores)
            .field("irqs_in_window", 0u32)
            .field("emulated", facts.emulated)
            .field("model", model)
            .field("version", facts.version.as_str())
            .field("revision", format_args!("{:06x}", facts.revision))
            .field("clock_hz", facts.clock_hz)
            .field("celsius", health.celsius)
            .field("throttled", health.throttled);
        configuration.samples.write_fields(event);
        event
            .field("speedup_over_scalar", self.speedup)
            .field("max_relative_error", configuration.error)
            .field(
                "compared_values",
                subject.compared_values(configuration.n_tokens),
            );
        if !facts.emulated && !configuration.samples.is_empty() {
            event.field("mean_gb_per_s", self.gigabytes_per_second());
        }
    }
}

/// A record as a line.
pub(super) struct Row<'a>(pub Record<'a>, pub &'a BoardFacts);

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row(record, facts) = self;
        let configuration = record.configuration;
        let plural = |n: usize| if n == 1 { " " } else { "s" };
        let (tokens, cores) = (configuration.n_tokens, configuration.cores);
        write!(
            f,
            "{:<6}  {tokens} token{}  {cores} core{}  ",
            configuration.kernels.name(),
            plural(tokens),
            plural(cores)
        )?;
        let samples = &configuration.samples;
        let (mean, sd) = (samples.mean(), samples.sd());
        if samples.is_empty() {
            f.write_str("no sample")?;
        } else if facts.emulated {
            write!(f, "{mean:.4} s +- {sd:.4}")?;
        } else {
            let rate = record.gigabytes_per_second();
            write!(f, "{rate:7.2} GB/s +- {:.2}", rate * sd / mean)?;
        }
        if let Some(speedup) = record.speedup {
            write!(f, "  x {speedup:5.2}")?;
        }
        if let Some(error) = configuration.error {
            write!(f, "  error {error:.1e}")?;
        }
        write!(f, "  n {}", samples.len())?;
        if samples.void_runs > 0 {
            write!(f, " ({} void)", samples.void_runs)?;
        }
        Ok(())
    }
}
