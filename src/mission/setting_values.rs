//! The value of each setting by the path of its key, as `quorum config show` prints it.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::{Value, json};

use super::keys;
use super::model::{Mission, Settings};
use crate::domain::Money;

/// The paths of all keys below `settings`, in the order of the key table; each with whether quorum acts on it.
#[must_use]
pub fn setting_paths() -> Vec<(String, bool)> {
    keys::setting_paths()
}

/// What settings say about a key; `None` where they say nothing.
#[must_use]
pub fn setting_value(settings: &Settings, path: &str) -> Option<Value> {
    let s = settings;
    let names = |names: &[Box<str>]| json!(names);
    match path {
        "concurrency" => s.concurrency.map(|n| json!(n)),
        "orchestrator" => s.orchestrator.as_ref().map(|name| json!(name)),
        "evaluate" => s.evaluate.map(|on| json!(on)),
        "evalThreshold" => s.eval_threshold.map(|bar| json!(bar.points.to_f64())),
        "failOpenOnUnparsedEval" => s.fail_open_on_unparsed_eval.map(|on| json!(on)),
        "maxAttempts" => s.max_attempts.map(|n| json!(n)),
        "maxFixAttempts" => s.max_fix_attempts.map(|n| json!(n)),
        "maxRetries" => s.max_retries.map(|n| json!(n)),
        "maxQuestionRounds" => s.max_question_rounds.map(|n| json!(n)),
        "maxResolutionAttempts" => s.max_resolution_attempts.map(|n| json!(n)),
        "maxAssessmentRetries" => s.max_assessment_retries.map(|n| json!(n)),
        "taskTimeout" => s.task_timeout.map(|span| json!(span.to_string())),
        "staleThreshold" => s.stale_threshold.map(|span| json!(span.to_string())),
        "maxWindowWait" => s.max_window_wait.map(|span| json!(span.to_string())),
        "maxOutput" => s.max_output.map(|size| json!(size.to_string())),
        "approvalGates" => {
            let gates = s.approval_gates.as_ref()?;
            Some(json!(gates.iter().map(|gate| &*gate.name).collect::<Vec<_>>()))
        }
        "autoRejectOnTimeout" => s.auto_reject_on_timeout.map(|on| json!(on)),
        "independence" => s.independence.map(|word| json!(word)),
        "consensus" => s.consensus.map(|word| json!(word)),
        "panel" => s.panel.map(|word| json!(word)),
        "referBelow" => s.refer_below.map(|number| json!(number.get())),
        "judgeBreaker" => s.judge_breaker.map(|n| json!(n)),
        "verifyPriorFeedback" => s.verify_prior_feedback.map(|on| json!(on)),
        "tellCriteria" => s.tell_criteria.map(|on| json!(on)),
        "finalChecks" => s.final_checks.map(|word| json!(word)),
        "foundation" => s.foundation.map(|on| json!(on)),
        "maxDelegationDepth" => s.max_delegation_depth.map(|n| json!(n)),
        "maxDelegations" => s.max_delegations.map(|n| json!(n)),
        "onDependencyFailed" => {
            let order = s.on_dependency_failed?;
            Some(json!(order.iter().collect::<Vec<_>>()))
        }
        "protect" => (!s.protect.is_empty()).then(|| names(&s.protect)),
        "checksMayWrite" => s.checks_may_write.as_deref().map(names),
        "sla.warningThreshold" => s
            .sla
            .warning_threshold
            .map(|share| json!(share.points().to_f64() / 100.0)),
        "sla.checkIntervalMs" => s.sla.check_interval_ms.map(|interval| json!(interval.0)),
        "sla.warningChannels" => s.sla.warning_channels.as_deref().map(names),
        "sla.violationChannels" => s.sla.violation_channels.as_deref().map(names),
        "sla.violationAction" => s.sla.violation_action.map(|action| json!(action.as_str())),
        "budget.maxCost" => s.budget.max_cost.map(money_value),
        "budget.maxTokens" => s.budget.max_tokens.map(|n| json!(n)),
        "budget.maxRequests" => s.budget.max_requests.map(|n| json!(n)),
        "budget.maxTime" => s.budget.max_time.map(|span| json!(span.to_string())),
        "middleware.agent" => {
            let chain = s.middleware.agent.as_ref()?;
            Some(json!(chain.names().collect::<Vec<_>>()))
        }
        "middleware.coordination" => {
            let chain = s.middleware.coordination.as_ref()?;
            Some(json!(chain.names().collect::<Vec<_>>()))
        }
        "clarification" => s.clarification.map(|word| json!(word)),
        "prices" => {
            let price = |(model, price): &(Box<str>, super::model::Price)| {
                let price = json!({"input": money_value(price.input), "output": money_value(price.output)});
                (model.to_string(), price)
            };
            (!s.prices.0.is_empty()).then(|| Value::Object(s.prices.0.iter().map(price).collect()))
        }
        "defaultChannels" => s.default_channels.as_deref().map(names),
        _ => None,
    }
}

/// An amount as a file would say it.
#[must_use]
pub fn money_value(amount: Money) -> Value {
    json!(Decimal::from(amount).to_f64())
}

/// The settings that a mission itself gives, with its own budget among them.
#[must_use]
pub fn settings_of(mission: Mission) -> Settings {
    Settings {
        budget: mission.budget.or(mission.settings.budget),
        ..mission.settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mission::{ConfigLayer, Source, default_settings, load_config};

    /// Every key that quorum acts on has a value here as soon as somebody gives one.
    #[test]
    fn every_key_of_the_table_can_be_shown() {
        let text = "
channels: {c: {type: file, path: x}}
settings:
  concurrency: 1
  orchestrator: a
  referBelow: 1
  protect: [a]
  approvalGates: [{name: g}]
  defaultChannels: [c]
  prices: {m: {input: 1, output: 2}}
  budget: {maxCost: 1, maxTokens: 1, maxRequests: 1, maxTime: 1m}
agents: {a: {run: x}}
";
        let config = load_config(&Source::new("quorum.yaml", text), ConfigLayer::Project);
        let settings = config.expect("it is right").settings.or(default_settings());
        let paths = setting_paths();
        assert!(paths.len() > 40, "{paths:?}");
        for (path, is_built) in paths {
            assert_eq!(setting_value(&settings, &path).is_some(), is_built, "{path}");
        }
    }
}
