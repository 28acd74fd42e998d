//! The contract of a command agent: environment, input, placeholders, result file, exit, output, folders.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::support::{Has, Mission, Says, Workspace, standing, task};

/// The names of the variables in the output of `env`, without those that a shell sets by itself and the mark by which
/// the supervisor recognises what an agent started.
fn names(env: &str) -> Vec<&str> {
    let lines = env.lines().filter_map(|line| line.split_once('=').map(|(name, _)| name));
    lines.filter(|name| !["PWD", "OLDPWD", "SHLVL", "_", "QUORUM_TURN_KEY"].contains(name)).collect()
}

#[test]
fn every_child_gets_a_clean_environment() {
    let workspace = Mission::new()
        .agent_with(
            "worker",
            json!({
                "run": "env | sort > worker.env",
                "env": {"OWN": "mine", "COPIED": "x${SECRET}y"},
            }),
        )
        .judge("judge", &["SCORE: 90"])
        .task("a task", |t| {
            t.set("review", "required")
                .expects(json!({"type": "script", "command": "env | sort > check.env"}))
        })
        .workspace();
    let secrets = [
        ("SECRET", "hunter2"),
        ("OPENAI_API_KEY", "sk-secret"),
        ("QUORUM_OPERATOR_KEY", "operator"),
        ("LD_PRELOAD_NOT", "x"),
        ("TERM", "dumb"),
        ("TMPDIR", "/tmp"),
    ];
    let finished = workspace.quorum_with(&secrets, &["run", "mission.yaml", "--run-id", "r1"]).exits(0);
    assert!(!finished.stdout.contains("hunter2") && !finished.stderr.contains("hunter2"));

    let worker = workspace.read("worker.env");
    let expected = [
        "COPIED",
        "HOME",
        "LANG",
        "OWN",
        "PATH",
        "QUORUM_ATTEMPT",
        "QUORUM_PROMPT_FILE",
        "QUORUM_RESULT_FILE",
        "QUORUM_RUN_ID",
        "QUORUM_TASK",
        "QUORUM_TASK_DIR",
        "QUORUM_TURN",
        "TERM",
        "TMPDIR",
    ];
    assert_eq!(names(&worker), expected);
    for line in [
        "COPIED=xhunter2y",
        "OWN=mine",
        "QUORUM_TASK=a task",
        "QUORUM_RUN_ID=r1",
        "QUORUM_ATTEMPT=1",
        "QUORUM_TURN=1",
    ] {
        assert!(worker.lines().any(|there| there == line), "{line} is not in:\n{worker}");
    }
    // What was named for the worker is the worker's alone.
    for env in [workspace.read("check.env"), workspace.read("judge/call.1/env")] {
        env.omits(&["hunter2", "sk-secret", "operator", "OWN="]);
        assert!(env.contains("QUORUM_TASK=a task") && env.contains("PATH="), "{env}");
    }
    assert!(workspace.read("judge/call.1/env").contains("QUORUM_REVIEW_FILE="));
}

#[test]
fn a_variable_that_is_not_set_is_found_before_anything_starts() {
    let workspace = Mission::new()
        .agent("first", "touch touched")
        .agent_with("worker", json!({"run": "true", "env": {"KEY": "${NOT_SET_ANYWHERE}"}}))
        .tasks(["one"])
        .task("two", |t| t.by("worker"))
        .workspace();
    let finished = workspace.quorum(&["run", "mission.yaml"]).says(&["NOT_SET_ANYWHERE"]);
    assert!(matches!(finished.code(), Some(2 | 9)), "{:?}", finished.code());
    workspace.assert_nothing_started();
}

#[test]
fn the_prompt_comes_the_way_the_agent_wants_it() {
    let workspace = Mission::new()
        .agent("stdin", r#"cat > stdin.txt; cat "$QUORUM_PROMPT_FILE" > stdin-file.txt"#)
        .agent_with("file", json!({
            "run": r#"cat > file-stdin.txt; cat "$QUORUM_PROMPT_FILE" > file.txt; cat {promptFile} > placeholder.txt"#,
            "input": "file",
        }))
        .agent_with("none", json!({
            "run": r#"cat > none-stdin.txt; echo "[${QUORUM_PROMPT_FILE-unset}]" > none.txt"#,
            "input": "none",
        }))
        .task("s", |t| t.set("description", "words for s"))
        .task("f", |t| t.by("file").set("description", "words for f"))
        .task("n", |t| t.by("none").set("description", "words for n"))
        .workspace();
    workspace.run_json(0, &[]);
    assert!(workspace.read("stdin.txt").contains("words for s"));
    assert_eq!(workspace.read("stdin.txt"), workspace.read("stdin-file.txt"));
    assert!(workspace.read("file.txt").contains("words for f"));
    assert_eq!(workspace.read("file.txt"), workspace.read("placeholder.txt"));
    assert_eq!(workspace.read("file-stdin.txt"), "");
    assert_eq!(workspace.read("none-stdin.txt"), "");
    assert_eq!(workspace.read("none.txt"), "[unset]\n");
}

#[test]
fn an_agent_that_does_not_read_its_prompt_is_no_problem() {
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": ["/bin/echo", "done"]}))
        .task("one", |t| t.set("description", "long ".repeat(60_000)))
        .workspace();
    workspace.run_json(0, &[]);
}

#[test]
fn a_hostile_title_is_only_text() {
    let title = r#"$(touch touched) `touch touched`; touch touched & "x" 'y' {attempt} \"#;
    let workspace = Mission::new()
        .agent("shell", r#"printf '%s|' {task} "{task}" '{task}' {attempt} {workspace} > shell.txt"#)
        .agent_with("list", json!({
            "run": ["/bin/sh", "-c", r#"printf "%s|" "$@" > list.txt"#, "sh", "{task}", "a{attempt}{nothing}"]
        }))
        .tasks([title])
        .task(&format!("2 {title}"), |t| t.by("list"))
        .workspace();
    workspace.run_json(0, &[]);
    assert!(!workspace.exists("touched"));
    let shell = workspace.read("shell.txt");
    let folder = shell.strip_prefix(&format!("{title}|{title}|{title}|1|"));
    let folder = folder.and_then(|rest| rest.strip_suffix('|')).expect(&shell);
    assert_eq!(Path::new(folder).canonicalize().unwrap(), workspace.root().canonicalize().unwrap());
    assert_eq!(workspace.read("list.txt"), format!("2 {title}|a1{{nothing}}|"));
}

/// A worker that leaves this as its result file, and a reader that keeps what it is told of it.
fn with_result(script: &str) -> Workspace {
    Mission::new()
        .key("name", "result")
        .worker(format!("echo from stdout\n{script}\n"))
        .keeps_prompts("reader", "read")
        .tasks(["work"])
        .task("next", |t| t.by("reader").needs("work"))
        .workspace()
}

#[test]
fn output_and_usage_of_the_result_file_are_used() {
    let workspace = with_result(
        r#"echo '{"output": "from the file", "files": ["a"], "usage": {"inputTokens": 120, "outputTokens": 30, "cost": 1}, "more": 1}' > "$QUORUM_RESULT_FILE""#,
    );
    let document = workspace.run_json(0, &[]);
    workspace.read("read/prompt.1.1").says(&["from the file"]).omits(&["from stdout"]);
    task(&document, "work")["usage"].has(json!({"inputTokens": 120, "outputTokens": 30}));
    assert_eq!(document["warnings"], json!([]));
}

#[test]
fn a_result_file_that_is_not_one_is_ignored_with_a_warning() {
    for (what, script) in [
        (
            "a link",
            r#"echo '{"output": "FORGED"}' > elsewhere; ln -s "$PWD/elsewhere" "$QUORUM_RESULT_FILE""#,
        ),
        ("a FIFO", r#"mkfifo "$QUORUM_RESULT_FILE""#),
        ("a folder", r#"mkdir "$QUORUM_RESULT_FILE""#),
        ("a device", r#"ln -s /dev/zero "$QUORUM_RESULT_FILE""#),
        (
            "too large",
            r#"(printf '{"output": "FORGED'; head -c 1100000 /dev/zero | tr '\0' x; printf '"}') > "$QUORUM_RESULT_FILE""#,
        ),
        ("not JSON", r#"echo '{"output": "FORGED"' > "$QUORUM_RESULT_FILE""#),
        ("of another form", r#"echo '["FORGED"]' > "$QUORUM_RESULT_FILE""#),
    ] {
        let workspace = with_result(script);
        let document = workspace.run_json(0, &["--timeout", "4m"]);
        assert_eq!(standing(&document, "work").0, "done", "{what}");
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains("result file"), "{what}: {warnings}");
        let told = workspace.read("read/prompt.1.1");
        assert!(told.contains("from stdout") && !told.contains("FORGED"), "{what}: {told}");
    }
}

#[test]
fn a_negative_usage_is_unknown_and_not_free() {
    let workspace =
        with_result(r#"echo '{"usage": {"inputTokens": -5, "outputTokens": 7}}' > "$QUORUM_RESULT_FILE""#);
    let document = workspace.run_json(0, &[]);
    task(&document, "work")["usage"].has(json!({"inputTokens": null, "outputTokens": 7}));
}

#[test]
fn every_end_but_exit_0_is_a_failure() {
    for (end, said) in [
        ("exit 1", "exited 1"),
        ("exit 130", "exited 130"),
        ("kill -9 $$", "signal 9"),
        ("kill -TERM $$", "signal 15"),
        ("echo the-reason >&2; exit 3", "the-reason"),
    ] {
        let workspace = Mission::new().worker(end).task("work", |t| t.attempts(1)).workspace();
        let document = workspace.run_json(3, &[]);
        let failure = &task(&document, "work")["failure"];
        assert_eq!(failure["mode"], "error", "{end}");
        assert!(failure["message"].to_string().contains(said), "{end}: {failure}");
    }
}

#[test]
fn ten_megabytes_of_output_do_not_fill_memory_and_are_cut_for_the_judge() {
    let workspace = Mission::new()
        .worker("echo the-beginning; yes 0123456789012345678901234567890123456789012345678 | head -c 10000000; echo the-end")
        .judge("judge", &["SCORE: 90"])
        .keeps_prompts("reader", "read")
        .tasks(["work"])
        .task("next", |t| t.by("reader").needs("work").unreviewed())
        .workspace();
    workspace.bash("ulimit -v 400000; exec \"$0\" run mission.yaml").exits(0);
    let asked = workspace.asked("judge", 1);
    assert!(asked.len() < 40_000, "{}", asked.len());
    assert!(asked.contains("the-beginning") && asked.contains("cut"));
    let told = workspace.read("read/prompt.1.1");
    assert!(told.len() < 10_000 && told.contains("cut"), "{}", told.len());
}

#[test]
fn the_judge_of_a_long_output_sees_its_end_and_how_much_was_cut() {
    let workspace = Mission::new()
        .worker("yes 0123456789012345678901234567890123456789012345678 | head -c 1000000; echo the-end")
        .judge("judge", &["SCORE: 90"])
        .tasks(["work"])
        .workspace();
    workspace.run_json(0, &[]);
    workspace.asked("judge", 1).says(&["the-end", "984008 characters"]);
}

#[test]
fn output_that_is_not_text_does_no_harm() {
    let workspace = Mission::new()
        .worker(r"head -c 5000 /dev/urandom; printf '\000\033[31mred\377'")
        .judge("judge", &["SCORE: 90"])
        .tasks(["work"])
        .workspace();
    workspace.run_json(0, &[]);
    assert!(!workspace.asked("judge", 1).contains('\u{1b}'));
}

#[test]
fn programs_stand_beside_the_mission_and_work_in_the_workspace() {
    let workspace = Workspace::new();
    workspace.write(
        "sub/mission.yaml",
        Mission::new()
            .key("workspace", "made/here")
            .agent_with("worker", json!({"run": ["./tools/worker.sh"]}))
            .task("one", |t| t.files(["out.txt"]))
            .task("two", |t| t.set("workspace", "other").files(["out.txt"]))
            .yaml(),
    );
    workspace.write("sub/tools/worker.sh", "#!/bin/sh\npwd > out.txt\n");
    let program = workspace.path("sub/tools/worker.sh");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let document = workspace.quorum(&["run", "sub/mission.yaml", "--json"]).exits(0).json();
    assert_eq!(document["counts"]["done"], 2);
    assert!(workspace.read("sub/made/here/out.txt").ends_with("/sub/made/here\n"));
    assert!(workspace.read("sub/made/here/other/out.txt").ends_with("/here/other\n"));
    // The state is where the command was typed.
    assert!(workspace.exists(".polpo") && !workspace.exists("sub/.polpo"));
}

#[test]
fn secrets_of_the_environment_are_not_kept_in_the_state() {
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": "true", "env": {"KEY": "${SECRET}"}}))
        .tasks(["one"])
        .workspace();
    workspace.quorum_with(&[("SECRET", "hunter2-in-the-state")], &["run", "mission.yaml"]).exits(0);
    let found = std::process::Command::new("grep")
        .args(["-r", "hunter2-in-the-state", "."])
        .current_dir(workspace.root())
        .status()
        .unwrap();
    assert_eq!(found.code(), Some(1));
}

#[test]
fn a_result_file_that_is_too_large_is_not_kept() {
    for script in ["truncate -s 2G", "head -c 3000000 /dev/zero >"] {
        let mission = Mission::new().worker(format!("{script} \"$QUORUM_RESULT_FILE\"; echo x > x"));
        let workspace = mission.task("a", |task| task.files(["x"]).unreviewed()).workspace();
        workspace
            .quorum(&["run", "mission.yaml"])
            .exits(0)
            .says(&["the result file cannot be read", "ignored"]);
        let large = workspace.bash("find .polpo -type f -size +1M").exits(0).stdout;
        assert_eq!(large, "", "{script}");
    }
}
