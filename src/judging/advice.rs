//! Reading what a consulted agent said. The form is fixed for each purpose: one JSON object with exactly the keys that
//! were asked for, alone or in one code fence. Anything else says nothing, and says so.

use serde::Deserialize;

use crate::domain::{Advice, Purpose, Step};

use super::{rubric, scrutiny};

/// How much of a reply that could not be read is kept, in characters.
const EXCERPT_CHARS: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirm {
    question: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    answer: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase", tag = "action")]
enum Resolve {
    Absorb {
        prompt: String,
    },
    Retry {
        #[serde(default)]
        reason: String,
    },
    Unresolvable {
        #[serde(default)]
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase", tag = "decision")]
enum Decision {
    Approve {
        #[serde(default, rename = "reason")]
        _reason: serde::de::IgnoredAny,
    },
    Reject {
        reason: String,
    },
    Undecided {
        #[serde(default)]
        reason: String,
    },
}

/// What a reply says about what was asked.
#[must_use]
pub fn parse_advice(purpose: Purpose, reply: &str) -> Advice {
    let text = unfenced(reply);
    let read = match purpose {
        Purpose::Confirm => object(text).map(|read: Confirm| Advice::IsQuestion(read.question)),
        Purpose::Answer => answer(text),
        Purpose::Resolve { .. } => object(text).and_then(resolution),
        Purpose::Approve { .. } => object(text).and_then(decision),
        Purpose::Scrutinise {
            step: Step::Stage(_), ..
        } => scrutiny::read_opinion(text).map(|opinion| Advice::Opinion(Box::new(opinion))),
        Purpose::Scrutinise { .. } => scrutiny::read_findings(text).map(Advice::Findings),
        Purpose::Grade { .. } => rubric::read(text).map(|reply| Advice::Grades(Box::new(reply))),
    };
    read.unwrap_or_else(|why| unreadable(why, reply))
}

/// A reply that says nothing, and why.
#[must_use]
pub fn unreadable(why: impl Into<String>, reply: &str) -> Advice {
    Advice::Unreadable {
        why: why.into(),
        excerpt: reply.chars().take(EXCERPT_CHARS).collect(),
    }
}

fn answer(text: &str) -> Result<Advice, String> {
    // Whoever answers in plain words has answered. What looks like the form must be the form.
    if !text.is_empty() && !text.starts_with('{') {
        return Ok(Advice::Answer(text.to_owned()));
    }
    let read: Answer = object(text)?;
    Ok(match read.answer {
        Some(answer) if !answer.trim().is_empty() => Advice::Answer(answer.trim().to_owned()),
        _ => Advice::NoAnswer,
    })
}

fn resolution(read: Resolve) -> Result<Advice, String> {
    match read {
        Resolve::Absorb { prompt } if prompt.trim().is_empty() => {
            Err("`absorb` needs a `prompt`: what the task is told instead".to_owned())
        }
        Resolve::Absorb { prompt } => Ok(Advice::Absorb {
            prompt: prompt.trim().to_owned(),
        }),
        Resolve::Retry { reason } => Ok(Advice::Retry { reason }),
        Resolve::Unresolvable { reason } => Ok(Advice::Unresolvable { reason }),
    }
}

fn decision(read: Decision) -> Result<Advice, String> {
    match read {
        Decision::Approve { .. } => Ok(Advice::Approve),
        Decision::Reject { reason } if reason.trim().is_empty() => {
            Err("`reject` needs a `reason`".to_owned())
        }
        Decision::Reject { reason } => Ok(Advice::Reject {
            reason: reason.trim().to_owned(),
        }),
        Decision::Undecided { reason } => Ok(Advice::Undecided {
            reason: reason.trim().to_owned(),
        }),
    }
}

pub(super) fn object<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    if text.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    // A list would be taken for the fields in their order.
    if !text.starts_with('{') {
        return Err("the reply is not one JSON object".to_owned());
    }
    serde_json::from_str(text).map_err(|error| format!("the reply is not what was asked for: {error}"))
}

/// What stands in the one code fence that the reply consists of, else all of it.
pub(super) fn unfenced(reply: &str) -> &str {
    let text = reply.trim();
    let Some(inside) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return text;
    };
    match inside.split_once('\n') {
        Some((language, body)) if !body.contains("```") && !language.trim().contains(' ') => body.trim(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskId;

    const RESOLVE: Purpose = Purpose::Resolve {
        dependency: TaskId(0),
    };

    #[test]
    fn what_is_no_fenced_reply_stays_as_it_is_and_is_shown_in_part() {
        assert!(is_unreadable(
            Purpose::Confirm,
            "``` not json\n{\"question\": true}\n```"
        ));
        let Advice::Unreadable { excerpt, .. } = unreadable("why", &"é".repeat(EXCERPT_CHARS + 9)) else {
            panic!("it is not readable")
        };
        assert_eq!(excerpt.chars().count(), EXCERPT_CHARS);
    }

    fn is_unreadable(purpose: Purpose, reply: &str) -> bool {
        matches!(parse_advice(purpose, reply), Advice::Unreadable { .. })
    }

    #[test]
    fn an_approval_is_a_clear_word() {
        let purpose = Purpose::Approve {
            number: 1,
            approver: 0,
        };
        let read = |reply| parse_advice(purpose, reply);
        assert_eq!(read(r#"{"decision": "approve"}"#), Advice::Approve);
        assert_eq!(
            read(r#"{"decision": "reject", "reason": "no tests"}"#),
            Advice::Reject {
                reason: "no tests".to_owned()
            }
        );
        assert!(matches!(
            read(r#"{"decision": "undecided"}"#),
            Advice::Undecided { .. }
        ));
        for reply in [
            "approve",
            "I approve.",
            r#"{"decision": "reject"}"#,
            r#"{"decision": "reject", "reason": " "}"#,
            r#"{"decision": "yes"}"#,
            r#"{"decision": "approve", "unless": "it rains"}"#,
            r#"{"decision": "approve"} or {"decision": "reject", "reason": "x"}"#,
        ] {
            assert!(matches!(read(reply), Advice::Unreadable { .. }), "{reply}");
        }
    }

    #[test]
    fn the_asked_form_is_read() {
        let read = parse_advice;
        assert_eq!(
            read(Purpose::Confirm, " {\"question\": true}\n"),
            Advice::IsQuestion(true)
        );
        assert_eq!(
            read(Purpose::Confirm, "```json\n{\"question\": false}\n```"),
            Advice::IsQuestion(false)
        );
        let absorb = Advice::Absorb {
            prompt: "use the old list".to_owned(),
        };
        assert_eq!(
            read(RESOLVE, r#"{"action": "absorb", "prompt": " use the old list "}"#),
            absorb
        );
        let retry = Advice::Retry {
            reason: String::new(),
        };
        assert_eq!(read(RESOLVE, r#"{"action": "retry"}"#), retry);
        let never = Advice::Unresolvable {
            reason: "gone".to_owned(),
        };
        assert_eq!(
            read(RESOLVE, r#"{"action": "unresolvable", "reason": "gone"}"#),
            never
        );
    }

    #[test]
    fn anything_else_says_nothing() {
        for reply in [
            "",
            "yes",
            "true",
            "[true]",
            "{\"question\": \"yes\"}",
            "{\"question\": true, \"also\": 1}",
            "{\"question\": true, \"question\": false}",
            "It is: {\"question\": true}",
            "{\"question\": true} {\"question\": false}",
        ] {
            assert!(is_unreadable(Purpose::Confirm, reply), "{reply}");
        }
        for reply in [
            "retry",
            r#"{"action": "Retry"}"#,
            r#"{"action": "absorb"}"#,
            r#"{"action": "absorb", "prompt": " "}"#,
            r#"{"action": "absorb", "prompt": "x", "action": "retry"}"#,
            r#"["retry"]"#,
            r#"{"action": "fail"}"#,
            "I would {\"action\": \"retry\"}",
        ] {
            assert!(is_unreadable(RESOLVE, reply), "{reply}");
        }
    }

    #[test]
    fn an_answer_may_be_plain_words() {
        let read = |reply| parse_advice(Purpose::Answer, reply);
        assert_eq!(
            read(" Use the second. "),
            Advice::Answer("Use the second.".to_owned())
        );
        assert_eq!(
            read(r#"{"answer": "Use the second."}"#),
            Advice::Answer("Use the second.".to_owned())
        );
        assert_eq!(read(r#"{"answer": null}"#), Advice::NoAnswer);
        assert_eq!(read(r#"{"answer": " "}"#), Advice::NoAnswer);
        assert!(is_unreadable(Purpose::Answer, " "));
        assert!(is_unreadable(Purpose::Answer, r#"{"reply": "x"}"#));
    }
}
