//! `quorum completions`: scripts that complete commands and flags in a shell.

use clap::Args;
use clap_complete::Shell;
use serde_json::json;

use super::args::command;
use super::failure::Failure;
use super::screen::Screen;

/// Print the script that completes commands and flags in your shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example: quorum completions bash > ~/.local/share/bash-completion/completions/quorum"
)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

/// Prints the script.
pub fn completions(arguments: &Completions, screen: &Screen) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "quorum", &mut script);
    let script = String::from_utf8(script).map_err(Failure::internal)?;
    if screen.is_json() {
        screen.document(&json!({
            "schema": "quorum.completions/v1",
            "shell": arguments.shell.to_string(),
            "script": script,
        }));
    } else {
        screen.result(&script);
    }
    Ok(0)
}
