//! A machine whose bandwidth, products, clock and faults are planted.

use lab::design::SplitMix64;
use lab::instrument::{Cell, Instrument, Work};
use lab::planner::{Probes, Stage, TokenWork};
use lab::window::Window;
use protocol::settings::KernelSet;
use std::borrow::Cow;

pub const FULL_HZ: u64 = 1_500_000_000;
const TOKENS: usize = 64;
const PARAMETERS: f64 = 360e6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    ClampedClock,
    Throttle,
    Spikes,
    Drift,
    KvLeak,
    Reuse,
    Unwarmed,
    Interrupt,
    Overflow,
    HiddenCost,
    UartByte,
    Heap,
    DifferentWork,
    WrongCores,
    SmallMemory,
}

pub struct Planted {
    /// GB/s of one core and of all.
    gb_per_s: [f64; 2],
    /// Cycles of a product by floats and by quantized weights.
    cycles_per_mac: [f64; 2],
    /// Whether products wait for memory, so that both times add.
    is_serial: bool,
    pub fault: Option<Fault>,
    pub emulated: bool,
    random: SplitMix64,
    n_windows: u64,
}

impl Planted {
    fn new(gb_per_s: [f64; 2], cycles_per_mac: [f64; 2], is_serial: bool) -> Self {
        Self {
            gb_per_s,
            cycles_per_mac,
            is_serial,
            fault: None,
            emulated: false,
            random: SplitMix64(5),
            n_windows: 0,
        }
    }

    pub fn bus_bound() -> Self {
        Self::new([4.0, 4.6], [0.3, 0.15], false)
    }

    pub fn dequantizing() -> Self {
        Self::new([4.0, 4.6], [0.3, 1.7], false)
    }

    pub fn mixed() -> Self {
        Self::new([4.0, 4.6], [0.3, 0.4], true)
    }

    pub fn token_ns(&self, format: &str, cores: usize, hz: u64) -> f64 {
        let (bytes, kernel) = match format {
            "f32" => (4.0, 0),
            _ => (1.0625, 1),
        };
        let memory = bytes * PARAMETERS / self.gb_per_s[usize::from(cores > 1)];
        let products = PARAMETERS * self.cycles_per_mac[kernel] * 1e9 / (cores as f64 * hz as f64);
        let slow = if format.ends_with("slow") { 1.05 } else { 1.0 };
        slow * if self.is_serial {
            memory + products
        } else {
            memory.max(products)
        }
    }

    /// What membw, kernels on cached weights and barriers would show.
    pub fn probes(&self) -> Probes {
        let [one, all] = self.gb_per_s.map(|gb| gb * 1e9);
        Probes {
            bytes_per_s: vec![one, all, all, all],
            cycles_per_mac: self.cycles_per_mac.into(),
            barrier_ns: vec![0.0; 4],
            clock_hz: FULL_HZ as f64,
        }
    }

    fn normal(&mut self) -> f64 {
        let mut uniform = || (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * uniform()).cos()
    }

    fn disturbance(&mut self, cell: &Cell) -> f64 {
        match self.fault {
            Some(Fault::Spikes) if self.random.next_u64().is_multiple_of(10) => 1.2,
            Some(Fault::Drift) => 1.0 + 0.002 * self.n_windows as f64,
            Some(Fault::Unwarmed) if self.n_windows < 4 => 3.0 * cell.cores as f64,
            Some(Fault::HiddenCost) => 1.2,
            _ => 1.0,
        }
    }
}

impl Instrument for Planted {
    type Error = &'static str;

    fn measure(&mut self, cell: &Cell, out: &mut Window) -> Result<(), &'static str> {
        let fault = self.fault;
        if fault == Some(Fault::SmallMemory) && cell.format == "f32" {
            return Err("needs 1.45 GB");
        }
        let hz = match (fault, cell.clock_hz) {
            (Some(Fault::ClampedClock), _) | (_, None) => FULL_HZ,
            (_, Some(hz)) => hz,
        };
        let noise = (0.005 * self.normal()).exp() * self.disturbance(cell);
        let ns = self.token_ns(&cell.format, cell.cores, hz) * TOKENS as f64 * noise;
        let is_late = self.n_windows >= 8;
        let set = |planted: Fault| u32::from(fault == Some(planted) && is_late);
        *out = Window {
            ns: ns as u64,
            cycles: Some((ns * hz as f64 / 1e9) as u64),
            pmu_overflow: Some(set(Fault::Overflow) == 1),
            irqs: Some(set(Fault::Interrupt)),
            uart_bytes: Some(set(Fault::UartByte).into()),
            heap_growth_bytes: Some(set(Fault::Heap).into()),
            pos_before: Some(cell.depth + 64 * set(Fault::KvLeak) as usize),
            reused_tokens: Some(cell.depth + set(Fault::Reuse) as usize),
            cores: cell.cores + set(Fault::WrongCores) as usize,
            throttled: [Some(0), Some(4 * set(Fault::Throttle))],
            logits_crc: Some(7 + set(Fault::DifferentWork)),
            ..Window::default()
        };
        self.n_windows += 1;
        Ok(())
    }
}

pub fn cell(format: &'static str, cores: usize) -> Cell {
    Cell {
        work: Work::Decode,
        format: Cow::Borrowed(format),
        kernels: KernelSet::Int8,
        kv: Cow::Borrowed("f16"),
        cores,
        depth: 0,
        tokens: TOKENS,
        clock_hz: None,
        layout: None,
        bytes_per_token: None,
    }
}

/// q8 on one core and four, f32 on one and four.
pub fn table() -> Vec<Cell> {
    vec![
        cell("q8_0", 1),
        cell("q8_0", 4),
        cell("f32", 1),
        cell("f32", 4),
    ]
}

pub fn clocks(cores: usize) -> Vec<Cell> {
    let at = |mhz: u64| Cell {
        clock_hz: Some(mhz * 1_000_000),
        ..cell("q8_0", cores)
    };
    [600, 900, 1200, 1500].map(at).into()
}

/// A token of q8 weights: a tenth of the parameters is the head.
pub fn work() -> TokenWork {
    let stage = |share: f64| Stage {
        bytes: share * 1.0625 * PARAMETERS,
        macs: share * PARAMETERS,
        kernel: 1,
    };
    TokenWork {
        layers: vec![stage(0.9)],
        head: stage(0.1),
        attention_per_position: stage(0.0),
        n_barriers: 0,
    }
}
