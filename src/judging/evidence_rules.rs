//! What plain facts say about an attempt before any judge is asked (semantics, section 6, preflight).

use crate::domain::{Finding, Points, Severity, TaskId};
use crate::mission::model::{Check, TaskType};
use crate::mission::{Plan, TaskPlan};

/// Which files are looked at before and after a turn, beside the protected ones, to see what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched<'p> {
    /// None: no rule asks.
    Nothing,
    /// These paths and globs.
    Files(Vec<&'p str>),
    /// All of the workspace.
    Workspace,
}

/// Which files a task's rules ask about.
pub fn watched(plan: &Plan, id: TaskId) -> Watched<'_> {
    let task = plan.task(id);
    let targets = task.target_files.iter().map(|path| &**path);
    if task.finish().is_some_and(|gate| gate.require_file_changes) {
        let checks = task.checks();
        let declared = checks.iter().flat_map(|check| match check {
            Check::FileExists { paths, .. } => paths.as_slice(),
            _ => &[],
        });
        let named: Vec<&str> = targets.chain(declared.map(String::as_str)).collect();
        return match named.is_empty() {
            true => Watched::Workspace,
            false => Watched::Files(named),
        };
    }
    let asked = || task.description.as_deref().is_some_and(asks_for_file);
    let has_ledger = plan.agent(task.agent).spec.has_ledger();
    if !task.target_files.is_empty() && (has_ledger || asked()) {
        Watched::Files(targets.collect())
    } else {
        Watched::Nothing
    }
}

/// Whether the files of a task are looked at before and after each of its turns. A model behind HTTP has no hands: what
/// happens to files meanwhile was not done by it.
pub fn is_watched(plan: &Plan, id: TaskId) -> bool {
    let task = plan.task(id);
    let has_rules =
        !plan.rules.protect.is_empty() || !task.protect.is_empty() || watched(plan, id) != Watched::Nothing;
    has_rules && plan.agent(task.agent).spec.has_hands()
}

/// Whether a task is about files: it declares some, or its agent changed some or may have. What an agent without hands
/// did is in its answer alone, and so is that of one that is known to have done nothing else. `calls` are the tool calls
/// of its attempt, `changed` whether a watched file changed, where that is known.
pub fn is_file_task(plan: &Plan, id: TaskId, calls: Option<u32>, changed: Option<bool>) -> bool {
    let task = plan.task(id);
    let checks = task.checks();
    let declares = !task.target_files.is_empty()
        || checks
            .iter()
            .any(|check| matches!(check, Check::FileExists { .. }));
    let saw_all = is_watched(plan, id) && watched(plan, id) == Watched::Workspace;
    let changed_nothing = calls == Some(0) || (saw_all && changed == Some(false));
    declares || (plan.agent(task.agent).spec.has_hands() && !changed_nothing)
}

/// Verbs that make something.
const MAKES: [&str; 5] = ["write", "create", "generate", "produce", "save"];
/// What is made of it is a file.
const FILES: [&str; 4] = ["file", "report", "document", "output"];
/// Words that say it by themselves.
const SAYS_SO: [&str; 4] = ["write_file", "write to", "save to", "output to"];

/// Verbs that put something into a file that is named.
const PUTS: [&str; 7] = ["update", "edit", "modify", "append", "add", "put", "fill"];
/// Ends of names that are no files.
const NO_FILES: [&str; 12] = [
    "com", "org", "net", "io", "dev", "ai", "eu", "node.js", "next.js", "vue.js", "three.js", "d3.js",
];

/// Whether a description asks for a file to be written: a verb that makes something and, later, something that is a
/// file, both as whole words in any case; such a verb, or one that puts something in, and later the name of a file; or words
/// that say it by themselves.
pub fn asks_for_file(description: &str) -> bool {
    let text = description.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    let made = words.any(|word| MAKES.contains(&word)) && words.any(|word| FILES.contains(&word));
    // One space between words, so that a line break makes no difference.
    let joined = || text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut names = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let named = names.any(|word| MAKES.contains(&word) || PUTS.contains(&word)) && names.any(is_file_name);
    made || named || {
        let joined = joined();
        SAYS_SO.iter().any(|phrase| joined.contains(phrase))
    }
}

/// `out.txt`, `src/a.py`: a name with a short ending that begins with a letter.
fn is_file_name(word: &str) -> bool {
    let Some((stem, ending)) = word.rsplit_once('.') else {
        return false;
    };
    let is_ending = (1..=6).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.chars().all(|c| c.is_ascii_alphanumeric());
    // `e.g`, `i.e`
    let is_short = stem.len() == 1 && ending.len() == 1;
    let is_other = NO_FILES.iter().any(|other| ending == *other || word == *other);
    is_ending
        && !is_short
        && !is_other
        && stem.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}

/// What the runtime saw of one declared target file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFile {
    /// The path as declared, relative to the workspace.
    pub path: String,
    /// What is there.
    pub state: FileState,
}

/// What is at a declared path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Nothing.
    Missing,
    /// Something that is not a file that can be read, and why.
    Obstacle(Box<str>),
    /// A file without content.
    Empty,
    /// A file with content.
    Filled,
}

/// Work turned down before a judge saw it. Never counts for the judge breaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightReject {
    /// The points that the attempt gets.
    pub points: Points,
    /// What the worker is told.
    pub findings: Vec<Finding>,
}

/// The artifacts check: of the files that the task must produce, not one has any content.
///
/// One filled file is enough to let the judges decide; a task that declares no files has nothing to check.
pub fn artifacts(files: &[TargetFile]) -> Option<PreflightReject> {
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
    Some(PreflightReject {
        points: Points::whole(20),
        findings,
    })
}

/// Whether work without any tool call counts as not done: as the task says, else by the kind of work.
pub fn requires_tool_calls(task: &TaskPlan) -> bool {
    let acts = matches!(
        task.kind,
        TaskType::Implement | TaskType::Test | TaskType::Refactor | TaskType::Deploy
    );
    task.requires_tool_calls.unwrap_or(acts)
}

/// The agent's own ledger shows that it called no tool, and the work needs some.
pub fn zero_tool_calls() -> PreflightReject {
    PreflightReject {
        points: Points::ZERO,
        findings: vec![Finding::new(
            Severity::High,
            "not one tool was called, and this work cannot be done without",
        )],
    }
}

/// The description asks for a file to be written, and none was: nobody wrote to these.
pub fn nothing_written(targets: &[Box<str>]) -> PreflightReject {
    let files = match targets {
        [] => "no file was written".to_owned(),
        targets => format!("none of these was written: {}", targets.join(", ")),
    };
    PreflightReject {
        points: Points::whole(20),
        findings: vec![Finding::new(
            Severity::High,
            format!("the task asks for a file to be written, and {files}"),
        )],
    }
}

/// The agent called no tool, wrote no file, and its answer stands for no work.
pub fn hollow_work(why: &str) -> PreflightReject {
    PreflightReject {
        points: Points::whole(20),
        findings: vec![Finding::new(Severity::High, format!("no work was done: {why}"))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, state: FileState) -> TargetFile {
        TargetFile {
            path: path.to_owned(),
            state,
        }
    }

    #[test]
    fn nothing_produced_is_rejected_with_every_file_named() {
        let reject = artifacts(&[file("a.md", FileState::Missing), file("b.md", FileState::Empty)]).unwrap();
        assert_eq!(reject.points, Points::whole(20));
        let texts: Vec<_> = reject.findings.iter().map(|f| f.description.as_str()).collect();
        assert_eq!(
            texts,
            ["target file a.md does not exist", "target file b.md is empty"]
        );
    }

    #[test]
    fn a_description_asks_for_a_file_or_does_not() {
        for text in [
            "Write findings to a report",
            "Save to notes.md",
            "CREATE the\nnext\nDocument.",
            "call write_file",
            "output\n  to x",
            "generate an output",
            "Write out.txt",
            "Create src/a.py, please",
            "Save the result to notes.txt.",
            "Update README.md",
            "Put the result into `result.json`",
        ] {
            assert!(asks_for_file(text), "{text}");
        }
        for text in [
            "",
            "create the reporting",
            "report that we generate",
            "rewrite nothing, the file is good",
            "look at the file",
            "Read notes.md and say what it is about",
            "Write about the servers of example.com, e.g. their names",
            "Create a plan for Node.js 22.1",
        ] {
            assert!(!asks_for_file(text), "{text}");
        }
    }

    #[test]
    fn one_filled_file_or_none_declared_is_left_to_the_judges() {
        assert_eq!(artifacts(&[]), None);
        assert_eq!(
            artifacts(&[file("a", FileState::Missing), file("b", FileState::Filled)]),
            None
        );
    }

    /// A plan of one task of this kind.
    fn plan(settings: &str, agent: &str, task: &str) -> Plan {
        let yaml = format!("name: m\nagents: {{w: {{{agent}}}}}\n{settings}tasks: [{{title: a{task}}}]\n");
        let source = crate::mission::Source::new("mission.yaml", yaml.as_str());
        let loaded = crate::mission::load(&source, &crate::mission::Layers::default());
        let mission = loaded.unwrap_or_else(|_| panic!("{yaml}")).mission;
        crate::mission::compile(mission, &crate::mission::RunOptions::default())
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
            (COMMAND, "", Watched::Nothing),
            (HANDS, "", Watched::Nothing),
            (COMMAND, targets, Watched::Nothing),
            (HANDS, targets, Watched::Files(vec!["f"])),
            (COMMAND, asked, Watched::Files(vec!["f"])),
            (COMMAND, ", description: write a report", Watched::Nothing),
            (COMMAND, &format!(", {changes}"), Watched::Workspace),
            (COMMAND, &declared, Watched::Files(vec!["f", "g"])),
        ] {
            let plan = plan("", agent, task);
            assert_eq!(watched(&plan, TaskId(0)), expected, "{agent}{task}");
        }
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
        assert_eq!(
            said(nothing_written(&[])),
            (twenty, format!("{start} no file was written"))
        );
        let two = ["a".into(), "b".into()];
        assert_eq!(
            said(nothing_written(&two)),
            (twenty, format!("{start} none of these was written: a, b"))
        );
        assert_eq!(
            said(hollow_work("why")),
            (twenty, "no work was done: why".to_owned())
        );
        assert_eq!(zero_tool_calls().points, Points::ZERO);
    }
}
