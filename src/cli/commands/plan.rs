//! `quorum plan` and `quorum run --dry-run`: what would happen. No agent starts and no state folder is made.

use std::sync::Arc;

use anyhow::anyhow;
use clap::{ArgMatches, Args};

use crate::report::{
    count,
    documents::{BaselineDocument, first_looked_at, plan::PlanDocument},
    formats::plan_graph::{dot, mermaid},
};
use crate::{
    cli::{
        args::{Format, Progress, Run},
        command_error::Failure,
        launch::InPassing,
        load::{self, absolute, load, mission_folder, selected_plan},
        options::{apply_flags, options_with_config},
        project::current_dir,
        screen::Screen,
        session::{fork_supervisor, make_workspace},
        telemetry::trace,
    },
    runtime::{ReadBefore, listed, settings_files},
};
use rules::{
    domain::OutcomeClass,
    engine::{State, outcome},
    mission::Source,
    plan::{self, RunOptions},
};
use supervisor::files::no_links::scratch_folder;

/// The flags of `run`, so that one word changes a run into its plan.
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub run: Run,
    /// Run the checks of all tasks that depend on nothing, and show what each says before the work
    #[arg(long)]
    pub baseline: bool,
}

impl PlanArgs {
    pub fn show(&self, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
        if self.baseline { baseline(&self.run, matches, screen) } else { plan(&self.run, matches, screen) }
    }
}

/// Looks at what the checks say now, in a run of nothing else that leaves nothing behind.
fn baseline(arguments: &Run, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    if matches!(screen.output().format, Some(Format::Dot | Format::Mermaid)) {
        return Err(usage!("a baseline is no drawing").help("use --json"));
    }
    let supervisor = fork_supervisor()?;
    let place = scratch_folder().map_err(Failure::environment)?;
    let stand_in = place.path().join("workspace");
    let (plan, mut options, source) = planned(arguments, matches, screen)?;
    let (whole, mut looked_at) = (plan.clone(), plan);
    let ids = first_looked_at(&whole);
    looked_at.leave_baselines(&ids);
    // What is not there yet is empty when the work begins.
    if !looked_at.rules.workspace.is_dir() {
        make_workspace(&stand_in)?;
        looked_at.rules.workspace = stand_in;
    }
    options.wait_approvals = None;
    let state = State::new(Arc::new(looked_at));
    let seen = if ids.is_empty() {
        state
    } else {
        let run = InPassing { mission: source.bytes, options, state, spooled: Vec::new() };
        if !screen.output().quiet {
            let tasks = count(ids.len(), "task");
            screen.error(&format!("looking at what the checks of {tasks} say now\n"));
        }
        let begun = ("quorum plan", supervisor, place.path());
        let mut flags = arguments.flags.session.clone();
        // Nothing of it is a run to be watched.
        flags.progress = Progress::None;
        let (ending, _) = run.start(begun, &flags, screen)?;
        let class = outcome(&ending.state).class;
        // Each of them waits then, for work that nobody wants.
        if class != OutcomeClass::Awaiting {
            let failure = Failure::new(class, anyhow!("not every check was looked at"));
            return Err(failure.help("nothing is kept: ask again"));
        }
        ending.state
    };
    let document = BaselineDocument::of(&whole, &seen);
    screen.show(&document);
    Ok(document.class().exit_code())
}

/// The mission that is planned, its options, and its text.
pub fn planned(
    arguments: &Run,
    matches: &ArgMatches,
    screen: &Screen,
) -> Result<(plan::Plan, RunOptions, Source), Failure> {
    let mut options = options_with_config()?;
    apply_flags(&mut options, &arguments.flags.session, matches)?;
    options.max_false_pass = arguments.flags.max_false_pass;
    options.over_mcp = arguments.flags.over_mcp;
    options.mission_folder = mission_folder(&arguments.mission)?;
    let source = load::read(&arguments.mission).map_err(Failure::mission)?;
    let loaded = load(&source, &options, screen)?;
    let plan = selected_plan(loaded, &mut options, &arguments.flags.only)?;
    options.trace = trace(&plan.rules.telemetry);
    Ok((plan, options, source))
}

pub fn plan(arguments: &Run, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let (plan, options, _) = planned(arguments, matches, screen)?;
    let state = State::new(Arc::new(plan));
    match screen.output().format {
        Some(Format::Dot) => screen.result(&dot(&state.plan)),
        Some(Format::Mermaid) => screen.result(&mermaid(&state.plan)),
        _ => {
            let read = ReadBefore {
                mission: absolute(&arguments.mission),
                settings: settings_files(&current_dir()?).into_iter().map(|file| file.path).collect(),
            };
            screen.show(&PlanDocument::of(&state).protecting(listed(&state, &options, &read)));
        }
    }
    Ok(0)
}
