//! False green 20, the half about the state folder: links, FIFOs, devices, sparse files and other people's files in the
//! places of its own. All of them are named before any work, and nothing behind them is moved, read or written.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;

use crate::support::journal;
use crate::support::sockets::listen;
use crate::support::somebody_else::{NOBODY, is_root};
use crate::support::{
    BINARY, Mission, Running, Says, Workspace, makes_namespaces, skipped, standing, wait_for,
};

/// A place in the state folder, what is made there, and what that is called.
type Case<'a> = (&'a str, &'a dyn Fn(&Path), &'a str);

fn mission() -> Mission {
    Mission::new().worker("touch touched").tasks(["one"])
}

/// A workspace with one finished run, r1.
fn ran() -> Workspace {
    let workspace = mission().workspace();
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
    fs::remove_file(workspace.path("touched")).expect("it was touched");
    workspace
}

/// A folder of somebody's, which nobody has anything to do with.
fn decoy(workspace: &Workspace) {
    for name in ["passwd", "letter.json", journal::JOURNAL, "keep/deep"] {
        workspace.write(&format!("decoy/{name}"), format!("precious {name}"));
    }
}

fn assert_decoy_is_whole(workspace: &Workspace, what: &str) {
    let mut names: Vec<String> = fs::read_dir(workspace.path("decoy"))
        .expect("it is there")
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, [journal::JOURNAL, "keep", "letter.json", "passwd"], "{what}");
    for name in ["passwd", "letter.json", journal::JOURNAL, "keep/deep"] {
        assert_eq!(workspace.read(&format!("decoy/{name}")), format!("precious {name}"), "{what}");
    }
}

/// Takes away what is at a place.
fn clear(path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
}

#[test]
fn a_link_in_the_place_of_anything_in_the_state_folder_is_named_before_any_work() {
    for place in [
        "",
        "VERSION",
        "lock",
        "control.sock",
        "@inbox",
        "@inbox/refused",
        "runs",
        "runs/r1",
        "runs/r1/@spool",
        "runs/r1/@journal",
        "runs/r1/@snapshot",
        "runs/r1/mission.yaml",
        "runs/r1/@exits",
        "runs/r1/@socket",
        "requests",
        "dead-letters.jsonl",
    ] {
        let workspace = ran();
        decoy(&workspace);
        let place = &journal::with_names(place);
        let path = workspace.path(".polpo").join(place);
        let is_folder = ["", "@inbox", "@inbox/refused", "runs", "runs/r1", "runs/r1/@spool", "requests"];
        let target = match is_folder.map(journal::with_names).contains(place) {
            true => workspace.path("decoy"),
            false => workspace.path("decoy/passwd"),
        };
        clear(&path.join("."));
        clear(&path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        symlink(&target, path.components().as_path()).expect("a link can be made");
        let shown = format!(".polpo/{place}");
        let shown = shown.trim_end_matches('/');
        for arguments in [&["status", "r1"][..], &["resume", "r1"], &["doctor", "state"]] {
            let finished = workspace.quorum(arguments);
            let said = format!("{}{}", finished.stdout, finished.stderr);
            assert!(said.contains(shown) && said.contains("link"), "{place} {arguments:?}: {finished:?}");
            assert!(finished.code() != Some(0), "{place} {arguments:?}: {finished:?}");
            if arguments[0] != "doctor" {
                finished.exits(9);
            }
        }
        // A run of its own needs nothing of a run that has ended, as long as nothing leads out of the state folder.
        let finished = workspace.quorum(&["run", "mission.yaml", "--run-id", "r2"]);
        let of_old_run = place.starts_with("runs/r1/") && !place.ends_with(".jsonl");
        if !of_old_run {
            finished.exits(9).says(&[shown, "link", "help:"]);
            assert!(!workspace.exists("touched"), "{place}: an agent was started");
        }
        assert_decoy_is_whole(&workspace, place);
    }
}

#[test]
fn what_is_no_plain_file_or_folder_of_the_state_is_named_before_any_work() {
    let fifo = |path: &Path| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("a FIFO");
    };
    let socket = |path: &Path| drop(listen(path).expect("a socket"));
    let folder = |path: &Path| fs::create_dir(path).expect("a folder");
    let sparse = |path: &Path| {
        let file = File::create(path).expect("a file");
        file.set_len(1 << 40).expect("it can be long");
    };
    let cases: &[Case<'_>] = &[
        ("VERSION", &fifo, "FIFO"),
        ("VERSION", &sparse, "sparse"),
        ("lock", &fifo, "FIFO"),
        ("lock", &folder, "folder"),
        ("control.sock", &fifo, "FIFO"),
        ("@inbox", &fifo, "FIFO"),
        ("runs", &socket, "socket"),
        ("runs/r1", &fifo, "FIFO"),
        ("runs/r1/@journal", &fifo, "FIFO"),
        ("runs/r1/@journal", &sparse, "sparse"),
        ("runs/r1/@journal", &folder, "folder"),
        ("requests", &fifo, "FIFO"),
        ("dead-letters.jsonl", &socket, "socket"),
    ];
    for (place, make, what) in cases {
        let workspace = ran();
        let place = &journal::with_names(place);
        let path = workspace.path(".polpo").join(place);
        clear(&path);
        make(&path);
        for arguments in
            [&["status", "r1"][..], &["resume", "r1"], &["run", "mission.yaml", "--run-id", "r2"]]
        {
            workspace.quorum(arguments).exits(9).says(&[&format!(".polpo/{place}"), what, "help:"]);
        }
        assert!(!workspace.exists("touched"), "{place}: an agent was started");
    }
}

#[test]
fn somebody_elses_folder_in_the_state_is_named_before_any_work() {
    let run = ["run", "mission.yaml", "--run-id", "r2"];
    for place in ["", "@inbox", "runs", "runs/r1", "lock"] {
        let workspace = ran();
        let place = &journal::with_names(place);
        let path = workspace.path(".polpo").join(place);
        let _ = fs::create_dir(&path);
        let ended = if is_root() {
            let path = path.components();
            std::os::unix::fs::chown(path.as_path(), Some(NOBODY), Some(NOBODY)).expect("root may");
            workspace.quorum(&run)
        } else if makes_namespaces() {
            // Seen from a namespace that knows no user but this one, what is root's is 65534's.
            let theirs = if path.is_dir() { "/usr" } else { "/etc/passwd" };
            let mut command = workspace.other_command("unshare");
            command.args(["-Urm", "sh", "-c", "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$0\" \"$@\""]);
            command.arg(BINARY).arg(theirs).arg(&path).args(run);
            Running::start(command).finish()
        } else {
            return skipped("only root can give a folder away, and no namespace can be made to seem to");
        };
        ended.exits(9).says(&[".polpo", "65534", "help:"]);
        assert!(!workspace.exists("touched"), "{place}: an agent was started");
    }
}

/// The same without any power over others: the decoy is the test's own.
#[test]
fn a_linked_inbox_moves_nothing_of_anybodys() {
    let workspace = mission().workspace();
    decoy(&workspace);
    fs::create_dir(workspace.path(".polpo")).expect("it can be made");
    symlink("../decoy", workspace.path(&journal::inbox(""))).expect("a link can be made");
    let finished = workspace.start_unprivileged(&["run", "mission.yaml"]).finish();
    finished.exits(9).says(&[&journal::inbox(""), "link"]);
    assert_decoy_is_whole(&workspace, "inbox");
}

#[test]
fn a_state_folder_that_a_person_names_may_be_a_link() {
    let workspace = mission().workspace();
    fs::create_dir(workspace.path("elsewhere")).expect("it can be made");
    symlink("elsewhere", workspace.path("there")).expect("a link can be made");
    workspace.quorum(&["run", "mission.yaml", "--state-dir", "there"]).exits(0);
    assert!(workspace.exists("elsewhere/runs"));
}

/// What an agent puts into the place of a folder in mid-session leads nobody anywhere, and is told.
#[test]
fn a_folder_that_becomes_a_link_in_mid_session_leads_nowhere() {
    for (place, code, words) in [
        ("@inbox", 0, journal::INBOX),
        ("@inbox/refused", 0, "refused"),
        // What the agent said is lost with its folder, and so is its work.
        ("runs/r1/@spool", 3, "@spool is a link"),
        ("runs/r1", 1, "runs/r1"),
        ("runs", 1, "runs"),
    ] {
        let (place, words) = (&journal::with_names(place), &journal::with_names(words));
        let workspace = Mission::new()
            .key("name", "swapped")
            .agent("vandal", format!("mkdir -p .polpo/@inbox\necho noise > .polpo/@inbox/noise.json\nmkdir -p $(dirname .polpo/{place})\nrm -rf .polpo/{place}; ln -s \"$PWD/decoy\" .polpo/{place}\necho noise > .polpo/@inbox/more.json\necho swapped > swapped\ni=0; while [ ! -e go ] && [ $i -lt 400 ]; do sleep 0.02; i=$((i+1)); done\n"))
            .agent("other", "echo said")
            .task("one", |t| t.attempts(1))
            .task("two", |t| t.by("other").needs("one").attempts(1))
            .workspace();
        decoy(&workspace);
        let extra = |workspace: &Workspace| {
            // What the vandal itself wrote through its link.
            let _ = fs::remove_file(workspace.path("decoy/more.json"));
        };
        let mut running =
            workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--timeout", "40s", "--json"]);
        // A session that sees what is done to its journal ends at once.
        wait_for("the swap", || workspace.exists("swapped") || running.has_ended());
        extra(&workspace);
        if place.starts_with(journal::INBOX) {
            let journal = &journal::of("r1");
            wait_for("a look into the inbox", || workspace.read(journal).contains("a link"));
        }
        workspace.write("go", "");
        let finished = running.finish();
        assert_decoy_is_whole(&workspace, place);
        assert_eq!(finished.code(), Some(code), "{place}: {finished:?}");
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(said.contains(words), "{place}: {said}");
        if code == 0 {
            assert!(said.contains("is a link"), "{place}: {said}");
            assert_eq!(standing(&finished.json(), "two").0, "done", "{place}");
        }
    }
}

#[test]
fn what_is_no_letter_is_left_in_the_inbox() {
    let workspace = ran();
    workspace.write(&journal::inbox("notes.txt"), "mine");
    workspace.write(&journal::inbox("papers/one.json"), "mine");
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r2"]).exits(0);
    assert_eq!(workspace.read(&journal::inbox("notes.txt")), "mine");
    assert_eq!(workspace.read(&journal::inbox("papers/one.json")), "mine");
    workspace.status_of("r2")["warnings"].to_string().says(&["notes.txt", "papers"]);
}

#[test]
fn a_record_that_never_ends_is_refused_within_its_limit() {
    let workspace = ran();
    let mut journal = fs::read(workspace.path(&journal::of("r1"))).expect("it is there");
    let first = journal.iter().position(|byte| *byte == b'\n').expect("it has lines") + 1;
    journal.truncate(first);
    journal.resize(first + (17 << 20), b'x');
    workspace.write(&journal::of("r1"), journal);
    for arguments in [&["status", "r1"][..], &["resume", "r1"], &["show", "one", "--run", "r1"]] {
        workspace.quorum(arguments).exits(1).says(&[journal::JOURNAL, "line 2", "16777216 bytes"]);
    }
}

#[test]
fn a_mission_that_is_no_file_is_refused_at_once() {
    let workspace = Workspace::new();
    workspace.bash("mkfifo mission.yaml").exits(0);
    for command in ["validate", "plan", "run"] {
        let ended = workspace.quorum(&[command, "mission.yaml"]).exits(2);
        ended.says(&["mission.yaml", "not a regular file", "standard input"]);
    }
    assert!(fs::metadata(workspace.path("mission.yaml")).expect("it stays").file_type().is_fifo());
}
