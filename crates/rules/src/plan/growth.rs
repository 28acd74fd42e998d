//! Tasks that a run gets while it works: handed down by an agent, made to mend a failed one, or asked for from outside
//! (semantics, sections 12 and 16).
//!
//! The journal holds them by value, and a plan grows by them at the cost of their own edges. They are appended: no task
//! ever changes its id. One that is withdrawn, because what asked for it is done again, keeps its id too and may return
//! under it.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::compile::compile_added;
use super::delegation::SubTask;
use super::migrate_plan::goes_on_with;
use super::model::{Part, Plan, TaskPlan};
use super::pipeline::StagePlan;
use super::provenance::{Origin, Provenance};
use crate::{
    domain::{AgentId, Digest, TaskId, folded, look_alike},
    mission::{
        model::{Clarification, FinishGate, OnExhausted, TaskType},
        validate::unclear,
    },
};

/// Tasks that have the same source.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Addition {
    /// Why the tasks are there.
    pub origin: Origin,
    /// The task that they come from; none for a request from outside.
    pub source: Option<TaskId>,
    /// For a request from outside: its id.
    pub request: Option<Box<str>>,
    pub tasks: Vec<AddedTask>,
}

/// One added task, by value.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddedTask {
    /// The id of the task: the next free one, or that of one that was withdrawn.
    pub id: TaskId,
    /// The title, unique within the run.
    pub title: Box<str>,
    /// The work to do.
    pub description: Option<Box<str>>,
    /// The agent that does the work.
    pub agent: AgentId,
    /// The kind of the work.
    pub kind: TaskType,
    /// The tasks that must be done before.
    pub needs: Vec<TaskId>,
    /// The priority; `None` is 1.
    pub priority: Option<Decimal>,
    /// Files that it must produce.
    pub target_files: Vec<Box<str>>,
    /// The criteria by which the work is accepted.
    pub acceptance: Vec<Box<str>>,
    /// The finish gate: it must hold before the agent may call its work finished.
    #[serde(default, with = "super::delegation::gate_by_value")]
    pub verify: Option<Box<FinishGate>>,
    /// For delegated work: the digest of its text and of those that it was delegated by, as they were then (semantics,
    /// section 17). `None` where the record is older than that.
    pub chain: Option<Digest>,
    /// Tasks that had to wait for its source and now wait for it too.
    pub awaited_by: Vec<TaskId>,
}

/// A change of the plan of a run that works, other than by another mission.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanStep {
    /// Tasks were added to the run.
    Added(Box<Addition>),
    /// Tasks that had been added were withdrawn.
    Withdrawn(Vec<TaskId>),
    /// Another agent goes on with a task.
    HandedOver { task: TaskId, to: AgentId },
    /// A task begins anew: with the agent that the mission names.
    Anew(TaskId),
}

impl AddedTask {
    /// The task that a sub-task becomes: with this id, done by this agent, behind these.
    pub fn of(sub_task: &SubTask, id: TaskId, agent: AgentId, needs: Vec<TaskId>) -> Self {
        let boxed = |texts: &[String]| texts.iter().map(|text| text.as_str().into()).collect();
        Self {
            id,
            title: sub_task.title.as_str().into(),
            description: sub_task.description.as_deref().map(Into::into),
            agent,
            kind: sub_task.kind,
            needs,
            priority: sub_task.priority,
            target_files: boxed(&sub_task.target_files),
            acceptance: boxed(&sub_task.acceptance),
            verify: sub_task.verify.clone(),
            chain: None,
            awaited_by: Vec::new(),
        }
    }
}

impl Plan {
    /// The fixup that a task has, begun or not.
    pub fn fixup(&self, id: TaskId) -> Option<TaskId> {
        self.fixups.0.get(&id).copied()
    }

    /// For a fixup: the task that it mends.
    pub fn mended_by(&self, id: TaskId) -> Option<TaskId> {
        let from = self.task(id).provenance.as_deref()?;
        from.source.filter(|source| from.origin == Origin::Fixup && self.fixup(*source) == Some(id))
    }

    /// Notes that a task mends another.
    pub fn note_fixup(&mut self, id: TaskId) {
        let from = self.task(id).provenance.as_deref();
        let source = from.filter(|from| from.origin == Origin::Fixup).and_then(|from| from.source);
        if let Some(source) = source {
            self.fixups.0.insert_mut(source, id);
        }
    }

    /// The task with this title, whatever became of it. The first question costs O(all tasks), every other O(log of those
    /// that were added).
    pub fn find(&self, title: &str) -> Option<TaskId> {
        let title = &*folded(title);
        if let Some(id) = self.titles.later.get(title) {
            return Some(*id);
        }
        let base = self.titles.base.get_or_init(|| {
            let tasks = self.tasks.iter().zip(self.every_task_id());
            tasks.map(|(task, id)| (task.title.clone(), id)).collect()
        });
        base.get(title).copied()
    }

    /// A task whose title looks like this one and is another one (semantics, section 22). Costs O(all tasks).
    pub fn find_alike(&self, title: &str) -> Option<TaskId> {
        let mut tasks = self.task_ids().filter(|id| self.task(*id).part != Part::Removed);
        tasks.find(|id| look_alike(&self.task(*id).title, title))
    }

    /// The agent with this name that the mission has.
    pub fn find_agent(&self, name: &str) -> Option<AgentId> {
        let found = self.agents.iter().position(|agent| !agent.removed && &*agent.name == name);
        found.map(AgentId::from_index)
    }

    /// How often work was delegated on the way to a task: 0 for those of the mission.
    pub fn depth(&self, id: TaskId) -> u32 {
        self.task(id).provenance.as_ref().map_or(0, |from| from.depth)
    }

    /// Why criteria of work that is delegated are refused (semantics, section 17, `clarification: enforce`).
    pub fn refused_criterion(&self, criteria: &[String]) -> Option<String> {
        if self.recipe.settings.clarification != Some(Clarification::Enforce) {
            return None;
        }
        let unclear = criteria.iter().map(|criterion| (criterion, unclear(criterion)));
        let (criterion, reasons) = unclear.into_iter().find(|(_, reasons)| !reasons.is_empty())?;
        Some(format!("the criterion {criterion:.100?} {}", reasons.join(", and ")))
    }

    /// Goes on with what a step leads to.
    pub fn follow(&mut self, step: &PlanStep) {
        match step {
            PlanStep::Added(addition) => self.extend(addition),
            PlanStep::Withdrawn(tasks) => self.withdraw(tasks),
            PlanStep::HandedOver { task, to } => self.hand_over(*task, *to),
            PlanStep::Anew(task) => self.hand_over(*task, self.task(*task).assigned),
        }
    }

    /// Gives a task to another agent from here on. The judges stay the same (`eligibility::successor`).
    fn hand_over(&mut self, id: TaskId, to: AgentId) {
        if self.task(id).agent == to {
            return;
        }
        let task = &mut self.tasks[id.index()];
        let from = std::mem::replace(&mut task.agent, to);
        if !task.agents_before.contains(&from) {
            task.agents_before.push(from);
        }
    }

    /// Grows by these tasks. Costs O(their edges).
    pub fn extend(&mut self, addition: &Addition) {
        let source = addition.source;
        let depth =
            source.map_or(0, |source| self.depth(source)) + u32::from(addition.origin == Origin::Delegated);
        for added in &addition.tasks {
            let mut task = self.template(addition, added);
            // Behind whatever it waits for and comes from.
            let behind = added.needs.iter().chain(&source);
            task.wave = behind.map(|id| self.task(*id).wave + 1).max().unwrap_or(0);
            task.provenance = Some(Box::new(Provenance {
                origin: addition.origin,
                source,
                request: addition.request.clone(),
                depth,
                chain: added.chain,
            }));
            self.titles.later.insert_mut(task.title.clone(), added.id);
            if added.id.index() == self.tasks.len() {
                self.tasks.push(task);
            } else {
                self.tasks[added.id.index()] = task;
            }
            self.note_fixup(added.id);
            for needed in &added.needs {
                self.depend(added.id, *needed);
            }
            for waiting in &added.awaited_by {
                self.depend(*waiting, added.id);
            }
            self.resolve_pipeline(added.id);
            // A verification judges what it waits for.
            for node in
                added.awaited_by.iter().filter(|id| self.route(**id).is_some()).copied().collect::<Vec<_>>()
            {
                self.resolve_pipeline(node);
            }
        }
    }

    /// The task before its provenance is set. A fixup is like its source but for what it says itself; every
    /// other task is compiled as if it stood in the mission.
    fn template(&self, addition: &Addition, added: &AddedTask) -> TaskPlan {
        match (addition.origin, addition.source) {
            (Origin::Fixup, Some(source)) => TaskPlan {
                title: added.title.clone(),
                description: added.description.clone(),
                part: Part::Selected,
                // Only a clean one helps, so it is held to the full bar.
                foundation: false,
                // There is one at most.
                on_exhausted: Some(OnExhausted::Fail),
                ..self.task(source).clone()
            },
            (_, source) => {
                let made = compile_added(self, added);
                TaskPlan {
                    delegated_by: source.map(|source| self.task(source).agent),
                    // It goes on where its source worked, or where that was merged.
                    isolation: source.map_or(made.isolation, |source| self.task(source).isolation),
                    ..made
                }
            }
        }
    }

    /// Makes an added task anew by the rules that hold now; its place, its edges and what it says of itself stay.
    pub fn refresh(&mut self, id: TaskId) {
        let task = self.task(id).clone();
        let Some(from) = task.provenance.clone() else {
            return;
        };
        let added = AddedTask {
            id,
            title: task.title.clone(),
            description: task.description.clone(),
            agent: task.assigned,
            kind: task.kind,
            needs: Vec::new(),
            priority: Some(task.priority),
            target_files: task.target_files.to_vec(),
            acceptance: task.acceptance.to_vec(),
            verify: None,
            chain: None,
            awaited_by: Vec::new(),
        };
        let addition = Addition {
            origin: from.origin,
            source: from.source,
            request: from.request.clone(),
            tasks: Vec::new(),
        };
        let mut made = self.template(&addition, &added);
        if from.origin != Origin::Fixup {
            let finish = task.finish().cloned().map(StagePlan::Finish);
            made.pipeline = finish.into_iter().chain(made.pipeline.iter().cloned()).collect();
        }
        made.agents_before.clone_from(&task.agents_before);
        goes_on_with(&mut made, &task, &self.agents);
        made.provenance = Some(from);
        made.wave = task.wave;
        self.tasks[id.index()] = made;
        self.resolve_pipeline(id);
    }

    fn depend(&mut self, task: TaskId, on: TaskId) {
        self.dependencies.add(task.0, on);
        self.dependents.add(on.0, task);
    }

    /// Takes added tasks out of the run: nobody waits for them any more, and nobody will work on them unless they are
    /// added again under their ids.
    pub fn withdraw(&mut self, tasks: &[TaskId]) {
        for id in tasks {
            if let Some(source) = self.mended_by(*id) {
                self.fixups.0.remove_mut(&source);
            }
            self.tasks[id.index()].part = Part::Removed;
            for needed in self.dependencies.of(*id).to_vec() {
                self.dependents.retain(needed.0, |task| task != id);
            }
            let waiting = self.dependents.of(*id).to_vec();
            for waiting in &waiting {
                self.dependencies.retain(waiting.0, |task| task != id);
            }
            for node in waiting {
                if self.route(node).is_some() {
                    self.resolve_pipeline(node);
                }
            }
            self.dependencies.retain(id.0, |_| false);
            self.dependents.retain(id.0, |_| false);
        }
    }
}
