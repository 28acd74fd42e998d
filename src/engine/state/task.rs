//! The state of one task.

use crate::domain::{
    Advice, AgentId, AskId, AttemptKind, Cause, Digest, DimensionScore, Edge, FailureClass, FailureMode,
    Finding, Phase, Points, Probe, Purpose, QualityFlag, Stage, Status, Step, TaskId, Timestamp, TurnId,
    WaitingReason,
};
use crate::engine::audit::{Acceptance, AfterScan, AskedStage};
use crate::engine::dialog::Dialog;
use crate::engine::payload::{
    CheckResult, DeferralReason, FileFact, FileRef, Grounds, StageReport, ToolCalls, Way,
};
use crate::engine::remedies::Remedies;
use crate::mission::SubTask;

/// A task's state.
#[derive(Debug, Clone, Default)]
pub struct TaskState {
    /// One of the seven states.
    pub status: Status,
    /// What goes on inside it.
    pub phase: Option<Phase>,
    /// Dependencies not done and gates not passed.
    pub blockers: u32,
    /// Number of the current or last attempt; 0 before the first.
    pub attempt: u32,
    /// Number of the current or last turn of the attempt.
    pub turn: u32,
    /// Kind of the attempt.
    pub kind: AttemptKind,
    /// Attempts of the current allowance.
    pub tries: u32,
    /// Fixes since the last execute or retry.
    pub fixes: u32,
    /// Retries of the current allowance.
    pub retries: u32,
    /// The turn in flight.
    pub running: Option<Turn>,
    /// What the last finished turn said.
    pub output: OutputRefs,
    /// The model that the provider says did it; `None` where nobody said.
    pub model: Option<Box<str>>,
    /// Judging in progress.
    pub judging: Option<Box<Judging>>,
    /// Rounds in which reviewers were asked about this attempt. Numbers count on when a parked attempt is judged
    /// again, so that no reply ever takes the name of an older one.
    pub rounds: u32,
    /// What was found so far, the oldest first; carried into prompts and reviews.
    pub feedback: Vec<Feedback>,
    /// The last score.
    pub points: Option<Points>,
    /// For done tasks.
    pub flag: Option<QualityFlag>,
    /// For failed tasks.
    pub mode: Option<FailureMode>,
    /// Whether the last verdict of a review that was asked for could not be trusted.
    pub indeterminate: bool,
    /// For tasks that wait for a person.
    pub waiting: Option<Waiting>,
    /// While a person is asked about work that a panel let pass: what the panel said.
    pub panel: Option<Box<StageReport>>,
    /// How often a person was asked about it; makes the ids of approvals.
    pub asked: u32,
    /// What persons answered, the oldest first.
    pub answers: Vec<Answer>,
    /// What is done about dependencies that failed.
    pub remedies: Option<Box<Remedies>>,
    /// What its agent asked and was answered.
    pub dialog: Option<Box<Dialog>>,
    /// The approvals that were given for its next start: the names of their gates, `None` for its own.
    pub agreed: Vec<Option<Box<str>>>,
    /// Whether its agent may have acted: from then on one with side effects acts again only by a person's word.
    pub acted: bool,
    /// Whether a person let the agent act again; good for one turn.
    pub allowed_again: bool,
    /// Agents that are asked about the task and have not answered. They end with the task's next transition.
    pub asks: Vec<Ask>,
    /// How often an agent was asked about it; numbers the asks.
    pub asked_agents: u32,
    /// Sub-tasks that its agent wants to hand down, by title.
    pub delegations: Vec<SubTask>,
    /// What the last failed attempt looked like: failed checks, scores, files. Equal twice means no progress.
    pub signature: Option<u64>,
    /// Whether its judges have sent back the work that is going on: it stays theirs, whatever the judge breaker says.
    pub sent_back: bool,
    /// Whether the work passed only by the relief of a foundation task.
    pub relaxed: bool,
    /// For failed tasks: whether a clean fixup has superseded it.
    pub superseded: bool,
    /// What an agent cut its criteria into.
    pub probes: Vec<Probe>,
    /// For a done verification: the edge that its verdict took.
    pub edge: Option<Edge>,
    /// For a verification: verdicts that took an edge, since it last began by a person's word.
    pub visits: u32,
    /// Whether the verdict of a verification left it out of the run.
    pub not_taken: bool,
    /// What the runtime saw of its work.
    pub evidence: Evidence,
    /// How often the worker was told in this attempt what its finish gate misses.
    pub nudged: Nudged,
    /// What it was told last in this attempt.
    pub missing: Vec<Finding>,
    /// How often its files were to be looked at: what an earlier look saw comes too late.
    pub scans: u32,
    /// What was seen of its files, while a person is asked about the work that was being judged.
    pub seen: Vec<FileFact>,
    /// The checks that had passed then.
    pub passed: Vec<(u32, u64)>,
    /// Files that changed since the person was asked.
    pub changed: Vec<String>,
    /// For a done task: what it was accepted for, where it names files or has checks.
    pub acceptance: Option<Box<Acceptance>>,
    /// How often its accepted work did not stand, since it last began by a person's word.
    pub regressions: u32,
    /// While its accepted work is done or judged once more because something did not stand.
    pub reopened: Option<Box<Reopened>>,
    /// The last stage of this attempt in whose place a person accepted the work: what comes before it is settled, however
    /// often judges behind it must be asked.
    pub accepted: Option<Box<PersonsWord>>,
    /// Whether a red team or a vision check of this attempt gave no report, and the work went on without it.
    pub faulted: bool,
    /// The moment that it waits for, without a slot.
    pub deferral: Option<Box<Deferral>>,
    /// What has failed in a row.
    pub streak: Streak,
    /// Whether something that this attempt should have shown was not shown: a forced finish gate, an open judge breaker.
    pub unverified: bool,
}

/// Accepted work is done once more, in one attempt beside all limits, because it did not stand; or a verification judges
/// once more, because work that it had judged is done again. Over when the task ends or begins anew.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reopened {
    /// What did not stand.
    pub why: Box<str>,
    /// The files of the old acceptance that are to be there again.
    pub files: Vec<FileFact>,
    /// For a verification: the edge that its verdict took. The next one must take the same.
    pub edge: Option<Edge>,
    /// Tasks that wait until this one has ended, because they name a file of it and are done again too.
    pub ahead_of: Vec<TaskId>,
}

/// A task waits for a moment or for a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferral {
    /// Why.
    pub why: DeferralReason,
    /// The moment.
    pub until: Timestamp,
    /// Since when it is waited for, in this session.
    pub since: Timestamp,
    /// What was said of it.
    pub message: String,
    /// What waits for a slot goes on behind this stage; `None`: with whoever is asked already.
    pub stage: Option<Stage>,
    /// Which of several such stages.
    pub step: Option<Step>,
}

/// What has failed in a row; whatever goes well ends the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Streak {
    /// Attempts that failed for a reason of the provider.
    pub provider: u32,
    /// Attempts that ended within a second of their start, nobody knows why.
    pub instant: u32,
    /// Limits of subscriptions that were met.
    pub windows: u32,
    /// Whether the last turn ended within a second of its attempt's start.
    pub was_quick: bool,
    /// Whether what the agent was told was too long, since the task last began: it is told less then.
    pub too_long: bool,
}

/// A person's yes to work that is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonsWord {
    /// Where it stands.
    pub stage: Stage,
    /// For one of the mission's own stages: its name.
    pub name: Option<Box<str>>,
    /// Whether the score that a panel gave before is the work's score.
    pub scored: bool,
}
/// How often a worker was told in one attempt what its finish gate misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nudged {
    /// That its work does not compile.
    pub compilation: u32,
    /// The rest.
    pub others: u32,
}
/// What the runtime itself saw of a task's work, beside exit codes and checks (semantics, section 1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// What stood in the files before the turn that is coming or in flight. A turn that was lost leaves it: whatever
    /// it did is found by the next one.
    pub noted: Option<Box<Noted>>,
    /// Whether the content of a watched file changed since the task's first attempt.
    pub changed: Known,
    /// Whether a watched file was written since then, be it with what it held.
    pub written: Known,
    /// The tool calls of the current attempt.
    pub calls: Calls,
}
/// The record of files before a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// The turn for which it was made.
    pub turn: TurnId,
    /// The record, in the spool.
    pub file: FileRef,
    /// Turns that were ever started before.
    pub(in crate::engine) starts: u64,
    /// Whether another turn was under way when it was made.
    pub(in crate::engine) shared: bool,
}
/// Whether something happened, where that can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Known {
    /// It did not.
    #[default]
    No,
    /// It did.
    Yes,
    /// Nobody can tell.
    Unknown,
}
impl Known {
    /// With one more turn, in which so many files did so; `None`: nobody can tell.
    pub(in crate::engine) fn and(self, count: Option<u32>, shared: bool) -> Self {
        match (self, count) {
            (Self::Yes, _) => Self::Yes,
            (known, Some(0)) => known,
            (_, Some(_)) if !shared => Self::Yes,
            _ => Self::Unknown,
        }
    }
}
/// The tool calls of an attempt: of all its turns, or nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls(pub(in crate::engine) Option<ToolCalls>);
impl Default for Calls {
    /// Before the first turn there was none.
    fn default() -> Self {
        Self(Some(ToolCalls::default()))
    }
}
impl Calls {
    /// The sum; `None` where the ledger of any turn is missing.
    #[must_use]
    pub fn known(self) -> Option<ToolCalls> {
        self.0
    }

    pub(in crate::engine) fn and(self, turn: Option<ToolCalls>) -> Self {
        Self(self.0.zip(turn).map(|(sum, turn)| ToolCalls {
            calls: sum.calls.saturating_add(turn.calls),
            writes: sum.writes.saturating_add(turn.writes),
        }))
    }
}
/// The files that hold what a turn said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputRefs {
    /// Standard output.
    pub stdout: Option<FileRef>,
    /// The result file; its `output`, where there is one, stands for standard output.
    pub result: Option<FileRef>,
    /// The record of its tool calls, where this program made them.
    pub tools: Option<FileRef>,
}
/// A turn in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Requests refused or spawns failed so far.
    pub failed_requests: u32,
    /// When the next request may be made.
    pub not_before: Option<Timestamp>,
}
/// Why a task waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The reason.
    pub reason: WaitingReason,
    /// For a refer: its cause.
    pub cause: Option<Cause>,
    /// For a refer: the stage that a person decides instead of.
    pub stage: Stage,
    /// For one behind the verification: which.
    pub step: Option<Step>,
    /// The approval's number within the task.
    pub number: u32,
    /// The approval gate that asks, where one does.
    pub gate: Option<Box<str>>,
    /// When its time is up, or was.
    pub expires: Option<Timestamp>,
    /// Which approver that is no person is asked now.
    pub asking: Option<u32>,
    /// How many of the approvers have left it open.
    pub undecided: u32,
}
/// How an approval is resolved, as the journal says it: the person says yes.
pub(in crate::engine) const APPROVED: &str = "approved";
/// The person says no.
pub(in crate::engine) const REJECTED: &str = "rejected";
/// The person answered a question.
pub(in crate::engine) const ANSWERED: &str = "answered";
/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The approval's number within the task.
    pub number: u32,
    /// Whether the answer was yes.
    pub approved: bool,
}
impl Waiting {
    /// Whether it is the judges, not a person, that are missing: such a task is asked about again on resume and
    /// counts as indeterminate (section 20).
    #[must_use]
    pub fn is_for_judges(&self) -> bool {
        self.reason == WaitingReason::Refer
            && matches!(
                self.cause,
                Some(Cause::GateError | Cause::NoReviewer | Cause::Unstable)
            )
    }
}
/// An agent that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The call that is out.
    pub id: AskId,
    /// What about.
    pub purpose: Purpose,
    /// Who.
    pub agent: AgentId,
    /// Requests that the provider refused so far.
    pub failed_requests: u32,
    /// Why the last reply of a reviewer could not be read, while a strict reprompt is out.
    pub strict: Option<String>,
    /// When the call out may be made.
    pub not_before: Option<Timestamp>,
    /// Where it met a limit that resets, so that no call is out: when.
    pub window: Option<Timestamp>,
}
/// What an attempt was sent back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The attempt.
    pub attempt: u32,
    /// The stage that failed.
    pub stage: Stage,
    /// For one of the mission's own stages: its name.
    pub name: Option<String>,
    /// Why.
    pub cause: Option<Cause>,
    /// The points, where there are any.
    pub points: Option<Points>,
    /// Scores and reasoning per dimension.
    pub dimensions: Vec<DimensionScore>,
    /// What was found.
    pub findings: Vec<Finding>,
}
/// Judging of the current attempt in progress.
#[derive(Debug, Clone, Default)]
pub struct Judging {
    /// How many parts of it did not count, because protected files were not what they were.
    pub voided: u32,
    /// Whether the scan was asked for and has not come back.
    pub scanning: bool,
    /// What follows then.
    pub then: AfterScan,
    /// What was seen of the files, once it was looked.
    pub files: Vec<FileFact>,
    /// Whether a command that may write files was asked for since.
    pub stale: bool,
    /// Whether files changed while somebody judged them.
    pub changed: bool,
    /// The stage that was asked once more for that.
    pub repeated: Option<AskedStage>,
    /// The rounds that it had before.
    pub rounds_before: u32,
    /// Turns that had ended when the checks were asked for.
    pub turns_ended: u64,
    /// The checks that passed, by position, each with that number.
    pub passed: Vec<(u32, u64)>,
    /// Why its answer stands for no work, where that was asked.
    pub hollow: Option<String>,
    /// One for each command of the finish gate that was asked for.
    pub finish: Vec<Option<CheckResult>>,
    /// One for each of the task's checks, once they were asked for.
    pub checks: Vec<Option<CheckResult>>,
    /// The round of the panel that is out; 0 before judges were asked.
    pub round: u32,
    /// Rounds of this judging: what `maxAssessmentRetries` bounds.
    pub rounds: u32,
    /// The seats of the round.
    pub seats: Vec<Seat>,
    /// Whether the judges' score is the work's score: in this judging, or as a person confirmed it.
    pub scored: bool,
    /// The stage behind the panel that was asked last.
    pub stage: Option<OpenStage>,
    /// What the judge of the verification, or of that stage, replied last. Forgotten when another one is asked.
    pub heard: Option<Box<Heard>>,
}
/// A judge's reply outside of a panel: what counts of it if the next one cannot be read, and why it was asked once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// What could be read of it.
    pub advice: Advice,
    /// Its text.
    pub reply: Digest,
    /// The call that it came of.
    pub id: AskId,
}
/// A stage behind the panel: the verification, and what comes behind that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenStage {
    /// Which one; `None`: the verification.
    pub step: Option<Step>,
    /// Its round, from 1; in round 0 a vision check looks which of its screenshots are there.
    pub round: u32,
    /// Whether it has not come back.
    pub open: bool,
    /// Whether it needs no agent.
    pub plain: bool,
    /// On what grounds the work came to it.
    pub grounds: Grounds,
}
/// One seat of a panel, or the single seat of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// Who sits on it.
    pub agent: AgentId,
    /// Who was to sit on it and could not be reached.
    pub instead_of: Option<AgentId>,
    /// Requests that the provider of who sits on it refused, before its first reply and behind it.
    pub failed_requests: u32,
    /// Why the last request failed, in words.
    pub unreached: Option<Box<str>>,
    /// What the first reply said, where it can be read and left points of the earlier review without an answer: it counts
    /// if the second one cannot be read.
    pub first: Option<Advice>,
    /// The last reply that could not be read.
    pub unread: Option<Digest>,
    /// Whether the strict reprompt brought the same text once more.
    pub repeats: bool,
    /// Where it stands.
    pub state: SeatState,
}
/// Where a seat stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeatState {
    /// It is asked.
    Asked,
    /// It gave scores.
    Replied(Advice),
    /// It could not be read to the end.
    Unparsed(Advice),
    /// It could not be asked.
    Failed(FailureClass),
}
impl Judging {
    /// The stage that asks somebody, or did last.
    #[must_use]
    pub(in crate::engine) fn asked_stage(&self) -> AskedStage {
        match self.stage.map(|stage| stage.step) {
            Some(Some(step)) => (step.stage(), Some(step)),
            Some(None) => (Stage::Verification, None),
            None => (Stage::Judge, None),
        }
    }

    /// Whether that stage is asked for the second time, because files changed the first time.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.repeated == Some(self.asked_stage())
    }

    /// The command of the finish gate that is out.
    #[must_use]
    pub fn finish_open(&self) -> Option<u32> {
        let open = self.finish.last()?.is_none();
        open.then(|| u32::try_from(self.finish.len() - 1).ok()).flatten()
    }
}
impl TaskState {
    /// Whether the task holds a slot: from assigned to the end of review, but not while it waits for a moment.
    #[must_use]
    pub fn holds_slot(&self) -> bool {
        let works = matches!(
            self.status,
            Status::Assigned | Status::InProgress | Status::Review
        );
        works && self.deferral.is_none()
    }

    /// Whether the task waits for a slot to go on with its judging.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        let deferral = self.deferral.as_deref();
        deferral.is_some_and(|deferral| deferral.why == DeferralReason::Slot)
    }

    /// Whether the runtime looks at something of its work now. Whoever is asked is a call, and one that has no room is held:
    /// nobody looks then.
    #[must_use]
    pub(in crate::engine) fn is_looked_at(&self) -> bool {
        self.judging
            .as_deref()
            .is_some_and(|judging| judging.jobs(self.scans).next().is_some())
    }

    /// Whether the task waits for the answer to a question, or for the word that it is one: no turn of it may start.
    #[must_use]
    pub(in crate::engine) fn is_clarified(&self) -> bool {
        let open = self.dialog.as_deref().is_some_and(|dialog| dialog.open.is_some());
        let confirming = self.status == Status::InProgress && !self.asks.is_empty();
        open || confirming
    }

    /// Calls that are out for the task beside its turns and its judging.
    #[must_use]
    pub(in crate::engine) fn calls(&self) -> u32 {
        let scans = self
            .remedies
            .as_deref()
            .map_or(0, |remedies| remedies.scanning.len());
        let asked = self.asks.iter().filter(|open| open.window.is_none());
        u32::try_from(asked.count() + scans).unwrap_or(u32::MAX)
    }

    /// Whether it needed more than one attempt.
    #[must_use]
    pub(in crate::engine) fn is_reworked(&self) -> bool {
        self.attempt > 1
    }

    /// Whether the task goes on without a dependency that failed.
    #[must_use]
    pub fn does_without(&self, dependency: TaskId) -> bool {
        let without = self.remedies.iter().flat_map(|remedies| &remedies.without);
        without.into_iter().any(|known| known.dependency == dependency)
    }

    /// Whether it was built on less than it needs.
    #[must_use]
    pub(in crate::engine) fn is_degraded(&self) -> bool {
        let mut without = self.remedies.iter().flat_map(|remedies| &remedies.without);
        without.any(|known| matches!(known.way, Way::Artifacts | Way::Partial))
    }

    /// What a seat of the round that is out is asked.
    #[must_use]
    #[cfg(test)]
    pub fn ask_of_seat(&self, seat: u32) -> Option<&Ask> {
        let round = self.judging.as_deref()?.round;
        let is_meant = |place: crate::domain::SeatPlace| {
            place.attempt == self.attempt && place.round == round && place.seat == seat
        };
        self.asks
            .iter()
            .find(|open| open.purpose.seat().is_some_and(is_meant))
    }

    /// Judges that are asked and have not met a limit that resets.
    #[must_use]
    pub(in crate::engine) fn judges_are_out(&self) -> bool {
        let mut asks = self.asks.iter();
        asks.any(|open| open.purpose.is_judging() && open.window.is_none())
    }
}
