//! The way of one attempt through its pipeline (semantics, section 6). This is the only place that acts on what a stage
//! wants: it opens work, records verdicts, goes on to the next stage, tells the worker what is missing, sends the work back,
//! asks a person, accepts. Files are looked at before the first stage, before the first judge, and before acceptance.
//!
//! Whatever a stage is about, the same holds of the word of a judge: it does not count where files changed meanwhile; one
//! that does not fit, or leaves points of an earlier review without an answer, is asked for once more; and the second
//! counts if it fits, else the first.

use crate::domain::{
    Answer, Cause, Edge, FailureClass, Purpose, Stage, StageKey, Status, TaskId, Timestamp, Verdict,
};
use crate::engine::audit::AfterScan;
use crate::engine::event::TaskEvent;
use crate::engine::event_payload::{ReplyRef, StageReport};
use crate::engine::job::{Job, JobEnd};
use crate::engine::quality_flag::Mark;
use crate::engine::stages::{self, Actor, Next, Request, Word};
use crate::engine::state::{Ask, Judging, OpenStage, State};
use crate::engine::work::policy::{WorkKind, policy};
use crate::judging::heuristic::named_files;
use crate::plan::StagePlan;
use crate::plan::independence::Dependence;

use super::draft::Draft;
use super::{conclude, deferral, merge, outgoing, test_looks, verification_edges};

/// The attempt finished: judging begins.
pub fn begin(draft: &mut Draft<'_>) {
    if needs_scan(draft) {
        scan(draft, AfterScan::Preflight);
    } else {
        go_on(draft, StageKey::OUTCOME);
    }
}

/// On behind a stage that is content, or that a person has spoken for; behind the outcome, all of the judging.
pub fn go_on_behind(draft: &mut Draft<'_>, key: StageKey) {
    match key {
        StageKey::OUTCOME => begin(draft),
        key => go_on(draft, key),
    }
}

fn go_on(draft: &mut Draft<'_>, behind: StageKey) {
    if behind > StageKey::CHECKS {
        go_on_from(draft, |key| key > behind);
    } else if pass_through(draft, |key| key > behind && key <= StageKey::CHECKS) {
        // What a check writes is part of the work, so files are looked at behind the last one.
        if is_stale(draft) { scan(draft, AfterScan::Judges) } else { judge(draft) }
    }
}

/// On to whoever has an opinion. Nobody is asked again about what a person has accepted, not even that person.
fn judge(draft: &mut Draft<'_>) {
    if test_looks::come_first(draft) {
        return;
    }
    let told = [test_looks::meaning(draft), stages::untouched(draft.view())];
    for report in told.into_iter().flatten() {
        let goes_back = report.verdict == Verdict::Fail;
        conclude::record(draft, *report);
        if goes_back {
            return conclude::not_good_enough(draft);
        }
    }
    let behind = accepted(draft).unwrap_or(StageKey::CHECKS);
    go_on_from(draft, |key| key > behind && key > StageKey::CHECKS);
}

fn go_on_from(draft: &mut Draft<'_>, is_meant: impl Fn(StageKey) -> bool) {
    if pass_through(draft, is_meant) {
        accept(draft);
    }
}

/// Opens these stages one after the other, as long as they have nothing to ask. Whether the work is through.
fn pass_through(draft: &mut Draft<'_>, is_meant: impl Fn(StageKey) -> bool) -> bool {
    let mut stages = draft.task_plan().pipeline.iter();
    stages.all(|stage| !is_meant(stage.key()) || open(draft, stage, 1))
}

fn open(draft: &mut Draft<'_>, stage: &StagePlan, round: u32) -> bool {
    let next = stages::open(stage, draft.view(), round);
    act(draft, stage.key(), next)
}

/// The last of the task's judges in whose place a person accepted this attempt, as far as the mission still has it.
fn accepted(draft: &Draft<'_>) -> Option<StageKey> {
    let word = draft.task.attempt.accepted.as_deref()?;
    let work = draft.task_plan();
    let is_it = |step: &StageKey| {
        let name = word.name.as_deref();
        step.stage() == word.stage && name.is_none_or(|name| name == work.step_name(*step))
    };
    match word.stage {
        Stage::Judge | Stage::Verification => Some(StageKey::Of(word.stage)),
        _ => work.steps().find(is_it),
    }
}

/// Does what a stage wants. Whether the work goes on behind it at once.
fn act(draft: &mut Draft<'_>, key: StageKey, next: Next) -> bool {
    match next {
        Next::Wait => {}
        Next::Open(requests) => request(draft, &requests),
        Next::Probed(probes) => {
            draft.emit_own(TaskEvent::Probed { probes });
            let round = open_stage(draft).map_or(1, |open| open.round);
            return stage_of(draft, key).is_some_and(|stage| open(draft, stage, round));
        }
        Next::Pass(report) => {
            report.into_iter().for_each(|report| conclude::record(draft, *report));
            return true;
        }
        Next::Unread(report) => {
            draft.emit_own(TaskEvent::EvalUnparsed);
            return match report {
                None => true,
                Some(report) => act(draft, key, Next::Fail(report)),
            };
        }
        Next::Nudge { compilation, others, missing } => {
            draft.emit_own(TaskEvent::Nudged { compilation, others, missing });
            draft.enter(Status::InProgress);
        }
        Next::Fail(report) => {
            conclude::record(draft, *report);
            conclude::not_good_enough(draft);
        }
        Next::Refer(report, question) => refer(draft, key, report, &question),
    }
    false
}

fn request(draft: &mut Draft<'_>, requests: &[Request]) {
    for request in requests {
        match *request {
            Request::Ask(purpose, agent) => outgoing::ask(draft, purpose, agent),
            Request::Run(job) => outgoing::run(draft, job),
        }
    }
}

/// A person decides, or the edge of a verification that has judged. One whose judges are missing has not.
fn refer(draft: &mut Draft<'_>, key: StageKey, report: Box<StageReport>, question: &str) {
    let cause = report.cause.unwrap_or(Cause::Confidence);
    conclude::record(draft, *report);
    match draft.plan().route(draft.id) {
        Some(route) if !cause.is_of_judges() => verification_edges::referred(draft, route, cause, question),
        _ => conclude::ask_person(draft, key, cause, question),
    }
}

/// Every stage is content: the work is accepted for the files as they are behind the last command.
pub fn accept(draft: &mut Draft<'_>) {
    if is_stale(draft) {
        return scan(draft, AfterScan::Accept);
    }
    // Of work that is being merged that was said when its merge began.
    let is_first = !merge::has_begun(draft);
    let weighed = [stages::weigh_accepted_tests(draft.view()), stages::weigh_proof(draft.view())];
    let weighed = weighed.into_iter().flatten().filter(|_| is_first);
    weighed.for_each(|report| conclude::record(draft, *report));
    let unreviewed = is_first && draft.view().is_unreviewed(None);
    conclude::accept(draft, Edge::Pass, unreviewed.then_some(Mark::Unreviewed));
}

/// Has the files that the task's rules name looked at.
fn scan(draft: &mut Draft<'_>, then: AfterScan) {
    let number = draft.task.work.scans + 1;
    outgoing::run(draft, Job::Scan { number, then });
}

/// Whether files that the task names may not be what was seen of them: a command may have written some.
fn is_stale(draft: &Draft<'_>) -> bool {
    let judging = draft.task.judging();
    draft.task_plan().names_files() && judging.is_some_and(|judging| judging.stale)
}

/// Only files that the task's rules name are looked at.
fn needs_scan(draft: &Draft<'_>) -> bool {
    let task = draft.task_plan();
    // A verification in a worktree is given what was accepted so far when it looks.
    task.names_files()
        || (task.route.is_some() && task.has_worktree())
        || task.screenshots().next().is_some()
        || (task.route.is_none() && stages::asks_what_it_said(draft.plan(), draft.id, &draft.task))
        || task.verification().is_some_and(|by| !named_files(&by.criteria).is_empty())
}

/// The files that the task's rules name were looked at. Without its files nobody needs to judge the work.
fn scanned(draft: &mut Draft<'_>, then: AfterScan) {
    if then == AfterScan::Preflight {
        return go_on(draft, StageKey::OUTCOME);
    }
    if let Some(report) = stages::lacks_files(draft.view()) {
        act(draft, StageKey::PREFLIGHT, Next::Fail(report));
        return;
    }
    match then {
        AfterScan::Preflight | AfterScan::Judges => judge(draft),
        AfterScan::Repeat => once_more(draft),
        AfterScan::Accept => accept(draft),
    }
}

/// The files were looked at anew: the stage is asked once more, unless somebody is asked by now.
fn once_more(draft: &mut Draft<'_>) {
    let is_repeated = draft.task.judging().is_some_and(Judging::is_repeated);
    match open_stage(draft) {
        _ if !is_repeated => {}
        None => judge(draft),
        Some(stage) if stage.open => {}
        Some(stage) => {
            let (key, round) = (stage.key, stage.round + 1);
            reopen(draft, key, round);
        }
    }
}

/// Asks a stage in a further round, about what there is now.
fn reopen(draft: &mut Draft<'_>, key: StageKey, round: u32) {
    if let Some(stage) = stage_of(draft, key)
        && open(draft, stage, round)
    {
        go_on(draft, key);
    }
}

/// Whether what a stage was shown is not what there is: then its word does not count, and it is asked once more. Where that
/// happened the second time, the message for a person.
fn must_be_asked_again(draft: &Draft<'_>) -> Option<Result<(), &'static str>> {
    let judging = draft.task.judging().filter(|it| !it.changed.is_empty())?;
    Some(if judging.is_repeated() {
        Err("its files changed while it was judged, and again when it was judged once more")
    } else {
        Ok(())
    })
}

/// Decides about a judge that was shown files that are not what there is.
fn shown_something_else(
    draft: &mut Draft<'_>,
    key: StageKey,
    changed: Result<(), &'static str>,
    speaker: Actor<'_>,
) {
    match changed {
        Ok(()) => scan(draft, AfterScan::Repeat),
        Err(message) => {
            let next = stages::unstable(key, draft.view(), message, speaker);
            act(draft, key, next);
        }
    }
}

/// Says why nothing that was said in a stage counts.
fn close(draft: &mut Draft<'_>, stage: StageKey, message: String) {
    draft.emit_own(TaskEvent::StageFailed { stage, message });
}

fn stage_of<'a>(draft: &Draft<'a>, key: StageKey) -> Option<&'a StagePlan> {
    draft.task_plan().stage(key)
}

fn open_stage<'d>(draft: &'d Draft<'_>) -> Option<&'d OpenStage> {
    draft.task.judging()?.stage.as_ref()
}

/// Concludes a stage by what counts, and goes on behind it where it is content.
fn concluded(draft: &mut Draft<'_>, stage: &StagePlan, word: Word<'_>, speaker: Actor<'_>) {
    let next = stages::conclude(stage, draft.view(), word, speaker);
    go_on_with(draft, stage.key(), next);
}

/// Does what a stage wants, and goes on behind it where it is content.
fn go_on_with(draft: &mut Draft<'_>, key: StageKey, next: Next) {
    if act(draft, key, next) {
        go_on(draft, key);
    }
}

/// A command ended, or files were looked at.
pub fn came_back(draft: &mut Draft<'_>, job: Job, end: &JobEnd) {
    let key = match job {
        Job::Scan { then, .. } => return scanned(draft, then),
        Job::Look(_) => return judge(draft),
        Job::Finish(_) => StageKey::FINISH,
        Job::Check(_) => StageKey::CHECKS,
        Job::Grade(_) => StageKey::VERIFICATION,
        Job::Stage(key, _) => key,
        Job::Artifacts(_) | Job::Baseline | Job::Approver { .. } | Job::Merge(_) | Job::PeerCheck(..) => {
            return;
        }
    };
    let nobody = Actor::default();
    let Some(stage) = stage_of(draft, key) else {
        return;
    };
    match (job, end) {
        (_, JobEnd::Seen { .. } | JobEnd::Checked(_)) => concluded(draft, stage, Word::Known, nobody),
        (_, JobEnd::Graded(Ok(grades))) => concluded(draft, stage, Word::Graded(grades), nobody),
        (Job::Grade(round), JobEnd::Graded(Err(why))) => {
            if round > draft.plan().rules.settings.max_assessment_retries {
                return in_vain(draft, stage, why.clone(), [None; 2], nobody);
            }
            close(draft, key, why.clone());
            reopen(draft, key, round + 1);
        }
        (_, JobEnd::Judged(said)) => {
            said_alone(draft, stage, None, said.as_ref().map_err(String::as_str), nobody);
        }
        _ => {}
    }
}

/// The stage that a judge is asked in.
fn stage_for<'a>(draft: &Draft<'a>, purpose: Purpose) -> Option<&'a StagePlan> {
    stage_of(draft, purpose.asked_by()?.0)
}

/// A judge said something, or could not be asked. What says nothing that counts, or leaves points of an earlier review
/// without an answer, is asked for once more.
pub fn answered(
    draft: &mut Draft<'_>,
    open: &Ask,
    said: Result<&Answer, &str>,
    reply: Option<&ReplyRef>,
    now: Timestamp,
) {
    let purpose = open.purpose;
    let Some(stage) = stage_for(draft, purpose) else {
        return;
    };
    // What is said of other files than there are is not worth a second question.
    let is_void = purpose.sees_the_work() && must_be_asked_again(draft).is_some();
    let lacking = said
        .ok()
        .filter(|_| !is_void)
        .and_then(|said| stages::what_it_lacks(stage, draft.view(), purpose, said));
    // One that was asked again while it still knew what it had seen has had its reprompt.
    let tools = reply.and_then(|reply| reply.tools.as_deref());
    let had = u32::from(open.strict.is_some() || tools.is_some_and(|tools| tools.asked_again));
    if let Some(why) = lacking.filter(|_| had < policy(WorkKind::Ask(purpose)).reprompts) {
        let unfit = stages::unfit(stage, draft.view(), Some(purpose), said);
        if let Some(unfit) = unfit.filter(|_| purpose.seat().is_none()) {
            close(draft, stage.key(), unfit);
        }
        outgoing::ask_again(draft, open, open.agent, Some(why), None);
    } else if purpose.seat().is_some() {
        seat_ended(draft, now);
    } else {
        said_alone(draft, stage, Some(purpose), said, speaker(open, reply));
    }
}

/// The first reply of a judge that is asked for the second.
fn first_reply<'a>(draft: &Draft<'a>, purpose: Purpose) -> Option<&'a Answer> {
    let judging = draft.state.task(draft.id).judging()?;
    judging.seat(purpose)?.first.as_ref()
}

/// Whether a judge that is asked for a second reply has said something that counts.
pub fn has_said(draft: &Draft<'_>, purpose: Purpose) -> bool {
    let said = stage_for(draft, purpose).zip(first_reply(draft, purpose));
    said.is_some_and(|(stage, first)| stages::unfit(stage, draft.view(), Some(purpose), Ok(first)).is_none())
}

fn speaker<'r>(open: &Ask, reply: Option<&'r ReplyRef>) -> Actor<'r> {
    Actor { agent: Some(open.agent), model: reply.and_then(|reply| reply.model.as_deref()) }
}

/// A judge is not independent of the work after all: whatever it says does not count, and asked again it would be answered
/// by the same model.
pub fn depends(draft: &mut Draft<'_>, open: &Ask, reply: &ReplyRef, why: Dependence, now: Timestamp) {
    let who = draft.plan().agent_name(open.agent);
    if open.purpose.seat().is_some() {
        let message = format!("'{who}' is not independent: {why}");
        outgoing::give_up(draft, open, FailureClass::PolicyBlocked, message);
        seat_ended(draft, now);
    } else if let Some(stage) = stage_for(draft, open.purpose) {
        let (key, speaker) = (stage.key(), speaker(open, Some(reply)));
        let (message, next) = stages::depends(stage, draft.view(), who, &why.to_string(), speaker);
        close(draft, key, message);
        go_on_with(draft, key, next);
    }
}

/// Concludes a stage by the word of its only judge, or of its command: the last reply that counts, else the first.
fn said_alone(
    draft: &mut Draft<'_>,
    stage: &StagePlan,
    purpose: Option<Purpose>,
    said: Result<&Answer, &str>,
    speaker: Actor<'_>,
) {
    let key = stage.key();
    // What cuts criteria looks at no files.
    if said.is_ok()
        && purpose.is_none_or(Purpose::sees_the_work)
        && let Some(changed) = must_be_asked_again(draft)
    {
        let doing = match key {
            StageKey::VERIFICATION => "files changed while it was graded",
            _ => "files changed while it judged them",
        };
        close(draft, key, doing.to_owned());
        return shown_something_else(draft, key, changed, speaker);
    }
    let first = purpose.and_then(|purpose| first_reply(draft, purpose));
    let unfit = |said: Result<&Answer, &str>| stages::unfit(stage, draft.view(), purpose, said);
    let word = match unfit(said) {
        None => said.map_err(str::to_owned),
        Some(why) => first.filter(|first| unfit(Ok(*first)).is_none()).ok_or(why),
    };
    match word {
        Ok(word) => concluded(draft, stage, Word::Answered(word), speaker),
        Err(why) => in_vain(draft, stage, why, [said.ok(), first], speaker),
    }
}

/// Concludes a stage in which nothing that counts was said.
fn in_vain(
    draft: &mut Draft<'_>,
    stage: &StagePlan,
    why: String,
    replies: [Option<&Answer>; 2],
    speaker: Actor<'_>,
) {
    close(draft, stage.key(), why.clone());
    let next = stages::on_no_reply(stage, draft.view(), &why, replies, speaker);
    go_on_with(draft, stage.key(), next);
}

/// A seat has come to an end. Once every one has: the stage's verdict.
fn seat_ended(draft: &mut Draft<'_>, now: Timestamp) {
    if draft.task.work.asks.iter().any(|open| open.purpose.is_judging()) {
        return deferral::asked_wait(draft, now);
    }
    let Some(stage) = stage_of(draft, StageKey::JUDGE).filter(|_| draft.task.judging().is_some()) else {
        return;
    };
    match must_be_asked_again(draft) {
        Some(changed) => shown_something_else(draft, StageKey::JUDGE, changed, Actor::default()),
        None => concluded(draft, stage, Word::Known, Actor::default()),
    }
}

/// Whether anybody is asked whom the options, as they are now, do not want asked (`resume --no-eval`): in which stage.
fn asked_in_vain(state: &State, id: TaskId) -> Option<StageKey> {
    let judging = state.task(id).judging().filter(|_| !state.plan.rules.settings.evaluate)?;
    match &judging.stage {
        Some(stage) => (stage.open && stage.seat.is_some()).then_some(stage.key),
        // Who has said it has not been asked in vain.
        None => (!judging.seats.is_empty() && !judging.has_spoken()).then_some(StageKey::JUDGE),
    }
}

/// Whether anybody is asked whom the options, as they are now, do not want asked.
pub fn judge_disabled(state: &State, id: TaskId) -> bool {
    asked_in_vain(state, id).is_some()
}

/// Calls off whom the options do not want asked any more, and goes on without them. Whether there was anybody.
pub fn call_off_in_vain(draft: &mut Draft<'_>) -> bool {
    let Some(at) = asked_in_vain(draft.state, draft.id) else {
        return false;
    };
    outgoing::call_off(draft);
    go_on_from(draft, |key| key >= at);
    true
}
