//! Live reviewers for `quorum calibrate`: asked about every row that has no reply of theirs yet. What they say is kept
//! as it comes, so nothing is asked twice, and what is kept is itself a file of labels.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::project::current_dir;
use crate::cli::review::defined_agents;
use crate::cli::run::load;
use crate::cli::screen::Screen;
use crate::cli::session::{fork_keeper, options_with_config};
use crate::domain::{AgentId, Digest};
use crate::judging::calibration::{Shown, shown};
use crate::mission::model::Adapter;
use crate::mission::{Plan, Source, compile};
use crate::runtime::{EnvironmentProblem, Jury, Piece, Said};
use crate::store::{read_regular, replace_file};

use super::{Calibrate, bad_row};

/// The author of rows. No agent of a mission can be called so.
const STRANGER: &str = "(the labelled work)";
/// How often somebody who watches no terminal hears how far it is.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// How asking one reviewer went.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// The rows with what was said about them.
pub struct Answered {
    /// One line each; those that nobody replied to are left out.
    pub lines: Vec<String>,
    /// How it went.
    pub asked: Vec<AskedRow>,
}

impl Answered {
    /// Whether replies that were asked for are missing.
    pub fn is_partial(&self) -> bool {
        self.asked.iter().any(|row| row.missing > 0)
    }

    /// What is missing, for people.
    pub fn notes(&self) -> String {
        let missing = self.asked.iter().filter(|row| row.missing > 0);
        let notes = missing.map(|row| {
            format!(
                "note: {} row(s) have no reply of '{}': {}; the same command asks again for these only\n",
                row.missing,
                row.judge,
                row.why.as_deref().unwrap_or("unknown")
            )
        });
        notes.collect()
    }
}

/// One row.
struct Row {
    value: Value,
    shown: Shown,
}

/// Asks the reviewers about all rows that they have not judged yet.
pub fn ask(arguments: &Calibrate, record: &Path, screen: &Screen) -> Result<Answered, Failure> {
    let keeper = fork_keeper()?;
    let (plan, folder) = plan(arguments, screen)?;
    let reviewers = reviewers(&plan, &arguments.reviewers)?;
    let mut rows = rows(&arguments.labels)?;
    let known = kept(record)?;
    let mut asked: Vec<AskedRow> = reviewers
        .iter()
        .map(|(_, name)| AskedRow {
            judge: name.clone(),
            ..AskedRow::default()
        })
        .collect();
    let mut questions = Vec::new();
    let mut places = Vec::new();
    for (at, row) in rows.iter_mut().enumerate() {
        if let Some(earlier) = known.get(&key(&row.value)) {
            take_over(&mut row.value, earlier);
        }
        let judged = judges(&row.value);
        for (juror, (_, name)) in reviewers.iter().enumerate() {
            if judged.contains(name) {
                asked[juror].kept += 1;
                continue;
            }
            places.push((at, juror));
            questions.push((juror, piece(&row.shown)));
        }
    }
    let ids: Vec<AgentId> = reviewers.iter().map(|(id, _)| *id).collect();
    let jury = Jury::of(&plan, &ids, &folder).map_err(|problems| {
        let list: Vec<String> = problems.iter().map(EnvironmentProblem::to_string).collect();
        Failure::environment(anyhow!(list.join("\n       ")))
            .help("nobody was asked; correct the agents, then try again")
    })?;
    let mut log = open_log(record)?;
    let all = questions.len();
    let progress = super::progress(all, "replies", screen);
    let mut heard = Heard {
        rows: &mut rows,
        asked: &mut asked,
        places: &places,
        names: reviewers.iter().map(|(_, name)| name.clone()).collect(),
        done: 0,
        last: Instant::now(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::internal(anyhow!("cannot start the event loop: {error}")))?;
    let told = runtime.block_on(async {
        let keeper = keeper.into_async()?;
        let at_once = arguments.jobs as usize;
        jury.ask(questions, at_once, keeper, |number, said| {
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
    });
    runtime.shutdown_background();
    progress.finish_and_clear();
    told.map_err(|error: io::Error| Failure::internal(anyhow!("cannot keep the replies: {error}")))?;
    let lines: Vec<String> = rows
        .iter()
        .filter(|row| !judges(&row.value).is_empty())
        .map(|row| row.value.to_string())
        .collect();
    // In the order of the labels, and each row once.
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    replace_file(record, text.as_bytes()).map_err(|error| unusable(record, &error))?;
    Ok(Answered { lines, asked })
}

/// Takes what comes.
struct Heard<'a> {
    rows: &'a mut [Row],
    asked: &'a mut [AskedRow],
    places: &'a [(usize, usize)],
    names: Vec<String>,
    done: usize,
    last: Instant,
}

impl Heard<'_> {
    /// The row with the reply, to be kept.
    fn take(&mut self, number: usize, said: Result<Said, String>) -> Option<String> {
        self.done += 1;
        let (at, juror) = *self.places.get(number)?;
        let asked = self.asked.get_mut(juror)?;
        let said = match said {
            Ok(said) => said,
            Err(why) => {
                asked.missing += 1;
                asked.why = Some(why);
                return None;
            }
        };
        asked.replied += 1;
        let row = self.rows.get_mut(at)?;
        let mut reply = json!({"judge": self.names.get(juror)?, "reply": said.reply});
        if said.cut_short {
            reply["cut_short"] = json!(true);
        }
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

fn piece(shown: &Shown) -> Piece {
    Piece {
        task: shown.task.clone(),
        criteria: shown.criteria.clone(),
        work: shown.work.clone(),
        dimensions: shown.dimensions.clone(),
    }
}

/// The agents that may be asked, and the folder that their programs are relative to.
fn plan(arguments: &Calibrate, screen: &Screen) -> Result<(Arc<Plan>, PathBuf), Failure> {
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
    for name in names
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
    {
        let agents = (0..).map(AgentId).zip(plan.agents.iter());
        let agent = agents
            .filter(|(_, agent)| &*agent.name != STRANGER)
            .find(|(_, agent)| &*agent.name == name);
        let Some((id, agent)) = agent else {
            let known = plan.agents.iter().map(|agent| &*agent.name);
            let known: Vec<&str> = known.filter(|name| *name != STRANGER).collect();
            return Err(Failure::usage(anyhow!("there is no agent '{name}'"))
                .help(format!("there are: {}", known.join(", "))));
        };
        if matches!(agent.spec.adapter, Adapter::Echo | Adapter::Human) {
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
fn rows(path: &Path) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    super::each_line(path, |number, line| {
        let shown = shown(line).map_err(|why| bad_row(path, number, &why))?;
        let value = serde_json::from_str(line).map_err(|error| bad_row(path, number, &error.to_string()))?;
        rows.push(Row { value, shown });
        Ok(())
    })?;
    Ok(rows)
}

/// What was kept earlier, by row. The last line may be torn.
fn kept(record: &Path) -> Result<BTreeMap<Digest, Value>, Failure> {
    let bytes = match read_regular(record) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(unusable(record, &error)),
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut known: BTreeMap<Digest, Value> = BTreeMap::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    for (at, line) in lines.iter().enumerate() {
        match serde_json::from_str::<Value>(line) {
            Ok(row) => drop(known.insert(key(&row), row)),
            Err(_) if at + 1 == lines.len() => {}
            Err(error) => {
                let number = at as u64 + 1;
                return Err(bad_row(record, number, &format!("it keeps no replies: {error}")));
            }
        }
    }
    Ok(known)
}

/// What a row is, whoever judged it.
fn key(row: &Value) -> Digest {
    let mut row = row.clone();
    if let Some(object) = row.as_object_mut() {
        object.shift_remove("raw_replies");
    }
    Digest::of(row.to_string().as_bytes())
}

fn judges(row: &Value) -> Vec<String> {
    let replies = row["raw_replies"].as_array().into_iter().flatten();
    replies
        .filter_map(|reply| Some(reply["judge"].as_str()?.to_owned()))
        .collect()
}

/// Takes replies that were kept for the same row.
fn take_over(row: &mut Value, earlier: &Value) {
    let known = judges(row);
    let kept = earlier["raw_replies"].as_array().into_iter().flatten();
    let new = kept.filter(|reply| {
        reply["judge"]
            .as_str()
            .is_some_and(|judge| !known.iter().any(|k| k == judge))
    });
    let new: Vec<Value> = new.cloned().collect();
    replies_mut(row).extend(new);
}

fn replies_mut(row: &mut Value) -> &mut Vec<Value> {
    if !row["raw_replies"].is_array() {
        row["raw_replies"] = json!([]);
    }
    row["raw_replies"].as_array_mut().expect("it was made a list")
}

fn open_log(record: &Path) -> Result<File, Failure> {
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(record)
        .map_err(|error| unusable(record, &error))?;
    // A torn line must not take the next one with it.
    let torn = read_regular(record).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    if torn {
        writeln!(log).map_err(|error| unusable(record, &error))?;
    }
    Ok(log)
}

fn unusable(record: &Path, error: &io::Error) -> Failure {
    Failure::environment(anyhow!("cannot use {}: {error}", record.display()))
}
