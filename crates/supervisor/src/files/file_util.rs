//! The one way to read, replace and remove files of the state, and to make a new folder survive a power loss, in folders
//! in which agents may have put anything: no FIFO may hold us up, no link lead us elsewhere, no length use up the memory.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, SeekFrom, fcntl_setfl, seek};

use super::no_links::{self, OpenFolder};
use super::syncs::sync_file;

/// A file may lack this much of what its length says: what a power loss took from its end.
const MOST_HOLES: u64 = 1 << 20;
/// Any other file of the state is shorter, in bytes.
pub const LONGEST_FILE: u64 = 1 << 30;

fn unfit(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.into())
}

/// Whether an error says that a link, a FIFO, a device, a folder or a file full of holes is in the place of a file.
pub fn is_unfit(error: &io::Error) -> bool {
    // The system's own "invalid argument" has nothing inside.
    error.kind() == io::ErrorKind::InvalidInput && error.get_ref().is_some()
}

/// Turns the error that nothing has that name into `None`.
///
/// # Errors
///
/// Every other one.
pub fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Opens a file for reading, if it is a regular one and no link leads to it. Never waits for the other end of a FIFO.
///
/// # Errors
/// `InvalidInput` for what is no regular file, or lies behind a link, and whatever the file system says.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDONLY)
}

/// Opens a regular file for a caller that bounds what is read of it: a file that was made long without being
/// filled is one more of its kind.
///
/// # Errors
///
/// As [`open_regular`].
pub fn open_of_any_length(path: &Path) -> io::Result<File> {
    opened(path, OFlags::RDONLY)
}

/// Opens a regular file with `flags`; a new file is made with the rights that any new file has.
///
/// # Errors
///
/// As [`open_regular`].
pub fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    not_sparse(opened(path, flags)?)
}

/// Opens a regular file as [`open_with`] does, for a process that is to wait for what it reads and writes there.
///
/// # Errors
///
/// As [`open_regular`].
pub fn open_blocking(path: &Path, flags: OFlags) -> io::Result<File> {
    let file = open_with(path, flags | OFlags::NOCTTY)?;
    // Not blocking was for the opening only.
    fcntl_setfl(&file, flags & OFlags::APPEND)?;
    Ok(file)
}

fn opened(path: &Path, flags: OFlags) -> io::Result<File> {
    let opened = no_links::open(path, flags | OFlags::NONBLOCK, Mode::from_raw_mode(0o666));
    let file = File::from(opened.map_err(|error| {
        match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
            // A socket, a FIFO without a reader, a folder.
            Some(rustix::io::Errno::NXIO | rustix::io::Errno::ISDIR) => unfit("it is not a regular file"),
            _ => error,
        }
    })?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(unfit("it is not a regular file")) }
}

/// Refuses a file that has less on the disk than its length says.
fn not_sparse(file: File) -> io::Result<File> {
    let found = file.metadata()?;
    let missing = found.len().saturating_sub(found.blocks().saturating_mul(512));
    // Fewer blocks alone say little: some file systems compress.
    if missing > MOST_HOLES && has_hole(&file, found.len()) {
        return Err(unfit(format!(
            "it is a sparse file: {} bytes long, and {missing} of them are not there",
            found.len()
        )));
    }
    Ok(file)
}

fn has_hole(file: &File, len: u64) -> bool {
    #[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
    let hole = seek(file, SeekFrom::Hole(0)).ok();
    #[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
    let hole = Some(0);
    // Whoever opened it begins at its beginning.
    let back = seek(file, SeekFrom::Start(0));
    hole.is_some_and(|hole| hole < len) || back.is_err()
}

/// Where a file has data next, at or behind `from`.
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
fn next_data(file: &File, from: u64) -> io::Result<Option<Range<u64>>> {
    match seek(file, SeekFrom::Data(from)) {
        Ok(start) => Ok(Some(start..seek(file, SeekFrom::Hole(start))?)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The rest of the file, where the system does not tell where its data lies.
#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
fn next_data(file: &File, from: u64) -> io::Result<Option<Range<u64>>> {
    let length = file.metadata()?.len();
    Ok((from < length).then_some(from..length))
}

/// Reads all of a regular file.
///
/// # Errors
///
/// As [`open_regular`]; `InvalidInput` also for one of more than `most` bytes.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(unfit(format!("it is longer than {most} bytes")));
    }
    Ok(bytes)
}

/// Writes a file that nobody else has a hand on: whatever stood under its name before is taken away, not written to. So
/// neither a link nor a FIFO that an agent left there matters. Not synced.
///
/// # Errors
/// Whatever the file system says; a folder under the name stays.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_new(path)?.write_all(bytes)
}

/// Makes a new file to be written to.
///
/// # Errors
///
/// As [`write_new`].
pub fn create_new(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
    let create = || no_links::open(path, flags, Mode::from_raw_mode(0o666)).map(File::from);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove_file(path)?;
            create()
        }
        created => created,
    }
}

/// Removes a file, link, FIFO or the like, never a folder.
///
/// # Errors
/// Whatever the file system says.
pub fn remove_file(path: &Path) -> io::Result<()> {
    let (folder, name) = OpenFolder::of(path)?;
    folder.remove(name)
}

/// Removes whatever is there, a folder with all that is in it. Nothing there is fine.
///
/// # Errors
/// Whatever the file system says.
pub fn remove_all(path: &Path) -> io::Result<()> {
    let Some((folder, name)) = if_there(OpenFolder::of(path))? else {
        return Ok(());
    };
    folder.clear(name)
}

/// Replaces `path` by `bytes` in one step: temporary file beside it, fsync, rename, fsync of the folder. Readers see
/// the old content or the new one, never a part.
///
/// # Errors
/// Whatever the file system says; the old content is then still there.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = OpenFolder::of(path)?;
    no_links::replace(&folder, name, bytes, sync_file)?;
    folder.sync()
}

/// Makes the entry of `path` in its folder durable.
///
/// # Errors
/// Whatever the file system says.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    OpenFolder::of(path)?.0.sync()
}

/// Copies a file with its access, and shares what it holds where the file system can. What it has no blocks for stays so.
///
/// # Errors
/// Whatever the file system says.
pub fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let found = source.metadata()?;
    if !has_hole(&source, found.len()) {
        return std::fs::copy(from, to).map(drop);
    }
    let mut copy = File::create(to)?;
    copy.set_permissions(found.permissions())?;
    copy.set_len(found.len())?;
    let mut at = 0;
    while let Some(data) = next_data(&source, at)? {
        source.seek(io::SeekFrom::Start(data.start))?;
        copy.seek(io::SeekFrom::Start(data.start))?;
        at = data.end;
        io::copy(&mut (&source).take(data.end - data.start), &mut copy)?;
    }
    Ok(())
}

/// Makes a folder and its missing parents, each durable in its parent.
///
/// # Errors
/// Whatever the file system says, also where a link leads there.
pub fn create_dir_durable(path: &Path) -> io::Result<()> {
    if if_there(OpenFolder::open(path))?.is_some() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_dir_durable(parent)?;
    }
    let (folder, name) = OpenFolder::of(path)?;
    folder.make(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;
    use crate::files::syncs_double::{Synced, on_a_disk};

    #[test]
    fn replacing_leaves_no_temporary_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/state.json");
        create_dir_durable(path.parent().unwrap()).unwrap();
        replace_file(&path, b"one").unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }

    #[test]
    fn what_is_replaced_is_on_the_disk_before_it_has_its_name_and_its_name_before_anybody_hears() {
        let place = no_links::scratch_folder().unwrap();
        let path = place.path().join("folder/file");
        create_dir_durable(path.parent().unwrap()).unwrap();
        let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
        let folder = path.parent().unwrap();
        replace_file(&path, b"old").unwrap();
        let (replaced, synced) = on_a_disk(None, || replace_file(&path, b"newer"));
        replaced.unwrap();
        // The file under the name that nobody looks for, whole; then the folder, in which it has its own.
        let [(first, bytes), (second, _)] = &synced[..] else { panic!("{synced:?}") };
        let is_temporary =
            |path: &Path| path.file_name().unwrap().to_string_lossy().starts_with(no_links::UNFINISHED);
        assert!(is_temporary(first) && first.parent() == Some(folder) && *bytes == 5, "{synced:?}");
        assert_eq!(second, folder);
        // What is not on the disk takes no place, and leaves nothing.
        let (replaced, synced) = on_a_disk(Some(0), || replace_file(&path, b"never"));
        replaced.unwrap_err();
        assert_eq!((synced.len(), fs::read(&path).unwrap(), names(folder)), (1, b"newer".to_vec(), 1));
        // Nor is it told as done where only its name may be lost.
        let (replaced, synced) = on_a_disk(Some(1), || replace_file(&path, b"newest"));
        replaced.unwrap_err();
        assert_eq!(synced.len(), 2);
    }

    #[test]
    fn every_folder_that_is_made_is_made_durable_in_its_parent() {
        let place = no_links::scratch_folder().unwrap();
        let root = place.path().to_owned();
        let deep = root.join("a/b/c");
        let folders = |synced: Vec<Synced>| synced.into_iter().map(|(path, _)| path).collect::<Vec<_>>();
        let (made, synced) = on_a_disk(None, || create_dir_durable(&deep));
        made.unwrap();
        assert_eq!(folders(synced), [root.clone(), root.join("a"), root.join("a/b")]);
        // What is there costs nothing.
        let (made, synced) = on_a_disk(None, || create_dir_durable(&deep));
        made.unwrap();
        assert_eq!(folders(synced), [""; 0].map(PathBuf::from));
        for fails_at in 0..3 {
            let other = root.join(format!("{fails_at}/b/c"));
            let (made, synced) = on_a_disk(Some(fails_at), || create_dir_durable(&other));
            made.unwrap_err();
            assert_eq!(synced.len(), fails_at + 1, "nothing is made below what may be lost");
            // What may be lost is not taken for made the next time.
            let (made, synced) = on_a_disk(None, || create_dir_durable(&other));
            made.unwrap();
            assert_eq!(synced.len(), 3 - fails_at);
        }
        let (synced_parent, synced) = on_a_disk(None, || sync_parent(&deep));
        synced_parent.unwrap();
        assert_eq!(folders(synced), [root.join("a/b")]);
        on_a_disk(Some(0), || sync_parent(&deep)).0.unwrap_err();
    }

    #[test]
    fn what_is_no_plain_file_is_told_from_what_cannot_be_read() {
        let place = no_links::scratch_folder().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("plain"), "12345").unwrap();
        assert_eq!(read_regular(&at("plain"), 5).unwrap(), b"12345");
        assert!(is_unfit(&read_regular(&at("plain"), 4).unwrap_err()));
        std::os::unix::fs::symlink("plain", at("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        let _socket = crate::sockets::listen(&at("socket")).unwrap();
        File::create(at("sparse")).unwrap().set_len(1 << 40).unwrap();
        for name in ["link", "fifo", "socket", "sparse", "."] {
            let error = open_regular(&at(name)).unwrap_err();
            assert!(is_unfit(&error), "{name}: {error}");
        }
        let missing = open_regular(&at("missing")).unwrap_err();
        assert!(!is_unfit(&missing) && missing.kind() == io::ErrorKind::NotFound);
        // A power loss may leave a short hole at the end.
        File::create(at("short")).unwrap().set_len(1 << 18).unwrap();
        open_regular(&at("short")).unwrap();
    }
}
