//! One mission for each row, and whoever is at fault in it: the *party*, a scripted process or a scripted server.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::support::model::{Model, refuses, says};
use crate::support::{Workspace, poll};

use super::cells::{Cell, Fault, Kind, Row, Transport};
use super::expected::{COST, other_requests};

/// What nobody may find anywhere.
pub const KEY: &str = "sk-of-the-matrix-0815";
/// A hundredth of each pause: some tens of milliseconds behind a failed request.
const SCALE: &str = "0.01";
/// What is left of built-in time-outs of ten minutes where one has to pass: 600 ms.
const SCALE_OF_TIME_OUTS: &str = "0.001";
/// How long the party may take where it takes too long.
const TOO_LONG: &str = "1s";

/// A workspace with the mission of a cell.
pub struct Scene {
    pub cell: Cell,
    pub workspace: Workspace,
    model: Option<Model>,
    released: Arc<AtomicBool>,
}

/// What the party does as a process. `$n` is which call it is, `$here` the workspace.
fn play(cell: Cell) -> &'static str {
    let (kind, is_command) = (cell.row.kind(), matches!(cell.row.kind(), Kind::Command | Kind::Scan));
    match cell.fault {
        // Nothing is wrong with the party itself.
        Fault::CannotStart | Fault::NoBudget | Fault::NoFolder => "good",
        Fault::Auth => "echo 'HTTP 401 Unauthorized' >&2; exit 1",
        Fault::BusyOnce => "[ $n != 1 ] || { echo 'HTTP 429 Too Many Requests' >&2; exit 1; }; good",
        Fault::TimeOut => "exec sleep 30",
        Fault::Prose if cell.row == Row::Check => "echo about 3 errors",
        Fault::Prose => "echo 'I have looked at it:'; echo; good; echo; echo 'That is all.'",
        Fault::Garbage => "good > /dev/null; echo '{\"lorem\": [1, '",
        Fault::OutputLost => "good; in_the_way",
        Fault::Secret if is_command => "cat \"$here/secret.txt\"; exit 1",
        Fault::Secret if kind == Kind::Turn => "echo \"$TOKEN\" >&2; echo \"I have $TOKEN.\"; good",
        Fault::Secret if kind == Kind::Deliver => {
            "cat \"$here/secret.txt\" >&2; echo 'HTTP 503 Service Unavailable' >&2; exit 1"
        }
        Fault::Secret => {
            "[ $n != 1 ] || { echo \"I am $TOKEN\"; echo \"HTTP 503 Service Unavailable for $TOKEN\" >&2; exit 1; }; echo \"I have $TOKEN.\"; echo; good"
        }
        Fault::Killed => "[ $n != 1 ] || while [ ! -e \"$here/go\" ]; do sleep 0.02; done; good",
        Fault::Late => "good; echo > \"$here/said\"; while [ ! -e \"$here/go\" ]; do sleep 0.02; done",
    }
}

/// Where what the party prints is to be found later: a folder stands there when it ends, so that it cannot be kept.
fn output(row: Row) -> &'static str {
    match (row, row.kind()) {
        (_, Kind::Turn) => "${QUORUM_PROMPT_FILE%prompt}out",
        (_, Kind::Ask | Kind::Triage) => "${QUORUM_PROMPT_FILE%request}reply",
        (Row::Finish, _) => "$spool/1.1.finish.0.1.out",
        (Row::Probe, _) => "$spool/1.1.verification.0.1.out",
        (Row::StageCommand, _) => "$spool/1.1.stages.0.1.out",
        (Row::ApproverCommand, _) => "$spool/1.0.approval.1.0.out",
        (_, Kind::Command) => "$spool/1.1.check.0.out",
        (_, Kind::Scan | Kind::Deliver) => "$here/nothing",
    }
}

/// What the party replies where all is well.
fn reply(row: Row) -> String {
    let findings = json!({"findings": [], "summary": "looked at it"});
    let form = match row {
        Row::ScoreEvaluation => return "SCORE: 90".to_owned(),
        Row::ScorePanel => {
            json!({"scores": {"depth": {"reasoning": "as seen", "score": 4}}, "findings": [], "summary": ""})
        }
        Row::Grade => grades(),
        Row::Decompose => json!({"probes": [{"criterion": 1, "probe": "Is it one page?"}]}),
        Row::StageAsk => json!({"verdict": "pass", "reason": "it is fine"}),
        Row::RedTeam | Row::Vision => findings,
        Row::Confirm => json!({"question": false}),
        Row::Answer => json!({"answer": "The third."}),
        Row::Resolve => json!({"action": "absorb", "prompt": "use the old list"}),
        Row::Approve => json!({"decision": "approve"}),
        Row::Triage => json!({"accepted": true}),
        Row::Check => return "1".to_owned(),
        Row::Turn
        | Row::Finish
        | Row::Probe
        | Row::StageCommand
        | Row::ApproverCommand
        | Row::Scan
        | Row::Deliver => {
            return "done".to_owned();
        }
    };
    form.to_string()
}

fn grades() -> Value {
    json!({
        "criteria": {"correctness": {"grade": 1}, "completeness": {"grade": 1}, "probe-adherence": {"grade": 1}},
        "verdict": "pass", "confidence": 1, "findings": [],
    })
}

/// What the party does as a server.
fn answer(cell: Cell, call: usize, released: &AtomicBool) -> ResponseTemplate {
    let good = || says(reply(cell.row));
    match cell.fault {
        Fault::Auth => refuses(401, "no such key"),
        Fault::BusyOnce if call == 1 => refuses(429, "busy"),
        Fault::TimeOut => good().set_delay(Duration::from_secs(30)),
        Fault::Prose => says(format!("I have looked at it:\n\n{}\n\nThat is all.", reply(cell.row))),
        Fault::Garbage => says("{\"lorem\": [1, "),
        Fault::Secret if cell.row == Row::Turn => says(format!("I have {KEY}.")),
        Fault::Secret if call == 1 || cell.row == Row::Deliver => refuses(503, &format!("no room for {KEY}")),
        Fault::Secret => says(format!("I have {KEY}.\n\n{}", reply(cell.row))),
        Fault::Killed if call == 1 => good().set_delay(Duration::from_secs(30)),
        Fault::Late => {
            // Only this request is out, so the server may wait.
            poll(Duration::from_secs(20), || released.load(Ordering::Relaxed));
            good()
        }
        Fault::CannotStart
        | Fault::BusyOnce
        | Fault::OutputLost
        | Fault::NoFolder
        | Fault::Killed
        | Fault::NoBudget => good(),
    }
}

impl Scene {
    pub fn new(cell: Cell) -> Self {
        let scale = match cell.fault {
            Fault::TimeOut => SCALE_OF_TIME_OUTS,
            _ => SCALE,
        };
        let released: Arc<AtomicBool> = Arc::default();
        let model = (cell.transport == Transport::Http && cell.fault != Fault::CannotStart).then(|| {
            let (released, calls) = (released.clone(), std::sync::atomic::AtomicUsize::new(0));
            Model::new(move |_| answer(cell, calls.fetch_add(1, Ordering::Relaxed) + 1, &released))
        });
        let scene = Self { cell, workspace: Workspace::new().at_scale(scale), model, released };
        scene.write_scripts();
        scene.workspace.write("mission.yaml", scene.mission().to_string());
        scene
    }

    fn path(&self, name: &str) -> String {
        self.workspace.path(name).to_string_lossy().into_owned()
    }

    fn write_scripts(&self) {
        let workspace = &self.workspace;
        let claims =
            |cost: f64| json!({"usage": {"inputTokens": 100, "outputTokens": 10, "cost": cost}}).to_string();
        workspace.write("claims", claims(COST));
        workspace.write("free", claims(0.0));
        workspace.write("reply", reply(self.cell.row) + "\n");
        workspace.write("grades", grades().to_string());
        workspace.write("play", format!("{}\n", play(self.cell)));
        workspace.write(
            "in-the-way.sh",
            format!(
                "for spool in \"$here\"/.polpo/runs/*/work; do :; done; mkdir \"{}\"\n",
                output(self.cell.row)
            ),
        );
        workspace.write(
            "party.sh",
            "in_the_way() { . \"$here/in-the-way.sh\"; }\nhere=${0%/*}\necho \"${QUORUM_PURPOSE:-}\" >> \"$here/calls\"\nn=$(wc -l < \"$here/calls\")\n\
             good() { [ -z \"${QUORUM_RESULT_FILE:-}\" ] || cat \"$here/claims\" > \"$QUORUM_RESULT_FILE\"; cat \"$here/reply\"; }\n\
             . \"$here/play\"\n",
        );
        let free = "here=${0%/*}\n[ -z \"${QUORUM_RESULT_FILE:-}\" ] || cat \"$here/free\" > \"$QUORUM_RESULT_FILE\"\n";
        workspace.write("judge.sh", format!("{free}cat \"$here/grades\"\n"));
        workspace.write("wait.sh", format!("{free}while [ ! -e \"$here/go\" ]; do sleep 0.02; done\n"));
        workspace.write("break.sh", format!("{free}exit 1\n"));
        workspace.write("work.sh", format!("{free}{}", self.work()));
        workspace.write("red.png", one_colour());
        workspace.write("broken", "#!/nonexistent/interpreter\n");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(workspace.path("broken"), executable).expect("it is there");
    }

    /// What the worker does that is not at fault.
    fn work(&self) -> String {
        let asks = "if [ \"$QUORUM_TURN\" = 1 ]; then mkdir -p \"$QUORUM_TASK_DIR\"; echo 'Which list?' > \"$QUORUM_TASK_DIR/ask\"; fi\n";
        let of_task = match self.cell.row {
            Row::Confirm => "",
            Row::Answer => asks,
            Row::Vision => "cp \"$here/red.png\" shot.png\n",
            Row::Scan if self.cell.fault == Fault::OutputLost => "",
            Row::Scan if self.cell.fault == Fault::Secret => "echo \"$TOKEN\" > out.txt\n",
            _ => "echo words > out.txt\n",
        };
        let leaves = match self.cell.fault {
            Fault::NoFolder => "cd /; rm -rf \"$here/own\"\n",
            _ => "",
        };
        let says = match self.cell.row {
            Row::Confirm => "Shall I go on?",
            _ => "done",
        };
        format!(
            "[ \"$QUORUM_TASK\" = work ] || {{ echo \"$TOKEN\" > \"$here/secret.txt\"; exit 0; }}\n{of_task}{leaves}echo '{says}'\n"
        )
    }

    /// The agent that is at fault.
    fn party(&self) -> Value {
        let mut party = match (self.cell.transport, self.cell.fault) {
            (Transport::Command, Fault::CannotStart) => json!({"run": [self.path("broken")]}),
            (Transport::Command, _) => json!({"run": ["/bin/sh", self.path("party.sh")]}),
            (Transport::Http, _) => {
                json!({"adapter": "openai", "model": "m", "baseUrl": self.base(), "apiKey": "${THE_KEY}"})
            }
        };
        if self.cell.transport == Transport::Command {
            party["env"] = json!({"TOKEN": "${THE_KEY}"});
        }
        match self.cell.row {
            Row::ScorePanel | Row::ScoreEvaluation | Row::Grade => party["role"] = json!("reviewer"),
            Row::Vision => party["vision"] = json!(true),
            _ => {}
        }
        if self.cell.fault == Fault::TimeOut && self.cell.row != Row::Turn {
            party["timeout"] = json!(TOO_LONG);
        }
        party
    }

    /// Where the server is, or nobody.
    fn base(&self) -> String {
        let model = self.model.as_ref();
        model.map_or_else(|| "http://127.0.0.1:1/v1".to_owned(), Model::base)
    }

    /// The command that is at fault.
    fn command(&self) -> String {
        match self.cell.fault {
            // No system takes an argument of that length, so not even the shell is started.
            Fault::CannotStart => format!("true {}", "x".repeat(140_000)),
            _ => format!("sh \"{}\"", self.path("party.sh")),
        }
    }

    fn channel(&self) -> Value {
        let mut channel = match (self.cell.transport, self.cell.fault) {
            (Transport::Command, Fault::CannotStart) => {
                json!({"type": "command", "run": [self.path("broken")]})
            }
            (Transport::Command, _) => json!({"type": "command", "run": ["/bin/sh", self.path("party.sh")]}),
            (Transport::Http, _) => {
                json!({"type": "webhook", "url": format!("{}/chat/completions", self.base())})
            }
        };
        if self.cell.fault == Fault::TimeOut {
            channel["timeout"] = json!(TOO_LONG);
        }
        channel
    }

    /// What is asked of the task `work`.
    fn task(&self) -> Value {
        let timed = |mut what: Value| {
            if self.cell.fault == Fault::TimeOut {
                what["timeout"] = json!(TOO_LONG);
            }
            what
        };
        match self.cell.row {
            Row::Turn if self.cell.fault == Fault::TimeOut => {
                json!({"assignTo": "party", "maxDuration": TOO_LONG})
            }
            Row::Turn => json!({"assignTo": "party"}),
            Row::ScorePanel => json!({"expectations": [
                {"type": "llm_review", "criteria": "good", "reviewers": ["party"], "dimensions": [{"name": "depth", "weight": 1}]}
            ]}),
            Row::ScoreEvaluation => json!({"review": "required"}),
            Row::Grade => json!({"verification": {"rubric": "default-task"}}),
            Row::Decompose => json!({"acceptance": ["it is short"], "decomposer": {"agent": "party"}}),
            Row::StageAsk => json!({"stages": [{"name": "legal", "agent": "party"}]}),
            Row::Approve => json!({"requiresApproval": {"approvers": ["party"]}}),
            Row::Check => json!({"expectations": [timed(match self.cell.fault {
                Fault::Prose | Fault::Garbage => json!({"type": "metric", "name": "errors", "command": self.command(), "min": 1}),
                _ => json!({"type": "script", "command": self.command()}),
            })]}),
            Row::Finish => json!({"verify": {"commands": [self.command()], "maxAttempts": 0}}),
            Row::Probe => json!({
                "acceptance": [format!("`{}` exits 0", self.command())], "verification": {"grader": "heuristic"},
            }),
            Row::StageCommand => {
                json!({"stages": [timed(json!({"name": "licence", "command": self.command()}))]})
            }
            Row::ApproverCommand => json!({"requiresApproval": {"approvers": [{"command": self.command()}]}}),
            Row::Scan => json!({"targetFiles": ["out.txt"]}),
            Row::RedTeam => json!({"stakes": "high"}),
            Row::Vision | Row::Confirm | Row::Answer | Row::Resolve | Row::Triage | Row::Deliver => json!({}),
        }
    }

    /// The mission: `before`, then `work`, in which the party is at fault; beside them `aside`, which keeps the run alive where
    /// something comes too late.
    fn mission(&self) -> Value {
        let run = |script: &str| json!({"run": ["/bin/sh", self.path(script)]});
        let mut worker = run("work.sh");
        worker["env"] = json!({"TOKEN": "${THE_KEY}"});
        let price = json!({"input": 1000, "output": 1000});
        let mut mission = json!({
            "name": "faulty",
            "agents": {"worker": worker, "party": self.party()},
            "settings": {"maxRetries": 0, "maxFixAttempts": 0, "maxAttempts": 1, "maxAssessmentRetries": 0, "baseline": false,
                         "prices": {"m": price, "scripted-1": price}},
            "tasks": [
                {"title": "before", "assignTo": "worker", "review": "none"},
                {"title": "work", "assignTo": "worker", "review": "none", "dependsOn": ["before"]},
            ],
        });
        let work = mission["tasks"][1].as_object_mut().expect("it is one");
        work.extend(self.task().as_object().expect("it is one").clone());
        if self.cell.fault == Fault::NoFolder {
            work.insert("workspace".to_owned(), json!("own"));
        }
        if self.cell.fault == Fault::NoBudget {
            let (requests, _) = other_requests(self.cell.row);
            mission["budget"] = json!({"maxRequests": requests});
        }
        if self.cell.fault == Fault::Late && self.cell.row.kind() != Kind::Triage {
            mission["agents"]["patient"] = run("wait.sh");
            let aside =
                json!({"title": "aside", "assignTo": "patient", "review": "none", "workspace": "elsewhere"});
            mission["tasks"].as_array_mut().expect("it is one").push(aside);
        }
        self.add_what_the_row_needs(&mut mission, &run);
        mission
    }

    fn add_what_the_row_needs(&self, mission: &mut Value, run: &dyn Fn(&str) -> Value) {
        match self.cell.row {
            Row::Decompose => {
                mission["agents"]["judge"] = run("judge.sh");
                mission["agents"]["judge"]["role"] = json!("reviewer");
            }
            Row::RedTeam => mission["redTeam"] = json!({"agent": "party", "minStakes": "high"}),
            Row::Vision => {
                mission["vision"] = json!({
                    "kind": "llm_vision", "agent": "party", "screenshots": ["shot.png"], "expectations": ["a red header"],
                });
            }
            Row::Confirm | Row::Answer | Row::Triage => mission["settings"]["orchestrator"] = json!("party"),
            Row::Resolve => {
                mission["settings"]["orchestrator"] = json!("party");
                mission["agents"]["breaker"] = run("break.sh");
                mission["tasks"][0]["assignTo"] = json!("breaker");
            }
            // It tells of one thing only, in the middle of the run.
            Row::Deliver => {
                mission["channels"] = json!({"ops": self.channel()});
                mission["qualityGates"] = json!([
                    {"name": "half", "afterTasks": ["before"], "blocksTasks": ["work"], "notifyChannels": ["ops"]},
                ]);
                mission["agents"].as_object_mut().expect("it is one").remove("party");
            }
            Row::Check | Row::Finish | Row::Probe | Row::StageCommand | Row::ApproverCommand | Row::Scan => {
                mission["agents"].as_object_mut().expect("it is one").remove("party");
            }
            Row::Turn
            | Row::ScorePanel
            | Row::ScoreEvaluation
            | Row::Grade
            | Row::StageAsk
            | Row::Approve => {}
        }
    }

    /// How often the party was started or asked.
    pub fn calls(&self) -> usize {
        match &self.model {
            Some(model) => model.asked().len(),
            None => self.workspace.lines("calls").len(),
        }
    }

    /// Whether the party works, and where it is to be too late has said all that it has to say.
    pub fn is_out(&self) -> bool {
        let says_more = self.cell.fault == Fault::Late && self.model.is_none();
        self.calls() > 0 && (!says_more || self.workspace.exists("said"))
    }

    /// Lets a server reply that waits.
    pub fn release_server(&self) {
        self.released.store(true, Ordering::Relaxed);
    }

    /// Lets everybody go on who waits.
    pub fn release(&self) {
        self.release_server();
        self.workspace.write("go", "");
    }
}

/// A small picture.
fn one_colour() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 8, 4);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("a header can be written");
    let pixels = [250, 0, 0].repeat(32);
    writer.write_image_data(&pixels).expect("pixels can be written");
    drop(writer);
    bytes
}
