//! What a folder of an isolated task has beside what git follows, and the kinds of isolation that bring nothing back.

use std::fs;

use serde_json::json;

use crate::support::scenes::repositories::{committed, git, repository, subjects};
use crate::support::{DEADLINE, Mission, RUN_AS_R1, poll, standing, task};

fn one(script: &str) -> Mission {
    Mission::new().worker(script).setting("evaluate", false)
}

#[test]
fn files_that_git_ignores_are_copied_or_linked_where_the_mission_says_so() {
    let worktree = json!({"copy": ["secret.env", "data"], "link": ["modules"], "setup": "echo \"$PWD\" >> made; echo m >> modules/log"});
    let script = "cat secret.env data/d modules/m local/l > all; echo x >> secret.env; test ! -e other.log";
    let mission =
        one(script).setting("worktree", worktree).task("a", |task| task).task("b", |task| task.needs("a"));
    let workspace = repository(mission, &[(".worktreeinclude", "local/\n"), ("made", "")]);
    for (name, text) in [("secret.env", "s\n"), ("data/d", "d\n"), ("modules/m", "m\n"), ("local/l", "l\n")] {
        workspace.write(name, text);
    }
    let ignored = ".polpo\nhome\nsecret.env\ndata\nmodules\nlocal\nother.log\n";
    workspace.write(".gitignore", ignored);
    workspace.write("other.log", "it stays where it is");
    git(&workspace, &["commit", "-qam", "ignored"]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(workspace.read("all"), "s\nd\nm\nl\n");
    assert_eq!(workspace.read("secret.env"), "s\n", "it was a copy");
    let made = workspace.read("made");
    let made: Vec<&str> = made.lines().collect();
    assert!(made.iter().any(|folder| folder.ends_with("worktrees/0")), "{made:?}");
    let tracked = git(&workspace, &["ls-files"]);
    assert!(!tracked.contains("secret") && !tracked.contains("modules"), "{tracked}");
    assert_eq!(workspace.lines("modules/log"), ["m", "m"], "once a folder");
}

#[test]
fn a_worktree_that_cannot_be_prepared_is_no_failure_of_the_work() {
    let mission = one("cat seen > out").setting("worktree", json!({"setup": "echo no tools; cp TOP/seen ."}));
    let workspace = repository(mission.tasks(["a"]), &[]);
    super::names_its_top(&workspace);
    let finished = workspace.quorum(&["run", "mission.yaml"]).exits(9);
    finished.says(&["prepares worktrees", "exited 1", "no tools"]);
    assert_eq!(standing(&workspace.status(), "a").0, "assigned");
    workspace.write("seen", "t\n");
    workspace.quorum(&["resume"]).exits(0);
    assert_eq!(workspace.read("out"), "t\n");
}

#[test]
fn what_is_to_be_copied_must_be_there() {
    let mission = |worktree| repository(one("true").setting("worktree", worktree).tasks(["a"]), &[]);
    super::refused(&mission(json!({"copy": ["gone"]})), &["settings.worktree.copy names gone"]);
    super::refused(&mission(json!({"link": ["gone/too"]})), &["settings.worktree.link names gone/too"]);
}

#[test]
fn the_command_line_says_what_becomes_of_accepted_work() {
    let workspace =
        repository(one("echo x > x").setting("worktree", json!({"merge": "never"})).tasks(["a"]), &[]);
    workspace.quorum(&["run", "mission.yaml", "--merge", "branch done"]).exits(0);
    assert_eq!((subjects(&workspace, "main").len(), subjects(&workspace, "done")), (0, vec!["a".to_owned()]));
    let usage = workspace.quorum(&["run", "mission.yaml", "--merge", "branch"]).exits(2);
    usage.says(&["--merge", "ff, never or `branch NAME`"]);
}

#[test]
fn a_task_with_a_copy_or_an_empty_folder_changes_nothing_of_the_workspace() {
    let mission = Mission::new()
        .agent("copier", "cat file > seen; echo changed > file; test ! -e .polpo")
        .agent("clean", "n=$(ls -A | wc -l); echo $n > count; echo x > file")
        .setting("evaluate", false)
        .task("copy", |task| task.by("copier").set("isolation", "copy").check("test -e seen"))
        .task("temp", |task| {
            task.by("clean")
                .set("isolation", "temp")
                .set("targetFiles", json!(["count"]))
                .check("grep -qx 0 count")
        });
    let workspace = mission.workspace();
    workspace.write("file", "as it was");
    let document = workspace.run_json(0, &[]);
    assert_eq!(workspace.read("file"), "as it was");
    for (title, text) in [("copy", "changed\n"), ("temp", "x\n")] {
        let folder = task(&document, title)["folder"].as_str().expect("it has one").to_owned();
        assert_eq!(fs::read_to_string(format!("{folder}/file")).expect("it is there"), text);
        workspace.quorum(&["show", title]).exits(0).shows(&[&format!("works in {folder}")]);
    }
    workspace.quorum(&["diff", "copy"]).exits(2);
}

#[test]
fn a_script_that_judges_is_protected_in_a_copy() {
    let mission =
        one("echo true > check.sh").task("a", |task| task.set("isolation", "copy").check("sh check.sh"));
    let workspace = mission.workspace();
    workspace.write("check.sh", "test -e done\n");
    let document = workspace.run_json(3, &[]);
    assert!(task(&document, "a")["failure"].to_string().contains("check.sh was changed"), "{document:#}");
}

#[test]
fn a_run_that_goes_takes_its_references_along_but_for_work_that_no_branch_has() {
    let workspace = repository(one("echo $QUORUM_RUN_ID > file").tasks(["a"]), &[]);
    workspace.quorum(&["run", "mission.yaml", "--run-id", "merged"]).exits(0);
    workspace.quorum(&["run", "mission.yaml", "--run-id", "waits", "--merge", "never"]).exits(0);
    let cleaned = workspace.quorum(&["clean", "--all", "--yes"]).exits(0);
    cleaned.says(&["refs/quorum/waits/main stays", "git update-ref -d refs/quorum/waits/main"]);
    assert_eq!(
        git(&workspace, &["for-each-ref", "--format=%(refname)", "refs/quorum"]),
        "refs/quorum/waits/main"
    );
}

#[test]
fn doctor_says_whether_worktrees_can_be_made() {
    let workspace = repository(one("true").tasks(["a"]), &[("file", "a")]);
    workspace.quorum(&["doctor"]).shows(&["tasks can begin with the repository"]);
    workspace.write("file", "b");
    workspace.quorum(&["doctor"]).exits(9).shows(&["not committed: file"]);
}

#[test]
fn what_a_task_changed_is_told_everywhere() {
    let mission = one("echo x > x; echo more >> file; printf 'a\\nb\\n' > y").tasks(["good"]);
    let mission = mission.task("bad", |task| task.check("false").attempts(1));
    let workspace = committed(mission.key("isolation", "worktree").workspace(), &[("file", "a\n")]);
    let document = workspace.run_json(3, &["--run-id", "r1"]);
    let diff = &task(&document, "bad")["diff"];
    assert_eq!((&diff["files"], &diff["insertions"], &diff["deletions"]), (&json!(3), &json!(4), &json!(0)));
    assert_eq!((&diff["merged"], &diff["paths"]), (&json!(false), &json!(["file", "x", "y"])));
    assert_eq!(diff["ref"], "refs/quorum/r1/task/1");
    assert_eq!(
        git(&workspace, &["rev-parse", "refs/quorum/r1/task/1"]),
        diff["commit"].as_str().expect("a name")
    );
    let words = "changed 3 files, +4 -0";
    let shown = workspace.quorum(&["show", "bad"]).exits(0);
    shown.shows(&[words, "not merged: refs/quorum/r1/task/1", "file, x, y"]);
    workspace.quorum(&["show", "good"]).exits(0).shows(&[words, "merged"]);
    workspace.quorum(&["status"]).shows(&[words]);
    workspace.quorum(&["resume", "--report", "html=report.html"]);
    let report = workspace.read("report.html");
    assert!(
        report.contains("3 files, +4 -0, not merged: <code>refs&#x2f;quorum&#x2f;r1&#x2f;task&#x2f;1"),
        "{report}"
    );
}

#[test]
fn folders_of_accepted_work_are_gone_at_once_and_their_files_soon() {
    let workspace = repository(one("echo a > a").task("one", |task| task), &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    let folder = workspace.run_folders()[0].join("worktrees");
    assert!(!folder.join("0").exists() && !folder.join("0.index").exists());
    poll(DEADLINE, || !folder.join("0.gone").exists());
}

#[test]
fn whoever_removes_folders_behind_a_run_holds_its_lock_no_longer() {
    let workspace = repository(one("echo a > a").task("one", |task| task), &[]);
    for round in 0..12 {
        workspace.quorum(&["run", "mission.yaml", "--fresh"]).exits(0);
        let status = workspace.quorum(&["status", "--json"]).exits(0).json();
        assert_eq!(status["state"], "ended", "round {round}");
    }
}

#[test]
fn an_agent_of_any_name_commits_as_itself_on_a_branch_of_its_own() {
    let name = r#"a "b" \ c; [d]"#;
    let commit = "git status --porcelain | grep . && exit 1; echo $QUORUM_TASK > a && git add a && git commit -qm own \
                  && git log -1 --format='%an %ae' > who && git symbolic-ref HEAD >> who";
    let mission = Mission::new().agent(name, commit).setting("evaluate", false);
    let mission = mission.task("one", |task| task).task("two", |task| task.needs("one"));
    let workspace = repository(mission, &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(
        git(&workspace, &["show", "main:who"]),
        format!("{name} agent@quorum.invalid\nrefs/heads/master")
    );
}

#[test]
fn references_that_were_packed_are_still_known() {
    let pack = "git --git-dir=../repository.git pack-refs --all && echo $QUORUM_TASK > $QUORUM_TASK";
    let mission =
        one(pack).setting("sandbox", "off").task("one", |task| task).task("two", |task| task.needs("one"));
    let workspace = repository(mission, &[("list", "")]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(subjects(&workspace, "main"), ["two", "one"]);
}

/// Whether a file of this name lies anywhere below the state folder.
fn is_left(folder: &std::path::Path, name: &str) -> bool {
    let entries = fs::read_dir(folder).expect("it can be read").map(|entry| entry.expect("it can be read"));
    entries.into_iter().any(|entry| {
        let is_folder = entry.file_type().expect("it has a kind").is_dir();
        entry.file_name() == name || is_folder && is_left(&entry.path(), name)
    })
}

#[test]
fn folders_that_an_agent_has_closed_go_with_their_run() {
    for isolation in ["copy", "temp", "worktree"] {
        for (closed, is_accepted) in [("a-w", true), ("a-rwx", false), ("a-x", false)] {
            let script =
                format!("mkdir -p c/m/n; echo x > c/m/n/closed; chmod -R {closed} c/m; chmod {closed} c");
            let check = if is_accepted { "test -e c" } else { "false" };
            let mission =
                one(&script).task("a", |task| task.set("isolation", isolation).attempts(2).check(check));
            let workspace = repository(mission, &[]);
            let run = workspace.start_unprivileged(RUN_AS_R1).finish();
            run.exits(if is_accepted { 0 } else { 3 });
            if is_accepted && isolation == "worktree" {
                let gone = workspace.path(".polpo/runs/r1/worktrees/0.gone");
                poll(DEADLINE, || !gone.exists());
            }
            let clean = || workspace.start_unprivileged(&["clean", "--all", "--yes"]).finish();
            let cleaned = clean();
            assert_eq!(cleaned.code(), Some(0), "{isolation} {closed}: {}", cleaned.stderr);
            assert!(!is_left(&workspace.path(".polpo"), "closed"), "{isolation} {closed}");
            clean().exits(0);
        }
    }
}

#[test]
fn holes_stay_holes_in_copies_and_everything_else_is_copied() {
    use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
    const LENGTH: u64 = 64 << 20;
    /// Its name, where there is data and how long that is, its mode.
    type Sparse = (&'static str, &'static [(u64, usize)], u32);
    let files: [Sparse; 6] = [
        ("nothing", &[], 0o644),
        ("first", &[(0, 5000)], 0o755),
        ("middle", &[(20 << 20, 70_000)], 0o600),
        ("last", &[(LENGTH - 1, 1)], 0o444),
        ("several", &[(0, 1), (1 << 20, 100_000), (40 << 20, 1)], 0o640),
        ("dense", &[(0, 1 << 20)], 0o644),
    ];
    let check = "for f in nothing first middle last several; do
  test \"$(du -k $f | cut -f1)\" -lt 1024
done
test \"$(stat -c %s nothing)\" = 67108864
stat -c '%n %a' nothing first middle last several dense > TOP/seen.modes
sha256sum nothing first middle last several dense > TOP/seen.sums";
    for key in ["copy", "worktree"] {
        let copied = files.map(|(name, ..)| name);
        let settings = if key == "copy" { json!({}) } else { json!({"copy": copied}) };
        let mission = one("true")
            .setting("worktree", settings)
            .setting("sandbox", "off")
            .task("a", |task| task.set("isolation", key).check(check));
        let workspace = repository(mission, &[]);
        super::names_its_top(&workspace);
        workspace.write(".gitignore", format!(".polpo\nhome\nseen.*\n{}\n", copied.join("\n")));
        git(&workspace, &["add", ".gitignore"]);
        git(&workspace, &["commit", "-qam", "ignored"]);
        for (name, data, mode) in files {
            let file = fs::File::create(workspace.path(name)).expect("it can be made");
            file.set_len(if name == "dense" { 1 << 20 } else { LENGTH }).expect("it can be long");
            for (at, length) in data {
                file.write_all_at(&vec![b'x'; *length], *at).expect("it can be written");
            }
            file.set_permissions(fs::Permissions::from_mode(mode)).expect("it is ours");
        }
        if fs::metadata(workspace.path("nothing")).expect("it is there").blocks() > 0 {
            return crate::support::skipped("no holes are made here");
        }
        workspace.quorum(RUN_AS_R1).exits(0);
        let sums =
            std::process::Command::new("sha256sum").args(copied).current_dir(workspace.root()).output();
        let sums = sums.expect("there is sha256sum");
        assert_eq!(workspace.read("seen.sums"), String::from_utf8_lossy(&sums.stdout), "{key}");
        let modes: Vec<String> = files.iter().map(|(name, _, mode)| format!("{name} {mode:o}")).collect();
        assert_eq!(workspace.lines("seen.modes"), modes, "{key}");
    }
}
