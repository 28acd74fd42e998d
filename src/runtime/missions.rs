//! The missions that a run went by: the one it started with, and those that a person accepted later. All of them lie
//! frozen in the run's folder, each with its digest in the journal, so that a replay sees the same plans.

use std::sync::Arc;

use crate::domain::Digest;
use crate::engine::{Event, MissionChange, RunStarted};
use crate::mission::{self, Plan, Report, RunOptions, Source, compile, succeed};
use crate::store::{Record, RunFolder, read_regular};

use super::recover::{RecoverError, layers_of};

/// The frozen missions of a run, as far as its journal was read.
#[derive(Debug, Clone)]
pub struct Missions {
    run: RunFolder,
    options: RunOptions,
    /// The first one is number 1.
    digests: Vec<Digest>,
    plan: Arc<Plan>,
}

impl Missions {
    /// The mission that a run started with.
    ///
    /// # Errors
    /// [`RecoverError`]
    pub fn of(run: &RunFolder, started: &RunStarted) -> Result<Self, RecoverError> {
        let plan = frozen_plan(run, 1, started.mission_digest, &started.options)?;
        Ok(Self {
            run: run.clone(),
            options: started.options.clone(),
            digests: vec![started.mission_digest],
            plan: Arc::new(plan),
        })
    }

    /// The number of the mission that holds.
    #[must_use]
    pub fn number(&self) -> u32 {
        u32::try_from(self.digests.len()).expect("each one is a record of the journal")
    }

    /// The digest of the mission that holds.
    #[must_use]
    pub fn digest(&self) -> Digest {
        *self.digests.last().expect("a run starts with one")
    }

    /// The plan of the mission that holds, with the options that the run started with.
    #[must_use]
    pub fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan)
    }

    /// Puts the plans into a record's changes of the mission, and goes on to the last of them.
    ///
    /// # Errors
    /// [`RecoverError`]
    pub fn complete(&mut self, record: &mut Record) -> Result<(), RecoverError> {
        for event in &mut record.events {
            if let Event::MissionChanged(change) = event {
                change.plan = Some(self.follow(change)?);
            }
        }
        Ok(())
    }

    fn follow(&mut self, change: &MissionChange) -> Result<Arc<Plan>, RecoverError> {
        let next = frozen_plan(&self.run, change.number, change.to, &self.options)?;
        self.digests.push(change.to);
        self.plan = Arc::new(succeed(&self.plan, next));
        Ok(self.plan())
    }

    /// The plan of the mission that holds, with other options.
    ///
    /// # Errors
    /// [`RecoverError`]
    pub fn plan_with(&self, options: &RunOptions) -> Result<Arc<Plan>, RecoverError> {
        let mut plan: Option<Plan> = None;
        for (number, digest) in (1..).zip(&self.digests) {
            let next = frozen_plan(&self.run, number, *digest, options)?;
            plan = Some(match &plan {
                Some(before) => succeed(before, next),
                None => next,
            });
        }
        Ok(plan.map_or_else(|| self.plan(), Arc::new))
    }
}

/// The plan of a frozen mission.
pub(super) fn frozen_plan(
    run: &RunFolder,
    number: u32,
    expected: Digest,
    options: &RunOptions,
) -> Result<Plan, RecoverError> {
    let path = run.mission(number);
    let bytes = read_regular(&path).map_err(|source| RecoverError::Mission {
        path: path.clone(),
        source,
    })?;
    let found = Digest::of(&bytes);
    if found != expected {
        return Err(RecoverError::MissionChanged {
            run: run.id().clone(),
            path,
            expected: expected.short(),
            found: found.short(),
        });
    }
    let refused = |report: Report| RecoverError::MissionRefused {
        path: path.clone(),
        message: report.render(mission::Style {
            color: false,
            ascii: true,
            columns: None,
        }),
    };
    let source = Source::new(path.to_string_lossy().as_ref(), bytes);
    let layers = layers_of(options).map_err(refused)?;
    let loaded = mission::load(&source, &layers).map_err(refused)?;
    Ok(compile(loaded.mission, options))
}
