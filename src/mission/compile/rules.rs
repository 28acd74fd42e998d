//! The rules of a whole run.

use std::num::NonZeroU32;

use crate::domain::{AgentId, Bar};
use crate::mission::defaults;
use crate::mission::loosened::loosened;
use crate::mission::model::{self, Mission, ViolationAction};
use crate::mission::plan::{Rules, RunOptions, SlaPlan};
use crate::mission::scalar::{Bytes, Fraction};

pub(super) fn rules(mission: &Mission, options: &RunOptions) -> Rules {
    let settings = &mission.settings;
    let concurrency = options.jobs.and_then(NonZeroU32::new).or(settings.concurrency);
    let workspace = mission.workspace.as_deref().unwrap_or(".");
    Rules {
        concurrency: concurrency.map_or_else(defaults::processors, NonZeroU32::get),
        orchestrator: orchestrator(mission),
        max_question_rounds: settings
            .max_question_rounds
            .unwrap_or(defaults::MAX_QUESTION_ROUNDS),
        max_resolution_attempts: settings
            .max_resolution_attempts
            .unwrap_or(defaults::MAX_RESOLUTION_ATTEMPTS),
        on_dependency_failed: settings
            .on_dependency_failed
            .unwrap_or_else(|| defaults::ON_DEPENDENCY_FAILED.into_iter().collect()),
        evaluate: !options.no_eval && settings.evaluate.unwrap_or(true),
        loosened: loosened(mission, options),
        eval_bar: options
            .eval_threshold
            .or(settings.eval_threshold)
            .unwrap_or_else(Bar::default_bar),
        fail_open_on_unparsed_eval: settings.fail_open_on_unparsed_eval.unwrap_or(false),
        independence: settings.independence.unwrap_or_default(),
        max_assessment_retries: settings
            .max_assessment_retries
            .unwrap_or(defaults::MAX_ASSESSMENT_RETRIES),
        auto_reject_on_timeout: settings.auto_reject_on_timeout.unwrap_or(false),
        quality_threshold: mission.quality_threshold,
        foundation: settings.foundation.unwrap_or(true),
        max_delegation_depth: settings
            .max_delegation_depth
            .unwrap_or(defaults::MAX_DELEGATION_DEPTH),
        max_delegations: settings.max_delegations.unwrap_or(defaults::MAX_DELEGATIONS),
        on_exhausted: mission.on_exhausted,
        verify_prior_feedback: settings.verify_prior_feedback.unwrap_or(true),
        tell_criteria: settings.tell_criteria.unwrap_or(true),
        final_checks: settings.final_checks.unwrap_or_default(),
        judge_breaker: settings.judge_breaker.unwrap_or(defaults::JUDGE_BREAKER),
        protect: settings.protect.to_vec(),
        checks_may_write: settings
            .checks_may_write
            .clone()
            .unwrap_or_else(defaults::checks_may_write),
        // Agents see this path: without the `.` that a file may say.
        workspace: options.mission_folder.join(workspace).components().collect(),
        deadline: mission.deadline,
        sla: sla(&settings.sla),
        max_window_wait: settings.max_window_wait.unwrap_or(defaults::MAX_WINDOW_WAIT),
        max_output: settings.max_output.map_or_else(defaults::max_output, Bytes::get),
        budget: model::Budget {
            max_cost: options.max_cost,
            max_tokens: options.max_tokens,
            ..model::Budget::default()
        }
        .or(mission.budget)
        .or(settings.budget),
        prices: settings.prices.0.clone(),
        default_channels: settings.default_channels.clone().unwrap_or_default(),
        middleware: settings.middleware.agent.clone().unwrap_or_default(),
        coordination: settings.middleware.coordination.clone().unwrap_or_default(),
    }
}

fn sla(sla: &model::Sla) -> SlaPlan {
    let channels = |names: &Option<Box<[Box<str>]>>| names.clone().unwrap_or_default();
    SlaPlan {
        warning: sla
            .warning_threshold
            .map_or_else(|| SlaPlan::default().warning, Fraction::points),
        warning_channels: channels(&sla.warning_channels),
        violation_channels: channels(&sla.violation_channels),
        fails: sla.violation_action == Some(ViolationAction::Fail),
    }
}

/// The agent that is named as orchestrator. A person who is named is a person: whoever is asked then is asked from outside.
fn orchestrator(mission: &Mission) -> Option<AgentId> {
    let name = mission.settings.orchestrator.as_deref()?;
    let agents = &mission.agents.0;
    let index = agents.iter().position(|(known, _)| **known == *name)?;
    (agents[index].1.adapter != model::Adapter::Human).then(|| AgentId::from_index(index))
}
