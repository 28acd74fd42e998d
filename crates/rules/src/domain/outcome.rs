//! What a run ends with: one class, one exit code (semantics, section 20).

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How far a run came that ends with a class.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reach {
    /// Nothing is left that could move without a person.
    End,
    /// A limit stopped the run before its end.
    Limit,
    /// A signal stopped the run before its end.
    Signal,
    /// The command was refused, or quorum failed.
    Broken,
}

/// How much there is to worry about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gravity {
    /// Nothing is wrong.
    Good,
    /// Somebody should look.
    Warning,
    /// Something went wrong.
    Bad,
}

/// The one table of outcomes: what each means, its exit code, its name, how far the run came, how grave that is, and whether
/// `--allow` may take it out. The order is that of [`OutcomeClass::BY_PRECEDENCE`].
macro_rules! outcome_classes {
    ($($(#[doc = $doc:literal])+ $class:ident = $code:literal, $name:literal, $reach:ident, $gravity:ident, $allow:literal;)+) => {
        /// A condition that can hold at the end of a run. The one that weighs most is the run's outcome.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum OutcomeClass {
            $($(#[doc = $doc])+ $class,)+
        }

        impl OutcomeClass {
            /// All classes, the one that weighs most first.
            pub const BY_PRECEDENCE: [Self; [$($code),+].len()] = [$(Self::$class,)+];

            /// The process's exit code.
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$class => $code,)+ }
            }

            /// The name as written in JSON. Both signals are `interrupted`; the exit code tells them apart.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$class => $name,)+ }
            }

            /// The meaning of the outcome, in a sentence or two.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$class => concat!($($doc),+).trim_ascii(),)+ }
            }

            fn tolerance(self) -> Reach {
                match self { $(Self::$class => Reach::$reach,)+ }
            }

            /// The gravity of the outcome.
            pub fn gravity(self) -> Gravity {
                match self { $(Self::$class => Gravity::$gravity,)+ }
            }

            /// Whether `--allow` may take this condition out. What says "the run did not get there" cannot be allowed away.
            pub fn may_be_allowed(self) -> bool {
                match self { $(Self::$class => $allow,)+ }
            }
        }
    };
}

outcome_classes! {
    /// quorum itself or its state failed.
    Internal = 1, "internal", Broken, Bad, false;
    /// The run was interrupted. Its state is saved; it can be resumed.
    Terminated = 143, "interrupted", Signal, Bad, false;
    /// The run was interrupted. Its state is saved; it can be resumed.
    Interrupted = 130, "interrupted", Signal, Bad, false;
    /// A flag, the configuration or the mission is wrong.
    Usage = 2, "usage", Broken, Bad, false;
    /// Something was in the way before any work, or of merging what was accepted.
    Environment = 9, "environment", Broken, Bad, false;
    /// The budget or the time is used up. The run can be resumed.
    Limit = 7, "limit", Limit, Warning, true;
    /// At least one task failed.
    TaskFailed = 3, "task_failed", End, Bad, true;
    /// A gate failed; what it blocks did not run.
    GateFailed = 4, "gate_failed", End, Bad, true;
    /// A review that was asked for gave no trustworthy verdict.
    Indeterminate = 6, "indeterminate", End, Warning, true;
    /// Work was accepted below its bar, or the mission missed its own.
    BelowThreshold = 5, "below_threshold", End, Warning, true;
    /// The run waits for a person.
    Awaiting = 8, "awaiting", End, Warning, true;
    /// Every task is done, nothing is below the bar, all gates and thresholds passed.
    Ok = 0, "ok", End, Good, false;
}

impl OutcomeClass {
    /// Whether the session was stopped before its work had ended: by a signal or a limit. What it was at is not done, and
    /// `resume` alone goes on with it.
    pub fn is_stop(self) -> bool {
        matches!(self.tolerance(), Reach::Limit | Reach::Signal)
    }

    /// Whether a signal stopped the session.
    pub fn is_signal(self) -> bool {
        self.tolerance() == Reach::Signal
    }

    /// Whether the run did not get to its end: it was stopped or refused, or quorum failed. What it skipped then says
    /// nothing.
    pub fn is_cut_short(self) -> bool {
        self.tolerance() != Reach::End
    }
}

impl FromStr for OutcomeClass {
    type Err = String;

    /// The class that `--allow` names.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.trim().replace('-', "_");
        let allowed = || {
            Self::BY_PRECEDENCE
                .into_iter()
                .filter(|class| class.may_be_allowed())
        };
        allowed().find(|class| class.as_str() == wanted).ok_or_else(|| {
            let names: Vec<_> = allowed().map(Self::as_str).collect();
            format!(
                "'{text}' is not a class that can be allowed; one of: {}",
                names.join(", ")
            )
        })
    }
}
