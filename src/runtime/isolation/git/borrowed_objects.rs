//! The objects that a repository borrows from others, and the folders of git that a workspace belongs to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::executor::error::WorkError;
use supervisor::files;

/// The longest file that names a folder, in bytes.
const LONGEST_PATH: u64 = 8 << 10;
/// The longest configuration that is looked into, in bytes.
const LONGEST_CONFIGURATION: u64 = 1 << 20;
/// How many repositories lend their objects one to the other: more than git follows.
const MOST_LENDERS: usize = 6;

/// Has a repository find objects in those of others as well: where another one does, and in a folder.
///
/// # Errors
/// When that cannot be written.
pub fn borrow(repository: &Path, others: &str, objects: &Path) -> Result<(), WorkError> {
    let path = repository.join("objects/info/alternates");
    let mut line = objects.display().to_string();
    if line.contains('\n') {
        line = quoted(&line);
    }
    files::replace_file(&path, format!("{others}{line}\n").as_bytes())
        .map_err(WorkError::file("write", &path))
}

/// A text between quotation marks, as git reads it in its files.
pub fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace("\"", "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}

/// The folder that a line of such a list names.
pub fn borrowed(line: &str) -> PathBuf {
    let Some(quoted) = line.strip_prefix("\"").and_then(|line| line.strip_suffix("\"")) else {
        return line.into();
    };
    let mut path = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        path.extend(match character {
            '\\' => characters.next().map(|next| if next == 'n' { '\n' } else { next }),
            _ => Some(character),
        });
    }
    path.into()
}

/// Whether a folder of git has a configuration that names others, which may lie anywhere.
fn includes(folder: &Path) -> bool {
    ["config", "config.worktree"].iter().any(|name| {
        match files::read_regular(&folder.join(name), LONGEST_CONFIGURATION) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).to_lowercase().contains("[include"),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    })
}

/// Adds to `folders` what the repositories among them find elsewhere: their own parts where those are links,
/// the objects of others, and all that their configuration may name.
pub(super) fn lent(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    // What cannot be listed, or read below, git cannot read either, and says so.
    let is_link = |path: &PathBuf| path.is_symlink();
    let parts = ["objects", "commondir"];
    let is_own = |folder: &&PathBuf| parts.iter().any(|part| folder.join(part).exists());
    let own: Vec<&PathBuf> = folders.iter().filter(is_own).collect();
    if own.iter().any(|folder| includes(folder)) {
        return vec!["/".into()];
    }
    let entries = own.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let links: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_link).collect();
    let mut lenders: Vec<PathBuf> = folders.iter().map(|folder| folder.join("objects")).collect();
    let mut all = [folders, links].concat();
    for _ in 0..MOST_LENDERS {
        let lists = lenders.iter().filter_map(|objects| {
            let list = files::read_regular(&objects.join("info/alternates"), LONGEST_PATH).ok()?;
            Some((objects, String::from_utf8(list).ok()?))
        });
        let others = lists.flat_map(|(objects, list)| {
            let lines = list.lines().map(|line| objects.join(borrowed(line)));
            lines.collect::<Vec<_>>()
        });
        let others = others.filter(|objects| objects.ends_with("objects"));
        lenders = others.collect::<BTreeSet<_>>().into_iter().collect();
        lenders.retain(|objects| !all.contains(objects));
        all.extend(lenders.iter().cloned());
    }
    all
}

/// The folders in which folders of git find objects of others, as far as their lists tell.
pub fn lenders(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = lent(folders.to_vec());
    all.retain(|path| path.ends_with("objects"));
    all
}

/// The folders of git that a workspace belongs to: its own, and the one that it shares with other worktrees. They are found
/// without git.
pub fn folders_of(workspace: &Path) -> Vec<PathBuf> {
    let mut entries = workspace.ancestors().map(|above| above.join(".git"));
    let Some(entry) = entries.find(|git| git.exists()) else {
        return Vec::new();
    };
    let beside = |place: &Path, text: &str| place.parent().unwrap_or(place).join(text.trim_end_matches('\n'));
    let read = |path: &Path| {
        let bytes = files::read_regular(path, LONGEST_PATH).ok()?;
        String::from_utf8(bytes).ok()
    };
    let own = match read(&entry) {
        Some(text) => beside(&entry, text.strip_prefix("gitdir: ").unwrap_or_default()),
        None => entry,
    };
    let common = own.join("commondir");
    let common = read(&common).map(|text| beside(&common, &text));
    let all = [Some(own), common].into_iter().flatten();
    all.filter_map(|folder| fs::canonicalize(folder).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Git;
    use super::*;

    #[test]
    fn the_folders_of_a_linked_worktree_lie_where_its_files_say() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        fs::create_dir_all(at("main/.git/worktrees/w")).unwrap();
        fs::create_dir_all(at("linked/deep")).unwrap();
        let own = at("main/.git/worktrees/w");
        fs::write(at("linked/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let found = [own, at("main/.git")].map(|path| fs::canonicalize(path).unwrap());
        assert_eq!(folders_of(&at("linked/deep")), found);
        assert_eq!(folders_of(&at("main")), found[1..]);
    }

    #[test]
    fn git_reads_its_repository_and_who_lends_it_objects_and_nothing_else_of_the_user() {
        let place = supervisor::files::no_links::scratch_folder().unwrap();
        let at = |path: &str| place.path().join(path);
        let git = |folder: &str| Git::new().at(&at(folder));
        for name in ["lender", "middle", "work"] {
            fs::create_dir(at(name)).unwrap();
            git(name).run(["init", "-q"]).unwrap();
        }
        fs::write(at("lender/file"), "lent").unwrap();
        let object = git("lender").line(["hash-object", "-w", "file"]).unwrap();
        borrow(&at("middle/.git"), "", &at("lender/.git/objects")).unwrap();
        fs::write(at("work/.git/objects/info/alternates"), "../../../middle/.git/objects\n").unwrap();
        fs::rename(at("work/.git/refs"), at("refs")).unwrap();
        std::os::unix::fs::symlink(at("refs"), at("work/.git/refs")).unwrap();
        let shown = git("work").line(["cat-file", "blob", &object]);
        assert_eq!(shown.unwrap(), "lent");
        let others = at("lender/file").to_string_lossy().into_owned();
        let hash = |git: Git| git.line(["hash-object", &others]);
        assert_eq!(hash(git("work").reads(at("lender"))).unwrap(), object);
        let why = hash(git("work")).unwrap_err().to_string();
        assert!(why.contains("Permission denied"), "{why}");
        let include = ["config", "include.path", &others];
        fs::write(&others, "[a]\nb = c\n").unwrap();
        git("work").run(include).unwrap();
        assert_eq!(git("work").line(["config", "a.b"]).unwrap(), "c");
    }
}
