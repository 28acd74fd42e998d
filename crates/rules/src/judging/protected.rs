//! What a mission's work is judged by, as far as its words say: each file that the commands of judges and approvers name, and
//! what judges of those that checks and stages name; and what the commands of channels and `worktree.setup` name. What these
//! call in turn goes unseen (semantics, section 22, protected by default).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};

use crate::domain::{AgentId, TaskId};
use crate::mission::check_words::{is_test, judging_words};
use crate::mission::model::{Check, CommandLine};
use crate::mission::shell_line::{ShellWord, simple_commands};
use crate::plan::{ApproverPlan, Plan, Requirement, StagePlan};

use super::heuristic::named_commands;

/// How many folders that a command goes into are followed.
const MOST_FOLDERS: usize = 16;

/// The signs between the words of a shell's command, beside white space.
const BETWEEN: &[char] = &[';', '|', '&', '(', ')', '<', '>', '"', '\'', '`', '$', '{', '}', '=', ',', ':'];

/// The end of a sentence about a write that was refused because its file is protected.
pub const PROTECTED: &str = " (protected)";

/// The files that commands which judge these tasks may mean. `judges` are the agents who judge.
pub fn named_by_judging(
    plan: &Plan,
    tasks: impl IntoIterator<Item = TaskId>,
    judges: &BTreeSet<AgentId>,
) -> NamedPaths {
    let mut found = NamedPaths::default();
    let mut folders = BTreeSet::from([plan.rules.workspace.clone()]);
    for id in tasks {
        let folder = plan.shared_workspace_of(id);
        for (cwd, command) in check_commands(plan, id) {
            let own = cwd.map_or_else(|| folder.clone(), |cwd| folder.join(cwd));
            found.check(&own, &folder, &command);
        }
        for command in approver_commands(plan, id) {
            found.shell(&folder, command);
        }
        folders.insert(folder);
    }
    let agents = judges.iter().flat_map(|id| std::iter::once(*id).chain(plan.fallbacks(*id)));
    for agent in agents.collect::<BTreeSet<AgentId>>() {
        let spec = &plan.agent(agent).spec;
        let own = spec.preset.iter().flat_map(|preset| preset.argv.first());
        own.for_each(|program| found.starts(Path::new("/"), vec![program.to_string()], program));
        for folder in &folders {
            found.line(folder, spec.run.as_ref());
        }
    }
    found
}

/// The files that commands which serve the run may mean: those of channels that anything notifies, and the one
/// that prepares the folders of isolated tasks. Both run beside the work, and later than it.
pub fn named_by_serving(plan: &Plan, mission_folder: &Path) -> NamedPaths {
    let mut found = NamedPaths { serve: true, ..NamedPaths::default() };
    for name in plan.notified_channels() {
        let line = plan.channel(name).and_then(|channel| channel.spec.run.as_ref());
        found.line(mission_folder, line);
    }
    let is_prepared = plan.selected_ids().any(|id| plan.task(id).is_isolated());
    if let Some(setup) = plan.rules.worktrees.setup.as_ref().filter(|_| is_prepared) {
        found.shell(&plan.rules.workspace, setup);
    }
    found
}

/// Paths that judge by the words of one check in a folder, absolute.
pub fn paths_in(folder: &Path, command: &str) -> Vec<PathBuf> {
    let mut found = NamedPaths::default();
    found.check(folder, folder, command);
    found.paths.into_keys().collect()
}

/// The files that a hidden check of a task may name, absolute: those that judge, and of its other words those
/// that no task is to make.
pub fn named_by_hidden(plan: &Plan, id: TaskId, check: &Check) -> BTreeSet<PathBuf> {
    let workspace = plan.shared_workspace_of(id);
    let Some((command, cwd)) = check.command().filter(|_| check.is_hidden()) else {
        return BTreeSet::new();
    };
    let folder = cwd.map_or_else(|| workspace.clone(), |cwd| workspace.join(cwd));
    let (mut judging, mut others) = (NamedPaths::default(), NamedPaths::default());
    judging.check(&folder, &workspace, command);
    others.every_word(&folder, command, command);
    let made = plan.selected_ids().flat_map(|id| {
        let files = plan.task(id).named_files();
        files.map(move |path| plain(&plan.shared_workspace_of(id).join(path)))
    });
    let made: BTreeSet<PathBuf> = made.collect();
    let others = others.paths.into_keys().filter(|path| !made.contains(path));
    judging.paths.into_keys().chain(others).collect()
}

/// The files that a task of the mission is to make, absolute: its commands may name them, and it may change them all the same.
/// What agents and requests say of files frees none.
pub fn own_targets(plan: &Plan, id: TaskId) -> Vec<PathBuf> {
    let task = plan.task(id);
    let folder = plan.workspace_of(id);
    let named = task.named_files().filter(|_| task.provenance.is_none());
    named.map(|path| plain(&folder.join(path))).collect()
}

/// The commands that judge a task, each with the folder within the task's that it runs in, where it has one.
pub fn judging_commands(plan: &Plan, id: TaskId) -> Vec<(Option<String>, String)> {
    let of_approvers = approver_commands(plan, id).map(|command| (None, command.to_owned()));
    check_commands(plan, id).into_iter().chain(of_approvers).collect()
}

fn approver_commands(plan: &Plan, id: TaskId) -> impl Iterator<Item = &str> {
    let approvers = plan.task(id).approvals.iter();
    approvers.flat_map(|approval| &approval.approvers).filter_map(|approver| match approver {
        ApproverPlan::Command(command) => Some(&**command),
        _ => None,
    })
}

fn check_commands(plan: &Plan, id: TaskId) -> Vec<(Option<String>, String)> {
    let task = plan.task(id);
    let mut all = Vec::new();
    let own = task.checks().iter().filter_map(Check::command);
    all.extend(own.map(|(command, cwd)| (cwd.map(str::to_owned), command.to_owned())));
    let gate = task.finish();
    all.extend(gate.iter().flat_map(|gate| &gate.commands).map(|command| {
        let text = match &command.shows {
            Requirement::Test(test) => command.command.replace("{test}", test),
            Requirement::Compilation | Requirement::Command => command.command.clone(),
        };
        (None, text)
    }));
    if let Some(verification) = task.verification().filter(|v| v.rubric.is_none()) {
        all.extend(named_commands(&verification.criteria).into_iter().map(|command| (None, command)));
    }
    let of_stages = task.pipeline.iter().filter_map(StagePlan::command);
    all.extend(of_stages.map(|command| (None, command.to_owned())));
    all
}

/// The files that commands may mean, each with the command that names it first. Whether anything is there is
/// for others to see.
#[derive(Default)]
pub struct NamedPaths {
    /// The absolute paths, each with the command.
    pub paths: BTreeMap<PathBuf, String>,
    /// Programs, by the folder that they are started in and the word for them.
    pub programs: BTreeMap<(PathBuf, String), String>,
    /// Commands that were read already: tasks have them in common.
    seen: HashSet<(PathBuf, String)>,
    /// Whether the commands only serve the run.
    serve: bool,
}

impl NamedPaths {
    fn line(&mut self, folder: &Path, line: Option<&CommandLine>) {
        match line {
            Some(CommandLine::Argv(argv)) => self.argv(folder, argv),
            Some(CommandLine::Shell(script)) => self.shell(folder, script),
            None => {}
        }
    }

    fn argv(&mut self, folder: &Path, argv: &[String]) {
        let command = argv.join(" ");
        let programs = judging_words(&command).programs.into_iter();
        self.starts(folder, programs.chain(argv.first().cloned()).collect(), &command);
        for word in argv {
            let word = word.replace("{workspace}", &folder.to_string_lossy());
            if !word.contains(['*', '?']) {
                self.name(folder, &word, &command);
            }
            self.every_word(folder, &word, &command);
        }
    }

    fn shell(&mut self, folder: &Path, script: &str) {
        if self.seen.insert((folder.to_owned(), script.to_owned())) {
            self.starts(folder, judging_words(script).programs, script);
            self.every_word(folder, script, script);
        }
    }

    fn starts(&mut self, folder: &Path, programs: Vec<String>, command: &str) {
        // Texts are run by it.
        for name in programs.into_iter().chain(["bash".to_owned()]) {
            let named = self.programs.entry((folder.to_owned(), name));
            named.or_insert_with(|| command.to_owned());
        }
    }

    /// Adds the judging files of a check in a folder; `workspace` is the task's.
    fn check(&mut self, folder: &Path, workspace: &Path, command: &str) {
        if !self.seen.insert((folder.to_owned(), command.to_owned())) {
            return;
        }
        let found = judging_words(command);
        self.starts(folder, found.programs, command);
        let mut folders = vec![folder.to_owned()];
        for inner in found.folders.iter().take(MOST_FOLDERS) {
            let behind = folders.iter().rev().take(1);
            let behind: Vec<PathBuf> = behind.map(|last| last.join(inner)).collect();
            folders.extend(behind.into_iter().chain([folder.join(inner)]));
        }
        for folder in &folders {
            for word in &found.words {
                self.word(folder, word, command);
            }
            for word in &found.maybe_tests {
                let value = word.text.split_once('=').map_or("", |(_, value)| value);
                for text in [&word.text, value] {
                    let path = plain(&folder.join(text.split("::").next().unwrap_or_default()));
                    if path.strip_prefix(workspace).is_ok_and(is_test) {
                        self.paths.entry(path).or_insert_with(|| command.to_owned());
                    }
                }
            }
        }
        if found.is_open {
            self.every_word(folder, command, command);
        }
    }

    /// Every word that could be a path, as the shell reads it and as it is written.
    fn every_word(&mut self, folder: &Path, text: &str, command: &str) {
        let served = self.serve.then(|| without_targets(text));
        let text = served.as_deref().unwrap_or(text);
        // Patterns are followed only where a script is named by one: here a word may be anything.
        let written = written_anew(text);
        let is_name = |word: &&ShellWord| !word.text.contains(['*', '?']) && written != Some(&*word.text);
        for word in simple_commands(text).iter().flatten().filter(is_name) {
            self.word(folder, word, command);
        }
        self.words(folder, text, command);
    }

    /// A word as the shell reads it. Of one that has a variable in it what stands behind that may be the path.
    fn word(&mut self, folder: &Path, word: &ShellWord, command: &str) {
        let path = word.text.split("::").next().unwrap_or_default();
        self.name(folder, path, command);
        let ends = path.match_indices('/').filter(|_| word.is_open);
        for (at, _) in ends {
            self.name(folder, &path[at + 1..], command);
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
                if written == Some(piece) || piece.contains(['*', '?']) {
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
    let target = behind.strip_prefix('|').unwrap_or(behind).trim_start_matches([' ', '\t']);
    if !is_plain || target.starts_with(['>', '&', '(', '|']) {
        return None;
    }
    let is_end = |c: char| c.is_whitespace() || [';', '|', '&', ')', '<', '>'].contains(&c);
    let name = target.split(is_end).next()?.trim_matches(['"', '\'']);
    let read_before =
        before.split(|c: char| c.is_whitespace() || BETWEEN.contains(&c)).any(|word| word == name);
    (!name.is_empty() && !read_before).then_some(name)
}

/// A script without the files that its output goes to: a log that a command keeps is none that it goes by.
fn without_targets(script: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || BETWEEN.contains(&c);
    let mut parts = script.split('>');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let part = part.trim_start_matches(['|', '&', ' ']);
        text + " " + part.trim_start_matches(|c| !is_end(c))
    })
}

/// The path without `.` and `..`, by its words alone.
pub fn plain(path: &Path) -> PathBuf {
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
            let mut found = NamedPaths::default();
            found.shell(Path::new("/w"), command);
            found.paths.contains_key(Path::new("/w/log"))
        };
        for command in ["x > log", "x >log 2>&1; grep ok log", "x 2> 'log'", "x &>log", "x >| log"] {
            assert!(!named(command), "{command}");
        }
        for command in ["x >> log", "x log", "x < log", "x >&2 log", "x 2>&1 | tee log", "diff >(x) log"] {
            assert!(named(command), "{command}");
        }
    }

    #[test]
    fn what_a_command_prints_into_is_no_file_that_it_goes_by() {
        for (script, rest) in [
            ("sh tell.sh", "sh tell.sh"),
            ("cat >> log; sh tell.sh", "cat   ; sh tell.sh"),
            ("cat >log 2>&1 tell.sh", "cat   2  tell.sh"),
            ("(sh tell.sh) &>log|cat", "(sh tell.sh) & |cat"),
            ("cat >| log", "cat  "),
        ] {
            assert_eq!(without_targets(script), rest);
        }
    }

    #[test]
    fn of_a_check_what_judges_is_a_path_and_what_is_judged_is_none() {
        let named = |command: &str, path: &str| {
            let all = paths_in(Path::new("/w"), command);
            all.contains(&Path::new("/w").join(path))
        };
        for (command, path) in [
            ("./check.sh answer.txt", "check.sh"),
            ("sh 'te st/check.sh'", "te st/check.sh"),
            (r"bash -euo pipefail te\ st/check.sh", "te st/check.sh"),
            ("sh \"$PWD/check.sh\"", "check.sh"),
            ("sh $HERE/tools/check.sh", "tools/check.sh"),
            ("for f in a.sh b.sh; do sh $f; done", "b.sh"),
            ("if ! A=1 timeout -s KILL 10 python3.11 -W error check.py; then false; fi", "check.py"),
            ("cd sub && node --require ./setup.js check.js", "sub/setup.js"),
            ("bash -c 'cd sub; . ./check.sh'", "sub/check.sh"),
            ("sh < check.sh", "check.sh"),
            ("uv run --quiet python -u check.py", "check.py"),
            ("go run check.go answer.txt", "check.go"),
            ("find . -name '*.txt' -exec ruby check.rb {} +", "check.rb"),
            ("diff -u <(sort answer.txt) 'expected one.txt'", "expected one.txt"),
            ("cmp answer.bin expected.bin", "expected.bin"),
            ("comm -3 answer.txt - < expected.txt", "expected.txt"),
            ("sha256sum --quiet -c SUMS", "SUMS"),
            ("pytest -c conf/pytest.ini --rootdir=checks", "conf/pytest.ini"),
            ("pytest --rootdir=checks", "checks/conftest.py"),
            ("make -fcheck.mk", "check.mk"),
            ("grep -q -f patterns.txt answer.txt", "patterns.txt"),
            ("./tool --check rules.json", "rules.json"),
            ("tool --config=rules.toml answer.txt", "rules.toml"),
            ("pytest tests/a.py::test_one", "tests/a.py"),
            ("npx jest src/calc.test.js", "src/calc.test.js"),
            ("php -f check.php", "check.php"),
            ("python3 -m pytest -c own.ini", "own.ini"),
        ] {
            assert!(named(command, path), "{command}");
        }
        for (command, path) in [
            ("python3 -m py_compile calc.py", "calc.py"),
            ("python3 -c 'import calc' calc.py", "calc.py"),
            ("grep -q x answer.txt", "answer.txt"),
            ("grep -qc x answer.txt", "answer.txt"),
            ("wc -c answer.txt | grep -q 3", "answer.txt"),
            ("test -f answer.txt && [ -s answer.txt ]", "answer.txt"),
            ("node --check calc.js", "calc.js"),
            ("ruby -c calc.rb", "calc.rb"),
            ("perl -wc calc.pl", "calc.pl"),
            ("php -l calc.php", "calc.php"),
            ("bash -n calc.sh", "calc.sh"),
            ("gcc -c calc.c -o /dev/null", "calc.c"),
            ("rustfmt --check src/calc.rs", "src/calc.rs"),
            ("black --check calc.py", "calc.py"),
            ("go vet calc.go", "calc.go"),
            ("jq -e .ok answer.json", "answer.json"),
            ("sh check.sh answer.txt", "answer.txt"),
            ("cat < answer.txt", "answer.txt"),
            ("cargo test > answer.txt; grep ok answer.txt", "answer.txt"),
            ("cat answer.txt # sh calc.sh", "calc.sh"),
        ] {
            assert!(!named(command, path), "{command}");
        }
    }

    #[test]
    fn every_word_of_a_command_may_be_a_path() {
        let mut found = NamedPaths::default();
        let folder = Path::new("/w");
        found.shell(folder, "cd sub && sh -eu 'check it.sh' --config=conf.toml tests/a.py::test_one; ./x");
        found.argv(folder, &["sh".to_owned(), "{workspace}/a b.sh".to_owned()]);
        for path in
            ["/w/sh", "/w/sub/conf.toml", "/w/conf.toml", "/w/tests/a.py", "/w/x", "/w/sub/x", "/w/a b.sh"]
        {
            assert!(found.paths.contains_key(Path::new(path)), "{path}: {:?}", found.paths);
        }
    }
}
