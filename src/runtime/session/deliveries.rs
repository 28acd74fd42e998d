//! What is told outside of the run while it goes on: notifications to channels, and the dead-letter queue.

use tokio::task::{AbortHandle, JoinHandle};

use rules::engine::Fact;

use crate::runtime::work::{
    context::WorkContext,
    dead_letters::{due_letters, try_again},
};

/// The deliveries of a session.
#[derive(Default)]
pub struct Deliveries {
    /// The notifications that are under way.
    under_way: Vec<AbortHandle>,
    /// The work on letters that are due to be tried again.
    pub retries: Option<JoinHandle<()>>,
}

impl Deliveries {
    /// Begins a delivery. A session that stops does not end it: it ends it, or gives up on it, when it ends.
    pub fn begin(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.under_way.retain(|work| !work.is_finished());
        self.under_way.push(tokio::spawn(work).abort_handle());
    }

    /// Begins to try again what is due: what there is to say about the queue comes back. Blocks.
    pub fn try_again(&mut self, context: &WorkContext) -> Option<Fact> {
        let due = match due_letters(&context.folder.state_folder()) {
            Ok(due) => due,
            Err(why) => return Some(Fact::Warn(why.into())),
        };
        self.retries = (!due.is_empty()).then(|| tokio::spawn(try_again(context.clone(), due)));
        None
    }

    /// Gives up on what is still under way.
    pub fn abort(&self) {
        self.under_way.iter().for_each(AbortHandle::abort);
    }
}
