//! What a confined child can see, change and reach, and how it ends.

use std::fs;
use std::path::PathBuf;

use supervisor::{Access, MountPlan, Spawn, SupervisorCommand, SupervisorEvent};

use super::scene::{Scene, running, until};

super::scenarios! {
    confined_exit_codes_and_signals_are_told_apart,
    what_is_read_only_cannot_be_changed_by_any_way,
    nothing_beside_a_writable_folder_can_be_changed_where_all_else_is_read_only,
    a_hidden_folder_is_empty_but_for_what_is_bound_back,
    what_a_confined_child_leaves_behind_is_dead_at_its_end,
    a_confined_child_has_its_grace,
    a_confined_child_sees_no_process_but_its_own,
    a_confined_program_that_is_not_there_is_no_fault_of_the_sandbox,
    a_plan_that_cannot_be_carried_out_is_told_as_such,
    without_network_there_is_a_loopback_and_nothing_else,
    what_a_confined_child_prints_can_be_read_while_it_runs,
    a_confined_child_dies_with_its_supervisor,
}

/// A script in a workspace `w` with a protected folder `w/a/tests` and a state folder `w/.polpo`, whose `drop` it may use.
pub fn confined(scene: &mut Scene, script: &str) -> Spawn {
    for folder in ["w/a/tests", "w/.polpo/runs/drop"] {
        fs::create_dir_all(scene.path(folder)).unwrap();
    }
    for file in ["w/a/tests/t.sh", "w/.polpo/secret", "w/.polpo/request"] {
        fs::write(scene.path(file), "as it was").unwrap();
    }
    let mut spawn = scene.script(script);
    spawn.cwd = real(scene, "w");
    let plan = MountPlan::new(
        Access::Write,
        [
            (real(scene, "w"), Access::Write),
            (real(scene, "w/a/tests"), Access::Read),
            (real(scene, "w/.polpo"), Access::Hidden),
            (real(scene, "w/.polpo/request"), Access::Read),
            (real(scene, "w/.polpo/runs/drop"), Access::Write),
        ],
    );
    spawn.confinement = Some(plan);
    spawn
}

fn real(scene: &Scene, name: &str) -> PathBuf {
    fs::canonicalize(scene.path(name)).unwrap()
}

/// Each line of a script in turn, and whether it failed.
fn all_fail(scene: &mut Scene, tries: &[&str]) {
    for line in tries {
        let spawn = confined(scene, line);
        let key = spawn.key;
        let exit = scene.run(spawn);
        let said = fs::read_to_string(scene.path(&format!("{key}.err"))).unwrap_or_default();
        assert!(exit.code.is_some_and(|code| code != 0), "`{line}` went through: {exit:?} {said}");
    }
    assert_eq!(scene.text("w/a/tests/t.sh"), "as it was");
    assert_eq!(scene.text("w/.polpo/secret"), "as it was");
}

fn confined_exit_codes_and_signals_are_told_apart() {
    let mut scene = Scene::new();
    for (script, code, signal) in [
        ("exit 0", Some(0), None),
        ("exit 7", Some(7), None),
        ("exit 255", Some(255), None),
        ("kill -USR1 $$", None, Some(10)),
        ("kill -KILL $$", None, Some(9)),
    ] {
        let spawn = confined(&mut scene, script);
        let exit = scene.run(spawn);
        assert_eq!((exit.code, exit.signal), (code, signal), "{script}");
    }
}

fn what_is_read_only_cannot_be_changed_by_any_way() {
    let mut scene = Scene::new();
    all_fail(
        &mut scene,
        &[
            "echo evil >a/tests/t.sh",
            "echo evil >>a/tests/new.sh",
            "rm a/tests/t.sh",
            "mv a/tests/t.sh a/tests/u.sh",
            "echo evil >x; mv -f x a/tests/t.sh",
            "mv a/tests b",
            "mv a b",
            "cd ..; mv w v",
            "ln a/tests/t.sh hard && echo evil >hard",
            "chmod 777 a/tests/t.sh",
            "umount a/tests",
            "mount -o remount,rw a/tests",
            "unshare -Urm sh -c 'umount a/tests || mount -o remount,bind,rw a/tests' && echo evil >a/tests/t.sh",
            "nsenter -t 1 -m true",
        ],
    );
    let spawn = confined(&mut scene, "echo ok >own && cat a/tests/t.sh >seen");
    assert_eq!(scene.run(spawn).code, Some(0));
    assert_eq!((scene.text("w/own").as_str(), scene.text("w/seen").as_str()), ("ok\n", "as it was"));
}

fn nothing_beside_a_writable_folder_can_be_changed_where_all_else_is_read_only() {
    let mut scene = Scene::new();
    for (script, code) in
        [("echo own >own", 0), ("echo evil >../beside", 1), ("mkdir ../beside", 1), ("rm ../file", 1)]
    {
        let mut spawn = confined(&mut scene, &format!("{script} || exit 1"));
        fs::write(scene.path("file"), "as it was").unwrap();
        let rules = [(real(&scene, "w"), Access::Write), (real(&scene, "w/a/tests"), Access::Read)];
        spawn.confinement = Some(MountPlan::new(Access::Read, rules));
        assert_eq!(scene.run(spawn).code, Some(code), "{script}");
    }
    assert_eq!(scene.text("w/own"), "own\n");
    assert_eq!(scene.text("file"), "as it was");
    assert!(!scene.path("beside").exists());
}

fn a_hidden_folder_is_empty_but_for_what_is_bound_back() {
    let mut scene = Scene::new();
    all_fail(
        &mut scene,
        &[
            "cat .polpo/secret",
            "ls .polpo/runs/other",
            "echo evil >.polpo/secret",
            "mkdir .polpo/runs/x",
            "echo evil >.polpo/request",
            "mv .polpo x",
            "rmdir .polpo/runs/drop",
        ],
    );
    let spawn = confined(&mut scene, "cat .polpo/request >.polpo/runs/drop/ask; ls .polpo >seen");
    assert_eq!(scene.run(spawn).code, Some(0));
    assert_eq!(scene.text("w/.polpo/runs/drop/ask"), "as it was");
    assert_eq!(scene.text("w/seen"), "request\nruns\n");
}

fn what_a_confined_child_leaves_behind_is_dead_at_its_end() {
    let mut scene = Scene::new();
    let script = "for n in 1 2 3 4 5 6 7 8 9 10; do
                setsid sh -c 'trap \"\" TERM HUP; echo x >>began; while :; do sleep 1; done' >/dev/null 2>&1 </dev/null &
                (setsid env -i /bin/sh -c 'echo x >>began; sleep 1000' >/dev/null 2>&1 </dev/null & )
            done
            while [ $(wc -l <began) -lt 20 ]; do sleep 0.01; done; exit 3";
    let mut spawn = confined(&mut scene, script);
    fs::write(scene.path("w/began"), "").unwrap();
    spawn.env.push(("LEFTOVER".into(), format!("of-{}", std::process::id())));
    let key = spawn.key;
    let first = scene.start(spawn);
    assert_eq!(scene.exit_of(key).code, Some(3));
    assert!(!running(first));
    let left = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let folder = real(&scene, "w");
        all.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder)).count()
    };
    assert_eq!(left(), 0, "something works on");
}

fn a_confined_child_has_its_grace() {
    let mut scene = Scene::new();
    let mut spawn = confined(
        &mut scene,
        "trap 'echo bye >end; exit 5' TERM; echo $$ >ready; while :; do sleep 0.02; done",
    );
    spawn.timeout_ms = Some(60_000);
    let key = spawn.key;
    scene.start(spawn);
    scene.pids_in("w/ready", 1);
    scene.send(&SupervisorCommand::Terminate { key, grace_ms: 15_000 });
    let exit = scene.exit_of(key);
    assert_eq!((exit.code, exit.timed_out, exit.terminated), (Some(5), false, true));
    assert_eq!(scene.text("w/end"), "bye\n");

    let spawn = confined(&mut scene, "trap '' TERM; echo $$ >deaf; while :; do sleep 0.02; done");
    let key = spawn.key;
    scene.start(spawn);
    scene.pids_in("w/deaf", 1);
    scene.send(&SupervisorCommand::Terminate { key, grace_ms: 50 });
    let exit = scene.exit_of(key);
    assert_eq!((exit.signal, exit.terminated), (Some(9), true));
}

fn a_confined_child_sees_no_process_but_its_own() {
    let mut scene = Scene::new();
    let outside = std::process::id();
    let supervisor = scene.identity.pid;
    all_fail(
        &mut scene,
        &[
            &format!("kill -0 {outside}"),
            &format!("kill -STOP {supervisor}"),
            &format!("test -e /proc/{supervisor}"),
            "cat /proc/1/environ",
            "ls -l /proc/1/fd/ | grep -e '->'",
            "cat /proc/1/mem",
        ],
    );
    assert!(running(supervisor));
    let spawn =
        confined(&mut scene, "ls /proc | grep -c '^[0-9]' >seen; test $(cat seen) -le 5 && kill -9 -1; :");
    scene.run(spawn);
    let seen: u32 = scene.text("w/seen").trim().parse().unwrap();
    assert!(seen <= 5, "{seen} processes are seen");
}

fn a_confined_program_that_is_not_there_is_no_fault_of_the_sandbox() {
    let mut scene = Scene::new();
    let mut spawn = confined(&mut scene, "");
    spawn.argv = vec!["/nothing/there".into()];
    scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
    match scene.event() {
        SupervisorEvent::SpawnFailed { errno, confinement, .. } => {
            assert_eq!((errno, confinement), (Some(2), false))
        }
        other => panic!("{other:?}"),
    }
}

fn a_plan_that_cannot_be_carried_out_is_told_as_such() {
    let mut scene = Scene::new();
    let mut spawn = confined(&mut scene, "echo began >began");
    spawn.confinement = Some(MountPlan::new(Access::Write, [(scene.path("not-there"), Access::Write)]));
    scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
    match scene.event() {
        SupervisorEvent::SpawnFailed { confinement, message, .. } => {
            assert!(confinement && message.contains("not-there"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert!(!scene.path("w/began").exists());
}

fn without_network_there_is_a_loopback_and_nothing_else() {
    let mut scene = Scene::new();
    let script = "cat /proc/net/dev | tail -n +3 | cut -d: -f1 >seen
        exec 3<>/dev/tcp/127.0.0.1/9 || true";
    let mut spawn = confined(&mut scene, script);
    let plan = spawn.confinement.as_mut().unwrap();
    plan.without_network = true;
    scene.run(spawn);
    assert_eq!(scene.text("w/seen").trim(), "lo");
}

fn what_a_confined_child_prints_can_be_read_while_it_runs() {
    let mut scene = Scene::new();
    let spawn = confined(&mut scene, "echo so far; echo $$ >ready; while :; do sleep 0.02; done");
    let key = spawn.key;
    scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
    let SupervisorEvent::Spawned { pid, start_time, .. } = scene.event() else {
        panic!("it was not started")
    };
    scene.pids_in("w/ready", 1);
    let identity = supervisor::ProcessIdentity { pid, start_time, boot_id: supervisor::this_boot() };
    let file = supervisor::open_output(&identity, 1).expect("it can be opened");
    assert_eq!(std::io::read_to_string(file).unwrap(), "so far\n");
    scene.send(&SupervisorCommand::KillAll);
    scene.exit_of(key);
}

fn a_confined_child_dies_with_its_supervisor() {
    let mut scene = Scene::new();
    let spawn = confined(&mut scene, "setsid sleep 1000 & echo $$ >ready; sleep 1000; :");
    let first = scene.start(spawn);
    scene.pids_in("w/ready", 1);
    super::scene::signal(scene.identity.pid, rustix::process::Signal::KILL);
    until("it has died", || !running(first));
}
