//! `quorum mcp`: agents have missions run, read how they end, and decide nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::pages::Page;
use crate::support::{Mission, Workspace, at_terminal, wait_for};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of the protocol, and the server that it started.
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Progress that it was told of.
    progress: Vec<String>,
    asked: u64,
}

impl Client {
    fn start(workspace: &Workspace, arguments: &[&str]) -> Self {
        Self::speaking("2025-11-25", workspace, arguments)
    }

    /// A client that knows no later version of the protocol.
    fn speaking(version: &str, workspace: &Workspace, arguments: &[&str]) -> Self {
        let mut command = workspace.command(arguments);
        // The tests' own environment loosens, and is refused.
        command.env("QUORUM_SANDBOX", "auto");
        let mut server =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(server.stdout.take().unwrap());
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let input = server.stdin.take();
        let mut client = Self { server, input, lines, progress: Vec::new(), asked: 0 };
        let hello = client.ask(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert_eq!(hello["result"]["protocolVersion"], version, "{hello}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    fn of(workspace: &Workspace) -> Self {
        Self::start(workspace, &["mcp"])
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_ref().unwrap(), "{line}").unwrap();
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("the server answers");
            let said: Value = serde_json::from_str(&line).expect("it is JSON");
            if said["id"] == id {
                return said;
            }
            self.progress.push(said["params"]["message"].as_str().unwrap_or_default().to_owned());
        }
    }

    /// What a tool says.
    fn call(&mut self, tool: &str, arguments: Value) -> Result<Answer, String> {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}});
        let mut answer = self.ask("tools/call", params);
        let result = answer["result"].take();
        if result.is_null() {
            return Err(answer["error"]["message"].as_str().unwrap_or_default().to_owned());
        }
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        match result["isError"].as_bool() {
            Some(true) => Err(text),
            _ => Ok(Answer { text, document: result["structuredContent"].clone() }),
        }
    }

    fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    /// Closes the connection; the exit code of the server.
    fn close(mut self) -> Option<i32> {
        self.input = None;
        self.server.wait().unwrap().code()
    }
}

#[derive(Debug)]
struct Answer {
    text: String,
    document: Value,
}

/// A mission whose task writes what is in `word.txt`, and whose judge wants a greeting.
fn greeting() -> Workspace {
    let workspace = Mission::new()
        .worker("cat > /dev/null; cp word.txt greeting.txt; echo written")
        .reviewer("judge", "cat > /dev/null; grep -q hello greeting.txt && echo SCORE: 90 || echo SCORE: 20")
        .task("greet", |task| task.files(["greeting.txt"]).attempts(1))
        .workspace();
    workspace.write("word.txt", "bye\n");
    workspace
}

#[test]
fn an_agent_has_a_mission_run_reads_why_it_failed_corrects_it_and_ends_green() {
    let workspace = greeting();
    let mut client = Client::of(&workspace);
    assert_eq!(client.call("validate", json!({"mission": "mission.yaml"})).unwrap().document["valid"], true);
    let begun = client.call("run", json!({"mission": "mission.yaml", "runId": "first"})).unwrap();
    assert_eq!(begun.document["runId"], "first");
    assert!(begun.text.contains("bar 60"), "{}", begun.text);
    let ended = client.call("status", json!({"run": "first", "wait": "50s"})).unwrap();
    assert_ne!(ended.document["outcome"], "ok", "{}", ended.text);
    assert_eq!(ended.document["live"], false);
    assert!(client.progress.iter().any(|line| line.contains("run:finished")), "{:?}", client.progress);
    let task = client.call("show", json!({"task": "greet"})).unwrap();
    assert_eq!(task.document["schema"], "quorum.show/v1");
    assert!(task.text.contains("20 of 100"), "{}", task.text);

    workspace.write("word.txt", "hello\n");
    let second = client.call("run", json!({})).unwrap();
    let id = second.document["runId"].as_str().unwrap().to_owned();
    let ended = client.call("status", json!({"run": id, "wait": "50s"})).unwrap();
    assert_eq!((&ended.document["outcome"], &ended.document["exitCode"]), (&json!("ok"), &json!(0)));
    assert_eq!(client.close(), Some(0));
}

#[test]
fn every_result_is_the_document_of_the_command_and_fits_the_schema_of_the_tool() {
    let workspace = greeting();
    workspace.quorum(&["run", "--run-id", "r1"]);
    let mut client = Client::of(&workspace);
    let tools = client.tools();
    for (tool, arguments, command) in [
        ("validate", json!({}), &["validate"][..]),
        ("plan", json!({"only": ["greet"]}), &["plan", "--only", "greet"]),
        ("status", json!({"run": "r1"}), &["status", "r1"]),
        ("show", json!({"task": "greet", "attempt": 1}), &["show", "greet", "--attempt", "1"]),
        ("inbox", json!({}), &["inbox"]),
        ("events", json!({"since": 3}), &["events", "--since", "3"]),
        ("logs", json!({"task": "greet"}), &["logs", "greet"]),
        ("explain", json!({"word": "below_threshold"}), &["explain", "below_threshold"]),
    ] {
        let said = client.call(tool, arguments).unwrap();
        let expected = workspace.quorum(&[command, &["--json"]].concat()).exits(0).json();
        assert_eq!(said.document["schema"], expected["schema"], "{tool}");
        let declared = tools.iter().find(|known| known["name"] == tool).unwrap();
        let schema = jsonschema::validator_for(&declared["outputSchema"]).unwrap();
        assert!(schema.is_valid(&said.document), "{tool}: {}", said.document);
        assert_eq!(said.text, workspace.quorum(command).exits(0).stdout, "{tool}");
    }
    let since = client.call("events", json!({"since": 3})).unwrap();
    assert!(since.document["events"].as_array().unwrap().iter().all(|event| event["seq"].as_u64() > Some(3)));
    for kind in tools {
        let schema = jsonschema::validator_for(&kind["inputSchema"]).unwrap();
        assert!(!schema.is_valid(&json!({"allow": "below_threshold"})), "{kind}");
    }
}

#[test]
fn false_green_70_no_tool_decides_for_a_person_or_lowers_a_bar() {
    let workspace = greeting();
    let mut client = Client::of(&workspace);
    let names: Vec<String> =
        client.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        names,
        [
            "validate", "plan", "run", "resume", "status", "show", "gate", "inbox", "events", "logs", "diff",
            "explain", "schema", "review"
        ]
    );
    for tool in [
        "approve",
        "reject",
        "answer",
        "cancel",
        "gate --override",
        "request",
        "dlq",
        "clean",
        "agent",
        "mcp",
    ] {
        client.call(tool, json!({})).unwrap_err();
    }
    // Arguments of the commands that are not listed, and values that read like flags.
    for (tool, arguments) in [
        ("run", json!({"noEval": true})),
        ("run", json!({"no_eval": "true"})),
        ("run", json!({"evalThreshold": "20"})),
        ("run", json!({"allow": ["below_threshold"]})),
        ("run", json!({"sandbox": "off"})),
        ("run", json!({"maxFalsePass": "1"})),
        ("run", json!({"record": ".", "offline": true})),
        ("run", json!({"mission": "--no-eval"})),
        ("run", json!({"mission": ["mission.yaml", "--no-eval"]})),
        ("run", json!({"only": "--no-eval"})),
        ("run", json!({"only": ["greet\0--no-eval"]})),
        ("run", json!({"runId": "--no-eval"})),
        ("run", json!({"timeout": "1h --no-eval"})),
        ("run", json!({"maxCost": {"allow": "below_threshold"}})),
        ("run", json!({"mission": "/etc/passwd"})),
        ("run", json!({"mission": "../mission.yaml"})),
        ("resume", json!({"acceptChangedMission": true})),
        ("resume", json!({"trustOrigin": true})),
        ("resume", json!({"allow": "below_threshold"})),
        ("resume", json!({"run": "--allow=below_threshold"})),
        ("resume", json!({"timeout": "--no-eval"})),
        ("gate", json!({"override": true, "reason": "fine"})),
        ("gate", json!({"gate": "--override", "run": "latest"})),
        ("review", json!({"criteria": "it is good", "threshold": "20"})),
        ("review", json!({"criteria": "it is good", "grader": "heuristic"})),
        ("review", json!({"paths": "greeting.txt", "criteria": "it is good", "mission": "other.yaml"})),
        ("review", json!({"paths": ["--threshold=20", "greeting.txt"], "criteria": "it is good"})),
        ("status", json!({"run": "../../elsewhere"})),
        ("validate", json!({"mission": "mission.yaml", "noEval": true})),
    ] {
        client.call(tool, arguments.clone()).map(|said| panic!("{tool} {arguments}: {said:?}")).unwrap_err();
    }
    assert!(workspace.run_folders().is_empty());
}

#[test]
fn false_green_70_no_variable_loosens_what_an_agent_has_run() {
    let workspace = greeting();
    for (name, value) in [
        ("EVAL", "off"),
        ("EVAL_THRESHOLD", "20"),
        ("QUORUM_NO_EVAL", "1"),
        ("QUORUM_EVAL_THRESHOLD", "20"),
        ("QUORUM_ALLOW", "below_threshold"),
        ("QUORUM_SANDBOX", "off"),
        ("QUORUM_RECORD", "replies"),
        ("QUORUM_YES", "1"),
        // Its settings may say anything.
        ("QUORUM_CONFIG", "loose.yaml"),
        ("QUORUM_NO_EVALS", "1"),
    ] {
        let refused = workspace.quorum_with(&[("QUORUM_SANDBOX", "auto"), (name, value)], &["mcp"]).exits(2);
        assert!(refused.stderr.contains(name), "{name}: {}", refused.stderr);
    }
    let tighter =
        [("QUORUM_STRICT", "1"), ("QUORUM_SANDBOX", "auto"), ("EVAL", "on"), ("QUORUM_NO_EVAL", "")];
    let served = workspace.quorum_with(&tighter, &["mcp"]).exits(2);
    assert!(served.stderr.contains("did not speak the protocol"), "{}", served.stderr);
}

#[test]
fn false_green_70_what_an_agent_began_takes_a_persons_word_at_a_terminal_only() {
    let workspace = Mission::new()
        .worker("cat > /dev/null; echo done")
        .task("work", |task| task.approved())
        .setting("evaluate", json!(false))
        .workspace();
    let mut client = Client::of(&workspace);
    client.call("run", json!({"runId": "r1"})).unwrap();
    let waits = client.call("status", json!({"run": "r1", "wait": "50s"})).unwrap();
    assert_eq!(waits.document["outcome"], "awaiting", "{}", waits.text);
    let id = client.call("inbox", json!({})).unwrap().document["approvals"][0]["id"].clone();
    let id = id.as_str().unwrap().to_owned();
    workspace.quorum(&["request", "submit", "More work", "--to", "worker"]).exits(0);
    for command in [
        &["approve", &id][..],
        &["request", "approve", "req-1", "r1", "--yes"],
        &["approve", &id, "--yes", "--as", "ada"],
        &["reject", &id, "--reason", "no"],
        &["merge", "r1", "--into", "branch done"],
        &["resume", "r1", "--allow", "awaiting"],
        &["resume", "r1", "--no-eval"],
        &["resume", "r1", "--eval-threshold", "20"],
        &["resume", "r1", "--accept-changed-mission"],
        &["resume", "r1", "--sandbox", "off"],
        &["resume", "r1", "--record", "replies", "--offline"],
    ] {
        let refused = workspace.quorum(command).exits(9);
        assert!(refused.stderr.contains("for a person, at a terminal"), "{command:?}: {}", refused.stderr);
    }
    for variable in
        [("EVAL", "off"), ("EVAL_THRESHOLD", "20"), ("QUORUM_ALLOW", "awaiting"), ("QUORUM_RECORD", "here")]
    {
        let refused = workspace
            .quorum_with(&[("QUORUM_SANDBOX", "auto"), variable], &["resume", "r1", "--retry-failed"]);
        assert!(refused.exits(9).stderr.contains("for a person, at a terminal"), "{variable:?}");
    }
    let limits = ["--max-attempts", "9", "--strict", "--fail-fast", "-j", "1", "--max-tokens", "900000"];
    workspace.quorum(&[&["resume", "r1", "--sandbox", "auto"], &limits[..]].concat()).exits(8);
    let seen = at_terminal(workspace.command(&["approve", &id]), 100, "");
    assert_eq!(seen.code, Some(0), "{}", seen.text);
    client.call("resume", json!({"run": "r1"})).unwrap();
    let ended = client.call("status", json!({"run": "r1", "wait": "50s"})).unwrap();
    assert_eq!(ended.document["tasks"][0]["status"], "done", "{}", ended.text);

    // A run that a person began is a person's, whoever goes on with it; and stopping work lets nothing pass.
    workspace.quorum(&["run", "--run-id", "r2", "--fresh", "--yes"]).exits(8);
    client.call("resume", json!({"run": "r2"})).unwrap();
    client.call("status", json!({"run": "r2", "wait": "50s"})).unwrap();
    workspace.quorum(&["approve", "r2.0.1"]).exits(0);
    workspace.quorum(&["cancel", "r2", "--yes"]).exits(0);
    // Who begins it so by hand has said that it is an agent.
    workspace.quorum(&["run", "--over-mcp", "--run-id", "r3"]).exits(8);
    workspace.quorum(&["approve", "r3.0.1"]).exits(9);
    workspace.quorum(&["cancel", "r3", "--yes"]).exits(0);
}

#[test]
fn a_session_outlives_the_server_and_its_client() {
    let workspace = Mission::new()
        .worker("cat > /dev/null; until [ -e go ]; do sleep 0.05; done; echo done > out.txt")
        .task("work", |task| task.files(["out.txt"]))
        .setting("evaluate", json!(false))
        .workspace();
    let mut client = Client::of(&workspace);
    let begun = client.call("run", json!({"runId": "r1"})).unwrap();
    assert_eq!(begun.document["live"], true);
    let again = client.call("run", json!({"runId": "r1"})).unwrap_err();
    assert!(again.contains("there is a run 'r1' already"), "{again}");
    let busy = client.call("run", json!({"runId": "r2"})).unwrap_err();
    assert!(busy.starts_with("exit code 9"), "{busy}");
    let busy = client.call("resume", json!({"run": "r1"})).unwrap_err();
    assert!(busy.starts_with("exit code 9"), "{busy}");
    // A call that nobody waits for any more ends with the client, the session does not.
    let waits = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call",
        "params": {"name": "status", "arguments": {"run": "r1", "wait": "10m"}}});
    client.send(&waits.to_string());
    assert_eq!(client.close(), Some(0));
    workspace.write("go", "");
    wait_for("the end of the run", || workspace.quorum(&["status", "r1", "--json"]).json()["live"] == false);
    assert!(workspace.exists("out.txt"));
}

#[test]
fn a_client_of_an_older_version_is_served_in_that() {
    let workspace = Workspace::new();
    let mut client = Client::speaking("2025-06-18", &workspace, &["mcp"]);
    let said = client.call("explain", json!({"word": "ok"})).unwrap();
    assert_eq!(said.document["schema"], "quorum.explain/v1");
    assert_eq!(client.close(), Some(0));
}

/// Types that a model's API takes: one each, and lists of texts.
#[test]
fn schemas_of_arguments_name_one_type_each() {
    let workspace = Workspace::new();
    for arguments in [&["mcp"][..], &["mcp", "--task"]] {
        for tool in Client::start(&workspace, arguments).tools() {
            for (name, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
                let is_list = property["items"] == json!({"type": "string"});
                let expected = if is_list { "array" } else { "string" };
                assert_eq!(property["type"], expected, "{}: {name}", tool["name"]);
            }
        }
    }
}

#[test]
fn a_client_that_does_not_speak_the_protocol_is_told_so() {
    let workspace = Workspace::new();
    let refused = workspace.quorum_with(&[("QUORUM_SANDBOX", "auto")], &["mcp"]).exits(2);
    assert!(refused.stderr.contains("did not speak the protocol"), "{}", refused.stderr);
    // Lines that are no requests are passed over, and what follows is answered.
    let mut client = Client::of(&workspace);
    for line in ["garbage", "{", "[]", "{\"jsonrpc\":\"2.0\"}", &"x".repeat(100_000)] {
        client.send(line);
    }
    assert!(client.call("explain", json!({"word": "ok"})).unwrap().text.starts_with("ok: "));
    let wrong = client.call("show", json!({})).unwrap_err();
    assert!(wrong.contains("required"), "{wrong}");
    let wrong = client.call("run", json!({"mision": "mission.yaml"})).unwrap_err();
    assert!(wrong.contains("'mision' is no argument of `run`"), "{wrong}");
    let wrong = client.call("review", json!({"paths": ["nothing.txt"], "criteria": "good"})).unwrap_err();
    assert!(wrong.contains("there is no file nothing.txt") && !wrong.contains("quorum.error"), "{wrong}");
    // A number is read as the text that it is, and refused where that means nothing.
    let wrong = client.call("status", json!({"wait": 30})).unwrap_err();
    assert!(wrong.contains("`wait`: 30 what?"), "{wrong}");
    let wrong = client.call("status", json!({"run": "nobody"})).unwrap_err();
    assert!(wrong.contains("there is no run"), "{wrong}");
    let unknown = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let refused = client.ask("tools/list", unknown);
    assert_eq!(
        refused["error"]["data"]["supported"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18"]),
        "{refused}"
    );
    let newer = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let listed = client.ask("tools/list", newer);
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn an_agent_within_its_turn_says_the_same_by_tools_as_by_commands() {
    // The worker is a client itself.
    let request = |id: u64, tool: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
            .to_string()
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "worker", "version": "1"}}});
    let lines = [
        hello.to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        request(2, "progress", json!({"text": "half of it"})),
        request(3, "delegate", json!({"title": "the rest", "description": "Do it.", "to": "helper"})),
        request(4, "result", json!({"text": "My half is done."})),
        request(5, "approve", json!({})),
    ];
    let workspace = Mission::new()
        .worker("cat > /dev/null; [ -z \"$QUORUM_REVIEW_FILE\" ] || { echo SCORE: 90; exit; }; (cat requests; until [ $(grep -c '\"id\":' replies) = 5 ]; do sleep 0.05; done) | \"$QUORUM\" mcp --task > replies; echo half > out.txt")
        .agent("helper", "cat > /dev/null; echo rest > rest.txt")
        .change_agent("worker", json!({"env": {"QUORUM": env!("CARGO_BIN_EXE_quorum")}}))
        .reviewer("judge", "cat > /dev/null; echo SCORE: 90")
        .task("work", |task| task.files(["out.txt"]))
        .workspace();
    workspace.write("requests", lines.join("\n") + "\n");
    let document = workspace.run_json(0, &[]);
    let titles: Vec<_> = document["tasks"].as_array().unwrap().iter().map(|task| &task["title"]).collect();
    assert_eq!(titles, ["work", "the rest"]);
    assert!(workspace.read("replies").contains("there is no tool 'approve'"));
    let told = workspace.quorum(&["show", "work", "--json", "--full"]).exits(0).stdout;
    assert!(told.contains("My half is done."), "{told}");
}

#[test]
fn a_program_that_takes_servers_is_handed_the_tools_of_its_turn() {
    let request = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "nothing-to-do", "arguments": {"reason": "it is there already"}}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "worker", "version": "1"}}});
    // A stand-in of Claude Code, which hands the server what its arguments say and nothing of its own.
    let script = r#"cat > /dev/null; echo "$*" >> args
        named() { echo "$*" | sed "s/.*\"$name\":\"\([^\"]*\)\".*/\1/"; }
        name=command; server=$(named "$*"); name=QUORUM_TASK_DIR; dir=$(named "$*"); name=QUORUM_RESULT_FILE; result=$(named "$*")
        (cat requests; until [ $(grep -c '"id":' replies) = 2 ]; do sleep 0.05; done) |
            env -i QUORUM_TASK_DIR="$dir" QUORUM_RESULT_FILE="$result" "$server" mcp --task > replies
        echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'"#;
    let keys = |more: Value| {
        let mut keys = json!({"adapter": "claude", "run": ["/bin/sh", "-c", script, "claude"]});
        keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        keys
    };
    let mission = |more: Value| {
        let mission = Mission::new().agent_with("worker", keys(more)).task("work", |task| task.unreviewed());
        let workspace = mission.workspace();
        workspace.write("requests", format!("{hello}\n{request}\n"));
        workspace
    };
    let workspace = mission(json!({"agentTools": "mcp"}));
    workspace.quorum(&["run"]);
    let told = workspace.quorum(&["show", "work", "--json", "--full"]).exits(0).stdout;
    assert!(told.contains("it is there already"), "{told}");
    let workspace = mission(json!({"agentTools": "mcp", "adapter": "gemini"}));
    let refused = workspace.quorum(&["validate"]).exits(2);
    assert!(refused.stderr.contains("its program cannot be handed a server"), "{}", refused.stderr);
    let refused = mission(json!({"agentTools": "mcp", "queue": "far"})).quorum(&["validate"]).exits(2);
    assert!(refused.stderr.contains("`agentTools` does not apply"), "{}", refused.stderr);
}

#[test]
fn the_guide_lists_the_tools_as_clients_see_them() {
    let workspace = Workspace::new();
    let page = Page::read("docs/guides/from-your-agent.md").text;
    for arguments in [&["mcp"][..], &["mcp", "--task"]] {
        let tools = Client::start(&workspace, arguments).tools();
        for tool in tools {
            let given = tool["inputSchema"]["properties"].as_object().unwrap();
            let names: Vec<String> = given.keys().map(|name| format!("`{name}`")).collect();
            let (name, says) = (tool["name"].as_str().unwrap(), tool["description"].as_str().unwrap());
            let row = format!("| `{name}` | {} | {says} |", names.join(", "));
            assert!(page.contains(&row), "the page lacks:\n{row}");
        }
    }
}
