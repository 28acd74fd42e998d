//! A supervisor that is killed or stopped, and who may speak for a person then. Attacks run as an unprivileged user, and
//! touch nothing but the processes of their own run.

use rustix::process::Signal;

use crate::support::events::is;
use crate::support::journal;
use crate::support::scenes::burglars::{ORPHAN, burgled, orphaned};
use crate::support::{
    Finished, Mission, RUN_AS_R1, Says, Workspace, is_alive, read_pid, standing, wait_for, wait_for_file,
};

/// What a person says, who is the user of the run.
pub fn say(workspace: &Workspace, arguments: &[&str]) -> Finished {
    workspace.start_unprivileged(arguments).finish()
}

#[test]
fn nobody_approves_a_run_whose_supervisor_was_killed_until_it_is_resumed() {
    let workspace = orphaned();
    let orphan = read_pid(&workspace.path("late.pid"));
    let words: [&[&str]; 2] = [&["approve", "r1.0.1"], &["reject", "r1.0.1", "--reason", "no"]];
    for word in words {
        say(&workspace, word).exits(9).says(&["was killed", "quorum resume r1"]);
    }
    let resolved = |event: &serde_json::Value| event["event"] == "approval:resolved";
    assert!(!workspace.events().iter().any(resolved));
    assert!(is_alive(orphan));
    say(&workspace, &["resume", "r1"]).exits(8);
    wait_for("the end of what was left", || !is_alive(orphan));
    say(&workspace, &["approve", "r1.0.1"]).exits(0);
    let document = workspace.status();
    assert_eq!(standing(&document, "work"), ("done", "clean"));
}

#[test]
fn a_supervisor_that_is_killed_is_on_record_and_ends_the_session_as_internal() {
    let workspace = burgled(&format!("{ORPHAN}\nkill -9 $K; sleep 60"));
    workspace.start_unprivileged(RUN_AS_R1).finish().exits(1).says(&["ended unexpectedly"]);
    let foreign = |event: &serde_json::Value| event["event"] == "state:foreign";
    assert!(workspace.events().iter().any(foreign));
    // It carried no marker and was nobody's child any more; it was found all the same.
    assert!(!is_alive(read_pid(&workspace.path("late.pid"))));
    say(&workspace, &["approve", "r1.0.1"]).exits(9);
}

#[test]
fn an_orderly_end_leaves_people_their_word() {
    let workspace = burgled("true");
    say(&workspace, RUN_AS_R1).exits(8);
    workspace.read(&journal::exits_of("r1")).says(&["farewell"]);
    say(&workspace, &["approve", "r1.0.1"]).exits(0);
}

#[test]
fn a_good_bye_that_somebody_else_writes_is_none() {
    let workspace = orphaned();
    let sealed = journal::farewell(&workspace.path(&journal::of("r1")));
    let log = workspace.read(&journal::exits_of("r1"));
    workspace.write(&journal::exits_of("r1"), format!("{log}{sealed}\n"));
    say(&workspace, &["approve", "r1.0.1"]).exits(9);
}

#[test]
fn an_agent_cannot_resume_its_own_run() {
    let workspace = burgled(
        "kill -9 $R
        while test -e /proc/$R; do sleep 0.02; done
        env -i HOME=\"$HOME\" @quorum resume r1 2> said; echo $? > code
        setsid -w env -i HOME=\"$HOME\" @quorum resume r1 2>> said; echo $? >> code
        unshare -Urpf --mount-proc env -i HOME=\"$HOME\" @quorum resume r1 2>> said; echo $? >> code
        echo done > tried; sleep 60",
    );
    workspace.start_unprivileged(RUN_AS_R1).finish();
    wait_for_file(&workspace.path("tried"));
    let codes = workspace.lines("code");
    assert_eq!(codes[..2], ["9", "9"], "{}", workspace.read("said"));
    assert_ne!(codes[2], "0", "{}", workspace.read("said"));
    assert!(workspace.read("said").contains("cannot be resumed by what it has started"));
    say(&workspace, &["cancel", "r1", "--yes"]).exits(0);
}

#[test]
fn no_agent_reads_the_environment_of_session_or_supervisor() {
    let script = "cat /proc/$K/environ > supervisor.env; cat /proc/$R/environ > session.env; tr '\\0' '\\n' < /proc/$R/environ > lines; true";
    for unprivileged in [true, false] {
        let workspace = burgled(script);
        if unprivileged {
            workspace
                .start_unprivileged_with(&[("QUORUM_OPERATOR_KEY", "the-users-key")], RUN_AS_R1)
                .finish()
                .exits(8);
        } else {
            workspace.quorum_with(&[("QUORUM_OPERATOR_KEY", "the-users-key")], RUN_AS_R1).exits(8);
        }
        for name in ["supervisor.env", "session.env"] {
            assert!(workspace.exists(name), "it was not tried");
            assert!(!workspace.read(name).contains("the-users-key"), "{name}");
        }
    }
}

#[test]
fn an_agent_of_a_user_without_rights_is_taken_over_though_its_supervisor_hides() {
    let workspace = Mission::new()
        .worker("echo $$ > pid; while ! test -e go; do sleep 0.02; done")
        .task("work", |t| t.unreviewed())
        .workspace();
    let running = workspace.start_unprivileged(&["run", "mission.yaml"]);
    let agent = read_pid(&workspace.path("pid"));
    wait_for("the process on record", || {
        let spawned = |event: &serde_json::Value| event["event"] == "agent:spawned";
        workspace.events().iter().any(spawned)
    });
    // As root the child of the test is not `setpriv` any more, but the binary itself.
    running.kill();
    assert!(is_alive(agent));
    let resumed = workspace.start_unprivileged(&["resume", "--json"]);
    wait_for("the adoption", || {
        let adopted = |event: &serde_json::Value| is(event, "work:progressed turn adopted");
        workspace.events().iter().any(adopted)
    });
    assert!(is_alive(agent));
    workspace.write("go", "");
    resumed.finish().exits(0);
}

#[test]
fn a_second_interrupt_ends_a_session_whose_supervisor_is_stopped() {
    let workspace = burgled("echo $$ > pid; kill -STOP $K; echo stopped > stopped; sleep 60");
    let running = workspace.start_unprivileged(RUN_AS_R1);
    wait_for_file(&workspace.path("stopped"));
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    running.finish().exits(1);
    assert!(!is_alive(read_pid(&workspace.path("pid"))), "the agent works on unseen");
}
