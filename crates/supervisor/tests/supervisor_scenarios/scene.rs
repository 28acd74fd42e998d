//! What a scenario works with: a supervisor, a folder, and ways to look at processes from outside.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use supervisor::{
    self, ChildExit, Client, Holding, ProcessIdentity, Spawn, SupervisorCommand, SupervisorEvent,
};
use tokio::runtime::Runtime;

use super::refused_calls::{self, Argument, Refused};
use super::somebody_else::{give_away, without_rights_on_files};

/// No wait of any scenario lasts longer: what has not happened by then never will.
pub const DEADLINE: Duration = Duration::from_secs(120);

pub struct Scene {
    pub place: tempfile::TempDir,
    pub identity: ProcessIdentity,
    pub client: Option<Client>,
    pub runtime: Runtime,
    next_key: u64,
}

impl Scene {
    /// A supervisor that records exits in `exits.log` of a fresh folder.
    pub fn new() -> Scene {
        let mut scene = Scene::unopened();
        scene.open();
        scene
    }

    fn open(&mut self) {
        let (exits_log, socket) = (self.path("exits.log"), self.path("supervisor.sock"));
        self.send(&SupervisorCommand::Open { exits_log, socket });
    }

    /// A supervisor that has no more rights on files than any user, also where root tests.
    pub fn of_an_ordinary_user() -> Scene {
        let place = tempfile::tempdir().unwrap();
        give_away(place.path());
        let mut scene = without_rights_on_files(|| Scene::forked(place));
        scene.open();
        scene
    }

    /// A supervisor that was told nothing yet.
    pub fn unopened() -> Scene {
        Scene::forked(tempfile::tempdir().unwrap())
    }

    fn forked(place: tempfile::TempDir) -> Scene {
        let handle = supervisor::fork(false).unwrap();
        // One thread, so that the next scenario can fork too.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let identity = handle.identity().clone();
        let client = runtime.block_on(async { handle.into_async() }).unwrap();
        Scene { place, identity, client: Some(client), runtime, next_key: 1 }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn send(&mut self, command: &SupervisorCommand) {
        // It may have to have the event loop watch for room.
        let _inside = self.runtime.enter();
        let client = self.client.as_mut().expect("there is a runner");
        client.send(command).unwrap();
    }

    /// A child with these arguments that writes to `KEY.out` and `KEY.err`. It is not sent yet.
    pub fn program(&mut self, argv: &[&str]) -> Spawn {
        let key = self.next_key;
        self.next_key += 1;
        Spawn {
            key,
            label: format!("{key}.1.1"),
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: self.place.path().to_owned(),
            stdin: None,
            stdout: Some(self.path(&format!("{key}.out"))),
            stderr: Some(self.path(&format!("{key}.err"))),
            timeout_ms: None,
            grace_ms: 3000,
            ..Spawn::default()
        }
    }

    pub fn script(&mut self, script: &str) -> Spawn {
        self.program(&["/bin/sh", "-c", script])
    }

    /// Starts a child and returns its process id.
    pub fn start(&mut self, spawn: Spawn) -> u32 {
        let wanted = spawn.key;
        self.send(&SupervisorCommand::Spawn(Box::new(spawn)));
        match self.event() {
            SupervisorEvent::Spawned { key, pid, .. } if key == wanted => pid,
            other => panic!("expected {wanted} to be spawned: {other:?}"),
        }
    }

    /// Starts a child and waits for its end.
    pub fn run(&mut self, spawn: Spawn) -> ChildExit {
        let key = spawn.key;
        self.start(spawn);
        self.exit_of(key)
    }

    pub fn exit_of(&mut self, key: u64) -> ChildExit {
        match self.event() {
            SupervisorEvent::Exited(exit) if exit.key == key => exit,
            other => panic!("expected {key} to exit: {other:?}"),
        }
    }

    pub fn event(&mut self) -> SupervisorEvent {
        let client = self.client.as_mut().unwrap();
        self.runtime
            .block_on(async { tokio::time::timeout(DEADLINE, client.recv()).await })
            .expect("no event in time")
            .unwrap()
    }

    /// The runner is gone without a word.
    pub fn lose_runner(&mut self) {
        self.client = None;
    }

    /// The next runner comes: what it is told.
    pub fn next_runner(&mut self) -> Holding {
        let socket = self.path("supervisor.sock");
        let (handle, holding) = supervisor::reconnect(&socket, &self.identity, DEADLINE).unwrap();
        self.client = Some(self.runtime.block_on(async { handle.into_async() }).unwrap());
        holding
    }

    pub fn flush(&mut self) {
        let client = self.client.as_mut().unwrap();
        self.runtime
            .block_on(async { tokio::time::timeout(DEADLINE, client.flush()).await })
            .expect("not flushed in time")
            .unwrap();
    }

    /// Waits until a script has written a process id, or several, to a file of the folder.
    pub fn pids_in(&self, name: &str, count: usize) -> Vec<u32> {
        let read = || -> Vec<u32> {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            whole.lines().map(|line| line.trim().parse().unwrap()).collect()
        };
        until("process ids are written", || read().len() == count);
        read()
    }
}

impl Drop for Scene {
    /// A supervisor that holds a turn would outlive its scenario.
    fn drop(&mut self) {
        self.client = None;
        // What cannot be ended has failed its scenario already.
        let _ = supervisor::end(&self.identity, Duration::ZERO);
    }
}

/// Looks again and again until `condition` holds.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "it never happened that {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process exists and is more than a zombie.
pub fn running(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// The n-th field of `/proc/PID/stat`, counted from 1 as in its manual page; n > 2.
pub fn stat_field(pid: u32, n: usize) -> i64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit_once(") ").unwrap().1;
    rest.split(' ').nth(n - 3).unwrap().parse().unwrap()
}

/// Plays a scenario, whose name this is, in a process that the system does not let hide itself. A supervisor hides its
/// descriptors from everybody but root; this way whoever tests can look at them.
pub fn where_nobody_hides(scenario: &str, play: impl FnOnce()) {
    const SEEN: &str = "QUORUM_TEST_SEEN";
    if std::env::var_os(SEEN).is_some() {
        return play();
    }
    let hiding = Argument { number: 0, mask: u32::MAX, value: libc::PR_SET_DUMPABLE.cast_unsigned() };
    let mut filter =
        refused_calls::filter(&[Refused { call: libc::SYS_prctl, with: Some(hiding), error: libc::EPERM }]);
    let mut seen = std::process::Command::new(std::env::current_exe().unwrap());
    seen.arg(scenario).env(SEEN, "1");
    // SAFETY: system calls only, and nothing is allocated.
    unsafe { seen.pre_exec(move || refused_calls::install(&mut filter)) };
    let ended = seen.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains(" 1 passed"), "{said}");
}

/// What the open descriptors of a process lead to.
pub fn descriptors(pid: u32) -> Vec<(i32, PathBuf)> {
    let mut all: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let number = entry.file_name().to_str().unwrap().parse().unwrap();
            (number, fs::read_link(entry.path()).unwrap_or_default())
        })
        .collect();
    all.sort();
    all
}

/// The sockets that this process has open.
pub fn own_sockets() -> BTreeSet<i32> {
    let is_socket = |number: &i32| {
        let path = format!("/proc/self/fd/{number}");
        fs::metadata(Path::new(&path)).is_ok_and(|metadata| metadata.file_type().is_socket())
    };
    descriptors(std::process::id()).into_iter().map(|(number, _)| number).filter(is_socket).collect()
}

/// Processor time that a process has used so far.
pub fn cpu_time(pid: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}
