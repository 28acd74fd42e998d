//! What the reference model says of the life of a task: who may start, what may be done, how often it may be tried.

use rules::domain::{
    AgentId, AttemptKind, BeforeWork, FailureMode, Purpose, QualityFlag, StageKey, Status, TaskId, Verdict,
};
use rules::engine::{DeferralReason, Merged, State, Way};
use rules::judging::baseline_checks::{BaselineCheck, CheckPlace, items};
use rules::mission::model::Adapter;
use rules::plan::Part;

use super::judges::{Expected, expected};
use super::{ReferenceModel, Standing};

/// The proof of accepted work.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Proof {
    NoCheck,
    Red,
    Judged,
    Guards,
    Unknown,
    Vacuous,
}

impl ReferenceModel {
    /// Checks what must hold before a task starts.
    pub(super) fn may_start(&self, state: &State, task: TaskId) {
        self.no_audit_is_out(task);
        self.is_first_of_the_regressed(state, task);
        self.dependencies_hold(state, task);
        self.gates_are_open(state, task);
        let plan = &state.plan;
        for hold in plan.barriers_before.of(task) {
            let (_, stage) = self.holds[hold.index()];
            assert_eq!(stage, Standing::Passed, "{task:?} starts before {hold:?} is passed");
        }
        for approval in &plan.task(task).approvals {
            let given = &self.tasks[task.index()].agreed;
            let gate = approval.gate.as_deref().map(str::to_owned);
            assert!(given.contains(&gate), "{task:?} starts without agreement to {gate:?}");
        }
        assert_eq!(plan.task(task).part, Part::Selected, "{task:?} was left out");
    }

    /// Slots, the agent's own limit, and tasks that want to be alone, on whichever way a task came to work (section 5).
    /// What takes a slot and gives it up in the same record has not worked.
    pub(super) fn slots_hold(&self, state: &State, held: &[bool]) {
        let plan = &state.plan;
        let all = plan.tasks.iter().zip(&self.tasks);
        let holders: Vec<_> = all.filter(|(_, seen)| seen.holds_a_slot()).collect();
        for (index, seen) in self.tasks.iter().enumerate() {
            if !seen.holds_a_slot() || held.get(index).is_some_and(|held| *held) {
                continue;
            }
            let task = TaskId::from_index(index);
            assert!(holders.len() <= plan.rules.concurrency as usize, "{task:?} has no slot");
            let alone = holders.iter().any(|(plan, _)| plan.exclusive);
            assert!(!alone || holders.len() == 1, "{task:?} is not alone");
            let agent = plan.task(task).agent;
            let busy = holders.iter().filter(|(plan, _)| plan.agent == agent).count();
            let limit = plan.agent(agent).spec.max_concurrent;
            assert!(limit.is_none_or(|limit| busy <= limit as usize), "{task:?}: its agent is busy");
        }
    }

    /// `done` needs what the mission asked for, seen in this attempt (sections 3, 6 and 20).
    /// Its flag is the worst of what its verdicts left, however often it was merged.
    pub(super) fn may_be_done(&mut self, state: &State, task: TaskId, flag: Option<QualityFlag>) {
        let proof = self.proof(state, task);
        let forced = self.tasks[task.index()].forced.is_some();
        self.tasks[task.index()].baseline_unknown = proof == Proof::Unknown && !forced;
        let seen = &self.tasks[task.index()];
        let plan = state.plan.task(task);
        assert!(
            seen.finished && !seen.agent_failed && !seen.tampered,
            "done without work: {task:?} {seen:?}"
        );
        assert_eq!((seen.merging, seen.landed), (plan.commits(), plan.commits()), "{task:?} {seen:?}");
        if !plan.target_files.is_empty() {
            assert!(seen.has_file(), "done without its files: {task:?} {seen:?}");
        }
        let restored = seen.reopened.as_ref().is_none_or(|open| open.lost.is_empty());
        assert!(restored, "done without what was lost: {task:?} {seen:?}");
        if seen.forced.is_some() {
            assert_eq!(flag, seen.forced, "{task:?} {seen:?}");
            return;
        }
        assert_ne!(flag, Some(QualityFlag::BelowThreshold), "{task:?} {seen:?}");
        let checks = plan.checks().len();
        let passed = seen.checks.values().filter(|result| **result == Some(true)).count();
        let by_person = matches!(seen.judge, Some((Verdict::Pass, true)));
        assert!(passed == checks, "done without its checks: {task:?} {seen:?}");
        let graded = matches!(seen.verification, Some((Verdict::Pass, _)));
        // Where no judge is called, nobody grades by a rubric. Facts still hold.
        let by_judge = plan.verification().is_some_and(|own| own.rubric.is_some());
        let ungraded = by_judge && !graded && !state.plan.rules.settings.evaluate;
        if plan.verification().is_some() {
            assert!(graded || ungraded, "done without its criteria: {task:?} {seen:?}");
        }
        let task_plan = plan;
        for step in task_plan.steps() {
            let said = seen.steps.get(&step).map(|(verdict, _)| *verdict);
            let is_content = match (step, task_plan.step_agent(step)) {
                (StageKey::Own(_), None) => said == Some(Verdict::Pass),
                (StageKey::Own(_), Some(_)) => {
                    said == Some(Verdict::Pass) || said == Some(Verdict::Skip) && seen.withdrawn
                }
                // They are open to a fault of their own, never to what they found.
                _ => matches!(said, Some(Verdict::Pass | Verdict::Skip | Verdict::Fault)),
            };
            assert!(is_content, "done in spite of {step:?}: {task:?} {seen:?}");
        }
        // Whoever lets it pass at a stage vouches for the whole of it; the question said so.
        let at_a_stage = seen.steps.values().any(|said| *said == (Verdict::Pass, true));
        let at_its_criteria = matches!(seen.verification, Some((Verdict::Pass, true)));
        let by_word = by_person || at_its_criteria || at_a_stage;
        let partly = |way: &Way| matches!(way, Way::Artifacts | Way::Partial);
        if plan.finish().is_some() {
            let unmet = seen.gate_met != Some(true);
            assert!(seen.gate_met.is_some(), "done without its gate: {task:?} {seen:?}");
            assert_eq!(unmet, seen.gate.contains(&false), "{task:?} {seen:?}");
        }
        if seen.unverified() {
            // Never less than that, whatever else was said of it.
            let least = if seen.without.values().any(partly) {
                QualityFlag::Degraded
            } else {
                QualityFlag::Unverified
            };
            assert_eq!(flag, Some(least), "{task:?} {seen:?}");
            let judged = matches!(seen.judge, Some((Verdict::Pass, _))) || seen.not_judged;
            let asked = matches!(expected(state, task), Expected::Panel { .. });
            let by_verification = matches!(seen.verification, Some((Verdict::Pass, _)));
            assert!(judged || !asked || by_verification, "{task:?} {seen:?}");
            return;
        }
        if seen.without.values().any(partly) {
            assert_eq!(flag, Some(QualityFlag::Degraded), "{task:?} {seen:?}");
            return;
        }
        if seen.unlooked || ungraded && !at_a_stage {
            assert_eq!(flag, Some(QualityFlag::Unreviewed), "{task:?} {seen:?}");
            return;
        }
        let fail_open = state.plan.rules.settings.fail_open_on_unparsed_eval && seen.unparsed;
        let judged = matches!(seen.judge, Some((Verdict::Pass, _)));
        match expected(state, task) {
            Expected::Panel { people } => {
                assert!(judged && flag == Some(seen.good()), "{task:?} {seen:?}");
                assert!(!people || by_person, "no person said so: {task:?} {seen:?}");
            }
            Expected::Evaluation => {
                // A stage looked at one thing, and has not reviewed the work.
                // Whoever graded it by a rubric has.
                let verification = state.plan.task(task).verification();
                let graded = verification.is_some_and(|verification| verification.rubric.is_some())
                    && matches!(seen.verification, Some((Verdict::Pass, _)));
                let reviewed = judged || by_word || graded;
                let clean = flag == Some(seen.good()) && reviewed;
                let open = flag == Some(QualityFlag::Unreviewed) && fail_open;
                assert!(clean || open, "{task:?} {flag:?} {seen:?}");
            }
            Expected::ChecksOnly => {
                let good = match proof {
                    Proof::Guards | Proof::Vacuous => QualityFlag::Unreviewed,
                    _ => seen.good(),
                };
                assert_eq!(flag, Some(good), "{task:?} {proof:?} {seen:?}");
            }
            Expected::Nobody => {
                // Reviewers who were asked before the reviews were switched off have spoken all the same.
                let expected = if by_word || judged { seen.good() } else { QualityFlag::Unreviewed };
                assert_eq!(flag, Some(expected), "{task:?} {seen:?}");
            }
        }
    }

    /// The proof of accepted work whose checks pass (section 24).
    fn proof(&self, state: &State, task: TaskId) -> Proof {
        let (plan, seen) = (state.plan.task(task), &self.tasks[task.index()]);
        let before = &self.tasks[seen.fixup_of.unwrap_or(task).index()].before;
        let said = |item: &BaselineCheck| {
            let known = before.as_ref().and_then(|before| before.get(&item.key));
            known.copied().unwrap_or((BeforeWork::Unknown, false))
        };
        let checks = items(plan);
        let passes = |item: &BaselineCheck| match item.place {
            CheckPlace::Finish(at) => seen.gate.get(at as usize) == Some(&true),
            _ => true,
        };
        let is_guard =
            |item: &BaselineCheck| item.is_declared_guard() || seen.begins_green && item.is_to_be_red();
        let is_graded = plan.verification().is_some_and(|by| by.rubric.is_some());
        let by_stage = seen.steps.iter().any(|(step, said)| {
            let is_agent = plan.step_agent(*step).is_some();
            matches!(step, StageKey::Own(_)) && said.0 == Verdict::Pass && (said.1 || is_agent)
        });
        let judged = matches!(seen.judge, Some((Verdict::Pass, _))) && !seen.not_judged
            || seen.steps.values().any(|said| *said == (Verdict::Pass, true))
            || matches!(seen.verification, Some((Verdict::Pass, by_person)) if by_person || is_graded)
            || by_stage;
        if checks.is_empty() {
            Proof::NoCheck
        } else if checks.iter().any(|item| said(item) == (BeforeWork::Red, false) && passes(item)) {
            Proof::Red
        } else if judged {
            Proof::Judged
        } else if checks.iter().all(is_guard) {
            Proof::Guards
        } else if checks.iter().any(|item| said(item).0 == BeforeWork::Unknown) {
            Proof::Unknown
        } else {
            Proof::Vacuous
        }
    }

    pub(super) fn may_fail(&mut self, state: &State, task: TaskId, mode: Option<FailureMode>) {
        let mode = mode.expect("a failure has a mode");
        self.may_regress(task, mode);
        self.tasks[task.index()].mode = Some(mode);
        let tampered = self.tasks[task.index()].tampered;
        assert_eq!(mode == FailureMode::Protected, tampered, "{task:?}");
        if matches!(mode, FailureMode::Quality | FailureMode::Hollow) {
            self.is_exhausted(state, task);
        }
    }

    /// No further attempt is allowed, or there was no progress that anybody could see.
    pub(super) fn is_exhausted(&self, state: &State, task: TaskId) {
        let seen = &self.tasks[task.index()];
        let plan = state.plan.task(task);
        let limits = plan.limits;
        let at_cap = self.cap(state, task).is_some_and(|cap| seen.tries >= cap);
        let more = u32::from(plan.foundation);
        let fixes = limits.max_fix_attempts + seen.for_merge();
        let used = seen.fixes >= fixes && seen.retries >= limits.max_retries + more
            || seen.retries > limits.max_retries;
        let has_files = !plan.target_files.is_empty() || plan.screenshots().next().is_some();
        let may_stall = has_files && seen.attempt > 1;
        assert!(at_cap || used || may_stall, "given up too early: {task:?} {seen:?} {limits:?}");
    }

    pub(super) fn cap(&self, state: &State, task: TaskId) -> Option<u32> {
        let limits = state.plan.task(task).limits;
        let evaluated = expected(state, task) == Expected::Evaluation;
        let cap =
            limits.max_attempts.or(evaluated
                .then_some(limits.max_evaluated_attempts + u32::from(state.plan.task(task).foundation)));
        cap.map(|cap| cap + self.tasks[task.index()].for_merge())
    }

    /// A try to merge the work came back.
    pub(super) fn merged(&mut self, task: TaskId, merged: &Merged) {
        let seen = &mut self.tasks[task.index()];
        assert!(seen.merging && !seen.landed, "{merged:?} {seen:?}");
        match merged {
            Merged::Landed(_) => {
                seen.landed = true;
                self.work_landed();
            }
            // With the work of others everything is to be shown once more.
            Merged::Candidate(_) => seen.checks.clear(),
            Merged::Conflict { .. } | Merged::Refused(_) => {}
        }
    }

    pub(super) fn plan_attempt(&mut self, state: &State, task: TaskId, attempt: u32, kind: AttemptKind) {
        let cap = self.cap(state, task);
        let limits = state.plan.task(task).limits;
        let seen = &mut self.tasks[task.index()];
        // An attempt that was planned and has not begun may become the first of a changed task.
        let unbegun = kind == AttemptKind::Execute && seen.turn == 0 && attempt == seen.attempt;
        assert!(unbegun || attempt == seen.attempt + 1, "{task:?} {kind:?} {attempt} {seen:?}");
        assert!(!seen.in_flight, "{task:?} {seen:?}");
        let is_forgiven = kind == AttemptKind::Execute;
        assert!(is_forgiven || !seen.tampered, "tried again by itself: {task:?} {seen:?}");
        // A score is of the attempt that was judged, never of the next one.
        seen.points = None;
        let is_granted = seen.is_granted(kind);
        match kind {
            AttemptKind::Execute => {
                let agent = state.plan.worker_of(task).name.to_string();
                self.rejections.remove(&(agent, state.plan.task(task).wave));
                seen.noted = None;
                seen.sent_back = false;
                assert_eq!(seen.status, Status::Pending, "{task:?}");
                (seen.tries, seen.fixes, seen.retries, seen.questions) = (0, 0, 0, 0);
                (seen.regressions, seen.reopened, seen.visits) = (0, None, 0);
                seen.conflicts = 0;
                seen.agreed.clear();
                seen.given_up.clear();
            }
            AttemptKind::Fix => {
                assert!(!seen.agent_failed, "a crash is not fixed: {task:?} {seen:?}");
                seen.fixes += u32::from(!is_granted);
            }
            AttemptKind::Retry => {
                seen.retries += 1;
                seen.fixes = 0;
            }
        }
        seen.tries += u32::from(!is_granted);
        // Limits may have become less since the others, and what is granted beside them is none of theirs.
        if !is_granted {
            let fixes = limits.max_fix_attempts + seen.for_merge();
            assert!(seen.fixes <= fixes, "{task:?} {seen:?}");
            let more = u32::from(state.plan.task(task).foundation);
            assert!(seen.retries <= limits.max_retries + more, "{task:?} {seen:?}");
            let most = (1 + fixes) * (1 + limits.max_retries) + more;
            assert!(seen.tries <= most, "{task:?} {seen:?}");
            assert!(cap.is_none_or(|cap| seen.tries <= cap), "{task:?} {seen:?}");
        }
        // What begins anew goes on waiting for the moment that it waited for.
        if let Some((_, tries)) = &mut seen.waits {
            *tries = seen.tries;
        }
        seen.begin(attempt);
    }

    /// Checks that another agent may go on in the same attempt: never one that was given up, nor one that
    /// judges the work.
    pub(super) fn goes_on_with(&mut self, state: &State, task: TaskId, from: AgentId, to: AgentId) {
        let seen = &mut self.tasks[task.index()];
        assert!(!seen.in_flight && seen.status == Status::InProgress, "{task:?} {seen:?}");
        assert!(seen.agent_failed || !seen.finished, "it did not fail: {task:?} {seen:?}");
        assert!(!seen.tampered, "{task:?} {seen:?}");
        let (plan, work) = (&state.plan, state.plan.task(task));
        assert_eq!(work.agent, from, "{task:?}");
        seen.given_up.insert(from);
        assert!(!seen.given_up.contains(&to), "given up before: {task:?} {to:?}");
        assert!(plan.agent(to).spec.adapter != Adapter::Human, "{task:?} {to:?}");
        let judges = |id: TaskId| plan.task(id).judging_agents().any(|judge| judge == to);
        let nodes = plan.dependents.of(task).iter();
        let mut nodes = nodes.filter(|node| plan.route(**node).is_some());
        assert!(!judges(task) && !nodes.any(|node| judges(*node)), "judges itself: {task:?} {to:?}");
        (seen.finished, seen.agent_failed) = (false, false);
    }

    pub(super) fn enter(&mut self, state: &State, task: TaskId, to: Status, flag: Option<QualityFlag>) {
        let seen = &mut self.tasks[task.index()];
        let from = std::mem::replace(&mut seen.status, to);
        // What a task waits with is said before; whatever else becomes of it ends the wait.
        if matches!(seen.waits, Some((DeferralReason::Slot, _))) {
            seen.waits = None;
        } else if to != Status::Pending {
            assert!(
                seen.waits.is_none() || !matches!(to, Status::Assigned | Status::InProgress | Status::Done),
                "it waits for a moment: {task:?} {seen:?}"
            );
            seen.waits = None;
        }
        seen.waits_only_for(|_| false);
        seen.flag = flag;
        let hands_down = std::mem::take(&mut seen.delegated);
        assert!(
            !hands_down || (to, flag) == (Status::Done, Some(QualityFlag::Clean)),
            "handed down, and not clean: {task:?} {seen:?}"
        );
        if to == Status::Assigned && seen.attempt == 0 {
            seen.tries = 1;
            seen.begin(1);
        }
        if to == Status::Pending && matches!(from, Status::Done | Status::Failed) {
            seen.outdate();
        }
        if to == Status::Assigned && std::mem::take(&mut seen.outdated) {
            (seen.before, seen.noted) = (None, None);
        }
        // Nobody answered: the reviewers are asked again, and everything before them is looked at again.
        let unanswered = seen.open_approval.take().is_some();
        if from == Status::AwaitingApproval && to == Status::Review && unanswered {
            assert!(seen.for_judges, "{task:?} {seen:?}");
            seen.checks.clear();
            seen.repeated.clear();
            seen.gate.clear();
            seen.rounds = 0;
            // What a person accepted stays accepted, with all that came before it.
            let by_person = |said: &(Verdict, bool)| *said == (Verdict::Pass, true);
            let mut steps = seen.steps.iter();
            match steps.rfind(|(_, said)| by_person(said)).map(|(step, _)| *step) {
                Some(last) => seen.steps.retain(|step, _| *step <= last),
                None => {
                    seen.steps.clear();
                    if !seen.verification.as_ref().is_some_and(by_person) {
                        seen.verification = None;
                        if !seen.judge.as_ref().is_some_and(by_person) {
                            (seen.judge, seen.scored) = (None, false);
                        }
                    }
                }
            }
            seen.looked = false;
        }
        if from == Status::AwaitingApproval && to == Status::Review && seen.for_judges {
            seen.indeterminate = false;
        }
        if to != Status::Done {
            let replaced = seen.record.take().map(|record| (task, record));
            self.audits.replaced.extend(replaced);
        } else {
            self.audits.replaced.remove(&task);
        }
        if to == Status::Pending {
            seen.goes_on.clear();
        }
        // Whoever is asked after a person's word is asked anew.
        if to != Status::Review {
            seen.repeated.clear();
        }
        if matches!(to, Status::Done | Status::Failed) {
            seen.in_flight = false;
            seen.reopened = None;
        }
        if matches!(from, Status::Done | Status::Failed) && seen.reopened.is_none() {
            seen.edge = None;
        }
        self.tasks[task.index()].question_open &= matches!(to, Status::InProgress | Status::AwaitingApproval);
        if unanswered && from == Status::AwaitingApproval && to == Status::Pending {
            self.tasks[task.index()].withdraw_agreement();
        }
        let fixup_of = self.tasks[task.index()].fixup_of;
        let fixup_of = fixup_of.filter(|source| self.tasks[source.index()].status == Status::Failed);
        if to == Status::Done
            && let Some(source) = fixup_of
        {
            let clean = flag == Some(QualityFlag::Clean);
            assert_eq!(self.tasks[source.index()].superseded, clean, "{source:?} {task:?}");
        }
        if matches!(from, Status::Done | Status::Failed) {
            // One whose approver spoiled it has had no attempt that could begin anew.
            self.tasks[task.index()].tampered &= self.tasks[task.index()].attempt > 0;
            self.tasks[task.index()].without.clear();
            self.nobody_has(state, task, from == Status::Done);
            if let Some(source) = fixup_of {
                self.nobody_has(state, source, false);
            }
            self.tasks[task.index()].withdraw_agreement();
        }
    }

    /// Checks the fall of a task whose result does not hold any more.
    pub(super) fn nobody_has(&mut self, state: &State, task: TaskId, was_done: bool) {
        let superseded = std::mem::take(&mut self.tasks[task.index()].superseded);
        // What has not begun waits for it again.
        for on_it in state.plan.dependents.of(task) {
            let seen = &mut self.tasks[on_it.index()];
            seen.waits_only_for(|purpose| *purpose != Purpose::Resolve { dependency: task });
            if was_done || superseded || seen.status == Status::Pending {
                seen.without.remove(&task);
            }
        }
        let mut without: Vec<TaskId> = state.plan.dependents.of(task).to_vec();
        for hold in state.plan.barriers_after.of(task) {
            self.holds[hold.index()].1 = Standing::Ahead;
            without.extend(&state.plan.barrier(*hold).blocks);
        }
        for gate in state.plan.gates_after.of(task) {
            self.gates[gate.index()] = (None, false);
            without.extend(&state.plan.gate(*gate).blocks);
        }
        for id in without {
            self.tasks[id.index()].outdate();
        }
    }
}
