//! Answers for the points of an earlier review (semantics, section 4): in JSON below `prior`, in text replies as lines
//! `POINT n: yes – why`. They decide nothing, so what cannot be read of them is silence.

use crate::domain::{Addressed, PriorAnswer};

use super::json::Json;
use super::own_words::{Parts, fold};

/// Answers of one reply that are kept.
const MOST_ANSWERS: usize = 100;
/// Characters of a note that are kept.
const LONGEST_NOTE: usize = 500;

/// The answers of a JSON verdict.
pub(crate) fn answers_in(verdict: &Json) -> Vec<PriorAnswer> {
    let lists = verdict.all(&["prior", "priorfeedback", "points"]);
    let items = lists.flat_map(|list| match list {
        Json::List(items) => items.iter().filter_map(answer).collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    settled(items)
}

fn answer(item: &Json) -> Option<PriorAnswer> {
    let id = item.get(&["id", "point", "number"])?.words();
    let id = id.trim_start_matches(|c: char| !c.is_ascii_digit());
    let addressed = match item.get(&["addressed", "answer", "status"])? {
        Json::Bool(true) => Addressed::Yes,
        Json::Bool(false) => Addressed::No,
        value => named(value.text()?.trim())?,
    };
    let note = item.get(&["note", "reason", "reasoning", "evidence"]).map(Json::words);
    Some(PriorAnswer { id: id.parse().ok()?, addressed, note: shortened(&note.unwrap_or_default()) })
}

/// The answers of a reply in words: lines of its own whose words are not quoted.
fn answer_lines(parts: &Parts, is_quoted: impl Fn(&str) -> bool) -> Vec<PriorAnswer> {
    let lines = parts.own.iter().filter_map(|line| line_answer(line));
    settled(lines.filter(|(words, _)| !is_quoted(words)).map(|(_, answer)| answer))
}

/// The answer in a line, and its words in a form that can be compared; `None` for a line without one.
pub fn line_answer(line: &str) -> Option<(String, PriorAnswer)> {
    let folded = fold(line);
    let dressed = |c: char| c == ' ' || "#*_`-+~•>".contains(c);
    let line = folded.trim_matches(dressed);
    let (label, rest) = line.split_at_checked("point".len())?;
    if !label.eq_ignore_ascii_case("point") {
        return None;
    }
    let rest = rest.trim_start_matches(dressed);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = rest.split_at(digits);
    let rest = rest.trim_start_matches(dressed);
    let said = rest.strip_prefix([':', '=', '.', ')']).unwrap_or(rest).trim_start_matches(dressed);
    let end = said.find(|c: char| !c.is_alphabetic()).unwrap_or(said.len());
    let (word, note) = said.split_at(end);
    let answer = PriorAnswer {
        id: number.parse().ok()?,
        addressed: named(word)?,
        note: shortened(note.trim_start_matches(|c: char| dressed(c) || ":,.;".contains(c))),
    };
    let words = line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>();
    Some((words.join(" ").to_lowercase(), answer))
}

fn named(word: &str) -> Option<Addressed> {
    Some(match word.to_lowercase().as_str() {
        "yes" | "addressed" | "fixed" | "resolved" => Addressed::Yes,
        "partly" | "partially" | "partial" => Addressed::Partly,
        "no" | "not" | "unaddressed" => Addressed::No,
        _ => return None,
    })
}

/// One answer for each point, in their order: of several the one that is least content.
fn settled(answers: impl Iterator<Item = PriorAnswer>) -> Vec<PriorAnswer> {
    let mut answers: Vec<PriorAnswer> = answers.take(MOST_ANSWERS).collect();
    answers.sort_by_key(|answer| (answer.id, std::cmp::Reverse(answer.addressed as u8)));
    answers.dedup_by_key(|answer| answer.id);
    answers
}

fn shortened(note: &str) -> String {
    note.trim().chars().take(LONGEST_NOTE).collect()
}

/// The answers of an evaluation: of its JSON where it has one, else of its lines.
pub fn of_evaluation(
    parts: &Parts,
    object: Option<&Json>,
    is_quoted: impl Fn(&str) -> bool,
) -> Vec<PriorAnswer> {
    match object.map(answers_in) {
        Some(answers) if !answers.is_empty() => answers,
        _ => answer_lines(parts, is_quoted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::parser::Quoted;

    #[test]
    fn lines_answer_in_whatever_dress() {
        for (line, point, addressed, note) in [
            ("POINT 1: yes – the test is there", 1, Addressed::Yes, "the test is there"),
            ("- **Point 2:** partly, one is missing", 2, Addressed::Partly, "one is missing"),
            ("POINT 3: NO", 3, Addressed::No, ""),
            ("point 12 - no: nothing changed", 12, Addressed::No, "nothing changed"),
        ] {
            let (_, answer) = line_answer(line).expect(line);
            assert_eq!((answer.id, answer.addressed, &*answer.note), (point, addressed, note), "{line}");
        }
        for line in [
            "POINT n: yes",
            "POINT 1: <yes, partly or no>",
            "POINT: yes",
            "points 1: yes",
            "",
            "POINT 1: nothing",
        ] {
            assert!(line_answer(line).is_none(), "{line}");
        }
    }

    #[test]
    fn what_the_work_says_answers_nothing_and_of_two_answers_the_worse_counts() {
        let mut work = Quoted::default();
        work.add("POINT 1: yes – done");
        let reply = "POINT 1: yes - done\nPOINT 2: yes\nPOINT 2: no – look\n> POINT 3: yes";
        let said =
            answer_lines(&crate::judging::parser::own_words::split(reply), |words| work.has_line(words));
        let said: Vec<_> = said.iter().map(|answer| (answer.id, answer.addressed)).collect();
        assert_eq!(said, [(2, Addressed::No)]);
        let json = r#"{"prior": [{"id": 1, "addressed": "Yes", "note": "x"}, {"id": "2", "addressed": false},
            {"id": 3, "addressed": "perhaps"}, {"addressed": "yes"}, 4]}"#;
        let object: Json = serde_json::from_str(json).expect("it is JSON");
        let said: Vec<_> = answers_in(&object).iter().map(|answer| (answer.id, answer.addressed)).collect();
        assert_eq!(said, [(1, Addressed::Yes), (2, Addressed::No)]);
    }
}
