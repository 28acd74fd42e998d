//! Who is asked by an effect, and what a plain word comes to as an answer.

use rules::domain::{
    Answer, BarrierId, DeclaredVerdict, Digest, Finding, FindingsReport, GateId, GradeGiven, Millis, Opinion,
    Points, Purpose, RubricReply, Severity, StageKey, TaskId, TurnId,
};
use rules::engine::simulation::{Response, good, options};
use rules::engine::{Asked, Command, Effect, Job, State};
use rules::plan::{ApproverPlan, RunOptions};

use super::Says;

/// Events that happen by themselves and are no news.
pub const BY_ITSELF: [&str; 7] =
    ["prompt", "baseline", "notes", "files", "screenshots", "letter", "delivery"];

/// The agent that is asked by an effect, and the task that it is about.
pub fn ask(state: &State, effect: &Effect) -> String {
    let title = |task: &TaskId| state.plan.task(*task).title.to_string();
    let step_name = |task: &TaskId, step: &StageKey| state.plan.task(*task).step_name(*step).to_owned();
    match effect {
        Effect::PreparePrompt(turn) => format!("prompt {}", title(&turn.task)),
        Effect::NoteFiles { turn, .. } => format!("notes {}", title(&turn.task)),
        Effect::RunTurn { turn, .. } => format!("worker {}", title(&turn.task)),
        Effect::Job { turn, job: Job::Scan { .. } } => format!("files {}", title(&turn.task)),
        Effect::Job { turn, job: Job::Baseline } => format!("baseline {}", title(&turn.task)),
        Effect::Job { turn, job: Job::Look(look) } => format!("{} {}", look.as_str(), title(&turn.task)),
        Effect::Job { turn, job: Job::Finish(command) } => {
            format!("finish {} {}", title(&turn.task), command + 1)
        }
        Effect::Job { turn: TurnId { task, .. }, job: Job::Check(check) } => {
            format!("check {} {}", title(task), check + 1)
        }
        Effect::Job { turn: TurnId { task, .. }, job: Job::Grade(_) } => format!("grader {}", title(task)),
        Effect::Job { turn: TurnId { task, .. }, job: Job::Stage(StageKey::VISION, 0) } => {
            format!("screenshots {}", title(task))
        }
        Effect::Job { turn: TurnId { task, .. }, job: Job::Stage(step, _) } => {
            format!("stage {} {}", title(task), step_name(task, step))
        }
        Effect::Ask { id, purpose: Purpose::Score(_), agent, .. } => {
            format!("reviewer {} {}", title(&id.task), state.plan.agent(*agent).name)
        }
        Effect::Audit { .. } => "audit".to_owned(),
        Effect::DeliverWork { .. } => "delivery of the work".to_owned(),
        Effect::Job { turn: TurnId { task, .. }, job: Job::Artifacts(_) } => {
            format!("artifacts {}", title(task))
        }
        Effect::Job { turn: TurnId { task, .. }, job: Job::Merge(_) } => format!("merge {}", title(task)),
        Effect::Job { turn: TurnId { task, .. }, job: Job::PeerCheck(peer, check) } => {
            format!("check {}.{check} on {}", title(peer), title(task))
        }
        Effect::Job { turn: TurnId { task, .. }, job: Job::Approver { approver, .. } } => {
            format!("approver {} {}", title(task), approver + 1)
        }
        Effect::Ask { id, purpose, .. } => {
            let about = match purpose {
                Purpose::Stage { step, .. } => step_name(&id.task, step),
                other => other.as_str().to_owned(),
            };
            format!("agent {} {about}", title(&id.task))
        }
        Effect::Deliver { number, .. } => {
            let open = state.notices.open(*number);
            format!("delivery {}", open.map_or("", |open| &open.channel))
        }
        Effect::File { .. } => "letter".to_owned(),
        Effect::KillTurn { turn, .. } => format!("letter {}", title(&turn.task)),
        Effect::StopTask(task) => format!("letter {}", title(task)),
        Effect::StopAll => "letter".to_owned(),
    }
}

/// An approver that is an agent answers as whoever is asked does.
pub fn is_asked(state: &State, effect: &Effect) -> bool {
    let Effect::Job { turn: TurnId { task, .. }, job: Job::Approver { approver, .. } } = effect else {
        return false;
    };
    let approvals = &state.plan.task(*task).approvals;
    let mut approvers = approvals.iter();
    let asked = approvers.find_map(|approval| approval.approvers.get(*approver as usize));
    matches!(asked, Some(ApproverPlan::Agent(_)))
}

/// All goes well, and whoever is asked is content or has nothing to add.
pub fn fine(state: &State, effect: &Effect) -> Response {
    let Effect::Ask { purpose, .. } = effect else {
        return good(state, effect);
    };
    match purpose {
        Purpose::Score(_) => good(state, effect),
        Purpose::Decompose { .. } => Response::Unreadable,
        Purpose::Confirm | Purpose::Answer | Purpose::Resolve { .. } => replies(state, effect, &Says::No),
        Purpose::Approve { .. } => replies(state, effect, &Says::Yes),
        Purpose::Grade { .. } => replies(state, effect, &Says::Grades(&[100; 9], "pass", 90)),
        Purpose::Stage { step: StageKey::Own(_), .. } => replies(state, effect, &Says::Pass("fine")),
        Purpose::Stage { .. } => Response::Answer(Answer::Findings(FindingsReport::whole(Vec::new()))),
    }
}

pub fn replies(state: &State, effect: &Effect, says: &Says) -> Response {
    match effect {
        Effect::Ask { id, purpose, .. } => Response::Answer(answer(state, id.task, *purpose, says)),
        other => panic!("{other:?} is no ask"),
    }
}

/// Makes the answer that these words mean for the purpose of the call.
fn answer(state: &State, task: TaskId, about: Purpose, says: &Says) -> Answer {
    let opinion = |verdict, reason: &str| {
        Answer::Opinion(Box::new(Opinion {
            verdict,
            reason: reason.to_owned(),
            findings: vec![Finding::new(Severity::Low, "a comma is missing")],
            prior: Vec::new(),
        }))
    };
    let reason = || "so".to_owned();
    match (says, about) {
        (Says::Yes, Purpose::Approve { .. }) => Answer::Approve,
        (Says::No, Purpose::Approve { .. }) => Answer::Reject { reason: reason() },
        (Says::Open, _) => Answer::Undecided { reason: reason() },
        (Says::No, Purpose::Resolve { .. }) => Answer::Unresolvable { reason: reason() },
        (Says::No, Purpose::Confirm) => Answer::IsQuestion(false),
        (Says::Yes, _) => Answer::IsQuestion(true),
        (Says::No, _) => Answer::DoesNotKnow,
        (Says::Answer(text), _) => Answer::Text((*text).to_owned()),
        (Says::Absorb, _) => Answer::Absorb { prompt: "without it".to_owned() },
        (Says::Retry, _) => Answer::Retry { reason: reason() },
        (Says::Pass(reason), _) => opinion(DeclaredVerdict::Pass, reason),
        (Says::Fail(reason), _) => opinion(DeclaredVerdict::Fail, reason),
        (Says::Refer(reason), _) => opinion(DeclaredVerdict::Refer, reason),
        (Says::Found(severity), _) => {
            Answer::Findings(FindingsReport::whole(vec![Finding::new(named(severity), "x")]))
        }
        (Says::Grades(points, verdict, confidence), _) => {
            let verification = state.plan.task(task).verification();
            let criteria = verification.map_or(&[][..], |verification| &verification.criteria);
            let given = criteria.iter().zip(*points).map(|(criterion, points)| GradeGiven {
                criterion: criterion.clone(),
                points: Points::whole(*points),
                reasoning: "seen".to_owned(),
            });
            Answer::Grades(Box::new(RubricReply {
                grades: given.collect(),
                verdict: named(verdict),
                confidence: Points::whole(*confidence),
                findings: Vec::new(),
                prior: Vec::new(),
            }))
        }
    }
}

pub fn words(says: &Says) -> String {
    match says {
        Says::Yes => "yes".to_owned(),
        Says::No => "no".to_owned(),
        Says::Open => "leaves it open".to_owned(),
        Says::Answer(text) => (*text).to_owned(),
        Says::Absorb => "the task can do without".to_owned(),
        Says::Retry => "it is to be tried again".to_owned(),
        Says::Pass(reason) => format!("pass {reason}"),
        Says::Fail(reason) => format!("fail {reason}"),
        Says::Refer(reason) => format!("refer {reason}"),
        Says::Found(severity) => format!("found something {severity}"),
        Says::Grades(points, verdict, confidence) => format!("{points:?}, {verdict}, {confidence} % sure"),
    }
}

/// The value of a type of the domain that has this public name.
pub fn named<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let value = serde_json::Value::String(name.to_owned());
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn verdict(passed: bool) -> &'static str {
    if passed { "passes" } else { "fails" }
}

/// The number beside the size marks the content.
pub fn files(are: &str) -> Response {
    match are {
        "there" => Response::Files(Some(1), 0),
        "changed" => Response::Files(Some(1), 1),
        "empty" => Response::Files(Some(0), 0),
        "missing" => Response::Files(None, 0),
        "there, but they say nothing" => Response::Hollow,
        other => panic!("files are not {other}"),
    }
}

pub fn asked(text: &str, detected: bool, call: bool) -> Asked {
    Asked { text: text.to_owned(), detected, call: call.then(|| Box::new(Digest::of(text.as_bytes()))) }
}

/// Options of a run that waits a minute for people, changed by flags as on the command line.
pub fn with_flags(flags: &str) -> RunOptions {
    let mut options = RunOptions { wait_approvals: Some(Millis::from_secs(60)), ..options() };
    let mut words = flags.split_whitespace();
    while let Some(flag) = words.next() {
        let mut value = || words.next().expect("the flag has a value");
        match flag {
            "--jobs" => options.jobs = Some(value().parse().expect("a number")),
            "--only" => options.only.push(value().to_owned()),
            "--wait-approvals" => {
                let wait = value().trim_end_matches('s').parse::<u64>().map(Millis::from_secs);
                options.wait_approvals = Some(wait.expect("seconds"));
            }
            "--fail-fast" => options.fail_fast = true,
            "--no-eval" => options.no_eval = true,
            "--strict" => options.strict = true,
            other => panic!("{other} is no flag here"),
        }
    }
    options
}

/// The words of a person as a command.
pub fn command(state: &State, verb: &str, rest: &str) -> Command {
    let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let (name, number) = name.split_once('#').unwrap_or((name, ""));
    let asked = |task: TaskId| number.parse().unwrap_or(state.task(task).consent.asked);
    let hold = || {
        let index = state.plan.barriers.iter().position(|hold| &*hold.name == name);
        BarrierId::from_index(index.unwrap_or_else(|| panic!("no hold is named {name}")))
    };
    let reached = |hold: BarrierId| number.parse().unwrap_or(state.barrier(hold).number);
    match verb {
        "approve" => Command::approve(id_of(state, name), asked(id_of(state, name))),
        "reject" => Command::reject(id_of(state, name), asked(id_of(state, name)), "no"),
        "answer" => Command::Answer {
            task: id_of(state, name),
            number: asked(id_of(state, name)),
            text: text.to_owned(),
        },
        "pass" => Command::approve(hold(), reached(hold())),
        "refuse" => Command::reject(hold(), reached(hold()), "no"),
        "cancel" if name.is_empty() => Command::CancelRun,
        "cancel" => Command::CancelTask { task: id_of(state, name) },
        "pause" => Command::Pause,
        "override" => {
            let gate = state.plan.gates.iter().position(|gate| &*gate.name == name);
            Command::OverrideGate {
                gate: GateId::from_index(gate.expect("the gate is in the mission")),
                reason: "risk".to_owned(),
            }
        }
        other => panic!("no person says {other}"),
    }
}

/// The task of this title.
pub fn id_of(state: &State, title: &str) -> TaskId {
    let mut tasks = state.plan.tasks.iter();
    let index = tasks.position(|task| &*task.title == title);
    TaskId::from_index(index.unwrap_or_else(|| panic!("no task is named {title}")))
}
