use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::somebody_else::{give_away, without_rights_on_files};

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("tests/a.rs", "a"),
        ("tests/deep/b.rs", "b"),
        ("tests/.hidden", "h"),
        ("src/c.rs", "c"),
        ("src/deep/d.rs", "d"),
        ("notes.md", "n"),
        (".git/config", "g"),
        (".polpo/journal", "j"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn look_at(root: &Path, patterns: &[&str]) -> Result<FileMarks, Vec<String>> {
    let scope = Scope {
        root: root.to_owned(),
        patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
    };
    look(&[scope], &root.join(".polpo"), MOST_READ)
}

fn named(root: &Path, patterns: &[&str]) -> Vec<String> {
    let root = fs::canonicalize(root).unwrap();
    let marks = look_at(&root, patterns).unwrap();
    marks.keys().map(|path| shown(path, &root).into_owned()).collect()
}

#[test]
fn what_is_not_read_shows_by_its_times() {
    let folder = workspace();
    let look = || {
        let scope = Scope { root: folder.path().to_owned(), patterns: vec!["**".to_owned()] };
        look(&[scope], &folder.path().join(".polpo"), 0).unwrap()
    };
    let before = look();
    assert_eq!(difference(&before, &look()), FileDifference::default());
    let unread = |mark: &PathState| matches!(mark, PathState::File { digest: None, .. });
    assert!(before.len() == 6 && before.values().all(unread), "{before:?}");
    fs::remove_file(folder.path().join("notes.md")).unwrap();
    fs::write(folder.path().join("notes.md"), "n").unwrap();
    assert_eq!(difference(&before, &look()).written, 1);
}

#[test]
fn only_what_the_patterns_name_is_taken_in() {
    let folder = workspace();
    for (patterns, expected) in [
        (&["tests/**"][..], &["tests/.hidden", "tests/a.rs", "tests/deep/b.rs"][..]),
        (&["tests"], &["tests/.hidden", "tests/a.rs", "tests/deep/b.rs"]),
        (&["./tests/deep/"], &["tests/deep/b.rs"]),
        (&["src/*.rs"], &["src/c.rs"]),
        (&["src/*"], &["src/c.rs", "src/deep/d.rs"]),
        (&["*.md"], &["notes.md"]),
        (&["**/*.rs"], &["src/c.rs", "src/deep/d.rs", "tests/a.rs", "tests/deep/b.rs"]),
        (&["notes.md", "tests/deep/*", "tests/deep"], &["notes.md", "tests/deep/b.rs"]),
        (&[".git/**"], &[".git/config"]),
        (&["missing", "missing/**", ".polpo/**"], &[]),
    ] {
        assert_eq!(named(folder.path(), patterns), expected, "{patterns:?}");
    }
    let all = named(folder.path(), &["**"]);
    assert!(all.contains(&"notes.md".to_owned()) && !all.iter().any(|path| path.starts_with('.')));
}

#[test]
fn every_kind_of_change_is_named() {
    let folder = workspace();
    let root = fs::canonicalize(folder.path()).unwrap();
    let before = look_at(&root, &["tests/**"]).unwrap();
    assert_eq!(changes(&before, &before, &root), Vec::<String>::new());
    fs::write(root.join("tests/a.rs"), "A").unwrap();
    fs::remove_file(root.join("tests/deep/b.rs")).unwrap();
    fs::write(root.join("tests/new.rs"), "").unwrap();
    fs::remove_file(root.join("tests/.hidden")).unwrap();
    symlink("a.rs", root.join("tests/.hidden")).unwrap();
    let after = look_at(&root, &["tests/**"]).unwrap();
    assert_eq!(
        changes(&before, &after, &root),
        [
            "tests/.hidden was replaced by a link",
            "tests/a.rs was changed",
            "tests/deep/b.rs is gone",
            "tests/new.rs appeared"
        ]
    );
    assert_eq!(difference(&before, &after), FileDifference { changed: 4, written: 4 });
}

#[test]
fn a_file_that_is_written_with_what_it_held_is_written_and_not_changed() {
    let folder = workspace();
    let before = look_at(folder.path(), &["notes.md"]).unwrap();
    assert_eq!(difference(&before, &before), FileDifference::default());
    fs::remove_file(folder.path().join("notes.md")).unwrap();
    // Another file holds the old inode meanwhile.
    fs::write(folder.path().join("other"), "").unwrap();
    fs::write(folder.path().join("notes.md"), "n").unwrap();
    let after = look_at(folder.path(), &["notes.md"]).unwrap();
    assert_eq!(difference(&before, &after), FileDifference { changed: 0, written: 1 });
    assert!(changes(&before, &after, folder.path()).is_empty());
}

#[test]
fn a_file_that_was_not_read_goes_by_its_stamp() {
    let folder = workspace();
    let unread = |mark: &PathState| match mark {
        PathState::File { size, stamp, .. } => {
            PathState::File { size: *size, digest: None, stamp: *stamp, executable: None }
        }
        other => other.clone(),
    };
    let marks = look_at(folder.path(), &["notes.md", "src/c.rs"]).unwrap();
    let mut all = marks.values();
    let (one, other) = (all.next().unwrap(), all.next().unwrap());
    assert!(same(&unread(one), one) && same(one, &unread(one)));
    assert!(!same(&unread(one), &unread(other)));
}

#[test]
fn what_cannot_be_told_is_said() {
    let folder = workspace();
    let root = folder.path();
    symlink("src", root.join("linked")).unwrap();
    let said = look_at(root, &["linked/**"]).unwrap_err();
    assert!(said[0].contains("linked is a link"), "{said:?}");
    // A link below is itself what is protected.
    assert_eq!(named(root, &["link*"]), ["linked"]);
    fs::set_permissions(root.join("tests/a.rs"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read anything.
    give_away(root);
    let said = without_rights_on_files(|| look_at(root, &["tests/**"])).unwrap_err();
    assert!(said[0].contains("a.rs") && said[0].contains("denied"), "{said:?}");
}
