//! Consulting agents: what they are asked is written, they are started or called, their reply is stored and read.

use std::path::Path;
use std::sync::Arc;

use crate::agents::cassette;
use crate::agents::command::{Placeholders, Surroundings};
use crate::agents::endpoint::Endpoint;
use crate::agents::line::Line;
use crate::agents::model::{Image, ModelRequest};
use crate::domain::{AgentId, ConsultId, Digest, FailureClass, Millis, Purpose, Step, Timestamp, TurnId};
use crate::engine::{ConsultFailure, FileRef, Input, ReplyRef, State, TaskState, Usage, Used};
use crate::judging::parser::Quoted;
use crate::keeper::{self, Spawn};
use crate::mission::Plan;
use crate::review;
use crate::review::consult::{self as prompt, MAX_SAID, Subject};
use crate::review::fence::Excerpt;
use crate::review::judgement::{Inputs, Judgement};
use crate::review::pictures::Picture;
use crate::review::verdict::{self, Reply};
use crate::store::{self, RunFolder, SpoolName};

use super::calls::{
    LARGEST_REPLY, review_timeout, reviewer_failure, store_reply, write_judgement, write_reply,
};
use super::looking::{self, Answered, Looking, Offer, Question, Toolless};
use super::material::{Judged, Material, judged};
use super::reach::Reach;
use super::scrutiny;
use super::session::RunError;
use super::spool::{Sealed, read_head, read_output, seal};
use super::world::{Child, Message, World, jitter, workspace};

/// One call to a consulted agent, with what it is about as it stood when the call was decided on.
#[derive(Clone)]
struct Call {
    id: ConsultId,
    purpose: Purpose,
    agent: AgentId,
    plan: Arc<Plan>,
    folder: RunFolder,
    task: TaskState,
    /// The task that the purpose names beside it.
    other: Option<TaskState>,
    /// Whose work is graded.
    judged: Vec<Judged>,
}

impl World {
    /// Consults an agent.
    pub(super) fn consult(
        &mut self,
        state: &State,
        id: ConsultId,
        purpose: Purpose,
        agent: AgentId,
    ) -> Result<(), RunError> {
        let other = match purpose {
            Purpose::Resolve { dependency } => Some(state.task(dependency).clone()),
            Purpose::Confirm
            | Purpose::Answer
            | Purpose::Approve { .. }
            | Purpose::Grade { .. }
            | Purpose::Scrutinise { .. } => None,
        };
        let call = Call {
            id,
            purpose,
            agent,
            plan: state.plan.clone(),
            folder: self.folder.clone(),
            task: state.task(id.task).clone(),
            other,
            judged: match purpose {
                Purpose::Grade { .. } => judged(state, id.task),
                _ => Vec::new(),
            },
        };
        match self.programs.get(agent).cloned() {
            None => {
                let message = format!("agent '{}' cannot be reached", call.plan.agent(agent).name);
                self.post(failure(id, FailureClass::Unknown, message, None));
            }
            Some(Reach::Command(program, surroundings)) => {
                let variables = self.task_variables(&call.plan, id.task, call.task.attempt);
                match call.spawn(&program, &surroundings, variables) {
                    Ok((spawn, judgement)) => {
                        self.consulted.insert(id, judgement);
                        return self.spawn(&call.plan, Child::Consult { id, purpose }, spawn);
                    }
                    Err(message) => self.post(own_failure(id, message)),
                }
            }
            Some(Reach::Echo) => self.blocking(move || vec![call.echo()]),
            Some(Reach::Model(endpoint)) => match self.line(agent, &endpoint, call.on_record()) {
                Err(message) => self.post(failure(id, FailureClass::Unknown, message, None)),
                Ok(line) => {
                    let (sender, toolless) = (self.sender.clone(), self.toolless.clone());
                    let work = tokio::spawn(async move {
                        for input in call.ask_model(&line, &endpoint, &toolless).await {
                            // After the loop has ended nobody wants to know.
                            let _ = sender.send(Message::Input(input));
                        }
                    });
                    self.keep_track(work.abort_handle());
                }
            },
        }
        Ok(())
    }

    /// A consulted command ended.
    pub(super) fn consult_exited(&mut self, id: ConsultId, purpose: Purpose, exit: keeper::Exit) {
        let folder = self.folder.clone();
        let stderr = folder.spool_file(&SpoolName::ConsultErr(id));
        let judgement = self.consulted.remove(&id);
        self.blocking(move || {
            vec![match (reviewer_failure("the agent", &exit, &stderr), judgement) {
                (Some((class, message)), _) => failure(id, class, message, None),
                (None, Some(judgement)) => read(&folder, id, purpose, &judgement, None, Usage::default()),
                (None, None) => {
                    let message = "what the agent was asked is not known any more".to_owned();
                    failure(id, FailureClass::Unknown, message, None)
                }
            }]
        });
    }
}

impl Call {
    fn path(&self, name: SpoolName) -> std::path::PathBuf {
        self.folder.spool_file(&name)
    }

    /// What a recorded reply is found by.
    fn on_record(&self) -> cassette::Call {
        cassette::Call {
            task: self.plan.task(self.id.task).title.to_string(),
            agent: self.plan.agent(self.agent).name.to_string(),
            attempt: self.task.attempt,
            stage: self.purpose.as_str().to_owned(),
            place: vec![self.id.number, self.id.attempt_try],
        }
    }

    /// How long the call may take: as the stage says, else as the agent does.
    fn timeout(&self) -> Millis {
        let stage = match self.purpose {
            Purpose::Scrutinise {
                step: Step::Stage(n), ..
            } => self.plan.task(self.id.task).scrutiny.stage(n),
            _ => None,
        };
        let own = stage.and_then(|stage| stage.timeout);
        own.unwrap_or_else(|| review_timeout(self.plan.agent(self.agent)))
    }

    /// The pictures that it is to look at. Blocks.
    fn pictures(&self) -> Result<Vec<Picture>, String> {
        match self.purpose {
            Purpose::Scrutinise { step, .. } => scrutiny::pictures_of(&self.plan, self.id.task, step),
            _ => Ok(Vec::new()),
        }
    }

    /// What it is asked, and the record of that; written to the spool. Of pictures the spool knows digests only. Blocks.
    fn write_request(&self, pictures: &[Picture]) -> Result<(String, Judgement), String> {
        let (asked, judgement) = match self.purpose {
            Purpose::Grade { round } => self.grading(round)?,
            Purpose::Scrutinise { step, round } => {
                let task = self.id.task;
                let step = (step, round);
                let (asked, judgement) =
                    scrutiny::compose(&self.folder, &self.plan, &self.task, task, step, pictures)?;
                (asked.joined(), judgement)
            }
            _ => {
                let asked = self.compose()?;
                let (nothing, now) = (Inputs::default(), Timestamp::now());
                let judgement = Judgement::asked(&asked, nothing, Quoted::default(), now);
                (asked, judgement)
            }
        };
        let path = self.path(SpoolName::ConsultRequest(self.id));
        store::write_new(&path, asked.as_bytes())
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok((asked, judgement))
    }

    fn compose(&self) -> Result<String, String> {
        let subject = |id| {
            let plan = self.plan.task(id);
            Subject {
                title: &plan.title,
                description: plan.description.as_deref(),
            }
        };
        let task = subject(self.id.task);
        Ok(match (self.purpose, &self.other) {
            (Purpose::Confirm, _) => prompt::confirm(&task, &self.said(self.id.task, &self.task)?),
            (Purpose::Answer, _) => {
                let dialog = self.task.dialog.as_deref();
                let question = dialog
                    .and_then(|dialog| dialog.open.as_deref())
                    .unwrap_or_default();
                let exchanges = dialog.into_iter().flat_map(|dialog| &dialog.exchanges);
                let earlier: Vec<(String, String)> = exchanges
                    .map(|exchange| (exchange.question.clone(), exchange.answer.clone()))
                    .collect();
                prompt::answer(&task, question, &earlier)
            }
            (Purpose::Grade { .. } | Purpose::Scrutinise { .. }, _) => {
                return Err("a judge is asked with the work before it".to_owned());
            }
            (Purpose::Approve { .. }, _) => {
                let plan = self.plan.task(self.id.task);
                let gate = self.task.waiting.as_ref().map(|waiting| &waiting.gate);
                let approval = plan
                    .approvals
                    .iter()
                    .find(|approval| Some(&approval.gate) == gate);
                let message = approval.and_then(|approval| approval.message.as_deref());
                let message = message.unwrap_or("May this task start?");
                prompt::approve(&task, &self.plan.agent(plan.agent).name, message)
            }
            (Purpose::Resolve { dependency }, Some(other)) => {
                let last = other.feedback.last();
                let findings: Vec<String> = last
                    .into_iter()
                    .flat_map(|feedback| &feedback.findings)
                    .map(|finding| finding.description.clone())
                    .collect();
                prompt::resolve(
                    &task,
                    &prompt::Failed {
                        task: subject(dependency),
                        mode: other.mode.map_or("error", crate::domain::FailureMode::as_str),
                        findings: &findings,
                        // What is lost is no reason not to ask: the failure itself is known.
                        said: &self.said(dependency, other).unwrap_or_default(),
                    },
                )
            }
            (Purpose::Resolve { .. }, None) => return Err("the task it is about is unknown".to_owned()),
        })
    }

    /// What a judge is asked that grades the work by a rubric.
    fn grading(&self, round: u32) -> Result<(String, Judgement), String> {
        let (plan, id) = (&self.plan, self.id.task);
        let verification = plan.task(id).verification.as_deref();
        let rubric =
            verification.and_then(|verification| Some((verification, verification.rubric.as_deref()?)));
        let (verification, rubric) = rubric.ok_or("the task has no rubric any more")?;
        let material = Material::gather(&self.folder, plan, id, &self.task, &self.judged)?;
        let work = material.work(plan, id, &self.task);
        let asked = review::rubric::grades(&work, rubric, &verification.acceptance, round > 1).joined();
        let prior = work.prior_feedback.len();
        let judgement = material.judgement(&asked, prior);
        Ok((asked, judgement))
    }

    /// The same for a command judge that would rather not read prose.
    fn grading_json(&self, round: u32, asked: &str) -> Vec<u8> {
        let task = self.plan.task(self.id.task);
        let rubric = task
            .verification
            .as_deref()
            .and_then(|verification| verification.rubric.as_deref());
        let criteria: Vec<_> = rubric
            .into_iter()
            .flat_map(|rubric| &rubric.criteria)
            .map(|criterion| {
                serde_json::json!({
                    "name": criterion.name,
                    "weight": criterion.weight.get().to_string(),
                    "grade": criterion.grade.as_str(),
                    "required": criterion.required,
                    "description": criterion.description,
                })
            })
            .collect();
        let request = serde_json::json!({
            "schema": "quorum.review-request/v1",
            "task": task.title,
            "description": task.description,
            "attempt": self.task.attempt,
            "round": round,
            "criteria": criteria,
            "prompt": asked,
        });
        request.to_string().into_bytes()
    }

    /// What the agent of a task said last.
    fn said(&self, task: crate::domain::TaskId, state: &TaskState) -> Result<Excerpt, String> {
        let turn = TurnId {
            task,
            attempt: state.attempt,
            turn: state.turn,
        };
        read_output(&self.folder, turn, &state.output, 4 * MAX_SAID)
            .map_err(|error| format!("what the agent said is lost: {error}"))
    }

    fn spawn(
        &self,
        program: &crate::agents::command::Program,
        surroundings: &Surroundings,
        mut variables: Vec<(String, String)>,
    ) -> Result<(Spawn, Judgement), String> {
        let pictures = self.pictures()?;
        let (asked, judgement) = self.write_request(&pictures)?;
        let request = self.path(SpoolName::ConsultRequest(self.id));
        let cwd = workspace(&self.plan, self.id.task);
        // It may be asked before the task's agent has ever worked there.
        if self.plan.task(self.id.task).workspace.is_some() {
            std::fs::create_dir_all(&cwd)
                .map_err(|error| format!("cannot make the workspace {}: {error}", cwd.display()))?;
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        variables.push(("QUORUM_PROMPT_FILE".to_owned(), text(&request)));
        variables.push(("QUORUM_PURPOSE".to_owned(), self.purpose.as_str().to_owned()));
        let as_json = match self.purpose {
            Purpose::Grade { round } => Some(self.grading_json(round, &asked)),
            Purpose::Scrutinise { step, round } => {
                let task = self.id.task;
                let step = (step, round);
                Some(scrutiny::review_json(
                    &self.plan, &self.task, task, step, &asked, &pictures,
                ))
            }
            Purpose::Confirm | Purpose::Answer | Purpose::Resolve { .. } | Purpose::Approve { .. } => None,
        };
        if let Some(json) = as_json {
            let review = self.path(SpoolName::ConsultReview(self.id));
            store::write_new(&review, &json)
                .map_err(|error| format!("cannot write {}: {error}", review.display()))?;
            variables.push(("QUORUM_REVIEW_FILE".to_owned(), text(&review)));
        }
        let placeholders = Placeholders {
            task: &self.plan.task(self.id.task).title,
            attempt: &self.task.attempt.to_string(),
            prompt_file: &text(&request),
            workspace: &text(&cwd),
        };
        let spawn = Spawn {
            label: self.id.to_string(),
            argv: program.argv(&placeholders),
            env: surroundings.with(variables),
            cwd,
            stdin: Some(request.clone()),
            stdout: Some(self.path(SpoolName::ConsultReply(self.id))),
            stderr: Some(self.path(SpoolName::ConsultErr(self.id))),
            timeout_ms: Some(self.timeout().0),
            ..Spawn::default()
        };
        Ok((spawn, judgement))
    }

    /// An agent that repeats its question has no word of its own. Blocks.
    fn echo(&self) -> Input {
        let reply = self.path(SpoolName::ConsultReply(self.id));
        let written = self.write_request(&[]).and_then(|(asked, judgement)| {
            let judgement = write_judgement(&self.path(SpoolName::ConsultJudgement(self.id)), &judgement)?;
            Ok((write_reply(&reply, &asked)?, judgement))
        });
        match written {
            Ok((file, judgement)) => Input::ConsultReplied {
                id: self.id,
                reply: ReplyRef {
                    file: file.unwrap_or_else(nothing),
                    model: None,
                    usage: super::echo::NOTHING,
                    tools: None,
                    judgement,
                },
                advice: verdict::of_consulted_echo(),
            },
            Err(message) => self.failed(message),
        }
    }

    /// Asks a model; one that grades files may look at them. What comes back, and what a person should know.
    async fn ask_model(&self, line: &Line, endpoint: &Endpoint, toolless: &Toolless) -> Vec<Input> {
        let (asked, judgement, images, looking) =
            match self.prepare(toolless.clone(), line.is_on_record()).await {
                Ok(prepared) => prepared,
                Err(message) => return vec![self.failed(message)],
            };
        let agent = self.plan.agent(self.agent);
        let question = Question {
            line,
            endpoint,
            request: ModelRequest {
                system: None,
                prompt: asked,
                images,
                schema: None,
                temperature: agent.spec.temperature,
                max_tokens: agent.spec.max_tokens,
                timeout: self.timeout().as_duration(),
            },
            request_file: self.path(SpoolName::ConsultRequest(self.id)),
        };
        let answered = looking::ask(question, looking.as_ref()).await;
        let warning = answered.warning.clone().map(Input::Warn);
        warning
            .into_iter()
            .chain([self.read_model(answered, judgement, endpoint).await])
            .collect()
    }

    /// What it is asked, and what it may look with.
    async fn prepare(
        &self,
        toolless: Toolless,
        is_on_record: bool,
    ) -> Result<(String, Judgement, Vec<Image>, Option<Looking>), String> {
        let call = self.clone();
        let prepared = tokio::task::spawn_blocking(move || {
            let pictures = call.pictures()?;
            let (asked, judgement) = call.write_request(&pictures)?;
            let images: Vec<Image> = pictures
                .iter()
                .map(|picture| Image::of(picture.media_type, &picture.bytes))
                .collect();
            // Who is shown pictures is asked about them, not about files.
            if !call.purpose.is_judging() || !images.is_empty() {
                return Ok((asked, judgement, images, None));
            }
            let judged = match call.judged.is_empty() {
                true => vec![(call.id.task, call.task.clone())],
                false => call.judged.clone(),
            };
            let offer = Offer {
                plan: &call.plan,
                folder: &call.folder,
                judged: &judged,
                agent: call.agent,
                ledger: call.path(SpoolName::ConsultTools(call.id)),
                toolless: &toolless,
                is_on_record,
            };
            // There is no schema to ask for its form by: one that lacks it is asked again by the engine.
            let looking = offer.looking(judgement.work.clone(), Box::new(|_, _| true))?;
            Ok((asked, judgement, images, looking))
        });
        prepared.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn read_model(&self, answered: Answered, judgement: Judgement, endpoint: &Endpoint) -> Input {
        let usage = answered.usage();
        let reply = match &answered.reply {
            Ok(reply) => reply,
            Err(error) => {
                let (class, message) = (error.class, error.message.clone());
                let failed = failure(self.id, class, message, error.retry_after);
                return with_used(failed, answered.in_vain());
            }
        };
        let path = self.path(SpoolName::ConsultReply(self.id));
        if let Err(message) = store_reply(&path, &reply.text).await {
            return with_used(self.failed(message), answered.in_vain());
        }
        let (id, purpose, folder) = (self.id, self.purpose, self.folder.clone());
        let judgement = answered.judgement(judgement, &endpoint.model, reply);
        let model = reply.model.clone();
        let read = move || read(&folder, id, purpose, &judgement, model, usage);
        let mut read = tokio::task::spawn_blocking(read)
            .await
            .unwrap_or_else(|error| self.failed(error.to_string()));
        let in_vain = answered.in_vain();
        if let Input::ConsultReplied { reply, .. } = &mut read {
            reply.tools = answered.tools.map(Box::new);
        }
        with_used(read, in_vain)
    }

    fn failed(&self, message: String) -> Input {
        own_failure(self.id, message)
    }
}

/// Reads what a stored reply says. Blocks.
fn read(
    folder: &RunFolder,
    id: ConsultId,
    purpose: Purpose,
    judgement: &Judgement,
    model: Option<String>,
    usage: Usage,
) -> Input {
    let path = folder.spool_file(&SpoolName::ConsultReply(id));
    let unreadable_file = |why: String| own_failure(id, format!("the reply cannot be read: {why}"));
    let file = match seal(&path) {
        Sealed::File(file) => file,
        Sealed::Nothing => nothing(),
        Sealed::Refused(why) => return unreadable_file(why),
    };
    let text = match read_head(&path, LARGEST_REPLY) {
        Ok(text) => text,
        Err(error) => return unreadable_file(error.to_string()),
    };
    let judged = match write_judgement(&folder.spool_file(&SpoolName::ConsultJudgement(id)), judgement) {
        Ok(judged) => judged,
        Err(message) => return own_failure(id, message),
    };
    let said = Reply {
        text: &text,
        len: file.len,
        cut_short: judgement.cut_short,
    };
    Input::ConsultReplied {
        id,
        advice: verdict::of_consult(purpose, said, &judgement.work),
        reply: ReplyRef {
            file,
            model,
            usage,
            tools: None,
            judgement: judged,
        },
    }
}

/// A reply of no length.
fn nothing() -> FileRef {
    FileRef {
        len: 0,
        digest: Digest::of(b""),
    }
}

/// A failure with what the call had used until then.
fn with_used(mut input: Input, used: Option<Box<Used>>) -> Input {
    if let Input::ConsultFailed(failure) = &mut input {
        failure.used = used;
    }
    input
}

/// An agent could not be asked.
pub(super) fn failure(
    id: ConsultId,
    class: FailureClass,
    message: String,
    retry_after: Option<Millis>,
) -> Input {
    Input::ConsultFailed(Box::new(ConsultFailure {
        id,
        class,
        message,
        retry_after,
        jitter: jitter(),
        used: None,
        ours: false,
    }))
}

/// It was never asked, or what it said is lost here: that is no failure of the agent's, and nobody stands in for it.
fn own_failure(id: ConsultId, message: String) -> Input {
    let mut input = failure(id, FailureClass::Unknown, message, None);
    if let Input::ConsultFailed(failure) = &mut input {
        failure.ours = true;
    }
    input
}
