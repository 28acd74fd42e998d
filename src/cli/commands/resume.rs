//! `quorum resume`: continue a run from its journal.

use std::collections::BTreeSet;

use clap::{ArgMatches, Args};

use crate::{
    cli::{
        active_titles::refuse_active_titles,
        args::{OfRun, SessionFlags, Trust},
        changed_mission::ChangedMission,
        command_error::Failure,
        later_session::{
            LaterWork, later_options, open_later, refuse_lost_folder, refuse_missing_files, tell_again, vouch,
        },
        lock::lock,
        operator_client::{apply_failure, refuse_agents, refuse_without_a_person},
        options::apply_flags,
        project::{open_run, trusted_run},
        reports::Reports,
        screen::Screen,
        session::{fork_supervisor, resolve_programs},
    },
    runtime::{Recovered, apply_offline, missing_files},
    store::{RunFolder, StateFolder},
};
use rules::{
    domain::{FailureMode, Status, TaskId, Timestamp, is_same_name},
    engine::{self, Fact, State},
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
    let supervisor = fork_supervisor()?;
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
    let (recovered, view) = open_later(&run, screen)?;
    refuse_changed_mission(&run, &recovered)?;
    reports.check_against(&recovered, &folder)?;
    // One that ended because somebody touched what it rests on ends anew, with what it rests on then.
    if recovered.finished.is_some() && !recovered.state.is_resumable() && !recovered.state.session.foreign {
        let words = format!("run {} has ended; there is nothing to resume\n", run.id());
        return tell_again((&run, &recovered.state), view, &words, &reports, screen);
    }
    let mut options = later_options(&folder, &recovered);
    apply_flags(&mut options, &arguments.flags, matches)?;
    let later = LaterWork { run: &run, recovered, options, delivers: false, flags: &arguments.flags };
    later.begin((supervisor, view), &reports, screen)
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
