//! Questions (semantics, section 5): a turn that ends with one waits for an answer, from the orchestrator, else from a
//! person, and goes on in a new turn of the same attempt. No attempt is spent. Once the rounds are used up, what the
//! agent said is judged as it is.

use crate::domain::{
    AgentId, Answer, BrokenAssumption, Millis, Purpose, StageKey, Status, Timestamp, WaitingReason,
};
use crate::engine::event::TaskEvent;
use crate::engine::event_payload::Asked;
use crate::engine::state::{End, Hold, Known};

use super::draft::Draft;
use super::{admission, holds, outgoing, pipeline};

/// Tool calls from which on a turn was work, whatever it said at its end.
const TOOL_CALLS_OF_WORK: u32 = 5;

/// A turn ended well: what it said is a question, or that what it was told does not hold, or it is judged.
pub fn or_go_on(
    draft: &mut Draft<'_>,
    asked: Option<&Asked>,
    broken: Option<&BrokenAssumption>,
    now: Timestamp,
) {
    match (asked, orchestrator(draft)) {
        _ if let Some(asked) = asks(draft, asked) => pose(draft, asked, now),
        _ if let Some(broken) = broken => raise(draft, broken),
        (Some(_), _) if is_used_up(draft) => judge(draft),
        (Some(_), Some(orchestrator)) if !has_worked(draft) => {
            outgoing::ask(draft, Purpose::Confirm, orchestrator);
        }
        _ => judge(draft),
    }
}

/// What an agent asks in so many words: whoever is asked hears from it too what does not hold.
pub fn asks<'a>(draft: &Draft<'_>, asked: Option<&'a Asked>) -> Option<&'a Asked> {
    asked.filter(|asked| !asked.detected && (asked.call.is_some() || !is_used_up(draft)))
}

fn is_used_up(draft: &Draft<'_>) -> bool {
    let most = draft.plan().rules.settings.max_question_rounds;
    let rounds = draft.task.dialog.as_deref().map_or(0, |dialog| dialog.rounds);
    rounds >= most
}

fn judge(draft: &mut Draft<'_>) {
    draft.enter(Status::Review);
    pipeline::begin(draft);
}

/// Whether work was seen: then what was said at its end is no reason to wait.
fn has_worked(draft: &Draft<'_>) -> bool {
    let evidence = &draft.task.course.evidence;
    let calls = draft.task.attempt.calls.known();
    evidence.changed == Known::Yes || calls.is_some_and(|calls| calls.calls >= TOOL_CALLS_OF_WORK)
}

/// The agent that answers instead of a person. Nobody answers itself.
fn orchestrator(draft: &Draft<'_>) -> Option<AgentId> {
    let orchestrator = draft.plan().rules.orchestrator;
    orchestrator.filter(|agent| *agent != draft.task_plan().agent)
}

/// Decides by the orchestrator's word whether an output is a question. Without that word only an explicit
/// question counts.
pub fn confirmed(draft: &mut Draft<'_>, answer: Result<&Answer, &str>, now: Timestamp) {
    let asked = draft.task.dialog.as_deref().and_then(|dialog| dialog.said.clone());
    match (answer, asked) {
        (Ok(Answer::IsQuestion(true)), Some(asked)) => pose(draft, &asked, now),
        _ => judge(draft),
    }
}

fn pose(draft: &mut Draft<'_>, asked: &Asked, now: Timestamp) {
    draft.emit_own(TaskEvent::Question {
        question: asked.text.clone(),
        detected: asked.detected,
        call: asked.call.as_deref().copied(),
    });
    match orchestrator(draft) {
        // What an agent may do is for a person to say.
        Some(orchestrator) if asked.call.is_none() => outgoing::ask(draft, Purpose::Answer, orchestrator),
        _ => ask_person(draft, now),
    }
}

/// How long a person's word about a tool call of a task's agent is waited for.
pub fn patience(draft: &Draft<'_>) -> Option<Millis> {
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
    let hold = Hold { expires, ..Hold::of(reason) };
    holds::ask(draft, hold, "the agent asked something", message);
}

/// The agent says that what it was told does not hold (section 17). No number of attempts mends that, so a person is asked
/// before its work is judged. Their yes has it judged as it is; it is no word about the work.
fn raise(draft: &mut Draft<'_>, broken: &BrokenAssumption) {
    let because = "its agent says that what it was told does not hold";
    let message = format!(
        "{because} ({}): {:?}; approve to have its work judged as it is, reject to send it back with your reason",
        broken.kind.as_str(),
        broken.evidence
    );
    let hold = Hold { stage: StageKey::OUTCOME, ..Hold::of(WaitingReason::Operator) };
    holds::ask(draft, hold, because, message);
}

/// The orchestrator answered, or a person must.
pub fn answered(draft: &mut Draft<'_>, agent: AgentId, answer: Result<&Answer, &str>, now: Timestamp) {
    match answer {
        Ok(Answer::Text(answer)) => {
            let by = draft.plan().agent_name(agent).to_owned();
            take(draft, answer, &by, None);
        }
        _ => ask_person(draft, now),
    }
}

/// The answer is taken: the agent goes on in a new turn of its attempt, at once where there is room for it. A task that
/// waited for a person gave up its slot.
pub fn take(draft: &mut Draft<'_>, answer: &str, by: &str, number: Option<u32>) {
    draft.emit_own(TaskEvent::Answered { answer: answer.to_owned(), by: by.to_owned(), number });
    if draft.task.status() == Status::AwaitingApproval {
        // Whom it waited to ask is asked no more.
        if draft.task.deferral.is_some() {
            draft.emit_own(TaskEvent::Deferred { until: None });
        }
        let to = if admission::admits(draft.state, draft.id, admission::Work::New) {
            Status::InProgress
        } else {
            Status::Pending
        };
        // Out of clarification, back to what it was at.
        let phase = draft.task.attempt.kind.phase();
        draft.transition(to, Some(phase), End::default(), None);
    }
}
