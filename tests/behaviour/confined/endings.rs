//! How a confined process ends: as it would unconfined, with everything that it started, and whatever becomes of those who
//! watch it.

use std::path::Path;

use rustix::process::{Signal, kill_process};

use super::*;
use crate::support::events::is;
use crate::support::wait_for_file;

/// How many processes work in a folder.
fn at_work_in(folder: &Path) -> usize {
    let folder = folder.canonicalize().expect("it is there");
    let all = fs::read_dir("/proc").expect("there is a /proc").flatten();
    all.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&folder)))
        .count()
}

#[track_caller]
fn nothing_is_left_in(folder: &Path) {
    wait_for("the end of everything", || at_work_in(folder) == 0);
}

/// Starts in `left` what does not want to die, and waits until it is there.
const START_STUBBORN: &str = r#"
mkdir -p left; cd left
setsid sh -c 'trap "" TERM HUP INT; echo >> began; while :; do sleep 5; done' </dev/null >/dev/null 2>&1 &
(setsid env -i PATH="$PATH" sh -c 'echo >> began; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
until test "$(wc -l < began)" = 2; do sleep 0.01; done
cd ..
"#;

#[test]
fn every_way_to_end_is_told_as_it_would_be_unconfined() {
    by_everybody(|who| {
        let ends = [
            "exit 0",
            "exit 1",
            "exit 7",
            "exit 255",
            "exit 137",
            "exit 143",
            "kill -9 $$",
            "kill -15 $$",
            "kill -11 $$",
        ];
        let told = |sandbox: &str| {
            let mission = ends.iter().fold(Mission::new().worker("true"), |mission, end| {
                let mission = mission
                    .agent(end, *end)
                    .task(&format!("works: {end}"), |t| t.by(end).attempts(1).unreviewed());
                mission
                    .task(&format!("checked: {end}"), |t| t.by("worker").attempts(1).unreviewed().check(*end))
            });
            let workspace = mission.workspace().confined();
            let document =
                who.start(&workspace, &[RUN_AS_R1, &["--sandbox", sandbox]].concat()).finish().json();
            let of = |title: String| {
                let task = task(&document, &title);
                format!(
                    "{title}: {} {} {}",
                    task["status"], task["failure"]["mode"], task["failure"]["message"]
                )
            };
            let titles = ends.iter().flat_map(|end| [format!("checked: {end}"), format!("works: {end}")]);
            titles.map(of).collect::<Vec<String>>()
        };
        let confined = told("required");
        assert_eq!(confined, told("off"));
        for (end, words) in [("exit 7", "exited 7"), ("exit 137", "exited 137"), ("kill -9 $$", "signal 9")] {
            let title = format!("works: {end}:");
            let line = confined.iter().find(|line| line.starts_with(&title)).expect("it is told");
            assert!(line.contains(words), "{line}");
        }
    });
}

#[test]
fn a_deadline_leaves_time_for_a_trap_and_then_kills_everything() {
    by_everybody(|who| {
        let trapped = format!(
            "{START_STUBBORN}trap 'echo bye > bye; exit 5' TERM; touch ready; while :; do sleep 0.02; done"
        );
        let deaf = "mkdir -p left; cd left; trap '' TERM; (trap '' TERM; exec sleep 1000) & touch deaf; while :; do sleep 0.02; done";
        let workspace = Mission::new()
            .worker(trapped)
            .agent("deaf", deaf)
            .setting("concurrency", 2)
            .task("work", |t| t.attempts(1).unreviewed().set("maxDuration", 1500))
            .task("deaf", |t| t.by("deaf").attempts(1).unreviewed().set("maxDuration", 1500))
            .workspace()
            .confined();
        let document = ended(&who.run(&workspace), 3);
        assert!(workspace.exists("ready") && workspace.exists("left/deaf"), "they did not begin in time");
        for title in ["work", "deaf"] {
            assert_eq!(task(&document, title)["failure"]["mode"], "timeout", "{document:#}");
        }
        assert_eq!(workspace.read("bye"), "bye\n");
        nothing_is_left_in(workspace.root());
    });
}

#[test]
fn nothing_outlives_a_supervisor_that_is_killed() {
    by_everybody(|who| {
        let workspace = Mission::new()
            .worker(format!("{START_STUBBORN}echo > ready; sleep 1000"))
            .task("work", |t| t.attempts(1).unreviewed())
            .workspace()
            .confined();
        let running = who.start(&workspace, RUN_AS_R1);
        wait_for_file(&workspace.path("ready"));
        assert!(at_work_in(&workspace.path("left")) >= 2, "they are seen");
        kill_process(supervisor_of(running.pid()), Signal::KILL).expect("it can be killed");
        assert_eq!(running.finish().code(), Some(1));
        nothing_is_left_in(workspace.root());
    });
}

#[test]
fn an_agent_is_still_confined_when_another_session_takes_it_over() {
    by_everybody(|who| {
        let tries = tries(&["echo exit 0 > tests/check.sh", "ls .polpo/runs/r1/journal.jsonl"]);
        let workspace = Mission::new()
            .worker(format!("echo x >> begun; echo > ready; until test -e go; do sleep 0.02; done\n{tries}"))
            .setting("protect", ["tests/**"])
            .task("work", |t| t.attempts(1).unreviewed().check("sh tests/check.sh"))
            .workspace()
            .confined();
        workspace.write("tests/check.sh", "test -e tried");
        let running = who.start(&workspace, RUN_AS_R1);
        wait_for_file(&workspace.path("ready"));
        let count = |event: &str| workspace.events().iter().filter(|seen| is(seen, event)).count();
        wait_for("the process on record", || count("agent:spawned") == 1);
        running.kill();
        let resumed = who.start(&workspace, &["resume", "--json"]);
        wait_for("the turn is adopted", || count("work:progressed turn adopted") == 1);
        workspace.write("go", "");
        ended(&resumed.finish(), 0);
        nothing_went_through(&workspace);
        assert_eq!(workspace.lines("begun").len(), 1, "it worked once");
        nothing_is_left_in(workspace.root());
    });
}

#[test]
fn a_session_decides_how_its_own_processes_are_confined() {
    by_everybody(|who| {
        // It waits for an answer between the two tasks, so that there are two sessions.
        let seen = "test -e .polpo/runs/r1/journal.jsonl && echo $QUORUM_TASK >> unconfined; echo $QUORUM_TASK >> worked";
        let workspace = || {
            Mission::new()
                .worker(seen)
                .task("one", |t| t.unreviewed())
                .task("two", |t| t.unreviewed().needs("one").approved())
                .workspace()
                .confined()
        };
        for (first, second, unconfined) in [("required", "off", "two"), ("off", "required", "one")] {
            let workspace = workspace();
            let run = who.start(&workspace, &[RUN_AS_R1, &["--sandbox", first]].concat()).finish();
            assert_eq!(run.code(), Some(8), "{}", run.stderr);
            let document = run.json();
            assert_eq!(document["unconfined"].is_null(), first == "required");
            let waits = document["approvals"][0]["id"].as_str().expect("it waits for a person").to_owned();
            who.start(&workspace, &["approve", &waits]).finish().exits(0);
            let document = who.start(&workspace, &["resume", "--json", "--sandbox", second]).finish().json();
            assert_eq!(
                (&document["exitCode"], workspace.lines("worked").len()),
                (&json!(0), 2),
                "{document:#}"
            );
            assert_eq!(workspace.lines("unconfined"), [unconfined]);
            // What was once unconfined is not forgotten.
            assert_eq!(document["unconfined"], "`sandbox: off` is written");
            workspace.quorum(&["status"]).shows(&["unconfined"]);
        }
    });
}

#[test]
fn a_sandbox_that_cannot_be_made_is_no_failing_check() {
    by_everybody(|who| {
        if !who.is_tester() {
            // In a namespace of its own the tester is no more than anybody.
            return;
        }
        let workspace = Mission::new()
            .worker("touch ready; until test -e go; do sleep 0.02; done")
            .task("work", |t| t.attempts(1).unreviewed().set("baseline", false).check("touch checked"))
            .workspace()
            .confined();
        // Namespaces are forbidden while the first one is at work.
        let script = "\"$0\" \"$@\" & until test -e ready; do sleep 0.02; done
            echo 0 > /proc/sys/user/max_user_namespaces; touch go; wait $!";
        let mut command = workspace.other_command("unshare");
        command.args(["-Ur", "sh", "-c", script, BINARY]).args(RUN_AS_R1);
        let finished = Running::start(command).finish();
        finished.exits(1).says(&["the sandbox cannot be made", "user namespaces are switched off"]);
        assert!(!workspace.exists("checked"), "it was started unconfined");
        assert_eq!(standing(&workspace.status(), "work").0, "review");
        // Where they can be had again it goes on.
        let document = workspace.resume_json(0, &[]);
        assert_eq!(standing(&document, "work").0, "done");
        assert!(workspace.exists("checked"));
    });
}

#[test]
fn a_program_that_has_gone_is_told_as_it_would_be_unconfined() {
    by_everybody(|who| {
        let told = |sandbox: &str| {
            let workspace = Mission::new()
                .worker("rm agent.sh; rm -r elsewhere")
                .agent_with("gone", json!({"run": ["./agent.sh"]}))
                .task("work", |t| t.unreviewed())
                .task("gone", |t| t.by("gone").needs("work").unreviewed().attempts(1))
                .workspace()
                .confined();
            workspace.write("agent.sh", "#!/bin/sh\n");
            workspace.write("elsewhere/x", "");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(workspace.path("agent.sh"), mode).expect("its own file");
            let finished = who.start(&workspace, &[RUN_AS_R1, &["--sandbox", sandbox]].concat()).finish();
            let document = finished.json();
            let task = task(&document, "gone");
            (
                finished.code(),
                task["status"].clone(),
                task["failure"].to_string().replace(&workspace.root().display().to_string(), ""),
            )
        };
        let confined = told("required");
        assert_eq!(confined, told("off"));
        assert!(confined.2.contains("agent.sh"), "{confined:?}");
    });
}
