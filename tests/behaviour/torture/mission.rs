//! Random missions with everything in them that may meet a kill: rework, checks, panels, people, criteria, files,
//! gates, work that is accepted below the bar. What agents and judges do is written down beforehand and hangs on task
//! and attempt alone, so that nothing that a kill repeats can change it.

use std::fmt::Write as _;

use serde_json::json;

use super::Dice;
use crate::support::Workspace;

/// Attempts whose fate is written down; a task is given no more.
const ATTEMPTS: u64 = 4;

/// The workspace of a seed, with its mission and everybody's fate.
pub fn workspace(seed: u64) -> Workspace {
    let workspace = Workspace::new();
    let mut dice = Dice::new(seed);
    let root = workspace.root().display().to_string();
    let tasks = 3 + dice.below(6);
    let mut yaml = format!(
        "
name: torture {seed}
agents:
  worker: {{run: [/bin/sh, '@agents/fated-worker.sh', '{root}']}}
  blind: {{run: [/bin/sh, '@agents/fated-worker.sh', '{root}'], input: none, maxConcurrent: 2}}
  judge: {{run: [/bin/sh, '@agents/fated-judge.sh', '{root}', judge], role: reviewer}}
  second: {{run: [/bin/sh, '@agents/fated-judge.sh', '{root}', second]}}
  boss: {{adapter: human}}
settings: {{concurrency: {}, maxFixAttempts: {}, maxRetries: {}, maxAssessmentRetries: {}, maxAttempts: {}}}
tasks:
",
        1 + dice.below(4),
        dice.below(3),
        dice.below(2),
        dice.below(2),
        1 + dice.below(3),
    );
    for task in 0..tasks {
        add_task(&mut yaml, &workspace, &mut dice, task);
    }
    if tasks > 1 && dice.chance(70) {
        let cut = 1 + dice.below(tasks - 1);
        let (after, blocked) = (dice.below(cut), cut + dice.below(tasks - cut));
        let rule = dice.pick(&[
            "",
            ", minScore: 4",
            ", requireAllPassed: true",
            ", acceptBelowThreshold: true",
        ]);
        let _ = writeln!(
            yaml,
            "qualityGates:\n  - {{name: g, afterTasks: [t{after}], blocksTasks: [t{blocked}]{rule}}}"
        );
    }
    workspace.mission(&yaml);
    workspace
}

fn add_task(yaml: &mut String, workspace: &Workspace, dice: &mut Dice, task: u64) {
    let agent = dice.pick(&["worker", "worker", "blind"]);
    let needs: Vec<String> = (0..task)
        .filter(|_| dice.chance(25))
        .map(|on| format!("t{on}"))
        .collect();
    let judging = match dice.below(9) {
        0 | 1 => String::new(),
        2 => format!(
            ", expectations: [{{type: test, command: 'test $QUORUM_ATTEMPT -ge {}'}}]",
            1 + dice.below(3)
        ),
        3 => panel("judge, second"),
        4 => panel("judge, boss"),
        5 => format!(
            ", expectations: [{{type: script, command: 'true'}}, {{type: test, command: 'grep -q good t{task}.txt'}}]"
        ),
        6 => format!(
            ", review: {}, acceptance: ['`t{task}.txt` exists and contains `good`'], verification: {{grader: heuristic}}",
            dice.pick(&["none", "auto"])
        ),
        7 => format!(", review: none, targetFiles: [t{task}.txt]"),
        _ => format!("{}, targetFiles: [t{task}.txt]", panel("judge, second, judge")),
    };
    let more = dice.pick(&[
        "",
        "",
        ", workspace: one",
        ", workspace: two/deep",
        ", exclusive: true",
    ]);
    let end = dice.pick(&["", "", ", onExhausted: accept", ", onExhausted: fail"]);
    let _ = writeln!(
        yaml,
        "  - {{title: t{task}, assignTo: {agent}, maxAttempts: {}, priority: {}, dependsOn: [{}]{judging}{more}{end}}}",
        1 + dice.below(ATTEMPTS),
        1 + dice.below(3),
        needs.join(", "),
    );
    for attempt in 1..=ATTEMPTS {
        let how = dice.pick(&["good", "good", "good", "bad", "idle", "crash"]);
        workspace.write(
            &format!("fate/t{task}.{attempt}"),
            format!("{how} 0.0{}\n", dice.below(5)),
        );
        for judge in ["judge", "second"] {
            let score = 1 + dice.below(5);
            let dimensions = json!({"depth": {"score": score, "reasoning": format!("{judge} at {attempt}")}});
            let reply = json!({"scores": dimensions, "findings": []});
            // A panel reads the scores, an evaluation the line.
            let reply = match dice.below(10) {
                0 => "neither here nor there".to_owned(),
                // Cannot be reached.
                1 => continue,
                _ if judging.contains("llm_review") => reply.to_string(),
                _ => format!("as it is\nSCORE: {}", 20 * score),
            };
            workspace.write(&format!("fate/t{task}.{attempt}.{judge}"), format!("{reply}\n"));
        }
    }
}

fn panel(reviewers: &str) -> String {
    format!(
        ", expectations: [{{type: llm_review, reviewers: [{reviewers}], dimensions: [{{name: depth, weight: 1}}]}}]"
    )
}
