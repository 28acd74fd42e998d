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
//! | `admission` | which runs are unfinished, and which are in the way of a new one (5) |
//! | `adopt` | adoption: turns that still work below the supervisor of a session that died, or ended since |
//! | `agent_backends` | how the agents and channels of a run are reached: found out before anything starts |
//! | `agent_messages` | what an agent says while it works: files in the folder of its turn (17) |
//! | `ask` | asking agents: what is written, started or called; their reply stored and read |
//! | `audit` | audits: accepted work is looked at again (6) |
//! | `baseline` | what the checks of a task say before its work is looked at (24) |
//! | `calibration_runner` | reviewers that are asked outside of any run, to be held against people (`quorum calibrate`) |
//! | `calls` | the turn of a worker that is one request to a model |
//! | `clock` | the clock of a session: it hands the engine the timers whose moment has come |
//! | `commands` | commands of a session below its supervisor, and what their ends mean to the loop |
//! | `confinement` | what each process of a session may see and change, as a mount plan (23) |
//! | `control` | `control.sock`: commands of people to the live session |
//! | `dead_letters` | the dead-letter queue: what failed for good goes in, and is tried again (13) |
//! | `echo` | agents that answer with what they are told, inside of this process: no child, no key, no network |
//! | `effects` | performs effects: each becomes a process, a request or a look at files |
//! | `entry` | a record on its way: vouched for, applied, with what becomes due by it, appended |
//! | `error` | why a session could not go on |
//! | `file_records` | the record of files before a turn, and which tests were changed since (24) |
//! | `foreign_runs` | run folders of other processes that appear while this session holds the lock |
//! | `git` | the git program: each of its calls, by no configuration but its own |
//! | `guard` | protected files, looked at around each part of judging (22) |
//! | `hidden` | which files hidden checks keep from workers, and what of them cannot be hidden |
//! | `inspect` | whether a run on the disk is whole; keeping the good beginning of one that is not |
//! | `looks` | looks at tests that the work of a task changed (24) |
//! | `login` | whether the program of an agent can log in, as far as that is seen without starting it |
//! | `message_folders` | the folders in which turns leave their messages (`QUORUM_TASK_DIR`) |
//! | `middleware` | what is done around a turn, in the order of the task's chain (17) |
//! | `missions` | the missions that a run went by, frozen in its folder |
//! | `moved` | state that was carried elsewhere (22) |
//! | `notices` | notifications: what a channel is told, and handing it over (18) |
//! | `observer` | who watches a session |
//! | `operator` | commands of people to a run without a session, journaled for the next session |
//! | `odd_files` | files that git could not take are looked for before it adds anything |
//! | `origin` | where a run comes from: whether the key of this machine's operator vouches for it (22) |
//! | `other_mounts` | where else the files of a path are mounted |
//! | `other_runs` | commands for the other runs of the state folder while this session holds its lock |
//! | `outside` | agents that are asked outside of any session: triage, calibration |
//! | `permission` | a person's word about a tool call (5) |
//! | `protection` | what work is judged by, as it was when the session began (22) |
//! | `recover` | recovery: state = fold(apply, journal); damage is refused with line and byte |
//! | `replay` | `review --replay`: judgements derived again from what is stored |
//! | `reply` | replies of reviewers and of others who are asked: stored, sealed and read in one way |
//! | `review_context` | what reviewers are shown of a task's work: its output, its files and its checks |
//! | `reviewer_tools` | reviewers behind HTTP that look for themselves: tools that only read (7) |
//! | `run_files` | what a run is made of, which no report replaces (22) |
//! | `scan` | files that a task's rules name are looked at, beside the loop |
//! | `seen_on` | what checks said on commits that nobody had worked on: it is looked at once (24) |
//! | `session` | the loop: facts in, one record and one sync, effects out |
//! | `settings_files` | which `quorum.yaml` files settings are read from |
//! | `signals` | SIGINT, SIGTERM, and SIGHUP of a terminal that was closed |
//! | `snapshots` | when `state.json` is written |
//! | `stages` | the further stages: their commands, and what their agents are asked (6.7) |
//! | `stall_detector` | agents without output or a word for longer than their threshold (5) |
//! | `supervision` | whether the supervisor that held a run's agents ended in order |
//! | `tool_ledger` | the record of what a model did with its tools: one line a call in a file of the spool, written as it happens |
//! | `tool_worker` | workers behind HTTP: a model reads, writes and runs by way of this program (1, 6) |
//! | `triage` | an agent is asked about a request for work, outside of any session (16) |
//! | `turn` | worker turns by command: how they are started, and what their end means |
//! | `upstream` | what earlier tasks said, for the prompts of those that build on them |
//! | `watch` | protected paths and wanted files, before and after a turn (1, 6) |
//! | `worker_prompt` | what a worker is told: the task, what earlier tasks said, and what its last attempt was sent back with |
//! | `working_diff` | what differs between a revision and a working folder, for `review --diff` |
//! | `worktrees` | isolated tasks have folders of their own, and what was accepted of them is merged (22) |

mod admission;
mod adopt;
mod agent_backends;
mod agent_messages;
mod ask;
mod audit;
mod baseline;
mod calibration_runner;
mod calls;
mod clock;
mod commands;
mod confinement;
mod control;
mod dead_letters;
mod echo;
mod effects;
mod entry;
mod error;
mod file_records;
mod foreign_runs;
pub mod git;
mod guard;
mod hidden;
mod inspect;
mod login;
mod looks;
mod message_folders;
mod middleware;
mod missions;
mod moved;
#[cfg(test)]
mod mutated_tests;
mod notices;
mod observer;
mod odd_files;
mod operator;
mod origin;
mod other_mounts;
mod other_runs;
mod outside;
mod permission;
mod protection;
mod recover;
mod replay;
mod reply;
mod review_context;
mod reviewer_tools;
mod run_files;
mod scan;
mod seen_on;
mod session;
mod settings_files;
mod signals;
mod snapshots;
mod stages;
mod stall_detector;
mod supervision;
mod tool_ledger;
mod tool_worker;
mod triage;
mod turn;
mod upstream;
mod watch;
mod worker_prompt;
mod working_diff;
mod worktrees;

pub use admission::{Unfinished, unfinished_runs, unfinished_with};
pub use adopt::{Keeping, Left, adopt};
pub use agent_backends::{AgentBackends, EnvironmentProblem, lacking_bash, locate};
pub use audit::missing_files;
pub use calibration_runner::{AskedAs, Judges, Piece, ReviewerReply, form_of_request};
pub use control::{ControlAnswer, Reply, ask};
pub use dead_letters::retry_now;
pub use hidden::{hide, not_hidden};
pub use inspect::{Inspection, SalvageError, VerifiedFiles, inspect, salvage};
pub use login::{LoginState, login_of};
pub use missions::Missions;
pub use moved::{below, state_base};
pub use notices::Notification;
pub use observer::Observer;
pub use operator::{ApplyError, apply_offline, drain, vouch_for};
pub use origin::{
    CheckedOrigin, RunOrigin, code_of_start, is_whole, newest, next_start, operator_key, origin, vouched,
};
pub use protection::{ReadBefore, listed, named_scripts, unnamed};
pub use recover::{RecoverError, Recovered, layers_of, recover};
pub use replay::{Comparison, Decision, Reading, Replay, replay, said_by_answer};
pub use review_context::ReviewRequest;
pub use run_files::part_of_run;
pub use session::{Ending, Session, SessionSetup};
pub use settings_files::{CONFIG, SettingsError, settings_files, user_settings};
pub use snapshots::{Tail, told_by_snapshot};
pub use supervision::{NoWord, supervisors};
pub use triage::ask_about_request;
pub use working_diff::{WorkingDiff, working_diff};
pub use worktrees::{
    begin_worktrees, check_repository, forget_work, restore_work, tidy_worktrees, work_diff,
};
