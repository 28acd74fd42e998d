//! The command line as one tree: what the structs declare, with what they cannot say.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::builder::{EnumValueParser, PossibleValue, Resettable, TypedValueParser, ValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use rules::mission::did_you_mean;

use super::args::{Format, JsonFlag, OutputArgs, switch};
use super::command_error::Failure;
use super::commands::help::root_template;

/// The whole command line, of what the structs declare.
///
/// A switch whose variable is `1`, `yes` or `on` is on, as people and pipelines write it.
pub fn with_help(declared: Command) -> Command {
    let mut root = with_details(declared, None);
    // The flags of `run` are taken here too, but shown there.
    root = root.mut_args(|argument| {
        let is_shown = argument.is_global_set();
        argument.hide(!is_shown)
    });
    let template = root_template(&root);
    root.help_template(template)
}

/// Adds to a command what all of them have in common: switches, variables, and only the formats that it has.
fn with_details(command: Command, format: Option<&Arg>) -> Command {
    let name = command.get_name().to_owned();
    let of_parent = command.get_arguments().find(|argument| argument.get_id() == "format");
    let global = of_parent.cloned();
    let known = format.or(global.as_ref());
    let is_switch = |argument: &Arg| {
        matches!(argument.get_action(), ArgAction::SetTrue)
            && argument.get_value_parser().type_id() == ValueParser::bool().type_id()
    };
    let mut command = command
        .mut_args(|argument| {
            if is_switch(&argument) {
                argument.value_parser(switch).hide_env_values(true)
            } else {
                argument.hide_env_values(true)
            }
        })
        .mut_subcommands(|sub| with_details(sub, known));
    // A flag of a command takes the place of the global one of the same name.
    if let Some(format) = format {
        let formats = formats(&name, false);
        let format = format.clone().global(false).value_parser(FormatOf(formats));
        command = command.arg(format.hide(formats.len() == 1));
    }
    command
}

/// The formats in which a command prints its result, the usual one first.
pub fn formats(command: &str, is_plan: bool) -> &'static [Format] {
    match command {
        _ if is_plan => &[Format::Human, Format::Json, Format::Dot, Format::Mermaid],
        "plan" => formats(command, true),
        "events" => &[Format::Human, Format::Json, Format::Jsonl],
        // A patch is no document, and servers print none.
        "help" | "man" | "diff" | "worker" | "mcp" => &[Format::Human],
        _ => &[Format::Human, Format::Json],
    }
}

/// The formats of one command. Every format is read, so that a command can say which ones it has.
#[derive(Debug, Clone, Copy)]
struct FormatOf(&'static [Format]);

impl TypedValueParser for FormatOf {
    type Value = Format;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Format, clap::Error> {
        EnumValueParser::<Format>::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|format| PossibleValue::new(format.as_str()))))
    }
}

/// Refuses a format that the command does not print. One that only a variable names holds for the commands that have it.
///
/// # Errors
/// A usage error that names the formats of the command.
pub fn refuse_format(output: &mut OutputArgs, name: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let is_plan = matches!(matches.try_get_one::<bool>("dry_run"), Ok(Some(true)));
    let formats = formats(name, is_plan);
    let by_flag = match output.json {
        JsonFlag::Document => Some(Format::Json),
        JsonFlag::Unsaid | JsonFlag::File(_) => None,
    };
    let Some(wanted) = output.format.or(by_flag).filter(|wanted| !formats.contains(wanted)) else {
        return Ok(());
    };
    let id = if output.format.is_some() { "format" } else { "json" };
    output.format = None;
    output.json = JsonFlag::Unsaid;
    if matches.value_source(id) == Some(ValueSource::EnvVariable) {
        return Ok(());
    }
    let names: Vec<&str> = formats.iter().map(|format| format.as_str()).collect();
    let names = names.join(", ");
    let failure = usage!("`quorum {name}` does not print {}", wanted.as_str());
    Err(failure.help(match wanted {
        Format::Dot | Format::Mermaid => {
            format!("its formats: {names}; only a plan can be drawn: `quorum plan`")
        }
        Format::Human | Format::Json | Format::Jsonl => format!("its formats: {names}"),
    }))
}

/// Reads the typed words. A variable that belongs to the flags of a bare `quorum` means nothing to a
/// subcommand, which reads those of its own flags.
///
/// # Errors
///
/// What clap says; where a variable is to blame it is named.
pub fn parse(root: &Command, words: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let root = heeding_variables(root.clone());
    let of_subcommands = root.clone().mut_args(|argument| {
        if argument.is_global_set() {
            argument
        } else {
            argument.env(Resettable::<clap::builder::OsStr>::Reset)
        }
    });
    let found = match of_subcommands.try_get_matches_from(words) {
        Ok(matches) if matches.subcommand().is_some() => return Ok(matches),
        Err(error) if error.exit_code() != 0 => Err(error),
        _ => root.clone().try_get_matches_from(words),
    };
    found.map_err(|error| hint_at_run(name_variable(error, words, root.clone()), &root))
}

/// The command line without the variables that are set to nothing: pipelines hand on what nobody has set.
fn heeding_variables(root: Command) -> Command {
    fn without_empty(command: Command) -> Command {
        command
            .mut_args(|argument| {
                let value = argument.get_env().and_then(std::env::var_os);
                if value.is_some_and(|value| value.is_empty()) {
                    argument.env(Resettable::<clap::builder::OsStr>::Reset)
                } else {
                    argument
                }
            })
            .mut_subcommands(without_empty)
    }
    without_empty(root)
}

/// Adds a hint to `quorum run` where a mission stands in the place of a command.
fn hint_at_run(mut error: clap::Error, root: &Command) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let is_mission = word.ends_with(".yaml") || word.ends_with(".yml") || Path::new(word).is_file();
    if is_mission {
        let hint = format!("to run a mission, type `quorum run {word}`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    } else if let Some(meant) = did_you_mean(word, root.get_subcommands().map(Command::get_name)) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![meant.into()]));
        error.remove(ContextKind::SuggestedSubcommand);
    }
    error
}

/// A wrong value that nobody typed comes from a variable, which the message then names.
fn name_variable(mut error: clap::Error, words: &[OsString], mut known: Command) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (Some(argument), Some(value)) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue))
    else {
        return error;
    };
    let long = argument.split([' ', '=']).next().unwrap_or_default().to_owned();
    let is_typed = words.iter().any(|word| word.to_string_lossy().starts_with(&long));
    known.build();
    if let Some(variable) = variable_of(&known, &argument, &value).filter(|_| !is_typed) {
        let named = format!("{argument}, by the environment variable {variable}");
        error.insert(ContextKind::InvalidArg, ContextValue::String(named));
    }
    error
}

/// The variable of an argument that holds this value.
fn variable_of(command: &Command, argument: &str, value: &str) -> Option<String> {
    let holds = |name: &OsStr| std::env::var_os(name).is_some_and(|held| held.to_string_lossy() == value);
    let mut own = command.get_arguments().filter(|known| known.to_string() == argument);
    let own = own.find_map(|known| known.get_env().filter(|name| holds(name)));
    own.map(|name| name.to_string_lossy().into_owned())
        .or_else(|| command.get_subcommands().find_map(|sub| variable_of(sub, argument, value)))
}
