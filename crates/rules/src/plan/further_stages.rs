//! `stages`, `redTeam`, `vision` as the mission declares them, and how sharply they look: what the pipeline of a task is
//! made of behind its verification (semantics, sections 6.7 and 15).

use std::collections::HashMap;

use super::pipeline::{OwnStage, RedTeamPlan, StageJudge, StagePlan, VisionPlan};
use crate::{
    domain::{AgentId, StageKey},
    mission::{
        file::scalar::Span,
        model::{self, Autonomy, Mission, Stakes},
    },
};

/// The stages of all tasks of a mission; a task may add to them.
#[derive(Debug, Clone, Default)]
pub struct FurtherStages {
    /// The mission's own stages, the red team, and the vision check.
    stages: Vec<StagePlan>,
    /// How much agents may decide alone.
    pub autonomy: Autonomy,
    /// How much harm wrong work would do.
    pub stakes: Stakes,
}

impl FurtherStages {
    /// The further stages of a task, with those of its own. Pipelines put them in their order.
    pub fn pipeline(&self, task: &model::Task, ids: &AgentIds) -> Vec<StagePlan> {
        let is_own = |stage: &&StagePlan| matches!(stage.key(), StageKey::Own(_));
        let of_mission = self.stages.iter().filter(is_own).count();
        self.stages.iter().cloned().chain(stages(of_mission, &task.stages, ids)).collect()
    }

    /// Replaces the ids of agents in the stages.
    pub fn with_agents(&self, moved: &impl Fn(AgentId) -> AgentId) -> Self {
        let stages = self.stages.iter().cloned();
        Self { stages: stages.map(|stage| stage.with_agents(moved)).collect(), ..*self }
    }
}

/// Agents by name; every name that a loaded mission uses is there.
type AgentIds = HashMap<Box<str>, AgentId>;

/// Resolves the stages that hold for all tasks of a mission.
pub fn of_mission(mission: &Mission, ids: &AgentIds) -> FurtherStages {
    let red_team = mission.red_team.as_ref().and_then(|declared| {
        Some(StagePlan::RedTeam(RedTeamPlan {
            agent: *ids.get(&declared.agent)?,
            min_stakes: declared.min_stakes(),
            on_missing: declared.on_missing,
            barred: None,
        }))
    });
    let vision = mission.vision.as_ref().map(|declared| {
        let agent = declared.agent.as_ref();
        let agent = agent.filter(|_| declared.kind == model::VisionKind::LlmVision);
        StagePlan::Vision(VisionPlan {
            kind: declared.kind,
            agent: agent.and_then(|name| ids.get(name).copied()),
            screenshots: declared.screenshots.to_vec(),
            expectations: declared.expectations.clone(),
            tolerance: declared.tolerance().points(),
            barred: None,
        })
    });
    let own = stages(0, &mission.stages, ids);
    FurtherStages {
        stages: own.chain(red_team).chain(vision).collect(),
        autonomy: mission.autonomy(),
        stakes: mission.stakes(),
    }
}

/// Declared stages, numbered from `first`.
fn stages<'a>(
    first: usize,
    declared: &'a [model::ExtraStage],
    ids: &'a AgentIds,
) -> impl Iterator<Item = StagePlan> + use<'a> {
    let plan = move |(n, stage): (u32, &model::ExtraStage)| {
        let by = match (&stage.command, &stage.agent) {
            (Some(command), _) => StageJudge::Command(command.clone()),
            (None, agent) => {
                StageJudge::Agent { agent: *ids.get(agent.as_deref()?)?, criteria: stage.criteria.clone() }
            }
        };
        Some(StagePlan::Own(OwnStage {
            key: StageKey::Own(n),
            name: stage.name.clone(),
            by,
            timeout: match stage.command {
                Some(_) => Some(stage.timeout()),
                None => stage.timeout,
            }
            .map(Span::get),
            barred: None,
            before: stage.before,
        }))
    };
    let first = u32::try_from(first).expect("the loader limits the stages of a mission");
    (first..).zip(declared).filter_map(plan)
}
