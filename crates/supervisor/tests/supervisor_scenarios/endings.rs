//! How one child ends: by itself, by a signal, by its time-out, on request.

use std::time::Duration;

use supervisor::{SupervisorCommand, read_exits};

use super::scene::{Scene, cpu_time, running, until};

super::scenarios! {
    exit_codes_and_signals_are_told_apart,
    a_timeout_kills_what_ignores_sigterm,
    a_timeout_counts_even_if_the_child_then_exits_with_0,
    terminate_is_not_a_timeout,
    terminate_of_an_unknown_child_is_ignored,
    kill_all_kills_at_once,
    two_hundred_children_at_once,
    exits_are_recorded,
    usage_is_reported,
    waiting_costs_nothing,
    who_works_behind_a_process_holds_nothing_that_is_open_there,
}

fn exit_codes_and_signals_are_told_apart() {
    let mut scene = Scene::new();
    for (script, code, signal) in
        [("exit 0", Some(0), None), ("exit 7", Some(7), None), ("kill -USR1 $$", None, Some(10))]
    {
        let spawn = scene.script(script);
        let exit = scene.run(spawn);
        assert_eq!((exit.code, exit.signal), (code, signal), "{script}");
        assert!(!exit.timed_out && !exit.terminated, "{script}");
    }
}

fn a_timeout_kills_what_ignores_sigterm() {
    let mut scene = Scene::new();
    let mut spawn = scene.script(
        "trap '' TERM
         sh -c 'sh -c \"echo \\$\\$ >>pids; sleep 1000; :\" & echo $$ >>pids; sleep 1000; :' &
         echo $$ >>pids; sleep 1000; :",
    );
    (spawn.timeout_ms, spawn.grace_ms) = (Some(1500), 300);
    let key = spawn.key;
    scene.start(spawn);
    let pids = scene.pids_in("pids", 3);
    assert!(pids.iter().all(|&pid| running(pid)));
    let exit = scene.exit_of(key);
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    assert!(exit.timed_out && !exit.terminated);
    assert!((1800..8000).contains(&exit.duration_ms), "{} ms", exit.duration_ms);
    assert!(!pids.iter().any(|&pid| running(pid)), "something survived");
}

fn a_timeout_counts_even_if_the_child_then_exits_with_0() {
    let mut scene = Scene::new();
    let mut spawn = scene.script("trap 'exit 0' TERM; while :; do sleep 0.02; done");
    spawn.timeout_ms = Some(1000);
    let exit = scene.run(spawn);
    assert_eq!((exit.code, exit.timed_out), (Some(0), true));
    assert!(exit.duration_ms < 3000, "it was not SIGTERM that ended it");
}

fn terminate_is_not_a_timeout() {
    let mut scene = Scene::new();
    let mut spawn = scene.script("trap 'exit 3' TERM; echo $$ >ready; while :; do sleep 0.02; done");
    spawn.timeout_ms = Some(60_000);
    let key = spawn.key;
    scene.start(spawn);
    scene.pids_in("ready", 1);
    scene.send(&SupervisorCommand::Terminate { key, grace_ms: 15_000 });
    let exit = scene.exit_of(key);
    assert_eq!((exit.code, exit.timed_out, exit.terminated), (Some(3), false, true));

    let spawn = scene.script("trap '' TERM; echo $$ >deaf; while :; do sleep 0.02; done");
    let key = spawn.key;
    scene.start(spawn);
    scene.pids_in("deaf", 1);
    scene.send(&SupervisorCommand::Terminate { key, grace_ms: 50 });
    let exit = scene.exit_of(key);
    assert_eq!((exit.signal, exit.terminated), (Some(9), true));
}

fn terminate_of_an_unknown_child_is_ignored() {
    let mut scene = Scene::new();
    scene.send(&SupervisorCommand::Terminate { key: 77, grace_ms: 0 });
    let spawn = scene.script("exit 4");
    let key = spawn.key;
    assert_eq!(scene.run(spawn).code, Some(4));
    scene.send(&SupervisorCommand::Terminate { key, grace_ms: 0 });
    let spawn = scene.script("exit 5");
    assert_eq!(scene.run(spawn).code, Some(5));
}

fn kill_all_kills_at_once() {
    let mut scene = Scene::new();
    let pids: Vec<u32> = (0..3)
        .map(|_| {
            let spawn = scene.script("trap '' TERM; sleep 1000; :");
            scene.start(spawn)
        })
        .collect();
    scene.send(&SupervisorCommand::KillAll);
    let mut keys: Vec<u64> = (0..3)
        .map(|_| match scene.event() {
            supervisor::SupervisorEvent::Exited(exit) => {
                assert_eq!((exit.signal, exit.terminated), (Some(9), true));
                exit.key
            }
            other => panic!("{other:?}"),
        })
        .collect();
    keys.sort();
    assert_eq!(keys, [1, 2, 3]);
    assert!(!pids.into_iter().any(running));
    let spawn = scene.script("exit 6");
    assert_eq!(scene.run(spawn).code, Some(6), "the supervisor goes on");
}

fn two_hundred_children_at_once() {
    let mut scene = Scene::new();
    let keys: Vec<u64> = (0..200)
        .map(|_| {
            let spawn = scene.program(&["/bin/sleep", "1000"]);
            let key = spawn.key;
            scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
            key
        })
        .collect();
    let pids: Vec<u32> = (0..200)
        .map(|_| match scene.event() {
            supervisor::SupervisorEvent::Spawned { pid, .. } => pid,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(pids.iter().all(|&pid| running(pid)));
    for &key in &keys {
        scene.send(&SupervisorCommand::Terminate { key, grace_ms: 15_000 });
    }
    let mut ended: Vec<u64> = (0..200)
        .map(|_| match scene.event() {
            supervisor::SupervisorEvent::Exited(exit) => {
                assert_eq!(exit.signal, Some(15));
                exit.key
            }
            other => panic!("{other:?}"),
        })
        .collect();
    ended.sort();
    assert_eq!(ended, keys);
    assert!(!pids.into_iter().any(running));
}

fn exits_are_recorded() {
    let mut scene = Scene::new();
    let mut exits = Vec::new();
    let mut pids = Vec::new();
    for script in ["echo out", "exit 9", "kill -KILL $$"] {
        let spawn = scene.script(script);
        let key = spawn.key;
        pids.push(scene.start(spawn));
        exits.push(scene.exit_of(key));
    }
    let log = read_exits(&scene.path("exits.log")).unwrap();
    assert_eq!(log.damaged, 0);
    for ((record, exit), pid) in log.records.iter().zip(&exits).zip(&pids) {
        assert_eq!((&record.exit, record.pid), (exit, *pid));
        assert_eq!(record.label, format!("{}.1.1", exit.key));
        assert_eq!(record.boot_id, scene.identity.boot_id);
        // Nobody asks for it where a child ends at once.
        assert!(record.start_time == 0 || record.start_time >= scene.identity.start_time);
        assert!(record.at_ms >= exit.started_ms + exit.duration_ms);
    }
    assert_eq!(log.records.len(), 3);
}

fn usage_is_reported() {
    let mut scene = Scene::new();
    let spawn = scene.script("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
    let exit = scene.run(spawn);
    let used = (exit.user_us + exit.system_us) / 1000;
    assert!(used > 5 && used <= exit.duration_ms + 20, "{used} ms of {}", exit.duration_ms);
    assert!(exit.max_rss > 200, "{} KiB", exit.max_rss);
}

fn waiting_costs_nothing() {
    let mut scene = Scene::new();
    let mut spawn = scene.script("sleep 0.6");
    spawn.timeout_ms = Some(60_000);
    let pid = scene.start(spawn);
    let before = cpu_time(scene.identity.pid);
    until("the child ends", || !running(pid));
    let used = cpu_time(scene.identity.pid) - before;
    assert!(used < Duration::from_millis(20), "the supervisor used {used:?} while it waited");
}

fn who_works_behind_a_process_holds_nothing_that_is_open_there() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("lock");
    for round in 0..50 {
        let lock = std::fs::File::create(&path).unwrap();
        lock.lock().unwrap();
        let done = place.path().join(round.to_string());
        supervisor::behind(|| std::fs::write(&done, "").unwrap());
        drop(lock);
        std::fs::File::open(&path).unwrap().try_lock().unwrap_or_else(|why| panic!("round {round}: {why}"));
        until("the work is done", || done.exists());
    }
    while rustix::process::wait(rustix::process::WaitOptions::empty()).is_ok() {}
}
