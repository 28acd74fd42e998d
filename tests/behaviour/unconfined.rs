//! Where the system lets nothing be confined: that is told, or nothing begins, and the second line holds (semantics, section
//! 23).

use serde_json::{Value, json};

use crate::support::events::named;
use crate::support::journal;
use crate::support::scenes::burglars::{burgled, with_an_orphan};
use crate::support::scenes::forgers::{
    left_behind, planting, rewritten_request, rewritten_tests, swapped_tests,
};
use crate::support::{
    LANDLOCK, Mission, RUN_AS_R1, Says, Workspace, is_alive, makes_namespaces, read_pid, skipped, standing,
    task, wait_for_file,
};

const SWITCHED_OFF: &str = "user namespaces are switched off";

#[test]
fn where_nothing_can_be_confined_that_is_told_or_nothing_begins() {
    let mission = || Mission::new().worker("echo ran > ran").task("work", |t| t.check("test -e ran"));
    let workspace = mission().workspace().confined();
    let why = "user namespaces are switched off";
    for strict in [&["--sandbox", "required"][..], &["--strict"]] {
        let refused = workspace.without_namespaces(&[&["run", "mission.yaml"], strict].concat());
        refused.exits(9).says(&[why, strict[0].trim_start_matches('-')]);
        assert!(!workspace.exists("ran"));
    }
    let document = workspace.without_namespaces(&["run", "mission.yaml", "--json"]).exits(0).json();
    assert!(document["unconfined"].as_str().is_some_and(|told| told.contains(why)), "{document:#}");
    workspace.quorum(&["status"]).exits(0).shows(&["unconfined: ", why]);
    let events = workspace.events();
    let told = named(&events, "run:unconfined")[0];
    assert!(told["reason"].as_str().is_some_and(|told| told.contains(why)));
    // Whoever wrote that it need not be has what was written, and that is told; a session says it for itself alone.
    let written = mission().setting("sandbox", "off").workspace().confined().run_json(0, &["--strict"]);
    let session = mission().workspace().confined().run_json(0, &["--sandbox", "off"]);
    for document in [written, session] {
        assert_eq!(document["unconfined"], "`sandbox: off` is written");
    }
}

#[test]
fn doctor_fails_where_a_mission_requires_what_cannot_be_had() {
    let mission = || Mission::new().worker("true").judge("judge", &["SCORE: 90"]);
    let required = || json!({"run": "true", "sandbox": "required"});
    let demanding = [
        mission().setting("sandbox", "required").tasks(["work"]),
        mission().task("work", |t| t.set("sandbox", "required")),
        mission().agent_with("worker", required()).tasks(["work"]),
    ];
    for mission in demanding {
        let workspace = mission.workspace().confined();
        let document = workspace.without_namespaces(&["doctor", "--json"]).exits(9).json();
        let (status, message) = confinement(&document);
        assert_eq!((status, &document["ok"]), ("fail", &json!(false)), "{document:#}");
        assert!(message.contains(SWITCHED_OFF) && message.contains("`sandbox: required`"), "{message}");
        workspace.without_namespaces(&["doctor"]).exits(9).shows(&["fail", SWITCHED_OFF]);
        // Where they can be had, and where the session says that they need not be, nothing fails.
        if makes_namespaces() {
            let here = workspace.quorum(&["doctor", "--json"]).exits(0).json();
            assert_ne!(confinement(&here).0, "fail");
        }
        workspace.without_namespaces(&["doctor", "--sandbox", "auto"]).exits(0);
    }
    let workspace = mission().tasks(["work"]).workspace().confined();
    let document = workspace.without_namespaces(&["doctor", "--json"]).exits(0).json();
    let (status, message) = confinement(&document);
    assert!(status == "warn" && message.contains(SWITCHED_OFF), "{message}");
    for demand in [&["--sandbox", "required"][..], &["--strict"]] {
        let arguments = [&["doctor"], demand].concat();
        workspace.without_namespaces(&arguments).exits(9).shows(&[SWITCHED_OFF]);
    }
}

/// What an agent tries against the supervisor and the session, whose pids it finds in `/proc`.
const REACH: &str = "K=$PPID; R=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$K/status); echo $R > pids
    for p in $K $R; do
      kill -STOP $p && echo stopped >> went; kill -0 $p && echo signalled >> went
      cat /proc/$p/environ && echo read >> went; readlink /proc/$p/fd/0 && echo listed >> went
      ( : < /proc/$p/mem ) && echo opened >> went
    done
    sleep 10 & kill -9 $! && wait $! ; echo yes > tried";

#[test]
fn where_only_landlock_is_there_no_process_of_others_is_signalled_or_read() {
    // SAFETY: it asks for a number and changes nothing.
    let version = unsafe { libc::syscall(LANDLOCK, 0, 0, 1) };
    if version < 6 {
        return skipped(format!(
            "Landlock of this kernel has the version {version}, and 6 is the first that is enough"
        ));
    }
    let mission = Mission::new().worker(REACH).task("work", |t| t.unreviewed());
    let workspace = mission.workspace().confined();
    let document = workspace.with_landlock_only(&["doctor", "--json"]).exits(0).json();
    let (status, message) = confinement(&document);
    assert!(status == "warn" && message.contains(SWITCHED_OFF), "{message}");
    assert!(document.to_string().contains("\"tier\":\"signals\""), "{document:#}");
    // It is no confinement, and what requires one does not begin.
    workspace.with_landlock_only(&["run", "mission.yaml", "--sandbox", "required"]).exits(9);
    let document = workspace.with_landlock_only(RUN_AS_R1).exits(0).json();
    assert!(document["unconfined"].as_str().is_some_and(|told| told.contains(SWITCHED_OFF)));
    assert!(workspace.exists("tried") && !workspace.exists("went"), "{}", workspace.read("went"));
    // Whoever writes that it need not be has nothing of it.
    let signals = "kill -0 $PPID && echo reached > went; true";
    let off = Mission::new().worker(signals).task("work", |t| t.unreviewed()).setting("sandbox", "off");
    let workspace = off.workspace().confined();
    workspace.with_landlock_only(RUN_AS_R1).exits(0);
    assert!(workspace.exists("went"));
}

/// Plays an attack where nothing can be confined. It must end with one of these codes, and whatever is asked of the run says
/// that its agents were not confined, and why.
#[track_caller]
fn attacked(workspace: &Workspace, codes: &[i32]) -> Value {
    let finished = workspace.without_namespaces(RUN_AS_R1);
    let code = finished.code();
    assert!(
        code.is_some_and(|code| codes.contains(&code)),
        "{code:?}\n{}\n{}",
        finished.stdout,
        finished.stderr
    );
    finished.stderr.says(&["unconfined", SWITCHED_OFF]);
    // A session that came to grief has no document of its run.
    let document = Some(finished.json()).filter(|document| document["tasks"].is_array());
    let document = document.unwrap_or_else(|| workspace.status_of("r1"));
    every_output_says_so(workspace, &document);
    document
}

#[track_caller]
fn every_output_says_so(workspace: &Workspace, document: &Value) {
    let title = document["tasks"][0]["title"].as_str().expect("it has tasks");
    let json = |arguments: &[&str]| workspace.quorum(&[arguments, &["--json"]].concat()).exits(0).json();
    for document in [document, &json(&["status", "r1"]), &json(&["show", title, "--run", "r1"])] {
        document["unconfined"].as_str().expect("it says so").says(&[SWITCHED_OFF]);
    }
    for screen in [&["status", "r1"][..], &["show", title, "--run", "r1"]] {
        workspace.quorum(screen).exits(0).shows(&["unconfined: ", SWITCHED_OFF]);
    }
    for kind in ["html", "markdown", "junit"] {
        let to = format!("{kind}=told.{kind}");
        workspace.quorum(&["report", "r1", "--to", &to]).exits(0);
        workspace.read(&format!("told.{kind}")).says(&["unconfined", SWITCHED_OFF]);
    }
    let events = workspace.quorum(&["events", "r1"]).exits(0);
    events.shows(&["unconfined", SWITCHED_OFF]);
}

#[test]
fn attack_2_a_rewritten_request_and_what_an_author_leaves_behind_are_found() {
    for workspace in [rewritten_request(), left_behind()] {
        let workspace = workspace.confined();
        let document = attacked(&workspace, &[5, 6]);
        let work = task(&document, "work");
        assert!(work["points"].as_f64().is_none_or(|points| points <= 10.0), "{work:#}");
        assert_ne!(standing(&document, "work"), ("done", "clean"));
    }
}

#[test]
fn attack_3_tests_that_are_rewritten_while_they_run_are_found() {
    let workspace = rewritten_tests().confined();
    let document = attacked(&workspace, &[3]);
    assert_eq!(task(&document, "work")["failure"]["mode"], "protected", "{document:#}");
    let workspace = swapped_tests().confined();
    let document = attacked(&workspace, &[3]);
    assert_eq!(standing(&document, "work").0, "failed", "{document:#}");
    assert!(workspace.events().iter().any(|event| event["event"] == "stage:voided"));
}

#[test]
fn attack_4_the_orphan_of_a_killed_supervisor_does_not_approve() {
    let workspace = with_an_orphan().confined();
    workspace.without_namespaces(RUN_AS_R1);
    wait_for_file(&workspace.path("tried"));
    assert_eq!(workspace.lines("codes"), ["9", "9", "9"], "{}", workspace.read("said"));
    let document = workspace.status_of("r1");
    every_output_says_so(&workspace, &document);
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    workspace.write("go", "");
}

#[test]
fn attack_5_no_agent_speaks_for_a_person() {
    let workspace = burgled(
        "for way in '' 'env -i HOME=$HOME' 'setsid -w env -i HOME=$HOME'; do
        $way @quorum approve r1.0.1 --as boss 2>> said; echo $? >> codes
        done
        unshare -Ur true 2>> said || echo refused >> codes",
    )
    .confined();
    let document = attacked(&workspace, &[8]);
    assert_eq!(workspace.lines("codes"), ["9", "9", "9", "refused"], "{}", workspace.read("said"));
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    assert!(!workspace.exists(&journal::inbox("")), "it was not heard and left a letter");
}

#[test]
fn attack_6_a_supervisor_that_is_stopped_does_not_hang_the_run() {
    let workspace = burgled("echo $$ > pid; kill -STOP $K; sleep 60").confined();
    attacked(&workspace, &[1]);
    assert!(!is_alive(read_pid(&workspace.path("pid"))), "the agent works on unseen");
    assert_eq!(named(&workspace.events(), "state:foreign").len(), 1);
}

#[test]
fn attack_7_a_run_that_is_planted_answers_nothing() {
    let workspace = planting().confined();
    workspace.write("score", "SCORE: 40");
    let document = attacked(&workspace, &[1]);
    assert!(document["warnings"].to_string().contains("zzz"), "{document:#}");
    for question in [&["status", "--exit-code"][..], &["gate", "door"], &["resume"]] {
        let answer = workspace.without_namespaces(question);
        assert_ne!(answer.code(), Some(0), "{question:?}: {}", answer.stdout);
    }
    assert_eq!(workspace.status()["runId"], "r1");
}

/// How the check of confinement ended, and what it says.
fn confinement(document: &Value) -> (&str, &str) {
    let checks = document["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["name"] == "confinement").expect("it is looked at");
    let text = |key: &str| check[key].as_str().unwrap_or_default();
    (text("status"), text("message"))
}
