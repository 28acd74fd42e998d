//! Deterministic checks: what their results mean (semantics, section 6.4). Running commands is the supervisor's job; here
//! is what an exit, an output or a file says.

use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use rust_decimal::Decimal;

use rules::domain::Millis;
use rules::engine::CheckResult;
use rules::mission::first_line;
use rules::mission::model::{Check, CommandCheck};
use rules::mission::shell_line::exited;

use super::evidence::{expand, obstacle, open_beneath};

/// How much of a file is searched for `contains`.
const MOST_SEARCHED: u64 = 16 * 1024 * 1024;

/// How a check's command ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandOutcome {
    /// Exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the time-out ended the command.
    pub timed_out: bool,
    /// Why the command never started.
    pub not_started: Option<String>,
    /// Why the output of the command cannot be read.
    pub output_lost: Option<String>,
    /// The end of the command's output.
    pub output: String,
    /// The time that the command took.
    pub duration: Millis,
}

/// Reads the result of a check from the end of its command.
pub fn command_result(check: &Check, outcome: &CommandOutcome) -> CheckResult {
    match check {
        Check::Command { kind, command, .. } => {
            let name = match kind {
                CommandCheck::Test => "test",
                CommandCheck::Script => "script",
            };
            exit_result(name, command, outcome)
        }
        Check::Metric { name, command, min, max, .. } => {
            let what = format!("metric {name} `{}`", first_line(command.trim()));
            match failure(&what, command, outcome) {
                Some(why) => CheckResult::new(false, why, outcome.duration),
                None => metric(&what, &outcome.output, *min, *max, outcome.duration),
            }
        }
        Check::FileExists { .. } => {
            CheckResult::new(false, "file_exists runs no command".to_owned(), outcome.duration)
        }
    }
}

/// The result of a command that shows something by exit 0 alone; `name` says what kind of command it is.
pub fn exit_result(name: &str, command: &str, outcome: &CommandOutcome) -> CheckResult {
    let what = format!("{name} `{}`", first_line(command.trim()));
    match failure(&what, command, outcome) {
        Some(why) => CheckResult::new(false, why, outcome.duration),
        None => CheckResult::new(true, format!("{what} exited 0"), outcome.duration),
    }
}

/// Why a command has not succeeded, with what it printed; `what` is the subject of the sentence. A reader that may have been
/// the reason is named. What it prints is evidence
/// too, so one whose output is lost has not.
pub fn failure(what: &str, command: &str, outcome: &CommandOutcome) -> Option<String> {
    let with_output = |message: String| match (&outcome.output_lost, outcome.output.trim()) {
        (Some(lost), _) => format!("{message}, but its output is lost: {lost}"),
        (None, "") => message,
        (None, output) => format!("{message}\n{output}"),
    };
    if let Some(why) = &outcome.not_started {
        return Some(format!("{what} could not be started: {why}"));
    }
    let how = match (outcome.timed_out, outcome.code, outcome.signal) {
        (true, ..) => format!("{what} was killed after its time-out"),
        (false, Some(0), _) if outcome.output_lost.is_none() => return None,
        (false, Some(code), _) => format!("{what} {}", exited(command, code)),
        (false, None, signal) => format!("{what} was killed by signal {}", signal.unwrap_or_default()),
    };
    Some(with_output(how))
}

/// The one number that was printed against its bounds. Anything else is a failed check: of several numbers nobody knows which
/// one is meant, and code that the command runs may print before it.
fn metric(
    what: &str,
    output: &str,
    min: Option<Decimal>,
    max: Option<Decimal>,
    duration: Millis,
) -> CheckResult {
    let Some(value) = only_number(output) else {
        let printed = match output.trim() {
            "" => "nothing".to_owned(),
            text => format!("'{}'", first_line(text.trim())),
        };
        return CheckResult::new(
            false,
            format!("{what} must print one number and nothing else; it printed {printed}"),
            duration,
        );
    };
    let wrong = match (min, max) {
        (Some(min), _) if value < min => Some(format!("{what} is {value}, below {min}")),
        (_, Some(max)) if value > max => Some(format!("{what} is {value}, above {max}")),
        _ => None,
    };
    let passed = wrong.is_none();
    let message = wrong.unwrap_or_else(|| format!("{what} is {value}"));
    CheckResult::new(passed, message, duration)
}

/// A decimal number, optionally with a sign before and a `%` after it, and nothing else.
fn only_number(output: &str) -> Option<Decimal> {
    let text = output.trim();
    let number = text.strip_suffix('%').map_or(text, str::trim_end);
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let has_digit = digits.bytes().any(|byte| byte.is_ascii_digit());
    (is_plain && has_digit).then(|| Decimal::from_str(number).ok())?
}

/// Whether all the files of a `file_exists` check are there, as large and as filled as it says. Blocks.
pub fn files_result(
    workspace: &Path,
    paths: &[String],
    min_bytes: Option<u64>,
    contains: Option<&str>,
) -> CheckResult {
    let mut wrong = Vec::new();
    let mut count = 0;
    for pattern in paths {
        let found = expand(workspace, pattern);
        if found.is_empty() {
            wrong.push(format!("{pattern} matches no file"));
        }
        for path in found {
            count += 1;
            wrong.extend(file_fault(workspace, &path, min_bytes, contains));
        }
    }
    if wrong.is_empty() {
        return CheckResult::new(true, format!("all {count} file(s) exist"), Millis(0));
    }
    CheckResult::new(false, format!("file_exists: {}", wrong.join("; ")), Millis(0))
}

fn file_fault(
    workspace: &Path,
    path: &str,
    min_bytes: Option<u64>,
    contains: Option<&str>,
) -> Option<String> {
    let file = match open_beneath(workspace, path) {
        Ok(file) => file,
        Err(error) => {
            let why = obstacle(workspace, path, &error).map(|why| format!("{path} cannot be used: {why}"));
            return Some(why.unwrap_or_else(|| format!("{path} does not exist")));
        }
    };
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    if let Some(min) = min_bytes.filter(|min| size < *min) {
        return Some(format!("{path} has {size} bytes, fewer than {min}"));
    }
    let needle = contains?;
    let mut bytes = Vec::new();
    let read = file.take(MOST_SEARCHED).read_to_end(&mut bytes);
    let there = read.is_ok() && String::from_utf8_lossy(&bytes).contains(needle);
    (!there).then(|| format!("{path} does not contain '{needle}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: i32, output: &str) -> CommandOutcome {
        CommandOutcome { code: Some(code), output: output.to_owned(), ..CommandOutcome::default() }
    }

    fn test() -> Check {
        Check::Command {
            kind: CommandCheck::Test,
            command: "cargo test".into(),
            timeout: Millis(1),
            cwd: None,
            before: None,
            reruns: 0,
            hidden: false,
        }
    }

    fn metric(min: Option<i64>, max: Option<i64>) -> Check {
        Check::Metric {
            name: "coverage".into(),
            command: "cov".into(),
            min: min.map(Decimal::from),
            max: max.map(Decimal::from),
            timeout: Millis(1),
            before: None,
            reruns: 0,
            hidden: false,
        }
    }

    #[test]
    fn only_exit_0_passes() {
        assert!(command_result(&test(), &ended(0, "")).passed);
        let failed = command_result(&test(), &ended(7, "2 tests failed"));
        assert!(!failed.passed);
        assert_eq!(failed.message, "test `cargo test` exited 7\n2 tests failed");
        let timed_out = CommandOutcome { timed_out: true, ..ended(0, "") };
        assert!(!command_result(&test(), &timed_out).passed);
        let killed = CommandOutcome { signal: Some(9), ..CommandOutcome::default() };
        assert!(!command_result(&test(), &killed).passed);
        let missing = CommandOutcome { not_started: Some("no bash".into()), ..CommandOutcome::default() };
        assert!(!command_result(&test(), &missing).passed);
    }

    #[test]
    fn a_lost_output_never_passes() {
        let lost =
            |code| CommandOutcome { output_lost: Some("the folder is gone".into()), ..ended(code, "") };
        for check in [test(), metric(None, None)] {
            for code in [0, 1] {
                let result = command_result(&check, &lost(code));
                assert!(!result.passed);
                assert!(result.message.contains("the folder is gone"), "{}", result.message);
            }
        }
    }

    #[test]
    fn a_metric_is_a_number_within_bounds_and_exit_0() {
        for (min, max, code, output, passed) in [
            (Some(80), None, 0, "95.5%\n", true),
            (Some(80), None, 0, " 95.5 % \n", true),
            (Some(80), None, 0, "80", true),
            (None, Some(0), 0, "-1.5", true),
            (Some(80), None, 0, "95.5% of lines\n", false),
            (Some(80), None, 0, "95\n10", false),
            (Some(80), None, 0, "95 10", false),
            (Some(0), None, 0, "9_0", false),
            (Some(0), None, 0, "9,0", false),
            (Some(0), None, 0, "1e3", false),
            (Some(0), None, 0, "95%%", false),
            (Some(0), None, 0, ".", false),
            (Some(0), None, 0, "%", false),
            (Some(0), None, 0, "\u{669}", false),
            (Some(80), None, 0, "79.9", false),
            (None, Some(5), 0, "7", false),
            (Some(0), None, 0, "lots", false),
            (Some(0), None, 0, "", false),
            (Some(80), None, 1, "95", false),
        ] {
            let result = command_result(&metric(min, max), &ended(code, output));
            assert_eq!(result.passed, passed, "{output:?} exit {code}: {}", result.message);
        }
    }

    #[test]
    fn files_are_checked_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), "hello").unwrap();
        let check = |paths: &[&str], min, contains| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            files_result(folder.path(), &paths, min, contains)
        };
        assert!(check(&["a.md", "*.md"], Some(5), Some("ell")).passed);
        assert!(check(&["a.md", "b.md"], None, None).message.contains("b.md does not exist"));
        assert!(check(&["*.rs"], None, None).message.contains("*.rs matches no file"));
        assert!(check(&["a.md"], Some(6), None).message.contains("fewer than 6"));
        assert!(check(&["a.md"], None, Some("bye")).message.contains("does not contain 'bye'"));
    }
}
