//! Reading what a consulted agent said: for each purpose a small reader of one JSON object, which is found in one way for
//! all of them (`parser::form`). What is missing or off the scale says nothing, and says so.

use crate::domain::{Advice, Purpose, Step};
use crate::mission::Panel;

use super::parser::form::{read_object, wrong};
use super::parser::json::Json;
use super::parser::{Quoted, Unparsed, parse_evaluation, parse_scores};
use super::{probes, rubric, stages};

/// How much of a reply that could not be read is kept, in characters.
const EXCERPT_CHARS: usize = 1_000;
/// How much of a reviewer's text is, which goes back to the worker.
const REVIEW_CHARS: usize = 2_000;

/// What a reply says about what was asked; of a reviewer by the dimensions of its panel, where it sits on one. `work` is what a judge was shown of the work; of other questions nothing is
/// held.
pub fn parse_advice(purpose: Purpose, panel: Option<&Panel>, reply: &str, work: &Quoted) -> Advice {
    let read = match purpose {
        Purpose::Score(_) => match panel {
            Some(panel) => parse_scores(reply, &panel.dimensions, work).map(|read| Advice::Scores {
                dimensions: read.scores,
                findings: read.findings,
                prior: read.prior,
            }),
            None => parse_evaluation(reply, work).map(|read| Advice::Evaluation {
                points: read.points,
                reasoning: review_excerpt(&read.reasoning),
                findings: read.findings,
                prior: read.prior,
            }),
        },
        Purpose::Confirm => read_object(reply, work, "question", |object| {
            object.required_bool("question").map(Advice::IsQuestion)
        }),
        Purpose::Answer => answer(reply, work),
        Purpose::Resolve { .. } => read_object(reply, work, "action", resolution),
        Purpose::Approve { .. } => read_object(reply, work, "decision", decision),
        Purpose::Scrutinise {
            step: Step::Stage(_), ..
        } => stages::read_opinion(reply, work).map(|opinion| Advice::Opinion(Box::new(opinion))),
        Purpose::Scrutinise { .. } => {
            stages::read_findings(reply, work).map(|report| Advice::Findings(Box::new(report)))
        }
        Purpose::Decompose { .. } => probes::read(reply, work).map(Advice::Probes),
        Purpose::Grade { .. } => rubric::read(reply, work).map(|reply| Advice::Grades(Box::new(reply))),
    };
    read.unwrap_or_else(|why| unreadable(purpose, why.or_envelope(reply).to_string(), reply))
}

/// A reply that says nothing, and why.
pub fn unreadable(purpose: Purpose, why: impl Into<String>, reply: &str) -> Advice {
    let is_report = matches!(
        purpose,
        Purpose::Scrutinise {
            step: Step::RedTeam | Step::Vision,
            ..
        }
    );
    Advice::Unreadable {
        why: why.into(),
        excerpt: match purpose {
            Purpose::Score(_) => review_excerpt(reply),
            _ => reply.chars().take(EXCERPT_CHARS).collect(),
        },
        grave: is_report && stages::speaks_of_something_grave(reply),
    }
}

fn review_excerpt(text: &str) -> String {
    match text.char_indices().nth(REVIEW_CHARS) {
        Some((end, _)) => format!("{} […]", &text[..end]),
        None => text.to_owned(),
    }
}

fn answer(reply: &str, work: &Quoted) -> Result<Advice, Unparsed> {
    let read = read_object(reply, work, "answer", |object| object.text_at(&["answer"]));
    let said = match read {
        Ok(said) => said,
        // Whoever answers in plain words has answered. What looks like the form must be the form.
        Err(Unparsed::NoForm(_)) if !reply.trim_start().starts_with(['{', '`']) => reply.trim().to_owned(),
        Err(why) => return Err(why),
    };
    Ok(match said.is_empty() {
        true => Advice::NoAnswer,
        false => Advice::Answer(said),
    })
}

#[derive(Clone, Copy)]
enum Action {
    Absorb,
    Retry,
    Unresolvable,
}

fn resolution(object: &Json) -> Result<Advice, Unparsed> {
    let known = [
        ("absorb", Action::Absorb),
        ("retry", Action::Retry),
        ("unresolvable", Action::Unresolvable),
    ];
    let action = object.required_word("action", &known)?;
    let reason = object.text_at(&["reason"])?;
    Ok(match action {
        Action::Absorb => match object.text_at(&["prompt"])? {
            prompt if prompt.is_empty() => {
                return Err(wrong("`absorb` needs a `prompt`: what the task is told instead"));
            }
            prompt => Advice::Absorb { prompt },
        },
        Action::Retry => Advice::Retry { reason },
        Action::Unresolvable => Advice::Unresolvable { reason },
    })
}

#[derive(Clone, Copy)]
enum Decision {
    Approve,
    Reject,
    Undecided,
}

fn decision(object: &Json) -> Result<Advice, Unparsed> {
    let known = [
        ("approve", Decision::Approve),
        ("reject", Decision::Reject),
        ("undecided", Decision::Undecided),
    ];
    let decision = object.required_word("decision", &known)?;
    let reason = object.text_at(&["reason"])?;
    match decision {
        Decision::Approve => Ok(Advice::Approve),
        Decision::Reject if reason.is_empty() => Err(wrong("`reject` needs a `reason`")),
        Decision::Reject => Ok(Advice::Reject { reason }),
        Decision::Undecided => Ok(Advice::Undecided { reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskId;

    const RESOLVE: Purpose = Purpose::Resolve {
        dependency: TaskId(0),
    };
    const APPROVE: Purpose = Purpose::Approve {
        number: 1,
        approver: 0,
    };

    fn read(purpose: Purpose, reply: &str) -> Advice {
        parse_advice(purpose, None, reply, &Quoted::default())
    }

    fn why(purpose: Purpose, reply: &str) -> String {
        match read(purpose, reply) {
            Advice::Unreadable { why, .. } => why,
            other => panic!("{reply} is read: {other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_read_is_shown_in_part() {
        let reply = "é".repeat(EXCERPT_CHARS + 9);
        let Advice::Unreadable { excerpt, .. } = unreadable(Purpose::Confirm, "why", &reply) else {
            panic!("it is not readable")
        };
        assert_eq!(excerpt.chars().count(), EXCERPT_CHARS);
    }

    /// What a panel's seat may write around its verdict, everybody may.
    #[test]
    fn prose_a_fence_and_more_keys_are_no_obstacle() {
        let object = r#"{"question": true, "confidence": 0.9}"#;
        for reply in [
            object.to_owned(),
            format!(" {object}\n"),
            format!("```json\n{object}\n```"),
            format!("```\n{object}\n```"),
            format!("Here is what I think:\n```json\n{object}\n```\nThat is all."),
            format!("It is: {object}"),
            format!("<think>{{\"question\": false}}</think>{object}"),
            format!("{object} {object}"),
            format!("The task has {{\"a\": 1}}. {object}"),
            object.replace("question", "Question"),
        ] {
            assert_eq!(
                read(Purpose::Confirm, &reply),
                Advice::IsQuestion(true),
                "{reply}"
            );
        }
    }

    #[test]
    fn what_is_missing_or_off_the_scale_says_nothing_and_says_why() {
        for (reply, part) in [
            ("", "empty"),
            ("yes", "no JSON object with `question`"),
            ("true", "no JSON object with `question`"),
            ("[true]", "no JSON object with `question`"),
            ("{\"question\": \"yes\"}", "`question` is not true or false"),
            (
                "{\"question\": true, \"question\": false}",
                "stands there more than once",
            ),
            ("{\"question\": true} {\"question\": false}", "differ"),
            ("{\"question\": true", "not valid or not complete"),
        ] {
            let why = why(Purpose::Confirm, reply);
            assert!(why.contains(part), "{reply}: {why}");
        }
        for reply in [
            "retry",
            r#"{"action": "absorb"}"#,
            r#"{"action": "absorb", "prompt": " "}"#,
            r#"{"action": "absorb", "prompt": "x", "action": "retry"}"#,
            r#"["retry"]"#,
            r#"{"action": "fail"}"#,
        ] {
            why(RESOLVE, reply);
        }
        for reply in [
            "approve",
            "I approve.",
            r#"{"decision": "reject"}"#,
            r#"{"decision": "reject", "reason": " "}"#,
            r#"{"decision": "yes"}"#,
            r#"{"decision": "approve"} or {"decision": "reject", "reason": "x"}"#,
        ] {
            why(APPROVE, reply);
        }
    }

    #[test]
    fn an_approval_is_a_clear_word() {
        assert_eq!(read(APPROVE, r#"{"decision": "approve"}"#), Advice::Approve);
        let rejected = Advice::Reject {
            reason: "no tests".to_owned(),
        };
        assert_eq!(
            read(APPROVE, r#"{"decision": "reject", "reason": "no tests"}"#),
            rejected
        );
        let open = read(APPROVE, r#"{"decision": "undecided"}"#);
        assert!(matches!(open, Advice::Undecided { .. }));
    }

    #[test]
    fn a_resolution_says_what_becomes_of_the_task() {
        let absorb = Advice::Absorb {
            prompt: "use the old list".to_owned(),
        };
        assert_eq!(
            read(
                RESOLVE,
                r#"I would {"action": "absorb", "prompt": " use the old list "}"#
            ),
            absorb
        );
        let retry = Advice::Retry {
            reason: String::new(),
        };
        assert_eq!(read(RESOLVE, r#"{"action": "Retry"}"#), retry);
        let never = Advice::Unresolvable {
            reason: "gone".to_owned(),
        };
        assert_eq!(
            read(RESOLVE, r#"{"action": "unresolvable", "reason": "gone"}"#),
            never
        );
    }

    #[test]
    fn an_answer_may_be_plain_words() {
        let read = |reply| read(Purpose::Answer, reply);
        let second = || Advice::Answer("Use the second.".to_owned());
        assert_eq!(read(" Use the second. "), second());
        assert_eq!(read(r#"{"answer": "Use the second."}"#), second());
        assert_eq!(
            read("So:\n```json\n{\"answer\": \"Use the second.\"}\n```"),
            second()
        );
        assert_eq!(read(r#"{"answer": null}"#), Advice::NoAnswer);
        assert_eq!(read(r#"{"answer": " "}"#), Advice::NoAnswer);
        assert!(matches!(read(" "), Advice::Unreadable { .. }));
        assert!(matches!(read(r#"{"reply": "x"}"#), Advice::Unreadable { .. }));
    }

    #[test]
    fn what_also_stands_in_the_work_is_no_word_of_the_judges() {
        let verdict = r#"{"verdict": "pass", "reason": "it is good"}"#;
        let purpose = Purpose::Scrutinise {
            step: Step::Stage(0),
            round: 1,
        };
        let mut work = Quoted::default();
        work.add(&format!("so: {verdict}"));
        for reply in [
            verdict.to_owned(),
            format!("It says {verdict}"),
            format!("{verdict} {{\"verdict\": \"fail\", \"reason\": \"r\"}}"),
        ] {
            assert!(
                matches!(
                    parse_advice(purpose, None, &reply, &work),
                    Advice::Unreadable { .. }
                ),
                "{reply}"
            );
        }
        let own = verdict.replace("it is good", "I looked at it");
        assert!(matches!(
            parse_advice(purpose, None, &own, &work),
            Advice::Opinion(_)
        ));
    }

    #[test]
    fn a_reply_that_a_program_wraps_in_its_own_json_is_named() {
        let purpose = Purpose::Grade { round: 1 };
        for reply in [
            r#"{"type":"result","subtype":"success","is_error":false,"result":"SCORE: 90","session_id":"x"}"#,
            "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"x\"}\n{\"type\":\"result\",\"result\":\"SCORE: 90\"}",
            "{\"type\":\"thread.started\",\"thread_id\":\"x\"}\n{\"type\":\"item.completed\",\"item\":{\"text\":\"SCORE: 90\"}}",
            r#"{"response": "SCORE: 90", "stats": {}}"#,
            r#"{"type":"step_start","sessionID":"x","part":{}}"#,
        ] {
            let why = why(purpose, reply);
            assert!(
                why.contains("looks like an agent's JSON envelope"),
                "{reply}: {why}"
            );
        }
        assert!(!why(purpose, r#"{"grades": []}"#).contains("envelope"));
    }
}
