//! What of the protected files mounts can hold, and what only the comparison of what they hold does: nobody may believe of
//! that one that a process cannot write it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Group, PROGRAMS, Protection, protected_scopes, real, targets};
use crate::review::file_changes::{Guarded, PathState, Scope};
use rules::domain::TaskId;
use rules::judging::protected::PROTECTED;
use rules::plan::Plan;

/// The messages of systems and programs about a write that a mount refuses.
const REFUSED: &str = "read-only file system|erofs|device or resource busy|ebusy";

/// How many paths a sentence names.
const MOST_NAMED: usize = 3;

/// The characters that make a path a pattern.
pub const GLOB: &[char] = &['*', '?', '[', '{'];

/// The files that no process of a run may change, as far as mounts can hold them.
#[derive(Debug, Default)]
pub struct ReadOnly {
    /// Folders of which everything is protected, and files; without links.
    pub paths: BTreeSet<PathBuf>,
    /// The reasons why protected files are not held by a mount, one sentence each.
    pub not_held: Vec<String>,
}

/// Protected paths that mounts do not hold, by reason.
#[derive(Default)]
struct NotHeld {
    too_many: Vec<PathBuf>,
    links: Vec<PathBuf>,
    missing: Vec<PathBuf>,
    linked: Vec<PathBuf>,
    unknown: Vec<PathBuf>,
}

impl Protection {
    /// The files that no process of a run may change, at most `most` paths. Files that a task of the run is to
    /// make are left out, and so are those in folders of isolated tasks. Blocks.
    pub fn read_only(&self, plan: &Plan, most: usize) -> ReadOnly {
        let of_folders: BTreeSet<usize> = self.by_folder.values().copied().collect();
        let of_all = self.groups.iter().enumerate();
        let of_all = of_all.filter(|(index, _)| *index != PROGRAMS && !of_folders.contains(index));
        let of_all: Vec<&Group> = of_all.map(|(_, group)| group).collect();
        let mut held = self.held_in(&of_all, &targets(plan, plan.selected_ids()), most);
        held.paths.extend(self.out_of_reach.iter().cloned());
        held
    }

    /// The files in the folder of an isolated task that no process may change. Blocks.
    pub fn read_only_in_folder(&self, plan: &Plan, task: TaskId, most: usize) -> BTreeSet<PathBuf> {
        let own = self.by_folder.get(&task).map(|&index| &self.groups[index]);
        let own: Vec<&Group> = own.into_iter().collect();
        self.held_in(&own, &targets(plan, [task]), most).paths
    }

    /// Writes of protected files that a turn printed the refusal of: a line with the system's words for one and the name of the
    /// file. Blocks.
    pub fn refused_writes(&self, plan: &Plan, task: TaskId, printed: &str) -> Vec<Box<str>> {
        let folder = plan.workspace_of(task);
        // Within a JSON text a line ends so; and the name of the workspace may have blanks in it.
        let printed = printed.replace("\\n", "\n");
        let printed = printed.replace(&format!("{}/", folder.display()), "");
        let is_refusal = |line: &&str| {
            let line = line.to_lowercase();
            REFUSED.split('|').any(|word| line.contains(word))
        };
        let between = |c: char| c.is_whitespace() || "'\"`\\:,;()[]{}=".contains(c);
        let words = printed.lines().filter(is_refusal).flat_map(|line| line.split(between));
        let words: BTreeSet<&Path> = words.map(Path::new).filter(|word| word.file_name().is_some()).collect();
        if words.is_empty() {
            return Vec::new();
        }
        // A program's name stands in what others print, too.
        let groups = self.groups_of(plan, task).into_iter();
        let groups = groups.filter(|index| *index != PROGRAMS);
        let marks = groups.filter_map(|index| self.groups[index].held().baseline.clone().ok());
        let files: BTreeSet<PathBuf> = marks.flatten().map(|(path, _)| path.into()).collect();
        let guarded = Guarded::of(&protected_scopes(plan, task)).ok();
        let mut found = BTreeSet::new();
        for word in words {
            let path = folder.join(word);
            let is_new = || guarded.as_ref().is_some_and(|guarded| guarded.holds(&path));
            let is_protected = files.contains(&path) || is_new();
            // Who is in another folder names a file from there.
            let mut meant = files.iter().filter(|file| file.ends_with(word));
            let only = meant.next().filter(|_| meant.next().is_none());
            found.extend(is_protected.then_some(path).or(only.cloned()));
        }
        let (own, root) = (targets(plan, [task]), plan.root_of(task));
        let found = found.difference(&own);
        let named = found.map(|path| path.strip_prefix(&root).unwrap_or(path).display());
        let refused = named.map(|name| format!("write {name}{PROTECTED}").into());
        refused.collect()
    }

    fn held_in(&self, groups: &[&Group], free: &BTreeSet<PathBuf>, most: usize) -> ReadOnly {
        let mut not_held = NotHeld::default();
        let mut found = whole_folders(groups, free, &mut not_held);
        for group in groups {
            match &group.held().baseline {
                Ok(marks) => {
                    let files = marks.iter().map(|(path, mark)| (Path::new(path), mark));
                    for (path, mark) in files.filter(|(path, _)| !free.contains(*path)) {
                        match fs::canonicalize(path) {
                            Ok(target) => drop(found.insert(target)),
                            Err(_) => not_held.missing.push(path.to_owned()),
                        }
                        not_held.look_at(path, mark);
                    }
                }
                Err(_) => not_held.unknown.extend(group.scopes.iter().map(|scope| scope.root.clone())),
            }
        }
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in found {
            if paths.last().is_some_and(|above| path.starts_with(above)) {
                continue;
            }
            if paths.len() < most { paths.push(path) } else { not_held.too_many.push(path) }
        }
        let paths: BTreeSet<PathBuf> = paths.into_iter().collect();
        not_held.links.retain(|link| {
            let link = real(link);
            !link.ancestors().skip(1).any(|above| paths.contains(above))
        });
        let not_held = not_held.into_sentences(&self.root, most);
        ReadOnly { paths, not_held }
    }
}

/// Folders of which everything is protected, without links.
fn whole_folders(groups: &[&Group], free: &BTreeSet<PathBuf>, not_held: &mut NotHeld) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    // Of a place where nothing is yet, nothing is said unless the mission names it.
    let scopes =
        groups.iter().flat_map(|group| group.scopes.iter().map(|scope| (scope, group.files.is_empty())));
    for (scope, is_declared) in scopes {
        for (path, is_literal) in scope.patterns.iter().map(|pattern| named_by(scope, pattern)) {
            match fs::canonicalize(&path) {
                Ok(folder) => {
                    let is_free = free.iter().any(|path| path.starts_with(&folder));
                    if folder.is_dir() && !is_free {
                        found.insert(folder);
                    }
                }
                Err(_) if is_literal && is_declared && !free.contains(&real(&path)) => {
                    not_held.missing.push(path)
                }
                Err(_) => {}
            }
        }
    }
    found
}

/// The path that a pattern means, if it means one and what lies in it, and whether it does.
fn named_by(scope: &Scope, pattern: &str) -> (PathBuf, bool) {
    let path = match pattern {
        "**" => return (scope.root.clone(), true),
        pattern => pattern.strip_suffix("/**").unwrap_or(pattern),
    };
    (scope.root.join(path), !path.contains(GLOB))
}

impl NotHeld {
    /// Notes what of a protected file no mount can hold: the name of a link, and further names of a file.
    fn look_at(&mut self, path: &Path, mark: &PathState) {
        match mark {
            PathState::Link(_) => self.links.push(path.to_owned()),
            PathState::File { .. } if fs::symlink_metadata(path).is_ok_and(|found| found.nlink() > 1) => {
                self.linked.push(path.to_owned());
            }
            PathState::File { .. } | PathState::Other => {}
        }
    }

    fn into_sentences(mut self, root: &Path, most: usize) -> Vec<String> {
        self.links.retain(|link| !self.missing.contains(link));
        let reasons = [
            (
                self.too_many,
                format!("no more than {most} paths are mounted; protect whole folders (`tests/**`)"),
            ),
            (self.links, "a link can be replaced; only what it leads to is mounted".to_owned()),
            (self.missing, "nothing is found there that could be mounted".to_owned()),
            (self.linked, "the file has further names (hard links), by which it can be written".to_owned()),
            (self.unknown, "it cannot be looked at".to_owned()),
        ];
        let told = reasons.into_iter().filter(|(paths, _)| !paths.is_empty());
        told.map(|(paths, why)| sentence(paths, root, &why)).collect()
    }
}

fn sentence(paths: Vec<PathBuf>, root: &Path, why: &str) -> String {
    let paths: BTreeSet<PathBuf> = paths.into_iter().collect();
    let name = |path: &PathBuf| format!("`{}`", path.strip_prefix(root).unwrap_or(path).display());
    let mut names: Vec<String> = paths.iter().take(MOST_NAMED).map(name).collect();
    if paths.len() > MOST_NAMED {
        names.push(format!("{} more", paths.len() - MOST_NAMED));
    }
    let names = match &names[..] {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        names => names.concat(),
    };
    format!("protected, but not by the sandbox, only by comparing before and after: {names}: {why}")
}
