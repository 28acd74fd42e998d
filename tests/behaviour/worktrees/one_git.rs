//! Git works by no configuration but quorum's own, on nothing that it would wait for, and on no more than it must.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::scenes::repositories::{git, repository, subjects};
use crate::support::{Mission, Workspace, attempts, makes_namespaces, skipped, task};

pub fn one(script: &str) -> Mission {
    Mission::new().worker(script).setting("evaluate", false)
}

/// Whether a planted program ran.
fn is_quiet(workspace: &Workspace, what: &str) {
    assert!(!workspace.exists("home/ran"), "{what}: {}", workspace.read("home/ran"));
}

#[test]
fn a_filter_that_is_only_configured_does_not_keep_work_from_its_branch() {
    let script = "git config --global filter.lfs.smudge false; git config --global filter.lfs.required true; echo x > x";
    let workspace = repository(one(script).tasks(["a"]), &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(workspace.read("x"), "x\n");
}

#[test]
fn a_confined_agent_that_shares_the_workspace_commits_and_changes_no_settings_of_git() {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    let script = "git config core.fsmonitor planted; echo x > .git/hooks/post-merge; echo x > .git/info/exclude; \
                  echo x > x; git add x; git -c user.name=a -c user.email=a@example.org commit -qm own";
    let workspace = repository(one(script).task("a", |task| task.set("isolation", "shared")), &[]).confined();
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(subjects(&workspace, "main"), ["own"]);
    assert!(!workspace.read(".git/config").contains("planted") && !workspace.exists(".git/hooks/post-merge"));
}

#[test]
fn what_a_user_forbids_their_own_git_does_not_stop_a_run() {
    let workspace = repository(one("echo x > x").tasks(["a"]), &[]);
    git(&workspace, &["config", "--global", "protocol.file.allow", "never"]);
    git(&workspace, &["config", "protocol.allow", "never"]);
    git(&workspace, &["config", "--global", "user.useConfigOnly", "true"]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(subjects(&workspace, "main"), ["a"]);
}

#[test]
fn line_ends_of_the_user_are_no_changes() {
    let workspace = repository(one("echo x > x").tasks(["a"]), &[]);
    git(&workspace, &["config", "--global", "core.autocrlf", "true"]);
    workspace.write("file", "a\r\nb\r\n");
    git(&workspace, &["add", "file"]);
    git(&workspace, &["commit", "-qm", "lines"]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
}

#[test]
fn a_repository_may_lie_at_any_path() {
    for name in ["a ", " a", "a\nb", "a\tb", "\"a\"", "a'b", "-a", "é\n"] {
        let workspace = repository(one("echo x > x").tasks(["a"]), &[("f ile\n", "1"), ("d \t/\"x\"", "2")]);
        let other = Workspace::new();
        let place = other.path(name);
        std::fs::rename(workspace.root(), &place).expect("it can be moved");
        std::fs::create_dir(workspace.root()).expect("it can be made again");
        let mut command = other.command(&["run", "mission.yaml"]);
        command.current_dir(&place);
        crate::support::Running::start(command).finish().exits(0);
        assert!(place.join("x").exists(), "{name:?}");
    }
}

#[test]
fn a_changed_file_is_named_as_it_is_called() {
    let workspace = repository(one("true").tasks(["a"]), &[("a b\n", "1")]);
    workspace.write("a b\n", "2");
    super::refused(&workspace, &["not committed: a b"]);
}

/// One attempt that leaves something odd, and one that takes it away.
fn is_sent_back(script: &str, names: &str, setting: Option<serde_json::Value>) {
    let worker = format!(
        "if test $QUORUM_ATTEMPT.$QUORUM_TURN = 1.1 -o ! -e seen; then touch seen; {script}; else rm -rf odd sub/.gitignore .gitattributes; fi; echo x > x"
    );
    let mission = one(&worker).task("a", |task| task.attempts(1));
    let mission = match setting {
        Some(worktree) => mission.setting("worktree", worktree),
        None => mission,
    };
    let workspace = repository(mission, &[]);
    let document = workspace.run_json(0, &["--timeout", "60s"]);
    let tried = &task(&document, "a")["attempts"];
    assert_eq!(
        (attempts(&document, "a").len(), &tried[0]["cause"]),
        (2, &json!("merge")),
        "{script}: {document:#}"
    );
    let events = workspace.quorum(&["events", "--json"]).exits(0).stdout;
    assert!(events.contains(names), "{script}: {events}");
    assert_eq!(workspace.read("x"), "x\n");
}

#[test]
fn what_git_would_wait_for_or_cannot_keep_is_sent_back_by_its_name() {
    let socket = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"odd\")'";
    for (script, names) in [
        ("mkfifo odd", "odd is a pipe"),
        ("mkdir -p sub; mkfifo sub/.gitignore", "sub/.gitignore is a pipe"),
        ("mkfifo .gitattributes", ".gitattributes is a pipe"),
        (socket, "odd is a socket"),
        ("truncate -s 1T odd", "odd has 1099511627776 bytes, more than settings.worktree.maxFile"),
        ("mkdir odd; truncate -s 257M odd/deep", "odd/deep has 269484032 bytes"),
    ] {
        is_sent_back(script, names, None);
    }
    let small = json!({"maxFile": "1 KiB"});
    is_sent_back("head -c 1025 /dev/zero > odd", "odd has 1025 bytes", Some(small));
}

#[test]
fn what_git_ignores_may_be_as_odd_as_it_likes() {
    let script = "mkdir -p seen; mkfifo seen/pipe; truncate -s 1G seen/large; echo x > x";
    let workspace = repository(one(script).tasks(["a"]), &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(workspace.read("x"), "x\n");
}

/// A repository that names programs for whatever a program can be named for, and lacks an object that its link is.
fn full_of_programs() -> Workspace {
    let workspace = repository(one("true").tasks(["a"]), &[("file", "1\n")]);
    workspace.write(
        "home/run",
        format!("#!/bin/sh\necho \"$0 $*\" >> {}\nexit 1\n", workspace.path("home/ran").display()),
    );
    workspace.bash("chmod +x home/run").exits(0);
    let program = workspace.path("home/run").to_string_lossy().into_owned();
    for (key, value) in [
        ("core.fsmonitor", program.as_str()),
        ("extensions.partialClone", "o"),
        ("remote.o.url", "/nowhere"),
        ("remote.o.promisor", "true"),
        ("remote.o.uploadpack", &program),
        ("filter.x.clean", &program),
        ("core.sshCommand", &program),
    ] {
        git(&workspace, &["config", key, value]);
    }
    let missing = "120000,1111111111111111111111111111111111111111,link";
    git(&workspace, &["update-index", "--add", "--cacheinfo", missing]);
    std::fs::remove_file(workspace.path("home/ran")).ok();
    symlink("file", workspace.path("link")).expect("a link can be made");
    workspace
}

#[test]
fn doctor_runs_nothing_that_a_repository_names() {
    let workspace = full_of_programs();
    workspace.quorum(&["doctor"]).exits(9);
    is_quiet(&workspace, "doctor");
}

#[test]
fn a_git_that_knows_no_word_against_lazy_fetches_makes_none() {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    let workspace = full_of_programs();
    let home = workspace.path("home");
    let old = format!(
        "#!/bin/sh\nunset GIT_NO_LAZY_FETCH\necho >> '{0}/seen'\nexec '{0}/real' \"$@\"\n",
        home.display()
    );
    workspace.write("home/old", old);
    let ended = workspace.bash(
        "cp $(command -v git) home/real; chmod +x home/old; \
         unshare -Urm sh -c 'mount --bind home/old /usr/bin/git && exec \"$0\" doctor' \"$0\"",
    );
    assert!(workspace.exists("home/seen"), "it is this git: {}", ended.stderr);
    ended.exits(9);
    is_quiet(&workspace, "doctor");
}
