//! Asking agents: what they are asked is written, they are started or called, their reply is stored and read.
//!
//! | file | what |
//! |---|---|
//! | `command` | agents that are asked by starting a command |
//! | `grading` | what a judge is given that grades work by a rubric, and the record of handing it over (10) |
//! | `scoring` | what a reviewer is asked that scores work: on a panel by its dimensions, else in one number |

mod command;
mod grading;
mod scoring;

use std::sync::Arc;

use crate::agents::cassette::CallKey;
use crate::agents::endpoint::Endpoint;
use crate::agents::model::{Image, ModelRequest};
use crate::executor::error::WorkError;
use crate::executor::spool::{self, read_output};
use crate::review::fence::TextExcerpt;
use crate::review::judgement::{Inputs, Judgement};
use crate::review::pictures::Picture;
use crate::review::prompt::{JudgePrompt, panel_schema};
use crate::review::questions::{self, About, MAX_SAID};
use crate::review::stored_reply::{self, JudgeReply};
use crate::review::{self, rubric};
use crate::store::AskFile;
use rules::domain::{Answer, AskId, FailureClass, Millis, Purpose, Timestamp};
use rules::engine::{AskFailure, AskReply, Fact, ReplyRef, TaskState, Usage, WorkId, prior_points};
use rules::judging::parser::Quoted;
use rules::plan::Panel;

use super::agent_backends::{AgentsWithoutTools, Backend};
use super::context::{AskOrder, Undone, WorkContext, blocking};
use super::further_stages;
use super::model_turn::review_timeout;
use super::reply::{self, ReplyFiles, ask_failure, nothing, unasked, write_judgement};
use super::review_context::Case;
use super::reviewer_tools::{self, ToolQuestion, ToolSession};
use super::scan::files_of;
use crate::runtime::isolation::guard::guarded;

/// The prompt for an agent.
struct AskInput {
    prompt: JudgePrompt,
    judgement: Judgement,
    /// The prompt as data, for a command judge that does not read prose.
    review: Option<Vec<u8>>,
    /// The pictures that it is to look at. The spool knows their digests only.
    pictures: Vec<Picture>,
}

impl AskInput {
    /// A prompt that has no form as data.
    fn of(prompt: String, judgement: Judgement) -> Self {
        Self { prompt: JudgePrompt::alone(prompt), judgement, review: None, pictures: Vec::new() }
    }
}

/// Asks an agent; one that judges while protected files are as they must be.
pub async fn ask(context: WorkContext, order: AskOrder) -> Result<Fact, Undone> {
    let call = Arc::new(order);
    let backend = match context.agents.get(call.agent) {
        Ok(backend) => backend,
        Err(why) => {
            let failed =
                AskFailure { never_began: true, ..ask_failure(FailureClass::ProviderAuth, why.to_string()) };
            return Ok(failure(call.id, failed));
        }
    };
    let (plan, task) = (call.commands.plan.clone(), call.id.task);
    let judged = (plan.clone(), WorkId::ask(call.id), call.is_confined);
    let reply = Box::pin(async {
        let (asked, context) = (call.clone(), context.clone());
        let reply = match backend {
            Backend::Command(agent) => asked.ask_command(context, agent).await,
            Backend::Echo => asked.ask_echo(context).await,
            Backend::Model(endpoint) => asked.ask_model(context, endpoint).await,
        };
        Ok(reply.unwrap_or_else(|why| failure(call.id, unasked(why))))
    });
    let reply = if call.purpose.is_judging() {
        guarded(&context, judged, reply).await?
    } else {
        reply.await.map_err(Undone::Broken)?
    };
    let is_about_files = call.purpose.sees_the_work() && plan.task(task).names_files();
    if is_about_files && matches!(reply, Fact::AskReplied(_)) {
        // What it judged must be what there is.
        let files = blocking(move || files_of(&plan, task)).await?;
        let attempt = call.task.attempt.number;
        context.post(Fact::FilesSeen { task, attempt, files });
    }
    Ok(reply)
}

impl AskOrder {
    fn reply_files(&self) -> ReplyFiles {
        ReplyFiles { reply: self.path(AskFile::Reply), judgement: self.path(AskFile::Judgement) }
    }

    /// The role of the agent, in a sentence.
    fn who(&self) -> &'static str {
        match self.purpose {
            Purpose::Score(_) => "the reviewer",
            _ => "the agent",
        }
    }

    /// The key of a recorded reply.
    fn on_record(&self) -> CallKey {
        let (stage, place) = match self.purpose {
            Purpose::Score(place) => ("judge", vec![place.seat, place.round]),
            Purpose::Resolve { dependency } => {
                let remedies = self.task.remedies.as_deref();
                let resolutions = remedies.map_or(0, |remedies| remedies.resolutions);
                ("resolve", vec![dependency.0, resolutions])
            }
            Purpose::Approve { number, approver } => ("approve", vec![number, approver]),
            purpose => {
                let place = purpose.round().unwrap_or(self.task.attempt.turn);
                (purpose.as_str(), vec![place])
            }
        };
        let place = place.into_iter().chain([self.id.attempt_try]).collect();
        self.commands.call_key(self.agent, stage, place)
    }

    /// How long the call may take: as the stage says, else as the agent does.
    fn timeout(&self) -> Millis {
        let task = self.commands.plan.task(self.id.task);
        let stage = self.purpose.step().and_then(|step| task.own_stage(step));
        let own = stage.and_then(|stage| stage.timeout);
        own.unwrap_or_else(|| review_timeout(self.commands.plan.agent(self.agent)))
    }

    /// Writes the prompt and its record to the spool. Reads the work's output and files. Blocks.
    ///
    /// # Errors
    ///
    /// When the subject is lost: work whose evidence is lost is not judged by the rest of it.
    fn write_request(&self) -> Result<AskInput, WorkError> {
        let asked = match self.purpose {
            Purpose::Score(place) => self.scoring(place)?,
            Purpose::Grade { round } => self.grading(round)?,
            Purpose::Stage { step, round } => {
                let pictures = further_stages::pictures_of(&self.commands.plan, self.id.task, step)?;
                let unread = self.strict.as_deref();
                let (prompt, judgement, review) =
                    further_stages::compose(self.case(), (step, round), unread, &pictures)?;
                AskInput { review: Some(review), pictures, ..AskInput::of(prompt.joined(), judgement) }
            }
            purpose => {
                let about = About {
                    plan: &self.commands.plan,
                    id: self.id.task,
                    task: &self.task,
                    dependency: self.dependency.as_ref(),
                    unread: self.strict.clone(),
                    said: &|task, state| self.said(task, state),
                };
                let prompt = questions::ask(purpose, &about)?;
                let (nothing, now) = (Inputs::default(), Timestamp::now());
                let judgement = Judgement::asked(&prompt, nothing, questions::quotes(&prompt), now);
                AskInput::of(prompt, judgement)
            }
        };
        let path = self.path(AskFile::Request);
        spool::write(&path, asked.prompt.joined().as_bytes())?;
        Ok(asked)
    }

    /// The task whose work is judged.
    fn case(&self) -> Case<'_> {
        Case { commands: &self.commands, task: &self.task }
    }

    /// The last output of a task's agent.
    fn said(&self, task: rules::domain::TaskId, state: &TaskState) -> Result<TextExcerpt, WorkError> {
        read_output(&self.commands.folder, state.turn(task), &state.output, 4 * MAX_SAID)
            .map_err(WorkError::lost("what the agent said is lost"))
    }

    /// An agent that repeats its question has no word of its own.
    async fn ask_echo(self: Arc<Self>, context: WorkContext) -> Result<Fact, WorkError> {
        let call = self.clone();
        let written = blocking(move || {
            let asked = call.write_request()?;
            let judgement = write_judgement(&call.path(AskFile::Judgement), &asked.judgement)?;
            let file = reply::write(&call.path(AskFile::Reply), &asked.prompt.joined())?;
            call.handed_over(&context)?;
            Ok::<_, WorkError>((file, judgement))
        });
        let (file, judgement) = written.await??;
        let reply = ReplyRef {
            reply: file.unwrap_or_else(nothing),
            model: None,
            usage: Usage::ZERO,
            tools: None,
            judgement,
        };
        Ok(self.came_to(Ok((stored_reply::of_echo(self.purpose), reply))))
    }

    /// Asks a model; one that grades files may look at them.
    async fn ask_model(
        self: Arc<Self>,
        context: WorkContext,
        endpoint: Box<Endpoint>,
    ) -> Result<Fact, WorkError> {
        let line = context.agents.line(self.agent, &endpoint, self.on_record())?;
        let (call, is_on_record, world) = (self.clone(), line.is_on_record(), context.clone());
        let prepared = blocking(move || {
            let asked = call.write_request()?;
            // Who is shown pictures is asked about them, not about files.
            let session = if call.purpose.sees_the_work() && asked.pictures.is_empty() {
                call.offer(&world.agents.without_tools, is_on_record, &asked.judgement)?
            } else {
                None
            };
            call.handed_over(&world)?;
            Ok::<_, WorkError>((asked, session))
        });
        let (asked, session) = prepared.await??;
        let AskInput { prompt, judgement, pictures, .. } = asked;
        let images = pictures.iter();
        let agent = self.commands.plan.agent(self.agent);
        let question = ToolQuestion {
            line: &line,
            endpoint: &endpoint,
            request: ModelRequest {
                system: Some(prompt.system).filter(|system| !system.is_empty()),
                images: images.map(|picture| Image::of(picture.media_type, &picture.bytes)).collect(),
                schema: self.schema(),
                ..ModelRequest::to(&agent.spec, prompt.user, self.timeout())
            },
            request_file: self.path(AskFile::Request),
        };
        let answered = reviewer_tools::ask(question, session.as_ref()).await;
        let warnings = endpoint.untold().into_iter().chain(answered.warning.clone());
        warnings.for_each(|warning| context.post(Fact::Warn(warning)));
        let place = self.reply_files();
        let reader = self.clone();
        let parse = move |reply: JudgeReply<'_>, said: &Quoted| reader.read(reply, said);
        let read = reply::of_model(answered, judgement, &endpoint, place, parse).await;
        Ok(self.came_to(read))
    }

    /// The panel that a reviewer sits on.
    fn panel(&self) -> Option<&Panel> {
        self.commands.plan.task(self.id.task).panel()
    }

    /// The form of the reply, for providers that can hold a model to it.
    fn schema(&self) -> Option<serde_json::Value> {
        let answers = || !prior_points(&self.commands.plan, self.id.task, &self.task).is_empty();
        match self.purpose {
            Purpose::Score(_) => self.panel().map(|panel| panel_schema(&panel.dimensions, answers())),
            Purpose::Grade { .. } => self.rubric().map(|by| rubric::schema(by, answers())),
            Purpose::Stage { step, .. } => Some(review::further_stages::schema(step, answers())),
            _ => None,
        }
    }

    /// The tools that the agent may look with; `None` where it gets none. Blocks.
    fn offer(
        self: &Arc<Self>,
        without_tools: &AgentsWithoutTools,
        is_on_record: bool,
        judgement: &Judgement,
    ) -> Result<Option<ToolSession>, WorkError> {
        let (call, may_ask_again) = (self.clone(), self.purpose.seat().is_some() && self.strict.is_none());
        // A reviewer whose reply lacks its form is asked again while it still knows what it has seen, but not a third time.
        // Any other judge is asked again by the engine, which knows why.
        let has_form = move |text: &str, said: &Quoted| {
            let reply = JudgeReply { text, len: text.len() as u64, cut_short: false };
            !may_ask_again || !matches!(call.read(reply, said), Answer::Unreadable { .. })
        };
        let (said, has_form) = (judgement.work.clone(), Box::new(has_form));
        ToolSession::open(self, (without_tools, is_on_record), said, has_form)
    }

    /// Reads a reply by the purpose of the call.
    fn read(&self, reply: JudgeReply<'_>, said: &Quoted) -> Answer {
        let bar = Some(self.commands.plan.bar_of_judges(self.id.task));
        stored_reply::of_ask(self.purpose, (self.panel(), bar), reply, said)
    }

    fn came_to(&self, read: Result<(Answer, ReplyRef), AskFailure>) -> Fact {
        match read {
            Ok((answer, reply)) => Fact::AskReplied(AskReply {
                id: self.id,
                purpose: self.purpose,
                agent: self.agent,
                reply,
                answer,
            }),
            Err(failed) => failure(self.id, failed),
        }
    }
}

/// An agent could not be asked.
fn failure(id: AskId, failed: AskFailure) -> Fact {
    Fact::AskFailed(Box::new(AskFailure { id, ..failed }))
}
