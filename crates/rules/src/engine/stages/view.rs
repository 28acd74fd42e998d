//! What a stage sees of its task, and what it may say: the vocabulary of all stages.

use std::sync::LazyLock;

use crate::domain::{
    AgentId, Answer, Cause, CriterionGrade, Finding, Probe, Purpose, Severity, Stage, StageKey, TaskId,
    Verdict,
};
use crate::engine::event_payload::{FileFact, StageReport};
use crate::engine::job::Job;
use crate::engine::quality_flag::Mark;
use crate::engine::state::{Judging, SaidVerdict, State, TaskState};
use crate::plan::{Judge, Plan, TaskPlan};

use super::open_points::prior_points;

/// A task that is judged, as it is.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The run as it was when the decision began.
    pub state: &'a State,
    /// The task that is judged.
    pub id: TaskId,
    /// The task with what was decided since.
    pub task: &'a TaskState,
}

/// The wish of a stage.
pub enum Next {
    /// Something that it asked for has not come back.
    Wait,
    /// The stage asks judges or runs commands.
    Open(Vec<Request>),
    /// The criteria were cut into these probes, about which the judge is asked in the same round.
    Probed(Vec<Probe>),
    /// The stage is content, or has no say; the report's verdict and cause are the mark. None: it has nothing to say.
    Pass(Option<Box<StageReport>>),
    /// Twice no score could be read from a review. The report sends the work back; none lets it pass all the same.
    Unread(Option<Box<StageReport>>),
    /// The worker is told in another turn of the same attempt what is missing.
    Nudge {
        /// Whether that its work does not compile.
        compilation: bool,
        /// Whether the worker is told anything else.
        others: bool,
        missing: Vec<Finding>,
    },
    /// The work is not good enough.
    Fail(Box<StageReport>),
    /// Nobody can tell whether the work is good: the text is the question for a person.
    Refer(Box<StageReport>, String),
}

impl StageReport {
    /// Adds what was found.
    pub fn add(&mut self, severity: Severity, text: impl Into<String>) {
        self.findings.push(Finding::new(severity, text));
    }
}

impl Next {
    /// The wish that follows from a report by its verdict: where that is left open, a person is put this
    /// question.
    pub fn by_verdict(report: Box<StageReport>, question: impl FnOnce() -> String) -> Self {
        match report.verdict {
            Verdict::Pass | Verdict::Skip => Self::Pass(Some(report)),
            Verdict::Fail => Self::Fail(report),
            Verdict::Refer | Verdict::Fault => Self::Refer(report, question()),
        }
    }
}

/// Somebody is asked, or something is run.
#[derive(Clone, Copy)]
pub enum Request {
    /// An agent is asked.
    Ask(Purpose, AgentId),
    /// A command is run, or files are looked at.
    Run(Job),
}

/// The part of the replies that counts.
#[derive(Clone, Copy)]
pub enum Word<'a> {
    /// The replies stand in the state: results of commands, replies of seats, files that were looked at.
    Known,
    /// A judge, or a command of a stage, said this.
    Answered(&'a Answer),
    /// Plain facts grade the criteria so.
    Graded(&'a [CriterionGrade]),
}

/// The judge of a stage. Nobody where a command is run, facts are held against criteria or pictures are
/// measured.
#[derive(Clone, Copy, Default)]
pub struct Actor<'a> {
    pub agent: Option<AgentId>,
    /// The model that its provider says it used.
    pub model: Option<&'a str>,
}

impl Actor<'_> {
    /// Puts the judge's name under a report.
    pub fn sign(self, report: &mut StageReport) {
        report.judge = self.agent;
        report.model = self.model.map(str::to_owned);
    }
}

impl<'a> View<'a> {
    /// The plan of the run.
    pub fn plan(self) -> &'a Plan {
        &self.state.plan
    }

    /// The plan of the task.
    pub fn work(self) -> &'a TaskPlan {
        self.state.plan.task(self.id)
    }

    /// The judging of the task; an empty one before anything of it was asked for.
    pub fn judging(self) -> &'a Judging {
        static NONE: LazyLock<Judging> = LazyLock::new(Judging::default);
        self.task.judging().unwrap_or(&NONE)
    }

    /// The files that the task's rules name, as they were seen.
    pub fn files(self) -> &'a [FileFact] {
        &self.judging().files
    }

    /// A report without points or findings.
    pub fn report(self, key: StageKey, verdict: Verdict, cause: Option<Cause>) -> Box<StageReport> {
        let mut report = StageReport::new(self.id, self.task.attempt.number, key.stage(), verdict, cause);
        if let StageKey::Own(_) = key {
            report.name = Some(self.work().step_name(key).to_owned());
        }
        Box::new(report)
    }

    /// A report with one finding of no weight.
    pub fn remark(
        self,
        key: StageKey,
        verdict: Verdict,
        cause: Option<Cause>,
        text: &str,
    ) -> Box<StageReport> {
        let mut report = self.report(key, verdict, cause);
        report.add(Severity::Info, text);
        report
    }

    /// A report that the work passes, or fails for this cause.
    pub fn judged(self, key: StageKey, passes: bool, cause: Cause) -> Box<StageReport> {
        if passes {
            self.report(key, Verdict::Pass, None)
        } else {
            self.report(key, Verdict::Fail, Some(cause))
        }
    }

    /// The points of the last review that sent the work back, where whoever judges it must answer for them.
    pub fn prior_points(self) -> Vec<Finding> {
        prior_points(self.plan(), self.id, self.task)
    }

    /// Whether nobody has reviewed the work that comes to a stage, by the verdicts of this judging; behind the last stage:
    /// that is accepted. A person's word counts for all that comes before it; judges that gave no verdict were passed over.
    pub fn is_unreviewed(self, at: Option<StageKey>) -> bool {
        let word = self.task.attempt.accepted.as_deref().map(|word| word.stage);
        // Where its verdict counts.
        let counts = |stage: Stage| {
            at.is_none_or(|at| at > StageKey::Of(stage)) && word.is_none_or(|word| word < stage)
        };
        let verdicts = &self.judging().verdicts;
        let said = |stage: Stage| verdicts.iter().rev().find(|said| said.stage == stage);
        let has_passed = || said(Stage::Judge).is_some_and(|said| said.verdict == Verdict::Pass);
        let criteria = self.work().verification().filter(|_| counts(Stage::Verification));
        let is_unjudged = match criteria.map(|by| &by.rubric) {
            // Whoever graded the work has reviewed it.
            Some(Some(_)) => said(Stage::Verification).is_none(),
            Some(None) | None => self.work().judge().is_some() && counts(Stage::Judge) && !has_passed(),
        };
        is_unjudged || verdicts.iter().any(|said| said.mark == Some(Mark::Unreviewed))
    }

    /// Whether somebody with an opinion has let the work pass, by the verdicts of this judging, or a person has accepted it.
    pub fn is_judged(self) -> bool {
        let verdicts = &self.judging().verdicts;
        let is_graded = || self.work().verification().is_some_and(|by| by.rubric.is_some());
        let counts = |said: &SaidVerdict| match said.stage {
            Stage::Judge => !matches!(said.mark, Some(Mark::Unreviewed | Mark::Unverified)),
            Stage::Verification => said.by_somebody || is_graded(),
            Stage::Stages => said.by_somebody,
            _ => false,
        };
        let has_passed = |said: &SaidVerdict| said.verdict == Verdict::Pass && counts(said);
        self.task.attempt.accepted.is_some() || verdicts.iter().any(has_passed)
    }

    /// The question for a person. Whoever says yes accepts the work, not only what they were asked about, and
    /// is then its reviewer; so they must know where nobody else was (sections 9 and 20).
    pub fn put_to_a_person(self, at: StageKey, message: &str) -> String {
        let rest = if self.is_unreviewed(Some(at)) {
            "; nobody has reviewed the work itself, so whoever approves it is its only reviewer"
        } else {
            ""
        };
        format!("{message}{rest}")
    }

    /// The agents of all seats of the task, asked or not.
    pub fn seats(self) -> &'a [AgentId] {
        self.plan().judge(self.id).map_or(&[], Judge::seats)
    }

    /// The finding about a judge that was asked instead of the one that was meant; `None` where that one was.
    pub fn fell_back(self, purpose: Purpose, instead: Option<AgentId>) -> Option<Finding> {
        let first = self.work().judge_of(purpose)?;
        let instead = instead.filter(|agent| *agent != first)?;
        let (first, instead) = (self.plan().agent_name(first), self.plan().agent_name(instead));
        Some(Finding::new(
            Severity::Info,
            format!("'{instead}' judged instead of '{first}', which could not be reached"),
        ))
    }
}

/// Names of agents as a sentence has them: `a, b and c`.
pub fn names(plan: &Plan, agents: &[AgentId], word: &str) -> String {
    let names = plan.agent_names(agents);
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} {word} {last}", others.join(", ")),
        _ => names.concat(),
    }
}
