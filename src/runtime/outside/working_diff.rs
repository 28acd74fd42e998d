//! What differs between a revision and a working folder, for whoever judges it: all of it as text, whatever attributes and the
//! index of the repository say, with the names of what cannot be shown.

use std::fs;
use std::path::Path;

use crate::executor::error::WorkError;
use rules::mission::model::Worktree;
use supervisor::files::no_links::scratch_folder;

use crate::runtime::isolation::{
    git::{Configuration, Git, borrow, entries, refused},
    unfit_for_git::odd_file,
};

/// A difference, and what of it is not shown.
pub struct WorkingDiff {
    /// As `git diff` prints it.
    pub patch: Vec<u8>,
    /// The files whose difference is not in the patch, and why, one sentence each.
    pub not_shown: Vec<String>,
}

/// The paths of which no difference is work: the state folder.
const NO_WORK: &str = ":(exclude,top,glob)**/.polpo/**";

/// How a difference is printed: whole, and as text.
const DIFF: [&str; 11] = [
    "diff",
    "--text",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-relative",
    "--unified=3",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// The difference of a folder, or of these files, to a revision; or between two revisions, where a range is named. Files that git
/// does not follow are in it, but for those that it ignores. The repository and its index stay as they are. Blocks.
///
/// # Errors
/// In the words of git.
pub fn working_diff(folder: &Path, revision: &str, paths: &[String]) -> Result<WorkingDiff, WorkError> {
    let wanted = Configuration::of(folder)?;
    let place = scratch_folder()?;
    let git = || {
        let git = wanted.git().at(folder).set("core.sparseCheckout", "false");
        let git = git.set("core.quotePath", "false");
        match wanted.excludes_file() {
            Some(file) => git.set("core.excludesFile", &file.to_string_lossy()).reads(file),
            None => git,
        }
    };
    let in_index = || {
        git().indexed(&place.path().join("index")).env("GIT_OBJECT_DIRECTORY", place.path().join("objects"))
    };
    read_all(&git, &in_index, place.path())?;
    let is_range = revision.contains("..");
    let diff = in_index().args(DIFF).args((!is_range).then_some("--cached"));
    let patch = diff.args(["--end-of-options", revision, "--"]).run(paths)?.stdout;
    Ok(without_binary(&patch))
}

/// Makes an index of all that is there, without the marks of the repository's own and without what that remembers of files, so
/// that each of them is read. `git` works with the repository, `in_index` with the new index; `place` is for files of ours.
fn read_all(git: &impl Fn() -> Git, in_index: &impl Fn() -> Git, place: &Path) -> Result<(), WorkError> {
    let top = git().line(["rev-parse", "--show-toplevel"])?;
    let top = Path::new(&top);
    let objects = ["rev-parse", "--path-format=absolute", "--git-path", "objects"];
    let objects = git().line(objects)?;
    fs::create_dir_all(place.join("objects/info"))?;
    borrow(place, "", Path::new(&objects))?;
    let list = place.join("list");
    fs::write(&list, git().at(top).run(["ls-files", "-s", "-z"])?.stdout)?;
    in_index().reading(&list).run(["update-index", "-z", "--index-info"])?;
    // What is not checked out is as it was.
    let marked = git().at(top).run(["ls-files", "-v", "-z"])?;
    let absent = entries(&marked).filter_map(|entry| {
        let path = entry.strip_prefix("S ").or_else(|| entry.strip_prefix("s "))?;
        let is_absent = fs::symlink_metadata(top.join(path)).is_err();
        is_absent.then(|| format!("{path}\0"))
    });
    fs::write(&list, absent.collect::<String>())?;
    let skip = ["update-index", "--skip-worktree", "-z", "--stdin"];
    in_index().at(top).reading(&list).run(skip)?;
    if let Some(odd) = odd_file(|| Ok(in_index().at(top)), top, Worktree::default().max_file().get())? {
        return Err(refused(odd));
    }
    in_index().done(["add", "-A", "--", ":/", NO_WORK])
}

/// A patch in which each file whose change is no text stands by its name only.
fn without_binary(patch: &[u8]) -> WorkingDiff {
    const FILE: &[u8] = b"diff --git ";
    let mut shown = WorkingDiff { patch: Vec::new(), not_shown: Vec::new() };
    let mut lines = patch.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(first) = lines.next() {
        let begin = shown.patch.len();
        shown.patch.extend(first);
        let head = shown.patch.len();
        while let Some(line) = lines.next_if(|line| !line.starts_with(FILE)) {
            shown.patch.extend(line);
        }
        let file = &shown.patch[begin..];
        let why = match () {
            () if file.contains(&0) => "it is no text",
            () if is_of_repository(file) => "it is a repository of its own",
            () => continue,
        };
        let name = String::from_utf8_lossy(first.strip_prefix(FILE).unwrap_or(first));
        let name = format!("{} ({why})", name.trim_end());
        shown.patch.truncate(head);
        shown.patch.extend(format!("not shown: {why}\n").bytes());
        shown.not_shown.push(name);
    }
    shown
}

/// Whether a part of a patch is about the commit that another repository stands at.
fn is_of_repository(file: &[u8]) -> bool {
    let mut head = file.split(|byte| *byte == b'\n').take_while(|line| !line.starts_with(b"@@"));
    head.any(|line| line.ends_with(b" 160000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_no_text_stands_by_its_name() {
        let text =
            "diff --git a/t b/t\nindex 1..2 100644\n--- a/t\n+++ b/t\n@@ -1 +1 @@\n-a\n+diff --git a/x b/x\n";
        let binary = "diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-a\n+a\0b\n";
        let module = "diff --git a/m b/m\nindex 1..2 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-1\n+2\n";
        let shown = without_binary(format!("{binary}{text}{module}").as_bytes());
        assert_eq!(
            String::from_utf8(shown.patch).unwrap(),
            format!(
                "diff --git a/b b/b\nnot shown: it is no text\n{text}diff --git a/m b/m\nnot shown: it is a repository of its own\n"
            )
        );
        assert_eq!(shown.not_shown, ["a/b b/b (it is no text)", "a/m b/m (it is a repository of its own)"]);
    }
}
