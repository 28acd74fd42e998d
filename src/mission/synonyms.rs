//! Spellings that people bring from other systems: each means a key or word that is written differently, or elsewhere.

use super::shape::{Shape, Table};

/// By kind of map, spellings without case, `_` and `-`, and what to write instead.
const KEYS: &[(&str, &[&str], &str)] = &[
    (
        "a task",
        &["verificationgate", "verificationcriteria", "finishgate"],
        "the finish gate is `verify: {requiredTests: [...], testCommand: ...}`",
    ),
    (
        "a verification",
        &[
            "requiredtests",
            "testcommand",
            "failtopass",
            "passtopass",
            "requirecompilation",
            "compilecommand",
            "requirefilechanges",
            "compilationmaxattempts",
            "commands",
        ],
        "the finish gate is `verify: {...}` of the task; `verification` grades by a rubric",
    ),
    (
        "a task",
        &[
            "evalthreshold",
            "dimensions",
            "qualitythreshold",
            "threshold",
            "criteria",
            "reviewers",
            "rubric",
        ],
        "a review of its own is `expectations: [{type: llm_review, threshold: 3.5, dimensions: [...]}]`, a rubric `verification: \
         {rubric: NAME}`",
    ),
    (
        "a task",
        &["verificationpass", "passedge"],
        "write `onPass: TITLE`",
    ),
    (
        "a task",
        &["verificationfail", "failedge"],
        "write `onFail: TITLE`",
    ),
    (
        "a task",
        &["verificationrefer", "referedge"],
        "write `onRefer: TITLE`",
    ),
    ("a task", &["middlewareoverride"], "write `middleware: [...]`"),
    ("a mission", &["gates"], "write `qualityGates: [...]`"),
    (
        "a mission",
        &["security", "visionverify", "redteamverify"],
        "write `redTeam: {agent: NAME}`, `vision: {kind: ...}`, or `settings: {middleware: {agent: [...]}}`",
    ),
    (
        "a mission",
        &["verificationgraders", "reviewpipeline", "pipeline"],
        "write `stages: [{name: ..., agent: NAME}]`",
    ),
    (
        "a red team",
        &["enabled"],
        "leave it out: a red team that is declared is on",
    ),
    (
        "a vision check",
        &["enabled"],
        "leave it out: `kind` says how it looks, and `noop` not at all",
    ),
    (
        "a verification",
        &["calibrationexamples"],
        "write `examples: [...]` of the rubric",
    ),
    ("a rubric", &["calibrationexamples"], "write `examples: [...]`"),
    (
        "a criterion",
        &["gradetype", "type"],
        "write `grade: pass_fail | score | ...`",
    ),
    (
        "a verification",
        &["criteriadecomposer"],
        "write `decomposer: {agent: NAME}` of the task",
    ),
    (
        "a task",
        &["criteriadecomposer"],
        "write `decomposer: {agent: NAME}`",
    ),
];

/// Where a switch of another system is an entry of a chain here.
const MIDDLEWARE: [&str; 2] = ["semanticdriftenabled", "semanticdrift"];

/// By what a word is, spellings of words, and what to write instead.
const WORDS: &[(&str, &[&str], &str)] = &[(
    "a decomposer",
    &["llm", "llmdecomposer"],
    "write `decomposer: {agent: NAME}`",
)];

/// What to write instead of a key that a map does not have; a key of a map in it is named with its place.
pub(super) fn key(table: &Table, name: &str) -> Option<String> {
    let bare = bare(name);
    if MIDDLEWARE.contains(&&*bare) {
        return Some("write `settings: {middleware: {agent: [..., semantic_drift]}}`".to_owned());
    }
    let mut known = KEYS.iter().filter(|(kind, ..)| *kind == table.name);
    let instead = known.find(|(_, spellings, _)| spellings.contains(&&*bare));
    let inner = || {
        let mut keys = table.keys.iter();
        keys.find(|key| holds(&key.shape, name))
            .map(|key| format!("write `{}: {{{name}: ...}}`", key.name))
    };
    instead.map(|(.., help)| (*help).to_owned()).or_else(inner)
}

/// What to write instead of a word that is none of those that may stand there.
pub(super) fn word(expects: &str, text: &str) -> Option<String> {
    let bare = bare(text);
    let mut known = WORDS.iter().filter(|(kind, ..)| *kind == expects);
    let instead = known.find(|(_, spellings, _)| spellings.contains(&&*bare));
    instead.map(|(.., help)| (*help).to_owned())
}

fn bare(name: &str) -> String {
    name.to_lowercase().replace(['_', '-', ' ', '.'], "")
}

/// Whether a map of this shape has a key.
fn holds(shape: &Shape, name: &str) -> bool {
    match shape {
        Shape::Map(table) => table.key(name).is_some(),
        Shape::Either(shapes) => shapes.iter().any(|shape| holds(shape, name)),
        _ => false,
    }
}
