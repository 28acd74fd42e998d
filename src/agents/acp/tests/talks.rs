//! Servers that answer as a test wants.

use super::*;

/// A server that is told what to answer, method by method.
fn talk(options: &str, answers: &[(&str, Value)]) -> (Turn, Played) {
    let mut turn = turn(options);
    let mut played = Played::default();
    played.take(turn.begin());
    for (method, answer) in answers {
        let asked = played.sent.last().unwrap();
        assert_eq!(asked["method"], *method, "{:#?}", played.printed);
        let mut answer = answer.clone();
        answer["id"] = asked["id"].clone();
        played.take(turn.line(answer.to_string().as_bytes()));
    }
    (turn, played)
}

fn capabilities(resumes: bool) -> Value {
    let session = if resumes { json!({"resume": {}}) } else { json!({}) };
    json!({"result": {
        "protocolVersion": 1, "agentCapabilities": {"loadSession": true, "sessionCapabilities": session}
    }})
}

fn opened() -> Value {
    json!({"result": {"sessionId": "new", "modes": {"availableModes": [{"id": "acceptEdits"}]}}})
}

const IN_SESSION: &str = r#"{"permissions": "edit", "session": "old"}"#;

#[test]
fn a_session_is_gone_on_in_as_the_server_can() {
    for (resumes, method) in [(true, "session/resume"), (false, "session/load")] {
        let answers = [
            ("initialize", capabilities(resumes)),
            (method, opened()),
            ("session/set_mode", json!({"result": {}})),
        ];
        let (_, played) = talk(IN_SESSION, &answers);
        assert_eq!(*played.line("session"), json!({"type": "session", "id": "old", "resumed": true}));
        assert_eq!(played.sent.last().unwrap()["params"]["sessionId"], "old");
    }
}

#[test]
fn a_session_that_is_lost_ends_the_turn_whose_prompt_is_for_it() {
    let lost = json!({"error": {"code": -32603, "message": "Internal error: no such session"}});
    let nothing = json!({"result": {"protocolVersion": 1}});
    let (_, lost) = talk(IN_SESSION, &[("initialize", capabilities(true)), ("session/resume", lost)]);
    let (_, unable) = talk(IN_SESSION, &[("initialize", nothing)]);
    for (played, why) in [(lost, "no such session"), (unable, "the server cannot go on in a session")] {
        assert_eq!(played.types(), ["error"]);
        let message = played.line("error")["message"].as_str().unwrap().to_owned();
        assert_eq!(message, format!("cannot go on in the session old: {why}"));
    }
}

#[test]
fn what_a_server_tells_of_earlier_turns_is_no_part_of_this_one() {
    let (mut turn, mut played) = talk(IN_SESSION, &[("initialize", capabilities(false))]);
    let update =
        |update: Value| json!({"method": "session/update", "params": {"sessionId": "old", "update": update}});
    let text = |text: &str| json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    let cost =
        |amount: f64| json!({"sessionUpdate": "usage_update", "cost": {"amount": amount, "currency": "USD"}});
    let tool = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "status": "completed"});
    for old in [text("old words"), cost(0.1), tool] {
        played.take(turn.line(update(old).to_string().as_bytes()));
    }
    for (method, result) in [("session/load", opened()["result"].clone()), ("session/set_mode", json!({}))] {
        let asked = played.sent.last().unwrap();
        assert_eq!(asked["method"], method);
        let answer = json!({"id": asked["id"], "result": result});
        played.take(turn.line(answer.to_string().as_bytes()));
    }
    let id = played.sent.last().unwrap()["id"].clone();
    for new in [
        update(text("new words")),
        update(cost(0.3)),
        json!({"id": id, "result": {"stopReason": "end_turn"}}),
    ] {
        played.take(turn.line(new.to_string().as_bytes()));
    }
    assert_eq!(played.types(), ["session", "mode", "text", "usage", "end"]);
    assert_eq!(played.line("text")["text"], "new words");
    assert_eq!(used(played.line("usage")), usage(0, 0, Some(0.2), false));
    assert_eq!(played.line("usage")["sessionCost"], 0.3);
}

#[test]
fn what_a_turn_costs_is_not_known_where_only_the_cost_of_its_session_is() {
    let answers = [
        ("initialize", capabilities(true)),
        ("session/resume", opened()),
        ("session/set_mode", json!({"result": {}})),
    ];
    let (mut turn, mut played) = talk(IN_SESSION, &answers);
    let update = json!({"sessionUpdate": "usage_update", "cost": {"amount": 0.3, "currency": "USD"}});
    let update = json!({"method": "session/update", "params": {"update": update}});
    let id = played.sent.last().unwrap()["id"].clone();
    for message in [update, json!({"id": id, "result": {"stopReason": "end_turn"}})] {
        played.take(turn.line(message.to_string().as_bytes()));
    }
    let line = played.line("usage");
    assert_eq!((&line["cost"], &line["sessionCost"]), (&Value::Null, &0.3.into()));
}

#[test]
fn a_mode_that_the_server_refuses_or_leaves_ends_the_turn() {
    let start = [("initialize", capabilities(true)), ("session/new", opened())];
    let refused = json!({"error": {"code": -32602, "message": "no"}});
    let (_, played) = talk(EDIT, &[&start[..], &[("session/set_mode", refused)]].concat());
    assert_eq!(played.line("error")["message"], "the server refuses acceptEdits: no");
    assert_eq!(played.exit, Some(FAILED));

    let other = |mode: &str| {
        let update = json!({"sessionUpdate": "current_mode_update", "currentModeId": mode});
        json!({"method": "session/update", "params": {"sessionId": "new", "update": update}}).to_string()
    };
    let (mut turn, mut played) = talk(EDIT, &start);
    played.take(turn.line(other("default").as_bytes()));
    let id = played.sent.last().unwrap()["id"].clone();
    played.take(turn.line(json!({"id": id, "result": {}}).to_string().as_bytes()));
    assert_eq!(
        played.line("error")["message"],
        "the server was set to the mode acceptEdits and stays in default"
    );

    let (mut turn, mut played) =
        talk(EDIT, &[&start[..], &[("session/set_mode", json!({"result": {}}))]].concat());
    played.take(turn.line(other("plan").as_bytes()));
    assert_eq!(played.exit, None);
    played.take(turn.line(other("bypassPermissions").as_bytes()));
    assert_eq!(played.exit, Some(FAILED));
}

#[test]
fn a_server_that_ends_early_or_prints_anything_else_is_an_error_with_its_last_words() {
    let (mut turn, mut played) = talk(EDIT, &[]);
    turn.words("  panic: no more\n");
    turn.words("\n");
    played.take(turn.broken("the server ended"));
    assert_eq!(played.line("error")["message"], "the server ended; its last words: panic: no more");
    let (mut turn, mut played) = talk(EDIT, &[]);
    played.take(turn.line(b" \r"));
    assert_eq!(played.exit, None);
    for _ in 0..1_000 {
        played.take(turn.line(b"Usage: server"));
        assert_eq!(played.exit, None);
    }
    played.take(turn.line(b"Usage: server"));
    assert_eq!(
        played.line("error")["message"],
        "the server printed 1000 lines that are no messages: Usage: server; its last words: Usage: server"
    );
    assert!(turn.line(b"more").is_empty() && turn.broken("again").is_empty() && turn.time_is_up().is_empty());
    let version = json!({"result": {"protocolVersion": 2}});
    assert_eq!(talk(EDIT, &[("initialize", version)]).1.exit, Some(FAILED));
}

#[test]
fn files_terminals_and_extensions_are_refused() {
    let start = [("initialize", capabilities(true)), ("session/new", opened())];
    let (mut turn, mut played) = talk(EDIT, &start);
    for method in ["fs/read_text_file", "fs/write_text_file", "terminal/create", "_x/y"] {
        let request = json!({"id": format!("id of {method}"), "method": method, "params": {"path": "a"}});
        played.take(turn.line(request.to_string().as_bytes()));
        let answer = played.sent.last().unwrap();
        assert_eq!(
            (answer["id"].as_str(), &answer["error"]["code"]),
            (request["id"].as_str(), &(-32601).into())
        );
    }
}
