//! The tables of work: which event of the engine is about which work, and what it is in its life.

use crate::report::{
    events::{
        expander::EventExpander,
        notices::notice_details,
        payload::{Payload, payload},
    },
    vocabulary::ids::task_key,
};
use rules::{
    domain::{AskId, HoldOwner, Purpose, Stage, StageKey, TaskId, Timestamp, TurnId},
    engine::{
        AskEvent, AskReply, BudgetEvent, Event, HoldEvent, Job, NoticeEvent, RunEvent, RunWork, TaskEvent,
        TaskWork, TurnEvent, WorkEvent, WorkId,
    },
    mission::model::Check,
};

use super::{EventScope, Life, PublicWork, WorkKey};

impl EventExpander {
    /// The work that an event is about, and the step that it is in the life of that; `None` where other events tell all of it.
    pub(super) fn step_of(&self, event: &Event, rest: &[Event]) -> Option<(PublicWork, Life)> {
        let audit = || of_run("scan", "audit").at(Some(Stage::Audit), None);
        let delivery = || of_run("command", "merge").at(Some(Stage::Merge), None);
        Some(match event {
            Event::Turn(turn, of) => (turn_work(*turn), of_turn(of)?),
            Event::Budget(BudgetEvent::Held { call, released, .. }) => {
                let detail = if *released { "released" } else { "held" };
                (self.called(*call), Life::Progressed(detail))
            }
            Event::Budget(BudgetEvent::Settled { call, .. }) => {
                (self.called(*call), Life::Progressed("settled"))
            }
            Event::Ask(id, AskEvent::Requested { purpose, .. }) => {
                (self.ask_work(*id, *purpose), Life::Requested)
            }
            Event::Ask(
                id,
                AskEvent::Replied(AskReply { purpose, .. }) | AskEvent::Failed { purpose, .. },
            ) => (self.ask_work(*id, *purpose), of_ask(*id, event, rest)),
            Event::Run(RunEvent::WorkRequested(RunWork::Audit { .. })) => (audit(), Life::Requested),
            Event::Run(RunEvent::AuditFinished { .. }) => (audit(), ended(true)),
            Event::Run(RunEvent::WorkRequested(RunWork::Delivery { .. })) => (delivery(), Life::Requested),
            Event::Run(RunEvent::WorkDelivered(of)) => (delivery(), ended(of.why.is_none())),
            Event::Notice(of) => (of_run("deliver", "notify"), of_notice(of)?),
            Event::Work(task, WorkEvent::Requested(job)) => (self.job_work(*task, *job), Life::Requested),
            Event::Work(task, WorkEvent::Ended { job, end }) => {
                let counts = end.is_answer() && failure(*task, rest).is_none();
                (self.job_work(*task, *job), ended(counts))
            }
            Event::Hold(HoldOwner::Task(task), HoldEvent::Undecided { number, approver, .. }) => {
                let (number, approver) = (*number, *approver);
                let work = self.job_work(*task, Job::Approver { number, approver });
                // Its word does not count. Else its own end tells it.
                self.work.find(*task, work.key)?;
                (work, ended(true))
            }
            _ => return None,
        })
    }

    /// The work that a call is.
    fn called(&self, call: WorkId) -> PublicWork {
        let task = call.task;
        match call.work {
            TaskWork::Turn(attempt, turn) => turn_work(TurnId { task, attempt, turn }),
            TaskWork::Ask(number, _) => self.open_ask(task, number),
            TaskWork::Job(.., job) => self.job_work(task, job),
        }
    }

    fn job_work(&self, task: TaskId, job: Job) -> PublicWork {
        let (kind, purpose, stage, round) = match job {
            Job::Scan { .. } => ("scan", "files", None, None),
            Job::Artifacts(_) => ("scan", "artifacts", None, None),
            Job::Baseline => ("command", "baseline", None, None),
            Job::Approver { .. } => ("command", "approver", None, None),
            Job::Look(look) => ("command", look.as_str(), Some(Stage::Proof), None),
            Job::Finish(_) => ("command", "finish", Some(Stage::Finish), None),
            Job::Check(check) => (self.kind_of_check(task, check), "check", Some(Stage::Checks), None),
            Job::Grade(round) => ("scan", "grade", Some(Stage::Verification), Some(round)),
            // Of a vision check only what is seen without an agent.
            Job::Stage(step @ StageKey::VISION, _) => ("scan", step.as_str(), Some(step.stage()), None),
            Job::Stage(step, round) => ("command", step.as_str(), Some(step.stage()), Some(round)),
            Job::Merge(number) => ("command", "merge", Some(Stage::Merge), Some(number)),
            Job::PeerCheck(..) => ("command", "check", Some(Stage::Merge), None),
        };
        self.of_task(task, WorkKey::Job(job), (kind, purpose)).at(stage, round)
    }

    fn of_task(
        &self,
        task: TaskId,
        key: WorkKey,
        (kind, purpose): (&'static str, &'static str),
    ) -> PublicWork {
        let attempt = self.view.task(task).attempts.last();
        PublicWork {
            task: Some(task),
            key,
            kind,
            purpose: Some(purpose),
            place: EventScope { attempt: attempt.map(|attempt| attempt.number), ..EventScope::default() },
        }
    }

    /// The payload of an event beside kind, purpose and place, under its own keys.
    pub fn details(&self, event: &Event, rest: &[Event]) -> Payload {
        match event {
            Event::Turn(turn, of) => self.turn_details(*turn, of),
            Event::Ask(id, of @ AskEvent::Requested { .. }) => self.ask_details(*id, of),
            Event::Ask(id, of) => {
                let payload = self.ask_details(*id, of).extend(asked_next(*id, rest));
                payload.extend(self.why_in_vain(id.task, rest))
            }
            Event::Budget(BudgetEvent::Held { .. }) => self.doer(event),
            Event::Budget(BudgetEvent::Settled { usage, .. }) => self.told(usage),
            Event::Work(task, WorkEvent::Requested(job)) => self.job_details(*task, *job),
            Event::Work(task, WorkEvent::Ended { job, end }) => {
                let payload = self.end_details(*task, *job, end, failure(*task, rest).is_some());
                payload.extend(self.why_in_vain(*task, rest))
            }
            Event::Hold(of, event @ HoldEvent::Undecided { .. }) => self.hold_payload(*of, event),
            Event::Notice(event) => notice_details(&self.plan, &self.run_id, event),
            Event::Run(RunEvent::WorkDelivered(delivery)) => {
                payload!("commits": delivery.commits, "ref": delivery.waits, "error": delivery.why)
            }
            _ => self.audit_details(event),
        }
    }

    /// The agent of the work, where a turn or call is asked for.
    pub fn doer(&self, event: &Event) -> Payload {
        match event {
            Event::Turn(turn, TurnEvent::Started(_)) => {
                let agent = self.agent_name(self.plan.task(turn.task).agent);
                payload!(self.turn(*turn); "agentName": agent)
            }
            Event::Budget(BudgetEvent::Held { agent, released: false, .. }) => {
                payload!("agentName": self.agent_name(*agent))
            }
            _ => Payload::default(),
        }
    }

    /// Why a reply does not count or settles nothing, where that is decided at once.
    fn why_in_vain(&self, id: TaskId, rest: &[Event]) -> Payload {
        if let Some(message) = failure(id, rest) {
            return payload!("error": message);
        }
        let undecided = rest.iter().find_map(|event| match event {
            Event::Hold(of, event @ HoldEvent::Undecided { .. }) if of.task() == Some(id) => Some(event),
            _ => None,
        });
        undecided.map_or_else(Payload::default, |event| self.hold_payload(id.into(), event))
    }

    fn kind_of_check(&self, task: TaskId, check: u32) -> &'static str {
        match self.plan.task(task).checks().get(check as usize) {
            Some(Check::FileExists { .. }) => "scan",
            _ => "command",
        }
    }

    /// The work of a call to an agent, by the call's id and purpose.
    fn ask_work(&self, id: AskId, purpose: Purpose) -> PublicWork {
        let work = self.of_task(id.task, WorkKey::Ask(id.number), ("ask", purpose.as_str()));
        let mut work = work.at(purpose.stage(), purpose.round());
        if let Some(seat) = purpose.seat() {
            work.place.attempt = Some(seat.attempt);
            work.place.seat = Some(seat.seat);
        }
        work
    }

    /// The work of a call to an agent, by its request; without a purpose where no request is on record.
    fn open_ask(&self, task: TaskId, number: u32) -> PublicWork {
        let key = WorkKey::Ask(number);
        let open = self.work.find(task, key).cloned();
        open.unwrap_or(PublicWork {
            task: Some(task),
            key,
            kind: "ask",
            purpose: None,
            place: EventScope::default(),
        })
    }

    pub fn head(&self, work: &PublicWork) -> Payload {
        let task = work.task.map(|task| self.task(task));
        let head = payload!(task.unwrap_or_default();
            "kind": work.kind,
            "purpose": work.purpose,
            "place": work.place.payload(),
        );
        // What tells it apart from other work at that place.
        match work.key {
            WorkKey::Turn(_, turn) => payload!(head; turn),
            WorkKey::Job(Job::Finish(index) | Job::Check(index)) => payload!(head; index),
            WorkKey::Job(Job::Artifacts(dependency)) => payload!(head; "failedDepId": task_key(dependency)),
            WorkKey::Job(Job::Approver { approver, .. }) => payload!(head; approver),
            WorkKey::Ask(ask) if work.place.seat.is_none() => payload!(head; ask),
            WorkKey::Ask(_) | WorkKey::Job(_) | WorkKey::OfRun => head,
        }
    }
}

/// Why what came back says nothing that counts, where that is decided at once.
fn failure(id: TaskId, rest: &[Event]) -> Option<&str> {
    rest.iter().find_map(|event| match event {
        Event::Task(task, TaskEvent::StageFailed { message, .. }) if *task == id => Some(message.as_str()),
        _ => None,
    })
}

fn turn_work(turn: TurnId) -> PublicWork {
    PublicWork {
        task: Some(turn.task),
        key: WorkKey::Turn(turn.attempt, turn.turn),
        kind: "turn",
        purpose: Some("work"),
        place: EventScope { attempt: Some(turn.attempt), ..EventScope::default() },
    }
}

fn of_run(kind: &'static str, purpose: &'static str) -> PublicWork {
    PublicWork { task: None, key: WorkKey::OfRun, kind, purpose: Some(purpose), place: EventScope::default() }
}

fn ended(counts: bool) -> Life {
    Life::Ended(if counts { "ok" } else { "failed" })
}

fn of_turn(event: &TurnEvent) -> Option<Life> {
    Some(match event {
        TurnEvent::Started(_) => Life::Started,
        TurnEvent::Finished(end) => ended(end.exit.failure.is_none()),
        TurnEvent::Lost => Life::Ended("lost"),
        TurnEvent::Adopted => Life::Progressed("adopted"),
        TurnEvent::RequestFailed { .. } => Life::Progressed("retry"),
        TurnEvent::FilesNoted { .. } | TurnEvent::Progress(_) => return None,
    })
}

fn of_notice(event: &NoticeEvent) -> Option<Life> {
    Some(match event {
        NoticeEvent::Requested { .. } => Life::Requested,
        NoticeEvent::Tried { failure: None, .. } => Life::Ended("ok"),
        NoticeEvent::Tried { failure: Some(failure), .. } if failure.again.is_some() => {
            Life::Progressed("retry")
        }
        NoticeEvent::Tried { .. } => Life::Ended("failed"),
        NoticeEvent::Died(_) | NoticeEvent::Filed(_) => return None,
    })
}

/// The step that the end of a call is in the life of its work: the same question may be asked once more, of the
/// same agent or of another one.
fn of_ask(asked: AskId, event: &Event, rest: &[Event]) -> Life {
    let until = match event {
        Event::Ask(_, AskEvent::Failed { until, .. }) => *until,
        _ => None,
    };
    let replied = matches!(event, Event::Ask(_, AskEvent::Replied(_)));
    let of_same = |event: &&Event| match event {
        Event::Ask(id, AskEvent::Requested { .. } | AskEvent::Failed { .. }) => {
            id.task == asked.task && id.number == asked.number
        }
        _ => false,
    };
    let falls_back = rest
        .iter()
        .any(|event| matches!(event, Event::Task(task, TaskEvent::FellBack { .. }) if *task == asked.task));
    match rest.iter().find(of_same) {
        Some(Event::Ask(_, AskEvent::Failed { .. })) => Life::Progressed("refused"),
        Some(_) if replied => Life::Progressed("reprompt"),
        Some(_) if falls_back => Life::Progressed("fallback"),
        Some(_) => Life::Progressed("retry"),
        None if until.is_some() => Life::Progressed("window"),
        None if replied => Life::Ended("ok"),
        None => Life::Ended("failed"),
    }
}

/// The payload of the next request of a call that is made once more.
fn asked_next(asked: AskId, rest: &[Event]) -> Payload {
    let next = rest.iter().find(|event| !matches!(event, Event::Task(_, TaskEvent::FellBack { .. })));
    match next {
        Some(Event::Ask(id, AskEvent::Requested { purpose, strict, not_before, .. }))
            if id.number == asked.number =>
        {
            let strict = strict.as_ref().filter(|_| purpose.seat().is_some());
            payload!(strict, "notBefore": not_before.map(Timestamp::to_rfc3339))
        }
        _ => Payload::default(),
    }
}
