//! Bars of panels from labelled work, and judges held against what they did (semantics, section 2).

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{Finished, Mission, Says, Workspace, standing, task};

const FILE: &str = ".quorum/calibration.json";

fn reply(score: u64) -> String {
    json!({"scores": {"depth": {"reasoning": "seen", "score": score}}, "findings": []}).to_string()
}

/// Rows on which `judge` tells good from bad work: of those that it gives 1 to 5, none, 2, 8, 20 and all of 24 are good.
fn rows(judge: &str, score: impl Fn(u64) -> u64, count: u64) -> String {
    let mut text = String::new();
    for index in 0..count {
        let (given, place) = (1 + index % 5, index / 5);
        let good = place < [0, 2, 8, 20, 24][given as usize - 1];
        let row = json!({
            "source": "mine", "group": (index / 5).to_string(), "dims": ["depth"], "scale": [1, 5],
            "task": "write", "work": index.to_string(), "human": {"pass": good},
            "raw_replies": [{"judge": judge, "reply": reply(score(given))}],
        });
        writeln!(text, "{row}").expect("a text takes it");
    }
    text
}

/// A task whose panel is `a`, which says `scores`, one a call.
fn panel(scores: &[u64]) -> Workspace {
    let workspace = Mission::new()
        .worker("echo work")
        .judge("a", &[])
        .judge("b", &[&reply(3)])
        .setting("calibration", json!({"file": FILE}))
        .task("work", |t| t.attempts(1).scored(["a"], "depth"))
        .workspace();
    workspace.judge("a", &scores.iter().map(|score| reply(*score)).collect::<Vec<_>>());
    workspace.write("labels.jsonl", rows("a", |score| score, 120));
    workspace
}

fn save(workspace: &Workspace) -> Finished {
    workspace.quorum(&["calibrate", "labels.jsonl", "--bootstrap", "0", "--save"])
}

fn bar(document: &Value) -> (Value, Value) {
    let work = task(document, "work");
    (work["bar"].clone(), work["barOrigin"].clone())
}

fn stored(workspace: &Workspace) -> Value {
    serde_json::from_str(&workspace.read(FILE)).expect("a document")
}

fn tap(workspace: &Workspace, change: impl FnOnce(&mut Value)) {
    let mut file = stored(workspace);
    change(&mut file);
    workspace.write(FILE, file.to_string());
}

#[test]
fn a_panel_has_the_bar_that_labels_give_and_a_person_decides_around_it() {
    for (score, code, verdict) in [(4, 0, "pass"), (3, 8, "refer"), (2, 3, "fail")] {
        let workspace = panel(&[score]);
        save(&workspace).exits(0).shows(&["bar 80 keeps false passes below 20 %", "stored: "]);
        workspace.quorum(&["plan"]).exits(0).shows(&["bar 80, 60 to 60 referred"]);
        let document = workspace.run_json(code, &[]);
        assert_eq!(bar(&document), (json!(80.0), json!("calibration")));
        let said = workspace.events().into_iter().find(|event| event["event"] == "stage:verdict");
        let said = said.expect("the judges decided");
        assert_eq!(said["verdict"], json!(verdict));
        if code == 8 {
            assert_eq!(said["cause"], json!("confidence"), "{said}");
        }
    }
}

#[test]
fn a_flag_says_how_much_bad_work_may_pass() {
    let workspace = panel(&[3]);
    save(&workspace).exits(0);
    let plan = |flags: &[&str]| {
        let plan = workspace.quorum(&[&["plan", "--json"], flags].concat()).exits(0).json();
        bar(&plan).0
    };
    assert_eq!((plan(&[]), plan(&["--max-false-pass", "0.5"])), (json!(80.0), json!(60.0)));
    workspace.quorum(&["plan", "--max-false-pass", "2"]).exits(2).says(&["no share"]);
    let none = workspace.quorum(&["plan", "--max-false-pass", "0"]).exits(2);
    none.says(&["no score of its judges keeps false passes below 0 %"]);
    let workspace = workspace.tap(|m| m.setting("calibration", json!({})));
    workspace.quorum(&["plan", "--max-false-pass", "0.5"]).exits(2).says(&["no file of fits is named"]);
}

#[test]
fn a_tasks_own_bar_goes_before_labels_and_these_before_a_variable() {
    let own = panel(&[4]).tap(|m| {
        m.change("work", |t| t.change_expectation(json!({"threshold": 70})))
            .task("other", |t| t.scored(["a"], "depth"))
    });
    save(&own).exits(0);
    let plan = own.quorum(&["plan", "--json"]).exits(0).json();
    assert_eq!(bar(&plan), (json!(70.0), json!("mission")));
    assert_eq!(task(&plan, "other")["barOrigin"], json!("calibration"));
    let workspace = panel(&[4]);
    save(&workspace).exits(0);
    let plan = workspace.quorum_with(&[("EVAL_THRESHOLD", "90")], &["plan", "--json"]).exits(0).json();
    assert_eq!(bar(&plan), (json!(80.0), json!("calibration")));
    let plan = workspace.quorum(&["plan", "--json", "--eval-threshold", "25"]).exits(0).json();
    assert_eq!(bar(&plan), (json!(25.0), json!("flag")));
}

#[test]
fn reviews_that_the_fit_does_not_hold_for_keep_their_bar_and_say_so() {
    let workspace = panel(&[4]).tap(|m| {
        m.task("other", |t| t.scored(["b"], "depth"))
            .task("more", |t| t.scored(["a"], "wit"))
            .tasks(["one number"])
    });
    save(&workspace).exits(0);
    let plan = workspace.quorum(&["plan"]).exits(0);
    plan.shows(&[
        "the review of 'other' keeps its bar 60: nothing is stored of these judges",
        "the review of 'more' keeps its bar 60: its judges scored other dimensions",
        "the review of 'one number' keeps its bar 60: it is an evaluation",
    ]);
    // Another model, command or request under the same name is another judge.
    let workspace = panel(&[4]);
    save(&workspace).exits(0);
    let workspace =
        workspace.tap(|m| m.change_agent("a", json!({"run": ["/bin/sh", "@agents/judge.sh", "a", "x"]})));
    for command in ["plan", "run", "validate"] {
        let refused = workspace.quorum(&[command, "mission.yaml"]).exits(2);
        refused.says(&["no fit of .quorum/calibration.json holds for this mission", "these judges"]);
    }
}

#[test]
fn who_stands_in_for_a_judge_was_not_measured() {
    let workspace = panel(&[]).tap(|m| m.change_agent("a", json!({"fallback": "b"})));
    save(&workspace).exits(0);
    workspace.write("a/x", "");
    let workspace = workspace.tap(|m| m.change("work", |t| t.set("maxRetries", 0)));
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    let events = workspace.events();
    let said = events.iter().find(|event| event["event"] == "stage:verdict").expect("they decided");
    said["findings"].to_string().says(&["held to the bar 60", "calibrated"]);
}

#[test]
fn a_run_that_goes_on_keeps_the_bars_that_it_began_with() {
    let workspace = panel(&[3]).tap(|m| m.change("work", |t| t.approved()));
    save(&workspace).exits(0);
    let approve = |document: &Value| {
        let id = document["approvals"][0]["id"].as_str().expect("somebody is asked").to_owned();
        workspace.quorum(&["approve", &id]).exits(0);
    };
    let document = workspace.run_json(8, &[]);
    workspace.write(FILE, "{}");
    approve(&document);
    workspace.quorum(&["resume", "--max-false-pass", "0.5"]).exits(2);
    let document = workspace.resume_json(8, &[]);
    assert_eq!(bar(&document), (json!(80.0), json!("calibration")));
    workspace.quorum(&["review", "--replay"]).exits(0);
    approve(&document);
    workspace.resume_json(0, &[]);
    // A changed mission cannot bring in what the run did not begin with.
    let approved = |m: Mission| m.change("work", |t| t.approved());
    let workspace = panel(&[3]).tap(approved).tap(|m| m.setting("calibration", json!(null)));
    workspace.run_json(8, &[]);
    save(&workspace).exits(0);
    let workspace = workspace.tap(|m| m.setting("calibration", json!({"file": FILE})));
    let refused = workspace.quorum(&["resume", "--accept-changed-mission"]).exits(2);
    refused.says(&["did not start with"]);
}

#[test]
fn work_that_changes_the_fits_has_failed() {
    let workspace = panel(&[5]).tap(|m| m.worker(format!("echo {{}} > {FILE}")));
    save(&workspace).exits(0);
    workspace.run_json(3, &[]);
    workspace.quorum(&["show", "work"]).exits(0).shows(&[FILE, "protected"]);
    workspace.quorum(&["plan", "--json"]).exits(2);
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_its_place() {
    let workspace = panel(&[4]);
    let refused = |words: &[&str]| {
        let ended = workspace.quorum(&["run"]).exits(2);
        ended.says(&[FILE, "--save"]).says(words);
    };
    refused(&["No such file"]);
    save(&workspace).exits(0);
    let good = workspace.read(FILE);
    workspace.write(FILE, &good[..good.len() / 2]);
    refused(&["calibration.json:", "EOF"]);
    workspace.write(FILE, &good);
    tap(&workspace, |file| file["version"] = json!(2));
    refused(&["calibration.json:1: it has the form 2, and this quorum reads 1"]);
    workspace.write(FILE, &good);
    tap(&workspace, |file| file["fits"][0]["cases"][0]["good"] = json!(true));
    refused(&["the fit of a is not the one of its cases"]);
    workspace.write(FILE, &good);
    tap(&workspace, |file| file["fits"][0]["cases"].as_array_mut().expect("cases").truncate(49));
    refused(&["the fit of a: 49 labels", "50 are needed"]);
    workspace.write(FILE, r#"{"version": 1, "fits": []}"#);
    refused(&["holds no fit"]);
    assert!(!workspace.exists(".polpo"), "nothing was started");
}

#[test]
fn what_carries_no_fit_is_not_stored() {
    let workspace = panel(&[4]);
    workspace.write("labels.jsonl", rows("a", |score| score, 45));
    save(&workspace).exits(2).says(&["45 labels", "50 are needed"]);
    workspace.write("labels.jsonl", rows("a", |score| score, 120).replace("false", "true"));
    save(&workspace).exits(2).says(&["120 good and 0 bad", "10 of each"]);
    workspace.write("labels.jsonl", rows("stranger", |score| score, 120));
    save(&workspace).exits(2).says(&["'stranger' is no agent"]);
    assert!(!workspace.exists(FILE));
    let few = rows("a", |score| score, 120);
    let few: Vec<&str> = few.lines().step_by(2).collect();
    workspace.write("labels.jsonl", few.join("\n"));
    save(&workspace).exits(0).shows(&["60 labels: below 100", "% good", "false fail"]);
    // Replies that a changed agent did not give.
    let ask =
        ["calibrate", "labels.jsonl", "--reviewers", "b", "--record", "replies.jsonl", "--bootstrap", "0"];
    workspace.quorum(&ask).exits(0);
    let workspace =
        workspace.tap(|m| m.change_agent("b", json!({"run": ["/bin/sh", "@agents/judge.sh", "b", "x"]})));
    let refused = workspace.quorum(&["calibrate", "replies.jsonl", "--save", "--bootstrap", "0"]).exits(2);
    refused.says(&["60 replies of 'b'", "another request"]);
}

#[test]
fn judges_who_are_not_who_they_were_are_told_in_one_line() {
    let workspace = panel(&[4]);
    save(&workspace).exits(0);
    let against = |labels: String, code: i32| {
        workspace.write("today.jsonl", labels);
        let ended = workspace.quorum(&["calibrate", "today.jsonl", "--against", FILE]).exits(code);
        assert!(code == 2 || ended.stdout.lines().count() == 1, "{}", ended.stdout);
        ended
    };
    against(rows("a", |score| score, 120), 0).shows(&["a: what it was on 120 of 120 rows: score +0.0"]);
    against(rows("a", |score| (score + 1).min(5), 120), 5).shows(&["a: not what it was", "score +"]);
    against(rows("a", |score| 6 - score, 120), 5).shows(&["error +"]);
    against(rows("b", |score| score, 120), 2).says(&["no fit of judges"]);
    against(rows("a", |score| score, 120).replace("write", "read"), 2).says(&["too few rows in common"]);
    let document =
        workspace.quorum(&["calibrate", "labels.jsonl", "--against", FILE, "--json"]).exits(0).json();
    let drift = &document["drift"][0];
    assert_eq!((&drift["rows"], &drift["drifted"]), (&json!(120), &json!(false)), "{document}");
}

#[test]
fn pictures_are_drawn_without_a_script() {
    let workspace = panel(&[4]);
    let page = ["calibrate", "labels.jsonl", "--bootstrap", "0", "--html", "page.html", "--json"];
    let document = workspace.quorum(&page).exits(0).json();
    let fit = &document["sets"][0]["judges"][0]["fit"];
    assert_eq!((&fit["bar"], &fit["labels"], &fit["baseRate"]), (&json!(80.0), &json!(120), &json!(0.45)));
    assert!(fit["accuracyOfSure"].as_f64() >= fit["accuracy"].as_f64(), "{fit}");
    let rate = document["sets"][0]["judges"][0]["falseFailRate"]["value"].as_f64();
    assert!(rate.is_some_and(|rate| (rate - 2.0 / 54.0).abs() < 1e-3), "{rate:?}");
    let page = workspace.read("page.html");
    assert!(!page.contains("<script") && page.matches("<svg").count() == 2);
    page.says(&["Reliability", "ROC", "prefers-color-scheme: dark", "<circle", "<polyline"]);
}
