//! `quorum explain`: what a diagnostic code, an exit code, a flag or a word of a screen means, and what to do about it.

use clap::{Args, Command};

use crate::{
    cli::{command_error::Failure, screen::Screen},
    report::{
        documents::commands::{ExplainDocument, ExplainedCode, ExplainedWord},
        sanitize,
        screens::explain,
        vocabulary::words::{self, WordEntry},
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

/// The meaning of the word that was asked for.
enum Explained {
    Code(Code),
    Word(WordEntry),
    /// A flag with its help.
    Flag(String, String),
}

/// Prints one explanation, or all with a few words each.
pub fn explain(arguments: &Explain, root: &Command, screen: &Screen) -> Result<u8, Failure> {
    let mut text = arguments.word.clone().unwrap_or_default();
    for more in &arguments.more {
        text = format!("{text} {more}");
    }
    match arguments.word {
        Some(_) => one(&text, &find(&text, root)?, screen),
        None => all(screen),
    }
    Ok(0)
}

fn find(text: &str, root: &Command) -> Result<Explained, Failure> {
    if let Ok(code) = text.parse() {
        return Ok(Explained::Code(code));
    }
    if let Some(word) = words::find(text) {
        return Ok(Explained::Word(word));
    }
    let long = text.trim_start_matches('-');
    if let Some(help) = flag(root, long) {
        return Ok(Explained::Flag(format!("--{long}"), help));
    }
    let known = Code::ALL.iter().map(|code| code.as_str());
    let known: Vec<&str> = known
        .chain(words::all().flat_map(|word| word.word.split('|')))
        .collect();
    let help = suggestion(text, known.iter().copied(), "codes and words are");
    Err(usage!("'{}' is not a word that can be explained", sanitize(text))
        .help(format!("{help} (`quorum explain` lists them all)")))
}

/// The help of a flag, of whatever command has it.
fn flag(command: &Command, long: &str) -> Option<String> {
    let mut own = command.get_arguments();
    let own = own.find(|argument| argument.get_long() == Some(long));
    own.and_then(|argument| argument.get_help().map(ToString::to_string))
        .or_else(|| command.get_subcommands().find_map(|sub| flag(sub, long)))
}

fn one(text: &str, found: &Explained, screen: &Screen) {
    if screen.is_json() {
        let word = |word, explanation| ExplainDocument {
            codes: Vec::new(),
            words: vec![ExplainedWord { word, explanation }],
        };
        return screen.document(&match found {
            Explained::Code(code) => ExplainDocument {
                codes: vec![row(*code)],
                words: Vec::new(),
            },
            Explained::Word(known) => word(text, known.meaning),
            Explained::Flag(name, help) => word(name, help),
        });
    }
    screen.result(&match found {
        Explained::Code(code) => explain::one(*code, &screen.out()),
        Explained::Word(word) => explain::word(&sanitize(text), word.meaning, &screen.out()),
        Explained::Flag(name, help) => explain::word(name, help, &screen.out()),
    });
}

fn all(screen: &Screen) {
    if !screen.is_json() {
        return screen.result(&explain::all(&screen.out()));
    }
    let known: Vec<WordEntry> = words::all().collect();
    let words = known.iter().map(|word| ExplainedWord {
        word: word.name(),
        explanation: word.meaning,
    });
    screen.document(&ExplainDocument {
        codes: Code::ALL.iter().map(|code| row(*code)).collect(),
        words: words.collect(),
    });
}

fn row(code: Code) -> ExplainedCode {
    ExplainedCode {
        code: code.as_str(),
        summary: code.summary(),
        explanation: code.explanation(),
    }
}
