//! Spellings that people bring from other systems: each means a key or word that is written differently, or elsewhere.

use super::shape::{Shape, Table};

/// A kind of map, or what a word is, or `*` for every map; spellings without case, `_` and `-`; and what to write instead.
const SPELLINGS: &[&str] = &[
    "a task | verificationgate verificationcriteria finishgate | the finish gate is `verify: {requiredTests: [...], testCommand: ...}`",
    "a verification | requiredtests testcommand failtopass passtopass requirecompilation compilecommand requirefilechanges compilationmaxattempts commands | the finish gate is `verify: {...}` of the task; `verification` grades by a rubric",
    "a task | evalthreshold dimensions qualitythreshold threshold criteria reviewers rubric | a review of its own is `expectations: [{type: llm_review, threshold: 3.5, dimensions: [...]}]`, a rubric `verification: {rubric: NAME}`",
    "a task | verificationpass passedge | write `onPass: TITLE`",
    "a task | verificationfail failedge | write `onFail: TITLE`",
    "a task | verificationrefer referedge | write `onRefer: TITLE`",
    "a task | middlewareoverride | write `middleware: [...]`",
    "a task | failtopass | write `verify: {failToPass: [...], testCommand: ...}`",
    "a task | tasktimeout | write `maxDuration: 30m`",
    "a task | failopenonunparsedeval approvalgates maxquestionrounds maxresolutionattempts autorejectontimeout sla | it holds for all tasks: write it in `settings` of the mission",
    "a task | gates qualitygates security redteam vision visionverify | it is one of the mission: `qualityGates: [...]`, `qualityThreshold: ...`, `redTeam: {agent: NAME}`, `vision: {kind: ...}`",
    "settings | gates qualitygates qualitythreshold security redteam vision visionverify | it is one of the mission: `qualityGates: [...]`, `qualityThreshold: ...`, `redTeam: {agent: NAME}`, `vision: {kind: ...}`",
    "settings | verificationgate verificationcriteria | write it on a task: `verify: {...}`, `decomposer: {agent: NAME}`, `expectations: [{type: llm_review, threshold: ..., dimensions: [...]}]`; examples in `rubrics`",
    "a mission | verificationgate verificationcriteria dimensions threshold calibrationexamples criteriadecomposer decomposer | write it on a task: `verify: {...}`, `decomposer: {agent: NAME}`, `expectations: [{type: llm_review, threshold: ..., dimensions: [...]}]`; examples in `rubrics`",
    "an llm_review expectation | evalthreshold qualitythreshold | write `threshold: ...`",
    "a mission | gates | write `qualityGates: [...]`",
    "a mission | security visionverify redteamverify | write `redTeam: {agent: NAME}`, `vision: {kind: ...}`, or `settings: {middleware: {agent: [...]}}`",
    "a mission | verificationgraders reviewpipeline pipeline | write `stages: [{name: ..., agent: NAME}]`",
    "a red team | enabled | leave it out: a red team that is declared is on",
    "a vision check | enabled | leave it out: `kind` says how it looks, and `noop` not at all",
    "a verification | calibrationexamples | write `examples: [...]` of the rubric",
    "a rubric | calibrationexamples | write `examples: [...]`",
    "a criterion | gradetype type | write `grade: binary | ternary | score`",
    "a verification | criteriadecomposer | write `decomposer: {agent: NAME}` of the task",
    "a task | criteriadecomposer | write `decomposer: {agent: NAME}`",
    "* | semanticdriftenabled semanticdrift | write `settings: {middleware: {agent: [..., semantic_drift]}}`",
    "a decomposer | llm llmdecomposer | write `decomposer: {agent: NAME}`",
];

/// The key to write instead of one that a map does not have; a key of a map in it is named with its place.
pub fn key(table: &Table, name: &str) -> Option<String> {
    let inner = || {
        let mut keys = table.keys.iter();
        keys.find(|key| holds(&key.shape, name)).map(|key| format!("write `{}: {{{name}: ...}}`", key.name))
    };
    word(table.name, name).or_else(|| word("*", name)).or_else(inner)
}

/// The word to write instead of one that may not stand there.
pub fn word(expects: &str, text: &str) -> Option<String> {
    let bare = text.to_lowercase().replace(['_', '-', ' ', '.'], "");
    SPELLINGS.iter().find_map(|row| {
        let (kind, row) = row.split_once(" | ")?;
        let (spellings, instead) = row.split_once(" | ")?;
        let is_meant = kind == expects && spellings.split(' ').any(|known| known == bare);
        is_meant.then(|| instead.to_owned())
    })
}

/// Whether a map of this shape has a key.
fn holds(shape: &Shape, name: &str) -> bool {
    match shape {
        Shape::Map(table) => table.key(name).is_some(),
        Shape::Either(shapes) => shapes.iter().any(|shape| holds(shape, name)),
        _ => false,
    }
}
