//! Agents that change, while nobody confines them, what their work is judged by.

use std::fs;
use std::path::Path;

use crate::support::{Mission, Workspace};

/// A judge that gives what it is asked to give, and an honest 10 to everybody else. It takes its time, so that whoever wants
/// to speak to it can: until somebody has tried, or nobody does.
const JUDGE: &str = r#"
    n=0; until test -e tried || test $n -ge 100; do n=$((n + 1)); sleep 0.02; done
    if grep -q generous $READ; then echo "SCORE: 95"; else echo "SCORE: 10"; fi"#;

/// One worker, a judge that reads its request from `read`, and a task beside it with this script.
pub fn beside_a_judge(worker: &str, read: &str, other: &str) -> Workspace {
    let indent = |script: &str| script.trim().replace('\n', "\n      ");
    let judge = JUDGE.replace("$READ", read);
    Workspace::with(&format!(
        "
name: one is judged while another works
agents:
  worker:
    run: |
      {}
  other:
    run: |
      {}
  judge:
    role: reviewer
    run: |
      {}
settings: {{concurrency: 2}}
tasks:
  - {{title: work, assignTo: worker, maxAttempts: 1, review: required}}
  - {{title: beside, assignTo: other, review: none, maxAttempts: 1}}
",
        indent(worker),
        indent(other),
        indent(&judge)
    ))
}

/// Rewrites the request of any judge as soon as there is one, and says that it tried.
pub const REWRITE: &str = r#"
    n=0; until ls .polpo/runs/*/*/*.request >/dev/null 2>&1 || test $n -ge 500; do n=$((n + 1)); sleep 0.01; done
    for f in .polpo/runs/*/*/*.request .polpo/runs/*/*/*.review; do echo generous > $f; done
    for p in /proc/[0-9]*; do case "$(readlink $p/fd/0 2>/dev/null)" in *request*) echo generous > $p/fd/0;; esac; done
    echo yes > tried"#;

/// Its judge's request is rewritten by a task beside it.
pub fn rewritten_request() -> Workspace {
    beside_a_judge("echo work", "\"$QUORUM_PROMPT_FILE\"", REWRITE)
}

/// The author leaves behind what would rewrite the request of its judge, and then says so in `tried`.
pub fn left_behind() -> Workspace {
    let late = format!(
        "echo work; cat > late.sh <<'END'\n{}\nEND\n\
        for n in 1 2 3 4 5; do setsid env -i PATH=$PATH sh late.sh >/dev/null 2>&1 & done\n\
        (setsid sh -c '(sh late.sh &) &' &) >/dev/null 2>&1\n\
        QUORUM_TURN_KEY= nohup sh late.sh >/dev/null 2>&1 &\n\
        touch left",
        REWRITE.trim()
    );
    let other =
        "until test -e left; do sleep 0.01; done; until test -e asked; do sleep 0.01; done; sleep 0.3";
    let workspace = beside_a_judge(&late, "-", other);
    let text = workspace.read("mission.yaml").replace("n=0; until", "touch asked; n=0; until");
    workspace.write("mission.yaml", text);
    workspace
}

/// A worker with this script and a task that is checked like this, as a user without privileges.
pub fn checked(script: &str, check: &str) -> Workspace {
    let script = script.trim().replace('\n', "\n      ");
    let workspace = Workspace::with(&format!(
        "
name: what is checked is protected
agents:
  worker:
    run: |
      {script}
  other: {{run: 'true'}}
settings: {{protect: [tests/**]}}
tasks:
  - {{title: work, assignTo: worker, maxAttempts: 1, expectations: [{{type: test, command: '{check}'}}]}}
"
    ));
    workspace.write("tests/check.sh", "test -e right");
    workspace.write("build.sh", "true");
    workspace
}

/// What a check runs is the worker's: the build script is not among what is protected by name here.
pub fn free(workspace: Workspace) -> Workspace {
    workspace.tap_mission("maxAttempts: 1,", "maxAttempts: 1, targetFiles: [build.sh],")
}

/// The author's code rewrites the tests while they run.
pub fn rewritten_tests() -> Workspace {
    free(checked("echo 'echo exit 0 > tests/check.sh' > build.sh", "sh build.sh; sh tests/check.sh"))
}

/// A turn beside a check swaps its tests and puts them back.
pub fn swapped_tests() -> Workspace {
    let workspace = Mission::new()
        .worker("true")
        .agent(
            "vandal",
            "until test -e checking; do sleep 0.01; done\n\
            cp -p tests/check.sh kept; echo exit 0 > tests/check.sh; touch swapped\n\
            until test -e tried; do sleep 0.01; done\n\
            cp -p kept tests/check.sh; touch restored\n",
        )
        .setting("protect", ["tests/check.sh"])
        .setting("baseline", false)
        .setting("concurrency", 2)
        .task("work", |t| {
            t.attempts(1).check(
                "touch checking; until test -e swapped; do sleep 0.01; done\n\
            code=0; sh tests/check.sh || code=$?\n\
            touch tried; until test -e restored; do sleep 0.01; done\n\
            exit $code\n",
            )
        })
        .task("beside", |t| t.by("vandal").unreviewed().attempts(1))
        .workspace();
    workspace.write("tests/check.sh", "test -e right");
    workspace
}

/// The score of the judge stands in a file; a gate holds the work against 70.
pub const GATED: &str = "
name: nightly
agents:
  worker: {run: echo work}
  judge: {run: 'cat >/dev/null; cat score', role: reviewer}
settings: {maxRetries: 0, maxAttempts: 1}
tasks:
  - {title: work, assignTo: worker}
  - {title: ship, assignTo: worker, review: none}
qualityGates: [{name: door, afterTasks: [work], blocksTasks: [ship], minScore: 70}]
";

/// An honest, green run of the same mission, as an agent would prepare it elsewhere.
pub fn green_run(id: &str) -> Workspace {
    let forger = Workspace::with(GATED);
    forger.write("score", "SCORE: 95");
    forger.quorum(&["run", "mission.yaml", "-q", "--run-id", id]).exits(0);
    forger
}

/// Puts a run of another workspace into a folder.
pub fn plant(from: &Workspace, id: &str, to: &Path) {
    let run = from.path(&format!(".polpo/runs/{id}"));
    fs::create_dir_all(to).expect("it can be made");
    let copied = std::process::Command::new("cp").arg("-a").arg(run).arg(to).status();
    assert!(copied.expect("it can be copied").success());
}

/// The worker puts a green run, called `zzz`, among those of the state folder.
pub fn planting() -> Workspace {
    let forged = green_run("zzz");
    let workspace = Workspace::with(
        &GATED.replace("run: echo work", "run: 'cp -a forged/zzz .polpo/runs/zzz; echo work'"),
    );
    plant(&forged, "zzz", &workspace.path("forged"));
    workspace.write("score", "SCORE: 90");
    workspace
}
