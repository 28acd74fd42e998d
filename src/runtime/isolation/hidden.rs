//! Which files hidden checks keep from workers, and what of them cannot be hidden (semantics, section 24).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::executor::command::CommandJob;
use rules::domain::TaskId;
use rules::engine::State;
use rules::judging::protected::named_by_hidden;
use rules::mission::first_line;
use rules::mission::model::Check;
use rules::plan::{Confinement, HiddenFiles, Plan, RunOptions};

use super::git::folders_of;
use super::protection::{ReadBefore, canonical, real};
use crate::runtime::recovery::moved::recorded;

/// Where programs lie that everybody has.
const SYSTEM: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/nix", "/gnu", "/dev"];

/// The files that a hidden check names: the regular ones, as they are and where links lead. Of what the system has nothing is hidden.
fn files_of(state: &State, options: &RunOptions, (id, check): (TaskId, &Check)) -> BTreeSet<PathBuf> {
    let known = state.protected.iter().flat_map(|known| &known.files);
    let known: BTreeSet<PathBuf> = known.map(|(path, _)| real(&recorded(path, state, options))).collect();
    let named = named_by_hidden(&state.plan, id, check).into_iter().map(|path| real(&path));
    // One that was there when the run began is hidden even where it is gone; what came since may be work.
    let is_begun_with = state.protected.is_none() || state.plan.task(id).is_isolated();
    let there = named.filter(|path| known.contains(path) || is_begun_with && path.is_file());
    let all = there.flat_map(|path| [canonical(&path), path]);
    all.filter(|path| !SYSTEM.iter().any(|folder| path.starts_with(folder))).collect()
}

/// Notes in the plan what is kept from workers, where any check is hidden: what such checks name, the mission, and its settings.
/// `is_refused` says whether nothing can be confined here. Blocks.
pub fn hide(state: &mut State, options: &RunOptions, read: &ReadBefore, is_refused: bool) {
    let plan = &state.plan;
    if plan.rules.hidden.is_some() || plan.hidden_checks().next().is_none() {
        return;
    }
    let workspace = canonical(&plan.rules.workspace);
    let named = plan.hidden_checks().flat_map(|check| files_of(state, options, check));
    let read = read.mission.iter().chain(&read.settings);
    let read = read.flat_map(|path| [real(path), canonical(path)]).filter(|path| path.is_file());
    let mut files: BTreeSet<PathBuf> = named.chain(read).collect();
    let inner = files.iter().filter_map(|path| path.strip_prefix(&workspace).ok()?.to_str());
    let inner: BTreeSet<String> = inner.map(str::to_owned).collect();
    let others = other_checkouts(&workspace).0.into_iter();
    files.extend(
        others.flat_map(|folder| inner.iter().map(|path| canonical(&folder.join(path))).collect::<Vec<_>>()),
    );
    let hidden = HiddenFiles {
        workspace: plan.rules.workspace.clone(),
        shown: not_hidden(state, options, is_refused),
        files,
        inner,
    };
    Arc::make_mut(&mut state.plan).rules.hidden = Some(Arc::new(hidden));
}

/// Where the repository of the workspace is checked out as well, and why others cannot be told.
fn other_checkouts(workspace: &Path) -> (Vec<PathBuf>, Vec<String>) {
    let mut all = folders_of(workspace);
    let mut lost = Vec::new();
    for linked in all.clone().iter().map(|git| git.join("worktrees")) {
        let mut lose = |why: io::Error| lost.push(format!("{}: {why}", linked.display()));
        match fs::read_dir(&linked) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => lose(why),
            Ok(entries) => {
                let read = |entry: io::Result<fs::DirEntry>| fs::read_to_string(entry?.path().join("gitdir"));
                for git in entries.map(read) {
                    match git {
                        Ok(git) => all.push(git.trim_end().into()),
                        Err(why) => lose(why),
                    }
                }
            }
        }
    }
    let own = all.iter().filter(|git| git.ends_with(".git"));
    let folders = own.filter_map(|git| Some(git.parent()?.to_owned()));
    (folders.collect(), lost)
}

/// The folder in a copy of which a command is to run, so that it sees what is hidden; `None` where it runs in its own.
pub fn folder_to_copy(plan: &Plan, job: &CommandJob) -> Option<PathBuf> {
    let hidden = plan.rules.hidden.as_ref().filter(|_| job.sees_hidden && job.copy.is_none())?;
    let of_run = plan.rules.worktrees.root.iter().find_map(|all| {
        let inner = job.cwd.strip_prefix(all).ok()?;
        Some(all.join(inner.iter().next()?))
    });
    let folder = of_run.unwrap_or_else(|| plan.rules.workspace.clone());
    (folder != hidden.workspace).then_some(folder)
}

/// The reasons why hidden checks are not hidden from workers, one sentence each. Blocks.
pub fn not_hidden(state: &State, options: &RunOptions, is_refused: bool) -> Vec<String> {
    let plan = &state.plan;
    if plan.rules.hidden.is_some() || plan.hidden_checks().next().is_none() {
        return Vec::new();
    }
    let mut told = Vec::new();
    if is_refused || plan.confinements().any(Confinement::is_off) {
        told.push("hidden checks are not hidden: workers that are not confined can read them".to_owned());
    }
    let works = |id: &TaskId| plan.route(*id).is_none() && !plan.task(*id).is_isolated();
    let shared: Vec<String> =
        plan.selected_ids().filter(works).map(|id| format!("'{}'", plan.title(id))).collect();
    if !shared.is_empty() {
        told.push(format!(
            "hidden checks are not hidden from who works in no worktree, where the history of the files can be read: {}",
            shared.join(", ")
        ));
    }
    let lost = other_checkouts(&canonical(&plan.rules.workspace)).1.into_iter();
    told.extend(
        lost.map(|why| format!("whether another checkout shows what is hidden cannot be told: {why}")),
    );
    for (id, check) in plan.hidden_checks() {
        let files = files_of(state, options, (id, check));
        let label = check.label();
        let what = format!("`{}` of '{}'", first_line(&label), plan.title(id));
        if files.is_empty() {
            told.push(format!("the hidden check {what} names no file that could be hidden"));
        }
        let is_linked = |path: &&PathBuf| fs::metadata(path).is_ok_and(|found| found.nlink() > 1);
        if let Some(path) = files.iter().find(is_linked) {
            let name = path.display();
            told.push(format!("{name}, of the hidden check {what}, has further names (hard links)"));
        }
    }
    told
}
