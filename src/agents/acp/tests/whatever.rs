//! Whatever a server could send.

use proptest::prelude::*;

use super::*;

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z_/]{0,8}|end_turn|edit|allow_once|s".prop_map(Value::from),
    ];
    let keys = "[a-z]{1,3}|id|method|params|update|result|error|sessionUpdate|toolCallId|toolCall|options|rawInput|\
                locations|path|content|text|_meta|codex|modes|availableModes|cost|amount|code|message|data|kind";
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((keys, inner), 0..6).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// Puts `other` in the place number `at` of a value.
fn replace(value: &mut Value, at: &mut usize, other: &Value) {
    if *at == 0 {
        *value = other.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Array(entries) if *at < 10_000 => {
            entries.iter_mut().for_each(|entry| replace(entry, at, other))
        }
        Value::Object(entries) if *at < 10_000 => {
            entries.values_mut().for_each(|entry| replace(entry, at, other))
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn no_value_anywhere_in_a_message_makes_it_panic(
        server in 0..SERVERS.len(),
        scene in prop::sample::select(vec!["ok", "asked", "e402", "read", "edit"]),
        places in prop::collection::vec((0..20_usize, 0..40_usize, anything()), 1..4),
        rule in prop::sample::select(vec!["allow", "ask", "deny"]),
    ) {
        let mut turn = turn(&with_rules(rule));
        let mut played = Played::default();
        played.take(turn.begin());
        let messages = recording(SERVERS[server], scene).into_iter().filter(|(is_of_server, _)| *is_of_server);
        for (number, (_, mut message)) in messages.enumerate() {
            if message.get("method").is_none() {
                message["id"] = played.sent.iter().rev().find_map(|sent| sent.get("method").and(sent.get("id"))).cloned().into();
            }
            for (_, at, other) in places.iter().filter(|(line, _, _)| *line == number) {
                replace(&mut message, &mut at.clone(), other);
            }
            let steps = turn.line(message.to_string().as_bytes());
            let is_over = played.exit.is_some();
            prop_assert!(!is_over || steps.is_empty());
            played.take(steps);
        }
        played.take(turn.terminate());
        played.take(turn.time_is_up());
        played.take(turn.broken("it ended"));
        prop_assert!(played.exit.is_some());
        prop_assert!(played.lines("end").len() + played.lines("error").len() + played.lines("permission").len() <= 1);
    }

    #[test]
    fn no_bytes_make_it_panic(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..8)) {
        let mut turn = turn(EDIT);
        turn.begin();
        for line in lines {
            turn.line(&line);
        }
    }

    #[test]
    fn a_message_that_is_broken_anywhere_is_no_message_and_no_panic(at in 0..4_000_usize, byte in any::<u8>()) {
        let mut turn = turn(&with_rules("ask"));
        let mut played = Played::default();
        played.take(turn.begin());
        let text = fs::read(format!("{}/fixtures/agents/acp/gemini/ok.wire", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let mut text = text;
        text[at] = byte;
        for line in text.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"< ")) {
            turn.line(line);
        }
    }
}
