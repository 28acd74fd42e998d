//! Keeping a child from others' processes where no namespaces can be made: a domain of Landlock (semantics, section 23).
//!
//! Whoever is in it can neither signal a process outside, nor trace it, nor read its memory, environment and descriptors, nor
//! reach its abstract sockets. Files are what they are outside.

use std::os::fd::OwnedFd;

use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

/// What children enter; `None` where the kernel is older than 6.12 or has Landlock switched off.
pub(super) fn domain() -> Option<OwnedFd> {
    // What of it cannot be had is not worth having: the tier would be called by a name that does not hold.
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket).ok()?;
    rules.create().ok()?.into()
}

/// Enters a domain for good, with all that is started from here. A few system calls, and nothing else.
pub(super) fn enter(domain: i32) -> bool {
    // SAFETY: both calls take numbers only.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_landlock_restrict_self, domain, 0) == 0
    }
}
