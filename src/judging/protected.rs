//! What a mission's work is judged by, as far as its words say: the programs and files that the commands of judges, checks,
//! stages and approvers name. What these call in turn goes unseen (semantics, section 22, protected by default).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};

use crate::domain::{AgentId, TaskId};
use crate::mission::model::{Check, CommandLine};
use crate::mission::{ApproverPlan, Plan, Requirement, StagePlan};

use super::heuristic::named_commands;

/// What stands between the words of a shell's command, beside white space.
const BETWEEN: &[char] = &[
    ';', '|', '&', '(', ')', '<', '>', '"', '\'', '`', '$', '{', '}', '=', ',', ':',
];

/// What ends the words for a write that was refused because its file is protected.
pub const PROTECTED: &str = " (protected)";

/// Paths that commands which judge these tasks may mean, absolute, each with the command that names it first. Whether anything is there
/// is for others to see. `judges` are the agents who judge.
pub fn judging_paths(
    plan: &Plan,
    tasks: impl IntoIterator<Item = TaskId>,
    judges: &BTreeSet<AgentId>,
) -> BTreeMap<PathBuf, String> {
    let mut found = Paths::default();
    let mut folders = BTreeSet::from([plan.rules.workspace.clone()]);
    for id in tasks {
        let folder = plan.shared_workspace_of(id);
        for (cwd, command) in judging_commands(plan, id) {
            let folder = cwd.map_or_else(|| folder.clone(), |cwd| folder.join(cwd));
            found.shell(&folder, &command);
        }
        folders.insert(folder);
    }
    let agents = judges
        .iter()
        .flat_map(|id| std::iter::once(*id).chain(plan.fallbacks(*id)));
    for agent in agents.collect::<BTreeSet<AgentId>>() {
        for folder in &folders {
            match &plan.agent(agent).spec.run {
                Some(CommandLine::Argv(argv)) => found.argv(folder, argv),
                Some(CommandLine::Shell(script)) => found.shell(folder, script),
                None => {}
            }
        }
    }
    found.paths
}

/// Paths that one command in a folder may mean, absolute.
pub fn paths_in(folder: &Path, command: &str) -> Vec<PathBuf> {
    let mut found = Paths::default();
    found.shell(folder, command);
    found.paths.into_keys().collect()
}

/// The files that a task is to make, absolute: its commands may name them, and it may change them all the same.
pub fn own_targets(plan: &Plan, id: TaskId) -> Vec<PathBuf> {
    let task = plan.task(id);
    let folder = plan.workspace_of(id);
    task.named_files().map(|path| plain(&folder.join(path))).collect()
}

/// The commands that judge a task, each with the folder within the task's that it runs in, where it has one.
pub fn judging_commands(plan: &Plan, id: TaskId) -> Vec<(Option<String>, String)> {
    let task = plan.task(id);
    let mut all = Vec::new();
    for check in task.checks() {
        match check {
            Check::Command { command, cwd, .. } => {
                all.push((cwd.as_ref().map(ToString::to_string), command.clone()));
            }
            Check::Metric { command, .. } => all.push((None, command.clone())),
            Check::FileExists { .. } => {}
        }
    }
    let gate = task.finish();
    all.extend(gate.iter().flat_map(|gate| &gate.commands).map(|command| {
        let text = match &command.shows {
            Requirement::Test(test) => command.command.replace("{test}", test),
            Requirement::Compilation | Requirement::Command => command.command.clone(),
        };
        (None, text)
    }));
    if let Some(verification) = task.verification().filter(|v| v.rubric.is_none()) {
        all.extend(
            named_commands(&verification.criteria)
                .into_iter()
                .map(|command| (None, command)),
        );
    }
    let of_stages = task.pipeline.iter().filter_map(StagePlan::command);
    all.extend(of_stages.map(|command| (None, command.to_owned())));
    for approver in task.approvals.iter().flat_map(|approval| &approval.approvers) {
        if let ApproverPlan::Command(command) = approver {
            all.push((None, command.to_string()));
        }
    }
    all
}

#[derive(Default)]
struct Paths {
    paths: BTreeMap<PathBuf, String>,
    /// Commands that were read already: tasks have them in common.
    seen: HashSet<(PathBuf, String)>,
}

impl Paths {
    fn argv(&mut self, folder: &Path, argv: &[String]) {
        let command = argv.join(" ");
        for word in argv {
            let word = word.replace("{workspace}", &folder.to_string_lossy());
            self.name(folder, &word, &command);
            self.words(folder, &word, &command);
        }
    }

    fn shell(&mut self, folder: &Path, script: &str) {
        if self.seen.insert((folder.to_owned(), script.to_owned())) {
            self.words(folder, script, script);
        }
    }

    /// Every word that could be a path, in the folder and in those that the command goes into.
    fn words(&mut self, folder: &Path, text: &str, command: &str) {
        let written = written_anew(text);
        let mut folders = vec![folder.to_owned()];
        let mut goes = false;
        for word in text.split_whitespace() {
            let bare = word.trim_matches(BETWEEN);
            if goes {
                folders.push(folder.join(bare));
            }
            goes = bare == "cd";
            for piece in std::iter::once(bare).chain(word.split(BETWEEN)) {
                if written == Some(piece) {
                    continue;
                }
                for folder in &folders {
                    self.name(folder, piece, command);
                }
            }
        }
    }

    fn name(&mut self, folder: &Path, word: &str, command: &str) {
        if word.is_empty() || word.contains('\0') {
            return;
        }
        let path = plain(&folder.join(word));
        self.paths.entry(path).or_insert_with(|| command.to_owned());
    }
}

/// The file that a command line certainly writes anew before anything reads it (`cargo test > report.txt`): whatever it
/// held before has no say in what the command says. Only that of the first of several commands, for what stands behind a
/// condition may not run.
fn written_anew(text: &str) -> Option<&str> {
    let (before, behind) = text.split_once('>')?;
    let is_plain = !before.contains([';', '|', '(', ')', '{', '}', '\n', '"', '\'', '`', '#'])
        && before.strip_suffix('&').unwrap_or(before).matches('&').count() == 0;
    let target = behind
        .strip_prefix('|')
        .unwrap_or(behind)
        .trim_start_matches([' ', '\t']);
    if !is_plain || target.starts_with(['>', '&', '(', '|']) {
        return None;
    }
    let is_end = |c: char| c.is_whitespace() || [';', '|', '&', ')', '<', '>'].contains(&c);
    let name = target.split(is_end).next()?.trim_matches(['"', '\'']);
    let read_before = before
        .split(|c: char| c.is_whitespace() || BETWEEN.contains(&c))
        .any(|word| word == name);
    (!name.is_empty() && !read_before).then_some(name)
}

/// The path without `.` and `..`, by its words alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_writes_anew_by_itself_is_no_path_that_it_rests_on() {
        let named = |command: &str| {
            let mut found = Paths::default();
            found.shell(Path::new("/w"), command);
            found.paths.contains_key(Path::new("/w/log"))
        };
        for command in [
            "x > log",
            "x >log 2>&1; grep ok log",
            "x 2> 'log'",
            "x &>log",
            "x >| log",
        ] {
            assert!(!named(command), "{command}");
        }
        for command in [
            "x >> log",
            "x log",
            "x < log",
            "x >&2 log",
            "x 2>&1 | tee log",
            "diff >(x) log",
        ] {
            assert!(named(command), "{command}");
        }
    }

    #[test]
    fn every_word_of_a_command_may_be_a_path() {
        let mut found = Paths::default();
        let folder = Path::new("/w");
        found.shell(
            folder,
            "cd sub && sh -eu 'check it.sh' --config=conf.toml tests/a.py::test_one; ./x",
        );
        found.argv(folder, &["sh".to_owned(), "{workspace}/a b.sh".to_owned()]);
        for path in [
            "/w/sh",
            "/w/sub/conf.toml",
            "/w/conf.toml",
            "/w/tests/a.py",
            "/w/x",
            "/w/sub/x",
            "/w/a b.sh",
        ] {
            assert!(
                found.paths.contains_key(Path::new(path)),
                "{path}: {:?}",
                found.paths
            );
        }
    }
}
