//! The configuration that git goes by: none of the system's or the user's, no hooks and no filters. What is wanted of the user's and
//! of a repository's is read by key.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::executor::error::WorkError;

use super::{Git, entries, refused};

/// The environment of git.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // Older ones than 2.45 know nothing of the next one, and would fetch what is missing by a program that the repository names.
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
];

/// Variables that keep the configuration of system and user out.
const ALONE: [(&str, &str); 3] =
    [("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_ATTR_NOSYSTEM", "1")];

/// Settings that count before the configuration of any repository.
const SETTINGS: [(&str, &str); 17] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    // With an empty command git would run the path of the other repository.
    ("core.alternateRefsCommand", "true"),
    ("core.pager", "cat"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("merge.verifySignatures", "false"),
    ("merge.stat", "false"),
    ("log.showSignature", "false"),
    ("advice.detachedHead", "false"),
];

/// The keys of the user that are wanted, and those by which the names of filters are known.
const WANTED: &str =
    r"^(user\.(name|email)|core\.(autocrlf|eol|filemode|symlinks|excludesfile)|safe\.directory|filter\..*)$";
/// More filters than anybody has.
const MOST_FILTERS: usize = 500;

impl Git {
    /// One without a repository.
    pub fn new() -> Self {
        let mut git = Self::with(&ALONE);
        git.settings.extend(SETTINGS.map(|(key, value)| (key.to_owned(), value.to_owned())));
        git
    }

    fn with(more: &[(&str, &str)]) -> Self {
        let environment = ENVIRONMENT.iter().chain(more);
        Self {
            arguments: Vec::new(),
            environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
            settings: Vec::new(),
            folder: None,
            input: None,
            writes: vec!["/dev/null".into()],
            reads: Vec::new(),
            network: false,
            printed: usize::MAX,
            grows: None,
            at_our_end: Signal::TERM,
        }
    }
}

/// The values that are needed of the configuration of a repository and of its user, with the filters that it
/// names.
pub struct Configuration(pub(super) Vec<(String, String)>);

impl Configuration {
    /// Reads the configuration, which runs nothing.
    ///
    /// # Errors
    ///
    /// In the words of git, and where nobody could have that many filters.
    pub fn of(folder: &Path) -> Result<Self, WorkError> {
        let wanted = Self::of_keys(folder, WANTED)?;
        if wanted.filters().len() > MOST_FILTERS {
            let why = format!("its configuration has more than {MOST_FILTERS} filters");
            return Err(refused(why));
        }
        Ok(wanted)
    }

    /// The values of the keys that a pattern names.
    pub(super) fn of_keys(folder: &Path, pattern: &str) -> Result<Self, WorkError> {
        // The configuration of a user lies wherever that of another one says.
        let git = Git::with(&[]).kept("HOME").kept("XDG_CONFIG_HOME").at(folder).reads("/");
        let said = git.answer(["config", "-z", "--get-regexp", pattern])?;
        let values = said.iter().flat_map(entries).map(|entry| {
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            (key.to_owned(), value.to_owned())
        });
        Ok(Self(values.collect()))
    }

    fn filters(&self) -> BTreeSet<&str> {
        let keys = self.0.iter().filter_map(|(key, _)| key.strip_prefix("filter."));
        keys.filter_map(|key| Some(key.rsplit_once('.')?.0)).collect()
    }

    /// The value that counts, of those that are written.
    pub fn value(&self, key: &str) -> Option<&str> {
        let mut values = self.0.iter().rev();
        Some(&values.find(|(name, _)| name == key)?.1)
    }

    /// The file of what the user has git ignore everywhere.
    pub fn excludes_file(&self) -> Option<PathBuf> {
        if let Some(path) = self.value("core.excludesfile") {
            return match path.strip_prefix("~/") {
                Some(path) => Some(std::env::home_dir()?.join(path)),
                None => Some(path.into()),
            };
        }
        let usual = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let usual = usual.or_else(|| Some(std::env::home_dir()?.join(".config")));
        Some(usual?.join("git/ignore"))
    }

    /// Git by this configuration, in which no filter runs.
    pub fn git(&self) -> Git {
        let name = self.value("user.name").filter(|name| is_name(name)).unwrap_or("quorum");
        let mail = self.value("user.email").unwrap_or("quorum@quorum.invalid");
        let mut git = Git::new().env("GIT_COMMITTER_NAME", name).env("GIT_COMMITTER_EMAIL", mail);
        for (key, value) in &self.0 {
            if matches!(key.as_str(), "core.autocrlf" | "core.eol" | "safe.directory") {
                git = git.set(key, value);
            }
        }
        for filter in self.filters() {
            for (key, value) in [("smudge", ""), ("clean", ""), ("process", ""), ("required", "false")] {
                git = git.set(&format!("filter.{filter}.{key}"), value);
            }
        }
        git
    }
}

/// Whether anything is left of a name once git has taken away what it takes for no part of one.
fn is_name(name: &str) -> bool {
    name.chars().any(|c| c > ' ' && !".,:;<>\"\\'".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_committer_has_a_name_that_git_takes() {
        for name in ["<>", ".", " ", "\"'", "<.>"] {
            assert!(!is_name(name), "{name}");
        }
        assert!(is_name("<a>"));
    }

    #[test]
    fn filters_are_named_by_all_between_the_first_dot_and_the_last() {
        let key = |key: &str| (key.to_owned(), String::new());
        let wanted =
            Configuration(vec![key("filter.a.b=c.smudge"), key("filter.lfs.clean"), key("user.name")]);
        assert_eq!(wanted.filters().into_iter().collect::<Vec<_>>(), ["a.b=c", "lfs"]);
    }

    #[test]
    fn the_value_that_stands_last_counts() {
        let entry = |value: &str| ("core.eol".to_owned(), value.to_owned());
        let wanted = Configuration(vec![entry("lf"), entry("crlf")]);
        assert_eq!(wanted.value("core.eol"), Some("crlf"));
    }
}
