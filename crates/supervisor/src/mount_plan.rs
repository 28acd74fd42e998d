//! What a confined child sees of the file system, and what of it it can change: a pure list, made per child and tested
//! without a kernel (semantics, section 23).
//!
//! Whoever makes a plan says what must hold of a few paths. The plan adds what that needs: a folder above a path that must
//! stay where it is becomes a mount of its own, because what is mounted cannot be renamed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The access of a child to a path and everything below it. Ordered by strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Access {
    /// The path may be read and changed, but neither moved nor removed.
    Write,
    /// The path may be read, but neither changed nor moved.
    Read,
    /// A folder that is empty at first, and may be written: nothing of it is left behind.
    Scratch,
    /// A file or socket that is there, and leads nowhere.
    Masked,
    /// A folder that is empty and read-only, but for what the plan says of paths below it.
    Hidden,
}

/// The paths that a confined child sees. Paths that no entry names are as they are outside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MountPlan {
    /// Each path once, a folder before what lies in it.
    entries: Vec<(PathBuf, Access)>,
    /// Folders that may be written, each mounted in place of what lies at a path and of all that is said of paths below it.
    pub instead: BTreeMap<PathBuf, PathBuf>,
    /// Whether the child has no network but a loopback of its own.
    pub without_network: bool,
    /// Whether everything of which nothing is said is read-only.
    pub read_only_elsewhere: bool,
}

impl MountPlan {
    /// A plan of these rules; `elsewhere`, `Read` or `Write`, holds of all of which they say nothing. Of several rules for one
    /// path the strictest holds. Paths must be absolute, without links and without `.` or `..`; others are left out, because
    /// nobody could tell what they lead to.
    pub fn new(elsewhere: Access, rules: impl IntoIterator<Item = (PathBuf, Access)>) -> Self {
        let mut entries: BTreeMap<PathBuf, Access> = BTreeMap::new();
        for (path, access) in rules.into_iter().filter(|(path, _)| is_plain(path)) {
            let entry = entries.entry(path).or_insert(access);
            *entry = access.max(*entry);
        }
        let stays: Vec<PathBuf> = entries.keys().cloned().collect();
        for path in &stays {
            let above = path.ancestors().skip(1).filter(|above| above.parent().is_some());
            for above in above {
                // What is above an entry is looked at with that one.
                if entries.contains_key(above) {
                    break;
                }
                // What is read-only, hidden or made anew keeps what lies in it in its place.
                if access_of(&entries, above, elsewhere) == Access::Write {
                    entries.insert(above.to_owned(), Access::Write);
                }
            }
        }
        Self {
            entries: entries.into_iter().collect(),
            read_only_elsewhere: elsewhere == Access::Read,
            ..Self::default()
        }
    }

    /// Each path with what may be done with it, a folder before what lies in it.
    pub fn entries(&self) -> impl Iterator<Item = (&Path, Access)> {
        self.entries.iter().map(|(path, access)| (path.as_path(), *access))
    }

    /// The access to a path.
    pub fn access(&self, path: &Path) -> Access {
        let above = self.entries().filter(|(entry, _)| path.starts_with(entry));
        let elsewhere = if self.read_only_elsewhere { Access::Read } else { Access::Write };
        above.last().map_or(elsewhere, |(_, access)| access)
    }
}

/// Absolute, below the root, and written without detours.
fn is_plain(path: &Path) -> bool {
    use std::path::Component;
    path.parent().is_some()
        && path.is_absolute()
        && path.components().skip(1).all(|part| matches!(part, Component::Normal(_)))
}

/// The access of the nearest folder above `path`, or of `path` itself; `elsewhere` where no entry names any.
fn access_of(entries: &BTreeMap<PathBuf, Access>, path: &Path, elsewhere: Access) -> Access {
    let nearest = path.ancestors().find_map(|above| entries.get(above));
    nearest.copied().unwrap_or(elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access::{Hidden, Masked, Read, Write};

    fn plan(rules: &[(&str, Access)]) -> Vec<(String, Access)> {
        let rules = rules.iter().map(|(path, access)| (PathBuf::from(path), *access));
        let plan = MountPlan::new(Write, rules);
        let entries = plan.entries();
        entries.map(|(path, access)| (path.display().to_string(), access)).collect()
    }

    fn entry(path: &str, access: Access) -> (String, Access) {
        (path.to_owned(), access)
    }

    #[test]
    fn every_folder_above_what_must_stay_is_pinned() {
        let expected = [
            entry("/home", Write),
            entry("/home/u", Write),
            entry("/home/u/w", Write),
            entry("/home/u/w/a", Write),
            entry("/home/u/w/a/b", Write),
            entry("/home/u/w/a/b/tests", Read),
        ];
        assert_eq!(plan(&[("/home/u/w/a/b/tests", Read)]), expected);
        assert_eq!(plan(&[("/tests", Read)]), [entry("/tests", Read)]);
    }

    #[test]
    fn nothing_below_a_read_only_or_hidden_folder_is_made_writable_by_a_pin() {
        let expected = [
            entry("/w", Read),
            entry("/w/.polpo", Hidden),
            entry("/w/.polpo/runs/r/work/1.drop", Write),
            entry("/w/a/b", Read),
        ];
        let rules =
            [("/w/.polpo/runs/r/work/1.drop", Write), ("/w/a/b", Read), ("/w", Read), ("/w/.polpo", Hidden)];
        assert_eq!(plan(&rules), expected);
    }

    #[test]
    fn where_all_else_is_read_only_nothing_above_a_writable_folder_becomes_writable() {
        let rules = [("/home/u/w", Write), ("/home/u/w/a/tests", Read)];
        let plan = MountPlan::new(Read, rules.map(|(path, access)| (PathBuf::from(path), access)));
        let entries: Vec<_> = plan.entries().collect();
        let path = Path::new;
        let expected =
            [(path("/home/u/w"), Write), (path("/home/u/w/a"), Write), (path("/home/u/w/a/tests"), Read)];
        assert_eq!(entries, expected);
        assert!(plan.read_only_elsewhere);
        assert_eq!(plan.access(Path::new("/home/u/x")), Read);
    }

    #[test]
    fn the_strictest_rule_for_a_path_holds() {
        assert_eq!(plan(&[("/w", Read), ("/w", Write)]), [entry("/w", Read)]);
        assert_eq!(plan(&[("/s", Masked), ("/s", Write)]), [entry("/s", Masked)]);
    }

    #[test]
    fn a_folder_comes_before_what_lies_in_it_and_names_that_begin_alike_are_others() {
        let names: Vec<String> = plan(&[("/w.b", Read), ("/w/a", Read), ("/w-a", Read), ("/w", Read)])
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert_eq!(names, ["/w", "/w/a", "/w-a", "/w.b"]);
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_left_out() {
        assert_eq!(plan(&[("w", Read), ("/w/../x", Read), ("/", Read)]), []);
    }

    #[test]
    fn access_is_that_of_the_nearest_folder() {
        let plan = MountPlan::new(
            Write,
            [
                (PathBuf::from("/w"), Write),
                (PathBuf::from("/w/tests"), Read),
                (PathBuf::from("/w/.polpo"), Hidden),
            ],
        );
        assert_eq!(plan.access(Path::new("/w/src/a.rs")), Write);
        assert_eq!(plan.access(Path::new("/w/tests/a.rs")), Read);
        assert_eq!(plan.access(Path::new("/w/.polpo/runs")), Hidden);
        assert_eq!(plan.access(Path::new("/elsewhere")), Write);
    }
}
