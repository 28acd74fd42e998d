//! The state of one task.

use crate::domain::{
    Advice, AgentId, AskId, Cause, Digest, DimensionScore, Edge, FailureClass, FailureMode, Finding, Phase,
    Points, Purpose, QualityFlag, Stage, StageKey, Status, TaskId, Timestamp, Verdict,
};
use crate::engine::audit::{Acceptance, AfterScan};
use crate::engine::dialog::Dialog;
use crate::engine::payload::{CheckResult, DeferralReason, FileFact, FileRef, StageReport, Way};
use crate::engine::remedies::Remedies;
use crate::mission::SubTask;

use super::attempt::{Attempt, Course};
use super::hold::Hold;

/// A task's state.
#[derive(Debug, Clone, Default)]
pub struct TaskState {
    pub(crate) state: Status,
    pub(in crate::engine) doing: Option<Phase>,
    /// Dependencies not done and gates not passed.
    pub blockers: u32,
    /// The current or last attempt.
    pub attempt: Attempt,
    /// What has come together since the task last began by a person's word.
    pub course: Course,
    /// What is under way for the task.
    pub work: OpenWork,
    /// What the last finished turn said.
    pub output: OutputRefs,
    pub(in crate::engine) review: Option<Box<Judging>>,
    /// What was found so far, the oldest first; carried into prompts and reviews.
    pub feedback: Vec<Feedback>,
    pub(in crate::engine) end: End,
    pub(in crate::engine) waits: Option<Hold>,
    /// What was asked of persons, and what they let the agent do.
    pub consent: Consent,
    /// While a person is asked about work that a panel let pass: what the panel said.
    pub panel: Option<Box<StageReport>>,
    /// What is done about dependencies that failed.
    pub remedies: Option<Box<Remedies>>,
    /// What its agent asked and was answered.
    pub dialog: Option<Box<Dialog>>,
    /// Sub-tasks that its agent wants to hand down, by title.
    pub delegations: Vec<SubTask>,
    /// Whether the verdict of a verification left it out of the run.
    pub not_taken: bool,
    /// What was seen of its files, while a person is asked about the work that was being judged.
    pub seen: Vec<FileFact>,
    /// The checks that had passed then.
    pub passed: Vec<(u32, u64)>,
    /// Files that changed since the person was asked.
    pub changed: Vec<String>,
    /// While its accepted work is done or judged once more because something did not stand.
    pub reopened: Option<Box<Reopened>>,
    /// The moment that it waits for, without a slot.
    pub deferral: Option<Box<Deferral>>,
}

/// What a task came to, or is about to.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct End {
    /// For done tasks.
    pub flag: Option<QualityFlag>,
    /// For failed tasks.
    pub mode: Option<FailureMode>,
    /// For failed tasks: whether a clean fixup has superseded it.
    pub superseded: bool,
    /// For a done verification: the edge that its verdict took.
    pub edge: Option<Edge>,
    /// For a done task: what it was accepted for, where it names files or has checks.
    pub acceptance: Option<Box<Acceptance>>,
}

/// What is under way for a task, or waits to be.
#[derive(Debug, Clone, Default)]
pub struct OpenWork {
    /// The turn in flight.
    pub turn: Option<Turn>,
    /// Agents that are asked about the task and have not answered. They end with the task's next transition.
    pub asks: Vec<Ask>,
    /// How often an agent was asked about it; numbers the asks.
    pub asked: u32,
    /// How often its files were to be looked at: what an earlier look saw comes too late.
    pub scans: u32,
}

/// What was asked of persons about a task, and what they let its agent do.
#[derive(Debug, Clone, Default)]
pub struct Consent {
    /// How often a person was asked about it; makes the ids of approvals.
    pub asked: u32,
    /// What persons answered, the oldest first.
    pub answers: Vec<Answer>,
    /// The approvals that were given for its next start: the names of their gates, `None` for its own.
    pub agreed: Vec<Option<Box<str>>>,
    /// Whether its agent may have acted: from then on one with side effects acts again only by a person's word.
    pub acted: bool,
    /// Whether a person let the agent act again; good for one turn.
    pub allowed_again: bool,
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
    pub stage: Option<StageKey>,
}

/// What a turn said: the files that hold it, and who did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputRefs {
    /// Standard output.
    pub stdout: Option<FileRef>,
    /// The result file; its `output`, where there is one, stands for standard output.
    pub result: Option<FileRef>,
    /// The record of its tool calls, where this program made them.
    pub tools: Option<FileRef>,
    /// The model that the provider says did it; `None` where nobody said.
    pub model: Option<Box<str>>,
}
/// A turn in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Requests refused or spawns failed so far.
    pub failed_requests: u32,
    /// When the next request may be made.
    pub not_before: Option<Timestamp>,
}
/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The approval's number within the task.
    pub number: u32,
    /// Whether the answer was yes.
    pub approved: bool,
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
    pub repeated: Option<StageKey>,
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
    /// What judges said so far, the last word of each last.
    pub verdicts: Vec<SaidVerdict>,
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
/// A verdict of a stage of judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaidVerdict {
    /// The kind of stage.
    pub stage: Stage,
    /// What it said.
    pub verdict: Verdict,
    /// Whether it was passed over, because reviews are switched off.
    pub withdrawn: bool,
}
/// A stage behind the panel: the verification, and what comes behind that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenStage {
    /// Which one.
    pub key: StageKey,
    /// Its round, from 1; in round 0 a vision check looks which of its screenshots are there.
    pub round: u32,
    /// Whether it has not come back.
    pub open: bool,
    /// Whether it needs no agent.
    pub plain: bool,
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
    pub(in crate::engine) fn asked_stage(&self) -> StageKey {
        self.stage.map_or(StageKey::Of(Stage::Judge), |stage| stage.key)
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
    /// One of the seven states.
    #[must_use]
    pub fn status(&self) -> Status {
        self.state
    }

    /// What goes on inside it.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.doing
    }

    /// For done tasks: how good.
    #[must_use]
    pub fn flag(&self) -> Option<QualityFlag> {
        self.end.flag
    }

    /// For failed tasks: how.
    #[must_use]
    pub fn mode(&self) -> Option<FailureMode> {
        self.end.mode
    }

    /// Whether it failed and a clean fixup has superseded it.
    #[must_use]
    pub fn is_superseded(&self) -> bool {
        self.end.superseded
    }

    /// For a verification that is done, or judges what it did once more: the edge that its verdict took.
    #[must_use]
    pub fn edge(&self) -> Option<Edge> {
        self.end.edge
    }

    /// For a done task: what it was accepted for, where it names files or has checks.
    #[must_use]
    pub fn acceptance(&self) -> Option<&Acceptance> {
        self.end.acceptance.as_deref()
    }

    /// Judging in progress.
    #[must_use]
    pub fn judging(&self) -> Option<&Judging> {
        self.review.as_deref()
    }

    /// What it waits for a person with.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        self.waits.as_ref()
    }

    /// Whether the task holds a slot: from assigned to the end of review, but not while it waits for a moment.
    #[must_use]
    pub fn holds_slot(&self) -> bool {
        let works = matches!(self.state, Status::Assigned | Status::InProgress | Status::Review);
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
        self.judging()
            .is_some_and(|judging| judging.jobs(self.work.scans).next().is_some())
    }

    /// Whether the task waits for the answer to a question, or for the word that it is one: no turn of it may start.
    #[must_use]
    pub(in crate::engine) fn is_clarified(&self) -> bool {
        let open = self.dialog.as_deref().is_some_and(|dialog| dialog.open.is_some());
        let confirming = self.state == Status::InProgress && !self.work.asks.is_empty();
        open || confirming
    }

    /// Calls that are out for the task beside its turns and its judging.
    #[must_use]
    pub(in crate::engine) fn calls(&self) -> u32 {
        let scans = self
            .remedies
            .as_deref()
            .map_or(0, |remedies| remedies.scanning.len());
        let asked = self.work.asks.iter().filter(|open| open.window.is_none());
        u32::try_from(asked.count() + scans).unwrap_or(u32::MAX)
    }

    /// Whether it needed more than one attempt.
    #[must_use]
    pub(in crate::engine) fn is_reworked(&self) -> bool {
        self.attempt.number > 1
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
        let round = self.judging()?.round;
        let is_meant = |place: crate::domain::SeatPlace| {
            place.attempt == self.attempt.number && place.round == round && place.seat == seat
        };
        self.work
            .asks
            .iter()
            .find(|open| open.purpose.seat().is_some_and(is_meant))
    }

    /// Judges that are asked and have not met a limit that resets.
    #[must_use]
    pub(in crate::engine) fn judges_are_out(&self) -> bool {
        let mut asks = self.work.asks.iter();
        asks.any(|open| open.purpose.is_judging() && open.window.is_none())
    }
}
