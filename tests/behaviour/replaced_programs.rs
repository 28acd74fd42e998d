//! False green 41: what judges, or speaks for quorum, is the program that it was when the session began.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::events::on_record;
use crate::support::scenes::repositories::repository;
use crate::support::{
    BINARY, Mission, RUN_AS_R1, Running, Says, Workspace, makes_namespaces, skipped, standing, task, wait_for,
};

/// A server of the Agent Client Protocol whose judge gives this score.
fn server(score: u32) -> String {
    let text = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": format!("SCORE: {score}")}});
    format!(
        r#"say() {{ printf '{{"jsonrpc":"2.0",%s}}\n' "$1"; }}
while read -r line; do
  case $line in
    *'"initialize"'*) say '"id":1,"result":{{"protocolVersion":1,"agentCapabilities":{{}}}}' ;;
    *'"session/new"'*) say '"id":2,"result":{{"sessionId":"s1","modes":{{"availableModes":[{{"id":"plan"}}]}}}}' ;;
    *'"session/set_mode"'*) say '"id":3,"result":null' ;;
    *'"session/prompt"'*) say '"method":"session/update","params":{{"sessionId":"s1","update":{text}}}'
      say '"id":4,"result":{{"stopReason":"end_turn"}}' ;;
  esac
done"#
    )
}

/// A copy of the binary below the workspace, as in `~/.cargo/bin`.
fn own_binary(workspace: &Workspace) -> std::path::PathBuf {
    let copy = workspace.path("home/bin/quorum");
    fs::create_dir_all(copy.parent().expect("it has a folder")).expect("a folder can be made");
    // By another process: a copy that is open for writing here, in a child that is just forked, cannot be started.
    let copied = std::process::Command::new("cp").arg(BINARY).arg(&copy).status().expect("there is cp");
    assert!(copied.success());
    copy
}

fn executable(workspace: &Workspace, name: &str, text: &str) {
    workspace.write(name, text);
    fs::set_permissions(workspace.path(name), fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// A worker that puts another program over the binary, and an ACP judge that finds its work poor.
fn replaced_before_the_judge(confined: bool, program: &str) -> (Workspace, Value) {
    let workspace = Mission::new()
        .worker(format!(
            "mv -f evil {program} 2> refused; cp -f evil2 {program} 2>> refused; echo done > out"
        ))
        .agent_with("judge", json!({"adapter": "acp", "run": ["/bin/sh", "server.sh"], "role": "reviewer"}))
        .task("work", |t| t.attempts(1).files(["out"]))
        .workspace();
    let workspace = if confined { workspace.confined() } else { workspace };
    workspace.write("server.sh", server(10));
    for name in ["evil", "evil2"] {
        executable(&workspace, name, "#!/bin/sh\ncat > /dev/null; touch replaced; echo SCORE: 97\n");
    }
    let binary = own_binary(&workspace);
    let mut command = workspace.other_command(binary.to_str().expect("it is text"));
    command.args(RUN_AS_R1);
    let document = Running::start(command).finish().json();
    (workspace, document)
}

#[test]
fn false_green_41_quorum_itself_is_replaced_before_an_acp_judge_is_started() {
    for confined in [false, true] {
        let (workspace, document) = replaced_before_the_judge(confined, "home/bin/quorum");
        let work = task(&document, "work");
        assert_eq!(work["points"], 10.0, "confined: {confined}: {document:#}");
        assert_ne!(document["exitCode"], 0, "{document:#}");
        assert!(!workspace.exists("replaced"));
        let there = fs::read(workspace.path("home/bin/quorum")).expect("it is there");
        let is_whole = there.starts_with(b"\x7fELF");
        assert_eq!(is_whole, confined && makes_namespaces(), "confined: {confined}");
    }
}

/// What a mission's words find by `PATH`, by whose program it is.
const WHOSE: [&str; 7] =
    ["a judge", "a judge's list", "a check", "a check within", "an approver", "a channel", "the setup"];

/// A mission whose worker runs this, and in which `held` is this one's program.
fn mission(whose: &str, script: &str) -> Mission {
    let mission = Mission::new().worker(script).setting("evaluate", whose.contains("judge"));
    let with_judge = |mission: Mission, run: Value| {
        mission.agent_with("judge", json!({"run": run, "role": "reviewer"})).task("work", |t| t.attempts(1))
    };
    match whose {
        "a judge" => with_judge(mission, json!("cat | held")),
        "a judge's list" => with_judge(mission, json!(["held"])),
        "a check" => mission.task("work", |t| t.attempts(1).check("held --all")),
        "a check within" => {
            let check = "if true; then A=1 timeout 60 bash -c 'cat /dev/null | held'; fi";
            mission.task("work", |t| t.attempts(1).check(check))
        }
        "an approver" => mission.task("work", |t| t.attempts(1)).task("release", |t| {
            t.needs("work").set("requiresApproval", json!({"approvers": [{"command": "held now"}]}))
        }),
        "a channel" => mission
            .key("channels", json!({"pager": {"type": "command", "run": ["held"]}}))
            .setting("defaultChannels", ["pager"])
            .task("work", |t| t.attempts(1)),
        "the setup" => mission.setting("worktree", json!({"setup": "held"})).task("work", |t| t.attempts(1)),
        whose => panic!("{whose}"),
    }
}

/// A workspace of that mission. `held` is a link to a file, in a folder that is known by a link, and stands second on the `PATH`.
/// It says no where that is a word about work; `evil` says yes.
fn with_held(whose: &str, script: &str) -> Workspace {
    let mission = mission(whose, script);
    let workspace = if whose == "the setup" { repository(mission, &[]) } else { mission.workspace() };
    installed(workspace, i32::from(!["a channel", "the setup"].contains(&whose)))
}

fn installed(workspace: Workspace, end: i32) -> Workspace {
    executable(
        &workspace,
        "home/versions/1",
        &format!("#!/bin/sh\ncat > /dev/null; echo SCORE: 10; exit {end}\n"),
    );
    executable(&workspace, "home/evil", "#!/bin/sh\ncat > /dev/null; echo SCORE: 97\n");
    let links = "mkdir -p home/first home/real home/other && ln -s ../versions/1 home/real/held && \
        ln -s real home/bin && ln -s ../evil home/other/held";
    workspace.bash(links).exits(0);
    workspace
}

fn run(workspace: &Workspace) -> Running {
    let home = workspace.path("home").display().to_string();
    let path = format!("{home}/first:{home}/bin:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = workspace.command(RUN_AS_R1);
    command.env("PATH", path);
    Running::start(command)
}

/// How a worker has another program run under a name, and what is said of it; nothing where mounts refuse it.
const WAYS: [(&str, &str, bool); 5] = [
    ("cp $HOME/evil $HOME/first/held", "home/first/held appeared", false),
    ("ln -sfn $HOME/evil $HOME/real/held", "home/real/held was changed", false),
    ("ln -sfn other $HOME/bin", "home/bin was changed", false),
    ("cat $HOME/evil > $HOME/versions/1", "home/versions/1 was changed", true),
    ("mv -f $HOME/evil $HOME/versions/1", "home/versions/1 was changed", true),
];

fn replaced_by_a_turn(whose: &str, confined: bool) {
    for (way, words, is_refused) in WAYS {
        let workspace = with_held(whose, &format!("{way} 2> /dev/null; echo x > out"));
        let workspace = if confined { workspace.confined() } else { workspace };
        let document = run(&workspace).finish().json();
        let work = task(&document, "work");
        // The setup's lies in the user's checkout, which no isolated agent writes.
        let is_refused = confined && makes_namespaces() && (is_refused || whose == "the setup");
        let is_good = is_refused && ["a channel", "the setup"].contains(&whose);
        assert_eq!(document["exitCode"] == 0, is_good, "{whose}, {way}: {document:#}");
        if !is_refused {
            assert_eq!(work["failure"]["mode"], "protected", "{whose}, {way}: {document:#}");
            work["findings"].to_string().says(&[words]);
        }
    }
}

#[test]
fn false_green_41_a_program_that_is_found_by_path_is_replaced_by_a_turn() {
    for whose in WHOSE {
        replaced_by_a_turn(whose, false);
    }
}

#[test]
fn false_green_41_a_program_that_is_found_by_path_is_replaced_by_a_confined_turn() {
    for whose in ["a judge", "a check", "a channel", "the setup"] {
        replaced_by_a_turn(whose, true);
    }
}

/// A new version of the program, put in place of the old one as installers do.
fn update(workspace: &Workspace, end: i32) {
    executable(workspace, "home/versions/2", &format!("#!/bin/sh\nexit {end}\n"));
    fs::rename(workspace.path("home/versions/2"), workspace.path("home/versions/1")).expect("it is ours");
}

fn is_named(document: &Value) {
    document["warnings"].to_string().says(&["home/versions/1 was changed, by nothing that works here"]);
}

#[test]
fn false_green_41_an_update_while_no_turn_works_is_named_and_fails_nothing() {
    for (end, exit) in [(0, 0), (1, 3)] {
        let delay =
            json!([{"name": "cool", "afterTasks": ["first"], "blocksTasks": ["work"], "duration": "1s"}]);
        let workspace = mission("a check", "echo x > out").key("delays", delay).task("first", |t| t);
        let workspace = installed(workspace.workspace(), 1);
        let running = run(&workspace);
        wait_for("the delay", || on_record(&workspace, "hold:opened delay") == 1);
        update(&workspace, end);
        let document = running.finish().exits(exit).json();
        is_named(&document);
        assert_ne!(task(&document, "work")["failure"]["mode"], "protected", "{document:#}");
    }
}

#[test]
fn false_green_41_an_update_during_a_turn_fails_only_who_could_have_written_it() {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    let script = "touch began; until test -e go; do sleep 0.02; done";
    for confined in [true, false] {
        let workspace = with_held("a check", script);
        let workspace = if confined { workspace.confined() } else { workspace };
        let running = run(&workspace);
        wait_for("the turn", || workspace.exists("began"));
        update(&workspace, 0);
        workspace.write("go", "");
        let document = running.finish().exits(if confined { 0 } else { 3 }).json();
        if confined {
            is_named(&document);
        } else {
            assert_eq!(task(&document, "work")["failure"]["mode"], "protected", "{document:#}");
        }
    }
}

#[test]
fn a_program_that_only_workers_start_is_theirs() {
    let install = "cp $HOME/evil $HOME/first/held; cat $HOME/evil > $HOME/versions/1; held < /dev/null";
    let workspace = with_held("a check", install).tap_mission("held --all", "true");
    let document = run(&workspace).finish().exits(0).json();
    assert_eq!(standing(&document, "work").0, "done");
}

#[test]
fn a_plan_lists_the_programs_that_are_held() {
    let workspace = with_held("a check", "true");
    let mut command = workspace.command(&["plan", "--json"]);
    let home = workspace.path("home").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{home}/first:{home}/bin:{path}"));
    let rows = Running::start(command).finish().exits(0).json()["protected"].clone();
    let rows = rows.as_array().expect("a list");
    let why = |path: &str| rows.iter().find(|row| row["path"] == path).map(|row| row["why"].clone());
    for path in ["home/bin", "home/real/held", "home/versions/1"] {
        assert_eq!(why(path), Some("`held --all` names it".into()), "{rows:?}");
    }
    assert_eq!(why("home/first/held"), None, "{rows:?}");
}

#[test]
fn many_tasks_with_one_check_hold_no_more_programs_than_one() {
    let held = |tasks: usize| {
        let tasks = (0..tasks).fold(Mission::new().worker("true"), |mission, number| {
            mission.task(&format!("t{number}"), |t| t.check("held x f"))
        });
        let workspace = installed(tasks.workspace(), 0);
        let mut command = workspace.command(&["plan", "--json"]);
        let home = workspace.path("home").display().to_string();
        command.env("PATH", format!("{home}/bin:{}", std::env::var("PATH").unwrap_or_default()));
        let rows = Running::start(command).finish().exits(0).json()["protected"].clone();
        rows.as_array().expect("a list").len()
    };
    assert_eq!(held(200), held(1));
}
