//! Every diagnostic, made to appear; and the fixtures of bad missions as people see them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::*;

/// A mission of one agent and one task, with more lines at the top level.
fn minimal(more: &str) -> String {
    format!("name: m\nagents: {{a: {{run: [x]}}}}\ntasks: [{{title: t}}]\n{more}")
}

/// A minimal task with one expectation.
fn expectation(text: &str) -> String {
    with_tasks(&format!("  - {{title: t, assignTo: a, expectations: [{text}]}}\n"))
}

/// One agent described by `text`.
fn agent(text: &str) -> String {
    format!("name: m\nagents: {{a: {{{text}}}}}\ntasks: [{{title: t}}]\n")
}

/// Texts with exactly the codes they must be told, at least one for every code that a text can have.
fn cases() -> Vec<(String, Vec<&'static str>)> {
    let many_levels = "[".repeat(100);
    let documents = [
        (
            "name: m\nbudget: {maxCost: 1}\nagents: {a: {adapter: openai, model: m}}\ntasks: [{title: t}]\n",
            vec!["Q0308"],
        ),
        ("name: m\nagents: {a: {run: x, queue: gpu}}\ntasks: [{title: t}]\n", vec!["Q0213"]),
        (
            "name: m\nbudget: {maxCost: 1, reserveForJudging: 0.2}\nagents: {a: {run: x, maxCostPerTurn: 0.9}}\ntasks: [{title: t}]\n",
            vec!["Q0310"],
        ),
        ("", vec!["Q0106"]),
        ("# nothing\n", vec!["Q0106"]),
        ("~\n", vec!["Q0106"]),
        ("- name: m\n", vec!["Q0107"]),
        ("just text\n", vec!["Q0107"]),
        ("name: m\n---\nname: n\n", vec!["Q0108"]),
        ("name: [m\n", vec!["Q0109"]),
        (
            "name: m\nagents: {a: {run: [x], env: {\"A=B\": x}, passEnv: [\"C=D\"]}}\ntasks: [{title: t}]\n",
            vec!["Q0204"; 2],
        ),
        (
            "name: m\nagents: {\"<>\": {run: [x]}, \"...\": {run: [x]}, \"<a>\": {run: [x]}}\ntasks: [{title: t, assignTo: \"<a>\"}]\n",
            vec!["Q0406"; 2],
        ),
        ("name: m\n\tagents: {}\n", vec!["Q0109"]),
        (&many_levels, vec!["Q0113"]),
        ("a: &a [*a]\n", vec!["Q0111"]),
    ];
    let tops = [
        ("name: again\n", vec!["Q0110"]),
        ("x-a: !tag 1\n", vec!["Q0112"]),
        ("nmae: m\n", vec!["Q0201"]),
        ("rubrics: {r: {criteria: [{name: a}]}}\n", vec!["Q0202"]),
        ("rubrics: {r: {criteria: [{name: a, weight: 1}], examples: [{}]}}\n", vec!["Q0202"; 3]),
        ("settings: {concurency: 3}\n", vec!["Q0201"]),
        ("settings: []\n", vec!["Q0203"]),
        ("description: [a]\n", vec!["Q0203"]),
        ("settings: {concurrency: 0}\n", vec!["Q0204"]),
        ("settings: {worktree: {merge: branch a..b}}\n", vec!["Q0204"]),
        ("settings: {worktree: {merge: branch x.lock}}\n", vec!["Q0204"]),
        ("settings: {worktree: {merge: branch HEAD}}\n", vec!["Q0204"]),
        ("settings: {concurrency: many}\n", vec!["Q0204"]),
        ("settings: {taskTimeout: 10 parsecs}\n", vec!["Q0204"]),
        ("settings: {taskTimeout: 10}\n", vec!["Q0212"]),
        ("settings: {taskTimeout: '999'}\n", vec!["Q0212"]),
        ("settings: {taskTimeout: 1000}\n", vec![]),
        ("settings: {taskTimeout: 10ms}\n", vec![]),
        ("settings: {sla: {checkIntervalMs: 500}}\n", vec![]),
        ("deadline: 30\n", vec!["Q0212"]),
        ("budget: {maxTime: 90}\n", vec!["Q0212"]),
        ("settings: {evalThreshold: 7}\n", vec!["Q0204"]),
        ("settings: {evaluate: no}\n", vec!["Q0204"]),
        ("settings: {consensus: mode}\n", vec!["Q0205"]),
        ("qualityThreshold: 0.5\n", vec!["Q0204"]),
        ("requires: newest\n", vec!["Q0204"]),
        ("requires: '>=9.0.0'\n", vec!["Q0208"]),
        ("settings: {hooks: {done: x}}\n", vec!["Q0210"]),
        ("deadline: soon\n", vec!["Q0204"]),
        ("onExhausted: fixup\n", vec![]),
        ("settings: {orchestrator: nobody}\n", vec!["Q0302"]),
        ("settings: {defaultChannels: [ops]}\n", vec!["Q0503"]),
        ("qualityGates: [{name: g, afterTasks: [t], notifyChannels: [ops]}]\n", vec!["Q0502", "Q0503"]),
        ("channels: {c: {type: pigeon}}\n", vec!["Q0205"]),
        ("channels: {c: {url: 'http://h'}}\n", vec!["Q0202"]),
        ("channels: {c: {type: webhook}}\n", vec!["Q0202"]),
        ("channels: {c: {type: slack, path: f}}\n", vec!["Q0202", "Q0206"]),
        ("channels: {c: {type: file, path: f, headers: {a: b}}}\n", vec!["Q0206"]),
        ("channels: {c: {type: command, run: [x], url: 'http://h'}}\n", vec!["Q0206"]),
        ("channels: {c: {type: webhook, url: 'http://${}'}}\n", vec!["Q0305"]),
        ("settings: {middleware: {agent: [policy_gate, policy_gate]}}\n", vec!["Q0209"]),
        ("stages: [{name: s}]\n", vec!["Q0202"]),
        ("settings: {middleware: {agent: [policy]}}\n", vec!["Q0205"]),
        ("settings: {middleware: {coordination: [task_ledger, clarification_gate]}}\n", vec![]),
        ("settings: {clarification: enforce}\n", vec!["Q0423"]),
        ("settings: {clarification: warn}\n", vec![]),
        ("rubrics: {r: {criteria: [{name: c, weight: 0.5}]}}\n", vec!["Q0204"]),
        ("rubrics: {r: {criteria: [{name: c, weight: 0.5}, {name: c, weight: 0.5}]}}\n", vec!["Q0209"]),
        (
            "rubrics: {r: {criteria: [{name: c, weight: 1}], \
             examples: [{artifact: a, verdict: pass, rationale: r, grades: {d: 1}}]}}\n",
            vec!["Q0205"],
        ),
        ("qualityGates: [{name: g, afterTasks: [t], blocksTasks: []}]\n", vec!["Q0502"]),
        ("qualityGates: [{name: g, blocksTasks: [t]}]\n", vec!["Q0502"]),
        ("qualityGates: [{name: g, afterTasks: [x], blocksTasks: [t]}]\n", vec!["Q0403"]),
        ("qualityGates: [{afterTasks: [t], blocksTasks: [t]}]\n", vec!["Q0202", "Q0404"]),
        ("qualityGates: [{name: g, afterTasks: [t, t], blocksTasks: [t]}]\n", vec!["Q0209", "Q0404"]),
    ];
    let agents = [
        ("reportsTo: b, run: [x]", vec!["Q0302"]),
        ("reportsTo: a, run: [x]", vec!["Q0307"]),
        ("role: judge", vec!["Q0303"]),
        ("adapter: openai", vec!["Q0303"]),
        ("adapter: anthropic", vec!["Q0303"]),
        ("adapter: gemini-api", vec!["Q0303"]),
        ("adapter: ollama", vec!["Q0303"]),
        ("adapter: ollama, model: m, run: [x]", vec!["Q0206"]),
        ("adapter: openai, model: m, run: [x]", vec!["Q0206"]),
        ("adapter: openia, model: m", vec!["Q0205"]),
        ("adapter: claud", vec!["Q0205"]),
        ("adapter: acp", vec!["Q0303"]),
        ("adapter: claude, run: claude -p", vec!["Q0204"]),
        ("adapter: claude, permissions: {run: ask}", vec!["Q0206"]),
        ("run: [x], permissions: read", vec!["Q0206"]),
        ("run: [x], session: fresh", vec!["Q0206"]),
        ("adapter: openai, model: m, passEnv: [TZ]", vec!["Q0206"]),
        ("adapter: echo, run: [x]", vec!["Q0206"]),
        ("run: []", vec!["Q0207"]),
        ("run: ['']", vec!["Q0207"]),
        ("run: ''", vec!["Q0207"]),
        ("adapter: openai, model: m, apiKey: sk-12345", vec!["Q0304"]),
        ("adapter: openai, model: m, baseUrl: 'https://u:p@h/v1'", vec!["Q0304"]),
        ("adapter: openai, model: m, baseUrl: 'ftp://h'", vec!["Q0204"]),
        ("adapter: openai, model: m, temperature: 3", vec!["Q0204"]),
        ("run: [x], env: {A: '${1}'}", vec!["Q0305"]),
        ("run: [x], env: {A: }", vec!["Q0207"]),
    ];
    let tasks = [
        ("  []\n", vec!["Q0401"]),
        ("  - {assignTo: a}\n", vec!["Q0202"]),
        ("  - {title: , assignTo: a}\n", vec!["Q0202"]),
        ("  - {title: '', assignTo: a}\n", vec!["Q0406"]),
        ("  - {title: t}\n", vec!["Q0405"]),
        ("  - {title: t, assignTo: c}\n", vec!["Q0302"]),
        ("  - {title: t, assignTo: a}\n  - {title: t, assignTo: b}\n", vec!["Q0402"]),
        ("  - {title: t, assignTo: a, dependsOn: [u]}\n", vec!["Q0403"]),
        ("  - {title: t, assignTo: a, dependsOn: [t]}\n", vec!["Q0404"]),
        ("  - {title: t, assignTo: a, dependsOn: u}\n", vec!["Q0203"]),
        ("  - {title: t, assignTo: a, dependsOn: [~]}\n", vec!["Q0207"]),
        ("  - {title: t, assignTo: a, priority: 0}\n", vec!["Q0204"]),
        ("  - {title: t, assignTo: a, type: deploy}\n", vec!["Q0411"]),
        (
            "  - {title: t, assignTo: a, isolation: worktree}\n  - {title: u, assignTo: a, dependsOn: [t]}\n",
            vec!["Q0412"],
        ),
        (
            "  - {title: t, assignTo: a, targetFiles: [x]}\n  - {title: u, assignTo: a, targetFiles: [./x]}\n",
            vec!["Q0430"],
        ),
        (
            "  - {title: t, assignTo: a, review: none}\n  - {title: u, assignTo: a}\nqualityGates: [{name: g, afterTasks: [t], blocksTasks: [u], minScore: 70}]\n",
            vec!["Q0506"],
        ),
        (
            "  - {title: t, assignTo: a}\n  - {title: u, assignTo: a}\nqualityGates: [{name: g, afterTasks: [t], blocksTasks: [u], minScore: 70}]\n",
            vec![],
        ),
        (
            "  - {title: t, assignTo: a, targetFiles: [x], exclusive: true}\n  - {title: u, assignTo: a, targetFiles: [x]}\n",
            vec![],
        ),
        (
            "  - {title: t, assignTo: a, targetFiles: [x]}\n  - {title: u, assignTo: a, targetFiles: [x], dependsOn: [t]}\n",
            vec![],
        ),
        ("  - {title: t, assignTo: a, requiresToolCalls: true}\n", vec!["Q0420"]),
        ("  - {title: t, assignTo: a, type: deploy, sideEffects: false}\n", vec![]),
        ("  - {title: t, assignTo: a, sideEffects: true}\n", vec![]),
        ("  - {title: t, assignTo: a, requiresApproval: false}\n", vec![]),
        ("  - {title: t, assignTo: a, requiresApproval: maybe}\n", vec!["Q0204"]),
        (
            "  - {title: t, assignTo: a, requiresApproval: {approvers: [ada, {command: x}, b], timeout: 1h, message: go}}\n",
            vec![],
        ),
        ("  - {title: t, assignTo: a, requiresApproval: {approvers: [a]}}\n", vec!["Q0410"]),
        ("  - {title: t, assignTo: a, requiresApproval: {approver: [b]}}\n", vec!["Q0201"]),
        ("  - {title: t, assignTo: a, targetFiles: [/etc/passwd]}\n", vec!["Q0407"]),
        ("  - {title: t, assignTo: a, verification: {rubric: none}}\n", vec!["Q0504"]),
        (
            "  - {title: t, assignTo: a, acceptance: [x], verification: {grader: heuristic, rubric: default-task}}\n",
            vec!["Q0206"],
        ),
        ("  - {title: t, assignTo: a, verification: {grader: heuristic}}\n", vec!["Q0202"]),
        (
            "  - {title: t, assignTo: a, type: verification, onPass: x}\n",
            vec!["Q0202", "Q0202", "Q0422", "Q0403"],
        ),
        ("  - {title: t, assignTo: a, onPass: t}\n", vec!["Q0206"]),
        ("  - {title: t, assignTo: a, maxVisits: 2}\n", vec!["Q0206"]),
        (
            "  - {title: t, assignTo: b}\n  - {title: v, assignTo: a, type: verification, dependsOn: [t], onPass: x, \
             onFail: t, onRefer: x, review: none}\n  - {title: x, assignTo: b}\n  - {title: y, assignTo: b, \
             dependsOn: [v]}\n",
            vec!["Q0206", "Q0421"],
        ),
        ("  - t\n", vec!["Q0203"]),
    ];
    let expectations = [
        ("{command: x}", vec!["Q0202"]),
        ("{type: tset, command: x}", vec!["Q0205"]),
        ("{type: test}", vec!["Q0202"]),
        ("{type: test, command: ''}", vec!["Q0207"]),
        ("{type: test, command: x, paths: [y]}", vec!["Q0206"]),
        ("{type: script, command: x, cwd: ../..}", vec!["Q0407"]),
        ("{type: file_exists}", vec!["Q0202"]),
        ("{type: file_exists, paths: []}", vec!["Q0207"]),
        ("{type: metric, name: n, command: x}", vec!["Q0409"]),
        ("{type: metric, name: n, command: x, min: 2, max: 1}", vec!["Q0204"]),
        ("{type: llm_review, criteria: c, independence: none}", vec!["Q0205"]),
        ("{type: llm_review, criteria: c, threshold: 10}", vec!["Q0204"]),
        ("{type: llm_review, criteria: c, reviewers: 0}", vec!["Q0204"]),
        ("{type: llm_review, criteria: c, reviewers: []}", vec!["Q0207"]),
        ("{type: llm_review, criteria: c, reviewers: [a]}", vec!["Q0410"]),
        ("{type: llm_review, criteria: c, reviewers: [c]}", vec!["Q0302"]),
        ("{type: llm_review, criteria: c}, {type: llm_review, criteria: d}", vec!["Q0408"]),
        ("{type: llm_review, dimensions: [{name: d}]}", vec!["Q0202"]),
        ("{type: llm_review, dimensions: [{name: d, weight: 0}]}", vec!["Q0204"]),
        ("{type: llm_review, dimensions: [{name: d, weight: 1}, {name: d, weight: 1}]}", vec!["Q0209"]),
        ("{type: llm_review, dimensions: [{name: d, weight: 1, rubric: {6: x}}]}", vec!["Q0204"]),
    ];
    let mut cases: Vec<(String, Vec<&'static str>)> = vec![
        ("name: m\ntasks: [{title: t}]\n".to_owned(), vec!["Q0301"]),
        ("name: m\nagents: {a: }\ntasks: [{title: t}]\n".to_owned(), vec!["Q0207"]),
        (
            with_tasks("  - {title: t, assignTo: a, dependsOn: [u]}\n  - {title: u, assignTo: a}\n")
                + "qualityGates:\n  - {name: g, afterTasks: [t], blocksTasks: [u]}\n"
                + "  - {name: g, afterTasks: [u], blocksTasks: [t]}\n",
            vec!["Q0404", "Q0501"],
        ),
        (
            with_tasks("  - {title: t, assignTo: a}\n  - {title: u, assignTo: a}\n")
                + "checkpoints:\n  - {name: c, afterTasks: [t], blocksTasks: [u]}\n"
                + "delays:\n  - {name: c, afterTasks: [u], blocksTasks: [t], duration: 1s}\n",
            vec!["Q0404"],
        ),
        (
            with_tasks("  - {title: t, assignTo: a}\n  - {title: u, assignTo: a}\n")
                + "checkpoints:\n  - {name: c, afterTasks: [t], blocksTasks: [u]}\n"
                + "  - {name: c, afterTasks: [t], blocksTasks: []}\n"
                + "delays:\n  - {name: d, afterTasks: [t], blocksTasks: [v], duration: 1s}\n"
                + "  - {name: e, afterTasks: [t], blocksTasks: [u]}\n",
            vec!["Q0501", "Q0502", "Q0403", "Q0202"],
        ),
        (
            "name: m\nagents: {a: {run: [x], fallback: b}, b: {run: [x], role: qa}}\n".to_owned()
                + "tasks: [{title: t, assignTo: b}]\n",
            vec!["Q0309"],
        ),
        (minimal("settings: {approvalGates: [{name: g, when: 'task.type =='}]}\n"), vec!["Q0505"]),
        (
            minimal("settings: {approvalGates: [{name: g, when: task.tpye}, {name: h, when: task.title}]}\n"),
            vec!["Q0505", "Q0505"],
        ),
        (
            minimal("settings: {approvalGates: [{name: g, when: task.sideEffects, approvers: [ada]}]}\n"),
            vec![],
        ),
    ];
    cases.extend(documents.map(|(text, codes)| (text.to_owned(), codes)));
    cases.extend(tops.map(|(text, codes)| (minimal(text), codes)));
    cases.extend(agents.map(|(text, codes)| (agent(text), codes)));
    cases.extend(tasks.map(|(text, codes)| (with_tasks(text), codes)));
    cases.extend(expectations.map(|(text, codes)| (expectation(text), codes)));
    cases
}

#[test]
fn every_mistake_has_its_code_and_no_other() {
    let mut wrong = Vec::new();
    for (text, expected) in cases() {
        let found = codes(&text);
        if found != expected {
            wrong.push(format!("{text}\n  expected {expected:?}, found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_code_of_a_text_has_a_case() {
    let covered: BTreeSet<_> = cases().into_iter().flat_map(|(_, codes)| codes).collect();
    // These belong to files, configuration files, runs and what lies in the workspace; Q0001 is a bug by definition.
    let elsewhere = ["Q0001", "Q0101", "Q0102", "Q0103", "Q0104", "Q0105", "Q0211", "Q0306", "Q0431"];
    let missing: Vec<_> = Code::ALL
        .iter()
        .map(|code| code.as_str())
        .filter(|code| !covered.contains(code) && !elsewhere.contains(code))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn code_of(source: &Source) -> &'static str {
    let report = load(source, &Layers::default()).unwrap_err();
    report.diagnostics[0].code.as_str()
}

#[test]
fn files_that_are_no_text_are_refused() {
    assert_eq!(code_of(&Source::new("m", vec![b' '; 64 * 1024 * 1024 + 1])), "Q0104");
    assert_eq!(code_of(&Source::new("m", b"name: \xff\n".to_vec())), "Q0105");
    assert_eq!(code_of(&Source::new("m", "n\0a\0m\0e\0")), "Q0109");
}

#[test]
fn configuration_files_hold_only_what_missions_share() {
    let load = |text: &str| load_config(&Source::new("quorum.yaml", text), ConfigLayer::User, false);
    let report = load("tasks: []\nbogus: 1\nagents: {a: {}}\n").unwrap_err();
    let codes: Vec<_> = report.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect();
    assert_eq!(codes, ["Q0211", "Q0201", "Q0303"]);
    assert!(load("agents: {a: {run: x}}\n").is_ok());
    let doubtful = load("agents: {a: {run: x, timeout: 10}}\n").expect("it is no error");
    assert_eq!(doubtful.notes[0].code, Code::NoUnit);
}

/// The help of the first error of a text.
fn help(text: &str) -> String {
    let Err(report) = load_text(text) else {
        panic!("it is accepted: {text}");
    };
    let first = report.diagnostics.first().expect("something is said");
    first.help.clone().unwrap_or_default()
}

#[test]
fn spellings_of_other_systems_lead_to_the_key() {
    let task = |text: &str| with_tasks(&format!("  - {{title: t, assignTo: a, {text}}}\n"));
    for (text, key) in [
        (task("verificationGate: {requiredTests: [x]}"), "`verify: {"),
        (task("verificationCriteria: {requiredTests: [x]}"), "`verify: {"),
        (task("verification_criteria: {requiredTests: [x]}"), "`verify: {"),
        (task("verification: {requiredTests: [x]}"), "`verify: {"),
        (task("requiredTests: [x]"), "`verify: {requiredTests"),
        (task("requireFileChanges: true"), "`verify: {requireFileChanges"),
        (task("evalThreshold: 70"), "`expectations: [{type: llm_review"),
        (task("dimensions: []"), "`expectations: [{type: llm_review"),
        (task("qualityThreshold: 3"), "`expectations: [{type: llm_review"),
        (task("VERIFICATION_PASS: t"), "`onPass:"),
        (task("verificationPass: t"), "`onPass:"),
        (task("criteria_decomposer: llm"), "`decomposer:"),
        (task("verification: {calibration_examples: []}"), "`examples:"),
        (minimal("evalThreshold: 70\n"), "`settings: {evalThreshold"),
        (minimal("gates: []\n"), "`qualityGates:"),
        (minimal("sla: {}\n"), "`settings: {sla"),
        (minimal("approvalGates: []\n"), "`settings: {approvalGates"),
        (minimal("middleware: {}\n"), "`settings: {middleware"),
        (minimal("security: {red_team: {enabled: true}}\n"), "`redTeam: {agent"),
        (minimal("semantic_drift_enabled: true\n"), "semantic_drift"),
    ] {
        let help = help(&text);
        assert!(help.contains(key), "{text}: {help}");
    }
    // One mistake, one error: a red team that is switched on has no agent.
    let Err(report) = load_text(&minimal("redTeam: {enabled: true}\n")) else {
        panic!("it is accepted");
    };
    assert!(report.diagnostics.iter().all(|one| !one.message.contains("no agent ''")));
}

#[test]
fn an_author_is_neither_its_own_red_team_nor_its_own_vision_judge() {
    let mission = |more: &str| {
        format!(
            "name: m\nagents: {{a: {{run: [x], vision: true}}, b: {{run: [y]}}}}\ntasks: [{{title: t, assignTo: a}}]\n{more}"
        )
    };
    let vision = "vision: {kind: llm_vision, agent: a, screenshots: [s.png], expectations: [a button]}\n";
    for (more, codes_of) in [
        ("redTeam: {agent: a}\n", vec!["Q0410"]),
        ("redTeam: {agent: b}\n", vec![]),
        // Its own work is passed over, as the mission says.
        ("redTeam: {agent: a, onMissing: skip}\n", vec![]),
        // No task of such stakes is attacked.
        ("redTeam: {agent: a, minStakes: high}\n", vec![]),
    ] {
        assert_eq!(codes(&mission(more)), codes_of, "{more}");
    }
    assert!(codes(&mission(vision)).contains(&"Q0410"));
}

#[test]
fn what_is_not_built_is_refused() {
    let what = "hooks";
    let report = load_text(&minimal("settings: {hooks: {done: x}}\n")).expect_err(what);
    let codes: Vec<_> = report.diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(codes, [Code::NotBuiltYet]);
    assert_eq!(report.diagnostics[0].severity, DiagnosticSeverity::Error);
    assert!(report.diagnostics[0].message.contains(what));
}

#[test]
fn a_glob_among_target_files_is_refused_with_what_to_write() {
    let text = minimal("").replace("title: t", "title: t, targetFiles: ['src/*.rs']");
    let report = load_text(&text).expect_err("a glob is no file");
    assert!(report.render(crate::mission::DiagnosticStyle::default()).contains("file_exists"));
}

#[test]
fn the_largest_number_of_tries_is_refused_as_any_other_bad_value() {
    for key in ["maxRetries", "maxFixAttempts"] {
        let text = minimal("").replace("title: t", &format!("title: t, {key}: 4294967295"));
        let report = load_text(&text).expect_err("out of range");
        assert_eq!(report.diagnostics[0].code, Code::BadValue, "{key}");
    }
}

#[test]
fn secrets_are_never_shown() {
    for text in [
        agent("adapter: openai, model: m, apiKey: sk-geheim, bogus: 1"),
        "name: m\nagents: {a: {apiKey: \"sk-geheim}}\n".to_owned(),
        agent("adapter: openai, model: m, baseUrl: 'https://u:sk-geheim@h', bogus: 1"),
    ] {
        let report = load_text(&text).unwrap_err();
        let shown = report.render(DiagnosticStyle::default()) + &serde_json::json!(report.rows()).to_string();
        assert!(!shown.contains("geheim"), "{shown}");
    }
}

#[test]
fn mistakes_do_not_multiply() {
    // A wrong title must not make every reference to it wrong; a wrong list of tasks no references at all.
    let text = with_tasks("  - {title: [t], assignTo: a}\n  - {title: u, assignTo: a, dependsOn: [t]}\n");
    assert_eq!(codes(&text), ["Q0203"]);
    assert_eq!(codes("name: m\nagents: 7\ntasks: [{title: t, assignTo: a}]\n"), ["Q0203"]);
}

#[test]
fn more_mistakes_than_anyone_reads_are_counted() {
    let tasks: String = (0..3_000).map(|i| format!("  - {{title: t{i}, assignTo: zz}}\n")).collect();
    let report = load_text(&with_tasks(&tasks)).unwrap_err();
    assert!(report.render(DiagnosticStyle::default()).ends_with("... and 2980 more\n"));
}

/// Every file in `fixtures/bad` is refused, and what people see is as recorded in `fixtures/bad/expected`.
#[test]
fn bad_fixtures_read_as_recorded() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bad");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    assert!(files.len() >= 12);
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let report = load(&Source::new(name, fs::read(&path).unwrap()), &Layers::default()).unwrap_err();
        let text = report.render(DiagnosticStyle::default());
        insta::with_settings!({
            snapshot_path => "../../../../../fixtures/bad/expected",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, { insta::assert_snapshot!(path.file_stem().unwrap().to_str().unwrap(), text) });
    }
}
