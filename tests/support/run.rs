//! One start of the binary, and what came out of it.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Once;

use nix::sys::signal::{self, SigHandler};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use super::says::Says as _;
use super::wait::{DEADLINE, poll};

/// A binary that was started. Killed with its group if the test forgets it.
pub struct Running {
    child: Child,
    // Files, not pipes: a full pipe that nobody reads would stop the binary.
    stdout: File,
    stderr: File,
}

/// A binary that has ended.
#[derive(Debug)]
pub struct Finished {
    status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// What whoever started the tests has ignored (`nohup`, a script's `&`), and with that all that they start, is not ignored any
/// more.
fn signals_are_as_at_a_terminal() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for ignored in [signal::SIGHUP, signal::SIGINT, signal::SIGQUIT, signal::SIGTERM] {
            // SAFETY: no handler is set.
            unsafe { signal::signal(ignored, SigHandler::SigDfl) }.expect("it is a signal");
        }
    });
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        signals_are_as_at_a_terminal();
        let stdout = tempfile::tempfile().expect("a temporary file can be made");
        let stderr = tempfile::tempfile().expect("a temporary file can be made");
        let copy = |file: &File| file.try_clone().expect("a descriptor can be copied");
        // A group of its own, so that a signal to this process alone is a signal to this process alone.
        let child = command
            .stdin(Stdio::null())
            .stdout(copy(&stdout))
            .stderr(copy(&stderr))
            .process_group(0)
            .spawn()
            .expect("the binary can be started");
        Self { child, stdout, stderr }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process is there");
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// SIGKILL, and until it is gone.
    pub fn kill(mut self) {
        // It may have ended by itself, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for the end.
    pub fn finish(mut self) -> Finished {
        let mut status = None;
        let ended = poll(DEADLINE, || {
            status = self.child.try_wait().expect("it is our child");
            status.is_some()
        });
        let (stdout, stderr) = (read(&mut self.stdout), read(&mut self.stderr));
        assert!(ended, "it did not end\nstdout:\n{stdout}\nstderr:\n{stderr}");
        Finished { status: status.expect("it has ended"), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

fn read(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().expect("a file can be rewound");
    file.read_to_end(&mut bytes).expect("a file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Finished {
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// It must have exited with this code.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            (self.status.code(), self.status.signal()),
            (Some(code), None),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Its stderr must hold all these words, in any case.
    pub fn says(self, words: &[&str]) -> Self {
        let said = self.stderr.to_lowercase();
        for word in words {
            assert!(said.contains(&word.to_lowercase()), "stderr does not say '{word}':\n{}", self.stderr);
        }
        self
    }

    /// Its stdout must have all these words.
    #[track_caller]
    pub fn shows(self, words: &[&str]) -> Self {
        self.stdout.says(words);
        self
    }

    /// Its stdout must have none of these words.
    #[track_caller]
    pub fn hides(self, words: &[&str]) -> Self {
        self.stdout.omits(words);
        self
    }

    /// Its stdout, which must be one document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("stdout is not one document: {error}\n{}\nstderr:\n{}", self.stdout, self.stderr)
        })
    }
}
