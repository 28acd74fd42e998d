//! `quorum review`: judges a task of a run again, or any work without a run.
//!
//! Both are one-task missions through the same engine path as a run, in a state folder of their own that goes away: the
//! "worker" prints the work that is there already, so that nothing is done again and nothing of a run changes.
//!
//! | file | what |
//! |---|---|
//! | `replay` | `quorum review --replay RUN`: every judgement of a run derived again from what is stored |

mod replay;

use std::cell::RefCell;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::anyhow;
use clap::{ArgMatches, Args, ValueEnum};
use serde_json::{Value, json};

use crate::domain::{
    Bar, FailureMode, Finding, OutcomeClass, Points, RunId, Stage, TaskId, Timestamp, TurnId, is_same_name,
};
use crate::engine::{Event, State, TaskEvent, outcome};
use crate::executor::spool::read_output;
use crate::mission::{self, Panel, Reviewers, RunOptions, Source, TaskPlan};
use crate::report::documents::{ReviewDocument, RunDocument};
use crate::report::sanitize;
use crate::runtime::{Observer, restore_work};
use crate::store::{StateFolder, read_regular, replace_file};

use crate::cli::args::{LATEST, SessionFlags};
use crate::cli::defined_agents::defined_agents;
use crate::cli::failure::Failure;
use crate::cli::launch::{Launch, new_run_id};
use crate::cli::load::load;
use crate::cli::lock::lock;
use crate::cli::options::{apply_flags, options_with_config};
use crate::cli::project::{current_dir, find_run, open_run, state_folder};
use crate::cli::screen::{LiveView, Screen};
use crate::cli::session::{fork_supervisor, resolve_programs, try_confinement};

/// The author of work that came without one. No agent of a mission can be called so.
const STRANGER: &str = "(the submitted work)";
/// The largest work that is read from a pipe or a diff, in bytes.
const LARGEST_WORK: u64 = 64 * 1024 * 1024;

#[derive(Debug, Args)]
pub struct Review {
    /// The task of a run, or the files to judge with --criteria; `-` is standard input
    #[arg(value_name = "TASK|PATH")]
    pub subjects: Vec<String>,
    /// What good work is (repeatable). Without it, TASK is judged again by its own rules
    #[arg(long, value_name = "TEXT")]
    pub criteria: Vec<String>,
    /// Judge `git diff` against this revision
    #[arg(long, value_name = "REVISION", num_args = 0..=1, default_missing_value = "HEAD", requires = "criteria")]
    pub diff: Option<String>,
    /// The bar: 1-5, 20-100, "3.5/5" or "10/100" [default: 60]
    #[arg(long, value_name = "N", requires = "criteria")]
    pub threshold: Option<Points>,
    /// Who grades: reviewers, or plain facts about files, commands and output, offline. Commands in backticks are run
    #[arg(
        long,
        value_enum,
        value_name = "GRADER",
        default_value = "llm",
        requires_if("heuristic", "criteria")
    )]
    pub grader: GraderChoice,
    /// Who judges (repeatable) [default: three seats, filled by the rules of a mission]
    #[arg(long = "reviewer", value_name = "AGENT", requires = "criteria")]
    pub reviewers: Vec<String>,
    /// Where the agents are defined, beside quorum.yaml [default: mission.yaml, if it is there]
    #[arg(long, value_name = "MISSION")]
    pub mission: Option<PathBuf>,
    /// Derive every judgement of a run again from what is stored, and hold it against the journal: no network, no agent.
    /// Exit 0 if all is equal, 6 if anything differs, is lost, or was decided by other rules
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = LATEST,
        conflicts_with_all = ["criteria", "diff", "subjects", "run"]
    )]
    pub replay: Option<String>,
    /// The run of TASK [default: the latest]
    #[arg(long, value_name = "RUN", conflicts_with = "criteria")]
    pub run: Option<RunId>,
    #[command(flatten)]
    pub session: SessionFlags,
}

/// Who grades work that came without a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraderChoice {
    /// Reviewers
    Llm,
    /// Plain facts: no agent, no network, no key
    Heuristic,
}

impl GraderChoice {
    fn as_str(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Heuristic => "heuristic",
        }
    }
}

/// A one-task mission, and what it is made of.
struct Subject {
    /// What is judged, in a few words.
    title: String,
    /// Agents as the documents define them; the author among them does nothing but print the work.
    agents: Value,
    author: String,
    task: Value,
    settings: Value,
    /// The work itself.
    work: Vec<u8>,
    /// Where relative programs are found.
    mission_folder: PathBuf,
    workspace: PathBuf,
}

pub fn review(arguments: &Review, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    if let Some(run) = &arguments.replay {
        replay::refuse_what_it_cannot_heed(matches)?;
        return replay::replay(run, screen);
    }
    let mut supervisor = fork_supervisor()?;
    let mut options = options_with_config()?;
    apply_flags(&mut options, &arguments.session, matches)?;
    options.max_attempts = Some(1);
    let offline = arguments.grader == GraderChoice::Heuristic;
    if options.no_eval && !offline {
        return Err(
            Failure::usage(anyhow!("a review with reviews switched off judges nothing"))
                .help("leave out --no-eval, and EVAL=off in the environment"),
        );
    }
    if !arguments.session.reports.is_empty() {
        return Err(Failure::usage(anyhow!("a review has no run to report on")).help("use --json"));
    }
    let subject = match arguments.criteria.is_empty() {
        _ if offline => submitted_facts(arguments)?,
        true => recorded_task(arguments, &mut options, screen)?,
        false => submitted_work(arguments, &options)?,
    };
    options.mission_folder.clone_from(&subject.mission_folder);

    let place = tempfile::tempdir()
        .map_err(|error| Failure::environment(anyhow!("cannot make a temporary folder: {error}")))?;
    let mission = subject.mission(place.path())?;
    let source = Source::new("the review", mission);
    let loaded = load(&source, &options, screen)?;
    let state = State::new(Arc::new(mission::compile(loaded.mission, &options)));
    // Beside the work: what is confined does not see the state.
    let folder = StateFolder::at(&place.path().join("state")).map_err(Failure::environment)?;
    folder.create().map_err(Failure::environment)?;
    let id = new_run_id(&folder)?;
    let programs = resolve_programs(&state, &options, &id)?;
    let unconfined = try_confinement(&mut supervisor, &state.plan, &options)?;
    let _lock = lock(&folder, "quorum review", &id)?;
    let run = folder.run(&id);
    let places = programs.places(&state);
    let watchers = screen.watch(&run, false, &arguments.session, places, LiveView::default());
    let findings = Rc::new(RefCell::new(Vec::new()));
    let mut observers = watchers.observers;
    observers.push(Box::new(FindingsObserver(findings.clone())));
    let launch = Launch {
        reports: None,
        run,
        mission: &source.bytes,
        mission_path: None,
        options,
        state,
        programs,
        supervisor,
        unconfined,
        observers,
    };
    let ending = launch.start()?;
    let view = watchers.view.take().into_view(&ending.state);
    let run = RunDocument::of_session(&ending.state, &view, None);
    let class = verdict(&ending.state);
    let (findings, grader) = (findings.borrow(), arguments.grader.as_str());
    let document = ReviewDocument::of(&run, (&subject.title, grader), class, &findings);
    if screen.is_json() {
        screen.document(&document);
    } else {
        screen.result(&document.human(&screen.out()));
    }
    Ok(class.exit_code())
}

/// What a review says about the work: it passes, it does not, or nobody can say. An interrupt stays one.
fn verdict(state: &State) -> OutcomeClass {
    match outcome(state).class {
        // The folder goes away, so there is nothing that a person could still approve.
        OutcomeClass::Awaiting => OutcomeClass::Indeterminate,
        OutcomeClass::TaskFailed => match state.tasks.first().and_then(|task| task.mode()) {
            // It was judged, by reviewers or by the checks before them, that spare them the sight of nothing.
            Some(FailureMode::Quality | FailureMode::Hollow) => OutcomeClass::BelowThreshold,
            _ => OutcomeClass::Indeterminate,
        },
        // Whatever else there is stays what it is.
        class => class,
    }
}

/// What was handed in: what it is in a few words, the work itself, and the files, if it is files.
fn handed_in(arguments: &Review, here: &Path) -> Result<(String, Vec<u8>, Vec<String>), Failure> {
    let from_pipe = arguments.subjects.iter().any(|subject| subject == "-");
    let paths: Vec<String> = arguments
        .subjects
        .iter()
        .filter(|subject| *subject != "-")
        .cloned()
        .collect();
    for path in &paths {
        if !here.join(path).is_file() {
            return Err(Failure::usage(anyhow!("there is no file {path}"))
                .help("name files to judge, `-` for standard input, or --diff"));
        }
    }
    let (title, work) = match (&arguments.diff, from_pipe) {
        (Some(revision), false) => (format!("git diff {revision}"), git_diff(here, revision, &paths)?),
        (None, true) => ("standard input".to_owned(), from_stdin()?),
        (None, false) if !paths.is_empty() => (format!("{} file(s)", paths.len()), file_list(&paths)),
        (None, false) => {
            return Err(Failure::usage(anyhow!("there is nothing to judge"))
                .help("name files, `-` for standard input, or --diff"));
        }
        (Some(_), true) => return Err(Failure::usage(anyhow!("--diff and `-` are two different works"))),
    };
    if work.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::usage(anyhow!(
            "{title} is empty: there is nothing to judge"
        )));
    }
    Ok((title, work, paths))
}

/// Any work: files, a diff, what stands on standard input.
fn submitted_work(arguments: &Review, options: &RunOptions) -> Result<Subject, Failure> {
    let here = current_dir()?;
    let (title, work, paths) = handed_in(arguments, &here)?;
    let (agents, mission_folder) = defined_agents(arguments.mission.as_deref(), options, &here)?;
    refuse_strangers(&arguments.reviewers, &agents, options)?;
    let threshold = arguments
        .threshold
        .map_or(json!("60/100"), |bar| json!(format!("{}/100", bar.value())));
    let reviewers = if arguments.reviewers.is_empty() {
        json!(3)
    } else {
        json!(arguments.reviewers)
    };
    let criteria = arguments.criteria.join("\n");
    let task = json!({
        "description": format!("The work to judge is {title}."),
        "targetFiles": paths,
        "expectations": [
            {"type": "llm_review", "criteria": criteria, "threshold": threshold, "reviewers": reviewers},
        ],
    });
    let settings = json!({});
    let author = STRANGER.to_owned();
    Ok(Subject {
        title,
        agents,
        author,
        task,
        settings,
        work,
        mission_folder,
        workspace: here,
    })
}

/// The same work, for a grader that needs no agent. What the work says is then the text of the files themselves.
fn submitted_facts(arguments: &Review) -> Result<Subject, Failure> {
    if !arguments.reviewers.is_empty() || arguments.mission.is_some() {
        return Err(Failure::usage(anyhow!("the heuristic grader asks no agent"))
            .help("leave out --reviewer and --mission"));
    }
    let here = current_dir()?;
    let (title, mut work, paths) = handed_in(arguments, &here)?;
    // With a diff or a pipe that is the work, and the files are what criteria may name.
    let only_files = arguments.diff.is_none() && !arguments.subjects.iter().any(|subject| subject == "-");
    if only_files {
        work = text_of(&here, &paths)?;
    }
    let bar = arguments.threshold.unwrap_or(Bar::default_bar().points);
    let task = json!({
        "description": format!("The work to judge is {title}."),
        "review": "none",
        "acceptance": arguments.criteria,
        // No other judge and no person stands behind this one, so what was not checked is not passed over.
        "verification": {"grader": "heuristic", "threshold": format!("{}/100", bar.value()), "minConfidence": 1},
    });
    Ok(Subject {
        title,
        agents: json!({}),
        author: STRANGER.to_owned(),
        task,
        settings: json!({}),
        work,
        mission_folder: here.clone(),
        workspace: here,
    })
}

/// The texts of files, one behind the other.
fn text_of(here: &Path, paths: &[String]) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    for path in paths {
        let read = fs::File::open(here.join(path))
            .and_then(|file| file.take(LARGEST_WORK + 1).read_to_end(&mut text));
        read.map_err(|error| Failure::usage(anyhow!("cannot read {path}: {error}")))?;
        if text.len() as u64 > LARGEST_WORK {
            return Err(Failure::usage(anyhow!(
                "the files have more than {LARGEST_WORK} bytes"
            )));
        }
    }
    Ok(text)
}

/// A task of a run, with what its last turn said.
fn recorded_task(arguments: &Review, options: &mut RunOptions, screen: &Screen) -> Result<Subject, Failure> {
    let [title] = arguments.subjects.as_slice() else {
        return Err(Failure::usage(anyhow!(
            "name one task of a run, or say with --criteria what good work is"
        ))
        .help("`quorum review \"TASK\"`, or `quorum review --criteria TEXT PATH…`"));
    };
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let recovered = open_run(&run, |_, _| {})?;
    let state = &recovered.state;
    let id = find_task(state, title)?;
    let (plan, task) = (state.plan.task(id), state.task(id));
    if task.attempt.turn == 0 {
        return Err(Failure::usage(anyhow!(
            "task '{title}' has done nothing yet in run {}",
            run.id()
        )));
    }
    // Configuration layers are those of the run: they are frozen like its mission.
    options.project_config.clone_from(&state.options.project_config);
    options
        .project_config_name
        .clone_from(&state.options.project_config_name);
    options.user_config.clone_from(&state.options.user_config);
    options
        .user_config_name
        .clone_from(&state.options.user_config_name);
    let turn = TurnId {
        task: id,
        attempt: task.attempt.number,
        turn: task.attempt.turn,
    };
    let work = read_output(
        &run,
        turn,
        &task.output,
        usize::try_from(LARGEST_WORK).unwrap_or(usize::MAX),
    )
    .map_err(|error| Failure::internal(anyhow!("the output of '{title}' is lost: {error}")))?;
    if work.missing > 0 {
        return Err(
            Failure::usage(anyhow!("the output of '{title}' is too large to be judged again"))
                .help("judge a part of it with `quorum review --criteria TEXT -`"),
        );
    }
    let bytes = read_regular(
        &run.mission(recovered.missions.number()),
        crate::mission::LONGEST_MISSION,
    )
    .map_err(Failure::internal)?;
    let text = String::from_utf8_lossy(&bytes);
    let bar = state.plan.rules.settings.eval_threshold.points.value();
    restore_work(&run, state, id).map_err(Failure::environment)?;
    let workspace = state.plan.workspace_of(id);
    Ok(Subject {
        title: title.clone(),
        agents: mission::agents_in(&text),
        author: state.plan.agent(plan.agent).name.to_string(),
        task: task_document(state, plan),
        settings: json!({"evalThreshold": format!("{bar}/100")}),
        work: work.head.into_bytes(),
        mission_folder: state.options.mission_folder.clone(),
        workspace,
    })
}

fn find_task(state: &State, title: &str) -> Result<TaskId, Failure> {
    let plan = &state.plan;
    let found = plan
        .task_ids()
        .find(|id| is_same_name(&plan.task(*id).title, title));
    found.ok_or_else(|| {
        let nearest = plan.task_ids().map(|id| plan.task(id).title.as_ref());
        let nearest =
            nearest.max_by(|a, b| strsim::jaro_winkler(a, title).total_cmp(&strsim::jaro_winkler(b, title)));
        let failure = Failure::usage(anyhow!("there is no task '{title}' in this run"));
        match nearest {
            Some(nearest) => failure.help(format!(
                "did you mean '{nearest}'? To judge files, say with --criteria what good work is"
            )),
            None => failure,
        }
    })
}

/// What is to be judged of a task, as a mission says it.
fn task_document(state: &State, plan: &TaskPlan) -> Value {
    let mut document = json!({
        "description": plan.description.as_deref().unwrap_or_default(),
        "targetFiles": plan.target_files.iter().map(AsRef::as_ref).collect::<Vec<&str>>(),
    });
    match plan.panel() {
        Some(panel) => document["expectations"] = json!([panel_document(state, panel)]),
        None => document["review"] = json!("required"),
    }
    document
}

fn panel_document(state: &State, panel: &Panel) -> Value {
    let dimensions: Vec<Value> = panel
        .dimensions
        .iter()
        .map(|dimension| {
            let rubric: serde_json::Map<String, Value> = dimension
                .rubric
                .iter()
                .map(|(level, text)| (level.to_string(), json!(text)))
                .collect();
            let mut document = json!({"name": dimension.name, "weight": dimension.weight.to_string()});
            if let Some(description) = &dimension.description {
                document["description"] = json!(description);
            }
            if !rubric.is_empty() {
                document["rubric"] = Value::Object(rubric);
            }
            document
        })
        .collect();
    let reviewers = match &panel.reviewers {
        Reviewers::Seats(seats) => json!(seats),
        Reviewers::Named(agents) => {
            json!(
                agents
                    .iter()
                    .map(|agent| state.plan.agent(*agent).name.as_ref())
                    .collect::<Vec<&str>>()
            )
        }
    };
    let mut document = json!({
        "type": "llm_review",
        "dimensions": dimensions,
        "threshold": format!("{}/100", panel.bar.points.value()),
        "reviewers": reviewers,
    });
    if let Some(criteria) = &panel.criteria {
        document["criteria"] = json!(criteria);
    }
    document
}

/// Reviewers that nobody defines.
fn refuse_strangers(reviewers: &[String], agents: &Value, options: &RunOptions) -> Result<(), Failure> {
    let layers = crate::runtime::layers_of(options).map_err(Failure::mission)?;
    let of_layers = layers.project.iter().chain(&layers.user);
    let of_layers = of_layers.flat_map(|config| config.agents.0.iter().map(|(name, _)| &**name));
    let own = agents.as_object().into_iter().flatten();
    let known: Vec<&str> = own.map(|(name, _)| name.as_str()).chain(of_layers).collect();
    match reviewers.iter().find(|name| !known.contains(&name.as_str())) {
        Some(stranger) => Err(Failure::usage(anyhow!(
            "there is no agent '{}' that could review",
            sanitize(stranger)
        ))
        .help(mission::suggestion(stranger, known.iter().copied(), "agents are"))),
        None => Ok(()),
    }
}

/// The difference to a revision: of these files, or of everything.
fn git_diff(here: &Path, revision: &str, paths: &[String]) -> Result<Vec<u8>, Failure> {
    if revision.starts_with('-') {
        return Err(Failure::usage(anyhow!("'{revision}' is not a revision")));
    }
    let output = Command::new("git")
        .args(["diff", "--no-color", "--no-ext-diff", revision, "--"])
        .args(paths)
        .current_dir(here)
        .output()
        .map_err(|error| Failure::environment(anyhow!("cannot run git: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::usage(anyhow!(
            "git diff {revision} failed: {}",
            said.trim()
        )));
    }
    if output.stdout.len() as u64 > LARGEST_WORK {
        return Err(
            Failure::usage(anyhow!("git diff {revision} has more than {LARGEST_WORK} bytes"))
                .help("name files to judge a part of it: half a work would be judged as a whole one"),
        );
    }
    Ok(output.stdout)
}

fn from_stdin() -> Result<Vec<u8>, Failure> {
    let mut work = Vec::new();
    std::io::stdin()
        .lock()
        .take(LARGEST_WORK + 1)
        .read_to_end(&mut work)
        .map_err(|error| Failure::usage(anyhow!("cannot read standard input: {error}")))?;
    if work.len() as u64 > LARGEST_WORK {
        return Err(
            Failure::usage(anyhow!("standard input has more than {LARGEST_WORK} bytes"))
                .help("judge a part of it: half a work would be judged as a whole one"),
        );
    }
    Ok(work)
}

fn file_list(paths: &[String]) -> Vec<u8> {
    let list: String = paths.iter().map(|path| format!("- {path}\n")).collect();
    format!("The work is in these files:\n{list}").into_bytes()
}

impl Subject {
    /// The mission as JSON; the work lies in `place`, for the author to print.
    fn mission(&self, place: &Path) -> Result<Vec<u8>, Failure> {
        let work = place.join("work");
        replace_file(&work, &self.work)
            .map_err(|error| Failure::environment(anyhow!("cannot write {}: {error}", work.display())))?;
        let mut agents = self.agents.clone();
        agents[&self.author] = json!({"run": ["cat", work.to_string_lossy()], "input": "none"});
        let mut task = self.task.clone();
        task["title"] = json!("Review");
        task["assignTo"] = json!(self.author);
        task["onExhausted"] = json!("accept");
        let mission = json!({
            "name": format!("Review of {}", self.title),
            "workspace": self.workspace.to_string_lossy(),
            "agents": agents,
            "settings": self.settings,
            "tasks": [task],
        });
        Ok(mission.to_string().into_bytes())
    }
}

/// Keeps what the reviewers found.
struct FindingsObserver(Rc<RefCell<Vec<Finding>>>);

impl Observer for FindingsObserver {
    fn on_start(&mut self, _: &State) {}
    fn on_events(&mut self, _: &State, _: u64, _: Timestamp, events: &[Event]) {
        for event in events {
            if let Event::Task(_, TaskEvent::StageVerdict(report)) = event
                && matches!(report.stage, Stage::Judge | Stage::Verification)
            {
                self.0.borrow_mut().clone_from(&report.findings);
            }
        }
    }
    fn on_heartbeat(&mut self, _: &State, _: Timestamp) {}
    fn on_end(&mut self, _: &State) {}
}
