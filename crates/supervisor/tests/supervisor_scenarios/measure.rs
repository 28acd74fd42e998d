//! What the supervisor adds to the bare cost of a child. `cargo test --release --test supervisor -- --ignored`

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use supervisor::{NamespaceMaker, SupervisorEvent, Tier};

use super::refused_calls::{self, Refused};
use super::scene::{Scene, cpu_time};

const CHILDREN: u32 = 2000;
/// How many children are confined, and as many not.
const SPAWNS: u32 = 300;

pub fn cost_per_child() {
    for round in 1..=3 {
        let (wall, floor) = bare();
        println!("round {round}: bare: {:.0} us a child, {:.1} us own cpu", micros(wall), micros(floor));
        for (what, files) in [("outputs discarded", false), ("outputs to files", true)] {
            let (wall, supervisor, runner) = kept(files);
            println!(
                "         supervisor, {what}: {:.0} us a child, cpu: supervisor {:.1} us ({:+.1}), runner {:.1} us",
                micros(wall),
                micros(supervisor),
                micros(supervisor) - micros(floor),
                micros(runner),
            );
        }
    }
}

/// Children one at a time, as they are and confined as an agent's are: medians of wall time and of the processor time of all
/// that is reaped, from the moment a child is asked for until its end is known.
pub fn cost_of_confinement() {
    for round in 1..=3 {
        cost(round, "unconfined", false);
        cost(round, "confined, native", true);
    }
    // From here on there is no way back: this process and its children lack what the supervisor needs to confine by itself.
    let without = [Refused::unknown(libc::SYS_mount_setattr)];
    refused_calls::install(&mut refused_calls::filter(&without)).unwrap();
    for round in 1..=3 {
        cost(round, "confined, bubblewrap", true);
    }
}

fn cost(round: u32, what: &str, is_confined: bool) {
    let mut scene = Scene::new();
    scene.send(&supervisor::SupervisorCommand::TryConfinement);
    let tier = scene.event();
    let is_bubblewrap = what.ends_with("bubblewrap");
    let expected =
        Tier::Whole(if is_bubblewrap { NamespaceMaker::Bubblewrap } else { NamespaceMaker::Native });
    if is_confined && tier != SupervisorEvent::Confinement(expected) {
        println!("round {round}: {what}: not measured: {tier:?}");
        return;
    }
    let (mut walls, before) = (Vec::new(), reaped(scene.identity.pid));
    for _ in 0..SPAWNS {
        let mut spawn = if is_confined {
            super::confinement::confined(&mut scene, "")
        } else {
            scene.program(&["/bin/true"])
        };
        spawn.argv = vec!["/bin/true".into()];
        let started = Instant::now();
        scene.send(&supervisor::SupervisorCommand::Spawn(Box::new(spawn)));
        while !matches!(scene.event(), SupervisorEvent::Exited(_)) {}
        walls.push(started.elapsed());
    }
    walls.sort_unstable();
    let cpu = (reaped(scene.identity.pid) - before).as_secs_f64() * 1e3 / f64::from(SPAWNS);
    let median = walls[walls.len() / 2].as_secs_f64() * 1e3;
    println!("round {round}: {what}: {median:.2} ms wall, {cpu:.2} ms cpu a child");
}

/// Processor time of a process and of all its children that have ended.
fn reaped(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    let ticks = rest.split(' ').skip(11).take(4).map(|field| field.parse::<u64>().unwrap()).sum::<u64>();
    // Linux tells every program that its clock ticks so often.
    Duration::from_millis(ticks * 10)
}

fn micros(total: Duration) -> f64 {
    total.as_secs_f64() * 1e6 / f64::from(CHILDREN)
}

/// Spawn and wait, one at a time, by the standard library alone.
fn bare() -> (Duration, Duration) {
    let pid = std::process::id();
    let (started, before) = (Instant::now(), cpu_time(pid));
    for _ in 0..CHILDREN {
        let mut command = Command::new("/bin/true");
        command.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success());
    }
    (started.elapsed(), cpu_time(pid) - before)
}

/// The same by way of a supervisor.
fn kept(files: bool) -> (Duration, Duration, Duration) {
    let mut scene = Scene::new();
    let (supervisor, runner) = (scene.identity.pid, std::process::id());
    let (started, before, own) = (Instant::now(), cpu_time(supervisor), cpu_time(runner));
    for _ in 0..CHILDREN {
        let mut spawn = scene.program(&["/bin/true"]);
        spawn.timeout_ms = Some(60_000);
        if !files {
            (spawn.stdout, spawn.stderr) = (None, None);
        }
        scene.send(&supervisor::SupervisorCommand::Spawn(Box::new(spawn)));
        while !matches!(scene.event(), SupervisorEvent::Exited(_)) {}
    }
    (started.elapsed(), cpu_time(supervisor) - before, cpu_time(runner) - own)
}
