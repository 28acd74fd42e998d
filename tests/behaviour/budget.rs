//! Budgets: what a run may cost, use and take, held against agents that say what they used, lie about it or say nothing.

use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{Has, Says, Workspace, standing, task};

/// Tasks one after the other, each by an agent that claims this usage.
fn chain(tasks: usize, budget: &str, agent: &str, usage: &str) -> Workspace {
    let workspace = Workspace::new();
    let script = match usage {
        "" => "echo \"$QUORUM_TASK\" >> log; echo worked\n".to_owned(),
        usage => format!(
            "echo \"$QUORUM_TASK\" >> log; echo worked\necho '{{\"usage\": {usage}}}' > \"$QUORUM_RESULT_FILE\"\n"
        ),
    };
    workspace.write("worker.sh", script);
    let list: String = (1..=tasks)
        .map(|n| {
            format!(
                "  - {{title: t{n}, dependsOn: [{}]}}\n",
                if n > 1 { format!("t{}", n - 1) } else { String::new() }
            )
        })
        .collect();
    workspace.mission(&format!(
        "name: chain\n{budget}\nsettings: {{evaluate: false}}\nagents: {{worker: {{run: [/bin/sh, worker.sh]{agent}}}}}\ntasks:\n{list}"
    ));
    workspace
}

fn exhausted(workspace: &Workspace) -> Vec<Value> {
    let events = workspace.events().into_iter();
    events.filter(|event| event["event"] == "budget:exhausted").collect()
}

#[test]
fn requests_are_counted_to_the_last_one_and_over_all_sessions() {
    let workspace = chain(3, "budget: {maxRequests: 2}", "", "");
    let document = workspace.run_json(7, &[]);
    document.has(json!({"outcome": "limit", "resumable": true, "usage": {"requests": 2}}));
    assert_eq!(standing(&document, "t2").0, "done");
    assert_eq!(task(&document, "t3")["status"], "pending");
    assert_eq!(document["budget"]["maxRequests"], 2);
    assert_eq!(exhausted(&workspace)[0]["limit"], "maxRequests");
    // What was spent before the resume is inside.
    workspace.resume_json(7, &[]);
    assert_eq!(workspace.lines("log"), ["t1", "t2"]);
    let enough = chain(3, "budget: {maxRequests: 3}", "", "");
    assert_eq!(enough.run_json(0, &[])["usage"]["requests"], 3);
}

#[test]
fn a_cost_ceiling_ends_the_work_and_a_larger_one_goes_on() {
    let workspace = chain(4, "", "", r#"{"cost": 0.4}"#);
    let run = workspace.quorum(&["run", "mission.yaml", "--max-cost", "1"]);
    run.exits(7).shows(&["cost $1.20 of $1.00", "overshot by $0.20", "exit 7 (limit)", "quorum resume"]);
    let document = workspace.status();
    assert_eq!(
        document["usage"],
        json!({"requests": 3, "inputTokens": null, "outputTokens": null, "cost": 1.2, "budget": 1.0})
    );
    assert_eq!(document["budget"]["overshoot"]["cost"], 0.2);
    assert_eq!(document["budget"]["claimed"], 1.2, "it is the agents' own word");
    assert_eq!(task(&document, "t1")["usage"]["cost"], 0.4);

    let again = workspace.resume_json(7, &[]);
    assert_eq!(again["usage"]["requests"], 3, "the same ceiling starts nothing");
    let document = workspace.resume_json(0, &["--max-cost", "2"]);
    document.has(json!({"usage": {"cost": 1.6}, "counts": {"done": 4}}));
}

#[test]
fn false_green_17_a_run_beyond_its_budget_is_no_success() {
    let workspace = chain(1, "budget: {maxCost: 1}", "", r#"{"cost": 3}"#);
    let document = workspace.run_json(7, &[]);
    assert_eq!(standing(&document, "t1").0, "done");
    document.has(json!({"conditions": ["limit"], "budget": {"overshoot": {"cost": 2.0}}}));
    let exact = chain(1, "budget: {maxCost: 1}", "", r#"{"cost": 1}"#);
    exact.run_json(0, &[]);
}

#[test]
fn unknown_is_never_free() {
    for usage in ["", r#"{"cost": -5, "inputTokens": -1}"#] {
        let workspace = chain(3, "budget: {maxCost: 100}", "", usage);
        let document = workspace.run_json(7, &[]);
        document.has(json!({"usage": {"cost": null}, "budget": {"unknown": 1}}));
        document["budget"]["exhausted"].says(&["'worker'", "maxCostPerTurn"]);
        assert_eq!(workspace.lines("log"), ["t1"]);
        // A person's word goes on, until the next turn that says nothing.
        workspace.resume_json(7, &[]);
        assert_eq!(workspace.lines("log"), ["t1", "t2"]);
    }
    // The most that it may cost is charged; an agent that costs nothing is never held.
    let bounded = chain(3, "budget: {maxCost: 1}", ", maxCostPerTurn: 0.5", "");
    let document = bounded.run_json(7, &[]);
    assert_eq!(document["budget"]["charged"], 1.0);
    assert_eq!(bounded.lines("log"), ["t1", "t2"]);
    let free = chain(3, "budget: {maxCost: 0.01}", ", maxCostPerTurn: 0", "");
    free.run_json(0, &[]);
    // Without a ceiling it is shown as unknown and holds nothing.
    let document = chain(2, "", "", "").run_json(0, &[]);
    assert_eq!(document["usage"]["cost"], json!(null));
}

#[test]
fn tokens_have_a_ceiling_too() {
    let usage = r#"{"inputTokens": 90, "outputTokens": 10}"#;
    let workspace = chain(3, "", "", usage);
    let document =
        workspace.quorum(&["run", "mission.yaml", "--json", "--max-tokens", "150"]).exits(7).json();
    document.has(json!({"usage": {"inputTokens": 180}, "budget": {"overshoot": {"tokens": 50}}}));
    assert_eq!(exhausted(&workspace)[0]["limit"], "maxTokens");
    let silent = chain(2, "budget: {maxTokens: 1000}", "", "");
    silent.run_json(7, &[])["budget"]["exhausted"].says(&["tokens 'worker' used"]);
}

#[test]
fn reserved_room_is_waited_for_and_given_back() {
    // Two fit at a time; each leaves most of what was set aside for it.
    let workspace = Workspace::new();
    workspace.write(
        "worker.sh",
        "echo + >> log\nwhile [ ! -e go ]; do sleep 0.01; done\necho - >> log\necho worked\necho '{\"usage\": {\"cost\": 0.1}}' > \"$QUORUM_RESULT_FILE\"\n",
    );
    workspace.mission(
        "name: room\nbudget: {maxCost: 1}\nsettings: {evaluate: false, concurrency: 4}\n\
         agents: {worker: {run: [/bin/sh, worker.sh], maxCostPerTurn: 0.5}}\n\
         tasks: [{title: a}, {title: b}, {title: c}, {title: d}]\n",
    );
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    crate::support::wait_for("two at work", || workspace.exists("log") && workspace.lines("log").len() == 2);
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    assert_eq!(document["usage"]["cost"], 0.4);
    assert_eq!(workspace.lines("log")[..3], ["+", "+", "-"], "never three at once");
    let held = workspace.events().into_iter();
    assert!(held.filter(|event| event["event"] == "budget:exhausted").count() == 0);
}

#[test]
fn the_time_of_all_sessions_counts() {
    let workspace = chain(2, "budget: {maxTime: 1}", "", "");
    workspace.write("worker.sh", "echo \"$QUORUM_TASK\" >> log; sleep 0.05; echo worked\n");
    let document = workspace.run_json(7, &[]);
    assert_eq!(standing(&document, "t1").0, "done", "what runs may finish its turn");
    assert_eq!(exhausted(&workspace)[0]["limit"], "maxTime");
    workspace.resume_json(7, &[]);
    assert_eq!(workspace.lines("log"), ["t1"]);
}

#[test]
fn a_model_without_a_price_is_refused_before_anything_starts() {
    let mission = "name: unpriced\nbudget: {maxCost: 5}\nagents:\n  w:\n    adapter: openai\n    baseUrl: http://127.0.0.1:9/v1\n    model: gpt-x\n    apiKey: ${KEY}\ntasks: [{title: t}]\n";
    let workspace = Workspace::with(mission);
    for command in ["validate", "run"] {
        let ended = workspace.quorum_with(&[("KEY", "k")], &[command, "mission.yaml"]).exits(2);
        ended.says(&["Q0308", "mission.yaml:7:", "'gpt-x'", "settings.prices"]);
    }
    workspace.assert_nothing_started();
    // The flag asks for the same.
    workspace.mission(&mission.replace("budget: {maxCost: 5}\n", ""));
    workspace.quorum_with(&[("KEY", "k")], &["validate", "mission.yaml"]).exits(0);
    let refused = workspace.quorum_with(&[("KEY", "k")], &["run", "mission.yaml", "--max-cost", "5"]);
    refused.exits(2).says(&["'gpt-x'", "'w'", "no price"]);
    workspace.assert_nothing_started();
    workspace.quorum(&["run", "mission.yaml", "--max-cost", "0"]).exits(2);
}

#[test]
fn models_are_priced_by_what_the_provider_counted_judges_included() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = |text: &str, read: u64, written: u64| {
        ResponseTemplate::new(200).set_body_json(json!({
            "model": "used-1", "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": read, "completion_tokens": written},
        }))
    };
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        Mock::given(path("/w/chat/completions"))
            .respond_with(answer("the work", 1_000_000, 100_000))
            .mount(&server)
            .await;
        Mock::given(path("/j/chat/completions")).respond_with(answer("SCORE: 90", 3, 1)).mount(&server).await;
        server
    });
    let mission = "
name: priced
settings:
  prices: {w: {input: 0.1, output: 0.2}, used-1: {input: 9, output: 9}, j: {input: 1, output: 1}}
agents:
  w: {adapter: openai, baseUrl: '@server/w', model: w, apiKey: '${KEY}'}
  j: {adapter: openai, baseUrl: '@server/j', model: j, apiKey: '${KEY}', role: reviewer}
tasks:
  - {title: first, assignTo: w}
  - {title: second, assignTo: w, dependsOn: [first]}
"
    .replace("@server", &server.uri());
    let workspace = Workspace::with(&mission);
    let run = |flags: &[&str], code| {
        let mut all = vec!["run", "mission.yaml", "--json", "--fresh", "--yes"];
        all.extend(flags);
        workspace.quorum_with(&[("KEY", "k")], &all).exits(code).json()
    };
    // The model as returned has the first word: 1.1 million tokens at 9, and 4 tokens at 9.
    let document = run(&[], 0);
    assert_eq!(document["usage"]["cost"], 2.0 * (9.9 + 0.000_036));
    assert_eq!(task(&document, "first")["usage"]["cost"], 9.900_036);
    // The first turn and its judge use it up: the judge is a call like any other.
    let document = run(&["--max-cost", "9.9"], 7);
    assert_eq!(task(&document, "first")["status"], "review");
    assert_eq!(document["usage"]["requests"], 1, "the judge was not asked any more");
    let resumed = workspace.quorum_with(&[("KEY", "k")], &["resume", "--json", "--max-cost", "9.95"]);
    let document = resumed.exits(7).json();
    assert_eq!(standing(&document, "first").0, "done");
    assert_eq!(document["usage"]["requests"], 3, "its judge, and the turn that was then begun");
}

#[test]
fn what_a_killed_session_spent_stays_spent() {
    let workspace = chain(3, "budget: {maxRequests: 2}", "", "");
    workspace.write(
        "worker.sh",
        "echo \"$QUORUM_TASK\" >> log\nif [ $QUORUM_TASK = t2 ] && [ ! -e killed ]; then touch killed; kill -9 $(cat runner); fi\necho worked\n",
    );
    workspace.write("begin.sh", "echo $$ > runner; exec \"$@\"\n");
    let mut command = workspace.other_command("/bin/sh");
    command.args(["begin.sh", crate::support::BINARY, "run", "mission.yaml"]);
    let status = command.status().unwrap();
    assert!(!status.success());
    let document = workspace.resume_json(7, &[]);
    assert_eq!(document["usage"]["requests"], 2);
    assert_eq!(standing(&document, "t2").0, "done", "it was taken over");
    assert_eq!(workspace.lines("log"), ["t1", "t2"]);
}

#[test]
fn an_agent_can_say_what_its_turn_cost() {
    let workspace = chain(1, "", "", "");
    let quorum = crate::support::BINARY;
    workspace.write("worker.sh", format!("{quorum} result done {} 0.25 --input-tokens 3\n", "--cost"));
    let document = workspace.run_json(0, &[]);
    document["usage"].has(json!({"cost": 0.25, "inputTokens": 3}));
}

#[test]
fn what_a_task_cost_stands_in_the_junit_report() {
    let workspace = chain(1, "", "", r#"{"cost": 0.4}"#);
    workspace.run_json(0, &["--report", "junit=junit.xml"]);
    let report = workspace.read("junit.xml");
    assert!(report.contains(r#"<property name="cost" value="0.4"/>"#), "{report}");
}

#[test]
fn who_has_neither_a_price_nor_a_most_is_named_before_anything_starts() {
    let mission = |budget: &str, judge: &str, worker: &str| {
        Workspace::with(&format!(
            "
name: m
{budget}
agents:
  worker: {{run: 'cat > /dev/null; echo x > x.txt; echo done'{worker}}}
  judge: {{run: 'cat > /dev/null; echo SCORE: 90', role: reviewer{judge}}}
  idle: {{run: 'true'}}
  dummy: {{adapter: echo}}
tasks:
  - {{title: work, assignTo: worker, targetFiles: [x.txt]}}
  - {{title: noise, assignTo: dummy, review: none}}
"
        ))
    };
    let warned = |workspace: &Workspace, arguments: &[&str]| {
        let ended = workspace.quorum(arguments);
        let said = ended.stderr + &ended.stdout;
        let warns =
            |name: &&str| said.contains(&format!("'{name}' has neither a price nor `maxCostPerTurn`"));
        ["worker", "judge", "idle", "dummy"].into_iter().filter(warns).collect::<Vec<_>>()
    };
    for command in ["validate", "plan", "run"] {
        let most = ", maxCostPerTurn: 0.1";
        for (judge, worker, expected) in
            [("", "", &["worker", "judge"][..]), ("", most, &["judge"]), (most, ", maxCostPerTurn: 0", &[])]
        {
            let workspace = mission("budget: {maxCost: 3}", judge, worker);
            assert_eq!(warned(&workspace, &[command, "mission.yaml"]), expected, "{command}");
        }
        assert_eq!(warned(&mission("", "", ""), &[command, "mission.yaml"]), [""; 0], "{command}");
    }
    let workspace = mission("", "", "");
    assert_eq!(warned(&workspace, &["run", "--max-cost", "5"]), ["worker", "judge"]);
    let document = mission("budget: {maxCost: 3}", "", "").quorum(&["plan", "--json"]).exits(0).json();
    document["warnings"].to_string().as_str().says(&["'judge' has neither a price"]);
}
