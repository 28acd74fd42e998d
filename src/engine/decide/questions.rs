//! Questions (semantics, section 5): a turn that ends with one waits for an answer, from the orchestrator, else from a
//! person, and goes on in a new turn of the same attempt. No attempt is spent. Once the rounds are used up, what the
//! agent said is judged as it is.

use crate::domain::{
    Advice, AgentId, BrokenAssumption, FailureMode, Millis, Phase, Purpose, Status, TaskId, Timestamp,
    WaitingReason,
};
use crate::engine::event::{Event, TaskEvent};
use crate::engine::payload::Asked;
use crate::engine::state::{ANSWERED, APPROVED, Known, REJECTED, State};

use super::approvals::TIMED_OUT;
use super::draft::Draft;
use super::{admission, approvals, ask, escalation, pipeline};

/// Tool calls from which on a turn was work, whatever it said at its end.
const TOOL_CALLS_OF_WORK: u32 = 5;

/// A turn ended well: what it said is a question, or that what it was told does not hold, or it is judged.
pub(super) fn or_go_on(
    draft: &mut Draft<'_>,
    asked: Option<&Asked>,
    broken: Option<&BrokenAssumption>,
    now: Timestamp,
) {
    let most = draft.plan().rules.max_question_rounds;
    let dialog = draft.task.dialog.as_deref();
    let is_used_up = dialog.is_some_and(|dialog| dialog.rounds >= most);
    // Whoever is asked hears what is wrong from the question itself.
    let asks = asked.filter(|asked| !asked.detected && (asked.call.is_some() || !is_used_up));
    match (asked, orchestrator(draft)) {
        _ if let Some(asked) = asks => pose(draft, asked, now),
        _ if let Some(broken) = broken => escalation::raise(draft, broken),
        (Some(_), _) if is_used_up => judge(draft),
        (Some(_), Some(orchestrator)) if !has_worked(draft) => {
            ask::ask(draft, Purpose::Confirm, orchestrator);
        }
        _ => judge(draft),
    }
}

fn judge(draft: &mut Draft<'_>) {
    draft.enter(Status::Review);
    pipeline::begin(draft);
}

/// Whether work was seen: then what was said at its end is no reason to wait.
fn has_worked(draft: &Draft<'_>) -> bool {
    let evidence = &draft.task.evidence;
    let calls = evidence.calls.known();
    evidence.changed == Known::Yes || calls.is_some_and(|calls| calls.calls >= TOOL_CALLS_OF_WORK)
}

/// Who answers instead of a person. Nobody answers itself.
fn orchestrator(draft: &Draft<'_>) -> Option<AgentId> {
    let orchestrator = draft.plan().rules.orchestrator;
    orchestrator.filter(|agent| *agent != draft.task_plan().agent)
}

/// The orchestrator said whether it is a question. Without its word only what was asked counts.
pub(super) fn confirmed(draft: &mut Draft<'_>, advice: Result<&Advice, &str>, now: Timestamp) {
    let asked = draft
        .task
        .dialog
        .as_deref()
        .and_then(|dialog| dialog.said.clone());
    match (advice, asked) {
        (Ok(Advice::IsQuestion(true)), Some(asked)) => pose(draft, &asked, now),
        _ => judge(draft),
    }
}

fn pose(draft: &mut Draft<'_>, asked: &Asked, now: Timestamp) {
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::Question {
            question: asked.text.clone(),
            detected: asked.detected,
            call: asked.call.as_deref().copied(),
        },
    ));
    match orchestrator(draft) {
        // What an agent may do is for a person to say.
        Some(orchestrator) if asked.call.is_none() => ask::ask(draft, Purpose::Answer, orchestrator),
        _ => ask_person(draft, now),
    }
}

/// How long a person's word about a tool call of a task's agent is waited for.
fn patience(draft: &Draft<'_>) -> Option<Millis> {
    let agent = draft.plan().agent(draft.task_plan().agent);
    agent.spec.permissions.timeout
}

fn ask_person(draft: &mut Draft<'_>, now: Timestamp) {
    let dialog = draft.task.dialog.as_deref();
    let open = dialog.and_then(|dialog| dialog.open.clone()).unwrap_or_default();
    let (reason, expires, message) = match dialog.and_then(|dialog| dialog.call) {
        None => (WaitingReason::Question, None, open),
        Some(_) => (
            WaitingReason::Auth,
            patience(draft).map(|patience| now.plus(patience)),
            format!(
                "its agent wants to use a tool: {open}; approve allows this call once, in its next turn, reject ends the task"
            ),
        ),
    };
    let number = draft.task.asked + 1;
    draft.park(Phase::Clarification, "the agent asked something");
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::ApprovalRequested {
            number,
            reason,
            cause: None,
            stage: None,
            message,
            gate: None,
            expires,
        },
    ));
}

/// The orchestrator answered, or a person must.
pub(super) fn advised(draft: &mut Draft<'_>, agent: AgentId, advice: Result<&Advice, &str>, now: Timestamp) {
    match advice {
        Ok(Advice::Answer(answer)) => {
            let by = draft.plan().agent(agent).name.to_string();
            take(draft, answer, &by, None);
        }
        _ => ask_person(draft, now),
    }
}

/// A person answered.
pub(super) fn answered(state: &State, task: TaskId, number: u32, answer: &str, by: &str) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    draft.emit(Event::Task(
        task,
        TaskEvent::ApprovalResolved {
            number,
            resolution: ANSWERED.to_owned(),
            by: by.to_owned(),
        },
    ));
    take(&mut draft, answer, by, Some(number));
    draft.into_events()
}

/// A person lets the agent make the call that it asked about.
pub(super) fn allow(state: &State, task: TaskId, number: u32, by: &str) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    approvals::resolve(&mut draft, APPROVED, by);
    take(&mut draft, "a person allows this call, once", by, Some(number));
    draft.into_events()
}

/// A person does not: the work ends.
pub(super) fn deny(state: &State, task: TaskId, reason: &str, by: &str) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    approvals::resolve(&mut draft, REJECTED, by);
    draft.fail(
        FailureMode::Cancelled,
        format!("a tool call was refused by {by}: {reason}"),
    );
    draft.into_events()
}

/// Nobody said in time whether its agent may make the call: it is denied (semantics, section 5).
pub(super) fn unanswered(state: &State, task: TaskId) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    approvals::resolve(&mut draft, TIMED_OUT, "quorum");
    let within = patience(&draft).map_or_else(String::new, |patience| format!(" within {patience}"));
    draft.fail(
        FailureMode::Cancelled,
        format!("nobody allowed a tool call of its agent{within}"),
    );
    draft.into_events()
}

/// The answer is taken: the agent goes on in a new turn of its attempt, at once where there is room for it. A task that
/// waited for a person gave up its slot.
fn take(draft: &mut Draft<'_>, answer: &str, by: &str, number: Option<u32>) {
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::Answered {
            answer: answer.to_owned(),
            by: by.to_owned(),
            number,
        },
    ));
    if draft.task.status == Status::AwaitingApproval {
        // Whom it waited to ask is asked no more.
        if draft.task.deferral.is_some() {
            draft.emit(Event::Task(draft.id, TaskEvent::Released));
        }
        let to = if admission::admits(draft.state, draft.id, admission::Work::New) {
            Status::InProgress
        } else {
            Status::Pending
        };
        draft.go_on_with_attempt(to);
    }
}
