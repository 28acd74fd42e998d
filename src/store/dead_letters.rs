//! `dead-letters.jsonl`: what failed for good, for all runs of a state folder (semantics, section 13).
//!
//! One line each, with a checksum. Every change replaces the whole file in one step, under a lock of its own, so that a
//! session and a person at a terminal can both write and a crash leaves the old file or the new one. The file is
//! bounded: closed letters go first, and when only open ones are left, new ones are refused, loudly.

use std::path::{Path, PathBuf};

use rules::domain::{DeadLetter, Millis, Timestamp};

use super::layout::StateFolder;
use super::lock::Lock;
use super::state_file::{StateFileError, read_lines, replace_lines};
use supervisor::files::{if_there, remove_file};

/// Letters that the file holds.
pub const MOST_LETTERS: usize = 1_000;
/// Bytes of one letter; its arguments go where it would be longer.
const LONGEST_LETTER: usize = 16 << 10;
/// Nor a queue with all that was closed of late.
const LONGEST_QUEUE: u64 = 64 << 20;
/// How long closed letters are kept.
const KEPT_FOR: Millis = Millis::from_secs(7 * 24 * 60 * 60);

/// The queue of a state folder.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    path: PathBuf,
}

impl DeadLetters {
    /// The queue of a state folder, whether it exists or not.
    pub fn of(folder: &StateFolder) -> Self {
        Self { path: folder.path().join("dead-letters.jsonl") }
    }

    /// The file of the queue.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All letters, the oldest first.
    ///
    /// # Errors
    ///
    /// [`StateFileError`]
    pub fn read(&self) -> Result<Vec<DeadLetter>, StateFileError> {
        read_lines(&self.path, LONGEST_QUEUE)
    }

    /// Changes the letters under the lock; durable when it returns.
    ///
    /// # Errors
    ///
    /// [`StateFileError`]; then nothing has changed.
    pub fn change<T>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut Vec<DeadLetter>) -> T,
    ) -> Result<T, StateFileError> {
        let _lock = Lock::await_turn(&self.path.with_extension("lock"), "the dead-letter queue")?;
        let before = self.read()?;
        let mut letters = before.clone();
        let result = change(&mut letters);
        letters.retain(|letter| !letter.status.is_closed() || letter.updated_at.plus(KEPT_FOR) > now);
        if letters != before {
            self.write(&letters)?;
        }
        Ok(result)
    }

    /// Adds letters. One whose id the queue has is not added again, whatever became of it. Returns the ids of those that
    /// found no room.
    ///
    /// # Errors
    ///
    /// [`StateFileError`]; then none was added.
    pub fn add(&self, new: Vec<DeadLetter>, now: Timestamp) -> Result<Vec<String>, StateFileError> {
        self.change(now, |letters| {
            let mut refused = Vec::new();
            for letter in new {
                if letters.iter().any(|known| known.id == letter.id) {
                    continue;
                }
                if letters.len() >= MOST_LETTERS {
                    match letters.iter().position(|known| known.status.is_closed()) {
                        Some(oldest_closed) => drop(letters.remove(oldest_closed)),
                        None => {
                            refused.push(letter.id);
                            continue;
                        }
                    }
                }
                letters.push(letter);
            }
            refused
        })
    }

    /// Changes one letter. Returns it as it is then; `None` if there is none with this id.
    ///
    /// # Errors
    ///
    /// [`StateFileError`]; then nothing has changed.
    pub fn update(
        &self,
        id: &str,
        now: Timestamp,
        change: impl FnOnce(&mut DeadLetter),
    ) -> Result<Option<DeadLetter>, StateFileError> {
        self.change(now, |letters| {
            let letter = letters.iter_mut().find(|letter| letter.id == id)?;
            change(letter);
            Some(letter.clone())
        })
    }

    fn write(&self, letters: &[DeadLetter]) -> Result<(), StateFileError> {
        if letters.is_empty() {
            let removed = if_there(remove_file(&self.path)).map(drop);
            return removed.map_err(StateFileError::io(&self.path));
        }
        let mut letters = letters.to_vec();
        for letter in &mut letters {
            if serde_json::json!(letter).to_string().len() > LONGEST_LETTER {
                letter.args = serde_json::json!({"tooLong": true});
                letter.error = letter.error.chars().take(1_000).collect();
            }
        }
        replace_lines(&self.path, &letters)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use rules::domain::{FailureClass, LetterStatus, RunId};

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    struct Scene {
        _folder: tempfile::TempDir,
        queue: DeadLetters,
    }

    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let queue = DeadLetters::of(&StateFolder::at(folder.path()).unwrap());
        Scene { _folder: folder, queue }
    }

    fn letter(n: usize) -> DeadLetter {
        let run = RunId::new("r1").unwrap();
        let operation = "notify:ops".to_owned();
        DeadLetter::new(format!("r1.n{n}"), run, operation, FailureClass::Timeout, "slow".to_owned(), NOW)
    }

    fn ids(queue: &DeadLetters) -> Vec<String> {
        queue.read().unwrap().into_iter().map(|letter| letter.id).collect()
    }

    #[test]
    fn what_is_added_twice_is_there_once() {
        let Scene { queue, .. } = &scene();
        assert_eq!(ids(queue), Vec::<String>::new());
        assert!(queue.add(vec![letter(1), letter(2)], NOW).unwrap().is_empty());
        queue.update("r1.n1", NOW, |letter| letter.close(LetterStatus::Resolved, None, NOW)).unwrap();
        queue.add(vec![letter(1), letter(3)], NOW).unwrap();
        assert_eq!(ids(queue), ["r1.n1", "r1.n2", "r1.n3"]);
        assert_eq!(queue.read().unwrap()[0].status, LetterStatus::Resolved);
        assert!(queue.update("r1.n9", NOW, |_| {}).unwrap().is_none());
    }

    #[test]
    fn a_torn_tail_never_happened_and_damage_before_it_is_said() {
        let Scene { queue, .. } = &scene();
        queue.add(vec![letter(1), letter(2)], NOW).unwrap();
        let whole = fs::read(queue.path()).unwrap();
        let second = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in second..whole.len() {
            fs::write(queue.path(), &whole[..cut]).unwrap();
            assert_eq!(ids(queue), ["r1.n1"], "cut at {cut}");
        }
        let mut damaged = whole.clone();
        damaged[40] ^= 1;
        fs::write(queue.path(), &damaged).unwrap();
        let error = queue.read().unwrap_err();
        assert!(matches!(error, StateFileError::Damaged { line: 1, .. }), "{error}");
        // What cannot be read is not written over.
        assert!(queue.add(vec![letter(3)], NOW).is_err());
        assert_eq!(fs::read(queue.path()).unwrap(), damaged);
    }

    #[test]
    fn closed_letters_go_after_a_week_and_open_ones_never() {
        let Scene { queue, .. } = &scene();
        queue.add((1..=3).map(letter).collect(), NOW).unwrap();
        queue.update("r1.n1", NOW, |letter| letter.close(LetterStatus::Resolved, None, NOW)).unwrap();
        queue.update("r1.n2", NOW, |letter| letter.close(LetterStatus::Abandoned, None, NOW)).unwrap();
        let week = NOW.plus(KEPT_FOR);
        queue.add(Vec::new(), Timestamp(week.0 - 1)).unwrap();
        assert_eq!(ids(queue).len(), 3);
        queue.add(Vec::new(), week).unwrap();
        assert_eq!(ids(queue), ["r1.n3"]);
        queue.add(Vec::new(), week.plus(KEPT_FOR)).unwrap();
        assert_eq!(ids(queue), ["r1.n3"]);
    }

    #[test]
    fn a_full_queue_lets_closed_letters_go_and_refuses_rather_than_lose_an_open_one() {
        let Scene { queue, .. } = &scene();
        queue.add((1..=MOST_LETTERS).map(letter).collect(), NOW).unwrap();
        queue.update("r1.n7", NOW, |letter| letter.close(LetterStatus::Resolved, None, NOW)).unwrap();
        let refused = queue.add(vec![letter(5_001), letter(5_002)], NOW).unwrap();
        assert_eq!(refused, ["r1.n5002"]);
        let ids = ids(queue);
        assert_eq!(ids.len(), MOST_LETTERS);
        assert!(!ids.contains(&"r1.n7".to_owned()) && ids.contains(&"r1.n1".to_owned()));
    }

    #[test]
    fn a_letter_is_bounded() {
        let Scene { queue, .. } = &scene();
        let mut long = letter(1);
        long.args = serde_json::json!({"text": "x".repeat(LONGEST_LETTER)});
        queue.add(vec![long], NOW).unwrap();
        assert!(fs::metadata(queue.path()).unwrap().len() < 2_000);
        assert_eq!(queue.read().unwrap()[0].args["tooLong"], true);
    }
}
