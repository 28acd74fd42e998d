//! Who judges a task: its panel, one reviewer, or nobody; and what of it counts as judging without any (semantics, section 3).
//!
//! Who may judge at all is in `eligibility`, the seats of a panel and the other stages are in `pipeline`.

use crate::{
    domain::{AgentId, Purpose, TaskId},
    mission::model::{Adapter, Review},
};

use super::eligibility::{named, reviewers, seat_agents};
use super::finish_plan::{FinishGatePlan, Requirement};
use super::model::{Plan, TaskPlan};
use super::pipeline::{Judge, Panel, PanelSeats, StageJudge, StagePlan};

impl Plan {
    /// The reviewers of a task, from what it declares and the agents that there are; `None` where checks alone decide.
    pub(crate) fn resolved_judge(&self, id: TaskId) -> Option<Judge> {
        let task = self.task(id);
        if let Some(panel) = task.panel() {
            let names = named(self, id);
            let seats = match &panel.reviewers {
                PanelSeats::Named(agents) => agents.len(),
                PanelSeats::Seats(seats) => *seats as usize,
            };
            let all = seat_agents(self, &reviewers(self, id, names), seats);
            let is_person = |id: &AgentId| self.agent(*id).spec.adapter == Adapter::Human;
            let (people, seats): (_, Vec<AgentId>) = all.into_iter().partition(is_person);
            let (bar, calibrated) = self.calibrated(panel, &seats);
            return Some(Judge::Panel(Panel {
                bar,
                calibrated: calibrated.map(Box::new),
                seats,
                people,
                ..panel.clone()
            }));
        }
        let wanted = match task.review {
            Review::None => false,
            Review::Auto => !task.has_expectations(),
            Review::Required => true,
        };
        let first = || reviewers(self, id, None).first().map(|eligible| eligible.agent);
        match if wanted { first() } else { None } {
            Some(agent) => Some(Judge::Evaluation(Some(agent))),
            None if task.review == Review::Required => Some(Judge::Evaluation(None)),
            // Checks and criteria that plain facts decide ask nobody.
            None if task.has_expectations()
                // What an agent asks of work that it hands down is its own word.
                || task.delegated_by.is_none() && task.finish().is_some_and(FinishGatePlan::checks_work)
                || task.verification().is_some()
                || task.own_stages().next().is_some() =>
            {
                None
            }
            None => Some(Judge::Nobody),
        }
    }

    /// The reviewers of a task: nobody where reviews are switched off; `None` where checks alone decide.
    pub fn judge(&self, id: TaskId) -> Option<&Judge> {
        let judge = self.task(id).judge()?;
        Some(if self.rules.settings.evaluate { judge } else { &Judge::Nobody })
    }

    /// Whether somebody with an opinion is to look at the work of a task.
    pub fn will_be_judged(&self, id: TaskId) -> bool {
        let work = self.task(id);
        let is_graded = || work.verification().is_some_and(|by| by.rubric.is_some() && by.grader.is_some());
        let is_scored = || {
            let judge = self.judge(id);
            matches!(judge, Some(Judge::Panel(_) | Judge::Evaluation(Some(_))))
        };
        let has_stage = || work.own_stages().any(|own| matches!(own.by, StageJudge::Agent { .. }));
        self.rules.settings.evaluate && (is_scored() || is_graded() || has_stage())
    }

    /// Whether a share of the budget may be kept for judging: something can be shared, and somebody judges.
    pub fn may_keep_a_share(&self) -> bool {
        self.rules.budget.has_shares() && self.selected_ids().any(|id| self.will_be_judged(id))
    }
}

impl TaskPlan {
    /// Everybody who is to judge it, in any stage.
    pub fn judging_agents(&self) -> impl Iterator<Item = AgentId> {
        let judges = self.judge().into_iter();
        let judges = judges.flat_map(|judge| judge.seats().iter().chain(judge.people()));
        let criteria = self.verification().into_iter();
        let criteria = criteria.flat_map(|by| by.grader.into_iter().chain(by.decomposer));
        let stages = self.pipeline.iter().filter_map(StagePlan::agent);
        judges.copied().chain(criteria).chain(stages)
    }

    /// The judge that is meant to answer, before anybody stands in for it.
    pub fn judge_of(&self, purpose: Purpose) -> Option<AgentId> {
        match purpose {
            Purpose::Score(place) => self.judge()?.seats().get(place.seat as usize).copied(),
            Purpose::Grade { .. } => self.verification()?.grader,
            Purpose::Decompose { .. } => self.verification()?.decomposer,
            Purpose::Stage { step, .. } => self.step_agent(step),
            Purpose::Confirm | Purpose::Answer | Purpose::Resolve { .. } | Purpose::Approve { .. } => None,
        }
    }
}

impl FinishGatePlan {
    /// Whether the gate's commands show more of the work than that it compiles, as checks do.
    pub fn checks_work(&self) -> bool {
        self.commands.iter().any(|command| command.shows != Requirement::Compilation)
    }
}
