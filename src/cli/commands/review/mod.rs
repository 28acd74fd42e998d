//! `quorum review`: judges a task of a run again, or any work without a run.
//!
//! Both go through the same engine path as a run, in a state folder of their own that goes away, so that nothing of a run
//! changes. Of a recorded task the last attempt is judged by the plan of its run, as it stands on record. Work without a run
//! is a mission of one task, whose "worker" prints what is there already.
//!
//! | file | what |
//! |---|---|
//! | `handed_in` | work that comes without a run: files, a difference, what stands on standard input |
//! | `replay` | `quorum review --replay RUN`: every judgement of a run derived again from what is stored |

mod handed_in;
mod replay;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgMatches, Args, ValueEnum};
use serde_json::{Value, json};

use crate::{
    cli::{
        args::{LATEST, SessionFlags},
        command_error::Failure,
        defined_agents::{defined_agents, refuse_strangers},
        launch::InPassing,
        load::load,
        options::{apply_flags, options_with_config},
        project::{current_dir, find_run, open_run, refuse, state_folder},
        screen::Screen,
        session::fork_supervisor,
    },
    report::{
        documents::{ReviewDocument, RunDocument},
        folds::view::RunView,
    },
    runtime::{ReadBefore, hide, restore_work},
    store::SpoolName,
};
use rules::{
    domain::{
        Bar, FailureMode, Finding, OutcomeClass, Points, QualityFlag, RunId, Severity, Stage, TaskId,
        is_same_name,
    },
    engine::{State, judged_again, outcome},
    mission::Source,
    plan::{self, Extent, NO_FINAL_CHECKS, Plan, RunOptions},
};
use supervisor::files::{read_regular, replace_file};

use handed_in::{HandedIn, LARGEST_WORK, handed_in};

/// The author of work that came without one. No agent of a mission can be called so.
const STRANGER: &str = "(the submitted work)";

#[derive(Debug, Args)]
pub struct ReviewArgs {
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

worded! {
    /// The grader of work that came without a run.
    #[derive(ValueEnum)]
    pub enum GraderChoice {
        /// Reviewers
        Llm = "llm",
        /// Plain facts: no agent, no network, no key
        Heuristic = "heuristic",
    }
}

/// Work that came without a run, and the mission of one task that it is judged by.
struct ReviewSubject {
    /// The name of the work, in a few words.
    title: String,
    /// Agents as the documents define them.
    agents: Value,
    task: Value,
    /// The bytes of the work, for its author to print.
    work: Vec<u8>,
    /// Where relative programs are found.
    mission_folder: PathBuf,
    workspace: PathBuf,
    /// The parts of the work that nobody is shown, one sentence each.
    not_shown: Vec<String>,
}

/// A judgement as a run that has nothing else to do.
struct ReviewCase {
    /// The name of the work, in a few words.
    title: String,
    task: TaskId,
    run: InPassing,
    /// The findings that the work's agent failed with; `None` where it did not.
    failed: Option<Vec<Finding>>,
    /// The parts of the work that nobody is shown, one sentence each.
    not_shown: Vec<String>,
}

pub fn review(arguments: &ReviewArgs, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    if let Some(run) = &arguments.replay {
        replay::refuse_what_it_cannot_heed(matches)?;
        return replay::replay(run, screen);
    }
    let supervisor = fork_supervisor()?;
    let offline = arguments.grader == GraderChoice::Heuristic;
    if !arguments.session.reports.is_empty() {
        return Err(usage!("a review has no run to report on").help("use --json"));
    }
    let place =
        tempfile::tempdir().map_err(|error| environment!("cannot make a temporary folder: {error}"))?;
    let case = if arguments.criteria.is_empty() && !offline {
        recorded_task(arguments, matches, screen)?
    } else {
        submitted(arguments, matches, place.path(), screen)?
    };
    // Work of an agent that failed is not judged, be it good or bad.
    if let Some(findings) = &case.failed {
        let class = OutcomeClass::Indeterminate;
        let document = ReviewDocument::without_verdict(&case.title, class, findings);
        screen.show(&document);
        return Ok(class.exit_code());
    }
    let ReviewCase { not_shown, .. } = case;
    let begun = ("quorum review", supervisor, place.path());
    let (ending, mut view) = case.run.start(begun, &arguments.session, screen)?;
    // What a review accepts stands in for nothing.
    view.warnings.retain(|warning| !warning.contains(NO_FINAL_CHECKS));
    let run = RunDocument::of_session(&ending.state, &view, None);
    let class = verdict(&ending.state, case.task, &not_shown);
    let findings = findings(&ending.state, &view, case.task, &not_shown);
    let asked = (&*case.title, arguments.grader.as_str());
    let document = ReviewDocument::of(&run, case.task, asked, class, &findings);
    screen.show(&document);
    Ok(class.exit_code())
}

/// The findings of the judges, and one for each part that was shown to nobody.
fn findings(state: &State, view: &RunView, task: TaskId, not_shown: &[String]) -> Vec<Finding> {
    let found = view.task(task).found().iter();
    let found = found.map(|found| found.finding.clone());
    let unjudged = (state.task(task).flag() == Some(QualityFlag::Unreviewed))
        .then(|| "nothing in the mission judges this work: say with --criteria what good work is".to_owned());
    let not_shown = not_shown.iter().map(|what| format!("not shown to anybody, so not judged: {what}"));
    let notes = unjudged.into_iter().chain(not_shown);
    found.chain(notes.map(|note| Finding::new(Severity::Info, note))).collect()
}

/// The outcome of a review: the work passes, it does not, or nobody can say. An interrupt stays one.
fn verdict(state: &State, task: TaskId, not_shown: &[String]) -> OutcomeClass {
    let task = state.task(task);
    match outcome(state).class {
        // The folder goes away, so there is nothing that a person could still approve.
        OutcomeClass::Awaiting => OutcomeClass::Indeterminate,
        OutcomeClass::TaskFailed => match task.mode() {
            // It was judged, by reviewers or by the checks before them, that spare them the sight of nothing.
            Some(FailureMode::Quality | FailureMode::Hollow) => OutcomeClass::BelowThreshold,
            _ => OutcomeClass::Indeterminate,
        },
        // What nobody has judged is not good enough for that.
        OutcomeClass::Ok if task.flag() == Some(QualityFlag::Unreviewed) => OutcomeClass::Indeterminate,
        // Nobody can say that of what nobody saw.
        OutcomeClass::Ok if !not_shown.is_empty() => OutcomeClass::Indeterminate,
        // Whatever else there is stays what it is.
        class => class,
    }
}

/// Work that came without a run, ready to be judged.
fn submitted(
    arguments: &ReviewArgs,
    matches: &ArgMatches,
    place: &Path,
    screen: &Screen,
) -> Result<ReviewCase, Failure> {
    let mut options = options_with_config()?;
    apply_flags(&mut options, &arguments.session, matches)?;
    options.max_attempts = Some(1);
    let subject = match arguments.grader {
        GraderChoice::Heuristic => submitted_facts(arguments)?,
        GraderChoice::Llm => {
            refuse_without_judges(&options)?;
            submitted_work(arguments, &options)?
        }
    };
    options.mission_folder.clone_from(&subject.mission_folder);
    let source = Source::new("the review", subject.mission(place)?);
    let loaded = load(&source, &options, screen)?;
    let mut plan = plan::compile(loaded.mission, &options);
    plan.rules.extent = Extent::Judging;
    Ok(ReviewCase {
        title: subject.title,
        task: TaskId(0),
        run: InPassing {
            state: State::new(Arc::new(plan)),
            mission: source.bytes,
            options,
            spooled: Vec::new(),
        },
        not_shown: subject.not_shown,
        failed: None,
    })
}

fn refuse_without_judges(options: &RunOptions) -> Result<(), Failure> {
    if options.no_eval {
        Err(usage!("a review with reviews switched off judges nothing")
            .help("leave out --no-eval, and EVAL=off in the environment"))
    } else {
        Ok(())
    }
}

/// Any work: files, a diff, what stands on standard input.
fn submitted_work(arguments: &ReviewArgs, options: &RunOptions) -> Result<ReviewSubject, Failure> {
    let here = current_dir()?;
    let HandedIn { title, work, paths, not_shown } = handed_in(arguments, &here)?;
    let (agents, mission_folder) = defined_agents(arguments.mission.as_deref(), options, &here)?;
    refuse_strangers(&arguments.reviewers, &agents, options)?;
    let threshold = arguments.threshold.map_or(json!("60/100"), |bar| json!(format!("{}/100", bar.value())));
    let reviewers = if arguments.reviewers.is_empty() { json!(3) } else { json!(arguments.reviewers) };
    let criteria = arguments.criteria.join("\n");
    let task = json!({
        "description": format!("The work to judge is {title}."),
        "targetFiles": paths,
        "expectations": [
            {"type": "llm_review", "criteria": criteria, "threshold": threshold, "reviewers": reviewers},
        ],
    });
    Ok(ReviewSubject { title, agents, task, work, mission_folder, workspace: here, not_shown })
}

/// The submitted work, for a grader that needs no agent: the text of the files themselves is then the output.
fn submitted_facts(arguments: &ReviewArgs) -> Result<ReviewSubject, Failure> {
    if !arguments.reviewers.is_empty() || arguments.mission.is_some() {
        return Err(usage!("the heuristic grader asks no agent").help("leave out --reviewer and --mission"));
    }
    let here = current_dir()?;
    let HandedIn { title, mut work, paths, not_shown } = handed_in(arguments, &here)?;
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
    Ok(ReviewSubject {
        title,
        agents: json!({}),
        task,
        work,
        mission_folder: here.clone(),
        workspace: here,
        not_shown,
    })
}

/// The texts of files, one behind the other.
fn text_of(here: &Path, paths: &[String]) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    for path in paths {
        let read = fs::File::open(here.join(path))
            .and_then(|file| file.take(LARGEST_WORK + 1).read_to_end(&mut text));
        read.map_err(|error| usage!("cannot read {path}: {error}"))?;
        if text.len() as u64 > LARGEST_WORK {
            return Err(usage!("the files have more than {LARGEST_WORK} bytes"));
        }
    }
    Ok(text)
}

/// A task of a run: its last attempt, to be judged by the mission and the settings of that run.
fn recorded_task(
    arguments: &ReviewArgs,
    matches: &ArgMatches,
    screen: &Screen,
) -> Result<ReviewCase, Failure> {
    let [title] = arguments.subjects.as_slice() else {
        return Err(usage!("name one task of a run, or say with --criteria what good work is")
            .help("`quorum review \"TASK\"`, or `quorum review --criteria TEXT PATH…`"));
    };
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let mut recovered = open_run(&run, |_, _| {})?;
    let id = find_task(&recovered.state, title)?;
    let mut options = options_of(&recovered.state.options);
    apply_flags(&mut options, &arguments.session, matches)?;
    refuse_without_judges(&options)?;
    recovered.replan(&options).map_err(refuse)?;
    let read = ReadBefore { mission: recovered.started.mission_path.clone(), settings: Vec::new() };
    hide(&mut recovered.state, &options, &read, false);
    let (state, task) = (&recovered.state, recovered.state.task(id));
    if let Some(why_not) = why_not_judged(state, id) {
        return Err(usage!("task '{title}' {why_not} in run {}", run.id()));
    }
    let last = task.feedback.last();
    let failed = last.filter(|last| last.stage == Stage::Outcome && last.attempt == task.attempt.number);
    restore_work(&run, state, id).map_err(Failure::environment)?;
    let mut plan = Plan::clone(&state.plan);
    plan.leave_one_to_judge(id);
    (plan.rules.budget.max_cost, plan.rules.budget.max_tokens) = (options.max_cost, options.max_tokens);
    if !plan.workspace_of(id).is_dir() {
        return Err(environment!(
            "the folder of '{title}', {}, is not there",
            plan.workspace_of(id).display()
        ));
    }
    let mission = read_regular(&run.mission(recovered.missions.number()), rules::mission::LONGEST_MISSION);
    let turn = state.current_turn(id);
    let said = [SpoolName::Out(turn), SpoolName::Result(turn), SpoolName::TurnTools(turn)];
    let said = said.map(|name| (name, run.spool_file(&name)));
    Ok(ReviewCase {
        title: title.clone(),
        task: id,
        run: InPassing {
            state: judged_again(Arc::new(plan), id, state),
            mission: mission.map_err(Failure::internal)?,
            options,
            spooled: said.into_iter().filter(|(_, path)| path.is_file()).collect(),
        },
        failed: failed.map(|failed| failed.findings.clone()),
        not_shown: Vec::new(),
    })
}

/// The options for a second judgement of a run's work: the limits and exceptions of the run itself do not
/// count.
fn options_of(run: &RunOptions) -> RunOptions {
    let frozen = run.clone();
    RunOptions {
        mission_folder: frozen.mission_folder,
        eval_threshold: frozen.eval_threshold,
        test_lists: frozen.test_lists,
        calibration: frozen.calibration,
        project_config: frozen.project_config,
        project_config_name: frozen.project_config_name,
        user_config: frozen.user_config,
        user_config_name: frozen.user_config_name,
        ..RunOptions::default()
    }
}

/// Why there is nothing of a task that could be judged, where that is so.
fn why_not_judged(state: &State, id: TaskId) -> Option<&'static str> {
    let task = state.task(id);
    if state.plan.route(id).is_some() {
        Some("is a verification: it does no work that could be judged")
    } else if task.attempt.turn == 0 {
        Some("has done nothing yet")
    } else {
        task.work.turn.as_ref().map(|_| "is being worked on")
    }
}

fn find_task(state: &State, title: &str) -> Result<TaskId, Failure> {
    let plan = &state.plan;
    let found = plan.task_ids().find(|id| is_same_name(plan.title(*id), title));
    found.ok_or_else(|| {
        let nearest = plan.task_ids().map(|id| plan.title(id));
        let nearest =
            nearest.max_by(|a, b| strsim::jaro_winkler(a, title).total_cmp(&strsim::jaro_winkler(b, title)));
        let failure = usage!("there is no task '{title}' in this run");
        match nearest {
            Some(nearest) => failure.help(format!(
                "did you mean '{nearest}'? To judge files, say with --criteria what good work is"
            )),
            None => failure,
        }
    })
}

impl ReviewSubject {
    /// The mission as JSON; the work lies in `place`, for the author to print.
    fn mission(&self, place: &Path) -> Result<Vec<u8>, Failure> {
        let work = place.join("work");
        replace_file(&work, &self.work)
            .map_err(|error| environment!("cannot write {}: {error}", work.display()))?;
        let mut agents = self.agents.clone();
        agents[STRANGER] = json!({"run": ["cat", work.to_string_lossy()], "input": "none"});
        let mut task = self.task.clone();
        task["title"] = json!("Review");
        task["assignTo"] = json!(STRANGER);
        task["onExhausted"] = json!("accept");
        let mission = json!({
            "name": format!("Review of {}", self.title),
            "workspace": self.workspace.to_string_lossy(),
            "agents": agents,
            "tasks": [task],
        });
        Ok(mission.to_string().into_bytes())
    }
}
