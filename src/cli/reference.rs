//! The page of the command line, `docs/reference/cli.md`: what `--help` says, command by command, with the exit codes. One that
//! is stale is written anew and fails its test once, so that somebody looks at the difference.

use std::fmt::Write as _;
use std::fs;

use clap::{Arg, ArgAction, Command};

use super::command_line;
use super::command_tree::formats;
use super::commands::help::rows;
use super::variables::VARIABLES;

/// The text before the tables; the mission and the commands in it are run by a test.
const BEGINNING: &str = include_str!("reference.md");

/// The exit codes of a command that has only 0 beside 2.
const USUAL: &str = "0";

/// The exit codes of commands; every one has 2 for what is wrong with its arguments. What the page says nothing of is [`USUAL`].
pub const EXITS: [(&str, &str); 53] = [
    ("quorum run", "the outcome of the run; see [exit-codes.md](exit-codes.md)"),
    ("quorum resume", "the outcome of the run; 9 where accepted work is gone or the mission was changed"),
    ("quorum plan", "0, 2"),
    ("quorum validate", "0 all are valid, 2 one is not"),
    ("quorum cancel", "0, 2 unknown, 8 queued, 9 refused"),
    ("quorum pause", "0, 2, 8 queued, 9 refused"),
    ("quorum status", "0; with `--exit-code` the code of the run"),
    ("quorum serve", "0 it was told to end, 2, 9 the port is taken, or an agent asks"),
    ("quorum show", "0, 2 unknown"),
    ("quorum diff", "0, 2 unknown or not in a worktree"),
    (
        "quorum merge",
        "0 it is merged, 2 unknown or nothing in a worktree, 9 the run did not end with ok, or its work cannot be merged; else what the run ends with now",
    ),
    ("quorum logs", "0, 2 unknown"),
    ("quorum events", "0, 2 unknown"),
    ("quorum approve", "0 applied or already so, 2 unknown, 4 decided otherwise, 8 queued, 9 refused"),
    ("quorum reject", "as `approve`"),
    ("quorum answer", "as `approve`; 4 answered otherwise"),
    ("quorum gate", "0 passed, 4 failed, 8 tasks not finished, 2 unknown"),
    ("quorum request approve", "0, 2 unknown, 4 cancelled before, 8 queued"),
    ("quorum review", "0 good enough, 5 not, 6 no trustworthy verdict"),
    ("quorum judge test", "0 all read, 6 one not, 9 not reachable"),
    (
        "quorum calibrate",
        "0, 5 the judges are not what they were (`--against`), 6 a judge could not be asked",
    ),
    ("quorum dlq retry", "0 done, 4 failed again"),
    ("quorum doctor", "0, 9"),
    (
        "quorum worker",
        "0 it was told to end, 2 this build has no workers, 9 the server, the team's key or the folder for jobs cannot be used",
    ),
    ("quorum clean", "0, 9 a session is at work"),
    (
        "quorum compare",
        "0, 2 unknown or nothing to compare, 5 `--max-drop` or `--no-new-findings` does not hold, 9 nobody vouches for a run",
    ),
    ("quorum report", "0, 1 a report could not be written, 2 unknown"),
    ("quorum inbox", USUAL),
    ("quorum request submit", USUAL),
    ("quorum request list", USUAL),
    ("quorum request show", USUAL),
    ("quorum request reject", USUAL),
    ("quorum request cancel", USUAL),
    ("quorum metrics", USUAL),
    ("quorum stats", USUAL),
    ("quorum runs", USUAL),
    ("quorum dlq list", USUAL),
    ("quorum dlq show", USUAL),
    ("quorum dlq resolve", USUAL),
    ("quorum dlq abandon", USUAL),
    ("quorum init", USUAL),
    (
        "quorum mcp",
        "0 at the end of the input, 2 a variable loosens, or the client does not speak the protocol",
    ),
    ("quorum config show", USUAL),
    ("quorum schema", USUAL),
    ("quorum explain", USUAL),
    ("quorum man", USUAL),
    ("quorum completions", USUAL),
    ("quorum help", USUAL),
    ("quorum agent ask", USUAL),
    ("quorum agent delegate", USUAL),
    ("quorum agent progress", USUAL),
    ("quorum agent result", USUAL),
    ("quorum doctor state", "0 whole, 1 damaged"),
];

#[test]
fn the_page_of_the_command_line_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/cli.md");
    let page = page();
    if fs::read_to_string(path).is_ok_and(|stands| stands == page) {
        return;
    }
    fs::write(path, page).expect("the page can be written");
    panic!("{path} was stale and is written anew: look at the difference, and test again");
}

/// The page in Markdown.
fn page() -> String {
    let mut root = command_line();
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
    let mut last = "";
    for (group, names, _) in rows() {
        if group != last {
            let _ = write!(text, "\n## {group}\n");
            last = group;
        }
        for name in names.split(", ") {
            if let Some(command) = root.find_subcommand(name) {
                section(&mut text, command, &format!("quorum {name}"), &root);
            }
        }
    }
    text
}

/// Writes the section of a command and those of its subcommands.
fn section(text: &mut String, command: &Command, name: &str, root: &Command) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").replace("\n       ", "\n");
    let _ = write!(text, "\n### `{name}`\n\n{about}.\n\n```text\n{usage}\n```\n");
    let of_run = root.find_subcommand("run").filter(|run| run.get_name() != command.get_name());
    // A session has the same flags everywhere: they are told once.
    let is_of_run = |argument: &&Arg| {
        let same =
            of_run.and_then(|run| run.get_arguments().find(|known| known.get_id() == argument.get_id()));
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
    if let Some((_, codes)) = EXITS.iter().find(|(known, codes)| *known == name && *codes != USUAL) {
        let _ = write!(text, "\nExit: {codes}.\n");
    }
    let formats = formats(command.get_name(), false);
    if formats.len() > 1 && !command.has_subcommands() {
        let names: Vec<String> = formats.iter().map(|format| format!("`{}`", format.as_str())).collect();
        let _ = write!(text, "\nFormats: {}.\n", names.join(", "));
    }
    if let Some(examples) = command.get_after_help().map(ToString::to_string) {
        let examples = examples.rsplit_once("Example").map_or("", |(_, examples)| examples);
        let examples = examples.trim_start_matches("s: ").trim_start_matches(": ");
        let lines: Vec<&str> = examples.lines().map(str::trim).collect();
        let _ = write!(text, "\nFor example:\n\n```text\n{}\n```\n", lines.join("\n"));
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        section(text, sub, &format!("{name} {}", sub.get_name()), root);
    }
}

/// Whether an argument is the command's own, and shown.
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
        let takes_value =
            !matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::HelpShort | ArgAction::Version);
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
