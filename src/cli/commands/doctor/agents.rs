//! The mission and its agents: programs, variables, who can judge.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::{
    cli::{
        args::Demands,
        command_error::Failure,
        load::{self, load_over, mission_folder},
        options::{apply_demands, options_with_config},
    },
    report::documents::doctor::{CheckOutcome, HealthCheck},
    runtime::{check_repository, lacking_bash, layers_of, locate},
};
use rules::{
    domain::{AgentId, TaskId},
    engine::{State, agents_needed},
    mission::model::{Adapter, CommandLine, Review},
    plan::{
        self, AgentPlan, Confinement, PanelSeats, Plan, RunOptions, eligibility::reviewers,
        independence::ModelIdentity,
    },
};

use super::programs;

/// A mission that loads, and where it lies.
pub struct LoadedMission<'p> {
    path: &'p Path,
    options: RunOptions,
    state: State,
}

impl LoadedMission<'_> {
    /// The source of the rule that nothing may begin where processes cannot be confined; `None` where nobody
    /// sets it.
    pub fn must_be_confined(&self) -> Option<&'static str> {
        Confinement::required_by(self.state.plan.confinements(), self.options.strict)
    }
}

/// Loads a mission. One that does not load, or none, is one check.
pub fn load<'p>(
    mission: Option<&'p Path>,
    demands: &Demands,
) -> Result<Result<LoadedMission<'p>, HealthCheck>, Failure> {
    let Some(path) = mission else {
        let message = "there is no mission.yaml here; name one with --mission FILE";
        return Ok(Err(HealthCheck::new("mission", CheckOutcome::Skipped, message)));
    };
    let mut options = options_with_config()?;
    options.mission_folder = mission_folder(path)?;
    apply_demands(&mut options, demands);
    let loaded = layers_of(&options).and_then(|layers| {
        load::read(path).and_then(|source| load_over(&source, &layers, &options.mission_folder))
    });
    Ok(match loaded {
        Ok(loaded) => {
            let state = State::new(Arc::new(plan::compile(loaded.mission, &options)));
            Ok(LoadedMission { path, options, state })
        }
        Err(report) => {
            let count = report.diagnostics.len() + report.more;
            let message = format!("{count} error(s); `quorum validate {}` shows them", path.display());
            Err(HealthCheck::new("mission", CheckOutcome::Fail, message))
        }
    })
}

/// The checks of a mission.
pub fn checks(mission: &LoadedMission<'_>) -> Vec<HealthCheck> {
    let LoadedMission { path, options, state } = mission;
    let mut checks = vec![HealthCheck::new("mission", CheckOutcome::Ok, path.display().to_string())];
    let plan = &*state.plan;
    let needed = agents_needed(state);
    for (index, agent) in plan.agents.iter().enumerate() {
        let is_here = agent.spec.queue.is_none();
        let found = [Some(program(agent, &options.mission_folder)), variables(agent).filter(|_| is_here)];
        let found = found.into_iter().flatten();
        // What is on other machines, their workers see.
        let here = is_here.then(|| programs::checks(agent, &options.mission_folder));
        let found = found.chain(here.into_iter().flatten());
        if needed.contains(&AgentId::from_index(index)) {
            checks.extend(found);
        } else {
            checks.extend(found.map(not_needed));
        }
    }
    checks.extend(endpoints(plan));
    checks.extend(repository(plan));
    let problem = lacking_bash(plan).map(|problem| problem.to_string());
    checks.extend(problem.map(|problem| HealthCheck::new("bash", CheckOutcome::Fail, problem)));
    checks.push(judges(plan));
    checks
}

/// Whether isolated tasks can begin with the workspace, where there are any.
fn repository(plan: &Plan) -> Option<HealthCheck> {
    let is_needed = plan.selected_ids().any(|id| plan.task(id).has_worktree());
    is_needed.then(|| match check_repository(plan, false) {
        Ok(()) => {
            let place = plan.rules.workspace.display();
            HealthCheck::new(
                "worktrees",
                CheckOutcome::Ok,
                format!("tasks can begin with the repository {place}"),
            )
        }
        Err(why) => HealthCheck::new("worktrees", CheckOutcome::Fail, why.to_string()),
    })
}

/// Softens a failed check of an agent that no task needs: it does not stop a run.
fn not_needed(mut check: HealthCheck) -> HealthCheck {
    if check.verdict == CheckOutcome::Fail {
        check.verdict = CheckOutcome::Warn;
        check.message.push_str(" (no task of this mission needs it)");
    }
    check
}

fn program(agent: &AgentPlan, folder: &Path) -> HealthCheck {
    let name = format!("agent {}", agent.name);
    match locate(agent, folder) {
        Ok(place) => match &agent.spec.run {
            Some(CommandLine::Shell(_)) if agent.spec.queue.is_none() => HealthCheck::new(
                name,
                CheckOutcome::Ok,
                format!("{place} (what the shell line calls is not checked)"),
            ),
            _ => HealthCheck::new(name, CheckOutcome::Ok, place),
        },
        Err(problem) => HealthCheck::new(name, CheckOutcome::Fail, problem),
    }
}

/// The variables that an agent needs, by their names only.
fn variables(agent: &AgentPlan) -> Option<HealthCheck> {
    let needed = agent.spec.variables();
    if needed.is_empty() {
        return None;
    }
    let is_set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.is_empty());
    let (set, unset): (Vec<&str>, Vec<&str>) = needed.into_iter().partition(is_set);
    let name = format!("variables of {}", agent.name);
    Some(if unset.is_empty() {
        HealthCheck::new(name, CheckOutcome::Ok, format!("set: {}", set.join(", ")))
    } else {
        // What is set and was not taken is no text.
        let is_no_text = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let why = if unset.iter().any(is_no_text) { ", or not UTF-8 text" } else { "" };
        HealthCheck::new(name, CheckOutcome::Fail, format!("not set{why}: {}", unset.join(", ")))
    })
}

/// Whether a model answers could only be found out by asking it, which costs.
fn endpoints(plan: &Plan) -> Option<HealthCheck> {
    let models = plan.agents.iter().filter(|agent| agent.spec.adapter.is_http());
    let names: Vec<&str> = models.map(|a| &*a.name).collect();
    (!names.is_empty()).then(|| {
        let message = format!("not contacted, so that nothing is spent: {}", names.join(", "));
        HealthCheck::new("endpoints", CheckOutcome::Skipped, message)
    })
}

/// The family of a judge's model: reviewers of several families err differently.
fn family(agent: &AgentPlan) -> String {
    let known = ModelIdentity::of(agent, None).family().map(str::to_owned);
    known.unwrap_or_else(|| match *agent.spec.adapter {
        Adapter::Command => "command".to_owned(),
        _ => "unknown".to_owned(),
    })
}

fn judges(plan: &Plan) -> HealthCheck {
    let check = |verdict, message: String| HealthCheck::new("reviewers", verdict, message);
    if !plan.rules.settings.evaluate {
        let message = "evaluation is off: no judge is called".to_owned();
        return check(CheckOutcome::Warn, message);
    }
    let mut judges = BTreeSet::new();
    let (mut without, mut unreviewed) = (Vec::new(), Vec::new());
    for id in plan.task_ids() {
        let Some(asked) = asked(plan, id) else { continue };
        let eligible = reviewers(plan, id, asked.named.as_deref());
        judges.extend(eligible.iter().map(|judge| judge.agent));
        if eligible.is_empty() {
            let list = if asked.for_sure { &mut without } else { &mut unreviewed };
            list.push(format!("'{}'", plan.title(id)));
        }
    }
    if !without.is_empty() {
        let message = format!("nobody may judge {}, which ask(s) for a review", shortened(&without));
        return check(CheckOutcome::Fail, message);
    }
    if !unreviewed.is_empty() {
        let message = format!("nobody may judge {}: will be unreviewed", shortened(&unreviewed));
        return check(CheckOutcome::Warn, message);
    }
    if judges.is_empty() {
        return check(CheckOutcome::Ok, "no task is judged by a reviewer".to_owned());
    }
    let judges: Vec<&AgentPlan> = judges.into_iter().map(|id| plan.agent(id)).collect();
    let names: Vec<&str> = judges.iter().map(|judge| &*judge.name).collect();
    let families: BTreeSet<String> = judges.iter().map(|judge| family(judge)).collect();
    let families: Vec<String> = families.into_iter().collect();
    check(CheckOutcome::Ok, format!("{} (families: {})", names.join(", "), families.join(", ")))
}

/// The first few of a list that may be long.
fn shortened(titles: &[String]) -> String {
    let shown = titles.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    match titles.len().saturating_sub(5) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The review that a task gets.
struct ReviewOfTask {
    /// Whether the review was asked for, so that work without a reviewer is indeterminate.
    for_sure: bool,
    named: Option<Vec<AgentId>>,
}

fn asked(plan: &Plan, id: TaskId) -> Option<ReviewOfTask> {
    let task = plan.task(id);
    match (task.panel(), task.review) {
        (Some(panel), _) => Some(ReviewOfTask {
            for_sure: true,
            named: match &panel.reviewers {
                PanelSeats::Named(agents) => Some(agents.clone()),
                PanelSeats::Seats(_) => None,
            },
        }),
        (None, Review::Required) => Some(ReviewOfTask { for_sure: true, named: None }),
        // Declared checks judge the work, or the mission wants no review.
        (None, Review::None) => None,
        (None, Review::Auto) if task.has_expectations() => None,
        (None, Review::Auto) => Some(ReviewOfTask { for_sure: false, named: None }),
    }
}
