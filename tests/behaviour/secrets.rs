//! What a mission hands to its agents by `${NAME}` is theirs alone: not the record's, not the reports', no other agent's.

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::model::{Model, results, says, scores, wants};
use crate::support::{Mission, Says, Workspace, standing, task};

const KEY: &str = "sk-of-a-command-0815";

/// Where below the workspace a text stands, but for files that an agent itself wrote there.
fn holding(workspace: &Workspace, text: &str) -> Vec<String> {
    let found = workspace.bash(&format!("grep -rl -e '{text}' . || true"));
    let found = found.stdout.lines().map(str::to_owned);
    found.filter(|path| path != "./config.ini").collect()
}

/// A worker that says its key wherever it can, a command judge that does, and a model that is shown the work.
fn leaky(model: &Model) -> Workspace {
    let workspace = Mission::new()
        .agent_with(
            "worker",
            json!({
                "run": ["/bin/sh", "work.sh"],
                "env": {"TOKEN": "Bearer ${THE_KEY}", "PLACE": "${HOME}", "SHORT": "${SHORT}"},
            }),
        )
        .agent_with(
            "critic",
            json!({
                "run": ["/bin/sh", "critic.sh"],
                "role": "reviewer",
                "env": {"TOKEN": "${THE_KEY}"},
            }),
        )
        .model("model", model, json!({"role": "reviewer"}))
        .setting("maxAttempts", 1)
        .task("work", |t| {
            t.files(["config.ini"]).expects(json!({"type": "script", "command": "cat config.ini"})).expects(
                json!({
                    "type": "llm_review",
                    "reviewers": ["critic", "model"],
                    "dimensions": [{"name": "depth", "weight": 1}],
                }),
            )
        })
        .task("fails", |t| t.unreviewed().set("maxRetries", 0))
        .task("asks", |t| t.unreviewed())
        .workspace();
    workspace.write(
        "work.sh",
        "
cd \"$(dirname \"$0\")\" 2>/dev/null
echo \"$TOKEN $SHORT in $PLACE, and once more: $TOKEN\"
echo \"it is $TOKEN\" > config.ini
echo \"complaining: $TOKEN\" >&2
case $QUORUM_TASK in
fails) exit 3 ;;
asks)
    mkdir -p \"$QUORUM_TASK_DIR\"
    echo \"progress with $TOKEN\" > \"$QUORUM_TASK_DIR/progress\"
    echo \"May I use $TOKEN?\" > \"$QUORUM_TASK_DIR/ask\"
    ;;
*) printf '{\"output\": \"done with %s\"}' \"$TOKEN\" > \"$QUORUM_RESULT_FILE\" ;;
esac
",
    );
    workspace.write(
        "critic.sh",
        "echo \"grumble $TOKEN\" >&2; printf '{\"scores\": {\"depth\": {\"reasoning\": \"I am %s\", \"score\": 4}}, \"findings\": []}' \"$TOKEN\"",
    );
    workspace
}

#[test]
fn what_agents_are_handed_stands_in_no_record_no_report_and_no_prompt() {
    let model = Model::new(|_| scores("depth", 4));
    let workspace = leaky(&model);
    let variables = [("THE_KEY", KEY), ("SHORT", "abc")];
    let run = [
        "run",
        "mission.yaml",
        "--json",
        "--record",
        "rec",
        "--report",
        "html=report.html",
        "--report",
        "junit=junit.xml",
        "--report",
        "markdown=report.md",
        "--report",
        "json=report.json",
    ];
    let done = workspace.quorum_with(&variables, &run).exits(3);
    let document = done.json();
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(standing(&document, "fails").0, "failed");
    assert_eq!(standing(&document, "asks").0, "awaiting_approval");
    assert_eq!(holding(&workspace, KEY), [""; 0]);
    for text in [&done.stdout, &done.stderr] {
        assert!(!text.contains(KEY), "{text}");
    }
    for command in [
        &["logs", "work"][..],
        &["show", "work", "--full"],
        &["events", "--format", "jsonl"],
        &["approvals"],
        &["status"],
    ] {
        let shown = workspace.quorum(command);
        assert!(!shown.stdout.contains(KEY), "{command:?}: {}", shown.stdout);
    }
    // What it did say is told, and what everybody has or is too short to be told from words stays.
    let failure = &task(&document, "fails")["failure"]["message"];
    let stars = "*".repeat(KEY.len());
    assert_eq!(failure, &format!("exited 3: complaining: Bearer {stars}"));
    let output = workspace.quorum(&["logs", "fails"]).stdout;
    let kept = output.strip_prefix(&format!("Bearer {stars} abc in /"));
    assert!(kept.is_some_and(|rest| rest.contains(&format!(": Bearer {stars}"))), "{output}");
    // Nor is another agent told.
    let asked: Vec<Value> = model.asked();
    assert!(!asked.is_empty());
    let asked = json!(asked).to_string();
    assert!(!asked.contains(KEY), "{asked}");
    assert!(asked.contains("[redacted]") && asked.contains(&stars), "{asked}");
    // It can be run again from the record all the same.
    workspace.bash("rm -rf .polpo config.ini").exits(0);
    let again = ["run", "mission.yaml", "--json", "--record", "rec", "--offline"];
    let document = workspace.quorum_with(&variables, &again).exits(3).json();
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(holding(&workspace, KEY), [""; 0]);
}

#[test]
fn a_recording_holds_no_key_of_a_command_that_a_model_repeats() {
    let model = Model::new(|_| says(format!("So it is {KEY}.")));
    let workspace = Mission::new()
        .agent_with(
            "writer",
            json!({"run": r#"echo "$KEY" > note; echo done"#, "env": {"KEY": "${THE_KEY}"}}),
        )
        .model("model", &model, json!({}))
        .task("write", |t| t.unreviewed())
        .task("read", |t| t.by("model").unreviewed().needs("write"))
        .workspace();
    let run = ["run", "mission.yaml", "--json", "--record", "rec"];
    workspace.quorum_with(&[("THE_KEY", KEY)], &run).exits(0);
    assert_eq!(workspace.bash(&format!("grep -rl {KEY} rec || true")).stdout, "");
    workspace.bash("cat rec/replies/*").stdout.says(&["So it is [redacted]."]);
}

#[test]
fn what_cannot_be_cleaned_is_not_taken() {
    // The result file is a second name of a file that is not ours to change.
    let workspace = Mission::new()
        .agent_with(
            "worker",
            json!({
                "run": r#"ln credentials "$QUORUM_RESULT_FILE"; echo done"#,
                "env": {"KEY": "${THE_KEY}"},
            }),
        )
        .task("work", |t| t.unreviewed())
        .workspace();
    let credentials = json!({"output": format!("my {KEY}")}).to_string();
    workspace.write("credentials", &credentials);
    let run = workspace.quorum_with(&[("THE_KEY", KEY)], &["run", "mission.yaml", "--json"]);
    let document = run.exits(0).json();
    assert_eq!(workspace.read("credentials"), credentials);
    assert_eq!(holding(&workspace, KEY), ["./credentials"]);
    document["warnings"].to_string().says(&["keys cannot be taken out of"]);
}

/// A worker that writes the value of its own variable into a file, and commands that print that file.
const LEAK: &str = "supersecretvalue123";

#[test]
fn an_approvers_words_are_redacted_everywhere() {
    let workspace = Mission::new()
        .agent_with(
            "worker",
            json!({
                "run": r#"printf %s "$API_TOKEN" > out.txt"#,
                "env": {"API_TOKEN": "${API_TOKEN}"},
            }),
        )
        .tasks(["a"])
        .task("b", |t| {
            t.needs("a").set("requiresApproval", json!({"approvers": [{"command": "cat out.txt; exit 1"}]}))
        })
        .workspace();
    let finished = workspace.quorum_with(&[("API_TOKEN", LEAK)], &["run", "mission.yaml"]);
    let finished = finished.exits(3);
    assert!(finished.stdout.contains("b: rejected"), "{}", finished.stdout);
    assert_no_leak(&workspace, &finished.stdout, &finished.stderr);
}

#[test]
fn what_a_channels_command_prints_is_redacted_everywhere() {
    let workspace = Mission::new()
        .agent_with(
            "worker",
            json!({
                "run": r#"printf %s "$API_TOKEN" > out.txt; exit 1"#,
                "env": {"API_TOKEN": "${API_TOKEN}"},
            }),
        )
        .key("channels", json!({"ops": {"type": "command", "run": "cat out.txt >&2; exit 1"}}))
        .setting("defaultChannels", ["ops"])
        .setting("maxRetries", 0)
        .tasks(["a"])
        .workspace();
    let finished = workspace.quorum_with(&[("API_TOKEN", LEAK)], &["run", "mission.yaml"]);
    let finished = finished.exits(3);
    assert_no_leak(&workspace, &finished.stdout, &finished.stderr);
}

#[test]
fn no_kind_of_command_leaves_a_secret_behind() {
    let model = Model::new(|body| match results(body).len() {
        0 => wants(&[("run", json!({"argv": ["cat", "out.txt"]}))]),
        _ => says("I have read it."),
    });
    let workspace = Mission::new()
        .agent_with(
            "worker",
            json!({
                "run": r#"printf %s "$API_TOKEN" | tee out.txt; cat out.txt >&2"#,
                "env": {"API_TOKEN": "${API_TOKEN}"},
            }),
        )
        .model("model", &model, json!({"tools": ["run"]}))
        .reviewer("judge", r#"cat out.txt >&2; echo "it is $(cat out.txt)"; echo SCORE: 90"#)
        .setting("finalChecks", "always")
        .setting("concurrency", 1)
        .task("made", |t| {
            t.set("acceptance", ["`cat out.txt` exits 0"])
                .set("verification", json!({"grader": "heuristic"}))
                .set("verify", json!({"commands": ["cat out.txt"]}))
                .expects(json!({"type": "script", "command": "cat out.txt"}))
                .set("stages", json!([{"name": "look", "command": "cat out.txt"}]))
        })
        .task("allowed", |t| {
            t.needs("made").set("requiresApproval", json!({"approvers": [{"command": "cat out.txt"}]}))
        })
        .task("read", |t| t.by("model").needs("allowed").unreviewed())
        .workspace();
    let finished = workspace.quorum_with(&[("API_TOKEN", LEAK)], &["run", "mission.yaml"]);
    let finished = finished.exits(0);
    assert_no_leak(&workspace, &finished.stdout, &finished.stderr);
    // Each of them has said it, so it was taken out of what each of them left.
    let stars = "\\*".repeat(LEAK.len());
    let kept = workspace.bash(&format!("cd .polpo/runs/*/{} && grep -l '{stars}' *", journal::WORK)).stdout;
    let kept: Vec<&str> = kept.lines().collect();
    let of_judge = |what| journal::seat_file(1, (0, 1, 1), what);
    for part in [
        "0.1.1.out",
        "0.1.1.err",
        "check",
        "finish",
        "verification",
        "stages",
        "approval",
        &of_judge("reply"),
        &of_judge("err"),
        ".run.",
        "audit",
    ] {
        let is_kept = kept.iter().any(|name| name.contains(part));
        assert!(is_kept, "{part} is none of {kept:?}");
    }
}

fn assert_no_leak(workspace: &Workspace, stdout: &str, stderr: &str) {
    assert!(!stdout.contains(LEAK) && !stderr.contains(LEAK), "{stdout}{stderr}");
    let state = workspace.bash(&format!("grep -rl {LEAK} .polpo; true")).stdout;
    assert_eq!(state, "", "the state folder holds the secret");
}
