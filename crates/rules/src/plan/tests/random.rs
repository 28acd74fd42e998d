//! Random files: nothing panics, and an independent reader of YAML reads the same missions.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::mission::file::document::{Node, Tree};
use crate::mission::file::keys::Value as _;
use crate::mission::model::Mission;
use crate::mission::*;

const EXAMPLE: &str = include_str!("../../../../../fixtures/missions/example.yaml");

/// Loads bytes, draws whatever comes out, and compiles what is right.
fn exercise(bytes: Vec<u8>) {
    match load(&Source::new("m.yaml", bytes), &Layers::default()) {
        Ok(loaded) => {
            let tasks = loaded.mission.tasks.len();
            assert!(!loaded.notes.render(DiagnosticStyle::default()).contains("error["));
            assert_eq!(waves(&compile(loaded.mission, &RunOptions::default())).len(), tasks);
        }
        Err(report) => {
            assert!(report.has_errors());
            let text = report.render(DiagnosticStyle { color: false, ascii: true, columns: None });
            assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{text:?}");
            assert!(text.contains("error[Q0") && !text.contains("Q0001"), "{text}");
        }
    }
}

/// A text that YAML can hold in some way, with the characters that make trouble.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z0-9_ .:#'\"{}\\[\\],&*!|>%@`~é-]{1,20}", "yes|no|null|~|1\\.0|0x1F|012|on|-|---|<<"]
}

#[derive(Debug, Clone)]
struct SmallTask {
    description: Option<String>,
    tags: Vec<String>,
    needs: Vec<usize>,
    exclusive: bool,
    priority: u32,
}

fn small_task() -> impl Strategy<Value = SmallTask> {
    let texts = (proptest::option::of(any_text()), proptest::collection::vec(any_text(), 0..3));
    (texts, proptest::collection::btree_set(0usize..8, 0..3), any::<bool>(), 1u32..100).prop_map(
        |((description, tags), needs, exclusive, priority)| SmallTask {
            description,
            tags: tags.into_iter().map(|tag| format!("t{tag}")).collect(),
            needs: needs.into_iter().collect(),
            exclusive,
            priority,
        },
    )
}

/// A valid mission as JSON, or with `block` as YAML with one key a line. Texts are quoted as JSON.
fn write_mission(tasks: &[SmallTask], block: bool) -> String {
    let (open, next, close) = if block { ("\n  - ", "\n    ", "") } else { ("{", ", ", "},") };
    let mut text = match block {
        true => "name: m\nagents:\n  a: {run: [x]}\ntasks:".to_owned(),
        false => "{\"name\": \"m\", \"agents\": {\"a\": {\"run\": [\"x\"]}}, \"tasks\": [".to_owned(),
    };
    let quote = |text: &str| serde_json::to_string(text).unwrap();
    for (index, task) in tasks.iter().enumerate() {
        let needs: Vec<_> = task
            .needs
            .iter()
            .filter(|needed| **needed < index)
            .map(|needed| quote(&format!("t{needed}")))
            .collect();
        let tags: Vec<_> = task.tags.iter().map(|tag| quote(tag)).collect();
        write!(text, "{open}\"title\": \"t{index}\"{next}\"dependsOn\": [{}]", needs.join(", ")).unwrap();
        write!(text, "{next}\"exclusive\": {}{next}\"priority\": {}.5", task.exclusive, task.priority)
            .unwrap();
        write!(text, "{next}\"tags\": [{}]", tags.join(", ")).unwrap();
        if let Some(description) = &task.description {
            write!(text, "{next}\"description\": {}", quote(description)).unwrap();
        }
        text.push_str(close);
    }
    if block { text + "\n" } else { text.trim_end_matches(',').to_owned() + "]}" }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        exercise(bytes);
    }

    #[test]
    fn random_texts_never_panic(text in "[a-z:\\- \n\t\\[\\]{}\"'&*!|>#,~é0-9]{0,200}") {
        exercise(text.into_bytes());
    }

    #[test]
    fn random_changes_of_a_mission_never_panic(
        at in 0..EXAMPLE.len(), cut in 0usize..40, put in "[ -~\n]{0,12}",
    ) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, put.into_bytes());
        exercise(bytes);
    }

    #[test]
    fn random_values_of_a_mission_never_panic(line in 0usize..44, value in any_text()) {
        let replaced: Vec<String> = EXAMPLE.lines().enumerate().map(|(at, text)| match text.split_once(": ") {
            Some((key, _)) if at == line => format!("{key}: {value}"),
            _ => text.to_owned(),
        }).collect();
        exercise(replaced.join("\n").into_bytes());
    }

    #[test]
    fn an_independent_reader_reads_the_same(
        tasks in proptest::collection::vec(small_task(), 1..8), block in any::<bool>(),
    ) {
        let text = write_mission(&tasks, block);
        let loaded = load_text(&text).map_err(|report| TestCaseError::fail(report.render(DiagnosticStyle::default())))?;
        let plain: serde_json::Value = serde_saphyr::from_str(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let independent = Mission::read(Node::root(&Tree::of_plain(&plain)));
        let mut independent = independent.ok_or_else(|| TestCaseError::fail("it is no mission"))?;
        independent.own_agents = 1;
        // Where a setting stands is known to our reader alone.
        independent.written.clone_from(&loaded.mission.written);
        prop_assert_eq!(loaded.mission, independent);
    }
}
