//! Plays a cell through the binary, and what is seen of it from outside.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Finished, Running, poll, wait_for};

use super::cells::{Cell, Fault, Row};
use super::expected::Expected;
use super::scene::{KEY, Scene};

/// How long what comes too late may take until it is paid for.
const LATE: Duration = Duration::from_secs(10);
/// The files in which the key may stand: a worker put it there.
const ALLOWED: [&str; 2] = ["secret.txt", "out.txt"];

/// What was seen of a cell.
struct Seen {
    exit: Option<i32>,
    status: String,
    calls: usize,
    classes: BTreeSet<String>,
    letters: Vec<String>,
    charge: (usize, f64),
    /// Where the key was found.
    leaks: Vec<String>,
}

/// Something that is not as it should be: what, and in words.
pub type Wrong = (&'static str, String);

/// Plays a cell. What is not as it should be; nothing where all is.
pub fn play(cell: Cell, expected: &Expected) -> Vec<Wrong> {
    let scene = Scene::new(cell);
    let finished = match (cell.row, cell.fault) {
        (Row::Triage, _) => triage(&scene),
        (_, Fault::Killed) => killed(&scene),
        (_, Fault::Late) => {
            let (_, cost) = expected.charge.expect("every run is charged");
            late(&scene, cost)
        }
        _ => run(&scene),
    };
    let wrong = compare(expected, &look(&scene, &finished));
    if std::env::var_os(super::PART).is_some() && !wrong.is_empty() {
        let events = call(&scene, &["events"]).stdout;
        println!("{cell}\n{}\n{}\n{events}", finished.stderr, finished.stdout);
    }
    wrong
}

fn command(scene: &Scene, arguments: &[&str]) -> std::process::Command {
    let mut command = scene.workspace.command(arguments);
    command.env("THE_KEY", KEY);
    command
}

fn call(scene: &Scene, arguments: &[&str]) -> Finished {
    Running::start(command(scene, arguments)).finish()
}

const RUN: [&str; 5] = ["run", "mission.yaml", "--json", "--timeout", "4m"];

fn run(scene: &Scene) -> Finished {
    call(scene, &RUN)
}

fn out(scene: &Scene) {
    wait_for("the party to be asked", || scene.is_out());
}

/// The session dies while the party works; a worker ends its work all the same.
fn killed(scene: &Scene) -> Finished {
    let session = Running::start(command(scene, &RUN));
    out(scene);
    session.kill();
    if scene.cell.row == Row::Turn {
        scene.release();
    }
    call(scene, &["resume", "--json", "--timeout", "4m"])
}

/// How the run stands. Asking costs time that those who work need.
fn now(scene: &Scene) -> Value {
    std::thread::sleep(Duration::from_millis(50));
    scene.workspace.status()
}

/// The task is called off while the party works, which then replies.
fn late(scene: &Scene, cost: f64) -> Finished {
    let session = Running::start(command(scene, &RUN));
    out(scene);
    call(scene, &["cancel", "work", "--yes"]).exits(0);
    wait_for("the end of the task", || task_status(&now(scene)) == "failed");
    scene.release_server();
    // What is never charged is seen at the end.
    poll(LATE, || known_cost(&now(scene)) >= cost);
    scene.release();
    session.finish()
}

/// A request from outside, of a run that has ended.
fn triage(scene: &Scene) -> Finished {
    let ended = run(scene);
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let submit = ["request", "submit", "second", "--to", "worker", "--as", "ada", "--json"];
    call(scene, &submit).exits(0);
    let approve = ["request", "approve", "req-1", "--strategy", "agent", "--as", "ada", "--json"];
    match scene.cell.fault {
        Fault::Killed => {
            let asking = Running::start(command(scene, &approve));
            out(scene);
            asking.kill();
            call(scene, &approve)
        }
        Fault::Late => {
            let asking = Running::start(command(scene, &approve));
            out(scene);
            call(scene, &["request", "cancel", "req-1", "--as", "ada", "--json"]);
            scene.release();
            asking.finish()
        }
        _ => call(scene, &approve),
    }
}

fn task_status(document: &Value) -> String {
    let mut tasks = document["tasks"].as_array().into_iter().flatten();
    let found = tasks.find(|task| task["title"] == "work");
    found.map_or_else(String::new, |task| text(&task["status"]))
}

fn known_cost(document: &Value) -> f64 {
    document["usage"]["cost"].as_f64().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn look(scene: &Scene, finished: &Finished) -> Seen {
    let printed = |arguments: &[&str]| scene.workspace.quorum(arguments).stdout;
    let document = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let events = printed(&["events", "--format", "jsonl"]);
    // Asking costs a process, and most cells have no letters.
    let dead = match scene.workspace.exists(".polpo/dead-letters.jsonl") {
        true => printed(&["dlq", "list", "--all", "--json"]),
        false => String::new(),
    };
    let said = document(&finished.stdout);
    let state = match scene.cell.row {
        Row::Triage => {
            text(&document(&printed(&["request", "show", "req-1", "--json"]))["request"]["status"])
        }
        _ => task_status(&said),
    };
    let mut leaks = holding(scene.workspace.root());
    if scene.cell.fault == Fault::Secret {
        let all = [&finished.stdout, &finished.stderr, &events, &dead];
        let shown = [printed(&["show", "work", "--full"]), printed(&["status"])];
        if all.into_iter().chain(&shown).any(|text| text.contains(KEY)) {
            leaks.push("a screen".to_owned());
        }
    }
    let letters = document(&dead);
    let letters = letters["letters"].as_array().into_iter().flatten();
    let requests = said["usage"]["requests"].as_u64().unwrap_or_default();
    Seen {
        exit: finished.code(),
        status: state,
        calls: scene.calls(),
        classes: classes(&events),
        letters: letters
            .map(|letter| format!("{} ({})", text(&letter["operation"]), text(&letter["category"])))
            .collect(),
        charge: (usize::try_from(requests).expect("it is small"), known_cost(&said)),
        leaks,
    }
}

/// The classes of failure that any event names, but those of tasks that others were to fail.
fn classes(events: &str) -> BTreeSet<String> {
    let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let named = events.filter(|event| event["title"] != "before" && event["title"] != "aside");
    named.filter_map(|event| event["class"].as_str().map(str::to_owned)).collect()
}

/// The files below a folder in which the key stands.
fn holding(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(root)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.is_file() && !ALLOWED.iter().any(|name| path.ends_with(name)) {
                let bytes = std::fs::read(&path).unwrap_or_default();
                if bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()) {
                    let name = path.strip_prefix(root).unwrap_or(&path);
                    found.push(name.display().to_string());
                }
            }
        }
    }
    found
}

fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

fn compare(expected: &Expected, seen: &Seen) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut differ = |what: &'static str, is: String, should: String| {
        if is != should {
            wrong.push((what, format!("{what} {is}, not {should}")));
        }
    };
    let code = |code: Option<i32>| code.map_or("a signal".to_owned(), |code| code.to_string());
    differ("exit", code(seen.exit), code(Some(expected.exit)));
    differ("status", seen.status.clone(), expected.status.to_owned());
    if let Some(calls) = expected.calls {
        differ("calls", seen.calls.to_string(), calls.to_string());
    }
    let listed = |classes: Vec<&str>| {
        if classes.is_empty() { "none".to_owned() } else { classes.join("+") }
    };
    let class = expected.class.map(|class| class.as_str());
    let on_record = seen.classes.iter().map(String::as_str).collect();
    differ("class", listed(on_record), listed(class.into_iter().collect()));
    let letter = expected.letter.zip(class);
    let letter = letter.map(|(operation, class)| format!("{operation} ({class})"));
    differ("letter", listed(strs(&seen.letters)), listed(strs(letter.as_slice())));
    if let Some((requests, cost)) = expected.charge {
        differ("requests", seen.charge.0.to_string(), requests.to_string());
        differ("cost", format!("{:.2}", seen.charge.1), format!("{cost:.2}"));
    }
    differ("leaks", seen.leaks.join(" "), String::new());
    wrong
}
