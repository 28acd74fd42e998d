//! Budgets: what a run may cost, use and take, held against agents that say what they used, lie about it or say nothing.

use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::model::{Model, says};
use crate::support::scenes::pictures::shot;
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
    assert_eq!(document["usage"]["requests"], 2, "its judge: what is left is kept for judging");
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

/// Two drafts at once, which together come to the whole ceiling, each with a judge.
fn drafts(budget: &str, judge: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: drafts
{budget}
settings: {{concurrency: 2}}
agents:
  writer: {{run: [/bin/sh, write.sh], maxCostPerTurn: 0.5}}
  judge: {{role: reviewer, maxCostPerTurn: 0.1, {judge}}}
tasks:
  - {{title: a, assignTo: writer, targetFiles: [a.txt]}}
  - {{title: b, assignTo: writer, targetFiles: [b.txt]}}
"
    ));
    workspace.write(
        "write.sh",
        "cat > /dev/null; echo text > \"$QUORUM_TASK.txt\"; echo done
echo '{\"usage\": {\"cost\": 0.5, \"inputTokens\": 400, \"outputTokens\": 100}}' > \"$QUORUM_RESULT_FILE\"\n",
    );
    workspace
}

const JUDGE: &str = "run: 'cat > /dev/null; echo asked >> asked; echo SCORE: 90'";

#[test]
fn what_is_kept_for_judging_is_there_when_the_work_is_to_be_judged() {
    // Nothing is kept: the drafts use it up, and nobody has looked at them.
    let nothing = drafts("budget: {maxCost: 1, reserveForJudging: 0}", JUDGE);
    let document = nothing.run_json(7, &[]);
    assert_eq!(["a", "b"].map(|title| standing(&document, title).0), ["review", "review"]);
    assert!(!nothing.exists("asked"));
    assert_eq!(exhausted(&nothing)[0]["limit"], "maxCost");

    // A share is kept where a ceiling is set and work is judged, whoever sets the ceiling.
    for (budget, flags) in [("budget: {maxCost: 1}", &[][..]), ("", &["--max-cost", "1"])] {
        let workspace = drafts(budget, JUDGE);
        let document = workspace.run_json(7, flags);
        document["counts"].has(json!({"done": 1, "clean": 1, "failed": 0}));
        assert_eq!(document["budget"]["reserveForJudging"], 0.15);
        let said = &document["budget"]["exhausted"];
        said.says(&["15 % is kept for judging (`reserveForJudging`)", "$0.25 is left"]);
        let limits = exhausted(&workspace).into_iter().map(|event| event["limit"].clone());
        assert_eq!(limits.collect::<Vec<Value>>(), ["reserveForJudging"]);
        // What is left is still kept.
        let again = workspace.quorum(&["resume"]).exits(7);
        again.shows(&["tasks: 1 of 2 done", "is kept for judging", "--max-cost N"]);
        workspace.resume_json(0, &["--max-cost", "2"]);
    }
    // Where nobody judges nothing is kept.
    let unjudged = drafts("budget: {maxCost: 1}", JUDGE);
    let document = unjudged.run_json(0, &["--no-eval"]);
    assert_eq!(document["budget"]["reserveForJudging"], Value::Null);
}

#[test]
fn a_share_of_the_tokens_is_kept_too() {
    let model = Model::new(|_| says("SCORE: 90"));
    let judge = format!("adapter: openai, model: m, baseUrl: '{}'", model.base());
    let workspace = drafts("budget: {maxTokens: 700, reserveForJudging: 0.3}", &judge);
    let run = workspace.quorum(&["run", "mission.yaml", "--jobs", "1"]).exits(7);
    run.shows(&["clean: 1", "700 tokens, of which 30 % is kept for judging", "--max-tokens N"]);
    // Half of it would do for the second draft.
    let enough = drafts("budget: {maxTokens: 1300, reserveForJudging: 0.5}", &judge);
    enough.run_json(0, &["--jobs", "1"]);
}

#[test]
fn whoever_gives_a_verdict_may_use_what_is_kept() {
    let workspace = Workspace::with(
        "
name: everybody judges
budget: {maxCost: 1}
settings: {concurrency: 2}
agents:
  writer: {run: [/bin/sh, write.sh], maxCostPerTurn: 0.5}
  free: {run: 'cat > /dev/null; echo > first.txt; echo done', maxCostPerTurn: 0}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge], role: reviewer, maxCostPerTurn: 0.01}
  lead: {run: [/bin/sh, '@agents/judge.sh', lead], maxCostPerTurn: 0.01}
  mallet: {run: [/bin/sh, '@agents/judge.sh', mallet], maxCostPerTurn: 0.01}
  eye: {run: [/bin/sh, '@agents/judge.sh', eye], vision: true, maxCostPerTurn: 0.01}
  grader: {run: [/bin/sh, '@agents/judge.sh', grader], maxCostPerTurn: 0.01}
rubrics: {whole: {criteria: [{name: whole, weight: 1, grade: binary}]}}
stages: [{name: licence, agent: lead}]
redTeam: {agent: mallet}
vision: {screenshots: [shot.png], kind: llm_vision, agent: eye}
tasks:
  - {title: a, assignTo: writer, targetFiles: [a.txt]}
  - {title: first, assignTo: free, review: none}
  - {title: late, assignTo: writer, dependsOn: [first], review: none}
  - {title: v, type: verification, assignTo: grader, dependsOn: [a], verification: {rubric: whole},
     onPass: later, onFail: later, onRefer: later}
  - {title: later, assignTo: writer, review: none}
",
    );
    workspace.write(
        "write.sh",
        "cat > /dev/null; while [ ! -e first.txt ]; do sleep 0.01; done; echo text > a.txt; echo done; echo '{\"usage\": {\"cost\": 0.9}}' > \"$QUORUM_RESULT_FILE\"\n",
    );
    workspace.write("shot.png", shot([0, 0, 250]));
    workspace.judge("judge", &["SCORE: 90"]);
    workspace.judge("lead", &[r#"{"verdict": "pass", "reason": "free"}"#]);
    for eye in ["mallet", "eye"] {
        workspace.judge(eye, &[r#"{"findings": [], "summary": "looked"}"#]);
    }
    let graded = json!({"criteria": {"whole": {"grade": 1, "reasoning": "it is there"}}, "verdict": "pass",
                        "confidence": 0.9});
    workspace.judge("grader", &[graded]);
    let document = workspace.run_json(7, &[]);
    assert_eq!(standing(&document, "a"), ("done", "clean"));
    assert_eq!(standing(&document, "v").0, "done");
    assert_eq!(["late", "later"].map(|title| standing(&document, title).0), ["pending"; 2]);
    assert_eq!(
        ["judge", "lead", "mallet", "eye", "grader"].map(|judge| workspace.calls(judge)),
        [1, 2, 2, 2, 1]
    );
    assert_eq!(exhausted(&workspace)[0]["limit"], "reserveForJudging");
    assert_eq!(document["budget"]["overshoot"]["cost"], Value::Null);
    // It is decided again as it is on record.
    workspace.quorum(&["review", "--replay"]).exits(0);
}

#[test]
fn a_judge_who_was_killed_is_asked_again_with_what_is_kept() {
    let slow =
        "run: 'cat > /dev/null; echo > judging; while [ ! -e go ]; do sleep 0.01; done; echo SCORE: 90'";
    let workspace = drafts("budget: {maxCost: 1}", slow);
    workspace.kill_at(&["run", "mission.yaml"], "judging");
    workspace.write("go", "");
    let document = workspace.resume_json(7, &[]);
    document["counts"].has(json!({"done": 1, "clean": 1, "failed": 0}));
    document["budget"].has(json!({"reserveForJudging": 0.15, "charged": 0.2}));
    assert_eq!(exhausted(&workspace)[0]["limit"], "reserveForJudging");
}

#[test]
fn a_share_that_leaves_no_turn_is_refused_and_one_that_nobody_wrote_gives_way() {
    let words = ["Q0310", "mission.yaml:6:", "'writer'", "reserveForJudging", "maxCostPerTurn"];
    for budget in
        ["budget: {maxCost: 1, reserveForJudging: 0.6}", "budget: {maxCost: 0.5, reserveForJudging: 0.1}"]
    {
        let workspace = drafts(budget, JUDGE);
        for command in ["validate", "plan"] {
            workspace.quorum(&[command, "mission.yaml"]).exits(2).says(&words);
        }
        workspace.refuses(&words);
    }
    // A judge may use all of it.
    let dear = drafts("budget: {maxCost: 1, reserveForJudging: 0.5}", JUDGE);
    let text = dear.read("mission.yaml").replace("maxCostPerTurn: 0.1", "maxCostPerTurn: 0.9");
    dear.mission(&text);
    dear.quorum(&["validate", "mission.yaml"]).exits(0);
    let plan = |budget: &str, flags: &[&str]| {
        let workspace = drafts(budget, JUDGE);
        let text = workspace.quorum(&[&["plan", "mission.yaml"], flags].concat()).exits(0).stdout;
        let document =
            workspace.quorum(&[&["plan", "mission.yaml", "--json"], flags].concat()).exits(0).json();
        text.says(&[document["cost"]["text"].as_str().unwrap_or_default()]);
        text
    };
    plan("budget: {maxCost: 1}", &[]).says(&["$1.00 at most", "15 % of the budget is kept for judging"]);
    plan("budget: {maxTokens: 9}", &[]).says(&["15 % of the budget is kept for judging"]);
    let gives_way = ["nothing of the budget is kept for judging", "15 %"];
    plan("budget: {maxCost: 0.55}", &[]).says(&gives_way);
    plan("", &["--max-cost", "0.55"]).says(&gives_way);
    for (budget, flags) in
        [("", &[][..]), ("budget: {maxCost: 1}", &["--no-eval"]), ("budget: {maxRequests: 9}", &[])]
    {
        assert!(!plan(budget, flags).contains("kept for judging"), "{budget}");
    }
    // With all of it the first turn begins.
    let workspace = drafts("budget: {maxCost: 0.55}", JUDGE);
    workspace.run_json(7, &["--jobs", "1"])["usage"].has(json!({"requests": 1}));
}
