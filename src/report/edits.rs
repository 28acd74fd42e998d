//! Which lines two texts have in common.
//!
//! The shortest edit is looked for as Myers described it ("An O(ND) Difference Algorithm and Its Variations", 1986): on
//! every diagonal of the two texts the farthest point that so many edits reach. The search is bounded by edits and by
//! compared lines, not by a clock, so that the same texts always give the same answer. Where it ends early, what it
//! found so far holds, and the rest counts as changed.

use std::collections::HashMap;

/// Edits that are looked for, beyond what anybody reads. The memory grows with their square.
const MOST_EDITS: usize = 1_000;
/// Lines that may be compared.
const MOST_STEPS: usize = 20_000_000;

/// Equal lines that follow each other in both texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Same {
    /// The first one in the old text.
    pub old: usize,
    /// The first one in the new text.
    pub new: usize,
    /// How many there are.
    pub len: usize,
}

/// The lines that both texts have, in their order.
pub(super) fn common(old: &[&str], new: &[&str]) -> Vec<Same> {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut number = |line| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(line).or_insert(next)
    };
    // Numbers are compared faster than lines.
    let old: Vec<u32> = old.iter().map(|line| number(line)).collect();
    let new: Vec<u32> = new.iter().map(|line| number(line)).collect();
    let head = equal(old.iter(), new.iter());
    let tail = equal(old[head..].iter().rev(), new[head..].iter().rev());
    let middle = shortest_edit(&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let middle = middle.into_iter().map(|same| Same {
        old: same.old + head,
        new: same.new + head,
        ..same
    });
    let first = Same {
        old: 0,
        new: 0,
        len: head,
    };
    let last = Same {
        old: old.len() - tail,
        new: new.len() - tail,
        len: tail,
    };
    let all = std::iter::once(first).chain(middle).chain([last]);
    all.filter(|same| same.len > 0).collect()
}

/// How many lines are equal from the beginning on.
fn equal<'a>(old: impl Iterator<Item = &'a u32>, new: impl Iterator<Item = &'a u32>) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

/// How far each diagonal was followed in the old text after so many edits. A diagonal holds the points with the same
/// distance between their two lines; entry `n` is the one that `n` removed lines and otherwise added ones lead to.
/// `None` lies outside the texts.
type Reached = Vec<Option<usize>>;

/// The common lines along the shortest edit, or along the edit that came farthest within the bounds.
fn shortest_edit(old: &[u32], new: &[u32]) -> Vec<Same> {
    let ends = (old.len(), new.len());
    let mut rounds: Vec<Reached> = Vec::new();
    let mut steps = 0;
    // How far the best edit came in both texts together, with how many edits, on which diagonal.
    let mut best = (0, 0, 0);
    for edits in 0..=MOST_EDITS {
        let mut reached = Reached::with_capacity(edits + 1);
        for removals in 0..=edits {
            let start = rounds
                .last()
                .map_or(Some(0), |before| start_of(before, removals, edits, ends));
            let end = start.map(|start| {
                let line = start + edits - 2 * removals;
                start + equal(old[start..].iter(), new[line..].iter())
            });
            reached.push(end);
            steps += 1 + end.unwrap_or(0) - start.unwrap_or(0);
            let sum = end.map(|end| 2 * end + edits - 2 * removals);
            best = best.max((sum.unwrap_or(0), edits, removals));
            if steps > MOST_STEPS {
                break;
            }
        }
        rounds.push(reached);
        if best.0 == ends.0 + ends.1 || steps > MOST_STEPS {
            break;
        }
    }
    followed_back(&rounds, (best.1, best.2), ends)
}

/// Where a diagonal is entered with the last of so many edits: behind a removed line or behind an added one, whichever
/// is farther.
fn start_of(before: &Reached, removals: usize, edits: usize, ends: (usize, usize)) -> Option<usize> {
    let at = |removals: Option<usize>| before.get(removals?).copied().flatten();
    let removed = at(removals.checked_sub(1)).map(|old| old + 1);
    let added = at(Some(removals));
    let fits = |old: &usize| {
        let new = (*old + edits).checked_sub(2 * removals);
        *old <= ends.0 && new.is_some_and(|new| new <= ends.1)
    };
    removed.filter(fits).max(added.filter(fits))
}

/// The equal lines on the way to a point, in order.
fn followed_back(rounds: &[Reached], end: (usize, usize), ends: (usize, usize)) -> Vec<Same> {
    let (mut edits, mut removals) = end;
    let mut found = Vec::new();
    while let Some(end) = rounds.get(edits).and_then(|reached| reached[removals]) {
        let before = edits.checked_sub(1).map(|edits| &rounds[edits]);
        let start = before.map_or(Some(0), |before| start_of(before, removals, edits, ends));
        let start = start.unwrap_or(end);
        found.push(Same {
            old: start,
            new: start + edits - 2 * removals,
            len: end - start,
        });
        let Some(before) = before else {
            break;
        };
        let last = removals.checked_sub(1).and_then(|removals| before[removals]);
        if last.is_some_and(|old| old + 1 == start) {
            removals -= 1;
        }
        edits -= 1;
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// How many lines are kept, after a look at whether they are equal and in order.
    fn kept(old: &[&str], new: &[&str]) -> usize {
        let mut at = (0, 0);
        let mut kept = 0;
        for same in common(old, new) {
            assert!(same.old >= at.0 && same.new >= at.1, "{same:?} after {at:?}");
            at = (same.old + same.len, same.new + same.len);
            assert_eq!(old[same.old..at.0], new[same.new..at.1]);
            kept += same.len;
        }
        kept
    }

    #[test]
    fn as_many_lines_as_possible_are_kept() {
        let letters = |text: &'static str| -> Vec<&str> {
            text.split("").filter(|letter| !letter.is_empty()).collect()
        };
        for (old, new, expected) in [
            ("", "", 0),
            ("", "abc", 0),
            ("abc", "", 0),
            ("abc", "abc", 3),
            ("abc", "xyz", 0),
            ("abcabba", "cbabac", 4),
            ("aaa", "a", 1),
            ("xaxbxcx", "abc", 3),
            ("abcdef", "defabc", 3),
        ] {
            assert_eq!(kept(&letters(old), &letters(new)), expected, "{old} and {new}");
        }
    }

    #[test]
    fn the_worst_texts_are_compared_soon_and_rightly() {
        let names: Vec<String> = (0..300_000_u64).map(|n| format!("{}", n % 7)).collect();
        let turned: Vec<String> = (0..300_000_u64).map(|n| format!("{}", n * n % 11)).collect();
        let others: Vec<String> = (0..300_000).map(|n| format!("other {n}")).collect();
        let [names, turned, others] =
            [&names, &turned, &others].map(|lines| lines.iter().map(String::as_str).collect::<Vec<_>>());
        let begin = Instant::now();
        kept(&names, &turned);
        assert_eq!(kept(&names, &others), 0);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    }
}
