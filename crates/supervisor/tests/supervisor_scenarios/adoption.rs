//! What becomes of children whose runner died, and how the next runner takes them over.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::Signal;
use supervisor::{
    self, HeldChild, NotFound, PROTOCOL, ProcessIdentity, Spawn, SupervisorCommand, SupervisorEvent, alive,
    read_exits, reconnect,
};

use super::scene::{DEADLINE, Scene, running, signal, stat_field, until};
use super::sockets::listen;

super::scenarios! {
    a_turn_outlives_its_runner_and_a_check_does_not,
    a_turn_that_ends_meanwhile_is_on_record_and_the_supervisor_ends,
    a_deadline_holds_without_a_runner,
    what_the_runner_said_last_counts,
    an_orderly_end_leaves_nothing,
    runners_may_die_one_after_the_other,
    what_nobody_wants_is_ended_and_nothing_else,
    a_descendant_of_the_supervisor_is_not_let_in,
    an_impostor_at_the_door_is_not_believed,
    another_version_is_not_misunderstood,
    a_dead_supervisors_child_is_found_without_its_environment,
    a_dead_supervisors_child_is_killed_by_its_group_and_a_stranger_is_not,
}

impl Scene {
    /// A turn that works until the file `go` is there, and says so.
    fn turn(&mut self) -> Spawn {
        let script = "echo begun; while [ ! -e go ]; do sleep 0.01; done; echo done; exit 5";
        Spawn { outlives_runner: true, ..self.script(script) }
    }

    fn start_turn(&mut self) -> u32 {
        let turn = self.turn();
        self.start(turn)
    }

    fn let_go(&self) {
        std::fs::write(self.path("go"), "").unwrap();
    }

    fn socket(&self) -> std::path::PathBuf {
        self.path("supervisor.sock")
    }

    fn record(&self, key: u64) -> supervisor::ChildExit {
        let log = read_exits(&self.path("exits.log")).unwrap();
        let mut found = log.records.into_iter().filter(|record| record.exit.key == key);
        let record = found.next().expect("it is on record");
        assert_eq!(found.next(), None, "it is there once");
        record.exit
    }
}

fn a_turn_outlives_its_runner_and_a_check_does_not() {
    let mut scene = Scene::new();
    let pid = scene.start_turn();
    let check = scene.script("sleep 1000; :");
    let check = scene.start(check);
    scene.lose_runner();
    until("the check is gone", || !running(check));
    until("the door is open", || scene.socket().exists());
    assert!(running(pid) && alive(&scene.identity));
    let mode = std::fs::metadata(scene.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let holding = scene.next_runner();
    let held =
        HeldChild { key: 1, label: "1.1.1".into(), pid, start_time: stat_field(pid, 22).unsigned_abs() };
    // The check may not have been reported yet.
    assert_eq!(holding.children.iter().find(|child| child.key == 1), Some(&held));
    assert_eq!(holding.next_key, 3);
    assert!(!scene.socket().exists(), "there is one runner at a time");
    scene.let_go();
    let exit = loop {
        match scene.event() {
            SupervisorEvent::Exited(exit) if exit.key == 1 => break exit,
            SupervisorEvent::Exited(exit) if exit.key == 2 => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((exit.code, exit.terminated), (Some(5), false));
    assert_eq!(scene.text("1.out"), "begun\ndone\n");
    // It serves its new runner like the first one.
    let spawn = Spawn { key: 3, ..scene.script("exit 6") };
    assert_eq!(scene.run(spawn).code, Some(6));
}

fn a_turn_that_ends_meanwhile_is_on_record_and_the_supervisor_ends() {
    let mut scene = Scene::new();
    let pid = scene.start_turn();
    scene.lose_runner();
    until("the door is open", || scene.socket().exists());
    scene.let_go();
    until("the supervisor is gone", || !alive(&scene.identity));
    assert!(!running(pid));
    assert!(!scene.socket().exists());
    let exit = scene.record(1);
    assert_eq!((exit.code, exit.terminated, exit.stdout_len), (Some(5), false, 11));
    assert_eq!(scene.text("1.out"), "begun\ndone\n");
    let found = reconnect(&scene.socket(), &scene.identity, DEADLINE);
    assert!(matches!(found, Err(NotFound::Ended)));
}

fn a_deadline_holds_without_a_runner() {
    let mut scene = Scene::new();
    let spawn = Spawn {
        timeout_ms: Some(300),
        grace_ms: 100,
        outlives_runner: true,
        ..scene.script("trap '' TERM; while :; do sleep 0.01; done")
    };
    let pid = scene.start(spawn);
    scene.lose_runner();
    until("the supervisor is gone", || !alive(&scene.identity));
    assert!(!running(pid));
    let exit = scene.record(1);
    assert!(exit.timed_out && !exit.terminated);
    assert_eq!(exit.signal, Some(9));
}

fn what_the_runner_said_last_counts() {
    let mut scene = Scene::new();
    let pid = scene.start_turn();
    // Stopped, so that it finds the end of the connection together with what was said before it.
    signal(scene.identity.pid, Signal::STOP);
    scene.send(&SupervisorCommand::Terminate { key: 1, grace_ms: 15_000 });
    let spawn = Spawn { outlives_runner: true, ..scene.script("echo $$ >started") };
    scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
    scene.lose_runner();
    signal(scene.identity.pid, Signal::CONT);
    until("the supervisor is gone", || !alive(&scene.identity));
    assert!(!running(pid));
    assert!(scene.record(1).terminated);
    assert!(!scene.path("started").exists(), "nobody waits for it");
}

fn an_orderly_end_leaves_nothing() {
    let mut scene = Scene::new();
    let pid = scene.start_turn();
    let mut client = scene.client.take().unwrap();
    scene.runtime.block_on(client.shutdown()).unwrap();
    assert!(!running(pid) && !alive(&scene.identity));
    assert!(scene.record(1).terminated);
}

fn runners_may_die_one_after_the_other() {
    let mut scene = Scene::new();
    let pid = scene.start_turn();
    for _ in 0..3 {
        scene.lose_runner();
        let holding = scene.next_runner();
        assert_eq!(holding.children.len(), 1);
    }
    assert!(running(pid));
    scene.let_go();
    assert_eq!(scene.exit_of(1).code, Some(5));
    scene.lose_runner();
    until("the supervisor is gone", || !alive(&scene.identity));
}

fn what_nobody_wants_is_ended_and_nothing_else() {
    let mut scene = Scene::new();
    let wanted = scene.start_turn();
    let unwanted = scene.start_turn();
    scene.lose_runner();
    let (mut handle, holding) = reconnect(&scene.socket(), &scene.identity, DEADLINE).unwrap();
    assert_eq!(holding.children.len(), 2);
    handle.end_children(&[2], Duration::from_secs(15), DEADLINE).unwrap();
    assert!(running(wanted) && !running(unwanted));
    // Dropped once more, the supervisor still waits.
    drop(handle);
    assert_eq!(scene.next_runner().children.len(), 1);
    scene.let_go();
    assert_eq!(scene.exit_of(1).code, Some(5));
}

fn a_descendant_of_the_supervisor_is_not_let_in() {
    let mut scene = Scene::new();
    let spawn = Spawn {
        outlives_runner: true,
        ..scene.program(&[
            "/usr/bin/perl",
            "-MSocket",
            "-e",
            "sub says { my ($name, $text) = @_; open my $f, '>', $name; syswrite $f, \"$text\\n\"; }
             says('begun', $$);
             until (-S 'supervisor.sock') { select undef, undef, undef, 0.01 }
             socket my $s, PF_UNIX, SOCK_STREAM, 0;
             connect $s, sockaddr_un('supervisor.sock') or die;
             my $read = sysread $s, my $bytes, 100;
             says('heard', $read);
             sleep 1000;",
        ])
    };
    scene.start(spawn);
    scene.pids_in("begun", 1);
    scene.lose_runner();
    until("the child was answered", || scene.path("heard").exists());
    assert_eq!(scene.pids_in("heard", 1), [0], "it was told nothing");
    assert_eq!(scene.next_runner().children.len(), 1);
}

fn an_impostor_at_the_door_is_not_believed() {
    let mut scene = Scene::new();
    scene.start_turn();
    scene.lose_runner();
    until("the door is open", || scene.socket().exists());
    std::fs::remove_file(scene.socket()).unwrap();
    let _impostor = listen(&scene.socket()).unwrap();
    let found = reconnect(&scene.socket(), &scene.identity, Duration::from_millis(50));
    assert!(
        matches!(found, Err(NotFound::Unreachable(error)) if error.to_string().contains("somebody else"))
    );
    supervisor::end(&scene.identity, DEADLINE).unwrap();
}

fn another_version_is_not_misunderstood() {
    let scene = Scene::new();
    let socket = scene.path("other.sock");
    let this = ProcessIdentity {
        pid: std::process::id(),
        start_time: stat_field(std::process::id(), 22).unsigned_abs(),
        boot_id: scene.identity.boot_id.clone(),
    };
    let door = listen(&socket).unwrap();
    let found = std::thread::scope(|threads| {
        threads.spawn(|| {
            let greeting = format!("{{\"protocol\":{},\"and\":\"more\"}}", PROTOCOL + 1);
            let length = u32::try_from(greeting.len()).unwrap().to_le_bytes();
            let (mut peer, _) = door.accept().unwrap();
            peer.write_all(&length).unwrap();
            peer.write_all(greeting.as_bytes()).unwrap();
        });
        reconnect(&socket, &this, DEADLINE)
    });
    assert!(matches!(found, Err(NotFound::OtherVersion(version)) if version == PROTOCOL + 1));
    until("there is one thread again", || std::fs::read_dir("/proc/self/task").unwrap().count() == 1);
}

fn a_dead_supervisors_child_is_found_without_its_environment() {
    let mut scene = Scene::new();
    let spawn = scene.program(&[
        // The turn lasts as long as its first process, which waits.
        "/usr/bin/setsid",
        "-w",
        "/usr/bin/env",
        "-i",
        "/bin/sh",
        "-c",
        "echo $$ > bare; exec /bin/sleep 1000",
    ]);
    let waiting = scene.start(spawn);
    let pid = scene.pids_in("bare", 1)[0];
    signal(scene.identity.pid, Signal::KILL);
    until("the supervisor is gone", || !alive(&scene.identity));
    signal(waiting, Signal::KILL);
    until("only what has no environment is left", || !running(waiting));
    assert_eq!(supervisor::something_left_of(&[scene.identity.clone()]), Some(pid));
    supervisor::end(&scene.identity, Duration::from_millis(50)).unwrap();
    assert!(!running(pid));
    assert_eq!(supervisor::something_left_of(&[scene.identity.clone()]), None);
}

fn a_dead_supervisors_child_is_killed_by_its_group_and_a_stranger_is_not() {
    let mut scene = Scene::new();
    // It overwrites its environment, so its marker is gone.
    let spawn = scene.program(&[
        "/usr/bin/perl",
        "-e",
        "$0 = 'x' x 4000; open my $f, '>', 'renamed'; syswrite $f, \"$$\\n\"; sleep 1000;",
    ]);
    let pid = scene.start(spawn);
    scene.pids_in("renamed", 1);
    signal(scene.identity.pid, Signal::KILL);
    until("the supervisor is gone", || !alive(&scene.identity));
    let known = ProcessIdentity {
        pid,
        start_time: stat_field(pid, 22).unsigned_abs(),
        boot_id: scene.identity.boot_id.clone(),
    };
    // Its number was another process's before, or in another boot.
    for stranger in [
        ProcessIdentity { start_time: known.start_time - 1, ..known.clone() },
        ProcessIdentity { boot_id: "another".into(), ..known.clone() },
    ] {
        supervisor::end_group(&stranger).unwrap();
        assert!(running(pid));
    }
    supervisor::end_group(&known).unwrap();
    assert!(!running(pid));
}
