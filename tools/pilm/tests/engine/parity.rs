//! The comparison with stored results and its negative controls, on the f64 decoder.

use std::convert::Infallible;

use ops::GgmlType;
use pilm::decoder::Decoder;
use pilm::editable::Editable;
use pilm::metrics::{argmax, cosine, nll};
use pilm::parity::{Control, Gates, Prompt, compare};
use pilm::synth::{Shape, bytes};
use serde_json::json;

use super::reference::Reference;
use super::reference_logits;

/// The f64 decoder, which computes the whole sequence anew for every token.
struct Recomputing {
    reference: Reference,
    ids: Vec<u32>,
}

impl Recomputing {
    /// A decoder at position 0.
    fn new(reference: Reference) -> Recomputing {
        Recomputing {
            reference,
            ids: Vec::new(),
        }
    }
}

impl Decoder for Recomputing {
    type Error = Infallible;

    fn prefill(
        &mut self,
        ids: &[u32],
        from: usize,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), Infallible> {
        self.ids = ids.to_vec();
        for (pos, logits) in self.reference.logits(ids).iter().enumerate().skip(from) {
            each(pos, &rounded(logits));
        }
        Ok(())
    }

    fn decode(&mut self, id: u32) -> Result<Vec<f32>, Infallible> {
        self.ids.push(id);
        Ok(self
            .reference
            .logits(&self.ids)
            .last()
            .map(|l| rounded(l))
            .unwrap_or_default())
    }
}

fn rounded(logits: &[f64]) -> Vec<f32> {
    logits.iter().map(|v| *v as f32).collect()
}

fn decoder(shape: &Shape) -> Recomputing {
    let file = bytes(shape, GgmlType::F32);
    Recomputing::new(Reference::load(&mut &file[..]).unwrap())
}

/// What a `golden.json` would say of this decoder.
fn recorded(decoder: &mut Recomputing, ids: &[u32]) -> Prompt {
    let (mut maxima, mut nlls, mut last) = (Vec::new(), Vec::new(), Vec::new());
    let each = &mut |pos: usize, logits: &[f32]| {
        maxima.push(argmax(logits));
        if let Some(next) = ids.get(pos + 1) {
            nlls.push(nll(logits, *next));
        }
        last = logits.to_vec();
    };
    decoder.prefill(ids, 0, each).unwrap();
    let top20: Vec<(u32, f32)> = (0..20).map(|id| (id, last[id as usize])).collect();
    let mut greedy = vec![argmax(&last)];
    for _ in 0..3 {
        let id = greedy.last().copied().unwrap_or_default() as u32;
        greedy.push(argmax(&decoder.decode(id).unwrap()));
    }
    let prompt = json!({
        "name": "test", "ids": ids, "top20": top20, "argmax_per_position": maxima,
        "nll_next_token_per_position": nlls, "greedy_ids": greedy,
        "greedy_margin": [1.0, 1.0, 1.0, 1.0]
    });
    serde_json::from_value(prompt).unwrap()
}

#[test]
fn a_model_passes_against_itself_and_another_fails() {
    let mut model = decoder(&Shape::llama_tied());
    let prompt = recorded(&mut model, &[40, 300, 41, 301, 260]);
    let mut base = decoder(&Shape::llama_tied());
    let report = compare(&prompt, &mut model, Some(&mut base)).unwrap();
    assert_eq!(report.failures(&Gates::EXACT), Vec::<String>::new());
    assert_eq!((report.argmax_equal, report.greedy_equal), (5, 4));
    assert!(report.kl.unwrap().abs() < 1e-9);

    let mut other = decoder(&Shape {
        seed: 77,
        ..Shape::llama_tied()
    });
    let report = compare(&prompt, &mut other, Some(&mut base)).unwrap();
    assert_eq!(report.failures(&Gates::EXACT).len(), 3);
    assert!(report.kl.unwrap() > 0.1);
}

fn logits(file: &[u8]) -> Vec<f32> {
    let ids: Vec<u32> = (0..48).map(|n| n * 37 % 509).collect();
    reference_logits(file, &ids)
}

#[test]
fn every_mistake_shows_where_it_applies() {
    for shape in Shape::tiny() {
        let file = bytes(&shape, GgmlType::F32);
        let right = logits(&file);
        for control in Control::ALL {
            let mut model = Editable::parse(&file).unwrap();
            assert_eq!(
                control.applies_to(&model),
                control != Control::TiledKvHeads || shape.n_kv_heads > 1
            );
            if control.applies_to(&model) {
                control.apply(&mut model);
                let wrong = logits(&model.write(GgmlType::F32).unwrap());
                let cosine = cosine(&right, &wrong);
                assert!(
                    cosine < 0.95,
                    "{} in {}: {cosine}",
                    control.names().0,
                    shape.name
                );
            }
        }
    }
}
