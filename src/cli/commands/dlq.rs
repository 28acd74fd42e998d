//! `quorum dlq`: what failed for good, and what becomes of it (semantics, section 13).

use clap::{Args, Subcommand};

use crate::{
    cli::{
        command_error::Failure,
        event_loop::block_on,
        lock::lock,
        operator_client::{OPERATOR, refuse_agents},
        project::{state_folder, unusable_file},
        screen::Screen,
        session::fork_supervisor,
    },
    report::documents::commands::DeadLettersDocument,
    runtime::retry_now,
    store::DeadLetters,
};
use rules::domain::{DeadLetter, LetterStatus, Timestamp};

#[derive(Debug, Args)]
pub struct Dlq {
    #[command(subcommand)]
    command: Option<DlqCommand>,
}

#[derive(Debug, Subcommand)]
enum DlqCommand {
    /// List them, the oldest first
    #[command(after_help = "Example: quorum dlq list --all --json | jq '.letters[].operation'")]
    List(List),
    /// Show everything about one
    #[command(after_help = "Example: quorum dlq show 20261121-215900-123.n1")]
    Show(LetterArgs),
    /// Retry one at once
    #[command(after_help = "Example: quorum dlq retry 20261121-215900-123.n1")]
    Retry(LetterArgs),
    /// Mark one as dealt with
    #[command(
        after_help = "Example: quorum dlq resolve 20261121-215900-123.n1 --reason 'told them by phone'"
    )]
    Resolve(CloseArgs),
    /// Mark one as not to be done
    #[command(
        after_help = "Example: quorum dlq abandon 20261121-215900-123.n1 --reason 'nobody needs it any more'"
    )]
    Abandon(CloseArgs),
}

#[derive(Debug, Default, Args)]
struct List {
    /// Resolved and abandoned letters, too
    #[arg(short, long)]
    all: bool,
}

#[derive(Debug, Args)]
struct LetterArgs {
    /// The letter's id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, Args)]
struct CloseArgs {
    /// The letter's id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// Why; it is kept with the letter
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub fn dlq(arguments: &Dlq, screen: &Screen) -> Result<u8, Failure> {
    match &arguments.command {
        None => list(&List::default(), screen),
        Some(DlqCommand::List(arguments)) => list(arguments, screen),
        Some(DlqCommand::Show(one)) => show(&one.id, screen),
        Some(DlqCommand::Retry(one)) => retry(&one.id, screen),
        Some(DlqCommand::Resolve(close)) => closed(close, LetterStatus::Resolved, screen),
        Some(DlqCommand::Abandon(close)) => closed(close, LetterStatus::Abandoned, screen),
    }
}

fn queue(screen: &Screen) -> Result<DeadLetters, Failure> {
    Ok(DeadLetters::of(&state_folder(screen.output())?))
}

fn list(arguments: &List, screen: &Screen) -> Result<u8, Failure> {
    let letters = queue(screen)?.read().map_err(unusable_file)?;
    let letters: Vec<DeadLetter> =
        letters.into_iter().filter(|letter| arguments.all || !letter.status.is_closed()).collect();
    let (letters, letter) = (Some(&*letters), None);
    screen.show(&DeadLettersDocument { letters, letter });
    Ok(0)
}

fn show(id: &str, screen: &Screen) -> Result<u8, Failure> {
    let letter = find(&queue(screen)?, id)?;
    print_result(&letter, screen);
    Ok(0)
}

fn retry(id: &str, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    // While there is one thread.
    let supervisor = fork_supervisor()?;
    let folder = state_folder(screen.output())?;
    let letter = find(&DeadLetters::of(&folder), id)?;
    if letter.channel().is_none() {
        let by = if letter.operation.starts_with("judge:") {
            format!("`quorum resume {}` asks its judges again", letter.run)
        } else {
            "do it by hand, then close it with `quorum dlq resolve`".to_owned()
        };
        let message = format!("'{}' cannot be tried again from here", letter.operation);
        return Err(usage!(message).help(by));
    }
    if letter.status == LetterStatus::Resolved {
        print_result(&letter, screen);
        return Ok(0);
    }
    let _lock = lock(&folder, OPERATOR, &letter.run)?;
    let retried = block_on(async { retry_now(&folder, &letter, supervisor.into_async()?).await });
    let letter = retried.map_err(Failure::internal)?.map_err(Failure::internal)?.map_err(unusable_file)?;
    print_result(&letter, screen);
    Ok(if letter.status == LetterStatus::Resolved { 0 } else { 4 })
}

fn closed(close: &CloseArgs, status: LetterStatus, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    let queue = queue(screen)?;
    let letter = find(&queue, &close.id)?;
    let now = Timestamp::now();
    let changed = queue.update(&letter.id, now, |letter| {
        if letter.status != status {
            letter.close(status, close.reason.clone(), now);
        }
    });
    print_result(&changed.map_err(unusable_file)?.unwrap_or(letter), screen);
    Ok(0)
}

/// The letter with this id, or the only one whose id begins like this.
fn find(queue: &DeadLetters, id: &str) -> Result<DeadLetter, Failure> {
    let letters = queue.read().map_err(unusable_file)?;
    if let Some(letter) = letters.iter().find(|letter| letter.id == id) {
        return Ok(letter.clone());
    }
    let mut like = letters.into_iter().filter(|letter| !id.is_empty() && letter.id.starts_with(id));
    match (like.next(), like.next()) {
        (Some(letter), None) => Ok(letter),
        (None, _) => {
            Err(usage!("there is no dead letter '{id}'").help("`quorum dlq list --all` shows the ids"))
        }
        (Some(_), Some(_)) => Err(usage!("several dead letters begin with '{id}'")
            .help("`quorum dlq list --all` shows the whole ids")),
    }
}

fn print_result(letter: &DeadLetter, screen: &Screen) {
    let (letters, letter) = (None, Some(letter));
    screen.show(&DeadLettersDocument { letters, letter });
}
