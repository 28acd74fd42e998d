//! Commits and references of an exchange by their names, which come from other machines.

use serde::{Deserialize, Serialize};

use crate::executor::error::WorkError;
use rules::domain::RunId;

use super::super::git::refused;

/// The id of a commit: 40 or 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(Box<str>);

impl CommitId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The format of the object names of repositories that have such commits.
    pub fn format(&self) -> &'static str {
        match self.0.len() {
            40 => "sha1",
            _ => "sha256",
        }
    }
}

impl TryFrom<String> for CommitId {
    type Error = WorkError;

    fn try_from(text: String) -> Result<Self, WorkError> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if matches!(text.len(), 40 | 64) && text.bytes().all(is_digit) {
            Ok(Self(text.into()))
        } else {
            Err(refused("it is no id of a commit"))
        }
    }
}

impl From<CommitId> for String {
    fn from(id: CommitId) -> Self {
        id.0.into()
    }
}

/// The name of a carried command in an exchange: `RUN/LABEL`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CarriedName(Box<str>);

impl CarriedName {
    /// The name of a command of a run, by a label without slashes.
    pub fn of(run: &RunId, label: &str) -> Self {
        Self(format!("{run}/{label}").into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The reference of what it begins with.
    pub(super) fn given(&self) -> String {
        format!("refs/quorum/{}/in", self.0)
    }

    /// The reference of what it has left.
    pub(super) fn left(&self) -> String {
        format!("refs/quorum/{}/out", self.0)
    }

    /// The reference by which an exchange keeps what all commands of the run begin with.
    pub(super) fn begun(&self) -> String {
        let run = self.0.split('/').next().unwrap_or_default();
        format!("refs/quorum/{run}/begun")
    }
}

impl TryFrom<String> for CarriedName {
    type Error = WorkError;

    fn try_from(text: String) -> Result<Self, WorkError> {
        let is_part = |part: &str| {
            let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            part.starts_with(|c: char| c.is_ascii_alphanumeric())
                && part.chars().all(is_letter)
                && !part.contains("..")
                && !part.ends_with('.')
                && !part.ends_with(".lock")
        };
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() == 2 && parts.into_iter().all(is_part) {
            Ok(Self(text.into()))
        } else {
            Err(refused("it is no name of a carried command"))
        }
    }
}

impl From<CarriedName> for String {
    fn from(name: CarriedName) -> Self {
        name.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_come_from_elsewhere_are_no_options_and_no_paths() {
        let id = |text: &str| CommitId::try_from(text.to_owned());
        assert_eq!(id(&"a".repeat(40)).unwrap().format(), "sha1");
        assert_eq!(id(&"0".repeat(64)).unwrap().format(), "sha256");
        for text in ["", "HEAD", "--upload-pack=x", &"A".repeat(40), &"a".repeat(41), &"g".repeat(40)] {
            id(text).unwrap_err();
        }
        let name = |text: &str| CarriedName::try_from(text.to_owned());
        assert_eq!(name("r-1/0.1.1").unwrap().left(), "refs/quorum/r-1/0.1.1/out");
        for text in
            ["", "r", "r/", "/0.1.1", "r/0.1.1/x", "r/..", "-r/0.1", "r/a..b", "r/x.lock", "r/a b", "r/a\n"]
        {
            name(text).unwrap_err();
        }
        let run = RunId::new("r-1").unwrap();
        let named = CarriedName::of(&run, "3.ask.1.2.0f");
        assert_eq!(name(&String::from(named.clone())).unwrap(), named);
    }
}
