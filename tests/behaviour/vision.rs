//! Screenshots (semantics, section 15), through the binary: mean colours, and an agent that looks.

use rustix::process::Signal;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::scenes::pictures::shot;
use crate::support::verdicts;
use crate::support::{Mission, Says, Workspace, standing, task, wait_for_file};

/// A task whose worker runs `work.sh`, and whose screenshots are looked at so.
fn looked_at(vision: &str, work: &str) -> Workspace {
    let workspace = Mission::new()
        .keys(format!("vision: {{screenshots: [old.png, shot.png], {vision}}}"))
        .agent_with("worker", json!({"run": ["/bin/sh", "work.sh"]}))
        .answerer("eye", &[])
        .change_agent("eye", "vision: true")
        .task("work", |t| t.unreviewed().attempts(2))
        .workspace();
    workspace.write("work.sh", work);
    workspace.write("red.png", shot([250, 0, 0]));
    workspace.write("blue.png", shot([0, 0, 250]));
    workspace
}

fn row(document: &Value) -> Value {
    let reviews = task(document, "work")["reviews"].as_array();
    let mut rows = reviews.into_iter().flatten();
    let found = rows.find(|row| row["stage"] == "vision");
    found.cloned().unwrap_or_default()
}

const BLUE: &str = "kind: heuristic, expectations: [{description: the header, color: '#0000ff', region: {width: 8, height: 2}}]";
/// Red at first, blue when it is told.
const MENDS: &str = "cat > prompt.$QUORUM_ATTEMPT; if [ $QUORUM_ATTEMPT = 1 ]; then cp red.png shot.png; else cp blue.png shot.png; fi; echo done";

#[test]
fn a_region_of_another_colour_sends_the_work_back() {
    let workspace = looked_at(BLUE, MENDS);
    workspace.write("old.png", shot([250, 0, 0]));
    let document = workspace.run_json(0, &["--report", "junit=junit.xml", "--report", "markdown=report.md"]);
    assert_eq!(verdicts(&document), [("fail", "vision"), ("", "")]);
    let text = workspace.read("prompt.2");
    text.says(&["failed at stage 'vision'", "the header", "#fa0000 on average", "#0000ff is expected"]);
    assert_eq!(
        (&row(&document)["reviewer"], &row(&document)["verdict"]),
        (&json!("heuristic"), &json!("pass"))
    );
    assert!(workspace.read("junit.xml").contains("vision: pass"));
    // It is a check, not a judge: it holds where judges are switched off.
    let off = looked_at(BLUE, "cp red.png shot.png; echo done");
    off.run_json(3, &["--no-eval"]);
}

#[test]
fn severity_and_autonomy_say_what_a_colour_that_is_off_leads_to() {
    for (severity, autonomy, code) in [("low", "locked", 0), ("medium", "semi", 0), ("medium", "locked", 3)] {
        let vision = format!("kind: heuristic, expectations: [{{color: '#0000ff', severity: {severity}}}]");
        let workspace =
            looked_at(&vision, "cp red.png shot.png; echo done").tap(|m| m.key("autonomy", autonomy));
        let document = workspace.run_json(code, &[]);
        let found = &row(&document)["findings"][0];
        assert_eq!(found["severity"], severity, "it stays visible: {found}");
    }
    // Nearer than the tolerance is near enough.
    let near = "kind: heuristic, tolerance: 0.9, expectations: [{color: '#0000ff'}]";
    looked_at(near, "cp red.png shot.png; echo done").run_json(0, &[]);
}

#[test]
fn without_a_screenshot_it_is_skipped_and_noop_looks_at_nothing() {
    for (vision, work) in [
        (BLUE, "echo done"),
        (LOOKS, "echo done"),
        ("kind: noop", "cp red.png shot.png; mkfifo old.png; echo done"),
    ] {
        let workspace = looked_at(vision, work);
        let document = workspace.run_json(0, &["--strict", "--allow", "indeterminate"]);
        assert_eq!(row(&document)["verdict"], "skip", "{vision}");
        assert_eq!(workspace.calls("eye"), 0);
        assert!(
            row(&document)["findings"][0]["description"].as_str().unwrap_or_default().contains("not asked")
        );
    }
}

#[test]
fn a_picture_that_cannot_be_read_is_a_fault_and_open() {
    let workspace = looked_at(BLUE, "echo GIF89a > shot.png; echo n >> acts; echo done")
        .tap(|m| m.change("work", |t| t.expects(json!({"type": "script", "command": "test -e acts"}))));
    let document = workspace.run_json(0, &[]);
    assert_eq!(row(&document)["verdict"], "fault");
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    document["warnings"][0].says(&["neither a PNG nor a JPEG"]);
    assert_eq!(workspace.lines("acts").len(), 1);
    workspace.run_json(6, &["--strict"]);
}

/// What stands under the name of a screenshot may be anything, so that there is none is not known.
#[test]
fn what_stands_there_and_is_no_picture_is_a_fault_and_never_skipped() {
    for vision in [BLUE, LOOKS] {
        for (work, why) in [
            ("mkfifo shot.png", "not a regular file"),
            ("mkdir shot.png", "it is a folder"),
            ("ln -s /etc/hostname shot.png", "a link that leads to no file of the workspace"),
            ("ln -s nowhere.png shot.png", "a link that leads to no file of the workspace"),
            ("ln -s shot.png shot.png", "shot.png cannot be looked at"),
            ("cp blue.png shot.png; mkfifo old.png", "old.png cannot be looked at"),
            ("head -c 9000000 /dev/zero > shot.png", "more than 8388608 bytes"),
            ("head -c 60 blue.png > shot.png", "cannot be"),
        ] {
            // Whoever looks at one that is cut short sees that for themselves.
            if vision == LOOKS && work.starts_with("head -c 60") {
                continue;
            }
            let workspace = looked_at(vision, &format!("{work}; echo n >> acts; echo done"));
            let document = workspace.run_json(0, &[]);
            assert_eq!(row(&document)["verdict"], "fault", "{vision}: {work}");
            let found = row(&document)["findings"].to_string();
            assert!(found.contains(why), "{work}: {found}");
            assert_eq!(workspace.calls("eye"), 0, "{work}");
            // Nothing that the worker could do is asked of it again, and it shows.
            assert_eq!(workspace.lines("acts").len(), 1, "{work}");
            assert!(document["warnings"].to_string().contains(why), "{work}: {document}");
            let report = workspace.quorum(&["report", "--markdown", "report.md"]);
            report.exits(0);
            assert!(workspace.read("report.md").contains("vision: fault"), "{work}");
        }
    }
    let workspace = looked_at(BLUE, "mkfifo shot.png; echo done");
    workspace.run_json(6, &["--strict"]);
}

#[test]
fn a_screenshot_that_a_check_makes_is_looked_at_as_it_is_then() {
    for (made, verdict) in [("blue.png", "pass"), ("red.png", "fail")] {
        let check = json!({"type": "script", "command": format!("rm -f old.png; cp {made} shot.png")});
        let workspace = looked_at(BLUE, "mkfifo old.png; echo done")
            .tap(|m| m.change("work", |t| t.without("review").attempts(1).expects(check)));
        let document = workspace.run_json(if verdict == "pass" { 0 } else { 3 }, &[]);
        assert_eq!(row(&document)["verdict"], verdict);
        let replayed = workspace.quorum(&["review", "--replay", "--json"]);
        replayed.exits(0);
    }
}

#[test]
fn nobody_is_asked_instead_where_the_picture_is_at_fault() {
    let workspace = looked_at(LOOKS, "echo GIF89a > shot.png; echo done")
        .tap(|m| m.agent_with("other", json!({"run": "touch asked", "vision": true})))
        .tap(|m| m.change_agent("eye", "fallback: other"));
    let document = workspace.run_json(0, &[]);
    assert_eq!(row(&document)["verdict"], "fault");
    assert_eq!((workspace.calls("eye"), workspace.exists("asked")), (0, false));
    let mut events = workspace.events().into_iter();
    assert!(events.all(|event| event["event"] != "agent:fallback"));
}

fn report(findings: &Value) -> String {
    json!({"findings": findings, "summary": "looked"}).to_string()
}

const LOOKS: &str = "kind: llm_vision, agent: eye, expectations: [a blue header]";

#[test]
fn an_agent_that_looks_blocks_by_what_it_finds() {
    let workspace = looked_at(LOOKS, MENDS);
    let bad = json!([{"severity": "high", "category": "missing_element", "description": "no header", "evidence": "picture 1"}]);
    workspace.judge("eye", &[&report(&bad), &report(&json!([]))]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(verdicts(&document), [("fail", "vision"), ("", "")]);
    assert!(workspace.read("prompt.2").contains("missing_element: no header"));
    workspace.asked("eye", 1).says(&[
        "a blue header",
        "Picture 1: image/png",
        "sha256",
        "they are not there, so you cannot see what they should show: old.png",
    ]);
    let found = &row(&document)["findings"][0]["description"];
    assert_eq!(found, "not looked at, for it is not there: old.png");
    let request: Value = serde_json::from_str(&workspace.read("eye/call.1/review.json")).unwrap();
    let path = request["screenshots"][0]["path"].as_str().unwrap_or_default();
    assert!(path.ends_with("/shot.png"), "{request}");
    let off = looked_at(LOOKS, MENDS);
    let document = off.run_json(0, &["--no-eval"]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    assert_eq!((off.calls("eye"), &row(&document)["verdict"]), (0, &json!("skip")));
}

#[test]
fn an_agent_that_says_nothing_is_a_fault_and_its_own_work_it_never_sees() {
    let workspace = looked_at(LOOKS, "cp red.png shot.png; echo done");
    workspace.judge("eye", &["nice"]);
    let document = workspace.run_json(0, &[]);
    assert_eq!((workspace.calls("eye"), &row(&document)["verdict"]), (2, &json!("fault")));
    let eye = json!({"vision": true, "run": "cp red.png shot.png; echo n >> acts; echo done"});
    let own = looked_at(LOOKS, "").tap(|m| m.agent_with("eye", eye).change("work", |t| t.by("eye")));
    own.quorum(&["run", "mission.yaml"]).exits(2).says(&["would judge its own work", "`vision`"]);
    assert!(!own.exists("acts"));
}

#[test]
fn a_run_killed_while_somebody_looks_asks_again_and_does_not_work_again() {
    let eye = json!({"vision": true, "run": "echo n >> asked; test -e go || sleep 60; cat go"});
    let workspace =
        looked_at(LOOKS, "cp red.png shot.png; echo n >> acts; echo done").tap(|m| m.agent_with("eye", eye));
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for_file(&workspace.path("asked"));
    running.signal(Signal::KILL);
    running.kill();
    workspace.write("go", report(&json!([])));
    let document = workspace.resume_json(0, &[]);
    assert_eq!(row(&document)["verdict"], "pass");
    assert_eq!((workspace.lines("acts").len(), workspace.lines("asked").len()), (1, 2));
}

/// What each protocol makes of a picture, where it stands in the request.
#[test]
fn pictures_reach_models_as_pictures_and_stay_out_of_the_record() {
    // The servers live on threads of their own; only asking them needs a runtime.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    for (adapter, pointer) in [
        ("openai", "/messages/0/content/1/image_url/url"),
        ("anthropic", "/messages/0/content/0/source/data"),
        ("gemini-api", "/contents/0/parts/1/inlineData/data"),
        ("ollama", "/messages/0/images/0"),
    ] {
        let said = report(&json!([]));
        let reply = match adapter {
            "openai" => {
                json!({"model": "m", "choices": [{"message": {"content": said}, "finish_reason": "stop"}]})
            }
            "anthropic" => {
                json!({"model": "m", "content": [{"type": "text", "text": said}], "stop_reason": "end_turn"})
            }
            "gemini-api" => {
                json!({"candidates": [{"content": {"parts": [{"text": said}]}, "finishReason": "STOP"}]})
            }
            _ => {
                json!({"model": "m", "message": {"role": "assistant", "content": said}, "done": true, "done_reason": "stop"})
            }
        };
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            let answer = ResponseTemplate::new(200).set_body_json(reply);
            Mock::given(method("POST")).respond_with(answer).mount(&server).await;
            server
        });
        let agent = json!({
            "adapter": adapter, "model": "m", "baseUrl": server.uri(), "apiKey": "${KEY}", "vision": true,
        });
        let workspace =
            looked_at(LOOKS, "cp red.png shot.png; echo done").tap(|m| m.agent_with("eye", agent));
        let run = workspace.quorum_with(&[("KEY", "k")], &["run", "mission.yaml", "--json"]);
        let document = run.exits(0).json();
        assert_eq!(row(&document)["verdict"], "pass", "{adapter}");
        let requests = runtime.block_on(server.received_requests()).unwrap_or_default();
        let body: Value = serde_json::from_slice(&requests[0].body).expect("it is JSON");
        let data = body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        assert!(data.contains("iVBORw0KGgo"), "{adapter}: {body}");
        // Neither journal nor spool holds it.
        let found = workspace.bash("grep -rl iVBORw0KGgo .polpo | wc -l").stdout;
        assert_eq!(found.trim(), "0", "{adapter}");
    }
}

#[test]
fn what_does_not_fit_together_is_said_before_anything_starts() {
    for (vision, code) in [
        ("kind: heuristic", "Q0202"),
        ("kind: heuristic, expectations: [a header]", "Q0202"),
        ("kind: heuristic, expectations: [{color: blue}]", "Q0204"),
        ("kind: llm_vision", "Q0202"),
        ("kind: llm_vision, agent: worker", "Q0204"),
        ("kind: llm_vision, agent: nobody", "Q0302"),
        ("kind: heuristic, agent: eye, expectations: [{color: '#000000'}]", "Q0206"),
        ("kind: heuristic, expectations: [{color: '#000000', region: {width: 0, height: 1}}]", "Q0204"),
        ("kind: look", "Q0205"),
        ("kind: llm_vision, agent: eye, expectations: [{}]", "Q0202"),
        ("kind: llm_vision, agent: eye, expectations: [{severity: low}]", "Q0202"),
        ("kind: llm_vision, agent: eye, tolerance: 0.2", "Q0206"),
    ] {
        let workspace = looked_at(vision, "touch touched");
        workspace.refuses(&[code, "mission.yaml:"]);
    }
    for path in ["'shots/*.png'", "'shot?.png'", "'shot[1].png'", "'{a,b}.png'"] {
        let looks = format!("vision: {{screenshots: [{path}, shot.png], {LOOKS}}}");
        let workspace = looked_at(LOOKS, "touch touched").tap(|m| m.keys(looks));
        workspace.refuses(&["Q0204", "is a glob", "mission.yaml:"]);
    }
    // A text-only stand-in finds nothing wrong with a picture that it never saw.
    let other = json!({"run": "cat", "vision": true, "fallback": "blind"});
    let workspace = looked_at(LOOKS, "touch touched")
        .tap(|m| m.agent("blind", "cat").agent_with("other", other).change_agent("eye", "fallback: other"));
    workspace.refuses(&["Q0204", "'blind' would look instead of 'eye'"]);
}

#[test]
fn the_mission_that_shows_it_does_what_it_says() {
    let workspace = Workspace::of_missions(&[
        "landing-page.yaml",
        "landing-page/build.sh",
        "landing-page/draft.png",
        "landing-page/final.png",
    ]);
    let document = workspace.quorum(&["run", "landing-page.yaml", "--json"]).exits(0).json();
    let attempts = task(&document, "Build the landing page")["attempts"].as_array();
    let attempts = attempts.into_iter().flatten();
    let causes: Vec<_> = attempts.map(|attempt| attempt["cause"].as_str().unwrap_or_default()).collect();
    assert_eq!(causes, ["vision", ""]);
}
