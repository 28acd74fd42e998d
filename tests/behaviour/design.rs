//! The design pages are those of this source tree: what comments cite is there, and every module stands in the architecture.
//! That imports point where it says is counted by `tests/tidy/main.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::support::pages::{Page, project};

const ARCHITECTURE: &str = "docs/design/architecture.md";

/// Where the modules of the rules are.
const RULES: &str = "crates/rules/src";

/// The source files below a folder, with their paths from the project's folder and their text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let (mut folders, mut sources) = (vec![PathBuf::from(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(project("").join(&folder)).expect("the folder is there") {
            let path = folder.join(entry.expect("the folder can be read").file_name());
            let file = project("").join(&path);
            if file.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(file).expect("sources are text");
                sources.push((path.display().to_string(), text));
            }
        }
    }
    sources
}

/// The comments of a source, a run of comment lines as one text: a citation may be broken over two lines.
fn comments(source: &str) -> Vec<(usize, String)> {
    let mut comments: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(source.lines()) {
        let comment = line.trim_start().strip_prefix("//");
        let Some(comment) = comment.map(|text| text.trim_start_matches(['/', '!'])) else {
            goes_on = false;
            continue;
        };
        match comments.last_mut().filter(|_| goes_on) {
            Some((_, text)) => text.push_str(comment),
            None => comments.push((number, comment.to_owned())),
        }
        goes_on = true;
    }
    comments
}

/// Sections such as 6 and 6.3 that the page of the rules has.
fn sections() -> BTreeSet<String> {
    let text = Page::read("docs/design/semantics.md").text;
    let heading = Regex::new(r"(?m)^## ([0-9]+)\. ").expect("it is an expression");
    let part = Regex::new(r"(?:\*\*|, )([0-9]+\.[0-9]+) ").expect("it is an expression");
    let found = heading.captures_iter(&text).chain(part.captures_iter(&text));
    found.map(|found| found[1].to_owned()).collect()
}

#[test]
fn comments_cite_rules_that_are_there() {
    let sections = sections();
    assert!(sections.contains("23") && sections.contains("6.3"), "{sections:?}");
    let cited = Regex::new(r"(?i)\bsections? ((?:[0-9]+(?:\.[0-9]+)?(?:, | and | to )?)+)")
        .expect("it is an expression");
    let elsewhere = Regex::new(r"(?i)\bdecisions? [0-9]|\bsemantics,? [0-9]|mission format")
        .expect("it is an expression");
    let page = Regex::new("`?(docs/[a-z/-]+\\.md)").expect("it is an expression");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (path, text) in [sources("src"), sources("crates"), sources("tests")].concat() {
        for (line, comment) in comments(&text) {
            let mut tell = |what: &str| wrong.push(format!("{path}:{line}: {what}"));
            if let Some(found) = elsewhere.find(&comment) {
                tell(&format!("`{}` is nowhere in the project", found.as_str()));
            }
            for found in cited.captures_iter(&comment) {
                for section in found[1].split([',', ' ']).filter(|word| word.contains(char::is_numeric)) {
                    count += 1;
                    if !sections.contains(section.trim_end_matches('.')) {
                        tell(&format!("the rules have no section {section}"));
                    }
                }
            }
            for found in page.captures_iter(&comment) {
                if !project(&found[1]).is_file() {
                    tell(&format!("there is no page {}", &found[1]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 150, "only {count} citations were found");
}

/// The modules of the program and of the rules, without those of tests, and the supervisor.
fn modules() -> BTreeSet<String> {
    let entries = ["src", RULES]
        .into_iter()
        .flat_map(|folder| fs::read_dir(project(folder)).expect("the folder is there"));
    let names = entries.map(|entry| {
        let path = entry.expect("the folder can be read").path();
        let name = Path::file_stem(&path).and_then(|name| name.to_str());
        name.expect("sources have plain names").to_owned()
    });
    let names = names.filter(|name| !matches!(name.as_str(), "lib" | "main"));
    names.chain(["supervisor".to_owned()]).collect()
}

#[test]
fn every_module_stands_in_the_architecture() {
    let page = Page::read(ARCHITECTURE);
    let row = Regex::new(r"(?m)^\| `([a-z_]+)(?:/|\.rs)` \| ").expect("it is an expression");
    let (_, rest) = page.text.split_once("## Modules").expect("the page has the modules");
    let (table, _) = rest.split_once("\nEach module begins").expect("the table has an end");
    let named: BTreeSet<String> = row.captures_iter(table).map(|found| found[1].to_owned()).collect();
    assert_eq!(named, modules());
}

#[test]
fn files_that_the_architecture_names_are_there() {
    let page = Page::read(ARCHITECTURE);
    let source = Regex::new(r"`((?:[a-z_]+/)*[a-z_]+\.rs)`").expect("it is an expression");
    let folder = Regex::new(r"`((?:[a-z_]+/)+)`").expect("it is an expression");
    let sources = [sources("src"), sources("crates"), sources("tests")].concat();
    let is_source = |name: &str| {
        // The supervisor is one module, whose files lie in the package of its name.
        let name =
            name.strip_prefix("supervisor/").map_or(name.to_owned(), |name| format!("supervisor/src/{name}"));
        sources.iter().any(|(path, _)| format!("/{path}").ends_with(&format!("/{name}")))
    };
    let places = ["", "src", RULES, "crates"].map(project);
    let is_folder = |name: &str| places.iter().any(|place| place.join(name).is_dir());
    // Folders of the state are no folders of the source tree.
    let is_ours = |name: &str| modules().contains(name.split('/').next().unwrap_or_default());
    let mut wrong = Vec::new();
    for (number, line) in (1..).zip(page.text.lines()) {
        let sources = source.captures_iter(line).map(|found| found[1].to_owned());
        let folders = folder.captures_iter(line).map(|found| found[1].to_owned());
        let gone = sources.filter(|name| !is_source(name));
        let gone = gone.chain(folders.filter(|name| is_ours(name) && !is_folder(name)));
        wrong.extend(gone.map(|name| format!("{ARCHITECTURE}:{number}: there is no {name}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_dependency_has_its_reason() {
    let manifests = ["Cargo.toml", "crates/rules/Cargo.toml", "crates/supervisor/Cargo.toml"];
    let manifests = manifests.map(|path| fs::read_to_string(project(path)).expect("it is there")).concat();
    let tables = manifests.split("\n[").filter(|table| {
        let head = table.lines().next().unwrap_or_default();
        head.ends_with("dependencies]")
    });
    let lines = tables.flat_map(|table| table.lines().skip(1));
    let named = lines.filter_map(|line| line.split_once(" = ")?.0.split('.').next());
    let named = named.filter(|name| !name.starts_with("quorum-"));
    let named: BTreeSet<String> = named.map(str::to_owned).collect();
    assert!(named.len() > 30, "{named:?}");
    let page = fs::read_to_string(project("CONTRIBUTING.md")).expect("it is there");
    let (_, part) = page.split_once("## Dependencies").expect("it has this part");
    let rows = part.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let told = rows.flat_map(|row| row.split(", "));
    let told = told.map(|name| name.split(' ').next().unwrap_or_default().to_owned());
    let told: BTreeSet<String> = told.filter(|name| name != "crate").collect();
    assert_eq!(told, named, "the table of CONTRIBUTING.md, beside Cargo.toml");
}
