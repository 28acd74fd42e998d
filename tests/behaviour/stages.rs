//! The mission's own further stages (semantics, section 6.7), through the binary: commands and agents that look at work
//! behind everything else.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::scenes::approvals::only_approval;
use crate::support::verdicts;
use crate::support::{Mission, Says, Workspace, attempts, standing, task, wait_for_file};

/// A task without other judging, whose worker runs `work.sh`, and these stages. The judge `j` is scripted.
fn staged(stages: Value, work: &str) -> Workspace {
    let workspace = Mission::new()
        .key("baseline", false)
        .key("stages", stages)
        .agent_with("worker", json!({"run": ["/bin/sh", "work.sh"]}))
        .answerer("j", &[])
        .task("work", |t| t.unreviewed())
        .workspace();
    workspace.write("work.sh", work);
    workspace
}

pub fn said(verdict: &str, reason: &str) -> String {
    json!({"verdict": verdict, "reason": reason}).to_string()
}

/// Name and verdict of what each stage said last.
pub fn stages(document: &Value) -> Vec<(String, String)> {
    let reviews = task(document, "work")["reviews"].as_array();
    let named = reviews.into_iter().flatten().filter(|review| review["name"].is_string());
    let word = |review: &Value, key: &str| review[key].as_str().unwrap_or_default().to_owned();
    named.map(|review| (word(review, "name"), word(review, "verdict"))).collect()
}

fn pairs<const N: usize>(rows: [(&str, &str); N]) -> Vec<(String, String)> {
    rows.map(|(name, verdict)| (name.to_owned(), verdict.to_owned())).to_vec()
}

const MENDS: &str = "cat > prompt.$QUORUM_ATTEMPT; [ $QUORUM_ATTEMPT = 1 ] || echo MIT > LICENSE; echo done";

#[test]
fn a_command_sends_work_back_that_no_judge_minded_until_it_passes() {
    let stages_of = json!([{"name": "licence", "command": "test -f LICENSE || { echo no licence file; exit 3; }"}, {"name": "shape", "command": "true"}]);
    let workspace = staged(stages_of, MENDS);
    let document = workspace.run_json(
        0,
        &["--report", "junit=junit.xml", "--report", "markdown=report.md", "--report", "html=report.html"],
    );
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    assert_eq!(verdicts(&document), [("fail", "stage"), ("pass", "")]);
    assert_eq!(stages(&document), pairs([("licence", "pass"), ("shape", "pass")]));
    let review = &task(&document, "work")["reviews"][0];
    assert_eq!(
        (&review["stage"], &review["reviewer"], &review["cause"]),
        (&json!("stages"), &json!("command"), &Value::Null)
    );
    // The worker is told which stage wants what.
    workspace.read("prompt.2").says(&["failed at stage 'licence'", "exited 3", "no licence file"]);
    // The first fail stops the chain.
    let verdicts = workspace.events().named("stage:verdict");
    let seen: Vec<_> = verdicts
        .iter()
        .filter(|event| event["stage"] == "stages")
        .map(|event| {
            (event["name"].as_str().unwrap_or_default(), event["verdict"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(seen, [("licence", "fail"), ("licence", "pass"), ("shape", "pass")]);
    assert_eq!(workspace.events().count("work:requested stage"), 3);
    assert_eq!(workspace.events().count("assessment:complete"), 2);
    let show = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
    let first = &show["attempts"][0]["stages"][0];
    assert_eq!((&first["stage"], &first["name"]), (&json!("stages"), &json!("licence")));
    assert!(first["reason"].as_str().unwrap_or_default().contains("exited 3"), "{first}");
    workspace.quorum(&["show", "work", "--full"]).exits(0).shows(&["stages licence: fail (stage)"]);
    for (report, words) in
        [("junit.xml", "licence: pass"), ("report.md", "licence: pass"), ("report.html", "stages licence")]
    {
        let text = workspace.read(report);
        assert!(text.contains(words), "{report}: {text}");
    }
    assert_eq!(task(&workspace.status(), "work")["reviews"], task(&document, "work")["reviews"]);
}

#[test]
fn a_stage_that_keeps_work_out_fails_it_even_where_an_evaluation_would_accept_it() {
    let mission = || {
        Mission::new()
            .key("stages", json!([{"name": "lint", "command": "exit 1"}]))
            .worker("echo done")
            .judge("j", &["SCORE: 90"])
            .setting("maxAttempts", 1)
            .tasks(["work"])
    };
    let workspace = mission().workspace();
    let document = workspace.run_json(3, &[]);
    task(&document, "work")["failure"]["message"].says(&["stage 'lint'"]);
    assert_eq!(workspace.calls("j"), 1);
    // A person who wants it otherwise says so.
    let told = mission().change("work", |t| t.set("onExhausted", "accept")).workspace();
    let document = told.run_json(5, &[]);
    assert_eq!(standing(&document, "work"), ("done", "below-threshold"));
}

#[test]
fn an_agent_judges_by_its_criteria_and_is_never_the_author() {
    let workspace =
        staged(json!([{"name": "legal", "agent": "j", "criteria": "Only free licences."}]), "echo done");
    workspace.judge("j", &[&said("fail", "GPL"), &said("pass", "")]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(verdicts(&document), [("fail", "stage"), ("pass", "")]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    let review = &task(&document, "work")["reviews"][0];
    assert_eq!((&review["reviewer"], &review["name"]), (&json!("j"), &json!("legal")));
    workspace.asked("j", 1).says(&["the stage 'legal'", "Only free licences.", "\"verdict\"", "<untrusted"]);
    let request: Value = serde_json::from_str(&workspace.read("j/call.1/review.json")).unwrap();
    assert_eq!((&request["stage"], &request["name"]), (&json!("stages"), &json!("legal")));
    assert!(workspace.read("j/call.1/env").contains("QUORUM_PURPOSE=stage"));

    let own = staged(json!([{"name": "legal", "agent": "worker"}]), "touch touched");
    own.refuses(&["Q0410", "own work", "'legal'"]);
}

#[test]
fn a_stage_may_leave_it_to_a_person_who_speaks_for_that_stage_alone() {
    let all =
        json!([{"name": "legal", "agent": "j"}, {"name": "lint", "command": "echo n >> lint; test -e good"}]);
    let workspace = staged(all, "echo done").tap(|m| m.change("work", |t| t.attempts(1)));
    workspace.judge("j", &[&said("refer", "two licences")]);
    let document = workspace.run_json(8, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    document["approvals"][0]["message"].says(&["'legal'", "two licences"]);
    assert!(!workspace.exists("lint"));
    workspace.write("good", "");
    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(stages(&document), pairs([("legal", "pass"), ("lint", "pass")]));
    assert_eq!(task(&document, "work")["reviews"][0]["reviewer"], "ada");
    assert_eq!((workspace.calls("j"), workspace.lines("lint").len()), (1, 1));
}

#[test]
fn a_person_can_be_a_stage() {
    let workspace = staged(json!([{"name": "client", "agent": "ada"}]), "echo done")
        .tap(|m| m.change("work", |t| t.attempts(1)).person("ada"));
    let document = workspace.run_json(8, &[]);
    document["approvals"][0]["message"].says(&["'client'", "ada"]);
    let id = only_approval(&workspace);
    workspace.quorum(&["reject", &id, "--reason", "not our style", "--as", "ada"]).exits(0);
    let document = workspace.resume_json(3, &[]);
    assert_eq!(verdicts(&document), [("fail", "rejected")]);
}

#[test]
fn a_reply_that_says_nothing_is_asked_for_once_more_and_then_a_person_decides() {
    let workspace = staged(json!([{"name": "legal", "agent": "j"}]), "echo n >> acts");
    workspace.judge("j", &["looks good to me", &said("pass", "")]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    let in_vain = workspace.events().named("work:ended ask stage");
    let in_vain = in_vain.iter().filter(|event| !event["error"].is_null());
    assert_eq!(in_vain.count(), 1);
    assert!(workspace.asked("j", 2).contains("could not be read"));

    let never = staged(json!([{"name": "legal", "agent": "j"}]), "echo n >> acts");
    never.judge("j", &["looks good to me"]);
    let document = never.run_json(6, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert_eq!((never.calls("j"), never.lines("acts").len()), (2, 1));
    let row = &task(&document, "work")["reviews"][0];
    assert_eq!((&row["verdict"], &row["cause"]), (&json!("refer"), &json!("gate-error")));
    // The judges are asked first of all when the run goes on; the worker is not.
    never.judge("j", &["", "", &said("pass", "")]);
    let document = never.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!((never.calls("j"), never.lines("acts").len()), (3, 1));
}

#[test]
fn a_command_that_is_killed_says_nothing_about_the_work() {
    for command in [
        "echo n >> tried; sleep 60",
        "echo n >> tried; kill -9 $$",
        // What it calls is not there, or was killed: the shell ends by itself.
        "echo n >> tried; no-such-linter .",
        r#"echo n >> tried; sh -c "kill -9 \$\$"; exit $?"#,
    ] {
        let stage = json!([{"name": "slow", "command": command, "timeout": "300ms"}]);
        let workspace = staged(stage, "echo n >> acts");
        let document = workspace.run_json(6, &[]);
        assert_eq!(standing(&document, "work").0, "awaiting_approval", "{command}");
        assert_eq!(
            (workspace.lines("tried").len(), workspace.lines("acts").len()),
            (1, 1),
            "what a command did once it does not do again: {command}"
        );
        let id = only_approval(&workspace);
        workspace.quorum(&["approve", &id, "--as", "ada"]).exits(0);
        let document = workspace.resume_json(0, &[]);
        assert_eq!(standing(&document, "work"), ("done", "clean"));
    }
}

#[test]
fn without_judges_agents_are_withdrawn_and_commands_hold() {
    let all = json!([{"name": "legal", "agent": "j"}, {"name": "lint", "command": "test -e good"}]);
    let workspace = staged(all, "echo done").tap(|m| m.change("work", |t| t.attempts(1)));
    workspace.judge("j", &[&said("pass", "")]);
    let document = workspace.run_json(3, &["--no-eval"]);
    assert_eq!(stages(&document), pairs([("legal", "skip"), ("lint", "fail")]));
    assert_eq!(workspace.calls("j"), 0);
    workspace.write("good", "");
    let document = workspace.run_json(0, &["--no-eval"]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    let found = &task(&document, "work")["reviews"][0]["findings"][0]["description"];
    assert!(found.as_str().unwrap_or_default().contains("switched off"), "{found}");
    workspace.run_json(6, &["--no-eval", "--strict"]);
}

#[test]
fn a_judge_that_is_out_when_reviews_are_switched_off_is_called_off() {
    let workspace = staged(
        json!([{"name": "legal", "agent": "slow"}, {"name": "lint", "command": "true"}]),
        "echo n >> acts",
    )
    .tap(|m| m.agent("slow", "echo n >> asked; sleep 60"));
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for_file(&workspace.path("asked"));
    running.signal(Signal::INT);
    running.finish().exits(130);
    let document = workspace.resume_json(0, &["--no-eval"]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    assert_eq!(stages(&document), pairs([("legal", "skip"), ("lint", "pass")]));
    assert_eq!((workspace.lines("asked").len(), workspace.lines("acts").len()), (1, 1));
}

#[test]
fn a_run_killed_in_the_middle_of_a_stage_runs_that_stage_again_and_nothing_else() {
    let all = json!([
        {"name": "quick", "command": "echo n >> quick"},
        {"name": "slow", "command": "echo n >> slow; test -e go || sleep 60"},
    ]);
    let workspace = staged(all, "echo n >> acts");
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for_file(&workspace.path("slow"));
    let during = workspace.status();
    let work = task(&during, "work");
    assert_eq!((&work["status"], &work["stage"]), (&json!("review"), &json!("slow")));
    running.signal(Signal::KILL);
    running.kill();
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    let count = |name: &str| workspace.lines(name).len();
    assert_eq!((count("acts"), count("quick"), count("slow")), (1, 1, 2));

    let asked = staged(json!([{"name": "legal", "agent": "slow"}]), "echo n >> acts")
        .tap(|m| m.agent("slow", "echo n >> asked; test -e go || sleep 60; cat go"));
    let running = asked.start(&["run", "mission.yaml", "--json"]);
    wait_for_file(&asked.path("asked"));
    running.signal(Signal::KILL);
    running.kill();
    asked.write("go", said("pass", ""));
    let document = asked.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!((asked.lines("acts").len(), asked.lines("asked").len()), (1, 2));
}

#[test]
fn a_command_has_a_clean_environment_and_the_request_in_a_file() {
    let check = "test -z \"$SECRET\" && test \"$QUORUM_STAGE\" = own && test \"$QUORUM_TASK\" = work && cp \"$QUORUM_REVIEW_FILE\" seen";
    let workspace = Mission::new()
        .key("stages", json!([{"name": "all", "command": "echo n >> order"}]))
        .worker("echo the answer")
        .task("work", |t| t.set("stages", json!([{"name": "own", "command": check}])))
        .workspace();
    let run = workspace.quorum_with(&[("SECRET", "x")], &["run", "mission.yaml", "--json"]);
    let document = run.exits(0).json();
    assert_eq!(stages(&document), pairs([("all", "pass"), ("own", "pass")]));
    let seen: Value = serde_json::from_str(&workspace.read("seen")).unwrap();
    assert_eq!(seen["task"], "work");
    assert!(seen["prompt"].as_str().unwrap_or_default().contains("the answer"));
}

#[test]
fn the_plan_names_the_stages_in_their_order() {
    let workspace =
        staged(json!([{"name": "legal", "agent": "j"}, {"name": "lint", "command": "make lint"}]), "true");
    let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    let rows: Vec<_> = plan["tasks"][0]["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["agent"].as_str(), row["command"].as_str()))
        .collect();
    assert_eq!(rows, [("legal", Some("j"), None), ("lint", None, Some("make lint"))]);
    assert_eq!(plan["tasks"][0]["worstCase"]["judgeCalls"], 12);
    let ended = workspace.quorum(&["plan", "mission.yaml"]).exits(0);
    ended.shows(&["stage legal by j, then stage lint by make lint"]);
}

#[test]
fn what_a_stage_lacks_is_said_with_its_place_before_anything_starts() {
    let wrong = [
        (json!([{"name": "a"}]), "Q0202"),
        (json!([{"name": "a", "agent": "j", "command": "x"}]), "Q0206"),
        (json!([{"name": "a", "command": "x", "criteria": "y"}]), "Q0206"),
        (json!([{"name": "a", "agent": "nobody"}]), "Q0302"),
        (json!([{"name": "a", "command": "x"}, {"name": "a", "command": "y"}]), "Q0209"),
        (json!([{"command": "x"}]), "Q0202"),
    ];
    for (stage, code) in wrong {
        let workspace = staged(stage, "touch touched");
        workspace.refuses(&[code, "mission.yaml:"]);
    }
    let twice = staged(json!([{"name": "a", "command": "x"}]), "touch touched")
        .tap(|m| m.change("work", |t| t.set("stages", json!([{"name": "a", "command": "y"}]))));
    twice.quorum(&["run", "mission.yaml"]).exits(2).says(&["Q0209"]);
}

#[test]
fn the_mission_that_shows_it_does_what_it_says() {
    let workspace = Workspace::of_missions(&[
        "release-notes.yaml",
        "release-notes/write.sh",
        "release-notes/edit.sh",
        "release-notes/legal.sh",
        "release-notes/attack.sh",
    ]);
    let document = workspace.quorum(&["run", "release-notes.yaml", "--json"]).exits(0).json();
    let title = "Write the release notes";
    assert_eq!(standing(&document, title), ("done", "clean"));
    let attempts = task(&document, title)["attempts"].as_array().unwrap().iter();
    let causes: Vec<_> = attempts.map(|attempt| attempt["cause"].as_str().unwrap_or_default()).collect();
    assert_eq!(causes, ["stage", "red-team", ""]);
    let reviews = task(&document, title)["reviews"].as_array().unwrap();
    let minor = &reviews.last().unwrap()["findings"][0];
    assert_eq!(minor["description"], "requirements: no date of the release");
}
