//! Which files settings are read from: the nearest `quorum.yaml` at or above the current folder, and the user's.
//!
//! Where none is there yet matters as much: what appears in such a place rules the next run (semantics, section 22).

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rules::mission::ConfigLayer;
use supervisor::files::no_links::real_path;
use supervisor::files::open_regular;

/// The name of a file of settings.
pub const NAME: &str = "quorum.yaml";
/// The longest that is read, in bytes: as long as a mission may be.
const LONGEST: u64 = 64 * 1024 * 1024;

/// A place from which settings are read if a file is there.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsFile {
    /// The owner of the settings.
    pub layer: ConfigLayer,
    /// The absolute path of the place.
    pub path: PathBuf,
    /// Whether something is there, whatever it is.
    pub exists: bool,
}

/// Why a file of settings cannot be used. Nothing may be started then: nobody can say what would hold.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the settings in {path}: {source}")]
pub struct SettingsError {
    /// The path of the file.
    pub path: PathBuf,
    pub source: io::Error,
}

/// All places that a command reads which is started in `here`: the project's from there upwards, the nearest first and
/// none above a file that is there, then the user's.
pub fn settings_files(here: &Path) -> Vec<SettingsFile> {
    let mut places = Vec::new();
    for folder in here.ancestors() {
        let place = SettingsFile::at(ConfigLayer::Project, folder.join(NAME));
        let nearest = place.exists;
        places.push(place);
        if nearest {
            break;
        }
    }
    places.extend(user_settings().map(|path| SettingsFile::at(ConfigLayer::User, path)));
    places
}

/// The variable that names another file for the user's settings.
pub const CONFIG: &str = "QUORUM_CONFIG";

/// Where the user's settings are or would be.
pub fn user_settings() -> Option<PathBuf> {
    if let Some(named) = env::var_os(CONFIG).filter(|named| !named.is_empty()) {
        return std::path::absolute(named).ok();
    }
    let base = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let base = base.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")));
    let base = base.filter(|base| base.is_absolute())?;
    Some(base.join("quorum").join(NAME))
}

impl SettingsFile {
    fn at(layer: ConfigLayer, path: PathBuf) -> Self {
        Self { layer, exists: fs::symlink_metadata(&path).is_ok(), path }
    }

    /// Checks that the file can be read, as far as its kind says. Reads nothing.
    ///
    /// # Errors
    ///
    /// [`SettingsError`]
    pub fn check(&self) -> Result<(), SettingsError> {
        self.open().map(drop).map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> SettingsError {
        SettingsError { path: self.path.clone(), source }
    }

    fn open(&self) -> io::Result<File> {
        // Where a person keeps settings is theirs to say, with links or without.
        open_regular(&real_path(&self.path)?)
    }

    /// The text; `None` if nothing is there.
    ///
    /// # Errors
    /// [`SettingsError`]: what is there is no regular file of a sensible length, or cannot be read.
    pub fn read(&self) -> Result<Option<String>, SettingsError> {
        if !self.exists {
            return Ok(None);
        }
        let failed = |source| self.error(source);
        let mut text = String::new();
        let file = self.open().map_err(failed)?;
        file.take(LONGEST + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > LONGEST {
            return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 64 MiB")));
        }
        Ok(Some(text))
    }
}
