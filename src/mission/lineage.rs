//! The digest of a task's text and of what it comes from (semantics, section 17): whoever was given a task can show which text
//! that was, and from whose.
//!
//! Work that was handed down is in the journal by value and is done again, if at all, when the text of whoever handed it down
//! changes; so the digest of a task never changes while its work stands.

use super::growth::Origin;
use super::plan::Plan;
use crate::domain::{Digest, Hasher, TaskId};

impl Plan {
    /// The digest of a task's title, description and criteria, and of the chain of those that it was handed down by.
    #[must_use]
    pub fn chain_hash(&self, id: TaskId) -> Digest {
        let task = self.task(id);
        let from = task.provenance.as_deref();
        let source = from
            .filter(|from| from.origin == Origin::Delegated)
            .and_then(|from| from.source);
        hash(
            source.map(|source| self.chain_hash(source)),
            &task.title,
            task.description.as_deref().unwrap_or_default(),
            &task.acceptance,
        )
    }
}

/// Every part with its length before it, so that no two lists of parts read alike.
fn hash(source: Option<Digest>, title: &str, description: &str, criteria: &[Box<str>]) -> Digest {
    let mut hasher = Hasher::default();
    let source = source.map(|digest| digest.to_string()).unwrap_or_default();
    let texts = [source.as_str(), title, description];
    for text in texts.into_iter().chain(criteria.iter().map(AsRef::as_ref)) {
        hasher.update(&(text.len() as u64).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn no_two_texts_read_alike() {
        let criteria = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| Box::from(*text))
                .collect::<Vec<Box<str>>>()
        };
        let of =
            |title: &str, description: &str, texts: &[&str]| hash(None, title, description, &criteria(texts));
        let base = of("t", "d", &["c1", "c2"]);
        assert_eq!(
            base.to_string(),
            "9f433df6e756fc29841bc0d777463cad1cdcdb02346573291334682ecfbf371c"
        );
        assert_eq!(base, of("t", "d", &["c1", "c2"]));
        for other in [
            of("t", "d", &["c1|c2"]),
            of("t", "d", &["c1c2"]),
            of("td", "", &["c1", "c2"]),
            of("t", "d", &["c2", "c1"]),
            of("t", "d\nc1", &["c2"]),
            hash(Some(base), "t", "d", &criteria(&["c1", "c2"])),
        ] {
            assert_ne!(base, other);
        }
    }
}
