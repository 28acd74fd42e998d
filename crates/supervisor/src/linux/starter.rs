//! Starting a program on Linux: the system calls of `posix_spawn` that the supervisor needs, and no others.
//!
//! The C library's own maps a stack for every child, asks for the limit of descriptors at every redirection, and asks for
//! and sets each of 64 signals anew: about 75 system calls, where 8 do. The supervisor knows what it has made of its signals
//! ([`Signals::install`](super::Signals::install)): what it catches does nothing, so that it matters to nobody
//! whether a child that has not begun its program yet is reached by it; the program starts with the default.
//!
//! Each child adopts the orphans of its own tree as long as it lives. So whatever the supervisor adopts is left over from a
//! child that has ended, however it hid (see [`Orphans`](crate::orphans::Orphans)).

use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Pid, Signal, getpid};

use super::scope;
use crate::posix;
use crate::start::{Bounds, Start};
use crate::turn_marker::TURN_KEY_VARIABLE;

/// Enough for a few system calls and one signal's frame, on any processor.
const STACK_WORDS: usize = 8 << 10;

/// Starts programs one after the other, in the same place.
pub struct Starter {
    /// The stack of a child until it begins its program; 16 bytes are how it must be aligned.
    stack: Vec<MaybeUninit<u128>>,
    /// The arguments and the environment, each with a zero behind it.
    strings: Vec<u8>,
    /// The offset at which each of them begins.
    begins: Vec<usize>,
    pointers: Vec<*const c_char>,
}

/// The values that differ between children.
#[derive(Default)]
struct Begin<'d> {
    /// Whether the program stays in the process group of this process.
    stays: bool,
    deaf: bool,
    at_our_end: Option<Signal>,
    domain: Option<&'d OwnedFd>,
}

/// The values that a child needs until it begins its program. It sees the supervisor's memory, and must not
/// change anything of it but `error`.
struct StartTask {
    program: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    folder: *const c_char,
    /// Whether the child begins a process group of its own.
    leads: bool,
    /// Whether the child ignores SIGTERM.
    deaf: bool,
    /// The signal that the child gets once the thread that starts it ends; 0 for none.
    at_our_end: c_int,
    /// The process of that thread.
    parent: libc::pid_t,
    /// The domain that it enters; -1 for none.
    domain: c_int,
    /// The standard input, output and error of the child; -1 for one that stays as it is.
    standard: [c_int; 3],
    no_signals: libc::sigset_t,
    error: AtomicI32,
}

impl Starter {
    pub fn new() -> Starter {
        Starter {
            stack: vec![MaybeUninit::uninit(); STACK_WORDS],
            strings: Vec::new(),
            begins: Vec::new(),
            pointers: Vec::new(),
        }
    }

    /// Starts a program in a process group of its own.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a text with a zero in it, else what the system refuses; then there is no process.
    pub fn start(&mut self, start: &Start<'_>) -> io::Result<Pid> {
        self.begin(start, Begin::default())
    }

    /// Starts a program within a domain of Landlock.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_in_domain(&mut self, start: &Start<'_>, domain: &OwnedFd) -> io::Result<Pid> {
        self.begin(start, Begin { domain: Some(domain), ..Begin::default() })
    }

    /// Starts a program for a thread that waits: its end asks the program to end, too. The program has these
    /// bounds, where that can be.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_bound(&mut self, start: &Start<'_>, bounds: &Bounds<'_>) -> io::Result<Pid> {
        let domain = scope::domain_of(bounds)?;
        self.begin(
            start,
            Begin { at_our_end: Some(bounds.at_our_end), domain: domain.as_ref(), ..Begin::default() },
        )
    }

    /// Starts a program that ignores SIGTERM.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_deaf(&mut self, start: &Start<'_>) -> io::Result<Pid> {
        self.begin(start, Begin { deaf: true, ..Begin::default() })
    }

    /// Starts a program in the process group of this process.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_in_group(&mut self, start: &Start<'_>) -> io::Result<Pid> {
        self.begin(start, Begin { stays: true, ..Begin::default() })
    }

    fn begin(&mut self, start: &Start<'_>, how: Begin<'_>) -> io::Result<Pid> {
        let folder = CString::new(start.folder.as_os_str().as_bytes())?;
        self.lay_out(start)?;
        let environment = start.arguments.len() + 1;
        let mut no_signals = MaybeUninit::uninit();
        let descriptor = |file: &Option<_>| file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let task = StartTask {
            program: self.pointers[0],
            arguments: self.pointers.as_ptr(),
            environment: self.pointers[environment..].as_ptr(),
            folder: folder.as_ptr(),
            leads: !how.stays,
            deaf: how.deaf,
            at_our_end: how.at_our_end.map_or(0, Signal::as_raw),
            parent: getpid().as_raw_nonzero().get(),
            domain: how.domain.map_or(-1, AsRawFd::as_raw_fd),
            standard: start.standard.each_ref().map(descriptor),
            // SAFETY: `sigemptyset` initialises the set and fails for no set.
            no_signals: unsafe {
                libc::sigemptyset(no_signals.as_mut_ptr());
                no_signals.assume_init()
            },
            error: AtomicI32::new(0),
        };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let top = self.stack.as_mut_ptr_range().end;
        // SAFETY: the child stands on a stack that is nobody else's. With CLONE_VFORK this thread sleeps until the child has
        // begun its program or ended, so all that `task` points to lives as long as it is looked at. Other threads have no part
        // in either.
        let pid = unsafe { libc::clone(begin, top.cast(), flags, (&raw const task).cast_mut().cast()) };
        if pid == -1 {
            return Err(io::Error::last_os_error());
        }
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::Other)?;
        match task.error.load(Ordering::Relaxed) {
            0 => Ok(pid),
            error => {
                // It has ended, or is just about to.
                posix::wait_for(pid)?;
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }

    /// Puts down the arguments and the environment as the system wants them: the pointers to both, each list with a null
    /// behind it.
    fn lay_out(&mut self, start: &Start<'_>) -> io::Result<()> {
        self.strings.clear();
        self.begins.clear();
        for argument in start.arguments {
            self.add(&[argument])?;
        }
        let own = start.environment.iter().filter(|(name, _)| name != TURN_KEY_VARIABLE);
        for (name, value) in own {
            self.add(&[name, "=", value])?;
        }
        self.add(&[TURN_KEY_VARIABLE, "=", start.marker])?;
        // Only now, for the strings move while they grow.
        let strings = self.strings.as_ptr();
        // SAFETY: each string begins within the buffer.
        let pointer = |begin: &usize| unsafe { strings.add(*begin).cast::<c_char>() };
        let (arguments, environment) = self.begins.split_at(start.arguments.len());
        self.pointers.clear();
        for list in [arguments, environment] {
            self.pointers.extend(list.iter().map(pointer));
            self.pointers.push(std::ptr::null());
        }
        Ok(())
    }

    fn add(&mut self, parts: &[&str]) -> io::Result<()> {
        self.begins.push(self.strings.len());
        for part in parts {
            if part.contains('\0') {
                let message = "there is a zero in an argument or a variable";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            self.strings.extend_from_slice(part.as_bytes());
        }
        self.strings.push(0);
        Ok(())
    }
}

/// The life of a child before its program. It runs in the memory of the thread that starts it, which sleeps:
/// system calls only.
extern "C" fn begin(task: *mut c_void) -> c_int {
    // SAFETY: `start` keeps it until this process has begun its program or ended.
    let task = unsafe { &*task.cast::<StartTask>().cast_const() };
    // SAFETY: the strings are what the system wants, and the descriptors open. Nothing here allocates, locks or panics.
    unsafe {
        // Where this is refused, what it leaves is told from others by its marker alone.
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        let prepared = (!task.leads || libc::setpgid(0, 0) == 0)
            && (0..)
                .zip(task.standard)
                .all(|(standard, file)| file == -1 || libc::dup2(file, standard) != -1)
            && libc::chdir(task.folder) == 0
            // Whoever has ended before it was asked for that sends nothing.
            && (task.at_our_end == 0
                || (libc::prctl(libc::PR_SET_PDEATHSIG, task.at_our_end, 0, 0, 0) == 0
                    && libc::getppid() == task.parent))
            && (!task.deaf || libc::signal(libc::SIGTERM, libc::SIG_IGN) != libc::SIG_ERR)
            && libc::sigprocmask(libc::SIG_SETMASK, &task.no_signals, std::ptr::null_mut()) == 0
            && (task.domain == -1 || scope::enter(task.domain));
        if prepared {
            libc::execve(task.program, task.arguments, task.environment);
        }
        let error = io::Error::last_os_error().raw_os_error();
        task.error.store(error.unwrap_or(libc::EIO), Ordering::Relaxed);
        libc::_exit(127)
    }
}
