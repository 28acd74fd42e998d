//! Limits of subscriptions that reset: no attempt is spent, no slot is held, and the run waits, or ends resumable.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::events::{is, on_record};
use crate::support::journal;
use crate::support::{Mission, Workspace, attempts, standing, task, wait_for};

/// A shell that says this once and works from then on.
fn once(said: &str) -> String {
    let said = said.replace('\'', "'\\''");
    format!(
        "echo x >> turns; if [ $(wc -l < turns) = 1 ]; then echo '{said}'; exit 1; fi; echo done > out.txt"
    )
}

fn mission(worker: &str, settings: &str, task: &str) -> String {
    format!(
        "name: m\nagents: {{w: {{run: {}}}}}\nsettings: {{evaluate: false, {settings}}}\ntasks: [{{title: t, targetFiles: [out.txt]{task}}}]\n",
        json!(["/bin/sh", "-c", worker])
    )
}

fn limit(text: &str) -> String {
    json!({"type": "result", "is_error": true, "subtype": "success", "api_error_status": 429, "result": text})
        .to_string()
}

fn windows(document: &Value) -> Vec<&Value> {
    let rows = document["approvals"].as_array().unwrap().iter();
    rows.filter(|row| row["reason"] == "window").collect()
}

#[test]
fn a_worker_that_meets_a_limit_goes_on_in_a_new_turn_of_the_same_attempt() {
    let worker = once(&limit("You've hit your 5-hour limit · resets in 20 minutes"));
    let workspace = Workspace::with(&mission(&worker, "maxRetries: 0", "")).at_scale("0.0005");
    let document = workspace.run_json(0, &["--run-id", "r"]);
    assert_eq!(standing(&document, "t").0, "done");
    assert_eq!(attempts(&document, "t"), ["execute"]);
    assert_eq!(workspace.lines("turns").len(), 2);
    let events = workspace.events();
    let of = |name: &str| events.iter().filter(|event| is(event, name)).collect::<Vec<_>>();
    let (window, turns) = (of("task:window"), of("work:started turn"));
    assert_eq!((window.len(), turns.len()), (1, 2), "{events:#?}");
    assert!(document["resumableAt"].is_null());
}

#[test]
fn what_the_session_may_not_wait_for_ends_it_resumable_with_the_time() {
    for (settings, task_keys, flags) in [
        ("maxWindowWait: 1h", "", &[][..]),
        ("", "", &["--timeout", "1h"][..]),
        ("", ", deadline: 1h", &[][..]),
    ] {
        let worker = once(&limit("You've hit your session limit · resets in 2 hours"));
        let workspace = Workspace::with(&mission(&worker, settings, task_keys));
        let arguments = [&["run", "mission.yaml"], flags].concat();
        workspace.quorum(&arguments).exits(7).shows(&["resumable at "]);
        let document = workspace.status();
        assert_eq!(document["outcome"], "limit", "{settings} {task_keys} {flags:?}");
        assert_eq!(document["resumable"], true);
        assert!(document["resumableAt"].is_string(), "{document:#}");
        let rows = windows(&document);
        assert_eq!(rows.len(), 1);
        assert_eq!((&rows[0]["id"], &rows[0]["task"]), (&Value::Null, &json!("t")));
        assert_eq!(standing(&document, "t").0, "pending");
        let waiting = &task(&document, "t")["waiting"];
        assert_eq!((&waiting["reason"], &waiting["id"]), (&json!("window"), &Value::Null));
        let listed = workspace.quorum(&["approvals", "--json"]).exits(0).json();
        assert_eq!(listed["approvals"][0]["reason"], "window");
        // Nobody is asked, and no attempt is spent, when a later session finds it so as well.
        if flags.is_empty() {
            workspace.quorum(&["resume"]).exits(7);
        }
        assert_eq!(attempts(&workspace.status(), "t"), ["execute"]);
    }
}

#[test]
fn a_task_that_waits_holds_no_slot() {
    let worker = once(&limit("You're out of extra usage · resets in 3 hours"));
    let document = Mission::new()
        .agent_with("w", json!({"run": ["/bin/sh", "-c", worker]}))
        .agent_with("v", json!({"run": ["/bin/sh", "-c", "echo fine"]}))
        .setting("evaluate", false)
        .setting("concurrency", 1)
        .setting("maxWindowWait", "1h")
        .task("t", |t| t.set("priority", 5))
        .task("other", |t| t.by("v"))
        .workspace()
        .run_json(7, &[]);
    assert_eq!(standing(&document, "other").0, "done");
    assert_eq!(standing(&document, "t").0, "pending");
}

#[test]
fn a_window_outlives_a_kill() {
    let worker = once(&limit("Claude usage limit reached. Your limit will reset in 90 minutes"));
    let workspace = Workspace::with(&mission(&worker, "maxRetries: 0", ""));
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r"]);
    wait_for("the window", || {
        workspace.exists(&journal::of("r"))
            && journal::has(&workspace.read(&journal::of("r")), journal::code::DEFERRED)
    });
    running.kill();
    let before = workspace.status()["resumableAt"].clone();
    assert!(before.is_string());
    let document = workspace.at_scale("0.0001").resume_json(0, &[]);
    assert_eq!(attempts(&document, "t"), ["execute"]);
}

#[test]
fn a_window_counts_from_the_end_of_its_turn_whichever_session_reads_it() {
    let said = limit("You've hit your session limit · resets in 2 hours").replace('\'', "'\\''");
    let worker =
        format!("touch seen; until test -e go; do sleep 0.02; done; echo '{said}'; date +%s > ended; exit 1");
    let workspace = Workspace::with(&mission(&worker, "maxWindowWait: 1h", ""));
    let running = workspace.start(&["run", "mission.yaml"]);
    wait_for("the turn", || workspace.exists("seen"));
    running.kill();
    workspace.write("go", "");
    let ended = || workspace.read("ended").trim().parse::<i64>().unwrap_or(i64::MAX);
    wait_for("some seconds after the turn", || {
        workspace.exists("ended") && chrono::Utc::now().timestamp() >= ended().saturating_add(3)
    });
    workspace.quorum(&["resume"]).exits(7);
    let until = workspace.status()["resumableAt"].as_str().unwrap().to_owned();
    let until = chrono::DateTime::parse_from_rfc3339(&until).unwrap().timestamp();
    let late = until - ended() - 2 * 60 * 60;
    assert!((-1..=2).contains(&late), "{late} s late");
}

/// Work whose judge meets a limit the first time that it is asked.
fn judged() -> Workspace {
    let limit = limit("You've hit your weekly limit · resets in 30 minutes");
    let judge = format!(
        "echo x >> ../asked; if [ $(wc -l < ../asked) = 1 ]; then echo '{}'; exit 1; fi; echo 'SCORE: 90'",
        limit.replace('\'', "'\\''")
    );
    Mission::new()
        .key("workspace", "work")
        .agent_with("w", json!({"run": ["/bin/sh", "-c", "echo done"]}))
        .agent_with("j", json!({"run": ["/bin/sh", "-c", judge], "role": "reviewer"}))
        .setting("maxAttempts", 1)
        .task("t", |t| t.set("review", "required"))
        .workspace()
}

#[test]
fn the_window_of_a_judge_outlives_a_kill() {
    let workspace = judged();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r"]);
    wait_for("the window", || on_record(&workspace, "task:window") == 1);
    running.kill();
    assert_eq!(windows(&workspace.status()).len(), 1);
    let workspace = workspace.at_scale("0.0005");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "t"), ("done", "clean"));
    assert_eq!(attempts(&document, "t"), ["execute"]);
    assert_eq!(workspace.lines("asked").len(), 2, "once before, and once after");
}

#[test]
fn a_judge_that_meets_a_limit_is_asked_again_and_is_no_fault() {
    let workspace = judged().at_scale("0.0005");
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "t"), ("done", "clean"));
    assert_eq!(
        (attempts(&document, "t"), document["counts"]["indeterminate"].as_u64()),
        (vec!["execute"], Some(0))
    );
    assert_eq!(workspace.lines("asked").len(), 2);

    let workspace = judged().tap(|m| m.setting("maxWindowWait", "10m"));
    let document = workspace.run_json(7, &[]);
    assert_eq!(document["counts"]["indeterminate"], 0);
    assert_eq!((windows(&document).len(), attempts(&document, "t")), (1, vec!["execute"]));
    assert!(document["resumableAt"].is_string());
}

#[test]
fn an_agent_with_side_effects_is_not_spoken_to_again_without_a_person() {
    let worker = once(&limit("You've hit your limit · resets in 1 minute"));
    let workspace = Workspace::with(&mission(&worker, "", ", sideEffects: true"));
    let document = workspace.run_json(8, &[]);
    assert_eq!(document["approvals"][0]["reason"], "side-effects");
    assert_eq!(workspace.lines("turns").len(), 1);
}

#[test]
fn a_prompt_that_is_too_long_is_followed_by_one_short_one() {
    let long = "b".repeat(30_000);
    for (fails, code, want) in [(1, 0, &["execute", "retry"][..]), (9, 3, &["execute", "retry"][..])] {
        let worker = format!(
            "cat > prompt.$QUORUM_ATTEMPT; echo x >> turns; if [ $(wc -l < turns) -le {fails} ]; then echo '{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"prompt is too long: 250000 tokens\"}}}}'; exit 1; fi; echo done > out.txt"
        );
        let description = format!(", description: '{long}'");
        let workspace = Workspace::with(&mission(&worker, "maxRetries: 3", &description));
        let document = workspace.run_json(code, &[]);
        assert_eq!(attempts(&document, "t"), want);
        assert!(workspace.read("prompt.1").len() > 30_000);
        let short = workspace.read("prompt.2");
        assert!(short.chars().count() <= 16_000 && short.contains("# Task: t"), "{}", short.len());
        if code == 3 {
            assert_eq!(task(&document, "t")["failure"]["class"], "context_too_long");
        }
    }
}

#[test]
fn between_attempts_that_a_provider_failed_there_is_a_pause_that_doubles() {
    let worker = "echo 'last status: 429 Too Many Requests' >&2; exit 1";
    let workspace = Workspace::with(&mission(worker, "maxRetries: 2", "")).at_scale("0.001");
    let begin = Instant::now();
    let document = workspace.run_json(3, &[]);
    assert!(begin.elapsed().as_secs() < 10, "15 s and more are to be waited at full scale");
    assert_eq!(attempts(&document, "t"), ["execute", "retry", "retry"]);
    let events = workspace.events();
    let pauses: Vec<i64> = events
        .iter()
        .filter(|event| event["event"] == "task:backoff")
        .map(|event| {
            let at = |key: &str| chrono::DateTime::parse_from_rfc3339(event[key].as_str().unwrap()).unwrap();
            (at("until") - at("at")).num_milliseconds()
        })
        .collect();
    assert_eq!(pauses.len(), 2, "{pauses:?}");
    assert!((4_900..=7_600).contains(&pauses[0]) && (9_900..=15_100).contains(&pauses[1]), "{pauses:?}");
}

#[test]
fn a_told_pause_is_the_least_that_is_waited() {
    let worker = "echo 'HTTP 429 Too Many Requests, please retry in 90s' >&2; exit 1";
    let workspace = Workspace::with(&mission(worker, "maxRetries: 1", "")).at_scale("0.001");
    workspace.run_json(3, &[]);
    let backoff = workspace.events().first_named("task:backoff");
    let at = |key: &str| chrono::DateTime::parse_from_rfc3339(backoff[key].as_str().unwrap()).unwrap();
    assert!((at("until") - at("at")).num_seconds() >= 89, "{backoff}");
}
