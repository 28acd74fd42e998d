//! Calling off work of a run whose runner was killed: that work ends, and no other; nobody else is held up by it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use rustix::process::Pid;
use serde_json::{Value, json};

use crate::support::journal;
use crate::support::scenes::killed_runners::{Scene, doing, other, work};
use crate::support::sockets::{connect, listen};
use crate::support::{
    DEADLINE, Mission, Running, Says, Workspace, is_alive, read_pid, standing, task, wait_for, wait_for_file,
};

/// Every agent also starts something that leaves its group for good.
fn with_a_runaway() -> Mission {
    other(doing("setsid sh -c 'echo $$ > \"$QUORUM_TASK.far\"; exec sleep 1000' &"))
}

fn pids(scene: &Scene, task: &str) -> [Pid; 2] {
    ["pid", "far"].map(|name| read_pid(&scene.workspace.path(&format!("{task}.{name}"))))
}

#[test]
fn a_dead_supervisor_does_not_make_one_task_all() {
    let scene = Scene::crashed(with_a_runaway());
    let (work, other) = (pids(&scene, "work"), pids(&scene, "other"));
    scene.kill_supervisor();
    scene.workspace.quorum(&["cancel", "other", "--yes"]).exits(0);
    assert!(!other.into_iter().any(is_alive), "it was called off");
    assert!(work.into_iter().all(is_alive), "this one was not");
    // Nobody can take it over, so the next session begins it anew.
    scene.let_go("work");
    let document = scene.workspace.resume_json(3, &[]);
    assert!(!work.into_iter().any(is_alive), "two work at once");
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(task(&document, "other")["failure"]["mode"], "cancelled");
}

#[test]
fn a_supervisor_without_a_door_says_why_and_tries_again() {
    let mut scene = Scene::start(with_a_runaway());
    let (work, other) = (pids(&scene, "work"), pids(&scene, "other"));
    let door = scene.workspace.run_folder().join(journal::SOCKET);
    fs::create_dir(&door).unwrap();
    scene.kill_runner();
    let exits = || fs::read_to_string(scene.exits()).unwrap_or_default();
    wait_for("the reason on record", || exits().contains("cannot open its socket"));
    // What is no socket in its place is named, and nothing is done beside it.
    let doctor = scene.workspace.quorum(&["doctor", "state"]).exits(1);
    doctor.stdout.says(&[&format!("{} is a folder, not a socket", journal::SOCKET)]);
    scene.workspace.quorum(&["cancel", "other", "--yes"]).exits(9);
    assert!(other.into_iter().all(is_alive), "nobody could be told");
    assert!(work.into_iter().all(is_alive) && is_alive(scene.supervisor));

    fs::remove_dir(&door).unwrap();
    wait_for("the door", || door.exists());
    // It takes its complaint back behind that.
    wait_for("nothing to complain about", || {
        let doctor = scene.workspace.quorum(&["doctor", "state"]).exits(0);
        !doctor.stdout.contains("cannot open")
    });
    scene.workspace.quorum(&["cancel", "other", "--yes"]).exits(0);
    assert!(!other.into_iter().any(is_alive), "it was called off");
    let resumed = scene.adopted(1);
    scene.let_go("work");
    let document = resumed.finish().exits(3).json();
    scene.assert_done_once(&document);
}

#[test]
fn a_supervisor_that_cannot_be_reached_is_ended_and_the_reason_said() {
    let mut scene = Scene::start(work());
    let door = scene.workspace.run_folder().join(journal::SOCKET);
    scene.kill_runner();
    wait_for("the door", || door.exists());
    fs::remove_file(&door).unwrap();
    let _impostor = listen(&door).unwrap();
    let resumed = scene.workspace.start(&["resume", "--json"]);
    wait_for("the second turn", || scene.log().len() == 2);
    assert!(!is_alive(scene.agent) && !is_alive(scene.supervisor), "two work at once");
    scene.let_go("work");
    let document = resumed.finish().exits(0).json();
    document["warnings"].to_string().says(&["somebody else"]);
}

#[test]
fn a_supervisor_whose_place_is_taken_is_in_the_way_until_it_is_free() {
    let mut scene = Scene::start(work());
    let door = scene.workspace.run_folder().join(journal::SOCKET);
    fs::create_dir(&door).unwrap();
    scene.kill_runner();
    let ended = scene.workspace.quorum(&["resume"]).exits(9);
    ended.says(&[&format!("{} is a folder, not a socket", journal::SOCKET)]);
    assert!(is_alive(scene.agent) && scene.log().len() == 1, "two work at once");
    fs::remove_dir(&door).unwrap();
    let resumed = scene.workspace.start(&["resume", "--json"]);
    scene.let_go("work");
    resumed.finish().exits(0);
}

/// A session of another run in the same folder, which steps from one task to the next.
fn beside(workspace: &Workspace) -> Running {
    let script = "echo > began.$QUORUM_TASK; while ! test -e go.$QUORUM_TASK; do sleep 0.02; done";
    workspace.write(
        "beside.yaml",
        Mission::new()
            .agent("slow", script)
            .setting("concurrency", 1)
            .task("first", |t| t.unreviewed())
            .task("second", |t| t.unreviewed().needs("first"))
            .yaml(),
    );
    for name in ["began.first", "go.first", "began.second", "go.second"] {
        let _ = fs::remove_file(workspace.path(name));
    }
    let running = workspace.start(&["run", "beside.yaml", "--json"]);
    wait_for_file(&workspace.path("began.first"));
    running
}

fn said(workspace: &Workspace, command: &Value) -> UnixStream {
    let mut peer = connect(&workspace.path(".polpo/control.sock")).expect("somebody listens");
    peer.set_read_timeout(Some(DEADLINE)).unwrap();
    writeln!(peer, "{command}").unwrap();
    peer
}

fn answer(peer: UnixStream) -> Value {
    let mut line = String::new();
    BufReader::new(peer).read_line(&mut line).expect("it answers");
    serde_json::from_str(&line).expect("it is JSON")
}

#[test]
fn a_live_session_works_on_while_it_ends_what_another_run_left() {
    let scene = Scene::crashed(doing("trap 'echo > asked.to.end' TERM"));
    let workspace = &scene.workspace;
    let run = workspace.run_folder();
    let run = run.file_name().unwrap().to_str().unwrap().to_owned();
    let running = beside(workspace);
    let peer = said(
        workspace,
        &json!({"id": "one", "run": run, "by": "ada", "command": {"do": "cancel-task", "task": 0}}),
    );
    wait_for_file(&workspace.path("asked.to.end"));
    // It takes its three seconds of grace; the other run does not.
    workspace.write("go.first", "");
    wait_for_file(&workspace.path("began.second"));
    assert!(is_alive(scene.agent), "the session was held up until the agent had gone");
    // An end comes after it all the same.
    workspace.write("go.second", "");
    running.finish().exits(0);
    assert!(!is_alive(scene.agent));
    assert_eq!(answer(peer), json!({"result": "applied"}));
    let document = workspace.status_of(&run);
    assert_eq!(task(&document, "work")["failure"]["mode"], "cancelled");
}

#[test]
fn what_changes_nothing_ends_nothing() {
    let mut scene = Scene::crashed(work());
    let run = scene.workspace.run_folder();
    let run = run.file_name().unwrap().to_str().unwrap().to_owned();
    let cancel = |id: &str| {
        let running = beside(&scene.workspace);
        let command = json!({"do": "cancel-task", "task": 0});
        let peer = said(&scene.workspace, &json!({"id": id, "run": run, "by": "ada", "command": command}));
        let met = answer(peer);
        for task in ["first", "second"] {
            scene.workspace.write(&format!("go.{task}"), "");
        }
        running.finish().exits(0);
        met
    };
    assert_eq!(cancel("one"), json!({"result": "applied"}));
    assert!(!is_alive(scene.agent));
    fs::remove_file(scene.workspace.path("work.pid")).unwrap();
    let again = scene.workspace.start(&["resume", &run, "--retry-failed"]);
    let agent = read_pid(&scene.workspace.path("work.pid"));
    again.kill();
    // It was taken before: what has begun since is not what it spoke of.
    assert_eq!(cancel("one"), json!({"result": "applied"}));
    assert!(is_alive(agent));
    assert_eq!(cancel("two"), json!({"result": "applied"}));
    assert!(!is_alive(agent));
    scene.agent = agent;
}
