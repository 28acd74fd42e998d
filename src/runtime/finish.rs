//! Commands of finish gates: run by the keeper like checks, in the same clean environment (semantics, section 6.3).

use std::sync::Arc;

use crate::agents::command::{check_argv, environment, test_argv};
use crate::domain::{Millis, TurnId};
use crate::engine::{CheckResult, Input, State};
use crate::keeper::{self, Spawn};
use crate::mission::model::{Check, CommandCheck};
use crate::mission::{FinishCommand, Plan, Requirement};
use crate::review::checks::{CommandOutcome, command_result};
use crate::store::SpoolName;
use crate::test_clock::scaled_ms;

use super::children::{CHECK_SHOWN, command_outcome};
use super::session::RunError;
use super::world::{Child, World, workspace};

/// How long a command may take: as long as a check that does not say (section 6).
const COMMAND_TIMEOUT: Millis = Millis::from_secs(600);

impl World {
    pub(super) fn run_finish(&mut self, state: &State, turn: TurnId, command: u32) -> Result<(), RunError> {
        let plan = &state.plan;
        let Some(declared) = declared(plan, turn, command) else {
            return Ok(());
        };
        let argv = match &declared.shows {
            Requirement::Test(test) => test_argv(&declared.command, test),
            Requirement::Compilation | Requirement::Command => check_argv(&declared.command),
        };
        let output = self.folder.spool_file(&SpoolName::Finish(turn, command));
        let spawn = Spawn {
            label: format!("{}.{}.finish.{command}", turn.task.0, turn.attempt),
            argv,
            env: environment(self.task_variables(plan, turn.task, turn.attempt)),
            cwd: workspace(plan, turn.task),
            stderr: Some(output.clone()),
            stdout: Some(output),
            timeout_ms: Some(scaled_ms(COMMAND_TIMEOUT.0)),
            ..Spawn::default()
        };
        self.spawn(plan, Child::Finish { turn, command }, spawn)
    }

    pub(super) fn finish_exited(
        &mut self,
        turn: TurnId,
        command: u32,
        plan: Arc<Plan>,
        mut exit: keeper::Exit,
    ) {
        let path = self.folder.spool_file(&SpoolName::Finish(turn, command));
        let secrets = self.programs.secrets();
        self.blocking(move || {
            super::spool::clean(&secrets, &path, &mut exit);
            let outcome = command_outcome(&exit, super::spool::read_tail(&path, CHECK_SHOWN));
            vec![finished(&plan, turn, command, &outcome)]
        });
    }
}

fn declared(plan: &Plan, turn: TurnId, command: u32) -> Option<&FinishCommand> {
    let gate = plan.task(turn.task).finish.as_deref()?;
    gate.commands.get(command as usize)
}

/// What the end of such a command says: only exit 0 shows anything.
pub(super) fn finished(plan: &Plan, turn: TurnId, command: u32, outcome: &CommandOutcome) -> Input {
    let result = match declared(plan, turn, command) {
        Some(declared) => result(declared, outcome),
        None => CheckResult {
            passed: false,
            message: "there is no such command".to_owned(),
            duration: Millis(0),
        },
    };
    Input::FinishChecked {
        turn,
        command,
        result,
    }
}

fn result(declared: &FinishCommand, outcome: &CommandOutcome) -> CheckResult {
    let (kind, command) = match &declared.shows {
        Requirement::Test(test) => (CommandCheck::Test, declared.command.replace("{test}", test)),
        Requirement::Compilation | Requirement::Command => (CommandCheck::Script, declared.command.clone()),
    };
    let check = Check::Command {
        kind,
        command,
        timeout: COMMAND_TIMEOUT,
        cwd: None,
    };
    command_result(&check, outcome)
}
