//! Reading what an agent says about a request for work (semantics, section 16). What does not fit is no yes.

use super::parser::form::{read_object, wrong};
use super::parser::{Quoted, Unparsed};

/// The decision of an agent about a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Triage {
    /// The request becomes a task, perhaps under a better title and with a better description.
    Accepted {
        /// The better title; `None` keeps the request's.
        title: Option<String>,
        /// The better description; `None` keeps the request's.
        description: Option<String>,
    },
    /// The request does not become a task, for this reason.
    Refused(String),
}

/// Reads the reply; `work` holds the request's own words where a verdict would stand.
///
/// # Errors
///
/// Why the reply says nothing: then the request is cancelled with that reason.
pub fn parse_triage(reply: &str, work: &Quoted) -> Result<Triage, Unparsed> {
    let read = read_object(reply, work, "accepted", |object| {
        let words = |name| object.text_at(&[name]).map(|text| Some(text).filter(|text| !text.is_empty()));
        if object.required_bool("accepted")? {
            return Ok(Triage::Accepted { title: words("title")?, description: words("description")? });
        }
        let reason = words("reason")?.ok_or_else(|| wrong("a request is refused with a `reason`"))?;
        Ok(Triage::Refused(reason))
    });
    read.map_err(|why| why.or_envelope(reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_triage(reply: &str) -> Result<Triage, Unparsed> {
        super::parse_triage(reply, &Quoted::default())
    }

    #[test]
    fn only_a_clear_word_is_a_yes() {
        let plain = Triage::Accepted { title: None, description: None };
        assert_eq!(parse_triage("{\"accepted\": true}"), Ok(plain.clone()));
        assert_eq!(parse_triage("I say:\n{\"accepted\": true, \"also\": 1}"), Ok(plain.clone()));
        assert_eq!(parse_triage("```json\n{\"accepted\": true, \"title\": \" \"}\n```"), Ok(plain));
        let better = Triage::Accepted { title: Some("t".to_owned()), description: Some("d".to_owned()) };
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
            r#"{"accepted": true} {"accepted": false, "reason": "x"}"#,
            "[true]",
        ] {
            assert!(parse_triage(reply).is_err(), "{reply}");
        }
    }
}
