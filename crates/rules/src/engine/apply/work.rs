//! What events of work, turns and questions to agents change of their task.

use crate::domain::{AgentId, Answer, AskId, FailureClass, Millis, Purpose, Timestamp, TurnId};
use crate::engine::baseline_record::Baseline;
use crate::engine::event::{AskEvent, TurnEvent, WorkEvent};
use crate::engine::event_payload::{Commit, DeferralReason, Exit, SessionRef, TurnFiles};
use crate::engine::fact::TurnEnd;
use crate::engine::job::{Job, JobEnd};
use crate::engine::merging::Merged;
use crate::engine::state::{
    Ask, Committed, Course, Evidence, FileSnapshot, FirstNoted, FirstTurn, OutputRefs, Streak, TaskState,
};
use crate::engine::test_looks::{Looked, TestLooks};
use crate::engine::work::retry::Tries;

/// An attempt that ends within so long of its start was over before it had begun.
const INSTANT: Millis = Millis::from_secs(1);

/// The most characters of the reason why there is no way around a dependency.
const MOST_TOLD: usize = 2_000;

impl TaskState {
    pub fn apply_turn(&mut self, turn: TurnId, event: &TurnEvent) {
        match event {
            TurnEvent::Started(_) => {
                self.course.first_turn = FirstTurn::Begun;
                self.attempt.turn = turn.turn;
                self.consent.acted = true;
                self.consent.allowed_again = false;
                self.work.turn = Some(Tries::default());
                self.attempt.looks = TestLooks::default();
                self.course.first.iter_mut().for_each(|first| first.turns += 1);
            }
            TurnEvent::FilesNoted { file, shared } => {
                let noted = FileSnapshot { turn, file: file.clone(), starts: 0, shared: *shared };
                self.course.first.get_or_insert_with(|| {
                    let noted = noted.clone();
                    Box::new(FirstNoted { noted, turns: 0 })
                });
                self.course.evidence.noted = Some(Box::new(noted));
            }
            TurnEvent::RequestFailed { not_before, never_began, .. } => match &mut self.work.turn {
                Some(running) if *never_began => running.fail_to_start(*not_before),
                Some(running) => running.fail(Some(*not_before)),
                None => {}
            },
            TurnEvent::Finished(end) => self.finish_turn(turn, end),
            TurnEvent::Lost => {
                self.work.turn = None;
                if let Some(dialog) = &mut self.dialog {
                    dialog.end_turn();
                }
                self.attempt.calls = self.attempt.calls.and(None);
            }

            // What these say is in what stands beside them, or matters to readers only.
            TurnEvent::Progress(_) | TurnEvent::Adopted => {}
        }
    }

    /// A turn has ended, with what it left.
    fn finish_turn(&mut self, turn: TurnId, end: &TurnEnd) {
        self.work.turn = None;
        self.course.take_session(end.exit.failure, end.session.as_deref());
        for denied in &end.denied {
            if !self.attempt.denied.contains(denied) {
                self.attempt.denied.push(denied.clone());
            }
        }
        self.course.streak.take_turn(turn, &end.exit, end.duration);
        if end.asked.is_some() || self.dialog.is_some() {
            let dialog = self.dialog.get_or_insert_default();
            dialog.said.clone_from(&end.asked);
            dialog.end_turn();
        }
        self.attempt.calls = self.attempt.calls.and(end.tool_calls);
        let files = end.files.as_ref();
        self.course.take_files(turn, files);
        let model = end.model.as_deref().map(Box::from);
        self.output = OutputRefs {
            stdout: end.output.clone(),
            result: end.result_file.clone(),
            tools: end.tools.as_deref().and_then(|tools| tools.ledger.clone()),
            nothing_to_do: files.and_then(|files| files.nothing_to_do.clone()),
            // A turn that failed and told none takes nothing back of what is known of the work so far.
            model: match end.exit.failure {
                Some(_) => model.or(self.output.model.take()),
                None => model,
            },
        };
        for sub_task in &end.delegate {
            self.delegations.retain(|earlier| earlier.title != sub_task.title);
            self.delegations.push(sub_task.clone());
        }
    }

    pub fn apply_work(&mut self, event: &WorkEvent) {
        match event {
            WorkEvent::Requested(Job::Scan { number, .. }) => self.work.scans = *number,
            WorkEvent::Requested(Job::Artifacts(dependency)) => {
                self.remedies.get_or_insert_default().scanning.push(*dependency);
            }
            WorkEvent::Requested(Job::Approver { approver, .. }) => self.ask_approver(*approver),
            WorkEvent::Requested(Job::Look(look)) => self.attempt.looks.open = Some(*look),
            WorkEvent::Ended { job: Job::Look(look), end: JobEnd::Looked(looked) } => {
                self.attempt.looks.open = None;
                self.attempt.looks.made.push((*look, Looked::clone(looked)));
            }
            WorkEvent::Requested(Job::Baseline) => self.course.baseline.get_or_insert_default().open = true,
            WorkEvent::Ended { end: JobEnd::Baseline { on, checks }, .. } => {
                self.course.baseline = Some(Box::new(Baseline {
                    open: false,
                    on: on.clone(),
                    checks: checks.as_slice().into(),
                }));
            }
            WorkEvent::Ended { job: Job::Artifacts(dependency), .. } => {
                self.remedies.get_or_insert_default().scanned(*dependency)
            }
            WorkEvent::Ended { end: JobEnd::Merged(merged), .. } => match merged {
                Merged::Landed(commit) => self.course.take_commit(commit, true),
                Merged::Candidate(commit) | Merged::Conflict { commit, .. } => {
                    self.course.take_commit(commit, false);
                }
                Merged::Refused(_) => {}
            },
            // What else is said is the business of its judging.
            WorkEvent::Requested(_) | WorkEvent::Ended { .. } => {}
        }
    }

    fn ask_approver(&mut self, approver: u32) {
        if let Some(Some(waiting)) = self.lifecycle.hold_mut() {
            waiting.asking = Some(approver);
        }
    }

    pub fn apply_ask(&mut self, id: AskId, event: &AskEvent) {
        match event {
            AskEvent::Requested { purpose, agent, strict, not_before } => {
                self.ask(id, *purpose, *agent, strict.as_ref(), *not_before);
                match purpose {
                    Purpose::Score(place) => {
                        self.attempt.rounds = self.attempt.rounds.max(place.round);
                    }
                    Purpose::Approve { approver, .. } => self.ask_approver(*approver),
                    _ => {}
                }
            }
            AskEvent::Replied(said) => {
                self.end_ask(id);
                if said.purpose.is_judging() {
                    self.course.streak.windows = 0;
                }
                let why = match &said.answer {
                    Answer::Unresolvable { reason } => reason,
                    Answer::Unreadable { why, .. } => why,
                    _ => "",
                };
                self.no_way_yet(said.purpose, why);
            }
            AskEvent::Failed { purpose, message, gave_up, until, .. } => {
                self.course.streak.windows += u32::from(until.is_some());
                if *gave_up {
                    self.end_ask(id);
                    self.no_way_yet(*purpose, message);
                } else if let Some(open) = self.work.asks.iter_mut().find(|open| open.id == id) {
                    // The next try stands behind it in the same record, or a limit must reset first.
                    match until {
                        Some(_) => open.window = *until,
                        None => open.tries.fail(None),
                    }
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
        let requests = match before {
            Some(before) if before.agent == agent => before.tries.requests,
            // It replied, and is asked for what its reply lacks: that makes no requests good that failed before.
            None if strict.is_some() => self.failed_requests_of(purpose),
            _ => 0,
        };
        self.work.asks.push(Ask {
            id,
            purpose,
            agent,
            tries: Tries { requests, not_before, ..Tries::default() },
            strict: strict.cloned(),
            window: None,
        });
    }

    fn failed_requests_of(&self, purpose: Purpose) -> u32 {
        let seat = self.judging().and_then(|judging| judging.seat(purpose));
        seat.map_or(0, |seat| seat.failed_requests)
    }

    fn end_ask(&mut self, id: AskId) {
        self.work.asks.retain(|open| open.id != id);
    }

    /// Nobody waits for the others any more. The wait for limits that those who are asked have met is over with the last
    /// of them.
    pub(crate) fn keep_asks(&mut self, wanted: impl Fn(Purpose) -> bool) {
        let is_limited = |task: &Self| task.work.asks.iter().any(|open| open.window.is_some());
        let was_limited = is_limited(self);
        self.work.asks.retain(|open| wanted(open.purpose));
        if was_limited && !is_limited(self) {
            self.deferral.take_if(|deferral| deferral.why == DeferralReason::Window);
        }
    }

    /// Notes that an agent which was asked for a way around a dependency came back: where it knew one, the
    /// entry goes with the next event.
    fn no_way_yet(&mut self, purpose: Purpose, why: &str) {
        if let Purpose::Resolve { dependency } = purpose
            && let Some(entry) =
                self.remedies.as_deref_mut().and_then(|remedies| remedies.entry_mut(dependency))
        {
            entry.no_way = Some(why.chars().take(MOST_TOLD).collect());
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

impl Course {
    /// Keeps or drops the session behind a turn: an agent that failed begins a new one, but for a limit that
    /// resets; of a program that has no sessions there is none.
    fn take_session(&mut self, failure: Option<FailureClass>, session: Option<&SessionRef>) {
        match failure {
            None | Some(FailureClass::UsageWindow) => {
                self.session = session.cloned().map(Box::new).or(self.session.take())
            }
            Some(_) => self.session = None,
        }
    }

    /// Takes in the changes of a turn to files.
    fn take_files(&mut self, turn: TurnId, files: Option<&TurnFiles>) {
        self.evidence.take_turn(turn, files);
        match files.and_then(|files| files.commit.as_ref()) {
            Some(commit) => self.take_commit(commit, false),
            // What could not be committed may be anything: what was before is not it.
            None => self.committed.iter_mut().for_each(|committed| committed.commit = None),
        }
    }

    /// The work of a task in a worktree is another commit now.
    fn take_commit(&mut self, commit: &Commit, merged: bool) {
        let conflicts = self.conflicts();
        self.committed = Some(Box::new(Committed { commit: Some(commit.clone()), merged, conflicts }));
    }
}

impl Evidence {
    /// A turn ended. What it did is on record, and the next one is looked at anew. But one that never came to its work,
    /// and whose files nobody looked at, leaves the record of a turn that was lost before it: that one may have acted.
    fn take_turn(&mut self, turn: TurnId, files: Option<&TurnFiles>) {
        if let Some(files) = files {
            self.tests.clone_from(&files.tests);
        }
        let noted = self.noted.as_deref().map(|noted| noted.turn);
        let was_watched = noted.is_some();
        if files.is_some() || noted == Some(turn) {
            self.noted = None;
        }
        if !was_watched {
            return;
        }
        let shared = files.is_some_and(|files| files.overlapped);
        if files.is_some_and(|files| files.commit.is_some()) {
            // It is what differs from the beginning, whatever turns before it left.
            self.changed = Default::default();
        }
        self.changed = self.changed.and(files.and_then(|files| files.changed), shared);
        let written = self.written.unwrap_or_default();
        self.written = Some(written.and(files.and_then(|files| files.written), shared));
    }
}
