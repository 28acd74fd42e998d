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

            /// The meaning of the outcome, and what to do about it.
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
    /// quorum itself failed, its state was damaged or changed by somebody else, or a result or report could not be
    /// written. `quorum doctor state` checks the state; `quorum resume` continues from the last record.
    Internal = 1, "internal", Broken, Bad, false;
    /// The session was ended by SIGTERM or a closed terminal, and its state is saved. `quorum resume` continues.
    Terminated = 143, "interrupted", Signal, Bad, false;
    /// The session was stopped by SIGINT (Ctrl-C), and its state is saved. `quorum resume` continues.
    Interrupted = 130, "interrupted", Signal, Bad, false;
    /// A flag, the configuration or the mission is wrong, or a confirmation was needed and nobody could be asked. No
    /// agent was started. The message says what to type; `quorum validate` checks a mission.
    Usage = 2, "usage", Broken, Bad, false;
    /// Something was missing or in the way before any work began: a program, a key, the lock, an unfinished run with
    /// the same tasks, or a state folder of somebody else. Nothing was started; `quorum doctor` checks the machine. Or
    /// all work was good and could not be merged into your branch: nothing of yours was touched, and `quorum resume`
    /// tries it again.
    Environment = 9, "environment", Broken, Bad, false;
    /// The budget (for work: what `reserveForJudging` leaves of it), `maxTime` or `--timeout` is used up, or a usage
    /// limit resets too late. Finished work is kept; `quorum resume` continues, with a higher limit where one is set.
    Limit = 7, "limit", Limit, Warning, true;
    /// At least one task failed. `quorum show TASK` says why; `quorum resume --retry-failed` tries failed tasks again.
    TaskFailed = 3, "task_failed", End, Bad, true;
    /// A quality gate failed, so the tasks that it blocks did not run. `quorum resume --redo TASK` does the work before
    /// it again; `quorum gate NAME --override --reason TEXT` lets it pass, on record.
    GateFailed = 4, "gate_failed", End, Bad, true;
    /// A review that was asked for gave no trustworthy verdict, because a judge failed, nobody may judge, or no score
    /// could be read. `quorum resume` asks the judges again; `quorum approve ID` accepts the work on a person's
    /// decision.
    Indeterminate = 6, "indeterminate", End, Warning, true;
    /// The work did not reach its bar in any attempt and was accepted all the same: that is the default for work that
    /// is judged by an evaluation, and what `onExhausted: accept` says. It is never shown as a success, and gates fail
    /// on it unless they say `acceptBelowThreshold`. `quorum resume --redo TASK` tries again; `quorum approve ID`
    /// acknowledges it, which changes nothing of flag and exit code, and `quorum reject ID --reason TEXT` fails the
    /// task. `quorum requests` has the ids.
    BelowThreshold = 5, "below_threshold", End, Warning, true;
    /// Only a person can move the run on. `quorum inbox` lists what waits; after `quorum approve`, `quorum reject` or
    /// `quorum answer`, `quorum resume` continues.
    Awaiting = 8, "awaiting", End, Warning, true;
    /// Every task that the run took is done, nothing is below its bar, and all gates and thresholds passed. There is
    /// nothing to do.
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
        let allowed = || Self::BY_PRECEDENCE.into_iter().filter(|class| class.may_be_allowed());
        allowed().find(|class| class.as_str() == wanted).ok_or_else(|| {
            let names: Vec<_> = allowed().map(Self::as_str).collect();
            format!("'{text}' is not a class that can be allowed; one of: {}", names.join(", "))
        })
    }
}
