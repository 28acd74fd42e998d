//! Files of accepted work that whoever goes on with a run has not brought along (semantics, section 6).

use crate::review::evidence;
use rules::domain::TaskId;
use rules::engine::{FileFact, State};
use rules::mission::model::FinalChecks;

/// Files of accepted work that are not there, although no turn ran in their workspace since they were seen last: whoever
/// goes on with the run has not brought them along.
pub fn missing_files(state: &State) -> Vec<(TaskId, String)> {
    if state.plan.rules.settings.final_checks == FinalChecks::Never {
        return Vec::new();
    }
    let (mut missing, worked_in) = (Vec::new(), state.worked_in());
    for (id, acceptance) in state.accepted() {
        // What was merged lies in a repository, of which the session makes sure by itself.
        if state.plan.task(id).has_worktree() || state.was_worked_on_since(id, acceptance, &worked_in) {
            continue;
        }
        let folder = state.plan.workspace_of(id);
        let is_gone = |file: &&FileFact| evidence::open_beneath(&folder, &file.path).is_err();
        let gone = acceptance.files.iter().filter(is_gone);
        missing.extend(gone.map(|file| (id, file.path.clone())));
    }
    missing
}
