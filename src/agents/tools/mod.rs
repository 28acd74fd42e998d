//! Tools for models that have none of their own: list, read and search for reviewers, write too for workers.
//!
//! They see one folder ([`confined`]), their results are cut to size, and every call goes on record.
//!
//! | file | what |
//! |---|---|
//! | `confined` | a folder that nothing leads out of: what a model's tools may look at and write (7) |
//! | `destructive` | commands that no worker is to run, whatever its task (17) |
//! | `messages` | an agent's messages to its run as tools: ask, delegate, progress, result (17) |
//! | `run` | the tool that runs a command: what it is told and what a model is told of it |

pub mod confined;
mod destructive;
pub mod messages;
pub mod run;

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{ToolCall, ToolResult, ToolSpec};
use confined::{Confined, PathRefused, read_at_most};

/// Names that one listing shows.
const MOST_ENTRIES: usize = 500;
/// Bytes of a file that one read shows.
const MOST_READ: u64 = 32 * 1024;
/// Bytes of a file that a search looks at.
const MOST_SEARCHED: u64 = 1024 * 1024;
/// Files that a search looks at.
const MOST_FILES: usize = 2_000;
/// Folders that a search enters.
const MOST_FOLDERS: usize = 5_000;
/// Bytes that a search reads in all.
const MOST_SEARCHED_IN_ALL: u64 = 64 * 1024 * 1024;
/// Folders within folders that a search enters.
const DEEPEST: usize = 24;
/// Lines that a search shows.
const MOST_MATCHES: usize = 100;
/// Characters of a line that a search shows.
const LONGEST_LINE: usize = 300;
/// Bytes that one write may have.
const MOST_WRITTEN: usize = 4 * 1024 * 1024;
/// Memory that a compiled pattern may take.
const PATTERN_SIZE: usize = 1 << 20;
/// Bytes of one argument of a call that are kept on record, where it is a list or an object.
const LONGEST_ARGUMENT: usize = 1_000;
/// Bytes of all arguments of a call that are kept on record.
const LONGEST_ARGUMENTS: usize = 4 * 1024;

worded! {
    /// A tool that a model may use.
    #[derive(PartialOrd, Ord)]
    pub enum Tool {
        /// The names in a folder.
        List = "list",
        /// A part of a file.
        Read = "read",
        /// Lines that match a pattern.
        Search = "search",
        /// A file, written whole.
        Write = "write",
    }
}

/// The tools of reviewers: they look, and do nothing else.
pub const FOR_REVIEWERS: [Tool; 3] = [Tool::List, Tool::Read, Tool::Search];

impl Tool {
    /// The description of the tool for the model.
    #[must_use]
    pub fn spec(self) -> ToolSpec {
        let (description, properties, required) = match self {
            Self::List => (
                "Lists a folder of the workspace: names, and sizes in bytes. Folders end in `/`.",
                json!({"path": {"type": "string", "description": "The folder, relative to the workspace; \".\" is the workspace."}}),
                json!(["path"]),
            ),
            Self::Read => (
                "Reads a text file of the workspace, or a part of it.",
                json!({
                    "path": {"type": "string", "description": "The file, relative to the workspace."},
                    "offset": {"type": "integer", "minimum": 0, "description": "The byte to begin at [0]."},
                }),
                json!(["path"]),
            ),
            Self::Search => (
                "Finds lines that match a regular expression in the text files of the workspace.",
                json!({
                    "pattern": {"type": "string", "description": "The regular expression."},
                    "path": {"type": "string", "description": "The folder or file to look in [.]."},
                }),
                json!(["pattern"]),
            ),
            Self::Write => (
                "Writes a text file of the workspace whole; folders on the way are made.",
                json!({
                    "path": {"type": "string", "description": "The file, relative to the workspace."},
                    "content": {"type": "string", "description": "All of its text."},
                }),
                json!(["path", "content"]),
            ),
        };
        ToolSpec {
            name: self.as_str(),
            description,
            parameters: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        }
    }
}

/// The tools that one call to a model may use.
pub struct Toolbox {
    folder: Confined,
    tools: Vec<Tool>,
}

/// A tool call with its arguments.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum ToolRequest {
    List {
        #[serde(default = "here")]
        path: String,
    },
    Read {
        path: String,
        #[serde(default)]
        offset: u64,
    },
    Search {
        pattern: String,
        #[serde(default = "here")]
        path: String,
    },
    Write {
        path: String,
        content: String,
    },
}

fn here() -> String {
    ".".to_owned()
}

impl Toolbox {
    /// Tools over a folder.
    pub fn new(folder: Confined, tools: &[Tool]) -> Self {
        Self { folder, tools: tools.to_vec() }
    }

    /// The descriptions of the tools that the model may use.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec()).collect()
    }

    /// Does what the model asks for, or says why not. Blocks.
    pub fn call(&self, call: &ToolCall) -> ToolResult {
        match self.attempt(call) {
            Ok(text) => ToolResult::given(text),
            Err(why) => ToolResult::refused(why),
        }
    }

    /// Whether a call could be made, as far as the call itself says.
    ///
    /// # Errors
    /// Why not, for the model.
    pub fn check(&self, call: &ToolCall) -> Result<(), ToolError> {
        match self.request(call)? {
            ToolRequest::Write { path, .. } => Ok(self.folder.check_write(&path)?),
            _ => Ok(()),
        }
    }

    fn request(&self, call: &ToolCall) -> Result<ToolRequest, ToolError> {
        let names: Vec<_> = self.tools.iter().map(|tool| tool.as_str()).collect();
        if !names.contains(&call.name.as_str()) {
            return Err(ToolError::Unknown(call.name.clone(), names.join(", ")));
        }
        if !call.arguments.is_object() {
            return Err(ToolError::NoObject);
        }
        let named = json!({ call.name.as_str(): call.arguments });
        serde_json::from_value(named).map_err(ToolError::Arguments)
    }

    fn attempt(&self, call: &ToolCall) -> Result<String, ToolError> {
        match self.request(call)? {
            ToolRequest::List { path } => self.list(&path),
            ToolRequest::Read { path, offset } => self.read(&path, offset),
            ToolRequest::Search { pattern, path } => self.search(&pattern, &path),
            ToolRequest::Write { path, content } => self.write(&path, &content),
        }
    }

    fn list(&self, path: &str) -> Result<String, ToolError> {
        let found = self.folder.list(path, MOST_ENTRIES)?;
        let mut lines: Vec<String> = found
            .entries
            .iter()
            .map(|entry| match entry.size {
                Some(size) => format!("{} ({size} bytes)", entry.name),
                None => entry.name.clone(),
            })
            .collect();
        if found.more {
            lines.push(format!("[only the first {MOST_ENTRIES} names]"));
        }
        if found.unnamed > 0 {
            lines.push(format!("[and {} whose names are not UTF-8]", found.unnamed));
        }
        if lines.is_empty() {
            return Ok("[empty]".to_owned());
        }
        Ok(lines.join("\n"))
    }

    fn read(&self, path: &str, offset: u64) -> Result<String, ToolError> {
        use std::io::{Seek, SeekFrom};
        let mut file = self.folder.read(path)?;
        let failed = |error: std::io::Error| ToolError::Unreadable(path.to_owned(), error);
        let size = file.metadata().map_err(failed)?.len();
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let (bytes, more) = read_at_most(file, MOST_READ).map_err(failed)?;
        if is_binary(&bytes) {
            return Err(ToolError::Binary(path.to_owned(), size));
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if more {
            let next = offset + bytes.len() as u64;
            text.push_str(&format!("\n[cut: {size} bytes in all; go on with offset {next}]"));
        }
        Ok(text)
    }

    fn search(&self, pattern: &str, path: &str) -> Result<String, ToolError> {
        let pattern = RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build();
        let pattern = pattern.map_err(ToolError::Pattern)?;
        let mut search = Search {
            pattern,
            files: 0,
            folders: 0,
            bytes: 0,
            lines: Vec::new(),
            is_cut: false,
            missed: Missed::default(),
        };
        let path = match path.trim_end_matches('/') {
            // An absolute one is refused below.
            "" if path.is_empty() => ".",
            "" => "/",
            path => path,
        };
        match self.folder.list(path, 0) {
            Ok(_) => search.folder(&self.folder, path, 0),
            Err(PathRefused::NotA(..)) => search.file(&self.folder, path)?,
            Err(refused) => return Err(refused.into()),
        }
        Ok(search.into_text())
    }

    fn write(&self, path: &str, content: &str) -> Result<String, ToolError> {
        if content.len() > MOST_WRITTEN {
            return Err(ToolError::TooMuch);
        }
        self.folder.write(path, content.as_bytes())?;
        Ok(format!("{} bytes written to '{path}'", content.len()))
    }
}

/// Why a call gives nothing: a text for the model.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// No such tool was offered: those that were.
    #[error("there is no tool '{0}'; there are: {1}")]
    Unknown(String, String),
    /// The arguments of a call are an object.
    #[error("the arguments are not a JSON object")]
    NoObject,
    /// Not those that the tool takes.
    #[error("the arguments cannot be used: {0}")]
    Arguments(serde_json::Error),
    /// The path is refused.
    #[error(transparent)]
    Path(#[from] PathRefused),
    /// A file that the system does not read.
    #[error("'{0}' cannot be read: {1}")]
    Unreadable(String, #[source] std::io::Error),
    /// A file that is no text, and its size.
    #[error("'{0}' is a binary file of {1} bytes")]
    Binary(String, u64),
    /// No regular expression, or too large a one.
    #[error("the pattern cannot be used: {0}")]
    Pattern(regex::Error),
    /// A file of that size is not written.
    #[error("more than {MOST_WRITTEN} bytes cannot be written at once")]
    TooMuch,
    /// A command that is not run.
    #[error("{0}")]
    Command(Cow<'static, str>),
}

impl From<ToolError> for String {
    fn from(why: ToolError) -> Self {
        why.to_string()
    }
}

struct Search {
    pattern: Regex,
    files: usize,
    folders: usize,
    bytes: u64,
    lines: Vec<String>,
    is_cut: bool,
    missed: Missed,
}

/// The files that a search did not look into. A search that left some out cannot say that there is nothing.
#[derive(Debug, Default)]
struct Missed {
    binary: usize,
    unreadable: usize,
    unnamed: usize,
    special: usize,
}

impl Missed {
    /// Counts a file that could not be read. A hidden one does not exist for a model, and one that vanishes
    /// meanwhile is not there.
    fn refused(&mut self, refused: &PathRefused) {
        if !matches!(refused, PathRefused::Hidden(_) | PathRefused::Missing(_)) {
            self.unreadable += 1;
        }
    }

    /// `[3 not searched: 2 binary, 1 unreadable]`; `None` if nothing was missed.
    fn summary(&self) -> Option<String> {
        let kinds = [
            (self.binary, "binary"),
            (self.unreadable, "unreadable"),
            (self.unnamed, "with a name that is not UTF-8"),
            (self.special, "no regular files, or links"),
        ];
        let all: usize = kinds.iter().map(|(count, _)| count).sum();
        let kinds = kinds.iter().filter(|(count, _)| *count > 0);
        let kinds: Vec<_> = kinds.map(|(count, kind)| format!("{count} {kind}")).collect();
        (all > 0).then(|| format!("[{all} not searched: {}]", kinds.join(", ")))
    }
}

impl Search {
    /// The matches, and the files that were not looked into, for the model.
    fn into_text(mut self) -> String {
        if self.lines.is_empty() && !self.is_cut {
            self.lines.push(format!("[no line matches in {} files]", self.files));
        }
        if self.is_cut {
            self.lines.push("[cut: there may be more]".to_owned());
        }
        self.lines.extend(self.missed.summary());
        self.lines.join("\n")
    }

    fn folder(&mut self, confined: &Confined, path: &str, depth: usize) {
        let found = match confined.list(path, MOST_FILES) {
            Ok(found) => found,
            Err(refused) => return self.missed.refused(&refused),
        };
        self.is_cut |= found.more;
        self.missed.unnamed += found.unnamed;
        self.folders += 1;
        for entry in found.entries {
            if self.is_used_up() {
                self.is_cut = true;
                return;
            }
            let inner = if path == "." { entry.name.clone() } else { format!("{path}/{}", entry.name) };
            match (entry.name.strip_suffix('/'), entry.size) {
                (Some(_), _) if depth < DEEPEST => {
                    self.folder(confined, inner.trim_end_matches('/'), depth + 1)
                }
                (Some(_), _) => self.is_cut = true,
                (None, Some(_)) => {
                    if let Err(refused) = self.file(confined, &inner) {
                        self.missed.refused(&refused);
                    }
                }
                (None, None) => self.missed.special += 1,
            }
        }
    }

    fn is_used_up(&self) -> bool {
        self.lines.len() >= MOST_MATCHES
            || self.files + self.missed.binary + self.missed.unreadable >= MOST_FILES
            || self.folders >= MOST_FOLDERS
            || self.bytes >= MOST_SEARCHED_IN_ALL
    }

    fn file(&mut self, confined: &Confined, path: &str) -> Result<(), PathRefused> {
        let file = confined.read(path)?;
        let Ok((bytes, more)) = read_at_most(file, MOST_SEARCHED) else {
            self.missed.unreadable += 1;
            return Ok(());
        };
        self.bytes += bytes.len() as u64;
        if is_binary(&bytes) {
            self.missed.binary += 1;
            return Ok(());
        }
        self.files += 1;
        self.is_cut |= more;
        for (number, line) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
            if !self.pattern.is_match(line) {
                continue;
            }
            if self.lines.len() >= MOST_MATCHES {
                self.is_cut = true;
                break;
            }
            let shown: String = line.chars().take(LONGEST_LINE).collect();
            self.lines.push(format!("{path}:{number}: {shown}"));
        }
        Ok(())
    }
}

fn arguments<'a, T: Deserialize<'a>>(call: &'a ToolCall) -> Result<T, ToolError> {
    if !call.arguments.is_object() {
        return Err(ToolError::NoObject);
    }
    T::deserialize(&call.arguments).map_err(ToolError::Arguments)
}

/// Text has no NUL at its beginning.
fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8 * 1024)].contains(&0)
}

/// The arguments of a call as they are shown and kept: cut, and never longer than [`LONGEST_ARGUMENTS`].
pub fn brief(arguments: &Value) -> Value {
    const LONGEST: usize = 200;
    let Some(object) = arguments.as_object() else {
        return Value::Null;
    };
    let head = |text: &str| {
        let head: String = text.chars().take(LONGEST).collect();
        json!(format!("{head}… [{} bytes]", text.len()))
    };
    let cut = |value: &Value| match value {
        Value::String(text) if text.chars().count() > LONGEST => head(text),
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() > LONGEST_ARGUMENT { head(&text) } else { value.clone() }
        }
        value => value.clone(),
    };
    let kept: Value = object.iter().map(|(key, value)| (key.clone(), cut(value))).collect();
    // Its names may be as long, or as many, as it likes.
    let text = kept.to_string();
    if text.len() > LONGEST_ARGUMENTS { head(&text) } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/lib.rs"), "pub fn a() {}\nfn b() {}\n").unwrap();
        fs::write(folder.path().join("long.txt"), "x".repeat(40_000)).unwrap();
        fs::write(folder.path().join("data.bin"), b"fn \0 b").unwrap();
        fs::write(folder.path().join(".env"), "fn secret").unwrap();
        folder
    }

    fn ask(folder: &tempfile::TempDir, name: &str, arguments: Value) -> ToolResult {
        let all = [Tool::List, Tool::Read, Tool::Search, Tool::Write];
        let toolbox = Toolbox::new(Confined::open(folder.path()).unwrap(), &all);
        toolbox.call(&ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments })
    }

    #[test]
    fn a_model_lists_reads_searches_and_writes() {
        let folder = folder();
        let listed = ask(&folder, "list", json!({"path": "."})).text;
        assert_eq!(listed, "data.bin (6 bytes)\nlong.txt (40000 bytes)\nsrc/");
        assert!(ask(&folder, "read", json!({"path": "src/lib.rs"})).text.starts_with("pub fn a"));
        let long = ask(&folder, "read", json!({"path": "long.txt"})).text;
        assert!(long.ends_with("[cut: 40000 bytes in all; go on with offset 32768]"), "{}", &long[32_700..]);
        let rest = ask(&folder, "read", json!({"path": "long.txt", "offset": 32_768})).text;
        assert_eq!(rest.len(), 40_000 - 32_768);
        let found = ask(&folder, "search", json!({"pattern": r"^(pub )?fn \w"})).text;
        assert_eq!(found, "src/lib.rs:1: pub fn a() {}\nsrc/lib.rs:2: fn b() {}\n[1 not searched: 1 binary]");
        let in_file = ask(&folder, "search", json!({"pattern": "fn b", "path": "src/lib.rs"})).text;
        assert_eq!(in_file, "src/lib.rs:2: fn b() {}");
        assert!(!ask(&folder, "write", json!({"path": "new/x.txt", "content": "hi"})).failed);
        assert_eq!(fs::read_to_string(folder.path().join("new/x.txt")).unwrap(), "hi");
    }

    #[test]
    fn the_workspace_is_searched_whatever_it_is_called() {
        let folder = folder();
        for path in ["", ".", "./", "././"] {
            let found = ask(&folder, "search", json!({"pattern": "fn b", "path": path})).text;
            assert!(found.contains("src/lib.rs:2: fn b() {}"), "'{path}': {found}");
        }
        for path in ["src", "src/", "./src//"] {
            let found = ask(&folder, "search", json!({"pattern": "fn b", "path": path})).text;
            assert!(found.contains("lib.rs:2: fn b() {}"), "'{path}': {found}");
        }
        for path in ["/", "//", "/src"] {
            let refused = ask(&folder, "search", json!({"pattern": "fn b", "path": path}));
            assert!(refused.failed && refused.text.contains("outside"), "{}", refused.text);
        }
    }

    #[test]
    fn where_a_search_did_not_look_it_does_not_claim_that_there_is_nothing() {
        use std::os::unix::ffi::OsStrExt;
        let folder = folder();
        let odd = std::ffi::OsStr::from_bytes(b"odd-\xff");
        fs::write(folder.path().join("src").join(odd), "fn wanted").unwrap();
        std::os::unix::fs::symlink("src/lib.rs", folder.path().join("link")).unwrap();
        let found = ask(&folder, "search", json!({"pattern": "wanted"})).text;
        assert_eq!(
            found,
            "[no line matches in 2 files]\n[3 not searched: 1 binary, 1 with a name that is not UTF-8, \
             1 no regular files, or links]"
        );
        let listed = ask(&folder, "list", json!({"path": "src"})).text;
        assert!(listed.ends_with("[and 1 whose names are not UTF-8]"), "{listed}");
        let alone = ask(&folder, "search", json!({"pattern": "fn", "path": "data.bin"})).text;
        assert_eq!(alone, "[no line matches in 0 files]\n[1 not searched: 1 binary]");
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let folder = folder();
        for (name, arguments, why) in [
            ("read", json!({"path": "data.bin"}), "binary file of 6 bytes"),
            ("read", json!({"path": "../x"}), "outside"),
            ("read", json!({"path": ".env"}), "not shown"),
            ("read", json!({}), "missing field"),
            ("read", json!("src"), "not a JSON object"),
            ("read", json!({"path": "src", "mode": 1}), "unknown field"),
            ("search", json!({"pattern": "("}), "pattern cannot be used"),
            ("search", json!({"pattern": "a", "path": "none"}), "there is no 'none'"),
            ("shell", json!({}), "there is no tool 'shell'; there are: list, read, search, write"),
            ("write", json!({"path": ".git/hooks/x", "content": ""}), "not shown"),
        ] {
            let result = ask(&folder, name, arguments.clone());
            assert!(result.failed && result.text.contains(why), "{name} {arguments}: {}", result.text);
        }
        assert!(ask(&folder, "search", json!({"pattern": "secret"})).text.starts_with("[no line matches"));
    }

    #[test]
    fn a_reviewer_cannot_write() {
        let folder = folder();
        let toolbox = Toolbox::new(Confined::open(folder.path()).unwrap(), &FOR_REVIEWERS);
        let result = toolbox.call(&ToolCall {
            id: String::new(),
            name: "write".to_owned(),
            arguments: json!({"path": "x", "content": ""}),
        });
        assert!(result.failed && !folder.path().join("x").exists());
    }

    #[test]
    fn long_arguments_are_kept_short() {
        let kept = brief(&json!({"path": "a", "content": "y".repeat(1_000)}));
        assert_eq!(kept["path"], "a");
        assert!(kept["content"].as_str().unwrap().ends_with("… [1000 bytes]"));
        let argv = brief(&json!({"argv": ["sh", "-c", "z".repeat(300)]}));
        assert_eq!(argv["argv"][0], "sh");
        let many: serde_json::Map<String, Value> =
            (0..10_000).map(|n| (format!("key {n}"), json!(n))).collect();
        for huge in [
            json!({"argv": ["x".repeat(1 << 20)]}),
            json!({"path": {"deep": [vec![7; 100_000]]}}),
            json!({"n".repeat(1 << 20): 1}),
            Value::Object(many),
        ] {
            let bytes = brief(&huge).to_string();
            assert!(bytes.len() < 1_000 && bytes.contains(" bytes]"), "{bytes}");
        }
    }
}
