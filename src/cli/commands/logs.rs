//! `quorum logs`: what the agent of a task said, turn by turn, also while it is still saying it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::{
    agents::preset::OutputReader,
    cli::{
        args::OfRun,
        command_error::Failure,
        folded_task::{FoldedTask, check_attempt, fold_task},
        project::run_of,
        screen::{self, Screen, not_printed, text_of_others},
        writer::has_writer,
    },
    report::{
        documents::commands::{LogsDocument, LogsTurn},
        folds::history::{TaskHistory, TurnHistory, TurnStanding},
        screens::logs::header,
    },
    store::{JournalEnd, Reader, RunFolder, SpoolName},
};
use rules::{
    domain::TurnId,
    engine::{Event, ProcessRef, RunEvent, SupervisorRef},
    mission::model::{OutputFormat, Preset},
    plan::Plan,
};
use supervisor::ProcessIdentity;
use supervisor::files::{LONGEST_FILE, if_there, open_regular, read_regular};

/// How often a followed task is looked at.
const POLL: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub struct Logs {
    /// The task's title
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Follow the output until the task has ended
    #[arg(short, long)]
    pub follow: bool,
    /// Only this attempt, counted from 1
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    #[command(flatten)]
    pub of: OfRun,
    /// Print standard error instead of the output
    #[arg(long)]
    pub stderr: bool,
    /// Print the record of tool calls instead of the output, one line a call
    #[arg(long, conflicts_with = "stderr")]
    pub tools: bool,
}

impl Logs {
    fn wants(&self, turn: TurnId) -> bool {
        self.attempt.is_none_or(|attempt| attempt == turn.attempt)
    }

    fn file(&self, turn: TurnId) -> SpoolName {
        match (self.tools, self.stderr) {
            (true, _) => SpoolName::TurnTools(turn),
            (false, true) => SpoolName::Err(turn),
            (false, false) => SpoolName::Out(turn),
        }
    }
}

pub fn logs(arguments: &Logs, screen: &Screen) -> Result<u8, Failure> {
    if arguments.follow && screen.is_json() {
        return Err(usage!("a document has an end: it cannot be followed").help("leave out -f, or --json"));
    }
    let (folder, run) = run_of(&arguments.of, screen)?;
    // Before the reading: what a writer adds until it lets go is then read.
    let mut live = has_writer(&folder, &run);
    let mut told = fold_task(&run, &arguments.task)?;
    live = live || goes_on(&run, &told);
    if !arguments.follow {
        check_attempt(&told.history, arguments.attempt)?;
    }
    if screen.is_json() {
        let document = document(arguments, &run, &told.history)?;
        screen.document(&document);
        return Ok(0);
    }
    let mut printer = Printer::new(arguments, &run, screen, told.state.plan.clone());
    loop {
        if let Err(error) = printer.pump(&told.history, &told.supervisor) {
            return not_printed(error);
        }
        if !arguments.follow || told.history.status.is_terminal() || !live {
            if told.history.turns().next().is_none() {
                screen.note(&nothing_said(&told));
            }
            return Ok(0);
        }
        std::thread::sleep(POLL);
        live = has_writer(&folder, &run) || goes_on(&run, &told);
        told.end = catch_up(&run, told.end, &mut told.history, &mut told.supervisor)?;
    }
}

/// Why there is no output: nobody has worked on the task.
fn nothing_said(told: &FoldedTask) -> String {
    let id = told.history.task;
    let failure = told.view.task(id).failure.as_deref();
    let why = failure.map_or_else(
        || format!("it is {}", told.history.status.as_str()),
        |failure| format!("{}: {}", failure.mode.as_str(), failure.message),
    );
    let title = told.state.plan.title(id);
    format!("note: no agent has worked on '{title}': {why}")
}

/// Whether the agent outlived the session that started it and still speaks, or has just ended and its supervisor has not yet
/// put its output in its place.
fn goes_on(run: &RunFolder, told: &FoldedTask) -> bool {
    let last = told.history.turns().last();
    let Some(turn) = last.filter(|turn| matches!(turn.end, TurnStanding::Open)) else {
        return false;
    };
    let Some(process) = &turn.process else {
        return false;
    };
    if supervisor::alive(&identity(process, &told.supervisor)) {
        return true;
    }
    let supervisor = ProcessRef { pid: told.supervisor.pid, start_time: told.supervisor.start_time };
    let label = turn.id.to_string();
    let on_record = || {
        let log = supervisor::read_exits(&run.exits());
        log.is_ok_and(|log| {
            log.records.iter().any(|record| record.label == label && record.pid == process.pid)
        })
    };
    supervisor::alive(&identity(&supervisor, &told.supervisor)) && !on_record()
}

fn identity(process: &ProcessRef, supervisor: &SupervisorRef) -> ProcessIdentity {
    ProcessIdentity { pid: process.pid, start_time: process.start_time, boot_id: supervisor.boot_id.clone() }
}

/// Takes in what was added to the journal.
fn catch_up(
    run: &RunFolder,
    end: JournalEnd,
    history: &mut TaskHistory,
    supervisor: &mut SupervisorRef,
) -> Result<JournalEnd, Failure> {
    let mut reader = Reader::open_at(&run.journal(), end).map_err(Failure::internal)?;
    while let Some(record) = reader.next_record().map_err(Failure::internal)? {
        for event in &record.events {
            if let Event::Run(RunEvent::Resumed(resume)) = event {
                supervisor.clone_from(&resume.supervisor);
            }
            history.apply(record.at, event);
        }
    }
    Ok(reader.end())
}

/// Prints each byte of each turn once.
struct Printer<'a> {
    arguments: &'a Logs,
    run: &'a RunFolder,
    screen: &'a Screen,
    /// How many turns are printed to their end.
    done: usize,
    /// Whether the turn under way was announced.
    announced: bool,
    /// How much of the turn under way is printed.
    offset: u64,
    /// The output of a turn that goes on: it keeps its content when it gets its name.
    open: Option<File>,
    /// Where that is events of a program: what is told of them.
    events: Option<Events>,
    plan: Arc<Plan>,
    out: Box<dyn Write>,
    /// Whether the last line that was printed has no end.
    is_open: bool,
}

impl<'a> Printer<'a> {
    fn new(arguments: &'a Logs, run: &'a RunFolder, screen: &'a Screen, plan: Arc<Plan>) -> Self {
        Self {
            arguments,
            run,
            screen,
            done: 0,
            announced: false,
            offset: 0,
            open: None,
            events: None,
            plan,
            out: text_of_others(io::stdout()),
            is_open: false,
        }
    }

    /// Prints what is there.
    fn pump(&mut self, history: &TaskHistory, supervisor: &SupervisorRef) -> io::Result<()> {
        drop(screen::stdout()?);
        for turn in history.turns().skip(self.done).collect::<Vec<_>>() {
            let has_ended = !matches!(turn.end, TurnStanding::Open);
            if self.arguments.wants(turn.id) {
                self.announce(turn)?;
                self.print(turn, supervisor)?;
            }
            if !has_ended {
                break;
            }
            self.done += 1;
            (self.announced, self.offset, self.open, self.events) = (false, 0, None, None);
        }
        self.out.flush()
    }

    /// On stderr, so that stdout is what the agent said and nothing else, but for the end of a last line that has none.
    fn announce(&mut self, turn: &TurnHistory) -> io::Result<()> {
        if !self.announced && std::mem::take(&mut self.is_open) {
            self.out.write_all(b"\n")?;
            self.out.flush()?;
        }
        if !self.announced && !self.screen.output().quiet {
            self.screen.error(&header(turn, &self.screen.err()));
        }
        self.announced = true;
        Ok(())
    }

    fn print(&mut self, turn: &TurnHistory, supervisor: &SupervisorRef) -> io::Result<()> {
        let named = || open_regular(&self.run.spool_file(&self.arguments.file(turn.id))).ok();
        if self.open.is_none() {
            // What has its name is what the agent said; what its process prints are events.
            self.open = named();
            if self.open.is_none() {
                self.open = self.of_process(turn, supervisor);
                let preset = self.preset_of(turn).filter(|_| !self.arguments.stderr);
                self.events = preset.filter(|_| self.open.is_some()).map(Events::of);
            }
        }
        let Some(file) = &mut self.open else {
            return Ok(());
        };
        // What cannot be read is not there for us; the task's own verdict does not hang on it.
        if file.seek(SeekFrom::Start(self.offset)).is_ok() {
            self.offset += match &mut self.events {
                Some(events) => copy(file, &mut EventWriter(events, &mut self.out))?,
                None => copy(file, &mut self.out)?,
            };
            let mut last = [b'\n'];
            let at = self.offset.saturating_sub(1);
            self.is_open = file.read_exact_at(&mut last, at).is_ok() && last != [b'\n'];
        }
        Ok(())
    }

    /// How events of the program that has a turn are read.
    fn preset_of(&self, turn: &TurnHistory) -> Option<Arc<Preset>> {
        let assigned = self.plan.task(turn.id.task).assigned;
        let agent = self.plan.agent(turn.instead.unwrap_or(assigned));
        let preset = agent.spec.preset.clone();
        preset.filter(|preset| preset.format == OutputFormat::Jsonl)
    }

    /// The output of a running turn by way of its process: the file may not have its name yet.
    fn of_process(&self, turn: &TurnHistory, supervisor: &SupervisorRef) -> Option<File> {
        if self.arguments.tools {
            return None;
        }
        let identity = identity(turn.process.as_ref()?, supervisor);
        let descriptor = if self.arguments.stderr { 2 } else { 1 };
        supervisor::open_output(&identity, descriptor)
    }
}

/// Events of a program as people follow them: what it says, and which tools it uses.
struct Events {
    reading: OutputReader,
    /// The part of a line that has come.
    rest: Vec<u8>,
    /// The last message, as it is printed.
    said: String,
    calls: u32,
}

impl Events {
    fn of(preset: Arc<Preset>) -> Self {
        Self { reading: OutputReader::of(preset), rest: Vec::new(), said: String::new(), calls: 0 }
    }

    /// The new text that a line adds.
    fn new_text(&mut self, line: &[u8]) -> String {
        self.reading.line(line);
        let heard = &self.reading.heard;
        let mut told = String::new();
        if heard.calls > self.calls {
            let name = heard.tools.last().map_or("a tool", |call| &*call.tool);
            told = format!("\n[{name}]\n");
        }
        self.calls = heard.calls;
        match heard.text.strip_prefix(&self.said) {
            Some(more) => told.push_str(more),
            None => told.push_str(&heard.text),
        }
        self.said.clone_from(&heard.text);
        told
    }
}

/// Writes what events say.
struct EventWriter<'a>(&'a mut Events, &'a mut dyn Write);

impl Write for EventWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self(events, out) = self;
        events.rest.extend_from_slice(bytes);
        while let Some(end) = events.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = events.rest.drain(..=end).collect();
            out.write_all(events.new_text(&line).as_bytes())?;
        }
        // A line of such a length tells nothing.
        if events.rest.len() as u64 > LONGEST_FILE {
            events.rest.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.flush()
    }
}

/// Copies to the end; only a failure of the reader's side counts as the end of it.
fn copy(file: &mut File, out: &mut dyn Write) -> io::Result<u64> {
    let mut buffer = [0; 64 * 1024];
    let mut copied = 0;
    while let Ok(read) = file.read(&mut buffer) {
        if read == 0 {
            break;
        }
        out.write_all(&buffer[..read])?;
        copied += read as u64;
    }
    Ok(copied)
}

fn document<'a>(
    arguments: &'a Logs,
    run: &'a RunFolder,
    history: &TaskHistory,
) -> Result<LogsDocument<'a>, Failure> {
    let mut turns = Vec::new();
    for turn in history.turns().filter(|turn| arguments.wants(turn.id)) {
        let path = run.spool_file(&arguments.file(turn.id));
        // Empty files are not kept.
        let bytes = if_there(read_regular(&path, LONGEST_FILE))
            .map_err(|error| internal!("cannot read {}: {error}", path.display()))?
            .unwrap_or_default();
        turns.push(LogsTurn {
            attempt: turn.id.attempt,
            turn: turn.id.turn,
            ended: !matches!(turn.end, TurnStanding::Open),
            bytes: bytes.len(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        });
    }
    Ok(LogsDocument {
        run_id: run.id(),
        task: &arguments.task,
        stream: match (arguments.tools, arguments.stderr) {
            (true, _) => "tools",
            (false, true) => "stderr",
            (false, false) => "stdout",
        },
        turns,
    })
}
