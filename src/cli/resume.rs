//! `quorum resume`: continue a run from its journal.

use std::collections::HashSet;

use anyhow::anyhow;
use clap::{ArgMatches, Args};

use crate::domain::{Digest, RunId, Status, TaskId};
use crate::engine::{Input, State};
use crate::runtime::{Recovered, TellError, adopt, tell, unfinished_with};
use crate::store::{FsLog, Journal, RunFolder, StateFolder};

use super::args::SessionFlags;
use super::failure::Failure;
use super::operate::{refuse_agents, told};
use super::project::{find_run, open_run, refuse, state_folder};
use super::reports::{Reports, exit_code};
use super::run::lock;
use super::screen::{LiveView, Screen};
use super::session::{drive, fork_keeper, keeper_ref, lay_over, make_workspace, resolve_programs};

#[derive(Debug, Args)]
pub struct Resume {
    /// The run [default: the latest]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
    /// Try failed tasks again, with full allowances, and what failed only because they did
    #[arg(long)]
    pub retry_failed: bool,
    /// Do a done task again (repeatable), with everything that was built on it and the gates over it
    #[arg(long, value_name = "TASK")]
    pub redo: Vec<String>,
    #[command(flatten)]
    pub flags: SessionFlags,
}

pub fn resume(arguments: &Resume, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let keeper = fork_keeper()?;
    let reports = Reports::of_session(&arguments.flags.reports)?;
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let _lock = lock(&folder, "quorum resume", run.id())?;
    begin_again(&folder, &run, arguments)?;
    let mut view = LiveView::default();
    let mut recovered = open_run(&run, |state, record| view.take(state, record))?;
    if let Some(torn) = recovered.torn {
        screen.error(&format!(
            "note: {torn} bytes of an interrupted write were cut off {}\n",
            run.journal().display()
        ));
    }
    if recovered.finished.is_some() && !recovered.state.is_unfinished() {
        screen.error(&format!(
            "run {} has ended; there is nothing to resume\n",
            run.id()
        ));
        let view = view.into_view(&recovered.state);
        let outcome = crate::engine::outcome(&recovered.state);
        let reported = reports.write(&run, &recovered.state, &view, Some(&outcome), screen);
        screen.report(&recovered.state, &view);
        return Ok(exit_code(outcome.class.exit_code(), reported));
    }
    refuse_changed_mission(&run, &recovered)?;

    let mut options = recovered.state.options.clone();
    lay_over(&mut options, &arguments.flags, matches)?;
    recovered.replan(&run, &options).map_err(refuse)?;
    let programs = resolve_programs(&recovered.state, &options)?;
    make_workspace(&recovered.state.plan.rules.workspace)?;

    let io = |error| Failure::internal(anyhow!("cannot write {}: {error}", run.journal().display()));
    // Last of what may fail: as long as nobody takes the turns over, they go on below their keeper.
    let keeping = adopt(&run, &recovered, keeper).map_err(|error| told(TellError::StillRuns(error)))?;
    let state = recovered.state;
    let file = FsLog::open(&run.journal(), recovered.end.offset).map_err(io)?;
    let journal = Journal::new(file, &run.journal(), recovered.end);
    let input = Input::Resume {
        options: Box::new(options),
        keeper: keeper_ref(&keeping.keeper),
        kept: keeping.adopted.turns(),
    };
    let watchers = screen.watch(&run, &arguments.flags, programs.places(&state), view);
    let ending = drive(&run, state, journal, keeping, programs, watchers.observers, input)
        .inspect_err(|_| reports.after_failure(&run, screen))?;
    Ok(screen.finish(&run, ending, watchers.view, &reports))
}

/// Withdraws what is to be done once more. It is durable before the session begins, which then finds it pending.
fn begin_again(folder: &StateFolder, run: &RunFolder, arguments: &Resume) -> Result<(), Failure> {
    if !arguments.retry_failed && arguments.redo.is_empty() {
        return Ok(());
    }
    refuse_agents()?;
    let recovered = open_run(run, |_, _| {})?;
    refuse_changed_mission(run, &recovered)?;
    let state = &recovered.state;
    let redone = arguments.redo.iter().map(|title| done_task(state, title));
    let redone: Vec<TaskId> = redone.collect::<Result<_, _>>()?;
    refuse_active_titles(folder, run, state)?;
    let mut inputs: Vec<Input> = redone.into_iter().map(Input::Redo).collect();
    if arguments.retry_failed {
        inputs.insert(0, Input::RetryFailed);
    }
    tell(run, &inputs).map_err(told).map(|_| ())
}

fn done_task(state: &State, title: &str) -> Result<TaskId, Failure> {
    let found = state
        .plan
        .task_ids()
        .find(|id| &*state.plan.task(*id).title == title);
    let Some(id) = found else {
        return Err(Failure::usage(anyhow!("this run has no task '{title}'"))
            .help("`quorum status` shows the tasks of the run"));
    };
    match state.task(id).status {
        Status::Done => Ok(id),
        Status::Failed => Err(
            Failure::usage(anyhow!("task '{title}' failed; only done work can be redone"))
                .help("`quorum resume --retry-failed` tries failed tasks again"),
        ),
        other => Err(Failure::usage(anyhow!(
            "task '{title}' is {}; only done work can be redone",
            other.as_str()
        ))),
    }
}

/// What becomes active again must not be active in another unfinished run.
fn refuse_active_titles(folder: &StateFolder, run: &RunFolder, state: &State) -> Result<(), Failure> {
    let ended = state.plan.tasks.iter().zip(&state.tasks);
    let ended = ended.filter(|(_, task)| task.status.is_terminal());
    let titles: HashSet<&str> = ended.map(|(plan, _)| &*plan.title).collect();
    let in_the_way = unfinished_with(folder, &titles).map_err(refuse)?;
    match in_the_way.iter().find(|other| other.id() != run.id()) {
        None => Ok(()),
        Some(other) => Err(Failure::environment(anyhow!(
            "task '{}' is active in the unfinished run {}",
            other.title,
            other.id()
        ))
        .help(format!("end that run first: `quorum resume {}`", other.id()))),
    }
}

/// A mission that was edited since the run started is another mission.
fn refuse_changed_mission(run: &RunFolder, recovered: &Recovered) -> Result<(), Failure> {
    let Some(path) = &recovered.started.mission_path else {
        return Ok(());
    };
    // A file that is gone says nothing: the frozen copy is what was started.
    let Ok(bytes) = std::fs::read(path) else {
        return Ok(());
    };
    if Digest::of(&bytes) == recovered.started.mission_digest {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "{} was changed since run {} started",
        path.display(),
        run.id()
    ))
    .help(format!(
        "compare it with {}; undo the change to resume, or start anew with `quorum run --fresh {}`",
        run.mission().display(),
        path.display()
    )))
}
