//! Whether a reviewer is independent of the author of the work (semantics, section 8).
//!
//! What two agents share is looked at twice: by what the mission declares, before anybody is asked, and by the models
//! that the providers say they used, when a reply is there. What is not known is not different: where independence is
//! asked for and the model of an agent is unknown, it does not judge.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::UnicodeNormalization;

use crate::domain::is_invisible;

use super::model::{Adapter, AdapterKind, Agent, Independence};
use super::plan::AgentPlan;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dependence {
    /// Both use this model.
    SameModel(String),
    /// Both use models of this family.
    SameFamily(String),
    /// Nothing is known of the agent's model: it cannot be told.
    Unknown {
        /// The agent, by name.
        agent: String,
        /// What is not known of it.
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

/// What an agent thinks with, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
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

    /// The family, where it is known.
    pub fn family(&self) -> Option<&str> {
        self.family.as_deref()
    }

    /// What keeps this reviewer from judging the author's work; `None`: nothing.
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
            return Some(Dependence::Unknown {
                agent: agent.to_owned(),
                what: rule,
            });
        }
        match (rule, same_family) {
            (Independence::Family, Some((family, _))) => Some(Dependence::SameFamily(family.to_owned())),
            _ => None,
        }
    }
}

/// A model's name without what says nothing about which model it is: who offers it, a date, `latest`, a tag, that it was
/// tuned, case, and characters that nobody sees. Two names that differ in these alone are one model: it is better that a
/// judge is refused who would have been another one than that a model judges itself under its other name.
fn plain_name(model: &str) -> String {
    let shown = model.nfkc().filter(|c| !is_invisible(*c)).map(|c| match c {
        // The hyphens and dashes that look like the one of the keyboard.
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        c => c,
    });
    let name: String = shown.flat_map(char::to_lowercase).collect();
    let name = name.trim();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let name = name.split([':', '@']).next().unwrap_or_default();
    let name = name.strip_suffix("-latest").unwrap_or(name);
    let name = without_date(name);
    name.strip_suffix("-instruct").unwrap_or(name).to_owned()
}

/// `gpt-4o-2024-08-06`, `claude-x-20250514`, `gpt-4-0613`, `mistral-large-2407` and `gemini-1.5-pro-002` are dated or
/// numbered forms of the names before.
fn without_date(name: &str) -> &str {
    let is_digits =
        |text: &str, len: usize| text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((head, tail)) = name.rsplit_once('-')
        && (is_digits(tail, 8) || is_short_date(tail) || (is_digits(tail, 3) && tail.starts_with('0')))
    {
        return head;
    }
    let mut parts = name.rsplitn(4, '-');
    let date = (parts.next(), parts.next(), parts.next(), parts.next());
    match date {
        (Some(day), Some(month), Some(year), Some(head))
            if is_digits(day, 2) && is_digits(month, 2) && is_digits(year, 4) =>
        {
            head
        }
        _ => name,
    }
}

/// Four digits that are a month and a day, or a year and a month.
fn is_short_date(text: &str) -> bool {
    let two = |at: usize| text.get(at..at + 2).and_then(|part| part.parse::<u32>().ok());
    let (Some(first), Some(second), 4) = (two(0), two(2), text.len()) else {
        return false;
    };
    let is_month = |number: u32| (1..=12).contains(&number);
    (is_month(first) && (1..=31).contains(&second)) || ((20..40).contains(&first) && is_month(second))
}

fn is_same_model(one: &str, other: &str) -> bool {
    plain_name(one) == plain_name(other)
}

/// Whose model it is, by its name.
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

/// Whose models an adapter reaches when the mission names none.
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
        ] {
            assert!(is_same_model(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("llama-3.1-8b", "llama-3.1-70b"),
            ("gpt-4o", "gpt-4o-mini"),
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
            assert_eq!(
                verdicts(author, reviewer),
                *expected,
                "{:?} {:?}",
                of(author),
                of(reviewer)
            );
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
        assert_eq!(
            depends(Some("gpt-4o")),
            Some(Dependence::SameModel("gpt-4o".into()))
        );
        assert_eq!(
            depends(Some("gpt-3.5")),
            Some(Dependence::SameFamily("gpt".into()))
        );
        // The key holds for the model that it was given for, and for models without a family of their own.
        let keyed = agent(Adapter::Openai, Some("house-model"), Some("house"));
        assert_eq!(
            ModelIdentity::of(&keyed, Some("house-model-2")).family(),
            Some("house")
        );
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
        assert_eq!(
            family_of_adapter(&agent(Adapter::Codex, Some("m"), None).spec),
            None
        );
        assert_eq!(
            family_of_adapter(&agent(Adapter::Anthropic, Some("m"), None).spec),
            Some("claude")
        );
    }

    #[test]
    fn whoever_is_not_known_is_named() {
        let one = |name: &str, agent: AgentPlan| AgentPlan {
            name: name.into(),
            ..agent
        };
        let command = one("command", agent(Adapter::Command, None, None));
        let model = one("model", openai("gpt-4o"));
        for rule in [Independence::Model, Independence::Family] {
            for (author, reviewer) in [(&command, &model), (&model, &command)] {
                let (author, reviewer) = (ModelIdentity::of(author, None), ModelIdentity::of(reviewer, None));
                let unknown = Dependence::Unknown {
                    agent: "command".to_owned(),
                    what: rule,
                };
                assert_eq!(reviewer.depends_on(&author, rule), Some(unknown));
            }
        }
    }
}
