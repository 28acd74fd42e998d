//! Sessions on machines that host them: the next host goes on where one is gone, and never beside a session that lives.

use std::fs;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::taken_over::child_in;
use super::{KEY, Process, Scene, signal, text};
use crate::support::{Mission, Running, Workspace, wait_for};

/// A run whose session is on a host, with an agent that is at work on another machine until it is let go.
struct Hosted {
    workspace: Workspace,
    hosts: Vec<Process>,
    running: Running,
    ledger: PathBuf,
    go: PathBuf,
}

impl Hosted {
    fn begin(scene: &Scene, name: &str) -> Self {
        let [ledger, go] = ["ledger", "go"].map(|file| scene.path(&format!("{file}-{name}")));
        let script = format!(
            "echo $QUORUM_ATTEMPT.$QUORUM_TURN >> {}; until test -e {}; do sleep 0.05; done; echo work > made",
            ledger.display(),
            go.display()
        );
        let workspace = scene.mission(&script, "exchange.git", ["a"]);
        let hosts = ["one", "other"].map(|machine| scene.host(&workspace, machine)).into();
        let hosted = ["run", "mission.yaml", "--hosted", "--json", "--run-id", "r"];
        let mut running = scene.start(&workspace, &hosted);
        wait_for("the agent", || ledger.exists() || running.has_ended());
        if !ledger.exists() {
            panic!("it has not begun: {:?}", running.finish());
        }
        Self { workspace, hosts, running, ledger, go }
    }

    /// Which of the hosts has the session.
    fn at_work(&self) -> usize {
        let child = child_in(self.workspace.root()).expect("it stands for the agent");
        let has_it = |host: &Process| below(host).contains(&child);
        self.hosts.iter().position(has_it).expect("the session is on one of them")
    }

    /// Lets the agent go, and gives the hosts with the folder that they work in.
    fn ends_well(self) -> (Vec<Process>, Workspace) {
        fs::write(self.go, "").unwrap();
        let finished = self.running.finish().exits(0);
        let document: Value = serde_json::from_str(&finished.stdout).expect("it is one document");
        assert_eq!(document["tasks"][0]["status"], "done", "{document:#}");
        assert_eq!(begun(&self.ledger), 1);
        assert_eq!(self.workspace.read("made"), "work\n");
        (self.hosts, self.workspace)
    }
}

impl Scene {
    fn host(&self, workspace: &Workspace, machine: &str) -> Process {
        Process::of(self.host_command(workspace, machine))
    }

    pub fn host_command(&self, workspace: &Workspace, machine: &str) -> Command {
        let mut command = workspace.command(&["worker", "--sessions"]);
        command.env("TEMPORAL_ADDRESS", &self.address).env("QUORUM_WORKER_KEY", KEY);
        command.env("XDG_CACHE_HOME", workspace.path("home").join(machine));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// How many turns were begun.
fn begun(ledger: &Path) -> usize {
    fs::read_to_string(ledger).unwrap().lines().count()
}

/// The processes that descend from another one.
fn below(process: &Child) -> Vec<Pid> {
    let names = fs::read_dir("/proc").unwrap().flatten();
    let pids: Vec<u32> = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let parent = |pid: u32| -> Option<u32> {
        let stat = text(&fs::read(format!("/proc/{pid}/stat")).ok()?);
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let descends = |pid: &u32| {
        std::iter::successors(parent(*pid), |pid| parent(*pid)).any(|above| above == process.id())
    };
    let found = pids.into_iter().filter(descends);
    found.filter_map(|pid| Pid::from_raw(pid.try_into().unwrap())).collect()
}

#[test]
fn a_session_goes_on_on_another_host_when_its_own_is_gone_and_begins_nothing_twice() {
    let Some(scene) = Scene::new() else { return };
    let _worker = scene.worker();
    let mut hosted = Hosted::begin(&scene, "gone");
    let at_work = hosted.at_work();
    // As when its machine loses power: nothing of it does anything any more.
    let gone = below(&hosted.hosts[at_work]);
    let all = gone.iter().copied().chain([Pid::from_child(&hosted.hosts[at_work])]);
    for with in [Signal::STOP, Signal::KILL] {
        all.clone().for_each(|process| kill_process(process, with).unwrap());
    }
    let killed = Instant::now();
    hosted.hosts[at_work].wait().unwrap();
    wait_for("a session elsewhere", || {
        child_in(hosted.workspace.root())
            .is_some_and(|child| below(&hosted.hosts[1 - at_work]).contains(&child))
    });
    let seconds = killed.elapsed();
    eprintln!("it goes on after {seconds:?}");
    assert!(seconds < Duration::from_secs(15), "{seconds:?}");
    let (mut hosts, _workspace) = hosted.ends_well();
    // What is told to end has nothing at work.
    signal(&hosts[1 - at_work], "-TERM");
    let ended = hosts[1 - at_work].wait().unwrap();
    assert_eq!(ended.code(), Some(0), "{ended:?}");
}

#[test]
fn a_session_that_lives_has_none_beside_it_and_is_ended_by_who_waits_for_it() {
    let Some(scene) = Scene::new() else { return };
    let _worker = scene.worker();
    // Its host stands still, so that the server gives the session to the other one.
    let hosted = Hosted::begin(&scene, "still");
    let at_work = hosted.at_work();
    let (lock, mut buffer, mut looks) =
        (inotify::init(CreateFlags::NONBLOCK).unwrap(), [MaybeUninit::uninit(); 4096], 0);
    inotify::add_watch(&lock, hosted.workspace.path(".polpo/lock"), WatchFlags::OPEN).unwrap();
    let mut opened = inotify::Reader::new(&lock, &mut buffer);
    signal(&hosted.hosts[at_work], "-STOP");
    let other = &hosted.hosts[1 - at_work];
    // The supervisor of the host is below it, and then the session that waits.
    wait_for("another session", || below(other).len() > 1);
    // It finds that the lock is held, and looks again.
    wait_for("two looks at the lock", || {
        looks += usize::from(opened.next().is_ok());
        looks == 2
    });
    assert!(below(&hosted.hosts[at_work]).contains(&child_in(hosted.workspace.root()).unwrap()));
    let (hosts, _workspace) = hosted.ends_well();
    signal(&hosts[at_work], "-KILL");

    // Called off, it can be gone on with under its name.
    for (name, with, code) in [("term", Signal::TERM, 143), ("int", Signal::INT, 130)] {
        let hosted = Hosted::begin(&scene, name);
        kill_process(hosted.running.pid(), with).unwrap();
        let Hosted { workspace, hosts, running, ledger, go } = hosted;
        running.finish().exits(code);
        assert_eq!(hosts.iter().map(|host| below(host).len()).sum::<usize>(), 2, "only supervisors are left");
        fs::write(go, "").unwrap();
        scene.run(&workspace, &["run", "mission.yaml", "--hosted", "--run-id", "r"]).exits(0);
        assert_eq!(begun(&ledger), 2);
    }
}

#[test]
fn a_session_is_hosted_only_by_who_has_the_key_of_its_team_and_its_refusal_is_told() {
    let Some(scene) = Scene::new() else { return };
    let workspace = scene.mission("true", "exchange.git", ["a"]);
    let run = ["run", "mission.yaml", "--hosted"];
    scene.run(&workspace, &run).exits(9).says(&["'@sessions'", "waitForWorker"]);
    let mut host = scene.host(&workspace, "one");
    let stranger =
        [("TEMPORAL_ADDRESS", &*scene.address), ("QUORUM_WORKER_KEY", "that of nobody whom we know")];
    workspace.quorum_with(&stranger, &run).exits(1).says(&["no code of the team's key"]);
    workspace.assert_nothing_started();
    // What the session says is said here.
    workspace.mission(&workspace.read("mission.yaml").replace("exchange.git", "gone.git"));
    let said = scene.run(&workspace, &run).exits(9).stdout;
    assert!(said.contains("settings.workers") && said.contains("gone.git"), "{said}");
    workspace.mission("tasks: []");
    scene.run(&workspace, &run).exits(2);
    signal(&host, "-TERM");
    assert_eq!(host.wait().unwrap().code(), Some(0));
}

#[test]
fn a_hosted_run_that_waits_for_a_person_goes_on_under_its_name_or_where_its_state_is() {
    let Some(scene) = Scene::new() else { return };
    let mission =
        Mission::new().worker("echo work >> made").task("a", |task| task.set("requiresApproval", true));
    let workspace = scene.of(mission.setting("evaluate", false), "exchange.git");
    let _host = scene.host(&workspace, "one");
    let ways: [(&str, &[&str]); 2] =
        [("r", &["run", "mission.yaml", "--hosted", "--run-id", "r"]), ("s", &["resume", "s"])];
    for (done, (id, later)) in (1..).zip(ways) {
        scene.run(&workspace, &["run", "mission.yaml", "--hosted", "--run-id", id]).exits(8);
        scene.run(&workspace, later).exits(8);
        workspace.quorum(&["approve", &format!("{id}.0.1")]).exits(0);
        scene.run(&workspace, later).exits(0);
        assert_eq!(workspace.lines("made").len(), done);
    }
}
