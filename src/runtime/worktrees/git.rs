//! The git program, by nobody's settings but those of the repository that it works on.

use std::io;
use std::path::Path;
use std::process::{Command, Output};

use crate::executor::error::WorkError;

/// A call of the git program, by nobody's settings but those of the repository.
struct Git(Command);

impl Git {
    fn new() -> Self {
        let mut command = Command::new("git");
        command.env_clear();
        let kept = ["PATH", "HOME", "TMPDIR"];
        command.envs(
            kept.iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ]);
        command.envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")]);
        command.args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "gc.auto=0",
        ]);
        command.args(["-c", "safe.directory=*", "-c", "advice.detachedHead=false"]);
        Self(command)
    }

    fn at(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    fn in_repository(self, repository: &Path) -> Self {
        self.env("GIT_DIR", repository)
    }

    fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    fn arg(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    fn args<A: AsRef<std::ffi::OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.0.args(arguments);
        self
    }
}

fn output(mut git: Git) -> Result<Output, WorkError> {
    git.0
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused("there is no program `git`"),
            _ => refused(format!("git cannot be run: {error}")),
        })
}

fn run(git: Git) -> Result<Output, WorkError> {
    let output = output(git)?;
    match output.status.success() {
        true => Ok(output),
        false => Err(failed(&output)),
    }
}

fn failed(output: &Output) -> WorkError {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().lines().last().unwrap_or("it says nothing").to_owned();
    refused(format!("git ended with {}: {said}", output.status))
}

fn text(output: Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

fn refused(why: impl Into<std::borrow::Cow<'static, str>>) -> WorkError {
    WorkError::Refused(why.into())
}
