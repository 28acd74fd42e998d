//! Presets: how the program of an agent is started and how what it prints is read, as data
//! (`docs/reference/presets.md`). The built-in ones have the same form as those of a `quorum.yaml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    domain::FailureClass,
    mission::file::{
        document::Node,
        keys::{Named, Value, keys, single, words},
        scalar::{Fault, Filled, InnerGlob, InnerPath, JsonForm, Scalar, VariableName},
        shape::{OneShape, Shape},
    },
};

keys! {
    /// A preset: how an agent's program is started, and how what it prints is read.
    #[derive(Default, Serialize, Deserialize)]
    pub struct Preset: "a preset" {
        /// The program and the arguments that each turn begins with; `run` of an agent stands for the program.
        "argv" argv: Vec<Box<str>>, required, filled;
        /// Arguments behind all others.
        "tail" tail: Vec<Box<str>>;
        /// How it gets its prompt [=].
        "prompt" prompt: PromptRoute, or("stdin");
        /// Arguments that begin a session with an id of ours, `{uuid}`. Without them it tells the id that it has chosen.
        "new" new: Vec<Box<str>>;
        /// Arguments that go on in a session, `{session}`. Without them each turn is a new session.
        "resume" resume: Vec<Box<str>>;
        /// Behind how many words of `argv` those of `resume` stand, but the last one, which stands before `tail` [behind all].
        "resumeAt" resume_at: Option<u32>;
        /// Arguments for who is asked once: no session is kept.
        "throwaway" throwaway: Vec<Box<str>>;
        /// Arguments that name a model, `{model}`.
        "model" model: Vec<Box<str>>;
        /// Arguments that hold a reply to a JSON Schema, `{schema}` or `{schemaFile}`.
        "schema" schema: Vec<Box<str>>;
        /// Arguments that bound what a turn may cost in USD, `{budget}`.
        "budget" budget: Vec<Box<str>>;
        /// Arguments that hand it the tools of its turn (`agentTools: mcp`): `{server}` is the JSON of their server, `{serverToml}` the
        /// same as TOML.
        "mcp" mcp: Vec<Box<str>>;
        /// What it is given by `permissions: read`, and where it judges.
        "read" read: Grant;
        /// What it is given by `permissions: edit`.
        "edit" edit: Grant;
        /// What it is given by `permissions: full`.
        "full" full: Grant;
        /// Variables for it. `{file:NAME}` is the path of one of `files`.
        "env" env: BTreeMap<String, String> as String;
        /// Variables that are passed on where they are set.
        "passEnv" pass_env: Vec<Box<str>> as VariableName;
        /// Files with settings for it, by name: each start has its own.
        "files" files: BTreeMap<String, String> as String;
        /// What it loads by itself before it is asked: instructions, settings, hooks, servers, plug-ins.
        "loads" loads: Loads;
        /// What it keeps in the workspace by itself when it works, as globs: that fails no turn, and is masked for judges.
        "keeps" keeps: Vec<Box<str>> as InnerGlob;
        /// What it prints [=].
        "format" format: OutputFormat, or("text");
        /// What lines of its output say: their JSON objects, or each as `{line: …}` where it prints its reply.
        "rules" rules: Vec<Rule>;
        /// The same rules for JSON objects in the standard error.
        "stderrRules" stderr_rules: Vec<Rule>;
        /// Texts on its standard error behind which stands how many milliseconds it waits before it asks its provider again.
        "waits" waits: Vec<Box<str>> as Filled;
        /// Texts on its standard error that tell of a failed request: silence behind one is no work, so that it is ended soon.
        "troubles" troubles: Vec<Box<str>> as Filled;
        /// How many of them are waited for; with the next one it is ended at once [any number].
        "maxTroubles" max_troubles: Option<u32>;
        /// Fields that count from the beginning of a session, not of a turn.
        "cumulative" cumulative: Vec<Field>;
        /// A field without which a turn did not end well, whatever the exit code says.
        "complete" complete: Option<Field>;
        /// What errors mean: the first that fits; what none fits is read as all errors of providers are.
        "errors" errors: Vec<ErrorRule>;
        /// Texts of an error that says that a session is not there any more.
        "lostSession" lost_session: Vec<Box<str>> as Filled;
        /// The family of the models that it takes where the mission names none.
        "family" family: Option<Box<str>> as Filled;
        /// The version of the program that the preset was written for.
        "version" version: Option<Box<str>> as Filled;
        /// By what it is seen, without a call, that it can log in.
        "login" login: Login;
    }
}

impl Preset {
    /// Whether the preset tells this value of a turn.
    pub fn tells(&self, field: Field) -> bool {
        let mut settings = self.rules.iter().flat_map(|rule| &rule.set);
        settings.any(|setting| setting.field == field)
    }
}

keys! {
    /// The things that a program loads by itself.
    #[derive(Default, Serialize, Deserialize)]
    pub struct Loads: "what a program loads" {
        /// Globs below the workspace.
        "workspace" workspace: Vec<Box<str>> as InnerGlob;
        /// Files and folders below the home folder.
        "home" home: Vec<Box<str>> as InnerPath;
        /// Variables that name another place, each with the path below the home folder that it stands for; `.` is the home
        /// folder.
        "moved" moved: BTreeMap<String, String> as String;
    }
}

keys! {
    /// The arguments and variables that a set of permissions adds to a turn.
    #[derive(Default, Serialize, Deserialize)]
    pub struct Grant: "a set of permissions" {
        /// Arguments behind those of `argv`.
        "argv" argv: Vec<Box<str>>;
        /// Variables for it.
        "env" env: BTreeMap<String, String> as String;
    }
}

keys! {
    /// A rule of a preset: what a JSON object says that fits.
    #[derive(Default, Serialize, Deserialize)]
    pub struct Rule: "a rule of a preset" {
        /// JSON pointers and what must stand there: a text, in which `*` is any text, or one of several (`a|b`); `present` for
        /// anything, `absent` for nothing.
        "when" when: Named<Box<str>>;
        /// Fields and the pointer that fills each, in which `*` is each item of a list: `text` replaces, `+text` appends, `#in`
        /// adds up; `clear: text` empties. A rule that sets `err` makes the turn a failed one, whatever its pointer leads to.
        "set" set: Vec<RuleChange> as RuleChanges;
    }
}

keys! {
    /// The meaning of an error of a program.
    #[derive(Default, Serialize, Deserialize)]
    pub struct ErrorRule: "an error rule" {
        /// The code that it names.
        "code" code: Option<Box<str>> as Filled;
        /// A text in its message.
        "text" text: Option<Box<str>> as Filled;
        /// The program's exit code.
        "exit" exit: Option<u32>;
        /// The class of the error.
        "class" class: Option<FailureClass>, required;
    }
}

keys! {
    /// By what a login is seen: one of these is enough.
    #[derive(Default, Serialize, Deserialize)]
    pub struct Login: "a login" {
        /// Variables that hold a key.
        "env" env: Vec<Box<str>> as Filled;
        /// Files below the home folder that a login leaves.
        "files" files: Vec<Box<str>> as Filled;
        /// What to type to log in.
        "help" help: Option<Box<str>> as Filled;
        /// Whether nothing is started without one, because the program would go elsewhere or wait for ever [=].
        "required" required: bool, or("false");
    }
}

/// The effect of a rule on a field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleChange {
    pub operation: RuleOperation,
    pub field: Field,
    /// A JSON pointer, in which `*` is each item of a list.
    pub pointer: Box<str>,
}

/// How a rule changes a field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum RuleOperation {
    Replace,
    /// A text grows by a text, a list by an item.
    Append,
    Add,
    Clear,
}

/// The field of a setting with the sign of its operation; `clear` names the field behind it.
struct Target(RuleOperation, Option<Field>);

impl Scalar for Target {
    const EXPECTS: &'static str = "a field";
    const FORM: JsonForm = JsonForm::Text("^(clear|[+#]?[A-Za-z]+)$");

    fn parse(text: &str) -> Result<Self, Fault> {
        let field = |operation, name| Field::parse(name).map(|field| Self(operation, Some(field)));
        match (text.strip_prefix('+'), text.strip_prefix('#')) {
            _ if text == "clear" => Ok(Self(RuleOperation::Clear, None)),
            (Some(name), _) => field(RuleOperation::Append, name),
            (_, Some(name)) => field(RuleOperation::Add, name),
            _ => field(RuleOperation::Replace, text),
        }
    }
}

/// `set` as a file writes it.
pub struct RuleChanges;

impl Value<RuleChanges> for Vec<RuleChange> {
    const SHAPE: Shape = Shape::Named(&OneShape::of::<Target>(), &Shape::one::<Box<str>>());

    fn read(node: Node<'_, '_>) -> Option<Self> {
        let setting = |(name, pointer): (&str, Node<'_, '_>)| {
            let Target(operation, field) = Target::parse(name).ok()?;
            Some(RuleChange {
                operation,
                field: field.map_or_else(|| Field::parse(pointer.text()), Ok).ok()?,
                pointer: pointer.text().into(),
            })
        };
        node.entries().map(setting).collect()
    }

    fn missing(_: Option<&str>) -> Option<Self> {
        Some(Self::new())
    }
}

words! {
    /// How a program gets its prompt.
    #[derive(Default)]
    pub enum PromptRoute: "a way to hand over a prompt" {
        /// The prompt comes on standard input.
        #[default]
        Stdin = "stdin",
        /// As an argument, behind all others.
        Argument = "argument",
    }
}

words! {
    /// The kind of a program's output.
    #[derive(Default)]
    pub enum OutputFormat: "a format of output" {
        /// The output is the reply.
        #[default]
        Text = "text",
        /// Events, one JSON object a line.
        Jsonl = "jsonl",
    }
}

words! {
    /// A value about a turn, read from the output of its program.
    #[derive(PartialOrd, Ord)]
    pub enum Field: "a field" {
        /// The id of the program's session.
        Session = "session",
        /// The model as told.
        Model = "model",
        /// The last message of the program.
        Text = "text",
        /// A reply that is held to a schema.
        Structured = "structured",
        /// Input tokens, those from a cache among them.
        In = "in",
        /// The number of output tokens.
        Out = "out",
        /// The cost in US dollars.
        Cost = "cost",
        /// Names of tools that it called.
        Tool = "tool",
        /// Names of tools that it was not allowed to call.
        Denied = "denied",
        /// The tool call that a person is asked to allow.
        Wish = "wish",
        /// When a limit resets, in seconds since 1970.
        ResetsAt = "resetsAt",
        /// The time for which the program waits before it asks its provider again, in milliseconds.
        Waits = "waits",
        /// An error, in words.
        Err = "err",
        /// The HTTP status of an error.
        ErrStatus = "errStatus",
        /// The code of an error.
        ErrCode = "errCode",
        /// The program says that the turn ended as it should.
        Ended = "ended",
        /// The last message is cut; the value is the program's word for the limit.
        Cut = "cut",
        /// The program says that nothing more is to come, however the turn ended.
        Over = "over",
    }
}

words!(of FailureClass: "a class of failures",
    "timeout" => Timeout, "rate_limited" => RateLimited, "provider_transient" => ProviderTransient,
    "usage_window" => UsageWindow, "context_too_long" => ContextTooLong, "provider_spend_limit" => ProviderSpendLimit,
    "provider_auth" => ProviderAuth, "policy_blocked" => PolicyBlocked, "invalid_tool_args" => InvalidToolArgs,
    "missing_target_path" => MissingTargetPath, "permission_required" => PermissionRequired, "unknown" => Unknown);
single!(FailureClass);
