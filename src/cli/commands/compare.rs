//! `quorum compare`: a run held against an earlier one of the same mission.

use clap::Args;
use rust_decimal::Decimal;

use crate::{
    cli::{
        args::Trust,
        command_error::Failure,
        listing::row,
        project::{all_runs, open_run, state_folder, vouched_run, warn},
        report_kind::is_there,
        screen::{LiveView, Screen},
        writer::has_writer,
    },
    report::{
        documents::{
            RunDocument, RunState,
            compare::{CompareDocument, CompareRules, RunSide},
        },
        folds::{alerts::alerts, view::RunView},
    },
    store::{RunFolder, StateFolder},
};
use rules::{domain::RunId, engine::State};

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The run that is looked at
    #[arg(value_name = "RUN")]
    pub run: RunId,
    /// The run that it is held against [default: the latest before it of the same mission]
    #[arg(value_name = "AGAINST")]
    pub against: Option<RunId>,
    /// Exit with 5 where scores of tasks that both runs scored are on average more points lower, as a whole or in a dimension,
    /// or where a task has lost its score
    #[arg(long, value_name = "POINTS", value_parser = points)]
    pub max_drop: Option<Decimal>,
    /// Exit with 5 where something is wrong that was not wrong before, or nothing was reviewed
    #[arg(long)]
    pub no_new_findings: bool,
    #[command(flatten)]
    pub trust: Trust,
}

/// Points from 0 to 100, which are no bar.
fn points(text: &str) -> anyhow::Result<Decimal> {
    let points = text.trim().parse().ok();
    let points = points.filter(|points| (Decimal::ZERO..=Decimal::ONE_HUNDRED).contains(points));
    points.ok_or_else(|| anyhow::anyhow!("'{text}' are no points: write a number from 0 to 100"))
}

pub fn compare(arguments: &CompareArgs, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let rules = CompareRules { max_drop: arguments.max_drop, no_new_findings: arguments.no_new_findings };
    let now = Opened::of(&folder, &arguments.run, arguments, rules.is_asked())?;
    let against = match &arguments.against {
        Some(id) => id.clone(),
        None => latest_before(&folder, &now)?,
    };
    let before = Opened::of(&folder, &against, arguments, rules.is_asked())?;
    if now.run.id() == before.run.id() {
        return Err(usage!("run {} is both runs: there is nothing to compare", now.run.id()));
    }
    let (run, against) = (now.document(&folder), before.document(&folder));
    let wrong = [&run, &against].map(|run| alerts(run, &is_there(run)));
    let sides = [RunSide { run: &run, alerts: &wrong[0] }, RunSide { run: &against, alerts: &wrong[1] }];
    let Some(document) = CompareDocument::of(&sides[0], &sides[1], rules) else {
        let (a, b) = (now.run.id(), before.run.id());
        return Err(usage!("runs {a} and {b} have no task in common: there is nothing to compare"));
    };
    screen.show(&document);
    Ok(document.exit_code())
}

/// One of the two runs, folded.
struct Opened {
    run: RunFolder,
    state: State,
    view: RunView,
}

impl Opened {
    /// Opens a run. One that a pipeline goes by must be vouched for.
    fn of(folder: &StateFolder, id: &RunId, arguments: &CompareArgs, goes_by: bool) -> Result<Self, Failure> {
        let (run, vouched) = vouched_run(folder, Some(id))?;
        if goes_by {
            arguments.trust.holds(&run, vouched.origin)?;
        }
        let mut view = LiveView::default();
        let state = open_run(&run, |state, record| view.take(state, record))?.state;
        let view = view.into_view(&state);
        Ok(Self { run, state, view })
    }

    fn document(&self, folder: &StateFolder) -> RunDocument<'_> {
        let standing = RunState::of(&self.state, has_writer(folder, &self.run));
        RunDocument::of(&self.state, &self.view, standing, self.view.outcome.as_ref())
    }
}

/// The run of the same mission that began last before this one. What cannot be read is passed over, and said.
fn latest_before(folder: &StateFolder, now: &Opened) -> Result<RunId, Failure> {
    let earlier = all_runs(folder)?.into_iter().take_while(|run| run.id() != now.run.id());
    let mission = &*now.state.plan.name;
    for run in earlier.collect::<Vec<_>>().into_iter().rev() {
        let row = row(folder, run);
        match &row.error {
            Some(why) => warn(&format!("run {} is passed over: {why}", row.run_id)),
            None if row.mission.as_deref() == Some(mission) => return Ok(row.run_id),
            None => {}
        }
    }
    let failure = usage!("no run of '{mission}' began before {}: there is nothing to compare", now.run.id());
    Err(failure.help("name the run that it is to be held against: `quorum runs` lists them"))
}
