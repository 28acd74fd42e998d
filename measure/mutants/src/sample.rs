//! A sample of the mutants, the same for the same seed on every machine.

use std::collections::{BTreeMap, BTreeSet};

use crate::play::lasting_name;
use crate::render::Mutant;

/// How many mutants to draw, and by which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub size: usize,
    pub seed: u64,
}

impl Sample {
    /// Draws from the mutants; what is drawn keeps its order. All of them if there are no more than the sample's size.
    pub fn draw<'a>(&self, mutants: &[&'a Mutant]) -> Vec<&'a Mutant> {
        let names: Vec<String> = mutants.iter().map(|mutant| lasting_name(&mutant.name)).collect();
        let drawn = self.places(&names);
        drawn.into_iter().map(|place| mutants[place]).collect()
    }

    /// The places of the names that are drawn.
    ///
    /// Each name has a rank that hangs on the seed and the name alone, and the lowest ranks are drawn. So a change of the
    /// sources replaces only those of the sample that it touches, and lines that move replace none.
    fn places(&self, names: &[String]) -> BTreeSet<usize> {
        let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
        let mut ranked: Vec<(u64, usize)> = Vec::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            // A function may have several mutants of one lasting name; they are told apart by their order.
            let nth = seen.entry(name).or_default();
            ranked.push((rank(self.seed, name, *nth), place));
            *nth += 1;
        }
        ranked.sort_unstable();
        ranked
            .into_iter()
            .take(self.size)
            .map(|(_, place)| place)
            .collect()
    }
}

/// FNV-1a over the seed, the name and its number, stirred by the last steps of SplitMix64. The standard library's hashes
/// may change with its version.
fn rank(seed: u64, name: &str, nth: u64) -> u64 {
    let bytes = seed.to_le_bytes().into_iter();
    let bytes = bytes.chain(name.bytes()).chain(nth.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: impl Iterator<Item = u32>) -> Vec<String> {
        of.map(|number| format!("src/a.rs: mutant {number}")).collect()
    }

    #[test]
    fn a_seed_draws_the_same_on_every_machine() {
        let drawn = Sample { size: 5, seed: 1 }.places(&names(0..100));
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [25, 50, 54, 61, 64]);
        let other = Sample { size: 5, seed: 2 }.places(&names(0..100));
        assert_ne!(other, Sample { size: 5, seed: 1 }.places(&names(0..100)));
    }

    #[test]
    fn what_is_added_or_taken_away_replaces_only_itself() {
        let sample = Sample { size: 20, seed: 7 };
        let names_of = |names: &[String]| -> BTreeSet<String> {
            let places = sample.places(names);
            places.into_iter().map(|place| names[place].clone()).collect()
        };
        let before = names_of(&names(0..100));
        let after = names_of(&names((10..100).rev()));
        let gone = names(0..10).into_iter().filter(|name| before.contains(name));
        assert_eq!(before.difference(&after).count(), gone.count());
    }

    #[test]
    fn mutants_of_one_name_are_drawn_apart() {
        let same = vec!["src/a.rs: 0 becomes (0 + 1) in f".to_owned(); 50];
        assert_eq!(Sample { size: 10, seed: 3 }.places(&same).len(), 10);
        assert_eq!(Sample { size: 60, seed: 3 }.places(&same).len(), 50);
    }
}
