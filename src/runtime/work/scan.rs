//! Files that a task's rules name are looked at, beside the loop.

use crate::review::evidence;
use rules::domain::{TaskId, TurnId};
use rules::engine::{AfterScan, Fact, FileFact, Job, JobEnd, State};
use rules::judging::heuristic::named_files;
use rules::mission::Plan;

use crate::runtime::isolation::watch::IdleAnswer;
use crate::runtime::isolation::worktrees::{FolderUse, note_stored};
use crate::runtime::session::effects::{Executor, Message};

impl Executor {
    /// Looks at the files that a task's rules name.
    pub fn scan_files(&mut self, state: &State, turn: TurnId, job: Job) {
        let (task, plan, folder) = (turn.task, state.plan.clone(), self.folder.clone());
        let asked = IdleAnswer::asked(state, task);
        let look = move || JobEnd::Seen {
            files: files_of(&plan, task),
            hollow: asked.and_then(|asked| asked.hollow(&folder)),
        };
        let begins = matches!(
            job,
            Job::Scan {
                then: AfterScan::Preflight,
                ..
            }
        );
        if begins && state.plan.task(task).has_worktree() && !state.plan.task(task).commits() {
            self.look_at_accepted(state, (turn, job), look)
        } else {
            self.look(turn, job, look)
        }
    }

    /// Gives a verification all that was accepted so far, and looks at it.
    fn look_at_accepted(
        &mut self,
        state: &State,
        (turn, job): (TurnId, Job),
        look: impl FnOnce() -> JobEnd + Send + 'static,
    ) {
        let task = turn.task;
        let (protection, preparation) = (self.protection.clone(), self.preparation(state, task));
        self.beside(async move {
            preparation.of_accepted(FolderUse::Verification(task)).await?;
            let look = move || {
                protection.take_folder(task);
                look()
            };
            let end = tokio::task::spawn_blocking(look).await?;
            Ok(Message::Fact(Fact::JobEnded { turn, job, end }))
        });
    }

    /// Looks at what a failed task was to make, in the workspace where it worked.
    pub fn scan_artifacts(&mut self, state: &State, turn: TurnId, dependency: TaskId) {
        let plan = state.plan.clone();
        self.look(turn, Job::Artifacts(dependency), move || {
            let targets = plan.task(dependency).target_files.iter().map(AsRef::as_ref);
            JobEnd::Seen {
                files: evidence::scan(&plan.workspace_of(dependency), targets),
                hollow: None,
            }
        });
    }

    /// Does work of a task that needs no process beside the loop.
    pub fn look(&mut self, turn: TurnId, job: Job, look: impl FnOnce() -> JobEnd + Send + 'static) {
        self.blocking(move || {
            vec![Fact::JobEnded {
                turn,
                job,
                end: look(),
            }]
        });
    }

    /// Looks at the files of a task, and hands an input to the loop behind what was seen.
    pub fn look_before(&mut self, state: &State, task: TaskId, input: Fact) {
        let (plan, attempt) = (state.plan.clone(), state.task(task).attempt.number);
        self.aside(move || {
            let files = files_of(&plan, task);
            let seen = Fact::FilesSeen { task, attempt, files };
            Message::FilesLooked(vec![seen, input])
        });
    }
}

/// The files that a task's rules name, as they are now. Blocks.
pub fn files_of(plan: &Plan, task: TaskId) -> Vec<FileFact> {
    let task_plan = plan.task(task);
    let criteria = task_plan.verification().map_or(&[][..], |v| &v.criteria);
    let spoken_of = named_files(criteria);
    let folder = plan.workspace_of(task);
    let mut files = evidence::scan(
        &folder,
        task_plan
            .named_files()
            .chain(spoken_of.iter().map(String::as_str))
            .chain(task_plan.screenshots()),
    );
    note_stored(plan, &folder, &mut files);
    files
}
