//! `quorum plan` and `quorum run --dry-run`: what would happen. No agent starts and no state folder is made.

use std::sync::Arc;

use clap::{ArgMatches, Args};

use crate::engine::State;
use crate::mission::Source;
use crate::report::documents::plan::{PlanDocument, dot, human, mermaid};

use crate::runtime::{ReadBefore, listed, settings_files};

use super::args::{Format, Run};
use super::failure::Failure;
use super::load::{absolute, load, mission_folder, selected_plan};
use super::options::{apply_flags, options_with_config};
use super::project::current_dir;
use super::screen::Screen;

/// The flags of `run`, so that one word changes a run into its plan.
#[derive(Debug, Args)]
pub struct Plan {
    #[command(flatten)]
    pub run: Run,
}

pub fn plan(arguments: &Run, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let mut options = options_with_config()?;
    apply_flags(&mut options, &arguments.flags.session, matches)?;
    options.mission_folder = mission_folder(&arguments.mission)?;
    let source = Source::read(&arguments.mission).map_err(Failure::mission)?;
    let loaded = load(&source, &options, screen)?;
    let plan = selected_plan(loaded, &mut options, &arguments.flags.only)?;
    let state = State::new(Arc::new(plan));
    match screen.output().format {
        Some(Format::Dot) => screen.result(&dot(&state.plan)),
        Some(Format::Mermaid) => screen.result(&mermaid(&state.plan)),
        _ => {
            let read = ReadBefore {
                mission: absolute(&arguments.mission),
                settings: settings_files(&current_dir()?)
                    .into_iter()
                    .map(|file| file.path)
                    .collect(),
            };
            let document = PlanDocument::of(&state).protecting(listed(&state, &options, &read));
            screen.show(&document, |screen| human(&document, screen));
        }
    }
    Ok(0)
}
