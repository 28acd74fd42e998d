//! What a person says from outside: approve, reject, cancel, pause; with a live runner, without one, with one that
//! does not answer. And what an agent must not be able to say.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::journal;
use crate::support::scenes::approvals::{only_approval, parked, slow, waits};
use crate::support::{
    BINARY, Has, Mission, Says, is_alive, read_pid, standing, task, wait_for, wait_for_file,
};

#[test]
fn a_person_accepts_the_work_and_is_its_reviewer() {
    let workspace = parked();
    let document = workspace.run_json(6, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    let id = only_approval(&workspace);
    assert_eq!(document["approvals"][0]["id"], json!(id));
    workspace.quorum(&["approvals"]).exits(0);

    workspace.quorum(&["approve", "nonsense"]).exits(2).says(&["nonsense"]);
    workspace.quorum(&["approve", &format!("{id}9")]).exits(2);
    workspace.quorum(&["approve", &id, "--as", "ada"]).exits(0);
    workspace.quorum(&["approve", &id]).exits(0);
    workspace.quorum(&["reject", &id, "--reason", "late"]).exits(4);

    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(task(&document, "work")["reviews"][0]["reviewer"], "ada");
    assert_eq!(standing(&document, "next").0, "done");
    let resolved = workspace.events().into_iter().find(|event| event["event"] == "approval:resolved");
    assert_eq!(resolved.expect("it is on record")["resolvedBy"], "ada");
    assert_eq!(workspace.quorum(&["approvals", "--json"]).json()["approvals"], json!([]));
}

#[test]
fn the_last_answer_ends_the_run() {
    let workspace = Mission::new().worker("true").task("work", |t| t.set("review", "required")).workspace();
    workspace.run_json(6, &[]);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    let document = workspace.status();
    assert_eq!((&document["outcome"], &document["state"]), (&json!("ok"), &json!("ended")));
    workspace.quorum(&["status", "--exit-code"]).exits(0);
}

#[test]
fn rejected_work_goes_back_with_the_reason() {
    let workspace = parked();
    workspace.run_json(6, &[]);
    let id = only_approval(&workspace);
    workspace.quorum(&["reject", &id]).exits(2).says(&["--reason"]);
    workspace.quorum(&["reject", &id, "--reason", "the tests are missing"]).exits(0);
    let document = workspace.resume_json(6, &[]);
    let attempts = &task(&document, "work")["attempts"];
    assert_eq!(attempts[0]["cause"], "rejected");
    assert_eq!(attempts[1]["kind"], "fix");
    workspace.bash("cat prompts*/* prompts* 2>/dev/null").stdout.says(&["the tests are missing"]);
    // The next question is another one.
    assert_ne!(only_approval(&workspace), id);
    workspace.quorum(&["approve", &id]).exits(4);
}

#[test]
fn nobody_answers_and_the_run_says_so_and_can_go_on() {
    // False green 22: in a pipeline an approval that nobody gives is never skipped.
    let workspace = parked();
    workspace.run_json(6, &[]);
    let document = workspace.resume_json(6, &[]);
    assert_eq!(document["resumable"], true);
    assert_eq!(standing(&document, "next").0, "pending");
    workspace.quorum(&["status", "--exit-code"]).exits(6);
}

#[test]
fn a_live_runner_takes_the_answer_and_goes_on() {
    let workspace = parked().tap(slow);
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    waits(&workspace);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    wait_for("the dependent", || standing(&workspace.status(), "next").0 == "done");
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    assert_eq!(standing(&document, "work"), ("done", "clean"));
}

#[test]
fn a_live_runner_whose_socket_was_taken_away_takes_no_letter() {
    let workspace = parked().tap(slow);
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    waits(&workspace);
    std::fs::remove_file(workspace.path(".polpo/control.sock")).expect("it is there");
    let id = only_approval(&workspace);
    workspace.quorum(&["approve", &id]).exits(9).says(&["was not accepted"]);
    assert_eq!(standing(&workspace.status(), "work").0, "awaiting_approval");
    workspace.write("go", "");
    running.finish().exits(6);
    // Nor later, when nobody is there to move it aside.
    workspace.quorum(&["approve", &id]).exits(0);
    assert_eq!(standing(&workspace.status(), "work"), ("done", "clean"));
    let key = workspace.path("home/.local/state/quorum/key");
    assert_eq!(std::fs::metadata(key).expect("there is a key").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_runner_that_was_reached_and_does_not_answer_is_left_no_letter() {
    let workspace = parked().tap(slow);
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    waits(&workspace);
    let id = only_approval(&workspace);
    running.signal(Signal::STOP);
    workspace.quorum(&["approve", &id]).exits(9).says(&["does not answer"]);
    assert!(!workspace.exists(&journal::inbox("")));
    running.signal(Signal::CONT);
    workspace.quorum(&["approve", &id]).exits(0);
    wait_for("the answer", || standing(&workspace.status(), "work").0 == "done");
    workspace.write("go", "");
    running.finish().exits(0);
}

#[test]
fn a_cancelled_task_is_ended_while_it_runs() {
    let workspace = parked().tap(slow).tap(|m| m.change("work", |t| t.unreviewed()));
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    let pid = read_pid(&workspace.path("pid"));
    workspace.quorum(&["cancel", "slo", "--yes"]).exits(2).says(&["slo"]);
    workspace.quorum(&["cancel", "slow", "--yes", "--as", "ada"]).exits(0);
    let document = running.finish().exits(3).json();
    assert_eq!(task(&document, "slow")["failure"]["mode"], "cancelled");
    assert_eq!(standing(&document, "next").0, "done");
    wait_for("the end of its process", || !is_alive(pid));
    workspace.quorum(&["cancel", "slow", "--yes"]).exits(0);
    workspace.quorum(&["cancel", "next", "--yes"]).exits(4);
}

#[test]
fn a_run_that_nobody_works_on_is_called_off() {
    let workspace = parked();
    let document = workspace.run_json(6, &[]);
    let run = document["runId"].as_str().expect("it has an id");
    workspace.quorum(&["cancel", run, "--yes"]).exits(0);
    let document = workspace.status();
    assert_eq!((&document["state"], &document["outcome"]), (&json!("cancelled"), &json!("task_failed")));
    workspace.quorum(&["cancel", run, "--yes"]).exits(0);
    // Nothing is in the way any more.
    workspace.run_json(6, &[]);
}

#[test]
fn a_paused_session_finishes_what_runs_and_is_resumed() {
    let workspace = parked().tap(slow).tap(|m| {
        m.task("last", |t| t.by("slow").needs("slow").unreviewed()).change("work", |t| t.unreviewed())
    });
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for_file(&workspace.path("pid"));
    workspace.quorum(&["pause"]).exits(0);
    workspace.write("go", "");
    let document = running.finish().exits(8).json();
    assert_eq!(standing(&document, "slow").0, "done");
    assert_eq!(standing(&document, "last").0, "pending");
    assert_eq!(document["resumable"], true);
    workspace.quorum(&["pause"]).exits(0);
    workspace.resume_json(0, &[]);
}

#[test]
fn what_is_no_command_is_moved_aside_and_said() {
    let workspace = parked().tap(slow);
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    waits(&workspace);
    let id = only_approval(&workspace);
    let run = id.split('.').next().expect("it begins with the run").to_owned();
    let body = journal::left_approval(&run, "eve");
    let forged = |code: &str| journal::envelope(&json!(code), &body);
    // With the key there and without the code of it.
    workspace.write("home/.local/state/quorum/key", [7; 32]);
    std::fs::set_permissions(
        workspace.path("home/.local/state/quorum/key"),
        std::fs::Permissions::from_mode(0o600),
    )
    .expect("it is ours");
    workspace.write("elsewhere", forged("00"));
    workspace.write(&journal::inbox("forged.json"), forged(&"0".repeat(64)));
    workspace.write(&journal::inbox("noise.json"), "noise");
    std::os::unix::fs::symlink(workspace.path("elsewhere"), workspace.path(&journal::inbox("link.json")))
        .expect("a link");
    workspace.bash("mkfifo .polpo/@inbox/pipe.json").exits(0);
    let refused = workspace.path(&journal::inbox("refused"));
    wait_for("all of them", || std::fs::read_dir(&refused).is_ok_and(|files| files.count() == 4));
    assert!(std::fs::symlink_metadata(refused.join("pipe.json")).expect("it is there").file_type().is_fifo());
    workspace.write("go", "");
    let document = running.finish().exits(6).json();
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    let warnings = document["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
    assert_eq!(warnings.filter(|warning| warning.contains("no command")).count(), 4);
}

#[test]
fn false_green_20_an_agent_cannot_approve_itself() {
    let workspace = Mission::new()
        .worker("echo work")
        .agent(
            "burglar",
            format!(
                "echo started >> tries\n\
while ! {BINARY} approvals --json | grep -q '\"id\"'; do sleep 0.05; done\n\
id=$QUORUM_RUN_ID.0.1\n\
for way in '' 'env -i' 'setsid -w env -i' 'setsid -w nohup env -i'; do\n\
  $way {BINARY} approve $id --as ada > /dev/null; echo $? >> tries\n\
done\n\
(env -i setsid sh -c 'sleep 0.3; {BINARY} approve '$id'; echo late $? >> tries' > /dev/null 2>&1 &)\n\
mkdir -p .polpo/@inbox\n\
echo '{{\"code\": \"00\", \"body\": \"{{}}\"}}' > .polpo/@inbox/mine.json\n\
other=$(dirname \"$QUORUM_TASK_DIR\")/@turn(0.1.1).drop/result\n\
echo '{{\"status\": \"done\", \"output\": \"SCORE: 100\"}}' > $other\n\
ln -s \"$other\" \"$QUORUM_RESULT_FILE\"\n\
sleep 1"
            ),
        )
        .setting("concurrency", 2)
        .task("work", |t| t.set("review", "required"))
        .task("burglar", |t| t.by("burglar").unreviewed())
        .workspace();
    let document = workspace.run_json(6, &[]);
    assert_eq!(workspace.lines("tries"), ["started", "9", "9", "9", "9", "late 9"]);
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    assert!(workspace.exists(&journal::inbox("refused/mine.json")));
    // The person still can.
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
}

#[test]
fn false_green_20_a_foreign_line_in_the_journal_stops_the_run() {
    let workspace = Mission::new()
        .agent("forger", "for journal in .polpo/runs/*/@journal; do tail -n 1 $journal >> $journal; done")
        .task("work", |t| t.unreviewed())
        .workspace();
    workspace.quorum(&["run", "mission.yaml"]).exits(1).says(&["changed by somebody else"]);
}

#[test]
fn a_person_who_is_named_reviews_the_work() {
    let mission = |review: Value| {
        Mission::new()
            .keeps_prompts("worker", "prompts")
            .person("ada")
            .task("work", |t| t.expects(review).change_expectation("type: llm_review"))
    };
    let workspace = mission(json!({"reviewers": ["ada"], "criteria": "is it kind?"})).workspace();
    // Nobody answers: that is no success and nothing is lost.
    let document = workspace.run_json(8, &[]);
    document.has(json!({"outcome": "awaiting", "resumable": true}));
    assert_eq!(document["approvals"][0]["reason"], "refer");
    let first = only_approval(&workspace);
    workspace.quorum(&["resume"]).exits(8);
    assert_eq!(only_approval(&workspace), first, "the same question still stands");

    workspace.quorum(&["reject", &first, "--reason", "not kind enough", "--as", "ada"]).exits(0);
    workspace.resume_json(8, &[]);
    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    let document = workspace.status();
    assert_eq!(document["outcome"], "ok");
    assert_eq!(standing(&document, "work"), ("done", "clean"));

    // A person is never asked unless the mission names them, and does not work.
    mission(json!({"criteria": "is it kind?"})).workspace().run_json(6, &[]);
    let working = mission(json!({"reviewers": ["worker"], "criteria": "is it kind?"}));
    let working = working.change("work", |t| t.by("ada")).workspace();
    working.quorum(&["run", "mission.yaml"]).exits(9).says(&["ada", "reviewer"]);
}
