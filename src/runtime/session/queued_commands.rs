//! What lies in the inbox: commands of people who could not reach the session at its socket.
//!
//! Who can write files could take the socket away and leave letters instead. So only letters that were there before the
//! session listened are taken; one that comes while it does is moved aside, and no command later either.

use std::path::PathBuf;

use crate::store::{self, InboxFile, OperatorKey};
use rules::engine::Fact;

use super::{INBOX_TROUBLES_TOLD, RunError, Session};
use crate::runtime::outside::operator;

impl Session {
    /// Takes operators' commands: for this run as inputs, the others into the journals of theirs.
    pub fn look_into_inbox(&mut self, inputs: &mut Vec<Fact>, taken: &mut Vec<PathBuf>) {
        let folder = self.folder.state_folder();
        let found = match store::waiting(&folder.inbox(), OperatorKey::existing) {
            Ok(found) => found,
            Err(error) => {
                let text = format!("cannot look into {}: {error}", folder.inbox().display());
                // There are only so many reasons why a folder cannot be read: no bound is needed.
                if self.inbox_troubles.insert(text.clone()) {
                    inputs.push(Fact::Warn(text));
                }
                return;
            }
        };
        for file in found {
            let (path, why) = match file {
                InboxFile::Command(path, _) if self.listens => {
                    let why = "it came while the session listened at its socket, where it must be said";
                    (path, why.to_owned())
                }
                InboxFile::Command(path, queued)
                    if !self.killed.is_empty() && queued.command.is_a_persons_word() =>
                {
                    let why =
                        "it was left while no supervisor lived that would know who left it; say it again";
                    (path, why.to_owned())
                }
                InboxFile::Command(path, queued) if queued.run == *self.folder.id() => {
                    inputs.extend(operator::files_of(&self.state, &queued.command));
                    inputs.push(operator::input_of(&queued));
                    taken.push(path);
                    continue;
                }
                InboxFile::Command(path, queued) => {
                    self.others.find(path, *queued);
                    continue;
                }
                InboxFile::Stranger(path) => {
                    self.warn_once(operator::stranger(&path), inputs);
                    continue;
                }
                InboxFile::Refused(path, why) => (path, why),
            };
            let path_shown = path.display();
            match store::move_aside(&path) {
                Ok(()) => {
                    inputs.push(Fact::Warn(format!("{path_shown} is no command and was moved aside: {why}")))
                }
                // It will be found again and again.
                Err(error) => self.warn_once(
                    format!("{path_shown} is no command and cannot be moved aside ({error}): {why}"),
                    inputs,
                ),
            }
        }
    }

    /// Tells what is wrong with the inbox, each thing once and only so many of them: whoever fills it shall not fill the
    /// journal.
    fn warn_once(&mut self, text: String, inputs: &mut Vec<Fact>) {
        if self.inbox_troubles.len() < INBOX_TROUBLES_TOLD && self.inbox_troubles.insert(text.clone()) {
            inputs.push(Fact::Warn(text));
        }
    }

    /// A last look, when nothing of the session lives any more: what was left while it listened is no command later.
    pub fn leave_inbox(&mut self) {
        if self.listens {
            self.look_into_inbox(&mut Vec::new(), &mut Vec::new());
        }
    }

    /// Removes letters whose commands are durable.
    pub fn remove(&mut self, taken: Vec<PathBuf>) -> Result<(), RunError> {
        for path in taken {
            if let Err(error) = store::taken(&path) {
                let warning = format!("cannot remove {}: {error}", path.display());
                self.turn(vec![Fact::Warn(warning)], Vec::new())?;
            }
        }
        Ok(())
    }
}
