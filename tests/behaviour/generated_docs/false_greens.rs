//! The tests of each false green, as they stand in the source tree.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;

use crate::support::pages::{Page, project};

use super::{current, page_with, table};

const PAGE: &str = "docs/design/false-greens.md";

#[test]
fn the_page_of_false_greens_has_every_test() {
    let tests = tests();
    let page = Page::read(PAGE).text;
    let (rows, _) = page.split_once("## Tests").expect("the page lists its tests");
    let row = Regex::new(r"(?m)^\| ([0-9]+) \|").expect("it is an expression");
    let rows: BTreeSet<u32> = row.captures_iter(rows).map(|found| number(&found[1])).collect();
    let tested = tests.iter().map(|(row, ..)| *row).collect();
    assert_eq!(rows, tested, "each row has a test, and each test its row");
    let page = page_with(PAGE, |name| match name {
        "tests" => {
            let cells = |(row, file, test): &(u32, String, String)| {
                [row.to_string(), format!("`{file}`"), format!("`{test}`")]
            };
            table(["#", "file", "test"], tests.iter().map(cells))
        }
        name => panic!("{PAGE} has a part '{name}' that nobody makes"),
    });
    current(PAGE, &page);
}

/// Row, file and name of each test that has a row's number in its name: by row, then by file, then in the file's order.
fn tests() -> Vec<(u32, String, String)> {
    let test = Regex::new(r"(?m)^\s*fn (false_green_([0-9]+)_\w+)\(").expect("it is an expression");
    let mut tests = Vec::new();
    for entry in fs::read_dir(project("tests/behaviour")).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let file = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("sources are text");
        let found = test.captures_iter(&text);
        tests.extend(found.map(|found| (number(&found[2]), file.clone(), found[1].to_owned())));
    }
    tests.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    tests
}

fn number(text: &str) -> u32 {
    text.parse().expect("it has digits only")
}
