//! Children of the supervisor: worker turns, checks and command judges. How they are started, and what their end means.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agents::command::{Placeholders, TASK_VARIABLE, check_argv, environment};
use crate::agents::failure::{CommandEnd, ToldFailure, read_command};
use crate::agents::secrets::Secrets;
use crate::domain::{FailureClass, Millis, TaskId, TurnId};
use crate::engine::{CheckResult, Exit, FileFact, Input, ProcessRef, State, TurnEnd};
use crate::judging::heuristic::named_files;
use crate::mission::Plan;
use crate::mission::model::{Check, CommandLine, Input as PromptInput};
use crate::review::checks::{CommandOutcome, command_result, files_result};
use crate::review::evidence;
use crate::store::{self, RunFolder, SpoolName};
use crate::supervisor::{self, Spawn};

use super::middleware::Said;
use super::reach::Reach;
use super::reply::Failed;
use super::seat::seat_failed;
use super::session::RunError;
use super::spool::{Sealed, clean, clean_file, clean_stderr, read_claims, read_head, read_tail, seal};
use super::watch::{After, Answer};
use super::world::{Child, World, here_and_now, jitter, not_reachable, workspace};
use super::{consult, middleware, voice};

/// How much of a check's output is kept in its result, in bytes.
pub(super) const CHECK_SHOWN: u64 = 4_000;
/// What has more bytes than this is no question, in bytes.
const SHORT_OUTPUT: u64 = 4 * crate::judging::question::MAX_CHARS as u64;
/// How much of what an agent printed may be its last message, in bytes.
const LAST_MESSAGE: u64 = 4 * crate::judging::assumption::LAST_CHARS as u64;
/// How much of standard error is read when an agent fails, in bytes: its last line is quoted, its class is found in it.
const STDERR_TAIL: u64 = 8_000;
/// How much of an agent's output may be its last structured error, in bytes: some quote their whole answer in it.
pub(super) const STDOUT_TAIL: u64 = 1024 * 1024;
/// Characters of that line.
const LONGEST_QUOTE: usize = 500;
/// Sub-tasks that cannot be read are told one by one, up to so many of one turn.
const REFUSALS: usize = 20;

impl World {
    pub(super) fn run_turn(&mut self, state: &State, turn: TurnId) -> Result<(), RunError> {
        let plan = &state.plan;
        let agent_id = plan.task(turn.task).agent;
        match self.programs.get(agent_id).cloned() {
            None => self.post(not_reachable(
                turn,
                format!("agent '{}' cannot be reached", plan.agent(agent_id).name),
            )),
            Some(Reach::Model(endpoint)) => self.call_worker(state, turn, *endpoint),
            Some(Reach::Echo) => self.echo_worker(turn),
            Some(Reach::Command(program, surroundings)) => {
                self.remember(state, turn);
                let cwd = workspace(plan, turn.task);
                if let Err(why) = self.give_message_folder(turn) {
                    self.post(not_reachable(turn, why));
                    return Ok(());
                }
                let input = plan.agent(agent_id).spec.input;
                let told = input != PromptInput::None;
                let prompt = told.then(|| self.folder.spool_file(&SpoolName::Prompt(turn)));
                let prompt_text = prompt.as_deref().map_or_else(Cow::default, Path::to_string_lossy);
                let placeholders = Placeholders {
                    task: &plan.task(turn.task).title,
                    attempt: &turn.attempt.to_string(),
                    prompt_file: &prompt_text,
                    workspace: &cwd.to_string_lossy(),
                };
                let argv = program.argv(&placeholders);
                let variables = self.turn_variables(plan, turn, prompt.as_deref());
                let spawn = Spawn {
                    label: turn.to_string(),
                    argv,
                    env: surroundings.with(variables),
                    cwd,
                    stdin: prompt.filter(|_| input == PromptInput::Stdin),
                    stdout: Some(self.folder.spool_file(&SpoolName::Out(turn))),
                    stderr: Some(self.folder.spool_file(&SpoolName::Err(turn))),
                    timeout_ms: Some(plan.task(turn.task).turn_timeout.0),
                    // It may have worked for long, and reads nothing but files: the next session can take it over.
                    outlives_runner: true,
                    ..Spawn::default()
                };
                return self.spawn(plan, Child::Turn(turn), spawn);
            }
        }
        Ok(())
    }

    /// The variables of the contract with command agents (`docs/reference/agents.md`).
    fn turn_variables(&self, plan: &Plan, turn: TurnId, prompt: Option<&Path>) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let drops = self.folder.spool_file(&SpoolName::Drop(turn));
        let mut variables = self.task_variables(plan, turn.task, turn.attempt);
        variables.push(("QUORUM_TURN".to_owned(), turn.turn.to_string()));
        variables.push(("QUORUM_TASK_DIR".to_owned(), text(&drops)));
        let result = self.folder.spool_file(&SpoolName::Result(turn));
        variables.push(("QUORUM_RESULT_FILE".to_owned(), text(&result)));
        if let Some(prompt) = prompt {
            variables.push(("QUORUM_PROMPT_FILE".to_owned(), text(prompt)));
        }
        variables
    }

    pub(super) fn task_variables(&self, plan: &Plan, task: TaskId, attempt: u32) -> Vec<(String, String)> {
        vec![
            ("QUORUM_RUN_ID".to_owned(), self.folder.id().to_string()),
            (TASK_VARIABLE.to_owned(), plan.task(task).title.to_string()),
            ("QUORUM_ATTEMPT".to_owned(), attempt.to_string()),
        ]
    }

    pub(super) fn scan_files(&mut self, state: &State, turn: TurnId, number: u32) {
        let task = turn.task;
        let plan = state.plan.clone();
        let folder = self.folder.clone();
        let asked = Answer::asked(state, task);
        self.blocking(move || {
            let files = files_of(&plan, task);
            let hollow = asked.and_then(|asked| asked.hollow(&folder));
            vec![Input::FilesScanned {
                turn,
                number,
                files,
                hollow,
            }]
        });
    }

    /// Looks at what a failed task was to make, in the workspace where it worked.
    pub(super) fn scan_artifacts(&mut self, state: &State, task: TaskId, dependency: TaskId) {
        let plan = state.plan.clone();
        self.blocking(move || {
            let targets = plan.task(dependency).target_files.iter().map(AsRef::as_ref);
            let files = evidence::scan(&workspace(&plan, dependency), targets);
            vec![Input::ArtifactsScanned {
                task,
                dependency,
                files,
            }]
        });
    }

    pub(super) fn run_check(
        &mut self,
        state: &State,
        task: TaskId,
        attempt: u32,
        check: u32,
    ) -> Result<(), RunError> {
        let plan = &state.plan;
        if let Some(Check::FileExists { .. }) = declared_check(plan, task, check) {
            let plan = plan.clone();
            self.blocking(move || {
                let result = files_check(&plan, task, check);
                let finished = |result| Input::CheckFinished {
                    task,
                    attempt,
                    check,
                    result,
                };
                result.map(finished).into_iter().collect()
            });
            return Ok(());
        }
        let output = self.folder.spool_file(&SpoolName::Check(task, attempt, check));
        let variables = self.task_variables(plan, task, attempt);
        let Some(mut spawn) = check_spawn(plan, task, check, variables, output) else {
            return Ok(());
        };
        spawn.label = format!("{}.{attempt}.check.{check}", task.0);
        self.spawn(plan, Child::Check { task, attempt, check }, spawn)
    }

    /// What the supervisor says, as inputs.
    pub(super) fn take(&mut self, event: supervisor::Event, inputs: &mut Vec<Input>) {
        match event {
            supervisor::Event::Spawned { key, pid, start_time } => {
                let process = ProcessRef { pid, start_time };
                if let Some(waiting) = self.waiting_for.get_mut(&key) {
                    waiting.process = Some(process);
                } else if let Some((Child::Turn(turn), _)) = self.children.get(&key) {
                    self.processes.insert(*turn, process.clone());
                    let process = Some(process);
                    inputs.push(Input::TurnSpawned { turn: *turn, process });
                }
            }
            supervisor::Event::SpawnFailed { key, message, .. } => match self.children.remove(&key) {
                Some((Child::Probe { round, command }, _)) => self.probed(round, command, Err(message)),
                Some((Child::Errand(_), _)) => self.errand_ended(key, Err(message)),
                Some((child, plan)) => {
                    match child {
                        Child::Turn(turn) => drop(self.take_message_folder(turn)),
                        Child::Seat { task, seat } => drop(self.judgements.remove(&(task, seat))),
                        Child::Consult { id, .. } => drop(self.consulted.remove(&id)),
                        _ => {}
                    }
                    inputs.extend(never_started(child, &plan, message));
                }
                None => {}
            },
            supervisor::Event::Exited(exit) => {
                if let Some((child, plan)) = self.children.remove(&exit.key) {
                    self.exited(child, plan, exit, inputs);
                }
            }
            supervisor::Event::Warning { message } => inputs.push(Input::Warn(message)),
            // Of its good-bye the end of the connection tells, which is next.
            supervisor::Event::Alive | supervisor::Event::Farewell => {}
        }
    }

    fn exited(&mut self, child: Child, plan: Arc<Plan>, mut exit: supervisor::Exit, inputs: &mut Vec<Input>) {
        // What came by a pipe is bounded by what any reader of it takes, which may be more.
        exit.output_cut |= exit.stdout_len.saturating_add(exit.stderr_len) > plan.rules.max_output;
        match child {
            Child::Turn(turn) => {
                self.processes.remove(&turn);
                self.turn_exited(turn, plan, exit, inputs);
            }
            // A dropped check or review is done again by the next session.
            Child::Approver(_) if self.is_stopping() => {}
            Child::Check { .. }
            | Child::Seat { .. }
            | Child::Probe { .. }
            | Child::Step(_)
            | Child::Finish { .. }
            | Child::Consult { .. }
                if self.is_stopping() => {}
            Child::Finish { turn, command } => self.finish_exited(turn, command, plan, exit),
            Child::Check { task, attempt, check } => {
                let path = self.folder.spool_file(&SpoolName::Check(task, attempt, check));
                let secrets = self.programs.secrets();
                self.blocking(move || {
                    clean(&secrets, &path, &mut exit);
                    let result = check_result(&plan, task, check, &exit, &path);
                    vec![Input::CheckFinished {
                        task,
                        attempt,
                        check,
                        result,
                    }]
                });
            }
            Child::Seat { task, seat } => self.seat_exited(task, seat, plan, exit),
            Child::Probe { round, command } => self.probed(round, command, Ok(exit)),
            Child::Step(run) => self.step_exited(run, plan, exit),
            Child::Approver(question) => self.approver_exited(question, &exit),
            Child::Consult { id, purpose } => self.consult_exited(id, purpose, exit),
            Child::Errand(_) => self.errand_ended(exit.key, Ok(exit)),
        }
    }

    fn errand_ended(&mut self, key: u64, end: Result<supervisor::Exit, String>) {
        if let Some(waiting) = self.waiting_for.remove(&key) {
            // Who no longer waits does not want to know.
            let _ = waiting.reply.send(end);
        }
    }

    fn turn_exited(
        &mut self,
        turn: TurnId,
        plan: Arc<Plan>,
        mut exit: supervisor::Exit,
        inputs: &mut Vec<Input>,
    ) {
        let mut limit = plan.task(turn.task).turn_timeout.to_string();
        if let Some(idle) = self.silences.killed(turn).filter(|_| exit.terminated) {
            exit.timed_out = true;
            limit = format!("{idle} without a word");
        }
        // One that prints nothing may still have claimed or asked something, or handed work down.
        let has_spoken = self.take_message_folder(turn);
        let after = self.after(turn);
        let is_silent = exit.stdout_len == 0 && exit.stderr_len == 0;
        if is_silent && after.is_known() && !has_spoken {
            inputs.push(Input::TurnEnded(Box::new(TurnEnd {
                files: after.seen(&plan, &self.folder, turn.task),
                ..turn_end(turn, &exit, &limit, || {
                    failure_of(&plan, turn.task, &exit, "", "")
                })
            })));
            return;
        }
        let ended = EndedTurn {
            out: self.folder.spool_file(&SpoolName::Out(turn)),
            err: self.folder.spool_file(&SpoolName::Err(turn)),
            result: self.folder.spool_file(&SpoolName::Result(turn)),
            after,
            plan,
            folder: self.folder.clone(),
            secrets: self.programs.secrets(),
            progress: self.progress.remove(&turn).unwrap_or_default(),
        };
        self.blocking(move || seal_turn(turn, exit, &limit, ended));
    }

    /// A turn ended while no session lived. What it printed lay there unwatched and must be what the supervisor saw.
    pub(super) fn turn_ended_meanwhile(
        &mut self,
        turn: TurnId,
        plan: &Arc<Plan>,
        mut exit: supervisor::Exit,
    ) {
        let after = self.after(turn);
        let path = |name| self.folder.spool_file(&name);
        let ended = EndedTurn {
            out: path(SpoolName::Out(turn)),
            err: path(SpoolName::Err(turn)),
            result: path(SpoolName::Result(turn)),
            after,
            plan: plan.clone(),
            folder: self.folder.clone(),
            secrets: self.programs.secrets(),
            progress: self.progress.remove(&turn).unwrap_or_default(),
        };
        self.take_message_folder(turn);
        let limit = plan.task(turn.task).turn_timeout.to_string();
        self.blocking(move || {
            let found = std::fs::symlink_metadata(&ended.out).map_or(0, |found| found.len());
            if found != exit.stdout_len {
                let why = format!("it has {found} bytes, {} were printed", exit.stdout_len);
                exit.output_lost.get_or_insert(why);
            }
            seal_turn(turn, exit, &limit, ended)
        });
    }
}

/// What there is of the files that a task's rules name. Blocks.
pub(super) fn files_of(plan: &Plan, task: TaskId) -> Vec<FileFact> {
    let task_plan = plan.task(task);
    let checks = task_plan.expectations.as_deref().map_or(&[][..], |e| &e.checks);
    let declared = checks.iter().flat_map(|check| match check {
        Check::FileExists { paths, .. } => paths.as_slice(),
        _ => &[],
    });
    let targets = task_plan.target_files.iter().map(AsRef::as_ref);
    let criteria = task_plan.verification.as_deref().map_or(&[][..], |v| &v.criteria);
    let spoken_of = named_files(criteria);
    evidence::scan(
        &workspace(plan, task),
        targets
            .chain(declared.map(String::as_str))
            .chain(spoken_of.iter().map(String::as_str))
            .chain(task_plan.scrutiny.screenshots()),
    )
}

/// Makes sure that there is nothing at a path of the spool.
pub(super) fn clear(path: &Path) -> Result<(), String> {
    store::remove_all(path).map_err(|error| format!("cannot remove {}: {error}", path.display()))
}

/// What a turn left behind, and what it is held against.
struct EndedTurn {
    out: PathBuf,
    err: PathBuf,
    result: PathBuf,
    after: After,
    plan: Arc<Plan>,
    folder: RunFolder,
    /// What nobody may read of it.
    secrets: Arc<Secrets>,
    /// What it was heard to say of how far it is.
    progress: voice::Heard,
}

/// What a turn that did not end well says of itself.
fn failure_of(plan: &Plan, task: TaskId, exit: &supervisor::Exit, stdout: &str, stderr: &str) -> ToldFailure {
    let task = plan.task(task);
    let first = plan
        .agent(task.agent)
        .spec
        .run
        .as_ref()
        .and_then(|line| match line {
            CommandLine::Argv(argv) => argv.first().map(String::as_str),
            CommandLine::Shell(script) => script.split_whitespace().next(),
        });
    let checks = task.expectations.as_deref().map_or(&[][..], |e| &e.checks);
    let of_checks = checks.iter().flat_map(|check| match check {
        Check::FileExists { paths, .. } => paths.as_slice(),
        _ => &[],
    });
    let targets = task.target_files.iter().map(AsRef::as_ref);
    let declared: Vec<&str> = targets.chain(of_checks.map(String::as_str)).collect();
    read_command(&CommandEnd {
        program: first
            .and_then(|first| first.rsplit('/').next())
            .unwrap_or_default(),
        code: exit.code,
        timed_out: exit.timed_out,
        stderr,
        stdout,
        declared: &declared,
        at: here_and_now(),
    })
}

/// Makes what a turn left behind durable, reads its claims and looks at what it did.
fn seal_turn(turn: TurnId, mut exit: supervisor::Exit, limit: &str, mut files: EndedTurn) -> Vec<Input> {
    let mut inputs = Vec::new();
    let dropped = files.folder.spool_file(&SpoolName::Drop(turn));
    if exit.output_cut {
        let most = files.plan.rules.max_output;
        let title = &files.plan.task(turn.task).title;
        inputs.push(Input::Warn(format!(
            "'{title}' printed more than maxOutput ({most} bytes) in turn {turn}: the rest was cut"
        )));
    }
    clean(&files.secrets, &files.out, &mut exit);
    clean_stderr(&files.secrets, &files.err);
    let cleaned = voice::clean(&dropped, &files.secrets);
    let cleaned =
        cleaned.map_err(|why| Input::Warn(format!("turn {turn}: what it said is not clean: {why}")));
    inputs.extend(cleaned.err());
    // Its last word may have come since it was last listened to.
    let last_word = files.progress.anew(&dropped, &files.secrets);
    inputs.extend(last_word.map(|text| Input::Activity { turn, text }));
    let failure = || {
        let stderr = read_tail(&files.err, STDERR_TAIL).unwrap_or_default();
        let stdout = read_tail(&files.out, STDOUT_TAIL).unwrap_or_default();
        failure_of(&files.plan, turn.task, &exit, &stdout, &stderr)
    };
    let mut end = turn_end(turn, &exit, limit, failure);
    match seal(&files.err) {
        Sealed::Refused(why) => inputs.push(Input::Warn(format!("{}: {why}", files.err.display()))),
        sealed => end.stderr = sealed.file(),
    }
    match seal(&files.out) {
        Sealed::Refused(why) => lose_output(&mut end.exit, &why),
        sealed => end.output = sealed.file(),
    }
    // It may have grown since, but what is gone of it may have been the work.
    let found = end.output.as_ref().map_or(0, |out| out.len);
    if found < exit.stdout_len && end.exit.message.is_none() {
        let why = format!("it has {found} bytes, {} were printed", exit.stdout_len);
        lose_output(&mut end.exit, &why);
    }
    let (mut claimed, mut said) = (None, None);
    let mut handed_down = serde_json::Value::Null;
    match clean_file(&files.secrets, &files.result).and_then(|()| read_claims(&files.result)) {
        Ok(Some((file, claims))) => {
            end.usage = claims.usage.as_usage();
            handed_down = claims.delegate;
            end.result = Some(file);
            (claimed, said) = (claims.question, claims.output);
        }
        Ok(None) => {}
        Err(why) => inputs.push(Input::Warn(format!("turn {turn}: {why}; it is ignored"))),
    }
    let handed_down = voice::delegated(&dropped, handed_down);
    let (sub_tasks, refused) = voice::handed_down(&files.plan, turn.task, &handed_down);
    end.delegate = sub_tasks;
    let title = &files.plan.task(turn.task).title;
    let warn = |why| Input::Warn(format!("'{title}' wants to delegate work: {why}"));
    inputs.extend(refused.into_iter().take(REFUSALS).map(warn));
    if end.exit.failure.is_none() {
        if middleware::listens(&files.plan, turn.task) {
            let printed = match (&said, &end.output) {
                (None, Some(_)) => read_tail(&files.out, LAST_MESSAGE),
                _ => Ok(String::new()),
            };
            let printed = printed.unwrap_or_else(|error| {
                let why = format!("turn {turn}: its last words cannot be heard: {error}");
                inputs.push(Input::Warn(why));
                String::new()
            });
            let message = match &said {
                Some(claimed) => Said::Message(claimed),
                None => Said::Printed(&printed),
            };
            let heard = middleware::after(&files.plan, turn.task, &end.exit, message);
            end.broken = heard.broken;
            end.cues = heard.cues;
            inputs.extend(heard.warning.map(Input::Warn));
        }
        let can_confirm = files.plan.rules.orchestrator.is_some();
        if can_confirm && said.is_none() && end.output.as_ref().is_some_and(|out| out.len <= SHORT_OUTPUT) {
            said = read_head(&files.out, SHORT_OUTPUT).ok();
        }
        end.asked = voice::asked(&dropped, claimed, said, can_confirm);
    }
    end.files = files.after.seen(&files.plan, &files.folder, turn.task);
    inputs.push(Input::TurnEnded(Box::new(end)));
    inputs
}

fn turn_end(
    turn: TurnId,
    exit: &supervisor::Exit,
    limit: &str,
    told: impl FnOnce() -> ToldFailure,
) -> TurnEnd {
    let failed = exit.timed_out || exit.code != Some(0);
    let told = failed.then(told);
    let said = told.as_ref().map_or("", |told| told.reason.as_str());
    let quote: String = said.chars().take(LONGEST_QUOTE).collect();
    let said = if quote.is_empty() {
        quote
    } else {
        format!(": {quote}")
    };
    let message = match (exit.timed_out, exit.code, exit.signal) {
        (true, _, _) => Some(format!("killed after {limit}{said}")),
        (false, Some(0), _) => None,
        (false, Some(code), _) => Some(format!("exited {code}{said}")),
        (false, None, signal) => {
            let signal = signal.unwrap_or_default();
            Some(format!("killed by signal {signal}{said}"))
        }
    };
    let failure = told.as_ref().map(|told| told.class);
    let lost = exit.output_lost.as_deref();
    let mut end = Exit {
        code: exit.code.filter(|code| *code != 0),
        signal: exit.signal,
        failure,
        message,
        retry_after: told.and_then(|told| told.retry_after),
    };
    if let Some(lost) = lost {
        lose_output(&mut end, lost);
    }
    TurnEnd {
        turn,
        exit: end,
        interrupted: exit.terminated && !exit.timed_out,
        killed: exit.timed_out,
        jitter: jitter(),
        duration: Millis(exit.duration_ms),
        ..TurnEnd::clean(turn)
    }
}

/// What it printed may have been its work, so this is no success, however the turn ended.
fn lose_output(exit: &mut Exit, why: &str) {
    exit.failure.get_or_insert(FailureClass::Unknown);
    let how = exit.message.take().unwrap_or_else(|| "exited 0".to_owned());
    exit.message = Some(format!("{how}, but its output is lost: {why}"));
}

pub(super) fn declared_check(plan: &Plan, task: TaskId, check: u32) -> Option<&Check> {
    plan.task(task)
        .expectations
        .as_deref()?
        .checks
        .get(check as usize)
}

pub(super) fn check_result(
    plan: &Plan,
    task: TaskId,
    check: u32,
    exit: &supervisor::Exit,
    output: &Path,
) -> CheckResult {
    // A metric prints one number and nothing else, so that more than this is none. What went wrong with a command stands at
    // the end.
    let read = match declared_check(plan, task, check) {
        Some(Check::Metric { .. }) => read_head(output, CHECK_SHOWN).map(|mut head| {
            if exit.stdout_len > CHECK_SHOWN {
                head.push('…');
            }
            head
        }),
        _ => read_tail(output, CHECK_SHOWN),
    };
    judged(plan, task, check, &command_outcome(exit, read))
}

/// How a command ended, with what was read of its output.
pub(super) fn command_outcome(exit: &supervisor::Exit, read: std::io::Result<String>) -> CommandOutcome {
    let (output, unreadable) = match read {
        Ok(output) => (output, None),
        Err(error) => (String::new(), Some(error.to_string())),
    };
    CommandOutcome {
        code: exit.code,
        signal: exit.signal,
        timed_out: exit.timed_out,
        not_started: None,
        output_lost: exit.output_lost.clone().or(unreadable),
        output,
        duration: Millis(exit.duration_ms),
    }
}

fn judged(plan: &Plan, task: TaskId, check: u32, outcome: &CommandOutcome) -> CheckResult {
    match declared_check(plan, task, check) {
        Some(declared) => command_result(declared, outcome),
        None => CheckResult {
            passed: false,
            message: "there is no such check".to_owned(),
            duration: Millis(0),
        },
    }
}

/// How the command of a check is started; `None` for one that runs none. The label is the caller's.
pub(super) fn check_spawn(
    plan: &Plan,
    task: TaskId,
    check: u32,
    variables: Vec<(String, String)>,
    output: PathBuf,
) -> Option<Spawn> {
    let folder = workspace(plan, task);
    let declared = declared_check(plan, task, check)?;
    let (command, timeout, cwd) = match declared {
        Check::Command {
            command,
            timeout,
            cwd,
            ..
        } => {
            let cwd = cwd
                .as_ref()
                .map_or_else(|| folder.clone(), |cwd| folder.join(cwd));
            (command, *timeout, cwd)
        }
        Check::Metric { command, timeout, .. } => (command, *timeout, folder),
        Check::FileExists { .. } => return None,
    };
    Some(Spawn {
        argv: check_argv(command),
        env: environment(variables),
        cwd,
        // One file for both, so that errors stand where they happened. A metric's number must stand alone.
        stderr: (!matches!(declared, Check::Metric { .. })).then(|| output.clone()),
        stdout: Some(output),
        // What a metric prints decides, of the others it is how they end.
        sealed: matches!(declared, Check::Metric { .. }),
        timeout_ms: Some(timeout.0),
        ..Spawn::default()
    })
}

/// What a check says that looks at files; `None` for one that runs a command. Blocks.
pub(super) fn files_check(plan: &Plan, task: TaskId, check: u32) -> Option<CheckResult> {
    let Check::FileExists {
        paths,
        min_bytes,
        contains,
    } = declared_check(plan, task, check)?
    else {
        return None;
    };
    let folder = workspace(plan, task);
    Some(files_result(&folder, paths, *min_bytes, contains.as_deref()))
}

/// What a check says whose command could not be started.
pub(super) fn check_never_started(plan: &Plan, task: TaskId, check: u32, why: String) -> CheckResult {
    let outcome = CommandOutcome {
        not_started: Some(why),
        ..CommandOutcome::default()
    };
    judged(plan, task, check, &outcome)
}

/// There never was a process.
fn never_started(child: Child, plan: &Plan, message: String) -> Option<Input> {
    Some(match child {
        Child::Turn(turn) => Input::TurnRequestFailed {
            turn,
            class: FailureClass::Unknown,
            before_effect: true,
            message,
            retry_after: None,
            jitter: jitter(),
        },
        Child::Check { task, attempt, check } => Input::CheckFinished {
            task,
            attempt,
            check,
            result: check_never_started(plan, task, check, message),
        },
        Child::Finish { turn, command } => {
            let outcome = CommandOutcome {
                not_started: Some(message),
                ..CommandOutcome::default()
            };
            super::finish::finished(plan, turn, command, &outcome)
        }
        Child::Seat { task, seat } => seat_failed(task, seat, Failed::of(FailureClass::Unknown, message)),
        Child::Step(run) => run.never_started(plan, message),
        Child::Approver(question) => question.not_asked(&message),
        Child::Consult { id, .. } => consult::failure(id, Failed::of(FailureClass::Unknown, message)),
        // Its round, or whoever waits for it, takes its end by itself.
        Child::Probe { .. } | Child::Errand(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_whose_output_is_lost_failed() {
        let turn = TurnId {
            task: TaskId(0),
            attempt: 1,
            turn: 1,
        };
        let exit = |code, lost: Option<&str>| supervisor::Exit {
            code: Some(code),
            output_lost: lost.map(str::to_owned),
            ..supervisor::Exit::default()
        };
        let unknown = || ToldFailure {
            class: FailureClass::Unknown,
            retry_after: None,
            reason: String::new(),
        };
        let end = |exit| turn_end(turn, &exit, "1ms", unknown).exit;
        assert_eq!(end(exit(0, None)), Exit::default());
        let lost = end(exit(0, Some("the folder is gone")));
        assert_eq!(lost.failure, Some(FailureClass::Unknown));
        assert_eq!(
            lost.message.unwrap(),
            "exited 0, but its output is lost: the folder is gone"
        );
        let both = end(exit(3, Some("the folder is gone")));
        assert_eq!(
            both.message.unwrap(),
            "exited 3, but its output is lost: the folder is gone"
        );
    }
}
