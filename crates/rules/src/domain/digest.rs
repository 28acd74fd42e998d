//! Content digests: what ties a record in the journal to a file beside it.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.finish()
    }

    /// The first eight hexadecimal digits: enough for people.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

/// Computes a [`Digest`] over bytes that come in pieces.
#[derive(Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds bytes to the digest.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all that was added.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, thiserror::Error)]
#[error("not a SHA-256 digest")]
pub struct InvalidDigest;

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = text.as_bytes();
        if bytes.len() != 64 {
            return Err(InvalidDigest);
        }
        let mut out = [0u8; 32];
        for (slot, pair) in out.iter_mut().zip(bytes.chunks_exact(2)) {
            let digit = |b: u8| char::from(b).to_digit(16).ok_or(InvalidDigest);
            // Two digits below 16 always fit one byte.
            *slot = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).map_err(|_| InvalidDigest)?;
        }
        Ok(Self(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let digest = Digest::of(b"quorum");
        assert_eq!(Digest::try_from(digest.to_string()).unwrap(), digest);
        assert!(Digest::try_from("xyz".to_owned()).is_err());
    }
}
