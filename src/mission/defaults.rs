//! What holds where nobody says otherwise.

use std::num::NonZeroU32;

use rust_decimal::Decimal;

use super::model::{
    AgentChain, Budget, CheckInterval, Clarification, Consensus, CoordinationChain, FinalChecks,
    Independence, Middleware, PanelMode, Remedy, Settings, Sla, ViolationAction,
};
use super::read::Named;
use super::scalar::{Bytes, Fraction};
use crate::domain::{Bar, Dimension, Millis};

/// Percent of the greatest distance of two colours that a screenshot may be off.
pub(super) const TOLERANCE: u8 = 15;

/// Time of one turn (semantics, section 5).
pub(super) const TASK_TIMEOUT: Millis = Millis::from_secs(30 * 60);
/// Fixes after one execute or retry (section 4).
pub(super) const MAX_FIX_ATTEMPTS: u32 = 2;
/// Retries in all (section 4).
pub(super) const MAX_RETRIES: u32 = 3;
/// Attempts of a task judged by evaluation: one run and one rework (section 4).
pub(super) const MAX_EVALUATED_ATTEMPTS: u32 = 2;
/// Runs of a panel that came to no verdict, after the first (section 7).
pub(super) const MAX_ASSESSMENT_RETRIES: u32 = 1;
/// Questions about one task (section 5).
pub(super) const MAX_QUESTION_ROUNDS: u32 = 2;
/// How often the orchestrator is asked about one task whose dependency failed (section 11).
pub(super) const MAX_RESOLUTION_ATTEMPTS: u32 = 2;
/// What is tried when a dependency failed (section 11).
pub(super) const ON_DEPENDENCY_FAILED: [Remedy; 2] = [Remedy::Resolve, Remedy::Skip];
/// How sure a verification must be of its verdict, a share as points (section 10).
pub(super) const MIN_CONFIDENCE: u8 = 70;
/// How often a verification may be entered whose `onFail` points back (section 10).
pub(super) const MAX_VISITS: u32 = 3;
/// How deep work may be handed down (section 12).
pub(super) const MAX_DELEGATION_DEPTH: u32 = 3;
/// How many tasks one task may hand down (section 12).
pub(super) const MAX_DELEGATIONS: u32 = 20;
/// Judged rejections in a row after which a model's work is not judged any more in its wave (section 7).
pub(super) const JUDGE_BREAKER: u32 = 5;
/// How often a worker is told what its finish gate misses (section 6).
pub(super) const MAX_NUDGES: u32 = 2;
/// How often it is told that its work does not compile (section 6).
pub(super) const MAX_COMPILE_NUDGES: u32 = 8;
/// What compiles where a mission does not say (section 6).
pub(super) const COMPILE_COMMAND: &str = "npx tsc --noEmit";
/// Seats of a panel (section 7).
pub(super) const SEATS: u32 = 3;

/// How long an agent may be silent before somebody is warned (section 5).
pub(super) const STALE_THRESHOLD: Millis = Millis::from_secs(5 * 60);
/// How long a limit of a subscription may be waited for (section 13).
pub(super) const MAX_WINDOW_WAIT: Millis = Millis::from_secs(6 * 60 * 60);
/// How much one turn may print (section 22), in MiB.
const MAX_OUTPUT: u64 = 256;

/// How much one turn may print, where nobody says.
pub(super) fn max_output() -> u64 {
    MAX_OUTPUT << 20
}

/// The share of a deadline's time after which a warning is given (section 14).
pub(super) const WARNING_THRESHOLD: u8 = 80;

fn default_sla() -> Sla {
    Sla {
        warning_threshold: Fraction::of_percent(WARNING_THRESHOLD),
        check_interval_ms: Some(CheckInterval(30_000)),
        warning_channels: Some(Box::default()),
        violation_channels: Some(Box::default()),
        violation_action: Some(ViolationAction::Notify),
    }
}

/// The settings that hold where no file, variable or flag says anything.
#[must_use]
pub fn default_settings() -> Settings {
    Settings {
        stale_threshold: Some(STALE_THRESHOLD),
        max_window_wait: Some(MAX_WINDOW_WAIT),
        max_output: Bytes::mebibytes(MAX_OUTPUT),
        sla: default_sla(),
        budget: Budget::default(),
        prices: Named::default(),
        concurrency: NonZeroU32::new(processors()),
        orchestrator: None,
        max_question_rounds: Some(MAX_QUESTION_ROUNDS),
        max_resolution_attempts: Some(MAX_RESOLUTION_ATTEMPTS),
        on_dependency_failed: Some(ON_DEPENDENCY_FAILED.into_iter().collect()),
        evaluate: Some(true),
        eval_threshold: Some(Bar::default_bar()),
        fail_open_on_unparsed_eval: Some(false),
        max_attempts: NonZeroU32::new(MAX_EVALUATED_ATTEMPTS),
        max_fix_attempts: Some(MAX_FIX_ATTEMPTS),
        max_retries: Some(MAX_RETRIES),
        max_assessment_retries: Some(MAX_ASSESSMENT_RETRIES),
        task_timeout: Some(TASK_TIMEOUT),
        max_delegation_depth: Some(MAX_DELEGATION_DEPTH),
        foundation: Some(true),
        max_delegations: Some(MAX_DELEGATIONS),
        independence: Some(Independence::default()),
        consensus: Some(Consensus::default()),
        panel: Some(PanelMode::default()),
        refer_below: None,
        verify_prior_feedback: Some(true),
        tell_criteria: Some(true),
        final_checks: Some(FinalChecks::default()),
        approval_gates: None,
        auto_reject_on_timeout: Some(false),
        judge_breaker: Some(JUDGE_BREAKER),
        protect: Box::default(),
        checks_may_write: Some(checks_may_write()),
        default_channels: None,
        middleware: Middleware {
            agent: Some(AgentChain::default()),
            coordination: Some(CoordinationChain::default()),
        },
        clarification: Some(Clarification::default()),
    }
}

/// What checks may write below protected folders: what the runners of tests keep beside the tests.
#[must_use]
pub fn checks_may_write() -> Box<[Box<str>]> {
    [
        "**/__pycache__/**",
        "**/.pytest_cache/**",
        "**/target/**",
        "**/node_modules/.cache/**",
    ]
    .map(Box::from)
    .into()
}

/// The rubric of a verification that names none (section 10).
pub(super) const DEFAULT_RUBRIC: &str = "default-task";

/// As many tasks at once as the machine has processors.
pub(super) fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// What a panel scores where a mission names no dimensions (section 2).
#[must_use]
pub fn default_dimensions() -> Vec<Dimension> {
    [
        (
            "correctness",
            35,
            "The task does what it set out to do, correctly",
        ),
        (
            "completeness",
            30,
            "Every requirement of the description is addressed",
        ),
        ("code_quality", 20, "The code is clean, readable and maintainable"),
        ("edge_cases", 15, "Edge cases and error conditions are handled"),
    ]
    .into_iter()
    .map(|(name, percent, description)| Dimension {
        name: name.to_owned(),
        weight: Decimal::new(percent, 2),
        description: Some(description.to_owned()),
        rubric: default_scale(),
    })
    .collect()
}

/// What each score from 1 to 5 means.
fn default_scale() -> Vec<(u8, String)> {
    [
        (1, "Completely wrong, or missing"),
        (2, "Major issues, barely works"),
        (3, "Acceptable, with notable gaps"),
        (4, "Good, with minor issues"),
        (5, "Excellent, beyond what was asked"),
    ]
    .into_iter()
    .map(|(level, meaning)| (level, meaning.to_owned()))
    .collect()
}
