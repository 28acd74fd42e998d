//! Reviewers that share too much with the author: by what the mission declares (semantics, section 8). What providers
//! say is in `http_models`.

use serde_json::json;

use crate::support::{Mission, Workspace, standing, task};

fn mission(families: [&str; 3], more: &str, settings: &str) -> Workspace {
    let [worker, a, b] = families;
    let good = json!({"scores": {"depth": {"reasoning": "seen", "score": 4}}, "findings": []}).to_string();
    Mission::new()
        .keeps_prompts("worker", "prompts")
        .change_agent("worker", worker)
        .judge("a", &[&good, &good])
        .change_agent("a", a)
        .judge("b", &[&good, &good])
        .change_agent("b", b)
        .settings(settings)
        .task("work", |t| t.scored([], "depth").change_expectation("reviewers: 2").change_expectation(more))
        .workspace()
}

#[test]
fn a_reviewer_of_the_authors_family_is_not_asked() {
    let families = ["family: claude", "family: Claude", "family: gpt"];
    for (more, settings) in [("independence: family", ""), ("", "independence: family")] {
        let workspace = mission(families, more, settings);
        let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
        let work = &plan["tasks"][0];
        assert_eq!(work["eligible"], json!([{"agent": "b", "why": "role reviewer or qa"}]));
        assert_eq!(work["excluded"], json!([{"agent": "a", "why": "is of the author's family, claude"}]));
        let ended = workspace.quorum(&["plan", "mission.yaml"]).exits(0);
        ended.shows(&["may not judge: a (is of the author's family, claude)"]);

        let document = workspace.run_json(0, &[]);
        assert_eq!((workspace.calls("a"), workspace.calls("b")), (0, 2));
        assert_eq!(task(&document, "work")["points"], 80.0);
    }
    // An identity of its own is enough where nothing more is asked for.
    let workspace = mission(families, "", "");
    workspace.run_json(0, &[]);
    assert_eq!((workspace.calls("a"), workspace.calls("b")), (1, 1));
}

#[test]
fn a_review_that_nobody_independent_can_give_is_missing() {
    // That nothing is known of a judge is no proof that it is another.
    let workspace = mission(["family: claude", "family: claude", ""], "independence: family", "");
    let document = workspace.run_json(6, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert_eq!((workspace.calls("a"), workspace.calls("b")), (0, 0));
    let ended = workspace.quorum(&["plan", "mission.yaml"]).exits(0);
    ended.shows(&["the family of 'b' is not known: give it a family"]);
}
