//! A call of git ends when what it is for does, whatever it waits for, and writes nothing but its repository and its worktree.

use std::fs::{self, File};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::Signal;

use super::one_git::one;
use crate::support::scenes::repositories::{git, repository};
use crate::support::{LANDLOCK, Running, Workspace, poll, skipped, wait_for, wait_for_file};

/// How long anything may take to end with a git that hangs.
const AT_MOST: Duration = Duration::from_secs(5);

/// A pipe that nobody writes to, in place of a file that git reads.
struct Pipe {
    place: std::path::PathBuf,
    held: Option<File>,
}

impl Pipe {
    fn at(workspace: &Workspace, file: &str) -> Self {
        let place = workspace.path(file);
        workspace.bash(&format!("rm -f '{0}'; mkfifo '{0}'", place.display())).exits(0);
        Self { place, held: None }
    }

    /// Only where somebody has it open, or waits for that, it can be opened so.
    fn open(&self) -> Option<File> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        File::options().write(true).custom_flags(flags).open(&self.place).ok()
    }

    /// Waits until somebody reads it, who hears nothing from then on.
    fn wait(&mut self) {
        wait_for("a git that reads the pipe", || {
            self.held = self.open();
            self.held.is_some()
        });
    }

    /// Nobody reads it any more, though there is still something to wait for.
    fn leaves_nothing(self, what: &str) {
        assert!(poll(AT_MOST, || self.open().is_none()), "{what}: git is left");
    }
}

fn locks(workspace: &Workspace) -> String {
    workspace.bash("find .git .polpo -name '*.lock' -path '*git/*'").stdout
}

/// A run whose agent waits until a pipe is in place of a file that git reads behind it.
fn hangs_behind_an_agent(file: &str, limit: &str) -> (Workspace, Running, Pipe) {
    let script = "echo x > x; echo at > \"$HOME/at\"; until test -e \"$HOME/go\"; do sleep 0.02; done";
    let workspace = repository(one(script).tasks(["a"]), &[]);
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--timeout", limit]);
    wait_for_file(&workspace.path("home/at"));
    let mut pipe = Pipe::at(&workspace, file);
    workspace.write("home/go", "");
    pipe.wait();
    (workspace, running, pipe)
}

const OF_THE_RUN: &str = ".polpo/runs/r1/worktrees/repository.git/config";
/// Read only when what was accepted is brought to the branch.
const OF_THE_USER: &str = ".git/HEAD";

#[test]
fn a_session_that_is_told_to_end_waits_for_no_git_that_hangs() {
    for file in [OF_THE_RUN, OF_THE_USER] {
        for signal in [Signal::INT, Signal::TERM] {
            let (workspace, running, pipe) = hangs_behind_an_agent(file, "1h");
            running.signal(signal);
            let begun = Instant::now();
            let ended = running.finish();
            assert_ne!(ended.code(), Some(0), "{}", ended.stderr);
            assert!(begun.elapsed() < AT_MOST, "{file}: {:?}: {}", begun.elapsed(), ended.stderr);
            pipe.leaves_nothing(file);
            assert_eq!(locks(&workspace), "", "{file}");
        }
    }
}

#[test]
fn a_session_whose_time_is_over_waits_for_no_git_that_hangs() {
    for file in [OF_THE_RUN, OF_THE_USER] {
        let begun = Instant::now();
        let (workspace, running, pipe) = hangs_behind_an_agent(file, "4s");
        let ended = running.finish();
        assert_ne!(ended.code(), Some(0), "{}", ended.stderr);
        let most = Duration::from_secs(4) + AT_MOST;
        assert!(begun.elapsed() < most, "{file}: {:?}: {}", begun.elapsed(), ended.stderr);
        pipe.leaves_nothing(file);
        assert_eq!(locks(&workspace), "", "{file}");
    }
}

#[test]
fn what_was_ended_while_git_hung_is_brought_by_resume() {
    let (workspace, running, pipe) = hangs_behind_an_agent(OF_THE_USER, "1h");
    running.signal(Signal::INT);
    assert_ne!(running.finish().code(), Some(0));
    fs::remove_file(&pipe.place).expect("it is ours");
    workspace.write(OF_THE_USER, "ref: refs/heads/main\n");
    workspace.quorum(&["resume"]).exits(0);
    assert_eq!(workspace.read("x"), "x\n");
}

#[test]
fn no_git_is_left_behind_a_session_that_is_killed() {
    for file in [OF_THE_RUN, OF_THE_USER] {
        let (_workspace, running, pipe) = hangs_behind_an_agent(file, "1h");
        running.kill();
        pipe.leaves_nothing(file);
    }
}

#[test]
fn a_command_that_is_ended_before_or_outside_of_a_session_leaves_no_git() {
    for arguments in
        [&["run", "mission.yaml"][..], &["review", "--criteria", "Good.", "--diff", "HEAD"], &["doctor"]]
    {
        for (file, signal) in
            [(".git/config", Signal::INT), (".git/HEAD", Signal::TERM), (".git/config", Signal::KILL)]
        {
            let workspace = repository(one("true").tasks(["a"]), &[]);
            let mut pipe = Pipe::at(&workspace, file);
            let running = workspace.start(arguments);
            pipe.wait();
            let begun = Instant::now();
            running.signal(signal);
            assert_ne!(running.finish().code(), Some(0));
            assert!(begun.elapsed() < AT_MOST, "{arguments:?}");
            pipe.leaves_nothing(&format!("{arguments:?}, {file}"));
        }
    }
}

#[test]
fn the_time_of_a_session_counts_before_it_has_begun() {
    let workspace = repository(one("true").tasks(["a"]), &[]);
    let pipe = Pipe::at(&workspace, ".git/config");
    let begun = Instant::now();
    let ended = workspace.quorum(&["run", "mission.yaml", "--timeout", "1s"]).exits(9);
    assert!(begun.elapsed() < Duration::from_secs(1) + AT_MOST, "{:?}", begun.elapsed());
    ended.says(&["did not end by itself"]);
    pipe.leaves_nothing("a run");
}

#[test]
fn a_pipe_in_place_of_what_says_where_a_repository_lies_holds_nobody_up() {
    for file in [".git/commondir", ".git"] {
        let workspace = repository(one("true").tasks(["a"]), &[]);
        workspace.bash(&format!("rm -rf {file}; mkfifo {file}")).exits(0);
        let begun = Instant::now();
        let ended = workspace.quorum(&["run", "mission.yaml", "--timeout", "1s"]);
        assert_ne!(ended.code(), Some(0), "{}", ended.stderr);
        assert!(begun.elapsed() < Duration::from_secs(1) + AT_MOST, "{file}: {:?}", begun.elapsed());
    }
}

/// All that lies in a folder, with what it holds.
fn lying_in(folder: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder can be read") {
            let path = entry.expect("a folder can be read").path();
            all.push((path.display().to_string(), fs::read(&path).ok()));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    all.sort();
    all
}

#[test]
fn git_writes_nowhere_but_in_its_repository_and_its_worktree() {
    // SAFETY: it asks for a number and changes nothing.
    if unsafe { libc::syscall(LANDLOCK, 0, 0, 1) } < 1 {
        return skipped("this kernel has no Landlock");
    }
    // What an agent that shares the folder, or whoever had it before, may have made of a repository.
    for (place, setting) in [
        ("logs/HEAD", "core.logAllRefUpdates"),
        ("logs/refs/heads/main", "core.logAllRefUpdates"),
        ("refs/quorum", "core.bare"),
        ("refs/heads", "core.bare"),
        ("index", "core.bare"),
        ("objects/pack", "fetch.unpackLimit"),
        ("packed-refs", "core.bare"),
    ] {
        let workspace = repository(one("echo x > x; echo y > file").tasks(["a"]), &[("file", "1\n")]);
        let value = if setting == "core.bare" { "false" } else { "1" };
        git(&workspace, &["config", setting, value]);
        git(&workspace, &["pack-refs", "--all", "--no-prune"]);
        let outside = Workspace::new();
        let (inner, target) = (workspace.path(&format!(".git/{place}")), outside.path("target"));
        if inner.exists() {
            fs::rename(&inner, &target).expect("it can be moved");
        } else {
            fs::create_dir_all(&target).expect("a folder can be made");
        }
        symlink(&target, &inner).expect("a link can be made");
        let before = lying_in(outside.root());
        let ended = workspace.quorum(&["run", "mission.yaml"]);
        assert_eq!(lying_in(outside.root()), before, "{place}: {}{}", ended.stdout, ended.stderr);
        // A packed reference that is there already is only read.
        let code = if place == "packed-refs" { 0 } else { 9 };
        assert_eq!(ended.code(), Some(code), "{place}: {}", ended.stderr);
    }
}
