//! `quorum logs`: what stands between the outputs of turns.

use super::style::{Role, TextLayout};
use crate::report::folds::history::{TurnHistory, TurnStanding};

/// The line before a turn's output, with a line feed at its end.
pub fn header(turn: &TurnHistory, screen: &TextLayout) -> String {
    let standing = match turn.end {
        TurnStanding::Lost => " (interrupted)",
        TurnStanding::Open | TurnStanding::Finished(_) => "",
    };
    let text = format!("==> attempt {}, turn {}{standing} <==", turn.id.attempt, turn.id.turn);
    format!("{}\n", screen.style.paint(Role::Dim, text))
}
