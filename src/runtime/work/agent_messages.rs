//! What an agent says while it works (semantics, section 17): files that it drops into the folder of its own turn.
//!
//! A file is named after what it says, `ask`, `delegate` or `progress`, with or without more behind a dot. Whatever is there may be
//! hostile: only regular files of a bounded size are read, links are not followed, and what else lies there is ignored.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agents::secrets::Secrets;
use crate::executor::error::WorkError;
use crate::executor::spool::{clean_file, open_regular_len, read_head};
use crate::store::SpoolName;
use rules::domain::{TurnId, without_mark};
use rules::engine::{Asked, Fact, TurnUpdate};
use rules::judging::worker_question::may_be_question;
use supervisor::files::no_links::OpenFolder;

use super::context::WorkContext;

/// Entries of the folder that are looked at.
const MOST_FILES: usize = 256;
/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 64 * 1024;
/// Characters of a question that are kept.
const QUESTION_CHARS: usize = 8_000;
/// Characters of a word of progress that are kept.
const PROGRESS_CHARS: usize = 200;
/// Words of progress of one turn that are recorded. Later ones are not told.
const MOST_PROGRESS: usize = 200;

/// The progress messages of a turn, without repetitions in a row.
#[derive(Debug, Default)]
pub struct TurnMessages(pub Vec<String>);

impl TurnMessages {
    /// The progress message of a turn, if it is not the one before. Blocks.
    pub fn anew(&mut self, folder: &Path, secrets: &Secrets) -> Option<String> {
        let text = messages(folder, "progress").pop()?;
        let text = secrets.redact(&text);
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().take(PROGRESS_CHARS).collect();
        if text.is_empty() || self.0.last() == Some(&text) || self.0.len() >= MOST_PROGRESS {
            return None;
        }
        self.0.push(text.clone());
        Some(text)
    }

    /// Tells the progress message of a turn, if it is not the one before. Blocks.
    pub fn listen(&mut self, context: &WorkContext, turn: TurnId, secrets: &Secrets) {
        if let Some(summary) = self.anew(&context.folder.spool_file(&SpoolName::Drop(turn)), secrets) {
            context.post(Fact::TurnProgress(turn, TurnUpdate::Activity { summary }));
        }
    }
}

/// Takes secrets out of what a turn dropped. Blocks.
///
/// # Errors
/// What cannot be cleaned.
pub fn clean(folder: &Path, secrets: &Secrets) -> Result<(), WorkError> {
    // Most missions have none, and the end of a turn is no place for a look that nobody needs.
    if secrets.is_empty() || !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    for name in OpenFolder::open(folder)?.names()?.iter().take(MOST_FILES) {
        clean_file(secrets, &folder.join(name))?;
    }
    Ok(())
}

/// A question of an agent; one that is only detected in its words is short.
pub fn question(text: &str, detected: bool) -> Asked {
    Asked { text: text.chars().take(QUESTION_CHARS).collect(), detected, call: None }
}

/// The possible question that a turn ended with: an explicit one, else, where that could be confirmed, its last
/// message. Blocks.
pub fn asked(
    folder: &Path,
    claimed: Option<String>,
    said: Option<String>,
    can_confirm: bool,
) -> Option<Asked> {
    let mut questions = messages(folder, "ask");
    if questions.is_empty() {
        questions.extend(claimed.filter(|question| !question.trim().is_empty()));
    }
    if !questions.is_empty() {
        return Some(question(&questions.join("\n\n"), false));
    }
    detected(can_confirm, &said?)
}

/// The question that the last message of a turn may be, where somebody can confirm that it is one.
pub fn detected(can_confirm: bool, text: &str) -> Option<Asked> {
    (can_confirm && may_be_question(text)).then(|| question(text.trim(), true))
}

/// The work that a turn delegates: in its result file, and in messages beside that. Blocks.
pub fn delegated(folder: &Path, claimed: Value) -> Value {
    let dropped = messages(folder, "delegate");
    if dropped.is_empty() {
        return claimed;
    }
    let mut all = match claimed {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        one => vec![one],
    };
    for text in dropped {
        match serde_json::from_str(without_mark(&text)) {
            Ok(Value::Array(items)) => all.extend(items),
            Ok(one) => all.push(one),
            // Whoever reads it says that it is none.
            Err(_) => all.push(Value::String(text)),
        }
    }
    Value::Array(all)
}

/// The messages of one kind in a turn's folder, in the order of their names. Blocks.
fn messages(folder: &Path, kind: &str) -> Vec<String> {
    // A link in its place is none of ours.
    let Ok(names) = OpenFolder::open(folder).and_then(|folder| folder.names()) else {
        return Vec::new();
    };
    let is_kind =
        |name: &str| name.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let mut paths: Vec<PathBuf> = names
        .iter()
        .take(MOST_FILES)
        .filter(|name| name.to_str().is_some_and(is_kind))
        .map(|name| folder.join(name))
        .collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let len = open_regular_len(path)?;
        (1..=LARGEST_FILE).contains(&len).then(|| read_head(path, LARGEST_FILE).ok())?
    };
    let texts = paths.iter().filter_map(read);
    texts.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_regular_files_of_the_folder_are_heard() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(messages(&path("missing"), "ask").is_empty());
        fs::write(path("ask.2"), "second?").unwrap();
        fs::write(path("ask.1"), " first? \n").unwrap();
        fs::write(path("asking"), "no").unwrap();
        fs::write(path("ask.3"), vec![b'x'; 65 * 1024]).unwrap();
        fs::create_dir(path("ask.4")).unwrap();
        fs::write(path("outside"), "secret").unwrap();
        std::os::unix::fs::symlink(path("outside"), path("ask.5")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("ask.6"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        assert_eq!(messages(folder.path(), "ask"), ["first?", "second?"]);
        std::os::unix::fs::symlink(folder.path(), path("link")).unwrap();
        assert!(messages(&path("link"), "ask").is_empty());
    }

    #[test]
    fn what_is_asked_counts_before_what_looks_like_a_question() {
        let folder = tempfile::tempdir().unwrap();
        let said = || Some("Which one?".to_owned());
        let detected = asked(folder.path(), None, said(), true).unwrap();
        assert!(detected.detected);
        assert_eq!(asked(folder.path(), None, said(), false), None);
        let claimed = asked(folder.path(), Some("Tabs?".to_owned()), said(), true).unwrap();
        assert_eq!((claimed.text.as_str(), claimed.detected), ("Tabs?", false));
        fs::write(folder.path().join("ask"), "Spaces?").unwrap();
        let dropped = asked(folder.path(), Some("Tabs?".to_owned()), None, false).unwrap();
        assert_eq!((dropped.text.as_str(), dropped.detected), ("Spaces?", false));
    }
}
