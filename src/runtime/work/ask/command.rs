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
use crate::runtime::work::{
    context::{AskOrder, WorkContext, blocking},
    reply,
};
use crate::store::AskFile;
use rules::domain::Digest;
use rules::engine::Fact;
use rules::judging::parser::Quoted;
use supervisor::RequestFile;

#[cfg(any(feature = "temporal", test))]
use crate::{
    executor::runner::EndedCommand,
    runtime::work::{
        carried::{self, CarriedFailure},
        reply::{ask_failure, failed_here},
    },
};
#[cfg(any(feature = "temporal", test))]
use rules::{domain::FailureClass, engine::AskFailure};

impl AskOrder {
    /// Asks an agent by starting its command, and reads the reply.
    pub async fn ask_command(
        self: Arc<Self>,
        context: WorkContext,
        agent: Arc<CommandAgent>,
    ) -> Result<Fact, WorkError> {
        let (call, by, commands) = (self.clone(), agent.by.clone(), context.commands.clone());
        let looks = context.clone();
        let prepared = blocking(move || {
            let (job, judgement) = call.job(&agent)?;
            #[cfg(any(feature = "temporal", test))]
            let job = carried::or_handed_out(&looks, (&call.commands, call.agent), job)?;
            call.handed_over(&looks)?;
            Ok::<_, WorkError>((job, judgement))
        });
        let (job, judgement) = prepared.await??;
        let owner = CommandOwner::Ask(self.id, self.agent);
        let ended = commands.unread(owner, job).await;
        blocking(move || {
            let ended = ended.map_err(|_| WorkError::from("there is nobody left to start it"))?;
            #[cfg(any(feature = "temporal", test))]
            let ended = match self.came_home(&context, ended)? {
                Ok(ended) => ended,
                Err(failed) => return Ok(self.came_to(Err(failed))),
            };
            let end = ended.outputs.end(ended.result);
            let parse = |reply: JudgeReply<'_>, said: &Quoted| self.read(reply, said);
            let by = (self.who(), by.as_ref().map(|by| &by.preset));
            Ok(self.came_to(reply::of_command(by, &end, judgement, &self.reply_files(), parse)))
        })
        .await?
    }

    /// What a command has left, wherever it ran; of one elsewhere that was not heard the failure. Its folder there is nobody's. Blocks.
    #[cfg(any(feature = "temporal", test))]
    fn came_home(
        &self,
        context: &WorkContext,
        ended: EndedCommand,
    ) -> Result<Result<EndedCommand, AskFailure>, WorkError> {
        if self.commands.plan.agent(self.agent).spec.queue.is_none() {
            return Ok(Ok(ended));
        }
        let home = carried::bring_home(context, &self.id.to_string(), ended, |_, _| Ok(()))?;
        Ok(home.map_err(|failure| match failure {
            CarriedFailure::Lost(why) => ask_failure(FailureClass::ProviderTransient, why),
            CarriedFailure::Unbegun(class, why, retry_after) => {
                AskFailure { retry_after, never_began: true, ..ask_failure(class, why) }
            }
            CarriedFailure::NotBrought(why) => failed_here(why),
        }))
    }

    fn job(&self, agent: &CommandAgent) -> Result<(CommandJob, Judgement), WorkError> {
        let asked = self.write_request()?;
        let request = RequestFile {
            path: self.path(AskFile::Request),
            digest: Digest::of(asked.prompt.joined().as_bytes()),
        };
        let review = self.path(AskFile::Review);
        let review = asked.review.map(|json| write_request(&review, &json)).transpose()?;
        let takes_schema = agent.by.as_ref().is_some_and(|by| !by.preset.schema.is_empty());
        let schema = self.schema().filter(|_| takes_schema).map(|schema| schema.to_string());
        let schema = schema.map(|text| {
            let file = self.path(AskFile::Schema);
            write_request(&file, text.as_bytes()).map(|_| (text, file))
        });
        let files = (request, review, schema.transpose()?);
        let purpose = self.purpose.as_str();
        let job = self.commands.job(CommandWork::Question(self.id, purpose, agent, files, self.timeout()))?;
        Ok((job, asked.judgement))
    }
}
