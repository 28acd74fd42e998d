//! The structure of the sources, counted: no figure grows unseen.
//!
//! `cargo test --test tidy -- --nocapture` prints all figures, and where what is counted stands.

#![allow(clippy::unwrap_used, reason = "a test that unwraps in vain is red")]

mod drawings;
mod imports;
mod items;
mod sources;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use imports::Imports;
use sources::{File, Sources};

/// What each figure may be at most; what is not listed must be 0. Whoever makes a figure smaller lowers its ceiling. Who
/// must raise one says in the commit message why.
const CEILINGS: &[(&str, usize)] = &[
    ("tokens: all", 910_645),
    ("tokens: core", 537_622),
    ("tokens: edges", 371_968),
    ("largest circle of imports: agents", 5),
    ("largest circle of imports: cli", 2),
    ("largest circle of imports: domain", 7),
    ("largest circle of imports: engine", 4),
    ("largest circle of imports: judging", 5),
    ("largest circle of imports: mission", 5),
    ("largest circle of imports: plan", 7),
    ("largest circle of imports: report", 9),
    ("largest circle of imports: runtime", 6),
    ("largest circle of imports: store", 3),
    ("type names of several types", 15),
    ("doc comments without their subject", 0),
    ("doc comments of three words", 95),
    ("`Result<_, String>` in signatures", 7),
    ("hand-built `Spawn`", 1),
    ("public fields of `TaskState`", 13),
    ("exhaustive matches over events", 2),
    ("exhaustive matches over events of tasks", 2),
    ("names of events to go", 0),
];

/// The modules that decide and carry out.
const CORE: [&str; 8] =
    ["agents", "engine", "executor", "judging", "review", "runtime", "store", "supervisor"];

/// The modules that are read and written by users.
const EDGES: [&str; 5] = ["cli", "domain", "mission", "plan", "report"];

/// Modules that have no place in the order of imports.
const UNRANKED: [&str; 3] = ["lib", "main", "test_clock"];

/// How the names of packages begin that only the feature `temporal` is built with.
const OF_WORKERS: [&str; 3] = ["temporalio", "tonic", "prost"];

/// Where words are looked for.
const TREE: [&str; 7] = ["crates", "docs", "fixtures", "measure", "missions", "src", "tests"];

/// Names of events from when each kind of question had a life cycle of its own.
const OLD_EVENTS: [&str; 8] = [
    "SeatRequested",
    "ConsultRequested",
    "CheckRequested",
    "FinishRequested",
    "StepRequested",
    "GradingRequested",
    "ApproverAsked",
    "ArtifactsRequested",
];

/// What a stage of judging never names: failures of requests, money, moments.
const NOT_OF_STAGES: [&str; 5] = ["FailureClass", "Money", "Timestamp", "Millis", "not_before"];

/// What the life cycle of work never names: the stages that it is for, what they say, what follows from that.
const NOT_OF_WORK: [&str; 8] =
    ["stages", "Stage", "StageKey", "StagePlan", "OpenStage", "Judging", "Verdict", "Points"];

/// Types that have another name in the glossary of the code.
const OLD_TYPES: &[&str] = &[
    "Advice",
    "Door",
    "Errand",
    "Exploder",
    "Fits",
    "Grounds",
    "Hands",
    "House",
    "Juror",
    "Jury",
    "Keeper",
    "Knock",
    "LaidOut",
    "Looking",
    "Marks",
    "Mind",
    "Noted",
    "Offer",
    "PersonsWord",
    "Problem",
    "Programs",
    "Recipe",
    "Refusal",
    "Remedies",
    "Room",
    "Said",
    "Scrutinise",
    "Scrutiny",
    "Silences",
    "Speaker",
    "Spot",
    "Standing",
    "Surroundings",
    "Tape",
    "Teller",
    "Toolless",
    "Transaction",
    "Vouched",
    "Wanted",
    "Without",
    "Workbench",
    "World",
];

/// Functions that have another name there.
const OLD_FUNCTIONS: &[&str] = &[
    "asks_in_vain",
    "attend",
    "blot_out",
    "blot_out_file",
    "blot_out_of",
    "clear_the_way",
    "doubt",
    "drive",
    "errand",
    "essence",
    "give",
    "hear",
    "lay_over",
    "looking",
    "meets",
    "mends",
    "no_word",
    "note_files",
    "reach",
    "say",
    "soiled",
    "stand_in",
    "standing",
    "stood_in",
    "succeed",
    "succession",
    "take_in",
    "tell",
    "think_again",
];

/// Modules that have another name there.
const OLD_MODULES: &[&str] = &[
    "accept", "again", "consult", "errand", "finish", "house", "jury", "keeper", "kept", "looking", "marks",
    "material", "operate", "others", "room", "scrutiny", "silence", "stories", "telling", "voice", "witness",
];

/// Something that is counted.
struct Figure {
    name: String,
    value: usize,
    /// Where it stands, as far as that helps.
    places: Vec<String>,
}

impl Figure {
    fn new(name: impl Into<String>, value: usize) -> Self {
        Self { name: name.into(), value, places: Vec::new() }
    }

    fn of_places(name: &str, places: Vec<String>) -> Self {
        Self { name: name.to_owned(), value: places.len(), places }
    }

    /// So much of it in each file.
    fn in_files(name: &str, files: &[File], count: impl Fn(&File) -> usize) -> Self {
        let counts = files.iter().map(|file| (&file.path, count(file)));
        let counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
        Self {
            name: name.to_owned(),
            value: counts.iter().map(|(_, count)| count).sum(),
            places: counts.iter().map(|(path, count)| format!("{path}: {count}")).collect(),
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Words, numbers, strings and signs of the code outside of tests: what no formatting changes.
fn sizes(files: &[File]) -> Vec<Figure> {
    let count = |modules: &[&str]| {
        let counted = files.iter().filter(|file| modules.is_empty() || modules.contains(&file.module()));
        counted.map(File::code_tokens).sum()
    };
    vec![
        Figure::new("tokens: all", count(&[])),
        Figure::new("tokens: core", count(&CORE)),
        Figure::new("tokens: edges", count(&EDGES)),
    ]
}

/// Each file of more than 600 lines and each function of more than 70, with its lines: a list of exceptions, of which none
/// may grow.
fn long_ones(folder: &str, files: &[File]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for file in files {
        let name = format!("{folder}/{}", file.path);
        if file.lines.len() > 600 {
            figures.push(Figure::new(format!("lines: {name}"), file.lines.len()));
        }
        let long = items::functions(file).into_iter().filter(|function| function.lines > 70);
        figures.extend(long.map(|long| Figure::new(format!("lines: {name}, {}", long.name), long.lines)));
    }
    figures
}

/// Names that the glossary of the code has replaced, each with the files that still have it.
fn old_names(files: &[File]) -> Vec<Figure> {
    let text = |file: &File, at: usize| file.tokens.get(at).map_or("", |token| token.text);
    let types = OLD_TYPES.iter().map(|name| {
        Figure::in_files(&format!("type: {name}"), files, |file| {
            file.tokens.iter().filter(|token| token.text == *name).count()
        })
    });
    let functions = OLD_FUNCTIONS.iter().map(|name| {
        Figure::in_files(&format!("function: {name}"), files, |file| {
            (1..file.tokens.len()).filter(|at| text(file, *at) == *name && text(file, at - 1) == "fn").count()
        })
    });
    let modules = OLD_MODULES.iter().map(|name| {
        Figure::in_files(&format!("module: {name}"), files, |file| {
            usize::from(file.module_path().last() == Some(name))
        })
    });
    types.chain(functions).chain(modules).filter(|figure| figure.value > 0).collect()
}

/// Names that do not say alone what they stand for.
fn names(files: &[File]) -> Vec<Figure> {
    let mut declared: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in files {
        for name in file.types() {
            declared.entry(name).or_default().push(&file.path);
        }
    }
    declared.retain(|_, paths| paths.len() > 1);
    let shared = declared.into_iter().map(|(name, paths)| format!("{name}: {}", paths.join(", ")));
    vec![
        Figure::of_places("type names of several types", shared.collect()),
        Figure::in_files("doc comments without their subject", files, File::orphan_docs),
        Figure::in_files("doc comments of three words", files, File::short_docs),
    ]
}

fn shapes(sources: &Sources) -> Vec<Figure> {
    let page = fs::read_to_string(root().join("docs/design/architecture.md")).expect("the page is there");
    let (_, part) = page.split_once("### Imports").expect("it says how imports point");
    let (_, list) = part.split_once("```text\n").expect("it has the list");
    let (list, _) = list.split_once("```").expect("the list has an end");
    let order: Vec<&str> = list.lines().collect();
    let listed: BTreeSet<&str> = order.iter().copied().collect();
    let modules: BTreeSet<&str> = sources.files.iter().map(File::module).collect();
    let ranked = modules.into_iter().filter(|name| !UNRANKED.contains(name));
    assert_eq!(listed, ranked.collect(), "the list of docs/design/architecture.md");

    let imports = Imports::of(&sources.files);
    let circles = imports.largest_circles(&sources.files).into_iter();
    let mut figures: Vec<Figure> = circles
        .map(|(module, size)| Figure::new(format!("largest circle of imports: {module}"), size))
        .collect();
    figures.push(Figure::of_places("upward imports", imports.upward(sources, &order)));
    figures
}

fn functions(files: &[File]) -> Vec<Figure> {
    let errors = |file: &File| {
        let functions = items::functions(file);
        functions.iter().map(|function| items::string_errors(file, function)).sum()
    };
    vec![Figure::in_files("`Result<_, String>` in signatures", files, errors)]
}

/// What is said several times and should be said once.
fn repetitions(files: &[File]) -> Vec<Figure> {
    let matches = |name: &str| {
        let mut engine = files.iter().filter(|file| file.module() == "engine");
        let events = engine.find_map(|file| items::variants(file, name));
        let events = events.expect("the engine declares its events");
        let lines = files.iter().flat_map(|file| {
            let lines = items::exhaustive_matches(file, &events).into_iter();
            lines.map(|line| format!("{}: line {line}", file.path))
        });
        lines.collect()
    };
    let fields = files.iter().find_map(|file| items::public_fields(file, "TaskState"));
    let git = |file: &File| match file.path.as_str() {
        "runtime/isolation/git.rs" => items::starts(file, "git").saturating_sub(1),
        _ => items::starts(file, "git"),
    };
    vec![
        Figure::in_files("git, beside its one place", files, git),
        Figure::in_files("hand-built `Spawn`", files, |file| items::literals(file, "Spawn")),
        Figure::in_files("calls of `judged_by`", files, |file| items::calls(file, "judged_by")),
        strangers("what no stage knows of", files, "engine/stages/", &NOT_OF_STAGES),
        strangers("what no work knows of", files, "engine/work/", &NOT_OF_WORK),
        Figure::new("public fields of `TaskState`", fields.expect("the engine declares it")),
        Figure::of_places("exhaustive matches over events", matches("Event")),
        Figure::of_places("exhaustive matches over events of tasks", matches("TaskEvent")),
        old_events(),
    ]
}

/// How often the files of a folder name what they should know nothing of.
fn strangers(name: &str, files: &[File], folder: &str, words: &[&str]) -> Figure {
    let is_there = |file: &File| file.path.starts_with(folder);
    assert!(files.iter().any(is_there), "{folder} is where the files are");
    Figure::in_files(name, files, |file| {
        let tokens = file.tokens.iter().filter(|_| is_there(file));
        tokens.filter(|token| words.contains(&token.text)).count()
    })
}

/// How often the tree names the events that are to go, tests and pages included.
fn old_events() -> Figure {
    let mut paths = Vec::new();
    for folder in TREE {
        sources::walk(&root().join(folder), &|_| true, &mut paths);
    }
    let own = root().join("tests/tidy/main.rs");
    let is_built = |path: &Path| path.components().any(|part| part.as_os_str() == "target");
    paths.retain(|path| *path != own && !is_built(path));
    let mut counts = [0; OLD_EVENTS.len()];
    for path in paths {
        let bytes = fs::read(&path).expect("it was found there");
        let text = String::from_utf8_lossy(&bytes);
        for (count, name) in counts.iter_mut().zip(OLD_EVENTS) {
            *count += text.matches(name).count();
        }
    }
    Figure {
        name: "names of events to go".to_owned(),
        value: counts.iter().sum(),
        places: OLD_EVENTS.iter().zip(counts).map(|(name, count)| format!("{name}: {count}")).collect(),
    }
}

/// Whether a ceiling should come down: small ones at once, large ones by steps of a hundredth.
fn is_clearly_below(value: usize, ceiling: usize) -> bool {
    ceiling - value > ceiling / 100
}

#[test]
fn no_figure_is_above_its_ceiling() {
    let sources = sources::of_packages(root());
    let files = &sources.files;
    let scenarios = root().join("crates/supervisor/tests");
    let tests = sources::read(&[(&root().join("tests"), ""), (&scenarios, "")]);
    let groups = [
        sizes(files),
        shapes(&sources),
        names(files),
        functions(files),
        repetitions(files),
        long_ones("src", files),
        long_ones("tests", &tests.files),
        old_names(files),
    ];
    let figures: Vec<Figure> = groups.into_iter().flatten().collect();
    let mut ceilings: BTreeMap<&str, usize> = CEILINGS.iter().copied().collect();
    assert_eq!(ceilings.len(), CEILINGS.len(), "a ceiling is listed twice");
    let mut above = String::new();
    for figure in &figures {
        let Figure { name, value, places } = figure;
        let ceiling = ceilings.remove(name.as_str()).unwrap_or(0);
        println!("{value:6} of {ceiling:6}  {name}");
        for place in places {
            println!("                    {place}");
        }
        if *value > ceiling {
            writeln!(above, "{name}: {value}, may be {ceiling}").expect("a string takes everything");
            for place in places {
                writeln!(above, "    {place}").expect("a string takes everything");
            }
        } else if is_clearly_below(*value, ceiling) {
            println!("                 -> lower the ceiling to {value}");
        }
    }
    for name in ceilings.keys() {
        println!("     0             {name}\n                 -> take its ceiling away");
    }
    assert!(above.is_empty(), "above the ceilings in tests/tidy/main.rs:\n{above}");
}

#[test]
fn each_module_begins_with_a_table_of_its_files() {
    let folders = ["src", "crates/rules/src", "crates/supervisor"];
    let found: Vec<String> =
        folders.iter().flat_map(|folder| tables::differences(&root().join(folder))).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Where each kind of work begins whose way the page draws.
const DRAWN: [(&str, &str); 3] =
    [("work/jobs.rs", "check"), ("work/ask.rs", "ask"), ("work/turn.rs", "turn")];

#[test]
fn the_drawings_of_the_architecture_page_name_what_is_there() {
    let page = fs::read_to_string(root().join("docs/design/architecture.md")).expect("the page is there");
    let named = drawings::named(&page, "The loop");
    for function in DRAWN {
        assert!(named.contains(&function), "no drawing of {function:?} in {named:?}");
    }
    let differences = drawings::differences(&named, &sources::of_packages(root()).files);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// What starts, waits, connects or calls the system.
const IMPURE: [&str; 4] = ["libc", "reqwest", "rustix", "tokio"];

/// The names of the packages that a package is built with by default, itself among them.
fn dependencies(package: &str, edges: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges", edges, "--prefix", "none"])
        .args(["--locked", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    let tree = String::from_utf8_lossy(&tree.stdout);
    tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn what_only_other_machines_need_is_in_no_default_build() {
    let names = dependencies("quorum-run", "normal,build,dev");
    assert!(names.contains("quorum-run") && names.contains("reqwest"), "{names:?}");
    let found: Vec<&String> =
        names.iter().filter(|name| OF_WORKERS.iter().any(|word| name.starts_with(word))).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn the_rules_reach_nothing_and_only_the_supervisor_is_unsafe() {
    let names = dependencies("quorum-rules", "normal");
    assert!(names.contains("quorum-rules") && names.contains("serde"), "{names:?}");
    assert!(IMPURE.iter().all(|name| !names.contains(*name)), "{names:?}");
    for name in ["src/lib.rs", "src/main.rs", "crates/rules/src/lib.rs"] {
        let text = fs::read_to_string(root().join(name)).expect("it is there");
        assert!(text.contains("forbid(unsafe_code)"), "{name} forbids no unsafe code");
    }
}
