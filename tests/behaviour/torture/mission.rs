//! Random missions with everything in them that may meet a kill: rework, checks, panels, people, criteria, files, gates,
//! work that is accepted below the bar; agreement before the start, checkpoints, delays, side effects, questions, work that
//! is handed down, fixups, failed dependencies, finish gates, protected files, time-outs, notifications. What agents, judges and
//! approvers do is written down beforehand and hangs on task and attempt alone, so that nothing that a kill repeats can
//! change it.

use std::fmt::Write as _;

use serde_json::json;

use super::Dice;
use crate::support::{BINARY, Workspace};

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
channels: {{told: {{type: file, path: told.jsonl}}}}
agents:
  worker: {{run: [/bin/sh, '@agents/fated-worker.sh', '{root}'], env: {{QUORUM: '{BINARY}'}}}}
  blind: {{run: [/bin/sh, '@agents/fated-worker.sh', '{root}'], input: none, maxConcurrent: 2, env: {{QUORUM: '{BINARY}'}}}}
  judge: {{run: [/bin/sh, '@agents/fated-judge.sh', '{root}', judge], role: reviewer}}
  second: {{run: [/bin/sh, '@agents/fated-judge.sh', '{root}', second]}}
  lead: {{run: [/bin/sh, '@agents/fated-lead.sh', '{root}']}}
  boss: {{adapter: human}}
settings:
  # Whether somebody works meanwhile hangs on the clock.
  baseline: false
  concurrency: {}
  maxFixAttempts: {}
  maxRetries: {}
  maxAssessmentRetries: {}
  maxAttempts: {}
  judgeBreaker: 0
",
        1 + dice.below(4),
        dice.below(3),
        dice.below(2),
        dice.below(2),
        1 + dice.below(3),
    );
    add_settings(&mut yaml, &mut dice);
    yaml.push_str("tasks:\n");
    for task in 0..tasks {
        add_task(&mut yaml, &workspace, &mut dice, task);
    }
    add_order(&mut yaml, &mut dice, tasks);
    workspace.mission(&yaml);
    workspace
}

fn add_settings(yaml: &mut String, dice: &mut Dice) {
    if dice.chance(50) {
        yaml.push_str("  orchestrator: lead\n");
    }
    if dice.chance(40) {
        yaml.push_str("  defaultChannels: [told]\n");
    }
    if dice.chance(20) {
        yaml.push_str("  approvalGates: [{name: urgent, when: task.priority > 2}]\n");
    }
}

/// What stands between tasks: a gate, a checkpoint, a delay, each over its own cut through them.
fn add_order(yaml: &mut String, dice: &mut Dice, tasks: u64) {
    let mut between = |percent: u64| {
        let cut = 1 + dice.below(tasks - 1);
        let (after, blocked) = (dice.below(cut), cut + dice.below(tasks - cut));
        let edge = format!("afterTasks: [t{after}], blocksTasks: [t{blocked}]");
        dice.chance(percent).then_some(edge)
    };
    let (gate, checkpoint, delay) = (between(70), between(25), between(25));
    if let Some(edge) = gate {
        let rule = dice.pick(&[
            "",
            ", minScore: 4",
            ", requireAllPassed: false, notifyChannels: [told]",
            ", acceptBelowThreshold: true",
        ]);
        let _ = writeln!(yaml, "qualityGates:\n  - {{name: g, {edge}{rule}}}");
    }
    if let Some(edge) = checkpoint {
        let _ = writeln!(yaml, "checkpoints:\n  - {{name: c, {edge}}}");
    }
    if let Some(edge) = delay {
        let duration = 5 + dice.below(60);
        let _ = writeln!(yaml, "delays:\n  - {{name: d, {edge}, duration: {duration}}}");
    }
}

fn add_task(yaml: &mut String, workspace: &Workspace, dice: &mut Dice, task: u64) {
    let agent = dice.pick(&["worker", "worker", "blind"]);
    let needs: Vec<String> = (0..task).filter(|_| dice.chance(25)).map(|on| format!("t{on}")).collect();
    let judging = judging(dice, task);
    let more = dice.pick(&["", "", ", workspace: one", ", workspace: two/deep", ", exclusive: true"]);
    let mut rules = String::new();
    let mut fates = vec!["good", "good", "good", "bad", "idle", "crash", "ask", "delegate"];
    if dice.chance(15) {
        rules.push_str(", sideEffects: true");
    }
    if dice.chance(15) {
        let _ = write!(
            rules,
            ", verify: {{commands: ['test -s t{task}.txt'], maxAttempts: {}}}",
            1 + dice.below(2)
        );
        fates.extend(["late", "late"]);
    }
    if dice.chance(8) {
        let _ = write!(rules, ", protect: [t{task}.guard]");
        fates.push("vandal");
    }
    // A short time-out may strike whoever has it on a busy machine: only those that hang anyway.
    if dice.chance(5) {
        rules.push_str(", maxDuration: 150");
        fates = vec!["hang"];
    }
    if dice.chance(15) {
        rules.push_str(&approval(workspace, dice, task));
    }
    if dice.chance(50) {
        let order = dice.pick(&[
            "skip",
            "artifacts, skip",
            "partial, skip",
            "resolve, skip",
            "artifacts, resolve, skip",
            "resolve, partial, skip",
            "partial, artifacts, resolve, skip",
        ]);
        let _ = write!(rules, ", onDependencyFailed: [{order}]");
    }
    if dice.chance(50) {
        let end = dice.pick(&["accept", "fail", "degrade", "refer", "fixup", "fixup"]);
        let _ = write!(rules, ", onExhausted: {end}");
    }
    let _ = writeln!(
        yaml,
        "  - {{title: t{task}, assignTo: {agent}, maxAttempts: {}, priority: {}, dependsOn: [{}]{judging}{more}{rules}}}",
        1 + dice.below(ATTEMPTS),
        1 + dice.below(3),
        needs.join(", "),
    );
    let title = format!("t{task}");
    advise(workspace, dice, &title);
    let reads_scores = judging.contains("llm_review");
    add_fates(workspace, dice, &title, &fates, reads_scores, agent);
    if rules.contains("onExhausted: fixup") {
        let title = format!("{title} (fixup)");
        advise(workspace, dice, &title);
        let fates = ["good", "good", "good", "bad", "crash", "ask"];
        add_fates(workspace, dice, &title, &fates, reads_scores, agent);
    }
}

/// Who or what judges the task, if anything.
fn judging(dice: &mut Dice, task: u64) -> String {
    match dice.below(9) {
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
    }
}

/// Somebody must agree before the task starts.
fn approval(workspace: &Workspace, dice: &mut Dice, task: u64) -> String {
    let root = workspace.root().display();
    match dice.below(3) {
        0 => ", requiresApproval: true".to_owned(),
        1 => ", requiresApproval: {approvers: [lead, boss]}".to_owned(),
        _ => {
            // Yes, yes, no, or it leaves it open.
            let code = dice.pick(&["0", "0", "1", "2"]);
            workspace.write(&format!("fate/t{task}.code"), code);
            format!(
                ", requiresApproval: {{approvers: [{{command: 'sleep 0.0{}; exit $(cat \"{root}/fate/t{task}.code\")'}}]}}",
                dice.below(4)
            )
        }
    }
}

/// What the coordinator says when it is asked about the task.
fn advise(workspace: &Workspace, dice: &mut Dice, title: &str) {
    for (purpose, replies) in [
        (
            "resolve",
            &[
                r#"{"action": "absorb", "prompt": "go on without"}"#,
                r#"{"action": "unresolvable"}"#,
                "neither here nor there",
            ][..],
        ),
        ("answer", &[r#"{"answer": "this one"}"#, r#"{"answer": null}"#][..]),
        (
            "approve",
            &[
                r#"{"decision": "approve"}"#,
                r#"{"decision": "undecided"}"#,
                r#"{"decision": "reject", "reason": "no"}"#,
                "neither here nor there",
            ][..],
        ),
    ] {
        // Sometimes it says nothing.
        if dice.chance(85) {
            let reply = format!("{}\n", dice.pick(replies));
            workspace.write(&format!("fate/{title}.{purpose}"), reply);
        }
    }
}

/// What its agent does at each attempt and what judges say of it, and the same of what it may hand down.
fn add_fates(
    workspace: &Workspace,
    dice: &mut Dice,
    title: &str,
    fates: &[&str],
    reads_scores: bool,
    agent: &str,
) {
    let mut may_delegate = false;
    for attempt in 1..=ATTEMPTS {
        let how = dice.pick(fates);
        may_delegate |= how == "delegate";
        workspace.write(&format!("fate/{title}.{attempt}"), format!("{how} 0.0{}\n", dice.below(5)));
        for judge in ["judge", "second"] {
            let score = 1 + dice.below(5);
            let dimensions = json!({"depth": {"score": score, "reasoning": format!("{judge} at {attempt}")}});
            let reply = json!({"scores": dimensions, "findings": []});
            // A panel reads the scores, an evaluation the line.
            let reply = match dice.below(10) {
                0 => "neither here nor there".to_owned(),
                // Cannot be reached.
                1 => continue,
                _ if reads_scores => reply.to_string(),
                _ => format!("as it is\nSCORE: {}", 20 * score),
            };
            workspace.write(&format!("fate/{title}.{attempt}.{judge}"), format!("{reply}\n"));
        }
    }
    if may_delegate {
        let to = if agent == "worker" { "blind" } else { "worker" };
        workspace.write(&format!("fate/{title}.to"), format!("{to}\n"));
        // What is handed down may be handed down again, once.
        let again = if title.len() == 2 { "delegate" } else { "good" };
        for sub_task in ["a", "b"] {
            let title = format!("{title}{sub_task}");
            advise(workspace, dice, &title);
            let fates = ["good", "good", "good", "bad", "crash", "ask", again];
            add_fates(workspace, dice, &title, &fates, false, to);
        }
    }
}

fn panel(reviewers: &str) -> String {
    format!(
        ", expectations: [{{type: llm_review, reviewers: [{reviewers}], dimensions: [{{name: depth, weight: 1}}]}}]"
    )
}
