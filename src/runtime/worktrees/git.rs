//! The git program, by nobody's settings but those of the repository that it works on.

use std::io;
use std::path::Path;
use std::process::{Command, Output};

use crate::executor::error::WorkError;

/// A call of the git program, by nobody's settings but those of the repository.
pub(super) struct Git(Command);

impl Git {
    /// For a repository of ours: no setting of the user, or of anybody who can write in their home, has a word in it.
    pub(super) fn new() -> Self {
        let git = Self::bare(&["PATH", "TMPDIR"]);
        let git = git
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        let git = git.env("GIT_ATTR_NOSYSTEM", "1");
        git.args([
            "-c",
            "core.attributesFile=/dev/null",
            "-c",
            "core.excludesFile=/dev/null",
        ])
    }

    /// For the repository of the user, by their settings. What these would run beside git itself is not run.
    pub(super) fn of_user() -> Self {
        Self::bare(&["PATH", "TMPDIR", "HOME", "XDG_CONFIG_HOME"])
    }

    fn bare(kept: &[&str]) -> Self {
        let mut command = Command::new("git");
        command.env_clear();
        command.envs(
            kept.iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
        ]);
        let quiet = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0"];
        let quiet = quiet
            .iter()
            .chain(&["safe.directory=*", "advice.detachedHead=false"]);
        Self(command).args(quiet.flat_map(|setting| ["-c", setting]))
    }

    pub(super) fn at(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    pub(super) fn in_repository(self, repository: &Path) -> Self {
        self.env("GIT_DIR", repository)
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(super) fn arg(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    pub(super) fn args<A: AsRef<std::ffi::OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.0.args(arguments);
        self
    }
}

pub(super) fn output(mut git: Git) -> Result<Output, WorkError> {
    git.0
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused("there is no program `git`"),
            _ => refused(format!("git cannot be run: {error}")),
        })
}

pub(super) fn run(git: Git) -> Result<Output, WorkError> {
    let output = output(git)?;
    match output.status.success() {
        true => Ok(output),
        false => Err(failed(&output)),
    }
}

pub(super) fn failed(output: &Output) -> WorkError {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().lines().last().unwrap_or("it says nothing").to_owned();
    refused(format!("git ended with {}: {said}", output.status))
}

pub(super) fn text(output: Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub(super) fn refused(why: impl Into<std::borrow::Cow<'static, str>>) -> WorkError {
    WorkError::Refused(why.into())
}
