//! `quorum.show/v1`: one task with all that is known about it.
//!
//! | file | what |
//! |---|---|

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::store::{AskFile, SpoolName};
use rules::{
    domain::{Answer, BeforeWork, Cause, FailureClass, Finding, Points, Stage, TaskId, Verdict},
    engine::{CheckResult, Look, Looked, State, ToolLedgerRef},
    judging::baseline_checks::{CheckPlace, Weighed, items},
    mission::model::{BeforeRule, Check},
};

use super::reviews::{CriterionRow, ScoreRow, criterion_rows, share};
use super::{TaskRow, Tasks, fields};
use crate::report::folds::{
    history::{AttemptHistory, CallHistory, CallStanding, TaskHistory, TurnHistory, TurnStanding},
    view::{AttemptRow, RunView},
};

/// A file of the run, with the beginning of what it says.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileView {
    /// The path of the file.
    pub path: String,
    /// The path in its shortest form, for people.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    pub shown: String,
    /// The length in bytes.
    pub bytes: u64,
    /// The beginning of the file.
    pub preview: String,
    /// Whether there is more.
    pub cut: bool,
}

/// Looks a file of the run up; `None` if there is none. Handed in, because this module touches no files.
pub type Files<'f> = dyn Fn(&SpoolName) -> Option<FileView> + 'f;

/// One task with all that is known about it: `quorum show`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.show/v1")]
pub struct TaskDocument<'a> {
    /// The id of the run.
    run_id: Option<&'a rules::domain::RunId>,
    /// The name of the mission.
    mission: &'a str,
    /// The task, as `quorum.run/v1` has it.
    pub(crate) task: TaskRow<'a>,
    /// The work that is asked for.
    description: Option<&'a str>,
    /// The files that it is to make.
    target_files: &'a [Box<str>],
    /// The checks of the task, in a few words each.
    checks: Vec<String>,
    /// The criteria that the reviewers judge by.
    criteria: Option<&'a str>,
    /// The reason of the wait, for a person.
    waits_for: Option<&'a str>,
    /// The person on whose word the work was accepted.
    accepted_by: Option<&'a str>,
    /// Whether the agent outlived the session that started it and is still at work.
    agent_at_work: bool,
    /// The attempts that were asked for, the oldest first.
    attempts: Vec<FullAttempt<'a>>,
    /// Why agents of the run worked without confinement, where they did.
    unconfined: Option<&'a str>,
    /// Sentences about the whole run that a person should know.
    warnings: &'a [String],
    /// Whether the page has all that is known, or what was decided, why, and what the agent said last.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    pub full: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FullAttempt<'a> {
    #[serde(flatten)]
    attempt: AttemptRow,
    /// The turns of its agent.
    turns: Vec<TurnRow<'a>>,
    /// The results of the checks.
    checks: Vec<CheckRow<'a>>,
    /// The results of tests that the attempt changed: old tests on the new work, and new tests without it.
    looks: Vec<LookRow<'a>>,
    /// The calls to reviewers.
    reviews: Vec<CallRow<'a>>,
    /// Calls to judges behind the reviewers: whoever cuts criteria into probes, grades by a rubric, judges as a stage,
    /// attacks, or looks at screenshots. What they said stands in `stages`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asks: Vec<CallRow<'a>>,
    /// The verdicts of the stages of judging.
    stages: Vec<StageRow<'a>>,
    /// The records that were handed to judges that graded the attempt by a rubric.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    handoffs: Vec<HandoffRow<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct HandoffRow<'a> {
    /// The agent that it was handed over to.
    to: &'a str,
    /// The digest of what was handed over.
    digest: String,
    /// The record that was handed over.
    record: Option<FileView>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TurnRow<'a> {
    /// The number of the turn within the attempt, from 1.
    n: u32,
    /// `open`, `lost` or `finished`.
    state: &'static str,
    /// The start of the turn.
    started_at: String,
    /// The process that did it.
    pid: Option<u32>,
    /// The exit code of that.
    exit_code: Option<i32>,
    /// The signal that ended it.
    signal: Option<i32>,
    /// With what it failed.
    failure: Option<FailureClass>,
    /// The failure in words.
    message: Option<&'a str>,
    /// Messages of the agent that were refused, and why.
    refused: &'a [String],
    /// The time that the turn took, in milliseconds.
    duration_ms: Option<u64>,
    /// The model that the provider says it used.
    model: Option<&'a str>,
    /// Tokens of requests; `null` where nobody told.
    input_tokens: Option<u64>,
    /// Tokens of replies; `null` where nobody told.
    output_tokens: Option<u64>,
    /// The prompt of the agent.
    prompt: Option<FileView>,
    /// The standard output of the agent.
    output: Option<FileView>,
    /// The standard error of the agent.
    stderr: Option<FileView>,
    /// The result file of the turn.
    result: Option<FileView>,
    /// The tool calls of the agent; `null` where quorum used no tools for it.
    tools: Option<ToolsRow>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckRow<'a> {
    /// The check, in a few words.
    check: String,
    /// Whether the check passed.
    passed: bool,
    /// Whether workers are told nothing of it.
    hidden: bool,
    /// The result of the check in words.
    message: &'a str,
    /// The time that the check took, in milliseconds.
    duration_ms: u64,
    /// The state that the mission declares for the check before the work: `red`, `green`, `any` or `newTests`.
    declared: Option<&'static str>,
    /// The state of the check before the work.
    before: Option<BeforeWork>,
    /// Why the check was red, or is unknown.
    before_reason: Option<&'a str>,
    /// The proof that the work was done: `baseline` or `new-tests`; `null` where the check is none.
    proven_by: Option<&'static str>,
    /// How often the check had failed just before, and ran again for that.
    reruns: u32,
    /// The output of the check.
    output: Option<FileView>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LookRow<'a> {
    /// The kind of tests that ran: `old-tests` or `new-tests`.
    kind: &'static str,
    /// The command, in a few words.
    command: String,
    /// The first of the tests that were put in the place of others.
    files: &'a [Box<str>],
    /// Whether the tests passed; `null` where that could not be told.
    passed: Option<bool>,
    /// The result in words, or why nothing could be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallRow<'a> {
    /// The stage of judging that the call belongs to.
    #[schemars(with = "Stage")]
    stage: &'static str,
    /// The name of a stage that the mission defines; left out for other stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// The purpose of the call; left out for the seat of a panel.
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<&'static str>,
    /// The agent that was asked.
    reviewer: &'a str,
    /// The model that the provider says it used.
    model: Option<&'a str>,
    /// The round, from 1.
    round: u32,
    /// The seat of the panel, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    seat: Option<u32>,
    /// The try, from 1.
    #[serde(rename = "try")]
    attempt_try: u32,
    /// Whether the agent was asked once more, for a reply of the right form.
    strict: bool,
    /// Why the reply before it did not do.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    why: Option<&'a str>,
    /// `asked`, `scored` (of any but a seat: `replied`), `unparsed` or `failed`.
    state: &'static str,
    /// The score in points; `null` where the agent gave none.
    points: Option<f64>,
    /// The reason for the score, in the agent's words.
    reasoning: Option<&'a str>,
    /// With what the call failed.
    failure: Option<FailureClass>,
    /// The dimensions as it scored them.
    dimensions: Vec<ScoreRow<'a>>,
    /// The findings of the agent.
    findings: &'a [Finding],
    /// The prompt of the call.
    request: Option<FileView>,
    /// The reply of the agent.
    reply: Option<FileView>,
    /// The tool calls of the agent; `null` where it was given no tools, or its provider took none.
    tools: Option<ToolsRow>,
}

/// The tool calls of one model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ToolsRow {
    /// How many tool calls there were.
    calls: u32,
    /// How many of the calls failed.
    failed: u32,
    /// How many requests were answered.
    requests: u32,
    /// Requests that got no answer.
    unanswered: u32,
    /// Whether a reply lacked its form and it was asked once more.
    asked_again: bool,
    /// One line a call.
    ledger: Option<FileView>,
}

impl ToolsRow {
    fn of(tools: &ToolLedgerRef, ledger: Option<FileView>) -> Self {
        Self {
            calls: tools.calls,
            failed: tools.failed,
            requests: tools.requests,
            unanswered: tools.unanswered,
            asked_again: tools.asked_again,
            ledger,
        }
    }
}

#[skip_serializing_none]
#[derive(Serialize, JsonSchema)]
struct StageRow<'a> {
    /// The stage of judging.
    #[schemars(with = "Stage")]
    stage: &'static str,
    /// The name of a stage that the mission defines; left out for other stages.
    name: Option<&'a str>,
    /// The reason for the verdict, in the judge's words.
    reason: Option<&'a str>,
    /// The verdict of the stage.
    verdict: Verdict,
    /// Why the verdict is what it is.
    #[serialize_always]
    cause: Option<Cause>,
    /// The score in points; `null` where the judge gave none.
    #[serialize_always]
    points: Option<f64>,
    /// The dimensions as it scored them.
    dimensions: Vec<ScoreRow<'a>>,
    /// The findings of the stage.
    findings: &'a [Finding],
    /// How sure a verification was.
    confidence: Option<f64>,
    /// The result of each criterion of a verification.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    criteria: Vec<CriterionRow<'a>>,
}

impl<'a> TaskDocument<'a> {
    /// Makes the document of a task with all attempts, or with one of them.
    pub fn of(
        Tasks { state, view }: Tasks<'a>,
        history: &'a TaskHistory,
        attempt: Option<u32>,
        files: &Files<'_>,
    ) -> Self {
        let plan = state.plan.task(history.task);
        let wanted = |row: &&AttemptHistory| attempt.is_none_or(|attempt| row.number == attempt);
        let rows = history.attempts.iter().filter(wanted);
        let task = TaskRow::of(state, view, history.task);
        let waits_for = task.waiting.as_ref().map(|waiting| waiting.message);
        Self {
            run_id: view.run_id.as_ref(),
            mission: &state.plan.name,
            task,
            description: plan.description.as_deref(),
            target_files: &plan.target_files,
            checks: plan.checks().iter().map(Check::label).collect(),
            criteria: plan.panel().and_then(|panel| panel.criteria.as_deref()),
            unconfined: state.unconfined.as_deref(),
            warnings: &view.warnings,
            full: false,
            accepted_by: view.accepted_by(state, history.task),
            agent_at_work: view.at_work.contains(&history.task),
            waits_for,
            attempts: rows.map(|row| attempt_row(state, view, history, row, files)).collect(),
        }
    }
}

fn check_rows<'a>(
    state: &'a State,
    task: TaskId,
    attempt: &'a AttemptHistory,
    files: &Files<'_>,
) -> Vec<CheckRow<'a>> {
    let declared = state.plan.task(task).checks();
    let items = state.weighed_items(task);
    let row = |(n, result): &'a (u32, CheckResult)| {
        let item = items.iter().find(|item| item.place == CheckPlace::Check(*n));
        let before = item.map(|item| state.before(task, item));
        let new_tests = if attempt.number == state.task(task).attempt.number {
            item.and_then(|item| state.task(task).new_tests_fail(&state.plan, task, item.key))
        } else {
            None
        };
        let weighed = before.map(|before| Weighed {
            before: before.result,
            never_ran: before.never_ran,
            new_tests_fail: new_tests,
            passes: result.passed,
            is_declared_guard: false,
            is_left_out: false,
        });
        let label = declared.get(*n as usize).map(Check::label);
        CheckRow {
            check: label.unwrap_or_else(|| format!("check {n}")),
            passed: result.passed,
            message: &result.message,
            duration_ms: result.duration.0,
            hidden: declared.get(*n as usize).is_some_and(Check::is_hidden),
            declared: item.and_then(|item| item.declared).map(BeforeRule::as_str),
            before: before.map(|before| before.result),
            before_reason: before.map(|before| before.reason).filter(|why| !why.is_empty()),
            proven_by: weighed.and_then(Weighed::proven_by),
            reruns: result.reruns,
            output: files(&SpoolName::Check(task, attempt.number, *n)),
        }
    };
    attempt.checks.iter().map(row).collect()
}

fn look_rows<'a>(state: &'a State, task: TaskId, attempt: &'a AttemptHistory) -> Vec<LookRow<'a>> {
    let items = items(state.plan.task(task));
    let of_look = |(look, looked): &'a (Look, Looked)| {
        let lost = looked.lost.as_deref().map(|why| (None, Some(why), None));
        let seen = looked.checks.iter().map(|seen| {
            let message = Some(seen.reason.as_str()).filter(|reason| !reason.is_empty());
            (Some(seen.key), message, seen.passed())
        });
        let rows: Vec<LookRow<'a>> = lost
            .into_iter()
            .chain(seen)
            .map(|(key, message, passed)| {
                let item = items.iter().find(|item| Some(item.key) == key);
                LookRow {
                    kind: look.as_str(),
                    command: item.map(|item| item.label.clone()).unwrap_or_default(),
                    files: &looked.files,
                    passed,
                    message,
                }
            })
            .collect();
        rows
    };
    attempt.looks.iter().flat_map(of_look).collect()
}

fn attempt_row<'a>(
    state: &'a State,
    view: &'a RunView,
    history: &'a TaskHistory,
    attempt: &'a AttemptHistory,
    files: &Files<'_>,
) -> FullAttempt<'a> {
    let seen = &view.task(history.task).attempts;
    let seen = seen.iter().find(|seen| seen.number == attempt.number);
    let calls = attempt.calls.iter();
    let rows = calls.map(|call| call_row(state, history, call, files));
    let (mut reviews, asks): (Vec<_>, Vec<_>) = rows.partition(|row| row.seat.is_some());
    for (seat, dimension) in attempt.stages.iter().flat_map(|report| &report.outliers) {
        let last = reviews.iter_mut().rfind(|review| review.seat == Some(*seat));
        if let Some(scored) = last.and_then(|review| review.dimensions.get_mut(*dimension as usize)) {
            scored.outlier = true;
        }
    }
    FullAttempt {
        attempt: seen.copied().unwrap_or_else(|| AttemptRow::open(attempt.number, attempt.kind)),
        turns: attempt.turns.iter().map(|turn| turn_row(turn, files)).collect(),
        checks: check_rows(state, history.task, attempt, files),
        looks: look_rows(state, history.task, attempt),
        reviews,
        asks,
        handoffs: attempt
            .handoffs
            .iter()
            .map(|(id, agent, file)| HandoffRow {
                to: state.plan.agent_name(*agent),
                digest: file.digest.to_string(),
                record: files(&SpoolName::Ask(*id, AskFile::Handoff)),
            })
            .collect(),
        stages: attempt
            .stages
            .iter()
            .map(|report| StageRow {
                stage: Stage::as_str(report.stage),
                name: report.name.as_deref(),
                reason: report.reason.as_deref(),
                verdict: report.verdict,
                cause: report.cause,
                points: report.points.map(Points::to_f64),
                dimensions: report.dimensions.iter().map(ScoreRow::plain).collect(),
                findings: &report.findings,
                confidence: report.confidence.map(share),
                criteria: criterion_rows(state, history.task, report),
            })
            .collect(),
    }
}

fn turn_row<'a>(turn: &'a TurnHistory, files: &Files<'_>) -> TurnRow<'a> {
    let (state, result) = match &turn.end {
        TurnStanding::Open => ("open", None),
        TurnStanding::Lost => ("lost", None),
        TurnStanding::Finished(result) => ("finished", Some(result)),
    };
    let exit = result.map(|result| &result.exit);
    // A clean exit is written as nothing at all, so its code is known to be 0.
    let code = exit.and_then(|exit| exit.code.or(exit.is_clean().then_some(0)));
    TurnRow {
        n: turn.id.turn,
        state,
        started_at: turn.started_at.to_rfc3339(),
        pid: turn.process.as_ref().map(|process| process.pid),
        exit_code: code,
        signal: exit.and_then(|exit| exit.signal),
        failure: exit.and_then(|exit| exit.failure),
        message: exit.and_then(|exit| exit.message.as_deref()),
        refused: &turn.refused,
        duration_ms: result.map(|result| result.duration.0),
        model: result.and_then(|result| result.model.as_deref()),
        input_tokens: result.and_then(|result| result.usage.input_tokens),
        output_tokens: result.and_then(|result| result.usage.output_tokens),
        prompt: files(&SpoolName::Prompt(turn.id)),
        output: files(&SpoolName::Out(turn.id)),
        stderr: files(&SpoolName::Err(turn.id)),
        result: files(&SpoolName::Result(turn.id)),
        tools: result
            .and_then(|result| result.tools.as_deref())
            .map(|tools| ToolsRow::of(tools, files(&SpoolName::TurnTools(turn.id)))),
    }
}

fn call_row<'a>(
    state: &'a State,
    history: &TaskHistory,
    call: &'a CallHistory,
    files: &Files<'_>,
) -> CallRow<'a> {
    let (id, purpose) = (call.id, call.purpose);
    let step = purpose.step();
    let seat = purpose.seat();
    let stage = purpose.stage().unwrap_or(Stage::Verification);
    let task_plan = state.plan.task(history.task);
    let own = step.filter(|step| step.stage() == Stage::Stages);
    let mut row = CallRow {
        stage: stage.as_str(),
        name: own.map(|step| task_plan.step_name(step)),
        reviewer: state.plan.agent_name(call.reviewer),
        strict: call.strict,
        why: call.why.as_deref(),
        state: "asked",
        purpose: seat.is_none().then(|| purpose.as_str()),
        round: purpose.round().unwrap_or(1),
        seat: seat.map(|place| place.seat),
        attempt_try: id.attempt_try,
        request: files(&SpoolName::Ask(id, AskFile::Request)),
        reply: files(&SpoolName::Ask(id, AskFile::Reply)),
        ..CallRow::default()
    };
    let ledger = || files(&SpoolName::Ask(id, AskFile::Tools));
    match &call.standing {
        CallStanding::Open => {}
        CallStanding::Failed(class, message, used) => {
            row.tools = used.as_deref().map(|used| ToolsRow::of(&used.tools, ledger()));
            row.state = "failed";
            row.failure = Some(*class);
            row.reasoning = Some(message);
        }
        CallStanding::Reply(reply, answer) => {
            row.state = "scored";
            row.tools = reply.tools.as_deref().map(|tools| ToolsRow::of(tools, ledger()));
            row.model = reply.model.as_deref();
            take_answer(&mut row, answer);
        }
    }
    row
}

fn take_answer<'a>(row: &mut CallRow<'a>, answer: &'a Answer) {
    match answer {
        Answer::Scores { scores: dimensions, findings, .. } => {
            row.dimensions = dimensions.iter().map(ScoreRow::plain).collect();
            row.findings = findings;
        }
        Answer::Evaluation { points, reasoning, findings, .. } => {
            row.points = Some(points.to_f64());
            row.reasoning = Some(reasoning.as_str()).filter(|text| !text.is_empty());
            row.findings = findings;
        }
        Answer::Unreadable { why, .. } => {
            row.state = "unparsed";
            row.reasoning = Some(why);
        }
        _ => row.state = "replied",
    }
}
