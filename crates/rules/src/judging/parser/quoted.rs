//! What the work itself says where a verdict would stand: a reply that repeats it has given no verdict.
//!
//! What is compared is what a verdict claims, not how it is spelled: `SCORE: 95`, `95.0/100` and `{"score": 95}` are one
//! claim, and so are a list of dimensions and an object of them. A reviewer's own reasons make a claim its own.
//!
//! Only digests are kept. They are enough to recognise what a reply repeats, they are bounded however large the work
//! is, and they can be stored beside a reply so that it is read in the same way later, when the work may be gone.

use std::collections::BTreeSet;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::domain::{Digest, Hasher};

use super::json::{self, Json, is_in, plain};
use super::keys::{CONTAINERS, NAMES, REASONS, SCALE_KEYS, SCORES};
use super::number::number_in;
use super::own_words::{fold, visible};
use super::point_answers::line_answer;

/// Claims of one work that are remembered, and answers for points. One that holds more of them drowns out its reviewers: whether
/// they quote it can not be told any more.
const MOST: usize = 10_000;

/// Keys that a verdict has, in whichever form one is asked for.
const VERDICT_KEYS: &str = " score scores rating ratings dimension dimensions dimensionscores criterion criteria grade grades evaluation \
                            assessment verdict findings issues ";

/// Keys of what is no more than said about a score.
const NOTES: &str = " summary note notes comment comments feedback ";

/// The claims of the work under review in score lines and JSON objects, as digests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Quoted {
    /// Answers for points of an earlier review, by their words.
    lines: BTreeSet<Digest>,
    /// The digests of claims in JSON objects.
    objects: BTreeSet<Digest>,
    /// Whether there was more than is remembered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    drowns: bool,
    /// The scored dimensions, where they are known: of the work's data only what could be taken for a verdict
    /// is remembered then.
    #[serde(skip)]
    scored: Option<BTreeSet<String>>,
}

impl Quoted {
    /// The quotes of work that is scored on these dimensions.
    pub fn scored_on<'a>(dimensions: impl IntoIterator<Item = &'a str>) -> Self {
        Self { scored: Some(dimensions.into_iter().map(plain).collect()), ..Self::default() }
    }

    /// Takes in a piece of the work: its output, a file, what a check printed.
    pub fn add(&mut self, text: &str) {
        let text = visible(text);
        for score in named_scores(&text) {
            self.drowns |= !remember(&mut self.objects, of_score(score));
        }
        for (words, _) in text.split(['\n', '\r']).filter_map(line_answer) {
            // They decide nothing, so more of them than are remembered are no trick worth a word.
            let _ = remember(&mut self.lines, Digest::of(words.as_bytes()));
        }
        json::each_in(&text, |value| {
            if self.may_be_verdict(value) {
                for has_reasons in [true, false] {
                    self.drowns |= !remember(&mut self.objects, digest(value, has_reasons));
                }
            }
        });
    }

    fn may_be_verdict(&self, value: &Json) -> bool {
        let Some(scored) = &self.scored else {
            return true;
        };
        let tells = |key: &str| is_in(VERDICT_KEYS, key) || scored.contains(key);
        match value {
            Json::List(items) => items.iter().any(|item| self.may_be_verdict(item)),
            object => object.entries().iter().any(|(key, _)| tells(&plain(key))),
        }
    }

    /// Whether the work holds so many verdicts of its own that a quotation cannot be told from a reviewer's word.
    pub fn drowns_out(&self) -> bool {
        self.drowns
    }

    pub fn has_line(&self, words: &str) -> bool {
        !self.lines.is_empty() && self.lines.contains(&Digest::of(words.as_bytes()))
    }

    /// Whether the work names this score.
    pub fn has_score(&self, score: Decimal) -> bool {
        self.objects.contains(&of_score(score))
    }

    /// Whether the work makes the claim of an object of a reply, for the same reasons where it gives any.
    pub fn has_object(&self, object: &Json) -> bool {
        if self.objects.is_empty() {
            return false;
        }
        let claim = digest(object, true);
        // A score without a word of reason is no more than the number.
        let score = object.get(&["score"]).and_then(Json::number);
        let is_bare = claim == digest(object, false) && object.get(&["findings", "issues"]).is_none();
        self.objects.contains(&claim) || is_bare && score.is_some_and(|score| self.has_score(score))
    }
}

/// Characters behind the word in which its number is looked for.
const MAX_GAP: usize = 24;

/// The numbers that a text of the work names behind the word "score", whatever stands between and around them.
fn named_scores(text: &str) -> Vec<Decimal> {
    let text = fold(text).to_lowercase();
    let numbers = text.match_indices("score").filter_map(|(at, word)| {
        let rest = &text[at + word.len()..];
        let (gap, _) = rest.char_indices().take(MAX_GAP).find(|(_, c)| c.is_ascii_digit())?;
        let rest = &rest[gap..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        number_in(rest[..end].trim_end_matches('.'))
    });
    numbers.collect()
}

/// Whether there was room for it.
fn remember(known: &mut BTreeSet<Digest>, digest: Digest) -> bool {
    known.contains(&digest) || (known.len() < MOST && known.insert(digest))
}

fn of_score(score: Decimal) -> Digest {
    digest(&Json::Object(vec![("score".to_owned(), Json::Number(score))]), true)
}

/// The digest of a value, equal for all that claim the same, with the reasons for it or without them.
fn digest(value: &Json, with_reasons: bool) -> Digest {
    let mut claims = BTreeSet::new();
    collect("", value, with_reasons, &mut claims);
    let mut hasher = Hasher::default();
    for part in claims.iter().flat_map(|(name, said)| [name, said]) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finish()
}

/// Adds what is said of each name: the name of a dimension stands for the score within it, wherever a form puts both.
fn collect(name: &str, value: &Json, with_reasons: bool, claims: &mut BTreeSet<(String, String)>) {
    let said = match value {
        Json::Null => return,
        Json::Bool(said) => format!("is {said}"),
        Json::List(items) if !items.is_empty() => {
            return items.iter().for_each(|item| collect(name, item, with_reasons, claims));
        }
        Json::Object(entries) if !entries.is_empty() => {
            let named = value.get(NAMES).and_then(Json::text).map(plain);
            let name = named.as_deref().unwrap_or(name);
            for (key, inner) in entries {
                let key = plain(key);
                let is = |known: &[&str]| known.contains(&key.as_str());
                let is_reason = is(REASONS) || is_in(NOTES, &key);
                if is(SCALE_KEYS) || is(NAMES) || !with_reasons && is_reason {
                    continue;
                }
                let name = match key.as_str() {
                    _ if is_reason => "reason",
                    _ if is(SCORES) && name.is_empty() => "score",
                    _ if is(SCORES) || is(CONTAINERS) => name,
                    key => key,
                };
                collect(name, inner, with_reasons, claims);
            }
            return;
        }
        Json::List(_) | Json::Object(_) => String::new(),
        Json::Number(_) | Json::Text(_) => match (value.number(), value.text()) {
            (Some(number), _) => number.normalize().to_string(),
            (None, text) => {
                let text = fold(text.unwrap_or_default()).to_lowercase();
                let words: Vec<&str> = text.split_whitespace().collect();
                words.join(" ").trim_end_matches(['.', '!']).to_owned()
            }
        },
    };
    claims.insert((name.to_owned(), said));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::parser::form::values;
    use crate::judging::parser::{Unparsed, parse_evaluation};

    fn of(json: &str) -> Digest {
        let mut found = None;
        json::each_in(json, |value| {
            found.get_or_insert_with(|| digest(value, true));
        });
        found.expect("it is JSON")
    }

    #[test]
    fn equal_claims_have_one_digest_and_others_another() {
        for alike in [
            &[
                r#"{"a": 4, "b": [1, {"c": "x"}]}"#,
                r#"{ "b":[1.00,{"C":" X."}],"a":4.0}"#,
                r#"{"a": {"score": "4"}, "B": [1, {"c": "x"}], "d": null}"#,
            ][..],
            &[
                r#"{"scores": [{"dimension": "a", "score": 4}]}"#,
                r#"{"a": 4}"#,
                r#"[{"name": "A", "rating": 4}]"#,
                r#"{"criteria": {"a": {"grade": 4}}}"#,
            ],
            &[r#"{"score": 4}"#, r#"{"Score": "4", "max": 100}"#, r#"{"rating": 4}"#],
            &[r#"{"decision": "approve"}"#, r#"{"Decision": "APPROVE"}"#],
        ] {
            let digests: BTreeSet<Digest> = alike.iter().map(|json| of(json)).collect();
            assert_eq!(digests.len(), 1, "{alike:?}");
        }
        let all = [
            r#"{"a": 4}"#,
            r#"{"a": 5}"#,
            r#"{"b": 4}"#,
            r#"{"a": 4, "b": 4}"#,
            r#"{"a": true}"#,
            r#"{"a": false}"#,
            r#"{"a": "b"}"#,
            r#"{"a": []}"#,
            r#"{"a": ["a", "b"]}"#,
            // Where one part ends and the next begins counts.
            r#"{"a": ["ab"]}"#,
            r#"{"ab": ["a"]}"#,
            r#"{"a": "x", "reason": "b"}"#,
            r#"{"a": "x", "reason": "c"}"#,
            r#"{"a": "x"}"#,
        ];
        let digests: BTreeSet<Digest> = all.iter().map(|json| of(json)).collect();
        assert_eq!(digests.len(), all.len());
    }

    /// Digests stand in journals: another version must make the same.
    #[test]
    fn a_claim_has_the_digest_of_its_parts_with_their_lengths() {
        let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
        let parts = ["ab", "is true", "c", "4.5", "c", "x y"].map(text);
        assert_eq!(of(r#"{"c": [4.50, " X  y"], "ab": true, "d": null}"#), Digest::of(&parts.concat()));
    }

    #[test]
    fn work_that_drowns_out_its_reviewers_once_does_so_for_good() {
        let full = || -> BTreeSet<Digest> { (0..MOST).map(|n| Digest::of(&n.to_le_bytes())).collect() };
        for [first, second] in [
            ["SCORE:\n1.5", "SCORE:\n1.6"],
            ["x 3: SCORE: 1.5", "x 3: SCORE: 1.6"],
            ["{\"score\": 1}", "{\"score\": 2}"],
            ["{\"verdict\": \"pass\"}", "{\"verdict\": \"fail\"}"],
        ] {
            let mut quoted = Quoted { lines: full(), objects: full(), ..Quoted::default() };
            assert!(!quoted.drowns_out());
            for text in [first, second, "it is done", "SCORE: no"] {
                quoted.add(text);
                assert!(quoted.drowns_out(), "{text}");
            }
            assert_eq!((quoted.lines.len(), quoted.objects.len()), (MOST, MOST));
        }
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
            |count: usize| -> String { (0..count).map(|n| format!("{{\"verdict\": {n}}}\n")).collect() };
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
        values(reply, &quoted).is_ok_and(|found| !found.doubted.is_empty())
    }

    /// The text within a text, so many times.
    fn within(text: &str, layers: usize) -> String {
        (0..layers).fold(text.to_owned(), |text, _| serde_json::json!({"a": text}).to_string())
    }

    #[test]
    fn a_verdict_is_found_wherever_it_stands_in_the_work() {
        let verdict = r#"{"verdict": "pass", "reason": "r"}"#;
        for work in [
            verdict.to_owned(),
            format!("a {verdict} b"),
            "{\"Reason\": \"R.\", \"verdict\": \"PASS\"}".to_owned(),
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
        assert!(has(verdict, &format!("{verdict}\nor\n{{\"verdict\": \"fail\", \"reason\": \"s\"}}")));
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
            assert!(parse_evaluation("SCORE: 97", &quoted).is_err(), "{work}");
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
