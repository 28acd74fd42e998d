//! Caches beside what judges, and folders of builds: what a turn leaves there reaches no check (semantics, section 22, scratch).

use serde_json::{Value, json};

use crate::support::scenes::repositories::repository;
use crate::support::{Mission, Says, Workspace, makes_namespaces, skipped, standing, task};

/// A task whose worker runs this; its check runs `tests/check.sh`, which reads a cache before the file itself.
fn cached(worker: &str, cache: &str, more: &[(&str, Value)]) -> Mission {
    let check = format!("if test -e {cache}; then sh {cache}; else sh tests/check.sh; fi");
    Mission::new().worker(worker).setting("evaluate", false).task("work", |mut t| {
        for (key, value) in more {
            t = t.set(key, value.clone());
        }
        t.attempts(2).expects(json!({"type": "script", "command": check}))
    })
}

fn ready(workspace: Workspace) -> Workspace {
    workspace.write("tests/check.sh", "grep -q right answer.txt");
    workspace
}

/// Where nothing is confined, and where mounts hold, if they do here.
fn both(mission: impl Fn() -> Mission) -> Vec<Workspace> {
    let mut all = vec![ready(mission().workspace())];
    all.extend(confined(|| ready(mission().workspace())));
    all
}

/// Where mounts hold, if they do here.
fn confined(workspace: impl FnOnce() -> Workspace) -> Option<Workspace> {
    if !makes_namespaces() {
        skipped("this machine makes no namespaces for users");
        return None;
    }
    Some(workspace().confined())
}

const CACHES: [&str; 3] =
    ["tests/__pycache__/check.pyc", ".pytest_cache/v/last", "node_modules/.cache/babel/check.js"];

fn plant(cache: &str) -> String {
    format!("mkdir -p $(dirname {cache}); echo exit 0 > {cache}; echo wrong > answer.txt")
}

#[test]
fn false_green_45_a_cache_that_a_turn_plants_beside_protected_files_reaches_no_check() {
    for cache in CACHES {
        for workspace in both(|| cached(&plant(cache), cache, &[]).setting("protect", json!(["tests/*.sh"])))
        {
            let document = workspace.run_json(3, &[]);
            assert_eq!(standing(&document, "work").0, "failed", "{cache}: {document:#}");
            assert_eq!(task(&document, "work")["failure"]["mode"], "quality", "{document:#}");
        }
    }
}

#[test]
fn false_green_45_a_cache_that_was_there_is_written_by_no_check_for_the_next_one() {
    let cache = CACHES[0];
    // The work plants while it is tested.
    let check = format!(
        "if test -e {cache}; then sh {cache}; exit; fi; mkdir -p tests/__pycache__ && echo exit 0 > {cache}; sh tests/check.sh"
    );
    for was_there in [true, false] {
        let mission = || {
            Mission::new()
                .worker("echo wrong > answer.txt")
                .setting("evaluate", false)
                .setting("protect", json!(["tests/*.sh"]))
                .task("work", |t| t.attempts(3).expects(json!({"type": "script", "command": check})))
        };
        for (workspace, is_confined) in both(mission).into_iter().zip([false, true]) {
            if was_there {
                workspace.write("tests/__pycache__/mine.pyc", "mine");
            }
            let document = workspace.run_json(3, &[]);
            assert_eq!(standing(&document, "work").0, "failed", "{document:#}");
            assert!(!workspace.path(cache).exists(), "what a check leaves is thrown away");
            let stays = workspace.path("tests/__pycache__/mine.pyc").exists();
            assert_eq!(stays, was_there && is_confined, "mounts leave what is there");
        }
    }
}

#[test]
fn false_green_45_a_link_in_the_place_of_a_cache_is_not_followed() {
    let worker = "mkdir -p evil; echo exit 0 > evil/check.pyc; ln -s ../evil tests/__pycache__; echo wrong > answer.txt";
    for workspace in both(|| cached(worker, CACHES[0], &[]).setting("protect", json!(["tests/*.sh"]))) {
        workspace.run_json(3, &[]);
    }
}

#[test]
fn false_green_45_a_judge_finds_no_cache_of_the_work_either() {
    let judge =
        "cat > /dev/null; if test -e tests/__pycache__/x; then echo SCORE: 97; else echo SCORE: 10; fi";
    let mission = || {
        Mission::new()
            .worker("mkdir -p tests/__pycache__; echo > tests/__pycache__/x")
            .reviewer("judge", judge)
            .setting("protect", json!(["tests/*.sh"]))
            .task("work", |t| t.attempts(1).set("review", "required"))
    };
    for workspace in both(mission) {
        let document = workspace.run_json(5, &[]);
        assert_eq!(task(&document, "work")["points"], 10.0, "{document:#}");
    }
}

#[test]
fn false_green_45_a_cache_reaches_no_check_in_a_folder_of_its_own_either() {
    let script = ("tests/check.sh", "grep -q right answer.txt");
    for cache in CACHES {
        for isolation in ["worktree", "temp", "copy"] {
            let mission = || {
                cached(&plant(cache), cache, &[("isolation", json!(isolation))])
                    .setting("protect", json!(["tests/*.sh"]))
            };
            let all = [Some(repository(mission(), &[script])), confined(|| repository(mission(), &[script]))];
            for workspace in all.into_iter().flatten() {
                let document = workspace.run_json(3, &[]);
                assert_eq!(standing(&document, "work").0, "failed", "{isolation} {cache}: {document:#}");
                assert_eq!(task(&document, "work")["failure"]["mode"], "quality", "{document:#}");
            }
        }
    }
}

#[test]
fn false_green_45_a_build_that_a_turn_plants_decides_no_check() {
    let cache = "target/debug/incremental/check.sh";
    let shared = || ready(cached(&plant(cache), cache, &[]).workspace());
    let isolated = || {
        let mission = cached(&plant(cache), cache, &[("isolation", json!("worktree"))]);
        let ignored = (".gitignore", ".polpo\nhome\nseen\ntarget\n");
        repository(mission, &[("tests/check.sh", "grep -q right answer.txt"), ignored])
    };
    // A part of the project with a build of its own.
    let part = "part/target/debug/check.sh";
    let in_part = || {
        let workspace =
            ready(cached(&plant(part), part, &[]).setting("protect", json!(["part/tests/**"])).workspace());
        workspace.write("part/Cargo.toml", "[package]");
        workspace.write("part/tests/all.rs", "");
        workspace
    };
    for workspace in [confined(shared), confined(isolated), confined(in_part)].into_iter().flatten() {
        let document = workspace.run_json(3, &[]);
        assert_eq!(standing(&document, "work").0, "failed", "{document:#}");
        assert_eq!(task(&document, "work")["failure"]["mode"], "quality", "{document:#}");
    }
}

#[test]
fn false_green_45_no_link_brings_a_build_of_the_work_before_a_check() {
    let cache = "target/check.sh";
    let links = [
        ("mkdir -p evil; echo exit 0 > evil/check.sh; ln -s evil target", cache),
        ("evil=$(mktemp -d); echo exit 0 > $evil/check.sh; ln -s $evil target", cache),
        ("echo exit 0 > check.sh; ln -s . target", cache),
        ("echo exit 0 > tests/a; ln -s tests target", "target/a"),
    ];
    for (worker, cache) in links {
        let worker = format!("test -e target || {{ {worker}; }}; echo wrong > answer.txt");
        let mission = cached(&worker, cache, &[]).setting("protect", json!(["tests/*.sh"]));
        let Some(workspace) = confined(|| ready(mission.workspace())) else { return };
        let document = workspace.run_json(3, &[]);
        assert_eq!(standing(&document, "work").0, "failed", "{worker}: {document:#}");
        assert_eq!(task(&document, "work")["failure"]["mode"], "quality", "{worker}: {document:#}");
    }
}

/// The first check builds and fails; the second finds the build, and no turn does.
fn kept(worker: &str) -> Mission {
    let build = "test -e target/built && exit 0; mkdir -p target; echo > target/built; false";
    Mission::new()
        .worker(format!("{worker}; test ! -e target/built || touch seen"))
        .setting("evaluate", false)
        .setting("baseline", false)
        .task("work", |t| t.attempts(2).expects(json!({"type": "script", "command": build})))
}

#[test]
fn false_green_45_what_a_check_builds_is_kept_for_the_next_one_and_seen_by_no_turn() {
    for worker in ["true", "mkdir -p target; echo mine > target/mine"] {
        let Some(workspace) = confined(|| kept(worker).workspace()) else { return };
        let document = workspace.run_json(0, &[]);
        assert_eq!(task(&document, "work")["attempts"].as_array().map(Vec::len), Some(2), "{document:#}");
        assert!(!workspace.path("seen").exists(), "a turn has seen what a check built");
        assert!(!workspace.path("target/built").exists());
        assert_eq!(workspace.path("target/mine").exists(), worker != "true");
    }
}

#[test]
fn what_the_work_is_to_make_in_a_build_is_seen_by_its_checks() {
    let mission = || {
        Mission::new().worker("mkdir -p target; echo app > target/app").setting("evaluate", false).task(
            "work",
            |t| {
                t.set("targetFiles", json!(["target/app"]))
                    .expects(json!({"type": "script", "command": "grep -q app target/app"}))
            },
        )
    };
    for workspace in both(mission) {
        workspace.run_json(0, &[]);
    }
}

#[test]
fn where_nothing_is_confined_it_is_said_that_checks_use_the_builds_of_turns() {
    let workspace = Mission::new().worker("true").setting("sandbox", "off").task("work", |t| t).workspace();
    workspace.write("Cargo.toml", "[package]");
    for words in [&["plan", "mission.yaml"][..], &["validate", "mission.yaml"], &["run", "mission.yaml"]] {
        let output = workspace.quorum(words);
        format!("{}{}", output.stdout, output.stderr).says(&["checks use the `target` that turns leave"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn where_this_machine_confines_nothing_it_is_said_that_checks_use_the_builds_of_turns() {
    let workspace = Mission::new().worker("true").task("work", |t| t).workspace().confined();
    workspace.write("Cargo.toml", "[package]");
    workspace
        .with_landlock_only(&["run", "mission.yaml"])
        .says(&["checks use the `target` that turns leave"]);
    std::fs::remove_file(workspace.path("Cargo.toml")).expect("it is ours");
    workspace.with_landlock_only(&["run", "mission.yaml"]).stderr.omits(&["that turns leave"]);
}

#[test]
fn scratch_is_what_the_task_says_before_the_settings() {
    let worker = plant("tests/cache/check");
    let mission = |task: Value| {
        let mission = cached(&worker, "tests/cache/check", &[("scratch", task)]);
        mission.setting("protect", json!(["tests/*.sh"])).setting("scratch", json!(["tests/c*/**"]))
    };
    for workspace in both(|| mission(json!(["**/cache/**"]))) {
        workspace.run_json(3, &[]);
    }
    for workspace in both(|| mission(json!([]))) {
        workspace.run_json(0, &[]);
    }
}

#[test]
fn what_a_line_of_a_check_leaves_is_there_for_its_next_line() {
    let check = "mkdir -p tests/__pycache__ target && echo kept > tests/__pycache__/a && echo kept > target/a\n\
                 grep -q kept tests/__pycache__/a && grep -q kept target/a";
    let mission = || {
        Mission::new()
            .worker("true")
            .setting("evaluate", false)
            .setting("protect", json!(["tests/*.sh"]))
            .task("work", |t| t.attempts(1).expects(json!({"type": "script", "command": check})))
    };
    for was_there in [false, true] {
        for workspace in both(mission) {
            if was_there {
                workspace.write("tests/__pycache__/mine.pyc", "mine");
                workspace.write("target/mine", "mine");
            }
            workspace.run_json(0, &[]);
        }
    }
}

#[test]
fn checks_at_work_at_once_have_caches_and_builds_of_their_own() {
    // Each waits for the other one in the middle.
    let check = |own: &str, other: &str| {
        format!(
            "mkdir -p tests/__pycache__ target; echo {own} > tests/__pycache__/a; echo {own} > target/a; touch {own}.here\n\
             until test -e {other}.here; do sleep 0.02; done\n\
             grep -q {own} tests/__pycache__/a && grep -q {own} target/a && touch {own}.seen\n\
             until test -e {other}.seen; do sleep 0.02; done"
        )
    };
    let expects = |own, other| json!({"type": "script", "command": check(own, other)});
    let mission = Mission::new()
        .worker("true")
        .setting("evaluate", false)
        .setting("protect", json!(["tests/*.sh"]))
        .task("one", |t| t.attempts(1).expects(expects("left", "right")))
        .task("two", |t| t.attempts(1).expects(expects("right", "left")));
    let Some(workspace) = confined(|| ready(mission.workspace())) else { return };
    workspace.write("tests/__pycache__/mine.pyc", "mine");
    workspace.write("target/mine", "mine");
    workspace.run_json(0, &["--timeout", "1m"]);
    assert!(workspace.path("tests/__pycache__/mine.pyc").exists());
    assert!(workspace.path("target/mine").exists());
}

#[test]
fn sources_and_what_is_protected_in_a_folder_of_that_name_are_no_build() {
    let check = "grep -q source src/target/mod.rs && grep -q golden target/golden";
    let mission = Mission::new()
        .worker("true")
        .setting("evaluate", false)
        .setting("protect", json!(["src/*.rs", "target/golden"]))
        .task("work", |t| t.attempts(1).expects(json!({"type": "script", "command": check})));
    let Some(workspace) = confined(|| ready(mission.workspace())) else { return };
    workspace.write("src/lib.rs", "mod target;");
    workspace.write("src/target/mod.rs", "// source");
    workspace.write("target/golden", "golden");
    workspace.run_json(0, &[]);
}

#[test]
fn what_judges_is_no_cache_whatever_scratch_names() {
    let mission = || {
        Mission::new()
            .worker("true")
            .setting("evaluate", false)
            .setting("scratch", json!(["**"]))
            .task("work", |t| {
                t.attempts(1).expects(json!({"type": "script", "command": "sh tests/check.sh"}))
            })
    };
    for workspace in both(mission) {
        workspace.write("tests/check.sh", "true");
        workspace.run_json(0, &[]);
        assert!(workspace.path("mission.yaml").exists() && workspace.path("tests/check.sh").exists());
    }
}
