//! The key that proves that a queued command comes from the user and not from an agent's drop of a file.
//!
//! It lies outside of every workspace and is never given to agents. The same user without a sandbox is no security
//! boundary all the same: whoever can read the user's files can read this one.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use supervisor::files::no_links::real_path;
use supervisor::files::{if_there, read_regular, sync_file, sync_parent};

/// The text that the code of a command covers beside the command, so that it means nothing elsewhere.
const DOMAIN: &[u8] = b"quorum inbox v1\n";
const KEY_BYTES: usize = 32;
/// A key file is shorter, in bytes.
const LONGEST_KEY: u64 = 64 << 10;

/// The key of a user on this machine.
#[derive(Clone)]
pub struct OperatorKey(Vec<u8>);

impl OperatorKey {
    /// A key for tests.
    #[cfg(test)]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.to_owned())
    }

    /// The key of `QUORUM_OPERATOR_KEY`, else of `$XDG_STATE_HOME/quorum/key`, if there is one.
    ///
    /// # Errors
    /// When it cannot be read, or others can read it too.
    pub fn existing() -> io::Result<Option<Self>> {
        if let Some(key) = Self::of_environment() {
            return Ok(Some(key));
        }
        match path() {
            Some(path) => read(&path),
            None => Ok(None),
        }
    }

    /// The folder of the key's file, whether anything is there or not.
    pub fn folder() -> Option<PathBuf> {
        path()?.parent().map(Path::to_owned)
    }

    /// The key of `QUORUM_OPERATOR_KEY` alone, which agents are never given.
    pub fn of_environment() -> Option<Self> {
        let key = std::env::var_os("QUORUM_OPERATOR_KEY").filter(|key| !key.is_empty())?;
        Some(Self(key.into_encoded_bytes()))
    }

    /// The key of the team whose machines run commands for each other: of `QUORUM_WORKER_KEY`, else of
    /// `$XDG_CONFIG_HOME/quorum/worker-key`, if there is one. Nobody makes it but a person, who takes it to each machine.
    ///
    /// # Errors
    /// When it cannot be read, is too short, or others can read it too.
    #[cfg(feature = "temporal")]
    pub fn of_team() -> io::Result<Option<Self>> {
        Self::of_text_or_file(std::env::var_os("QUORUM_WORKER_KEY"), Self::team_file())
    }

    #[cfg(any(feature = "temporal", test))]
    fn of_text_or_file(text: Option<std::ffi::OsString>, file: Option<PathBuf>) -> io::Result<Option<Self>> {
        match (text.filter(|text| !text.is_empty()), file) {
            (Some(text), _) => Ok(Some(Self(text.into_encoded_bytes()))),
            (None, Some(file)) => read(&file),
            (None, None) => Ok(None),
        }
    }

    /// The path of the team's key, whether anything is there or not.
    pub fn team_file() -> Option<PathBuf> {
        folder_of_user("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("quorum/worker-key"))
    }

    /// The key of this machine; its file is made if it is not there.
    ///
    /// # Errors
    ///
    /// When there is no place for it, or it cannot be written.
    pub fn existing_or_new() -> io::Result<Self> {
        if let Some(key) = Self::existing()? {
            return Ok(key);
        }
        let path = path().ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotFound,
                "there is no home folder for the key; set QUORUM_OPERATOR_KEY",
            )
        })?;
        make(&path)?;
        read(&path)?
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the key was just made and is gone"))
    }

    /// A key that nobody else has, and that ends with this process.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn of_this_process() -> io::Result<Self> {
        Ok(Self(random()?.to_vec()))
    }

    /// The key in a file that only this user can read, if it is there.
    ///
    /// # Errors
    /// When it cannot be read, is too short, or others can read it too.
    pub fn in_file(path: &Path) -> io::Result<Option<Self>> {
        read(path)
    }

    /// The text of the key, without blanks around it; `None` where it is none.
    pub fn as_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok().map(str::trim)
    }

    /// A mark that tells this key from others, and tells nothing of it.
    pub fn fingerprint(&self) -> String {
        self.code("fingerprint")[..16].to_owned()
    }

    /// The code of a text.
    pub fn code(&self, text: &str) -> String {
        let bytes = self.mac(text).finalize().into_bytes();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether the code is this key's code of the text. Takes as long for a wrong one.
    pub fn verifies(&self, text: &str, code: &str) -> bool {
        let digits = code.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> =
            digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
        bytes.is_some_and(|bytes| self.mac(text).verify_slice(&bytes).is_ok())
    }

    fn mac(&self, text: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(DOMAIN);
        mac.update(text.as_bytes());
        mac
    }
}

fn path() -> Option<PathBuf> {
    folder_of_user("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("quorum/key"))
}

/// A folder of the user: where a variable says, else below the home.
pub fn folder_of_user(variable: &str, below_home: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    let folder = folder.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below_home)));
    folder.filter(|path| path.is_absolute())
}

fn read(path: &Path) -> io::Result<Option<OperatorKey>> {
    let Some(found) = if_there(fs::metadata(path))? else {
        return Ok(None);
    };
    if found.permissions().mode() & 0o077 != 0 {
        let message = format!("{} can be read by others; make it 0600", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let key = read_regular(&real_path(path)?, LONGEST_KEY)?;
    if key.len() < KEY_BYTES {
        let message = format!("{} is too short for a key", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(Some(OperatorKey(key)))
}

fn random() -> io::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
    Ok(key)
}

/// Two that make it at once end with the same key: it appears whole or not at all, and the first one stays.
fn make(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let key = random()?;
    let temporary = folder.join(format!(".key-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(&key)?;
    sync_file(&file)?;
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_parent(&real_path(path)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supervisor::files::syncs_double::on_a_disk;

    #[test]
    fn a_code_is_of_one_key_and_one_text() {
        let (one, other) = (OperatorKey(vec![1; 32]), OperatorKey(vec![2; 32]));
        let code = one.code("text");
        assert!(one.verifies("text", &code));
        assert!(!one.verifies("text.", &code) && !other.verifies("text", &code));
        for wrong in ["", "0", "zz", &code[2..], &format!("{code}00")] {
            assert!(!one.verifies("text", wrong), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_on_the_disk_before_anybody_goes_by_it() {
        let place = supervisor::files::no_links::scratch_folder().unwrap();
        let folder = place.path().join("quorum");
        let path = folder.join("key");
        let (made, synced) = on_a_disk(Some(0), || make(&path));
        made.unwrap_err();
        assert!(!path.exists() && synced.len() == 1, "{synced:?}");
        let (made, synced) = on_a_disk(None, || make(&path));
        made.unwrap();
        let synced: Vec<_> = synced.iter().map(|(path, bytes)| (path.parent(), *bytes)).collect();
        assert_eq!(synced, [(Some(&*folder), 32), (Some(place.path()), 0)]);
    }

    #[test]
    fn a_key_of_the_team_is_of_its_variable_or_of_a_file_that_nobody_else_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("worker-key");
        let found = |text: &str| OperatorKey::of_text_or_file(Some(text.into()), Some(path.clone()));
        assert!(found("").unwrap().is_none());
        fs::write(&path, [7; 40]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(found("").is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let code = |key: Option<OperatorKey>| key.unwrap().code("text");
        assert_eq!(code(found("").unwrap()), OperatorKey::of(&[7; 40]).code("text"));
        assert_eq!(code(found("a text").unwrap()), OperatorKey::of(b"a text").code("text"));
        fs::write(&path, "short").unwrap();
        assert!(found("").is_err());
    }

    #[test]
    fn a_key_is_made_once_and_only_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("quorum/key");
        assert!(read(&path).unwrap().is_none());
        make(&path).unwrap();
        let first = fs::read(&path).unwrap();
        make(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read(&path).is_err());
    }
}
