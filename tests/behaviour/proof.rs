//! What checks say before the work, and what that shows of it (semantics, section 24).

use serde_json::{Value, json};

use crate::support::scenes::repositories::{git, names_its_top, repository};
use crate::support::{Mission, Says, Task, Workspace, standing, task};

/// A worker that does something, which its check does not ask for.
fn one(keys: impl FnOnce(Task) -> Task) -> Mission {
    let worker = Mission::new().worker("echo made > made.txt").setting("evaluate", false);
    worker.task("work", keys)
}

fn flagged(document: &Value) -> (&str, &str) {
    let found = task(document, "work");
    (found["qualityFlag"].as_str().unwrap_or_default(), found["flagCause"].as_str().unwrap_or_default())
}

fn approval(document: &Value) -> String {
    document["approvals"][0]["id"].as_str().expect("it waits").to_owned()
}

/// One after the other in the workspace itself and in a worktree.
fn everywhere(mission: impl Fn() -> Mission) -> [Workspace; 2] {
    [mission().workspace(), repository(mission(), &[("a.txt", "a\n")])]
}

#[test]
fn false_green_59_checks_that_were_green_all_along_prove_nothing() {
    for workspace in everywhere(|| one(|task| task.check("true"))) {
        let document = workspace.run_json(0, &["--report", "markdown=report.md"]);
        assert_eq!(flagged(&document), ("unreviewed", "vacuous"));
        let proof = json!({"red": 0, "green": 1, "unknown": 0, "provenByNewTests": 0});
        assert_eq!(task(&document, "work")["proof"], proof);
        workspace.read("report.md").says(&["proved by nothing: 1"]);
        let shown = workspace.quorum(&["show", "work"]).exits(0).stdout;
        shown.says(&["proof: 0 of 1 checks were red before", "green before the work"]);
    }
    for workspace in everywhere(|| one(|task| task.check("true"))) {
        assert_eq!(flagged(&workspace.run_json(6, &["--strict"])), ("unreviewed", "vacuous"));
    }
    for workspace in everywhere(|| one(|task| task.check("true").set("proof", "required"))) {
        assert_eq!(flagged(&workspace.run_json(5, &[])), ("unverified", "vacuous"));
    }
    for (key, code) in [("settings", 5), ("mission", 5)] {
        let mission = one(|task| task.check("true"));
        let mission = match key {
            "settings" => mission.setting("proof", "required"),
            _ => mission.key("proof", "required"),
        };
        assert_eq!(flagged(&mission.workspace().run_json(code, &[])).1, "vacuous", "{key}");
    }
}

#[test]
fn false_green_59_every_kind_of_check_is_looked_at_before_the_work() {
    let there = json!({"type": "file_exists", "paths": ["seed.txt"]});
    let metric = json!({"type": "metric", "name": "n", "command": "echo 3", "min": 1});
    let gate = json!({"requiredTests": ["a"], "testCommand": "test {test} = a", "commands": ["true"]});
    let facts = json!({"grader": "heuristic"});
    type Keys = fn(Task, &[Value]) -> Task;
    let all: [(&str, Keys, &[Value]); 5] = [
        ("file_exists", |task, of| task.expects(of[0].clone()), &[there]),
        ("metric", |task, of| task.expects(of[0].clone()), &[metric]),
        ("verify", |task, of| task.set("verify", of[0].clone()), &[gate]),
        (
            "criteria",
            |task, of| {
                task.set("acceptance", json!(["`seed.txt` exists and `true` passes"]))
                    .set("verification", of[0].clone())
            },
            &[facts],
        ),
        ("a stage", |task, _| task.set("stages", json!([{"name": "lint", "command": "true"}])), &[]),
    ];
    for (what, keys, of) in all {
        let workspace = one(|task| keys(task, of)).workspace();
        workspace.write("seed.txt", "there\n");
        assert_eq!(flagged(&workspace.run_json(0, &[])), ("unreviewed", "vacuous"), "{what}");
    }
}

#[test]
fn false_green_60_a_list_of_tests_that_never_failed_is_a_persons() {
    let gate = json!({"failToPass": ["a", "b"], "testCommand": "test -e {test}"});
    let mission = || one(|task| task.set("verify", gate.clone()));
    for workspace in everywhere(mission) {
        for name in ["a", "b"] {
            workspace.write(name, "");
        }
        if workspace.exists(".git") {
            git(&workspace, &["add", "a", "b"]);
            git(&workspace, &["commit", "-qm", "both"]);
        }
        let document = workspace.run_json(8, &[]);
        assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
        assert_eq!(task(&document, "work")["waiting"]["reason"], "approval");
        let asked = workspace.events().named("approval:requested");
        assert_eq!(asked[0]["cause"], "vacuous");
        assert!(!workspace.exists("made.txt"), "nobody has worked");
        workspace.quorum(&["approve", &approval(&document)]).exits(0);
        let document = workspace.resume_json(0, &[]);
        assert_eq!(flagged(&document).0, "unreviewed");
    }
    // One that fails is enough; the other one only guards.
    let half = one(|task| {
        let gate = json!({"failToPass": ["a", "made.txt"], "testCommand": "test -e {test}"});
        task.set("verify", gate)
    })
    .workspace();
    half.write("a", "");
    let document = half.run_json(0, &[]);
    assert_eq!(flagged(&document), ("clean", ""));
    let findings = task(&document, "work")["findings"].to_string();
    findings.says(&["of `failToPass` was green before the work"]);
}

#[test]
fn a_check_that_was_red_before_the_work_is_a_proof() {
    for workspace in everywhere(|| one(|task| task.check("test -e made.txt").check("true"))) {
        let document = workspace.run_json(0, &["--strict"]);
        assert_eq!(flagged(&document), ("clean", ""));
        assert_eq!(task(&document, "work")["proof"]["red"], 1);
        let shown: Value = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
        let checks = shown["attempts"][0]["checks"].as_array().unwrap();
        let told = |command: &str| {
            let mut named = checks.iter();
            let check = named.find(|check| check["check"].to_string().contains(command)).unwrap();
            ["before", "provenBy", "beforeReason"].map(|key| check[key].as_str().unwrap_or_default())
        };
        let [before, proven_by, reason] = told("made.txt");
        assert_eq!((before, proven_by), ("red", "baseline"));
        reason.says(&["exited 1"]);
        assert_eq!(told("true"), ["green", "", ""]);
    }
}

#[test]
fn declared_guards_are_no_proof_and_no_surprise() {
    let guard = json!({"type": "test", "command": "true", "before": "green"});
    let document = one(|task| task.expects(guard.clone())).workspace().run_json(0, &[]);
    assert_eq!(flagged(&document), ("unreviewed", ""));
    task(&document, "work")["findings"]
        .to_string()
        .says(&["only guards: nothing shows that the work was done"]);
    let refactoring = one(|task| task.check("true").set("type", "refactor").set("requiresToolCalls", false));
    assert_eq!(flagged(&refactoring.workspace().run_json(0, &[])), ("unreviewed", ""));
    let was_red = json!({"type": "test", "command": "test -e made.txt", "before": "green"});
    let document = one(|task| task.expects(was_red)).workspace().run_json(0, &[]);
    assert_eq!(flagged(&document), ("clean", ""));
    task(&document, "work")["findings"].to_string().says(&["was red already"]);
    let judged = Mission::new()
        .worker("echo made > made.txt")
        .judge("critic", &["SCORE: 90"])
        .task("work", |task| task.by("worker").expects(guard).set("review", "required"))
        .workspace();
    assert_eq!(flagged(&judged.run_json(0, &[])), ("clean", ""));
}

#[test]
fn a_check_that_is_to_fail_before_the_work_and_passes_is_a_persons() {
    let wrong = json!({"type": "script", "command": "true", "before": "red"});
    let mission = || one(|task| task.expects(wrong.clone()));
    for workspace in everywhere(mission) {
        let document = workspace.run_json(8, &[]);
        document["approvals"][0]["message"]
            .to_string()
            .says(&["green before the work began", "script: true"]);
        let moves = workspace.events().named("task:transition");
        let moves: Vec<&str> = moves.iter().filter_map(|event| event["to"].as_str()).collect();
        assert_eq!(moves, ["assigned", "pending", "awaiting_approval"]);
        workspace.quorum(&["reject", &approval(&document), "--reason", "no"]).exits(0);
        let document = workspace.resume_json(3, &[]);
        assert_eq!(task(&document, "work")["failure"]["mode"], "rejected");
        assert!(!workspace.exists("made.txt"));
    }
}

#[test]
fn a_yes_to_a_green_check_lapses_when_what_the_work_builds_on_is_done_again() {
    let wrong = json!({"type": "script", "command": "test -e made.txt", "before": "red"});
    // It does what was to be done; the second time it undoes it.
    let base = "if test -e made.txt; then rm made.txt; else echo > made.txt; fi; date +%N > base.txt";
    for says_yes in [true, false] {
        let mission = one(|task| task.expects(wrong.clone()).needs("base")).agent("base", base);
        let workspace =
            mission.task("base", |task| task.by("base").files(["base.txt"]).unreviewed()).workspace();
        let document = workspace.run_json(8, &[]);
        if says_yes {
            workspace.quorum(&["approve", &approval(&document)]).exits(0);
        }
        let document = workspace.resume_json(0, &["--redo", "base"]);
        assert_eq!(flagged(&document), ("clean", ""), "{says_yes}");
        assert_eq!(task(&document, "work")["proof"]["red"], 1, "{says_yes}");
    }
}

#[test]
fn tests_that_are_to_pass_before_and_after_are_left_out_where_they_did_not() {
    let gate = json!({"passToPass": ["a", "broken"], "testCommand": "test -e {test}"});
    let mission = one(|task| task.set("verify", gate).check("test -e made.txt"));
    let workspace = mission.workspace();
    workspace.write("a", "");
    let document = workspace.run_json(0, &["--strict"]);
    assert_eq!(flagged(&document), ("clean", ""));
    task(&document, "work")["findings"].to_string().says(&["test broken", "is left out"]);
    // What passed before must pass.
    let gate = json!({"passToPass": ["a"], "testCommand": "test -e {test}"});
    let broken = Mission::new()
        .worker("rm a; echo made > made.txt")
        .setting("evaluate", false)
        .task("work", |task| task.set("verify", gate).check("test -e made.txt"))
        .workspace();
    broken.write("a", "");
    assert_eq!(flagged(&broken.run_json(5, &[])).0, "unverified");
}

#[test]
fn false_green_60_tests_that_are_all_left_out_prove_nothing() {
    let gate = json!({"passToPass": ["broken"], "testCommand": "test -e {test}"});
    let mission = || one(|task| task.set("verify", gate.clone()));
    for workspace in everywhere(mission) {
        let document = workspace.run_json(6, &["--strict"]);
        assert_eq!(flagged(&document), ("unreviewed", ""));
        assert_eq!(task(&document, "work")["proof"], Value::Null);
        let found = task(&document, "work")["findings"].to_string();
        found.says(&["test broken", "is left out", "only guards: nothing shows that the work was done"]);
    }
    assert_eq!(flagged(&mission().workspace().run_json(0, &[])).0, "unreviewed");
}

#[test]
fn judges_are_told_what_checks_said_before() {
    let workspace = Mission::new()
        .worker("echo made > made.txt")
        .judge("critic", &["SCORE: 90"])
        .task("work", |task| task.by("worker").check("true").set("review", "required"))
        .workspace();
    let document = workspace.run_json(0, &["--strict"]);
    assert_eq!(flagged(&document), ("clean", ""));
    task(&document, "work")["findings"].to_string().says(&["vacuous: no check shows that the work was done"]);
    workspace
        .asked("critic", 1)
        .says(&["check 1: passed (passed before the work, too)", "look first whether it was done at all"]);
}

/// A check that notes, outside of the worktree, that it ran before there was any work.
const NOTES: &str = "test -e made.txt || { echo x >> TOP/seen; touch left.txt; echo more >> a.txt; false; }";

#[test]
fn the_same_check_on_the_same_commit_is_looked_at_once() {
    let mission = Mission::new()
        .worker("echo made > made.txt; true")
        .setting("evaluate", false)
        .setting("concurrency", 2)
        .task("one", |task| task.check(NOTES))
        .task("two", |task| task.check(NOTES));
    let workspace = repository(mission, &[("a.txt", "a\n")]);
    names_its_top(&workspace);
    let document = workspace.run_json(0, &["--strict"]);
    for title in ["one", "two"] {
        assert_eq!(task(&document, title)["qualityFlag"], "clean");
    }
    assert_eq!(workspace.lines("seen").len(), 1);
    // What it left before the work is in no commit.
    let there = git(&workspace, &["ls-tree", "-r", "--name-only", "HEAD"]);
    there.says(&["made.txt"]);
    assert!(!there.contains("left.txt"), "{there}");
    assert_eq!(git(&workspace, &["show", "HEAD:a.txt"]), "a");
}

#[test]
fn what_names_its_task_is_looked_at_for_each() {
    let mission = Mission::new()
        .worker("echo made > \"$QUORUM_TASK\"; echo more > \"$QUORUM_TASK.txt\"")
        .setting("evaluate", false)
        .setting("concurrency", 2)
        .task("one", |task| task.check("test -e \"$QUORUM_TASK\""))
        .task("two", |task| task.check("test -e \"$QUORUM_TASK\""));
    let document = repository(mission, &[("two", "there\n")]).run_json(0, &[]);
    let flag = |title: &str| task(&document, title)["qualityFlag"].clone();
    assert_eq!((flag("one"), flag("two")), (json!("clean"), json!("unreviewed")));
}

#[test]
fn a_kill_while_it_is_looked_changes_nothing_of_the_end() {
    let check = "test -e made.txt || { touch left.txt; echo x >> TOP/seen; \
                 while [ ! -e TOP/home/go ]; do sleep 0.02; done; false; }";
    for settings in [json!({}), json!({"setup": "echo built > built.txt"})] {
        let mission = one(|task| task.check(check)).setting("worktree", settings);
        let workspace = repository(mission, &[("a.txt", "a\n")]);
        names_its_top(&workspace);
        workspace.kill_at(&["run", "mission.yaml"], "seen");
        assert_eq!(workspace.status()["tasks"][0]["phase"], "baseline");
        assert!(!workspace.exists("made.txt"));
        workspace.write("home/go", "");
        let document = workspace.resume_json(0, &["--strict"]);
        assert_eq!(flagged(&document), ("clean", ""));
        assert_eq!(workspace.lines("seen").len(), 2, "once, and once more for what was cut off");
        let accepted = git(&workspace, &["ls-tree", "-r", "--name-only", "HEAD"]);
        accepted.says(&["made.txt"]);
        assert!(!accepted.contains("left.txt"), "{accepted}");
    }
}

#[test]
fn where_somebody_works_meanwhile_the_baseline_is_unknown_and_said() {
    let mission = || {
        Mission::new()
            .agent("slow", "echo > begun; while [ ! -e go ]; do sleep 0.02; done")
            .agent("waits", "while [ ! -e begun ]; do sleep 0.02; done; echo seen > seen.txt")
            .agent("worker", "echo made > made.txt; echo > go")
            .setting("evaluate", false)
            .setting("concurrency", 2)
            .task("slow", |task| task.by("slow"))
            .task("first", |task| task.by("waits"))
            .task("work", |task| task.by("worker").needs("first").check("test -e made.txt"))
    };
    let document = mission().workspace().run_json(0, &[]);
    assert_eq!(flagged(&document), ("clean", ""));
    assert_eq!(task(&document, "work")["proof"]["unknown"], 1);
    let workspace = mission().workspace();
    workspace.quorum(&["run", "mission.yaml", "--strict"]).exits(6).stdout.says(&["baseline unknown: 1"]);
}

#[test]
fn baselines_can_be_switched_off_and_that_is_said() {
    let mission = one(|task| task.check("true")).setting("baseline", false);
    let workspace = mission.workspace();
    let said = workspace.quorum(&["run", "mission.yaml"]).exits(0).stdout;
    said.says(&["baseline unknown: 1 (baselines off)"]);
    assert_eq!(flagged(&workspace.status()), ("clean", ""));
    let strict = one(|task| task.check("true").set("baseline", false)).workspace();
    strict.run_json(6, &["--strict"]);
}

#[test]
fn what_cannot_run_before_the_work_is_red_and_no_proof() {
    let folder = json!({"type": "script", "command": "true", "cwd": "made"});
    let mission = Mission::new()
        .worker("mkdir -p made; echo made > made/made.txt")
        .setting("evaluate", false)
        .task("work", |task| task.expects(folder));
    let document = mission.workspace().run_json(0, &[]);
    assert_eq!(flagged(&document), ("unreviewed", "vacuous"));
    assert_eq!(task(&document, "work")["proof"]["red"], 1);
}

#[test]
fn a_check_that_a_signal_ended_before_the_work_is_unknown() {
    let document = one(|task| task.check("test -e made.txt || kill -9 $$")).workspace().run_json(0, &[]);
    let proof = json!({"red": 0, "green": 0, "unknown": 1, "provenByNewTests": 0});
    assert_eq!(task(&document, "work")["proof"], proof);
    let strict = one(|task| task.check("test -e made.txt || kill -9 $$")).workspace();
    strict.run_json(6, &["--strict"]);
}

#[test]
fn before_stands_only_where_there_is_something_to_look_at() {
    for (keys, place) in [
        (json!({"verification": {"before": "red"}, "acceptance": ["good"]}), "before"),
        (json!({"stages": [{"name": "s", "agent": "worker", "before": "red"}]}), "before"),
        (json!({"expectations": [{"type": "llm_review", "before": "red"}]}), "before"),
        (json!({"verify": {"before": "red"}}), "before"),
        (json!({"expectations": [{"type": "test", "command": "true", "before": "blue"}]}), "blue"),
        (json!({"proof": "always"}), "always"),
    ] {
        let workspace = one(|task| {
            let keys = keys.as_object().unwrap().clone();
            keys.into_iter().fold(task, |task, (key, value)| task.set(&key, value))
        })
        .workspace();
        workspace.refuses(&[place]);
    }
}

#[test]
fn plan_looks_what_checks_say_before_anything_runs() {
    let mission = || {
        Mission::new()
            .worker("echo made > made.txt")
            .task("first", |task| {
                task.expects(json!({"type": "script", "command": "test -e made.txt", "before": "red"}))
                    .expects(json!({"type": "script", "command": "test -e seed.txt", "before": "green"}))
                    .expects(json!({"type": "script", "command": "no-such-program-here"}))
            })
            .task("second", |task| task.needs("first").check("true"))
            .task("unchecked", |task| task)
            .task("off", |task| task.set("baseline", false).check("true"))
    };
    let workspace = mission().workspace();
    workspace.write("seed.txt", "there\n");
    let document = workspace.quorum(&["plan", "--baseline", "--json", "mission.yaml"]).exits(0).json();
    assert_eq!(document["schema"], "quorum.baseline/v1");
    let said = |task: usize| {
        let checks = document["tasks"][task]["checks"].as_array().expect("its checks");
        let before: Vec<_> = checks.iter().map(|check| check["before"].as_str().unwrap_or("none")).collect();
        (document["tasks"][task]["notBefore"].clone(), before.join(" "))
    };
    assert_eq!(said(0), (json!([]), "red green red".to_owned()));
    assert_eq!(said(1), (json!(["first"]), "none".to_owned()));
    assert_eq!(said(2), (json!([]), String::new()));
    assert_eq!(said(3), (json!([]), "unknown".to_owned()));
    let first = &document["tasks"][0]["checks"];
    assert_eq!((&first[0]["declared"], &first[1]["declared"]), (&json!("red"), &json!("green")));
    first[2]["reason"].as_str().unwrap_or_default().says(&["was not found on PATH"]);
    assert!(!workspace.exists(".polpo") && !workspace.exists("made.txt"), "no state, no work");
    let shown = workspace.quorum(&["plan", "--baseline", "mission.yaml"]).exits(0).stdout;
    shown.says(&["first", "red", "to be red", "not before first", "no checks", "baselines are off"]);
    // What is written of a check and does not hold is told by the code; what nobody can tell is no pass.
    std::fs::remove_file(workspace.path("seed.txt")).expect("the seed");
    workspace.quorum(&["plan", "--baseline", "mission.yaml"]).exits(5);
    let red = |command: &str| {
        one(|task| task.expects(json!({"type": "script", "command": command, "before": "red"})))
    };
    red("true").workspace().quorum(&["plan", "--baseline", "mission.yaml"]).exits(5);
    red("kill -9 $$").workspace().quorum(&["plan", "--baseline", "mission.yaml"]).exits(6);
    let tests = json!({"failToPass": ["a", "b"], "testCommand": "test -e {test}"});
    let listed = one(|task| task.set("verify", tests)).workspace();
    listed.write("a", "");
    listed.quorum(&["plan", "--baseline", "mission.yaml"]).exits(0);
    listed.write("b", "");
    listed.quorum(&["plan", "--baseline", "mission.yaml"]).exits(5);
    let drawn = workspace.quorum(&["plan", "--baseline", "--format", "dot", "mission.yaml"]).exits(2);
    drawn.stderr.says(&["a baseline is no drawing"]);
}

#[test]
fn plan_needs_no_agent_and_no_folder_to_look_at_checks() {
    let mission = Mission::new().agent_with("writer", json!({"run": ["no-such-agent-here"]}));
    let mission = mission.key("workspace", "later").key("isolation", "worktree");
    let mission = mission.task("work", |task| task.by("writer").check("test -e made.txt"));
    let workspace = mission.workspace();
    let document = workspace.quorum(&["plan", "--baseline", "--json", "mission.yaml"]).exits(0).json();
    assert_eq!(document["tasks"][0]["checks"][0]["before"], "red");
    assert!(!workspace.exists("later") && !workspace.exists(".polpo"));
}

#[test]
fn files_that_a_check_goes_by_and_the_work_made_are_named() {
    let made = "the work made, and which neither `targetFiles` nor `file_exists` names";
    let by = |keys: fn(Task) -> Task| {
        move || {
            let mission = Mission::new().worker("echo made > made.txt; echo true > check.sh");
            let mission = mission.setting("evaluate", false);
            mission.task("work", |task| keys(task.check("sh check.sh").check("test -e made.txt")))
        }
    };
    for workspace in everywhere(by(|task| task)) {
        workspace.quorum(&["validate"]).exits(0).stderr.says(&[
            "Q0431",
            "mission.yaml:",
            "`sh check.sh` goes by check.sh",
        ]);
        let document = workspace.run_json(0, &[]);
        assert_eq!(flagged(&document), ("clean", ""));
        let findings = &task(&document, "work")["findings"];
        let found: Vec<&Value> = findings.as_array().expect("a list").iter().collect();
        assert_eq!((found.len(), &found[0]["severity"]), (1, &json!("medium")), "{findings}");
        findings.to_string().says(&["`test: sh check.sh` goes by check.sh", made]);
        assert!(!workspace.quorum(&["validate"]).exits(0).stderr.contains("Q0431"), "it is there");
    }
    let named: [fn(Task) -> Task; 2] = [
        |task| task.files(["check.sh"]),
        |task| task.expects(json!({"type": "file_exists", "paths": ["*.sh"]})),
    ];
    for keys in named {
        for workspace in everywhere(by(keys)) {
            let said = workspace.quorum(&["validate"]).exits(0).stderr;
            assert!(!said.contains("Q0431"), "{said}");
            assert!(!task(&workspace.run_json(0, &[]), "work")["findings"].to_string().contains(made));
        }
    }
    // What somebody else was to make before is nobody's surprise.
    let mission = Mission::new()
        .agent("first", "echo 'test -e made.txt' > check.sh")
        .agent("second", "echo made > made.txt")
        .setting("evaluate", false)
        .task("first", |task| task.by("first").files(["check.sh"]))
        .task("work", |task| task.by("second").needs("first").check("sh check.sh"));
    let workspace = repository(mission, &[("a.txt", "a\n")]);
    assert!(!workspace.quorum(&["validate"]).exits(0).stderr.contains("Q0431"));
    let document = workspace.run_json(0, &[]);
    assert_eq!((flagged(&document), &task(&document, "work")["findings"]), (("clean", ""), &json!([])));
}

/// Where a check ran, one word a run: the end of its folder, without the number of the task.
fn ran(workspace: &Workspace) -> Vec<String> {
    let word = |line: &String| {
        let end = line.rsplit('/').next().unwrap_or_default();
        end.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-').to_owned()
    };
    workspace.lines("seen").iter().map(word).collect()
}

#[test]
fn what_it_costs_is_one_run_before_the_work_and_at_most_three_behind_it() {
    let all = "echo \"$(cat code.txt) $PWD\" >> seen\nfor t in tests/test_*.sh; do sh $t || exit 1; done\n";
    let one = |worker: &str, titles: &[&str]| {
        let mission =
            Mission::new().worker(worker).setting("evaluate", false).setting("finalChecks", "never");
        let add = |mission: Mission, title: &&str| {
            mission.task(title, |task| {
                task.check("sh all.sh").set("isolation", "worktree").set("maxAttempts", 2)
            })
        };
        let mission = titles.iter().fold(mission, add);
        let files = [("tests/test_a.sh", "test \"$(cat code.txt)\" = 2\n"), ("code.txt", "1\n")];
        let workspace = repository(mission, &files);
        let seen = workspace.path("seen");
        workspace.write("all.sh", all.replace("seen", &seen.to_string_lossy()));
        git(&workspace, &["add", "all.sh"]);
        git(&workspace, &["commit", "-qm", "it notes where it runs"]);
        workspace
    };
    // A fix that touches no test: before it, and behind it.
    let fixed = one("echo 2 > code.txt", &["work"]);
    assert_eq!(flagged(&fixed.run_json(0, &["--strict"])), ("clean", ""));
    assert_eq!(ran(&fixed), ["", ""]);
    // A test more: one look, and its control.
    let more =
        one("echo 2 > code.txt; echo 'test -s code.txt; grep -q 2 code.txt' > tests/test_b.sh", &["work"]);
    more.run_json(0, &["--strict"]);
    assert_eq!(ran(&more), ["", "", "new-tests", "control"]);
    // A test that says something else: both looks, and one control for the two.
    let changed = one("echo 3 > code.txt; echo 'grep -q 3 code.txt' > tests/test_a.sh", &["work"]);
    assert_eq!(flagged(&changed.run_json(5, &[])), ("unverified", "tests-changed"));
    assert_eq!(ran(&changed), ["", "", "old-tests", "control", "", "old-tests", "control", "new-tests"]);
    // The same command on the same commit once a run, whoever is checked by it.
    let two = one("echo 2 > code.txt; echo > $QUORUM_TASK", &["one", "two"]);
    two.run_json(0, &[]);
    let of_baselines = two.events().named("work:requested");
    let of_baselines = of_baselines.iter().filter(|event| event["purpose"] == "baseline").count();
    let before = two.lines("seen").iter().filter(|line| line.starts_with("1 ")).count();
    assert_eq!((of_baselines, before), (2, 1), "each task asks, and it runs once");
    // Without checks nothing runs.
    let none = one("echo 2 > code.txt", &[]);
    none.mission(
        &none.read("mission.yaml").replace("tasks:\n", "tasks:\n  - {title: work, isolation: worktree}\n"),
    );
    git(&none, &["commit", "-qam", "a task without checks"]);
    none.run_json(0, &[]);
    let asked = none.events().named("work:requested");
    let is_check = |event: &&Value| event["kind"] == "command" && event["purpose"] != "merge";
    let commands: Vec<&Value> = asked.iter().filter(is_check).collect();
    assert!(commands.is_empty() && !none.exists("seen"), "{commands:?}");
}

#[test]
fn before_stands_where_something_is_looked_at_before_and_says_where() {
    let review = json!({"type": "llm_review", "before": "red"});
    one(|task| task.expects(review)).workspace().refuses(&[
        "`before` does not apply to an llm_review expectation",
        "it belongs to a test or script expectation or a file_exists expectation or a metric expectation",
    ]);
    let lists = json!({"before": "green", "failToPass": ["a"], "testCommand": "test -e {test}"});
    one(|task| task.set("verify", lists)).workspace().refuses(&["`before`", "say it by themselves"]);
    let again = json!({"type": "test", "command": "true", "reruns": 6});
    one(|task| task.expects(again)).workspace().refuses(&["'6' is not a number of reruns from 0 to 5"]);
}
