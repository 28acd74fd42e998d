//! Tasks: titles, who works, what they depend on, who judges.

use std::collections::{HashMap, HashSet};
use std::path::Path as FilePath;
use std::slice::from_ref;

use super::workers::refuse_asked;
use super::{Names, repeated};
use crate::domain::{look_alike, skeleton_of};
use crate::mission::{
    check_words::{is_test, judging_words},
    file::{
        codes::Code,
        scalar::Referent,
        shown_text::quoted,
        violation::{Path, Violation, Violations},
    },
    model::{
        Adapter, BeforeRule, Check, CommandCheck, Decomposer, Expectation, FinishGate, Grader, Isolation,
        LlmReview, Mission, Reviewers, Task, TaskType,
    },
    paths::place_in,
};

pub fn validate(mission: &Mission, names: &Names<'_>, problems: &mut Violations) {
    if mission.tasks.is_empty() && !names.incomplete.contains(&Referent::Task) {
        problems.refuse(
            Code::NoTasks,
            Path::of("tasks"),
            "the mission has no tasks",
            "add for example `tasks: [{title: Write the module}]`",
        );
    }
    for (index, task) in mission.tasks.iter().enumerate() {
        TaskChecker { index, task, mission, names, problems }.check();
    }
}

struct TaskChecker<'a, 'm> {
    index: usize,
    task: &'m Task,
    mission: &'m Mission,
    names: &'a Names<'m>,
    problems: &'a mut Violations,
}

impl TaskChecker<'_, '_> {
    fn path(&self, key: &'static str) -> Path {
        Path::of("tasks").item(self.index).key(key)
    }

    fn check(&mut self) {
        self.title();
        self.assignee();
        self.dependencies();
        if self.task.kind == TaskType::Deploy && self.task.side_effects.is_none() {
            self.deployment();
        }
        if self.task.requires_tool_calls == Some(true) {
            self.ledger();
        }
        if let Some(gate) = self.task.verify.as_deref() {
            self.finish_gate(gate);
        }
        if let Some(name) = self.task.decomposer.as_deref().and_then(Decomposer::agent) {
            self.decomposer(name);
        }
        self.before_of_a_judge();
        self.hidden_targets();
        self.new_tests();
        if !self.task.expectations.is_empty() {
            self.expectations();
        }
    }

    /// Checks the agent that cuts criteria into probes: there are criteria to cut and a judge to ask, and it is
    /// no author of the work.
    fn decomposer(&mut self, name: &str) {
        let place = || Path::of("tasks").item(self.index).key("decomposer").key("agent");
        self.names.check_asked(name, place, from_ref(self.task), self.problems);
        let found = self.mission.agents.get(name);
        let by_facts = self.task.verification.as_deref();
        let by_facts = by_facts.is_some_and(|verification| verification.grader == Grader::Heuristic);
        let (code, message, help) = if self.task.acceptance.is_empty() {
            (
                Code::KeyDoesNotApply,
                "`decomposer` has nothing to cut into probes".to_owned(),
                "add `acceptance: [...]`, or remove it",
            )
        } else if by_facts {
            (
                Code::KeyDoesNotApply,
                "facts are held against the criteria as the mission writes them, never against an agent's words".to_owned(),
                "remove `decomposer`, or let a judge grade",
            )
        } else if self.did_the_work(name) {
            (
                Code::OwnReviewer,
                format!("the agent {} cannot cut the criteria of its own work", quoted(name)),
                "name another agent, or leave `decomposer` out: then each criterion is a probe",
            )
        } else if found.is_some_and(|agent| agent.adapter == Adapter::Human) {
            (Code::BadValue, format!("{} is a person, and cannot be called", quoted(name)), "name an agent")
        } else {
            return;
        };
        self.problems.refuse(code, place(), message, help);
    }

    /// Whether the work that the criteria are about is an agent's own. A verification is about the tasks that it depends on.
    fn did_the_work(&self, name: &str) -> bool {
        let is_assigned = |task: &Task| self.mission.assignee(task) == Some(name);
        if self.task.kind != TaskType::Verification {
            return is_assigned(self.task);
        }
        let needed = self.task.depends_on.iter();
        let needed = needed.filter_map(|title| self.names.tasks.get(&**title));
        let mut needed = needed.map(|index| &self.mission.tasks[*index]);
        needed.any(|task| task.kind != TaskType::Verification && is_assigned(task))
    }

    /// Checks the keys of `verify` against each other.
    fn finish_gate(&mut self, gate: &FinishGate) {
        let mut wrong = |key: &'static str, code, message: &str, help: &str| {
            let path = Path::of("tasks").item(self.index).key("verify").key(key);
            self.problems.refuse(code, path, message.to_owned(), help.to_owned());
        };
        let has_tests = gate.has_tests();
        let tests = match (gate.required_tests.is_empty(), &gate.fail_to_pass) {
            (false, _) => "requiredTests",
            (true, Some(_)) => "failToPass",
            (true, None) => "passToPass",
        };
        match gate.test_command.as_deref() {
            None if has_tests => wrong(
                tests,
                Code::MissingKey,
                "tests are required, and there is no `testCommand` that runs one of them",
                "add for example `testCommand: cargo test {test}`",
            ),
            Some(command) if has_tests && !command.contains("{test}") => wrong(
                "testCommand",
                Code::BadValue,
                "`testCommand` does not say where the name of the test goes, so no test could be shown by itself",
                "write {test} where its name belongs, for example `cargo test {test}`",
            ),
            Some(_) if !has_tests => wrong(
                "testCommand",
                Code::KeyDoesNotApply,
                "`testCommand` runs no test: none is required",
                "add `requiredTests: [...]`, or write the command under `commands`",
            ),
            _ => {}
        }
        if gate.compile_command.is_some() && !gate.require_compilation {
            wrong(
                "compileCommand",
                Code::KeyDoesNotApply,
                "`compileCommand` is never run: compilation is not required",
                "add `requireCompilation: true`",
            );
        }
        let has_others = !gate.required_tests.is_empty() || !gate.commands.is_empty();
        if gate.before.is_some() && !has_others && !gate.require_compilation {
            wrong(
                "before",
                Code::KeyDoesNotApply,
                "`before` says what required tests and commands are to be, and there is none: `failToPass` and `passToPass` say it by \
                 themselves",
                "add `requiredTests` or `commands`, or remove it",
            );
        }
    }

    /// Only a test in a worktree can be run with the tests of the work and without the rest of it.
    fn new_tests(&mut self) {
        let isolation = self.task.isolation.unwrap_or(self.mission.isolation());
        for (at, expectation) in self.task.expectations.iter().enumerate() {
            let Expectation::Check(check) = expectation else {
                continue;
            };
            if check.before() != Some(BeforeRule::NewTests) {
                continue;
            }
            let kind = CommandCheck::Test;
            let (message, help) = if !matches!(check, Check::Command { kind: found, .. } if *found == kind) {
                ("`before: newTests` is for checks of type `test`", "write `type: test`, or another `before`")
            } else if isolation != Isolation::Worktree {
                (
                    "`before: newTests` runs the tests of the work without the work, which needs a worktree",
                    "add `isolation: worktree`, or write another `before`",
                )
            } else if check.is_hidden() {
                (
                    "`before: newTests` asks for tests of the work, and a hidden check looks at none",
                    "remove `hidden`, or write another `before`",
                )
            } else {
                continue;
            };
            let path = self.path("expectations").item(at).key("before");
            self.problems.refuse(Code::KeyDoesNotApply, path, message, help);
        }
        let verify = self.task.verify.as_deref().and_then(|gate| gate.before);
        let facts = self.task.verification.as_deref().and_then(|by| by.before);
        for (key, before) in [("verify", verify), ("verification", facts)] {
            if before == Some(BeforeRule::NewTests) {
                self.problems.refuse(
                    Code::KeyDoesNotApply,
                    self.path(key).key("before"),
                    "`before: newTests` is for checks of type `test`",
                    "write another `before`",
                );
            }
        }
    }

    /// Only facts can be looked at before the work: a judge has nothing to grade.
    fn before_of_a_judge(&mut self) {
        let verification = self.task.verification.as_deref();
        if verification.is_some_and(|by| by.before.is_some() && by.grader != Grader::Heuristic) {
            self.problems.refuse(
                Code::KeyDoesNotApply,
                self.path("verification").key("before"),
                "`before` says what facts are to be before the work, and a judge grades here",
                "add `grader: heuristic`, or remove it",
            );
        }
    }

    /// Refuses `requiresToolCalls` for an agent whose tool calls quorum cannot see: the task could neither pass
    /// nor fail by it.
    fn ledger(&mut self) {
        let Some(name) = self.mission.assignee(self.task) else {
            return;
        };
        if self.mission.agents.get(name).is_none_or(|agent| agent.has_ledger()) {
            return;
        }
        self.problems.refuse(Code::NoLedger, self.path("requiresToolCalls"), format!(
            "the task {} requires tool calls, and those of the agent {} cannot be seen",
            quoted(&self.task.title),
            quoted(name)
        ), "plain commands and plain HTTP models do not show their tool calls: ask for what can be seen, with \
             `targetFiles` or `verify: {requireFileChanges: true}`, or give an HTTP model `tools`");
    }

    fn title(&mut self) {
        let title = &*self.task.title;
        let Some(first) = self.names.tasks.get(title).filter(|first| **first != self.index) else {
            self.look_alike();
            return;
        };
        let place = self.path("title");
        let first = Path::of("tasks").item(*first).key("title");
        self.problems.push(
            Violation::error(Code::DuplicateTitle, place, format!("two tasks are called {}", quoted(title)))
                .label("again here")
                .help("give one of them another title")
                .related(first, "first here"),
        );
    }

    /// Two titles that people cannot tell apart: other letters, other spaces, other dashes.
    fn look_alike(&mut self) {
        let title = &*self.task.title;
        if self.names.looks.is_empty() {
            return;
        }
        let first = self.names.looks.get(&skeleton_of(title)).copied();
        let Some(first) = first.filter(|first| *first != self.index) else {
            return;
        };
        let other = &*self.mission.tasks[first].title;
        if !look_alike(title, other) {
            return;
        }
        let place = self.path("title");
        let first = Path::of("tasks").item(first).key("title");
        let message = format!("the title {} looks like {} and is another one", quoted(title), quoted(other));
        let spelt = |title: &str| {
            let strange = title.chars().filter(|c| !c.is_ascii());
            let codes: Vec<String> = strange.map(|c| format!("U+{:04X}", u32::from(c))).collect();
            codes.join(" ")
        };
        let odd = if title.is_ascii() { other } else { title };
        self.problems.push(
            Violation::error(Code::DuplicateTitle, place, message)
                .label("this one")
                .help(format!("give one of them another title; beyond ASCII one has {}", spelt(odd)))
                .related(first, "looks like this one"),
        );
    }

    fn assignee(&mut self) {
        let path = |key| Path::of("tasks").item(self.index).key(key);
        match self.task.assign_to.as_deref() {
            Some(name) => {
                self.names.check_agent(name, || path("assignTo"), self.problems);
                if self.task.kind == TaskType::Verification {
                    let about = from_ref(self.task);
                    refuse_asked(name, || path("assignTo"), about, self.names, self.problems);
                }
            }
            None if self.mission.sole_agent().is_none() && !self.mission.agents.0.is_empty() => {
                self.problems.refuse(
                    Code::Unassigned,
                    path("assignTo"),
                    format!("the task {} has no `assignTo`", quoted(&self.task.title)),
                    "the mission has several agents: say which one works on this task",
                );
            }
            None => {}
        }
        if let Some(name) = self.task.delegated_by.as_deref() {
            self.names.check_agent(name, || path("delegatedBy"), self.problems);
        }
    }

    fn dependencies(&mut self) {
        let path = |item| Path::of("tasks").item(self.index).key("dependsOn").item(item);
        for (item, title) in self.task.depends_on.iter().enumerate() {
            self.names.check_task(title, self.mission, || path(item), self.problems);
        }
        repeated(&self.task.depends_on, "dependsOn", path, self.problems);
        let apart = self.task.depends_on.iter().enumerate();
        let apart: Vec<usize> =
            apart.filter(|(_, title)| self.is_left_apart(title)).map(|(item, _)| item).collect();
        for item in apart {
            self.problems.warn(
                Code::LeftApart,
                path(item),
                format!(
                    "the task {} does not find the files of {}, which works apart from it",
                    quoted(&self.task.title),
                    quoted(&self.task.depends_on[item])
                ),
                "give both the same `isolation`",
            );
        }
    }

    /// Whether what a task makes is not where this one works.
    fn is_left_apart(&self, title: &str) -> bool {
        let Some(other) = self.names.tasks.get(title).map(|index| &self.mission.tasks[*index]) else {
            return false;
        };
        let of = |task: &Task| task.isolation.unwrap_or_else(|| self.mission.isolation());
        match (of(other), of(self.task)) {
            _ if other.kind == TaskType::Verification => false,
            (_, Isolation::Temp) | (Isolation::Shared, Isolation::Shared | Isolation::Copy) => false,
            (Isolation::Worktree, Isolation::Worktree) => false,
            _ => true,
        }
    }

    fn deployment(&mut self) {
        self.problems.warn(
            Code::DeployRepeats,
            self.path("sideEffects"),
            format!("the task {} is a deployment and may be run again", quoted(&self.task.title)),
            "say whether repeating it is harmful: `sideEffects: true` or `sideEffects: false`",
        );
    }

    /// Refuses to hide a file that a worker is to make, because it must see it.
    fn hidden_targets(&mut self) {
        for (item, target) in self.task.target_files.iter().enumerate() {
            let place = place_in(self.task.workspace.as_deref().map_or("", |path| path), target);
            if let Some(by) = self.names.hidden.get(&place) {
                self.problems.refuse(
                    Code::KeyDoesNotApply,
                    self.path("targetFiles").item(item),
                    format!(
                        "{} cannot be hidden from who is to make it: a hidden check of the task {} names it",
                        quoted(target),
                        quoted(by)
                    ),
                    "remove it from `targetFiles`, or `hidden` from the check",
                );
            }
        }
    }

    fn expectations(&mut self) {
        let mut panels = 0;
        for (item, expectation) in self.task.expectations.iter().enumerate() {
            let path = self.path("expectations").item(item);
            match expectation {
                Expectation::Check(check) => self.check_bounds(check, path),
                Expectation::Review(review) => {
                    panels += 1;
                    if panels == 2 {
                        self.problems.refuse(
                            Code::SeveralPanels,
                            path.clone(),
                            format!("the task {} has more than one llm_review", quoted(&self.task.title)),
                            "keep one and give it several `dimensions`, each with a name and a weight",
                        );
                    }
                    self.panel(review, &path);
                }
            }
        }
    }

    fn check_bounds(&mut self, check: &Check, path: Path) {
        if let Check::Metric { min: Some(min), max: Some(max), name, .. } = check
            && min > max
        {
            self.problems.refuse(
                Code::BadValue,
                path.key("min"),
                format!(
                    "the metric {} can never pass: its `min` {min} is above its `max` {max}",
                    quoted(name)
                ),
                "swap the two numbers",
            );
        }
    }

    fn panel(&mut self, review: &LlmReview, path: &Path) {
        let mut seen = HashSet::new();
        for (index, dimension) in review.dimensions.iter().enumerate() {
            if !seen.insert(&*dimension.name) {
                self.problems.refuse(
                    Code::Repeated,
                    path.clone().key("dimensions").item(index).key("name"),
                    format!("two dimensions are called {}", quoted(&dimension.name)),
                    "rename one of them",
                );
            }
        }
        if let Some(Reviewers::Named(names)) = &review.reviewers {
            self.reviewers(names, path);
        }
    }

    fn reviewers(&mut self, names: &[Box<str>], path: &Path) {
        let author = self.mission.assignee(self.task);
        for (index, name) in names.iter().enumerate() {
            let place = || path.clone().key("reviewers").item(index);
            self.names.check_asked(name, place, from_ref(self.task), self.problems);
            if author == Some(&**name) {
                self.problems.refuse(
                    Code::OwnReviewer,
                    place(),
                    format!("the agent {} cannot review its own work", quoted(name)),
                    "name another agent, or remove `reviewers` and quorum finds one",
                );
            }
        }
    }
}

/// The places that hidden checks name, each with the title of the first task to which such a check belongs.
pub fn named_by_hidden(mission: &Mission) -> HashMap<String, &str> {
    let mut found = HashMap::new();
    for task in &mission.tasks {
        for expectation in &task.expectations {
            let Expectation::Check(check) = expectation else {
                continue;
            };
            let Some((command, cwd)) = check.command().filter(|_| check.is_hidden()) else {
                continue;
            };
            let folder = place_in(task.workspace.as_deref().map_or("", |path| path), cwd.unwrap_or_default());
            let words = judging_words(command);
            let at = |word: &str| place_in(&folder, word.split("::").next().unwrap_or_default());
            let tests = words.maybe_tests.iter().map(|word| at(&word.text));
            let tests = tests.filter(|path| is_test(FilePath::new(path)));
            for place in words.words.iter().map(|word| at(&word.text)).chain(tests) {
                found.entry(place).or_insert(&*task.title);
            }
        }
    }
    found
}
