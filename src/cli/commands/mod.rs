//! The subcommands, one file each. A command imports no other one: what two of them need lies above.
//!
//! | file | what |
//! |---|---|
//! | `agent` | `quorum agent ask`, `delegate`, `progress` and `result`: what an agent says to its run while it works on a task |
//! | `answer` | `quorum approve`, `quorum reject` and `quorum answer`: a person decides about what waits for one |
//! | `calibrate` | `quorum calibrate`: judges, recorded or live, held against people |
//! | `cancel` | `quorum cancel` and `quorum pause`: a person calls work off, or lets a session come to rest |
//! | `clean` | `quorum clean`: removes runs that nobody needs any more |
//! | `compare` | `quorum compare`: a run held against an earlier one (14) |
//! | `completions` | `quorum completions`: what a shell reads once, so that it asks `complete` at every key |
//! | `config` | `quorum config show`: which settings hold, and which layer each of them comes from |
//! | `diff` | `quorum diff`: what an isolated task changed |
//! | `dlq` | `quorum dlq`: what failed for good, and what becomes of it (13) |
//! | `doctor` | `quorum doctor`: whether this machine can run the mission, before anything is spent |
//! | `events` | `quorum events`: what happened, under the public names |
//! | `explain` | `quorum explain`: what a code, a flag or a word of a screen means |
//! | `gate` | `quorum gate`: gates from stored state; a person may let a failed one pass |
//! | `help` | `quorum --help`, and `quorum help` with the pages of the documentation |
//! | `inbox` | `quorum inbox`, `approvals` and `requests`: what waits for a person |
//! | `init` | `quorum init`: a mission that runs as written, to be changed step by step |
//! | `judge` | `quorum judge test`: whether the replies of an agent can be read where it is asked as a judge |
//! | `logs` | `quorum logs`: what the agent of a task said, turn by turn, also while it is still saying it |
//! | `man` | `quorum man`: manual pages, made from the same tree as the help |
//! | `mcp` | `quorum mcp`: an agent has missions run and reads how they end, by the Model Context Protocol |
//! | `merge` | `quorum merge`: brings the accepted work of a run that ended well into the user's branch |
//! | `metrics` | `quorum metrics`: how tasks, agents and the mission of a run did |
//! | `plan` | `quorum plan` and `quorum run --dry-run`: what would happen |
//! | `report` | `quorum report`: the reports of a run, written again from its journal |
//! | `request` | `quorum request`: work that somebody asks for from outside, and what becomes of it (16) |
//! | `resume` | `quorum resume`: continue a run from its journal |
//! | `review` | `quorum review`: judges a task of a run again, or any work without a run |
//! | `run` | `quorum run`: validate, run, judge, report |
//! | `runs` | `quorum runs`: the runs of the state folder |
//! | `schema` | `quorum schema`: what a file may hold, for editors as JSON Schema and for people key by key; what documents hold |
//! | `serve` | `quorum serve`: runs as pages for a browser, and decisions from there |
//! | `show` | `quorum show`: everything about one task of a run |
//! | `stats` | `quorum stats`: how agents and judges did over all runs (14) |
//! | `status` | `quorum status`: a run as its journal tells it, whether somebody works on it or not |
//! | `validate` | `quorum validate`: everything that is wrong with mission files, without a network and without starting anything |
//! | `worker` | `quorum worker`: runs agents of other machines' missions |

pub(super) mod agent;
pub(super) mod answer;
pub(super) mod calibrate;
pub(super) mod cancel;
pub(super) mod clean;
pub(super) mod compare;
pub(super) mod completions;
pub(super) mod config;
pub(super) mod diff;
pub(super) mod dlq;
pub(super) mod doctor;
pub(super) mod events;
pub(super) mod explain;
pub(super) mod gate;
pub(super) mod help;
pub(super) mod inbox;
pub(super) mod init;
pub(super) mod judge;
pub(super) mod logs;
pub(super) mod man;
pub(super) mod mcp;
pub(super) mod merge;
pub(super) mod metrics;
pub(super) mod plan;
pub(super) mod report;
pub(super) mod request;
pub(super) mod resume;
pub(super) mod review;
pub(super) mod run;
pub(super) mod runs;
pub(super) mod schema;
pub(super) mod serve;
pub(super) mod show;
pub(super) mod stats;
pub(super) mod status;
pub(super) mod validate;
pub(super) mod worker;
