//! Scenes that tests of several files begin with. A first test begins with `Mission` (`../mission.rs`) or with one of
//! these; what only one file needs stays there.
//!
//! | file | what it sets up | begin with |
//! |---|---|---|
//! | `approvals` | work that waits for a person | [`approvals::parked`], [`approvals::only_approval`] |
//! | `attacks` | texts that speak to a judge | [`attacks::ATTACKS`] |
//! | `begun_runs` | a run that was interrupted, one that waits for a person | [`begun_runs::interrupted`] |
//! | `burglars` | agents that speak for a person while a supervisor dies | `burglars::burgled` |
//! | `forgers` | agents that change what their work is judged by | [`forgers::beside_a_judge`], [`forgers::checked`] |
//! | `killed_runners` | a session that is killed while its agents work | [`killed_runners::Scene`] |
//! | `kills` | kills at moments that look random | [`kills::Dice`] |
//! | `pictures` | screenshots | [`pictures::shot`] |
//! | `repositories` | missions in a repository of git | [`repositories::repository`], [`repositories::git`] |
//! | `small_disks` | a file system that is soon full | [`small_disks::with_a_small_disk`] |
//! | `tool_workers` | a model with tools as a worker | [`tool_workers::tool_worker`] |

pub mod approvals;
pub mod attacks;
pub mod begun_runs;
#[cfg(target_os = "linux")]
pub mod burglars;
pub mod forgers;
pub mod killed_runners;
pub mod kills;
pub mod pictures;
pub mod repositories;
pub mod small_disks;
pub mod tool_workers;
