//! Where else the files of a path are mounted: whoever may not write them by one name could by another.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A mount, as the system lists it.
#[derive(Debug, PartialEq)]
struct Mount {
    /// The device number of the mounted file system.
    device: String,
    /// The folder of the file system that is mounted.
    root: PathBuf,
    /// The path at which it is mounted.
    place: PathBuf,
}

/// The mounts of this process.
#[derive(Debug, Default)]
pub struct Mounts(Vec<Mount>);

impl Mounts {
    /// The mounts of this process, as the system lists them. Blocks.
    ///
    /// # Errors
    ///
    /// When it tells nothing of its mounts.
    pub fn of_this_process() -> io::Result<Self> {
        Ok(Self::read(&fs::read("/proc/self/mountinfo")?))
    }

    fn read(list: &[u8]) -> Self {
        let lines = list.split(|byte| *byte == b'\n');
        Self(lines.filter_map(Mount::read).collect())
    }

    /// The other paths at which a path without links is found, or a part of what lies below it. Blocks.
    pub fn other_paths(&self, path: &Path) -> Vec<PathBuf> {
        let mut others = self.candidates(path);
        // What is mounted above a place hides it.
        let is_shown = |other: &PathBuf| match (fs::metadata(path), fs::metadata(other)) {
            (Ok(path), Ok(other)) => path.dev() == other.dev(),
            _ => false,
        };
        others.retain(is_shown);
        others
    }

    fn candidates(&self, path: &Path) -> Vec<PathBuf> {
        // Of several at one place the last one is seen.
        let above = self.0.iter().filter(|mount| path.starts_with(&mount.place));
        let Some(own) = above.max_by_key(|mount| mount.place.components().count()) else {
            return Vec::new();
        };
        let Ok(below) = path.strip_prefix(&own.place) else {
            return Vec::new();
        };
        let inside = own.root.join(below);
        let same = self.0.iter().filter(|mount| mount.device == own.device);
        let others = same.filter_map(|mount| match inside.strip_prefix(&mount.root) {
            Ok(rest) => Some(mount.place.join(rest)),
            Err(_) => mount.root.starts_with(&inside).then(|| mount.place.clone()),
        });
        // `join` with nothing ends in a slash, which makes no other path.
        let others = others.map(|other| other.components().collect::<PathBuf>());
        others.filter(|other| !other.starts_with(path)).collect()
    }
}

impl Mount {
    /// Reads a line of `/proc/PID/mountinfo`.
    fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        Some(Self {
            device: String::from_utf8(fields.next()?.to_vec()).ok()?,
            root: plain(fields.next()?),
            place: plain(fields.next()?),
        })
    }
}

/// A path as it is, where the system writes some of its bytes as three octal digits.
fn plain(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, behind @ ..] = rest {
        let code = behind.first_chunk::<3>().filter(|_| *first == b'\\');
        let code = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[3..] } else { behind };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        23 22 8:1 /home/u/w /mnt/other\\040place rw shared:1 - ext4 /dev/sda1 rw\n\
        24 22 8:1 /home/u/w/tests/unit /mnt/unit rw - ext4 /dev/sda1 rw\n\
        25 22 8:2 /home/u/w /elsewhere rw - ext4 /dev/sdb1 rw\n\
        26 22 8:1 /var /var/again rw - ext4 /dev/sda1 rw\n\
        27 22 0:5 / /tmp rw - tmpfs none rw\n";

    fn others(path: &str) -> Vec<String> {
        let others = Mounts::read(LIST).candidates(Path::new(path));
        others.into_iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_path_is_found_where_its_file_system_is_mounted_again() {
        assert_eq!(others("/home/u/w/tests"), ["/mnt/other place/tests", "/mnt/unit"]);
        assert_eq!(others("/home/u/w/check.sh"), ["/mnt/other place/check.sh"]);
        assert_eq!(others("/mnt/other place/tests"), ["/home/u/w/tests", "/mnt/unit"]);
        assert_eq!(
            others("/mnt/unit/a.sh"),
            ["/home/u/w/tests/unit/a.sh", "/mnt/other place/tests/unit/a.sh"]
        );
    }

    #[test]
    fn what_is_mounted_once_is_found_nowhere_else() {
        assert_eq!(others("/home/u/other"), Vec::<String>::new());
        assert_eq!(others("/tmp/w/tests"), Vec::<String>::new());
        assert_eq!(others("/elsewhere/tests"), Vec::<String>::new());
    }

    #[test]
    fn lines_that_are_not_understood_are_none() {
        assert_eq!(Mounts::read(b"\n1 2\n\xff\xff").0, []);
        assert_eq!(plain(b"/a\\040b\\134c\\9"), Path::new("/a b\\c\\9"));
    }
}
