//! Approvers that are commands (semantics, section 5). One runs in the task's workspace with the variables of a check:
//! exit 0 agrees, 1 refuses and what it printed is the reason, anything else leaves it open.

use rules::engine::{ApproverSaid, JobEnd};
use rules::mission::shell_line::{exited, reader_hint};

use super::command::{CommandEnd, How};

/// How much of what it printed is its reason, in bytes.
const REASON: u64 = 2_000;

/// Reads the answer of an approver from the end of its command. Blocks.
pub fn answered(command: &str, end: &CommandEnd) -> JobEnd {
    JobEnd::Approver(said(command, end))
}

fn said(command: &str, end: &CommandEnd) -> ApproverSaid {
    if let Some(lost) = end.lost() {
        return ApproverSaid::Open(format!("what it said is lost: {lost}"));
    }
    let printed = end.stdout_tail(REASON);
    let printed = printed.trim();
    let how = match end.how() {
        How::Exited(0) => return ApproverSaid::Yes,
        How::Exited(1) if printed.is_empty() => {
            return ApproverSaid::No(format!("it {}", exited(command, 1)));
        }
        How::Exited(1) => {
            let hint = reader_hint(command).unwrap_or_default();
            return ApproverSaid::No(format!("{printed}\n{hint}").trim_end().to_owned());
        }
        How::NotStarted(why) => format!("it could not be asked: {why}"),
        How::TimedOut => "it took too long".to_owned(),
        How::Exited(code) => format!("it {}", exited(command, code)),
        How::Killed(signal) => format!("it was killed by signal {signal}"),
    };
    let last = printed.lines().last().map(|line| format!(": {line}"));
    ApproverSaid::Open(how + &last.unwrap_or_default())
}
