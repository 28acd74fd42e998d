//! What lies in the inbox: commands of people who could not reach the session at its socket.
//!
//! Who can write files could take the socket away and leave letters instead. So only letters that were there before the
//! session listened are taken; one that comes while it does is moved aside, and no command later either.

use std::path::PathBuf;

use crate::engine::Fact;
use crate::store::{self, Found, OperatorKey};

use super::{RunError, STRANGERS_SAID, Session};
use crate::runtime::operator;

impl Session {
    /// Takes operators' commands: for this run as inputs, the others into the journals of theirs.
    pub(super) fn look_into_inbox(&mut self, inputs: &mut Vec<Fact>, taken: &mut Vec<PathBuf>) {
        let folder = self.folder.state_folder();
        let found = match store::waiting(&folder.inbox(), OperatorKey::existing) {
            Ok(found) => found,
            Err(error) => {
                let text = format!("cannot look into {}: {error}", folder.inbox().display());
                // Said once: what cannot be read now cannot be read in a moment either.
                if !std::mem::replace(&mut self.inbox_trouble, true) {
                    inputs.push(Fact::Warn(text));
                }
                return;
            }
        };
        for file in found {
            let (path, why) = match file {
                Found::Command(path, _) if self.listens => {
                    let why = "it came while the session listened at its socket, where it must be said";
                    (path, why.to_owned())
                }
                Found::Command(path, queued)
                    if !self.killed.is_empty() && queued.command.is_a_persons_word() =>
                {
                    let why =
                        "it was left while no supervisor lived that would know who left it; say it again";
                    (path, why.to_owned())
                }
                Found::Command(path, queued) if queued.run == *self.folder.id() => {
                    inputs.extend(operator::files_of(&self.state, &queued.command));
                    inputs.push(operator::input_of(&queued));
                    taken.push(path);
                    continue;
                }
                Found::Command(path, queued) => {
                    self.others.find(path, *queued);
                    continue;
                }
                Found::Stranger(path) => {
                    // Whoever fills the inbox shall not fill the journal.
                    if self.strangers.len() < STRANGERS_SAID && self.strangers.insert(path.clone()) {
                        inputs.push(Fact::Warn(operator::stranger(&path)));
                    }
                    continue;
                }
                Found::Refused(path, why) => (path, why),
            };
            let aside = match store::move_aside(&path) {
                Ok(()) => "was moved aside".to_owned(),
                // It will be found again and again; that is said once.
                Err(_) if std::mem::replace(&mut self.inbox_trouble, true) => continue,
                Err(error) => format!("cannot be moved aside ({error})"),
            };
            inputs.push(Fact::Warn(format!(
                "{} is no command and {aside}: {why}",
                path.display()
            )));
        }
    }

    /// A last look, when nothing of the session lives any more: what was left while it listened is no command later.
    pub(super) fn leave_inbox(&mut self) {
        if self.listens {
            self.look_into_inbox(&mut Vec::new(), &mut Vec::new());
        }
    }

    /// Removes letters whose commands are durable.
    pub(super) fn remove(&mut self, taken: Vec<PathBuf>) -> Result<(), RunError> {
        for path in taken {
            if let Err(error) = store::taken(&path) {
                let warning = format!("cannot remove {}: {error}", path.display());
                self.turn(vec![Fact::Warn(warning)], Vec::new())?;
            }
        }
        Ok(())
    }
}
