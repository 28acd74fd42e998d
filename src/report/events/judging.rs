//! What is told of judging: commands, files, verdicts.

use super::payload::{Payload, payload};
use rules::{
    domain::{CriterionGrade, Points, QualityFlag, Stage, StageKey, Status, TaskId, Verdict},
    engine::{
        AfterScan, AskEvent, BaselineResult, Event, Job, JobEnd, Mark, RunEvent, RunWork, StageReport,
        TaskEvent, WorkEvent,
    },
    judging::baseline_checks::items,
    mission::model::{Check, CommandCheck},
    plan::Requirement,
};
use serde_json::{Value, json};

use crate::report::documents::reviews::share;

use super::expander::{EventExpander, NamedPayload};

impl EventExpander {
    /// The payload of an event about an audit.
    pub fn audit_details(&self, event: &Event) -> Payload {
        match event {
            Event::Run(RunEvent::WorkRequested(RunWork::Audit { number })) => payload!(number),
            Event::Run(RunEvent::AuditFinished { number, checked, files, record, .. }) => {
                let changed =
                    files.iter().map(|(id, files)| payload!(self.task(*id); "files": self.each(files)));
                payload!(
                    number,
                    "checked": self.plan.titles(checked),
                    "changed": changed.collect::<Vec<_>>(),
                    "record": record.as_ref().map(|record| self.told(record)),
                )
            }
            _ => Payload::default(),
        }
    }

    /// The payload of the request to run a command or to look at files.
    pub fn job_details(&self, task: TaskId, job: Job) -> Payload {
        match job {
            Job::Scan { then, .. } => {
                let again = (then == AfterScan::Repeat).then_some(true);
                payload!(self.task(task); "stageRepeated": again)
            }
            Job::Artifacts(dependency) => self.failed_dependency(task, dependency),
            Job::Baseline | Job::Look(_) => self.task(task),
            Job::Finish(command) => self.finish_command(task, command),
            Job::Check(check) => self.check(task, check),
            Job::Grade(round) => payload!(self.task(task); round),
            Job::Stage(step, round) => {
                let name = self.step_name(task, step);
                payload!(self.task(task); "stage": step.stage().as_str(), name, round)
            }
            Job::Merge(number) => payload!(self.task(task); number),
            Job::PeerCheck(peer, check) => payload!(self.check(peer, check);
                "task": self.plan.title(task),
                "of": self.plan.title(peer),
            ),
            Job::Approver { number, approver } => payload!(self.approval_of(task, number); approver),
        }
    }

    /// The payload of the end of such a job; `is_failed` where its result does not count.
    pub fn end_details(&self, task: TaskId, job: Job, end: &JobEnd, is_failed: bool) -> Payload {
        match (job, end) {
            (Job::Artifacts(_), JobEnd::Seen { files, .. }) => {
                payload!(self.job_details(task, job); "files": self.each(files))
            }
            (_, JobEnd::Seen { .. }) => self.task(task).extend(self.told_by(end)),
            (_, JobEnd::Baseline { checks, .. }) => {
                payload!(self.task(task); "checks": self.seen(task, checks, "before"))
            }
            (_, JobEnd::Looked(looked)) => payload!(self.task(task);
                "files": looked.files,
                "checks": self.seen(task, &looked.checks, "result"),
                "control": self.seen(task, &looked.control, "result"),
                "message": looked.lost,
            ),
            (_, JobEnd::Checked(result)) => self.job_details(task, job).extend(self.told(result)),
            (_, JobEnd::Graded(_) | JobEnd::Judged(_)) if is_failed => self.job_details(task, job),
            // Their verdict tells it.
            (_, JobEnd::Graded(_) | JobEnd::Judged(_) | JobEnd::Approver(_) | JobEnd::Merged(_)) => {
                Payload::default()
            }
        }
    }

    /// The payloads of checks of a task that were looked at by themselves, each result under the key `said`.
    fn seen(&self, task: TaskId, checks: &[BaselineResult], said: &str) -> Vec<Value> {
        let items = items(self.plan.task(task));
        let told = checks.iter().map(|seen| {
            let item = items.iter().find(|item| item.key == seen.key);
            json!({
                "label": item.map(|item| &item.label),
                said: seen.before,
                "reason": Some(&seen.reason).filter(|reason| !reason.is_empty()),
                "durationMs": seen.duration,
            })
        });
        told.collect()
    }

    pub fn finish_command(&self, task: TaskId, index: u32) -> Payload {
        let gate = self.plan.task(task).finish();
        let commands = gate.map_or(&[][..], |gate| &gate.commands);
        let (kind, label) = match commands.get(index as usize) {
            Some(command) => match &command.shows {
                Requirement::Compilation => (Some("compilation"), Some(command.command.as_str())),
                Requirement::Test(test) => (Some("test"), Some(&**test)),
                Requirement::Command => (Some("command"), Some(command.command.as_str())),
            },
            None => (None, None),
        };
        payload!(self.task(task); index, "total": commands.len(), "type": kind, label)
    }

    pub fn check(&self, task: TaskId, index: u32) -> Payload {
        let checks = self.plan.task(task).checks();
        let (kind, label) = match checks.get(index as usize) {
            Some(Check::Command { kind, command, .. }) => {
                let kind = match kind {
                    CommandCheck::Test => "test",
                    CommandCheck::Script => "script",
                };
                (Some(kind), Some(command.clone()))
            }
            Some(Check::FileExists { paths, .. }) => (Some("file_exists"), Some(paths.join(", "))),
            Some(Check::Metric { name, .. }) => (Some("metric"), Some(name.clone())),
            None => (None, None),
        };
        payload!(self.task(task); index, "total": checks.len(), "type": kind, label)
    }

    /// The name of a stage behind the verification.
    pub fn step_name(&self, task: TaskId, step: StageKey) -> &str {
        self.plan.task(task).step_name(step)
    }

    pub fn stage_verdict(&self, report: &StageReport) -> Payload {
        payload!(self.task(report.task);
            "attempt": report.attempt,
            "stage": report.stage.as_str(),
            "name": report.name,
            "verdict": report.verdict,
            "cause": report.cause,
            "points": report.points.map(Points::to_f64),
            "class": report.failure,
            "reviewer": report.by,
            "reason": report.reason,
            "model": report.model,
            "confidence": report.confidence.map(share),
            "criteria": self.criteria(report),
            "relaxed": (report.mark == Some(Mark::Relaxed)).then_some(true),
            "findings": report.findings,
        )
    }

    /// The assessment of an attempt, where a verdict ends it.
    pub fn assessment(&self, of: &TaskEvent, rest: &[Event]) -> Option<NamedPayload> {
        let TaskEvent::StageVerdict(report) = of else {
            return None;
        };
        let passed = assessed(report, rest)?;
        let message = report.findings.iter().map(|finding| finding.description.as_str());
        let message = message.collect::<Vec<_>>().join("; ");
        let complete = payload!(self.task(report.task);
            "attempt": report.attempt,
            passed,
            "scores": self.each(&report.dimensions),
            "globalScore": report.points.map(Points::score_f64),
            "points": report.points.map(Points::to_f64),
            message,
        );
        Some(("assessment:complete", complete))
    }

    /// The criteria of a verification with their grades; `None` for other stages.
    pub fn criteria(&self, report: &StageReport) -> Option<Vec<Payload>> {
        let verification = self.plan.task(report.task).verification()?;
        let graded = verification.criteria.iter().zip(&report.grades);
        let row = |(criterion, grade): (&String, &CriterionGrade)| payload!(criterion, "result": grade.result(), "evidence": grade.evidence);
        (!report.grades.is_empty()).then(|| graded.map(row).collect())
    }
}

/// With which flag the same record accepts a task below the bar, or has it merged before that.
pub fn flag_in(rest: &[Event], accepted: TaskId) -> QualityFlag {
    let flag = rest.iter().find_map(|event| match event {
        Event::Task(task, TaskEvent::Transition { flag, .. }) if *task == accepted => *flag,
        Event::Task(task, TaskEvent::MergeBegun { mark }) if *task == accepted => mark.and_then(Mark::flag),
        _ => None,
    });
    flag.filter(|flag| flag.is_below_bar()).unwrap_or(QualityFlag::BelowThreshold)
}

/// Whether a stage's verdict ends the assessment of the attempt, and how. An agent that failed was not assessed, and a
/// work that a person must decide about is not assessed yet.
pub fn assessed(report: &StageReport, rest: &[Event]) -> Option<bool> {
    let of_task = |event: &&Event| match event {
        Event::Task(task, TaskEvent::Transition { .. })
        | Event::Work(task, WorkEvent::Requested(Job::Grade(_) | Job::Stage(..))) => *task == report.task,
        Event::Ask(id, AskEvent::Requested { purpose, .. }) => id.task == report.task && purpose.is_judging(),
        Event::Task(_, TaskEvent::StageVerdict(next)) => next.task == report.task,
        _ => false,
    };
    // A stage that does not apply says nothing about the work, and neither does what is said of its checks as a whole.
    let says_nothing = |event: &&Event| match event {
        Event::Task(_, TaskEvent::StageVerdict(next)) => {
            next.verdict == Verdict::Skip || next.stage == Stage::Proof
        }
        _ => false,
    };
    let next = rest.iter().filter(of_task).find(|event| !says_nothing(event));
    let is_accepted = matches!(next, Some(Event::Task(_, TaskEvent::Transition { to: Status::Done, .. })));
    let at_once = rest.iter().find(|event| !says_nothing(event));
    let goes_on = at_once
        .filter(of_task)
        .is_some_and(|event| !matches!(event, Event::Task(_, TaskEvent::Transition { .. })));
    match (report.stage, report.verdict) {
        (Stage::Outcome | Stage::Audit, _) => None,
        (_, Verdict::Fail) => Some(false),
        (Stage::Judge | Stage::Verification, Verdict::Pass) => (!goes_on).then_some(true),
        (Stage::Checks, Verdict::Pass) => is_accepted.then_some(true),
        // What went on without its word was assessed all the same.
        (stage, Verdict::Pass | Verdict::Fault) if stage.is_further() => is_accepted.then_some(true),
        _ => None,
    }
}
