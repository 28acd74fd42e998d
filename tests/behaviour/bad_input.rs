//! Input that is wrong: exit 2, a message that a stranger understands, and nothing started.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use crate::support::Workspace;

/// A mission whose one agent would leave a trace, with this in place of its tasks and what follows.
fn mission(rest: &str) -> String {
    format!(
        "name: bad\nagents:\n  worker: {{run: touch touched}}\n  judge: {{run: touch touched, role: reviewer}}\n{rest}\n"
    )
}

/// `run` and `validate` both refuse it in these words, and nothing is started.
fn refused(text: impl AsRef<[u8]>, words: &[&str]) {
    let workspace = Workspace::new();
    workspace.write("mission.yaml", text);
    workspace.refuses(words);
    assert!(!workspace.exists(".polpo"), "a state folder was made");
    workspace.quorum(&["validate", "mission.yaml"]).exits(2).says(words);
    let as_json = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(2).json();
    assert_eq!((&as_json["exitCode"], &as_json["outcome"]), (&2.into(), &"usage".into()));
    assert!(as_json["diagnostics"].as_array().is_some_and(|list| !list.is_empty()));
}

#[test]
fn what_is_no_mission_at_all_is_refused() {
    refused("", &["the file holds nothing"]);
    refused("# only a comment\n", &["the file holds nothing"]);
    refused("- one\n- two\n", &["map", "list"]);
    refused("just a text\n", &["map"]);
    refused("name: [unclosed\ntasks: \"x\n", &["mission.yaml:"]);
    refused("name:\tx\n\tagents: {}\n", &["mission.yaml:"]);
    refused(b"name: \xff\xfe\n", &["UTF-8"]);
    refused("name: one\n---\nname: two\n", &["document"]);
    refused("{\"name\": \"json\", ", &["mission.yaml:"]);
}

#[test]
fn an_unknown_key_is_named_with_the_one_that_was_meant() {
    refused(
        mission("tasks:\n  - {title: one, assignTo: worker, dependsOnn: []}"),
        &["dependsOnn", "did you mean", "dependsOn", "mission.yaml:6"],
    );
    refused(mission("taskz: []\ntasks: [{title: one, assignTo: worker}]"), &["taskz", "tasks"]);
    refused(
        mission("settings: {maxAttempt: 3}\ntasks: [{title: one, assignTo: worker}]"),
        &["maxAttempt", "maxAttempts"],
    );
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    refused(mission("tasks: [{title: one, assignTo: worker, title: two}]"), &["title", "twice"]);
}

#[test]
fn a_graph_that_cannot_be_is_refused() {
    refused(
        mission("tasks:\n  - {title: same, assignTo: worker}\n  - {title: same, assignTo: judge}"),
        &["same", "mission.yaml:7"],
    );
    refused(
        mission(
            "tasks:\n  - {title: a1, assignTo: worker, dependsOn: [b2]}\n  - {title: b2, assignTo: worker, dependsOn: [c3]}\n  - {title: c3, assignTo: worker, dependsOn: [a1]}",
        ),
        &["a1", "b2", "c3", "->"],
    );
    refused(mission("tasks: [{title: one, assignTo: worker, dependsOn: [nowhere]}]"), &["nowhere"]);
    refused(mission("tasks: [{title: one, assignTo: wroker}]"), &["wroker", "did you mean", "worker"]);
    refused(mission("tasks: [{title: one}]"), &["assignTo"]);
    refused(mission("tasks: []"), &["task"]);
    refused(mission(""), &["tasks"]);
}

#[test]
fn a_gate_that_closes_a_circle_or_names_nobody_is_refused() {
    let tasks = "tasks: [{title: one, assignTo: worker}, {title: two, assignTo: worker, dependsOn: [one]}]";
    refused(
        mission(&format!("{tasks}\nqualityGates: [{{name: door, afterTasks: [onee], blocksTasks: [two]}}]")),
        &["onee", "did you mean", "one"],
    );
    refused(
        mission(&format!("{tasks}\nqualityGates: [{{name: door, afterTasks: [two], blocksTasks: [one]}}]")),
        &["one", "two", "door"],
    );
}

#[test]
fn numbers_out_of_range_are_refused() {
    let expecting = |text: &str| {
        mission(&format!("tasks:\n  - title: one\n    assignTo: worker\n    expectations: [{text}]"))
    };
    refused(expecting("{type: llm_review, criteria: good, threshold: 7}"), &["7", "mission.yaml:8"]);
    refused(expecting("{type: llm_review, criteria: good, threshold: 101}"), &["101"]);
    refused(expecting("{type: llm_review, dimensions: [{name: a, weight: -1}]}"), &["-1", "weight"]);
    refused(expecting("{type: llm_review, dimensions: [{name: a, weight: 0}]}"), &["0", "weight"]);
    refused(expecting("{type: metric, name: m, command: 'echo 1'}"), &["min", "max"]);
    refused(mission("tasks: [{title: one, assignTo: worker, priority: 0}]"), &["priority"]);
    refused(
        mission("budget: {maxRequests: 0}\ntasks: [{title: one, assignTo: worker}]"),
        &["maxRequests", "a whole number from 1"],
    );
    refused(
        mission("settings: {budget: {maxRequests: 0}}\ntasks: [{title: one, assignTo: worker}]"),
        &["maxRequests", "a whole number from 1"],
    );
    refused(mission("tasks: [{title: one, assignTo: worker, maxDuration: 5 parsecs}]"), &["5 parsecs"]);
    refused(mission("settings: {concurrency: 0}\ntasks: [{title: one, assignTo: worker}]"), &["concurrency"]);
    refused(
        mission("tasks: [{title: one, assignTo: worker, targetFiles: [../../etc/passwd]}]"),
        &["../../etc/passwd", "workspace"],
    );
}

#[test]
fn two_reviews_of_one_task_are_refused() {
    refused(
        mission(
            "tasks:\n  - title: one\n    assignTo: worker\n    expectations: [{type: llm_review, criteria: a}, {type: llm_review, criteria: b}]",
        ),
        &["llm_review", "dimensions"],
    );
}

#[test]
fn all_errors_are_told_at_once() {
    refused(
        mission(
            "tasks:\n  - {title: one, assignTo: nobody, priority: -2}\n  - {title: one, assignTo: worker, dependsOn: [nothing]}",
        ),
        &["nobody", "-2", "nothing", "mission.yaml:6", "mission.yaml:7"],
    );
}

#[test]
#[cfg(not(feature = "temporal"))]
fn an_agent_on_other_machines_is_refused_by_a_build_that_reaches_none() {
    let queued = mission("tasks: [{title: one, assignTo: worker}]");
    let queued = queued.replace("run: touch touched}", "run: touch touched, queue: gpu}");
    refused(
        &queued,
        &[
            "mission.yaml:3",
            "'worker' has a `queue`",
            "hands no work to other machines",
            "--features temporal",
        ],
    );
    refused(queued.replace("gpu", "'g p u'"), &["mission.yaml:3", "letters, digits"]);
    let workspace = Workspace::with(&mission("tasks: [{title: one, assignTo: worker}]"));
    for words in [
        ["run", "mission.yaml", "--hosted"],
        ["worker", "--queue", "gpu"],
        ["worker", "--sessions", "--quiet"],
    ] {
        workspace.quorum(&words).exits(2).says(&["has no workers", "--features temporal"]);
    }
    workspace.assert_nothing_started();
}

#[test]
fn what_is_not_built_yet_is_refused_by_run_and_validate_alike() {
    let rest = "settings: {hooks: {task-done: 'true'}}\ntasks: [{title: one, assignTo: worker}]";
    let workspace = Workspace::with(&mission(rest));
    workspace.refuses(&["mission.yaml:"]);
    workspace.quorum(&["validate", "mission.yaml"]).exits(2).says(&["error[Q0210]"]);
}

#[test]
fn a_mission_for_another_version_is_refused() {
    refused(
        mission("requires: '>=99'\ntasks: [{title: one, assignTo: worker}]"),
        &["99", env!("CARGO_PKG_VERSION")],
    );
    refused(mission("requires: soon\ntasks: [{title: one, assignTo: worker}]"), &["soon"]);
}

#[test]
fn aliases_cannot_exhaust_the_machine() {
    let mut bomb = String::from("name: bomb\nx-a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (name, before) in ('b'..='k').zip('a'..) {
        let ten = vec![format!("*{before}"); 10].join(", ");
        bomb.push_str(&format!("x-{name}: &{name} [{ten}]\n"));
    }
    bomb.push_str("agents: {worker: {run: touch touched}}\ntasks: [{title: one, tags: *k}]\n");
    let begin = Instant::now();
    refused(bomb, &["alias"]);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn deep_nesting_cannot_exhaust_the_machine() {
    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        let deep = open.repeat(100_000) + "x" + &close.repeat(100_000);
        refused(mission(&format!("x-deep: {deep}\ntasks: [{{title: one, assignTo: worker}}]")), &["nest"]);
    }
}

/// Makes the n-th line of a file.
type Line = fn(u32) -> String;

/// 50 MB, not of one kind: what helps against one may be what another exploits.
#[test]
fn fifty_megabytes_of_garbage_are_refused_quickly_and_in_little_memory() {
    let workspace = Workspace::new();
    let files: [(&str, usize, Line); 3] = [
        ("random.yaml", 50_000_000, |n| format!("{:x}{n:x}\u{1}\n", n.wrapping_mul(2_654_435_761))),
        // It parses, and nearly every line is an error: the slowest there is, and slower still in a debug build.
        ("keys.yaml", 10_000_000, |n| format!("key{n}: [{}]\n", "x".repeat(80))),
        ("text.yaml", 50_000_000, |_| "lorem ipsum dolor sit amet ".repeat(10)),
    ];
    for (name, size, line) in files {
        let mut file = BufWriter::new(File::create(workspace.path(name)).unwrap());
        let mut written = 0;
        let mut n = 0;
        while written < size {
            let line = line(n);
            file.write_all(line.as_bytes()).unwrap();
            written += line.len();
            n += 1;
        }
        file.flush().unwrap();
        drop(file);
        let begin = Instant::now();
        // The limit is on address space: a process that needs more is refused it and dies with another code.
        let finished = workspace.bash(&format!("ulimit -v 1500000; exec \"$0\" run {name}"));
        assert_eq!(finished.code(), Some(2), "{name}: {}", finished.stderr);
        assert!(finished.stderr.len() < 20_000, "{name}: the message itself is garbage");
        assert!(begin.elapsed() < Duration::from_secs(200), "{name}: {:?}", begin.elapsed());
        fs::remove_file(workspace.path(name)).unwrap();
    }
    workspace.assert_nothing_started();
}

#[test]
fn a_file_that_is_none_is_refused() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("folder")).unwrap();
    workspace.quorum(&["run", "folder"]).exits(2).says(&["folder"]);
    workspace.quorum(&["run", "nowhere.yaml"]).exits(2).says(&["nowhere.yaml"]);
    workspace.quorum(&["validate", "nowhere.yaml"]).exits(2).says(&["nowhere.yaml"]);
    // Bare `quorum` looks for ./mission.yaml.
    workspace.quorum(&[]).exits(2).says(&["mission.yaml"]);
    workspace.assert_nothing_started();
}

#[test]
fn unknown_flags_and_values_are_refused() {
    let workspace = Workspace::with(&mission("tasks: [{title: one, assignTo: worker}]"));
    for (arguments, words) in [
        (&["run", "mission.yaml", "--no-evall"][..], &["--no-evall", "--no-eval"][..]),
        (&["run", "mission.yaml", "--allow", "bogus"], &["bogus", "--allow"]),
        (&["run", "mission.yaml", "--allow", "internal"], &["internal"]),
        (&["run", "mission.yaml", "-j", "0"], &["0"]),
        (&["run", "mission.yaml", "--max-attempts", "0"], &["0"]),
        (&["run", "mission.yaml", "--eval-threshold", "7"], &["7"]),
        (&["run", "mission.yaml", "--timeout", "soon"], &["soon"]),
        (&["run", "mission.yaml", "--json", "--format", "human"], &["--json"]),
        (&["run", "mission.yaml", "other.yaml"], &["other.yaml"]),
        (&["rum", "mission.yaml"], &["rum", "run"]),
        (&["status", "--watch-out"], &["--watch-out"]),
        (&["gate", "--nope"], &["--nope"]),
        (&["events", "--format", "xml"], &["xml"]),
    ] {
        workspace.quorum(arguments).exits(2).says(words);
        workspace.assert_nothing_started();
    }
    for (variable, value) in [
        ("EVAL_THRESHOLD", "7"),
        ("QUORUM_EVAL_THRESHOLD", "good"),
        ("QUORUM_ALLOW", "bogus"),
        ("QUORUM_JOBS", "many"),
    ] {
        workspace.quorum_with(&[(variable, value)], &["run", "mission.yaml"]).exits(2).says(&[value]);
        workspace.assert_nothing_started();
    }
}

#[test]
fn a_configuration_file_that_is_wrong_is_refused() {
    for (place, text, words) in [
        ("quorum.yaml", "tasks: []", &["quorum.yaml", "tasks"][..]),
        ("quorum.yaml", "settings: {concurency: 2}", &["quorum.yaml", "concurency"]),
        ("home/.config/quorum/quorum.yaml", "agents: {x: {rum: cat}}", &["quorum.yaml", "rum"]),
    ] {
        let workspace = Workspace::with(&mission("tasks: [{title: one, assignTo: worker}]"));
        workspace.write(place, text);
        workspace.refuses(words);
    }
}

#[test]
fn several_files_are_validated_and_the_wrong_one_is_named() {
    let workspace = Workspace::with(&mission("tasks: [{title: one, assignTo: worker}]"));
    workspace.write("other.yaml", mission("tasks: [{title: one, assignTo: nobody}]"));
    let validated = workspace.quorum(&["validate", "mission.yaml", "other.yaml"]).exits(2);
    assert!(validated.stdout.contains("mission.yaml: ok"), "{}", validated.stdout);
    validated.says(&["other.yaml:", "nobody"]);
    let document = workspace.quorum(&["validate", "mission.yaml", "other.yaml", "--json"]).exits(2).json();
    assert_eq!(document["schema"], "quorum.validate/v1");
    assert_eq!(document["files"][0]["valid"], true);
    assert_eq!(document["files"][1]["valid"], false);
    workspace.quorum(&["validate", "mission.yaml"]).exits(0);
    workspace.assert_nothing_started();
}

#[test]
fn titles_that_look_alike_or_hide_a_character_are_refused() {
    for (one, other) in [
        ("deploy", "d\u{435}ploy"),
        ("write docs", "write\u{a0}docs"),
        ("a-b", "a\u{2011}b"),
        ("A", "\u{391}"),
        ("file", "\u{fb01}le"),
        ("\u{2699} build", "\u{2699}\u{fe0f} build"),
    ] {
        refused(
            mission(&format!(
                "tasks:\n  - {{title: \"{one}\", assignTo: worker}}\n  - {{title: \"{other}\", assignTo: worker}}"
            )),
            &["looks like", "U+", "Q0402", "mission.yaml:"],
        );
    }
    // Two ways to write one title.
    refused(
        mission(
            "tasks:\n  - {title: \"caf\u{e9}\", assignTo: worker}\n  - {title: \"cafe\u{301}\", assignTo: worker}",
        ),
        &["two tasks are called"],
    );
    for hidden in ["de\u{200b}ploy", "\u{202e}yolped", "de\u{ad}ploy", "deploy\u{e0041}", "de\u{2066}ploy"] {
        refused(
            mission(&format!("tasks: [{{title: \"{hidden}\", assignTo: worker}}]")),
            &["nobody sees", "U+"],
        );
    }
}

#[test]
fn a_title_is_found_however_its_letters_are_put_together() {
    let works = |rest: &str| format!("name: good\nagents: {{worker: {{run: echo work}}}}\n{rest}\n");
    let workspace = Workspace::with(&works(
        "tasks:\n  - {title: \"caf\u{e9}\", assignTo: worker}\n  - {title: next, assignTo: worker, dependsOn: [\"cafe\u{301}\"]}",
    ));
    workspace.quorum(&["run", "--only", "cafe\u{301}"]).exits(0);
    workspace.quorum(&["show", "cafe\u{301}"]).exits(0);
    workspace.quorum(&["resume", "--redo", "cafe\u{301}"]).exits(0);
    // Case is kept, and plain ASCII is told apart by whoever types it.
    let names = ["Deploy", "deploy", "Part I", "Part l", "\u{2699}\u{fe0f} build"];
    let tasks: String = names.map(|title| format!("  - {{title: \"{title}\", assignTo: worker}}\n")).concat();
    let workspace = Workspace::with(&works(&format!("tasks:\n{tasks}")));
    workspace.quorum(&["validate", "mission.yaml"]).exits(0);
}
