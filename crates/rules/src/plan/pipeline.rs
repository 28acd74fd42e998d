//! The pipeline: what judges one attempt of a task, stage by stage, with who judges (semantics, sections 6 to 8 and 15).
//!
//! It is resolved when the plan is made, and when a task comes that the mission does not have; equal tasks share it. It does
//! not depend on the options of a session: a stage of judges who are switched off stays in the list and is passed over.

use std::collections::HashSet;
use std::sync::Arc;

use rust_decimal::Decimal;

use crate::{
    domain::{AgentId, Bar, Dimension, Millis, Points, StageKey, TaskId},
    mission::model::{self, Check, Expected, Isolation, OnMissing, Stakes, TaskType, VisionKind},
};

use super::calibrated::Calibrated;
use super::eligibility::{depends_on_author, grader, keeps_from_cutting};
use super::finish_plan::FinishGatePlan;
use super::model::{Plan, TaskPlan};
use super::provenance::Origin;

/// One stage of judging.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StagePlan {
    /// A look at plain evidence, which rejects work before anybody is asked.
    Preflight,
    /// The finish gate: it must hold before the agent may call its work finished.
    Finish(FinishGatePlan),
    /// Declared checks, in file order.
    Checks(Vec<Check>),
    /// The reviewers of the work.
    Judge(Judge),
    /// The criteria that the work is accepted by, and how they are graded.
    Verification(VerificationPlan),
    /// A stage that an agent, a person or a command decides by a verdict of its own: one of the mission's or the task's own
    /// `stages`, or one of a kind that has a key of its own.
    Own(OwnStage),
    /// The agent that attacks the work.
    RedTeam(RedTeamPlan),
    /// How screenshots are checked.
    Vision(VisionPlan),
}

/// The reviewers of the work, once the deterministic stages have passed (section 3). Where checks alone are to
/// decide, the pipeline has no such stage.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Judge {
    /// The panel of an `llm_review`.
    Panel(Panel),
    /// One routed reviewer. None: it was asked for, and nobody may.
    Evaluation(Option<AgentId>),
    /// Nobody: not asked for, or nobody may.
    Nobody,
}

/// `acceptance` and `verification`, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VerificationPlan {
    /// The rubric of a judge; `None` where plain facts decide.
    pub rubric: Option<Arc<model::Rubric>>,
    /// The judge that grades by it: the first who may. `None` where plain facts grade, or nobody may.
    pub grader: Option<AgentId>,
    /// The agent that cuts them into probes for the judge.
    pub decomposer: Option<AgentId>,
    /// Why that agent may not cut the criteria, in words.
    pub decomposer_barred: Option<Box<str>>,
    /// The names of the graded criteria: those of the rubric, else the probes, all of which are required.
    pub criteria: Vec<String>,
    /// The treatment of work of which the grader is not sure.
    pub on_refer: model::OnRefer,
    /// The bar for the mean of the grades.
    pub bar: Bar,
    /// How sure the verdict must be, a share as points.
    pub min_confidence: Points,
    /// The declared result of the graded facts before the work; `None` where the file declares none.
    pub before: Option<model::BeforeRule>,
}

/// The panel of an `llm_review`, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Panel {
    /// The criteria for good work, in words.
    pub criteria: Option<String>,
    /// The scored dimensions; the four defaults where the file gives none.
    pub dimensions: Vec<Dimension>,
    /// The bar for the weighted mean.
    pub bar: Bar,
    /// Whether the task or a flag names it.
    pub names_bar: bool,
    /// The fit of the panel's seats to labelled work, where that gives the bar.
    pub calibrated: Option<Box<Calibrated>>,
    /// The reviewers on the panel's seats.
    pub reviewers: PanelSeats,
    /// The agents who do, one a seat.
    pub seats: Vec<AgentId>,
    /// The people who were named. People are asked last and only about work that is worth their time: first the agents'
    /// seats are judged as if there were nobody else. Below the bar the work goes back and no person is bothered; without
    /// any verdict the judges are missing, which no person is asked to make up for. What reaches the bar is then put before
    /// the people, as an approval: yes accepts it with the panel's score, no sends it back with their reason. One answer
    /// decides, however many people are named, because an approval has one id and one answer.
    pub people: Vec<AgentId>,
    /// The rule for what a reviewer must not share with the author.
    pub independence: model::Independence,
    /// How the seats' scores become one.
    pub consensus: model::Consensus,
    /// Whether all seats are asked at once, where nothing else needs their score.
    pub mode: model::PanelMode,
    /// How sure the panel must be of its verdict; `None` lets it stand however close it is.
    pub refer_below: Option<Decimal>,
    /// Whether a reviewer must answer for every earlier finding.
    pub verify_prior_feedback: bool,
    /// `judgeBreaker`, where the review has its own.
    pub judge_breaker: Option<u32>,
}

/// The way in which the seats of a panel are filled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PanelSeats {
    /// A number of seats, filled by the rules of semantics section 8.
    Seats(u32),
    /// The named agents, in this order.
    Named(Vec<AgentId>),
}

/// A stage that is decided by a verdict of its own, as a mission or a task declares it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnStage {
    pub key: StageKey,
    /// The name of the stage, unique among those of its task.
    pub name: Box<str>,
    /// The judge of the stage.
    pub by: StageJudge,
    /// The most time for the stage; `None` where the file sets none.
    pub timeout: Option<Millis>,
    /// Why the stage's agent may not judge the task, in words.
    pub barred: Option<Box<str>>,
    /// The result of the stage's command before the work that the file declares; `None` where it declares none.
    pub before: Option<model::BeforeRule>,
}

/// The judge of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StageJudge {
    /// An agent, or a person.
    Agent {
        agent: AgentId,
        /// The criteria that the agent is to look at.
        criteria: Option<Box<str>>,
    },
    /// A command: exit 0 passes.
    Command(Box<str>),
}

/// The stage of `redTeam`, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RedTeamPlan {
    /// The agent that attacks.
    pub agent: AgentId,
    /// The least stakes at which it is asked.
    pub min_stakes: Stakes,
    /// The action where the agent has nothing to attack, or may not be asked.
    pub on_missing: OnMissing,
    /// Why the agent may not attack, in words.
    pub barred: Option<Box<str>>,
}

/// The stage of `vision`, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VisionPlan {
    /// The way of looking at the screenshots.
    pub kind: VisionKind,
    /// The agent that looks; `None` where colours are measured.
    pub agent: Option<AgentId>,
    /// The pictures, in the workspace.
    pub screenshots: Vec<Box<str>>,
    /// The expectations that the screenshots must meet.
    pub expectations: Vec<Expected>,
    /// How far a colour may be off, a share as points.
    pub tolerance: Points,
    /// Why the agent may not look, in words.
    pub barred: Option<Box<str>>,
}

impl Judge {
    /// The agents who judge, one a seat.
    pub fn seats(&self) -> &[AgentId] {
        match self {
            Self::Panel(panel) => &panel.seats,
            Self::Evaluation(agent) => agent.as_slice(),
            Self::Nobody => &[],
        }
    }

    /// The people who have the last word about work that their panel let pass.
    pub fn people(&self) -> &[AgentId] {
        match self {
            Self::Panel(panel) => &panel.people,
            Self::Evaluation(_) | Self::Nobody => &[],
        }
    }

    /// Whether one reviewer is to evaluate the work.
    pub fn is_evaluation(&self) -> bool {
        matches!(self, Self::Evaluation(_))
    }
}

impl StagePlan {
    /// The key of the stage among those of its task.
    pub fn key(&self) -> StageKey {
        match self {
            Self::Preflight => StageKey::PREFLIGHT,
            Self::Finish(_) => StageKey::FINISH,
            Self::Checks(_) => StageKey::CHECKS,
            Self::Judge(_) => StageKey::JUDGE,
            Self::Verification(_) => StageKey::VERIFICATION,
            Self::Own(own) => own.key,
            Self::RedTeam(_) => StageKey::RED_TEAM,
            Self::Vision(_) => StageKey::VISION,
        }
    }

    /// The agent of a further stage, if it has one.
    pub fn agent(&self) -> Option<AgentId> {
        match self {
            Self::Own(own) => match own.by {
                StageJudge::Agent { agent, .. } => Some(agent),
                StageJudge::Command(_) => None,
            },
            Self::RedTeam(red_team) => Some(red_team.agent),
            Self::Vision(vision) => vision.agent,
            _ => None,
        }
    }

    /// The command of a further stage, if it has one.
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Own(OwnStage { by: StageJudge::Command(command), .. }) => Some(command),
            _ => None,
        }
    }

    /// Why the stage's agent may not judge the task, in words.
    pub fn barred(&self) -> Option<&str> {
        match self {
            Self::Own(OwnStage { barred, .. })
            | Self::RedTeam(RedTeamPlan { barred, .. })
            | Self::Vision(VisionPlan { barred, .. }) => barred.as_deref(),
            _ => None,
        }
    }

    fn barred_mut(&mut self) -> Option<&mut Option<Box<str>>> {
        match self {
            Self::Own(OwnStage { barred, .. })
            | Self::RedTeam(RedTeamPlan { barred, .. })
            | Self::Vision(VisionPlan { barred, .. }) => Some(barred),
            _ => None,
        }
    }

    /// The agents that it names, as far as the mission names them.
    fn agents_mut(&mut self) -> Vec<&mut AgentId> {
        match self {
            Self::Judge(Judge::Panel(panel)) => match &mut panel.reviewers {
                PanelSeats::Named(named) => named.iter_mut().collect(),
                PanelSeats::Seats(_) => Vec::new(),
            },
            Self::Verification(verification) => verification.decomposer.iter_mut().collect(),
            Self::Own(OwnStage { by: StageJudge::Agent { agent, .. }, .. }) => vec![agent],
            Self::RedTeam(red_team) => vec![&mut red_team.agent],
            Self::Vision(vision) => vision.agent.iter_mut().collect(),
            _ => Vec::new(),
        }
    }

    /// Replaces the ids of agents in the stage.
    pub fn with_agents(mut self, moved: &impl Fn(AgentId) -> AgentId) -> Self {
        for agent in self.agents_mut() {
            *agent = moved(*agent);
        }
        self
    }
}

impl TaskPlan {
    /// Whether the task works in a folder of its own.
    pub fn is_isolated(&self) -> bool {
        self.isolation != Isolation::Shared
    }

    /// Whether the task was added for this reason because of `source`.
    pub fn comes_from(&self, origin: Origin, source: TaskId) -> bool {
        let from = self.provenance.as_deref();
        from.is_some_and(|from| from.origin == origin && from.source == Some(source))
    }

    /// Whether the mission itself has it: nobody handed it down, asked for it, or made it to mend another.
    pub fn is_of_mission(&self) -> bool {
        self.provenance.is_none()
    }

    /// Whether that is a worktree.
    pub fn has_worktree(&self) -> bool {
        self.isolation == Isolation::Worktree
    }

    /// Whether what it does is committed, and merged once it is accepted. A verification only looks.
    pub fn commits(&self) -> bool {
        self.has_worktree() && self.kind != TaskType::Verification
    }

    /// The finish gate of the task; `None` where it has none.
    pub fn finish(&self) -> Option<&FinishGatePlan> {
        self.pipeline.iter().find_map(|stage| match stage {
            StagePlan::Finish(gate) => Some(gate),
            _ => None,
        })
    }

    /// The declared checks, in file order.
    pub fn checks(&self) -> &[Check] {
        let checks = self.pipeline.iter().find_map(|stage| match stage {
            StagePlan::Checks(checks) => Some(checks.as_slice()),
            _ => None,
        });
        checks.unwrap_or_default()
    }

    /// The words for the worker about a failed check, of which `message` says all: a hidden check is not named.
    pub fn message_for_worker<'m>(&self, check: u32, message: &'m str) -> &'m str {
        match self.checks().get(check as usize) {
            Some(check) if check.is_hidden() => "a check that you are not shown failed",
            _ => message,
        }
    }

    /// The reviewers of the task; `None` where checks alone decide.
    pub fn judge(&self) -> Option<&Judge> {
        self.pipeline.iter().find_map(|stage| match stage {
            StagePlan::Judge(judge) => Some(judge),
            _ => None,
        })
    }

    /// The panel of the task's `llm_review`; `None` without one.
    pub fn panel(&self) -> Option<&Panel> {
        match self.judge()? {
            Judge::Panel(panel) => Some(panel),
            Judge::Evaluation(_) | Judge::Nobody => None,
        }
    }

    /// Whether the file declares expectations.
    pub fn has_expectations(&self) -> bool {
        !self.checks().is_empty() || self.panel().is_some()
    }

    /// The criteria that it is accepted by, and how they are graded.
    pub fn verification(&self) -> Option<&VerificationPlan> {
        self.pipeline.iter().find_map(|stage| match stage {
            StagePlan::Verification(verification) => Some(verification),
            _ => None,
        })
    }

    /// The stages that are decided by a verdict of their own: the mission's before its own.
    pub fn own_stages(&self) -> impl Iterator<Item = &OwnStage> {
        self.pipeline.iter().filter_map(|stage| match stage {
            StagePlan::Own(own) => Some(own),
            _ => None,
        })
    }

    /// The stage of this key among those that the mission defines; `None` for other keys.
    pub fn own_stage(&self, key: StageKey) -> Option<&OwnStage> {
        self.own_stages().find(|own| own.key == key)
    }

    /// The vision check of the task; `None` where it has none.
    pub fn vision(&self) -> Option<&VisionPlan> {
        self.pipeline.iter().find_map(|stage| match stage {
            StagePlan::Vision(vision) => Some(vision),
            _ => None,
        })
    }

    /// The stages of the task behind the verification, in order.
    pub fn steps(&self) -> impl Iterator<Item = StageKey> {
        self.pipeline.iter().filter_map(|stage| stage.key().step())
    }

    /// The stage of this key; `None` where the task has none.
    pub fn stage(&self, key: StageKey) -> Option<&StagePlan> {
        self.pipeline.iter().find(|stage| stage.key() == key)
    }

    /// The agent of a step, if it has one.
    pub fn step_agent(&self, step: StageKey) -> Option<AgentId> {
        self.stage(step)?.agent()
    }

    /// The command of a step, if it has one.
    pub fn step_command(&self, step: StageKey) -> Option<&str> {
        self.stage(step)?.command()
    }

    /// How a step is called: a stage by its own name.
    pub fn step_name(&self, step: StageKey) -> &str {
        match (self.own_stage(step), step) {
            (Some(stage), _) => &stage.name,
            (None, StageKey::Own(_)) => "",
            (None, StageKey::Of(stage)) => stage.as_str(),
        }
    }

    /// The pictures that are looked at, if any are.
    pub fn screenshots(&self) -> impl Iterator<Item = &str> {
        let looked_at = self.vision().filter(|vision| vision.kind != VisionKind::Noop);
        looked_at.into_iter().flat_map(|vision| vision.screenshots.iter().map(AsRef::as_ref))
    }
}

impl Plan {
    /// The hidden checks of a run, each with its task.
    pub fn hidden_checks(&self) -> impl Iterator<Item = (TaskId, &Check)> {
        let of_task = |id| self.task(id).checks().iter().map(move |check| (id, check));
        let all = self.selected_ids().flat_map(of_task);
        all.filter(|(_, check)| check.is_hidden())
    }

    /// Resolves what judges each task.
    pub fn resolve_pipelines(&mut self) {
        let mut known: HashSet<Arc<[StagePlan]>> = HashSet::new();
        for index in 0..self.tasks.len() {
            let id = TaskId::from_index(index);
            let stages = self.stages(id);
            let shared = known.get(stages.as_slice()).cloned().unwrap_or_else(|| {
                let new: Arc<[StagePlan]> = stages.into();
                known.insert(Arc::clone(&new));
                new
            });
            self.tasks[index].pipeline = shared;
        }
    }

    /// Resolves what judges one task.
    pub fn resolve_pipeline(&mut self, id: TaskId) {
        let stages = self.stages(id);
        let task = &mut self.tasks[id.index()];
        if *task.pipeline != *stages {
            task.pipeline = stages.into();
        }
    }

    /// The stages of a task, from what it declares and the agents that there are.
    fn stages(&self, id: TaskId) -> Vec<StagePlan> {
        let task = self.task(id);
        // A verification does no work of its own, and is its own judge.
        let is_node = task.route.is_some();
        let before = [
            (!is_node).then_some(StagePlan::Preflight),
            task.finish().filter(|_| !is_node).cloned().map(StagePlan::Finish),
            (!task.checks().is_empty()).then(|| StagePlan::Checks(task.checks().to_vec())),
            self.resolved_judge(id).filter(|_| !is_node).map(StagePlan::Judge),
            task.verification().map(|verification| {
                StagePlan::Verification(VerificationPlan {
                    grader: grader(self, id),
                    decomposer_barred: verification
                        .decomposer
                        .and_then(|agent| keeps_from_cutting(self, id, agent).map(Into::into)),
                    ..verification.clone()
                })
            }),
        ];
        let behind = task.pipeline.iter().filter_map(|stage| {
            let mut stage = stage.clone();
            let why = stage.agent().and_then(|agent| depends_on_author(self, id, agent));
            *stage.barred_mut()? = why.map(Into::into);
            Some(stage)
        });
        let mut all: Vec<StagePlan> = before.into_iter().flatten().chain(behind).collect();
        all.sort_by_key(StagePlan::key);
        all
    }
}
