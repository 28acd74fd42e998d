//! Agents on other machines that judge and approve.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Scene, git};
use crate::support::{Mission, Workspace};

impl Scene {
    /// A mission whose work is judged elsewhere: by two seats at once, who look at what their machine was handed.
    fn judged(&self, judge: &str, approver: &str, work: &str) -> Workspace {
        let agent = |run: &str| json!({"run": run, "queue": "gpu"});
        let panel = json!({
            "type": "llm_review", "reviewers": ["a", "b"], "threshold": 3, "dimensions": [{"name": "depth", "weight": 1}],
        });
        let mission = Mission::new()
            .agent("worker", work)
            .agent_with("a", agent(judge))
            .agent_with("b", agent(judge))
            .agent_with("c", agent(&format!("true; {approver}")));
        let approval = json!({"approvers": ["c"]});
        let mission = match approver {
            "" => mission.task("a", |task| task.attempts(1).expects(panel)),
            _ => mission.task("a", |task| task.attempts(1).expects(panel).set("requiresApproval", approval)),
        };
        self.of(mission, "exchange.git")
    }
}

/// What gives one score to work that is good and another one to what is not, and then spoils what it was handed.
const SCORE: &str = "if grep -q good made; then s=5; else s=1; fi; rm -f made; echo more > left; \
                     printf '{\"scores\": {\"depth\": {\"reasoning\": \"seen\", \"score\": %s}}, \"findings\": []}' $s";

#[test]
fn who_judges_or_agrees_on_a_worker_is_heard_as_one_of_this_machine() {
    let Some(scene) = Scene::new() else { return };
    let _worker = scene.worker();
    let begun = scene.path("begun");
    let judge = |begun: &Path| {
        let begun = begun.display();
        format!(
            "cat > /dev/null; echo >> {begun}; until [ $(wc -l < {begun}) -ge 2 ]; do sleep 0.1; done; {SCORE}"
        )
    };
    let agrees = "cat > /dev/null; test ! -e made || exit 1; echo '{\"decision\": \"approve\"}'";
    let workspace = scene.judged(&judge(&begun), agrees, "echo good > made");
    let document: Value =
        serde_json::from_str(&scene.run(&workspace, &["run", "mission.yaml", "--json"]).exits(0).stdout)
            .unwrap();
    let task = &document["tasks"][0];
    assert_eq!((&task["status"], &task["points"]), (&json!("done"), &json!(100.0)), "{task:#}");
    assert_eq!(task["reviews"].as_array().map(Vec::len), Some(2), "{task:#}");
    // What a judge does to what it was handed is nobody's.
    assert_eq!((workspace.read("made"), workspace.path("left").exists()), ("good\n".to_owned(), false));
    let left = git(scene.path("exchange.git"), &["for-each-ref"]);
    assert!(!left.contains("/in") && !left.contains("/out"), "what is settled is forgotten: {left}");

    let begun = scene.path("begun-2");
    let workspace = scene.judged(&judge(&begun), "", "echo bad > made");
    let document: Value =
        serde_json::from_str(&scene.run(&workspace, &["run", "mission.yaml", "--json"]).stdout).unwrap();
    let task = &document["tasks"][0];
    assert_eq!((&task["status"], &task["points"]), (&json!("failed"), &json!(20.0)), "{task:#}");

    // A judge whose program is missing there has no word.
    let workspace = scene.judged("exec no-such-program", "", "echo good > made");
    let document: Value =
        serde_json::from_str(&scene.run(&workspace, &["run", "mission.yaml", "--json"]).stdout).unwrap();
    assert_ne!(document["tasks"][0]["status"], "done", "{document:#}");
}

#[test]
fn a_judge_whose_worker_is_killed_or_missing_is_asked_again_and_has_passed_nothing() {
    let Some(scene) = Scene::new() else { return };
    let (works, asked) = (scene.path("works"), scene.path("asked"));
    let work = format!("echo >> {}; echo good > made", works.display());
    let judge = format!(
        "cat > /dev/null; echo >> {0}; test $(wc -l < {0}) -gt 2 || sleep 60; {SCORE}",
        asked.display()
    );

    // Nobody serves the queue.
    let workspace = scene.judged(&judge, "", &work);
    scene.run(&workspace, &["run", "mission.yaml"]).exits(7).says(&["'gpu'"]);
    scene.run(&workspace, &["resume"]).exits(7).says(&["'gpu'"]);
    assert!(!asked.exists());
    // Both seats are lost with their worker.
    let running = scene.start(&workspace, &["resume", "--json"]);
    let mut worker = scene.worker();
    let begun = Instant::now();
    while fs::read_to_string(&asked).unwrap_or_default().lines().count() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the judges are not asked");
        sleep(Duration::from_millis(50));
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    let _other = scene.worker();
    let document: Value = serde_json::from_str(&running.finish().exits(0).stdout).unwrap();
    let task = &document["tasks"][0];
    assert_eq!((&task["status"], &task["points"]), (&json!("done"), &json!(100.0)), "{task:#}");
    let count = |path: &Path| fs::read_to_string(path).unwrap().lines().count();
    // Where the machine is busy the other worker may be lost as well.
    assert!(count(&works) == 1 && count(&asked) >= 4);
}

#[test]
fn an_approver_that_nobody_serves_is_waited_for_by_each_session_anew() {
    let Some(scene) = Scene::new() else { return };
    let works = scene.path("works");
    let work = format!("echo >> {}; echo good > made", works.display());
    let agrees = "cat > /dev/null; echo '{\"decision\": \"approve\"}'";
    let workspace = scene.judged(&format!("cat > /dev/null; {SCORE}"), agrees, &work);
    scene.run(&workspace, &["run", "mission.yaml"]).exits(7).says(&["'gpu'"]);
    scene.run(&workspace, &["resume"]).exits(7).says(&["'gpu'"]);
    assert!(!works.exists());
    let running = scene.start(&workspace, &["resume"]);
    let _worker = scene.worker();
    running.finish().exits(0);
    assert_eq!(fs::read_to_string(&works).unwrap(), "\n");
}
