//! Which file imports which, and where that goes round or upwards.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{File, Sources, Token};

/// Files, as indices, with those that they import.
pub struct Imports {
    edges: Vec<BTreeSet<usize>>,
}

impl Imports {
    /// By `use`, and by paths that begin with `crate`, `super` or `self`, those that say how far something is visible
    /// included. A declaration (`mod x;`) is no import.
    pub fn of(files: &[File]) -> Self {
        let places: BTreeMap<Vec<&str>, usize> =
            files.iter().enumerate().map(|(index, file)| (file.module_path(), index)).collect();
        let edges = files.iter().enumerate().map(|(index, file)| {
            let own = file.module_path();
            let targets = paths(&file.tokens).into_iter().filter_map(|path| target(&places, &own, &path));
            targets.filter(|target| *target != index).collect()
        });
        Self { edges: edges.collect() }
    }

    /// Imports against the order of the modules, which is given from above to below; those of tests too.
    pub fn upward(&self, sources: &Sources, order: &[&str]) -> Vec<String> {
        let rank = |module: &str| order.iter().position(|name| *name == module);
        let is_upward =
            |from: &str, to: &str| matches!((rank(from), rank(to)), (Some(own), Some(other)) if own > other);
        let mut upward = Vec::new();
        for (from, targets) in sources.files.iter().zip(&self.edges) {
            let targets = targets.iter().map(|target| &sources.files[*target]);
            let wrong = targets.filter(|to| is_upward(from.module(), to.module()));
            upward.extend(wrong.map(|to| format!("{} imports {}", from.path, to.path)));
        }
        for from in &sources.tests {
            for path in paths(&from.tokens) {
                if path[0] == "crate" && path.get(1).is_some_and(|to| is_upward(from.module(), to)) {
                    upward.push(format!("a test of {} imports {}", from.path, path.join("::")));
                }
            }
        }
        upward
    }

    /// The largest circle of each module that has one: files that all reach each other.
    pub fn largest_circles<'a>(&self, files: &'a [File]) -> BTreeMap<&'a str, usize> {
        let mut largest = BTreeMap::new();
        let mut search = Search::new(&self.edges);
        for file in 0..files.len() {
            search.visit(file);
        }
        for circle in search.circles {
            for file in &circle {
                let size: &mut usize = largest.entry(files[*file].module()).or_default();
                *size = circle.len().max(*size);
            }
        }
        largest
    }
}

/// The paths that a file imports.
fn paths(tokens: &[Token]) -> Vec<Vec<&str>> {
    let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    let mut paths = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match words[at] {
            // `use<'a>` in a type is something else.
            "use" if words.get(at + 1) != Some(&"<") => {
                let length = words[at..].iter().position(|word| *word == ";");
                let end = length.map_or(words.len(), |length| at + length);
                expand(&words[at + 1..end], &mut Vec::new(), &mut paths);
                at = end;
            }
            "crate" | "super" | "self" => {
                let mut path = vec![words[at]];
                while words.get(at + 1) == Some(&"::") && words.get(at + 2).is_some_and(|word| is_name(word))
                {
                    path.push(words[at + 2]);
                    at += 2;
                }
                if path.len() > 1 {
                    paths.push(path);
                }
            }
            _ => {}
        }
        at += 1;
    }
    paths
}

pub fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// `a::{b, c::{d}}` is `a::b` and `a::c::d`.
fn expand<'a>(tree: &[&'a str], before: &mut Vec<&'a str>, paths: &mut Vec<Vec<&'a str>>) {
    let known = before.len();
    let mut rest = tree;
    while let [word, behind @ ..] = rest {
        match *word {
            "{" => {
                for part in parts(&behind[..behind.len() - 1]) {
                    expand(part, before, paths);
                }
                before.truncate(known);
                return;
            }
            "as" => break,
            "::" => {}
            word => before.push(word),
        }
        rest = behind;
    }
    if before.len() > known {
        paths.push(before.clone());
    }
    before.truncate(known);
}

/// What stands between the commas that lie in no brackets.
fn parts<'a, 'b>(list: &'b [&'a str]) -> impl Iterator<Item = &'b [&'a str]> {
    let mut depth = 0_usize;
    list.split(move |word| {
        match *word {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && *word == ","
    })
}

/// The file of the same package that a path leads to, seen from a module: that of the longest beginning which is a module.
fn target(places: &BTreeMap<Vec<&str>, usize>, own: &[&str], path: &[&str]) -> Option<usize> {
    let mut place: Vec<&str> = own.to_vec();
    let mut rest = path;
    match path[0] {
        "crate" => {
            place.truncate(usize::from(own.first() == Some(&"supervisor")));
            rest = &path[1..];
        }
        "super" | "self" => {
            while let Some(("super" | "self", behind)) = rest.split_first().map(|(word, rest)| (*word, rest))
            {
                if rest[0] == "super" {
                    place.pop();
                }
                rest = behind;
            }
        }
        child => {
            place.push(child);
            if !places.contains_key(&place) {
                return None;
            }
            rest = &path[1..];
        }
    }
    for word in rest {
        place.push(word);
        if !places.contains_key(&place) {
            place.pop();
            break;
        }
    }
    places.get(&place).copied()
}

/// Tarjan's search for strongly connected components.
struct Search<'a> {
    edges: &'a [BTreeSet<usize>],
    /// In which order files were come to.
    index: Vec<Option<usize>>,
    /// The earliest file on the stack that each reaches.
    low: Vec<usize>,
    stack: Vec<usize>,
    is_on_stack: Vec<bool>,
    visited: usize,
    circles: Vec<Vec<usize>>,
}

impl<'a> Search<'a> {
    fn new(edges: &'a [BTreeSet<usize>]) -> Self {
        Self {
            edges,
            index: vec![None; edges.len()],
            low: vec![0; edges.len()],
            stack: Vec::new(),
            is_on_stack: vec![false; edges.len()],
            visited: 0,
            circles: Vec::new(),
        }
    }

    fn visit(&mut self, file: usize) {
        if self.index[file].is_some() {
            return;
        }
        let own = self.visited;
        self.visited += 1;
        self.index[file] = Some(own);
        self.low[file] = own;
        self.stack.push(file);
        self.is_on_stack[file] = true;
        for target in &self.edges[file] {
            match self.index[*target] {
                None => {
                    self.visit(*target);
                    self.low[file] = self.low[file].min(self.low[*target]);
                }
                Some(index) if self.is_on_stack[*target] => self.low[file] = self.low[file].min(index),
                Some(_) => {}
            }
        }
        if self.low[file] == own {
            let begin = self.stack.iter().rposition(|other| *other == file);
            let circle = self.stack.split_off(begin.expect("it was put there"));
            for member in &circle {
                self.is_on_stack[*member] = false;
            }
            if circle.len() > 1 {
                self.circles.push(circle);
            }
        }
    }
}
