//! Agents that fall silent (semantics, section 5): no output and no word of progress for longer than their threshold.
//!
//! An agent did something where its drop folder, its record of calls or its output was written since they were looked at last.
//! What a process prints may have no name before its end, so it is looked for where the process itself writes to. A model behind
//! HTTP says nothing before its reply, but the commands that it runs may. How long ago that was is measured by a clock that
//! nobody sets: of the times of files only whether they changed counts.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use crate::store::SpoolName;
use rules::domain::{FailureClass, Millis, TurnId};
use rules::engine::{Fact, State, TurnEnd, TurnUpdate};

use super::effects::Executor;
use super::error::RunError;

/// How often processes are looked at until their silence is warned of.
const LOOKS: u64 = 10;

/// The silence of the turns at work.
#[derive(Debug, Default)]
pub struct StallDetector(BTreeMap<TurnId, Silence>);

#[derive(Debug, Clone, Copy)]
struct Silence {
    /// The last moment at which the turn was seen to have done something; at first, the one at which this
    /// session first saw it.
    since: Instant,
    /// The last moment at which its files were written.
    sign: Option<SystemTime>,
    /// The last moment at which its processes printed something.
    word: Option<SystemTime>,
    /// When that was looked at.
    looked: Instant,
    warned: bool,
    killed: Option<Millis>,
}

impl StallDetector {
    /// How long a turn that was killed for it had been silent.
    pub fn killed(&mut self, turn: TurnId) -> Option<Millis> {
        self.0.remove(&turn)?.killed
    }
}

impl Executor {
    /// Looks how long the agents at work have said nothing.
    pub fn look_for_silence(&mut self, state: &State, inputs: &mut Vec<Fact>) {
        let mut known = std::mem::take(&mut self.stalls.0);
        let turns = self.context.at_work().turns();
        known.retain(|turn, _| turns.contains(turn));
        let now = Instant::now();
        for turn in turns {
            let silence = known.entry(turn).or_insert_with(|| Silence {
                since: now,
                sign: self.last_sign(turn),
                word: self.last_word(turn),
                looked: now,
                warned: false,
                killed: None,
            });
            let limits = state.plan.task(turn.task).silence;
            let sign = self.last_sign(turn);
            let mut is_new = sign != silence.sign;
            silence.sign = sign;
            let since = |then: Instant| Millis::from(now.duration_since(then));
            // Looking at processes takes longer, so it is done now and then, and before anything is said.
            let seems_silent = !is_new && since(silence.since) >= limits.warned_after;
            if seems_silent || since(silence.looked).0 >= limits.warned_after.0 / LOOKS {
                let word = self.last_word(turn);
                is_new |= word != silence.word;
                (silence.word, silence.looked) = (word, now);
            }
            if is_new {
                silence.since = now;
            }
            let idle = since(silence.since);
            let too_long = limits.killed_after.is_some_and(|after| idle >= after);
            let warns = idle >= limits.warned_after && !silence.warned;
            if silence.killed.is_none() && (too_long || warns) {
                silence.warned = true;
                inputs.push(Fact::TurnProgress(
                    turn,
                    TurnUpdate::Stale {
                        idle,
                        killed: too_long,
                    },
                ));
            }
        }
        self.stalls.0 = known;
    }

    fn last_sign(&self, turn: TurnId) -> Option<SystemTime> {
        let names = [
            SpoolName::Out(turn),
            SpoolName::Err(turn),
            SpoolName::Drop(turn),
            SpoolName::TurnTools(turn),
        ];
        let written = |name| {
            let found = std::fs::symlink_metadata(self.context.folder.spool_file(&name)).ok()?;
            found.modified().ok()
        };
        names.into_iter().filter_map(written).max()
    }

    /// When the agent's process, or a command that is part of its work, last printed something.
    fn last_word(&self, turn: TurnId) -> Option<SystemTime> {
        let at_work = self.context.at_work();
        let tools = at_work.runner.tools_of(turn);
        let processes = self.processes.get(&turn).into_iter().chain(tools);
        let outputs = processes.flat_map(|process| {
            let identity = self.identity_of(process);
            [1, 2].map(|descriptor| supervisor::open_output(&identity, descriptor))
        });
        outputs
            .flatten()
            .filter_map(|output| output.metadata().ok()?.modified().ok())
            .max()
    }

    /// Ends a turn whose agent has said nothing for too long: its whole process tree, or its request.
    pub fn kill_turn(&mut self, state: &State, turn: TurnId, idle: Millis) -> Result<(), RunError> {
        if let Some(silence) = self.stalls.0.get_mut(&turn) {
            silence.killed = Some(idle);
        }
        let request = self.context.at_work().model_turns.remove(&turn);
        if let Some(request) = request {
            request.abort();
            let why = format!("killed after {idle} without a word");
            let end = TurnEnd {
                killed: true,
                ..TurnEnd::failed(turn, FailureClass::Timeout, why)
            };
            self.worked(&state.plan, Box::new(end));
        }
        self.terminate(|owner| owner.turn() == Some(turn))
    }
}
