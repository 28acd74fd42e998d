//! The work of a session: one file for each kind of work, and what workers and reviewers are shown.
//!
//! | file | what |
//! |---|---|
//! | `agent_backends` | how the agents and channels of a run are reached: found out before anything starts |
//! | `agent_messages` | what an agent says while it works: files in the folder of its turn (17) |
//! | `ask` | asking agents: what is written, started or called; their reply stored and read |
//! | `at_work` | who is at work in a session: whoever judges asks |
//! | `audit` | audits: accepted work is looked at again (6) |
//! | `baseline` | what the checks of a task say before its work is looked at (24) |
//! | `model_turn` | the turn of a worker that is one request to a model |
//! | `carried` | a turn whose agent has a `queue`: its folder goes to another machine and comes back |
//! | `context` | how work reaches the world, and how it comes back |
//! | `dead_letters` | the dead-letter queue: what failed for good goes in, and is tried again (13) |
//! | `delegated_gate` | the finish gate of a sub-task that an agent delegates rests on no file that nobody protects (12, 22) |
//! | `echo` | agents that answer with what they are told, inside of this process: no child, no key, no network |
//! | `folder_setup` | a folder of its own is made before anybody works or looks there, and is set up once |
//! | `jobs` | checks, finish gates, approvers, merges: work that is neither a turn nor a question |
//! | `login` | whether the program of an agent can log in, as far as that is seen without starting it; who must and cannot is refused |
//! | `message_folders` | the folders in which turns leave their messages (`QUORUM_TASK_DIR`) |
//! | `middleware` | what is done around a turn, in the order of the task's chain (17) |
//! | `notices` | notifications: what a channel is told, and handing it over (18) |
//! | `program_end` | what the end of a worker's program means: its outputs, its claims, its failure |
//! | `program_looks` | the programs of agents at work are looked at, beside the loop |
//! | `reply` | replies of reviewers and of others who are asked: stored, sealed and read in one way |
//! | `review_context` | what reviewers are shown of a task's work: its output, its files and its checks |
//! | `reviewer_tools` | reviewers behind HTTP that look for themselves: tools that only read (7) |
//! | `scan` | files that a task's rules name are looked at, beside the loop |
//! | `baseline_cache` | what checks said on commits that nobody had worked on: it is looked at once (24) |
//! | `further_stages` | the further stages: their commands, and what their agents are asked (6.7) |
//! | `test_looks` | looks at tests that the work of a task changed (24) |
//! | `tool_ledger` | the record of what a model did with its tools: one line a call in a file of the spool, written as it happens |
//! | `tool_worker` | workers behind HTTP: a model reads, writes and runs by way of this program (1, 6) |
//! | `turn` | a worker's turn, from its beginning to its end |
//! | `turn_order` | what a turn is given, by value |
//! | `turn_watch` | a turn at work is looked at: what its agent says, and how long it has said nothing (5, 17) |
//! | `upstream` | what earlier tasks said, for the prompts of those that build on them |
//! | `worker_prompt` | what a worker is told: the task, what earlier tasks said, and what its last attempt was sent back with |

pub mod agent_backends;
pub mod agent_messages;
pub mod ask;
pub mod at_work;
pub mod audit;
pub mod baseline;
pub mod baseline_cache;
#[cfg(any(feature = "temporal", test))]
pub mod carried;
#[cfg(test)]
mod command_tests;
pub mod context;
pub mod dead_letters;
pub mod delegated_gate;
pub mod echo;
pub mod folder_setup;
pub mod further_stages;
pub mod jobs;
pub mod login;
pub mod message_folders;
pub mod middleware;
pub mod model_turn;
pub mod notices;
pub mod program_end;
pub mod program_looks;
pub mod reply;
pub mod review_context;
pub mod reviewer_tools;
pub mod scan;
pub mod test_looks;
pub mod tool_ledger;
pub mod tool_worker;
pub mod turn;
pub mod turn_order;
pub mod turn_watch;
pub mod upstream;
pub mod worker_prompt;
