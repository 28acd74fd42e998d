//! Plans for the tests of other modules: everything as a mission has it that says nothing.

use std::sync::Arc;

use rust_decimal::Decimal;
use thin_vec::ThinVec;

use super::confinement::Confinement;
use super::{AttemptLimits, Extent, IdleTimeout, Part, Rules, SlaPlan, StagePlan, TaskPlan, WorktreePlan};
use crate::domain::{AgentId, Bar, Millis};
use crate::mission::model::{
    AgentChain, Autonomy, Budget, CoordinationChain, EffectiveSettings, Isolation, MergeInto, Review,
    Settings, Stakes, TaskType,
};

impl Rules {
    /// One task at a time, in `/`.
    pub fn plain() -> Self {
        Self {
            settings: EffectiveSettings {
                eval_threshold: Bar::default_bar(),
                foundation: false,
                on_dependency_failed: [].into_iter().collect(),
                ..Settings::default().effective()
            },
            session_sandbox: None,
            deadline: None,
            sla: SlaPlan::default(),
            calibration: None,
            budget: Budget::default(),
            prices: Vec::new(),
            orchestrator: None,
            protect: Vec::new(),
            concurrency: 1,
            loosened: Vec::new(),
            quality_threshold: None,
            on_exhausted: None,
            workspace: "/".into(),
            hidden: None,
            isolation: Isolation::Shared,
            extent: Extent::Whole,
            workers: Default::default(),
            telemetry: Default::default(),
            worktrees: WorktreePlan {
                root: None,
                copy: Box::default(),
                link: Box::default(),
                setup: None,
                max_file: u64::MAX,
                merge: MergeInto::FastForward,
            },
            default_channels: Box::default(),
            middleware: AgentChain::default(),
            coordination: CoordinationChain::default(),
        }
    }
}

impl TaskPlan {
    /// A task of an agent that is judged by evaluation.
    pub fn plain(title: &str, agent: AgentId) -> Self {
        Self {
            baseline: None,
            proof: None,
            tests: None,
            may_change_tests: false,
            confinement: Confinement::default(),
            deadline: None,
            silence: IdleTimeout::of(None, Settings::default().stale_threshold()),
            requires_tool_calls: None,
            route: None,
            middleware: None,
            wave: 0,
            title: title.into(),
            part: Part::Selected,
            description: None,
            assigned: agent,
            agent,
            agents_before: ThinVec::new(),
            delegated_by: None,
            priority: Decimal::ONE,
            kind: TaskType::Other,
            exclusive: false,
            side_effects: false,
            foundation: false,
            approvals: Vec::new(),
            turn_timeout: Millis::from_secs(1800),
            limits: AttemptLimits {
                max_fix_attempts: 2,
                max_retries: 3,
                max_attempts: None,
                max_evaluated_attempts: 2,
            },
            review: Review::Auto,
            on_exhausted: None,
            on_dependency_failed: None,
            workspace: None,
            isolation: Isolation::Shared,
            target_files: ThinVec::new(),
            acceptance: ThinVec::new(),
            protect: ThinVec::new(),
            checks_may_write: None,
            scratch: None,
            pipeline: Arc::default(),
            autonomy: Autonomy::default(),
            stakes: Stakes::default(),
            provenance: None,
        }
    }

    /// Declares one more stage of its judging.
    pub fn declare(&mut self, stage: StagePlan) {
        self.pipeline = self.pipeline.iter().cloned().chain([stage]).collect();
    }
}
