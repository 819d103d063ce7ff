//! Planted machines, recovered through design, window, guards, statistics and verdict.

mod machine;

use lab::campaign::Campaign;
use lab::guard::Breach;
use lab::planner;
use lab::statistics::Interval;
use lab::statistics::robust::median;
use lab::verdict::{self, Clock, Composition, Difference, Planner, Reason};
use machine::{Fault, Planted, cell, clocks, table};

fn run(machine: &mut Planted, cells: Vec<lab::instrument::Cell>) -> Campaign {
    let mut campaign = Campaign::new(11, 12, cells);
    while campaign.step(machine).is_some() {}
    campaign
}

/// ln I = ln T(q8,1) − ln T(q8,4) − ln T(f32,1) + ln T(f32,4), in times.
fn composition(machine: &mut Planted) -> Composition {
    let campaign = run(machine, table());
    let measured = (0..4).all(|cell| campaign.not_measured(cell).is_none());
    let weights = [(0, 1.0), (1, -1.0), (2, -1.0), (3, 1.0)];
    let contrasts = measured.then(|| campaign.contrasts(&weights));
    verdict::composition(contrasts, machine.emulated)
}

fn clock(machine: &mut Planted, cores: usize) -> Clock {
    let campaign = run(machine, clocks(cores));
    verdict::clock(campaign.clock_points(&[0, 1, 2, 3]), machine.emulated)
}

fn voids(fault: Fault) -> (Option<Breach>, Composition) {
    let mut machine = Planted::bus_bound();
    machine.fault = Some(fault);
    let campaign = run(&mut machine, table());
    let void = campaign
        .samples()
        .iter()
        .filter(|s| !s.turn.is_warm_up())
        .find_map(|s| s.void);
    let mut machine = Planted::bus_bound();
    machine.fault = Some(fault);
    (void, composition(&mut machine))
}

#[test]
fn bus_bound_is_additive_and_memory_bound() {
    assert_eq!(
        composition(&mut Planted::bus_bound()),
        Composition::Additive
    );
    assert_eq!(clock(&mut Planted::bus_bound(), 4), Clock::MemoryBound);
}

#[test]
fn compute_bound_at_8_bits_is_complementary() {
    assert_eq!(
        composition(&mut Planted::dequantizing()),
        Composition::Complementary
    );
    assert_eq!(clock(&mut Planted::dequantizing(), 1), Clock::ComputeBound);
}

#[test]
fn mixed() {
    assert_eq!(clock(&mut Planted::mixed(), 1), Clock::Mixed);
}

#[test]
fn a_clamped_clock_is_said() {
    let mut machine = Planted::dequantizing();
    machine.fault = Some(Fault::ClampedClock);
    assert_eq!(clock(&mut machine, 1), Clock::Inconclusive(Reason::Clamped));
}

#[test]
fn a_throttling_machine_is_said() {
    let mut machine = Planted::dequantizing();
    machine.fault = Some(Fault::Throttle);
    assert_eq!(
        clock(&mut machine, 1),
        Clock::Inconclusive(Reason::Throttled)
    );
}

#[test]
fn spikes_and_drift_leave_the_verdict() {
    for fault in [Fault::Spikes, Fault::Drift] {
        let mut machine = Planted::dequantizing();
        machine.fault = Some(fault);
        assert_eq!(
            composition(&mut machine),
            Composition::Complementary,
            "{fault:?}"
        );
    }
}

#[test]
fn faults_void_and_leave_no_verdict() {
    for (fault, breach) in [
        (Fault::KvLeak, Breach::Position),
        (Fault::Reuse, Breach::Reused),
        (Fault::Interrupt, Breach::Interrupt),
        (Fault::Overflow, Breach::CounterOverflow),
        (Fault::UartByte, Breach::UartMoved),
        (Fault::Heap, Breach::HeapMoved),
        (Fault::DifferentWork, Breach::DifferentWork),
        (Fault::WrongCores, Breach::Cores),
        (Fault::Throttle, Breach::Throttled),
    ] {
        let found = voids(fault);
        let none = Composition::Inconclusive(Reason::Void);
        assert_eq!(found, (Some(breach), none), "{fault:?}");
    }
}

#[test]
fn the_warm_up_is_slow_and_never_counts() {
    let mut machine = Planted::bus_bound();
    machine.fault = Some(Fault::Unwarmed);
    let campaign = run(&mut machine, table());
    let slow = campaign
        .samples()
        .iter()
        .filter(|s| s.void == Some(Breach::WarmUp));
    assert_eq!(slow.count(), 4);
    assert_eq!(composition(&mut machine), Composition::Additive);
}

#[test]
fn emulated_gives_no_verdict() {
    let mut machine = Planted::dequantizing();
    machine.emulated = true;
    let emulated = Composition::Inconclusive(Reason::Emulated);
    assert_eq!(composition(&mut machine), emulated);
    assert_eq!(
        clock(&mut machine, 1),
        Clock::Inconclusive(Reason::Emulated)
    );
}

#[test]
fn too_little_memory_is_not_measured() {
    let mut machine = Planted::bus_bound();
    machine.fault = Some(Fault::SmallMemory);
    assert_eq!(composition(&mut machine), Composition::NotMeasured);
    let campaign = run(&mut machine, table());
    assert_eq!(campaign.not_measured(2), Some("needs 1.45 GB"));
}

#[test]
fn five_percent_are_found_and_nothing_is_not() {
    let mut machine = Planted::bus_bound();
    let equal = run(&mut machine, vec![cell("q8_0", 4), cell("q8_0", 4)]);
    let weights = [(0, -1.0), (1, 1.0)];
    assert_eq!(
        verdict::difference(equal.contrasts(&weights), false),
        Difference::None
    );
    let planted = vec![cell("q8_0", 4), cell("q8_0_slow", 4)];
    let slower = run(&mut machine, planted);
    assert_eq!(
        verdict::difference(slower.contrasts(&weights), false),
        Difference::Slower
    );
}

#[test]
fn a_hidden_cost_is_outside() {
    for (fault, expected) in [
        (None, Planner::Inside),
        (Some(Fault::HiddenCost), Planner::Outside),
    ] {
        let mut machine = Planted::bus_bound();
        let predicted = planner::token_ns(&machine.probes(), &machine::work(), 4, 0).unwrap();
        machine.fault = fault;
        let campaign = run(&mut machine, vec![cell("q8_0", 4)]);
        let ns: Vec<f64> = campaign
            .samples()
            .iter()
            .filter(|s| s.void.is_none())
            .map(|s| s.window.ns as f64 / 64.0)
            .collect();
        let interval = Interval {
            estimate: predicted,
            low: 0.95 * predicted,
            high: 1.05 * predicted,
        };
        let median = median(&ns).ok_or(Reason::TooFew);
        assert_eq!(verdict::planner(&interval, median, false), expected);
    }
}

#[test]
fn a_campaign_left_early_keeps_what_is_done() {
    let mut machine = Planted::bus_bound();
    let mut campaign = Campaign::new(11, 12, table());
    for _ in 0..13 {
        campaign.step(&mut machine);
    }
    assert_eq!(campaign.samples().len(), 13);
    let progress = campaign.progress(13);
    assert_eq!(
        (progress.done, progress.total, progress.remaining_us),
        (13, 52, Some(39))
    );
}

/// The planner computes from probes alone: it can neither decode nor measure a token.
#[test]
fn the_planner_cannot_decode() {
    let source = include_str!("../src/planner.rs");
    let imports: Vec<_> = source
        .lines()
        .filter(|line| line.starts_with("use "))
        .collect();
    assert_eq!(imports, ["use alloc::vec::Vec;"]);
    for word in ["crate::", "llm::", "decode(", "Instrument", "Campaign"] {
        assert!(!source.contains(word), "{word}");
    }
}
