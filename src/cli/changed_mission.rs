//! A mission file that was changed since its run froze it: `resume` refuses it, `--accept-changed-mission` goes on by it.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{
    report::screens::changed_mission::{consequences, unified},
    runtime::Recovered,
    store::{RunFolder, StateFolder},
};
use rules::{
    domain::{Digest, TaskId, Timestamp},
    engine::{self, Fact, State},
    mission::{LONGEST_MISSION, Source},
    plan,
};
use supervisor::files::no_links::real_path;
use supervisor::files::{read_regular, replace_file};

use super::active_titles::refuse_active_titles;
use super::command_error::Failure;
use super::load::load;
use super::screen::Screen;
use super::session::resolve_programs;

/// A mission file that is not the one that the run goes by.
pub struct ChangedMission {
    path: PathBuf,
    source: Source,
    frozen: PathBuf,
    /// The number of the frozen one.
    number: u32,
}

impl ChangedMission {
    /// Looks whether the mission file was changed. One that is gone says nothing: the frozen copy is what was started.
    pub fn of(run: &RunFolder, recovered: &Recovered) -> Option<Self> {
        let path = recovered.started.mission_path.clone()?;
        let bytes = real_path(&path).and_then(|path| read_regular(&path, LONGEST_MISSION)).ok()?;
        let missions = &recovered.missions;
        (Digest::of(&bytes) != missions.digest()).then(|| Self {
            source: Source::new(path.to_string_lossy().as_ref(), bytes),
            frozen: run.mission(missions.number()),
            number: missions.number(),
            path,
        })
    }

    /// The difference between the missions, line by line.
    fn difference(&self) -> String {
        // It was read a moment ago; without it every line is new.
        let old = read_regular(&self.frozen, LONGEST_MISSION).unwrap_or_default();
        let names = (self.frozen.to_string_lossy(), self.path.to_string_lossy());
        unified(
            &String::from_utf8_lossy(&old),
            &String::from_utf8_lossy(&self.source.bytes),
            (&names.0, &names.1),
        )
    }

    /// Why the run does not go on.
    pub fn refusal(&self, run: &RunFolder) -> Failure {
        let since = match self.number {
            1 => "started",
            _ => "accepted it",
        };
        usage!(
            "{} was changed since run {} {since}",
            self.path.display(),
            run.id()
        )
        .details(self.difference())
        .help(format!(
            "`quorum resume {} --accept-changed-mission` goes on by the new text; to go on by the old one, restore the \
             file from {}",
            run.id(),
            self.frozen.display()
        ))
    }

    /// Checks the new text as `run` would, says what it changes, and freezes it beside the old one. What comes back is
    /// to be told to the run; before that nothing has changed.
    pub fn accept(
        &self,
        folder: &StateFolder,
        run: &RunFolder,
        recovered: &Recovered,
        screen: &Screen,
    ) -> Result<Fact, Failure> {
        let state = &recovered.state;
        let options = &state.options;
        let loaded = load(&self.source, options, screen)?;
        super::finish_gate::has_all(&loaded.mission, options)?;
        super::calibration::is_kept(&loaded.mission, options)?;
        let plan = plan::compile(loaded.mission, options);
        if plan.selected_ids().next().is_none() {
            return Err(usage!(
                "the changed mission has none of the tasks that this run was told to take (--only {})",
                options.only.join(", ")
            ));
        }
        let number = self.number + 1;
        let input = Fact::ChangeMission {
            number,
            from: recovered.missions.digest(),
            to: Digest::of(&self.source.bytes),
            mission: Some(Arc::new(plan)),
        };
        let events = engine::decide(state, &input, Timestamp::now());
        let mut after = state.clone();
        for event in &events {
            engine::apply(&mut after, event);
        }
        refuse_active_titles(folder, run, &becoming_active(state, &after))?;
        resolve_programs(&after, options, run.id())?;
        screen.error(&format!(
            "{}the mission was changed, and run {} goes on by it:\n{}",
            self.difference(),
            run.id(),
            consequences(&events, &after)
        ));
        let path = run.mission(number);
        replace_file(&path, &self.source.bytes)
            .map_err(|error| internal!("cannot write {}: {error}", path.display()))?;
        Ok(input)
    }
}

/// Titles of the tasks that are active after a change and were not before.
fn becoming_active<'s>(before: &State, after: &'s State) -> HashSet<&'s str> {
    let is_active = |state: &State, id: TaskId| {
        let is_known = state.plan.tasks.get(id.index()).is_some();
        is_known && state.takes(id) && !state.task(id).status().is_terminal()
    };
    let ids = after.plan.selected_ids();
    ids.filter(|id| is_active(after, *id) && !is_active(before, *id)).map(|id| after.plan.title(id)).collect()
}
