//! What is printed where: results on stdout, progress and diagnostics on stderr.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, IsTerminal, Write};
use std::rc::Rc;

use serde::Serialize;

use crate::domain::{RunId, Timestamp};
use crate::engine::{Event, Outcome, State, outcome};
use crate::mission;
use crate::report::json::{Standing, write_run};
use crate::report::progress;
use crate::report::style::{self, ColorChoice, Style};
use crate::report::summary;
use crate::report::view::RunView;
use crate::runtime::{Ending, Observer};
use crate::store::Record;

use super::args::{Format, Output, Progress, SessionFlags, When};
use super::reports::{Reports, exit_code};

/// The two streams of this process and how to write to them.
pub struct Screen {
    output: Output,
    lost: Cell<bool>,
}

/// A view that is kept up to date by a session, and read when it is over.
#[derive(Default)]
pub struct LiveView(Option<RunView>);

impl LiveView {
    /// Takes in a record of an earlier session.
    pub fn take(&mut self, state: &State, record: &Record) {
        self.apply(state, record.seq, record.at, &record.events);
    }

    fn apply(&mut self, state: &State, seq: u64, at: Timestamp, events: &[Event]) {
        let view = self.0.get_or_insert_with(|| RunView::new(&state.plan));
        for (seq, event) in (seq..).zip(events) {
            view.apply(&state.plan, seq, at, event);
        }
    }

    /// The view; empty if nothing happened.
    pub fn into_view(self, state: &State) -> RunView {
        self.0.unwrap_or_else(|| RunView::new(&state.plan))
    }
}

/// Shares a view with the session that feeds it.
struct ViewObserver(Rc<RefCell<LiveView>>);

impl Observer for ViewObserver {
    fn on_start(&mut self, _: &State) {}
    fn on_events(&mut self, state: &State, seq: u64, at: Timestamp, events: &[Event]) {
        self.0.borrow_mut().apply(state, seq, at, events);
    }
    fn on_heartbeat(&mut self, _: &State, _: Timestamp) {}
    fn on_end(&mut self, _: &State) {}
}

/// Who watches a session, and the view that comes out of it.
pub struct Watchers {
    pub observers: Vec<Box<dyn Observer>>,
    pub view: Rc<RefCell<LiveView>>,
}

impl Screen {
    pub fn new(output: &Output) -> Self {
        Self {
            output: output.clone(),
            lost: Cell::new(false),
        }
    }

    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Whether stdout carries one document and nothing else.
    pub fn is_json(&self) -> bool {
        self.output.json || matches!(self.output.format, Some(Format::Json))
    }

    /// Whether stdout carries one object a line.
    pub fn is_jsonl(&self) -> bool {
        matches!(self.output.format, Some(Format::Jsonl))
    }

    /// Whether a drawing is asked for.
    pub fn is_drawing(&self) -> bool {
        matches!(self.output.format, Some(Format::Dot | Format::Mermaid))
    }

    /// How diagnostics on stderr are drawn.
    pub fn diagnostics(&self) -> mission::Style {
        let style = self.style(io::stderr().is_terminal());
        mission::Style {
            color: style.color,
            ascii: !style.unicode,
        }
    }

    /// Writes to stderr. Whoever read it may be gone: that is silent.
    pub fn error(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Asks a person yes or no. `None` where there is nobody to ask: no terminal, or CI.
    pub fn ask(&self, question: &str) -> Option<bool> {
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        if in_ci || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        self.error(&format!("{question} [y/N] "));
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        Some(read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Writes to stdout. Whoever read it may be gone: that is silent.
    pub fn result(&self, text: &str) {
        self.print(|out| out.write_all(text.as_bytes()));
    }

    /// Writes the document of a run to stdout.
    pub fn run(&self, state: &State, view: &RunView, standing: Standing) {
        self.print(|out| write_run(out, state, view, standing));
    }

    /// Writes to stdout, all of it, at once. A disk that took only a part of it is told, and remembered.
    pub fn print(&self, write: impl FnOnce(&mut io::StdoutLock<'_>) -> io::Result<()>) {
        let mut out = io::stdout().lock();
        let written = write(&mut out).and_then(|()| out.flush());
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
            && !self.lost.replace(true)
        {
            self.error(&format!("error: the output cannot be written: {error}\n"));
        }
    }

    /// The exit code of the process: never 0 if what it had to say was lost.
    pub fn exit_code(&self, code: u8) -> u8 {
        exit_code(code, !self.lost.get())
    }

    /// Writes one document to stdout.
    pub fn document(&self, document: &impl Serialize) {
        self.print(|out| {
            serde_json::to_writer_pretty(&mut *out, document)?;
            out.write_all(b"\n")
        });
    }

    /// The terminal behind stdout, for text that people read.
    pub fn out(&self) -> style::Screen {
        self.screen(io::stdout().is_terminal())
    }

    fn screen(&self, terminal: bool) -> style::Screen {
        let width = terminal.then(|| comfy_table::Table::new().width().map_or(80, usize::from));
        style::Screen {
            width,
            style: self.style(terminal),
        }
    }

    fn style(&self, terminal: bool) -> Style {
        let choice = match self.output.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        };
        Style::resolve(choice, terminal, |name| std::env::var(name).ok())
    }

    /// Who watches a session: its view, and progress as the flags ask for it.
    pub fn watch(&self, run: &RunId, flags: &SessionFlags, earlier: LiveView) -> Watchers {
        let view = Rc::new(RefCell::new(earlier));
        let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(ViewObserver(view.clone()))];
        let terminal = io::stderr().is_terminal();
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let screen = self.screen(terminal);
        let progress = match flags.progress {
            Progress::Auto if terminal && !in_ci && !self.output.quiet => Progress::Bar,
            Progress::Auto => Progress::Plain,
            chosen => chosen,
        };
        match progress {
            Progress::None => {}
            _ if self.output.quiet => {
                observers.push(Box::new(progress::Quiet::new(io::stderr(), run.clone(), screen)))
            }
            Progress::Bar => observers.push(Box::new(progress::Bar::stderr(run.clone(), screen))),
            Progress::Auto | Progress::Plain => {
                observers.push(Box::new(progress::Plain::new(io::stderr(), run.clone(), screen)))
            }
        }
        Watchers { observers, view }
    }

    /// Reports the end of a session and returns its exit code.
    pub fn finish(&self, ending: Ending, view: Rc<RefCell<LiveView>>, reports: &Reports) -> u8 {
        let view = view.take().into_view(&ending.state);
        let outcome = outcome(&ending.state);
        self.report(&ending.state, &view);
        // Last, so that a report that could not be written is the last thing that is said.
        let reported = reports.write(&ending.state, &view, Some(&outcome), self);
        exit_code(ending.ended.outcome.exit_code(), reported)
    }

    /// Prints what a run is now: the final block, or the document.
    pub fn report(&self, state: &State, view: &RunView) {
        if self.is_json() {
            self.run(state, view, Standing::of(state, false));
        } else {
            self.result(&summary::summary(state, view, &outcome(state), &self.out()));
        }
    }

    /// Prints the final block of a session that broke off: what was durable.
    pub fn broke_off(&self, state: &State, view: &RunView, outcome: &Outcome) {
        self.result(&summary::summary(state, view, outcome, &self.out()));
    }
}
