//! Calls to the reviewers of a panel, and to those of an evaluation.

use std::path::Path;
use std::sync::Arc;

use crate::agents::cassette::Call;
use crate::agents::command::{Placeholders, Program, Surroundings};
use crate::agents::endpoint::Endpoint;
use crate::agents::line::Line;
use crate::agents::model::ModelRequest;
use crate::agents::secrets::Secrets;
use crate::domain::{AgentId, FailureClass, TaskId};
use crate::engine::{Input, ReplyRef, SeatFailure, SeatId, SeatResult, State, TaskState, prior_points};
use crate::judging::parser::Quoted;
use crate::mission::Plan;
use crate::review::judgement::Judgement;
use crate::review::prompt::{self, JudgePrompt};
use crate::review::verdict::{self, Reply};
use crate::store::{RunFolder, SpoolName};
use crate::supervisor::{self, Spawn};

use super::looking::{self, Answered, Looking, Offer, Question, Toolless};
use super::material::Material;
use super::reach::Reach;
use super::session::RunError;
use super::spool::write_told;
use super::world::{Child, Message, World, jitter, workspace};

use super::calls::{panel_of, review_timeout};
use super::reply::{self, Failed, Place};

/// One call to a reviewer.
#[derive(Debug, Clone)]
pub(super) struct SeatCall {
    pub task: TaskId,
    pub seat: SeatId,
    pub strict: Option<String>,
}

/// A command judge that is to be asked.
struct Reviewer {
    plan: Arc<Plan>,
    folder: RunFolder,
    secrets: Arc<Secrets>,
    task_state: TaskState,
    variables: Vec<(String, String)>,
    agent: AgentId,
    program: Arc<Program>,
    surroundings: Arc<Surroundings>,
    call: SeatCall,
}

/// A command judge that can be started, or why not.
pub(super) struct Prepared {
    plan: Arc<Plan>,
    task: TaskId,
    seat: SeatId,
    asked: Result<(Box<Spawn>, Judgement), String>,
}

impl Reviewer {
    /// What it is to be started with; its request is written. Blocks.
    fn prepare(&self) -> Result<(Box<Spawn>, Judgement), String> {
        let (plan, call) = (&self.plan, &self.call);
        let (asked, judgement) = judge_prompt((&self.folder, &self.secrets), plan, &self.task_state, call)?;
        let request = self.folder.spool_file(&SpoolName::Request(call.task, call.seat));
        let review = self.folder.spool_file(&SpoolName::Review(call.task, call.seat));
        let as_json = review_json(plan, call, &asked);
        let told = vec![
            write_told(&request, asked.joined().as_bytes())?,
            write_told(&review, &as_json)?,
        ];
        let cwd = workspace(plan, call.task);
        let mut variables = self.variables.clone();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        variables.push(("QUORUM_PROMPT_FILE".to_owned(), text(&request)));
        variables.push(("QUORUM_REVIEW_FILE".to_owned(), text(&review)));
        let result = self
            .folder
            .spool_file(&SpoolName::ReplyResult(call.task, call.seat));
        reply::offer_result(&result, &mut variables)?;
        let placeholders = Placeholders {
            task: &plan.task(call.task).title,
            attempt: &call.seat.attempt.to_string(),
            prompt_file: &text(&request),
            workspace: &text(&cwd),
        };
        let file = |name| self.folder.spool_file(&name);
        let spawn = Spawn {
            label: format!("{}.{}.judge.{}", call.task.0, call.seat.attempt, call.seat.seat),
            argv: self.program.argv(&placeholders),
            env: self.surroundings.with(variables),
            cwd,
            stdin: Some(request.clone()),
            told,
            sealed: true,
            stdout: Some(file(SpoolName::Reply(call.task, call.seat))),
            stderr: Some(file(SpoolName::ReplyErr(call.task, call.seat))),
            timeout_ms: Some(review_timeout(plan.agent(self.agent)).0),
            ..Spawn::default()
        };
        Ok((Box::new(spawn), judgement))
    }
}

impl World {
    /// Asks a reviewer.
    pub(super) fn call_seat(
        &mut self,
        state: &State,
        task: TaskId,
        seat: SeatId,
        agent: AgentId,
        strict: Option<String>,
    ) {
        let call = SeatCall { task, seat, strict };
        let name = state.plan.agent(agent).name.clone();
        match self.programs.get(agent).cloned() {
            None => {
                let message = format!("reviewer '{name}' cannot be reached");
                self.post(seat_failed(
                    task,
                    seat,
                    Failed::of(FailureClass::Unknown, message),
                ));
            }
            Some(Reach::Command(program, surroundings)) => {
                let reviewer = Reviewer {
                    plan: state.plan.clone(),
                    folder: self.folder.clone(),
                    secrets: self.programs.secrets(),
                    task_state: state.task(task).clone(),
                    variables: self.task_variables(&state.plan, task, seat.attempt),
                    agent,
                    program,
                    surroundings,
                    call,
                };
                self.prepare_reviewer(reviewer);
            }
            Some(Reach::Echo) => self.echo_reviewer(state, call),
            Some(Reach::Model(endpoint)) => {
                let on_record = Call {
                    task: state.plan.task(task).title.to_string(),
                    agent: name.to_string(),
                    attempt: seat.attempt,
                    stage: "judge".to_owned(),
                    place: vec![seat.seat, seat.round, seat.attempt_try],
                };
                match self.line(agent, &endpoint, on_record) {
                    Err(message) => self.post(seat_failed(task, seat, Failed::ours(message))),
                    Ok(line) => self.ask_model(state, call, agent, line, *endpoint),
                }
            }
        }
    }

    /// Reads the work and writes the request, beside the loop.
    fn prepare_reviewer(&self, reviewer: Reviewer) {
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            let prepared = Prepared {
                asked: reviewer.prepare(),
                plan: reviewer.plan,
                task: reviewer.call.task,
                seat: reviewer.call.seat,
            };
            // After the loop has ended nobody wants to know.
            let _ = sender.send(Message::Prepared(Box::new(prepared)));
        });
    }

    /// Starts a command judge whose request is written, if it is still wanted.
    pub(super) fn start_reviewer(&mut self, state: &State, prepared: Prepared) -> Result<(), RunError> {
        let Prepared {
            plan,
            task,
            seat,
            asked,
        } = prepared;
        let wanted = state.task(task).seat_id(seat.seat as usize) == Some(seat);
        if self.is_stopping() || !wanted {
            return Ok(());
        }
        match asked {
            Ok((spawn, judgement)) => {
                self.judgements.insert((task, seat), judgement);
                // If there is nobody left to start it, that is no failure of the judge.
                self.spawn(&plan, Child::Seat { task, seat }, *spawn)
            }
            Err(message) => {
                self.post(seat_failed(task, seat, Failed::ours(message)));
                Ok(())
            }
        }
    }

    /// A command judge ended.
    pub(super) fn seat_exited(
        &mut self,
        task: TaskId,
        seat: SeatId,
        plan: Arc<Plan>,
        exit: supervisor::Exit,
    ) {
        let secrets = self.programs.secrets();
        let folder = self.folder.clone();
        let stderr = folder.spool_file(&SpoolName::ReplyErr(task, seat));
        let judgement = self.judgements.remove(&(task, seat));
        self.blocking(move || {
            let place = place(&folder, task, seat);
            let parse =
                |reply: Reply<'_>, said: &Quoted| verdict::of_seat(panel_of(&plan, task), reply, said);
            let read = reply::of_command(
                "the reviewer",
                (exit, &stderr),
                &secrets,
                judgement.as_ref(),
                &place,
                parse,
            );
            vec![said(task, seat, read)]
        });
    }

    fn ask_model(&mut self, state: &State, call: SeatCall, agent: AgentId, line: Line, endpoint: Endpoint) {
        let plan = state.plan.clone();
        let folder = self.folder.clone();
        let secrets = self.programs.secrets();
        let task_state = state.task(call.task).clone();
        let toolless = self.toolless.clone();
        let sender = self.sender.clone();
        let work = tokio::spawn(async move {
            let asked = AskedSeat {
                plan: &plan,
                folder: &folder,
                secrets: &secrets,
                task_state: &task_state,
                call: &call,
                agent,
                toolless: &toolless,
            };
            for input in asked.ask(&line, &endpoint).await {
                // After the loop has ended nobody wants to know.
                let _ = sender.send(Message::Input(input));
            }
        });
        self.keep_track(work.abort_handle());
    }
}

/// A call to a reviewer behind an HTTP endpoint.
struct AskedSeat<'a> {
    plan: &'a Arc<Plan>,
    folder: &'a RunFolder,
    secrets: &'a Arc<Secrets>,
    task_state: &'a TaskState,
    call: &'a SeatCall,
    agent: AgentId,
    toolless: &'a Toolless,
}

impl AskedSeat<'_> {
    /// Asks it, with tools where it judges files. What comes back, and what a person should know.
    async fn ask(&self, line: &Line, endpoint: &Endpoint) -> Vec<Input> {
        let prepared = match self.prepare(line.is_on_record()).await {
            Ok(prepared) => prepared,
            Err(message) => return vec![self.failed(message)],
        };
        let (asked, judgement, looking) = prepared;
        let spec = &self.plan.agent(self.agent).spec;
        let panel = panel_of(self.plan, self.call.task);
        let asks_for_answers = !prior_points(self.plan, self.call.task, self.task_state).is_empty();
        let question = Question {
            line,
            endpoint,
            request: ModelRequest {
                system: Some(asked.system),
                prompt: asked.user,
                images: Vec::new(),
                schema: panel.map(|panel| prompt::panel_schema(&panel.dimensions, asks_for_answers)),
                temperature: spec.temperature,
                max_tokens: spec.max_tokens,
                timeout: review_timeout(self.plan.agent(self.agent)).as_duration(),
            },
            request_file: self
                .folder
                .spool_file(&SpoolName::Request(self.call.task, self.call.seat)),
        };
        let answered = looking::ask(question, looking.as_ref()).await;
        let warning = answered.warning.clone().map(Input::Warn);
        warning
            .into_iter()
            .chain([self.read(answered, judgement, endpoint).await])
            .collect()
    }

    /// What it is asked, what the work says, and what it may look with.
    async fn prepare(&self, is_on_record: bool) -> Result<(JudgePrompt, Judgement, Option<Looking>), String> {
        let (plan, folder, toolless) = (self.plan.clone(), self.folder.clone(), self.toolless.clone());
        let secrets = self.secrets.clone();
        let (task_state, call, agent) = (self.task_state.clone(), self.call.clone(), self.agent);
        let prepared = tokio::task::spawn_blocking(move || {
            let (asked, judgement) = judge_prompt((&folder, &secrets), &plan, &task_state, &call)?;
            let offer = Offer {
                plan: &plan,
                folder: &folder,
                judged: &[(call.task, task_state.clone())],
                agent,
                ledger: folder.spool_file(&SpoolName::Tools(call.task, call.seat)),
                toolless: &toolless,
                secrets: &secrets,
                is_on_record,
            };
            let judged = (plan.clone(), call.task);
            // One that is asked once more is not asked a third time.
            let is_last = call.strict.is_some();
            let has_form = move |text: &str, said: &Quoted| {
                let reply = Reply {
                    text,
                    len: text.len() as u64,
                    cut_short: false,
                };
                let read = verdict::of_seat(panel_of(&judged.0, judged.1), reply, said);
                is_last || !matches!(read, SeatResult::Unparsed { .. })
            };
            let looking = offer.looking(judgement.work.clone(), Box::new(has_form))?;
            Ok((asked, judgement, looking))
        });
        prepared.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn read(&self, answered: Answered, judgement: Judgement, endpoint: &Endpoint) -> Input {
        let (task, seat, plan) = (self.call.task, self.call.seat, self.plan.clone());
        let place = place(self.folder, task, seat);
        let parse =
            move |reply: Reply<'_>, said: &Quoted| verdict::of_seat(panel_of(&plan, task), reply, said);
        let read = reply::of_model(answered, judgement, endpoint, place, parse).await;
        said(task, seat, read)
    }

    fn failed(&self, message: String) -> Input {
        seat_failed(self.call.task, self.call.seat, Failed::ours(message))
    }
}

fn place(folder: &RunFolder, task: TaskId, seat: SeatId) -> Place {
    Place {
        reply: folder.spool_file(&SpoolName::Reply(task, seat)),
        judgement: folder.spool_file(&SpoolName::Judgement(task, seat)),
        result: folder.spool_file(&SpoolName::ReplyResult(task, seat)),
    }
}

fn said(task: TaskId, seat: SeatId, read: Result<(SeatResult, ReplyRef), Failed>) -> Input {
    match read {
        Ok((result, reply)) => Input::SeatReplied {
            task,
            seat,
            reply,
            result,
        },
        Err(failed) => seat_failed(task, seat, failed),
    }
}

/// What a reviewer is asked, and the record of that. Reads the work's output and files. Blocks.
///
/// # Errors
/// When the output is not what was recorded: work whose evidence is lost is not judged by the rest of it.
pub(super) fn judge_prompt(
    from: (&RunFolder, &Secrets),
    plan: &Plan,
    task_state: &TaskState,
    call: &SeatCall,
) -> Result<(JudgePrompt, Judgement), String> {
    let material = Material::gather(
        from,
        plan,
        call.task,
        task_state,
        &[(call.task, task_state.clone())],
    )?;
    let work = material.work(plan, call.task);
    let asked = match panel_of(plan, call.task) {
        Some(panel) => prompt::panel(&work, &panel.dimensions, call.strict.as_deref()),
        None => prompt::evaluation(&work, call.strict.as_deref()),
    };
    let prior = work.prior.points.len();
    let judgement = material.judgement(&asked.joined(), prior);
    Ok((asked, judgement))
}

/// The review request for a command judge that would rather not read prose.
fn review_json(plan: &Plan, call: &SeatCall, asked: &JudgePrompt) -> Vec<u8> {
    let task = plan.task(call.task);
    let dimensions: Vec<_> = panel_of(plan, call.task)
        .into_iter()
        .flat_map(|panel| &panel.dimensions)
        .map(|dimension| {
            serde_json::json!({
                "name": dimension.name,
                "weight": dimension.weight.to_string(),
                "description": dimension.description,
            })
        })
        .collect();
    let request = serde_json::json!({
        "schema": "quorum.review-request/v1",
        "task": task.title,
        "description": task.description,
        "attempt": call.seat.attempt,
        "round": call.seat.round,
        "seat": call.seat.seat,
        "try": call.seat.attempt_try,
        "strict": call.strict,
        "dimensions": dimensions,
        "acceptance": task.acceptance,
        "prompt": asked.joined(),
    });
    request.to_string().into_bytes()
}

/// A reviewer gave no reply.
pub(super) fn seat_failed(task: TaskId, seat: SeatId, failed: Failed) -> Input {
    Input::SeatFailed(Box::new(SeatFailure {
        task,
        seat,
        class: failed.class,
        message: failed.message,
        retry_after: failed.retry_after,
        jitter: jitter(),
        used: failed.used,
        ours: failed.ours,
    }))
}
