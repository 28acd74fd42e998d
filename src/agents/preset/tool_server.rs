//! The server of a turn's tools, `quorum mcp --task`, in the forms in which programs are told of a server.

use std::path::Path;

use serde_json::{Value, json};

/// The variables by which a server reaches its turn. A program may hand a server no others.
const OF_TURN: [&str; 2] = ["QUORUM_TASK_DIR", "QUORUM_RESULT_FILE"];
const ARGUMENTS: [&str; 2] = ["mcp", "--task"];

/// The server of one turn's tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolServer {
    program: String,
    env: Vec<(String, String)>,
}

impl ToolServer {
    /// The server that `program` is, for a turn that is told these variables.
    pub fn new(program: &Path, told: &[(String, String)]) -> Self {
        let env = told.iter().filter(|(name, _)| OF_TURN.contains(&name.as_str()));
        Self { program: program.to_string_lossy().into_owned(), env: env.cloned().collect() }
    }

    /// The form of most settings files.
    pub fn json(&self) -> String {
        let env: serde_json::Map<_, _> =
            self.env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({"command": self.program, "args": ARGUMENTS, "env": env}).to_string()
    }

    /// The same as a table of TOML, whose texts are quoted as those of JSON.
    pub fn toml(&self) -> String {
        let quoted = |text: &str| json!(text).to_string();
        let env: Vec<_> =
            self.env.iter().map(|(name, value)| format!("{name} = {}", quoted(value))).collect();
        let arguments = ARGUMENTS.map(quoted).join(", ");
        format!("{{command = {}, args = [{arguments}], env = {{{}}}}}", quoted(&self.program), env.join(", "))
    }

    /// The form of the Agent Client Protocol.
    pub fn acp(&self) -> Value {
        let env: Vec<_> =
            self.env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        json!({"name": "quorum", "command": self.program, "args": ARGUMENTS, "env": env})
    }
}
