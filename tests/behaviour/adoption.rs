//! Agents that outlive a session: a killed runner's turns go on, and the next session takes them over or takes their
//! end from the record.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::journal;
use crate::support::scenes::killed_runners::{Scene, other, work};
use crate::support::{
    BINARY, Has, Running, Says, attempts, is_alive, makes_namespaces, parent, read_pid, skipped, standing,
    task, wait_for,
};

/// The supervisors that a process has forked and that live.
fn supervisors_below(session: Pid) -> Vec<Pid> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_one = |pid: &Pid| {
        let number = pid.as_raw_nonzero();
        let read = |name: &str| fs::read_to_string(format!("/proc/{number}/{name}")).unwrap_or_default();
        let below = format!("PPid:\t{}\n", session.as_raw_nonzero());
        read("comm").trim_end() == journal::SUPERVISOR && read("status").contains(&below) && is_alive(*pid)
    };
    numbers.filter_map(Pid::from_raw).filter(is_one).collect()
}

#[test]
fn an_agent_that_still_works_is_taken_over() {
    let scene = Scene::crashed(work());
    let resumed = scene.adopted(1);
    assert!(is_alive(scene.agent) && parent(scene.agent) == scene.supervisor);
    // One supervisor a run: the one that the new session forked is gone.
    assert_eq!(supervisors_below(resumed.pid()), [] as [Pid; 0]);
    let status = scene.workspace.status();
    assert_eq!(status["state"], "running");
    assert_eq!(standing(&status, "work").0, "in_progress");
    scene.let_go("work");
    let document = resumed.finish().exits(0).json();
    scene.assert_done_once(&document);
}

#[test]
fn an_agent_that_ended_while_nobody_looked_has_done_its_work() {
    let scene = Scene::crashed(work());
    scene.let_go("work");
    scene.supervisor_has_ended();
    let document = scene.workspace.resume_json(0, &[]);
    scene.assert_done_once(&document);
    assert_eq!(scene.count("work:progressed turn adopted"), 1);
}

#[test]
fn an_agent_that_failed_while_nobody_looked_has_failed() {
    let scene = Scene::crashed(work());
    scene.workspace.write("exit", "7");
    scene.let_go("work");
    scene.supervisor_has_ended();
    let document = scene.workspace.resume_json(3, &[]);
    let failure = &task(&document, "work")["failure"];
    assert_eq!((&failure["mode"], &failure["message"]), (&json!("error"), &json!("exited 7")));
    assert_eq!(scene.log(), ["work 1 1"]);
}

#[test]
fn a_deadline_holds_while_nobody_looks() {
    let scene = Scene::crashed(work().change("work", |t| t.set("maxDuration", 1500)));
    scene.supervisor_has_ended();
    assert!(!is_alive(scene.agent));
    let document = scene.workspace.resume_json(3, &[]);
    assert_eq!(task(&document, "work")["failure"]["mode"], "timeout");
    assert_eq!(scene.log(), ["work 1 1"]);
}

#[test]
fn an_agent_survives_one_crash_after_the_other() {
    let mut scene = Scene::crashed(work());
    for times in 1..=3 {
        let resumed = scene.adopted(times);
        assert!(is_alive(scene.agent));
        scene.running = Some(resumed);
        scene.kill_runner();
    }
    scene.let_go("work");
    let document = scene.workspace.resume_json(0, &[]);
    scene.assert_done_once(&document);
}

#[test]
fn a_turn_is_lost_with_its_supervisor() {
    let scene = Scene::crashed(work());
    scene.kill_supervisor();
    let resumed = scene.workspace.start(&["resume", "--json"]);
    wait_for("the second turn", || scene.log().len() == 2);
    assert!(!is_alive(scene.agent), "two work at once");
    scene.let_go("work");
    let document = resumed.finish().exits(0).json();
    assert_eq!(attempts(&document, "work"), ["execute"]);
    assert_eq!(scene.log(), ["work 1 1", "work 1 2"]);
}

#[test]
fn a_session_whose_supervisor_is_killed_leaves_nothing_running() {
    let mut scene = Scene::start(work());
    scene.kill_supervisor();
    let running = scene.running.take().unwrap();
    running.finish().exits(1).says(&["the process that holds the agents"]);
    assert!(!is_alive(scene.agent), "it works on unseen");
    scene.let_go("work");
    let document = scene.workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(scene.log(), ["work 1 1", "work 1 2"]);
}

#[test]
fn judges_are_asked_again_while_an_agent_works_on() {
    let judge = "echo asked >> asked; echo $$ >> judge.pid; \
                 while [ ! -e go.judge ]; do sleep 0.02; done; echo SCORE: 80";
    let mission = work().reviewer("judge", judge).change("work", |t| t.unreviewed()).tasks(["judged"]);
    let workspace = mission.workspace();
    workspace.write("go.judged", "");
    let running = workspace.start(&["run", "mission.yaml"]);
    let agent = read_pid(&workspace.path("work.pid"));
    let judge = read_pid(&workspace.path("judge.pid"));
    running.kill();
    wait_for("the end of the judge", || !is_alive(judge));
    assert!(is_alive(agent));
    workspace.write("go.judge", "");
    // Beside the agent that works on: its number among the supervisor's children is taken.
    let resumed = workspace.start(&["resume", "--json"]);
    let judged = || standing(&workspace.status(), "judged").0 == "done";
    wait_for("the judge's second word", judged);
    assert!(is_alive(agent));
    workspace.write("go.work", "");
    let document = resumed.finish().exits(0).json();
    assert_eq!(standing(&document, "judged"), ("done", "clean"));
    assert_eq!(workspace.lines("asked").len(), 2);
    let mut log = workspace.lines("log");
    log.sort();
    assert_eq!(log, ["judged 1 1", "work 1 1"]);
}

#[test]
fn what_is_cancelled_after_a_crash_is_ended() {
    let scene = Scene::crashed(other(work()));
    let other = read_pid(&scene.workspace.path("other.pid"));
    scene.workspace.quorum(&["cancel", "other", "--yes"]).exits(0);
    assert!(!is_alive(other), "it was called off");
    assert!(is_alive(scene.agent), "this one was not");
    scene.let_go("work");
    let document = scene.workspace.resume_json(3, &[]);
    scene.assert_done_once(&document);
    assert_eq!(task(&document, "other")["failure"]["mode"], "cancelled");

    let scene = Scene::crashed(work());
    let run = scene.workspace.run_folder();
    let run = run.file_name().unwrap().to_str().unwrap();
    scene.workspace.quorum(&["cancel", run, "--yes"]).exits(0);
    assert!(!is_alive(scene.agent));
    wait_for("the end of the supervisor", || !is_alive(scene.supervisor));
}

#[test]
fn a_crashed_run_says_that_its_agents_work_on() {
    let scene = Scene::crashed(work());
    let workspace = &scene.workspace;
    let status = workspace.status();
    status.has(json!({"state": "crashed", "live": false, "agentsAtWork": ["work"]}));
    let says = |arguments: &[&str], words: &str| {
        let said = workspace.quorum(arguments);
        assert!(said.stdout.contains(words) || said.stderr.contains(words), "{arguments:?}: {said:?}");
    };
    says(&["status"], "agents are still at work on work");
    says(&["show", "work"], "still at work");
    says(&["run", "mission.yaml"], "whose agents are still at work");
    says(&["clean", "--all", "--unfinished", "--yes"], "agents of it are still at work");
    assert!(workspace.run_folder().exists() && is_alive(scene.agent));
    let runs = workspace.quorum(&["runs", "--json"]).exits(0).json();
    assert_eq!(runs["runs"][0]["agentsAtWork"], true);

    let following = workspace.start(&["logs", "-f", "work"]);
    scene.let_go("work");
    scene.supervisor_has_ended();
    let logs = following.finish().exits(0);
    assert_eq!(logs.stdout, "work began\nwork ended\n");
    let status = workspace.status();
    assert_eq!((&status["state"], &status["agentsAtWork"]), (&json!("crashed"), &Value::Null));
    scene.assert_done_once(&workspace.resume_json(0, &[]));
}

#[test]
fn an_output_that_was_changed_meanwhile_is_lost() {
    for (changed, bytes) in [("work began\nwork ended\nand more\n", 31), ("", 0)] {
        let scene = Scene::crashed(work());
        scene.let_go("work");
        scene.supervisor_has_ended();
        let out = scene.workspace.run_folder().join(journal::turn_file(0, 1, 1, "out"));
        assert_eq!(fs::read_to_string(&out).unwrap(), "work began\nwork ended\n");
        fs::write(&out, changed).unwrap();
        let document = scene.workspace.resume_json(3, &[]);
        let message = task(&document, "work")["failure"]["message"].as_str().unwrap();
        let expected = format!("exited 0, but its output is lost: it has {bytes} bytes, 22 were printed");
        assert_eq!(message, expected);
        assert_eq!(scene.log(), ["work 1 1"]);
    }
}

#[test]
fn a_record_of_exits_is_believed_only_beyond_doubt() {
    let scene = Scene::crashed(other(work()));
    scene.let_go("work");
    wait_for("the exit on record", || {
        fs::read_to_string(scene.exits()).unwrap().contains(&format!("\"{}\"", journal::turn(0, 1, 1)))
    });
    // The other one never ends by itself: whoever writes that it did lies.
    scene.kill_supervisor();
    let text = fs::read_to_string(scene.exits()).unwrap();
    let [mine, others] = [0, 1].map(|task| format!("\"{}\"", journal::turn(task, 1, 1)));
    let record = text.lines().find(|line| line.contains(&mine)).unwrap();
    let forged = journal::sealed(&record.replace(&mine, &others));
    let (torn, _) = forged.split_at(40);
    fs::write(scene.exits(), format!("soup\n\0\n{text}{forged}\n{torn}")).unwrap();
    scene.let_go("other");
    let document = scene.workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "other").0, "done");
    let mut log = scene.log();
    log.sort();
    assert_eq!(log, ["other 1 1", "other 1 2", "work 1 1"]);
    document["warnings"].to_string().says(&["contradicts the journal about turn 1.1.1"]);
}

#[test]
fn after_a_power_loss_no_exit_is_believed_that_another_boot_recorded() {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("it has an id");
    let other = "00000000-1111-4222-8333-444444444444";
    // Of a boot that is over: both records; what the supervisor wrote; what the journal says of the supervisor.
    for (in_exits, in_journal) in [(true, true), (true, false), (false, true)] {
        let scene = Scene::crashed(work());
        scene.let_go("work");
        scene.supervisor_has_ended();
        let moved = |text: &str| text.replace(boot.trim(), other);
        if in_exits {
            let text = fs::read_to_string(scene.exits()).unwrap();
            assert!(text.contains(boot.trim()) && text.contains(&journal::turn(0, 1, 1)), "{text}");
            let text: String = text.lines().map(|line| journal::sealed(&moved(line)) + "\n").collect();
            fs::write(scene.exits(), text).unwrap();
        }
        if in_journal {
            assert!(fs::read_to_string(scene.workspace.journal()).unwrap().contains(boot.trim()));
            journal::rewrite(&scene.workspace.journal(), moved);
        }
        let document = scene.workspace.resume_json(0, &[]);
        assert_eq!(standing(&document, "work"), ("done", "clean"));
        assert_eq!(scene.log(), ["work 1 1", "work 1 2"], "{in_exits} {in_journal}");
        assert_eq!((scene.count("work:ended turn lost"), scene.workspace.calls("judge")), (1, 1));
    }
}

#[test]
fn a_supervisor_that_cannot_be_seen_is_not_given_a_second_one_beside_it() {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    let scene = Scene::crashed(work());
    for way in [&["-Urpf", "--mount-proc"][..], &["-Urpf", "--mount-proc", "--kill-child"]] {
        for arguments in
            [&["resume", "--timeout", "20s"][..], &["resume", "--retry-failed", "--timeout", "20s"]]
        {
            let mut command = scene.workspace.other_command("unshare");
            command.args(way).arg(BINARY).args(arguments);
            let refused = Running::start(command).finish();
            assert_ne!(refused.code(), Some(0), "{refused:?}");
            refused.says(&["cannot be seen from here", "resume in the namespace of processes"]);
            assert!(is_alive(scene.agent) && is_alive(scene.supervisor));
            assert_eq!(scene.log(), ["work 1 1"], "two work at once");
        }
    }
    scene.let_go("work");
    scene.assert_done_once(&scene.workspace.resume_json(0, &[]));
}

#[test]
fn two_records_of_one_exit_are_none() {
    let scene = Scene::crashed(work());
    scene.let_go("work");
    scene.supervisor_has_ended();
    let text = fs::read_to_string(scene.exits()).unwrap();
    let other = text.replace(&journal::exit(0), &journal::exit(7));
    assert_ne!(text, other);
    let other: String = other.lines().map(|line| journal::sealed(line) + "\n").collect();
    fs::write(scene.exits(), format!("{other}{text}")).unwrap();
    scene.workspace.resume_json(0, &[]);
    assert_eq!(scene.log(), ["work 1 1", "work 1 2"]);
}

#[test]
fn a_stranger_with_the_number_of_an_agent_or_a_supervisor_is_spared() {
    let scene = Scene::crashed(work());
    scene.kill_supervisor();
    kill_process(scene.agent, Signal::KILL).unwrap();
    wait_for("the end of the agent", || !is_alive(scene.agent));
    // Both numbers belong to others now.
    let mut sleep = std::process::Command::new("sleep");
    let mut strangers = [0, 1].map(|_| sleep.arg("1000").spawn().unwrap());
    let [agent, supervisor] = [0, 1].map(|n| Pid::from_child(&strangers[n]));
    journal::rewrite(&scene.workspace.journal(), |record| {
        let record = record.replace(&journal::pid(scene.agent), &journal::pid(agent));
        record.replace(&journal::pid(scene.supervisor), &journal::pid(supervisor))
    });
    assert!(fs::read_to_string(scene.workspace.journal()).unwrap().contains(&journal::pid(agent)));
    assert_eq!(scene.workspace.status()["agentsAtWork"], Value::Null);
    scene.let_go("work");
    let document = scene.workspace.resume_json(0, &[]);
    let spared = is_alive(agent) && is_alive(supervisor);
    for stranger in &mut strangers {
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
    assert!(spared, "a stranger was killed");
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(scene.log(), ["work 1 1", "work 1 2"]);
}

#[test]
fn an_interrupt_after_an_adoption_ends_the_agent() {
    let scene = Scene::crashed(work());
    let resumed = scene.adopted(1);
    resumed.signal(Signal::INT);
    resumed.finish().exits(130);
    assert!(!is_alive(scene.agent));
    wait_for("the end of the supervisor", || !is_alive(scene.supervisor));
    scene.let_go("work");
    scene.workspace.resume_json(0, &[]);
    assert_eq!(scene.log(), ["work 1 1", "work 1 2"]);
}
