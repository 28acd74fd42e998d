//! What events change of the judging of a task: stages, checks, seats.

use crate::domain::{AgentId, Answer, AskId, Digest, FailureClass, Purpose, SeatPlace, Stage, Verdict};
use crate::engine::audit::{Acceptance, AfterScan};
use crate::engine::event::{AskEvent, Event, TaskEvent, WorkEvent};
use crate::engine::job::{Job, JobEnd};
use crate::engine::merging::Merged;
use crate::engine::payload::{CheckResult, StageReport};
use crate::engine::state::{Ask, Heard, Judging, OpenStage, SaidVerdict, Seat, SeatState};
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
            TaskEvent::StageOpened { stage, round, plain } => {
                // In its first round a judge has said nothing yet.
                self.heard.take_if(|_| *round <= 1);
                // What runs commands may write files. In its first round a vision check only looks. A look that was out for the
                // stage before, which was passed over meanwhile, comes too late: it is made anew.
                self.stale |= (*plain && *round > 0) || self.scanning;
                self.scanning = false;
                self.stage = Some(OpenStage {
                    key: *stage,
                    round: *round,
                    open: true,
                    plain: *plain,
                });
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
            AskEvent::Requested {
                purpose: Purpose::Score(place),
                agent,
                ..
            } => self.seat_asked(*place, *agent),
            AskEvent::Replied(said) => match (said.purpose.seat(), said.reply.file.digest) {
                (Some(place), reply) => {
                    let open = asks.iter().find(|open| open.id == id);
                    self.seat_replied(place, &said.answer, reply, open);
                }
                (None, reply) if said.purpose.is_judging() => {
                    let answer = said.answer.clone();
                    self.heard = Some(Box::new(Heard { answer, reply, id }));
                }
                _ => {}
            },
            AskEvent::Failed {
                purpose: Purpose::Score(place),
                gave_up,
                class,
                message,
                ..
            } => self.seat_failed(*place, gave_up.then_some(*class), message),
            _ => {}
        }
    }

    fn request(&mut self, job: Job) {
        match job {
            Job::Scan { then, .. } => {
                (self.scanning, self.then) = (true, then);
                if then == AfterScan::Repeat {
                    self.repeated = Some(self.asked_stage());
                    self.rounds_before = self.stage.map_or(0, |stage| stage.round);
                    self.heard = None;
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
                merge.peers.clear();
            }
            Job::PeerCheck(peer, check) => {
                let merge = self.merge.get_or_insert_default();
                let before = merge.peers.insert((peer, check), None).flatten();
                self.count_rerun(job, before);
            }
            // Of a grade or a command of a stage, the stage is open already. The others are no part of judging.
            Job::Grade(_) | Job::Stage(..) | Job::Artifacts(_) | Job::Baseline | Job::Look(_) => {}
            Job::Approver { .. } => {}
        }
    }

    /// A check was asked for: once more, where it has failed.
    fn count_rerun(&mut self, job: Job, before: Option<CheckResult>) {
        if before.is_some_and(|before| !before.passed) {
            *self.reruns.entry(job).or_default() += 1;
        }
    }

    fn end(&mut self, job: Job, end: &JobEnd) {
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
                self.files
                    .retain(|old| files.iter().all(|file| file.path != old.path));
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

    fn seat_asked(&mut self, place: SeatPlace, agent: AgentId) {
        self.stage = None;
        if self.round != place.round {
            self.round = place.round;
            self.rounds += 1;
            self.seats.clear();
        }
        let asked = Seat {
            agent,
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
                    ..asked
                };
            }
            Some(existing) => *existing = asked,
            None => self.seats.push(asked),
        }
    }

    fn seat_replied(&mut self, place: SeatPlace, answer: &Answer, reply: Digest, open: Option<&Ask>) {
        let Some(seat) = self.seats.get_mut(place.seat as usize) else {
            return;
        };
        seat.failed_requests = open.map_or(0, |open| open.tries.requests);
        if let Answer::Unreadable { why, .. } = answer {
            let strict = open.and_then(|open| open.strict.as_deref());
            seat.repeats = seat.unread == Some(reply) || is_envelope_again(why, strict);
            seat.unread = Some(reply);
        }
        seat.state = match (answer, seat.first.take()) {
            // What was said first could be read.
            (Answer::Unreadable { .. }, Some(first)) => SeatState::Replied(first),
            (Answer::Unreadable { .. }, None) => SeatState::Unparsed(answer.clone()),
            (answer, _) => SeatState::Replied(answer.clone()),
        };
    }

    /// Notes that a seat failed; `class` is there where it is not asked again.
    fn seat_failed(&mut self, place: SeatPlace, class: Option<FailureClass>, message: &str) {
        if let Some(seat) = self.seats.get_mut(place.seat as usize) {
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
