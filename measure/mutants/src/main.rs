//! Which tests would notice if a rule were wrong?
//!
//! Every mutant of the rules is put into one copy of the sources, behind a switch that an environment variable turns
//! on at run time. So the copy is built once, and a mutant costs the tests that reach it, not a build. See
//! `measure/README.md`.

mod build;
mod find;
mod play;
mod render;
mod sample;
mod values;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};

use sample::Sample;

const USAGE: &str = "usage: quorum-mutants [--work DIR] [--jobs N] [--only TEXT] [--again FILE] [--quick]
                      [--sample N --seed S] [--list] [ROOM…]

Puts every mutant of the ROOMs (default: src/engine src/judging) into a copy of this repository under DIR (default:
target/mutants), builds it once, notes which library test reaches which mutant, and runs each mutant's tests against it.
The mutants that no test noticed end up on the screen and in DIR/survivors.txt; all of them in DIR/mutants.txt.

  --only TEXT   only mutants whose name contains TEXT
  --again FILE  only mutants that FILE names (such as an earlier survivors.txt), wherever they stand by now
  --quick       only the tests of the mutant's own module
  --sample N    draws N of the mutants that compile, by a fixed --seed S (a whole number), and says which share of them
                was killed. The same names and seed give the same sample on every machine
  --jobs N      so many mutants at a time (default 1)
  --list        only list the mutants";

/// What the command line asks for.
struct Options {
    /// The repository.
    root: PathBuf,
    /// Where the copy, its build and the results are.
    work: PathBuf,
    /// Folders whose sources are mutated, relative to the repository.
    modules: Vec<String>,
    /// Part of the names of the mutants to play.
    only: Option<String>,
    /// Lasting names of the mutants to play.
    again: Option<BTreeSet<String>>,
    /// Leave the tests of other modules out.
    quick: bool,
    /// Play only so many mutants, drawn by a seed.
    sample: Option<Sample>,
    jobs: usize,
    list: bool,
}

fn options() -> Result<Option<Options>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let mut options = Options {
        work: root.join("target/mutants"),
        root,
        modules: Vec::new(),
        only: None,
        again: None,
        quick: false,
        sample: None,
        jobs: 1,
        list: false,
    };
    let (mut size, mut seed) = (None, None);
    let mut args = std::env::args().skip(1);
    let missing = |flag: &str| anyhow::anyhow!("{flag} needs a value\n\n{USAGE}");
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => return Ok(None),
            "--list" => options.list = true,
            "--work" => options.work = std::path::absolute(args.next().ok_or_else(|| missing(&arg))?)?,
            "--only" => options.only = Some(args.next().ok_or_else(|| missing(&arg))?),
            "--again" => options.again = Some(names_in(&args.next().ok_or_else(|| missing(&arg))?)?),
            "--quick" => options.quick = true,
            "--sample" => size = Some(args.next().ok_or_else(|| missing(&arg))?.parse::<usize>()?.max(1)),
            "--seed" => seed = Some(args.next().ok_or_else(|| missing(&arg))?.parse::<u64>()?),
            "--jobs" => options.jobs = args.next().ok_or_else(|| missing(&arg))?.parse::<usize>()?.max(1),
            flag if flag.starts_with('-') => bail!("unknown flag {flag}\n\n{USAGE}"),
            module => options.modules.push(module.to_owned()),
        }
    }
    options.sample = match (size, seed) {
        (Some(size), Some(seed)) => Some(Sample { size, seed }),
        (None, None) => None,
        _ => bail!("--sample and --seed go together\n\n{USAGE}"),
    };
    ensure!(
        options.sample.is_none() || !options.list,
        "--list comes before the build, --sample draws from what compiles\n\n{USAGE}"
    );
    if options.modules.is_empty() {
        options.modules = vec!["src/engine".to_owned(), "src/judging".to_owned()];
    }
    Ok(Some(options))
}

/// The lasting names of the mutants that a file lists, one a line, with or without how they ended.
fn names_in(path: &str) -> Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let name = |line: &str| {
        line.split('\t')
            .find(|part| part.starts_with("src/"))
            .map(play::lasting_name)
    };
    Ok(text.lines().filter_map(name).collect())
}

impl Options {
    /// Whether the mutant of this name is to be played.
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
            && self
                .again
                .as_ref()
                .is_none_or(|again| again.contains(&play::lasting_name(name)))
    }
}

fn main() -> Result<()> {
    let Some(options) = options()? else {
        println!("{USAGE}");
        return Ok(());
    };
    let mut sources = build::read_rooms(&options.root, &options.modules)?;
    if options.list {
        for mutant in sources.iter().flat_map(|source| &source.mutants) {
            if options.wants(&mutant.name) {
                println!("{}", mutant.name);
            }
        }
        return Ok(());
    }
    let copy = options.work.join("copy");
    build::copy_tree(&options.root, &copy, &sources)?;
    let known = options.work.join("refused.txt");
    let tests = build::build(&mut sources, &copy, &options.root.join("target"), &known)?;
    play::play(&sources, &tests, &copy, &options)
}
