//! What the reference model says of accepted work: what it was accepted for, when it must be looked at, and what becomes of it
//! (section 6, "What was accepted must still stand").

use std::collections::{BTreeMap, BTreeSet};

use rules::domain::{AttemptKind, Cause, Edge, FailureMode, Status, TaskId, Verdict};
use rules::engine::{AuditReport, Event, FileFact, Looks, StageReport, State, TaskEvent};
use rules::mission::model::{FinalChecks, Isolation};
use rules::plan::Part;

use super::{ReferenceModel, Seen};

/// The files and checks that a task was accepted for.
#[derive(Debug, Clone, Default)]
pub struct Record {
    files: BTreeMap<String, FileFact>,
    /// The checks that passed, with how many turns had ended when they began.
    checks: BTreeMap<u32, u64>,
    /// Later ones say what a file holds.
    order: u64,
}

/// Accepted work is done once more, in one attempt, or judged once more.
#[derive(Debug, Clone, Default)]
pub struct Reopened {
    /// Whether the task must fail in the same record instead.
    given_up: bool,
    /// Whether the task's attempt was planned.
    granted: bool,
    /// The files that must be there again.
    pub(super) lost: BTreeSet<String>,
    /// The files that were empty when the work was accepted.
    may_be_empty: BTreeSet<String>,
    /// A verification judges once more, and has not regressed itself.
    judges: bool,
}

/// The result that an audit must come to.
#[derive(Debug, Clone, Default, PartialEq)]
struct Expected {
    number: u32,
    regressed: BTreeSet<TaskId>,
    unverified: BTreeSet<TaskId>,
}

/// Where the account of audits stands.
#[derive(Debug, Clone, Default)]
pub struct Audits {
    out: bool,
    due: bool,
    orders: u64,
    /// The orders there were when the audit was asked for: of later ones it knows nothing.
    covers: u64,
    /// The values of `ended` and `last` at that moment.
    before: (u64, BTreeMap<Place, u64>),
    /// How many were asked for in this session, and whether a person asked for more work in it.
    of_session: u32,
    more_work: bool,
    /// The records of accepted work that is done again: they say what a file holds until it is accepted anew.
    pub(super) replaced: BTreeMap<TaskId, Record>,
    /// Tasks that did not stand, each with the attempt that was accepted.
    fell: BTreeMap<TaskId, u32>,
    /// The number of audits.
    number: u32,
    ended: u64,
    /// The last turn that ended in a workspace, or the last work that came to what was merged.
    last: BTreeMap<Place, u64>,
    expected: Option<Expected>,
    /// The verdicts of the audit of this record, by task.
    said: BTreeMap<TaskId, Verdict>,
}

fn same(one: &FileFact, other: &FileFact) -> bool {
    one.size == other.size && one.digest == other.digest
}

/// Where the files of a task lie: with all that was merged, or in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Merged,
    Workspace(Option<String>),
}

impl ReferenceModel {
    fn place(state: &State, task: TaskId) -> Place {
        match state.plan.task(task).isolation {
            Isolation::Worktree => Place::Merged,
            _ => Place::Workspace(state.plan.task(task).workspace.as_deref().map(str::to_owned)),
        }
    }

    fn never(state: &State) -> bool {
        state.plan.rules.settings.final_checks == FinalChecks::Never
    }

    pub(super) fn a_turn_ended(&mut self, state: &State, task: TaskId) {
        match Self::place(state, task) {
            // It changes nothing of what was accepted.
            Place::Merged => self.audits.ended += 1,
            place => self.files_changed_in(place),
        }
    }

    /// Isolated work came to what was accepted.
    pub(super) fn work_landed(&mut self) {
        self.not_merged = false;
        self.files_changed_in(Place::Merged);
    }

    fn files_changed_in(&mut self, place: Place) {
        self.audits.ended += 1;
        self.audits.last.insert(place, self.audits.ended);
        self.audits.due |= self.audits.orders > 0;
    }

    pub(super) fn a_check_begins(&mut self, task: TaskId, check: u32) {
        let ended = self.audits.ended;
        self.tasks[task.index()].passed_at.insert(check, ended);
    }

    pub(super) fn accepted_for(&mut self, state: &State, task: TaskId, files: &[FileFact], checks: &[u32]) {
        self.audits.orders += 1;
        self.audits.due = true;
        let seen = &mut self.tasks[task.index()];
        assert_eq!(seen.status, Status::Review, "{task:?} {seen:?}");
        let passed = seen.checks.iter().filter(|(_, result)| **result == Some(true));
        let passed: BTreeSet<u32> = passed.map(|(check, _)| *check).collect();
        assert_eq!(checks.iter().copied().collect::<BTreeSet<_>>(), passed, "{task:?} {seen:?}");
        let plan = state.plan.task(task);
        for file in files {
            let is_named = plan.target_files.iter().any(|target| **target == *file.path);
            assert!(is_named && file.size.is_some(), "{task:?} {file:?}");
        }
        let at = |check: &u32| (*check, seen.passed_at.get(check).copied().unwrap_or(0));
        seen.record = Some(Record {
            files: files.iter().map(|file| (file.path.clone(), file.clone())).collect(),
            checks: checks.iter().map(at).collect(),
            order: self.audits.orders,
        });
    }

    /// Checks that all which a done task names or passed is on record.
    pub(super) fn is_recorded(&self, state: &State, task: TaskId) {
        let seen = &self.tasks[task.index()];
        let names = !state.plan.task(task).target_files.is_empty();
        let passed = seen.checks.values().any(|result| *result == Some(true));
        let must = passed || names && seen.has_file();
        assert!(!must || seen.record.is_some(), "not on record: {task:?} {seen:?}");
    }

    /// Nothing is started while it is not known whether what was accepted stands.
    pub(super) fn no_audit_is_out(&self, task: TaskId) {
        assert!(!self.audits.out, "{task:?} starts during an audit");
    }

    fn recorded<'w>(&'w self, state: &'w State) -> impl Iterator<Item = (TaskId, &'w Record)> + 'w {
        let tasks = self.tasks.iter().enumerate();
        let tasks = tasks.map(|(index, seen)| (TaskId::from_index(index), seen));
        let taken = tasks.filter(|(id, seen)| {
            let selected = state.plan.task(*id).part == Part::Selected;
            seen.status == Status::Done && selected && !state.task(*id).not_taken
        });
        taken.filter_map(|(id, seen)| Some((id, seen.record.as_ref()?)))
    }

    pub(super) fn audit_requested(&mut self, state: &State, number: u32) {
        assert!(!self.audits.out && !Self::never(state), "audit {number}");
        assert!(self.recorded(state).next().is_some(), "audit {number} has nothing to look at");
        assert!(self.tasks.iter().all(|seen| !seen.in_flight), "audit {number} while turns work");
        self.audits.out = true;
        self.audits.covers = self.audits.orders;
        self.audits.before = (self.audits.ended, self.audits.last.clone());
        (self.audits.number, self.audits.of_session) = (number, self.audits.of_session + 1);
        assert!(
            self.audits.of_session <= 3 || self.audits.more_work,
            "too many audits of one session: {number}"
        );
    }

    pub(super) fn session_begins(&mut self) {
        (self.audits.of_session, self.audits.more_work) = (0, false);
    }

    pub(super) fn asked_for_more(&mut self) {
        self.audits.more_work = true;
    }

    /// A session has begun, or is about to end: an audit that was out is nobody's any more.
    pub(super) fn audit_dropped(&mut self) {
        self.audits.out = false;
        self.audits.expected = None;
    }

    /// Computes the result of an audit that saw this.
    pub fn expect_audit(&mut self, state: &State, report: &AuditReport) {
        let always = state.plan.rules.settings.final_checks == FinalChecks::Always;
        let evidence = report.seen.as_deref().expect("it has just been seen");
        let of = |looks: &Looks, id: TaskId| -> BTreeMap<String, FileFact> {
            let looks = looks.iter().filter(|(of, _)| *of == id);
            let files = looks.flat_map(|(_, files)| files);
            files.map(|file| (file.path.clone(), file.clone())).collect()
        };
        let mut latest: BTreeMap<(Place, &String), (u64, &FileFact)> = BTreeMap::new();
        let covers = self.audits.covers;
        let covered = self.recorded(state).filter(|(_, record)| record.order <= covers);
        let replaced = self.audits.replaced.iter().map(|(id, record)| (*id, record));
        for (id, record) in covered.chain(replaced) {
            for (path, file) in &record.files {
                let place = (Self::place(state, id), path);
                let known = latest.entry(place).or_insert((record.order, file));
                if record.order > known.0 {
                    *known = (record.order, file);
                }
            }
        }
        let mut expected = Expected { number: report.number, ..Expected::default() };
        let mut due_in_all = BTreeSet::new();
        for (id, record) in self.recorded(state).filter(|(_, record)| record.order <= covers) {
            let first = of(&evidence.looks, id);
            let last = if evidence.behind.is_empty() { first.clone() } else { of(&evidence.behind, id) };
            let gone = |seen: &BTreeMap<String, FileFact>| {
                record.files.iter().any(|(path, file)| {
                    let size = seen[path].size;
                    size.is_none() || size == Some(0) && file.size != Some(0)
                })
            };
            let changed = |seen: &BTreeMap<String, FileFact>| {
                let mut paths = record.files.keys();
                paths.any(|path| {
                    let newest = latest[&(Self::place(state, id), path)].1;
                    seen[path].size.is_some_and(|size| size > 0) && !same(newest, &seen[path])
                })
            };
            let acts = state.plan.task(id).side_effects;
            let turned = self.audits.before.1.get(&Self::place(state, id)).copied().unwrap_or(0);
            let is_due = |passed: u64| always || !acts && (changed(&first) || turned > passed);
            let due: BTreeSet<_> =
                record.checks.iter().filter(|(_, at)| is_due(**at)).map(|(n, _)| *n).collect();
            let passed = |position: &u32| evidence.results[*position as usize].passed;
            let fails = evidence
                .checks
                .iter()
                .any(|(of, n, position)| *of == id && due.contains(n) && !passed(position));
            if gone(&first) || gone(&last) || fails {
                expected.regressed.insert(id);
            } else if due.is_empty() && (changed(&first) || changed(&last)) {
                expected.unverified.insert(id);
            }
            due_in_all.extend(due.into_iter().map(|n| (id, n)));
        }
        let ran: BTreeSet<_> = evidence.checks.iter().map(|(id, n, _)| (*id, *n)).collect();
        assert_eq!(ran, due_in_all, "the checks that are run again");
        self.audits.expected = Some(expected);
    }

    pub(super) fn audit_said(&mut self, report: &StageReport) {
        assert!(self.audits.out, "nobody asked: {report:?}");
        let seen = &mut self.tasks[report.task.index()];
        assert_eq!(seen.status, Status::Done, "{report:?} {seen:?}");
        assert!(seen.record.is_some(), "{report:?} {seen:?}");
        match report.verdict {
            Verdict::Fail => {
                seen.regressed = true;
                let attempt = seen.attempt;
                self.audits.fell.insert(report.task, attempt);
            }
            Verdict::Skip => {
                assert_eq!(report.cause, Some(Cause::Changed), "{report:?}");
                seen.flag = seen.flag.max(Some(rules::domain::QualityFlag::Unverified));
            }
            Verdict::Pass => assert!(!report.findings.is_empty(), "{report:?}"),
            _ => panic!("{report:?}"),
        }
        assert!(self.audits.said.insert(report.task, report.verdict).is_none(), "{report:?}");
    }

    /// Accepted work does not stand: it is done once more, twice at most, and the third audit of a session is the last word.
    pub(super) fn regressed(&mut self, state: &State, task: TaskId, files: &[FileFact], nodes: &[TaskId]) {
        let seen = &mut self.tasks[task.index()];
        assert!(std::mem::take(&mut seen.regressed), "nobody said so: {task:?} {seen:?}");
        assert_eq!(seen.status, Status::Done, "{task:?} {seen:?}");
        let given_up = seen.regressions >= 2 || self.audits.of_session >= 3;
        seen.regressions += 1;
        let empty = |file: &&FileFact| file.size == Some(0);
        let paths = |files: &mut dyn Iterator<Item = &FileFact>| -> BTreeSet<String> {
            files.map(|file| file.path.clone()).collect()
        };
        seen.reopened = Some(Reopened {
            given_up,
            lost: paths(&mut files.iter()),
            may_be_empty: paths(&mut files.iter().filter(empty)),
            ..Reopened::default()
        });
        assert!(nodes.is_empty() || !given_up, "{task:?} {nodes:?}");
        for node in nodes {
            let is_node = state.plan.route(*node).is_some();
            let seen = &mut self.tasks[node.index()];
            assert!(is_node && seen.status == Status::Done, "{node:?} {seen:?}");
            seen.reopened = Some(Reopened { judges: true, ..Reopened::default() });
        }
        self.fell(state, task);
        nodes.iter().for_each(|node| self.fell(state, *node));
    }

    /// What has begun goes on; what has not waits for it. Whoever needs what a fixup mended needs the fixup.
    pub(super) fn fell(&mut self, state: &State, task: TaskId) {
        let mended = self.tasks[task.index()].fixup_of;
        for fell in [Some(task), mended].into_iter().flatten() {
            for on_it in state.plan.dependents.of(fell) {
                let seen = &mut self.tasks[on_it.index()];
                let has_begun = seen.attempt > 1 || self.started.iter().any(|turn| turn.task == *on_it);
                let is_ended = matches!(seen.status, Status::Done | Status::Failed);
                if has_begun && !is_ended && seen.status != Status::Pending {
                    seen.goes_on.insert(fell);
                }
            }
        }
    }

    /// Behind a record: what does not stand is done once more or has failed, and whatever has judged it judges once more.
    pub(super) fn regressed_are_settled(&self, state: &State, record: &[Event]) {
        for event in record {
            let Event::Task(task, TaskEvent::Regressed { .. }) = event else {
                continue;
            };
            let seen = &self.tasks[task.index()];
            assert!(!seen.regressed, "{event:?} {seen:?}");
            match &seen.reopened {
                Some(open) => assert!(open.granted && !open.given_up, "{event:?} {seen:?}"),
                None => {
                    let mode = (seen.status, seen.mode);
                    assert_eq!(mode, (Status::Failed, Some(FailureMode::Regressed)), "{event:?}");
                    continue;
                }
            }
            for node in state.plan.dependents.of(*task) {
                let is_done = self.tasks[node.index()].status == Status::Done;
                let judges = state.plan.route(*node).is_some() && !state.task(*node).not_taken;
                assert!(!judges || !is_done, "{node:?} has judged what is done again: {event:?}");
            }
        }
    }

    /// Checks that no regressed task begins while another one works that must write the same file and that it
    /// is not built on.
    pub(super) fn is_first_of_the_regressed(&self, state: &State, task: TaskId) {
        let fell = |id: TaskId| {
            let open = self.tasks[id.index()].reopened.as_ref();
            open.is_some_and(|open| !open.judges)
        };
        if !fell(task) {
            return;
        }
        let works = |id: TaskId| {
            let status = self.tasks[id.index()].status;
            matches!(status, Status::Assigned | Status::InProgress | Status::Review)
        };
        let is_built_on_it = |id: TaskId| {
            let (mut open, mut known) = (vec![id], BTreeSet::from([id]));
            while let Some(id) = open.pop() {
                for on in state.plan.dependencies.of(id) {
                    open.extend(known.insert(*on).then_some(*on));
                }
            }
            known.contains(&task)
        };
        let files = |id: TaskId| state.plan.task(id).target_files.iter();
        let ids = (0..self.tasks.len()).map(TaskId::from_index);
        for other in ids.filter(|other| *other != task && fell(*other) && works(*other)) {
            let common = Self::place(state, other) == Self::place(state, task)
                && files(other).any(|file| files(task).any(|own| own == file));
            assert!(!common || is_built_on_it(other), "{task:?} starts beside {other:?}");
        }
    }

    /// Whether a task fails because what it was accepted for does not stand: an audit found it, and either it is done no
    /// more, or the one attempt at it failed. Nobody but a person or a rule of its own ends such work in another way.
    pub(super) fn may_regress(&mut self, task: TaskId, mode: FailureMode) {
        let seen = &self.tasks[task.index()];
        let Some(open) = &seen.reopened else {
            assert_ne!(mode, FailureMode::Regressed, "{task:?} {seen:?}");
            return;
        };
        match mode {
            FailureMode::Regressed => {
                // Of a turn whose files could not be watched there was none: the first of its attempt, or the next one.
                let is_between = seen.status != Status::Pending && !seen.in_flight;
                let is_done = seen.finished || open.judges || is_between;
                assert!(open.given_up || is_done, "given up too early: {task:?} {seen:?}");
            }
            FailureMode::Rejected
            | FailureMode::Cancelled
            | FailureMode::Protected
            | FailureMode::Deadline
            | FailureMode::Cascade => assert!(!open.given_up, "{task:?} {mode:?} {seen:?}"),
            _ => panic!("{task:?} {mode:?} {seen:?}"),
        }
    }

    /// A verification that judges once more takes the same edge, and that is no visit.
    pub(super) fn takes_edge(&mut self, task: TaskId, edge: Edge, visit: u32) {
        let seen = &mut self.tasks[task.index()];
        if seen.reopened.is_some() {
            assert_eq!((seen.edge, seen.visits), (Some(edge), visit), "{task:?} {seen:?}");
        }
        seen.visits = visit;
        seen.edge = (seen.status == Status::Review).then_some(edge);
    }

    /// Exit 0: whatever did not stand was done again and accepted again.
    pub(super) fn all_stands(&self, state: &State) {
        for (id, attempt) in &self.audits.fell {
            let seen = &self.tasks[id.index()];
            let is_part = state.plan.task(*id).part == Part::Selected && !state.task(*id).not_taken;
            let again = seen.superseded || seen.status == Status::Done && seen.attempt > *attempt;
            assert!(!is_part || again, "it does not stand: {id:?} {seen:?}");
        }
    }

    pub(super) fn audited(
        &mut self,
        event: &Event,
        number: u32,
        checked: &[TaskId],
        files: &[(TaskId, Vec<FileFact>)],
    ) {
        assert!(std::mem::take(&mut self.audits.out), "{event:?}");
        let said = std::mem::take(&mut self.audits.said);
        let with = |verdict: Verdict| -> BTreeSet<TaskId> {
            let said = said.iter().filter(|(_, of)| **of == verdict);
            said.map(|(id, _)| *id).collect()
        };
        if let Some(expected) = self.audits.expected.take().filter(|expected| expected.number == number) {
            assert_eq!(with(Verdict::Fail), expected.regressed, "{event:?}");
            assert_eq!(with(Verdict::Skip), expected.unverified, "{event:?}");
        }
        let changed = self.audits.last != self.audits.before.1;
        self.audits.due = changed || self.audits.orders > self.audits.covers;
        for id in checked {
            let record = self.tasks[id.index()].record.as_mut().expect("it is on record");
            record.checks.values_mut().for_each(|passed| *passed = self.audits.before.0);
        }
        for (id, seen) in files {
            self.audits.orders += 1;
            let record = self.tasks[id.index()].record.as_mut().expect("it is on record");
            record.order = self.audits.orders;
            for file in seen {
                record.files.insert(file.path.clone(), file.clone());
            }
        }
    }

    /// Whether accepted work was not looked at since something happened to it.
    pub(super) fn audit_is_open(&self, state: &State) -> bool {
        (self.audits.due || self.audits.out) && !Self::never(state) && self.recorded(state).next().is_some()
    }
}

impl Seen {
    /// Whether an attempt is the one beside all limits.
    pub(super) fn is_granted(&mut self, kind: AttemptKind) -> bool {
        let Some(open) = self.reopened.as_mut().filter(|_| kind != AttemptKind::Execute) else {
            return false;
        };
        assert_eq!(kind, AttemptKind::Fix, "{open:?}");
        assert!(!std::mem::replace(&mut open.granted, true), "a second attempt: {open:?}");
        true
    }

    /// Takes the lost files that are there again off the list.
    pub(super) fn is_restored(&mut self, files: &[FileFact]) {
        if let Some(open) = &mut self.reopened {
            for file in files {
                if file.size.is_some_and(|size| size > 0 || open.may_be_empty.contains(&file.path)) {
                    open.lost.remove(&file.path);
                }
            }
        }
    }
}
