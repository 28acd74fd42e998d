//! How tasks, agents and the mission did (semantics, section 14). Computed from the journal alone, so it can be computed
//! again and never drifts.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use rules::{
    domain::{AttemptKind, Points, QualityFlag, RunId, Stage, Status, TaskId, Verdict},
    engine::{DeadlineStep, Event, StageReport, TaskEvent},
    plan::Plan,
};

use crate::report::documents::{MetricsDocument, MetricsRow};

/// Sums over assessments: attempts on which judging said pass or fail. An agent's own failure is none, and where
/// judging could not say, there is none yet.
#[derive(Debug, Clone, Default)]
struct AssessmentSums {
    assessments: u64,
    passed: u64,
    scores: Vec<Points>,
    dimensions: BTreeMap<String, Vec<Points>>,
    retries: u64,
    fixes: u64,
    met: u64,
    missed: u64,
}

/// Collects the metrics of a run from its events.
#[derive(Debug, Default)]
pub struct Metrics {
    tasks: Vec<AssessmentSums>,
    /// Whether the mission's own deadline was met; `None` where it has none, or is not over.
    mission: Option<bool>,
    /// Whether the current attempt has its verdict.
    decided: Vec<bool>,
}

impl Metrics {
    /// Takes in one event.
    pub fn apply(&mut self, plan: &Plan, event: &Event) {
        if self.tasks.len() != plan.tasks.len() {
            self.tasks.resize_with(plan.tasks.len(), AssessmentSums::default);
            self.decided.resize(plan.tasks.len(), false);
        }
        match event {
            Event::Task(task, TaskEvent::AttemptPlanned { kind, .. }) => {
                self.decided[task.index()] = false;
                let sums = &mut self.tasks[task.index()];
                match kind {
                    AttemptKind::Execute => {}
                    AttemptKind::Fix => sums.fixes += 1,
                    AttemptKind::Retry => sums.retries += 1,
                }
            }
            Event::Task(_, TaskEvent::StageVerdict(report)) => self.take_verdict(report),
            Event::Deadline(event) => {
                let met = match event.step {
                    DeadlineStep::Met => true,
                    DeadlineStep::Violated => false,
                    DeadlineStep::Set | DeadlineStep::Warned => return,
                };
                match event.task {
                    Some(task) => {
                        let sums = &mut self.tasks[task.index()];
                        sums.met += u64::from(met);
                        sums.missed += u64::from(!met);
                    }
                    None => self.mission = Some(met),
                }
            }
            Event::Task(
                task,
                TaskEvent::Transition { to: Status::Done, flag: Some(QualityFlag::Clean), .. },
            ) if !self.decided[task.index()] => {
                // Checks alone decide by letting it through; no stage of its own says so.
                self.tasks[task.index()].assessments += 1;
                self.tasks[task.index()].passed += 1;
            }
            _ => {}
        }
    }

    fn take_verdict(&mut self, report: &StageReport) {
        let by_judges = matches!(report.stage, Stage::Judge | Stage::Verification);
        let passed = match report.verdict {
            Verdict::Pass if by_judges => true,
            Verdict::Fail if !matches!(report.stage, Stage::Outcome | Stage::Audit) => false,
            _ => return,
        };
        let decided_before = std::mem::replace(&mut self.decided[report.task.index()], true);
        let sums = &mut self.tasks[report.task.index()];
        let is_further = report.stage.is_further();
        if (report.stage == Stage::Verification || is_further) && decided_before {
            // One attempt is one assessment: the judges' pass holds if the criteria are met too.
            sums.passed -= u64::from(!passed);
            return;
        }
        sums.assessments += 1;
        sums.passed += u64::from(passed);
        sums.scores.extend(report.points);
        for scored in &report.dimensions {
            let scores = sums.dimensions.entry(scored.dimension.clone()).or_default();
            scores.push(scored.points);
        }
    }

    /// Makes the document of the run.
    pub fn document<'a>(&self, plan: &'a Plan, run: &'a RunId) -> MetricsDocument<'a> {
        let nothing = AssessmentSums::default();
        let of = |task: TaskId| self.tasks.get(task.index()).unwrap_or(&nothing);
        let mut agents = vec![(false, AssessmentSums::default()); plan.agents.len()];
        let mut mission = AssessmentSums {
            met: u64::from(self.mission == Some(true)),
            missed: u64::from(self.mission == Some(false)),
            ..AssessmentSums::default()
        };
        // Work for tasks that a changed mission no longer has was done all the same.
        for task in plan.every_task_id() {
            let agent = &mut agents[plan.task(task).agent.index()];
            agent.0 = true;
            agent.1.add(of(task));
            mission.add(of(task));
        }
        let tasks = plan.task_ids().map(|task| row(plan.title(task), of(task)));
        let agents = plan.agents.iter().zip(&agents).filter(|(_, (works, _))| *works);
        MetricsDocument {
            run_id: run,
            mission: row(&plan.name, &mission),
            agents: agents.map(|(agent, (_, sums))| row(&agent.name, sums)).collect(),
            tasks: tasks.collect(),
        }
    }
}

impl AssessmentSums {
    fn add(&mut self, other: &Self) {
        self.assessments += other.assessments;
        self.passed += other.passed;
        self.retries += other.retries;
        self.fixes += other.fixes;
        self.met += other.met;
        self.missed += other.missed;
        self.scores.extend_from_slice(&other.scores);
        for (dimension, scores) in &other.dimensions {
            let all = self.dimensions.entry(dimension.clone()).or_default();
            all.extend_from_slice(scores);
        }
    }
}

/// The row of what has this name.
fn row<'a>(name: &'a str, sums: &AssessmentSums) -> MetricsRow<'a> {
    let mean = |scores: &[Points]| Points::weighted_mean(scores.iter().map(|points| (*points, Decimal::ONE)));
    let dimensions = |of: fn(Points) -> f64| {
        let means = sums.dimensions.iter();
        let means = means.filter_map(|(name, scores)| Some((name.clone(), of(mean(scores)?))));
        means.collect()
    };
    let (least, most) = (sums.scores.iter().min(), sums.scores.iter().max());
    MetricsRow {
        name,
        total_assessments: sums.assessments,
        passed_assessments: sums.passed,
        avg_score: mean(&sums.scores).map(Points::score_f64),
        min_score: least.map(|points| points.score_f64()),
        max_score: most.map(|points| points.score_f64()),
        avg_points: mean(&sums.scores).map(Points::to_f64),
        min_points: least.map(|points| points.to_f64()),
        max_points: most.map(|points| points.to_f64()),
        dimension_scores: dimensions(Points::score_f64),
        dimension_points: dimensions(Points::to_f64),
        total_retries: sums.retries,
        total_fixes: sums.fixes,
        deadlines_met: sums.met,
        deadlines_missed: sums.missed,
    }
}
