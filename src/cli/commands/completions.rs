//! `quorum completions`: what a shell reads once, so that it asks `complete` at every key.

use clap::{Args, ValueEnum};
use clap_complete::env::Shells;

use crate::{
    cli::{command_error::Failure, complete::VARIABLE, screen::Screen},
    report::documents::commands::CompletionsDocument,
};

/// Print what completes commands, runs, tasks in your shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example: quorum completions bash > ~/.local/share/bash-completion/completions/quorum"
)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

worded! {
    /// A shell that can be told how to complete.
    #[derive(ValueEnum)]
    pub enum Shell {
        Bash = "bash",
        Zsh = "zsh",
        Fish = "fish",
        Elvish = "elvish",
        Powershell = "powershell",
    }
}

/// Titles of tasks hold spaces and quotes. Bash quotes what it takes for names of files.
const BASH_QUOTES: &str = "    local candidate
    for candidate in \"${COMPREPLY[@]}\"; do
        if [[ $candidate == *[^a-zA-Z0-9_./:=@,+%-]* ]]; then
            compopt -o filenames 2> /dev/null
        fi
    done
}
if [[ ";

/// Prints the script.
pub fn completions(arguments: &Completions, screen: &Screen) -> Result<u8, Failure> {
    let shell = arguments.shell;
    let shells = Shells::builtins();
    let completer = shells.completer(shell.as_str());
    let completer = completer.ok_or_else(|| internal!("no script for {}", shell.as_str()))?;
    let mut script = Vec::new();
    let program = program();
    completer
        .write_registration(VARIABLE, "quorum", "quorum", &program, &mut script)
        .map_err(Failure::internal)?;
    let mut script = String::from_utf8(script).map_err(Failure::internal)?;
    if shell == Shell::Bash {
        script = script.replacen("}\nif [[ ", BASH_QUOTES, 1);
    }
    screen.show(&CompletionsDocument { shell: shell.as_str(), script: &script });
    Ok(0)
}

/// The program that the shell calls: the name that it found this one by, else its path.
fn program() -> String {
    let typed = std::env::args().next().unwrap_or_default();
    let here = std::env::current_exe().ok();
    match here.filter(|_| typed.contains('/')) {
        Some(path) => path.display().to_string(),
        None => "quorum".to_owned(),
    }
}
