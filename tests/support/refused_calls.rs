//! System calls that a process is refused, by a filter of its own: an older kernel, a disk that fails, a system without
//! namespaces, as far as programs can tell.

#![allow(dead_code, reason = "each of the test binaries that share it uses a part")]

use std::io;

use libc::{BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, c_int, c_long};
use libc::{sock_filter, sock_fprog};

/// A system call, and the error with which it ends instead of being made.
#[derive(Clone, Copy)]
pub struct Refused {
    pub call: c_long,
    /// Only calls with such an argument; every call where it is `None`.
    pub with: Option<Argument>,
    /// The error; 0 lets the call seem to succeed.
    pub error: c_int,
}

/// An argument, of which the bits of `mask` come to `value`.
#[derive(Clone, Copy)]
pub struct Argument {
    /// Counted from 0.
    pub number: u32,
    pub mask: u32,
    pub value: u32,
}

impl Argument {
    /// One that has a bit, among others.
    pub const fn having(number: u32, bit: c_int) -> Option<Self> {
        Some(Self { number, mask: bit.cast_unsigned(), value: bit.cast_unsigned() })
    }
}

impl Refused {
    /// A call that the kernel does not know.
    pub const fn unknown(call: c_long) -> Self {
        Self { call, with: None, error: libc::ENOSYS }
    }
}

/// Every way to make a user namespace, as where `user.max_user_namespaces` is 0.
pub const NAMESPACES: [Refused; 3] = [
    Refused { call: libc::SYS_clone, with: Argument::having(0, libc::CLONE_NEWUSER), error: libc::ENOSPC },
    Refused { call: libc::SYS_unshare, with: Argument::having(0, libc::CLONE_NEWUSER), error: libc::ENOSPC },
    // Its flags cannot be looked at; who finds it unknown goes on with the older call.
    Refused::unknown(libc::SYS_clone3),
];

/// What system calls of a process go through from now on.
pub fn filter(refused: &[Refused]) -> Vec<sock_filter> {
    let step = |code: u32, k: u32, jt: u8, jf: u8| sock_filter {
        code: u16::try_from(code).expect("it is a code"),
        jt,
        jf,
        k,
    };
    let load = |offset: u32| step(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
    let error = |error: c_int| {
        let error = u32::try_from(error).expect("it is a number");
        step(BPF_RET | BPF_K, libc::SECCOMP_RET_ERRNO | error, 0, 0)
    };
    let mut all = Vec::new();
    for Refused { call, with, error: number } in refused {
        let call = u32::try_from(*call).expect("it is a number");
        all.push(load(0));
        match with {
            None => all.push(step(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1)),
            Some(Argument { number, mask, value }) => all.extend([
                step(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4),
                // The lower half of the argument; the machines that tests run on are little-endian.
                load(16 + 8 * number),
                step(BPF_ALU | BPF_AND | BPF_K, *mask, 0, 0),
                step(BPF_JMP | BPF_JEQ | BPF_K, *value, 0, 1),
            ]),
        }
        all.push(error(*number));
    }
    all.push(step(BPF_RET | BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0));
    all
}

/// Lets this thread, and what it starts, go through a filter for good.
pub fn install(filter: &mut [sock_filter]) -> io::Result<()> {
    let len = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = sock_fprog { len, filter: filter.as_mut_ptr() };
    // SAFETY: two calls, of which the second one reads a program that lives through it.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}
