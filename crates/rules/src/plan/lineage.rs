//! The digest of a task's text and of what it comes from (semantics, section 17): whoever was given a task can show which text
//! that was, and from whose.
//!
//! Work that was handed down is in the journal by value and is done again, if at all, when the text of whoever handed it down
//! changes; so the digest of a task never changes while its work stands.

use super::delegation::SubTask;
use super::model::Plan;
use super::provenance::Origin;
use crate::{
    domain::{Digest, Hasher, TaskId},
    mission::model::AgentMiddleware,
};

impl Plan {
    /// The digest of a task's title, description and criteria, and of the chain of tasks that it was delegated by.
    pub fn chain_hash(&self, id: TaskId) -> Digest {
        let task = self.task(id);
        let from = task.provenance.as_deref();
        let source = from.filter(|from| from.origin == Origin::Delegated).and_then(|from| from.source);
        hash(
            source.map(|source| self.chain_hash(source)),
            &task.title,
            task.description.as_deref().unwrap_or_default(),
            task.acceptance.iter().map(AsRef::as_ref),
        )
    }

    /// The digest of the chain of a sub-task that is about to be made, delegated by a task.
    pub fn chain_hash_of(&self, by: TaskId, sub_task: &SubTask) -> Digest {
        hash(
            Some(self.chain_hash(by)),
            &sub_task.title,
            sub_task.description.as_deref().unwrap_or_default(),
            sub_task.acceptance.iter().map(String::as_str),
        )
    }

    /// Whether the digest of a task's text is on record: `delegation_chain_hash` is in its chain.
    pub fn records_digest(&self, id: TaskId) -> bool {
        self.middleware(id).has(AgentMiddleware::DelegationChainHash)
    }

    /// The digest that the record has of delegated work and the one made anew, where they differ (semantics, section 17): what is about
    /// to be done is not what was delegated.
    pub fn drifted(&self, id: TaskId) -> Option<(Digest, Digest)> {
        let from = self.task(id).provenance.as_deref()?;
        let is_held = from.origin == Origin::Delegated && self.records_digest(id);
        let stored = from.chain.filter(|_| is_held)?;
        let now = self.chain_hash(id);
        (stored != now).then_some((stored, now))
    }
}

/// Hashes every part with its length before it, so that no two lists of parts read alike.
fn hash<'t>(
    source: Option<Digest>,
    title: &str,
    description: &str,
    criteria: impl Iterator<Item = &'t str>,
) -> Digest {
    let mut hasher = Hasher::default();
    let source = source.map(|digest| digest.to_string()).unwrap_or_default();
    let mut take = |text: &str| {
        hasher.update(&(text.len() as u64).to_be_bytes());
        hasher.update(text.as_bytes());
    };
    [source.as_str(), title, description].into_iter().for_each(&mut take);
    criteria.for_each(take);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn no_two_texts_read_alike() {
        let of = |title: &str, description: &str, texts: &[&str]| {
            hash(None, title, description, texts.iter().copied())
        };
        let base = of("t", "d", &["c1", "c2"]);
        assert_eq!(base.to_string(), "9f433df6e756fc29841bc0d777463cad1cdcdb02346573291334682ecfbf371c");
        assert_eq!(base, of("t", "d", &["c1", "c2"]));
        for other in [
            of("t", "d", &["c1|c2"]),
            of("t", "d", &["c1c2"]),
            of("td", "", &["c1", "c2"]),
            of("t", "d", &["c2", "c1"]),
            of("t", "d\nc1", &["c2"]),
            hash(Some(base), "t", "d", ["c1", "c2"].into_iter()),
        ] {
            assert_ne!(base, other);
        }
    }
}
