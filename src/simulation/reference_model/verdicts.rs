//! What the reference model makes of verdicts: of a stage, of a gate, of the run.

use rules::domain::{
    Answer, Cause, GateId, OutcomeClass, Points, QualityFlag, Stage, StageKey, Status, TaskId, Verdict,
};
use rules::engine::Mark;
use rules::engine::{DeferralReason, GateResult, StageReport, State, StopCause};
use rules::plan::{BarrierKind, Part};

use super::judges::{Expected, expected};
use super::{ReferenceModel, Seen, Standing};

impl ReferenceModel {
    pub(super) fn verdict(&mut self, state: &State, report: &StageReport) {
        let is_open = self.is_open(state, report.task);
        let by_person = report.by.is_some();
        if report.stage == Stage::Judge && !by_person {
            let plan = state.plan.task(report.task);
            let key = (state.plan.agent(plan.agent).name.to_string(), plan.wave);
            match report.verdict {
                Verdict::Fail => *self.rejections.entry(key).or_default() += 1,
                Verdict::Pass => drop(self.rejections.remove(&key)),
                Verdict::Refer if report.points.is_some() => drop(self.rejections.remove(&key)),
                _ => {}
            }
        }
        let seen = &mut self.tasks[report.task.index()];
        assert_eq!(seen.attempt, report.attempt, "{report:?}");
        if report.stage == Stage::Audit {
            self.audit_said(report);
        }
        let seen = &mut self.tasks[report.task.index()];
        seen.sent_back |= report.stage == Stage::Judge && report.verdict == Verdict::Fail;
        if by_person && report.verdict == Verdict::Pass {
            // A person's word counts for all that comes before it.
            seen.relief = false;
        }
        if report.stage == Stage::Finish {
            seen.gate_met = Some(report.verdict == Verdict::Pass);
            return;
        }
        if report.cause == Some(Cause::Breaker) {
            assert!(is_open, "{report:?}");
            seen.not_judged = true;
            seen.indeterminate |= report.mark == Some(Mark::Indeterminate);
            return;
        }
        match report.stage {
            Stage::Judge => {
                if !by_person && !matches!(report.cause, Some(Cause::Unparsed | Cause::Unstable)) {
                    seen.is_what_they_said(state, report);
                }
                seen.judge = Some((report.verdict, by_person));
                seen.relief = seen.needs_relief(state, report);
            }
            Stage::Verification => {
                seen.verification = Some((report.verdict, by_person));
                seen.relief |= seen.needs_relief(state, report);
            }
            Stage::Stages | Stage::RedTeam | Stage::Vision => {
                let task_plan = state.plan.task(report.task);
                let is_it = |step: &StageKey| {
                    step.stage() == report.stage
                        && report.name.as_deref().is_none_or(|name| name == task_plan.step_name(*step))
                };
                let step = task_plan.steps().find(is_it).expect("the mission has it");
                seen.step = None;
                seen.steps.insert(step, (report.verdict, by_person));
                let says =
                    |words: &str| report.findings.iter().any(|found| found.description.contains(words));
                let withdrawn = report.verdict == Verdict::Skip && says("switched off");
                let vouched = report.verdict == Verdict::Pass && by_person;
                seen.withdrawn |= withdrawn;
                seen.unlooked = withdrawn || seen.unlooked && !vouched;
            }
            Stage::Merge => seen.conflicts += u32::from(report.verdict == Verdict::Fail),
            Stage::Checks => {
                let all = seen.checks.values().all(|result| *result == Some(true));
                assert_eq!(report.verdict == Verdict::Pass, all, "{report:?} {seen:?}");
            }
            _ => {}
        }
        match report.verdict {
            Verdict::Pass if report.stage == Stage::Judge => {
                (seen.points, seen.indeterminate) = (report.points, false);
                seen.scored = report.points.is_some();
            }
            Verdict::Pass if report.stage == Stage::Verification => {
                if !seen.scored && !by_person {
                    seen.points = report.points;
                }
                seen.indeterminate = false;
            }
            Verdict::Fail => {
                seen.points = report.points;
                seen.indeterminate = report.cause == Some(Cause::Unparsed);
            }
            Verdict::Refer => {
                seen.indeterminate =
                    matches!(report.cause, Some(Cause::GateError | Cause::NoReviewer | Cause::Unstable));
                if report.cause == Some(Cause::Person) && report.stage == Stage::Judge {
                    seen.points = report.points;
                }
            }
            _ => {}
        }
    }

    /// A gate by the rule of section 14, once all that it waits for has ended.
    pub(super) fn gate_evaluated(&mut self, state: &State, id: GateId, result: &GateResult) {
        let gate = state.plan.gate(id);
        assert_eq!(self.gates[id.index()], (None, false), "{id:?} is evaluated again");
        assert!(gate.after.iter().all(|task| self.has_ended(*task)), "{id:?} is not due");
        // The work of a fixup stands for what it superseded.
        let standing = |id: &TaskId| {
            let seen = &self.tasks[id.index()];
            let fixup = seen.fixup.filter(|_| seen.superseded);
            fixup.map_or(seen, |fixup| &self.tasks[fixup.index()])
        };
        let after: Vec<&Seen> = gate.after.iter().map(standing).collect();
        let failed = after.iter().any(|seen| seen.status == Status::Failed);
        let below = after.iter().any(|seen| {
            matches!(
                seen.flag,
                Some(QualityFlag::BelowThreshold | QualityFlag::Unverified | QualityFlag::Degraded)
            )
        });
        let settings = &state.plan.rules.settings;
        let unknown = gate.after.iter().zip(&after).any(|(id, seen)| {
            let was_asked = state.task(state.effective_task(*id)).attempt.rounds > 0;
            let accepted_unseen = match seen.flag {
                Some(QualityFlag::BelowThreshold) => true,
                Some(QualityFlag::Unverified | QualityFlag::Degraded) => gate.min_score.is_some(),
                Some(QualityFlag::Unreviewed) => {
                    gate.min_score.is_some() && settings.fail_open_on_unparsed_eval && was_asked
                }
                _ => false,
            };
            seen.points.is_none() && accepted_unseen
        });
        let scores: Vec<f64> = after.iter().filter_map(|seen| Some(seen.points?.to_f64())).collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let reached = |min: Points| {
            !scores.is_empty() && state.plan.rules.settings.evaluate && mean >= min.to_f64() - 1e-9
        };
        let is_low = below && !gate.accept_below_threshold;
        let passed =
            !(gate.require_all_passed && failed || is_low || unknown) && gate.min_score.is_none_or(reached);
        assert_eq!(result.passed, passed, "{id:?} {result:?} {after:?}");
        self.gates[id.index()].0 = Some(result.clone());
    }

    /// Whether any task that the run takes has not ended.
    pub(super) fn is_open_work(&self, state: &State) -> bool {
        let ended = |id: &TaskId| matches!(self.tasks[id.index()].status, Status::Done | Status::Failed);
        let mut taken = state.plan.selected_ids().filter(|id| !state.task(*id).not_taken);
        taken.any(|id| !ended(&id))
    }

    /// The outcome by the table of section 20, from what the tasks show.
    pub(super) fn conditions(&self, state: &State) -> Vec<OutcomeClass> {
        let plan = &state.plan;
        let taken: Vec<&Seen> = plan.selected_ids().map(|id| &self.tasks[id.index()]).collect();
        let any = |wanted: &dyn Fn(&Seen) -> bool| taken.iter().any(|seen| wanted(seen));
        let open = any(&|seen| !matches!(seen.status, Status::Done | Status::Failed));
        let gate_failed = self
            .gates
            .iter()
            .any(|(result, overridden)| !overridden && result.as_ref().is_some_and(|result| !result.passed));
        let faulted = |seen: &Seen| seen.steps.values().any(|said| *said == (Verdict::Fault, false));
        let unknown = |seen: &Seen| seen.flag.is_some() && seen.baseline_unknown;
        let unreviewed =
            any(&|seen| seen.flag == Some(QualityFlag::Unreviewed) || unknown(seen) || faulted(seen));
        let parked = any(&|seen| seen.status == Status::AwaitingApproval && !seen.for_judges);
        let goes_on = |id: &TaskId| {
            let ended = matches!(self.tasks[id.index()].status, Status::Done | Status::Failed);
            plan.task(*id).part == Part::Selected && !ended
        };
        let asked = plan.barriers.iter().zip(&self.holds).any(|(hold, (_, stage))| {
            let waits = *stage == Standing::Reached && hold.kind == BarrierKind::Checkpoint;
            waits && hold.blocks.iter().any(goes_on)
        });
        // The session could not wait for a moment; where it was told to start nothing more, that is the reason.
        let halts = plan.gates.iter().zip(&self.gates).any(|(gate, (result, overridden))| {
            let failed = result.as_ref().is_some_and(|result| !result.passed);
            gate.halt_on_fail && failed && !overridden
        });
        let failed = any(&|seen| seen.status == Status::Failed && !seen.superseded);
        let is_over = halts || self.paused || state.options.fail_fast && failed;
        // What waits for a slot waits for no moment.
        let for_a_moment = |id: &TaskId| {
            let why = self.tasks[id.index()].waits.map(|(why, _)| why);
            state.takes(*id) && why.is_some_and(|why| why != DeferralReason::Slot)
        };
        let waits = !is_over && plan.selected_ids().any(|id| for_a_moment(&id));
        let holds = [
            (OutcomeClass::Internal, self.foreign),
            (OutcomeClass::Terminated, self.stop == Some(StopCause::Terminated)),
            (OutcomeClass::Interrupted, self.stop == Some(StopCause::Interrupted)),
            (OutcomeClass::Limit, self.limit || self.stop == Some(StopCause::TimeLimit) || waits),
            (OutcomeClass::TaskFailed, any(&|seen| seen.status == Status::Failed && !seen.superseded)),
            (OutcomeClass::GateFailed, gate_failed),
            (
                OutcomeClass::Indeterminate,
                any(&|seen| seen.indeterminate && !seen.superseded) || (state.options.strict && unreviewed),
            ),
            (
                OutcomeClass::BelowThreshold,
                any(&|seen| {
                    matches!(
                        seen.flag,
                        Some(QualityFlag::BelowThreshold | QualityFlag::Unverified | QualityFlag::Degraded)
                    )
                }) || self.threshold,
            ),
            (OutcomeClass::Awaiting, parked || asked || (self.paused && open)),
        ];
        let mut conditions: Vec<_> =
            holds.iter().filter(|(_, holds)| *holds).map(|(class, _)| *class).collect();
        if conditions.is_empty() {
            conditions.push(if open || self.audit_is_open(state) {
                OutcomeClass::Internal
            } else {
                OutcomeClass::Ok
            });
        }
        if conditions == [OutcomeClass::Ok] && self.not_merged {
            conditions = vec![OutcomeClass::Environment];
        }
        conditions
    }
}

impl Seen {
    /// The fix that it has beside the others because others changed the same.
    pub(super) fn for_merge(&self) -> u32 {
        u32::from(self.conflicts > 0)
    }

    /// Whether a pass missed the bar that would hold without a relief. The bar with it is that bar less 20 points, but not
    /// below 40, and nothing else lowers one.
    fn needs_relief(&self, state: &State, report: &StageReport) -> bool {
        let (plan, rules) = (state.plan.task(report.task), &state.plan.rules);
        let panel = plan.panel();
        let full = match report.stage {
            Stage::Verification => plan.verification().expect("it is graded").bar,
            _ => panel.map_or(rules.settings.eval_threshold, |panel| panel.bar),
        };
        let full = full.points.to_f64();
        if report.verdict != Verdict::Pass || report.by.is_some() {
            return false;
        }
        let Some(points) = report.points.map(Points::to_f64) else {
            return false;
        };
        let least = if plan.foundation { (full - 20.0).max(full.min(40.0)) } else { full };
        assert!(points >= least, "{report:?} {full}");
        points < full
    }

    /// A judge's verdict is the median of what the seats said, held against the bar. Every seat of this world gives
    /// all dimensions the same score, so weights do not matter.
    fn is_what_they_said(&self, state: &State, report: &StageReport) {
        let said =
            self.seats.values().filter_map(|seat| match seat.result.as_ref().or(seat.first.as_ref())? {
                Answer::Scores { scores: dimensions, .. } => Some(dimensions.first()?.points.to_f64()),
                Answer::Evaluation { points, .. } => Some(points.to_f64()),
                _ => None,
            });
        let mut scores: Vec<f64> = said.collect();
        scores.sort_by(f64::total_cmp);
        let n = scores.len();
        let Some(bar) = state.plan.bar(report.task).filter(|_| n > 0) else {
            assert!(matches!(report.verdict, Verdict::Refer | Verdict::Fault), "{report:?} without a score");
            return;
        };
        let median = f64::midpoint(scores[(n - 1) / 2], scores[n / 2]);
        let reached = median >= bar.points.to_f64();
        let people = expected(state, report.task) == Expected::Panel { people: true };
        let expected = match (reached, people) {
            (false, _) => Verdict::Fail,
            (true, false) => Verdict::Pass,
            (true, true) => Verdict::Refer,
        };
        assert_eq!(report.verdict, expected, "{report:?} {scores:?}");
        assert_eq!(report.points.map(Points::to_f64), Some(median), "{report:?} {scores:?}");
    }
}
