//! What somebody meets in the first hour: a folder below the project, a duration without a unit, a variable that nobody
//! knows, pages of help, words that were mistyped.

use std::os::unix::fs::{MetadataExt as _, chown};

use rustix::process::Signal;

use crate::support::{Finished, Mission, Running, Says, Workspace, at_terminal, standing, wait_for_file};

/// A run of two tasks that is over, and a folder below it.
fn finished() -> Workspace {
    let workspace = Mission::new()
        .worker("echo $QUORUM_TASK > $QUORUM_TASK.txt; printf 'I wrote %s' $QUORUM_TASK")
        .reviewer("judge", "cat >/dev/null; echo SCORE: 80")
        .task("first", |task| task.files(["first.txt"]))
        .task("second", |task| task.files(["second.txt"]))
        .key(
            "qualityGates",
            serde_json::json!([
                {"name": "ready", "afterTasks": ["first"], "blocksTasks": ["second"], "minScore": 3}
            ]),
        )
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(0);
    workspace.write("deep/er/file", "");
    workspace
}

/// A command in a folder below the workspace.
fn below(workspace: &Workspace, folder: &str, arguments: &[&str]) -> Finished {
    let mut command = workspace.command(arguments);
    command.current_dir(workspace.path(folder));
    Running::start(command).finish()
}

#[test]
fn what_reads_a_run_or_goes_on_with_it_looks_for_the_state_upwards() {
    let workspace = finished();
    for arguments in [
        &["status"][..],
        &["show", "first"],
        &["logs", "first"],
        &["runs"],
        &["report"],
        &["events"],
        &["metrics"],
        &["gate"],
        &["inbox"],
        &["approvals"],
        &["request", "list"],
        &["dlq", "list"],
        &["doctor", "state"],
        &["review", "--replay"],
        &["resume"],
    ] {
        below(&workspace, "deep/er", arguments).exits(0);
        assert!(!workspace.exists("deep/er/.polpo"), "{arguments:?}");
    }
    below(&workspace, "deep/er", &["clean", "--all", "--yes"]).exits(0);
    assert!(workspace.run_folders().is_empty());
}

#[test]
fn a_run_is_called_off_and_decided_about_from_a_folder_below() {
    let workspace = Mission::new().worker("true").task("go", |task| task.approved().unreviewed()).workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(8);
    workspace.write("deep/file", "");
    let id = below(&workspace, "deep", &["inbox", "--json"]).exits(0).json()["approvals"][0]["id"].clone();
    below(&workspace, "deep", &["approve", id.as_str().expect("an id")]).exits(0);
    below(&workspace, "deep", &["resume", "--report", "junit=here.xml"]).exits(0);
    assert!(workspace.exists("deep/here.xml"), "a path is where the person is, not where the state is");
    let workspace = Mission::new().worker("true").task("go", |task| task.approved().unreviewed()).workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(8);
    workspace.write("deep/file", "");
    below(&workspace, "deep", &["cancel", "r1", "--yes"]).exits(0);
}

#[test]
fn a_run_begins_where_it_is_typed_and_the_nearest_state_is_meant() {
    let workspace = finished();
    workspace.write("deep/er/mission.yaml", workspace.read("mission.yaml"));
    below(&workspace, "deep/er", &["run", "--run-id", "r2"]).exits(0);
    assert!(workspace.exists("deep/er/.polpo"));
    below(&workspace, "deep/er", &["runs"]).exits(0).shows(&["r2"]).hides(&["r1"]);
    below(&workspace, "deep", &["runs"]).exits(0).shows(&["r1"]).hides(&["r2"]);
    // A named folder is the one that is named.
    below(&workspace, "deep", &["status", "--state-dir", "no"]).exits(2).says(&["there is no run"]);
}

#[test]
fn the_state_is_not_looked_for_above_a_folder_of_somebody_else() {
    let workspace = finished();
    let own = std::fs::metadata(workspace.root()).expect("it is there").uid();
    if own != 0 {
        // Only root can give a folder away; a link is no state folder either.
        std::os::unix::fs::symlink(workspace.path(".polpo"), workspace.path("deep/.polpo"))
            .expect("it can be made");
        below(&workspace, "deep/er", &["status"]).exits(0).shows(&["r1"]);
        return;
    }
    chown(workspace.path("deep"), Some(12_345), None).expect("root may");
    below(&workspace, "deep/er", &["status"]).exits(2).says(&["there is no run"]);
    chown(workspace.path("deep"), Some(own), None).expect("root may");
    below(&workspace, "deep/er", &["status"]).exits(0);
    chown(workspace.path(".polpo"), Some(12_345), None).expect("root may");
    below(&workspace, "deep/er", &["status"]).exits(2).says(&["there is no run"]);
}

#[test]
fn a_run_stands_behind_what_is_asked_of_it() {
    let workspace = finished();
    workspace.quorum(&["run", "--run-id", "r2"]).exits(0);
    for arguments in [
        &["show", "first", "r1"][..],
        &["logs", "first", "r1"],
        &["gate", "ready", "r1"],
        &["status", "r1"],
        &["inbox", "r1"],
        &["metrics", "r1"],
        &["events", "r1"],
        &["report", "r1"],
    ] {
        let said = workspace.quorum(arguments).exits(0);
        // The flag is what it was, and no help shows it.
        let (run, rest) = arguments.split_last().expect("a run");
        let by_flag = workspace.quorum(&[rest, &["--run", run]].concat()).exits(0);
        assert_eq!(said.stdout, by_flag.stdout, "{arguments:?}");
        workspace.quorum(&[arguments, &["--run", run][..]].concat()).exits(2);
        let help = workspace.quorum(&[arguments[0], "--help"]).exits(0).stdout;
        assert!(help.contains("[RUN]") && !help.contains("--run <RUN>"), "{help}");
    }
    assert!(workspace.quorum(&["review", "--help"]).exits(0).stdout.contains("--run <RUN>"));
}

#[test]
fn a_title_and_a_run_are_not_taken_for_each_other() {
    let workspace = finished();
    for command in ["show", "logs", "diff"] {
        workspace
            .quorum(&[command, "r1", "first"])
            .exits(2)
            .says(&["there is no run 'first'", "a title comes before"]);
        let of_run = workspace.quorum(&[command, "r1"]).exits(2);
        match command {
            "diff" => of_run.says(&["every task of run r1 works in the workspace that all share"]),
            _ => of_run.says(&["no task 'r1'", "r1 is a run"]),
        };
        workspace
            .quorum(&[command, "Say", "goodbye"])
            .exits(2)
            .says(&["there is no run 'goodbye'", "in quotes"]);
    }
    workspace.quorum(&["gate", "r1"]).exits(2).says(&["no gate 'r1'", "r1 is a run"]);
    // What is both is neither.
    workspace.mission("{name: m, agents: {a: {run: 'true'}}, tasks: [{title: r1, assignTo: a, requiresApproval: true, review: none}]}");
    workspace.quorum(&["run", "--run-id", "r2"]).exits(8);
    workspace
        .quorum(&["cancel", "r1", "--yes"])
        .exits(2)
        .says(&["is a run, and the title of a task", "cancel r1 r2"]);
    workspace.quorum(&["cancel", "r1", "r2", "--yes"]).exits(0);
}

#[test]
fn a_duration_without_a_unit_is_refused_in_flags_and_variables() {
    let workspace = finished();
    for arguments in [
        &["run", "--timeout", "10"][..],
        &["run", "--wait-approvals", "10"],
        &["resume", "--timeout=10"],
        &["clean", "--older-than", "10"],
        &["gate", "--wait", "--timeout", "10"],
    ] {
        workspace.quorum(arguments).exits(2).says(&["10 what? 10s, 10m or 10ms"]);
    }
    for variable in ["QUORUM_TIMEOUT", "QUORUM_WAIT_APPROVALS"] {
        let refused = workspace.quorum_with(&[(variable, "10")], &["run"]).exits(2);
        refused.says(&["10 what? 10s, 10m or 10ms", variable]);
    }
    workspace.quorum(&["run", "--timeout", "10m"]).exits(0);
}

#[test]
fn a_duration_without_a_unit_is_milliseconds_in_files_with_a_warning_below_a_second() {
    let mission = |timeout: &str| {
        format!(
            "name: m\nagents: {{a: {{run: 'true'}}}}\nsettings:\n  taskTimeout: {timeout}\ntasks: [{{title: t, review: none}}]\n"
        )
    };
    let workspace = Workspace::with(&mission("10"));
    let warned = workspace.quorum(&["validate"]).exits(0);
    let warned =
        warned.says(&["warning[Q0212]", "10 is 10 milliseconds", "mission.yaml:4:16", "10ms", "10s", "10m"]);
    assert_eq!(warned.stderr.matches("Q0212").count(), 1, "{}", warned.stderr);
    workspace.mission(&mission("600000"));
    assert_eq!(workspace.quorum(&["validate"]).exits(0).stderr, "");
    workspace.mission(&mission("600ms"));
    assert_eq!(workspace.quorum(&["validate"]).exits(0).stderr, "");
    workspace.write("quorum.yaml", "settings: {taskTimeout: 20}\n");
    workspace.quorum(&["validate"]).exits(0).says(&["quorum.yaml:1:25", "20 is 20 milliseconds"]);
    workspace.quorum(&["explain", "Q0212"]).exits(0);
}

#[test]
fn a_variable_that_nobody_knows_is_named_once() {
    let workspace = Mission::new().agent("a", "true").task("t", |t| t.unreviewed()).workspace();
    for arguments in [&["run"][..], &["validate"], &["plan"], &["resume"], &["doctor"]] {
        let set = [
            ("QUORUM_STRICTT", "1"),
            ("QUORUM_TASK", "of an agent"),
            ("QUORUM_TEST_ANY", "1"),
            ("QUORUM_JSON", "0"),
        ];
        let said = workspace.quorum_with(&set, arguments).exits(0);
        let text = said.stdout + &said.stderr;
        assert_eq!(text.matches("QUORUM_STRICTT").count(), 1, "{arguments:?}: {text}");
        // Wherever a table breaks it.
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.says(&["did you mean 'QUORUM_STRICT'?"]).omits(&[
            "QUORUM_TASK ",
            "QUORUM_TEST_ANY",
            "QUORUM_JSON ",
        ]);
        let silent = workspace.quorum_with(&[("QUORUM_STRICT", "0")], arguments).exits(0);
        assert!(!silent.stderr.contains("is not known"), "{}", silent.stderr);
    }
}

#[test]
fn a_page_of_help_is_rendered_within_the_width() {
    let workspace = Workspace::new();
    let topics = workspace.quorum(&["help"]).exits(0).stdout;
    let (_, topics) = topics.split_once("Topics (quorum help TOPIC):").expect("they are listed");
    let topics: Vec<&str> = topics.split([',', ' ', '\n']).filter(|topic| !topic.is_empty()).collect();
    assert!(topics.len() > 20, "{topics:?}");
    for topic in topics {
        let page = workspace.quorum(&["help", topic]).exits(0).stdout;
        page.omits(&["<!--", "```", "](", "sh skip", "|---", "\n# ", "\n\n\n\n"]);
        for line in page.lines().filter(|line| !line.starts_with("    ")) {
            // A word is never broken, however long it is.
            let words = line.split_whitespace().count();
            assert!(line.chars().count() <= 80 || words <= 2, "{topic}: {line}");
        }
    }
    let page = workspace.quorum(&["help", "first-mission"]).exits(0).stdout;
    page.says(&["    # mission.yaml\n"]);
}

#[test]
fn a_page_of_help_is_paged_at_a_terminal_alone() {
    let workspace = Workspace::new();
    let at = |columns, pager: &str, arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        command.env("TERM", "xterm").env("PAGER", pager);
        at_terminal(command, columns, "")
    };
    at(80, "sed 's/^/paged: /'", &["help", "judging"]).exits(0).shows(&["paged: "]);
    // Without such a program, and where nobody is to be asked, it is printed.
    at(80, "no-such-pager", &["help", "judging"]).exits(0).shows(&["evidence"]);
    at(80, "sed 's/^/paged: /'", &["help", "judging", "--no-input"]).exits(0).hides(&["paged: "]);
    for columns in [60, 80, 120] {
        let page = at(columns, "cat", &["help", "exit-codes"]).exits(0).text;
        let plain = anstream::adapter::strip_str(&page).to_string();
        for line in plain.lines().filter(|line| !line.starts_with("    ")) {
            let is_short = line.trim_end().chars().count() <= usize::from(columns);
            assert!(is_short || line.split_whitespace().count() <= 2, "{columns}: {line}");
        }
    }
    let piped = workspace.quorum_with(&[("PAGER", "sed 's/^/paged: /'")], &["help", "judging"]).exits(0);
    assert!(!piped.stdout.contains("paged: "), "{}", piped.stdout);
}

#[test]
fn a_topic_that_is_not_there_lists_those_that_are() {
    let workspace = Workspace::new();
    workspace.quorum(&["help", "zebra"]).exits(2).says(&[
        "no topic 'zebra'",
        "judging",
        "worktrees",
        "quorum --help",
    ]);
    workspace.quorum(&["help", "recovry"]).exits(2).says(&["did you mean 'recovery'?"]);
}

#[test]
fn one_slip_in_a_command_or_a_key_leads_to_the_one_that_was_meant() {
    let workspace = Workspace::new();
    for (wrong, meant) in [("rnu", "run"), ("stauts", "status"), ("reusme", "resume"), ("lgos", "logs")] {
        workspace.quorum(&[wrong]).exits(2).says(&[&format!("did you mean '{meant}'?")]);
    }
    let two = "name: m\nagents: {a: {run: x}, b: {run: y}}\ntasks:\n";
    for task in ["{title: t, asignTo: a}", "{titel: t, assignTo: a}", "{title: t, assignto: b}"] {
        workspace.mission(&format!("{two}  - {task}\n"));
        let told = workspace.quorum(&["validate"]).exits(2);
        assert_eq!(told.stderr.matches("error[").count(), 1, "{}", told.stderr);
        told.says(&["did you mean"]);
    }
    // What is missing for no such reason is said.
    workspace.mission(&format!("{two}  - {{title: t, x-assignTo: a}}\n"));
    workspace.quorum(&["validate"]).exits(2).says(&["has no `assignTo`"]);
}

#[test]
fn a_tab_is_where_it_stands() {
    let workspace = Workspace::new();
    let begin = "name: m\nagents:\n  a: {run: x}\ntasks:\n  - title: t\n    assignTo: a\n";
    for more in [
        "\tdescription: x\n",
        "    expectations:\n\t  - {type: script, command: x}\n",
        "    description: |\n\ttext\n",
    ] {
        let text = format!("{begin}{more}");
        workspace.mission(&text);
        let line = text.lines().position(|line| line.starts_with('\t')).expect("there is one") + 1;
        let place = format!("mission.yaml:{line}:1");
        workspace.quorum(&["validate"]).exits(2).says(&[&place, "indent with spaces"]);
    }
}

#[test]
fn colour_can_be_forced_by_the_variable_of_others() {
    let workspace = finished();
    let told = |variables: &[(&str, &str)]| workspace.quorum_with(variables, &["status"]).exits(0).stdout;
    assert!(told(&[("FORCE_COLOR", "1")]).contains('\u{1b}'));
    for variables in [&[][..], &[("FORCE_COLOR", "0")], &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")]] {
        assert!(!told(variables).contains('\u{1b}'), "{variables:?}");
    }
}

#[test]
fn outputs_of_two_attempts_do_not_run_into_each_other() {
    let workspace = Mission::new()
        .worker("printf 'try %s' $QUORUM_ATTEMPT; echo $QUORUM_ATTEMPT > n")
        .task("t", |task| task.check("test \"$(cat n)\" = 2").unreviewed())
        .workspace();
    workspace.run_json(0, &[]);
    let printed = workspace.quorum(&["logs", "t"]).exits(0);
    assert_eq!(printed.stdout, "try 1\ntry 2");
    assert_eq!(workspace.quorum(&["logs", "t", "--attempt", "2"]).exits(0).stdout, "try 2");
}

#[test]
fn a_folder_that_is_made_for_a_report_is_named() {
    let workspace = finished();
    workspace
        .quorum(&["report", "--to", "html=out/r.html"])
        .exits(0)
        .says(&["out was not there and was made"]);
    let again = workspace.quorum(&["report", "--to", "html=out/r.html"]).exits(0);
    assert_eq!(again.stderr, "");
}

#[test]
fn help_that_is_lost_is_an_error() {
    let workspace = Workspace::new();
    for arguments in ["--help", "help", "help judging", "run --help", "--version", "explain"] {
        workspace.bash(&format!("\"$0\" {arguments} > /dev/full")).exits(1);
        workspace.bash(&format!("\"$0\" {arguments} | true")).exits(0);
    }
}

#[test]
fn a_failing_check_says_a_few_lines_in_the_progress() {
    let workspace = Mission::new()
        .worker("true")
        .task("t", |task| {
            task.check("seq 100; echo ======================; echo the end; exit 1").attempts(1).unreviewed()
        })
        .workspace();
    let said = workspace.quorum(&["run"]).exits(3).stderr;
    let quoted: Vec<&str> = said.lines().filter(|line| line.trim_start().starts_with("| ")).collect();
    assert!(quoted.len() <= 6 && quoted.iter().any(|line| line.contains("the end")), "{said}");
    assert!(!quoted.iter().any(|line| line.contains("=====")), "{said}");
}

#[test]
fn neighbours_that_end_together_are_not_taken_for_each_other() {
    // Each is judged by a command that names its own file, which an earlier run has left.
    let mut mission = Mission::new()
        .worker("until test \"$(ls begun 2>/dev/null | wc -l)\" = 6; do touch begun/$QUORUM_TASK; done; date +%N > $QUORUM_TASK.txt")
        .setting("baseline", false)
        .setting("concurrency", 6);
    for title in ["a", "b", "c", "d", "e", "f"] {
        let file = format!("{title}.txt");
        mission = mission.task(title, |task| {
            task.set("targetFiles", vec![file.clone()]).check(format!("grep -q . {file}")).unreviewed()
        });
    }
    let workspace = mission.workspace();
    for _ in 0..4 {
        workspace.bash("rm -rf begun; mkdir begun").exits(0);
        let document = workspace.run_json(0, &[]);
        assert_eq!(standing(&document, "a"), ("done", "clean"), "{document:#}");
    }
}

#[test]
fn a_judge_that_costs_more_from_now_on_has_judged_all_the_same() {
    let workspace = Mission::new()
        .agent("a", "echo x >> made; exit 0")
        .reviewer("j", "cat >/dev/null; echo SCORE: 80")
        .agent("b", "test -e go && echo done")
        .task("t", |t| t.files(["made"]))
        .task("u", |t| t.by("b").needs("t").attempts(1))
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(3);
    let workspace = workspace.tap(|m| m.change_agent("j", "maxCostPerTurn: 0.5"));
    workspace.write("go", "");
    workspace.quorum(&["resume", "--retry-failed", "--accept-changed-mission"]).exits(0);
    assert_eq!(workspace.lines("made").len(), 1, "accepted work was done again");
}

#[test]
fn whoever_stops_a_run_is_told_how_to_end_it_at_once() {
    let workspace = Mission::new().worker("echo > begun; exec sleep 60").tasks(["t"]).workspace();
    let running = workspace.start(&["run"]);
    wait_for_file(&workspace.path("begun"));
    running.signal(Signal::INT);
    running.finish().exits(130).says(&["a second Ctrl-C ends at once"]);
    // Who is ended by somebody else has nobody at the keys.
    let workspace = Mission::new().worker("echo > begun; exec sleep 60").tasks(["t"]).workspace();
    let running = workspace.start(&["run"]);
    wait_for_file(&workspace.path("begun"));
    running.signal(Signal::TERM);
    let ended = running.finish().exits(143);
    assert!(!ended.stderr.contains("Ctrl-C"), "{}", ended.stderr);
}

#[test]
fn a_run_that_goes_on_does_not_begin_with_its_final_check() {
    let workspace = Mission::new()
        .worker("echo $QUORUM_TASK > made.txt")
        .agent("later", "test -e go && echo done")
        .task("made", |task| task.files(["made.txt"]).unreviewed())
        .task("left", |task| task.by("later").needs("made").attempts(1).unreviewed())
        .workspace();
    workspace.quorum(&["run"]).exits(3);
    workspace.write("go", "");
    let said = workspace.quorum(&["resume", "--retry-failed"]).exits(0).stderr;
    let looks: Vec<&str> = said.lines().filter(|line| line.contains("accepted work still stands")).collect();
    assert!(looks.len() == 2 && !looks[0].contains("final") && looks[1].contains("final"), "{said}");
}

#[test]
fn a_judge_that_is_asked_again_is_shown_with_the_reason() {
    let workspace = Mission::new()
        .worker("echo done > made.txt; echo done")
        .judge("judge", &["Quite good.", "SCORE: 80"])
        .task("t", |task| task.files(["made.txt"]))
        .workspace();
    workspace.run_json(0, &[]);
    workspace.quorum(&["show", "t", "--full"]).exits(0).shows(&["asked again ("]);
}

#[test]
fn a_score_and_its_bar_are_spelt_alike_everywhere() {
    let workspace = finished();
    for kind in ["markdown", "html"] {
        let report = workspace.quorum(&["report", "--to", &format!("{kind}=-")]).exits(0).stdout;
        report.omits(&["80 >= 60", "80 &gt;= 60"]);
    }
    workspace.quorum(&["status"]).exits(0).shows(&["80 ≥ 60"]);
}
