//! What must not stand in any text: the values of environment variables that a mission hands to its agents and channels
//! by `${NAME}`, and the keys of providers.
//!
//! Texts of our own making have them replaced; files that were written by others, whose length is on record already,
//! are overwritten where they hold them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use regex::bytes::RegexBuilder;
use rustix::fs::OFlags;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use supervisor::files::{if_there, open_with};

/// Secrets shorter than this are not searched for: they would be found in every word.
const MIN_SECRET: usize = 6;
/// How much of a file is held at once, beside what may be the beginning of a secret.
const PIECE: u64 = 1024 * 1024;

/// A line of a secret of several lines is one itself from this length on: programs print them word by word.
const MIN_LINE: usize = 12;

/// Variables that nobody is handed: the key that speaks for the user, and the one under which machines run commands for each
/// other.
const KEYS: [&str; 2] = ["QUORUM_OPERATOR_KEY", "QUORUM_WORKER_KEY"];

/// A variable of our own environment that others may be handed.
pub fn own_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|_| !KEYS.contains(&name))
}

/// All variables of our own environment that are text, for a program of ours.
#[cfg(any(feature = "temporal", test))]
pub fn own_variables() -> impl Iterator<Item = (String, String)> {
    let all = std::env::vars_os();
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Values that must not stand in any text. The longest first: one may be a part of another. In bytes the names of their
/// variables stand for them, and who reads these looks the values up.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "BTreeSet<String>", from = "BTreeSet<String>")]
pub struct Secrets {
    /// Each value, with the name of the variable that holds it.
    values: Vec<(String, String)>,
    /// How many values are too short to be told from words.
    too_short: usize,
}

impl From<Secrets> for BTreeSet<String> {
    fn from(secrets: Secrets) -> Self {
        secrets.values.into_iter().map(|(_, name)| name).collect()
    }
}

impl From<BTreeSet<String>> for Secrets {
    fn from(names: BTreeSet<String>) -> Self {
        let value = |name: String| (own_variable(&name).unwrap_or_default(), name);
        Self::of(names.into_iter().map(value))
    }
}

impl Secrets {
    /// The secrets among `values`, each with the name of its variable: those long enough to be told from words, and the long
    /// lines of those that have several.
    pub fn of(values: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut too_short = 0;
        let mut once = BTreeMap::new();
        for (value, name) in values {
            let value = value.trim();
            if value.len() < MIN_SECRET {
                too_short += usize::from(!value.is_empty());
                continue;
            }
            let lines = value.lines().map(str::trim).filter(|line| line.len() >= MIN_LINE);
            once.extend(lines.chain([value]).map(|text| (text.to_owned(), name.clone())));
        }
        let mut values = Vec::from_iter(once);
        values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        Self { values, too_short }
    }

    /// How many values are not searched for, because they are so short that they would be found in every word.
    pub fn too_short(&self) -> usize {
        self.too_short
    }

    /// The secrets of several sets together.
    pub fn all<'a>(several: impl Iterator<Item = &'a Self>) -> Self {
        Self::of(several.flat_map(|secrets| secrets.values.iter().cloned()))
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The text without any of them.
    pub fn redact(&self, text: &str) -> String {
        self.values
            .iter()
            .fold(text.to_owned(), |text, (secret, _)| text.replace(secret.as_str(), "[redacted]"))
    }

    /// Takes the secrets out of a text.
    pub fn redact_in(&self, text: &mut String) {
        let mut values = self.values.iter();
        if values.any(|(secret, _)| text.contains(secret.as_str())) {
            *text = self.redact(text);
        }
    }

    /// Takes the secrets out of every text of a document, names included.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact_in(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(entries) => {
                let all = std::mem::take(entries).into_iter().map(|(name, mut inner)| {
                    self.redact_value(&mut inner);
                    (self.redact(&name), inner)
                });
                *entries = all.collect();
            }
            Value::Number(number) => {
                let text = number.to_string();
                let redacted = self.redact(&text);
                if redacted != text {
                    *value = Value::String(redacted);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// The bytes of the longest of them; 0 where there is none.
    #[cfg(feature = "temporal")]
    pub fn longest(&self) -> usize {
        self.values.first().map_or(0, |(value, _)| value.len())
    }

    /// Whether one of them stands in a text.
    #[cfg(feature = "temporal")]
    pub fn occur_in(&self, text: &str) -> bool {
        self.values.iter().any(|(value, _)| text.contains(value.as_str()))
    }

    /// Overwrites the secrets in a piece of a text as [`Self::redact_file`] does.
    #[cfg(feature = "temporal")]
    pub fn redact_bytes(&self, bytes: &mut [u8]) {
        for (secret, _) in &self.values {
            let found = bytes.windows(secret.len()).enumerate();
            let found = found.filter(|(_, window)| *window == secret.as_bytes());
            let found: Vec<usize> = found.map(|(at, _)| at).collect();
            found.into_iter().for_each(|at| bytes[at..at + secret.len()].fill(b'*'));
        }
    }

    /// Overwrites the secrets in a file, byte by byte, so that it is as long as before. What is no regular file
    /// is left to whoever wants to read it. Blocks.
    ///
    /// # Errors
    ///
    /// Whatever the file system says; and when the file has another name, for then it is another process's too.
    pub fn redact_file(&self, path: &Path) -> io::Result<()> {
        let Some((longest, _)) = self.values.first() else {
            return Ok(());
        };
        if !if_there(path.symlink_metadata())?.is_some_and(|found| found.is_file()) {
            return Ok(());
        }
        let mut file = open_with(path, OFlags::RDWR)?;
        let secrets = self.values.iter();
        let escaped: Vec<String> = secrets.map(|(secret, _)| regex::escape(secret)).collect();
        let pattern =
            RegexBuilder::new(&escaped.join("|")).unicode(false).build().map_err(io::Error::other)?;
        let (mut window, mut begin) = (Vec::new(), 0_u64);
        loop {
            let read = file.by_ref().take(PIECE).read_to_end(&mut window)?;
            for found in pattern.find_iter(&window) {
                if file.metadata()?.nlink() > 1 {
                    return Err(io::Error::other("it holds a key, and has another name elsewhere"));
                }
                let blots = vec![b'*'; found.len()];
                file.write_all_at(&blots, begin + found.start() as u64)?;
            }
            if read == 0 {
                return Ok(());
            }
            let done = window.len().saturating_sub(longest.len() - 1);
            window.drain(..done);
            begin += done as u64;
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secret(s)", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::of(values.iter().map(|value| ((*value).to_owned(), String::new())))
    }

    fn blotted(secrets: &Secrets, content: &[u8]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, content).unwrap();
        secrets.redact_file(&path).unwrap();
        fs::read(path).unwrap()
    }

    #[test]
    fn the_longest_goes_first_and_what_is_short_stays() {
        let secrets = secrets(&["hunter2", "hunter2-and-more", " short ", "hunter2"]);
        assert_eq!(secrets.redact("hunter2 hunter2-and-more short"), "[redacted] [redacted] short");
        assert_eq!(format!("{secrets:?}"), "2 secret(s)");
        assert_eq!(secrets.too_short(), 1);
        let mut value = serde_json::json!({"hunter2": ["a hunter2 b", 1]});
        secrets.redact_value(&mut value);
        assert_eq!(value, serde_json::json!({"[redacted]": ["a [redacted] b", 1]}));
    }

    #[test]
    fn a_number_that_holds_a_secret_is_no_number_any_more() {
        let redacted = |secret: &str, mut value: Value| {
            secrets(&[secret]).redact_value(&mut value);
            value
        };
        let kept = serde_json::json!({"pin": 12345, "other": -7.5});
        assert_eq!(redacted("123456", kept.clone()), kept);
        for (secret, number) in [
            ("123456", "123456"),
            // As long as what is put in its place.
            ("1234567890", "1234567890"),
            ("7654321", "-99.7654321"),
            ("18446744073709551615", "18446744073709551615"),
            ("654321", "[1, {\"deep\": 654321}]"),
        ] {
            let value = redacted(secret, serde_json::from_str(number).unwrap());
            let told = value.to_string();
            assert!(!told.contains(secret) && told.contains("[redacted]"), "{secret}: {told}");
        }
    }

    #[test]
    fn a_secret_of_several_lines_is_found_line_by_line() {
        let key = "-----BEGIN KEY-----\nAAAABBBBCCCCDDDD\nEEEE\n-----END KEY-----\n";
        let secrets = secrets(&[key]);
        assert_eq!(secrets.redact(&format!("x {} y", key.trim())), "x [redacted] y");
        assert_eq!(secrets.redact("AAAABBBBCCCCDDDD, EEEE"), "[redacted], EEEE");
    }

    #[test]
    fn a_file_keeps_its_length_wherever_a_key_stands_in_it() {
        let secrets = secrets(&["sk-0123456789", "sk-012345"]);
        for before in [0, 1, 5, 4096] {
            for piece in [0, 1, 2] {
                // Around the end of a piece.
                let at = usize::try_from(PIECE).unwrap() * piece + before;
                let mut content = vec![b'x'; at];
                content.extend_from_slice(b"sk-0123456789sk-012345");
                content.push(b'y');
                let mut expected = content.clone();
                expected[at..at + 22].fill(b'*');
                assert!(blotted(&secrets, &content) == expected, "{piece} {before}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_key_is_left_in_any_file(gaps in prop::collection::vec(0usize..9, 1..5), shift in 0u64..20) {
            let secrets = secrets(&["aabaab", "\u{e4}\u{f6}\u{fc}!"]);
            let mut content = vec![b'-'; usize::try_from(PIECE - shift).unwrap()];
            for (n, gap) in gaps.iter().enumerate() {
                content.extend_from_slice(if n % 2 == 0 { b"aabaab" } else { "\u{e4}\u{f6}\u{fc}!".as_bytes() });
                content.extend(std::iter::repeat_n(b' ', *gap + 1));
            }
            let left = blotted(&secrets, &content);
            prop_assert_eq!(left.len(), content.len());
            let text = String::from_utf8_lossy(&left).into_owned();
            prop_assert_eq!(secrets.redact(&text), text);
        }
    }

    #[test]
    fn only_regular_files_with_one_name_are_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let secrets = secrets(&["hunter2"]);
        fs::write(path("mine"), "hunter2").unwrap();
        fs::hard_link(path("mine"), path("linked")).unwrap();
        secrets.redact_file(&path("linked")).unwrap_err();
        std::os::unix::fs::symlink(path("mine"), path("link")).unwrap();
        secrets.redact_file(&path("link")).unwrap();
        assert_eq!(fs::read_to_string(path("mine")).unwrap(), "hunter2");
        secrets.redact_file(&path("gone")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), rustix::fs::Mode::RUSR).unwrap();
        secrets.redact_file(&path("fifo")).unwrap();
        // What holds none may be linked wherever it likes.
        fs::write(path("plain"), "nothing").unwrap();
        fs::hard_link(path("plain"), path("other")).unwrap();
        secrets.redact_file(&path("other")).unwrap();
    }
}
