//! A soak: one big mission with everything in it, agents that fail, ask, hang, hand work down and misbehave, killed and
//! resumed again and again. It must end, with every task terminal or waiting for a reason that has a name, and what it says
//! at its end must be what a reader that shares no code with it makes of the journal.
//!
//! `QUORUM_SOAK_SEED=n` plays another one, `QUORUM_SOAK_TASKS=n` and `QUORUM_SOAK_KILLS=n` a smaller or a longer one (see
//! `measure/README.md`).

mod bill;
mod comparison;
mod mission;
mod recount;
mod seen;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::support::journal;
use crate::support::scenes::kills::{Dice, at_work_in, child_of, length, number};
use crate::support::{Running, Workspace, wait_for};

use mission::Plan;
use recount::Recount;

/// What every `cargo test` plays.
const FEW: (u64, u64) = (60, 3);
/// What the long one plays.
const MANY: (u64, u64) = (2_000, 20);
/// Bytes of journal that a task comes to, at least.
const BYTES: u64 = 600;
/// Sessions after which it does not come to an end.
const MOST_SESSIONS: u64 = 200;
/// How long a session of the long one may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// What a person does with what waits for one.
struct Person {
    dice: Dice,
    /// How many tasks the mission has.
    tasks: usize,
    /// What is left open for good.
    left: BTreeSet<String>,
    counts: BTreeMap<&'static str, u64>,
    /// Requests that nobody has decided about yet, by number, and those that became tasks.
    undecided: Vec<usize>,
    taken: Vec<usize>,
}

impl Person {
    fn new(seed: u64, plan: &Plan) -> Self {
        Self {
            dice: Dice::new(seed),
            tasks: plan.tasks.len(),
            left: BTreeSet::new(),
            counts: BTreeMap::new(),
            undecided: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Asks for everything that is to be asked for. Nothing is decided by that. The last two are refused and called off.
    fn submit(&mut self, workspace: &Workspace, plan: &Plan) {
        for asked in &plan.requests {
            let mut arguments = vec!["request", "submit", &asked.title, "--to", "worker"];
            for on in &asked.needs {
                arguments.extend(["--depends-on", &plan.tasks[*on].title]);
            }
            workspace.quorum(&arguments).exits(0);
        }
        let refused = plan.requests.len();
        for arguments in [
            &["reject", &format!("req-{refused}"), "--reason", "no"][..],
            &["cancel", &format!("req-{}", refused - 1)],
        ] {
            let arguments: Vec<&str> = ["request"].iter().chain(arguments).copied().collect();
            workspace.quorum(&arguments).exits(0);
        }
        self.undecided = (1..refused - 1).rev().collect();
    }

    /// Approves the next request, whatever the run is doing. Nobody may have heard of it yet: then it is said again later.
    fn approve_next(&mut self, workspace: &Workspace, when: &'static str) -> bool {
        let Some(number) = self.undecided.pop() else {
            return false;
        };
        let approved = workspace.quorum(&["request", "approve", &format!("req-{number}")]);
        if approved.code() == Some(8) {
            self.undecided.push(number);
            self.count("requests left to the run");
        } else {
            approved.exits(0);
            self.taken.push(number);
            self.count(when);
        }
        true
    }

    /// Each request that was approved is a task of the run, once; no other is.
    fn was_heard(&self, workspace: &Workspace, plan: &Plan, recount: &Recount<'_>) {
        let list = workspace.quorum(&["request", "list", "--json"]).exits(0).json();
        let rows = list["requests"].as_array().expect("there are requests");
        assert_eq!(rows.len(), plan.requests.len());
        assert_eq!(self.taken.len() + 2, rows.len(), "all were decided about");
        for (n, (row, asked)) in rows.iter().zip(&plan.requests).enumerate() {
            let is_taken = self.taken.contains(&(n + 1));
            let status = if is_taken { "task_created" } else { "cancelled" };
            assert_eq!(row["status"], status, "{row}");
            assert_eq!(recount.has(&asked.title), is_taken, "{row}");
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Answers most of what waits, and lets most failed gates pass. Whether anything was said. Nothing that much hangs on
    /// is left as it is.
    fn answer(&mut self, workspace: &Workspace, status: &Value) -> bool {
        let mut said = self.approve_next(workspace, "requests approved between sessions");
        let gates = status["gates"].as_array().expect("there are gates");
        for gate in gates[..gates.len() * 4 / 5].iter().filter(|gate| gate["state"] == "failed") {
            let name = gate["name"].as_str().expect("it has a name");
            workspace.quorum(&["gate", name, "--override", "--yes", "--reason", "known"]).exits(0);
            self.count("gates let pass");
            said = true;
        }
        // Much may hang on what was added: it may stand for an early task.
        let late = self.tasks / 2..self.tasks;
        for approval in status["approvals"].as_array().expect("there is a list") {
            let id = approval["id"].as_str().expect("it has an id");
            if self.left.contains(id) {
                continue;
            }
            let task: usize = id.split('.').nth(1).and_then(|task| task.parse().ok()).unwrap_or(0);
            let is_question = approval["reason"] == "question";
            let (what, arguments) = match self.dice.below(20) {
                0 | 1 if late.contains(&task) => {
                    self.left.insert(id.to_owned());
                    self.count("left open");
                    continue;
                }
                2..=3 if !is_question => ("rejected", vec!["reject", id, "--reason", "not like this"]),
                _ if is_question => ("answered", vec!["answer", id, "This one."]),
                _ => ("approved", vec!["approve", id]),
            };
            workspace.quorum(&arguments).exits(0);
            self.count(what);
            said = true;
        }
        said
    }
}

fn soak(seed: u64, tasks: u64, kills: u64) {
    let begin = Instant::now();
    let (workspace, plan) = mission::workspace(seed, tasks);
    let journal = workspace.path(&journal::of("r1"));
    let mut dice = Dice::new(seed ^ 0x50a4);
    let mut person = Person::new(seed ^ 0xbeef, &plan);
    person.submit(&workspace, &plan);
    let (mut killed, mut sessions) = (0, 0);
    let step = tasks * BYTES / (kills + 2);
    let status = loop {
        sessions += 1;
        assert!(sessions < MOST_SESSIONS, "it does not come to an end");
        let arguments = if length(&journal) == 0 {
            &["run", "mission.yaml", "--run-id", "r1", "--progress", "none"][..]
        } else {
            &["resume", "--progress", "none"]
        };
        let running = workspace.start(arguments);
        let growth = (killed < kills).then(|| dice.below(2 * step));
        let mut meanwhile = || {
            person.approve_next(&workspace, "requests approved in a live run");
        };
        if strike(running, &journal, &mut dice, growth, &mut meanwhile) {
            killed += 1;
            let status = workspace.status();
            Recount::of(&plan, &journal).agrees_with(&status);
            if killed % 3 == 0 {
                person.approve_next(&workspace, "requests approved after a kill");
            }
            continue;
        }
        let status = workspace.status();
        Recount::of(&plan, &journal).agrees_with(&status);
        if !person.answer(&workspace, &status) {
            break status;
        }
    };
    let recount = Recount::of(&plan, &journal);
    recount.agrees_with(&status);
    recount.has_ended(&person.left);
    person.was_heard(&workspace, &plan, &recount);
    workspace.quorum(&["review", "--replay", "r1"]).exits(0);
    let mut lines = BTreeSet::new();
    for line in workspace.lines("log") {
        assert!(recount.started.contains(&line), "{line}: started without a record");
        assert!(lines.insert(line.clone()), "{line}: started twice");
    }
    let folder = workspace.root().canonicalize().expect("it is there");
    wait_for("the end of everybody", || at_work_in(&folder.display().to_string()).is_empty());
    println!(
        "seed {seed}: {tasks} tasks in the mission, {killed} kills, {sessions} sessions, {:.0} s\n{recount}\na person {:?}\n{} \
         bytes of journal, exit code {}",
        begin.elapsed().as_secs_f64(),
        person.counts,
        length(&journal),
        status["exitCode"],
    );
    assert_eq!(killed, kills, "it ended before it was killed often enough");
}

/// Kills the runner, its supervisor or both once the journal has grown by so much; `None`: never. `false` if it ended before,
/// which it must do with an outcome. Half-way there something else is done meanwhile.
fn strike(
    mut running: Running,
    journal: &Path,
    dice: &mut Dice,
    growth: Option<u64>,
    meanwhile: &mut dyn FnMut(),
) -> bool {
    let begun = length(journal);
    let reached = growth.map_or(u64::MAX, |growth| begun + 1 + growth);
    let mut half_way = growth.map(|growth| begun + 1 + growth / 2);
    let begin = Instant::now();
    while length(journal) < reached {
        if running.has_ended() {
            has_outcome(running);
            return false;
        }
        if half_way.is_some_and(|half_way| length(journal) >= half_way) {
            half_way = None;
            meanwhile();
        }
        assert!(begin.elapsed() < PATIENCE, "nothing moves any more");
        std::thread::sleep(Duration::from_millis(1));
    }
    if running.has_ended() {
        // What was said meanwhile made the journal grow.
        has_outcome(running);
        return false;
    }
    let supervisor = child_of(running.pid());
    let end_supervisor =
        || supervisor.is_some_and(|supervisor| kill_process(supervisor, Signal::KILL).is_ok());
    match dice.below(5) {
        0 => {
            end_supervisor();
            running.kill();
        }
        1 => {
            running.kill();
            end_supervisor();
        }
        2 if end_supervisor() => {
            // It notices, and leaves what is durable behind.
            let code = running.finish().code();
            assert!(code.is_some(), "it died of the death of its supervisor");
        }
        _ => running.kill(),
    }
    true
}

fn has_outcome(running: Running) {
    let code = running.finish().code();
    assert!(matches!(code, Some(0 | 3..=6 | 8)), "it ended with {code:?}");
}

#[test]
fn a_small_soak_ends_as_its_journal_says() {
    let of = |variable: &str, few: u64| number(variable).unwrap_or(few);
    soak(of("QUORUM_SOAK_SEED", 1), of("QUORUM_SOAK_TASKS", FEW.0), of("QUORUM_SOAK_KILLS", FEW.1));
}

#[test]
#[ignore = "minutes; see measure/README.md"]
fn two_thousand_tasks_killed_twenty_times_end_as_their_journal_says() {
    let of = |variable: &str, many: u64| number(variable).unwrap_or(many);
    soak(of("QUORUM_SOAK_SEED", 1), of("QUORUM_SOAK_TASKS", MANY.0), of("QUORUM_SOAK_KILLS", MANY.1));
}
