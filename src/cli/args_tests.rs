//! Promises about the whole command line: which flags have a variable, and that every help has an example that works.

use std::collections::BTreeMap;

use clap::Command;

use super::args::switch;
use super::command_line;
use super::commands::help::rows;
use super::reference::EXITS;

/// The flags that hold for a session, with their variables.
const VARIABLES: [(&str, &str); 9] = [
    ("color", "QUORUM_COLOR"),
    ("jobs", "QUORUM_JOBS"),
    ("no-input", "QUORUM_NO_INPUT"),
    ("offline", "QUORUM_OFFLINE"),
    ("progress", "QUORUM_PROGRESS"),
    ("record", "QUORUM_RECORD"),
    ("sandbox", "QUORUM_SANDBOX"),
    ("state-dir", "QUORUM_STATE_DIR"),
    ("strict", "QUORUM_STRICT"),
];

/// All commands with their full names.
fn commands() -> BTreeMap<String, Command> {
    fn collect(command: &Command, name: &str, all: &mut BTreeMap<String, Command>) {
        for sub in command.get_subcommands() {
            collect(sub, &format!("{name} {}", sub.get_name()), all);
        }
        all.insert(name.to_owned(), command.clone());
    }
    let mut root = command_line();
    root.build();
    let mut all = BTreeMap::new();
    collect(&root, "quorum", &mut all);
    all
}

#[test]
fn the_command_line_is_sound() {
    command_line().debug_assert();
}

#[test]
fn the_flags_of_a_session_have_a_variable_and_no_others_show_one() {
    let mut shown = std::collections::BTreeSet::new();
    for (name, command) in &commands() {
        let help = command.clone().render_help().to_string();
        // Wherever its lines are broken.
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let (Some(flag), Some(variable)) = (argument.get_long(), argument.get_env()) else {
                continue;
            };
            let variable = variable.to_str().expect("it is text");
            let is_shown = help.contains(&format!("[env: {variable}]"));
            let is_of_session = VARIABLES.contains(&(flag, variable));
            assert!(name == "quorum" || is_shown == is_of_session, "{name} --{flag}: {help}");
            if is_of_session {
                shown.insert(flag.to_owned());
            }
        }
    }
    assert_eq!(shown.len(), VARIABLES.len(), "{shown:?}");
    for (_, variable) in VARIABLES {
        let mut listed = crate::cli::variables::VARIABLES.iter();
        assert!(listed.any(|(name, _)| *name == variable), "{variable} is not listed");
    }
}

/// Agents are told of themselves in these; a flag must not listen to them.
#[test]
fn no_flag_listens_to_what_agents_are_told() {
    for (name, command) in commands() {
        for variable in command.get_arguments().filter_map(|argument| argument.get_env()) {
            let told = [
                "RUN_ID",
                "TASK",
                "ATTEMPT",
                "TURN",
                "TASK_DIR",
                "RESULT_FILE",
                "PROMPT_FILE",
                "REVIEW_FILE",
            ];
            let is_told = told.iter().any(|told| variable == format!("QUORUM_{told}").as_str());
            assert!(!is_told, "{name}: {variable:?}");
        }
    }
}

#[test]
fn every_help_ends_with_examples_that_can_be_typed() {
    for (name, command) in commands() {
        if command.is_hide_set() {
            continue;
        }
        let help = command.clone().render_help().to_string();
        let (_, examples) =
            help.rsplit_once("Example").unwrap_or_else(|| panic!("{name} has no example:\n{help}"));
        let (_, examples) = examples.split_once(": ").expect("a colon follows");
        assert!(!examples.contains("\n\n"), "{name} does not end with its examples:\n{help}");
        for line in examples.lines().filter(|line| !line.trim().is_empty()) {
            let lines = stages(line);
            let ours: Vec<_> = lines.iter().filter(|words| words[0] == "quorum").collect();
            assert!(!ours.is_empty(), "{name}: {line}");
            for words in ours {
                if let Err(error) = command_line().try_get_matches_from(words) {
                    panic!("{name}: {line}\n{error}");
                }
            }
            let calls_itself = |words: &Vec<String>| words.join(" ").starts_with(&name);
            assert!(lines.iter().any(calls_itself), "{name} shows another command: {line}");
        }
    }
}

/// The commands of a shell line with pipes and lists, as words. What a redirection names is left out.
fn stages(line: &str) -> Vec<Vec<String>> {
    let words = shlex::split(line.trim()).expect("quotes are closed");
    let stages = words.split(|word| word == "|" || word == "&&");
    let until_redirection =
        |words: &[String]| words.iter().take_while(|word| *word != ">").cloned().collect();
    stages.map(until_redirection).collect()
}

#[test]
fn lines_are_split_as_a_shell_does() {
    assert_eq!(stages("a 'b c' | d && e > f"), [vec!["a", "b c"], vec!["d"], vec!["e"]]);
}

#[test]
fn switches_understand_what_people_write() {
    for (text, on) in
        [("1", true), ("TRUE", true), ("yes", true), ("on", true), ("", false), ("0", false), ("No", false)]
    {
        assert_eq!(switch(text).unwrap(), on, "{text}");
    }
    assert!(switch("flase").is_err());
}

/// All text of the black-box tests.
fn black_box_tests() -> String {
    fn collect(folder: &std::path::Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).expect("tests are beside the sources") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                collect(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&std::fs::read_to_string(&path).expect("it is text"));
            }
        }
    }
    let mut text = String::new();
    collect(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")), &mut text);
    text
}

#[test]
fn every_command_and_flag_is_tested_through_the_binary() {
    let tests = black_box_tests();
    for (name, command) in commands() {
        let word = command.get_name();
        assert!(word == "quorum" || tests.contains(&format!("\"{word}\"")), "no test calls {name}");
        for flag in command.get_arguments().filter_map(clap::Arg::get_long) {
            let is_ours = !["help", "version"].contains(&flag);
            // `--flag`, `--flag=value`
            let is_tested =
                tests.contains(&format!("\"--{flag}\"")) || tests.contains(&format!("\"--{flag}="));
            assert!(!is_ours || is_tested, "no test uses {name} --{flag}");
        }
    }
}

#[test]
fn every_visible_command_stands_in_exactly_one_group() {
    let root = command_line();
    let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
    let mut visible: Vec<&str> = visible.map(Command::get_name).collect();
    let mut grouped: Vec<&str> = rows().flat_map(|(_, names, _)| names.split(", ")).collect();
    visible.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(grouped, visible);
}

#[test]
fn every_command_that_does_something_has_its_exit_codes() {
    let does_something = |command: &Command| !command.is_hide_set() && !command.has_subcommands();
    let mut commands = commands();
    commands.retain(|name, command| does_something(command) && !name.starts_with("quorum help "));
    for (name, command) in &commands {
        // What can be done without its subcommands has a row too.
        let known = EXITS.iter().filter(|(known, _)| known == name).count();
        assert_eq!(known, 1, "{name}: {:?}", command.get_about());
    }
    for (name, _) in EXITS {
        assert!(commands.contains_key(name) || name == "quorum doctor", "there is no `{name}`");
    }
}
