//! Questions: an agent that asks gets an answer, from the orchestrator or a person, and loses no attempt over it.

use serde_json::{Value, json};

use crate::support::events::is;
use crate::support::journal;
use crate::support::scenes::approvals::{only_approval, waits};
use crate::support::{BINARY, Has, Mission, Says, Workspace, attempts, standing, task, wait_for};

/// A worker that asks until its prompt holds an answer.
fn asking(how: &str) -> Workspace {
    let workspace = Workspace::new();
    let script = format!(
        "cat > prompt.txt\ncp prompt.txt prompt.$QUORUM_TURN\nif grep -q '^Answer: ' prompt.txt; then echo done > result.txt; \
         echo finished; else {how}; fi\n"
    );
    let script = journal::with_names(&script.replace("quorum ", &format!("{BINARY} ")));
    workspace.write("worker.sh", script);
    workspace.with_mission(
        Mission::new().agent_with("worker", json!({"run": ["/bin/sh", "worker.sh"]})).task("work", |t| {
            t.unreviewed().expects(json!({"type": "file_exists", "paths": ["result.txt"]}))
        }),
    )
}

/// The orchestrator `lead`, whose script is `lead.sh`.
fn led(mission: Mission) -> Mission {
    mission.agent_with("lead", json!({"run": ["/bin/sh", "lead.sh"]})).setting("orchestrator", "lead")
}

#[test]
fn a_person_answers_what_the_agent_asked() {
    let workspace = asking("quorum ask 'Which database?'");
    let document = workspace.run_json(8, &[]);
    let waiting = task(&document, "work");
    waiting.has(json!({"status": "awaiting_approval", "phase": "clarification"}));
    document["approvals"][0].has(json!({"reason": "question", "message": "Which database?"}));
    let id = only_approval(&workspace);
    workspace.quorum(&["approve", &id]).exits(2);
    workspace.quorum(&["answer", &id, " "]).exits(2);
    workspace.quorum(&["answer", &id, "The second.", "--as", "ada"]).exits(0);
    workspace.quorum(&["answer", &id, "The second."]).exits(0);
    workspace.quorum(&["answer", &id, "The first."]).exits(4);
    workspace.quorum(&["answer", "r.0.9", "The first."]).exits(2);

    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute"], "an answer spends no attempt");
    workspace.read("prompt.2").says(&["Which database?", "Answer: The second."]);
    assert_eq!(workspace.events().named("task:question")[0]["question"], "Which database?");
    assert_eq!(workspace.events().named("task:answered")[0]["by"], "ada");
}

#[test]
fn the_last_lines_say_how_to_answer() {
    let ended = asking("quorum ask 'Which database?'").quorum(&["run", "mission.yaml"]).exits(8);
    ended.shows(&["next: quorum answer "]);
}

#[test]
fn a_live_session_takes_the_answer_and_goes_on() {
    let workspace = asking("quorum ask 'Which database?'");
    let running = workspace.start(&["run", "mission.yaml", "--json", "--wait-approvals", "1h"]);
    waits(&workspace);
    workspace.quorum(&["answer", &only_approval(&workspace), "The second."]).exits(0);
    let document = running.finish().exits(0).json();
    assert_eq!(attempts(&document, "work"), ["execute"]);
    let moves = workspace.events().named("task:transition");
    let back = moves.iter().find(|event| event["from"] == "awaiting_approval");
    assert_eq!(back.expect("it went back")["to"], "in_progress");
}

#[test]
fn the_orchestrator_answers_before_any_person_is_asked() {
    let workspace = asking("quorum ask 'Which database?'").tap(led);
    workspace.write(
        "lead.sh",
        "cat > asked.txt; echo $QUORUM_PURPOSE >> purposes; echo '{\"answer\": \"The third.\"}'\n",
    );
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
    assert!(workspace.read("prompt.2").contains("Answer: The third."));
    assert!(workspace.read("asked.txt").contains("Which database?"));
    assert_eq!(workspace.lines("purposes"), ["answer"]);
    assert_eq!(workspace.events().named("task:answered")[0]["by"], "lead");
    assert_eq!(workspace.events().count("work:ended ask ok"), 1);
}

#[test]
fn an_orchestrator_that_does_not_know_leaves_it_to_a_person() {
    for reply in ["echo '{\"answer\": null}'", "exit 3", "echo '{\"reply\": 1}'"] {
        let workspace = asking("quorum ask 'Which database?'").tap(led);
        workspace.write("lead.sh", format!("cat > /dev/null; {reply}\n"));
        let document = workspace.run_json(8, &[]);
        assert_eq!(document["approvals"][0]["reason"], "question", "{reply}");
    }
}

#[test]
fn what_looks_like_a_question_counts_once_the_orchestrator_says_so() {
    let confirm = |word: &str| {
        format!(
            "cat > /dev/null; echo $QUORUM_PURPOSE >> purposes\nif [ $QUORUM_PURPOSE = confirm ]; then echo \
             '{{\"question\": {word}}}'; else echo 'Use tabs.'; fi\n"
        )
    };
    let workspace = asking("echo 'Tabs or spaces?'").tap(led);
    workspace.write("lead.sh", confirm("true"));
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
    assert_eq!(workspace.lines("purposes"), ["confirm", "answer"]);
    assert_eq!(workspace.events().named("task:question")[0]["detected"], true);

    // It said no, and without anybody to say so what was not asked is judged as it is.
    let workspace = asking("echo 'Tabs or spaces?'").tap(led).tap(|m| m.change("work", |t| t.attempts(1)));
    workspace.write("lead.sh", confirm("false"));
    let document = workspace.run_json(3, &[]);
    assert_eq!(task(&document, "work")["failure"]["mode"], "quality");
    let workspace = asking("echo 'Tabs or spaces?'").tap(|m| m.change("work", |t| t.attempts(1)));
    workspace.run_json(3, &[]);
    assert_eq!(workspace.events().named("task:question"), Vec::<Value>::new());
}

#[test]
fn after_so_many_questions_the_output_is_judged_as_it_is() {
    let workspace = asking("echo wrong").tap(led).tap(|m| m.change("work", |t| t.attempts(1)));
    workspace.write("worker.sh", format!("{BINARY} ask 'And now?'; cat > /dev/null\n"));
    workspace.write("lead.sh", "cat > /dev/null; echo 'Go on.'\n");
    let document = workspace.run_json(3, &[]);
    assert_eq!(task(&document, "work")["failure"]["mode"], "quality");
    assert_eq!(workspace.events().count("task:question"), 2);
    assert_eq!(workspace.events().count("work:started turn"), 3);
}

#[test]
fn a_runner_that_dies_while_the_orchestrator_thinks_asks_it_again() {
    let workspace = asking("quorum ask 'Which database?'").tap(led);
    workspace
        .write("lead.sh", "cat > /dev/null; echo x >> calls; [ -e go ] || sleep 100; echo 'The third.'\n");
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    // The shell makes the file before it writes the line.
    wait_for("the call", || workspace.exists("calls") && workspace.lines("calls").len() == 1);
    running.kill();
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
    assert_eq!(workspace.events().count("task:question"), 1);
    assert_eq!(workspace.lines("calls").len(), 2);
}

#[test]
fn hostile_messages_are_no_questions_and_stop_nothing() {
    let workspace = asking(
        "mkdir -p \"$QUORUM_TASK_DIR\" && mkfifo \"$QUORUM_TASK_DIR/ask\" && ln -s /etc/passwd \"$QUORUM_TASK_DIR/ask.1\" && \
         head -c 100000 /dev/zero > \"$QUORUM_TASK_DIR/ask.2\"; mkdir \"$QUORUM_TASK_DIR/ask.3\"; echo done > result.txt; echo ok",
    );
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(workspace.events().named("task:question"), Vec::<Value>::new());
}

#[test]
fn a_message_of_another_turn_is_not_heard() {
    let workspace = asking(
        "mkdir -p \"$(dirname \"$QUORUM_TASK_DIR\")/@turn(0.1.2).drop\" && echo 'And now?' > \"$(dirname \"$QUORUM_TASK_DIR\")/@turn(0.1.2).drop/ask\"; \
         quorum ask 'Which database?'"
    )
    .tap(led);
    workspace.write("lead.sh", "cat > /dev/null; echo 'The third.'\n");
    workspace.run_json(0, &[]);
    assert_eq!(workspace.events().count("task:question"), 1);
}

#[test]
fn progress_is_told_while_the_agent_works_and_the_result_is_what_it_says() {
    let workspace = asking(
        "quorum progress '1 of 2'; while ! [ -e go ]; do read -t 1 x < /dev/null; done; echo done > result.txt; \
         quorum result 'all of it' --input-tokens 7; quorum result --output-tokens 5",
    );
    let script = workspace.read("worker.sh");
    workspace.write("worker.sh", script.replace("read -t 1 x < /dev/null", "/bin/sleep 0.05"));
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for("the agent", || workspace.exists("prompt.1"));
    wait_for("the progress", || !workspace.events().named("agent:activity").is_empty());
    assert_eq!(workspace.events().named("agent:activity")[0]["summary"], "1 of 2");
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    let usage = &task(&document, "work")["usage"];
    assert_eq!((&usage["inputTokens"], &usage["outputTokens"]), (&json!(7), &json!(5)));
}

#[test]
fn outside_of_a_task_there_is_nobody_to_speak_to() {
    let workspace = Workspace::new();
    for command in [
        &["ask", "x"][..],
        &["progress", "x"],
        &["result", "x", "--input-tokens", "7", "--output-tokens", "5"],
    ] {
        workspace.quorum(command).exits(2).says(&["for agents that work on a task"]);
    }
    workspace.quorum_with(&[("QUORUM_TASK_DIR", "/nowhere/at/all")], &["ask", "x"]).exits(9);
}

#[test]
fn the_mission_with_a_coordinator_runs_as_it_stands() {
    let workspace = Workspace::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("missions");
    for file in ["coordinator/lead.sh", "coordinator/writer.sh"] {
        workspace.write(file, std::fs::read(folder.join(file)).expect("it is there"));
    }
    workspace.mission(&std::fs::read_to_string(folder.join("coordinator.yaml")).expect("it is there"));
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "Write release notes").0, "done");
    let asks = workspace.events().named("work:requested ask");
    let purposes: Vec<&Value> = asks.iter().map(|event| &event["purpose"]).collect();
    assert_eq!(purposes, ["resolve", "confirm", "answer"]);
}

#[test]
fn work_that_is_handed_down_by_command_becomes_a_task() {
    let workspace = asking(
        // Who hands work down is the first to be asked for its review.
        "if grep -q 'SCORE:' prompt.txt; then echo SCORE: 90; exit; fi; quorum delegate 'Write the tests' 'For the parser.' --to tester; quorum delegate '' ; echo $? > refused; \
         echo '[{\"title\": \"Write the docs\"}]' | quorum delegate - --to ignored; echo done > result.txt; echo ok",
    )
    .tap(|m| m.agent("tester", "cat > told.txt; echo tested"));
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "Write the tests").0, "done");
    assert_eq!(standing(&document, "Write the docs").0, "done");
    assert_eq!(workspace.read("refused").trim(), "2");
    workspace.quorum(&["delegate", "x", "--to", "tester"]).exits(2);
}

#[test]
fn an_agent_with_side_effects_goes_on_after_an_answer_only_by_a_persons_word() {
    let workspace = asking("quorum ask 'Which database?'")
        .tap(led)
        .tap(|m| m.change("work", |t| t.set("sideEffects", true)));
    workspace.write("lead.sh", "cat > /dev/null; echo 'The third.'\n");
    let document = workspace.run_json(8, &[]);
    assert_eq!(document["approvals"][0]["reason"], "side-effects");
    assert!(!workspace.exists("prompt.2"), "nobody let it act again");
    let id = only_approval(&workspace);
    workspace.quorum(&["answer", &id, "The third."]).exits(2);
    workspace.quorum(&["approve", &id]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
    assert!(workspace.read("prompt.2").contains("Answer: The third."));
}

#[test]
fn the_last_word_of_progress_is_kept_however_soon_the_agent_ends_after_it() {
    let workspace = asking("echo done > result.txt; quorum progress 'almost there'");
    workspace.run_json(0, &[]);
    let activity = workspace.events().named("agent:activity");
    let told: Vec<_> = activity.iter().map(|event| &event["summary"]).collect();
    assert_eq!(told, ["almost there"]);
    // Before the end of its turn.
    let events = workspace.events();
    let at = |name: &str| events.iter().position(|event| is(event, name));
    assert!(at("agent:activity") < at("work:ended turn !lost"));
}

#[test]
fn moves_into_clarification_and_out_of_it_carry_the_phase() {
    let workspace = asking("quorum ask 'Which database?'");
    workspace.run_json(8, &[]);
    workspace.quorum(&["answer", &only_approval(&workspace), "The second."]).exits(0);
    workspace.resume_json(0, &[]);
    let moves = workspace.events().named("task:transition");
    let phases: Vec<_> = moves
        .iter()
        .filter(|event| event["to"] == "awaiting_approval" || event["from"] == "awaiting_approval")
        .map(|event| (&event["to"], &event["phase"]))
        .collect();
    assert_eq!(phases[0], (&json!("awaiting_approval"), &json!("clarification")));
    // No session lived when it was answered: it goes on with its attempt when the next one does.
    assert_eq!(phases[1], (&json!("pending"), &json!("execution")));
}
