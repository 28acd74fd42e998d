//! Tests of the document against the command line's contract.

use serde_json::{Value, json};

use super::*;
use crate::report::testing::{Mission, Scene, eventful, play_eventful};
use rules::domain::BarOrigin;

fn document(scene: &Scene<'_>, has_writer: bool) -> Value {
    let mut bytes = Vec::new();
    let standing = RunState::of(&scene.state, has_writer);
    let document = RunDocument::of(&scene.state, &scene.view, standing, None);
    document.write(&mut bytes).unwrap();
    assert_eq!(bytes.last(), Some(&b'\n'));
    serde_json::from_slice(&bytes).unwrap()
}

fn played() -> Value {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    document(&scene, false)
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The contract's example, with the alternatives in its strings left as they are: only its keys count.
const CONTRACT: &str = r#"
{"schema":"quorum.run/v1","runId":"…","mission":"…","state":"running","live":false,"resumable":false,
 "outcome":"ok","exitCode":0,"conditions":["ok"],"allowed":[],"cancelled":false,"unconfined":null,"movedFrom":null,"finalChecks":"auto","audit":"none","resumableAt":null,"startedAt":"…","finishedAt":"…","deadline":null,
 "counts":{"total":3,"done":3,"failed":0,"pending":0,"awaiting":0,"running":0,"notTaken":0,"clean":3,"relaxed":0,"unreviewed":0,"unverified":0,"degraded":0,"belowThreshold":0,"indeterminate":0,"reworked":1,"skipped":0,"regressed":0,"findings":{"critical":0,"high":0,"medium":0,"low":0,"info":0}},
 "usage":{"requests":4,"inputTokens":0,"outputTokens":0,"cost":null,"budget":null},
 "tasks":[{"title":"…","agent":"…","status":"done","phase":null,"qualityFlag":"clean","points":84.0,"score":4.2,"bar":60.0,"barOrigin":"default",
   "attempts":[{"n":1,"kind":"execute","verdict":"fail","cause":"score","points":40.0},{"n":2,"kind":"fix","verdict":"pass","cause":null,"points":84.0}],
   "dimensions":[{"dimension":"correctness","score":4.0,"weight":0.35,"reasoning":"…"}],
   "reviews":[{"stage":"judge","reviewer":"…","model":"…","points":84.0,"dimensions":[{"dimension":"correctness","score":4,"outlier":false,"reasoning":"…"}]}],
   "findings":[{"stage":"judge","reviewer":"…","severity":"high","description":"…","evidence":"…","suggestedFix":"…","open":false}],
   "failure":{"mode":"timeout","class":"timeout","errorType":"timeout","message":"…"},"waiting":{"reason":"approval","id":"…","since":"…"},
   "dependsOn":["…"],"blockedBy":["…"],"startedAt":"…","finishedAt":"…","usage":{}}],
 "gates":[{"name":"…","state":"passed|failed|waiting|overridden","avgScore":4.2,"reason":null}],
 "missionScore":{"points":84.0,"bar":null,"passed":true},
 "approvals":[{"id":"…","command":"…","task":"…","reason":"approval","message":"…","since":"…","expires":null}],
 "requests":[{"id":"…","task":"…","kind":"below-threshold","message":"…"}],"warnings":["…"]}"#;

#[test]
fn every_object_has_the_contracts_fields_in_the_contracts_order() {
    let contract: Value = serde_json::from_str(CONTRACT).unwrap();
    let ours = played();
    let task = |title: &str| {
        let tasks = ours["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["title"] == title).unwrap()
    };
    assert_eq!(keys(&ours), keys(&contract));
    for part in ["counts", "usage", "missionScore"] {
        assert_eq!(keys(&ours[part]), keys(&contract[part]), "{part}");
    }
    for part in ["tasks", "gates", "approvals", "requests"] {
        assert_eq!(keys(&ours[part][0]), keys(&contract[part][0]), "{part}");
    }
    let example = &contract["tasks"][0];
    let (reviewed, failed, waiting) = (
        task("implement-api"),
        task("benchmark on a machine with a rather long name that will not fit"),
        task("audit"),
    );
    for part in ["attempts", "dimensions", "reviews"] {
        assert_eq!(keys(&reviewed[part][0]), keys(&example[part][0]), "{part}");
    }
    assert_eq!(keys(&reviewed["reviews"][0]["dimensions"][0]), keys(&example["reviews"][0]["dimensions"][0]));
    assert_eq!(keys(&failed["failure"]), keys(&example["failure"]));
    assert_eq!(keys(&waiting["waiting"]), keys(&example["waiting"]));
    assert!(keys(&reviewed["usage"]).contains(&"requests"));
}

#[test]
fn an_eventful_run_is_told_in_full() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&played()).unwrap());
}

#[test]
fn a_document_says_nothing_before_there_is_something() {
    let mut scene = Scene::start(Mission::new("m").task("a", &[]).task("b", &[0]));
    let live = document(&scene, true);
    assert_eq!(
        (&live["state"], &live["live"], &live["resumable"]),
        (&json!("running"), &json!(true), &json!(true))
    );
    for field in ["outcome", "exitCode", "finishedAt", "deadline"] {
        assert_eq!(live[field], Value::Null, "{field}");
    }
    assert_eq!(live["conditions"], json!([]));
    assert_eq!(live["tasks"][0]["bar"], json!(60.0));
    assert_eq!(live["tasks"][0]["attempts"][0]["verdict"], Value::Null);
    assert_eq!(live["tasks"][1]["blockedBy"], json!(["a"]));
    assert_eq!(document(&scene, false)["state"], "crashed");

    scene.stopped(rules::engine::StopCause::Interrupted);
    let stopped = document(&scene, false);
    assert_eq!(stopped["state"], "suspended");
    assert_eq!((&stopped["outcome"], &stopped["exitCode"]), (&json!("interrupted"), &json!(130)));
}

#[test]
fn the_mission_score_passes_or_fails_only_at_the_end() {
    let mut mission = Mission::new("m").task("a", &[]);
    mission.plan.rules.quality_threshold = Some(Points::whole(90));
    let mut scene = Scene::start(mission);
    scene.works(0);
    assert_eq!(document(&scene, true)["missionScore"], json!({"points": null, "bar": 90.0, "passed": null}));
    scene.evaluated(0, 84, "good");
    let ended = document(&scene, false);
    assert_eq!(ended["missionScore"], json!({"points": 84.0, "bar": 90.0, "passed": false}));
    assert_eq!((&ended["state"], &ended["outcome"]), (&json!("ended"), &json!("below_threshold")));
}

#[test]
fn a_bar_is_shown_only_where_a_score_decides() {
    let mut mission = Mission::new("m")
        .task("evaluated", &[])
        .task("panel", &[])
        .panel()
        .task("checks", &[])
        .check("true")
        .task("nobody", &[])
        .unreviewed();
    let bars = |document: Value| {
        let tasks = document["tasks"].as_array().unwrap().clone();
        tasks.iter().map(|task| (task["bar"].clone(), task["barOrigin"].clone())).collect::<Vec<_>>()
    };
    let off = {
        let mut mission = Mission::new("m").task("evaluated", &[]);
        mission.plan.rules.settings.evaluate = false;
        bars(document(&Scene::start(mission), true))
    };
    assert_eq!(off, [(Value::Null, Value::Null)]);
    mission.plan.rules.settings.eval_threshold.origin = BarOrigin::Flag;
    assert_eq!(
        bars(document(&Scene::start(mission), true)),
        [
            (json!(60.0), json!("flag")),
            (json!(70.0), json!("mission")),
            (Value::Null, Value::Null),
            (Value::Null, Value::Null)
        ]
    );
}

#[test]
fn ten_thousand_tasks_are_written_row_by_row() {
    let mission = (0..10_000).fold(Mission::new("m"), |mission, n| mission.task(&format!("task {n}"), &[]));
    let scene = Scene::start(mission);
    assert_eq!(document(&scene, true)["tasks"].as_array().unwrap().len(), 10_000);
}
