//! `quorum calibrate`: judges, recorded or live, held against people.
//!
//! | file | what |
//! |---|---|
//! | `recorded_replies` | replies of live reviewers that are kept in a file of labelled rows |
//! | `save` | fits that are stored beside a mission, and judges who are held against what they did then |
//! | `live` | live reviewers, asked about every row that has no reply of theirs yet |

mod live;
mod recorded_replies;
mod save;

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;

use crate::{
    cli::{command_error::Failure, report_place::ReportPlace, screen::Screen},
    report::{documents::calibration::CalibrationDocument, formats::html::calibration_page},
};
use rules::{
    domain::{Points, without_mark},
    judging::calibration::{Collector, EvaluationSettings, LabelSet, evaluate, steps},
};

/// The longest row that is read.
const LONGEST_ROW: u64 = 1 << 20;

#[derive(Debug, Args)]
#[command(
    about = "Compare judge scores with human labels",
    after_help = ROWS
)]
pub struct Calibrate {
    /// The labelled rows, one JSON object a line; `-` is standard input
    #[arg(value_name = "LABELS")]
    pub labels: PathBuf,
    /// Ask these agents about every row that they have not judged yet (repeatable, or with commas); needs --record
    #[arg(long, value_name = "AGENT,AGENT,…", value_delimiter = ',', requires = "record")]
    pub reviewers: Vec<String>,
    /// Where their replies are kept, as labelled rows: nothing is asked twice, and the file can be calibrated itself
    #[arg(long, value_name = "FILE", requires = "reviewers")]
    pub record: Option<PathBuf>,
    /// Where the agents are defined, beside quorum.yaml [default: mission.yaml, if it is there]
    #[arg(long, value_name = "MISSION")]
    pub mission: Option<PathBuf>,
    /// Reviewers that are asked at the same time
    #[arg(short, long, value_name = "N", env = "QUORUM_JOBS", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: u32,
    /// Measure this panel by every rule: its seats, by name or a part of it that only one judge has (repeatable)
    #[arg(long, value_name = "JUDGE,JUDGE,…", value_delimiter = ';')]
    pub panel: Vec<String>,
    /// Store what scores say of the work beside the mission, in .quorum/calibration.json: `settings.calibration` takes bars from there
    #[arg(long, conflicts_with = "against")]
    pub save: bool,
    /// Hold the judges against the fits in this file, on the rows that these come from: exit 5 if they are not who they were
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Write pictures into a page for a browser: how far P(good) can be relied on, and the ROC curve
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    pub html: Option<PathBuf>,
    /// What good work reaches, for judges and for people: 1-5, 20-100, "3.5/5" or "10/100" [default: 60]
    #[arg(long, value_name = "N")]
    pub bar: Option<Points>,
    /// Resamples for the intervals; 0 gives none
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub bootstrap: u32,
    /// The seed of the resamples: the same one gives the same intervals
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

const ROWS: &str = "\
A row is one piece of work:
  {\"source\": \"mine\", \"group\": \"doc-7\", \"dims\": [\"correctness\", \"style\"], \"scale\": [1, 5],
   \"raw_replies\": [{\"judge\": \"gpt\", \"texts\": [\"SCORE: 4\", \"3\"], \"scores\": [4, 3]}],
   \"human\": {\"mean\": [4, 3.5]}}
  source       rows of one source are compared with each other [labels]
  group        what the work belongs to; resamples take whole groups [each row its own]
  dims, scale  what is scored, and from where to where; `scales` and `weights` per dimension are optional
  raw_replies  one text or recorded score (or both) per dimension and judge. Texts are read where they have the
               form that quorum asks for (SCORE: 4);
               what it leaves unread counts with the recorded score, and without one as the lowest
  human        `mean` per dimension, or `global` or `score` on the row's scale, or `pass`: true or false
               (also as tests_pass, better_output, consensus)
  rubrics      what each level of a dimension means, per dimension a list of five (optional)
  reply        instead of texts: one JSON reply with all dimensions, from 1 to 5, as a panel's seat gives it
Other keys are left alone.

--reviewers a,b asks agents of a mission or of quorum.yaml about every row, as seats of a panel are asked: one strict
reprompt, requests tried again. Such rows need no raw_replies but what is shown to a reviewer:
  task, work   what was to be done, and what came out
  criteria     what good work is (optional); `meanings` says per dimension what it means
What comes is kept in --record FILE at once; after a break the same command goes on. Nothing that was kept is thrown away:
rows that are no labels any more stay, and an agent that was changed since needs another file or name. What a provider did
not answer is missing, never a low score: exit 6, and the rest is measured.

Example: quorum calibrate labels.jsonl --panel gpt-4,gpt-3.5,llama --json";

pub fn calibrate(arguments: &Calibrate, screen: &Screen) -> Result<u8, Failure> {
    let answered = match &arguments.record {
        Some(record) => Some(live::ask(arguments, record, screen)?),
        None => None,
    };
    let sets = match &answered {
        Some(answered) => {
            screen.error(&answered.notes());
            collect(&answered.lines)?
        }
        None => read(&arguments.labels)?,
    };
    let settings = EvaluationSettings {
        bar: arguments.bar.unwrap_or_else(|| Points::whole(60)),
        rounds: arguments.bootstrap,
        seed: arguments.seed,
    };
    let is_partial = answered.as_ref().is_some_and(live::LiveResult::is_partial);
    let asked = answered.iter().flat_map(|answered| &answered.asked);
    let asked: Vec<_> = asked.map(|row| serde_json::json!(row)).collect();
    let mut named = arguments.panel.clone();
    if is_partial {
        // Seats that gave no reply were there when the panels were checked: they are missing, like their replies.
        named.retain(|panel| match panel_in(&sets, panel) {
            Ok(_) => true,
            Err(why) => {
                screen.error(&format!("note: --panel {panel} is not measured: {why}\n"));
                false
            }
        });
    }
    if let Some(file) = &arguments.against {
        let mut document = CalibrationDocument::new(&settings, asked);
        document.drift = save::against(file, &sets, settings.seed)?;
        let class = document.class(is_partial);
        screen.show(&document);
        return Ok(class.exit_code());
    }
    let panels = panels_of(&sets, &named)?;
    let all: usize = sets.iter().zip(&panels).map(|(set, panels)| steps(set, panels)).sum();
    let progress = progress(all, "judges and panels", screen);
    let mut document = CalibrationDocument::new(&settings, asked);
    let mut measured = Vec::new();
    for (set, panels) in sets.iter().zip(&panels) {
        progress.set_message(set.name.clone());
        let evaluation = evaluate(set, panels, &settings, || progress.inc(1));
        document.push(set, &evaluation, !panels.is_empty(), settings.bar);
        measured.push((set, evaluation));
    }
    progress.finish_and_clear();
    if arguments.save {
        let (plan, folder) = live::plan(arguments, screen)?;
        let place = save::save((&plan, &folder), &measured, settings.bar)?;
        document.saved = Some(place.display().to_string());
    }
    if let Some(path) = &arguments.html {
        let page = calibration_page(&document).map_err(Failure::internal)?;
        let write = ReportPlace::of(path).and_then(|place| place.write(page.as_bytes()));
        write.map_err(|error| environment!("cannot write {}: {error}", path.display()))?;
    }
    let class = document.class(is_partial);
    screen.show(&document);
    Ok(class.exit_code())
}

/// Rows that live reviewers replied to.
fn collect(lines: &[String]) -> Result<Vec<LabelSet>, Failure> {
    let mut collector = Collector::default();
    for line in lines {
        let pushed = collector.push(line);
        pushed.map_err(|why| internal!("a row that was checked is wrong: {why}"))?;
    }
    Ok(collector.finish())
}

fn progress(all: usize, what: &str, screen: &Screen) -> ProgressBar {
    let is_shown = io::stderr().is_terminal() && !screen.output().quiet;
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(all as u64), target);
    let style = ProgressStyle::with_template(&format!("{{pos}}/{{len}} {what}, {{msg}} {{elapsed}}"));
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn read(path: &Path) -> Result<Vec<LabelSet>, Failure> {
    let mut collector = Collector::default();
    each_line(path, |number, line| collector.push(line).map_err(|why| bad_row(path, number, &why)))?;
    Ok(collector.finish())
}

/// Hands on every line that is not empty, with its number; there must be one.
fn each_line(path: &Path, mut take: impl FnMut(u64, &str) -> Result<(), Failure>) -> Result<(), Failure> {
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = File::open(path).with_context(|| format!("'{}' cannot be read", path.display()));
        Box::new(file.map_err(Failure::usage)?)
    };
    let mut lines = BufReader::new(source);
    let mut rows = 0;
    for number in 1u64.. {
        let mut line = Vec::new();
        let read = lines.by_ref().take(LONGEST_ROW).read_until(b'\n', &mut line);
        let read = read.with_context(|| format!("'{}' cannot be read", path.display()));
        match read.map_err(Failure::usage)? {
            0 => break,
            _ if line.len() as u64 == LONGEST_ROW => {
                return Err(bad_row(path, number, &format!("it is longer than {LONGEST_ROW} bytes")));
            }
            _ => {}
        }
        let line = String::from_utf8(line).map_err(|_| bad_row(path, number, &"it is not UTF-8"))?;
        let line = without_mark(&line);
        if line.trim().is_empty() {
            continue;
        }
        take(number, line)?;
        rows += 1;
    }
    if rows == 0 {
        return Err(usage!("'{}' holds no row", path.display()).help(HELP));
    }
    Ok(())
}

const HELP: &str = "`quorum calibrate --help` describes the rows";

fn bad_row(path: &Path, line: u64, why: &impl Display) -> Failure {
    usage!("{}:{line}: {why}", path.display()).help(HELP)
}

/// The panels of each set: one is measured where all its seats judged.
fn panels_of(sets: &[LabelSet], named: &[String]) -> Result<Vec<Vec<Vec<usize>>>, Failure> {
    let mut found = vec![Vec::new(); sets.len()];
    for panel in named {
        let seats = panel_in(sets, panel).map_err(|why| usage!("--panel {panel}: {why}"))?;
        for (seats, found) in seats.into_iter().zip(&mut found) {
            found.extend(seats);
        }
    }
    Ok(found)
}

/// The seats of a panel in each set that has them all; there must be one.
fn panel_in(sets: &[LabelSet], panel: &str) -> anyhow::Result<Vec<Option<Vec<usize>>>> {
    let seats: Vec<&str> = panel.split(',').map(str::trim).filter(|seat| !seat.is_empty()).collect();
    ensure!(!seats.is_empty(), "'{panel}' names no seat");
    let mut problem = None;
    let mut found = Vec::with_capacity(sets.len());
    for set in sets {
        let judges: anyhow::Result<Vec<usize>> = seats.iter().map(|seat| judge(set, seat)).collect();
        found.push(match judges {
            Ok(judges) => Some(judges),
            Err(why) => {
                problem.get_or_insert(why);
                None
            }
        });
    }
    match problem.filter(|_| found.iter().all(Option::is_none)) {
        Some(why) => Err(why),
        None => Ok(found),
    }
}

fn judge(set: &LabelSet, name: &str) -> anyhow::Result<usize> {
    if let Some(exact) = set.judges.iter().position(|judge| judge == name) {
        return Ok(exact);
    }
    let like: Vec<usize> = (0..set.judges.len()).filter(|index| set.judges[*index].contains(name)).collect();
    match like.as_slice() {
        [one] => Ok(*one),
        [] => bail!("no judge of '{}' is called '{name}'; there are: {}", set.name, set.judges.join(", ")),
        several => {
            let names: Vec<&str> = several.iter().map(|index| set.judges[*index].as_str()).collect();
            bail!("'{name}' may be any of: {}", names.join(", "))
        }
    }
}
