//! `quorum config show`: which settings hold, and which layer each of them comes from.
//!
//! The precedence is that of runs: flag, environment, mission, project, user, default. What this prints is made from
//! the same files, flags and defaults that a run reads, layer by layer.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use serde_json::{Value, json};

use crate::{
    cli::{
        args::{OutputArgs, SessionFlags},
        command_error::Failure,
        load::{self, mission_file},
        options::{apply_flags, options_with_config},
        project::{own_state_folder, project_config_path},
        screen::Screen,
    },
    report::documents::commands::{ConfigDocument, ConfigFiles, ConfigSetting},
    runtime::{layers_of, user_settings},
};
use rules::{
    mission::{
        self, Layers, default_settings,
        model::{self, Settings},
        money_value, setting_paths, settings_of,
    },
    plan::RunOptions,
};

/// Show effective settings and their sources
#[derive(Debug, Args)]
#[command(after_help = "Example: quorum config show --origin")]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What can be done with settings.
#[derive(Debug, clap::Subcommand)]
pub enum ConfigAction {
    Show(ShowConfigArgs),
}

/// Show the settings that a run would have
#[derive(Debug, Args)]
#[command(after_help = "Example: quorum config show --origin --mission mission.yaml -j 4")]
pub struct ShowConfigArgs {
    /// Say where each setting comes from
    #[arg(long)]
    pub origin: bool,
    /// The mission file [default: mission.yaml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub mission: Option<PathBuf>,
    #[command(flatten)]
    pub flags: SessionFlags,
}

/// One setting, and the layer that decided it.
struct SettingRow {
    name: String,
    value: Value,
    origin: SettingOrigin,
}

/// A layer, and what of it: a flag, a variable, a file.
#[derive(Clone)]
struct SettingOrigin {
    layer: &'static str,
    source: Option<String>,
}

impl SettingOrigin {
    const DEFAULT: Self = Self { layer: "default", source: None };

    fn new(layer: &'static str, source: impl Into<String>) -> Self {
        Self { layer, source: Some(source.into()) }
    }
}

/// Does what the arguments say.
pub fn config(arguments: &ConfigArgs, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let ConfigAction::Show(arguments) = &arguments.action;
    let matches = matches.subcommand_matches("show").unwrap_or(matches);
    show(arguments, matches, screen)
}

fn show(arguments: &ShowConfigArgs, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let mut options = options_with_config()?;
    let mission = mission_file(arguments.mission.as_deref());
    let files = files(mission.as_deref(), &options)?;
    apply_flags(&mut options, &arguments.flags, matches)?;
    let mut rows = settings(&files, &options, matches);
    rows.extend(flags_alone(arguments, matches, screen)?);
    let shown = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    let files = ConfigFiles {
        mission: shown(mission),
        project: shown(project_config_path()?),
        user: shown(user_settings().filter(|path| path.exists())),
    };
    screen.show(&document(&rows, files, arguments.origin));
    Ok(0)
}

/// The settings of each file with their origin, the strongest first; the defaults come last.
fn files(mission: Option<&Path>, options: &RunOptions) -> Result<Vec<(SettingOrigin, Settings)>, Failure> {
    let layers = layers_of(options).map_err(Failure::mission)?;
    let mut files = Vec::new();
    if let Some(path) = mission {
        let origin = SettingOrigin::new("mission", path.display().to_string());
        files.push((origin, own_settings(path, &layers)?));
    }
    let shown = |path: Option<PathBuf>| path.map_or_else(String::new, |path| path.display().to_string());
    if let Some(project) = layers.project {
        let origin = SettingOrigin::new("project", shown(project_config_path()?));
        files.push((origin, project.settings));
    }
    if let Some(user) = layers.user {
        files.push((SettingOrigin::new("user", shown(user_settings())), user.settings));
    }
    files.push((SettingOrigin::DEFAULT, default_settings()));
    Ok(files)
}

/// The settings of the mission itself: it is loaded over files that have agents, but no settings.
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
        has_workers: layers.has_workers,
        filled_by: None,
    };
    let loaded = load::read(path).and_then(|source| mission::load(&source, &layers));
    Ok(settings_of(loaded.map_err(Failure::mission)?.mission))
}

/// All settings of the key table. The strongest file decides, with what flags and variables say above the files; to what is
/// gathered (`protect`, `prices`) each file adds its part.
fn settings(
    files: &[(SettingOrigin, Settings)],
    options: &RunOptions,
    matches: &ArgMatches,
) -> Vec<SettingRow> {
    let all = files.iter().fold(Settings::default(), |above, (_, below)| above.or(below.clone()));
    let row = |(name, _): (String, bool)| {
        let by_file = || {
            let mut said = files.iter().filter(|(_, settings)| settings.value_at(&name).is_some());
            let mut origin = said.next()?.0.clone();
            if Settings::gathers(&name) {
                let others = said.filter_map(|(other, _)| other.source.as_deref());
                let sources = origin.source.as_deref().into_iter().chain(others);
                let sources: Vec<&str> = sources.collect();
                origin.source = (!sources.is_empty()).then(|| sources.join(", "));
            }
            Some((all.value_at(&name)?, origin))
        };
        let said = above(&name, options, matches).or_else(by_file);
        let (value, origin) = said.unwrap_or((Value::Null, SettingOrigin::DEFAULT));
        SettingRow { name, value, origin }
    };
    setting_paths().into_iter().map(row).collect()
}

/// The value of a flag or a variable that goes before a setting of files; `None` where neither is given.
fn above(name: &str, options: &RunOptions, matches: &ArgMatches) -> Option<(Value, SettingOrigin)> {
    let by = |id: &str, variable: &str| {
        said(id, matches).unwrap_or_else(|| SettingOrigin::new("environment", variable))
    };
    match name {
        "concurrency" => options.jobs.map(|n| (json!(n), by("jobs", "QUORUM_JOBS"))),
        "evaluate" if options.no_eval => {
            // `--no-eval` that a variable turned off does not count; `EVAL=off` may have done it then.
            let by_flag = matches.get_flag("no_eval");
            let origin = if by_flag { said("no_eval", matches) } else { None };
            Some((json!(false), origin.unwrap_or_else(|| SettingOrigin::new("environment", "EVAL"))))
        }
        "evalThreshold" => options
            .eval_threshold
            .map(|bar| (json!(bar.points.to_f64()), by("eval_threshold", "EVAL_THRESHOLD"))),
        "maxAttempts" => options.max_attempts.map(|n| (json!(n), by("max_attempts", "QUORUM_MAX_ATTEMPTS"))),
        "budget.maxCost" => {
            options.max_cost.map(|amount| (money_value(amount), by("max_cost", "QUORUM_MAX_COST")))
        }
        "budget.maxTokens" => options.max_tokens.map(|n| (json!(n), by("max_tokens", "QUORUM_MAX_TOKENS"))),
        _ => None,
    }
}

/// The flag or variable that set an argument; `None` if nobody did.
fn said(id: &str, matches: &ArgMatches) -> Option<SettingOrigin> {
    let arguments = OutputArgs::augment_args(SessionFlags::augment_args(Command::new("quorum")));
    let argument = arguments.get_arguments().find(|argument| argument.get_id() == id)?;
    match matches.value_source(id)? {
        ValueSource::CommandLine => {
            let long = argument.get_long().unwrap_or(id);
            Some(SettingOrigin::new("flag", format!("--{long}")))
        }
        ValueSource::EnvVariable => {
            let name = argument.get_env().map(|name| name.to_string_lossy().into_owned());
            Some(SettingOrigin::new("environment", name.unwrap_or_default()))
        }
        _ => None,
    }
}

/// The settings that only flags and variables can set.
fn flags_alone(
    arguments: &ShowConfigArgs,
    matches: &ArgMatches,
    screen: &Screen,
) -> Result<Vec<SettingRow>, Failure> {
    let flags = &arguments.flags;
    let folder = own_state_folder(screen.output())?;
    let allowed: Vec<&str> = flags.allow.iter().map(|class| class.as_str()).collect();
    let rows = [
        ("timeout", "timeout", json!(flags.timeout.map(|span| span.to_string()))),
        ("waitApprovals", "wait_approvals", json!(flags.wait_approvals.map(|span| span.to_string()))),
        ("strict", "strict", json!(flags.demands.strict)),
        ("failFast", "fail_fast", json!(flags.fail_fast)),
        ("offline", "offline", json!(flags.offline)),
        ("record", "record", json!(flags.record)),
        ("allow", "allow", json!(allowed)),
        ("stateDir", "state_dir", json!(folder.path().display().to_string())),
    ];
    let rows = rows.map(|(name, id, value)| SettingRow {
        name: name.to_owned(),
        value,
        origin: said(id, matches).unwrap_or(SettingOrigin::DEFAULT),
    });
    // The state folder lies beside the project's file, if there is one.
    let mut rows = Vec::from(rows);
    if let (Some(row), Some(path)) = (rows.last_mut(), project_config_path()?)
        && row.origin.source.is_none()
    {
        row.origin = SettingOrigin::new("project", path.display().to_string());
    }
    Ok(rows)
}

fn document(rows: &[SettingRow], files: ConfigFiles, with_origin: bool) -> ConfigDocument<'_> {
    let settings = rows.iter().map(|row| ConfigSetting {
        name: &row.name,
        value: &row.value,
        origin: row.origin.layer,
        source: row.origin.source.as_deref(),
        shown: text(&row.value),
    });
    ConfigDocument { settings: settings.collect(), files, with_origin }
}

/// A value as people are told it.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        // 60.0 of points is 60 to people.
        Value::Number(number) => number.to_string().trim_end_matches(".0").to_owned(),
        other => other.to_string(),
    }
}
