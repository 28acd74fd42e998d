//! The socket of a live session: what goes over it, who may speak there, and that nobody can disturb a run through it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::journal;
use crate::support::scenes::approvals::{only_approval, parked, slow, waits};
use crate::support::sockets::connect;
use crate::support::somebody_else::{NOBODY, is_root};
use crate::support::{
    BINARY, DEADLINE, Mission, Running, Workspace, makes_namespaces, skipped, standing, task, wait_for,
};

const SOCKET: &str = ".polpo/control.sock";

fn live(workspace: &Workspace) -> Running {
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    waits(workspace);
    running
}

fn knock(workspace: &Workspace) -> UnixStream {
    let peer = connect(&workspace.path(SOCKET)).expect("somebody listens");
    peer.set_read_timeout(Some(DEADLINE)).expect("it is a socket");
    peer
}

/// What the runner answers to these bytes.
fn answer(workspace: &Workspace, bytes: &[u8]) -> Value {
    let mut peer = knock(workspace);
    // Whoever is sent away early need not have said all.
    let _ = peer.write_all(bytes);
    reply(peer)
}

fn reply(peer: UnixStream) -> Value {
    let mut line = String::new();
    BufReader::new(peer).read_line(&mut line).expect("it answers");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("'{line}' is no answer: {error}"))
}

fn approval(id: &str, run: &str) -> String {
    let command = json!({"do": "approve", "task": 0, "number": 1});
    format!("{}\n", json!({"id": id, "run": run, "by": "ada", "command": command}))
}

fn run_of(workspace: &Workspace) -> String {
    workspace.status()["runId"].as_str().expect("it has an id").to_owned()
}

fn taken(workspace: &Workspace) -> Vec<Value> {
    let events = workspace.events().into_iter();
    events.filter(|event| event["event"] == "operator:command").map(|event| event["result"].clone()).collect()
}

#[test]
fn whatever_is_said_to_a_live_run_goes_over_its_socket() {
    let workspace = parked().tap(slow).tap(|m| m.task("more", |t| t.by("slow").needs("slow").unreviewed()));
    let running = live(&workspace);
    let mode = std::fs::metadata(workspace.path(SOCKET)).expect("it is there");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);

    let id = only_approval(&workspace);
    workspace.quorum(&["reject", &id, "--reason", "tests are missing"]).exits(0);
    workspace.quorum(&["approve", &id]).exits(4);
    waits(&workspace);
    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    assert_eq!(standing(&workspace.status(), "work"), ("done", "clean"));
    workspace.quorum(&["cancel", "more", "--yes"]).exits(0);
    workspace.quorum(&["pause"]).exits(0);
    workspace.quorum(&["pause"]).exits(0);
    workspace.write("go", "");
    let document = running.finish().exits(3).json();
    assert_eq!(task(&document, "more")["failure"]["mode"], "cancelled");
    assert_eq!(
        taken(&workspace),
        ["applied", "decided-otherwise", "applied", "applied", "applied", "already-so"]
    );
    assert!(!workspace.exists(&journal::inbox("")), "nothing was left in the inbox");
    assert!(!workspace.exists(SOCKET), "it goes with its session");
}

#[test]
fn what_was_acknowledged_survives_the_death_of_the_runner() {
    let workspace = parked().tap(slow);
    let running = live(&workspace);
    let peer = answer(&workspace, approval("one", &run_of(&workspace)).as_bytes());
    running.kill();
    assert_eq!(peer, json!({"result": "applied"}));
    assert_eq!(standing(&workspace.status(), "work"), ("done", "clean"));

    // The dead runner's socket is still there; the next session has its own.
    assert!(workspace.exists(SOCKET));
    let running = workspace.start(&["resume", "--json"]);
    wait_for("the new session", || connect(&workspace.path(SOCKET)).is_ok());
    workspace.quorum(&["cancel", "slow", "--yes"]).exits(0);
    running.finish().exits(3);
    assert!(!workspace.exists(&journal::inbox("")));
}

#[test]
fn what_could_not_be_written_is_not_acknowledged() {
    let workspace = parked().tap(slow);
    let running = live(&workspace);
    let command = approval("one", &run_of(&workspace));
    workspace.bash("for journal in .polpo/runs/*/@journal; do tail -n 1 $journal >> $journal; done").exits(0);
    let mut peer = knock(&workspace);
    peer.write_all(command.as_bytes()).expect("it is listened to");
    let mut heard = String::new();
    let _ = peer.read_to_string(&mut heard);
    assert_eq!(heard, "");
    running.finish().exits(1).says(&["changed by somebody else"]);
    assert!(!workspace.exists(SOCKET), "it goes with its session, however that ends");
}

#[test]
fn a_command_is_taken_once_by_its_id() {
    let workspace = parked().tap(slow);
    let running = live(&workspace);
    let command = approval("the-same", &run_of(&workspace));
    for _ in 0..2 {
        let answer = answer(&workspace, command.as_bytes());
        assert_eq!(answer, json!({"result": "applied"}));
    }
    assert_eq!(taken(&workspace), ["applied"]);
    let answer = answer(&workspace, approval("another", &run_of(&workspace)).as_bytes());
    assert_eq!(answer, json!({"result": "already-so"}));
    workspace.write("go", "");
    running.finish().exits(0);
}

#[test]
fn noise_is_answered_and_disturbs_nothing() {
    let workspace = parked().tap(slow);
    let running = live(&workspace);
    let run = run_of(&workspace);
    let nobody = knock(&workspace);
    let mut half = knock(&workspace);
    half.write_all(b"{\"id\": ").expect("it is listened to");
    let mut torn = knock(&workspace);
    torn.write_all(b"{").expect("it is listened to");
    torn.shutdown(std::net::Shutdown::Write).expect("it is open");

    let long = format!("{}\n", "x".repeat(70 << 10));
    for (noise, why) in [
        ("noise\n", "no command"),
        ("{}\n", "missing field"),
        (&*long, "longer"),
        ("\u{0}\n", "no command"),
        (&*approval("", &run), "id"),
        (&*approval(&"i".repeat(200), &run), "id"),
        (&*approval("x", "../../etc"), "run id"),
        (&*approval("x", "no-such-run"), "no-such-run"),
    ] {
        let answer = answer(&workspace, noise.as_bytes());
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.contains(why), "{answer} instead of '{why}'");
    }
    // While two say nothing, others are heard.
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    assert!(reply(torn)["error"].as_str().is_some_and(|why| why.contains("breaks off")));
    for hanging in [nobody, half] {
        let error = reply(hanging);
        assert!(error["error"].as_str().is_some_and(|why| why.contains("in time")), "{error}");
    }
    for _ in 0..20 {
        answer(&workspace, b"noise\n");
    }
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    let warnings = document["warnings"].as_array().expect("a list").clone();
    assert_eq!(warnings.len(), 8, "{warnings:#?}");
    assert!(warnings.iter().all(|text| text.as_str().is_some_and(|text| text.contains("control.sock"))));
}

#[test]
fn two_who_speak_at_once_are_both_heard() {
    // A third task keeps the session alive, whoever is heard first: without it the session would end with the cancelled
    // one, and the other would speak to nobody.
    let workspace = parked().tap(slow).tap(|m| m.task("more", |t| t.by("slow").unreviewed()));
    let running = live(&workspace);
    let id = only_approval(&workspace);
    running.signal(Signal::STOP);
    let approve = workspace.start(&["approve", &id]);
    let cancel = workspace.start(&["cancel", "slow", "--yes"]);
    running.signal(Signal::CONT);
    approve.finish().exits(0);
    cancel.finish().exits(0);
    workspace.write("go", "");
    let document = running.finish().exits(3).json();
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(task(&document, "slow")["failure"]["mode"], "cancelled");
    assert!(!workspace.exists(&journal::inbox("")));
}

#[test]
fn a_long_path_is_no_obstacle() {
    let workspace = parked().tap(slow);
    let state = format!("{}/{}", "a".repeat(100), "b".repeat(100));
    let with_state = |arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        command.args(["--state-dir", &state, "--json"]);
        Running::start(command)
    };
    let running = with_state(&["run", "mission.yaml"]);
    let mut id = Value::Null;
    wait_for("the approval", || {
        let listed = with_state(&["approvals"]).finish();
        if listed.code() == Some(0) {
            id = listed.json()["approvals"][0]["id"].clone();
        }
        id.is_string()
    });
    with_state(&["approve", id.as_str().expect("it is a string")]).finish().exits(0);
    assert!(!Path::new(&workspace.path(&state)).join("inbox").exists());
    workspace.write("go", "");
    running.finish().exits(0);
}

#[test]
fn a_live_runner_takes_answers_for_the_suspended_runs_beside_it() {
    let workspace = parked();
    workspace.run_json(6, &[]);
    let id = only_approval(&workspace);
    workspace.write(
        "other.yaml",
        Mission::new()
            .agent("slow", "while ! test -e go; do sleep 0.05; done")
            .task("other", |t| t.unreviewed())
            .yaml(),
    );
    let running = workspace.start(&["run", "other.yaml", "--json"]);
    wait_for("the other session", || connect(&workspace.path(SOCKET)).is_ok());
    workspace.quorum(&["approve", &id]).exits(0);
    workspace.quorum(&["reject", &id, "--reason", "late"]).exits(4);
    let run = id.split('.').next().expect("it begins with the run");
    let document = workspace.status_of(run);
    assert_eq!(standing(&document, "work").0, "done");
    // Put down, and not executed.
    assert_eq!(standing(&document, "next").0, "pending");
    assert_eq!(document["state"], "suspended");
    assert!(!workspace.exists(&journal::inbox("")));
    workspace.write("go", "");
    running.finish().exits(0);
    workspace.quorum(&["resume", run]).exits(0);
}

/// What [`false_green_20_an_agent_that_knocks_itself_is_sent_away`] lets its agent start: without any of our code that
/// would refuse to speak for an agent.
#[test]
#[ignore = "the hostile agent of another test"]
fn the_hostile_client() {
    let (Ok(run), Ok(report)) = (std::env::var("HOSTILE_RUN"), std::env::var("HOSTILE_REPORT")) else {
        return;
    };
    let mut heard = String::new();
    let mut peer = UnixStream::connect(SOCKET).expect("somebody listens");
    let _ = peer.write_all(approval("mine", &run).as_bytes());
    let _ = peer.read_to_string(&mut heard);
    std::fs::write(report, heard).expect("it can be written");
}

#[test]
fn false_green_20_an_agent_that_knocks_itself_is_sent_away() {
    let program = std::env::current_exe().expect("this test has a program");
    let burglar = r#"
while ! grep -q '"@asked"' .polpo/runs/*/@journal; do sleep 0.05; done
n=0
for way in '' 'setsid -w' 'setsid -w nohup'; do
  n=$((n+1))
  $way env -i HOSTILE_RUN=$QUORUM_RUN_ID HOSTILE_REPORT=heard.$n '@program' \
    --exact control::the_hostile_client --ignored > said.$n 2>&1
done
(env -i HOSTILE_RUN=$QUORUM_RUN_ID HOSTILE_REPORT=heard.4 setsid sh -c \
  "sleep 0.2; exec '@program' --exact control::the_hostile_client --ignored" > said.4 2>&1 &)
while ! test -e go; do sleep 0.05; done
"#;
    let workspace = Mission::new()
        .worker("echo work")
        .agent("burglar", burglar.replace("@program", &program.to_string_lossy()))
        .setting("concurrency", 2)
        .task("work", |t| t.set("review", "required"))
        .task("burglar", |t| t.by("burglar").unreviewed())
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    for n in 1..=4 {
        let heard = format!("heard.{n}");
        wait_for(&heard, || workspace.read(&heard).ends_with('\n'));
        let answer: Value = serde_json::from_str(&workspace.read(&heard)).expect("it is an answer");
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.contains("agent"), "{answer}");
    }
    // It is who speaks that counts, not what is said.
    let run = run_of(&workspace);
    assert_eq!(standing(&workspace.status(), "work"), ("awaiting_approval", ""));
    let answer = answer(&workspace, approval("mine", &run).as_bytes());
    assert_eq!(answer, json!({"result": "applied"}));
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    let warnings = document["warnings"].as_array().expect("a list").iter();
    let told = warnings.filter(|text| text.as_str().is_some_and(|text| text.contains("agent")));
    assert_eq!(told.count(), 4);
}

/// A live run of which `work` waits for a person; everything in it belongs to an ordinary user. Its approval.
#[cfg(target_os = "linux")]
fn live_of_an_ordinary_user() -> (Workspace, Running, String) {
    let workspace = parked().tap(slow);
    let running = workspace.start_unprivileged(&["run", "mission.yaml", "--json"]);
    waits(&workspace);
    let id = only_approval(&workspace);
    (workspace, running, id)
}

#[cfg(target_os = "linux")]
#[test]
fn false_green_32_a_word_from_a_namespace_of_its_own_is_nobodys_whoever_says_it() {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    let workspace = parked().tap(slow);
    let running = live(&workspace);
    let id = only_approval(&workspace);
    // No agent says it, and nothing that it carries tells against it.
    for way in
        [&["-Ur"][..], &["-Urm"], &["-Urpf"], &["-Urpf", "--mount-proc"], &["-Urmipnf", "--mount-proc"]]
    {
        for word in [&["approve", &id][..], &["reject", &id, "--reason", "no"], &["cancel", "slow", "--yes"]]
        {
            let mut command = workspace.other_command("unshare");
            command.args(way).arg(BINARY).args(word);
            let said = Running::start(command).finish();
            assert_eq!(said.code(), Some(9), "{way:?} {word:?}: {said:?}");
        }
    }
    assert_eq!(standing(&workspace.status(), "work").0, "awaiting_approval");
    assert_eq!(taken(&workspace), [Value::Null; 0]);
    assert!(!workspace.exists(&journal::inbox("")), "it was not heard and left a letter");
    workspace.quorum(&["approve", &id]).exits(0);
    assert_eq!(taken(&workspace), ["applied"]);
    workspace.write("go", "");
    running.finish().exits(0);
}

#[cfg(target_os = "linux")]
#[test]
fn false_green_32_a_word_of_another_user_is_nobodys() {
    let (workspace, running, id) = live_of_an_ordinary_user();
    if is_root() {
        // Root reaches any socket. Of everybody it is held by `supervisor/socket.rs` that another user is not heard.
        let said = answer(&workspace, approval("one", &run_of(&workspace)).as_bytes());
        assert!(
            said["error"].as_str().is_some_and(|why| why.contains("user 0 is not the user of the run")),
            "{said}"
        );
        assert_ne!(workspace.quorum(&["approve", &id]).code(), Some(0));
    }
    assert_eq!(standing(&workspace.status(), "work").0, "awaiting_approval");
    assert_eq!(taken(&workspace), [Value::Null; 0]);
    let mut owner = workspace.command(&["approve", &id]);
    if is_root() {
        owner.uid(NOBODY).gid(NOBODY);
    }
    Running::start(owner).finish().exits(0);
    workspace.write("go", "");
    running.finish().exits(0);
}
