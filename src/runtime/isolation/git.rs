//! The git program: each of its calls in quorum is made here, by no configuration but what is said here.
//!
//! What stands in a repository was often written by an agent, and the folder of the user can be written by one. So git reads
//! neither the system's nor the user's configuration, and what a repository's own could have it run is switched off: hooks,
//! filters, file system monitors, fetches of missing objects, transports, replacements of objects. What is wanted of the user's
//! configuration is read by key ([`Configuration`]). Each call writes in its repository and its worktree only, and reads nothing of
//! the user but these, where the system can see to that.
//!
//! | file | what |
//! |---|---|
//! | `configuration` | what is read of the configuration of a repository and of its user |
//! | `reaching` | calls that reach other repositories, and that read what comes from there |

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;

use crate::executor::error::WorkError;
use supervisor::files;

mod configuration;
#[cfg(any(feature = "temporal", test))]
mod reaching;

pub use configuration::Configuration;

/// Where the system keeps its programs: no agent of a user writes there, whatever stands first on their PATH.
const SYSTEM_PATH: &str = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin";

/// The folders that hold git, the only ones of which it starts anything.
const SYSTEM: [&str; 11] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/nix",
    "/gnu",
    "/run/current-system",
    "/dev",
];

/// The environment of git.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // Older ones than 2.45 know nothing of the next one, and would fetch what is missing by a program that the repository names.
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
];

/// Variables that keep the configuration of system and user out.
const ALONE: [(&str, &str); 3] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
];

/// Settings that count before the configuration of any repository.
const SETTINGS: [(&str, &str); 17] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    // With an empty command git would run the path of the other repository.
    ("core.alternateRefsCommand", "true"),
    ("core.pager", "cat"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("merge.verifySignatures", "false"),
    ("merge.stat", "false"),
    ("log.showSignature", "false"),
    ("advice.detachedHead", "false"),
];

/// The longest file that names a folder, in bytes.
const LONGEST_PATH: u64 = 8 << 10;
/// The longest configuration that is looked into, in bytes.
const LONGEST_CONFIGURATION: u64 = 1 << 20;
/// How many repositories lend their objects one to the other: more than git follows.
const MOST_LENDERS: usize = 6;

/// How long one call may take.
const LONGEST: Duration = Duration::from_secs(10 * 60);
/// The time that a call may take once the session ends.
const MOMENT: Duration = Duration::from_secs(1);

/// A call of git.
pub struct Git {
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    settings: Vec<(String, String)>,
    /// `None`: that of our own process.
    folder: Option<PathBuf>,
    input: Option<PathBuf>,
    /// Further paths that the call writes to, beside the folder.
    writes: Vec<PathBuf>,
    /// Further paths that the call reads.
    reads: Vec<PathBuf>,
    /// Whether it reaches other machines.
    network: bool,
    /// How many bytes it may print.
    printed: usize,
    /// How many bytes of objects its repository may come to have during the call.
    grows: Option<u64>,
    /// The signal that ends the call once this process has ended.
    at_our_end: Signal,
}

impl Git {
    /// One without a repository.
    pub fn new() -> Self {
        let mut git = Self::with(&ALONE);
        git.settings
            .extend(SETTINGS.map(|(key, value)| (key.to_owned(), value.to_owned())));
        git
    }

    fn with(more: &[(&str, &str)]) -> Self {
        let environment = ENVIRONMENT.iter().chain(more);
        Self {
            arguments: Vec::new(),
            environment: environment
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            settings: Vec::new(),
            folder: None,
            input: None,
            writes: vec!["/dev/null".into()],
            reads: Vec::new(),
            network: false,
            printed: usize::MAX,
            grows: None,
            at_our_end: Signal::TERM,
        }
    }

    /// With a variable of our own environment, if it is set.
    fn kept(self, name: &str) -> Self {
        match std::env::var_os(name) {
            Some(value) => self.env(name, value),
            None => self,
        }
    }

    /// Runs the call in this folder.
    pub fn at(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Runs the call on this repository.
    pub fn in_repository(mut self, repository: &Path) -> Self {
        self.writes.push(repository.to_owned());
        self.env("GIT_DIR", repository)
    }

    /// In a repository of a run, whose locks the next session removes: nothing of the call is left once this process is killed.
    pub fn cut_off_with_us(mut self) -> Self {
        self.at_our_end = Signal::KILL;
        self
    }

    /// With this index; it may write whatever lies beside that.
    pub fn indexed(mut self, index: &Path) -> Self {
        self.writes.extend(index.parent().map(Path::to_owned));
        self.env("GIT_INDEX_FILE", index)
    }

    /// On a repository that may belong to somebody else: whoever works in it was told to.
    pub fn trusting(self) -> Self {
        self.set("safe.directory", "*")
    }

    /// Sets a setting of git for the call.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// With a file, or a folder, that it may read as well.
    pub fn reads(mut self, path: impl Into<PathBuf>) -> Self {
        self.reads.push(path.into());
        self
    }

    /// With another repository of this machine to fetch from.
    pub fn fetching(self) -> Self {
        self.env("GIT_ALLOW_PROTOCOL", "file")
    }

    /// With a file as its standard input.
    pub fn reading(mut self, file: &Path) -> Self {
        self.input = Some(file.to_owned());
        self
    }

    /// Makes the call with these arguments behind those that it has, and says how it ended, whatever its code is.
    ///
    /// # Errors
    /// When git cannot be run, or did not end by itself.
    pub fn output(
        self,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Output, WorkError> {
        output(self.args(arguments))
    }

    /// Runs git; an exit other than 0 is an error.
    ///
    /// # Errors
    ///
    /// In the words of git.
    pub fn run(self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Output, WorkError> {
        let output = self.output(arguments)?;
        if output.status.success() {
            Ok(output)
        } else {
            Err(failed(&output))
        }
    }

    /// Runs git and drops its output; an exit other than 0 is an error.
    ///
    /// # Errors
    ///
    /// In the words of git.
    pub fn done(self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<(), WorkError> {
        self.run(arguments).map(drop)
    }

    /// Runs git and gives its output as [`text`]; an exit other than 0 is an error.
    ///
    /// # Errors
    ///
    /// In the words of git.
    pub fn line(self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<String, WorkError> {
        self.run(arguments).map(text)
    }

    /// The end of a call that asks: `None` is a no, or nothing of that kind is there.
    ///
    /// # Errors
    /// In the words of git, for everything else.
    pub fn answer(
        self,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Option<Output>, WorkError> {
        let output = self.output(arguments)?;
        match output.status.code() {
            Some(0) => Ok(Some(output)),
            Some(1) => Ok(None),
            _ => Err(failed(&output)),
        }
    }

    /// The object that a name stands for; `None` where there is no such name.
    ///
    /// # Errors
    ///
    /// In the words of git.
    pub fn resolve(self, name: &str) -> Result<Option<String>, WorkError> {
        Ok(self.answer(["rev-parse", "--verify", "-q", name])?.map(text))
    }
}

/// The program, which is looked for once: where the system keeps its own, else on the PATH.
///
/// # Errors
/// When there is none.
pub fn program() -> Result<&'static Path, WorkError> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let path = std::env::var("PATH").unwrap_or_default();
        supervisor::resolve("git", &format!("{SYSTEM_PATH}:{path}"), Path::new("/")).ok()
    });
    program
        .as_deref()
        .ok_or_else(|| refused("there is no program `git`"))
}

/// How a call ended, whatever its code is.
fn output(git: Git) -> Result<Output, WorkError> {
    let text = |word: OsString| {
        let word = word.into_string();
        word.map_err(|word| refused(format!("{} is not UTF-8", word.display())))
    };
    let program = program()?;
    let own = program.parent().unwrap_or(program);
    // What programs that lie elsewhere are made of is not known.
    let system = match SYSTEM.iter().any(|folder| program.starts_with(folder)) {
        true => &SYSTEM[..],
        false => &["/"],
    };
    let path = std::env::join_paths([own, Path::new("/usr/bin"), Path::new("/bin")]);
    let mut environment = vec![("PATH".to_owned(), text(path.unwrap_or_default())?)];
    let grown = git.grows.and_then(|most| {
        let mut variables = git.environment.iter();
        let (_, repository) = variables.find(|(name, _)| name == "GIT_DIR")?;
        Some((Path::new(repository).join("objects"), most))
    });
    let mut writes = git.writes;
    let folder = match git.folder {
        Some(folder) => {
            // Where a repository is named, what lies in the folder is not asked, which may be an agent's.
            if !git.environment.iter().any(|(name, _)| name == "GIT_DIR") {
                writes.extend(folders_of(&folder));
            }
            writes.push(folder.clone());
            folder
        }
        None => ".".into(),
    };
    for (name, value) in git.environment {
        environment.push((text(name)?, text(value)?));
    }
    environment.push(("GIT_CONFIG_COUNT".to_owned(), git.settings.len().to_string()));
    for (number, (key, value)) in git.settings.into_iter().enumerate() {
        environment.push((format!("GIT_CONFIG_KEY_{number}"), key));
        environment.push((format!("GIT_CONFIG_VALUE_{number}"), value));
    }
    let words = [program.as_os_str().to_owned()].into_iter().chain(git.arguments);
    let words = words.map(text).collect::<Result<Vec<_>, _>>()?;
    let bounds = supervisor::Bounds {
        reads: lent([&writes[..], &git.reads].concat()),
        writes,
        programs: system,
        network: git.network,
        printed: git.printed,
        at_our_end: git.at_our_end,
    };
    let input = git.input.unwrap_or_else(|| "/dev/null".into());
    let file = fs::File::open(&input).map_err(WorkError::file("read", &input))?;
    let (begun, since) = (Instant::now(), SystemTime::now());
    let is_grown = || {
        let mut grown = grown.iter();
        grown.any(|(objects, most)| grown_since(objects, since) > *most)
    };
    let is_over = || begun.elapsed() >= LONGEST || is_hurried(begun) || is_grown();
    supervisor::call::output(&words, &environment, (&folder, file), &bounds, is_over)
        .map_err(|error| refused(format!("git cannot be run: {error}")))
}

/// How many bytes the files of a folder of objects have that were written since.
fn grown_since(objects: &Path, since: SystemTime) -> u64 {
    // What vanishes meanwhile, or cannot be read, is none of them.
    let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let files = below(objects.to_owned()).flat_map(|entry| below(entry.path()));
    let written = files.filter_map(|entry| {
        let found = entry.metadata().ok()?;
        (found.modified().ok()? >= since).then_some(found.len())
    });
    written.sum()
}

/// When the session is to end, if that is known.
static HURRY: Mutex<Option<Instant>> = Mutex::new(None);

/// Gives each call that is under way then, and those that begin from then on, only a moment: the session is to end.
pub fn hurry(then: Instant) {
    let mut known = crate::locked(&HURRY);
    *known = Some(known.map_or(then, |known| known.min(then)));
}

/// Whether a call that began then has had its moment.
fn is_hurried(begun: Instant) -> bool {
    let known = *crate::locked(&HURRY);
    known.is_some_and(|then| begun.max(then).elapsed() >= MOMENT)
}

/// Why a call has failed, in the words of git.
pub fn failed(output: &Output) -> WorkError {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines = || said.trim().lines();
    let is_reason = |line: &&str| ["fatal: ", "error: "].iter().any(|word| line.starts_with(word));
    let said = lines()
        .find(is_reason)
        .or_else(|| lines().last())
        .unwrap_or("it says nothing");
    refused(format!("git ended with {}: {said}", output.status))
}

/// The output of a call without the end of its line: a path may end in blanks.
pub fn text(output: Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.ends_with('\n') {
        text.pop();
    }
    text
}

/// The output of a call, where each entry ends in a zero.
pub fn entries(output: &Output) -> impl Iterator<Item = String> {
    let entries = output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty());
    entries.map(|entry| String::from_utf8_lossy(entry).into_owned())
}

pub fn refused(why: impl Into<std::borrow::Cow<'static, str>>) -> WorkError {
    WorkError::Refused(why.into())
}

/// Has a repository find objects in those of others as well: where another one does, and in a folder.
///
/// # Errors
/// When that cannot be written.
pub fn borrow(repository: &Path, others: &str, objects: &Path) -> Result<(), WorkError> {
    let path = repository.join("objects/info/alternates");
    let mut line = objects.display().to_string();
    if line.contains('\n') {
        line = quoted(&line);
    }
    files::replace_file(&path, format!("{others}{line}\n").as_bytes())
        .map_err(WorkError::file("write", &path))
}

/// A text between quotation marks, as git reads it in its files.
pub fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace("\"", "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}

/// The folder that a line of such a list names.
pub fn borrowed(line: &str) -> PathBuf {
    let Some(quoted) = line.strip_prefix("\"").and_then(|line| line.strip_suffix("\"")) else {
        return line.into();
    };
    let mut path = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        path.extend(match character {
            '\\' => characters
                .next()
                .map(|next| if next == 'n' { '\n' } else { next }),
            _ => Some(character),
        });
    }
    path.into()
}

/// Whether a folder of git has a configuration that names others, which may lie anywhere.
fn includes(folder: &Path) -> bool {
    ["config", "config.worktree"].iter().any(|name| {
        match files::read_regular(&folder.join(name), LONGEST_CONFIGURATION) {
            Ok(bytes) => String::from_utf8_lossy(&bytes)
                .to_lowercase()
                .contains("[include"),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    })
}

/// Adds to `folders` what the repositories among them find elsewhere: their own parts where those are links,
/// the objects of others, and all that their configuration may name.
fn lent(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    // What cannot be listed, or read below, git cannot read either, and says so.
    let is_link = |path: &PathBuf| path.is_symlink();
    let parts = ["objects", "commondir"];
    let is_own = |folder: &&PathBuf| parts.iter().any(|part| folder.join(part).exists());
    let own: Vec<&PathBuf> = folders.iter().filter(is_own).collect();
    if own.iter().any(|folder| includes(folder)) {
        return vec!["/".into()];
    }
    let entries = own
        .into_iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let links: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_link).collect();
    let mut lenders: Vec<PathBuf> = folders.iter().map(|folder| folder.join("objects")).collect();
    let mut all = [folders, links].concat();
    for _ in 0..MOST_LENDERS {
        let lists = lenders.iter().filter_map(|objects| {
            let list = files::read_regular(&objects.join("info/alternates"), LONGEST_PATH).ok()?;
            Some((objects, String::from_utf8(list).ok()?))
        });
        let others = lists.flat_map(|(objects, list)| {
            let lines = list.lines().map(|line| objects.join(borrowed(line)));
            lines.collect::<Vec<_>>()
        });
        let others = others.filter(|objects| objects.ends_with("objects"));
        lenders = others.collect::<BTreeSet<_>>().into_iter().collect();
        lenders.retain(|objects| !all.contains(objects));
        all.extend(lenders.iter().cloned());
    }
    all
}

/// The folders in which folders of git find objects of others, as far as their lists tell.
pub fn lenders(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = lent(folders.to_vec());
    all.retain(|path| path.ends_with("objects"));
    all
}

/// The folders of git that a workspace belongs to: its own, and the one that it shares with other worktrees. They are found
/// without git.
pub fn folders_of(workspace: &Path) -> Vec<PathBuf> {
    let mut entries = workspace.ancestors().map(|above| above.join(".git"));
    let Some(entry) = entries.find(|git| git.exists()) else {
        return Vec::new();
    };
    let beside = |place: &Path, text: &str| place.parent().unwrap_or(place).join(text.trim_end_matches('\n'));
    let read = |path: &Path| {
        let bytes = files::read_regular(path, LONGEST_PATH).ok()?;
        String::from_utf8(bytes).ok()
    };
    let own = match read(&entry) {
        Some(text) => beside(&entry, text.strip_prefix("gitdir: ").unwrap_or_default()),
        None => entry,
    };
    let common = own.join("commondir");
    let common = read(&common).map(|text| beside(&common, &text));
    let all = [Some(own), common].into_iter().flatten();
    all.filter_map(|folder| fs::canonicalize(folder).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_blanks() {
        let output = |text: &str| Output {
            status: Default::default(),
            stdout: text.into(),
            stderr: Vec::new(),
        };
        assert_eq!(text(output("a \n")), "a ");
        assert_eq!(text(output("a\n\n")), "a\n");
        assert_eq!(entries(&output("a \0\nb\0")).collect::<Vec<_>>(), ["a ", "\nb"]);
    }

    #[test]
    fn the_reason_of_a_failure_is_the_line_that_names_it() {
        let failed_with = |text: &str| {
            let output = Output {
                status: Default::default(),
                stdout: Vec::new(),
                stderr: text.into(),
            };
            failed(&output).to_string()
        };
        let locked = "fatal: Unable to create '/r/HEAD.lock': File exists.\n\nAnother process\nremove it.";
        assert!(failed_with(locked).ends_with("/r/HEAD.lock': File exists."));
        assert!(failed_with("hint: a\nerror: one\nfatal: two\n").ends_with("error: one"));
        assert!(failed_with("odd\nwords\n").ends_with("words"));
        assert!(failed_with("").ends_with("it says nothing"));
    }

    #[test]
    fn the_folders_of_a_linked_worktree_lie_where_its_files_say() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        fs::create_dir_all(at("main/.git/worktrees/w")).unwrap();
        fs::create_dir_all(at("linked/deep")).unwrap();
        let own = at("main/.git/worktrees/w");
        fs::write(at("linked/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let found = [own, at("main/.git")].map(|path| fs::canonicalize(path).unwrap());
        assert_eq!(folders_of(&at("linked/deep")), found);
        assert_eq!(folders_of(&at("main")), found[1..]);
    }

    #[test]
    fn git_reads_its_repository_and_who_lends_it_objects_and_nothing_else_of_the_user() {
        let place = supervisor::files::no_links::scratch_folder().unwrap();
        let at = |path: &str| place.path().join(path);
        let git = |folder: &str| Git::new().at(&at(folder));
        for name in ["lender", "middle", "work"] {
            fs::create_dir(at(name)).unwrap();
            git(name).run(["init", "-q"]).unwrap();
        }
        fs::write(at("lender/file"), "lent").unwrap();
        let object = git("lender").line(["hash-object", "-w", "file"]).unwrap();
        borrow(&at("middle/.git"), "", &at("lender/.git/objects")).unwrap();
        fs::write(
            at("work/.git/objects/info/alternates"),
            "../../../middle/.git/objects\n",
        )
        .unwrap();
        fs::rename(at("work/.git/refs"), at("refs")).unwrap();
        std::os::unix::fs::symlink(at("refs"), at("work/.git/refs")).unwrap();
        let shown = git("work").line(["cat-file", "blob", &object]);
        assert_eq!(shown.unwrap(), "lent");
        let others = at("lender/file").to_string_lossy().into_owned();
        let hash = |git: Git| git.line(["hash-object", &others]);
        assert_eq!(hash(git("work").reads(at("lender"))).unwrap(), object);
        let why = hash(git("work")).unwrap_err().to_string();
        assert!(why.contains("Permission denied"), "{why}");
        let include = ["config", "include.path", &others];
        fs::write(&others, "[a]\nb = c\n").unwrap();
        git("work").run(include).unwrap();
        assert_eq!(git("work").line(["config", "a.b"]).unwrap(), "c");
    }
}
