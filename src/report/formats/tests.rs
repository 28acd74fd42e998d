//! What every format that pipelines read must say, whatever a run ended with.

use rules::domain::{OutcomeClass, Severity};
use rules::engine::Outcome;

use super::{annotations::annotations, junit::junit, sarif::sarif};
use crate::report::documents::RunDocument;
use crate::report::folds::alerts::{Alert, alerts};
use crate::report::testing::{Mission, Scene};

/// Plays a check on the document of a run whose tasks and gates tell nothing, with this outcome.
fn with_outcome(class: Option<OutcomeClass>, check: impl Fn(&RunDocument<'_>)) {
    let scene = Scene::start(Mission::new("m").task("work", &[]));
    let outcome = class.map(|class| Outcome { class, conditions: vec![class], allowed: Vec::new() });
    check(&RunDocument::of_session(&scene.state, &scene.view, outcome.as_ref()));
}

#[test]
fn a_run_that_is_not_ok_is_green_in_no_format_whatever_its_class() {
    let classes = OutcomeClass::BY_PRECEDENCE.map(Some).into_iter().chain([None]);
    for class in classes {
        with_outcome(class, |run| {
            let is_ok = class == Some(OutcomeClass::Ok);
            let has_error = alerts(run, &|_| false).iter().any(|alert| alert.severity > Severity::Medium);
            assert_eq!(has_error, !is_ok, "alerts: {class:?}");
            let shown = annotations(run);
            assert_eq!(
                shown.contains("::error") || shown.contains("::warning"),
                !is_ok,
                "{class:?}: {shown}"
            );
            let xml = junit(run).unwrap();
            // What waits for a person is skipped.
            let is_red = !is_ok && class != Some(OutcomeClass::Awaiting);
            assert_eq!(xml.contains("<error") || xml.contains("<failure"), is_red, "{class:?}: {xml}");
            let log = sarif(run, &[]);
            assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], is_ok, "{class:?}");
        });
    }
}

#[test]
fn results_beyond_what_is_shown_are_left_out_and_counted() {
    let alert = |n: u32| Alert {
        rule: "judge".to_owned(),
        severity: Severity::High,
        message: format!("finding {n}"),
        path: "a b.txt".to_owned(),
        line: n + 1,
        fingerprint: n.to_string(),
    };
    let many: Vec<Alert> = (0..5_002).map(alert).collect();
    with_outcome(Some(OutcomeClass::Ok), |run| {
        let log = sarif(run, &many);
        let run = &log["runs"][0];
        assert_eq!(run["results"].as_array().unwrap().len(), 5_000);
        assert_eq!(
            run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "a%20b.txt"
        );
        let told = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
        assert!(told.as_str().unwrap().starts_with("2 more are left out"), "{told}");
    });
}
