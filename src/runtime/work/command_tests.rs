//! Each kind of command as bytes: what is read back is the same command, and comes to the same end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::json;
use supervisor::{Access, ChildExit, MountPlan, RequestFile};

use super::agent_backends::channel_of;
use super::agent_backends::{Backend, backend_of};
use super::carried::taken_over;
use super::notices::{DeliveryContext, command_of};
use crate::agents::channel::ChannelRoute;
use crate::agents::preset::{CommandAgent, TurnSession};
use crate::agents::transport::Network;
use crate::executor::command::{Apart, CommandJob, CommandOutputs};
use crate::executor::runner::{CommandOwner, CommandRequest, Commands};
use crate::executor::spool::write_request;
use crate::executor::task_command::{CommandWork, TaskCommands};
use crate::store::{SpoolName, StateFolder};
use rules::domain::{AskId, Millis, RunId, StageKey, TaskId, TurnId};
use rules::engine::simulation::{options, plan_of};
use rules::plan::{Plan, RunOptions};

/// The variable whose value stands for a key: who plays tests is sure to have it.
const KEY: &str = "PATH";

/// An agent that prints all that it is given, the key too, and claims something.
const AGENT: &str = r#"#!/bin/sh
printf '%s\n' "$@"
env | grep -v '^_=' | sort
pwd
cat
echo complaint >&2
printf '{"output": "it is %s"}' "$A_KEY" > "$QUORUM_RESULT_FILE"
exit 3
"#;

const MISSION: &str = r#"
name: m
agents:
  plain: {run: [./agent], env: {A_KEY: "key: ${PATH}", DOLLARS: "$5 $${HOME}"}}
  claude: {adapter: claude, run: [./agent], model: opus, env: {A_KEY: "${PATH}"}}
  server: {adapter: acp, run: [./agent, --acp], permissions: {edit: ["src/**"]}}
  judge: {run: [./agent], role: reviewer, env: {A_KEY: "${PATH}"}}
channels:
  told: {type: command, run: "cat; env | sort >&2; echo {task} >&2; exit 4", sandbox: off}
settings:
  defaultChannels: [told]
  worktree: {setup: "echo ready > made; env | sort"}
tasks:
  - title: "A ${HOME} of $(work)"
    assignTo: plain
    expectations:
      - {type: script, command: "env | sort; pwd; exit 5", cwd: inner, timeout: 7m}
      - {type: script, command: "env | sort; cat secret", hidden: true}
      - {type: metric, name: score, command: "echo 7; echo errors >&2", min: 5}
    stages:
      - {name: shape, command: 'cat "$QUORUM_REVIEW_FILE"; env | sort'}
  - {title: By a preset, assignTo: claude}
  - {title: By a server, assignTo: server}
"#;

struct Scene {
    place: tempfile::TempDir,
    plan: Arc<Plan>,
    commands: TaskCommands,
}

impl Scene {
    fn new() -> Self {
        let place = supervisor::files::no_links::scratch_folder().unwrap();
        let folder = place.path().join("m");
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(folder.join("secret"), "hidden from workers").unwrap();
        fs::write(folder.join("agent"), AGENT).unwrap();
        let made = Command::new("chmod").arg("+x").arg(folder.join("agent")).status().unwrap();
        assert!(made.success());
        let options = RunOptions { mission_folder: folder.clone(), ..options() };
        let plan = plan_of(MISSION, &options);
        let state = StateFolder::at(&place.path().join("state")).unwrap();
        let run = state.run(&RunId::new("r").unwrap());
        fs::create_dir_all(run.spool_file(&SpoolName::AuditSeen(1)).parent().unwrap()).unwrap();
        let commands = TaskCommands {
            plan: plan.clone(),
            folder: run,
            secrets: Arc::new([KEY.to_owned()].into_iter().collect::<std::collections::BTreeSet<_>>().into()),
            trace: None,
            task: TaskId(0),
            attempt: 2,
            elsewhere: None,
            apart: None,
        };
        Self { place, plan, commands }
    }

    fn of(&self, task: u32) -> TaskCommands {
        TaskCommands { task: TaskId(task), ..self.commands.clone() }
    }

    fn agent(&self, name: &str) -> Arc<CommandAgent> {
        let agent = self.plan.agents.iter().find(|agent| *agent.name == *name).unwrap();
        match backend_of(agent, &self.plan.rules.workspace, &Network::Open).unwrap() {
            Backend::Command(agent) => agent,
            _ => panic!("{name} is no program"),
        }
    }

    fn file(&self, name: &str, text: &str) -> RequestFile {
        write_request(&self.place.path().join(name), text.as_bytes()).unwrap()
    }

    fn turn(&self, task: u32, agent: &str, session: TurnSession<'_>) -> CommandJob {
        let turn = turn(task);
        fs::write(self.commands.file(&SpoolName::Prompt(turn)), "do it\n").unwrap();
        fs::create_dir_all(self.commands.file(&SpoolName::Drop(turn))).unwrap();
        self.of(task).job(CommandWork::Turn(turn, &self.agent(agent), session, Some("a call"))).unwrap()
    }

    fn work(&self, work: CommandWork<'_>) -> CommandJob {
        self.commands.job(work).unwrap()
    }

    /// One of each kind, with its name.
    fn jobs(&self) -> Vec<(&'static str, CommandJob)> {
        let id = AskId { task: TaskId(0), ..AskId::default() };
        let schema = self.file("schema", "{}");
        let review = self.file("review", "a review");
        let question = |agent: &str| {
            self.work(CommandWork::Question(
                id,
                "stage",
                &self.agent(agent),
                (
                    self.file("request", "is it good?"),
                    Some(review.clone()),
                    Some(("{}".to_owned(), schema.path.clone())),
                ),
                Millis::from_secs(9),
            ))
        };
        let check = |at| self.work(CommandWork::Check(at, SpoolName::Check(TaskId(0), 2, at)));
        // As a session starts it: in a copy, confined.
        let (hidden, _) = CommandRequest::awaited(CommandOwner::Task(TaskId(0)), check(1));
        let copy = self.place.path().join("copy");
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("secret"), "a copy of it").unwrap();
        let hidden = hidden.in_copy(&self.plan.rules.workspace, copy.clone());
        let mounts = MountPlan::new(Access::Read, [(copy, Access::Write)]);
        let hidden = hidden.confined(mounts, Some(self.place.path())).job().clone();
        let apart = TaskCommands {
            apart: Some(Apart {
                folder: self.plan.rules.workspace.clone(),
                objects: self.place.path().join("objects"),
            }),
            ..self.commands.clone()
        };
        let argv = ["/bin/sh", "-c", "env | sort; cat < agent"].map(str::to_owned).to_vec();
        let finish = CommandWork::Criterion(1, 0, "env | sort; test -e agent");
        vec![
            ("turn", self.turn(0, "plain", TurnSession::New("1"))),
            ("resumed turn", self.turn(0, "plain", TurnSession::Resumed("S"))),
            ("turn by preset", self.turn(1, "claude", TurnSession::New("1"))),
            ("resumed turn by preset", self.turn(1, "claude", TurnSession::Resumed("S"))),
            ("turn by ACP", self.turn(2, "server", TurnSession::New("1"))),
            ("resumed turn by ACP", self.turn(2, "server", TurnSession::Resumed("S"))),
            ("check", check(0)),
            ("hidden check", hidden),
            ("metric", check(2)),
            ("check elsewhere", apart.job(CommandWork::Check(0, SpoolName::Baseline(TaskId(0), 0))).unwrap()),
            (
                "stage",
                self.work(CommandWork::Stage(
                    StageKey::Own(0),
                    Some(review.clone()),
                    SpoolName::Baseline(TaskId(0), 1),
                )),
            ),
            ("judge", question("judge")),
            ("judge by preset", question("claude")),
            ("approver", self.work(CommandWork::Approver(1, 0, "env | sort; echo no; exit 1"))),
            ("criterion", self.work(finish)),
            (
                "setup",
                self.work(CommandWork::Setup(self.plan.rules.workspace.clone(), SpoolName::Setup(None))),
            ),
            ("tool", self.work(CommandWork::Tool(turn(0), 1, argv, Millis::from_secs(3)))),
            ("channel", self.channel()),
        ]
    }

    fn channel(&self) -> CommandJob {
        let channel = channel_of(&self.plan, "told", &self.plan.rules.workspace).unwrap();
        let ChannelRoute::Command(program) = &channel.way else { panic!("it is a command") };
        let context = DeliveryContext {
            commands: Commands::new().0,
            state_folder: self.place.path().to_owned(),
            cwd: self.plan.rules.workspace.clone(),
            secrets: self.commands.secrets.clone(),
        };
        let notice = json!({"id": "r.n1", "runId": "r", "task": "A $(work)"});
        let stdin = self.file("notice", &notice.to_string()).path;
        command_of(&channel, program, &notice, &context, (stdin, self.place.path().join("err")))
    }
}

fn turn(task: u32) -> TurnId {
    TurnId { task: TaskId(task), attempt: 2, turn: 1 }
}

/// What a command comes to: how it ends, what is left of what it printed, and what it claims.
fn end_of(job: CommandJob) -> (String, String, String, String) {
    let outputs = job.outputs.clone();
    let kept = |file: &Option<PathBuf>| match file {
        Some(file) => fs::OpenOptions::new().append(true).create(true).open(file).unwrap().into(),
        None => Stdio::null(),
    };
    for file in [&outputs.stdout, &outputs.stderr, &outputs.result].into_iter().flatten() {
        let _ = fs::remove_file(file);
    }
    let start = job.spawn(1).unwrap();
    // Our own client is not what these tests are.
    let is_client = start.argv.get(1).is_some_and(|word| word == crate::agents::acp::WORD);
    let argv = &start.argv[if is_client { 2 } else { 0 }..];
    let mut command = Command::new(&argv[0]);
    let stdin = start.stdin.map_or_else(Stdio::null, |file| fs::File::open(file).unwrap().into());
    command.args(&argv[1..]).env_clear().envs(start.env).current_dir(start.cwd).stdin(stdin);
    let status = command.stdout(kept(&start.stdout)).stderr(kept(&start.stderr)).status().unwrap();
    let exit = ChildExit { code: status.code(), ..ChildExit::default() };
    let end = outputs.end(Ok(exit));
    let claims = end.claims().unwrap().map(|(_, claims)| claims.output);
    (format!("{:?}", end.how()), end.stdout_tail(100_000), end.stderr_tail(100_000), format!("{claims:?}"))
}

/// Which fields of a command say something.
fn told(job: &CommandJob) -> Vec<(&'static str, bool)> {
    let CommandJob {
        label,
        argv,
        variables,
        env,
        cwd,
        within,
        apart,
        stdin,
        told,
        shown,
        sealed,
        outputs,
        timeout,
        outlives_session,
        confinement,
        is_free,
        prepares,
        sees_hidden,
        copy,
    } = job;
    let CommandOutputs {
        stdout,
        stderr,
        result,
        secrets,
        limit,
        preset,
        // No command that is to begin was given up.
        given_up: _,
    } = outputs;
    vec![
        ("label", !label.is_empty()),
        ("argv", !argv.is_empty()),
        ("variables", !variables.is_empty()),
        ("env", !env.is_empty()),
        ("cwd", *cwd != Path::new("")),
        ("within", within.is_some()),
        ("apart", apart.is_some()),
        ("stdin", stdin.is_some()),
        ("told", !told.is_empty()),
        ("shown", !shown.is_empty()),
        ("sealed", *sealed),
        ("timeout", timeout.0 > 0),
        ("outlives_session", *outlives_session),
        ("confinement", confinement.is_some()),
        ("is_free", *is_free),
        ("prepares", *prepares),
        ("sees_hidden", *sees_hidden),
        ("copy", copy.is_some()),
        ("stdout", stdout.is_some()),
        ("stderr", stderr.is_some()),
        ("result", result.is_some()),
        ("secrets", !secrets.is_empty()),
        ("limit", *limit > 0),
        ("preset", preset.is_some()),
    ]
}

#[test]
fn a_command_read_back_from_its_bytes_is_the_same_command_with_the_same_end() {
    let scene = Scene::new();
    let (key, home) = (std::env::var(KEY).unwrap(), std::env::var("HOME").unwrap());
    let jobs = scene.jobs();
    for (kind, job) in &jobs {
        let bytes = serde_json::to_vec(job).unwrap();
        let read: CommandJob = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read, *job, "{kind}");
        let client = supervisor::this_program().unwrap();
        let text = String::from_utf8(bytes).unwrap().replace(client.to_str().unwrap(), "");
        assert!(!text.contains(&key) && !text.contains(&format!("\"{home}\"")), "{kind}: {text}");
        let end = end_of(job.clone());
        assert_eq!(end_of(read), end, "{kind}");
        let (how, out, err, claims) = end;
        let all = format!("{how}\n{out}\n{err}\n{claims}");
        assert!(!all.contains(&key), "{kind}: {all}");
        assert!(all.contains(&format!("HOME={home}")) || *kind == "metric", "{kind}: {all}");
        if kind.contains("turn") || kind.contains("judge") {
            let keyed = if kind.contains("ACP") { "A_KEY" } else { "****" };
            assert!(how == "Exited(3)" && all.contains("QUORUM_ATTEMPT=2"), "{kind}: {all}");
            assert!(all.contains(keyed) || kind.contains("ACP"), "{kind}: {all}");
        }
    }
    let of = |name: &str| end_of(jobs.iter().find(|(kind, _)| *kind == name).unwrap().1.clone());
    let (.., out, err, claims) = of("turn");
    assert!(out.contains("DOLLARS=$5 ${HOME}") && out.contains("QUORUM_TASK=A ${HOME} of $(work)"), "{out}");
    assert!(
        out.ends_with("do it\n") && err == "complaint\n" && claims.contains("it is key: *"),
        "{out}{err}{claims}"
    );
    assert!(of("check").1.contains("/inner\n"));
    assert!(of("hidden check").1.contains("a copy of it"));
    assert_eq!((of("metric").1, of("metric").2), ("7\n".to_owned(), String::new()));
    assert!(of("stage").1.starts_with("a review"));
    assert!(of("judge").1.ends_with("is it good?"));
    assert!(of("channel").2.ends_with("A $(work)\n"));
    let session = |name: &str| of(name).1.lines().any(|line| line == "S");
    assert!(session("resumed turn by preset") && !session("turn by preset"));

    for (field, _) in told(&jobs[0].1) {
        let tells = |(_, job): &(&str, CommandJob)| told(job).contains(&(field, true));
        assert!(jobs.iter().any(tells), "no kind has anything in `{field}`");
    }
}

#[test]
fn another_child_for_a_turn_elsewhere_looks_for_what_was_handed_out_and_uses_the_paths_of_here() {
    let scene = Scene::new();
    let turn = turn(0);
    assert!(taken_over(turn, &scene.commands).is_err());
    let folder = scene.commands.folder.carried(&turn.to_string());
    fs::create_dir_all(&folder).unwrap();
    let asked = |repository: &Path, report: &Path| {
        json!({
            "exchange": "/srv/exchange.git", "name": "r/0.2.1.0", "commit": "9", "id": "r.nonce.0.2.1.0", "queue": "gpu", "lease": 2, "wait": 3_000,
            "timeout": 4_000, "most": 5, "repository": repository, "report": report,
        })
    };
    let file = scene.commands.folder.carried_request(&turn.to_string());
    let there = Path::new("/another/machine");
    fs::write(&file, asked(there, &there.join("report")).to_string()).unwrap();
    let job = taken_over(turn, &scene.commands).unwrap();
    let here = scene.commands.folder.worktrees().join("carried.git");
    let request: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(request, asked(&here, &folder.join("report")));
    assert_eq!(job.argv[1..], ["--carried".to_owned(), file.display().to_string()]);
    assert_eq!(
        (job.label, job.cwd, job.outputs, job.stdin),
        (turn.to_string(), folder, scene.commands.turn_outputs(turn), None)
    );
    assert_eq!(job.timeout, Millis(610_000));
    assert!(job.outlives_session && job.is_free);
}
