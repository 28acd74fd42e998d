//! Lines appended to an output that is no terminal, or should not be treated as one.

use std::io::Write;

use crate::report::style::TextLayout;
use crate::test_clock::scaled;
use rules::domain::{Millis, RunId, Timestamp};
use rules::engine::{Event, RunEvent, State};

use super::line::{LineBuilder, ProgressLine};
use super::{Details, Observer};

/// How often what still runs is named.
const HEARTBEAT: Millis = Millis::from_secs(60);

/// `--progress plain`: one line per change, and every minute what still runs.
pub struct Plain<W> {
    out: W,
    screen: TextLayout,
    lines: LineBuilder,
    said: Timestamp,
}

impl<W: Write> Plain<W> {
    /// Writes to `out`, each record at once. That nobody reads it any more is no error.
    pub fn new(out: W, run: impl Into<Option<RunId>>, screen: TextLayout) -> Self {
        Self {
            out,
            lines: LineBuilder::new(run, &screen),
            screen,
            said: Timestamp::default(),
        }
    }

    /// Makes the lines carry the details that `-v` asks for.
    #[must_use]
    pub fn verbose(mut self, details: Option<Details>) -> Self {
        self.lines.details = details;
        self
    }

    fn write(&mut self, lines: &[ProgressLine]) {
        write_lines(&mut self.out, lines, &self.screen);
    }
}

impl<W: Write> Observer for Plain<W> {
    fn on_start(&mut self, _: &State) {}

    fn on_events(&mut self, state: &State, _: u64, at: Timestamp, events: &[Event]) {
        let lines = self.lines.of_record(state, at, events);
        if events
            .iter()
            .any(|event| matches!(event, Event::Run(RunEvent::Started(_) | RunEvent::Resumed(_))))
        {
            self.said = at;
        }
        self.write(&lines);
    }

    fn on_heartbeat(&mut self, state: &State, at: Timestamp) {
        // The caller's minutes may be shorter than ours; a log does not want more than one of these a minute.
        if at.since(self.said).as_duration() < scaled(HEARTBEAT.as_duration()) {
            return;
        }
        self.said = at;
        let line = self.lines.heartbeat(state, at);
        self.write(line.as_slice());
    }

    fn on_end(&mut self, _: &State) {}
}

/// The progress of `-q`: failures only.
pub struct Quiet<W> {
    out: W,
    screen: TextLayout,
    lines: LineBuilder,
}

impl<W: Write> Quiet<W> {
    /// Writes to `out`. That nobody reads it any more is no error.
    pub fn new(out: W, run: impl Into<Option<RunId>>, screen: TextLayout) -> Self {
        Self {
            out,
            lines: LineBuilder::new(run, &screen),
            screen,
        }
    }
}

impl<W: Write> Observer for Quiet<W> {
    fn on_start(&mut self, _: &State) {}

    fn on_events(&mut self, state: &State, _: u64, at: Timestamp, events: &[Event]) {
        let mut lines = self.lines.of_record(state, at, events);
        lines.retain(|line| line.is_failure);
        write_lines(&mut self.out, &lines, &self.screen);
    }

    fn on_heartbeat(&mut self, _: &State, _: Timestamp) {}

    fn on_end(&mut self, _: &State) {}
}

/// Writes lines in one go. A reader that went away does not stop the work, so errors are not looked at.
fn write_lines(out: &mut impl Write, lines: &[ProgressLine], screen: &TextLayout) {
    if lines.is_empty() {
        return;
    }
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.render(screen));
        text.push('\n');
    }
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
