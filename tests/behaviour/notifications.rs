//! Notifications, against a real receiver on this machine.

use serde_json::{Value, json};

use crate::support::Workspace;
use crate::support::events::named;
use crate::support::receiver::{Answer, Receiver};
use crate::support::{DEADLINE, Has, Mission, Says, poll};

const MISSION: &str = "name: release
agents: {w: {run: 'test {task} != bad'}}
channels:
  ops: {@channel}
settings: {defaultChannels: [ops], maxRetries: 0}
tasks:
  - {title: good}
";

const FAILING: &str = "  - {title: bad}\n";
const GATE: &str = "  - {title: after}
qualityGates:
  - {name: review, afterTasks: [good], blocksTasks: [after], notifyChannels: [ops]}
";

fn with_channel(mission: &str, channel: &str) -> Workspace {
    Workspace::with(&mission.replace("@channel", channel))
}

fn of<'v>(documents: &'v [Value], key: &str) -> Vec<&'v str> {
    documents.iter().map(|document| document[key].as_str().unwrap_or_default()).collect()
}

#[test]
fn a_webhook_is_told_of_gates_failures_and_the_end() {
    let receiver = Receiver::that(&[Answer::Status(200)]);
    let url =
        format!("type: webhook, url: 'http://{}/hook', headers: {{X-Team: '${{TEAM}}'}}", receiver.address);
    let workspace = with_channel(&(MISSION.to_owned() + FAILING + GATE), &url);
    let finished = workspace.quorum_with(&[("TEAM", "blue team")], &["run", "mission.yaml", "--json"]);
    let document = finished.exits(3).json();
    let told = receiver.documents();
    let mut events = of(&told, "event");
    // The first two happen at the same time.
    events[..2].sort_unstable();
    assert_eq!(events, ["quality:gate:passed", "task:transition", "run:finished"]);
    let failed = told.iter().find(|told| told["event"] == "task:transition").expect("it failed");
    failed.has(json!({
        "schema": "quorum.notification/v1", "title": "[release] task 'bad' failed", "task": "bad",
        "mode": "error", "severity": "critical",
    }));
    assert_eq!(failed["runId"], document["runId"]);
    let end = told.last().expect("there is an end");
    end.has(json!({"outcome": "task_failed", "exitCode": 3, "text": "2 done, 1 failed of 3 tasks"}));
    let ids = of(&told, "id");
    assert!(ids.iter().all(|id| ids.iter().filter(|other| other == &id).count() == 1), "{ids:?}");
    let (head, _) = &receiver.requests()[0];
    assert!(head.starts_with("POST /hook ") && head.to_lowercase().contains("x-team: blue team"), "{head}");
    // All of it stands in the events, and the end of the run is the last of them.
    let events = workspace.events();
    assert_eq!(events.count("work:requested notify"), 3);
    assert_eq!(events.count("work:ended notify ok"), 3);
    assert_eq!(events.last().expect("there are events")["event"], "run:finished");
    let none = workspace.quorum(&["dlq", "list"]).exits(0).stdout;
    assert_eq!(none, "there are no dead letters\n");
}

/// A run whose pager runs this, in a confined mission with these settings; the workspace is a repository beside the mission.
fn paged_by(script: &str, sandbox: &str, settings: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: told
workspace: ws
agents: {{w: {{run: 'echo done > out'}}}}
channels: {{pager: {{type: command, run: [sh, notify.sh]{sandbox}}}}}
settings: {{defaultChannels: [pager]{settings}}}
tasks: [{{title: work}}]
"
    ));
    workspace.write("notify.sh", script);
    workspace.write("ws/.git/config", "");
    workspace.write("ws/sub/old", "old");
    workspace.confined()
}

/// Tries to write everywhere, and tells what it can.
const TRIES: &str = "cat > \"$HOME/told\"; id=$(ls .polpo/runs)
for file in ws/new ws/sub/old ws/sub/new ws/.git/config ws/.git/new .polpo/new .polpo/runs/$id/journal.jsonl notify.sh mission.yaml \
  beside; do (echo x >> $file) 2> /dev/null && echo $file; done > \"$HOME/written\"
cat \"$HOME\"/.local/state/quorum/* > \"$HOME/stolen\" 2> /dev/null; cat ws/out >> \"$HOME/written\"; exit 0";

#[test]
fn the_command_of_a_channel_reads_state_and_workspace_and_writes_neither() {
    if !crate::support::makes_namespaces() {
        return crate::support::skipped("no namespaces can be made here");
    }
    for (sandbox, settings) in [
        ("", ""),
        (", sandbox: required", ", sandbox: 'off'"),
        ("", ", files: workspace, network: deny"),
        (", sandbox: auto", ""),
    ] {
        let workspace = paged_by(TRIES, sandbox, settings);
        let document = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(0).json();
        assert!(workspace.read("home/told").contains("quorum.notification/v1"), "{document:#}");
        assert_eq!(workspace.read("home/written"), "beside\ndone\n", "{sandbox} {settings}");
        assert_eq!(workspace.read("home/stolen"), "");
    }
}

#[test]
fn a_channel_that_says_so_is_not_confined_and_marks_no_run() {
    let workspace = paged_by("cat > ws/told", ", sandbox: 'off'", "");
    let document = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(0).json();
    assert!(workspace.read("ws/told").contains("quorum.notification/v1"));
    if crate::support::makes_namespaces() {
        assert!(document["unconfined"].is_null(), "{document:#}");
    }
    // A word for the session counts before that of the channel.
    if crate::support::makes_namespaces() {
        let workspace = paged_by("cat > ws/told", ", sandbox: 'off'", "");
        workspace.quorum(&["run", "mission.yaml", "--sandbox", "required"]).exits(0).says(&["not delivered"]);
        assert!(!workspace.exists("ws/told"));
    }
}

#[test]
fn slack_gets_its_own_form() {
    let receiver = Receiver::that(&[Answer::Status(200)]);
    let channel = format!("type: slack, url: 'http://{}/services/T1/B1/x'", receiver.address);
    with_channel(MISSION, &channel).quorum(&["run", "mission.yaml"]).exits(0);
    let told = receiver.documents();
    assert_eq!(told[0], serde_json::json!({"text": "*[release] the run ended: ok*\n1 done of 1 tasks"}));
}

#[test]
fn a_receiver_that_fails_once_is_told_again_under_the_same_id() {
    let receiver = Receiver::that(&[Answer::Status(500), Answer::Status(200)]);
    let workspace = with_channel(MISSION, &format!("url: 'http://{}/', type: webhook", receiver.address));
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    let told = receiver.documents();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0]["id"], told[1]["id"]);
    let events = workspace.events();
    let retry = named(&events, "work:progressed notify retry");
    assert_eq!((retry.len(), &retry[0]["class"]), (1, &"provider_transient".into()));
    assert!(!workspace.exists(".polpo/dead-letters.jsonl"));
}

/// Runs a mission whose channel fails, and returns its dead letters.
fn failing(channel: &str, code: i32, flags: &[&str]) -> (Workspace, Vec<Value>) {
    let workspace = with_channel(MISSION, channel);
    let arguments = [&["run", "mission.yaml"], flags].concat();
    workspace.quorum(&arguments).exits(code).says(&["not delivered"]);
    let letters = workspace.quorum(&["dlq", "list", "--json"]).exits(0).json();
    assert_eq!(letters["schema"], "quorum.dlq/v1");
    (workspace, letters["letters"].as_array().expect("a list").clone())
}

#[test]
fn after_three_tries_it_is_a_dead_letter_and_no_task_failed() {
    let receiver = Receiver::that(&[Answer::Status(503)]);
    let channel =
        format!("type: webhook, url: 'http://{}/secret-path-4711?token=t0p53cr3t'", receiver.address);
    let (workspace, letters) = failing(&channel, 0, &[]);
    assert_eq!(receiver.requests().len(), 3);
    let [letter] = letters.as_slice() else { panic!("not one: {letters:?}") };
    let keys =
        ["operation", "category", "status", "error"].map(|key| letter[key].as_str().unwrap_or_default());
    assert_eq!(keys[..3], ["notify:ops", "provider_transient", "pending"]);
    assert!(keys[3].starts_with("HTTP 503 from 127.0.0.1"), "{}", keys[3]);
    assert_eq!(
        (&letter["retryCount"], letter["args"]["notification"]["event"].as_str()),
        (&0.into(), Some("run:finished"))
    );
    assert_eq!(workspace.status()["outcome"], "ok");
    assert_eq!(workspace.events().count("work:ended notify failed"), 1);
    // An address may be a secret as a whole: it stands in the frozen mission and nowhere else.
    let letters = workspace.read(".polpo/dead-letters.jsonl");
    let journal = std::fs::read_to_string(workspace.journal()).expect("there is a journal");
    for text in [letters, journal] {
        assert!(!text.contains("secret-path") && !text.contains("t0p53cr3t"), "{text}");
    }
}

#[test]
fn what_a_receiver_says_cannot_leak_what_it_was_sent() {
    // It repeats nothing here, but its address comes from a variable and must be hidden all the same.
    let workspace = with_channel(MISSION, "type: webhook, url: '${HOOK}', timeout: 200ms");
    let hook = "http://127.0.0.1:9/hooks/verysecretpart";
    workspace.quorum_with(&[("HOOK", hook)], &["run", "mission.yaml"]).exits(0);
    let found = workspace.bash("grep -rl verysecretpart .polpo || echo nowhere");
    assert_eq!(found.stdout.trim(), "nowhere");
}

#[test]
fn a_receiver_that_is_not_there_and_one_that_never_answers() {
    let (_, letters) = failing("type: webhook, url: 'http://127.0.0.1:9/'", 0, &[]);
    assert_eq!(letters[0]["category"], "provider_transient");
    let receiver = Receiver::that(&[Answer::Silence]);
    let channel = format!("type: webhook, url: 'http://{}/', timeout: 150ms", receiver.address);
    let (_, letters) = failing(&channel, 0, &[]);
    assert_eq!((receiver.requests().len(), &letters[0]["category"]), (3, &"timeout".into()));
    letters[0]["error"].says(&["did not answer within 150ms"]);
}

#[test]
fn nobody_is_sent_to_another_host() {
    let receiver = Receiver::that(&[Answer::Elsewhere]);
    let channel =
        format!("type: webhook, url: 'http://{}/', headers: {{Authorization: '${{KEY}}'}}", receiver.address);
    let workspace = with_channel(MISSION, &channel);
    workspace.quorum_with(&[("KEY", "Bearer abcdef")], &["run", "mission.yaml"]).exits(0);
    workspace.quorum(&["dlq", "list"]).exits(0).shows(&["redirects are not followed"]);
    assert_eq!(receiver.requests().len(), 3);
}

#[test]
fn a_file_gets_a_line_each_and_a_command_its_standard_input() {
    let workspace = with_channel(MISSION, "type: file, path: out/notes.jsonl");
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    let lines = workspace.lines("out/notes.jsonl");
    assert_eq!(lines.len(), 2);
    let note: Value = serde_json::from_str(&lines[0]).expect("a line is JSON");
    assert_eq!(note["title"], "[release] the run ended: ok");

    let workspace = with_channel(MISSION, "type: command, run: 'cat > got.json; env > got.env'");
    let finished = workspace.quorum_with(&[("PROVIDER_KEY", "sk-1")], &["run", "mission.yaml"]);
    finished.exits(0);
    let got: Value = serde_json::from_str(&workspace.read("got.json")).expect("it got JSON");
    assert_eq!((&got["event"], &got["channel"]), (&"run:finished".into(), &"ops".into()));
    workspace.read("got.env").says(&["QUORUM_RUN_ID="]).omits(&["sk-1"]);
}

#[test]
fn a_command_that_fails_or_hangs_is_a_dead_letter() {
    let (_, letters) = failing("type: command, run: 'echo HTTP 401 Unauthorized >&2; exit 2'", 0, &[]);
    assert_eq!(letters[0]["category"], "provider_auth");
    let error = letters[0]["error"].as_str().unwrap_or_default();
    assert_eq!(error, "it exited 2: HTTP 401 Unauthorized");
    let (workspace, letters) =
        failing("type: command, timeout: 100ms, run: 'echo $$ >> pids; sleep 60'", 0, &[]);
    assert_eq!(letters[0]["category"], "timeout");
    for pid in workspace.lines("pids") {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} still runs");
    }
}

#[test]
fn no_channel_writes_into_the_state_folder_or_waits_at_a_pipe() {
    let (_, letters) = failing("type: file, path: .polpo/runs/x", 0, &[]);
    letters[0]["error"].says(&["is inside the state folder"]);
    let workspace = with_channel(MISSION, "type: file, path: pipe");
    workspace.bash("mkfifo pipe").exits(0);
    workspace.quorum(&["run", "mission.yaml"]).exits(0).says(&["not delivered"]);
}

#[test]
fn a_variable_that_is_missing_is_said_before_any_work() {
    let workspace = with_channel(MISSION, "type: webhook, url: '${NOT_SET_HERE}'");
    let ended = workspace.quorum(&["run", "mission.yaml"]).exits(9);
    ended.says(&["channel 'ops': the environment variable NOT_SET_HERE is not set"]);
    workspace.assert_nothing_started();
    // A channel that nothing notifies is not needed.
    let mission = MISSION
        .replace("@channel", "type: webhook, url: '${NOT_SET_HERE}'")
        .replace("defaultChannels: [ops], ", "");
    Workspace::with(&mission).quorum(&["run", "mission.yaml"]).exits(0);
}

#[test]
fn a_runner_that_is_killed_while_it_tells_tells_again_when_it_is_resumed() {
    let receiver = Receiver::that(&[Answer::Silence, Answer::Status(200)]);
    let channel = format!("type: webhook, url: 'http://{}/'", receiver.address);
    let workspace = with_channel(&(MISSION.to_owned() + FAILING), &channel);
    let running = workspace.start(&["run", "mission.yaml"]);
    assert!(poll(DEADLINE, || !receiver.requests().is_empty()));
    running.kill();
    workspace.quorum(&["resume"]).exits(3);
    let told = receiver.documents();
    assert_eq!(of(&told, "event")[..2], ["task:transition", "task:transition"]);
    assert_eq!(told[0]["id"], told[1]["id"], "a receiver can tell that it is the same");
    assert_eq!(of(&told, "event").last(), Some(&"run:finished"));
    let events = workspace.events();
    let (requested, sent) = (named(&events, "work:requested notify"), named(&events, "work:ended notify ok"));
    assert_eq!(requested.len(), sent.len(), "nothing is left open");
}

#[test]
fn a_signal_waits_for_no_channel_and_loses_nothing() {
    let receiver = Receiver::that(&[Answer::Silence]);
    let channel = format!("type: webhook, url: 'http://{}/'", receiver.address);
    let workspace = with_channel(&(MISSION.to_owned() + FAILING), &channel);
    let running = workspace.start(&["run", "mission.yaml"]);
    assert!(poll(DEADLINE, || !receiver.requests().is_empty()));
    running.signal(rustix::process::Signal::INT);
    running.finish().exits(130);
    let letters = workspace.quorum(&["dlq", "list", "--json"]).exits(0).json();
    let letters = letters["letters"].as_array().expect("a list");
    let failed = letters.iter().any(|letter| letter["args"]["notification"]["task"] == "bad");
    assert!(failed, "{letters:?}");
    assert!(letters.iter().all(|letter| letter["category"] == "timeout"));
}

#[test]
fn work_that_waits_for_a_person_is_told_of_with_the_id_to_answer() {
    let workspace = Mission::new()
        .agent("w", "true")
        .key("channels", json!({"ops": {"type": "file", "path": "notes"}}))
        .setting("defaultChannels", ["ops"])
        .task("t", |t| t.set("review", "required"))
        .workspace();
    workspace.quorum(&["run", "mission.yaml"]).exits(6);
    let lines = workspace.lines("notes");
    let note: Value = serde_json::from_str(&lines[0]).expect("a line is JSON");
    assert_eq!((&note["event"], &note["reason"]), (&"approval:requested".into(), &"refer".into()));
    let id = note["approval"].as_str().expect("it has an id");
    workspace.quorum(&["approve", id]).exits(0);
    // The command that ended the run has nobody to deliver its end; that waits for the next run of the folder.
    let letters = workspace.quorum(&["dlq", "list", "--json"]).exits(0).json();
    assert_eq!(letters["letters"][0]["args"]["notification"]["outcome"], "ok");
}

#[test]
fn a_notification_leads_to_the_page_where_it_is_decided() {
    let workspace = Mission::new()
        .agent("w", "true")
        .key("channels", json!({"ops": {"type": "file", "path": "notes"}}))
        .settings(json!({"defaultChannels": ["ops"], "serve": {"url": "http://build.example:8080/"}}))
        .task("t", |t| t.set("review", "required"))
        .task("door", |t| t.unreviewed().approved())
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(6);
    let notes = workspace.lines("notes");
    let links: Vec<Value> =
        notes.iter().map(|note| serde_json::from_str::<Value>(note).unwrap()["link"].take()).collect();
    let page = "http://build.example:8080/runs/r1";
    for link in [format!("{page}/inbox#r1.0.1"), format!("{page}/inbox#r1.1.1"), page.to_owned()] {
        assert!(links.contains(&json!(link)), "{link}: {links:?}");
    }
    let wrong = workspace.tap(|mission| mission.settings(json!({"serve": {"url": "build.example"}})));
    wrong.quorum(&["run"]).exits(2).says(&["an http or https URL"]);
}

#[test]
fn slack_is_given_the_link_in_its_text() {
    let receiver = Receiver::that(&[Answer::Status(200)]);
    let channel = format!("type: slack, url: 'http://{}/services/T1/B1/x'", receiver.address);
    let workspace = with_channel(MISSION, &channel);
    workspace.write("quorum.yaml", "settings: {serve: {url: 'http://127.0.0.1:8080'}}\n");
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
    let text = "*[release] the run ended: ok*\n1 done of 1 tasks\nhttp://127.0.0.1:8080/runs/r1";
    assert_eq!(receiver.documents()[0], json!({"text": text}));
}

#[test]
fn an_unknown_channel_is_a_load_error() {
    let workspace =
        Workspace::with(&MISSION.replace("@channel", "type: file, path: f").replace("[ops]", "[opps]"));
    workspace.quorum(&["run", "mission.yaml"]).exits(2).says(&["there is no channel 'opps'"]).says(&["ops"]);
}

#[test]
fn what_could_not_be_delivered_is_pointed_to_and_a_kill_leaves_nothing_behind() {
    let workspace = Mission::new()
        .worker("echo worked")
        .key("channels", json!({"ops": {"type": "command", "run": "exit 3"}}))
        .setting("evaluate", false)
        .setting("defaultChannels", ["ops"])
        .tasks(["a"])
        .workspace();
    // Left by a process that was killed while it delivered; no such process lives any more.
    let left = [".polpo/.notify-999999999-abcdef", ".polpo/.notify-abcdef"];
    for folder in left {
        std::fs::create_dir_all(workspace.path(folder)).unwrap();
        std::fs::write(workspace.path(folder).join("in"), "{}").unwrap();
    }
    let ended = workspace.quorum(&["run", "mission.yaml"]).exits(0);
    ended.shows(&["1 notification could not be delivered", "quorum dlq list"]);
    for folder in left {
        assert!(!workspace.exists(folder), "{folder}");
    }
}
