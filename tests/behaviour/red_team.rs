//! The red team (semantics, section 15), through the binary: an agent that attacks work which everybody else let pass.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::scenes::approvals::only_approval;
use crate::support::verdicts;
use crate::support::{Keys, Mission, Says, Workspace, standing, task, wait_for_file};

/// A task without other judging, attacked by the scripted agent `mallet`.
fn attacked(red_team: &str, top: &str, keys: &str, work: &str) -> Workspace {
    let workspace = Mission::new()
        .key("redTeam", Keys::from(format!("agent: mallet{red_team}")).value())
        .keys(top)
        .agent_with("worker", json!({"run": ["/bin/sh", "work.sh"]}))
        .answerer("mallet", &[])
        .task("work", |t| t.unreviewed().with(keys))
        .workspace();
    workspace.write("work.sh", work);
    workspace
}

fn finding(severity: &str, evidence: &str) -> Value {
    json!({"severity": severity, "surface": "security", "description": format!("a {severity} hole"),
           "evidence": evidence, "suggestedFix": "close it"})
}

fn report(findings: &[Value]) -> String {
    json!({"findings": findings, "summary": "looked at it"}).to_string()
}

/// What the red team said last.
fn row(document: &Value) -> Value {
    let reviews = task(document, "work")["reviews"].as_array();
    let mut rows = reviews.into_iter().flatten();
    let found = rows.find(|row| row["stage"] == "redTeam");
    found.cloned().unwrap_or_default()
}

/// A mission whose author also has the last look, by these keys, must not load, and names the place.
#[track_caller]
fn looks_at_its_own_work(keys: &str, tasks: &str, key: &str) {
    let workspace = Workspace::with(&format!(
        "
name: its own judge
agents:
  worker: {{run: 'echo > touched; echo done', vision: true}}
  eye: {{run: 'echo > touched; echo SCORE: 90', vision: true, role: reviewer}}
{keys}
tasks:
{tasks}
"
    ));
    let words =
        ["error[Q0410]", "the agent 'worker' would judge its own work on 'work'", key, "mission.yaml:6:"];
    workspace.quorum(&["validate", "mission.yaml"]).exits(2).says(&words);
    workspace.quorum(&["plan", "mission.yaml"]).exits(2).says(&words);
    workspace.refuses(&words);
    workspace.quorum(&["run", "mission.yaml", "--no-eval"]).exits(2).says(&words);
    workspace.assert_nothing_started();
}

const ONE_TASK: &str = "  - {title: work, assignTo: worker}";

#[test]
fn false_green_69_the_author_is_refused_as_its_own_red_team_before_any_work() {
    for (keys, tasks) in [
        ("redTeam: {agent: worker}", ONE_TASK),
        ("redTeam: {agent: worker, minStakes: medium}", ONE_TASK),
        ("redTeam: {agent: worker, minStakes: high}", "  - {title: work, assignTo: worker, stakes: high}"),
        // Whoever else works too.
        (
            "redTeam: {agent: worker}",
            "  - {title: other, assignTo: eye}\n  - {title: work, assignTo: worker}",
        ),
        (
            "redTeam: {agent: worker}",
            "  - {title: work, assignTo: worker, review: none, expectations: [{type: test, command: 'true'}]}",
        ),
    ] {
        looks_at_its_own_work(keys, tasks, "redTeam");
    }
}

#[test]
fn false_green_69_the_author_is_refused_as_its_own_vision_judge_before_any_work() {
    for (keys, tasks) in [
        (
            "vision: {kind: llm_vision, agent: worker, screenshots: [a.png], expectations: [a header]}",
            ONE_TASK,
        ),
        (
            "vision: {kind: llm_vision, agent: worker, screenshots: [a.png], expectations: [a header]}",
            "  - {title: work, assignTo: worker, stakes: low}\n  - {title: other, assignTo: eye, dependsOn: [work]}",
        ),
    ] {
        looks_at_its_own_work(keys, tasks, "vision");
    }
}

#[test]
fn who_does_none_of_the_work_that_is_attacked_may_attack_it() {
    let workspace = attacked(", minStakes: high", "", "", TELLS)
        .tap(|m| m.task("small", |t| t.by("mallet").set("stakes", "low").unreviewed()));
    workspace.judge("mallet", &[report(&[])]);
    workspace.quorum(&["validate", "mission.yaml"]).exits(0);
}

const TELLS: &str = "cat > prompt.$QUORUM_ATTEMPT; echo done";

#[test]
fn a_grave_finding_sends_the_work_back_with_all_findings() {
    let workspace = attacked("", "", "", TELLS);
    let first = report(&[finding("high", "line 3"), finding("low", "")]);
    workspace.judge("mallet", &[&first, &report(&[])]);
    let document = workspace.run_json(0, &[]);
    // It attacks; it does not review. Nobody judged the work that it let pass.
    assert_eq!(verdicts(&document), [("fail", "red-team"), ("", "")]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    let text = workspace.read("prompt.2");
    text.says(&["failed at stage 'redTeam'", "security: a high hole", "security: a low hole", "close it"]);
    assert_eq!(row(&document)["reviewer"], "mallet");
    workspace.asked("mallet", 1).says(&["try to break it", "<untrusted"]);
    assert!(workspace.read("mallet/call.1/env").contains("QUORUM_PURPOSE=redTeam"));
}

#[test]
fn how_much_agents_may_decide_alone_says_whether_a_medium_finding_blocks() {
    for (autonomy, code) in [("locked", 3), ("supervised", 3), ("semi", 0), ("full", 0)] {
        let workspace = attacked("", &format!("autonomy: {autonomy}"), ", maxAttempts: 1", "echo done");
        workspace.judge("mallet", &[&report(&[finding("medium", "")])]);
        workspace.run_json(code, &[]);
    }
    // A task says so for itself.
    let workspace = attacked("", "autonomy: full", ", maxAttempts: 1, autonomy: locked", "echo done");
    workspace.judge("mallet", &[&report(&[finding("medium", "")])]);
    workspace.run_json(3, &[]);
}

#[test]
fn what_does_not_block_stays_visible() {
    let workspace = attacked("", "", "", "echo done");
    workspace.judge("mallet", &[&report(&[finding("medium", ""), finding("info", "")])]);
    let reports =
        ["--report", "junit=junit.xml", "--report", "markdown=report.md", "--report", "html=report.html"];
    let document = workspace.run_json(0, &reports);
    assert_eq!(row(&document)["verdict"], "pass");
    assert_eq!(row(&document)["findings"][0]["description"], "security: a medium hole");
    for file in ["junit.xml", "report.md", "report.html"] {
        let text = workspace.read(file);
        assert!(text.contains("a medium hole"), "{file}: {text}");
    }
    workspace.quorum(&["show", "work", "--full"]).exits(0).shows(&["a medium hole"]);
}

#[test]
fn a_fault_of_its_own_is_open_and_said_in_every_output_and_strictly_it_is_not() {
    let too_many = report(&vec![finding("low", ""); 26]);
    for reply in ["it is all wrong", &too_many] {
        let workspace = attacked("", "", "", "echo n >> acts; echo done");
        workspace.judge("mallet", &[reply]);
        let reports =
            ["--report", "junit=junit.xml", "--report", "markdown=report.md", "--report", "html=report.html"];
        let document = workspace.run_json(0, &reports);
        assert_eq!((workspace.calls("mallet"), workspace.lines("acts").len()), (2, 1), "{reply}");
        assert_eq!(row(&document)["verdict"], "fault", "{reply}");
        assert_eq!(row(&document)["findings"][0]["severity"], "info");
        document["warnings"][0].says(&["redTeam gave no report"]);
        for file in ["junit.xml", "report.md", "report.html"] {
            let text = workspace.read(file);
            assert!(text.contains("redTeam gave no report"), "{file}: {text}");
        }
        let human = workspace.quorum(&["status"]).exits(0).stdout;
        assert!(human.contains("redTeam fault"), "which task it is about: {human}");
        assert!(human.contains("redTeam gave no report"), "{human}");
    }
    let strict = attacked("", "", "", "echo n >> acts; echo done")
        .tap(|m| m.change("work", |t| t.expects(json!({"type": "script", "command": "test -e acts"}))));
    strict.judge("mallet", &["it is all wrong"]);
    let document = strict.run_json(6, &["--strict", "--report", "junit=junit.xml"]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert!(strict.read("junit.xml").contains("type=\"indeterminate\""));
    strict.run_json(0, &[]);
}

#[test]
fn a_grave_finding_that_shows_nothing_counts_as_a_medium_one() {
    for (autonomy, code) in [("supervised", 3), ("semi", 0)] {
        let top = format!("autonomy: {autonomy}");
        let workspace = attacked("", &top, ", maxAttempts: 1", "echo done");
        workspace.judge("mallet", &[&report(&[finding("critical", "")])]);
        let document = workspace.run_json(code, &[]);
        assert_eq!(row(&document)["findings"][0]["severity"], "medium");
        assert_eq!(workspace.calls("mallet"), 1);
    }
}

#[test]
fn it_is_asked_only_where_enough_is_at_stake() {
    for (least, stakes, calls) in [
        (", minStakes: high", "", 0),
        (", minStakes: medium", "", 1),
        (", minStakes: medium", "stakes: low", 0),
        ("", "stakes: low", 1),
    ] {
        let workspace = attacked(least, stakes, "", "echo done");
        workspace.judge("mallet", &[&report(&[])]);
        let document = workspace.run_json(0, &[]);
        assert_eq!(workspace.calls("mallet"), calls, "{least} {stakes}");
        let verdict = if calls == 1 { "pass" } else { "skip" };
        assert_eq!(row(&document)["verdict"], verdict, "none is skipped silently");
    }
    let own = attacked(", minStakes: high", "", ", stakes: high", "echo done");
    own.judge("mallet", &[&report(&[])]);
    own.run_json(0, &[]);
    assert_eq!(own.calls("mallet"), 1);
    let plan = attacked(", minStakes: high", "", "", "true");
    let plan = plan.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    plan["tasks"][0]["stages"][0]["note"].says(&["stakes are medium"]);
}

#[test]
fn without_anything_to_attack_the_mission_says_what_happens() {
    let blocked = attacked("", "", ", maxAttempts: 1", "true");
    let document = blocked.run_json(3, &[]);
    assert_eq!(verdicts(&document), [("fail", "red-team")]);
    assert_eq!(blocked.calls("mallet"), 0);
    let skipped = attacked(", onMissing: skip", "", "", "true");
    let document = skipped.run_json(0, &[]);
    assert_eq!(row(&document)["verdict"], "skip");
    // A file that the task names is something to attack.
    let file = attacked("", "", ", targetFiles: [a.txt]", "echo work > a.txt");
    file.judge("mallet", &[&report(&[])]);
    file.run_json(0, &[]);
    assert_eq!(file.calls("mallet"), 1);
}

#[test]
fn it_never_attacks_its_own_work() {
    let own = |red_team: &str| {
        attacked(red_team, "", "", "")
            .tap(|m| m.agent("mallet", "echo n >> acts; echo the work").change("work", |t| t.by("mallet")))
    };
    let refused = own("");
    refused
        .quorum(&["run", "mission.yaml"])
        .exits(2)
        .says(&["would judge its own work on 'work' by `redTeam`"]);
    assert!(!refused.exists("acts"));
    let skipped = own(", onMissing: skip");
    let document = skipped.run_json(0, &[]);
    assert_eq!(row(&document)["verdict"], "skip");
}

#[test]
fn a_block_never_makes_an_agent_act_again_that_acts_on_the_world() {
    let workspace = attacked("", "", ", sideEffects: true", "echo n >> acts; echo done");
    workspace.judge("mallet", &[&report(&[finding("critical", "line 1")]), &report(&[])]);
    let document = workspace.run_json(8, &[]);
    assert_eq!(document["approvals"][0]["reason"], "side-effects");
    let blocked = workspace.events().named("task:retry:blocked");
    assert!(blocked[0]["reason"].as_str().unwrap_or_default().contains("red-team"));
    assert_eq!(workspace.lines("acts").len(), 1);
    workspace.resume_json(8, &[]);
    assert_eq!(workspace.lines("acts").len(), 1);
    let id = only_approval(&workspace);
    workspace.quorum(&["approve", &id, "--as", "ada"]).exits(0);
    workspace.resume_json(0, &[]);
    assert_eq!(workspace.lines("acts").len(), 2);
}

#[test]
fn without_reviews_it_is_withdrawn_and_the_work_is_marked() {
    let workspace = attacked("", "", ", expectations: [{type: script, command: 'true'}]", "echo done");
    let document = workspace.run_json(0, &["--no-eval"]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    assert_eq!(row(&document)["verdict"], "skip");
    assert_eq!(workspace.calls("mallet"), 0);
}

#[test]
fn a_run_killed_while_it_is_attacked_asks_again_and_does_not_work_again() {
    let workspace = attacked("", "", "", "echo n >> acts; echo done")
        .tap(|m| m.agent("mallet", "echo n >> asked; test -e go || sleep 60; cat go"));
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for_file(&workspace.path("asked"));
    assert_eq!(task(&workspace.status(), "work")["stage"], "redTeam");
    running.signal(Signal::KILL);
    running.kill();
    workspace.write("go", report(&[finding("low", "")]));
    let document = workspace.resume_json(0, &[]);
    assert_eq!(row(&document)["verdict"], "pass");
    assert_eq!((workspace.lines("acts").len(), workspace.lines("asked").len()), (1, 2));
}

#[test]
fn a_person_cannot_be_the_red_team() {
    let workspace = attacked("", "", "", "touch touched").tap(|m| m.person("mallet"));
    workspace.refuses(&["Q0204", "person"]);
}
