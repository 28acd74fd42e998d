//! Programs of agents at work, looked at while they print: what they do is told, one that waits for its provider for longer than
//! anybody here would is ended, with what it said as the reason, and so is one that has said that it is over and does not end.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

use crate::agents::preset::Reading;
use crate::domain::{Millis, TurnId};
use crate::engine::{Fact, ProcessRef, State};
use crate::executor::command::{GRACE, GivenUp};
use crate::executor::runner::Owner;
use crate::supervisor::{self, Command};
use crate::test_clock::scaled;

use super::effects::Executor;
use super::error::RunError;

/// Who waits for longer is not waited for.
const LONGEST_WAIT: Millis = Millis::from_secs(120);
/// Who prints nothing for so long behind a failed request is taken to wait.
const QUIET_AFTER_TROUBLE: Duration = Duration::from_secs(20);
/// How long a program has to end by itself once it has said that nothing more is to come.
const TIME_TO_END: Duration = Duration::from_secs(5);
/// How much of an output is read at a look, in bytes: the rest at the next.
const A_LOOK: u64 = 1024 * 1024;
/// How many words of what a turn does are told.
const MOST_TOLD: u32 = 200;
/// Characters of such a word.
const WORD: usize = 120;

/// What is known of programs at work, by the runner's names.
#[derive(Debug, Default)]
pub(super) struct ProgramWatch(HashMap<u64, Watched>);

#[derive(Debug)]
struct Watched {
    reading: Reading,
    /// How far its output and its standard error are read, in bytes.
    read: [u64; 2],
    /// What of a line was read.
    rest: [Vec<u8>; 2],
    /// The last line that told of a failed request, and when it stood there.
    trouble: Option<(String, Instant)>,
    /// How many such lines there were since it went on.
    troubles: u32,
    /// When it was seen that nothing more is to come.
    over: Option<Instant>,
    said: String,
    told: u32,
    is_given_up: bool,
}

impl Watched {
    fn of(reading: Reading) -> Self {
        Self {
            reading,
            read: [0; 2],
            rest: [Vec::new(), Vec::new()],
            trouble: None,
            troubles: 0,
            over: None,
            said: String::new(),
            told: 0,
            is_given_up: false,
        }
    }

    /// Reads what a process has printed since, of its output (0) or its standard error (1): whole lines.
    fn lines(&mut self, identity: &supervisor::ProcessIdentity, which: usize) -> Vec<Vec<u8>> {
        let descriptor = i32::try_from(which + 1).unwrap_or(1);
        let mut new = Vec::new();
        let read = supervisor::open_output(identity, descriptor).and_then(|mut output| {
            output.seek(SeekFrom::Start(self.read[which])).ok()?;
            output.take(A_LOOK).read_to_end(&mut new).ok()
        });
        self.read[which] += read.unwrap_or_default() as u64;
        let rest = &mut self.rest[which];
        rest.extend_from_slice(&new);
        let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else {
            // A line of such a length is none that tells anything.
            if rest.len() as u64 > A_LOOK {
                rest.clear();
            }
            return Vec::new();
        };
        let after = rest.split_off(end + 1);
        let whole = std::mem::replace(rest, after);
        whole
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    }

    /// Looks at what it printed: why it is not waited for any longer.
    fn look(&mut self, identity: &supervisor::ProcessIdentity) -> Option<GivenUp> {
        let printed = self.lines(identity, 0);
        for line in &printed {
            self.reading.heard.waits = None;
            self.reading.line(line);
            if let Some(waits) = too_long(self.reading.heard.waits) {
                return Some(GivenUp::Waits {
                    line: String::from_utf8_lossy(line).trim().to_owned(),
                    waits: Some(waits),
                });
            }
        }
        if self.reading.is_over() {
            let since = *self.over.get_or_insert_with(Instant::now);
            return (since.elapsed() > scaled(TIME_TO_END)).then_some(GivenUp::Over);
        }
        self.over = None;
        if !printed.is_empty() {
            (self.trouble, self.troubles) = (None, 0);
        }
        for line in self.lines(identity, 1) {
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            let trouble = self.reading.trouble_in(&line).map(str::to_owned);
            if let Some(waits) = too_long(self.reading.waits_in(&line)) {
                // Why it waits may stand in a line before.
                let before = self.trouble.take().map(|(line, _)| line);
                return Some(GivenUp::Waits {
                    line: trouble.or(before).unwrap_or(line),
                    waits: Some(waits),
                });
            }
            if let Some(line) = trouble {
                self.troubles += 1;
                if self.reading.is_too_much_trouble(self.troubles) {
                    return Some(GivenUp::Waits { line, waits: None });
                }
                let since = self.trouble.take().map_or_else(Instant::now, |(_, since)| since);
                self.trouble = Some((line, since));
            }
        }
        let (line, since) = self.trouble.as_ref()?;
        (since.elapsed() > scaled(QUIET_AFTER_TROUBLE)).then(|| GivenUp::Waits {
            line: line.clone(),
            waits: None,
        })
    }

    /// What it does now, if that is not what was told last.
    fn word(&mut self) -> Option<String> {
        let heard = &self.reading.heard;
        let text = heard.text.lines().rev().find(|line| !line.trim().is_empty());
        let word = match (heard.tools.last(), text) {
            (Some(call), None) => format!("uses {}", call.tool),
            (_, Some(text)) => text.to_owned(),
            (None, None) => return None,
        };
        let word: String = word.split_whitespace().collect::<Vec<_>>().join(" ");
        let word: String = word.chars().take(WORD).collect();
        if word.is_empty() || word == self.said || self.told >= MOST_TOLD {
            return None;
        }
        self.told += 1;
        self.said.clone_from(&word);
        Some(word)
    }
}

impl Executor {
    /// Looks at the programs of agents that presets read: what they do is told, and whoever waits for too long is ended.
    pub fn look_at_programs(&mut self, state: &State, inputs: &mut Vec<Fact>) -> Result<(), RunError> {
        let mut known = std::mem::take(&mut self.programs_at_work.0);
        let at_work: Vec<(u64, Owner, ProcessRef)> = self
            .runner
            .processes()
            .filter_map(|(key, owner, process)| {
                let adopted = || owner.as_turn().and_then(|turn| self.processes.get(&turn));
                Some((key, owner, process.or_else(adopted)?.clone()))
            })
            .collect();
        known.retain(|key, _| at_work.iter().any(|(at_work, ..)| at_work == key));
        let secrets = self.programs.secrets();
        for (key, owner, process) in at_work {
            let agent = match owner {
                Owner::Turn(turn) => state.plan.task(turn.task).agent,
                Owner::Ask(_, agent) => agent,
                Owner::Tool(_) | Owner::Task(_) | Owner::Audit | Owner::Nobody => continue,
            };
            let Some(preset) = &state.plan.agent(agent).spec.preset else {
                continue;
            };
            let watched = known
                .entry(key)
                .or_insert_with(|| Watched::of(Reading::of(preset.clone())));
            if watched.is_given_up {
                continue;
            }
            let given_up = watched.look(&self.identity_of(&process));
            if let (Some(turn), Some(word)) = (owner.as_turn(), watched.word()) {
                inputs.push(activity(turn, &secrets.redact(&word)));
            }
            if let Some(mut why) = given_up {
                watched.is_given_up = true;
                if let GivenUp::Waits { line, .. } = &mut why {
                    secrets.redact_in(line);
                }
                self.runner.give_up(key, why);
                let grace_ms = GRACE.0;
                self.send(&Command::Terminate { key, grace_ms })?;
            }
        }
        self.programs_at_work.0 = known;
        Ok(())
    }
}

/// A wait that is longer than anybody here waits.
fn too_long(waits: Option<u64>) -> Option<Millis> {
    waits.map(Millis).filter(|waits| *waits > LONGEST_WAIT)
}

fn activity(turn: TurnId, text: &str) -> Fact {
    Fact::Activity {
        turn,
        text: text.to_owned(),
    }
}
