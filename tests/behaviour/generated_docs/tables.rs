//! Codes of diagnostics, exit codes, events, words: pages of the tables that `quorum explain` prints.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use quorum::words::{self, WordEntry};
use regex::{Captures, Regex};
use rules::domain::{FailureMode, OutcomeClass};
use rules::mission::Code;

use crate::support::pages::Page;

use super::{current, page_with, table};

const DIAGNOSTICS: &str = "docs/reference/diagnostics.md";
const EXIT_CODES: &str = "docs/reference/exit-codes.md";
const EVENTS: &str = "docs/reference/events.md";
const GLOSSARY: &str = "docs/reference/glossary.md";

#[test]
fn the_page_of_diagnostics_has_every_code() {
    let page = page_with(DIAGNOSTICS, |name| match name {
        "codes" => codes(),
        name => panic!("{DIAGNOSTICS} has a part '{name}' that nobody makes"),
    });
    current(DIAGNOSTICS, &page);
}

fn codes() -> String {
    let mut text = String::new();
    for code in Code::ALL {
        let summary = code.summary().trim_end_matches('.');
        let _ = write!(text, "### {code}: {summary}\n\n{}\n\n", code.explanation());
    }
    text.trim_end().to_owned() + "\n"
}

#[test]
fn the_page_of_exit_codes_has_every_outcome() {
    let page = page_with(EXIT_CODES, |name| match name {
        "codes" => outcomes(),
        "precedence" => precedence(),
        name => panic!("{EXIT_CODES} has a part '{name}' that nobody makes"),
    });
    current(EXIT_CODES, &page);
}

fn outcomes() -> String {
    let mut classes = OutcomeClass::BY_PRECEDENCE;
    classes.sort_by_key(|class| class.exit_code());
    let rows = classes.map(|class| {
        let code = class.exit_code().to_string();
        let allow = if class.may_be_allowed() { "yes" } else { "" };
        let name = format!("`{}`", class.as_str());
        [code, name, class.meaning().to_owned(), allow.to_owned()]
    });
    table(["code", "name", "meaning, and what helps", "`--allow`"], rows)
}

fn precedence() -> String {
    let codes = OutcomeClass::BY_PRECEDENCE.map(|class| class.exit_code().to_string());
    format!("{}\n", codes.join(", "))
}

/// What is promised stands in the page with its keys, by hand; everything else that the program can write comes from the
/// program.
#[test]
fn the_page_of_events_has_every_event() {
    let all: Vec<(&WordEntry, Vec<&str>)> = words::all().iter().map(|word| (word, events_of(word))).collect();
    let page = Page::read(EVENTS);
    let (by_hand, _) = page.text.split_once("<!-- generated: ").expect("a part is generated");
    let (_, stable) = by_hand.split_once("## Stable events").expect("the page says what is stable");
    // The first column of the tables.
    let rows = stable.lines().filter_map(|line| line.strip_prefix("| `"));
    let first = rows.filter_map(|row| row.split(" | ").next());
    let stable: BTreeSet<&str> =
        first.flat_map(|names| names.split(['`', ',', ' '])).filter(|name| !name.is_empty()).collect();
    assert!(stable.len() > 30, "{stable:?}");
    for name in &stable {
        let is_known = all.iter().any(|(_, events)| events.contains(name));
        assert!(is_known, "{EVENTS} promises {name}, which nobody writes");
    }
    let rows = all.iter().filter_map(|(word, events)| {
        let names: Vec<String> =
            events.iter().filter(|name| !stable.contains(*name)).map(|name| format!("`{name}`")).collect();
        (!names.is_empty()).then(|| [names.join(", "), word.meaning.clone()])
    });
    let made = table(["event", "meaning"], rows);
    let page = page_with(EVENTS, |name| match name {
        "not stable" => made.clone(),
        name => panic!("{EVENTS} has a part '{name}' that nobody makes"),
    });
    current(EVENTS, &page);
}

/// The names of a word that are those of events.
fn events_of(word: &WordEntry) -> Vec<&'static str> {
    let is_event = |name: &&str| name.contains(':') || name.starts_with("task.");
    word.names.iter().copied().filter(is_event).collect()
}

/// Which words the glossary has, and in which order, stands in the page by hand; what they mean comes from the program.
#[test]
fn the_glossary_says_of_each_word_what_explain_says() {
    let page = page_with(GLOSSARY, |name| match name {
        "failure modes" => {
            let rows = FailureMode::MEANINGS.map(|(word, meaning)| [format!("`{word}`"), meaning.to_owned()]);
            table(["mode", "meaning"], rows)
        }
        name => panic!("{GLOSSARY} has a part '{name}' that nobody makes"),
    });
    let entry = Regex::new(r"(?m)^\*\*([^*]+)\*\*([^–\n]*)– (?:.+\n)+").expect("it is well formed");
    assert!(entry.find_iter(&page).count() > 80, "{page}");
    let page = entry.replace_all(&page, |found: &Captures<'_>| {
        let (word, more) = (&found[1], &found[2]);
        let known = words::find(word).unwrap_or_else(|| panic!("explain does not know '{word}'"));
        format!("**{word}**{more}– {}\n", known.meaning)
    });
    current(GLOSSARY, &page);
}
