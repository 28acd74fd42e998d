//! What agents, checks and judges try against a run whose processes are confined (semantics, section 23): the attacks are
//! those that went through before there was confinement, and touch nothing but their own folder and run. Each is tried as
//! root, where that is who tests, and as a user who owns nothing.

mod endings;
mod files;
mod keys;
mod not_held;
mod programs;
mod refused_writes;
mod ways;

use std::fs;
use std::process::Command;

use rustix::process::Pid;
use serde_json::{Value, json};

use crate::support::model::{Model, says};
use crate::support::somebody_else::is_root;
use crate::support::{
    BINARY, Finished, Mission, RUN_AS_R1, Running, Workspace, has_bubblewrap, is_alive, journal,
    makes_namespaces, skipped, standing, supervisor_of, task, wait_for,
};

/// Who attacks.
#[derive(Clone, Copy)]
enum Who {
    Tester,
    Nobody,
    /// The same where bubblewrap confines.
    Bubblewrapped,
    /// The same where no `/proc` can be mounted.
    Masked,
}

impl Who {
    fn start(self, workspace: &Workspace, arguments: &[&str]) -> Running {
        self.start_with(workspace, &[], arguments)
    }

    fn start_with(self, workspace: &Workspace, variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        match self {
            Self::Nobody => workspace.start_unprivileged_with(variables, arguments),
            Self::Bubblewrapped => workspace.start_on_an_old_kernel(variables, arguments),
            Self::Masked => workspace.start_with_a_masked_proc(variables, arguments),
            Self::Tester => {
                let mut command = workspace.command(arguments);
                command.envs(variables.iter().copied());
                Running::start(command)
            }
        }
    }

    fn run(self, workspace: &Workspace) -> Finished {
        self.start(workspace, RUN_AS_R1).finish()
    }

    /// Whether it is who tests, with nothing changed: for an ordinary user nobody is.
    fn is_tester(self) -> bool {
        matches!((self, is_root()), (Self::Tester, true) | (Self::Nobody, false))
    }
}

/// Plays an attack by everybody; by those whom the machine cannot confine it is skipped.
fn by_everybody(attack: impl Fn(Who)) {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    attack(Who::Nobody);
    attack(Who::Masked);
    if has_bubblewrap() {
        attack(Who::Bubblewrapped);
    } else {
        skipped("bubblewrap is not installed, or makes no namespaces");
    }
    if is_root() {
        attack(Who::Tester);
    }
}

/// A command of the shell `t`, which tries something and notes in `went` that it went through.
const TRY: &str = "t() { if ( eval \"$1\" ) >/dev/null 2>&1; then echo \"$1\" >> went; fi; }\n";

fn tries(lines: &[&str]) -> String {
    let tries: String = lines.iter().map(|line| format!("t '{line}'\n")).collect();
    format!("{TRY}{tries}echo yes > tried\n")
}

#[track_caller]
fn nothing_went_through(workspace: &Workspace) {
    assert!(workspace.exists("tried"), "nothing was tried");
    assert_eq!(workspace.lines("went"), Vec::<String>::new());
}

/// The document of a run that ended with one of these codes.
#[track_caller]
fn ended(finished: &Finished, code: i32) -> Value {
    let document = finished.json();
    assert_eq!(finished.code(), Some(code), "{document:#}\n{}", finished.stderr);
    assert_eq!(document["unconfined"], Value::Null, "{document:#}");
    document
}

/// Waits until a judge of the run has its request.
fn wait_for_the_judge(workspace: &Workspace) {
    let folder = workspace.path(&journal::work_of("r1"));
    wait_for("a request of a judge", || {
        let files = fs::read_dir(&folder).into_iter().flatten().flatten();
        files.map(|file| file.file_name()).any(|name| name.to_string_lossy().contains(".ask.1"))
    });
}

/// Starts 150 processes of all kinds that do not want to die, and one that waits for requests to rewrite.
const LEAVE: &str = r#"
mkdir -p left; cd left; touch began
cat > late.sh <<'END'
cd ..
while :; do
  for f in .polpo/runs/*/work/*.ask.*; do test -f "$f" && echo "SCORE: 95" > "$f"; done
  sleep 0.02
done
END
setsid env -i PATH="$PATH" sh late.sh </dev/null >/dev/null 2>&1 &
n=0
while test $n -lt 25; do
  n=$((n + 1))
  setsid sh -c 'echo >> began; exec sleep 1000' &
  (setsid env -i PATH="$PATH" sh -c 'echo >> began; exec sleep 1000' &)
  setsid sh -c 'trap "" TERM HUP INT; echo >> began; while :; do sleep 5; done' &
  nohup sh -c 'echo >> began; exec sleep 1000' &
  (sh -c 'echo >> began; kill -STOP $$; exec sleep 1000' &)
  setsid sh -c 'setsid sh -c "echo >> began; exec sleep 1000" &' &
done </dev/null >/dev/null 2>&1
while test "$(wc -l < began)" -lt 150; do sleep 0.02; done
echo done"#;

#[test]
fn attack_2_what_an_author_leaves_behind_is_dead_when_its_judge_begins() {
    by_everybody(|who| {
        // The judge is not confined, so that it sees who lives.
        let count = "n=0; for p in /proc/[0-9]*; do
            if test \"$(readlink $p/cwd)\" = \"$PWD/left\"; then n=$((n + 1)); fi; done
            echo $n > alive; echo over > judged; if grep -q 'SCORE: 95' \"$QUORUM_PROMPT_FILE\"; then echo 'SCORE: 95'; else echo 'SCORE: 10'; fi";
        let workspace = Mission::new()
            .worker(LEAVE)
            .agent("beside", "until test -e judged; do sleep 0.02; done")
            .agent_with("judge", json!({"run": count, "role": "reviewer", "sandbox": "off"}))
            .setting("concurrency", 2)
            .task("work", |t| t.attempts(1).set("review", "required"))
            .task("beside", |t| t.by("beside").unreviewed())
            .workspace()
            .confined();
        let document = who.run(&workspace).json();
        assert_eq!(workspace.lines("left/began").len(), 150);
        assert_eq!(workspace.lines("alive"), ["0"], "{document:#}");
        assert_eq!(task(&document, "work")["points"], 10.0, "{document:#}");
        assert_eq!(standing(&document, "beside").0, "done", "{document:#}");
    });
}

/// Opens for writing whatever there is of the state and of other processes, but what is its own.
const OPEN_ALL: &str = r#"
until test -e go; do sleep 0.02; done
find .polpo -type f -o -type s -o -type p | while read -r f; do
  test "$(realpath "$f")" = "$(realpath "$QUORUM_RESULT_FILE")" && continue
  if ( : >> "$f" ) 2>/dev/null; then echo "$f" >> went; fi
done
for p in /proc/[0-9]*; do
  case "$(readlink $p/fd/0)$(readlink $p/fd/1)" in *.ask.*) echo $p >> went;; esac
done
( : >> tests/t.sh ) 2>/dev/null && echo tests >> went
echo yes > tried"#;

/// What a judge tries itself once another has tried: it says 90 only if it could change nothing but its own folder.
const HONEST_JUDGE: &str = r#"
until test -e tried; do sleep 0.02; done
: > "$TMPDIR/went"
for f in "$QUORUM_PROMPT_FILE" "$QUORUM_REVIEW_FILE" tests/t.sh mission.yaml new.txt; do
  ( : >> "$f" ) 2>/dev/null && echo "opened $f" >> "$TMPDIR/went"
done
if test -s "$TMPDIR/went"; then cat "$TMPDIR/went"; echo "SCORE: 1"; else echo "SCORE: 90"; fi"#;

#[test]
fn attack_2_no_request_reply_or_test_can_be_opened_for_writing() {
    by_everybody(|who| {
        let workspace = Mission::new()
            .worker("echo work")
            .agent("beside", OPEN_ALL)
            .reviewer("judge", HONEST_JUDGE)
            .setting("concurrency", 2)
            .setting("protect", ["tests/**"])
            .task("work", |t| t.attempts(1).set("review", "required"))
            .task("beside", |t| t.by("beside").unreviewed())
            .workspace()
            .confined();
        workspace.write("tests/t.sh", "true");
        let running = who.start(&workspace, RUN_AS_R1);
        wait_for_the_judge(&workspace);
        workspace.write("go", "");
        let document = ended(&running.finish(), 0);
        assert_eq!(workspace.lines("went"), Vec::<String>::new());
        assert_eq!(task(&document, "work")["points"], 90.0, "{document:#}");
        assert!(!workspace.exists("new.txt"));
    });
}

#[test]
fn attack_3_tests_stay_what_they_are_while_the_authors_code_runs() {
    by_everybody(|who| {
        let workspace = Mission::new()
            .worker(format!("cat > build.sh <<'END'\n{}END\n", tries(&REWRITE_TESTS)))
            .setting("protect", ["tests/**"])
            .task("work", |t| {
                t.attempts(1).set("targetFiles", ["build.sh"]).check("sh build.sh; sh tests/check.sh")
            })
            .workspace()
            .confined();
        workspace.write("tests/check.sh", "test -e right");
        workspace.write("build.sh", "true");
        let document = ended(&who.run(&workspace), 3);
        nothing_went_through(&workspace);
        assert_eq!(task(&document, "work")["failure"]["mode"], "quality", "{document:#}");
        assert_eq!(workspace.read("tests/check.sh"), "test -e right");
    });
}

const REWRITE_TESTS: [&str; 9] = [
    "echo exit 0 > tests/check.sh",
    "rm tests/check.sh",
    "mv tests kept",
    "mv tests/check.sh kept.sh",
    "echo exit 0 > new.sh; mv -f new.sh tests/check.sh",
    "echo exit 0 > tests/other.sh",
    "ln tests/check.sh hard.sh && echo exit 0 > hard.sh",
    "umount tests; mount -o remount,rw tests",
    "unshare -Urm sh -c \"umount tests\"",
];

#[test]
fn attack_3_tests_are_not_swapped_by_a_turn_beside_their_check() {
    by_everybody(|who| {
        let vandal = format!("until test -e checking; do sleep 0.01; done\n{}", tries(&REWRITE_TESTS));
        let workspace = Mission::new()
            .worker("true")
            .agent("vandal", vandal)
            .setting("protect", ["tests/check.sh"])
            .setting("baseline", false)
            .setting("concurrency", 2)
            .task("work", |t| {
                t.attempts(1)
                    .check("touch checking; until test -e tried; do sleep 0.01; done; sh tests/check.sh")
            })
            .task("beside", |t| t.by("vandal").unreviewed().attempts(1))
            .workspace()
            .confined();
        workspace.write("tests/check.sh", "test -e right");
        let document = ended(&who.run(&workspace), 3);
        // Beside a file that is protected others may come; it is the only one that counts.
        let went: Vec<String> = workspace.lines("went");
        assert_eq!(went, ["echo exit 0 > tests/other.sh"]);
        assert_eq!(task(&document, "work")["failure"]["mode"], "quality", "{document:#}");
        assert_eq!(standing(&document, "beside").0, "done");
        assert_eq!(workspace.read("tests/check.sh"), "test -e right");
        assert!(!workspace.events().iter().any(|event| event["event"] == "stage:voided"));
    });
}

/// Starts a run whose worker waits until `pids.sh` tells the numbers of its session, `$R`, and its supervisor, `$K`.
fn start_with_pids(who: Who, workspace: &Workspace, variables: &[(&str, &str)]) -> (Running, [Pid; 2]) {
    let running = who.start_with(workspace, variables, RUN_AS_R1);
    let pids = [running.pid(), supervisor_of(running.pid())];
    let [session, supervisor] = pids.map(Pid::as_raw_nonzero);
    workspace.write("pids.part", format!("R={session} K={supervisor}\n"));
    fs::rename(workspace.path("pids.part"), workspace.path("pids.sh")).expect("it can be renamed");
    (running, pids)
}

const WITH_PIDS: &str = "until test -e pids.sh; do sleep 0.02; done\n. ./pids.sh\n";

#[test]
fn attacks_4_and_6_nobody_outside_is_killed_or_stopped() {
    by_everybody(|who| {
        let tries = tries(&[
            "kill -KILL $K",
            "kill -STOP $K",
            "kill -KILL $R",
            "kill -STOP $R",
            "kill -0 $K || kill -0 $R",
            "kill -STOP -- -$K",
            "unshare -Urp --fork kill -KILL $K",
            "nsenter -t 1 -p kill -KILL $K",
            "find /sys/fs/cgroup -name cgroup.freeze -writable | grep -q .",
        ]);
        let workspace = Mission::new()
            .worker(format!("{WITH_PIDS}{tries}"))
            .task("work", |t| t.unreviewed())
            .workspace()
            .confined();
        let (running, pids) = start_with_pids(who, &workspace, &[]);
        ended(&running.finish(), 0);
        nothing_went_through(&workspace);
        wait_for("the end of both", || !pids.into_iter().any(is_alive));
    });
}

#[test]
fn attack_5_nobody_inside_speaks_for_a_person() {
    by_everybody(|who| {
        let ways = [
            "",
            "env -i HOME=\"$HOME\"",
            "setsid -w env -i HOME=\"$HOME\"",
            "unshare -Urpf env -i HOME=\"$HOME\"",
            "unshare -Urpf --mount-proc env -i HOME=\"$HOME\"",
            "unshare -Ur env -i HOME=\"$HOME\"",
            "unshare -pf env -i HOME=\"$HOME\"",
        ];
        let approve = ways.map(|way| format!("{way} {BINARY} approve r1.0.1 --as boss"));
        let socket = format!("test -e .polpo/runs/r1/{}", journal::SOCKET);
        let mut lines: Vec<&str> = approve.iter().map(String::as_str).collect();
        lines.extend([
            "test -e .polpo/lock",
            &socket,
            "mkdir .polpo/commands",
            "find . -name \"*.sock\" | grep -q .",
        ]);
        let workspace = Mission::new()
            .worker("echo work")
            .agent_with("boss", json!({"adapter": "human"}))
            .agent("burglar", format!("until test -e go; do sleep 0.02; done\n{}", tries(&lines)))
            .setting("concurrency", 2)
            .task("work", |t| {
                t.expects(json!({"type": "llm_review", "criteria": "good", "reviewers": ["boss"]}))
            })
            .task("burglar", |t| t.by("burglar").unreviewed().attempts(1))
            .workspace()
            .confined();
        let running = who.start(&workspace, RUN_AS_R1);
        wait_for("a question to a person", || {
            journal::has(&workspace.read(&journal::of("r1")), journal::code::ASKED)
        });
        workspace.write("go", "");
        let document = ended(&running.finish(), 8);
        nothing_went_through(&workspace);
        assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
        assert_eq!(standing(&document, "burglar").0, "done");
        assert!(!workspace.exists(&journal::inbox("")));
    });
}

#[test]
fn attacks_7_and_9_nothing_is_planted_among_the_runs() {
    by_everybody(|who| {
        let plant = tries(&[
            "cp -r forged .polpo/runs/zzz",
            "mkdir -p .polpo/runs/old && truncate -s 1T .polpo/runs/old/journal.jsonl",
            "ls .polpo/runs/r1/journal.jsonl",
            "mv .polpo other",
            "rm -r .polpo",
            "ln -s ../decoy .polpo/commands",
            "echo {} > .polpo/dead-letters.jsonl",
            "test \"$(ls -A .polpo)\" != runs",
        ]);
        let workspace = Mission::new()
            .worker(format!("test -e honest && exit 0\n{plant}"))
            .task("work", |t| t.attempts(1).check("test -e honest"))
            .workspace()
            .confined();
        workspace.write("honest", "");
        ended(&who.start(&workspace, &["run", "mission.yaml", "--json", "--run-id", "green"]).finish(), 0);
        let copied = Command::new("cp")
            .arg("-r")
            .args([workspace.path(".polpo/runs/green"), workspace.path("forged")])
            .status();
        assert!(copied.expect("there is a cp").success());
        fs::remove_file(workspace.path("honest")).expect("it is there");
        ended(&who.run(&workspace), 3);
        nothing_went_through(&workspace);
        let mut runs: Vec<_> = workspace.run_folders();
        runs.sort();
        assert_eq!(runs, [workspace.path(".polpo/runs/green"), workspace.path(".polpo/runs/r1")]);
        who.start(&workspace, &["status", "--exit-code"]).finish().exits(3);
    });
}

#[test]
fn attack_10_nobody_writes_the_script_of_who_judges_him() {
    by_everybody(|who| {
        let scripts = ["judge.sh", "check.sh", "metric.sh", "stage.sh", "approve.sh"];
        let evil = "echo 99; echo SCORE: 97; exit 0";
        let lines: Vec<String> = scripts
            .iter()
            .flat_map(|script| {
                let (over, beside) =
                    (format!("echo \"{evil}\" > {script}"), format!("echo \"{evil}\" > x; mv -f x {script}"));
                [over, beside, format!("rm -f {script}")]
            })
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let workspace = Mission::new()
            .worker(tries(&lines))
            .agent_with("judge", json!({"run": ["/bin/sh", "judge.sh"], "role": "reviewer"}))
            .key("stages", json!([{"name": "lint", "command": "sh stage.sh"}]))
            .task("judged", |t| t.attempts(1).set("review", "required").check("sh check.sh"))
            .task("measured", |t| {
                t.attempts(1)
                    .unreviewed()
                    .expects(json!({"type": "metric", "name": "m", "command": "sh metric.sh", "min": 90}))
            })
            .task("approved", |t| {
                t.unreviewed().set("requiresApproval", json!({"approvers": [{"command": "sh approve.sh"}]}))
            })
            .workspace()
            .confined();
        for script in scripts {
            workspace.write(script, if script == "judge.sh" { "echo SCORE: 10" } else { "echo 10" });
        }
        let finished = who.run(&workspace);
        let document = finished.json();
        nothing_went_through(&workspace);
        assert_eq!(task(&document, "judged")["points"], 10.0, "{document:#}");
        assert_eq!(standing(&document, "measured").0, "failed", "{document:#}");
        assert_ne!(finished.code(), Some(0));
    });
}

#[test]
fn attack_11_no_recording_is_edited() {
    by_everybody(|who| {
        let model = Model::new(|_| says("Thin work.\nSCORE: 10"));
        let tries = tries(&[
            "for f in tape/replies/*; do echo evil > $f || exit 1; done",
            "rm -r tape/replies/*",
            "echo evil > tape/replies/new.json",
            "mv tape other",
        ]);
        let workspace = Mission::new()
            .worker(format!("test -e attack || exit 0\n{tries}"))
            .model("judge", &model, json!({"role": "reviewer"}))
            .task("work", |t| t.attempts(1).set("review", "required"))
            .workspace()
            .confined();
        who.start(&workspace, &["run", "mission.yaml", "--json", "--record", "tape"]).finish().exits(5);
        workspace.write("attack", "");
        let again = ["run", "mission.yaml", "--json", "--offline", "--record", "tape"];
        let document = ended(&who.start(&workspace, &again).finish(), 5);
        nothing_went_through(&workspace);
        assert_eq!(task(&document, "work")["points"], 10.0, "{document:#}");
    });
}

#[test]
fn attack_13_settings_and_mission_stay_what_they_are() {
    by_everybody(|who| {
        let loose = "settings: {evaluate: false}";
        let tries = tries(&[
            &format!("echo \"{loose}\" > quorum.yaml"),
            &format!("echo \"{loose}\" > x; mv -f x quorum.yaml"),
            "rm -f quorum.yaml; mkfifo quorum.yaml",
            "echo \"{}\" > mission.yaml",
            "mv mission.yaml other.yaml",
        ]);
        let workspace = Mission::new()
            .worker(tries)
            .judge("judge", &["SCORE: 10"])
            .tasks(["work"])
            .workspace()
            .confined();
        workspace.write("quorum.yaml", "settings: {maxAttempts: 1}\n");
        // A judge of the tests leaves behind what it was asked.
        let workspace =
            workspace.tap_mission("\"role\":\"reviewer\"", "\"role\":\"reviewer\",\"sandbox\":\"off\"");
        let first = who.run(&workspace);
        let document = first.json();
        nothing_went_through(&workspace);
        assert_ne!(first.code(), Some(0));
        assert_eq!(task(&document, "work")["points"], 10.0, "{document:#}");
        assert_eq!(workspace.read("quorum.yaml"), "settings: {maxAttempts: 1}\n");
        // Where there was none a mount cannot hold it; what looks at protected files does.
        let workspace = Mission::new()
            .worker(format!("echo '{loose}' > quorum.yaml"))
            .task("work", |t| t.attempts(1).unreviewed())
            .workspace()
            .confined();
        let document = ended(&who.run(&workspace), 3);
        assert_eq!(task(&document, "work")["failure"]["mode"], "protected", "{document:#}");
    });
}

#[test]
fn attack_15_no_key_is_read_of_another_process() {
    by_everybody(|who| {
        let script = format!(
            "{WITH_PIDS}
            for p in $PPID $R $K; do
              cat /proc/$p/environ; cat /proc/$p/task/*/environ; ls -l /proc/$p/fd/; cat /proc/$p/root/etc/hostname
              dd if=/proc/$p/mem bs=1 count=1
            done > seen 2> refused
            cat /proc/self/environ >> seen
            echo /proc/[0-9]* > processes
            echo yes > tried"
        );
        let workspace = Mission::new().worker(script).task("work", |t| t.unreviewed()).workspace().confined();
        let key = "the-key-of-the-operator";
        let keys = [("QUORUM_OPERATOR_KEY", key), ("OPENAI_API_KEY", "the-key-of-a-provider")];
        let (running, _) = start_with_pids(who, &workspace, &keys);
        ended(&running.finish(), 0);
        let seen = fs::read(workspace.path("seen")).expect("it is there");
        let seen = String::from_utf8_lossy(&seen);
        assert!(workspace.exists("tried") && !seen.contains("the-key-of"), "{seen}");
        let is_alone = workspace.read("processes").split(' ').count() < 8;
        assert!(is_alone || matches!(who, Who::Masked), "others are seen");
        assert!(seen.contains("QUORUM_TASK="), "its own environment can be read");
    });
}

#[test]
fn without_network_only_its_own_loopback_is_reached() {
    by_everybody(|who| {
        let model = Model::new(|_| says("SCORE: 90"));
        let port = model.base().rsplit(':').next().and_then(|rest| rest.split('/').next()).map(str::to_owned);
        let script = format!(
            "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' > devices
            if bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}'; then echo reached > reached; fi; echo yes > tried",
            port.expect("it has a port")
        );
        let denied = Mission::new()
            .agent_with("worker", json!({"run": script.clone(), "network": "deny"}))
            .task("work", |t| t.unreviewed())
            .workspace()
            .confined();
        ended(&who.run(&denied), 0);
        assert_eq!(denied.lines("devices"), ["lo"]);
        assert!(denied.exists("tried") && !denied.exists("reached"));
        let allowed = Mission::new().worker(script).task("work", |t| t.unreviewed()).workspace().confined();
        ended(&who.run(&allowed), 0);
        assert!(allowed.exists("reached"));
    });
}

#[test]
fn with_files_workspace_nothing_else_is_changed() {
    by_everybody(|who| {
        let tries = tries(&["echo evil > ../outside/decoy", "mkdir ../outside/new"]);
        let script = format!(
            "{tries}echo evil > \"$HOME/.bashrc\"; test -n \"$TMPDIR\" && echo mine > \"$TMPDIR/mine\" && cat \"$TMPDIR/mine\" > own; echo {{}} > \"$QUORUM_RESULT_FILE\""
        );
        let workspace = Mission::new()
            .key("workspace", "w")
            .agent_with("worker", json!({"run": script, "files": "workspace"}))
            .task("work", |t| t.unreviewed())
            .workspace()
            .confined();
        workspace.write("outside/decoy", "as it was");
        workspace.write("w/there", "");
        ended(&who.run(&workspace), 0);
        assert!(workspace.exists("w/tried"), "nothing was tried");
        assert_eq!(workspace.lines("w/went"), Vec::<String>::new());
        assert_eq!(
            (workspace.read("w/own").as_str(), workspace.read("outside/decoy").as_str()),
            ("mine\n", "as it was")
        );
        assert!(!workspace.exists("outside/new") && !workspace.exists("home/.bashrc"));
    });
}

#[test]
fn with_files_workspace_a_program_is_there_wherever_it_lies() {
    for run in [json!(["TOP/bin/tool"]), json!(["sh", "TOP/bin/tool"]), json!(["tool"])] {
        let workspace = Mission::new()
            .key("workspace", "w")
            .agent_with("worker", json!({"run": run, "files": "workspace"}))
            .task("work", |t| t.unreviewed())
            .workspace()
            .confined();
        let top = workspace.root().to_string_lossy().into_owned();
        workspace.mission(&workspace.read("mission.yaml").replace("TOP", &top));
        workspace.write("bin/word", "beside");
        workspace.write("w/there", "");
        program(
            &workspace,
            "bin/tool",
            "cat \"$(dirname \"$0\")/word\" > said; touch \"$(dirname \"$0\")/new\" 2> no; exit 0",
        );
        let path = format!("{top}/bin:{}", std::env::var("PATH").unwrap_or_default());
        workspace.quorum_with(&[("PATH", &path)], RUN_AS_R1).exits(0);
        assert_eq!(workspace.read("w/said"), "beside", "{run}");
        assert!(!workspace.exists("bin/new") || !makes_namespaces(), "{run}");
    }
}

/// A script of the shell that can be run.
fn program(workspace: &Workspace, path: &str, script: &str) {
    workspace.write(path, format!("#!/bin/sh\n{script}\n"));
    workspace.bash(&format!("chmod +x {path}")).exits(0);
}
