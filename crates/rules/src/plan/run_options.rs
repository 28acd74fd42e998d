//! What the command line and the environment say about a run.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use std::sync::Arc;

use crate::{
    domain::{Bar, Millis, Money, Points, TraceParent},
    mission::{file::strictness_source::SaidBy, model},
};

use super::calibrated::Calibration;

/// The options of a run from the command line and the environment. Frozen in `run:started`, so that a resume
/// uses the same.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunOptions {
    /// The folder of the mission file, absolute. `workspace` is relative to it.
    pub mission_folder: std::path::PathBuf,
    /// The folder in which the state lies, absolute and without links. The paths beside it mean what lies there: where the
    /// state was carried elsewhere, they go along (semantics, section 22). `None` in journals that do not tell.
    pub state_base: Option<std::path::PathBuf>,
    /// `--no-eval`, `EVAL=off`: no judge of any kind is called.
    pub no_eval: bool,
    /// The bar of `--eval-threshold` or `EVAL_THRESHOLD`.
    #[serialize_always]
    pub eval_threshold: Option<Bar>,
    /// The flags and variables that the options for reviews come from.
    #[serde(skip_serializing_if = "SaidBy::is_empty")]
    pub said_by: SaidBy,
    /// The most attempts, from `--max-attempts`.
    #[serialize_always]
    pub max_attempts: Option<u32>,
    /// The tasks that may run at the same time, from `--jobs`.
    #[serialize_always]
    pub jobs: Option<u32>,
    /// `--strict`: unreviewed work and open stages are indeterminate.
    pub strict: bool,
    /// `--allow`: conditions that do not count for the outcome.
    pub allow: Vec<crate::domain::OutcomeClass>,
    /// `--fail-fast`: once a task has failed, nothing more is started in this session.
    pub fail_fast: bool,
    /// `--only`: titles of the tasks that the run takes, with everything they need; empty takes all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// `--timeout`: how long a session may take.
    #[serialize_always]
    pub timeout: Option<Millis>,
    /// `--max-cost`: what the run may cost, all its sessions together.
    pub max_cost: Option<Money>,
    /// `--max-tokens`: tokens that it may read and write.
    pub max_tokens: Option<u64>,
    /// An agent began the run, as a client of `quorum mcp`: what a person decides is taken at a terminal only (semantics, section 5).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub over_mcp: bool,
    /// The trace that the run is a part of: `TRACEPARENT`, or one that began with it.
    pub trace: Option<TraceParent>,
    /// `--offline`: no network; models reply what is on record in `record`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
    /// `--record`: the folder that models' replies are recorded into, absolute; offline they come from there.
    pub record: Option<std::path::PathBuf>,
    /// `--sandbox`, `QUORUM_SANDBOX`: how all processes of the session are confined, whatever the mission says.
    pub sandbox: Option<model::Sandbox>,
    /// `--merge`: what becomes of work that was accepted in worktrees, whatever the mission says.
    pub merge: Option<model::MergeInto>,
    /// `--wait-approvals`: how long a session that only a person can move on is kept alive.
    #[serialize_always]
    pub wait_approvals: Option<Millis>,
    /// The tests that the files of `failToPass` named when the run started, by the file as the mission names it.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub test_lists: std::collections::BTreeMap<String, Vec<String>>,
    /// The share of bad work that may pass, from `--max-false-pass`.
    pub max_false_pass: Option<Points>,
    /// The bars that `settings.calibration` gave when the run started.
    pub calibration: Option<Arc<Calibration>>,
    /// The text of the project's `quorum.yaml`, where there is one.
    #[serialize_always]
    pub project_config: Option<String>,
    /// The name of the project's settings file; `None` in journals that do not tell.
    pub project_config_name: Option<String>,
    /// The text of the user's `quorum.yaml`, where there is one.
    #[serialize_always]
    pub user_config: Option<String>,
    /// The name of the user's settings file; `None` in journals that do not tell.
    pub user_config_name: Option<String>,
}

impl RunOptions {
    /// The file that bars came from.
    pub fn fits(&self) -> Option<std::path::PathBuf> {
        let calibration = self.calibration.as_ref()?;
        Some(self.mission_folder.join(&calibration.file))
    }

    /// Whether these options could let something pass that others would not. What may differ is a list: limits, how much is done at
    /// the same time, where accepted work goes, and what is stricter. Anything else could.
    pub fn lets_more_pass_than(&self, others: &Self) -> bool {
        let alike = Self {
            max_attempts: others.max_attempts,
            jobs: others.jobs,
            timeout: others.timeout,
            wait_approvals: others.wait_approvals,
            max_cost: others.max_cost,
            max_tokens: others.max_tokens,
            merge: others.merge.clone(),
            strict: others.strict,
            fail_fast: others.fail_fast,
            sandbox: others.sandbox,
            ..self.clone()
        };
        let is_laxer = others.strict && !self.strict;
        alike != *others || is_laxer || self.sandbox == Some(model::Sandbox::Off)
    }

    /// Withdraws what holds for one session only: flags of meaning stay frozen, limits of a session do not outlive it
    /// (semantics, section 5).
    pub fn forget_session(&mut self) {
        self.timeout = None;
        self.wait_approvals = None;
        self.jobs = None;
        self.sandbox = None;
    }
}
