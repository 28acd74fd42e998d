//! A title may be active in one unfinished run only: what is in the way of a run is refused, or cancelled by `--fresh`.

use std::collections::HashSet;

use crate::{
    runtime::{Unfinished, apply_offline, unfinished_runs, unfinished_with},
    store::{RunFolder, StateFolder},
};
use rules::{
    engine::{Command, Fact, OperatorInput},
    plan::Plan,
};

use super::args::RunFlags;
use super::command_error::Failure;
use super::confirm::{can_ask, confirm};
use super::operator_client::apply_failure;
use super::project::{open_run, refuse};
use super::screen::Screen;

/// A title may be active in one unfinished run only; `--fresh` cancels the runs in the way.
pub fn resolve_conflicts(
    folder: &StateFolder,
    plan: &Plan,
    flags: &RunFlags,
    screen: &Screen,
) -> Result<(), Failure> {
    let in_the_way = unfinished_runs(folder, plan).map_err(refuse)?;
    // Who sits at a terminal decides at once, instead of typing the command once more.
    let is_asked = !flags.fresh && !in_the_way.is_empty() && can_ask(screen) && !screen.output().yes;
    if is_asked && let Some(unfinished) = in_the_way.first() {
        screen.error(&format!(
            "task '{}' is still active in the unfinished run {}\n",
            unfinished.title,
            unfinished.id()
        ));
    }
    if flags.fresh || is_asked {
        if let Some(unfinished) = in_the_way.first() {
            let more = match in_the_way.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let question = format!("cancel the unfinished run {}{more}?", unfinished.id());
            confirm(screen, &question, "add --yes to cancel it without a question")?;
        }
        for unfinished in in_the_way {
            cancel(&unfinished.run)?;
            screen.error(&format!("run {} was cancelled to make way (--fresh)\n", unfinished.id()));
        }
        return Ok(());
    }
    match in_the_way.first() {
        None => Ok(()),
        Some(unfinished) => Err(environment!(
            "task '{}' is still active in the unfinished run {}{}",
            unfinished.title,
            unfinished.id(),
            if agents_work_on(unfinished)? { ", whose agents are still at work" } else { "" }
        )
        .help(format!(
            "`quorum resume {}` continues that run, `quorum run --fresh …` cancels it and starts this one",
            unfinished.id()
        ))),
    }
}

/// Whether agents of a run outlived its session.
fn agents_work_on(unfinished: &Unfinished) -> Result<bool, Failure> {
    let recovered = open_run(&unfinished.run, |_, _| {})?;
    Ok(!recovered.left().at_work().is_empty())
}

/// Calls off an unfinished run: what is not terminal fails, mode cancelled.
fn cancel(run: &RunFolder) -> Result<(), Failure> {
    let input = Fact::Operator(Box::new(OperatorInput {
        id: None,
        command: Command::CancelRun,
        by: "`quorum run --fresh`".to_owned(),
    }));
    apply_offline(run, &[input]).map_err(apply_failure).map(|_| ())
}

/// Refuses to make tasks active again whose titles are active in another unfinished run.
pub fn refuse_active_titles(
    folder: &StateFolder,
    run: &RunFolder,
    titles: &HashSet<&str>,
) -> Result<(), Failure> {
    let in_the_way = unfinished_with(folder, titles).map_err(refuse)?;
    match in_the_way.iter().find(|other| other.id() != run.id()) {
        None => Ok(()),
        Some(other) => {
            Err(environment!("task '{}' is active in the unfinished run {}", other.title, other.id())
                .help(format!("end that run first: `quorum resume {}`", other.id())))
        }
    }
}
