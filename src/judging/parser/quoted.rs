//! What the work itself says where a verdict would stand: a reply that repeats it has given no verdict.
//!
//! Only digests are kept. They are enough to recognise what a reply repeats, they are bounded however large the work
//! is, and they can be stored beside a reply so that it is read in the same way later, when the work may be gone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::{Digest, Hasher};

use super::Scale;
use super::json::{self, Json};
use super::marker::line_markers;

/// Verdicts of one work that are remembered; more is no work but an attempt to be a nuisance.
const MOST: usize = 1_000;

/// The score lines and JSON objects of the work under review, as digests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quoted {
    lines: BTreeSet<Digest>,
    objects: BTreeSet<Digest>,
}

impl Quoted {
    /// Takes in a piece of the work: its output, a file, what a check printed.
    pub fn add(&mut self, text: &str) {
        let lines: Vec<&str> = text.split(['\n', '\r']).collect();
        let markers = line_markers(&lines, &Scale::POINTS);
        let room = MOST.saturating_sub(self.lines.len());
        let words = markers.into_iter().take(room);
        self.lines
            .extend(words.map(|found| Digest::of(found.words.as_bytes())));
        let objects = json::all_in(text);
        let room = MOST.saturating_sub(self.objects.len());
        self.objects.extend(objects.iter().take(room).map(digest));
    }

    pub(super) fn has_line(&self, words: &str) -> bool {
        !self.lines.is_empty() && self.lines.contains(&Digest::of(words.as_bytes()))
    }

    pub(super) fn has_object(&self, object: &Json) -> bool {
        !self.objects.is_empty() && self.objects.contains(&digest(object))
    }
}

/// The same for equal values and for no others: every part says what it is and how long.
fn digest(value: &Json) -> Digest {
    let mut hasher = Hasher::default();
    take_in(value, &mut hasher);
    hasher.finish()
}

fn take_in(value: &Json, hasher: &mut Hasher) {
    let mut part = |kind: u8, length: usize| {
        hasher.update(&[kind]);
        hasher.update(&(length as u64).to_le_bytes());
    };
    match value {
        Json::Other => part(b'o', 0),
        // 4 and 4.0 are the same number.
        Json::Number(number) => take_in_text(b'n', &number.normalize().to_string(), hasher),
        Json::Text(text) => take_in_text(b't', text, hasher),
        Json::List(items) => {
            part(b'l', items.len());
            items.iter().for_each(|item| take_in(item, hasher));
        }
        Json::Object(entries) => {
            part(b'e', entries.len());
            for (key, inner) in entries {
                take_in_text(b'k', key, hasher);
                take_in(inner, hasher);
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

    fn of(json: &str) -> Digest {
        let found = json::all_in(json);
        digest(found.first().expect("it is JSON"))
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
            r#"[["a"]]"#,
            r#"[[], "a"]"#,
            r#"[]"#,
            r#"{}"#,
            r#"[{}, {"a": 1}]"#,
            r#"[{"a": 1}, {}]"#,
            r#"["at", "b"]"#,
            r#"["a", "tb"]"#,
        ];
        let digests: BTreeSet<Digest> = all.iter().map(|json| of(json)).collect();
        assert_eq!(digests.len(), all.len());
    }

    #[test]
    fn what_was_stored_recognises_the_same_quotations() {
        let mut quoted = Quoted::default();
        quoted.add("I did it.\nSCORE: 97\n{\"score\": 97}");
        let stored = serde_json::to_string(&quoted).expect("it can be written");
        let read: Quoted = serde_json::from_str(&stored).expect("it can be read");
        assert_eq!(read, quoted);
        let reply = "It says:\nSCORE: 97";
        assert!(crate::judging::parser::parse_evaluation(reply, &read).is_err());
        assert!(crate::judging::parser::parse_evaluation("SCORE: 96", &read).is_ok());
    }

    #[test]
    fn so_many_verdicts_of_a_work_are_remembered_and_no_more() {
        let lines =
            |from: usize, to: usize| -> String { (from..to).map(|n| format!("SCORE: 1.{n:04}\n")).collect() };
        let objects = |from: usize, to: usize| -> String {
            (from..to).map(|n| format!("{{\"score\": {n}}}\n")).collect()
        };
        for make in [&lines as &dyn Fn(usize, usize) -> String, &objects] {
            let mut all = Quoted::default();
            all.add(&make(0, MOST + 1));
            let mut parts = Quoted::default();
            parts.add(&make(0, MOST / 2));
            parts.add(&make(MOST / 2, MOST + 1));
            for quoted in [all, parts] {
                assert_eq!(quoted.lines.len() + quoted.objects.len(), MOST);
            }
        }
    }
}
