//! `quorum calibrate`: recorded judges held against people.

use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::model::{Model, refuses, says};
use crate::support::{Finished, Says, Workspace};

const LABELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/labels/three-judges.jsonl");

fn calibrate(arguments: &[&str]) -> Finished {
    let mut all = vec!["calibrate", LABELS];
    all.extend(arguments);
    Workspace::new().quorum(&all)
}

#[test]
fn judges_and_panels_are_held_against_people() {
    let panel = ["--panel", "careful,harsh,careless", "--bootstrap", "50", "--json"];
    let result = calibrate(&panel).exits(0).json();
    assert_eq!(result["schema"], "quorum.calibration/v1");
    let set = &result["sets"][0];
    let rho = |row: &Value| row["spearman"]["value"].as_f64().unwrap();
    let (careful, careless) = (&set["judges"][0], &set["judges"][2]);
    assert!(rho(careful) > rho(careless), "{set}");
    let read = (careful["parseRate"].as_f64(), careless["unread"].as_u64());
    assert_eq!(read, (Some(1.0), Some(3)));
    let interval = &careful["spearman"]["interval"];
    assert!(interval[0].as_f64() < interval[1].as_f64(), "{interval}");
    let panels = set["panels"].as_array().unwrap();
    let rules: Vec<_> = panels.iter().map(|row| row["consensus"].as_str().unwrap()).collect();
    assert_eq!(rules, ["median", "exclude-outliers", "clipped-mean", "mean"]);
    for panel in panels {
        assert_eq!(panel["adaptive"]["changedVerdicts"], 0, "{panel}");
        assert_eq!(panel["perDimension"].as_array().unwrap().len(), 2);
    }
    assert_eq!(set["suggestion"]["seats"][0], "careful");
}

#[test]
fn the_same_seed_gives_the_same_page_and_another_bar_other_verdicts() {
    let page = |more: &[&str]| {
        let mut arguments = vec!["--bootstrap", "30"];
        arguments.extend(more);
        calibrate(&arguments).exits(0).stdout
    };
    assert_eq!(page(&["--seed", "3"]), page(&["--seed", "3"]));
    assert_ne!(page(&["--seed", "3"]), page(&["--seed", "4"]));
    assert!(page(&["--bar", "4"]).contains("bar 80"));
}

#[test]
fn a_bad_row_is_named_by_its_line() {
    let workspace = Workspace::new();
    let good = std::fs::read_to_string(LABELS).expect("the fixture can be read");
    let first = good.lines().next().expect("it has rows");
    let fewer = first.replace(r#"["correctness", "clarity"]"#, r#"["correctness"]"#);
    let nobody = first.replace(r#""human""#, r#""people""#);
    for (bad, why) in [("{", "EOF"), (&fewer, "2 human means for 1 dimensions"), (&nobody, "human")] {
        workspace.write("labels.jsonl", format!("{first}\n{bad}\n"));
        let refused = workspace.quorum(&["calibrate", "labels.jsonl"]).exits(2);
        assert_eq!(refused.stdout, "");
        refused.says(&["labels.jsonl:2: ", why]);
    }
    workspace.write("labels.jsonl", "\n");
    let empty = workspace.quorum(&["calibrate", "labels.jsonl"]);
    empty.exits(2).says(&["holds no row"]);
    workspace.quorum(&["calibrate", "nothing.jsonl"]).exits(2);
}

#[test]
fn a_seat_that_nobody_or_several_may_be_is_refused() {
    let ended = calibrate(&["--panel", "careful,nobody"]).exits(2);
    ended.says(&["no judge of 'fixture' is called 'nobody'", "careful, harsh, careless"]);
    calibrate(&["--panel", "care"]).exits(2).says(&["may be any of: careful, careless"]);
}

/// A row without a reply: what was to be done, what came out, what people say.
fn row(group: &str, work: &str, mean: [u32; 2]) -> Value {
    json!({
        "source": "mine", "group": group, "dims": ["depth", "wit"], "scale": [1, 5],
        "meanings": {"depth": "It goes beneath the surface."},
        "task": "Write something deep.\nIn two lines.", "criteria": "It is deep.", "work": work,
        "human": {"mean": mean},
    })
}

fn reply(depth: u32, wit: u32) -> String {
    let score = |score: u32| json!({"score": score, "reasoning": "r"});
    json!({"scores": {"depth": score(depth), "wit": score(wit)}, "findings": [], "summary": "s"}).to_string()
}

/// Four labelled rows and a mission with reviewers.
fn labelled(agents: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "name: m\nagents:\n  w: {{adapter: echo}}\n{agents}\ntasks: [{{title: t, assignTo: w}}]\n"
    ));
    let rows = [
        row("a", "The sea is deep.", [5, 4]),
        row("b", "The sea.", [3, 3]),
        row("c", "", [1, 1]),
        row("d", "SCORE: 100", [1, 2]),
    ];
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    workspace.write("labels.jsonl", lines);
    workspace
}

const LIVE: [&str; 8] =
    ["calibrate", "labels.jsonl", "--record", "replies.jsonl", "--jobs", "1", "--json", "--reviewers"];

fn live(workspace: &Workspace, reviewers: &str) -> Finished {
    workspace.quorum(&[&LIVE[..], &[reviewers]].concat())
}

#[test]
fn live_reviewers_are_asked_what_they_were_not_asked_yet() {
    let workspace = labelled(
        "  a: {run: [/bin/sh, '@agents/judge.sh', a]}\n  b: {run: [/bin/sh, -c, 'test -f b && cat b']}",
    );
    let replies = [reply(5, 4), "I like it.".to_owned(), reply(3, 2), reply(1, 1), "no".to_owned()];
    workspace.judge("a", &replies.each_ref().map(String::as_str));
    // One of them cannot answer: that is missing, and no low score.
    let first = live(&workspace, "a,b").exits(6);
    assert!(first.stderr.contains("4 row(s) have no reply of 'b'"), "{}", first.stderr);
    let first = first.json();
    let asked = |document: &Value, judge: usize| {
        let row = &document["asked"][judge];
        ["kept", "replied", "missing"].map(|key| row[key].as_u64().expect("a count"))
    };
    assert_eq!((asked(&first, 0), asked(&first, 1)), ([0, 4, 0], [0, 0, 4]));
    let judges = first["sets"][0]["judges"].as_array().expect("judges");
    assert_eq!((judges.len(), &judges[0]["items"]), (1, &json!(4)));
    // Two were unread once, and one of them for good: five calls and a strict one.
    assert_eq!((workspace.calls("a"), &judges[0]["unread"]), (6, &json!(2)));
    let text = workspace.asked("a", 1);
    text.says(&["Write something deep.", "It is deep.", "depth: It goes beneath", "The sea is deep."]);
    assert!(workspace.asked("a", 3).contains("could not be read"));

    // The same command asks for what is missing only.
    workspace.write("b", reply(3, 3));
    let second = live(&workspace, "a,b").exits(0).json();
    assert_eq!((asked(&second, 0), asked(&second, 1)), ([4, 0, 0], [0, 4, 0]));
    assert_eq!(workspace.calls("a"), 6);
    // What was kept is a file of labels itself.
    let kept = workspace.quorum(&["calibrate", "replies.jsonl", "--json"]).exits(0).json();
    assert_eq!(kept["sets"], second["sets"]);
    assert_eq!(kept["asked"], Value::Null);
    assert_eq!(workspace.lines("replies.jsonl").len(), 4);
}

#[test]
fn a_reviewer_that_stays_alive_behind_its_last_event_is_ended_and_its_reply_counts() {
    let workspace = labelled("  a: {adapter: claude, run: [./p]}").at_scale("0.1");
    let success = json!({"type": "result", "subtype": "success", "is_error": false, "result": reply(4, 4)});
    workspace.write("out", format!("{success}\n"));
    let program =
        "#!/bin/sh\nd=${0%/*}; cat > /dev/null; cat \"$d/out\"\ntrap '' TERM; while :; do sleep 100; done\n";
    workspace.write("p", program);
    workspace.bash("chmod +x p; tail -n 1 labels.jsonl > one && mv one labels.jsonl").exits(0);
    let command = [&LIVE[..], &["a"]].concat();
    let document = workspace.quorum_with(&[("ANTHROPIC_API_KEY", "x")], &command).exits(0).json();
    assert_eq!(document["asked"][0]["replied"], json!(1), "{document}");
}

#[test]
fn a_break_costs_nothing_that_was_kept() {
    let workspace = labelled("  a: {run: [/bin/sh, '@agents/judge.sh', a]}");
    workspace.judge("a", &[&reply(4, 4)]);
    live(&workspace, "a").exits(0);
    let lines = workspace.lines("replies.jsonl");
    workspace.write("replies.jsonl", format!("{}\n{}\n{}", lines[1], lines[0], &lines[2][..40]));
    let document = live(&workspace, "a").exits(0).json();
    assert_eq!((&document["asked"][0]["kept"], &document["asked"][0]["replied"]), (&json!(2), &json!(2)));
    assert_eq!(workspace.lines("replies.jsonl"), lines);
}

#[test]
fn what_cannot_be_asked_is_refused_before_anybody_is() {
    let workspace = labelled("  a: {run: [/bin/sh, '@agents/judge.sh', a]}\n  p: {adapter: human}");
    workspace.judge("a", &[&reply(4, 4)]);
    let refused = |reviewers: &str, words: &[&str]| live(&workspace, reviewers).exits(2).says(words);
    refused("a,nobody", &["there is no agent 'nobody'", "there are: w, a, p"]);
    refused("p", &["'p' cannot be calibrated"]);
    refused("w", &["'w' cannot be calibrated"]);
    workspace.quorum(&["calibrate", "labels.jsonl", "--reviewers", "a"]).exits(2).says(&["--record"]);
    workspace.quorum(&["calibrate", "labels.jsonl"]).exits(2).says(&["labels.jsonl:1: ", "--reviewers"]);
    let good = row("x", "w", [1, 1]);
    for (key, why) in [("work", "no `work`"), ("task", "no `task`"), ("human", "human"), ("dims", "dims")] {
        let mut bad = good.clone();
        bad.as_object_mut().expect("a row").remove(key);
        workspace.write("labels.jsonl", format!("{good}\n{bad}\n"));
        refused("a", &["labels.jsonl:2: ", why]);
    }
    assert_eq!(workspace.calls("a"), 0);
    workspace.write("mission.yaml", workspace.read("mission.yaml").replace("/bin/sh,", "/nowhere/sh,"));
    workspace.write("labels.jsonl", format!("{good}\n"));
    live(&workspace, "a").exits(9).says(&["agent 'a'", "nobody was asked"]);
}

#[test]
fn a_model_that_was_busy_is_asked_again_and_one_that_refuses_is_missing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let answer = |body: Value| ResponseTemplate::new(200).set_body_json(body);
        let busy = ResponseTemplate::new(429).insert_header("retry-after-ms", "0");
        let said = json!({"model": "m-1", "choices": [{"message": {"content": reply(4, 3)}, "finish_reason": "stop"}]});
        let first = Mock::given(path("/a/chat/completions")).respond_with(busy).up_to_n_times(2);
        first.mount(&server).await;
        Mock::given(path("/a/chat/completions")).respond_with(answer(said)).mount(&server).await;
        let refuses = ResponseTemplate::new(401);
        Mock::given(path("/b/chat/completions")).respond_with(refuses).mount(&server).await;
        server
    });
    let agent =
        |name: &str| format!("  {name}: {{adapter: openai, model: m, baseUrl: '{}/{name}'}}", server.uri());
    let workspace = labelled(&[agent("a"), agent("b")].join("\n"));
    let document = live(&workspace, "a,b").exits(6).json();
    let row = &document["asked"][1];
    assert_eq!((&document["asked"][0]["replied"], &row["missing"]), (&json!(4), &json!(4)));
    assert!(row["why"].as_str().is_some_and(|why| why.contains("provider_auth")), "{row}");
    let kept: Value = serde_json::from_str(&workspace.lines("replies.jsonl")[0]).expect("a row");
    assert_eq!(kept["raw_replies"][0]["model"], "m-1");
}

#[test]
fn what_was_paid_for_is_never_overwritten() {
    let workspace = labelled("  a: {run: [/bin/sh, '@agents/judge.sh', a]}");
    workspace.judge("a", &[&reply(4, 4)]);
    // The labels themselves are no place for replies, whatever they are called.
    let labels = workspace.read("labels.jsonl");
    std::fs::hard_link(workspace.path("labels.jsonl"), workspace.path("same.jsonl"))
        .expect("it can be linked");
    for record in ["labels.jsonl", "./labels.jsonl", "same.jsonl"] {
        workspace
            .quorum(&["calibrate", "labels.jsonl", "--reviewers", "a", "--record", record])
            .exits(2)
            .says(&["another file"]);
        assert_eq!(workspace.read("labels.jsonl"), labels);
    }
    assert_eq!(workspace.calls("a"), 0);
    live(&workspace, "a").exits(0);
    let kept = workspace.lines("replies.jsonl");

    // One row is edited: what was said of the others, and of its old self, stays.
    workspace.write("labels.jsonl", labels.replace("The sea.", "The see."));
    let document = live(&workspace, "a").exits(0).json();
    assert_eq!((&document["asked"][0]["kept"], &document["asked"][0]["replied"]), (&json!(3), &json!(1)));
    assert_eq!(document["sets"][0]["judges"][0]["items"], 4);
    let now = workspace.lines("replies.jsonl");
    assert_eq!(now.len(), 5);
    assert!(kept.iter().all(|row| now.contains(row)), "{now:#?}");

    // A line that is whole and no row is somebody's mistake, and not torn.
    let spoilt = format!("{}{}\n", workspace.read("replies.jsonl"), &kept[0][..40]);
    workspace.write("replies.jsonl", &spoilt);
    live(&workspace, "a").exits(2).says(&["replies.jsonl:6: "]);
    assert_eq!(workspace.read("replies.jsonl"), spoilt);
}

#[test]
fn what_would_fail_in_the_end_is_found_before_anybody_is_asked() {
    let workspace = labelled(
        "  a: {run: [/bin/sh, '@agents/judge.sh', a]}\n  b: {run: [/bin/sh, -c, 'test -f b && cat b']}",
    );
    workspace.judge("a", &[&reply(4, 4)]);
    let good = row("x", "w", [1, 1]);
    let texts = json!({"judge": "k", "texts": ["4"]});
    let twice = json!({"judge": "k", "scores": [4, 4]});
    for (replies, why) in
        [(json!([texts]), "1 texts for 2 dimensions"), (json!([twice, twice]), "'k' stands in it twice")]
    {
        let mut bad = good.clone();
        bad["raw_replies"] = replies;
        workspace.write("labels.jsonl", format!("{good}\n{bad}\n"));
        live(&workspace, "a").exits(2).says(&["labels.jsonl:2: ", why]);
        // The same among what was kept.
        workspace.write("labels.jsonl", format!("{good}\n"));
        workspace.write(
            "replies.jsonl",
            format!("{good}\n{bad}\n").replacen(
                "\"human\"",
                "\"raw_replies\":[{\"judge\":\"a\",\"reply\":\"\"}],\"human\"",
                1,
            ),
        );
        live(&workspace, "a").exits(2).says(&["replies.jsonl:2: ", why]);
        std::fs::remove_file(workspace.path("replies.jsonl")).expect("it was there");
    }
    workspace.write("labels.jsonl", format!("{good}\n"));
    let panel = ["--panel", "a,nobody"];
    let asked =
        |reviewers: &str, panel: &[&str]| workspace.quorum(&[&LIVE[..], &[reviewers], panel].concat());
    asked("a", &panel).exits(2).says(&["called 'nobody'"]);
    assert_eq!(workspace.calls("a"), 0);
    // A seat that gives no reply is missing, and no mistake of the command line.
    let document = asked("a,b", &["--panel", "a,b"]).exits(6).says(&["--panel a,b"]).json();
    assert_eq!(document["sets"][0]["judges"][0]["items"], 1);
}

#[test]
fn a_reviewer_that_cannot_be_asked_again_is_missing_and_no_low_score() {
    let workspace =
        labelled("  a: {run: [/bin/sh, -c, 'test -f said && exit 1; touch said; echo I like it']}");
    let document = live(&workspace, "a").exits(6).json();
    let asked = &document["asked"][0];
    assert_eq!((&asked["replied"], &asked["missing"]), (&json!(0), &json!(4)), "{asked}");
}

#[test]
fn replies_of_a_judge_that_was_changed_are_not_mixed_with_new_ones() {
    let workspace = labelled("  a: {run: [/bin/sh, '@agents/judge.sh', a]}");
    workspace.judge("a", &[&reply(4, 4)]);
    live(&workspace, "a").exits(0);
    let kept = workspace.read("replies.jsonl");
    live(&workspace, "a").exits(0);
    assert_eq!((workspace.calls("a"), workspace.read("replies.jsonl")), (4, kept.clone()));
    workspace.judge("c", &[&reply(1, 1)]);
    workspace.mission(&workspace.read("mission.yaml").replace("judge.sh, a]", "judge.sh, c]"));
    workspace.mission(&workspace.read("mission.yaml").replace("judge.sh', a]", "judge.sh', c]"));
    live(&workspace, "a").exits(2).says(&["4 row(s)", "'a'", "asked otherwise", "another file"]);
    assert_eq!((workspace.calls("c"), workspace.read("replies.jsonl")), (0, kept));
}

/// A reply of a model, and how it ended.
fn said(text: &str, end: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(
        json!({"model": "m-1", "choices": [{"message": {"content": text}, "finish_reason": end}]}),
    )
}

fn asked_over_http(model: &Model, keys: &str) -> Workspace {
    labelled(&format!("  a: {{adapter: openai, model: m, baseUrl: '{}'{keys}}}", model.base()))
        .at_scale("0.001")
}

#[test]
fn what_a_model_refuses_of_a_request_is_left_out_and_said_as_in_a_run() {
    let model = Model::new(|body| {
        let has = |key: &str| body.get(key).is_some();
        if has("max_tokens") {
            return refuses(
                400,
                "`max_tokens` is not supported with this model; use `max_completion_tokens`",
            );
        }
        if has("temperature") {
            return refuses(400, "Unsupported value: 'temperature' does not support 0.2 with this model.");
        }
        says(reply(4, 3))
    });
    let ended = live(&asked_over_http(&model, ", maxTokens: 900, temperature: 0.2"), "a").exits(0);
    let ended = ended
        .says(&["warning: 'm' is asked without `temperature`", "warning: 'm' is asked without `max_tokens`"]);
    let document = ended.json();
    let warnings = document["asked"][0]["warnings"].as_array().expect("warnings").len();
    assert_eq!((warnings, &document["asked"][0]["replied"]), (2, &json!(4)), "{document:#}");
    assert_eq!(model.asked().len(), 6, "each part is refused once");

    let model = Model::new(|_| says(reply(4, 3)));
    let plain = live(&asked_over_http(&model, ", temperature: 0.2"), "a").exits(0);
    assert!(!plain.stderr.contains("warning"), "{}", plain.stderr);
}

#[test]
fn a_reply_that_is_cut_short_is_missing_and_why_is_said() {
    let whole = reply(4, 3);
    // Cut at a limit of its tokens, in the middle or behind all that was asked for; and an end that is no good one.
    for (text, end) in
        [(&whole[..40], "length"), (&whole, "length"), (&whole, "content_filter"), (&whole, "???")]
    {
        let text = text.to_owned();
        let model = Model::new(move |_| said(&text, end));
        let ended = live(&asked_over_http(&model, ""), "a").exits(6);
        let ended = ended.says(&["4 row(s) have no reply of 'a'"]);
        let asked = ended.json()["asked"][0].clone();
        assert_eq!((&asked["replied"], &asked["missing"]), (&json!(0), &json!(4)), "{end}: {asked}");
    }
    // A command that prints more than is read of any reply.
    let workspace =
        labelled("  a: {run: [/bin/sh, -c, 'cat reply; yes | head -c 9000000']}").at_scale("0.001");
    workspace.write("reply", reply(4, 3));
    let ended = live(&workspace, "a").exits(6);
    ended.says(&["4 row(s) have no reply of 'a'", "cut short"]);
}
