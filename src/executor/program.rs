//! Programs of agents that a preset starts and reads: their files, and what their end means.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use crate::agents::failure::{FailedCommand, ToldFailure, read_command};
use crate::agents::preset::{Heard, Reading};
use crate::mission::model::Preset;
use crate::store;

use super::command::CommandEnd;
use super::error::WorkError;

/// The folder of the files of presets, beside the prompts.
const FOLDER: &str = "presets";

/// What a program told on its outputs.
#[derive(Debug)]
pub struct Told {
    pub heard: Heard,
    /// Why it failed, if it did, whatever its exit code says.
    pub failure: Option<ToldFailure>,
    /// Whether the session that it was to go on in is not there any more.
    pub lost_session: bool,
}

/// The files of a preset, written where they are not there yet, in the folder of a prompt. The folder in which they lie.
///
/// # Errors
/// What the file system says.
pub fn files_of(preset: &Preset, prompt: &Path) -> Result<PathBuf, WorkError> {
    let folder = prompt.parent().unwrap_or(prompt).join(FOLDER);
    let folder = folder.join(
        preset
            .argv
            .first()
            .map_or("", |program| program.rsplit('/').next().unwrap_or_default()),
    );
    for (name, text) in &preset.files {
        let path = folder.join(name);
        let write = || -> io::Result<()> {
            // Somebody may have changed it since: what it says is what its preset says.
            if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
                return Ok(());
            }
            fs::create_dir_all(&folder)?;
            store::replace_file(&path, text.as_bytes())
        };
        write().map_err(WorkError::file("write", &path))?;
    }
    Ok(folder)
}

/// Reads what a program told. `given_up` is the line for which it was ended before its time. Blocks.
///
/// # Errors
/// When its output cannot be read.
pub fn told_by(
    preset: &Preset,
    end: &CommandEnd,
    failed: FailedCommand<'_>,
    given_up: Option<&str>,
) -> io::Result<Told> {
    let mut reading = Reading::of(preset);
    if let Some(output) = &end.outputs().stdout {
        match File::open(output) {
            Ok(file) => reading.output(BufReader::new(file))?,
            // It printed nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let (_, stderr) = end.last_words();
    reading.standard_error(&stderr);
    let has_failed =
        failed.code != Some(0) || failed.timed_out || reading.error().is_some() || !reading.is_complete();
    let failure =
        (has_failed || given_up.is_some()).then(|| why(preset, &reading, failed, &stderr, given_up));
    let lost = |text: &str| preset.lost_session.iter().any(|known| text.contains(&**known));
    let words = failure.as_ref().map_or("", |failure| failure.reason.as_str());
    Ok(Told {
        lost_session: has_failed && (lost(words) || lost(&stderr)),
        heard: reading.heard,
        failure,
    })
}

fn why(
    preset: &Preset,
    reading: &Reading<'_>,
    failed: FailedCommand<'_>,
    stderr: &str,
    given_up: Option<&str>,
) -> ToldFailure {
    let error = reading.error().map(|error| error.to_string());
    let told = match given_up {
        // It told what it waits for, and was not waited for.
        Some(line) => read_command(&FailedCommand {
            code: Some(1),
            stderr: line,
            stdout: "",
            ..failed
        }),
        None => read_command(&FailedCommand {
            stderr,
            stdout: error.as_deref().unwrap_or_default(),
            ..failed
        }),
    };
    let by_rule = preset.errors.iter().find(|rule| {
        let code = rule
            .code
            .as_deref()
            .is_none_or(|code| reading.code() == Some(code));
        let text = rule
            .text
            .as_deref()
            .is_none_or(|text| told.reason.contains(text) || stderr.contains(text));
        let exit = rule
            .exit
            .is_none_or(|exit| failed.code.is_some_and(|code| i64::from(code) == i64::from(exit)));
        code && text && exit
    });
    let class = by_rule.and_then(|rule| rule.class).filter(|_| !failed.timed_out);
    let is_silent = told.reason.is_empty() && failed.code == Some(0);
    ToldFailure {
        class: class.unwrap_or(told.class),
        reason: if is_silent {
            "it ended without saying that it is done".to_owned()
        } else {
            told.reason
        },
        retry_after: told.retry_after,
    }
}
