//! The rules of a whole run.

use std::num::NonZeroU32;

use crate::{
    domain::{AgentId, Bar, Millis},
    mission::model::{self, Mission, ViolationAction, defaults},
    plan::{
        loosened_judging::loosened,
        model::{Extent, Rules},
        run_options::RunOptions,
        sla_plan::SlaPlan,
        worktree_plan::WorktreePlan,
    },
};

pub fn rules(mission: &Mission, options: &RunOptions) -> Rules {
    let settings = &mission.settings;
    let concurrency = options.jobs.and_then(NonZeroU32::new).or(settings.concurrency);
    let workspace = mission.workspace();
    let mut effective = settings.effective();
    effective.evaluate &= !options.no_eval;
    effective.baseline = mission.baseline.unwrap_or(effective.baseline);
    effective.proof = mission.proof.unwrap_or(effective.proof);
    if let Some(tests) = &mission.tests {
        effective.tests.clone_from(tests);
    }
    let told = options.eval_threshold.or(settings.eval_threshold);
    effective.eval_threshold = told.unwrap_or_else(Bar::default_bar);
    Rules {
        settings: effective,
        concurrency: concurrency.map_or_else(defaults::processors, NonZeroU32::get),
        orchestrator: orchestrator(mission),
        loosened: loosened(mission, options),
        quality_threshold: mission.quality_threshold,
        on_exhausted: mission.on_exhausted,
        protect: settings.protect.to_vec(),
        // Agents see this path: without the `.` that a file may say.
        workspace: options.mission_folder.join(&*workspace).components().collect(),
        hidden: None,
        isolation: mission.isolation(),
        worktrees: worktrees(&settings.worktree, options),
        workers: settings.workers.clone(),
        telemetry: settings.telemetry.clone(),
        extent: Extent::Whole,
        session_sandbox: options.sandbox,
        deadline: mission.deadline,
        sla: sla(&settings.sla),
        calibration: options.calibration.clone().filter(|_| settings.calibration.file.is_some()),
        budget: model::Budget {
            max_cost: options.max_cost,
            max_tokens: options.max_tokens,
            ..model::Budget::default()
        }
        .or(mission.budget)
        .or(settings.budget),
        prices: settings.prices.0.clone(),
        default_channels: settings.default_channels.clone().unwrap_or_default(),
        middleware: settings.middleware.agent(),
        coordination: settings.middleware.coordination(),
    }
}

fn worktrees(worktree: &model::Worktree, options: &RunOptions) -> WorktreePlan {
    WorktreePlan {
        root: None,
        copy: worktree.copy.clone(),
        link: worktree.link.clone(),
        setup: worktree.setup.clone(),
        max_file: worktree.max_file().get(),
        merge: options.merge.clone().unwrap_or_else(|| worktree.merge()),
    }
}

fn sla(sla: &model::Sla) -> SlaPlan {
    SlaPlan {
        warning: sla.warning_threshold().points(),
        warning_channels: sla.warning_channels(),
        violation_channels: sla.violation_channels(),
        fails: sla.violation_action() == ViolationAction::Fail,
        check_interval: sla.check_interval_ms.map(|interval| Millis(interval.0.into())),
    }
}

/// The agent that is named as orchestrator. A person who is named is a person: whoever is asked then is asked from outside.
fn orchestrator(mission: &Mission) -> Option<AgentId> {
    let name = mission.settings.orchestrator.as_deref()?;
    let agents = &mission.agents.0;
    let index = agents.iter().position(|(known, _)| **known == *name)?;
    (agents[index].1.adapter != model::Adapter::Human).then(|| AgentId::from_index(index))
}
