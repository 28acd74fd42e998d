//! What events change of the judging of a task: stages, checks, seats.

use crate::domain::{AgentId, Answer, AskId, FailureClass, Purpose, Stage, StageKey, Verdict};
use crate::engine::audit::{Acceptance, AfterScan};
use crate::engine::event::{AskEvent, Event, TaskEvent, WorkEvent};
use crate::engine::event_payload::{CheckResult, StageReport};
use crate::engine::fact::AskReply;
use crate::engine::job::{Job, JobEnd};
use crate::engine::merging::Merged;
use crate::engine::state::{Ask, Judging, OpenStage, SaidVerdict, Seat, SeatState};
use crate::judging::parser::Unparsed;

impl Judging {
    /// Takes what is said about it, before whoever is asked is taken out of these calls.
    pub fn apply(&mut self, event: &Event, asks: &[Ask]) {
        match event {
            Event::Task(_, event) => self.apply_standing(event),
            Event::Work(_, WorkEvent::Requested(job)) => self.request(*job),
            Event::Work(_, WorkEvent::Ended { job, end }) => self.end(*job, end),
            Event::Ask(id, event) => self.apply_ask(*id, event, asks),
            _ => {}
        }
    }

    fn apply_standing(&mut self, event: &TaskEvent) {
        match event {
            TaskEvent::StageVoided(_) => self.voided += 1,
            TaskEvent::AcceptanceRecorded { files, checks } => {
                let is_meant = |(check, _): &&(u32, u64)| checks.contains(check);
                self.acceptance = Some(Box::new(Acceptance {
                    files: files.clone(),
                    checks: self.passed.iter().filter(is_meant).copied().collect(),
                    ..Acceptance::default()
                }));
            }
            TaskEvent::StageFailed { .. } => self.close_stage(),
            TaskEvent::StageVerdict(report) => self.take_verdict(report),
            _ => {}
        }
    }

    fn take_verdict(&mut self, report: &StageReport) {
        if report.stage == Stage::Verification || report.stage.is_further() {
            self.close_stage();
        }
        if report.stage > Stage::Checks && matches!(report.verdict, Verdict::Pass | Verdict::Skip) {
            self.verdicts.push(SaidVerdict {
                stage: report.stage,
                verdict: report.verdict,
                mark: report.mark,
                by_somebody: report.judge.is_some() || report.by.is_some(),
            });
        }
        if (report.stage, report.verdict) == (Stage::Judge, Verdict::Pass) {
            self.scored = report.points.is_some();
        }
        if report.asks_about_score() {
            self.panel = report.points.map(|_| Box::new(report.clone()));
        }
    }

    fn apply_ask(&mut self, id: AskId, event: &AskEvent, asks: &[Ask]) {
        match event {
            AskEvent::Requested { purpose, agent, strict, .. } => {
                self.seat_asked(*purpose, *agent, strict.is_some() || id.attempt_try > 1)
            }
            AskEvent::Replied(said) => {
                self.seat_replied(said, asks.iter().find(|open| open.id == id));
            }
            AskEvent::Failed { purpose, gave_up, class, message, .. } => {
                self.seat_failed(*purpose, gave_up.then_some(*class), message)
            }
            AskEvent::HandedOver { .. } => {}
        }
    }

    fn request(&mut self, job: Job) {
        match job {
            Job::Scan { then, .. } => {
                (self.scanning, self.then) = (true, then);
                if then == AfterScan::Repeat {
                    self.repeated = Some(self.asked_stage());
                }
            }
            Job::Finish(_) => {
                self.stale = true;
                self.finish.push(None);
            }
            Job::Check(check) => {
                self.stale = true;
                self.passed.retain(|(passed, _)| *passed != check);
                if self.checks.len() <= check as usize {
                    self.checks.resize(check as usize + 1, None);
                }
                let before = self.checks[check as usize].take();
                self.count_rerun(job, before);
            }
            Job::Merge(number) => {
                let merge = self.merge.get_or_insert_default();
                (merge.number, merge.open) = (number, true);
            }
            Job::PeerCheck(peer, check) => {
                let merge = self.merge.get_or_insert_default();
                let before = merge.peers.insert((peer, check), None).flatten();
                self.count_rerun(job, before);
            }
            Job::Grade(round) => self.open_stage(StageKey::VERIFICATION, round, None),
            Job::Stage(key, round) => self.open_stage(key, round, None),
            // These are no part of judging.
            Job::Artifacts(_) | Job::Baseline | Job::Look(_) | Job::Approver { .. } => {}
        }
    }

    /// A check was asked for: once more, where it has failed.
    fn count_rerun(&mut self, job: Job, before: Option<CheckResult>) {
        if before.is_some_and(|before| !before.passed) {
            *self.reruns.entry(job).or_default() += 1;
        }
    }

    fn end(&mut self, job: Job, end: &JobEnd) {
        if let (Some(merge), JobEnd::Checked(result)) = (&mut self.merge, end)
            && result.is_flaky()
        {
            merge.flaky.insert(job, result.clone());
        }
        match (job, end) {
            (Job::Scan { .. }, JobEnd::Seen { files, hollow }) => {
                (self.scanning, self.stale) = (false, false);
                self.changed.clear();
                self.files.clone_from(files);
                self.hollow.clone_from(hollow);
            }
            (Job::Merge(_), JobEnd::Merged(merged)) => {
                let merge = self.merge.get_or_insert_default();
                merge.open = false;
                merge.landed = matches!(merged, Merged::Landed(_));
                // On what others did as well, they are to be shown anew.
                if let Merged::Candidate(_) = merged {
                    merge.peers.clear();
                    self.checks.clear();
                    self.reruns.clear();
                    self.passed.clear();
                    self.stale = true;
                }
            }
            (Job::PeerCheck(peer, check), JobEnd::Checked(result)) => {
                let merge = self.merge.get_or_insert_default();
                merge.peers.insert((peer, check), Some(result.clone()));
            }
            (Job::Stage(..), JobEnd::Seen { files, .. }) => {
                self.files.retain(|old| files.iter().all(|file| file.path != old.path));
                self.files.extend_from_slice(files);
            }
            (Job::Finish(_), JobEnd::Checked(result)) => {
                if let Some(slot) = self.finish.last_mut() {
                    *slot = Some(result.clone());
                }
            }
            (Job::Check(check), JobEnd::Checked(result)) => {
                if let Some(slot) = self.checks.get_mut(check as usize) {
                    *slot = Some(result.clone());
                }
                if result.passed {
                    self.passed.push((check, self.turns_ended));
                }
            }
            // What is decided by them stands behind them in the same record.
            _ => {}
        }
    }

    fn close_stage(&mut self) {
        if let Some(stage) = &mut self.stage {
            stage.open = false;
        }
    }

    /// Opens a stage that asks somebody, or runs something, in this round.
    fn open_stage(&mut self, key: StageKey, round: u32, seat: Option<Seat>) {
        // What runs commands may write files. In its first round a vision check only looks. A look that was out for the
        // stage before, which was passed over meanwhile, comes too late: it is made anew.
        self.stale |= (seat.is_none() && round > 0) || self.scanning;
        self.scanning = false;
        self.stage = Some(OpenStage { key, round, open: true, seat });
    }

    /// Asks a judge. One that is asked for the same again keeps its seat, and its first reply.
    fn seat_asked(&mut self, purpose: Purpose, agent: AgentId, again: bool) {
        let Some((key, round)) = purpose.asked_by() else {
            return;
        };
        let before = self.seat_mut(purpose).filter(|seat| again && seat.agent == agent);
        let before = before.map(|seat| {
            let last = std::mem::replace(&mut seat.state, SeatState::Asked);
            Seat {
                failed_requests: seat.failed_requests,
                first: match last {
                    SeatState::Replied(answer) => Some(answer),
                    SeatState::Asked | SeatState::Failed(_) => seat.first.take(),
                },
                unread: seat.unread,
                ..Seat::of(agent)
            }
        });
        let asked = before.unwrap_or_else(|| Seat::of(agent));
        let Some(place) = purpose.seat() else {
            return self.open_stage(key, round, Some(asked));
        };
        self.stage = None;
        if self.round != round {
            self.round = round;
            self.rounds += 1;
            self.seats.clear();
        }
        match self.seats.get_mut(place.seat as usize) {
            Some(seat) => *seat = asked,
            None => self.seats.push(asked),
        }
    }

    fn seat_replied(&mut self, said: &AskReply, open: Option<&Ask>) {
        let Some(seat) = self.seat_mut(said.purpose) else {
            return;
        };
        seat.failed_requests = open.map_or(0, |open| open.tries.requests);
        if let Answer::Unreadable { why, .. } = &said.answer {
            let strict = open.and_then(|open| open.strict.as_deref());
            let reply = said.reply.reply.digest;
            seat.repeats = seat.unread == Some(reply) || is_envelope_again(why, strict);
            seat.unread = Some(reply);
        }
        seat.state = SeatState::Replied(said.answer.clone());
    }

    /// Notes that a seat failed; `class` is there where it is not asked again.
    fn seat_failed(&mut self, purpose: Purpose, class: Option<FailureClass>, message: &str) {
        if let Some(seat) = self.seat_mut(purpose) {
            seat.unreached = Some(message.into());
            if let Some(class) = class {
                seat.state = SeatState::Failed(class);
            }
        }
    }
}

/// Whether a reply is wrapped in the JSON of a program once more: it never is the same text, and never another answer.
fn is_envelope_again(why: &str, before: Option<&str>) -> bool {
    before == Some(why) && why == Unparsed::Envelope.to_string()
}
