//! By what processes are confined: by the supervisor where it may, else by bubblewrap; `doctor` says which.

use super::*;

/// What `doctor` finds of confinement.
fn found(doctor: &Finished) -> Value {
    let document = doctor.json();
    let checks = document["checks"].as_array().expect("a list");
    checks.iter().find(|check| check["name"] == "confinement").expect("it is looked at").clone()
}

#[test]
fn doctor_names_the_way() {
    by_everybody(|who| {
        let workspace = Workspace::new().confined();
        let confinement = found(&who.start(&workspace, &["doctor", "--json"]).finish());
        let way = if matches!(who, Who::Bubblewrapped) { "bubblewrap" } else { "native" };
        let tier = if matches!(who, Who::Masked) { "shared-processes" } else { "whole" };
        let found = (&confinement["way"], &confinement["tier"]);
        assert_eq!(found, (&json!(way), &json!(tier)), "{confinement:#}");
        assert!(confinement["message"].as_str().is_some_and(|told| told.contains(way)), "{confinement:#}");
    });
}

#[test]
fn where_bubblewrap_cannot_either_both_reasons_are_told() {
    if !has_bubblewrap() {
        return skipped("bubblewrap is not installed, or makes no namespaces");
    }
    let workspace = Workspace::new().confined();
    let confinement = found(&workspace.without_namespaces(&["doctor", "--json"]));
    let reason = confinement["reason"].as_str().expect("there is one");
    for word in ["user namespaces are switched off", "nor by bubblewrap: ", "max_user_namespaces"] {
        assert!(reason.contains(word), "{reason}");
    }
}
