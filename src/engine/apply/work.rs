//! What events of work, turns and questions to agents change of their task.

use crate::domain::{
    Advice, AgentId, AskId, Digest, FailureClass, Millis, Purpose, SeatPlace, Timestamp, TurnId,
};
use crate::engine::audit::AfterScan;
use crate::engine::event::{AskEvent, TurnEvent, WorkEvent};
use crate::engine::job::{Job, JobEnd};
use crate::engine::payload::{Exit, TurnFiles};
use crate::engine::state::{
    Ask, Evidence, Heard, Judging, Noted, OpenStage, OutputRefs, Seat, SeatState, Streak, TaskState, Turn,
};
use crate::judging::parser::Unparsed;

/// An attempt that ends within so long of its start was over before it had begun.
const INSTANT: Millis = Millis::from_secs(1);

impl TaskState {
    pub(super) fn apply_turn(&mut self, turn: TurnId, event: &TurnEvent) {
        match event {
            TurnEvent::Started { .. } => {
                self.attempt.turn = turn.turn;
                self.consent.acted = true;
                self.consent.allowed_again = false;
                self.work.turn = Some(Turn {
                    failed_requests: 0,
                    not_before: None,
                });
            }
            TurnEvent::FilesNoted { file, shared } => {
                self.course.evidence.noted = Some(Box::new(Noted {
                    turn,
                    file: file.clone(),
                    starts: 0,
                    shared: *shared,
                }));
            }
            TurnEvent::RequestFailed { not_before, .. } => {
                if let Some(running) = &mut self.work.turn {
                    running.failed_requests += 1;
                    running.not_before = Some(*not_before);
                }
            }
            TurnEvent::Finished {
                exit,
                duration,
                output,
                result,
                files,
                tool_calls,
                asked,
                model,
                tools,
                ..
            } => {
                self.work.turn = None;
                self.course.streak.take_turn(turn, exit, *duration);
                if asked.is_some() || self.dialog.is_some() {
                    let dialog = self.dialog.get_or_insert_default();
                    dialog.said.clone_from(asked);
                    dialog.end_turn();
                }
                self.attempt.calls = self.attempt.calls.and(*tool_calls);
                self.course.evidence.take_turn(turn, files.as_ref());
                self.output = OutputRefs {
                    stdout: output.clone(),
                    result: result.clone(),
                    tools: tools.as_deref().and_then(|tools| tools.file.clone()),
                    model: model.as_deref().map(Box::from),
                };
            }
            TurnEvent::Lost => {
                self.work.turn = None;
                if let Some(dialog) = &mut self.dialog {
                    dialog.end_turn();
                }
                self.attempt.calls = self.attempt.calls.and(None);
            }

            // What these say is in what stands beside them, or matters to readers only.
            TurnEvent::Spawned { .. }
            | TurnEvent::Activity { .. }
            | TurnEvent::Stale { .. }
            | TurnEvent::Adopted
            | TurnEvent::AuthorityCues { .. }
            | TurnEvent::Escalated { .. } => {}
        }
    }

    pub(super) fn apply_work(&mut self, event: &WorkEvent) {
        match event {
            WorkEvent::Requested(job) => self.request(*job),
            WorkEvent::Ended { job, end } => self.end(*job, end),
        }
    }

    fn request(&mut self, job: Job) {
        match job {
            Job::Scan { number, then } => {
                self.work.scans = number;
                let judging = self.judging_mut();
                (judging.scanning, judging.then) = (true, then);
                if then == AfterScan::Repeat {
                    judging.repeated = Some(judging.asked_stage());
                    judging.rounds_before = judging.stage.map_or(0, |stage| stage.round);
                    judging.heard = None;
                }
            }
            Job::Artifacts(dependency) => self.remedies.get_or_insert_default().scanning.push(dependency),
            Job::Finish(_) => {
                let judging = self.judging_mut();
                judging.stale = true;
                judging.finish.push(None);
            }
            Job::Check(check) => {
                let judging = self.judging_mut();
                judging.stale = true;
                judging.passed.retain(|(passed, _)| *passed != check);
                let checks = &mut judging.checks;
                if checks.len() <= check as usize {
                    checks.resize(check as usize + 1, None);
                }
            }
            Job::Approver { approver, .. } => self.ask_approver(approver),
            // The stage is open already.
            Job::Grade(_) | Job::Stage(..) => {}
        }
    }

    fn end(&mut self, job: Job, end: &JobEnd) {
        match (job, end) {
            (Job::Scan { .. }, JobEnd::Seen { files, hollow }) => {
                let judging = self.judging_mut();
                (judging.scanning, judging.stale, judging.changed) = (false, false, false);
                judging.files.clone_from(files);
                judging.hollow.clone_from(hollow);
            }
            (Job::Stage(..), JobEnd::Seen { files, .. }) => {
                let known = &mut self.judging_mut().files;
                known.retain(|old| files.iter().all(|file| file.path != old.path));
                known.extend_from_slice(files);
            }
            (Job::Artifacts(dependency), _) => {
                self.remedies.get_or_insert_default().scanned(dependency);
            }
            (Job::Finish(_), JobEnd::Checked(result)) => {
                if let Some(slot) = self.judging_mut().finish.last_mut() {
                    *slot = Some(result.clone());
                }
            }
            (Job::Check(check), JobEnd::Checked(result)) => {
                let judging = self.judging_mut();
                if let Some(slot) = judging.checks.get_mut(check as usize) {
                    *slot = Some(result.clone());
                }
                if result.passed {
                    judging.passed.push((check, judging.turns_ended));
                }
            }
            // What is decided by them stands behind them in the same record.
            _ => {}
        }
    }

    fn ask_approver(&mut self, approver: u32) {
        if let Some(waiting) = &mut self.waits {
            waiting.asking = Some(approver);
        }
    }

    pub(super) fn apply_ask(&mut self, id: AskId, event: &AskEvent) {
        match event {
            AskEvent::Requested {
                purpose,
                agent,
                strict,
                not_before,
            } => {
                self.ask(id, *purpose, *agent, strict.as_ref(), *not_before);
                match purpose {
                    Purpose::Score(place) => {
                        self.attempt.rounds = self.attempt.rounds.max(place.round);
                        self.judging_mut().seat_asked(*place, *agent);
                    }
                    Purpose::Approve { approver, .. } => self.ask_approver(*approver),
                    _ => {}
                }
            }
            AskEvent::Replied {
                purpose,
                reply,
                advice,
                ..
            } => {
                let open = self.end_ask(id);
                match purpose {
                    Purpose::Score(place) => {
                        self.course.streak.windows = 0;
                        let judging = self.judging_mut();
                        judging.seat_replied(*place, advice, reply.file.digest, open.as_ref());
                    }
                    _ if purpose.is_judging() => {
                        self.judging_mut().heard = Some(Box::new(Heard {
                            advice: advice.clone(),
                            reply: reply.file.digest,
                            id,
                        }));
                    }
                    _ => self.no_way_yet(*purpose),
                }
            }
            AskEvent::Failed {
                purpose,
                gave_up,
                class,
                message,
                until,
                ..
            } => {
                self.course.streak.windows += u32::from(until.is_some());
                if let Purpose::Score(place) = purpose {
                    let class = gave_up.then_some(*class);
                    self.judging_mut().seat_failed(*place, class, message);
                }
                if *gave_up {
                    self.end_ask(id);
                    self.no_way_yet(*purpose);
                } else if let Some(open) = self.work.asks.iter_mut().find(|open| open.id == id) {
                    // The next try stands behind it in the same record, or a limit must reset first.
                    open.failed_requests += u32::from(until.is_none());
                    open.window = *until;
                }
            }

            // It says what a judge is given, and changes nothing.
            AskEvent::HandedOver { .. } => {}
        }
    }

    /// An ask, or another try of one: of the same agent, or of one that is asked instead and has failed nobody yet.
    fn ask(
        &mut self,
        id: AskId,
        purpose: Purpose,
        agent: AgentId,
        strict: Option<&String>,
        not_before: Option<Timestamp>,
    ) {
        self.work.asked = self.work.asked.max(id.number);
        if matches!(purpose, Purpose::Resolve { .. }) && id.attempt_try == 1 {
            self.remedies.get_or_insert_default().resolutions += 1;
        }
        let before = self.work.asks.iter().position(|open| open.id.number == id.number);
        let before = before.map(|at| self.work.asks.remove(at));
        let failed_requests = match before {
            Some(before) if before.agent == agent => before.failed_requests,
            // It replied, and is asked for what its reply lacks: that makes no requests good that failed before.
            None if strict.is_some() => self.failed_requests_of(purpose),
            _ => 0,
        };
        self.work.asks.push(Ask {
            id,
            purpose,
            agent,
            failed_requests,
            strict: strict.cloned(),
            not_before,
            window: None,
        });
    }

    fn failed_requests_of(&self, purpose: Purpose) -> u32 {
        let seats = self.judging().map_or(&[][..], |judging| &judging.seats);
        let place = purpose.seat().map(|place| place.seat as usize);
        let seat = place.and_then(|place| seats.get(place));
        seat.map_or(0, |seat| seat.failed_requests)
    }

    fn end_ask(&mut self, id: AskId) -> Option<Ask> {
        let at = self.work.asks.iter().position(|open| open.id == id)?;
        Some(self.work.asks.remove(at))
    }

    /// Whoever was asked for a way around a dependency came back: where it knew one, the entry goes with the next event.
    fn no_way_yet(&mut self, purpose: Purpose) {
        if let Purpose::Resolve { dependency } = purpose
            && let Some(entry) = self
                .remedies
                .as_deref_mut()
                .and_then(|remedies| remedies.entry_mut(dependency))
        {
            entry.unresolvable = true;
        }
    }

    pub(super) fn open_stage(&mut self, stage: OpenStage) {
        // No reviewer is waited for any more.
        self.work.asks.retain(|open| open.purpose.seat().is_none());
        let judging = self.judging_mut();
        // In its first round a judge has said nothing yet.
        if stage.round <= 1 {
            judging.heard = None;
        }
        // What runs commands may write files. In its first round a vision check only looks.
        judging.stale |= stage.plain && stage.round > 0;
        judging.stage = Some(stage);
    }

    pub(super) fn close_stage(&mut self) {
        if let Some(stage) = self
            .review
            .as_deref_mut()
            .and_then(|judging| judging.stage.as_mut())
        {
            stage.open = false;
        }
    }
}

impl Streak {
    fn take_turn(&mut self, turn: TurnId, exit: &Exit, duration: Millis) {
        self.was_quick = turn.turn == 1 && duration < INSTANT;
        match exit.failure {
            Some(FailureClass::UsageWindow) => self.windows += 1,
            _ => self.windows = 0,
        }
    }
}

impl Evidence {
    /// A turn ended. What it did is on record, and the next one is looked at anew. But one that never came to its work,
    /// and whose files nobody looked at, leaves the record of a turn that was lost before it: that one may have acted.
    fn take_turn(&mut self, turn: TurnId, files: Option<&TurnFiles>) {
        let noted = self.noted.as_deref().map(|noted| noted.turn);
        let was_watched = noted.is_some();
        if files.is_some() || noted == Some(turn) {
            self.noted = None;
        }
        if !was_watched {
            return;
        }
        let shared = files.is_some_and(|files| files.shared);
        self.changed = self.changed.and(files.and_then(|files| files.changed), shared);
        self.written = self.written.and(files.and_then(|files| files.written), shared);
    }
}

/// Whether a reply is wrapped in the JSON of a program once more: it never is the same text, and never another answer.
fn is_envelope_again(why: &str, before: Option<&str>) -> bool {
    before == Some(why) && why == Unparsed::Envelope.to_string()
}

impl Judging {
    fn seat_asked(&mut self, place: SeatPlace, agent: AgentId) {
        if self.round != place.round {
            self.round = place.round;
            self.rounds += 1;
            self.seats.clear();
        }
        let asked = |instead_of| Seat {
            agent,
            instead_of,
            failed_requests: 0,
            unreached: None,
            first: None,
            unread: None,
            repeats: false,
            state: SeatState::Asked,
        };
        match self.seats.get_mut(place.seat as usize) {
            Some(existing) if existing.agent == agent => {
                if let SeatState::Replied(result) = &existing.state {
                    existing.first = Some(result.clone());
                }
                *existing = Seat {
                    failed_requests: existing.failed_requests,
                    first: existing.first.take(),
                    unread: existing.unread,
                    ..asked(existing.instead_of)
                };
            }
            Some(existing) => *existing = asked(Some(existing.instead_of.unwrap_or(existing.agent))),
            None => self.seats.push(asked(None)),
        }
    }

    fn seat_replied(&mut self, place: SeatPlace, advice: &Advice, reply: Digest, open: Option<&Ask>) {
        let Some(seat) = self.seats.get_mut(place.seat as usize) else {
            return;
        };
        seat.failed_requests = open.map_or(0, |open| open.failed_requests);
        if let Advice::Unreadable { why, .. } = advice {
            let strict = open.and_then(|open| open.strict.as_deref());
            seat.repeats = seat.unread == Some(reply) || is_envelope_again(why, strict);
            seat.unread = Some(reply);
        }
        seat.state = match (advice, seat.first.take()) {
            // What was said first could be read.
            (Advice::Unreadable { .. }, Some(first)) => SeatState::Replied(first),
            (Advice::Unreadable { .. }, None) => SeatState::Unparsed(advice.clone()),
            (advice, _) => SeatState::Replied(advice.clone()),
        };
    }

    /// `class` where it is not asked again.
    fn seat_failed(&mut self, place: SeatPlace, class: Option<FailureClass>, message: &str) {
        if let Some(seat) = self.seats.get_mut(place.seat as usize) {
            seat.unreached = Some(message.into());
            if let Some(class) = class {
                seat.state = SeatState::Failed(class);
            }
        }
    }
}
