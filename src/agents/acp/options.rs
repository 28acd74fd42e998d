//! What a turn is told in `QUORUM_ACP_TURN`.

use globset::{GlobSet, GlobSetBuilder};
use serde::Deserialize;
use serde_json::Value;

use rules::mission::paths::readings;

/// How much the agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionLevel {
    Read,
    Edit,
    Full,
}

/// The options of one turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub permissions: PermissionLevel,
    /// The rules for permission requests; `None` lets them go by `permissions`.
    pub rules: Option<PermissionRules>,
    /// The session to go on in.
    pub session: Option<String>,
    pub model: Option<String>,
    /// The wish that a person has allowed, once.
    pub allowed: Option<String>,
    /// The servers that the agent is handed, as the protocol has them.
    #[serde(default)]
    pub servers: Vec<Value>,
}

/// The policies for permission requests, by the kind of tool call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionRules {
    pub read: RequestRule,
    pub edit: RequestRule,
    pub run: RequestRule,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "RuleForm")]
pub enum RequestRule {
    Allow,
    Ask,
    Deny,
    /// Allowed where every path matches, otherwise denied.
    Paths(GlobSet),
}

/// How a rule is written.
#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a rule is \"allow\", \"ask\", \"deny\" or {\"allow\": [globs]}"
)]
enum RuleForm {
    Word(RuleWord),
    Paths { allow: Vec<String> },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RuleWord {
    Allow,
    Ask,
    Deny,
}

impl TryFrom<RuleForm> for RequestRule {
    type Error = globset::Error;

    fn try_from(form: RuleForm) -> Result<Self, globset::Error> {
        Ok(match form {
            RuleForm::Word(RuleWord::Allow) => Self::Allow,
            RuleForm::Word(RuleWord::Ask) => Self::Ask,
            RuleForm::Word(RuleWord::Deny) => Self::Deny,
            RuleForm::Paths { allow } => {
                let mut set = GlobSetBuilder::new();
                for glob in &allow {
                    for glob in readings(glob) {
                        set.add(glob?);
                    }
                }
                Self::Paths(set.build()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> serde_json::Result<Options> {
        serde_json::from_str(text)
    }

    #[test]
    fn only_permissions_must_be_there() {
        let options = read(r#"{"permissions": "edit", "rules": null, "session": "s"}"#).unwrap();
        assert_eq!(options.permissions, PermissionLevel::Edit);
        assert_eq!(options.session.as_deref(), Some("s"));
        assert!(options.rules.is_none() && options.model.is_none() && options.allowed.is_none());
    }

    #[test]
    fn a_rule_is_a_word_or_globs() {
        let text = r#"{"permissions": "read", "rules": {"read": "allow", "edit": {"allow": ["src/*.rs"]}, "run": "ask"}}"#;
        let rules = read(text).unwrap().rules.unwrap();
        assert!(matches!(rules.read, RequestRule::Allow) && matches!(rules.run, RequestRule::Ask));
        let RequestRule::Paths(globs) = rules.edit else { panic!("it has globs") };
        assert!(globs.is_match("src/a.rs") && !globs.is_match("src/a/b.rs"));
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        let rules = |rule: &str| {
            let rules = format!(r#"{{"read": "allow", "edit": {rule}, "run": "deny"}}"#);
            read(&format!(r#"{{"permissions": "read", "rules": {rules}}}"#)).map(drop)
        };
        assert!(rules(r#""deny""#).is_ok());
        for rule in [r#""perhaps""#, "3", "{}", r#"{"allow": ["["]}"#, r#"{"allow": [], "deny": []}"#] {
            assert!(rules(rule).is_err(), "{rule}");
        }
        for text in ["{}", "[]", r#"{"permissions": "all"}"#, r#"{"permissions": "read", "folder": "/"}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
