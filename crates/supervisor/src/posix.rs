//! The raw system calls that neither the standard library nor `rustix` offers: `fork` with the C library's own
//! book-keeping, signal handlers, and waiting for children without reaping them or with their resource usage.
//! That is why `libc` is a dependency, and why the module's `unsafe` is all here but for the one call of [`fork`] and the start
//! of children.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
#[cfg(target_os = "linux")]
use std::os::fd::FromRawFd;
use std::os::fd::{IntoRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Pid;

/// The one of the two processes after [`fork`] that this is.
pub enum Forked {
    Supervisor,
    Runner { supervisor: Pid },
}

/// Splits the process in two.
///
/// # Safety
///
/// The process must have exactly one thread: the new one would wait for ever for locks that other threads held.
pub unsafe fn fork() -> io::Result<Forked> {
    // SAFETY: one thread, says the caller, so the new process may go on using everything.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Supervisor),
        pid => match Pid::from_raw(pid) {
            Some(supervisor) => Ok(Forked::Runner { supervisor }),
            None => Err(io::ErrorKind::Other.into()),
        },
    }
}

/// Ends the process at once, without flushing buffers that another process will flush too.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process and touches nothing.
    unsafe { libc::_exit(code) }
}

/// Points 0, 1 and 2 to `/dev/null` and closes everything else but `keep`, so that no process waits for the end of a pipe
/// or a lock that only the supervisor still holds.
pub fn close_inherited(keep: RawFd, open: impl IntoIterator<Item = RawFd>) -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?.into_raw_fd();
    for standard in 0..=2 {
        // SAFETY: the standard streams have no owner whose descriptor could be pulled from under it.
        if unsafe { libc::dup2(null, standard) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    for descriptor in open.into_iter().chain([null]).filter(|&fd| fd > 2 && fd != keep) {
        // SAFETY: what owns these is the runner's code, to which the supervisor never returns. One that is no longer
        // open gives an error of no interest.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}

/// Closes every descriptor but these, 0, 1 and 2 as well where they are not among them.
#[cfg(target_os = "linux")]
pub fn close_others(kept: impl IntoIterator<Item = RawFd>) {
    let mut kept: Vec<RawFd> = kept.into_iter().collect();
    kept.sort_unstable();
    let mut from: u32 = 0;
    let ends = kept.into_iter().map(i64::from).chain([i64::from(u32::MAX) + 1]);
    for kept in ends {
        let up_to = kept - 1;
        if up_to >= i64::from(from) {
            // SAFETY: whoever calls this never returns to what owned the others.
            unsafe { libc::syscall(libc::SYS_close_range, i64::from(from), up_to, 0) };
        }
        from = u32::try_from(kept + 1).unwrap_or(u32::MAX);
    }
}

/// Whether there is such a descriptor beside the standard ones.
#[cfg(target_os = "linux")]
pub fn is_handed_over(descriptor: RawFd) -> bool {
    // SAFETY: asks for flags, and changes nothing.
    descriptor > libc::STDERR_FILENO && unsafe { libc::fcntl(descriptor, libc::F_GETFD) } != -1
}

/// Points standard error to `/dev/null`.
#[cfg(target_os = "linux")]
pub fn silence_errors() -> io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    // SAFETY: both are descriptors, and standard error has no owner whose descriptor could be pulled from under it.
    checked(unsafe { libc::dup2(null.as_raw_fd(), libc::STDERR_FILENO) }.min(0))
}

/// Starts the loopback of a network namespace that was just made.
#[cfg(target_os = "linux")]
pub fn raise_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketType, socket};
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all zeros is a valid request, its name ends in a zero, and it lives through the call.
    unsafe {
        let mut request: libc::ifreq = MaybeUninit::zeroed().assume_init();
        for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *place = libc::c_char::from_ne_bytes([*byte]);
        }
        request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or_default();
        checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request))
    }
}

/// Moves the socket out of 0, 1 and 2, in case the runner was started with these closed.
pub fn above_standard(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(&descriptor, 3).map_err(io::Error::from)
}

/// The names in a folder that are numbers.
pub fn numbers_in(folder: &str) -> io::Result<Vec<i32>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(numbers)
}

extern "C" fn do_nothing(_signal: libc::c_int) {}

/// Lets every signal come through, whatever whoever started the process held back, so that it can be asked to end. Makes a
/// write beyond the limit of a file's size an error of that write, where it would end the process without a word: caught, not
/// ignored, so that what a child starts with stays as it was.
///
/// # Errors
/// Whatever the system says.
pub fn own_signals() -> io::Result<()> {
    hold_back(&[])?;
    handle(libc::SIGXFSZ, do_nothing as extern "C" fn(libc::c_int) as libc::sighandler_t)
}

/// Makes the signals of the process the supervisor's own.
///
/// Signals are caught or held back, never ignored: children inherit what is ignored, but handlers are reset when they
/// start their program. No handler does anything, since a child that has not started its program yet shares the supervisor's
/// memory.
pub fn take_over_signals() -> io::Result<()> {
    for signal in 1..=64 {
        // SIGKILL, SIGSTOP and numbers that do not exist are refused, rightly.
        let _ = handle(signal, libc::SIG_DFL);
    }
    // SIGIO comes when a process opens a file in the moment in which `sole_owner` asks for it.
    for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGPIPE, libc::SIGIO, libc::SIGXFSZ] {
        handle(signal, do_nothing as extern "C" fn(libc::c_int) as libc::sighandler_t)?;
    }
    Ok(())
}

/// Whether this process was started with a signal that is ignored.
///
/// # Errors
/// Whatever the system says.
pub fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: all zeros is a valid `sigaction` for the system to overwrite, and nothing is changed.
    let action = unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        checked(libc::sigaction(signal, std::ptr::null(), &raw mut action))?;
        action
    };
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

pub fn handle(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: all zeros is a valid `sigaction` with an empty mask, and every handler does only what a handler may.
    let result = unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART | libc::SA_NOCLDSTOP;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    checked(result)
}

/// Holds back exactly these signals; with none, everything comes through.
pub fn hold_back(signals: &[libc::c_int]) -> io::Result<libc::sigset_t> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set, and the signals exist.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        checked(libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut()))?;
        Ok(set.assume_init())
    }
}

/// A descriptor that can be read while one of these signals, which are held back, waits.
#[cfg(target_os = "linux")]
pub fn signal_descriptor(signals: &libc::sigset_t) -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised, and the descriptor is new and owned by nothing else.
    unsafe {
        let descriptor = libc::signalfd(-1, signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        checked(descriptor)?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// A descriptor of the very process that connected a socket, where the system gives one.
#[cfg(target_os = "linux")]
pub fn peer_descriptor(socket: std::os::fd::BorrowedFd<'_>) -> Option<OwnedFd> {
    // Not in `libc` yet.
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut descriptor: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).ok()?;
    // SAFETY: the system writes at most `length` bytes, and a descriptor that it gives is new and owned by nothing else.
    unsafe {
        let socket = socket.as_raw_fd();
        let place = (&raw mut descriptor).cast();
        let given = libc::getsockopt(socket, libc::SOL_SOCKET, SO_PEERPIDFD, place, &raw mut length);
        (given == 0 && descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor))
    }
}

#[cfg(not(target_os = "linux"))]
pub fn peer_descriptor(_socket: std::os::fd::BorrowedFd<'_>) -> Option<OwnedFd> {
    None
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether no process has `file` open but through this very descriptor: no other process, and not this one once more.
///
/// The system grants a write lease exactly then. It is given back at once; where there are no leases, that is not known.
#[cfg(target_os = "linux")]
pub fn sole_owner(file: &File) -> bool {
    let lease = |kind: libc::c_int| {
        // SAFETY: the descriptor is open, and the call takes no pointer.
        checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) })
    };
    lease(libc::F_WRLCK).is_ok() && lease(libc::F_UNLCK).is_ok()
}

/// The result of waiting without blocking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Waited {
    /// The child of this id has exited and is kept as a zombie until [`reap`].
    Exited(Pid),
    /// There are children, and all are running.
    Running,
    /// There are no children at all.
    NoChildren,
}

/// Looks for a child that has exited and leaves it as it is, so that its process id stays taken.
pub fn look_for_exit() -> io::Result<Waited> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all zeros is a valid `siginfo_t`, and `waitid` fills it in or leaves its process id 0.
    let (result, pid) = unsafe {
        let mut info: libc::siginfo_t = MaybeUninit::zeroed().assume_init();
        let result = libc::waitid(libc::P_ALL, 0, &mut info, options);
        (result, info.si_pid())
    };
    match checked(result) {
        Ok(()) => Ok(Pid::from_raw(pid).map_or(Waited::Running, Waited::Exited)),
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(Waited::NoChildren),
        Err(error) => Err(error),
    }
}

/// The usage of a child, with that of its own reaped children.
#[derive(Debug, Clone, Copy)]
pub struct ChildUsage {
    pub user_us: u64,
    pub system_us: u64,
    pub max_rss: u64,
}

/// Takes the exit status of a child that [`look_for_exit`] found. From here on its process id may be a stranger's.
pub fn reap(pid: Pid) -> io::Result<(ExitStatus, ChildUsage)> {
    let mut status = 0;
    // SAFETY: all zeros is a valid `rusage`, and both places live through the call.
    let (result, usage) = unsafe {
        let mut usage: libc::rusage = MaybeUninit::zeroed().assume_init();
        let result = libc::wait4(pid.as_raw_nonzero().get(), &mut status, libc::WNOHANG, &mut usage);
        (result, usage)
    };
    checked(result)?;
    let usage = ChildUsage {
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        max_rss: natural(usage.ru_maxrss),
    };
    Ok((ExitStatus::from_raw(status), usage))
}

fn microseconds(time: libc::timeval) -> u64 {
    natural(time.tv_sec) * 1_000_000 + natural(time.tv_usec)
}

/// The fields' types differ between systems; none of them is ever negative.
fn natural(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}

/// Reaps a child, once it is known to have ended, so that it does not stay a zombie of a process that goes on: how it ended.
pub fn wait_for(pid: Pid) -> io::Result<Option<ExitStatus>> {
    let wait = || rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    match rustix::io::retry_on_intr(wait) {
        // A runner that was started with SIGCHLD ignored has its children reaped by the system.
        Err(rustix::io::Errno::CHILD) => Ok(None),
        Ok(ended) => Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw()))),
        Err(error) => Err(error.into()),
    }
}
