//! What the work itself says where a verdict would stand: a reply that repeats it has given no verdict.

use std::collections::BTreeSet;

use super::Scale;
use super::json::{self, Json};
use super::marker::line_markers;

/// Verdicts of one work that are remembered; more is no work but an attempt to be a nuisance.
const MOST: usize = 1_000;

/// The score lines and JSON objects of the work under review.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quoted {
    lines: BTreeSet<String>,
    objects: Vec<Json>,
}

impl Quoted {
    /// Takes in a piece of the work: its output, a file, what a check printed.
    pub fn add(&mut self, text: &str) {
        let lines: Vec<&str> = text.split(['\n', '\r']).collect();
        let markers = line_markers(&lines, &Scale::POINTS);
        let room = MOST.saturating_sub(self.lines.len());
        self.lines
            .extend(markers.into_iter().take(room).map(|found| found.words));
        let objects = json::all_in(text);
        let room = MOST.saturating_sub(self.objects.len());
        self.objects.extend(objects.into_iter().take(room));
    }

    pub(super) fn has_line(&self, words: &str) -> bool {
        self.lines.contains(words)
    }

    pub(super) fn has_object(&self, object: &Json) -> bool {
        self.objects.contains(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_verdicts_of_a_work_are_remembered_and_no_more() {
        let lines =
            |from: usize, to: usize| -> String { (from..to).map(|n| format!("SCORE: 1.{n:04}\n")).collect() };
        let objects = |from: usize, to: usize| -> String {
            (from..to).map(|n| format!("{{\"score\": {n}}}\n")).collect()
        };
        for make in [&lines as &dyn Fn(usize, usize) -> String, &objects] {
            let mut all = Quoted::default();
            all.add(&make(0, MOST + 1));
            let mut parts = Quoted::default();
            parts.add(&make(0, MOST / 2));
            parts.add(&make(MOST / 2, MOST + 1));
            for quoted in [all, parts] {
                assert_eq!(quoted.lines.len() + quoted.objects.len(), MOST);
            }
        }
    }
}
