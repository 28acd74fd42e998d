//! Calls to the reviewers of a panel, and to those of an evaluation.

use std::sync::Arc;

use crate::agents::cassette::Call;
use crate::agents::command::{ChildEnv, Program};
use crate::agents::endpoint::Endpoint;
use crate::agents::line::Line;
use crate::agents::model::ModelRequest;
use crate::agents::secrets::Secrets;
use crate::domain::{AgentId, FailureClass, TaskId};
use crate::engine::{
    Effect, Input, ReplyRef, SeatFailure, SeatId, SeatResult, State, TaskState, prior_points,
};
use crate::executor::command::CommandJob;
use crate::executor::runner::CommandRequest;
use crate::executor::spool::write_told;
use crate::executor::task_command::TaskCommands;
use crate::judging::parser::Quoted;
use crate::mission::Plan;
use crate::review::judgement::Judgement;
use crate::review::prompt::{self, JudgePrompt};
use crate::review::verdict::{self, Reply};
use crate::store::{RunFolder, SpoolName};

use super::commands::request;
use super::looking::{self, Answered, Looking, Offer, Question};
use super::material::Material;
use super::reach::{Reach, Toolless};
use super::world::{Message, Sender, World, jitter};

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
    commands: TaskCommands,
    task_state: TaskState,
    agent: AgentId,
    program: Arc<Program>,
    env: Arc<ChildEnv>,
    call: SeatCall,
}

impl Reviewer {
    /// What it is started with, its request written; and what is done with its reply. Blocks.
    fn prepare(self, sender: Sender) -> Result<CommandRequest, Box<Input>> {
        let SeatCall { task, seat, .. } = self.call;
        let prepared = self.job();
        let (job, judgement) =
            prepared.map_err(|message| Box::new(seat_failed(task, seat, Failed::ours(message))))?;
        let TaskCommands { plan, folder, .. } = self.commands;
        Ok(request(sender, task, job, move |end| {
            let parse =
                |reply: Reply<'_>, said: &Quoted| verdict::of_seat(panel_of(&plan, task), reply, said);
            let place = place(&folder, task, seat);
            let read = reply::of_command("the reviewer", &end, judgement, &place, parse);
            said(task, seat, read)
        }))
    }

    fn job(&self) -> Result<(CommandJob, Judgement), String> {
        let (commands, call) = (&self.commands, &self.call);
        let (task, seat) = (call.task, call.seat);
        let from = (&commands.folder, &*commands.secrets);
        let (asked, judgement) = judge_prompt(from, &commands.plan, &self.task_state, call)?;
        let write = |name, bytes: &[u8]| write_told(&commands.file(&name), bytes);
        let request = write(SpoolName::Request(task, seat), asked.joined().as_bytes())?;
        let review = write(
            SpoolName::Review(task, seat),
            &review_json(&commands.plan, call, &asked),
        )?;
        let files = [
            SpoolName::Reply(task, seat),
            SpoolName::ReplyErr(task, seat),
            SpoolName::ReplyResult(task, seat),
        ];
        let agent = (&*self.program, &*self.env);
        let job = CommandJob {
            label: format!("{}.{}.judge.{}", task.0, seat.attempt, seat.seat),
            timeout: review_timeout(commands.plan.agent(self.agent)),
            ..commands.asking(agent, (request, Some(review)), files, Vec::new())?
        };
        Ok((job, judgement))
    }
}

impl World {
    /// Asks a reviewer.
    pub(super) fn call_seat(&mut self, state: &State, effect: Effect) {
        let Effect::CallSeat {
            task,
            seat,
            agent,
            strict,
            ..
        } = &effect
        else {
            return;
        };
        let (task, seat, agent) = (*task, *seat, *agent);
        let strict = strict.clone();
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
            Some(Reach::Command(program, env)) => {
                let reviewer = Reviewer {
                    commands: self.task_commands(&state.plan, task, seat.attempt),
                    task_state: state.task(task).clone(),
                    agent,
                    program,
                    env,
                    call,
                };
                let sender = self.sender.clone();
                self.prepare(effect, || reviewer.prepare(sender));
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
