//! Work that touched nothing, and work where there was nothing to do (semantics, sections 6.2 and 24).

use serde_json::{Value, json};

use crate::support::model::{Model, says};
use crate::support::scenes::repositories::{committed, names_its_top, repository};
use crate::support::{BINARY, Mission, Says, Task, Workspace, attempts, standing, task};

/// A worker that does this, once, with files that are there.
fn one(script: &str, keys: impl FnOnce(Task) -> Task) -> Mission {
    let mission = Mission::new().worker(script).setting("evaluate", false).setting("finalChecks", "never");
    mission.task("work", |task| keys(task.attempts(1)))
}

/// The same with a judge that says this, one reply an attempt.
fn judged(script: &str, replies: &[&str], keys: impl FnOnce(Task) -> Task) -> Mission {
    let mission = Mission::new().worker(script).judge("critic", replies).setting("finalChecks", "never");
    mission.task("work", |task| keys(task.by("worker").set("review", "required")))
}

fn shared(mission: Mission) -> Workspace {
    let workspace = mission.workspace();
    workspace.write("out.txt", "there\n");
    let top = format!("'{}'", workspace.root().display());
    workspace.mission(&workspace.read("mission.yaml").replace("TOP", &top));
    workspace
}

fn isolated(mission: Mission) -> Workspace {
    let workspace = repository(mission, &[("out.txt", "there\n")]);
    if workspace.read("mission.yaml").contains("TOP") {
        names_its_top(&workspace);
    }
    workspace
}

/// In the workspace itself and in a worktree.
fn everywhere(mission: impl Fn() -> Mission) -> [Workspace; 2] {
    [shared(mission()), isolated(mission())]
}

fn flagged(document: &Value) -> (&str, &str) {
    let found = task(document, "work");
    (found["qualityFlag"].as_str().unwrap_or_default(), found["flagCause"].as_str().unwrap_or_default())
}

fn hollow(document: &Value) {
    let failure = &task(document, "work")["failure"];
    assert_eq!(failure["mode"], "hollow", "{failure}");
    let found = task(document, "work")["findings"].to_string();
    found.says(&["nothing was touched", "--nothing-to-do"]);
}

/// What its judge was told, where that can be read: a worktree has gone by then.
fn asked(workspace: &Workspace) -> Option<String> {
    (!workspace.exists(".git")).then(|| workspace.asked("critic", 1))
}

/// What says that there was nothing to do.
const CLAIM: &str = r#"printf '{"nothingToDo": "out.txt has it"}' > "$QUORUM_RESULT_FILE""#;

#[test]
fn false_green_64_work_that_touched_none_of_its_files_is_none() {
    for workspace in everywhere(|| one("true", |task| task.files(["out.txt"]))) {
        hollow(&workspace.run_json(3, &[]));
    }
    // What else it writes in the workspace is none of them; in a worktree it is work.
    hollow(&shared(one("echo > other.txt", |task| task.files(["out.txt"]))).run_json(3, &[]));
    isolated(one("echo > other.txt", |task| task.files(["out.txt"]))).run_json(0, &[]);
    for workspace in everywhere(|| one("echo more >> out.txt", |task| task.files(["out.txt"]))) {
        workspace.run_json(0, &[]);
    }
    // Judges are not asked about it.
    for workspace in everywhere(|| judged("true", &["SCORE: 90"], |task| task.files(["out.txt"]).attempts(1)))
    {
        let document = workspace.run_json(3, &[]);
        hollow(&document);
        assert_eq!(task(&document, "work")["reviews"], json!([]));
    }
}

#[test]
fn false_green_64_an_empty_difference_is_no_implementation_test_or_refactoring() {
    for kind in ["implement", "test", "refactor"] {
        // Long enough to be no word of one that did nothing, and it says that it did something.
        let says = format!("echo 'done: {}'", "all that was asked for is there now. ".repeat(5));
        hollow(&isolated(one(&says, |task| task.set("type", kind))).run_json(3, &[]));
        // What git ignores, and nobody names, is no work either.
        let builds = format!("{says}; echo > seen");
        hollow(&isolated(one(&builds, |task| task.set("type", kind))).run_json(3, &[]));
        isolated(one(&format!("{says}; echo > new.txt"), |task| task.set("type", kind))).run_json(0, &[]);
    }
    for workspace in everywhere(|| one("true", |task| task.files(["out.txt"]).set("type", "deploy"))) {
        workspace.run_json(0, &[]);
    }
    for workspace in everywhere(|| one("true", |task| task.files(["out.txt"]).set("sideEffects", true))) {
        workspace.run_json(0, &[]);
    }
    isolated(one("true", |task| task)).run_json(0, &[]);
}

#[test]
fn false_green_64_behind_checks_that_show_nothing_it_is_none_either() {
    for workspace in everywhere(|| one("true", |task| task.files(["out.txt"]).check("true"))) {
        hollow(&workspace.run_json(3, &[]));
    }
    let guard = json!({"type": "script", "command": "true", "before": "green"});
    for workspace in everywhere(|| one("true", |task| task.files(["out.txt"]).expects(guard.clone()))) {
        hollow(&workspace.run_json(3, &[]));
    }
    // A check that was red before shows that something was done, be it elsewhere.
    let elsewhere =
        || one("echo > TOP/home/made", |task| task.files(["out.txt"]).check("test -e TOP/home/made"));
    for workspace in everywhere(elsewhere) {
        assert_eq!(flagged(&workspace.run_json(0, &[])), ("clean", ""));
    }
}

#[test]
fn false_green_64_the_same_bytes_written_again_are_proved_by_nothing() {
    let again = "printf 'there\\n' > out.txt";
    for workspace in everywhere(|| one(again, |task| task.files(["out.txt"]))) {
        let document = workspace.run_json(0, &[]);
        assert_eq!(flagged(&document), ("unreviewed", "vacuous"));
        task(&document, "work")["findings"]
            .to_string()
            .says(&["no file is another one than before the work"]);
    }
    for workspace in everywhere(|| one(again, |task| task.files(["out.txt"]).set("proof", "required"))) {
        assert_eq!(flagged(&workspace.run_json(5, &[])), ("unverified", "vacuous"));
    }
    for workspace in everywhere(|| judged(again, &["SCORE: 90"], |task| task.files(["out.txt"]))) {
        assert_eq!(flagged(&workspace.run_json(0, &["--strict"])), ("clean", ""));
        if let Some(asked) = asked(&workspace) {
            asked.says(&["No file is another one than before the work"]);
        }
    }
}

#[test]
fn a_target_that_git_ignores_counts() {
    let mission = || one("echo more > seen", |task| task.files(["seen"]));
    committed(mission().workspace(), &[]).run_json(0, &[]);
    let document = isolated(mission()).run_json(3, &[]);
    task(&document, "work")["findings"].to_string().says(&["seen is ignored by git"]);
}

#[test]
fn a_model_that_can_only_answer_touches_nothing() {
    let answers = "all that was asked for is there now. ".repeat(5);
    let model = Model::new(move |_| says(answers.clone()));
    let mission = |kind: &str| {
        let mission = Mission::new().model("model", &model, json!({})).setting("evaluate", false);
        mission.task("work", |task| task.by("model").attempts(1).set("type", kind).files(["out.txt"]))
    };
    for kind in ["implement", "research"] {
        for workspace in everywhere(|| mission(kind)) {
            hollow(&workspace.run_json(3, &[]));
        }
    }
}

#[test]
fn a_correction_that_touches_nothing_keeps_what_was_touched_before_it() {
    let script = "[ $QUORUM_ATTEMPT = 1 ] && echo more >> out.txt; true";
    let mission = || judged(script, &["SCORE: 20", "SCORE: 90"], |task| task.files(["out.txt"]));
    for workspace in everywhere(mission) {
        let document = workspace.run_json(0, &["--strict"]);
        assert_eq!((attempts(&document, "work").len(), flagged(&document)), (2, ("clean", "")));
    }
}

#[test]
fn what_was_not_touched_is_not_forgotten_by_a_kill() {
    let check = "[ ! -e TOP/home/worked ] || echo > TOP/checking; while [ -e TOP/home/worked -a ! -e TOP/home/go ]; do sleep 0.02; done";
    for workspace in everywhere(|| one("echo > TOP/home/worked", |task| task.files(["out.txt"]).check(check)))
    {
        workspace.kill_at(&["run", "mission.yaml"], "checking");
        workspace.write("home/go", "");
        hollow(&workspace.resume_json(3, &[]));
    }
}

#[test]
fn a_review_of_a_claim_is_told_of_it() {
    let workspace = shared(judged(CLAIM, &["SCORE: 90", "SCORE: 90"], |task| task.files(["out.txt"])));
    workspace.run_json(0, &[]);
    workspace.quorum(&["review", "work"]).exits(0);
    workspace.asked("critic", 2).says(&["No file is another one than before the work", "out.txt has it"]);
}

#[test]
fn false_green_64_where_there_is_nothing_to_do_that_is_said_and_judged() {
    for workspace in
        everywhere(|| judged(CLAIM, &["SCORE: 90"], |task| task.files(["out.txt"]).set("type", "implement")))
    {
        let document = workspace.run_json(0, &["--strict", "--report", "markdown=report.md"]);
        assert_eq!(flagged(&document), ("clean", ""));
        assert_eq!(task(&document, "work")["nothingToDo"], "out.txt has it");
        if let Some(asked) = asked(&workspace) {
            let told =
                ["No file is another one than before the work", "there was nothing to do", "out.txt has it"];
            asked.says(&told);
        }
        workspace.read("report.md").says(&["nothing to do"]);
    }
    // Nobody judges it, and no check shows anything: the claim adds nothing.
    for workspace in everywhere(|| one(CLAIM, |task| task.files(["out.txt"]).unreviewed())) {
        assert_eq!(flagged(&workspace.run_json(0, &[])), ("unreviewed", "vacuous"));
    }
    let checked = |before: &'static str, proof: &'static str| {
        let check = json!({"type": "script", "command": "test -e out.txt", "before": before});
        move || one(CLAIM, |task| task.files(["out.txt"]).expects(check.clone()).set("proof", proof))
    };
    for workspace in everywhere(checked("green", "required")) {
        assert_eq!(flagged(&workspace.run_json(0, &[])), ("unreviewed", ""));
    }
    for workspace in everywhere(|| one(CLAIM, |task| task.files(["out.txt"]).check("test -e out.txt"))) {
        assert_eq!(flagged(&workspace.run_json(0, &[])), ("unreviewed", "vacuous"));
    }
    for workspace in everywhere(|| one(CLAIM, |task| task.files(["missing.txt"]))) {
        let found = &task(&workspace.run_json(3, &[]), "work")["findings"].to_string();
        found.says(&["missing.txt does not exist"]);
    }
}

#[test]
fn who_changed_something_has_not_found_nothing_to_do() {
    let both = format!("echo more >> out.txt; {CLAIM}");
    for workspace in everywhere(|| judged(&both, &["SCORE: 90"], |task| task.files(["out.txt"]))) {
        let document = workspace.run_json(0, &[]);
        assert_eq!(task(&document, "work")["nothingToDo"], Value::Null);
        let found = task(&document, "work")["findings"].to_string();
        found.says(&["\"severity\":\"low\"", "it says that there was nothing to do, and did something"]);
        assert!(asked(&workspace).is_none_or(|asked| !asked.contains("# Whether anything was done")));
    }
}

#[test]
fn a_claim_is_of_its_turn_and_a_judge_may_not_believe_it() {
    let second = format!("[ $QUORUM_ATTEMPT = 1 ] && {CLAIM} || echo more >> out.txt");
    let mission = || judged(&second, &["SCORE: 20", "SCORE: 90"], |task| task.files(["out.txt"]));
    for workspace in everywhere(mission) {
        let document = workspace.run_json(0, &[]);
        assert_eq!((attempts(&document, "work").len(), flagged(&document)), (2, ("clean", "")));
        assert_eq!(task(&document, "work")["nothingToDo"], Value::Null);
    }
}

#[test]
fn a_claim_outlives_a_kill() {
    let waits = "echo > TOP/judging; while [ ! -e TOP/home/go ]; do sleep 0.02; done; grep -q 'out.txt has it' && echo 'SCORE: 90'";
    let mission = || {
        let mission = Mission::new().worker(CLAIM).reviewer("critic", waits).setting("finalChecks", "never");
        mission.task("work", |task| task.by("worker").files(["out.txt"]).set("review", "required"))
    };
    for workspace in everywhere(mission) {
        workspace.kill_at(&["run", "mission.yaml"], "judging");
        workspace.write("home/go", "");
        let document = workspace.resume_json(0, &["--strict"]);
        assert_eq!(flagged(&document), ("clean", ""));
        assert_eq!(task(&document, "work")["nothingToDo"], "out.txt has it");
    }
}

#[test]
fn handed_down_and_made_up_for_it_is_held_to_the_same() {
    for (script, code) in [("true", 3), (CLAIM, 0)] {
        let part = json!({"delegate": {"title": "part", "assignTo": "worker", "targetFiles": ["out.txt"]}});
        let lead = format!(
            "echo > made.txt; if [ -n \"$QUORUM_REVIEW_FILE\" ]; then echo 'SCORE: 90'; else printf '%s' '{part}' > \"$QUORUM_RESULT_FILE\"; fi"
        );
        let mission = Mission::new()
            .worker(script)
            .reviewer("lead", lead)
            .task("work", |task| task.by("lead").check("test -e made.txt").attempts(1));
        let document = shared(mission).run_json(code, &[]);
        assert_eq!(standing(&document, "part").1, if code == 0 { "clean" } else { "" });
    }
    let fixed = format!("case \"$QUORUM_TASK\" in *fixup*) {CLAIM} ;; esac");
    let mission = || one(&fixed, |task| task.files(["out.txt"]).set("onExhausted", "fixup"));
    for workspace in everywhere(mission) {
        let document = workspace.run_json(3, &[]);
        hollow(&document);
        assert_eq!(standing(&document, "work (fixup)"), ("done", "unreviewed"));
    }
}

#[test]
fn the_command_says_why_and_needs_a_reason() {
    let says = format!(
        "{BINARY} agent result --nothing-to-do ' ' || echo $? > TOP/home/code; {BINARY} agent result --nothing-to-do 'it is there'"
    );
    let workspace = shared(judged(&says, &["SCORE: 90"], |task| task.files(["out.txt"])));
    let document = workspace.run_json(0, &[]);
    assert_eq!(task(&document, "work")["nothingToDo"], "it is there");
    assert_eq!(workspace.read("home/code"), "2\n");
}

#[test]
fn false_green_64_what_a_later_turn_puts_back_was_not_touched() {
    let script =
        "if [ $QUORUM_ATTEMPT = 1 ]; then echo more >> out.txt; else printf 'there\\n' > out.txt; fi";
    // It keeps nothing in the folder of the work.
    let critic = "cat > TOP/home/asked.$QUORUM_ATTEMPT; test $QUORUM_ATTEMPT = 2 && echo 'SCORE: 90' || echo 'SCORE: 20'";
    let judged = |keys: fn(Task) -> Task| {
        let mission =
            Mission::new().worker(script).reviewer("critic", critic).setting("finalChecks", "never");
        isolated(mission.task("work", |task| keys(task.by("worker").set("review", "required").attempts(2))))
    };
    hollow(&judged(|task| task.set("type", "implement")).run_json(3, &[]));
    // It wrote the file that it names: judges are told that it is what it was.
    let of_files = judged(|task| task.files(["out.txt"]));
    of_files.run_json(0, &[]);
    of_files.read("home/asked.2").says(&["No file is another one than before the work"]);
    assert!(!of_files.read("home/asked.1").contains("No file is another one"));
}

#[test]
fn false_green_64_a_claim_makes_nothing_of_what_nobody_knows() {
    let claimed = |proof: &'static str| {
        move || {
            let mission = one(CLAIM, |task| task.files(["out.txt"]).check("test -e out.txt"));
            mission.setting("baseline", false).setting("proof", proof)
        }
    };
    for workspace in everywhere(claimed("warn")) {
        assert_eq!(flagged(&workspace.run_json(0, &[])), ("unreviewed", "vacuous"));
    }
    for workspace in everywhere(claimed("required")) {
        assert_eq!(flagged(&workspace.run_json(5, &[])), ("unverified", "vacuous"));
    }
}
