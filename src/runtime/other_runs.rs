//! Commands for the other runs of the state folder, which have no session while this session holds its lock.
//!
//! Taking one means to fold a journal and perhaps to end agents that outlived their runner, which may take many seconds.
//! So it is done beside the loop, one after the other, and the session ends only when the one in hand is done: nobody may
//! write to a journal without the lock.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use tokio::task::JoinHandle;

use crate::engine::CommandResult;
use crate::store::{self, Queued, StateFolder};

use super::control::{Answer, Asked};
use super::operator;

/// Peers whose commands may wait; who comes on top is sent away unheard, and asks again.
const MOST_WAITING: usize = 64;

/// Where a command came from.
enum Origin {
    Peer(Asked),
    File(PathBuf),
}

/// What became of a command: what it met, or why it could not be taken.
type Met = Result<Option<CommandResult>, String>;

/// The commands, in the order in which they came.
pub(super) struct Others {
    folder: StateFolder,
    waiting: VecDeque<(Queued, Origin)>,
    in_hand: Option<(Origin, JoinHandle<Met>)>,
    /// Files that were done with and would not go away.
    stuck: BTreeSet<PathBuf>,
}

impl Others {
    pub fn of(folder: StateFolder) -> Self {
        Self {
            folder,
            waiting: VecDeque::new(),
            in_hand: None,
            stuck: BTreeSet::new(),
        }
    }

    /// Takes a command that came through the door. It is answered when it is done.
    pub fn ask(&mut self, asked: Asked) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting
                .push_back((asked.queued.clone(), Origin::Peer(asked)));
        }
    }

    /// Takes a command of the inbox. Its file goes away when it is done.
    pub fn find(&mut self, path: PathBuf, queued: Queued) {
        let mut files = self.waiting.iter().map(|(_, origin)| origin);
        let known = files.any(|origin| origin.is_file(&path)) || self.in_hand_is(&path);
        if !known && !self.stuck.contains(&path) {
            self.waiting.push_back((queued, Origin::File(path)));
        }
    }

    fn in_hand_is(&self, path: &Path) -> bool {
        self.in_hand
            .as_ref()
            .is_some_and(|(origin, _)| origin.is_file(path))
    }

    /// The next one that is done: what a person should know about it. Cancel safe; waits for ever if there is none.
    pub async fn next(&mut self) -> Option<String> {
        if self.in_hand.is_none() {
            self.begin();
        }
        let Some((_, work)) = &mut self.in_hand else {
            return std::future::pending().await;
        };
        let met = work.await.unwrap_or_else(|error| Err(error.to_string()));
        let (origin, _) = self.in_hand.take()?;
        self.conclude(origin, met)
    }

    fn begin(&mut self) {
        let Some((queued, origin)) = self.waiting.pop_front() else {
            return;
        };
        let folder = self.folder.clone();
        let work = tokio::task::spawn_blocking(move || {
            let state = operator::take(&folder, &queued).map_err(|error| error.to_string())?;
            Ok(state.commands.get(&queued.id).copied())
        });
        self.in_hand = Some((origin, work));
    }

    fn conclude(&mut self, origin: Origin, met: Met) -> Option<String> {
        let path = match origin {
            Origin::Peer(asked) => {
                let answer = met.map_or_else(Answer::Error, Answer::of);
                asked.answer(&answer);
                return None;
            }
            Origin::File(path) => path,
        };
        let gone = match &met {
            Ok(_) => store::taken(&path),
            Err(_) => store::move_aside(&path),
        };
        let said = match (met, &gone) {
            (Ok(_), Ok(())) => return None,
            (Ok(_), Err(error)) => format!("cannot remove {}: {error}", path.display()),
            (Err(why), Ok(())) => format!("{} is no command and was moved aside: {why}", path.display()),
            (Err(why), Err(error)) => format!(
                "{} is no command and cannot be moved aside ({error}): {why}",
                path.display()
            ),
        };
        if gone.is_err() {
            self.stuck.insert(path);
        }
        Some(said)
    }

    /// Waits for the one in hand. Those that wait are not begun any more: a peer sees that it was not heard, and a file
    /// stays for the next writer.
    pub async fn finish(&mut self) {
        self.waiting.clear();
        if self.in_hand.is_some() {
            self.next().await;
        }
    }
}

impl Origin {
    fn is_file(&self, wanted: &Path) -> bool {
        matches!(self, Self::File(path) if path == wanted)
    }
}
