//! Asking an agent of a run about a request for work, outside of any session (semantics, section 16). What it is asked
//! and what it says is kept nowhere but in the request's own history: no task is worked on.

use crate::agents::endpoint::Endpoint;
use crate::agents::model::{self, ModelRequest};
use crate::agents::transport::Network;
use crate::domain::{AgentId, Timestamp};
use crate::engine::{State, WorkKind};
use crate::executor::error::WorkError;
use crate::executor::runner::with_commands;
use crate::mission::AgentPlan;
use crate::store::no_links::scratch_folder;
use crate::supervisor;

use super::agent_backends::{Reach, reach};
use super::calls::review_timeout;
use super::outside::{self, Question, Retries};
use super::reply::Failed;

/// Asks an agent of the run's mission and waits for its reply.
///
/// # Errors
/// Why there is none; what was asked about stays as it is.
pub async fn ask_about_request(
    state: &State,
    agent: AgentId,
    title: &str,
    prompt: &str,
    supervisor: supervisor::Client,
) -> Result<String, WorkError> {
    // What is asked here is on no record.
    let network = match state.options.offline {
        true => Network::Offline(None),
        false => Network::Open,
    };
    let agent = state.plan.agent(agent);
    let reached = reach(agent, &state.options.mission_folder, &network)?;
    let folder = scratch_folder()?;
    let question = Question {
        label: "triage",
        title,
        prompt,
        review: None,
        variables: vec![("QUORUM_PURPOSE".to_owned(), "triage".to_owned())],
    };
    let place = folder.path().join("triage");
    let (who, rules) = (("the agent", agent), &state.plan.rules);
    let asked = with_commands(supervisor, async |commands| {
        let mut retries = Retries::of(WorkKind::Triage);
        loop {
            let said = match &reached {
                Reach::Command(program, env) => {
                    let asked = outside::ask(&commands, who, (program, env), rules, &place, question.clone());
                    // What comes behind the part that would be read might take it back: it says nothing.
                    asked.await.map(|said| {
                        if said.is_too_long {
                            String::new()
                        } else {
                            said.text
                        }
                    })
                }
                Reach::Model(endpoint) => ask_model(endpoint, agent, prompt).await,
                // It has no word of its own, and its reply is no yes.
                Reach::Echo => Ok(prompt.to_owned()),
            };
            match said {
                Ok(said) => return Ok(said),
                Err(failed) => retries.after(failed).await?,
            }
        }
    });
    let asked: Result<String, Failed> = asked.await?;
    asked.map_err(|failed| failed.message.into())
}

async fn ask_model(endpoint: &Endpoint, agent: &AgentPlan, prompt: &str) -> Result<String, Failed> {
    let line = endpoint
        .line()
        .map_err(|error| Failed::unasked(error.to_string()))?;
    let request = ModelRequest::to(&agent.spec, prompt, review_timeout(agent));
    let reply = model::complete(&line, endpoint, &request, Timestamp::now()).await;
    let reply = reply.map_err(Failed::of_model)?;
    // What is cut short says nothing, whatever its beginning looks like.
    Ok(match reply.is_cut_short() {
        true => String::new(),
        false => reply.text,
    })
}
