//! One command: every process that a run starts begins as a [`CommandJob`] and ends as a [`CommandEnd`]. What an end
//! means is its caller's business; what holds for all of them is done here: the working folder is made, outputs are
//! bounded, secrets are taken out of all that it left, and an output that is lost is told from an empty one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agents::command_line::{Placeholders, path_variable};
use crate::agents::preset::{CommandAgent, ProgramStart, TurnSession, Use};
use crate::agents::secrets::{Secrets, own_variable};
use crate::review::checks::CommandOutcome;
use crate::test_clock::scaled_ms;
use rules::domain::Millis;
use rules::engine::FileRef;
use rules::mission::expand;
use rules::mission::model::Preset;
use supervisor::{ChildExit, MountPlan, RequestFile, Spawn};

use super::error::WorkError;
use super::preset_files::files_of;
use super::spool::{ResultClaims, clean_file, is_as_printed, read_claims, read_head, read_tail};
use super::workspace::make_folder;

/// From SIGTERM to SIGKILL (semantics, section 5).
pub const GRACE: Millis = Millis::from_secs(3);
/// How long a command of the mission may take that does not say (section 6).
pub const COMMAND_TIMEOUT: Millis = Millis::from_secs(600);
/// How much of what a command of the mission printed is kept in its result, in bytes.
pub const SHOWN: u64 = 4_000;
/// How much of standard error is read when an agent fails, in bytes: its last line is quoted, its class is found in it.
const STDERR_TAIL: u64 = 8_000;
/// How much of an agent's output may be its last structured error, in bytes: some quote their whole answer in it.
const STDOUT_TAIL: u64 = 1024 * 1024;
/// Characters of what a failed agent says of itself that are quoted.
pub const LONGEST_QUOTE: usize = 500;

/// A folder that a task's commands work in instead of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    pub folder: PathBuf,
    /// The objects that its repository borrows.
    pub objects: PathBuf,
}

/// A command that is to be run, with all that it needs. Its bytes are the same command wherever the files are that it names;
/// values of our own environment stand in them by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandJob {
    /// The name of the command for people and in the record of exits.
    pub label: String,
    /// The program as an absolute path, and its arguments.
    pub argv: Vec<String>,
    /// The variables that it is told.
    pub variables: Vec<(String, String)>,
    /// Its other variables, whose texts have values of our own environment by name, `${NAME}`.
    pub env: Vec<(String, String)>,
    /// The working folder of the command.
    pub cwd: PathBuf,
    /// A folder that is there already: where it works is made, if that lies below. Without one it must be there.
    pub within: Option<PathBuf>,
    /// The folder that stands for the one of its task, where it works elsewhere.
    pub apart: Option<Box<Apart>>,
    /// A file to read as standard input.
    pub stdin: Option<PathBuf>,
    /// Files that it is asked by: see [`Spawn::told`].
    pub told: Vec<RequestFile>,
    /// Files and folders of the state folder that it may read beside those that its variables name.
    pub shown: Vec<PathBuf>,
    /// Whether what it prints decides, so that nobody may write over it: see [`Spawn::sealed`].
    pub sealed: bool,
    /// The files that the command may leave behind.
    pub outputs: CommandOutputs,
    /// The most time for the command.
    pub timeout: Millis,
    /// Whether the command goes on when the session dies, for the next one to take over.
    pub outlives_session: bool,
    /// The mounts of the command; `None` gives it as much as this process.
    pub confinement: Option<MountPlan>,
    /// Whether the command is not confined, whatever its owner is.
    pub is_free: bool,
    /// Whether the command prepares a folder for the turns that follow, so that what it leaves there is to
    /// stay.
    pub prepares: bool,
    /// Whether the command sees the files that are kept from workers.
    pub sees_hidden: bool,
    /// The copy of its folder that the command works in, where it has one for that.
    pub copy: Option<PathBuf>,
}

/// The files that a command may leave behind, and their treatment once it has ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandOutputs {
    /// The file for standard output; `None` keeps nothing of it.
    pub stdout: Option<PathBuf>,
    /// The file for standard error. The same file as `stdout` holds both as they were printed.
    pub stderr: Option<PathBuf>,
    /// The file in which the command may claim something of its work.
    pub result: Option<PathBuf>,
    /// The secrets that are taken out of all of them.
    pub secrets: Arc<Secrets>,
    /// How many bytes it may print in all.
    pub limit: u64,
    /// How what it prints is read while it works, of an agent's program.
    pub preset: Option<Arc<Preset>>,
    /// Why the command was ended before its time; `None` where it was not.
    pub given_up: Option<GivenUp>,
}

impl CommandOutputs {
    /// Reads the outputs of a command that has ended, or never began, and takes the secrets out. Blocks.
    pub fn end(self, result: Result<ChildExit, WorkError>) -> CommandEnd {
        let mut exit = match result {
            Ok(exit) => exit,
            Err(why) => return CommandEnd::not_started(why),
        };
        if self.given_up == Some(GivenUp::Over) {
            // How it ends then says nothing of what it did before.
            (exit.code, exit.signal, exit.timed_out) = (Some(0), None, false);
        }
        // What came by a pipe is bounded by what any reader of it takes, which may be more.
        exit.output_cut |= exit.stdout_len.saturating_add(exit.stderr_len) > self.limit;
        if let Some(stdout) = &self.stdout {
            let cleaned = is_as_printed(stdout, &exit).and_then(|()| clean_file(&self.secrets, stdout));
            if let Err(why) = cleaned {
                exit.output_lost.get_or_insert(why.into());
            }
        }
        // What it complained of is no evidence: where that cannot be cleaned, there is none.
        if let Some(stderr) = self.stderr.as_ref().filter(|file| self.stdout.as_ref() != Some(file)) {
            let _ = clean_file(&self.secrets, stderr);
        }
        let result = self.result.as_ref();
        result.into_iter().for_each(|result| remove_empty_file(result));
        let unclean = result.and_then(|result| clean_file(&self.secrets, result).err());
        let unclean = unclean.map(String::from);
        if !self.secrets.is_empty() {
            // Without what nobody may read it is not what was printed.
            exit.stdout_digest = None;
        }
        CommandEnd { exit, not_started: None, outputs: self, unclean }
    }
}

/// Why a program was ended before its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum GivenUp {
    /// The program waits for its provider for too long.
    Waits {
        /// The line that says that it waits.
        line: String,
        /// The wait that the line tells, where it does.
        waits: Option<Millis>,
    },
    /// The program had said that nothing more is to come, and did not end.
    Over,
    /// The program has said nothing for so long.
    Silent(Millis),
}

/// The question to an agent: its prompt, maybe the same as JSON, and the JSON Schema that its reply is to keep,
/// as a text and as the path of its file.
pub type PromptFiles = (RequestFile, Option<RequestFile>, Option<(String, PathBuf)>);

impl CommandJob {
    /// The command of an agent that is asked by files: what it reads on standard input, and maybe the same as JSON. What
    /// it prints is its reply.
    ///
    /// # Errors
    /// When the files of its preset cannot be written, or its prompt not be read.
    pub fn asking(
        agent: &CommandAgent,
        about: (&str, u32, PathBuf),
        (request, review, schema): PromptFiles,
        variables: Vec<(String, String)>,
    ) -> Result<Self, WorkError> {
        let of_schema = schema.as_ref().map(|(_, file)| file.clone());
        let schema = schema.map(|(text, file)| (text, file.to_string_lossy().into_owned()));
        let schema = schema.as_ref().map(|(text, file)| (text.as_str(), file.as_str()));
        let job = Self::of_agent(
            agent,
            about,
            (Some(&request.path), variables),
            (Use::Question, TurnSession::New("")),
            (schema, None),
        )?;
        Ok(Self {
            shown: job.shown.into_iter().chain(of_schema).collect(),
            told: vec![request],
            sealed: true,
            ..job
        }
        .given(review))
    }

    /// The command that is given a review to read as JSON, if there is one.
    #[must_use]
    pub fn given(mut self, review: Option<RequestFile>) -> Self {
        if let Some(review) = review {
            let path = review.path.to_string_lossy().into_owned();
            self.variables.push(("QUORUM_REVIEW_FILE".to_owned(), path));
            self.told.push(review);
        }
        self
    }

    /// The command of an agent about a task and its attempt, in a folder. It is started with a prompt, if it has one, and told
    /// `variables`; the schema of its reply and a call that it may make once are known to programs with a preset.
    ///
    /// # Errors
    /// When the files of its preset cannot be written, or its prompt not be read.
    pub fn of_agent(
        agent: &CommandAgent,
        (title, attempt, cwd): (&str, u32, PathBuf),
        (prompt, mut variables): (Option<&Path>, Vec<(String, String)>),
        (purpose, session): (Use, TurnSession<'_>),
        (schema, allowed): (Option<(&str, &str)>, Option<&str>),
    ) -> Result<Self, WorkError> {
        let (files, shown) = match (&agent.by, prompt) {
            (Some(by), Some(prompt)) => files_of(&by.preset, prompt)?,
            _ => Default::default(),
        };
        let is_argument = agent.takes_prompt_as_argument();
        let text = match prompt.filter(|_| is_argument) {
            Some(prompt) => read_head(prompt, u64::MAX).map_err(WorkError::file("read", prompt))?,
            None => String::new(),
        };
        let prompt_file = prompt.map_or_else(String::new, |prompt| prompt.to_string_lossy().into_owned());
        if prompt.is_some() {
            variables.push(("QUORUM_PROMPT_FILE".to_owned(), prompt_file.clone()));
        }
        let start = ProgramStart {
            placeholders: Placeholders {
                task: title,
                attempt: &attempt.to_string(),
                prompt_file: &prompt_file,
                workspace: &cwd.to_string_lossy(),
            },
            purpose,
            session,
            schema,
            prompt: &text,
            files: &files,
            allowed,
        };
        let (argv, variables) = agent.start(variables, &start);
        Ok(Self {
            argv,
            variables,
            env: agent.env.variables.clone(),
            cwd,
            stdin: prompt.filter(|_| !is_argument).map(Path::to_owned),
            shown,
            ..Self::default()
        })
    }

    /// The line that its shell runs, if it is one of a shell.
    pub fn script(&self) -> Option<&str> {
        let mut words = self.argv.iter().map(String::as_str);
        words.by_ref().find(|word| *word == "-c")?;
        words.next()
    }

    /// Makes the working folder, and the request to the supervisor under a name that is unique for the
    /// supervisor's life.
    ///
    /// # Errors
    ///
    /// Why the command cannot be started.
    pub fn spawn(self, key: u64) -> Result<Spawn, WorkError> {
        if let Some(within) = &self.within {
            make_folder(&self.cwd, within)?;
        }
        let known = |name: &str| own_variable(name).or_else(|| (name == "PATH").then(path_variable));
        let mut env = self.variables;
        for (name, text) in self.env {
            if env.iter().all(|(known, _)| *known != name) {
                env.push((name, expand(&text, known)?));
            }
        }
        Ok(Spawn {
            key,
            label: self.label,
            argv: self.argv,
            env,
            cwd: self.cwd,
            stdin: self.stdin,
            told: self.told,
            sealed: self.sealed,
            stdout: self.outputs.stdout,
            stderr: self.outputs.stderr,
            timeout_ms: Some(self.timeout.0),
            grace_ms: GRACE.0,
            max_output: Some(self.outputs.limit),
            outlives_runner: self.outlives_session,
            confinement: self.confinement,
        })
    }
}

/// How long a command may take for which no mission can say it.
pub fn built_in_timeout() -> Millis {
    Millis(scaled_ms(COMMAND_TIMEOUT.0))
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum How<'e> {
    /// There never was a process; the text says why.
    NotStarted(&'e str),
    /// The process was killed after its time-out, whatever it then exited with.
    TimedOut,
    /// The process exited with this code.
    Exited(i32),
    /// The signal of this number ended the process.
    Killed(i32),
}

/// The end of a command. Its outputs lie where its job said, without secrets.
#[derive(Debug, Clone, Default)]
pub struct CommandEnd {
    /// The exit as the supervisor tells it. It has the digest of the output only as long as the file is still
    /// that output.
    pub exit: ChildExit,
    not_started: Option<String>,
    outputs: CommandOutputs,
    /// Why what it claims cannot be read.
    unclean: Option<String>,
}

impl CommandEnd {
    /// The end of a command that never was a process.
    pub fn not_started(why: impl Into<String>) -> Self {
        Self { not_started: Some(why.into()), ..Self::default() }
    }

    /// The way in which the command ended.
    pub fn how(&self) -> How<'_> {
        match (&self.not_started, self.exit.timed_out, self.exit.code) {
            (Some(why), ..) => How::NotStarted(why),
            (None, true, _) => How::TimedOut,
            (None, false, Some(code)) => How::Exited(code),
            (None, false, None) => How::Killed(self.exit.signal.unwrap_or_default()),
        }
    }

    /// Why what it printed is not where it should be.
    pub fn lost(&self) -> Option<&str> {
        self.exit.output_lost.as_deref()
    }

    /// The files that it may have left.
    pub fn outputs(&self) -> &CommandOutputs {
        &self.outputs
    }

    /// The last `most` bytes of its standard output; of what cannot be read nothing. Blocks.
    pub fn stdout_tail(&self, most: u64) -> String {
        tail(self.outputs.stdout.as_ref(), most).unwrap_or_default()
    }

    /// The end of the standard error, at most `most` bytes. Blocks.
    pub fn stderr_tail(&self, most: u64) -> String {
        tail(self.outputs.stderr.as_ref(), most).unwrap_or_default()
    }

    /// In what an agent that has failed says why: the ends of its output and of its standard error. Blocks.
    pub fn last_words(&self) -> (String, String) {
        (self.stdout_tail(STDOUT_TAIL), self.stderr_tail(STDERR_TAIL))
    }

    /// The claims of the command about its work, if there are any. Claims, not evidence. Blocks.
    ///
    /// # Errors
    ///
    /// Why that cannot be read.
    pub fn claims(&self) -> Result<Option<(FileRef, ResultClaims)>, WorkError> {
        match (&self.unclean, &self.outputs.result) {
            (Some(why), _) => Err(why.clone().into()),
            (None, Some(result)) => read_claims(result),
            (None, None) => Ok(None),
        }
    }

    /// The outcome of a command of the mission, with the end of its output, where errors stand. Blocks.
    pub fn outcome(&self) -> CommandOutcome {
        self.outcome_with(tail(self.outputs.stdout.as_ref(), SHOWN))
    }

    /// The outcome of the command, with the part of its output that was read.
    pub fn outcome_with(&self, read: io::Result<String>) -> CommandOutcome {
        let (output, unreadable) = match read {
            Ok(output) => (output, None),
            Err(error) => (String::new(), Some(error.to_string())),
        };
        CommandOutcome {
            code: self.exit.code,
            signal: self.exit.signal,
            timed_out: self.exit.timed_out,
            not_started: self.not_started.clone(),
            output_lost: self.exit.output_lost.clone().or(unreadable),
            output,
            duration: Millis(self.exit.duration_ms),
        }
    }
}

/// Where a command is confined the file must be there before it begins; most write nothing to it.
fn remove_empty_file(file: &Path) {
    if fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() == 0) {
        // What cannot be removed is an empty file.
        let _ = fs::remove_file(file);
    }
}

fn tail(file: Option<&PathBuf>, most: u64) -> io::Result<String> {
    file.map_or_else(|| Ok(String::new()), |file| read_tail(file, most))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use rules::domain::Digest;

    const KEY: &str = "a-secret-of-somebody";

    fn outputs(folder: &Path) -> CommandOutputs {
        let file = |name| Some(folder.join(name));
        CommandOutputs {
            stdout: file("out"),
            stderr: file("err"),
            result: file("result"),
            secrets: Arc::new(Secrets::of([(KEY.to_owned(), String::new())])),
            limit: 100,
            preset: None,
            given_up: None,
        }
    }

    fn exited(code: i32) -> ChildExit {
        ChildExit { code: Some(code), ..ChildExit::default() }
    }

    #[test]
    fn no_file_that_a_command_leaves_keeps_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["out", "err"] {
            fs::write(folder.path().join(name), format!("it is {KEY}")).unwrap();
        }
        let claimed = format!(r#"{{"output": "it is {KEY}"}}"#);
        fs::write(folder.path().join("result"), claimed).unwrap();
        let end = outputs(folder.path()).end(Ok(exited(0)));
        let clean = format!("it is {}", "*".repeat(KEY.len()));
        assert_eq!(end.last_words(), (clean.clone(), clean.clone()));
        assert_eq!(end.claims().unwrap().unwrap().1.output, Some(clean));
        assert_eq!((end.how(), end.lost()), (How::Exited(0), None));
    }

    #[test]
    fn an_output_that_cannot_be_cleaned_or_was_changed_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        fs::write(&out, KEY).unwrap();
        fs::hard_link(&out, folder.path().join("another")).unwrap();
        let end = outputs(folder.path()).end(Ok(exited(0)));
        assert!(end.lost().unwrap().contains("keys cannot be taken out of"));
        assert!(end.outcome().output_lost.is_some());
        assert!(!out.exists(), "what cannot be cleaned is not kept");

        fs::write(&out, "another's words").unwrap();
        let printed = ChildExit { stdout_digest: Some(Digest::of(b"its own words")), ..exited(0) };
        let end = outputs(folder.path()).end(Ok(printed));
        assert!(end.lost().unwrap().contains("is not what was printed"));
    }

    #[test]
    fn more_than_the_limit_is_cut_whoever_took_it_in() {
        let nowhere = Path::new("/nothing/there");
        let printed = |stdout_len| {
            let exit = ChildExit { stdout_len, stderr_len: 50, ..exited(0) };
            outputs(nowhere).end(Ok(exit)).exit.output_cut
        };
        assert_eq!((printed(50), printed(51)), (false, true));
    }

    #[test]
    fn each_end_is_of_one_kind() {
        let how = |exit| format!("{:?}", CommandOutputs::default().end(Ok(exit)).how());
        let late = ChildExit { timed_out: true, ..exited(0) };
        assert_eq!(how(late), "TimedOut");
        assert_eq!(how(exited(127)), "Exited(127)");
        let killed = ChildExit { signal: Some(9), ..ChildExit::default() };
        assert_eq!(how(killed), "Killed(9)");
        let never = CommandOutputs::default().end(Err("no such program".into()));
        assert_eq!(never.how(), How::NotStarted("no such program"));
    }

    #[test]
    fn a_working_folder_is_made_below_what_is_there_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, within) = (folder.path().join("a/b"), Some(folder.path().to_owned()));
        let job =
            |cwd: &Path| CommandJob { cwd: cwd.to_owned(), within: within.clone(), ..CommandJob::default() };
        job(&inside).spawn(1).unwrap();
        assert!(inside.is_dir());
        let elsewhere = folder.path().with_extension("elsewhere");
        job(&elsewhere).spawn(2).unwrap();
        assert!(!elsewhere.exists());
        fs::write(folder.path().join("file"), "").unwrap();
        let refused = job(&folder.path().join("file/below")).spawn(3).unwrap_err().to_string();
        assert!(refused.starts_with("cannot make the workspace"), "{refused}");
    }
}
