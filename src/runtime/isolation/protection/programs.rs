//! The programs that commands start which judge or serve: what decides which file each of their names stands for.
//!
//! Another program of that name can be put into a folder in which it is looked for before, the file can be replaced, and each link on
//! the way to it can be made to lead elsewhere. What nothing that works here can have changed is an update.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::scripts::named;
use super::{GroupState, PROGRAMS, Protection, SeenFiles, adopt, differs};
use crate::agents::command_line::path_variable;
use crate::review::file_changes::changed_paths;
use rules::engine::State;
use rules::judging::protected::plain;
use rules::plan::RunOptions;
use supervisor::{places, resolve};

/// The number of links that the system follows on the way to one file.
const MOST_LINKS: usize = 40;

/// Files, links, and places where nothing may come to be, each with the first command that rests on it. What this user cannot change
/// is left out. Blocks.
pub fn programs(state: &State, options: &RunOptions) -> BTreeMap<PathBuf, String> {
    let path = path_variable();
    let mut found = BTreeMap::new();
    let all = named(state, options).into_iter().flat_map(|named| named.programs);
    for ((folder, name), command) in all {
        let mut deciding = Vec::new();
        let is_there = |place: &PathBuf| {
            deciding.extend(way(place, Vec::new()));
            resolve(&place.to_string_lossy(), "", &folder).is_ok()
        };
        // Without a program that is nowhere a command says nothing about work.
        if !places(&name, &path, &folder).iter().any(is_there) {
            continue;
        }
        let may_change = |path: &Path| access(path, Access::WRITE_OK).is_ok();
        deciding.retain(|path| path.ancestors().any(may_change));
        for path in deciding {
            found.entry(path).or_insert_with(|| command.clone());
        }
    }
    found
}

/// The links on the way to what a path leads to, and that, behind what was found of it: none has a link before its last name.
fn way(path: &Path, mut found: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut at = PathBuf::new();
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        at = plain(&at.join(part));
        if found.len() < MOST_LINKS
            && !found.contains(&at)
            && let Ok(target) = fs::read_link(&at)
        {
            let path = at.with_file_name(target).join(parts.as_path());
            found.push(at);
            return way(&path, found);
        }
    }
    found.push(at);
    found
}

/// Whether a path is that of a regular file that has no other name: a mount holds it.
pub fn is_mountable(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.nlink() == 1)
}

impl Protection {
    /// Whether who is confined, or not, may change a file.
    pub fn is_in_reach(&self, is_confined: bool, path: &str) -> bool {
        !is_confined || !self.out_of_reach.contains(Path::new(path))
    }

    /// Takes programs as they are now, but for what one of those at work may have changed, each of whom is confined or not, or
    /// somebody is known to have. What was changed, one sentence each.
    pub fn updated(&self, now: &SeenFiles, at_work: &[bool]) -> Vec<String> {
        let group = &self.groups[PROGRAMS];
        let mut held = group.held();
        let GroupState { baseline, blamed, .. } = &mut *held;
        let now = now.known.iter().find(|(index, _)| *index == PROGRAMS);
        let (Ok(baseline), Some((_, now))) = (baseline, now) else {
            return Vec::new();
        };
        let was = baseline.clone();
        let mut updated = Vec::new();
        for (path, said) in changed_paths(&was, &now.marks, &group.root) {
            let mut at_work = at_work.iter();
            if !blamed.contains(path) && !at_work.any(|is_confined| self.is_in_reach(*is_confined, path)) {
                adopt(baseline, &now.marks, path);
                updated.push(said);
            }
        }
        blamed.retain(|path| differs(baseline, &now.marks, path));
        updated
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_way_ends_however_many_links_there_are_and_wherever_they_lead() {
        let place = supervisor::files::no_links::scratch_folder().unwrap();
        let at = |name: String| place.path().join(name);
        for number in 0..1_000 {
            symlink(at(format!("l{}", number + 1)), at(format!("l{number}"))).unwrap();
        }
        symlink("round/x", at("round".to_owned())).unwrap();
        assert_eq!(way(&at("l998".to_owned()), Vec::new()).len(), 3);
        assert!(way(&at("l0".to_owned()), Vec::new()).len() <= MOST_LINKS + 1);
        assert!(way(&at("round".to_owned()), Vec::new()).len() <= MOST_LINKS + 1);
    }
}
