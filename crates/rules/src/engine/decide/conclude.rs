//! What a verdict means for the task: accept it, send it back, give up, or ask a person.
//!
//! `done` is written in [`accept`] and nowhere else (semantics, section 20).

use crate::domain::{
    AttemptKind, Cause, Edge, FailureClass, FailureMode, Finding, Points, QualityFlag, Severity,
    ShellFailure, Stage, StageKey, Status, Timestamp, Verdict, WaitingReason,
};
use crate::engine::event::{Event, TaskEvent};
use crate::engine::event_payload::StageReport;
use crate::engine::fact::TurnEnd;
use crate::engine::quality_flag::Mark;
use crate::engine::state::{Hold, TaskState};
use crate::engine::work::policy::{WorkKind, policy};
use crate::mission::model::{CommandLine, OnExhausted};
use crate::plan::eligibility::successor;
use crate::plan::{Judge, TaskPlan};

use super::audit;
use super::deferral;
use super::delegation;
use super::draft::Draft;
use super::fixups;
use super::holds;
use super::merge;
use super::side_effects;
use super::verification_edges;

/// The acceptance step, and the one place that says how good the work is: as bad as the worst that its verdicts have left, and
/// `mark`, which acceptance leaves beside them. Work that is merged first keeps both until it has
/// landed. For a verification `edge` is the edge that its verdict takes.
pub fn accept(draft: &mut Draft<'_>, edge: Edge, mark: Option<Mark>) {
    if verification_edges::turns(draft, edge) {
        return;
    }
    if merge::is_due(draft) {
        return merge::begin(draft, mark);
    }
    let in_part = draft.task.is_degraded().then_some(Mark::Degraded);
    let marks = draft.task.attempt.marks.iter().copied();
    let flag: QualityFlag = marks.chain(in_part).chain(mark).collect();
    delegation::create(draft, flag);
    fixups::supersede(draft, flag);
    verification_edges::take(draft, edge);
    audit::record(draft);
    draft.done(flag);
}

/// Records a stage's verdict; whether it was reached only by the relief of a foundation is said here.
pub fn record(draft: &mut Draft<'_>, mut report: StageReport) {
    let (work, verdict) = (draft.task_plan(), report.verdict);
    let full = match (report.stage, work.panel()) {
        (Stage::Verification, _) => work.verification().map(|verification| verification.bar),
        (_, Some(panel)) => Some(panel.least_bar()),
        (_, None) => Some(draft.plan().rules.settings.eval_threshold),
    };
    let misses = |points| full.is_some_and(|bar| !bar.is_reached_by(points));
    if verdict == Verdict::Pass && report.by.is_none() && report.points.is_some_and(misses) {
        report.mark = Some(Mark::Relaxed);
    }
    if verdict == Verdict::Fail
        && let Some(denials) = draft.task.attempt.denials()
    {
        report.add(Severity::Info, denials);
    }
    draft.emit(Event::verdict(report));
}

/// The agent itself failed: never judged, never fixed, perhaps retried, after a pause where its provider failed.
pub fn agent_failed(draft: &mut Draft<'_>, class: FailureClass, end: &TurnEnd, now: Timestamp) {
    let message = end.exit.message.clone().unwrap_or_default();
    if draft.task.reopened.is_some() {
        return draft.fail(class.mode(), message);
    }
    let vain = in_vain(draft, class, end.exit.code);
    let next = if class.exhausts_at_once() || vain.is_some() { None } else { next_attempt(draft, true) };
    match (next, vain) {
        (Some(kind), _) => {
            let is_of_provider = class.is_of_provider() && !end.killed;
            rework(draft, kind, is_of_provider.then_some((end, now)));
        }
        (None, Some(why)) => draft.fail(class.mode(), format!("{message}; {why}")),
        (None, None) => draft.fail(class.mode(), message),
    }
}

/// Hands the work to another agent where its own cannot be reached and one may (section 13); else nothing is
/// decided. No attempt is spent: the other agent has a turn of the same attempt, in the same files. It takes a
/// slot of its own, so the task waits for one like any that is ready.
pub fn another_goes_on(draft: &mut Draft<'_>, class: FailureClass, end: &TurnEnd) -> bool {
    if !policy(WorkKind::Turn).fallback || !is_out_of_reach(draft, class, end) {
        return false;
    }
    let Some(to) = successor(draft.plan(), draft.id) else {
        return false;
    };
    let from = draft.task_plan().agent;
    draft.emit_own(TaskEvent::FellBack {
        from,
        to,
        class,
        message: end.exit.message.clone().unwrap_or_default(),
        work: true,
    });
    let (from, to) = (draft.plan().agent_name(from), draft.plan().agent_name(to));
    let why = format!("'{to}' goes on instead of '{from}'");
    if side_effects::is_held(draft) {
        side_effects::hold_back(draft, &format!("{why}, and how far that one came is unknown"));
    } else {
        draft.enter_because(Status::Pending, why);
    }
    true
}

/// Whether nothing can be expected of the agent for now: its limit, its credit or its login, at once; what passes by
/// itself, when no attempt is left.
fn is_out_of_reach(draft: &Draft<'_>, class: FailureClass, end: &TurnEnd) -> bool {
    match class {
        FailureClass::UsageWindow | FailureClass::ProviderSpendLimit | FailureClass::ProviderAuth => true,
        class => {
            let is_last = draft.task.reopened.is_some() || next_attempt(draft, true).is_none();
            class.is_of_provider() && !end.killed && is_last
        }
    }
}

/// Why another attempt would end as this one did.
fn in_vain(draft: &Draft<'_>, class: FailureClass, code: Option<i32>) -> Option<&'static str> {
    let streak = draft.task.course.streak;
    let is_line = || {
        let agent = draft.plan().agent(draft.task_plan().agent);
        matches!(agent.spec.run, Some(CommandLine::Shell(_)))
    };
    match (class, code.and_then(ShellFailure::of)) {
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
pub fn not_good_enough(draft: &mut Draft<'_>) {
    if let Some(route) = draft.plan().route(draft.id) {
        return verification_edges::failed(draft, route);
    }
    if draft.task.reopened.is_some() {
        let why = why_not_good(draft);
        return draft.fail(FailureMode::Quality, why);
    }
    let (before, now) = (&draft.state.task(draft.id).course, &draft.task.course);
    let no_progress = now.signature.is_some() && now.signature == before.signature;
    let next = if no_progress { None } else { next_attempt(draft, false) };
    match next {
        Some(kind) => rework(draft, kind, None),
        None => exhausted(draft, no_progress),
    }
}

fn next_attempt(draft: &Draft<'_>, agent_failed: bool) -> Option<AttemptKind> {
    let evaluated = draft.plan().judge(draft.id).is_some_and(Judge::is_evaluation);
    allowed_attempt(draft.task_plan(), &draft.task, agent_failed, evaluated)
}

/// The kind of attempt that may follow (section 4): fixes first, then a retry with a fresh allowance of fixes,
/// under the cap on attempts of every kind. A foundation has one more, whatever is left of the others; only a
/// cap of its own holds it too (section 12).
pub fn allowed_attempt(
    plan: &TaskPlan,
    task: &TaskState,
    agent_failed: bool,
    evaluated: bool,
) -> Option<AttemptKind> {
    let limits = plan.limits;
    let more = u32::from(plan.foundation);
    // What the merge sends back first is no fault of the work: it has a fix beside the others.
    let for_merge = u32::from(task.course.conflicts() > 0);
    let cap = limits.max_attempts.or(evaluated.then_some(limits.max_evaluated_attempts.saturating_add(more)));
    let cap = cap.map(|cap| cap.saturating_add(for_merge));
    if cap.is_some_and(|cap| task.course.tries >= cap) || task.course.retries > limits.max_retries {
        None
    } else if !agent_failed && task.course.fixes < limits.max_fix_attempts.saturating_add(for_merge) {
        Some(AttemptKind::Fix)
    } else if task.course.retries < limits.max_retries.saturating_add(more) {
        Some(AttemptKind::Retry)
    } else {
        None
    }
}

/// Sends the work back, after a pause where its provider failed. Dependents stay held: the task is not terminal.
fn rework(draft: &mut Draft<'_>, kind: AttemptKind, failed: Option<(&TurnEnd, Timestamp)>) {
    let attempt = draft.task.attempt.number + 1;
    // A task that a person sent back gave up its slot while it waited.
    let has_slot = draft.state.task(draft.id).holds_slot();
    draft.emit_own(TaskEvent::AttemptPlanned { attempt, kind });
    if side_effects::is_held(draft) {
        let cause = draft.task.feedback.last().and_then(|last| last.cause);
        let why = cause.map_or("quality", Cause::as_str);
        return side_effects::hold_back(draft, &format!("the last attempt failed ({why})"));
    }
    if let Some((end, now)) = failed {
        deferral::back_off(draft, end, now);
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
    let is_kept_out = stage.is_further();
    let by_default = match draft.plan().judge(draft.id) {
        Some(Judge::Evaluation(_)) if !is_kept_out => OnExhausted::Accept,
        _ => OnExhausted::Fail,
    };
    let policy = draft.task_plan().on_exhausted.or(draft.plan().rules.on_exhausted).unwrap_or(by_default);
    // Acceptance below the bar is only for work that finished and was judged, never for a preflight reject.
    let was_judged = matches!(stage, Stage::Checks | Stage::Judge | Stage::Verification) || is_kept_out;
    let score = points.map_or_else(|| "score unknown".to_owned(), |points| format!("score {points}"));
    let attempts = draft.task.attempt.number;
    match policy {
        OnExhausted::Accept if was_judged => {
            let message = format!("accepted below the quality bar after {attempts} attempts, {score}");
            return force_accept(draft, points, message, Mark::BelowThreshold);
        }
        OnExhausted::Degrade if was_judged => {
            let (there, declared) = produced(draft);
            if declared > 0 && 2 * there >= declared {
                let message = format!(
                    "accepted on partial artifacts after {attempts} attempts: {there} of {declared} target files, {score}"
                );
                return force_accept(draft, points, message, Mark::Degraded);
            }
        }
        // Nobody is asked twice about the same work.
        OnExhausted::Refer if was_judged && cause != Some(Cause::Rejected) => {
            let message =
                format!("still not good enough after {attempts} attempts, {score}: accept it or not?");
            return ask_person(draft, StageKey::Of(stage), Cause::Exhausted, &message);
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
    let mode = if stage == Stage::Preflight { FailureMode::Hollow } else { FailureMode::Quality };
    let mended = policy == OnExhausted::Fixup && fixups::create(draft);
    let next = if mended { "; a fixup follows" } else { "" };
    draft.fail(mode, format!("{why}; {how}{next}"));
}

/// The advice about a task that changed a file that judges it. Only the mission can name the file: the agent
/// cannot.
pub const BY_TASK: &str = "; a task that is meant to change what judges it names the file in `targetFiles`";

/// The advice about a check that writes a file which it names.
pub const BY_ITSELF: &str = "; where a check or judge is to write it, name it in `checksMayWrite`";

/// A protected file is not what it was: the task has failed, whatever else it did, and nothing accepts it.
pub fn protected(draft: &mut Draft<'_>, changes: &[String], hint: &str) {
    let list = changes.join(", ");
    let key = StageKey::OUTCOME;
    let mut report = draft.view().report(key, Verdict::Fail, Some(Cause::Protected));
    let finding = |change: &String| Finding::new(Severity::Critical, format!("protected: {change}"));
    report.findings = changes.iter().map(finding).collect();
    record(draft, *report);
    draft.fail(FailureMode::Protected, format!("protected files: {list}{hint}"));
}

/// The words of the last verdict against the work, a few of them.
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

fn force_accept(draft: &mut Draft<'_>, points: Option<Points>, message: String, mark: Mark) {
    draft.emit_own(TaskEvent::ForceAccepted { points, message });
    accept(draft, Edge::Pass, Some(mark));
}

/// How many of the declared target files the runtime saw with content in them, and how many are declared.
fn produced(draft: &Draft<'_>) -> (usize, usize) {
    let files = draft.task.judging();
    let files = files.map_or(&[][..], |judging| &judging.files);
    let targets = &draft.task_plan().target_files;
    let is_there = |path: &str| {
        let mut seen = files.iter();
        seen.any(|file| file.path == path && file.has_content())
    };
    let there = targets.iter().filter(|path| is_there(path)).count();
    (there, targets.len())
}

/// Parks the task until a person answers instead of a stage. The verdict that refers it stands already.
pub fn ask_person(draft: &mut Draft<'_>, at: StageKey, cause: Cause, message: &str) {
    let hold = Hold { cause: Some(cause), stage: at, ..Hold::of(WaitingReason::Refer) };
    holds::ask(draft, hold, message, message.to_owned());
}
