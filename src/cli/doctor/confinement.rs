//! Whether processes can be confined here: how far, by what, and why not (semantics, section 23).

use crate::report::doctor::{Check, Verdict};

use super::super::failure::Failure;
use super::super::session::{can_be_confined, fork_supervisor};

/// Confines a process of ours, which does nothing.
pub fn check() -> Result<Check, Failure> {
    let mut supervisor = fork_supervisor()?;
    let refused = can_be_confined(&mut supervisor)?;
    supervisor.dismiss();
    let check = |verdict, message: String, (tier, way): (&str, Option<&str>)| {
        let check = Check::new("confinement", verdict, message).with("tier", tier);
        check.with("way", way).with("reason", refused.clone())
    };
    Ok(match &refused {
        None if rustix::process::geteuid().is_root() => {
            let message = "whole, by namespaces of the kernel; but you are root: what is not protected, an agent can change \
                for the whole machine";
            check(Verdict::Warn, message.to_owned(), ("whole", Some("native")))
        }
        None => {
            let message = "whole, by namespaces of the kernel".to_owned();
            check(Verdict::Ok, message, ("whole", Some("native")))
        }
        Some(why) => {
            let message =
                format!("none: {why}; runs are marked as unconfined, with `sandbox: required` none begins");
            check(Verdict::Warn, message, ("none", None))
        }
    })
}
