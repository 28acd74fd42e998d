//! Agents that are asked outside of any session: about a request for work, or to hold them against people.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agents::model::{self, ModelRequest};
use crate::agents::preset::CommandAgent;
use crate::executor::command::{CommandJob, CommandOutputs};
use crate::executor::runner::{CommandOwner, Commands};
use crate::executor::spool::{read_head, write_request};
use crate::review::stored_reply::{CUT_SHORT, LARGEST_REPLY};
use crate::test_clock::scaled;
use rules::domain::FailureClass;
use rules::engine::{AskFailure, FailedTry, Retry, Tries, WorkKind, policy};
use rules::plan::{AgentPlan, Rules};

use crate::runtime::work::{
    agent_backends::Backend,
    model_turn::review_timeout,
    reply::{self, ask_failure, failed_here, failed_model, no_reply, unasked},
};

/// A question to an agent outside a session.
pub struct Question<'a> {
    /// The name of the agent in messages.
    pub who: &'a str,
    pub agent: &'a AgentPlan,
    pub reach: &'a Backend,
    pub rules: &'a Rules,
    /// The files of a command lie beside this, in a folder that only this program writes into.
    pub place: &'a Path,
    /// By which rules a failed request is repeated.
    pub kind: WorkKind,
    /// The name of a command for messages and the task that it is told it is about.
    pub label: &'a str,
    pub title: &'a str,
    pub prompt: String,
    /// The request to a model.
    pub request: ModelRequest,
    /// For commands: the same as JSON.
    pub review: Option<String>,
    pub variables: Vec<(String, String)>,
}

/// The reply of the agent.
pub struct Replied {
    pub text: String,
    /// The model that the provider says it used.
    pub model: Option<String>,
}

impl Replied {
    /// A reply, if it was read to its end: the missing part of a cut one might take it back.
    fn of_whole(text: String, model: Option<String>, is_cut: bool) -> Result<Self, AskFailure> {
        if is_cut || text.len() as u64 > LARGEST_REPLY {
            Err(ask_failure(FailureClass::Unknown, CUT_SHORT))
        } else {
            Ok(Self { text, model })
        }
    }
}

impl Question<'_> {
    /// Asks; requests that a provider did not answer are made again.
    pub async fn ask(&self, commands: &Commands) -> Result<Replied, AskFailure> {
        let mut tries = Tries::default();
        loop {
            let failure = match self.ask_once(commands).await {
                Ok(replied) => return Ok(replied),
                Err(failure) => failure,
            };
            let failed = FailedTry::of(failure.class, failure.retry_after, failure.jitter);
            let Retry::After { pause, .. } = failed.leads_to(policy(self.kind), tries) else {
                return Err(failure);
            };
            tries.fail(None);
            tokio::time::sleep(scaled(pause.as_duration())).await;
        }
    }

    async fn ask_once(&self, commands: &Commands) -> Result<Replied, AskFailure> {
        if self.agent.spec.queue.is_some() {
            return Err(unasked("it is on other machines, where nobody is asked outside of a run"));
        }
        match self.reach {
            Backend::Command(agent) => self.run(commands, agent).await,
            Backend::Model(endpoint) => {
                let line = endpoint.line().map_err(|error| unasked(error.to_string()))?;
                let reply = model::complete_by_schema(&line, endpoint, &mut self.request.clone()).await;
                let reply = reply.map_err(failed_model)?;
                let is_cut = reply.is_cut_short();
                Replied::of_whole(reply.text, reply.model, is_cut)
            }
            Backend::Echo => Replied::of_whole(self.prompt.clone(), None, false),
        }
    }

    async fn run(&self, commands: &Commands, agent: &CommandAgent) -> Result<Replied, AskFailure> {
        let file = |end: &str| self.place.with_extension(end);
        let written = write_request(&file("request"), self.prompt.as_bytes()).and_then(|request| {
            let review = self.review.as_ref();
            let review = review.map(|json| write_request(&file("review"), json.as_bytes()));
            Ok((request, review.transpose()?, None))
        });
        let asked = written.map_err(failed_here)?;
        let reply = file("reply");
        let job = CommandJob::asking(
            agent,
            (self.title, 1, self.rules.workspace.clone()),
            asked,
            self.variables.clone(),
        );
        let job = CommandJob {
            label: self.label.to_owned(),
            // No session has made the workspace.
            within: Some(PathBuf::from("/")),
            outputs: CommandOutputs {
                stdout: Some(reply.clone()),
                stderr: Some(file("err")),
                secrets: Arc::new(agent.env.secrets.clone()),
                limit: self.rules.settings.max_output.get(),
                preset: agent.by.as_ref().map(|by| by.preset.clone()),
                ..CommandOutputs::default()
            },
            timeout: review_timeout(self.agent),
            ..job.map_err(failed_here)?
        };
        let end = commands.run(CommandOwner::Nobody, job).await;
        if let Some(by) = &agent.by {
            let said = reply::of_program(self.who, &end, &by.preset)?;
            return Replied::of_whole(said.text, said.model, end.exit.output_cut);
        }
        if let Some(failed) = no_reply(self.who, &end) {
            return Err(failed);
        }
        let text = read_head(&reply, LARGEST_REPLY + 1)
            .map_err(|error| failed_here(format!("the reply of {} cannot be read: {error}", self.who)))?;
        Replied::of_whole(text, None, end.exit.output_cut)
    }
}
