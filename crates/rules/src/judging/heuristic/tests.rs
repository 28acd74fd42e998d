use proptest::prelude::*;

use super::*;
use crate::domain::CriterionResult;

fn text(text: &str) -> Text {
    Text { text: text.to_owned(), whole: true }
}

fn file(path: &str, content: Option<&str>) -> FileFacts {
    FileFacts {
        path: path.to_owned(),
        content: content
            .map(|content| FileContent { bytes: content.len() as u64, text: Some(text(content)) }),
    }
}

fn command(command: &str, exit: Option<i32>, output: &str) -> CommandFacts {
    CommandFacts { command: command.to_owned(), exit, output: output.to_owned() }
}

fn facts() -> Facts {
    let part = Text { text: "first".to_owned(), whole: false };
    Facts {
        files: vec![
            file("a.md", Some("# Title\nhello Mutex\nTODO\n")),
            file("src/b.rs", Some("fn b() {}")),
            file("empty.txt", Some("")),
            file("gone.md", None),
            file("", Some("The answer is 42.")),
            FileFacts { path: "image.png".to_owned(), content: Some(FileContent { bytes: 9, text: None }) },
            FileFacts {
                path: "large.log".to_owned(),
                content: Some(FileContent { bytes: 9_000_000, text: Some(part) }),
            },
        ],
        commands: vec![
            command("cargo test", Some(0), "12 passed"),
            command("make lint", Some(2), "warning: x"),
            command("sleep 9", None, ""),
            command("nope", Some(127), "sh: nope: not found"),
        ],
    }
}

fn graded(criterion: &str) -> (&'static str, String) {
    let [graded] = grade(&[criterion.to_owned()], &facts()).try_into().unwrap();
    (graded.result().as_str(), graded.evidence)
}

fn all(want: &str, criteria: &[&str]) {
    for criterion in criteria {
        let (result, why) = graded(criterion);
        assert_eq!(result, want, "{criterion}: {why}");
        assert!(!why.is_empty(), "{criterion}");
    }
}

#[test]
fn what_holds_passes() {
    all(
        "passed",
        &[
            "`a.md` exists",
            "  `a.md` exists. ",
            "`gone.md` does not exist",
            "`a.md` contains `hello`",
            "`a.md` does not contain `mutex`",
            "`a.md` exists and contains `hello` and does not contain `bye`",
            "`a.md` contains `hello` and `src/b.rs` exists",
            "`a.md` contains `hello Mutex` and has at least 3 lines and has at most 3 lines",
            "`a.md` has at least 5 words",
            "`empty.txt` has at most 0 bytes",
            "`image.png` has at least 9 bytes",
            "`large.log` has at least 9000000 bytes",
            "`large.log` contains `first`",
            "`large.log` has at least 1 lines",
            "`cargo test` passes",
            "`nope` exits 127",
            "`make lint` exits 2",
            "`cargo test` passes and `make lint` exits 2 and `a.md` exists",
            "the output contains `42`",
            "The output contains `42` and does not contain `TODO`.",
        ],
    );
}

#[test]
fn what_does_not_hold_fails() {
    all(
        "failed",
        &[
            "`gone.md` exists",
            "`a.md` does not exist",
            "`a.md` contains `bye`",
            "`a.md` does not contain `TODO`",
            "`a.md` exists and `gone.md` exists",
            "`a.md` has at least 4 lines",
            "`a.md` has at most 2 lines",
            "`large.log` has at most 0 words",
            "`make lint` passes",
            "`sleep 9` passes",
            "`nope` passes",
            "`cargo test` exits 1",
            "the output contains `43`",
            // What is not there lacks nothing.
            "`gone.md` does not contain `TODO`",
            "`gone.md` has at most 9 bytes",
            // Whatever else is not known.
            "`large.log` contains `last` and `gone.md` exists",
        ],
    );
}

#[test]
fn what_has_none_of_the_forms_or_is_not_known_is_not_checked() {
    all(
        "unchecked",
        &[
            "",
            "...",
            "``",
            "The code is good",
            "The tests pass",
            "`a.md`",
            "exists",
            "and",
            // One part that is not read makes the whole unread, whatever the others say.
            "`a.md` exists and is well written",
            "`gone.md` exists and is well written",
            "`gone.md` exists, unless `a.md` exists",
            "`gone.md` exists if `a.md` exists",
            "only `gone.md` exists",
            "`gone.md` and `a.md` exist",
            "`a.md` contains `bye` and `hello`",
            "`a.md` contains `bye` or `hello`",
            "`a.md` exists or `gone.md` exists",
            "`a.md` exists and",
            "`a.md` contains",
            "`a.md` contains hello",
            "`a.md` contains ``",
            "`a.md exists",
            "`` exists",
            "a.md exists",
            "\"gone.md\" exists",
            "gone.md is missing",
            "`a.md` must exist",
            "`a.md` is empty",
            "`a.md` does not not exist",
            "`a.md` has at least three lines",
            "`a.md` has at least -1 lines",
            "`a.md` has at least 1 pages",
            "`a.md` exits 0 or 1",
            "`make lint` fails",
            "`make lint` does not pass",
            "`cargo test` prints `12 passed`",
            // Only the text of the output is known.
            "the output",
            "the output exists",
            "the output does not exist",
            "the output passes",
            "the output has at least 1 lines",
            "output contains `42`",
            // Not among the facts.
            "`other.md` exists",
            "`rm -rf /` passes",
            "`cargo  test` passes",
            "`image.png` contains `x`",
            "`image.png` has at least 1 lines",
            "`large.log` contains `last`",
            "`large.log` does not contain `last`",
            "`large.log` has at least 2 lines",
            "`large.log` has at most 2 lines",
        ],
    );
}

#[test]
fn a_failed_command_shows_the_end_of_what_it_printed() {
    assert_eq!(graded("`make lint` passes").1, "`make lint` exited 2\nwarning: x");
    assert_eq!(graded("`make lint` exits 2").1, "`make lint` exited 2");
}

#[test]
fn the_evidence_says_what_was_seen() {
    for (criterion, evidence) in [
        ("`a.md` exists and contains `TODO`", "a.md exists; a.md contains `TODO`"),
        ("`gone.md` exists", "gone.md does not exist"),
        ("`a.md` contains `bye`", "a.md does not contain `bye`"),
        ("`empty.txt` has at most 0 bytes", "empty.txt has 0 bytes"),
        ("`a.md` has at least 3 lines", "a.md has 3 lines"),
        ("`a.md` has at least 5 words", "a.md has 5 words"),
        ("`sleep 9` passes", "`sleep 9` was killed"),
        ("the output contains `42`", "the output contains `42`"),
        ("`other.md` exists", "nothing is known about other.md"),
        ("It is good", "it has none of the forms that facts can decide"),
    ] {
        assert_eq!(graded(criterion).1, evidence, "{criterion}");
    }
}

#[test]
fn the_commands_to_run_are_those_that_are_named() {
    let criteria = [
        "`cargo test` passes",
        "`a.md` exists and contains `make`",
        "`cargo test` exits 0",
        "`grep 'a  b' c` passes and `grep 'a b' c` exits 1",
        "Run `rm -rf /` if you like",
        "`rm -rf /` passes or not",
        "the output contains `make`",
    ]
    .map(str::to_owned);
    assert_eq!(named_commands(&criteria), ["cargo test", "grep 'a  b' c", "grep 'a b' c"]);
    assert!(names_the_output(&criteria) && !names_the_output(&criteria[..6]));
}

#[test]
fn the_files_to_look_at_are_those_that_are_named() {
    let criteria = [
        "`a.md` exists and contains `x.md`",
        "`src/b.rs` exists and `a.md` has at least 3 lines",
        "`cargo test` passes",
        "The design is good, see `docs/design.md`",
        "the output contains `c.md`",
    ]
    .map(str::to_owned);
    assert_eq!(named_files(&criteria), ["a.md", "src/b.rs"]);
}

fn any_criterion() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("`a.md`"),
        Just("`src/b.rs`"),
        Just("`gone.md`"),
        Just("`cargo test`"),
        Just("the output"),
        Just("`hello`"),
        Just("exists"),
        Just("contains"),
        Just("does not"),
        Just("passes"),
        Just("and"),
        Just("or"),
        Just("good"),
        Just("has at least 3 lines"),
        Just("`"),
    ];
    prop_oneof![any::<String>(), prop::collection::vec(word, 0..9).prop_map(|words| words.join(" ")),]
}

proptest! {
    #[test]
    fn every_criterion_is_graded_once_and_always_the_same(criteria in prop::collection::vec(any_criterion(), 0..6)) {
        let first = grade(&criteria, &facts());
        prop_assert_eq!(first.len(), criteria.len());
        prop_assert_eq!(&first, &grade(&criteria, &facts()));
    }

    #[test]
    fn without_facts_nothing_is_ever_decided(criteria in prop::collection::vec(any_criterion(), 0..6)) {
        let graded = grade(&criteria, &Facts::default());
        prop_assert!(graded.iter().all(|grade| grade.points.is_none()));
    }

    #[test]
    fn words_beyond_the_forms_leave_a_criterion_open(criterion in any_criterion()) {
        let graded = grade(&[format!("{criterion} and shines brightly")], &facts());
        prop_assert_eq!(graded[0].result(), CriterionResult::Unchecked);
    }
}
