//! Agents that answer with what they are told, inside of this process: no child, no key, no network.
//!
//! They make missions out of which only the graph is tried. As a reviewer such an agent has nothing to say: its reply
//! repeats the work, so a score in it would be the worker's own. It is never read for a verdict, whatever it holds.

use crate::executor::spool::read_head;
use crate::store::SpoolName;
use rules::domain::{Timestamp, TurnId};
use rules::engine::{Fact, TurnEnd, TurnUpdate, Usage};
use supervisor::files::if_there;

use super::context::{WorkContext, not_reachable};
use super::reply;

/// Does the turn of a worker that repeats its prompt. Blocks.
pub fn turn(context: &WorkContext, turn: TurnId) -> Fact {
    let begin = Timestamp::now();
    let file = |name| context.folder.spool_file(&name);
    let text = match if_there(read_head(&file(SpoolName::Prompt(turn)), u64::MAX)) {
        // `input: none`: it is told nothing and says nothing.
        Ok(text) => text.unwrap_or_default(),
        Err(error) => return not_reachable(turn, format!("cannot read the prompt: {error}")),
    };
    let output = match reply::write(&file(SpoolName::Out(turn)), &text) {
        Ok(output) => output,
        Err(why) => return not_reachable(turn, why),
    };
    context.post(Fact::TurnProgress(turn, TurnUpdate::Spawned { process: None }));
    Fact::TurnEnded(Box::new(TurnEnd {
        output,
        duration: Timestamp::now().since(begin),
        usage: Usage::ZERO,
        ..TurnEnd::clean(turn)
    }))
}
