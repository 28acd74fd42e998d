//! What other processes of the same user may see of this one: as little as the system lets us hide.
//!
//! A runner and its supervisor hold keys: in their environment, and in memory. A process that is not dumpable cannot be read
//! by another one of its user (`/proc/PID/environ`, `/proc/PID/mem`, a debugger) unless that has an administrator's rights;
//! and where it has, the block that `/proc/PID/environ` shows is empty.

use std::ffi::{CStr, c_char};

use super::turn_marker::TURN_KEY_VARIABLE;

/// The variables by which an outer run recognises its turns, which are no secret.
const SHOWN: [&str; 2] = [TURN_KEY_VARIABLE, "QUORUM_RUN_ID"];

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Hides this process, and with it those that it forks. The environment can be asked for as before.
///
/// # Safety
///
/// The process must have one thread: the environment moves.
pub unsafe fn conceal() {
    // SAFETY: one thread, says the caller, so nothing reads the environment meanwhile.
    unsafe { move_environment() };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Where it is refused, the process is as visible as any other.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Gives each variable a new place in memory and overwrites the old one, which is the one that the system shows.
unsafe fn move_environment() {
    // SAFETY: the list ends in a null and each entry is a string, as the C library keeps it.
    unsafe {
        let mut entry = environ;
        // The block of the start of the program is one piece; what was set later lies elsewhere, and no reader is shown it.
        let mut next_of_block = entry.as_ref().copied().unwrap_or(std::ptr::null_mut());
        while let Some(&text) = entry.as_ref().filter(|text| !text.is_null()) {
            let length = CStr::from_ptr(text).count_bytes();
            if text == next_of_block {
                next_of_block = text.add(length + 1);
                if !is_shown(CStr::from_ptr(text)) {
                    // Never freed: the environment lives as long as the process.
                    *entry = CStr::from_ptr(text).to_owned().into_raw();
                    overwrite(text, length);
                }
            }
            entry = entry.add(1);
        }
    }
}

/// Forgets the whole environment, for a process that starts others with environments that it is told.
///
/// # Safety
///
/// The process must have one thread, and have called [`conceal`] or be forked from one that has.
pub unsafe fn forget_environment() {
    // SAFETY: as in `move_environment`.
    unsafe {
        let mut entry = environ;
        while let Some(&text) = entry.as_ref().filter(|text| !text.is_null()) {
            if !is_shown(CStr::from_ptr(text)) {
                overwrite(text, CStr::from_ptr(text).count_bytes());
            }
            entry = entry.add(1);
        }
        if let Some(first) = environ.as_mut() {
            *first = std::ptr::null_mut();
        }
    }
}

fn is_shown(variable: &CStr) -> bool {
    let name = variable.to_bytes().split(|byte| *byte == b'=').next();
    SHOWN.iter().any(|shown| name == Some(shown.as_bytes()))
}

unsafe fn overwrite(text: *mut c_char, length: usize) {
    for at in 0..length {
        // SAFETY: within the string. Volatile, for it is not read again.
        unsafe { text.add(at).write_volatile(0) };
    }
}
