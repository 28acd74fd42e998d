//! `quorum.doctor/v1`: whether this machine can run a mission.

use serde_json::{Map, Value};

use super::documents::commands::{DoctorCheck, DoctorDocument};
use super::style::{Role, Screen};
use super::text::{sanitize, width};

worded! {
    /// How a check ended.
    pub enum Verdict {
        /// As it should be.
        Ok = "ok",
        /// A run may go wrong.
        Warn = "warn",
        /// A run would go wrong.
        Fail = "fail",
        /// It could not be looked at.
        Skipped = "skipped",
    }
}

impl Verdict {
    fn role(self) -> Role {
        match self {
            Self::Ok => Role::Good,
            Self::Warn => Role::Warn,
            Self::Fail => Role::Bad,
            Self::Skipped => Role::Dim,
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: String,
    /// How it is.
    pub verdict: Verdict,
    /// What was seen.
    pub message: String,
    /// What scripts need beside it.
    pub details: Map<String, Value>,
}

impl Check {
    /// A check that has been made.
    pub fn new(name: impl Into<String>, verdict: Verdict, message: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            verdict,
            message: message.into(),
            details: Map::new(),
        }
    }

    /// The same with something that scripts need.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}

pub fn document(checks: &[Check], is_fit: bool) -> DoctorDocument<'_> {
    let rows = checks.iter().map(|check| DoctorCheck {
        name: &check.name,
        status: check.verdict.as_str(),
        message: &check.message,
        details: &check.details,
    });
    DoctorDocument {
        ok: is_fit,
        checks: rows.collect(),
    }
}

/// The list for people, with a line feed at its end.
pub fn human(checks: &[Check], screen: &Screen) -> String {
    let names: Vec<_> = checks.iter().map(|check| sanitize(&check.name)).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let line = |(check, name): (&Check, &std::borrow::Cow<'_, str>)| {
        let verdict = format!("{:7}", check.verdict.as_str());
        let verdict = screen.style.paint(check.verdict.role(), verdict);
        let gap = " ".repeat(widest - width(name));
        format!("{verdict}  {name}{gap}  {}\n", sanitize(&check.message))
    };
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let lines: String = checks.iter().zip(&names).map(line).collect();
    screen.wrap(&format!(
        "{lines}\n{} ok, {}, {} failed, {} skipped\n",
        count(Verdict::Ok),
        super::text::count(count(Verdict::Warn), "warning"),
        count(Verdict::Fail),
        count(Verdict::Skipped),
    ))
}
