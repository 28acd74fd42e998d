//! The documentation holds: every command and every mission of every page is run, every screen that a page shows behind
//! its commands is compared with what they print, every link leads somewhere.
//!
//! A page is run in an empty folder of its own. What blocks mean is said in `CONTRIBUTING.md`.

mod run;
mod shown;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use crate::support::{Finished, Running, Workspace};

use crate::support::pages::{Block, Page, Use, project};
use run::run_page;
use shown::what_is_not_printed;

/// Pages that are run at the same time: they mostly wait.
const WORKERS: usize = 4;
/// Lines that a README may have: it is read at one go.
const README_LINES: usize = 150;

/// Does something for every item, several at a time, and gathers what went wrong.
fn each<T: Send>(items: Vec<T>, check: impl Fn(T) -> Vec<String> + Sync) {
    let (items, wrong) = (Mutex::new(items.into_iter()), Mutex::new(Vec::new()));
    let next = || items.lock().expect("nobody panics with it").next();
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(item) = next() {
                    let found = check(item);
                    wrong.lock().expect("nobody panics with it").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("nobody panics with it");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_command_of_every_page_does_what_its_page_says() {
    each(Page::all(), |page| run_page(&page));
}

#[test]
fn every_block_says_what_it_is() {
    let mut wrong = Vec::new();
    for page in Page::all() {
        for block in page.blocks() {
            if let Err(why) = &block.used {
                wrong.push(format!("{}:{}: {why}", page.path, block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_block_that_is_not_run_says_why_and_holds_no_command_of_quorum() {
    let mut wrong = Vec::new();
    for page in Page::all() {
        let skipped = page.blocks().into_iter().filter(|block| block.used == Ok(Use::Skip));
        for Block { line, body, above, .. } in skipped {
            let place = format!("{}:{line}", page.path);
            if !(above.starts_with("<!-- not run: ") && above.ends_with(" -->")) {
                wrong.push(format!("{place}: no `<!-- not run: REASON -->` on the line above"));
            }
            if let Some(command) = body.lines().find(|line| line.starts_with("quorum ")) {
                wrong.push(format!("{place}: `{command}` could be run"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A command in the middle of a sentence has stand-ins such as TASK, so it is not run as it is meant; but what quorum refuses
/// to understand is told apart from what is not there.
/// Whether quorum took a command for one, whatever came of it. A sentence may name a command without what it needs, and a value by a
/// stand-in in capitals.
fn is_understood(said: &str) -> bool {
    let stand_in =
        |value: &str| value.bytes().any(|byte| byte.is_ascii_uppercase()) && value == value.to_uppercase();
    let value = said.strip_prefix("error: invalid value '").and_then(|rest| rest.split('\'').next());
    !said.contains("For more information, try '--help'.")
        || said.starts_with("error: the following required arguments were not provided")
        || said.starts_with("error: a value is required for ")
        || value.is_some_and(stand_in)
}

#[test]
fn a_command_that_quorum_does_not_understand_is_told_from_one_that_fails() {
    for (command, understood) in [
        ("status", true),
        ("approve", true),
        ("status --format FORMAT", true),
        ("run MISSION --report KIND=PATH", true),
        ("status --format xml", false),
        ("run mission.yaml --timeout soon", false),
        ("frobnicate", false),
        ("run --nope", false),
        ("resume one two", false),
        ("run --progress", true),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let finished = Workspace::new().quorum(&words);
        assert_ne!(finished.code(), Some(0), "{command}");
        assert_eq!(is_understood(&finished.stderr), understood, "{command}: {}", finished.stderr);
    }
}

#[test]
fn every_command_in_a_sentence_is_one_that_quorum_understands() {
    let commands: BTreeSet<(String, String)> = Page::all()
        .iter()
        .flat_map(|page| {
            page.commands_in_sentences().map(|command| (command, page.path.clone())).collect::<Vec<_>>()
        })
        .collect();
    assert!(commands.len() > 100, "only {} were found", commands.len());
    each(Vec::from_iter(commands), |(command, path)| {
        let words = shlex::split(&command).unwrap_or_default();
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        // A server that is understood would not end.
        words.extend((words[1] == "serve").then_some("--help"));
        // The name of a command may be a stand-in too.
        if words[1].bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Vec::new();
        }
        let finished = Workspace::new().quorum(&words[1..]);
        match is_understood(&finished.stderr) {
            true => Vec::new(),
            false => vec![format!("{path}: `{command}`:\n{}", finished.stderr)],
        }
    });
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let pages = Page::all();
    let mut wrong = Vec::new();
    for page in &pages {
        for (line, target) in page.links() {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = page.beside(file);
            let there = pages.iter().find(|page| page.path == file);
            let is_there = project(&file).exists();
            let anchor_is_there =
                anchor.is_empty() || there.is_some_and(|page| page.anchors().contains(anchor));
            if !is_there || !anchor_is_there {
                wrong.push(format!("{}:{line}: ({target}) leads nowhere", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_names_every_page_once() {
    let summary = Page::read("docs/SUMMARY.md");
    let named: Vec<String> = summary.links().iter().map(|(_, target)| summary.beside(target)).collect();
    let all: BTreeSet<String> = Page::all()
        .into_iter()
        .map(|page| page.path)
        .filter(|path| path.starts_with("docs/") && *path != summary.path)
        .collect();
    assert_eq!(BTreeSet::from_iter(named.clone()), all);
    assert_eq!(named.len(), all.len(), "a page is named twice: {named:?}");
    assert!(all.len() >= 20, "there are {} pages only", all.len());
}

#[test]
fn the_readme_is_read_at_one_go() {
    let lines = Page::read("README.md").text.lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines");
}

/// A copy of `missions/` in a folder of its own, which is a git repository with a change that can be reviewed.
fn missions() -> Workspace {
    let workspace = Workspace::new().like_users();
    let from = project("missions");
    let script = format!(
        "set -e; cp -R '{}' missions
         git init -q; git config user.email ada@example.org; git config user.name Ada
         git add missions; git commit -qm 'Example missions'
         echo '# A change.' >> missions/quickstart.yaml; git commit -qam 'A change'",
        from.display()
    );
    workspace.bash(&script).exits(0);
    workspace
}

fn quorum_in(workspace: &Workspace, line: &str) -> Finished {
    let words = shlex::split(line).expect("it is a command line");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(words[0], "quorum", "{line}");
    Running::start(workspace.command(&words[1..])).finish()
}

#[test]
fn the_screen_of_the_readme_is_that_of_the_quickstart() {
    let readme = Page::read("README.md");
    let blocks = readme.blocks();
    let screen = blocks.iter().find(|block| block.used == Ok(Use::Shown));
    let screen = screen.expect("the README shows what a run looks like");
    let finished = quorum_in(&missions(), "quorum run missions/quickstart.yaml").exits(0);
    let printed = finished.stderr + &finished.stdout;
    if let Some(missing) = what_is_not_printed(&screen.body, &printed) {
        panic!("the README shows `{missing}`, which is not printed:\n{printed}");
    }
}

/// Each row of the index has a command and what it exits with, however often it is run in one folder. Those that need a
/// model are validated.
#[test]
fn every_mission_of_the_index_exits_as_the_index_says_three_times_in_a_row() {
    let index = Page::read("missions/README.md");
    let rows: Vec<(String, String)> = index
        .text
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let command = cells.get(2)?.strip_prefix('`')?.strip_suffix('`')?;
            Some((command.to_owned(), (*cells.get(3)?).to_owned()))
        })
        .collect();
    let on_disk = std::fs::read_dir(project("missions")).expect("the folder is there");
    let on_disk = on_disk.filter(|entry| {
        let path = entry.as_ref().expect("the folder can be read").path();
        path.extension().is_some_and(|extension| extension == "yaml")
    });
    assert_eq!(rows.len(), on_disk.count(), "each mission has its row: {rows:?}");
    each(rows, |(command, exit)| {
        let wanted: String = exit.chars().take_while(char::is_ascii_digit).collect();
        let (command, wanted) = match wanted.parse() {
            Ok(code) => (command, code),
            Err(_) => (command.replace("quorum run", "quorum validate"), 0),
        };
        // A build that knows workers finds no server here.
        let has_workers = cfg!(feature = "temporal") && command.contains("/machines.yaml");
        let wanted = if has_workers { 9 } else { wanted };
        let command = command.trim_end_matches(" -j 1");
        // What is left by a run that waits or met a limit is in the way of the next one.
        let again = if [7, 8].contains(&wanted) { " --fresh --yes" } else { "" };
        let workspace = missions();
        let commands = [command.to_owned(), format!("{command}{again}"), format!("{command}{again}")];
        let wrong = commands.iter().enumerate().find_map(|(before, command)| {
            let finished = quorum_in(&workspace, command);
            (finished.code() != Some(wanted)).then(|| {
                format!(
                    "missions/README.md: `{command}` exits {:?} and not {wanted} after {before} runs:\n{}{}",
                    finished.code(),
                    finished.stderr,
                    finished.stdout
                )
            })
        });
        wrong.into_iter().collect()
    });
}

#[test]
fn every_folder_of_the_index_of_missions_is_used_by_one() {
    let index = Page::read("missions/README.md").text;
    for entry in std::fs::read_dir(project("missions")).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        let name = Path::file_stem(&path).and_then(|name| name.to_str()).unwrap_or_default();
        assert!(
            name == "README" || index.contains(&format!("[{name}]({name}.yaml)")),
            "missions/README.md does not name {name}"
        );
    }
}
