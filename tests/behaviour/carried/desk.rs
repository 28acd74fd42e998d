//! The desk of a run: people on other machines decide and read, under the operator's key.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{KEY, Process, Scene, text};
use crate::support::journal::code_of;
use crate::support::scenes::approvals::{only_approval, waits};
use crate::support::{BINARY, Mission, Running, Workspace, wait_for, wait_for_file};

const REFUSED: &str = "the command carries no code of the key of this run's operator";
const OPERATOR: &str = "a text that operators know, and nobody else";

impl Scene {
    /// A run that waits for a person, and its id.
    fn waiting(&self, mission: Mission) -> (Workspace, Running, String) {
        let workspace = self.of(mission.setting("evaluate", false), "exchange.git");
        let mut command = workspace.command(&["run", "mission.yaml", "--wait-approvals", "5m"]);
        command
            .env("TEMPORAL_ADDRESS", &self.address)
            .env("QUORUM_WORKER_KEY", KEY)
            .env("QUORUM_OPERATOR_KEY", OPERATOR);
        let running = Running::start(command);
        wait_for("the run", || workspace.path(".polpo/runs").exists());
        waits(&workspace);
        let id = workspace.run_folder().file_name().unwrap().to_string_lossy().into_owned();
        (workspace, running, id)
    }

    /// A run whose first task waits for a person, and then until there is a file.
    fn followed(&self, go: &Path) -> (Workspace, Running, String) {
        let script = format!(
            "echo one; echo of errors >&2; until test -e {}; do sleep 0.05; done; head -c 700000 /dev/zero | tr '\\0' x; echo last",
            go.display()
        );
        let mission = Mission::new()
            .worker(script)
            .task("a", |task| task.set("requiresApproval", true))
            .task("b", |task| task.needs("a"))
            .key("qualityGates", json!([{"name": "g", "afterTasks": ["a"], "blocksTasks": ["b"]}]));
        self.waiting(mission)
    }

    /// A command of somebody on a machine that has nothing of the run but the key.
    fn far(&self, key: Option<&str>, line: &str) -> Command {
        let mut command = self.quorum("far");
        command
            .args(line.split(' '))
            .args(["--via", "temporal"])
            .env("USER", "eve")
            .current_dir(self.path("far"));
        if let Some(key) = key {
            command.env("QUORUM_OPERATOR_KEY", key);
        }
        command
    }

    fn asked(&self, line: &str) -> Output {
        self.far(Some(OPERATOR), line).output().unwrap()
    }

    /// What a desk answers to a call, however that is made.
    fn called(&self, run: &str, number: u32, call: &Value) -> Value {
        self.executed("quorum.desk", &format!("run.{run}"), &number.to_string(), call)
    }

    /// What comes of an activity that anybody has begun.
    fn executed(&self, kind: &str, queue: &str, id: &str, input: &Value) -> Value {
        let program = std::env::var_os("QUORUM_TEMPORAL").expect("there is a server");
        let output = Command::new(program)
            .args(["activity", "execute", "--address", &self.address, "--type", kind, "-o", "json"])
            .args(["--task-queue", &format!("quorum.1.{queue}"), "--activity-id", id])
            .args(["--heartbeat-timeout", "10s"])
            .args(["--schedule-to-close-timeout", "30s", "--input", &input.to_string()])
            .env("HOME", self.path("far"))
            .output()
            .unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        answer["result"].clone()
    }
}

/// A command of a moment under a key, as it goes to the desk of a run.
fn call(run: &str, key: &str, at: u64, line: &str) -> Value {
    let words: Vec<&str> =
        ["quorum"].into_iter().chain(line.split(' ')).chain(["--via", "temporal"]).collect();
    let covered = json!([run, words, "eve", at, line]);
    let code = code_of(key.as_bytes(), &format!("desk 1\n{covered}"));
    json!({"words": words, "by": "eve", "at": at, "nonce": line, "code": code, "read": [0, 0]})
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

/// Exit code, output and errors of a command in the workspace of a run.
fn here(workspace: &Workspace, line: &str) -> (Option<i32>, String, String) {
    let arguments: Vec<&str> = line.split(' ').collect();
    let finished = workspace.quorum_with(&[("QUORUM_OPERATOR_KEY", OPERATOR)], &arguments);
    (finished.code(), finished.stdout, finished.stderr)
}

fn parts(output: &Output) -> (Option<i32>, String, String) {
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_person_decides_and_reads_from_another_machine_as_on_that_of_the_run() {
    let Some(scene) = Scene::new() else { return };
    let (workspace, running, run) = scene.followed(&scene.path("go"));
    for line in [
        "status RUN",
        "status RUN --json",
        "inbox RUN",
        "inbox RUN --json",
        "events RUN",
        "events RUN --format jsonl",
        "logs a RUN",
        "logs nothing RUN",
        "gate g RUN",
        "gate g --run RUN --json",
    ] {
        let line = line.replace("RUN", &run);
        // Times go on meanwhile.
        let (before, there, after) =
            (here(&workspace, &line), parts(&scene.asked(&line)), here(&workspace, &line));
        assert!(there == before || there == after, "{line}: {before:#?} {there:#?}");
    }

    running.kill();
}

#[test]
fn a_person_decides_from_another_machine_and_follows_what_comes_of_it() {
    let Some(scene) = Scene::new() else { return };
    let go = scene.path("go");
    let (workspace, running, run) = scene.followed(&go);
    let followers =
        ["logs a -f --run RUN", "logs b -f --stderr RUN", "events RUN -f", "status RUN --watch --exit-code"];
    let followers = followers.map(|line| {
        let mut command = scene.far(Some(OPERATOR), &line.replace("RUN", &run));
        let errors = fs::File::create(scene.path("errors")).unwrap();
        command.stdout(fs::File::create(scene.path(&line.replace(' ', "_"))).unwrap()).stderr(errors);
        (line, Process::of(command))
    });
    let id = only_approval(&workspace);
    // The machine may be busy: the fastest of three is what the way there takes.
    let mut took = Vec::new();
    for said in ["applied", "already so", "already so"] {
        let begun = Instant::now();
        let approved = scene.asked(&format!("approve {id}"));
        took.push(begun.elapsed());
        assert_eq!(parts(&approved), (Some(0), format!("approve {id}: {said}\n"), String::new()));
    }
    assert!(took.iter().min() < Some(&Duration::from_secs(2)), "{took:?}");
    let followed = scene.path("logs_a_-f_--run_RUN");
    wait_for_file(&followed);
    assert_eq!(fs::read_to_string(&followed).unwrap(), "one\n", "it is told while the agent works");
    let again = scene.asked(&format!("approve {id} --as ada --json"));
    assert_eq!(
        (again.status.code(), text(&again.stdout).contains("already-so")),
        (Some(0), true),
        "{again:?}"
    );
    fs::write(&go, "").unwrap();
    running.finish().exits(0);
    for (line, follower) in followers {
        assert_eq!(follower.wait_with_output().status.code(), Some(0), "{line}");
        let there = fs::read_to_string(scene.path(&line.replace(' ', "_"))).unwrap();
        if !line.starts_with("status") {
            assert!(there == here(&workspace, &line.replace("RUN", &run)).1, "{line}: {} bytes", there.len());
        }
    }
    let events = workspace.events();
    let resolved = crate::support::events::named(&events, "approval:resolved");
    assert_eq!((&resolved[0]["status"], &resolved[0]["resolvedBy"]), (&json!("approved"), &json!("eve")));

    // The desk is closed with its session.
    let late = scene.asked(&format!("status {run}"));
    assert_eq!(late.status.code(), Some(9), "{late:?}");
    assert!(text(&late.stderr).contains("nobody answers at the desk"), "{late:?}");
}

#[test]
fn a_command_without_a_new_code_of_the_operator_is_refused_and_told_once() {
    let Some(scene) = Scene::new() else { return };
    let said = scene.path("said");
    let inside = format!(
        "{BINARY} approve $QUORUM_RUN_ID.0.1 --via temporal 2> {0}.part; echo $? >> {0}.part; mv {0}.part {0}; sleep 1",
        said.display()
    );
    let mission = Mission::new()
        .worker("true")
        .agent("inside", inside)
        .task("a", |task| task.set("requiresApproval", true))
        .task("b", |task| task.by("inside"));
    let (workspace, running, run) = scene.waiting(mission);
    let id = only_approval(&workspace);
    let approve = format!("approve {id}");

    wait_for_file(&said);
    let said = fs::read_to_string(&said).unwrap();
    assert!(said.contains("refused to agents of a run") && said.ends_with("\n9\n"), "{said}");

    for _ in 0..2 {
        let output = scene.far(Some("another key"), &approve).output().unwrap();
        assert_eq!(output.status.code(), Some(9), "{output:?}");
        assert!(text(&output.stderr).contains(REFUSED), "{output:?}");
    }
    let output = scene.far(None, &approve).output().unwrap();
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    assert!(text(&output.stderr).contains("no key of the operator"), "{output:?}");
    for line in ["approve", "status", "cancel", "logs a"] {
        let output = scene.asked(line);
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
    }

    let warned = here(&workspace, &format!("status {run}")).1;
    assert_eq!(warned.matches(REFUSED).count(), 1, "{warned}");
    running.kill();
}

#[test]
fn a_code_is_good_for_one_command_of_its_run_soon_and_once() {
    let Some(scene) = Scene::new() else { return };
    let go = scene.path("go");
    let worker = format!("until test -e {}; do sleep 0.05; done", go.display());
    let mission = Mission::new().worker(worker).task("a", |task| task.set("requiresApproval", true));
    let (workspace, running, run) = scene.waiting(mission);
    let id = only_approval(&workspace);
    let approve = format!("approve {id}");
    let mut number = 0;
    let mut called = |call: &Value| {
        number += 1;
        scene.called(&run, number, call)
    };
    let mut without = call(&run, OPERATOR, now(), &approve);
    without["code"] = json!("");
    assert_eq!(called(&without), json!({"Err": REFUSED}));
    let mut changed = call(&run, OPERATOR, now(), &format!("reject {id} --reason no"));
    changed["words"] = call(&run, OPERATOR, now(), &approve)["words"].clone();
    assert_eq!(called(&changed), json!({"Err": REFUSED}));
    assert_eq!(called(&call("another-run", OPERATOR, now(), &approve)), json!({"Err": REFUSED}));
    let old = "the code of the command is old, of an earlier session, or the clocks of both machines differ";
    for at in [1, now() - 600_000, now() + 600_000] {
        assert_eq!(called(&call(&run, OPERATOR, at, &approve)), json!({"Err": old}));
    }

    // What is no command of a desk, or of another run, is not done either.
    for line in ["run mission.yaml", "status 20200101-000000-000", "clean --all --yes", "--carried request"] {
        let mut wrong = call(&run, OPERATOR, now(), line);
        let exit = loop {
            let answer = called(&wrong)["Ok"].clone();
            if let Some(exit) = answer["exit"].as_i64() {
                break exit;
            }
            assert_eq!(answer["pieces"][0], json!([]), "{line}");
            wrong["read"][1] = json!(
                wrong["read"][1].as_u64().unwrap() + answer["pieces"][1].as_array().unwrap().len() as u64
            );
        };
        assert_ne!(exit, 0, "{line}");
    }
    assert_eq!(only_approval(&workspace), id, "nothing has approved it");

    // A code is good for one command: all of it is told, and then it is used.
    let mut good = call(&run, OPERATOR, now(), &approve);
    let printed = format!("{approve}: applied\n");
    assert_eq!(called(&good), json!({"Ok": {"pieces": [printed.as_bytes(), []], "exit": null}}));
    good["read"][0] = json!(printed.len());
    assert_eq!(called(&good), json!({"Ok": {"pieces": [[], []], "exit": 0}}));
    let used = "the code of the command was used";
    for _ in 0..2 {
        assert_eq!(called(&good), json!({"Err": used}));
    }
    fs::write(&go, "").unwrap();
    let told = running.finish().exits(0).stderr;
    for why in [REFUSED, old, used] {
        assert_eq!(told.matches(why).count(), 1, "{told}");
    }
}

/// What an agent tries that knows all that a person knows: at the run, and at its desk; as itself, and as a process that has nothing
/// to do with it.
fn tries(scene: &Scene, workspace: &Workspace, go: &Path, said: &Path) -> String {
    let (go, said, state) = (go.display(), said.display(), workspace.path(".polpo"));
    let home = scene.path("far");
    let knows = [
        format!("HOME={}", home.display()),
        format!("QUORUM_STATE_DIR={}", state.display()),
        format!("QUORUM_OPERATOR_KEY={OPERATOR}"),
        format!("QUORUM_WORKER_KEY={KEY}"),
        format!("TEMPORAL_ADDRESS={}", scene.address),
    ];
    let knows: String = knows.iter().map(|variable| format!("'{variable}' ")).collect();
    let mut script = String::new();
    for via in ["", "--via temporal"] {
        for how in [format!("env {knows}"), format!("setsid -w env -i PATH=\"$PATH\" {knows}")] {
            script += &format!(
                "{how} {BINARY} approve r.0.1 {via} >> {said}.part 2>&1; echo exit $? >> {said}.part\n"
            );
        }
    }
    format!("{script}mv {said}.part {said}\nuntil test -e {go}; do sleep 0.05; done\n")
}

#[test]
fn a_person_decides_about_a_run_whose_session_is_hosted_and_none_of_its_agents_does() {
    let Some(scene) = Scene::new() else { return };
    let [go, said, script] = ["go", "said", "tries"].map(|name| scene.path(name));
    let mission = Mission::new()
        .worker("echo one")
        .agent("inside", format!("sh {}", script.display()))
        .task("a", |task| task.set("requiresApproval", true))
        .task("b", |task| task.by("inside"));
    let workspace = scene.of(mission.setting("evaluate", false), "exchange.git");
    fs::create_dir_all(scene.path("far")).unwrap();
    fs::write(&script, tries(&scene, &workspace, &go, &said)).unwrap();
    let mut host = scene.host_command(&workspace, "one");
    host.env("QUORUM_OPERATOR_KEY", OPERATOR);
    let _host = Process::of(host);
    let run = ["run", "mission.yaml", "--hosted", "--run-id", "r", "--wait-approvals", "5m"];
    let running = scene.start(&workspace, &run);

    wait_for_file(&said);
    let said = fs::read_to_string(&said).unwrap();
    assert_eq!(said.matches("refused to agents of a run").count(), 4, "{said}");
    assert_eq!(said.matches("exit 9").count(), 4, "{said}");
    assert_eq!(only_approval(&workspace), "r.0.1");

    // Nor who has the key of the team alone: a host says `run` and nothing else.
    let hosted = json!({
        "run": "r", "folder": workspace.root(), "words": ["approve", "r.0.1"], "prints_progress": true,
    });
    let (id, exchange, commit) = ("r.nonce.x", workspace.path(".polpo"), hosted.to_string());
    let covered = format!("carried 1\n@sessions\n{id}\n{}\n{commit}", exchange.display());
    let code = code_of(KEY.as_bytes(), &covered);
    let job = json!({"form": 1, "id": id, "exchange": exchange, "commit": commit, "code": code});
    let second = Process::of({
        let mut second = scene.host_command(&workspace, "other");
        second.env("QUORUM_OPERATOR_KEY", OPERATOR);
        second
    });
    let ended = scene.executed("quorum.command", "@sessions", id, &job);
    assert_ne!(ended["exit"]["code"], 0, "{ended:#}");
    drop(second);
    assert_eq!(only_approval(&workspace), "r.0.1");

    for (key, why) in [(Some("another key"), REFUSED), (None, "no key of the operator")] {
        let output = scene.far(key, "approve r.0.1").output().unwrap();
        assert_eq!(output.status.code(), Some(9), "{output:?}");
        assert!(text(&output.stderr).contains(why), "{output:?}");
    }
    let mut old = call("r", OPERATOR, now() - 600_000, "approve r.0.1");
    assert!(scene.called("r", 1, &old)["Err"].to_string().contains("is old"));
    old["code"] = json!("");
    assert_eq!(scene.called("r", 2, &old), json!({"Err": REFUSED}));
    assert_eq!(only_approval(&workspace), "r.0.1");

    for line in ["status r --json", "inbox r", "events r", "logs b --run r"] {
        let (before, there, after) =
            (here(&workspace, line), parts(&scene.asked(line)), here(&workspace, line));
        assert!(there == before || there == after, "{line}: {before:#?} {there:#?}");
    }
    let approved = parts(&scene.asked("approve r.0.1"));
    assert_eq!(approved, (Some(0), "approve r.0.1: applied\n".to_owned(), String::new()));
    fs::write(&go, "").unwrap();
    running.finish().exits(0);
    let resolved = workspace.events();
    let resolved = crate::support::events::named(&resolved, "approval:resolved");
    assert_eq!((&resolved[0]["status"], &resolved[0]["resolvedBy"]), (&json!("approved"), &json!("eve")));
}
