//! Commands on other machines: a worker, and children that stand for commands, below one server. Built with the feature `temporal`
//! alone, and played where `QUORUM_TEMPORAL` names the server's program.

use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::scenes::repositories::repository;
use crate::support::{
    BINARY, Finished, Mission, Running, Workspace, makes_namespaces, skipped, wait_for_file,
};

mod desk;
mod hosted;
mod judges;
mod taken_over;

const KEY: &str = "a text that nobody outside of the team knows";

/// A server, an exchange, and a repository at home.
struct Scene {
    place: tempfile::TempDir,
    server: Child,
    address: String,
    turns: u32,
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.server.kill().expect("it was started here");
        self.server.wait().expect("it is ours");
    }
}

/// A process that is ended with its test.
struct Process(Option<Child>);

impl Process {
    fn of(mut command: Command) -> Self {
        Self(Some(command.spawn().expect("it can be started")))
    }

    fn wait_with_output(mut self) -> Output {
        self.0.take().expect("it is waited for once").wait_with_output().expect("it is ours")
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().expect("it is not waited for yet")
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().expect("it is not waited for yet")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            child.kill().expect("it was started here");
            child.wait().expect("it is ours");
        }
    }
}

/// A turn that was handed out.
struct Turn {
    place: PathBuf,
}

impl Scene {
    /// `None`, and told, where there is no server.
    fn new() -> Option<Self> {
        let Some(program) = std::env::var_os("QUORUM_TEMPORAL") else {
            skipped("QUORUM_TEMPORAL names no server of Temporal");
            return None;
        };
        let place = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let server = Command::new(program)
            .args(["server", "start-dev", "--headless", "--log-level", "error"])
            .args(["--port", &port.to_string(), "--db-filename"])
            .arg(place.path().join("database"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server can be started");
        let address = format!("127.0.0.1:{port}");
        let begun = Instant::now();
        while TcpStream::connect(&address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "the server does not listen");
            sleep(Duration::from_millis(50));
        }
        // It listens before it has made its namespace.
        sleep(Duration::from_secs(2));
        let scene = Self { place, server, address, turns: 0 };
        for name in ["exchange.git", "home.git"] {
            git(scene.path(""), &["init", "-q", "--bare", name]);
        }
        Some(scene)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn quorum(&self, home: &str) -> Command {
        let home = self.path(home);
        fs::create_dir_all(&home).unwrap();
        let mut command = Command::new(BINARY);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("TEMPORAL_ADDRESS", &self.address)
            .env("QUORUM_WORKER_KEY", KEY)
            .env("A_KEY_OF_THE_WORKER", "hunter2-and-more")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn worker(&self) -> Process {
        let mut command = self.quorum("worker");
        command.args(["worker", "--queue", "gpu", "--slots", "4"]).stderr(Stdio::null());
        Process::of(command)
    }

    /// Hands out a folder with a command of a shell.
    fn turn(&mut self, script: &str, lease: u64) -> Turn {
        self.turns += 1;
        let place = self.path(&format!("turn-{}", self.turns));
        let (turn, run) = (format!("{}.1.1", self.turns), "r-1");
        for folder in ["w", "q"] {
            fs::create_dir_all(place.join(folder)).unwrap();
        }
        fs::write(place.join("w/kept"), "kept\n").unwrap();
        fs::write(place.join("w/gone"), "gone\n").unwrap();
        let command = json!({
            "label": turn, "argv": ["sh", "-c", script, "/home/ada/work"],
            "variables": [["QUORUM_RESULT_FILE", "/spool/drop/result"], ["QUORUM_TASK_DIR", "/spool/drop"]],
            "env": [["A_KEY", "${A_KEY_OF_THE_WORKER}"], ["PATH", "${PATH}"], ["TMPDIR", "${TMPDIR}"]],
            "cwd": "/home/ada/work", "within": "/home/ada/work", "apart": null, "stdin": "/spool/prompt", "told": [],
            "shown": [], "sealed": false,
            "outputs": {
                "stdout": "/spool/out", "stderr": "/spool/err", "result": "/spool/drop/result",
                "secrets": [], "limit": 1_000_000, "preset": null, "given_up": null,
            },
            "timeout": 60_000, "outlives_session": true, "confinement": null, "is_free": false, "prepares": false,
            "sees_hidden": false, "copy": null,
        });
        let carried = json!({
            "command": command, "written": 1, "folder": "/home/ada/work", "files": [["/spool/prompt", "file-0"]],
            "confinement": {"sandbox": "auto", "network": null, "files": null},
        });
        let name = format!("{run}/{turn}");
        for (file, text) in [
            ("job.json", carried.to_string().as_str()),
            ("file-0", "the prompt\n"),
            ("exchange.exclude", ""),
            ("exchange.largest", "1000000"),
            ("exchange.name", &name),
        ] {
            fs::write(place.join("q").join(file), text).unwrap();
        }
        git(place.clone(), &["init", "-q"]);
        git(place.clone(), &["add", "-A", "-f", "w", "q"]);
        git(place.clone(), &["commit", "-q", "-m", "in"]);
        let commit = git(place.clone(), &["rev-parse", "HEAD"]);
        for repository in ["exchange.git", "home.git"] {
            let to = self.path(repository);
            git(
                place.clone(),
                &["push", "-q", &to.to_string_lossy(), &format!("HEAD:refs/quorum/{name}/in")],
            );
        }
        let request = json!({
            "exchange": self.path("exchange.git"), "name": name, "commit": commit, "id": format!("{run}.nonce.{turn}"), "queue": "gpu",
            "lease": lease, "wait": 5_000, "timeout": 60_000, "most": 100_000_000, "repository": self.path("home.git"),
            "report": place.join("report"),
        });
        fs::write(place.join("request"), request.to_string()).unwrap();
        Turn { place }
    }

    /// A mission whose agent works elsewhere.
    fn mission<const N: usize>(&self, script: &str, exchange: &str, tasks: [&str; N]) -> Workspace {
        self.mission_of(json!({"run": script, "queue": "gpu"}), exchange, tasks)
    }

    fn mission_of<const N: usize>(&self, agent: Value, exchange: &str, tasks: [&str; N]) -> Workspace {
        let mission = Mission::new().agent_with("worker", agent).setting("evaluate", false);
        self.of(mission.tasks(tasks), exchange)
    }

    fn of(&self, mission: Mission, exchange: &str) -> Workspace {
        let workers = json!({"exchange": self.path(exchange), "lease": "2s", "waitForWorker": "2s"});
        let mission = mission
            .setting("workers", workers)
            .setting("concurrency", 4)
            .setting("maxRetries", 1)
            .setting("maxFixAttempts", 0);
        repository(mission, &[]).like_users()
    }

    fn start(&self, workspace: &Workspace, arguments: &[&str]) -> Running {
        let mut command = workspace.command(arguments);
        command.env("TEMPORAL_ADDRESS", &self.address).env("QUORUM_WORKER_KEY", KEY);
        Running::start(command)
    }

    fn run(&self, workspace: &Workspace, arguments: &[&str]) -> Finished {
        self.start(workspace, arguments).finish()
    }

    fn child(&self, turn: &Turn) -> Process {
        let mut command = self.quorum("home");
        command.arg("--carried").arg(turn.place.join("request"));
        Process::of(command)
    }

    fn done(&self, turn: &Turn) -> Output {
        self.child(turn).wait_with_output()
    }
}

impl Turn {
    fn report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.place.join("report")).unwrap()).unwrap()
    }
}

fn git(folder: PathBuf, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).trim_end().to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn signal(child: &Child, name: &str) {
    let words: [OsString; 2] = [name.into(), child.id().to_string().into()];
    assert!(Command::new("kill").args(words).status().unwrap().success());
}

fn wait_for(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} does not come", path.display());
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_command_works_elsewhere_as_it_would_here_and_is_begun_once() {
    let Some(mut scene) = Scene::new() else { return };
    let mut worker = scene.worker();
    let ledger = scene.path("ledger");
    let script = format!(
        "cat; echo begun >> {}; echo more >> kept; rm gone; echo $A_KEY; echo $A_KEY >&2; env | cut -d= -f1 | sort > names; exit 3",
        ledger.display()
    );
    let turn = scene.turn(&script, 10_000);
    let first = scene.done(&turn);
    let printed = "the prompt\n****************\n";
    assert_eq!(
        (first.status.code(), text(&first.stdout)),
        (Some(3), printed.to_owned()),
        "{}",
        text(&first.stderr)
    );
    assert_eq!(text(&first.stderr), "****************\n");
    let out = turn.report()["end"]["Ended"]["commit"].as_str().expect("it has left something").to_owned();
    let shown = |path: &str| git(scene.path("home.git"), &["show", &format!("{out}:{path}")]);
    assert_eq!(shown("w/kept"), "kept\nmore");
    let names = shown("w/names");
    assert!(
        names.contains("QUORUM_TASK_DIR") && !names.contains("WORKER_KEY") && !names.contains("TEMPORAL"),
        "{names}"
    );
    let listed = git(scene.path("home.git"), &["ls-tree", "-r", "--name-only", &out]);
    assert_eq!(listed.lines().collect::<Vec<_>>(), ["q/stderr", "q/stdout", "w/kept", "w/names"]);

    // A child that comes later finds what the first one has begun, whether it knows of that one or not.
    for _ in 0..2 {
        let again = scene.done(&turn);
        assert_eq!((again.status.code(), text(&again.stdout)), (Some(3), printed.to_owned()));
        assert_eq!(fs::read_to_string(&ledger).unwrap(), "begun\n");
        fs::remove_file(turn.place.join("report")).unwrap();
    }
    // Another job under the same name is none of it.
    let request = turn.place.join("request");
    let other = fs::read_to_string(&request).unwrap().replace("exchange.git", "exchange.git/.");
    fs::write(&request, other).unwrap();
    assert_eq!(scene.done(&turn).status.code(), Some(1));
    assert_eq!(turn.report()["end"], "Foreign");

    // Called off, it is ended there.
    let begun = scene.path("begun");
    let turn = scene.turn(&format!("echo > {}; sleep 60", begun.display()), 10_000);
    let child = scene.child(&turn);
    wait_for(&begun);
    signal(&child, "-TERM");
    assert_eq!(child.wait_with_output().status.code(), Some(143));
    assert_eq!(turn.report()["end"], "CalledOff");

    // A worker that is told to end lets what is at work come to its end, and takes no more.
    let begun = scene.path("begun-2");
    let turn = scene.turn(&format!("echo > {}; sleep 2; echo done", begun.display()), 10_000);
    let child = scene.child(&turn);
    wait_for(&begun);
    signal(&worker, "-TERM");
    assert_eq!(text(&child.wait_with_output().stdout), "done\n");
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    let turn = scene.turn("true", 10_000);
    assert_eq!(scene.done(&turn).status.code(), Some(1));
    assert!(turn.report()["end"]["NeverBegan"].is_string(), "{}", turn.report());
}

#[test]
fn a_turn_whose_worker_is_gone_is_lost_and_one_whose_worker_stood_still_is_not_begun() {
    let Some(mut scene) = Scene::new() else { return };
    let mut worker = scene.worker();
    let begun = scene.path("begun");
    let turn = scene.turn(&format!("echo > {}; sleep 60", begun.display()), 2_000);
    let child = scene.child(&turn);
    wait_for(&begun);
    let killed = Instant::now();
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert_eq!(child.wait_with_output().status.code(), Some(1));
    assert!(turn.report()["end"]["Lost"].is_string(), "{}", turn.report());
    assert!(killed.elapsed() < Duration::from_secs(8), "{:?}", killed.elapsed());

    let worker = scene.worker();
    // What the server knows nothing of is not begun where another child was here before.
    let begun = scene.path("begun-never");
    let turn = scene.turn(&format!("echo > {}", begun.display()), 10_000);
    fs::write(turn.place.join("report"), json!({"began": null, "end": null}).to_string()).unwrap();
    assert_eq!(scene.done(&turn).status.code(), Some(1));
    assert!(turn.report()["end"]["Lost"].is_string(), "{}", turn.report());
    assert!(!begun.exists());

    let turn = scene.turn("true", 10_000);
    assert_eq!(scene.done(&turn).status.code(), Some(0), "{}", turn.report());
    signal(&worker, "-STOP");
    let begun = scene.path("begun-2");
    let turn = scene.turn(&format!("echo > {}", begun.display()), 2_000);
    assert_eq!(scene.done(&turn).status.code(), Some(1));
    signal(&worker, "-CONT");
    sleep(Duration::from_secs(3));
    assert!(!begun.exists(), "what it was handed meanwhile has begun");
    signal(&worker, "-KILL");
    worker.wait_with_output();
}

#[test]
fn a_run_has_its_work_done_elsewhere() {
    let Some(scene) = Scene::new() else { return };
    let ledger = scene.path("ledger");
    let begins = format!("echo $QUORUM_ATTEMPT.$QUORUM_TURN.$QUORUM_TASK >> {}", ledger.display());

    // Nobody serves the queue: no attempt is spent.
    let script = format!("{begins}; echo work > $QUORUM_TASK.txt");
    let workspace = scene.mission(&script, "exchange.git", ["a", "b"]);
    let finished = scene.run(&workspace, &["run", "mission.yaml"]).exits(7);
    assert!(format!("{}{}", finished.stdout, finished.stderr).contains("'gpu'"), "{finished:?}");
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!said.contains("retry") && !said.contains("RETRY") && !said.contains("resumable at"), "{said}");
    // A later session waits as long again.
    scene.run(&workspace, &["resume"]).exits(7).says(&["'gpu'"]);
    assert!(!ledger.exists());
    let running = scene.start(&workspace, &["resume"]);
    let mut worker = scene.worker();
    running.finish().exits(0);
    assert_eq!(
        (workspace.read("a.txt"), workspace.read("b.txt")),
        ("work\n".to_owned(), "work\n".to_owned())
    );
    let mut begun: Vec<String> = fs::read_to_string(&ledger).unwrap().lines().map(str::to_owned).collect();
    begun.sort();
    assert_eq!(begun, ["1.3.a", "1.3.b"]);
    let left = git(scene.path("exchange.git"), &["for-each-ref"]);
    assert!(!left.contains("/in") && !left.contains("/out"), "what is settled is forgotten: {left}");

    // A worker that is killed loses its turn, and the next attempt is another worker's.
    fs::remove_file(&ledger).unwrap();
    let script =
        format!("{begins}; test $(wc -l < {}) -gt 1 || sleep 60; echo work > made", ledger.display());
    let workspace = scene.mission(&script, "exchange.git", ["a"]);
    let running = scene.start(&workspace, &["run", "mission.yaml"]);
    wait_for_file(&ledger);
    worker.kill().unwrap();
    worker.wait().unwrap();
    let other = scene.worker();
    running.finish().exits(0);
    assert_eq!(workspace.read("made"), "work\n");
    // The same turn is never begun twice.
    assert_eq!(fs::read_to_string(&ledger).unwrap(), "1.1.a\n1.2.a\n");
    signal(&other, "-TERM");
    other.wait_with_output();

    // With the run go its references.
    let run = workspace.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    let left = || git(scene.path("exchange.git"), &["for-each-ref"]).contains(&run);
    assert!(left());
    scene.run(&workspace, &["clean", "--all", "--yes"]).exits(0);
    assert!(!left());

    // Without the exchange nothing is tried.
    let workspace = scene.mission("true", "gone.git", ["a"]);
    let finished = scene.run(&workspace, &["run", "mission.yaml"]).exits(9);
    finished.says(&["settings.workers", "gone.git"]);
    workspace.assert_nothing_started();
    // Nor without a server, or a key.
    let workspace = scene.mission("true", "exchange.git", ["a"]);
    let nowhere = [("TEMPORAL_ADDRESS", "127.0.0.1:1"), ("QUORUM_WORKER_KEY", KEY)];
    let finished = workspace.quorum_with(&nowhere, &["run", "mission.yaml"]).exits(9);
    finished.says(&["settings.workers", "127.0.0.1:1", "cannot be reached"]);
    let finished =
        workspace.quorum_with(&[("TEMPORAL_ADDRESS", &scene.address)], &["run", "mission.yaml"]).exits(9);
    finished.says(&["no key of the team"]);
    workspace.assert_nothing_started();
}

#[test]
fn a_worker_that_is_told_twice_ends_at_once_and_runs_nothing_without_the_code_of_its_team() {
    let Some(mut scene) = Scene::new() else { return };
    let mut worker = scene.worker();
    let begun = scene.path("begun");
    let turn = scene.turn(&format!("echo > {}", begun.display()), 10_000);
    let mut stranger = scene.quorum("home");
    stranger.env("QUORUM_WORKER_KEY", "a text of somebody who is not of the team");
    let ended = stranger.arg("--carried").arg(turn.place.join("request")).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let end = &turn.report()["end"]["Ended"];
    assert_eq!(
        (&end["exit"], &end["why"]),
        (&Value::Null, &json!("the job carries no code of the team's key"))
    );
    assert!(!begun.exists());

    let turn = scene.turn(&format!("echo > {}; sleep 60", begun.display()), 10_000);
    let child = scene.child(&turn);
    wait_for(&begun);
    signal(&worker, "-TERM");
    sleep(Duration::from_millis(300));
    let told = Instant::now();
    signal(&worker, "-TERM");
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    assert_eq!(child.wait_with_output().status.code(), Some(1));
    assert!(turn.report()["end"]["Lost"].is_string(), "{}", turn.report());
    assert!(told.elapsed() < Duration::from_secs(9), "{:?}", told.elapsed());
}

#[test]
fn what_comes_home_is_judged_as_work_of_this_machine_and_holds_no_key_of_the_other() {
    let Some(scene) = Scene::new() else { return };
    let mut worker = scene.worker();
    let of_task = |workspace: &Workspace| {
        let document: Value =
            serde_json::from_str(&scene.run(workspace, &["run", "mission.yaml", "--json"]).stdout).unwrap();
        document["tasks"][0].clone()
    };

    // Work that cannot be taken.
    let script = "ln -s /etc/passwd names; echo work > made";
    let here = of_task(&scene.mission_of(json!({"run": script}), "exchange.git", ["a"]));
    let there = of_task(&scene.mission(script, "exchange.git", ["a"]));
    assert!(here["findings"].to_string().contains("names is a link to /etc/passwd"), "{here:#}");
    for key in ["status", "findings", "failure"] {
        assert_eq!(here[key], there[key], "{here:#} {there:#}");
    }

    // A program that the other machine does not have.
    let task = of_task(&scene.mission_of(
        json!({"run": ["no-such-program", "a"], "queue": "gpu"}),
        "exchange.git",
        ["a"],
    ));
    let node = text(&Command::new("uname").arg("-n").output().unwrap().stdout);
    let names = format!("on {}:{}", node.trim(), worker.id());
    assert!(task["failure"].to_string().contains(&names), "{task:#}");
    assert_eq!(task["status"], "failed");

    // A key of the other machine.
    let script = "printf 'said %s\n' $A_KEY; echo $A_KEY >&2; printf '{\"output\": \"%s\"}' $A_KEY > $QUORUM_RESULT_FILE; \
                  echo $A_KEY > $QUORUM_TASK_DIR/note; echo work > made";
    let agent =
        |script: &str| json!({"run": script, "queue": "gpu", "env": {"A_KEY": "${A_KEY_OF_THE_WORKER}"}});
    let workspace = scene.mission_of(agent(script), "exchange.git", ["a"]);
    assert_eq!(of_task(&workspace)["status"], "done");
    let logs = scene.run(&workspace, &["logs", "a"]).exits(0);
    assert!(!logs.stdout.contains("hunter2"), "{logs:?}");
    let named = scene.mission_of(agent("echo > $A_KEY"), "exchange.git", ["a"]);
    let task = of_task(&named);
    assert!(task["failure"].to_string().contains("holds a key"), "{task:#}");
    for folder in [workspace.path(""), named.path("")] {
        let found = Command::new("grep").args(["-rl", "hunter2-and-more"]).arg(&folder).output().unwrap();
        assert_eq!(text(&found.stdout), "");
    }
    let objects = Command::new("sh")
        .args(["-c", "for r in \"$@\"; do git -C \"$r\" cat-file --batch-all-objects --batch; done", "sh"])
        .arg(scene.path("exchange.git"))
        .args([&workspace, &named].map(|workspace| workspace.run_folder().join("worktrees/carried.git")))
        .output()
        .unwrap();
    assert!(objects.status.success() && text(&objects.stdout).contains("work"));
    assert!(!text(&objects.stdout).contains("hunter2-and-more"));
    let database = fs::read(scene.path("database")).unwrap();
    assert!(!text(&database).contains("hunter2-and-more"));
    signal(&worker, "-TERM");
    worker.wait().unwrap();
}

#[test]
fn no_agent_sees_the_exchange_that_its_work_travels_by() {
    let Some(scene) = Scene::new() else { return };
    if !makes_namespaces() {
        return skipped("nothing can be confined, so that agents see the exchange");
    }
    let mut worker = scene.worker();
    let exchange = scene.path("exchange.git");
    let script = format!("test ! -e {0}/HEAD && ! touch {0}/made && echo work > made", exchange.display());
    for agent in [json!({"run": script, "queue": "gpu"}), json!({"run": script})] {
        let workspace = scene.mission_of(agent, "exchange.git", ["a"]);
        scene.run(&workspace, &["run", "mission.yaml"]).exits(0);
        assert!(!exchange.join("made").exists());
    }
    signal(&worker, "-TERM");
    worker.wait().unwrap();
}
