//! What the checks of a task say before the work: how each is run, and what its end says then (semantics, section 24).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};

use crate::agents::command_line::missing_program;
use crate::store::SpoolName;
use rules::domain::{BeforeWork, Digest, Points, TurnId};
use rules::engine::{BaselineResult, JobEnd};
use rules::judging::baseline_checks::{BaselineCheck, CheckPlace, MOST_NAMED, items};
use rules::judging::protected::plain;
use rules::judging::tests_changed::is_command;
use rules::mission::check_words::judging_files;
use rules::mission::model::Check;
use rules::plan::Plan;

use super::command::{CommandEnd, CommandJob, How};
use super::heuristic::Grading;
use super::runner::{CommandOwner, Commands};
use super::task_command::{CommandWork, TaskCommands};
use super::{check, finish_gate};

/// The look at the checks of a task before its first turn.
pub struct BaselineLook {
    pub commands: TaskCommands,
    /// The turn that comes behind it.
    pub turn: TurnId,
    /// The known results of the same checks on the same files.
    pub known: BTreeMap<Digest, BaselineResult>,
    /// Where this is no look before the work, but one at tests that it changed: what is looked at, and the checks that are run, of
    /// those that are commands; `None`: all of these.
    pub elsewhere: Option<(&'static str, Option<BTreeSet<Digest>>)>,
}

impl BaselineLook {
    /// Looks: each distinct command runs once, expectations beside each other, others one after the other. One result for each
    /// distinct check, in the order of the task.
    pub async fn look(self, runner: &Commands) -> Vec<BaselineResult> {
        let mut all: Vec<BaselineCheck> = Vec::new();
        for item in items(self.commands.plan.task(self.commands.task)) {
            if self.is_meant(&item) && all.iter().all(|known| known.key != item.key) {
                all.push(item);
            }
        }
        let mut seen = self.known.clone();
        let (mut beside, mut others, mut criteria) = (JoinSet::new(), Vec::new(), Vec::new());
        let is_open =
            |(_, item): &(u32, &BaselineCheck)| item.is_of_its_task || !self.known.contains_key(&item.key);
        for (number, item) in (0..).zip(&all).filter(is_open) {
            match item.place {
                CheckPlace::Check(_) => {
                    beside.spawn(self.start(runner, item, number));
                }
                CheckPlace::Criterion(at) => criteria.push((at, item)),
                CheckPlace::Finish(_) | CheckPlace::Stage(_) => others.push((number, item)),
            }
        }
        let said = beside.join_all().await;
        seen.extend(said.into_iter().map(|said| (said.key, said)));
        for (number, item) in others {
            let said = self.start(runner, item, number).await;
            seen.insert(said.key, said);
        }
        if !criteria.is_empty() {
            let said = self.grade(runner, &criteria).await;
            seen.extend(said.into_iter().map(|said| (said.key, said)));
        }
        all.iter().filter_map(|item| seen.remove(&item.key)).collect()
    }

    fn is_meant(&self, item: &BaselineCheck) -> bool {
        let is_command = || is_command(&self.commands.plan, self.commands.task, item);
        match &self.elsewhere {
            None => true,
            Some((_, None)) => is_command(),
            Some((_, Some(only))) => is_command() && only.contains(&item.key),
        }
    }

    /// Starts one of them; what it says comes later.
    fn start(
        &self,
        runner: &Commands,
        item: &BaselineCheck,
        number: u32,
    ) -> impl Future<Output = BaselineResult> + use<> {
        let (plan, turn, item) = (self.commands.plan.clone(), self.turn, item.clone());
        let (job, runner) = (self.job(&item, number), runner.clone());
        let lacks = job.as_ref().map_or_else(Vec::new, |job| self.lacking(job));
        let mut left = match item.place {
            CheckPlace::Check(at) => check::declared(&plan, turn.task, at).map_or(0, Check::reruns),
            _ => 0,
        };
        async move {
            let (key, label) = (item.key, item.label.clone());
            let unknown = |why: &JoinError| BaselineResult::unknown(key, &format!("{label}: {why}"));
            let Some(job) = job else {
                let said = tokio::task::spawn_blocking(move || files(&plan, turn, &item)).await;
                return said.unwrap_or_else(|why| unknown(&why));
            };
            let missing = missing_folder(&job.cwd, job.within.as_deref());
            // What lies there may be hidden.
            if let Some(folder) = missing.filter(|_| !job.sees_hidden) {
                return never_ran(key, &format!("there is no folder {folder}"));
            }
            loop {
                let end = runner.run(CommandOwner::Task(turn.task), job.clone()).await;
                let (plan, item, script) = (plan.clone(), item.clone(), job.script().map(str::to_owned));
                let said = tokio::task::spawn_blocking(move || {
                    said(&plan, turn, &item, script.as_deref().unwrap_or_default(), &end)
                })
                .await;
                let said = said.unwrap_or_else(|why| unknown(&why));
                // Red is what fails each time.
                if left == 0 || said.before != BeforeWork::Red || said.never_ran {
                    return BaselineResult { lacks, ..said };
                }
                left -= 1;
            }
        }
    }

    /// The files that a command goes by and that are not there. What is hidden is named to nobody.
    fn lacking(&self, job: &CommandJob) -> Vec<Box<str>> {
        let script = job.script().filter(|_| self.elsewhere.is_none() && !job.sees_hidden);
        let names = judging_files(script.unwrap_or_default()).into_iter();
        let missing = names.map(|name| plain(&job.cwd.join(name))).filter(|path| !path.exists());
        let folder = self.commands.workspace();
        let inner = missing.filter_map(|path| Some(path.strip_prefix(&folder).ok()?.to_str()?.into()));
        inner.take(MOST_NAMED).collect()
    }

    /// The command of one; `None` where files are looked at.
    fn job(&self, item: &BaselineCheck, number: u32) -> Option<CommandJob> {
        let commands = &self.commands;
        let output = match self.elsewhere {
            None => SpoolName::Baseline(commands.task, number),
            Some((what, _)) => SpoolName::Look(commands.task, commands.attempt, what, number),
        };
        let work = match item.place {
            CheckPlace::Check(at) => CommandWork::Check(at, output),
            CheckPlace::Finish(at) => CommandWork::Finish(at, output),
            CheckPlace::Criterion(_) => return None,
            CheckPlace::Stage(key) => CommandWork::Stage(key, None, output),
        };
        // A check without a command looks at files.
        commands.job(work).ok()
    }

    /// Grades criteria by facts.
    async fn grade(&self, runner: &Commands, criteria: &[(u32, &BaselineCheck)]) -> Vec<BaselineResult> {
        let grading = Grading { commands: self.commands.clone(), round: 0, judged: Vec::new() };
        let grades = match grading.run(runner).await {
            Ok(JobEnd::Graded(grades)) => grades,
            Ok(_) => Err("nothing was graded".to_owned()),
            Err(why) => Err(why.to_string()),
        };
        let said = criteria.iter().map(|(at, item)| match &grades {
            Err(why) => BaselineResult::unknown(item.key, why),
            Ok(grades) => match grades.get(*at as usize) {
                Some(grade) if grade.points == Some(Points::FULL) => {
                    BaselineResult::new(item.key, BeforeWork::Green, "")
                }
                Some(grade) if grade.points.is_some() => {
                    BaselineResult::new(item.key, BeforeWork::Red, &grade.evidence)
                }
                Some(grade) => BaselineResult::unknown(item.key, &grade.evidence),
                None => BaselineResult::unknown(item.key, "it was not graded"),
            },
        });
        said.collect()
    }
}

fn never_ran(key: Digest, why: &str) -> BaselineResult {
    BaselineResult { never_ran: true, ..BaselineResult::new(key, BeforeWork::Red, why) }
}

/// The folder in which a command is to work, as the file says it, where it is not there.
fn missing_folder(cwd: &Path, within: Option<&Path>) -> Option<String> {
    let inner = within.and_then(|within| cwd.strip_prefix(within).ok())?;
    (!cwd.is_dir()).then(|| inner.display().to_string())
}

/// Reads the result of a check from the end of its command. Blocks.
fn said(
    plan: &Arc<Plan>,
    turn: TurnId,
    item: &BaselineCheck,
    script: &str,
    end: &CommandEnd,
) -> BaselineResult {
    // Of a stage only how it exits says something: it reads what there is only behind the work.
    let result = match item.place {
        CheckPlace::Finish(at) => Some(finish_gate::finished(plan, turn.task, at, end)),
        CheckPlace::Check(at) => Some(check::result(plan, turn.task, at, end)),
        CheckPlace::Criterion(_) | CheckPlace::Stage(_) => None,
    };
    let because = |before, reason: &str| BaselineResult {
        duration: end.outcome().duration,
        ..BaselineResult::new(item.key, before, reason)
    };
    let unknown = |why: &str| because(BeforeWork::Unknown, why);
    match (end.how(), end.lost()) {
        (How::NotStarted(why), _) => unknown(&format!("it could not be started: {why}")),
        (How::TimedOut, _) => unknown("its time ran out"),
        (How::Killed(signal), _) => unknown(&format!("signal {signal} ended it")),
        (How::Exited(_), Some(lost)) => unknown(&format!("its output is lost: {lost}")),
        (How::Exited(127), None) if missing_program(script).is_some() => {
            let program = missing_program(script).unwrap_or_default();
            never_ran(item.key, &format!("`{program}` was not found on PATH"))
        }
        (How::Exited(code), None) => match result {
            Some(result) if !result.passed => because(BeforeWork::Red, &result.message),
            None if code != 0 => unknown("it failed, and it reads what there is only behind the work"),
            _ => because(BeforeWork::Green, ""),
        },
    }
}

/// The result of a check that looks at files. Blocks.
fn files(plan: &Arc<Plan>, turn: TurnId, item: &BaselineCheck) -> BaselineResult {
    let CheckPlace::Check(at) = item.place else {
        return BaselineResult::unknown(item.key, "it cannot be looked at");
    };
    match check::declared(plan, turn.task, at) {
        Some(Check::FileExists { .. }) => {
            let result = check::files(plan, turn.task, at, &plan.workspace_of(turn.task));
            if result.passed {
                BaselineResult::new(item.key, BeforeWork::Green, "")
            } else {
                BaselineResult::new(item.key, BeforeWork::Red, &result.message)
            }
        }
        _ => BaselineResult::unknown(item.key, "the mission has no such check any more"),
    }
}
