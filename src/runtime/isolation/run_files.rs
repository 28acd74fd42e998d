//! What a run is made of, for a file that is about to be written by somebody else than its work: a report.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::review::file_changes::{Guarded, Scope};
use rules::domain::TaskId;
use rules::engine::State;
use rules::plan::RunOptions;

use super::protection::{ReadBefore, canonical, named_scripts, protected_scopes, real};

/// The part of a run that the file at this path is, or would be, in words; `None` where it belongs to none. The
/// path is absolute and without links. Blocks.
pub fn part_of_run(
    (state, options): (&State, &RunOptions),
    read: &ReadBefore,
    state_folder: &Path,
    path: &Path,
) -> Option<String> {
    let plan = &state.plan;
    let inode = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let own = inode(path);
    let is = |other: &Path| {
        real(other) == path || canonical(other) == path || own.is_some() && inode(other) == own
    };
    let judging = named_scripts(state, options);
    let mut files = read.mission.iter().chain(&read.settings).chain(judging.keys());
    let mut folders = std::iter::once(state_folder).chain(options.record.as_deref());
    let scopes = plan.selected_ids().flat_map(|id| protected_scopes(plan, id));
    let scopes: Vec<Scope> = scopes.collect::<HashSet<_>>().into_iter().collect();
    if files.any(|file| is(file))
        || folders.any(|folder| path.starts_with(canonical(folder)))
        || Guarded::of(&scopes).is_ok_and(|guarded| guarded.holds(path))
    {
        return Some("a file that the run goes by".to_owned());
    }
    let makes_it = |id: &TaskId| {
        let (task, folder) = (plan.task(*id), plan.shared_workspace_of(*id));
        let inner = || path.strip_prefix(canonical(&folder)).ok();
        let is_named = || inner().is_some_and(|inner| task.names(&inner.to_string_lossy()));
        task.names_files() && (is_named() || task.target_files.iter().any(|file| is(&folder.join(&**file))))
    };
    let task = plan.selected_ids().find(makes_it)?;
    Some(format!("a file of the task '{}'", plan.title(task)))
}
