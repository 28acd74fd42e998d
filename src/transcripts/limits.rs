//! What a budget leaves room for, and time that runs out.

use super::driver::Run;

/// Nothing is kept for judging, unless that is said.
fn mission(budget: &str, tasks: &str) -> String {
    let kept = match budget.contains("reserveForJudging") {
        true => budget.to_owned(),
        false => budget.replace('}', ", reserveForJudging: 0}"),
    };
    format!(
        "name: m
budget: {kept}
agents:
  w: {{run: [/bin/true], maxCostPerTurn: 0.25}}
  i: {{run: [/bin/true], role: reviewer, maxCostPerTurn: 0.5}}
  j: {{run: [/bin/true], role: reviewer, maxCostPerTurn: 0.5}}
tasks:
{tasks}"
    )
}

const PANELS: &str =
    "  - {title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [i, j]}]}
  - {title: b, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [i, j]}]}";

#[test]
fn calls_wait_for_room_and_who_has_none_is_not_asked() {
    let run = |budget: &str| Run::with("--jobs 2", &mission(budget, PANELS));
    let later = |budget: &str| run(budget).crash_and_resume().crash_and_resume();
    let given_up = |budget: &str| run(budget).person("pause").person("cancel b").crash_and_resume();
    let timed_out = Run::of(&mission("{maxTime: 1h}", PANELS)).while_out("worker b").time_passes();
    let node = |budget: &str| {
        let tasks = "  - {title: a, assignTo: w, review: none}
  - {title: v, assignTo: i, type: verification, dependsOn: [a], verification: {rubric: default-task}, onPass: p, onFail: p, onRefer: p}
  - {title: p, assignTo: w, review: none}";
        Run::of(&mission(budget, tasks)).crash_and_resume()
    };
    transcript!(given_up("{maxRequests: 3}").text_and(vec![
        ("who waits is given up with its task", given_up("{maxCost: 1.4}")),
        ("just enough", run("{maxCost: 2.5}")),
        ("by requests", later("{maxRequests: 3}")),
        ("there is room", run("{maxCost: 5}")),
        ("by cost", later("{maxCost: 1}")),
        ("a share is kept", later("{maxCost: 1.7, reserveForJudging: 0.2}")),
        ("not even for a turn", later("{maxCost: 0.2}")),
        ("with a clock", given_up("{maxTime: 1h, maxRequests: 4}")),
        ("time is used up", timed_out),
        ("a verification waits", node("{maxCost: 1}")),
        ("a verification calls nobody to work", node("{maxRequests: 1}")),
    ]));
}

fn timed(sla: &str, more: &str) -> String {
    format!(
        "name: m
agents: {{w: {{run: [/bin/true]}}}}
channels: {{near: {{type: file, path: n}}, over: {{type: file, path: o}}, ops: {{type: file, path: p}}}}
settings: {{evaluate: false, maxRetries: 1, defaultChannels: [ops], sla: {{warningChannels: [near], violationChannels: [over]{sla}}}}}
{more}"
    )
}

#[test]
fn a_task_and_the_mission_run_out_of_time_while_a_person_is_waited_for() {
    let tasks = "deadline: 2h\ntasks: [{title: a, deadline: 1h}, {title: b, requiresApproval: true}]";
    let late = |sla: &str| {
        let run = Run::with("--wait-approvals 36000s", &timed(sla, tasks)).worker_asks("a", "Which one?");
        (0..4).fold(run, |run, _| run.time_passes())
    };
    let second = timed("", "deadline: 2h\nqualityThreshold: 60\ntasks: [{title: a, deadline: 1h}]");
    let second = Run::of(&second).worker_fails("a", "unknown");
    transcript!(late(", violationAction: fail").text_and(vec![
        ("it is only told", late("").time_passes()),
        ("a second try begins no second time", second),
    ]));
}

#[test]
fn what_is_said_of_the_missions_deadline_comes_before_its_end() {
    let yaml = "name: m
deadline: 1h
qualityThreshold: 5
agents: {w: {run: [/bin/true]}, j: {run: [/bin/true], role: reviewer}}
tasks: [{title: a, assignTo: w}]";
    let text = Run::of(yaml).text();
    let last: Vec<&str> = text.lines().rev().take(4).map(str::trim_start).collect();
    let begins = ["run:finished", "quality:sla", "sla:met", "quality:threshold:failed"];
    for (line, name) in last.iter().zip(begins) {
        assert!(line.starts_with(name), "{text}");
    }
}

#[test]
fn a_checkpoint_and_a_delay_tell_the_channels_that_they_name() {
    let held = |hold: &str| {
        Run::of(&timed(
            "",
            &format!("{hold}, afterTasks: [a], blocksTasks: [b]}}]\ntasks: [{{title: a}}, {{title: b}}]"),
        ))
    };
    let told = |hold: &str| {
        let text = held(hold).text();
        let told = text.lines().filter(|line| line.contains("holdName=h"));
        let channels = told.filter_map(|line| line.split_once("channel=")?.1.split(' ').next());
        channels.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(told("checkpoints: [{name: h, notifyChannels: [near]"), ["near"]);
    assert_eq!(told("checkpoints: [{name: h, message: look"), ["ops"]);
    assert_eq!(told("delays: [{name: h, duration: 1h, notifyChannels: [near]"), ["near"]);
    assert!(told("delays: [{name: h, duration: 1h").is_empty());
}
