//! How what is derived is held against what is recorded: what counts of it, and in which words a difference is told.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use rules::domain::{Answer, DimensionScore, Points, Probe, Purpose, Stage, StageKey, TaskId};
use rules::engine::Mark;
use rules::engine::{Event, GateEvent, RunEvent, StageReport, State, TaskEvent};

use crate::executor::error::WorkError;

use super::Comparison;

pub fn compare_with<T>(
    derived: &Result<T, WorkError>,
    difference: impl FnOnce(&T) -> Option<&'static str>,
) -> Comparison {
    match derived {
        Err(why) => Comparison::Lost(why.to_string()),
        Ok(derived) => match difference(derived) {
            None => Comparison::Equal,
            Some(what) => Comparison::Differs(what.to_owned()),
        },
    }
}

/// In which way two readings of one reply differ. Why one could not be read is said in words of our own, which may
/// change from version to version.
pub fn answer_difference(recorded: &Answer, derived: &Answer) -> Option<&'static str> {
    match (recorded, derived) {
        (Answer::Unreadable { excerpt: was, .. }, Answer::Unreadable { excerpt: is, .. }) => {
            (was != is).then_some("the quoted replies differ")
        }
        (Answer::Scores { scores: was, .. }, Answer::Scores { scores: is, .. })
            if points_of(was) != points_of(is) =>
        {
            Some("the scores differ")
        }
        (Answer::Evaluation { points: was, .. }, Answer::Evaluation { points: is, .. }) if was != is => {
            Some("the scores differ")
        }
        (was @ (Answer::Scores { .. } | Answer::Evaluation { .. }), is) => {
            if std::mem::discriminant(was) == std::mem::discriminant(is) {
                (was != is).then_some("the reasons differ")
            } else if matches!(is, Answer::Unreadable { .. }) {
                Some("it cannot be read, and is recorded as one that can")
            } else {
                Some("it is of another kind")
            }
        }
        (Answer::Unreadable { .. }, _) => Some("it can be read, and is recorded as one that cannot"),
        (_, Answer::Unreadable { .. }) => Some("it cannot be read, and is recorded as one that can"),
        (was, is) => (was != is).then_some("what it says differs"),
    }
}

fn points_of(scores: &[DimensionScore]) -> Vec<(&str, Points)> {
    let scores = scores.iter();
    scores.map(|score| (score.dimension.as_ref(), score.points)).collect()
}

/// The answer of an agent, for readers.
pub fn said_by_answer(answer: &Answer) -> Value {
    match answer {
        Answer::Scores { scores: dimensions, .. } => {
            let scores = dimensions
                .iter()
                .map(|score| json!({"dimension": score.dimension, "score": score.points.score_f64()}));
            json!({"result": "scores", "dimensions": scores.collect::<Vec<_>>()})
        }
        Answer::Evaluation { points, .. } => json!({"result": "score", "points": points.to_f64()}),
        Answer::Grades(reply) => {
            let grades = reply
                .grades
                .iter()
                .map(|grade| json!({"criterion": grade.criterion, "grade": grade.points.to_f64() / 100.0}));
            json!({
                "result": "grades",
                "verdict": reply.verdict,
                "confidence": reply.confidence.to_f64() / 100.0,
                "criteria": grades.collect::<Vec<_>>(),
            })
        }
        Answer::Opinion(opinion) => json!({
            "result": "opinion",
            "verdict": opinion.verdict,
            "findings": opinion.findings.len(),
        }),
        Answer::Findings(report) => {
            json!({"result": "findings", "findings": report.findings.len(), "unread": report.unread})
        }
        Answer::Probes(probes) => json!({"result": "probes", "probes": of_probes(probes)}),
        Answer::Unreadable { why, .. } => json!({"result": "unparsed", "why": why}),
        _ => json!({"result": "answer"}),
    }
}

fn of_probes(probes: &[Probe]) -> Value {
    let probes = probes.iter();
    let probes = probes.map(|probe| json!({"criterion": probe.criterion, "probe": probe.probe}));
    probes.collect()
}

/// Whether an event says what became of work.
pub fn is_decisive(event: &Event) -> bool {
    matches!(
        event,
        Event::Task(
            _,
            TaskEvent::StageVerdict(_)
                | TaskEvent::Probed { .. }
                | TaskEvent::Transition { .. }
                | TaskEvent::EvalUnparsed
                | TaskEvent::ForceAccepted { .. }
        ) | Event::Gate(_, GateEvent::Evaluated { .. })
            | Event::Run(RunEvent::ThresholdFailed { .. } | RunEvent::Finished { .. })
    )
}

/// The replies that a verdict rests on: those of one stage of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ground {
    task: TaskId,
    attempt: u32,
    stage: Stage,
    /// The name of a stage that the mission defines; `None` for other stages.
    name: Option<String>,
}

impl Ground {
    pub fn new(task: TaskId, attempt: u32, stage: Stage, name: Option<&str>) -> Self {
        Self { task, attempt, stage, name: name.map(str::to_owned) }
    }

    /// The ground that an answer belongs to; `None` where no verdict rests on it.
    pub fn of_answer(state: &State, task: TaskId, purpose: Purpose) -> Option<Self> {
        let name = match purpose.step() {
            Some(step @ StageKey::Own(_)) => Some(state.plan.task(task).step_name(step)),
            _ => None,
        };
        let attempt = state.task(task).attempt.number;
        Some(Self::new(task, attempt, purpose.stage()?, name))
    }
}

/// Where a decision belongs.
pub struct DecisionKey {
    pub about: String,
    pub task: Option<(TaskId, u32)>,
    pub stage: &'static str,
    /// The ground of a verdict; `None` for other events.
    pub ground: Option<Ground>,
    /// Whether the event only says what follows for the task.
    pub is_beside: bool,
}

impl DecisionKey {
    pub fn of(state: &State, event: &Event) -> Self {
        let task = |id: TaskId, stage, ground: Option<Ground>| Self {
            // What is recorded may be about a task that the rules do not add.
            about: state.plan.tasks.get(id.index()).map_or_else(String::new, |task| task.title.to_string()),
            task: state.known(id).map(|task| (id, task.attempt.number)),
            stage,
            is_beside: ground.is_none(),
            ground,
        };
        let whole = |about: &str, stage| Self {
            about: about.to_owned(),
            task: None,
            stage,
            ground: None,
            is_beside: false,
        };
        match event {
            Event::Task(_, TaskEvent::StageVerdict(report)) => {
                let ground = Ground::new(report.task, report.attempt, report.stage, report.name.as_deref());
                task(report.task, report.stage.as_str(), Some(ground))
            }
            Event::Task(id, TaskEvent::Probed { .. }) => task(*id, "decompose", None),
            Event::Task(
                id,
                TaskEvent::Transition { .. } | TaskEvent::EvalUnparsed | TaskEvent::ForceAccepted { .. },
            ) => task(*id, "transition", None),
            Event::Gate(gate, GateEvent::Evaluated { .. }) => whole(&state.plan.gate(*gate).name, "gate"),
            Event::Run(RunEvent::ThresholdFailed { .. }) => whole(&state.plan.name, "mission"),
            _ => whole(state.plan.name.as_ref(), "run"),
        }
    }
}

/// The parts of an event that count: our own words around them may change from version to version.
pub fn canonical(state: &State, event: &Event) -> Value {
    match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) => of_report(report),
        Event::Task(_, TaskEvent::Transition { from, to, mode, flag, .. }) => {
            json!({"from": from, "to": to, "mode": mode, "flag": flag})
        }
        Event::Task(_, TaskEvent::Probed { probes }) => json!({"probes": of_probes(probes)}),
        Event::Task(_, TaskEvent::EvalUnparsed) => json!({"unparsed": true}),
        Event::Task(_, TaskEvent::ForceAccepted { points, .. }) => {
            json!({"forced": points.map(|points| points.to_f64())})
        }
        Event::Gate(_, GateEvent::Evaluated { result }) => json!({
            "passed": result.passed,
            "avgScore": result.avg_score.map(|avg| avg.score_f64()),
        }),
        Event::Run(RunEvent::ThresholdFailed { avg_score: points, threshold }) => {
            json!({"points": points.to_f64(), "bar": threshold.to_f64()})
        }
        Event::Run(RunEvent::Finished { outcome, conditions, allowed, .. }) => {
            json!({
                "outcome": outcome,
                "exitCode": outcome.exit_code(),
                "conditions": conditions,
                "allowed": allowed,
            })
        }
        _ => json!({"name": state.plan.name}),
    }
}

fn of_report(report: &StageReport) -> Value {
    let mut value = json!({
        "stage": report.stage.as_str(),
        "verdict": report.verdict,
        "cause": report.cause,
        "points": report.points.map(|points| points.to_f64()),
    });
    if !report.dimensions.is_empty() {
        let dimensions = report.dimensions.iter().map(|score| {
            json!({
                "dimension": score.dimension,
                "score": score.points.score_f64(),
                "reasoning": score.reasoning,
            })
        });
        value["dimensions"] = dimensions.collect();
    }
    if !report.grades.is_empty() {
        let grades = report.grades.iter().map(|grade| {
            json!({"grade": grade.points.map(|points| points.to_f64() / 100.0), "evidence": grade.evidence})
        });
        value["criteria"] = grades.collect();
    }
    for (key, mark) in [("relaxed", Mark::Relaxed), ("indeterminate", Mark::Indeterminate)] {
        if report.mark == Some(mark) {
            value[key] = json!(true);
        }
    }
    if let Some(confidence) = report.confidence {
        value["confidence"] = json!(confidence.to_f64() / 100.0);
    }
    if !report.outliers.is_empty() {
        value["outliers"] = json!(report.outliers);
    }
    value
}

/// The names of what differs.
pub fn differing(was: &Value, is: &Value) -> String {
    let keys = [was, is].into_iter().filter_map(Value::as_object);
    let names: BTreeSet<&str> = keys
        .flat_map(|object| object.keys())
        .map(String::as_str)
        .filter(|key| was.get(key) != is.get(key))
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    match names.as_slice() {
        [] => "it is of another kind".to_owned(),
        [one] => format!("{one} differs"),
        several => format!("{} differ", several.join(", ")),
    }
}
