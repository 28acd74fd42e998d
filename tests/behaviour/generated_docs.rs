//! Pages, and parts of pages, that are made from the program's own tables. They are committed, so that they can be read
//! without the program; one that is stale is written anew and fails its test once, so that somebody looks at the difference.

mod documents;
mod false_greens;
mod keys;
mod tables;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const END: &str = "<!-- end -->";

/// Holds that a page is as the program makes it, and writes it where it is not.
fn current(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if fs::read_to_string(&file).is_ok_and(|stands| stands == text) {
        return;
    }
    fs::write(&file, text).expect("the page can be written");
    panic!("{path} was stale and is written anew: look at the difference, and test again");
}

/// A page in which each part between `<!-- generated: NAME -->` and `<!-- end -->` is made anew.
fn page_with(path: &str, make: impl Fn(&str) -> String) -> String {
    let stands = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    let stands = stands.unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut page = String::new();
    let mut rest = stands.as_str();
    while let Some((before, after)) = rest.split_once("<!-- generated: ") {
        let (name, after) = after.split_once(" -->").expect("the mark has an end");
        let (_, after) = after.split_once(END).expect("the part has an end");
        let _ = write!(page, "{before}<!-- generated: {name} -->\n\n{}\n{END}", make(name));
        rest = after;
    }
    assert!(!page.is_empty(), "{path} has no generated part");
    page + rest
}

/// A table of Markdown.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        let cells = row.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table
}
