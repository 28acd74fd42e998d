//! The fast way: straight from the text into the structs.
//!
//! It reads the plain dialect only: no anchors, aliases, tags or merge keys, no key that is unknown or not built yet.
//! Whatever is outside of that, or wrong in any way, makes it give up without a word, and the careful way decides. So
//! it can only ever accept what the careful way accepts.

use serde::Deserialize;
use serde_yaml::{Budget, MergeKeyPolicy, Options, budget, options};

use super::model::{Adapter, Mission, OnExhausted, TaskType};

/// The mission, if the file is plain and the structs have a field for everything in it.
pub(super) fn read(text: &str) -> Option<Mission> {
    if !is_plain(text) {
        return None;
    }
    let mut all_known = true;
    let mission =
        serde_yaml::with_deserializer_from_str_with_options(text, reading(text.len()), |deserializer| {
            let mut ignored = |path: serde_ignored::Path<'_>| all_known &= is_ignorable(&path);
            Mission::deserialize(serde_ignored::Deserializer::new(deserializer, &mut ignored))
        });
    mission
        .ok()
        .filter(|mission| all_known && is_complete(mission) && is_built(mission))
}

/// Whether nothing in the text looks like an anchor, alias, tag, merge key or directive. Texts may contain such
/// characters too; then the careful way is taken for nothing, which is only slower.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let starts_token = |at: usize| at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    !bytes.iter().enumerate().any(|(at, byte)| match byte {
        b'&' | b'*' | b'!' | b'?' => starts_token(at),
        b'<' => bytes[at..].starts_with(b"<<"),
        b'%' => at == 0 || bytes[at - 1] == b'\n',
        b'-' => bytes[at..].starts_with(b"---") && (at == 0 || bytes[at - 1] == b'\n'),
        _ => false,
    })
}

/// Limits in proportion to the text, so that its size is the only bound.
fn reading(len: usize) -> Options {
    let budget: Option<Budget> = budget! {
        max_nodes: len + 16,
        max_events: 2 * len + 64,
        max_total_scalar_bytes: len + 16,
        max_depth: 64,
        max_anchors: 0,
        max_aliases: 0,
    };
    options! { budget: budget, merge_keys: MergeKeyPolicy::Error, strict_booleans: true, with_snippet: false }
}

/// Whether the key at the end of the path is the user's own.
fn is_ignorable(path: &serde_ignored::Path<'_>) -> bool {
    use serde_ignored::Path;
    match path {
        Path::Map { key, .. } => key.starts_with("x-"),
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            is_ignorable(parent)
        }
        Path::Root | Path::Seq { .. } => false,
    }
}

/// Whether every name that must be there is: a missing one is read as an empty text.
fn is_complete(mission: &Mission) -> bool {
    !mission.name.is_empty()
        && mission.tasks.iter().all(|task| !task.title.is_empty())
        && mission.gates.iter().all(|gate| !gate.name.is_empty())
}

/// Whether no key has a value whose behaviour is not built yet.
fn is_built(mission: &Mission) -> bool {
    let is_ending =
        |ending: Option<OnExhausted>| matches!(ending, None | Some(OnExhausted::Fail | OnExhausted::Accept));
    is_ending(mission.on_exhausted)
        && mission
            .agents
            .0
            .iter()
            .all(|(_, agent)| matches!(agent.adapter, Adapter::Command | Adapter::Openai))
        && mission
            .tasks
            .iter()
            .all(|task| is_ending(task.on_exhausted) && task.kind != TaskType::Verification)
}
