//! Reviewers that are asked about work outside of any run: to hold them against people (`quorum calibrate`).
//!
//! They are asked as a panel's seat is: the same prompt, the same form of the reply, one strict reprompt, the same
//! retries of a request. What a provider fails to answer is missing; it never becomes a score.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::agents::model::ModelRequest;
use crate::agents::transport::Network;
use crate::executor::error::WorkError;
use crate::executor::runner::Commands;
use crate::executor::with_commands::with_commands;
use crate::review::fence::{TextExcerpt, collect_quotes};
use crate::review::prompt::{self, JudgePrompt, Prior, ReviewedWork};
use rules::domain::{AgentId, Digest, Purpose, SeatPlace, Timestamp, undated};
use rules::engine::WorkKind;
use rules::judging::calibration::ReviewerView;
use rules::judging::parser::{Quoted, parse_scores};
use rules::mission::first_line;
use rules::mission::model::Adapter;
use rules::plan::{AgentPlan, Plan, Rules};

use supervisor::files::no_links::scratch_folder;

use super::ask::{Question, Replied};
use crate::runtime::work::{
    agent_backends::{Backend, EnvironmentProblem, backend_of},
    model_turn::review_timeout,
};

/// The prompt for a reviewer; `unread` is why the first reply could not be read.
fn question_about(piece: &ReviewerView, unread: Option<&str>) -> JudgePrompt {
    let output = TextExcerpt::whole(piece.work.as_str());
    let work = ReviewedWork {
        title: first_line(&piece.task),
        description: Some(&piece.task),
        handed_down: false,
        criteria: piece.criteria.as_deref(),
        acceptance: &[],
        output: &output,
        course: None,
        nothing_done: &[],
        artifacts: &[],
        checks: &[],
        tests: &[],
        prior: &Prior::default(),
        now: Timestamp::now(),
    };
    prompt::panel(&work, &piece.dimensions, unread)
}

/// The identity of a judge and its question: replies to another question, or of another judge of the same name,
/// are not to be mixed with these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedAs {
    /// The adapter of the agent.
    pub adapter: Adapter,
    /// The model that is asked for, where there is one.
    pub model: Option<String>,
    /// The digest of all that can change its reply: the agent's definition, and the prompt but for the time in it.
    pub digest: Digest,
    /// The digest without the piece of work; `None` in a record of a version that does not tell.
    pub seat: Option<Digest>,
}

/// The form of a request to a panel's seat, as a digest: what stands around work and dimensions.
pub fn form_of_request() -> Digest {
    let prompt = question_about(&ReviewerView::default(), None);
    Digest::of(undated(&prompt.joined()).as_bytes())
}

/// The reply of a reviewer to a piece.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewerReply {
    /// The last reply, word for word.
    pub reply: String,
    /// The one before, if it could not be read.
    pub earlier: Option<String>,
    /// The model that the provider says it used.
    pub model: Option<String>,
}

/// Reviewers that can be asked.
pub struct Judges {
    reviewers: Vec<Arc<Reviewer>>,
    folder: tempfile::TempDir,
}

struct Reviewer {
    agent: AgentPlan,
    reach: Backend,
    rules: Arc<Rules>,
}

impl Judges {
    /// Finds the programs and credentials of all of them. Nothing is contacted.
    ///
    /// # Errors
    /// All that is missing.
    pub fn of(
        plan: &Plan,
        agents: &[AgentId],
        mission_folder: &Path,
    ) -> Result<Self, Vec<EnvironmentProblem>> {
        let mut reviewers = Vec::new();
        let rules = Arc::new(plan.rules.clone());
        let mut problems = Vec::new();
        for id in agents {
            let agent = plan.agent(*id);
            match backend_of(agent, mission_folder, &Network::Open) {
                Ok(reach) => {
                    reviewers.push(Arc::new(Reviewer { agent: agent.clone(), reach, rules: rules.clone() }))
                }
                Err(problem) => {
                    problems.push(EnvironmentProblem::of(format!("agent '{}'", agent.name), problem))
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let folder = scratch_folder()
            .map_err(|error| vec![EnvironmentProblem::of("the temporary folder".to_owned(), error)])?;
        Ok(Self { reviewers, folder })
    }

    /// As what a reviewer is asked about a piece; `None` if there is no such reviewer.
    pub fn asked_as(&self, reviewer: usize, piece: &ReviewerView) -> Option<AskedAs> {
        let spec = &self.reviewers.get(reviewer)?.agent.spec;
        let mut all = spec.asked_as();
        all["prompt"] = undated(&question_about(piece, None).joined()).into();
        Some(AskedAs {
            adapter: *spec.adapter,
            model: spec.model.clone(),
            digest: Digest::of(all.to_string().as_bytes()),
            seat: Some(spec.seat_digest(form_of_request())),
        })
    }

    /// Asks reviewers about pieces, `at_once` at a time. `tell` hears of each as it comes: which of the questions, and what
    /// was said, or why nothing. It stops everything by returning an error. What a person should know of each reviewer
    /// comes back: which parts of requests its model refuses.
    ///
    /// # Errors
    /// What `tell` says, or that the supervisor of commands is gone.
    pub async fn ask<E: From<std::io::Error>>(
        self,
        questions: Vec<(usize, ReviewerView)>,
        at_once: usize,
        supervisor: supervisor::Client,
        mut tell: impl FnMut(usize, Result<ReviewerReply, WorkError>) -> Result<(), E>,
    ) -> Result<Vec<Vec<String>>, E> {
        let work = async |commands: Commands| {
            let slots = Arc::new(Semaphore::new(at_once.max(1)));
            let mut asked = JoinSet::new();
            for (number, (reviewer, piece)) in questions.into_iter().enumerate() {
                let Some(reviewer) = self.reviewers.get(reviewer).cloned() else {
                    continue;
                };
                let (slots, commands) = (slots.clone(), commands.clone());
                let place = self.folder.path().join(number.to_string());
                asked.spawn(async move {
                    let _turn = slots.acquire().await;
                    (number, reviewer.judge(&piece, &commands, &place).await)
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
        let asked: Result<(), E> = with_commands(supervisor, work).await?;
        asked?;
        let warnings = self.reviewers.iter().map(|reviewer| reviewer.warnings());
        Ok(warnings.collect())
    }
}

impl Reviewer {
    fn warnings(&self) -> Vec<String> {
        match &self.reach {
            Backend::Model(endpoint) => endpoint.untold(),
            Backend::Command(_) | Backend::Echo => Vec::new(),
        }
    }

    /// Asks about one piece; once more, strictly, if the reply cannot be read.
    async fn judge(
        &self,
        piece: &ReviewerView,
        commands: &Commands,
        place: &Path,
    ) -> Result<ReviewerReply, WorkError> {
        let dimensions = piece.dimensions.iter().map(|dimension| dimension.name.as_str());
        let mut quoted = Quoted::scored_on(dimensions);
        collect_quotes(&mut quoted, &piece.work);
        let first = self.reply(piece, None, commands, place).await?;
        let unread = match parse_scores(&first.text, &piece.dimensions, &quoted) {
            Ok(_) => return Ok(said(first, None)),
            Err(why) => why.to_string(),
        };
        // One that cannot be asked again has given no verdict, which is not the worst one: it can be asked another time.
        let second = self.reply(piece, Some(&unread), commands, place).await?;
        Ok(said(second, Some(first.text)))
    }

    async fn reply(
        &self,
        piece: &ReviewerView,
        unread: Option<&str>,
        commands: &Commands,
        place: &Path,
    ) -> Result<Replied, WorkError> {
        if let Backend::Echo = self.reach {
            return Err("an echo agent repeats its question".into());
        }
        let asked = question_about(piece, unread);
        let prompt = asked.joined();
        let dimensions: Vec<_> = piece.dimensions.iter().map(|dimension| &dimension.name).collect();
        let review = serde_json::json!({
            "schema": "quorum.review-request/v1",
            "task": piece.task,
            "dimensions": dimensions,
            "prompt": prompt,
        });
        let question = Question {
            who: "the reviewer",
            agent: &self.agent,
            reach: &self.reach,
            rules: &self.rules,
            place,
            kind: WorkKind::Ask(Purpose::Score(SeatPlace::default())),
            label: "calibrate",
            title: "calibration",
            prompt,
            request: ModelRequest {
                system: Some(asked.system),
                schema: Some(prompt::panel_schema(&piece.dimensions, false)),
                ..ModelRequest::to(&self.agent.spec, asked.user, review_timeout(&self.agent))
            },
            review: Some(review.to_string()),
            variables: Vec::new(),
        };
        let replied = question.ask(commands).await;
        replied.map_err(|failed| format!("{}: {}", failed.class.as_str(), failed.message).into())
    }
}

fn said(replied: Replied, earlier: Option<String>) -> ReviewerReply {
    ReviewerReply { reply: replied.text, earlier, model: replied.model }
}
