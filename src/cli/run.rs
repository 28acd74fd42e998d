//! `quorum run`: validate, run, judge, report.

use anyhow::anyhow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;

use crate::domain::{Digest, RunId, Timestamp};
use crate::engine::{Command, FORMAT, Fact, OperatorInput, RunStarted, State};
use crate::mission::model::CommandLine;
use crate::mission::{self, AgentPlan, Loaded, Plan, RunOptions, Source};
use crate::report::forewarning::{GivenThreshold, forewarnings};
use crate::report::sanitize;
use crate::runtime::{
    Ending, Keeping, Observer, Programs, Unfinished, below, code_of_start, layers_of, next_start, state_base,
    tell, unfinished_runs,
};
use crate::store::{
    FsLog, Journal, JournalEnd, Lock, LockError, OperatorKey, RunFolder, StateFolder, replace_file,
};
use crate::supervisor;

use super::args::{Run, RunFlags};
use super::confirm::{can_ask, confirm};
use super::failure::Failure;
use super::operator_client::{OPERATOR, told};
use super::plan::plan;
use super::project::{WRITABLE, current_dir, open_run, refuse, state_folder, unusable};
use super::reports::Reports;
use super::screen::{LiveView, Screen};
use super::session::{
    drive, fork_supervisor, lay_over, make_workspace, options_with_config, refuse_unpriced, resolve_programs,
    supervisor_ref,
};

/// How long a session waits for an operator's command to be done.
const OPERATOR_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

pub fn run(arguments: Run, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    if arguments.flags.dry_run {
        return plan(&arguments, matches, screen);
    }
    // First of all, while there is one thread, little memory and no lock.
    let supervisor = fork_supervisor()?;
    let mut options = options_with_config()?;
    lay_over(&mut options, &arguments.flags.session, matches)?;
    options.mission_folder = mission_folder(&arguments.mission)?;

    let source = Source::read(&arguments.mission).map_err(Failure::mission)?;
    let loaded = load(&source, &options, screen)?;
    let state = State::new(Arc::new(selected_plan(
        loaded,
        &mut options,
        &arguments.flags.only,
    )?));
    refuse_unpriced(&state)?;
    forewarn(&state, &options, screen);
    let folder = state_folder(screen.output())?;
    let id = arguments
        .flags
        .run_id
        .clone()
        .map_or_else(|| new_run_id(&folder), Ok)?;
    let programs = resolve_programs(&state, &options, &id)?;
    let reports = Reports::of_session(&arguments.flags.session.reports)?;

    folder.create().map_err(unusable)?;
    options.state_base = state_base(&folder);
    options.mission_folder = below(options.state_base.as_deref(), options.mission_folder);
    let _lock = lock(&folder, "quorum run", &id)?;
    clear_the_way(&folder, &state.plan, &arguments.flags, screen)?;
    make_workspace(&state.plan.rules.workspace)?;

    let run = folder.run(&id);
    let places = programs.places(&state);
    let watchers = screen.watch(&run, true, &arguments.flags.session, places, LiveView::default());
    let launch = Launch {
        run,
        mission: &source.bytes,
        mission_path: absolute(&arguments.mission),
        options,
        state,
        programs,
        supervisor,
        observers: watchers.observers,
        reports: Some(&reports),
    };
    let ending = launch
        .go()
        .map_err(|failure| reports.after_failure(&folder.run(&id), failure, screen))?;
    Ok(screen.finish(&folder.run(&id), ending, watchers.view, &reports))
}

/// Says what is known beforehand: to what a given threshold applies, and what cannot work.
fn forewarn(state: &State, options: &RunOptions, screen: &Screen) {
    if let Some(given) = GivenThreshold::of(state).filter(|given| given.reviews > 0 && !screen.output().quiet)
    {
        screen.error(&format!("note: {}\n", given.words()));
    }
    for warning in forewarnings(state)
        .into_iter()
        .chain(missing_scripts(state, options))
    {
        screen.error(&format!("warning: {}\n", sanitize(&warning)));
    }
}

/// What interpreters may be called, where a script follows.
const INTERPRETERS: [&str; 9] = [
    "sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl",
];

/// Scripts that agents name behind an interpreter and that are not there. Only the program itself is looked for beside the
/// mission file; what follows is for the interpreter, which starts in the workspace.
fn missing_scripts(state: &State, options: &RunOptions) -> Vec<String> {
    let workspace = &state.plan.rules.workspace;
    let missing = |agent: &AgentPlan| {
        let Some(CommandLine::Argv(line)) = &agent.spec.run else {
            return None;
        };
        let [program, script, ..] = line.as_slice() else {
            return None;
        };
        let name = Path::new(program).file_name()?.to_str()?;
        let is_path = !script.starts_with('-') && !script.contains('{') && script.contains(['/', '.']);
        if !INTERPRETERS.contains(&name) || !is_path || workspace.join(script).exists() {
            return None;
        }
        let help = match options.mission_folder.join(script).is_file() {
            true => format!("; it is beside the mission file, so `run: [{script}]` finds it"),
            false => String::new(),
        };
        let (agent, place) = (&agent.name, workspace.display());
        Some(format!(
            "agent '{agent}': there is no `{script}` in the workspace {place}{help}"
        ))
    };
    state.plan.agents.iter().filter_map(missing).collect()
}

/// A run that is ready to begin, in a state folder that is locked and clear.
pub struct Launch<'a> {
    pub run: RunFolder,
    /// The mission's bytes, to be frozen.
    pub mission: &'a [u8],
    /// Where they came from; `None` for standard input.
    pub mission_path: Option<PathBuf>,
    pub options: RunOptions,
    pub state: State,
    pub programs: Programs,
    pub supervisor: supervisor::Handle,
    pub observers: Vec<Box<dyn Observer>>,
    /// Earlier ones are removed once nothing can refuse the run any more.
    pub reports: Option<&'a Reports>,
}

impl Launch<'_> {
    /// Makes the run's folder, freezes the mission, opens the journal and runs the first session.
    pub fn go(self) -> Result<Ending, Failure> {
        let run = self.run;
        run.create().map_err(|error| {
            let failure = Failure::environment(anyhow!("cannot make the run: {error}"));
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => failure,
                _ => failure.help(WRITABLE),
            }
        })?;
        let io = |error| Failure::internal(anyhow!("cannot write {}: {error}", run.path().display()));
        replace_file(&run.mission(1), self.mission).map_err(io)?;
        let key = OperatorKey::existing_or_new().ok();
        let begins = next_start(&run.state_folder(), key.as_ref());
        let mission_digest = Digest::of(self.mission);
        let file = FsLog::open(&run.journal(), 0).map_err(io)?;
        crate::store::sync_parent(&run.journal()).map_err(io)?;
        let journal = Journal::new(file, &run.journal(), JournalEnd::START);
        if let Some(reports) = self.reports {
            reports.clear()?;
        }
        let mission = self.mission_path.clone();
        let started = RunStarted {
            format: FORMAT,
            rules: crate::engine::RULES,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: run.id().clone(),
            mission_digest,
            mission_path: self.mission_path,
            options: self.options,
            supervisor: supervisor_ref(&self.supervisor),
            origin: key.map(|key| code_of_start(&key, run.id(), begins, mission_digest)),
        };
        let first = Fact::Start(Box::new(started));
        drive(
            &run,
            self.state,
            journal,
            Keeping::fresh(self.supervisor),
            self.programs,
            self.observers,
            (first, Some(begins), mission),
        )
    }
}

/// Loads a mission for a run, and says what is to be noted of it.
pub fn load(source: &Source, options: &RunOptions, screen: &Screen) -> Result<Loaded, Failure> {
    let layers = layers_of(options).map_err(Failure::mission)?;
    let loaded = mission::load(source, &layers).map_err(Failure::mission)?;
    if !loaded.notes.diagnostics.is_empty() && !screen.is_json() {
        screen.error(&loaded.notes.render(screen.diagnostics()));
    }
    Ok(loaded)
}

/// The plan of what `--only` selects, with its titles in the options; of all tasks without it.
pub fn selected_plan(loaded: Loaded, options: &mut RunOptions, only: &[String]) -> Result<Plan, Failure> {
    super::finish_gate::freeze(&loaded.mission, options)?;
    if only.is_empty() {
        return Ok(mission::compile(loaded.mission, options));
    }
    let whole = mission::compile(loaded.mission.clone(), options);
    options.only = mission::named_tasks(&whole, only).map_err(|unknown| {
        // `--only` takes all words up to the next flag.
        let help = match Path::new(&unknown.title).is_file() {
            true => "write the mission before the flag: `quorum run MISSION --only TASK`".to_owned(),
            false => unknown.help.clone(),
        };
        Failure::usage(unknown).help(help)
    })?;
    Ok(mission::compile(loaded.mission, options))
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
pub fn new_run_id(folder: &StateFolder) -> Result<RunId, Failure> {
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
    let begin = std::time::Instant::now();
    let taken = loop {
        match Lock::take(&folder.lock_path(), command, Some(run)) {
            // Somebody answers an approval or the like: that takes a moment and is no session in the way.
            Err(LockError::Held {
                holder: Some(holder), ..
            }) if holder.command == OPERATOR && begin.elapsed() < OPERATOR_PATIENCE => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            taken => break taken,
        }
    };
    taken.map_err(|error| match error {
        LockError::Held { .. } => held(error),
        LockError::Io { .. } => Failure::environment(error).help(WRITABLE),
    })
}

/// Somebody else writes.
pub fn held(error: LockError) -> Failure {
    let elsewhere = match &error {
        LockError::Held { holder, .. } => holder.as_ref().filter(|holder| !holder.is_here()),
        LockError::Io { .. } => None,
    };
    let help = match elsewhere {
        Some(holder) => format!(
            "it works on another machine, {}, in the same folder: wait until it ends or end it there, or use a state \
             folder of its own with --state-dir",
            holder.host
        ),
        None => "wait until it ends, or use a state folder of its own with --state-dir".to_owned(),
    };
    Failure::environment(error).help(help)
}

/// A title may be active in one unfinished run only; `--fresh` cancels the runs in the way.
fn clear_the_way(
    folder: &StateFolder,
    plan: &Plan,
    flags: &RunFlags,
    screen: &Screen,
) -> Result<(), Failure> {
    let in_the_way = unfinished_runs(folder, plan).map_err(refuse)?;
    // Who sits at a terminal decides at once, instead of typing the command once more.
    let is_asked = !flags.fresh && !in_the_way.is_empty() && can_ask(screen) && !screen.output().yes;
    if is_asked && let Some(unfinished) = in_the_way.first() {
        screen.error(&format!(
            "task '{}' is still active in the unfinished run {}\n",
            unfinished.title,
            unfinished.id()
        ));
    }
    if flags.fresh || is_asked {
        if let Some(unfinished) = in_the_way.first() {
            let more = match in_the_way.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let question = format!("cancel the unfinished run {}{more}?", unfinished.id());
            confirm(screen, &question, "add --yes to cancel it without a question")?;
        }
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
            "task '{}' is still active in the unfinished run {}{}",
            unfinished.title,
            unfinished.id(),
            if agents_work_on(unfinished)? {
                ", whose agents are still at work"
            } else {
                ""
            }
        ))
        .help(format!(
            "`quorum resume {}` continues that run, `quorum run --fresh …` cancels it and starts this one",
            unfinished.id()
        ))),
    }
}

/// Whether agents of a run outlived its session.
fn agents_work_on(unfinished: &Unfinished) -> Result<bool, Failure> {
    let recovered = open_run(&unfinished.run, |_, _| {})?;
    Ok(!recovered.left().at_work().is_empty())
}

/// Calls off an unfinished run: what is not terminal fails, mode cancelled.
fn cancel(run: &RunFolder) -> Result<(), Failure> {
    let input = Fact::Operator(Box::new(OperatorInput {
        id: None,
        command: Command::CancelRun,
        by: "`quorum run --fresh`".to_owned(),
    }));
    tell(run, &[input]).map_err(told).map(|_| ())
}
