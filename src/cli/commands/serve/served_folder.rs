//! What a server knows: the state folder, who may read it, what was drawn of it last.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::store::{RunFolder, StateFolder};
use rules::domain::RunId;

use super::access::PageAccess;
use super::changes::{Changes, Watched};

/// Both ends of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    pub ours: SocketAddr,
    pub theirs: SocketAddr,
}

/// The pages that were drawn last, each with the state that it shows.
type DrawnPages = HashMap<(PageKind, Watched), (String, Arc<str>)>;

/// What is served, and to whom.
pub struct ServedFolder {
    pub folder: StateFolder,
    pub access: PageAccess,
    /// The policy of every page: nothing but its own style and the one script.
    pub policy: String,
    /// The person that decisions are recorded as.
    pub by: String,
    pub changes: Changes,
    pub drawn: tokio::sync::Mutex<DrawnPages>,
    /// Decisions are made one after the other.
    pub deciding: tokio::sync::Mutex<()>,
}

/// The server, as everything that answers a request has it.
pub type PageServer = Arc<ServedFolder>;

impl ServedFolder {
    /// The run with this very id.
    pub fn run(&self, id: &str) -> Option<RunFolder> {
        let run = self.folder.run(&RunId::new(id).ok()?);
        run.journal().is_file().then_some(run)
    }
}

/// Which page is drawn of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageKind {
    Runs,
    Report,
    Inbox,
}
