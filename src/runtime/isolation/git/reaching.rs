//! Calls of git that reach other repositories, of this machine or of others, and that read what comes from there.

use std::path::Path;

use crate::executor::error::WorkError;

use super::{Configuration, Git};

/// The keys of the user that are wanted to reach other machines.
const WANTED_TO_REACH: &str = r"^(credential|http)\..*$";
/// Variables of the user by which other machines are reached.
const REACHING: [&str; 10] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "SSH_AUTH_SOCK",
    "GIT_SSL_CAINFO",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
];

impl Git {
    /// With a repository of this machine to push to.
    pub fn pushing_to(mut self, repository: &Path) -> Self {
        self.writes.push(repository.to_owned());
        self.fetching()
    }

    /// With other machines to fetch from and to push to, as the configuration of the user and of this repository of ours reaches
    /// them. Nobody is asked for a password.
    ///
    /// # Errors
    ///
    /// In the words of git.
    pub fn reaching(self, repository: &Path) -> Result<Self, WorkError> {
        let wanted = Configuration::of_keys(repository, WANTED_TO_REACH)?;
        let mut git = REACHING.iter().fold(self, |git, name| git.kept(name));
        git.network = true;
        git.settings.extend(wanted.0);
        Ok(git
            .env("GIT_ALLOW_PROTOCOL", "https:ssh")
            .env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
            .reads("/"))
    }

    /// Ends the call, which fails, once it has printed so many bytes.
    pub fn printing_at_most(mut self, bytes: usize) -> Self {
        self.printed = bytes;
        self
    }

    /// Ends the call, which fails, once the objects of its repository have grown by so many bytes.
    pub fn growing_at_most(mut self, bytes: u64) -> Self {
        self.grows = Some(bytes);
        self
    }
}
