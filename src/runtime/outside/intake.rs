//! Asking an agent of a run about a request for work, outside of any session (semantics, section 16). What it is asked
//! and what it says is kept nowhere but in the request's own history: no task is worked on.

use crate::agents::model::ModelRequest;
use crate::agents::transport::Network;
use crate::executor::error::WorkError;
use crate::executor::with_commands::with_commands;
use rules::domain::AgentId;
use rules::engine::{State, WorkKind};
use supervisor::files::no_links::scratch_folder;

use super::ask::Question;
use crate::runtime::work::{agent_backends::backend_of, model_turn::review_timeout};

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
    let network = if state.options.offline { Network::Offline(None) } else { Network::Open };
    let agent = state.plan.agent(agent);
    let reach = backend_of(agent, &state.options.mission_folder, &network)?;
    let folder = scratch_folder()?;
    let question = Question {
        who: "the agent",
        agent,
        reach: &reach,
        rules: &state.plan.rules,
        place: &folder.path().join("triage"),
        kind: WorkKind::Triage,
        label: "triage",
        title,
        prompt: prompt.to_owned(),
        request: ModelRequest::to(&agent.spec, prompt, review_timeout(agent)),
        review: None,
        variables: vec![("QUORUM_PURPOSE".to_owned(), "triage".to_owned())],
    };
    let asked = with_commands(supervisor, async |commands| question.ask(&commands).await);
    match asked.await? {
        // An agent that echoes has no word of its own, and its reply is no yes.
        Ok(replied) => Ok(replied.text),
        Err(failed) => Err(failed.message.into()),
    }
}
