//! The mission, its settings and gates, and the `quorum.yaml` beneath it.

use std::num::NonZeroU32;

use semver::VersionReq;
use serde::Deserialize;

use crate::domain::{Bar, Millis, Points};
use crate::mission::loosened::Written;
use crate::mission::read::{self, Named};
use crate::mission::scalar::{Bytes, Deadline, Filled, InnerGlob, Name, Positive, TaskTitle, words};

use super::approval::ApprovalGate;
use super::{
    Agent, Autonomy, Budget, Channel, Clarification, Consensus, FinalChecks, Independence, Middleware,
    OnExhausted, PanelMode, Price, RedTeam, RemedyOrder, Rubric, Sla, Stage, Stakes, Task, Vision,
};

/// A mission file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Mission {
    /// Its name.
    #[serde(deserialize_with = "read::text_as::<Name, _>")]
    pub name: Box<str>,
    /// What it is for.
    #[serde(deserialize_with = "read::option")]
    pub description: Option<Box<str>>,
    /// The versions of quorum that can run it.
    #[serde(deserialize_with = "read::option")]
    pub requires: Option<VersionReq>,
    /// Where agents work, relative to the mission's folder.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub workspace: Option<Box<str>>,
    /// When it must be finished.
    #[serde(deserialize_with = "read::option")]
    pub deadline: Option<Deadline>,
    /// The bar over all scored tasks.
    #[serde(deserialize_with = "read::option")]
    pub quality_threshold: Option<Points>,
    /// What happens to exhausted tasks that do not say it themselves.
    #[serde(deserialize_with = "read::option")]
    pub on_exhausted: Option<OnExhausted>,
    /// What the run may use.
    #[serde(deserialize_with = "read::or_empty")]
    pub budget: Budget,
    /// Who works and judges; after loading also those of a `quorum.yaml`, behind the mission's own.
    #[serde(deserialize_with = "read::or_empty")]
    pub agents: Named<Agent>,
    /// Where notifications go; after loading also the channels of a `quorum.yaml`, behind the mission's own.
    #[serde(deserialize_with = "read::or_empty")]
    pub channels: Named<Channel>,
    /// What work is graded by; after loading also those of a `quorum.yaml`, behind the mission's own.
    #[serde(deserialize_with = "read::or_empty")]
    pub rubrics: Named<Rubric>,
    /// How it is run.
    #[serde(deserialize_with = "read::or_empty")]
    pub settings: Settings,
    /// What is to be done.
    #[serde(deserialize_with = "read::or_empty")]
    pub tasks: Vec<Task>,
    /// Checkpoints between tasks.
    #[serde(rename = "qualityGates", deserialize_with = "read::or_empty")]
    pub gates: Vec<Gate>,
    /// Places where the run waits for a person.
    #[serde(deserialize_with = "read::or_empty")]
    pub checkpoints: Vec<Hold>,
    /// Places where the run waits for some time.
    #[serde(deserialize_with = "read::or_empty")]
    pub delays: Vec<Hold>,
    /// Further stages of judging for every task.
    #[serde(deserialize_with = "read::or_empty")]
    pub stages: Vec<Stage>,
    /// Who attacks work before it is accepted.
    #[serde(deserialize_with = "read::option_of")]
    pub red_team: Option<RedTeam>,
    /// How screenshots are checked.
    #[serde(deserialize_with = "read::option_of")]
    pub vision: Option<Vision>,
    /// How much agents may decide alone, where the task does not say.
    #[serde(deserialize_with = "read::option")]
    pub autonomy: Option<Autonomy>,
    /// How much harm wrong work would do, where the task does not say.
    #[serde(deserialize_with = "read::option")]
    pub stakes: Option<Stakes>,
    /// How many of the agents are the mission's own; they come first.
    #[serde(skip)]
    pub(in crate::mission) own_agents: usize,
    /// Where settings are written: in the mission itself, then in each file beneath it.
    #[serde(skip)]
    pub(in crate::mission) written: Vec<Written>,
}

/// A configuration file, `quorum.yaml`: what missions of a project or user share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// Agents that missions may use without describing them.
    #[serde(deserialize_with = "read::or_empty")]
    pub agents: Named<Agent>,
    /// Settings that hold where a mission says nothing.
    #[serde(deserialize_with = "read::or_empty")]
    pub settings: Settings,
    /// Channels that missions may name without describing them.
    #[serde(deserialize_with = "read::or_empty")]
    pub channels: Named<Channel>,
    /// Rubrics that missions may name without describing them.
    #[serde(deserialize_with = "read::or_empty")]
    pub rubrics: Named<Rubric>,
    /// Where its settings are written.
    #[serde(skip)]
    pub(in crate::mission) written: Written,
}

/// `settings`: how a mission is run. `None` leaves a value to the next layer and at last to the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Tasks that may hold a slot at the same time.
    #[serde(deserialize_with = "read::option")]
    pub concurrency: Option<NonZeroU32>,
    /// Who answers questions and decides about failed dependencies.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub orchestrator: Option<Box<str>>,
    /// Questions that an agent may ask about one task.
    #[serde(deserialize_with = "read::option")]
    pub max_question_rounds: Option<u32>,
    /// How often the orchestrator is asked about one task whose dependency failed.
    #[serde(deserialize_with = "read::option")]
    pub max_resolution_attempts: Option<u32>,
    /// What is tried when a dependency failed.
    #[serde(deserialize_with = "read::remedies")]
    pub on_dependency_failed: Option<RemedyOrder>,
    /// Whether judges are called at all.
    #[serde(deserialize_with = "read::option")]
    pub evaluate: Option<bool>,
    /// The bar of evaluations, and which file set it.
    #[serde(deserialize_with = "read::option")]
    pub eval_threshold: Option<Bar>,
    /// Whether an unparsed evaluation passes, flagged `unreviewed`.
    #[serde(deserialize_with = "read::option")]
    pub fail_open_on_unparsed_eval: Option<bool>,
    /// Attempts of a task judged by evaluation.
    #[serde(deserialize_with = "read::option")]
    pub max_attempts: Option<NonZeroU32>,
    /// Fixes after one execute or retry.
    #[serde(deserialize_with = "read::option")]
    pub max_fix_attempts: Option<u32>,
    /// Retries in all.
    #[serde(deserialize_with = "read::option")]
    pub max_retries: Option<u32>,
    /// How often a panel without any verdict is run again.
    #[serde(deserialize_with = "read::option")]
    pub max_assessment_retries: Option<u32>,
    /// How long one turn may take.
    #[serde(deserialize_with = "read::option")]
    pub task_timeout: Option<Millis>,
    /// Whether tasks that much is built on get relief.
    #[serde(deserialize_with = "read::option")]
    pub foundation: Option<bool>,
    /// How deep work may be handed down.
    #[serde(deserialize_with = "read::option")]
    pub max_delegation_depth: Option<u32>,
    /// How many tasks one task may hand down.
    #[serde(deserialize_with = "read::option")]
    pub max_delegations: Option<u32>,
    /// What a reviewer must not share with the author.
    #[serde(deserialize_with = "read::option")]
    pub independence: Option<Independence>,
    /// How a panel's scores become one.
    #[serde(deserialize_with = "read::option")]
    pub consensus: Option<Consensus>,
    /// Whether all seats of a panel are asked at once.
    #[serde(deserialize_with = "read::option")]
    pub panel: Option<PanelMode>,
    /// How sure a panel must be of its verdict.
    #[serde(deserialize_with = "read::option")]
    pub refer_below: Option<Positive>,
    /// Whether a reviewer must answer for every earlier finding.
    #[serde(deserialize_with = "read::option")]
    pub verify_prior_feedback: Option<bool>,
    /// Whether a worker is told what its work will be judged by.
    #[serde(deserialize_with = "read::option")]
    pub tell_criteria: Option<bool>,
    /// What is looked at again of work that was accepted.
    #[serde(deserialize_with = "read::option")]
    pub final_checks: Option<FinalChecks>,
    /// Rules that make tasks wait for somebody's agreement.
    #[serde(deserialize_with = "read::option_of")]
    pub approval_gates: Option<Vec<ApprovalGate>>,
    /// Whether an approval that nobody gave in time counts as refused.
    #[serde(deserialize_with = "read::option")]
    pub auto_reject_on_timeout: Option<bool>,
    /// So many judged rejections in a row stop the judging of a model's work for its wave.
    #[serde(deserialize_with = "read::option")]
    pub judge_breaker: Option<u32>,
    /// Paths or globs of files that no agent may change; those of every layer count.
    #[serde(deserialize_with = "read::list_as::<InnerGlob, _, _>")]
    pub protect: Box<[Box<str>]>,
    /// Globs of files that may appear or change below protected folders while a check runs.
    #[serde(deserialize_with = "read::maybe_list_as::<InnerGlob, _>")]
    pub checks_may_write: Option<Box<[Box<str>]>>,
    /// How long an agent may be silent before somebody is warned.
    #[serde(deserialize_with = "read::option")]
    pub stale_threshold: Option<Millis>,
    /// How long a limit of a subscription may be waited for.
    #[serde(deserialize_with = "read::option")]
    pub max_window_wait: Option<Millis>,
    /// How much one turn may print.
    #[serde(deserialize_with = "read::option")]
    pub max_output: Option<Bytes>,
    /// What is said and done about deadlines.
    #[serde(deserialize_with = "read::or_empty")]
    pub sla: Sla,
    /// What a run may use, where the mission does not say.
    #[serde(deserialize_with = "read::or_empty")]
    pub budget: Budget,
    /// What models cost.
    #[serde(deserialize_with = "read::or_empty")]
    pub prices: Named<Price>,
    /// The channels of notifications that name none.
    #[serde(deserialize_with = "read::maybe_list_as::<Filled, _>")]
    pub default_channels: Option<Box<[Box<str>]>>,
    /// What is done around every turn and around the whole graph.
    #[serde(deserialize_with = "read::or_empty")]
    pub middleware: Middleware,
    /// What happens where criteria say nothing that could be judged.
    #[serde(deserialize_with = "read::option")]
    pub clarification: Option<Clarification>,
}

impl Settings {
    /// These settings, with `below` where they say nothing.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            concurrency: self.concurrency.or(below.concurrency),
            orchestrator: self.orchestrator.or(below.orchestrator),
            max_question_rounds: self.max_question_rounds.or(below.max_question_rounds),
            max_resolution_attempts: self.max_resolution_attempts.or(below.max_resolution_attempts),
            on_dependency_failed: self.on_dependency_failed.or(below.on_dependency_failed),
            evaluate: self.evaluate.or(below.evaluate),
            eval_threshold: self.eval_threshold.or(below.eval_threshold),
            fail_open_on_unparsed_eval: self
                .fail_open_on_unparsed_eval
                .or(below.fail_open_on_unparsed_eval),
            max_attempts: self.max_attempts.or(below.max_attempts),
            max_fix_attempts: self.max_fix_attempts.or(below.max_fix_attempts),
            max_retries: self.max_retries.or(below.max_retries),
            max_assessment_retries: self.max_assessment_retries.or(below.max_assessment_retries),
            task_timeout: self.task_timeout.or(below.task_timeout),
            foundation: self.foundation.or(below.foundation),
            max_delegation_depth: self.max_delegation_depth.or(below.max_delegation_depth),
            max_delegations: self.max_delegations.or(below.max_delegations),
            independence: self.independence.or(below.independence),
            consensus: self.consensus.or(below.consensus),
            panel: self.panel.or(below.panel),
            refer_below: self.refer_below.or(below.refer_below),
            verify_prior_feedback: self.verify_prior_feedback.or(below.verify_prior_feedback),
            tell_criteria: self.tell_criteria.or(below.tell_criteria),
            final_checks: self.final_checks.or(below.final_checks),
            approval_gates: self.approval_gates.or(below.approval_gates),
            auto_reject_on_timeout: self.auto_reject_on_timeout.or(below.auto_reject_on_timeout),
            judge_breaker: self.judge_breaker.or(below.judge_breaker),
            protect: both(self.protect, below.protect),
            checks_may_write: self.checks_may_write.or(below.checks_may_write),
            stale_threshold: self.stale_threshold.or(below.stale_threshold),
            max_window_wait: self.max_window_wait.or(below.max_window_wait),
            max_output: self.max_output.or(below.max_output),
            sla: self.sla.or(below.sla),
            budget: self.budget.or(below.budget),
            prices: both_prices(self.prices, below.prices),
            default_channels: self.default_channels.or(below.default_channels),
            middleware: self.middleware.or(below.middleware),
            clarification: self.clarification.or(below.clarification),
        }
    }
}

/// What a project or a user protects stays protected, whatever a mission adds.
fn both(own: Box<[Box<str>]>, below: Box<[Box<str>]>) -> Box<[Box<str>]> {
    let mut all = own.into_vec();
    for pattern in below {
        if !all.contains(&pattern) {
            all.push(pattern);
        }
    }
    all.into()
}

/// The prices of every layer, the own ones first.
fn both_prices(mut own: Named<Price>, below: Named<Price>) -> Named<Price> {
    for (model, price) in below.0 {
        if !own.0.iter().any(|(known, _)| *known == model) {
            own.0.push((model, price));
        }
    }
    own
}

/// A checkpoint between tasks (semantics, section 14).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Gate {
    /// Its unique name.
    #[serde(deserialize_with = "read::text_as::<Name, _>")]
    pub name: Box<str>,
    /// Titles of the tasks it waits for.
    #[serde(deserialize_with = "read::list_as::<TaskTitle, _, _>")]
    pub after_tasks: Box<[Box<str>]>,
    /// Titles of the tasks that wait for it.
    #[serde(deserialize_with = "read::list_as::<TaskTitle, _, _>")]
    pub blocks_tasks: Box<[Box<str>]>,
    /// What the mean score must reach.
    #[serde(deserialize_with = "read::option")]
    pub min_score: Option<Points>,
    /// Whether a task that failed or was called off fails the gate; unsaid, it does.
    #[serde(deserialize_with = "read::option")]
    pub require_all_passed: Option<bool>,
    /// Whether work accepted below the bar may pass.
    #[serde(deserialize_with = "read::or_default")]
    pub accept_below_threshold: bool,
    /// What its failure does to the rest of the run.
    #[serde(deserialize_with = "read::or_default")]
    pub on_fail: GateFailure,
    /// The channels that hear of its result; `None` is the default channels, and of failures only.
    #[serde(deserialize_with = "read::maybe_list_as::<Filled, _>")]
    pub notify_channels: Option<Box<[Box<str>]>>,
}

/// A checkpoint, or a delay if it has a duration (semantics, section 14).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hold {
    /// Its unique name.
    #[serde(deserialize_with = "read::text_as::<Name, _>")]
    pub name: Box<str>,
    /// Titles of the tasks it waits for.
    #[serde(deserialize_with = "read::list_as::<TaskTitle, _, _>")]
    pub after_tasks: Box<[Box<str>]>,
    /// Titles of the tasks that wait for it.
    #[serde(deserialize_with = "read::list_as::<TaskTitle, _, _>")]
    pub blocks_tasks: Box<[Box<str>]>,
    /// What the person is told, or what is shown meanwhile.
    #[serde(deserialize_with = "read::option")]
    pub message: Option<Box<str>>,
    /// How long a delay waits.
    #[serde(deserialize_with = "read::option")]
    pub duration: Option<Millis>,
    /// The channels that are told when it is reached.
    #[serde(deserialize_with = "read::maybe_list_as::<Filled, _>")]
    pub notify_channels: Option<Box<[Box<str>]>>,
}

/// What a failed gate does to the rest of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GateFailure {
    /// Independent work goes on.
    #[default]
    Continue,
    /// Nothing more starts.
    Halt,
}

words!(GateFailure: "what a failed gate can do", "continue" => Continue, "halt" => Halt);

impl Mission {
    /// The agent that works on every task that names none: the mission's only one. Agents of a `quorum.yaml` count
    /// only where the mission has none, so that a user's own file cannot make a mission ambiguous.
    #[must_use]
    pub fn sole_agent(&self) -> Option<&str> {
        match (self.own_agents, self.agents.0.as_slice()) {
            (1, [(name, _), ..]) | (0, [(name, _)]) => Some(name),
            _ => None,
        }
    }

    /// The name of the agent that works on a task, if it is known.
    #[must_use]
    pub fn assignee<'m>(&'m self, task: &'m Task) -> Option<&'m str> {
        task.assign_to.as_deref().or_else(|| self.sole_agent())
    }
}
