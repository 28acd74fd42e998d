//! `quorum man`: manual pages, made from the same tree as the help.

use std::path::{Path, PathBuf};

use clap::{Args, Command};

use crate::cli::{command_error::Failure, screen::Screen};

/// Print the manual page of quorum or of a command
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: quorum man run | man -l -\n          quorum man --dir ~/.local/share/man/man1"
)]
pub struct Man {
    /// The command [default: quorum itself]
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub words: Vec<String>,
    /// Write all pages to this folder instead
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Prints one page, or writes all.
pub fn man(arguments: &Man, root: Command, screen: &Screen) -> Result<u8, Failure> {
    let mut root = root.help_template("{all-args}");
    root.build();
    if let Some(folder) = &arguments.dir {
        let count = write_all(&root, folder)
            .map_err(|error| environment!("cannot write to {}: {error}", folder.display()))?;
        screen.result(&format!("wrote {count} pages to {}\n", folder.display()));
        return Ok(0);
    }
    let words = &arguments.words;
    let found = words.iter().try_fold(&root, |command, word| command.find_subcommand(word));
    let Some(found) = found else {
        return Err(
            usage!("there is no command '{}'", words.join(" ")).help("`quorum help` lists the commands")
        );
    };
    let page = page(found).map_err(Failure::internal)?;
    screen.result(&String::from_utf8_lossy(&page));
    Ok(0)
}

fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}

/// `quorum.1`, `quorum-run.1`, `quorum-dlq-retry.1` and so on. Hidden commands have none.
fn write_all(command: &Command, folder: &Path) -> std::io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    supervisor::files::replace_file(&folder.join(format!("{name}.1")), &page(command)?)?;
    let mut count = 1;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        count += write_all(sub, folder)?;
    }
    Ok(count)
}
