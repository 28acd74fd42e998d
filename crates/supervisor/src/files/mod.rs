//! Files of the state, and all others that somebody else could exchange meanwhile: how they are opened, replaced, removed.
//!
//! | file | what |
//! |---|---|
//! | `checked_line` | the checksum of a line: a JSON object with `crc` (journal, snapshot, `exits.log`) |
//! | `file_util` | files of the state: read, replaced and removed in one way; folders that survive a power loss |
//! | `no_links` | paths on which no part is a link: how everything in the state folder is reached (22) |
//! | `syncs` | where a file or a folder is asked to survive a power loss, so that tests can count and fail it |

pub mod checked_line;
mod file_util;
pub mod no_links;
mod syncs;

pub use file_util::{
    LONGEST_FILE, copy_file, create_dir_durable, create_new, if_there, is_unfit, open_blocking,
    open_of_any_length, open_regular, open_with, read_regular, remove_all, remove_file, replace_file,
    sync_parent, write_new,
};
#[cfg(any(test, feature = "testing"))]
pub use syncs::double as syncs_double;
pub use syncs::sync_file;
