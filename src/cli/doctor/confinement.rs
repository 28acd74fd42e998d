//! Whether processes can be confined here: how far, by what, and why not (semantics, section 23).

use crate::report::doctor::{Check, Verdict};

use super::super::failure::Failure;
use super::super::session::{can_be_confined, fork_supervisor};

/// Confines a process of ours, which does nothing: why that cannot be done, where it cannot.
pub fn refused() -> Result<Option<String>, Failure> {
    let mut supervisor = fork_supervisor()?;
    let refused = can_be_confined(&mut supervisor)?;
    supervisor.dismiss();
    Ok(refused)
}

/// What that means, where somebody says that processes must be confined (`required`) and where nobody does.
pub fn check(refused: Option<String>, required: Option<&'static str>) -> Check {
    let (verdict, message) = match (&refused, required) {
        (None, _) if rustix::process::geteuid().is_root() => {
            let message = "whole, by namespaces of the kernel; but you are root: what is not protected, an agent can change \
                for the whole machine";
            (Verdict::Warn, message.to_owned())
        }
        (None, _) => (Verdict::Ok, "whole, by namespaces of the kernel".to_owned()),
        (Some(why), Some(by)) => {
            let message = format!("none: {why}; with {by} nothing begins here");
            (Verdict::Fail, message)
        }
        (Some(why), None) => {
            let message =
                format!("none: {why}; runs are marked as unconfined, with `sandbox: required` none begins");
            (Verdict::Warn, message)
        }
    };
    let (tier, way) = match refused {
        None => ("whole", Some("native")),
        Some(_) => ("none", None),
    };
    let check = Check::new("confinement", verdict, message).with("tier", tier);
    check.with("way", way).with("reason", refused)
}
