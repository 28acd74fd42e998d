//! `quorum doctor`: whether this machine can run the mission, before anything is spent.
//!
//! Nothing is started, nothing is written and no endpoint is contacted; what could only be found out that way is
//! reported as skipped, never as fine.

mod agents;
mod machine;
mod state;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::domain::OutcomeClass;

use super::config::mission_file;
use super::failure::Failure;
use super::project::unchecked_state_folder;
use super::screen::Screen;

/// Check the state folder, the lock, this machine and the agents of a mission: exit 0 or 9
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: quorum doctor --mission mission.yaml\n          quorum doctor state",
    args_conflicts_with_subcommands = true
)]
pub struct Doctor {
    #[command(subcommand)]
    pub part: Option<Part>,
    /// The mission whose agents are looked for [default: mission.yaml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub mission: Option<PathBuf>,
}

/// What is looked at instead.
#[derive(Debug, Subcommand)]
pub enum Part {
    State(state::State),
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    Warn,
    Fail,
    Skipped,
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Skipped => "skipped",
        }
    }
}

/// One thing that was looked at.
struct Check {
    name: String,
    verdict: Verdict,
    message: String,
    /// What scripts need beside it.
    details: Map<String, Value>,
}

impl Check {
    fn new(name: impl Into<String>, verdict: Verdict, message: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            verdict,
            message: message.into(),
            details: Map::new(),
        }
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}

/// Looks at everything and says what it found.
pub fn doctor(arguments: &Doctor, screen: &Screen) -> Result<u8, Failure> {
    if let Some(Part::State(arguments)) = &arguments.part {
        return state::state(arguments, screen);
    }
    let folder = unchecked_state_folder(screen.output())?;
    let mut checks = machine::checks(&folder, screen);
    checks.extend(agents::checks(
        mission_file(arguments.mission.as_deref()).as_deref(),
    )?);
    Ok(show(&checks, screen, OutcomeClass::Environment))
}

/// Prints the checks. Returns 0, or the code of `failed` if one of them failed.
fn show(checks: &[Check], screen: &Screen, failed: OutcomeClass) -> u8 {
    let is_fit = checks.iter().all(|check| check.verdict != Verdict::Fail);
    if screen.is_json() {
        screen.document(&document(checks, is_fit));
    } else {
        screen.result(&text(checks));
    }
    let class = if is_fit { OutcomeClass::Ok } else { failed };
    class.exit_code()
}

fn document(checks: &[Check], is_fit: bool) -> Value {
    let checks: Vec<Value> = checks
        .iter()
        .map(|check| {
            let mut row =
                json!({"name": check.name, "status": check.verdict.as_str(), "message": check.message});
            for (key, value) in &check.details {
                row[key] = value.clone();
            }
            row
        })
        .collect();
    json!({"schema": "quorum.doctor/v1", "ok": is_fit, "checks": checks})
}

fn text(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.chars().count()).max();
    let width = width.unwrap_or(0);
    let line = |check: &Check| {
        let verdict = check.verdict.as_str();
        format!("{verdict:7}  {:width$}  {}\n", check.name, check.message)
    };
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let lines: String = checks.iter().map(line).collect();
    format!(
        "{lines}\n{} ok, {} to be looked at, {} failed, {} skipped\n",
        count(Verdict::Ok),
        count(Verdict::Warn),
        count(Verdict::Fail),
        count(Verdict::Skipped),
    )
}
