//! Progress on a terminal: finished lines scroll up, what runs and a footer stay at the bottom.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::report::{
    documents::skipped,
    screens::{
        style::{Role, TextLayout},
        text::{clock, elapsed, fit, width},
    },
    vocabulary::budget::footer_words,
};
use rules::{
    domain::{Millis, RunId, Status, TaskId, Timestamp},
    engine::{Event, ProcessRef, State},
};

use super::line::LineBuilder;
use super::live::{Live, RunningTask, activity};
use super::terminal;
use super::{Details, Observer};

/// Running tasks that are shown; the footer counts all of them.
const ROWS: usize = 8;

/// The last line that the process of a turn has printed, asked for while it runs.
type LastLineSource = Box<dyn Fn(&ProcessRef) -> Option<String> + Send>;

/// The progress of `--progress bar`.
pub struct BarView {
    screen: TextLayout,
    /// The columns of the terminal now: windows are resized.
    columns: fn() -> Option<usize>,
    lines: LineBuilder,
    /// Where finished lines go, past the live area.
    out: Box<dyn Write>,
    /// Draws the live area.
    drawn: ProgressBar,
    area: Arc<Mutex<Area>>,
    ticks: bool,
}

impl BarView {
    /// On standard error, with clocks that tick. Call it after the supervisor was forked: the clock is a thread.
    ///
    /// `columns` measures the terminal, `last_line` looks at what a process has printed so far.
    pub fn stderr(
        run: impl Into<Option<RunId>>,
        screen: TextLayout,
        columns: fn() -> Option<usize>,
        last_line: impl Fn(&ProcessRef) -> Option<String> + Send + 'static,
    ) -> Self {
        let bar = Self { ticks: true, columns, ..Self::on(terminal::target(), io::stderr(), run, screen) };
        bar.area().last_line = Some(Box::new(last_line));
        bar
    }

    /// On any target, redrawn only when something happens; lines scroll on `out`.
    pub fn on(
        target: ProgressDrawTarget,
        out: impl Write + 'static,
        run: impl Into<Option<RunId>>,
        screen: TextLayout,
    ) -> Self {
        Self {
            lines: LineBuilder::new(run, &screen),
            screen,
            columns: || None,
            out: Box::new(out),
            drawn: ProgressBar::with_draw_target(None, target),
            area: Arc::default(),
            ticks: false,
        }
    }

    /// Makes the bar print the details that `-v` asks for.
    #[must_use]
    pub fn verbose(mut self, details: Option<Details>) -> Self {
        self.lines.details = details;
        self
    }

    fn area(&self) -> MutexGuard<'_, Area> {
        // What another thread left when it panicked is text, and as good as any.
        self.area.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what is true now. Costs a few rows, however many tasks there are.
    fn refresh(&mut self, state: &State) {
        let live = &self.lines.live;
        let rows = live.running().take(ROWS).map(|(id, running)| BarRow::of(state, live, id, running));
        let rows = rows.collect();
        {
            let mut area = self.area();
            area.rows = rows;
            area.sums = sums(state, &self.lines.live);
            area.share = (state.sums.counts.ended(), state.sums.counts.selected);
            area.cost = footer_words(state);
            area.remaining = self.lines.live.remaining(state);
            area.elapsed = self.lines.live.elapsed();
            area.seen = self.ticks.then(Instant::now);
            area.screen = self.screen;
        }
        self.drawn.tick();
    }
}

impl Observer for BarView {
    fn on_start(&mut self, state: &State) {
        self.refresh(state);
        let (area, columns) = (self.area.clone(), self.columns);
        let draw = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            let area = area.lock().unwrap_or_else(PoisonError::into_inner);
            // What cannot be written is a terminal that went away.
            let _ = out.write_str(&area.render(columns()));
        };
        let style = ProgressStyle::with_template("{area}").expect("this template is well formed");
        self.drawn.set_style(style.with_key("area", draw));
        if self.ticks {
            self.drawn.enable_steady_tick(Duration::from_secs(1));
        }
    }

    fn on_events(&mut self, state: &State, _: u64, at: Timestamp, events: &[Event]) {
        if let Some(columns) = (self.columns)() {
            self.screen.width = Some(columns);
        }
        let mut lines = self.lines.of_record(state, at, events);
        // What is seen at the bottom while it lasts need not stand above for good.
        lines.retain(|line| !line.is_live);
        if !lines.is_empty() {
            let screen = &self.screen;
            let text: String = lines.iter().map(|line| line.render(screen) + "\n").collect();
            let out = &mut self.out;
            // Not the library's own printing: it fills lines with blanks to the edge, which break when the window gets
            // narrower. As with plain lines: that nobody looks any more does not stop the work.
            let _ = self.drawn.suspend(|| out.write_all(text.as_bytes()).and_then(|()| out.flush()));
        }
        self.refresh(state);
    }

    fn on_heartbeat(&mut self, state: &State, at: Timestamp) {
        self.lines.live.tick(at);
        self.refresh(state);
    }

    fn on_end(&mut self, _: &State) {
        self.drawn.disable_steady_tick();
        self.drawn.finish_and_clear();
    }
}

/// The content of the bottom of the screen, but for the time: that is asked for whenever it is drawn.
#[derive(Default)]
struct Area {
    rows: Vec<BarRow>,
    /// `1 rework`, `2 waiting`.
    sums: Vec<String>,
    /// Tasks that have ended, of so many.
    share: (u32, u32),
    cost: Option<String>,
    remaining: Option<Millis>,
    /// How long the session took when this was written, and when that was.
    elapsed: Millis,
    seen: Option<Instant>,
    screen: TextLayout,
    last_line: Option<LastLineSource>,
}

/// A task that runs.
struct BarRow {
    activity: String,
    title: String,
    /// The time that the attempt had taken when this was written.
    took: Millis,
    /// The last progress message of the agent.
    said: Option<String>,
    /// The process of its agent, while it works: what it prints is looked at.
    process: Option<ProcessRef>,
}

impl BarRow {
    fn of(state: &State, live: &Live, id: TaskId, running: &RunningTask) -> Self {
        let task = state.task(id);
        let works = task.status() == Status::InProgress;
        Self {
            activity: activity(state, id, running),
            title: state.plan.title(id).to_owned(),
            took: live.attempt(running),
            said: running.said.clone().filter(|_| works),
            process: running.process.clone().filter(|_| works),
        }
    }
}

/// Columns of the bar.
const BAR: usize = 16;

impl Area {
    /// How much time has passed since this was written.
    fn since(&self) -> Millis {
        self.seen.map_or(Millis::default(), |seen| Millis::from(seen.elapsed()))
    }

    fn render(&self, columns: Option<usize>) -> String {
        let screen = TextLayout { width: columns.or(self.screen.width), ..self.screen };
        let mut text = String::new();
        for row in &self.rows {
            text.push_str(&self.row(row, &screen));
            text.push('\n');
        }
        text + &self.footer(&screen)
    }

    /// `     working implement-api  12.3s  running the tests`. The title gives way before the time does, and what the agent
    /// said before both.
    fn row(&self, row: &BarRow, screen: &TextLayout) -> String {
        let style = screen.style;
        let activity = format!("{:>12}", row.activity);
        let took = elapsed(Millis(row.took.0 + self.since().0));
        let used = width(&activity) + 1 + 2 + width(&took);
        let title = screen.fit(&row.title, used);
        let printed = || self.last_line.as_ref()?(row.process.as_ref()?);
        let said = row.said.clone().or_else(printed).unwrap_or_default();
        let said = screen.fit(&said, used + width(&title) + 2);
        let text = format!("{} {title}  {took}", style.paint(Role::Active, activity));
        if said.is_empty() { text } else { format!("{text}  {}", style.paint(Role::Dim, said)) }
    }

    /// `[#####.....] 7/12 done | 1 rework | 2 waiting | $0.84/$5.00 | 03:12 | about 02:10 left`
    fn footer(&self, screen: &TextLayout) -> String {
        let symbols = screen.style.symbols();
        let mut parts = self.sums.clone();
        parts.extend(self.cost.clone());
        parts.push(clock(Millis(self.elapsed.0 + self.since().0)));
        if let Some(left) = self.remaining {
            let left = left.0.saturating_sub(self.since().0);
            // What is nearly over needs no guess.
            parts.extend((left >= 5_000).then(|| format!("about {} left", clock(Millis(left)))));
        }
        let text = parts.join(&format!(" {} ", symbols.separator));
        let (ended, all) = self.share;
        let full = (BAR * ended as usize).checked_div(all as usize).unwrap_or(0);
        let bar =
            format!("{}{} ", symbols.full.repeat(full.min(BAR)), symbols.empty.repeat(BAR - full.min(BAR)));
        // In a narrow window the sums say the same.
        match screen.width {
            Some(columns) if width(&bar) + width(&text) > columns => {
                fit(&text, columns, symbols.ellipsis).into_owned()
            }
            _ => bar + &text,
        }
    }
}

/// `7/12 done`, `1 rework`, `2 waiting`: what is none is left out.
fn sums(state: &State, live: &Live) -> Vec<String> {
    let counts = &state.sums.counts;
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
    parts
}

#[cfg(test)]
pub(super) mod shown {
    //! What the bottom of the screen shows, for snapshot tests.

    use super::BarView;

    pub fn bottom(bar: &BarView) -> String {
        bar.area().render(None)
    }
}
