//! Asking an agent of a run about a request for work, outside of any session (semantics, section 16). What it is asked
//! and what it says is kept nowhere but in the request's own history: no task is worked on.

use crate::agents::command::Placeholders;
use crate::agents::line::Network;
use crate::agents::model::{self, ModelRequest};
use crate::agents::secrets::Secrets;
use crate::domain::{AgentId, Timestamp};
use crate::engine::State;
use crate::supervisor::{self, Spawn};

use crate::review::verdict::LARGEST_REPLY;
use crate::store::no_links::scratch_folder;

use super::calls::{review_timeout, reviewer_failure};
use super::errands::{ErrandOwner, Errands, run_errand, with_errands};
use super::reach::{Reach, reach};
use super::spool::{clean, clean_stderr, read_head, write_told};

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
    let asked = with_errands(supervisor, async |errands| match &reached {
        Reach::Command(program, surroundings) => {
            let folder = scratch_folder().map_err(|error| error.to_string())?;
            let path = |name: &str| folder.path().join(name);
            let request = path("request");
            let told = vec![write_told(&request, prompt.as_bytes())?];
            let shown = request.to_string_lossy().into_owned();
            let cwd = state.plan.rules.workspace.clone();
            let variables = vec![
                ("QUORUM_PROMPT_FILE".to_owned(), shown.clone()),
                ("QUORUM_PURPOSE".to_owned(), "triage".to_owned()),
            ];
            let placeholders = Placeholders {
                task: title,
                attempt: "1",
                prompt_file: &shown,
                workspace: &cwd.to_string_lossy(),
            };
            let spawn = Spawn {
                label: "triage".to_owned(),
                argv: program.argv(&placeholders),
                env: surroundings.with(variables),
                stdin: Some(request.clone()),
                told,
                sealed: true,
                stdout: Some(path("reply")),
                stderr: Some(path("stderr")),
                timeout_ms: Some(review_timeout(state.plan.agent(agent)).0),
                cwd,
                ..Spawn::default()
            };
            run(
                &errands,
                spawn,
                (&path("reply"), &path("stderr")),
                surroundings.secrets(),
            )
            .await
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

async fn run(
    errands: &Errands,
    spawn: Spawn,
    (reply, stderr): (&std::path::Path, &std::path::Path),
    secrets: &Secrets,
) -> Result<String, String> {
    let mut exit = run_errand(errands, spawn, ErrandOwner::Channel).await?;
    clean_stderr(secrets, stderr);
    clean(secrets, reply, &mut exit);
    if let Some(failed) = reviewer_failure("the agent", &exit, (reply, stderr)) {
        return Err(failed.message);
    }
    if let Some(lost) = exit.output_lost {
        return Err(format!("the reply is lost: {lost}"));
    }
    match read_head(reply, LARGEST_REPLY + 1) {
        // What comes behind the part that would be read might take it back: it says nothing.
        Ok(text) if text.len() as u64 > LARGEST_REPLY => Ok(String::new()),
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("the reply cannot be read: {error}")),
    }
}
