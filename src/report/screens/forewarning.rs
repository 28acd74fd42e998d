//! What is known before a run starts and would else be a surprise at its end: gates that cannot pass, a threshold that
//! applies to nothing, work that nobody will judge or take over.

use std::collections::BTreeSet;

use rules::{
    domain::{Bar, BarOrigin, TaskId},
    engine::{State, agents_needed, judging_agents},
    judging::protected::judging_commands,
    mission::{
        Loosening,
        model::{Adapter, Agent, Field, Review},
        shell_line::reader_hint,
    },
    plan::{
        Judge, Part,
        eligibility::{excluded, keeps_from_taking_over, successor},
    },
};

use super::text::count;

/// Names that a warning lists.
const MOST_NAMES: usize = 8;

/// A bar that a flag or a variable gives, and to how many reviews it applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GivenThreshold {
    pub bar: Bar,
    /// The reviews by whose score it decides.
    pub reviews: usize,
}

impl GivenThreshold {
    /// The threshold that was given for this run, if one was.
    pub fn of(state: &State) -> Option<Self> {
        let bar = state.plan.rules.settings.eval_threshold;
        if !matches!(bar.origin, BarOrigin::Flag | BarOrigin::Environment) {
            return None;
        }
        let selected = state.plan.selected_ids();
        let bars = selected.flat_map(|id| bars(state, id));
        Some(Self { bar, reviews: bars.filter(|found| *found == bar).count() })
    }

    /// In words: `--eval-threshold 99 applies to 2 reviews`.
    pub fn words(&self) -> String {
        let name = match self.bar.origin {
            BarOrigin::Flag => "--eval-threshold",
            _ => "EVAL_THRESHOLD",
        };
        let points = self.bar.points;
        match (self.reviews, self.bar.origin) {
            (0, BarOrigin::Flag) => {
                format!("{name} {points} applies to nothing: no review of this run decides by a score")
            }
            (0, _) => format!(
                "{name} {points} applies to nothing: every review sets its own bar, or none decides by a score; the \
                 flag --eval-threshold replaces them"
            ),
            (reviews, _) => format!("{name} {points} applies to {}", count(reviews, "review")),
        }
    }
}

/// The bars by which scores of a task's reviews are judged.
fn bars(state: &State, id: TaskId) -> impl Iterator<Item = Bar> {
    let task = state.plan.task(id);
    // Plain facts grade with reviews switched off too.
    let verification = task
        .verification()
        .filter(|verification| verification.rubric.is_none() || state.plan.rules.settings.evaluate);
    let of_review = state.plan.bar_of_review(id).into_iter();
    of_review.chain(verification.map(|verification| verification.bar))
}

/// Warnings of what cannot work, before anything is started.
pub fn forewarnings(state: &State) -> Vec<String> {
    let threshold = GivenThreshold::of(state).filter(|given| given.reviews == 0);
    let threshold = threshold.map(|given| given.words());
    let warnings = threshold.into_iter().chain(unscored_bars(state)).chain(not_calibrated(state));
    warnings.chain(idle_fallbacks(state)).chain(early_readers(state)).chain(unknown_costs(state)).collect()
}

/// Reviews that keep their bar though the run has bars from labelled work.
fn not_calibrated(state: &State) -> impl Iterator<Item = String> {
    let plan = &state.plan;
    plan.selected_ids().filter_map(|id| {
        let (why, bar) = (plan.not_calibrated(id)?, plan.bar(id)?);
        let title = plan.title(id);
        Some(format!("the review of '{title}' keeps its bar {}: {why}", bar.points))
    })
}

/// Commands that judge and that have something in a pipe which may stop reading early, each once.
fn early_readers(state: &State) -> BTreeSet<String> {
    let commands = state.plan.selected_ids().flat_map(|id| judging_commands(&state.plan, id));
    let warning = |(_, command): (_, String)| {
        let line = command.trim().lines().next()?;
        Some(format!("`{line}`: {}", reader_hint(&command)?))
    };
    commands.filter_map(warning).collect()
}

/// Agents that are needed and of whose calls nobody may know the cost, under a ceiling on it: the first such call ends the work.
fn unknown_costs(state: &State) -> Vec<String> {
    let plan = &state.plan;
    let Some(most) = plan.rules.budget.max_cost else {
        return Vec::new();
    };
    let is_known = |agent: &Agent| {
        let tells = |field| agent.preset.as_ref().is_some_and(|preset| preset.tells(field));
        let has_price = agent.model.as_deref().is_some_and(|model| plan.price(model).is_some());
        let by_itself = agent.adapter.is_http() || agent.adapter == Adapter::Echo || tells(Field::Cost);
        by_itself || agent.max_cost_per_turn.is_some() || has_price && tells(Field::In)
    };
    let needed = agents_needed(state).into_iter().map(|id| plan.agent(id));
    let unknown = needed.filter(|agent| !is_known(&agent.spec));
    unknown
        .map(|agent| {
            format!(
                "the cost is limited to {most}, and '{}' has neither a price nor `maxCostPerTurn`: unless it reports what a call \
                 cost, the work ends after the first one; write `maxCostPerTurn` (0 if it costs nothing)",
                agent.name
            )
        })
        .collect()
}

/// Tasks of agents that have fallbacks, none of which may go on with the work.
fn idle_fallbacks(state: &State) -> Vec<String> {
    let plan = &state.plan;
    let judges = judging_agents(state);
    let tasks = plan.selected_ids().filter(|id| plan.route(*id).is_none());
    let idle = tasks.filter_map(|id| {
        let task = plan.task(id);
        let agent = task.agent;
        let first = *plan.fallbacks(agent).first()?;
        if judges.contains(&agent) || successor(plan, id).is_some() {
            return None;
        }
        let why = keeps_from_taking_over(plan, id, first)?;
        let (agent, first) = (plan.agent_name(agent), plan.agent_name(first));
        Some(format!(
            "nobody goes on with the task '{}' where '{agent}' cannot be reached: its fallback '{first}' {why}",
            task.title
        ))
    });
    idle.collect()
}

/// Warnings about settings that make judging less strict and come from neither the mission nor a flag, so that
/// nobody who reads those would know.
pub fn loosened(state: &State) -> Vec<String> {
    let found = state.plan.rules.loosened.iter();
    found.filter(|found| found.is_beneath).map(Loosening::words).collect()
}

/// Gates that need a score where nobody gives any, and a threshold of the mission that holds nothing for the same reason.
fn unscored_bars(state: &State) -> Vec<String> {
    let plan = &state.plan;
    let is_scored = |id: TaskId| bars(state, id).next().is_some();
    let why = if plan.rules.settings.evaluate {
        "none of its tasks is given a score"
    } else {
        "reviews are switched off"
    };
    // A gate none of whose tasks asks for a score has been told where the file was checked.
    let is_meant =
        |id: &TaskId| plan.judge(*id) == Some(&Judge::Nobody) && plan.task(*id).review != Review::None;
    let is_shut = |after: &[TaskId]| {
        let is_unscored = !after.iter().any(|id| is_scored(*id));
        is_unscored && (!plan.rules.settings.evaluate || after.iter().any(is_meant))
    };
    let gates = plan.gate_ids().map(|id| plan.gate(id));
    let gates = gates.filter(|gate| gate.part == Part::Selected && gate.min_score.is_some());
    let shut = gates.filter(|gate| is_shut(&gate.after));
    let mut found: Vec<String> = shut
        .map(|gate| format!("the gate '{}' cannot pass: it has a minScore, and {why}", gate.name))
        .collect();
    if plan.rules.quality_threshold.is_some() && !plan.selected_ids().any(is_scored) {
        found.push("`qualityThreshold` holds nothing: no task of this run is given a score".to_owned());
    }
    found
}

/// Warnings of each task that will end unreviewed because nobody is able to judge it, and of what to write.
pub fn unjudged(state: &State) -> Vec<String> {
    let plan = &state.plan;
    if !plan.rules.settings.evaluate {
        return Vec::new();
    }
    let nobody =
        |id: &TaskId| plan.task(*id).review == Review::Auto && plan.judge(*id) == Some(&Judge::Nobody);
    plan.selected_ids().filter(nobody).map(|id| unjudged_words(state, id)).collect()
}

fn unjudged_words(state: &State, id: TaskId) -> String {
    let plan = &state.plan;
    let task = plan.task(id);
    let excluded = excluded(plan, id, None);
    let others = plan.agents.iter().enumerate();
    let others = others.filter(|(index, agent)| *index != task.agent.index() && !agent.removed);
    let others: Vec<String> = others.map(|(_, agent)| format!("'{}'", agent.name)).collect();
    let why = match (excluded.first(), others.as_slice()) {
        (Some((agent, why)), _) => format!("'{}' {why}", plan.agent_name(*agent)),
        (None, []) => format!("'{}' is the only agent", plan.agent_name(task.agent)),
        (None, others) => format!(
            "{} may not: a command judges with `role: reviewer`, as the manager or the delegator of the worker, or where \
             `reviewers` names it",
            some(others)
        ),
    };
    format!(
        "the task '{}' will end unreviewed, because nobody is able to judge it: {why}; add an agent with `role: reviewer`, or \
         write `review: none`",
        task.title
    )
}

/// The first names of a list, and how many more there are.
fn some(names: &[String]) -> String {
    match names.get(..MOST_NAMES) {
        Some(first) if names.len() > MOST_NAMES => {
            format!("{} and {} more", first.join(", "), names.len() - MOST_NAMES)
        }
        _ => names.join(", "),
    }
}
