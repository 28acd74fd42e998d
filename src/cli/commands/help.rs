//! Help: the one screen of `quorum --help`, and `quorum help` with the pages of the documentation.

use anyhow::anyhow;
use clap::{ArgAction, Args, Command};

use crate::{
    cli::{command_error::Failure, screen::Screen},
    report::screens::help::page,
};
use rules::mission::did_you_mean;

/// The rows of the root's help: the group of each, its commands, and what they do where that is not what the first of them
/// says of itself. Every visible command stands in exactly one row.
const GROUPS: &str = include_str!("groups.txt");

/// The columns of a group's name, and of its commands.
const COLUMNS: (usize, usize) = (8, 25);

/// Group, commands and words of each row of the root's help.
pub fn rows() -> impl Iterator<Item = (&'static str, &'static str, Option<&'static str>)> {
    GROUPS.lines().filter_map(|line| {
        let (group, row) = line.split_once(": ")?;
        let (names, says) = row.split_once(" | ").map_or((row, None), |(names, says)| (names, Some(says)));
        Some((group, names, says))
    })
}

/// The root's help, as a template. Flags of `run` are left out; they stand in its own help.
pub fn root_template(root: &Command) -> String {
    let styles = root.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let mut text = format!(
        "{{about}}\n\n{header}Usage:{header:#} quorum COMMAND\n       quorum [run flags]    runs ./mission.yaml\n       quorum help [COMMAND|TOPIC]\n\n"
    );
    let mut last = "";
    for (group, names, says) in rows() {
        let shown = if group == last { "" } else { group };
        last = group;
        let about = names.split(", ").next().and_then(|name| root.find_subcommand(name));
        let about = about.and_then(Command::get_about).map(ToString::to_string);
        let says = says.map(str::to_owned).or(about).unwrap_or_default();
        append_line!(
            text,
            "{header}{shown:0$}{header:#}{literal}{names:1$}{literal:#}{says}",
            COLUMNS.0,
            COLUMNS.1,
        );
    }
    append_line!(text, "\n{header}Global options:{header:#}");
    for argument in root.get_arguments().filter(|argument| argument.is_global_set()) {
        // As it is not built yet, clap cannot print it.
        let value = argument.get_value_names().and_then(<[_]>::first);
        let value = value.filter(|_| matches!(argument.get_action(), ArgAction::Set));
        let value = value.map(|value| format!(" <{value}>")).unwrap_or_default();
        let short = argument.get_short().map(|short| format!("-{short}, "));
        let (short, long) = (short.unwrap_or_default(), argument.get_long().unwrap_or_default());
        let (flag, help) = (format!("{short}--{long}{value}"), argument.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        let help = help.split(" [default").next().unwrap_or_default();
        append_line!(text, "  {literal}{flag:21}{literal:#}{help}");
    }
    let version = "-V, --version";
    append!(text, "  {literal}{version:21}{literal:#}Print version{{after-help}}");
    text
}

/// A page of the documentation.
struct HelpTopic {
    name: &'static str,
    text: &'static str,
}

/// The topics, each a page of `docs/`.
macro_rules! topics {
    ($($name:literal: $path:literal),+ $(,)?) => {
        const TOPICS: &[HelpTopic] = &[
            $(HelpTopic { name: $name, text: include_str!(concat!("../../../docs/", $path)) }),+
        ];
        #[cfg(test)]
        const PAGES: &[&str] = &[$($path),+];
    };
}

topics! {
    "agents": "reference/agents.md",
    "attempts": "concepts/attempts.md",
    "budgets": "guides/budgets.md",
    "calibrating": "guides/calibrate.md",
    "ci": "guides/ci.md",
    "confinement": "guides/confinement.md",
    "diagnostics": "reference/diagnostics.md",
    "events": "reference/events.md",
    "exit-codes": "reference/exit-codes.md",
    "findings": "guides/findings.md",
    "first-mission": "guides/first-mission.md",
    "from-your-agent": "guides/from-your-agent.md",
    "glossary": "reference/glossary.md",
    "json": "reference/json.md",
    "in-the-browser": "guides/in-the-browser.md",
    "judging": "concepts/judging.md",
    "machines": "guides/machines.md",
    "mission": "reference/mission.md",
    "notifications": "guides/notifications.md",
    "offline": "guides/offline.md",
    "people": "guides/people.md",
    "promises": "concepts/promises.md",
    "recovery": "guides/recovery.md",
    "review-a-diff": "guides/review-a-diff.md",
    "proof": "guides/proof.md",
    "strict-judging": "guides/strict-judging.md",
    "workers": "reference/workers.md",
    "your-agent": "guides/your-agent.md",
    "which-agent": "guides/which-agent.md",
    "worktrees": "guides/worktrees.md",
    "agent-clis": "guides/agent-clis.md",
    "presets": "reference/presets.md",
    "acp": "agents/acp.md",
    "aider": "agents/aider.md",
    "claude": "agents/claude.md",
    "codex": "agents/codex.md",
    "gemini": "agents/gemini.md",
    "opencode": "agents/opencode.md",
    "pi": "agents/pi.md",
    "qwen": "agents/qwen.md",
}

/// The names of all topics.
pub fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.name)
}

/// Print help of a command, or a page of the docs
#[derive(Debug, Args)]
#[command(after_help = "Examples: quorum help judging\n          quorum help dlq retry")]
pub struct Help {
    /// A command, or a topic [default: the commands and topics]
    #[arg(value_name = "COMMAND|TOPIC")]
    pub words: Vec<String>,
}

/// Prints the help of a command, a page, or both where they have one name.
pub fn help(arguments: &Help, mut root: Command, screen: &Screen) -> Result<u8, Failure> {
    root.build();
    let words = &arguments.words;
    let topic = match words.as_slice() {
        [name] => TOPICS.iter().find(|topic| topic.name == name),
        _ => None,
    };
    let find = |command: &Command, word: &String| command.find_subcommand(word).cloned();
    let found = words.iter().try_fold(root.clone(), |command, word| find(&command, word));
    if found.is_none() && topic.is_none() {
        return Err(unknown(words, &root));
    }
    let mut text = String::new();
    if let Some(mut command) = found {
        let help = command.render_help();
        text = if screen.out().style.color { help.ansi().to_string() } else { help.to_string() };
        if words.is_empty() {
            text += &list_of_topics();
        }
    }
    match topic {
        Some(topic) if text.is_empty() => screen.paged(&page(topic.text, &screen.out())),
        Some(topic) => screen.paged(&format!("{text}\n{}", page(topic.text, &screen.out()))),
        None => screen.result(&text),
    }
    Ok(0)
}

fn list_of_topics() -> String {
    let names: Vec<&str> = topics().collect();
    let options = textwrap::Options::new(78)
        .initial_indent("  ")
        .subsequent_indent("  ")
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    format!("\nTopics (quorum help TOPIC):\n{}\n", textwrap::fill(&names.join(", "), options))
}

fn unknown(words: &[String], root: &Command) -> Failure {
    let text = words.join(" ");
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set());
    let mut known: Vec<String> = commands.map(|command| command.get_name().to_owned()).collect();
    known.extend(topics().map(str::to_owned));
    let message = anyhow!("there is no command and no topic '{text}'");
    Failure::usage(message).help(match did_you_mean(&text, known.iter().map(String::as_str)) {
        Some(meant) => format!("{meant} (`quorum help` lists all commands and topics)"),
        None => format!(
            "the commands are those of `quorum --help`, the topics: {}",
            topics().collect::<Vec<_>>().join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line;

    #[test]
    fn the_first_help_fits_a_screen() {
        let help = command_line().render_help().to_string();
        assert!(help.lines().count() <= 45, "{}\n{help}", help.lines().count());
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(!line.trim_start().starts_with("--jobs"), "{line}");
        }
    }

    #[test]
    fn a_group_of_options_of_its_own_holds_the_global_ones() {
        let mut root = command_line();
        root.build();
        for command in root.get_subcommands_mut() {
            let help = command.render_help().to_string();
            let (own, global) = help.split_once("Global options:").expect("they are there");
            assert!(global.contains("--state-dir"), "{help}");
            assert!(!own.contains("--state-dir"), "{help}");
        }
    }

    #[test]
    fn every_guide_concept_and_reference_page_is_a_topic() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
        for folder in ["guides", "concepts", "reference", "agents"] {
            let pages = std::fs::read_dir(format!("{docs}/{folder}")).expect("it is there");
            for page in pages {
                let name = page.expect("it can be read").file_name();
                let path = format!("{folder}/{}", name.to_string_lossy());
                // The commands tell themselves.
                let is_known = PAGES.contains(&path.as_str()) || path == "reference/cli.md";
                assert!(is_known, "{path} is no topic of `quorum help`");
            }
        }
    }
}
