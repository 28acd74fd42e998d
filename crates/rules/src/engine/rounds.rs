//! Waves as rounds: whether the work gets on (semantics, section 17; `progress_ledger`).
//!
//! A round is a wave in which somebody worked. It has ended when all of its tasks have, and it brought something if one of them is
//! done. Rounds that brought nothing, one behind the other, are a stall.

use std::collections::BTreeMap;

use crate::domain::Status;

use super::state::State;

/// The number of rounds in a row without a result that calls for another plan.
pub const REPLAN_AFTER: u32 = 1;
/// The number of rounds in a row without a result after which no agent is asked for another plan any more: a
/// person is told.
pub const ESCALATE_AFTER: u32 = 3;

/// The state of one wave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Whether any of its tasks was begun.
    pub began: bool,
    /// Whether no task of the wave is still to be done.
    pub ended: bool,
    /// Whether any of its tasks is done.
    pub brought: bool,
}

impl Round {
    /// A wave without tasks.
    pub const EMPTY: Self = Self { began: false, ended: true, brought: false };

    /// Takes in one of its tasks.
    pub fn take(&mut self, status: Status, began: bool) {
        self.began |= began;
        self.ended &= status.is_terminal();
        self.brought |= status == Status::Done;
    }
}

/// How many rounds in a row, from the last one that has ended on, brought nothing. Waves from the first to the last.
pub fn stall(waves: impl DoubleEndedIterator<Item = Round>) -> u32 {
    let ended = waves.rev().filter(|round| round.began).skip_while(|round| !round.ended);
    let stalled = ended.take_while(|round| round.ended && !round.brought);
    u32::try_from(stalled.count()).unwrap_or(u32::MAX)
}

/// The number of waves in a row without a result before `wave`. Costs O(all tasks): asked where an agent is
/// about to be.
pub fn stall_before(state: &State, wave: u32) -> u32 {
    let mut rounds: BTreeMap<u32, Round> = BTreeMap::new();
    for id in state.plan.selected_ids() {
        let (plan, task) = (state.plan.task(id), state.task(id));
        if plan.wave < wave && !task.not_taken {
            let round = rounds.entry(plan.wave).or_insert(Round::EMPTY);
            round.take(task.status(), task.attempt.number > 0);
        }
    }
    stall(rounds.into_values())
}

#[cfg(test)]
mod tests {
    use super::{Round, stall};

    #[test]
    fn rounds_that_brought_nothing_are_counted_from_the_last_that_ended() {
        let round = |of: char| Round { began: of != '.', ended: of != '~', brought: of == '+' };
        for (waves, expected) in [
            ("", 0),
            ("+", 0),
            ("-", 1),
            ("+--", 2),
            ("--+", 0),
            ("---", 3),
            // Waves in which nobody worked are no rounds, and those that go on are not counted yet.
            ("-.-.", 2),
            ("--~", 2),
            ("-~-", 1),
        ] {
            let rounds: Vec<Round> = waves.chars().map(round).collect();
            assert_eq!(stall(rounds.into_iter()), expected, "{waves}");
        }
    }
}
