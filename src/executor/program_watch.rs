//! Programs of agents at work, looked at while they print: what they do is told, one that waits for its provider for longer than
//! anybody here would is ended, with what it said as the reason, and so is one that has said that it is over and does not end.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agents::preset::OutputReader;
use crate::test_clock::scaled;
use rules::domain::{Millis, TurnId};
use rules::engine::ProcessRef;
use rules::mission::model::Preset;
use supervisor::{Client, ProcessIdentity, SupervisorCommand};

use super::command::{GRACE, GivenUp};
use super::runner::Runner;

/// How often programs at work are to be looked at.
pub const LOOK: Duration = Duration::from_secs(1);

/// The longest wait of a program for its provider; one that waits for longer is ended.
const LONGEST_WAIT: Millis = Millis::from_secs(120);
/// The silence behind a failed request after which a program is taken to wait.
const QUIET_AFTER_TROUBLE: Duration = Duration::from_secs(20);
/// How long a program has to end by itself once it has said that nothing more is to come.
const TIME_TO_END: Duration = Duration::from_secs(5);
/// How much of an output is read at a look, in bytes: the rest at the next.
const A_LOOK: u64 = 1024 * 1024;
/// How many words of what a turn does are told.
const MOST_TOLD: u32 = 200;
/// Characters of such a word.
const WORD: usize = 120;

/// The programs at work, by the runner's names.
#[derive(Debug, Default)]
pub struct ProgramWatch(HashMap<u64, Watched>);

#[derive(Debug)]
struct Watched {
    reading: OutputReader,
    /// The offsets up to which the output and the standard error are read, in bytes.
    read: [u64; 2],
    /// The unfinished line of each output.
    rest: [Vec<u8>; 2],
    /// The last line that told of a failed request, and when it stood there.
    trouble: Option<(String, Instant)>,
    /// How many such lines there were since it went on.
    troubles: u32,
    /// The moment at which the program was seen to say that nothing more is to come.
    over: Option<Instant>,
    said: String,
    told: u32,
    is_given_up: bool,
}

impl Watched {
    fn of(preset: &Arc<Preset>) -> Self {
        Self {
            reading: OutputReader::of(preset.clone()),
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

    /// Reads what a process has printed since, of its output (0) or its standard error (1), where that is a file: whole
    /// lines.
    fn lines(&mut self, identity: &ProcessIdentity, which: usize) -> Vec<Vec<u8>> {
        let descriptor = i32::try_from(which + 1).unwrap_or(1);
        let mut new = Vec::new();
        let read = supervisor::open_output(identity, descriptor).and_then(|mut output| {
            output.seek(SeekFrom::Start(self.read[which])).ok()?;
            output.take(A_LOOK).read_to_end(&mut new).ok()
        });
        self.read[which] += read.unwrap_or_default() as u64;
        let rest = &mut self.rest[which];
        rest.append(&mut new);
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
    fn look(&mut self, identity: &ProcessIdentity) -> Option<GivenUp> {
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

    /// The activity of the program, if it is not the one that was told last.
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

impl ProgramWatch {
    /// Looks at the programs of agents that presets read: `tell` hears what turns do, and whoever waits for too long, or does
    /// not end behind its last word, is ended. `adopted` knows the processes of turns that an earlier session started.
    ///
    /// # Errors
    /// When the supervisor is gone.
    pub fn look<'a>(
        &mut self,
        runner: &mut Runner,
        supervisor: &mut Client,
        adopted: impl Fn(TurnId) -> Option<&'a ProcessRef>,
        mut tell: impl FnMut(TurnId, String),
    ) -> io::Result<()> {
        self.0.retain(|key, _| runner.is_at_work(*key));
        let mut given_up = Vec::new();
        for (key, owner, process, outputs) in runner.programs() {
            let adopted = || adopted(owner.as_turn()?);
            let (Some(preset), Some(process)) = (&outputs.preset, process.or_else(adopted)) else {
                continue;
            };
            let watched = self.0.entry(key).or_insert_with(|| Watched::of(preset));
            if watched.is_given_up {
                continue;
            }
            let why = watched.look(&ProcessIdentity {
                pid: process.pid,
                start_time: process.start_time,
                boot_id: supervisor.identity().boot_id.clone(),
            });
            if let (Some(turn), Some(word)) = (owner.as_turn(), watched.word()) {
                tell(turn, outputs.secrets.redact(&word));
            }
            // Of what is no file the supervisor tells.
            let from = watched.read[0];
            supervisor.send(&SupervisorCommand::Peek { key, from })?;
            if let Some(mut why) = why {
                watched.is_given_up = true;
                if let GivenUp::Waits { line, .. } = &mut why {
                    outputs.secrets.redact_in(line);
                }
                given_up.push((key, why));
            }
        }
        for (key, why) in given_up {
            runner.give_up(key, why);
            let grace_ms = GRACE.0;
            supervisor.send(&SupervisorCommand::Terminate { key, grace_ms })?;
        }
        Ok(())
    }

    /// Takes what a program has printed for which the supervisor keeps that, see
    /// [`Event::Printed`](supervisor::Event::Printed). It is looked at with the next look.
    pub fn printed(&mut self, key: u64, from: u64, bytes: &[u8]) {
        // What was asked for twice comes twice.
        if let Some(watched) = self.0.get_mut(&key).filter(|watched| watched.read[0] == from) {
            watched.read[0] += bytes.len() as u64;
            watched.rest[0].extend_from_slice(bytes);
        }
    }
}

/// A wait that is longer than anybody here waits.
fn too_long(waits: Option<u64>) -> Option<Millis> {
    waits.map(Millis).filter(|waits| *waits > LONGEST_WAIT)
}
