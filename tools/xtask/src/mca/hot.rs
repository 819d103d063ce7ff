//! The loops that decide the speed, beside ggml's, and the bars for them.

use super::Cost;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// A loop that most of the time goes into.
struct Hot {
    title: &'static str,
    /// Part of the name of the function that it is in.
    function: &'static str,
    /// Products per turn, where the function has loops for several numbers of queries.
    products: Option<u64>,
    /// Instructions and cycles of ggml's loop for the same, per 32 weights.
    ggml: Option<(f64, f64)>,
    /// The most cycles per 32 weights.
    bar: Option<f64>,
}

/// ggml's Q8_0 loop; on Armv8.0 it has no other for a prompt.
const GGML_Q8_0: (f64, f64) = (26.0, 10.5);

const HOT: [Hot; 12] = [
    Hot::new(
        "Q8_0, decoded token",
        "gemm_quantized::<ops::packed::q8_0::Q8_0, 1>",
    )
    .beside_ggml(5.5),
    Hot::new(
        "Q8_0, four tokens of a prompt, each",
        "gemm_quantized::<ops::packed::q8_0::Q8_0, 4>",
    )
    .beside_ggml(5.0),
    Hot::new(
        "Q4_1, decoded token",
        "gemm_quantized::<ops::packed::q4_1::Q4_1, 1>",
    ),
    Hot::new(
        "Q4_1, four tokens of a prompt, each",
        "gemm_quantized::<ops::packed::q4_1::Q4_1, 4>",
    ),
    Hot::new(
        "Q8_0, dequantize kernels, decoded token",
        "gemm_dequantized::<ops::packed::q8_0::Q8_0, 1>",
    ),
    Hot::new(
        "Q8_0, dequantize kernels, four tokens of a prompt, each",
        "gemm_dequantized::<ops::packed::q8_0::Q8_0, 4>",
    ),
    Hot::new(
        "Q4_1, dequantize kernels, decoded token",
        "gemm_dequantized::<ops::packed::q4_1::Q4_1, 1>",
    ),
    Hot::new(
        "F16, decoded token",
        "gemm_float::<ops::packed::float::F16, 1>",
    ),
    Hot::new(
        "F16, four tokens of a prompt, each",
        "gemm_float::<ops::packed::float::F16, 4>",
    ),
    Hot {
        products: Some(192),
        ..Hot::new(
            "attention, f16 keys and values, three query heads, each",
            "KvF16 as ops::neon::attention::KvNeon>::attend::<3>",
        )
    },
    Hot {
        bar: Some(4.6),
        ..Hot::new(
            "Q1_0, decoded token",
            "gemm_quantized::<ops::packed::q1_0::Q1_0, 1>",
        )
    },
    Hot {
        bar: Some(4.4),
        ..Hot::new(
            "Q1_0, four tokens of a prompt, each",
            "gemm_quantized::<ops::packed::q1_0::Q1_0, 4>",
        )
    },
];

impl Hot {
    const fn new(title: &'static str, function: &'static str) -> Hot {
        Hot {
            title,
            function,
            products: None,
            ggml: None,
            bar: None,
        }
    }

    /// With ggml's figures for Q8_0, and a bar in cycles.
    const fn beside_ggml(self, bar: f64) -> Hot {
        Hot {
            ggml: Some(GGML_Q8_0),
            bar: Some(bar),
            ..self
        }
    }

    /// Its main loop: that with the most products per turn, the dearest of several.
    fn find<'c>(&self, costs: &'c [Cost]) -> Result<&'c Cost> {
        costs
            .iter()
            .filter(|cost| cost.site.function.contains(self.function))
            .filter(|cost| self.products.is_none_or(|n| n == cost.products))
            .max_by(|a, b| {
                let by_cycles = a.cycles_per_32().total_cmp(&b.cycles_per_32());
                a.products.cmp(&b.products).then(by_cycles)
            })
            .with_context(|| format!("the image has no loop {} in {}", self.title, self.function))
    }
}

/// What such a loop takes per 32 products, as `docs/figures/mca.json` keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopCost {
    /// What it is for.
    pub title: String,
    /// Instructions, the closing branch included.
    pub instructions: f64,
    /// Cycles.
    pub cycles: f64,
}

/// The loops that matter.
///
/// # Errors
/// A loop is not in the image.
pub fn loops(costs: &[Cost]) -> Result<Vec<LoopCost>> {
    let hundredths = |value: f64| (value * 100.0).round() / 100.0;
    HOT.iter()
        .map(|hot| {
            let cost = hot.find(costs)?;
            Ok(LoopCost {
                title: hot.title.to_owned(),
                instructions: hundredths(cost.instructions_per_32()),
                cycles: hundredths(cost.cycles_per_32()),
            })
        })
        .collect()
}

/// The loop that most of a Q8_0 token goes into.
///
/// # Errors
/// It is not among them.
pub fn decode_loop(loops: &[LoopCost]) -> Result<&LoopCost> {
    let found = loops.iter().find(|cost| cost.title == HOT[0].title);
    found.with_context(|| format!("no figures of the loop {}", HOT[0].title))
}

/// The section of docs/speed.md.
pub fn section(loops: &[LoopCost]) -> String {
    let mut table =
        "| per 32 products | instructions | cycles | ggml: instructions | cycles | bar: cycles |\n\
                     |---|---|---|---|---|---|\n"
            .to_owned();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    for (cost, hot) in with_bars(loops) {
        table.push_str(&format!(
            "| {} | {:.2} | {:.2} | {} | {} | {} |\n",
            cost.title,
            cost.instructions,
            cost.cycles,
            or_dash(
                hot.ggml
                    .map(|(instructions, _)| format!("{instructions:.0}"))
            ),
            or_dash(hot.ggml.map(|(_, cycles)| format!("{cycles:.1}"))),
            or_dash(hot.bar.map(|bar| format!("≤ {bar:.1}"))),
        ));
    }
    table
}

/// The bars that are missed, in words.
pub fn misses(loops: &[LoopCost]) -> Vec<String> {
    with_bars(loops)
        .filter_map(|(LoopCost { title, cycles, .. }, hot)| {
            let bar = hot.bar.filter(|bar| cycles > bar)?;
            Some(format!(
                "{title}: {cycles:.2} cycles per 32 products, more than {bar:.1}"
            ))
        })
        .collect()
}

fn with_bars(loops: &[LoopCost]) -> impl Iterator<Item = (&LoopCost, &'static Hot)> {
    loops
        .iter()
        .filter_map(|cost| Some((cost, HOT.iter().find(|hot| hot.title == cost.title)?)))
}

#[cfg(test)]
mod tests {
    use super::super::Loop;
    use super::*;

    fn cost(function: &str, products: u64, cycles: f64) -> Cost {
        let site = Loop {
            function: function.to_owned(),
            addr: 0x8_0000,
            body: vec!["nop".to_owned(); 9],
        };
        Cost {
            site,
            cycles,
            products,
        }
    }

    fn all() -> Vec<Cost> {
        HOT.iter()
            .map(|hot| cost(hot.function, hot.products.unwrap_or(64), 8.0))
            .collect()
    }

    #[test]
    fn the_main_loop_of_each_function_is_shown() {
        let mut costs = all();
        costs.push(cost(HOT[0].function, 32, 1.0));
        costs.push(cost(HOT[0].function, 64, 9.0));
        let loops = loops(&costs).unwrap();
        let table = section(&loops);
        assert!(
            table.contains("| Q8_0, decoded token | 5.00 | 4.50 | 26 | 10.5 | ≤ 5.5 |"),
            "{table}"
        );
        assert_eq!(table.lines().count(), 2 + HOT.len());
        assert_eq!(decode_loop(&loops).unwrap().instructions, 5.0);
        assert_eq!(misses(&loops), [""; 0]);
    }

    #[test]
    fn a_missed_bar_and_a_missing_loop_are_told() {
        let mut costs = all();
        costs[1].cycles = 12.0;
        assert_eq!(
            misses(&loops(&costs).unwrap()),
            ["Q8_0, four tokens of a prompt, each: 6.00 cycles per 32 products, more than 5.0"]
        );
        costs.remove(2);
        assert!(loops(&costs).is_err());
    }
}
