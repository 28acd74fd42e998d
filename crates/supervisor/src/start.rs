//! What a program is started with, and why it was not started.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

/// The values that a starter needs.
pub struct Start<'a> {
    /// The program, by absolute path, and its arguments.
    pub arguments: &'a [String],
    /// The environment, each name once.
    pub environment: &'a [(String, String)],
    /// The value of [`TURN_KEY_VARIABLE`](super::TURN_KEY_VARIABLE), which comes on top.
    pub marker: &'a str,
    /// The working directory of the child.
    pub folder: &'a Path,
    /// The standard input, output and error of the child. The supervisor's own all lead to `/dev/null`, so a
    /// child that inherits them needs none opened.
    pub standard: [Option<File>; 3],
}

/// What a short program may use. Places that are not there do not count.
pub struct Bounds<'a> {
    /// The places that the program writes to, which it reads as well.
    pub writes: Vec<PathBuf>,
    /// Further places that the program reads.
    pub reads: Vec<PathBuf>,
    /// The places that the program is made of: it reads there, too, and starts programs from there only.
    pub programs: &'a [&'a str],
    /// Whether the program reaches other machines.
    pub network: bool,
    /// How many bytes the program may print on its standard output, and as many on its standard error.
    pub printed: usize,
    /// The signal that the program gets once the thread that waits for it has ended, where the system can do that.
    pub at_our_end: Signal,
}

/// Why a child was not started.
pub enum NotStarted {
    /// The program could not be begun, as it could not be without confinement.
    Program(io::Error),
    /// The system does not let the plan be carried out: no fault of the program.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is confined there"))]
    Confinement(String),
}
