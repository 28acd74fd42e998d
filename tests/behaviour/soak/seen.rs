//! What the reader of the journal has seen of one task, and what that must have led to.

use std::collections::{BTreeMap, BTreeSet};

use super::mission::Asked;

/// Flags, the one that weighs most last.
const FLAGS: [&str; 6] = ["clean", "relaxed", "unreviewed", "unverified", "degraded", "below-threshold"];

/// What was said of a deadline, each thing once (semantics, section 14).
#[derive(Debug, Clone, Default)]
pub struct Deadline {
    /// When its time began, and when it ends.
    pub span: Option<(u64, u64)>,
    pub warned: bool,
    /// How it ended: `met` or `violated`.
    pub ended: Option<&'static str>,
    /// It was just missed, and the next thing that happens to its task is that it fails for it.
    pub has_run_out: bool,
}

/// The share of its time after which somebody is warned, in hundredths.
const WARNING: u64 = 80;

impl Deadline {
    /// Follows what is said of the deadline of a task that has so much time.
    pub fn follow(&mut self, step: &str, at: u64, since: u64, due: u64, time: u64) {
        if step == "set" {
            assert_eq!((self.span, due, at), (None, since + time, since), "{self:?}");
            self.span = Some((since, due));
            return;
        }
        assert_eq!(self.span, Some((since, due)), "{self:?}");
        assert_eq!(self.ended, None, "it is over: {step} {self:?}");
        match step {
            "warned" => {
                assert!(!self.warned && at <= due && (at - since) * 100 >= time * WARNING, "{self:?}");
                self.warned = true;
            }
            "violated" => {
                assert!(at > due, "{self:?}");
                self.ended = Some("violated");
            }
            "met" => {
                assert!(at <= due, "{self:?}");
                self.ended = Some("met");
            }
            _ => panic!("{step} is nothing that happens to a deadline"),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Seen {
    pub asked: Asked,
    pub status: String,
    pub flag: Option<String>,
    pub mode: Option<String>,
    pub needs: BTreeSet<usize>,
    /// Dependencies that it goes on without, and whether its work is only a part for that.
    pub without: BTreeMap<usize, bool>,
    pub attempt: u64,
    pub tries: u64,
    pub turn: u64,
    pub in_flight: bool,
    /// Something makes another turn due.
    pub due: bool,
    /// Turns for which nobody has to be asked, where it has side effects.
    pub words: u64,
    /// Why a person is asked: number, reason, cause.
    pub waiting: Option<(u64, String, Option<String>)>,
    pub points: Option<f64>,
    pub indeterminate: bool,
    /// What was seen of this attempt.
    pub passed_by_judges: bool,
    pub passed_by_person: bool,
    pub passed_checks: bool,
    pub unverified: bool,
    /// It passed only by the relief of a foundation.
    pub relaxed: bool,
    pub forced: bool,
    /// The last verdict that was against it, by stage.
    pub against: Option<String>,
    /// How the last turn failed, and whether it changed what is protected.
    pub failure: Option<String>,
    pub tampered: bool,
    pub rejected: bool,
    /// What was said of its deadline.
    pub deadline: Deadline,
    /// What it mends, and what mends it.
    pub mends: Option<usize>,
    pub fixup: Option<usize>,
    pub superseded: bool,
    /// It was taken back: the run does not have it.
    pub withdrawn: bool,
    /// What it was accepted for is on record.
    pub recorded: bool,
    /// An audit says that this does not stand.
    pub regressed: bool,
}

impl Seen {
    pub(super) fn new(asked: Asked, needs: BTreeSet<usize>) -> Self {
        Self {
            asked,
            needs,
            status: "pending".to_owned(),
            flag: None,
            mode: None,
            without: BTreeMap::new(),
            attempt: 0,
            tries: 0,
            turn: 0,
            in_flight: false,
            due: true,
            words: 1,
            waiting: None,
            points: None,
            indeterminate: false,
            passed_by_judges: false,
            passed_by_person: false,
            passed_checks: false,
            unverified: false,
            relaxed: false,
            forced: false,
            against: None,
            failure: None,
            tampered: false,
            rejected: false,
            deadline: Deadline::default(),
            mends: None,
            fixup: None,
            superseded: false,
            withdrawn: false,
            recorded: false,
            regressed: false,
        }
    }

    pub fn is_terminal(&self) -> bool {
        self.status == "done" || self.status == "failed"
    }

    /// What it was to bring is there.
    pub(super) fn is_there(&self) -> bool {
        self.status == "done" || self.superseded
    }

    /// It has failed, and nothing has made up for that.
    pub(super) fn has_failed(&self) -> bool {
        self.status == "failed" && !self.superseded
    }

    /// It waits for judges that could not be had, not for a person.
    pub(super) fn is_for_judges(&self) -> bool {
        self.waiting.as_ref().is_some_and(|(_, reason, cause)| {
            reason == "refer" && matches!(cause.as_deref(), Some("gate-error" | "no-reviewer" | "unstable"))
        })
    }

    pub(super) fn begin(&mut self, attempt: u64, kind: &str) {
        self.attempt = attempt;
        self.turn = 0;
        self.due = true;
        self.tries = if kind == "execute" { 1 } else { self.tries + 1 };
        self.points = None;
        self.indeterminate = false;
        (self.passed_by_judges, self.passed_by_person, self.passed_checks) = (false, false, false);
        (self.unverified, self.forced, self.relaxed) = (false, false, false);
    }

    /// The flag that done work must have.
    pub(super) fn flag_due(&self) -> &'static str {
        let asked = &self.asked;
        let by_gate = asked.finish && !asked.checks && !asked.panel && !asked.evaluated;
        let by_judging = if self.forced && self.asked.exhausted == Some("degrade") {
            "degraded"
        } else if self.forced {
            "below-threshold"
        } else if by_gate
            || self.passed_by_judges
            || self.passed_by_person
            || (asked.checks && self.passed_checks)
        {
            "clean"
        } else {
            "unreviewed"
        };
        let partly = self.without.values().any(|partly| *partly);
        let relaxed = self.relaxed && !self.passed_by_person;
        let all = [
            by_judging,
            if relaxed { "relaxed" } else { "clean" },
            if self.unverified { "unverified" } else { "clean" },
            if partly { "degraded" } else { "clean" },
        ];
        let weight = |flag: &&str| FLAGS.iter().position(|known| known == flag);
        all.into_iter().max_by_key(weight).expect("there are some")
    }

    /// The mode of failure that what was seen accounts for.
    pub(super) fn may_fail_by(&self, mode: &str, tasks: &[Self]) -> bool {
        match mode {
            "timeout" => self.failure.as_deref() == Some("timeout"),
            "error" => self.failure.as_deref().is_some_and(|class| class != "timeout"),
            "protected" => self.tampered,
            "rejected" => self.rejected,
            "deadline" => self.deadline.has_run_out,
            "regressed" => self.regressed,
            "hollow" => self.against.as_deref() == Some("preflight"),
            "quality" => matches!(self.against.as_deref(), Some("checks" | "judge")),
            "cascade" => {
                let failed = |on: &usize| {
                    let on_it = &tasks[*on];
                    on_it.status == "failed" && !on_it.superseded && !self.without.contains_key(on)
                };
                self.attempt == 0 && self.needs.iter().any(failed)
            }
            _ => false,
        }
    }
}
