//! What quorum writes and hands over outside of any confinement goes where it went when the session began, and nowhere else.

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use serde_json::json;

use crate::support::{Finished, Mission, RUN_AS_R1, Running, Workspace};

/// A run whose worker runs `script`, and that is to leave a report at `rep/report`. `elsewhere/report` is somebody's.
fn reported(script: &str, prepare: impl FnOnce(&Workspace)) -> (Workspace, Finished) {
    let workspace = Mission::new()
        .worker(format!("{script}; echo done > out"))
        .task("work", |t| t.files(["out"]).unreviewed())
        .workspace();
    workspace.write("elsewhere/report", "precious");
    fs::create_dir(workspace.path("rep")).expect("a folder can be made");
    prepare(&workspace);
    let words = [RUN_AS_R1, &["--report", "html=rep/report"]].concat();
    let finished = workspace.quorum(&words);
    (workspace, finished)
}

#[test]
fn a_report_is_never_written_through_a_folder_that_was_replaced() {
    for (script, is_written) in [
        ("mv rep old; ln -s elsewhere rep", false),
        ("mv rep old; mkdir rep", false),
        ("mv rep old; mv elsewhere rep; mkdir elsewhere; cp rep/report elsewhere/report", false),
        ("rmdir rep; ln -s elsewhere rep", false),
        ("rmdir rep", false),
        ("ln -s ../elsewhere/report rep/report", false),
        ("ln -s ../elsewhere/new rep/report", false),
        ("ln elsewhere/report rep/report", false),
        ("mkdir rep/report", false),
        ("mkfifo rep/report", false),
        ("mv rep old; mv old rep", true),
        ("true", true),
    ] {
        let (workspace, finished) = reported(script, |_| {});
        let finished = finished.exits(if is_written { 0 } else { 1 });
        assert_eq!(workspace.read("elsewhere/report"), "precious", "{script}");
        assert!(!workspace.exists("elsewhere/new") && !workspace.exists("old/report"), "{script}");
        if is_written {
            assert!(workspace.read("rep/report").contains("<html"), "{script}");
        } else {
            finished.says(&["rep/report cannot be written"]);
        }
    }
}

#[test]
fn a_report_follows_the_links_that_were_there_and_no_others() {
    let link = |workspace: &Workspace| {
        fs::create_dir(workspace.path("real")).expect("a folder can be made");
        std::os::unix::fs::symlink("../real/file", workspace.path("rep/report")).expect("a link can be made");
    };
    let (workspace, finished) = reported("true", link);
    finished.exits(0);
    assert!(workspace.read("real/file").contains("<html"));
    for script in [
        "ln -sf ../elsewhere/report rep/report",
        "rmdir real; ln -s elsewhere real",
        "rm rep/report; mkdir real/x",
    ] {
        let (workspace, finished) = reported(script, link);
        finished.exits(1).says(&["rep/report cannot be written"]);
        assert_eq!(workspace.read("elsewhere/report"), "precious", "{script}");
        assert!(!workspace.exists("elsewhere/file") && !workspace.exists("real/file"), "{script}");
    }
}

#[test]
fn a_report_to_a_fifo_goes_to_no_other_one() {
    let fifo = |path: &Path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).expect("a FIFO can be made");
    let fifos = |workspace: &Workspace| {
        fifo(&workspace.path("rep/report"));
        fifo(&workspace.path("other"));
    };
    // Both are read: what comes to one of them would not come to the other.
    let read = "cat rep/report > came & cat other > came.other & echo begun > begun; ";
    for (script, code) in [("true", 0), ("rm rep/report; ln -s ../other rep/report", 1)] {
        let workspace = Mission::new()
            .worker(format!("while ! test -e ready; do sleep 0.02; done; {script}; echo done > out"))
            .task("work", |t| t.files(["out"]).unreviewed())
            .workspace();
        fs::create_dir(workspace.path("rep")).expect("a folder can be made");
        fifos(&workspace);
        let words = [RUN_AS_R1, &["--report", "html=rep/report"]].concat();
        let running = workspace.start(&words);
        let mut shell = workspace.other_command("sh");
        shell.args(["-c", &format!("{read} touch ready; wait")]);
        let reader = Running::start(shell);
        running.finish().exits(code);
        // Whoever still waits for a writer is told that there is none.
        for name in ["rep/report", "other"] {
            let mut end = workspace.other_command("sh");
            end.args(["-c", &format!("timeout 5 sh -c ': <> {name}; : > {name}'")]);
            Running::start(end).finish();
        }
        drop(reader);
        let came = |name: &str| fs::read_to_string(workspace.path(name)).unwrap_or_default();
        assert!(!came("came.other").contains("<html"), "{script}");
    }
}

#[test]
fn a_worker_cannot_write_over_the_record_of_its_prompt_by_its_descriptor() {
    for confined in [true, false] {
        let script = "for input in /proc/self/fd/0 /dev/stdin /dev/fd/0 /proc/$PPID/fd/0 /proc/$$/fd/0; do
  (echo forged > $input); (echo forged >> $input); (echo forged 1<> $input >&1); (: > $input)
done 2> refused
cat > prompt; echo done > out";
        let workspace = Mission::new()
            .worker(script)
            .task("work", |t| t.set("description", "Say hello.").files(["out"]).unreviewed())
            .workspace();
        let workspace = if confined { workspace.confined() } else { workspace };
        workspace.quorum(RUN_AS_R1).exits(0);
        let prompt = workspace.read("prompt");
        assert!(prompt.contains("Say hello.") && !prompt.contains("forged"), "{prompt}");
        workspace.quorum(&["doctor", "state", "r1"]).exits(0);
        workspace.quorum(&["review", "--replay", "r1"]).exits(0);
    }
}

/// A run whose worker runs `script`, and that appends a line to `path` at its end. `elsewhere/file` is somebody's.
fn noted(path: &str, script: &str) -> (Workspace, Finished) {
    let workspace = Mission::new()
        .worker(format!("{script}; echo done > out"))
        .key("channels", json!({"ops": {"type": "file", "path": path}}))
        .setting("defaultChannels", json!(["ops"]))
        .task("work", |t| t.files(["out"]).unreviewed())
        .workspace();
    workspace.write("elsewhere/file", "precious");
    let finished = workspace.quorum(RUN_AS_R1).exits(0);
    (workspace, finished)
}

#[test]
fn a_channel_appends_to_no_file_that_a_link_of_an_agent_leads_to() {
    for (path, script) in [
        ("notes", "ln -s elsewhere/file notes"),
        ("notes", "ln -s elsewhere/new notes"),
        ("rep/file", "ln -s elsewhere rep"),
        ("rep/new", "ln -s elsewhere rep"),
        ("rep/deep/file", "mkdir elsewhere/deep; ln -s elsewhere rep"),
        ("rep/deep/file", "ln -s elsewhere rep"),
        ("rep/../notes", "mkdir rep; ln -s elsewhere/file notes"),
    ] {
        let (workspace, finished) = noted(path, script);
        finished.says(&["not delivered"]);
        workspace.quorum(&["dlq", "list"]).exits(0).shows(&["is a link"]);
        assert_eq!(workspace.read("elsewhere/file"), "precious", "{path}: {script}");
        let lies = fs::read_dir(workspace.path("elsewhere")).expect("it is there");
        let deep = usize::from(script.starts_with("mkdir elsewhere"));
        assert_eq!(lies.count(), 1 + deep, "{path}: {script}");
    }
    let (workspace, _) = noted("rep/deep/notes", "true");
    assert_eq!(workspace.lines("rep/deep/notes").len(), 1);
}

#[test]
fn a_channel_follows_the_links_that_a_user_has_elsewhere() {
    let other = Workspace::new();
    fs::create_dir(other.path("real")).expect("a folder can be made");
    std::os::unix::fs::symlink("real", other.path("link")).expect("a link can be made");
    noted(&other.path("link/notes").to_string_lossy(), "true");
    assert_eq!(other.lines("real/notes").len(), 1);
}

#[test]
fn the_summary_of_a_step_goes_where_it_went_when_the_session_began() {
    for (script, is_written) in [
        ("ln -sf elsewhere/file summary", false),
        ("rm summary; echo x > summary", false),
        ("rm summary; ln elsewhere/file summary", false),
        ("rm summary", false),
        ("rm summary; mkfifo summary", false),
        ("true", true),
        ("echo of the work >> summary", true),
    ] {
        let workspace = Mission::new()
            .worker(format!("{script}; echo done > out"))
            .task("work", |t| t.files(["out"]).unreviewed())
            .workspace();
        workspace.write("elsewhere/file", "precious");
        workspace.write("summary", "of another step\n");
        let summary = workspace.path("summary").to_string_lossy().into_owned();
        let finished = workspace.quorum_with(&[("GITHUB_STEP_SUMMARY", &summary)], RUN_AS_R1);
        let finished = finished.exits(if is_written { 0 } else { 1 });
        assert_eq!(workspace.read("elsewhere/file"), "precious", "{script}");
        if is_written {
            let text = workspace.read("summary");
            assert!(text.starts_with("of another step\n") && text.contains("## "), "{script}: {text}");
        } else {
            finished.says(&["summary cannot be written"]);
        }
    }
}
