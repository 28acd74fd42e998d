//! What a verdict means for the task: accept it, send it back, give up, or ask a person.
//!
//! `done` is written in [`accept`] and nowhere else (semantics, section 20).

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::{
    AttemptKind, Cause, Edge, FailureClass, FailureMode, Finding, Millis, Points, QualityFlag, Severity,
    ShellFailure, Stage, Status, Step, Timestamp, Verdict, WaitingReason,
};
use crate::engine::event::{Event, TaskEvent};
use crate::engine::payload::{FileFact, Grounds, StageReport};
use crate::engine::state::{Hold, Judging, TaskState};
use crate::mission::TaskPlan;
use crate::mission::model::{CommandLine, OnExhausted};

use super::audit;
use super::deferral;
use super::delegation;
use super::draft::Draft;
use super::fixups;
use super::holds;
use super::routes;
use super::side_effects;
use super::stages::{JudgedBy, full_bar, judged_by};

/// On what grounds work is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepted {
    /// Reviewers scored it at or above the bar.
    Reviewed,
    /// A person accepted it.
    ByPerson,
    /// All its declared checks passed, and it asked for no judge.
    Checked,
    /// Nobody judged it.
    Unreviewed,
    /// It stayed below the bar, after all attempts.
    BelowBar,
    /// It stayed below the bar, but at least half of its files are there.
    Degraded,
    /// It is a verification whose verdict leads on by this edge.
    Routed(Edge),
}

impl Accepted {
    /// As the journal says it. Below its bar no work comes to a further stage.
    pub fn on_record(self) -> Grounds {
        match self {
            Self::Reviewed => Grounds::Reviewed,
            Self::ByPerson => Grounds::ByPerson,
            // A verification comes to none at all.
            Self::Checked | Self::Routed(_) => Grounds::Checked,
            Self::Unreviewed | Self::BelowBar | Self::Degraded => Grounds::Unreviewed,
        }
    }
}

impl From<Grounds> for Accepted {
    fn from(grounds: Grounds) -> Self {
        match grounds {
            Grounds::Reviewed => Self::Reviewed,
            Grounds::ByPerson => Self::ByPerson,
            Grounds::Checked => Self::Checked,
            Grounds::Unreviewed => Self::Unreviewed,
        }
    }
}

/// The acceptance step.
pub(super) fn accept(draft: &mut Draft<'_>, grounds: Accepted) {
    let edge = match grounds {
        Accepted::Routed(edge) => edge,
        _ => Edge::Pass,
    };
    if routes::turns(draft, edge) {
        return;
    }
    let flag = match grounds {
        // A verification has done what it is for; what its verdict means is what follows from it.
        Accepted::Reviewed | Accepted::ByPerson | Accepted::Checked | Accepted::Routed(_) => {
            QualityFlag::Clean
        }
        Accepted::Unreviewed => QualityFlag::Unreviewed,
        Accepted::BelowBar => QualityFlag::BelowThreshold,
        Accepted::Degraded => QualityFlag::Degraded,
    };
    // Of several that apply, the last one of the list.
    let unverified = draft.task.attempt.unverified.then_some(QualityFlag::Unverified);
    let degraded = draft.task.is_degraded().then_some(QualityFlag::Degraded);
    // Whoever accepts it by their own word needs no relief for it.
    let relaxed = draft.task.attempt.relaxed && grounds != Accepted::ByPerson;
    let relaxed = relaxed.then_some(QualityFlag::Relaxed);
    let flag = [relaxed, unverified, degraded]
        .into_iter()
        .flatten()
        .fold(flag, QualityFlag::max);
    delegation::create(draft, flag);
    fixups::supersede(draft, flag);
    routes::take(draft, edge);
    audit::record(draft);
    draft.done(flag);
}

/// Emits a stage's verdict on the current attempt.
pub(super) fn stage(
    draft: &mut Draft<'_>,
    stage: Stage,
    verdict: Verdict,
    cause: Option<Cause>,
    fill: impl FnOnce(&mut StageReport),
) {
    let mut report = StageReport::new(draft.id, draft.task.attempt.number, stage, verdict, cause);
    fill(&mut report);
    let full = full_bar(draft.plan(), draft.id, stage);
    let misses = |points| full.is_some_and(|bar| !bar.is_reached_by(points));
    report.relaxed = verdict == Verdict::Pass && report.by.is_none() && report.points.is_some_and(misses);
    draft.emit(Event::verdict(report));
}

/// An agent that failed itself.
pub(super) struct FailedAgent<'a> {
    /// By class.
    pub class: FailureClass,
    /// In words.
    pub message: &'a str,
    /// The exit code of its process.
    pub code: Option<i32>,
    /// How long whoever failed asks to be left alone.
    pub retry_after: Option<Millis>,
    /// Whether a timer of this program ended it.
    pub killed: bool,
    /// Randomness for the back-off, 0 to 1000.
    pub jitter: u16,
    /// When it failed.
    pub now: Timestamp,
}

/// The agent itself failed: never judged, never fixed, perhaps retried, after a pause where its provider failed.
pub(super) fn agent_failed(draft: &mut Draft<'_>, failed: &FailedAgent<'_>) {
    let class = failed.class;
    if draft.task.reopened.is_some() {
        return draft.fail(class.mode(), failed.message);
    }
    let vain = in_vain(draft, failed);
    let next = if class.exhausts_at_once() || vain.is_some() {
        None
    } else {
        next_attempt(draft, true)
    };
    let message = match vain {
        Some(why) => format!("{}; {why}", failed.message),
        None => failed.message.to_owned(),
    };
    match next {
        Some(kind) if class.is_of_provider() && !failed.killed => rework(draft, kind, Some(failed)),
        Some(kind) => rework(draft, kind, None),
        None => draft.fail(class.mode(), message),
    }
}

/// Why another attempt would end as this one did.
fn in_vain(draft: &Draft<'_>, failed: &FailedAgent<'_>) -> Option<&'static str> {
    let streak = draft.task.course.streak;
    let is_line = || {
        let agent = draft.plan().agent(draft.task_plan().agent);
        matches!(agent.spec.run, Some(CommandLine::Shell(_)))
    };
    match (failed.class, failed.code.and_then(ShellFailure::of)) {
        (FailureClass::Unknown, Some(ShellFailure::CannotExecute)) if streak.was_quick && is_line() => {
            Some("its shell could not run a command, so it is not tried again")
        }
        (FailureClass::Unknown, Some(ShellFailure::NotFound)) if streak.was_quick && is_line() => {
            Some("its shell did not find a command, so it is not tried again")
        }
        (FailureClass::Unknown, _) if streak.instant >= MOST_INSTANT => {
            Some("two attempts in a row ended within a second, so it is not tried again")
        }
        (FailureClass::ContextTooLong, _) if draft.state.task(draft.id).course.streak.too_long => {
            Some("the short prompt is too long as well, so it is not tried again")
        }
        _ => None,
    }
}

/// Attempts in a row of unknown cause that ended within a second of their start: there is no more.
const MOST_INSTANT: u32 = 2;

/// The last verdict was `fail`: rework within the limits, else what the policy says.
pub(super) fn not_good_enough(draft: &mut Draft<'_>) {
    if let Some(route) = draft.plan().route(draft.id) {
        return routes::failed(draft, route);
    }
    if draft.task.reopened.is_some() {
        let why = why_not_good(draft);
        return draft.fail(FailureMode::Quality, why);
    }
    let no_progress =
        draft.task.course.signature.is_some() && draft.task.course.signature == previous_signature(draft);
    let next = if no_progress {
        None
    } else {
        next_attempt(draft, false)
    };
    match next {
        Some(kind) => rework(draft, kind, None),
        None => exhausted(draft, no_progress),
    }
}

/// The signature of the attempt before, as it was before this decision.
fn previous_signature(draft: &Draft<'_>) -> Option<u64> {
    draft.state.task(draft.id).course.signature
}

fn next_attempt(draft: &Draft<'_>, agent_failed: bool) -> Option<AttemptKind> {
    let evaluated = matches!(judged_by(draft.state, draft.id), JudgedBy::Evaluation(_));
    allowed_attempt(draft.task_plan(), &draft.task, agent_failed, evaluated)
}

/// Which kind of attempt may follow (section 4): fixes first, then a retry with a fresh allowance of fixes, under
/// the cap on attempts of every kind. A foundation has one more, whatever is left of the others; only a cap of its own
/// holds it too (section 12).
pub(in crate::engine) fn allowed_attempt(
    plan: &TaskPlan,
    task: &TaskState,
    agent_failed: bool,
    evaluated: bool,
) -> Option<AttemptKind> {
    let limits = plan.limits;
    let more = u32::from(plan.foundation);
    let cap = limits
        .max_attempts
        .or(evaluated.then_some(limits.max_evaluated_attempts.saturating_add(more)));
    if cap.is_some_and(|cap| task.course.tries >= cap) || task.course.retries > limits.max_retries {
        None
    } else if !agent_failed && task.course.fixes < limits.max_fix_attempts {
        Some(AttemptKind::Fix)
    } else if task.course.retries < limits.max_retries.saturating_add(more) {
        Some(AttemptKind::Retry)
    } else {
        None
    }
}

/// Sends the work back, after a pause where its provider failed. Dependents stay held: the task is not terminal.
fn rework(draft: &mut Draft<'_>, kind: AttemptKind, failed: Option<&FailedAgent<'_>>) {
    let attempt = draft.task.attempt.number + 1;
    let planned = Event::Task(draft.id, TaskEvent::AttemptPlanned { attempt, kind });
    // A task that a person sent back gave up its slot while it waited.
    let has_slot = draft.state.task(draft.id).holds_slot();
    draft.emit(planned);
    if side_effects::is_held(draft) {
        let cause = draft.task.feedback.last().and_then(|last| last.cause);
        let why = cause.map_or("quality", Cause::as_str);
        return side_effects::hold_back(draft, &format!("the last attempt failed ({why})"));
    }
    if let Some(failed) = failed {
        deferral::back_off(
            draft,
            failed.retry_after,
            failed.jitter,
            failed.message,
            failed.now,
        );
    }
    match kind {
        AttemptKind::Fix if has_slot => draft.enter(Status::InProgress),
        AttemptKind::Execute | AttemptKind::Fix | AttemptKind::Retry => draft.enter(Status::Pending),
    }
}

/// All attempts are used up (section 3, last column).
fn exhausted(draft: &mut Draft<'_>, no_progress: bool) {
    let last = draft.task.feedback.last();
    let (stage, cause, points) = last.map_or((Stage::Outcome, None, None), |f| (f.stage, f.cause, f.points));
    // What an evaluation scores too low may be good enough. What a stage of its own keeps out is not.
    let is_kept_out = matches!(stage, Stage::Stages | Stage::RedTeam | Stage::Vision);
    let by_default = match judged_by(draft.state, draft.id) {
        JudgedBy::Evaluation(_) if !is_kept_out => OnExhausted::Accept,
        _ => OnExhausted::Fail,
    };
    let policy = draft
        .task_plan()
        .on_exhausted
        .or(draft.plan().rules.on_exhausted)
        .unwrap_or(by_default);
    // Acceptance below the bar is only for work that finished and was judged, never for a preflight reject.
    let was_judged = matches!(stage, Stage::Checks | Stage::Judge | Stage::Verification) || is_kept_out;
    let score = points.map_or_else(|| "score unknown".to_owned(), |points| format!("score {points}"));
    let attempts = draft.task.attempt.number;
    match policy {
        OnExhausted::Accept if was_judged => {
            let message = format!("accepted below the quality bar after {attempts} attempts, {score}");
            return force_accept(draft, points, message, Accepted::BelowBar);
        }
        OnExhausted::Degrade if was_judged => {
            let (there, declared) = produced(draft);
            if declared > 0 && 2 * there >= declared {
                let message = format!(
                    "accepted on partial artifacts after {attempts} attempts: {there} of {declared} target files, {score}"
                );
                return force_accept(draft, points, message, Accepted::Degraded);
            }
        }
        // Nobody is asked twice about the same work.
        OnExhausted::Refer if was_judged && cause != Some(Cause::Rejected) => {
            let message =
                format!("still not good enough after {attempts} attempts, {score}: accept it or not?");
            return ask_person(draft, stage, Cause::Exhausted, &message);
        }
        _ => {}
    }
    let why = why_not_good(draft);
    let how = if no_progress {
        format!("no progress between the last two of {attempts} attempts")
    } else {
        format!(
            "{} used",
            if attempts == 1 {
                "its only attempt is".to_owned()
            } else {
                format!("all {attempts} attempts are")
            }
        )
    };
    let mode = if stage == Stage::Preflight {
        FailureMode::Hollow
    } else {
        FailureMode::Quality
    };
    let mended = policy == OnExhausted::Fixup && fixups::create(draft);
    let next = if mended { "; a fixup follows" } else { "" };
    draft.fail(mode, format!("{why}; {how}{next}"));
}

/// What the last verdict said against the work, in a few words.
fn why_not_good(draft: &Draft<'_>) -> String {
    let last = draft.task.feedback.last();
    match last.and_then(|last| last.name.as_deref()) {
        Some(name) => format!("stage '{name}' rejected the work"),
        None => {
            let cause = last.and_then(|last| last.cause);
            cause.map_or("it was not good enough", Cause::words).to_owned()
        }
    }
}

fn force_accept(draft: &mut Draft<'_>, points: Option<Points>, message: String, grounds: Accepted) {
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::ForceAccepted { points, message },
    ));
    accept(draft, grounds);
}

/// How many of the declared target files the runtime saw with content in them, and how many are declared.
fn produced(draft: &Draft<'_>) -> (usize, usize) {
    let files = draft.task.judging();
    let files = files.map_or(&[][..], |judging| &judging.files);
    let targets = &draft.task_plan().target_files;
    let is_there = |path: &str| {
        let mut seen = files.iter();
        seen.any(|file| file.path == path && file.size.is_some_and(|size| size > 0))
    };
    let there = targets.iter().filter(|path| is_there(path)).count();
    (there, targets.len())
}

/// A person must decide: nothing trustworthy could be said at this stage.
pub(super) fn refer(draft: &mut Draft<'_>, at: Stage, cause: Cause, message: &str) {
    stage(draft, at, Verdict::Refer, Some(cause), |report| {
        report.findings = vec![Finding::new(Severity::Info, message)];
    });
    ask_person(draft, at, cause, message);
}

/// Parks the task until a person answers instead of a stage. The verdict that refers it stands already.
pub(super) fn ask_person(draft: &mut Draft<'_>, at: Stage, cause: Cause, message: &str) {
    ask_person_at(draft, at, None, cause, message);
}

/// What a person is asked. Whoever says yes accepts the work, not only what they were asked about, and is then its reviewer;
/// so they must know where nobody else was (sections 9 and 20).
pub(super) fn put_to_a_person(message: &str, unreviewed: bool) -> String {
    let rest = if unreviewed {
        "; nobody has reviewed the work itself, so whoever approves it is its only reviewer"
    } else {
        ""
    };
    format!("{message}{rest}")
}

/// The same; `step` is the one of several that are of this stage.
pub(super) fn ask_person_at(
    draft: &mut Draft<'_>,
    at: Stage,
    step: Option<Step>,
    cause: Cause,
    message: &str,
) {
    let hold = Hold {
        cause: Some(cause),
        stage: at,
        step,
        ..Hold::of(WaitingReason::Refer)
    };
    holds::ask(draft, hold, message, message.to_owned());
}

/// What a failed attempt looked like: failed checks, scores per dimension, hashes of the files in question. `None`
/// where no such file is known: then two attempts cannot be said to be the same.
pub(in crate::engine) fn signature(report: &StageReport, judging: Option<&Judging>) -> Option<u64> {
    let files = judging.map_or(&[][..], |judging| &judging.files);
    // What is there and nobody hashed may have changed: that is unknown, not "no progress".
    let unknown = |file: &FileFact| file.digest.is_none() && (file.size.is_some() || file.obstacle.is_some());
    if !files.iter().any(|file| file.digest.is_some()) || files.iter().any(unknown) {
        return None;
    }
    // The standard hasher has fixed keys: the same inputs give the same signature in every replay.
    let mut hasher = DefaultHasher::new();
    (report.stage, report.points, report.cause).hash(&mut hasher);
    for dimension in &report.dimensions {
        (&dimension.dimension, dimension.points).hash(&mut hasher);
    }
    for grade in &report.grades {
        grade.points.hash(&mut hasher);
    }
    if let Some(name) = &report.name {
        name.hash(&mut hasher);
    }
    for check in judging.into_iter().flat_map(|judging| &judging.checks) {
        check.as_ref().map(|check| check.passed).hash(&mut hasher);
    }
    for file in files {
        (&file.path, file.size, file.digest).hash(&mut hasher);
    }
    Some(hasher.finish())
}
