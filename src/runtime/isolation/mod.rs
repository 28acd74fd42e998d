//! What each process of a session may see and change, and what is looked at so that nothing changes unseen.
//!
//! | file | what |
//! |---|---|
//! | `confinement` | what each process of a session may see and change, as a mount plan (23) |
//! | `file_records` | the record of files before a turn, and which tests were changed since (24) |
//! | `git` | the git program: each of its calls, by no configuration but its own |
//! | `guard` | protected files, looked at around each part of judging (22) |
//! | `hidden` | which files hidden checks keep from workers, and what of them cannot be hidden |
//! | `unfit_for_git` | files that git could not take are looked for before it adds anything |
//! | `other_mounts` | where else the files of a path are mounted |
//! | `protection` | what work is judged by, as it was when the session began (22) |
//! | `run_files` | what a run is made of, which no report replaces (22) |
//! | `watch` | protected paths and wanted files, before and after a turn (1, 6) |
//! | `worktrees` | isolated tasks have folders of their own, and what was accepted of them is merged (22) |

pub mod confinement;
pub mod file_records;
pub mod git;
pub mod guard;
pub mod hidden;
pub mod other_mounts;
pub mod protection;
pub mod run_files;
pub mod unfit_for_git;
pub mod watch;
pub mod worktrees;
