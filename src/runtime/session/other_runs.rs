//! Commands for the other runs of the state folder, which have no session while this session holds its lock.
//!
//! Taking one means to fold a journal and perhaps to end agents that outlived their runner, which may take many seconds.
//! So it is done beside the loop, one after the other, and the session ends only when the one in hand is done: nobody may
//! write to a journal without the lock.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use tokio::task::JoinHandle;

use crate::store::{self, Queued, StateFolder};
use rules::engine::CommandResult;

use super::control::{ControlAnswer, PendingCommand};
use crate::runtime::outside::operator;

/// Peers whose commands may wait; who comes on top is sent away unheard, and asks again.
const MOST_WAITING: usize = 64;

/// Where a command came from.
enum CommandOrigin {
    Peer(PendingCommand),
    File(PathBuf),
}

/// The result of a command, or why it could not be taken.
type Met = Result<Option<CommandResult>, String>;

/// The commands, in the order in which they came.
pub struct Others {
    folder: StateFolder,
    waiting: VecDeque<(Queued, CommandOrigin)>,
    /// The work on the first command.
    in_hand: Option<JoinHandle<Met>>,
    /// Files that were done with and would not go away.
    stuck: BTreeSet<PathBuf>,
}

impl Others {
    pub fn of(folder: StateFolder) -> Self {
        Self { folder, waiting: VecDeque::new(), in_hand: None, stuck: BTreeSet::new() }
    }

    /// Takes a command that came through the socket. It is answered when it is done.
    pub fn ask(&mut self, asked: PendingCommand) {
        if self.waiting.len() <= MOST_WAITING {
            self.waiting.push_back((asked.queued.clone(), CommandOrigin::Peer(asked)));
        }
    }

    /// Takes a command of the inbox. Its file goes away when it is done.
    pub fn find(&mut self, path: PathBuf, queued: Queued) {
        let is_it = |(_, origin): &(Queued, CommandOrigin)| matches!(origin, CommandOrigin::File(known) if *known == path);
        if !self.stuck.contains(&path) && !self.waiting.iter().any(is_it) {
            self.waiting.push_back((queued, CommandOrigin::File(path)));
        }
    }

    /// The next one that is done: what a person should know about it. Cancel safe; waits for ever if there is none.
    pub async fn next(&mut self) -> Option<String> {
        let Some((queued, _)) = self.waiting.front() else {
            return std::future::pending().await;
        };
        let work = self.in_hand.get_or_insert_with(|| {
            let (folder, queued) = (self.folder.clone(), queued.clone());
            tokio::task::spawn_blocking(move || {
                let state = operator::take(&folder, &queued).map_err(|error| error.to_string())?;
                Ok(state.commands.get(&queued.id).copied())
            })
        });
        let met = work.await.unwrap_or_else(|error| Err(error.to_string()));
        self.in_hand = None;
        let (_, origin) = self.waiting.pop_front()?;
        self.conclude(origin, met)
    }

    fn conclude(&mut self, origin: CommandOrigin, met: Met) -> Option<String> {
        let path = match origin {
            CommandOrigin::Peer(asked) => {
                let answer = met.map_or_else(ControlAnswer::Error, ControlAnswer::of);
                asked.answer(&answer);
                return None;
            }
            CommandOrigin::File(path) => path,
        };
        let gone = match &met {
            Ok(_) => store::taken(&path),
            Err(_) => store::move_aside(&path),
        };
        let said = match (met, &gone) {
            (Ok(_), Ok(())) => return None,
            (Ok(_), Err(error)) => format!("cannot remove {}: {error}", path.display()),
            (Err(why), Ok(())) => format!("{} is no command and was moved aside: {why}", path.display()),
            (Err(why), Err(error)) => {
                format!("{} is no command and cannot be moved aside ({error}): {why}", path.display())
            }
        };
        if gone.is_err() {
            self.stuck.insert(path);
        }
        Some(said)
    }

    /// Waits for the one in hand. Those that wait are not begun any more: a peer sees that it was not heard, and a file
    /// stays for the next writer.
    pub async fn finish(&mut self) {
        self.waiting.truncate(usize::from(self.in_hand.is_some()));
        if self.in_hand.is_some() {
            self.next().await;
        }
    }
}
