//! `quorum merge`: brings the accepted work of a run that ended well into the user's branch, by a session that does nothing else.

use anyhow::anyhow;
use clap::Args;

use crate::{
    cli::{
        args::{OfRun, SessionFlags, Trust},
        command_error::Failure,
        later_session::{
            LaterWork, later_options, open_later, refuse_lost_folder, refuse_missing_files, tell_again, vouch,
        },
        lock::lock,
        operator_client::{refuse_agents, refuse_without_a_person},
        project::{refuse, trusted_run},
        reports::Reports,
        screen::Screen,
        session::fork_supervisor,
    },
    runtime::has_work_of,
    store::RunFolder,
};
use rules::{
    engine::{self, State},
    mission::model::MergeInto,
};

#[derive(Debug, Args)]
pub struct Merge {
    #[command(flatten)]
    pub of: OfRun,
    /// Where the work goes: ff (the branch that is checked out), or "branch NAME"
    #[arg(long, value_name = "HOW", default_value = "ff", value_parser = destination)]
    pub into: MergeInto,
    #[command(flatten)]
    pub trust: Trust,
}

/// Reads where work goes, which is somewhere.
fn destination(text: &str) -> anyhow::Result<MergeInto> {
    match text.parse()? {
        MergeInto::Never => Err(anyhow!("it is neither ff nor `branch NAME`")),
        into => Ok(into),
    }
}

pub fn merge(arguments: &Merge, screen: &Screen) -> Result<u8, Failure> {
    let supervisor = fork_supervisor()?;
    refuse_agents()?;
    let (folder, run) = trusted_run(&arguments.of, &arguments.trust, screen)?;
    refuse_without_a_person(&run)?;
    let _lock = lock(&folder, "quorum merge", run.id())?;
    vouch(&run, arguments.trust.trust_origin)?;
    let (mut recovered, view) = open_later(&run, screen)?;
    let mut options = later_options(&folder, &recovered);
    options.merge = Some(arguments.into.clone());
    recovered.replan(&options).map_err(refuse)?;
    let state = &recovered.state;
    refuse_what_is_not_ok(&run, state)?;
    refuse_lost_folder(state)?;
    refuse_missing_files(state)?;
    let reports = Reports::to(&[])?;
    // The branch itself says what it has: somebody may have moved it since.
    let is_there = has_work_of(&run, state, &arguments.into).map_err(Failure::environment)?;
    let is_on_record = state.delivery.as_ref().is_some_and(|done| done.waits.is_none() && done.why.is_none());
    if state.landed.is_none() || is_there && is_on_record {
        let what = if is_there { "is already merged" } else { "changed nothing: there is nothing to merge" };
        return tell_again((&run, state), view, &format!("run {} {what}\n", run.id()), &reports, screen);
    }
    let flags = SessionFlags::default();
    LaterWork { run: &run, recovered, options, delivers: true, flags: &flags }.begin(
        (supervisor, view),
        &reports,
        screen,
    )
}

/// Refuses every run that did not end with ok, or would have but for the place of its work.
fn refuse_what_is_not_ok(run: &RunFolder, state: &State) -> Result<(), Failure> {
    let id = run.id();
    if !state.plan.selected_ids().any(|task| state.plan.task(task).commits()) {
        let why =
            anyhow!("no task of run {id} works in a worktree: what they did lies in the workspace already");
        return Err(Failure::usage(why).help("`isolation: worktree` gives each task a checkout of its own"));
    }
    if state.has_work_left() {
        return Err(environment!("run {id} has not ended: only work of a run that ended with ok is merged")
            .help(format!("`quorum resume {id}` goes on with it")));
    }
    if state.is_ok_by_its_tasks() {
        return Ok(());
    }
    let class = engine::outcome(state).class;
    let (code, word) = (class.exit_code(), class.as_str());
    let failure =
        environment!("run {id} ended with {word} ({code}): only work of a run that ended with ok is merged");
    Err(failure.help(format!("`quorum status {id}` says what helps")))
}
