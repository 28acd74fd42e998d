//! From places and their mutants to a source text in which each can be switched on.

use std::ops::Range;

/// One thing that could be wrong.
pub struct Mutant {
    /// Its number in the build; what the switch is set to.
    pub id: u32,
    /// `file:line:column: what is changed, in which function`.
    pub name: String,
    /// What stands there instead, as [`Shape`] has it.
    text: String,
    /// Whether the compiler took it.
    pub compiles: bool,
}

/// How mutants are put into a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// An expression is replaced by other ones.
    Instead,
    /// A guard of a match arm (the text after `if`) is replaced.
    Guard,
    /// A statement is left out.
    Without,
    /// Put before a place of no length: leave the function at once with a value.
    Return,
    /// Put after a pattern without a guard: the arm never matches.
    NeverMatch,
}

/// A place in the source and what could be wrong there.
struct Place {
    range: Range<usize>,
    shape: Shape,
    /// Indices into [`Source::mutants`].
    mutants: Vec<usize>,
}

/// One file with its places.
pub struct Source {
    /// Relative to the repository.
    pub path: String,
    text: String,
    /// In the order in which they were found: whoever contains another one comes first.
    places: Vec<Place>,
    pub mutants: Vec<Mutant>,
    /// After rendering: which bytes of the result stand for which mutants.
    marks: Vec<(Range<usize>, Vec<usize>)>,
}

impl Source {
    pub fn new(path: String, text: String) -> Self {
        Self {
            path,
            text,
            places: Vec::new(),
            mutants: Vec::new(),
            marks: Vec::new(),
        }
    }

    pub fn text(&self, range: Range<usize>) -> &str {
        &self.text[range]
    }

    /// Adds a place with its mutants, each given as (its text, what to call it).
    pub fn add(&mut self, range: Range<usize>, shape: Shape, mutants: Vec<(String, String)>) {
        if mutants.is_empty() {
            return;
        }
        let first = self.mutants.len();
        self.mutants
            .extend(mutants.into_iter().map(|(text, name)| Mutant {
                id: 0,
                name,
                text,
                compiles: true,
            }));
        self.places.push(Place {
            range,
            shape,
            mutants: (first..self.mutants.len()).collect(),
        });
    }

    /// The whole file with every mutant that still compiles.
    pub fn render(&mut self) -> String {
        let mut out = String::with_capacity(self.text.len() * 4);
        self.marks = Vec::new();
        let mut marks = Vec::new();
        self.inner(0..self.text.len(), 0, &mut out, &mut marks);
        self.marks = marks;
        out
    }

    /// Drops the mutants at a place of the rendered text that the compiler refused; false if there are none there.
    pub fn refuse(&mut self, at: &Range<usize>) -> bool {
        let mark = self
            .marks
            .iter()
            .filter(|(range, _)| range.start <= at.start && at.end <= range.end)
            .min_by_key(|(range, _)| range.len());
        let Some((_, mutants)) = mark else {
            return false;
        };
        for index in mutants {
            self.mutants[*index].compiles = false;
        }
        true
    }

    /// A stretch of the original with the places in it from number `from` on.
    fn inner(
        &self,
        range: Range<usize>,
        from: usize,
        out: &mut String,
        marks: &mut Vec<(Range<usize>, Vec<usize>)>,
    ) {
        let mut at = range.start;
        loop {
            let next = self
                .places
                .iter()
                .enumerate()
                .skip(from)
                .filter(|(_, place)| at <= place.range.start && place.range.end <= range.end);
            // Of places that begin together the one found first contains the others.
            let Some((index, place)) = next.min_by_key(|(index, place)| (place.range.start, *index)) else {
                break;
            };
            out.push_str(&self.text[at..place.range.start]);
            self.place(index, place, out, marks);
            at = place.range.end;
            if place.range.is_empty() {
                // Nothing else begins at a place of no length but what follows it.
                self.inner(at..range.end, index + 1, out, marks);
                return;
            }
        }
        out.push_str(&self.text[at..range.end]);
    }

    fn place(
        &self,
        index: usize,
        place: &Place,
        out: &mut String,
        marks: &mut Vec<(Range<usize>, Vec<usize>)>,
    ) {
        let mutants: Vec<usize> = place
            .mutants
            .iter()
            .copied()
            .filter(|index| self.mutants[*index].compiles)
            .collect();
        let start = out.len();
        let mut mark = |out: &mut String, index: usize, text: &str| {
            let start = out.len();
            out.push_str(text);
            marks.push((start..out.len(), vec![index]));
        };
        let on = |index: usize| format!("crate::mutant_switch::on({})", self.mutants[index].id);
        match place.shape {
            Shape::Return => {
                for index in mutants {
                    let text = format!(" if {} {{ return {}; }}", on(index), self.mutants[index].text);
                    mark(out, index, &text);
                }
                return;
            }
            Shape::NeverMatch => {
                for index in mutants {
                    mark(out, index, &format!(" if !{}", on(index)));
                }
                return;
            }
            Shape::Instead | Shape::Guard | Shape::Without => {}
        }
        if mutants.is_empty() {
            return self.inner(place.range.clone(), index + 1, out, marks);
        }
        if place.shape == Shape::Without {
            out.push_str(&format!("if !{} {{ ", on(mutants[0])));
        } else {
            out.push('(');
            for index in &mutants {
                out.push_str(&format!("if {} {{ ", on(*index)));
                mark(out, *index, &self.mutants[*index].text);
                out.push_str(" } else ");
            }
            out.push_str("{ ");
        }
        self.inner(place.range.clone(), index + 1, out, marks);
        out.push_str(if place.shape == Shape::Without {
            " }"
        } else {
            " })"
        });
        marks.push((start..out.len(), mutants));
    }
}
