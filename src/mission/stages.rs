//! What judges a task's work behind its verification, resolved: `stages`, `redTeam`, `vision`, and how sharply
//! (semantics, sections 6.7 and 15).

use std::collections::HashMap;
use std::sync::Arc;

use thin_vec::ThinVec;

use super::model::{self, Autonomy, Expected, Mission, OnMissing, Stakes, VisionKind};
use super::scalar::Span;
use crate::domain::{AgentId, Millis, Points, Step};

/// What judges a task's work behind its verification. Tasks that say nothing of their own share the mission's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scrutiny {
    /// The mission's stages, then those of the task.
    pub stages: Vec<StagePlan>,
    /// Who attacks the work.
    pub red_team: Option<RedTeamPlan>,
    /// How screenshots are checked.
    pub vision: Option<VisionPlan>,
    /// How much agents may decide alone.
    pub autonomy: Autonomy,
    /// How much harm wrong work would do.
    pub stakes: Stakes,
}

/// A stage, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagePlan {
    /// Its name, unique among the stages of its task.
    pub name: Box<str>,
    /// Who judges.
    pub by: StageJudge,
    /// How long it may take, where the file says so.
    pub timeout: Option<Millis>,
}

/// Who judges in a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageJudge {
    /// An agent, or a person.
    Agent {
        /// Who.
        agent: AgentId,
        /// What it is to look at.
        criteria: Option<Box<str>>,
    },
    /// A command: exit 0 passes.
    Command(Box<str>),
}

/// `redTeam`, resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedTeamPlan {
    /// Who attacks.
    pub agent: AgentId,
    /// The least stakes at which it is asked.
    pub min_stakes: Stakes,
    /// What happens where it has nothing to attack, or may not be asked.
    pub on_missing: OnMissing,
}

/// `vision`, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisionPlan {
    /// How it looks.
    pub kind: VisionKind,
    /// Who looks, where somebody does.
    pub agent: Option<AgentId>,
    /// The pictures, in the workspace.
    pub screenshots: Vec<Box<str>>,
    /// What must be seen.
    pub expectations: Vec<Expected>,
    /// How far a colour may be off, a share as points.
    pub tolerance: Points,
}

impl Scrutiny {
    /// The steps in their order.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let stages = (0..).zip(&self.stages).map(|(n, _)| Step::Stage(n));
        let red_team = self.red_team.iter().map(|_| Step::RedTeam);
        let vision = self.vision.iter().map(|_| Step::Vision);
        stages.chain(red_team).chain(vision)
    }

    /// The step behind `step`; behind nothing the first.
    #[must_use]
    pub fn next(&self, step: Option<Step>) -> Option<Step> {
        self.steps().find(|next| step.is_none_or(|step| *next > step))
    }

    /// A stage by its position.
    #[must_use]
    pub fn stage(&self, n: u32) -> Option<&StagePlan> {
        self.stages.get(n as usize)
    }

    /// The agent of a step, if it has one.
    #[must_use]
    pub fn agent(&self, step: Step) -> Option<AgentId> {
        match step {
            Step::Stage(n) => match &self.stage(n)?.by {
                StageJudge::Agent { agent, .. } => Some(*agent),
                StageJudge::Command(_) => None,
            },
            Step::RedTeam => self.red_team.map(|red_team| red_team.agent),
            Step::Vision => self.vision.as_ref()?.agent,
        }
    }

    /// The pictures that are looked at, if any are.
    pub fn screenshots(&self) -> impl Iterator<Item = &str> {
        let looked_at = self
            .vision
            .iter()
            .filter(|vision| vision.kind != VisionKind::Noop);
        looked_at.flat_map(|vision| vision.screenshots.iter().map(AsRef::as_ref))
    }

    /// How a step is called: a stage by its own name.
    #[must_use]
    pub fn name(&self, step: Step) -> &str {
        match step {
            Step::Stage(n) => self.stage(n).map_or("", |stage| &stage.name),
            Step::RedTeam | Step::Vision => step.as_str(),
        }
    }

    /// The same with other ids of agents.
    pub(super) fn with_agents(&self, moved: impl Fn(AgentId) -> AgentId) -> Self {
        let mut new = self.clone();
        for stage in &mut new.stages {
            if let StageJudge::Agent { agent, .. } = &mut stage.by {
                *agent = moved(*agent);
            }
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
pub(super) fn of_mission(mission: &Mission, ids: &Ids) -> Arc<Scrutiny> {
    Arc::new(Scrutiny {
        stages: stages(&mission.stages, ids),
        red_team: mission.red_team.as_ref().and_then(|declared| {
            Some(RedTeamPlan {
                agent: *ids.get(&declared.agent)?,
                min_stakes: declared.min_stakes(),
                on_missing: declared.on_missing,
            })
        }),
        vision: mission.vision.as_ref().map(|declared| VisionPlan {
            kind: declared.kind,
            agent: declared
                .agent
                .as_ref()
                .filter(|_| declared.kind == VisionKind::LlmVision)
                .and_then(|name| ids.get(name).copied()),
            screenshots: declared.screenshots.to_vec(),
            expectations: declared.expectations.clone(),
            tolerance: declared.tolerance().points(),
        }),
        autonomy: mission.autonomy(),
        stakes: mission.stakes(),
    })
}

/// What holds for one task: the mission's, with what the task says of its own.
pub(super) fn of_task(
    base: &Arc<Scrutiny>,
    own: &ThinVec<model::Stage>,
    autonomy: Option<Autonomy>,
    stakes: Option<Stakes>,
    ids: &Ids,
) -> Arc<Scrutiny> {
    if own.is_empty() && autonomy.is_none() && stakes.is_none() {
        return Arc::clone(base);
    }
    let mut scrutiny = (**base).clone();
    scrutiny.stages.extend(stages(own, ids));
    scrutiny.autonomy = autonomy.unwrap_or(scrutiny.autonomy);
    scrutiny.stakes = stakes.unwrap_or(scrutiny.stakes);
    Arc::new(scrutiny)
}

fn stages(declared: &[model::Stage], ids: &Ids) -> Vec<StagePlan> {
    let plan = |stage: &model::Stage| {
        let by = match (&stage.command, &stage.agent) {
            (Some(command), _) => StageJudge::Command(command.clone()),
            (None, agent) => StageJudge::Agent {
                agent: *ids.get(agent.as_deref()?)?,
                criteria: stage.criteria.clone(),
            },
        };
        Some(StagePlan {
            name: stage.name.clone(),
            by,
            timeout: match stage.command {
                Some(_) => Some(stage.timeout()),
                None => stage.timeout,
            }
            .map(Span::get),
        })
    };
    declared.iter().filter_map(plan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_in_the_order_of_the_file_and_the_red_team_last() {
        let stage = |name: &str| StagePlan {
            name: name.into(),
            by: StageJudge::Command("true".into()),
            timeout: None,
        };
        let all = Scrutiny {
            stages: vec![stage("a"), stage("b")],
            red_team: Some(RedTeamPlan {
                agent: AgentId(1),
                min_stakes: Stakes::Low,
                on_missing: OnMissing::Block,
            }),
            ..Scrutiny::default()
        };
        let mut seen = Vec::new();
        let mut step = None;
        while let Some(next) = all.next(step) {
            seen.push(all.name(next).to_owned());
            step = Some(next);
        }
        assert_eq!(seen, ["a", "b", "redTeam"]);
        assert_eq!(Scrutiny::default().next(None), None);
    }
}
