//! The sources of the packages, as lines and as words; those of tests apart.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// A string, a word, a number or a sign.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d[\w.]*|[^\s\w]"#).expect("the pattern is well-formed")
});

/// What declares a type.
static TYPE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:struct|enum|trait|type)\s+([A-Z]\w*)").expect("the pattern is well-formed")
});

/// A doc comment that begins with a pronoun.
static ORPHAN: LazyLock<Regex> = LazyLock::new(|| {
    let pronouns = "It|They|Those|These|This|That|Them|Its|Their|The same|Who|Whom|Whose";
    Regex::new(&format!(r"^\s*/// (?:{pronouns})\b")).expect("the pattern is well-formed")
});

/// The files of all packages, by path.
pub struct Sources {
    /// Without what is only built for tests.
    pub files: Vec<File>,
    /// What is only built for tests: of each file as much as it has of it, without lines.
    pub tests: Vec<File>,
}

/// One source file.
pub struct File {
    /// Relative to the `src` of its package, with `/`; what is a module by itself has its name before that.
    pub path: String,
    /// As they stand in the file.
    pub lines: Vec<String>,
    /// Words and signs outside of comments and literals.
    pub tokens: Vec<Token>,
}

/// A word, a number, or a sign; `::`, `->` and `=>` are one each.
pub struct Token {
    pub text: &'static str,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// What a line holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Code,
    Comment,
    Blank,
}

pub fn kind(line: &str) -> Kind {
    match line.trim() {
        "" => Kind::Blank,
        text if text.starts_with("//") => Kind::Comment,
        _ => Kind::Code,
    }
}

impl File {
    /// The first folder, or the name of a file that stands in none.
    pub fn module(&self) -> &str {
        self.path.split_once('/').map_or(self.path.trim_end_matches(".rs"), |(folder, _)| folder)
    }

    /// Its place in the tree of modules: `engine/apply.rs` is `[engine, apply]`, `engine/mod.rs` is `[engine]`.
    pub fn module_path(&self) -> Vec<&str> {
        base(&self.path).split('/').filter(|part| !part.is_empty()).collect()
    }

    fn new(path: &str) -> Self {
        Self { path: path.to_owned(), lines: Vec::new(), tokens: Vec::new() }
    }

    /// Its lines of code, without the comments behind them where no string is on the line.
    fn code(&self) -> String {
        let code = self.lines.iter().filter(|line| kind(line) == Kind::Code).map(|line| {
            let is_plain = !line.contains('"');
            let comment = if is_plain { line.find("//") } else { None };
            &line[..comment.unwrap_or(line.len())]
        });
        code.collect::<Vec<_>>().join("\n")
    }

    /// How many words, numbers, strings and signs its code has, comments left out.
    pub fn code_tokens(&self) -> usize {
        TOKEN.find_iter(&self.code()).count()
    }

    /// The names of the types that it declares, but for those of traits and their implementations.
    pub fn types(&self) -> BTreeSet<String> {
        let code = self.code();
        let lines =
            code.lines().filter(|line| !line.trim_start().starts_with("type ") || line.starts_with("type"));
        lines.flat_map(|line| TYPE.captures_iter(line).map(|found| found[1].to_owned())).collect()
    }

    /// The doc comments of one line.
    fn lone_docs(&self) -> impl Iterator<Item = &str> {
        let is_doc = |at: Option<usize>| {
            at.and_then(|at| self.lines.get(at)).is_some_and(|line| line.trim().starts_with("///"))
        };
        let is_lone =
            move |at: usize| is_doc(Some(at)) && !is_doc(at.checked_sub(1)) && !is_doc(Some(at + 1));
        self.lines.iter().enumerate().filter(move |(at, _)| is_lone(*at)).map(|(_, line)| line.trim())
    }

    /// How many doc comments are one short line that begins with a pronoun: whoever reads them alone does not know of what
    /// they are.
    pub fn orphan_docs(&self) -> usize {
        let is_orphan = |line: &&str| line.chars().count() <= 52 && ORPHAN.is_match(line);
        self.lone_docs().filter(is_orphan).count()
    }

    /// How many doc comments have three words or fewer: no unit, no range, no meaning of what is absent.
    pub fn short_docs(&self) -> usize {
        self.lone_docs().filter(|line| line.split_whitespace().count() <= 4).count()
    }
}

/// Where the modules that a file declares are.
fn base(path: &str) -> &str {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    match path.rsplit('/').next() {
        Some("mod.rs" | "lib.rs" | "main.rs") => folder,
        _ => path.trim_end_matches(".rs"),
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// What the sources of all packages are: those of the rules are modules beside those of the program, the supervisor is one.
pub fn of_packages(root: &Path) -> Sources {
    let (program, crates) = (root.join("src"), root.join("crates"));
    read(&[(&program, ""), (&crates.join("rules/src"), ""), (&crates.join("supervisor/src"), "supervisor")])
}

/// The sources below some folders, each with what its names begin with.
pub fn read(folders: &[(&Path, &str)]) -> Sources {
    let mut texts: Vec<(String, String)> = Vec::new();
    for (folder, module) in folders {
        let mut paths = Vec::new();
        walk(folder, &|path| path.extension().is_some_and(|end| end == "rs"), &mut paths);
        texts.extend(paths.into_iter().map(|path| {
            let text = fs::read_to_string(&path).expect("a source is text");
            let name = path.strip_prefix(folder).expect("it was found there");
            (join(module, &name.to_str().expect("sources have plain names").replace('\\', "/")), text)
        }));
    }
    // Words are parts of the texts, which live as long as the test.
    let masked: Vec<&str> = texts.iter().map(|(_, text)| &*mask(text).leak()).collect();
    let tests: BTreeSet<String> = texts
        .iter()
        .zip(&masked)
        .flat_map(|((path, text), masked)| test_modules(path, text, masked))
        .collect();
    let is_test = |path: &str| {
        path.ends_with("_tests.rs")
            || tests.contains(path)
            || tests.iter().any(|test| {
                let inside = path.strip_prefix(base(test));
                inside.is_some_and(|rest| rest.starts_with('/'))
            })
    };
    let mut sources = Sources { files: Vec::new(), tests: Vec::new() };
    for ((path, text), masked) in texts.iter().zip(masked) {
        let (mut file, mut tests) = (File::new(path), File::new(path));
        if is_test(path) {
            for (line, number) in masked.lines().zip(1..) {
                tokens(line, number, &mut tests.tokens);
            }
        } else {
            split(text, masked, &mut file, &mut tests);
            sources.files.push(file);
        }
        sources.tests.push(tests);
    }
    sources
}

/// Files below a folder that are wanted, sorted.
pub fn walk(folder: &Path, wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, wanted, found);
        } else if wanted(&path) {
            found.push(path);
        }
    }
}

/// The files that a file declares as modules of tests.
fn test_modules(path: &str, text: &str, masked: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines: Vec<(&str, &str)> = text.lines().zip(masked.lines()).collect();
    for (at, (_, line)) in lines.iter().enumerate() {
        let condition = line.trim_start().strip_prefix("#[cfg(");
        let starts = ["test", "all(test", "any(test"];
        if !condition.is_some_and(|rest| starts.iter().any(|start| rest.starts_with(start))) {
            continue;
        }
        let mut named = None;
        for (line, masked) in &lines[at + 1..] {
            if let Some(attribute) = line.trim().strip_prefix("#[") {
                named = attribute.strip_prefix("path = \"").and_then(|rest| rest.split('"').next()).or(named);
                continue;
            }
            let words: Vec<&str> = masked.split_whitespace().collect();
            let name = match words[..] {
                ["mod", name] => name,
                [public, "mod", name] if public.starts_with("pub") => name,
                _ => break,
            };
            let Some(name) = name.strip_suffix(';') else { break };
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            match named {
                Some(file) => found.push(join(folder, file)),
                None => {
                    found.push(join(base(path), &format!("{name}.rs")));
                    found.push(join(base(path), &format!("{name}/mod.rs")));
                }
            }
            break;
        }
    }
    found
}

/// Takes a file apart: items behind `#[cfg(test)]` are of its tests.
fn split(text: &str, masked: &'static str, file: &mut File, tests: &mut File) {
    let masked: Vec<&str> = masked.lines().collect();
    let mut test_ends_at = 0;
    for (at, line) in text.lines().enumerate() {
        if at >= test_ends_at && masked[at].trim_start().starts_with("#[cfg(test)]") {
            test_ends_at = end_of_item(&masked, at + 1);
        }
        if at < test_ends_at {
            tokens(masked[at], at + 1, &mut tests.tokens);
        } else {
            tokens(masked[at], at + 1, &mut file.tokens);
            file.lines.push(line.to_owned());
        }
    }
}

/// The line behind the item that begins there, attributes before it included.
fn end_of_item(masked: &[&str], mut at: usize) -> usize {
    while masked.get(at).is_some_and(|line| line.trim_start().starts_with("#[")) {
        at += 1;
    }
    let (mut depth, mut has_body) = (0_usize, false);
    for (at, line) in masked.iter().enumerate().skip(at) {
        has_body |= line.contains('{');
        depth += line.matches('{').count();
        depth = depth.saturating_sub(line.matches('}').count());
        let is_over = if has_body { depth == 0 } else { line.trim_end().ends_with([';', ',']) };
        if is_over {
            return at + 1;
        }
    }
    masked.len()
}

fn tokens(line: &'static str, number: usize, tokens: &mut Vec<Token>) {
    // Whatever is not ASCII stands in literals and comments, which are blank here.
    let bytes = line.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut at = 0;
    while let Some(first) = bytes.get(at) {
        if *first == b' ' {
            at += 1;
            continue;
        }
        let rest = &bytes[at..];
        let length = match rest {
            _ if is_word(*first) => rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len()),
            [b':', b':', ..] | [b'-' | b'=', b'>', ..] => 2,
            _ => 1,
        };
        tokens.push(Token { text: &line[at..at + length], line: number });
        at += length;
    }
}

/// The text with blanks for comments and for what stands in literals. Lines stay where they are.
fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let before = at.checked_sub(1).map_or(b' ', |at| bytes[at]);
        let in_word = before.is_ascii_alphanumeric() || before == b'_';
        let length = match rest {
            [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => block_comment(rest),
            [b'"', ..] => quoted(rest),
            [b'r', b'"' | b'#', ..] if !in_word || before == b'b' => raw_string(rest),
            [b'\'', b'\\', ..] => quoted(rest),
            [b'\'', ..] => character(rest),
            _ => 0,
        };
        if length == 0 {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        out.extend(rest[..length].iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }));
        at += length;
    }
    String::from_utf8(out).expect("characters are masked whole")
}

/// How long a block comment is; they nest.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// How long a literal is that ends with the quote with which it begins.
fn quoted(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != rest[0] {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// How long a string is in which nothing is escaped; 0 if it is a raw name.
fn raw_string(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let end: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = 2 + hashes;
    let found = rest[body..].windows(end.len()).position(|window| window == end);
    found.map_or(rest.len(), |found| body + found + end.len())
}

/// How long a character is; 0 if it is a lifetime.
fn character(rest: &[u8]) -> usize {
    let end = rest[1..].iter().take(5).skip(1).position(|byte| *byte == b'\'');
    match end {
        // Bytes of one character: `'a'`, `'é'`; but not `'a, 'b`.
        Some(end) if end == 0 || rest[1..=end + 1].iter().all(|byte| !byte.is_ascii()) => end + 3,
        _ => 0,
    }
}

#[test]
fn neither_tests_nor_literals_nor_comments_are_code() {
    let text = r##"
use a::b; // use c::d;
/* fn e() { /* } */ */
const F: &str = "{ \" //"; const G: char = '"'; const H: char = '\''; const I: &str = r#"{""#;
fn j<'k>(l: &'k str) {}
#[cfg(test)]
mod tests {
    const M: &str = r#"{
"#;
}
fn n() {}
"##;
    let (mut file, mut tests) = (File::new("o.rs"), File::new("o.rs"));
    split(text, mask(text).leak(), &mut file, &mut tests);
    let words: Vec<&str> = file.tokens.iter().map(|token| token.text).collect();
    let expected = "use a :: b ; const F : & str = ; const G : char = ; const H : char = ; const I : & str = ; \
                    fn j < ' k > ( l : & ' k str ) { } fn n ( ) { }";
    assert_eq!(words.join(" "), expected);
    assert_eq!(file.tokens.last().map(|token| token.line), Some(11));
    let tests: Vec<&str> = tests.tokens.iter().map(|token| token.text).collect();
    assert_eq!(tests.join(" "), "# [ cfg ( test ) ] mod tests { const M : & str = ; }");
}

#[test]
fn a_string_or_a_number_is_one_token_and_a_comment_is_none() {
    let mut file = File::new("o.rs");
    file.lines = ["use a::b; // c", "    m(\"a b\", 1.5)", "// d", ""].map(str::to_owned).into();
    assert_eq!(file.code_tokens(), 6 + 6);
}

#[test]
fn a_type_is_named_where_it_is_declared_and_an_orphan_is_alone_and_short() {
    let mut file = File::new("o.rs");
    let lines = [
        "/// Its name.",
        "pub struct Name<'a>(&'a str);",
        "/// Its value,",
        "/// where there is one.",
        "impl Value for Name<'_> {",
        "    type Told = u8; // struct Other",
        "}",
        "/// It has a doc comment of one line that is so long that it says of what.",
        "type Names = u8;",
        "/// Itself is no pronoun here.",
    ];
    file.lines = lines.map(str::to_owned).into();
    assert_eq!(file.types(), BTreeSet::from(["Name".to_owned(), "Names".to_owned()]));
    assert_eq!((file.orphan_docs(), file.short_docs()), (1, 1));
}
