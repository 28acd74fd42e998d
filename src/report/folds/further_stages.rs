//! The further stages for readers: who they are, what they said.

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::agents::tools::{FOR_REVIEWERS, Tool};
use rules::{
    domain::{AgentId, Severity, StageKey, TaskId, Verdict},
    engine::{StageReport, State},
    judging::evidence_rules::is_file_task,
    plan::{Plan, TaskPlan},
};

use crate::report::screens::text::{count, mark};

/// How a stage is called: one of the mission's own by its name.
pub fn stage_name(report: &StageReport) -> &str {
    report.name.as_deref().unwrap_or(report.stage.as_str())
}

/// The report of a stage in a line: `licence: fail, no licence file`.
pub fn stage_words(report: &StageReport) -> String {
    let mut words = format!("{}: {}", stage_name(report), report.verdict.as_str());
    let first = report.findings.first().map(|finding| finding.description.as_str());
    let is_plain = matches!(report.verdict, Verdict::Skip | Verdict::Fault | Verdict::Refer);
    match (&report.reason, first) {
        (Some(reason), _) => words.push_str(&format!(", {reason}")),
        (None, Some(why)) if is_plain => words.push_str(&format!(", {why}")),
        _ => {}
    }
    let found = report.findings.iter();
    let found = found.filter(|finding| finding.severity > Severity::Info).count();
    if found > 0 && report.name.is_none() {
        words.push_str(&format!(", {}", count(found, "finding")));
    }
    words
}

/// The judge of a stage: the name of an agent, or the kind of judge.
pub fn judge_of<'a>(state: &'a State, task: TaskId, report: &'a StageReport) -> &'a str {
    if let Some(person) = &report.by {
        return person;
    }
    if let Some(judge) = report.judge {
        return state.plan.agent_name(judge);
    }
    let task_plan = state.plan.task(task);
    let is_meant = |step: &StageKey| {
        step.stage() == report.stage
            && report.name.as_deref().is_none_or(|name| name == task_plan.step_name(*step))
    };
    let step = task_plan.steps().find(is_meant);
    step.map_or("", |step| judge(state, task_plan, step))
}

fn judge<'a>(state: &'a State, task_plan: &'a TaskPlan, step: StageKey) -> &'a str {
    match (task_plan.step_agent(step), task_plan.vision()) {
        (Some(agent), _) => state.plan.agent_name(agent),
        (None, Some(vision)) if step == StageKey::VISION => vision.kind.as_str(),
        (None, _) => "command",
    }
}

/// The stage that looks at a task now.
pub fn at_work(state: &State, task: TaskId) -> Option<&str> {
    let judging = state.task(task).judging()?;
    let open = judging.stage.as_ref().filter(|stage| stage.open)?;
    Some(state.plan.task(task).step_name(open.key.step()?))
}

/// A stage as the plan shows it.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRow<'a> {
    /// The kind of stage.
    pub stage: &'static str,
    /// The name of the stage.
    pub name: &'a str,
    /// The agent that is asked; `null` for a command.
    #[serialize_always]
    pub agent: Option<&'a str>,
    /// The command that judges.
    pub command: Option<&'a str>,
    /// The kind of a vision check; left out for other stages.
    pub kind: Option<&'static str>,
    /// The tools that the stage's agent may look with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<&'static str>,
    /// Why the agent will not be asked, where that is known beforehand.
    pub note: Option<String>,
}

/// The tools that a judge of a task may look with, as far as that is known before the work is there: none where
/// the tools cannot be about files.
pub fn judge_tools(plan: &Plan, task: TaskId, judge: AgentId) -> Vec<&'static str> {
    let is_about_files = |task| is_file_task(plan, task, None, None);
    let is_any = match plan.route(task) {
        Some(_) => plan.judged(task).any(is_about_files),
        None => is_about_files(task),
    };
    let tools = (is_any && plan.agent(judge).spec.may_look()).then_some(FOR_REVIEWERS);
    tools.into_iter().flatten().map(Tool::as_str).collect()
}

/// The stages of a task in their order.
pub fn step_rows(state: &State, task: TaskId) -> Vec<StepRow<'_>> {
    let plan = &*state.plan;
    let task_plan = plan.task(task);
    let row = |step| {
        let agent = task_plan.step_agent(step);
        let command = task_plan.step_command(step);
        StepRow {
            stage: step.stage().as_str(),
            name: task_plan.step_name(step),
            agent: agent.map(|agent| plan.agent_name(agent)),
            command,
            kind: task_plan.vision().filter(|_| step == StageKey::VISION).map(|vision| vision.kind.as_str()),
            // Who looks at pictures is shown them, and looks at nothing else.
            tools: agent
                .filter(|_| step != StageKey::VISION)
                .map_or_else(Vec::new, |agent| judge_tools(plan, task, agent)),
            note: rules::engine::not_asked(state, task, step),
        }
    };
    task_plan.steps().map(row).collect()
}

/// The findings of stages that let the work pass, a line each: `redTeam [low] no tests`.
pub fn remarks<'a>(reports: impl Iterator<Item = &'a StageReport>) -> Vec<String> {
    let all = reports.filter(|report| report.verdict != Verdict::Fail);
    all.flat_map(|report| {
        let line = move |finding: &rules::domain::Finding| {
            let mark = mark(finding.severity, finding.open);
            format!("{} {mark} {}", stage_name(report), finding.description)
        };
        report.findings.iter().map(line)
    })
    .collect()
}
