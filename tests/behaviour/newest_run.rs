//! Which run is meant: the one that began last, or the one that is named in full or in part.

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::{Finished, Mission, Running, Workspace};

fn plain() -> Mission {
    Mission::new()
        .key(
            "qualityGates",
            json!([
                {"name": "door", "afterTasks": ["work"], "blocksTasks": ["ship"], "requireAllPassed": true}
            ]),
        )
        .worker("cat result 2>/dev/null; test ! -e broken")
        .setting("maxRetries", 0)
        .tasks(["work", "ship"])
}

/// Three runs, begun in this order.
fn runs(ids: [&str; 3]) -> Workspace {
    let workspace = plain().workspace();
    for id in ids {
        workspace.quorum(&["run", "mission.yaml", "-q", "--run-id", id]).exits(0);
    }
    workspace
}

fn run_id(finished: &Finished) -> String {
    finished.json()["runId"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn runs_are_listed_as_they_began_whatever_they_are_called() {
    let workspace = runs(["zeta", "build-9", "build-10"]);
    let listed = workspace.quorum(&["runs", "--json"]).exits(0).json();
    let ids: Vec<&str> =
        listed["runs"].as_array().expect("a list").iter().filter_map(|run| run["runId"].as_str()).collect();
    assert_eq!(ids, ["zeta", "build-9", "build-10"]);
    let last = workspace.quorum(&["runs", "-n", "1", "--json"]).exits(0).json();
    assert_eq!(last["runs"][0]["runId"], "build-10");
}

#[test]
fn a_run_is_named_in_full_by_a_part_that_only_it_has_or_as_the_latest() {
    let workspace = runs(["alpha-1", "alpha-2", "beta-12"]);
    let forms = [
        ("alpha-1", "alpha-1"),
        ("alpha-2", "alpha-2"),
        ("be", "beta-12"),
        ("12", "beta-12"),
        ("a-1", "alpha-1"),
        ("latest", "beta-12"),
    ];
    for (form, id) in forms {
        let status = workspace.quorum(&["status", form, "--json"]).exits(0);
        assert_eq!(run_id(&status), id, "{form}");
        let gate = workspace.quorum(&["gate", "--run", form, "--json"]).exits(0);
        assert_eq!(run_id(&gate), id, "{form}");
    }
    for commands in [
        &["show", "work", "--run", "12"][..],
        &["logs", "work", "--run", "12"],
        &["events", "12"],
        &["metrics", "12"],
        &["approvals", "12"],
        &["requests", "12"],
        &["resume", "12"],
        &["doctor", "state", "12"],
        &["review", "--replay", "12"],
    ] {
        workspace.quorum(commands).exits(0);
    }
}

#[test]
fn a_part_that_several_runs_have_is_refused_with_their_names() {
    let workspace = runs(["alpha-1", "alpha-2", "beta-12"]);
    for (form, candidates) in [("alpha", ["alpha-1", "alpha-2"]), ("2", ["alpha-2", "beta-12"])] {
        workspace.quorum(&["status", form]).exits(2).says(&candidates);
    }
    workspace.quorum(&["status", "gamma"]).exits(2).says(&["gamma"]);
}

#[test]
fn no_run_can_be_called_latest() {
    let workspace = plain().workspace();
    workspace.quorum(&["run", "mission.yaml", "--run-id", "latest"]).exits(2).says(&["latest"]);
    workspace.assert_nothing_started();
}

#[test]
fn a_run_begins_behind_every_run_of_the_folder_whatever_the_clocks_said() {
    let workspace = plain().workspace();
    // Without a home there is no key, so the record can be written anew by anybody.
    let quorum = |arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        command.env_remove("HOME");
        Running::start(command).finish()
    };
    quorum(&["run", "mission.yaml", "-q", "--run-id", "early"]).exits(0);
    let journal = workspace.journal();
    let future = 4_000_000_000_000_u64;
    journal::backdate(&journal, future);
    quorum(&["run", "mission.yaml", "-q", "--run-id", "a-later-one"]).exits(0);
    let status = quorum(&["status", "--json"]).exits(0);
    assert_eq!(run_id(&status), "a-later-one");
    let later = journal::records(&workspace.path(&journal::of("a-later-one")));
    assert_eq!(*journal::at(&later[0]), future + 1);
    status.says(&["origin not verified"]);
}

#[test]
fn a_newest_run_whose_beginning_is_damaged_is_not_passed_over_for_an_older_one() {
    let workspace = runs(["one", "two", "three"]);
    let journal = workspace.path(&journal::of("three"));
    journal::damage(&journal);
    let status = workspace.quorum(&["status", "--exit-code"]);
    assert_eq!(status.code(), Some(1), "{}", status.stderr);
    workspace.quorum(&["gate"]).exits(1);
    workspace.quorum(&["gate", "--run", "two"]).exits(0);
}

#[test]
fn limits_of_a_session_end_with_it() {
    let workspace = Mission::new()
        .worker("while [ ! -e go ]; do sleep 0.02; done")
        .tasks(["one", "two", "three"])
        .workspace();
    workspace
        .quorum(&["run", "mission.yaml", "--timeout", "300ms", "-j", "1", "--wait-approvals", "1h"])
        .exits(7);
    workspace.write("go", "");
    // With a limit it is said.
    let limited = workspace.quorum(&["resume", "--timeout", "4m", "-j", "2"]).exits(0);
    let resumed = limited.stderr.lines().find(|line| line.contains("RESUME"));
    let resumed = resumed.expect("the resumption is told");
    assert!(resumed.contains("stops after 4m") && resumed.contains("2 at a time"), "{resumed}");

    let workspace = plain().workspace().tap_mission("test ! -e broken", "test -e go || sleep 1");
    workspace.quorum(&["run", "mission.yaml", "--timeout", "200ms", "-j", "1", "--strict"]).exits(7);
    workspace.write("go", "");
    workspace.quorum(&["resume"]).exits(6);
    let events = workspace.events();
    let resumed = events.iter().find(|event| event["event"] == "run:resumed");
    let options = &resumed.expect("it was resumed")["options"];
    assert_eq!(options["timeout"], Value::Null);
    assert_eq!(options["jobs"], Value::Null);
    assert_eq!(options["strict"], true, "a flag of meaning is frozen");
}

#[test]
fn a_key_that_vouches_for_nothing_is_told_by_whoever_would_use_it() {
    let breaks: [(&str, &str); 3] = [
        ("chmod 644 home/.local/state/quorum/key", "can be read by others"),
        ("echo short > home/.local/state/quorum/key", "is too short"),
        (
            "rm home/.local/state/quorum/key; mkdir -m 700 home/.local/state/quorum/key",
            "it is not a regular file",
        ),
    ];
    for (breaks, why) in breaks {
        let workspace = plain().workspace();
        workspace.quorum(&["run", "mission.yaml", "-q"]).exits(0);
        workspace.bash("test -e home/.local/state/quorum/key").exits(0);
        workspace.bash(breaks).exits(0);
        workspace.quorum(&["status"]).exits(0).says(&["origin not verified", why]);
        let second = workspace.quorum(&["run", "mission.yaml", "--run-id", "second"]).exits(0);
        second.says(&["nobody vouches for this run", why]);
        workspace.quorum(&["status", "second"]).exits(0).says(&["origin not verified", why]);
        let doctor = workspace.quorum(&["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().unwrap();
        let key = checks.iter().find(|check| check["name"] == "operator key").expect("it is looked at");
        assert_eq!(key["status"], "warn", "{key}");
        assert!(key["message"].to_string().contains(why), "{key}");
    }
    // Where there is no place for a key that is said too.
    let workspace = plain().workspace();
    let mut command = workspace.command(&["run", "mission.yaml"]);
    command.env_remove("HOME");
    Running::start(command).finish().exits(0).says(&["nobody vouches for this run", "QUORUM_OPERATOR_KEY"]);
}

#[test]
fn a_snapshot_that_cannot_be_written_is_told() {
    let snapshot = journal::SNAPSHOT;
    let workspace = Mission::new()
        .worker(format!("mkdir -p .polpo/runs/r1/{snapshot}/in-it"))
        .setting("sandbox", "off")
        .tasks(["work"])
        .workspace();
    let ran = workspace.quorum(&["run", "mission.yaml", "-q", "--run-id", "r1"]).exits(0);
    ran.says(&["warning: cannot write", snapshot, "are slower"]);
}
