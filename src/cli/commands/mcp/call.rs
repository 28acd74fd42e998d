//! A call is a command of this program, in a process of its own: it does what it does for people, by the same path.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

/// The most bytes that a command may print, on each of its streams.
const MOST_PRINTED: u64 = 4 * 1024 * 1024;
/// How long a command that is called off may take to end.
const END_WITHIN: Duration = Duration::from_secs(10);

/// The output of a command, and how it ended.
pub struct Printed {
    /// The exit code; 1 where a signal ended it.
    pub exit: i32,
    pub out: String,
    pub error: String,
}

/// The program of the server itself, as it does commands.
pub struct OwnProgram {
    /// The state folder, where a flag names one.
    pub state_dir: Option<PathBuf>,
}

impl OwnProgram {
    /// The command of a program that may have been replaced since it began; one that never asks and reads nothing. How results look is the server's to say.
    fn command(&self, words: &[OsString]) -> io::Result<Command> {
        let mut command = Command::new(supervisor::this_program()?);
        for name in ["QUORUM_FORMAT", "QUORUM_JSON", "QUORUM_QUIET", "QUORUM_VERBOSE"] {
            command.env_remove(name);
        }
        if let Some(folder) = &self.state_dir {
            command.env("QUORUM_STATE_DIR", folder);
        }
        command.args(words).arg0("quorum").env("NO_COLOR", "1").env("QUORUM_NO_INPUT", "1");
        command.stdin(Stdio::null()).process_group(0);
        Ok(command)
    }

    /// Has a command done and reads what it prints. It is called off where `called_off` comes first.
    ///
    /// # Errors
    /// When it cannot be started or read, prints too much, or is called off.
    pub async fn done(
        &self,
        words: &[OsString],
        called_off: impl Future<Output = ()>,
    ) -> io::Result<Printed> {
        let mut command = self.command(words)?;
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn()?;
        let (out, error) = (child.stdout.take(), child.stderr.take());
        let all = async {
            let (out, error) = tokio::try_join!(text(out), text(error))?;
            let exit = child.wait().await?.code().unwrap_or(1);
            Ok(Printed { exit, out, error })
        };
        let ended = tokio::select! {
            ended = all => Some(ended),
            () = called_off => None,
        };
        match ended {
            Some(ended) => ended,
            None => {
                end(&mut child).await;
                Err(io::Error::other("it was called off"))
            }
        }
    }

    /// A command whose lines are read one by one; it ends with its handle.
    pub fn lines_of(&self, words: &[OsString]) -> io::Result<Child> {
        self.command(words)?.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).spawn()
    }

    /// Starts a command that outlives this process.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn detached(&self, words: &[OsString]) -> io::Result<SessionCommand> {
        let printed = [tempfile::tempfile()?, tempfile::tempfile()?];
        let mut command = self.command(words)?;
        let child = command.stdout(printed[0].try_clone()?).stderr(printed[1].try_clone()?).spawn()?;
        Ok(SessionCommand { child, printed })
    }
}

/// Ends a command: with time to clean up, then by force.
async fn end(child: &mut Child) {
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if id.is_none_or(|id| kill_process(id, Signal::TERM).is_err()) {
        return;
    }
    // One that does not end is killed when its handle goes.
    let _ = tokio::time::timeout(END_WITHIN, child.wait()).await;
}

/// Reads what a stream says, to its end.
async fn text(stream: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(MOST_PRINTED + 1).read_to_end(&mut bytes).await?;
    }
    told(bytes)
}

fn told(bytes: Vec<u8>) -> io::Result<String> {
    if bytes.len() as u64 > MOST_PRINTED {
        let most = MOST_PRINTED / 1024 / 1024;
        return Err(io::Error::other(format!(
            "the answer is longer than {most} MiB: ask for less of it (one task, one attempt, events since a number)"
        )));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A command that outlives this process, and the files that it prints to.
pub struct SessionCommand {
    child: Child,
    printed: [File; 2],
}

impl SessionCommand {
    /// The id of its process, as long as it runs.
    pub fn process(&self) -> Option<u32> {
        self.child.id()
    }

    /// The output of the command, where that has ended.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn ended(&mut self) -> io::Result<Option<Printed>> {
        let Some(exit) = self.child.try_wait()? else {
            return Ok(None);
        };
        let read = |file: &mut File| {
            file.rewind()?;
            let mut bytes = Vec::new();
            file.take(MOST_PRINTED + 1).read_to_end(&mut bytes)?;
            told(bytes)
        };
        let [out, error] = &mut self.printed;
        Ok(Some(Printed { exit: exit.code().unwrap_or(1), out: read(out)?, error: read(error)? }))
    }
}
