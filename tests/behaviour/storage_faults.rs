//! Disks that fail while a run works, and files that changed afterwards: never guessed away, never a success.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use serde_json::Value;

use crate::support::events::is;
use crate::support::journal;
use crate::support::refused_calls::Refused;
use crate::support::scenes::begun_runs::interrupted;
use crate::support::scenes::small_disks::with_a_small_disk;
use crate::support::{Finished, Mission, Running, Says, Workspace, refused, standing, task, wait_for_file};

const TASKS: usize = 6;

/// Six tasks in a row that log themselves, each with a check.
fn chain() -> Workspace {
    let mut tasks = String::new();
    for n in 0..TASKS {
        let needs = n.checked_sub(1).map_or(String::new(), |before| format!("t{before}"));
        tasks.push_str(&format!(
            "  - {{title: t{n}, dependsOn: [{needs}], expectations: [{{type: script, command: 'true'}}]}}\n"
        ));
    }
    Workspace::with(&format!(
        "name: chain\nagents: {{worker: {{run: [/bin/sh, '@agents/logger.sh', log], input: none}}}}\ntasks:\n{tasks}"
    ))
}

/// What a run that a disk has stopped must look like: an error with its place, the final block with what was durable, and
/// a journal that tells the same and can be resumed without doing anything twice that was on record.
fn assert_stopped_with_what_was_durable(workspace: &Workspace, finished: &Finished, what: &str) {
    assert_eq!(finished.code(), Some(1), "{what}: {}", finished.stderr);
    assert!(finished.stderr.contains("error: cannot write"), "{what}: {}", finished.stderr);
    assert!(finished.stderr.contains("quorum resume"), "{what}: {}", finished.stderr);
    assert!(finished.stdout.contains("exit 1 (internal)"), "{what}: {}", finished.stdout);
    let status = workspace.status();
    assert_eq!((&status["state"], &status["outcome"]), (&"crashed".into(), &Value::Null), "{what}");
    let done = format!("tasks: {} of {TASKS} done", status["counts"]["done"]);
    assert!(finished.stdout.contains(&done), "{what}: not '{done}' in {}", finished.stdout);
    let on_record = finished_turns(workspace);
    workspace.resume_json(0, &[]);
    let log = workspace.lines("log");
    for turn in on_record {
        assert_eq!(log.iter().filter(|line| **line == turn).count(), 1, "{what}: {turn} was done again");
    }
}

/// As `logger.sh` writes them.
fn finished_turns(workspace: &Workspace) -> Vec<String> {
    let events = workspace.events().into_iter();
    let ended = events.filter(|event| is(event, "work:ended turn !lost"));
    ended
        .map(|event| {
            let title = event["title"].as_str().expect("a title").to_owned();
            format!("{title} {} {}", event["attempt"], event["turn"])
        })
        .collect()
}

#[test]
fn false_green_25_a_limit_on_files_stops_a_run_anywhere_with_what_was_durable() {
    let calm = chain();
    calm.run_json(0, &[]);
    let records = fs::read_to_string(calm.journal()).expect("the journal is text");
    let (first, whole) = (records.find('\n').expect("there is a record") + 1, records.len());
    // Whatever the limit is, it never ends the process without a word. Where even the first record finds no room there is no
    // run yet.
    let workspace = chain();
    let finished = limited(&workspace, first - 1, &[]);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stderr.contains("error: cannot write"), "{}", finished.stderr);
    assert_eq!(workspace.lines("log"), [""; 0], "an agent was started");
    let mut stopped = 0;
    for limit in (first..whole).step_by(1024).chain([whole]) {
        let workspace = chain();
        let finished = limited(&workspace, limit, &["--progress", "none"]);
        if finished.code() == Some(0) {
            assert_eq!(workspace.status()["counts"]["done"], TASKS);
            continue;
        }
        stopped += 1;
        assert_stopped_with_what_was_durable(&workspace, &finished, &format!("{limit} bytes"));
    }
    assert!(stopped >= 2, "the journal has {whole} bytes, and only {stopped} limits stopped it");
}

/// A run in which no file may become longer than so many bytes.
fn limited(workspace: &Workspace, bytes: usize, flags: &[&str]) -> Finished {
    let mut command = workspace.command(&[&["run", "mission.yaml"], flags].concat());
    let most = Some(bytes as u64);
    let limit = Rlimit { current: most, maximum: most };
    // SAFETY: one system call.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Fsize, limit)?)) };
    Running::start(command).finish()
}

#[test]
fn false_green_25_one_document_tells_of_a_run_that_a_disk_stopped() {
    let workspace = chain();
    let finished = workspace.bash(
        "(ulimit -f 2; exec \"$0\" run mission.yaml --progress none --json) | cat; exit ${PIPESTATUS[0]}",
    );
    let document = finished.exits(1).json();
    assert_eq!(document["schema"], "quorum.error/v1");
    assert_eq!((&document["outcome"], &document["exitCode"]), (&"internal".into(), &1.into()));
    assert_eq!(document["run"]["state"], "crashed");
    assert_eq!(document["run"]["counts"], workspace.status()["counts"]);
}

#[test]
fn false_green_25_a_full_disk_stops_a_run_with_what_was_durable() {
    // Agents that print nothing: what stops is the run, not its agents.
    // Nor is there a record of tests before each turn, which would fill it.
    let workspace = chain()
        .tap_mission("name: chain\n", "name: chain\ntests: []\n")
        .tap_mission("[/bin/sh, '", "[/bin/sh, -c, 'exec /bin/sh \"$0\" log > /dev/null', '")
        .tap_mission("logger.sh', log]", "logger.sh']");
    if let Some(finished) = on_a_full_disk(&workspace) {
        assert!(finished.stderr.contains("No space left"), "{}", finished.stderr);
        assert_stopped_with_what_was_durable(&workspace, &finished, "a full disk");
    }
}

#[test]
fn false_green_25_what_a_full_disk_does_to_the_words_of_agents_is_no_pass() {
    let workspace = chain();
    if let Some(finished) = on_a_full_disk(&workspace) {
        assert!(matches!(finished.code(), Some(1 | 3)), "{finished:?}");
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(said.contains("No space left"), "{said}");
        let done = workspace.status()["counts"]["done"].as_u64();
        assert!(done.is_some_and(|done| done < TASKS as u64), "{done:?}");
    }
}

/// A run whose state lies on a file system of its own, of eight pages, which is nearly full; the agents write elsewhere.
/// `None`, which is told, where nothing can be mounted.
fn on_a_full_disk(workspace: &Workspace) -> Option<Finished> {
    let script = "head -c 12k /dev/zero > small/ballast
        \"$0\" run mission.yaml --progress none --state-dir small/.polpo; code=$?
        rm small/ballast; cp -r small/.polpo .polpo; exit $code";
    with_a_small_disk(workspace, 32, &[script])
}

/// Lets every `fdatasync` of a command and of its children fail with EIO, as a dying disk does.
fn without_fdatasync(command: Command) -> Command {
    refused(command, &[Refused { call: libc::SYS_fdatasync, with: None, error: libc::EIO }])
}

#[test]
fn false_green_25_a_sync_that_fails_is_not_tried_again_and_nothing_hangs_on_it() {
    // The first record already: no agent may start.
    let workspace = chain();
    let command = without_fdatasync(workspace.command(&["run", "mission.yaml"]));
    let finished = Running::start(command).finish().exits(1);
    finished.says(&[journal::JOURNAL, "error 5", "durable"]);
    assert_eq!(workspace.lines("log"), [""; 0]);
    assert_eq!(fs::metadata(workspace.journal()).expect("it is there").len(), 0, "bytes nobody vouches for");

    // Later: the session tells of what the one before it made durable, and of nothing else.
    let workspace = interrupted();
    let before = fs::read(workspace.journal()).expect("it is there");
    let command = without_fdatasync(workspace.command(&["resume"]));
    let finished = Running::start(command).finish().exits(1);
    assert!(finished.stdout.contains("tasks: 1 of 2 done"), "{}", finished.stdout);
    finished.says(&[journal::JOURNAL, "error 5", "quorum resume r1"]);
    assert_eq!(fs::read(workspace.journal()).expect("it is there"), before);
    workspace.resume_json(0, &[]);
    assert_eq!(workspace.lines("log"), ["quick 1 1"]);
}

#[test]
fn false_green_25_an_output_that_a_full_disk_did_not_take_is_no_success() {
    let workspace = interrupted();
    for command in
        ["status", "status --json", "events", "resume", "logs quick", "doctor", "validate mission.yaml"]
    {
        let finished = workspace.bash(&format!("\"$0\" {command} > /dev/full")).exits(1);
        finished.says(&["output cannot be written", "No space left"]);
    }
    // A reader who has gone is another matter.
    workspace.bash("\"$0\" status | true; exit ${PIPESTATUS[0]}").exits(0);
}

#[test]
fn false_green_25_a_permission_that_is_lost_in_mid_run_stops_it() {
    for lost in ["chmod a-w .polpo/runs/r1/@spool", "chmod a-w .polpo/runs/r1/@journal .polpo/runs/r1"] {
        let workspace = Mission::new()
            .worker("echo x >> log")
            .agent("locker", format!("{lost}; echo locked > locked"))
            .tasks(["first"])
            .task("lock", |t| t.by("locker").needs("first"))
            .task("last", |t| t.needs("lock"))
            .workspace();
        let finished = workspace.start_unprivileged(&["run", "mission.yaml", "--run-id", "r1"]).finish();
        assert!(workspace.exists("locked"), "{}", finished.stderr);
        let status = workspace.status();
        if lost.contains("journal") {
            // What is open stays open: the run ends as it should. The next one is told.
            let finished = finished.exits(0);
            assert!(finished.stdout.contains("tasks: 3 of 3 done"), "{}", finished.stdout);
            let redo = ["resume", "r1", "--redo", "last"];
            let finished = workspace.start_unprivileged(&redo).finish();
            finished.exits(1).says(&[journal::JOURNAL, "ermission denied"]);
        } else {
            let ended = finished.exits(1);
            ended.says(&[&format!("/{}/", journal::WORK), "ermission denied", "quorum resume r1"]);
            assert_eq!(status["state"], "crashed");
            assert_eq!(standing(&status, "first").0, "done");
            assert_ne!(standing(&status, "last").0, "done");
        }
        let mut unlock = Command::new("chmod");
        assert!(
            unlock.args(["-R", "u+w"]).arg(workspace.root()).status().expect("there is a chmod").success()
        );
    }
}

#[test]
fn a_flipped_bit_anywhere_in_the_journal_is_named_and_never_believed() {
    let workspace = interrupted();
    let path = workspace.journal();
    let good = fs::read(&path).expect("it is there");
    // Every byte is what `store` tests; a step that hits every column of the lines in time is enough here.
    let bytes = (0..good.len()).step_by(17).chain(good.len() - 3..good.len());
    for byte in bytes {
        let mut bad = good.clone();
        bad[byte] ^= 1 << (byte % 7);
        fs::write(&path, &bad).expect("it can be written");
        let line = good[..byte].iter().filter(|byte| **byte == b'\n').count() + 1;
        let finished = workspace.quorum(&["status", "--json"]);
        assert_eq!(finished.code(), Some(1), "byte {byte}: {}", finished.stdout);
        assert!(
            finished.stderr.contains(&format!("{} is damaged at line {line}, byte ", journal::JOURNAL))
                && finished.stderr.contains("doctor state --keep-good-prefix r1"),
            "byte {byte}: {}",
            finished.stderr
        );
    }
}

#[test]
fn a_flipped_bit_anywhere_in_the_snapshot_is_never_believed() {
    let workspace = interrupted();
    let path = workspace.run_folder().join(journal::SNAPSHOT);
    let good = fs::read(&path).expect("it is there");
    for byte in (0..good.len()).step_by(5) {
        let mut bad = good.clone();
        bad[byte] ^= 1 << (byte % 7);
        fs::write(&path, &bad).expect("it can be written");
        // Were it believed, an unfinished title might be another one, and the same work would begin twice.
        workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["r1", "slow"]);
    }
    workspace.quorum(&["doctor", "state", "r1"]).exits(1);
    fs::remove_file(&path).expect("it is there");
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["r1", "slow"]);
    fs::write(&path, &good).expect("it can be written");
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["r1", "slow"]);
    workspace.resume_json(0, &[]);
}

#[test]
fn a_flipped_bit_in_the_frozen_mission_is_refused_wherever_it_is() {
    let workspace = interrupted();
    let path = workspace.run_folder().join("mission.yaml");
    let good = fs::read(&path).expect("it is there");
    for byte in (0..good.len()).step_by(29) {
        let mut bad = good.clone();
        bad[byte] ^= 1;
        fs::write(&path, &bad).expect("it can be written");
        for command in [&["status"][..], &["resume"]] {
            let finished = workspace.quorum(command);
            assert_ne!(finished.code(), Some(0), "byte {byte}");
            finished.says(&["mission.yaml", "changed"]);
        }
    }
}

/// A run that was interrupted while its work was being judged.
fn interrupted_in_judgement(result: bool) -> Workspace {
    let said = if result {
        r#"echo "{\"output\": \"the true words\"}" > "$QUORUM_RESULT""#
    } else {
        "echo the true words"
    };
    let workspace = Mission::new()
        .worker(format!("{said}; echo x >> log"))
        .reviewer(
            "judge",
            "echo > asked; while [ ! -e go ]; do sleep 0.02; done; cat >> seen; echo SCORE: 90",
        )
        .tasks(["work"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1"]);
    wait_for_file(&workspace.path("asked"));
    running.signal(Signal::INT);
    running.finish().exits(130);
    workspace.write("go", "");
    workspace
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("it can be written");
}

#[test]
fn lost_evidence_is_neither_a_pass_nor_a_low_score() {
    for gone in [false, true] {
        let workspace = interrupted_in_judgement(false);
        let output = workspace.run_folder().join(journal::turn_file(0, 1, 1, "out"));
        if gone {
            fs::remove_file(&output).expect("it is there");
        } else {
            flip(&output);
        }
        let document = workspace.resume_json(6, &[]);
        let row = task(&document, "work");
        assert_eq!(row["status"], "awaiting_approval", "{row:#}");
        assert_eq!((&row["points"], &row["waiting"]["reason"]), (&Value::Null, &"refer".into()));
        let ended = workspace.quorum(&["show", "work", "--full"]).exits(0).stdout;
        ended.says(&["output is lost", &format!("{}.out", journal::turn(0, 1, 1))]);
        assert!(!workspace.exists("seen"), "the judge was shown what is left");
        assert_eq!(workspace.lines("log"), ["x"], "it burned rework");
        let named = workspace.quorum(&["doctor", "state", "--json"]).exits(1).json();
        assert!(named.to_string().contains(&format!("{}.out", journal::turn(0, 1, 1))), "{named:#}");
    }
}

#[test]
fn a_replied_seat_counts_as_recorded_whatever_becomes_of_its_file() {
    let workspace = interrupted_in_judgement(false);
    workspace.resume_json(0, &[]);
    let spool = fs::read_dir(workspace.run_folder().join(journal::WORK)).expect("it is there");
    let mut names = spool.map(|entry| entry.expect("it can be read").path());
    let reply = names.find(|path| path.extension().is_some_and(|kind| kind == "reply"));
    flip(&reply.expect("there is a reply"));
    let row = workspace.status();
    assert_eq!(task(&row, "work")["points"], 90.0);
    workspace.quorum(&["doctor", "state"]).exits(1);
}

#[test]
fn a_damaged_record_of_exits_is_named_and_nothing_is_taken_from_it() {
    let workspace = interrupted();
    flip(&workspace.run_folder().join(journal::EXITS));
    workspace.quorum(&["doctor", "state"]).exits(1).shows(&[&format!("{}: 1 line(s)", journal::EXITS)]);
    workspace.resume_json(0, &[]);
    assert_eq!(workspace.lines("log"), ["quick 1 1"]);
}
