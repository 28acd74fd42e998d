//! Every word that a screen prints and that is more than a word: statuses, flags, outcomes, verdicts, failure modes, verbs
//! of the progress, heads of columns. `quorum explain WORD` prints what stands here: what a word means, when it is printed,
//! and what to do. What happens (`run:moved`) stands in [`crate::report::events`].
//!
//! The tables are texts beside this file, a line for each word: its names, with bars between them, a colon, the meaning. A
//! line that begins with `#` is a comment.
//!
//! | file | what |
//! |---|---|
//! | `columns.txt` | heads of columns and labels of screens, where they are not words of another table |
//! | `judging.txt` | words about judging: verdicts, causes, stages, findings |
//! | `runs.txt` | words about runs: outcomes and their exit codes, states, gates, deadlines, limits |
//! | `tasks.txt` | words about tasks: statuses, phases, attempts, how work was accepted or failed |

const TABLES: [&str; 4] = [
    include_str!("words/runs.txt"),
    include_str!("words/tasks.txt"),
    include_str!("words/judging.txt"),
    include_str!("words/columns.txt"),
];

/// A word and what it means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordEntry {
    /// The word as screens print it.
    pub word: &'static str,
    /// The meaning of the word, and what to do about it where there is something to do.
    pub meaning: &'static str,
}

/// Finds a word, however it is written: case, `-`, `_` and blanks do not matter.
pub fn find(text: &str) -> Option<WordEntry> {
    let folded = |text: &str| text.trim().to_lowercase().replace(['_', '-'], " ");
    let wanted = folded(text);
    all().find(|known| known.word.split('|').any(|word| folded(word) == wanted))
}

/// All words, each under its first name.
pub fn all() -> impl Iterator<Item = WordEntry> {
    let lines = TABLES.into_iter().flat_map(str::lines);
    let words = lines.filter(|line| !line.starts_with('#'));
    let words = words.filter_map(|line| line.split_once(": "));
    let happenings = crate::report::events::HAPPENINGS.into_iter().flatten().copied();
    words
        .chain(happenings)
        .map(|(word, meaning)| WordEntry { word, meaning })
}

impl WordEntry {
    /// The name that it is listed under.
    pub fn name(&self) -> &'static str {
        self.word.split('|').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::progress::Verb;
    use rules::domain::OutcomeClass;

    /// A variant of an enum of words: `Done = "done"`.
    fn worded(line: &str) -> Option<(&str, &str)> {
        let (variant, word) = line.trim().split_once(" = \"")?;
        let is_variant = variant.starts_with(char::is_uppercase);
        is_variant.then_some((variant, word))
    }

    /// The words in the sources that decide what is printed: `Self::Done => "done"` or `Done = "done"`.
    fn printed() -> Vec<String> {
        let sources = [
            include_str!("../../../crates/rules/src/domain/failure.rs"),
            include_str!("../../../crates/rules/src/domain/lifecycle.rs"),
            include_str!("../../../crates/rules/src/domain/verdict.rs"),
            include_str!("../../../crates/rules/src/domain/intake.rs"),
            include_str!("../../../crates/rules/src/domain/dead_letter.rs"),
            include_str!("../../../crates/rules/src/domain/score.rs"),
            include_str!("../../../crates/rules/src/domain/assumption.rs"),
            include_str!("../../../crates/rules/src/engine/gate.rs"),
            include_str!("../../../crates/rules/src/engine/deadline.rs"),
            include_str!("../../../crates/rules/src/domain/answer.rs"),
            include_str!("../../../crates/rules/src/domain/purpose.rs"),
            include_str!("../../../crates/rules/src/plan/growth.rs"),
            include_str!("../documents/run.rs"),
            include_str!("../documents/waits.rs"),
        ];
        let outcomes = OutcomeClass::BY_PRECEDENCE.into_iter();
        let mut words: Vec<String> = outcomes
            .flat_map(|class| [class.as_str().to_owned(), class.exit_code().to_string()])
            .collect();
        for line in sources.iter().flat_map(|source| source.lines()) {
            let line = line.trim_end_matches(',');
            let Some((_, word)) = line.split_once("=> \"").or_else(|| worded(line)) else {
                continue;
            };
            let word = word.trim_end_matches('"');
            // A sentence, a format or a status of HTTP is no word.
            if word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte))
            {
                words.push(word.to_owned());
            }
        }
        words
    }

    /// Words in capitals on the recorded screens of this crate, as far as they are ours: verbs and heads of columns.
    fn capitals() -> Vec<String> {
        // Names that belong to others, and the words of people in the samples.
        const OF_OTHERS: [&str; 10] = [
            "HTTP", "SCORE", "README", "UTC", "REASON", "RUN", "LONG", "HOSTILE", "ALL", "FILE",
        ];
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
            .map(|class| {
                if class.is_signal() {
                    "signal".to_owned()
                } else {
                    class.exit_code().to_string()
                }
            })
            .collect();
        codes.dedup();
        let told = find("also").expect("it is a word of a screen").meaning;
        let order = format!("Most severe first: {}.", codes.join(", "));
        assert!(told.ends_with(&order), "{told} {order}");
    }

    #[test]
    fn every_word_that_screens_print_is_explained() {
        let (words, capitals) = (printed(), capitals());
        assert!(
            words.len() > 130 && capitals.len() > 100,
            "{words:?} {capitals:?}"
        );
        let verbs = Verb::ALL.iter().map(|verb| verb.as_str().to_owned());
        let mut missing: Vec<String> = words
            .into_iter()
            .chain(capitals)
            .chain(verbs)
            .filter(|word| find(word).is_none())
            .collect();
        missing.sort_unstable();
        missing.dedup();
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn every_line_of_the_tables_is_a_word_or_a_comment() {
        let mut lines = TABLES.into_iter().flat_map(str::lines);
        let is_read = |line: &str| line.is_empty() || line.starts_with('#') || line.contains(": ");
        assert_eq!(lines.find(|line| !is_read(line)), None);
    }

    #[test]
    fn no_word_stands_twice_and_all_have_a_meaning() {
        let mut names: Vec<&str> = all().flat_map(|word| word.word.split('|')).collect();
        let total = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), total);
        assert!(all().all(|word| word.meaning.len() > 15 && word.meaning.ends_with('.')));
    }
}
