//! Counts the system calls of a program and of everything it starts.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// System calls by number.
pub type Calls = BTreeMap<libc::c_long, u64>;

/// Runs a program to its end. `None` where nobody may trace, or the program failed.
pub fn traced(mut command: Command) -> Option<Calls> {
    let trace_me = || ptrace::traceme().map_err(std::io::Error::from);
    // SAFETY: one system call that is allowed between fork and exec.
    unsafe { command.pre_exec(trace_me) };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().ok()?;
    let root = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    // It stops at its exec. Only children and tracees of this thread are waited for: other tests have their own.
    let mine = Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD);
    waitpid(root, mine).ok()?;
    let follow = Options::PTRACE_O_TRACEFORK | Options::PTRACE_O_TRACEVFORK | Options::PTRACE_O_TRACECLONE;
    let options =
        follow | Options::PTRACE_O_TRACEEXEC | Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(root, options).ok()?;
    ptrace::syscall(root, None).ok()?;

    let mut calls = Calls::new();
    let mut known = HashSet::from([root]);
    let mut succeeded = false;
    loop {
        let (pid, signal) = match waitpid(None, mine) {
            Err(Errno::ECHILD) => return succeeded.then_some(calls),
            Err(Errno::EINTR) => continue,
            Err(error) => panic!("cannot wait: {error}"),
            Ok(WaitStatus::Exited(pid, code)) => {
                succeeded |= pid == root && code == 0;
                continue;
            }
            Ok(WaitStatus::PtraceSyscall(pid)) => {
                if let Some(call) = entered(pid) {
                    *calls.entry(call).or_default() += 1;
                }
                (pid, None)
            }
            // What is new stops once, by a signal that nobody sent.
            Ok(WaitStatus::Stopped(pid, Signal::SIGSTOP)) if known.insert(pid) => (pid, None),
            Ok(WaitStatus::Stopped(pid, signal)) => (pid, Some(signal)),
            Ok(WaitStatus::PtraceEvent(pid, ..)) => (pid, None),
            Ok(_) => continue,
        };
        // It may have been killed meanwhile.
        let _ = ptrace::syscall(pid, signal);
    }
}

/// The call that the process is about to make; `None` if it comes back from one.
fn entered(pid: Pid) -> Option<libc::c_long> {
    let info = ptrace::syscall_info(pid).ok()?;
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    // SAFETY: `op` says which of the union's members it is.
    libc::c_long::try_from(unsafe { info.u.entry.nr }).ok()
}
