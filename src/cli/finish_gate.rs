//! What finish gates need from the disk before a run may start: lists of tests, and what says how to compile.
//!
//! A list is frozen into the run's options: an agent that edits the file changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, ensure};

use rules::{
    domain::without_mark,
    mission::model::{Mission, Task},
    plan::RunOptions,
};

use super::command_error::Failure;

/// The largest list of tests that is read.
const LARGEST_LIST: u64 = 4 * 1024 * 1024;

/// Reads the lists of `failToPass` and `passToPass` into the options, and checks that whatever must compile says how.
pub fn freeze(mission: &Mission, options: &mut RunOptions) -> Result<(), Failure> {
    for task in &mission.tasks {
        let Some(gate) = task.verify.as_deref() else {
            continue;
        };
        if gate.require_compilation && gate.compile_command.is_none() {
            compiles(mission, task, options)?;
        }
        for (key, file) in gate.test_files() {
            if options.test_lists.contains_key(file) {
                continue;
            }
            let tests = read(&options.mission_folder.join(file)).map_err(|why| {
                usage!("task '{}': `{key}` names {file}: {why}", task.title)
                    .help("it is a file beside the mission, with a JSON list of tests or one test a line")
            })?;
            options.test_lists.insert(file.to_owned(), tests);
        }
    }
    Ok(())
}

/// Whether a run that goes on has every list that a changed mission names.
pub fn has_all(mission: &Mission, options: &RunOptions) -> Result<(), Failure> {
    let gates = mission.tasks.iter().filter_map(|task| task.verify.as_deref());
    let mut files = gates.flat_map(|gate| gate.test_files());
    match files.find(|(_, file)| !options.test_lists.contains_key(*file)) {
        None => Ok(()),
        Some((key, file)) => {
            Err(usage!("the changed mission names a list of tests, {file}, that the run did not start with")
                .help(format!("start a new run, or write the tests into the mission: `{key}: [...]`")))
        }
    }
}

fn compiles(mission: &Mission, task: &Task, options: &RunOptions) -> Result<(), Failure> {
    let folder = options.mission_folder.join(mission.workspace.as_deref().unwrap_or("."));
    let folder = folder.join(task.workspace.as_deref().map_or(".", AsRef::as_ref));
    if folder.join("tsconfig.json").is_file() {
        return Ok(());
    }
    Err(usage!(
        "task '{}' requires compilation and does not say how: there is no tsconfig.json in {}",
        task.title,
        folder.components().collect::<PathBuf>().display()
    )
    .help("add `compileCommand` to its `verify`, for example `compileCommand: cargo check`"))
}

fn read(path: &Path) -> anyhow::Result<Vec<String>> {
    let size = fs::metadata(path)?;
    ensure!(size.is_file() && size.len() <= LARGEST_LIST, "it is not a file of at most {LARGEST_LIST} bytes");
    let text = fs::read_to_string(path)?;
    let text = without_mark(&text);
    let tests: Vec<String> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|error| anyhow!("it is not a JSON list of texts: {error}"))?
    } else {
        text.lines().map(str::to_owned).collect()
    };
    let tests: Vec<String> =
        tests.iter().map(|test| test.trim().to_owned()).filter(|test| !test.is_empty()).collect();
    ensure!(!tests.is_empty(), "it names no test");
    Ok(tests)
}
