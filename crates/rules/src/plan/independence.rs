//! Whether a reviewer is independent of the author of the work (semantics, section 8).
//!
//! What two agents share is looked at twice: by what the mission declares, before anybody is asked, and by the models
//! that the providers say they used, when a reply is there. What is not known is not different: where independence is
//! asked for and the model of an agent is unknown, it does not judge.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use crate::{
    domain::is_invisible,
    mission::model::{Adapter, AdapterKind, Agent, Independence},
};

use super::model::AgentPlan;

/// How model names begin, and whose they are. The first that fits counts, so the longer ones stand first.
const FAMILIES: &[(&str, &str)] = &[
    ("deepseek-r1-distill-llama", "llama"),
    ("deepseek-r1-distill-qwen", "qwen"),
    ("chatgpt", "gpt"),
    ("gpt", "gpt"),
    ("davinci", "gpt"),
    ("codex", "gpt"),
    ("o1", "gpt"),
    ("o3", "gpt"),
    ("o4", "gpt"),
    ("claude", "claude"),
    ("gemini", "gemini"),
    ("gemma", "gemini"),
    ("llama", "llama"),
    ("meta-llama", "llama"),
    ("codellama", "llama"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("ministral", "mistral"),
    ("magistral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("pixtral", "mistral"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("deepseek", "deepseek"),
    ("grok", "grok"),
    ("command-", "command-r"),
    ("c4ai", "command-r"),
    ("aya", "command-r"),
    ("phi", "phi"),
    ("kimi", "kimi"),
    ("moonshot", "kimi"),
    ("glm", "glm"),
    ("chatglm", "glm"),
    ("minimax", "minimax"),
    ("nova", "nova"),
    ("titan", "nova"),
    ("granite", "granite"),
    ("nemotron", "nemotron"),
    ("smollm", "smollm"),
    ("tinyllama", "llama"),
    ("vicuna", "llama"),
    ("starcoder", "starcoder"),
    ("falcon", "falcon"),
    ("jamba", "jamba"),
    ("yi-", "yi"),
];

/// Why an agent may not judge the work of another.
#[derive(Debug, Clone, PartialEq)]
pub enum Dependence {
    /// The agent and the author use the same model.
    SameModel(String),
    /// The agent and the author use models of the same family.
    SameFamily(String),
    /// Nothing is known of the agent's model: it cannot be told.
    Unknown {
        /// The agent, by name.
        agent: String,
        /// The missing knowledge: of the model or of its family.
        what: Independence,
    },
}

impl fmt::Display for Dependence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameModel(model) => write!(f, "uses the author's model, {model}"),
            Self::SameFamily(family) => write!(f, "is of the author's family, {family}"),
            Self::Unknown { agent, what } => {
                let what = match what {
                    Independence::Model => "model",
                    Independence::Family | Independence::Identity => "family",
                };
                write!(f, "the {what} of '{agent}' is not known: give it a family")
            }
        }
    }
}

/// The model of an agent, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelIdentity<'a> {
    name: &'a str,
    /// An echo and a person share no model with anybody.
    has_model: bool,
    model: Option<Cow<'a, str>>,
    family: Option<Cow<'a, str>>,
}

impl<'a> ModelIdentity<'a> {
    /// By what the mission declares and, where a provider has said it, by the model that was really used.
    pub fn of(agent: &'a AgentPlan, returned: Option<&'a str>) -> Self {
        let spec = &agent.spec;
        let declared = spec.model.as_deref();
        // A family that the mission gives holds for the model that it gives. Where the provider used another one, what
        // that is called counts, if it can be told.
        let other =
            returned.filter(|returned| declared.is_none_or(|declared| !is_same_model(declared, returned)));
        let family = other
            .and_then(family_of_model)
            .or(spec.family.as_deref())
            .or_else(|| returned.and_then(family_of_model))
            .or_else(|| declared.and_then(family_of_model))
            .or_else(|| family_of_adapter(spec));
        Self {
            name: &agent.name,
            has_model: !matches!(*spec.adapter, Adapter::Echo | Adapter::Human),
            model: returned.or(declared).map(|model| Cow::Owned(plain_name(model))),
            family: family.map(|family| Cow::Owned(family.trim().to_ascii_lowercase())),
        }
    }

    /// The family of the model, where it is known.
    pub fn family(&self) -> Option<&str> {
        self.family.as_deref()
    }

    /// Why this reviewer may not judge the author's work; `None` where it may.
    pub fn depends_on(&self, author: &Self, rule: Independence) -> Option<Dependence> {
        if rule == Independence::Identity || !self.has_model || !author.has_model {
            return None;
        }
        let models = self.model.as_deref().zip(author.model.as_deref());
        if let Some((model, _)) = models.filter(|(mine, theirs)| mine == theirs) {
            return Some(Dependence::SameModel(model.to_owned()));
        }
        let families = self.family.as_deref().zip(author.family.as_deref());
        let same_family = families.filter(|(mine, theirs)| mine == theirs);
        let is_known = match rule {
            // Two families have no model in common, whatever it is called.
            Independence::Model => models.is_some() || (families.is_some() && same_family.is_none()),
            Independence::Family | Independence::Identity => families.is_some(),
        };
        if !is_known {
            let unknown = |mind: &Self| match rule {
                Independence::Model => mind.model.is_none(),
                Independence::Family | Independence::Identity => mind.family.is_none(),
            };
            let agent = if unknown(author) { author.name } else { self.name };
            return Some(Dependence::Unknown { agent: agent.to_owned(), what: rule });
        }
        match (rule, same_family) {
            (Independence::Family, Some((family, _))) => Some(Dependence::SameFamily(family.to_owned())),
            _ => None,
        }
    }
}

/// Parts of a model's name that do not say which model it is, and names with several spellings: each pattern is
/// replaced once, in this order. `FAMILY` is the beginning of any known name.
const PLAIN: [(&str, &str); 14] = [
    // Before it: folders, a provider (`openai:gpt-4o`, but `llama3:8b`), that it was tuned.
    ("^.*/", ""),
    ("^(?:[a-z0-9.-]+:)+?(FAMILY)", "$1"),
    ("^ft:", ""),
    // Its tag, and what Bedrock and Vertex number before one: `-v1:0`, `-v2@20241022`.
    (r"-(?:v?\d+:\d+(?::\w+)?|v\d+@\d+)$", ""),
    (r"[:@\[].*$", ""),
    // Services and vendors: `us.anthropic.claude-…`, `databricks-claude-…`. In `deepseek.r1` one is a part of it.
    ("^(?:[a-z-]+[.])+(FAMILY)", "$1"),
    ("^(FAMILY)[.]", "$1-"),
    ("^(?:databricks|azure|bedrock|vertex|meta)-(FAMILY)", "$1"),
    // Behind it: dates in any form, numbers of its offer, and that it is the latest form, an early or a tuned one.
    (
        r"(?:-(?:latest|preview|exp|experimental|instruct|it|fp8|awq|gptq|gguf|\d{8}(?:-v\d+)?|\d{4}-\d\d-\d\d|0\d\d|(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01]|20\d\d)|[23]\d(?:0[1-9]|1[0-2])))+$",
        "",
    ),
    // One spelling and one place of its version: `gpt-35`, `llama3-3`, `claude-3-5-sonnet`, `claude-opus-4-0`.
    ("^gpt-35-", "gpt-3.5-"),
    (r"^([a-z]{3,})(\d)", "$1-$2"),
    (r"-(\d{1,2})-(\d{1,2})(-|$)", "-$1.$2$3"),
    (r"^claude-(\d[\d.]*)-([a-z]+)", "claude-$2-$1"),
    (r"^(claude-.*)[.]0$", "$1"),
];

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test uses each of them")]
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let families: Vec<&str> = FAMILIES.iter().map(|(begin, _)| *begin).collect();
    let compiled = |pattern: &str| Regex::new(&pattern.replace("FAMILY", &families.join("|")));
    let rules = PLAIN.into_iter();
    rules.map(|(pattern, plain)| (compiled(pattern).expect("it is well-formed"), plain)).collect()
});

/// Plain names that were asked for, because a plan asks for the same few for each of its tasks.
static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
/// The most families of names that are remembered.
const MOST_KNOWN: usize = 1_000;

/// A model's one normal form. Two names that have the same are one model: it is better that a judge is refused who would have
/// been another one than that a model judges itself under its other name.
fn plain_name(model: &str) -> String {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = known.get(model) {
        return name.clone();
    }
    let shown = model.nfkc().filter(|c| !is_invisible(*c)).map(|c| match c {
        // The hyphens and dashes that look like the one of the keyboard.
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '_' => '-',
        c => c,
    });
    let name: String = shown.flat_map(char::to_lowercase).collect();
    let name = name.split_whitespace().collect::<Vec<_>>().join("-");
    let name =
        PATTERNS.iter().fold(name, |name, (pattern, plain)| pattern.replace(&name, *plain).into_owned());
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(model.to_owned(), name.clone());
    name
}

fn is_same_model(one: &str, other: &str) -> bool {
    plain_name(one) == plain_name(other)
}

/// The family of a model, by its name; `None` where the name is not known.
fn family_of_model(model: &str) -> Option<&'static str> {
    let name = plain_name(model);
    let name = name.as_str();
    // Cloud services put the vendor before the name, with a dot: `us.anthropic.claude-…`.
    let parts = name.rmatch_indices('.').map(|(at, _)| &name[at + 1..]);
    std::iter::once(name).chain(parts).find_map(|name| {
        let found = FAMILIES.iter().find(|(begin, _)| name.starts_with(begin));
        found.map(|(_, family)| *family)
    })
}

/// The family of the models that an adapter reaches when the mission names none.
fn family_of_adapter(agent: &Agent) -> Option<&str> {
    match agent.adapter.kind() {
        AdapterKind::Model { family, .. } => family,
        AdapterKind::AgentCli => {
            let preset = agent.preset.as_deref().filter(|_| agent.model.is_none());
            preset.and_then(|preset| preset.family.as_deref())
        }
        AdapterKind::Command | AdapterKind::Echo | AdapterKind::Person => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mission::preset_of;

    fn agent(adapter: Adapter, model: Option<&str>, family: Option<&str>) -> AgentPlan {
        AgentPlan {
            name: "a".into(),
            removed: false,
            reports_to: None,
            spec: Agent {
                adapter: adapter.into(),
                preset: adapter.has_ledger().then(|| preset_of(adapter.as_str())),
                model: model.map(str::to_owned),
                family: family.map(str::to_owned),
                ..Agent::default()
            },
        }
    }

    fn openai(model: &str) -> AgentPlan {
        agent(Adapter::Openai, Some(model), None)
    }

    #[test]
    fn families_are_told_from_names_as_providers_write_them() {
        let table = [
            ("gpt-4o-2024-08-06", Some("gpt")),
            ("openai/gpt-oss-120b", Some("gpt")),
            ("o3-mini", Some("gpt")),
            ("claude-sonnet-4-20250514", Some("claude")),
            ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", Some("claude")),
            ("models/gemini-2.5-pro", Some("gemini")),
            ("meta-llama/Llama-3.1-70B-Instruct", Some("llama")),
            ("meta.llama3-70b-instruct-v1:0", Some("llama")),
            ("llama3.1:8b", Some("llama")),
            ("deepseek-r1-distill-llama-70b", Some("llama")),
            ("deepseek-chat", Some("deepseek")),
            ("mistralai/Mixtral-8x7B", Some("mistral")),
            ("Qwen2.5-Coder:latest", Some("qwen")),
            ("my-model", None),
            ("", None),
        ];
        for (model, family) in table {
            assert_eq!(family_of_model(model), family, "{model}");
        }
    }

    #[test]
    fn a_dated_or_tagged_name_is_the_same_model_and_a_size_in_the_name_is_another() {
        for (one, other) in [
            ("gpt-4o", "gpt-4o-2024-08-06"),
            ("claude-sonnet-4", "claude-sonnet-4-20250514"),
            ("Qwen2.5", "qwen2.5:latest"),
            ("openai/gpt-4o", "GPT-4o"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet@20240620"),
            ("gemini-1.5-pro", "gemini-1.5-pro-002"),
            ("gpt-4o", "gpt\u{200b}-4o"),
            ("gpt-4o", "gpt\u{2011}4o"),
            ("gpt-4o", "ft:gpt-4o:my-org:suffix:id"),
            ("gpt-4o", "ft:gpt-4o-2024-08-06:my-org::id"),
            ("llama3", "llama3:8b"),
            ("llama3.1:8b", "llama3.1:70b"),
            ("mistral-large", "Mistral-Large-Instruct-2407"),
            ("gpt-4", "gpt-4-0613"),
            ("deepseek-r1", "deepseek-r1-0528"),
            ("claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
            ("claude-sonnet-4-5", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
            ("claude-sonnet-4-5", "anthropic/claude-sonnet-4.5"),
            ("claude-sonnet-4-5", "Claude Sonnet 4.5"),
            ("claude-sonnet-4-5", "claude-sonnet-4-5@20250929"),
            ("claude-sonnet-4-5", "claude-sonnet-4-5[1m]"),
            ("claude-sonnet-4-5", "databricks-claude-sonnet-4-5"),
            ("claude-sonnet-4-5", "claude-4.5-sonnet"),
            ("claude-sonnet-4-5", "vertex_ai/claude-sonnet-4-5@20250929"),
            ("claude-sonnet-4-5", "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0"),
            (
                "claude-sonnet-4-5",
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            ),
            ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5-20250929"),
            ("claude-opus-4", "claude-opus-4-0"),
            ("claude-3-5-sonnet", "us.anthropic.claude-3-5-sonnet-20241022-v2:0"),
            ("claude-3-5-sonnet", "claude-3-5-sonnet-v2@20241022"),
            ("claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022-v2"),
            ("claude-3-5-sonnet-20240620", "anthropic/claude-3.5-sonnet:beta"),
            ("gpt-4o", "openai:gpt-4o"),
            ("gpt-4o", "azure/gpt-4o-2024-11-20"),
            ("gpt-4o", "openrouter:openai/gpt-4o:free"),
            ("gpt-3.5-turbo", "gpt-35-turbo-0125"),
            ("gpt-4.1", "gpt-4-1-2025-04-14"),
            ("gpt-oss-120b", "openai.gpt-oss-120b-1:0"),
            ("gemini-2.5-pro", "models/gemini-2.5-pro-preview-05-06"),
            ("gemini-2.5-pro", "publishers/google/models/gemini-2.5-pro"),
            ("gemini-2.5-flash", "google/gemini-2.5-flash-preview-09-2025"),
            ("llama-3.3-70b", "us.meta.llama3-3-70b-instruct-v1:0"),
            ("llama-3.3-70b", "meta-llama/Meta-Llama-3.3-70B-Instruct-FP8"),
            ("mistral-large", "mistral.mistral-large-2407-v1:0"),
            ("deepseek-r1", "us.deepseek.r1-v1:0"),
            ("deepseek-v3", "deepseek.v3-v1:0"),
            ("nova-pro", "amazon.nova-pro-v1:0"),
            ("command-r-plus", "command-r-plus-08-2024"),
            ("gemma-3-27b", "gemma3-27b-it"),
        ] {
            assert!(is_same_model(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("llama-3.1-8b", "llama-3.1-70b"),
            ("gpt-4o", "gpt-4o-mini"),
            ("openai:gpt-4o", "openai:gpt-4.1"),
            ("gpt-4.5", "gpt-5.4"),
            ("claude-sonnet-4", "claude-sonnet-4-5"),
            ("claude-sonnet-4-5", "claude-opus-4-5"),
            ("claude-opus-4@20250514", "claude-opus-4-1@20250805"),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
            ("deepseek-v3", "deepseek-v2"),
            ("deepseek.v3-v1:0", "deepseek.r1-v1:0"),
            ("gemini-2.5-pro", "gemini-2.5-flash"),
            ("llama-3-8b", "llama-3.1-8b"),
            ("gpt-3.5-turbo", "gpt-4-turbo"),
            ("mistral:7b", "qwen:7b"),
            ("qwen2.5-7b", "qwen3-7b"),
            ("m-1024x", "m"),
            ("m-9999", "m"),
            ("o3-2025", "o3-2024"),
            // What only looks like a date is part of the name.
            ("m", "m-2024-08-0x"),
            ("m", "m-2024-ab-06"),
            ("m", "m-2o24-08-06"),
            ("m", "m-2o25o514"),
            ("m", "m-202-08-06"),
        ] {
            assert!(!is_same_model(one, other), "{one} {other}");
        }
    }

    /// Author, reviewer, and what the rules for identity, model and family say.
    #[test]
    fn what_is_shared_and_what_is_not_known_keeps_from_judging() {
        use Independence::{Family, Identity, Model};
        let command = agent(Adapter::Command, None, None);
        let named = agent(Adapter::Command, None, Some("Claude"));
        let echo = agent(Adapter::Echo, None, None);
        let cli = agent(Adapter::Claude, None, None);
        let verdicts = |author: &AgentPlan, reviewer: &AgentPlan| {
            let (author, reviewer) = (ModelIdentity::of(author, None), ModelIdentity::of(reviewer, None));
            [Identity, Model, Family].map(|rule| match reviewer.depends_on(&author, rule) {
                None => "ok",
                Some(Dependence::SameModel(_)) => "model",
                Some(Dependence::SameFamily(_)) => "family",
                Some(Dependence::Unknown { .. }) => "unknown",
            })
        };
        let table = [
            (openai("gpt-4o"), openai("gpt-4o"), ["ok", "model", "model"]),
            (openai("gpt-4o"), openai("gpt-4o-mini"), ["ok", "ok", "family"]),
            (openai("gpt-4o"), openai("claude-x"), ["ok", "ok", "ok"]),
            (openai("mine"), openai("yours"), ["ok", "ok", "unknown"]),
            (openai("gpt-4o"), command.clone(), ["ok", "unknown", "unknown"]),
            (command.clone(), openai("gpt-4o"), ["ok", "unknown", "unknown"]),
            (named.clone(), openai("gpt-4o"), ["ok", "ok", "ok"]),
            (named.clone(), openai("claude-x"), ["ok", "unknown", "family"]),
            (named.clone(), cli.clone(), ["ok", "unknown", "family"]),
            (cli, openai("gpt-4o"), ["ok", "ok", "ok"]),
            (echo, openai("gpt-4o"), ["ok", "ok", "ok"]),
        ];
        for (author, reviewer, expected) in &table {
            let of = |agent: &AgentPlan| (*agent.spec.adapter, agent.spec.model.clone());
            assert_eq!(verdicts(author, reviewer), *expected, "{:?} {:?}", of(author), of(reviewer));
        }
    }

    #[test]
    fn the_model_that_the_provider_used_counts_more_than_the_declared_one() {
        let author = openai("gpt-4o");
        let reviewer = openai("llama-70b");
        let author = ModelIdentity::of(&author, Some("gpt-4o-2024-08-06"));
        let depends =
            |returned| ModelIdentity::of(&reviewer, returned).depends_on(&author, Independence::Family);
        assert_eq!(depends(None), None);
        assert_eq!(depends(Some("meta-llama/Llama-70B")), None);
        assert_eq!(depends(Some("gpt-4o")), Some(Dependence::SameModel("gpt-4o".into())));
        assert_eq!(depends(Some("gpt-3.5")), Some(Dependence::SameFamily("gpt".into())));
        // The key holds for the model that it was given for, and for models without a family of their own.
        let keyed = agent(Adapter::Openai, Some("house-model"), Some("house"));
        assert_eq!(ModelIdentity::of(&keyed, Some("house-model-2")).family(), Some("house"));
        assert_eq!(ModelIdentity::of(&keyed, Some("gpt-4o")).family(), Some("gpt"));
    }

    #[test]
    fn a_tool_that_runs_a_named_model_is_of_no_family_by_itself() {
        for (adapter, family) in [
            (Adapter::Claude, "claude"),
            (Adapter::Codex, "gpt"),
            (Adapter::Gemini, "gemini"),
            (Adapter::Qwen, "qwen"),
        ] {
            assert_eq!(family_of_adapter(&agent(adapter, None, None).spec), Some(family));
        }
        assert_eq!(family_of_adapter(&agent(Adapter::Codex, Some("m"), None).spec), None);
        assert_eq!(family_of_adapter(&agent(Adapter::Anthropic, Some("m"), None).spec), Some("claude"));
    }

    #[test]
    fn whoever_is_not_known_is_named() {
        let one = |name: &str, agent: AgentPlan| AgentPlan { name: name.into(), ..agent };
        let command = one("command", agent(Adapter::Command, None, None));
        let model = one("model", openai("gpt-4o"));
        for rule in [Independence::Model, Independence::Family] {
            for (author, reviewer) in [(&command, &model), (&model, &command)] {
                let (author, reviewer) = (ModelIdentity::of(author, None), ModelIdentity::of(reviewer, None));
                let unknown = Dependence::Unknown { agent: "command".to_owned(), what: rule };
                assert_eq!(reviewer.depends_on(&author, rule), Some(unknown));
            }
        }
    }
}
