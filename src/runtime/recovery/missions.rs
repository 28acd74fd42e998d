//! The missions that a run went by: the one it started with, and those that a person accepted later. All of them lie
//! frozen in the run's folder, each with its digest in the journal, so that a replay sees the same plans.

use std::sync::Arc;

use crate::store::{Record, RunFolder};
use rules::domain::Digest;
use rules::engine::{Event, Fact, RunEvent, RunStarted};
use rules::mission::{self, LONGEST_MISSION, Report, Source};
use rules::plan::{Plan, PlanStep, RunOptions, compile, migrate_plan};
use supervisor::files::read_regular;

use super::recover::{RecoverError, layers_of};

/// The frozen missions of a run, as far as its journal was read, and the tasks that came and went between them.
#[derive(Debug, Clone)]
pub struct Missions {
    run: RunFolder,
    options: RunOptions,
    steps: Vec<Step>,
    number: u32,
    digest: Digest,
}

/// A step that made the plan what it is.
#[derive(Debug, Clone)]
enum Step {
    /// A mission; the first one is number 1.
    Mission(u32, Digest),
    /// A change of the plan while the run worked.
    Changed(PlanStep),
}

impl Missions {
    /// The mission that a run started with, and its plan.
    ///
    /// # Errors
    /// [`RecoverError`]
    pub fn of(run: &RunFolder, started: &RunStarted) -> Result<(Self, Arc<Plan>), RecoverError> {
        let digest = started.mission_digest;
        let plan = frozen_plan(run, 1, digest, &started.options)?;
        let missions = Self {
            run: run.clone(),
            options: started.options.clone(),
            steps: vec![Step::Mission(1, digest)],
            number: 1,
            digest,
        };
        Ok((missions, Arc::new(plan)))
    }

    /// The number of the mission that holds.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The digest of the mission that holds.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Follows a record: puts the missions into its changes, compiled with the options that hold, and notes what changes the plan.
    ///
    /// # Errors
    /// [`RecoverError`]
    pub fn complete(&mut self, record: &mut Record) -> Result<(), RecoverError> {
        for event in &mut record.events {
            match event {
                Event::Run(RunEvent::MissionChanged(change)) => {
                    let next = Arc::new(frozen_plan(
                        &self.run,
                        change.number,
                        change.mission_digest,
                        &self.options,
                    )?);
                    change.mission = Some(next.clone());
                    if let Fact::ChangeMission { mission, .. } = &mut record.fact {
                        *mission = Some(next);
                    }
                    (self.number, self.digest) = (change.number, change.mission_digest);
                    self.steps.push(Step::Mission(change.number, change.mission_digest));
                }
                Event::Run(RunEvent::Resumed(resume)) => self.options = resume.options.clone(),
                _ => self.steps.extend(event.plan_step().map(Step::Changed)),
            }
        }
        Ok(())
    }

    /// The plan that holds, with other options.
    ///
    /// # Errors
    /// [`RecoverError`]
    pub fn plan_with(&self, options: &RunOptions) -> Result<Arc<Plan>, RecoverError> {
        let mut plan: Option<Plan> = None;
        for step in &self.steps {
            match (step, &mut plan) {
                (Step::Mission(number, digest), before) => {
                    let next = frozen_plan(&self.run, *number, *digest, options)?;
                    *before = Some(match before.as_ref() {
                        Some(before) => migrate_plan(before, next),
                        None => next,
                    });
                }
                (Step::Changed(step), Some(plan)) => plan.follow(step),
                // A run starts with a mission.
                (_, None) => {}
            }
        }
        Ok(Arc::new(plan.expect("a run starts with a mission")))
    }
}

/// The plan of a frozen mission.
fn frozen_plan(
    run: &RunFolder,
    number: u32,
    expected: Digest,
    options: &RunOptions,
) -> Result<Plan, RecoverError> {
    let path = run.mission(number);
    let bytes = read_regular(&path, LONGEST_MISSION)
        .map_err(|source| RecoverError::Mission { path: path.clone(), source })?;
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
        message: report.render(mission::DiagnosticStyle { color: false, ascii: true, columns: None }),
    };
    let source = Source::new(path.to_string_lossy().as_ref(), bytes);
    let layers = layers_of(options).map_err(refused)?;
    let loaded = mission::load(&source, &layers).map_err(refused)?;
    let mut plan = compile(loaded.mission, options);
    plan.rules.worktrees.root = Some(run.worktrees());
    Ok(plan)
}
