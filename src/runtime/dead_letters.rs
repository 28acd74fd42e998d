//! The dead-letter queue from the runtime's side: what failed for good goes in, and what may be tried again is tried
//! (semantics, section 13).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::agents::channel::{DeliveryChannel, DeliveryError};
use crate::agents::secrets::Secrets;
use crate::domain::{DeadLetter, FailureClass, LetterStatus, RunId, Timestamp};
use crate::engine::{Event, Fact, FailedOperation, NoticeEvent, Operation, RunEvent, RunStarted, State};
use crate::executor::error::WorkError;
use crate::executor::with_commands::with_commands;
use crate::mission::Plan;
use crate::store::{DeadLetters, Lock, QueueError, Reader, RunFolder, StateFolder};
use crate::supervisor;

use super::effects::{Executor, Message};
use super::missions::{Missions, frozen_plan};
use super::notices::{Channels, DeliveryContext, channel_of, document, hand_over};
use super::recover::recover;

/// Letters of one channel that a session tries again; the next session goes on.
const MOST_AT_ONCE: usize = 20;

/// Letters for the failed operations of a run's journal that the queue is not known to have.
fn letters_of<'s>(state: &State, run: &RunId, ids: impl IntoIterator<Item = &'s String>) -> Vec<DeadLetter> {
    let known = state.notices.letters();
    let failed = ids.into_iter().filter_map(|id| known.get(id));
    failed.map(|failed| letter_of(&state.plan, run, failed)).collect()
}

fn letter_of(plan: &Plan, run: &RunId, failed: &FailedOperation) -> DeadLetter {
    let (operation, args) = match &failed.operation {
        Operation::Notify {
            number,
            channel,
            notice,
        } => (
            DeadLetter::notify(channel),
            json!({"channel": channel, "notification": document(plan, run, *number, channel, notice)}),
        ),
        Operation::Judge { agent, task, attempt } => {
            let agent = plan.agent_name(*agent);
            let task = plan.title(*task);
            (
                DeadLetter::judge(agent),
                json!({"agent": agent, "task": task, "attempt": attempt}),
            )
        }
        Operation::Tool {
            turn,
            tool,
            arguments,
        } => {
            let task = plan.title(turn.task);
            (
                DeadLetter::tool(tool),
                json!({"task": task, "attempt": turn.attempt, "turn": turn.turn, "arguments": arguments}),
            )
        }
    };
    let id = format!("{run}.{}", failed.id);
    let mut letter = DeadLetter::new(
        id,
        run.clone(),
        operation,
        failed.class,
        failed.error.clone(),
        Timestamp::now(),
    );
    letter.args = args;
    letter
}

/// Puts letters into the queue. Says what went wrong: then the journal still has them.
fn file(queue: &DeadLetters, letters: Vec<DeadLetter>) -> Result<(), WorkError> {
    let refused = queue
        .add(letters, Timestamp::now())
        .map_err(|error| error.to_string())?;
    if refused.is_empty() {
        return Ok(());
    }
    let path = queue.path().display();
    Err(format!(
        "{path} is full of open letters, so these are not in it: {}",
        refused.join(", ")
    )
    .into())
}

/// Everything that the journal of a run has for the queue, at the end of a session. Returns why it cannot be written; the
/// next session tries again.
pub fn file_all(folder: &RunFolder, state: &State) -> Option<String> {
    let letters = letters_of(state, folder.id(), state.notices.letters().keys());
    if letters.is_empty() {
        return None;
    }
    let filed = file(&DeadLetters::of(&folder.state_folder()), letters);
    filed.err().map(String::from)
}

impl Executor {
    /// Puts failed operations into the queue, off the loop.
    pub fn file(&mut self, state: &State, ids: Vec<String>) {
        let letters = letters_of(state, self.folder.id(), &ids);
        let queue = DeadLetters::of(&self.folder.state_folder());
        self.blocking(move || {
            let warning = file(&queue, letters).err().map(String::from);
            // The journal has them, whatever happened: nothing waits for a queue that cannot be written.
            let filed = Fact::Filed { ids };
            warning.map(Fact::Warn).into_iter().chain([filed]).collect()
        });
    }

    /// Begins to try again what is due. Each channel is tried for itself, and left alone once it fails. Looks at the
    /// queue before the session begins to work, and gives back what there is to say about it.
    pub fn drain_dead_letters(&mut self) -> Option<Fact> {
        let folder = self.folder.state_folder();
        let queue = DeadLetters::of(&folder);
        let warning = |error: QueueError| Fact::Warn(format!("dead letters are not tried again: {error}"));
        let now = Timestamp::now();
        let letters = match queue.read() {
            Ok(letters) => letters,
            Err(error) => return Some(warning(error)),
        };
        if !letters.iter().any(|letter| concerns_a_session(letter, now)) {
            return None;
        }
        let (own, channels) = (self.folder.id().clone(), self.programs.channels.clone());
        let (context, sender) = (self.delivery_context(), self.sender.clone());
        let work = tokio::spawn(async move {
            if let Err(error) = drain(&queue, &folder, &own, &channels, context).await {
                // After the loop has ended it is of no use.
                let _ = sender.send(Message::Fact(warning(error)));
            }
        });
        self.draining = Some(work);
        None
    }
}

/// Work on the queue's file, which syncs it, must not hold up the loop.
async fn off_the_loop<T: Send + 'static>(
    queue: &DeadLetters,
    work: impl FnOnce(&DeadLetters) -> T + Send + 'static,
) -> Option<T> {
    let queue = queue.clone();
    // It fails only where the runtime ends; then the result is of no use.
    tokio::task::spawn_blocking(move || work(&queue)).await.ok()
}

/// Whether a session has to do with it: it is due, or was left in the middle.
fn concerns_a_session(letter: &DeadLetter, now: Timestamp) -> bool {
    letter.is_due(now) || letter.status == LetterStatus::Retrying
}

/// The letters that are due, with the right to try them.
fn claim_due(queue: &DeadLetters) -> Result<Option<(Lock, Vec<DeadLetter>)>, QueueError> {
    let now = Timestamp::now();
    // Another process is at it.
    let Some(turn) = queue.begin_retries(now)? else {
        return Ok(None);
    };
    let due = queue.read()?.into_iter().filter(|letter| letter.is_due(now));
    Ok(Some((turn, due.collect())))
}

async fn drain(
    queue: &DeadLetters,
    folder: &StateFolder,
    own: &RunId,
    channels: &Channels,
    context: DeliveryContext,
) -> Result<(), QueueError> {
    let Some((_turn, letters)) = off_the_loop(queue, claim_due).await.transpose()?.flatten() else {
        return Ok(());
    };
    let mut due: BTreeMap<String, Vec<DeadLetter>> = BTreeMap::new();
    for letter in letters {
        due.entry(letter.operation.clone()).or_default().push(letter);
    }
    let mut work: tokio::task::JoinSet<Result<(), QueueError>> = tokio::task::JoinSet::new();
    for letters in due.into_values() {
        let (queue, folder, context) = (queue.clone(), folder.clone(), context.clone());
        let (own, channels) = (own.clone(), channels.clone());
        work.spawn(async move {
            for letter in letters.into_iter().take(MOST_AT_ONCE) {
                let known = (letter.run == own).then(|| letter.channel()).flatten();
                let known = known.and_then(|name| channels.get(name).cloned());
                let retried = retry(&queue, &folder, &letter, known, context.clone()).await?;
                if retried.status != LetterStatus::Resolved {
                    break;
                }
            }
            Ok(())
        });
    }
    while let Some(ended) = work.join_next().await {
        ended.unwrap_or(Ok(()))?;
    }
    Ok(())
}

/// Tries one letter again and writes down what came of it.
async fn retry(
    queue: &DeadLetters,
    folder: &StateFolder,
    letter: &DeadLetter,
    known: Option<Arc<DeliveryChannel>>,
    context: DeliveryContext,
) -> Result<DeadLetter, QueueError> {
    let (tried, place) = (letter.clone(), folder.clone());
    let begun = off_the_loop(queue, move |queue| {
        let now = Timestamp::now();
        queue.update(&tried.id, now, |letter| letter.begin_retry(now))?;
        let named = is_named(&place, &tried);
        let channel = named.and_then(|()| known.map_or_else(|| channel_of_letter(&place, &tried), Ok));
        Ok::<_, QueueError>(channel)
    });
    let Some(channel) = begun.await.transpose()? else {
        return Ok(letter.clone());
    };
    let result = match channel {
        Ok(channel) => hand_over(channel, letter.args["notification"].clone(), context).await,
        Err(why) => Err(DeliveryError::new(FailureClass::Unknown, why)),
    };
    let id = letter.id.clone();
    let ended = off_the_loop(queue, move |queue| {
        let now = Timestamp::now();
        queue.update(&id, now, |letter| match result {
            Ok(()) => letter.close(LetterStatus::Resolved, None, now),
            Err(refusal) => letter.retry_failed(refusal.class, refusal.message, now),
        })
    });
    Ok(ended
        .await
        .transpose()?
        .flatten()
        .unwrap_or_else(|| letter.clone()))
}

/// Whether a journal of the folder tells of the same operation: the queue is an index of them, and nothing that somebody
/// else put into it is delivered.
fn is_named(folder: &StateFolder, letter: &DeadLetter) -> Result<(), WorkError> {
    let run = folder.run(&letter.run);
    let is_same = |plan: &Plan, failed: &FailedOperation| {
        let told = letter_of(plan, &letter.run, failed);
        (&told.id, &told.operation, &told.args) == (&letter.id, &letter.operation, &letter.args)
    };
    let mut last = None;
    let mut named = false;
    let recovered = recover(&run, |state, record| {
        for event in &record.events {
            if let Event::Notice(notice) = event
                && let NoticeEvent::Died(failed) = &**notice
                && format!("{}.{}", letter.run, failed.id) == letter.id
            {
                named |= is_same(&state.plan, failed);
                last = Some(failed.clone());
            }
        }
    });
    let recovered = recovered.map_err(|error| error.to_string())?;
    // It may have been filed by a later session, under another mission's names.
    if named || last.is_some_and(|failed| is_same(&recovered.state.plan, &failed)) {
        Ok(())
    } else {
        Err("no journal of this state folder tells of it, so it is not delivered".into())
    }
}

/// The channel as the run that failed to use it knows it: another mission may mean something else by the name.
fn channel_of_letter(folder: &StateFolder, letter: &DeadLetter) -> Result<Arc<DeliveryChannel>, WorkError> {
    let name = letter.channel().ok_or("it is no notification")?;
    if !letter.args["notification"].is_object() {
        return Err("what was to be delivered is not known any more".into());
    }
    let run = folder.run(&letter.run);
    let started = started(&run).ok_or_else(|| format!("run '{}' is not there any more", letter.run))?;
    let mut plan = frozen_plan(&run, 1, started.mission_digest, &started.options);
    // A mission that a person changed later may have corrected the address.
    for number in 2.. {
        match crate::store::read_regular(&run.mission(number), crate::mission::LONGEST_MISSION) {
            Ok(bytes) => {
                let digest = crate::domain::Digest::of(&bytes);
                plan = frozen_plan(&run, number, digest, &started.options);
            }
            Err(_) => break,
        }
    }
    let plan = plan.map_err(|error| error.to_string())?;
    Ok(Arc::new(channel_of(
        &plan,
        name,
        &started.options.mission_folder,
    )?))
}

fn started(run: &RunFolder) -> Option<RunStarted> {
    let first = Reader::open(&run.journal()).ok()?.next_record().ok()??;
    match first.events.into_iter().next() {
        Some(Event::Run(RunEvent::Started(mut started))) => {
            super::moved::take_start_along(&mut started, &run.state_folder());
            Some(*started)
        }
        _ => None,
    }
}

/// The secrets that the run's agents are given, as far as this environment has them: a channel's command may
/// print what an agent wrote.
fn secrets_of(run: &RunFolder, started: &RunStarted) -> Secrets {
    let Ok((_, plan)) = Missions::of(run, started) else {
        return Secrets::default();
    };
    let names = plan.agents.iter().flat_map(|agent| agent.spec.variables());
    Secrets::of(names.filter_map(|name| std::env::var(name).ok()))
}

/// Why a letter was not tried again.
#[derive(Debug, thiserror::Error)]
pub enum RetryError {
    /// The queue cannot be used.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A session or another command tries letters again at this moment.
    #[error("letters are being tried again by another process at this moment")]
    Busy,
    /// The process that starts commands is gone.
    #[error("the process that holds commands ended unexpectedly: {0}")]
    Supervisor(std::io::Error),
}

/// Tries one letter of a channel again at once, by a person's word. Returns it as it is then.
///
/// # Errors
/// [`RetryError`]
pub async fn retry_now(
    folder: &StateFolder,
    letter: &DeadLetter,
    supervisor: supervisor::Client,
) -> Result<DeadLetter, RetryError> {
    let queue = DeadLetters::of(folder);
    let Some(_turn) = queue.begin_retries(Timestamp::now())? else {
        return Err(RetryError::Busy);
    };
    let run = folder.run(&letter.run);
    let started = started(&run);
    let secrets = Arc::new(
        started
            .as_ref()
            .map_or_else(Secrets::default, |started| secrets_of(&run, started)),
    );
    let cwd = started.map_or_else(
        || folder.path().to_owned(),
        |started| started.options.mission_folder,
    );
    let retried = with_commands(supervisor, async |commands| {
        let context = DeliveryContext {
            commands,
            state_folder: folder.path().to_owned(),
            cwd,
            secrets,
        };
        retry(&queue, folder, letter, None, context).await
    });
    Ok(retried.await.map_err(RetryError::Supervisor)??)
}
