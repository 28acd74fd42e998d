//! Agents that are consulted by starting a command.

use std::path::Path;
use std::sync::Arc;

use crate::agents::command::{Placeholders, Program, Surroundings};
use crate::domain::{ConsultId, Digest, Purpose};
use crate::engine::State;
use crate::judging::parser::Quoted;
use crate::mission::Plan;
use crate::review::judgement::Judgement;
use crate::review::verdict::{self, Reply};
use crate::runtime::reply::{self, Failed};
use crate::runtime::scrutiny;
use crate::runtime::session::RunError;
use crate::runtime::spool::write_told;
use crate::runtime::world::{Child, Message, World, workspace};
use crate::store::SpoolName;
use crate::supervisor::{self, Spawn, Told};

use super::{Call, failure, place, said};

/// A command that can be started to be consulted, or why it cannot.
pub(in crate::runtime) struct PreparedConsult {
    id: ConsultId,
    purpose: Purpose,
    plan: Arc<Plan>,
    asked: Result<(Box<Spawn>, Judgement), String>,
}

impl World {
    /// Reads the work and writes the request, beside the loop.
    pub(super) fn prepare_consult(
        &self,
        call: Call,
        program: Arc<Program>,
        surroundings: Arc<Surroundings>,
        variables: Vec<(String, String)>,
    ) {
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            let asked = call.spawn(&program, &surroundings, variables);
            let handed_over = asked.is_ok().then(|| call.handed_over()).flatten();
            let prepared = PreparedConsult {
                id: call.id,
                purpose: call.purpose,
                plan: call.plan,
                asked,
            };
            // After the loop has ended nobody wants to know.
            let tell = |message| drop(sender.send(message));
            handed_over
                .into_iter()
                .for_each(|input| tell(Message::Input(input)));
            tell(Message::ConsultPrepared(Box::new(prepared)));
        });
    }

    /// Starts a command that is consulted and whose request is written, if it is still wanted.
    pub(in crate::runtime) fn start_consult(
        &mut self,
        state: &State,
        prepared: PreparedConsult,
    ) -> Result<(), RunError> {
        let PreparedConsult {
            id,
            purpose,
            plan,
            asked,
        } = prepared;
        let wanted = state.task(id.task).consults.iter().any(|open| open.id == id);
        if self.is_stopping() || !wanted {
            return Ok(());
        }
        match asked {
            Ok((spawn, judgement)) => {
                self.consulted.insert(id, judgement);
                self.spawn(&plan, Child::Consult { id, purpose }, *spawn)
            }
            Err(message) => {
                self.post(failure(id, Failed::ours(message)));
                Ok(())
            }
        }
    }

    /// A consulted command ended.
    pub(in crate::runtime) fn consult_exited(
        &mut self,
        id: ConsultId,
        purpose: Purpose,
        exit: supervisor::Exit,
    ) {
        let (folder, secrets) = (self.folder.clone(), self.programs.secrets());
        let stderr = folder.spool_file(&SpoolName::ConsultErr(id));
        let judgement = self.consulted.remove(&id);
        self.blocking(move || {
            let parse = |reply: Reply<'_>, said: &Quoted| verdict::of_consult(purpose, reply, said);
            let place = place(&folder, id);
            let read = reply::of_command(
                "the agent",
                (exit, &stderr),
                &secrets,
                judgement.as_ref(),
                &place,
                parse,
            );
            vec![said(id, read)]
        });
    }
}

impl Call {
    /// What its command is started with, with its request written, and the record of that. Blocks.
    fn spawn(
        &self,
        program: &Program,
        surroundings: &Surroundings,
        mut variables: Vec<(String, String)>,
    ) -> Result<(Box<Spawn>, Judgement), String> {
        let pictures = self.pictures()?;
        let (asked, judgement) = self.write_request(&pictures)?;
        let request = self.path(SpoolName::ConsultRequest(self.id));
        let cwd = workspace(&self.plan, self.id.task);
        let mut told = vec![Told {
            path: request.clone(),
            digest: Digest::of(asked.as_bytes()),
        }];
        let text = |path: &Path| path.to_string_lossy().into_owned();
        variables.push(("QUORUM_PROMPT_FILE".to_owned(), text(&request)));
        variables.push(("QUORUM_PURPOSE".to_owned(), self.purpose.as_str().to_owned()));
        reply::offer_result(&self.path(SpoolName::ConsultResult(self.id)), &mut variables)?;
        let as_json = match self.purpose {
            Purpose::Grade { round } => Some(self.grading_json(round, &asked)),
            Purpose::Scrutinise { step, round } => {
                let task = self.id.task;
                let step = (step, round);
                Some(scrutiny::review_json(
                    &self.plan, &self.task, task, step, &asked, &pictures,
                ))
            }
            Purpose::Confirm
            | Purpose::Answer
            | Purpose::Resolve { .. }
            | Purpose::Approve { .. }
            | Purpose::Decompose { .. } => None,
        };
        if let Some(json) = as_json {
            let review = self.path(SpoolName::ConsultReview(self.id));
            told.push(write_told(&review, &json)?);
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
            told,
            sealed: true,
            stdout: Some(self.path(SpoolName::ConsultReply(self.id))),
            stderr: Some(self.path(SpoolName::ConsultErr(self.id))),
            timeout_ms: Some(self.timeout().0),
            ..Spawn::default()
        };
        Ok((Box::new(spawn), judgement))
    }
}
