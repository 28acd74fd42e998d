//! Random files, and random changes of them: the same for the same seed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rules::engine::simulation::random::Random;

/// What lies at a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Thing {
    File { bytes: Vec<u8>, is_program: bool },
    Link(&'static str),
}

/// All that lies in a folder, but for empty folders.
pub type Files = BTreeMap<PathBuf, Thing>;

const NAMES: [&[u8]; 12] = [
    b"a",
    b"b c",
    b" d ",
    b"e\nf",
    b"g\"h'",
    b"i\\j",
    b"\t",
    b"-k",
    b"l~m",
    b":(top)*",
    "\u{e9}\u{65e5}".as_bytes(),
    b"n\xff",
];
const FOLDERS: [&[u8]; 8] = [b"", b"", b"sub", b"s p/in", b"o\"\n", "\u{fc}".as_bytes(), b"index", b"p\xfe"];
/// What the attributes go by.
const ENDS: [&str; 9] = ["", "", "", ".u", ".m", ".b", ".t", ".i", ".w"];
const ATTRIBUTES: [&str; 14] = [
    "*.u merge=union",
    "*.m -merge",
    "*.b binary",
    "*.t text eol=crlf",
    "*.t text eol=lf",
    "*.t -text",
    "*.i ident",
    "*.w conflict-marker-size=12",
    "* text=auto",
    "* merge=union",
    "* merge=text",
    "* -diff",
    "*.u !merge",
    "* whitespace=trailing-space",
];
const LINES: [&str; 9] = ["one", "two", "three", "", "  in", "}", "$Id$", "line\r", "=======x"];
const TARGETS: [&str; 4] = ["a", "b c", "sub/a", "nowhere"];

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len())]
}

fn name(random: &mut Random) -> PathBuf {
    let name = [pick(random, &NAMES), pick(random, &ENDS).as_bytes()].concat();
    Path::new(OsStr::from_bytes(pick(random, &FOLDERS))).join(OsStr::from_bytes(&name))
}

fn text(random: &mut Random) -> Vec<u8> {
    let lines = (0..random.below(25)).map(|_| pick(random, &LINES));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if random.chance(80) {
        text.push('\n');
    }
    text.into_bytes()
}

fn thing(random: &mut Random) -> Thing {
    let bytes = match random.below(10) {
        0 => return Thing::Link(pick(random, &TARGETS)),
        1 => Vec::new(),
        2 | 3 => (0..random.below(300)).map(|_| random.below(256).try_into().unwrap()).collect(),
        _ => text(random),
    };
    let is_program = random.chance(20);
    Thing::File { bytes, is_program }
}

fn attributes(random: &mut Random) -> (PathBuf, Thing) {
    let folder = Path::new(OsStr::from_bytes(pick(random, &FOLDERS)));
    let lines = (0..=random.below(3)).map(|_| format!("{}\n", pick(random, &ATTRIBUTES)));
    let bytes = lines.collect::<String>().into_bytes();
    (folder.join(".gitattributes"), Thing::File { bytes, is_program: false })
}

/// Puts something at a path, in place of whatever kept it from lying there.
fn put(files: &mut Files, path: PathBuf, thing: Thing) {
    files.retain(|other, _| !other.starts_with(&path) && !path.starts_with(other));
    files.insert(path, thing);
}

pub fn random_files(random: &mut Random) -> Files {
    let mut files = Files::new();
    for _ in 0..2 + random.below(10) {
        let (path, thing) = (name(random), thing(random));
        put(&mut files, path, thing);
    }
    for _ in 0..random.below(3) {
        let (path, thing) = attributes(random);
        put(&mut files, path, thing);
    }
    files
}

/// Some changes of these files.
pub fn changed(random: &mut Random, before: &Files) -> Files {
    let mut files = before.clone();
    for _ in 0..1 + random.below(4) {
        change(random, &mut files);
    }
    files
}

fn change(random: &mut Random, files: &mut Files) {
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    if paths.is_empty() || random.chance(10) {
        let (path, thing) = (name(random), thing(random));
        return put(files, path, thing);
    }
    let path = paths[random.below(paths.len())].clone();
    match random.below(12) {
        0 => {
            let (path, thing) = attributes(random);
            put(files, path, thing);
        }
        1 => drop(files.remove(&path)),
        2 => {
            let other = thing(random);
            put(files, path, other);
        }
        3 | 4 => {
            let (to, moved) = (name(random), files.remove(&path).unwrap());
            put(files, to.clone(), moved);
            if random.chance(40) {
                edit(random, files, &to);
            }
        }
        5 => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            if let Some(above) = above {
                move_folder(random, files, above);
            }
        }
        6 => {
            let thing = thing(random);
            put(files, path.join("x"), thing);
        }
        7 => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            let (path, thing) = (above.unwrap_or(&path).to_owned(), thing(random));
            put(files, path, thing);
        }
        8 => {
            if let Some(Thing::File { is_program, .. }) = files.get_mut(&path) {
                *is_program = !*is_program;
            }
        }
        _ => edit(random, files, &path),
    }
}

fn move_folder(random: &mut Random, files: &mut Files, from: &Path) {
    let to = Path::new(OsStr::from_bytes(pick(random, &FOLDERS[2..7]))).join("moved");
    let all: Vec<PathBuf> = files.keys().filter(|path| path.starts_with(from)).cloned().collect();
    for path in all {
        let moved = files.remove(&path).unwrap();
        put(files, to.join(path.strip_prefix(from).unwrap()), moved);
    }
}

/// Another line, or another byte.
fn edit(random: &mut Random, files: &mut Files, path: &Path) {
    let Some(Thing::File { bytes, .. }) = files.get_mut(path) else {
        let other = Thing::Link(pick(random, &TARGETS));
        return put(files, path.to_owned(), other);
    };
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (at, new) = (random.below(lines.len()), pick(random, &LINES).as_bytes().to_vec());
    match random.below(3) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, new),
        _ => lines[at] = [&lines[at][..], &new].concat(),
    }
    *bytes = lines.join(&b'\n');
}

/// The same changes, but for those that name what is no text.
pub fn as_text(before: &Files, after: Files) -> Files {
    let is_kept = |path: &PathBuf, thing: &Thing| path.to_str().is_some() || before.get(path) == Some(thing);
    after.into_iter().filter(|(path, thing)| is_kept(path, thing)).collect()
}

/// Has a folder that has the files before have those behind.
pub fn write(folder: &Path, before: &Files, after: &Files) {
    for (path, _) in before.iter().filter(|(path, thing)| after.get(*path) != Some(thing)) {
        fs::remove_file(folder.join(path)).unwrap();
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            // Something may lie there still.
            let _ = fs::remove_dir(folder.join(above));
        }
    }
    for (path, thing) in after.iter().filter(|(path, thing)| before.get(*path) != Some(thing)) {
        let place = folder.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        match thing {
            Thing::Link(target) => symlink(target, &place).unwrap(),
            Thing::File { bytes, is_program } => {
                fs::write(&place, bytes).unwrap();
                let mode = if *is_program { 0o755 } else { 0o644 };
                fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
}

/// Gives each file the time of now.
pub fn touch(folder: &Path, files: &Files) {
    for (path, thing) in files {
        if let Thing::File { .. } = thing {
            let file = fs::File::options().append(true).open(folder.join(path)).unwrap();
            file.set_modified(std::time::SystemTime::now()).unwrap();
        }
    }
}

/// What lies in a folder, as it lies there, but for what is git's.
pub fn lying_in(folder: &Path) -> BTreeMap<PathBuf, (bool, Vec<u8>)> {
    let (mut all, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let inner = path.strip_prefix(folder).unwrap().to_owned();
            if found.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                all.insert(inner, (true, target.as_os_str().as_bytes().to_vec()));
            } else if found.is_file() && inner != Path::new(".git") {
                let is_program = found.permissions().mode() & 0o100 != 0;
                all.insert(inner, (is_program, fs::read(&path).unwrap()));
            } else if found.is_dir() && inner != Path::new(".git") {
                folders.push(path);
            }
        }
    }
    all
}
