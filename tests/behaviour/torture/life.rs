//! The whole life of a random run with kills in all of it: at its start, while it works, while it recovers, while a
//! person answers; the runner, its supervisor, or both.
//!
//! `QUORUM_TORTURE_SEED=n` plays one life, `QUORUM_TORTURE_KILLS=n` says how many kills the long test is after (see
//! `measure/README.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{essence, mission, turns};
use crate::support::events::{assert_legal_steps, is};
use crate::support::journal;
use crate::support::scenes::kills::{Dice, at_work_in, child_of, length, number};
use crate::support::{Running, Workspace, is_alive, wait_for};

/// Lives that every `cargo test` plays.
const FEW: u64 = 7;
/// Kills that the long test is after.
const MANY: u64 = 1_000;
/// Most kills in one life.
const MOST_KILLS: u64 = 12;
/// "At once", for a machine that is busy with other things.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Kills by phase and by victim, and what they met.
#[derive(Debug, Default)]
struct Tally {
    counts: BTreeMap<&'static str, u64>,
    slowest_status: Duration,
}

impl Tally {
    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn kills(&self) -> u64 {
        self.counts.get("kills").copied().unwrap_or_default()
    }

    fn add(&mut self, other: &Self) {
        for (what, count) in &other.counts {
            *self.counts.entry(what).or_default() += count;
        }
        self.slowest_status = self.slowest_status.max(other.slowest_status);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.counts {
            write!(f, "{what} {count}, ")?;
        }
        write!(f, "slowest status {} ms", self.slowest_status.as_millis())
    }
}

/// When to strike.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// The journal has grown by so many bytes.
    Bytes(u64),
    /// So many more turns have been started by the agents' own word.
    Starts(usize),
    /// So much time has passed since the process was made: the fault is the time, nothing waits for it.
    Micros(u64),
}

/// Whom to strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Runner,
    Supervisor,
    RunnerThenSupervisor,
    SupervisorThenRunner,
}

impl Victim {
    fn name(self) -> &'static str {
        match self {
            Self::Runner => "runner",
            Self::Supervisor => "supervisor",
            Self::RunnerThenSupervisor | Self::SupervisorThenRunner => "runner and supervisor",
        }
    }
}

struct Life {
    workspace: Workspace,
    dice: Dice,
    /// Kills that are still to come.
    due: u64,
    /// Length of the journal of an undisturbed life.
    whole: u64,
    killed: usize,
    sessions: u64,
    events: Vec<Value>,
    tally: Tally,
}

impl Life {
    fn new(seed: u64, whole: u64, kills: u64) -> Self {
        Self {
            workspace: mission::workspace(seed),
            dice: Dice::new(seed ^ 0xdead),
            due: kills,
            whole,
            killed: 0,
            sessions: 0,
            events: Vec::new(),
            tally: Tally::default(),
        }
    }

    fn journal(&self) -> PathBuf {
        self.workspace.path(&journal::of("r1"))
    }

    /// From the first start to where nothing moves any more: everything that waits for a person is accepted.
    fn live(&mut self) -> Value {
        for _ in 0..200 {
            let has_ended = self.session();
            let Some(status) = self.look() else {
                continue;
            };
            if !has_ended {
                continue;
            }
            let waiting = status["approvals"].as_array().expect("there is a list");
            // What a moment ends has no id, and nobody decides it.
            let approvals: Vec<&Value> = waiting.iter().filter(|row| !row["id"].is_null()).collect();
            if approvals.is_empty() {
                // Whatever was killed, all that was judged can be derived again.
                self.workspace.quorum(&["review", "--replay", "r1"]).exits(0);
                return essence(&status);
            }
            for approval in approvals {
                self.answer(approval);
            }
        }
        panic!("it does not come to an end: {:#}", self.workspace.status());
    }

    /// One session. Whether it ended by itself, with everything said that it had to say.
    fn session(&mut self) -> bool {
        // Before its first record there is nothing to resume: whoever started it starts it again.
        let begun = self.sessions > 0 && length(&self.journal()) > 0;
        let arguments = if begun {
            &["resume", "--json"][..]
        } else {
            &["run", "mission.yaml", "--run-id", "r1", "--json"]
        };
        self.sessions += 1;
        let running = self.workspace.start(arguments);
        if self.due == 0 {
            return ended(running);
        }
        let victim = match self.dice.below(10) {
            0 | 1 => Victim::Supervisor,
            2 => Victim::RunnerThenSupervisor,
            3 => Victim::SupervisorThenRunner,
            _ => Victim::Runner,
        };
        let moment = match self.dice.below(4) {
            0 => Moment::Starts(usize::try_from(1 + self.dice.below(4)).expect("a small number")),
            1 => Moment::Micros(self.dice.below(if begun { 40_000 } else { 120_000 })),
            _ => Moment::Bytes(1 + self.dice.below(self.whole / 2)),
        };
        self.strike(running, victim, moment, begun)
    }

    fn strike(&mut self, mut running: Running, victim: Victim, moment: Moment, begun: bool) -> bool {
        if !self.wait_for(&mut running, moment) {
            self.tally.count("ended before the kill");
            return ended(running);
        }
        let journal = self.events.len();
        let runner = running.pid();
        let supervisor = child_of(runner);
        let strike = |pid: Option<Pid>| pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
        match victim {
            Victim::Supervisor if supervisor.is_none() => running.kill(),
            Victim::Supervisor => {
                strike(supervisor);
                // It notices, and leaves what is durable behind; or it had nothing left to do.
                let code = running.finish().code();
                assert!(code.is_some(), "it died of the death of its supervisor");
            }
            Victim::Runner => running.kill(),
            Victim::RunnerThenSupervisor => {
                running.kill();
                strike(supervisor);
            }
            Victim::SupervisorThenRunner => {
                strike(supervisor);
                running.kill();
            }
        }
        if let (Some(supervisor), true) = (supervisor, victim != Victim::Runner) {
            wait_for("the end of the supervisor", || !is_alive(supervisor));
        }
        self.due -= 1;
        self.killed += 1;
        self.tally.count("kills");
        self.tally.count(victim.name());
        self.tally.count(match (begun, self.workspace.lines("log").is_empty()) {
            (false, true) => "before the first turn",
            (false, false) => "in the first session",
            (true, _) if journal == 0 => "in the second session",
            (true, _) => "in a resumed session",
        });
        // One that came to its end all the same will say so in its journal, and is looked at as any other.
        false
    }

    /// Whether the moment came while it lived.
    fn wait_for(&self, running: &mut Running, moment: Moment) -> bool {
        let begin = Instant::now();
        let (bytes, starts) = (length(&self.journal()), self.workspace.lines("log").len());
        loop {
            let reached = match moment {
                Moment::Bytes(more) => length(&self.journal()) >= bytes + more,
                Moment::Starts(more) => self.workspace.lines("log").len() >= starts + more,
                Moment::Micros(micros) => begin.elapsed() >= Duration::from_micros(micros),
            };
            if reached {
                return true;
            }
            if running.has_ended() {
                return false;
            }
            std::thread::yield_now();
        }
    }

    /// A person says yes, or answers a question, and may be killed while saying so.
    fn answer(&mut self, approval: &Value) {
        let id = approval["id"].as_str().expect("it has an id");
        let arguments = if approval["reason"] == "question" {
            &["answer", id, "This one."][..]
        } else {
            &["approve", id]
        };
        let mut running = self.workspace.start(arguments);
        if self.due > 0 && self.dice.chance(30) {
            let soon = Moment::Micros(self.dice.below(20_000));
            if self.wait_for(&mut running, soon) {
                running.kill();
                self.due -= 1;
                self.killed += 1;
                self.tally.count("kills");
                self.tally.count("approve");
                self.look();
                return;
            }
        }
        let code = running.finish().code();
        assert_eq!(code, Some(0), "approve {id}");
    }

    /// Whatever happened: the run can be looked at at once, and what is seen is legal. `None` before its first record.
    fn look(&mut self) -> Option<Value> {
        let begin = Instant::now();
        let answer = self.workspace.quorum(&["status", "--json"]);
        let took = begin.elapsed();
        assert!(took < AT_ONCE, "status took {took:?}");
        self.tally.slowest_status = self.tally.slowest_status.max(took);
        if length(&self.journal()) == 0 {
            assert_ne!(answer.code(), Some(0), "there is nothing to be seen: {}", answer.stdout);
            return None;
        }
        let status = answer.exits(0).json();
        let events = self.workspace.events();
        assert!(events.starts_with(&self.events), "what was on record has changed");
        assert_legal_steps(&events);
        assert_legal(&status, &events);
        let mission = self.workspace.lines("mission.yaml");
        let has_side_effects = |title: &str| {
            let of = title.split(' ').next().unwrap_or_default();
            let task = format!("- {{title: {of},");
            let of_it = mission.iter().find(|line| line.contains(&task));
            of_it.is_some_and(|line| line.contains("sideEffects: true"))
        };
        assert_turns_are_due(&events, has_side_effects);
        self.assert_started_once(&events);
        self.events = events.0;
        Some(status)
    }

    /// A turn is started once, never beside another one of its task, and never without its record.
    fn assert_started_once(&self, events: &[Value]) {
        let on_record: BTreeSet<_> = turns(events, "work:started turn").into_iter().collect();
        assert_eq!(self.workspace.lines("two-at-once"), Vec::<String>::new());
        let mut all = BTreeSet::new();
        for line in self.workspace.lines("log") {
            assert!(all.insert(line.clone()), "a turn was run twice: {line}");
            let (attempt, turn) = line.rsplit_once(' ').expect("a task, an attempt and a turn");
            let (task, n) = attempt.rsplit_once(' ').expect("a task and an attempt");
            let number = |text: &str| text.parse().expect("a number");
            let started = (task.to_owned(), number(n), number(turn));
            assert!(on_record.contains(&started), "{line}: started without a record");
        }
    }

    /// What channels were told about tasks and gates: not who is asked and when a session ends, which hangs on kills.
    fn told(&self) -> BTreeSet<String> {
        let lines = self.workspace.lines("told.jsonl").into_iter();
        let about = lines.filter_map(|line| {
            let told: Value = serde_json::from_str(&line).expect("a whole line is a document");
            let of_the_work = !told["task"].is_null() || !told["gate"].is_null();
            (of_the_work && told["approval"].is_null())
                .then(|| format!("{} {} {}", told["event"], told["task"], told["gate"]))
        });
        about.collect()
    }
}

/// Each turn has a reason: an attempt, the loss of the turn before, an answer, something that its finish gate misses. One
/// with side effects also needs a person's word for each turn but the first. Sub-tasks are made once.
fn assert_turns_are_due(events: &[Value], has_side_effects: impl Fn(&str) -> bool) {
    let mut due: BTreeMap<&str, bool> = BTreeMap::new();
    let mut words: BTreeMap<&str, u64> = BTreeMap::new();
    let mut asked = BTreeSet::new();
    let mut created = BTreeSet::new();
    for event in events {
        let title = event["title"].as_str().unwrap_or_default();
        let request = event["requestId"].as_str().unwrap_or_default();
        match event["event"].as_str().unwrap_or_default() {
            "task:created" => assert!(created.insert(title), "{title} was made twice"),
            "task:fix" | "task:retry" | "task:execute" | "task:answered" | "task:nudge" => {
                due.insert(title, true);
            }
            "work:ended" if is(event, "work:ended turn lost") => {
                due.insert(title, true);
            }
            "work:started" => {
                let is_due = due.insert(title, false).unwrap_or(true);
                assert!(is_due, "no reason for {event}");
                // What a fixup mends may have acted already.
                let at_first = u64::from(!title.ends_with(" (fixup)"));
                let words = words.entry(title).or_insert(at_first);
                assert!(*words > 0 || !has_side_effects(title), "nobody let it act again: {event}");
                *words = words.saturating_sub(1);
            }
            "approval:requested" if event["reason"] == "side-effects" => {
                asked.insert(request);
            }
            "approval:resolved" if asked.contains(request) && event["status"] == "approved" => {
                words.insert(title, 1);
            }
            _ => {}
        }
    }
}

/// A session that nobody killed ends with an outcome of the run, never with an error of its own.
fn ended(running: Running) -> bool {
    let finished = running.finish();
    let code = finished.code();
    assert!(matches!(code, Some(0 | 3 | 4 | 5 | 6 | 8)), "{code:?}: {}", finished.stderr);
    true
}

/// What must hold of every state that anybody can see.
fn assert_legal(status: &Value, events: &[Value]) {
    let sessions = ["run:started", "run:resumed", "run:finished"];
    let last = events.iter().rev().find(|event| sessions.iter().any(|name| event["event"] == *name));
    let is_over = last.is_some_and(|event| event["event"] == "run:finished");
    assert_eq!(status["live"], false);
    assert_eq!(status["state"] == "crashed", !is_over, "{}", status["state"]);
    if !is_over {
        assert_eq!((&status["outcome"], &status["exitCode"]), (&json!(null), &json!(null)));
    }
    let tasks = status["tasks"].as_array().expect("there are tasks");
    let counts = |task: &&Value, wanted: &str| task["status"] == wanted && task["supersededBy"].is_null();
    let of = |wanted: &str| tasks.iter().filter(|task| counts(task, wanted)).count();
    for (count, status_name) in [("done", "done"), ("failed", "failed"), ("awaiting", "awaiting_approval")] {
        assert_eq!(status["counts"][count], of(status_name), "{count}");
    }
    for task in tasks {
        assert_eq!(task["status"] == "done", task["qualityFlag"].is_string(), "{task}");
        assert_eq!(task["status"] == "failed", task["failure"].is_object(), "{task}");
    }
}

/// Where two documents differ, and how.
fn differ(place: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            for (key, value) in one {
                differ(&format!("{place}.{key}"), value, &other[key], found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (n, (one, other)) in one.iter().zip(other).enumerate() {
                differ(&format!("{place}[{n}]"), one, other, found);
            }
        }
        // Tasks have their titles in front.
        (Value::Array(one), Value::Array(other)) if place.ends_with(".tasks") => {
            let by_title = |tasks: &[Value]| -> BTreeMap<String, Value> {
                let titled = tasks.iter().map(|task| (task[0].to_string(), task.clone()));
                titled.collect()
            };
            let (one, other) = (by_title(one), by_title(other));
            for title in one.keys().chain(other.keys()).collect::<BTreeSet<_>>() {
                let none = Value::Null;
                let task = |tasks: &BTreeMap<String, Value>| tasks.get(title).unwrap_or(&none).clone();
                differ(&format!("{place} {title}"), &task(&one), &task(&other), found);
            }
        }
        _ if one == other => {}
        _ => found.push(format!("{place}: {one} became {other}")),
    }
}

/// One life with kills and the same without: they must end in the same state.
fn play(seed: u64) -> Tally {
    let mut calm = Life::new(seed, 0, 0);
    let undisturbed = calm.live();
    let whole = length(&calm.journal());
    let kills = 1 + Dice::new(seed ^ 0xc0de).below(MOST_KILLS);
    let mut life = Life::new(seed, whole, kills);
    let end = life.live();
    let mut differences = Vec::new();
    differ("", &undisturbed, &end, &mut differences);
    assert_eq!(differences, Vec::<String>::new(), "another end than without kills");
    assert_eq!(life.told(), calm.told(), "another account than without kills");
    let folder = life.workspace.root().canonicalize().expect("it is there");
    wait_for("the end of everybody", || at_work_in(&folder.display().to_string()).is_empty());
    life.tally.count("missions");
    life.tally
}

/// Plays a seed; what went wrong is told with it.
fn try_to_play(seed: u64) -> Result<Tally, String> {
    let played = std::panic::catch_unwind(|| play(seed));
    played.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

/// Plays lives from the first seed on until `is_enough`; every violation is printed with its seed.
fn play_all(first: u64, is_enough: impl Fn(u64, &Tally) -> bool + Sync) {
    let begin = Instant::now();
    let (next, violations) = (AtomicU64::new(first), AtomicU64::new(0));
    let sum = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if is_enough(seed - first, &sum.lock().expect("nobody panics while it is held")) {
                        break;
                    }
                    match try_to_play(seed) {
                        Ok(tally) => sum.lock().expect("nobody panics while it is held").add(&tally),
                        Err(what) => {
                            violations.fetch_add(1, Ordering::Relaxed);
                            println!("QUORUM_TORTURE_SEED={seed}: {what}");
                        }
                    }
                }
            });
        }
    });
    let sum = sum.into_inner().expect("nobody panics while it is held");
    let violations = violations.into_inner();
    println!("{sum}, violations {violations}, {:.1} s", begin.elapsed().as_secs_f64());
    assert_eq!(violations, 0, "replay one with QUORUM_TORTURE_SEED=n");
}

#[test]
fn random_lives_with_kills_end_as_if_nothing_had_happened() {
    match number("QUORUM_TORTURE_SEED") {
        Some(seed) => println!("{}", play(seed)),
        None => play_all(1, |played, _| played >= FEW),
    }
}

#[test]
#[ignore = "minutes; see measure/README.md"]
fn a_thousand_kills_change_nothing() {
    let kills = number("QUORUM_TORTURE_KILLS").unwrap_or(MANY);
    let first = number("QUORUM_TORTURE_FIRST").unwrap_or(1);
    play_all(first, |_, tally| tally.kills() >= kills);
}
