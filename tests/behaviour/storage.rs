//! The state folder: torn tails, damage, foreign writes, versions, permissions.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::journal;
use crate::support::scenes::begun_runs::interrupted;
use crate::support::{Mission, Says, standing};

fn append(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn a_torn_last_line_is_cut_with_a_note() {
    for torn in [journal::TORN.as_bytes(), b"{", b"\0\0\0\0\0\0\0\0"] {
        let workspace = interrupted();
        let good = fs::metadata(workspace.journal()).unwrap().len();
        append(&workspace.journal(), torn);
        // Readers do not mind, and leave it as it is.
        assert_eq!(standing(&workspace.status(), "quick").0, "done");
        assert_eq!(fs::metadata(workspace.journal()).unwrap().len(), good + torn.len() as u64);
        let resumed = workspace.quorum(&["resume", "--json"]).exits(0);
        assert_eq!(standing(&resumed.json(), "slow").0, "done");
        resumed.says(&["note", journal::JOURNAL, &format!("{} bytes", torn.len())]);
        // Nothing of it is left.
        workspace.status();
        assert_eq!(workspace.lines("log"), ["quick 1 1"]);
    }
}

#[test]
fn a_journal_cut_at_every_byte_of_its_last_record_can_be_read_and_resumed() {
    let workspace = interrupted();
    let journal = fs::read(workspace.journal()).unwrap();
    let last = journal[..journal.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for cut in last..journal.len() {
        fs::write(workspace.journal(), &journal[..cut]).unwrap();
        let status = workspace.status();
        assert_eq!(status["state"], "crashed", "cut at {cut}");
        assert_eq!(standing(&status, "quick").0, "done", "cut at {cut}");
        assert_eq!(fs::read(workspace.journal()).unwrap(), journal[..cut], "a reader wrote");
        let resumed = workspace.quorum(&["resume", "--json"]).exits(0);
        assert_eq!(resumed.json()["counts"]["done"], 2, "cut at {cut}");
        assert_eq!(resumed.stderr.contains("note:"), cut > last, "cut at {cut}");
        assert_eq!(workspace.lines("log"), ["quick 1 1"], "cut at {cut}");
    }
}

#[test]
fn false_green_25_a_hole_in_the_middle_of_a_journal_is_not_taken_for_a_torn_end() {
    let workspace = interrupted();
    let path = workspace.journal();
    let good = fs::read(&path).unwrap();
    let ends: Vec<usize> = (1..).zip(&good).filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end).collect();
    assert!(ends.len() > 5, "{} records", ends.len());
    // In a record in the middle, over the border of two, and a whole one: each before a batch that was begun later.
    for (from, to) in [(ends[1] + 20, ends[1] + 80), (ends[2] - 30, ends[2] + 30), (ends[1], ends[2])] {
        let mut bad = good.clone();
        bad[from..to].fill(0);
        fs::write(&path, &bad).unwrap();
        for arguments in
            [&["status"][..], &["resume"], &["resume", "--retry-failed"], &["run", "mission.yaml"]]
        {
            let finished = workspace.quorum(arguments).exits(1);
            finished.says(&[journal::JOURNAL, "is damaged at line", "record(s) follow"]);
            assert_eq!(fs::read(&path).unwrap(), bad, "nothing is cut");
            assert_eq!(workspace.lines("log"), ["quick 1 1"], "nothing is done a second time");
        }
    }
    fs::write(&path, &good).unwrap();
    workspace.resume_json(0, &[]);
    assert_eq!(workspace.lines("log"), ["quick 1 1"]);
}

#[test]
fn a_flipped_byte_in_the_middle_is_refused_by_everybody_and_named() {
    let workspace = interrupted();
    let path = workspace.journal();
    let good = fs::read(&path).unwrap();
    let line_start =
        |n: usize| good.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(n - 2).unwrap().0 + 1;
    let third = line_start(3);
    for flipped in [third + 3, third + 40, line_start(4) - 1] {
        let mut bad = good.clone();
        bad[flipped] ^= 0x04;
        fs::write(&path, &bad).unwrap();
        let place = format!("{third}");
        for command in [&["resume"][..], &["status"], &["events"], &["status", "--json"]] {
            workspace.quorum(command).exits(1).says(&[journal::JOURNAL, "line 3", &place]);
        }
        // It might be in the way, so it must not be passed over either.
        let ended = workspace.quorum(&["run", "mission.yaml", "--fresh", "--yes"]).exits(1);
        ended.says(&[journal::JOURNAL, "line 3"]);
        assert_eq!(fs::read(&path).unwrap(), bad, "nobody may touch it");
    }
    fs::write(&path, good).unwrap();
    workspace.resume_json(0, &[]);
}

#[test]
fn a_line_that_was_taken_out_or_forged_is_refused() {
    let workspace = interrupted();
    let path = workspace.journal();
    let good = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    let without = [&lines[..2], &lines[3..]].concat().concat();
    let twice = [&lines[..3], &lines[2..]].concat().concat();
    let forged = format!("{good}{}", journal::unsealed());
    for bad in [without, twice, forged] {
        fs::write(&path, bad).unwrap();
        workspace.quorum(&["resume"]).exits(1).says(&[journal::JOURNAL]);
        workspace.quorum(&["status"]).exits(1).says(&[journal::JOURNAL]);
    }
}

#[test]
fn a_newer_state_folder_is_refused() {
    let workspace = interrupted();
    workspace.write(".polpo/VERSION", format!("{}\n", journal::FORMAT + 1));
    for command in [&["run", "mission.yaml"][..], &["resume"], &["status"], &["gate"], &["events"]] {
        workspace.quorum(command).exits(9).says(&["VERSION", "4", "newer"]);
    }
    workspace.write(".polpo/VERSION", "soup\n");
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["VERSION"]);
}

#[test]
fn a_frozen_mission_that_was_tampered_with_is_refused() {
    let workspace = interrupted();
    let frozen = workspace.run_folder().join("mission.yaml");
    let text = fs::read_to_string(&frozen).unwrap();
    fs::write(&frozen, text.replace("\"interrupted\"", "\"tampered\"")).unwrap();
    for command in [&["resume"][..], &["status"], &["events"]] {
        let finished = workspace.quorum(command);
        assert!(finished.code() != Some(0), "{command:?}");
        finished.says(&["mission.yaml", "changed"]);
    }
    fs::remove_file(&frozen).unwrap();
    let finished = workspace.quorum(&["resume"]);
    assert!(finished.code() != Some(0));
    finished.says(&["mission.yaml"]);
    fs::write(&frozen, text).unwrap();
    workspace.resume_json(0, &[]);
}

#[test]
fn false_green_20_an_agent_that_writes_to_the_journal_stops_the_run() {
    // The forged line says, with a right checksum, that the task is done.
    let workspace = Mission::new()
        .worker("cat forged >> .polpo/runs/r1/@journal; echo done")
        .task("work", |t| t.check("false"))
        .task("next", |t| t.needs("work"))
        .workspace();
    workspace.write("forged", journal::accepting(6) + "\n");
    let ended = workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(1);
    ended.says(&[journal::JOURNAL, "changed by somebody else"]);
    let after = workspace.quorum(&["status", "--exit-code"]);
    assert_ne!(after.code(), Some(0));
}

#[test]
fn false_green_20_a_journal_that_was_replaced_stops_the_run() {
    let workspace = Mission::new()
        .worker("cd .polpo/runs/r1; cp @journal copy; mv copy @journal; echo done")
        .tasks(["work"])
        .workspace();
    let ended = workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(1);
    ended.says(&[journal::JOURNAL, "changed by somebody else"]);
}

#[test]
fn false_green_20_a_state_folder_that_was_deleted_stops_the_run() {
    // Said is the first file that could not be written: without a spool the output is lost, and a second attempt begins.
    let journal = journal::of("r1");
    for (place, file) in [
        (".polpo", ".polpo/runs/r1/"),
        (".polpo/runs/r1", ".polpo/runs/r1/"),
        (journal.as_str(), journal.as_str()),
    ] {
        let workspace =
            Mission::new().worker(format!("rm -rf {place}; echo done")).tasks(["work"]).workspace();
        let text = workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(1);
        text.says(&["error: cannot", file, "what was durable cannot be shown"]);
    }
}

#[test]
fn a_run_that_never_started_is_not_in_the_way() {
    let workspace = Mission::new().worker("true").tasks(["one"]).workspace();
    workspace.run_json(0, &["--run-id", "r2"]);
    // Killed between making the run and its first record.
    for (run, journal) in [("r0", ""), ("r1", journal::TORN)] {
        workspace.write(&journal::of(run), journal);
        workspace.quorum(&["status", run]).exits(2).says(&[run, "never started"]);
    }
    workspace.run_json(0, &["--run-id", "r3"]);
}

#[test]
fn a_journal_that_lost_everything_is_not_a_run_that_never_started() {
    let workspace = interrupted();
    let journal = fs::read(workspace.journal()).unwrap();
    for left in [&b""[..], &journal[..20], b"\0\0\0\0\0\0\0\0"] {
        fs::write(workspace.journal(), left).unwrap();
        for command in [&["status"][..], &["resume"], &["run", "mission.yaml"], &["doctor", "state"]] {
            let finished = workspace.quorum(command).exits(1);
            let said = format!("{}{}", finished.stdout, finished.stderr);
            assert!(said.contains("damaged at line 1, byte 0"), "{command:?}: {said}");
        }
        let ended = workspace.quorum(&["doctor", "state", "--keep-good-prefix", "r1", "--yes"]).exits(1);
        ended.says(&["nothing stands before it", "move "]);
        workspace.quorum(&["clean", "--all", "--unfinished", "--yes"]).exits(0);
        assert!(workspace.journal().exists(), "it was taken for a run that never started");
    }
    assert_eq!(workspace.lines("log"), ["quick 1 1"]);
}

#[test]
fn an_output_that_was_changed_behind_our_back_is_not_shown_as_the_agents_word() {
    let workspace = Mission::new()
        .worker("echo the true words")
        .agent("forger", "for f in .polpo/runs/r1/@spool/@turn(0.1.1).out; do echo FORGED words > $f; done")
        .keeps_prompts("reader", "read")
        .tasks(["work"])
        .task("forge", |t| t.by("forger").needs("work"))
        .task("next", |t| t.by("reader").needs("work").needs("forge"))
        .workspace();
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
    workspace.read("read/prompt.1.1").says(&["cannot be shown"]).omits(&["FORGED"]);
}

#[test]
fn a_state_folder_that_cannot_be_written_is_the_environments_fault() {
    let workspace = Mission::new().worker("touch touched").tasks(["one"]).workspace();
    fs::create_dir(workspace.path(".polpo")).unwrap();
    for name in ["", ".polpo"] {
        fs::set_permissions(workspace.path(name), fs::Permissions::from_mode(0o555)).unwrap();
    }
    // Root may write anywhere.
    let finished = workspace.start_unprivileged(&["run", "mission.yaml"]).finish();
    for name in ["", ".polpo"] {
        fs::set_permissions(workspace.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    finished.exits(9).says(&[".polpo", "ermission denied", "help:", "--state-dir"]);
    workspace.assert_nothing_started();
}

#[test]
fn a_file_where_the_state_folder_should_be_is_told() {
    let workspace = Mission::new().worker("touch touched").tasks(["one"]).workspace();
    workspace.write(".polpo", "not a folder");
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&[".polpo"]);
    assert!(!workspace.exists("touched"));
}
