//! Holds under their public names: what keeps a task, or what stands behind a checkpoint or delay, from moving.
//!
//! `hold:opened` with a `reason` when it begins to wait, `hold:closed` with an `answer` when it does not any more: `yes`,
//! `no`, `expired` (the moment came) or `withdrawn` (nobody waits for it any more). They stand beside what else is told
//! of it, such as `approval:requested`.

use std::collections::BTreeMap;

use crate::report::vocabulary::ids::task_key;
use rules::{
    domain::{BarrierId, Cause, HoldOwner, StageKey, Status, TaskId, Timestamp, WaitingReason},
    engine::{DeferralReason, Event, HoldEvent, Resolution, TaskEvent},
    plan::BarrierKind,
};

use super::expander::{EventExpander, NamedPayload};
use super::payload::{Payload, payload};
use super::work::called_off;

/// Holds of tasks that are open: an approval by its number, a window without one. Checkpoints and delays are the plan's.
#[derive(Debug, Default)]
pub struct OpenHolds(BTreeMap<TaskId, Vec<OpenHold>>);

#[derive(Debug, Clone, Copy, PartialEq)]
struct OpenHold {
    reason: &'static str,
    /// The number of the task's approval; `None` where the task waits for a moment.
    number: Option<u32>,
}

const WINDOW: OpenHold = OpenHold { reason: "window", number: None };

impl OpenHolds {
    /// Opens a hold of the task; `true` if it was not open before.
    fn open(&mut self, task: TaskId, hold: OpenHold) -> bool {
        let open = self.0.entry(task).or_default();
        let is_new = !open.contains(&hold);
        open.extend(is_new.then_some(hold));
        is_new
    }

    fn take(&mut self, task: TaskId, is_meant: impl Fn(&OpenHold) -> bool) -> Vec<OpenHold> {
        let open = self.0.entry(task).or_default();
        open.extract_if(.., |hold| is_meant(hold)).collect()
    }
}

impl EventExpander {
    /// The holds that an event opens or closes. To be told behind it.
    pub fn hold_events(&mut self, event: &Event) -> Vec<NamedPayload> {
        match event {
            Event::Hold(of, opened @ HoldEvent::Opened { number, reason, .. }) => {
                let hold = OpenHold { reason: reason.as_str(), number: Some(*number) };
                // Checkpoints and delays are the plan's.
                let is_new = of.task().is_none_or(|task| self.holds.open(task, hold));
                let opened = is_new.then(|| ("hold:opened", self.hold_payload(*of, opened)));
                opened.into_iter().collect()
            }
            Event::Hold(HoldOwner::Barrier(barrier), closed @ HoldEvent::Closed { .. }) => {
                let payload = payload!(self.barrier(*barrier); "answer": answer(closed));
                let payload = payload.extend(self.hold_payload((*barrier).into(), closed));
                vec![("hold:closed", payload)]
            }
            Event::Hold(HoldOwner::Task(task), closed @ HoldEvent::Closed { number, by, .. }) => {
                let taken = self.holds.take(*task, |hold| hold.number == Some(*number));
                let closed = self.closed(*task, &taken, answer(closed));
                let by_whom = |(name, payload): NamedPayload| (name, payload!(payload; "resolvedBy": by));
                // An approver that waits for a limit is waited for no more.
                let limit = self.holds.take(*task, |hold| *hold == WINDOW);
                let limit = self.closed(*task, &limit, "withdrawn");
                closed.into_iter().map(by_whom).chain(limit).collect()
            }
            Event::Task(task, TaskEvent::Deferred { until: Some(deferral) })
                if deferral.why == DeferralReason::Window =>
            {
                let payload = payload!(self.task(*task);
                    "reason": WINDOW.reason,
                    "message": deferral.message,
                    "expires": deferral.moment().map(Timestamp::to_rfc3339),
                );
                let is_new = self.holds.open(*task, WINDOW);
                is_new.then_some(("hold:opened", payload)).into_iter().collect()
            }
            Event::Task(task, TaskEvent::Deferred { until: None }) => {
                let taken = self.holds.take(*task, |hold| *hold == WINDOW);
                self.closed(*task, &taken, "expired")
            }
            _ => self.withdrawn_by(event),
        }
    }

    /// The events for a task that stops waiting though nobody answered.
    fn withdrawn_by(&mut self, event: &Event) -> Vec<NamedPayload> {
        if let Event::Task(task, TaskEvent::Transition { from, to, .. }) = event {
            // Whatever its agent is sent to wait for a moment with is told before.
            let taken = self.holds.take(*task, |hold| match hold.number {
                Some(_) => *from == Status::AwaitingApproval,
                None => (*from, *to) != (Status::InProgress, Status::Pending),
            });
            return self.closed(*task, &taken, "withdrawn");
        }
        let mut closed = Vec::new();
        for task in called_off(event) {
            let taken = self.holds.take(task, |_| true);
            closed.extend(self.closed(task, &taken, "withdrawn"));
        }
        closed
    }

    fn closed(&self, task: TaskId, holds: &[OpenHold], answer: &str) -> Vec<NamedPayload> {
        let closed = holds.iter().map(|hold| {
            let payload = match hold.number {
                Some(number) => self.approval_of(task, number),
                None => self.task(task),
            };
            ("hold:closed", payload!(payload; "reason": hold.reason, answer))
        });
        closed.collect()
    }

    /// The approval event beside the event of a hold; `None` for checkpoints and delays, which are holds alone.
    pub fn approval_event(&self, of: HoldOwner, event: &HoldEvent) -> Option<NamedPayload> {
        of.task()?;
        let name = match event {
            HoldEvent::Opened { .. } => "approval:requested",
            HoldEvent::TimedOut { .. } => "approval:timeout",
            HoldEvent::Closed { .. } => "approval:resolved",
            // The end of the approver tells it.
            HoldEvent::Undecided { .. } => return None,
        };
        Some((name, self.hold_payload(of, event)))
    }

    /// The payload of an event about a hold.
    pub fn hold_payload(&self, of: HoldOwner, event: &HoldEvent) -> Payload {
        match (of, event) {
            (HoldOwner::Barrier(barrier), HoldEvent::Opened { number, expires, .. }) => {
                self.barrier_reached(barrier, *number, *expires)
            }
            (HoldOwner::Barrier(barrier), HoldEvent::Closed { by, reason, .. }) => {
                // A delay is ended by its moment, by nobody.
                let is_by_person = matches!(self.plan.barrier(barrier).kind, BarrierKind::Checkpoint);
                payload!(self.barrier(barrier); "message": reason, "resolvedBy": is_by_person.then_some(by))
            }
            (HoldOwner::Barrier(barrier), _) => self.barrier(barrier),
            (HoldOwner::Task(task), event) => self.approval_payload(task, event),
        }
    }

    fn approval_payload(&self, task: TaskId, event: &HoldEvent) -> Payload {
        match event {
            HoldEvent::Opened { number, reason, cause, stage, message, gate, expires } => {
                let step = stage.filter(|_| *cause != Some(Cause::Exhausted));
                let step = step.and_then(StageKey::step);
                payload!(self.approval_of(task, *number);
                    "missionId": self.run_id,
                    reason,
                    "gateName": gate,
                    cause,
                    "stage": stage.map(|at| at.stage().as_str()),
                    "name": step.map(|step| self.step_name(task, step)),
                    message,
                    "expires": expires.map(Timestamp::to_rfc3339),
                )
            }
            HoldEvent::Undecided { number, message, again, .. } => payload!(self.approval_of(task, *number);
                "decision": "undecided",
                "reason": message,
                "again": again.map(Timestamp::to_rfc3339),
            ),
            HoldEvent::TimedOut { number } => payload!(self.approval_of(task, *number); "action": "wait"),
            HoldEvent::Closed { number, resolution, by, .. } => {
                payload!(self.approval_of(task, *number); "status": resolution, "resolvedBy": by)
            }
        }
    }

    /// A checkpoint or a delay begins to hold what stands behind it.
    fn barrier_reached(&self, barrier: BarrierId, number: u32, expires: Option<Timestamp>) -> Payload {
        let plan = self.plan.barrier(barrier);
        let ids = |tasks: &[TaskId]| tasks.iter().map(|id| task_key(*id)).collect::<Vec<_>>();
        let payload = self.barrier(barrier);
        let payload = match plan.kind {
            BarrierKind::Checkpoint => payload!(payload; "requestId": self.approval(barrier.into(), number)),
            BarrierKind::Delay(duration) => {
                payload!(payload; duration, "expires": expires.map(Timestamp::to_rfc3339))
            }
        };
        payload!(payload;
            "message": plan.message,
            "afterTasks": ids(&plan.after),
            "blocksTasks": ids(&plan.blocks),
        )
    }

    fn barrier(&self, id: BarrierId) -> Payload {
        let plan = self.plan.barrier(id);
        let (reason, key) = match plan.kind {
            BarrierKind::Checkpoint => (WaitingReason::Checkpoint, "checkpointName"),
            BarrierKind::Delay(_) => (WaitingReason::Delay, "delayName"),
        };
        let mut payload = payload!("missionId": self.run_id, reason);
        payload.put(key, &plan.name);
        payload
    }
}

/// How a hold was answered, in a word.
fn answer(closed: &HoldEvent) -> &'static str {
    let HoldEvent::Closed { resolution, .. } = closed else {
        return "withdrawn";
    };
    match resolution {
        Resolution::Approved | Resolution::Answered => "yes",
        Resolution::Rejected => "no",
        Resolution::TimedOut => "expired",
    }
}
