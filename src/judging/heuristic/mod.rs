//! The heuristic grader: a judge without a model, for criteria that plain facts can decide (semantics, section 10).
//!
//! A criterion is read by a small fixed grammar (in `reading.rs`) that knows files, commands that were run, and the
//! output of the work. What it says is then held against [`Facts`], which the caller saw for itself. Three ends:
//!
//! * *passed*: every word of the criterion was understood, and all it says holds;
//! * *failed*: something that it says was understood and does not hold;
//! * *unchecked*: the rest. What is not understood, or not known, is never taken for true.
//!
//! The same criteria and facts always give the same grades. Nothing is run and nothing is read here. What grades mean
//! for the work is decided in `verification`, whoever gave them.
//!
//! | file | what |
//! |---|---|
//! | `reading` | what a criterion says, as far as a fixed grammar understands it |

mod reading;

use crate::domain::{CriterionGrade, Points, ShellFailure};
use crate::mission::shell_line::exited;

use reading::{Clause, Core, Literal, Measure, Reading};

/// How much of the end of a command's output is told of, in characters.
const OUTPUT_SHOWN: usize = 1_000;

/// What the caller saw for itself. What is not in here is unknown, not absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Files, by the paths of [`named_files`].
    pub files: Vec<FileFacts>,
    /// Commands that were run, in that order: the last result of a command counts.
    pub commands: Vec<CommandFacts>,
    /// What the work itself says, if it says anything.
    pub output: Option<Text>,
}

/// One path, relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// The path as the criterion writes it.
    pub path: String,
    /// What is there; `None` if nothing is.
    pub content: Option<Content>,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its text; `None` if it could not be read as text.
    pub text: Option<Text>,
}

/// A text that was read, perhaps not to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// What was read.
    pub text: String,
    /// Whether that is all of it.
    pub whole: bool,
}

/// The result of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFacts {
    /// The command line.
    pub command: String,
    /// The exit code; `None` if a signal or a time-out ended it.
    pub exit: Option<i32>,
    /// What it printed.
    pub output: Text,
}

/// The paths that the criteria speak of, each once, in order: what [`Facts`] should be gathered about.
///
/// They are as the criteria write them, so they may point anywhere: look at them beneath the workspace only.
pub fn named_files(criteria: &[String]) -> Vec<String> {
    let mut files = Vec::new();
    for clause in clauses(criteria) {
        let subjects = clause.about_files().then_some(clause.subjects);
        for path in subjects.into_iter().flatten() {
            if !files.contains(&path) {
                files.push(path);
            }
        }
    }
    files
}

/// The commands that the criteria speak of, each once, in order: whoever wants to grade them must run these.
///
/// They are the words of the criteria's author, never of the work.
pub fn named_commands(criteria: &[String]) -> Vec<String> {
    let mut commands = Vec::new();
    for clause in clauses(criteria) {
        let subjects = clause.about_commands().then_some(clause.subjects);
        for command in subjects.into_iter().flatten() {
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

/// Whether any of the criteria speaks of the output of the work.
pub fn speaks_of_output(criteria: &[String]) -> bool {
    clauses(criteria).any(|clause| matches!(clause.core, Core::OutputContains(_)))
}

fn clauses(criteria: &[String]) -> impl Iterator<Item = Clause> {
    criteria
        .iter()
        .flat_map(|criterion| reading::read(criterion).clauses)
}

/// Grades criteria by what is known: one grade for each, in their order. One that holds gets all points, one that does
/// not gets none, and of one that could not be decided nothing is said.
pub fn grade(criteria: &[String], facts: &Facts) -> Vec<CriterionGrade> {
    criteria
        .iter()
        .map(|criterion| {
            let (holds, evidence) = grade_one(&reading::read(criterion), facts);
            let points = match holds {
                Holds::Yes => Some(Points::FULL),
                Holds::No => Some(Points::ZERO),
                Holds::Unknown => None,
            };
            CriterionGrade { points, evidence }
        })
        .collect()
}

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Yes,
    No,
    Unknown,
}

impl Holds {
    fn when(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    fn negated_if(self, negated: bool) -> Self {
        match (self, negated) {
            (Self::Yes, true) => Self::No,
            (Self::No, true) => Self::Yes,
            (same, _) => same,
        }
    }
}

/// All clauses must hold. The first one that does not decides, whatever else was not understood; it is what is told.
fn grade_one(reading: &Reading, facts: &Facts) -> (Holds, String) {
    let mut seen = Vec::new();
    let mut open = reading.not_understood.clone();
    for clause in &reading.clauses {
        for subject in &clause.subjects {
            for (holds, why) in judge(clause, subject, facts) {
                match holds {
                    Holds::No => return (Holds::No, why),
                    Holds::Unknown => open = open.or(Some(why)),
                    Holds::Yes => seen.push(why),
                }
            }
        }
    }
    match open {
        Some(why) => (Holds::Unknown, why),
        None => (Holds::Yes, seen.join("; ")),
    }
}

/// What one clause says of one subject: one answer for every thing it says.
fn judge(clause: &Clause, subject: &str, facts: &Facts) -> Vec<(Holds, String)> {
    let negated = clause.negated;
    match &clause.core {
        Core::Exists => vec![exists(subject, negated, facts)],
        Core::Empty => vec![with_file(subject, facts, |content| {
            let holds = Holds::when(content.bytes == 0).negated_if(negated);
            (holds, format!("{subject} has {} bytes", content.bytes))
        })],
        Core::AtLeast(count, measure) => vec![with_file(subject, facts, |content| {
            let (holds, why) = at_least(subject, content, *count, *measure);
            (holds.negated_if(negated), why)
        })],
        Core::Contains(said) => each(said, |said| {
            with_file(subject, facts, |content| match &content.text {
                None => (
                    Holds::Unknown,
                    format!("{subject} is not a text that could be read"),
                ),
                Some(text) => found(subject, text, said, negated),
            })
        }),
        Core::OutputContains(said) => each(said, |said| match &facts.output {
            None => (Holds::Unknown, "there is no output to look at".to_owned()),
            Some(text) => found("the output", text, said, negated),
        }),
        Core::Prints(said) => each(said, |said| {
            with_command(subject, facts, |command| match could_not_run(command) {
                true => (Holds::Unknown, ended(subject, command)),
                false => found(
                    &format!("the output of `{subject}`"),
                    &command.output,
                    said,
                    negated,
                ),
            })
        }),
        Core::Exits(code) => vec![with_command(subject, facts, |command| {
            let exited = Holds::when(command.exit == Some(*code));
            // That it could not do the one thing does not show that it would do the other.
            let holds = match (exited, negated && did_not_say(command)) {
                (Holds::No, true) => Holds::Unknown,
                (exited, _) => exited.negated_if(negated),
            };
            (holds, with_end(holds, subject, command))
        })],
        Core::Fails => vec![with_command(subject, facts, |command| {
            let failed = match command.exit {
                Some(code) if !did_not_say(command) => Holds::when(code != 0),
                _ => Holds::Unknown,
            };
            let holds = failed.negated_if(negated);
            (holds, with_end(holds, subject, command))
        })],
    }
}

/// The shell's own exit codes for a command that is not there or cannot be executed.
fn could_not_run(command: &CommandFacts) -> bool {
    command.exit.and_then(ShellFailure::of).is_some()
}

/// A command that was killed, or never ran, neither succeeded nor said that it failed.
fn did_not_say(command: &CommandFacts) -> bool {
    command.exit.is_none() || could_not_run(command)
}

fn each(said: &[Literal], judge: impl Fn(&Literal) -> (Holds, String)) -> Vec<(Holds, String)> {
    said.iter().map(judge).collect()
}

fn exists(subject: &str, negated: bool, facts: &Facts) -> (Holds, String) {
    match facts.files.iter().find(|file| file.path == subject) {
        None => (Holds::Unknown, format!("nothing is known about {subject}")),
        Some(file) => {
            let there = file.content.is_some();
            let what = if there { "exists" } else { "does not exist" };
            (
                Holds::when(there).negated_if(negated),
                format!("{subject} {what}"),
            )
        }
    }
}

/// Whoever says something about a file says that there is one: what is not there has no lines and lacks no words.
fn with_file(
    subject: &str,
    facts: &Facts,
    judge: impl FnOnce(&Content) -> (Holds, String),
) -> (Holds, String) {
    match facts.files.iter().find(|file| file.path == subject) {
        None => (Holds::Unknown, format!("nothing is known about {subject}")),
        Some(FileFacts { content: None, .. }) => (Holds::No, format!("{subject} does not exist")),
        Some(FileFacts {
            content: Some(content),
            ..
        }) => judge(content),
    }
}

fn with_command(
    subject: &str,
    facts: &Facts,
    judge: impl FnOnce(&CommandFacts) -> (Holds, String),
) -> (Holds, String) {
    // To the letter: space within quotes makes another command of it.
    let mut commands = facts.commands.iter().rev();
    match commands.find(|command| command.command == subject) {
        None => (Holds::Unknown, format!("`{subject}` was not run")),
        Some(command) => judge(command),
    }
}

/// How a command ended; of one that should have ended otherwise also the end of what it printed.
fn with_end(holds: Holds, subject: &str, command: &CommandFacts) -> String {
    let ended = ended(subject, command);
    let printed = command.output.text.trim();
    if holds != Holds::No || printed.is_empty() {
        return ended;
    }
    let start = printed.char_indices().rev().take(OUTPUT_SHOWN).last();
    format!("{ended}\n{}", &printed[start.map_or(0, |(start, _)| start)..])
}

fn ended(subject: &str, command: &CommandFacts) -> String {
    match command.exit {
        Some(code) if could_not_run(command) => format!("`{subject}` exited {code}: it could not be run"),
        Some(code) => format!("`{subject}` {}", exited(subject, code)),
        None => format!("`{subject}` was killed"),
    }
}

fn found(place: &str, text: &Text, said: &Literal, negated: bool) -> (Holds, String) {
    let there = if said.any_case {
        text.text.to_lowercase().contains(&said.literal.to_lowercase())
    } else {
        text.text.contains(&said.literal)
    };
    if !there && !text.whole {
        return (
            Holds::Unknown,
            format!(
                "{place} was not read to its end, and `{}` is not in its beginning",
                said.literal
            ),
        );
    }
    let verb = if there { "contains" } else { "does not contain" };
    (
        Holds::when(there).negated_if(negated),
        format!("{place} {verb} `{}`", said.literal),
    )
}

fn at_least(subject: &str, content: &Content, count: u64, measure: Measure) -> (Holds, String) {
    if measure == Measure::Bytes {
        let why = format!("{subject} has {} bytes", content.bytes);
        return (Holds::when(content.bytes >= count), why);
    }
    let Some(text) = &content.text else {
        return (
            Holds::Unknown,
            format!("{subject} is not a text that could be read"),
        );
    };
    let (has, unit) = match measure {
        Measure::Lines => (text.text.lines().count(), "lines"),
        _ => (text.text.split_whitespace().count(), "words"),
    };
    let enough = u64::try_from(has).is_ok_and(|has| has >= count);
    if !enough && !text.whole {
        return (Holds::Unknown, format!("{subject} was not read to its end"));
    }
    (Holds::when(enough), format!("{subject} has {has} {unit}"))
}

#[cfg(test)]
mod tests;
