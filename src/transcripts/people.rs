//! Somebody's agreement before a task starts, and before one with side effects acts again.

use super::driver::{Run, Says};

fn mission(tasks: &str) -> String {
    format!(
        "name: m
agents: {{w: {{run: [/bin/true]}}, o: {{run: [/bin/true]}}, k: {{run: [/bin/true]}}}}
settings: {{maxRetries: 1, maxFixAttempts: 1}}
tasks:
{tasks}"
    )
}

fn task(title: &str, keys: &str) -> String {
    format!("  - {{title: {title}, assignTo: w, review: none{keys}}}\n")
}

#[test]
fn a_person_agrees_refuses_or_does_not_answer_in_time() {
    let tasks = [
        task("a", ", requiresApproval: true"),
        task("b", ", requiresApproval: {approvers: [ada, bob]}"),
        task("c", ", requiresApproval: {timeout: 2s, message: may it go?}"),
    ];
    let yaml = mission(&tasks.concat());
    let run =
        Run::of(&yaml).person("approve a").person("reject b").time_passes().time_passes().crash_and_resume();
    let rejects = yaml.replace("maxRetries: 1,", "maxRetries: 1, autoRejectOnTimeout: true,");
    let gated = mission(&task("a", ", priority: 3, requiresApproval: true")).replace(
        "maxRetries: 1,",
        "approvalGates: [{name: g, when: 'task.priority > 2', approvers: [{command: y}]}],",
    );
    let twice = Run::of(&gated).person("approve a").person("redo a").crash_and_resume().person("approve a");
    transcript!(run.text_and(vec![
        ("time refuses", Run::of(&rejects).time_passes()),
        (
            "one approval after the other, and again when it is redone",
            twice.approver_says("a", 1, &Says::Open).person("reject a"),
        ),
    ]));
}

#[test]
fn approvers_are_asked_in_turn_and_after_a_while_again() {
    let yaml = mission(&task("a", ", requiresApproval: {approvers: [{command: x}, ada, o, k]}"));
    let open = || Run::of(&yaml).approver_says("a", 1, &Says::Open).agent_says("a", "approve", &Says::Open);
    let run = open()
        .agent_says("a", "approve", &Says::Absorb)
        .time_passes()
        .approver_says("a", 1, &Says::Open)
        .agent_is_down("a", "approve", "provider_auth");
    transcript!(run.text_and(vec![
        ("a restart asks at once", open().agent_says("a", "approve", &Says::Open).crash_and_resume(),),
        ("an agent refuses", open().agent_says("a", "approve", &Says::No)),
        ("a command refuses", Run::of(&yaml).approver_says("a", 1, &Says::No)),
        (
            "a person is faster",
            Run::of(&yaml).while_out("approver a 1").person("reject a").person("approve a#1"),
        ),
    ]));
}

#[test]
fn what_is_agreed_to_starts_where_there_is_room() {
    let two = |first: &str, second: &str| {
        mission(&format!(
            "{}{}",
            task("a", &format!(", requiresApproval: true{first}")),
            task("b", &format!(", requiresApproval: true{second}"))
        ))
    };
    let agreed = |jobs: &str, yaml: &str| {
        Run::with(jobs, yaml).person("approve a").while_out("worker a").person("approve b")
    };
    let limited = two("", "").replacen("]}", "], maxConcurrent: 1}", 1);
    for (name, jobs, yaml, beside) in [
        ("room for both", "--jobs 2", two("", ""), true),
        ("no slot", "--jobs 1", two("", ""), false),
        ("one alone", "--jobs 2", two(", exclusive: true", ""), false),
        ("the other alone", "--jobs 2", two("", ", exclusive: true"), false),
        ("an agent at its limit", "--jobs 3", limited, false),
    ] {
        let run = agreed(jobs, &yaml);
        assert_eq!(run.is_out("prompt b"), beside, "{name}");
        assert!(run.in_short().ends_with("ok"), "{name}");
    }
}

#[test]
fn what_is_agreed_to_overtakes_nothing_that_waits_to_be_alone_and_starts_in_no_paused_run() {
    let agreed = task("a", ", requiresApproval: true");
    let others = task("b", ", priority: 3") + &task("alone", ", exclusive: true, priority: 2");
    let run = Run::of(&mission(&(agreed.clone() + &others)));
    let run = run.while_out("worker b").person("approve a");
    assert!(!run.is_out("prompt a"));
    assert_eq!(
        run.in_short(),
        "worker b, worker alone, worker a → a done unreviewed, b done unreviewed, alone done unreviewed; ok"
    );
    let paused = Run::of(&mission(&(agreed + &task("b", ""))));
    let paused = paused.while_out("worker b").person("pause").while_out("worker b").person("approve a");
    assert_eq!(paused.in_short(), "worker b → a pending, b done unreviewed; awaiting");
}

#[test]
fn only_a_person_makes_an_agent_with_side_effects_act_again() {
    let yaml = mission(&task("a", ", sideEffects: true"));
    let run = Run::of(&yaml)
        .worker_fails("a", "unknown")
        .person("approve a")
        .worker_fails("a", "unknown")
        .person("reject a");
    let checked = mission(&task("a", ", sideEffects: true, expectations: [{type: test, command: x}]"));
    let both = mission(&task("a", ", sideEffects: true, requiresApproval: true"));
    transcript!(run.text_and(vec![
        ("redone", Run::of(&yaml).person("redo a").crash_and_resume().person("approve a")),
        (
            "with an approval before it",
            Run::of(&both)
                .person("approve a")
                .person("redo a")
                .crash_and_resume()
                .person("approve a")
                .person("approve a"),
        ),
        ("its turn was lost", Run::of(&yaml).while_out("worker a").crash_and_resume()),
        (
            "checks failed",
            Run::of(&checked)
                .check("a", 1, false)
                .person("approve a")
                .check("a", 1, false)
                .person("cancel a"),
        ),
        (
            "a refused request may have acted",
            Run::of(&yaml).worker_cannot_start("a", "rate_limited").person("approve a"),
        ),
    ]));
}
