//! What the checks of a task say before the work on it begins (semantics, section 24): when that is looked at, and what follows
//! before the first turn. What follows for accepted work is in `stages::proof`.

use crate::domain::{BeforeWork, Cause, Status, WaitingReason};
use crate::engine::event::{Event, RunEvent, WorkEvent};
use crate::engine::job::{Job, JobEnd};
use crate::engine::payload::{SeenBefore, VoidedStage};
use crate::engine::stages::will_be_judged;
use crate::engine::state::{Hold, State};
use crate::judging::baseline::{Item, items};
use crate::mission::ListOf;
use crate::mission::model::{Before, TaskType};

use super::transaction::Transaction;
use super::{holds, request, turns};

/// How many checks a message names.
const MOST_NAMED: usize = 5;

/// The task has a slot: its checks are looked at, or its agent starts.
pub(super) fn begin(draft: &mut Transaction<'_>) {
    draft.enter(Status::Assigned);
    if !draft.state.must_look_before(draft.id) {
        start_turn(draft);
    } else if draft.state.turn_is_near(draft.id) {
        unknown(draft, "another turn was at work in its folder");
    } else {
        request::run(draft, Job::Baseline);
    }
}

/// Starts the first turn where nothing is to be written for it before; else that is the next thing to be done.
fn start_turn(draft: &mut Transaction<'_>) {
    let state = draft.state;
    if !state.gets_prompt(draft.id) && !state.must_note(draft.id) && !state.baseline_is_near(draft.id) {
        turns::start_turn(draft, None);
    }
}

/// Nobody can tell what its checks say.
fn unknown(draft: &mut Transaction<'_>, why: &str) {
    let seen = items(draft.task_plan()).into_iter().map(|item| SeenBefore {
        key: item.key,
        before: BeforeWork::Unknown,
        reason: why.to_owned(),
        never_ran: false,
        duration: Default::default(),
    });
    let (on, checks) = (None, seen.collect());
    let end = JobEnd::Baseline { on, checks };
    draft.emit(Event::Work(
        draft.id,
        WorkEvent::Ended {
            job: Job::Baseline,
            end,
        },
    ));
    ended(draft);
}

/// What was seen counts for nothing: what judges was changed meanwhile.
pub(super) fn voided(state: &State, voided: &VoidedStage) -> Vec<Event> {
    if !state.is_out(voided.work) {
        return Vec::new();
    }
    let mut draft = Transaction::new(state, voided.work.task);
    unknown(
        &mut draft,
        &format!("protected files changed meanwhile: {}", voided.what()),
    );
    draft.into_events()
}

/// It is known, or nobody can tell. Where a check that is to fail before the work does not, the mission is wrong about its own check,
/// and a person decides whether the work begins.
pub(super) fn ended(draft: &mut Transaction<'_>) {
    let green = wrongly_green(draft);
    if !green.is_empty() && !draft.task.consent.begins_green {
        let message = format!(
            "green before the work began, and the mission wants it red: {}; yes begins the work all the same, and the check \
             proves nothing then; no fails the task",
            named(&green)
        );
        draft.enter_because(Status::Pending, "a check that is to fail before the work passes");
        let hold = Hold {
            cause: Some(Cause::Vacuous),
            ..Hold::of(WaitingReason::Approval)
        };
        return holds::ask(draft, hold, &message.clone(), message);
    }
    warn(draft);
    start_turn(draft);
}

fn before(draft: &Transaction<'_>, item: &Item) -> BeforeWork {
    let of_draft = draft.task.seen_before(item);
    of_draft.map_or(BeforeWork::Unknown, |seen| seen.before)
}

/// Checks that are to fail before the work and do not. Of `failToPass` one that fails is enough.
fn wrongly_green(draft: &Transaction<'_>) -> Vec<Item> {
    let all = items(draft.task_plan());
    let is_of_list = |item: &&Item| item.list == Some(ListOf::FailToPass);
    let mut of_list = all.iter().filter(is_of_list);
    let some_fails = of_list.any(|item| before(draft, item) != BeforeWork::Green);
    let is_wrong = |item: &Item| match item.list {
        Some(ListOf::FailToPass) => !some_fails,
        _ => item.declared == Some(Before::Red),
    };
    let green = all
        .into_iter()
        .filter(|item| before(draft, item) == BeforeWork::Green);
    green.filter(is_wrong).collect()
}

/// Says beforehand that nothing would show that the work was done.
fn warn(draft: &mut Transaction<'_>) {
    let all = items(draft.task_plan());
    let is_green = |item: &Item| before(draft, item) == BeforeWork::Green && !item.is_declared_guard();
    let is_refactoring = draft.task_plan().kind == TaskType::Refactor && draft.task_plan().is_of_mission();
    if is_refactoring || !all.iter().all(is_green) || will_be_judged(draft.plan(), draft.id) {
        return;
    }
    let message = format!(
        "'{}': green before the work began, so that nothing will show that it was done: {} (files of an earlier run?); add a \
         check that fails now, write `before: green` where it only guards, or let somebody judge",
        draft.plan().title(draft.id),
        named(&all)
    );
    draft.emit(Event::Run(RunEvent::Warning { message }));
}

/// The labels of checks, as a sentence has them.
pub(super) fn named(items: &[Item]) -> String {
    let mut names: Vec<String> = items
        .iter()
        .take(MOST_NAMED)
        .map(|item| format!("`{}`", item.label))
        .collect();
    if items.len() > MOST_NAMED {
        names.push(format!("{} more", items.len() - MOST_NAMED));
    }
    names.join(", ")
}
