//! The mission, its settings and gates, and the `quorum.yaml` beneath it.

use std::num::NonZeroU32;

use semver::VersionReq;

use crate::{
    domain::{Bar, Millis, Points},
    mission::file::{
        diagnostics::Diagnostic,
        document::Node,
        keys::{Later, Named, Value, keys, words},
        levels::Level,
        scalar::{AgentName, Bytes, ChannelName, Deadline, Filled, InnerGlob, Name, Positive, TaskTitle},
        shape::Shape,
        strictness_source::WrittenSettings,
    },
};

use super::agent::Agent;
use super::approval::ApprovalGate;
use super::budget::{Budget, Price};
use super::calibration::CalibrationSettings;
use super::channel::Channel;
use super::command_line::CommandLine;
use super::middleware::{Clarification, Middleware};
use super::preset::Preset;
use super::rubric::Rubric;
use super::serve::ServeSettings;
use super::sla::Sla;
use super::stages::{ExtraStage, RedTeam, Vision};
use super::task::Task;
use super::telemetry::Telemetry;
use super::words::{
    Autonomy, CHECKS_MAY_WRITE, Consensus, FileScope, FinalChecks, Independence, Isolation, NetworkAccess,
    OnExhausted, PanelMode, ProofRule, RemedyOrder, SCRATCH, Sandbox, Stakes, TESTS,
};
use super::workers::Workers;
use super::worktree::Worktree;

keys! {
    /// A mission file. After loading it also has the agents, channels and rubrics of each `quorum.yaml` beneath it, behind
    /// its own.
    #[derive(Default)]
    pub struct Mission: "a mission" {
        /// The name of the mission, shown in all reports.
        "name" name: Box<str> as Name, required;
        /// What the mission is for.
        "description" description: Option<Box<str>>;
        /// The versions of quorum that can run it, for example ">=0.1.0".
        "requires" requires: Option<VersionReq>;
        /// Where agents work, relative to the mission's folder [=]; made if it is missing.
        "workspace" workspace: Option<Box<str>> as Filled = ".";
        #[doc = says!(isolation)]
        "isolation" isolation: Option<Isolation> = "shared";
        #[doc = says!(deadline)]
        "deadline" deadline: Option<Deadline>;
        /// The bar that the mean score of all scored tasks must reach, or the run exits 5.
        "qualityThreshold" quality_threshold: Option<Points>;
        #[doc = says!(agents)]
        "agents" agents: Named<Agent>;
        #[doc = says!(channels)]
        "channels" channels: Named<Channel>;
        #[doc = says!(rubrics)]
        "rubrics" rubrics: Named<Rubric>;
        #[doc = says!(settings)]
        "settings" settings: Settings;
        /// What is to be done; at least one task.
        "tasks" tasks: Vec<Task>;
        /// Checkpoints between tasks: what they block starts only when they pass.
        "qualityGates" gates: Vec<Gate>;
        /// Places where the run waits for `quorum approve`.
        "checkpoints" checkpoints: Vec<Delay> as Checkpoint;
        /// Places where the run waits for some time.
        "delays" delays: Vec<Delay>;
        #[doc = says!(budget)]
        "budget" budget: Budget;
        /// An agent that attacks work before it is accepted; what it finds of critical or high severity sends the work back.
        "redTeam" red_team: Option<RedTeam>;
        /// A check of screenshots before work is accepted; what it finds counts like a red team's findings.
        "vision" vision: Option<Vision>;
        /// Further stages of judging for every task, in order; the first fail sends the work back.
        "stages" stages: Vec<ExtraStage>;
        #[doc = says!(autonomy)]
        "autonomy" autonomy: Option<Autonomy> = "semi";
        #[doc = says!(stakes)]
        "stakes" stakes: Option<Stakes> = "medium";
        #[doc = says!(on_exhausted)]
        "onExhausted" on_exhausted: Option<OnExhausted>;
        #[doc = says!(baseline)]
        "baseline" baseline: Option<bool>, or("true");
        #[doc = says!(proof)]
        "proof" proof: Option<ProofRule>, or("warn");
        #[doc = says!(tests)]
        "tests" tests: Option<Box<[Box<str>]>> as InnerGlob, or(TESTS);
    } and {
        /// Presets of the files beneath it.
        pub(crate) presets: Named<Preset>;
        /// How many of the agents are the mission's own; they come first.
        pub(crate) own_agents: usize;
        /// Where settings are written: in the mission itself, then in each file beneath it.
        pub(crate) written: Vec<WrittenSettings>;
    }
}

keys! {
    /// A configuration file, `quorum.yaml`: what missions of a project or user share.
    #[derive(Default)]
    pub struct Config: "a quorum.yaml" {
        #[doc = says!(agents)]
        "agents" agents: Named<Agent>;
        #[doc = says!(channels)]
        "channels" channels: Named<Channel>;
        #[doc = says!(rubrics)]
        "rubrics" rubrics: Named<Rubric>;
        #[doc = says!(settings)]
        "settings" settings: Settings;
        /// How agent programs are started and read, by name.
        "presets" presets: Named<Preset>;
    } and {
        /// The files and lines in which the settings are written.
        pub(crate) written: WrittenSettings;
        /// Warnings about what the file was perhaps not meant to say.
        pub(crate) notes: Vec<Diagnostic>;
    }
}

keys! {
    /// `settings`: how a mission is run. `None` leaves a value to the next level and at last to the default.
    #[derive(Default)]
    pub struct Settings: "settings", by level, effective as EffectiveSettings {
        /// Tasks that may run at the same time [the number of CPUs].
        "concurrency" concurrency: Option<NonZeroU32>;
        /// The agent that answers questions of the others and decides what becomes of tasks whose dependency failed.
        "orchestrator" orchestrator: Option<Box<str>> as AgentName;
        /// Whether judges are called at all [=].
        "evaluate" evaluate: Option<bool> = "true";
        /// The bar of evaluations [= of 100].
        "evalThreshold" eval_threshold: Option<Bar> = "60";
        /// Whether an evaluation that cannot be read passes, flagged as unreviewed [=].
        "failOpenOnUnparsedEval" fail_open_on_unparsed_eval: Option<bool> = "false";
        /// Attempts of a task that is judged by evaluation [=].
        "maxAttempts" max_attempts: Option<NonZeroU32> = "2";
        #[doc = says!(max_fix_attempts)]
        "maxFixAttempts" max_fix_attempts: Option<u32> = "2";
        #[doc = says!(max_retries)]
        "maxRetries" max_retries: Option<u32> = "3";
        /// Questions that an agent may ask about one task [=].
        "maxQuestionRounds" max_question_rounds: Option<u32> = "2";
        /// How often the orchestrator is asked about one task whose dependency failed [=].
        "maxResolutionAttempts" max_resolution_attempts: Option<u32> = "2";
        /// How often a panel without any verdict is run again [=].
        "maxAssessmentRetries" max_assessment_retries: Option<u32> = "1";
        /// How long one turn may take [=].
        "taskTimeout" task_timeout: Option<Millis> = "30m";
        /// How long an agent may be silent before somebody is warned [=].
        "staleThreshold" stale_threshold: Option<Millis> = "5m";
        /// How long the run waits for a subscription's limit to reset; where that is farther away it ends (7) and can be resumed [=].
        "maxWindowWait" max_window_wait: Option<Millis> = "6h";
        /// How much one turn may print to both outputs together; the rest is cut, and that is said [=].
        "maxOutput" max_output: Option<Bytes> = "256 MiB";
        /// Rules that make tasks wait for somebody's agreement.
        "approvalGates" approval_gates: Option<Vec<ApprovalGate>>;
        /// Whether an approval that nobody gave in time counts as refused [=].
        "autoRejectOnTimeout" auto_reject_on_timeout: Option<bool> = "false";
        #[doc = says!(independence)]
        "independence" independence: Option<Independence> = "identity";
        #[doc = says!(consensus)]
        "consensus" consensus: Option<Consensus> = "median";
        #[doc = says!(panel)]
        "panel" panel: Option<PanelMode> = "parallel";
        #[doc = says!(refer_below)]
        "referBelow" refer_below: Option<Positive>;
        /// Bars that labelled work gives to panels.
        "calibration" calibration: CalibrationSettings;
        #[doc = says!(judge_breaker)]
        "judgeBreaker" judge_breaker: Option<u32> = "5";
        #[doc = says!(verify_prior_feedback)]
        "verifyPriorFeedback" verify_prior_feedback: Option<bool> = "true";
        /// Whether a worker is told what its work will be judged by: criteria of reviews, acceptance, commands of checks,
        /// target files; never the examples of a rubric [=].
        "tellCriteria" tell_criteria: Option<bool> = "true";
        /// What is looked at again of accepted work, at the end of a run and when one is resumed: files, and checks
        /// behind which another turn ended (auto), files and all checks (always), or nothing (never) [=].
        "finalChecks" final_checks: Option<FinalChecks> = "auto";
        /// Whether a task that three others or more depend on has a lower bar and one more attempt [=].
        "foundation" foundation: Option<bool> = "true";
        /// How many levels deep agents may delegate tasks [=].
        "maxDelegationDepth" max_delegation_depth: Option<u32> = "3";
        /// How many tasks the agent of one task may delegate [=].
        "maxDelegations" max_delegations: Option<u32> = "20";
        #[doc = says!(on_dependency_failed)]
        "onDependencyFailed" on_dependency_failed: Option<RemedyOrder> = "[resolve, skip]";
        #[doc = says!(protect)]
        "protect" protect: Box<[Box<str>]> as InnerGlob;
        #[doc = says!(baseline)]
        "baseline" baseline: Option<bool> = "true";
        #[doc = says!(proof)]
        "proof" proof: Option<ProofRule> = "warn";
        #[doc = says!(tests)]
        "tests" tests: Option<Box<[Box<str>]>> as InnerGlob = TESTS;
        #[doc = says!(checks_may_write)]
        "checksMayWrite" checks_may_write: Option<Box<[Box<str>]>> as InnerGlob = CHECKS_MAY_WRITE;
        #[doc = says!(scratch)]
        "scratch" scratch: Option<Box<[Box<str>]>> as InnerGlob = SCRATCH;
        /// Warnings before deadlines, and what follows when one passes.
        "sla" sla: Sla;
        #[doc = says!(budget)]
        "budget" budget: Budget;
        /// What is done around every turn of an agent, and around the work on the whole graph.
        "middleware" middleware: Middleware;
        /// Whether criteria that say nothing that could be judged are warned about or refused [=].
        "clarification" clarification: Option<Clarification> = "warn";
        /// Commands that are run when something happens, by event.
        "hooks" hooks: Later as Named<CommandLine>, later("hooks");
        /// What models cost, by model.
        "prices" prices: Named<Price>;
        /// Channels of notifications that name none: waiting approvals, failed tasks and gates, the end of the run.
        "defaultChannels" default_channels: Option<Box<[Box<str>]>> as ChannelName;
        /// Where people reach the pages of runs.
        "serve" serve: ServeSettings;
        /// How worktrees are prepared and merged, where tasks are isolated in them.
        "worktree" worktree: Worktree;
        /// How work is handed to workers on other machines, for agents with a `queue`.
        "workers" workers: Workers;
        /// Where the spans of a run go, for OpenTelemetry.
        "telemetry" telemetry: Telemetry;
        #[doc = says!(sandbox)]
        "sandbox" sandbox: Option<Sandbox> = "auto";
        #[doc = says!(network)]
        "network" network: Option<NetworkAccess> = "allow";
        #[doc = says!(files)]
        "files" files: Option<FileScope> = "open";
    }
}

impl Settings {
    /// Fills in from `below`, the weaker level, what these settings leave open.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        self.over(below)
    }

    /// The value of the key at `path`, as a file would spell it; `None` where these settings say nothing of it.
    pub fn value_at(&self, path: &str) -> Option<serde_json::Value> {
        Level::value_at(self, path)
    }

    /// Whether every file adds to a key, instead of the strongest deciding alone.
    pub fn gathers(key: &str) -> bool {
        <Self as Level>::gathers(key)
    }
}

keys! {
    /// A checkpoint between tasks (semantics, section 14).
    #[derive(Default)]
    pub struct Gate: "a gate" {
        /// The unique name, by which it is shown and overridden.
        "name" name: Box<str> as Name, required;
        /// Titles of the tasks that it waits for: at least one.
        "afterTasks" after_tasks: Box<[Box<str>]> as TaskTitle;
        /// Titles of the tasks that wait for it: at least one.
        "blocksTasks" blocks_tasks: Box<[Box<str>]> as TaskTitle;
        /// What the mean score of `afterTasks` must reach: failed ones count, unscored ones are named, and without any
        /// score the gate fails.
        "minScore" min_score: Option<Points>;
        /// Whether one task that failed or was cancelled fails the gate [=]. `false` lets it open over such tasks.
        "requireAllPassed" require_all_passed: Option<bool> = "true";
        /// Whether work accepted below the bar may pass [=]; work that was to be scored and has no score may not.
        "acceptBelowThreshold" accept_below_threshold: bool, or("false");
        /// What its failure does to the rest of the run [=].
        "onFail" on_fail: GateFailure, or("continue");
        /// Channels that hear of its result [`defaultChannels`, of failures only].
        "notifyChannels" notify_channels: Option<Box<[Box<str>]>> as ChannelName;
    }
}

keys! {
    struct Checkpoint: "a checkpoint" {
        #[doc = says!(hold_name)]
        "name" name: Box<str> as Name, required;
        #[doc = says!(after_tasks)]
        "afterTasks" after_tasks: Box<[Box<str>]> as TaskTitle, required;
        #[doc = says!(blocks_tasks)]
        "blocksTasks" blocks_tasks: Box<[Box<str>]> as TaskTitle, required;
        /// What the person is told.
        "message" message: Option<Box<str>>;
        /// Channels that are told when it is reached [`defaultChannels`].
        "notifyChannels" notify_channels: Option<Box<[Box<str>]>> as ChannelName;
    }
}

keys! {
    /// A delay, or a checkpoint if it has no duration (semantics, section 14).
    #[derive(Default)]
    pub struct Delay: "a delay" {
        #[doc = says!(hold_name)]
        "name" name: Box<str> as Name, required;
        #[doc = says!(after_tasks)]
        "afterTasks" after_tasks: Box<[Box<str>]> as TaskTitle, required;
        #[doc = says!(blocks_tasks)]
        "blocksTasks" blocks_tasks: Box<[Box<str>]> as TaskTitle, required;
        /// How long it waits.
        "duration" duration: Option<Millis>, required;
        /// What is shown meanwhile.
        "message" message: Option<Box<str>>;
        /// Channels that are told when it begins [none].
        "notifyChannels" notify_channels: Option<Box<[Box<str>]>> as ChannelName;
    }
}

impl Value<Checkpoint> for Delay {
    const SHAPE: Shape = Checkpoint::SHAPE;

    fn read(node: Node<'_, '_>) -> Option<Self> {
        // The check of the keys let no `duration` pass.
        <Self as Value>::read(node)
    }
}

words! {
    /// The effect of a failed gate on the rest of the run.
    #[derive(Default)]
    pub enum GateFailure: "what a failed gate can do" {
        /// Independent work goes on.
        #[default]
        Continue = "continue",
        /// Nothing more of the run starts.
        Halt = "halt",
    }
}

impl Mission {
    /// The agent that works on every task that names none: the mission's only one. Agents of a `quorum.yaml` count
    /// only where the mission has none, so that a user's own file cannot make a mission ambiguous.
    pub fn sole_agent(&self) -> Option<&str> {
        match (self.own_agents, self.agents.0.as_slice()) {
            (1, [(name, _), ..]) | (0, [(name, _)]) => Some(name),
            _ => None,
        }
    }

    /// The name of the agent that works on a task, if it is known.
    pub fn assignee<'m>(&'m self, task: &'m Task) -> Option<&'m str> {
        task.assign_to.as_ref().map(|name| &***name).or_else(|| self.sole_agent())
    }
}
