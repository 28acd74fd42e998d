//! What a mission is compiled to.

mod random;
mod workers;

use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::domain::{Bar, BarOrigin, Millis, Points, TaskId};
use crate::mission::DiagnosticStyle;
use crate::mission::tests::{codes, load_text, with_tasks};

fn plan(text: &str, options: &RunOptions) -> Plan {
    match load_text(text) {
        Ok(loaded) => compile(loaded.mission, options),
        Err(report) => panic!("{}", report.render(DiagnosticStyle::default())),
    }
}

const DIAMOND: &str = "  - {title: d, assignTo: a, dependsOn: [b, c]}\n  - {title: b, assignTo: b, dependsOn: [a]}\n  \
    - {title: c, assignTo: a, dependsOn: [a]}\n  - {title: a, assignTo: a}\n  - {title: e, assignTo: a}\n";

#[test]
fn names_become_ids_both_ways() {
    let gates = "qualityGates: [{name: g, afterTasks: [d], blocksTasks: [e], minScore: 4, onFail: halt}]\n";
    let plan = plan(&(with_tasks(DIAMOND) + gates), &RunOptions::default());
    assert_eq!(plan.dependencies.of(TaskId(0)), [TaskId(1), TaskId(2)]);
    assert_eq!(plan.dependents.of(TaskId(3)), [TaskId(1), TaskId(2)]);
    assert_eq!((plan.gates_after.of(TaskId(0)).len(), plan.gates_before.of(TaskId(4)).len()), (1, 1));
    assert!(plan.gates[0].halt_on_fail && plan.gates[0].min_score == Some(Points::whole(80)));
    assert_eq!(plan.agent(plan.task(TaskId(1)).agent).name.as_ref(), "b");
    assert_eq!(waves(&plan), [2, 1, 1, 0, 3]);
}

#[test]
fn defaults_hold_where_nothing_is_said() {
    let text = with_tasks("  - {title: t, assignTo: a, expectations: [{type: llm_review, criteria: c}]}\n");
    let options = RunOptions { mission_folder: "/m".into(), ..RunOptions::default() };
    let plan = plan(&text, &options);
    let task = &plan.tasks[0];
    let limits =
        AttemptLimits { max_fix_attempts: 2, max_retries: 3, max_attempts: None, max_evaluated_attempts: 2 };
    assert_eq!((task.limits, task.turn_timeout), (limits, Millis::from_secs(1_800)));
    let panel = task.panel().unwrap();
    assert_eq!(panel.bar, Bar::default_bar());
    assert_eq!(panel.reviewers, PanelSeats::Seats(3));
    let weights: Vec<_> = panel.dimensions.iter().map(|d| format!("{} {}", d.name, d.weight)).collect();
    assert_eq!(weights, ["correctness 0.35", "completeness 0.30", "code_quality 0.20", "edge_cases 0.15"]);
    assert!(panel.dimensions.iter().all(|dimension| dimension.rubric.len() == 5));
    assert!(
        plan.rules.settings.evaluate
            && plan.rules.settings.verify_prior_feedback
            && plan.rules.concurrency >= 1
    );
    assert_eq!(
        (plan.rules.settings.eval_threshold, plan.rules.settings.max_assessment_retries),
        (Bar::default_bar(), 1)
    );
    assert_eq!(plan.rules.workspace, Path::new("/m/."));
}

#[test]
fn flags_win_over_the_file() {
    let text = with_tasks("  - {title: t, assignTo: a, maxAttempts: 5}\n")
        + "settings: {concurrency: 7, evalThreshold: 70, maxAttempts: 4, taskTimeout: 1m, maxRetries: 0}\nworkspace: w\n";
    let from_file = plan(&text, &RunOptions::default());
    assert_eq!(from_file.rules.concurrency, 7);
    assert_eq!(from_file.rules.settings.eval_threshold.origin, BarOrigin::Mission);
    let limits = from_file.tasks[0].limits;
    assert_eq!((limits.max_attempts, limits.max_evaluated_attempts, limits.max_retries), (Some(5), 4, 0));
    assert_eq!(from_file.tasks[0].turn_timeout, Millis::from_secs(60));

    let flag = Bar { points: Points::whole(90), origin: BarOrigin::Flag };
    let options = RunOptions {
        mission_folder: "/m".into(),
        no_eval: true,
        eval_threshold: Some(flag),
        max_attempts: Some(1),
        jobs: Some(2),
        ..RunOptions::default()
    };
    let flagged = plan(&text, &options);
    assert_eq!(
        (flagged.rules.concurrency, flagged.rules.settings.eval_threshold, flagged.rules.settings.evaluate),
        (2, flag, false)
    );
    assert_eq!(flagged.tasks[0].limits.max_attempts, Some(1));
    assert_eq!(flagged.rules.workspace, Path::new("/m/w"));
}

#[test]
fn time_of_a_turn_is_the_tasks_then_the_agents() {
    let text = "name: m\nagents: {a: {run: x, timeout: 5m}}\nsettings: {taskTimeout: 9m}\n\
                tasks: [{title: t}, {title: u, maxDuration: 1m}]\n";
    let plan = plan(text, &RunOptions::default());
    let timeouts: Vec<_> = plan.tasks.iter().map(|task| task.turn_timeout.to_string()).collect();
    assert_eq!(timeouts, ["5m", "1m"]);
}

#[test]
fn an_empty_list_of_expectations_declares_none() {
    let plan = plan(&with_tasks("  - {title: t, assignTo: a, expectations: []}\n"), &RunOptions::default());
    assert!(!plan.tasks[0].has_expectations());
}

/// The time that a processor has spent on this thread, which no other work on the machine makes longer; where the system does
/// not tell, the time that has passed since a moment.
fn time_spent(since: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|told| told.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// Not a benchmark: a quadratic corner would take minutes here, even without optimisation.
#[test]
fn large_missions_have_no_quadratic_corner() {
    let mut tasks = String::new();
    for i in 0..20_000 {
        let needs: Vec<_> = [1, 10, 100].iter().filter(|d| **d <= i).map(|d| format!("t{}", i - d)).collect();
        tasks.push_str(&format!("  - {{title: t{i}, assignTo: a, dependsOn: [{}]}}\n", needs.join(", ")));
    }
    let start = Instant::now();
    let before = time_spent(start);
    let large = plan(&with_tasks(&tasks), &RunOptions::default());
    assert_eq!(waves(&large).into_iter().max(), Some(19_999));
    let circle = with_tasks(&tasks).replace("dependsOn: []", "dependsOn: [t19999]");
    assert!(codes(&circle).iter().all(|code| *code == "Q0404"));
    let spent = time_spent(start) - before;
    assert!(spent < Duration::from_secs(20), "{spent:?}");
}
