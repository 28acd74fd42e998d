//! The loop that joins everything: takes inputs, asks the engine, commits records, performs effects.
//!
//! ```text
//! supervisor, models, files, timers, signals, operators ──Fact──▶ Session ──decide──▶ events ──journal, one sync──▶ apply ──▶ effects
//! ```
//!
//! One thread owns the state. It blocks on the sync of its journal and on nothing else: files are hashed and read on
//! the blocking pool, processes live below the supervisor, models answer asynchronously.
//!
//! | file | what |
//! |---|---|
//! | `carry` | commands on other machines |
//! | `isolation` | what processes may see and change; worktrees; protected files |
//! | `outside` | what runs without a session |
//! | `recovery` | how a session goes on with what lies on the disk |
//! | `session` | one session of a run: facts in, one record and one sync, effects out |
//! | `work` | one file for each kind of work |

#[cfg(any(feature = "temporal", test))]
mod carry;
mod isolation;
mod outside;
mod recovery;
mod session;
mod work;

#[cfg(feature = "temporal")]
pub use carry::{
    client::{hand_over, run_if_asked},
    desk::{ask_desk, close_desk},
    desk_form::DeskCall,
    form::{HostedCommand, SESSIONS},
    server::team_key,
    worker::{WorkerError, WorkerSetup, serve},
};
pub use isolation::git;
pub use isolation::hidden::{hide, not_hidden};
pub use isolation::protection::{INCLUDED, ReadBefore, files_nobody_makes, listed, named_scripts};
pub use isolation::run_files::part_of_run;
pub use isolation::worktrees::{
    begin_worktrees, check_repository, forget_work, has_work_of, restore_work, run_diff, tidy_worktrees,
    work_diff,
};
pub use outside::calibration_runner::{AskedAs, Judges, ReviewerReply, form_of_request};
pub use outside::intake::ask_about_request;
pub use outside::operator::{ApplyError, apply_offline, drain, vouch_for};
pub use outside::replay::{Comparison, Decision, Reading, Replay, replay, said_by_answer};
pub use outside::settings_files::{CONFIG, SettingsError, settings_files, user_settings};
pub use outside::working_diff::{WorkingDiff, working_diff};
pub use recovery::adopt::{Keeping, Left, adopt};
pub use recovery::inspect::{Inspection, SalvageError, VerifiedFiles, inspect, salvage};
pub use recovery::missing_files::missing_files;
pub use recovery::missions::Missions;
pub use recovery::moved::{below, state_base};
pub use recovery::origin::{
    CheckedOrigin, RunOrigin, code_of_start, is_whole, newest, next_start, operator_key, origin, vouched,
};
pub use recovery::recover::{HAS_WORKERS, RecoverError, Recovered, layers_of, recover};
pub use recovery::supervision::{NoWord, supervisors};
pub use recovery::unfinished::{Unfinished, unfinished_runs, unfinished_with};
pub use session::control::{ControlAnswer, Reply, ask};
pub use session::observer::Observer;
pub use session::snapshots::{Tail, summary_of_snapshot};
pub use session::{Ending, Session, SessionSetup};
pub use work::agent_backends::{AgentBackends, EnvironmentProblem, lacking_bash, locate};
pub use work::dead_letters::retry_now;
pub use work::login::{LoginState, login_of};
pub use work::notices::Notification;
pub use work::review_context::ReviewRequest;
