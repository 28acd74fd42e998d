//! Reviewers that are asked about work outside of any run: to hold them against people (`quorum calibrate`).
//!
//! They are asked as a panel's seat is: the same prompt, the same form of the reply, one strict reprompt, the same
//! retries of a request. What a provider fails to answer is missing; it never becomes a score.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::agents::command::{ChildEnv, Program};
use crate::agents::model::{self, ModelRequest};
use crate::agents::transport::{Line, Network};
use crate::domain::{AgentId, Digest, Dimension, Purpose, SeatPlace, Timestamp, undated};
use crate::engine::WorkKind;
use crate::executor::error::WorkError;
use crate::executor::runner::{Commands, with_commands};
use crate::judging::parser::{Quoted, parse_scores};
use crate::mission::model::Adapter;
use crate::mission::{AgentPlan, Plan, Rules};
use crate::review::fence::{Excerpt, collect_quotes};
use crate::review::prompt::{self, JudgePrompt, Prior, Work};
use crate::supervisor;

use crate::store::no_links::scratch_folder;

use super::agent_backends::{EnvironmentProblem, Reach, reach};
use super::calls::review_timeout;
use super::outside::{self, Question, Retries};
use super::reply::Failed;

/// A piece of work to be judged.
#[derive(Debug, Clone)]
pub struct Piece {
    /// What was to be done.
    pub task: String,
    /// What good work is, if that is said.
    pub criteria: Option<String>,
    /// What came out.
    pub work: String,
    /// What is scored, from 1 to 5.
    pub dimensions: Vec<Dimension>,
}

impl Piece {
    /// What a reviewer is asked about it; once more with why its reply could not be read.
    fn question(&self, unread: Option<&str>) -> JudgePrompt {
        let output = Excerpt::whole(self.work.as_str());
        let work = Work {
            title: self.task.lines().next().unwrap_or_default(),
            description: Some(&self.task),
            handed_down: false,
            criteria: self.criteria.as_deref(),
            acceptance: &[],
            output: &output,
            course: None,
            artifacts: &[],
            checks: &[],
            prior: &Prior::default(),
            now: Timestamp::now(),
        };
        prompt::panel(&work, &self.dimensions, unread)
    }
}

/// Who is asked what: replies to another question, or of another judge of the same name, are not to be mixed with these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedAs {
    /// The agent's adapter.
    pub adapter: Adapter,
    /// The model that is asked for, where there is one.
    pub model: Option<String>,
    /// The digest of all that can change its reply: the agent's definition, and the prompt but for the time in it.
    pub digest: Digest,
}

/// What a reviewer said of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The last reply, word for word.
    pub reply: String,
    /// The one before, if it could not be read.
    pub earlier: Option<String>,
    /// Whether the last reply ran into its token limit, so that it says nothing.
    pub cut_short: bool,
    /// The model that the provider says it used.
    pub model: Option<String>,
}

/// Reviewers that can be asked.
pub struct Jury {
    jurors: Vec<Arc<Juror>>,
    folder: tempfile::TempDir,
}

struct Juror {
    agent: AgentPlan,
    reach: Reach,
    rules: Arc<Rules>,
}

/// One reply, and what is known about it.
struct Heard {
    text: String,
    cut_short: bool,
    model: Option<String>,
}

impl Jury {
    /// Finds the programs and credentials of all of them. Nobody is contacted.
    ///
    /// # Errors
    /// All that is missing.
    pub fn of(
        plan: &Plan,
        agents: &[AgentId],
        mission_folder: &std::path::Path,
    ) -> Result<Self, Vec<EnvironmentProblem>> {
        let mut jurors = Vec::new();
        let rules = Arc::new(plan.rules.clone());
        let mut problems = Vec::new();
        for id in agents {
            let agent = plan.agent(*id);
            match reach(agent, mission_folder, &Network::Open) {
                Ok(reach) => jurors.push(Arc::new(Juror {
                    agent: agent.clone(),
                    reach,
                    rules: rules.clone(),
                })),
                Err(problem) => problems.push(EnvironmentProblem {
                    who: format!("agent '{}'", agent.name),
                    problem: problem.into(),
                }),
            }
        }
        let folder = scratch_folder().map_err(|error| {
            vec![EnvironmentProblem {
                who: "the temporary folder".to_owned(),
                problem: error.to_string(),
            }]
        });
        match (problems.is_empty(), folder) {
            (true, Ok(folder)) => Ok(Self { jurors, folder }),
            (true, Err(problems)) => Err(problems),
            (false, _) => Err(problems),
        }
    }

    /// As what a juror is asked about a piece; `None` if there is no such juror.
    pub fn asked_as(&self, juror: usize, piece: &Piece) -> Option<AskedAs> {
        let spec = &self.jurors.get(juror)?.agent.spec;
        let all = serde_json::json!({
            "adapter": spec.adapter,
            "model": spec.model,
            "baseUrl": spec.base_url,
            "run": spec.run,
            "temperature": spec.temperature,
            "maxTokens": spec.max_tokens,
            "prompt": undated(&piece.question(None).joined()),
        });
        Some(AskedAs {
            adapter: spec.adapter,
            model: spec.model.clone(),
            digest: Digest::of(all.to_string().as_bytes()),
        })
    }

    /// Asks jurors about pieces, `at_once` at a time. `tell` hears of each as it comes: which of the questions, and what
    /// was said, or why nothing. It stops everything by returning an error.
    ///
    /// # Errors
    /// What `tell` says, or that the supervisor of commands is gone.
    pub async fn ask<E: From<std::io::Error>>(
        self,
        questions: Vec<(usize, Piece)>,
        at_once: usize,
        supervisor: supervisor::Client,
        mut tell: impl FnMut(usize, Result<Said, WorkError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let work = async |commands: Commands| {
            let room = Arc::new(Semaphore::new(at_once.max(1)));
            let mut asked = JoinSet::new();
            for (number, (juror, piece)) in questions.into_iter().enumerate() {
                let Some(juror) = self.jurors.get(juror).cloned() else {
                    continue;
                };
                let (room, commands) = (room.clone(), commands.clone());
                let place = self.folder.path().join(number.to_string());
                asked.spawn(async move {
                    let _turn = room.acquire().await;
                    (number, juror.judge(&piece, &commands, &place).await)
                });
            }
            while let Some(joined) = asked.join_next().await {
                // A question that broke off has no answer, and its number is not known any more: who asked counts.
                if let Ok((number, said)) = joined {
                    tell(number, said)?;
                }
            }
            Ok(())
        };
        with_commands(supervisor, work).await.map_err(E::from)?
    }
}

impl Juror {
    /// Asks about one piece; once more, strictly, if the reply cannot be read.
    async fn judge(
        &self,
        piece: &Piece,
        commands: &Commands,
        place: &std::path::Path,
    ) -> Result<Said, WorkError> {
        let dimensions = piece.dimensions.iter().map(|dimension| dimension.name.as_str());
        let mut quoted = Quoted::scored_on(dimensions);
        collect_quotes(&mut quoted, &piece.work);
        let first = self.hear(piece, None, commands, place).await?;
        let unread = match parse_scores(&first.text, &piece.dimensions, &quoted) {
            Ok(_) if first.cut_short => "the reply ran into its token limit and is cut short".to_owned(),
            Ok(_) => return Ok(first.into_said(None)),
            Err(why) => why.to_string(),
        };
        // One that cannot be asked again has given no verdict, which is not the worst one: it can be asked another time.
        let second = self.hear(piece, Some(&unread), commands, place).await?;
        Ok(second.into_said(Some(first.text)))
    }

    /// One reply, requests that a provider did not answer made again.
    async fn hear(
        &self,
        piece: &Piece,
        unread: Option<&str>,
        commands: &Commands,
        place: &std::path::Path,
    ) -> Result<Heard, WorkError> {
        let asked = piece.question(unread);
        let mut retries = Retries::of(WorkKind::Ask(Purpose::Score(SeatPlace::default())));
        loop {
            let heard = match &self.reach {
                Reach::Model(endpoint) => {
                    let line = endpoint.line().map_err(|error| error.to_string())?;
                    self.ask_model(&line, endpoint, &asked, &piece.dimensions).await
                }
                Reach::Command(program, env) => {
                    self.ask_command((program, env), &asked, piece, commands, place)
                        .await
                }
                Reach::Echo => return Err("an echo agent repeats its question".into()),
            };
            let failed = match heard {
                Ok(heard) => return Ok(heard),
                Err(failed) => retries.after(failed).await,
            };
            failed.map_err(|failed| format!("{}: {}", failed.class.as_str(), failed.message))?;
        }
    }

    async fn ask_model(
        &self,
        line: &Line,
        endpoint: &crate::agents::endpoint::Endpoint,
        asked: &JudgePrompt,
        dimensions: &[Dimension],
    ) -> Result<Heard, Failed> {
        let mut request = ModelRequest {
            system: Some(asked.system.clone()),
            schema: Some(prompt::panel_schema(dimensions, false)),
            ..ModelRequest::to(&self.agent.spec, asked.user.clone(), review_timeout(&self.agent))
        };
        let mut result = model::complete(line, endpoint, &request, Timestamp::now()).await;
        if matches!(&result, Err(error) if error.schema_unsupported) {
            request.schema = None;
            result = model::complete(line, endpoint, &request, Timestamp::now()).await;
        }
        match result {
            Ok(reply) => Ok(Heard {
                cut_short: reply.is_cut_short(),
                text: reply.text,
                model: reply.model,
            }),
            Err(error) => Err(Failed::of_model(error)),
        }
    }

    async fn ask_command(
        &self,
        agent: (&Program, &ChildEnv),
        asked: &JudgePrompt,
        piece: &Piece,
        commands: &Commands,
        place: &std::path::Path,
    ) -> Result<Heard, Failed> {
        let dimensions: Vec<_> = piece.dimensions.iter().map(|dimension| &dimension.name).collect();
        let prompt = asked.joined();
        let review = serde_json::json!({
            "schema": "quorum.review-request/v1",
            "task": piece.task,
            "dimensions": dimensions,
            "prompt": prompt,
        });
        let question = Question {
            label: "calibrate",
            title: "calibration",
            prompt: &prompt,
            review: Some(review.to_string()),
            variables: Vec::new(),
        };
        let who = ("the reviewer", &self.agent);
        let replied = outside::ask(commands, who, agent, &self.rules, place, question).await?;
        Ok(Heard {
            cut_short: replied.is_too_long,
            text: replied.text,
            model: None,
        })
    }
}

impl Heard {
    fn into_said(self, earlier: Option<String>) -> Said {
        Said {
            reply: self.text,
            earlier,
            cut_short: self.cut_short,
            model: self.model,
        }
    }
}
