//! What a child gets and leaves: environment, descriptors, signals, input and output.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use supervisor::{SupervisorEvent, TURN_KEY_VARIABLE};

use super::scene::{Scene, descriptors, own_sockets, stat_field, until, where_nobody_hides};

super::scenarios! {
    output_goes_to_files_and_empty_ones_are_removed,
    both_outputs_can_share_a_file,
    input_is_a_file_or_nothing,
    links_and_pipes_are_refused_as_files,
    the_environment_is_what_was_given,
    signals_are_as_in_a_fresh_process,
    children_and_supervisor_hold_nothing_of_the_runner,
    sessions_and_groups_are_separate,
}

fn output_goes_to_files_and_empty_ones_are_removed() {
    let mut scene = Scene::new();
    let spawn = scene.script("printf 12345");
    let (out, err) = (spawn.stdout.clone().unwrap(), spawn.stderr.clone().unwrap());
    fs::write(&out, "longer than what comes now").unwrap();
    fs::write(&err, "stale").unwrap();
    let exit = scene.run(spawn);
    assert_eq!((exit.stdout_len, exit.stderr_len), (5, 0));
    assert_eq!(fs::read_to_string(out).unwrap(), "12345");
    assert!(!err.exists());

    let mut spawn = scene.script("echo lost; echo kept >&2");
    spawn.stdout = None;
    let err = spawn.stderr.clone().unwrap();
    let exit = scene.run(spawn);
    assert_eq!((exit.stdout_len, exit.stderr_len), (0, 5));
    assert_eq!(fs::read_to_string(err).unwrap(), "kept\n");
}

fn both_outputs_can_share_a_file() {
    let mut scene = Scene::new();
    let mut spawn = scene.script("echo one; echo two >&2; echo three");
    spawn.stderr = spawn.stdout.clone();
    let out = spawn.stdout.clone().unwrap();
    let exit = scene.run(spawn);
    assert_eq!(fs::read_to_string(out).unwrap(), "one\ntwo\nthree\n");
    assert_eq!((exit.stdout_len, exit.stderr_len), (14, 14));
}

fn input_is_a_file_or_nothing() {
    let mut scene = Scene::new();
    fs::write(scene.path("prompt"), "do it\n").unwrap();
    let mut spawn = scene.program(&["/bin/cat"]);
    spawn.stdin = Some(scene.path("prompt"));
    let out = spawn.stdout.clone().unwrap();
    scene.run(spawn);
    assert_eq!(fs::read_to_string(out).unwrap(), "do it\n");

    let spawn = scene.program(&["/bin/cat"]);
    assert_eq!(scene.run(spawn).stdout_len, 0);
}

fn links_and_pipes_are_refused_as_files() {
    let mut scene = Scene::new();
    fs::write(scene.path("target"), "precious").unwrap();
    symlink(scene.path("target"), scene.path("link")).unwrap();
    mknodat(CWD, scene.path("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    for name in ["link", "pipe"] {
        for stream in 0..3 {
            let mut spawn = scene.script("echo overwritten; echo overwritten >&2");
            let slot = [&mut spawn.stdin, &mut spawn.stdout, &mut spawn.stderr].into_iter().nth(stream);
            *slot.unwrap() = Some(scene.path(name));
            let (key, left) = (spawn.key, [spawn.stdout.clone(), spawn.stderr.clone()]);
            scene.send(&supervisor::SupervisorCommand::Spawn(Box::new(spawn)));
            match scene.event() {
                SupervisorEvent::SpawnFailed { key: failed, message, .. } => {
                    assert_eq!(failed, key);
                    assert!(message.contains(&format!("/{name}`")), "{message}");
                }
                other => panic!("{name} as stream {stream}: {other:?}"),
            }
            let others = left.into_iter().flatten().filter(|path| *path != scene.path(name));
            assert!(!others.into_iter().any(|path| path.exists()), "an empty output was left");
        }
    }
    assert_eq!(scene.text("target"), "precious");
}

fn the_environment_is_what_was_given() {
    let mut scene = Scene::new();
    let mut spawn = scene.program(&["/usr/bin/env", "-0"]);
    spawn.env = vec![("A".into(), "1 = 2\n".into()), ("EMPTY".into(), String::new())];
    let (key, out) = (spawn.key, spawn.stdout.clone().unwrap());
    scene.run(spawn);
    let text = fs::read_to_string(out).unwrap();
    let variables: BTreeSet<&str> = text.split_terminator('\0').collect();
    let identity = &scene.identity;
    let marker = format!("{TURN_KEY_VARIABLE}={}.{}.{key}", identity.pid, identity.start_time);
    assert_eq!(variables, BTreeSet::from(["A=1 = 2\n", "EMPTY=", marker.as_str()]));
}

fn signals_are_as_in_a_fresh_process() {
    // As if the runner had been started by something that ignores one signal and blocks another.
    // SAFETY: the set is initialised, and neither signal means anything to this process.
    let mut scene = unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR2);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        libc::signal(libc::SIGUSR1, libc::SIG_IGN);
        let scene = Scene::new();
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::signal(libc::SIGUSR1, libc::SIG_DFL);
        scene
    };
    let spawn = scene.program(&["/bin/cat", "/proc/self/status"]);
    let out = spawn.stdout.clone().unwrap();
    scene.run(spawn);
    let status = fs::read_to_string(out).unwrap();
    // The C library's posix_spawn ignores the two signals that it keeps to itself.
    let reserved = 0x1_8000_0000;
    for field in ["SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:"] {
        let mask = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        assert_eq!(mask & !reserved, 0, "{field} {mask:x}");
    }
}

fn children_and_supervisor_hold_nothing_of_the_runner() {
    where_nobody_hides("children_and_supervisor_hold_nothing_of_the_runner", || {
        // What a careless caller might have open at the fork, none of it closed on exec.
        let folder = tempfile::tempdir().unwrap();
        let lock = fs::File::create(folder.path().join("lock")).unwrap();
        rustix::io::fcntl_setfd(&lock, rustix::io::FdFlags::empty()).unwrap();
        let (mut read_end, write_end) = std::io::pipe().unwrap();
        rustix::io::fcntl_setfd(write_end.as_fd(), rustix::io::FdFlags::empty()).unwrap();

        let mut scene = Scene::new();
        drop(write_end);
        rustix::io::ioctl_fionbio(&read_end, true).unwrap();
        until("nobody holds the pipe any more", || matches!(read_end.read(&mut [0]), Ok(0)));

        let spawn = scene.script("echo $$ >ready; read line; sleep 1000; :");
        let pid = scene.start(spawn);
        scene.pids_in("ready", 1);
        let of_child = descriptors(pid);
        let [(0, input), (1, out), (2, err)] = &of_child[..] else { panic!("{of_child:?}") };
        assert_eq!(input, Path::new("/dev/null"));
        for output in [out, err] {
            assert_eq!(output.parent(), Some(scene.place.path()), "{of_child:?}");
        }
        assert_ne!(out, err);

        let of_supervisor = descriptors(scene.identity.pid);
        for (number, target) in &of_supervisor[..3] {
            assert_eq!(target, Path::new("/dev/null"), "{number}");
        }
        let sockets =
            of_supervisor.iter().filter(|(_, target)| target.to_string_lossy().starts_with("socket:"));
        assert_eq!(sockets.count(), 1, "{of_supervisor:?}");
        assert!(!of_supervisor.iter().any(|(_, target)| target.ends_with("lock")), "{of_supervisor:?}");
        assert!(!own_sockets().is_empty(), "the runner's end is open in the runner");
    });
}

fn sessions_and_groups_are_separate() {
    let mut scene = Scene::new();
    let supervisor = scene.identity.pid;
    let spawn = scene.program(&["/bin/sleep", "1000"]);
    let pid = scene.start(spawn);
    let (group, session) = (5, 6);
    assert_eq!(stat_field(supervisor, session), i64::from(supervisor));
    assert_eq!(stat_field(pid, group), i64::from(pid));
    assert_eq!(stat_field(pid, session), i64::from(supervisor));
}
