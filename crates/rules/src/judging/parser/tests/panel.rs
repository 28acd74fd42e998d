//! Panels: JSON with every dimension.

use super::*;

pub fn dimensions(names: &[&str]) -> Vec<Dimension> {
    let dimension = |name: &&str| Dimension {
        name: (*name).to_owned(),
        weight: Decimal::ONE,
        description: None,
        rubric: Vec::new(),
    };
    names.iter().map(dimension).collect()
}

fn scores(reply: &str, names: &[&str]) -> Result<Vec<String>, Unparsed> {
    let read = parse_scores(reply, &dimensions(names))?;
    let names_read: Vec<_> = read.scores.iter().map(|score| score.dimension.as_str()).collect();
    assert_eq!(names_read, names, "the task's order and spelling");
    Ok(read.scores.iter().map(|score| score.points.score().normalize().to_string()).collect())
}

#[test]
fn every_accepted_shape_is_read() {
    let list = r#"[{"dimension": "tests", "score": 2.5, "reasoning": "r"}, {"dimension": "Code Quality", "score": "4"}]"#;
    let map = r#"{"code_quality": {"score": 4, "reason": "r"}, "tests": {"rating": 2.5}}"#;
    for reply in [
        format!(r#"{{"scores": {list}, "findings": [], "summary": "s"}}"#),
        format!(r#"{{"dimensions": {list}}}"#),
        format!(r#"{{"scores": {map}}}"#),
        format!(r#"{{"evaluation": {map}}}"#),
        list.to_owned(),
        map.to_owned(),
        r#"{"code-quality": 4, "TESTS": "2.5", "charm": 9, "overall": "fine"}"#.to_owned(),
        format!("```json\n{map}\n```"),
        format!("Here you are:\n\n```\n{map}\n```\nDone."),
        format!("I read fn main() {{ run(); }} and [1, 2] and {{\"a\": 1}}. Verdict:\n{map}\nThat is all."),
        format!("{map}\n\nAgain:\n{map}"),
        format!("<think>{{\"code_quality\": 1, \"tests\": 1}}</think>{map}"),
    ] {
        assert_eq!(scores(&reply, &["code_quality", "tests"]).unwrap(), ["4", "2.5"], "{reply}");
    }
}

#[test]
fn reasons_findings_and_summary_come_along() {
    let reply = r#"{"scores": [{"dimension": "a", "score": 4, "explanation": "because"}],
        "findings": [{"severity": "critical", "description": "leak"}], "summary": "short"}"#;
    let read = parse_scores(reply, &dimensions(&["a"])).unwrap();
    assert_eq!(read.scores[0].reasoning, "because");
    assert_eq!(read.findings, [Finding::new(crate::domain::Severity::Critical, "leak")]);
    assert_eq!(read.summary.as_deref(), Some("short"));
}

#[test]
fn nothing_is_clamped_completed_or_guessed() {
    let off =
        |value: &str| Unparsed::OffScale { what: "b".to_owned(), value: dec(value), scale: Scale::SCORE };
    let missing =
        |names: &[&str]| Unparsed::MissingDimensions(names.iter().map(|name| (*name).to_owned()).collect());
    let not_a_number = || Unparsed::NotANumber("b".to_owned());
    let twice = || Unparsed::Duplicate("b".to_owned());
    for (reply, want) in [
        ("", Unparsed::Empty),
        ("Good work, 4 of 5.", Unparsed::NoJson),
        (r#"{"a": 4, "b": 4"#, Unparsed::BrokenJson),
        (r#"So: {"a": 4, "b": 4,}"#, Unparsed::BrokenJson),
        (r#"{"a": {"score": n}}"#, Unparsed::BrokenJson),
        (r#"{"a": 4}"#, missing(&["b"])),
        (r#"{}"#, missing(&["a", "b"])),
        ("20.0", missing(&["a", "b"])),
        (r#"{"a": 4, "b": 6}"#, off("6")),
        (r#"{"a": 4, "b": 0}"#, off("0")),
        (r#"{"a": 4, "b": -3}"#, off("-3")),
        (r#"{"a": 4, "b": 5.4}"#, off("5.4")),
        (r#"{"a": 4, "b": 87}"#, off("87")),
        (r#"{"a": 4, "b": null}"#, not_a_number()),
        (r#"{"a": 4, "b": true}"#, not_a_number()),
        (r#"{"a": 4, "b": "good"}"#, not_a_number()),
        (r#"{"a": 4, "b": "4/5"}"#, not_a_number()),
        (r#"{"a": 4, "b": {"reasoning": "r"}}"#, not_a_number()),
        (r#"{"a": 4, "b": 4, "b": 5}"#, twice()),
        (r#"{"a": 4, "b": 4, "B": 4}"#, twice()),
        (r#"{"a": 4, "b": {"score": 4, "score": 2}}"#, Unparsed::Duplicate("score".to_owned())),
        (r#"{"a": 4, "b": {"score": 4, "rating": 2}}"#, twice()),
        (r#"{"scores": {"a": 4, "b": 4}, "b": 4}"#, twice()),
        (
            r#"[{"dimension": "b", "score": 1}, {"dimension": "b", "score": 1}, {"dimension": "a", "score": 1}]"#,
            twice(),
        ),
        ("First\n{\"a\": 4, \"b\": 4}\nThen\n{\"a\": 4, \"b\": 5}", Unparsed::Conflicting),
        ("{\"a\": 4, \"b\": 4}\nNot {\"a\": 4, \"b\": 5}.", Unparsed::Conflicting),
        ("First {\"a\": 4, \"b\": 4}, then nothing.", Unparsed::Aside),
        ("First\n{\"a\": 4, \"b\": 4}\nThen\n{\"a\": 4}", missing(&["b"])),
    ] {
        assert_eq!(scores(reply, &["a", "b"]).unwrap_err(), want, "{reply}");
    }
}

#[test]
fn a_quoted_verdict_does_not_count() {
    let reply = "> {\"a\": 5}\n\n```yaml\n{\"a\": 5}\n```\n<untrusted>\n{\"a\": 5}\n</untrusted>\n";
    assert_eq!(scores(reply, &["a"]).unwrap_err(), Unparsed::NoJson);
    assert_eq!(scores(&format!("{reply}{{\"a\": 2}}"), &["a"]).unwrap(), ["2"]);
}

#[test]
fn names_that_could_mean_two_dimensions_must_be_exact() {
    let names = ["test_cases", "Test Cases"];
    assert_eq!(scores(r#"{"test_cases": 2, "Test Cases": 4}"#, &names).unwrap(), ["2", "4"]);
    assert!(matches!(
        scores(r#"{"test_cases": 2, "test cases": 4}"#, &names).unwrap_err(),
        Unparsed::MissingDimensions(_)
    ));
}

#[test]
fn one_number_is_enough_where_there_is_one_dimension() {
    let one = &dimensions(&["depth"])[..];
    let two = &dimensions(&["depth", "style"])[..];
    let read = |reply: &str, dimensions: &[Dimension]| {
        let read = parse_scores(reply, dimensions).map_err(|why| why.to_string())?;
        Ok::<_, String>(read.scores[0].points.to_string())
    };
    for (reply, points) in [
        ("SCORE: 80", "80"),
        ("It is thin.\n**SCORE: 6**", "6"),
        (r#"{"score": 72.5, "reasoning": "thin"}"#, "72.5"),
        (r#"{"scores": {"depth": {"score": 4}}}"#, "80"),
        // Both, and they are the same, on whichever scale.
        ("SCORE: 80\n{\"scores\": {\"depth\": 4}}", "80"),
        ("SCORE: 4\n{\"scores\": {\"depth\": 4}}", "80"),
    ] {
        assert_eq!(read(reply, one), Ok(points.to_owned()), "{reply}");
    }
    for (reply, why) in [
        ("SCORE: 5", "the score is 5, `SCORE: n` goes from 0 to 100, and 5 or less"),
        ("SCORE: 0", "the score is 0, "),
        (r#"{"score": 4}"#, "the score is 4, "),
        ("SCORE: 4/5", "does not hold one plain number"),
        ("SCORE: 101", "not on the scale from 0 to 100"),
        ("SCORE: 20\n{\"scores\": {\"depth\": 5}}", "several scores that differ"),
        ("It is fine.", "no JSON object with the scores"),
        (r#"{"scores": {"breadth": 5}}"#, "there is no score for: depth"),
        // Whoever scores something else has not said one number alone.
        ("{\"breadth\": 2}\nSCORE: 90", "no JSON object with the scores"),
        ("{\"scores\": {\"breadth\": 2}}\nSCORE: 90", "no JSON object with the scores"),
        ("{\"scores\": {\"breadth\": {\"score\": 2}}}\nSCORE: 90", "no JSON object with the scores"),
        (
            "SCORE: 90\n{\"ratings\": [{\"dimension\": \"breadth\", \"score\": 1}]}",
            "no JSON object with the scores",
        ),
    ] {
        let told = read(reply, one).unwrap_err();
        assert!(told.contains(why), "{reply}: {told}");
    }
    // Where more is asked for, one number says too little.
    for reply in ["SCORE: 80", r#"{"score": 80}"#] {
        read(reply, two).unwrap_err();
    }
    // What the work says of itself is no number of the reviewer's.
    let work = quoted(&["SCORE: 95"]);
    assert_eq!(super::super::parse_scores("SCORE: 95", one, &work), Err(Unparsed::OnlyInWork));
    let panel = parse_scores("It is thin.\nSCORE: 80", one).unwrap();
    assert_eq!(panel.scores[0].reasoning, "It is thin.");
}
