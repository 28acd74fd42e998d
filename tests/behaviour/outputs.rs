//! How much an agent may print, and what it finds and may leave beside its output.

use serde_json::json;
use std::os::unix::fs::MetadataExt;

use crate::support::journal;
use crate::support::{Has, Mission, standing};

#[test]
fn what_is_more_than_max_output_is_cut_and_said_and_the_agent_goes_on() {
    let workspace = Mission::new()
        .agent("w", r#"head -c 30000000 /dev/zero | tr "\0" x; echo end >&2; echo done > out.txt"#)
        .setting("evaluate", false)
        .setting("maxOutput", "1 MiB")
        .task("t", |t| t.files(["out.txt"]))
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "t").0, "done");
    assert!(document["warnings"].to_string().contains("maxOutput"), "{document:#}");
    let outputs = std::fs::read_dir(workspace.run_folder().join(journal::WORK)).unwrap();
    let largest = outputs
        .map(|entry| entry.unwrap().metadata().unwrap())
        .map(|found| found.len().max(found.blocks() * 512))
        .max();
    assert!(largest.unwrap() <= 1 << 20, "{largest:?}");
}

#[test]
fn a_flood_does_not_fill_the_disk_while_it_lasts() {
    let workspace = Mission::new()
        .agent(
            "w",
            r#"trap "" TERM; for i in $(seq 400); do head -c 5000000 /dev/zero; done; echo done > out.txt"#,
        )
        .setting("evaluate", false)
        .setting("maxOutput", "1 MiB")
        .task("t", |t| t.files(["out.txt"]))
        .workspace();
    // 2 GB are printed in all.
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "t").0, "done");
}

#[test]
fn the_cut_reply_of_a_judge_is_not_read() {
    let workspace = Mission::new()
        .agent("w", "echo done")
        .reviewer("j", r#"head -c 3000 /dev/zero | tr "\0" x; echo; echo SCORE: 95"#)
        .setting("maxAttempts", 1)
        .setting("maxOutput", "1 KiB")
        .task("t", |t| t.set("review", "required"))
        .workspace();
    let document = workspace.quorum(&["run", "mission.yaml", "--json"]).json();
    assert_ne!(document["exitCode"], 0, "{document:#}");
    assert!(document["tasks"][0]["points"].is_null(), "{document:#}");
}

#[test]
fn a_turn_finds_its_folder_which_is_gone_where_it_stayed_empty() {
    let workspace = Mission::new()
        .agent("w", r#"test -d "$QUORUM_TASK_DIR" && echo "$QUORUM_TASK_DIR" > ../dir.txt"#)
        .key("workspace", "work")
        .setting("evaluate", false)
        .tasks(["t"])
        .workspace();
    workspace.run_json(0, &[]);
    let folder = workspace.read("dir.txt");
    assert!(!folder.trim().is_empty() && !std::path::Path::new(folder.trim()).exists(), "{folder}");
}

#[test]
fn a_command_judge_may_say_which_model_it_is_and_what_it_used() {
    let workspace = Mission::new()
        .agent("w", "echo done")
        .reviewer("j", r#"echo "{\"model\": \"judge-model-7\", \"usage\": {\"inputTokens\": 120, \"outputTokens\": 30}}" > "$QUORUM_RESULT_FILE"; echo SCORE: 95"#)
        .task("t", |t| t.set("review", "required"))
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(document["tasks"][0]["reviews"][0]["model"], "judge-model-7", "{document:#}");
    document["usage"].has(json!({"inputTokens": 120, "outputTokens": 30}));
}

#[test]
fn each_dependent_is_shown_the_beginning_and_the_end_of_a_long_output() {
    // One that is read at once, and one that is read beside the loop.
    for bytes in [100_000, 3_000_000] {
        let workspace = Mission::new()
            .agent("long", format!("echo begins; head -c {bytes} /dev/zero | tr \"\\0\" x; echo; echo ends"))
            .agent("next", "cat > prompt.$$")
            .setting("evaluate", false)
            .tasks(["a"])
            .task("b", |t| t.by("next").needs("a"))
            .task("c", |t| t.by("next").needs("a"))
            .workspace();
        workspace.run_json(0, &[]);
        let prompts = workspace.bash("cat prompt.*").stdout;
        assert_eq!(prompts.matches("begins\n").count(), 2, "{bytes}");
        assert_eq!(prompts.matches("\nends").count(), 2, "{bytes}");
        assert!(prompts.len() < 30_000, "{bytes}: {}", prompts.len());
    }
}

#[test]
fn what_was_changed_since_is_not_shown_to_a_dependent() {
    for bytes in [100, 3_000_000] {
        let workspace = Mission::new()
            .agent("long", format!("head -c {bytes} /dev/zero | tr \"\\0\" x"))
            .agent("swap", r#"for out in "$QUORUM_TASK_DIR"/../*.out; do sed -i s/x/y/ "$out"; done; true"#)
            .agent("next", "cat > prompt")
            .setting("evaluate", false)
            .tasks(["a"])
            .task("b", |t| t.by("swap").needs("a"))
            .task("c", |t| t.by("next").needs("a").needs("b"))
            .workspace();
        let document = workspace.run_json(0, &[]);
        let prompt = workspace.read("prompt");
        assert!(!prompt.contains("yx"), "{bytes}");
        // What was read before it was changed is remembered as the record has it.
        let is_refused = document["warnings"].to_string().contains("'c' is not shown what 'a' said");
        assert_ne!(is_refused, prompt.contains("xxx"), "{bytes}: {document:#}");
        assert_eq!(is_refused, bytes == 100, "{bytes}: {document:#}");
    }
}
