//! Audits: what was accepted is looked at again (semantics, section 6). Looks and commands only; each distinct command of a
//! workspace is run once, whoever asked for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::agents::secrets::Secrets;
use crate::domain::TaskId;
use crate::engine::{AuditReport, CheckResult, FileFact, Input, Looks, State};
use crate::mission::Plan;
use crate::mission::model::Check;
use crate::review::evidence;
use crate::store::SpoolName;
use crate::supervisor::Spawn;

use super::children::{check_never_started, check_result, check_spawn, declared_check, files_check};
use super::errands::{ErrandOwner, Errands, run_errand};
use super::spool::clean;
use super::world::{Message, World, workspace};

/// One command of an audit, with the checks that it answers for.
struct Rerun {
    spawn: Spawn,
    output: PathBuf,
    checks: Vec<(TaskId, u32)>,
}

impl World {
    /// Looks at the files of all accepted work.
    pub(super) fn audit(&mut self, state: &State, number: u32) {
        let (plan, recorded) = (state.plan.clone(), recorded(state));
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            let looks = look(&plan, &recorded);
            // The loop holds the receiver as long as it lives; after it nobody wants to know.
            let _ = sender.send(Message::AuditLooked { number, looks });
        });
    }

    /// Runs the checks that are due by what was seen.
    pub(super) fn audit_looked(&mut self, state: &State, number: u32, looks: Looks) {
        if !state.audit.out || state.audit.number != number {
            return;
        }
        let due = state.checks_due(&looks);
        if due.is_empty() {
            return self.post(Input::Audited(Box::new(AuditReport {
                number,
                looks,
                ..AuditReport::default()
            })));
        }
        let (commands, files) = self.reruns(state, number, &due);
        let plan = state.plan.clone();
        let recorded = recorded(state);
        let (errands, secrets, sender) = (self.errands.clone(), self.programs.secrets(), self.sender.clone());
        let work = tokio::spawn(async move {
            let mut checks = run_all(&plan, &errands, &secrets, commands).await;
            let behind = tokio::task::spawn_blocking(move || {
                for (task, check) in files {
                    checks.extend(files_check(&plan, task, check).map(|result| (task, check, result)));
                }
                (look(&plan, &recorded), checks)
            });
            // Where the looks were lost the report is not made, and the run stays open.
            if let Ok((behind, checks)) = behind.await {
                let report = AuditReport {
                    number,
                    looks,
                    checks,
                    behind,
                };
                let _ = sender.send(Message::Input(Input::Audited(Box::new(report))));
            }
        });
        self.keep_track(work.abort_handle());
    }

    /// The commands to be run, each distinct one once; and the checks that look at files.
    fn reruns(&self, state: &State, number: u32, due: &[(TaskId, u32)]) -> (Vec<Rerun>, Vec<(TaskId, u32)>) {
        let plan = &state.plan;
        let mut files = Vec::new();
        let mut commands: BTreeMap<(PathBuf, String, Option<TaskId>), Rerun> = BTreeMap::new();
        for (task, check) in due {
            let command = match declared_check(plan, *task, *check) {
                Some(Check::FileExists { .. }) => {
                    files.push((*task, *check));
                    continue;
                }
                Some(Check::Command { command, .. } | Check::Metric { command, .. }) => command,
                None => continue,
            };
            let output = self.folder.spool_file(&SpoolName::Audit(
                number,
                commands.len().try_into().unwrap_or(u32::MAX),
            ));
            let attempt = state.task(*task).attempt;
            let variables = self.task_variables(plan, *task, attempt);
            let Some(mut spawn) = check_spawn(plan, *task, *check, variables, output.clone()) else {
                continue;
            };
            spawn.label = format!("audit.{number}.{}", commands.len());
            // One that asks for whom it runs is another command for each of them.
            let own = command.contains("QUORUM_").then_some(*task);
            let rerun = commands
                .entry((spawn.cwd.clone(), command.clone(), own))
                .or_insert_with(|| Rerun {
                    spawn,
                    output,
                    checks: Vec::new(),
                });
            // Whoever gives it the most time decides.
            if let Some(longest) = timeout(plan, *task, *check) {
                rerun.spawn.timeout_ms = rerun.spawn.timeout_ms.max(Some(longest));
            }
            rerun.checks.push((*task, *check));
        }
        (commands.into_values().collect(), files)
    }
}

fn timeout(plan: &Plan, task: TaskId, check: u32) -> Option<u64> {
    match declared_check(plan, task, check)? {
        Check::Command { timeout, .. } | Check::Metric { timeout, .. } => Some(timeout.0),
        Check::FileExists { .. } => None,
    }
}

/// The files of all records, by task.
fn recorded(state: &State) -> Vec<(TaskId, Vec<String>)> {
    let paths = |files: &[FileFact]| files.iter().map(|file| file.path.clone()).collect();
    let covered = state.covered();
    covered
        .map(|(id, acceptance)| (id, paths(&acceptance.files)))
        .collect()
}

fn look(plan: &Plan, recorded: &[(TaskId, Vec<String>)]) -> Looks {
    let look = |(id, paths): &(TaskId, Vec<String>)| {
        let folder = workspace(plan, *id);
        let files = paths.iter().map(|path| evidence::look(&folder, path.clone()));
        (*id, files.collect())
    };
    recorded.iter().map(look).collect()
}

/// As many at once as tasks may run; those of exclusive tasks alone.
async fn run_all(
    plan: &Arc<Plan>,
    errands: &Errands,
    secrets: &Arc<Secrets>,
    commands: Vec<Rerun>,
) -> Vec<(TaskId, u32, CheckResult)> {
    let is_alone = |rerun: &Rerun| rerun.checks.iter().any(|(task, _)| plan.task(*task).exclusive);
    let (alone, others): (Vec<_>, Vec<_>) = commands.into_iter().partition(is_alone);
    let slots = Arc::new(Semaphore::new(plan.rules.concurrency.max(1) as usize));
    let mut running = JoinSet::new();
    for rerun in others {
        let (plan, errands, secrets) = (plan.clone(), errands.clone(), secrets.clone());
        let slots = slots.clone();
        running.spawn(async move {
            // It is never closed.
            let _slot = slots.acquire_owned().await;
            run(&plan, &errands, &secrets, rerun).await
        });
    }
    let mut results: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    for rerun in alone {
        results.extend(run(plan, errands, secrets, rerun).await);
    }
    results
}

async fn run(
    plan: &Arc<Plan>,
    errands: &Errands,
    secrets: &Arc<Secrets>,
    rerun: Rerun,
) -> Vec<(TaskId, u32, CheckResult)> {
    let ended = run_errand(errands, rerun.spawn, ErrandOwner::Audit).await;
    let (plan, secrets) = (plan.clone(), secrets.clone());
    let of_all = |result: &dyn Fn(TaskId, u32) -> CheckResult| -> Vec<(TaskId, u32, CheckResult)> {
        let checks = rerun.checks.iter();
        checks
            .map(|(task, check)| (*task, *check, result(*task, *check)))
            .collect()
    };
    let mut exit = match ended {
        Ok(exit) => exit,
        Err(why) => return of_all(&|task, check| check_never_started(&plan, task, check, why.clone())),
    };
    let output: &Path = &rerun.output;
    // As small as what any check keeps of its output.
    clean(&secrets, output, &mut exit);
    of_all(&|task, check| check_result(&plan, task, check, &exit, output))
}

/// Files of accepted work that are not there, although no turn ran in their workspace since they were seen last: whoever
/// goes on with the run has not brought them along.
#[must_use]
pub fn missing_files(state: &State) -> Vec<(TaskId, String)> {
    if state.plan.rules.final_checks == crate::mission::model::FinalChecks::Never {
        return Vec::new();
    }
    let mut missing = Vec::new();
    for (id, acceptance) in state.accepted() {
        if state.was_worked_on_since(id, acceptance) {
            continue;
        }
        let folder = workspace(&state.plan, id);
        let is_gone = |file: &&FileFact| evidence::open_beneath(&folder, &file.path).is_err();
        let gone = acceptance.files.iter().filter(is_gone);
        missing.extend(gone.map(|file| (id, file.path.clone())));
    }
    missing
}
