//! What a recount of the journal is held against: what anybody is shown, and the promise that everything that waits says
//! for what.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::recount::{Held, Recount};
use super::seen::Seen;

impl Recount<'_> {
    /// What anybody is shown is what the journal comes to.
    pub fn agrees_with(&self, status: &Value) {
        self.agrees_about_tasks(status);
        self.agrees_about_counts(status);
        self.bill.agrees_with(status);
        self.agrees_about_gates(status);
        self.agrees_about_the_end(status);
    }

    /// Each task by itself.
    fn agrees_about_tasks(&self, status: &Value) {
        let tasks = status["tasks"].as_array().expect("there are tasks");
        assert_eq!(tasks.len(), self.present().count());
        for (shown, seen) in tasks.iter().zip(self.present()) {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            assert_eq!(shown["title"], seen.asked.title);
            assert_eq!(shown["status"], seen.status, "{shown}");
            assert_eq!(text(&shown["qualityFlag"]), seen.flag, "{shown}");
            assert_eq!(text(&shown["failure"]["mode"]), seen.mode, "{shown}");
            assert_eq!(shown["points"].as_f64(), seen.points, "{shown} {seen:?}");
            let reason = seen.waiting.as_ref().map(|(_, reason, _)| reason.clone());
            assert_eq!(text(&shown["waiting"]["reason"]), reason, "{shown}");
            assert!(!seen.deadline.has_run_out, "late, and nothing came of it: {seen:?}");
            if let Some(ended) = seen.deadline.ended {
                assert_eq!(shown["deadline"]["status"], ended, "{shown}");
            }
            let attempts = shown["attempts"].as_array().map_or(0, Vec::len);
            assert_eq!(attempts as u64, seen.attempt, "{shown}");
        }
    }

    /// How many tasks there are of each kind.
    fn agrees_about_counts(&self, status: &Value) {
        let of = |wanted: &dyn Fn(&Seen) -> bool| self.present().filter(|seen| wanted(seen)).count();
        for (count, is_it) in [
            ("done", "done"),
            ("failed", "failed"),
            ("awaiting", "awaiting_approval"),
            ("pending", "pending"),
        ] {
            assert_eq!(
                status["counts"][count],
                of(&|seen| seen.status == is_it && !seen.superseded),
                "{count}"
            );
        }
        for (count, flag) in [
            ("clean", "clean"),
            ("relaxed", "relaxed"),
            ("unreviewed", "unreviewed"),
            ("unverified", "unverified"),
            ("degraded", "degraded"),
            ("belowThreshold", "below-threshold"),
        ] {
            assert_eq!(status["counts"][count], of(&|seen| seen.flag.as_deref() == Some(flag)), "{count}");
        }
        assert_eq!(status["counts"]["indeterminate"], of(&|seen| seen.indeterminate));
        let superseded = status["counts"]["superseded"].as_u64().unwrap_or_default();
        assert_eq!(superseded, of(&|seen| seen.superseded) as u64);
    }

    /// What each gate said.
    fn agrees_about_gates(&self, status: &Value) {
        let gates = status["gates"].as_array().expect("there are gates");
        for (shown, seen) in gates.iter().zip(&self.gates) {
            let state = match seen {
                (_, true) => "overridden",
                (None, _) => "waiting",
                (Some(true), _) => "passed",
                (Some(false), _) => "failed",
            };
            assert_eq!(shown["state"], state, "{shown}");
        }
    }

    /// What the last session ended with, or that it has not ended.
    fn agrees_about_the_end(&self, status: &Value) {
        match &self.end {
            None => {
                // A request that came after its end leaves work.
                let state = if self.in_session { "crashed" } else { "suspended" };
                assert_eq!((&status["state"], &status["exitCode"]), (&state.into(), &Value::Null));
            }
            Some(end) => {
                let conditions = self.conditions();
                let code = match conditions[0] {
                    "task_failed" => 3,
                    "gate_failed" => 4,
                    "indeterminate" => 6,
                    "below_threshold" => 5,
                    "awaiting" => 8,
                    _ => 0,
                };
                assert_eq!(status["outcome"], end["outcome"]);
                assert_eq!(status["conditions"], Value::from(conditions));
                assert_eq!(status["exitCode"], code);
            }
        }
    }

    /// Every task is terminal, or waits for a reason that has a name: a person that was left to answer, a gate that failed,
    /// or another task that waits.
    pub fn has_ended(&self, left: &BTreeSet<String>) {
        let mut explained: BTreeMap<usize, bool> = BTreeMap::new();
        for task in (0..self.tasks.len()).filter(|task| !self.tasks[*task].withdrawn) {
            assert!(
                self.tasks[task].is_terminal() || self.waits_for_a_reason(task, left, &mut explained),
                "nobody knows what it waits for: {:?}",
                self.tasks[task]
            );
            let seen = &self.tasks[task];
            let is_open = seen.deadline.span.is_some() && seen.deadline.ended.is_none();
            assert!(seen.status != "done" || !is_open, "was it in time? {seen:?}");
        }
    }

    fn waits_for_a_reason(
        &self,
        task: usize,
        left: &BTreeSet<String>,
        known: &mut BTreeMap<usize, bool>,
    ) -> bool {
        if let Some(known) = known.get(&task) {
            return *known;
        }
        known.insert(task, false);
        let seen = &self.tasks[task];
        // What failed is waited for until its fixup has ended.
        let open = |on: &usize| {
            let known = [Some(*on), self.tasks[*on].fixup];
            let mut open = known.into_iter().flatten();
            open.find(|task| !self.tasks[*task].is_terminal())
        };
        let has_reason = if let Some((number, reason, _)) = &seen.waiting {
            left.contains(&format!("r1.{task}.{number}")) && !reason.is_empty()
        } else if seen.status == "pending" {
            let mut behind: Vec<usize> = seen.needs.iter().filter_map(open).collect();
            let mut is_shut = false;
            for (gate, result) in
                self.plan.gates.iter().zip(&self.gates).filter(|(gate, _)| gate.blocks.contains(&task))
            {
                is_shut |= *result == (Some(false), false);
                let ahead = gate.after.iter().filter(|_| result.0.is_none());
                behind.extend(ahead.filter_map(open));
            }
            for (n, (hold, held)) in self.plan.holds.iter().zip(&self.holds).enumerate() {
                if !hold.blocks.contains(&task) {
                    continue;
                }
                let was_left = left.iter().any(|id| id.starts_with(&format!("r1.c{n}.")));
                is_shut |= *held == Held::Rejected || (*held == Held::Reached && was_left);
                let ahead = hold.after.iter().filter(|_| *held == Held::Ahead);
                behind.extend(ahead.filter_map(open));
            }
            is_shut || behind.into_iter().any(|on| self.waits_for_a_reason(on, left, known))
        } else {
            false
        };
        known.insert(task, has_reason);
        has_reason
    }
}

impl fmt::Display for Recount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for seen in &self.tasks {
            let more = seen
                .flag
                .clone()
                .or_else(|| seen.mode.clone())
                .or_else(|| seen.waiting.as_ref().map(|(_, reason, _)| reason.clone()));
            *kinds.entry(format!("{} {}", seen.status, more.unwrap_or_default())).or_default() += 1;
        }
        let gates = |passed: bool| self.gates.iter().filter(|gate| gate.0 == Some(passed)).count();
        writeln!(f, "{} tasks: {kinds:?}", self.tasks.len())?;
        writeln!(f, "gates: {} passed, {} failed of {}", gates(true), gates(false), self.gates.len())?;
        writeln!(f, "{}", self.bill)?;
        write!(f, "{} records' events: {:?}", self.next_seq - 1, self.tally)
    }
}
