//! Random pairs of changes are put together as `git merge` of the same configuration does it, or nobody calls them merged; what
//! only one side has changed is as that side has it.
//!
//! `QUORUM_MERGES_SEED=n` plays one seed, `QUORUM_MERGES_SEEDS=n` so many of them (see `measure/README.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use super::random_changes_tests::{Files, as_text, changed, lying_in, random_files, touch, write};
use super::*;
use crate::runtime::isolation::protection::Protection;
use rules::engine::simulation::random::Random;
use rules::engine::simulation::{options, plan_of};
use rules::engine::{Commit, Committed, Merged};
use rules::plan::RunOptions;

/// Pairs of a seed: they begin with the same files.
const PAIRS: u32 = 8;
const FEW: u64 = 5;
/// What was wrong once: attributes by which git writes a file otherwise than it stores it.
const FOUND: [u64; 2] = [551, 654];
/// How git has ended that a signal has ended, or that takes a file it wrote itself for changed since: some pairs of
/// changes are too much for it, and it names no files.
const KILLED: i32 = -1;
const MANY: u64 = 1_250;

/// How pairs have ended.
#[derive(Debug, Default)]
struct Tally {
    clean: u64,
    unresolved: u64,
    /// See [`Scene::side`].
    refused: u64,
    /// See [`KILLED`].
    killed: u64,
}

/// What git could not merge.
#[derive(Debug, Default)]
struct Unmerged {
    is_unknown: bool,
    names: BTreeSet<String>,
    objects: BTreeSet<String>,
}

/// A tree: what lies at each path, by mode and name of the object.
type Tree = BTreeMap<Vec<u8>, String>;

/// A repository with random files, a run on it, and a checkout that plain git merges in.
struct Scene {
    place: tempfile::TempDir,
    plan: Arc<Plan>,
    files: Files,
    start: String,
}

impl Drop for Scene {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("it is left in {}", self.place.path().display());
            self.place.disable_cleanup(true);
        }
    }
}

impl Scene {
    fn new(random: &mut Random) -> Self {
        let place = supervisor::files::no_links::scratch_folder().unwrap();
        let user = place.path().join("user");
        for folder in ["user", "state", "home"] {
            std::fs::create_dir(place.path().join(folder)).unwrap();
        }
        let mut yaml = "name: m\nisolation: worktree\nagents: {w: {run: [/bin/true]}}\ntasks:\n".to_owned();
        for task in 0..2 * PAIRS {
            let _ = writeln!(yaml, "  - {{title: t{task}, assignTo: w}}");
        }
        let options = RunOptions { mission_folder: user.clone(), ..options() };
        let mut plan = plan_of(&yaml, &options);
        let rules = &mut Arc::make_mut(&mut plan).rules;
        rules.worktrees.root = Some(place.path().join("run"));
        assert_eq!(rules.workspace, user);
        let files = random_files(random);
        let mut scene = Self { place, plan, files, start: String::new() };
        scene.plain("user", &["init", "-q", "-b", "main"]);
        for (key, value, percent) in [
            ("core.autocrlf", "true", 15),
            ("core.autocrlf", "input", 15),
            ("core.eol", "crlf", 15),
            ("core.filemode", "false", 10),
        ] {
            if random.chance(percent) {
                scene.plain("user", &["config", key, value]);
            }
        }
        write(&user, &Files::new(), &scene.files);
        scene.plain("user", &["add", "-A"]);
        scene.plain("user", &["commit", "-q", "--allow-empty", "-m", "base"]);
        // What lies there is what git would put there.
        scene.plain("user", &["rm", "-q", "-r", "--cached", "--ignore-unmatch", "."]);
        scene.plain("user", &["reset", "-q", "--hard"]);
        scene.plain("user", &["worktree", "add", "-q", "--detach", "../plain"]);
        scene.start = scene.plain("user", &["rev-parse", "HEAD"]);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Git as somebody has it who has set nothing: how it ended, and what it printed.
    fn try_plain(&self, folder: &str, variables: &[(&str, &Path)], arguments: &[&str]) -> (i32, Vec<u8>) {
        let mut command = Command::new(git::program().unwrap());
        command
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(["-c", "advice.detachedHead=false", "-c", "core.safecrlf=false"])
            .args(arguments)
            .current_dir(self.path(folder))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(variables.iter().copied());
        let output = command.output().unwrap();
        let code = output.status.code().unwrap_or_else(|| {
            let _ = std::fs::remove_file(self.path("user/.git/worktrees/plain/index.lock"));
            KILLED
        });
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("Your local changes to the following files would be overwritten by merge") {
            return (KILLED, output.stdout);
        }
        assert!(code < 2, "git {arguments:?} in {folder}: {said}");
        (code, output.stdout)
    }

    #[track_caller]
    fn plain(&self, folder: &str, arguments: &[&str]) -> String {
        let (code, printed) = self.try_plain(folder, &[], arguments);
        assert_eq!(code, 0, "git {arguments:?}: {}", String::from_utf8_lossy(&printed));
        String::from_utf8_lossy(&printed).trim_end().to_owned()
    }

    fn tree(&self, id: &str) -> Tree {
        // Each finds the objects of the other.
        let listed = self.worktrees().git().run(["ls-tree", "-r", "-z", "--full-tree", id]).unwrap();
        let lines = listed.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        let entry = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
            (line[tab + 1..].to_vec(), String::from_utf8_lossy(&line[..tab]).into_owned())
        };
        lines.map(entry).collect()
    }

    /// Those of the run, in which nothing is accepted yet.
    fn worktrees(&self) -> Worktrees {
        Worktrees {
            hidden: None,
            bare: self.path("run").join("repository.git"),
            root: self.path("run"),
            state: self.path("state"),
            run: "r".to_owned(),
            accepted: Arc::default(),
        }
    }

    /// What a side has done: the commit that quorum has made of it, and what plain git makes of the same folder. `None` where
    /// its attributes alone change what git stores of a file with a name that cannot be told.
    fn side(&self, worktrees: &Worktrees, task: TaskId, random: &mut Random) -> Option<(Committed, String)> {
        let fresh = Committed::default();
        worktrees.create(&self.plan, task, &fresh).unwrap();
        worktrees.is_ready(&task.0.to_string()).unwrap();
        let folder = worktrees.folder(task);
        assert_eq!(lying_in(&folder), lying_in(&self.path("user")), "what a task begins with");
        let index = self.path("plain.index");
        copy_with_time(&folder.with_extension("index"), &index);
        let done = changed(random, &self.files);
        write(&folder, &self.files, &done);
        // Whether git reads a file anew whose attributes alone have changed hangs on its clock.
        touch(&folder, &done);
        let commit = || worktrees.commit(&self.plan, task, &fresh);
        let is_named = |why: &NotCommitted| why.to_string().contains("is not UTF-8");
        let variables =
            [("GIT_DIR", &*self.path("user/.git")), ("GIT_WORK_TREE", &*folder), ("GIT_INDEX_FILE", &*index)];
        let plain = |arguments: &[&str]| {
            let (code, printed) = self.try_plain("run", &variables, arguments);
            assert_eq!(code, 0, "git {arguments:?}");
            String::from_utf8(printed).unwrap().trim_end().to_owned()
        };
        let work = match commit() {
            Err(why) if is_named(&why) => {
                // What it has learnt then it knows the second time.
                plain(&["add", "-A", "."]);
                write(&folder, &done, &as_text(&self.files, done.clone()));
                commit()
            }
            committed => committed,
        };
        let work = match work {
            Err(why) if is_named(&why) => return None,
            work => work.unwrap(),
        };
        plain(&["add", "-A", "."]);
        let tree = plain(&["write-tree"]);
        assert_eq!(worktrees.tree_of(&work.commit.id).unwrap(), tree, "what a task has done");
        let commit = plain(&["commit-tree", "-p", &self.start, "-m", "side", &tree]);
        let known = Committed { commit: Some(work.commit), ..fresh };
        Some((known, commit))
    }

    /// What plain git makes of both: the tree, or what it calls unmerged, and the objects of that.
    fn plain_merge(&self, mine: &str, theirs: &str) -> Result<String, Unmerged> {
        self.plain("plain", &["checkout", "-q", "-f", mine]);
        self.plain("plain", &["clean", "-q", "-f", "-f", "-d", "-x"]);
        let (code, _) = self.try_plain("plain", &[], &["merge", "-m", "both", theirs]);
        if code == 0 {
            return Ok(self.plain("plain", &["rev-parse", "HEAD^{tree}"]));
        }
        let (_, listed) = self.try_plain("plain", &[], &["ls-files", "-u", "-z"]);
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let mut unmerged = Unmerged { is_unknown: code == KILLED, ..Unmerged::default() };
        for (entry, path) in listed.split('\0').filter_map(|line| line.split_once('\t')) {
            let path = unmerged::invented(path, ["HEAD", theirs]).unwrap_or(path);
            unmerged.names.insert(path.to_owned());
            unmerged.objects.extend(entry.split(' ').nth(1).map(str::to_owned));
        }
        self.plain("plain", &["reset", "-q", "--hard"]);
        Err(unmerged)
    }

    fn play(&self, pair: u32, random: &mut Random, tally: &mut Tally) {
        let worktrees = self.worktrees();
        worktrees.set(MAIN, &self.start, None).unwrap();
        let tasks = [TaskId(2 * pair), TaskId(2 * pair + 1)];
        let [Some((first, theirs)), Some((mut second, mine))] =
            tasks.map(|task| self.side(&worktrees, task, random))
        else {
            tally.refused += 1;
            return;
        };
        let merge = |task, known: &Committed| {
            let merged = worktrees.merge(&self.plan, &Protection::none(), task, Some(known));
            merged.unwrap()
        };
        let ended = merge(tasks[0], &first);
        assert!(matches!(ended, Merged::Landed(_)), "{ended:?}");
        let ended = loop {
            match merge(tasks[1], &second) {
                Merged::Candidate(commit) => second.commit = Some(commit),
                ended => break ended,
            }
        };
        let (commit, ours, files) = match ended {
            Merged::Landed(commit) => {
                let tree = worktrees.tree_of(&commit.id).unwrap();
                (commit, Ok(tree), Vec::new())
            }
            Merged::Conflict { commit, files, .. } => (commit, Err(files.iter().cloned().collect()), files),
            other => panic!("{other:?}"),
        };
        let is_clean = ours.is_ok();
        let plain = self.plain_merge(&mine, &theirs);
        assert!(agree(&ours, &plain), "{ours:?}, and by git {plain:?}");
        let mut unmerged = plain.err().filter(|_| !is_clean).unwrap_or_default();
        unmerged.names.extend(files.iter().cloned());
        let sides = [&*self.start, &*theirs, &*mine].map(|id| self.tree(id));
        if unmerged.is_unknown {
            tally.killed += 1;
        } else {
            self.nothing_is_lost([&theirs, &mine], &sides, (&commit.id, &unmerged));
        }
        if is_clean {
            tally.clean += 1;
            self.is_delivered(&worktrees, &worktrees.tree_of(&commit.id).unwrap());
        } else {
            tally.unresolved += 1;
            self.stays_unresolved(&worktrees, tasks[1], commit, &files);
        }
    }

    /// Each path that one side has changed and the other has not is as that side has it.
    fn nothing_is_lost(
        &self,
        names: [&str; 2],
        [base, theirs, mine]: &[Tree; 3],
        (merged, unmerged): (&str, &Unmerged),
    ) {
        let merged = self.tree(merged);
        let objects: BTreeSet<&String> = merged.values().collect();
        for (name, one, other) in [(names[0], theirs, mine), (names[1], mine, theirs)] {
            let moved = self.moved(name);
            let all: BTreeSet<&Vec<u8>> = base.keys().chain(one.keys()).chain(other.keys()).collect();
            for path in all {
                let (before, now) = (base.get(path), one.get(path));
                if before == now || before != other.get(path) {
                    continue;
                }
                // What the other side has done to it where it lay before has come along.
                let from = moved.get(path);
                if from.is_some_and(|from| base.get(from) != other.get(from)) {
                    continue;
                }
                let is_there = |now: &String| {
                    objects.contains(now) || unmerged.objects.iter().any(|object| now.ends_with(object))
                };
                let name = String::from_utf8_lossy(path).into_owned();
                if merged.get(path) != now && !unmerged.names.contains(&name) && !now.is_some_and(is_there) {
                    panic!("{name:?} is {:?}, and was {before:?} and became {now:?}", merged.get(path));
                }
            }
        }
    }

    /// Where each file of a side lay before that lies elsewhere now.
    fn moved(&self, side: &str) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let list = ["diff", "-M", "-z", "--name-status", "--diff-filter=R", &self.start, side];
        let (_, listed) = self.try_plain("user", &[], &list);
        let words: Vec<Vec<u8>> = listed.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        words.chunks_exact(3).map(|words| (words[2].clone(), words[1].clone())).collect()
    }

    /// What was accepted comes to the user's branch and checkout.
    fn is_delivered(&self, worktrees: &Worktrees, tree: &str) {
        let before = lying_in(&self.path("user"));
        let delivered = worktrees.deliver(&self.plan, true);
        assert_eq!(delivered.why, None);
        assert_eq!(self.plain("user", &["rev-parse", "HEAD^{tree}"]), tree);
        // What the move has changed is as git writes it; the rest is as it was, whatever the attributes that hold now say of it.
        let list = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", &self.start, "HEAD"];
        let (_, listed) = self.try_plain("user", &[], &list);
        let moved: BTreeSet<PathBuf> =
            listed.split(|byte| *byte == 0).map(|path| std::ffi::OsStr::from_bytes(path).into()).collect();
        self.plain("user", &["checkout-index", "-a", "--prefix=../written/"]);
        let written = self.path("written");
        let mut expected = if written.exists() { lying_in(&written) } else { BTreeMap::new() };
        expected.retain(|path, _| moved.contains(path));
        expected.extend(before.into_iter().filter(|(path, _)| !moved.contains(path)));
        assert!(lying_in(&self.path("user")) == expected, "the checkout is not what was delivered");
        let _ = std::fs::remove_dir_all(&written);
        self.plain("user", &["reset", "-q", "--hard", &self.start]);
    }

    /// What git could not merge is no work as long as nobody has written what lies there of it.
    fn stays_unresolved(&self, worktrees: &Worktrees, task: TaskId, commit: Commit, files: &[String]) {
        let known = Committed { commit: Some(commit), merged: false, conflicts: 1 };
        let folder = worktrees.folder(task);
        let lies = |file: &String| file != "." && std::fs::symlink_metadata(folder.join(file)).is_ok();
        if files.iter().any(lies) {
            let committed = worktrees.commit(&self.plan, task, &known);
            assert!(matches!(committed, Err(NotCommitted::Work(_))), "{committed:?}");
        }
    }
}

/// Whether both have made the same tree, or have left the same files unmerged.
fn agree(ours: &Result<String, BTreeSet<String>>, plain: &Result<String, Unmerged>) -> bool {
    match (ours, plain) {
        (Ok(ours), Ok(plain)) => ours == plain,
        // Where git was killed, or does not know where the files of a moved folder belong, it names none.
        (Err(ours), Err(plain)) => plain.names.is_empty() || *ours == plain.names,
        (Ok(_), Err(plain)) => plain.is_unknown,
        (Err(_), Ok(_)) => false,
    }
}

/// A copy that is as old, by which git knows whether it can go by the times of files.
fn copy_with_time(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
    let modified = std::fs::metadata(from).unwrap().modified().unwrap();
    let copy = File::options().write(true).open(to).unwrap();
    copy.set_modified(modified).unwrap();
}

fn play(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut at = 0;
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut random = Random(seed);
        let scene = Scene::new(&mut random);
        scene.worktrees().begin(&scene.plan).unwrap();
        for pair in 0..PAIRS {
            at = pair;
            scene.play(pair, &mut random, tally);
        }
    }));
    played.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        format!("pair {at}: {}", text.unwrap_or_default())
    })
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn play_all(seeds: std::ops::Range<u64>) {
    let (next, violations) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let sum = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut own = Tally::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    if let Err(what) = play(seed, &mut own) {
                        violations.fetch_add(1, Ordering::Relaxed);
                        println!("QUORUM_MERGES_SEED={seed}: {what}");
                    }
                }
                let mut sum = sum.lock().unwrap();
                sum.clean += own.clean;
                sum.unresolved += own.unresolved;
                sum.refused += own.refused;
                sum.killed += own.killed;
            });
        }
    });
    let violations = violations.into_inner();
    println!("{:?}, violations {violations}", sum.into_inner().unwrap());
    assert_eq!(violations, 0, "replay one with QUORUM_MERGES_SEED=n");
}

#[test]
fn random_changes_are_merged_as_git_merges_them() {
    match number("QUORUM_MERGES_SEED") {
        Some(seed) => play(seed, &mut Tally::default()).unwrap_or_else(|what| panic!("seed {seed}: {what}")),
        None => {
            play_all(0..FEW);
            FOUND.into_iter().for_each(|seed| play_all(seed..seed + 1));
        }
    }
}

#[test]
#[ignore = "it takes minutes; see measure/README.md"]
fn ten_thousand_random_changes_are_merged_as_git_merges_them() {
    let first = number("QUORUM_MERGES_FIRST").unwrap_or(0);
    play_all(first..first + number("QUORUM_MERGES_SEEDS").unwrap_or(MANY));
}
