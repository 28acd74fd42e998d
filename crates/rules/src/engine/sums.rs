//! Sums over all tasks: what they are, and how they are added. What a task adds to them is in [`super::derive`].

use std::ops::{AddAssign, SubAssign};

use crate::domain::QualityFlag;

/// Numbers that are added and subtracted field by field.
macro_rules! sums {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$of:meta])* $seen:vis $field:ident: $kind:ty,)+ }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$of])* $seen $field: $kind,)+
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                $(self.$field -= other.$field;)+
            }
        }
    };
}

sums! {
    /// Sums over all tasks that readers are told.
    #[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    pub struct Counts {
        /// Tasks that the run takes.
        pub selected: u32,
        /// Tasks of the mission that the run was told to leave out, or that the verdict of a verification left out.
        pub not_taken: u32,
        /// Tasks that are done.
        pub done: u32,
        /// Tasks that failed, without those that a fixup has superseded.
        pub failed: u32,
        /// Tasks that failed and that a clean fixup has superseded.
        pub superseded: u32,
        /// Tasks that wait for a person.
        pub awaiting: u32,
        /// Tasks that hold a slot.
        pub running: u32,
        /// Done tasks by flag: clean.
        pub clean: u32,
        /// Done tasks by flag: relaxed.
        pub relaxed: u32,
        /// Done tasks by flag: unreviewed.
        pub unreviewed: u32,
        /// Done tasks by flag: unverified.
        pub unverified: u32,
        /// Done tasks by flag: degraded.
        pub degraded: u32,
        /// Done tasks by flag: below-threshold.
        pub below_threshold: u32,
        /// Tasks whose asked-for review gave no trustworthy verdict.
        pub indeterminate: u32,
        /// Tasks that needed more than one attempt.
        pub reworked: u32,
        /// Done tasks whose checks were green all along, with nothing else to stand for them.
        pub unproven: u32,
        /// Done tasks that only checks stand for of which nobody knows what they said before.
        pub baseline_unknown: u32,
    }
}

sums! {
    /// All sums over tasks.
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    pub struct Sums {
        /// The counts for readers: of tasks that the run takes.
        pub counts: Counts,
        /// Tasks that hold a slot.
        pub slots: u32,
        /// Turns that are out.
        pub turns_running: u32,
        /// Calls that are out for tasks, whether or not these hold a slot. While there are any, nothing is over.
        pub calls_open: u32,
        /// Tasks of which the runtime looks at something: files, checks, finish gates, criteria. No agent is called for it.
        pub looked_at: u32,
        /// Tasks of whose current attempt a red team or a vision check gave no report.
        pub faulted: u32,
        /// Exclusive tasks that hold a slot. Two at most for the length of one decision, when a parked one is answered.
        pub exclusive: u32,
        /// Approvers that are asked now.
        pub approvers_asked: u32,
    }
}

impl Counts {
    /// Tasks that are done or failed, superseded ones included.
    pub fn ended(&self) -> u32 {
        self.done + self.failed + self.superseded
    }

    pub fn of_flag(&mut self, flag: QualityFlag) -> &mut u32 {
        match flag {
            QualityFlag::Clean => &mut self.clean,
            QualityFlag::Relaxed => &mut self.relaxed,
            QualityFlag::Unreviewed => &mut self.unreviewed,
            QualityFlag::Unverified => &mut self.unverified,
            QualityFlag::Degraded => &mut self.degraded,
            QualityFlag::BelowThreshold => &mut self.below_threshold,
        }
    }
}
