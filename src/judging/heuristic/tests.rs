use proptest::prelude::*;

use super::*;

fn text(text: &str) -> Text {
    Text {
        text: text.to_owned(),
        whole: true,
    }
}

fn file(path: &str, content: Option<&str>) -> FileFacts {
    FileFacts {
        path: path.to_owned(),
        content: content.map(|content| Content {
            bytes: content.len() as u64,
            text: Some(text(content)),
        }),
    }
}

fn command(command: &str, exit: Option<i32>, output: &str) -> CommandFacts {
    CommandFacts {
        command: command.to_owned(),
        exit,
        output: text(output),
    }
}

fn facts() -> Facts {
    let part = Text {
        text: "first".to_owned(),
        whole: false,
    };
    Facts {
        files: vec![
            file("a.md", Some("# Title\nhello Mutex\nTODO\n")),
            file("src/b.rs", Some("fn b() {}")),
            file("empty.txt", Some("")),
            file("gone.md", None),
            FileFacts {
                path: "image.png".to_owned(),
                content: Some(Content { bytes: 9, text: None }),
            },
            FileFacts {
                path: "large.log".to_owned(),
                content: Some(Content {
                    bytes: 9_000_000,
                    text: Some(part),
                }),
            },
        ],
        commands: vec![
            command("cargo test", Some(101), "1 failed"),
            command("cargo test", Some(0), "12 passed"),
            command("make lint", Some(2), "warning: x"),
            command("sleep 9", None, ""),
            command("nope", Some(127), "sh: nope: not found"),
        ],
        output: Some(text("The answer is 42.")),
    }
}

fn graded(criterion: &str) -> (Holds, String) {
    let [graded] = grade(&[criterion.to_owned()], &facts()).try_into().unwrap();
    let holds = match graded.result() {
        "passed" => Holds::Yes,
        "failed" => Holds::No,
        _ => Holds::Unknown,
    };
    (holds, graded.evidence)
}

fn all(want: Holds, criteria: &[&str]) {
    for criterion in criteria {
        let (holds, why) = graded(criterion);
        assert_eq!(holds, want, "{criterion}: {why}");
        assert!(!why.is_empty(), "{criterion}");
    }
}

#[test]
fn what_holds_passes() {
    all(
        Holds::Yes,
        &[
            "`a.md` exists",
            "The file a.md exists.",
            "\"a.md\" must exist and must not be empty",
            "src/b.rs is present",
            "`gone.md` does not exist",
            "gone.md is missing",
            "`gone.md` must not exist",
            "a.md isn’t empty",
            "empty.txt is empty",
            "`a.md` contains `hello`",
            "a.md should include \"hello Mutex\", `TODO` and “Title”",
            "a.md mentions `mutex`",
            "a.md does not contain `mutex`",
            "a.md doesn't contain `nothing`",
            "`a.md` and src/b.rs exist",
            "`a.md`, `src/b.rs` and `empty.txt` exist",
            "a.md contains `hello` and src/b.rs exists",
            "a.md exists and contains `TODO`; src/b.rs contains `fn b`",
            "a.md has at least 3 lines",
            "a.md has at least 5 words",
            "large.log has at least 8000000 bytes",
            "large.log has at least 9000000 bytes",
            "large.log contains `first`",
            "`cargo test` passes",
            "`cargo test` must succeed and prints `12 passed`",
            "`nope` exits 127",
            "`make lint` fails",
            "`make lint` exits with code 2",
            "the command `make lint` must not exit 0",
            "the output contains `42`",
            "The output must not contain `TODO`",
        ],
    );
}

#[test]
fn what_does_not_hold_fails() {
    all(
        Holds::No,
        &[
            "`gone.md` exists",
            "a.md is missing",
            "`a.md` does not exist",
            "a.md is empty",
            "empty.txt is not empty",
            "a.md contains `bye`",
            "a.md contains `hello` and `bye`",
            "a.md does not contain `TODO`",
            "a.md and gone.md exist",
            "a.md has at least 4 lines",
            "`make lint` passes",
            "`sleep 9` passes",
            "`nope` passes",
            "`cargo test` fails",
            "`cargo test` prints `failed`",
            "the output contains `43`",
            // What is not there lacks nothing.
            "gone.md does not contain `TODO`",
            "gone.md is not empty",
            // The part that is understood is false, so the whole is.
            "gone.md exists and is well written",
            "a.md contains `bye` and is well written",
        ],
    );
}

#[test]
fn what_is_not_understood_or_not_known_is_not_checked() {
    all(
        Holds::Unknown,
        &[
            "",
            "...",
            "The code is good",
            "All endpoints return correct status codes.",
            "The tests pass",
            "`a.md`",
            "`a.md` exists and is well written",
            "a.md explains `hello`",
            "`a.md` contains",
            "`a.md` contains hello",
            "`a.md` contains ``",
            "`a.md exists",
            "`` exists",
            "`a.md` exists or `gone.md` exists",
            "gone.md exists if a.md is empty",
            "only gone.md exists",
            // A condition is about the whole criterion, the part before it included.
            "gone.md exists, unless a.md exists",
            // An empty name is not the output of the work, and the output is no file.
            "`` contains `42`",
            "the output and a.md contain `bye`",
            "a.md has at most 1 lines",
            "a.md contains `bye` unless it is short",
            "a.md does not not exist",
            "other.md exists",
            "`rm -rf /` passes",
            "`cargo  test` passes",
            // What could not be run shows nothing but that.
            "`nope` fails",
            "`nope` does not pass",
            "`nope` does not print `error`",
            "`nope` prints `not found`",
            "`sleep 9` does not pass",
            "`sleep 9` fails",
            "image.png contains `x`",
            "large.log contains `last`",
            "large.log does not contain `last`",
            "large.log has at least 2 lines",
            "the output exists",
            "a.md was created",
            "a.md exits 0 or 1",
            "Node.js is used",
            "Works with e.g. a.md",
            // Is `gone.md` a word of a.md, or a file that must exist?
            "a.md contains `hello` and `gone.md` and `empty.txt` exist",
            "a.md contains `bye` and `gone.md` and `empty.txt` shine",
        ],
    );
}

#[test]
fn a_failed_command_shows_the_end_of_what_it_printed() {
    assert_eq!(graded("`make lint` passes").1, "`make lint` exited 2\nwarning: x");
    assert_eq!(graded("`make lint` fails").1, "`make lint` exited 2");
}

#[test]
fn only_the_end_of_a_long_output_is_shown() {
    let long = format!("{}{}", "a".repeat(500), "é".repeat(1_000));
    let facts = Facts {
        commands: vec![command("make", Some(1), &long)],
        ..Facts::default()
    };
    let graded = grade(&["`make` passes".to_owned()], &facts);
    assert_eq!(
        graded[0].evidence,
        format!("`make` exited 1\n{}", "é".repeat(1_000))
    );
}

#[test]
fn the_evidence_says_what_was_seen() {
    for (criterion, evidence) in [
        ("a.md exists", "a.md exists"),
        ("gone.md exists", "gone.md does not exist"),
        ("a.md contains `TODO`", "a.md contains `TODO`"),
        ("a.md contains `bye`", "a.md does not contain `bye`"),
        ("empty.txt is empty", "empty.txt has 0 bytes"),
        ("a.md has at least 3 lines", "a.md has 3 lines"),
        ("a.md has at least 5 words", "a.md has 5 words"),
        ("`nope` fails", "`nope` exited 127: it could not be run"),
        ("`sleep 9` fails", "`sleep 9` was killed"),
    ] {
        assert_eq!(graded(criterion).1, evidence, "{criterion}");
    }
}

#[test]
fn the_commands_to_run_are_those_that_are_spoken_of() {
    let criteria = [
        "`cargo test` passes and prints `ok`",
        "`a.md` exists and contains `make`",
        "`cargo test` must not fail",
        "`grep 'a  b' c` prints `x`; `grep 'a b' c` exits 1",
        "Run `rm -rf /` if you like",
        "the output contains `make`",
    ]
    .map(str::to_owned);
    assert_eq!(
        named_commands(&criteria),
        ["cargo test", "grep 'a  b' c", "grep 'a b' c"]
    );
    assert!(speaks_of_output(&criteria) && !speaks_of_output(&criteria[..5]));
}

#[test]
fn the_files_to_look_at_are_those_that_are_spoken_of() {
    let criteria = [
        "`a.md` exists and contains `x.md`",
        "src/b.rs and a.md are present",
        "`cargo test` passes",
        "The design is good, see docs/design.md",
        "the output contains `c.md`",
        // Bare words that are no paths.
        "a:b.md exists",
        "a//b.md exists",
        "v1.2 exists",
    ]
    .map(str::to_owned);
    assert_eq!(named_files(&criteria), ["a.md", "src/b.rs"]);
}

fn any_criterion() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("`a.md`"),
        Just("src/b.rs"),
        Just("gone.md"),
        Just("`cargo test`"),
        Just("the output"),
        Just("`hello`"),
        Just("exists"),
        Just("contains"),
        Just("does not"),
        Just("is"),
        Just("empty"),
        Just("passes"),
        Just("and"),
        Just(","),
        Just("or"),
        Just("good"),
        Just("has at least 3 lines"),
        Just("\""),
    ];
    prop_oneof![
        any::<String>(),
        prop::collection::vec(word, 0..9).prop_map(|words| words.join(" ")),
    ]
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
    fn more_words_never_make_a_criterion_pass_that_did_not(criterion in any_criterion()) {
        // What follows is beyond the grammar, so the whole can only be false or open.
        let longer = format!("{criterion} and shines brightly");
        let graded = grade(&[longer], &facts());
        prop_assert_ne!(graded[0].result(), "passed");
    }
}
