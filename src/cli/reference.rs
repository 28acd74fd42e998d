//! The page of the command line, `docs/reference/cli.md`: what `--help` says, command by command.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

use super::command::formats;
use super::help::Groups;
use super::variables::VARIABLES;

/// What stands before the tables; the mission and the commands in it are run by a test.
const BEGINNING: &str = include_str!("reference.md");

/// The exit codes of a command that has only 0 beside 2.
pub const USUAL: &str = "0";

/// Commands with their exit codes.
pub type Exits = [(&'static str, &'static str)];

/// The page in Markdown.
#[must_use]
pub fn reference_page(mut root: Command, groups: &Groups, exits: &Exits) -> String {
    root.build();
    let mut text = BEGINNING.to_owned();
    let global = root.get_arguments().filter(|argument| argument.is_global_set());
    text.push_str("\n## Global options\n\nTaken by every command.\n\n");
    table(&mut text, global);
    text.push_str("\n`--version` (`-V`) prints the version, without a command.\n\n## Variables\n\n");
    text.push_str("A flag weighs more than its variable. A wrong value is exit 2 and named; an empty one counts as none.\n\n");
    text.push_str("| variable | meaning |\n|---|---|\n");
    for (name, meaning) in VARIABLES {
        // Writing to a text never fails.
        let _ = writeln!(text, "| `{name}` | {meaning} |");
    }
    for (group, rows) in groups {
        let _ = write!(text, "\n## {group}\n");
        for name in rows.iter().flat_map(|(names, _)| *names) {
            if let Some(command) = root.find_subcommand(name) {
                section(&mut text, command, &format!("quorum {name}"), &root, exits);
            }
        }
    }
    text
}

/// A command and its subcommands.
fn section(text: &mut String, command: &Command, name: &str, root: &Command, exits: &Exits) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").replace("\n       ", "\n");
    let _ = write!(text, "\n### `{name}`\n\n{about}.\n\n```text\n{usage}\n```\n");
    let of_run = root
        .find_subcommand("run")
        .filter(|run| run.get_name() != command.get_name());
    // A session has the same flags everywhere: they are told once.
    let is_of_run = |argument: &&Arg| {
        let same = of_run.and_then(|run| {
            run.get_arguments()
                .find(|known| known.get_id() == argument.get_id())
        });
        same.is_some_and(|same| same.get_long().is_some() && same.get_help() == argument.get_help())
    };
    let own = command.get_arguments().filter(|argument| is_own(argument));
    let (shared, own): (Vec<&Arg>, Vec<&Arg>) = own.partition(is_of_run);
    if !own.is_empty() {
        text.push('\n');
        table(text, own.into_iter());
    }
    if !shared.is_empty() {
        let flags = shared.iter().filter_map(|argument| argument.get_long());
        let flags: Vec<String> = flags.map(|flag| format!("`--{flag}`")).collect();
        let _ = write!(text, "\nAs of `quorum run`: {}.\n", flags.join(", "));
    }
    if let Some((_, codes)) = exits
        .iter()
        .find(|(known, codes)| *known == name && *codes != USUAL)
    {
        let _ = write!(text, "\nExit: {codes}.\n");
    }
    let formats = formats(command.get_name(), false);
    if formats.len() > 1 && !command.has_subcommands() {
        let names: Vec<String> = formats
            .iter()
            .map(|format| format!("`{}`", format.name()))
            .collect();
        let _ = write!(text, "\nFormats: {}.\n", names.join(", "));
    }
    if let Some(examples) = command.get_after_help().map(ToString::to_string) {
        let examples = examples
            .rsplit_once("Example")
            .map_or("", |(_, examples)| examples);
        let examples = examples.trim_start_matches("s: ").trim_start_matches(": ");
        let lines: Vec<&str> = examples.lines().map(str::trim).collect();
        let _ = write!(text, "\nFor example:\n\n```text\n{}\n```\n", lines.join("\n"));
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        section(text, sub, &format!("{name} {}", sub.get_name()), root, exits);
    }
}

/// What is of the command itself, and shown.
fn is_own(argument: &Arg) -> bool {
    let is_format = argument.get_id() == "format";
    !argument.is_global_set() && !argument.is_hide_set() && !is_format
}

fn table<'a>(text: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    text.push_str("| argument or flag | meaning | default | variable |\n|---|---|---|---|\n");
    for argument in arguments {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        // What the help says of a default stands in a column of its own.
        let (mut help, mut default) = match help.split_once(" [default: ") {
            Some((help, default)) => (help.to_owned(), default.trim_end_matches(']').to_owned()),
            None => (help, String::new()),
        };
        let takes_value = !matches!(
            argument.get_action(),
            ArgAction::SetTrue | ArgAction::HelpShort | ArgAction::Version
        );
        let words = argument.get_possible_values();
        if takes_value && !words.is_empty() && !argument.is_hide_possible_values_set() {
            let words: Vec<&str> = words.iter().map(|word| word.get_name()).collect();
            let _ = write!(help, ": {}", words.join(", "));
        }
        if let [value] = argument.get_default_values()
            && takes_value
        {
            default = value.to_string_lossy().into_owned();
        }
        let variable = argument.get_env().filter(|_| !argument.is_hide_env_set());
        let variable = variable.map(|name| format!("`{}`", name.to_string_lossy()));
        let short = argument.get_short().map(|short| format!("-{short}, "));
        let flag = format!("`{}{argument}`", short.unwrap_or_default());
        let cells = [flag, help, default];
        let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            cells[0],
            cells[1],
            cells[2],
            variable.unwrap_or_default()
        );
    }
}
