mod evaluation;
mod kinds;
mod panel;
mod work_that_gives_itself_a_score;

use super::score_line::MAX_TRAILER;
use super::*;
use proptest::prelude::*;

/// Of work that says nothing of scores.
fn parse_evaluation(reply: &str) -> Result<ParsedEvaluation, Unparsed> {
    super::parse_evaluation(reply, &Quoted::default())
}

/// The same.
fn parse_scores(reply: &str, dimensions: &[Dimension]) -> Result<ParsedPanel, Unparsed> {
    super::parse_scores(reply, dimensions, &Quoted::default())
}

fn quoted(work: &[&str]) -> Quoted {
    let mut quoted = Quoted::default();
    work.iter().for_each(|text| quoted.add(text));
    quoted
}

fn dec(text: &str) -> Decimal {
    text.parse().unwrap()
}

/// The points that an evaluation's reply is read as.
fn points(reply: &str) -> Option<String> {
    parse_evaluation(reply).ok().map(|read| read.points.to_string())
}

/// Replies made of the pieces that the grammar knows, which random text would never hit.
fn reply() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("SCORE"),
        Just("score"),
        Just(":"),
        Just(" "),
        Just("\n"),
        Just("**"),
        Just("`"),
        Just("```"),
        Just("```json"),
        Just("\""),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just("."),
        Just("/"),
        Just("-"),
        Just("<"),
        Just(">"),
        Just("(0-100)"),
        Just("("),
        Just(")"),
        Just("72"),
        Just("100"),
        Just("5"),
        Just("1e9"),
        Just("out of"),
        Just("\"score\":"),
        Just("\"a\":"),
        Just("\"dimension\":\"a\""),
        Just("<untrusted>"),
        Just("</untrusted>"),
        Just("<think>"),
        Just("</think>"),
        Just("[THINK]"),
        Just("<|channel|>"),
        Just("final"),
        Just("\u{1b}["),
        Just("\u{8}"),
        Just("\"pass\":false"),
        Just("Verdict: FAIL"),
        Just("stars"),
        Just("：7"),
        Just("rating"),
        Just("of"),
        Just("é"),
        Just("\u{2028}"),
        Just("\\"),
        Just("Rating"),
        Just("give"),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn check_invariants(reply: &str) -> Result<(), TestCaseError> {
    if let Ok(read) = parse_evaluation(reply) {
        prop_assert!(Scale::POINTS.contains(read.points.value()));
        prop_assert!(reply.contains(char::is_numeric), "a score out of nothing: {reply:?}");
    }
    if let Ok(value) = parse_rating(reply, &Scale::SCORE) {
        prop_assert!(Scale::SCORE.contains(value));
    }
    let dimension =
        Dimension { name: "a".to_owned(), weight: Decimal::ONE, description: None, rubric: Vec::new() };
    if let Ok(read) = parse_scores(reply, &[dimension]) {
        prop_assert_eq!(read.scores.len(), 1);
        let points = read.scores[0].points;
        // From 1 to 5, or a number alone from 0 to 100 that cannot be meant from 1 to 5.
        prop_assert!(Scale::SCORE.contains(points.score()) || points > Points::whole(5));
        prop_assert!(Scale::POINTS.contains(points.value()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_survived_and_any_result_is_on_the_scale(text in any::<String>(), built in reply()) {
        check_invariants(&text)?;
        check_invariants(&built)?;
    }

    #[test]
    fn a_plain_score_line_is_always_read(points in 0u8..=100, prose in "[a-z ]{0,40}") {
        let text = format!("{prose}\nSCORE: {points}\n");
        prop_assert_eq!(super::tests::points(&text), Some(points.to_string()));
    }

    #[test]
    fn two_different_score_lines_are_never_read(first in 0u8..=100, second in 0u8..=100) {
        prop_assume!(first != second);
        let text = format!("SCORE: {first}\nand\nSCORE: {second}");
        prop_assert_eq!(super::tests::points(&text), None);
    }
}

/// Work grows with the reply's length and not with its square: these are the worst that the parts of the grammar can
/// meet. With quadratic work anywhere the test runs for minutes.
#[test]
fn long_replies_take_no_time() {
    let dimension =
        Dimension { name: "a".to_owned(), weight: Decimal::ONE, description: None, rubric: Vec::new() };
    for piece in [
        "{",
        "[{",
        "{\"a\":",
        "{\"a\":[",
        "{\"a\":\"",
        "{\"a\":1}",
        "{\"a\":{\"score\":1},",
        "```\n",
        "```",
        "> x\n",
        "SCORE: 1. ",
        "; score(",
        ". final ",
        "SCORE:\n\n",
        "SCORE: 1 (",
        "<untrusted>\n",
        "1/5 ",
        "score of ",
        "give it a ",
        "1",
        "[[",
        "the ",
        "\u{ff10}",
        "- ",
        "<think>",
        "<think",
        "`<think>`",
        "</think>\n",
        "<|channel|>final<|",
        "<|",
        "\u{1b}[1",
        "\u{1b}]",
        "\u{8}",
        "a\u{8}",
        "Verdict: PASS\n",
        "[",
        "\n",
    ] {
        // A megabyte, and what a build without optimisation reads in the same time.
        let size = if cfg!(debug_assertions) { 1 << 18 } else { 1 << 20 };
        let reply = piece.repeat(size / piece.len());
        let _ = parse_evaluation(&reply);
        let _ = parse_rating(&reply, &Scale::SCORE);
        let _ = parse_scores(&reply, std::slice::from_ref(&dimension));
    }
}

#[test]
fn a_scale_goes_up_from_nothing_or_more() {
    let scale = |low: i64, high: i64| Scale::new(Decimal::from(low), Decimal::from(high)).is_some();
    assert!(scale(0, 1) && scale(1, 5));
    assert!(!scale(1, 1) && !scale(2, 1) && !scale(-1, 1));
}
