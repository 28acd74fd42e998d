//! Agents that are asked by starting a command.

use std::sync::Arc;

use crate::agents::preset::CommandAgent;
use crate::executor::command::CommandJob;
use crate::executor::error::WorkError;
use crate::executor::runner::CommandOwner;
use crate::executor::spool::write_request;
use crate::executor::task_command::CommandWork;
use crate::review::judgement::Judgement;
use crate::review::stored_reply::JudgeReply;
use crate::runtime::work::context::{AskOrder, WorkContext, blocking};
use crate::runtime::work::reply;
use crate::store::AskFile;
use rules::domain::Digest;
use rules::engine::Fact;
use rules::judging::parser::Quoted;
use supervisor::RequestFile;

impl AskOrder {
    /// Asks an agent by starting its command, and reads the reply.
    pub async fn ask_command(
        self: Arc<Self>,
        context: WorkContext,
        agent: Arc<CommandAgent>,
    ) -> Result<Fact, WorkError> {
        let (call, by, commands) = (self.clone(), agent.by.clone(), context.commands.clone());
        let prepared = blocking(move || {
            let job = call.job(&agent)?;
            call.handed_over(&context)?;
            Ok::<_, WorkError>(job)
        });
        let (job, judgement) = prepared.await??;
        let owner = CommandOwner::Ask(self.id, self.agent);
        let end = commands.run(owner, job).await;
        blocking(move || {
            let parse = |reply: JudgeReply<'_>, said: &Quoted| self.read(reply, said);
            let by = (self.who(), by.as_ref().map(|by| &by.preset));
            self.came_to(reply::of_command(by, &end, judgement, &self.reply_files(), parse))
        })
        .await
    }

    fn job(&self, agent: &CommandAgent) -> Result<(CommandJob, Judgement), WorkError> {
        let asked = self.write_request()?;
        let request = RequestFile {
            path: self.path(AskFile::Request),
            digest: Digest::of(asked.prompt.joined().as_bytes()),
        };
        let review = self.path(AskFile::Review);
        let review = asked
            .review
            .map(|json| write_request(&review, &json))
            .transpose()?;
        let takes_schema = agent.by.as_ref().is_some_and(|by| !by.preset.schema.is_empty());
        let schema = self
            .schema()
            .filter(|_| takes_schema)
            .map(|schema| schema.to_string());
        let schema = schema.map(|text| {
            let file = self.path(AskFile::Schema);
            write_request(&file, text.as_bytes()).map(|_| (text, file))
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
