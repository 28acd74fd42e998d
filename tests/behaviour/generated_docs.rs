//! Pages of `docs/` that are made from the program. A stale one is written anew, and the test is red once.

use std::fs;

#[test]
fn the_page_of_the_command_line_is_current() {
    current("docs/reference/cli.md", &quorum::cli::reference_page());
}

/// Holds a page against what the program says.
fn current(path: &str, page: &str) {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    if fs::read_to_string(&path).is_ok_and(|text| text == page) {
        return;
    }
    fs::write(&path, page).expect("the page can be written");
    panic!("{path} was stale; it is current now: look at the difference and commit it");
}
