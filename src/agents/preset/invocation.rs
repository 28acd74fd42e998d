//! The command line and environment of one turn or question, as a preset says it.

use std::collections::BTreeMap;

use super::tool_server::ToolServer;
use crate::agents::command_line::Placeholders;
use rules::domain::Money;
use rules::mission::model::{Grant, PermissionSet, Preset, PromptRoute};

/// The purpose of a program's start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Use {
    /// A turn of a worker, with these permissions.
    Work(PermissionSet),
    /// A question, which is answered in a session that nobody goes on in, and with what lets it look only.
    Question,
}

/// The session of a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TurnSession<'a> {
    /// A new one; where the program takes an id of ours, this one.
    New(&'a str),
    /// The program goes on in the session of this id.
    Resumed(&'a str),
}

/// The values that differ between starts of a program.
#[derive(Debug, Clone, Copy)]
pub struct ProgramStart<'a> {
    pub placeholders: Placeholders<'a>,
    pub purpose: Use,
    pub session: TurnSession<'a>,
    /// The JSON Schema that the reply is to keep, as a text and as the path of a file.
    pub schema: Option<(&'a str, &'a str)>,
    /// The text of the prompt, for programs that take it as an argument.
    pub prompt: &'a str,
    /// The beginning of the paths of the preset's files.
    pub files: &'a str,
    /// The call that a person has allowed once.
    pub allowed: Option<&'a str>,
}

/// One start of a program by a preset.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    pub preset: &'a Preset,
    /// The words for the first one of `argv`: the program with an absolute path, and arguments that come first.
    pub program: &'a [String],
    pub model: Option<&'a str>,
    /// The most that it may cost.
    pub budget: Option<Money>,
    /// The server of the turn's tools, where the program is handed it.
    pub tools: Option<&'a ToolServer>,
    pub start: &'a ProgramStart<'a>,
}

impl Invocation<'_> {
    fn grant(&self) -> &Grant {
        match self.start.purpose {
            Use::Question | Use::Work(PermissionSet::Read) => &self.preset.read,
            Use::Work(PermissionSet::Edit) => &self.preset.edit,
            Use::Work(PermissionSet::Full) => &self.preset.full,
        }
    }

    /// Makes the argument list.
    pub fn argv(&self) -> Vec<String> {
        let preset = self.preset;
        let mut argv: Vec<String> = self.program.to_vec();
        argv.extend(preset.argv.iter().skip(1).map(ToString::to_string));
        let mut add = |words: &[Box<str>]| argv.extend(words.iter().map(|word| self.fill(word)));
        add(&self.grant().argv);
        if self.model.is_some() {
            add(&preset.model);
        }
        if self.start.schema.is_some() {
            add(&preset.schema);
        }
        if self.budget.is_some() {
            add(&preset.budget);
        }
        if self.tools.is_some() {
            add(&preset.mcp);
        }
        match (self.start.purpose, self.start.session) {
            (Use::Question, _) => add(&preset.throwaway),
            (Use::Work(_), TurnSession::New(_)) => add(&preset.new),
            (Use::Work(_), TurnSession::Resumed(_)) if preset.resume_at.is_none() => add(&preset.resume),
            (Use::Work(_), TurnSession::Resumed(_)) => {}
        }
        if let (Use::Work(_), TurnSession::Resumed(_), Some(at)) =
            (self.start.purpose, self.start.session, preset.resume_at)
        {
            self.resume_at(&mut argv, at as usize);
        }
        argv.extend(preset.tail.iter().map(|word| self.fill(word)));
        if preset.prompt == PromptRoute::Argument {
            argv.push(self.start.prompt.to_owned());
        }
        argv
    }

    /// Puts the words that go on in a session where the preset says, the last of them behind all others.
    fn resume_at(&self, argv: &mut Vec<String>, at: usize) {
        let mut words: Vec<String> = self.preset.resume.iter().map(|word| self.fill(word)).collect();
        let last = words.pop();
        let at = (at.saturating_sub(1) + self.program.len()).min(argv.len());
        argv.splice(at..at, words);
        argv.extend(last);
    }

    /// The variables that the preset sets.
    pub fn variables(&self) -> impl Iterator<Item = (String, String)> {
        self.filled(&self.preset.env)
    }

    /// The variables that say what it may do: no other value may stand in their place.
    pub fn granted(&self) -> impl Iterator<Item = (String, String)> {
        self.filled(&self.grant().env)
    }

    fn filled(&self, env: &BTreeMap<String, String>) -> impl Iterator<Item = (String, String)> {
        env.iter().map(|(name, text)| (name.clone(), self.with_files(text)))
    }

    /// A text with the paths of files of the preset in it.
    fn with_files(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for name in self.preset.files.keys() {
            filled = filled.replace(&format!("{{file:{name}}}"), &format!("{}{name}", self.start.files));
        }
        filled
    }

    /// A word with placeholders filled in: one pass for each word, so that nothing that is filled in is filled once more.
    fn fill(&self, word: &str) -> String {
        let (schema, schema_file) = self.start.schema.unwrap_or_default();
        let budget = self.budget.map(|budget| budget.to_f64().to_string());
        let session = match self.start.session {
            TurnSession::New(id) => ("{uuid}", id),
            TurnSession::Resumed(id) => ("{session}", id),
        };
        let server = self.tools.map(ToolServer::json).unwrap_or_default();
        let toml = self.tools.map(ToolServer::toml).unwrap_or_default();
        let values = [
            session,
            ("{server}", server.as_str()),
            ("{serverToml}", toml.as_str()),
            ("{model}", self.model.unwrap_or_default()),
            ("{schema}", schema),
            ("{schemaFile}", schema_file),
            ("{budget}", budget.as_deref().unwrap_or_default()),
        ];
        let found = values.iter().find(|(name, _)| word.contains(name));
        found.map_or_else(|| self.with_files(word), |(name, value)| word.replacen(name, value, 1))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use rules::mission::preset_of;

    const START: ProgramStart<'_> = ProgramStart {
        placeholders: Placeholders { task: "", attempt: "", prompt_file: "", workspace: "" },
        purpose: Use::Work(PermissionSet::Edit),
        session: TurnSession::New("1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
        schema: None,
        prompt: "do it",
        files: "/state/1.preset.",
        allowed: None,
    };
    const RESUMED: ProgramStart<'_> = ProgramStart { session: TurnSession::Resumed("S"), ..START };

    fn invocation<'a>(preset: &'a Preset, program: &'a [String]) -> Invocation<'a> {
        Invocation { preset, program, model: None, budget: None, tools: None, start: &START }
    }

    fn line(invocation: &Invocation<'_>) -> String {
        invocation.argv().join(" ")
    }

    #[test]
    fn a_session_is_begun_and_gone_on_in_as_each_program_wants_it() {
        let program = ["/bin/codex".to_owned(), "-c".to_owned(), "x=1".to_owned()];
        let codex = preset_of("codex");
        let new = invocation(&codex, &program);
        let begins = "/bin/codex -c x=1 exec --json";
        assert!(
            line(&new).starts_with(begins) && line(&new).ends_with("sandbox_mode=workspace-write -"),
            "{}",
            line(&new)
        );
        let resumed = Invocation { start: &RESUMED, ..new };
        let told = line(&resumed);
        assert!(
            told.starts_with("/bin/codex -c x=1 exec resume --json") && told.ends_with("workspace-write S -"),
            "{told}"
        );

        let (claude, program) = (preset_of("claude"), ["/bin/claude".to_owned()]);
        let new = invocation(&claude, &program);
        assert!(
            line(&new)
                .ends_with("--permission-mode acceptEdits --session-id 1b4e28ba-2fa1-11d2-883f-0016d3cca427")
        );
        let resumed = Invocation { start: &RESUMED, ..new };
        assert!(line(&resumed).ends_with("--resume S"), "{}", line(&resumed));
    }

    #[test]
    fn a_question_is_asked_with_what_lets_it_look_only_in_a_session_of_its_own() {
        let (claude, program) = (preset_of("claude"), ["/bin/claude".to_owned()]);
        let start =
            ProgramStart { purpose: Use::Question, schema: Some(("{\"a\": \"{model}\"}", "/s")), ..START };
        let question = Invocation {
            start: &start,
            model: Some("{schema}"),
            budget: Some("0.5".parse().unwrap()),
            ..invocation(&claude, &program)
        };
        let argv = question.argv();
        let behind = |word: &str| argv[argv.iter().position(|known| known == word).unwrap() + 1].as_str();
        assert_eq!(behind("--permission-mode"), "plan");
        assert_eq!((behind("--model"), behind("--json-schema")), ("{schema}", "{\"a\": \"{model}\"}"));
        assert_eq!(behind("--max-budget-usd"), "0.5");
        for word in ["--no-session-persistence", "--strict-mcp-config"] {
            assert!(argv.contains(&word.to_owned()), "{argv:?}");
        }
    }

    #[test]
    fn a_program_is_handed_the_tools_of_its_turn_as_it_takes_a_server() {
        let told =
            [("QUORUM_TASK_DIR", "/a \"b\""), ("QUORUM_RESULT_FILE", "/r"), ("QUORUM_TURN_KEY", "secret")];
        let told = told.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let server = ToolServer::new(Path::new("/bin/quorum"), &told);
        let (claude, program) = (preset_of("claude"), ["/bin/claude".to_owned()]);
        let with_tools = Invocation { tools: Some(&server), ..invocation(&claude, &program) };
        let argv = with_tools.argv();
        let behind = |word: &str| argv[argv.iter().position(|known| known == word).unwrap() + 1].as_str();
        let config: serde_json::Value = serde_json::from_str(behind("--mcp-config")).unwrap();
        let env = serde_json::json!({"QUORUM_TASK_DIR": "/a \"b\"", "QUORUM_RESULT_FILE": "/r"});
        let wanted = serde_json::json!({"command": "/bin/quorum", "args": ["mcp", "--task"], "env": env});
        assert_eq!(config["mcpServers"]["quorum"], wanted);
        assert_eq!(behind("--allowedTools"), "mcp__quorum");
        let (codex, program) = (preset_of("codex"), ["/bin/codex".to_owned()]);
        let argv = Invocation { tools: Some(&server), ..invocation(&codex, &program) }.argv();
        let told = r#"mcp_servers.quorum={command = "/bin/quorum", args = ["mcp", "--task"], env = {QUORUM_TASK_DIR = "/a \"b\"", QUORUM_RESULT_FILE = "/r"}}"#;
        assert!(argv.contains(&told.to_owned()), "{argv:?}");
        assert!(!line(&invocation(&codex, &program)).contains("mcp_servers"));
    }

    #[test]
    fn a_prompt_may_be_an_argument_and_a_variable_the_path_of_a_file() {
        let (aider, program) = (preset_of("aider"), ["/bin/aider".to_owned()]);
        assert!(line(&invocation(&aider, &program)).ends_with("--message do it"));
        let (gemini, program) = (preset_of("gemini"), ["/bin/gemini".to_owned()]);
        let variables: Vec<_> = invocation(&gemini, &program).variables().collect();
        let settings =
            ("GEMINI_CLI_SYSTEM_SETTINGS_PATH".to_owned(), "/state/1.preset.settings.json".to_owned());
        assert!(variables.contains(&settings), "{variables:?}");
    }
}
