//! Commands: how an agent's command line, its environment and its files come together
//! (`docs/reference/agents.md`). Also used for checks and command judges, which get the same clean environment.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rules::mission::model::CommandLine;
use rules::mission::shell_line::{Quoting, characters, first_program, needs_bash};
use rules::mission::{self, UnsetVariable};

use super::secrets::{Secrets, own_variable};

/// Variables of our own environment that a child inherits; everything else it must be given.
pub const INHERITED: [&str; 5] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR"];
/// Where programs are looked for when PATH is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The variable that names a process' task.
pub const TASK_VARIABLE: &str = "QUORUM_TASK";
const SHELL: &str = "/bin/sh";

/// Where programs are looked for.
pub fn path_variable() -> String {
    own_variable("PATH").unwrap_or_else(|| DEFAULT_PATH.to_owned())
}

/// A command line whose program was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Absolute path, but for what another machine finds. A bare name would make every start of it search, and fork instead of
    /// spawn.
    path: PathBuf,
    line: CommandLine,
}

impl Program {
    /// Finds the program of a command line, relative paths in `cwd`.
    ///
    /// # Errors
    /// When there is no such executable; the message names it.
    pub fn resolve(line: &CommandLine, cwd: &Path) -> io::Result<Self> {
        let found = Self::elsewhere(line);
        let path = supervisor::resolve(&found.path.to_string_lossy(), &path_variable(), cwd)?;
        Ok(Self { path, ..found })
    }

    /// A command line that another machine finds the program of.
    pub fn elsewhere(line: &CommandLine) -> Self {
        let path = match line {
            CommandLine::Argv(argv) => argv.first().map_or("", String::as_str),
            CommandLine::Shell(_) => SHELL,
        };
        Self { path: path.into(), line: line.clone() }
    }

    /// Where the program is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The argument list with placeholders filled in. In a list they are text within one argument; in a shell string
    /// they become positional parameters, so that no task title is ever read as shell code.
    pub fn argv(&self, placeholders: &Placeholders<'_>) -> Vec<String> {
        let program = self.path.to_string_lossy().into_owned();
        match &self.line {
            CommandLine::Argv(argv) => {
                let arguments = argv.iter().skip(1).map(|argument| placeholders.fill(argument));
                std::iter::once(program).chain(arguments).collect()
            }
            CommandLine::Shell(script) => {
                let mut argv = vec![program, "-c".to_owned(), positional(script, &names()), "sh".to_owned()];
                argv.extend(placeholders.values().map(|(_, value)| value.to_owned()));
                argv
            }
        }
    }
}

/// Where bash is, looked for once. Not in a folder that `PATH` names by a relative path: it could hold anything.
static BASH: LazyLock<Option<String>> = LazyLock::new(|| {
    let found = supervisor::resolve("bash", &path_variable(), Path::new("/"));
    found.ok()?.into_os_string().into_string().ok()
});

/// Whether there is bash.
pub fn has_bash() -> bool {
    BASH.is_some()
}

/// The program that a command begins with, if it is nowhere on `PATH`: what such a command ends with says nothing about work.
pub fn missing_program(command: &str) -> Option<&str> {
    let program = first_program(command)?;
    let found = supervisor::resolve(program, &path_variable(), Path::new("/"));
    found.is_err().then_some(program)
}

/// The argument list of a command that judges: a failure anywhere in a pipe counts. One line runs under `bash -o pipefail`,
/// several under `bash -euo pipefail`. Without bash what needs none runs under `sh`, and nothing else can be started.
pub fn check_argv(command: &str) -> Vec<String> {
    let command = command.trim();
    let options = if command.contains('\n') { "-euo" } else { "-o" };
    let argv: &[&str] = match BASH.as_deref() {
        None if !needs_bash(command) => &[SHELL, "-c", command],
        bash => &[bash.unwrap_or("/bin/bash"), options, "pipefail", "-c", command],
    };
    argv.iter().map(|argument| (*argument).to_owned()).collect()
}

/// The argument list of a script that judges nothing: one line runs under `sh`, several as in [`check_argv`].
pub fn script_argv(script: &str) -> Vec<String> {
    match script.trim() {
        several if several.contains('\n') => check_argv(several),
        line => vec![SHELL.to_owned(), "-c".to_owned(), line.to_owned()],
    }
}

/// The argument list of a command that runs one test: `{test}` becomes a positional parameter, so that no name of a
/// test is ever read as shell code.
pub fn test_argv(command: &str, test: &str) -> Vec<String> {
    let mut argv = check_argv(&positional(command, &["{test}"]));
    argv.extend(["sh".to_owned(), test.to_owned()]);
    argv
}

fn names() -> Vec<&'static str> {
    Placeholders::default().values().map(|(name, _)| name).collect()
}

/// The values of the placeholders in braces in a command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Placeholders<'a> {
    /// `{task}`: the task's title.
    pub task: &'a str,
    /// `{attempt}`: the number of the attempt.
    pub attempt: &'a str,
    /// `{promptFile}`: the path of the prompt.
    pub prompt_file: &'a str,
    /// `{workspace}`: the path of the workspace.
    pub workspace: &'a str,
}

impl<'a> Placeholders<'a> {
    fn values(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        [
            ("{task}", self.task),
            ("{attempt}", self.attempt),
            ("{promptFile}", self.prompt_file),
            ("{workspace}", self.workspace),
        ]
        .into_iter()
    }

    /// One pass, so that a title which contains a placeholder is not expanded again.
    fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            match self.values().find(|(name, _)| rest.starts_with(name)) {
                Some((name, value)) => {
                    out.push_str(value);
                    rest = &rest[name.len()..];
                }
                None => {
                    out.push('{');
                    rest = &rest[1..];
                }
            }
        }
        out + rest
    }
}

/// Replaces placeholders in a shell script by quoted positional parameters, whatever quotes they stand in.
fn positional(script: &str, names: &[&str]) -> String {
    let mut out = String::with_capacity(script.len() + 16);
    let mut behind = 0;
    for (at, c, how) in characters(script) {
        if at < behind {
            continue;
        }
        let is_here =
            |(_, name): &(usize, &&str)| how != Quoting::Literal && script[at..].starts_with(**name);
        let Some((index, name)) = names.iter().enumerate().find(is_here) else {
            out.push(c);
            continue;
        };
        behind = at + name.len();
        let parameter = format!("${{{}}}", index + 1);
        out.push_str(&match how {
            Quoting::Single => format!("'\"{parameter}\"'"),
            Quoting::Double => parameter,
            Quoting::Bare | Quoting::Literal => format!("\"{parameter}\""),
        });
    }
    out
}

/// The environment that every process of an agent has in common: inherited variables, and those that `env`
/// names.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildEnv {
    /// Texts in which `${NAME}` stands for a variable of our own environment, by name. Of one name the first holds.
    pub variables: Vec<(String, String)>,
    /// The values of our own environment that no other process gets.
    pub secrets: Secrets,
}

impl ChildEnv {
    /// The environment of an agent: its `env`, in which `lookup` knows the variables of our own environment,
    /// and those of `passed` that are set there.
    ///
    /// # Errors
    ///
    /// When a variable is not set.
    pub fn of_agent<'e>(
        env: impl Iterator<Item = (&'e String, &'e String)>,
        passed: impl Iterator<Item = &'e str>,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, UnsetVariable> {
        let secrets = RefCell::new(Vec::new());
        let variable = |name: &str| {
            lookup(name).inspect(|value| {
                if !INHERITED.contains(&name) {
                    secrets.borrow_mut().push((value.clone(), name.to_owned()));
                }
            })
        };
        let mut variables = Vec::new();
        for (name, text) in env {
            mission::expand(text, variable)?;
            variables.push((name.clone(), text.clone()));
        }
        for name in passed {
            let Some(value) = lookup(name) else {
                continue;
            };
            // Addresses and folders are in every other line, and no secret; but an address may hold a password.
            if names_a_secret(name) || value.contains('@') {
                variable(name);
            }
            variables.push(by_name(name));
        }
        variables.extend(inherited());
        Ok(Self { variables, secrets: Secrets::of(secrets.into_inner()) })
    }

    /// The environment of an agent on another machine, which knows the values: nothing is looked for here.
    pub fn elsewhere<'e>(
        env: impl Iterator<Item = (&'e String, &'e String)>,
        passed: impl Iterator<Item = &'e str>,
    ) -> Self {
        let own = env.map(|(name, text)| (name.clone(), text.clone()));
        Self {
            variables: own.chain(passed.chain(INHERITED).map(by_name)).collect(),
            secrets: Secrets::default(),
        }
    }
}

/// A variable that has the value of our own variable of the same name.
fn by_name(name: &str) -> (String, String) {
    (name.to_owned(), format!("${{{name}}}"))
}

/// What every child inherits, by name.
pub fn inherited() -> Vec<(String, String)> {
    let is_set = |name: &&&str| **name == "PATH" || own_variable(name).is_some();
    INHERITED.iter().filter(is_set).map(|name| by_name(name)).collect()
}

/// Whether a variable of this name holds what nobody may read.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH_CONTENT"];
    words.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const TRICKY: &str = "a 'b' \"c\" $(touch owned) `x` ; {attempt} \\";

    #[test]
    fn the_name_of_a_test_is_never_code() {
        for command in ["printf %s {test}", "printf %s \"{test}\"", "set -f\nprintf %s '{test}'"] {
            let argv = test_argv(command, TRICKY);
            let output = Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), TRICKY, "{command}");
        }
    }

    fn placeholders() -> Placeholders<'static> {
        Placeholders { task: TRICKY, attempt: "2", prompt_file: "/p q", workspace: "/w" }
    }

    #[test]
    fn a_list_is_filled_as_text() {
        let line = CommandLine::Argv(vec!["sh".into(), "x-{task}".into(), "{attempt}{nope}{".into()]);
        let program = Program::resolve(&line, Path::new("/")).unwrap();
        let argv = program.argv(&placeholders());
        assert!(Path::new(&argv[0]).is_absolute());
        assert_eq!(argv[1..], [format!("x-{TRICKY}"), "2{nope}{".to_owned()]);
    }

    #[test]
    fn in_a_shell_string_no_title_is_ever_code() {
        for script in [
            "printf %s {task}",
            "printf %s \"{task}\"",
            "printf %s '{task}'",
            "x=\\\"; printf %s {task}",
            "printf '%s' \"$(printf %s {task})\"",
            "printf '%s' \"$( (printf %s \"{task}\") )\"",
            "case x in x) printf %s {task};; esac",
            "printf %s \"\"\"{task}\"",
            "# don't\nprintf %s {task}",
        ] {
            let program = Program::resolve(&CommandLine::Shell(script.to_owned()), Path::new("/")).unwrap();
            let argv = program.argv(&placeholders());
            let folder = tempfile::tempdir().unwrap();
            let output = Command::new(&argv[0]).args(&argv[1..]).current_dir(folder.path()).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), TRICKY, "{script}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{script}");
        }
    }

    #[test]
    fn a_failure_anywhere_in_a_pipe_of_one_line_counts_and_other_failures_stop_nothing() {
        let run = |command: &str| {
            let argv = check_argv(command);
            Command::new(&argv[0]).args(&argv[1..]).output().unwrap()
        };
        assert!(!run("false | tee /dev/null").status.success());
        assert!(run("false; true").status.success());
        assert!(run("echo $unset").status.success());
    }

    #[test]
    fn several_lines_stop_at_the_first_failure() {
        let argv = check_argv("false | true\necho reached");
        let output = Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
    }
}
