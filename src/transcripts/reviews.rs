//! How work is judged: panels, evaluations, criteria, rubrics; and who has the last word.

use super::driver::{Run, Says};

/// `w` works; `i`, `j` and `k` may review, `p` is a person.
fn mission(settings: &str, tasks: &str) -> String {
    format!(
        "name: m
agents:
  w: {{run: [/bin/true]}}
  i: {{run: [/bin/true], role: reviewer}}
  j: {{run: [/bin/true], role: reviewer}}
  k: {{run: [/bin/true], role: qa}}
  p: {{adapter: human}}
settings: {{maxFixAttempts: 1, maxRetries: 1{settings}}}
tasks:
{tasks}"
    )
}

const PANEL: &str = "  - {title: a, assignTo: w, expectations: [{type: llm_review, criteria: c}]}";

/// `i`, `j` and `k` give these scores, one after the other.
fn scored(run: Run, task: &str, points: [u8; 3]) -> Run {
    let seats = ["i", "j", "k"].into_iter().zip(points);
    seats.fold(run, |run, (who, points)| run.reviewer_says(task, who, points))
}

fn all_down(run: Run, class: &str) -> Run {
    ["i", "j", "k"].into_iter().fold(run, |run, who| run.reviewer_is_down("a", who, class))
}

#[test]
fn a_panel_asks_again_what_it_cannot_read_or_reach() {
    let run = Run::of(&mission("", PANEL))
        .reviewer_is_unreadable("a", "i")
        .reviewer_is_down("a", "j", "rate_limited")
        .reviewer_is_down("a", "k", "provider_auth")
        .reviewer_is_unreadable("a", "i")
        .reviewer_says("a", "j", 40);
    let yaml = "name: m
agents: {w: {run: [/bin/true]}, j: {run: [/bin/true], role: reviewer, fallback: [k]}, k: {run: [/bin/true]}}
tasks: [{title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [j]}]}]";
    let down = || Run::of(yaml).reviewer_is_down("a", "j", "provider_auth");
    transcript!(scored(run, "a", [70, 40, 80]).text_and(vec![
        ("another one stands in", down()),
        ("and is down as well", down().reviewer_is_down("a", "k", "provider_auth")),
    ]));
}

#[test]
fn a_panel_that_cannot_be_reached_leaves_it_to_a_person_and_costs_no_attempt() {
    let down = |run| all_down(all_down(run, "provider_auth"), "provider_auth");
    let start = || Run::of(&mission(", maxAssessmentRetries: 1", PANEL));
    let run = down(down(start()).told_elsewhere().crash_and_resume()).person("approve a");
    let called_off =
        all_down(start(), "provider_auth").while_out("reviewer a i").person("cancel").person("cancel");
    transcript!(run.text_and(vec![
        ("a person sends it back", down(start()).person("reject a")),
        ("called off meanwhile", called_off),
        ("too late for the answer before", down(down(start()).person("reject a")).person("approve a#1")),
    ]));
}

#[test]
fn criteria_are_graded_and_what_cannot_be_told_is_put_to_a_person() {
    let task = "  - {title: a, assignTo: w, acceptance: [c, d], verification: {grader: heuristic}}";
    let run = Run::of(&mission(", maxAttempts: 5", task))
        .grader_says("a", 20)
        .grader_fails("a")
        .grader_is_unsure("a")
        .person("reject a");
    let unreviewed = task.replace("heuristic}", "heuristic}, review: none");
    let unreviewed = Run::of(&mission("", &unreviewed)).grader_is_unsure("a").person("approve a");
    transcript!(run.text_and(vec![("nobody reviewed it", unreviewed)]));
}

fn graded(settings: &str, verification: &str) -> Run {
    Run::of(&format!(
        "name: m
agents:
  w: {{run: [/bin/true]}}
  j: {{run: [/bin/true], role: reviewer}}
settings: {{maxFixAttempts: 1, maxRetries: 0{settings}}}
rubrics: {{r: {{criteria: [{{name: runs, weight: 0.6, grade: binary, required: true}}, {{name: reads, weight: 0.4}}]}}}}
tasks:
  - {{title: a, assignTo: w, review: none, verification: {{rubric: r{verification}}}}}"
    ))
}

fn grades(run: Run, points: &'static [u8], verdict: &'static str, sure: u8) -> Run {
    run.agent_says("a", "grade", &Says::Grades(points, verdict, sure))
}

#[test]
fn grades_by_a_rubric_decide_and_doubts_or_silence_are_none() {
    let doubts = |key| grades(graded("", key), &[100, 100], "pass", 30);
    let silent = || graded("", "").agent_is_unreadable("a", "grade");
    let stricter = grades(graded("", ""), &[100, 100], "fail", 90);
    let alone = "name: m
agents: {w: {run: [/bin/true]}}
tasks: [{title: a, assignTo: w, review: none, verification: {rubric: default-task}}]";
    let run = grades(graded("", ""), &[0, 100], "pass", 90);
    transcript!(run.agent_is_unreadable("a", "grade").agent_is_unreadable("a", "grade").text_and(vec![
        ("good", grades(graded("", ""), &[100, 70], "pass", 90)),
        ("the declared verdict is stricter", grades(stricter, &[100, 100], "fail", 90)),
        ("unreadable once", grades(silent(), &[100, 100], "pass", 90)),
        ("unreachable", graded("", "").agent_is_down("a", "grade", "provider_auth")),
        ("about something else", graded("", "").agent_says("a", "grade", &Says::No)),
        ("doubts are put to a person", doubts("")),
        ("doubts are reworked", grades(doubts(", onRefer: rework"), &[100, 100], "pass", 30)),
        ("doubts pass", doubts(", onRefer: pass")),
        ("nobody may", Run::of(alone)),
        ("nobody is asked", graded(", evaluate: false", "")),
    ]));
}

/// A task that a panel with these keys reviews.
fn reviewed(title: &str, keys: &str) -> String {
    format!("  - {{title: {title}, assignTo: w, expectations: [{{type: llm_review, criteria: c{keys}}}]}}\n")
}

#[test]
fn a_panel_that_is_unsure_or_beside_people_leaves_the_last_word_to_a_person() {
    let tasks = [
        reviewed("near", ", referBelow: 2"),
        reviewed("beside", ", reviewers: [i, j, k, p]"),
        "  - {title: spent, assignTo: w, onExhausted: refer, maxAttempts: 1}\n".to_owned(),
    ];
    let run = scored(Run::with("--jobs 1", &mission("", &tasks.concat())), "near", [65, 65, 65]);
    let run = scored(run, "beside", [90, 90, 20])
        .reviewer_says("spent", "i", 40)
        .person("approve near")
        .person("approve beside")
        .person("reject spent");
    let of = |task: &str| Run::of(&mission("", task));
    let beside = |reviewers: &str| of(&reviewed("a", &format!(", reviewers: [{reviewers}]")));
    let two = |points| {
        let run = of(&reviewed("a", ", referBelow: 2, reviewers: [i, p, j]"));
        run.reviewer_says("a", "i", points).reviewer_says("a", "j", points)
    };
    let criteria = "  - {title: a, assignTo: w, onExhausted: refer, maxAttempts: 1, acceptance: [c], verification: {grader: heuristic}}";
    // And where nobody may review, that is said.
    let nobody = "name: m
agents: {w: {run: [/bin/true]}}
tasks: [{title: a, expectations: [{type: llm_review, criteria: c}]}, {title: b, review: required}]";
    transcript!(run.text_and(vec![
        ("far apart", scored(of(&reviewed("a", ", referBelow: 2")), "a", [100, 80, 60])),
        ("sure", scored(of(&reviewed("a", ", referBelow: 2")), "a", [90, 90, 90])),
        ("near, and a person is asked anyway", two(65)),
        ("below the bar, and a person is asked anyway", two(55)),
        ("people alone", beside("p").person("approve a")),
        ("no, and yes", beside("j, p, k").person("reject a").person("approve a")),
        (
            "a single reviewer",
            beside("i, j, p").reviewer_says("a", "i", 90).reviewer_is_down("a", "j", "provider_auth"),
        ),
        ("what was not mended is accepted", of(criteria).reviewer_says("a", "i", 40).person("approve a")),
        ("nobody may review", Run::of(nobody)),
    ]));
}

#[test]
fn an_adaptive_panel_asks_its_third_seat_only_if_that_could_change_the_verdict() {
    let task = "  - {title: a, assignTo: w, maxAttempts: 1, expectations: [{type: llm_review, criteria: c, panel: adaptive}]}\n";
    let gate = "  - {title: b, assignTo: w, review: none}\nqualityGates: [{name: g, afterTasks: [a], blocksTasks: [b], minScore: 4}]\n";
    let plain = mission("", task);
    let seats = |yaml: &str, points: [u8; 2]| {
        let run = Run::of(yaml).reviewer_says("a", "i", points[0]).reviewer_says("a", "j", points[1]);
        run.in_short().matches("reviewer a").count()
    };
    assert_eq!(seats(&plain, [90, 80]), 2, "whatever the third says");
    assert_eq!(seats(&plain, [30, 40]), 2);
    assert_eq!(seats(&plain, [30, 90]), 3);
    for used_elsewhere in [
        mission("", &format!("{task}{gate}")),
        mission("", &format!("{task}qualityThreshold: 2\n")),
        mission("", &task.replace("adaptive", "adaptive, referBelow: 0.01")),
        mission("", &task.replace(", panel: adaptive", "")),
    ] {
        assert_eq!(seats(&used_elsewhere, [90, 80]), 3, "{used_elsewhere}");
    }
    // A gate that asks for no score uses none.
    let gate = gate.replace(", minScore: 4", "");
    assert_eq!(seats(&mission("", &format!("{task}{gate}")), [90, 80]), 2);
    // A seat that could not be reached leaves the others to say it.
    let down = Run::of(&plain).reviewer_says("a", "i", 90).reviewer_is_down("a", "j", "provider_auth");
    assert_eq!(down.in_short().matches("reviewer a").count(), 3);
}

#[test]
fn an_evaluation_is_read_reworked_and_accepted_below_the_bar() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}, j: {run: [/bin/true], role: reviewer}}
channels: {ops: {type: file, path: f}}
qualityThreshold: 4
settings: {maxFixAttempts: 1, maxRetries: 1, defaultChannels: [ops]}
tasks: [{title: a, assignTo: w}]";
    let run = Run::of(yaml)
        .reviewer_is_unreadable("a", "j")
        .reviewer_is_unreadable("a", "j")
        .reviewer_says("a", "j", 40)
        .delivery_fails("ops", "provider_transient")
        .delivery_fails("ops", "provider_transient")
        .delivery_fails("ops", "provider_transient")
        .crash_and_resume();
    let redone = Run::of(yaml).reviewer_says("a", "j", 70).person("redo a").crash_and_resume();
    transcript!(run.text_and(vec![
        ("redone, it is good enough", redone),
        ("at the bar", Run::of(yaml).reviewer_says("a", "j", 60)),
    ]));
}

#[test]
fn a_row_of_rejections_switches_its_judge_off_until_a_person_has_work_redone() {
    let yaml = |second: &str| {
        let tasks = format!(
            "  - {{title: a, assignTo: w}}
  - {{title: b, assignTo: w{second}}}
  - {{title: c, assignTo: w}}
  - {{title: d, assignTo: w}}
  - {{title: e, assignTo: w, review: none}}"
        );
        mission(", judgeBreaker: 2, maxAttempts: 1", &tasks)
    };
    let first = |second: &str| Run::with("--jobs 1", &yaml(second)).reviewer_says("a", "i", 40);
    let named = |reviewers: &str| {
        first(&format!(", expectations: [{{type: llm_review, criteria: c, reviewers: [{reviewers}]}}]"))
    };
    let broken = || first("").reviewer_says("b", "i", 40);
    let rows = [
        broken(),
        broken().person("redo a").crash_and_resume(),
        // What reviewers let pass and put before a person ends the row; people who were asked alone have said nothing.
        named("i, p").reviewer_says("b", "i", 90).reviewer_says("c", "i", 40),
        named("p").reviewer_says("c", "i", 40),
    ];
    transcript!(rows.map(Run::in_short).join("\n"));
}
