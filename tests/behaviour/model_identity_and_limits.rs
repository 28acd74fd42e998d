//! Who a model is, whatever it is called (row 54 of the false greens); when a limit resets, in the zone that is told; what
//! models refuse of a request; how texts of others are read; and classes of failures.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::support::model::{Model, offered, refuses, says};
use crate::support::{Has, Mission, Says, Workspace, attempts, standing, task};

/// Work of one model, judged by another under `independence: model`; the judge's provider says that it used `returned`.
fn judged_by(worker: &str, judge: &str, returned: Option<&str>) -> (Model, Workspace) {
    let returned = returned.map(str::to_owned);
    let model = Model::new(move |body| {
        let used = returned.clone().unwrap_or_else(|| body["model"].as_str().unwrap_or_default().to_owned());
        ResponseTemplate::new(200).set_body_json(json!({
            "model": used, "choices": [{"message": {"content": "SCORE: 95"}, "finish_reason": "stop"}],
        }))
    });
    let workspace = Mission::new()
        .agent_with("w", json!({"run": "echo work", "model": worker}))
        .agent_with(
            "j",
            json!({"adapter": "openai", "baseUrl": model.base(), "model": judge, "role": "reviewer"}),
        )
        .setting("independence", "model")
        .setting("maxRetries", 0)
        .task("t", |t| t.attempts(1).set("review", "required"))
        .workspace()
        .at_scale("0.001");
    (model, workspace)
}

/// Names of one model.
const SAME: &[(&str, &str)] = &[
    ("claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("claude-sonnet-4-5", "anthropic/claude-sonnet-4.5"),
    ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5@20250929"),
    ("claude-3-5-haiku-latest", "eu.anthropic.claude-3-5-haiku-20241022-v1:0"),
    ("gpt-4o", "openai:gpt-4o-2024-11-20"),
    ("gpt-3.5-turbo", "azure/gpt-35-turbo"),
    ("gemini-2.5-pro", "models/gemini-2.5-pro-preview-06-05"),
    ("meta-llama/Llama-3.3-70B-Instruct", "us.meta.llama3-3-70b-instruct-v1:0"),
    ("deepseek-r1", "us.deepseek.r1-v1:0"),
];

#[test]
fn false_green_54_the_workers_own_model_under_another_name_is_no_other_judge() {
    for (one, other) in SAME {
        for (worker, judge) in [(one, other), (other, one)] {
            let (model, workspace) = judged_by(worker, judge, None);
            let document = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(6).json();
            assert_eq!(task(&document, "t")["points"], json!(null), "{worker} {judge}");
            assert!(model.asked().is_empty(), "{worker} {judge}: it is not even asked");
        }
    }
    let (model, workspace) =
        judged_by("claude-sonnet-4-5", "us.anthropic.claude-opus-4-5-20251101-v1:0", None);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(model.asked().len(), 1);
}

#[test]
fn false_green_54_a_provider_that_used_the_workers_own_model_under_another_name_gives_no_verdict() {
    for (worker, returned) in SAME {
        let (_model, workspace) = judged_by(worker, "another-model", Some(returned));
        let document = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(6).json();
        assert_eq!(task(&document, "t")["points"], json!(null), "{worker} {returned}");
        assert_eq!(attempts(&document, "t"), ["execute"]);
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is past 1970").as_secs()
}

#[test]
fn a_limit_is_waited_for_until_the_time_of_the_zone_that_is_told() {
    // Three hours from now, on clocks that are so many minutes ahead of UTC.
    let clock = |ahead: u64| {
        let minutes = now() / 60 + 180 + ahead;
        (minutes / 60 % 24, minutes % 60)
    };
    let day = |ahead: u64| {
        let (hour, minute) = clock(ahead);
        format!("{hour:02}:{minute:02}")
    };
    let half = |ahead: u64| {
        let (hour, minute) = clock(ahead);
        format!("{}:{minute:02}{}", (hour + 11) % 12 + 1, if hour < 12 { "am" } else { "pm" })
    };
    for text in [
        format!("You have hit your limit · resets {} (Asia/Calcutta)", half(330)),
        format!("Limit reached · resets {} (Asia/Tokyo)", half(540)),
        format!("Weekly limit reached ∙ resets {} (Asia/Kathmandu)", half(345)),
        format!("5-hour limit reached, resets at {} UTC+2", day(120)),
        format!("Your limit will reset at {} (GMT+05:30)", day(330)),
        format!("usage limit reached. Resets {} JST", half(540)),
        format!("The limit resets at {} Etc/UTC time", day(0)),
        format!("Limit reached; it resets {} GMT", day(0)),
    ] {
        let said =
            json!({"type": "result", "subtype": "success", "is_error": true, "result": text}).to_string();
        let workspace = Mission::new()
            .agent_with(
                "w",
                json!({"adapter": "claude", "run": ["/bin/sh", "-c", "cat > /dev/null; cat said; exit 1"]}),
            )
            .setting("maxWindowWait", "1s")
            .task("t", |t| t.unreviewed())
            .workspace();
        workspace.write("said", format!("{said}\n"));
        let zone = [("TZ", "America/St_Johns")];
        let document = workspace.quorum_with(&zone, &["run", "mission.yaml", "--json"]).exits(7).json();
        let until = document["resumableAt"].as_str().unwrap_or_else(|| panic!("{text}: {document:#}"));
        let want = chrono_of(now() + 3 * 3600);
        let (until, want) = (minutes_of(until), minutes_of(&want));
        assert!(until.abs_diff(want) <= 3, "{text}: {document:#}");
        assert_eq!(attempts(&document, "t"), ["execute"], "{text}");
    }
}

/// Minutes since midnight of a moment in UTC, as `…T03:04:…`.
fn minutes_of(moment: &str) -> u64 {
    let clock = moment.split('T').nth(1).expect("a time");
    let mut parts = clock.split(':').map(|part| part.parse::<u64>().expect("a number"));
    parts.next().expect("an hour") * 60 + parts.next().expect("a minute")
}

fn chrono_of(seconds: u64) -> String {
    format!("T{:02}:{:02}:", seconds / 3600 % 24, seconds / 60 % 60)
}

/// A judge behind HTTP with these keys.
fn asked(model: &Model) -> Workspace {
    Mission::new()
        .agent("w", "echo x > f")
        .model("j", model, json!({"role": "reviewer"}))
        .setting("maxRetries", 0)
        .task("t", |t| t.attempts(1).files(["f"]).set("review", "required"))
        .workspace()
        .at_scale("0.001")
}

#[test]
fn what_a_model_refuses_of_a_request_is_left_out_one_by_one_and_said() {
    let model = Model::new(|body| {
        let has = |key: &str| body.get(key).is_some();
        if has("max_tokens") {
            return refuses(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            );
        }
        if has("temperature") {
            return refuses(
                400,
                "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
            );
        }
        if body["messages"][0]["role"] == "system" {
            return refuses(
                400,
                "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            );
        }
        says("SCORE: 95")
    });
    let workspace = asked(&model).tap(|m| m.change_agent("j", json!({"maxTokens": 900, "temperature": 0.2})));
    let document = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(0).json();
    document["warnings"].to_string().says(&["max_completion_tokens", "`temperature`", "a system message"]);
    let asked_for = model.asked();
    let last = asked_for.last().expect("it was asked");
    last.has(json!({"max_completion_tokens": 900}));
    assert!(last.get("temperature").is_none() && last["messages"][0]["role"] == "user", "{last}");
    // Nothing of what it was told is lost, and its tools are not taken away.
    assert!(last["messages"][0]["content"].as_str().expect("a text").contains("tools list, read and search"));
    assert!(!offered(last).is_empty());
    assert_eq!(asked_for.len(), 4);
}

#[test]
fn a_limit_of_tokens_that_is_refused_under_both_names_is_left_out() {
    let model = Model::new(|body| {
        let named = ["max_tokens", "max_completion_tokens"].into_iter().find(|key| body.get(*key).is_some());
        match named {
            Some("max_tokens") => refuses(400, "`max_tokens` is not supported; use `max_completion_tokens`"),
            Some(name) => ResponseTemplate::new(422).set_body_json(
                json!({"error": {"message": "it is above what the model has", "param": name}}),
            ),
            None => says("SCORE: 95"),
        }
    });
    let document = asked(&model)
        .tap(|m| m.change_agent("j", json!({"maxTokens": 900})))
        .quorum(&["run", "mission.yaml", "--json"])
        .exits(0)
        .json();
    document["warnings"].to_string().says(&["`maxTokens`"]);
}

#[test]
fn false_green_52_a_400_that_names_no_part_is_a_fault_and_takes_no_tools_away() {
    for message in [
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        "Bad request",
        "The model m does not exist",
        "The prompt speaks of temperature, of tools and of a system prompt.",
    ] {
        let model = Model::new(move |body| match offered(body).is_empty() {
            false => refuses(400, message),
            true => says("SCORE: 95"),
        });
        let workspace = asked(&model).tap(|m| m.change_agent("j", json!({"temperature": 0})));
        let document = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(6).json();
        assert_eq!(task(&document, "t")["points"], json!(null), "{message}");
        assert!(
            model.asked().iter().all(|body| !offered(body).is_empty() && body.get("temperature").is_some())
        );
    }
}

#[test]
fn a_worker_is_asked_without_what_its_model_refuses_too() {
    let model = Model::new(|body| match body.get("temperature") {
        Some(_) => refuses(400, "`temperature` is deprecated for this model."),
        None => says("I wrote the text that was asked for, and it is all here."),
    });
    let workspace = Mission::new()
        .model("w", &model, json!({"temperature": 0}))
        .setting("evaluate", false)
        .tasks(["one"])
        .task("two", |t| t.needs("one"))
        .workspace();
    let document = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(0).json();
    assert_eq!(
        document["warnings"].to_string().matches("`temperature`").count(),
        2,
        "said once: {document:#}"
    );
    assert_eq!(model.asked().len(), 3, "it is remembered");
}

#[test]
fn a_provider_that_has_trouble_is_asked_again_however_it_says_so() {
    let text = |status: u16, body: Value| ResponseTemplate::new(status).set_body_json(body);
    for trouble in [
        text(200, json!({"error": "overloaded"})),
        text(200, json!({"error": {"message": "The server is overloaded, please retry"}})),
        text(200, json!({"error": {"type": "server_error"}})),
        text(409, json!({"error": {"message": "another request"}})),
        text(425, json!({})),
        text(498, json!({"error": {"message": "flex tier capacity exceeded"}})),
        text(499, json!({})),
        text(529, json!({})),
        text(408, json!({})),
    ] {
        let said = format!("{trouble:?}");
        let calls = std::sync::atomic::AtomicU32::new(0);
        let model = Model::new(move |_| match calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => trouble.clone(),
            _ => says("SCORE: 95"),
        });
        let workspace = asked(&model).tap(|m| m.change_agent("j", json!({"tools": []})));
        workspace.quorum(&["run", "mission.yaml"]).exits(0);
        assert_eq!(model.asked().len(), 2, "{said}");
    }
}

#[test]
fn times_that_an_agent_gives_its_files_do_not_save_it_from_being_silent() {
    for when in ["+1 hour", "-1 hour"] {
        let workspace = Mission::new()
            .agent_with(
                "w",
                json!({"run": format!("touch -d '{when}' \"$QUORUM_TASK_DIR\"; sleep 60 & wait"), "staleThreshold": "500ms"}),
            )
            .setting("evaluate", false)
            .setting("maxRetries", 0)
            .task("t", |t| t.set("maxDuration", "50s"))
            .workspace();
        let document = workspace.run_json(3, &[]);
        let failure = &task(&document, "t")["failure"];
        assert!(failure["message"].to_string().contains("without a word"), "{when}: {failure}");
    }
}

#[test]
fn a_clock_that_is_put_back_does_not_end_an_agent_that_works() {
    let workspace = Mission::new()
        .agent_with(
            "w",
            json!({
                "run": "for n in 9 8 7 6 5 4 3 2 1; do touch -d \"$n minutes ago\" \"$QUORUM_TASK_DIR\"; sleep 0.4; done; echo done",
                "staleThreshold": "1s",
            }),
        )
        .setting("evaluate", false)
        .setting("maxRetries", 0)
        .tasks(["t"])
        .workspace();
    workspace.run_json(0, &[]);
}

#[test]
fn a_byte_order_mark_and_line_ends_are_no_part_of_a_list_of_tests() {
    for list in ["\u{feff}t1\r\nt2\r\n", "\u{feff}[\"t1\", \"t2\"]\r\n", "\u{feff} \n[\"t1\",\r\n\"t2\"]"] {
        let workspace = Mission::new()
            .worker("touch made")
            .task("t", |t| {
                t.set(
                    "verify",
                    json!({"failToPass": "tests.txt", "testCommand": "printf '[%s]' {test} >> seen; test -e made"}),
                )
                .unreviewed()
            })
            .workspace();
        workspace.write("tests.txt", list);
        workspace.run_json(0, &[]);
        let seen = workspace.read("seen");
        assert!(seen.contains("[t1][t2]") && !seen.contains('\u{feff}'), "{seen:?}");
    }
}

#[test]
fn a_byte_order_mark_before_a_result_file_or_an_answer_is_no_part_of_it() {
    let workspace = Mission::new()
        .worker(
            r#"printf '\357\273\277{"output": "from the file"}\r\n' > "$QUORUM_RESULT_FILE"; echo printed"#,
        )
        .task("t", |t| t.unreviewed())
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert!(document["warnings"].as_array().is_none_or(Vec::is_empty), "{document:#}");
    let model = Model::new(|_| {
        let body = json!({"choices": [{"message": {"content": "SCORE: 95"}, "finish_reason": "stop"}]});
        ResponseTemplate::new(200).set_body_raw(format!("\u{feff}{body}"), "application/json")
    });
    asked(&model).quorum(&["run", "mission.yaml"]).exits(0);
}

#[test]
fn a_prompt_that_cannot_be_passed_is_too_long_and_asked_once_more_with_a_short_one() {
    let workspace = Mission::new()
        .agent_with("w", json!({"adapter": "argy"}))
        .task("t", |t| t.set("description", "d".repeat(140_000)).unreviewed())
        .workspace();
    workspace.write("quorum.yaml", "presets: {argy: {argv: [./a.sh], prompt: argument}}\n");
    workspace.write("a.sh", "#!/bin/sh\nprintf %s \"$1\" | wc -c >> lengths\necho done\n");
    workspace.bash("chmod +x a.sh").exits(0);
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "t").0, "done");
    assert_eq!(attempts(&document, "t").len(), 2, "{document:#}");
    let lengths = workspace.lines("lengths");
    assert!(
        lengths.len() == 1 && lengths[0].trim().parse::<u32>().is_ok_and(|length| length <= 16_500),
        "{lengths:?}"
    );
}
