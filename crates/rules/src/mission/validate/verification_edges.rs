//! Verifications as nodes of the graph: exactly one edge of each kind, and nothing else that leads out of them.

use super::{Names, quoted};
use crate::domain::Edge;
use crate::mission::{
    file::{
        codes::Code,
        scalar::Referent,
        violation::{Path, Violations},
    },
    model::{Expectation, Grader, Mission, OnRefer, Review, Task, TaskType},
};

pub fn validate(mission: &Mission, names: &Names<'_>, problems: &mut Violations) {
    for (index, task) in mission.tasks.iter().enumerate() {
        let checker = EdgeChecker { index, task, mission, names };
        if task.kind == TaskType::Verification {
            checker.node(problems);
        } else {
            checker.other(problems);
        }
    }
}

struct EdgeChecker<'a, 'm> {
    index: usize,
    task: &'m Task,
    mission: &'m Mission,
    names: &'a Names<'m>,
}

impl EdgeChecker<'_, '_> {
    fn path(&self) -> Path {
        Path::of("tasks").item(self.index)
    }

    fn value(&self, key: &'static str) -> Path {
        self.path().key(key)
    }

    fn node(&self, problems: &mut Violations) {
        for edge in Edge::ALL {
            self.edge(edge, problems);
        }
        self.judges_something(problems);
        self.judge(problems);
        self.does_not_apply(problems);
    }

    fn edge(&self, edge: Edge, problems: &mut Violations) {
        let key = edge.as_str();
        match self.task.edge(edge) {
            None => problems.refuse(
                Code::MissingKey,
                self.value("type"),
                format!("the verification {} has no `{key}`", quoted(&self.task.title)),
                format!("add `{key}: ...` with the title of the task that follows then"),
            ),
            Some(title) if title == &*self.task.title => problems.refuse(
                Code::BadValue,
                self.value(key),
                format!("`{key}` of {} leads to itself", quoted(title)),
                "name another task; to have work done again, let `onFail` name the task that does it",
            ),
            Some(title) => self.names.check_task(title, self.mission, || self.value(key), problems),
        }
    }

    /// The tasks that it needs and that are no verifications themselves.
    fn judged(&self) -> impl Iterator<Item = &Task> {
        let needed = self.task.depends_on.iter();
        let needed = needed.filter_map(|title| self.names.tasks.get(&**title));
        needed.map(|index| &self.mission.tasks[*index]).filter(|task| task.kind != TaskType::Verification)
    }

    fn judges_something(&self, problems: &mut Violations) {
        let mut titles = self.task.depends_on.iter();
        let all_known = titles.all(|title| self.names.tasks.contains_key(&**title));
        if self.judged().next().is_some() || !all_known || self.names.incomplete.contains(&Referent::Task) {
            return;
        }
        problems.refuse(
            Code::JudgesNothing,
            self.value("type"),
            format!("the verification {} judges nothing", quoted(&self.task.title)),
            "name the tasks whose work it judges: `dependsOn: [title]`",
        );
    }

    fn is_graded_by_facts(&self) -> bool {
        let verification = self.task.verification.as_deref();
        verification.is_some_and(|verification| verification.grader == Grader::Heuristic)
    }

    /// Whether an agent grades: not where facts do, nor where only checks are declared.
    fn asks_a_judge(&self) -> bool {
        let only_checks = !self.task.expectations.is_empty()
            && self.task.verification.is_none()
            && self.task.acceptance.is_empty();
        !self.is_graded_by_facts() && !only_checks
    }

    /// Refuses a verification that its own author would judge.
    fn judge(&self, problems: &mut Violations) {
        let judge = self.mission.assignee(self.task).filter(|_| self.asks_a_judge());
        let author = self.judged().find(|task| {
            let author = self.mission.assignee(task);
            author.is_some() && author == judge
        });
        if let (Some(judge), Some(author)) = (judge, author) {
            problems.refuse(Code::OwnReviewer, self.value("assignTo"), format!(
                "the agent {} cannot verify {}, which it does itself",
                quoted(judge),
                quoted(&author.title)
            ), "assign the verification to another agent, or grade by facts: `verification: {grader: heuristic}`");
        }
    }

    /// Refuses keys about a worker's attempts on a verification, which does no work of its own.
    fn does_not_apply(&self, problems: &mut Violations) {
        let task = self.task;
        let declared = [
            ("targetFiles", !task.target_files.is_empty()),
            ("verify", task.verify.is_some()),
            ("stages", !task.stages.is_empty()),
            ("review", task.review != Review::Auto),
            ("sideEffects", task.side_effects == Some(true)),
            ("requiresToolCalls", task.requires_tool_calls.is_some()),
            ("delegatedBy", task.delegated_by.is_some()),
            ("protect", !task.protect.is_empty()),
            ("checksMayWrite", task.checks_may_write.is_some()),
            ("scratch", task.scratch.is_some()),
            ("autonomy", task.autonomy.is_some()),
            ("stakes", task.stakes.is_some()),
            ("maxAttempts", task.max_attempts.is_some()),
            ("maxFixAttempts", task.max_fix_attempts.is_some()),
            ("maxRetries", task.max_retries.is_some()),
            ("onExhausted", task.on_exhausted.is_some()),
        ];
        for (key, _) in declared.into_iter().filter(|(_, is_there)| *is_there) {
            problems.refuse(
                Code::KeyDoesNotApply,
                self.value(key),
                format!("`{key}` says nothing about a verification: it judges work and does none"),
                "remove it, or write it on the task that does the work",
            );
        }
        let on_refer = task.verification.as_deref().map(|verification| verification.on_refer);
        if on_refer.is_some_and(|on_refer| on_refer != OnRefer::Human) {
            problems.refuse(
                Code::KeyDoesNotApply,
                self.path().key("verification").key("onRefer"),
                "`verification.onRefer` says nothing here: the edge `onRefer` says what follows",
                "remove it",
            );
        }
        let panel =
            task.expectations.iter().position(|expectation| matches!(expectation, Expectation::Review(_)));
        if let Some(position) = panel {
            problems.refuse(
                Code::KeyDoesNotApply,
                self.path().key("expectations").item(position),
                "a verification is not reviewed by a panel: the agent that it is assigned to judges",
                "name what it grades by: `verification: {rubric: NAME}`, or `acceptance: [...]`",
            );
        }
    }

    /// Edges belong to verifications, and only edges lead out of one.
    fn other(&self, problems: &mut Violations) {
        let edges = Edge::ALL.map(|edge| (edge.as_str(), self.task.edge(edge).is_some()));
        let visits = ("maxVisits", self.task.max_visits.is_some());
        for (key, _) in edges.into_iter().chain([visits]).filter(|(_, is_there)| *is_there) {
            problems.refuse(
                Code::KeyDoesNotApply,
                self.value(key),
                format!("`{key}` belongs to a task of `type: verification`"),
                "write `type: verification` if the task judges others, or remove the key",
            );
        }
    }

    /// A task that waits for a verification is one that an edge of it leads to.
    fn extra(&self, problems: &mut Violations) {
        for (item, title) in self.task.depends_on.iter().enumerate() {
            let needed = self.names.tasks.get(&**title).map(|index| &self.mission.tasks[*index]);
            let Some(node) = needed.filter(|task| task.kind == TaskType::Verification) else {
                continue;
            };
            let leads_here = |edge: &Edge| node.edge(*edge) == Some(&*self.task.title);
            if !Edge::ALL.iter().any(leads_here) {
                problems.refuse(
                    Code::ExtraEdge,
                    self.path().key("dependsOn").item(item),
                    format!(
                        "{} waits for the verification {}, and none of its edges leads there",
                        quoted(&self.task.title),
                        quoted(title)
                    ),
                    "let `onPass`, `onFail` or `onRefer` lead to it, or depend on a task that they lead to",
                );
            }
        }
    }
}

/// Checks what waits for verifications beside their edges.
pub fn extra(mission: &Mission, names: &Names<'_>, problems: &mut Violations) {
    for (index, task) in mission.tasks.iter().enumerate() {
        EdgeChecker { index, task, mission, names }.extra(problems);
    }
}
