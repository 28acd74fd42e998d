//! A process number that somebody else has by now: shown for real, in a process namespace small enough to choose numbers.

use std::process::Command;

use crate::support::events::is;
use crate::support::scenes::killed_runners::work;
use crate::support::{BINARY, attempts, skipped, standing};

/// Runs the mission, kills runner, supervisor and agent, gives the numbers of the last two to strangers that lead groups of
/// their own, and resumes.
const SCENE: &str = r#"
set -eu
"$QUORUM" run mission.yaml > run.txt 2>&1 &
runner=$!
until [ -s work.pid ]; do sleep 0.02; done
agent=$(cat work.pid)
supervisor=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$agent/status")
until "$QUORUM" events --format jsonl | grep -q '"agent:spawned"'; do sleep 0.05; done
kill -9 "$runner"
kill -9 "$supervisor" "$agent"
for gone in "$runner" "$supervisor" "$agent"; do
  while [ -e "/proc/$gone" ]; do sleep 0.02; done
done
take() {
  while :; do
    echo $(($1 - 1)) > /proc/sys/kernel/ns_last_pid
    setsid sleep 1000 &
    [ "$!" = "$1" ] && return 0
    kill "$!"
  done
}
take "$supervisor"
take "$agent"
: > go.work
code=0
"$QUORUM" resume --json > resume.json 2> resume.txt || code=$?
for stranger in "$supervisor" "$agent"; do
  case $(cat "/proc/$stranger/comm") in sleep) echo "$stranger lives" ;; esac
done
echo "exit $code"
kill "$supervisor" "$agent"
"#;

/// What makes a namespace of processes here; as somebody else than root a namespace of users comes with it.
fn namespace() -> Vec<&'static str> {
    let mut words = vec!["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    if !rustix::process::geteuid().is_root() {
        words.push("--map-root-user");
    }
    words
}

/// Whether numbers can be chosen here; where a machine forbids it, that is told.
fn is_allowed() -> bool {
    let probe = "echo 100 > /proc/sys/kernel/ns_last_pid";
    let words = namespace();
    let tried = Command::new(words[0]).args(&words[1..]).args(["/bin/sh", "-c", probe]).output();
    let why = match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    skipped(format!("the numbers of processes cannot be chosen: {why}"));
    false
}

#[test]
fn strangers_with_the_numbers_of_a_dead_agent_and_its_supervisor_are_neither_adopted_nor_killed() {
    if !is_allowed() {
        return;
    }
    let workspace = work().workspace();
    let words = namespace();
    let mut command = workspace.other_command(words[0]);
    command.args(&words[1..]).args(["/bin/sh", "-c", SCENE]);
    command.env("QUORUM", BINARY);
    let output = command.output().expect("the namespace can be made");
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches(" lives").count(), 2, "{said}{told}");
    assert!(said.contains("exit 0"), "{said}{told}{}", workspace.read("resume.txt"));
    // The turn was lost, and done again as another turn of the same attempt.
    assert_eq!(workspace.lines("log"), ["work 1 1", "work 1 2"]);
    let document = serde_json::from_str(&workspace.read("resume.json")).expect("one document");
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute"]);
    let events = workspace.events();
    let count = |name: &str| events.iter().filter(|event| is(event, name)).count();
    assert_eq!((count("work:ended turn lost"), count("work:progressed turn adopted")), (1, 0));
}
