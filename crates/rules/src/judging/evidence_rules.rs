//! What plain facts say about an attempt before any judge is asked (semantics, section 6, preflight).

use std::path::Path;

use crate::domain::{Finding, Points, Severity, TaskId};
use crate::mission::model::TaskType;
use crate::plan::{Plan, TaskPlan};

use super::write_intent::asked_files;

/// Everything in a workspace.
const EVERYTHING: &str = "**";

/// The paths and globs that are looked at before and after each turn of a task, beside the protected ones, to see what it
/// wrote: none where no rule asks, and everything where the rules name no file. A model behind HTTP has no hands: what
/// happens to files meanwhile was not done by it.
pub fn watched(plan: &Plan, id: TaskId) -> Vec<String> {
    let task = plan.task(id);
    let spec = &plan.agent(task.agent).spec;
    if !spec.has_hands() {
        return Vec::new();
    }
    let is_required = requires_changes(task);
    let asked = task.description.as_deref().filter(|_| !is_required);
    let asked = asked.and_then(asked_files);
    let has_targets = !task.target_files.is_empty();
    let asks_of_targets = has_targets && (spec.has_ledger() || must_touch(task));
    if !(is_required || asked.is_some() || must_write(task) || asks_of_targets) {
        return Vec::new();
    }
    let names = asked.unwrap_or_default();
    let folder = plan.workspace_of(id);
    let here = names.iter().filter_map(|name| below(&folder, name));
    let all: Vec<String> = task.named_files().map(str::to_owned).chain(here).collect();
    // What is to be written elsewhere cannot be seen here.
    if all.is_empty() && names.is_empty() { vec![EVERYTHING.to_owned()] } else { all }
}

/// A pattern for a file of this name in any folder of the workspace; `None` where it would lie elsewhere.
fn below(workspace: &Path, name: &str) -> Option<String> {
    let inner = Path::new(name).strip_prefix(workspace).ok();
    let name = inner.and_then(Path::to_str).unwrap_or(name);
    let is_elsewhere = name.starts_with(['/', '~']) || name.contains(['$', ':']) || name.contains("..");
    (!is_elsewhere).then(|| format!("**/{}", name.trim_start_matches("./")))
}

fn requires_changes(task: &TaskPlan) -> bool {
    task.finish().is_some_and(|gate| gate.require_file_changes)
}

/// Whether only that files were written is asked of all the workspace, whatever they hold.
pub fn is_written_enough(plan: &Plan, id: TaskId) -> bool {
    !requires_changes(plan.task(id)) && is_all_watched(plan, id)
}

/// Whether no file is named that is to be written, so that all of the workspace is looked at.
pub fn is_all_watched(plan: &Plan, id: TaskId) -> bool {
    watched(plan, id) == [EVERYTHING]
}

/// Whether the files of a task are looked at before and after each of its turns.
pub fn is_watched(plan: &Plan, id: TaskId) -> bool {
    let task = plan.task(id);
    let protects = !plan.rules.protect.is_empty() || !task.protect.is_empty();
    (protects && plan.agent(task.agent).spec.has_hands()) || !watched(plan, id).is_empty()
}

/// Whether a task is about files: it declares some, or its agent changed some or may have. What an agent without hands
/// did is in its answer alone, and so is that of one that is known to have done nothing else. `calls` are the tool calls
/// of its attempt, `changed` whether a watched file changed, where that is known.
pub fn is_file_task(plan: &Plan, id: TaskId, calls: Option<u32>, changed: Option<bool>) -> bool {
    let task = plan.task(id);
    let changed_nothing = || calls == Some(0) || (changed == Some(false) && is_all_watched(plan, id));
    task.names_files() || (plan.agent(task.agent).spec.has_hands() && !changed_nothing())
}

/// One declared target file, as the runtime saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetFileFact {
    /// The path as declared, relative to the workspace.
    pub path: String,
    /// The state of the file.
    pub state: FileState,
}

/// The state of a declared path.
#[derive(Debug, Clone, PartialEq)]
pub enum FileState {
    /// There is nothing at the path.
    Missing,
    /// Something that is not a file that can be read, and why.
    Obstacle(Box<str>),
    /// A file without content.
    Empty,
    /// A file with content.
    Filled,
}

/// Work turned down before a judge saw it. Never counts for the judge breaker.
#[derive(Debug, Clone, PartialEq)]
pub struct PreflightReject {
    /// The points that the attempt gets.
    pub points: Points,
    /// The findings for the worker.
    pub findings: Vec<Finding>,
}

/// The artifacts check: of the files that the task must produce, not one has any content.
///
/// One filled file is enough to let the judges decide; a task that declares no files has nothing to check.
pub fn artifacts(files: &[TargetFileFact]) -> Option<PreflightReject> {
    if files.is_empty() || files.iter().any(|file| file.state == FileState::Filled) {
        return None;
    }
    let findings = files
        .iter()
        .map(|file| {
            let what = match &file.state {
                FileState::Empty => "is empty",
                FileState::Missing | FileState::Filled => "does not exist",
                FileState::Obstacle(why) => &format!("cannot be used: {why}"),
            };
            Finding::new(Severity::High, format!("target file {} {what}", file.path))
        })
        .collect();
    Some(PreflightReject { points: Points::whole(20), findings })
}

/// Whether the kind of work is to write files, unless the task says that its answer may be all of it.
pub fn must_write(task: &TaskPlan) -> bool {
    matches!(task.kind, TaskType::Implement | TaskType::Refactor) && task.requires_tool_calls != Some(false)
}

/// Whether work that touched no file counts as not done: it declares files, or is of a kind that changes some. What acts
/// elsewhere, or judges, leaves none.
pub fn must_touch(task: &TaskPlan) -> bool {
    let by_kind = matches!(task.kind, TaskType::Implement | TaskType::Test | TaskType::Refactor);
    let acts_elsewhere = task.side_effects || matches!(task.kind, TaskType::Deploy | TaskType::Verification);
    (by_kind || !task.target_files.is_empty()) && !acts_elsewhere
}

/// Whether work without any tool call counts as not done: as the task says, else by the kind of work.
pub fn requires_tool_calls(task: &TaskPlan) -> bool {
    let acts =
        matches!(task.kind, TaskType::Implement | TaskType::Test | TaskType::Refactor | TaskType::Deploy);
    task.requires_tool_calls.unwrap_or(acts)
}

fn rejected(points: u8, why: String) -> PreflightReject {
    PreflightReject { points: Points::whole(points), findings: vec![Finding::new(Severity::High, why)] }
}

/// The agent's own ledger shows that it called no tool, and the work needs some.
pub fn zero_tool_calls() -> PreflightReject {
    let why = "not one tool was called, and this work cannot be done without";
    rejected(0, why.to_owned())
}

/// The description asks for a file to be written, and none was: nobody wrote to these.
pub fn nothing_written(files: &[&str]) -> PreflightReject {
    let files = match files {
        [] => "no file was written".to_owned(),
        files => format!("none of these was written: {}", files.join(", ")),
    };
    rejected(20, format!("the task asks for a file to be written, and {files}"))
}

/// The work was to touch files, these if any are named, and touched none.
pub fn nothing_touched(files: &str) -> PreflightReject {
    let why = format!(
        "nothing was touched ({files}); where there is nothing to do, say so: `quorum agent result --nothing-to-do REASON`"
    );
    rejected(20, why.replace(" ()", ""))
}

/// The agent wrote no file, and its answer stands for no work.
pub fn hollow_work(why: &str) -> PreflightReject {
    rejected(20, format!("no work was done: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, state: FileState) -> TargetFileFact {
        TargetFileFact { path: path.to_owned(), state }
    }

    #[test]
    fn nothing_produced_is_rejected_with_every_file_named() {
        let reject = artifacts(&[file("a.md", FileState::Missing), file("b.md", FileState::Empty)]).unwrap();
        assert_eq!(reject.points, Points::whole(20));
        let texts: Vec<_> = reject.findings.iter().map(|f| f.description.as_str()).collect();
        assert_eq!(texts, ["target file a.md does not exist", "target file b.md is empty"]);
    }

    #[test]
    fn one_filled_file_or_none_declared_is_left_to_the_judges() {
        assert_eq!(artifacts(&[]), None);
        assert_eq!(artifacts(&[file("a", FileState::Missing), file("b", FileState::Filled)]), None);
    }

    /// A plan of one task of this kind.
    fn plan(settings: &str, agent: &str, task: &str) -> Plan {
        let yaml = format!("name: m\nagents: {{w: {{{agent}}}}}\n{settings}tasks: [{{title: a{task}}}]\n");
        let source = crate::mission::Source::new("mission.yaml", yaml.as_str());
        let loaded = crate::mission::load(&source, &crate::mission::Layers::default());
        let mission = loaded.unwrap_or_else(|_| panic!("{yaml}")).mission;
        crate::plan::compile(mission, &crate::plan::RunOptions::default())
    }

    const COMMAND: &str = "run: [x]";
    const HANDS: &str = "adapter: openai, model: x, tools: {write: allow}";
    const MODEL: &str = "adapter: openai, model: x";

    #[test]
    fn files_are_looked_at_where_a_rule_asks_about_them() {
        let targets = ", targetFiles: [f]";
        let asked = ", targetFiles: [f], description: write a report";
        let changes = "verify: {requireFileChanges: true}";
        let declared =
            format!(", targetFiles: [f], expectations: [{{type: file_exists, paths: [g]}}], {changes}");
        for (agent, task, expected) in [
            (COMMAND, "", &[][..]),
            (HANDS, "", &[]),
            (COMMAND, targets, &["f"]),
            (COMMAND, ", targetFiles: [f], sideEffects: true", &[]),
            (COMMAND, ", targetFiles: [f], type: deploy", &[]),
            (HANDS, targets, &["f"]),
            (COMMAND, asked, &["f"]),
            (COMMAND, ", description: write a report", &["**"]),
            (COMMAND, ", description: write ./a/b.md", &["**/a/b.md"]),
            (COMMAND, ", targetFiles: [f], description: write b.md", &["f", "**/b.md"]),
            // It is written elsewhere.
            (COMMAND, ", description: write ~/b.md", &[]),
            (COMMAND, ", description: write ../b.md", &[]),
            (COMMAND, ", description: 'write it to host:/b.md'", &[]),
            (COMMAND, ", description: write it to /elsewhere/b.md", &[]),
            (COMMAND, ", type: implement", &["**"]),
            (COMMAND, ", type: implement, requiresToolCalls: false", &[]),
            (COMMAND, ", type: test", &[]),
            (MODEL, asked, &[]),
            (COMMAND, &format!(", {changes}"), &["**"]),
            (COMMAND, &format!(", description: write b.md, {changes}"), &["**"]),
            (COMMAND, &declared, &["f", "g"]),
        ] {
            let plan = plan("", agent, task);
            assert_eq!(watched(&plan, TaskId(0)), expected, "{agent}{task}");
        }
        let plan_of = |task: &str| plan("", COMMAND, task);
        assert!(is_written_enough(&plan_of(", type: implement"), TaskId(0)));
        assert!(!is_written_enough(&plan_of(&format!(", {changes}")), TaskId(0)));
        assert!(!is_written_enough(&plan_of(asked), TaskId(0)));
        let protect = "settings: {protect: [x]}\n";
        for (settings, agent, task, expected) in [
            ("", COMMAND, "", false),
            (protect, COMMAND, "", true),
            ("", COMMAND, ", protect: [x]", true),
            ("", COMMAND, asked, true),
            (protect, HANDS, targets, true),
            // A model behind HTTP has no hands.
            (protect, MODEL, asked, false),
        ] {
            assert_eq!(
                is_watched(&plan(settings, agent, task), TaskId(0)),
                expected,
                "{settings}{agent}{task}"
            );
        }
    }

    #[test]
    fn work_that_acts_needs_tool_calls_unless_it_says_otherwise() {
        for (task, expected) in [
            (", type: implement", true),
            (", type: deploy, sideEffects: false", true),
            (", type: research", false),
            (", type: research, requiresToolCalls: true", true),
            (", type: test, requiresToolCalls: false", false),
        ] {
            let plan = plan("", HANDS, task);
            assert_eq!(requires_tool_calls(plan.task(TaskId(0))), expected, "{task}");
        }
    }

    #[test]
    fn a_reject_names_its_points_and_what_was_not_written() {
        let said = |reject: PreflightReject| (reject.points, reject.findings[0].description.clone());
        let start = "the task asks for a file to be written, and";
        let twenty = Points::whole(20);
        assert_eq!(said(nothing_written(&[])), (twenty, format!("{start} no file was written")));
        assert_eq!(
            said(nothing_written(&["a", "b"])),
            (twenty, format!("{start} none of these was written: a, b"))
        );
        assert_eq!(said(hollow_work("why")), (twenty, "no work was done: why".to_owned()));
        assert_eq!(zero_tool_calls().points, Points::ZERO);
    }
}
