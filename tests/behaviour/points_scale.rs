//! Every figure that people see is in points of 100, and says who stands behind it.

use serde_json::json;

use crate::support::{Has, Mission, standing};

#[test]
fn scores_are_points_on_every_screen() {
    let dimensions = json!([{"name": "depth", "weight": 0.75}, {"name": "width", "weight": 0.25}]);
    let workspace = Mission::new()
        .worker("echo work")
        .judge("judge", &[
            r#"{"scores": [{"dimension": "depth", "score": 4, "reasoning": "d"}, {"dimension": "width", "score": 3, "reasoning": "w"}]}"#,
        ])
        .gate("door", ["work"], ["later"], "minScore: 60")
        .task("work", |t| {
            t.expects(json!({"type": "llm_review", "criteria": "good", "dimensions": dimensions}))
        })
        .task("later", |t| t.unreviewed())
        .workspace();
    workspace.run_json(0, &[]);
    let show = workspace.quorum(&["show", "work", "--full"]).exits(0).stdout;
    let metrics = workspace.quorum(&["metrics"]).exits(0).stdout;
    let html = workspace.quorum(&["report", "--html", "-"]).exits(0).stdout;
    // What can be read of the page: places of a drawing are no scores.
    let html: String = html.split('<').filter_map(|tag| Some(tag.split_once('>')?.1)).collect();
    for (what, text) in [("show", &show), ("metrics", &metrics), ("html", &html)] {
        assert!(text.contains("75"), "{what}: {text}");
        assert!(!text.contains("of 5") && !text.contains("3.75"), "{what}: {text}");
    }
    assert!(show.contains("depth 80 of 100: d"), "{show}");
    assert!(metrics.contains("average 75 of 100 (75 to 75)") && metrics.contains("depth 80"), "{metrics}");
    let document = workspace.quorum(&["metrics", "--json"]).exits(0).json();
    document["mission"].has(json!({"avgScore": 3.75, "avgPoints": 75.0, "dimensionPoints": {"width": 60.0}}));
}

#[test]
fn who_accepted_the_work_is_said() {
    let workspace = Mission::new()
        .worker("echo work")
        .agent_with("boss", json!({"adapter": "human"}))
        .task("work", |t| t.expects(json!({"type": "llm_review", "criteria": "good", "reviewers": ["boss"]})))
        .workspace();
    let document = workspace.run_json(8, &["--run-id", "r1"]);
    let id = document["approvals"][0]["id"].as_str().expect("it waits").to_owned();
    for screen in [&["status"][..], &["show", "work", "--full"]] {
        workspace.quorum(screen).exits(0).hides(&["accepted by"]);
    }
    workspace.quorum(&["approve", &id, "--as", "ada"]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    for screen in [&["status"][..], &["show", "work", "--full"]] {
        workspace.quorum(screen).exits(0).shows(&["accepted by ada"]);
    }
    let shown = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
    assert_eq!(shown["acceptedBy"], "ada");
}
