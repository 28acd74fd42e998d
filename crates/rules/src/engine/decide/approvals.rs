//! Somebody's agreement before a task starts: `requiresApproval` and `approvalGates` (semantics, section 5).
//!
//! It is asked for once nothing else holds the task, one approval after the other, without taking a slot. One of the
//! approvers is enough: commands and agents are asked in their order, and what they leave open a person decides, who may
//! answer at any time.

use crate::domain::{Answer, FailureMode, Millis, Purpose, Status, TaskId, Timestamp, WaitingReason};
use crate::engine::event::{Event, HoldEvent, Resolution};
use crate::engine::job::{ApproverSaid, Job};
use crate::engine::ledger::CallAdmission;
use crate::engine::state::{Hold, Prerequisite, State, TaskState};
use crate::engine::voided::VoidedStage;
use crate::plan::{ApprovalPlan, ApproverPlan, Plan, TaskPlan};

use super::admission::Work;
use super::answers::{self, HoldCommand};
use super::conclude;
use super::draft::Draft;
use super::{admission, budget, holds, outgoing, side_effects, verification_edges};

/// How long approvers that left it open are left alone.
const ASK_AGAIN: Millis = Millis::from_secs(30);

/// Asks for what holds tasks that nothing else holds.
pub fn requests(state: &State, now: Timestamp) -> Vec<Event> {
    let due = state.queues.watchers.of(Prerequisite::Agreement);
    due.flat_map(|id| {
        let mut draft = Draft::new(state, id);
        go_on(&mut draft, now);
        draft.into_events()
    })
    .collect()
}

/// Asks for the next approval that the task needs; where there is none it starts.
pub fn go_on(draft: &mut Draft<'_>, now: Timestamp) {
    match draft.task.next_approval(draft.task_plan()) {
        Some(next) => ask(draft, next, now),
        None if side_effects::is_held(draft) => {
            let why = again_because(&draft.task);
            side_effects::hold_back(draft, &why);
        }
        None => start(draft),
    }
}

/// The reason for which the agent of a task with side effects would act again.
fn again_because(task: &TaskState) -> String {
    match task.reopened.as_deref() {
        Some(open) => format!("what it was accepted for does not stand any more: {}", open.why),
        None => "it is to be done once more".to_owned(),
    }
}

fn ask(draft: &mut Draft<'_>, approval: &ApprovalPlan, now: Timestamp) {
    let hold = Hold {
        gate: approval.gate.clone(),
        expires: approval.timeout.map(|timeout| now.plus(timeout)),
        ..Hold::of(WaitingReason::Approval)
    };
    let message = message(draft.plan(), approval);
    holds::ask(draft, hold, &message.clone(), message);
    ask_next(draft, approval, 0);
}

/// The message for the approvers.
fn message(plan: &Plan, approval: &ApprovalPlan) -> String {
    if let Some(message) = &approval.message {
        return message.to_string();
    }
    let names: Vec<String> = approval.approvers.iter().map(|approver| approver.name(plan)).collect();
    let by = match names.split_last() {
        None => String::new(),
        Some((last, [])) => format!(" by {last}"),
        Some((last, others)) => format!(" by {} or {last}", others.join(", ")),
    };
    match &approval.gate {
        Some(gate) => format!("approval gate '{gate}': to be approved{by} before it starts"),
        None => format!("to be approved{by} before it starts"),
    }
}

/// Asks the first approver from this position on that is no person.
fn ask_next(draft: &mut Draft<'_>, approval: &ApprovalPlan, from: u32) {
    let Some(approver) = next_asked(approval, from) else {
        return;
    };
    let number = draft.task.consent.asked;
    match approval.approvers.get(approver as usize) {
        Some(ApproverPlan::Agent(agent)) => {
            outgoing::ask(draft, Purpose::Approve { number, approver }, *agent)
        }
        _ => outgoing::run(draft, Job::Approver { number, approver }),
    }
}

fn next_asked(approval: &ApprovalPlan, from: u32) -> Option<u32> {
    let mut approvers = (0..).zip(&approval.approvers).skip(from as usize);
    let asked = approvers.find(|(_, approver)| !matches!(approver, ApproverPlan::Person(_)));
    asked.map(|(position, _)| position)
}

/// The approval that a task waits for, if it is one of these.
fn waiting_for<'p>(plan: &'p TaskPlan, waiting: &Hold) -> Option<&'p ApprovalPlan> {
    let mut approvals = plan.approvals.iter().map(AsRef::as_ref);
    // What is asked about a check is asked of a person.
    let is_one = waiting.reason == WaitingReason::Approval && waiting.cause.is_none();
    approvals.find(|approval| is_one && approval.gate == waiting.gate)
}

/// A draft of the task, if it waits for this approval.
fn open<'s>(state: &'s State, task: TaskId, number: u32) -> Option<(Draft<'s>, &'s ApprovalPlan)> {
    state.known(task)?;
    let draft = Draft::new(state, task);
    let approval = waited_for(&draft, number)?;
    Some((draft, approval))
}

/// An approver that is no person came back.
pub fn said(draft: &mut Draft<'_>, number: u32, approver: u32, said: &ApproverSaid, now: Timestamp) {
    if let Some(approval) = waited_for(draft, number) {
        take(draft, approval, approver, said, now);
    }
}

/// The approval of this number, if the task waits for it.
fn waited_for<'p>(draft: &Draft<'p>, number: u32) -> Option<&'p ApprovalPlan> {
    let waiting = draft.task.hold();
    let waiting = waiting.filter(|waiting| waiting.number == number)?;
    waiting_for(draft.task_plan(), waiting)
}

/// Drops the answer of an approver, because what it rests on was not as it must be: that leaves the question
/// open.
pub fn voided(
    state: &State,
    voided: &VoidedStage,
    (number, approver): (u32, u32),
    now: Timestamp,
) -> Vec<Event> {
    let Some((mut draft, approval)) = open(state, voided.work.task, number) else {
        return Vec::new();
    };
    if draft.task.hold().and_then(|waiting| waiting.asking) != Some(approver) {
        return Vec::new();
    }
    draft.emit(Event::voided(voided.clone()));
    if voided.did_it() {
        // It did so itself, and would again.
        holds::resolve(&mut draft, Resolution::Rejected, "quorum");
        let message = format!("protected files: {}{}", voided.what(), conclude::BY_ITSELF);
        draft.fail(FailureMode::Protected, message);
        return draft.into_events();
    }
    let said = ApproverSaid::Open(format!("its word does not count: protected: {}", voided.what()));
    take(&mut draft, approval, approver, &said, now);
    draft.into_events()
}

/// An agent that was asked came back; `Err` says why it says nothing.
pub fn answered(
    draft: &mut Draft<'_>,
    number: u32,
    approver: u32,
    answer: Result<&Answer, &str>,
    now: Timestamp,
) {
    let Some(approval) = waited_for(draft, number) else {
        return;
    };
    let said = match answer {
        Ok(Answer::Approve) => ApproverSaid::Yes,
        Ok(Answer::Reject { reason }) => ApproverSaid::No(reason.clone()),
        Ok(Answer::Undecided { reason }) => ApproverSaid::Open(reason.clone()),
        Ok(Answer::Unreadable { why, .. }) => ApproverSaid::Open(why.clone()),
        Ok(_) => ApproverSaid::Open("it answered something else".to_owned()),
        Err(why) => ApproverSaid::Open(format!("it could not be asked: {why}")),
    };
    take(draft, approval, approver, &said, now);
}

fn take(draft: &mut Draft<'_>, approval: &ApprovalPlan, approver: u32, said: &ApproverSaid, now: Timestamp) {
    let asking = draft.task.hold().and_then(|waiting| waiting.asking);
    let Some(asked) = approval.approvers.get(approver as usize) else {
        return;
    };
    if asking != Some(approver) {
        return;
    }
    let by = asked.name(draft.plan());
    match said {
        ApproverSaid::Yes => answers::answer(draft, HoldCommand::Yes, &by, now),
        ApproverSaid::No(reason) => answers::answer(draft, HoldCommand::No(reason), &by, now),
        ApproverSaid::Open(why) => {
            let next = next_asked(approval, approver + 1);
            draft.emit(Event::Hold(
                draft.id.into(),
                HoldEvent::Undecided {
                    number: draft.task.consent.asked,
                    approver,
                    message: why.clone(),
                    again: next.is_none().then(|| now.plus(ASK_AGAIN)),
                },
            ));
            ask_next(draft, approval, approver + 1);
        }
    }
}

/// Asks the approvers who left the question open again: in a later session, or after a while.
pub fn ask_again(state: &State, task: TaskId) -> Vec<Event> {
    let waiting = state.task(task).hold();
    let Some((mut draft, approval)) = waiting.and_then(|waiting| open(state, task, waiting.number)) else {
        return Vec::new();
    };
    if waiting.is_some_and(|waiting| waiting.asking.is_none()) {
        ask_next(&mut draft, approval, 0);
    }
    draft.into_events()
}

/// Everything was agreed to: the task starts, or waits for a slot as any other does.
fn start(draft: &mut Draft<'_>) {
    let has_budget = || budget::room(draft.state, draft.id) == CallAdmission::Admitted;
    if !admission::admits(draft.state, draft.id, Work::New) || !has_budget() {
        return draft.enter_because(Status::Pending, "approved");
    }
    if draft.task_plan().route.is_some() {
        return verification_edges::begin(draft);
    }
    admission::begin(draft);
}

/// How long the approval that the task was asked about last may take.
pub fn patience(draft: &Draft<'_>) -> Option<Millis> {
    let hold = draft.state.task(draft.id).hold()?;
    waiting_for(draft.task_plan(), hold)?.timeout
}
