//! Isolated tasks work in worktrees of their own; what is accepted is merged, and the user's checkout is left alone until
//! the end (semantics, section 22).

mod folders;
mod full_disk;
mod git_in_bounds;
mod one_git;
mod protected;
mod repositories;
mod what_git_stores;

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::events::named;
use crate::support::scenes::repositories::{git, names_its_top, refused, repository, subjects};
use crate::support::{DEADLINE, Finished, Mission, Says, Workspace, attempts, poll, standing, task};

const LIST: &str = "one\ntwo\nthree\n";

/// Six tasks at once: `left` and `right` change the same line; `user` and `limit` change different files, and what each does
/// passes the test alone and fails it with the other.
fn six() -> Workspace {
    let both = "printf 'one\\nleft right\\nthree\\n' > list";
    let merged = |by: &str| {
        format!("if grep -qE '<<<<|left|right' list; then {both}; else sed -i s/two/{by}/ list; fi")
    };
    let mission = Mission::new()
        .agent("left", merged("left"))
        .agent("right", merged("right"))
        .agent("user", "n=$(cat limit); test $n -gt 5 && n=5; echo $n > used")
        .agent("limiter", "n=$(cat used); test $n -lt 3 && n=3; echo $n > limit")
        .agent("writer", "echo $QUORUM_TASK > $QUORUM_TASK.txt; test ! -d TOP || cat TOP/list >> TOP/seen")
        .setting("concurrency", 6)
        .setting("evaluate", false)
        .task("left", |task| task.by("left"))
        .task("right", |task| task.by("right"))
        .task("use", |task| task.by("user").check("sh check.sh"))
        .task("limit", |task| task.by("limiter").check("sh check.sh"))
        .task("note", |task| task.by("writer"))
        .task("last", |task| task.by("writer").needs("left").needs("right"));
    let check = "test $(cat used) -le $(cat limit)\n";
    repository(mission, &[("list", LIST), ("limit", "10\n"), ("used", "1\n"), ("check.sh", check)])
}

#[track_caller]
fn is_merged(workspace: &Workspace) {
    let mut all = subjects(workspace, "main");
    all.sort();
    let told = || workspace.quorum(&["events"]).stdout;
    assert_eq!(all, ["last", "left", "limit", "note", "right", "use"], "{}", told());
    assert_eq!(git(workspace, &["status", "--porcelain"]), "", "the checkout is what the branch says");
    let list = workspace.read("list");
    assert!(list.contains("left") && list.contains("right") && !list.contains("<<<<"), "{list}");
    let number = |name: &str| workspace.read(name).trim().parse::<u32>().expect("a number");
    assert!(number("used") <= number("limit"), "the test holds with both");
}

#[test]
fn a_textual_and_a_semantic_conflict_are_sent_back_and_all_six_end_merged() {
    let workspace = six();
    let finished = workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert!(finished.stderr.contains("merged: 6 commits"), "{}", finished.stderr);
    is_merged(&workspace);
    let document = workspace.status();
    let reworked =
        |titles: [&str; 2]| titles.iter().filter(|title| attempts(&document, title).len() == 2).count();
    assert_eq!(
        (reworked(["left", "right"]), reworked(["use", "limit"])),
        (1, 1),
        "one of each pair had to mend"
    );
    let events = workspace.events();
    assert_eq!(named(&events, "work:conflict").len(), 1);
    assert_eq!(named(&events, "work:merged").len(), 6);
    assert!(named(&events, "work:committed").len() >= 8 && named(&events, "workspace:created").len() >= 6);
    let authors = git(&workspace, &["log", "-6", "--format=%an %cn"]);
    assert!(authors.lines().all(|line| line.ends_with(" quorum")), "{authors}");
    assert!(authors.contains("limiter quorum"), "{authors}");
    workspace.quorum(&["review", "--replay"]).exits(0);
}

#[test]
fn the_checkout_is_what_it_was_until_the_end() {
    let workspace = six();
    names_its_top(&workspace);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(
        workspace.read("seen"),
        format!("{LIST}{LIST}"),
        "while tasks worked, nothing had changed there"
    );
}

#[test]
fn what_is_not_accepted_stays_on_its_reference_and_the_branch_does_not_move() {
    let mission = Mission::new()
        .worker("echo $QUORUM_TASK > $QUORUM_TASK.txt")
        .setting("evaluate", false)
        .task("good", |task| task)
        .task("bad", |task| task.check("false").attempts(1));
    let workspace = repository(mission, &[]);
    let head = git(&workspace, &["rev-parse", "HEAD"]);
    let finished = workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(3);
    assert!(finished.stdout.contains(" git merge refs/quorum/r1/main\n"), "{}", finished.stdout);
    assert_eq!(git(&workspace, &["rev-parse", "HEAD"]), head);
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    assert_eq!(subjects(&workspace, "refs/quorum/r1/main"), ["good"]);
    assert_eq!(git(&workspace, &["show", "refs/quorum/r1/task/1:bad.txt"]), "bad");
    let patch = workspace.quorum(&["diff", "bad"]).exits(0).stdout;
    assert!(patch.contains("+++ b/bad.txt") && !patch.contains("good.txt"), "{patch}");
    workspace.quorum(&["diff", "good"]).exits(0).shows(&["+++ b/good.txt"]);
    // Of a run what was accepted is shown, and nothing else.
    for named in ["r1", "latest"] {
        let patch = workspace.quorum(&["diff", named]).exits(0).stdout;
        assert!(patch.contains("+++ b/good.txt") && !patch.contains("bad.txt"), "{named}: {patch}");
    }
    let refused = workspace.quorum(&["diff", "r9"]).exits(2);
    assert!(refused.stderr.contains("r9"), "{}", refused.stderr);
}

#[test]
fn what_git_of_a_killed_session_left_locked_in_the_users_repository_stops_nobody() {
    let mission = Mission::new()
        .worker("echo $QUORUM_TASK > $QUORUM_TASK.txt")
        .setting("evaluate", false)
        .task("good", |task| task)
        .task("asked", |task| task.set("requiresApproval", true));
    let workspace = repository(mission, &[]);
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(8);
    let ours = ["r1/main.lock", "r1/task/0.lock", "r1/task/1.lock"];
    // Another run may be at work.
    let locks: Vec<_> =
        ours.iter().chain(&["r2.lock"]).map(|name| format!(".git/refs/quorum/{name}")).collect();
    locks.iter().for_each(|lock| workspace.write(lock, ""));
    workspace.quorum(&["approve", "r1.1.1", "--as", "ada"]).exits(0);
    workspace.quorum(&["resume"]).exits(0);
    assert_eq!(subjects(&workspace, "refs/quorum/r1/main"), ["asked", "good"]);
    let stay: Vec<bool> = locks.iter().map(|lock| workspace.exists(lock)).collect();
    assert_eq!(stay, [false, false, false, true]);
}

#[test]
fn a_word_that_makes_an_ended_run_well_ends_nothing_before_its_work_is_merged() {
    let mission = || {
        Mission::new()
            .worker("echo $QUORUM_TASK > $QUORUM_TASK.txt")
            .setting("evaluate", false)
            .task("good", |task| task)
            .task("asked", |task| task.set("requiresApproval", true))
    };
    for (options, ends) in [(vec!["--allow", "task-failed"], 0), (vec![], 3)] {
        let workspace = repository(mission(), &[]);
        workspace.quorum(&[vec!["run", "mission.yaml", "--run-id", "r1"], options].concat()).exits(8);
        assert_eq!(subjects(&workspace, "refs/quorum/r1/main"), ["good"]);
        workspace.quorum(&["reject", "r1.1.1", "--reason", "not now"]).exits(0);
        // Nobody is there who could merge: what is not merged is no success yet.
        let told =
            workspace.quorum(&["status", "--exit-code", "--json"]).exits(if ends == 0 { 8 } else { ends });
        let state = if ends == 0 { "suspended" } else { "ended" };
        assert_eq!(told.json()["state"], *state, "{}", told.stdout);
        let merged: &[&str] = if ends == 0 {
            workspace.quorum(&["resume"]).exits(0);
            &["good"]
        } else {
            &[]
        };
        assert_eq!(subjects(&workspace, "main"), merged);
        workspace.quorum(&["status", "--exit-code"]).exits(ends);
        workspace.quorum(&["review", "--replay"]).exits(0);
    }
}

#[test]
fn what_others_do_at_the_same_time_is_nobodys_work() {
    let mission = Mission::new()
        .agent("lazy", "until test -e TOP/seen; do sleep 0.02; done")
        .agent("busy", "echo work > file; touch TOP/seen")
        .setting("evaluate", false)
        .task("lazy", |task| task.by("lazy").set("verify", json!({"requireFileChanges": true})))
        .task("busy", |task| task.by("busy"));
    let workspace = repository(mission, &[]);
    names_its_top(&workspace);
    let document = workspace.run_json(5, &[]);
    assert_eq!(
        (standing(&document, "lazy"), standing(&document, "busy").0),
        (("done", "unverified"), "done")
    );
}

#[test]
fn an_agent_may_do_to_its_own_repository_what_it_likes() {
    let hostile = "git commit -q --allow-empty -m mine; git log -1 --format=%s > log; git config core.hooksPath hooks; \
                   mkdir hooks; printf '#!/bin/sh\\ntouch ../../../../../hooked\\n' > hooks/pre-commit; chmod +x hooks/*; \
                   git update-ref refs/heads/main HEAD; rm -rf .git/refs";
    let mission = Mission::new()
        .worker(hostile)
        .setting("evaluate", false)
        .task("a", |task| task.set("description", "do"))
        .task("b", |task| task.needs("a"));
    let workspace = repository(mission, &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    let patch = workspace.quorum(&["diff", "b"]).stdout;
    assert_eq!(subjects(&workspace, "main"), ["a"], "`b` found all of it done: {patch}");
    assert_eq!(git(&workspace, &["show", "main:log"]), "mine");
    assert!(!workspace.exists("hooked"));
    assert_eq!(git(&workspace, &["for-each-ref", "--format=%(refname)", "refs/heads"]), "refs/heads/main");
}

#[test]
fn the_branch_moves_only_where_it_may() {
    let merging = |merge: &str, script: &str| {
        let one = Mission::new().worker(script).setting("evaluate", false);
        repository(one.setting("worktree", json!({"merge": merge})).tasks(["a"]), &[])
    };
    let never = merging("never", "echo x > x");
    let run = never.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
    run.stderr.says(&["accepted and not merged: 1 commit\n"]);
    run.stdout.says(&["next: quorum merge r1\n"]);
    assert_eq!(subjects(&never, "main"), Vec::<String>::new());
    git(&never, &["merge", "-q", "--ff-only", "refs/quorum/r1/main"]);
    assert_eq!(never.read("x"), "x\n");

    let other = merging("branch done", "echo x > x");
    other.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!((subjects(&other, "main").len(), subjects(&other, "done")), (0, vec!["a".to_owned()]));

    let commit = "git -C TOP -c user.name=b -c user.email=b@c commit -q --allow-empty -m moved; echo x > x";
    let moved = merging("ff", commit);
    names_its_top(&moved);
    let said = moved.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(9).stderr;
    assert!(said.contains("your branch has moved"), "{said}");
    assert_eq!(subjects(&moved, "main"), ["moved", "where it is"]);
    assert_eq!(git(&moved, &["status", "--porcelain"]), "");
}

#[test]
fn what_is_no_clean_repository_is_refused_before_anything_starts() {
    let one = || Mission::new().worker("touch touched").setting("evaluate", false).tasks(["a"]);
    let plain = one().key("isolation", "worktree").workspace();
    refused(&plain, &["needs a git repository", "git init"]);

    git(&plain, &["init", "-q"]);
    refused(&plain, &["needs a commit to begin with"]);

    let dirty = repository(one(), &[("file", "a")]);
    dirty.write("file", "b");
    refused(&dirty, &["not committed: file", "commit or stash"]);

    let within = repository(one().key("workspace", "sub"), &[("sub/file", "a")]);
    refused(&within, &["the top of a repository", "sub lies within"]);

    let module = repository(one(), &[]);
    let head = git(&module, &["rev-parse", "HEAD"]);
    git(&module, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},lib")]);
    git(&module, &["commit", "-qm", "module"]);
    refused(&module, &["no submodules", "lib is one"]);
}

#[test]
fn a_repository_within_is_no_work_that_could_be_committed() {
    let nested =
        "mkdir lib; cd lib; git init -q .; git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x";
    let mission = Mission::new().worker(nested).setting("evaluate", false).task("a", |task| task.attempts(1));
    let document = repository(mission, &[]).run_json(3, &[]);
    let found = task(&document, "a")["findings"].to_string();
    assert!(found.contains("lib is a repository of its own: remove its `.git`"), "{document:#}");
}

#[test]
fn a_worktree_that_was_deleted_comes_back_with_what_was_committed() {
    let worker = "if test -e first; then echo second > second; else echo first > first; fi";
    let mission = Mission::new()
        .worker(worker)
        .setting("evaluate", false)
        .task("a", |task| task.check("test -e second").attempts(1));
    let workspace = repository(mission, &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(3);
    let folder = workspace.run_folder().join("worktrees/0");
    assert!(folder.join("first").exists());
    fs::remove_dir_all(&folder).expect("it was there");
    workspace.quorum(&["resume", "--retry-failed"]).exits(0);
    assert_eq!(subjects(&workspace, "main"), ["a"]);
    assert_eq!(
        (workspace.read("first"), workspace.read("second")),
        ("first\n".to_owned(), "second\n".to_owned())
    );
}

/// Kills the run as soon as its journal has so many lines, resumes it, and again with one line more, to the end.
fn killed_from(first: usize, step: usize) {
    let workspace = six();
    let lines = |workspace: &Workspace| {
        let runs = workspace.run_folders();
        runs.first().map_or(0, |run| {
            fs::read_to_string(run.join("journal.jsonl")).unwrap_or_default().lines().count()
        })
    };
    let mut kill_at = first;
    let mut arguments = vec!["run", "mission.yaml"];
    for _ in 0..40 {
        let mut running = workspace.start(&arguments);
        let mut ended = false;
        poll(DEADLINE, || {
            ended = running.has_ended();
            ended || lines(&workspace) >= kill_at
        });
        if ended {
            let finished = running.finish();
            finished.exits(0);
            return is_merged(&workspace);
        }
        running.kill();
        arguments = vec!["resume"];
        kill_at = lines(&workspace).max(kill_at) + step;
        if lines(&workspace) == 0 {
            arguments = vec!["run", "mission.yaml"];
        }
    }
    workspace.quorum(&["resume"]).exits(0);
    is_merged(&workspace);
}

#[test]
fn killed_at_any_record_it_ends_the_same() {
    for (first, step) in [(2, 3), (3, 5), (5, 2), (7, 4), (9, 7), (12, 3), (15, 6), (20, 2)] {
        killed_from(first, step);
    }
}

/// What git of a session that was killed may have left: a lock of each reference of the run's repository and of each index, one in
/// two of them.
fn leave_locks(workspace: &Workspace, random: &mut impl FnMut(u64) -> u64) {
    let Some(run) = workspace.run_folders().pop() else { return };
    let repository = run.join("worktrees/repository.git");
    let mut folders = vec![run.join("worktrees"), repository.clone(), repository.join("refs/quorum")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let (name, is_ref) = (entry.file_name(), path.starts_with(repository.join("refs")));
            if path.is_dir() && is_ref {
                folders.push(path);
            } else if (is_ref || name == "HEAD" || path.extension().is_some_and(|end| end == "index"))
                && random(2) == 0
            {
                // Git that still works has its own, and what is not there any more has none.
                let _ = fs::File::create_new(format!("{}.lock", path.display()));
            }
        }
    }
}

/// Whether the run that was to go on had begun: killed before its first record it has not, and what is left of it is removed.
fn has_begun(workspace: &Workspace, resumed: &Finished) -> bool {
    let has_begun = resumed.code() != Some(2);
    if !has_begun {
        let nothing = ["never started", "there is no run"];
        assert!(nothing.iter().any(|said| resumed.stderr.contains(said)), "{}", resumed.stderr);
        fs::remove_dir_all(workspace.path(".polpo")).expect("it was there");
    }
    has_begun
}

/// One life of the six tasks under SIGKILL at moments that follow from a seed. How many kills have struck.
fn life(seed: u64) -> u32 {
    let workspace = six();
    let base = git(&workspace, &["rev-parse", "HEAD"]);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut kills = 0;
    for _ in 0..6 {
        let arguments: &[&str] = match workspace.run_folders().is_empty() {
            true => &["run", "mission.yaml"],
            false => &["resume"],
        };
        let mut running = workspace.start(arguments);
        let until = Instant::now() + Duration::from_micros(random(900_000));
        let mut ended = false;
        poll(DEADLINE, || {
            ended = running.has_ended();
            ended || Instant::now() >= until
        });
        if ended {
            let finished = running.finish();
            if !has_begun(&workspace, &finished) {
                continue;
            }
            println!("seed {seed}");
            finished.exits(0);
            break;
        }
        running.kill();
        kills += 1;
        leave_locks(&workspace, &mut random);
        let is_over = git(&workspace, &["rev-parse", "HEAD"]) != base;
        let status = git(&workspace, &["status", "--porcelain"]);
        assert!(
            is_over || status.is_empty(),
            "seed {seed}: the checkout is touched before the end: {status}"
        );
    }
    if workspace.run_folders().is_empty() || !has_begun(&workspace, &workspace.quorum(&["resume"])) {
        workspace.quorum(&["run", "mission.yaml"]).exits(0);
    }
    workspace.quorum(&["resume"]).exits(0);
    is_merged(&workspace);
    kills
}

#[test]
fn six_tasks_that_are_killed_at_random_end_merged_whatever_lock_was_left() {
    let kills: u32 = (1001..1004).map(life).sum();
    assert!(kills > 0, "nothing was killed");
}

#[test]
#[ignore = "it takes minutes"]
fn a_hundred_kills_of_six_tasks() {
    let (mut seed, mut kills) = (0, 0);
    while kills < 100 {
        seed += 1;
        kills += life(seed);
    }
    println!("{kills} kills in {seed} lives");
}

#[test]
fn another_agent_goes_on_in_the_worktree_of_the_first() {
    let limit = json!({"type": "result", "is_error": true, "result": "You've hit your session limit · resets in 2 hours"});
    let first = format!("echo half > out; cat <<'E'\n{limit}\nE\nexit 1");
    let mission = Mission::new()
        .agent_with("first", json!({"run": first, "fallback": "second"}))
        .agent("second", "grep -q half out && echo all >> out")
        .task("work", |task| task.check("grep -q half out && grep -q all out").unreviewed());
    let workspace = repository(mission, &[("list", LIST)]);
    let document = workspace.run_json(0, &[]);
    assert_eq!((standing(&document, "work").0, attempts(&document, "work")), ("done", vec!["execute"]));
    assert_eq!(git(&workspace, &["show", "main:out"]), "half\nall");
    assert_eq!(git(&workspace, &["log", "-1", "--format=%an"]), "second");
}

#[test]
fn a_run_that_a_signal_ends_says_that_resume_brings_what_was_accepted() {
    let mission = Mission::new()
        .agent("quick", "echo a > a")
        .agent("slow", "touch TOP/seen; test -e TOP/home/go || sleep 60")
        .setting("evaluate", false)
        .task("a", |task| task.by("quick"))
        .task("b", |task| task.by("slow").needs("a"));
    let workspace = repository(mission, &[]);
    names_its_top(&workspace);
    let running = workspace.start(&["run", "mission.yaml"]);
    poll(DEADLINE, || workspace.exists("seen"));
    running.signal(rustix::process::Signal::INT);
    let said = running.finish().exits(130).stderr;
    assert!(said.contains("accepted and not merged: `quorum resume` goes on, and brings it"), "{said}");
    assert_eq!(subjects(&workspace, "main"), ["where it is"]);
    workspace.write("home/go", "");
    workspace.quorum(&["resume"]).exits(0).stderr.says(&["merged: 1 commit"]);
    assert_eq!(subjects(&workspace, "main"), ["a", "where it is"]);
}
