//! From the validated mission to the plan: names become ids, defaults and precedence are applied.
//!
//! Linear in tasks and edges. The precedence is that of the command line: flag, environment, mission, project, user,
//! default; the layers of files have been laid over each other when the mission was loaded.
//!
//! | file | what |
//! |---|---|
//! | `agreement` | whose agreement each task needs before it starts |
//! | `order` | dependencies, edges, gates, holds, and the waves that follow from them |
//! | `rules` | the rules of a whole run |

mod agreement;
mod order;
mod rules;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use rust_decimal::Decimal;
use thin_vec::ThinVec;

use super::confinement::Confinement;
use super::finish_plan::{FinishCommand, FinishGatePlan, ListOf, Requirement};
use super::further_stages::{self, FurtherStages};
use super::growth::AddedTask;
use super::model::{
    AgentPlan, AttemptLimits, ChannelPlan, CompileContext, IdleTimeout, Part, Plan, TaskPlan,
};
use super::pipeline::{Judge, Panel, PanelSeats, StagePlan, VerificationPlan};
use super::run_options::RunOptions;
use crate::domain::{AgentId, Bar, BarOrigin, Millis, Points};
use crate::mission::{
    file::{
        keys::Named,
        scalar::{Fraction, Positive, Span, TryCount},
    },
    model::{self, Autonomy, Expectation, Grader, LlmReview, Mission, Settings, Stakes, TestList, defaults},
    validate::budget::too_dear,
};

use agreement::{approvals, approvals_of_added};
pub use order::waves;
use order::{TaskIds, dependencies, gates, holds, plan_review, routes};
use rules::rules;

/// The plan of a loaded mission.
///
/// # Panics
/// When a name in the mission is unknown, which [`crate::mission::file::load()`] has ruled out.
pub fn compile(mission: Mission, options: &RunOptions) -> Plan {
    let rules = rules(&mission, options);
    let assignees = assignees(&mission);
    let ids = TaskIds::of(&mission);
    let gates = gates(&mission, &ids);
    let mut holds = holds(&mission, &ids);
    let mut approvals = approvals(&mission);
    let mut routes = routes(&mission, &ids);
    let dependencies = dependencies(&mission, &ids, &routes);
    let scrutiny = further_stages::of_mission(&mission, &agent_ids(&mission));
    let shared = rules.budget.with_share();
    let leaves_enough = too_dear(&mission, &shared).is_none();
    let compiler = Compiler {
        settings: &mission.settings,
        options,
        scrutiny: &scrutiny,
        isolation: rules.isolation,
        agents: agent_ids(&mission),
        rubrics: rubrics(&mission),
    };
    let timeouts: Vec<TurnLimits> = mission.agents.0.iter().map(|(_, agent)| TurnLimits::of(agent)).collect();
    let names_bar: Vec<bool> = mission.tasks.iter().map(names_bar).collect();
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
    let agents = agents(mission.agents, &compiler);
    let channels = mission.channels.0.into_iter();
    let channels = channels.map(|(name, mut spec)| {
        let of_settings = Some(rules.settings.sandbox);
        spec.sandbox = options.sandbox.or(spec.sandbox).or(of_settings);
        ChannelPlan { name, spec }
    });
    let channels = channels.collect();
    let is_named = mission.settings.middleware.coordination.is_some();
    let review = plan_review(&tasks, &rules.coordination, is_named, &holds);
    holds.extend(review);
    let plan = Plan::new(mission.name.into(), agents, tasks, gates, &dependencies, rules);
    let mut plan = plan.with_barriers(holds).with_returns();
    plan.recipe = Arc::new(CompileContext { settings: mission.settings, options: options.clone(), scrutiny });
    plan.channels = Arc::new(channels);
    for (index, wave) in waves(&plan).into_iter().enumerate() {
        plan.tasks[index].wave = wave;
    }
    super::foundation::mark(&mut plan, &names_bar);
    super::selection::select(&mut plan, &options.only);
    if leaves_enough && plan.may_keep_a_share() {
        plan.rules.budget = shared;
    }
    plan
}

fn agents(agents: Named<model::Agent>, compiler: &Compiler<'_>) -> Vec<AgentPlan> {
    let plan = |(name, spec): (Box<str>, model::Agent)| AgentPlan {
        name: Arc::from(name),
        removed: false,
        reports_to: spec.reports_to.as_deref().map(|name| compiler.agent(name)),
        spec,
    };
    agents.0.into_iter().map(plan).collect()
}

/// Whether a task says itself what a score of its work must reach.
fn names_bar(task: &model::Task) -> bool {
    let of_panel = task.expectations.iter().any(|expectation| match expectation {
        Expectation::Review(review) => review.threshold.is_some(),
        Expectation::Check(_) => false,
    });
    of_panel || task.verification.as_ref().is_some_and(|declared| declared.threshold.is_some())
}

/// A task that came while the run worked, as if it stood in the mission.
pub fn compile_added(plan: &Plan, added: &AddedTask) -> TaskPlan {
    let CompileContext { settings, options, scrutiny } = &*plan.recipe;
    let compiler = Compiler {
        settings,
        options,
        scrutiny,
        isolation: plan.rules.isolation,
        agents: HashMap::new(),
        rubrics: HashMap::new(),
    };
    let task = model::Task {
        title: added.title.clone(),
        description: added.description.clone(),
        kind: added.kind,
        target_files: added.target_files.clone().into(),
        acceptance: added.acceptance.clone().into(),
        verify: added.verify.clone(),
        ..model::Task::default()
    };
    let timeout = TurnLimits::of(&plan.agent(added.agent).spec);
    TaskPlan {
        priority: added.priority.unwrap_or(Decimal::ONE),
        approvals: approvals_of_added(plan, settings, task.clone(), added.agent),
        ..compiler.task(task, added.agent, timeout)
    }
}

/// Ids of agents by name.
fn agent_ids(mission: &Mission) -> HashMap<Box<str>, AgentId> {
    let names = mission.agents.0.iter().enumerate();
    names.map(|(index, (name, _))| (name.clone(), AgentId::from_index(index))).collect()
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

/// The limits of an agent on the time of its turns.
#[derive(Clone, Copy)]
struct TurnLimits {
    timeout: Option<Millis>,
    stale: Option<Millis>,
}

impl TurnLimits {
    fn of(agent: &model::Agent) -> Self {
        Self { timeout: agent.timeout, stale: agent.stale_threshold }
    }
}

/// Everything that a task is compiled with.
struct Compiler<'m> {
    settings: &'m Settings,
    options: &'m RunOptions,
    scrutiny: &'m FurtherStages,
    isolation: model::Isolation,
    agents: HashMap<Box<str>, AgentId>,
    rubrics: HashMap<Box<str>, Arc<model::Rubric>>,
}

impl Compiler<'_> {
    fn agent(&self, name: &str) -> AgentId {
        known(self.agents.get(name))
    }

    fn task(&self, task: model::Task, agent: AgentId, of_agent: TurnLimits) -> TaskPlan {
        let is_verification = task.kind == model::TaskType::Verification;
        let (priority, side_effects) = (task.priority().get(), task.side_effects());
        let turn_timeout = task.max_duration.map(Span::get).or(of_agent.timeout);
        TaskPlan {
            confinement: Confinement::of_task(&task),
            limits: self.limits(&task),
            pipeline: self.pipeline(&task).into(),
            // It does no work that anybody could look at once more.
            autonomy: if is_verification {
                Autonomy::default()
            } else {
                task.autonomy.unwrap_or(self.scrutiny.autonomy)
            },
            stakes: if is_verification {
                Stakes::default()
            } else {
                task.stakes.unwrap_or(self.scrutiny.stakes)
            },
            title: task.title,
            part: Part::Selected,
            deadline: task.deadline.map(|deadline| *deadline),
            description: task.description,
            assigned: agent,
            agent,
            agents_before: ThinVec::new(),
            delegated_by: task.delegated_by.map(|name| self.agent(&name)),
            priority,
            kind: task.kind,
            exclusive: task.exclusive,
            side_effects,
            approvals: Vec::new(),
            requires_tool_calls: task.requires_tool_calls,
            silence: IdleTimeout::of(
                task.stale_threshold.map(Span::get).or(of_agent.stale),
                self.settings.stale_threshold(),
            ),
            turn_timeout: turn_timeout.unwrap_or_else(|| self.settings.task_timeout()),
            review: task.review,
            on_exhausted: task.on_exhausted,
            on_dependency_failed: task.on_dependency_failed,
            workspace: task.workspace.map(|path| *path),
            // A verification looks at what was accepted so far, in a worktree where that lies in worktrees.
            isolation: match task.isolation.unwrap_or(self.isolation) {
                model::Isolation::Copy | model::Isolation::Temp if is_verification => {
                    model::Isolation::Shared
                }
                isolation => isolation,
            },
            target_files: task.target_files,
            protect: task.protect,
            baseline: task.baseline,
            proof: task.proof,
            tests: task.tests,
            may_change_tests: task.may_change_tests,
            checks_may_write: task.checks_may_write,
            scratch: task.scratch,
            acceptance: task.acceptance,
            route: None,
            middleware: task.middleware,
            foundation: false,
            wave: 0,
            provenance: None,
        }
    }

    fn limits(&self, task: &model::Task) -> AttemptLimits {
        let (fixes, retries) = (task.max_fix_attempts, task.max_retries);
        AttemptLimits {
            max_fix_attempts: fixes.map_or_else(|| self.settings.max_fix_attempts(), TryCount::get),
            max_retries: retries.map_or_else(|| self.settings.max_retries(), TryCount::get),
            max_attempts: self.options.max_attempts.or(task.max_attempts.map(NonZeroU32::get)),
            max_evaluated_attempts: self.settings.max_attempts().get(),
        }
    }

    /// The stages that the task declares. Their judges are resolved once all agents and tasks are known.
    fn pipeline(&self, task: &model::Task) -> Vec<StagePlan> {
        let is_verification = task.kind == model::TaskType::Verification;
        let checks = task.expectations.iter().filter_map(|expectation| match expectation {
            Expectation::Check(check) => Some(check.clone()),
            Expectation::Review(_) => None,
        });
        let panel = task.expectations.iter().find_map(|expectation| match expectation {
            Expectation::Review(review) => Some(Judge::Panel(self.panel(review))),
            Expectation::Check(_) => None,
        });
        // A verification that declares nothing else is graded by a judge.
        let asks_a_judge = is_verification && task.expectations.is_empty();
        let is_graded = task.verification.is_some() || task.decomposer.is_some() || asks_a_judge;
        let before = [
            finish_gate(task.verify.as_deref(), self.options).map(StagePlan::Finish),
            Some(StagePlan::Checks(checks.collect())),
            panel.map(StagePlan::Judge),
            is_graded.then(|| StagePlan::Verification(self.verification(task))),
        ];
        let behind = if is_verification { Vec::new() } else { self.scrutiny.pipeline(task, &self.agents) };
        before.into_iter().flatten().chain(behind).collect()
    }

    /// How the criteria of a task are graded: by plain facts, else by a judge with a rubric. Criteria alone ask for no
    /// grades: they are what worker and judges are told.
    fn verification(&self, task: &model::Task) -> VerificationPlan {
        let declared = task.verification.as_deref().cloned().unwrap_or_default();
        let rubric = (declared.grader == Grader::Llm).then(|| {
            let name = declared.rubric();
            let own = self.rubrics.get(&name).cloned();
            own.unwrap_or_else(|| {
                let built_in = model::Rubric::built_in(&name);
                Arc::new(built_in.expect("validation has looked for every name"))
            })
        });
        let named = rubric.iter().flat_map(|rubric| &rubric.criteria);
        let criteria: Vec<&str> = match &rubric {
            None => task.acceptance.iter().map(AsRef::as_ref).collect(),
            Some(_) => named.map(|criterion| &*criterion.name).collect(),
        };
        let criteria = criteria.into_iter().map(str::to_owned).collect();
        let least = rubric.as_ref().and_then(|rubric| rubric.min_confidence);
        let least = least.unwrap_or_else(|| model::Verification::default().min_confidence());
        let least = least.points();
        let decomposer = task.decomposer.as_deref().and_then(model::Decomposer::agent);
        VerificationPlan {
            min_confidence: match declared.min_confidence.map(Fraction::points) {
                // A task may ask for more certainty than its rubric, never for less.
                Some(own) if rubric.is_some() => own.max(least),
                Some(own) => own,
                None => least,
            },
            rubric,
            grader: None,
            decomposer: decomposer.map(|name| self.agent(name)),
            decomposer_barred: None,
            criteria,
            on_refer: declared.on_refer,
            before: declared.before,
            bar: self.bar(declared.threshold),
        }
    }

    /// The bar of a review (semantics, sections 2 and 9): what a flag says comes before what the task says itself, and the
    /// variable and the settings say what holds where the task says nothing.
    fn bar(&self, own: Option<Points>) -> Bar {
        let given = self.options.eval_threshold;
        let own = own.map(|points| Bar { points, origin: BarOrigin::Mission });
        given
            .filter(|bar| bar.origin == BarOrigin::Flag)
            .or(own)
            .or(given)
            .or(self.settings.eval_threshold)
            .unwrap_or_else(Bar::default_bar)
    }

    fn panel(&self, review: &LlmReview) -> Panel {
        let bar = self.bar(review.threshold);
        let dimensions = &review.dimensions;
        let settings = self.settings;
        Panel {
            criteria: review.criteria.as_deref().map(String::from),
            dimensions: if dimensions.is_empty() {
                defaults::default_dimensions()
            } else {
                dimensions.clone()
            },
            bar,
            names_bar: review.threshold.is_some() || bar.origin == BarOrigin::Flag,
            calibrated: None,
            reviewers: match review.reviewers() {
                model::Reviewers::Seats(seats) => PanelSeats::Seats(seats),
                model::Reviewers::Named(names) => {
                    PanelSeats::Named(names.iter().map(|name| self.agent(name)).collect())
                }
            },
            independence: review.independence.unwrap_or_else(|| settings.independence()),
            consensus: review.consensus.unwrap_or_else(|| settings.consensus()),
            mode: review.panel.unwrap_or_else(|| settings.panel()),
            refer_below: review.refer_below.or(settings.refer_below).map(Positive::get),
            verify_prior_feedback: review
                .verify_prior_feedback
                .unwrap_or_else(|| settings.verify_prior_feedback()),
            judge_breaker: review.judge_breaker,
            seats: Vec::new(),
            people: Vec::new(),
        }
    }
}

/// The finish gate of a task, where it requires anything: what compiles comes first, then tests, then other commands.
fn finish_gate(declared: Option<&model::FinishGate>, options: &RunOptions) -> Option<FinishGatePlan> {
    let declared = declared.filter(|declared| !declared.is_empty())?;
    let command = |shows, command: &str, list| FinishCommand {
        shows,
        command: command.to_owned(),
        before: declared.before,
        list,
    };
    let mut commands = Vec::new();
    if declared.require_compilation {
        commands.push(command(Requirement::Compilation, &declared.compile_command(), None));
    }
    let required = declared.required_tests.iter().cloned();
    let mut tests: Vec<(Box<str>, Option<ListOf>)> = required.map(|test| (test, None)).collect();
    for (list, of) in
        [(&declared.fail_to_pass, ListOf::FailToPass), (&declared.pass_to_pass, ListOf::PassToPass)]
    {
        let of = Some(of);
        match list {
            None => {}
            Some(TestList::Tests(more)) => tests.extend(more.iter().map(|test| (test.clone(), of))),
            Some(TestList::File(file)) => match options.test_lists.get(&**file) {
                Some(more) => tests.extend(more.iter().map(|test| (Box::from(&**test), of))),
                // Whoever starts a run freezes its lists. Without this one nothing could be shown, and nothing passes.
                None => commands.push(command(Requirement::Test(file.clone()), "exit 1", None)),
            },
        }
    }
    for (test, list) in tests {
        let shows = Requirement::Test(test);
        if !commands.iter().any(|known| known.shows == shows) {
            let run = declared.test_command.as_deref().unwrap_or("exit 1");
            commands.push(command(shows, run, list));
        }
    }
    let others = declared.commands.iter();
    commands.extend(others.map(|other| command(Requirement::Command, other, None)));
    Some(FinishGatePlan {
        commands,
        require_file_changes: declared.require_file_changes,
        max_nudges: declared.max_attempts(),
        max_compile_nudges: declared.compilation_max_attempts(),
    })
}

fn rubrics(mission: &Mission) -> HashMap<Box<str>, Arc<model::Rubric>> {
    let rubrics = mission.rubrics.0.iter();
    rubrics.map(|(name, rubric)| (name.clone(), Arc::new(rubric.clone()))).collect()
}
