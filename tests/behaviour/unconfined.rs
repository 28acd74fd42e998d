//! Where the system lets nothing be confined: that is told, or nothing begins, and the second line holds (semantics, section
//! 23).

use serde_json::{Value, json};

use crate::support::events::named;
use crate::support::{Mission, makes_namespaces};

const SWITCHED_OFF: &str = "user namespaces are switched off";

/// Plays something where namespaces can be forbidden, which needs one; elsewhere it is skipped, with a word.
fn where_it_can_be_forbidden(play: impl FnOnce()) {
    if makes_namespaces() {
        play();
    } else {
        println!("skipped: this machine makes no namespaces in which others could be forbidden");
    }
}

#[test]
fn where_nothing_can_be_confined_that_is_told_or_nothing_begins() {
    where_it_can_be_forbidden(|| {
        let mission = || Mission::new().worker("echo ran > ran").task("work", |t| t.check("test -e ran"));
        let workspace = mission().workspace().confined();
        let why = "user namespaces are switched off";
        for strict in [&["--sandbox", "required"][..], &["--strict"]] {
            let refused = workspace.without_namespaces(&[&["run", "mission.yaml"], strict].concat());
            refused.exits(9).says(&[why, strict[0].trim_start_matches('-')]);
            assert!(!workspace.exists("ran"));
        }
        let document = workspace.without_namespaces(&["run", "mission.yaml", "--json"]).exits(0).json();
        assert!(document["unconfined"].as_str().is_some_and(|told| told.contains(why)), "{document:#}");
        workspace.quorum(&["status"]).exits(0).shows(&["unconfined: ", why]);
        let events = workspace.events();
        let told = named(&events, "run:unconfined")[0];
        assert!(told["reason"].as_str().is_some_and(|told| told.contains(why)));
        // Whoever wrote that it need not be has what was written, and that is told; a session says it for itself alone.
        let written = mission().setting("sandbox", "off").workspace().confined().run_json(0, &["--strict"]);
        let session = mission().workspace().confined().run_json(0, &["--sandbox", "off"]);
        for document in [written, session] {
            assert_eq!(document["unconfined"], "`sandbox: off` is written");
        }
    });
}

#[test]
fn doctor_fails_where_a_mission_requires_what_cannot_be_had() {
    where_it_can_be_forbidden(|| {
        let mission = || Mission::new().worker("true").judge("judge", &["SCORE: 90"]);
        let required = || json!({"run": "true", "sandbox": "required"});
        let demanding = [
            mission().setting("sandbox", "required").tasks(["work"]),
            mission().task("work", |t| t.set("sandbox", "required")),
            mission().agent_with("worker", required()).tasks(["work"]),
        ];
        for mission in demanding {
            let workspace = mission.workspace().confined();
            let document = workspace.without_namespaces(&["doctor", "--json"]).exits(9).json();
            let (status, message) = confinement(&document);
            assert_eq!((status, &document["ok"]), ("fail", &json!(false)), "{document:#}");
            assert!(message.contains(SWITCHED_OFF) && message.contains("`sandbox: required`"), "{message}");
            workspace.without_namespaces(&["doctor"]).exits(9).shows(&["fail", SWITCHED_OFF]);
            // Where they can be had, and where the session says that they need not be, nothing fails.
            let here = workspace.quorum(&["doctor", "--json"]).exits(0).json();
            assert_ne!(confinement(&here).0, "fail");
            workspace.without_namespaces(&["doctor", "--sandbox", "auto"]).exits(0);
        }
        let workspace = mission().tasks(["work"]).workspace().confined();
        let document = workspace.without_namespaces(&["doctor", "--json"]).exits(0).json();
        let (status, message) = confinement(&document);
        assert!(status == "warn" && message.contains(SWITCHED_OFF), "{message}");
        for demand in [&["--sandbox", "required"][..], &["--strict"]] {
            let arguments = [&["doctor"], demand].concat();
            workspace.without_namespaces(&arguments).exits(9).shows(&[SWITCHED_OFF]);
        }
    });
}

/// How the check of confinement ended, and what it says.
fn confinement(document: &Value) -> (&str, &str) {
    let checks = document["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["name"] == "confinement").expect("it is looked at");
    let text = |key: &str| check[key].as_str().unwrap_or_default();
    (text("status"), text("message"))
}
