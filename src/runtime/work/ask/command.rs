//! Agents that are asked by starting a command.

use crate::agents::preset::CommandAgent;
use crate::executor::command::CommandJob;
use crate::executor::error::WorkError;
use crate::executor::runner::{CommandOwner, CommandRequest};
use crate::executor::spool::write_told;
use crate::executor::task_command::CommandWork;
use crate::review::judgement::Judgement;
use crate::review::verdict::JudgeReply;
use crate::runtime::session::effects::{Message, Sender};
use crate::runtime::work::commands::request;
use crate::runtime::work::reply;
use crate::store::AskFile;
use rules::domain::Digest;
use rules::engine::Fact;
use rules::judging::parser::Quoted;
use supervisor::RequestFile;

use super::{Call, place};

impl Call {
    /// The command of the agent, with its request written, and the reader of its reply. Blocks.
    pub fn prepare_command(self, agent: &CommandAgent, sender: Sender) -> Result<CommandRequest, Box<Fact>> {
        let prepared = self.job(agent).and_then(|job| Ok((job, self.handed_over()?)));
        let ((job, judgement), handed_over) = prepared.map_err(|why| Box::new(self.failed(why)))?;
        if let Some(handed_over) = handed_over {
            // After the loop has ended it is of no use.
            let _ = sender.send(Message::Fact(handed_over));
        }
        let id = self.id;
        let by = agent.by.clone();
        Ok(request(
            sender,
            CommandOwner::Ask(id.task, self.agent),
            job,
            move |end| {
                let parse = |reply: JudgeReply<'_>, said: &Quoted| self.read(reply, said);
                let (who, place) = (format!("the {}", self.who()), place(&self.commands.folder, id));
                let preset = by.as_ref().map(|by| &by.preset);
                self.came_to(reply::of_command((&who, preset), end, judgement, &place, parse))
            },
        ))
    }

    fn job(&self, agent: &CommandAgent) -> Result<(CommandJob, Judgement), WorkError> {
        let asked = self.write_request()?;
        let request = RequestFile {
            path: self.path(AskFile::Request),
            digest: Digest::of(asked.prompt.joined().as_bytes()),
        };
        let review = self.path(AskFile::Review);
        let review = asked.review.map(|json| write_told(&review, &json)).transpose()?;
        let takes_schema = agent.by.as_ref().is_some_and(|by| !by.preset.schema.is_empty());
        let schema = self
            .schema()
            .filter(|_| takes_schema)
            .map(|schema| schema.to_string());
        let schema = schema.map(|text| {
            let file = self.path(AskFile::Schema);
            write_told(&file, text.as_bytes()).map(|_| (text, file))
        });
        let files = (request, review, schema.transpose()?);
        let purpose = self.purpose.as_str();
        let job = self.commands.job(CommandWork::Question(
            self.id,
            purpose,
            agent,
            files,
            self.timeout(),
        ))?;
        Ok((job, asked.judgement))
    }
}
