//! `quorum review --replay RUN`: every judgement of a run derived again from what is stored.

use crate::cli::failure::Failure;
use crate::cli::project::{find_run, refuse, state_folder};
use crate::cli::screen::Screen;
use crate::domain::RunId;
use crate::report::replay::{class, document, human};

/// The word for the run that was started last.
pub(super) const LATEST: &str = "latest";

/// Derives, compares, prints. Starts nothing and takes no lock.
pub(super) fn replay(wanted: &str, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let wanted = match wanted {
        LATEST => None,
        id => Some(RunId::new(id).map_err(Failure::usage)?),
    };
    let run = find_run(&folder, wanted.as_ref())?;
    let replayed = crate::runtime::replay(&run).map_err(refuse)?;
    if screen.is_json() {
        screen.document(&document(&replayed));
    } else {
        screen.result(&human(&replayed, &screen.out()));
    }
    Ok(class(&replayed).exit_code())
}
