//! What works on another machine is taken over, whoever died on the machine of the run, and on which machine that goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::{KEY, Scene, git, signal, text};
use crate::support::{Running, Workspace, is_alive, supervisor_of, wait_for, wait_for_file};

/// A run whose agent is at work elsewhere until it is let go.
struct AtWork {
    workspace: Workspace,
    running: Running,
    ledger: PathBuf,
    go: PathBuf,
}

/// More than goes with one heartbeat.
const PRINTED: usize = 150_000;

impl AtWork {
    fn begin(scene: &Scene, name: &str, keys: &str) -> Self {
        let [ledger, go] = ["ledger", "go"].map(|file| scene.path(&format!("{file}-{name}")));
        let script = format!(
            "echo $QUORUM_ATTEMPT.$QUORUM_TURN >> {0}; yes 123456789 | head -c {PRINTED}; test $(wc -l < {0}) -gt 1 || \
             until test -e {1}; do sleep 0.05; done; echo last; echo work > made",
            ledger.display(),
            go.display()
        );
        let workspace = scene.mission(&script, "exchange.git", ["a"]);
        workspace.mission(&workspace.read("mission.yaml").replace("- {", &format!("- {{{keys}")));
        git(workspace.path(""), &["commit", "-qam", "keys", "--allow-empty"]);
        let running = scene.start(&workspace, &["run", "mission.yaml"]);
        wait_for_file(&ledger);
        Self { workspace, running, ledger, go }
    }

    /// Kills the session, and its supervisor, and the child that stands for the agent.
    fn killed(self) -> (Workspace, PathBuf, PathBuf) {
        let Self { workspace, running, ledger, go } = self;
        let (supervisor, child) = (supervisor_of(running.pid()), child_in(workspace.root()));
        running.kill();
        for process in [supervisor, child.expect("it stands for the agent")] {
            kill(process);
        }
        (workspace, ledger, go)
    }
}

fn kill(process: Pid) {
    kill_process(process, Signal::KILL).unwrap();
    wait_for("the end of a process", || !is_alive(process));
}

/// The child that stands for an agent of a run in a folder.
pub fn child_in(folder: &Path) -> Option<Pid> {
    let names = fs::read_dir("/proc").unwrap().flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_it = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = text(&words);
        let mut words = words.split('\0').skip(1);
        words.next() == Some("--carried")
            && words.next().is_some_and(|file| Path::new(file).starts_with(folder))
    };
    pids.filter(is_it).filter_map(Pid::from_raw).find(|pid| is_alive(*pid))
}

fn whole_output() -> String {
    "123456789\n".repeat(PRINTED / 10) + "last\n"
}

#[test]
fn what_works_elsewhere_is_taken_over_whoever_was_killed_here() {
    let Some(scene) = Scene::new() else { return };
    let mut worker = scene.worker();
    let combinations: [&[&str]; 5] = [
        &["child"],
        &["session"],
        &["session", "child"],
        &["session", "supervisor"],
        &["session", "supervisor", "child"],
    ];
    for (number, killed) in combinations.into_iter().enumerate() {
        let at_work = AtWork::begin(&scene, &number.to_string(), "");
        let AtWork { workspace, mut running, ledger, go } = at_work;
        let (supervisor, child) = (supervisor_of(running.pid()), child_in(workspace.root()).unwrap());
        let is_killed = |what| killed.contains(&what);
        for (what, process) in [("session", running.pid()), ("supervisor", supervisor), ("child", child)] {
            if is_killed(what) {
                kill(process);
            }
        }
        if is_killed("session") {
            running = scene.start(&workspace, &["resume"]);
        }
        let is_new = is_killed("child") || is_killed("supervisor");
        wait_for("a child", || child_in(workspace.root()).is_some_and(|now| (now != child) == is_new));
        fs::write(go, "").unwrap();
        running.finish().exits(0);
        assert_eq!(fs::read_to_string(&ledger).unwrap(), "1.1\n", "{killed:?}");
        assert_eq!(workspace.read("made"), "work\n");
        assert!(scene.run(&workspace, &["logs", "a"]).exits(0).stdout == whole_output(), "{killed:?}");
    }

    // It has ended while nobody looked.
    let (workspace, ledger, go) = AtWork::begin(&scene, "ended", "").killed();
    fs::write(go, "").unwrap();
    let exchange = || git(scene.path("exchange.git"), &["for-each-ref"]);
    wait_for("what it has left", || exchange().contains("/out"));
    scene.run(&workspace, &["resume"]).exits(0);
    assert_eq!(fs::read_to_string(&ledger).unwrap(), "1.1\n");
    assert!(scene.run(&workspace, &["logs", "a"]).exits(0).stdout == whole_output());
    assert!(!exchange().contains("/out"), "what is settled is forgotten");

    // Its worker is gone as well: it is lost, and begins anew elsewhere; with side effects a person is asked.
    for (number, keys) in ["", "\"sideEffects\": true, "].into_iter().enumerate() {
        let (workspace, ledger, _) = AtWork::begin(&scene, &format!("lost-{number}"), keys).killed();
        worker.kill().unwrap();
        worker.wait().unwrap();
        worker = scene.worker();
        let finished = scene.run(&workspace, &["resume"]);
        let begun = fs::read_to_string(&ledger).unwrap();
        assert_eq!(
            (finished.code(), begun.as_str()),
            [(Some(0), "1.1\n1.2\n"), (Some(8), "1.1\n")][number],
            "{finished:?}"
        );
    }
    signal(&worker, "-TERM");
    worker.wait().unwrap();
}

#[test]
fn a_machine_that_has_the_state_folder_takes_over_what_works_elsewhere() {
    let Some(scene) = Scene::new() else { return };
    let mut worker = scene.worker();
    let copy = |from: PathBuf, to: &Path| {
        assert!(Command::new("cp").arg("-a").args([&from, to]).status().unwrap().success());
    };
    for is_at_the_same_path in [false, true] {
        let name = format!("copied-{is_at_the_same_path}");
        let (workspace, ledger, go) = AtWork::begin(&scene, &name, "").killed();
        let mut place = scene.path(&name);
        copy(workspace.path(""), &place);
        if is_at_the_same_path {
            for entry in fs::read_dir(workspace.root()).unwrap().flatten() {
                let is_folder = entry.file_type().unwrap().is_dir();
                let remove =
                    if is_folder { fs::remove_dir_all::<PathBuf> } else { fs::remove_file::<PathBuf> };
                remove(entry.path()).unwrap();
            }
            copy(place.join("."), workspace.root());
            place = workspace.root().to_owned();
        }
        let mut command = workspace.command(&["resume", "--trust-origin"]);
        let home = scene.path("another-home");
        command.current_dir(&place).env("HOME", &home).env("XDG_CONFIG_HOME", home.join(".config"));
        command.env("TEMPORAL_ADDRESS", &scene.address).env("QUORUM_WORKER_KEY", KEY);
        let running = Running::start(command);
        wait_for("a child", || child_in(&place).is_some());
        fs::write(go, "").unwrap();
        running.finish().exits(0);
        assert_eq!(fs::read_to_string(&ledger).unwrap(), "1.1\n");
        assert_eq!(fs::read_to_string(place.join("made")).unwrap(), "work\n");
        let found =
            Command::new("grep").args(["-rl", "^last$"]).arg(place.join(".polpo/runs")).output().unwrap();
        assert!(fs::read_to_string(text(&found.stdout).trim_end()).unwrap() == whole_output());
        assert_eq!(workspace.exists("made"), is_at_the_same_path);
    }
    signal(&worker, "-TERM");
    worker.wait().unwrap();
}

/// Whether there is a process whose command line names a file.
fn is_at_work(file: &Path) -> bool {
    let mut processes = fs::read_dir("/proc").unwrap().flatten();
    let words = |process: fs::DirEntry| fs::read(process.path().join("cmdline")).unwrap_or_default();
    processes.any(|process| text(&words(process)).contains(&*file.to_string_lossy()))
}

#[test]
fn what_no_session_takes_over_ends_by_itself_elsewhere_when_its_turn_may_take_no_longer() {
    let Some(scene) = Scene::new() else { return };
    let _worker = scene.worker();
    let begun = scene.path("begun");
    let script = format!("echo > {}; sleep 600", begun.display());
    let workspace = scene.mission(&script, "exchange.git", ["a"]);
    let chain = "settings: {middleware: {agent: [sanitize_message]}, taskTimeout: 5s,";
    workspace.mission(&workspace.read("mission.yaml").replace("settings: {", chain));
    git(workspace.path(""), &["commit", "-qam", "chain"]);
    let running = scene.start(&workspace, &["run", "mission.yaml"]);
    wait_for_file(&begun);
    let (supervisor, child) = (supervisor_of(running.pid()), child_in(workspace.root()).unwrap());
    running.kill();
    for process in [supervisor, child] {
        wait_for("the end of those who stood for it", || !is_alive(process));
    }
    assert!(is_at_work(&begun), "its worker has not heard of that");
    wait_for("the end of the turn", || !is_at_work(&begun));
    scene.run(&workspace, &["resume"]).exits(3);
}
