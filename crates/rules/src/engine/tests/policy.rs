//! The table of policies is the one that is printed (semantics, section 13).

use crate::domain::{Purpose, SeatPlace, StageKey, TaskId};
use crate::engine::work::policy::{AfterCrash, Letter, Policy, WorkKind, policy};

const SEMANTICS: &str = include_str!("../../../../../docs/design/semantics.md");

/// The jobs of each row, by its first cell.
fn rows() -> Vec<(&'static str, Vec<WorkKind>)> {
    let asked = |purposes: &[Purpose]| purposes.iter().copied().map(WorkKind::Ask).collect::<Vec<_>>();
    let stage = |step| Purpose::Stage { step, round: 1 };
    let mut by_name = asked(&[
        Purpose::Confirm,
        Purpose::Answer,
        Purpose::Resolve { dependency: TaskId(0) },
        Purpose::Approve { number: 1, approver: 0 },
    ]);
    by_name.push(WorkKind::Triage);
    vec![
        ("turn", vec![WorkKind::Turn]),
        ("score (panel, evaluation)", asked(&[Purpose::Score(SeatPlace::default())])),
        (
            "grade, decompose, stage by agent, red team, vision",
            asked(&[
                Purpose::Grade { round: 1 },
                Purpose::Decompose { round: 1 },
                stage(StageKey::Own(0)),
                stage(StageKey::RED_TEAM),
                stage(StageKey::VISION),
            ]),
        ),
        ("confirm, answer, resolve, approve, triage", by_name),
        ("command (check, finish, probe, stage, approver)", vec![WorkKind::Command]),
        ("look at files", vec![WorkKind::Scan]),
        ("notification", vec![WorkKind::Deliver]),
    ]
}

/// The cells behind the first one, as the page words them for this kind of work.
fn cells(job: WorkKind, policy: Policy) -> Vec<String> {
    let Policy { request_retries, start_retries, .. } = policy;
    let retries = match job {
        WorkKind::Turn => {
            format!("0 ({start_retries} before it existed; {request_retries} for one request to a model)")
        }
        WorkKind::Command => format!("{request_retries} ({start_retries} if it could not be started)"),
        WorkKind::Deliver => format!("{} tries", 1 + request_retries),
        WorkKind::Ask(_) | WorkKind::Triage | WorkKind::Scan => request_retries.to_string(),
    };
    let after = match (policy.after_crash, job) {
        (AfterCrash::AdoptOrLose, _) => "adopted or lost",
        (AfterCrash::Repeat, WorkKind::Command) => "run again",
        (AfterCrash::Repeat, WorkKind::Scan) => "made again",
        (AfterCrash::Repeat, _) => "asked again",
        (AfterCrash::Redeliver, _) => "delivered again",
    };
    let letter = match policy.letter {
        Some(Letter::Judge) => "judge",
        Some(Letter::Notify) => "notify",
        None => "none",
    };
    let fallback = if policy.fallback { "yes" } else { "no" };
    let reprompts = policy.reprompts.to_string();
    [&retries, &reprompts, fallback, after, letter].map(str::to_owned).to_vec()
}

#[test]
fn the_table_is_the_one_that_is_printed() {
    let (_, behind) =
        SEMANTICS.split_once("| asked for | request retries |").expect("the page has the table");
    let table = behind.lines().skip(2).take_while(|line| line.starts_with('|'));
    let printed: Vec<Vec<&str>> =
        table.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
    let names: Vec<&str> = printed.iter().map(|row| row[0]).collect();
    let known: Vec<&str> = rows().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, known);
    for (row, (name, jobs)) in printed.iter().zip(rows()) {
        for job in jobs {
            assert_eq!(row[1..], cells(job, policy(job)), "{name}: {job:?}");
        }
    }
}
