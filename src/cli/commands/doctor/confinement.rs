//! Whether processes can be confined here: how far, by what, and why not (semantics, section 23).

use crate::{
    cli::{
        command_error::Failure,
        session::{can_be_confined, fork_supervisor},
    },
    report::documents::doctor::{CheckOutcome, HealthCheck},
};

use supervisor::{NamespaceMaker, Tier};

/// Confines a process of ours, which does nothing: whether that can be done, and by what.
pub fn tier() -> Result<Tier, Failure> {
    let mut supervisor = fork_supervisor()?;
    let tier = can_be_confined(&mut supervisor)?;
    supervisor.dismiss();
    Ok(tier)
}

/// The check of confinement: `required` is the source of the rule that processes must be confined, where
/// somebody sets it.
pub fn check(tier: Tier, required: Option<&'static str>) -> HealthCheck {
    let (name, way, reason) = match &tier {
        Tier::Whole(way) => ("whole", Some(*way), None),
        Tier::SharedProcesses(way, why) => ("shared-processes", Some(*way), Some(why.clone())),
        Tier::Signals(why) => ("signals", None, Some(why.clone())),
        Tier::None(why) => ("none", None, Some(why.clone())),
    };
    let (way, by) = match way {
        Some(NamespaceMaker::Native) => (Some("native"), "by namespaces of the kernel (native)"),
        Some(NamespaceMaker::Bubblewrap) => (Some("bubblewrap"), "by namespaces that bubblewrap makes"),
        None => (None, ""),
    };
    let told = match tier {
        Tier::Whole(_) => format!("whole, {by}"),
        Tier::SharedProcesses(_, why) => {
            format!(
                "nearly whole, {by}: agents see which processes run, but can neither read nor signal them: {why}"
            )
        }
        Tier::Signals(why) => {
            format!("no files, only that agents can neither read nor signal others' processes: {why}")
        }
        Tier::None(why) => format!("none: {why}"),
    };
    let (verdict, message) = match (way, required) {
        (Some(_), _) if rustix::process::geteuid().is_root() => {
            let root = "but you are root: what is not protected, an agent can change for the whole machine";
            (CheckOutcome::Warn, format!("{told}; {root}"))
        }
        (Some(_), _) => (CheckOutcome::Ok, told),
        (None, Some(by)) => (CheckOutcome::Fail, format!("{told}; with {by} nothing begins here")),
        (None, None) => {
            let marked = "runs are marked as unconfined, with `sandbox: required` none begins";
            (CheckOutcome::Warn, format!("{told}; {marked}"))
        }
    };
    let check = HealthCheck::new("confinement", verdict, message).with("tier", name);
    check.with("way", way).with("reason", reason)
}
