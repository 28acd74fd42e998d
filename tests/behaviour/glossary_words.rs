//! The words of the glossary, and none of those that it replaced, wherever a user reads: help, schema, explanations,
//! recorded screens, docs, README, example missions.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::support::Workspace;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Words of the code, and words that stood on screens once and say less than their plain twins.
fn forbidden() -> [Regex; 2] {
    let words = [
        "keepers?",
        "scrutiny",
        "consults?",
        "rooms?",
        "house",
        "stand-ins?",
        "circles?",
        "blot(s|ted)? out",
        "hand(s|ed)? (work )?down",
        "call(s|ed)? (it |a run )?off",
        "errands?",
        "jury",
        "voice",
        "is no JSON",
        "belongs into",
        "derived again",
        "did not tell (theirs|its|their)",
        "nobody can be asked",
    ];
    let verbs = "INSTEAD|AGAIN|MEND|LATE|DEPEND|ASKS|SAYS|ROUTE|NUDGE|SILENT|ESCALATED|ADOPT";
    let text = [
        format!(r"(?i)(^|[^\w/.-])({})([^\w/:-]|$)", words.join("|")),
        format!(r"(^|[^\w-])({verbs})([^\w-]|$)"),
    ];
    text.map(|text| Regex::new(&text).expect("it is well formed"))
}

/// The lines of a text that hold such a word.
fn found(place: &str, text: &str) -> Vec<String> {
    let forbidden = forbidden();
    let is_bad = |line: &&str| forbidden.iter().any(|words| words.is_match(line));
    let lines = text.lines().filter(is_bad);
    lines.map(|line| format!("{place}: {}", line.trim())).collect()
}

fn check(texts: impl IntoIterator<Item = (String, String)>, least: usize) {
    let texts: Vec<_> = texts.into_iter().collect();
    assert!(texts.len() >= least, "only {} texts", texts.len());
    let found: Vec<String> = texts.iter().flat_map(|(place, text)| found(place, text)).collect();
    assert_eq!(found, Vec::<String>::new());
}

/// Every file below a folder whose name ends so.
fn files(folder: &str, ends: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(ROOT).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if ends.iter().any(|end| path.to_string_lossy().ends_with(end)) {
                files.push(path);
            }
        }
    }
    files
}

fn read(path: PathBuf) -> (String, String) {
    let text = fs::read_to_string(&path).expect("text");
    (path.display().to_string(), text)
}

/// The help of a command and of all below it.
fn helps(workspace: &Workspace, command: &[&str], helps: &mut Vec<(String, String)>) {
    let text = workspace.quorum(&[command, &["--help"]].concat()).stdout;
    let named =
        Regex::new(r"(?m)^(?:[A-Z][a-z]+(?: up)?)? {2,}([a-z][a-z-]*(?:, [a-z][a-z-]*)*)(?: {2,}\S|$)");
    let named = named.expect("it is well formed");
    let names = named.captures_iter(&text).filter_map(|found| found.get(1));
    for name in names.flat_map(|names| names.as_str().split(", ")) {
        let below = [command, &[name]].concat();
        // What looks like a command and is none has no help.
        let usage = format!("Usage: quorum {}", below.join(" "));
        let is_command = name != "help"
            && workspace.quorum(&[below.as_slice(), &["--help"]].concat()).stdout.contains(&usage);
        if is_command {
            self::helps(workspace, &below, helps);
        }
    }
    helps.push((format!("quorum {}", command.join(" ")), text));
}

#[test]
fn help_has_the_words_of_the_glossary() {
    let mut texts = Vec::new();
    helps(&Workspace::new(), &[], &mut texts);
    check(texts, 30);
}

#[test]
fn the_schema_and_the_explanations_have_the_words_of_the_glossary() {
    let workspace = Workspace::new();
    let printed = |arguments: &[&str]| {
        let text = workspace.quorum(arguments).exits(0).stdout;
        (arguments.join(" "), text)
    };
    let schemas = workspace.quorum(&["schema", "mission"]).exits(0);
    let explained = printed(&["explain"]);
    let codes = workspace.quorum(&["explain", "--json"]).exits(0).json();
    let codes = codes["codes"].to_string().replace("\\n", "\n");
    check(
        [
            ("schema mission".to_owned(), schemas.stdout.replace("\",", "\n")),
            printed(&["schema", "config"]),
            explained,
            ("explain --json".to_owned(), codes),
        ],
        4,
    );
}

#[test]
fn recorded_screens_have_the_words_of_the_glossary() {
    let mut paths = files("src/report", &[".snap"]);
    // The names of events and of their fields are a contract of their own.
    paths.retain(|path| !path.to_string_lossy().contains("/report/events/"));
    paths.extend(files("crates/rules/src/mission", &[".snap"]));
    paths.extend(files("fixtures/bad/expected", &[".snap", ".txt"]));
    check(paths.into_iter().map(read), 50);
}

#[test]
fn docs_readme_and_missions_have_the_words_of_the_glossary() {
    let mut paths = files("docs", &[".md"]);
    paths.extend(files("missions", &[".md", ".yaml"]));
    paths.push(Path::new(ROOT).join("README.md"));
    let code = Regex::new("`[^`]*`").expect("it is well formed");
    let texts = paths.into_iter().map(|path| {
        let (place, text) = read(path);
        // What explains the code names its files and types.
        let text = match place.contains("docs/design/") {
            true => code.replace_all(&text, "``").into_owned(),
            false => text,
        };
        (place, text)
    });
    check(texts, 25);
}
