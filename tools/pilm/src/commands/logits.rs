//! `pilm logits MODEL --ids 1,2,3`

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use llm::engine::LoadOptions;
use ops::crc32c::crc32c_f32;
use pilm::decoder::Decoder;
use pilm::metrics::argmax;
use pilm::npy;

use super::model::{KernelsArgs, ModelArgs, at_least_1, parse_ids};

/// More would only take memory.
const MAX_BATCH: usize = 4096;

/// Compute the logits after each token: checksums, and all of them as a NumPy file.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    kernels: KernelsArgs,
    /// Token ids, separated by commas.
    #[arg(long)]
    ids: String,
    /// NumPy file to write: shape (ids, vocabulary), f32.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Tokens that are computed at once; the result does not depend on it.
    #[arg(long, default_value_t = 32, value_parser = at_least_1(MAX_BATCH))]
    batch: usize,
}

/// Runs the subcommand. The last line is the checksum that the firmware prints for the same ids.
pub fn run(args: &Args) -> Result<()> {
    let ids = parse_ids(&args.ids)?;
    ensure!(!ids.is_empty(), "--ids is empty");
    let options = LoadOptions {
        batch: args.batch,
        n_logits: args.batch,
        context_len: Some(ids.len()),
        ..LoadOptions::default()
    };
    args.model.with_session(&options, |session| {
        session.engine.set_kernels(args.kernels.kernels);
        let shape = [ids.len(), session.engine.config().vocab_size];
        let mut out = match &args.out {
            Some(path) => {
                let file =
                    File::create(path).with_context(|| format!("creating {}", path.display()))?;
                let mut file = BufWriter::new(file);
                npy::write_header(&mut file, &shape)?;
                Some(file)
            }
            None => None,
        };
        let (mut shown, mut written, mut last) = (Ok(()), Ok(()), 0);
        session.prefill(&ids, 0, &mut |pos, logits| {
            last = crc32c_f32(logits);
            if shown.is_err() {
                return;
            }
            shown = stdout::line!(
                "{pos:5} id {:6} argmax {:6} crc32c {last:08x}",
                ids[pos],
                argmax(logits)
            );
            if let Some(out) = &mut out
                && written.is_ok()
            {
                written = npy::write_values(out, logits);
            }
        })?;
        shown?;
        written?;
        stdout::line!("crc32c of the last position's logits: {last:08x}")?;
        Ok(())
    })
}
