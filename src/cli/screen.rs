//! What is printed where: results on stdout, progress and diagnostics on stderr.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::report::{
    documents::{RunDocument, RunState, runs::RunRow},
    escape, escape_json,
    folds::view::RunView,
    progress::{self, Details},
    sanitize,
    screens::{
        pages::Page,
        status::StatusPage,
        style::{self, ColorChoice, Style},
    },
};
use crate::{
    runtime::Observer,
    store::{Record, RunFolder, SpoolName},
};
use rules::{
    domain::{OutcomeClass, Timestamp},
    engine::{Event, ProcessRef, State},
    mission,
};
use supervisor::{ProcessIdentity, open_output, stdout_was_closed, this_boot};

use super::args::{Format, JsonFlag, OutputArgs, Progress, SessionFlags, When};
use super::command_error::Failure;
use super::harmless::Harmless;
use super::variables::Log;

/// The two streams of this process and how to write to them.
pub struct Screen {
    output: OutputArgs,
    /// How much is said, where a variable says so and no flag does.
    log: Option<Log>,
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

    /// The view so far; `None` before the first record.
    pub fn view(&self) -> Option<&RunView> {
        self.0.as_ref()
    }

    /// The view; empty if nothing happened.
    pub fn into_view(self, state: &State) -> RunView {
        let mut view = self.0.unwrap_or_else(|| RunView::new(&state.plan));
        view.warnings.extend(state.notes.iter().cloned());
        view
    }
}

/// Whether this is a pipeline: terminals there belong to nobody.
pub fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// Progress where nobody says how. A terminal that cannot move its cursor has no live area, and needs heartbeats.
fn usual_progress(has_person: bool, term: &str) -> Progress {
    match term {
        "" | "dumb" => Progress::Plain,
        _ if has_person => Progress::Bar,
        _ => Progress::Plain,
    }
}

/// Standard output, if this process was given one: what the library puts in its place takes everything and keeps nothing.
pub fn stdout() -> io::Result<io::StdoutLock<'static>> {
    if stdout_was_closed() { Err(rustix::io::Errno::BADF.into()) } else { Ok(io::stdout().lock()) }
}

/// A writer of JSON to standard output: on a terminal texts of others may neither move the cursor nor hide.
pub fn at_terminal(out: &mut dyn Write) -> Box<dyn Write + '_> {
    if io::stdout().is_terminal() { Box::new(Harmless::new(out, escape_json)) } else { Box::new(out) }
}

/// A writer of texts of others: on a terminal they may neither move the cursor nor hide, for anything else they stay as they are.
pub fn text_of_others(out: impl Write + IsTerminal + 'static) -> Box<dyn Write> {
    if out.is_terminal() {
        let harmless: Box<dyn Write> = Box::new(Harmless::new(out, escape));
        Box::new(anstream::StripStream::new(harmless))
    } else {
        Box::new(out)
    }
}

/// The result of a failed print: silent where the reader has gone, an error where the output is lost.
pub fn not_printed(error: io::Error) -> Result<u8, Failure> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(0),
        _ => Err(internal!("the output cannot be written: {error}")),
    }
}

/// The columns of the terminal, if there is one.
fn columns(of: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(of).ok()?;
    // Some terminals do not know.
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The lines of the terminal behind standard output, if there is one.
pub fn lines_of_stdout() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_row)).filter(|lines| *lines > 0)
}

fn columns_of_stderr() -> Option<usize> {
    columns(io::stderr())
}

/// The last lines of a file, as far as a person wants to see them in passing.
fn tail(path: &Path) -> Vec<String> {
    File::open(path).map_or_else(|_| Vec::new(), last_lines)
}

fn last_lines(mut file: File) -> Vec<String> {
    const BYTES: u64 = 4_000;
    const LINES: usize = 5;
    let from = file.metadata().map_or(0, |data| data.len().saturating_sub(BYTES));
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(from)).and_then(|_| file.take(BYTES).read_to_end(&mut bytes));
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.split_off(lines.len().saturating_sub(LINES))
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
    fn page(&self, state: &State) -> Option<Value> {
        let view = self.0.borrow();
        let view = view.0.as_ref()?;
        let run = RunDocument::of_session(state, view, None);
        let page = FirstPage {
            status: StatusPage::of(&run),
            row: RunRow::of(
                view.run_id.clone()?,
                Default::default(),
                state,
                view,
                RunState::of(state, false),
            ),
        };
        serde_json::to_value(page).ok()
    }
}

/// The first page of a run in a snapshot, for readers who need not see all of it.
#[derive(Serialize, Deserialize)]
pub struct FirstPage {
    /// The page of `quorum status`.
    pub status: StatusPage,
    /// The line of the run in the list of runs.
    pub row: RunRow,
}

/// The observers of a session, and the view that they make.
pub struct Watchers {
    pub observers: Vec<Box<dyn Observer>>,
    pub view: Rc<RefCell<LiveView>>,
}

impl Screen {
    pub fn new(output: &OutputArgs, log: Option<Log>) -> Self {
        let mut output = output.clone();
        output.quiet |= log == Some(Log::Quiet);
        Self { output, log, lost: Cell::new(false) }
    }

    pub fn output(&self) -> &OutputArgs {
        &self.output
    }

    /// Whether stdout carries one document and nothing else.
    pub fn is_json(&self) -> bool {
        self.output.json == JsonFlag::Document || matches!(self.output.format, Some(Format::Json))
    }

    /// Whether stdout carries one object a line.
    pub fn is_jsonl(&self) -> bool {
        matches!(self.output.format, Some(Format::Jsonl))
    }

    /// How diagnostics on stderr are drawn.
    pub fn diagnostics(&self) -> mission::DiagnosticStyle {
        let style::TextLayout { width, style } = self.err();
        mission::DiagnosticStyle { color: style.color, ascii: !style.unicode, columns: width }
    }

    /// Writes to stderr. Whoever read it may be gone: that is silent.
    pub fn error(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Says why a command ends without a result: on stderr, and as a document on stdout where one was asked for. Returns
    /// the exit code.
    pub fn fail(&self, failure: Failure) -> u8 {
        self.error(&failure.text(self.diagnostics(), &self.err()));
        let code = failure.exit_code();
        if self.is_json() {
            self.document(&failure.document());
        }
        // Whoever read us may be gone; there is nobody left to tell.
        let _ = io::stdout().flush();
        code
    }

    /// Writes to stdout. Whoever read it may be gone: that is silent.
    pub fn result(&self, text: &str) {
        self.print(|out| out.write_all(text.as_bytes()));
    }

    /// Writes a long text to stdout, on a terminal by the user's pager.
    pub fn paged(&self, text: &str) {
        let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
        let pager = pager.as_deref().unwrap_or("less -FRX 2>/dev/null");
        let mut command = Command::new("sh");
        // Where there is no such program the text is printed.
        command.args(["-c", &format!("{pager} || cat")]).stdin(Stdio::piped());
        let is_asked_for = io::stdout().is_terminal() && !self.output.no_input;
        match is_asked_for.then(|| command.spawn()) {
            Some(Ok(mut child)) => {
                // Whoever leaves the pager has read enough.
                let _ = child.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
                let _ = child.wait();
            }
            _ => self.result(text),
        }
    }

    /// Writes the document of a run to stdout.
    pub fn run(&self, run: &RunDocument<'_>) {
        self.print(|out| run.write(at_terminal(out)));
    }

    /// Writes an output to stdout, all of it, at once. A disk that took only a part is told, and remembered.
    pub fn print(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let written = stdout().and_then(|mut out| write(&mut out).and_then(|()| out.flush()));
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
            && !self.lost.replace(true)
        {
            self.error(&format!("error: the output cannot be written: {error}\n"));
        }
    }

    /// The exit code of the process: 1 if what it had to say was lost. Whoever was stopped says so all the same: a terminal
    /// that is closed takes the words with it.
    pub fn exit_code(&self, code: u8) -> u8 {
        let mut signals = OutcomeClass::BY_PRECEDENCE.into_iter().filter(|class| class.is_signal());
        let was_stopped = signals.any(|class| class.exit_code() == code);
        if self.lost.get() && !was_stopped { OutcomeClass::Internal.exit_code() } else { code }
    }

    /// Prints a document as JSON, or as its page for people.
    pub fn show(&self, document: &impl Page) {
        if self.is_json() {
            return self.document(document);
        }
        self.page(document);
    }

    /// Prints a page; nothing where stdout carries a document.
    pub fn page(&self, page: &impl Page) {
        if !self.is_json() {
            self.drawn(page.human(&self.out()));
        }
    }

    /// Prints what a template drew.
    pub fn drawn(&self, text: Result<String, minijinja::Error>) {
        self.print(|out| out.write_all(text.map_err(io::Error::other)?.as_bytes()));
    }

    /// Prints a page on stderr; nothing where stdout carries a document.
    pub fn page_aside(&self, page: &impl Page) {
        if !self.is_json() {
            self.error(&page.human(&self.err()).unwrap_or_default());
        }
    }

    /// Says a line on stderr, whatever others wrote in it.
    pub fn note(&self, line: &str) {
        self.error(&self.err().wrap(&format!("{}\n", sanitize(line))));
    }

    /// Says a line on stderr; nothing where stdout carries a document.
    pub fn aside(&self, line: &str) {
        if !self.is_json() {
            self.note(line);
        }
    }

    /// Writes one document to stdout.
    pub fn document(&self, document: &impl Serialize) {
        self.print(|out| {
            let mut out = at_terminal(out);
            serde_json::to_writer_pretty(&mut out, document)?;
            out.write_all(b"\n")
        });
    }

    /// The terminal behind stdout, for text that people read.
    pub fn out(&self) -> style::TextLayout {
        self.screen(io::stdout().is_terminal(), columns(io::stdout()))
    }

    /// The terminal behind stderr, for messages that people read.
    pub fn err(&self) -> style::TextLayout {
        self.screen(io::stderr().is_terminal(), columns_of_stderr())
    }

    fn screen(&self, terminal: bool, columns: Option<usize>) -> style::TextLayout {
        style::TextLayout { width: terminal.then(|| columns.unwrap_or(80)), style: self.style(terminal) }
    }

    fn style(&self, terminal: bool) -> Style {
        let choice = match self.output.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        };
        Style::resolve(choice, terminal, |name| std::env::var(name).ok())
    }

    /// The observers of a session: its view, and progress as the flags ask for it. Progress of a run that is
    /// not kept names no ids: nothing could be done with them.
    pub fn watch(
        &self,
        folder: &RunFolder,
        is_kept: bool,
        flags: &SessionFlags,
        programs: Vec<(String, String)>,
        earlier: LiveView,
    ) -> Watchers {
        let run = is_kept.then(|| folder.id().clone());
        let view = Rc::new(RefCell::new(earlier));
        let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(ViewObserver(view.clone()))];
        let terminal = io::stderr().is_terminal();
        let screen = self.err();
        let is_verbose = flags.verbose || self.log == Some(Log::Verbose);
        let details = is_verbose.then(|| {
            let folder = folder.clone();
            Details::new(programs, move |turn| tail(&folder.spool_file(&SpoolName::Err(turn))))
        });
        let term = std::env::var("TERM").unwrap_or_default();
        let progress = match flags.progress {
            Progress::Auto if self.output.quiet => Progress::Plain,
            Progress::Auto => usual_progress(terminal && !in_ci(), &term),
            chosen => chosen,
        };
        match progress {
            Progress::None => {}
            Progress::Bar if !self.output.quiet => {
                let boot_id = this_boot();
                let last_line = move |process: &ProcessRef| {
                    let identity = ProcessIdentity {
                        pid: process.pid,
                        start_time: process.start_time,
                        boot_id: boot_id.clone(),
                    };
                    last_lines(open_output(&identity, 1)?).pop()
                };
                let bar = progress::BarView::stderr(run.clone(), screen, columns_of_stderr, last_line);
                observers.push(Box::new(bar.verbose(details)));
            }
            _ => {
                let plain = progress::Plain::new(io::stderr(), run.clone(), screen);
                let plain = if self.output.quiet { plain.only_failures() } else { plain.verbose(details) };
                observers.push(Box::new(plain));
            }
        }
        Watchers { observers, view }
    }

    /// Prints what a run is now: the final block, or the document.
    pub fn report(&self, run: &RunDocument<'_>) {
        if self.is_json() {
            self.run(run);
        } else {
            self.page(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_area_needs_a_person_and_a_cursor() {
        for (has_person, term, progress) in [
            (true, "xterm", Progress::Bar),
            (true, "dumb", Progress::Plain),
            (true, "", Progress::Plain),
            (false, "xterm", Progress::Plain),
        ] {
            assert_eq!(usual_progress(has_person, term), progress, "{has_person} {term}");
        }
    }
}
