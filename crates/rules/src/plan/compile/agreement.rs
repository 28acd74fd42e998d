//! Whose agreement each task needs before it starts.

use std::sync::Arc;

use super::{agent_ids, known};
use crate::{
    domain::AgentId,
    mission::{
        condition::Conditions,
        file::keys::Named,
        model::{self, Mission, Settings},
    },
    plan::model::{ApprovalPlan, ApproverPlan, Plan},
};

/// The approval gates of a mission hold what is added to it like what stands in it.
pub fn approvals_of_added(
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
        agents: Named(agents.map(|agent| (Box::from(&*agent.name), agent.spec.clone())).collect()),
        settings: settings.clone(),
        tasks: vec![model::Task { assign_to: Some(Box::new(plan.agent_name(agent).into())), ..task }],
        ..Mission::default()
    };
    approvals(&mission).pop().unwrap_or_default()
}

/// The approvals that each task needs before it starts: its own, then those of the gates that hold it, in their
/// order. Empty where the mission asks for none.
pub fn approvals(mission: &Mission) -> Vec<Vec<Arc<ApprovalPlan>>> {
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
            agent.map_or_else(|| ApproverPlan::Person(name.clone()), |id| ApproverPlan::Agent(*id))
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
