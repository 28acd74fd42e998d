//! Where reports go: files are replaced, also behind links; FIFOs and devices are written to; folders and sockets are
//! refused; and a run that is refused leaves earlier reports alone.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};

use crate::support::sockets::listen;
use crate::support::{Mission, Says, Workspace};

const MISSION: &str = "
name: reported
agents: {worker: {run: touch touched}}
tasks: [{title: one}]
";

fn run(workspace: &Workspace, target: &str) -> crate::support::Finished {
    workspace.quorum(&["run", "mission.yaml", "--report", &format!("junit={target}")])
}

#[test]
fn a_report_behind_a_link_replaces_what_the_link_leads_to() {
    let workspace = Workspace::with(MISSION);
    workspace.write("kept/old.xml", "old");
    symlink("kept/old.xml", workspace.path("old.xml")).expect("a link");
    symlink("kept/new.xml", workspace.path("new.xml")).expect("a link");
    for name in ["old.xml", "new.xml"] {
        run(&workspace, name).exits(0);
        assert!(workspace.path(name).symlink_metadata().expect("it stays").is_symlink());
        let kept = workspace.path("kept").join(name);
        assert!(kept.symlink_metadata().expect("it is there").is_file());
        assert!(workspace.read(&format!("kept/{name}")).contains("<testsuite"));
    }
}

#[test]
fn a_fifo_gets_the_report_and_stays() {
    let workspace = Workspace::with(MISSION);
    workspace.bash("mkfifo pipe").exits(0);
    let path = workspace.path("pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        fs::File::open(path).and_then(|mut pipe| pipe.read_to_string(&mut text)).map(|_| text)
    });
    run(&workspace, "pipe").exits(0);
    reader.join().expect("it reads").expect("it can read").says(&["<testsuite"]);
    assert!(fs::metadata(workspace.path("pipe")).expect("it stays").file_type().is_fifo());
}

#[test]
fn a_fifo_that_nobody_reads_is_told_and_holds_nothing_up() {
    let workspace = Workspace::with(MISSION);
    workspace.bash("mkfifo pipe").exits(0);
    run(&workspace, "pipe").exits(1).says(&["pipe", "nobody reads it"]);
    assert!(fs::metadata(workspace.path("pipe")).expect("it stays").file_type().is_fifo());
    workspace.quorum(&["report", "--html", "pipe"]).exits(1).says(&["pipe", "nobody reads it"]);
}

#[test]
fn a_device_gets_the_report_and_stays() {
    let workspace = Workspace::with(MISSION);
    // A link to it: what leads to a device must not be replaced either, and nothing but the link is at stake here.
    symlink("/dev/null", workspace.path("null")).expect("a link");
    run(&workspace, "null").exits(0);
    assert!(workspace.path("null").symlink_metadata().expect("it stays").is_symlink());
    assert!(fs::metadata("/dev/null").expect("it stays").file_type().is_char_device());
}

#[test]
fn a_folder_or_a_socket_is_refused_before_any_work() {
    let workspace = Workspace::with(MISSION);
    workspace.write("folder/file", "");
    let _socket = listen(&workspace.path("socket")).expect("a socket");
    for (target, what) in [("folder", "it is a folder"), ("socket", "it is a socket")] {
        run(&workspace, target).exits(2).says(&[target, what, "nothing was started"]);
    }
    workspace.assert_nothing_started();
    run(&workspace, "fine.xml").exits(0);
    workspace.quorum(&["report", "--html", "socket"]).exits(2).says(&["socket"]);
}

#[test]
fn a_run_that_is_refused_leaves_earlier_reports_alone() {
    let workspace = Workspace::with(
        "
name: waits
agents: {worker: {run: 'true'}}
tasks: [{title: one, requiresApproval: true}]
",
    );
    let report = &["--report", "junit=j.xml"];
    let first = [&["run", "mission.yaml", "--run-id", "r1"][..], report].concat();
    workspace.quorum(&first).exits(8);
    let earlier = workspace.read("j.xml");
    assert!(earlier.contains("<testsuite"), "{earlier}");
    let unchanged = |what: &str| assert_eq!(workspace.read("j.xml"), earlier, "{what}");
    // An unfinished run is in the way.
    workspace.quorum(&[&["run", "mission.yaml"][..], report].concat()).exits(9);
    unchanged("an unfinished run");
    // A run that is not there.
    workspace.quorum(&[&["resume", "nowhere"][..], report].concat()).exits(2);
    unchanged("no such run");
    // Another mission than the one that was begun.
    workspace.write("mission.yaml", workspace.read("mission.yaml").replace("waits", "other"));
    workspace.quorum(&[&["resume", "r1"][..], report].concat()).exits(2);
    unchanged("a changed mission");
    // The id is taken.
    workspace
        .quorum(&[&["run", "mission.yaml", "--fresh", "--yes", "--run-id", "r1"][..], report].concat())
        .exits(9);
    unchanged("a taken id");
}

#[test]
fn a_report_is_asked_for_by_kind_and_path_and_a_comma_is_a_part_of_it() {
    let workspace = Mission::new().key("name", "m").agent("a", "true").tasks(["one"]).workspace();
    std::fs::create_dir(workspace.path("out,1")).expect("a folder can be made");
    workspace.quorum(&["run", "--run-id", "r1", "--report", "junit=out,1/j.xml,html=a.html"]).exits(0);
    assert!(workspace.exists("out,1/j.xml") && workspace.exists("a.html"));
    workspace
        .quorum(&["report", "r1", "--to", "junit=x,y.xml", "--to", "markdown=m.md", "--html", "b,c.html"])
        .exits(0);
    assert!(workspace.exists("x,y.xml") && workspace.exists("m.md") && workspace.exists("b,c.html"));
    let printed = workspace.quorum(&["report", "latest", "--to", "json=-"]).exits(0).json();
    assert_eq!(printed["runId"], "r1");
    // Without a file it is a switch like everywhere else.
    assert_eq!(workspace.quorum(&["report", "r1", "--json"]).exits(0).json()["runId"], "r1");
    workspace.quorum(&["report", "--to", "pdf=x"]).exits(2).says(&["the kinds are: junit"]);
    workspace.quorum(&["run", "--report", "markdown=-"]).exits(2).says(&["quorum report --to markdown=-"]);
}

/// A mission with everything that a report could land on.
const WHOLE: &str = "
name: whole
agents: {worker: {run: 'touch touched; echo work > out.txt; mkdir -p docs; echo a > docs/a.md'}}
settings: {evaluate: false, protect: ['kept/**']}
tasks:
  - title: one
    targetFiles: [./out.txt]
    expectations: [{type: file_exists, paths: ['docs/*.md']}, {type: script, command: sh check.sh}]
";

fn whole() -> Workspace {
    let workspace = Workspace::with(WHOLE);
    for (name, text) in [("check.sh", "exit 0\n"), ("quorum.yaml", "{}\n"), ("kept/k", "k\n")] {
        workspace.write(name, text);
    }
    symlink("mission.yaml", workspace.path("link.yaml")).expect("a link");
    symlink(".", workspace.path("here")).expect("a link");
    fs::hard_link(workspace.path("check.sh"), workspace.path("hard.sh")).expect("a link");
    workspace
}

const PARTS: [&str; 12] = [
    "mission.yaml",
    "./mission.yaml",
    "here/mission.yaml",
    "link.yaml",
    "quorum.yaml",
    "home/.config/quorum/quorum.yaml",
    "out.txt",
    "docs/b.md",
    "check.sh",
    "hard.sh",
    "kept/new",
    ".polpo/runs/r1/report.xml",
];

#[test]
fn a_report_never_lands_on_what_the_run_is_made_of() {
    let workspace = whole();
    let before = workspace.read("mission.yaml");
    for part in PARTS {
        run(&workspace, part).exits(2).says(&[part, "would replace", "nothing was started"]);
    }
    let twice = ["run", "mission.yaml", "--report", "junit=r.xml", "--report", "markdown=here/r.xml"];
    workspace.quorum(&twice).exits(2).says(&["r.xml", "another report"]);
    workspace.assert_nothing_started();
    assert_eq!(workspace.read("mission.yaml"), before);
    assert!(workspace.read("check.sh").contains("exit 0"));
    run(&workspace, "fine.xml").exits(0);
}

#[test]
fn a_report_of_a_session_or_of_a_run_that_has_ended_spares_them_too() {
    let workspace = whole().tap_mission("- title: one", "- title: one\n    requiresApproval: true");
    workspace.quorum(&["run", "mission.yaml", "-q", "--run-id", "r1"]).exits(8);
    let journal = workspace.read(&crate::support::journal::of("r1"));
    for part in PARTS {
        let target = format!("junit={part}");
        let words = [part, "would replace"];
        workspace.quorum(&["resume", "r1", "--report", &target]).exits(2).says(&words);
        workspace.quorum(&["report", "r1", "--to", &target]).exits(2).says(&words);
    }
    assert_eq!(workspace.read(&crate::support::journal::of("r1")), journal);
    workspace.quorum(&["approve", "r1.0.1"]).exits(0);
    workspace.quorum(&["resume", "r1", "-q", "--report", "junit=fine.xml"]).exits(0);
    workspace.quorum(&["report", "r1", "--to", "junit=fine.xml"]).exits(0);
    workspace.quorum(&["report", "r1", "--to", "junit=out.txt"]).exits(2);
    assert_eq!(workspace.read("out.txt"), "work\n");
}

#[test]
fn what_the_work_wrote_where_a_report_was_to_go_is_kept() {
    let workspace = Workspace::with(&MISSION.replace("touch touched", "echo work > notes.md"));
    workspace.write("notes.md", "an earlier report\n");
    workspace
        .quorum(&["run", "mission.yaml", "--report", "markdown=notes.md"])
        .exits(1)
        .says(&["notes.md", "kept"]);
    assert_eq!(workspace.read("notes.md"), "work\n");
}

#[test]
fn a_report_into_a_recording_is_refused() {
    let workspace = Workspace::with(MISSION);
    let arguments = ["run", "mission.yaml", "--record", "tape", "--report", "html=tape/page.html"];
    workspace.quorum(&arguments).exits(2).says(&["tape/page.html", "would replace"]);
}
