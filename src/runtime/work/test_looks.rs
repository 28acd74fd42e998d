//! Looks at tests that the work of a task changed: those that were there on the work, and those that it brings without it, each in a
//! folder that nobody else works in and that nothing stays of (semantics, section 24).

use std::collections::{BTreeMap, BTreeSet};

use crate::executor::baseline_look::BaselineLook;
use crate::executor::command::Apart;
use crate::executor::error::WorkError;
use crate::executor::runner::CommandOwner;
use crate::executor::task_command::TaskCommands;
use crate::store::SpoolName;
use rules::domain::{BeforeWork, Digest};
use rules::engine::{BaselineResult, JobEnd, Look, Looked};

use super::context::{JobOrder, WorkContext, blocking};
use crate::runtime::isolation::git::refused;
use crate::runtime::isolation::worktrees::{Sides, Worktrees};

/// The name of the run of tests on the work as it is: what failed elsewhere must pass there.
const CONTROL: &str = "control";

/// Tests that were put in the place of others, and what the commands say there.
type Ran = (Vec<Box<str>>, Vec<BaselineResult>);

/// One look that is made.
struct LookAt {
    context: WorkContext,
    order: JobOrder,
    sides: Sides,
    worktrees: Worktrees,
}

/// Runs the commands of a task on its tests as they were, or on what it began with; `sides` are what that was and what the work
/// left. Of what is `known` on the work as it is nothing is run again.
pub async fn look(
    context: WorkContext,
    order: JobOrder,
    (look, sides): (Look, Option<[Box<str>; 2]>),
    known: BTreeSet<Digest>,
) -> Result<JobEnd, WorkError> {
    let looked = match sides {
        None => Err(refused("what the work began with is not on record")),
        Some([base, work]) => {
            let (plan, task) = (&order.commands.plan, order.turn.task);
            let is_shared = !plan.task(task).commits();
            let worktrees = context.worktrees.of_looks(is_shared);
            let sides = Sides { base: base.into(), work: work.into(), folder: plan.root_of(task), is_shared };
            let at = LookAt { context, order, sides, worktrees };
            at.make(look, &known).await
        }
    };
    let looked =
        looked.unwrap_or_else(|why| Looked { lost: Some(why.to_string().into()), ..Looked::default() });
    Ok(JobEnd::Looked(Box::new(looked)))
}

impl LookAt {
    /// Runs the look; of what is `known` on the work as it is nothing is run again.
    async fn make(&self, look: Look, known: &BTreeSet<Digest>) -> Result<Looked, WorkError> {
        let (files, checks) = self.run(Some(look), None).await?;
        let red = checks.iter().filter(|seen| seen.before == BeforeWork::Red);
        let open: BTreeSet<Digest> = red.map(|seen| seen.key).filter(|key| !known.contains(key)).collect();
        let control = if open.is_empty() { Vec::new() } else { self.run(None, Some(open)).await?.1 };
        Ok(Looked { files, checks, control, lost: None })
    }

    /// Runs commands in a folder of its own, which is gone behind it: those of a look, or, on the work as it is, `only` some. The
    /// tests that were put in the place of others, and what the commands say.
    async fn run(&self, look: Option<Look>, only: Option<BTreeSet<Digest>>) -> Result<Ran, WorkError> {
        let word = look.map_or(CONTROL, Look::as_str);
        let (turn, context) = (self.order.turn, &self.context);
        let (task, name) = (turn.task, format!("{}-{word}", turn.task.0));
        let (worktrees, plan) = (self.worktrees.clone(), self.order.commands.plan.clone());
        let (sides, folder) = (self.sides.clone(), name.clone());
        let laid = blocking(move || worktrees.lay_out((&plan, task), &folder, &sides, look));
        let commands = TaskCommands {
            apart: Some(Apart { folder: self.worktrees.place_of(&name), objects: self.worktrees.objects() }),
            ..self.order.commands.clone()
        };
        let look = BaselineLook { commands, turn, known: BTreeMap::new(), elsewhere: Some((word, only)) };
        let set_up =
            (name.clone(), CommandOwner::Task(task), SpoolName::Look(task, turn.attempt, CONTROL, 0));
        let ran = async {
            let files = laid.await??;
            context.set_up(&look.commands, &self.worktrees, set_up).await?;
            Ok((files, look.look(&context.commands).await))
        };
        let (ran, worktrees) = (ran.await, self.worktrees.clone());
        blocking(move || worktrees.remove_folder(&name)).await??;
        ran
    }
}
