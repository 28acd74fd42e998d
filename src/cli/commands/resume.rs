//! `quorum resume`: continue a run from its journal.

use std::collections::BTreeSet;

use clap::{ArgMatches, Args};

use crate::{
    cli::{
        active_titles::refuse_active_titles,
        args::{OfRun, SessionFlags, Trust},
        changed_mission::ChangedMission,
        command_error::Failure,
        lock::lock,
        operator_client::{apply_failure, refuse_agents, refuse_without_a_person},
        options::apply_flags,
        project::{open_run, refuse, trusted_run},
        reports::{Reports, exit_code, tell_delivery},
        screen::{LiveView, Screen},
        session::{
            fork_supervisor, make_workspace, refuse_unpriced, resolve_programs, run_session, supervisor_ref,
            try_confinement,
        },
    },
    report::documents::RunDocument,
    runtime::{
        ApplyError, Recovered, adopt, apply_offline, missing_files, operator_key, state_base, supervisors,
        vouch_for,
    },
    store::{FsLog, Journal, RunFolder, StateFolder},
};
use rules::{
    domain::{FailureMode, Status, TaskId, Timestamp, is_same_name},
    engine::{self, Fact, LaterSession, State},
};

#[derive(Debug, Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub of: OfRun,
    /// Try failed tasks again, with full allowances, and what failed only because they did
    #[arg(long)]
    pub retry_failed: bool,
    /// Do a done task again (repeatable), with everything that was built on it and the gates over it
    #[arg(long, value_name = "TASK")]
    pub redo: Vec<String>,
    /// Do accepted work again whose files are not there any more
    #[arg(long)]
    pub reopen: bool,
    /// Go on by the mission file as it is now, though it was changed: what it changes is done again, the rest is kept
    #[arg(long)]
    pub accept_changed_mission: bool,
    #[command(flatten)]
    pub trust: Trust,
    #[command(flatten)]
    pub flags: SessionFlags,
}

/// Refuses flags and variables that let something pass which the run, as it began, would not, where only a person may say so and
/// none is there. Nothing was written yet.
fn refuse_loosening(run: &RunFolder, arguments: &ResumeArgs, matches: &ArgMatches) -> Result<(), Failure> {
    let Err(refusal) = refuse_without_a_person(run) else {
        return Ok(());
    };
    let before = open_run(run, |_, _| {})?.state.options;
    let mut after = before.clone();
    after.forget_session();
    apply_flags(&mut after, &arguments.flags, matches)?;
    let is_loose = arguments.accept_changed_mission || arguments.trust.trust_origin;
    if is_loose || after.lets_more_pass_than(&before) { Err(refusal) } else { Ok(()) }
}

pub fn resume(arguments: &ResumeArgs, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let mut supervisor = fork_supervisor()?;
    let reports = Reports::of_session(&arguments.flags.reports)?;
    let (folder, run) = trusted_run(&arguments.of, &arguments.trust, screen)?;
    refuse_loosening(&run, arguments, matches)?;
    let _lock = lock(&folder, "quorum resume", run.id())?;
    vouch(&run, arguments.trust.trust_origin)?;
    if !arguments.flags.reports.is_empty() {
        reports.check_against(&open_run(&run, |_, _| {})?, &folder)?;
    }
    begin_again(&folder, &run, arguments, screen)?;
    if arguments.reopen {
        reopen(&folder, &run)?;
    }
    let mut view = LiveView::default();
    let mut recovered = open_run(&run, |state, record| view.take(state, record))?;
    refuse_the_runs_own(&run, &recovered)?;
    tell_what_is_cut_off(&run, &recovered, screen);
    refuse_changed_mission(&run, &recovered)?;
    reports.check_against(&recovered, &folder)?;
    // One that ended because somebody touched what it rests on ends anew, with what it rests on then.
    if recovered.finished.is_some() && !recovered.state.is_resumable() && !recovered.state.session.foreign {
        return over(&run, &recovered.state, view, &reports, screen);
    }
    let mut options = recovered.state.options.clone();
    options.forget_session();
    options.state_base = state_base(&folder);
    apply_flags(&mut options, &arguments.flags, matches)?;
    recovered.replan(&options).map_err(refuse)?;
    refuse_unpriced(&recovered.state)?;
    refuse_lost_folder(&recovered.state)?;
    refuse_missing_files(&recovered.state)?;
    let programs = resolve_programs(&recovered.state, &options, run.id())?;
    let unconfined = try_confinement(&mut supervisor, &recovered.state, &options)?;
    make_workspace(&recovered.state.plan.rules.workspace)?;

    let io = |error| internal!("cannot write {}: {error}", run.journal().display());
    // Last of what may fail: as long as nobody takes the turns over, they go on below their supervisor.
    let mut keeping =
        adopt(&run, &recovered, supervisor).map_err(|error| apply_failure(ApplyError::StillRuns(error)))?;
    (keeping.adopted.warnings).extend(recovered.unsaid.map(str::to_owned));
    let mission = recovered.started.mission_path.clone();
    let state = recovered.state;
    let file = FsLog::open(&run.journal(), recovered.end.offset).map_err(io)?;
    let journal = Journal::new(file, &run.journal(), recovered.end);
    let input = Fact::Resume(Box::new(LaterSession {
        options,
        supervisor: supervisor_ref(&keeping.supervisor),
        rules: rules::engine::RULES,
        kept: keeping.adopted.turns(),
        last: recovered.worked_last,
    }));
    reports.clear()?;
    let watchers = screen.watch(&run, true, &arguments.flags, programs.places.clone(), view);
    let ending = run_session(
        &run,
        state,
        journal,
        keeping,
        programs,
        watchers.observers,
        (input, None, mission, unconfined),
    )
    .map_err(|failure| reports.after_failure(&run, failure, screen))?;
    Ok(reports.finish(&run, ending, watchers.view, screen))
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

/// Vouches for a run that this machine's key knows nothing of, from here on in the name of whoever resumes it.
fn vouch(run: &RunFolder, trusts: bool) -> Result<(), Failure> {
    let by_agent = refuse_agents();
    if !trusts && (operator_key().is_some() || by_agent.is_err()) {
        return Ok(());
    }
    by_agent?;
    vouch_for(run).map_err(apply_failure)
}

/// A run that has ended is reported once more.
fn over(
    run: &RunFolder,
    state: &State,
    view: LiveView,
    reports: &Reports,
    screen: &Screen,
) -> Result<u8, Failure> {
    // What it ended with says nothing of a folder in which its work is not.
    refuse_missing_files(state)?;
    screen.error(&format!("run {} has ended; there is nothing to resume\n", run.id()));
    let view = view.into_view(state);
    let outcome = rules::engine::outcome(state);
    let document = RunDocument::of_session(state, &view, Some(&outcome));
    screen.report(&document);
    tell_delivery(state, screen);
    let reported = reports.write(run, &document, screen);
    Ok(exit_code(outcome.class.exit_code(), reported))
}

/// A folder that is gone is not made anew: the work that was done in it is not there.
fn refuse_lost_folder(state: &State) -> Result<(), Failure> {
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

/// Withdraws what is to be done once more. It is durable before the session begins, which then finds it pending.
fn begin_again(
    folder: &StateFolder,
    run: &RunFolder,
    arguments: &ResumeArgs,
    screen: &Screen,
) -> Result<(), Failure> {
    let withdraws = arguments.retry_failed || !arguments.redo.is_empty();
    if !withdraws && !arguments.accept_changed_mission {
        return Ok(());
    }
    refuse_agents()?;
    let recovered = open_run(run, |_, _| {})?;
    let changed = ChangedMission::of(run, &recovered);
    if let Some(changed) = changed.as_ref().filter(|_| !arguments.accept_changed_mission) {
        return Err(changed.refusal(run));
    }
    let state = &recovered.state;
    let redone = arguments.redo.iter().map(|title| done_task(state, title));
    let redone: Vec<TaskId> = redone.collect::<Result<_, _>>()?;
    if withdraws {
        let ended = state.plan.selected_ids();
        let ended = ended.filter(|id| state.task(*id).status().is_terminal());
        let titles = ended.map(|id| state.plan.title(id)).collect();
        refuse_active_titles(folder, run, &titles)?;
    }
    let mut inputs = Vec::new();
    if let Some(changed) = changed {
        inputs.push(changed.accept(folder, run, &recovered, screen)?);
    }
    if arguments.retry_failed {
        inputs.push(Fact::RetryFailed);
    }
    inputs.extend(redone.into_iter().map(Fact::Redo));
    if inputs.is_empty() {
        return Ok(());
    }
    // What would refuse the session refuses what is to be told before it, too.
    let mut after = state.clone();
    for input in &inputs {
        loop {
            let events = engine::decide(&after, input, Timestamp::now());
            events.iter().for_each(|event| engine::apply(&mut after, event));
            if events.is_empty() || !input.takes_several_records() {
                break;
            }
        }
    }
    refuse_lost_folder(&after)?;
    if !arguments.reopen {
        refuse_missing_files(&after)?;
    }
    resolve_programs(&after, &after.options, run.id())?;
    // Turns of what is withdrawn are ended when the session begins: its journal does not know them as running.
    apply_offline(run, &inputs).map_err(apply_failure).map(|_| ())
}

/// Withdraws done work whose files are not there any more. It is durable before the session begins.
fn reopen(folder: &StateFolder, run: &RunFolder) -> Result<(), Failure> {
    refuse_agents()?;
    let recovered = open_run(run, |_, _| {})?;
    let state = &recovered.state;
    let gone: BTreeSet<TaskId> = missing_files(state).into_iter().map(|(id, _)| id).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let titles = gone.iter().map(|id| state.plan.title(*id)).collect();
    refuse_active_titles(folder, run, &titles)?;
    let inputs: Vec<Fact> = gone.into_iter().map(Fact::Reopen).collect();
    apply_offline(run, &inputs).map_err(apply_failure).map(|_| ())
}

/// Accepted work must be there before anything is built on it.
fn refuse_missing_files(state: &State) -> Result<(), Failure> {
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

fn done_task(state: &State, title: &str) -> Result<TaskId, Failure> {
    let found = state.plan.task_ids().find(|id| is_same_name(state.plan.title(*id), title));
    let Some(id) = found else {
        return Err(
            usage!("this run has no task '{title}'").help("`quorum status` shows the tasks of the run")
        );
    };
    match state.task(id).status() {
        Status::Done => Ok(id),
        Status::Failed if state.task(id).mode() == Some(FailureMode::Regressed) => Ok(id),
        Status::Failed if state.task(id).is_superseded() => {
            let by = &state.plan.task(state.effective_task(id)).title;
            Err(usage!("task '{title}' failed; '{by}' has superseded it")
                .help(format!("redo that one: `--redo {by:?}`")))
        }
        Status::Failed => Err(usage!("task '{title}' failed; only done work can be redone")
            .help("`quorum resume --retry-failed` tries failed tasks again")),
        other => Err(usage!("task '{title}' is {}; only done work can be redone", other.as_str())),
    }
}

/// A mission that was edited since the run froze it is another mission.
fn refuse_changed_mission(run: &RunFolder, recovered: &Recovered) -> Result<(), Failure> {
    match ChangedMission::of(run, recovered) {
        Some(changed) => Err(changed.refusal(run)),
        None => Ok(()),
    }
}
