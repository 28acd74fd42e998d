//! Agents that are consulted by starting a command.

use crate::agents::command::{ChildEnv, Program};
use crate::domain::{Digest, Purpose};
use crate::engine::Input;
use crate::executor::command::CommandJob;
use crate::executor::runner::CommandRequest;
use crate::executor::spool::write_told;
use crate::judging::parser::Quoted;
use crate::review::judgement::Judgement;
use crate::review::verdict::{self, Reply};
use crate::runtime::commands::request;
use crate::runtime::reply;
use crate::runtime::scrutiny;
use crate::runtime::world::{Message, Sender};
use crate::store::SpoolName;
use crate::supervisor::Told;

use super::{Call, place, said};

impl Call {
    /// What the agent is started with, its request written; and what is done with its reply. Blocks.
    pub(super) fn prepare_command(
        self,
        agent: (&Program, &ChildEnv),
        sender: Sender,
    ) -> Result<CommandRequest, Box<Input>> {
        let (job, judgement) = self
            .job(agent)
            .map_err(|message| Box::new(self.failed(message)))?;
        if let Some(handed_over) = self.handed_over() {
            // After the loop has ended nobody wants to know.
            let _ = sender.send(Message::Input(handed_over));
        }
        let (id, purpose, folder) = (self.id, self.purpose, self.folder);
        Ok(request(sender, id.task, job, move |end| {
            let parse = |reply: Reply<'_>, said: &Quoted| verdict::of_consult(purpose, reply, said);
            said(
                id,
                reply::of_command("the agent", &end, judgement, &place(&folder, id), parse),
            )
        }))
    }

    fn job(&self, agent: (&Program, &ChildEnv)) -> Result<(CommandJob, Judgement), String> {
        let id = self.id;
        let pictures = self.pictures()?;
        let (asked, judgement) = self.write_request(&pictures)?;
        let request = Told {
            path: self.path(SpoolName::ConsultRequest(id)),
            digest: Digest::of(asked.as_bytes()),
        };
        let as_json = match self.purpose {
            Purpose::Grade { round } => Some(self.grading_json(round, &asked)),
            Purpose::Scrutinise { step, round } => {
                let step = (step, round);
                Some(scrutiny::review_json(
                    &self.plan, &self.task, id.task, step, &asked, &pictures,
                ))
            }
            Purpose::Confirm
            | Purpose::Answer
            | Purpose::Resolve { .. }
            | Purpose::Approve { .. }
            | Purpose::Decompose { .. } => None,
        };
        let review = as_json.map(|json| write_told(&self.path(SpoolName::ConsultReview(id)), &json));
        let files = [
            SpoolName::ConsultReply(id),
            SpoolName::ConsultErr(id),
            SpoolName::ConsultResult(id),
        ];
        let purpose = ("QUORUM_PURPOSE".to_owned(), self.purpose.as_str().to_owned());
        let asked = (request, review.transpose()?);
        let job = CommandJob {
            label: id.to_string(),
            timeout: self.timeout(),
            ..self.commands().asking(agent, asked, files, vec![purpose])?
        };
        Ok((job, judgement))
    }
}
