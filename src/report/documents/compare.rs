//! `quorum.compare/v1`: one run held against another (semantics, section 14, run against run).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use rules::{
    domain::{OutcomeClass, Points, QualityFlag, RunId, Severity, TaskId},
    judging::{calibration::Estimate, paired_difference::PairedDifference},
    plan::Plan,
};
use rust_decimal::Decimal;

use super::{RunDocument, RunState, TaskRow, fields, reviews::ReviewRow};
use crate::report::folds::{alerts::Alert, rank::Rank};
use crate::report::screens::text::count;

/// A run held against an earlier one: `quorum compare`. Differences are the run less the earlier one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.compare/v1")]
pub struct CompareDocument<'a> {
    /// The run that is looked at.
    run: ComparedRun<'a>,
    /// The run that it is held against.
    against: ComparedRun<'a>,
    /// What judged the two runs that is not the same in both: missions, bars, rubrics, seats, models.
    differs: Vec<String>,
    /// The scores of the tasks that both runs scored: as a whole, then for each dimension.
    scores: Vec<ScoreDifference<'a>>,
    /// The tasks of either run, in file order.
    tasks: Vec<TaskPair<'a>>,
    /// What is wrong in one of the runs or in both, as SARIF reports name it.
    findings: FindingsDifference<'a>,
    /// The conditions that were asked for and do not hold; each is exit code 5.
    broken: Vec<String>,
    /// The exit code of the command.
    exit_code: u8,
    /// The outcome that the exit code stands for.
    #[schemars(with = "fields::OutcomeShape")]
    outcome: &'static str,
}

/// What a comparison is asked to hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompareRules {
    /// How many points the mean of the common tasks may be lower, as a whole and in each dimension.
    pub max_drop: Option<Decimal>,
    /// Whether nothing may be wrong that was not wrong before.
    pub no_new_findings: bool,
}

impl CompareRules {
    /// Whether anything is asked: then somebody goes by the result.
    pub fn is_asked(self) -> bool {
        self.max_drop.is_some() || self.no_new_findings
    }
}

/// One of the two runs.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ComparedRun<'a> {
    /// The id of the run.
    run_id: Option<&'a RunId>,
    /// The name of the mission.
    mission: &'a str,
    /// Where the run stands.
    state: RunState,
    /// The outcome of its last session; `null` until one has ended.
    #[schemars(with = "Option<fields::OutcomeShape>")]
    outcome: Option<&'static str>,
    /// How many attempts its tasks took.
    attempts: usize,
    /// The known cost in dollars; `null` where nothing is known of it.
    cost: Option<f64>,
    /// The time that its sessions worked, in milliseconds.
    duration_ms: Option<u64>,
}

/// How far scores lie above those of the earlier run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ScoreDifference<'a> {
    /// The dimension; `null` for the scores of tasks as a whole.
    dimension: Option<&'a str>,
    /// How many tasks are scored in both runs.
    tasks: usize,
    /// The mean of these tasks in the earlier run, in points.
    before: f64,
    /// The mean of these tasks now, in points.
    now: f64,
    /// The mean difference in points, with its 95 % interval by bootstrap over the tasks; without one for a single task.
    difference: Estimate,
    /// The difference as bars are held against it.
    #[serde(skip)]
    exact: Decimal,
}

/// One task in both runs; what a run does not have is `null`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TaskPair<'a> {
    /// The title of the task.
    title: &'a str,
    /// The task in the earlier run.
    before: Option<TaskSide>,
    /// The task now.
    now: Option<TaskSide>,
}

/// A task as one of the runs has it.
#[derive(Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
struct TaskSide {
    /// The status, as `status` tells it.
    status: &'static str,
    /// How it was accepted; `null` where it was not.
    quality_flag: Option<QualityFlag>,
    /// The score in points; `null` where there is none.
    #[serde(serialize_with = "fields::points")]
    #[schemars(with = "Option<fields::PointsShape>")]
    points: Option<Points>,
    /// How many attempts it took.
    attempts: usize,
    /// The known cost in dollars; `null` where nothing is known of it.
    cost: Option<f64>,
    /// The time from its first attempt to its end, in milliseconds.
    duration_ms: Option<u64>,
}

/// Findings of the two runs, told apart by their fingerprints.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FindingsDifference<'a> {
    /// Found now, and not before.
    new: Vec<ComparedFinding<'a>>,
    /// Found before, and not any more.
    gone: Vec<ComparedFinding<'a>>,
    /// Found in both runs, as it is now.
    still_there: Vec<ComparedFinding<'a>>,
}

/// A finding as reports for pipelines name it.
#[derive(Serialize, JsonSchema)]
struct ComparedFinding<'a> {
    /// What it breaks: a stage of judging, or `task`, `gate`, `score`, `run`.
    rule: &'a str,
    /// The severity of the finding.
    severity: Severity,
    /// What is wrong, in words.
    message: &'a str,
    /// What is the same for the same finding in another attempt, on another line, in another run.
    fingerprint: &'a str,
}

/// A run with what pipelines are shown of it.
pub struct RunSide<'a> {
    /// The document of the run.
    pub run: &'a RunDocument<'a>,
    /// What is wrong with it.
    pub alerts: &'a [Alert],
}

impl<'a> CompareDocument<'a> {
    /// Holds a run against an earlier one. `None` where they have no task in common.
    pub fn of(now: &RunSide<'a>, before: &RunSide<'a>, asked: CompareRules) -> Option<Self> {
        let pairs = Pairs::of(now.run, before.run);
        pairs.common().next()?;
        let mut document = Self {
            run: ComparedRun::of(now.run, &pairs.now),
            against: ComparedRun::of(before.run, &pairs.before),
            differs: differences(now.run, before.run, &pairs),
            scores: pairs.scores(),
            tasks: pairs.rows(),
            findings: FindingsDifference::of(now.alerts, before.alerts),
            broken: Vec::new(),
            exit_code: 0,
            outcome: OutcomeClass::Ok.as_str(),
        };
        document.broken = document.broken_by(asked, &pairs);
        if !document.broken.is_empty() {
            document.exit_code = OutcomeClass::BelowThreshold.exit_code();
            document.outcome = OutcomeClass::BelowThreshold.as_str();
        }
        Some(document)
    }

    /// The code that the command ends with.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// What was asked for and does not hold. Only what is known to hold is taken for it: a score that is missing now, a task that
    /// is gone, a run that goes on, work that nobody reviewed are no good news.
    fn broken_by(&self, asked: CompareRules, pairs: &Pairs<'a>) -> Vec<String> {
        let mut broken = Vec::new();
        for run in [&self.run, &self.against]
            .into_iter()
            .filter(|run| asked.is_asked() && run.state != RunState::Ended)
        {
            let id = run.run_id.map_or("", RunId::as_str);
            broken.push(format!("run {id} has not ended: {}", run.state.as_str()));
        }
        if let Some(most) = asked.max_drop {
            let is_lost = |pair: &&TaskPair<'_>| {
                let has_points =
                    |side: &Option<TaskSide>| side.as_ref().is_some_and(|side| side.points.is_some());
                has_points(&pair.before) && !has_points(&pair.now)
            };
            let lost = self.tasks.iter().filter(is_lost);
            broken.extend(lost.map(|pair| format!("'{}' was scored before and is not now", pair.title)));
            if self.scores.is_empty() {
                broken.push("no task is scored in both runs".to_owned());
            }
            for score in self.scores.iter().filter(|score| -score.exact > most) {
                let of = score.dimension.map_or_else(String::new, |name| format!(" of {name}"));
                let fell = (-score.exact).round_dp(2).normalize();
                broken.push(format!("the score{of} is {fell} points lower, and may be {}", most.normalize()));
            }
        }
        if asked.no_new_findings {
            if !pairs.now.values().any(is_reviewed) {
                broken.push("nothing was reviewed, so nothing could be found".to_owned());
            }
            let is_lost =
                |row: &&TaskRow<'_>| is_reviewed(row) && !pairs.now.get(row.title).is_some_and(is_reviewed);
            let lost = pairs.before.values().filter(is_lost);
            broken.extend(lost.map(|row| format!("'{}' was reviewed before and is not now", row.title)));
            if !self.findings.new.is_empty() {
                broken.push(count(self.findings.new.len(), "new finding"));
            }
        }
        broken
    }
}

/// Whether the last attempt of a task was judged, and by more than that nobody objected.
fn is_reviewed(row: &TaskRow<'_>) -> bool {
    let is_judged = row.points.is_some() || !row.reviews.is_empty();
    is_judged && !matches!(row.rank, Rank::Unreviewed | Rank::Indeterminate)
}

/// The tasks of both runs by their titles.
struct Pairs<'a> {
    now: BTreeMap<&'a str, TaskRow<'a>>,
    before: BTreeMap<&'a str, TaskRow<'a>>,
    /// The titles in file order: first those of the later run.
    titles: Vec<&'a str>,
}

impl<'a> Pairs<'a> {
    fn of(now: &RunDocument<'a>, before: &RunDocument<'a>) -> Self {
        let by_title = |run: &RunDocument<'a>| run.tasks.rows().map(|row| (row.title, row)).collect();
        let titles = now.tasks.rows().chain(before.tasks.rows()).map(|row| row.title);
        let mut seen = BTreeSet::new();
        let titles = titles.filter(|title| seen.insert(*title)).collect();
        Self { now: by_title(now), before: by_title(before), titles }
    }

    /// The tasks that both runs have, as they are now and as they were.
    fn common(&self) -> impl Iterator<Item = (&TaskRow<'a>, &TaskRow<'a>)> {
        self.titles.iter().filter_map(|title| Some((self.now.get(title)?, self.before.get(title)?)))
    }

    fn rows(&self) -> Vec<TaskPair<'a>> {
        let side = |rows: &BTreeMap<&str, TaskRow<'a>>, title: &str| rows.get(title).map(TaskSide::of);
        let pair = |title: &&'a str| TaskPair {
            title,
            before: side(&self.before, title),
            now: side(&self.now, title),
        };
        self.titles.iter().map(pair).collect()
    }

    fn scores(&self) -> Vec<ScoreDifference<'a>> {
        let whole = self.common().filter_map(|(now, before)| Some((before.points?, now.points?)));
        let whole = ScoreDifference::of(None, &whole.collect::<Vec<_>>());
        let mut dimensions: BTreeMap<&'a str, Vec<(Points, Points)>> = BTreeMap::new();
        for (now, before) in self.common() {
            for scored in &now.dimensions {
                let earlier = before.dimensions.iter().find(|earlier| earlier.dimension == scored.dimension);
                let pairs = earlier.map(|earlier| (earlier.points, scored.points));
                dimensions.entry(scored.dimension).or_default().extend(pairs);
            }
        }
        let dimensions = dimensions.iter().filter_map(|(name, pairs)| ScoreDifference::of(Some(name), pairs));
        whole.into_iter().chain(dimensions).collect()
    }
}

impl<'a> ScoreDifference<'a> {
    fn of(dimension: Option<&'a str>, pairs: &[(Points, Points)]) -> Option<Self> {
        let found = PairedDifference::of(pairs)?;
        let mean = |points: &mut dyn Iterator<Item = Points>| {
            let mean = Points::weighted_mean(points.map(|points| (points, Decimal::ONE)));
            mean.map(Points::to_f64)
        };
        Some(Self {
            dimension,
            tasks: found.pairs,
            before: mean(&mut pairs.iter().map(|pair| pair.0))?,
            now: mean(&mut pairs.iter().map(|pair| pair.1))?,
            difference: found.estimate,
            exact: found.mean,
        })
    }
}

impl TaskSide {
    fn of(row: &TaskRow<'_>) -> Self {
        let duration = row.started_at.zip(row.finished_at).map(|(from, to)| to.since(from).0);
        Self {
            status: row.status,
            quality_flag: row.quality_flag,
            points: row.points,
            attempts: row.attempts.len(),
            cost: row.usage.cost,
            duration_ms: duration,
        }
    }
}

impl<'a> ComparedRun<'a> {
    fn of(run: &RunDocument<'a>, tasks: &BTreeMap<&str, TaskRow<'a>>) -> Self {
        Self {
            run_id: run.run_id,
            mission: run.mission,
            state: run.state,
            outcome: run.recorded.map(|outcome| outcome.class.as_str()),
            attempts: tasks.values().map(|row| row.attempts.len()).sum(),
            cost: run.usage.cost(),
            duration_ms: run.worked_for().map(|time| time.0),
        }
    }
}

impl<'a> FindingsDifference<'a> {
    fn of(now: &'a [Alert], before: &'a [Alert]) -> Self {
        let known = |alerts: &'a [Alert]| -> BTreeSet<&str> {
            alerts.iter().map(|alert| alert.fingerprint.as_str()).collect()
        };
        let (in_now, in_before) = (known(now), known(before));
        let rows = |alerts: &'a [Alert], others: &BTreeSet<&str>, is_there: bool| {
            let chosen =
                alerts.iter().filter(|alert| others.contains(alert.fingerprint.as_str()) == is_there);
            chosen.map(ComparedFinding::of).collect()
        };
        Self {
            new: rows(now, &in_before, false),
            gone: rows(before, &in_now, false),
            still_there: rows(now, &in_before, true),
        }
    }
}

impl<'a> ComparedFinding<'a> {
    fn of(alert: &'a Alert) -> Self {
        Self {
            rule: &alert.rule,
            severity: alert.severity,
            message: &alert.message,
            fingerprint: &alert.fingerprint,
        }
    }
}

/// What judged the runs that is not the same in both, in sentences.
fn differences(now: &RunDocument<'_>, before: &RunDocument<'_>, pairs: &Pairs<'_>) -> Vec<String> {
    let mut said = Vec::new();
    if now.mission != before.mission {
        said.push(format!("the missions are two: '{}' now, '{}' before", now.mission, before.mission));
    }
    match (now.reviews_off.is_some(), before.reviews_off.is_some()) {
        (true, false) => said.push("reviews are switched off now, and were not before".to_owned()),
        (false, true) => said.push("reviews were switched off before, and are not now".to_owned()),
        _ => {}
    }
    let mut differing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (here, there) in pairs.common() {
        let are_both_judged = !here.reviews.is_empty() && !there.reviews.is_empty();
        let kinds = [
            ("bars", here.bar.map(|bar| bar.points) != there.bar.map(|bar| bar.points)),
            ("rubrics", rubric(now.plan, here.id) != rubric(before.plan, there.id)),
            ("judges or their models", are_both_judged && seats(here) != seats(there)),
        ];
        for (kind, _) in kinds.iter().filter(|(_, differs)| *differs) {
            differing.entry(kind).or_default().push(here.title);
        }
    }
    for (kind, titles) in differing {
        let first: Vec<String> = titles.iter().take(NAMED).map(|title| format!("'{title}'")).collect();
        let more = titles.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        said.push(format!("other {kind} for {}{more}", first.join(", ")));
    }
    said
}

/// How many tasks a sentence names.
const NAMED: usize = 3;

/// Who judged a task, each with the model that was used.
fn seats<'a>(row: &TaskRow<'a>) -> BTreeSet<(&'a str, Option<&'a str>)> {
    row.reviews.iter().map(ReviewRow::seat).collect()
}

/// All that the judges of a task are told to go by, to be held against the same task of another run.
fn rubric(plan: &Plan, id: TaskId) -> impl PartialEq {
    let task = plan.task(id);
    let panel = task.panel().map(|panel| (panel.criteria.clone(), panel.dimensions.clone()));
    let verification = task.verification().map(|graded| (graded.rubric.clone(), graded.criteria.clone()));
    (panel, verification)
}
