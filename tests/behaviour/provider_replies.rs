//! What providers answer beside replies: errors under a status of success, halves, two things at once, keys; and https
//! where no certificates can be read.

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::support::model::{Model, says};
use crate::support::{Mission, Says, Workspace, attempts, standing, task};

fn judged(model: &Model) -> Workspace {
    Mission::new()
        .agent("w", "echo done")
        .model("j", model, json!({"role": "reviewer"}))
        .task("t", |t| t.set("review", "required"))
        .workspace()
        .at_scale("0.001")
}

fn reply(text: &str) -> Value {
    json!({"model": "scripted-1", "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
           "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
}

#[test]
fn what_is_not_plainly_a_reply_is_a_fault_and_never_a_verdict() {
    let mut with_error = reply("SCORE: 95");
    with_error["error"] = json!({"message": "the upstream died", "code": 502});
    let good = reply("SCORE: 95").to_string();
    let twice = good.replacen("{\"model\"", "{\"choices\":[],\"model\"", 1);
    let json_body =
        |status: u16, body: String| ResponseTemplate::new(status).set_body_raw(body, "application/json");
    for (answer, said) in [
        (json_body(200, with_error.to_string()), "the upstream died"),
        (json_body(206, good.clone()), "206"),
        (json_body(200, twice), "'choices' stands twice"),
    ] {
        let model = Model::new(move |_| answer.clone());
        let workspace = judged(&model);
        let finished = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(6);
        let document = finished.json();
        assert_eq!(attempts(&document, "t"), ["execute"], "a judge's fault spends no attempt");
        let events = workspace.events();
        let failed = events.first_named("work:ended score failed");
        assert!(failed["error"].to_string().contains(said) || failed.to_string().contains(said), "{failed}");
    }
}

#[test]
fn a_provider_that_repeats_the_key_does_not_get_it_onto_the_disk() {
    let key = "sk-0123456789abcdef";
    let model = Model::new(move |_| says(format!("you sent {key}; fine work.\nSCORE: 90")));
    let workspace = judged(&model).tap(|m| m.change_agent("j", json!({"apiKey": "${JUDGE_KEY}"})));
    let document = workspace.quorum_with(&[("JUDGE_KEY", key)], &["run", "mission.yaml", "--json"]).exits(0);
    assert!(!document.stdout.contains(key));
    let mut folders = vec![workspace.path(".polpo")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                files += 1;
                let bytes = std::fs::read(&path).unwrap();
                assert!(!String::from_utf8_lossy(&bytes).contains(key), "{}", path.display());
            }
        }
    }
    assert!(files > 3);
}

#[test]
fn lines_of_a_secret_of_several_lines_are_taken_out_and_short_ones_are_named() {
    let pem = "-----BEGIN-----\nMIIEpAIBAAKCAQEA7\nshort\n-----END-----";
    let workspace = Mission::new()
        .agent_with(
            "w",
            json!({
                "run": r#"printf "%s\n" "$PEM" | sed -n 2p; echo "$PIN""#,
                "env": {"PEM": "${PEM}", "PIN": "${PIN}"},
            }),
        )
        .setting("evaluate", false)
        .tasks(["t"])
        .workspace();
    let finished =
        workspace.quorum_with(&[("PEM", pem), ("PIN", "1234")], &["run", "mission.yaml", "--json"]).exits(0);
    finished.json()["warnings"].to_string().says(&["fewer than 6 characters", "'w'"]);
    workspace.quorum(&["logs", "t"]).exits(0).shows(&["1234"]).hides(&["MIIEpAIBAAKCAQEA7"]);
}

#[test]
fn https_without_certificates_is_found_before_any_work_and_http_needs_none() {
    let none =
        [("SSL_CERT_FILE", "/nonexistent/ca.crt"), ("SSL_CERT_DIR", "/nonexistent"), ("KEY", "sk-0123456")];
    let at = |base: &str| {
        Mission::new()
            .agent_with("w", json!({"adapter": "openai", "baseUrl": base, "model": "m", "apiKey": "${KEY}"}))
            .setting("evaluate", false)
            .tasks(["t"])
            .workspace()
    };
    let workspace = at("https://127.0.0.1:1/v1");
    let finished = workspace.quorum_with(&none, &["run", "mission.yaml"]).exits(9);
    let finished = finished.says(&["agent 'w'", "certificates", "/nonexistent/ca.crt"]);
    workspace.assert_nothing_started();
    assert!(!finished.stderr.contains("sk-0123456"));
    let told = workspace.quorum_with(&none, &["doctor", "--mission", "mission.yaml"]);
    assert!(told.code() != Some(0) && told.stdout.contains("/nonexistent/ca.crt"), "{told:?}");

    let model = Model::new(|_| says("the work"));
    let workspace = at(&model.base());
    let document = workspace.quorum_with(&none, &["run", "mission.yaml", "--json"]).exits(0).json();
    assert_eq!(standing(&document, "t").0, "done");
    assert_eq!(task(&document, "t")["attempts"].as_array().unwrap().len(), 1);
}
