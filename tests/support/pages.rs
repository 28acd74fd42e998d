//! A page of the documentation: its blocks, links and anchors.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// A file of the project.
pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// One page.
pub struct Page {
    /// From the project's folder.
    pub path: String,
    pub text: String,
}

/// What a block is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// It is written to the file of this name.
    File(String),
    /// Its lines are commands.
    Run,
    /// Commands that are not run.
    Skip,
    /// It shows something.
    Shown,
}

/// A fenced block.
pub struct Block {
    /// The line of its fence, from 1.
    pub line: usize,
    pub language: String,
    pub used: Result<Use, String>,
    pub body: String,
    /// The line above its fence.
    pub above: String,
    /// Whether nothing stands between it and the block before.
    pub is_behind_another: bool,
}

impl Block {
    fn new(line: usize, info: &str) -> Self {
        let words: Vec<&str> = info.split_whitespace().collect();
        let (language, used) = match words[..] {
            [] => ("", Err("a block without a language".to_owned())),
            ["sh"] => ("sh", Ok(Use::Run)),
            ["sh", "skip"] => ("sh", Ok(Use::Skip)),
            [language] => (language, Ok(Use::Shown)),
            [language, name] => (language, Ok(Use::File(name.to_owned()))),
            [language, ..] => (language, Err(format!("`{info}` says too much"))),
        };
        Self {
            line,
            language: language.to_owned(),
            used,
            body: String::new(),
            above: String::new(),
            is_behind_another: false,
        }
    }
}

impl Page {
    pub fn read(path: &str) -> Self {
        let text = fs::read_to_string(project(path));
        Self { path: path.to_owned(), text: text.unwrap_or_else(|error| panic!("{path}: {error}")) }
    }

    /// Every page, in order of their paths.
    pub fn all() -> Vec<Self> {
        let mut paths =
            ["CONTRIBUTING.md", "README.md", "missions/README.md", "src/cli/commands/init/skill/SKILL.md"]
                .map(str::to_owned)
                .to_vec();
        let mut folders = vec!["docs".to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(project(&folder)).expect("the folder is there") {
                let entry = entry.expect("the folder can be read");
                let path = format!("{folder}/{}", entry.file_name().display());
                match path.ends_with(".md") {
                    true => paths.push(path),
                    false if entry.path().is_dir() => folders.push(path),
                    false => {}
                }
            }
        }
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let (mut open, mut above): (Option<Block>, &str) = (None, "");
        // Whether only empty lines came since the last block.
        let mut nothing_since = false;
        for (line, text) in (1..).zip(self.text.lines()) {
            match (&mut open, text.strip_prefix("```")) {
                (None, Some(info)) => {
                    let block = Block::new(line, info);
                    open = Some(Block { above: above.to_owned(), is_behind_another: nothing_since, ..block });
                }
                (None, None) => nothing_since &= text.trim().is_empty(),
                (Some(_), Some("")) => {
                    blocks.extend(open.take());
                    nothing_since = true;
                }
                (Some(block), _) => {
                    block.body.push_str(text);
                    block.body.push('\n');
                }
            }
            above = text;
        }
        assert!(open.is_none(), "{} has a block without an end", self.path);
        blocks
    }

    /// The lines that are prose, with their numbers.
    fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut in_block = false;
        (1..).zip(self.text.lines()).filter(move |(_, line)| {
            let is_fence = line.starts_with("```");
            in_block ^= is_fence;
            !in_block && !is_fence
        })
    }

    /// Links to other places of the project, with their lines.
    pub fn links(&self) -> Vec<(usize, String)> {
        let link = Regex::new(r"\]\(([^)\s]+)\)").expect("it is an expression");
        let code = Regex::new("`[^`]*`").expect("it is an expression");
        let mut links = Vec::new();
        for (line, text) in self.prose() {
            let text = code.replace_all(text, "");
            let targets = link.captures_iter(&text).map(|found| found[1].to_owned());
            let own = targets.filter(|target| !target.contains("://"));
            links.extend(own.map(|target| (line, target)));
        }
        links
    }

    /// Commands of quorum that stand in sentences and tables, without the brackets around what may be left out.
    pub fn commands_in_sentences(&self) -> impl Iterator<Item = String> {
        let code = Regex::new("`(quorum [^`]*)`").expect("it is an expression");
        // A span may be broken over two lines.
        let prose: Vec<&str> = self.prose().map(|(_, line)| line).collect();
        let prose = prose.join("\n");
        let found: Vec<String> = code
            .captures_iter(&prose)
            .flat_map(|found| found[1].split("&&").map(str::to_owned).collect::<Vec<_>>())
            .map(|command| command.replace(['[', ']', '\n', '\\'], " "))
            .map(|command| command.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|command| command.starts_with("quorum "))
            .collect();
        found.into_iter()
    }

    /// The path of a file that this page names; without a name, its own.
    pub fn beside(&self, file: &str) -> String {
        if file.is_empty() {
            return self.path.clone();
        }
        let mut parts: Vec<&str> = self.path.split('/').collect();
        parts.pop();
        for part in file.split('/') {
            match part {
                ".." => drop(parts.pop()),
                "." | "" => {}
                part => parts.push(part),
            }
        }
        parts.join("/")
    }

    /// What its headings are called in links.
    pub fn anchors(&self) -> BTreeSet<String> {
        let headings = self.prose().filter_map(|(_, line)| {
            let text = line.trim_start_matches('#');
            (text.len() < line.len()).then(|| text.trim())
        });
        headings.map(anchor).collect()
    }
}

/// The anchor of a heading, as forges and mdBook make it.
pub fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}
