//! A worker's turn, from its beginning to its end.

use tokio::sync::oneshot;
#[cfg(any(feature = "temporal", test))]
use tokio::sync::oneshot::error::RecvError;

use crate::agents::preset::TurnSession;
use crate::executor::command::CommandJob;
use crate::executor::error::WorkError;
#[cfg(any(feature = "temporal", test))]
use crate::executor::runner::EndedCommand;
use crate::executor::runner::{CommandOwner, UnreadExit};
use crate::executor::task_command::CommandWork;
use crate::store::SpoolName;
use rules::domain::{FailureClass, Millis};
use rules::engine::{Fact, TurnEnd, TurnUpdate};

use super::context::{Undone, WorkContext, blocking, not_reachable};
use super::program_end::{LeftByTurn, left_by, silent};
use super::turn_order::{ModelWorker, TurnOrder, Worker};
use super::turn_watch::watched;
#[cfg(any(feature = "temporal", test))]
use super::{agent_messages::TurnMessages, carried};
use super::{echo, model_turn, tool_worker};
use crate::runtime::isolation::{protection::PROGRAMS, watch::TurnBaseline};

/// How many children may take each other's place for one turn in one session. Where each is killed, another one helps as little.
#[cfg(any(feature = "temporal", test))]
const MOST_CHILDREN: usize = 8;

/// Does a turn: from the look at what it rests on to the looks at what it has left.
pub async fn turn(context: WorkContext, order: TurnOrder, worker: Worker) -> Result<Fact, Undone> {
    let turn = order.turn;
    let is_begun = matches!(worker, Worker::Adopted(..));
    if !is_begun && context.protection.untouched(&[PROGRAMS]).is_none() {
        let looks = context.clone();
        blocking(move || drop(looks.look_at_protected(vec![PROGRAMS]))).await?;
    }
    match worker {
        Worker::Echo => Ok(blocking(move || echo::turn(&context, turn)).await?),
        // Its own box: what a model with tools needs would be part of each turn of a program, and is large.
        Worker::Model(worker, silence) => Box::pin(by_model(context, order, worker, silence)).await,
        Worker::Program(agent, session, allowed) => {
            let before = TurnBaseline::take(&context, order.files.clone(), None);
            let (looks, commands) = (context.clone(), order.commands.clone());
            let takes_long = agent.by.is_some() || commands.plan.worker_of(turn.task).spec.queue.is_some();
            let job = move || -> Result<CommandJob, WorkError> {
                let folder = commands.file(&SpoolName::Drop(turn));
                crate::locked(&looks.messages).add_folder(&folder)?;
                let id = new_id();
                let session = session.as_deref().map_or(TurnSession::New(&id), TurnSession::Resumed);
                let job = commands.job(CommandWork::Turn(turn, &agent, session, allowed.as_deref()))?;
                #[cfg(any(feature = "temporal", test))]
                let job = carried::begun(&looks, (turn, &commands), job)?;
                Ok(job)
            };
            // Without files of a preset there is only a folder to make, beside the prompt that the loop has written: to wake a
            // thread costs more.
            let job = if takes_long { blocking(job).await? } else { job() };
            match job {
                Ok(job) => {
                    let exit = context.commands.unread(CommandOwner::Turn(turn), job);
                    by_program(context, order, before, exit).await
                }
                Err(why) => Ok(not_reachable(turn, why)),
            }
        }
        Worker::Adopted(exit, known) => {
            let before = TurnBaseline::take(&context, order.files.clone(), known);
            by_program(context, order, before, exit).await
        }
    }
}

/// Waits for the end of a turn's program, tells meanwhile what its agent says, and looks at what it has left.
async fn by_program(
    context: WorkContext,
    order: TurnOrder,
    before: TurnBaseline,
    exit: UnreadExit,
) -> Result<Fact, Undone> {
    let (ended, said) = watched(&context, &order, exit).await?;
    #[cfg(any(feature = "temporal", test))]
    let (ended, said) = stood_for(&context, &order, (ended, said)).await?;
    match ended {
        Ok(ended) => {
            let of_turn = (order.turn, &order.commands);
            #[cfg(any(feature = "temporal", test))]
            let ended = if carried::is_carried(&order.commands.plan, order.turn) {
                let (looks, order) = (context.clone(), order.clone());
                let home = move || carried::turn_home(&looks, (order.turn, &order.commands), ended);
                match blocking(home).await?? {
                    Ok(ended) => ended,
                    Err(fact) => return Ok(fact),
                }
            } else {
                ended
            };
            match left_by(&context, of_turn, before, (ended, said)) {
                // To wake a thread costs more than all there is to do.
                LeftByTurn::Nothing(end) => Ok(*end),
                LeftByTurn::Files(looks) => Ok(blocking(looks).await?),
            }
        }
        // It was not wanted any more when it was to begin.
        Err(_) => Err(Undone::CalledOff),
    }
}

/// Waits on for a turn elsewhere where the child that stood for it was killed: another one takes its place.
#[cfg(any(feature = "temporal", test))]
async fn stood_for(
    context: &WorkContext,
    order: &TurnOrder,
    (mut ended, mut said): (Result<EndedCommand, RecvError>, TurnMessages),
) -> Result<(Result<EndedCommand, RecvError>, TurnMessages), WorkError> {
    for _ in 0..MOST_CHILDREN {
        let of_turn = (order.turn, &order.commands);
        let next = match &ended {
            Ok(ended) => carried::next_child(context, of_turn, ended)?,
            Err(_) => None,
        };
        let Some(job) = next else {
            break;
        };
        (ended, said) =
            watched(context, order, context.commands.unread(CommandOwner::Turn(order.turn), job)).await?;
    }
    Ok((ended, said))
}

/// Waits for the end of a model's turn, or for whoever ends it. What it did with tools is looked at.
async fn by_model(
    context: WorkContext,
    order: TurnOrder,
    worker: Box<ModelWorker>,
    silence: oneshot::Receiver<Millis>,
) -> Result<Fact, Undone> {
    let (turn, plan) = (order.turn, order.commands.plan.clone());
    context.post(Fact::TurnProgress(turn, TurnUpdate::Spawned { process: None }));
    let has_tools = plan.worker_of(turn.task).spec.works_with_tools();
    let before = has_tools.then(|| TurnBaseline::take(&context, order.files.clone(), None));
    let work = async {
        if has_tools {
            Ok(tool_worker::turn(&context, &order, &worker).await)
        } else {
            model_turn::turn(&context, &order, &worker).await
        }
    };
    let fact = tokio::select! {
        biased;
        fact = watched(&context, &order, work) => fact?.0?,
        idle = silence => {
            let idle = idle.map_err(|_| Undone::CalledOff)?;
            let why = format!("killed after {}", silent(idle));
            Fact::TurnEnded(Box::new(TurnEnd {
                killed: true,
                ..TurnEnd::failed(turn, FailureClass::Timeout, why)
            }))
        }
    };
    context.at_work().model_turns.remove(&turn);
    match (fact, before) {
        (Fact::TurnEnded(mut end), Some(before)) => {
            let seen = blocking(move || {
                let plan = context.newest_plan(&plan);
                let after = before.after(&context);
                end.files = after.seen(&plan, (turn.task, &mut end.delegate));
                Fact::TurnEnded(end)
            });
            Ok(seen.await?)
        }
        (fact, _) => Ok(fact),
    }
}

/// An id for a session: a UUID of version 4.
fn new_id() -> String {
    let [a, b] = [fastrand::u64(..), fastrand::u64(..)];
    let (first, second, third) = (a >> 32, a >> 16 & 0xffff, a & 0xfff | 0x4000);
    let (fourth, last) = (b >> 48 & 0x3fff | 0x8000, b & 0xffff_ffff_ffff);
    format!("{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{last:012x}")
}
