//! Verifications as nodes: which edge is taken, what leaves the run, what is done again.

use super::driver::Run;

/// `verify` looks at `write`; where a failure leads is told by `fail`.
fn mission(fail: &str, more: &str) -> String {
    format!(
        "name: m
agents: {{w: {{run: [/bin/true]}}}}
settings: {{evaluate: false, maxRetries: 0}}
tasks:
  - {{title: write}}
  - {{title: verify, type: verification, dependsOn: [write], acceptance: [good], verification: {{grader: heuristic}}, onPass: publish, onFail: {fail}, onRefer: ask, maxVisits: 3}}
  - {{title: publish}}
  - {{title: repair}}
  - {{title: ask}}
  - {{title: tell, dependsOn: [publish]}}
  - {{title: mourn, dependsOn: [repair, ask]}}
{more}"
    )
}

fn good(run: Run, task: &str) -> Run {
    run.grader_says(task, 90)
}

fn bad(run: Run, task: &str) -> Run {
    run.grader_says(task, 10)
}

#[test]
fn each_verdict_takes_its_edge_and_leaves_the_others_out() {
    let start = || Run::of(&mission("repair", ""));
    let redone = |run: Run| good(run.person("redo write").crash_and_resume(), "verify");
    let only = || Run::with("--only write --only verify", &mission("repair", ""));
    let holds = "qualityGates: [{name: g, afterTasks: [repair], blocksTasks: [tell]}]
checkpoints: [{name: h, afterTasks: [ask], blocksTasks: [tell]}]
delays: [{name: d, afterTasks: [repair, ask], blocksTasks: [tell], duration: 5s}]";
    let held = || Run::of(&mission("repair", holds));
    let left = bad(good(held(), "verify").person("redo write").crash_and_resume(), "verify").time_passes();
    let taken = redone(held().grader_is_unsure("verify").person("pass h").time_passes());
    let people = mission("repair", "")
        .replace("{title: publish}", "{title: publish, requiresApproval: true, deadline: 1h}")
        .replace("{title: ask}", "{title: ask, requiresApproval: true, deadline: 1h, sideEffects: true}");
    let people =
        good(Run::of(&people), "verify").person("approve publish").person("redo write").crash_and_resume();
    let people = people.grader_is_unsure("verify").person("approve ask");
    transcript!(bad(start(), "verify").text_and(vec![
        ("redone", redone(bad(start(), "verify"))),
        ("pass", redone(good(start(), "verify"))),
        ("refer", redone(start().grader_is_unsure("verify"))),
        ("holds over what was left out are passed", left),
        ("holds over what was taken are not", taken),
        ("people are asked about what was taken", people),
        ("the run does not take it: pass", good(only(), "verify")),
        ("the run does not take it: fail", bad(only(), "verify")),
        ("the run does not take it: refer", only().grader_is_unsure("verify")),
    ]));
}

#[test]
fn work_is_sent_back_until_it_is_good_or_its_visits_are_used_up() {
    let start = || Run::of(&mission("write", ""));
    let twice = |run: Run| bad(bad(run, "verify"), "verify");
    let until_good = good(twice(start()), "verify").crash_and_resume();
    let too_often = bad(twice(start()), "verify").person("retry-failed").crash_and_resume();
    transcript!(good(bad(start(), "verify"), "verify").text_and(vec![
        ("three visits", until_good),
        ("too often", bad(twice(too_often), "verify")),
        ("behind another verification", twice_verified()),
    ]));
}

#[test]
fn what_is_sent_back_takes_along_all_that_was_made_of_it() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}, boss: {run: [/bin/true], role: reviewer}}
settings: {evaluate: false, maxRetries: 0}
tasks:
  - {title: write, assignTo: boss, expectations: [{type: test, command: x}]}
  - {title: second, assignTo: w, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: write, onRefer: publish, maxVisits: 2}
  - {title: third, assignTo: w, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: tell, onFail: tell, onRefer: tell}
  - {title: publish, assignTo: w}
  - {title: tell, assignTo: w}";
    let run = Run::of(yaml)
        .worker_hands_down("write", r#"[{"title": "part", "assignTo": "w"}]"#)
        .while_out("grader second")
        .told_elsewhere();
    let fixed = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0, maxFixAttempts: 0}
tasks:
  - {title: write, onExhausted: fixup, expectations: [{type: test, command: x}]}
  - {title: verify, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: write, onRefer: publish, maxVisits: 2}
  - {title: publish}";
    let fixed = bad(Run::of(fixed).check("write", 1, false), "verify");
    let before = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0}
tasks:
  - {title: base, priority: 9}
  - {title: write}
  - {title: verify, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: repair, onRefer: repair}
  - {title: publish, dependsOn: [base], deadline: 1h}
  - {title: tell, dependsOn: [publish], deadline: 1h}
  - {title: repair}";
    let before = bad(Run::of(before).worker_fails("base", "unknown"), "verify");
    transcript!(bad(run, "second").crash_and_resume().text_and(vec![
        ("what made up for it is taken back", good(fixed, "verify").crash_and_resume()),
        ("what failed before is left out", before.person("retry-failed").crash_and_resume()),
    ]));
}

#[test]
fn a_failure_that_is_withdrawn_is_no_first_failure() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0}
tasks:
  - {title: write}
  - {title: beside, dependsOn: [write], priority: 9}
  - {title: verify, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: write, onRefer: publish, maxVisits: 2}
  - {title: publish}";
    // It has failed before the verdict comes.
    let run = Run::with("--jobs 2 --fail-fast", yaml).worker_fails("beside", "provider_auth");
    assert_eq!(
        good(bad(run, "verify"), "verify").in_short(),
        "worker write, worker beside, [outcome fail outcome], grader verify, [verification fail required-criterion], \
         worker write, grader verify, [verification pass], worker beside, worker publish \
         → write done unreviewed, beside done unreviewed, verify done clean, publish done unreviewed; ok"
    );
}

/// Two verifications in a row: the visits of the second are kept, and those of the first begin anew.
fn twice_verified() -> Run {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false}
tasks:
  - {title: write}
  - {title: first, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: extend, onFail: write, onRefer: ask, maxVisits: 2}
  - {title: extend}
  - {title: second, type: verification, dependsOn: [extend], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: write, onRefer: ask, maxVisits: 3}
  - {title: publish}
  - {title: ask}
  - {title: beside, dependsOn: [write], requiresApproval: true}
qualityGates: [{name: g, afterTasks: [write], blocksTasks: [ask]}]";
    let run = bad(good(Run::of(yaml), "first"), "second");
    let run = good(bad(good(run, "first"), "second"), "first");
    run.crash_and_resume()
}
