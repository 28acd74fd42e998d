//! Every word that a screen prints and that is more than a word: statuses, flags, outcomes, verdicts, failure modes, verbs
//! of the progress, heads of columns. `quorum explain WORD` prints what stands here: what a word means, when it is printed,
//! and what to do. What has happened is told by events (`run:moved`).
//!
//! A word that is the variant of an enum has its meaning there, in the doc comment, and [`ENUMS`] lists these enums. The tables
//! are texts beside this file for all other words, a line for each: its names, with bars between them, a colon, the meaning.
//! A line without a colon gives more names to the variants that it names. A line that begins with `#` is a comment.
//!
//! | file | what |
//! |---|---|
//! | `columns.txt` | heads of columns and labels of screens, where they are not words of another table |
//! | `docs.txt` | words of the documentation that no screen prints |
//! | `events.txt` | the public events |
//! | `judging.txt` | words about judging: stages, findings |
//! | `runs.txt` | words about runs: outcomes and their exit codes, gates, deadlines, limits |
//! | `tasks.txt` | words about tasks: how they stand, what waits |

use std::collections::HashMap;
use std::sync::LazyLock;

use rules::domain::{
    Assumption, AttemptKind, BeforeWork, Cause, CriterionResult, FailureClass, FailureMode, LetterStatus,
    OutcomeClass, Phase, QualityFlag, RequestStatus, Severity, Status, Verdict, WaitingReason,
};
use rules::engine::{GateStanding, Way};
use rules::mission::model::{AgentMiddleware, CoordinationMiddleware};
use rules::plan::Origin;

use crate::report::{
    documents::{RunState, doctor::CheckOutcome},
    progress::Verb,
};

const TABLES: [&str; 6] = [
    include_str!("words/runs.txt"),
    include_str!("words/tasks.txt"),
    include_str!("words/judging.txt"),
    include_str!("words/columns.txt"),
    include_str!("words/docs.txt"),
    include_str!("words/events.txt"),
];

/// Words with their meanings.
type Meanings = &'static [(&'static str, &'static str)];

/// The enums whose variants are explained, each with the words that tell its meaning of a word from that of another enum.
const ENUMS: [(&str, Meanings); 23] = [
    ("Of a task", &Status::MEANINGS),
    ("As a phase", &Phase::MEANINGS),
    ("Of a task that the mission does not have", &Origin::MEANINGS),
    ("Of an attempt", &AttemptKind::MEANINGS),
    ("Flag of a done task", &QualityFlag::MEANINGS),
    ("Failure mode", &FailureMode::MEANINGS),
    ("Class of failure", &FailureClass::MEANINGS),
    ("As a verdict", &Verdict::MEANINGS),
    ("Of a criterion", &CriterionResult::MEANINGS),
    ("As a cause", &Cause::MEANINGS),
    ("Severity of a finding", &Severity::MEANINGS),
    ("Of a check before the work", &BeforeWork::MEANINGS),
    ("As a reason to wait", &WaitingReason::MEANINGS),
    ("As an assumption that does not hold", &Assumption::MEANINGS),
    ("How a task goes on without a dependency that failed", &Way::MEANINGS),
    ("Of a gate", &GateStanding::MEANINGS),
    ("Of a run", &RunState::MEANINGS),
    ("Of a request for work", &RequestStatus::MEANINGS),
    ("Of a dead letter", &LetterStatus::MEANINGS),
    ("Of a check of `doctor`", &CheckOutcome::MEANINGS),
    ("Middleware", &AgentMiddleware::MEANINGS),
    ("Middleware", &CoordinationMiddleware::MEANINGS),
    ("As a verb of the progress", &Verb::MEANINGS),
];

/// A word and what it means.
#[derive(Debug, Clone, PartialEq)]
pub struct WordEntry {
    /// The names of the word as screens print them; it is listed under the first.
    pub names: Vec<&'static str>,
    /// The meaning of the word, and what to do about it where there is something to do.
    pub meaning: String,
}

/// Finds a word, however it is written: case, `-`, `_` and blanks do not matter.
pub fn find(text: &str) -> Option<&'static WordEntry> {
    let wanted = folded(text);
    all().iter().find(|entry| entry.names.iter().any(|name| folded(name) == wanted))
}

/// All words, each under its first name.
pub fn all() -> &'static [WordEntry] {
    static ALL: LazyLock<Vec<WordEntry>> = LazyLock::new(gather);
    &ALL
}

fn folded(text: &str) -> String {
    text.to_lowercase().replace(['_', '-', ' '], "")
}

/// The words of the tables, then those of enums that have no line there. Classes of outcomes have a line for their codes.
fn gather() -> Vec<WordEntry> {
    let lines = TABLES.into_iter().flat_map(str::lines);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut entries: Vec<WordEntry> = lines
        .map(|line| {
            let (names, own) = line.split_once(": ").unwrap_or((line, ""));
            WordEntry::new(names.split('|').collect(), own)
        })
        .collect();
    let mut places = HashMap::new();
    for (place, entry) in entries.iter().enumerate() {
        places.extend(entry.names.iter().map(|name| (folded(name), place)));
    }
    for class in OutcomeClass::BY_PRECEDENCE {
        let exit = format!("Exit {}", class.exit_code());
        if let Some(place) = places.get(&folded(&exit)) {
            entries[*place].add(&exit, class.meaning());
        }
    }
    for (of, meanings) in ENUMS {
        for (word, meaning) in meanings {
            let place = *places.entry(folded(word)).or_insert(entries.len());
            if place == entries.len() {
                entries.push(WordEntry::new(vec![word], ""));
            }
            entries[place].add(of, meaning);
        }
    }
    entries
}

impl WordEntry {
    fn new(names: Vec<&'static str>, own: &'static str) -> Self {
        let meaning = own.to_owned();
        Self { names, meaning }
    }

    /// The name that it is listed under.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// Adds the meaning that an enum gives to the word.
    fn add(&mut self, of: &str, meaning: &str) {
        let mut letters = meaning.chars();
        let first = letters.next().map(|letter| letter.to_ascii_lowercase());
        let meaning: String = first.into_iter().chain(letters).collect();
        let gap = if self.meaning.is_empty() { "" } else { " " };
        rules::append!(self.meaning, "{gap}{of}: {meaning}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::domain::{Purpose, Stage, TaskId};

    /// Words that are printed and no variants of an enum of [`ENUMS`].
    fn printed() -> Vec<String> {
        let outcomes = OutcomeClass::BY_PRECEDENCE.into_iter();
        let outcomes = outcomes.flat_map(|class| [class.as_str().to_owned(), class.exit_code().to_string()]);
        let stages = [
            Stage::Outcome,
            Stage::Preflight,
            Stage::Finish,
            Stage::Checks,
            Stage::Judge,
            Stage::Verification,
            Stage::Stages,
            Stage::RedTeam,
            Stage::Vision,
            Stage::Proof,
            Stage::Merge,
            Stage::Audit,
        ];
        let round = 1;
        let purposes = [
            Purpose::Confirm,
            Purpose::Answer,
            Purpose::Grade { round },
            Purpose::Decompose { round },
            Purpose::Resolve { dependency: TaskId(0) },
            Purpose::Approve { number: 1, approver: 0 },
        ];
        // What becomes of criteria, deadlines, checkpoints and delays.
        let others = ["violated", "met", "warning", "running", "waiting", "reached"];
        let others = others.into_iter().chain(stages.map(Stage::as_str)).chain(purposes.map(Purpose::as_str));
        outcomes.chain(others.map(str::to_owned)).collect()
    }

    /// Words in capitals on the recorded screens of this crate, as far as they are ours: verbs and heads of columns.
    fn capitals() -> Vec<String> {
        // Names that belong to others, and the words of people in the samples.
        const OF_OTHERS: [&str; 10] =
            ["HTTP", "SCORE", "README", "UTC", "REASON", "RUN", "LONG", "HOSTILE", "ALL", "FILE"];
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report");
        let mut words = Vec::new();
        for folder in ["screens/snapshots", "progress/snapshots"] {
            for file in std::fs::read_dir(root.join(folder)).expect("snapshots are there") {
                let text = std::fs::read_to_string(file.expect("an entry").path()).expect("text");
                let body = text.splitn(3, "---").last().unwrap_or_default();
                let of_others = |word: &&str| OF_OTHERS.contains(word);
                words.extend(
                    body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                        .filter(|word| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
                        .filter(|word| !of_others(word))
                        .map(str::to_owned),
                );
            }
        }
        words
    }

    #[test]
    fn outcomes_are_told_in_the_order_of_their_weight() {
        let classes = OutcomeClass::BY_PRECEDENCE.into_iter();
        let mut codes: Vec<String> = classes
            .filter(|class| *class != OutcomeClass::Ok)
            .map(|class| if class.is_signal() { "signal".to_owned() } else { class.exit_code().to_string() })
            .collect();
        codes.dedup();
        let told = &find("also").expect("it is a word of a screen").meaning;
        let order = format!("Most severe first: {}.", codes.join(", "));
        assert!(told.ends_with(&order), "{told} {order}");
    }

    #[test]
    fn every_word_that_screens_print_is_explained() {
        let (words, capitals) = (printed(), capitals());
        assert!(words.len() > 40 && capitals.len() > 100, "{words:?} {capitals:?}");
        let mut missing: Vec<String> =
            words.into_iter().chain(capitals).filter(|word| find(word).is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn no_word_stands_twice_and_all_have_a_meaning() {
        let mut names: Vec<String> =
            all().iter().flat_map(|entry| &entry.names).map(|name| folded(name)).collect();
        let total = names.len();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        // Spellings of one word are names of one entry.
        let spellings = |entry: &WordEntry| {
            let mut names: Vec<String> = entry.names.iter().map(|name| folded(name)).collect();
            names.sort_unstable();
            names.dedup();
            names.len()
        };
        let words: usize = all().iter().map(spellings).sum();
        assert_eq!(twice.len(), total - words, "{twice:?}");
        let is_told = |entry: &&WordEntry| entry.meaning.len() > 15 && entry.meaning.ends_with('.');
        let untold: Vec<_> = all().iter().filter(|entry| !is_told(entry)).collect();
        assert_eq!(untold, Vec::<&WordEntry>::new());
    }

    #[test]
    fn a_word_of_several_enums_has_the_meaning_of_each() {
        let word = find("passed").expect("it is a word of a screen");
        assert!(word.meaning.contains("As a verdict: what was judged"), "{word:?}");
        assert!(word.meaning.contains("Of a gate: the condition of the gate holds."), "{word:?}");
        let variants = ENUMS.iter().flat_map(|(_, meanings)| *meanings);
        let silent: Vec<_> = variants.filter(|(_, meaning)| !meaning.ends_with('.')).collect();
        assert_eq!(silent, Vec::<&(&str, &str)>::new());
    }
}
