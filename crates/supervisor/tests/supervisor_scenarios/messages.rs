//! The conversation: refusals, bursts, full buffers, nonsense.

use std::fs;
use std::io::{Error, ErrorKind};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt;

use supervisor::{SupervisorCommand, SupervisorEvent, alive, fork, read_exits};

use super::scene::{Scene, own_sockets, running, until};

super::scenarios! {
    what_cannot_be_started_is_refused,
    nothing_starts_before_exits_can_be_recorded,
    a_key_is_used_once,
    an_unwritable_record_is_a_warning,
    a_huge_burst_neither_blocks_nor_loses,
    a_silent_runner_does_not_stop_timeouts,
    nonsense_ends_the_supervisor_and_its_children,
    shutdown_reports_what_it_killed,
    a_program_with_threads_cannot_fork_a_supervisor,
}

fn what_cannot_be_started_is_refused() {
    let mut scene = Scene::new();
    fs::write(scene.path("text"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(scene.path("text"), fs::Permissions::from_mode(0o644)).unwrap();
    let text = scene.path("text").to_string_lossy().into_owned();
    let mut nowhere = scene.script("exit 0");
    nowhere.cwd = scene.path("nowhere");
    let missing = Some(ErrorKind::NotFound);
    let cases = [
        (scene.program(&["/no/such/program"]), missing, "cannot start `/no/such/program`"),
        (scene.program(&[&text]), Some(ErrorKind::PermissionDenied), "/text`"),
        (nowhere, missing, "working directory"),
        (scene.program(&["sh"]), None, "`sh` is not an absolute path"),
        (scene.program(&[]), None, "no program"),
    ];
    for (spawn, kind, text) in cases {
        let outputs = [spawn.stdout.clone().unwrap(), spawn.stderr.clone().unwrap()];
        let wanted = spawn.key;
        scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
        match scene.event() {
            SupervisorEvent::SpawnFailed { key, errno, message, .. } => {
                assert_eq!(key, wanted);
                assert_eq!(errno.map(|errno| Error::from_raw_os_error(errno).kind()), kind, "{message}");
                assert!(message.contains(text), "{message}");
            }
            other => panic!("{text}: {other:?}"),
        }
        assert!(!outputs.iter().any(|output| output.exists()), "{text}: an empty output was left");
    }
    assert!(read_exits(&scene.path("exits.log")).unwrap().records.is_empty());
}

fn nothing_starts_before_exits_can_be_recorded() {
    let mut scene = Scene::unopened();
    let spawn = scene.script("exit 0");
    scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
    assert!(matches!(scene.event(), SupervisorEvent::SpawnFailed { .. }));
}

fn a_key_is_used_once() {
    let mut scene = Scene::new();
    let spawn = scene.program(&["/bin/sleep", "1000"]);
    let again = spawn.clone();
    let pid = scene.start(spawn);
    scene.send(&SupervisorCommand::Spawn(Box::new(again)));
    assert!(matches!(scene.event(), SupervisorEvent::SpawnFailed { .. }));
    assert!(running(pid));
}

fn an_unwritable_record_is_a_warning() {
    let mut scene = Scene::unopened();
    let exits_log = scene.path("nowhere/exits.log");
    let socket = scene.path("supervisor.sock");
    scene.send(&SupervisorCommand::Open { exits_log, socket });
    match scene.event() {
        SupervisorEvent::Warning { message } => assert!(message.contains("nowhere/exits.log"), "{message}"),
        other => panic!("{other:?}"),
    }
    let spawn = scene.script("exit 8");
    assert_eq!(scene.run(spawn).code, Some(8));

    let mut scene = Scene::unopened();
    scene.send(&SupervisorCommand::Open {
        exits_log: "/dev/full".into(),
        socket: "/nowhere/supervisor.sock".into(),
    });
    // What is no file in its place is never written to.
    match scene.event() {
        SupervisorEvent::Warning { message } => assert!(message.contains("`/dev/full`"), "{message}"),
        other => panic!("{other:?}"),
    }
    let spawn = scene.script("exit 8");
    let key = spawn.key;
    scene.start(spawn);
    assert_eq!(scene.exit_of(key).code, Some(8));
}

fn a_huge_burst_neither_blocks_nor_loses() {
    let mut scene = Scene::new();
    let padding = "x".repeat(4096);
    for number in 0..3000 {
        let program = if number % 10 == 0 { "/bin/true" } else { "/no/such/program" };
        let mut spawn = scene.program(&[program]);
        spawn.env.push(("PADDING".into(), padding.clone()));
        (spawn.stdout, spawn.stderr) = (None, None);
        scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
    }
    let mut seen = [0; 3];
    while seen != [300, 2700, 300] {
        match scene.event() {
            SupervisorEvent::Spawned { .. } => seen[0] += 1,
            SupervisorEvent::SpawnFailed { .. } => seen[1] += 1,
            SupervisorEvent::Exited(exit) => {
                assert_eq!(exit.code, Some(0));
                seen[2] += 1;
            }
            other => panic!("{other:?}"),
        }
    }
}

fn a_silent_runner_does_not_stop_timeouts() {
    let mut scene = Scene::new();
    let mut timed = scene.script("sleep 1000; :");
    timed.timeout_ms = Some(300);
    let timed_key = timed.key;
    scene.send(&SupervisorCommand::Spawn(Box::new(timed)));
    // More answers than a socket holds, none of them read.
    for _ in 0..5000 {
        let spawn = scene.program(&["/no/such/program"]);
        scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
    }
    scene.flush();
    let log = scene.path("exits.log");
    until("the time-out is recorded", || !read_exits(&log).unwrap().records.is_empty());
    assert!(read_exits(&log).unwrap().records[0].exit.timed_out);
    let mut failed = 0;
    let mut ended = false;
    while failed < 5000 || !ended {
        match scene.event() {
            SupervisorEvent::SpawnFailed { .. } => failed += 1,
            SupervisorEvent::Exited(exit) => ended = exit.key == timed_key && exit.timed_out,
            SupervisorEvent::Spawned { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

fn nonsense_ends_the_supervisor_and_its_children() {
    for nonsense in [&[2, 0, 0, 0, b'{', b'}'][..], &[0xff; 64]] {
        let before = own_sockets();
        let mut scene = Scene::new();
        let new: Vec<i32> = own_sockets().difference(&before).copied().collect();
        let spawn = scene.script("trap '' TERM; sleep 1000; :");
        let pid = scene.start(spawn);
        // The only way to say what the client never would.
        let written = new.iter().filter(|&&number| {
            // SAFETY: the client holds it open for the rest of the scenario.
            let socket = unsafe { BorrowedFd::borrow_raw(number) };
            rustix::net::getpeername(socket).is_ok() && rustix::io::write(socket, nonsense).is_ok()
        });
        assert!(written.count() >= 1);
        until("the child is gone", || !running(pid));
        until("the supervisor is gone", || !alive(&scene.identity));
        match scene.event() {
            SupervisorEvent::Warning { message } => {
                assert!(message.contains("does not understand"), "{message}")
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(scene.exit_of(1).signal, Some(9));
    }
}

fn shutdown_reports_what_it_killed() {
    let mut scene = Scene::new();
    let spawn = scene.script("setsid sleep 1000 & echo $! >escaped; trap '' TERM; sleep 1000; :");
    let pid = scene.start(spawn);
    let escaped = scene.pids_in("escaped", 1)[0];
    let mut client = scene.client.take().unwrap();
    let events = scene.runtime.block_on(client.shutdown()).unwrap();
    match &events[..] {
        [SupervisorEvent::Exited(exit)] => assert_eq!((exit.signal, exit.terminated), (Some(9), true)),
        other => panic!("{other:?}"),
    }
    assert!(!running(pid) && !running(escaped));
    let proc = format!("/proc/{}", scene.identity.pid);
    assert!(!fs::exists(proc).unwrap(), "the supervisor is reaped");
}

fn a_program_with_threads_cannot_fork_a_supervisor() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || wait.recv());
    let error = fork(false).unwrap_err();
    drop(release);
    let _ = thread.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    // The kernel removes an ended thread a moment after it was joined.
    until("the thread is gone", || fs::read_dir("/proc/self/task").unwrap().count() == 1);
}
