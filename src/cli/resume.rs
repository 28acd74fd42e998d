//! `quorum resume`: continue a run from its journal.

use anyhow::anyhow;
use clap::ArgMatches;

use crate::domain::Digest;
use crate::engine::Input;
use crate::runtime::Recovered;
use crate::store::{FsLog, Journal, RunFolder};

use super::args::Resume;
use super::failure::Failure;
use super::project::{find_run, open_run, refuse, state_folder};
use super::reports::{Reports, exit_code};
use super::run::{end_old_keeper, lock};
use super::screen::{LiveView, Screen};
use super::session::{drive, fork_keeper, keeper_ref, lay_over, make_workspace, resolve_programs};

pub fn resume(arguments: &Resume, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let keeper = fork_keeper()?;
    let reports = Reports::of_session(&arguments.flags.reports)?;
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let _lock = lock(&folder, "quorum resume", run.id())?;
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
        let reported = reports.write(&recovered.state, &view, Some(&outcome), screen);
        screen.report(&recovered.state, &view);
        return Ok(exit_code(outcome.class.exit_code(), reported));
    }
    refuse_changed_mission(&run, &recovered)?;
    end_old_keeper(&recovered.keeper)?;

    let mut options = recovered.state.options.clone();
    lay_over(&mut options, &arguments.flags, matches)?;
    recovered.replan(&run, &options).map_err(refuse)?;
    let state = recovered.state;
    let programs = resolve_programs(&state, &options)?;
    make_workspace(&state.plan.rules.workspace)?;

    let io = |error| Failure::internal(anyhow!("cannot write {}: {error}", run.journal().display()));
    let file = FsLog::open(&run.journal(), recovered.end.offset).map_err(io)?;
    let journal = Journal::new(file, &run.journal(), recovered.end);
    let input = Input::Resume {
        options: Box::new(options),
        keeper: keeper_ref(&keeper),
    };
    let watchers = screen.watch(run.id(), &arguments.flags, view);
    let ending = drive(&run, state, journal, keeper, programs, watchers.observers, input)
        .inspect_err(|_| reports.after_failure(&run, screen))?;
    Ok(screen.finish(ending, watchers.view, &reports))
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
