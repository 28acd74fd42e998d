//! The heuristic grader at work: runs the commands that a task's criteria name, looks at the files, and grades.
//!
//! Only words of the mission are ever run, never words of the work. One effect is one round: if the session dies in
//! between, the next one does all of it again.

use std::path::Path;
use std::sync::Arc;

use crate::agents::command::{check_argv, environment};
use crate::agents::secrets::Secrets;
use crate::domain::{CriterionGrade, Millis, TaskId, TurnId};
use crate::engine::{Input, State};
use crate::judging::heuristic::{self, CommandFacts, Facts, Text};
use crate::keeper::{self, Spawn};
use crate::mission::Plan;
use crate::review::facts::{MOST_SEARCHED, look_at};
use crate::store::{RunFolder, SpoolName};
use crate::test_clock::scaled_ms;

use super::material::{Judged, judged};
use super::session::RunError;
use super::spool::{clean, preview, read_output};
use super::world::{Child, World, workspace};

/// How long a command may take: as long as a check that does not say (section 6).
const COMMAND_TIMEOUT: Millis = Millis::from_secs(600);

/// One round of grading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Round {
    pub task: TaskId,
    pub attempt: u32,
    pub round: u32,
}

/// A round whose commands run.
pub(super) struct Gathering {
    round: Round,
    plan: Arc<Plan>,
    judged: Vec<Judged>,
    commands: Vec<String>,
    /// How each command ended, or why it never started.
    ends: Vec<Option<Result<keeper::Exit, String>>>,
}

impl World {
    pub(super) fn grade(&mut self, state: &State, round: Round) -> Result<(), RunError> {
        let plan = &state.plan;
        let Some(verification) = plan.task(round.task).verification.as_deref() else {
            return Ok(());
        };
        let commands = heuristic::named_commands(&verification.criteria);
        let spawns: Vec<Spawn> = (0..)
            .zip(&commands)
            .map(|(n, command)| self.probe(plan, round, n, command))
            .collect();
        self.gatherings.retain(|known| known.round.task != round.task);
        let gathering = Gathering {
            round,
            plan: plan.clone(),
            judged: judged(state, round.task),
            ends: vec![None; commands.len()],
            commands,
        };
        if spawns.is_empty() {
            self.finish_gathering(gathering);
            return Ok(());
        }
        self.gatherings.push(gathering);
        for (command, spawn) in (0..).zip(spawns) {
            self.spawn(plan, Child::Probe { round, command }, spawn)?;
        }
        Ok(())
    }

    fn probe(&self, plan: &Plan, round: Round, n: u32, command: &str) -> Spawn {
        let output = self.folder.spool_file(&spool_name(round, n));
        Spawn {
            label: format!("{}.{}.verification.{n}", round.task.0, round.attempt),
            argv: check_argv(command),
            env: environment(self.task_variables(plan, round.task, round.attempt)),
            cwd: workspace(plan, round.task),
            stderr: Some(output.clone()),
            stdout: Some(output),
            sealed: true,
            timeout_ms: Some(scaled_ms(COMMAND_TIMEOUT.0)),
            ..Spawn::default()
        }
    }

    /// A command of a round ended, or never started. Once all have, the criteria are graded.
    pub(super) fn probed(&mut self, round: Round, command: u32, end: Result<keeper::Exit, String>) {
        let Some(position) = self.gatherings.iter().position(|known| known.round == round) else {
            return;
        };
        let gathering = &mut self.gatherings[position];
        if let Some(slot) = gathering.ends.get_mut(command as usize) {
            *slot = Some(end);
        }
        if gathering.ends.iter().all(Option::is_some) {
            let gathering = self.gatherings.swap_remove(position);
            self.finish_gathering(gathering);
        }
    }

    fn finish_gathering(&mut self, gathering: Gathering) {
        let (folder, secrets) = (self.folder.clone(), self.programs.secrets());
        let mut gathering = gathering;
        self.blocking(move || {
            gathering.clean(&folder, &secrets);
            let Round { task, attempt, round } = gathering.round;
            vec![Input::Graded {
                task,
                attempt,
                round,
                result: gathering.grades(&folder),
            }]
        });
    }
}

fn spool_name(round: Round, command: u32) -> SpoolName {
    SpoolName::Probe(round.task, round.attempt, round.round, command)
}

impl Gathering {
    /// Takes out of what the commands printed what nobody may read. Blocks.
    fn clean(&mut self, folder: &RunFolder, secrets: &Secrets) {
        for (n, end) in (0..).zip(&mut self.ends) {
            if let Some(Ok(exit)) = end {
                clean(secrets, &folder.spool_file(&spool_name(self.round, n)), exit);
            }
        }
    }

    /// Blocks.
    fn grades(&self, folder: &RunFolder) -> Result<Vec<CriterionGrade>, String> {
        let task = self.round.task;
        let Some(verification) = self.plan.task(task).verification.as_deref() else {
            return Err("the task has no criteria".to_owned());
        };
        let criteria = &verification.criteria;
        let commands = (0..).zip(&self.commands).zip(&self.ends);
        let commands = commands
            .map(|((n, command), end)| {
                let path = folder.spool_file(&spool_name(self.round, n));
                command_facts(command, end.as_ref(), &path)
            })
            .collect::<Result<_, _>>()?;
        let facts = Facts {
            files: look_at(&workspace(&self.plan, task), &heuristic::named_files(criteria))?,
            commands,
            output: heuristic::speaks_of_output(criteria)
                .then(|| self.output(folder))
                .transpose()?,
        };
        Ok(heuristic::grade(criteria, &facts))
    }

    /// What the work says. Of a long one only the beginning.
    fn output(&self, folder: &RunFolder) -> Result<Text, String> {
        let most = usize::try_from(MOST_SEARCHED).unwrap_or(usize::MAX);
        let mut all = Text {
            text: String::new(),
            whole: true,
        };
        for (task, state) in &self.judged {
            let turn = TurnId {
                task: *task,
                attempt: state.attempt,
                turn: state.turn,
            };
            let read = read_output(folder, turn, &state.output, most)
                .map_err(|error| format!("the work's output is lost: {error}"))?;
            all.text.push_str(&read.head);
            all.whole &= read.missing == 0;
        }
        Ok(all)
    }
}

fn command_facts(
    command: &str,
    end: Option<&Result<keeper::Exit, String>>,
    output: &Path,
) -> Result<CommandFacts, String> {
    let exit = match end {
        Some(Ok(exit)) => exit,
        Some(Err(why)) => return Err(format!("`{command}` could not be started: {why}")),
        None => return Err(format!("`{command}` was not run")),
    };
    if let Some(lost) = &exit.output_lost {
        return Err(format!("the output of `{command}` is lost: {lost}"));
    }
    let len = exit.stdout_len.max(exit.stderr_len);
    let text = match preview(output, MOST_SEARCHED) {
        Some((text, found)) if found == len => text,
        None if len == 0 => String::new(),
        _ => return Err(format!("the output of `{command}` is not what it printed")),
    };
    let code = exit.code.filter(|_| !exit.timed_out);
    // What a killed command would have printed later is not known.
    let whole = code.is_some() && len <= MOST_SEARCHED;
    Ok(CommandFacts {
        command: command.to_owned(),
        exit: code,
        output: Text { text, whole },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_evidence_is_no_fact() {
        let facts = |exit| command_facts("x", Some(&Ok(exit)), Path::new("/nothing/there"));
        let good = keeper::Exit {
            code: Some(0),
            ..keeper::Exit::default()
        };
        assert!(facts(good.clone()).unwrap().output.whole);
        let lost = keeper::Exit {
            output_lost: Some("the folder is gone".to_owned()),
            ..good.clone()
        };
        assert!(facts(lost).unwrap_err().contains("the folder is gone"));
        let gone = keeper::Exit {
            stdout_len: 3,
            ..good.clone()
        };
        assert!(facts(gone).is_err());
        let killed = keeper::Exit {
            timed_out: true,
            ..good
        };
        let killed = facts(killed).unwrap();
        assert_eq!((killed.exit, killed.output.whole), (None, false));
        assert!(command_facts("x", Some(&Err("no sh".to_owned())), Path::new("/")).is_err());
    }
}
