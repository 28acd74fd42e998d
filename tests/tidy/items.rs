//! Functions, literals and matches, found in the words of a file.

use std::collections::BTreeSet;
use std::ops::Range;

use super::imports::is_name;
use super::sources::{File, Token};

fn text(tokens: &[Token], at: usize) -> &'static str {
    tokens.get(at).map_or("", |token| token.text)
}

/// How much deeper a word leads into brackets, those of types left out.
fn deeper(word: &str) -> isize {
    match word {
        "(" | "[" | "{" => 1,
        ")" | "]" | "}" => -1,
        _ => 0,
    }
}

/// The first place from `at` on where one of the words stands in no further brackets.
fn find(tokens: &[Token], at: usize, wanted: &[&str]) -> Option<usize> {
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        if depth == 0 && wanted.contains(&token.text) {
            return Some(place);
        }
        depth += deeper(token.text);
        if depth < 0 {
            return None;
        }
    }
    None
}

/// Where a bracket that opens at `at` closes.
fn closes(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        depth += deeper(token.text);
        if depth == 0 {
            return place;
        }
    }
    tokens.len()
}

/// A function with its words.
pub struct Function {
    pub name: String,
    /// From `fn` to the body, or to the semicolon of one that has none.
    signature: Range<usize>,
    /// From `fn` to the last bracket.
    pub lines: usize,
}

pub fn functions(file: &File) -> Vec<Function> {
    let tokens = &file.tokens;
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        // `fn(u8)` is a type, `fn $name` a pattern of a macro.
        if text(tokens, at) != "fn" || !is_name(text(tokens, at + 1)) {
            continue;
        }
        let Some(body) = find(tokens, at + 1, &["{", ";"]) else {
            continue;
        };
        let last = if text(tokens, body) == "{" { closes(tokens, body) } else { body };
        let last = last.min(tokens.len() - 1);
        found.push(Function {
            name: text(tokens, at + 1).to_owned(),
            signature: at..body,
            lines: tokens[last].line - tokens[at].line + 1,
        });
    }
    found
}

/// How often a signature has `Result<_, String>`.
pub fn string_errors(file: &File, function: &Function) -> usize {
    let tokens = &file.tokens[function.signature.clone()];
    let is_string = |at: usize| {
        let end: Vec<&str> = (at..at + 3).map(|at| text(tokens, at)).collect();
        matches!(end[..], [",", "String", ">"])
    };
    let mut count = 0;
    for at in 0..tokens.len() {
        if text(tokens, at) != "Result" || text(tokens, at + 1) != "<" {
            continue;
        }
        let (mut angles, mut others) = (0_usize, 0);
        for at in at + 1..tokens.len() {
            match text(tokens, at) {
                "<" => angles += 1,
                ">" => angles -= 1,
                "," if angles == 1 && others == 0 && is_string(at) => count += 1,
                word => others += deeper(word),
            }
            if angles == 0 {
                break;
            }
        }
    }
    count
}

/// How often a struct of this name is put together by hand.
pub fn literals(file: &File, name: &str) -> usize {
    let tokens = &file.tokens;
    let is_one = |at: &usize| {
        let declares = ["struct", "enum", "union", "trait", "impl", "for", "->", "let"];
        let before = at.checked_sub(1).map_or("", |before| text(tokens, before));
        text(tokens, *at) == name && text(tokens, at + 1) == "{" && !declares.contains(&before)
    };
    (0..tokens.len()).filter(is_one).count()
}

/// How often a function of this name is called.
pub fn calls(file: &File, name: &str) -> usize {
    let tokens = &file.tokens;
    let is_one = |at: &usize| {
        let is_declared = at.checked_sub(1).is_some_and(|before| text(tokens, before) == "fn");
        text(tokens, *at) == name && text(tokens, at + 1) == "(" && !is_declared
    };
    (0..tokens.len()).filter(is_one).count()
}

/// How often a program is named to whoever starts it, or looks for it on the PATH.
pub fn starts(file: &File, program: &str) -> usize {
    let (tokens, program) = (&file.tokens, format!("\"{program}\""));
    let is_one = |at: &usize| {
        let starts = match text(tokens, *at) {
            "new" => (at.saturating_sub(4)..*at).any(|before| text(tokens, before) == "Command"),
            name => ["resolve", "locate", "which"].contains(&name),
        };
        starts && text(tokens, at + 1) == "(" && text(tokens, at + 2) == program
    };
    (0..tokens.len()).filter(is_one).count()
}

/// The words between the brackets of a struct or enum; `None` if the file does not declare it.
fn body_of<'a>(file: &'a File, what: &str, name: &str) -> Option<&'a [Token]> {
    let tokens = &file.tokens;
    let at = (0..tokens.len()).find(|at| text(tokens, *at) == what && text(tokens, at + 1) == name)?;
    let begin = find(tokens, at, &["{"])?;
    Some(&tokens[begin + 1..closes(tokens, begin)])
}

/// Fields of a struct that others may see.
pub fn public_fields(file: &File, name: &str) -> Option<usize> {
    let body = body_of(file, "struct", name)?;
    let mut depth = 0;
    let mut count = 0;
    for token in body {
        count += usize::from(depth == 0 && token.text == "pub");
        depth += deeper(token.text);
    }
    Some(count)
}

/// The names of an enum's variants.
pub fn variants(file: &File, name: &str) -> Option<BTreeSet<&'static str>> {
    let body = body_of(file, "enum", name)?;
    let mut depth = 0;
    let mut names = BTreeSet::new();
    let mut is_next = true;
    for token in body {
        if depth == 0 && is_next && is_name(token.text) {
            names.insert(token.text);
            is_next = false;
        }
        is_next |= depth == 0 && token.text == ",";
        depth += deeper(token.text);
    }
    Some(names)
}

/// Lines of the matches that name most of the variants, and in which no arm stands for whatever is left.
pub fn exhaustive_matches(file: &File, variants: &BTreeSet<&str>) -> Vec<usize> {
    let tokens = &file.tokens;
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if text(tokens, at) != "match" {
            continue;
        }
        let Some(begin) = find(tokens, at + 1, &["{"]) else {
            continue;
        };
        let arms = &tokens[begin + 1..closes(tokens, begin)];
        let mut named = BTreeSet::new();
        let mut has_rest = false;
        for pattern in patterns(arms) {
            has_rest |=
                matches!(pattern, [only] if only.text.starts_with(|c: char| c == '_' || c.is_lowercase()));
            let paths = pattern.windows(2).filter(|pair| pair[0].text == "::");
            named.extend(paths.map(|pair| pair[1].text).filter(|name| variants.contains(name)));
        }
        if !has_rest && named.len() * 2 > variants.len() {
            found.push(tokens[at].line);
        }
    }
    found
}

/// What stands before each `=>` of a match.
fn patterns(arms: &[Token]) -> Vec<&[Token]> {
    let mut patterns = Vec::new();
    let mut at = 0;
    while let Some(arrow) = find(arms, at, &["=>"]) {
        patterns.push(&arms[at..arrow]);
        at = if text(arms, arrow + 1) == "{" {
            let end = closes(arms, arrow + 1) + 1;
            end + usize::from(text(arms, end) == ",")
        } else {
            find(arms, arrow + 1, &[","]).map_or(arms.len(), |comma| comma + 1)
        };
    }
    patterns
}
