//! Holds under their public names: what keeps a task, or what stands behind a checkpoint or delay, from moving.
//!
//! `hold:opened` with a `reason` when it begins to wait, `hold:closed` with an `answer` when it does not any more: `yes`,
//! `no`, `expired` (the moment came) or `withdrawn` (nobody waits for it any more). They stand beside what else is told
//! of it, such as `approval:requested`.

use std::collections::BTreeMap;

use crate::domain::{HoldId, Status, TaskId, Timestamp};
use crate::engine::{DeferralReason, Event, HoldEvent, RunEvent, TaskEvent};
use crate::mission::HoldKind;
use crate::report::ids::{CheckpointId, task_key};

use super::expander::{EventExpander, Named};
use super::payload::Payload;

/// Holds of tasks that are open: an approval by its number, a window without one. Checkpoints and delays are the plan's.
#[derive(Debug, Default)]
pub(super) struct OpenHolds(BTreeMap<TaskId, Vec<OpenHold>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenHold {
    reason: &'static str,
    /// Which approval of the task; `None`: it waits for a moment.
    number: Option<u32>,
}

const WINDOW: OpenHold = OpenHold {
    reason: "window",
    number: None,
};

impl OpenHolds {
    /// Whether it was not open before.
    fn open(&mut self, task: TaskId, hold: OpenHold) -> bool {
        let open = self.0.entry(task).or_default();
        let is_new = !open.contains(&hold);
        open.extend(is_new.then_some(hold));
        is_new
    }

    fn take(&mut self, task: TaskId, is_meant: impl Fn(&OpenHold) -> bool) -> Vec<OpenHold> {
        let Some(open) = self.0.get_mut(&task) else {
            return Vec::new();
        };
        let taken = open.extract_if(.., |hold| is_meant(hold)).collect();
        if open.is_empty() {
            self.0.remove(&task);
        }
        taken
    }
}

impl EventExpander {
    /// The holds that an event opens or closes. To be told behind it.
    pub(super) fn hold_events(&mut self, event: &Event) -> Vec<Named> {
        match event {
            Event::Task(task, of @ TaskEvent::ApprovalRequested { number, reason, .. }) => {
                let hold = OpenHold {
                    reason: reason.as_str(),
                    number: Some(*number),
                };
                let is_new = self.holds.open(*task, hold);
                let opened = is_new.then(|| ("hold:opened", self.waiting_payload(*task, of)));
                opened.into_iter().collect()
            }
            Event::Task(
                task,
                TaskEvent::ApprovalResolved {
                    number,
                    resolution,
                    by,
                },
            ) => {
                let answer = match resolution.as_str() {
                    "approved" | "answered" => "yes",
                    "rejected" => "no",
                    "timeout" => "expired",
                    _ => "withdrawn",
                };
                let taken = self.holds.take(*task, |hold| hold.number == Some(*number));
                let closed = self.closed(*task, &taken, answer);
                let by_whom = |(name, payload): Named| (name, payload.with("resolvedBy", by.as_str()));
                // An approver that waits for a limit is waited for no more.
                let limit = self.holds.take(*task, |hold| *hold == WINDOW);
                let limit = self.closed(*task, &limit, "withdrawn");
                closed.into_iter().map(by_whom).chain(limit).collect()
            }
            Event::Task(task, TaskEvent::Deferred(deferral)) if deferral.why == DeferralReason::Window => {
                let payload = self.task(*task).with("reason", WINDOW.reason);
                let payload = payload.with("message", deferral.message.as_str());
                let payload = payload.with("expires", deferral.until.to_rfc3339());
                let is_new = self.holds.open(*task, WINDOW);
                is_new.then_some(("hold:opened", payload)).into_iter().collect()
            }
            Event::Task(task, TaskEvent::Released) => {
                let taken = self.holds.take(*task, |hold| *hold == WINDOW);
                self.closed(*task, &taken, "expired")
            }
            Event::Hold(hold, of) => vec![self.barrier(*hold, of)],
            _ => self.withdrawn_by(event),
        }
    }

    /// What a task waited for, and does not any more though nobody answered.
    fn withdrawn_by(&mut self, event: &Event) -> Vec<Named> {
        let tasks: Vec<TaskId> = match event {
            Event::Task(task, TaskEvent::Transition { from, to, .. }) => {
                // Whatever its agent is sent to wait for a moment with is told before.
                let taken = self.holds.take(*task, |hold| match hold.number {
                    Some(_) => *from == Status::AwaitingApproval,
                    None => (*from, *to) != (Status::InProgress, Status::Pending),
                });
                return self.closed(*task, &taken, "withdrawn");
            }
            Event::Task(_, TaskEvent::EdgeTaken { stopped, left, .. }) => {
                stopped.iter().chain(left).copied().collect()
            }
            Event::Run(RunEvent::TasksWithdrawn { tasks }) => tasks.clone(),
            Event::Run(RunEvent::MissionChanged(change)) => {
                change.removed.iter().chain(&change.changed).copied().collect()
            }
            _ => return Vec::new(),
        };
        let mut closed = Vec::new();
        for task in tasks {
            let taken = self.holds.take(task, |_| true);
            closed.extend(self.closed(task, &taken, "withdrawn"));
        }
        closed
    }

    fn closed(&self, task: TaskId, holds: &[OpenHold], answer: &str) -> Vec<Named> {
        let closed = holds.iter().map(|hold| {
            let payload = match hold.number {
                Some(number) => self.approval_of(task, number),
                None => self.task(task),
            };
            (
                "hold:closed",
                payload.with("reason", hold.reason).with("answer", answer),
            )
        });
        closed.collect()
    }

    /// A checkpoint or a delay begins to hold what stands behind it, or does not any more.
    fn barrier(&self, hold: HoldId, of: &HoldEvent) -> Named {
        match of {
            HoldEvent::Reached { number, until } => {
                let plan = self.plan.hold(hold);
                let titles = |tasks: &[TaskId]| tasks.iter().map(|id| task_key(*id)).collect::<Vec<_>>();
                let payload = match plan.kind {
                    HoldKind::Checkpoint => {
                        let run = self.view.run_id.as_ref();
                        let id = run.map(|run| CheckpointId {
                            run,
                            hold,
                            number: *number,
                        });
                        self.hold(hold).maybe("requestId", id.map(|id| id.to_string()))
                    }
                    HoldKind::Delay(duration) => {
                        let payload = self.hold(hold).with("duration", duration.0);
                        payload.maybe("expires", until.map(Timestamp::to_rfc3339))
                    }
                };
                let payload = payload.maybe("message", plan.message.as_deref());
                let payload = payload.with("afterTasks", titles(&plan.after));
                ("hold:opened", payload.with("blocksTasks", titles(&plan.blocks)))
            }
            HoldEvent::Passed { by } => {
                let answer = match self.plan.hold(hold).kind {
                    HoldKind::Checkpoint => "yes",
                    HoldKind::Delay(_) => "expired",
                };
                let payload = self.hold(hold).with("answer", answer);
                ("hold:closed", payload.maybe("resolvedBy", by.as_deref()))
            }
            HoldEvent::Rejected { reason, by } => {
                let payload = self.hold(hold).with("answer", "no");
                let payload = payload.with("message", reason.as_str());
                ("hold:closed", payload.with("resolvedBy", by.as_str()))
            }
        }
    }

    fn hold(&self, id: HoldId) -> Payload {
        let plan = self.plan.hold(id);
        let (reason, key) = match plan.kind {
            HoldKind::Checkpoint => ("checkpoint", "checkpointName"),
            HoldKind::Delay(_) => ("delay", "delayName"),
        };
        Payload::default()
            .with("missionId", &*self.run_id)
            .with("reason", reason)
            .with(key, &*plan.name)
    }
}
