//! Questions to a person. Only a terminal is asked; everywhere else a command must do without an answer, never hang.

use std::io::{self, BufRead, IsTerminal};

use super::failure::Failure;
use super::screen::{Screen, in_ci};

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The person agreed, or `--yes` had said so.
    Yes,
    /// The person did not.
    No,
    /// No terminal, a pipeline, or `--no-input`.
    NobodyToAsk,
}

/// Asks whether to go on. `otherwise` is what an empty line means.
pub fn ask(screen: &Screen, question: &str, otherwise: Answer) -> Answer {
    if screen.output().yes {
        return Answer::Yes;
    }
    if !can_ask(screen) {
        return Answer::NobodyToAsk;
    }
    let choices = if otherwise == Answer::Yes {
        "[Y/n]"
    } else {
        "[y/N]"
    };
    screen.error(&format!("{question} {choices} "));
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        // The end of input is no answer, and no answer is no.
        Ok(0) | Err(_) => {
            screen.error("\n");
            Answer::No
        }
        Ok(_) => match line.trim().to_lowercase().as_str() {
            "" => otherwise,
            "y" | "yes" => Answer::Yes,
            _ => Answer::No,
        },
    }
}

/// Lets a person at a terminal think again before something is lost. A script has said what it wants by its arguments.
///
/// # Errors
///
/// The person does not want it after all.
pub fn think_again(screen: &Screen, question: &str) -> Result<(), Failure> {
    match ask(screen, question, Answer::No) {
        Answer::Yes | Answer::NobodyToAsk => Ok(()),
        Answer::No => {
            Err(Failure::usage(anyhow::anyhow!("nothing was changed"))
                .help("--yes goes on without a question"))
        }
    }
}

fn can_ask(screen: &Screen) -> bool {
    !screen.output().no_input && !in_ci() && io::stdin().is_terminal() && io::stderr().is_terminal()
}
