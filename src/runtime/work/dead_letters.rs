//! The dead-letter queue from the runtime's side: what failed for good goes in, and what may be tried again is tried
//! (semantics, section 13).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use serde_json::json;

use crate::agents::channel::{DeliveryChannel, DeliveryError};
use crate::agents::secrets::Secrets;
use crate::executor::error::WorkError;
use crate::executor::runner::Commands;
use crate::executor::with_commands::with_commands;
use crate::store::{DeadLetters, RunFolder, StateFileError, StateFolder};
use rules::domain::{DeadLetter, FailureClass, LetterStatus, RunId, Timestamp};
use rules::engine::{Event, Fact, FailedOperation, NoticeEvent, Notices, Operation};
use rules::plan::Plan;

use super::agent_backends::channel_of;
use super::context::{Undone, WorkContext, blocking};
use super::notices::{DeliveryContext, document, hand_over};
use crate::runtime::recovery::recover::{Recovered, recover};

/// Letters of one channel that a session tries again; the next session goes on.
const MOST_AT_ONCE: usize = 20;

/// The letter for a failed operation of a run.
pub fn letter_of(plan: &Plan, run: &RunId, failed: &FailedOperation) -> DeadLetter {
    let args = match &failed.operation {
        Operation::Notify { number, channel, notice } => {
            json!({"channel": channel, "notification": document(plan, run, *number, channel, notice)})
        }
        Operation::Judge { agent, task, attempt } => {
            json!({"agent": plan.agent_name(*agent), "task": plan.title(*task), "attempt": attempt})
        }
        Operation::Tool { turn, arguments, .. } => {
            let task = plan.title(turn.task);
            json!({"task": task, "attempt": turn.attempt, "turn": turn.turn, "arguments": arguments})
        }
    };
    let id = format!("{run}.{}", failed.id);
    let (operation, error) = (failed.operation.name(plan), failed.error.clone());
    let letter = DeadLetter::new(id, run.clone(), operation, failed.class, error, Timestamp::now());
    DeadLetter { args, ..letter }
}

/// Puts letters into the queue. Says what went wrong: then the journal still has them.
fn file(queue: &DeadLetters, letters: Vec<DeadLetter>) -> Result<(), WorkError> {
    let refused = queue.add(letters, Timestamp::now()).map_err(|error| error.to_string())?;
    if refused.is_empty() {
        return Ok(());
    }
    let path = queue.path().display();
    Err(format!("{path} is full of open letters, so these are not in it: {}", refused.join(", ")).into())
}

/// Everything that the journal of a run has for the queue, at the end of a session. Returns why it cannot be written; the
/// next session tries again.
pub fn file_all(folder: &RunFolder, plan: &Plan, notices: &Notices) -> Option<String> {
    let failed = notices.letters().values();
    let letters: Vec<_> = failed.map(|failed| letter_of(plan, folder.id(), failed)).collect();
    if letters.is_empty() {
        return None;
    }
    let filed = file(&DeadLetters::of(&folder.state_folder()), letters);
    filed.err().map(String::from)
}

/// Puts failed operations of a run into the queue: letters with the numbers that the journal has for them.
pub async fn filed(context: WorkContext, letters: Vec<DeadLetter>, ids: Vec<String>) -> Result<Fact, Undone> {
    let queue = DeadLetters::of(&context.folder.state_folder());
    let filing = blocking(move || file(&queue, letters));
    if let Err(why) = filing.await? {
        context.post(Fact::Warn(String::from(why)));
    }
    // The journal has them, whatever happened: nothing waits for a queue that cannot be written.
    Ok(Fact::Filed(ids))
}

fn not_tried(error: StateFileError) -> WorkError {
    format!("dead letters are not tried again: {error}").into()
}

/// The dead letters that are due, by the operation that failed.
pub type DueLetters = BTreeMap<String, Vec<DeadLetter>>;

/// The letters that are due when a session begins to work, by operation. Whoever holds the state folder is the only one to try
/// letters again, so what is found in the middle was left there by somebody who died: it is pending again. Blocks.
///
/// # Errors
/// What there is to say about the queue.
pub fn due_letters(folder: &StateFolder) -> Result<DueLetters, WorkError> {
    let (queue, now) = (DeadLetters::of(folder), Timestamp::now());
    let mut due: BTreeMap<_, Vec<_>> = BTreeMap::new();
    if queue.read().map_err(not_tried)?.is_empty() {
        return Ok(due);
    }
    let changed = queue.change(now, |letters| {
        for letter in letters {
            letter.return_to_pending();
            if letter.is_due(now) {
                due.entry(letter.operation.clone()).or_default().push(letter.clone());
            }
        }
    });
    changed.map_err(not_tried)?;
    Ok(due)
}

/// Tries again what is due. Each channel is tried for itself, and left alone once it fails.
pub async fn try_again(context: WorkContext, due: DueLetters) {
    let mut work = tokio::task::JoinSet::<Result<(), StateFileError>>::new();
    for letters in due.into_values() {
        let (folder, commands) = (context.folder.state_folder(), context.commands.clone());
        work.spawn(async move {
            for letter in letters.into_iter().take(MOST_AT_ONCE) {
                let retried = retry(&folder, &letter, commands.clone()).await?;
                if retried.status != LetterStatus::Resolved {
                    break;
                }
            }
            Ok(())
        });
    }
    while let Some(ended) = work.join_next().await {
        if let Err(error) = ended.unwrap_or(Ok(())) {
            // Dropped with the set, the others end too: the queue cannot be used.
            return context.post(Fact::Warn(not_tried(error).into()));
        }
    }
}

/// Tries one letter again and writes down what came of it.
async fn retry(
    folder: &StateFolder,
    letter: &DeadLetter,
    commands: Commands,
) -> Result<DeadLetter, StateFileError> {
    update(folder, letter, DeadLetter::begin_retry).await?;
    let (place, tried) = (folder.clone(), letter.clone());
    let delivery = blocking(move || delivery_of(&place, &tried, commands)).await;
    let result = match delivery {
        Ok(Ok((channel, context))) => hand_over(channel, letter.args["notification"].clone(), context).await,
        Ok(Err(why)) => Err(DeliveryError::new(FailureClass::Unknown, why)),
        // The runtime ends; then the result is of no use.
        Err(_) => return Ok(letter.clone()),
    };
    let note = move |letter: &mut DeadLetter, now| match result {
        Ok(()) => letter.close(LetterStatus::Resolved, None, now),
        Err(refusal) => letter.retry_failed(refusal.class, refusal.message, now),
    };
    update(folder, letter, note).await
}

/// Changes a letter in the queue. Returns it as it is then.
async fn update(
    folder: &StateFolder,
    letter: &DeadLetter,
    change: impl FnOnce(&mut DeadLetter, Timestamp) + Send + 'static,
) -> Result<DeadLetter, StateFileError> {
    let (queue, id, now) = (DeadLetters::of(folder), letter.id.clone(), Timestamp::now());
    let updated = blocking(move || queue.update(&id, now, |letter| change(letter, now)));
    Ok(updated.await.ok().transpose()?.flatten().unwrap_or_else(|| letter.clone()))
}

/// How a letter is delivered, as the run that failed to knows it: another mission may mean something else by the name of its
/// channel. The queue is an index of the journals, so nothing that somebody else put into it is delivered. A command that is
/// told something may print what an agent wrote, so what the agents of the run are given of the environment is secret there.
fn delivery_of(
    folder: &StateFolder,
    letter: &DeadLetter,
    commands: Commands,
) -> Result<(Arc<DeliveryChannel>, DeliveryContext), WorkError> {
    let is_same = |plan: &Plan, failed: &FailedOperation| {
        let told = letter_of(plan, &letter.run, failed);
        (&told.id, &told.operation, &told.args) == (&letter.id, &letter.operation, &letter.args)
    };
    let mut last = None;
    let mut is_named = false;
    let recovered = recover(&folder.run(&letter.run), |state, record| {
        for event in &record.events {
            if let Event::Notice(notice) = event
                && let NoticeEvent::Died(failed) = &**notice
                && format!("{}.{}", letter.run, failed.id) == letter.id
            {
                is_named |= is_same(&state.plan, failed);
                last = Some(failed.clone());
            }
        }
    });
    let Recovered { state, started, .. } = recovered.map_err(|error| error.to_string())?;
    // It may have been filed by a later session, under another mission's names.
    if !is_named && !last.is_some_and(|failed| is_same(&state.plan, &failed)) {
        return Err("no journal of this state folder tells of it, so it is not delivered".into());
    }
    let name = letter.channel().ok_or("it is no notification")?;
    let cwd = started.options.mission_folder;
    let variables = state.plan.agents.iter().flat_map(|agent| agent.spec.variables());
    let secrets: BTreeSet<String> = variables.map(str::to_owned).collect();
    Ok((
        Arc::new(channel_of(&state.plan, name, &cwd)?),
        DeliveryContext {
            commands,
            state_folder: folder.path().to_owned(),
            cwd,
            secrets: Arc::new(Secrets::from(secrets)),
        },
    ))
}

/// Tries one letter of a channel again at once, by a person's word. Returns it as it is then. The caller holds the lock of the
/// state folder.
///
/// # Errors
/// When the process that starts commands is gone, or the queue cannot be used.
pub async fn retry_now(
    folder: &StateFolder,
    letter: &DeadLetter,
    supervisor: supervisor::Client,
) -> io::Result<Result<DeadLetter, StateFileError>> {
    with_commands(supervisor, async |commands| retry(folder, letter, commands).await).await
}
