//! The good-bye of a supervisor: how it is known later that one ended in order, with nothing of its run left.
//!
//! A supervisor that was killed leaves processes that nobody holds any more. That one was not killed cannot be told by a line
//! in a file, which any process of the user can write. So the supervisor has a secret that only its memory holds; the run's
//! journal has its digest from the start, and the record of exits gets the secret itself with the supervisor's last words.

use std::fs::File;
use std::io::{self, Read};

use rules::domain::Digest;

const BYTES: usize = 32;

/// The secret of a supervisor, until its last message tells it.
pub struct SupervisorSecret(String);

impl SupervisorSecret {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new() -> io::Result<SupervisorSecret> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(SupervisorSecret(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The digest of the secret, which is on record before the secret is told.
    pub fn digest(&self) -> String {
        Digest::of(self.0.as_bytes()).to_string()
    }

    /// The secret itself, for the last message.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Whether a word is the one that was promised.
pub fn keeps(word: &str, promised: &str) -> bool {
    Digest::of(word.as_bytes()).to_string() == promised
}
