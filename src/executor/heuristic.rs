//! The heuristic grader at work: runs the commands that a task's criteria name, looks at the files, and grades.
//!
//! Only words of the mission are ever run, never words of the work. One effect is one round: if the session dies in
//! between, the next one does all of it again.

use crate::review::facts::{MOST_SEARCHED, look_at};
use rules::domain::{CriterionGrade, TurnId};
use rules::engine::{JobEnd, OutputRefs};
use rules::judging::heuristic::{self, CommandFacts, Facts, FileContent, FileFacts, Text};
use rules::plan::VerificationPlan;

use super::command::{CommandEnd, CommandJob};
use super::error::WorkError;
use super::runner::{CommandOwner, Commands};
use super::spool::read_output;
use super::task_command::{CommandWork, TaskCommands};

/// One round of grading.
pub struct Grading {
    /// The task whose criteria are graded.
    pub commands: TaskCommands,
    /// The number of the round.
    pub round: u32,
    /// The turns whose work is graded, and what they said.
    pub judged: Vec<(TurnId, OutputRefs)>,
}

impl Grading {
    fn verification(&self) -> Option<&VerificationPlan> {
        self.commands.plan.task(self.commands.task).verification()
    }

    /// The commands that the criteria name.
    fn jobs(&self) -> Result<Vec<CommandJob>, WorkError> {
        let named = self.verification().map(|by| heuristic::named_commands(&by.criteria));
        let named = named.unwrap_or_default();
        let job =
            |(n, command): (u32, &String)| self.commands.job(CommandWork::Criterion(self.round, n, command));
        (0..).zip(&named).map(job).collect()
    }

    /// Runs all commands of the grading beside each other, and grades.
    ///
    /// # Errors
    ///
    /// When the grading breaks off.
    pub async fn run(self, runner: &Commands) -> Result<JobEnd, WorkError> {
        let owner = CommandOwner::Task(self.commands.task);
        let started = self.jobs()?.into_iter().map(|job| runner.run(owner, job));
        let (started, mut ends) = (started.collect::<Vec<_>>(), Vec::new());
        for end in started {
            ends.push(end.await);
        }
        Ok(tokio::task::spawn_blocking(move || self.graded(&ends)).await?)
    }

    /// The grades, once all commands of the grading have ended. Blocks.
    fn graded(&self, ends: &[CommandEnd]) -> JobEnd {
        JobEnd::Graded(self.grades(ends).map_err(String::from))
    }

    fn grades(&self, ends: &[CommandEnd]) -> Result<Vec<CriterionGrade>, WorkError> {
        let criteria = &self.verification().ok_or("the task has no criteria")?.criteria;
        let mut files = look_at(&self.commands.workspace(), &heuristic::named_files(criteria))?;
        if heuristic::names_the_output(criteria) {
            files.push(self.output()?);
        }
        let named = heuristic::named_commands(criteria);
        let commands = named.iter().zip(ends);
        let commands =
            commands.map(|(command, end)| command_facts(command, end)).collect::<Result<_, _>>()?;
        Ok(heuristic::grade(criteria, &Facts { files, commands }))
    }

    /// The output of the work, as the file without a path. Of a long one only the beginning.
    fn output(&self) -> Result<FileFacts, WorkError> {
        let most = usize::try_from(MOST_SEARCHED).unwrap_or(usize::MAX);
        let mut all = Text { text: String::new(), whole: true };
        for (turn, output) in &self.judged {
            let read = read_output(&self.commands.folder, *turn, output, most)
                .map_err(WorkError::lost("the work's output is lost"))?;
            all.text.push_str(&read.head);
            all.whole &= read.missing == 0;
        }
        Ok(FileFacts {
            path: String::new(),
            content: Some(FileContent { bytes: all.text.len() as u64, text: Some(all) }),
        })
    }
}

/// The facts of a command that ended. One that never ran, or whose output is lost, has none.
fn command_facts(command: &str, end: &CommandEnd) -> Result<CommandFacts, WorkError> {
    let outcome = end.outcome();
    if let Some(why) = outcome.not_started {
        return Err(format!("`{command}` could not be started: {why}").into());
    }
    if let Some(lost) = outcome.output_lost {
        return Err(format!("the output of `{command}` is lost: {lost}").into());
    }
    Ok(CommandFacts {
        command: command.to_owned(),
        exit: outcome.code.filter(|_| !outcome.timed_out),
        output: outcome.output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::command::CommandOutputs;
    use supervisor::ChildExit;

    #[test]
    fn lost_evidence_is_no_fact() {
        let facts = |exit| {
            let file = Some(std::path::PathBuf::from("/nothing/there"));
            let outputs = CommandOutputs { stdout: file.clone(), stderr: file, ..CommandOutputs::default() };
            command_facts("x", &outputs.end(Ok(exit)))
        };
        let good = ChildExit { code: Some(0), ..ChildExit::default() };
        assert_eq!(facts(good.clone()).unwrap().exit, Some(0));
        let lost = ChildExit { output_lost: Some("the folder is gone".to_owned()), ..good.clone() };
        let lost = facts(lost).unwrap_err().to_string();
        assert!(lost.contains("the folder is gone"));
        let killed = ChildExit { timed_out: true, ..good };
        assert_eq!(facts(killed).unwrap().exit, None);
        assert!(command_facts("x", &CommandEnd::not_started("no sh")).is_err());
    }
}
