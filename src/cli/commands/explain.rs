//! `quorum explain`: what a diagnostic code, an exit code, a flag or a word of a screen means, and what to do about it.

use clap::{Args, Command};

use crate::{
    cli::{command_error::Failure, screen::Screen},
    report::{
        documents::commands::{ExplainDocument, ExplainedCode, ExplainedWord},
        vocabulary::words,
    },
};
use rules::mission::{Code, suggestion};

/// Explain a word that a screen prints, or list them
#[derive(Debug, Args)]
#[command(after_help = "Examples: quorum explain Q0201\n          quorum explain regressed")]
pub struct Explain {
    /// The word, as it is printed [default: a list of all]
    #[arg(value_name = "WORD", allow_hyphen_values = true)]
    pub word: Option<String>,
    /// What else belongs to the word: `not checked`
    #[arg(value_name = "MORE", hide = true)]
    pub more: Vec<String>,
}

/// Prints one explanation, or all with a few words each.
pub fn explain(arguments: &Explain, root: &Command, screen: &Screen) -> Result<u8, Failure> {
    let mut text = arguments.word.clone().unwrap_or_default();
    for more in &arguments.more {
        text = format!("{text} {more}");
    }
    let document = match arguments.word {
        Some(_) => one(&text, root)?,
        None => ExplainDocument {
            codes: Code::ALL.iter().map(|code| row(*code)).collect(),
            words: words::all().iter().map(|word| explained(word.name(), &word.meaning)).collect(),
        },
    };
    screen.show(&document);
    Ok(0)
}

fn one(text: &str, root: &Command) -> Result<ExplainDocument, Failure> {
    let mut document = ExplainDocument { codes: Vec::new(), words: Vec::new() };
    let long = text.trim_start_matches('-');
    if let Ok(code) = text.parse() {
        document.codes.push(row(code));
    } else if let Some(word) = words::find(text) {
        document.words.push(explained(text, &word.meaning));
    } else if let Some(help) = flag(root, long) {
        document.words.push(explained(&format!("--{long}"), &help));
    } else {
        let known = Code::ALL.iter().map(|code| code.as_str());
        let known: Vec<&str> =
            known.chain(words::all().iter().flat_map(|word| word.names.iter().copied())).collect();
        let help = suggestion(text, known.iter().copied(), "codes and words are");
        return Err(usage!("'{text}' is not a word that can be explained")
            .help(format!("{help} (`quorum explain` lists them all)")));
    }
    Ok(document)
}

/// The help of a flag, of whatever command has it.
fn flag(command: &Command, long: &str) -> Option<String> {
    let mut own = command.get_arguments();
    let own = own.find(|argument| argument.get_long() == Some(long));
    own.and_then(|argument| argument.get_help().map(ToString::to_string))
        .or_else(|| command.get_subcommands().find_map(|sub| flag(sub, long)))
}

fn explained(word: &str, meaning: &str) -> ExplainedWord {
    ExplainedWord { word: word.to_owned(), explanation: meaning.to_owned() }
}

fn row(code: Code) -> ExplainedCode {
    ExplainedCode { code: code.as_str(), summary: code.summary(), explanation: code.explanation() }
}
