//! The rules of a whole run.

use std::num::NonZeroU32;

use crate::domain::{AgentId, Bar};
use crate::mission::confinement::Confinement;
use crate::mission::defaults;
use crate::mission::loosened::loosened;
use crate::mission::model::{self, Mission, ViolationAction};
use crate::mission::plan::{Rules, SlaPlan};
use crate::mission::run_options::RunOptions;

pub(super) fn rules(mission: &Mission, options: &RunOptions) -> Rules {
    let settings = &mission.settings;
    let concurrency = options.jobs.and_then(NonZeroU32::new).or(settings.concurrency);
    let workspace = mission.workspace();
    Rules {
        concurrency: concurrency.map_or_else(defaults::processors, NonZeroU32::get),
        orchestrator: orchestrator(mission),
        max_question_rounds: settings.max_question_rounds(),
        max_resolution_attempts: settings.max_resolution_attempts(),
        on_dependency_failed: settings.on_dependency_failed(),
        evaluate: !options.no_eval && settings.evaluate(),
        loosened: loosened(mission, options),
        eval_bar: options
            .eval_threshold
            .or(settings.eval_threshold)
            .unwrap_or_else(Bar::default_bar),
        fail_open_on_unparsed_eval: settings.fail_open_on_unparsed_eval(),
        independence: settings.independence(),
        max_assessment_retries: settings.max_assessment_retries(),
        auto_reject_on_timeout: settings.auto_reject_on_timeout(),
        quality_threshold: mission.quality_threshold,
        foundation: settings.foundation(),
        max_delegation_depth: settings.max_delegation_depth(),
        max_delegations: settings.max_delegations(),
        on_exhausted: mission.on_exhausted,
        verify_prior_feedback: settings.verify_prior_feedback(),
        tell_criteria: settings.tell_criteria(),
        final_checks: settings.final_checks(),
        judge_breaker: settings.judge_breaker(),
        protect: settings.protect.to_vec(),
        checks_may_write: settings.checks_may_write(),
        // Agents see this path: without the `.` that a file may say.
        workspace: options.mission_folder.join(&*workspace).components().collect(),
        confinement: Confinement::of_settings(settings),
        session_sandbox: options.sandbox,
        deadline: mission.deadline,
        sla: sla(&settings.sla),
        max_window_wait: settings.max_window_wait(),
        max_output: settings.max_output().get(),
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

fn sla(sla: &model::Sla) -> SlaPlan {
    SlaPlan {
        warning: sla.warning_threshold().points(),
        warning_channels: sla.warning_channels(),
        violation_channels: sla.violation_channels(),
        fails: sla.violation_action() == ViolationAction::Fail,
    }
}

/// The agent that is named as orchestrator. A person who is named is a person: whoever is asked then is asked from outside.
fn orchestrator(mission: &Mission) -> Option<AgentId> {
    let name = mission.settings.orchestrator.as_deref()?;
    let agents = &mission.agents.0;
    let index = agents.iter().position(|(known, _)| **known == *name)?;
    (agents[index].1.adapter != model::Adapter::Human).then(|| AgentId::from_index(index))
}
