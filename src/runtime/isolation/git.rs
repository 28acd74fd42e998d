//! The git program: each of its calls in quorum is made here, by no configuration but what is said in `configuration`.
//!
//! What stands in a repository was often written by an agent, and the folder of the user can be written by one. So git reads
//! neither the system's nor the user's configuration, and what a repository's own could have it run is switched off: hooks,
//! filters, file system monitors, fetches of missing objects, transports, replacements of objects. What is wanted of the user's
//! configuration is read by key ([`Configuration`]). Each call writes in its repository and its worktree only, and reads nothing of
//! the user but these, where the system can see to that.
//!
//! | file | what |
//! |---|---|
//! | `borrowed_objects` | the objects that a repository finds in others, and the folders of git that a workspace belongs to |
//! | `configuration` | what git goes by: no hooks, no filters, nothing of the system's and the user's configuration but what is read by key |
//! | `reaching` | calls that reach other repositories, and that read what comes from there |

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;

use crate::executor::error::WorkError;

mod borrowed_objects;
mod configuration;
#[cfg(any(feature = "temporal", test))]
mod reaching;

pub use borrowed_objects::{borrow, borrowed, folders_of, lenders, quoted};
pub use configuration::Configuration;

use borrowed_objects::lent;

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

    /// With a file that names what is not followed.
    #[cfg(any(feature = "temporal", test))]
    pub fn excluding(self, file: &Path) -> Self {
        match file.to_str() {
            Some(name) => self.set("core.excludesFile", name).reads(file),
            None => self,
        }
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
        if output.status.success() { Ok(output) } else { Err(failed(&output)) }
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
    program.as_deref().ok_or_else(|| refused("there is no program `git`"))
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
    let system = if SYSTEM.iter().any(|folder| program.starts_with(folder)) { &SYSTEM[..] } else { &["/"] };
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
    let said = lines().find(is_reason).or_else(|| lines().last()).unwrap_or("it says nothing");
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
    let entries = output.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    entries.map(|entry| String::from_utf8_lossy(entry).into_owned())
}

pub fn refused(why: impl Into<std::borrow::Cow<'static, str>>) -> WorkError {
    WorkError::Refused(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_blanks() {
        let output =
            |text: &str| Output { status: Default::default(), stdout: text.into(), stderr: Vec::new() };
        assert_eq!(text(output("a \n")), "a ");
        assert_eq!(text(output("a\n\n")), "a\n");
        assert_eq!(entries(&output("a \0\nb\0")).collect::<Vec<_>>(), ["a ", "\nb"]);
    }

    #[test]
    fn the_reason_of_a_failure_is_the_line_that_names_it() {
        let failed_with = |text: &str| {
            let output = Output { status: Default::default(), stdout: Vec::new(), stderr: text.into() };
            failed(&output).to_string()
        };
        let locked = "fatal: Unable to create '/r/HEAD.lock': File exists.\n\nAnother process\nremove it.";
        assert!(failed_with(locked).ends_with("/r/HEAD.lock': File exists."));
        assert!(failed_with("hint: a\nerror: one\nfatal: two\n").ends_with("error: one"));
        assert!(failed_with("odd\nwords\n").ends_with("words"));
        assert!(failed_with("").ends_with("it says nothing"));
    }
}
