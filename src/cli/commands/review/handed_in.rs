//! Work that comes without a run: files, a difference, what stands on standard input.

use std::io::Read;
use std::path::Path;

use crate::{
    cli::command_error::Failure,
    runtime::{WorkingDiff, working_diff},
};

use super::ReviewArgs;

/// The largest work that is read from a pipe or a diff, in bytes.
pub const LARGEST_WORK: u64 = 64 * 1024 * 1024;

/// Work that was handed in.
pub struct HandedIn {
    /// The name of the work, in a few words.
    pub title: String,
    /// The bytes of the work.
    pub work: Vec<u8>,
    /// The paths of the files, if the work is files.
    pub paths: Vec<String>,
    /// The parts of the work that nobody is shown, one sentence each.
    pub not_shown: Vec<String>,
}

pub fn handed_in(arguments: &ReviewArgs, here: &Path) -> Result<HandedIn, Failure> {
    let from_pipe = arguments.subjects.iter().any(|subject| subject == "-");
    let paths: Vec<String> = arguments.subjects.iter().filter(|subject| *subject != "-").cloned().collect();
    for path in &paths {
        if !here.join(path).is_file() {
            return Err(usage!("there is no file {path}")
                .help("name files to judge, `-` for standard input, or --diff"));
        }
    }
    let mut not_shown = Vec::new();
    let (title, work) = match (&arguments.diff, from_pipe) {
        (Some(revision), false) => {
            let diff = git_diff(here, revision, &paths)?;
            not_shown = diff.not_shown;
            (format!("git diff {revision}"), diff.patch)
        }
        (None, true) => ("standard input".to_owned(), from_stdin()?),
        (None, false) if !paths.is_empty() => (format!("{} file(s)", paths.len()), file_list(&paths)),
        (None, false) => {
            return Err(
                usage!("there is nothing to judge").help("name files, `-` for standard input, or --diff")
            );
        }
        (Some(_), true) => return Err(usage!("--diff and `-` are two different works")),
    };
    if work.iter().all(u8::is_ascii_whitespace) {
        return Err(usage!("{title} is empty: there is nothing to judge"));
    }
    Ok(HandedIn { title, work, paths, not_shown })
}

/// The difference to a revision: of these files, or of everything.
fn git_diff(here: &Path, revision: &str, paths: &[String]) -> Result<WorkingDiff, Failure> {
    if revision.starts_with('-') {
        return Err(usage!("'{revision}' is not a revision"));
    }
    let diff =
        working_diff(here, revision, paths).map_err(|error| usage!("git diff {revision} failed: {error}"))?;
    if diff.patch.len() as u64 > LARGEST_WORK {
        return Err(usage!("git diff {revision} has more than {LARGEST_WORK} bytes")
            .help("name files to judge a part of it: half a work would be judged as a whole one"));
    }
    Ok(diff)
}

fn from_stdin() -> Result<Vec<u8>, Failure> {
    let mut work = Vec::new();
    std::io::stdin()
        .lock()
        .take(LARGEST_WORK + 1)
        .read_to_end(&mut work)
        .map_err(|error| usage!("cannot read standard input: {error}"))?;
    if work.len() as u64 > LARGEST_WORK {
        return Err(usage!("standard input has more than {LARGEST_WORK} bytes")
            .help("judge a part of it: half a work would be judged as a whole one"));
    }
    Ok(work)
}

fn file_list(paths: &[String]) -> Vec<u8> {
    let list: String = paths.iter().map(|path| format!("- {path}\n")).collect();
    format!("The work is in these files:\n{list}").into_bytes()
}
