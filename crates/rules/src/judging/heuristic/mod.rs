//! The heuristic grader: a judge without a model, for criteria that plain facts can decide (semantics, section 10).
//!
//! ```text
//! criterion = fact {" and " fact} ["."]               a fact without a subject is about the last one that is named
//! fact      = `path` exists | does not exist
//!           | (`path` | the output) contains `text` | does not contain `text`
//!           | `path` has at least N lines | has at most N lines       or words, or bytes
//!           | `command` passes | exits N
//! ```
//!
//! A criterion is met if all its facts hold, and not met if one of them does not. One that is not written like this, or
//! that asks for what is not in [`Facts`], is *unchecked*: nothing is said of it.
//!
//! The same criteria and facts always give the same grades. Nothing is run and nothing is read here. What grades mean
//! for the work is decided in `verification`, whoever gave them.

use crate::domain::{CriterionGrade, Points};
use crate::mission::shell_line::exited;

/// The facts that the caller saw for itself. What is not in here is unknown, not absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Files, by the paths of [`named_files`]; the output of the work has the empty path.
    pub files: Vec<FileFacts>,
    /// The results of commands, by the command lines of [`named_commands`].
    pub commands: Vec<CommandFacts>,
}

/// One path, relative to the workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct FileFacts {
    /// The path as the criterion writes it.
    pub path: String,
    /// The content of the file; `None` if there is no file.
    pub content: Option<FileContent>,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileContent {
    /// The size in bytes.
    pub bytes: u64,
    /// The text; `None` if the content could not be read as text.
    pub text: Option<Text>,
}

/// A text that was read, perhaps not to its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text {
    /// The part of the text that was read, from its beginning.
    pub text: String,
    /// Whether the text was read to its end.
    pub whole: bool,
}

/// The result of one command.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandFacts {
    /// The command line for the shell.
    pub command: String,
    /// The exit code; `None` if a signal or a time-out ended it.
    pub exit: Option<i32>,
    /// The end of what it printed.
    pub output: String,
}

/// Whether something holds, `None` where nobody can know, and the evidence.
type Observation = (Option<bool>, String);

/// A statement of a criterion about a subject.
struct Clause<'a> {
    /// A path or a command; empty for the output of the work.
    subject: &'a str,
    form: ClaimForm<'a>,
}

/// The form of a statement. Where a form has a `bool`, `false` says the opposite.
enum ClaimForm<'a> {
    Exists(bool),
    Contains(bool, &'a str),
    /// At least, or at most, a number of lines, words or bytes.
    Has(bool, u64, &'static str),
    Exits(i32),
}

/// The paths that the criteria name, each once, in order: what [`Facts`] should be gathered about.
///
/// They are as the criteria write them, so they may point anywhere: look at them beneath the workspace only.
pub fn named_files(criteria: &[String]) -> Vec<String> {
    named(criteria, |clause| !clause.subject.is_empty() && !is_command(clause))
}

/// The commands that the criteria name, each once, in order: whoever wants to grade them must run these.
///
/// They are the words of the criteria's author, never of the work.
pub fn named_commands(criteria: &[String]) -> Vec<String> {
    named(criteria, is_command)
}

/// Whether any of the criteria is about the output of the work.
pub fn names_the_output(criteria: &[String]) -> bool {
    !named(criteria, |clause| clause.subject.is_empty()).is_empty()
}

/// Whether a criterion is about files and commands, so that it can be told without any work.
pub fn is_about_the_world(criterion: &str) -> bool {
    let clauses = read(criterion).unwrap_or_default();
    !clauses.is_empty() && clauses.iter().all(|clause| !clause.subject.is_empty())
}

fn named(criteria: &[String], wanted: impl Fn(&Clause<'_>) -> bool) -> Vec<String> {
    let mut named: Vec<String> = Vec::new();
    for clause in criteria.iter().filter_map(|criterion| read(criterion)).flatten() {
        if wanted(&clause) && !named.iter().any(|known| known == clause.subject) {
            named.push(clause.subject.to_owned());
        }
    }
    named
}

fn is_command(clause: &Clause<'_>) -> bool {
    matches!(clause.form, ClaimForm::Exits(_))
}

/// Reads a criterion; `None` where any part of it has none of the forms.
fn read(criterion: &str) -> Option<Vec<Clause<'_>>> {
    let pieces: Vec<&str> = criterion.trim().trim_end_matches('.').split('`').collect();
    let mut quoted = pieces.iter().skip(1).step_by(2).copied();
    if pieces.len().is_multiple_of(2) || quoted.clone().any(|text| text.trim().is_empty()) {
        return None;
    }
    let outside: Vec<&str> = pieces.iter().step_by(2).copied().collect();
    let outside = outside.join(" ` ");
    let words: Vec<&str> = outside.split_whitespace().collect();
    let mut last = None;
    let clauses = words.split(|word| *word == "and").map(|fact| {
        let said = match fact {
            ["`", said @ ..] => {
                last = Some(quoted.next()?.trim());
                said
            }
            ["the" | "The", "output", said @ ..] => {
                last = Some("");
                said
            }
            said => said,
        };
        let clause = Clause { subject: last?, form: form(said, || quoted.next())? };
        // Of the output there may be only a part, so nothing of it is counted.
        (!clause.subject.is_empty() || matches!(clause.form, ClaimForm::Contains(..))).then_some(clause)
    });
    clauses.collect()
}

fn form<'a>(words: &[&str], mut quoted: impl FnMut() -> Option<&'a str>) -> Option<ClaimForm<'a>> {
    Some(match *words {
        ["exists"] => ClaimForm::Exists(true),
        ["does", "not", "exist"] => ClaimForm::Exists(false),
        ["contains", "`"] => ClaimForm::Contains(true, quoted()?),
        ["does", "not", "contain", "`"] => ClaimForm::Contains(false, quoted()?),
        ["has", "at", bound @ ("least" | "most"), count, unit] => {
            let mut units = ["lines", "words", "bytes"].into_iter();
            let unit = units.find(|known| *known == unit)?;
            ClaimForm::Has(bound == "least", count.parse().ok()?, unit)
        }
        ["passes"] => ClaimForm::Exits(0),
        ["exits", code] => ClaimForm::Exits(code.parse().ok()?),
        _ => return None,
    })
}

/// Grades criteria by what is known: one grade for each, in their order. One that is met gets all points, one that is not
/// gets none, and of one that could not be decided nothing is said.
pub fn grade(criteria: &[String], facts: &Facts) -> Vec<CriterionGrade> {
    let graded = criteria.iter().map(|criterion| {
        let (holds, evidence) = grade_one(criterion, facts);
        let points = holds.map(|holds| if holds { Points::FULL } else { Points::ZERO });
        CriterionGrade { points, evidence }
    });
    graded.collect()
}

/// Grades a criterion: a clause that does not hold decides, then one of which nobody knows.
fn grade_one(criterion: &str, facts: &Facts) -> Observation {
    let Some(clauses) = read(criterion) else {
        return (None, "it has none of the forms that facts can decide".to_owned());
    };
    let seen: Vec<Observation> = clauses.iter().map(|clause| judge(clause, facts)).collect();
    let first = |holds| seen.iter().find(|one| one.0 == holds).cloned();
    first(Some(false)).or_else(|| first(None)).unwrap_or_else(|| {
        let evidence: Vec<&str> = seen.iter().map(|one| &*one.1).collect();
        (Some(true), evidence.join("; "))
    })
}

fn judge(clause: &Clause<'_>, facts: &Facts) -> Observation {
    let place = if clause.subject.is_empty() { "the output" } else { clause.subject };
    if let ClaimForm::Exits(code) = clause.form {
        let command = facts.commands.iter().find(|command| command.command == place);
        return command
            .map_or_else(|| (None, format!("`{place}` was not run")), |command| exits(command, code));
    }
    let Some(file) = facts.files.iter().find(|file| file.path == clause.subject) else {
        return (None, format!("nothing is known about {place}"));
    };
    let unread = (None, format!("{place} is not a text that could be read to its end"));
    match (&clause.form, &file.content) {
        (ClaimForm::Exists(wanted), Some(_)) => (Some(*wanted), format!("{place} exists")),
        // What is not there has no lines and lacks no words.
        (form, None) => (Some(matches!(form, ClaimForm::Exists(false))), format!("{place} does not exist")),
        (ClaimForm::Contains(wanted, literal), Some(FileContent { text: Some(text), .. })) => {
            let there = text.text.contains(literal);
            let verb = if there { "contains" } else { "does not contain" };
            if there || text.whole {
                (Some(there == *wanted), format!("{place} {verb} `{literal}`"))
            } else {
                unread
            }
        }
        (ClaimForm::Has(least, count, unit), Some(content)) => {
            let (has, whole) = match (*unit, &content.text) {
                ("bytes", _) => (content.bytes, true),
                (_, None) => return unread,
                ("lines", Some(text)) => (text.text.lines().count() as u64, text.whole),
                (_, Some(text)) => (text.text.split_whitespace().count() as u64, text.whole),
            };
            let holds = if *least { has >= *count } else { has <= *count };
            // The rest of a text that was cut can only add to its beginning.
            if whole || holds == *least { (Some(holds), format!("{place} has {has} {unit}")) } else { unread }
        }
        _ => unread,
    }
}

/// How a command ended; of one that should have ended otherwise also the end of what it printed.
fn exits(command: &CommandFacts, code: i32) -> Observation {
    let how = match command.exit {
        Some(code) => exited(&command.command, code),
        None => "was killed".to_owned(),
    };
    let how = format!("`{}` {how}", command.command);
    if command.exit == Some(code) {
        (Some(true), how)
    } else {
        (Some(false), format!("{how}\n{}", command.output.trim()).trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests;
