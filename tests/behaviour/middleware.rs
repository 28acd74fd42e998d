//! Middleware (semantics, section 17): chains by name, words of authority, broken assumptions, criteria that say nothing.

use serde_json::{Value, json};

use crate::support::model::{Model, results, says, wants};
use crate::support::scenes::approvals::only_approval;
use crate::support::{Has, Mission, Says, Workspace, attempts, standing, task};

/// One task of an agent that keeps its prompt, does this, and says what `says.N` holds in its N-th attempt.
fn keeping(description: &str, settings: &str, more: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: around
agents: {{w: {{run: 'cat > prompt.$QUORUM_ATTEMPT; cat says.$QUORUM_ATTEMPT'}}}}
settings: {{{settings}}}
tasks:
  - {{title: work, description: \"{description}\", review: none{more}}}
"
    ));
    for attempt in 1..=4 {
        workspace.write(&format!("says.{attempt}"), "It is written.\n");
    }
    workspace
}

#[test]
fn words_of_authority_are_counted_and_to_be_weighed() {
    let workspace = keeping("As your manager, this is an order.", "", "");
    workspace.run_json(0, &[]);
    let prompt = workspace.read("prompt.1");
    assert!(
        prompt.starts_with("# Task: work\n") && prompt.contains("## Weigh what you are told"),
        "{prompt}"
    );
    assert!(prompt.contains("As your manager, this is an order."), "nothing is taken out: {prompt}");
    let cues = workspace.events().named("authority:cues");
    assert_eq!((cues.len(), &cues[0]["cues"]), (1, &json!(2)));
}

#[test]
fn a_prompt_without_them_or_without_the_guard_stays_as_it_is() {
    for (description, settings, more) in [
        ("Please complete the task. You mustache.", "", ""),
        ("You must complete this now.", "middleware: {agent: [assumption_violation]}", ""),
        ("You must complete this now.", "", ", middleware: []"),
    ] {
        let workspace = keeping(description, settings, more);
        workspace.run_json(0, &[]);
        assert!(!workspace.read("prompt.1").contains("Weigh"), "{description} {settings} {more}");
        assert!(workspace.events().named("authority:cues").is_empty());
    }
    // The task's own chain stands instead of the mission's.
    let workspace = keeping(
        "You must complete this now.",
        "middleware: {agent: []}",
        ", middleware: [authority_deference]",
    );
    workspace.run_json(0, &[]);
    assert!(workspace.read("prompt.1").contains("Weigh"));
}

#[test]
fn control_characters_never_reach_an_agent() {
    let workspace = keeping("bell \\x07 and escape \\x1b[31m", "", "");
    workspace.run_json(0, &[]);
    let prompt = workspace.read("prompt.1");
    assert!(!prompt.contains(['\u{7}', '\u{1b}']) && prompt.contains("bell"), "{prompt}");
}

const CHECKED: &str = ", expectations: [{type: test, command: 'test -e done'}]";

#[test]
fn a_broken_assumption_goes_to_a_person_before_anything_is_judged() {
    let workspace = keeping("Write it.", "", CHECKED);
    workspace.write("says.1", "I looked at it.\nThe dependency failed completely.\n");
    let document = workspace.run_json(8, &[]);
    assert_eq!(task(&document, "work")["status"], "awaiting_approval");
    let asked = &document["approvals"][0];
    assert_eq!(asked["reason"], "operator");
    assert!(asked["message"].as_str().unwrap().contains("dependency failed completely"), "{asked}");
    let escalated = workspace.events().named("task:escalated");
    escalated[0].has(json!({"kind": "dependency_failed", "evidence": "The dependency failed completely."}));
    assert!(workspace.events().named("work:ended check").is_empty(), "judged before a person was asked");

    // What the person says is what the agent goes on with.
    workspace.quorum(&["reject", &only_approval(&workspace)]).exits(2);
    let id = only_approval(&workspace);
    workspace.quorum(&["reject", &id, "--reason", "It is back since noon."]).exits(0);
    workspace.write("done", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    assert!(workspace.read("prompt.2").contains("It is back since noon."));
}

#[test]
fn a_persons_yes_has_the_work_judged_and_is_no_review_of_it() {
    let workspace = keeping("Write it.", "maxFixAttempts: 0, maxRetries: 0", CHECKED);
    workspace.write("says.1", "The acceptance criteria conflict.\n");
    workspace.run_json(8, &[]);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    // The check still fails.
    let document = workspace.resume_json(3, &[]);
    assert_eq!(standing(&document, "work").0, "failed");

    let workspace = keeping("Write it.", "", "");
    workspace.write("says.1", "I am stuck because the schema changed.\n");
    workspace.run_json(8, &[]);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
}

#[test]
fn what_is_only_supposed_or_not_listened_to_is_judged_like_all_work() {
    let workspace = keeping("Write it.", "", "");
    workspace.write("says.1", "If a dependency failed, the task is skipped.\n");
    workspace.run_json(0, &[]);
    let workspace = keeping("Write it.", "middleware: {agent: [authority_deference]}", "");
    workspace.write("says.1", "The dependency failed.\n");
    workspace.run_json(0, &[]);
    assert!(workspace.events().named("task:escalated").is_empty());
}

#[test]
fn a_model_is_heard_too() {
    for tools in ["", ", tools: [read]"] {
        let model = Model::new(|_| says("I cannot proceed because the precondition has changed."));
        let workspace = Workspace::with(&format!(
            "name: m\nagents: {{w: {{adapter: openai, model: m, baseUrl: '{}'{tools}}}}}\ntasks: [{{title: work, review: none}}]\n",
            model.base()
        ));
        let document = workspace.run_json(8, &[]);
        assert_eq!(document["approvals"][0]["reason"], "operator", "{tools}");
        assert_eq!(workspace.events().named("task:escalated")[0]["kind"], "precondition_changed");
    }
}

#[test]
fn a_command_that_destroys_more_than_the_workspace_is_refused() {
    let model = Model::new(|body| match results(body).len() {
        0 => wants(&[("run", json!({"shell": "cd build; rm -rf ~"}))]),
        1 => wants(&[("run", json!({"argv": ["true"]}))]),
        _ => says("I tried."),
    });
    let workspace = Mission::new()
        .model("w", &model, json!({"tools": ["run"]}))
        .task("work", |t| t.unreviewed())
        .workspace();
    workspace.run_json(0, &[]);
    let asked = model.asked();
    results(asked.last().unwrap())[0].says(&["refused: it deletes everything"]);
}

#[test]
fn work_about_something_else_is_warned_about_where_that_is_asked_for() {
    let more = ", middleware: [semantic_drift]";
    let workspace = keeping("Describe the parser of the configuration file.", "", more);
    workspace.write("says.1", "Bananas are yellow, and sweet when they are ripe.\n");
    workspace.quorum(&["run", "mission.yaml"]).exits(0).says(&["semantic_drift: 0."]);
    let workspace = keeping("Describe the parser of the configuration file.", "", more);
    workspace.write("says.1", "The parser of the configuration file reads it line by line.\n");
    workspace.run_json(0, &[]);
    assert!(workspace.events().named("warning").is_empty());
}

/// A mission of one task with this acceptance, checked by `validate`.
fn judged_by(acceptance: &str, settings: &str) -> Workspace {
    let acceptance = match acceptance {
        "" => String::new(),
        some => format!("    acceptance: {some}\n"),
    };
    Workspace::with(&format!(
        "name: m\nagents: {{w: {{run: 'true'}}, j: {{adapter: openai, model: m, baseUrl: 'http://127.0.0.1:9', role: reviewer}}}}\n\
         settings: {{{settings}}}\ntasks:\n  - title: work\n    assignTo: w\n{acceptance}"
    ))
}

#[test]
fn criteria_that_say_nothing_are_warned_about_and_refused_where_that_is_asked_for() {
    for (acceptance, words) in [
        ("[short]", &["is too short to say what is to be judged"][..]),
        ("[done]", &["too short", "only says that the work is to be finished"]),
        ("[The task is complete]", &["only says that the work is to be finished"]),
    ] {
        let lenient = judged_by(acceptance, "");
        let seen = lenient.quorum(&["validate", "mission.yaml"]).exits(0);
        seen.says(&["warning[Q0423]"]).says(words);
        let strict = judged_by(acceptance, "clarification: enforce");
        let ended = strict.quorum(&["run", "mission.yaml"]).exits(2);
        ended.says(&["error[Q0423]", "mission.yaml:7:18"]).says(words);
        strict.assert_nothing_started();
    }
    // Nobody has to write criteria, unless that is asked for.
    let seen = judged_by("", "clarification: warn").quorum(&["validate", "mission.yaml"]).exits(0);
    assert!(!seen.stderr.contains("Q0423"), "{}", seen.stderr);
    // A gate that the chain leaves out looks at nothing, unless it is asked for.
    let seen =
        judged_by("[done]", "middleware: {coordination: []}").quorum(&["validate", "mission.yaml"]).exits(0);
    assert!(!seen.stderr.contains("Q0423"), "{}", seen.stderr);
    judged_by("[done]", "clarification: enforce, middleware: {coordination: []}")
        .quorum(&["validate", "mission.yaml"])
        .exits(2);
    let ended = judged_by("", "clarification: enforce").quorum(&["validate", "mission.yaml"]).exits(2);
    ended.says(&["has no criteria that its work is accepted by"]);
    let specific =
        "[All unit tests pass with 80% coverage, API endpoint returns 200 OK, Login works with SSO via Okta]";
    judged_by(specific, "clarification: enforce").quorum(&["validate", "mission.yaml"]).exits(0);
}

#[test]
fn names_that_are_unknown_or_twice_there_are_errors() {
    for (middleware, words) in [
        ("agent: [authority]", "authority"),
        ("agent: [policy_gate, policy_gate]", "twice"),
        ("coordination: [plan_review]", "plan_review_gate"),
        ("coordination: [task_ledger, task_ledger]", "twice"),
    ] {
        let workspace = keeping("x", &format!("middleware: {{{middleware}}}"), "");
        workspace.refuses(&[words]);
    }
    keeping("x", "", ", middleware: [semantic_drift, semantic_drift]")
        .quorum(&["run", "mission.yaml"])
        .exits(2)
        .says(&["twice"]);
}

#[test]
fn settings_of_a_project_that_nothing_acts_on_are_refused() {
    let workspace = keeping("x", "", "");
    workspace.write("quorum.yaml", "settings: {hooks: {task-done: 'true'}}\n");
    workspace.refuses(&["error[Q0210]", "quorum.yaml:1:"]);
}

#[test]
fn of_what_a_command_printed_only_the_end_is_heard() {
    let workspace = keeping("Write it.", "", "");
    workspace.write("says.1", "Dependency failed for Local File Systems.\nthree\nmore\nlines\n");
    workspace.run_json(0, &[]);
    assert!(workspace.events().named("task:escalated").is_empty());
}

#[test]
fn work_is_done_again_that_another_chain_was_around() {
    let workspace = keeping("You must write it.", "", "");
    workspace.run_json(0, &[]);
    let workspace = workspace.tap_mission("review: none}", "review: none, middleware: []}");
    let document = workspace.resume_json(0, &["--accept-changed-mission"]);
    assert_eq!(attempts(&document, "work"), ["execute", "execute"]);
    assert!(!workspace.read("prompt.2").contains("Weigh"));
}

#[test]
fn a_plan_says_what_runs_around_whom_and_in_which_order() {
    let chain =
        "middleware: {agent: [cost_recording, assumption_violation, authority_deference, checkpoint_resume]}";
    let workspace = keeping("x", chain, "");
    let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    let named = |rows: &Value| -> Vec<(String, Value)> {
        let rows = rows.as_array().expect("a list").iter();
        rows.map(|row| (row["hook"].as_str().unwrap().to_owned(), row["entries"].clone())).collect()
    };
    let row = |hook: &str, entries: Value| (hook.to_owned(), entries);
    assert_eq!(
        named(&plan["middleware"]["agent"]),
        [
            row("beforeAgent", json!(["authority_deference", "checkpoint_resume"])),
            row("afterModel", json!(["assumption_violation"])),
            row("afterAgent", json!(["cost_recording"])),
        ]
    );
    // Nobody can look into a command: what has its place inside runs next to it.
    assert_eq!(plan["agents"][0]["hooks"], json!(["beforeAgent", "afterAgent"]));
    let around = named(&plan["agents"][0]["middleware"]);
    assert_eq!(
        around[1],
        row("afterAgent", json!(["assumption_violation", "cost_recording"])),
        "from right to left"
    );
    workspace.quorum(&["plan", "mission.yaml"]).exits(0).shows(&[
        "around every turn: beforeAgent authority_deference, checkpoint_resume",
        "hooks around w: beforeAgent, afterAgent",
    ]);
}

#[test]
fn a_model_with_tools_has_all_six_hooks_around_it_and_the_graph_has_its_chain() {
    let workspace = Mission::new()
        .agent_with(
            "w",
            json!({
                "adapter": "openai",
                "model": "m",
                "baseUrl": "http://127.0.0.1:9",
                "tools": ["read"],
            }),
        )
        .task("work", |t| t.unreviewed())
        .workspace();
    let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    assert_eq!(
        plan["agents"][0]["hooks"],
        json!(["beforeAgent", "beforeModel", "wrapModelCall", "wrapToolCall", "afterModel", "afterAgent"])
    );
    assert_eq!(
        plan["middleware"]["coordination"],
        json!([
            "clarification_gate",
            "task_ledger",
            "plan_review_gate",
            "progress_ledger",
            "coordination_replan",
            "authority_deference_coordination"
        ])
    );
    let hooks = plan["middleware"]["coordinationHooks"].as_array().unwrap();
    let hooks: Vec<_> = hooks.iter().map(|row| (&row["hook"], &row["entries"])).collect();
    assert_eq!(
        hooks,
        [
            (&json!("beforeDecompose"), &json!(["clarification_gate"])),
            (&json!("afterDecompose"), &json!(["plan_warnings"])),
            (&json!("beforeDispatch"), &json!(["task_ledger", "plan_review_gate"])),
            (&json!("afterRollup"), &json!(["progress_ledger", "coordination_replan"])),
            (&json!("beforeUpdateParent"), &json!(["authority_deference_coordination"])),
        ]
    );
}

#[test]
fn what_tools_give_back_reaches_a_model_clean() {
    let model = Model::new(|body| match results(body).len() {
        0 => wants(&[("run", json!({"shell": "printf 'bell \\007 key %s\\n' \"$(cat key)\""}))]),
        _ => says("I saw it."),
    });
    let workspace = Mission::new()
        .model("w", &model, json!({"tools": ["run"], "apiKey": "${W_KEY}"}))
        .task("work", |t| t.unreviewed())
        .workspace();
    workspace.write("key", "sk-very-secret-1");
    workspace.quorum_with(&[("W_KEY", "sk-very-secret-1")], &["run", "mission.yaml"]).exits(0);
    let told = results(model.asked().last().unwrap());
    // The key is taken out of the file to which the command printed, as of every command's.
    let stars = "*".repeat("sk-very-secret-1".len());
    assert!(told[0].contains(&format!("bell  key {stars}")) && !told[0].contains('\u{7}'), "{told:?}");
}

#[test]
fn every_task_is_on_record_with_the_digest_of_its_text() {
    let workspace = keeping("x", "", "");
    workspace.run_json(0, &[]);
    let created = workspace.events().named("task:created");
    let hash = created[0]["task"]["chainHash"].as_str().unwrap().to_owned();
    assert_eq!((hash.len(), hash.chars().all(|c| c.is_ascii_hexdigit())), (64, true));
    let other = keeping("y", "", "");
    other.run_json(0, &[]);
    assert_ne!(other.events().named("task:created")[0]["task"]["chainHash"], json!(hash));
}

/// A model with these tools, whose first reply wants this call and whose second is its work, under a chain of all entries but one.
fn without(entry: &str, tools: Value, call: (&str, Value)) -> (Model, Workspace) {
    let wanted = (call.0.to_owned(), call.1);
    let model = Model::new(move |body| match results(body).len() {
        0 => wants(&[(&wanted.0, wanted.1.clone())]),
        _ => says(
            "I did what was asked as far as I was let, and this is a report that is long enough to say what came of each call: \
             the first one was made once.",
        ),
    });
    let chain = [
        "checkpoint_resume",
        "delegation_chain_hash",
        "authority_deference",
        "sanitize_message",
        "security_interceptor",
        "policy_gate",
        "approval_gate",
        "assumption_violation",
        "classification",
        "cost_recording",
    ];
    let chain: Vec<&str> = chain.into_iter().filter(|name| *name != entry).collect();
    let workspace = Mission::new()
        .model("w", &model, json!({"tools": tools}))
        .task("work", |t| t.unreviewed().set("middleware", json!(chain)))
        .workspace();
    (model, workspace)
}

#[test]
fn a_denied_tool_is_there_only_without_the_policy_gate() {
    for (entry, is_there) in [("policy_gate", true), ("approval_gate", false)] {
        let (model, workspace) =
            without(entry, json!(["read"]), ("write", json!({"path": "a.txt", "content": "x"})));
        workspace.run_json(0, &[]);
        let offered = model.asked()[0]["tools"].to_string();
        assert_eq!(
            (offered.contains("\"write\""), workspace.exists("a.txt")),
            (is_there, is_there),
            "{entry}"
        );
    }
}

#[test]
fn nobody_is_asked_about_a_tool_call_without_the_approval_gate() {
    for (entry, code) in [("approval_gate", 0), ("policy_gate", 8)] {
        let call = ("run", json!({"argv": ["touch", "made"]}));
        let (_model, workspace) = without(entry, json!({"run": "ask"}), call);
        workspace.run_json(code, &[]);
        assert_eq!(workspace.exists("made"), code == 0, "{entry}");
    }
}

#[test]
fn without_the_security_interceptor_a_destructive_command_is_not_refused() {
    for (entry, is_refused) in [("security_interceptor", false), ("policy_gate", true)] {
        // It fails before it could destroy anything: the program is not there.
        let call = ("run", json!({"argv": ["mkfs.none-such", "/dev/none-such"]}));
        let (model, workspace) = without(entry, json!(["run"]), call);
        workspace.run_json(0, &[]);
        let given = results(model.asked().last().unwrap())[0].clone();
        assert_eq!(given.contains("refused:"), is_refused, "{entry}: {given}");
    }
}

#[test]
fn control_characters_stay_without_sanitize_message() {
    let workspace = keeping("bell \\x07", "", ", middleware: [cost_recording]");
    workspace.run_json(0, &[]);
    assert!(workspace.read("prompt.1").contains('\u{7}'));
}

#[test]
fn no_digest_is_on_record_without_the_chain_hash() {
    let workspace = keeping("x", "", ", middleware: [cost_recording]");
    workspace.run_json(0, &[]);
    let created = &workspace.events().named("task:created")[0]["task"];
    assert_eq!(created.get("chainHash"), None, "{created}");
}

#[test]
fn a_failure_has_no_class_without_classification() {
    for (chain, class) in [("", "provider_auth"), (", middleware: [cost_recording]", "unknown")] {
        let workspace = Workspace::with(&format!(
            "name: m\nagents: {{w: {{run: 'cat > /dev/null; echo \"401 Unauthorized: invalid api key\" >&2; exit 1'}}}}\n\
             tasks: [{{title: work, review: none, maxAttempts: 1{chain}}}]\n"
        ));
        let document = workspace.run_json(3, &[]);
        assert_eq!(task(&document, "work")["failure"]["class"], class, "{}", task(&document, "work"));
    }
}

#[test]
fn usage_is_unknown_without_cost_recording() {
    for (chain, requests) in [("", true), (", middleware: [classification]", false)] {
        let model = Model::new(|_| {
            says("This is the work that was asked for, told at some length so that it counts as work.")
        });
        let workspace = Workspace::with(&format!(
            "name: m\nagents: {{w: {{adapter: openai, model: m, baseUrl: '{}'}}}}\ntasks: [{{title: work, review: none{chain}}}]\n",
            model.base()
        ));
        let document = workspace.run_json(0, &[]);
        let usage = &task(&document, "work")["usage"];
        assert_eq!(usage["inputTokens"].as_u64().is_some(), requests, "{usage}");
    }
}

#[test]
fn chains_of_a_settings_file_that_leave_out_a_guard_are_told() {
    for (chain, what) in [
        ("agent: [cost_recording]", "models get tools that are denied to them"),
        ("agent: [cost_recording]", "no person is asked about tool calls"),
        ("coordination: [task_ledger]", "no person is asked to agree to the plan"),
    ] {
        let workspace = keeping("x", "", "");
        workspace.write("quorum.yaml", format!("settings: {{middleware: {{{chain}}}}}\n"));
        workspace.quorum(&["run", "mission.yaml"]).exits(0).says(&[what]);
    }
}
