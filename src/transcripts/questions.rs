//! What an agent asks, wishes or says instead of working, and who answers.

use super::driver::{Run, Says};

fn mission(settings: &str, tasks: &str) -> String {
    format!(
        "name: m
agents: {{w: {{run: [/bin/true]}}, o: {{run: [/bin/true]}}}}
settings: {{maxRetries: 1, maxFixAttempts: 1, maxQuestionRounds: 2{settings}}}
tasks:
{tasks}"
    )
}

const TASK: &str = "  - {title: a, assignTo: w, review: none}";

#[test]
fn a_person_answers_and_after_two_rounds_the_work_is_judged_as_it_is() {
    let run = Run::of(&mission("", TASK))
        .worker_asks("a", "Which one?")
        .person("answer a The second.")
        .worker_asks("a", "Really?")
        .person("answer a#1 The second.")
        .person("answer a Yes.")
        .worker_asks("a", "Why?");
    let one = mission("", TASK).replace("maxQuestionRounds: 2", "maxQuestionRounds: 1");
    let called_off =
        Run::of(&mission("", TASK)).worker_asks("a", "Which one?").crash_and_resume().person("cancel a");
    let tried_again = called_off.person("answer a#1 The second.").person("retry-failed").crash_and_resume();
    transcript!(run.text_and(vec![
        (
            "one round is one question",
            Run::of(&one)
                .worker_asks("a", "Which one?")
                .person("answer a The second.")
                .worker_asks("a", "Really?"),
        ),
        (
            "an open question ends with its task",
            tried_again.worker_asks("a", "Which one?").person("answer a The second."),
        ),
        (
            "yes and no are no answers",
            Run::of(&mission("", TASK)).worker_asks("a", "Which one?").person("reject a").person("approve a"),
        ),
    ]));
}

#[test]
fn the_orchestrator_answers_or_leaves_it_to_a_person() {
    let yaml = mission(", orchestrator: o", TASK);
    let asks = || Run::of(&yaml).worker_asks("a", "Which one?");
    let run = asks()
        .agent_says("a", "answer", &Says::Answer("The first."))
        .worker_asks("a", "Which one?")
        .agent_says("a", "answer", &Says::No)
        .person("answer a The second.");
    let down = (0..4).fold(asks(), |run, _| run.agent_is_down("a", "answer", "rate_limited"));
    let seems = || Run::of(&yaml).worker_seems_to_ask("a", "Which one?");
    let alone = Run::of(&mission("", TASK)).worker_seems_to_ask("a", "Which one?");
    let own = Run::of(&yaml.replace("assignTo: w", "assignTo: o"));
    transcript!(run.text_and(vec![
        ("it cannot be asked", down),
        ("it may not be asked", asks().agent_is_down("a", "answer", "provider_auth")),
        ("nobody answers itself", own.worker_asks("a", "Which one?")),
        ("it only looks like a question", seems().agent_says("a", "confirm", &Says::No)),
        ("it is one", seems().agent_says("a", "confirm", &Says::Yes)),
        ("nobody can read whether it is one", seems().agent_is_unreadable("a", "confirm")),
        ("nobody can be asked whether it is one", seems().agent_is_down("a", "confirm", "provider_auth")),
        ("nobody is there to say", alone),
    ]));
}

#[test]
fn whoever_is_answered_goes_on_where_there_is_room() {
    let tasks = format!(
        "{TASK}\n  - {{title: b, assignTo: w, review: none, dependsOn: [a]}}\n  - {{title: c, assignTo: w, review: none}}"
    );
    let run = Run::with("--jobs 1", &mission("", &tasks))
        .worker_asks("a", "Which one?")
        .while_out("worker c")
        .person("answer a The second.");
    assert_eq!(
        run.in_short(),
        "worker a, worker c, worker a, worker b → a done unreviewed, b done unreviewed, c done unreviewed; ok"
    );
}

#[test]
fn only_a_person_allows_a_call_and_hears_what_does_not_hold() {
    let tasks = "  - {title: a, assignTo: w, review: none}
  - {title: b, assignTo: w, review: none, expectations: [{type: test, command: x}]}";
    let start = || {
        Run::of(&mission(", orchestrator: o", tasks).replace("maxQuestionRounds: 2", "maxQuestionRounds: 1"))
    };
    let run = start()
        .worker_wants_to("a", "publish")
        .worker_escalates("b")
        .person("answer a yes")
        .person("approve a")
        .worker_wants_to("a", "publish")
        .person("approve a")
        .crash_and_resume()
        .person("reject b")
        .worker_escalates("b")
        .person("approve b");
    let escalates = || start().worker_escalates("b");
    let again = |run: Run| run.worker_escalates("b").person("reject b");
    transcript!(run.text_and(vec![
        ("a call is refused", start().worker_wants_to("a", "publish").person("reject a")),
        ("it still has to pass", escalates().person("approve b").check("b", 1, false)),
        ("again and again", again(again(again(escalates().person("reject b"))))),
        (
            "a question that was asked comes first",
            start().worker_escalates_and_asks("b", "Which one?").agent_says(
                "b",
                "answer",
                &Says::Answer("The second.")
            ),
        ),
    ]));
}
