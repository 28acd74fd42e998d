//! `quorum clean`: removes runs that nobody needs any more. Nothing unfinished goes by accident.

use clap::Args;

use crate::report::{
    count,
    documents::{
        commands::{CleanDocument, CleanedRun},
        runs::{LeftRuns, RunRow},
    },
};
use crate::{
    cli::{
        command_error::Failure,
        confirm::confirm,
        listing::{Listed, list},
        lock::not_taken,
        operator_client::apply_failure,
        project::{all_runs, state_folder},
        screen::Screen,
    },
    runtime::{ApplyError, forget_work},
    store::{Lock, RunFolder},
};
use rules::domain::{Millis, Timestamp};

#[derive(Debug, Args)]
pub struct Clean {
    /// Runs in which nothing happened for this long (90m, 12h, 30d)
    #[arg(long, value_name = "DURATION")]
    pub older_than: Option<Millis>,
    /// All runs that have ended
    #[arg(long, conflicts_with = "older_than")]
    pub all: bool,
    /// Unfinished runs too; needs --yes
    #[arg(long)]
    pub unfinished: bool,
}

impl Clean {
    /// The command that cleans without a question.
    fn command(&self) -> String {
        let which = self.older_than.map_or_else(|| "--all".to_owned(), |age| format!("--older-than {age}"));
        let unfinished = if self.unfinished { " --unfinished" } else { "" };
        format!("quorum clean {which}{unfinished} --yes")
    }

    fn takes(&self, listed: &Listed, now: Timestamp) -> bool {
        let unfinished = listed.row.resumable || listed.never_started;
        let ended = listed.row.error.is_none() && !unfinished;
        let is_old = |age: Millis| listed.last_at.is_none_or(|at| now.since(at) >= age);
        (ended || (self.unfinished && unfinished)) && self.older_than.is_none_or(is_old)
    }
}

pub fn clean(arguments: &Clean, screen: &Screen) -> Result<u8, Failure> {
    if !arguments.all && arguments.older_than.is_none() {
        return Err(
            usage!("which runs should go?").help("quorum clean --older-than 30d, or quorum clean --all")
        );
    }
    if arguments.unfinished && !screen.output().yes {
        return Err(usage!("unfinished runs are removed only with --yes").help(arguments.command()));
    }
    let folder = state_folder(screen.output())?;
    if !folder.path().is_dir() {
        return report(screen, &[], &[]);
    }
    // Held to the end: no run can begin, go on or be resumed while it is looked at and removed.
    let _lock = Lock::take(&folder.lock_path(), "quorum clean", None).map_err(not_taken)?;
    folder.sweep().map_err(|error| internal!("cannot remove what an earlier clean left: {error}"))?;
    let now = Timestamp::now();
    let mut going = Vec::new();
    let mut staying = Vec::new();
    for mut listed in all_runs(&folder)?.into_iter().map(|run| list(&folder, run)) {
        let takes = arguments.takes(&listed, now);
        listed.row.agents_at_work |= takes && listed.left.holds_turns(&listed.folder);
        if takes && !listed.row.agents_at_work {
            going.push(listed);
        } else {
            staying.push(listed);
        }
    }
    if !going.is_empty() {
        agree(arguments, &going, screen)?;
    }
    for listed in &going {
        // What a killed supervisor left may still run: its folder must not vanish below it.
        let end = listed.left.end();
        end.map_err(|error| apply_failure(ApplyError::StillRuns(error)))?;
        forget(&listed.folder, screen);
        listed
            .folder
            .remove()
            .map_err(|error| internal!("cannot remove {}: {error}", listed.folder.path().display()))?;
    }
    report(screen, &going, &staying)
}

/// Removes what the run has left in the user's repository. Whatever is wrong there keeps no run from going.
fn forget(folder: &RunFolder, screen: &Screen) {
    let said = match forget_work(folder) {
        Ok(None) => return,
        Ok(Some(name)) => format!(
            "note: {name} stays, for no branch has what was accepted there; `git update-ref -d {name}` removes it\n"
        ),
        Err(why) => format!("note: references of run {} stay behind: {why}\n", folder.id()),
    };
    screen.error(&said);
}

/// Says what would go, and goes on only if somebody wants that.
fn agree(arguments: &Clean, going: &[Listed], screen: &Screen) -> Result<(), Failure> {
    if screen.output().yes {
        return Ok(());
    }
    for listed in going {
        screen.error(&format!("would remove {}\n", listed.row.brief()));
    }
    let runs = count(going.len(), "run");
    confirm(screen, &format!("remove {runs}?"), &arguments.command())
}

fn row(listed: &Listed) -> CleanedRun<'_> {
    CleanedRun {
        run_id: listed.folder.id(),
        state: &listed.row.state,
        outcome: listed.row.outcome.as_deref(),
    }
}

fn report(screen: &Screen, removed: &[Listed], kept: &[Listed]) -> Result<u8, Failure> {
    let left: Vec<&RunRow> = kept.iter().map(|listed| &listed.row).collect();
    screen.page_aside(&LeftRuns { kept: &left });
    screen.show(&CleanDocument {
        removed: removed.iter().map(row).collect(),
        kept: kept.iter().map(row).collect(),
    });
    Ok(0)
}
