//! `kill -9` of quorum at seeded moments of a run and of its resumptions, told by the length of the journal.
//!
//! Whatever the moment: the journal can be read at once, what is on record stays on record, no attempt that has
//! finished on record is ever done again, and the run ends as if nothing had happened.

mod life;
mod mission;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::support::events::{assert_lawful, is};
use crate::support::journal;
use crate::support::scenes::kills::{Dice, child_of, length};
use crate::support::{Mission, Running, Workspace, is_alive, wait_for};

const TASKS: u32 = 40;
const MISSIONS: u64 = 5;
const KILLS_EACH: u32 = 5;

/// Forty tasks in a lattice, with crashes, rework, a failed check, a cascade, an accepted failure and two gates.
fn lattice() -> Workspace {
    let mut tasks = String::new();
    for n in 0..TASKS {
        let dependencies: Vec<String> =
            [6, 9].iter().filter(|back| n >= **back).map(|back| format!("t{}", n - back)).collect();
        let expectations = match n % 10 {
            // Their check passes at the second attempt.
            5 if n != 25 => ", expectations: [{type: test, command: 'test $QUORUM_ATTEMPT -ge 2'}]",
            8 => {
                ", expectations: [{type: script, command: 'true'}, {type: llm_review, reviewers: [scorer, mute], dimensions: [{name: x, weight: 1}]}]"
            }
            _ => "",
        };
        let agent = if n % 10 == 8 { "blind" } else { "worker" };
        tasks.push_str(&format!(
            "  - {{title: t{n}, assignTo: {agent}, maxAttempts: 3, dependsOn: [{}]{expectations}}}\n",
            dependencies.join(", ")
        ));
    }
    Workspace::with(&format!(
        r#"
name: torture
agents:
  worker: {{run: [/bin/sh, '@agents/moody-worker.sh', log]}}
  blind: {{run: [/bin/sh, '@agents/moody-worker.sh', log], input: none}}
  judge: {{run: [/bin/sh, '@agents/moody-judge.sh'], role: reviewer}}
  scorer: {{run: "echo '{{\"scores\": {{\"x\": {{\"score\": 4, \"reasoning\": \"r\"}}}}}}'"}}
  mute: {{run: 'true'}}
settings: {{concurrency: 3, baseline: false}}
tasks:
{tasks}
qualityGates:
  - {{name: early, afterTasks: [t3, t4], blocksTasks: [t20], minScore: 60}}
  - {{name: late, afterTasks: [t25, t26], blocksTasks: [t38], minScore: 60}}
"#
    ))
}

/// What must not depend on what happened on the way.
fn essence(document: &Value) -> Value {
    // Tasks that are added stand in the order in which they came.
    let mut tasks: Vec<&Value> =
        document["tasks"].as_array().expect("the document has tasks").iter().collect();
    tasks.sort_by_key(|task| task["title"].as_str());
    let tasks: Vec<Value> = tasks
        .into_iter()
        .map(|task| {
            json!([
                task["title"],
                task["status"],
                task["qualityFlag"],
                task["points"],
                task["attempts"],
                task["failure"]["mode"],
                task["dimensions"],
                task["reviews"],
                task["added"],
                task["supersededBy"],
                // A task that has failed waits for nothing more, so what it waited for hangs on when it failed.
                if task["status"] == "failed" { &Value::Null } else { &task["dependsOn"] }
            ])
        })
        .collect();
    json!({
        "outcome": document["outcome"], "exitCode": document["exitCode"], "conditions": document["conditions"],
        "state": document["state"], "counts": document["counts"], "gates": document["gates"],
        "missionScore": document["missionScore"], "tasks": tasks,
    })
}

/// Kills it as soon as the journal has this length; `false` if it ended before.
fn kill_at(mut running: Running, journal: &Path, reached: u64) -> bool {
    while length(journal) < reached {
        if running.has_ended() {
            return false;
        }
        std::thread::yield_now();
    }
    running.kill();
    true
}

/// `(task, attempt, turn)` of every event of this name.
fn turns(events: &[Value], name: &str) -> Vec<(String, u64, u64)> {
    let of_name = events.iter().filter(|event| is(event, name));
    of_name
        .map(|event| {
            let number = |key: &str| event[key].as_u64().expect("a number");
            let title = event["title"].as_str().expect("a title");
            (title.to_owned(), number("attempt"), number("turn"))
        })
        .collect()
}

/// The journal can be read at once, says no more than that it was killed, and begins as it did before.
fn assert_intact(workspace: &Workspace, before: &[Value]) -> Vec<Value> {
    let status = workspace.status();
    let events = workspace.events();
    let has_end = events.last().is_some_and(|event| event["event"] == "run:finished");
    assert_eq!(status["state"] == "crashed", !has_end, "{}", status["state"]);
    assert_eq!(events[..before.len()], *before, "what was on record has changed");
    assert_lawful(&events, true);
    events.0
}

/// Every turn on record as finished was started once, and nothing of its attempt came after it.
fn assert_nothing_repeated(workspace: &Workspace, events: &[Value]) {
    let mut log: BTreeMap<(String, u64), Vec<u64>> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for line in workspace.lines("log") {
        assert!(all.insert(line.clone()), "a turn was run twice: {line}");
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        log.entry((words[0].to_owned(), number(words[1]))).or_default().push(number(words[2]));
    }
    for (task, attempt, turn) in turns(events, "work:ended turn !lost") {
        let started = log.get(&(task.clone(), attempt)).expect("what finished was started");
        assert_eq!(started.last(), Some(&turn), "{task} {attempt}: done again after it had finished");
    }
}

fn torture(seed: u64, undisturbed: &Value, whole: u64) {
    let workspace = lattice();
    let mut dice = Dice::new(seed);
    let journal = workspace.path(&journal::of("r1"));
    let mut events = Vec::new();
    for session in 0..KILLS_EACH {
        // Sometimes at once, as soon as the session has said its first word.
        let step = match dice.below(4) {
            0 => 1,
            _ => dice.below(whole / u64::from(KILLS_EACH)),
        };
        let reached = length(&journal) + 1 + step;
        let command = if session == 0 { &["run", "mission.yaml", "--run-id", "r1"][..] } else { &["resume"] };
        let killed = kill_at(workspace.start(command), &journal, reached);
        assert!(killed, "seed {seed}: session {session} ended before it could be killed");
        events = assert_intact(&workspace, &events);
        assert_nothing_repeated(&workspace, &events);
    }
    let code = undisturbed["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok());
    let document = workspace.resume_json(code.expect("the undisturbed run has ended"), &[]);
    assert_eq!(essence(&document), *undisturbed, "seed {seed}");
    assert_eq!(essence(&workspace.status()), *undisturbed, "seed {seed}");
    events = assert_intact(&workspace, &events);
    assert_nothing_repeated(&workspace, &events);
}

#[test]
fn a_run_killed_at_any_moment_ends_as_if_nothing_had_happened() {
    let calm = lattice();
    let undisturbed = essence(&calm.run_json(3, &[]));
    let whole = length(&calm.journal());
    for seed in 1..=MISSIONS {
        torture(seed, &undisturbed, whole);
    }
}

/// Kills of a runner, and as many of its supervisor, each a little later than the one before.
const EARLY_KILLS: u64 = 25;

#[test]
fn a_run_that_is_killed_as_it_begins_is_started_again_or_resumed() {
    let mut before_the_first_record = 0;
    for n in 0..2 * EARLY_KILLS {
        let workspace =
            Mission::new().worker("echo did it").setting("evaluate", false).tasks(["only"]).workspace();
        let mut running = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--json"]);
        let journal = workspace.path(&journal::of("r1"));
        wait_for("the journal", || journal.exists() || running.has_ended());
        // The fault is the time: nothing waits for it.
        std::thread::sleep(Duration::from_micros(100 * (n / 2)));
        let supervisor = child_of(running.pid());
        if n % 2 == 0 {
            running.kill();
        } else {
            // It may have ended meanwhile.
            let _ = supervisor.map(|pid| kill_process(pid, Signal::KILL));
            running.finish();
        }
        if let Some(supervisor) = supervisor {
            wait_for("the end of the supervisor", || !is_alive(supervisor));
        }
        if length(&journal) == 0 {
            before_the_first_record += 1;
            workspace.run_json(0, &["--run-id", "r1"]);
        } else {
            workspace.resume_json(0, &[]);
        }
    }
    assert!(before_the_first_record > 0, "no kill came in time");
}
