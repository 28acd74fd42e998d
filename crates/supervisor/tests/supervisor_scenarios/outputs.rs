//! Output files: that silent children leave no trace, and that nobody ever reads another one's output.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use supervisor::{ChildExit, Spawn, SupervisorCommand, SupervisorEvent, read_exits};

use super::scene::{Scene, descriptors, running, until, where_nobody_hides};

super::scenarios! {
    silent_children_leave_the_file_system_alone,
    a_running_childs_output_is_found_through_the_child,
    every_child_has_its_own_output,
    what_a_killed_child_wrote_is_kept,
    what_took_the_place_meanwhile_is_replaced,
    what_cannot_be_written_is_refused_before_the_start,
    a_failed_start_leaves_nothing,
    lost_output_is_told,
    lost_output_of_a_named_file_is_told,
    a_file_that_somebody_still_writes_is_not_reused,
    a_file_that_somebody_still_reads_is_not_reused,
    a_file_that_a_child_changed_is_not_reused,
    without_descriptors_to_spare_files_are_named,
}

/// The files without a name that a process has open, as inode numbers.
fn unnamed(pid: u32) -> Vec<u64> {
    let files = descriptors(pid).into_iter();
    files
        .filter(|(_, target)| target.to_string_lossy().ends_with(" (deleted)"))
        .map(|(number, _)| fs::metadata(format!("/proc/{pid}/fd/{number}")).unwrap().ino())
        .collect()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

impl Scene {
    /// A script whose outputs go to `out/KEY.out` and `out/KEY.err`.
    fn apart(&mut self, script: &str) -> Spawn {
        let out = self.path("out");
        fs::create_dir_all(&out).unwrap();
        let mut spawn = self.script(script);
        spawn.stdout = Some(out.join(format!("{}.out", spawn.key)));
        spawn.stderr = Some(out.join(format!("{}.err", spawn.key)));
        spawn
    }

    /// Lets a script that waits for it go on.
    fn go(&self) {
        fs::write(self.path("go"), "").unwrap();
    }
}

/// Waits until the test says so.
const WAIT: &str = "until [ -e go ]; do sleep 0.01; done;";

fn silent_children_leave_the_file_system_alone() {
    where_nobody_hides("silent_children_leave_the_file_system_alone", || {
        let mut scene = Scene::new();
        let first = scene.apart("exit 0");
        let folder = scene.path("out");
        let changed = |folder: &Path| fs::metadata(folder).map(|it| (it.mtime(), it.mtime_nsec())).unwrap();
        let before = changed(&folder);
        // Longer than the steps in which a file system counts time.
        std::thread::sleep(Duration::from_millis(30));
        scene.run(first);
        let mut pool = unnamed(scene.identity.pid);
        assert_eq!(pool.len(), 2);
        pool.sort();
        for _ in 0..10 {
            let spawn = scene.apart("exit 0");
            let exit = scene.run(spawn);
            assert_eq!((exit.stdout_len, exit.stderr_len, exit.output_lost), (0, 0, None));
        }
        let mut shared = scene.apart("exit 0");
        shared.stderr = shared.stdout.clone();
        scene.run(shared);
        assert_eq!(changed(&folder), before, "something was created or removed");
        let mut after = unnamed(scene.identity.pid);
        after.sort();
        assert_eq!(after, pool, "the same two files served all of them");
    });
}

fn a_running_childs_output_is_found_through_the_child() {
    let mut scene = Scene::new();
    let spawn = scene.apart(&format!("echo early; echo oops >&2; {WAIT} echo late"));
    let (key, out) = (spawn.key, spawn.stdout.clone().unwrap());
    let pid = scene.start(spawn);
    for (number, text) in [(1, "early\n"), (2, "oops\n")] {
        let open = format!("/proc/{pid}/fd/{number}");
        until("it has written", || fs::read_to_string(&open).unwrap() == text);
    }
    assert_eq!(names_in(&scene.path("out")), [""; 0]);
    scene.go();
    let exit = scene.exit_of(key);
    assert_eq!((exit.stdout_len, exit.stderr_len), (11, 5));
    assert_eq!(fs::read_to_string(out).unwrap(), "early\nlate\n");
    assert_eq!(names_in(&scene.path("out")), ["1.err", "1.out"]);
}

fn every_child_has_its_own_output() {
    where_nobody_hides("every_child_has_its_own_output", || {
        let mut scene = Scene::new();
        let mut expected = BTreeMap::new();
        // In four waves, so that files come back and go out again.
        for wave in 0..4 {
            let mut pids = Vec::new();
            for number in 0..12 {
                let word = format!("{wave}.{number}");
                let script = match number % 4 {
                    0 => "until [ -e $0 ]; do sleep 0.01; done".to_owned(),
                    1 => format!("echo {word}; until [ -e $0 ]; do sleep 0.01; done; echo {word} again"),
                    2 => format!("until [ -e $0 ]; do sleep 0.01; done; echo {word} >&2"),
                    _ => format!("seq -f '{word} %g' 20000; until [ -e $0 ]; do sleep 0.01; done"),
                };
                let text = match number % 4 {
                    0 => [String::new(), String::new()],
                    1 => [format!("{word}\n{word} again\n"), String::new()],
                    2 => [String::new(), format!("{word}\n")],
                    _ => [(1..=20000).map(|line| format!("{word} {line}\n")).collect(), String::new()],
                };
                let mut spawn = scene.apart(&script);
                spawn.argv.push(format!("go{wave}"));
                expected.insert(spawn.key, text);
                pids.push(scene.start(spawn));
            }
            let mut inodes: Vec<u64> = pids.iter().flat_map(|&pid| unnamed(pid)).collect();
            inodes.sort();
            inodes.dedup();
            assert_eq!(inodes.len(), 24, "two children have the same file");
            fs::write(scene.path(&format!("go{wave}")), "").unwrap();
            for _ in pids {
                let SupervisorEvent::Exited(exit) = scene.event() else { panic!("expected an exit") };
                let texts = &expected[&exit.key];
                let lengths = [exit.stdout_len, exit.stderr_len];
                assert_eq!(lengths, [texts[0].len() as u64, texts[1].len() as u64]);
            }
        }
        let mut names = Vec::new();
        for (key, texts) in expected {
            for (text, ending) in texts.into_iter().zip(["out", "err"]) {
                let name = format!("{key}.{ending}");
                if text.is_empty() {
                    continue;
                }
                let found = fs::read_to_string(scene.path("out").join(&name)).unwrap();
                assert!(found == text, "{name} holds something else");
                names.push(name);
            }
        }
        names.sort();
        assert_eq!(names_in(&scene.path("out")), names);
        let pool = unnamed(scene.identity.pid).len();
        assert!(pool <= 24, "{pool} files are kept for 12 children");
    });
}

fn what_a_killed_child_wrote_is_kept() {
    let mut scene = Scene::new();
    let spawn = scene.apart("echo half; echo $$ >ready; sleep 1000; :");
    let out = spawn.stdout.clone().unwrap();
    let pid = scene.start(spawn);
    scene.pids_in("ready", 1);
    scene.client = None;
    until("the child is gone", || !running(pid));
    until("its output has its name", || out.exists());
    assert_eq!(fs::read_to_string(out).unwrap(), "half\n");
}

fn what_took_the_place_meanwhile_is_replaced() {
    let mut scene = Scene::new();
    fs::write(scene.path("precious"), "precious").unwrap();
    fs::create_dir(scene.path("out")).unwrap();
    for kind in ["file", "link", "pipe"] {
        let spawn = scene.apart(&format!("{WAIT} echo true"));
        let (key, out) = (spawn.key, spawn.stdout.clone().unwrap());
        let _ = fs::remove_file(scene.path("go"));
        scene.start(spawn);
        match kind {
            "file" => fs::hard_link(scene.path("precious"), &out).unwrap(),
            "link" => symlink(scene.path("precious"), &out).unwrap(),
            _ => mknodat(CWD, &out, FileType::Fifo, Mode::RWXU, 0).unwrap(),
        }
        scene.go();
        let exit = scene.exit_of(key);
        assert_eq!((exit.stdout_len, exit.output_lost), (5, None), "{kind}");
        assert!(fs::symlink_metadata(&out).unwrap().is_file(), "{kind}");
        assert_eq!(fs::read_to_string(&out).unwrap(), "true\n", "{kind}");
    }
    assert_eq!(scene.text("precious"), "precious");
    assert_eq!(names_in(&scene.path("out")), ["1.out", "2.out", "3.out"]);
}

fn what_cannot_be_written_is_refused_before_the_start() {
    // Root may write anywhere.
    let mut scene = Scene::of_an_ordinary_user();
    fs::create_dir(scene.path("folder")).unwrap();
    fs::create_dir(scene.path("locked")).unwrap();
    fs::set_permissions(scene.path("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    symlink(scene.path("nowhere"), scene.path("dangling")).unwrap();
    // A silent child before it, so that there are files to be had without asking the system.
    let spawn = scene.script("exit 0");
    scene.run(spawn);
    for path in ["folder", "missing/out", "dangling", "name/", "/proc/out", "locked/out"] {
        for stream in 0..2 {
            let mut spawn = scene.script("echo ran >ran");
            let path = scene.path(path);
            let streams = [&mut spawn.stdout, &mut spawn.stderr];
            *streams.into_iter().nth(stream).unwrap() = Some(path.clone());
            let key = spawn.key;
            scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
            match scene.event() {
                SupervisorEvent::SpawnFailed { key: failed, errno, message, .. } => {
                    assert_eq!(failed, key);
                    // What is no file is refused before the system is asked.
                    let refused = ["not a regular file", "is a link"].iter().any(|why| message.contains(why));
                    assert!(errno.is_some() || refused, "{message}");
                    assert!(message.contains(&format!("`{}`", path.display())), "{message}");
                }
                other => panic!("{}: {other:?}", path.display()),
            }
        }
    }
    assert_eq!(names_in(scene.place.path()), ["dangling", "exits.log", "folder", "locked"]);
}

fn a_failed_start_leaves_nothing() {
    where_nobody_hides("a_failed_start_leaves_nothing", || {
        let mut scene = Scene::new();
        for stale in [false, true, false] {
            let mut spawn = scene.apart("");
            spawn.argv = vec!["/no/such/program".to_owned()];
            if stale {
                fs::write(spawn.stdout.as_ref().unwrap(), "stale").unwrap();
            }
            scene.send(&SupervisorCommand::Spawn(Box::new(spawn)));
            assert!(matches!(scene.event(), SupervisorEvent::SpawnFailed { .. }));
            assert_eq!(names_in(&scene.path("out")), [""; 0]);
            assert_eq!(unnamed(scene.identity.pid).len(), 2, "they wait for the next child");
        }
    });
}

/// A child that prints and whose output's place is then spoiled by the script; with the warning it causes.
fn spoiled(scene: &mut Scene, spawn: Spawn) -> ChildExit {
    let (key, label) = (spawn.key, spawn.label.clone());
    scene.start(spawn);
    match scene.event() {
        SupervisorEvent::Warning { message } => assert!(message.contains(&label), "{message}"),
        other => panic!("expected a warning: {other:?}"),
    }
    let exit = scene.exit_of(key);
    let log = read_exits(&scene.path("exits.log")).unwrap();
    assert_eq!(log.records.last().unwrap().exit, exit);
    exit
}

fn lost_output_is_told() {
    let mut scene = Scene::new();
    for (number, spoil) in ["rm -r out", "mkdir \"$0\""].into_iter().enumerate() {
        let mut spawn = scene.apart(&format!("echo evidence; {spoil}"));
        let out = spawn.stdout.clone().unwrap();
        spawn.argv.push(out.to_string_lossy().into_owned());
        let exit = spoiled(&mut scene, spawn);
        assert_eq!((exit.code, exit.stdout_len), (Some(0), 0), "{spoil}");
        let lost = exit.output_lost.unwrap();
        assert!(lost.contains(&format!("/{}.out`", exit.key)), "{lost}");
        assert!(!lost.contains(".err"), "nothing was in that one: {lost}");
        assert_eq!(number == 1, out.is_dir());
    }
    assert_eq!(names_in(&scene.path("out")), ["2.out"]);
    // Silent children lose nothing.
    let spawn = scene.apart("rm -r out");
    assert_eq!(scene.run(spawn).output_lost, None);
}

fn lost_output_of_a_named_file_is_told() {
    let mut scene = Scene::new();
    let spawn = scene.apart("echo evidence; rm -r out");
    // Something that is there already is overwritten, so this file has its name from the start.
    fs::write(spawn.stdout.as_ref().unwrap(), "stale").unwrap();
    let exit = spoiled(&mut scene, spawn);
    assert_eq!((exit.code, exit.stdout_len), (Some(0), 0));
    assert!(exit.output_lost.unwrap().contains("/1.out`"));
}

fn a_file_that_somebody_still_writes_is_not_reused() {
    let mut scene = Scene::new();
    // Another turn holds its two files open beyond its end.
    let other = scene.script(
        "until [ -s pid ]; do sleep 0.01; done
        exec 3>>/proc/$(cat pid)/fd/1 4>>/proc/$(cat pid)/fd/2; echo held >held
        until [ -e go ]; do sleep 0.01; done; echo leaked >&3; echo leaked >&4; : >leaked; sleep 1000; :",
    );
    scene.start(other);
    let spawn = scene.apart("echo $$ >pid; until [ -s held ]; do sleep 0.01; done");
    assert_eq!(scene.run(spawn).stdout_len, 0);
    let spawn = scene.apart("echo mine; : >go; until [ -e leaked ]; do sleep 0.01; done");
    let out = spawn.stdout.clone().unwrap();
    let exit = scene.run(spawn);
    assert_eq!((exit.stdout_len, exit.stderr_len), (5, 0));
    assert_eq!(fs::read_to_string(out).unwrap(), "mine\n");
    assert_eq!(names_in(&scene.path("out")), ["3.out"]);
}

fn a_file_that_somebody_still_reads_is_not_reused() {
    let mut scene = Scene::new();
    let spawn = scene.apart(WAIT);
    let key = spawn.key;
    let pid = scene.start(spawn);
    let mut reader = fs::File::open(format!("/proc/{pid}/fd/1")).unwrap();
    scene.go();
    scene.exit_of(key);
    let spawn = scene.apart("echo secret; echo secret >&2");
    assert_eq!(scene.run(spawn).stdout_len, 7);
    let mut read = String::new();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, "");
}

fn a_file_that_a_child_changed_is_not_reused() {
    let mut scene = Scene::new();
    let spawn = scene.apart("chmod 777 /dev/stdout; echo gone >&2; truncate -s 0 /dev/stderr");
    assert_eq!(scene.run(spawn).stderr_len, 0);
    let spawn = scene.apart("echo out; echo err >&2");
    let paths = [spawn.stdout.clone().unwrap(), spawn.stderr.clone().unwrap()];
    scene.run(spawn);
    for (path, text) in paths.iter().zip(["out\n", "err\n"]) {
        assert_eq!(fs::read_to_string(path).unwrap(), text);
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o111, 0);
    }
}

fn without_descriptors_to_spare_files_are_named() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let before = getrlimit(Resource::Nofile);
    let few = rustix::process::Rlimit { current: Some(32), maximum: before.maximum };
    setrlimit(Resource::Nofile, few).unwrap();
    // The supervisor has the limit of the process that forks it.
    let mut scene = Scene::new();
    setrlimit(Resource::Nofile, before).unwrap();
    let keys: Vec<u64> = (0..30)
        .map(|number| {
            let word = if number % 2 == 0 { "echo word;" } else { "" };
            let spawn = scene.apart(&format!("{word} {WAIT}"));
            let key = spawn.key;
            scene.start(spawn);
            key
        })
        .collect();
    scene.go();
    for _ in &keys {
        let SupervisorEvent::Exited(exit) = scene.event() else { panic!("expected an exit") };
        assert_eq!((exit.stdout_len, exit.stderr_len), (5 * (exit.key % 2), 0), "{exit:?}");
    }
    let names: Vec<String> = keys.iter().step_by(2).map(|key| format!("{key}.out")).collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(names_in(&scene.path("out")), sorted);
}
