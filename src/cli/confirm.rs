//! Questions to a person. Only a terminal is asked; everywhere else a command must do without an answer, never hang.

use std::io::{self, BufRead, IsTerminal};

use super::command_error::Failure;
use super::screen::{Screen, in_ci};

/// Asks a person whether to go on with what cannot be undone. This is the one place that asks: `--yes` goes on without a
/// question, and where nobody can be asked (no terminal, a pipeline, `--no-input`) the command ends before it did
/// anything.
///
/// # Errors
/// A usage error (exit 2), with `help` as the way on: the person did not agree, or nobody could be asked.
pub fn confirm(screen: &Screen, question: &str, help: &str) -> Result<(), Failure> {
    if screen.output().yes {
        return Ok(());
    }
    if !can_ask(screen) {
        let why = if screen.output().no_input { "--no-input" } else { "no terminal" };
        return Err(
            usage!("confirmation needed: {question} (nobody can be asked: {why})").help(help.to_owned())
        );
    }
    match answer(screen, &format!("{question} [y/N] ")).as_deref() {
        Some("y" | "yes") => Ok(()),
        _ => Err(usage!("nothing was changed").help(help.to_owned())),
    }
}

/// Asks a person at a terminal about something by which nothing can be lost. An empty line is a yes, and so is nobody to
/// ask.
///
/// # Errors
/// A usage error where there is a person who must not be asked.
pub fn is_welcome(screen: &Screen, question: &str) -> Result<bool, Failure> {
    if screen.output().yes || !has_person() {
        return Ok(true);
    }
    if screen.output().no_input {
        return Err(usage!("confirmation needed: {question} (nobody can be asked: --no-input)")
            .help("add --yes to go on without a question"));
    }
    let answer = answer(screen, &format!("{question} [Y/n] "));
    Ok(matches!(answer.as_deref(), Some("" | "y" | "yes")))
}

/// The line that a person types; `None` at the end of input, which is no answer.
fn answer(screen: &Screen, question: &str) -> Option<String> {
    screen.error(question);
    let mut line = String::new();
    if !matches!(io::stdin().lock().read_line(&mut line), Ok(1..)) {
        screen.error("\n");
        return None;
    }
    Some(line.trim().to_lowercase())
}

/// Whether there is a person at a terminal who wants to be asked.
pub fn can_ask(screen: &Screen) -> bool {
    !screen.output().no_input && has_person()
}

fn has_person() -> bool {
    !in_ci() && io::stdin().is_terminal() && io::stderr().is_terminal()
}
