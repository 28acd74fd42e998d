//! How a worker's attempts go: fixes, retries, the finish gate, files, lost turns.

use super::driver::Run;

fn mission(tasks: &str) -> String {
    format!(
        "name: m
agents: {{w: {{run: [/bin/true]}}}}
settings: {{maxFixAttempts: 1, maxRetries: 1}}
tasks:
{tasks}"
    )
}

#[test]
fn checks_that_fail_send_the_work_back_until_it_fails_twice_in_the_same_way() {
    let run = Run::of(&mission(
        "  - {title: a, review: none, targetFiles: [f], expectations: [{type: test, command: x}, {type: script, command: y}]}",
    ))
    .files("a", "empty")
    .files("a", "changed")
    .check("a", 1, false)
    .files("a", "changed")
    .check("a", 1, false);
    let failing = |times| {
        let run = Run::of(&mission("  - {title: a, review: none, expectations: [{type: test, command: x}]}"));
        (0..times).fold(run, |run, _| run.check("a", 1, false))
    };
    transcript!(run.text_and(vec![("a fix helps", failing(1)), ("nothing changes", failing(2)),]));
}

#[test]
fn a_finish_gate_nudges_and_lets_go() {
    let run = Run::of(&mission(
        "  - {title: a, review: none, targetFiles: [f], verify: {requireCompilation: true, compileCommand: x, compilationMaxAttempts: 2, commands: [y], requiredTests: [t], testCommand: 'z {test}', requireFileChanges: true, maxAttempts: 1}}",
    ))
    .finish_command("a", 1, false)
    .finish_command("a", 3, false)
    .finish_command("a", 1, false)
    .finish_command("a", 1, false)
    .finish_command("a", 2, false);
    let changes = |changed: &[Option<u32>]| {
        let yaml = "  - {title: a, review: none, targetFiles: [f], verify: {requireFileChanges: true, maxAttempts: 1}}";
        let run = Run::of(&mission(yaml));
        changed.iter().fold(run, |run, changed| run.worker_changes_files("a", *changed))
    };
    transcript!(run.text_and(vec![
        ("nothing, then a file is changed", changes(&[Some(0), Some(1)])),
        ("nothing is changed", changes(&[Some(0), Some(0)])),
        ("nobody can tell what was changed", changes(&[None])),
    ]));
}

#[test]
fn an_agent_that_fails_is_tried_again_and_a_request_that_fails_is_repeated() {
    let yaml = mission("  - {title: a, review: none}");
    let run = Run::of(&yaml)
        .worker_cannot_start("a", "rate_limited")
        .worker_fails("a", "usage_window")
        .time_passes()
        .worker_fails("a", "timeout")
        .time_passes()
        .worker_fails("a", "unknown");
    let fails = |class| Run::of(&yaml).worker_fails("a", class);
    let again =
        |run: Run| run.worker_cannot_start("a", "rate_limited").worker_cannot_start("a", "rate_limited");
    let starts = |class| Run::of(&yaml).worker_cannot_start("a", class);
    transcript!(run.text_and(vec![
        ("fails: unknown", fails("unknown")),
        ("fails: rate_limited", fails("rate_limited").time_passes()),
        ("fails: provider_auth", fails("provider_auth")),
        ("cannot start: unknown", starts("unknown")),
        ("cannot start: usage_window", starts("usage_window")),
        ("cannot start: provider_spend_limit", starts("provider_spend_limit")),
        ("cannot start, again and again", again(again(Run::of(&yaml)).time_passes()),),
    ]));
}

#[test]
fn the_first_failure_is_the_last_start_where_that_is_asked_for() {
    let yaml = mission(
        "  - {title: a, review: none}
  - {title: b, review: none}
  - {title: c, review: none}
  - {title: d, review: none, dependsOn: [c]}",
    );
    let first = || Run::with("--jobs 2 --fail-fast", &yaml).worker_fails("a", "provider_auth");
    assert_eq!(
        first().in_short(),
        "worker a, [outcome fail outcome], worker b → a failed error, b done unreviewed, c pending, d pending; task_failed"
    );
    let again = first().worker_fails("b", "provider_auth").person("retry-failed").crash_and_resume();
    assert_eq!(
        again.in_short(),
        "worker a, [outcome fail outcome], worker b, [outcome fail outcome], worker a, worker b, worker c, worker d \
         → a done unreviewed, b done unreviewed, c done unreviewed, d done unreviewed; ok"
    );
}

#[test]
fn turns_outlive_a_session_or_are_lost_and_what_was_accepted_must_still_stand() {
    let run = Run::of(&mission("  - {title: a, review: none, targetFiles: [f], protect: [x]}"))
        .while_out("worker a")
        .crash_and_resume_with(&["a"])
        .while_out("worker a")
        .crash_and_resume()
        .while_out("worker a")
        .interrupt()
        .crash_and_resume()
        .accepted_files_are_gone("a");
    let yaml = mission("  - {title: a, review: none, protect: [tests/**]}");
    let checked = mission(
        "  - {title: a, review: none, protect: [tests/**], expectations: [{type: test, command: x}]}",
    );
    transcript!(run.text_and(vec![
        ("files cannot be noted", Run::of(&yaml).files_cannot_be_noted("a")),
        (
            "the agent changed a protected file",
            Run::of(&yaml).worker_fails("a", "unknown").worker_changes_a_protected_file("a"),
        ),
        ("somebody did while a check ran", Run::of(&checked).check_is_void("a", 1, false)),
        ("or while others worked", Run::of(&checked).check_is_void("a", 1, true)),
    ]));
}
