//! What a task costs the system, in calls: a count is the same on every machine, a time is not.

use nix::libc;

use crate::support::trace::{Calls, traced};
use crate::support::{Workspace, skipped};

/// A mission of tasks that do nothing, each of which needs what `needs` says.
fn mission(tasks: usize, needs: impl Fn(usize) -> Option<usize>) -> Workspace {
    let mut text = "name: calls\nagents: {noop: {run: [/bin/true], input: none}}\ntasks:\n".to_owned();
    for task in 0..tasks {
        let needs = needs(task).map_or_else(String::new, |on| format!(", dependsOn: [t{on}]"));
        text.push_str(&format!("  - {{title: t{task}{needs}}}\n"));
    }
    Workspace::with(&text)
}

/// What one more task costs: the difference between a longer and a shorter mission, so that starting up is not in it.
fn per_task(jobs: &str, needs: impl Fn(usize) -> Option<usize>) -> Option<impl Fn(&[libc::c_long]) -> f64> {
    let (few, many) = (50, 150);
    let count = |tasks| -> Option<Calls> {
        let workspace = mission(tasks, &needs);
        traced(workspace.command(&["run", "-j", jobs, "--progress", "none"]))
    };
    let (less, more) = (count(few)?, count(many)?);
    Some(move |calls: &[libc::c_long]| {
        let sum = |of: &Calls| calls.iter().filter_map(|call| of.get(call)).sum::<u64>() as f64;
        (sum(&more) - sum(&less)) / (many - few) as f64
    })
}

#[cfg(target_arch = "x86_64")]
const FORKS: [libc::c_long; 2] = [libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const FORKS: [libc::c_long; 0] = [];

fn assert_lean(shape: &str, syncs: f64, cost: &dyn Fn(&[libc::c_long]) -> f64) {
    let told = format!(
        "{shape}: {:.2} syncs, {:.2} spawns, {:.2} execs, {:.2} opens a task",
        cost(&[libc::SYS_fdatasync]),
        cost(&[libc::SYS_clone, libc::SYS_clone3]),
        cost(&[libc::SYS_execve]),
        cost(&[libc::SYS_openat]),
    );
    println!("{told}");
    assert!(cost(&[libc::SYS_fdatasync]) <= syncs, "{told}");
    assert!(cost(&[libc::SYS_clone, libc::SYS_clone3]) <= 1.05, "{told}");
    assert!(cost(&FORKS) < 0.01, "{told}");
    assert!(cost(&[libc::SYS_execve]) <= 1.0, "{told}");
    // Two of them are the dynamic linker's, two the outputs of the child; on a busy machine a child lives long enough for its
    // start time to be asked for.
    assert!(cost(&[libc::SYS_openat]) <= 5.0, "{told}");
    // The folder in which an agent may leave a message is there when its turn begins: one that stayed empty is handed on.
    assert!(cost(&[libc::SYS_renameat, libc::SYS_renameat2]) <= 1.05, "{told}");
    // Nothing is made and removed for a task that says nothing, and only the journal is synced.
    let files = [
        libc::SYS_mkdir,
        libc::SYS_mkdirat,
        libc::SYS_rmdir,
        libc::SYS_unlinkat,
        libc::SYS_linkat,
        libc::SYS_fsync,
    ];
    assert!(cost(&files) < 0.05, "{told}");
}

#[test]
fn a_task_in_a_chain_costs_one_sync() {
    match per_task("2", |task| task.checked_sub(1)) {
        Some(cost) => assert_lean("chain", 1.1, &cost),
        None => skipped("processes cannot be traced"),
    }
}

#[test]
fn independent_tasks_share_their_syncs() {
    match per_task("8", |_| None) {
        Some(cost) => assert_lean("independent", 1.0, &cost),
        None => skipped("processes cannot be traced"),
    }
}
