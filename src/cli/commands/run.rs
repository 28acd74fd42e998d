//! `quorum run`: validate, run, judge, report.

use std::path::Path;
use std::sync::Arc;

use clap::ArgMatches;

use crate::{
    cli::{
        active_titles::resolve_conflicts,
        args::Run,
        command_error::Failure,
        launch::{Launch, new_run_id},
        load::absolute,
        lock::{lock, wait_for_lock},
        project::{own_state_folder, unusable},
        reports::Reports,
        screen::{LiveView, Screen},
        session::{fork_supervisor, make_workspace, refuse_unpriced, resolve_programs, try_confinement},
    },
    report::screens::forewarning::{GivenThreshold, forewarnings},
    runtime::{below, check_repository, state_base},
};
use rules::{
    domain::Millis,
    engine::State,
    mission::model::{CommandLine, is_branch_name},
    plan::{AgentPlan, RunOptions},
};

use super::plan::planned;

pub fn run(arguments: Run, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    // First of all, while there is one thread, little memory and no lock.
    let mut supervisor = fork_supervisor()?;
    let (plan, mut options, source) = planned(&arguments, matches, screen)?;
    let state = State::new(Arc::new(plan));
    refuse_unpriced(&state)?;
    forewarn(&state, &options, screen);
    let folder = own_state_folder(screen.output())?;
    let id = arguments.flags.run_id.clone().map_or_else(|| new_run_id(&folder), Ok)?;
    if !is_branch_name(id.as_str()) {
        let failure = usage!("git takes no reference with the run id '{id}'");
        return Err(failure.help("leave out `..`, and `.` or `.lock` at the end"));
    }
    let programs = resolve_programs(&state, &options, &id)?;
    check_repository(&state.plan, true).map_err(Failure::environment)?;
    let mission_path = absolute(&arguments.mission);
    let reports = Reports::of_session(&arguments.flags.session.reports)?;
    reports.check((&state, &options), mission_path.clone(), &folder)?;
    let unconfined = try_confinement(&mut supervisor, &state, &options)?;

    folder.create().map_err(unusable)?;
    options.state_base = state_base(&folder);
    options.mission_folder = below(options.state_base.as_deref(), options.mission_folder);
    let _lock = match arguments.flags.wait {
        None => lock(&folder, "quorum run", &id),
        Some(most) => wait_for_lock(&folder, "quorum run", &id, most.map(Millis::as_duration), screen),
    }?;
    resolve_conflicts(&folder, &state.plan, &arguments.flags, screen)?;
    make_workspace(&state.plan.rules.workspace)?;

    let run = folder.run(&id);
    let places = programs.places.clone();
    let watchers = screen.watch(&run, true, &arguments.flags.session, places, LiveView::default());
    let launch = Launch {
        run,
        mission: &source.bytes,
        mission_path,
        options,
        state,
        programs,
        supervisor,
        unconfined,
        spooled: Vec::new(),
        observers: watchers.observers,
        reports: Some(&reports),
    };
    let ending =
        launch.start().map_err(|failure| reports.after_failure(&folder.run(&id), failure, screen))?;
    Ok(reports.finish(&folder.run(&id), ending, watchers.view, screen))
}

/// Says what is known beforehand: to what a given threshold applies, and what cannot work.
fn forewarn(state: &State, options: &RunOptions, screen: &Screen) {
    if let Some(given) = GivenThreshold::of(state).filter(|given| given.reviews > 0 && !screen.output().quiet)
    {
        screen.error(&format!("note: {}\n", given.words()));
    }
    for warning in forewarnings(state).into_iter().chain(missing_scripts(state, options)) {
        screen.note(&format!("warning: {warning}"));
    }
}

/// The names of interpreters that a script can follow.
const INTERPRETERS: [&str; 9] = ["sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl"];

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
        let help = if options.mission_folder.join(script).is_file() {
            format!("; it is beside the mission file, so `run: [{script}]` finds it")
        } else {
            String::new()
        };
        let (agent, place) = (&agent.name, workspace.display());
        Some(format!("agent '{agent}': there is no `{script}` in the workspace {place}{help}"))
    };
    state.plan.agents.iter().filter_map(missing).collect()
}
