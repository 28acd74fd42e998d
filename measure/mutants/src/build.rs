//! The copy of the repository: made, mutated, and built until the compiler has nothing to say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::find;
use crate::render::Source;

/// How many times the compiler may refuse mutants before something else must be wrong.
const ROUNDS: usize = 40;

/// Reads the sources of the modules, tests left out, and numbers their mutants.
pub fn read_rooms(root: &Path, modules: &[String]) -> Result<Vec<Source>> {
    let mut paths = Vec::new();
    for module in modules {
        rust_files(&root.join(module), &mut paths)?;
    }
    paths.sort();
    let mut sources = Vec::new();
    let mut id = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path)?;
        let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
        let mut source = find::find(name, text).with_context(|| format!("cannot read {}", path.display()))?;
        for mutant in &mut source.mutants {
            id += 1;
            mutant.id = id;
        }
        sources.push(source);
    }
    Ok(sources)
}

fn rust_files(at: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    if at.is_file() {
        paths.push(at.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(at).with_context(|| format!("cannot read {}", at.display()))? {
        let path = entry?.path();
        let is_test = matches!(path.file_stem().and_then(|stem| stem.to_str()), Some("tests"));
        let is_source = path.is_dir() || path.extension().is_some_and(|extension| extension == "rs");
        if is_source && !is_test {
            rust_files(&path, paths)?;
        }
    }
    Ok(())
}

/// Copies what git knows of the tree as it stands, but for the sources that get mutants. A file that stays the same
/// keeps its time, so that nothing is built anew for it.
pub fn copy_tree(root: &Path, copy: &Path, sources: &[Source]) -> Result<()> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("cannot ask git for the files")?;
    ensure!(listed.status.success(), "git does not list the files");
    let names = String::from_utf8(listed.stdout)?;
    for name in names.split('\0').filter(|name| root.join(name).is_file()) {
        if name == "src/lib.rs" || sources.iter().any(|source| source.path == name) {
            continue;
        }
        write_changed(&copy.join(name), &std::fs::read(root.join(name))?)?;
    }
    // A mutant may be as absurd as it likes.
    let lints = "#![allow(warnings, arithmetic_overflow, unconditional_panic)]";
    let text = std::fs::read_to_string(root.join("src/lib.rs"))?;
    let text = format!("{lints}\n{text}\npub mod mutant_switch;\n");
    write_changed(&copy.join("src/lib.rs"), text.as_bytes())?;
    write_changed(&copy.join("src/mutant_switch.rs"), include_bytes!("switch.rs"))
}

fn write_changed(path: &Path, content: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Builds the library's tests with every mutant that compiles; the path of the program.
///
/// What the compiler refused the last time is in `known` and is not tried again as long as it stands where it stood.
pub fn build(sources: &mut [Source], copy: &Path, target: &Path, known: &Path) -> Result<PathBuf> {
    let refused = std::fs::read_to_string(known).unwrap_or_default();
    let refused: BTreeSet<&str> = refused.lines().collect();
    for mutant in sources.iter_mut().flat_map(|source| &mut source.mutants) {
        mutant.compiles = !refused.contains(mutant.name.as_str());
    }
    for round in 1..=ROUNDS {
        for source in sources.iter_mut() {
            let text = source.render();
            write_changed(&copy.join(&source.path), text.as_bytes())?;
        }
        let (messages, _) = cargo(&["check", "--lib"], copy, target)?;
        let refused = refuse(sources, &messages)?;
        eprintln!("round {round}: the compiler refuses {refused} mutants");
        if refused == 0 {
            let (messages, ok) = cargo(&["test", "--lib", "--no-run"], copy, target)?;
            if !ok && refuse(sources, &messages)? > 0 {
                continue;
            }
            ensure!(ok, "the copy does not build:\n{}", errors(&messages));
            let all = sources.iter().flat_map(|source| &source.mutants);
            let refused = all
                .filter(|mutant| !mutant.compiles)
                .map(|mutant| format!("{}\n", mutant.name));
            std::fs::write(known, refused.collect::<String>())?;
            let program = messages
                .iter()
                .rev()
                .find_map(|message| message["executable"].as_str());
            let program = Path::new(program.context("cargo names no test program")?);
            // Another build into the same target folder must not put other mutants in its place.
            let kept = known.with_file_name("tests");
            std::fs::copy(program, &kept).context("cannot keep the test program")?;
            return Ok(kept);
        }
    }
    bail!("the compiler still refuses mutants after {ROUNDS} rounds")
}

/// Runs cargo in the copy; what it says, and whether it was content.
fn cargo(args: &[&str], copy: &Path, target: &Path) -> Result<(Vec<Value>, bool)> {
    let output = Command::new("cargo")
        .args(args)
        .arg("--message-format=json")
        .current_dir(copy)
        // The repository's own target folder and flags: what it depends on is built there already.
        .env("CARGO_TARGET_DIR", target)
        .args(["--config", "profile.dev.package.quorum-run.opt-level=1"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    Ok((messages, output.status.success()))
}

fn errors(messages: &[Value]) -> String {
    let rendered = messages
        .iter()
        .filter(|message| message["message"]["level"] == "error")
        .filter_map(|message| message["message"]["rendered"].as_str());
    rendered.collect()
}

/// Drops what the compiler refused; how many mutants that were.
fn refuse(sources: &mut [Source], messages: &[Value]) -> Result<usize> {
    let refused = |sources: &[Source]| {
        let all = sources.iter().flat_map(|source| &source.mutants);
        all.filter(|mutant| !mutant.compiles).count()
    };
    let before = refused(sources);
    let mut unexplained = String::new();
    for message in messages.iter().map(|message| &message["message"]) {
        let spans = message["spans"].as_array().map_or(&[][..], Vec::as_slice);
        if message["level"] != "error" || spans.is_empty() {
            continue;
        }
        let mut explained = false;
        // The primary spans say it best; the others only help where those lie outside of every mutant.
        for primary in [true, false] {
            for span in spans.iter().filter(|span| span["is_primary"] == primary) {
                let (Some(start), Some(end)) = (span["byte_start"].as_u64(), span["byte_end"].as_u64())
                else {
                    continue;
                };
                let source = sources
                    .iter_mut()
                    .find(|source| span["file_name"] == source.path.as_str());
                let at = start as usize..end as usize;
                explained = source.is_some_and(|source| source.refuse(&at)) || explained;
            }
            if explained {
                break;
            }
        }
        if !explained {
            unexplained.push_str(message["rendered"].as_str().unwrap_or_default());
        }
    }
    let refused = refused(sources) - before;
    ensure!(
        refused > 0 || unexplained.is_empty(),
        "the copy does not build:\n{unexplained}"
    );
    Ok(refused)
}
