//! What git calls unmerged, in words; and links that lead out of a repository.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

/// The mode of another repository within one.
pub const GITLINK: &str = "160000";
/// The mode of a link.
pub const LINK: &str = "120000";

/// Two commits put together.
pub struct Together {
    /// The merged tree of both, in which no name is invented.
    pub tree: String,
    pub is_clean: bool,
    pub unmerged: Vec<Unmerged>,
}

/// The entries of the index that git calls unmerged.
pub struct Unmerged {
    pub path: String,
    pub how: String,
    /// Whether anything lies there.
    pub lies: bool,
}

/// The time that files get which nobody has written yet, in seconds.
const DAY_ONE: i64 = 86_400;

/// Gives a file an old time, whatever it is.
pub fn age(path: &Path) -> io::Result<()> {
    let day_one = Timespec { tv_sec: DAY_ONE, tv_nsec: 0 };
    let times = Timestamps { last_access: day_one, last_modification: day_one };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from)
}

/// Whether a file has that time still.
pub fn is_aged(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.mtime() == DAY_ONE)
}

/// The name of a file that git has put aside under a name of its own, because something else lies at that one.
pub fn invented<'p>(path: &'p str, sides: [&str; 2]) -> Option<&'p str> {
    sides.iter().find_map(|side| {
        let end = path.find(&format!("~{side}"))?;
        path.get(..end)
    })
}

/// How two sides differ that git does not merge, by the mode and the stage of each version.
pub fn how(versions: &[(&str, &str)], is_folder: bool) -> &'static str {
    let of = |stage| versions.iter().find(|(_, other)| *other == stage).map(|(mode, _)| *mode);
    match (of("1"), of("2"), of("3")) {
        _ if is_folder => "a file on one side, a folder on the other",
        (_, Some(LINK), Some(LINK)) => "a link to something else on each side",
        (_, Some(LINK), Some(_)) | (_, Some(_), Some(LINK)) => "a link on one side, a file on the other",
        (_, Some(mine), Some(theirs)) if mine != theirs => "another mode on each side",
        (_, Some(_), Some(_)) => "changed on both sides",
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) => "removed on one side, changed on the other",
        _ => "under another name on each side",
    }
}

/// Whether a link at a path of the repository leads out of it, or could, where what it goes through is a link itself; or to what
/// is git's.
pub fn leads_out(path: &str, target: &str) -> bool {
    let target = Path::new(target);
    let mut depth = Path::new(path).components().count().saturating_sub(1);
    let mut goes_down = false;
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) if is_git_name(name.as_bytes()) => return true,
            Component::Normal(_) => goes_down = true,
            Component::ParentDir if depth > 0 && !goes_down => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

/// Whether any file system could take a name for that of git's own folder: in letters of another case, with blanks and dots behind
/// it, by its short name, as a stream of it, or with characters within that are not seen.
pub fn is_git_name(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    name.split('\\').any(|part| {
        let part = part.split(':').next().unwrap_or_default();
        let seen: String = part
            .chars()
            .filter(|c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'))
            .collect();
        let seen = seen.trim_end_matches([' ', '.']).to_ascii_lowercase();
        seen == ".git" || seen == "git~1"
    })
}

#[cfg(test)]
mod tests {
    use super::{is_git_name, leads_out};

    #[test]
    fn the_folder_of_git_is_known_in_every_spelling() {
        for name in [
            ".git",
            ".GIT",
            ".Git. .",
            "git~1",
            "GIT~1 ",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            "a\\.git",
            ".g\u{200c}it",
            "\u{feff}.git",
        ] {
            assert!(is_git_name(name.as_bytes()), "{name}");
        }
        for name in [".gitignore", "git", "git~2", ".git-x", "a.git", "..git", ". git", ""] {
            assert!(!is_git_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_link_leads_out_by_its_words() {
        for (path, target) in [
            ("a", "/etc/passwd"),
            ("a", ".."),
            ("a/b", "../../x"),
            ("a", "b/../../x"),
            ("a/b", "link/../x"),
            ("a", "./b/../c"),
            ("a/b", "../.git/config"),
            ("a", ".Git/config"),
            ("a", "git~1/config"),
        ] {
            assert!(leads_out(path, target), "{path} -> {target}");
        }
        for (path, target) in [("a", "b"), ("a/b", "../x"), ("a/b/c", "../../x/y"), ("a", "./b/c")] {
            assert!(!leads_out(path, target), "{path} -> {target}");
        }
    }
}
