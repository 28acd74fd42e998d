//! Lines appended to an output that is no terminal, or should not be treated as one.

use std::io::Write;

use crate::report::screens::style::TextLayout;
use crate::test_clock::scaled;
use rules::{
    domain::{Millis, RunId, Timestamp},
    engine::{Event, RunEvent, State},
};

use super::line::{LineBuilder, ProgressLine};
use super::{Details, Observer};

/// How often what still runs is named.
const HEARTBEAT: Millis = Millis::from_secs(60);

/// `--progress plain`: one line per change, and every minute what still runs; with `-q` failures only.
pub struct Plain<W> {
    out: W,
    screen: TextLayout,
    lines: LineBuilder,
    said: Timestamp,
    only_failures: bool,
}

impl<W: Write> Plain<W> {
    /// Writes to `out`, each record at once. That nobody reads it any more is no error.
    pub fn new(out: W, run: impl Into<Option<RunId>>, screen: TextLayout) -> Self {
        Self {
            out,
            lines: LineBuilder::new(run, &screen),
            screen,
            said: Timestamp::default(),
            only_failures: false,
        }
    }

    /// Leaves out every line that is not about a failure.
    #[must_use]
    pub fn only_failures(mut self) -> Self {
        self.only_failures = true;
        self
    }

    /// Makes the lines carry the details that `-v` asks for.
    #[must_use]
    pub fn verbose(mut self, details: Option<Details>) -> Self {
        self.lines.details = details;
        self
    }

    /// Writes lines in one go. A reader that went away does not stop the work, so errors are not looked at.
    fn write(&mut self, lines: &[ProgressLine]) {
        if lines.is_empty() {
            return;
        }
        let mut text = String::new();
        for line in lines {
            text.push_str(&line.render(&self.screen));
            text.push('\n');
        }
        let out = &mut self.out;
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl<W: Write> Observer for Plain<W> {
    fn on_start(&mut self, _: &State) {}

    fn on_events(&mut self, state: &State, _: u64, at: Timestamp, events: &[Event]) {
        let mut lines = self.lines.of_record(state, at, events);
        lines.retain(|line| line.is_failure || !self.only_failures);
        if events.iter().any(|event| matches!(event, Event::Run(RunEvent::Started(_) | RunEvent::Resumed(_))))
        {
            self.said = at;
        }
        self.write(&lines);
    }

    fn on_heartbeat(&mut self, state: &State, at: Timestamp) {
        // The caller's minutes may be shorter than ours; a log does not want more than one of these a minute.
        if self.only_failures || at.since(self.said).as_duration() < scaled(HEARTBEAT.as_duration()) {
            return;
        }
        self.said = at;
        let line = self.lines.heartbeat(state, at);
        self.write(line.as_slice());
    }

    fn on_end(&mut self, _: &State) {}
}
