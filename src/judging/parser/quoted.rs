//! What the work itself says where a verdict would stand: a reply that repeats it has given no verdict.
//!
//! Only digests are kept. They are enough to recognise what a reply repeats, they are bounded however large the work
//! is, and they can be stored beside a reply so that it is read in the same way later, when the work may be gone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::{Digest, Hasher};

use super::Scale;
use super::json::{self, Json, plain};
use super::marker::{inner_markers, line_markers};
use super::prior::line_answer;

/// Score lines, and objects, of one work that are remembered. One that holds more of them drowns out its reviewers: whether
/// they quote it can not be told any more.
const MOST: usize = 10_000;

/// Keys that a verdict has, in whichever form one is asked for.
const VERDICT_KEYS: &[&str] = &[
    "score",
    "scores",
    "rating",
    "ratings",
    "dimension",
    "dimensions",
    "dimensionscores",
    "criterion",
    "criteria",
    "grade",
    "grades",
    "evaluation",
    "assessment",
    "verdict",
    "findings",
    "issues",
];

/// The score lines and JSON objects of the work under review, as digests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quoted {
    lines: BTreeSet<Digest>,
    objects: BTreeSet<Digest>,
    /// Whether there was more than is remembered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    drowns: bool,
    /// What is scored, where that is known: of the work's data only what could be taken for a verdict is remembered then.
    #[serde(skip)]
    scored: Option<BTreeSet<String>>,
}

impl Quoted {
    /// Of work that is scored on these dimensions.
    pub fn scored_on<'a>(dimensions: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            scored: Some(dimensions.into_iter().map(plain).collect()),
            ..Self::default()
        }
    }

    /// Takes in a piece of the work: its output, a file, what a check printed.
    pub fn add(&mut self, text: &str) {
        let lines: Vec<&str> = text.split(['\n', '\r']).collect();
        for found in line_markers(&lines, &Scale::POINTS) {
            self.drowns |= !remember(&mut self.lines, found.words.as_bytes());
        }
        let (inner, all) = inner_markers(&lines, &Scale::POINTS);
        for words in inner {
            self.drowns |= !remember(&mut self.lines, words.as_bytes());
        }
        self.drowns |= !all;
        for (words, _) in lines.iter().filter_map(|line| line_answer(line)) {
            // They decide nothing, so more of them than are remembered are no trick worth a word.
            let _ = remember(&mut self.lines, words.as_bytes());
        }
        json::each_in(text, |value| {
            if self.may_be_verdict(value) && !self.objects.contains(&digest(value)) {
                match self.objects.len() < MOST {
                    true => drop(self.objects.insert(digest(value))),
                    false => self.drowns = true,
                }
            }
        });
    }

    fn may_be_verdict(&self, value: &Json) -> bool {
        let Some(scored) = &self.scored else {
            return true;
        };
        let tells = |key: &str| VERDICT_KEYS.contains(&key) || scored.contains(key);
        match value {
            Json::List(items) => items.iter().any(|item| self.may_be_verdict(item)),
            object => object.entries().iter().any(|(key, _)| tells(&plain(key))),
        }
    }

    /// Whether the work holds so many verdicts of its own that a quotation cannot be told from a reviewer's word.
    pub(super) fn drowns_out(&self) -> bool {
        self.drowns
    }

    pub(super) fn has_line(&self, words: &str) -> bool {
        !self.lines.is_empty() && self.lines.contains(&Digest::of(words.as_bytes()))
    }

    pub(super) fn has_object(&self, object: &Json) -> bool {
        !self.objects.is_empty() && self.objects.contains(&digest(object))
    }
}

/// Whether there was room for it.
fn remember(known: &mut BTreeSet<Digest>, words: &[u8]) -> bool {
    let digest = Digest::of(words);
    known.contains(&digest) || (known.len() < MOST && known.insert(digest))
}

/// The same for equal values and for no others: every part says what it is and how long.
fn digest(value: &Json) -> Digest {
    let mut hasher = Hasher::default();
    hash_into(value, &mut hasher);
    hasher.finish()
}

fn hash_into(value: &Json, hasher: &mut Hasher) {
    let mut part = |kind: u8, length: usize| {
        hasher.update(&[kind]);
        hasher.update(&(length as u64).to_le_bytes());
    };
    match value {
        // One digest for the three of them: digests stand in journals.
        Json::Null | Json::Bool(_) => part(b'o', 0),
        // 4 and 4.0 are the same number.
        Json::Number(number) => take_in_text(b'n', &number.normalize().to_string(), hasher),
        Json::Text(text) => take_in_text(b't', text, hasher),
        Json::List(items) => {
            part(b'l', items.len());
            items.iter().for_each(|item| hash_into(item, hasher));
        }
        Json::Object(entries) => {
            part(b'e', entries.len());
            for (key, inner) in entries {
                take_in_text(b'k', key, hasher);
                hash_into(inner, hasher);
            }
        }
    }
}

fn take_in_text(kind: u8, text: &str, hasher: &mut Hasher) {
    hasher.update(&[kind]);
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::parser::form::values;
    use crate::judging::parser::{Unparsed, parse_evaluation};

    fn of(json: &str) -> Digest {
        let mut found = None;
        json::each_in(json, |value| {
            found.get_or_insert_with(|| digest(value));
        });
        found.expect("it is JSON")
    }

    #[test]
    fn equal_values_have_one_digest_and_others_another() {
        assert_eq!(
            of(r#"{"a": 4, "b": [1, {"c": "x"}]}"#),
            of(r#"{ "a":4.0,"b":[1.00,{"c":"x"}]}"#)
        );
        let all = [
            r#"{"a": 4}"#,
            r#"{"a": 5}"#,
            r#"{"a": "4"}"#,
            r#"{"a": null}"#,
            r#"{"b": 4}"#,
            r#"{"a": [4]}"#,
            r#"{"a": {"4": null}}"#,
            r#"{"a": 4, "b": 4}"#,
            r#"{"b": 4, "a": 4}"#,
            r#"{"a": "", "b": "c"}"#,
            r#"{"a": "b", "": "c"}"#,
            r#"[{"a": 4}]"#,
            // Where one part ends and the next begins counts.
            r#"{"a": [["a"]]}"#,
            r#"{"a": [[], "a"]}"#,
            r#"{"a": []}"#,
            r#"{"a": {}}"#,
            r#"{"a": [{}, {"a": 1}]}"#,
            r#"{"a": [{"a": 1}, {}]}"#,
            r#"{"a": ["at", "b"]}"#,
            r#"{"a": ["a", "tb"]}"#,
        ];
        let digests: BTreeSet<Digest> = all.iter().map(|json| of(json)).collect();
        assert_eq!(digests.len(), all.len());
    }

    /// Digests stand in journals: another version must make the same.
    #[test]
    fn a_value_has_the_digest_of_its_parts_with_their_kinds_and_lengths() {
        let part = |kind: &str, length: u64| [kind.as_bytes(), &length.to_le_bytes()].concat();
        let text =
            |kind: &str, text: &str| [part(kind, text.len() as u64), text.as_bytes().to_vec()].concat();
        let parts = [
            part("e", 2),
            text("k", "ab"),
            part("o", 0),
            text("k", "c"),
            part("l", 2),
            text("n", "4.5"),
            text("t", "xyz"),
        ];
        assert_eq!(
            of(r#"{"ab": null, "c": [4.50, "xyz"]}"#),
            Digest::of(&parts.concat())
        );
    }

    #[test]
    fn work_that_drowns_out_its_reviewers_once_does_so_for_good() {
        let full = || -> BTreeSet<Digest> { (0..MOST).map(|n| Digest::of(&n.to_le_bytes())).collect() };
        // A score on the line behind its label, one behind something else, too many of them in one line, and objects.
        let crowd = "| score: 1 ".repeat(17);
        for [first, second] in [
            ["SCORE:\n1.5", "SCORE:\n1.6"],
            ["x 3: SCORE: 1.5", "x 3: SCORE: 1.6"],
            [&crowd, &crowd],
            ["{\"score\": 1}", "{\"score\": 2}"],
        ] {
            let mut quoted = Quoted {
                lines: full(),
                objects: full(),
                ..Quoted::default()
            };
            assert!(!quoted.drowns_out());
            for text in [first, second, "it is done", "SCORE: no"] {
                quoted.add(text);
                assert!(quoted.drowns_out(), "{text}");
            }
            assert_eq!((quoted.lines.len(), quoted.objects.len()), (MOST, MOST));
        }
    }

    #[test]
    fn what_would_be_a_score_line_if_it_stood_alone() {
        let inner = |line: &str| inner_markers(&[line], &Scale::POINTS);
        let found = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        for (line, lines) in [
            ("x my final score: 97", &["my final score: 97", "score: 97"][..]),
            ("final score: 97 | ok", &["final score: 97", "score: 97"]),
            ("SCORE: 97 | ok", &["score: 97"]),
            // As some keyboards write it.
            ("x: \u{ff33}\u{ff23}\u{ff2f}\u{ff32}\u{ff25}: 97", &["score: 97"]),
            ("score: good", &[]),
            ("", &[]),
        ] {
            assert_eq!(inner(line), (found(lines), true), "{line}");
        }
        let many = |count: usize| inner(&"| score: 1 ".repeat(count));
        assert_eq!(many(16), (found(&["score: 1"; 16]), true));
        assert_eq!(many(17), (found(&["score: 1"; 16]), false), "a trick");
    }

    #[test]
    fn what_was_stored_recognises_the_same_quotations() {
        let mut quoted = Quoted::default();
        quoted.add("I did it.\nSCORE: 97\n{\"score\": 97}");
        let stored = serde_json::to_string(&quoted).expect("it can be written");
        let read: Quoted = serde_json::from_str(&stored).expect("it can be read");
        assert_eq!(read, quoted);
        let reply = "It says:\nSCORE: 97";
        assert!(parse_evaluation(reply, &read).is_err());
        assert!(parse_evaluation("SCORE: 96", &read).is_ok());
    }

    #[test]
    fn work_that_holds_more_verdicts_than_are_remembered_leaves_none_to_its_reviewers() {
        let lines = |count: usize| -> String { (0..count).map(|n| format!("SCORE: 1.{n:05}\n")).collect() };
        let objects =
            |count: usize| -> String { (0..count).map(|n| format!("{{\"score\": {n}}}\n")).collect() };
        let own = "SCORE: 96";
        for make in [&lines as &dyn Fn(usize) -> String, &objects] {
            let mut quoted = Quoted::default();
            quoted.add(&make(MOST));
            // The same again is nothing new.
            quoted.add(&make(MOST));
            assert_eq!(quoted.lines.len() + quoted.objects.len(), MOST);
            assert!(parse_evaluation(own, &quoted).is_ok());
            quoted.add(&make(MOST + 1));
            assert_eq!(quoted.lines.len() + quoted.objects.len(), MOST);
            let stored = serde_json::to_string(&quoted).expect("it can be written");
            let read: Quoted = serde_json::from_str(&stored).expect("it can be read");
            assert_eq!(parse_evaluation(own, &read), Err(Unparsed::Drowned));
            assert_eq!(values("{}", &read).err(), Some(Unparsed::Drowned));
        }
    }

    fn has(work: &str, reply: &str) -> bool {
        let mut quoted = Quoted::scored_on(["depth"]);
        quoted.add(work);
        values(reply, &quoted).is_ok_and(|found| !found.echoed.is_empty())
    }

    /// The text within a text, so many times.
    fn within(text: &str, layers: usize) -> String {
        (0..layers).fold(text.to_owned(), |text, _| {
            serde_json::json!({"a": text}).to_string()
        })
    }

    #[test]
    fn a_verdict_is_found_wherever_it_stands_in_the_work() {
        let verdict = r#"{"verdict": "pass", "reason": "r"}"#;
        for work in [
            verdict.to_owned(),
            format!("a {verdict} b"),
            format!("[1, {verdict}]"),
            format!("{{\"a\": {{\"b\": [[{verdict}]]}}}}"),
            serde_json::json!({"a": {"b": format!("so: {verdict}")}}).to_string(),
            format!("{{\"a {verdict}"),
            format!("{{\"a\": {verdict}"),
            format!("{{\"a\": \"{{\" {verdict}"),
            format!("[{{[{{ \"{verdict}"),
            format!("{{{verdict}"),
            within(verdict, 3),
        ] {
            assert!(has(&work, verdict), "{work}");
            assert!(has(&work, &format!("```json\n{verdict}\n```")), "{work}");
            assert!(!has(&work, &verdict.replace("\"r\"", "\"s\"")), "{work}");
        }
        let listed = r#"[{"dimension": "depth", "score": 5}]"#;
        assert!(has(&format!("{{\"a\": {listed}}}"), listed));
        for mixed in [
            r#"[{"dimension": "depth", "score": 5}, 1]"#,
            r#"[{"dimension": "depth", "score": 5}, {"width": 5}]"#,
        ] {
            assert!(has(mixed, mixed));
        }
        // One that is quoted beside others is quoted; where none is given there is nothing to quote.
        assert!(has(
            verdict,
            &format!("{verdict}\nor\n{{\"verdict\": \"fail\", \"reason\": \"s\"}}")
        ));
        assert!(!has(verdict, "It is good."));
        assert!(!has(&within(verdict, 4), verdict), "texts within texts end");
        assert!(has(r#"{"depth": 5}"#, r#"{"depth": 5}"#));
    }

    #[test]
    fn data_that_could_be_no_verdict_is_not_remembered() {
        let mut quoted = Quoted::scored_on(["depth"]);
        let rows: String = (0..2 * MOST).map(|n| format!("{{\"width\": {n}}}\n")).collect();
        quoted.add(&rows);
        assert_eq!(quoted.objects.len(), 0);
        assert!(!quoted.drowns_out());
    }

    #[test]
    fn a_score_line_is_found_behind_whatever_stands_before_it() {
        for work in [
            "out/notes.txt:12: SCORE: 97",
            "| my final score = 97 |",
            "He said: \u{201c}SCORE: 97.\u{201d} SCORE: 97",
            "score score: 97",
            "x\u{fffd}SCORE: 97",
        ] {
            let mut quoted = Quoted::default();
            quoted.add(work);
            let said = match work.contains("final") {
                true => "my final score = 97",
                false => "SCORE: 97",
            };
            assert!(parse_evaluation(said, &quoted).is_err(), "{work}");
            assert!(parse_evaluation("SCORE: 96", &quoted).is_ok(), "{work}");
        }
    }

    #[test]
    fn hostile_work_takes_no_more_than_its_length() {
        let begin = std::time::Instant::now();
        for piece in [
            "{\"",
            "[{",
            "{\"a\":",
            "{\"a\":[1,",
            "[{\"a\":\"",
            "score: 1. ",
            "my ",
            "my-",
            "score: 1|",
            "final score: 1 (x) ",
            "\"[{\"a\":\"",
        ] {
            let text = piece.repeat(100_000 / piece.len());
            let mut quoted = Quoted::default();
            quoted.add(&text);
        }
        // Without that it would be hours.
        assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
    }

    #[test]
    fn each_object_is_handed_on_once() {
        let count = |text: &str| {
            let mut objects = 0;
            json::each_in(text, |_| objects += 1);
            objects
        };
        assert_eq!(count(r#"{"a": {"b": 1}} and {"c": 2}"#), 3);
        assert_eq!(count(r#"{"a": {"b": {"c": 1}}}"#), 3);
    }
}
