//! `quorum doctor state`: whether what is on the disk is whole, and the way out where a journal is not.
//!
//! Looking takes no lock and changes nothing. Only `--keep-good-prefix`, given by a person, does.

use std::fs;
use std::path::Path;

use clap::Args;

use crate::{
    cli::{
        command_error::Failure,
        confirm,
        lock::lock,
        operator_client::{ActorArgs, apply_failure, refuse_agents},
        project::{all_runs, find_run, refuse, state_folder, unchecked_state_folder},
        screen::Screen,
        writer::has_writer,
    },
    report::documents::{
        commands::SalvageDocument,
        doctor::{CheckOutcome, HealthCheck},
    },
    runtime::{Inspection, RecoverError, SalvageError, inspect, salvage},
    store::{DamagedJournal, InboxFile, OperatorKey, RunFolder, StateFolder, waiting},
};
use rules::{
    domain::{OutcomeClass, RunId},
    engine::Salvaged,
};

use super::{machine, show};

/// Check the records of every run, or of one
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: quorum doctor state --json\n          quorum doctor state --keep-good-prefix 20261121-215900-123"
)]
pub struct StateArgs {
    /// The run [default: all]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
    /// Keep the records of a damaged journal that stand before the damage; the rest is moved aside, on record
    #[arg(long, value_name = "RUN", conflicts_with = "run")]
    pub keep_good_prefix: Option<RunId>,
    #[command(flatten)]
    pub actor: ActorArgs,
}

pub fn state(arguments: &StateArgs, screen: &Screen) -> Result<u8, Failure> {
    if let Some(run) = &arguments.keep_good_prefix {
        return keep_good_prefix(run, arguments, screen);
    }
    let folder = unchecked_state_folder(screen.output())?;
    let mut checks = vec![version(&folder), machine::lock(&folder)];
    // A folder of another format is not ours to judge; the first check says so.
    if folder.check().is_ok() {
        let runs = match &arguments.run {
            Some(run) => vec![find_run(&folder, Some(run))?],
            None => all_runs(&folder)?,
        };
        for run in &runs {
            checks.extend(checks_of(&folder, run));
        }
        if arguments.run.is_none() {
            checks.push(inbox(&folder));
            checks.extend(leftovers(&folder));
        }
    }
    Ok(show(&checks, screen, OutcomeClass::Internal))
}

fn version(folder: &StateFolder) -> HealthCheck {
    let (verdict, message) = match folder.check() {
        Err(error) => (CheckOutcome::Fail, error.to_string()),
        Ok(()) if !folder.path().exists() => {
            (CheckOutcome::Ok, format!("{} is not there: no run was ever started", folder.path().display()))
        }
        Ok(()) => (CheckOutcome::Ok, format!("{} can be read by this version", folder.path().display())),
    };
    HealthCheck::new("state folder", verdict, message)
}

/// The checks of a run: one line if it is whole, else one for each thing that is not.
fn checks_of(folder: &StateFolder, run: &RunFolder) -> Vec<HealthCheck> {
    let live = has_writer(folder, run);
    let found = inspect(run);
    let mut checks = problems(run, &found, live);
    for check in &mut checks {
        check.details.insert("runId".to_owned(), run.id().as_str().into());
    }
    let is_whole = checks.iter().all(|check| check.verdict == CheckOutcome::Ok);
    if let (true, Ok((records, _))) = (is_whole, &found.journal) {
        let message = format!(
            "whole: {records} record(s), {} file(s) as recorded{}",
            found.files,
            if live { ", at work" } else { "" }
        );
        let check = HealthCheck::new(format!("run {}", run.id()), CheckOutcome::Ok, message);
        checks.insert(0, check.with("runId", run.id().as_str()));
    }
    checks
}

fn problems(run: &RunFolder, found: &Inspection, live: bool) -> Vec<HealthCheck> {
    let name = |what: &str| format!("{what} of {}", run.id());
    let mut checks = Vec::new();
    match &found.journal {
        Err(damage) => {
            let mut check = HealthCheck::new(name("journal"), CheckOutcome::Fail, damage.to_string());
            check = check.with("file", damage.path().to_string_lossy().as_ref());
            if let Some((line, byte)) = damage.place() {
                check = check.with("line", line).with("byte", byte);
                let help = format!("quorum doctor state --keep-good-prefix {}", run.id());
                check = check.with("help", help);
            }
            checks.push(check);
        }
        Ok((_, Some(torn))) if !live => checks.push(HealthCheck::new(
            name("journal"),
            CheckOutcome::Warn,
            format!("{torn} bytes of an interrupted write at its end; `quorum resume` cuts them off"),
        )),
        Ok(_) => {}
    }
    match &found.fold {
        None | Some(Ok(())) => {}
        Some(Err(RecoverError::NeverStarted { .. })) => checks.push(HealthCheck::new(
            name("journal"),
            CheckOutcome::Warn,
            "the run never started; `quorum clean --all --unfinished --yes` removes it",
        )),
        Some(Err(error)) => {
            checks.push(HealthCheck::new(format!("run {}", run.id()), CheckOutcome::Fail, error.to_string()))
        }
    }
    for (path, why) in &found.lost {
        let check = HealthCheck::new(name("evidence"), CheckOutcome::Fail, why.clone());
        checks.push(check.with("file", path.to_string_lossy().as_ref()));
    }
    if found.prompts_gone > 0 {
        let message = format!(
            "{} prompt(s) are gone; a power loss may do that, and nothing needs them",
            found.prompts_gone
        );
        checks.push(HealthCheck::new(name("prompts"), CheckOutcome::Warn, message));
    }
    if let Err(why) = &found.snapshot
        && found.journal.is_ok()
        && !live
    {
        let message = format!("{}: {why}; readers fold the journal instead", run.snapshot().display());
        let check = HealthCheck::new(name("snapshot"), CheckOutcome::Fail, message);
        checks.push(check.with("file", run.snapshot().to_string_lossy().as_ref()));
    }
    checks.extend(exits(run, found, live));
    if let Some(why) = &found.unreachable_supervisor {
        let message = format!("agents still work, and `quorum resume` cannot take them over: {why}");
        checks.push(HealthCheck::new(name("supervisor"), CheckOutcome::Warn, message));
    }
    checks.extend(aside(run));
    checks
}

fn exits(run: &RunFolder, found: &Inspection, live: bool) -> Option<HealthCheck> {
    let message = match &found.exits {
        Ok(log) if log.damaged > 0 && !live => format!(
            "{}: {} line(s) are damaged or torn; no exit is taken from them",
            run.exits().display(),
            log.damaged
        ),
        Ok(_) => return None,
        Err(error) => format!("{} cannot be read: {error}", run.exits().display()),
    };
    let check = HealthCheck::new(format!("exits of {}", run.id()), CheckOutcome::Fail, message);
    Some(check.with("file", run.exits().to_string_lossy().as_ref()))
}

/// The files that earlier salvages moved aside.
fn aside(run: &RunFolder) -> Option<HealthCheck> {
    let names = names_in(run.path());
    let damaged: Vec<&String> = names.iter().filter(|name| name.starts_with("journal.damaged-")).collect();
    let last = damaged.last()?;
    let message = format!(
        "{} damaged end(s) of its journal were moved aside, the last one to {last}; what they recorded is unknown",
        damaged.len()
    );
    Some(HealthCheck::new(format!("journal of {}", run.id()), CheckOutcome::Warn, message))
}

fn inbox(folder: &StateFolder) -> HealthCheck {
    let check = |verdict, message: String| HealthCheck::new("inbox", verdict, message);
    match waiting(&folder.inbox(), OperatorKey::existing) {
        Ok(found) if found.is_empty() => check(CheckOutcome::Ok, "empty".to_owned()),
        Ok(found) => {
            let refused = found.iter().find_map(|found| match found {
                InboxFile::Refused(path, why) => Some(format!("{} is no command: {why}", path.display())),
                InboxFile::Stranger(path) => Some(format!("{} is no command", path.display())),
                InboxFile::Command(..) => None,
            });
            let count = format!("{} file(s) wait for the next writer", found.len());
            match refused {
                Some(refused) => check(CheckOutcome::Warn, format!("{count}; {refused}")),
                None => check(CheckOutcome::Ok, count),
            }
        }
        Err(error) => {
            check(CheckOutcome::Fail, format!("{} cannot be read: {error}", folder.inbox().display()))
        }
    }
}

/// The files that an interrupted write or removal left behind.
fn leftovers(folder: &StateFolder) -> Option<HealthCheck> {
    let runs = folder.path().join("runs");
    let known: Vec<RunFolder> = all_runs(folder).unwrap_or_default();
    let is_run = |name: &str| known.iter().any(|run| run.id().as_str() == name);
    let mut left: Vec<String> =
        names_in(&runs).into_iter().filter(|name| !is_run(name)).map(|name| format!("runs/{name}")).collect();
    let temporary = |name: &String| name.starts_with(".tmp-");
    left.extend(names_in(folder.path()).into_iter().filter(temporary));
    for run in &known {
        let names = names_in(run.path()).into_iter().filter(temporary);
        left.extend(names.map(|name| format!("runs/{}/{name}", run.id())));
    }
    if left.is_empty() {
        return None;
    }
    let message = format!("left by an interrupted write or removal, and not needed: {}", left.join(", "));
    Some(HealthCheck::new("leftovers", CheckOutcome::Warn, message))
}

/// The names in a folder, sorted; none if it cannot be read, which other checks say.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn keep_good_prefix(id: &RunId, arguments: &StateArgs, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, Some(id))?;
    let _lock = lock(&folder, "quorum doctor state", run.id())?;
    let found = inspect(&run);
    match (found.journal, found.fold) {
        (Err(damage), _) => confirm(&damage.to_string(), screen)?,
        (Ok(_), Some(Err(RecoverError::Journal(damage)))) => return Err(nothing_good(&run, damage)),
        (Ok(_), _) => return Ok(salvage_result(screen, &run, None)),
    }
    let salvaged = salvage(&run, &arguments.actor.name()).map_err(|error| match error {
        SalvageError::Tell(error) => apply_failure(error),
        SalvageError::NothingGood(damage) => nothing_good(&run, damage),
        error @ SalvageError::Io { .. } => Failure::internal(error),
    })?;
    // A changed mission, say, is another matter; it is said now, not at the next command.
    if let Some(Err(error)) = inspect(&run).fold {
        return Err(refuse(error));
    }
    Ok(salvage_result(screen, &run, salvaged.as_ref()))
}

fn nothing_good(run: &RunFolder, damage: DamagedJournal) -> Failure {
    Failure::internal(SalvageError::NothingGood(damage)).help(format!(
        "to start anew, move {} out of the state folder; until then it might be in the way",
        run.path().display()
    ))
}

/// Says what would be lost, and goes on only if somebody wants that.
fn confirm(damage: &str, screen: &Screen) -> Result<(), Failure> {
    if !screen.output().yes {
        screen.error(&format!("{damage}\n"));
    }
    let question = "keep what stands before it, and count the rest as unknown?";
    confirm::confirm(screen, question, "add --yes to do it without a question")
}

fn salvage_result(screen: &Screen, run: &RunFolder, salvaged: Option<&Salvaged>) -> u8 {
    screen.show(&SalvageDocument {
        run_id: run.id(),
        changed: salvaged.is_some(),
        line: salvaged.map(|salvaged| salvaged.line),
        lost_bytes: salvaged.map(|salvaged| salvaged.lost_bytes),
        lost_records: salvaged.map(|salvaged| salvaged.lost_records),
        file: salvaged.map(|salvaged| run.path().join(&salvaged.file)),
    });
    0
}
