//! What was accepted must still stand (semantics, section 6): when an audit is made, and what follows from what it saw.
//!
//! An audit is looks and commands only. It takes no slot, and while it is under way nothing is started.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{
    AttemptKind, Cause, FailureMode, Finding, Severity, Stage, Status, TaskId, Timestamp, Verdict,
};
use crate::engine::audit::{Acceptance, AuditEvidence, AuditReport, Found, differing, is_lost, is_same};
use crate::engine::event::{Event, RunEvent, RunWork, TaskEvent};
use crate::engine::event_payload::{FileFact, StageReport};
use crate::engine::state::{RunPhase, State};
use crate::mission::first_line;
use crate::mission::model::FinalChecks;

use super::draft::Draft;
use super::ending::{finish, is_over};
use super::redo;
use super::rework_order::{order, places};

/// Files as they are recorded by acceptance.
pub fn record(draft: &mut Draft<'_>) {
    let Some(judging) = draft.task.judging() else {
        return;
    };
    let plan = draft.task_plan();
    let is_there = |file: &&FileFact| file.size.is_some() && plan.names(&file.path);
    let files: Vec<FileFact> = judging.files.iter().filter(is_there).cloned().collect();
    let checks: Vec<u32> = judging.passed.iter().map(|(check, _)| *check).collect();
    if !files.is_empty() || !checks.is_empty() {
        draft.emit_own(TaskEvent::AcceptanceRecorded { files, checks });
    }
}

/// Files were looked at because somebody is about to be heard about them: a judge, or a person who says yes.
pub fn files_seen(state: &State, id: TaskId, attempt: u32, now: &[FileFact]) -> Vec<Event> {
    let Some(task) = state.known(id).filter(|task| task.attempt.number == attempt) else {
        return Vec::new();
    };
    let is_asked = task.status() == Status::AwaitingApproval;
    let before = match task.judging() {
        _ if is_asked => task.judged().map_or(&[][..], |judged| &judged.files),
        // What changed once is looked at anew before anybody is asked again.
        Some(judging) if judging.changed.is_empty() && !judging.scanning => &judging.files,
        _ => return Vec::new(),
    };
    let paths = differing(state.plan.task(id), before, now);
    if paths.is_empty() {
        return Vec::new();
    }
    vec![Event::Task(
        id,
        TaskEvent::FilesChanged { paths, files: if is_asked { now.to_vec() } else { Vec::new() } },
    )]
}

/// At the start of a session that goes on with a run, before any work. Where turns outlived the session before, work goes
/// on already: then the end of the run has its audit.
pub fn at_the_start(state: &State) -> Vec<Event> {
    let wanted =
        state.plan.rules.settings.final_checks != FinalChecks::Never && state.accepted().next().is_some();
    if !wanted || state.audit.out || state.sums.turns_running > 0 || state.phase != RunPhase::Running {
        return Vec::new();
    }
    request(state)
}

/// Before the end of a session in which everything came to its end.
pub fn at_the_end(state: &State) -> Option<Vec<Event>> {
    let ends_well = state.phase == RunPhase::Running && state.ledger.limit().is_none();
    (ends_well && state.has_all_ended() && !state.audit.out && state.audit_is_open()).then(|| request(state))
}

fn request(state: &State) -> Vec<Event> {
    vec![Event::Run(RunEvent::WorkRequested(RunWork::Audit { number: state.audit.number + 1 }))]
}

/// The verdict of an audit on one task.
enum Verdicts {
    Stands,
    /// The work stands, though these files changed.
    StandsChanged(Vec<String>),
    /// Files changed, and no check holds them.
    Unverified(Vec<String>),
    Regressed(Cause, Vec<String>),
}

impl Verdicts {
    /// About how many bytes of a record it takes to say so.
    fn size(&self) -> usize {
        let found = match self {
            Self::Stands => return 16,
            Self::StandsChanged(found) | Self::Unverified(found) | Self::Regressed(_, found) => found,
        };
        // Control characters are written out, and first lines are said twice.
        let written = |text: &String| 300 + 2 * text.escape_default().count();
        800 + found.iter().map(written).sum::<usize>()
    }
}

/// An audit is over.
pub fn audited(state: &State, report: &AuditReport, now: Timestamp) -> Vec<Event> {
    if state.phase != RunPhase::Running || !state.audit.out || state.audit.number != report.number {
        return Vec::new();
    }
    let Some(seen) = &report.seen else {
        return Vec::new();
    };
    let audit = Audited::of(state, seen);
    let mut verdicts: Vec<_> =
        state.covered().map(|(id, acceptance)| (id, acceptance, audit.verdict(id, acceptance))).collect();
    // A record that is too long cannot be written, by no session: what does not fit is the next audit's.
    let mut told = 0;
    let fits = verdicts.iter().take_while(|(.., verdict)| {
        let fits = told <= MOST_TOLD;
        told += verdict.size();
        fits
    });
    let fits = fits.count();
    let rest = verdicts.get(fits).map(|(id, ..)| *id);
    verdicts.truncate(fits);
    let mut reopening = Reopening::of(state, &verdicts);
    let mut events = Vec::new();
    let (mut checked, mut files) = (Vec::new(), Vec::new());
    for (id, acceptance, verdict) in verdicts {
        // What it was accepted for is not held against it while it judges once more.
        if reopening.nodes.contains(&id) {
            continue;
        }
        if !matches!(verdict, Verdicts::Regressed(..)) {
            checked.extend(audit.ran_checks(id).then_some(id));
            files.extend(audit.moved(id, acceptance));
        }
        match verdict {
            Verdicts::Stands => {}
            Verdicts::StandsChanged(found) => {
                events.push(said(state, id, Verdict::Pass, None, Severity::Info, found));
            }
            Verdicts::Unverified(found) => {
                let cause = Some(Cause::Changed);
                events.push(said(state, id, Verdict::Skip, cause, Severity::Medium, found));
            }
            Verdicts::Regressed(cause, found) => {
                let lost = audit.lost(id, acceptance);
                events.extend(reopening.regress(id, cause, found, lost));
            }
        }
    }
    let calm = events.is_empty();
    events.push(Event::Run(RunEvent::AuditFinished {
        number: report.number,
        checked,
        files,
        record: report.file.clone(),
        rest,
    }));
    // Nothing has changed but that it was looked: whatever ends the session may stand in the same record.
    if calm && rest.is_none() && state.has_all_ended() {
        let mut looked = state.clone();
        looked.close_audit();
        if is_over(&looked) && !looked.audit_is_open() {
            events.extend(finish(&looked, now));
        }
    }
    events
}

fn said(
    state: &State,
    task: TaskId,
    verdict: Verdict,
    cause: Option<Cause>,
    severity: Severity,
    found: Vec<String>,
) -> Event {
    let attempt = state.task(task).attempt.number;
    let mut report = StageReport::new(task, attempt, Stage::Audit, verdict, cause);
    report.points = state.task(task).attempt.points.filter(|_| verdict != Verdict::Fail);
    report.findings = found.into_iter().map(|text| Finding::new(severity, text)).collect();
    Event::verdict(report)
}

/// The events for the tasks that an audit found regressed.
struct Reopening<'s> {
    state: &'s State,
    /// Verifications that judge once more what is done again.
    nodes: BTreeSet<TaskId>,
    /// The tasks among them of which that is said.
    told: BTreeSet<TaskId>,
    /// The tasks that each task that is done again waits for, and those that wait for it, because they name a
    /// common file.
    order: BTreeMap<TaskId, (Vec<TaskId>, Vec<TaskId>)>,
}

impl<'s> Reopening<'s> {
    fn of(state: &'s State, verdicts: &[(TaskId, &Acceptance, Verdicts)]) -> Self {
        let has_regressed = |verdict: &Verdicts| matches!(verdict, Verdicts::Regressed(..));
        let regressed = verdicts.iter().filter(|(.., verdict)| has_regressed(verdict));
        let regressed: BTreeSet<TaskId> = regressed.map(|(id, ..)| *id).collect();
        let again = regressed.iter().copied();
        let again: BTreeSet<TaskId> = again.filter(|id| given_up(state, *id).is_none()).collect();
        let nodes = again.iter().flat_map(|id| verifications_over(state, *id));
        let nodes = nodes.filter(|id| !regressed.contains(id)).collect();
        Self { state, nodes, told: BTreeSet::new(), order: order(state, &again) }
    }

    /// Has a regressed task done again, in one attempt beside all limits and without what was built on it; or
    /// fails it: without fixup, without a policy for what is exhausted, and nothing that is done goes with it.
    fn regress(&mut self, id: TaskId, cause: Cause, found: Vec<String>, lost: Vec<FileFact>) -> Vec<Event> {
        let state = self.state;
        let first_lines: Vec<&str> = found.iter().map(|text| first_line(text)).collect();
        let reason = first_lines.join("; ");
        let given_up = given_up(state, id);
        let is_again = given_up.is_none();
        let mut draft = Draft::new(state, id);
        draft.emit(said(state, id, Verdict::Fail, Some(cause), Severity::High, found));
        let over = verifications_over(state, id).filter(|node| is_again && self.nodes.contains(node));
        // One over several of them judges once.
        let nodes: Vec<TaskId> = over.filter(|node| self.told.insert(*node)).collect();
        let (behind, ahead_of) =
            if is_again { self.order.remove(&id).unwrap_or_default() } else { Default::default() };
        draft.emit_own(TaskEvent::Regressed {
            reason: reason.clone(),
            files: lost,
            behind,
            ahead_of,
            judged_again: nodes.clone(),
        });
        let why = "what it was accepted for does not stand any more";
        match given_up {
            None => redo::begin_again(&mut draft, AttemptKind::Fix, why),
            Some(because) => {
                draft.enter_because(Status::Pending, why);
                draft.fail(FailureMode::Regressed, format!("{reason}; {because}"));
            }
        }
        let why = format!("'{}', which it judged, is done again", state.plan.title(id));
        for node in nodes {
            let mut over = Draft::new(state, node);
            redo::begin_again(&mut over, AttemptKind::Fix, &why);
            draft.also(over.into_events());
        }
        draft.into_events()
    }
}

/// Why regressed work is not done again.
fn given_up(state: &State, id: TaskId) -> Option<&'static str> {
    if state.task(id).course.regressions >= MOST_REGRESSIONS {
        Some("it was done again twice already")
    } else if state.audit.of_session >= MOST_AUDITS {
        Some("accepted work was looked at three times in this session")
    } else {
        None
    }
}

/// The verifications that have judged the work of a task, and stand.
fn verifications_over(state: &State, id: TaskId) -> impl Iterator<Item = TaskId> {
    let plan = &state.plan;
    // Whoever needs what a fixup mended judges the work of the fixup.
    let needed = [Some(id), plan.mended_by(id)].into_iter().flatten();
    let dependents = needed.flat_map(|id| plan.dependents.of(id)).copied();
    let nodes = dependents.filter(|node| plan.route(*node).is_some());
    nodes.filter(move |node| {
        state.task(*node).status() == Status::Done && state.judged(*node).any(|judged| judged == id)
    })
}

/// How often accepted work that does not stand is done again, before its task fails.
const MOST_REGRESSIONS: u32 = 2;
/// The bytes of findings that one audit says, about.
const MOST_TOLD: usize = 6 << 20;
/// The characters of an output that are said of a task where another one is told the whole.
const EXCERPT: usize = 400;
/// The audits of a session; what the last of them finds is not done again in it.
const MOST_AUDITS: u32 = 3;

/// An audit with what it is held against.
struct Audited<'s> {
    state: &'s State,
    seen: &'s AuditEvidence,
    latest: BTreeMap<String, (u64, &'s FileFact)>,
    looks: BTreeMap<TaskId, &'s [FileFact]>,
    behind: BTreeMap<TaskId, &'s [FileFact]>,
    /// The checks that were due, each with what it showed.
    checks: BTreeMap<TaskId, Vec<Option<Shown<'s>>>>,
    /// The tasks that name a file, by its place. Made where they are asked for.
    named: OnceCell<BTreeMap<String, Vec<TaskId>>>,
}

/// Whether a check passed, what its worker is told of that, and the first task to which it showed it.
type Shown<'s> = (bool, &'s str, TaskId);

impl<'s> Audited<'s> {
    fn of(state: &'s State, seen: &'s AuditEvidence) -> Self {
        let by_task = |looks: &'s crate::engine::audit::Looks| {
            looks.iter().map(|(id, files)| (*id, files.as_slice())).collect()
        };
        let mut checks: BTreeMap<TaskId, Vec<_>> = BTreeMap::new();
        let (mut results, mut first) = (BTreeMap::new(), BTreeMap::new());
        for (id, check, position) in &seen.checks {
            if let Some(result) = seen.result(*position) {
                let first = *first.entry(position).or_insert(*id);
                let told = state.plan.task(*id).message_for_worker(*check, &result.message);
                results.insert((*id, *check), (result.passed, told, first));
            }
        }
        for (id, check) in state.checks_due(&seen.looks) {
            checks.entry(id).or_default().push(results.get(&(id, check)).copied());
        }
        Self {
            state,
            seen,
            latest: state.latest_records(),
            looks: by_task(&seen.looks),
            behind: by_task(&seen.behind),
            checks,
            named: OnceCell::new(),
        }
    }

    fn ran_checks(&self, id: TaskId) -> bool {
        self.checks.contains_key(&id)
    }

    fn looks(&self, id: TaskId) -> &'s [FileFact] {
        self.looks.get(&id).copied().unwrap_or_default()
    }

    /// The files of a task as they were seen last.
    fn last_look(&self, id: TaskId) -> &'s [FileFact] {
        if self.seen.behind.is_empty() {
            self.looks(id)
        } else {
            self.behind.get(&id).copied().unwrap_or_default()
        }
    }

    fn verdict(&self, id: TaskId, acceptance: &Acceptance) -> Verdicts {
        let mut gone = self.missing(id, self.looks(id));
        if gone.is_empty() {
            gone = self.missing(id, self.last_look(id));
        }
        if !gone.is_empty() {
            return Verdicts::Regressed(Cause::Artifact, gone);
        }
        let failed = self.failed(id);
        if !failed.is_empty() {
            return Verdicts::Regressed(Cause::Checks, failed);
        }
        let changed = |seen: &'s [FileFact]| -> Vec<&FileFact> {
            let found = self.state.found(id, &self.latest, seen);
            let changed = found.filter(|(_, found)| *found == Found::Changed);
            changed.map(|(file, _)| file).collect()
        };
        let mut files = changed(self.looks(id));
        // What its own checks have written is part of the work.
        if files.is_empty() && !self.ran_checks(id) {
            files = changed(self.last_look(id));
        }
        if files.is_empty() {
            return Verdicts::Stands;
        }
        let holds =
            if self.ran_checks(id) { ", and its checks passed again" } else { ", and no check holds it" };
        let how = self.since(id, acceptance);
        let say = |file: &&FileFact| {
            format!("{} changed {how}{holds}{}", file.path, self.also_named(id, &file.path))
        };
        let found = files.iter().map(say).collect();
        if self.ran_checks(id) { Verdicts::StandsChanged(found) } else { Verdicts::Unverified(found) }
    }

    fn missing(&self, id: TaskId, seen: &'s [FileFact]) -> Vec<String> {
        let found = self.state.found(id, &self.latest, seen);
        let missing = found.filter_map(|(file, found)| {
            let how = match found {
                Found::Gone => "removed",
                Found::Emptied => "emptied",
                Found::Same | Found::Changed => return None,
            };
            let others = self.also_named(id, &file.path);
            Some(format!("{} was {how} after it was accepted{others}", file.path))
        });
        missing.collect()
    }

    /// The files of its record that are gone or empty.
    fn lost(&self, id: TaskId, acceptance: &Acceptance) -> Vec<FileFact> {
        let is_lost = |file: &&FileFact| is_lost(file, self.looks(id)) || is_lost(file, self.last_look(id));
        acceptance.files.iter().filter(is_lost).cloned().collect()
    }

    /// The checks that do not pass any more. One of which nothing is known has not passed.
    fn failed(&self, id: TaskId) -> Vec<String> {
        let results = self.checks.get(&id).map_or(&[][..], Vec::as_slice);
        let mut failed: Vec<String> = Vec::new();
        for result in results {
            let message = match result {
                Some((true, ..)) => continue,
                Some((false, message, first)) => self.output_of(id, message, *first),
                None => "it was not run".to_owned(),
            };
            failed.push(format!("a check that had passed fails now: {message}"));
        }
        let shared = self.state.task(id).acceptance().map_or(&[][..], |it| &it.files);
        if let Some(first) = failed.first_mut() {
            let others: Vec<String> = shared
                .iter()
                .filter_map(|file| {
                    let others = self.also_named(id, &file.path);
                    (!others.is_empty()).then(|| others.replacen("; it", &format!("; {}", file.path), 1))
                })
                .collect();
            // Behind the first line, which says which check it is.
            let end = first.find('\n').unwrap_or(first.len());
            first.insert_str(end, &others.concat());
        }
        failed
    }

    /// When a file changed, as far as that is known.
    fn since(&self, id: TaskId, acceptance: &Acceptance) -> String {
        let (last, now) = (acceptance.session, self.state.sessions);
        if last < now && !self.state.was_worked_on_since(id, acceptance, &self.state.worked_in()) {
            format!("between session {last} and session {now}")
        } else {
            "after it was accepted".to_owned()
        }
    }

    /// The output of a check: whole where it is said first, else its end.
    fn output_of(&self, id: TaskId, message: &str, first: TaskId) -> String {
        let (line, output) = message.split_once('\n').unwrap_or((message, ""));
        let cut = output.char_indices().rev().nth(EXCERPT);
        let Some((at, _)) = cut.filter(|_| id != first) else {
            return message.to_owned();
        };
        let (first, end) = (self.state.plan.title(first), &output[at..]);
        format!("{line}\n(cut; the audit tells '{first}' the whole output)\n…{end}")
    }

    /// The words about other tasks that name a file.
    fn also_named(&self, id: TaskId, path: &str) -> String {
        let plan = &self.state.plan;
        let named = self.named.get_or_init(|| {
            let mut named: BTreeMap<String, Vec<TaskId>> = BTreeMap::new();
            for id in plan.selected_ids() {
                for place in places(self.state, id) {
                    named.entry(place).or_default().push(id);
                }
            }
            named
        });
        let others = named.get(&plan.place(id, path)).into_iter().flatten();
        let others = others.filter(|other| **other != id).take(3);
        let others: Vec<String> = others.map(|other| format!("'{}'", plan.title(*other))).collect();
        if others.is_empty() {
            String::new()
        } else {
            format!("; it is also named by task {}", others.join(", "))
        }
    }

    /// The files of a task, where they are not what is on record.
    fn moved(&self, id: TaskId, acceptance: &Acceptance) -> Option<(TaskId, Vec<FileFact>)> {
        let seen = self.last_look(id);
        let differs = |file: &FileFact| {
            let now = seen.iter().find(|now| now.path == file.path)?;
            let newest = self.state.newest_record(&self.latest, id, file);
            (!is_same(newest, now)).then(|| now.clone())
        };
        let moved: Vec<FileFact> = acceptance.files.iter().filter_map(differs).collect();
        (!moved.is_empty()).then_some((id, moved))
    }
}

/// Accepted work whose files are not there is done again by a person's word. What was built on it stays.
pub fn reopen(state: &State, id: TaskId) -> Vec<Event> {
    let done = state.known(id).is_some_and(|task| task.status() == Status::Done);
    if !done {
        return Vec::new();
    }
    redo::from_the_start(state, id, "its files are not there any more")
}

/// Whether a task may be redone although it failed: what it had been accepted for did not stand.
pub fn has_regressed(state: &State, id: TaskId) -> bool {
    let task = state.task(id);
    task.status() == Status::Failed && task.mode() == Some(FailureMode::Regressed)
}
