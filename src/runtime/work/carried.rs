//! A turn whose agent has a `queue`: its folder is handed out, a child here stands for the program elsewhere, and what that has left
//! is brought home before anybody looks at it.
//!
//! What is known of such a turn lies in a folder of its own, so that a later session takes it over as it does any other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::agents::command_line::inherited;
use crate::executor::command::{CommandJob, GRACE};
use crate::executor::error::WorkError;
use crate::executor::runner::EndedCommand;
use crate::executor::task_command::TaskCommands;
use crate::runtime::carry::form::{
    CHILD_WORD, COMMAND, CarriedCommand, CarriedEnd, CarriedOutcome, CarriedReport, CarriedRequest, MESSAGES,
    RESULT, activity_id,
};
use crate::runtime::isolation::worktrees::exchange::{
    CarriedFile, CarriedFiles, CarriedName, CommitId, GitExchange,
};
use crate::runtime::isolation::worktrees::{NotCommitted, Worktrees};
use crate::store::SpoolName;
use rules::domain::{AgentId, Digest, FailureClass, Millis, TurnId};
use rules::engine::{Deferral, Exit, Fact, TurnEnd};
use rules::mission::{Plan, model::AgentMiddleware};
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
    is_carried(plan, turn) && report(&folder(context, turn)).is_ok_and(|report| report.began.is_none())
}

/// The command of a turn that begins: its own, or what stands here for one elsewhere. Blocks.
///
/// # Errors
/// Why it cannot begin.
pub fn begun(
    context: &WorkContext,
    of_turn: (TurnId, &TaskCommands),
    job: CommandJob,
) -> Result<CommandJob, WorkError> {
    let (turn, commands) = of_turn;
    if commands.plan.task(turn.task).is_isolated() {
        context.worktrees.begins_anew(turn.task)?;
    }
    match is_carried(&commands.plan, turn) {
        true => hand_out(context, of_turn, job),
        false => Ok(job),
    }
}

/// Hands out the folder of a turn with its command.
fn hand_out(
    context: &WorkContext,
    (turn, commands): (TurnId, &TaskCommands),
    job: CommandJob,
) -> Result<CommandJob, WorkError> {
    let plan = &*commands.plan;
    let (task, workers) = (plan.task(turn.task), &plan.rules.workers);
    let folder = folder(context, turn);
    // What is known of an earlier try says nothing of this one.
    remove_all(&folder).map_err(WorkError::file("remove", &folder))?;
    let queue = plan.agent(task.agent).spec.queue.as_deref();
    let (Some(queue), Some(place), true) = (queue, workers.exchange.as_deref(), task.isolation.is_carried())
    else {
        return Err(
            "the work of its agent is done elsewhere, and the folder of this task cannot go there".into(),
        );
    };
    let exchange = GitExchange::of(place, &plan.recipe.options.mission_folder)?;
    let run = commands.folder.id();
    let prompt = commands.file(&SpoolName::Prompt(turn));
    let paths = job.shown.iter().chain(&job.stdin).chain([&prompt]);
    let mut paths: Vec<PathBuf> = paths.cloned().collect();
    paths.sort();
    paths.dedup();
    let names = (0..paths.len()).map(|at| format!("file-{at}"));
    let files: Vec<(PathBuf, String)> = paths.into_iter().zip(names).collect();
    let mut beside: CarriedFiles = files
        .iter()
        .map(|(path, name)| (name.as_str().into(), CarriedFile::At(path.clone())))
        .collect();
    let carried = CarriedCommand {
        command: job.clone(),
        folder: plan.root_of(turn.task),
        files,
        written: plan.agent(task.agent).spec.env.len(),
        confinement: plan.confinement(Some(turn.task), Some(task.agent)),
    };
    beside.push((COMMAND.into(), CarriedFile::Bytes(serde_json::to_vec(&carried)?)));
    let name = CarriedName::of_turn(run, turn);
    let worktrees = &context.worktrees;
    let given = worktrees.hand_out(&exchange, (plan, turn.task), &name, &beside);
    let given = given.map_err(|why| match why {
        NotCommitted::Work(why) => WorkError::from(why),
        NotCommitted::Git(why) => why,
    })?;
    let request = CarriedRequest {
        exchange: exchange.place(),
        id: activity_id(
            run,
            &nonce(context)?,
            (turn, &format!("{:016x}", fastrand::u64(..))),
        ),
        commit: given.into(),
        queue: queue.to_owned(),
        lease: workers.lease_of(task.turn_timeout),
        wait: workers.wait_for_worker(),
        timeout: task.turn_timeout,
        most: plan.rules.settings.max_output.get().saturating_mul(2),
        repository: worktrees.carried_repository(),
        report: folder.join(REPORT),
    };
    fs::create_dir_all(&folder).map_err(WorkError::file("make", &folder))?;
    child(commands, &request, job)
}

/// The command of another child for a turn that was handed out before, maybe by another session, which finds what works there. Blocks.
///
/// # Errors
/// When it is not known what was handed out.
pub fn taken_over(turn: TurnId, commands: &TaskCommands) -> Result<CommandJob, WorkError> {
    let request = request(turn, commands)?;
    let job = CommandJob {
        label: turn.to_string(),
        outputs: commands.turn_outputs(turn),
        outlives_session: commands
            .plan
            .middleware(turn.task)
            .has(AgentMiddleware::CheckpointResume),
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
    if !is_killed || report(&folder(context, turn))?.end.is_some() {
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
    let own = std::env::vars_os();
    let own = own.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(CommandJob {
        argv: vec![
            supervisor::this_program()?.to_string_lossy().into_owned(),
            CHILD_WORD.to_owned(),
            file.to_string_lossy().into_owned(),
        ],
        cwd: commands.folder.carried(&job.label),
        timeout: Millis(spans.iter().fold(0, |all, span| all.saturating_add(span.0))),
        variables: own.filter(|(name, _)| told(name)).collect(),
        env: inherited(),
        stdin: None,
        shown: Vec::new(),
        is_free: true,
        ..job
    })
}

/// Brings home what a turn has left elsewhere, so that its end is that of any other; of one that ended otherwise the fact. Blocks.
///
/// # Errors
/// When another run has taken its name.
pub fn bring_home(
    context: &WorkContext,
    (turn, commands): (TurnId, &TaskCommands),
    mut ended: EndedCommand,
) -> Result<Result<EndedCommand, Fact>, WorkError> {
    let plan = &*commands.plan;
    let (Ok(here), true) = (&ended.result, is_carried(plan, turn)) else {
        return Ok(Ok(ended));
    };
    let folder = folder(context, turn);
    let refused = |class, why, retry_after| Fact::TurnRequestFailed {
        turn,
        class,
        before_effect: true,
        message: why,
        retry_after,
        jitter: jitter(),
    };
    let outcome = report(&folder)?.end;
    if !matches!(&outcome, Some(CarriedOutcome::Ended(end)) if end.commit.is_some()) {
        forget(context, (turn, commands));
    }
    let end = match outcome {
        Some(CarriedOutcome::Ended(end)) => end,
        Some(CarriedOutcome::Lost(why)) => return Ok(Err(lost(turn, why))),
        // It waits as for a limit of which nobody knows when it resets: another agent goes on, or a later session asks anew.
        Some(CarriedOutcome::NeverBegan(why)) => {
            return Ok(Err(refused(
                FailureClass::UsageWindow,
                why,
                Some(Deferral::UNKNOWN),
            )));
        }
        Some(CarriedOutcome::NotBegun(why)) => {
            return Ok(Err(refused(FailureClass::Unknown, why, None)));
        }
        Some(CarriedOutcome::Foreign) => {
            return Err(format!("another job was begun under the name of turn {turn}").into());
        }
        // It was ended here.
        Some(CarriedOutcome::CalledOff) | None => return Ok(Ok(ended)),
    };
    let exit = left_elsewhere(here, &end);
    let home = end
        .commit
        .clone()
        .map(|out| lay_out(context, (turn, commands), out));
    ended.result = match (exit, home.transpose()) {
        (None, _) => Err(end.why.unwrap_or_default().into()),
        (Some(exit), Ok(_)) => Ok(exit),
        (Some(_), Err(why)) => {
            let end = TurnEnd::failed(turn, FailureClass::Unknown, why.to_string());
            return Ok(Err(Fact::TurnEnded(Box::new(end))));
        }
    };
    Ok(Ok(ended))
}

/// The fact that nobody knows how far a turn came.
pub fn lost(turn: TurnId, why: String) -> Fact {
    let exit = Exit {
        message: Some(why),
        ..Exit::default()
    };
    Fact::TurnEnded(Box::new(TurnEnd {
        exit,
        ..TurnEnd::interrupted(turn)
    }))
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

/// Makes the task's folder what came home, and lays what the program claims and tells where it would have left that here.
fn lay_out(
    context: &WorkContext,
    (turn, commands): (TurnId, &TaskCommands),
    out: String,
) -> Result<(), WorkError> {
    let request = request(turn, commands)?;
    let exchange = GitExchange::of(&request.exchange, Path::new("/"))?;
    let (given, out) = (
        CommitId::try_from(request.commit.clone())?,
        CommitId::try_from(out)?,
    );
    let plan = &*commands.plan;
    let of_task = (plan, turn.task);
    match context.worktrees.bring_home(&exchange, of_task, [&given, &out]) {
        // Its merge says why, as it does of work that cannot be committed here.
        Ok(()) | Err(NotCommitted::Work(_)) => {}
        Err(NotCommitted::Git(why)) => return Err(why),
    }
    let left = request.left();
    for (from, to) in [
        (left.join(RESULT), SpoolName::Result(turn)),
        (left.join(MESSAGES), SpoolName::Drop(turn)),
    ] {
        put(&from, &commands.file(&to))?;
    }
    forget(context, (turn, commands));
    Ok(())
}

/// Removes the references of a turn that is settled.
fn forget(context: &WorkContext, (turn, commands): (TurnId, &TaskCommands)) {
    let plan = &*commands.plan;
    let exchange = plan.rules.workers.exchange.as_deref();
    let exchange = exchange.map(|place| GitExchange::of(place, &plan.recipe.options.mission_folder));
    if let Some(Ok(exchange)) = exchange {
        let name = CarriedName::of_turn(commands.folder.id(), turn);
        // What stays there is nobody's.
        let _ = exchange.forget(&context.worktrees.carried_repository(), &name);
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

/// The folder of what is known of a turn elsewhere.
fn folder(context: &WorkContext, turn: TurnId) -> PathBuf {
    context.folder.carried(&turn.to_string())
}

/// The request of a turn that was handed out, with paths as they are now: the state folder may come from another machine.
fn request(turn: TurnId, commands: &TaskCommands) -> Result<CarriedRequest, WorkError> {
    let file = commands.folder.carried_request(&turn.to_string());
    Ok(CarriedRequest {
        repository: Worktrees::at_rest(&commands.folder).carried_repository(),
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
        let here = ChildExit {
            key: 7,
            code: Some(1),
            stdout_len: 12,
            duration_ms: 90_000,
            ..ChildExit::default()
        };
        let there = ChildExit {
            key: 1,
            code: Some(3),
            stdout_len: 99,
            duration_ms: 400,
            ..ChildExit::default()
        };
        let mut end = CarriedEnd {
            form: 1,
            worker: "w".to_owned(),
            commit: Some("c".to_owned()),
            exit: Some(there),
            why: None,
        };
        let exit = left_elsewhere(&here, &end).unwrap();
        assert_eq!(
            (exit.key, exit.code, exit.stdout_len, exit.duration_ms),
            (7, Some(3), 12, 400)
        );
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
