//! Reading what an agent says about a request for work (semantics, section 16). What does not fit is no yes.

use serde::Deserialize;

use super::advice::{object, unfenced};

/// What an agent made of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Triage {
    /// It becomes a task, perhaps under a better title and with a better description.
    Accepted {
        /// The title, where it is another one.
        title: Option<String>,
        /// The description, where it is another one.
        description: Option<String>,
    },
    /// It does not, and why.
    Refused(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    accepted: bool,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

/// What the reply says.
///
/// # Errors
/// Why it says nothing: then the request is cancelled with that reason.
pub fn parse_triage(reply: &str) -> Result<Triage, String> {
    let read: Reply = object(unfenced(reply))?;
    let words = |text: Option<String>| {
        text.map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    };
    if read.accepted {
        return Ok(Triage::Accepted {
            title: words(read.title),
            description: words(read.description),
        });
    }
    let reason = words(read.reason).ok_or("a request is refused with a `reason`")?;
    Ok(Triage::Refused(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_form_is_a_yes() {
        let plain = Triage::Accepted {
            title: None,
            description: None,
        };
        assert_eq!(parse_triage("{\"accepted\": true}"), Ok(plain.clone()));
        assert_eq!(
            parse_triage("```json\n{\"accepted\": true, \"title\": \" \"}\n```"),
            Ok(plain)
        );
        let better = Triage::Accepted {
            title: Some("t".to_owned()),
            description: Some("d".to_owned()),
        };
        let reply = r#"{"accepted": true, "title": "t", "description": "d", "reason": "clear"}"#;
        assert_eq!(parse_triage(reply), Ok(better));
        assert_eq!(
            parse_triage(r#"{"accepted": false, "reason": "spam"}"#),
            Ok(Triage::Refused("spam".to_owned()))
        );
        for reply in [
            "",
            "yes",
            "true",
            "{}",
            r#"{"accepted": "yes"}"#,
            r#"{"accepted": 1}"#,
            r#"{"accepted": false}"#,
            r#"{"accepted": false, "reason": " "}"#,
            r#"{"accepted": true, "accepted": false, "reason": "x"}"#,
            r#"{"accepted": true, "also": 1}"#,
            "I say {\"accepted\": true}",
            "[true]",
        ] {
            assert!(parse_triage(reply).is_err(), "{reply}");
        }
    }
}
