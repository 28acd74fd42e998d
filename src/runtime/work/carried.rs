//! An agent with a `queue` works or is asked: the folder of the task is handed out, a child here stands for the program elsewhere, and
//! what that has left is brought home before anybody looks at it. What is left in the folder of one who was asked is nobody's.
//!
//! What is known of such a command lies in a folder of its own, so that a later session takes a turn over as it does any other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::agents::command_line::inherited;
use crate::agents::secrets::own_variables;
use crate::executor::command::{CommandJob, GRACE};
use crate::executor::error::WorkError;
use crate::executor::runner::EndedCommand;
use crate::executor::task_command::TaskCommands;
use crate::runtime::{
    carry::form::{
        CHILD_WORD, COMMAND, CarriedCommand, CarriedEnd, CarriedOutcome, CarriedReport, CarriedRequest,
        MESSAGES, RESULT, activity_id,
    },
    isolation::{
        worktrees::exchange::{CarriedFile, CarriedFiles, CarriedName, CommitId, GitExchange},
        worktrees::{NotCommitted, Worktrees},
    },
};
use crate::store::{RunFolder, SpoolName};
use rules::domain::{AgentId, Digest, FailureClass, Millis, TaskId, TurnId};
use rules::engine::{Deferral, Exit, Fact, TurnEnd};
use rules::mission::model::AgentMiddleware;
use rules::plan::Plan;
use supervisor::ChildExit;
use supervisor::files::{if_there, read_regular, remove_all, replace_file};

use super::agent_backends::EnvironmentProblem;
use super::context::{WorkContext, jitter};

/// How long what goes and comes may take, beside the command itself and the wait for a worker.
const HAND_OVER: Millis = Millis::from_secs(600);
/// The largest file of what is known of a turn, in bytes.
const LARGEST: u64 = 64 << 10;
/// The file for what a child tells, in the folder of what is known of its turn.
const REPORT: &str = "report";
/// The first line of a journal is never longer, in bytes.
const LONGEST_START: u64 = 16 << 20;
/// The variable with the file of the prompt.
const PROMPT_FILE: &str = "QUORUM_PROMPT_FILE";
/// What the child is passed, where it is set: the key of the team, the way to the server, and that to the exchange.
const PASSED: [&str; 4] = ["QUORUM_WORKER_KEY", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "USER"];
/// How the names of the variables begin that say where the server is.
const OF_SERVER: &str = "TEMPORAL_";

/// Whether a turn is one of an agent on other machines.
pub fn is_carried(plan: &Plan, turn: TurnId) -> bool {
    plan.worker_of(turn.task).spec.queue.is_some()
}

/// Whether a turn waits for a worker: then its agent is not silent. Blocks.
pub fn waits(context: &WorkContext, plan: &Plan, turn: TurnId) -> bool {
    is_carried(plan, turn)
        && report(&folder(context, &turn.to_string())).is_ok_and(|report| report.began.is_none())
}

/// The end of a command elsewhere that is none of its program.
#[derive(Debug, PartialEq)]
pub enum CarriedFailure {
    /// A worker had begun it and was not heard of again.
    Lost(String),
    /// It was never begun, for a reason of this class; with the pause that this asks for.
    Unbegun(FailureClass, String, Option<Millis>),
    /// What it has left cannot be brought home.
    NotBrought(String),
}

/// The command of a turn that begins: its own, or what stands here for one elsewhere. Blocks.
///
/// # Errors
/// Why it cannot begin.
pub fn begun(
    context: &WorkContext,
    (turn, commands): (TurnId, &TaskCommands),
    job: CommandJob,
) -> Result<CommandJob, WorkError> {
    let task = commands.plan.task(turn.task);
    if task.is_isolated() {
        context.worktrees.begins_anew(turn.task)?;
    }
    or_handed_out(context, (commands, task.agent), job)
}

/// The command itself, or what stands here for it where its agent is on other machines. Blocks.
///
/// # Errors
/// Why it cannot be handed out.
pub fn or_handed_out(
    context: &WorkContext,
    (commands, agent): (&TaskCommands, AgentId),
    job: CommandJob,
) -> Result<CommandJob, WorkError> {
    let (plan, id) = (&*commands.plan, commands.task);
    let workers = &plan.rules.workers;
    let Some(queue) = plan.agent(agent).spec.queue.as_deref() else {
        return Ok(job);
    };
    let folder = folder(context, &job.label);
    // What is known of an earlier try says nothing of this one.
    remove_all(&folder).map_err(WorkError::file("remove", &folder))?;
    let Some(place) = workers.exchange.as_deref().filter(|_| plan.reaches(agent, id)) else {
        return Err("its agent is on other machines, and the folder of this task cannot go there".into());
    };
    let exchange = GitExchange::of(place, &plan.recipe.options.mission_folder)?;
    let run = commands.folder.id();
    let label = format!("{}.{:016x}", job.label, fastrand::u64(..));
    let (name, id_there) = (CarriedName::of(run, &label), activity_id(run, &nonce(context)?, &label));
    let beside = beside(plan, (id, agent), &job)?;
    // What work has put there for the program of who is asked is none of what that goes by.
    let left_out = if job.sealed { context.protection.masked(plan, Some(id), agent) } else { Vec::new() };
    let of_task = (plan, id, &*left_out);
    let given = context.worktrees.hand_out(&exchange, of_task, &name, &beside);
    let given = given.map_err(|why| match why {
        NotCommitted::Work(why) => WorkError::from(why),
        NotCommitted::Git(why) => why,
    })?;
    let request = CarriedRequest {
        exchange: exchange.place(),
        name,
        id: id_there,
        commit: given.into(),
        queue: queue.to_owned(),
        lease: workers.lease_of(job.timeout),
        wait: workers.wait_for_worker(),
        timeout: job.timeout,
        most: plan.rules.settings.max_output.get().saturating_mul(2),
        repository: context.worktrees.carried_repository(),
        report: folder.join(REPORT),
    };
    fs::create_dir_all(&folder).map_err(WorkError::file("make", &folder))?;
    child(commands, &request, job)
}

/// What goes with the folder of a task: the command, and the files that it names.
fn beside(
    plan: &Plan,
    (task, agent): (TaskId, AgentId),
    job: &CommandJob,
) -> Result<CarriedFiles, WorkError> {
    let prompt = job.variables.iter().filter(|(name, _)| name == PROMPT_FILE);
    let prompt = prompt.map(|(_, path)| PathBuf::from(path));
    let told = job.told.iter().map(|told| told.path.clone());
    let named = job.shown.iter().chain(&job.stdin).cloned();
    let paths: BTreeSet<PathBuf> = named.chain(told).chain(prompt).collect();
    let names = (0..paths.len()).map(|at| format!("file-{at}"));
    let files: Vec<(PathBuf, String)> = paths.into_iter().zip(names).collect();
    let mut beside: CarriedFiles =
        files.iter().map(|(path, name)| (name.as_str().into(), CarriedFile::At(path.clone()))).collect();
    let carried = CarriedCommand {
        command: job.clone(),
        folder: plan.root_of(task),
        files,
        written: plan.agent(agent).spec.env.len(),
        confinement: plan.confinement(Some(task), Some(agent)),
    };
    beside.push((COMMAND.into(), CarriedFile::Bytes(serde_json::to_vec(&carried)?)));
    Ok(beside)
}

/// The command of another child for a turn that was handed out before, maybe by another session, which finds what works there. Blocks.
///
/// # Errors
/// When it is not known what was handed out.
pub fn taken_over(turn: TurnId, commands: &TaskCommands) -> Result<CommandJob, WorkError> {
    let request = request(&turn.to_string(), &commands.folder)?;
    let job = CommandJob {
        label: turn.to_string(),
        outputs: commands.turn_outputs(turn),
        outlives_session: commands.plan.middleware(turn.task).has(AgentMiddleware::CheckpointResume),
        ..CommandJob::default()
    };
    child(commands, &request, job)
}

/// The command of another child where the one that stood for a turn elsewhere was killed. Blocks.
///
/// # Errors
/// When it is not known what was handed out, or what the child has told.
pub fn next_child(
    context: &WorkContext,
    (turn, commands): (TurnId, &TaskCommands),
    ended: &EndedCommand,
) -> Result<Option<CommandJob>, WorkError> {
    let killed = |exit: &ChildExit| exit.signal.is_some() && !exit.terminated && !exit.timed_out;
    let is_killed = ended.result.as_ref().is_ok_and(killed) && is_carried(&commands.plan, turn);
    if !is_killed || report(&folder(context, &turn.to_string()))?.end.is_some() {
        return Ok(None);
    }
    taken_over(turn, commands).map(Some)
}

/// The command of the child that stands for a job, with what it is asked in a file.
fn child(
    commands: &TaskCommands,
    request: &CarriedRequest,
    job: CommandJob,
) -> Result<CommandJob, WorkError> {
    let file = commands.folder.carried_request(&job.label);
    replace_file(&file, &serde_json::to_vec(request)?).map_err(WorkError::file("write", &file))?;
    let spans = [request.wait, request.timeout, GRACE, HAND_OVER];
    let told = |name: &String| PASSED.contains(&name.as_str()) || name.starts_with(OF_SERVER);
    Ok(CommandJob {
        argv: vec![
            supervisor::this_program()?.to_string_lossy().into_owned(),
            CHILD_WORD.to_owned(),
            file.to_string_lossy().into_owned(),
        ],
        cwd: commands.folder.carried(&job.label),
        timeout: Millis(spans.iter().fold(0, |all, span| all.saturating_add(span.0))),
        variables: own_variables().filter(|(name, _)| told(name)).collect(),
        env: inherited(),
        stdin: None,
        told: Vec::new(),
        shown: Vec::new(),
        is_free: true,
        ..job
    })
}

/// Brings home what a turn has left elsewhere, so that its end is that of any other; of one that ended otherwise the fact. Blocks.
///
/// # Errors
/// When another run has taken its name.
pub fn turn_home(
    context: &WorkContext,
    (turn, commands): (TurnId, &TaskCommands),
    ended: EndedCommand,
) -> Result<Result<EndedCommand, Fact>, WorkError> {
    let plan = &*commands.plan;
    let brings = |request: &CarriedRequest, out: &CommitId| {
        let (exchange, given) = request.place()?;
        match context.worktrees.bring_home(&exchange, (plan, turn.task), [&given, out]) {
            // Its merge says why, as it does of work that cannot be committed here.
            Ok(()) | Err(NotCommitted::Work(_)) => {}
            Err(NotCommitted::Git(why)) => return Err(why),
        }
        put(&request.left().join(MESSAGES), &commands.file(&SpoolName::Drop(turn)))
    };
    let home = bring_home(context, &turn.to_string(), ended, brings)?;
    Ok(home.map_err(|failure| match failure {
        CarriedFailure::Lost(why) => lost(turn, why),
        CarriedFailure::Unbegun(class, message, retry_after) => Fact::TurnRequestFailed {
            turn,
            class,
            before_effect: true,
            message,
            retry_after,
            jitter: jitter(),
        },
        CarriedFailure::NotBrought(why) => {
            let end = TurnEnd::failed(turn, FailureClass::Unknown, why);
            Fact::TurnEnded(Box::new(end))
        }
    }))
}

/// Brings home what a command has left elsewhere, as if it had been one of this machine: what it has printed, what it claims, and
/// what `brings` does of the commit that came back. Blocks.
///
/// # Errors
/// When another run has taken its name.
pub fn bring_home(
    context: &WorkContext,
    label: &str,
    mut ended: EndedCommand,
    brings: impl FnOnce(&CarriedRequest, &CommitId) -> Result<(), WorkError>,
) -> Result<Result<EndedCommand, CarriedFailure>, WorkError> {
    let Ok(here) = &ended.result else {
        return Ok(Ok(ended));
    };
    let request = request(label, &context.folder)?;
    let outcome = report(&folder(context, label))?.end;
    let end = match outcome {
        Some(CarriedOutcome::Ended(end)) => end,
        other => {
            request.forget();
            return match other {
                Some(CarriedOutcome::Lost(why)) => Ok(Err(CarriedFailure::Lost(why))),
                // It waits as for a limit of which nobody knows when it resets: another agent goes on, or a later session asks anew.
                Some(CarriedOutcome::NeverBegan(why)) => {
                    Ok(Err(CarriedFailure::Unbegun(FailureClass::UsageWindow, why, Some(Deferral::UNKNOWN))))
                }
                Some(CarriedOutcome::NotBegun(why)) => {
                    Ok(Err(CarriedFailure::Unbegun(FailureClass::Unknown, why, None)))
                }
                Some(CarriedOutcome::Foreign) => {
                    Err(format!("another job was begun under the name of {label}").into())
                }
                // It was ended here.
                _ => Ok(Ok(ended)),
            };
        }
    };
    let home = end.commit.clone().map(|out| {
        brings(&request, &CommitId::try_from(out)?)?;
        let claims = ended.outputs.result.as_ref();
        claims.map_or(Ok(()), |claims| put(&request.left().join(RESULT), claims))
    });
    request.forget();
    ended.result = match (left_elsewhere(here, &end), home.transpose()) {
        (None, _) => Err(end.why.unwrap_or_default().into()),
        (Some(exit), Ok(_)) => Ok(exit),
        (Some(_), Err(why)) => return Ok(Err(CarriedFailure::NotBrought(why.to_string()))),
    };
    Ok(Ok(ended))
}

/// The fact that nobody knows how far a turn came.
pub fn lost(turn: TurnId, why: String) -> Fact {
    let exit = Exit { message: Some(why), ..Exit::default() };
    Fact::TurnEnded(Box::new(TurnEnd { exit, ..TurnEnd::interrupted(turn) }))
}

/// The exit of a command elsewhere, of which the child here has printed the output; `None` where it was never started.
fn left_elsewhere(here: &ChildExit, end: &CarriedEnd) -> Option<ChildExit> {
    let there = end.exit.clone()?;
    let lost = end.why.clone().filter(|_| end.commit.is_none());
    Some(ChildExit {
        key: here.key,
        stdout_len: here.stdout_len,
        stderr_len: here.stderr_len,
        stdout_digest: here.stdout_digest,
        output_cut: here.output_cut || there.output_cut,
        output_lost: lost.or(there.output_lost).or_else(|| here.output_lost.clone()),
        started_ms: here.started_ms,
        ..there
    })
}

impl CarriedRequest {
    /// The exchange, and what was handed out by it.
    fn place(&self) -> Result<(GitExchange, CommitId), WorkError> {
        let exchange = GitExchange::of(&self.exchange, Path::new("/"))?;
        Ok((exchange, CommitId::try_from(self.commit.clone())?))
    }

    /// Removes the references of a command that is settled.
    fn forget(&self) {
        if let Ok((exchange, _)) = self.place() {
            // What stays there is nobody's.
            let _ = exchange.forget(&self.repository, &self.name);
        }
    }
}

/// Moves a file, or the files of a folder, to where they belong; what is not there is not missed.
fn put(from: &Path, to: &Path) -> Result<(), WorkError> {
    let Some(found) = if_there(fs::symlink_metadata(from)).map_err(WorkError::file("read", from))? else {
        return Ok(());
    };
    if !found.is_dir() {
        return fs::rename(from, to).map_err(WorkError::file("write", to));
    }
    fs::create_dir_all(to).map_err(WorkError::file("make", to))?;
    for entry in fs::read_dir(from).map_err(WorkError::file("read", from))? {
        let entry = entry.map_err(WorkError::file("read", from))?;
        put(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// The folder of what is known of a command elsewhere.
fn folder(context: &WorkContext, label: &str) -> PathBuf {
    context.folder.carried(label)
}

/// The request of a command that was handed out, with paths as they are now: the state folder may come from another machine.
fn request(label: &str, run: &RunFolder) -> Result<CarriedRequest, WorkError> {
    let file = run.carried_request(label);
    Ok(CarriedRequest {
        repository: Worktrees::at_rest(run).carried_repository(),
        report: file.with_file_name(REPORT),
        ..read(&file)?
    })
}

/// What the child has told so far; nothing as long as it has told nothing.
fn report(folder: &Path) -> Result<CarriedReport, WorkError> {
    let file = folder.join(REPORT);
    match if_there(fs::symlink_metadata(&file)).map_err(WorkError::file("read", &file))? {
        Some(_) => read(&file),
        None => Ok(CarriedReport::default()),
    }
}

fn read<T: DeserializeOwned>(file: &Path) -> Result<T, WorkError> {
    let bytes = read_regular(file, LARGEST).map_err(WorkError::file("read", file))?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// What no other run has, whatever machine it is of: the record of its start, which says when and by which process.
fn nonce(context: &WorkContext) -> Result<String, WorkError> {
    use std::io::{BufRead as _, BufReader, Read as _};
    let journal = context.folder.journal();
    let lost = || WorkError::file("read", &journal);
    let mut first = Vec::new();
    let file = fs::File::open(&journal).map_err(lost())?;
    let mut file = BufReader::new(file.take(LONGEST_START));
    file.read_until(b'\n', &mut first).map_err(lost())?;
    Ok(Digest::of(&first).to_string().chars().take(16).collect())
}

/// Why nothing can be done elsewhere, where an agent that is needed has a queue. Blocks.
pub fn out_of_reach(plan: &Plan, needed: &BTreeSet<AgentId>, folder: &Path) -> Option<EnvironmentProblem> {
    let is_elsewhere = |id: &AgentId| plan.agent(*id).spec.queue.is_some();
    needed.iter().find(|id| is_elsewhere(id))?;
    let exchange = GitExchange::of(plan.rules.workers.exchange.as_deref()?, folder);
    let reached = exchange.and_then(|exchange| exchange.check());
    #[cfg(feature = "temporal")]
    let reached = reached.and_then(|()| crate::runtime::carry::server::check());
    let problem = reached.err()?;
    Some(EnvironmentProblem::of("settings.workers".to_owned(), problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_command_elsewhere_is_its_own_and_what_it_printed_lies_here() {
        let here =
            ChildExit { key: 7, code: Some(1), stdout_len: 12, duration_ms: 90_000, ..ChildExit::default() };
        let there =
            ChildExit { key: 1, code: Some(3), stdout_len: 99, duration_ms: 400, ..ChildExit::default() };
        let mut end = CarriedEnd {
            form: 1,
            worker: "w".to_owned(),
            commit: Some("c".to_owned()),
            exit: Some(there),
            why: None,
            printed: None,
        };
        let exit = left_elsewhere(&here, &end).unwrap();
        assert_eq!((exit.key, exit.code, exit.stdout_len, exit.duration_ms), (7, Some(3), 12, 400));
        assert_eq!(exit.output_lost, None);
        (end.commit, end.why) = (None, Some("the exchange is gone".to_owned()));
        let lost = left_elsewhere(&here, &end).unwrap().output_lost;
        assert_eq!(lost.as_deref(), Some("the exchange is gone"));
        end.exit = None;
        assert_eq!(left_elsewhere(&here, &end), None);
    }

    #[test]
    fn what_came_home_lies_where_the_program_would_have_left_it() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("left"), folder.path().join("drop"));
        put(&from, &to).unwrap();
        assert!(!to.exists());
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::write(from.join("inner/message"), "m").unwrap();
        put(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("inner/message")).unwrap(), "m");
    }
}
