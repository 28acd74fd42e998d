//! Whether processes can be confined here: how far, by what, and why not (semantics, section 23).

use crate::report::doctor::{Check, Verdict};

use super::super::failure::Failure;
use super::super::session::{can_be_confined, fork_supervisor};
use crate::supervisor::Tier;

/// Confines a process of ours, which does nothing: whether that can be done, and by what.
pub fn tier() -> Result<Tier, Failure> {
    let mut supervisor = fork_supervisor()?;
    let tier = can_be_confined(&mut supervisor)?;
    supervisor.dismiss();
    Ok(tier)
}

/// What that means, where somebody says that processes must be confined (`required`) and where nobody does.
pub fn check(tier: Tier, required: Option<&'static str>) -> Check {
    let (way, by) = match &tier {
        Tier::Native => (Some("native"), "by namespaces of the kernel (native)"),
        Tier::Bubblewrap => (Some("bubblewrap"), "by namespaces that bubblewrap makes"),
        Tier::None(_) => (None, ""),
    };
    let refused = tier.refused();
    let (verdict, message) = match (&refused, required) {
        (None, _) if rustix::process::geteuid().is_root() => {
            let root = "but you are root: what is not protected, an agent can change for the whole machine";
            (Verdict::Warn, format!("whole, {by}; {root}"))
        }
        (None, _) => (Verdict::Ok, format!("whole, {by}")),
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
    let tier = if refused.is_none() { "whole" } else { "none" };
    let check = Check::new("confinement", verdict, message).with("tier", tier);
    check.with("way", way).with("reason", refused)
}
