//! From the validated mission to the plan: names become ids, defaults and precedence are applied.
//!
//! Linear in tasks and edges. The precedence is that of the command line: flag, environment, mission, project, user,
//! default; the layers of files have been laid over each other when the mission was loaded.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use rust_decimal::Decimal;
use thin_vec::ThinVec;

use super::condition::Conditions;
use super::defaults::{self, DEFAULT_RUBRIC};
use super::growth::AddedTask;
use super::model::{
    self, Expectation, FailToPass, GateFailure, Grader, LlmReview, Mission, Settings, ViolationAction,
};
use super::plan::{
    AgentPlan, ApprovalPlan, ApproverPlan, AttemptLimits, ChannelPlan, Expectations, FinishCommand,
    FinishGate, GatePlan, HoldKind, HoldPlan, Panel, Part, Plan, Recipe, Requirement, Reviewers, Rules,
    RunOptions, Silence, SlaPlan, TaskPlan, Verification,
};
use super::read::Named;
use super::route::Route;
use super::scalar::{Fraction, Span};
use super::scrutiny::{self, Scrutiny};
use super::validate::order::going_back;
use crate::domain::{AgentId, Bar, BarOrigin, Edge, Millis, Points, TaskId};

/// The plan of a loaded mission.
///
/// # Panics
/// When a name in the mission is unknown, which [`super::load()`] has ruled out.
#[must_use]
pub fn compile(mission: Mission, options: &RunOptions) -> Plan {
    let mut rules = rules(&mission, options);
    let assignees = assignees(&mission);
    let gates = gates(&mission);
    let holds = holds(&mission);
    let mut approvals = approvals(&mission);
    let mut routes = routes(&mission);
    let dependencies = dependencies(&mission, &routes);
    let compiler = Compiler {
        settings: &mission.settings,
        options,
        scrutiny: scrutiny::of_mission(&mission, &agent_ids(&mission)),
        agents: agent_ids(&mission),
        rubrics: rubrics(&mission),
    };
    rules.scrutiny = Arc::clone(&compiler.scrutiny);
    let timeouts: Vec<Times> = mission
        .agents
        .0
        .iter()
        .map(|(_, agent)| Times::of(agent))
        .collect();
    let reports_to: Vec<Option<AgentId>> = mission
        .agents
        .0
        .iter()
        .map(|(_, agent)| agent.reports_to.as_deref().map(|name| compiler.agent(name)))
        .collect();
    let tasks = mission
        .tasks
        .into_iter()
        .zip(assignees)
        .enumerate()
        .map(|(index, (task, agent))| {
            let approvals = approvals.get_mut(index).map(std::mem::take).unwrap_or_default();
            TaskPlan {
                approvals,
                route: routes.remove(&index).map(Box::new),
                ..compiler.task(task, agent, timeouts[agent.index()])
            }
        })
        .collect::<Vec<_>>();
    let agents = mission
        .agents
        .0
        .into_iter()
        .zip(reports_to)
        .map(|((name, spec), reports_to)| AgentPlan {
            name: Arc::from(name),
            removed: false,
            reports_to,
            spec,
        })
        .collect();
    let channels = mission.channels.0.into_iter();
    let channels = channels.map(|(name, spec)| ChannelPlan { name, spec }).collect();
    let plan = Plan::new(mission.name.into(), agents, tasks, gates, &dependencies, rules);
    let mut plan = plan.with_holds(holds).with_returns();
    plan.recipe = Arc::new(Recipe {
        settings: mission.settings,
        options: options.clone(),
    });
    plan.channels = Arc::new(channels);
    for (index, wave) in waves(&plan).into_iter().enumerate() {
        plan.tasks[index].wave = wave;
    }
    super::foundation::mark(&mut plan);
    super::selection::select(&mut plan, &options.only);
    plan
}

/// A task that came while the run worked, as if it stood in the mission.
pub(super) fn compile_added(plan: &Plan, added: &AddedTask) -> TaskPlan {
    let Recipe { settings, options } = &*plan.recipe;
    let compiler = Compiler {
        settings,
        options,
        scrutiny: Arc::clone(&plan.rules.scrutiny),
        agents: HashMap::new(),
        rubrics: HashMap::new(),
    };
    let task = model::Task {
        title: added.title.clone(),
        description: added.description.clone(),
        kind: added.kind,
        target_files: added.target_files.clone().into(),
        ..model::Task::default()
    };
    let timeout = Times::of(&plan.agent(added.agent).spec);
    TaskPlan {
        priority: added.priority.unwrap_or(Decimal::ONE),
        approvals: approvals_of_added(plan, settings, task.clone(), added.agent),
        ..compiler.task(task, added.agent, timeout)
    }
}

/// The approval gates of a mission hold what is added to it like what stands in it.
fn approvals_of_added(
    plan: &Plan,
    settings: &Settings,
    task: model::Task,
    agent: AgentId,
) -> Vec<Arc<ApprovalPlan>> {
    if settings.approval_gates.is_none() {
        return Vec::new();
    }
    let agents = plan.agents.iter();
    let mission = Mission {
        name: plan.name.as_str().into(),
        agents: Named(
            agents
                .map(|agent| (Box::from(&*agent.name), agent.spec.clone()))
                .collect(),
        ),
        settings: settings.clone(),
        tasks: vec![model::Task {
            assign_to: Some(Box::from(&*plan.agent(agent).name)),
            ..task
        }],
        ..Mission::default()
    };
    approvals(&mission).pop().unwrap_or_default()
}

/// Ids of agents by name.
fn agent_ids(mission: &Mission) -> HashMap<Box<str>, AgentId> {
    let names = mission.agents.0.iter().enumerate();
    names
        .map(|(index, (name, _))| (name.clone(), AgentId::from_index(index)))
        .collect()
}

/// Ids of tasks by title.
fn task_ids(mission: &Mission) -> HashMap<&str, TaskId> {
    let titles = mission.tasks.iter().enumerate();
    titles
        .map(|(index, task)| (&*task.title, TaskId::from_index(index)))
        .collect()
}

fn known<T: Copy>(found: Option<&T>) -> T {
    *found.expect("validation has looked for every name")
}

/// The agent of each task.
fn assignees(mission: &Mission) -> Vec<AgentId> {
    let ids = agent_ids(mission);
    let agent = |task| known(mission.assignee(task).and_then(|name| ids.get(name)));
    mission.tasks.iter().map(agent).collect()
}

/// Where the edges of each verification lead, by its index.
fn routes(mission: &Mission) -> HashMap<usize, Route> {
    let back = going_back(mission);
    let is_one = |task: &model::Task| task.kind == model::TaskType::Verification;
    if !mission.tasks.iter().any(is_one) {
        return HashMap::new();
    }
    let ids = task_ids(mission);
    let target = |task: &model::Task, edge| known(task.edge(edge).and_then(|title| ids.get(title)));
    let verifications = mission.tasks.iter().enumerate().filter(|(_, task)| is_one(task));
    verifications
        .map(|(index, task)| {
            let route = Route {
                pass: target(task, Edge::Pass),
                fail: target(task, Edge::Fail),
                refer: target(task, Edge::Refer),
                fail_goes_back: back.contains(&index),
                max_visits: task
                    .max_visits
                    .map_or(defaults::MAX_VISITS, |most| u32::from(most.get())),
            };
            (index, route)
        })
        .collect()
}

/// `dependsOn` as pairs: a task, and one that it needs. What an edge of a verification leads on to needs it.
fn dependencies(mission: &Mission, routes: &HashMap<usize, Route>) -> Vec<(u32, TaskId)> {
    let mut pairs = declared_dependencies(mission);
    let mut nodes: Vec<_> = routes.iter().collect();
    nodes.sort_unstable_by_key(|(index, _)| **index);
    let mut known: HashSet<(u32, TaskId)> = HashSet::new();
    if !nodes.is_empty() {
        known.extend(pairs.iter().copied());
    }
    for (index, route) in nodes {
        let verification = TaskId::from_index(*index);
        for (_, target) in route.forward() {
            if known.insert((target.0, verification)) {
                pairs.push((target.0, verification));
            }
        }
    }
    pairs
}

fn declared_dependencies(mission: &Mission) -> Vec<(u32, TaskId)> {
    let ids = task_ids(mission);
    let pairs_of = |(index, task): (usize, &model::Task)| {
        let from = TaskId::from_index(index).0;
        task.depends_on
            .iter()
            .map(|title| (from, known(ids.get(&**title))))
            .collect::<Vec<_>>()
    };
    mission.tasks.iter().enumerate().flat_map(pairs_of).collect()
}

fn gates(mission: &Mission) -> Vec<GatePlan> {
    let ids = task_ids(mission);
    let tasks = |titles: &[Box<str>]| titles.iter().map(|title| known(ids.get(&**title))).collect();
    mission
        .gates
        .iter()
        .map(|gate| GatePlan {
            name: gate.name.clone(),
            part: Part::Selected,
            after: tasks(&gate.after_tasks),
            blocks: tasks(&gate.blocks_tasks),
            min_score: gate.min_score,
            require_all_passed: gate.require_all_passed,
            accept_below_threshold: gate.accept_below_threshold,
            halt_on_fail: gate.on_fail == GateFailure::Halt,
            notify: gate.notify_channels.clone(),
        })
        .collect()
}

fn holds(mission: &Mission) -> Vec<HoldPlan> {
    if mission.checkpoints.is_empty() && mission.delays.is_empty() {
        return Vec::new();
    }
    let ids = task_ids(mission);
    let tasks = |titles: &[Box<str>]| titles.iter().map(|title| known(ids.get(&**title))).collect();
    let plan = |hold: &model::Hold, kind| HoldPlan {
        name: hold.name.clone(),
        kind,
        part: Part::Selected,
        after: tasks(&hold.after_tasks),
        blocks: tasks(&hold.blocks_tasks),
        message: hold.message.clone(),
        notify: hold.notify_channels.clone(),
    };
    let delay = |hold: &model::Hold| HoldKind::Delay(hold.duration.unwrap_or_default());
    let checkpoints = mission.checkpoints.iter();
    let checkpoints = checkpoints.map(|hold| plan(hold, HoldKind::Checkpoint));
    let delays = mission.delays.iter().map(|hold| plan(hold, delay(hold)));
    checkpoints.chain(delays).collect()
}

/// What must be agreed to before each task starts: its own approval, then the gates that hold it, in their order.
/// Empty where the mission asks for none.
fn approvals(mission: &Mission) -> Vec<Vec<Arc<ApprovalPlan>>> {
    let gates = mission.settings.approval_gates.as_deref().unwrap_or_default();
    if gates.is_empty() && mission.tasks.iter().all(|task| task.requires_approval.is_none()) {
        return Vec::new();
    }
    let ids = agent_ids(mission);
    let conditions = Conditions::new(mission);
    let approver = |approver: &model::Approver| match approver {
        model::Approver::Command(command) => ApproverPlan::Command(command.clone()),
        model::Approver::Named(name) => {
            let agent = ids.get(name).filter(|id| {
                let (_, spec) = &mission.agents.0[id.index()];
                spec.adapter != model::Adapter::Human
            });
            agent.map_or_else(
                || ApproverPlan::Person(name.clone()),
                |id| ApproverPlan::Agent(*id),
            )
        }
    };
    let gates: Vec<(Option<&str>, Arc<ApprovalPlan>)> = gates
        .iter()
        .map(|gate| {
            let plan = ApprovalPlan {
                gate: Some(gate.name.clone()),
                approvers: gate.approvers.iter().map(approver).collect(),
                timeout: gate.timeout,
                message: gate.message.clone(),
            };
            (gate.when.as_deref(), Arc::new(plan))
        })
        .collect();
    let of_task = |task: &model::Task| {
        let own = task.requires_approval.iter().map(|own| {
            Arc::new(ApprovalPlan {
                gate: None,
                approvers: own.approvers.iter().map(approver).collect(),
                timeout: own.timeout,
                message: own.message.clone(),
            })
        });
        // A condition that cannot be decided holds: validation has refused it, and asking does no harm.
        let holds =
            |when: &Option<&str>| when.is_none_or(|when| conditions.holds(when, task).unwrap_or(true));
        let asking = gates.iter().filter(|(when, _)| holds(when));
        let author = known(mission.assignee(task).and_then(|name| ids.get(name)));
        own.chain(asking.map(|(_, gate)| Arc::clone(gate)))
            .map(|approval| without_author(approval, author))
            .collect()
    };
    mission.tasks.iter().map(of_task).collect()
}

/// An agent does not agree to its own task.
fn without_author(approval: Arc<ApprovalPlan>, author: AgentId) -> Arc<ApprovalPlan> {
    let author = ApproverPlan::Agent(author);
    if !approval.approvers.contains(&author) {
        return approval;
    }
    let mut approval = (*approval).clone();
    approval.approvers.retain(|approver| *approver != author);
    Arc::new(approval)
}

fn rules(mission: &Mission, options: &RunOptions) -> Rules {
    let settings = &mission.settings;
    let concurrency = options.jobs.and_then(NonZeroU32::new).or(settings.concurrency);
    let workspace = mission.workspace.as_deref().unwrap_or(".");
    Rules {
        concurrency: concurrency.map_or_else(defaults::processors, NonZeroU32::get),
        orchestrator: orchestrator(mission),
        max_question_rounds: settings
            .max_question_rounds
            .unwrap_or(defaults::MAX_QUESTION_ROUNDS),
        max_resolution_attempts: settings
            .max_resolution_attempts
            .unwrap_or(defaults::MAX_RESOLUTION_ATTEMPTS),
        on_dependency_failed: settings
            .on_dependency_failed
            .unwrap_or_else(|| defaults::ON_DEPENDENCY_FAILED.into_iter().collect()),
        evaluate: !options.no_eval && settings.evaluate.unwrap_or(true),
        eval_bar: options
            .eval_threshold
            .or(settings.eval_threshold)
            .unwrap_or_else(Bar::default_bar),
        fail_open_on_unparsed_eval: settings.fail_open_on_unparsed_eval.unwrap_or(false),
        independence: settings.independence.unwrap_or_default(),
        max_assessment_retries: settings
            .max_assessment_retries
            .unwrap_or(defaults::MAX_ASSESSMENT_RETRIES),
        auto_reject_on_timeout: settings.auto_reject_on_timeout.unwrap_or(false),
        quality_threshold: mission.quality_threshold,
        foundation: settings.foundation.unwrap_or(true),
        max_delegation_depth: settings
            .max_delegation_depth
            .unwrap_or(defaults::MAX_DELEGATION_DEPTH),
        max_delegations: settings.max_delegations.unwrap_or(defaults::MAX_DELEGATIONS),
        on_exhausted: mission.on_exhausted,
        verify_prior_feedback: settings.verify_prior_feedback.unwrap_or(true),
        judge_breaker: settings.judge_breaker.unwrap_or(defaults::JUDGE_BREAKER),
        protect: settings.protect.to_vec(),
        // Agents see this path: without the `.` that a file may say.
        workspace: options.mission_folder.join(workspace).components().collect(),
        deadline: mission.deadline,
        sla: sla(&settings.sla),
        budget: model::Budget {
            max_cost: options.max_cost,
            max_tokens: options.max_tokens,
            ..model::Budget::default()
        }
        .or(mission.budget)
        .or(settings.budget),
        prices: settings.prices.0.clone(),
        default_channels: settings.default_channels.clone().unwrap_or_default(),
        scrutiny: Arc::default(),
    }
}

fn sla(sla: &model::Sla) -> SlaPlan {
    let channels = |names: &Option<Box<[Box<str>]>>| names.clone().unwrap_or_default();
    SlaPlan {
        warning: sla
            .warning_threshold
            .map_or_else(|| SlaPlan::default().warning, Fraction::points),
        warning_channels: channels(&sla.warning_channels),
        violation_channels: channels(&sla.violation_channels),
        fails: sla.violation_action == Some(ViolationAction::Fail),
    }
}

/// The agent that is named as orchestrator. A person who is named is a person: whoever is asked then is asked from outside.
fn orchestrator(mission: &Mission) -> Option<AgentId> {
    let name = mission.settings.orchestrator.as_deref()?;
    let agents = &mission.agents.0;
    let index = agents.iter().position(|(known, _)| **known == *name)?;
    (agents[index].1.adapter != model::Adapter::Human).then(|| AgentId::from_index(index))
}

/// What an agent says of the time of its turns.
#[derive(Clone, Copy)]
struct Times {
    timeout: Option<Millis>,
    stale: Option<Millis>,
}

impl Times {
    fn of(agent: &model::Agent) -> Self {
        Self {
            timeout: agent.timeout,
            stale: agent.stale_threshold,
        }
    }
}

/// What every task is compiled with.
struct Compiler<'m> {
    settings: &'m Settings,
    options: &'m RunOptions,
    scrutiny: Arc<Scrutiny>,
    agents: HashMap<Box<str>, AgentId>,
    rubrics: HashMap<Box<str>, Arc<model::Rubric>>,
}

impl Compiler<'_> {
    fn agent(&self, name: &str) -> AgentId {
        known(self.agents.get(name))
    }

    fn task(&self, task: model::Task, agent: AgentId, of_agent: Times) -> TaskPlan {
        // A verification that declares nothing else is graded by a judge.
        let is_verification = task.kind == model::TaskType::Verification;
        let asks_a_judge = is_verification && task.expectations.is_empty();
        let turn_timeout = task
            .max_duration
            .map(Span::get)
            .or(of_agent.timeout)
            .or(self.settings.task_timeout);
        TaskPlan {
            limits: self.limits(&task),
            scrutiny: if is_verification {
                // It does no work that anybody could look at once more.
                Arc::default()
            } else {
                scrutiny::of_task(
                    &self.scrutiny,
                    &task.stages,
                    task.autonomy,
                    task.stakes,
                    &self.agents,
                )
            },
            title: task.title,
            part: Part::Selected,
            deadline: task.deadline.map(|deadline| *deadline),
            description: task.description,
            agent,
            delegated_by: task.delegated_by.map(|name| self.agent(&name)),
            priority: task.priority.map_or(Decimal::ONE, super::Positive::get),
            kind: task.kind,
            exclusive: task.exclusive,
            side_effects: task.side_effects.unwrap_or(false),
            approvals: Vec::new(),
            requires_tool_calls: task.requires_tool_calls,
            silence: Silence::of(
                task.stale_threshold.map(Span::get).or(of_agent.stale),
                self.settings.stale_threshold,
            ),
            turn_timeout: turn_timeout.unwrap_or(defaults::TASK_TIMEOUT),
            review: task.review,
            on_exhausted: task.on_exhausted,
            on_dependency_failed: task.on_dependency_failed,
            workspace: task.workspace.map(|path| *path),
            target_files: task.target_files.into_iter().collect(),
            protect: task.protect.into(),
            expectations: self.expectations(task.expectations),
            verification: verification(task.verification, task.acceptance, asks_a_judge, &self.rubrics).map(
                |verification| {
                    let decomposer = task.decomposer.map(|name| self.agent(&name));
                    Box::new(Verification {
                        decomposer,
                        ..*verification
                    })
                },
            ),
            route: None,
            finish: finish_gate(task.verify, self.options),
            foundation: false,
            wave: 0,
            provenance: None,
        }
    }

    fn limits(&self, task: &model::Task) -> AttemptLimits {
        let fixes = task.max_fix_attempts.or(self.settings.max_fix_attempts);
        let retries = task.max_retries.or(self.settings.max_retries);
        let evaluated = self.settings.max_attempts.map(NonZeroU32::get);
        AttemptLimits {
            max_fix_attempts: fixes.unwrap_or(defaults::MAX_FIX_ATTEMPTS),
            max_retries: retries.unwrap_or(defaults::MAX_RETRIES),
            max_attempts: self
                .options
                .max_attempts
                .or(task.max_attempts.map(NonZeroU32::get)),
            max_evaluated_attempts: evaluated.unwrap_or(defaults::MAX_EVALUATED_ATTEMPTS),
        }
    }

    /// An empty list declares nothing, like none at all.
    fn expectations(&self, declared: ThinVec<Expectation>) -> Option<Box<Expectations>> {
        if declared.is_empty() {
            return None;
        }
        let mut expectations = Expectations::default();
        for expectation in declared {
            match expectation {
                Expectation::Check(check) => expectations.checks.push(check),
                Expectation::Review(review) => expectations.panel = Some(self.panel(*review)),
            }
        }
        Some(Box::new(expectations))
    }

    fn panel(&self, review: LlmReview) -> Panel {
        let bar = review.threshold.map(|points| Bar {
            points,
            origin: BarOrigin::Mission,
        });
        let dimensions = review.dimensions;
        let prior_feedback = review
            .verify_prior_feedback
            .or(self.settings.verify_prior_feedback);
        Panel {
            criteria: review.criteria.map(String::from),
            dimensions: if dimensions.is_empty() {
                defaults::default_dimensions()
            } else {
                dimensions
            },
            bar: bar.unwrap_or_else(Bar::default_bar),
            reviewers: match review.reviewers {
                None => Reviewers::Seats(defaults::SEATS),
                Some(model::Reviewers::Seats(seats)) => Reviewers::Seats(seats),
                Some(model::Reviewers::Named(names)) => {
                    Reviewers::Named(names.iter().map(|name| self.agent(name)).collect())
                }
            },
            independence: review
                .independence
                .or(self.settings.independence)
                .unwrap_or_default(),
            consensus: review.consensus.or(self.settings.consensus).unwrap_or_default(),
            mode: review.panel.or(self.settings.panel).unwrap_or_default(),
            refer_below: review
                .refer_below
                .or(self.settings.refer_below)
                .map(crate::mission::scalar::Positive::get),
            verify_prior_feedback: prior_feedback.unwrap_or(true),
            judge_breaker: review.judge_breaker,
        }
    }
}

/// The finish gate of a task, where it requires anything: what compiles comes first, then tests, then other commands.
fn finish_gate(declared: Option<Box<model::FinishGate>>, options: &RunOptions) -> Option<Box<FinishGate>> {
    let declared = *declared.filter(|declared| !declared.is_empty())?;
    let command = |shows, command: &str| FinishCommand {
        shows,
        command: command.to_owned(),
    };
    let mut commands = Vec::new();
    if declared.require_compilation {
        let compile = declared.compile_command.as_deref();
        let compile = compile.unwrap_or(defaults::COMPILE_COMMAND);
        commands.push(command(Requirement::Compilation, compile));
    }
    let mut tests = declared.required_tests.into_vec();
    match declared.fail_to_pass {
        None => {}
        Some(FailToPass::Tests(more)) => tests.extend(more),
        Some(FailToPass::File(file)) => match options.test_lists.get(&*file) {
            Some(more) => tests.extend(more.iter().map(|test| Box::from(&**test))),
            // Whoever starts a run freezes its lists. Without this one nothing could be shown, and nothing passes.
            None => commands.push(command(Requirement::Test(file), "exit 1")),
        },
    }
    for test in tests {
        let shows = Requirement::Test(test);
        if !commands.iter().any(|known| known.shows == shows) {
            commands.push(command(
                shows,
                declared.test_command.as_deref().unwrap_or("exit 1"),
            ));
        }
    }
    let others = declared.commands.iter();
    commands.extend(others.map(|other| command(Requirement::Command, other)));
    Some(Box::new(FinishGate {
        commands,
        require_file_changes: declared.require_file_changes,
        max_nudges: declared.max_attempts.unwrap_or(defaults::MAX_NUDGES),
        max_compile_nudges: declared
            .compilation_max_attempts
            .unwrap_or(defaults::MAX_COMPILE_NUDGES),
    }))
}

fn rubrics(mission: &Mission) -> HashMap<Box<str>, Arc<model::Rubric>> {
    let rubrics = mission.rubrics.0.iter();
    rubrics
        .map(|(name, rubric)| (name.clone(), Arc::new(rubric.clone())))
        .collect()
}

/// The criteria of a task and how they are graded: by plain facts, else by a judge with a rubric.
fn verification(
    declared: Option<Box<model::Verification>>,
    acceptance: ThinVec<Box<str>>,
    asks_a_judge: bool,
    rubrics: &HashMap<Box<str>, Arc<model::Rubric>>,
) -> Option<Box<Verification>> {
    if declared.is_none() && acceptance.is_empty() && !asks_a_judge {
        return None;
    }
    let declared = declared.unwrap_or_default();
    let acceptance: Vec<String> = acceptance.into_iter().map(String::from).collect();
    let rubric = (declared.grader == Grader::Llm).then(|| {
        let name = declared.rubric.as_deref().unwrap_or(DEFAULT_RUBRIC);
        let own = rubrics.get(name).cloned();
        own.unwrap_or_else(|| Arc::new(model::Rubric::built_in(name).unwrap_or_default()))
    });
    let criteria = rubric.as_ref().map_or_else(
        || acceptance.clone(),
        |rubric| {
            rubric
                .criteria
                .iter()
                .map(|criterion| String::from(&*criterion.name))
                .collect()
        },
    );
    let least = rubric.as_ref().and_then(|rubric| rubric.min_confidence);
    let least = least.map_or(Points::whole(defaults::MIN_CONFIDENCE), Fraction::points);
    let bar = declared.threshold.map(|points| Bar {
        points,
        origin: BarOrigin::Mission,
    });
    Some(Box::new(Verification {
        min_confidence: match declared.min_confidence.map(Fraction::points) {
            // A task may ask for more certainty than its rubric, never for less.
            Some(own) if rubric.is_some() => own.max(least),
            Some(own) => own,
            None => least,
        },
        rubric,
        acceptance,
        decomposer: None,
        criteria,
        on_refer: declared.on_refer,
        bar: bar.unwrap_or_else(Bar::default_bar),
    }))
}

/// The wave of each task, from 0: one more than that of the last task it waits for, by `dependsOn` or through a gate.
///
/// Linear in tasks, gates and edges. Tasks in a circle, which a loaded mission does not have, stay in wave 0.
#[must_use]
pub fn waves(plan: &Plan) -> Vec<u32> {
    let tasks = plan.tasks.len();
    let mut wave = vec![0u32; tasks];
    let before = |task| plan.gates_before.of(task).len() + plan.holds_before.of(task).len();
    let mut open: Vec<usize> = (0..tasks)
        .map(|task| plan.dependencies.of(task).len() + before(task))
        .collect();
    // Gates, then holds: both stand between tasks.
    let between = |task: usize| {
        let holds = plan.holds_after.of(task).iter();
        let holds = holds.map(|hold| plan.gates.len() + hold.index());
        plan.gates_after
            .of(task)
            .iter()
            .map(|gate| gate.index())
            .chain(holds)
    };
    let sides: Vec<(&[TaskId], &[TaskId])> = (plan.gates.iter().map(|gate| (&*gate.after, &*gate.blocks)))
        .chain(plan.holds.iter().map(|hold| (&*hold.after, &*hold.blocks)))
        .collect();
    let mut gate_open: Vec<usize> = sides.iter().map(|(after, _)| after.len()).collect();
    let mut gate_wave = vec![0u32; sides.len()];
    let mut ready: Vec<usize> = (0..tasks).filter(|task| open[*task] == 0).collect();
    while let Some(task) = ready.pop() {
        let next = wave[task] + 1;
        let mut release = |dependent: TaskId, next: u32| {
            let dependent = dependent.index();
            wave[dependent] = wave[dependent].max(next);
            open[dependent] -= 1;
            if open[dependent] == 0 {
                ready.push(dependent);
            }
        };
        plan.dependents
            .of(task)
            .iter()
            .for_each(|dependent| release(*dependent, next));
        for index in between(task) {
            gate_wave[index] = gate_wave[index].max(next);
            gate_open[index] -= 1;
            if gate_open[index] == 0 {
                sides[index]
                    .1
                    .iter()
                    .for_each(|blocked| release(*blocked, gate_wave[index]));
            }
        }
    }
    wave
}
