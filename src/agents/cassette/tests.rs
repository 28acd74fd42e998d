//! What is recorded, and when it is given back.

use super::*;
use crate::agents::model::tests::{KEY, endpoint_of, request};
use crate::agents::model::{ModelUsage, ToolCall, ToolExchange, ToolResult};
use rules::domain::{Timestamp, date_line};
use rules::mission::model::Adapter;

fn run(id: &str) -> RunId {
    RunId::new(id).unwrap()
}

fn call() -> CallKey {
    CallKey {
        task: "Write the docs, überall".to_owned(),
        agent: "judge".to_owned(),
        attempt: 2,
        stage: "judge".to_owned(),
        place: vec![0, 1, 1],
    }
}

fn asked(change: impl FnOnce(&mut ModelRequest)) -> RecordedQuestion {
    let mut request = request();
    change(&mut request);
    RecordedQuestion::of(&endpoint_of(Adapter::Openai, "http://h/v1"), &request, &Dialogue::default())
}

fn reply(text: &str) -> Result<ModelReply, ModelError> {
    Ok(ModelReply {
        text: text.to_owned(),
        model: Some("m-2026".to_owned()),
        usage: ModelUsage { input_tokens: Some(7), output_tokens: None },
        finish_reason: Some("stop".to_owned()),
        calls: Vec::new(),
        said: Value::Null,
    })
}

fn error(class: FailureClass) -> Result<ModelReply, ModelError> {
    Err(ModelError::new(class, Some(429), "slow down"))
}

fn recorded(result: &Result<ModelReply, ModelError>) -> (tempfile::TempDir, Cassette) {
    let folder = tempfile::tempdir().unwrap();
    let cassette = Cassette::record_into(folder.path(), &run("r1")).unwrap();
    cassette.put(&call(), 1, &asked(|_| {}), result).unwrap();
    let cassette = Cassette::open(folder.path()).unwrap();
    (folder, cassette)
}

/// The only file of a recording.
fn file(folder: &tempfile::TempDir) -> PathBuf {
    let mut files = fs::read_dir(folder.path().join("replies")).unwrap();
    files.next().unwrap().unwrap().path()
}

#[test]
fn the_same_question_gets_what_it_got() {
    let (folder, cassette) = recorded(&reply("SCORE: 80"));
    assert_eq!(cassette.get(&call(), 1, &asked(|_| {})), reply("SCORE: 80"));
    let name = file(&folder).file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("write-the-docs-berall-"), "{name}");
    assert!(name.ends_with(".2.judge.0-1-1.1.json"), "{name}");
}

#[test]
fn a_failure_is_given_back_without_its_pause() {
    let (_folder, cassette) = recorded(&error(FailureClass::RateLimited));
    let given = cassette.get(&call(), 1, &asked(|_| {})).unwrap_err();
    assert_eq!((given.class, given.status), (FailureClass::RateLimited, Some(429)));
    assert_eq!(given.retry_after, Some(Millis(0)));
    let (_folder, cassette) = recorded(&error(FailureClass::ProviderAuth));
    let given = cassette.get(&call(), 1, &asked(|_| {})).unwrap_err();
    assert_eq!((given.class, given.retry_after), (FailureClass::ProviderAuth, None));
}

#[test]
fn another_question_gets_nothing_and_is_told_what_differs() {
    let (_folder, cassette) = recorded(&reply("SCORE: 80"));
    let refused = |call: &CallKey, number, asked: &RecordedQuestion| {
        let error = cassette.get(call, number, asked).unwrap_err();
        assert_eq!((error.class, error.retry_after), (FailureClass::PolicyBlocked, None));
        error.message
    };
    let same = || asked(|_| {});
    for (asked, why) in [
        (
            asked(|request| request.prompt = "Judge this!".to_owned()),
            r#"line 1 of the prompt was "Judge this." and is "Judge this!""#,
        ),
        (
            asked(|request| request.prompt.push_str("\nMore.")),
            r#"line 2 of the prompt was "(nothing)" and is "More.""#,
        ),
        (
            asked(|request| request.system = None),
            r#"line 1 of the system prompt was "You judge." and is "(nothing)""#,
        ),
        (asked(|request| request.max_tokens = Some(9)), "the maxTokens was"),
        (asked(|request| request.temperature = Some(Decimal::ONE_HUNDRED)), "the temperature was"),
        (asked(|request| request.schema = Some(json!({"other": 1}))), "the form of the reply was"),
    ] {
        let said = refused(&call(), 1, &asked);
        assert!(said.contains(why), "{said}");
        assert!(said.starts_with("offline: task 'Write the docs, überall', attempt 2, judge"), "{said}");
    }
    assert!(refused(&call(), 2, &same()).contains("none was recorded"));
    let later = CallKey { attempt: 3, ..call() };
    assert!(refused(&later, 1, &same()).contains("none was recorded"));
    let other = CallKey { agent: "judge-b".to_owned(), ..call() };
    assert!(refused(&other, 1, &same()).contains("recorded for agent 'judge'"));
}

#[test]
fn the_time_of_day_is_no_difference() {
    let at = |now| asked(|request| request.prompt = format!("Judge.\n{}\n", date_line(Timestamp(now))));
    let folder = tempfile::tempdir().unwrap();
    let cassette = Cassette::record_into(folder.path(), &run("r1")).unwrap();
    cassette.put(&call(), 1, &at(1_795_298_340_000), &reply("x")).unwrap();
    let cassette = Cassette::open(folder.path()).unwrap();
    assert_eq!(cassette.get(&call(), 1, &at(1_895_298_340_000)), reply("x"));
}

#[test]
fn what_tools_gave_is_part_of_the_question() {
    let given = |text: &str| {
        let call = ToolCall { id: "1".to_owned(), name: "read".to_owned(), arguments: json!({}) };
        let result = ToolResult { class: None, text: text.to_owned(), failed: false, why: None, exit: None };
        let dialogue = Dialogue {
            exchanges: vec![ToolExchange { said: Value::Null, calls: vec![(call, result)] }],
            ..Dialogue::default()
        };
        RecordedQuestion::of(&endpoint_of(Adapter::Openai, "http://h/v1"), &request(), &dialogue)
    };
    let folder = tempfile::tempdir().unwrap();
    let cassette = Cassette::record_into(folder.path(), &run("r1")).unwrap();
    cassette.put(&call(), 1, &given("a"), &reply("x")).unwrap();
    let cassette = Cassette::open(folder.path()).unwrap();
    assert_eq!(cassette.get(&call(), 1, &given("a")), reply("x"));
    let error = cassette.get(&call(), 1, &given("b")).unwrap_err();
    assert!(error.message.contains("result of the tools"), "{}", error.message);
}

#[test]
fn a_key_is_never_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let cassette = Cassette::record_into(folder.path(), &run("r1")).unwrap();
    cassette.hold_back(endpoint_of(Adapter::Openai, "http://h/v1").secrets().clone());
    let leaky = || asked(|request| request.prompt = format!("The key is {KEY}."));
    cassette.put(&call(), 1, &leaky(), &reply(&format!("So it is {KEY}?"))).unwrap();
    let text = fs::read_to_string(file(&folder)).unwrap();
    assert!(!text.contains(KEY), "{text}");
    // It is still the same question.
    let cassette = Cassette::open(folder.path()).unwrap();
    cassette.hold_back(endpoint_of(Adapter::Openai, "http://h/v1").secrets().clone());
    let given = cassette.get(&call(), 1, &leaky()).unwrap();
    assert_eq!(given.text, "So it is [redacted]?");
}

#[test]
fn a_file_that_was_changed_is_no_record() {
    let (folder, held) = recorded(&reply("SCORE: 80"));
    let opened = || Cassette::open(folder.path()).unwrap();
    let path = file(&folder);
    let text = fs::read_to_string(&path).unwrap();
    for (changed, why) in [
        (text.replace("SCORE: 80", "SCORE: 90"), "changed since"),
        (text.replace("recorded-reply/v1", "recorded-reply/v2"), "the form"),
        (text[..text.len() / 2].to_owned(), "cannot be read"),
    ] {
        fs::write(&path, changed).unwrap();
        let error = opened().get(&call(), 1, &asked(|_| {})).unwrap_err();
        assert!(error.message.contains(why), "{}", error.message);
    }
    // What was read before holds.
    assert_eq!(held.get(&call(), 1, &asked(|_| {})), reply("SCORE: 80"));
    // Another layout of the same is fine.
    let compact: Value = serde_json::from_str(&text).unwrap();
    fs::write(&path, compact.to_string()).unwrap();
    assert_eq!(opened().get(&call(), 1, &asked(|_| {})), reply("SCORE: 80"));
}

#[test]
fn a_folder_holds_one_recording() {
    let (folder, _) = recorded(&reply("x"));
    assert!(matches!(Cassette::record_into(folder.path(), &run("r2")), Err(CassetteError::Taken(_))));
    assert!(Cassette::record_into(folder.path(), &run("r1")).is_ok());
    // One that does not say whose it is is nobody's.
    let head = folder.path().join("cassette.json");
    let text = fs::read_to_string(&head).unwrap();
    assert!(text.contains(r#""run": "r1""#), "{text}");
    fs::write(&head, format!(r#"{{"schema": "{CASSETTE}", "quorum": "0.1.0"}}"#)).unwrap();
    assert!(matches!(Cassette::record_into(folder.path(), &run("r1")), Err(CassetteError::Taken(_))));
    assert!(Cassette::open(folder.path()).is_ok());
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(Cassette::open(empty.path()), Err(CassetteError::Nothing(_))));
    for head in ["{}", "soup", r#"{"schema": "quorum.cassette/v2"}"#] {
        fs::write(empty.path().join("cassette.json"), head).unwrap();
        assert!(matches!(Cassette::open(empty.path()), Err(CassetteError::Unknown { .. })));
    }
}
