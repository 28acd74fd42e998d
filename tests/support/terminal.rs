//! The binary at a terminal of its own: what a person sees and answers.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{SigHandler, Signal, signal};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::wait::{DEADLINE, poll};

/// What came out on a terminal.
#[derive(Debug)]
pub struct Seen {
    pub code: Option<i32>,
    /// Everything that was written, with what was typed as the terminal repeats it, in lines that end with `\n`.
    pub text: String,
}

impl Seen {
    /// It must have exited with this code.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text);
        self
    }

    /// It must show all of these.
    pub fn shows(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.text.contains(part), "no {part:?} in:\n{}", self.text);
        }
        self
    }

    /// It must show none of these.
    pub fn hides(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(!self.text.contains(part), "{part:?} in:\n{}", self.text);
        }
        self
    }
}

/// A command at a terminal of its own, as the one that a person started there.
pub struct AtTerminal {
    child: Child,
    master: File,
    /// What was read of it so far.
    text: String,
}

impl AtTerminal {
    pub fn start(mut command: Command) -> Self {
        let (master, slave) = terminal(80);
        let copy = || Stdio::from(slave.try_clone().expect("a descriptor can be copied"));
        command.stdin(copy()).stdout(copy()).stderr(copy());
        let lead = || {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(std::io::stdin())?;
            // Whoever runs the tests may have been started by `nohup`; who sits at a terminal was not.
            // SAFETY: no handler is set.
            unsafe { signal(Signal::SIGHUP, SigHandler::SigDfl) }?;
            Ok(())
        };
        // SAFETY: three system calls that are allowed between fork and exec.
        unsafe { command.pre_exec(lead) };
        let child = command.spawn().expect("it can be started");
        Self { child, master, text: String::new() }
    }

    /// Reads until the terminal shows these words.
    pub fn shows(&mut self, words: &str) {
        while !self.text.contains(words) {
            assert!(self.read(), "it ended without '{words}':\n{}", self.text);
        }
    }

    /// What was shown so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The person types.
    pub fn types(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("it can be typed");
    }

    /// Reads on; false once the last one has hung up.
    fn read(&mut self) -> bool {
        let mut ready = [PollFd::new(&self.master, PollFlags::IN)];
        let limit = Timespec { tv_sec: i64::try_from(DEADLINE.as_secs()).expect("it is short"), tv_nsec: 0 };
        let found = rustix::event::poll(&mut ready, Some(&limit)).expect("it can be waited for");
        assert!(found > 0, "nothing more came:\n{}", self.text);
        let mut bytes = [0; 4096];
        // Linux says that the last one has hung up by an error.
        let read = self.master.read(&mut bytes).unwrap_or(0);
        self.text.push_str(&String::from_utf8_lossy(&bytes[..read]));
        read > 0
    }

    /// Reads to the end. Returns the exit code, and everything that was shown.
    pub fn finish(mut self) -> (Option<i32>, String) {
        while self.read() {}
        let status = self.child.wait().expect("it is our child");
        (status.code(), self.text)
    }

    /// The person closes the terminal. Returns the exit code.
    pub fn close(mut self) -> Option<i32> {
        drop(self.master);
        let mut status = None;
        let ended = poll(DEADLINE, || {
            status = self.child.try_wait().expect("it is our child");
            status.is_some()
        });
        if !ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        assert!(ended, "it did not end with its terminal");
        status.and_then(|status| status.code())
    }
}

/// Both ends of a new terminal.
fn terminal(columns: u16) -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
        .expect("a terminal can be made");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it is ours");
    let name = ptsname(&master, Vec::new()).expect("it has a name");
    let name = name.to_str().expect("its name is text");
    // Nobody's controlling terminal by being opened.
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(name, flags, Mode::empty()).expect("it can be opened");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&slave, size).expect("it has a size");
    (File::from(master), File::from(slave))
}

/// Runs a command to its end with all its streams on a terminal of these columns. `typed` waits in the terminal from
/// the beginning, so nothing depends on when it is read.
pub fn at_terminal(mut command: Command, columns: u16, typed: &str) -> Seen {
    let (mut master, slave) = terminal(columns);
    let copy = || Stdio::from(slave.try_clone().expect("a descriptor can be copied"));
    master.write_all(typed.as_bytes()).expect("it can be typed");
    let mut child = command
        .stdin(copy())
        .stdout(copy())
        .stderr(copy())
        .process_group(0)
        .spawn()
        .expect("it can be started");
    // They hold the terminal open, and its end is what the reader waits for.
    drop((command, slave));
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // Linux says that the last one has hung up by an error.
        let _ = master.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
    });
    let mut status = None;
    let ended = poll(DEADLINE, || {
        status = child.try_wait().expect("it is our child");
        status.is_some()
    });
    if !ended {
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = reader.join().expect("reading does not panic");
    assert!(ended, "it did not end:\n{text}");
    Seen { code: status.and_then(|status| status.code()), text }
}
