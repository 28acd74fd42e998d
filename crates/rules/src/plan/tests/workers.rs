//! Agents with a `queue`, in a build that hands work to workers and in one that does not.

use super::*;
use crate::mission::*;

/// A mission whose agent `a` has a queue, with more lines; `b` has none and `c` another one.
fn queued(more: &str) -> String {
    with_agent("run: [x], queue: gpu", more)
}

fn with_agent(agent: &str, more: &str) -> String {
    let settings = "settings: {taskTimeout: 1m, workers: {exchange: ../e.git}}\n";
    let settings = if more.contains("settings:") { "" } else { settings };
    let isolation = if more.contains("isolation:") { "" } else { "isolation: worktree\n" };
    let tasks = if more.contains("tasks:") { "" } else { "tasks: [{title: t, assignTo: a}]\n" };
    format!(
        "name: m\nagents:\n  a: {{{agent}}}\n  b: {{run: [x]}}\n  c: {{run: [x], queue: cpu}}\n{settings}{isolation}{tasks}{more}"
    )
}

/// What a text is told, each with its code and line.
fn told(text: &str, has_workers: bool) -> Vec<(&'static str, usize, String)> {
    let layers = Layers { has_workers, ..Layers::default() };
    let report = match load(&Source::new("m.yaml", text), &layers) {
        Ok(loaded) => loaded.notes,
        Err(report) => report,
    };
    let told = report.diagnostics.into_iter().map(|one| {
        let line = one.spot.as_ref().map_or(0, |spot| spot.line);
        (one.code.as_str(), line, one.message)
    });
    told.collect()
}

#[test]
fn a_build_without_workers_refuses_each_queue_and_says_why() {
    let told = told(&queued(""), false);
    let places: Vec<_> = told.iter().map(|(code, line, _)| (*code, *line)).collect();
    assert_eq!(places, [("Q0213", 3), ("Q0213", 5)]);
    assert!(told[0].2.contains("this build of quorum hands no work to other machines"));
    let config = Source::new("quorum.yaml", "agents: {a: {run: x, queue: gpu}}\n");
    let load = |has_workers| load_config(&config, ConfigLayer::Project, has_workers);
    assert_eq!(load(false).unwrap_err().diagnostics[0].code, Code::NotInThisBuild);
    assert!(load(true).is_ok());
}

#[test]
fn a_queue_fits_agent_task_and_settings_or_is_refused_at_its_place() {
    let settings = |text: &str| format!("settings: {{{text}}}\n");
    let exchange = "exchange: e.git";
    for (text, expected, words) in [
        (queued(""), vec![], ""),
        (with_agent("adapter: claude, queue: gpu, session: fresh", ""), vec![], ""),
        (with_agent("adapter: claude, queue: gpu", ""), vec![], ""),
        (queued("isolation: temp\n"), vec![], ""),
        (with_agent("run: [x], queue: 'a b'", ""), vec![("Q0204", 3)], "letters"),
        (with_agent("adapter: openai, model: m, queue: gpu", ""), vec![("Q0206", 3)], "does not apply"),
        (with_agent("adapter: echo, queue: gpu", ""), vec![("Q0206", 3)], "does not apply"),
        (with_agent("adapter: human, queue: gpu", ""), vec![("Q0206", 3)], "does not apply"),
        (with_agent("adapter: acp, run: [x], queue: gpu", ""), vec![("Q0206", 3)], "does not apply"),
        (with_agent("adapter: claude, session: keep, queue: gpu", ""), vec![("Q0206", 3)], "keep its session"),
        (queued("isolation: shared\n"), vec![("Q0206", 7)], "isolation: shared"),
        (queued("isolation: copy\n"), vec![("Q0206", 7)], "isolation: copy"),
        // One agent's first task tells of all that say nothing of it; what a task says is told of that task.
        (
            queued("isolation: shared\ntasks:\n  - {title: t, assignTo: a}\n  - {title: u, assignTo: a}\n  - {title: v, assignTo: a,\n     isolation: copy}\n  - {title: w, assignTo: b}\n"),
            vec![("Q0206", 9), ("Q0206", 12)],
            "isolation: shared",
        ),
        // Whoever goes on with the work counts too.
        (
            "name: m\nagents:\n  b: {run: [x], fallback: c}\n  c: {run: [x], queue: cpu}\nsettings: {workers: {exchange: e}}\ntasks:\n  - {title: t, assignTo: b}\n".to_owned(),
            vec![("Q0206", 7)],
            "'c'",
        ),
        (queued(&settings("concurrency: 1")), vec![("Q0202", 3)], "exchange"),
        (queued(&settings(&format!("workers: {{{exchange}, lease: 1999ms}}"))), vec![("Q0204", 8)], "2s or longer"),
        (queued(&settings(&format!("workers: {{{exchange}, lease: 2s}}"))), vec![], ""),
        (queued(&settings(&format!("taskTimeout: 1m, workers: {{{exchange}, lease: 61s}}"))), vec![("Q0204", 8)], "longer than a turn"),
        (queued(&settings(&format!("taskTimeout: 1m, workers: {{{exchange}, lease: 60s}}"))), vec![], ""),
        (queued(&settings(&format!("worktree: {{copy: [f]}}, workers: {{{exchange}}}"))), vec![("Q0206", 8)], "worktree.copy"),
        (queued(&settings(&format!("worktree: {{link: [f]}}, workers: {{{exchange}}}"))), vec![("Q0206", 8)], "worktree.link"),
        // What an orchestrator is asked may belong to no task.
        (queued(&settings(&format!("orchestrator: c, workers: {{{exchange}}}"))), vec![("Q0210", 8)], "belong to no task"),
        // Who is asked about a task goes where its folder goes.
        (queued("redTeam: {agent: c}\n"), vec![], ""),
        (queued("stages: [{name: s, agent: c}]\n"), vec![], ""),
        (queued("tasks: [{title: t, assignTo: a, requiresApproval: {approvers: [c]}}]\n"), vec![], ""),
        (
            queued(&settings(&format!("approvalGates: [{{name: g, approvers: [c]}}], workers: {{{exchange}}}"))),
            vec![],
            "",
        ),
        (queued("tasks: [{title: t, assignTo: a, expectations: [{type: llm_review, reviewers: [c]}]}]\n"), vec![], ""),
        (
            queued("tasks: [{title: t, assignTo: a}, {title: v, type: verification, assignTo: c, dependsOn: [t]}]\n"),
            vec![("Q0202", 8), ("Q0202", 8), ("Q0202", 8)],
            "",
        ),
        (
            queued("isolation: shared\ntasks: [{title: t, assignTo: b, isolation: temp, stages: [{name: s, agent: c}]}]\n"),
            vec![],
            "",
        ),
        (
            queued("isolation: shared\ntasks: [{title: t, assignTo: b, requiresApproval: {approvers: [c]}}]\n"),
            vec![("Q0206", 8)],
            "'t' has no folder that can go there (`isolation: shared`)",
        ),
        (
            queued("isolation: copy\ntasks: [{title: t, assignTo: b, expectations: [{type: llm_review, reviewers: [c]}]}]\n"),
            vec![("Q0206", 8)],
            "(`isolation: copy`)",
        ),
        (
            queued("isolation: worktree\ntasks: [{title: t, assignTo: b}, {title: v, type: verification, isolation: shared, assignTo: c, dependsOn: [t]}]\n"),
            vec![("Q0202", 8), ("Q0202", 8), ("Q0202", 8), ("Q0206", 8), ("Q0412", 8)],
            "",
        ),
        (
            queued("isolation: worktree\nstages: [{name: s, agent: c}]\ntasks:\n  - {title: t, assignTo: b}\n  - {title: u, assignTo: b, isolation: shared}\n"),
            vec![("Q0206", 8)],
            "'u' has no folder",
        ),
        (
            queued("settings: {concurrency: 1}\ntasks: [{title: t, assignTo: b, stages: [{name: s, agent: c}]}]\n"),
            vec![("Q0202", 8)],
            "names no `exchange`",
        ),
    ] {
        let told = told(&text, true);
        let places: Vec<_> = told.iter().map(|(code, line, _)| (*code, *line)).collect();
        assert_eq!(places, expected, "{text}\n{told:?}");
        assert!(told.iter().all(|(_, _, message)| message.contains(words) || told.len() > 1), "{text}\n{told:?}");
    }
}

#[test]
fn a_file_that_fills_folders_is_refused_where_an_agent_works_elsewhere() {
    for (filled_by, copied, [works, asked]) in [
        (Some(".worktreeinclude"), "", [3, 8]),
        (None, ", worktree: {copy: [f]}", [7, 8]),
        (None, ", worktree: {link: [f]}", [7, 8]),
    ] {
        let refused = |tasks: &str| {
            let settings = format!("settings: {{workers: {{exchange: e}}{copied}}}\n");
            let text = queued(&format!("isolation: worktree\n{settings}{tasks}"));
            let layers = Layers { has_workers: true, filled_by, ..Layers::default() };
            let report = load(&Source::new("m.yaml", text), &layers)
                .map_or_else(|report| report, |loaded| loaded.notes);
            let told = report.diagnostics.into_iter();
            let told = told.map(|one| (one.code.as_str(), one.spot.map_or(0, |spot| spot.line)));
            told.collect::<Vec<_>>()
        };
        assert_eq!(refused("tasks: [{title: t, assignTo: a}]\n"), [("Q0206", works)]);
        assert_eq!(refused("tasks: [{title: t, assignTo: b}]\n"), []);
        // Who is asked about a task sees its folder there.
        for asked_by in [
            "stages: [{name: s, agent: c}]",
            "requiresApproval: {approvers: [c]}",
            "expectations: [{type: llm_review, reviewers: [c]}]",
        ] {
            let told = refused(&format!("tasks: [{{title: t, assignTo: b, {asked_by}}}]\n"));
            assert_eq!(told, [("Q0206", asked)], "{asked_by}");
        }
    }
}

#[test]
fn each_turn_of_an_agent_with_a_queue_begins_a_session() {
    for (agent, keeps) in [("adapter: claude, queue: gpu", false), ("adapter: claude", true)] {
        let mission = with_agent(agent, "tasks: [{title: t, assignTo: b}]\n");
        let layers = Layers { has_workers: true, ..Layers::default() };
        let mission = load(&Source::new("m.yaml", mission), &layers).unwrap().mission;
        assert_eq!(mission.agents.get("a").unwrap().keeps_session(), keeps);
    }
}

#[test]
fn an_agent_with_a_queue_judges_the_tasks_whose_folders_go_to_its_workers() {
    let task = crate::domain::TaskId(0);
    let plan = |more: &str| {
        let text = format!(
            "name: m\nagents:\n  a: {{adapter: claude, queue: gpu}}\n  b: {{run: [x]}}\n  d: {{adapter: codex, fallback: a}}\n{more}"
        );
        let layers = Layers { has_workers: true, ..Layers::default() };
        let mission = load(&Source::new("m.yaml", text), &layers).unwrap().mission;
        compile(mission, &RunOptions::default())
    };
    for (more, judges) in [
        ("isolation: worktree\nsettings: {workers: {exchange: e}}\n", true),
        ("isolation: temp\nsettings: {workers: {exchange: e}}\n", true),
        ("isolation: shared\nsettings: {workers: {exchange: e}}\n", false),
        ("isolation: worktree\n", false),
        ("isolation: worktree\nsettings: {workers: {exchange: e}, worktree: {link: [f]}}\n", false),
    ] {
        let plan = plan(&format!("{more}tasks: [{{title: t, assignTo: b}}]\n"));
        let [a, d] = ["a", "d"].map(|name| plan.find_agent(name).unwrap());
        let able = eligibility::reviewers(&plan, task, None);
        assert_eq!(able.iter().any(|eligible| eligible.agent == a), judges, "{more}");
        // Nor does it stand in for one who judges.
        let candidates: Vec<_> = eligibility::candidates(&plan, task, d, None).collect();
        assert_eq!(candidates.contains(&a), judges, "{more}");
    }
}
