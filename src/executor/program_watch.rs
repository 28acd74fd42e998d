//! Programs of agents at work, looked at while they print: what they do is told, one that waits for its provider for longer than
//! anybody here would is ended, with what it said as the reason, and so is one that has said that it is over and does not end.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agents::preset::OutputReader;
use crate::agents::secrets::Secrets;
use crate::test_clock::scaled;
use rules::domain::{Millis, TurnId};
use rules::mission::model::Preset;
use supervisor::{ProcessIdentity, SupervisorCommand};

use super::command::{GRACE, GivenUp};
use super::runner::{Runner, identity_of};

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
pub type WatchedPrograms = HashMap<u64, WatchedProgram>;

/// The programs at work; `None` while they are looked at.
#[derive(Debug)]
pub struct ProgramWatch(Option<WatchedPrograms>);

impl Default for ProgramWatch {
    fn default() -> Self {
        Self(Some(HashMap::new()))
    }
}

/// What a program at work has printed and told so far.
#[derive(Debug)]
pub struct WatchedProgram {
    turn: Option<TurnId>,
    process: ProcessIdentity,
    secrets: Arc<Secrets>,
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
    /// The activity that is to be told.
    news: Option<String>,
    /// Why the program is to be ended.
    given_up: Option<GivenUp>,
}

impl WatchedProgram {
    fn of(
        preset: &Arc<Preset>,
        turn: Option<TurnId>,
        process: ProcessIdentity,
        secrets: Arc<Secrets>,
    ) -> Self {
        Self {
            turn,
            process,
            secrets,
            reading: OutputReader::of(preset.clone()),
            read: [0; 2],
            rest: [Vec::new(), Vec::new()],
            trouble: None,
            troubles: 0,
            over: None,
            said: String::new(),
            told: 0,
            news: None,
            given_up: None,
        }
    }

    /// Reads what a process has printed since, of its output (0) or its standard error (1), where that is a file: whole
    /// lines.
    fn lines(&mut self, which: usize) -> Vec<Vec<u8>> {
        let descriptor = i32::try_from(which + 1).unwrap_or(1);
        let mut new = Vec::new();
        let read = supervisor::open_output(&self.process, descriptor).and_then(|mut output| {
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
        whole.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    /// Looks at what the program has printed since the last look. Blocks.
    pub fn look(&mut self) {
        self.given_up = self.reason_to_end();
        if let Some(GivenUp::Waits { line, .. }) = &mut self.given_up {
            self.secrets.redact_in(line);
        }
        self.news = self.word().map(|word| self.secrets.redact(&word));
    }

    /// Looks at what it printed: why it is not waited for any longer.
    fn reason_to_end(&mut self) -> Option<GivenUp> {
        let printed = self.lines(0);
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
        for line in self.lines(1) {
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            let trouble = self.reading.trouble_in(&line).map(str::to_owned);
            if let Some(waits) = too_long(self.reading.waits_in(&line)) {
                // Why it waits may stand in a line before.
                let before = self.trouble.take().map(|(line, _)| line);
                return Some(GivenUp::Waits { line: trouble.or(before).unwrap_or(line), waits: Some(waits) });
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
        (since.elapsed() > scaled(QUIET_AFTER_TROUBLE))
            .then(|| GivenUp::Waits { line: line.clone(), waits: None })
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
    /// The programs of agents that presets read, each to be [looked at](WatchedProgram::look); `None` while that is done.
    pub fn begin(&mut self, runner: &Runner) -> Option<WatchedPrograms> {
        let mut programs = self.0.take()?;
        programs.retain(|key, _| runner.is_at_work(*key));
        for (key, owner, process, outputs) in runner.programs() {
            if outputs.given_up.is_some() {
                programs.remove(&key);
            } else if let (Some(preset), Some(process)) = (&outputs.preset, process) {
                let process = identity_of(process);
                let watched =
                    || WatchedProgram::of(preset, owner.as_turn(), process, outputs.secrets.clone());
                programs.entry(key).or_insert_with(watched);
            }
        }
        Some(programs)
    }

    /// Takes programs that were looked at: `tell` hears what turns do, `send` reaches the supervisor, and whoever waits for too
    /// long, or does not end behind its last word, is ended.
    ///
    /// # Errors
    /// When the supervisor is gone.
    pub fn end(
        &mut self,
        programs: WatchedPrograms,
        runner: &mut Runner,
        mut send: impl FnMut(SupervisorCommand) -> io::Result<()>,
        mut tell: impl FnMut(TurnId, String),
    ) -> io::Result<()> {
        for (&key, watched) in self.0.insert(programs) {
            if let (Some(turn), Some(word)) = (watched.turn, watched.news.take()) {
                tell(turn, word);
            }
            // Of what is no file the supervisor tells.
            let from = watched.read[0];
            send(SupervisorCommand::Peek { key, from })?;
            if let Some(why) = watched.given_up.take() {
                runner.give_up(key, why);
                let grace_ms = GRACE.0;
                send(SupervisorCommand::Terminate { key, grace_ms })?;
            }
        }
        Ok(())
    }

    /// Takes what a program has printed for which the supervisor keeps that, see
    /// [`Event::Printed`](supervisor::Event::Printed). It is looked at with the next look.
    pub fn printed(&mut self, key: u64, from: u64, bytes: &[u8]) {
        // What was asked for twice comes twice, and what comes during a look is asked for again.
        let watched = self.0.as_mut().and_then(|programs| programs.get_mut(&key));
        if let Some(watched) = watched.filter(|watched| watched.read[0] == from) {
            watched.read[0] += bytes.len() as u64;
            watched.rest[0].extend_from_slice(bytes);
        }
    }
}

/// A wait that is longer than anybody here waits.
fn too_long(waits: Option<u64>) -> Option<Millis> {
    waits.map(Millis).filter(|waits| *waits > LONGEST_WAIT)
}
