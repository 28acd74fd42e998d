//! `quorum config show`: which settings hold, and which layer each of them comes from.
//!
//! The precedence is that of runs: flag, environment, mission, project, user, default. What this prints is made from
//! the same files, flags and defaults that a run reads, layer by layer.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use serde_json::{Value, json};

use crate::mission::model::{self, Settings};
use crate::mission::{self, Layers, RunOptions, Source, default_settings};
use crate::report::settings::{Setting, human};
use crate::runtime::{layers_of, user_settings};

use super::args::{Output, SessionFlags};
use super::failure::Failure;
use super::project::{project_config_path, state_folder};
use super::screen::Screen;
use super::session::{lay_over, options_with_config};

/// Show the settings that hold, and where they come from
#[derive(Debug, Args)]
#[command(after_help = "Example: quorum config show --origin")]
pub struct Config {
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What can be done with settings.
#[derive(Debug, clap::Subcommand)]
pub enum ConfigAction {
    Show(Show),
}

/// Show the settings that a run would have
#[derive(Debug, Args)]
#[command(after_help = "Example: quorum config show --origin --mission mission.yaml -j 4")]
pub struct Show {
    /// Say where each setting comes from
    #[arg(long, env = "QUORUM_ORIGIN")]
    pub origin: bool,
    /// The mission whose settings hold [default: mission.yaml, if it is there]
    #[arg(long, value_name = "FILE", env = "QUORUM_MISSION")]
    pub mission: Option<PathBuf>,
    #[command(flatten)]
    pub flags: SessionFlags,
}

/// One setting, and the layer that decided it.
struct Row {
    name: &'static str,
    value: Value,
    origin: Origin,
}

/// A layer, and what of it: a flag, a variable, a file.
#[derive(Clone)]
struct Origin {
    layer: &'static str,
    source: Option<String>,
}

impl Origin {
    const DEFAULT: Self = Self {
        layer: "default",
        source: None,
    };

    fn new(layer: &'static str, source: impl Into<String>) -> Self {
        Self {
            layer,
            source: Some(source.into()),
        }
    }

    fn text(&self) -> String {
        match &self.source {
            Some(source) => format!("{}: {source}", self.layer),
            None => self.layer.to_owned(),
        }
    }
}

/// Reads one setting out of a file's settings.
type Reader = fn(&Settings) -> Option<Value>;

/// The settings of files, in the order in which they are shown.
const SETTINGS: &[(&str, Reader)] = &[
    ("concurrency", |s| s.concurrency.map(|n| json!(n))),
    ("evaluate", |s| s.evaluate.map(|on| json!(on))),
    ("evalThreshold", |s| {
        s.eval_threshold.map(|bar| json!(bar.points.to_f64()))
    }),
    ("failOpenOnUnparsedEval", |s| {
        s.fail_open_on_unparsed_eval.map(|on| json!(on))
    }),
    ("maxAttempts", |s| s.max_attempts.map(|n| json!(n))),
    ("maxFixAttempts", |s| s.max_fix_attempts.map(|n| json!(n))),
    ("maxRetries", |s| s.max_retries.map(|n| json!(n))),
    ("maxAssessmentRetries", |s| {
        s.max_assessment_retries.map(|n| json!(n))
    }),
    ("taskTimeout", |s| {
        s.task_timeout.map(|span| json!(span.to_string()))
    }),
    ("independence", |s| s.independence.map(|word| json!(word))),
    ("consensus", |s| s.consensus.map(|word| json!(word))),
    ("verifyPriorFeedback", |s| {
        s.verify_prior_feedback.map(|on| json!(on))
    }),
    ("tellCriteria", |s| s.tell_criteria.map(|on| json!(on))),
    ("finalChecks", |s| s.final_checks.map(|word| json!(word))),
    ("panel", |s| s.panel.map(|word| json!(word))),
    ("referBelow", |s| s.refer_below.map(|number| json!(number.get()))),
    ("judgeBreaker", |s| s.judge_breaker.map(|n| json!(n))),
    ("orchestrator", |s| {
        s.orchestrator.as_ref().map(|name| json!(name))
    }),
    ("maxQuestionRounds", |s| s.max_question_rounds.map(|n| json!(n))),
    ("maxResolutionAttempts", |s| {
        s.max_resolution_attempts.map(|n| json!(n))
    }),
    ("onDependencyFailed", |s| {
        let order = s.on_dependency_failed?;
        Some(json!(order.iter().collect::<Vec<_>>()))
    }),
    ("foundation", |s| s.foundation.map(|on| json!(on))),
    ("maxDelegationDepth", |s| s.max_delegation_depth.map(|n| json!(n))),
    ("maxDelegations", |s| s.max_delegations.map(|n| json!(n))),
    ("staleThreshold", |s| {
        s.stale_threshold.map(|span| json!(span.to_string()))
    }),
    ("maxWindowWait", |s| {
        s.max_window_wait.map(|span| json!(span.to_string()))
    }),
    ("maxOutput", |s| s.max_output.map(|size| json!(size.to_string()))),
    ("approvalGates", |s| {
        let gates = s.approval_gates.as_ref()?;
        Some(json!(gates.iter().map(|gate| &*gate.name).collect::<Vec<_>>()))
    }),
    ("autoRejectOnTimeout", |s| {
        s.auto_reject_on_timeout.map(|on| json!(on))
    }),
    ("checksMayWrite", |s| {
        s.checks_may_write.as_ref().map(|globs| json!(globs))
    }),
    ("defaultChannels", |s| {
        s.default_channels.as_ref().map(|names| json!(names))
    }),
    ("middleware.agent", |s| {
        let chain = s.middleware.agent.as_ref()?;
        Some(json!(chain.names().collect::<Vec<_>>()))
    }),
    ("middleware.coordination", |s| {
        let chain = s.middleware.coordination.as_ref()?;
        Some(json!(chain.names().collect::<Vec<_>>()))
    }),
    ("clarification", |s| s.clarification.map(|word| json!(word))),
];

/// Does what the arguments say.
pub fn config(arguments: &Config, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let ConfigAction::Show(arguments) = &arguments.action;
    let matches = matches.subcommand_matches("show").unwrap_or(matches);
    show(arguments, matches, screen)
}

fn show(arguments: &Show, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let mut options = options_with_config()?;
    let mission = mission_file(arguments.mission.as_deref());
    let files = files(mission.as_deref(), &options)?;
    lay_over(&mut options, &arguments.flags, matches)?;
    let mut rows = settings(&files, &options, matches);
    rows.extend(flags_alone(arguments, matches, screen)?);
    let paths = Paths {
        mission,
        project: project_config_path()?,
        user: user_settings().filter(|path| path.exists()),
    };
    if screen.is_json() {
        screen.document(&document(&rows, &paths));
    } else {
        screen.result(&table(&rows, arguments.origin, screen));
    }
    Ok(0)
}

/// The mission that was named, or `mission.yaml` if it is there.
pub fn mission_file(named: Option<&Path>) -> Option<PathBuf> {
    let usual = PathBuf::from("mission.yaml");
    named
        .map(Path::to_owned)
        .or_else(|| usual.is_file().then_some(usual))
}

struct Paths {
    mission: Option<PathBuf>,
    project: Option<PathBuf>,
    user: Option<PathBuf>,
}

/// The settings of each file with their origin, the strongest first; the defaults come last.
fn files(mission: Option<&Path>, options: &RunOptions) -> Result<Vec<(Origin, Settings)>, Failure> {
    let layers = layers_of(options).map_err(Failure::mission)?;
    let mut files = Vec::new();
    if let Some(path) = mission {
        let origin = Origin::new("mission", path.display().to_string());
        files.push((origin, own_settings(path, &layers)?));
    }
    let shown = |path: Option<PathBuf>| path.map_or_else(String::new, |path| path.display().to_string());
    if let Some(project) = layers.project {
        let origin = Origin::new("project", shown(project_config_path()?));
        files.push((origin, project.settings));
    }
    if let Some(user) = layers.user {
        files.push((Origin::new("user", shown(user_settings())), user.settings));
    }
    files.push((Origin::DEFAULT, default_settings()));
    Ok(files)
}

/// What the mission itself says: it is loaded over files that have agents, but no settings.
fn own_settings(path: &Path, layers: &Layers) -> Result<Settings, Failure> {
    let without = |config: &Option<model::Config>| {
        config.clone().map(|mut config| {
            config.settings = Settings::default();
            config
        })
    };
    let layers = Layers {
        project: without(&layers.project),
        user: without(&layers.user),
    };
    let loaded = Source::read(path).and_then(|source| mission::load(&source, &layers));
    Ok(loaded.map_err(Failure::mission)?.mission.settings)
}

/// The settings of which the strongest file decides, with what flags and variables say above the files. Of `protect`, `prices`,
/// `sla` and `budget` every file has a part.
fn settings(files: &[(Origin, Settings)], options: &RunOptions, matches: &ArgMatches) -> Vec<Row> {
    SETTINGS
        .iter()
        .map(|(name, read)| {
            let (value, origin) = above(name, options, matches)
                .or_else(|| {
                    let mut files = files.iter();
                    files.find_map(|(origin, settings)| Some((read(settings)?, origin.clone())))
                })
                .unwrap_or((Value::Null, Origin::DEFAULT));
            Row { name, value, origin }
        })
        .collect()
}

/// What a flag or a variable says about a setting of files.
fn above(name: &str, options: &RunOptions, matches: &ArgMatches) -> Option<(Value, Origin)> {
    let by =
        |id: &str, variable: &str| said(id, matches).unwrap_or_else(|| Origin::new("environment", variable));
    match name {
        "concurrency" => options.jobs.map(|n| (json!(n), by("jobs", "QUORUM_JOBS"))),
        "evaluate" if options.no_eval => {
            // `--no-eval` that a variable turned off does not count; `EVAL=off` may have done it then.
            let by_flag = matches.get_flag("no_eval");
            let origin = if by_flag { said("no_eval", matches) } else { None };
            Some((
                json!(false),
                origin.unwrap_or_else(|| Origin::new("environment", "EVAL")),
            ))
        }
        "evalThreshold" => options
            .eval_threshold
            .map(|bar| (json!(bar.points.to_f64()), by("eval_threshold", "EVAL_THRESHOLD"))),
        "maxAttempts" => options
            .max_attempts
            .map(|n| (json!(n), by("max_attempts", "QUORUM_MAX_ATTEMPTS"))),
        _ => None,
    }
}

/// The flag or variable that set an argument; `None` if nobody did.
fn said(id: &str, matches: &ArgMatches) -> Option<Origin> {
    let arguments = Output::augment_args(SessionFlags::augment_args(Command::new("quorum")));
    let argument = arguments
        .get_arguments()
        .find(|argument| argument.get_id() == id)?;
    match matches.value_source(id)? {
        ValueSource::CommandLine => {
            let long = argument.get_long().unwrap_or(id);
            Some(Origin::new("flag", format!("--{long}")))
        }
        ValueSource::EnvVariable => {
            let name = argument.get_env().map(|name| name.to_string_lossy().into_owned());
            Some(Origin::new("environment", name.unwrap_or_default()))
        }
        _ => None,
    }
}

/// What no file can say.
fn flags_alone(arguments: &Show, matches: &ArgMatches, screen: &Screen) -> Result<Vec<Row>, Failure> {
    let flags = &arguments.flags;
    let folder = state_folder(screen.output())?;
    let allowed: Vec<&str> = flags.allow.iter().map(|class| class.as_str()).collect();
    let rows = [
        (
            "timeout",
            "timeout",
            json!(flags.timeout.map(|span| span.to_string())),
        ),
        (
            "waitApprovals",
            "wait_approvals",
            json!(flags.wait_approvals.map(|span| span.to_string())),
        ),
        ("strict", "strict", json!(flags.strict)),
        ("failFast", "fail_fast", json!(flags.fail_fast)),
        ("offline", "offline", json!(flags.offline)),
        ("record", "record", json!(flags.record)),
        ("allow", "allow", json!(allowed)),
        (
            "stateDir",
            "state_dir",
            json!(folder.path().display().to_string()),
        ),
    ];
    let rows = rows.map(|(name, id, value)| Row {
        name,
        value,
        origin: said(id, matches).unwrap_or(Origin::DEFAULT),
    });
    // The state folder lies beside the project's file, if there is one.
    let mut rows = Vec::from(rows);
    if let (Some(row), Some(path)) = (rows.last_mut(), project_config_path()?)
        && row.origin.layer == "default"
    {
        row.origin = Origin::new("project", path.display().to_string());
    }
    Ok(rows)
}

fn document(rows: &[Row], paths: &Paths) -> Value {
    let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let settings: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "name": row.name,
                "value": row.value,
                "origin": row.origin.layer,
                "source": row.origin.source,
            })
        })
        .collect();
    json!({
        "schema": "quorum.config/v1",
        "settings": settings,
        "files": {
            "mission": shown(&paths.mission),
            "project": shown(&paths.project),
            "user": shown(&paths.user),
        },
    })
}

fn table(rows: &[Row], with_origin: bool, screen: &Screen) -> String {
    let text = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let settings: Vec<Setting> = rows
        .iter()
        .map(|row| Setting {
            name: row.name,
            value: text(&row.value),
            origin: row.origin.text(),
        })
        .collect();
    human(&settings, with_origin, &screen.out())
}
