//! Keeping a child from others' processes where no namespaces can be made, and a short program from others' files: domains of
//! Landlock (semantics, sections 22 and 23).
//!
//! Whoever is in it can neither signal a process outside, nor trace it, nor read its memory, environment and descriptors, nor
//! reach its abstract sockets. Files are what they are outside, unless the domain has places of its own.

use std::io;
use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope, path_beneath_rules,
};

use crate::start::Bounds;

/// The domain that children enter; `None` where the kernel is older than 6.12 or has Landlock switched off.
pub fn domain() -> Option<OwnedFd> {
    // What of it cannot be had is not worth having: the tier would be called by a name that does not hold.
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket).ok()?;
    rules.create().ok()?.into()
}

/// A domain that keeps to these bounds. Parts that this kernel cannot do are left out: `None` where that is all of it.
pub fn domain_of(bounds: &Bounds<'_>) -> io::Result<Option<OwnedFd>> {
    let reads = AccessFs::ReadFile | AccessFs::ReadDir;
    let make = || -> Result<_, RulesetError> {
        let rules = Ruleset::default().handle_access(AccessFs::from_all(ABI::V9))?;
        let rules = if bounds.network { rules } else { rules.handle_access(AccessNet::from_all(ABI::V9))? };
        let rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket)?.create()?;
        let rules = rules.add_rules(path_beneath_rules(bounds.programs, AccessFs::from_read(ABI::V9)))?;
        let rules = rules.add_rules(path_beneath_rules(&bounds.reads, reads))?;
        let writes = AccessFs::from_write(ABI::V9) | reads;
        rules.add_rules(path_beneath_rules(&bounds.writes, writes))
    };
    make().map(Into::into).map_err(io::Error::other)
}

/// Enters a domain for good, with all that is started from here. A few system calls, and nothing else.
pub fn enter(domain: i32) -> bool {
    // SAFETY: both calls take numbers only.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_landlock_restrict_self, domain, 0) == 0
    }
}
