//! Whole trees: what leaves its group, what outlives the runner, what outlives the supervisor.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use supervisor::{ProcessIdentity, SupervisorCommand, alive, end};

use super::scene::{Scene, running, signal, stat_field, until};

super::scenarios! {
    what_stays_in_the_group_dies_with_the_child,
    a_child_that_changed_its_group_is_reached,
    what_left_the_group_dies_at_the_turns_end,
    what_hid_its_marker_dies_while_other_turns_run,
    all_is_gone_when_the_runner_is_gone,
    sigterm_ends_the_supervisor_and_all_below,
    a_stuck_supervisor_is_ended_too,
    what_a_killed_supervisor_left_is_found,
    a_stranger_with_the_same_number_is_spared,
    a_terminals_signals_do_not_reach_the_supervisor,
}

/// Leaves its group and session by a double fork, and writes its process id to `$1`.
const ESCAPE: &str = "escape() { setsid sh -c 'echo $$ >>'$1'; exec sleep 1000' & }
    arrived() { while [ \"$(cat $1 2>/dev/null | wc -l)\" -lt $2 ]; do sleep 0.01; done; }
    ";

/// Two processes below a supervisor, one of them in hiding, that nothing but SIGKILL ends.
fn stubborn(scene: &mut Scene) -> Vec<u32> {
    let script =
        format!("{ESCAPE} trap '' TERM; escape escaped; arrived escaped 1; echo $$ >pid; sleep 1000; :");
    let spawn = scene.script(&script);
    scene.start(spawn);
    let mut pids = scene.pids_in("escaped", 1);
    pids.extend(scene.pids_in("pid", 1));
    assert!(pids.iter().all(|&pid| running(pid)));
    pids
}

fn what_stays_in_the_group_dies_with_the_child() {
    let mut scene = Scene::new();
    let spawn = scene.script("sleep 1000 & echo $! >>pids; (sleep 1000; :) & echo $! >>pids; exit 0");
    let exit = scene.run(spawn);
    assert_eq!((exit.code, exit.timed_out, exit.terminated), (Some(0), false, false));
    for pid in scene.pids_in("pids", 2) {
        assert!(!running(pid));
    }
}

fn a_child_that_changed_its_group_is_reached() {
    let mut scene = Scene::new();
    // One member stays in the old group, one makes a new one, which the child itself then joins.
    let mut spawn = scene.program(&[
        "/usr/bin/perl",
        "-e",
        "$SIG{TERM} = 'IGNORE';
         sub note { open my $f, '>>', 'pids'; syswrite $f, \"$$\\n\"; }
         fork or note(), sleep 1000;
         my $p = fork;
         $p or setpgrp(0, 0), note(), sleep 1000;
         until (setpgrp(0, $p)) {}
         note(); sleep 1000;",
    ]);
    (spawn.timeout_ms, spawn.grace_ms) = (Some(1500), 100);
    let key = spawn.key;
    let pid = scene.start(spawn);
    let pids = scene.pids_in("pids", 3);
    assert_ne!(stat_field(pid, 5), i64::from(pid), "it is in another group");
    let exit = scene.exit_of(key);
    assert_eq!((exit.signal, exit.timed_out), (Some(9), true));
    assert!(!pids.into_iter().any(running));
}

fn what_left_the_group_dies_at_the_turns_end() {
    let mut scene = Scene::new();
    let other = scene.script(&format!("{ESCAPE} (escape others); arrived others 1; sleep 1000; :"));
    let other_key = other.key;
    scene.start(other);
    let others = scene.pids_in("others", 1)[0];

    // The second one escapes from an escaped one, and is an orphan only once that one was killed.
    let deep =
        "setsid sh -c 'setsid sh -c \"echo \\$\\$ >>escaped; exec sleep 1000\" & echo $$ >>escaped; wait' &";
    let spawn = scene.script(&format!("{ESCAPE} (escape escaped); {deep} arrived escaped 3; exit 5"));
    let exit = scene.run(spawn);
    assert_eq!(exit.code, Some(5));
    for pid in scene.pids_in("escaped", 3) {
        assert!(!running(pid), "{pid} survived its turn");
    }
    assert!(running(others), "another running turn's process was killed");

    scene.send(&SupervisorCommand::Terminate { key: other_key, grace_ms: 15_000 });
    scene.exit_of(other_key);
    assert!(!running(others));
}

fn what_hid_its_marker_dies_while_other_turns_run() {
    let mut scene = Scene::new();
    // The other one has a hidden daemon of its own, which nobody takes for a leftover.
    let hide = |file: &str| {
        format!("(env -i $1 /usr/bin/setsid /bin/sh -c 'echo $$ >>{file}; exec /bin/sleep 1000' &);")
    };
    let spawn = scene.script(&format!("{} sleep 1000; :", hide("others")));
    let other = spawn.key;
    scene.start(spawn);
    let others = scene.pids_in("others", 1)[0];
    // Its mark is gone, or says that it belongs to the other one.
    let forged = format!("QUORUM_TURN_KEY={}.{}.{other}", scene.identity.pid, scene.identity.start_time);
    for (file, mark) in [("hidden", ""), ("forged", forged.as_str())] {
        let mut script = hide(file).replace("$1", mark).repeat(50);
        script.push_str(&format!("{ESCAPE} arrived {file} 50; exit 0"));
        let spawn = scene.script(&script);
        assert_eq!(scene.run(spawn).code, Some(0));
        for pid in scene.pids_in(file, 50) {
            assert!(!running(pid), "{pid} ({file}) survived its turn");
        }
    }
    assert!(running(others), "the daemon of a running turn was killed");
    scene.send(&SupervisorCommand::Terminate { key: other, grace_ms: 15_000 });
    scene.exit_of(other);
    assert!(!running(others));
}

fn all_is_gone_when_the_runner_is_gone() {
    let mut scene = Scene::new();
    let pids = stubborn(&mut scene);
    scene.client = None;
    until("the children are gone", || !pids.iter().any(|&pid| running(pid)));
    until("the supervisor is gone", || !alive(&scene.identity));
    let log = supervisor::read_exits(&scene.path("exits.log")).unwrap();
    assert_eq!(log.records[0].exit.signal, Some(9), "the exit is on record all the same");
}

fn sigterm_ends_the_supervisor_and_all_below() {
    let mut scene = Scene::new();
    let pids = stubborn(&mut scene);
    assert!(alive(&scene.identity));
    let started = Instant::now();
    end(&scene.identity, Duration::from_secs(10)).unwrap();
    assert!(started.elapsed() < Duration::from_secs(5), "it had to be killed");
    assert!(!alive(&scene.identity));
    assert!(!pids.iter().any(|&pid| running(pid)));
    assert_eq!(scene.exit_of(1).signal, Some(9), "it still said so to the runner");
    end(&scene.identity, Duration::from_secs(10)).unwrap();
}

fn a_stuck_supervisor_is_ended_too() {
    let mut scene = Scene::new();
    let pids = stubborn(&mut scene);
    signal(scene.identity.pid, Signal::STOP);
    end(&scene.identity, Duration::from_millis(50)).unwrap();
    assert!(!alive(&scene.identity));
    assert!(!pids.iter().any(|&pid| running(pid)));
}

fn what_a_killed_supervisor_left_is_found() {
    let mut scene = Scene::new();
    let pids = stubborn(&mut scene);
    signal(scene.identity.pid, Signal::KILL);
    until("the supervisor is gone", || !alive(&scene.identity));
    assert!(pids.iter().all(|&pid| running(pid)), "nobody was left to kill them");
    end(&scene.identity, Duration::from_millis(50)).unwrap();
    assert!(!pids.iter().any(|&pid| running(pid)));
}

fn a_stranger_with_the_same_number_is_spared() {
    let mut scene = Scene::new();
    let pids = stubborn(&mut scene);
    let known = scene.identity.clone();
    let earlier = ProcessIdentity { start_time: known.start_time - 1, ..known.clone() };
    let other_boot = ProcessIdentity { boot_id: "another".into(), ..known };
    for stranger in [earlier, other_boot] {
        assert!(!alive(&stranger));
        end(&stranger, Duration::from_millis(50)).unwrap();
        assert!(alive(&scene.identity));
        assert!(pids.iter().all(|&pid| running(pid)));
    }
}

fn a_terminals_signals_do_not_reach_the_supervisor() {
    let mut scene = Scene::new();
    for ignored in [Signal::INT, Signal::HUP, Signal::PIPE] {
        signal(scene.identity.pid, ignored);
    }
    let spawn = scene.script("exit 2");
    assert_eq!(scene.run(spawn).code, Some(2));
}
