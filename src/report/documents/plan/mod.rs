//! `quorum.plan/v1`: a mission as it would run. Who works when, who may judge whom and why, and what it may cost at
//! worst. Nothing here decides: the engine is asked what it would do.
//!
//! | file | what |
//! |---|---|
//! | `middleware` | what is done around turns and around the whole graph (17) |

mod middleware;

use middleware::{HookRow, MiddlewareRow};

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::{EdgesRow, fields};
use crate::report::{
    folds::further_stages::{StepRow, judge_tools, step_rows},
    screens::forewarning::{GivenThreshold, forewarnings, loosened, unjudged},
    vocabulary::budget::planned_words,
};
use rules::{
    domain::{AgentId, BarOrigin, Points, TaskId},
    engine::{self, State},
    mission::model::Tools,
    plan::{
        ApprovalPlan, ApproverPlan, BarrierKind, Judge, Part, Plan,
        eligibility::{self, Eligible, named},
        independence::Dependence,
        waves,
    },
};

/// A mission as it would run: `quorum plan`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.plan/v1")]
pub struct PlanDocument<'a> {
    /// The name of the mission.
    mission: &'a str,
    /// How many agents work at once.
    concurrency: u32,
    /// Whether work is judged.
    evaluate: bool,
    /// The bar that a flag or a variable gives, and to how many reviews it applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_threshold: Option<ThresholdRow>,
    /// Problems that are known before a run: what will not work.
    warnings: Vec<String>,
    /// The bar for the score of the whole mission, in points; `null` where there is none.
    quality_threshold: Option<f64>,
    /// The agents of the mission.
    agents: Vec<AgentRow<'a>>,
    /// The titles of the tasks that may run at once, wave by wave.
    waves: Vec<Vec<&'a str>>,
    /// The tasks, in file order.
    #[serde(skip_serializing_if = "fields::in_templates")]
    pub tasks: Vec<TaskRow<'a>>,
    /// The quality gates of the mission.
    gates: Vec<GateRuleRow<'a>>,
    /// The checkpoints and delays of the mission.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    holds: Vec<HoldRuleRow<'a>>,
    /// The middleware around turns and around the whole graph.
    middleware: MiddlewareRow,
    /// Files that no task may change unless it names them in its `targetFiles`.
    protected: Vec<ProtectedRow>,
    /// Tasks that `--only` leaves out.
    not_taken: u32,
    /// The most that all tasks may come to.
    worst_case: WorstCaseRow,
    /// The known part of the cost.
    cost: CostRow,
}

/// A path or pattern that no task may change.
#[derive(Debug, Serialize, JsonSchema)]
struct ProtectedRow {
    /// Seen from the folder of the mission where it lies in there.
    path: String,
    /// Why the file is protected.
    why: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ThresholdRow {
    /// The bar in points.
    points: f64,
    /// Where the bar comes from: a flag or a variable.
    origin: rules::domain::BarOrigin,
    /// To how many reviews it applies.
    reviews: usize,
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    words: String,
}

impl ThresholdRow {
    fn of(given: GivenThreshold) -> Self {
        Self {
            points: given.bar.points.to_f64(),
            origin: given.bar.origin,
            reviews: given.reviews,
            words: given.words(),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgentRow<'a> {
    /// The name of the agent.
    name: &'a str,
    /// The adapter by which the agent is reached.
    adapter: &'a rules::mission::model::Adapter,
    /// The purpose of the agent, in the mission's words.
    role: Option<&'a str>,
    /// The agent that it reports to.
    reports_to: Option<&'a str>,
    /// How many tasks are its own.
    tasks: usize,
    /// The hooks of middleware that come around it.
    hooks: Vec<&'static str>,
    /// The middleware around turns of the agent, unless a task says otherwise.
    middleware: Vec<HookRow>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRow<'a> {
    /// The title of the task.
    title: &'a str,
    /// The name of the agent that does the task.
    agent: &'a str,
    /// How the agent works with tools, where quorum uses them for it.
    agent_tools: Option<Tools>,
    /// The queue of workers on other machines that its turns go to.
    queue: Option<&'a str>,
    /// The wave in which the task can start, from 1.
    pub wave: u32,
    /// The titles of its dependencies.
    depends_on: Vec<&'a str>,
    /// Checkpoints, delays and gates before it.
    held_by: Vec<&'a str>,
    /// Whether the task runs alone.
    exclusive: bool,
    /// Whether only a person's word makes its agent act again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    side_effects: bool,
    /// The approvals that the task needs before it starts, each with who may give it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<ApprovalRow<'a>>,
    /// The files that it is to make.
    target_files: &'a [Box<str>],
    /// How many checks it has.
    checks: usize,
    /// Criteria that plain facts grade after all other judging.
    criteria: usize,
    /// The agent that cuts the criteria into probes for the judge.
    decomposer: Option<&'a str>,
    /// Why the agent that is to cut the criteria may not.
    decomposer_excluded: Option<&'a str>,
    /// The judge that grades them by a rubric; `null`: plain facts do, or nobody may.
    grader: Option<&'a str>,
    /// Whether a judge is to grade them and nobody may.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    grader_missing: bool,
    /// The tools that the grader may look with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    grader_tools: Vec<&'static str>,
    /// The stages of judging behind the criteria, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<StepRow<'a>>,
    /// The way in which the task is judged, in a word.
    judged_by: &'static str,
    /// Why the task is judged like that, where the mission does not say it.
    #[serialize_always]
    note: Option<&'static str>,
    /// Whether so many tasks depend on it that it has a lower bar and one more attempt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foundation: bool,
    /// The bar for the score of the task, in points; `null` where there is none.
    #[serialize_always]
    bar: Option<f64>,
    /// Where the bar comes from.
    #[serialize_always]
    bar_origin: Option<BarOrigin>,
    /// The lowest and the highest score that a person decides, by work that people labelled.
    refer: Option<[f64; 2]>,
    /// The reviewers, one for each seat of the panel; agents may repeat.
    seats: Vec<&'a str>,
    /// The people who are asked last, by an approval, about work that the seats let pass; one answer decides.
    people: Vec<&'a str>,
    /// Everybody who may judge it, in the order in which they are asked.
    eligible: Vec<EligibleRow<'a>>,
    /// The agents that cannot judge the task for what they share with its author.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    excluded: Vec<ExcludedRow<'a>>,
    /// The middleware around the turns of the task; left out where the task names none itself.
    middleware: Option<Vec<HookRow>>,
    /// The most that it may come to.
    worst_case: WorstCaseRow,
    /// The tasks to which the verdicts of a verification lead; left out for other tasks.
    edges: Option<EdgesRow<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ApprovalRow<'a> {
    /// The approval gate; `null` for the task's own.
    gate: Option<&'a str>,
    /// The names of those who may agree. Empty: any person.
    approvers: Vec<Cow<'a, str>>,
}

/// A checkpoint or a delay of the plan.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "HoldRow")]
struct HoldRuleRow<'a> {
    /// The kind of hold: `checkpoint` or `delay`.
    kind: &'static str,
    /// The name of the checkpoint or delay.
    name: &'a str,
    /// The tasks that it waits for.
    after_tasks: Vec<&'a str>,
    /// The tasks that wait for it.
    blocks_tasks: Vec<&'a str>,
    /// For a delay: in milliseconds.
    duration_ms: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EligibleRow<'a> {
    /// The name of the agent.
    agent: &'a str,
    /// Why the agent may judge.
    why: &'static str,
    /// The tools that the judge may look with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExcludedRow<'a> {
    /// The name of the agent.
    agent: &'a str,
    /// What the agent shares with the author.
    why: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GateRow")]
struct GateRuleRow<'a> {
    /// The name of the gate.
    name: &'a str,
    /// The tasks that it looks at.
    after_tasks: Vec<&'a str>,
    /// The tasks that wait for it.
    blocks_tasks: Vec<&'a str>,
    /// The bar for the mean score of the gate's tasks, in points; `null` where there is none.
    min_score: Option<f64>,
    /// Whether all of the tasks must be done.
    require_all_passed: bool,
    /// Whether work below the bar lets it pass.
    accept_below_threshold: bool,
    /// The reaction to a failure of the gate: `halt` or `continue`.
    on_fail: &'static str,
}

/// `null`: the limits allow more than anybody would count.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WorstCaseRow {
    /// The most attempts.
    attempts: Option<u64>,
    /// The most calls to judges.
    judge_calls: Option<u64>,
    /// Calls to judges where every call is repeated as often as it may be.
    judge_calls_with_repeats: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CostRow {
    /// Whether the cost is known.
    known: bool,
    /// The cost in words.
    text: String,
}

impl WorstCaseRow {
    const NOTHING: Self = Self { attempts: Some(0), judge_calls: Some(0), judge_calls_with_repeats: Some(0) };

    fn of(state: &State, id: TaskId) -> Self {
        let worst = engine::worst_case(state, id);
        Self {
            attempts: worst.attempts.map(u64::from),
            judge_calls: worst.judge_calls,
            judge_calls_with_repeats: worst.judge_calls_with_repeats,
        }
    }

    fn times(self, times: u64) -> Self {
        let many = |number: Option<u64>| Some(number?.saturating_mul(times));
        Self {
            attempts: many(self.attempts),
            judge_calls: many(self.judge_calls),
            judge_calls_with_repeats: many(self.judge_calls_with_repeats),
        }
    }

    fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        Self {
            attempts: sum(self.attempts, other.attempts),
            judge_calls: sum(self.judge_calls, other.judge_calls),
            judge_calls_with_repeats: sum(self.judge_calls_with_repeats, other.judge_calls_with_repeats),
        }
    }
}

impl<'a> PlanDocument<'a> {
    /// Adds the protected paths, each with its reason, and the warnings about them.
    #[must_use]
    pub fn protecting(mut self, (paths, warnings): (Vec<(String, String)>, Vec<String>)) -> Self {
        let rows = paths.into_iter().map(|(path, why)| ProtectedRow { path, why });
        self.protected = rows.collect();
        self.warnings.extend(warnings);
        self
    }

    /// The plan of a run that has not started.
    pub fn of(state: &'a State) -> Self {
        let plan = &*state.plan;
        let (waves, tasks) = tasks_by_wave(state);
        let worst_case = tasks.iter().fold(WorstCaseRow::NOTHING, |sum, task| sum.plus(task.worst_case));
        Self {
            mission: &plan.name,
            concurrency: plan.rules.concurrency,
            evaluate: plan.rules.settings.evaluate,
            eval_threshold: GivenThreshold::of(state).map(ThresholdRow::of),
            warnings: loosened(state).into_iter().chain(forewarnings(state)).chain(unjudged(state)).collect(),
            quality_threshold: plan.rules.quality_threshold.map(rules::domain::Points::to_f64),
            agents: agents(state),
            waves,
            tasks,
            gates: gates(state),
            holds: holds(state),
            middleware: MiddlewareRow::of(plan),
            protected: Vec::new(),
            not_taken: state.sums.counts.not_taken,
            worst_case,
            cost: CostRow { known: false, text: planned_words(plan) },
        }
    }
}

/// The titles of each wave, and all tasks.
fn tasks_by_wave(state: &State) -> (Vec<Vec<&str>>, Vec<TaskRow<'_>>) {
    let plan = &*state.plan;
    let (wave_of, visits) = (waves(plan), visits(plan));
    let selected = || plan.selected_ids().map(|id| (id, wave_of[id.index()]));
    let last = selected().map(|(_, wave)| wave).max();
    let mut by_wave = vec![Vec::new(); last.map_or(0, |wave| wave as usize + 1)];
    for (id, wave) in selected() {
        by_wave[wave as usize].push(plan.title(id));
    }
    let row = |(id, wave): (TaskId, u32)| {
        let row = TaskRow::of(state, id, wave + 1);
        TaskRow { worst_case: row.worst_case.times(visits.get(&id).copied().unwrap_or(1)), ..row }
    };
    let rows = selected().map(row).collect();
    (by_wave, rows)
}

/// How often tasks may begin from the start because verifications send work back; those that are not here, once.
fn visits(plan: &Plan) -> BTreeMap<TaskId, u64> {
    let mut visits: BTreeMap<TaskId, u64> = BTreeMap::new();
    for id in plan.selected_ids() {
        let Some(route) = plan.route(id).filter(|route| route.fail_goes_back) else {
            continue;
        };
        for again in engine::done_again(plan, route.fail) {
            let known = visits.entry(again).or_insert(1);
            *known = known.saturating_mul(u64::from(route.max_visits));
        }
    }
    visits
}

fn agents(state: &State) -> Vec<AgentRow<'_>> {
    let plan = &*state.plan;
    let mut tasks = vec![0; plan.agents.len()];
    for id in plan.selected_ids() {
        tasks[plan.task(id).agent.index()] += 1;
    }
    let rows = plan.agents.iter().zip(tasks).map(|(agent, tasks)| AgentRow {
        name: &agent.name,
        adapter: &agent.spec.adapter,
        role: agent.spec.role.as_deref(),
        reports_to: agent.reports_to.map(|manager| plan.agent_name(manager)),
        tasks,
        hooks: middleware::hooks(&agent.spec),
        middleware: middleware::around(plan, &agent.spec),
    });
    rows.collect()
}

fn holds(state: &State) -> Vec<HoldRuleRow<'_>> {
    let plan = &*state.plan;
    let taken = plan.barrier_ids().filter(|id| plan.barrier(*id).part == Part::Selected);
    let rows = taken.map(|id| {
        let hold = plan.barrier(id);
        let titles = |ids: &[TaskId]| {
            let taken = ids.iter().filter(|id| plan.task(**id).part == Part::Selected);
            taken.map(|id| plan.title(*id)).collect()
        };
        let (kind, duration_ms) = match hold.kind {
            BarrierKind::Checkpoint => ("checkpoint", None),
            BarrierKind::Delay(duration) => ("delay", Some(duration.0)),
        };
        HoldRuleRow {
            kind,
            name: &hold.name,
            after_tasks: titles(&hold.after),
            blocks_tasks: titles(&hold.blocks),
            duration_ms,
        }
    });
    rows.collect()
}

impl<'a> ApprovalRow<'a> {
    fn of(plan: &'a Plan, approval: &'a ApprovalPlan) -> Self {
        let name = |approver: &'a ApproverPlan| match approver {
            ApproverPlan::Person(name) => Cow::Borrowed(&**name),
            ApproverPlan::Agent(agent) => Cow::Borrowed(plan.agent_name(*agent)),
            ApproverPlan::Command(command) => Cow::Owned(format!("command: {command}")),
        };
        Self { gate: approval.gate.as_deref(), approvers: approval.approvers.iter().map(name).collect() }
    }
}

fn gates(state: &State) -> Vec<GateRuleRow<'_>> {
    let plan = &*state.plan;
    let evaluated = plan.gates.iter().filter(|gate| gate.part == Part::Selected);
    let rows = evaluated.map(|gate| GateRuleRow {
        name: &gate.name,
        after_tasks: plan.titles(&gate.after),
        blocks_tasks: gate
            .blocks
            .iter()
            .filter(|id| plan.task(**id).part == Part::Selected)
            .map(|id| plan.title(*id))
            .collect(),
        min_score: gate.min_score.map(rules::domain::Points::to_f64),
        require_all_passed: gate.require_all_passed,
        accept_below_threshold: gate.accept_below_threshold,
        on_fail: if gate.halt_on_fail { "halt" } else { "continue" },
    });
    rows.collect()
}

impl<'a> TaskRow<'a> {
    fn of(state: &'a State, id: TaskId, wave: u32) -> Self {
        let plan = &*state.plan;
        let task = plan.task(id);
        let judge = plan.judge(id);
        let eligible = eligible(state, id);
        let excluded = eligibility::excluded(plan, id, named(plan, id));
        let verification = task.verification();
        let decomposer = verification.and_then(|verification| verification.decomposer);
        let (seats, people) = judge.map_or((&[][..], &[][..]), |judge| (judge.seats(), judge.people()));
        let grader = verification.and_then(|verification| verification.grader);
        let lacks_grader = plan.rules.settings.evaluate
            && verification.is_some_and(|verification| verification.rubric.is_some())
            && grader.is_none();
        let note = if lacks_grader {
            Some("nobody may grade its criteria: a person will be asked")
        } else {
            note(state, id, (eligible.len(), excluded.len()))
        };
        let worker = &plan.agent(task.agent).spec;
        let approval = |approval: &'a std::sync::Arc<ApprovalPlan>| ApprovalRow::of(plan, approval);
        let eligible_row = |eligible: &Eligible| EligibleRow {
            agent: plan.agent_name(eligible.agent),
            why: eligible.why.as_str(),
            tools: judge_tools(plan, id, eligible.agent),
        };
        let excluded_row = |(agent, why): (AgentId, Dependence)| ExcludedRow {
            agent: plan.agent_name(agent),
            why: why.to_string(),
        };
        let bar = plan.bar(id);
        let gates = plan.gates_before.of(id).iter();
        let calibrated = task.panel().and_then(|panel| panel.calibrated.as_ref());
        Self {
            title: &task.title,
            agent: plan.agent_name(task.agent),
            // The agent of a verification judges, and does no work.
            agent_tools: worker.tools.filter(|tools| tools.any() && plan.route(id).is_none()),
            queue: worker.queue.as_deref(),
            wave,
            depends_on: plan.titles(plan.dependencies.of(id)),
            held_by: gates.map(|id| &*plan.gate(*id).name).collect(),
            exclusive: task.exclusive,
            side_effects: task.side_effects,
            approvals: task.approvals.iter().map(approval).collect(),
            target_files: &task.target_files,
            checks: task.checks().len(),
            criteria: verification.map_or(0, |v| v.criteria.len()),
            decomposer: decomposer.map(|agent| plan.agent_name(agent)),
            decomposer_excluded: verification.and_then(|v| v.decomposer_barred.as_deref()),
            grader: grader.map(|judge| plan.agent_name(judge)),
            grader_missing: lacks_grader,
            grader_tools: grader.map_or_else(Vec::new, |judge| judge_tools(plan, id, judge)),
            stages: step_rows(state, id),
            middleware: middleware::own(plan, id),
            judged_by: kind_of(judge),
            note,
            foundation: task.foundation,
            bar: bar.map(|bar| bar.points.to_f64()),
            bar_origin: bar.map(|bar| bar.origin),
            refer: calibrated.and_then(|calibrated| Some(calibrated.refer?.map(Points::to_f64))),
            seats: plan.agent_names(seats),
            people: plan.agent_names(people),
            eligible: eligible.iter().map(eligible_row).collect(),
            excluded: excluded.into_iter().map(excluded_row).collect(),
            worst_case: WorstCaseRow::of(state, id),
            edges: EdgesRow::of(state, id),
        }
    }
}

fn kind_of(judge: Option<&Judge>) -> &'static str {
    match judge {
        Some(Judge::Panel(_)) => "panel",
        Some(Judge::Evaluation(_)) => "evaluation",
        Some(Judge::Nobody) => "nobody",
        None => "checks",
    }
}

/// Why a task is judged like that, where the mission does not say it; with how many may judge it, and may not.
fn note(state: &State, id: TaskId, (eligible, excluded): (usize, usize)) -> Option<&'static str> {
    let judge = state.plan.judge(id)?;
    let wanted = judge.seats().len() + judge.people().len();
    match judge {
        Judge::Panel(_) | Judge::Evaluation(_) if wanted == 0 => {
            Some("nobody may review it: a person will be asked")
        }
        Judge::Panel(_) if eligible < wanted => {
            Some("fewer eligible reviewers than seats: they repeat, each time in a fresh context")
        }
        Judge::Panel(_) | Judge::Evaluation(_) => None,
        Judge::Nobody if !state.plan.rules.settings.evaluate => Some("reviews are switched off"),
        Judge::Nobody if state.plan.task(id).review == rules::mission::model::Review::None => {
            Some("review: none")
        }
        Judge::Nobody if excluded > 0 => Some("no agent that is able to judge is independent of its author"),
        Judge::Nobody => Some("no agent other than its author is able to judge"),
    }
}

/// The agents that may judge a task; empty for one that no reviewers judge.
fn eligible(state: &State, id: TaskId) -> Vec<Eligible> {
    match state.plan.judge(id) {
        Some(Judge::Panel(_) | Judge::Evaluation(_)) => {
            eligibility::reviewers(&state.plan, id, named(&state.plan, id))
        }
        Some(Judge::Nobody) | None => Vec::new(),
    }
}
