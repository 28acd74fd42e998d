//! Short programs that a thread of the runner waits for, not the supervisor: what they do is not worth a message each way.
//!
//! Such a program has a process group of its own, which is ended when whoever waits says so. It is ended when that thread ends,
//! and so at the latest with the runner, however that ends. Where the system can, it reads and writes in the places only that
//! it is given (`linux/scope`).

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_process_group};

use super::platform::starter::Starter;
use super::posix;
use super::start::{Bounds, Start};

/// How often a call that lasts is looked at.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// How much is read at once, in bytes: what a pipe holds.
const PIECE: usize = 64 << 10;

/// Runs a program, by its absolute path, to its end. Once `is_over`, which is asked now and then, it gets SIGTERM, and then
/// SIGKILL. `place` is its folder and its standard input.
///
/// # Errors
/// When it cannot be started, printed more than it may, or did not end by itself.
pub fn output(
    arguments: &[String],
    environment: &[(String, String)],
    (folder, input): (&Path, File),
    bounds: &Bounds<'_>,
    is_over: impl Fn() -> bool,
) -> io::Result<Output> {
    let ((out, stdout), (err, stderr)) = (io::pipe()?, io::pipe()?);
    let file = |end: io::PipeWriter| Some(File::from(OwnedFd::from(end)));
    let start = Start {
        arguments,
        environment,
        marker: "",
        folder,
        standard: [Some(input), file(stdout), file(stderr)],
    };
    let program = Starter::new().start_bound(&start, bounds)?;
    // Else its end would not be the end of what it prints.
    drop(start);
    let (mut open, mut printed) = (vec![(0, out), (1, err)], [Vec::new(), Vec::new()]);
    let (mut buffer, mut kill, mut unread) = (vec![0; PIECE], None, None);
    for (_, pipe) in &open {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    while !open.is_empty() {
        let pipes = open.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN));
        // Where a signal interrupts it there is nothing to read, which the next line is told.
        let _ = poll(&mut pipes.collect::<Vec<_>>(), Some(&LOOK));
        open.retain_mut(|(number, pipe)| match pipe.read(&mut buffer) {
            Ok(length) => {
                printed[*number].extend(&buffer[..length]);
                length > 0
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => true,
            Err(error) => {
                unread = Some(error);
                false
            }
        });
        // Its number is its own until it is waited for; where all have ended there is nobody to reach.
        let signal = |signal| kill_process_group(program, signal).ok();
        let is_too_much = printed.iter().any(|printed| printed.len() > bounds.printed);
        if let Some(error) = unread.take().or(is_too_much.then(too_much)) {
            // What was printed is known in part only, which is no answer.
            signal(Signal::KILL);
            return Err(error);
        }
        match kill {
            None if is_over() => {
                kill = Some(Instant::now() + GRACE);
                signal(Signal::TERM);
            }
            Some(due) if due <= Instant::now() => {
                signal(Signal::KILL);
                return Err(not_by_itself());
            }
            _ => {}
        }
    }
    let status = posix::wait_for(program)?.ok_or(ErrorKind::Other)?;
    let [stdout, stderr] = printed;
    match kill {
        Some(_) => Err(not_by_itself()),
        None => Ok(Output { status, stdout, stderr }),
    }
}

fn not_by_itself() -> io::Error {
    io::Error::other("it was ended, because it did not end by itself")
}

fn too_much() -> io::Error {
    io::Error::other("it printed more than it may")
}
