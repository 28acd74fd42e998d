//! Asking an agent of a run about a request for work, outside of any session (semantics, section 16). What it is asked
//! and what it says is kept nowhere but in the request's own history: no task is worked on.

use crate::agents::model::{self, ModelRequest};
use crate::agents::transport::Network;
use crate::domain::{AgentId, Timestamp};
use crate::engine::State;
use crate::executor::runner::with_commands;
use crate::store::no_links::scratch_folder;
use crate::supervisor;

use super::agent_backends::{Reach, reach};
use super::calls::review_timeout;
use super::outside::{self, Question};

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
) -> Result<String, String> {
    // What is asked here is on no record.
    let network = match state.options.offline {
        true => Network::Offline(None),
        false => Network::Open,
    };
    let reached = reach(state.plan.agent(agent), &state.options.mission_folder, &network)?;
    let asked = with_commands(supervisor, async |commands| match &reached {
        Reach::Command(program, env) => {
            let folder = scratch_folder().map_err(|error| error.to_string())?;
            let question = Question {
                label: "triage",
                title,
                prompt,
                review: None,
                variables: vec![("QUORUM_PURPOSE".to_owned(), "triage".to_owned())],
            };
            let (agent, rules) = (state.plan.agent(agent), &state.plan.rules);
            let place = folder.path().join("triage");
            let who = ("the agent", agent);
            let replied = outside::ask(&commands, who, (program, env), rules, &place, question).await;
            match replied {
                // What comes behind the part that would be read might take it back: it says nothing.
                Ok(replied) if replied.is_too_long => Ok(String::new()),
                Ok(replied) => Ok(replied.text),
                Err(failed) => Err(failed.message),
            }
        }
        Reach::Model(endpoint) => {
            let line = endpoint.line().map_err(|error| error.to_string())?;
            let spec = &state.plan.agent(agent).spec;
            let request = ModelRequest {
                system: None,
                prompt: prompt.to_owned(),
                images: Vec::new(),
                schema: None,
                temperature: spec.temperature,
                max_tokens: spec.max_tokens,
                timeout: review_timeout(state.plan.agent(agent)).as_duration(),
            };
            let reply = model::complete(&line, endpoint, &request, Timestamp::now()).await;
            // What is cut short says nothing, whatever its beginning looks like.
            let whole = |reply: model::ModelReply| {
                if reply.is_cut_short() {
                    String::new()
                } else {
                    reply.text
                }
            };
            reply.map(whole).map_err(|error| error.message)
        }
        // It has no word of its own, and its reply is no yes.
        Reach::Echo => Ok(prompt.to_owned()),
    });
    asked.await.map_err(|error| error.to_string())?
}
