//! What becomes of a task whose dependency failed for good.

use serde_json::{Value, json};

use crate::support::{Mission, Says, Workspace, attempts, standing, task};

/// `first` fails as its script says; `second` needs it and, where there is one, `other`.
fn failing<const N: usize>(first: &str, settings: &str, needs: [&str; N]) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("first.sh", format!("cat > /dev/null\necho x >> tries\n{first}\n"));
    workspace.with_mission(
        Mission::new()
            .agent_with("breaker", json!({"run": ["/bin/sh", "first.sh"]}))
            .worker("cat > prompt.txt; echo work")
            .agent_with("quiet", json!({"run": "true", "input": "none"}))
            .agent_with("lead", json!({"run": ["/bin/sh", "lead.sh"]}))
            .setting("maxRetries", 0)
            .settings(settings)
            .task("first", |t| t.unreviewed().files(["a", "b"]))
            .task("other", |t| t.by("quiet").unreviewed())
            .task("second", |t| t.by("worker").unreviewed().set("dependsOn", needs))
            .task("third", |t| t.by("quiet").unreviewed().needs("second")),
    )
}

#[test]
fn without_an_orchestrator_it_is_skipped_and_so_is_what_hangs_on_it() {
    let workspace = failing("exit 1", "", ["first"]);
    let document = workspace.run_json(3, &[]);
    for title in ["second", "third"] {
        assert_eq!(task(&document, title)["failure"]["mode"], "cascade");
    }
    assert_eq!(workspace.events().named("deadlock:detected")[0]["title"], "second");
    assert_eq!(workspace.events().count("deadlock:unresolvable"), 2);
    assert_eq!(workspace.events().named("deadlock:resolving"), Vec::<Value>::new());
}

#[test]
fn half_of_the_files_are_enough_and_the_work_is_degraded() {
    let order = "onDependencyFailed: [artifacts, skip]";
    let workspace = failing("echo x > a; exit 1", order, ["first"]);
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "second"), ("done", "degraded"));
    assert_eq!(document["counts"]["degraded"], 1);
    let conditions = document["conditions"].as_array().unwrap();
    assert!(conditions.contains(&"below_threshold".into()), "{conditions:?}");
    let text = workspace.read("prompt.txt");
    text.says(&["The task 'first' failed. Of its files these are there, perhaps unfinished: a."]);
    assert_eq!(workspace.events().named("deadlock:resolved")[0]["action"], "artifacts");

    // None, or only empty ones, are not.
    let workspace = failing(": > a; : > b; exit 1", order, ["first"]);
    let document = workspace.run_json(3, &[]);
    assert_eq!(task(&document, "second")["failure"]["mode"], "cascade");
}

#[test]
fn enough_of_the_others_is_measured_by_how_the_one_failed() {
    let order = "onDependencyFailed: [partial, skip]";
    // An error: one of two done is enough, none of one is not.
    let workspace = failing("exit 1", order, ["first", "other"]);
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "second"), ("done", "degraded"));
    assert!(workspace.read("prompt.txt").contains("its result is missing"));
    let document = failing("exit 1", order, ["first"]).run_json(3, &[]);
    assert_eq!(task(&document, "second")["failure"]["mode"], "cascade");
    // Hollow work needs more than half.
    let document =
        failing("exit 0", &format!("{order}, maxFixAttempts: 0"), ["first", "other"]).run_json(3, &[]);
    assert_eq!(task(&document, "first")["failure"]["mode"], "hollow");
    assert_eq!(task(&document, "second")["failure"]["mode"], "cascade");
    // A time-out needs nothing at all. Only its own time is short: the others may take what a busy machine needs.
    let workspace =
        failing("exec sleep 100", order, ["first"]).tap(|m| m.change("first", |t| t.set("maxDuration", 300)));
    let document = workspace.run_json(3, &[]);
    assert_eq!(task(&document, "first")["failure"]["mode"], "timeout");
    assert_eq!(standing(&document, "second"), ("done", "degraded"));
}

#[test]
fn the_orchestrator_can_have_it_done_without() {
    let workspace = failing("echo broken; exit 1", "orchestrator: lead", ["first"]);
    workspace.write(
        "lead.sh",
        "cat > asked.txt; echo '{\"action\": \"absorb\", \"prompt\": \"use the old list\"}'\n",
    );
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "second").0, "done");
    assert_eq!(standing(&document, "third").0, "done");
    assert!(workspace.read("prompt.txt").contains("use the old list"));
    workspace.read("asked.txt").says(&["broken", "It failed: error"]);
    let names: Vec<_> = workspace.events().iter().map(|event| event["event"].clone()).collect();
    let at = |name: &str| names.iter().position(|known| known == name).expect(name);
    assert!(at("deadlock:detected") < at("deadlock:resolving"));
    assert!(at("deadlock:resolving") < at("deadlock:resolved"));
}

#[test]
fn the_orchestrator_is_asked_before_the_tasks_workspace_is_there() {
    let workspace = failing("exit 1", "orchestrator: lead", ["first"]).tap(|m| {
        m.change("second", |t| t.with("workspace: deep/down, requiresApproval: {approvers: [lead]}"))
    });
    workspace.write(
        "lead.sh",
        "cat > /dev/null; case $QUORUM_PURPOSE in approve) echo '{\"decision\": \"approve\"}' ;; *) echo '{\"action\": \"absorb\", \"prompt\": \"go on\"}' ;; esac\n",
    );
    // Where it is asked is where it works: the script is named from there.
    let lead = workspace.path("lead.sh").display().to_string();
    let workspace = workspace.tap(|m| m.agent_with("lead", json!({"run": ["/bin/sh", lead]})));
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "second").0, "done", "{document:#}");
}

#[test]
fn the_orchestrator_can_have_it_tried_again_but_not_for_ever() {
    let retry = "cat > /dev/null; echo x >> asked; echo '{\"action\": \"retry\"}'\n";
    let first = "[ $(wc -l < tries) -gt 1 ] && echo x > a && exit 0; exit 1";
    let workspace = failing(first, "orchestrator: lead", ["first"]);
    workspace.write("lead.sh", retry);
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "first"), ["execute", "execute"]);
    assert_eq!(standing(&document, "second").0, "done");

    let workspace = failing("exit 1", "orchestrator: lead", ["first"]);
    workspace.write("lead.sh", retry);
    let document = workspace.run_json(3, &[]);
    // Twice about the second task, and once about the third: what failed with another is not tried again for itself.
    assert_eq!(workspace.lines("asked").len(), 3);
    assert_eq!(workspace.lines("tries").len(), 3);
    assert_eq!(task(&document, "second")["failure"]["mode"], "cascade");
}

#[test]
fn what_the_orchestrator_says_in_another_form_resolves_nothing() {
    for reply in ["echo retry", "exit 1", "echo '{\"action\": \"absorb\"}'", ":"] {
        let workspace = failing("exit 1", "orchestrator: lead", ["first"]);
        workspace.write("lead.sh", format!("cat > /dev/null; echo x >> asked; {reply}\n"));
        let document = workspace.run_json(3, &[]);
        assert_eq!(task(&document, "second")["failure"]["mode"], "cascade", "{reply}");
        // Once about each of the two that hang on it.
        assert_eq!(workspace.lines("asked").len(), 2, "{reply}");
    }
}

#[test]
fn why_the_orchestrator_knows_no_way_is_told_everywhere() {
    for (order, reply, why) in [
        ("", "{\"action\": \"unresolvable\", \"reason\": \"nobody else can\"}", "nobody else can"),
        // It is skipped later, when it is known that too few others are done.
        (
            ", onDependencyFailed: [resolve, partial, skip]",
            "{\"action\": \"unresolvable\", \"reason\": \"nobody else can\"}",
            "nobody else can",
        ),
        ("", "absorb it", "an answer in the form that was asked for"),
    ] {
        let workspace = failing("exit 1", &format!("orchestrator: lead{order}"), ["first"]);
        workspace.write("reply", reply);
        workspace.write("lead.sh", "cat > /dev/null; cat reply\n");
        let run = workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(3);
        let reason = task(&workspace.status(), "second")["failure"].to_string();
        reason.says(&["dependency 'first' failed; the orchestrator: "]);
        let unresolvable = workspace.events().first_named("deadlock:unresolvable").to_string();
        let show = workspace.quorum(&["show", "second"]).exits(0).stdout;
        for text in [&reason, &unresolvable, &show, &run.stdout] {
            assert!(text.contains(why) || why.starts_with("an answer"), "{why}: {text}");
            text.says(&["the orchestrator"]);
        }
    }
}

#[test]
fn what_a_person_called_off_is_not_begun_anew_by_an_agent() {
    let workspace = failing("exec sleep 100", "orchestrator: lead", ["first"]);
    workspace.write("lead.sh", "cat > /dev/null; echo '{\"action\": \"retry\"}'\n");
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    crate::support::wait_for("the first try", || workspace.exists("tries"));
    workspace.quorum(&["cancel", "first", "--yes"]).exits(0);
    let document = running.finish().exits(3).json();
    assert_eq!(task(&document, "first")["failure"]["mode"], "cancelled");
    assert_eq!(task(&document, "second")["failure"]["mode"], "cascade");
    assert_eq!(workspace.lines("tries").len(), 1);
}

#[test]
fn a_task_that_goes_on_without_a_dependency_says_so_in_its_findings() {
    let workspace = failing("exit 1", "orchestrator: lead", ["first"]);
    workspace.write(
        "lead.sh",
        "cat > /dev/null; echo '{\"action\": \"absorb\", \"prompt\": \"Do it without.\"}'\n",
    );
    let document = workspace.run_json(3, &[]);
    let second = task(&document, "second");
    assert_eq!(second["status"], "done");
    let findings = second["findings"].as_array().unwrap();
    let said: Vec<_> = findings.iter().map(|row| (&row["severity"], &row["description"])).collect();
    assert_eq!(said, [(&Value::from("info"), &Value::from("went on without 'first' (absorb)"))]);
}
