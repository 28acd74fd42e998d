use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;

fn folder() -> WorkingFolder {
    WorkingFolder::new(PathBuf::from("/srv/project"), Path::to_path_buf)
}

fn options(text: &str) -> Options {
    serde_json::from_str(text).unwrap()
}

fn rules(read: &str, edit: &str, run: &str) -> Options {
    options(&format!(
        r#"{{"permissions": "full", "rules": {{"read": {read}, "edit": {edit}, "run": {run}}}}}"#
    ))
}

fn of(kind: &str, paths: &[&str]) -> PermissionRequest {
    let paths = paths.iter().map(ToString::to_string).collect();
    PermissionRequest { kind: kind.to_owned(), paths, ..PermissionRequest::default() }
}

fn decide(request: &PermissionRequest, options: &Options) -> PermissionDecision {
    request.decide(options, &folder())
}

const KINDS: [&str; 11] =
    ["read", "search", "think", "fetch", "edit", "delete", "move", "execute", "switch_mode", "other", ""];

#[test]
fn each_permission_allows_its_kinds() {
    for (permissions, allowed) in [("read", 4), ("edit", 7), ("full", 11)] {
        let options = options(&format!(r#"{{"permissions": "{permissions}"}}"#));
        for (at, kind) in KINDS.into_iter().enumerate() {
            let expected = if at < allowed { PermissionDecision::Allow } else { PermissionDecision::Deny };
            assert_eq!(decide(&of(kind, &[]), &options), expected, "{permissions} {kind}");
        }
    }
}

#[test]
fn rules_go_by_kind_and_path() {
    let options = rules(r#""allow""#, r#"{"allow": ["src/**"]}"#, r#""deny""#);
    assert_eq!(decide(&of("search", &["/etc"]), &options), PermissionDecision::Allow);
    assert_eq!(decide(&of("edit", &["/srv/project/src/a.rs"]), &options), PermissionDecision::Allow);
    assert_eq!(decide(&of("move", &["src/a.rs", "src/b.rs"]), &options), PermissionDecision::Allow);
    let denied: [&[&str]; 5] =
        [&[], &["a.rs"], &["src/a.rs", "b.rs"], &["src/../a.rs"], &["/srv/other/src/a.rs"]];
    for paths in denied {
        assert_eq!(decide(&of("edit", paths), &options), PermissionDecision::Deny, "{paths:?}");
    }
    assert_eq!(decide(&of("execute", &[]), &options), PermissionDecision::Deny);
    let many: Vec<String> = (0..=MAX_PATHS).map(|number| format!("src/{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(decide(&of("edit", &many), &options), PermissionDecision::Deny);
}

#[test]
fn a_kind_that_nobody_knows_is_held_to_the_strictest_rule() {
    let unknown = of("other", &["src/a.rs"]);
    let allow = r#""allow""#;
    assert_eq!(decide(&unknown, &rules(allow, allow, allow)), PermissionDecision::Allow);
    assert!(matches!(decide(&unknown, &rules(allow, allow, r#""ask""#)), PermissionDecision::Ask(_)));
    assert_eq!(decide(&unknown, &rules(allow, r#"{"allow": ["**"]}"#, r#""ask""#)), PermissionDecision::Deny);
}

#[test]
fn a_wish_says_where_its_parts_end() {
    let ask = rules(r#""ask""#, r#""ask""#, r#""ask""#);
    let wish = |request: PermissionRequest| match decide(&request, &ask) {
        PermissionDecision::Ask(wish) => wish,
        other => panic!("{other:?}"),
    };
    let run = |input| {
        wish(PermissionRequest {
            kind: "execute".to_owned(),
            title: "T".to_owned(),
            input,
            ..PermissionRequest::default()
        })
    };
    assert_eq!(run(json!({"command": "cargo test", "cwd": "/srv/project"})), r#"run "cargo test""#);
    assert_eq!(run(json!({"command": "a \"b\"\nc", "cwd": "/srv"})), r#"run "a \"b\"\nc" in "/srv""#);
    assert_eq!(run(json!({"command": ["rm", "a, b"], "cwd": "sub"})), r#"run ["rm", "a, b"] in "sub""#);
    assert_eq!(
        run(json!({"z": 1, "a": {"y": 1, "x": 2}})),
        r#"run titled "T" with {"a":{"x":2,"y":1},"z":1}"#
    );
    assert_eq!(run(json!("?")), r#"run titled "T""#);
    assert_eq!(wish(of("edit", &["/srv/project/src/a.rs"])), r#"edit "src/a.rs""#);
    assert_eq!(wish(of("move", &["a b", "/etc/c"])), r#"move "a b" "/etc/c""#);
    // What turns the direction of reading or cannot be seen is written out.
    assert_eq!(run(json!({"command": "a\u{202e}b\u{200b}é\u{7f}"})), "run \"a\\u202eb\\u200bé\u{7f}\"");
    let title = "pay".to_owned();
    let request = PermissionRequest {
        kind: "other".to_owned(),
        title,
        input: json!({"sum": 3}),
        ..PermissionRequest::default()
    };
    assert_eq!(wish(request), r#"use titled "pay" with {"sum":3}"#);
}

#[test]
fn a_wish_that_nobody_would_read_is_denied() {
    let ask = rules(r#""ask""#, r#""ask""#, r#""ask""#);
    let of_length = |length: usize| PermissionRequest {
        kind: "execute".to_owned(),
        input: json!({"command": "x".repeat(length - r#"run """#.len())}),
        ..PermissionRequest::default()
    };
    assert!(matches!(decide(&of_length(MAX_WISH), &ask), PermissionDecision::Ask(_)));
    assert_eq!(decide(&of_length(MAX_WISH + 1), &ask), PermissionDecision::Deny);
}

#[test]
fn options_are_chosen_by_kind_and_never_for_good() {
    let option = |id: &str, kind: &str| json!({"optionId": id, "kind": kind});
    let all =
        json!([option("a", "allow_always"), 3, option("b", "allow_once"), option("allow", "reject_once")]);
    assert_eq!(choose(&all, true), Some("b".into()));
    assert_eq!(choose(&all, false), Some("allow".into()));
    let always = json!([option("a", "allow_always"), option("r", "reject_always")]);
    assert_eq!(choose(&always, true), None);
    assert_eq!(choose(&always, false), Some("r".into()));
    assert_eq!(choose(&json!({"kind": "allow_once"}), true), None);
    assert_eq!(choose(&json!([{"optionId": 3, "kind": "allow_once"}]), true), None);
}
