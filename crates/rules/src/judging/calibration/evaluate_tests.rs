//! Tests of the evaluation of judges and panels.

use super::*;
use crate::judging::calibration::Collector;

/// Three judges, of whom one cannot be read at first; people agree with the others.
fn set() -> LabelSet {
    let mut collector = Collector::default();
    for index in 0..40 {
        let human = 1 + index % 5;
        let harsh = (human - 1).max(1);
        let odd = if index == 0 { "no idea".to_owned() } else { format!("Score: {}", 6 - human) };
        let row = format!(
            r#"{{"group":"{}","dims":["d"],"scale":[1,5],"human":{{"mean":[{human}]}},"raw_replies":[
            {{"judge":"fair","texts":["Score: {human}"]}},{{"judge":"harsh","texts":["Score: {harsh}"]}},
            {{"judge":"odd","texts":["{odd}"]}}]}}"#,
            index / 2
        );
        collector.push(&row.replace('\n', "")).unwrap();
    }
    collector.finish().remove(0)
}

#[test]
fn judges_and_panels_are_measured_and_the_fewest_good_seats_suggested() {
    let set = set();
    let settings = EvaluationSettings { bar: Points::whole(60), rounds: 50, seed: 1 };
    let mut told = 0;
    let evaluation = evaluate(&set, &[], &settings, || told += 1);
    assert_eq!((told, steps(&set, &[])), (4, 4));
    let [fair, harsh, odd, panel] = evaluation.entries.as_slice() else { panic!("{:?}", evaluation.entries) };
    let value = |estimate: Option<crate::judging::calibration::Estimate>| estimate.unwrap().value;
    assert!((value(fair.measures.spearman) - 1.0).abs() < 1e-9);
    assert!((value(fair.measures.accuracy) - 1.0).abs() < 1e-9);
    assert!((value(harsh.measures.mae) - 0.8).abs() < 1e-9, "{:?}", harsh.measures);
    assert!(value(odd.measures.spearman) < -0.8);
    // What could not be read counts as the lowest score: 6 − 2 × human is wrong by 2.4, but for that one by 0.
    assert!((value(odd.measures.mae) - 2.3).abs() < 1e-9);
    assert!((value(panel.measures.mae) - 0.4).abs() < 1e-9);
    assert_eq!((odd.replies.read, odd.replies.unread), (39, 1));
    assert!(value(fair.dimensions[0].unwrap().spearman) > 0.99);
    assert_eq!(value(fair.dimensions[0].unwrap().accuracy), 1.0);
    let skips = panel.skips.unwrap();
    // The item that one judge has no score for has no third seat to skip.
    assert_eq!((skips.in_order.panels, skips.in_any_order.panels), (39, 39 * 3));
    assert_eq!(skips.in_any_order.changed, 0);
    // All but those eight on which the first two stand on both sides of the bar.
    assert_eq!(skips.in_order.skipped, 31);
    assert_eq!(evaluation.suggestion.unwrap().candidate, 0);
    assert_eq!(evaluate(&set, &[vec![0, 1]], &settings, || ()).entries.len(), 3 + RULES.len());
}

#[test]
fn what_was_read_recorded_or_neither_is_counted() {
    let mut collector = Collector::default();
    collector
        .push(
            r#"{"dims":["d","e","f"],"scale":[1,5],"human":{"mean":[3,3,3]},"raw_replies":
            [{"judge":"j","texts":["4","?","?"],"scores":[null,2,null]}]}"#,
        )
        .unwrap();
    let replies = replies(&collector.finish()[0], &[0]);
    assert_eq!((replies.read, replies.recorded, replies.unread), (1, 1, 1));
}

#[test]
fn panels_are_tried_among_so_many_judges() {
    let set = |judges| LabelSet {
        name: String::new(),
        dimensions: Vec::new(),
        judges: vec![String::new(); judges],
        items: Vec::new(),
    };
    let n = MOST_JUDGES;
    assert_eq!(steps(&set(n), &[]), n + n * (n - 1) * (n - 2) / 6);
    assert_eq!(steps(&set(n + 1), &[]), n + 1);
}

#[test]
fn one_score_among_verdicts_is_enough_to_go_by_scores() {
    // The first judge has the order of the scores, the second tells good from bad.
    let row = |human: &str, first: u8, second: u8| {
        format!(
            r#"{{"dims":["d"],"scale":[0,100],"human":{{{human}}},"raw_replies":[{{"judge":"a","texts":["{first}"]}},
            {{"judge":"b","texts":["{second}"]}}]}}"#
        )
    };
    let suggested = |rows: &[String]| {
        let mut collector = Collector::default();
        for row in rows {
            collector.push(&row.replace('\n', " ")).unwrap();
        }
        let settings = EvaluationSettings { bar: Points::whole(60), rounds: 0, seed: 1 };
        let evaluation = evaluate(&collector.finish()[0], &[], &settings, || ());
        evaluation.suggestion.unwrap().candidate
    };
    let rows = [
        row(r#""pass":true"#, 100, 100),
        row(r#""mean":[90]"#, 90, 80),
        row(r#""mean":[60]"#, 40, 90),
        row(r#""mean":[40]"#, 60, 20),
        row(r#""mean":[20]"#, 20, 30),
    ];
    assert_eq!(suggested(&rows), 0);
    assert_eq!(suggested(&rows[1..]), 0, "as are scores alone");
}
