//! `quorum judge test`: whether the replies of an agent can be read where it is asked as a judge.
//!
//! Each kind of question is one task of a run in passing. So a run itself makes the request, confines the agent, reads the
//! reply and asks once more, and its journal tells what came of it.

use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::Arc;

use clap::{ArgMatches, Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::{
    cli::{
        args::{Progress, SessionFlags},
        command_error::Failure,
        defined_agents::{defined_agents, refuse_strangers},
        launch::InPassing,
        options::{apply_flags, options_with_config},
        project::{all_runs, current_dir},
        screen::Screen,
        session::fork_supervisor,
    },
    report::documents::{JudgeTestDocument, KindRow},
    runtime::layers_of,
    store::{Reader, StateFolder},
};
use rules::{
    domain::{OutcomeClass, Stage, TaskId},
    engine::{State, outcome},
    mission::{
        self, Source,
        model::{Adapter, Mission, Vision, VisionKind},
    },
    plan::{self, Extent},
};
use supervisor::files::no_links::scratch_folder;
use supervisor::files::replace_file;

/// The author of the sample. No agent of a mission can be called so.
const STRANGER: &str = "(the sample work)";
/// The author of the sample picture, which lies alone in a folder of its own.
const PAINTER: &str = "(the sample picture)";
const WORK: &str = "def add(a, b):\n    return a + b\n";
const TASK: &str = "Write a function in Python that adds two numbers; a picture is a red square.";
const PICTURE: &str = "red-square.png";

#[derive(Debug, Args)]
pub struct JudgeArguments {
    #[command(subcommand)]
    command: JudgeCommand,
}

#[derive(Debug, Subcommand)]
enum JudgeCommand {
    /// Ask an agent as a judge about a tiny sample, and show whether its replies can be read
    #[command(after_help = "Example: quorum judge test critic --kind evaluation,panel")]
    Test(Test),
}

#[derive(Debug, Args)]
struct Test {
    /// The agent
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Ask only this (repeatable, or with commas) [default: all that the agent can be asked]
    #[arg(long = "kind", value_enum, value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<JudgeQuestion>,
    /// Where the agents are defined, beside quorum.yaml [default: mission.yaml, if it is there]
    #[arg(long, value_name = "MISSION")]
    mission: Option<PathBuf>,
    #[command(flatten)]
    session: SessionFlags,
}

worded! {
    /// A kind of question to a judge.
    #[derive(ValueEnum)]
    #[value(rename_all = "camelCase")]
    enum JudgeQuestion {
        /// One score
        Evaluation = "evaluation",
        /// A score for each dimension
        Panel = "panel",
        /// Grades by a rubric
        Grade = "grade",
        /// The verdict of a stage
        Stage = "stage",
        /// What is wrong with the work
        RedTeam = "redTeam",
        /// What is wrong with a picture, in a folder without anything else
        Vision = "vision",
        /// Whether work may start
        Approve = "approve",
    }
}

impl JudgeQuestion {
    /// The stage of judging that asks; before the work none does.
    fn stage(self) -> Option<Stage> {
        Some(match self {
            Self::Evaluation | Self::Panel => Stage::Judge,
            Self::Grade => Stage::Verification,
            Self::Stage => Stage::Stages,
            Self::RedTeam => Stage::RedTeam,
            Self::Vision => Stage::Vision,
            Self::Approve => return None,
        })
    }

    /// The task about which the agent is asked so.
    fn task(self, agent: &str) -> Value {
        let mut task = match self {
            Self::Evaluation => json!({"review": "required"}),
            Self::Panel => json!({"expectations": [{"type": "llm_review", "reviewers": [agent]}]}),
            Self::Grade => json!({"verification": {"rubric": "default-task"}}),
            Self::Stage => json!({"stages": [{"name": "sample", "agent": agent}]}),
            Self::RedTeam => json!({}),
            Self::Vision => json!({"assignTo": PAINTER, "isolation": "temp"}),
            Self::Approve => json!({"requiresApproval": {"approvers": [agent]}}),
        };
        task["title"] = json!(self.as_str());
        task["description"] = json!(TASK);
        task
    }
}

/// The mission of so many questions to an agent; the picture is this file.
fn mission(mut agents: Value, agent: &str, kinds: &[JudgeQuestion], picture: &Path) -> Value {
    agents[STRANGER] = json!({"run": ["echo", WORK], "input": "none"});
    agents[PAINTER] = json!({"run": ["cp", picture, PICTURE], "input": "none"});
    let mut tasks: Vec<Value> = kinds.iter().map(|kind| kind.task(agent)).collect();
    for task in tasks.iter_mut().filter(|task| task["assignTo"].is_null()) {
        task["assignTo"] = json!(STRANGER);
    }
    let settings =
        json!({"evaluate": true, "maxAssessmentRetries": 0, "judgeBreaker": 0, "finalChecks": "never"});
    let mut mission = json!({"name": "Judge test", "agents": agents, "settings": settings, "tasks": tasks});
    if kinds.contains(&JudgeQuestion::RedTeam) {
        mission["redTeam"] = json!({"agent": agent});
    }
    mission
}

/// Fits a mission and what is asked to its one judge. Whether that one is to look at a picture and sees none.
fn fit(mission: &mut Mission, name: &str, kinds: &mut Vec<JudgeQuestion>) -> Result<bool, Failure> {
    let mut sees = false;
    for (known, agent) in &mut mission.agents.0 {
        let is_judge = **known == *name;
        // Nobody but this one is asked, however a mission would choose.
        agent.role = is_judge.then(|| "reviewer".to_owned());
        agent.fallback.clear();
        sees |= is_judge && agent.vision;
        if is_judge && matches!(*agent.adapter, Adapter::Echo | Adapter::Human) {
            return Err(usage!("agent '{name}' cannot be tested: it is no program and no model"));
        }
    }
    let Some(at) = kinds.iter().position(|kind| *kind == JudgeQuestion::Vision) else {
        return Ok(false);
    };
    if sees {
        mission.vision = Some(Vision {
            kind: VisionKind::LlmVision,
            agent: Some(name.into()),
            screenshots: [PICTURE.into()].into(),
            expectations: Vec::new(),
            tolerance: None,
        });
    } else {
        kinds.remove(at);
        mission.tasks.remove(at);
    }
    Ok(!sees)
}

/// Reads the answers to the questions from the run's journal.
fn read_journal(place: &Path, rows: &mut [KindRow]) -> Result<(), Failure> {
    let state = StateFolder::at(&place.join("state")).map_err(Failure::internal)?;
    for run in all_runs(&state)? {
        let mut journal = Reader::open(&run.journal()).map_err(Failure::internal)?;
        while let Some(record) = journal.next_record().map_err(Failure::internal)? {
            for event in &record.events {
                if let Some(row) = event.task().and_then(|id| rows.get_mut(id.index())) {
                    row.take(record.at, event);
                }
            }
        }
    }
    Ok(())
}

pub fn judge(arguments: &JudgeArguments, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let JudgeCommand::Test(arguments) = &arguments.command;
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    let supervisor = fork_supervisor()?;
    let place = scratch_folder().map_err(Failure::environment)?;
    let mut options = options_with_config()?;
    apply_flags(&mut options, &arguments.session, matches)?;
    // One after the other: what a program makes when it starts for the first time would spoil what is judged beside it.
    options.jobs = options.jobs.or(Some(1));
    // Nothing is mended, no person is waited for, and where reviews are switched off it is a question all the same.
    (options.max_attempts, options.wait_approvals, options.no_eval) = (Some(1), None, false);
    let name = &arguments.agent;
    let (agents, folder) = defined_agents(arguments.mission.as_deref(), &options, &current_dir()?)?;
    refuse_strangers(from_ref(name), &agents, &options)?;
    let mut kinds = JudgeQuestion::ALL.to_vec();
    kinds.retain(|kind| arguments.kinds.is_empty() || arguments.kinds.contains(kind));
    let picture = place.path().join(PICTURE);
    replace_file(&picture, include_bytes!("red-square.png")).map_err(Failure::environment)?;
    let text = mission(agents, name, &kinds, &picture).to_string();
    let source = Source::new("the judge test", text.into_bytes());
    options.mission_folder = folder;
    let layers = layers_of(&options).map_err(Failure::mission)?;
    let mut mission = mission::load(&source, &layers).map_err(Failure::mission)?.mission;
    let is_blind = fit(&mut mission, name, &mut kinds)?;
    let mut rows: Vec<KindRow> = kinds.iter().map(|kind| KindRow::of(kind.as_str())).collect();
    let mut class = OutcomeClass::Ok;
    if !kinds.is_empty() {
        let mut plan = plan::compile(mission, &options);
        plan.rules.extent = Extent::Judging;
        plan.rules.orchestrator = None;
        for (index, kind) in kinds.iter().enumerate() {
            let stages = &mut plan.tasks[index].pipeline;
            let own = stages.iter().filter(|stage| Some(stage.key().stage()) == kind.stage());
            *stages = own.cloned().collect();
        }
        if !screen.output().quiet {
            screen.error(&format!("asking '{name}' about a sample\n"));
        }
        let run = InPassing {
            mission: source.bytes,
            options,
            state: State::new(Arc::new(plan)),
            spooled: Vec::new(),
        };
        let begun = ("quorum judge test", supervisor, place.path());
        let mut flags = arguments.session.clone();
        // Whether the sample is good is not the question.
        flags.progress = Progress::None;
        let (ending, view) = run.start(begun, &flags, screen)?;
        read_journal(place.path(), &mut rows)?;
        for (id, row) in (0..).map(TaskId).zip(&mut rows) {
            row.used(&view, id);
        }
        class = outcome(&ending.state).class;
    }
    if is_blind {
        rows.push(KindRow::not_possible(
            JudgeQuestion::Vision.as_str(),
            "it is not known to see pictures: `vision: true` says that it does",
        ));
    }
    let is_named = !arguments.kinds.is_empty();
    let document = JudgeTestDocument::of(name, rows, class, is_named);
    screen.show(&document);
    Ok(document.exit_code)
}
