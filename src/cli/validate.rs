//! `quorum validate`: everything that is wrong with mission files, without a network and without starting anything.

use serde_json::json;

use crate::mission::{self, Report, Source};

use crate::report::{count, sanitize};

use super::args::Validate;
use super::failure::Failure;
use super::finish::freeze;
use super::run::mission_folder;
use super::screen::Screen;
use super::session::options_with_config;
use crate::runtime::layers_of;

pub fn validate(arguments: &Validate, screen: &Screen) -> Result<u8, Failure> {
    let mut options = options_with_config()?;
    let layers = layers_of(&options).map_err(Failure::mission)?;
    let mut documents = Vec::new();
    let mut failed = false;
    for path in &arguments.missions {
        let loaded = Source::read(path).and_then(|source| mission::load(&source, &layers));
        let (report, summary) = match loaded {
            Ok(loaded) => {
                options.mission_folder = mission_folder(path)?;
                options.test_lists.clear();
                freeze(&loaded.mission, &mut options)?;
                let tasks = loaded.mission.tasks.len();
                (
                    loaded.notes,
                    format!(
                        "{}: ok, {}\n",
                        sanitize(&path.display().to_string()),
                        count(tasks, "task")
                    ),
                )
            }
            Err(report) => {
                failed = true;
                (report, String::new())
            }
        };
        show(screen, &report);
        if !screen.is_json() {
            screen.result(&summary);
        }
        documents.push(json!({
            "file": path.display().to_string(),
            "valid": !report.has_errors(),
            "diagnostics": report.to_json()["diagnostics"],
            "more": report.more,
        }));
    }
    if screen.is_json() {
        screen.document(&json!({"schema": "quorum.validate/v1", "valid": !failed, "files": documents}));
    }
    Ok(if failed { 2 } else { 0 })
}

fn show(screen: &Screen, report: &Report) {
    if !report.diagnostics.is_empty() && !screen.is_json() {
        screen.error(&report.render(screen.diagnostics()));
    }
}
