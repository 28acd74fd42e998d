//! Live reviewers for `quorum calibrate`: asked about every row that has no reply of theirs yet. What they say is kept
//! as it comes, so nothing is asked twice, and what is kept is itself a file of labels.
//!
//! All that can be wrong with rows, kept replies and panels is found before anybody is asked: what was paid for must not
//! be lost to a slip of the pen.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde::Serialize;
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use crate::{
    cli::{
        command_error::Failure, defined_agents::defined_agents, event_loop::block_on, load::load,
        options::options_with_config, project::current_dir, screen::Screen, session::fork_supervisor,
    },
    executor::error::WorkError,
    runtime::{AskedAs, EnvironmentProblem, Judges, ReviewerReply},
};
use rules::{
    domain::AgentId,
    judging::calibration::{Collector, ReviewerView, shown},
    mission::{Source, model::Adapter},
    plan::{Plan, compile},
};

use super::recorded_replies::{RecordedReplies, judges, replies_mut, reply_of, take_over, unusable};
use super::{Calibrate, bad_row, panels_of};

/// The author of rows. No agent of a mission can be called so.
const STRANGER: &str = "(the labelled work)";
/// How often somebody who watches no terminal hears how far it is.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// How asking one reviewer went.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AskedRow {
    judge: String,
    /// Replies that were kept from an earlier time.
    kept: usize,
    /// Replies that came now.
    replied: usize,
    /// Rows without a reply: they are missing, and count as nothing.
    missing: usize,
    /// Why the last of them is missing.
    why: Option<String>,
    /// Warnings of a run: the parts of requests that its model refuses, and that it was asked without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The rows with what was said about them.
pub struct LiveResult {
    /// One line each; those that nobody replied to are left out.
    pub lines: Vec<String>,
    /// The result of asking live judges.
    pub asked: Vec<AskedRow>,
}

impl LiveResult {
    /// Whether replies that were asked for are missing.
    pub fn is_partial(&self) -> bool {
        self.asked.iter().any(|row| row.missing > 0)
    }

    /// The missing replies and the warnings about those who were asked, for people.
    pub fn notes(&self) -> String {
        let warnings = self.asked.iter().flat_map(|row| &row.warnings);
        let warnings = warnings.map(|warning| format!("warning: {warning}\n"));
        let missing = self.asked.iter().filter(|row| row.missing > 0);
        let notes = missing.map(|row| {
            format!(
                "note: {} row(s) have no reply of '{}': {}; the same command asks again for these only\n",
                row.missing,
                row.judge,
                row.why.as_deref().unwrap_or("asking broke off")
            )
        });
        warnings.chain(notes).collect()
    }
}

/// A row that live judges are asked about.
struct LiveRow {
    /// The line of the row in the file of labels.
    number: u64,
    value: Value,
    piece: ReviewerView,
}

fn not_to_be_had(problems: &[EnvironmentProblem]) -> Failure {
    let list: Vec<String> = problems.iter().map(EnvironmentProblem::to_string).collect();
    environment!(list.join("\n       ")).help("nobody was asked; correct the agents, then try again")
}

/// The questions that nobody has answered yet, each with the judge and the place of its reply.
fn open_questions(
    jury: &Judges,
    rows: &[LiveRow],
    asked: &mut [AskedRow],
) -> (Vec<(usize, ReviewerView)>, Vec<QuestionKey>) {
    let mut questions = Vec::new();
    let mut places = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for (juror, asked) in asked.iter_mut().enumerate() {
            if reply_of(&row.value, &asked.judge).is_some() {
                asked.kept += 1;
                continue;
            }
            places.push(QuestionKey { row: at, juror, asked_as: jury.asked_as(juror, &row.piece) });
            questions.push((juror, row.piece.clone()));
        }
    }
    (questions, places)
}

/// Asks the reviewers about all rows that they have not judged yet.
pub fn ask(arguments: &Calibrate, record: &Path, screen: &Screen) -> Result<LiveResult, Failure> {
    refuse_labels(&arguments.labels, record)?;
    let supervisor = fork_supervisor()?;
    let (plan, folder) = plan(arguments, screen)?;
    let reviewers = reviewers(&plan, &arguments.reviewers)?;
    let mut rows = rows(&arguments.labels)?;
    let mut known = RecordedReplies::read(record)?;
    for row in &mut rows {
        if let Some(earlier) = known.of(&row.value) {
            take_over(&mut row.value, earlier);
        }
    }
    let names: Vec<String> = reviewers.iter().map(|(_, name)| name.clone()).collect();
    refuse_what_will_fail(arguments, &rows, &names)?;
    let ids: Vec<AgentId> = reviewers.iter().map(|(id, _)| *id).collect();
    let jury = Judges::of(&plan, &ids, &folder).map_err(|problems| not_to_be_had(&problems))?;
    refuse_other_judges(&jury, &rows, &names, record)?;
    let mut asked: Vec<AskedRow> =
        names.iter().map(|name| AskedRow { judge: name.clone(), ..AskedRow::default() }).collect();
    let (questions, places) = open_questions(&jury, &rows, &mut asked);
    let mut log = known.open_log(record)?;
    let all = questions.len();
    let progress = super::progress(all, "replies", screen);
    let mut heard =
        LiveReplies { rows: &mut rows, asked: &mut asked, places: &places, done: 0, last: Instant::now() };
    let told = block_on(async {
        let supervisor = supervisor.into_async()?;
        let at_once = arguments.jobs as usize;
        jury.ask(questions, at_once, supervisor, |number, said| {
            let line = heard.take(number, said);
            progress.inc(1);
            if heard.is_time(all) && progress.is_hidden() && !screen.output().quiet {
                screen.error(&format!("asked {} of {all}\n", heard.done));
            }
            match line {
                Some(line) => writeln!(log, "{line}").and_then(|()| log.sync_data()),
                None => Ok(()),
            }
        })
        .await
    })
    .map_err(Failure::internal)?;
    progress.finish_and_clear();
    let warnings = told.map_err(|error: io::Error| internal!("cannot keep the replies: {error}"))?;
    for (row, warnings) in asked.iter_mut().zip(warnings) {
        row.warnings = warnings;
        // Whatever became of a question: what is neither kept nor replied is missing.
        row.missing = rows.len().saturating_sub(row.kept + row.replied);
    }
    let rows = rows.into_iter().map(|row| row.value);
    let rows: Vec<Value> = rows.filter(|row| !judges(row).is_empty()).collect();
    known.replace(record, &rows).map_err(|error| unusable(record, &error))?;
    let lines = rows.iter().map(Value::to_string).collect();
    Ok(LiveResult { lines, asked })
}

/// Labels are read, and what is kept is written: one file cannot be both.
fn refuse_labels(labels: &Path, record: &Path) -> Result<(), Failure> {
    let place = |path: &Path| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    match (place(labels), place(record)) {
        (Some(labels), Some(kept)) if labels == kept => {
            Err(usage!("--record {} is the file of labels itself", record.display())
                .help("name another file for the replies; it can be calibrated like this one"))
        }
        _ => Ok(()),
    }
}

/// Everything that would go wrong once all have replied.
fn refuse_what_will_fail(
    arguments: &Calibrate,
    rows: &[LiveRow],
    reviewers: &[String],
) -> Result<(), Failure> {
    let mut collector = Collector::default();
    for row in rows {
        let mut value = row.value.clone();
        for name in reviewers {
            if reply_of(&value, name).is_none() {
                replies_mut(&mut value).push(json!({"judge": name, "reply": ""}));
            }
        }
        let pushed = collector.push(&value.to_string());
        pushed.map_err(|why| bad_row(&arguments.labels, row.number, &why))?;
    }
    panels_of(&collector.finish(), &arguments.panel).map(drop)
}

/// An agent that was changed is another judge. Its old replies are not its own, and they are not thrown away either.
fn refuse_other_judges(
    jury: &Judges,
    rows: &[LiveRow],
    reviewers: &[String],
    record: &Path,
) -> Result<(), Failure> {
    for (juror, name) in reviewers.iter().enumerate() {
        let is_other = |row: &&LiveRow| {
            let reply = reply_of(&row.value, name);
            // Where it is not known as what it was asked, there is nothing to hold against it.
            let was = reply.and_then(|reply| serde_json::from_value::<AskedAs>(reply["asked"].clone()).ok());
            was.is_some_and(|was| jury.asked_as(juror, &row.piece).is_some_and(|is| is.digest != was.digest))
        };
        let others = rows.iter().filter(is_other).count();
        if others > 0 {
            return Err(usage!(
                "{} holds replies of '{name}' to {others} row(s) that it was asked otherwise: the agent or its prompt was \
                 changed since",
                record.display()
            )
            .help("nobody was asked; keep the new replies in another file, or give the changed agent another name"));
        }
    }
    Ok(())
}

/// The question that a reply belongs to.
struct QuestionKey {
    row: usize,
    juror: usize,
    asked_as: Option<AskedAs>,
}

/// Collects the replies as they come.
struct LiveReplies<'a> {
    rows: &'a mut [LiveRow],
    asked: &'a mut [AskedRow],
    places: &'a [QuestionKey],
    done: usize,
    last: Instant,
}

impl LiveReplies<'_> {
    /// The row with the reply, to be kept.
    fn take(&mut self, number: usize, said: Result<ReviewerReply, WorkError>) -> Option<String> {
        self.done += 1;
        let place = self.places.get(number)?;
        let asked = self.asked.get_mut(place.juror)?;
        let said = match said {
            Ok(said) => said,
            Err(why) => {
                asked.why = Some(why.into());
                return None;
            }
        };
        asked.replied += 1;
        let row = self.rows.get_mut(place.row)?;
        let mut reply = json!({"judge": asked.judge, "reply": said.reply, "asked": place.asked_as});
        for (key, text) in [("earlier", said.earlier), ("model", said.model)] {
            if let Some(text) = text {
                reply[key] = json!(text);
            }
        }
        replies_mut(&mut row.value).push(reply);
        Some(row.value.to_string())
    }

    fn is_time(&mut self, all: usize) -> bool {
        let due = self.last.elapsed() >= HEARTBEAT && self.done < all;
        if due {
            self.last = Instant::now();
        }
        due
    }
}

/// The agents that may be asked, and the folder that their programs are relative to.
pub fn plan(arguments: &Calibrate, screen: &Screen) -> Result<(Arc<Plan>, PathBuf), Failure> {
    let mut options = options_with_config()?;
    let here = current_dir()?;
    let (mut agents, folder) = defined_agents(arguments.mission.as_deref(), &options, &here)?;
    agents[STRANGER] = json!({"adapter": "echo"});
    let mission = json!({
        "name": "Calibration",
        "workspace": here.to_string_lossy(),
        "agents": agents,
        "tasks": [{"title": "Calibration", "assignTo": STRANGER, "review": "none"}],
    });
    options.mission_folder.clone_from(&folder);
    let source = Source::new("the calibration", mission.to_string().into_bytes());
    let loaded = load(&source, &options, screen)?;
    Ok((Arc::new(compile(loaded.mission, &options)), folder))
}

/// The agents that are named.
fn reviewers(plan: &Plan, names: &[String]) -> Result<Vec<(AgentId, String)>, Failure> {
    let mut found: Vec<(AgentId, String)> = Vec::new();
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let agents = (0..).map(AgentId).zip(plan.agents.iter());
        let agent =
            agents.filter(|(_, agent)| &*agent.name != STRANGER).find(|(_, agent)| &*agent.name == name);
        let Some((id, agent)) = agent else {
            let known = plan.agents.iter().map(|agent| &*agent.name);
            let known: Vec<&str> = known.filter(|name| *name != STRANGER).collect();
            return Err(usage!("there is no agent '{name}'").help(format!("there are: {}", known.join(", "))));
        };
        if matches!(*agent.spec.adapter, Adapter::Echo | Adapter::Human) {
            let why = anyhow!("agent '{name}' cannot be calibrated: it is no program and no model");
            return Err(Failure::usage(why));
        }
        if found.iter().all(|(known, _)| *known != id) {
            found.push((id, name.to_owned()));
        }
    }
    Ok(found)
}

/// The labelled rows, each checked before anybody is asked.
fn rows(path: &Path) -> Result<Vec<LiveRow>, Failure> {
    let mut rows = Vec::new();
    super::each_line(path, |number, line| {
        let shown = shown(line).map_err(|why| bad_row(path, number, &why))?;
        let value = serde_json::from_str(line).map_err(|error| bad_row(path, number, &error))?;
        rows.push(LiveRow { number, value, piece: shown });
        Ok(())
    })?;
    Ok(rows)
}
