//! What black-box tests share: a workspace of their own, the binary with a clean environment, bounded waiting.
//!
//! Every start of the binary has a deadline; one that does not end is killed with all that it started and fails its
//! test, so that a hang is a red test and never a stuck suite.

pub mod browser;
pub mod events;
pub mod journal;
pub mod junit;
mod machine;
mod mission;
pub mod model;
pub mod pages;
pub mod receiver;
#[cfg(target_os = "linux")]
pub mod refused_calls;
mod run;
mod says;
pub mod scenes;
mod skipped;
pub mod sockets;
pub mod somebody_else;
mod terminal;
#[cfg(target_os = "linux")]
pub mod trace;
mod wait;

use std::fmt::Display;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use events::Events;
pub use machine::{has_bubblewrap, makes_namespaces};
pub use mission::{Keys, Mission, Task};
#[cfg(target_os = "linux")]
use refused_calls::{NAMESPACES, Refused};
pub use run::{Finished, Running};
pub use says::{Has, Says};
pub use skipped::skipped;
use somebody_else::{NOBODY, give_away, is_root};
pub use terminal::{AtTerminal, Seen, at_terminal};
pub use wait::{DEADLINE, is_alive, parent, poll, read_pid, wait_for, wait_for_file};

/// What is tested.
pub const BINARY: &str = env!("CARGO_BIN_EXE_quorum");
/// Where the scripted agents and judges live.
const AGENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/agents");

/// Missions that show what there is.
const MISSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/missions");

/// A folder of its own for one test: the mission, the work, the state, the home.
pub struct Workspace {
    folder: tempfile::TempDir,
    clock_scale: Option<&'static str>,
    is_confined: bool,
    /// The mission in `mission.yaml`, if it was made as a value.
    mission: Option<Mission>,
}

/// A run with a known id, which ends by itself if an attack makes it hang.
pub const RUN_AS_R1: &[&str] = &["run", "mission.yaml", "--run-id", "r1", "--json", "--timeout", "4m"];

impl Workspace {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir_all(folder.path().join("home/.config")).expect("a home can be made");
        Self { folder, clock_scale: None, is_confined: false, mission: None }
    }

    /// A workspace with this mission in `mission.yaml`.
    pub fn with(mission: &str) -> Self {
        let workspace = Self::new();
        workspace.mission(mission);
        workspace
    }

    /// The same workspace with this mission in `mission.yaml`.
    pub fn with_mission(mut self, mission: Mission) -> Self {
        mission.write(&self);
        self.mission = Some(mission);
        self
    }

    /// The same workspace with another mission, made from that which it was made with.
    pub fn tap(mut self, change: impl FnOnce(Mission) -> Mission) -> Self {
        let mission = self.mission.take().expect("its mission was made as a value");
        self.with_mission(change(mission))
    }

    /// A workspace with these files of the project's own `missions/`.
    pub fn of_missions(names: &[&str]) -> Self {
        let workspace = Self::new();
        for name in names {
            let bytes = fs::read(Path::new(MISSIONS).join(name)).expect("the project has it");
            // What a mission makes lies beside it here, where the tests may write.
            let bytes = match String::from_utf8(bytes) {
                Ok(text) => text.replace("../playground", "playground").into_bytes(),
                Err(picture) => picture.into_bytes(),
            };
            workspace.write(name, bytes);
            let mode = fs::metadata(Path::new(MISSIONS).join(name)).expect("it was read").permissions();
            fs::set_permissions(workspace.path(name), mode).expect("it is ours");
        }
        workspace
    }

    /// The same workspace, in which the binary waits so many times less than it is told: back-offs, signs of life, windows,
    /// heartbeats. What is decided and written stays as it is.
    pub fn at_scale(mut self, scale: &'static str) -> Self {
        self.clock_scale = Some(scale);
        self
    }

    /// The same workspace, in which the system keeps agents from what judges them, as far as it can. Without this nothing is
    /// confined: most scripted judges leave behind what a test looks at, and agents are watched from outside.
    pub fn confined(mut self) -> Self {
        self.is_confined = true;
        self
    }

    /// As users have it: confined where the machine allows it; elsewhere every screen would say that it is not.
    pub fn like_users(self) -> Self {
        if makes_namespaces() { self.confined() } else { self }
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file, with its folders.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in the workspace")).expect("folders can be made");
        fs::write(&path, content).expect("a file can be written");
    }

    /// Writes `mission.yaml`. `@agents` stands for the folder of scripted agents; for files of the state folder see
    /// [`journal::with_names`].
    pub fn mission(&self, text: &str) {
        let text = journal::with_names(&text.replace("@agents", AGENTS));
        self.write("mission.yaml", text);
    }

    /// The same workspace with other words in its mission, which must have those that are replaced.
    pub fn tap_mission(self, from: &str, to: &str) -> Self {
        let text = self.read("mission.yaml");
        assert!(text.contains(from), "there is no '{from}' in:\n{text}");
        self.write("mission.yaml", journal::with_names(&text.replace(from, to)));
        self
    }

    /// The text of a file; empty if there is none.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The lines of a file.
    pub fn lines(&self, name: &str) -> Vec<String> {
        self.read(name).lines().map(str::to_owned).collect()
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The scripted judge `@agents/judge.sh NAME`: its replies, one a call, the last one for ever.
    pub fn judge(&self, name: &str, replies: &[impl Display]) {
        for (n, reply) in (1..).zip(replies) {
            self.write(&format!("{name}/reply.{n}"), format!("{reply}\n"));
        }
    }

    /// How often a scripted judge was asked.
    pub fn calls(&self, judge: &str) -> usize {
        (1..).take_while(|n| self.exists(&format!("{judge}/call.{n}"))).count()
    }

    /// What a scripted judge was asked at its n-th call.
    pub fn asked(&self, judge: &str, call: usize) -> String {
        self.read(&format!("{judge}/call.{call}/prompt"))
    }

    /// The binary in this workspace with a clean environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.other_command(BINARY);
        command.args(arguments);
        command
    }

    /// Runs a bash script in which `$0` is the binary, with the same clean environment and the names of
    /// [`journal::with_names`].
    pub fn bash(&self, script: &str) -> Finished {
        let mut command = self.other_command("bash");
        command.args(["-c", &journal::with_names(script), BINARY]);
        Running::start(command).finish()
    }

    /// Another program in this workspace with the same clean environment.
    pub fn other_command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("home/.config"))
            .env("LANG", "C.UTF-8")
            .envs(self.clock_scale.map(|scale| ("QUORUM_TEST_CLOCK_SCALE", scale)))
            .envs((!self.is_confined).then_some(("QUORUM_SANDBOX", "off")));
        command
    }

    /// Starts the binary.
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command(arguments))
    }

    /// Starts the binary and kills it as soon as somebody has made this file.
    pub fn kill_at(&self, arguments: &[&str], file: &str) {
        let running = self.start(arguments);
        wait_for_file(&self.path(file));
        running.kill();
    }

    /// The mission must be refused with these words before anything starts.
    #[track_caller]
    pub fn refuses(&self, words: &[&str]) {
        self.quorum(&["run", "mission.yaml"]).exits(2).says(words);
        self.assert_nothing_started();
    }

    /// Runs the binary to its end.
    pub fn quorum(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).finish()
    }

    /// Starts the binary as a user who owns nothing but this workspace: what root may do is no attack.
    pub fn start_unprivileged(&self, arguments: &[&str]) -> Running {
        self.start_unprivileged_with(&[], arguments)
    }

    /// The same with more variables.
    pub fn start_unprivileged_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        Running::start(self.unprivileged_command(variables, arguments))
    }

    fn unprivileged_command(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Command {
        self.unprivileged(&[BINARY], variables, arguments)
    }

    /// A program with arguments, the first of which are `program`, as a user who owns nothing but the workspace.
    fn unprivileged(&self, program: &[&str], variables: &[(&str, &str)], arguments: &[&str]) -> Command {
        let mut words = program.iter().chain(arguments);
        let mut command = self.other_command(words.next().expect("there is a program"));
        if is_root() {
            give_away(self.root());
            // With its groups, and every right, gone.
            command.uid(NOBODY).gid(NOBODY);
        }
        command.args(words).envs(variables.iter().copied());
        command
    }

    /// Starts the binary without rights where parts of `/proc` are masked, as in a container, so that nobody can mount another.
    pub fn start_with_a_masked_proc(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        let script = "mount --bind /dev/null /proc/version &&
            exec setpriv --bounding-set=-all,+setfcap --inh-caps=-all \"$0\" \"$@\"";
        let before = ["unshare", "-Urm", "sh", "-c", script, BINARY];
        Running::start(self.unprivileged(&before, variables, arguments))
    }

    /// Runs the binary to its end where no user namespace can be made.
    pub fn without_namespaces(&self, arguments: &[&str]) -> Finished {
        self.start_without_namespaces(arguments).finish()
    }

    /// Starts the binary where the system keeps no process from others.
    #[cfg(target_os = "linux")]
    pub fn start_without_namespaces(&self, arguments: &[&str]) -> Running {
        Running::start(refused(self.without_user_namespaces(arguments), &[Refused::unknown(LANDLOCK)]))
    }

    /// Runs the binary to its end where no user namespace can be made, but there is Landlock.
    pub fn with_landlock_only(&self, arguments: &[&str]) -> Finished {
        Running::start(self.without_user_namespaces(arguments)).finish()
    }

    /// The binary where no user namespace can be made: in one that allows none below it, without any rights there; where
    /// this machine makes none anyway, as a user whom the system refuses them in the same words.
    #[cfg(target_os = "linux")]
    fn without_user_namespaces(&self, arguments: &[&str]) -> Command {
        if !makes_namespaces() {
            return refused(self.unprivileged_command(&[], arguments), &NAMESPACES);
        }
        let script = "echo 0 > /proc/sys/user/max_user_namespaces &&
            exec setpriv --bounding-set=-all --inh-caps=-all \"$0\" \"$@\"";
        let mut command = self.other_command("unshare");
        command.args(["-Ur", "sh", "-c", script, BINARY]).args(arguments);
        command
    }

    /// The same on a kernel that seems to be too old for what the supervisor needs to confine anything itself.
    #[cfg(target_os = "linux")]
    pub fn start_on_an_old_kernel(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        let command = self.unprivileged_command(variables, arguments);
        Running::start(refused(command, &[Refused::unknown(MOUNT_SETATTR)]))
    }

    /// Runs the binary to its end with more variables.
    pub fn quorum_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Finished {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        Running::start(command).finish()
    }

    /// `quorum run --json` with more flags, which must exit with `code`: its document.
    pub fn run_json(&self, code: i32, flags: &[&str]) -> Value {
        let arguments = [&["run", "mission.yaml", "--json"], flags].concat();
        self.quorum(&arguments).exits(code).json()
    }

    /// `quorum resume --json` with more flags, which must exit with `code`: its document.
    pub fn resume_json(&self, code: i32, flags: &[&str]) -> Value {
        let arguments = [&["resume", "--json"], flags].concat();
        self.quorum(&arguments).exits(code).json()
    }

    /// The document of `quorum status`.
    pub fn status(&self) -> Value {
        self.quorum(&["status", "--json"]).exits(0).json()
    }

    /// The document of `quorum status RUN`.
    pub fn status_of(&self, run: &str) -> Value {
        self.quorum(&["status", run, "--json"]).exits(0).json()
    }

    /// The public events of the latest run.
    pub fn events(&self) -> Events {
        let printed = self.quorum(&["events", "--format", "jsonl"]).exits(0);
        let lines = printed.stdout.lines();
        Events(lines.map(|line| serde_json::from_str(line).expect("each line is an object")).collect())
    }

    /// The folder of the only run.
    pub fn run_folder(&self) -> PathBuf {
        let mut runs = self.run_folders();
        assert_eq!(runs.len(), 1, "there should be one run: {runs:?}");
        runs.remove(0)
    }

    /// The folders of all runs, oldest first.
    pub fn run_folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(".polpo/runs"));
        let mut runs: Vec<PathBuf> = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("the folder can be read").path())
            .collect();
        runs.sort();
        runs
    }

    /// The journal of the only run.
    pub fn journal(&self) -> PathBuf {
        self.run_folder().join(journal::JOURNAL)
    }

    /// Nothing was started: no run, and nobody wrote `touched`.
    pub fn assert_nothing_started(&self) {
        assert_eq!(self.run_folders(), Vec::<PathBuf>::new(), "a run was made");
        assert!(!self.exists("touched"), "an agent was started");
    }
}

impl Drop for Workspace {
    /// Agents may outlive a session that a test killed, but not the test.
    fn drop(&mut self) {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let here = processes.filter(|entry| {
            let cwd = fs::read_link(entry.path().join("cwd"));
            cwd.is_ok_and(|cwd| cwd.starts_with(self.root()))
        });
        let pids = here.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for pid in pids.filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// What keeps a process from others where it cannot be confined: Linux 5.13.
#[cfg(target_os = "linux")]
pub const LANDLOCK: libc::c_long = libc::SYS_landlock_create_ruleset;
/// What the supervisor needs to confine a process itself: Linux 5.12.
#[cfg(target_os = "linux")]
const MOUNT_SETATTR: libc::c_long = libc::SYS_mount_setattr;

/// A command that is refused some system calls.
#[cfg(target_os = "linux")]
pub fn refused(mut command: Command, calls: &[Refused]) -> Command {
    let mut filter = refused_calls::filter(calls);
    // SAFETY: system calls only, and nothing is allocated.
    unsafe { command.pre_exec(move || refused_calls::install(&mut filter)) };
    command
}

/// The supervisor of a session.
pub fn supervisor_of(session: Pid) -> Pid {
    let session = session.as_raw_nonzero();
    let mut found = None;
    wait_for("a supervisor", || {
        let children = fs::read_to_string(format!("/proc/{session}/task/{session}/children"));
        let children = children.unwrap_or_default();
        found = children.split_whitespace().find_map(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            name.trim().starts_with(journal::SUPERVISOR).then(|| Pid::from_raw(pid.parse().ok()?))?
        });
        found.is_some()
    });
    found.expect("it was found")
}

/// One task of a run's document.
pub fn task<'a>(document: &'a Value, title: &str) -> &'a Value {
    let tasks = document["tasks"].as_array().expect("the document has tasks");
    let found = tasks.iter().find(|task| task["title"] == title);
    found.unwrap_or_else(|| panic!("there is no task '{title}' in {document:#}"))
}

/// Status and quality flag of a task.
pub fn standing<'a>(document: &'a Value, title: &str) -> (&'a str, &'a str) {
    let task = task(document, title);
    let text = |key: &str| task[key].as_str().unwrap_or_default();
    (text("status"), text("qualityFlag"))
}

/// The kinds of a task's attempts, in order.
pub fn attempts<'a>(document: &'a Value, title: &str) -> Vec<&'a str> {
    let attempts = task(document, title)["attempts"].as_array();
    let kinds = attempts.into_iter().flatten();
    kinds.map(|attempt| attempt["kind"].as_str().unwrap_or_default()).collect()
}

/// Verdict and cause of each attempt.
pub fn verdicts(document: &Value) -> Vec<(&str, &str)> {
    let attempts = task(document, "work")["attempts"].as_array();
    attempts
        .into_iter()
        .flatten()
        .map(|attempt| {
            let word = |key: &str| attempt[key].as_str().unwrap_or_default();
            (word("verdict"), word("cause"))
        })
        .collect()
}

/// One gate of a run's document.
pub fn gate<'a>(document: &'a Value, name: &str) -> &'a Value {
    let gates = document["gates"].as_array().expect("the document has gates");
    let found = gates.iter().find(|gate| gate["name"] == name);
    found.unwrap_or_else(|| panic!("there is no gate '{name}' in {document:#}"))
}
