//! `quorum review --replay`: judgements derived again from what is stored.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::model::{Model, offered, results, scores as score, wants};
use crate::support::{Has, Mission, Says, Workspace, standing, task};

/// A panel whose first judge is read at the second try, an evaluation that goes back once, a rubric, plain facts, a check.
const MISSION: &str = "
name: judged
agents:
  worker: {run: [/bin/sh, '@agents/keep-prompt.sh', prompts]}
  a: {run: [/bin/sh, '@agents/judge.sh', a], role: reviewer}
  b: {run: [/bin/sh, '@agents/judge.sh', b], role: reviewer}
  c: {run: [/bin/sh, '@agents/judge.sh', c], role: reviewer}
rubrics:
  own: {description: Whether it can be read., criteria: [{name: reads, weight: 1, grade: score, required: true}]}
settings: {concurrency: 1}
tasks:
  - title: panel
    assignTo: worker
    expectations:
      - {type: script, command: 'true'}
      - type: llm_review
        criteria: It is deep.
        reviewers: [a, b, c]
        dimensions: [{name: depth, weight: 0.7}, {name: wit, weight: 0.3}]
  - {title: facts, assignTo: worker, review: none, acceptance: ['`true` exits 0'], verification: {grader: heuristic}}
  - {title: evaluation, assignTo: worker, dependsOn: [panel, facts]}
  - {title: rubric, assignTo: worker, review: none, verification: {rubric: own}, dependsOn: [evaluation]}
qualityGates:
  - {name: good, afterTasks: [panel], blocksTasks: [rubric], minScore: 3}
";

fn scores(depth: u32, wit: u32) -> String {
    let score = |score: u32| json!({"score": score, "reasoning": format!("it is a {score}")});
    let finding =
        json!({"severity": "low", "description": "a comma is missing", "evidence": "", "suggestedFix": ""});
    json!({"scores": {"depth": score(depth), "wit": score(wit)}, "findings": [finding], "summary": "s"})
        .to_string()
}

/// A run of [`MISSION`]: `r1`.
fn judged() -> Workspace {
    let workspace = Workspace::with(MISSION);
    let graded = json!({
        "criteria": {"reads": {"grade": 0.9, "reasoning": "read it"}},
        "verdict": "pass", "confidence": 0.9, "findings": [],
    });
    let bad = scores(1, 2);
    workspace.judge(
        "a",
        &[
            "no verdict",
            &bad,
            &scores(4, 4),
            "Half is missing.\nSCORE: 40",
            "All there.\nSCORE: 85",
            &graded.to_string(),
        ],
    );
    workspace.judge("b", &[&bad, &scores(5, 3)]);
    workspace.judge("c", &[&scores(5, 5), &scores(4, 2)]);
    let document = workspace.run_json(0, &["--run-id", "r1"]);
    assert_eq!(task(&document, "panel")["attempts"][0]["verdict"], "fail");
    assert_eq!(task(&document, "evaluation")["attempts"][0]["points"], 40.0);
    assert_eq!(task(&document, "rubric")["points"], 90.0);
    workspace
}

fn replay(workspace: &Workspace, code: i32) -> Value {
    workspace.quorum(&["review", "--replay", "r1", "--json"]).exits(code).json()
}

/// The rows of a list that do not stand as they should.
fn wrong<'a>(document: &'a Value, list: &str) -> Vec<&'a Value> {
    let rows = document[list].as_array().expect("there is such a list");
    rows.iter().filter(|row| row["standing"] != "equal").collect()
}

/// The only file of the run's work whose name ends so.
fn spooled(workspace: &Workspace, end: &str) -> PathBuf {
    let mut found = journal::work_files(&workspace.run_folder(), end);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Changes one record of the journal and seals it again.
fn forge(workspace: &Workspace, from: &str, to: &str) {
    journal::forge(&workspace.journal(), from, from, to);
}

#[test]
fn a_true_run_is_derived_again_without_anybody() {
    let workspace = judged();
    let calls = ["a", "b", "c"].map(|judge| workspace.calls(judge));
    let document = replay(&workspace, 0);
    assert_eq!((&document["schema"], &document["equal"]), (&json!("quorum.replay/v1"), &json!(true)));
    // Two rounds of three with one reprompt, two evaluations, one grading; and four that are asked once more for the answers
    // to points of the review before.
    assert_eq!(document["counts"]["judgements"], 14);
    assert_eq!(["a", "b", "c"].map(|judge| workspace.calls(judge)), calls, "nobody is asked again");
    // Replies come in any order.
    let rows = document["judgements"].as_array().expect("there are judgements");
    let first = rows.iter().find(|row| row["recorded"]["result"] == "unparsed");
    let first = first.expect("one reply could not be read");
    assert_eq!((&first["reviewer"], &first["try"]), (&json!("a"), &json!(1)));
    let basis = &first["basis"];
    assert_eq!(basis["inputs"]["checks"][0]["passed"], true);
    assert!(basis["prompt"]["digest"].as_str().is_some_and(|digest| digest.len() == 64));
    let decided = |about: &str, stage: &str| {
        let rows = document["decisions"].as_array().expect("there are decisions");
        rows.iter().filter(|row| row["about"] == about && row["stage"] == stage).count()
    };
    assert_eq!(
        [
            decided("panel", "judge"),
            decided("evaluation", "judge"),
            decided("rubric", "verification"),
            decided("facts", "verification"),
            decided("good", "gate"),
            decided("judged", "run"),
        ],
        [2, 2, 1, 1, 1, 1],
        "{document:#}"
    );
    // The latest run, for people.
    let ended = workspace.quorum(&["review", "--replay"]).exits(0);
    ended.shows(&["depth 1, wit 2", "fail score", "everything is as it is recorded", "exit 0 (ok)"]);
    workspace.quorum(&["doctor", "state", "r1"]).exits(0).hides(&["lost"]);
}

#[test]
fn a_reply_that_was_changed_is_named_and_what_rests_on_it_is_doubted() {
    let workspace = judged();
    let reply = spooled(&workspace, &format!("0{}", journal::seat_file(1, (1, 1, 1), "reply")));
    let text = fs::read_to_string(&reply).expect("the reply is text");
    fs::write(&reply, text.replace("\"score\":1", "\"score\":5")).expect("it can be written");
    let document = replay(&workspace, 6);
    let readings = wrong(&document, "judgements");
    assert_eq!(readings.len(), 1, "{document:#}");
    assert_eq!((&readings[0]["standing"], &readings[0]["reviewer"]), (&json!("lost"), &json!("b")));
    let why = readings[0]["why"].as_str().expect("it says why");
    assert!(
        why.contains(&journal::seat_file(1, (1, 1, 1), "reply")[1..])
            && why.contains("not what was recorded"),
        "{why}"
    );
    let decisions = wrong(&document, "decisions");
    assert_eq!(decisions.len(), 1);
    assert_eq!((&decisions[0]["about"], &decisions[0]["attempt"]), (&json!("panel"), &json!(1)));

    fs::remove_file(&reply).expect("it can be removed");
    let document = replay(&workspace, 6);
    wrong(&document, "judgements")[0]["why"].as_str().expect("it says why").to_owned().says(&["is gone"]);
}

#[test]
fn what_a_verdict_rests_on_counts_as_much_as_the_reply() {
    for (end, word) in [
        (&format!("0{}", journal::seat_file(1, (2, 1, 1), "judgement")), "judgement"),
        (&format!("0{}", journal::seat_file(1, (2, 1, 1), "request")), "request"),
    ] {
        let workspace = judged();
        let path = spooled(&workspace, end);
        let text = fs::read_to_string(&path).expect("it is text");
        fs::write(&path, text.replacen('e', "E", 1)).expect("it can be written");
        let document = replay(&workspace, 6);
        let readings = wrong(&document, "judgements");
        assert_eq!(readings.len(), 1, "{document:#}");
        assert!(readings[0]["why"].as_str().is_some_and(|why| why.contains(word)), "{document:#}");
    }
}

#[test]
fn a_score_that_was_changed_in_the_journal_is_found() {
    // Points of a seat, of a panel's verdict, of an evaluation, of a grade, a flag, a gate, the outcome.
    for (from, to, list, word) in [
        (
            r#""score":"20","reasoning":"it is a 1""#,
            r#""score":"100","reasoning":"it is a 1""#,
            "judgements",
            "scores",
        ),
        (r#""reasoning":"it is a 1""#, r#""reasoning":"it is a 5""#, "judgements", "reasons"),
        (&journal::below_the_bar(26), &journal::below_the_bar(62), "decisions", "points"),
        (&journal::evaluated(85), &journal::evaluated(95), "judgements", "scores"),
        (&journal::flag("clean"), &journal::flag("relaxed"), "decisions", "flag"),
        (&journal::outcome("ok"), &journal::outcome("below_threshold"), "decisions", "outcome"),
    ] {
        let workspace = judged();
        forge(&workspace, from, to);
        let document = replay(&workspace, 6);
        let rows = wrong(&document, list);
        let why = rows.first().and_then(|row| row["why"].as_str()).unwrap_or_default();
        assert!(why.contains(word), "{from}: {document:#}");
        let ended = workspace.quorum(&["review", "--replay", "r1"]).exits(6);
        ended.shows(&["not everything is as it is recorded"]);
    }
}

#[test]
fn a_verdict_that_nothing_leads_to_is_found() {
    let workspace = judged();
    // The check that comes before the panel is made to say that the panel has passed.
    forge(&workspace, &journal::verdict("checks", "pass"), &journal::verdict("judge", "pass"));
    let document = replay(&workspace, 6);
    assert_eq!(wrong(&document, "decisions")[0]["about"], "panel", "{document:#}");
}

#[test]
fn a_run_of_several_sessions_is_derived_with_the_options_of_each() {
    let workspace = Mission::new()
        .agent("w", "echo done")
        .judge("j", &["SCORE: 70"])
        .task("first", |t| t.attempts(1))
        .task("second", |t| t.attempts(1).needs("first").approved())
        .workspace();
    let waits = workspace.run_json(8, &["--run-id", "r1", "--eval-threshold", "60"]);
    let id = waits["approvals"][0]["id"].as_str().expect("it waits");
    workspace.quorum(&["approve", id]).exits(0);
    // By the bar of the second session the same score is not enough.
    workspace.resume_json(5, &["--eval-threshold", "80"]);
    let document = replay(&workspace, 0);
    assert_eq!(document["equal"], true, "{document:#}");
}

#[test]
fn what_is_not_there_cannot_be_replayed() {
    let workspace = judged();
    workspace.quorum(&["review", "--replay", "r2"]).exits(2).says(&["there is no run 'r2'"]);
    workspace.quorum(&["review", "--replay", "r1", "--criteria", "x"]).exits(2);
    let journal = workspace.journal();
    let mut bytes = fs::read(&journal).expect("there is a journal");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&journal, bytes).expect("it can be written");
    workspace.quorum(&["review", "--replay", "r1"]).exits(1).says(&["damaged at line"]);
}

#[test]
fn an_echo_says_nothing_now_as_then() {
    let workspace = Mission::new()
        .agent("w", "echo done")
        .agent_with("e", json!({"adapter": "echo", "role": "reviewer"}))
        .task("t", |t| {
            t.expects(json!({
                "type": "llm_review",
                "reviewers": ["e"],
                "dimensions": [{"name": "d", "weight": 1}],
            }))
        })
        .workspace();
    workspace.run_json(6, &["--run-id", "r1"]);
    let document = replay(&workspace, 0);
    assert_eq!(document["judgements"][0]["derived"]["result"], "unparsed");
}

/// Work that fails once, then a stage of a command, one of an agent, and a red team.
fn scrutinised() -> Workspace {
    let workspace = Workspace::with(
        "
name: scrutinised
agents:
  worker: {run: '[ $QUORUM_ATTEMPT = 1 ] && exit 1; echo done', input: none}
  lawyer: {run: [/bin/sh, '@agents/judge.sh', lawyer]}
  mallet: {run: [/bin/sh, '@agents/judge.sh', mallet]}
redTeam: {agent: mallet}
tasks:
  - {title: work, assignTo: worker, review: none, stages: [{name: legal, agent: lawyer}, {name: shape, command: 'true'}]}
  - title: plain
    assignTo: worker
    review: none
    dependsOn: [work]
    stakes: low
    stages: [{name: form, command: 'echo fine'}]
",
    )
    .tap_mission("redTeam: {agent: mallet}", "redTeam: {agent: mallet, minStakes: medium}");
    let opinion = json!({"verdict": "pass", "reason": "no objection"}).to_string();
    workspace.judge("lawyer", &[&opinion]);
    workspace.judge("mallet", &[&json!({"findings": [], "summary": "it holds"}).to_string()]);
    workspace.run_json(0, &["--run-id", "r1"]);
    workspace
}

#[test]
fn what_rests_on_a_stage_or_a_red_team_is_doubted_where_its_reply_is_gone() {
    let workspace = scrutinised();
    let document = replay(&workspace, 0);
    assert_eq!(document["counts"]["judgements"], 2, "{document:#}");
    let decided = document["decisions"].as_array().expect("there are decisions");
    // A command's word is taken as recorded, and what it leads to is derived.
    let of = |stage: &str| decided.iter().filter(|row| row["stage"] == stage).count();
    assert_eq!((of("stages"), of("redTeam")), (3, 2), "{document:#}");
    for (stage, at) in [("stage", "stages"), ("redTeam", "redTeam")] {
        let workspace = scrutinised();
        let readings = replay(&workspace, 0);
        let rows = readings["judgements"].as_array().expect("there are judgements");
        let row = rows.iter().find(|row| row["stage"] == stage).expect("it was asked");
        let reply = spooled(&workspace, &journal::ask_file(&row["number"], "reply"));
        fs::remove_file(reply).expect("it can be removed");
        let document = replay(&workspace, 6);
        assert_eq!(wrong(&document, "judgements").len(), 1, "{document:#}");
        let decisions = wrong(&document, "decisions");
        let named: Vec<_> = decisions
            .iter()
            .map(|row| (row["about"].as_str(), row["stage"].as_str(), row["standing"].as_str()))
            .collect();
        assert_eq!(named, [(Some("work"), Some(at), Some("lost"))], "{document:#}");
    }
}

#[test]
fn a_verdict_of_a_red_team_that_nothing_leads_to_is_found() {
    let workspace = scrutinised();
    // The end of a turn is made to say that the red team is content.
    forge(&workspace, &journal::verdict("outcome", "fail"), &journal::verdict("redTeam", "pass"));
    let document = replay(&workspace, 6);
    let found = wrong(&document, "decisions");
    found[0].has(json!({"stage": "redTeam", "why": "nothing leads to it"}));
}

#[test]
fn what_follows_from_a_commands_stage_is_derived() {
    let workspace = scrutinised();
    let path = workspace.journal();
    let text = fs::read_to_string(&path).expect("the journal is text");
    let last = text.lines().rfind(|line| line.contains(journal::code::STAGE_ENDED));
    let last = last.expect("a command was a stage");
    let (clean, unreviewed) = (journal::flag("clean"), journal::flag("unreviewed"));
    let (from, to) = match last.contains(&clean) {
        true => (&clean, &unreviewed),
        false => (&unreviewed, &clean),
    };
    journal::forge(&path, last, from, to);
    let document = replay(&workspace, 6);
    assert!(
        wrong(&document, "decisions")[0]["why"].as_str().is_some_and(|why| why.contains("flag")),
        "{document:#}"
    );
}

#[test]
fn what_a_judge_did_with_its_tools_is_vouched_for_too() {
    let model = Model::new(|body| {
        let looks = results(body).is_empty() && !offered(body).is_empty();
        match looks {
            true => wants(&[("read", json!({"path": "out.txt"}))]),
            false => score("depth", 4),
        }
    });
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": "echo work > out.txt; echo done", "input": "none"}))
        .model("j", &model, json!({"role": "reviewer"}))
        .task("work", |t| {
            t.files(["out.txt"]).expects(json!({
                "type": "llm_review",
                "reviewers": ["j"],
                "dimensions": [{"name": "depth", "weight": 1}],
            }))
        })
        .workspace();
    workspace.run_json(0, &["--run-id", "r1"]);
    replay(&workspace, 0);
    let ledger = spooled(&workspace, ".tools");
    let text = fs::read_to_string(&ledger).expect("it is text");
    fs::write(&ledger, text.replacen("out.txt", "new.txt", 1)).expect("it can be written");
    let document = replay(&workspace, 6);
    let readings = wrong(&document, "judgements");
    assert!(readings[0]["why"].as_str().is_some_and(|why| why.contains(".tools")), "{document:#}");
}

#[test]
fn what_a_replay_cannot_heed_is_refused() {
    let workspace = judged();
    for flags in [
        &["--report", "json=x.json"][..],
        &["--eval-threshold", "3"],
        &["--mission", "mission.yaml"],
        &["--record", "tape"],
        &["--grader", "heuristic"],
    ] {
        let asked = [&["review", "--replay", "r1"], flags].concat();
        workspace.quorum(&asked).exits(2).says(&[flags[0], "--replay"]);
    }
    // A pipeline may set variables for all its commands.
    let variables = [("QUORUM_OFFLINE", "1"), ("QUORUM_EVAL_THRESHOLD", "3")];
    workspace.quorum_with(&variables, &["review", "--replay", "r1", "--offline"]).exits(0);
}

#[test]
fn what_was_judged_is_held_against_the_record_too() {
    for (change, why) in [(true, "not what was recorded"), (false, "is gone")] {
        let workspace = judged();
        let output = spooled(&workspace, &format!("{}.out", journal::turn(0, 1, 1)));
        match change {
            true => {
                let length = fs::metadata(&output).unwrap().len();
                fs::write(&output, "x".repeat(usize::try_from(length).unwrap())).unwrap();
            }
            false => fs::remove_file(&output).unwrap(),
        }
        let document = replay(&workspace, 6);
        let lost = wrong(&document, "decisions");
        assert_eq!((lost.len(), &lost[0]["stage"], &lost[0]["about"]), (1, &json!("work"), &json!("panel")));
        let said = lost[0].to_string();
        assert!(said.contains(why), "{said}");
        // Nor is it shown to people as what was said.
        let shown = workspace.quorum(&["show", "panel", "--full"]).exits(0).stdout;
        assert_eq!(shown.contains("changed since it was recorded"), change, "{shown}");
        assert!(!shown.contains("xxxx"), "{shown}");
        workspace.quorum(&["report", "--html", "page.html"]).exits(0);
        assert!(!workspace.read("page.html").contains("xxxx"));
    }
}

#[test]
fn what_other_rules_decided_is_recovered_as_it_is_and_is_no_pass() {
    let workspace = judged();
    let before = workspace.status_of("r1");
    assert_eq!(standing(&before, "panel"), ("done", "clean"));
    // A build with other rules made it: by them the work was good enough with a relief.
    let path = workspace.journal();
    journal::with_rules(&path, 8);
    forge(&workspace, &journal::flag("clean"), &journal::flag("relaxed"));
    fs::remove_file(workspace.path(&journal::snapshot_of("r1"))).expect("it can be removed");
    let variables = [("QUORUM_OPERATOR_KEY", "that of another machine")];
    let after = workspace.quorum_with(&variables, &["status", "r1", "--json"]).exits(0).json();
    assert_eq!(standing(&after, "panel"), ("done", "relaxed"));
    assert_eq!((&after["state"], &after["counts"]["total"]), (&before["state"], &before["counts"]["total"]));

    let arguments = ["review", "--replay", "r1", "--json"];
    let document = workspace.quorum_with(&variables, &arguments).exits(6).json();
    let counts = &document["counts"];
    assert_eq!((&counts["differing"], &counts["lost"]), (&json!(0), &json!(0)), "{document:#}");
    assert_eq!(counts["otherRules"], journal::records(&path).len(), "{document:#}");
    assert_eq!((&document["equal"], &document["outcome"]), (&json!(false), &json!("indeterminate")));
    workspace.quorum_with(&variables, &arguments[..3]).exits(6).shows(&[
        "not everything can be derived again",
        "were decided by other rules",
        "exit 6 (indeterminate)",
    ]);
}

#[test]
fn what_stands_in_a_journal_of_another_run_or_without_its_snapshots_word_is_no_pass() {
    let workspace = judged();
    // The last record is cut off: records alone cannot tell, what was last seen of them does.
    let path = workspace.journal();
    let text = fs::read_to_string(&path).expect("the journal is text");
    let end = text.trim_end().rfind('\n').expect("there are several records");
    fs::write(&path, &text[..=end]).expect("it can be written");
    let found = replay(&workspace, 6);
    let rows = wrong(&found, "decisions");
    let why = rows[0]["why"].as_str().unwrap_or_default();
    assert!(why.contains("records are missing at its end"), "{found:#}");
    fs::write(&path, &text).expect("it can be written");
    replay(&workspace, 0);
    // One that was copied is not the run whose name it has.
    let (from, to) = (workspace.run_folder(), workspace.path(".polpo/runs/r2"));
    fs::rename(from, to).expect("it can be moved");
    let found = workspace.quorum(&["review", "--replay", "r2", "--json"]).exits(6).json();
    let why = wrong(&found, "decisions")[0]["why"].to_string();
    assert!(why.contains("its journal is that of run 'r1'"), "{found:#}");
}
