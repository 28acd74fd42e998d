//! `stages`, `redTeam`, `vision` as the mission declares them, and how sharply they look: what the pipeline of a task is
//! made of behind its verification (semantics, sections 6.7 and 15).

use std::collections::HashMap;

use super::defaults;
use super::model::{self, Autonomy, Mission, Stakes};
use super::pipeline::{OwnStage, RedTeamPlan, StageJudge, StagePlan, VisionPlan};
use super::scalar::{Fraction, Span};
use crate::domain::{AgentId, Points};

/// What the mission says of all its tasks; a task may add to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Scrutiny {
    stages: Vec<OwnStage>,
    red_team: Option<RedTeamPlan>,
    vision: Option<VisionPlan>,
    /// How much agents may decide alone.
    pub autonomy: Autonomy,
    /// How much harm wrong work would do.
    pub stakes: Stakes,
}

impl Scrutiny {
    /// The stages of a task that adds these of its own.
    pub fn pipeline(&self, own: &[model::Stage], ids: &Ids) -> Vec<StagePlan> {
        let stages = self.stages.iter().cloned().chain(stages(own, ids));
        let stages = (0..).zip(stages).map(|(n, stage)| StagePlan::Own(n, stage));
        let red_team = self.red_team.clone().map(StagePlan::RedTeam);
        let vision = self.vision.clone().map(StagePlan::Vision);
        stages.chain(red_team).chain(vision).collect()
    }

    /// The same with other ids of agents.
    pub fn with_agents(&self, moved: &impl Fn(AgentId) -> AgentId) -> Self {
        let mut new = self.clone();
        for stage in &mut new.stages {
            stage.move_agents(moved);
        }
        if let Some(red_team) = &mut new.red_team {
            red_team.agent = moved(red_team.agent);
        }
        if let Some(agent) = new.vision.as_mut().and_then(|vision| vision.agent.as_mut()) {
            *agent = moved(*agent);
        }
        new
    }
}

/// Agents by name; every name that a loaded mission uses is there.
type Ids = HashMap<Box<str>, AgentId>;

/// What holds for all tasks of a mission.
pub(super) fn of_mission(mission: &Mission, ids: &Ids) -> Scrutiny {
    Scrutiny {
        stages: stages(&mission.stages, ids),
        red_team: mission.red_team.as_ref().and_then(|declared| {
            Some(RedTeamPlan {
                agent: *ids.get(&declared.agent)?,
                min_stakes: declared.min_stakes.unwrap_or(Stakes::Low),
                on_missing: declared.on_missing,
                barred: None,
            })
        }),
        vision: mission.vision.as_ref().map(|declared| VisionPlan {
            kind: declared.kind,
            agent: declared
                .agent
                .as_ref()
                .filter(|_| declared.kind == model::VisionKind::LlmVision)
                .and_then(|name| ids.get(name).copied()),
            screenshots: declared.screenshots.to_vec(),
            expectations: declared.expectations.clone(),
            tolerance: declared
                .tolerance
                .map_or_else(|| Points::whole(defaults::TOLERANCE), Fraction::points),
            barred: None,
        }),
        autonomy: mission.autonomy.unwrap_or_default(),
        stakes: mission.stakes.unwrap_or_default(),
    }
}

fn stages(declared: &[model::Stage], ids: &Ids) -> Vec<OwnStage> {
    let plan = |stage: &model::Stage| {
        let by = match (&stage.command, &stage.agent) {
            (Some(command), _) => StageJudge::Command(command.clone()),
            (None, agent) => StageJudge::Agent {
                agent: *ids.get(agent.as_deref()?)?,
                criteria: stage.criteria.clone(),
            },
        };
        Some(OwnStage {
            name: stage.name.clone(),
            by,
            timeout: stage.timeout.map(Span::get),
            barred: None,
        })
    };
    declared.iter().filter_map(plan).collect()
}
