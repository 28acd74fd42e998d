//! `quorum init`: a mission that runs as written, to be changed step by step.
//!
//! Files that are there are never touched, except that a line is added to `.gitignore`. All of them are looked for
//! before the first is written, so that a refusal leaves nothing half made.
//!
//! | file | what |
//! |---|---|
//! | `templates` | the files of each template; `missions/` are templates too |

mod templates;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::{
    cli::{command_error::Failure, confirm::is_welcome, screen::Screen},
    report::documents::commands::InitDocument,
};
use supervisor::files::if_there;

use templates::File;

/// Write a mission that runs as it stands
#[derive(Debug, Args)]
#[command(after_help = "Example: quorum init --template code-review reviews")]
pub struct Init {
    /// The folder; made if it is missing
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// What to begin with
    #[arg(long, value_enum, value_name = "NAME", default_value_t)]
    pub template: InitTemplate,
    /// In place of a mission, what tells Claude Code, Codex and others how to use quorum
    #[arg(long, conflicts_with = "template")]
    pub skill: bool,
    /// In place of a mission, a plug-in of Claude Code: the tools of quorum mcp, and the same skill
    #[arg(long, conflicts_with = "template")]
    pub plugin: bool,
}

impl Init {
    fn files(&self) -> Vec<File> {
        match self.skill || self.plugin {
            true => templates::for_agents(self.skill, self.plugin),
            false => templates::files(self.template),
        }
    }
}

/// A template to begin with.
#[derive(Debug, Clone, Copy, Default, PartialEq, ValueEnum)]
pub enum InitTemplate {
    /// Two tasks, a worker and a reviewer
    #[default]
    Minimal,
    /// Claude Code works, Codex and Gemini CLI judge
    AgentClis,
    /// Agents that review the change of a git repository
    CodeReview,
    /// A mission for pipelines, with a workflow for GitHub
    CiGithub,
    /// A mission for pipelines, with a job for GitLab
    CiGitlab,
}

/// Writes the files of a template.
pub fn init(arguments: &Init, screen: &Screen) -> Result<u8, Failure> {
    let folder = &arguments.folder;
    let files = arguments.files();
    let has_mission = !(arguments.skill || arguments.plugin);
    refuse_what_is_there(folder, &files)?;
    if !confirmed(folder, &files, screen)? {
        screen.error("nothing was written\n");
        return Ok(0);
    }
    for file in &files {
        write(&folder.join(file.path), file).map_err(|error| failed(folder, file.path, &error))?;
    }
    let wanted = if has_mission { templates::ignored(arguments.template) } else { &[] };
    let added = ignore(folder, wanted);
    let added = added.map_err(|error| failed(folder, ".gitignore", &error))?;
    let mission = folder.join("mission.yaml");
    if screen.is_json() {
        screen.document(&InitDocument {
            folder: folder.display().to_string(),
            files: files.iter().map(|file| file.path).collect(),
            ignored: added,
        });
    } else if !screen.output().quiet {
        let ignored = (!added.is_empty()).then_some(".gitignore");
        let lines = files.iter().map(|file| file.path).chain(ignored);
        let lines = lines.map(|path| format!("wrote {}\n", folder.join(path).display()));
        let mission = mission.display();
        let next = match has_mission {
            true => format!("quorum run {mission}\n      quorum doctor --mission {mission}"),
            false => "quorum help from-your-agent".to_owned(),
        };
        screen.result(&format!("{}\nnext: {next}\n", lines.collect::<String>()));
    }
    Ok(0)
}

/// Exit 2 naming every file that is in the way.
fn refuse_what_is_there(folder: &Path, files: &[File]) -> Result<(), Failure> {
    if folder.exists() && !folder.is_dir() {
        return Err(usage!("{} is not a folder", folder.display()));
    }
    // A dangling link is there as well.
    let there: Vec<String> = files
        .iter()
        .map(|file| folder.join(file.path))
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| path.display().to_string())
        .collect();
    if there.is_empty() {
        return Ok(());
    }
    Err(usage!("already there: {}", there.join(", "))
        .help("nothing was written; move these files away, or name another folder: `quorum init DIR`"))
}

/// Asks where somebody can answer; without a terminal there is nobody to ask, and nothing that could be lost.
fn confirmed(folder: &Path, files: &[File], screen: &Screen) -> Result<bool, Failure> {
    let files = files.iter().map(|file| format!("  {}\n", folder.join(file.path).display()));
    let question = format!("{}write these files?", files.collect::<String>());
    is_welcome(screen, &question)
}

fn failed(folder: &Path, file: &str, error: &io::Error) -> Failure {
    environment!("cannot write {}: {error}", folder.join(file).display())
}

fn write(path: &Path, file: &File) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mode = if file.executable { 0o777 } else { 0o666 };
    // Not over a file that somebody made meanwhile.
    let mut target = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    target.write_all(file.content.as_bytes())
}

/// Adds what git must not see to `.gitignore`: what is not in it yet.
fn ignore(folder: &Path, wanted: &[&'static str]) -> io::Result<Vec<&'static str>> {
    let path = folder.join(".gitignore");
    let before = if_there(fs::read_to_string(&path))?.unwrap_or_default();
    let bare = |line: &str| line.trim().trim_matches('/').to_owned();
    let is_missing = |entry: &&&str| before.lines().all(|line| bare(line) != bare(entry));
    let missing: Vec<&str> = wanted.iter().filter(is_missing).copied().collect();
    if missing.is_empty() {
        return Ok(missing);
    }
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let text = format!("{gap}{}\n", missing.join("\n"));
    let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(missing)
}
