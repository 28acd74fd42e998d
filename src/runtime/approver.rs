//! Asking approvers that are no person (semantics, section 5). A command runs in the task's workspace with the variables
//! of a check: exit 0 agrees, 1 refuses and what it printed is the reason, anything else leaves it open.

use std::path::Path;

use crate::agents::command::{check_argv, environment};
use crate::domain::TaskId;
use crate::engine::{ApproverSaid, Input, State};
use crate::keeper::{self, Spawn};
use crate::mission::{ApprovalPlan, ApproverPlan};
use crate::store::SpoolName;
use crate::test_clock::scaled_ms;

use super::session::RunError;
use super::spool::{clean, read_tail};
use super::world::{Child, World, workspace};

/// How long a command may take to decide.
const LIMIT_MS: u64 = 600_000;
/// How much of what it printed is its reason, in bytes.
const REASON: u64 = 2_000;

/// Which approver of which approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Question {
    pub task: TaskId,
    /// The approval, by its number within the task.
    pub number: u32,
    /// The approver, by position.
    pub approver: u32,
}

impl Question {
    fn answer(self, said: ApproverSaid) -> Input {
        Input::ApproverSaid {
            task: self.task,
            number: self.number,
            approver: self.approver,
            said,
        }
    }

    /// It never got as far as deciding.
    pub fn not_asked(self, why: &str) -> Input {
        self.answer(ApproverSaid::Open(format!("it could not be asked: {why}")))
    }
}

impl World {
    pub(super) fn ask_approver(&mut self, state: &State, question: Question) -> Result<(), RunError> {
        let plan = &state.plan;
        let waiting = state.task(question.task).waiting.as_ref();
        let approvals = &plan.task(question.task).approvals;
        let asks = |approval: &&std::sync::Arc<ApprovalPlan>| {
            waiting.is_some_and(|waiting| waiting.gate == approval.gate)
        };
        let approver = approvals
            .iter()
            .find(asks)
            .and_then(|approval| approval.approvers.get(question.approver as usize));
        let command = match approver {
            Some(ApproverPlan::Command(command)) => command,
            // An agent is consulted; people answer by themselves.
            Some(ApproverPlan::Agent(_) | ApproverPlan::Person(_)) | None => return Ok(()),
        };
        let output = self.folder.spool_file(&SpoolName::Approver(
            question.task,
            question.number,
            question.approver,
        ));
        let variables = self.task_variables(plan, question.task, state.task(question.task).attempt);
        let cwd = workspace(plan, question.task);
        let spawn = Spawn {
            label: format!(
                "{}.approval.{}.{}",
                question.task.0, question.number, question.approver
            ),
            argv: check_argv(command),
            env: environment(variables),
            cwd,
            stderr: Some(output.clone()),
            stdout: Some(output),
            sealed: true,
            timeout_ms: Some(scaled_ms(LIMIT_MS)),
            ..Spawn::default()
        };
        self.spawn(plan, Child::Approver(question), spawn)
    }

    /// A command that was asked has ended.
    pub(super) fn approver_exited(&mut self, question: Question, exit: &keeper::Exit) {
        let path = self.folder.spool_file(&SpoolName::Approver(
            question.task,
            question.number,
            question.approver,
        ));
        let mut exit = exit.clone();
        let secrets = self.programs.secrets();
        self.blocking(move || {
            clean(&secrets, &path, &mut exit);
            vec![question.answer(said(&exit, &path))]
        });
    }
}

fn said(exit: &keeper::Exit, output: &Path) -> ApproverSaid {
    let printed = read_tail(output, REASON).unwrap_or_default();
    let printed = printed.trim();
    if let Some(lost) = &exit.output_lost {
        return ApproverSaid::Open(format!("what it said is lost: {lost}"));
    }
    match (exit.timed_out, exit.code) {
        (false, Some(0)) => ApproverSaid::Yes,
        (false, Some(1)) if printed.is_empty() => ApproverSaid::No("it exited 1".to_owned()),
        (false, Some(1)) => ApproverSaid::No(printed.to_owned()),
        (timed_out, code) => {
            let how = match (timed_out, code) {
                (true, _) => "it took too long".to_owned(),
                (_, Some(code)) => format!("it exited {code}"),
                (_, None) => format!("it was killed by signal {}", exit.signal.unwrap_or_default()),
            };
            let last = printed.lines().last().map(|line| format!(": {line}"));
            ApproverSaid::Open(how + &last.unwrap_or_default())
        }
    }
}
