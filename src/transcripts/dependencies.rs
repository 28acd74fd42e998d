//! What becomes of work whose dependency failed, and of work that others made or changed.

use super::driver::{Run, Says};

/// `b` needs `a`, which fails, and `other`, which does well; `c` needs `b`.
fn mission(settings: &str, a: &str) -> String {
    format!(
        "name: m
agents: {{w: {{run: [/bin/true]}}, o: {{run: [/bin/true]}}}}
settings: {{maxRetries: 0{settings}}}
tasks:
  - {{title: a, assignTo: w, review: none{a}}}
  - {{title: other, assignTo: w, review: none}}
  - {{title: b, assignTo: w, review: none, dependsOn: [a, other]}}
  - {{title: c, assignTo: w, review: none, dependsOn: [b]}}"
    )
}

fn failed(settings: &str, a: &str) -> Run {
    Run::of(&mission(settings, a)).worker_fails("a", "unknown")
}

#[test]
fn dependents_of_what_failed_are_skipped_unless_its_files_or_others_are_enough() {
    let files =
        |are| failed(", onDependencyFailed: [artifacts, skip]", ", targetFiles: [x, y]").artifacts("b", are);
    let partial =
        |class| Run::of(&mission(", onDependencyFailed: [partial, skip]", "")).worker_fails("a", class);
    let again = partial("unknown").person("retry-failed").crash_and_resume();
    transcript!(files("there").text_and(vec![
        ("nothing is tried", failed("", "")),
        ("its files are empty", files("empty")),
        ("its files are missing", files("missing")),
        ("half of the dependencies are enough", partial("unknown")),
        ("after a time-out too", partial("timeout")),
        ("and after a spend limit", partial("provider_spend_limit")),
        ("it is tried again, and redone", again.person("redo a").crash_and_resume()),
    ]));
}

#[test]
fn the_orchestrator_absorbs_retries_or_knows_no_way() {
    let asked = || failed(", orchestrator: o, maxResolutionAttempts: 2", "");
    let says = |run: Run, says| run.agent_says("b", "resolve", &says);
    let again = |run: Run| says(run, Says::Retry).worker_fails("a", "unknown");
    let called_off = Run::of(&mission(", orchestrator: o", ", requiresApproval: true"));
    transcript!(says(again(asked()), Says::Absorb).text_and(vec![
        ("a second try helps", says(asked(), Says::Retry)),
        ("it may be tried again so often", again(again(asked()))),
        ("it knows no way", says(asked(), Says::No)),
        ("it cannot be asked", asked().agent_is_down("b", "resolve", "provider_auth")),
        (
            "what a person called off is not begun anew",
            called_off.person("cancel a").agent_says("b", "resolve", &Says::Retry),
        ),
    ]));
}

/// `c` needs `a`, which the orchestrator lets it do without, and `other`, to which a person must agree.
const HELD: &str = "name: m
agents: {w: {run: [/bin/true]}, o: {run: [/bin/true]}}
settings: {maxRetries: 0, orchestrator: o}
tasks:
  - {title: a, assignTo: w, review: none}
  - {title: other, assignTo: w, review: none, requiresApproval: true}
  - {title: c, assignTo: w, review: none, dependsOn: [a, other]}";

#[test]
fn what_a_task_was_to_do_without_it_waits_for_once_that_is_tried_again() {
    let absorbed = |run: Run| run.worker_fails("a", "unknown").agent_says("c", "resolve", &Says::Absorb);
    let run = absorbed(Run::of(HELD))
        .told_elsewhere()
        .person("retry-failed")
        .person("approve other")
        .crash_and_resume();
    let fails_again = absorbed(absorbed(Run::of(HELD)).person("retry-failed").crash_and_resume());
    let free = HELD.replace(", requiresApproval: true", "");
    let third =
        absorbed(Run::of(&free)).worker_fails("c", "unknown").person("retry-failed").crash_and_resume();
    let asked = Run::of(&free).worker_fails("a", "unknown").while_out("agent c resolve");
    transcript!(run.text_and(vec![
        ("it fails again", fails_again.person("approve other")),
        (
            "it is redone before the task began",
            Run::of(HELD).person("redo a").crash_and_resume().person("approve other"),
        ),
        ("the task itself begins anew", third),
        ("tried again while the orchestrator is asked", asked.person("retry-failed").crash_and_resume()),
    ]));
}

#[test]
fn a_changed_mission_does_again_what_it_changes_and_keeps_the_rest() {
    let mission = |prompt: &str, more: &str| {
        format!(
            "name: m
agents: {{w: {{run: [/bin/true]}}}}
tasks:
  - {{title: a, review: none, description: {prompt}}}
  - {{title: b, review: none, dependsOn: [a]}}
  - {{title: c, review: none}}{more}"
        )
    };
    let run = Run::of(&mission("x", ""))
        .told_elsewhere()
        .mission_becomes(&mission("y", "\n  - {title: d, review: none, dependsOn: [c]}"))
        .crash_and_resume();
    transcript!(run.text());
}

#[test]
fn work_is_handed_down_or_made_up_for_and_dependents_wait_for_that() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}, boss: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0, maxFixAttempts: 0, maxDelegationDepth: 1}
tasks:
  - {title: a, assignTo: boss, expectations: [{type: test, command: x}]}
  - {title: b, assignTo: w, dependsOn: [a], onExhausted: fixup, expectations: [{type: test, command: x}]}
  - {title: c, assignTo: w, dependsOn: [b]}";
    let list = r#"[{"title": "part", "assignTo": "w"}, {"title": "b", "assignTo": "w"}, {"title": "own", "assignTo": "boss"}]"#;
    let run = || Run::of(yaml).worker_hands_down("a", list).check("b", 1, false);
    transcript!(run().text_and(vec![
        ("redone", run().person("redo a").crash_and_resume()),
        ("what makes up for it fails as well", run().check("b (fixup)", 1, false)),
    ]));
}
