//! `fallback`: who judges, or goes on with the work, instead of an agent that cannot be reached.

use serde_json::json;

use crate::support::{Has, Mission, Says, Workspace, attempts, standing, task, wait_for_file};

/// Work that `a` judges by `task`; `a` cannot be reached, and `b` stands in.
fn workspace(reply: &str) -> Workspace {
    let workspace = Mission::new()
        .worker("echo done")
        .agent_with(
            "a",
            json!({
                "run": r#"echo "HTTP 401 Unauthorized" >&2; exit 1"#, "role": "reviewer", "fallback": "b"
            }),
        )
        .answerer("b", &[])
        .task("work", |t| t)
        .workspace();
    workspace.judge("b", &[reply]);
    workspace
}

const GRADES: &str = r#"{"criteria": {"correctness": {"grade": 1}, "completeness": {"grade": 1},
    "probe-adherence": {"grade": 1}}, "verdict": "pass", "confidence": 1}"#;

#[test]
fn the_agent_that_stands_in_judges_and_is_on_record() {
    let table = [
        ("review: required", "SCORE: 90"),
        ("review: none, verification: {rubric: default-task}", GRADES),
        ("review: none, stages: [{name: legal, agent: a}]", r#"{"verdict": "pass"}"#),
    ];
    for (keys, reply) in table {
        let workspace = workspace(reply).tap(|m| m.change("work", |t| t.with(keys)));
        let document = workspace.run_json(0, &[]);
        assert_eq!(standing(&document, "work"), ("done", "clean"), "{keys}");
        assert_eq!(task(&document, "work")["reviews"][0]["reviewer"], "b", "{keys}");
        let events = workspace.events();
        let fallback = events.first_named("agent:fallback");
        fallback.has(json!({"agentName": "a", "insteadName": "b", "class": "provider_auth"}));
        let ended = workspace.quorum(&["show", "work", "--full"]).exits(0);
        ended.shows(&["'b' judged instead of 'a', which could not be reached"]);
        workspace.quorum(&["events"]).exits(0).shows(&["agent:fallback"]);
    }
}

#[test]
fn nobody_stands_in_for_its_own_work_and_bad_names_are_refused() {
    let own = workspace("SCORE: 90")
        .tap(|m| m.change("work", |t| t.set("review", "required")).change_agent("a", "fallback: worker"));
    let document = own.run_json(6, &[]);
    assert_eq!(task(&document, "work")["waiting"]["reason"], "refer");
    for (fallback, words) in [
        ("fallback: bb", &["there is no agent", "bb", "did you mean"][..]),
        ("fallback: [b, a]", &["cannot stand in for itself"]),
        ("fallback: []", &["fallback"]),
    ] {
        let bad = workspace("")
            .tap(|m| m.change("work", |t| t.set("review", "required")).change_agent("a", fallback));
        bad.refuses(words);
    }
}

#[test]
fn whoever_stands_in_must_be_there_before_anything_starts() {
    let workspace = workspace("").tap(|m| m.change("work", |t| t.set("review", "required")));
    let workspace = workspace.tap(|m| m.agent_with("b", json!({"run": ["/nowhere/judge"]})));
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["agent 'b'"]);
    workspace.assert_nothing_started();
}

/// Where `validate` warns that a `fallback` does nothing: the lines of the mission, by number.
fn idle(agents: &str, rest: &str) -> Vec<u64> {
    let workspace = Workspace::with(&format!("name: m\nagents:\n{agents}{rest}"));
    let document = workspace.quorum(&["validate", "mission.yaml", "--json"]).exits(0).json();
    let found = document["files"][0]["diagnostics"].as_array().unwrap();
    let lines = found.iter().map(|problem| {
        assert_eq!((&problem["code"], &problem["severity"]), (&json!("Q0309"), &json!("warning")));
        problem["line"].as_u64().unwrap()
    });
    lines.collect()
}

#[test]
fn a_fallback_of_an_agent_that_neither_works_nor_judges_is_warned_about() {
    let agents = "  w: {run: [x], fallback: r}\n  r: {run: [x], role: reviewer}\n  v: {run: [x]}\n";
    let work = "tasks: [{title: t, assignTo: v}]\n";
    assert_eq!(idle(agents, work), [3]);
    // It does no harm, and is told where it stands and what it does not do.
    let real = format!("name: m\nagents:\n{agents}{work}").replace("role: reviewer", "ROLE");
    let real =
        real.replace("[x], ROLE", "[echo, 'SCORE: 90'], role: reviewer").replace("[x]", "[echo, done]");
    let workspace = Workspace::with(&real);
    for command in ["validate", "run"] {
        workspace.quorum(&[command, "mission.yaml"]).exits(0).stderr.says(&[
            "warning[Q0309]",
            "mission.yaml:3:",
            "the agent 'w' does nothing",
            "answers and approvals",
        ]);
    }
    // Whoever is named judges, and so does whoever stands in for a judge.
    let named = [
        "tasks: [{title: t, assignTo: r, expectations: [{type: llm_review, criteria: c, reviewers: [w]}]}]\n",
        "stages: [{name: s, agent: w}]\ntasks: [{title: t, assignTo: r}]\n",
        "redTeam: {agent: w}\ntasks: [{title: t, assignTo: r}]\n",
        "tasks: [{title: t, assignTo: r, acceptance: [it has a title], verification: {rubric: default-task}, decomposer: {agent: w}}]\n",
        "tasks:\n  - {title: t, assignTo: r}\n  - {title: v, type: verification, assignTo: w, dependsOn: [t], \
         verification: {rubric: default-task}, onPass: a, onFail: b, onRefer: c}\n  - {title: a, assignTo: r}\n  - \
         {title: b, assignTo: r}\n  - {title: c, assignTo: r}\n",
    ];
    for rest in named {
        assert_eq!(idle(agents, rest), [0_u64; 0], "{rest}");
    }
    let chain = "  r: {run: [x], role: qa, fallback: w}\n  w: {run: [x], fallback: v}\n  v: {run: [x]}\n";
    assert_eq!(idle(chain, work), [0_u64; 0]);
    // Who has a task may not be there for it.
    assert_eq!(idle(agents, "tasks: [{title: t, assignTo: w, review: none}]\n"), [0_u64; 0]);
    // A model may judge unnamed, but not its own work, and only where a judge is asked for.
    let models = "  w: {adapter: openai, model: m, fallback: o}\n  o: {adapter: openai, model: n, fallback: w}\n  v: \
                  {adapter: openai, model: l}\n";
    assert_eq!(idle(models, work), [0_u64; 0]);
    let unasked = "tasks: [{title: t, assignTo: v, review: none}]\n";
    assert_eq!(idle(models, unasked), [3, 4]);
    // Who can hand work down may have to judge what comes back.
    assert_eq!(idle(&models.replace("model: l", "model: l, tools: [read]"), unasked), [0_u64; 0]);
    // A person is waited for.
    let person = "  p: {adapter: human, fallback: v}\n  v: {run: [x]}\n";
    assert_eq!(idle(person, &format!("stages: [{{name: s, agent: p}}]\n{work}")), [3]);
    // Agents of a project are for all of its missions.
    let workspace = Workspace::with(&format!("name: m\n{work}"));
    workspace.write("quorum.yaml", format!("agents:\n{agents}"));
    workspace.quorum(&["validate", "mission.yaml"]).exits(0).stderr.omits(&["Q0309"]);
}

const GOOD: &str = r#"{"scores": {"it": {"reasoning": "r", "score": 5}}, "prior": [{"id": 1, "addressed": "yes", "note": "it is there"}]}"#;
const LIMIT: &str = r#"echo '{"type": "result", "is_error": true, "result": "You have hit your session limit, it resets in 2 hours"}'; exit 1"#;

/// A worker that writes half of what is wanted, and meets a limit when it is to write the rest; `second` would go on.
fn half_done(second: &str) -> Mission {
    let first = format!(
        "echo x >> turns; cat > first.$(wc -l < turns | tr -d ' '); if test -e out; then {LIMIT}; fi; echo half > out"
    );
    Mission::new()
        .agent_with("first", json!({"run": first, "fallback": ["judge", "second"]}))
        .agent("second", second)
        .judge("judge", &[GOOD])
        .task("work", |task| {
            let task = task.set("description", "Write all of it into out.").check("grep -q all out");
            task.expects(json!({"type": "llm_review", "dimensions": [{"name": "it", "weight": 1}], "reviewers": ["judge"]}))
        })
}

#[test]
fn another_agent_goes_on_with_work_in_the_same_attempt_and_the_same_files() {
    let workspace = half_done("cat > second; grep -q half out && echo all >> out").workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    // The fix that met the limit is not spent: the other one made it. Whoever judges the work never took it over.
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    assert_eq!(task(&document, "work")["agent"], "second");
    assert_eq!(workspace.lines("turns").len(), 2);
    let told = workspace.read("second");
    assert!(told.contains("Write all of it into out."), "{told}");
    assert!(told.contains("Correct your work") && told.contains("grep -q all out"), "{told}");
    let events = workspace.events();
    let fallback = events.first_named("agent:fallback");
    fallback
        .has(json!({"agentName": "first", "insteadName": "second", "class": "usage_window", "work": true}));
    assert!(!workspace.quorum(&["events"]).stdout.contains("task:window"), "nobody waits");
    workspace.quorum(&["review", "--replay"]).exits(0);
    // The next run begins with whom the mission names, and so does the task when it is done again.
    workspace.write("out", "");
    workspace.quorum(&["resume", "--redo", "work"]);
    assert_eq!(workspace.lines("turns").len(), 3);
}

#[test]
fn another_agent_that_took_work_over_keeps_it_over_a_crash() {
    let second = "echo > ready; until test -e go; do sleep 0.02; done; echo all > out";
    let workspace = half_done(second).workspace();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r"]);
    wait_for_file(&workspace.path("ready"));
    running.kill();
    assert_eq!(task(&workspace.status(), "work")["agent"], "second");
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(task(&document, "work")["agent"], "second");
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
}

#[test]
fn a_task_that_nobody_may_take_over_is_warned_about_and_waits() {
    let mission = half_done("true").agent_with("first", json!({"run": LIMIT, "fallback": "judge"}));
    let workspace = mission.setting("maxWindowWait", "1h").workspace();
    let words =
        ["nobody goes on with the task 'work' where 'first' cannot be reached", "'judge' judges the work"];
    workspace.quorum(&["validate", "mission.yaml"]).exits(0).stderr.says(&words);
    let finished = workspace.quorum(&["run", "mission.yaml"]).exits(7);
    finished.stderr.says(&words);
    assert_eq!(attempts(&workspace.status(), "work"), ["execute"]);
}
