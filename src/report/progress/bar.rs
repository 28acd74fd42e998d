//! Progress on a terminal: finished lines scroll up, what runs and a footer stay at the bottom.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::domain::{Millis, RunId, Timestamp};
use crate::engine::{Event, State};
use crate::report::budget::footer_words;
use crate::report::json::skipped;
use crate::report::style::{Role, Screen};
use crate::report::text::{clock, sanitize, width};

use super::line::Lines;
use super::live::{Live, activity};
use super::terminal;
use super::{Details, Observer};

/// Running tasks that are shown; the footer counts all of them.
const ROWS: usize = 8;

/// `--progress bar`.
///
/// Rows say *since when* a task runs, not how long, so they are true without being redrawn; only the footer's clock
/// ticks.
pub struct Bar {
    screen: Screen,
    /// The columns of the terminal now: windows are resized.
    columns: fn() -> Option<usize>,
    lines: Lines,
    /// Where finished lines go, past the live area.
    out: Box<dyn Write>,
    multi: MultiProgress,
    rows: Vec<ProgressBar>,
    footer: Option<ProgressBar>,
    ticks: bool,
}

impl fmt::Debug for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bar")
            .field("screen", &self.screen)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

impl Bar {
    /// On standard error, with a clock that ticks. Call it after the keeper was forked: the clock is a thread.
    ///
    /// `columns` measures the terminal.
    #[must_use]
    pub fn stderr(run: impl Into<Option<RunId>>, screen: Screen, columns: fn() -> Option<usize>) -> Self {
        Self {
            ticks: true,
            columns,
            ..Self::on(terminal::target(), io::stderr(), run, screen)
        }
    }

    /// On any target, redrawn only when something happens; lines scroll on `out`.
    #[must_use]
    pub fn on(
        target: ProgressDrawTarget,
        out: impl Write + 'static,
        run: impl Into<Option<RunId>>,
        screen: Screen,
    ) -> Self {
        Self {
            lines: Lines::new(run, &screen),
            screen,
            columns: || None,
            out: Box::new(out),
            multi: MultiProgress::with_draw_target(target),
            rows: Vec::new(),
            footer: None,
            ticks: false,
        }
    }

    /// The same, saying more.
    #[must_use]
    pub fn verbose(mut self, details: Option<Details>) -> Self {
        self.lines.details = details;
        self
    }

    /// Shows what is true now. Costs a few rows, however many tasks there are.
    fn refresh(&mut self, state: &State) {
        let Some(footer) = &self.footer else { return };
        let texts = rows(state, &self.lines.live, &self.screen);
        while self.rows.len() > texts.len() {
            if let Some(row) = self.rows.pop() {
                row.finish_and_clear();
                self.multi.remove(&row);
            }
        }
        while self.rows.len() < texts.len() {
            let row = ProgressBar::new_spinner().with_style(template("{wide_msg}"));
            self.rows.push(self.multi.insert_before(footer, row));
        }
        for (row, text) in self.rows.iter().zip(texts) {
            row.set_message(text);
        }
        footer.set_message(counts(state, &self.lines.live, &self.screen));
    }
}

impl Observer for Bar {
    fn on_start(&mut self, state: &State) {
        let took = |progress: &ProgressState, out: &mut dyn std::fmt::Write| {
            // A footer that cannot be written is a terminal that went away.
            let _ = out.write_str(&clock(Millis::from(progress.elapsed())));
        };
        let separator = self.screen.style.symbols().separator;
        let style = template(&format!("{{msg}} {separator} {{took}}")).with_key("took", took);
        let footer = self.multi.add(ProgressBar::new_spinner().with_style(style));
        if self.ticks {
            footer.enable_steady_tick(Duration::from_secs(1));
        }
        self.footer = Some(footer);
        self.refresh(state);
    }

    fn on_events(&mut self, state: &State, _: u64, at: Timestamp, events: &[Event]) {
        if let Some(columns) = (self.columns)() {
            self.screen.width = Some(columns);
        }
        let lines = self.lines.of_record(state, at, events);
        if !lines.is_empty() {
            let screen = &self.screen;
            let text: String = lines.iter().map(|line| line.render(screen) + "\n").collect();
            let out = &mut self.out;
            // Not the library's own printing: it fills lines with blanks to the edge, which break when the window gets
            // narrower. As with plain lines: that nobody looks any more does not stop the work.
            let _ = self
                .multi
                .suspend(|| out.write_all(text.as_bytes()).and_then(|()| out.flush()));
        }
        self.refresh(state);
    }

    fn on_heartbeat(&mut self, state: &State, at: Timestamp) {
        self.lines.live.tick(at);
        self.refresh(state);
    }

    fn on_end(&mut self, _: &State) {
        for bar in self.rows.drain(..).chain(self.footer.take()) {
            bar.finish_and_clear();
        }
        let _ = self.multi.clear();
    }
}

fn template(text: &str) -> ProgressStyle {
    ProgressStyle::with_template(text).expect("the templates of this file are well formed")
}

/// One line for each of the first running tasks, in file order so that rows do not jump.
fn rows(state: &State, live: &Live, screen: &Screen) -> Vec<String> {
    let style = screen.style;
    let row = |(id, running): (_, &super::live::Running)| {
        let activity = format!("{:>12}", activity(state, id, running));
        let since = format!("since {}", clock(live.offset(running.since)));
        let used = width(&activity) + 1 + 2 + width(&since);
        let title = sanitize(&state.plan.task(id).title);
        let title = screen.fit(&title, used).into_owned();
        format!(
            "{} {title}  {}",
            style.paint(Role::Active, activity),
            style.paint(Role::Dim, since)
        )
    };
    live.running().take(ROWS).map(row).collect()
}

/// `7/12 done · 1 rework · 2 waiting`: the footer without its clock.
fn counts(state: &State, live: &Live, screen: &Screen) -> String {
    let counts = &state.counts;
    let skipped = skipped(state);
    let mut parts = vec![format!("{}/{} done", counts.done, counts.selected)];
    let running = live.running().len();
    let hidden = if running > ROWS { running } else { 0 };
    for (number, what) in [
        ((counts.failed - skipped.min(counts.failed)) as usize, "failed"),
        (skipped as usize, "skipped"),
        (counts.superseded as usize, "superseded"),
        (counts.reworked as usize, "rework"),
        (counts.awaiting as usize, "waiting"),
        (hidden, "running"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
        }
    }
    parts.extend(footer_words(state));
    parts.join(&format!(" {} ", screen.style.symbols().separator))
}

#[cfg(test)]
pub(super) mod shown {
    //! What the bottom of the screen shows, for snapshot tests.

    use super::{Bar, State, counts, rows};

    pub fn bottom(bar: &Bar, state: &State) -> String {
        let mut lines = rows(state, &bar.lines.live, &bar.screen);
        lines.push(counts(state, &bar.lines.live, &bar.screen));
        lines.join("\n")
    }
}
