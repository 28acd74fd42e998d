//! What a pipeline is to show of a run, one alert for each thing that is wrong: the findings of its tasks with the place that they
//! name, and what went wrong without a finding. SARIF and GitLab's code quality are made from it.
//!
//! The list holds every finding of a last attempt; one that a judge called addressed is no finding of it any more. A run that is
//! not `ok` has an alert of its own, whatever its tasks say.

use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use rules::domain::{Digest, Severity, Stage};

use super::findings::FindingRow;
use super::rank::{Rank, reason};
use crate::report::documents::{RunDocument, TaskRow};
use crate::report::screens::{summary::unwell, text::sanitize_lines};

/// One thing that is wrong.
pub struct Alert {
    /// What it breaks: `judge`, `stages/NAME`, `task`, `gate`, `run`.
    pub rule: String,
    pub severity: Severity,
    /// What is wrong, in words that do no harm.
    pub message: String,
    /// The file, below the project's folder.
    pub path: String,
    /// The line of the file, from 1.
    pub line: u32,
    /// The same for the same thing in another attempt, and on another line.
    pub fingerprint: String,
}

/// What reads like a file and a line.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?:^|[\s`'"(\[<*])([^\s`'"()\[\]<>:*]{1,300}):([0-9]{1,7})(?:[^0-9]|$)"#;
    Regex::new(pattern).expect("it is a plain text")
});
/// How many of them are looked for in one text.
const MOST_LOOKS: usize = 20;

/// Whether a file is there, by its path below the workspace.
pub type IsThere<'a> = &'a dyn Fn(&Path) -> bool;

/// All alerts of a run, the most severe first.
pub fn alerts(run: &RunDocument<'_>, is_there: IsThere<'_>) -> Vec<Alert> {
    let mut alerts = Vec::new();
    let at = AlertPlaces { run, is_there };
    for task in run.tasks.worst_first() {
        let severity = match task.rank {
            Rank::NotTaken | Rank::NotSelected | Rank::Superseded => continue,
            Rank::Failed | Rank::Indeterminate => Some(Severity::High),
            Rank::Cascaded | Rank::BelowBar => Some(Severity::Medium),
            Rank::Unreviewed => Some(Severity::Info),
            Rank::Waiting | Rank::Open | Rank::Reworked | Rank::Done => None,
        };
        alerts.extend(task.findings.iter().map(|found| at.of_finding(&task, found)));
        // What a finding does not tell is told by the task.
        let is_told = |severity| task.findings.iter().any(|found| found.severity >= severity);
        if let Some(severity) = severity.filter(|severity| !is_told(*severity)) {
            alerts.push(at.mission("task", severity, task.title, &reason(&task)));
        }
    }
    for gate in run.failed_gates() {
        let why = gate.reason.as_deref().unwrap_or("failed");
        alerts.push(at.mission("gate", Severity::High, gate.name, why));
    }
    if let (Some(points), Some(bar)) = (run.mission_score.missed_with, run.mission_score.bar) {
        alerts.push(at.mission(
            "score",
            Severity::High,
            run.mission,
            &format!("mission score {points} < {bar}"),
        ));
    }
    let words = unwell(run).map(|(_, words)| words);
    alerts.extend(words.map(|words| at.mission("run", Severity::High, run.mission, &words)));
    alerts.sort_by_key(|alert| std::cmp::Reverse(alert.severity));
    alerts
}

/// Where alerts point to.
struct AlertPlaces<'a> {
    run: &'a RunDocument<'a>,
    is_there: IsThere<'a>,
}

impl AlertPlaces<'_> {
    fn of_finding(&self, task: &TaskRow<'_>, found: &FindingRow<'_>) -> Alert {
        let rule = match found.name {
            Some(name) => format!("{}/{name}", Stage::Stages.as_str()),
            None => found.stage.to_owned(),
        };
        let message = format!("{}: {}", task.title, found.whole());
        let texts = [found.evidence.unwrap_or_default(), found.description];
        let place = texts.iter().find_map(|text| self.named(text));
        // Of an output that follows it, nothing stays the same.
        let words = found.description.lines().next().unwrap_or_default();
        match place {
            Some((path, line)) => {
                let fingerprint = fingerprint(&[&rule, task.title, &path, words]);
                Alert {
                    rule,
                    severity: found.severity,
                    message: sanitize_lines(&message),
                    path,
                    line,
                    fingerprint,
                }
            }
            None => Alert {
                message: sanitize_lines(&message),
                ..self.mission(&rule, found.severity, task.title, words)
            },
        }
    }

    /// An alert about the mission: its file is the place of what names none.
    fn mission(&self, rule: &str, severity: Severity, subject: &str, words: &str) -> Alert {
        let file = self.run.mission_path.map(|path| below(self.run.base, path));
        Alert {
            rule: rule.to_owned(),
            severity,
            message: sanitize_lines(&format!("{subject}: {words}")),
            path: file.flatten().unwrap_or_else(|| "mission.yaml".to_owned()),
            line: 1,
            fingerprint: fingerprint(&[rule, subject, words]),
        }
    }

    /// The first `FILE:LINE` in a text whose file is there.
    fn named(&self, text: &str) -> Option<(String, u32)> {
        // Each is looked for on the disk.
        let found = PLACE.captures_iter(text).take(MOST_LOOKS).find_map(|found| {
            let path = Path::new(&found[1]);
            let path = path.strip_prefix(self.run.workspace).unwrap_or(path);
            let path: PathBuf = path.components().skip_while(|part| *part == Component::CurDir).collect();
            let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
            let line = found[2].parse().ok().filter(|line| *line > 0)?;
            (is_below && (self.is_there)(&path)).then_some((path, line))
        });
        let (path, line) = found?;
        Some((below(self.run.base, &self.run.workspace.join(path))?, line))
    }
}

/// A path as it is written below the project's folder; `None` where it does not lie there.
fn below(base: Option<&Path>, path: &Path) -> Option<String> {
    let inner = path.strip_prefix(base?).ok()?;
    inner.to_str().map(str::to_owned)
}

/// What is the same in another attempt: texts without numbers, which are of lines, times and counts.
fn fingerprint(parts: &[&str]) -> String {
    let text = parts.join("\n");
    let mut same = String::with_capacity(text.len());
    for letter in text.chars() {
        let letter = if letter.is_ascii_digit() { '#' } else { letter };
        if letter != '#' || !same.ends_with('#') {
            same.push(letter);
        }
    }
    Digest::of(same.as_bytes()).to_string().chars().take(40).collect()
}
