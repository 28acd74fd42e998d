//! An older kernel, as far as programs can tell.

use std::io;

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter, sock_fprog};

/// What the supervisor needs to confine a process itself: Linux 5.12.
pub const MOUNT_SETATTR: libc::c_long = libc::SYS_mount_setattr;

/// What the system calls of a process go through from now on: this one is not there.
pub fn filter(missing: libc::c_long) -> [sock_filter; 4] {
    let step = |code: u32, k: u32, jt: u8, jf: u8| sock_filter {
        code: u16::try_from(code).expect("it is a code"),
        jt,
        jf,
        k,
    };
    let missing = u32::try_from(missing).expect("it is a number");
    let refused = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::ENOSYS).expect("it is a number");
    [
        step(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, missing, 0, 1),
        step(BPF_RET | BPF_K, refused, 0, 0),
        step(BPF_RET | BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ]
}

/// Lets this process, and what it starts, go through a filter for good.
pub fn install(filter: &mut [sock_filter; 4]) -> io::Result<()> {
    let program = sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: two calls, of which the second one reads a program that lives through it.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}
