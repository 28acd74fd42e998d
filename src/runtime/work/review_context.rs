//! What reviewers are shown of a task's work: its output, its files and its checks, as they are on record.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::agents::secrets::Secrets;
use crate::executor::error::WorkError;
use crate::executor::spool::{check, read_head, read_output};
use crate::executor::task_command::TaskCommands;
use crate::review::evidence::{self, Preview};
use crate::review::fence::{TextExcerpt, collect_quotes};
use crate::review::judgement::{Content, InputCheck, InputFile, InputOutput, Inputs, Judgement};
use crate::review::prompt::{
    Artifact, CheckReport, JudgePrompt, MAX_FILES, MAX_OUTPUT, MAX_PREVIEW, Prior, ReviewedWork, WorkCourse,
};
use crate::store::{RunFolder, SpoolName};
use rules::domain::{TaskId, Timestamp};
use rules::engine::{
    CheckResult, FileFact, Known, TaskState, findings_of_tests, prior_points, signs_of_no_work,
};
use rules::judging::baseline_checks::{CheckPlace, items};
use rules::judging::evidence_rules::is_file_task;
use rules::judging::parser::Quoted;
use rules::mission::char_start;
use rules::mission::model::Check;
use rules::plan::{Origin, Plan, TaskPlan};

/// How much of a file is looked through for verdicts that are not the reviewer's, in bytes.
const LARGEST_QUOTED: u64 = 1024 * 1024;

/// A task whose work is judged, as it stands.
pub type Judged = (TaskId, TaskState);

/// A task whose work is to be judged, as it stood when that was decided on, and where its work is read from.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub commands: &'a TaskCommands,
    pub task: &'a TaskState,
}

/// The request to a judge that is a command, as data: `quorum.review-request/v1`, with the keys that its kind
/// of judging adds.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "quorum.review-request/v1")]
#[schemars(extend("required" = ["task", "prompt"]))]
pub struct ReviewRequest<'a> {
    /// The title of the task.
    task: &'a str,
    /// The work that is asked for.
    description: Option<&'a str>,
    /// The attempt that is judged, from 1.
    attempt: u32,
    /// The round of judging, from 1.
    round: u32,
    /// The criteria by which the work is accepted.
    acceptance: &'a [Box<str>],
    /// All that a model would be asked, word for word.
    prompt: String,
    /// Further keys of this kind of judging.
    #[serde(flatten)]
    more: Value,
}

impl Case<'_> {
    /// The prompt for a judge of the task's own work, and its record. Reads the work's output and files.
    /// Blocks.
    ///
    /// # Errors
    ///
    /// When the output is not what was recorded: work whose evidence is lost is not judged by the rest of it.
    pub fn ask(
        &self,
        ask: impl FnOnce(&ReviewedWork<'_>) -> Result<JudgePrompt, WorkError>,
    ) -> Result<(JudgePrompt, Judgement), WorkError> {
        let material = Material::gather(*self, &[(self.commands.task, self.task.clone())])?;
        let work = material.work(&self.commands.plan, self.commands.task);
        let asked = ask(&work)?;
        let prior = work.prior.points.len();
        let judgement = material.judgement(&asked.joined(), prior);
        Ok((asked, judgement))
    }

    /// The review request as JSON, for commands that would rather not read prose; `more` is what this kind of judging adds.
    pub fn as_json(&self, round: u32, asked: &JudgePrompt, more: Value) -> Vec<u8> {
        let task = self.commands.plan.task(self.commands.task);
        let request = ReviewRequest {
            task: &task.title,
            description: task.description.as_deref(),
            attempt: self.task.attempt.number,
            round,
            acceptance: &task.acceptance,
            prompt: asked.joined(),
            more,
        };
        json!(request).to_string().into_bytes()
    }
}

/// Whether who judges a task judges files, by what is known of its work.
pub fn is_about_files(plan: &Plan, task: TaskId, task_state: &TaskState) -> bool {
    let evidence = &task_state.course.evidence;
    let calls = task_state.attempt.calls.known().map(|calls| calls.calls);
    let changed = match evidence.changed {
        Known::No => Some(false),
        Known::Yes => Some(true),
        Known::Unknown => None,
    };
    is_file_task(plan, task, calls, changed)
}

/// The material of one review.
pub struct Material {
    pub output: TextExcerpt,
    course: Option<WorkCourse>,
    /// Signs that nothing was done, a sentence each.
    nothing_done: Vec<String>,
    artifacts: Vec<Artifact>,
    /// The files in question, as they were seen.
    pub facts: Vec<FileFact>,
    checks: Vec<CheckReport>,
    /// The results of tests that the work changed or brought.
    tests: Vec<String>,
    /// The digests of the material.
    inputs: Inputs,
    /// The subject of a verification, in the words of the mission; `None` for other tasks.
    about: Option<String>,
    handed_down: bool,
    /// The review that sent the work back.
    prior: Prior,
    /// The words of the work that are none of a reviewer's.
    said: Quoted,
}

/// The files of the work: what is known of each, and those of which something is shown.
fn shown_files(
    plan: &Plan,
    task: TaskId,
    task_state: &TaskState,
    judged: &[Judged],
) -> (Vec<FileFact>, Vec<(Artifact, InputFile)>) {
    let (mut facts, mut shown) = if plan.route(task).is_some() {
        target_files(plan, task, judged)
    } else {
        let judging = task_state.judging();
        let files = judging.map_or(&[][..], |judging| &judging.files);
        (files.to_vec(), artifacts(&plan.workspace_of(task), files))
    };
    // Whoever looks at pictures is shown pictures; as text they say nothing.
    let is_picture = |path: &str| plan.task(task).screenshots().any(|shot| shot == path);
    shown.retain(|(artifact, _)| !is_picture(&artifact.path));
    facts.retain(|fact| !is_picture(&fact.path));
    (facts, shown)
}

impl Material {
    /// Reads the work's output and files, without secrets. Blocks.
    ///
    /// # Errors
    /// When the output is not what was recorded: work whose evidence is lost is not judged by the rest of it.
    pub fn gather(case: Case<'_>, judged: &[Judged]) -> Result<Self, WorkError> {
        let TaskCommands { folder, secrets, plan, task, .. } = case.commands;
        let (task, task_state) = (*task, case.task);
        let is_node = plan.route(task).is_some();
        let mut output = outputs(folder, plan, judged)?;
        secrets.redact_in(&mut output.head);
        secrets.redact_in(&mut output.tail);
        let (facts, shown) = shown_files(plan, task, task_state, judged);
        let (mut artifacts, files): (Vec<Artifact>, Vec<InputFile>) = shown.into_iter().unzip();
        let checks = check_reports(plan.task(task), task_state, secrets);
        let [nothing_done, tests] = remarks(plan, task, task_state, secrets);
        let course = match judged {
            [one] if !is_node => course((folder, secrets), plan, one)?,
            _ => None,
        };
        let input_check =
            |check: &CheckReport| InputCheck { passed: check.passed, output: Content::of(&check.output) };
        let inputs = Inputs {
            outputs: judged.iter().map(|judged| input_output(plan, judged)).collect(),
            files,
            checks: checks.iter().map(input_check).collect(),
            prior_findings: 0,
        };
        let mut said = Quoted::scored_on(scored(plan, task));
        let texts = checks.iter().map(|check| &check.output).chain(&tests);
        for text in texts.chain([&output.head, &output.tail]).chain(&nothing_done) {
            collect_quotes(&mut said, text);
        }
        for artifact in &mut artifacts {
            collect_quotes(&mut said, &artifact.path);
            if let Preview::Text(text) = &mut artifact.preview {
                secrets.redact_in(text);
                collect_quotes(&mut said, text);
                // The prompt shows less, and what it does not need must not be held.
                text.truncate(char_start(text, 4 * MAX_PREVIEW));
            }
        }
        let course = course.map(|(course, texts)| {
            texts.iter().for_each(|text| collect_quotes(&mut said, text));
            course
        });
        for handed_down in judged.iter().filter(|(id, _)| is_handed_down(plan, *id)) {
            quote_task(&mut said, plan, handed_down.0);
        }
        Ok(Self {
            output,
            course,
            nothing_done,
            artifacts,
            facts,
            checks,
            tests,
            inputs,
            about: is_node.then(|| about(plan, task, judged)),
            handed_down: judged.iter().any(|(id, _)| is_handed_down(plan, *id)),
            prior: prior(plan, task, task_state),
            said,
        })
    }

    /// The record of asking this about the work.
    pub fn judgement(self, prompt: &str, prior_findings: usize) -> Judgement {
        let inputs = Inputs { prior_findings, ..self.inputs };
        Judgement::asked(prompt, inputs, self.said, Timestamp::now())
    }

    /// The work as a prompt shows it.
    pub fn work<'a>(&'a self, plan: &'a Plan, task: TaskId) -> ReviewedWork<'a> {
        let task_plan = plan.task(task);
        let panel = task_plan.panel();
        ReviewedWork {
            title: &task_plan.title,
            description: self.about.as_deref().or(task_plan.description.as_deref()),
            handed_down: self.handed_down,
            criteria: panel.and_then(|panel| panel.criteria.as_deref()),
            acceptance: &task_plan.acceptance,
            output: &self.output,
            course: self.course.as_ref(),
            nothing_done: &self.nothing_done,
            artifacts: &self.artifacts,
            checks: &self.checks,
            tests: &self.tests,
            prior: &self.prior,
            now: Timestamp::now(),
        }
    }
}

/// The results of checks of the work, without secrets.
fn check_reports(plan: &TaskPlan, task_state: &TaskState, secrets: &Secrets) -> Vec<CheckReport> {
    let items = items(plan);
    let before = |at: u32| {
        let item = items.iter().find(|item| item.place == CheckPlace::Check(at))?;
        Some(task_state.baseline_result(item)?.before)
    };
    let judging = task_state.judging().into_iter();
    let results = judging.flat_map(|judging| (0..).zip(&judging.checks));
    let report = |(at, result): (u32, &Option<CheckResult>)| {
        let result = result.as_ref()?;
        let is_hidden = plan.checks().get(at as usize).is_some_and(Check::is_hidden);
        let (name, output) = if is_hidden {
            ("hidden check".to_owned(), String::new())
        } else {
            (format!("check {}", at + 1), secrets.redact(&result.message))
        };
        Some(CheckReport { name, passed: result.passed, before: before(at).filter(|_| !is_hidden), output })
    };
    results.filter_map(report).collect()
}

/// Why nothing may have been done, and what was seen of tests, as its judges are told.
fn remarks(plan: &Plan, id: TaskId, task: &TaskState, secrets: &Secrets) -> [Vec<String>; 2] {
    let tests = findings_of_tests(plan, id, task).into_iter();
    let tests = tests.map(|finding| finding.description).collect();
    let told = [signs_of_no_work(plan, id, task), tests];
    told.map(|texts| texts.iter().map(|text| secrets.redact(text)).collect())
}

/// Whether an agent wrote what a task is about.
fn is_handed_down(plan: &Plan, task: TaskId) -> bool {
    let from = plan.task(task).provenance.as_deref();
    from.is_some_and(|from| from.origin == Origin::Delegated)
}

/// Adds the words of a task to those that are none of a reviewer's.
fn quote_task(said: &mut Quoted, plan: &Plan, task: TaskId) {
    let task = plan.task(task);
    collect_quotes(said, &task.title);
    collect_quotes(said, task.description.as_deref().unwrap_or_default());
    task.acceptance.iter().for_each(|criterion| collect_quotes(said, criterion));
}

/// The review that sent the work back, where the next judge must answer for it.
fn prior(plan: &Plan, task: TaskId, task_state: &TaskState) -> Prior {
    let points = prior_points(plan, task, task_state);
    match task_state.feedback.last().filter(|_| !points.is_empty()) {
        Some(last) => Prior { points, dimensions: last.dimensions.clone(), score: last.points },
        None => Prior::default(),
    }
}

/// Steps of the worker that are shown.
const MOST_STEPS: usize = 60;
/// Characters of the arguments of one.
const LONGEST_ARGUMENTS: usize = 120;
/// Bytes of a record of steps that are read.
const LARGEST_RECORD: u64 = 1024 * 1024;

/// The dimensions that a task's work is scored on.
fn scored(plan: &Plan, task: TaskId) -> impl Iterator<Item = &str> {
    let dimensions = plan.task(task).panel().map_or(&[][..], |panel| &panel.dimensions);
    dimensions.iter().map(|dimension| dimension.name.as_str())
}

/// How work went that names no files, where anything is known of that: it is all in the answer, or what the agent did is on
/// record. Blocks.
///
/// # Errors
/// When the record of what it did is not what it was.
fn course(
    (folder, secrets): (&RunFolder, &Secrets),
    plan: &Plan,
    (task, task_state): &Judged,
) -> Result<Option<(WorkCourse, Vec<String>)>, WorkError> {
    let is_on_record = task_state.output.tools.is_some();
    if plan.task(*task).names_files() || (!is_on_record && is_about_files(plan, *task, task_state)) {
        return Ok(None);
    }
    let turn = task_state.turn(*task);
    let mut facts = vec![format!(
        // Not how long it took: that says little of the work, and no prompt would ever be the same again.
        "Attempt {} ({}) ended by itself.",
        task_state.attempt.number,
        task_state.attempt.kind.as_str(),
    )];
    for feedback in &task_state.feedback {
        let points =
            feedback.points.map_or_else(String::new, |points| format!(" with {points} of 100 points"));
        facts.push(format!(
            "Attempt {} was sent back by the stage '{}'{points}.",
            feedback.attempt,
            feedback.stage.as_str()
        ));
    }
    match task_state.attempt.calls.known() {
        Some(calls) => facts.push(format!("It made {} tool calls in this attempt.", calls.calls)),
        None => facts.push("Whether it used tools is not known.".to_owned()),
    }
    let mut said = Vec::new();
    let steps = match &task_state.output.tools {
        Some(record) => {
            let path = folder.spool_file(&SpoolName::TurnTools(turn));
            let lost = || WorkError::lost("the record of its tool calls is lost");
            check(&path, record).map_err(lost())?;
            let is_cut = record.length > LARGEST_RECORD;
            let mut record = read_head(&path, LARGEST_RECORD).map_err(lost())?;
            secrets.redact_in(&mut record);
            steps(&record, is_cut, &mut said)
        }
        None => String::new(),
    };
    said.push(steps.clone());
    Ok(Some((WorkCourse { facts, steps }, said)))
}

/// The steps of a record, a line each; what is missing is told. The texts among their arguments are `said` by the worker, who
/// chose them.
fn steps(record: &str, is_cut: bool, said: &mut Vec<String>) -> String {
    // The last line of a part may be one half of it.
    let whole = record.rfind('\n').filter(|_| is_cut).map_or(record, |end| &record[..end]);
    let mut unreadable = 0_usize;
    let lines = whole.lines().filter_map(|line| {
        let step = serde_json::from_str::<serde_json::Value>(line).ok();
        unreadable += usize::from(step.is_none());
        step
    });
    let mut step = |step: serde_json::Value| {
        texts_in(&step["arguments"], said);
        let arguments: String = step["arguments"].to_string().chars().take(LONGEST_ARGUMENTS).collect();
        let tool = step["tool"].as_str().unwrap_or_default();
        let told = [
            step["why"].as_str().map(|why| format!("refused: {why}")),
            step["exit"].as_i64().map(|code| format!("exit {code}")),
            step["bytes"].as_u64().map(|bytes| format!("{bytes} bytes")),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        let end = if told.is_empty() { "" } else { ": " };
        format!("{tool} {arguments}{end}{}\n", told.join(", "))
    };
    let mut lines: Vec<String> = lines.map(&mut step).collect();
    let more = lines.len().saturating_sub(MOST_STEPS);
    lines.truncate(MOST_STEPS);
    if more > 0 {
        lines.push(format!("[{more} more]\n"));
    }
    if unreadable > 0 {
        lines.push(format!("[{unreadable} that cannot be read]\n"));
    }
    if is_cut {
        lines.push("[the record goes on: what came later is not shown]\n".to_owned());
    }
    lines.concat()
}

/// Texts as they are, without the quotes and escapes that stand around them in JSON.
fn texts_in(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => found.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| texts_in(item, found)),
        serde_json::Value::Object(entries) => entries.values().for_each(|inner| texts_in(inner, found)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

/// The outputs of the judged tasks. Each of several has its part of what a prompt can hold.
pub fn outputs(folder: &RunFolder, plan: &Plan, judged: &[Judged]) -> Result<TextExcerpt, WorkError> {
    let read = |(task, state): &Judged, most: usize| {
        read_output(folder, state.turn(*task), &state.output, most)
            .map_err(WorkError::lost("the work's output is lost"))
    };
    if let [one] = judged {
        return read(one, 4 * MAX_OUTPUT);
    }
    let mut all = String::new();
    for one in judged {
        let said = read(one, MAX_OUTPUT / 2 / judged.len().max(1))?;
        append!(all, "## {}\n\n{}", plan.title(one.0), said.head);
        if said.missing > 0 {
            append!(all, "\n[… {} characters cut here …]\n{}", said.missing, said.tail);
        }
        all.push_str("\n\n");
    }
    Ok(TextExcerpt::whole(all))
}

/// The files that the judged tasks had to produce, each in the workspace of its task.
fn target_files(plan: &Plan, by: TaskId, judged: &[Judged]) -> (Vec<FileFact>, Vec<(Artifact, InputFile)>) {
    let (mut all, mut shown) = (Vec::new(), Vec::new());
    for (task, _) in judged {
        let workspace = plan.workspace_seen_by(by, *task);
        let targets = plan.task(*task).target_files.iter().map(AsRef::as_ref);
        let facts = evidence::scan(&workspace, targets);
        shown.extend(artifacts(&workspace, &facts));
        all.extend(facts);
    }
    (all, shown)
}

/// Files as a prompt shows them, and as they go on record.
fn artifacts(workspace: &Path, files: &[FileFact]) -> Vec<(Artifact, InputFile)> {
    (0..)
        .zip(files)
        .map(|(index, file)| {
            // What is not quoted is still told by its name: a file that is missing must never be out of sight.
            let preview = if index < MAX_FILES {
                evidence::preview(workspace, file, LARGEST_QUOTED)
            } else {
                unquoted(file)
            };
            let input = InputFile {
                path: file.path.clone(),
                bytes: file.size,
                digest: file.digest,
                shown: matches!(preview, Preview::Text(_)),
            };
            let artifact = Artifact { path: file.path.clone(), size: file.size, preview };
            (artifact, input)
        })
        .collect()
}

/// A file of which only the name and the state are shown.
fn unquoted(file: &FileFact) -> Preview {
    match &file.obstacle {
        Some(why) => Preview::Obstacle(why.clone()),
        None => Preview::Nothing,
    }
}

fn input_output(plan: &Plan, (task, state): &Judged) -> InputOutput {
    InputOutput {
        task: plan.title(*task).to_owned(),
        output: state.output.stdout.as_ref().map(Content::from),
        result: state.output.result.as_ref().map(Content::from),
    }
}

/// The subject of a verification: its own words, and the work that the judged tasks were asked for.
fn about(plan: &Plan, task: TaskId, judged: &[Judged]) -> String {
    let own = plan.task(task).description.as_deref().unwrap_or_default();
    let mut about = format!("{}\n\nJudge the work of these tasks:\n", own.trim());
    for (id, _) in judged {
        let judged = plan.task(*id);
        let asked = judged.description.as_deref().unwrap_or_default();
        append_line!(about, "\n- {}\n{}", judged.title, asked.trim());
        for criterion in &judged.acceptance {
            append_line!(about, "  - accepted by: {}", criterion.trim());
        }
    }
    about
}

#[cfg(test)]
mod tests {
    #[test]
    fn steps_that_are_not_shown_are_announced() {
        let steps = |record: &str, is_cut| super::steps(record, is_cut, &mut Vec::new());
        let step = |n: usize| format!("{{\"tool\":\"read\",\"arguments\":{{\"n\":{n}}},\"bytes\":1}}\n");
        let whole: String = (0..3).map(step).collect();
        assert_eq!(steps(&whole, false).lines().count(), 3);
        let broken = format!("{}{{\"tool\n{}", step(1), step(2));
        let said = steps(&broken, false);
        assert_eq!(said.lines().count(), 3, "{said}");
        assert!(said.ends_with("[1 that cannot be read]\n"), "{said}");
        // A part of a record ends in the middle of a line.
        let part = &whole[..whole.len() - 5];
        let said = steps(part, true);
        assert_eq!(said.lines().count(), 3, "{said}");
        assert!(said.ends_with("[the record goes on: what came later is not shown]\n"), "{said}");
        let none = steps(&"x".repeat(100), true);
        assert!(none.contains("the record goes on"), "{none}");
    }
}
