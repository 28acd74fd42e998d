//! Commands of agents that are asked outside of any session: about a request for work, or to hold them against people.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agents::command::{ChildEnv, Program};
use crate::engine::{FailedTry, Retry, Tries, WorkKind, policy};
use crate::executor::command::{CommandJob, Outputs};
use crate::executor::runner::{Commands, Owner};
use crate::executor::spool::{read_head, write_told};
use crate::mission::{AgentPlan, Rules};
use crate::review::verdict::LARGEST_REPLY;
use crate::test_clock::scaled;

use super::calls::review_timeout;
use super::reply::{Failed, no_reply};
use super::world::jitter;

/// What such an agent is asked.
#[derive(Clone)]
pub(super) struct Question<'a> {
    /// What the command is called, and whom it is told that it is about.
    pub label: &'a str,
    pub title: &'a str,
    pub prompt: &'a str,
    /// The same as JSON, for those that would rather not read prose.
    pub review: Option<String>,
    pub variables: Vec<(String, String)>,
}

/// What it said.
pub(super) struct Replied {
    pub text: String,
    /// Whether there is more than is read of any reply. That might take it back.
    pub is_too_long: bool,
}

/// The requests of one question that failed.
pub(super) struct Retries {
    kind: WorkKind,
    tries: Tries,
}

impl Retries {
    /// Of a question that is asked for this.
    pub fn of(kind: WorkKind) -> Self {
        let tries = Tries::default();
        Self { kind, tries }
    }

    /// A request failed: waits until it may be made again.
    ///
    /// # Errors
    /// The failure, where the request is not made again.
    pub async fn after(&mut self, failure: Failed) -> Result<(), Failed> {
        let failed = FailedTry::of(failure.class, failure.retry_after, jitter());
        let Retry::After { pause, .. } = failed.leads_to(policy(self.kind), self.tries) else {
            return Err(failure);
        };
        self.tries.fail(None);
        tokio::time::sleep(scaled(pause.as_duration())).await;
        Ok(())
    }
}

/// Asks once. Its files lie beside `place`, in a folder that nobody else writes into.
pub(super) async fn ask(
    commands: &Commands,
    (who, agent): (&str, &AgentPlan),
    (program, env): (&Program, &ChildEnv),
    rules: &Rules,
    place: &Path,
    question: Question<'_>,
) -> Result<Replied, Failed> {
    let file = |end: &str| place.with_extension(end);
    let written = write_told(&file("request"), question.prompt.as_bytes()).and_then(|request| {
        let review = question.review.as_ref();
        let review = review.map(|json| write_told(&file("review"), json.as_bytes()));
        Ok((request, review.transpose()?))
    });
    let asked = written.map_err(Failed::ours)?;
    let reply = file("reply");
    let job = CommandJob {
        label: question.label.to_owned(),
        // No session has made the workspace.
        within: Some(PathBuf::from("/")),
        outputs: Outputs {
            stdout: Some(reply.clone()),
            stderr: Some(file("err")),
            result: None,
            secrets: Arc::new(env.secrets().clone()),
            limit: rules.max_output,
        },
        timeout: review_timeout(agent),
        ..CommandJob::asking(
            (program, env),
            (question.title, 1),
            rules.workspace.clone(),
            asked,
            question.variables,
        )
    };
    let end = commands.run(Owner::Nobody, job).await;
    if let Some(failed) = no_reply(who, &end) {
        return Err(failed);
    }
    let text = read_head(&reply, LARGEST_REPLY + 1)
        .map_err(|error| Failed::ours(format!("the reply of {who} cannot be read: {error}")))?;
    Ok(Replied {
        is_too_long: text.len() as u64 > LARGEST_REPLY,
        text,
    })
}
