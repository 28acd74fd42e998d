//! `quorum run`: validate, run, judge, report.

use anyhow::anyhow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;

use crate::domain::{Digest, RunId, Timestamp};
use crate::engine::{FORMAT, Input, KeeperRef, RunStarted, State};
use crate::keeper;
use crate::mission::{self, Loaded, Plan, RunOptions, Source, later_keys};
use crate::runtime::{layers_of, recover, unfinished_runs};
use crate::store::{FsLog, Journal, JournalEnd, Lock, LockError, RunFolder, StateFolder, replace_file};

use super::args::{Run, RunFlags};
use super::failure::Failure;
use super::plan::plan;
use super::project::{current_dir, refuse, state_folder};
use super::reports::Reports;
use super::screen::{LiveView, Screen};
use super::session::{
    drive, fork_keeper, keeper_ref, lay_over, make_workspace, options_with_config, resolve_programs,
};

pub fn run(arguments: Run, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    if arguments.flags.dry_run {
        return plan(&arguments, matches, screen);
    }
    // First of all, while there is one thread, little memory and no lock.
    let keeper = fork_keeper()?;
    let mut options = options_with_config()?;
    lay_over(&mut options, &arguments.flags.session, matches)?;
    options.mission_folder = mission_folder(&arguments.mission)?;

    let source = Source::read(&arguments.mission).map_err(Failure::mission)?;
    let loaded = load(&source, &options, screen)?;
    let state = State::new(Arc::new(mission::compile(loaded.mission, &options)));
    let programs = resolve_programs(&state, &options)?;
    let reports = Reports::of_session(&arguments.flags.session.reports)?;

    let folder = state_folder(screen.output())?;
    folder.create().map_err(Failure::environment)?;
    let id = arguments
        .flags
        .run_id
        .clone()
        .map_or_else(|| new_run_id(&folder), Ok)?;
    let _lock = lock(&folder, "quorum run", &id)?;
    clear_the_way(&folder, &state.plan, &arguments.flags, screen)?;
    make_workspace(&state.plan.rules.workspace)?;

    let run = folder.run(&id);
    run.create()
        .map_err(|error| Failure::environment(anyhow!("cannot make the run: {error}")))?;
    let io = |error| Failure::internal(anyhow!("cannot write {}: {error}", run.path().display()));
    replace_file(&run.mission(), &source.bytes).map_err(io)?;
    let file = FsLog::open(&run.journal(), 0).map_err(io)?;
    crate::store::sync_parent(&run.journal()).map_err(io)?;
    let journal = Journal::new(file, &run.journal(), JournalEnd::START);
    let started = RunStarted {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        run_id: id.clone(),
        mission_digest: Digest::of(&source.bytes),
        mission_path: absolute(&arguments.mission),
        options,
        keeper: keeper_ref(&keeper),
    };
    let watchers = screen.watch(&id, &arguments.flags.session, LiveView::default());
    let first = Input::Start(Box::new(started));
    let ending = drive(&run, state, journal, keeper, programs, watchers.observers, first)
        .inspect_err(|_| reports.after_failure(&run, screen))?;
    Ok(screen.finish(ending, watchers.view, &reports))
}

/// Loads a mission for a run: what is not built yet is an error here.
pub fn load(source: &Source, options: &RunOptions, screen: &Screen) -> Result<Loaded, Failure> {
    let layers = layers_of(options).map_err(Failure::mission)?;
    let loaded = mission::load(source, &layers).map_err(Failure::mission)?;
    let later = later_keys(&loaded);
    if !later.is_empty() {
        return Err(Failure::mission(mission::Report {
            diagnostics: later,
            more: 0,
        }));
    }
    if !loaded.notes.diagnostics.is_empty() && !screen.is_json() {
        screen.error(&loaded.notes.render(screen.diagnostics()));
    }
    Ok(loaded)
}

/// Where a mission's relative paths begin: beside its file; the current folder for standard input.
pub fn mission_folder(mission: &Path) -> Result<PathBuf, Failure> {
    match absolute(mission).as_deref().and_then(Path::parent) {
        Some(folder) => Ok(folder.to_owned()),
        None => current_dir(),
    }
}

/// The absolute path of a mission file; `None` for standard input.
fn absolute(mission: &Path) -> Option<PathBuf> {
    if mission.as_os_str() == "-" {
        None
    } else {
        std::path::absolute(mission).ok()
    }
}

/// Ids sort by start time; the digits at the end keep apart what starts in the same second.
fn new_run_id(folder: &StateFolder) -> Result<RunId, Failure> {
    let now = Timestamp::now();
    let seconds: String = now
        .to_rfc3339()
        .chars()
        .take(19)
        .filter(char::is_ascii_alphanumeric)
        .collect();
    (0..1000)
        .map(|n| (now.0 + n) % 1000)
        .filter_map(|n| RunId::new(format!("{}-{}-{n:03}", &seconds[..8], &seconds[9..])).ok())
        .find(|id| !folder.run(id).path().exists())
        .ok_or_else(|| {
            Failure::environment(anyhow!(
                "no free run id: a thousand runs were started in this second"
            ))
        })
}

/// Takes the lock of the state folder, or says who has it.
pub fn lock(folder: &StateFolder, command: &str, run: &RunId) -> Result<Lock, Failure> {
    Lock::take(&folder.lock_path(), command, Some(run)).map_err(|error| match error {
        LockError::Held { .. } => held(error),
        LockError::Io { .. } => Failure::environment(error),
    })
}

/// Somebody else writes.
pub fn held(error: LockError) -> Failure {
    Failure::environment(error).help("wait until it ends, or use a state folder of its own with --state-dir")
}

/// A title may be active in one unfinished run only; `--fresh` cancels the runs in the way.
fn clear_the_way(
    folder: &StateFolder,
    plan: &Plan,
    flags: &RunFlags,
    screen: &Screen,
) -> Result<(), Failure> {
    let in_the_way = unfinished_runs(folder, plan).map_err(refuse)?;
    if flags.fresh {
        for unfinished in in_the_way {
            cancel(&unfinished.run)?;
            screen.error(&format!(
                "run {} was cancelled to make way (--fresh)\n",
                unfinished.id()
            ));
        }
        return Ok(());
    }
    match in_the_way.first() {
        None => Ok(()),
        Some(unfinished) => Err(Failure::environment(anyhow!(
            "task '{}' is still active in the unfinished run {}",
            unfinished.title,
            unfinished.id()
        ))
        .help(format!(
            "`quorum resume {}` continues that run, `quorum run --fresh …` cancels it and starts this one",
            unfinished.id()
        ))),
    }
}

/// Calls off an unfinished run: what is not terminal fails, mode cancelled.
fn cancel(run: &RunFolder) -> Result<(), Failure> {
    let recovered = recover(run, |_, _| {}).map_err(refuse)?;
    end_old_keeper(&recovered.keeper)?;
    let mut state = recovered.state;
    let io = |error| Failure::internal(anyhow!("cannot write {}: {error}", run.journal().display()));
    let file = FsLog::open(&run.journal(), recovered.end.offset).map_err(io)?;
    let mut journal = Journal::new(file, &run.journal(), recovered.end);
    let inputs = [
        Input::Cancel {
            reason: "cancelled by `quorum run --fresh`".to_owned(),
            keeper: KeeperRef::default(),
        },
        Input::Advance,
    ];
    for input in inputs {
        let now = Timestamp::now();
        let events = crate::engine::decide(&state, &input, now);
        journal
            .push(now, input.name(), &events)
            .map_err(Failure::internal)?;
        events
            .iter()
            .for_each(|event| crate::engine::apply(&mut state, event));
    }
    journal.commit().map_err(Failure::internal)
}

/// Makes sure that nothing of an earlier session still runs: its keeper is recognised by boot, pid and start time.
pub fn end_old_keeper(keeper: &KeeperRef) -> Result<(), Failure> {
    if keeper.pid == 0 {
        return Ok(());
    }
    let identity = keeper::ProcessIdentity {
        pid: keeper.pid,
        start_time: keeper.start_time,
        boot_id: keeper.boot_id.clone(),
    };
    keeper::end(&identity, std::time::Duration::from_secs(10)).map_err(|error| {
        Failure::environment(anyhow!(
            "processes of the earlier session still run and cannot be ended: {error}"
        ))
    })
}
