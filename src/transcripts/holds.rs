//! What stands between tasks: checkpoints, delays, gates; and who lets them pass.

use super::driver::Run;

fn mission(more: &str) -> String {
    format!(
        "name: m
agents: {{w: {{run: [/bin/true]}}}}
tasks:
  - {{title: a, assignTo: w, review: none}}
  - {{title: b, assignTo: w, review: none}}
  - {{title: c, assignTo: w, review: none, dependsOn: [b]}}
{more}"
    )
}

const CHECKPOINT: &str = "checkpoints: [{name: h, afterTasks: [a], blocksTasks: [b]}]";

fn checked() -> Run {
    Run::of(&mission(CHECKPOINT))
}

#[test]
fn a_checkpoint_is_passed_by_a_person_and_again_when_its_work_is_redone() {
    let run = checked()
        .person("pass h#2")
        .person("pass h")
        .person("pass h")
        .crash_and_resume()
        .person("redo a")
        .crash_and_resume()
        .person("pass h#1")
        .person("pass h");
    let refused = checked().person("refuse h").person("pass h").person("retry-failed");
    let two = "checkpoints: [{name: h, afterTasks: [a], blocksTasks: [b]}, {name: i, afterTasks: [a], blocksTasks: [b]}]";
    let two = || Run::of(&mission(two)).person("pass h");
    let nothing_open = checked().person("cancel b").person("pass h").person("retry-failed");
    transcript!(run.text_and(vec![
        ("refused", checked().person("refuse h").person("pass h")),
        ("refused and tried again", refused.crash_and_resume().person("pass h")),
        ("one of two", two()),
        ("both of two", two().person("pass i")),
        ("what it blocks was called off", nothing_open.crash_and_resume().person("pass h")),
        (
            "only some of what it blocks was called off",
            Run::of(&mission(&CHECKPOINT.replace("[b]", "[b, c]"))).while_out("worker a").person("cancel c"),
        ),
        (
            "what it blocks was called off before and is redone",
            checked().while_out("worker a").person("cancel b").person("redo a").crash_and_resume(),
        ),
    ]));
}

#[test]
fn a_delay_passes_by_itself_in_this_session_or_a_later_one() {
    let delayed =
        || Run::of(&mission("delays: [{name: h, afterTasks: [a], blocksTasks: [b], duration: 5s}]"));
    let run = delayed().time_passes().person("redo a").crash_and_resume().crash_and_resume().time_passes();
    let waited = checked().time_passes().crash_and_resume().person("pause").crash_and_resume().interrupt();
    let paused = delayed().person("pause").person("pass h").crash_and_resume().time_passes();
    transcript!(run.text_and(vec![
        ("a paused run waits for none", paused),
        ("a wait, a pause and a stop", waited.crash_and_resume().person("pass h")),
    ]));
}

#[test]
fn a_gate_is_let_pass_once_it_has_failed() {
    let gated = |more: &str| {
        let gate =
            format!("qualityGates: [{{name: g, afterTasks: [a], blocksTasks: [b], minScore: 4{more}}}]");
        Run::of(&mission(&gate))
    };
    let over = |run: Run| run.person("override g").person("override g").crash_and_resume();
    let early = gated("").while_out("worker a").person("override g");
    transcript!(
        over(gated(""))
            .text_and(vec![("it halts the run", over(gated(", onFail: halt"))), ("too early", early),])
    );
}
