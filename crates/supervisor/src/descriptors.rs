//! What the standard descriptors were before the program began.
//!
//! The standard library opens `/dev/null` in place of a standard descriptor that is closed, before `main`. What is printed
//! then goes nowhere and nothing fails; so the look is taken earlier still, where the system starts initialisers.

use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: it asks for the flags of a descriptor, which needs nothing that is not there yet.
    let closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    STDOUT_WAS_CLOSED.store(closed, Ordering::Relaxed);
}

// SAFETY: the section holds pointers to functions of this very type, each of which is called once before `main`.
#[used]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOOK: extern "C" fn() = look;

/// Whether this process was started without a standard output (`>&-`): nothing that is printed reaches anybody.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}
