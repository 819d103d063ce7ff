//! What may be asked again when a part of its answer was lost.

use protocol::Op;
use protocol::request::{Logits, Positions, Sampling};
use std::hash::{BuildHasher, RandomState};

/// What may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Ask again, and go on where the answer broke off: events have the same numbers each time.
    Resume,
    /// Ask again from the start, with an empty context: the answer tells of work that a full one spares.
    Whole,
    /// Ask again, and take what comes: of its progress nothing is missed.
    Load,
    /// Nothing: asked twice, it acts twice.
    Never,
}

impl Repeat {
    /// What may be done with `op`.
    pub fn of(op: &Op) -> Self {
        match op {
            Op::Ask(_) | Op::Reboot(_) | Op::Abort(_) => Self::Never,
            Op::Load(_) => Self::Load,
            Op::Complete(_, sampling, logits) | Op::Chat(_, sampling, logits)
                if sampling.counts || tells_of_the_prompt(logits) =>
            {
                Self::Whole
            }
            _ => Self::Resume,
        }
    }
}

fn tells_of_the_prompt(logits: &Logits) -> bool {
    logits.is_wanted() && logits.logits_positions == Positions::All
}

/// Gives a generation a seed if it has none: asked again, it gives the same answer.
pub fn with_seed(mut op: Op) -> Op {
    if let Op::Complete(_, Sampling { seed, .. }, _) | Op::Chat(_, Sampling { seed, .. }, _) =
        &mut op
    {
        // the keys of hash maps are random
        seed.get_or_insert_with(|| RandomState::new().hash_one(0) >> 32);
    }
    op
}

#[cfg(test)]
mod tests {
    use super::{Repeat, with_seed};
    use protocol::Op;
    use protocol::request::{Ask, Complete, Info, Load, Logits, Positions, Sampling};

    fn complete(sampling: Sampling, logits: Logits) -> Op {
        Op::Complete(Complete::default(), sampling, logits)
    }

    #[test]
    fn what_acts_twice_is_not_asked_twice() {
        let counted = Sampling {
            counts: true,
            ..Sampling::default()
        };
        let all = |top_logits| Logits {
            top_logits,
            logits_positions: Positions::All,
            ..Logits::default()
        };
        for (op, repeat) in [
            (Op::Ask(Ask::default()), Repeat::Never),
            (Op::Info(Info {}), Repeat::Resume),
            (Op::Load(Load::default()), Repeat::Load),
            (complete(Sampling::default(), all(0)), Repeat::Resume),
            (complete(Sampling::default(), all(1)), Repeat::Whole),
            (complete(counted, Logits::default()), Repeat::Whole),
        ] {
            assert_eq!(Repeat::of(&op), repeat, "{op:?}");
        }
    }

    #[test]
    fn a_generation_gets_a_seed_and_keeps_its_own() {
        let seed = |op| match op {
            Op::Complete(_, sampling, _) => sampling.seed,
            op => panic!("{op:?}"),
        };
        let with = |seed| {
            let sampling = Sampling {
                seed,
                ..Sampling::default()
            };
            complete(sampling, Logits::default())
        };
        assert_eq!(seed(with_seed(with(Some(5)))), Some(5));
        let (a, b) = (seed(with_seed(with(None))), seed(with_seed(with(None))));
        assert!(a.is_some() && a != b);
    }
}
