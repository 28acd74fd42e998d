//! What a task's state holds of its attempts: of the current one, and of all since the task last began.

use thin_vec::ThinVec;

use crate::domain::{AgentId, AttemptKind, Edge, Finding, Points, Probe, Stage, TurnId, Verdict};
use crate::engine::baseline_record::Baseline;
use crate::engine::event_payload::{Commit, FileRef, SessionRef, StageReport, ToolCalls};
use crate::engine::quality_flag::Mark;
use crate::engine::test_looks::TestLooks;
use crate::judging::tests_changed::TouchedTests;

/// The current or last attempt of a task. Each one begins with nothing of the one before.
#[derive(Debug, Clone, Default)]
pub struct Attempt {
    /// The number of the attempt; 0 before the first.
    pub number: u32,
    pub kind: AttemptKind,
    /// The number of the current or last turn.
    pub turn: u32,
    /// Rounds in which reviewers were asked about it. Numbers count on when a parked attempt is judged again, so that no
    /// reply ever takes the name of an older one.
    pub rounds: u32,
    /// The tool calls of its turns.
    pub calls: Calls,
    /// The calls that the agent's program was not allowed to make, each once.
    pub denied: ThinVec<Box<str>>,
    /// How often the worker was told in it what its finish gate misses.
    pub nudged: Nudged,
    /// The unmet requirements that the worker was told last.
    pub missing: Vec<Finding>,
    /// The last score of the attempt.
    pub points: Option<Points>,
    /// The marks that the verdicts so far, and the acceptance, leave on the work; each once. The worst of them
    /// is the flag of the work.
    pub marks: ThinVec<Mark>,
    /// Whether the work was accepted below its bar, and what a person said of that.
    pub below_bar: BelowBar,
    /// The last stage in whose place a person accepted the work: what comes before it is settled, however often judges
    /// behind it must be asked.
    pub accepted: Option<Box<HumanDecision>>,
    /// The looks at tests that the last turn left changed.
    pub looks: TestLooks,
}

/// Whether work was accepted below its bar.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum BelowBar {
    #[default]
    No,
    /// The work was accepted below its bar, and operators were told.
    Told,
    /// The work was accepted below its bar, and a person answered whether it may stay so.
    Answered(bool),
}

impl Attempt {
    /// The agent goes on in the same attempt, told what its finish gate misses.
    pub(crate) fn nudge(&mut self, compilation: bool, others: bool, missing: &[Finding]) {
        self.nudged.compilation += u32::from(compilation);
        self.nudged.others += u32::from(others);
        self.missing = missing.to_vec();
    }

    /// The calls that the agent's program was not allowed to make, in one sentence.
    pub(crate) fn denials(&self) -> Option<String> {
        (!self.denied.is_empty()).then(|| format!("the agent was not allowed to: {}", self.denied.join(", ")))
    }

    /// Whether a verdict so far leaves this mark.
    pub fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    /// Whether all that stands for the work are checks that were green before it began.
    pub fn is_vacuous(&self) -> bool {
        self.has(Mark::Vacuous) || self.has(Mark::Unproven)
    }

    /// The marks of one more verdict. What it is about itself is said anew. Whether nobody reviewed the work is no mark of one
    /// verdict: acceptance says it, by all verdicts of its judging.
    pub(crate) fn take_marks(&mut self, report: &StageReport) {
        let anew = |mark: &Mark| match (mark, report.stage, report.verdict) {
            (Mark::Relaxed, stage, Verdict::Pass) => stage == Stage::Judge || report.by.is_some(),
            (Mark::Unverified, stage, Verdict::Pass) => stage == Stage::Finish,
            (Mark::Indeterminate, stage, Verdict::Pass) => {
                matches!(stage, Stage::Judge | Stage::Verification)
            }
            (Mark::Indeterminate, _, Verdict::Fail | Verdict::Refer) => true,
            _ => false,
        };
        self.marks.retain(|mark| !anew(mark));
        self.leave(report.marks().filter(|mark| *mark != Mark::Unreviewed));
    }

    /// Adds marks to the attempt.
    pub(crate) fn leave(&mut self, marks: impl IntoIterator<Item = Mark>) {
        for mark in marks {
            if !self.has(mark) {
                self.marks.push(mark);
            }
        }
    }
}

/// The results since a task last began, by itself or by a person's word: then they all begin anew.
#[derive(Debug, Clone, Default)]
pub struct Course {
    /// Attempts of the current allowance.
    pub tries: u32,
    /// Fixes since the last execute or retry.
    pub fixes: u32,
    /// Retries of the current allowance.
    pub retries: u32,
    /// How often the accepted work did not stand.
    pub regressions: u32,
    /// For a verification: verdicts that took an edge.
    pub visits: u32,
    /// For a verification that is done, or judges what it did once more: the edge that its verdict took.
    pub edge: Option<Edge>,
    /// The signature of the last failed attempt: failed checks, scores, files. Equal twice means no progress.
    pub signature: Option<u64>,
    /// Whether the task's judges have sent back the work that is going on: it stays theirs, whatever the judge
    /// breaker says.
    pub sent_back: bool,
    /// The failures in a row.
    pub streak: Streak,
    /// The results of the checks before the work; `None` where nobody has looked. They are kept when all begins
    /// anew.
    pub baseline: Option<Box<Baseline>>,
    /// The record of files before its first turn. It is kept when all begins anew.
    pub first: Option<Box<FirstNoted>>,
    /// Whether the task has had a turn. It is kept when all begins anew.
    pub first_turn: FirstTurn,
    /// Whether the work was sent back once for tests that it changed. It is kept when all begins anew.
    pub told_of_tests: bool,
    /// The probes that an agent cut the criteria into.
    pub probes: Vec<Probe>,
    /// The evidence of the work that the runtime saw.
    pub evidence: Evidence,
    /// The session of the agent's program, in which a fix goes on.
    pub session: Option<Box<SessionRef>>,
    /// The commits of a task in a worktree; `None` elsewhere.
    pub committed: Option<Box<Committed>>,
    /// Agents that worked on the task before another one went on with it, each with the model that its provider said it used.
    /// Their work stays where it is when the task begins anew.
    pub authors_before: ThinVec<(AgentId, Option<Box<str>>)>,
}

/// Whether a task has had a turn.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum FirstTurn {
    #[default]
    Ahead,
    /// It is ahead, and what was looked at before it is to be looked at anew, because something that the task needs was
    /// withdrawn (section 24).
    Outdated,
    Begun,
}

/// The commits of a task in a worktree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Committed {
    /// The last commit of the work, as its checks saw it: only on what it lies on it may land.
    pub commit: Option<Commit>,
    /// Whether the commit is part of what was accepted.
    pub merged: bool,
    /// How often the commit could not be merged as it was.
    pub conflicts: u32,
}

impl Committed {
    /// The commit that the work goes on from; none where it begins with what was accepted.
    pub fn goes_on(&self) -> Option<&Commit> {
        self.commit.as_ref().filter(|_| !self.merged)
    }
}

impl Course {
    /// How often the work could not be merged as it was.
    pub(crate) fn conflicts(&self) -> u32 {
        self.committed.as_ref().map_or(0, |committed| committed.conflicts)
    }
}

/// The failures in a row; whatever goes well ends the row.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
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
#[derive(Debug, Clone, PartialEq)]
pub struct HumanDecision {
    /// The stage of judging that the decision was made at.
    pub stage: Stage,
    /// For one of the mission's own stages: its name.
    pub name: Option<Box<str>>,
    /// Whether the score that a panel gave before is the work's score.
    pub scored: bool,
}

/// How often a worker was told in one attempt what its finish gate misses.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Nudged {
    /// How often the worker was told that its work does not compile.
    pub compilation: u32,
    /// How often the worker was told of other missing things.
    pub others: u32,
}

/// The evidence of a task's work that the runtime itself saw, beside exit codes and checks (semantics, section
/// 1).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// The state of the files before the turn that is coming or in flight. A turn that was lost leaves it:
    /// whatever that turn did is found by the next one.
    pub noted: Option<Box<FileSnapshot>>,
    /// Whether the content of a watched file changed since the task's first attempt.
    pub changed: Known,
    /// Whether a watched file was written since then, be it with what it held; `None` where nobody looked.
    pub written: Option<Known>,
    /// Tests that differ from what the task began with, since its last turn.
    pub tests: Option<Box<TouchedTests>>,
}

/// The record of files before the first turn of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstNoted {
    pub noted: FileSnapshot,
    /// Turns of the task that were started since.
    pub turns: u64,
}

/// The record of files before a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSnapshot {
    /// The turn for which the snapshot was made.
    pub turn: TurnId,
    /// The record, in the spool.
    pub file: FileRef,
    /// Turns that were ever started before.
    pub(crate) starts: u64,
    /// Whether another turn was under way when it was made.
    pub(crate) shared: bool,
}

/// Whether something happened, where that can be known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Known {
    /// The thing did not happen.
    #[default]
    No,
    /// The thing happened.
    Yes,
    /// Nobody can tell whether it happened.
    Unknown,
}
impl Known {
    /// With one more turn, in which so many files did so; `None`: nobody can tell.
    pub(crate) fn and(self, count: Option<u32>, shared: bool) -> Self {
        match (self, count) {
            (Self::Yes, _) => Self::Yes,
            (known, Some(0)) => known,
            (_, Some(_)) if !shared => Self::Yes,
            _ => Self::Unknown,
        }
    }
}

/// The tool calls of an attempt: of all its turns, or nobody knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calls(pub(crate) Option<ToolCalls>);
impl Default for Calls {
    /// Before the first turn there was none.
    fn default() -> Self {
        Self(Some(ToolCalls::default()))
    }
}
impl Calls {
    /// The sum; `None` where the ledger of any turn is missing.
    pub fn known(self) -> Option<ToolCalls> {
        self.0
    }

    pub(crate) fn and(self, turn: Option<ToolCalls>) -> Self {
        Self(self.0.zip(turn).map(|(sum, turn)| ToolCalls {
            calls: sum.calls.saturating_add(turn.calls),
            writes: sum.writes.saturating_add(turn.writes),
        }))
    }
}
