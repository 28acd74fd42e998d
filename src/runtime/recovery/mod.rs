//! State that lies on the disk: whose it is, whether it is whole, and how a session goes on with it.
//!
//! | file | what |
//! |---|---|
//! | `unfinished` | which runs are unfinished, and which are in the way of a new one (5) |
//! | `adopt` | adoption: turns that still work below the supervisor of a session that died, or ended since |
//! | `foreign_runs` | run folders of other processes that appear while this session holds the lock |
//! | `inspect` | whether a run on the disk is whole; keeping the good beginning of one that is not |
//! | `missing_files` | files of accepted work that whoever goes on with a run has not brought along (6) |
//! | `missions` | the missions that a run went by, frozen in its folder |
//! | `moved` | state that was carried elsewhere (22) |
//! | `origin` | where a run comes from: whether the key of this machine's operator vouches for it (22) |
//! | `recover` | recovery: state = fold(apply, journal); damage is refused with line and byte |
//! | `supervision` | whether the supervisor that held a run's agents ended in order |

pub mod adopt;
pub mod foreign_runs;
pub mod inspect;
pub mod missing_files;
pub mod missions;
pub mod moved;
#[cfg(test)]
mod mutated_tests;
pub mod origin;
pub mod recover;
pub mod supervision;
pub mod unfinished;
