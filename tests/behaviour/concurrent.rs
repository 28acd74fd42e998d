//! Many processes in one state folder: one writer, any number of readers, and nobody in anybody's way.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::support::scenes::approvals::{only_approval, parked, slow, waits};
use crate::support::scenes::begun_runs::interrupted;
use crate::support::{
    BINARY, Finished, Mission, Running, Says, Workspace, standing, wait_for, wait_for_file,
};

/// Works until the file `go` is there.
fn waiting() -> Mission {
    Mission::new()
        .worker("echo $QUORUM_TURN >> turns; echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .tasks(["one"])
        .task("two", |t| t.needs("one"))
}

fn at_work() -> (Workspace, Running) {
    let workspace = waiting().workspace();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1"]);
    wait_for_file(&workspace.path("started"));
    (workspace, running)
}

fn lock(workspace: &Workspace) -> PathBuf {
    workspace.path(".polpo/lock")
}

#[test]
fn whoever_would_write_beside_a_run_is_told_who_holds_the_folder() {
    let (workspace, running) = at_work();
    let pid = format!("process {} on ", running.pid().as_raw_nonzero());
    let journal = fs::read(workspace.journal()).expect("it is there");
    for command in [
        &["run", "mission.yaml"][..],
        &["run", "mission.yaml", "--fresh", "--yes"],
        &["resume"],
        &["resume", "r1", "--retry-failed"],
        &["clean", "--all", "--yes"],
        &["clean", "--all", "--unfinished", "--yes"],
    ] {
        workspace.quorum(command).exits(9).says(&[&pid, "(quorum run)", "help:", "--state-dir"]);
    }
    assert_eq!(workspace.run_folders().len(), 1, "another run was made");
    // The run may have gone on with its own work; nobody else has written.
    assert!(fs::read(workspace.journal()).expect("it is there").starts_with(&journal));
    workspace.write("go", "");
    running.finish().exits(0);
    assert_eq!(workspace.lines("turns"), ["1", "1"]);
}

#[test]
fn a_run_takes_an_approval_while_it_works() {
    let workspace = parked().tap(slow);
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    waits(&workspace);
    let id = only_approval(&workspace);
    // Ten at once: one is applied, the others meet what is so already.
    let all: Vec<Running> = (0..10).map(|_| workspace.start(&["approve", &id, "--json"])).collect();
    let results: Vec<String> = all
        .into_iter()
        .map(|one| one.finish().exits(0).json()["result"].as_str().unwrap_or_default().to_owned())
        .collect();
    let applied = results.iter().filter(|result| *result == "applied").count();
    assert_eq!(applied, 1, "{results:?}");
    assert_eq!(standing(&workspace.status(), "work"), ("done", "clean"));
    workspace.write("go", "");
    running.finish().exits(0);
}

#[test]
fn ten_watchers_see_the_end_and_hold_nothing_up() {
    // Many short tasks: the journal grows under the watchers' eyes.
    let mission = Mission::new()
        .worker("echo x")
        .agent("first", "echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .task("first", |t| t.by("first"));
    let add = |mission: Mission, n| mission.task(&format!("t{n}"), |t| t.needs("first"));
    let workspace = (0..60).fold(mission, add).workspace();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1"]);
    wait_for_file(&workspace.path("started"));
    let before = fs::metadata(lock(&workspace)).expect("it is there");
    let watchers: Vec<(PathBuf, Running)> = (0..10)
        .map(|n| {
            let seen = workspace.path(&format!("seen.{n}"));
            let mut command = workspace.other_command("bash");
            let script = format!("exec \"$0\" status --watch --json > '{}'", seen.display());
            command.args(["-c", &script, BINARY]);
            (seen, Running::start(command))
        })
        .collect();
    // Each has looked once, while the run is held.
    for (seen, _) in &watchers {
        wait_for_file(seen);
    }
    workspace.write("go", "");
    running.finish().exits(0);
    for (seen, watcher) in watchers {
        let finished = watcher.finish().exits(0);
        assert_eq!(finished.stderr, "");
        let text = fs::read_to_string(seen).expect("it is there");
        let documents = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>();
        let states: Vec<String> =
            documents.map(|document| document.expect("whole documents")["state"].to_string()).collect();
        assert_eq!(states.first().map(String::as_str), Some("\"running\""), "{states:?}");
        assert_eq!(states.last().map(String::as_str), Some("\"ended\""), "{states:?}");
    }
    let after = fs::metadata(lock(&workspace)).expect("it is there");
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec()),
        "a watcher took the lock"
    );
}

#[test]
fn of_resumes_at_once_exactly_one_wins() {
    for _ in 0..3 {
        let workspace = waiting().workspace();
        let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1"]);
        wait_for_file(&workspace.path("started"));
        running.signal(Signal::INT);
        running.finish().exits(130);
        fs::remove_file(workspace.path("started")).expect("it is there");
        let all: Vec<Running> = (0..4).map(|_| workspace.start(&["resume"])).collect();
        wait_for_file(&workspace.path("started"));
        // The winner is held by `go`; who has ended has lost.
        let mut all = all;
        wait_for("the losers", || {
            all.iter_mut().filter_map(|one| one.has_ended().then_some(())).count() == 3
        });
        workspace.write("go", "");
        let ended: Vec<Finished> = all.into_iter().map(Running::finish).collect();
        let mut codes: Vec<Option<i32>> = ended.iter().map(Finished::code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(9), Some(9), Some(9)]);
        for loser in ended.into_iter().filter(|one| one.code() == Some(9)) {
            loser.says(&["held by process", "(quorum resume)"]);
        }
        assert_eq!(workspace.lines("turns"), ["1", "2", "1"], "the lost turn was started once");
    }
}

#[test]
fn the_lock_of_a_dead_holder_is_nobodys() {
    let (workspace, running) = at_work();
    running.kill();
    fs::read_to_string(lock(&workspace)).expect("it is there").says(&["quorum run"]);
    workspace.write("go", "");
    workspace.resume_json(0, &[]);
    fs::read_to_string(lock(&workspace)).expect("it is there").says(&["quorum resume"]);
}

const ELSEWHERE: &str = r#"{"pid":1,"host":"another-machine","startedAt":"2026-01-01T00:00:00Z","command":"quorum run","run":"r9"}"#;

#[test]
fn a_lock_file_is_only_words_and_the_kernel_decides() {
    // Nobody holds it, whatever it says: of another machine, of this one, or nothing readable.
    for words in [ELSEWHERE, "", "soup", "\0\0\0\0"] {
        let workspace = interrupted();
        fs::write(lock(&workspace), words).expect("it can be written");
        assert_eq!(workspace.status()["live"], false);
        let document = workspace.quorum(&["doctor", "--json"]).exits(0).json();
        let checks = document["checks"].as_array().expect("a list");
        let check = checks.iter().find(|check| check["name"] == "lock").expect("it is looked at");
        if words == ELSEWHERE {
            assert_eq!(check["status"], "warn");
            assert!(check["message"].to_string().contains("another-machine"), "{check:#}");
        } else {
            assert_eq!(check["status"], "ok");
        }
        workspace.resume_json(0, &[]);
    }
}

#[test]
fn a_holder_on_another_machine_is_named_as_such() {
    // As it looks through a file system that shares locks: held, and by a process of another machine.
    let (workspace, running) = at_work();
    fs::write(lock(&workspace), ELSEWHERE).expect("it can be written");
    let ended = workspace.quorum(&["resume"]).exits(9);
    ended.says(&["process 1 on another-machine", "help:", "another machine"]);
    fs::write(lock(&workspace), "soup").expect("it can be written");
    workspace.quorum(&["resume"]).exits(9).says(&["held by another process"]);
    workspace.write("go", "");
    running.finish().exits(0);
}
