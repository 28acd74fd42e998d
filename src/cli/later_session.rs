//! A later session of a run, for commands that go on with it: it is opened, vouched for, and given what it lacks.

use crate::{
    report::documents::RunDocument,
    runtime::{
        ApplyError, Recovered, adopt, missing_files, operator_key, state_base, supervisors, vouch_for,
    },
    store::{FsLog, Journal, RunFolder, StateFolder},
};
use rules::{
    domain::TaskId,
    engine::{self, Fact, LaterSession, RULES, State},
    plan::RunOptions,
};

use super::args::SessionFlags;
use super::command_error::Failure;
use super::operator_client::{apply_failure, refuse_agents};
use super::project::{open_run, refuse};
use super::reports::{Reports, exit_code, tell_delivery};
use super::screen::{LiveView, Screen};
use super::session::{
    make_workspace, refuse_unpriced, resolve_programs, run_session, supervisor_ref, try_confinement,
};

/// Opens a run to go on with it, and says what is to be known of its record. The lock is held.
pub fn open_later(run: &RunFolder, screen: &Screen) -> Result<(Recovered, LiveView), Failure> {
    let mut view = LiveView::default();
    let recovered = open_run(run, |state, record| view.take(state, record))?;
    refuse_the_runs_own(run, &recovered)?;
    tell_what_is_cut_off(run, &recovered, screen);
    Ok((recovered, view))
}

/// The options of a run that hold for its next session, before anybody says more.
pub fn later_options(folder: &StateFolder, recovered: &Recovered) -> RunOptions {
    let mut options = recovered.state.options.clone();
    options.forget_session();
    options.state_base = state_base(folder);
    options
}

/// A later session that nothing has refused yet.
pub struct LaterWork<'a> {
    pub run: &'a RunFolder,
    pub recovered: Recovered,
    pub options: RunOptions,
    /// Whether accepted work is merged, whatever became of it before.
    pub delivers: bool,
    pub flags: &'a SessionFlags,
}

impl LaterWork<'_> {
    /// Runs the session, below this supervisor. Returns the exit code.
    pub fn begin(
        self,
        (mut supervisor, view): (supervisor::Handle, LiveView),
        reports: &Reports,
        screen: &Screen,
    ) -> Result<u8, Failure> {
        let Self { run, mut recovered, options, delivers, flags } = self;
        recovered.replan(&options).map_err(refuse)?;
        refuse_unpriced(&recovered.state)?;
        refuse_lost_folder(&recovered.state)?;
        refuse_missing_files(&recovered.state)?;
        let programs = resolve_programs(&recovered.state, &options, run.id())?;
        let unconfined = try_confinement(&mut supervisor, &recovered.state, &options)?;
        make_workspace(&recovered.state.plan.rules.workspace)?;

        let io = |error| internal!("cannot write {}: {error}", run.journal().display());
        // Last of what may fail: as long as nobody takes the turns over, they go on below their supervisor.
        let mut keeping = adopt(run, &recovered, supervisor)
            .map_err(|error| apply_failure(ApplyError::StillRuns(error)))?;
        (keeping.adopted.warnings).extend(recovered.unsaid.map(str::to_owned));
        let mission = recovered.started.mission_path.clone();
        let state = recovered.state;
        let file = FsLog::open(&run.journal(), recovered.end.offset).map_err(io)?;
        let journal = Journal::new(file, &run.journal(), recovered.end);
        let input = Fact::Resume(Box::new(LaterSession {
            options,
            supervisor: supervisor_ref(&keeping.supervisor),
            rules: RULES,
            kept: keeping.adopted.turns(),
            last: recovered.worked_last,
            delivers,
        }));
        reports.clear()?;
        let watchers = screen.watch(run, true, flags, programs.places.clone(), view);
        let ending = run_session(
            run,
            state,
            journal,
            keeping,
            programs,
            watchers.observers,
            (input, None, mission, unconfined),
        )
        .map_err(|failure| reports.after_failure(run, failure, screen))?;
        Ok(reports.finish(run, ending, watchers.view, screen))
    }
}

/// Vouches for a run that this machine's key knows nothing of, from here on in the name of whoever resumes it.
pub fn vouch(run: &RunFolder, trusts: bool) -> Result<(), Failure> {
    let by_agent = refuse_agents();
    if !trusts && (operator_key().is_some() || by_agent.is_err()) {
        return Ok(());
    }
    by_agent?;
    vouch_for(run).map_err(apply_failure)
}

/// A run in which nothing is left to do is reported once more, below these words.
pub fn tell_again(
    (run, state): (&RunFolder, &State),
    view: LiveView,
    words: &str,
    reports: &Reports,
    screen: &Screen,
) -> Result<u8, Failure> {
    // What it ended with says nothing of a folder in which its work is not.
    refuse_missing_files(state)?;
    screen.error(words);
    let view = view.into_view(state);
    let outcome = engine::outcome(state);
    let document = RunDocument::of_session(state, &view, Some(&outcome));
    screen.report(&document);
    tell_delivery(state, screen);
    let reported = reports.write(run, &document, screen);
    Ok(exit_code(outcome.class.exit_code(), reported))
}

/// A folder that is gone is not made anew: the work that was done in it is not there.
pub fn refuse_lost_folder(state: &State) -> Result<(), Failure> {
    let folder = &state.options.mission_folder;
    if folder.is_dir() {
        return Ok(());
    }
    let from = state.moved_from.as_ref();
    let from =
        from.map_or_else(String::new, |from| format!("; the state was carried here from {}", from.display()));
    Err(environment!("the folder of the mission, {}, is not there{from}", folder.display()).help(
        "bring the mission's folder and its workspace with the state, or start a new run with `quorum run`",
    ))
}

/// Refuses to resume to processes that the run itself started: the session gets a new supervisor, on which
/// people's words depend.
fn refuse_the_runs_own(run: &RunFolder, recovered: &Recovered) -> Result<(), Failure> {
    if supervisor::is_of_the_run(run.id().as_str(), &supervisors(recovered)) {
        return Err(environment!(
            "run {} cannot be resumed by what it has started itself, nor from a namespace of processes without its own /proc",
            run.id()
        )
        .help("a person, or a process outside of the run, must resume it"));
    }
    Ok(())
}

/// Accepted work must be there before anything is built on it.
pub fn refuse_missing_files(state: &State) -> Result<(), Failure> {
    const NAMED: usize = 10;
    let missing = missing_files(state);
    if missing.is_empty() {
        return Ok(());
    }
    let name = |(id, path): &(TaskId, String)| format!("{path} (task '{}')", state.plan.title(*id));
    let mut names: Vec<String> = missing.iter().take(NAMED).map(name).collect();
    if missing.len() > NAMED {
        names.push(format!("{} more", missing.len() - NAMED));
    }
    let workspace = state.plan.rules.workspace.display();
    Err(environment!("files of accepted work are not in the workspace {workspace}: {}", names.join(", "))
        .help("restore the workspace, or do these tasks again: `quorum resume --reopen`"))
}

fn tell_what_is_cut_off(run: &RunFolder, recovered: &Recovered, screen: &Screen) {
    if let Some(torn) = recovered.torn {
        screen.error(&format!(
            "note: {torn} bytes of an interrupted write were cut off {}\n",
            run.journal().display()
        ));
    }
    if let Some(note) = recovered.unsaid {
        screen.error(&format!("note: {note}\n"));
    }
}
