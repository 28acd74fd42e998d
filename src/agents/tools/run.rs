//! The tool that runs a command: what it is told and what a model is told of it. Whoever starts it is not here.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;

use crate::agents::command_line::script_argv;
use crate::agents::model::{ToolCall, ToolSpec};
use rules::domain::Millis;

use super::destructive::destructive;
use super::{ToolError, arguments};

/// The name of the tool.
pub const RUN: &str = "run";
/// How long a command may take that does not say.
const DEFAULT_TIMEOUT: Millis = Millis::from_secs(120);
/// Words of one command line.
const MOST_WORDS: usize = 1_000;

/// A command that a model wants to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCommand {
    /// Program and arguments; a bare program is looked for in PATH.
    pub argv: Vec<String>,
    /// The most time for the command.
    pub timeout: Millis,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RunArguments {
    argv: Option<Vec<String>>,
    shell: Option<String>,
    timeout_seconds: Option<u64>,
}

/// The description of the tool for the model.
pub fn spec() -> ToolSpec {
    ToolSpec {
        name: RUN,
        description: "Runs a command in the workspace, without a terminal and without input, and gives its exit code and \
                      output. Give either `argv`, which is executed as it is, or `shell`, a script.",
        parameters: json!({
            "type": "object",
            "properties": {
                "argv": {"type": "array", "items": {"type": "string"}, "description": "Program and arguments."},
                "shell": {"type": "string", "description": "A script for sh."},
                "timeoutSeconds": {"type": "integer", "minimum": 1, "description": "How long it may take [120]."},
            },
            "additionalProperties": false,
        }),
    }
}

impl ToolCommand {
    /// The command, where it destroys nothing that no task should.
    ///
    /// # Errors
    ///
    /// What the command would destroy, for the model.
    pub fn unless_destructive(self) -> Result<Self, ToolError> {
        match destructive(&self.argv) {
            Some(why) => refused(format!("this command is refused: {why}")),
            None => Ok(self),
        }
    }
}

/// The command that a call asks for.
///
/// # Errors
///
/// Why it cannot be run, for the model.
pub fn command_of(call: &ToolCall) -> Result<ToolCommand, ToolError> {
    let RunArguments { argv, shell, timeout_seconds } = arguments(call)?;
    let argv = match (argv, shell) {
        (Some(argv), None) if argv.first().is_some_and(|program| !program.is_empty()) => argv,
        (None, Some(script)) if !script.trim().is_empty() => script_argv(&script),
        (Some(_), Some(_)) => return refused("give either `argv` or `shell`, not both"),
        _ => return refused("give `argv`, with the program first, or `shell`"),
    };
    if argv.len() > MOST_WORDS {
        return refused(format!("a command has at most {MOST_WORDS} words"));
    }
    if argv.iter().any(|word| word.contains('\0')) {
        return refused("a command cannot hold NUL");
    }
    let timeout = timeout_seconds.map_or(DEFAULT_TIMEOUT, |seconds| Millis(seconds.saturating_mul(1000)));
    Ok(ToolCommand { argv, timeout })
}

fn refused<T>(why: impl Into<Cow<'static, str>>) -> Result<T, ToolError> {
    Err(ToolError::Command(why.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read(arguments: Value) -> Result<ToolCommand, ToolError> {
        command_of(&ToolCall { id: String::new(), name: RUN.to_owned(), arguments })
    }

    #[test]
    fn a_command_is_a_list_or_a_script() {
        let list = read(json!({"argv": ["ls", "-l"]})).unwrap();
        assert_eq!((list.argv, list.timeout), (vec!["ls".to_owned(), "-l".to_owned()], DEFAULT_TIMEOUT));
        let script = read(json!({"shell": "a | b", "timeoutSeconds": 3})).unwrap();
        assert_eq!(script.argv, ["/bin/sh", "-c", "a | b"]);
        assert_eq!(script.timeout, Millis::from_secs(3));
        for bad in [
            json!({}),
            json!({"argv": []}),
            json!({"argv": [""]}),
            json!({"shell": " "}),
            json!({"argv": ["a"], "shell": "b"}),
            json!({"argv": "ls"}),
            json!({"argv": ["a\0b"]}),
            json!({"argv": ["a"], "timeoutSeconds": -1}),
            json!({"argv": ["a"], "cwd": "/"}),
        ] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
        for destroys in [json!({"argv": ["rm", "-rf", "/"]}), json!({"shell": "make clean; rm -rf ~"})] {
            let wanted = read(destroys.clone()).unwrap();
            assert!(wanted.unless_destructive().is_err(), "{destroys}");
        }
    }
}
