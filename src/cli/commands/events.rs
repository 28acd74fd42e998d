//! `quorum events`: what happened, under the public names.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::{
    cli::{
        args::OfRun,
        command_error::Failure,
        project::{open_run, refuse, run_of},
        screen::{Screen, at_terminal, not_printed, stdout},
        writer::has_writer,
    },
    report::{
        documents::EventsDocument,
        events::{EventExpander, PublicEvent, human_line},
    },
    runtime::Missions,
    store::{Reader, RunFolder},
};
use rules::plan::Plan;

/// How often a followed journal is looked at.
const POLL: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub struct EventsArgs {
    #[command(flatten)]
    pub of: OfRun,
    /// Follow new events until the session ends
    #[arg(short, long)]
    pub follow: bool,
    /// Only events behind this number, the `seq` of the last one that is known
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub since: u64,
}

impl EventsArgs {
    fn wants(&self, event: &PublicEvent) -> bool {
        event.seq > self.since
    }
}

pub fn events(arguments: &EventsArgs, screen: &Screen) -> Result<u8, Failure> {
    let (folder, run) = run_of(&arguments.of, screen)?;
    let started = open_run(&run, |_, _| {})?.started;
    let (mut missions, plan) = Missions::of(&run, &started).map_err(refuse)?;
    if screen.is_json() {
        return document(arguments, &run, missions, &plan, screen);
    }
    let mut expander = EventExpander::new(&plan);
    let mut reader = Reader::open(&run.journal()).map_err(Failure::internal)?;
    loop {
        // Before the reading: what a writer adds until it lets go is then read.
        let live = has_writer(&folder, &run);
        let mut silent = true;
        while let Some(mut record) = reader.next_record().map_err(Failure::internal)? {
            silent = false;
            missions.complete(&mut record).map_err(refuse)?;
            let events = expander.expand(record.seq, record.at, &record.events);
            for event in events.into_iter().filter(|event| arguments.wants(event)) {
                if let Err(error) = print(&event, screen) {
                    return not_printed(error);
                }
            }
        }
        if !arguments.follow || (!live && silent) {
            return Ok(0);
        }
        std::thread::sleep(POLL);
        // A reader that met the end has seen what may be half a line: begin again behind the last whole one.
        let end = reader.end();
        reader = Reader::open_at(&run.journal(), end).map_err(Failure::internal)?;
    }
}

/// All events so far as one document.
fn document(
    arguments: &EventsArgs,
    run: &RunFolder,
    mut missions: Missions,
    plan: &Arc<Plan>,
    screen: &Screen,
) -> Result<u8, Failure> {
    if arguments.follow {
        return Err(usage!("a document has an end, and what is followed has none")
            .help("follow with --format jsonl, or leave out --follow"));
    }
    let mut expander = EventExpander::new(plan);
    let mut reader = Reader::open(&run.journal()).map_err(Failure::internal)?;
    let mut events = Vec::new();
    while let Some(mut record) = reader.next_record().map_err(Failure::internal)? {
        missions.complete(&mut record).map_err(refuse)?;
        let told = expander.expand(record.seq, record.at, &record.events);
        events.extend(told.into_iter().filter(|event| arguments.wants(event)));
    }
    screen.document(&EventsDocument { run_id: run.id(), events: &events });
    Ok(0)
}

fn print(event: &PublicEvent, screen: &Screen) -> io::Result<()> {
    let mut out = stdout()?;
    if screen.is_jsonl() {
        let mut out = at_terminal(&mut out);
        serde_json::to_writer(&mut out, event)?;
        out.write_all(b"\n")
    } else {
        writeln!(out, "{}", human_line(event, &screen.out()))
    }
}
