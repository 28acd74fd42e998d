//! How worktrees are prepared and merged, where tasks are isolated in them (semantics, section 22).

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::mission::file::{
    keys::{keys, single},
    levels::shown,
    scalar::{Bytes, Filled, InnerPath, JsonForm, Scalar as _, scalars},
};

keys! {
    /// `settings.worktree`. `None` leaves a value to the next level and at last to the default.
    #[derive(Default)]
    pub struct Worktree: "worktree", by level {
        /// Files and folders of the workspace that are copied into each worktree, beside those that git follows.
        "copy" copy: Box<[Box<str>]> as InnerPath;
        /// Files and folders of the workspace to which each worktree has a link: they can be read, and are not written.
        "link" link: Box<[Box<str>]> as InnerPath;
        /// A command that prepares each worktree before an agent works there.
        "setup" setup: Option<Box<str>> as Filled;
        /// The largest file that a task may leave in its worktree, where git does not ignore it [=].
        "maxFile" max_file: Option<Bytes> = "256 MiB";
        /// What becomes of accepted work at the end: ff (the branch that is checked out moves), never, or `branch NAME` [=].
        "merge" merge: Option<MergeInto> = "ff";
    }
}

/// The destination of accepted work at the end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum MergeInto {
    /// The branch that is checked out is moved, where it is clean and has not moved.
    FastForward,
    /// Accepted work is not merged: it waits under a reference of its own.
    Never,
    /// The branch of this name is made, or moved forward.
    Branch(Box<str>),
}

impl From<MergeInto> for String {
    fn from(merge: MergeInto) -> Self {
        match merge {
            MergeInto::FastForward => "ff".to_owned(),
            MergeInto::Never => "never".to_owned(),
            MergeInto::Branch(name) => format!("branch {name}"),
        }
    }
}

/// A text that says nothing of what becomes of accepted work.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("'{0}' is not one of {what}", what = MergeInto::EXPECTS)]
pub struct UnknownMerge(String);

impl TryFrom<String> for MergeInto {
    type Error = UnknownMerge;

    fn try_from(text: String) -> Result<Self, UnknownMerge> {
        text.parse()
    }
}

impl FromStr for MergeInto {
    type Err = UnknownMerge;

    /// Reads `ff`, `never` or `branch NAME`.
    fn from_str(text: &str) -> Result<Self, UnknownMerge> {
        let branch = text.strip_prefix("branch ").map(str::trim);
        match (text, branch) {
            ("ff", _) => Ok(Self::FastForward),
            ("never", _) => Ok(Self::Never),
            (_, Some(name)) if is_branch_name(name) => Ok(Self::Branch(name.into())),
            _ => Err(UnknownMerge(text.to_owned())),
        }
    }
}

/// Whether git takes this as the name of a branch.
pub fn is_branch_name(name: &str) -> bool {
    let is_odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_reserved = ["HEAD", "@"].contains(&name) || name.starts_with('-') || name.ends_with('.');
    let is_range = name.contains("..") || name.contains("@{");
    !is_reserved && !is_range && !name.contains(is_odd) && name.split('/').all(is_part)
}

scalars! {
    MergeInto: "ff, never or `branch NAME`, a name that git takes",
        JsonForm::Either(&[JsonForm::Words(&["ff", "never"]), JsonForm::Text(
            r"^branch (?!-|(HEAD|@)$|.*(\.\.|@\{|\.lock(/|$)|\.$))[^/.\x00-\x20\x7f~^:?*\[\\][^/\x00-\x20\x7f~^:?*\[\\]*(/[^/.\x00-\x20\x7f~^:?*\[\\][^/\x00-\x20\x7f~^:?*\[\\]*)*$",
        )]),
        |text| text.parse().ok();
}

single!(MergeInto);
shown!(MergeInto: |merge| String::from(merge.clone()));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_has_a_name_that_git_takes() {
        for good in ["done", "a/b", "a.b", "fix-1", "@x", "a@b", "lock", "é"] {
            assert!(is_branch_name(good), "{good}");
        }
        for bad in [
            "", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "-a", "/a", "a/", "a//b", ".a",
            "a/.b", "a.", "a.lock", "a.lock/b", "a@{1}", "@", "HEAD", "a\u{7f}", "a\tb",
        ] {
            assert!(!is_branch_name(bad), "{bad}");
        }
    }
}
