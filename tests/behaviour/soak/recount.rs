//! A reader of the journal that shares nothing with the program: it takes the lines as they stand in the file, keeps its own
//! simpler account, says no where a rule is broken, and works out for itself what the run came to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::bill::Bill;
use super::mission::{Asked, Plan};
use super::seen::Seen;
use crate::support::journal;

/// The table of the life cycle (semantics, section 5), written down again.
const EDGES: [(&str, &[&str]); 7] = [
    ("pending", &["assigned", "awaiting_approval", "failed"]),
    ("awaiting_approval", &["assigned", "in_progress", "pending", "review", "failed"]),
    ("assigned", &["in_progress", "pending", "failed"]),
    ("in_progress", &["review", "awaiting_approval", "pending", "failed"]),
    ("review", &["done", "in_progress", "pending", "awaiting_approval", "failed"]),
    ("done", &["pending"]),
    ("failed", &["pending"]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    Ahead,
    Reached,
    Passed,
    Rejected,
}

/// What the journal comes to.
pub struct Recount<'p> {
    pub(super) plan: &'p Plan,
    pub(super) tasks: Vec<Seen>,
    /// What gates said, and whether a person let them pass.
    pub(super) gates: Vec<(Option<bool>, bool)>,
    pub(super) holds: Vec<Held>,
    /// Each turn that was ever decided on, as the workers log it.
    pub started: BTreeSet<String>,
    pub(super) next_seq: u64,
    /// What the last session said it ended with, if nothing came after.
    pub(super) end: Option<Value>,
    /// A session has begun and has no end on record.
    pub(super) in_session: bool,
    /// Whether accepted work is being looked at, and whether something happened since it was.
    audit: (bool, bool),
    pub(super) bill: Bill,
    pub(super) tally: BTreeMap<String, u64>,
}

impl<'p> Recount<'p> {
    pub fn of(plan: &'p Plan, journal: &Path) -> Self {
        let task = |asked: &Asked| Seen::new(asked.clone(), asked.needs.iter().copied().collect());
        let mut recount = Self {
            plan,
            tasks: plan.tasks.iter().map(task).collect(),
            gates: vec![(None, false); plan.gates.len()],
            holds: vec![Held::Ahead; plan.holds.len()],
            started: BTreeSet::new(),
            next_seq: 1,
            end: None,
            in_session: false,
            audit: (false, false),
            bill: Bill::default(),
            tally: BTreeMap::new(),
        };
        for record in journal::records(journal) {
            recount.take(&record);
        }
        recount
    }

    fn take(&mut self, record: &Value) {
        let events = journal::events(record);
        let seq = journal::seq(record);
        assert_eq!(seq, Some(self.next_seq), "a gap before {record}");
        self.next_seq += events.len() as u64;
        for (name, body) in &events {
            self.end = None;
            *self.tally.entry(format!("event {name}")).or_default() += 1;
            self.bill.follow(name, body);
            self.event(name, body);
        }
    }

    fn event(&mut self, name: &str, body: &Value) {
        match name.split_once('.') {
            Some(("run", _)) => self.run_event(name, body),
            Some(("turn", _)) => self.turn_event(name, body),
            Some(("gate" | "hold", _)) => self.order_event(name, body),
            _ => self.task_event(name, body),
        }
    }

    /// What happens to the run as a whole.
    fn run_event(&mut self, name: &str, body: &Value) {
        match name {
            "run.started" | "run.resumed" => {
                self.in_session = true;
                self.audit.0 = false;
            }
            "run.workRequested" if body["audit"].is_object() => {
                assert!(!self.audit.0, "looked at twice at once: {body}");
                assert!(self.tasks.iter().all(|seen| !seen.in_flight || seen.is_terminal()), "{body}");
                self.audit.0 = true;
            }
            "run.auditFinished" => {
                assert!(self.audit.0, "nobody asked: {body}");
                self.audit = (false, false);
                self.count("audits");
            }
            "run.tasksAdded" => self.added(body),
            "run.tasksWithdrawn" => {
                for task in body["tasks"].as_array().expect("there are some").iter().map(index) {
                    let seen = &mut self.tasks[task];
                    assert_eq!(seen.status, "pending", "{body}");
                    seen.withdrawn = true;
                    if let Some(source) = seen.mends {
                        self.tasks[source].fixup = None;
                    }
                }
            }
            "run.finished" => {
                let conditions = self.conditions();
                assert_eq!(body["conditions"], Value::from(conditions.clone()), "at the end of a session");
                assert_eq!(body["outcome"], conditions[0], "at the end of a session");
                let ended = self.present().all(Seen::is_terminal);
                let recorded = self.present().any(|seen| seen.recorded && seen.status == "done");
                assert!(!ended || !recorded || !self.audit.1, "nobody looked at what was accepted: {body}");
                self.end = Some(body.clone());
                self.in_session = false;
            }
            _ => {}
        }
    }

    /// What becomes of a task.
    fn task_event(&mut self, name: &str, body: &Value) {
        match name {
            "task.acceptanceRecorded" => {
                self.seen(body).recorded = true;
                self.audit.1 = true;
            }
            "task.regressed" => {
                assert_eq!(self.seen(body).status, "done", "{body}");
                self.seen(body).regressed = true;
                self.count("regressed");
            }
            "task.transition" => self.transition(body),
            "task.attemptPlanned" => self.seen(body).begin(number(&body["attempt"]), text(&body["kind"])),
            "task.nudged" | "task.answered" => self.seen(body).due = true,
            "task.stageVerdict" => self.verdict(body),
            "task.evalUnparsed" => self.seen(body).points = None,
            "task.forceAccepted" => self.seen(body).forced = true,
            "deadline" => self.deadline(body),
            "task.dependencyFailed" if body["step"]["resolved"].is_string() => {
                let (on, way) = (index(&body["dependency"]), text(&body["step"]["resolved"]));
                self.count(&format!("without by {way}"));
                if way != "retry" {
                    self.seen(body).without.insert(on, way != "absorb");
                }
            }
            "task.superseded" => {
                let seen = self.seen(body);
                assert_eq!(
                    (seen.status.as_str(), seen.fixup),
                    ("failed", Some(index(&body["by"]))),
                    "{body}"
                );
                seen.superseded = true;
            }
            _ => {}
        }
    }

    /// What happens to the turns of workers.
    fn turn_event(&mut self, name: &str, body: &Value) {
        match name {
            "turn.started" => self.turn_started(&body["id"]),
            "turn.finished" => {
                let seen = self.turn_ended(&body["id"]);
                seen.failure = body["exit"]["failure"].as_str().map(str::to_owned);
                self.audit.1 |= self.tasks.iter().any(|seen| seen.recorded);
                let seen = self.seen_at(&body["id"]);
                seen.tampered |= body["files"]["protected"].as_array().is_some_and(|files| !files.is_empty());
            }
            "turn.lost" => {
                self.turn_ended(&body["id"]).due = true;
                self.audit.1 |= self.tasks.iter().any(|seen| seen.recorded);
            }
            _ => {}
        }
    }

    /// What stands between tasks: gates, and holds, which a task has too.
    fn order_event(&mut self, name: &str, body: &Value) {
        let is_of_task = body.pointer("/id/task").is_some_and(Value::is_u64);
        match name {
            "gate.evaluated" => self.gate(body),
            "gate.overridden" => {
                let (said, let_pass) = &mut self.gates[index(&body["id"])];
                assert_eq!(*said, Some(false), "{body}");
                *let_pass = true;
                self.count("gates let pass");
            }
            "hold.opened" if is_of_task => {
                let cause = body["cause"].as_str().map(str::to_owned);
                let seen = &mut self.tasks[index(&body["id"]["task"])];
                assert_eq!(seen.status, "awaiting_approval", "{body}");
                seen.waiting = Some((number(&body["number"]), text(&body["reason"]).to_owned(), cause));
            }
            "hold.closed" if is_of_task => self.answered(body),
            "hold.opened" => self.holds[index(&body["id"]["barrier"])] = Held::Reached,
            "hold.closed" if text(&body["resolution"]) != "rejected" => {
                self.holds[index(&body["id"]["barrier"])] = Held::Passed;
            }
            "hold.closed" => {
                let hold = index(&body["id"]["barrier"]);
                self.holds[hold] = Held::Rejected;
                for blocked in &self.plan.holds[hold].blocks {
                    self.tasks[*blocked].rejected = true;
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, what: &str) {
        *self.tally.entry(what.to_owned()).or_default() += 1;
    }

    fn seen(&mut self, body: &Value) -> &mut Seen {
        &mut self.tasks[index(&body["id"])]
    }

    fn seen_at(&mut self, turn: &Value) -> &mut Seen {
        &mut self.tasks[index(&turn[0])]
    }

    fn transition(&mut self, body: &Value) {
        let (task, from, to) = (index(&body["id"]), text(&body["from"]), text(&body["to"]));
        assert_eq!(self.tasks[task].status, from, "{body}");
        let (_, edges) = EDGES.iter().find(|(known, _)| *known == from).expect("a known state");
        assert!(edges.contains(&to), "no such edge: {body}");
        let (flag, mode) = (body["qualityFlag"].as_str(), body["mode"].as_str());
        let seen = &self.tasks[task];
        match to {
            "assigned" if seen.attempt == 0 => self.may_begin(task),
            "done" => assert_eq!(flag, Some(seen.flag_due()), "{body} {seen:?}"),
            "failed" => {
                let mode = mode.expect("what failed says how");
                assert!(seen.may_fail_by(mode, &self.tasks), "{body} {seen:?}");
            }
            _ if seen.deadline.has_run_out => panic!("it is late and goes on: {body}"),
            _ => assert!(!seen.in_flight || to == "in_progress", "its agent is at work: {body}"),
        }
        if from == "failed" || from == "done" {
            self.tried_again(task);
        }
        let seen = &mut self.tasks[task];
        seen.deadline.has_run_out = false;
        seen.recorded &= to == "done";
        seen.regressed &= to != "failed";
        if to == "assigned" && seen.attempt == 0 {
            seen.begin(1, "execute");
        }
        if to != "awaiting_approval" {
            // Judges that were missing are asked again: what comes of it is said anew.
            seen.indeterminate &= !(to == "review" && seen.is_for_judges());
            seen.waiting = None;
        }
        (seen.status, seen.flag, seen.mode) =
            (to.to_owned(), flag.map(str::to_owned), mode.map(str::to_owned));
    }

    /// What needs it and has not begun waits for it again.
    fn tried_again(&mut self, task: usize) {
        let waiting = self.tasks.iter_mut().filter(|other| other.status == "pending");
        for other in waiting {
            other.without.remove(&task);
        }
        for (gate, said) in self.plan.gates.iter().zip(&mut self.gates) {
            if gate.after.contains(&task) {
                *said = (None, false);
            }
        }
        for (hold, held) in self.plan.holds.iter().zip(&mut self.holds) {
            if hold.after.contains(&task) {
                *held = Held::Ahead;
            }
        }
        let seen = &mut self.tasks[task];
        seen.without.clear();
        seen.rejected = false;
        seen.superseded = false;
        self.count("tried again");
    }

    /// Nothing may hold a task that begins.
    fn may_begin(&self, task: usize) {
        let seen = &self.tasks[task];
        for on in &seen.needs {
            let is_there = self.tasks[*on].is_there() || seen.without.contains_key(on);
            assert!(is_there, "{} begins without {}", seen.asked.title, self.tasks[*on].asked.title);
        }
        for (gate, result) in self.plan.gates.iter().zip(&self.gates) {
            assert!(
                !gate.blocks.contains(&task) || result.0 == Some(true) || result.1,
                "{} passed a gate that is shut",
                seen.asked.title
            );
        }
        for (hold, held) in self.plan.holds.iter().zip(&self.holds) {
            assert!(
                !hold.blocks.contains(&task) || *held == Held::Passed,
                "{} did not wait",
                seen.asked.title
            );
        }
    }

    fn turn_started(&mut self, id: &Value) {
        let (attempt, turn) = (number(&id[1]), number(&id[2]));
        let seen = &mut self.tasks[index(&id[0])];
        assert_eq!((seen.attempt, seen.turn + 1), (attempt, turn), "{id} {seen:?}");
        assert!(!seen.in_flight && seen.due, "no reason for turn {id}: {seen:?}");
        assert!(!seen.asked.side_effects || seen.words > 0, "nobody let it act again: {id} {seen:?}");
        assert!(seen.tries <= seen.asked.most_attempts(), "too many attempts: {id} {seen:?}");
        (seen.turn, seen.in_flight, seen.due) = (turn, true, false);
        seen.words = seen.words.saturating_sub(1);
        let line = format!("{} {attempt} {turn}", seen.asked.title);
        assert!(self.started.insert(line), "started twice: {id}");
    }

    fn turn_ended(&mut self, id: &Value) -> &mut Seen {
        let seen = &mut self.tasks[index(&id[0])];
        let current = (seen.attempt, seen.turn, seen.in_flight);
        assert_eq!(current, (number(&id[1]), number(&id[2]), true), "{id} is not at work");
        seen.in_flight = false;
        seen
    }

    fn verdict(&mut self, body: &Value) {
        let (stage, verdict) = (text(&body["stage"]), text(&body["verdict"]));
        let cause = body["cause"].as_str();
        let points = body["points"].as_str().map(|points| points.parse().expect("points are a number"));
        let by_judges = stage == "judge" && body["by"].is_null();
        let relaxed = body["mark"] == "relaxed";
        let seen = self.seen(body);
        if let Some(points) = points.filter(|_| by_judges) {
            let (bar, full) = (seen.asked.bar(), seen.asked.full_bar());
            match verdict {
                "pass" => assert!(points >= bar && relaxed == (points < full), "{body} {seen:?}"),
                "fail" => assert!(cause != Some("score") || points < bar, "{body} {seen:?}"),
                _ => {}
            }
        }
        assert!(!relaxed || (by_judges && verdict == "pass"), "{body}");
        match (stage, verdict) {
            ("audit", "skip") => {
                assert_eq!((seen.status.as_str(), cause), ("done", Some("changed")), "{body}");
                let flag = seen.flag.as_deref().unwrap_or_default();
                if matches!(flag, "clean" | "relaxed" | "unreviewed") {
                    seen.flag = Some("unverified".to_owned());
                }
            }
            ("judge", "pass") => {
                seen.passed_by_judges = true;
                seen.relaxed = relaxed;
                (seen.points, seen.indeterminate) = (points, false);
            }
            ("checks", "pass") => seen.passed_checks = true,
            ("finish", "pass") => seen.unverified = false,
            (_, "skip") if cause == Some("unmet") => seen.unverified = true,
            (_, "fail") => {
                seen.points = points;
                seen.indeterminate = cause == Some("unparsed");
                seen.against = Some(stage.to_owned());
            }
            ("judge", "refer") => {
                seen.indeterminate = matches!(cause, Some("gate-error" | "no-reviewer" | "unstable"));
                if matches!(cause, Some("person" | "confidence")) {
                    seen.points = points;
                }
            }
            _ => {}
        }
    }

    fn deadline(&mut self, body: &Value) {
        let step = text(&body["step"]);
        let seen = &mut self.tasks[index(&body["task"])];
        let time = seen.asked.deadline.expect("it has a deadline");
        seen.deadline.follow(step, number(&body["at"]), number(&body["since"]), number(&body["due"]), time);
        match step {
            "set" => assert!(seen.in_flight, "its time begins with a turn: {body}"),
            "violated" => seen.deadline.has_run_out = seen.asked.late_fails && !seen.is_terminal(),
            "met" => assert_eq!(seen.status, "done", "{body}"),
            _ => {}
        }
        self.count(&format!("deadline {step}"));
    }

    fn answered(&mut self, body: &Value) {
        let seen = &mut self.tasks[index(&body["id"]["task"])];
        seen.indeterminate &= !seen.is_for_judges();
        let (asked, reason, _) = seen.waiting.take().expect("it was asked");
        assert_eq!(asked, number(&body["number"]), "{body}");
        let how = text(&body["resolution"]).to_owned();
        match (how.as_str(), reason.as_str()) {
            ("approved", "side-effects") => seen.words = 1,
            ("approved", "refer") => seen.passed_by_person = true,
            ("rejected", _) => seen.rejected = true,
            _ => {}
        }
        self.count(&format!("{reason} {how}"));
    }

    fn added(&mut self, body: &Value) {
        if body["origin"] == "request" {
            return self.requested(body);
        }
        let source = index(&body["source"]);
        let is_fixup = body["origin"] == "fixup";
        for task in body["tasks"].as_array().expect("there are some") {
            let id = index(&task["id"]);
            let indices = |key: &str| -> BTreeSet<usize> {
                let list = task[key].as_array().into_iter().flatten();
                list.map(index).collect()
            };
            // A fixup is asked for the same as what it mends.
            let asked = Asked {
                title: text(&task["title"]).to_owned(),
                ..if is_fixup {
                    // Only a clean one helps: it is held to the full bar.
                    Asked { foundation: false, ..self.tasks[source].asked.clone() }
                } else {
                    Asked::handed_down()
                }
            };
            self.is_new(&asked.title);
            let mut seen = Seen::new(asked, indices("needs"));
            if is_fixup {
                assert!(indices("needs").iter().all(|on| self.tasks[*on].is_there()), "{body}");
                let mended = &mut self.tasks[source];
                assert!(mended.fixup.is_none() && mended.mends.is_none(), "{body}");
                assert_eq!(mended.asked.exhausted, Some("fixup"), "{body}");
                mended.fixup = Some(id);
                seen.mends = Some(source);
                // What it mends may have acted already.
                seen.words = 0;
            } else {
                assert!(indices("needs").contains(&source), "{body}");
            }
            match self.tasks.get_mut(id) {
                Some(old) => {
                    assert!(old.withdrawn, "{body}");
                    seen.attempt = old.attempt;
                    *old = seen;
                }
                None => {
                    assert_eq!(id, self.tasks.len(), "{body}");
                    self.tasks.push(seen);
                }
            }
            for waiting in indices("awaitedBy") {
                assert_eq!(self.tasks[waiting].attempt, 0, "it has begun already: {body}");
                self.tasks[waiting].needs.insert(id);
            }
            self.count(if is_fixup { "fixups" } else { "handed down" });
        }
    }

    /// A request became the task that was asked for.
    fn requested(&mut self, body: &Value) {
        let number: usize = text(&body["request"])
            .strip_prefix("req-")
            .and_then(|number| number.parse().ok())
            .expect("a request has a number");
        let asked = self.plan.requests[number - 1].clone();
        let [task] = &body["tasks"].as_array().expect("there is one")[..] else {
            panic!("a request is one task: {body}");
        };
        let needs: Vec<usize> = task["needs"].as_array().into_iter().flatten().map(index).collect();
        assert_eq!(
            (text(&task["title"]), &needs, index(&task["id"])),
            (asked.title.as_str(), &asked.needs, self.tasks.len()),
            "{body}"
        );
        self.is_new(&asked.title);
        self.tasks.push(Seen::new(asked, needs.into_iter().collect()));
        self.count("requested");
    }

    fn is_new(&self, title: &str) {
        assert!(!self.has(title), "{title} was made twice");
    }

    /// Whether the run has a task of this title.
    pub fn has(&self, title: &str) -> bool {
        self.present().any(|seen| seen.asked.title == title)
    }

    /// Whose standing counts for a task: its own, or that of the fixup that made up for it.
    fn standing(&self, task: usize) -> &Seen {
        let seen = &self.tasks[task];
        match seen.fixup {
            Some(fixup) if seen.superseded => &self.tasks[fixup],
            _ => seen,
        }
    }

    fn gate(&mut self, body: &Value) {
        let id = index(&body["id"]);
        let gate = &self.plan.gates[id];
        let after: Vec<&Seen> = gate.after.iter().map(|task| self.standing(*task)).collect();
        assert!(after.iter().all(|seen| seen.is_terminal()), "too early: {body}");
        let below = |seen: &&&Seen| {
            matches!(seen.flag.as_deref(), Some("below-threshold" | "degraded" | "unverified"))
        };
        let scores: Vec<f64> = after.iter().filter_map(|seen| seen.points).collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let passed = (!gate.all_passed || after.iter().all(|seen| seen.status == "done"))
            && (gate.accepts_below || after.iter().filter(below).count() == 0)
            && gate.min.is_none_or(|min| !scores.is_empty() && mean >= min);
        assert_eq!(body["result"]["passed"], passed, "{body} {after:?}");
        self.gates[id] = (Some(passed), false);
    }

    /// The tasks that the run has.
    pub(super) fn present(&self) -> impl Iterator<Item = &Seen> {
        self.tasks.iter().filter(|seen| !seen.withdrawn)
    }

    /// All that holds, the one that weighs most first.
    pub(super) fn conditions(&self) -> Vec<&'static str> {
        let any = |wanted: &dyn Fn(&Seen) -> bool| self.present().any(wanted);
        let flagged =
            |seen: &Seen| matches!(seen.flag.as_deref(), Some("below-threshold" | "degraded" | "unverified"));
        let awaits = |seen: &Seen| seen.status == "awaiting_approval" && !seen.is_for_judges();
        let checkpoint = |(hold, held): (&super::mission::Hold, &Held)| {
            let open = |task: &usize| !self.tasks[*task].is_terminal();
            hold.is_checkpoint && *held == Held::Reached && hold.blocks.iter().any(open)
        };
        let holds = [
            ("task_failed", any(&|seen| seen.has_failed())),
            ("gate_failed", self.gates.contains(&(Some(false), false))),
            ("indeterminate", any(&|seen| seen.indeterminate)),
            ("below_threshold", any(&flagged)),
            ("awaiting", any(&awaits) || self.plan.holds.iter().zip(&self.holds).any(checkpoint)),
        ];
        let conditions: Vec<&str> =
            holds.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name).collect();
        let is_finished = self.present().all(Seen::is_terminal);
        assert!(!conditions.is_empty() || is_finished, "it ended unfinished and cannot say why");
        if conditions.is_empty() { vec!["ok"] } else { conditions }
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn index(value: &Value) -> usize {
    usize::try_from(number(value)).expect("it is an index")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}
