//! What earlier tasks said, for the prompts of those that build on them. An output may be hundreds of megabytes: all are read
//! beside the loop, and what takes long to read is remembered for the session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::executor::spool::read_output;
use crate::review::fence::TextExcerpt;
use crate::store::RunFolder;
use rules::domain::{Digest, TurnId};
use rules::engine::OutputRefs;

use super::worker_prompt::{UPSTREAM_CHARS, UpstreamOutputs};

/// Outputs of more bytes than this are remembered.
const LONG: u64 = 256 * 1024;
/// The most excerpts that are remembered; each is at most 32 KiB.
const REMEMBERED: usize = 256;

/// Excerpts by the digest of the output that they are of: the record vouches for them, whatever became of the file. Beside them what
/// was read for turns whose prompts are still to be written.
#[derive(Debug, Clone, Default)]
pub struct Remembered(Arc<Mutex<HashMap<Digest, TextExcerpt>>>, Arc<Mutex<HashMap<TurnId, UpstreamOutputs>>>);

impl Remembered {
    /// Reads for the prompt of a turn what others said. Blocks.
    pub fn read(&self, run: &RunFolder, turn: TurnId, quoted: Vec<(TurnId, OutputRefs)>) {
        let read = |(turn, output): (TurnId, OutputRefs)| {
            let found = self.known(&output).map_or_else(
                || read_output(run, turn, &output, 4 * UPSTREAM_CHARS).map_err(|error| error.to_string()),
                Ok,
            );
            if let Ok(excerpt) = &found {
                self.remember(&output, excerpt);
            }
            (turn, found)
        };
        let outputs = quoted.into_iter().map(read).collect();
        crate::locked(&self.1).insert(turn, outputs);
    }

    /// What was read for the prompt of a turn, once; or what others said where none of that is to be read.
    pub fn take(&self, turn: TurnId, quoted: &[(TurnId, OutputRefs)]) -> Option<UpstreamOutputs> {
        let read = crate::locked(&self.1).remove(&turn);
        let known = || {
            let known = quoted.iter();
            known.map(|(turn, output)| Some((*turn, Ok(self.known(output)?)))).collect()
        };
        read.or_else(known)
    }

    /// The excerpt of an output for which no file is to be read.
    fn known(&self, output: &OutputRefs) -> Option<TextExcerpt> {
        if output.stdout.is_none() && output.result.is_none() {
            return Some(TextExcerpt::default());
        }
        let remembered = crate::locked(&self.0);
        remembered.get(&key(output)?).cloned()
    }

    fn remember(&self, output: &OutputRefs, excerpt: &TextExcerpt) {
        let Some(key) = key(output) else {
            return;
        };
        let mut remembered = crate::locked(&self.0);
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(key, excerpt.clone());
    }
}

/// Only what is printed may be long enough to be worth it.
fn key(output: &OutputRefs) -> Option<Digest> {
    let printed = output.stdout.as_ref().filter(|_| output.result.is_none())?;
    (printed.length > LONG).then_some(printed.digest)
}
