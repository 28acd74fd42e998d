//! Workers behind HTTP with tools: what they do is on record, and the record is evidence (semantics, sections 1 and 6).

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::support::events::is;
use crate::support::model::{Model, offered, refuses, results, says, wants};
use crate::support::scenes::tool_workers::tool_worker;
use crate::support::{Has, Mission, Says, Workspace, attempts, is_alive, read_pid, standing, task, wait_for};

/// A model that makes these calls one after the other, a request each, and then says this.
fn doing(calls: Vec<(&'static str, Value)>, last: &'static str) -> Model {
    Model::new(move |body| match calls.get(results(body).len()) {
        Some(call) => wants(std::slice::from_ref(call)),
        None => says(last),
    })
}

/// The end of the only task's last turn, as an event.
fn finished(workspace: &Workspace) -> Value {
    let events = workspace.events();
    let mut ends = events.iter().filter(|event| is(event, "work:ended turn !lost"));
    ends.next_back().expect("a turn ended").clone()
}

#[test]
fn a_model_reads_writes_and_runs_and_every_call_is_on_record() {
    let model = doing(
        vec![
            ("list", json!({"path": "."})),
            ("read", json!({"path": "given.txt"})),
            ("write", json!({"path": "src/out.txt", "content": "hello\n"})),
            ("run", json!({"argv": ["cat", "src/out.txt"]})),
            ("run", json!({"shell": "env | sort; echo to-stderr >&2; exit 3"})),
            ("read", json!({"path": "../outside"})),
        ],
        "I wrote src/out.txt.",
    );
    let workspace = tool_worker(
        &model,
        "[read, write, run]",
        "type: implement, targetFiles: [src/out.txt], description: Write it to a file",
    );
    workspace.write("given.txt", "given");
    let secrets = [("OPENAI_API_KEY", "sk-secret-1"), ("QUORUM_OPERATOR_KEY", "sk-secret-2")];
    let document = workspace.quorum_with(&secrets, &["run", "mission.yaml", "--json"]).exits(0).json();
    assert_eq!(standing(&document, "work").0, "done");
    assert_eq!(workspace.read("src/out.txt"), "hello\n");
    // Seven requests, all of them counted and charged.
    let usage = &task(&document, "work")["usage"];
    assert_eq!((&usage["requests"], &usage["inputTokens"]), (&json!(7), &json!(700)));
    let asked = model.asked();
    let given = results(asked.last().unwrap());
    assert_eq!(given[1], "given");
    assert_eq!(given[3], "exit 0\nhello\n");
    assert!(given[4].starts_with("exit 3\n") && given[4].contains("to-stderr"), "{}", given[4]);
    assert!(given[4].contains("QUORUM_TASK=work") && !given[4].contains("sk-secret"), "{}", given[4]);
    assert!(given[5].contains("outside of the workspace"));
    let end = finished(&workspace);
    // What was refused did nothing.
    end.has(json!({"toolCalls": 5, "tools": {"calls": 6, "failed": 1}}));
    let shown = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
    let path = shown["attempts"][0]["turns"][0]["tools"]["ledger"]["path"].as_str().unwrap();
    let ledger = std::fs::read_to_string(path).unwrap();
    let calls: Vec<Value> = ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let exits: Vec<_> = calls.iter().map(|call| call["exit"].as_i64()).collect();
    assert_eq!(exits, [None, None, None, Some(0), Some(3), None]);
    assert_eq!(calls[2]["arguments"]["path"], "src/out.txt");
    assert!(calls[5]["why"].as_str().unwrap().contains("outside"));
    // Whoever watches sees what goes on.
    let events = workspace.events();
    let activity: Vec<_> = events
        .iter()
        .filter(|event| event["event"] == "agent:activity")
        .map(|event| event["summary"].as_str().unwrap())
        .collect();
    assert_eq!(activity[..4], ["list .", "read given.txt", "write src/out.txt", "run cat src/out.txt"]);
    workspace.quorum(&["doctor", "state"]).exits(0);
    let said = workspace.quorum(&["logs", "work", "--tools"]).exits(0).stdout;
    assert_eq!(said, ledger);
}

#[test]
fn what_is_not_allowed_is_not_offered_and_refused() {
    for (tools, names) in [
        ("[read]", vec!["list", "read", "search"]),
        ("{read: allow, write: deny}", vec!["list", "read", "search"]),
    ] {
        let model = doing(
            vec![
                ("write", json!({"path": "x", "content": "x"})),
                ("run", json!({"shell": "touch x"})),
                ("read", json!({"path": "mission.yaml"})),
            ],
            "done",
        );
        let workspace = tool_worker(&model, tools, "type: research");
        workspace.run_json(0, &[]);
        let mut offered = offered(&model.asked()[0]);
        offered.retain(|name| !["ask", "delegate", "progress", "result"].contains(&name.as_str()));
        assert_eq!(offered, names);
        assert!(!workspace.exists("x"));
        let end = finished(&workspace);
        assert_eq!((&end["toolCalls"], &end["tools"]["failed"]), (&json!(1), &json!(2)));
    }
}

#[test]
fn a_model_that_calls_no_tool_has_not_done_the_work() {
    // One says that it did; another tried, and was denied.
    let idle = Model::new(|_| {
        says("I have implemented everything that was asked for, and it is all done. ".repeat(3))
    });
    let denied = doing(vec![("write", json!({"path": ".env", "content": "x"}))], "All is done.");
    for model in [&idle, &denied] {
        for more in ["type: implement", "requiresToolCalls: true", "type: test"] {
            let workspace = tool_worker(model, "[read, write]", more);
            let document = workspace.run_json(3, &[]);
            let work = task(&document, "work");
            assert_eq!(work["points"], 0.0, "{more}: {work}");
            assert_eq!(work["attempts"][0]["cause"], "preflight");
        }
    }
    // The same words stand for the work where none but words is asked for.
    let workspace = tool_worker(&idle, "[read, write]", "type: research");
    workspace.run_json(0, &[]);
    // Without tools nothing is known of its calls, and asking for them is refused beforehand.
    let text = workspace.read("mission.yaml");
    let text =
        text.replace(", tools: [read, write]", "").replace("type: research", "requiresToolCalls: true");
    workspace.write("mission.yaml", text);
    workspace.quorum(&["run", "mission.yaml"]).exits(2).says(&["Q0420", "`tools`"]);
}

#[test]
fn files_that_should_have_been_written_are_missed() {
    let model =
        doing(vec![("read", json!({"path": "mission.yaml"}))], "I have written the report to report.md.");
    let workspace = tool_worker(
        &model,
        "[read, write]",
        "targetFiles: [report.md], description: Write the report to the file report.md",
    );
    let document = workspace.run_json(3, &[]);
    assert_eq!(task(&document, "work")["points"], 20.0);
}

#[test]
fn what_is_protected_is_not_written_and_a_command_that_changes_it_fails_the_task() {
    let writes = doing(
        vec![
            ("write", json!({"path": "tests/a.txt", "content": "x"})),
            ("write", json!({"path": "way/a.txt", "content": "x"})),
            ("write", json!({"path": ".polpo/x", "content": "x"})),
            ("write", json!({"path": ".git/hooks/x", "content": "x"})),
            ("write", json!({"path": "../x", "content": "x"})),
            ("write", json!({"path": "free.txt", "content": "x"})),
        ],
        "done",
    );
    let workspace1 = tool_worker(&writes, "[read, write]", "protect: ['tests/**']");
    workspace1.write("tests/a.txt", "as it was");
    std::os::unix::fs::symlink("tests", workspace1.path("way")).unwrap();
    workspace1.run_json(0, &[]);
    assert_eq!(workspace1.read("tests/a.txt"), "as it was");
    assert_eq!((&finished(&workspace1)["tools"]["failed"], workspace1.exists("free.txt")), (&json!(5), true));
    let runs = doing(vec![("run", json!({"shell": "echo x >tests/a.txt"}))], "done");
    let workspace2 = tool_worker(&runs, "[run]", "protect: ['tests/**']");
    workspace2.write("tests/a.txt", "as it was");
    let document = workspace2.run_json(3, &[]);
    assert_eq!(task(&document, "work")["failure"]["mode"], "protected");
}

#[test]
fn a_command_dies_with_its_time_and_with_its_turn() {
    let model = doing(
        vec![("run", json!({"shell": "echo $$ >pid; sleep 60 & wait", "timeoutSeconds": 1}))],
        "It hung.",
    );
    let workspace1 = tool_worker(&model, "[run]", "type: research");
    workspace1.run_json(0, &[]);
    let given = results(model.asked().last().unwrap());
    assert!(given[0].starts_with("killed after its time-out of 1s"), "{given:?}");
    // The turn's own time ends the command, and the turn.
    let model = doing(vec![("run", json!({"shell": "echo $$ >pid; sleep 60 & wait"}))], "never said");
    let workspace2 = tool_worker(&model, "[run]", "maxDuration: 1s");
    let document = workspace2.run_json(3, &[]);
    assert_eq!(task(&document, "work")["failure"]["mode"], "timeout");
    let end = finished(&workspace2);
    assert_eq!(end["tools"]["calls"], 1);
    for workspace in [&workspace1, &workspace2] {
        let pid = read_pid(&workspace.path("pid"));
        wait_for("the end of the command", || !is_alive(pid));
    }
}

#[test]
fn a_provider_that_fails_in_the_middle_fails_the_turn_and_nothing_is_done_twice() {
    let model = Model::new(|body| match results(body).len() {
        0 => wants(&[("run", json!({"shell": "echo ran >>ran"}))]),
        _ => refuses(400, "context length exceeded"),
    });
    let workspace1 = tool_worker(&model, "[run]", "type: other");
    let document = workspace1.run_json(3, &[]);
    assert_eq!(task(&document, "work")["failure"]["class"], "context_too_long");
    assert_eq!(workspace1.lines("ran"), ["ran"]);
    assert_eq!(finished(&workspace1)["tools"]["calls"], 1);
    // One that is only busy is asked again, for the rest of the conversation.
    let busy = std::sync::atomic::AtomicBool::new(true);
    let model = Model::new(move |body| match results(body).len() {
        0 => wants(&[("run", json!({"shell": "echo ran >>ran"}))]),
        _ if busy.swap(false, std::sync::atomic::Ordering::Relaxed) => {
            ResponseTemplate::new(503).insert_header("retry-after-ms", "1")
        }
        _ => says("It is done."),
    });
    let workspace2 = tool_worker(&model, "[run]", "type: other");
    workspace2.run_json(0, &[]);
    assert_eq!(workspace2.lines("ran"), ["ran"]);
}

#[test]
fn a_turn_that_dies_with_its_runner_is_started_anew_and_with_side_effects_parked() {
    for (more, code, kinds) in
        [("type: other", 0, vec!["execute"]), ("sideEffects: true", 8, vec!["execute"])]
    {
        let model = Model::new(|body| match results(body).len() {
            0 => wants(&[(
                "run",
                json!({"shell": "echo turn >>turns; echo $$ >pid; [ -e again ] || { echo >hangs; sleep 60; }"}),
            )]),
            _ => says("It is done."),
        });
        let workspace = tool_worker(&model, "[run]", more);
        workspace.kill_at(&["run", "mission.yaml", "--json"], "hangs");
        // What it ran does not outlive it.
        let pid = read_pid(&workspace.path("pid"));
        wait_for("the end of the command", || !is_alive(pid));
        workspace.write("again", "");
        let document = workspace.resume_json(code, &[]);
        assert_eq!(attempts(&document, "work"), kinds, "{more}");
        let turns = workspace.lines("turns").len();
        assert_eq!(turns, if code == 0 { 2 } else { 1 }, "{more}");
        if code == 8 {
            assert_eq!(document["approvals"][0]["reason"], "side-effects");
        } else {
            let lost = workspace.events();
            assert!(lost.iter().any(|event| is(event, "work:ended turn lost")));
        }
    }
}

#[test]
fn a_model_asks_hands_down_and_tells_how_far_it_is() {
    let model = Model::new(|body| {
        let prompt = body["messages"].to_string();
        match results(body).len() {
            _ if prompt.contains("You are an independent reviewer") => says("SCORE: 90"),
            0 if !prompt.contains("Your questions") => wants(&[
                ("progress", json!({"text": "half way"})),
                ("ask", json!({"text": "Tabs or spaces?"})),
            ]),
            0 => wants(&[(
                "delegate",
                json!({"title": "part", "assignTo": "other", "description": "the rest"}),
            )]),
            1 => wants(&[("result", json!({"text": "The answer."}))]),
            _ => says("bye"),
        }
    });
    let workspace = tool_worker(
        &model,
        "[read]",
        "type: research, baseline: false, expectations: [{type: script, command: 'true'}]",
    )
    .tap_mission("evaluate: false, ", "")
    .tap_mission("agents:", "agents:\n  other: {run: echo the part is done}");
    let document = workspace.run_json(8, &[]);
    let approval = &document["approvals"][0];
    assert_eq!(approval["reason"], "question");
    assert!(approval["message"].as_str().unwrap().contains("Tabs or spaces?"));
    let id = approval["id"].as_str().unwrap().to_owned();
    workspace.quorum(&["answer", &id, "spaces"]);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "part").0, "done");
    let events = workspace.events();
    assert!(events.iter().any(|event| event["event"] == "agent:activity" && event["summary"] == "half way"));
    let said = workspace.quorum(&["logs", "work"]).exits(0).stdout;
    assert!(said.ends_with("The answer."), "{said}");
}

#[test]
fn who_may_not_run_commands_has_none_run_by_the_gate_of_work_it_hands_down() {
    let delegates = json!({"title": "part", "assignTo": "other", "verify": {"commands": ["touch ran"]}});
    let model = Model::new(move |body| match results(body).len() {
        0 => wants(&[("delegate", delegates.clone())]),
        _ => says("Handed down."),
    });
    for (tools, runs) in [("[read]", false), ("{read: allow, run: ask}", false), ("[read, run]", true)] {
        let workspace =
            tool_worker(&model, tools, "baseline: false, expectations: [{type: script, command: 'true'}]")
                .tap_mission("agents:", "agents:\n  other: {run: echo the part is done}");
        workspace.quorum(&["run", "mission.yaml", "--json"]);
        let told = results(model.asked().last().expect("it was asked")).concat();
        assert_eq!(told.contains("tools.run"), !runs, "{tools}: {told}");
        assert_eq!(workspace.exists("ran"), runs, "{tools}: {told}");
    }
}

#[test]
fn whoever_asks_and_then_says_nothing_has_asked() {
    let model = Model::new(|body| match results(body).len() {
        0 if !body["messages"].to_string().contains("Your questions") => {
            wants(&[("ask", json!({"text": "Tabs or spaces?"}))])
        }
        0 => says(
            "Every line of the file is to be indented with spaces, four of them a level, and none of them with tabs, \
                   as it is said in the answer.",
        ),
        // Then it does as it was told: it ends its turn.
        _ => says(""),
    });
    let workspace = tool_worker(&model, "[read]", "type: research");
    let document = workspace.run_json(8, &[]);
    assert_eq!(document["approvals"][0]["reason"], "question");
    let id = document["approvals"][0]["id"].as_str().unwrap().to_owned();
    workspace.quorum(&["answer", &id, "spaces"]);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
}

#[test]
fn false_green_17_a_worker_that_is_stopped_by_its_limits_has_not_done_its_work() {
    let model = Model::new(|body| match results(body).len() {
        0 => wants(&vec![("list", json!({"path": "."})); 401]),
        _ => says("All of it is done."),
    });
    let workspace = tool_worker(&model, "[read]", "type: research");
    let document = workspace.run_json(3, &[]);
    task(&document, "work")["failure"]["message"].says(&["stopped before it was done"]);
}

#[test]
fn requests_of_a_conversation_beyond_the_ceiling_are_no_success() {
    let calls = || vec![("list", json!({"path": "."})); 4];
    for (most, code) in [(5, 0), (4, 7)] {
        let model = doing(calls(), "done");
        let workspace = tool_worker(&model, "[read]", "type: research")
            .tap_mission("agents:", &format!("budget: {{maxRequests: {most}}}\nagents:"));
        let run = workspace.quorum(&["run", "mission.yaml"]).exits(code);
        if code == 7 {
            let said = "the request ceiling was overshot by 1";
            assert!(run.stdout.contains(said), "{}", run.stdout);
        }
        let document = workspace.quorum(&["status", "--json"]).json();
        assert_eq!(standing(&document, "work").0, "done");
        let over = &document["budget"]["overshoot"]["requests"];
        assert_eq!(over.as_u64(), (most == 4).then_some(1), "{over}");
    }
}

#[test]
fn a_command_that_prints_is_a_sign_of_life() {
    let model = doing(
        vec![(
            "run",
            // It prints, and nothing else is heard of it, for far longer than it may be silent.
            json!({"shell": "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo $n; sleep 0.2; done"}),
        )],
        "It worked.",
    );
    let workspace = tool_worker(&model, "[run]", "type: other, staleThreshold: 1s");
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
}

#[test]
fn tests_that_a_lost_turn_changed_are_missed_whatever_becomes_of_the_next_one() {
    let down = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_down = down.clone();
    let model = Model::new(move |body| match results(body).len() {
        // Once: the attempt after it finds the provider again.
        0 if is_down.swap(false, std::sync::atomic::Ordering::Relaxed) => refuses(400, "no"),
        0 => wants(&[(
            "run",
            json!({"shell": "[ -e again ] || { echo edited >tests/a.txt; echo >hangs; sleep 60; }"}),
        )]),
        _ => says("It is done."),
    });
    let workspace = tool_worker(&model, "[run]", "type: other, protect: ['tests/**']")
        .tap_mission("maxRetries: 0", "maxRetries: 2");
    workspace.write("tests/a.txt", "as it was");
    workspace.kill_at(&["run", "mission.yaml", "--json"], "hangs");
    workspace.write("again", "");
    down.store(true, std::sync::atomic::Ordering::Relaxed);
    let document = workspace.resume_json(3, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "retry"]);
    assert_eq!(task(&document, "work")["failure"]["mode"], "protected");
}

#[test]
fn a_provider_without_tools_fails_such_a_worker() {
    let model = Model::new(|body| match offered(body).is_empty() {
        false => refuses(400, "m does not support tools"),
        true => says("I did it all."),
    });
    let workspace = tool_worker(&model, "[write]", "type: other");
    let document = workspace.run_json(3, &[]);
    task(&document, "work")["failure"]["message"]
        .as_str()
        .unwrap()
        .to_owned()
        .says(&["does not support tools"]);
}

#[test]
fn tools_are_for_models() {
    for (tools, said) in [("[read, wrote]", "'wrote'"), ("{read: maybe}", "maybe"), ("{look: allow}", "look")]
    {
        let workspace = Workspace::with(&format!(
            "name: m\nagents: {{w: {{adapter: openai, model: m, tools: {tools}}}}}\ntasks: [{{title: t}}]\n"
        ));
        workspace.refuses(&[said]);
    }
    let workspace =
        Workspace::with("name: m\nagents: {w: {run: echo x, tools: [read]}}\ntasks: [{title: t}]\n");
    workspace.refuses(&["`tools` does not apply"]);
}

#[test]
fn a_reviewer_that_may_not_read_judges_by_what_it_is_shown() {
    let model = Model::new(|_| says("SCORE: 80"));
    let workspace = Mission::new()
        .agent("w", "echo work")
        .model("j", &model, json!({"tools": []}))
        .tasks(["t"])
        .workspace();
    workspace.run_json(0, &[]);
    assert!(model.asked().iter().all(|body| offered(body).is_empty()));
}

/// The rows of what others do before any judge is asked that need a ledger, with what is right here.
#[test]
fn preflight_goes_by_the_record_of_calls() {
    let words =
        "This is a long answer in words, and it is the work itself, for nothing but words was asked for. "
            .repeat(2);
    let read = ("read", json!({"path": "there.txt"}));
    let write = ("write", json!({"path": "there.txt", "content": "new"}));
    for (row, calls, more, points) in [
        (1, vec![read.clone(), read.clone(), read.clone()], "type: implement", None),
        (2, vec![read.clone()], "type: implement, targetFiles: [missing]", Some(20.0)),
        (3, vec![("write", json!({"path": "empty", "content": ""}))], "targetFiles: [empty]", Some(20.0)),
        (4, vec![read.clone()], "type: implement, targetFiles: [there.txt, missing]", Some(20.0)),
        (6, vec![read.clone()], "targetFiles: [folder]", Some(20.0)),
        (7, vec![], "type: implement", Some(0.0)),
        (8, vec![], "type: implement, targetFiles: [there.txt]", Some(0.0)),
        (11, vec![], "type: research", None),
        (13, vec![], "type: implement, requiresToolCalls: false", None),
        (14, vec![], "type: research, description: Write findings to a report", Some(20.0)),
        (15, vec![], "type: research, description: Save to notes.md", Some(20.0)),
        (17, vec![], "type: research, description: create the reporting", None),
        (19, vec![read.clone()], "type: research, description: Write findings to a report", Some(20.0)),
        (20, vec![write.clone()], "type: research, description: Write findings to a report", None),
        (21, vec![], "type: research, targetFiles: [there.txt]", Some(20.0)),
    ] {
        let says_at_last = words.clone();
        let model = Model::new(move |body| match calls.get(results(body).len()) {
            Some(call) => wants(std::slice::from_ref(call)),
            None => says(says_at_last.clone()),
        });
        let workspace = tool_worker(&model, "[read, write]", more);
        workspace.write("there.txt", "old");
        workspace.write("folder/x", "x");
        let finished = workspace.quorum(&["run", "mission.yaml", "--json"]);
        let document = finished.json();
        let work = task(&document, "work");
        assert_eq!(work["points"].as_f64(), points, "row {row}: {work}");
        assert_eq!(finished.code(), Some(if points.is_some() { 3 } else { 0 }), "row {row}");
    }
}

#[test]
fn what_a_model_says_beside_its_work_is_blotted_out_too() {
    let calls = [
        ("run", json!({"argv": ["curl", "-H", "Authorization: hush-hush-77"]})),
        ("ask", json!({"text": "Is hush-hush-77 still right?"})),
    ];
    for call in calls {
        let model = Model::new(move |body| match results(body).len() {
            0 => wants(std::slice::from_ref(&call)),
            _ => says("I wait. The value is hush-hush-77."),
        });
        let workspace = Mission::new()
            .model("w", &model, json!({"tools": {"run": "ask"}}))
            .agent_with("c", json!({"run": "true", "env": {"K": "${KVAL}"}}))
            .task("work", |t| t.unreviewed())
            .workspace();
        let secrets = [("KVAL", "hush-hush-77")];
        let document = workspace.quorum_with(&secrets, &["run", "mission.yaml", "--json"]).exits(8).json();
        document["approvals"][0]["message"].says(&["[redacted]"]).omits(&["hush"]);
        std::fs::read_to_string(workspace.journal()).unwrap().omits(&["hush-hush"]);
    }
}
