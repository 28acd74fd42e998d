//! What a task did becomes a commit, and what was accepted is merged.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::executor::error::WorkError;
use rules::domain::TaskId;
use rules::engine::{Commit, Committed, Merged};
use rules::plan::Plan;
use supervisor::files::no_links::open_folders;

use super::creation::{make, remove};
use super::difference::{APPEARED, Changed, CommittedWork, Difference, GONE, MOST_NAMED, NotCommitted};
use super::git::{Git, entries, failed, refused};
use super::unmerged::{GITLINK, LINK, Together, Unmerged, age, how, invented, is_aged, leads_out};
use super::{MAIN, START, Worktrees, base_ref, commit_ref};
use crate::runtime::isolation::{protection::Protection, unfit_for_git::odd_file};

/// The lines around a conflict in files that a merge of ours has written: each side is named by its commit.
/// Attributes say how long they are.
const MARKS: &str = "^(<+|>+) [0-9a-f]{40}";

/// The values of the attribute that chooses how a file is merged which name no program.
const OWN_DRIVERS: [&str; 6] = ["unspecified", "set", "unset", "text", "binary", "union"];

impl Worktrees {
    /// Commits what lies in the folder of a task; `known` is what it has on record. Blocks.
    ///
    /// # Errors
    /// Why there is no commit.
    pub fn commit(
        &self,
        plan: &Plan,
        task: TaskId,
        known: &Committed,
    ) -> Result<CommittedWork, NotCommitted> {
        #[cfg(any(feature = "temporal", test))]
        self.came_home(task)?;
        // What is on record weighs more than a reference, which an agent that is not confined could move.
        let base = match known.goes_on() {
            Some(commit) => commit.onto.to_string(),
            None => self
                .reference(&base_ref(task))?
                .ok_or_else(|| refused("it is not known what it began with"))?,
        };
        let before = match known.goes_on() {
            Some(commit) => Some(commit.id.to_string()),
            None => self.reference(&commit_ref(task))?.filter(|_| !known.merged),
        };
        let last = before.as_deref().unwrap_or(&base);
        self.restore(plan, task, last)?;
        if known.conflicts > 0 {
            self.is_resolved(task, last)?;
        }
        self.add_all(plan, task)?;
        let tree = self.within(task)?.line(["write-tree"])?;
        let tree = self.with_hidden(&self.folder(task), tree)?;
        let mut difference = self.difference(&base, &tree)?;
        difference.left_out = self.left_out(task)?;
        if known.conflicts > 0
            && let Some(path) = self.marked(&tree)?.first()
        {
            return Err(NotCommitted::Work(format!(
                "{path} has conflict marks still: keep what both sides were for, and remove the marks"
            )));
        }
        let is_same = if last == base { difference.changed.is_empty() } else { self.tree_of(last)? == tree };
        let id = if is_same { last.to_owned() } else { self.commit_tree(plan, task, &tree, &[last])? };
        self.set(&commit_ref(task), &id, None)?;
        Ok(CommittedWork { commit: difference.commit(&id, &base), changed: difference.changed })
    }

    /// The files of a tree that have marks of ours.
    fn marked(&self, tree: &str) -> Result<Vec<String>, WorkError> {
        let grep = ["grep", "-l", "-z", "-E", "-e", MARKS, tree];
        let found = self.git().answer(grep)?;
        let path = |name: String| Some(name.split_once(':')?.1.to_owned());
        Ok(found.iter().flat_map(entries).filter_map(path).collect())
    }

    /// Whether each file that git could not merge was written since its folder was given both sides: what lies there is another
    /// content, or was put there anew. Must come before git learns what lies there.
    fn is_resolved(&self, task: TaskId, last: &str) -> Result<(), NotCommitted> {
        // Nothing was committed since.
        let Some(theirs) = self.git().resolve(&format!("{last}^2"))? else {
            return Ok(());
        };
        let mine = self.resolve(&format!("{last}^1"))?;
        let written = self.within(task)?.run(["diff-index", "--name-only", "-z", last])?;
        // Git takes what attributes would have it store otherwise for changed, whoever has put it there.
        let folder = self.folder(task);
        let written = entries(&written).filter(|path| !is_aged(&folder.join(path)));
        let written: Vec<PathBuf> = written.map(PathBuf::from).collect();
        let both = self.put_together(task, &mine, &theirs)?;
        let is_open =
            |file: &&Unmerged| file.lies && !written.iter().any(|path| path.starts_with(&file.path));
        let open = both.unmerged.iter().filter(is_open).take(MOST_NAMED);
        let open: Vec<String> = open.map(|file| format!("{} ({})", file.path, file.how)).collect();
        if open.is_empty() {
            Ok(())
        } else {
            Err(NotCommitted::Work(format!(
                "what others changed as well is as it was when it was sent back: {}; write it, remove it, or `touch` what is \
                 right as it is",
                open.join(", ")
            )))
        }
    }

    /// Git in the folder that [`Self::attributes_of`] has made.
    fn merging(&self, folder: &Path) -> Git {
        let files = folder.join("files");
        let git = self.git().env("GIT_WORK_TREE", &files);
        git.indexed(&folder.join("index")).at(&files)
    }

    /// A folder with nothing but the attributes of a commit: git reads them from files only, which agents could change in theirs.
    fn attributes_of(&self, task: TaskId, commit: &str) -> Result<PathBuf, WorkError> {
        let folder = self.folder(task).with_extension("merging");
        remove(&folder)?;
        let files = folder.join("files");
        make(&files)?;
        self.merging(&folder).run(["read-tree", commit])?;
        let list = ["ls-files", "-z", "--", ":(glob)**/.gitattributes"];
        let attributes = self.merging(&folder).run(list)?.stdout;
        if !attributes.is_empty() {
            let list = folder.join("list");
            fs::write(&list, attributes).map_err(WorkError::file("write", &list))?;
            let check_out = ["checkout-index", "-q", "-z", "--stdin"];
            self.merging(&folder).reading(&list).run(check_out)?;
        }
        Ok(folder)
    }

    /// A tree without the names that git has invented, and where their files are wanted: they lie there now, unless something
    /// else does.
    fn without_invented<'n>(
        &self,
        folder: &Path,
        tree: String,
        names: &BTreeMap<&'n str, &str>,
        sides: [&str; 2],
    ) -> Result<(BTreeSet<&'n str>, String), WorkError> {
        let mut placed = BTreeSet::new();
        for (path, entry) in names {
            let Some(name) = invented(path, sides) else {
                continue;
            };
            if placed.is_empty() {
                self.merging(folder).run(["read-tree", &tree])?;
            }
            self.merging(folder).run(["update-index", "--force-remove", "--", path])?;
            let mut words = entry.split(' ');
            let (mode, id) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
            if placed.insert(name) && !names.contains_key(name) {
                let line = format!("{mode},{id},{name}");
                self.merging(folder).run(["update-index", "--add", "--cacheinfo", &line])?;
            }
        }
        if placed.is_empty() {
            Ok((placed, tree))
        } else {
            Ok((placed, self.merging(folder).line(["write-tree"])?))
        }
    }

    /// Puts two commits together, by the attributes of the first one.
    fn put_together(&self, task: TaskId, mine: &str, theirs: &str) -> Result<Together, WorkError> {
        let folder = self.attributes_of(task, mine)?;
        let git = || self.merging(&folder);
        let merge = ["merge-tree", "--write-tree", "--no-messages", "-z", mine, theirs];
        let output = git().output(merge)?;
        let is_clean = match output.status.code() {
            Some(0) => true,
            Some(1) => false,
            _ => return Err(failed(&output)),
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let mut parts = said.split('\0').filter(|part| !part.is_empty());
        let tree = parts.next().unwrap_or_default().to_owned();
        let mut sides: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        for (entry, path) in parts.filter_map(|part| part.split_once('\t')) {
            let mut words = entry.split(' ');
            let side = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
            let path = invented(path, [mine, theirs]).unwrap_or(path);
            sides.entry(path).or_default().push(side);
        }
        if sides.is_empty() {
            // Git is at a loss where the files of a moved folder belong, and leaves each where it was.
            let moved = (!is_clean).then(|| Unmerged {
                path: ".".to_owned(),
                how: "a folder was moved, and its files have more than one place to go to".to_owned(),
                lies: false,
            });
            return Ok(Together { tree, is_clean, unmerged: moved.into_iter().collect() });
        }
        let list = git().run(["ls-tree", "-r", "-t", "-z", "--full-tree", &tree])?;
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        let entries = || list.split('\0').filter_map(|line| line.split_once('\t'));
        let names: BTreeMap<&str, &str> = entries().map(|(entry, path)| (path, entry)).collect();
        let (placed, tree) = self.without_invented(&folder, tree, &names, [mine, theirs])?;
        let attribute = ["check-attr", "-z", "merge", "--"];
        let drivers = git().args(attribute).run(sides.keys().take(MOST_NAMED))?;
        let drivers = String::from_utf8_lossy(&drivers.stdout);
        let drivers: Vec<&str> = drivers.split('\0').collect();
        let driver = |path: &str| {
            let mut known = drivers.chunks_exact(3).filter(|said| said.first() == Some(&path));
            known.find_map(|said| said.last().filter(|name| !OWN_DRIVERS.contains(name)).copied())
        };
        let unmerged = sides.iter().map(|(path, sides)| {
            let entry = names.get(path).copied();
            let is_folder = entry.is_some_and(|entry| entry.contains(" tree "));
            Unmerged {
                path: (*path).to_owned(),
                how: match driver(path) {
                    Some(name) => format!("its merge driver, {name}, is not run"),
                    None => how(sides, is_folder).to_owned(),
                },
                lies: entry.is_some() || placed.contains(path),
            }
        });
        Ok(Together { unmerged: unmerged.collect(), tree, is_clean })
    }

    /// Has git follow all that lies in the folder of a task, but for what it ignores.
    fn add_all(&self, plan: &Plan, task: TaskId) -> Result<(), NotCommitted> {
        let largest = plan.rules.worktrees.max_file;
        add_all(|| self.within(task), &self.folder(task), largest)?;
        Ok(self.forget_brought(plan, task)?)
    }

    /// The state folder as it is named from the workspace, if it lies there.
    fn inner_state_folder(&self, workspace: &Path) -> Result<Option<PathBuf>, WorkError> {
        let (workspace, state) = (fs::canonicalize(workspace)?, fs::canonicalize(&self.state)?);
        let inner = state.strip_prefix(workspace).ok();
        let inner = inner.filter(|inner| !inner.as_os_str().is_empty());
        Ok(inner.map(Path::to_owned))
    }

    /// Takes out of the tree what was brought into the folder from outside, and a state folder: neither is
    /// work, whatever the tree says of what git follows.
    fn forget_brought(&self, plan: &Plan, task: TaskId) -> Result<(), WorkError> {
        let worktrees = &plan.rules.worktrees;
        let brought = worktrees.copy.iter().chain(&worktrees.link).map(ToString::to_string);
        let state = self.inner_state_folder(&plan.rules.workspace)?;
        let brought = brought.chain(state.map(|state| state.to_string_lossy().into_owned()));
        // What does not lie there git does not follow now.
        let folder = self.folder(task);
        let brought = brought.filter(|path| fs::symlink_metadata(folder.join(path)).is_ok());
        let brought: Vec<String> = brought.map(|path| format!(":(top,literal){path}")).collect();
        // Without a path git would list everything.
        if brought.is_empty() {
            return Ok(());
        }
        let followed = self.within(task)?.args(["ls-files", "-z", "--"]).run(&brought)?;
        if followed.stdout.is_empty() {
            return Ok(());
        }
        let before = ["ls-tree", "-r", "-z", "--full-tree", "--name-only", &base_ref(task)];
        let before = self.git().run(before)?;
        let before: BTreeSet<String> = entries(&before).collect();
        let new = entries(&followed).filter(|path| !before.contains(path));
        let new = new.map(|path| format!(":(top,literal){path}"));
        let new: Vec<String> = new.collect();
        if new.is_empty() {
            Ok(())
        } else {
            self.within(task)?.args(["rm", "-q", "--cached", "--"]).done(new)
        }
    }

    /// The difference between two trees, in which nothing is another repository or leads out of this one.
    fn difference(&self, base: &str, tree: &str) -> Result<Difference, NotCommitted> {
        let arguments = ["diff-tree", "-r", "--raw", "--numstat", "--no-renames", "--no-abbrev", "-z"];
        let said = self.git().args(arguments).run([base, tree])?;
        let said = String::from_utf8_lossy(&said.stdout);
        let mut found = Difference::default();
        let mut parts = said.split('\0');
        while let Some(part) = parts.next().filter(|part| !part.is_empty()) {
            let Some(raw) = part.strip_prefix(':') else {
                // Lines of what is no text are not counted.
                let mut numbers = part.splitn(3, '\t').map(|number| number.parse().unwrap_or(0));
                found.insertions += numbers.next().unwrap_or(0);
                found.deletions += numbers.next().unwrap_or(0);
                continue;
            };
            let path = parts.next().unwrap_or_default();
            let mut words = raw.split(' ').skip(1);
            let (mode, blob) = (words.next(), words.nth(1));
            match (mode, blob) {
                (Some(GITLINK), _) => return Err(NotCommitted::Work(own_repository(path))),
                (Some(LINK), Some(blob)) => self.stays_within(path, blob)?,
                _ => {}
            }
            let what = match raw.chars().next_back() {
                Some('A') => APPEARED,
                Some('D') => GONE,
                _ => "was changed",
            };
            // Neither the record nor a rule could name it.
            if path.contains(char::REPLACEMENT_CHARACTER) && what != GONE {
                return Err(NotCommitted::Work(not_utf8(path)));
            }
            found.changed.push(Changed { path: path.to_owned(), what });
        }
        let gone = found.changed.iter().filter(|changed| changed.what == GONE);
        let gone: BTreeSet<&str> = gone.map(|changed| changed.path.as_str()).collect();
        if !gone.is_empty() {
            let written = ["diff-tree", "-r", "--name-only", "--no-renames", "-z", "--diff-filter=d"];
            let written = self.git().args(written).run([START, base])?;
            let lost = entries(&written).filter(|path| gone.contains(path.as_str()));
            found.removed = lost.take(MOST_NAMED).collect();
        }
        Ok(found)
    }

    /// Refuses a link that leads out of the repository.
    fn stays_within(&self, path: &str, blob: &str) -> Result<(), NotCommitted> {
        let target = self.git().run(["cat-file", "blob", blob])?.stdout;
        let target = String::from_utf8_lossy(&target);
        if leads_out(path, &target) { Err(NotCommitted::Work(link_out(path, &target))) } else { Ok(()) }
    }

    /// Merges the work of a task, as it is on record, into what was accepted so far; or that into its folder, where the work does
    /// not lie on it: it is to be checked there. `None`: it has never worked. Nobody else merges meanwhile. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn merge(
        &self,
        plan: &Plan,
        protection: &Protection,
        task: TaskId,
        known: Option<&Committed>,
    ) -> Result<Merged, WorkError> {
        let mut accepted = crate::locked(&self.accepted);
        let tip = self.tip_of(&mut accepted)?;
        let Some(known) = known else {
            return Ok(Merged::Landed(Difference::default().commit(&tip, &tip)));
        };
        let Some(work) = &known.commit else {
            return match self.commit(plan, task, known) {
                Ok(work) => match work.protected(plan, protection, task).as_slice() {
                    [] => Ok(Merged::Candidate(work.commit)),
                    changed => Ok(Merged::Refused(format!("protected: {}", changed.join("; ")))),
                },
                Err(NotCommitted::Work(why)) => Ok(Merged::Refused(why)),
                Err(NotCommitted::Git(why)) => Err(why),
            };
        };
        let tree = format!("{}^{{tree}}", work.id);
        if let Some(path) = self.ignored_target(plan, task, &tree)? {
            return Ok(Merged::Refused(format!(
                "{path} is ignored by git, so that it would be no part of what is merged"
            )));
        }
        if *work.onto != *tip {
            let merged = self.rebase(plan, task, work, &tip);
            // What lies there now is right.
            protection.take_folder(task);
            return merged;
        }
        if work.files == 0 {
            return Ok(Merged::Landed(Difference::default().commit(&work.id, &tip)));
        }
        let id = self.commit_tree(plan, task, &tree, &[&tip])?;
        self.set(MAIN, &id, Some(&tip))?;
        *accepted = Some(id.as_str().into());
        self.set(&commit_ref(task), &id, None)?;
        Ok(Merged::Landed(Commit { id: id.into(), ..work.clone() }))
    }

    /// A file that the task was to make, that is there, and that git does not follow.
    fn ignored_target(&self, plan: &Plan, task: TaskId, tree: &str) -> Result<Option<String>, WorkError> {
        let (root, workspace) = (self.folder(task), plan.workspace_of(task));
        let inner = workspace.strip_prefix(&root).unwrap_or(Path::new(""));
        let targets = plan.task(task).target_files.iter();
        let targets = targets.map(|target| plain(&inner.join(target.as_ref())));
        let there: Vec<PathBuf> = targets.filter(|path| root.join(path).is_file()).collect();
        if there.is_empty() {
            return Ok(None);
        }
        let list = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree, "--"];
        let followed = self.git().args(list).run(&there)?;
        let followed: BTreeSet<PathBuf> = entries(&followed).map(PathBuf::from).collect();
        let lost = there.iter().find(|path| !followed.contains(*path));
        Ok(lost.map(|path| path.display().to_string()))
    }

    /// Others were accepted meanwhile: the work on top of theirs, in the task's folder, with marks where both changed the
    /// same. All of it is made of what is on record, so that it can be done again at any point.
    fn rebase(&self, plan: &Plan, task: TaskId, work: &Commit, tip: &str) -> Result<Merged, WorkError> {
        let (base, mine) = (&*work.onto, &*work.id);
        let both = self.put_together(task, mine, tip)?;
        let (tree, is_clean) = (both.tree, both.is_clean);
        let parents = if is_clean { &[tip][..] } else { &[mine, tip][..] };
        let id = self.commit_tree(plan, task, &tree, parents)?;
        self.set(&base_ref(task), tip, None)?;
        self.set(&commit_ref(task), &id, None)?;
        self.replace_files(task, &tree)?;
        let difference = match self.difference(tip, &tree) {
            Ok(difference) => Difference { left_out: work.left_out.clone(), ..difference },
            Err(NotCommitted::Work(why)) => return Ok(Merged::Refused(why)),
            Err(NotCommitted::Git(why)) => return Err(why),
        };
        let commit = difference.commit(&id, tip);
        if is_clean {
            return Ok(Merged::Candidate(commit));
        }
        let mut unmerged = both.unmerged;
        unmerged.truncate(MOST_NAMED);
        let files: Vec<String> = unmerged.iter().map(|file| file.path.clone()).collect();
        let lie = unmerged.iter().filter(|file| file.lies);
        self.age(task, lie.map(|file| file.path.as_str()).collect())?;
        let log = ["log", "--format=%s", &format!("{base}..{tip}"), "--"];
        let with = self.git().args(log).line(&files)?;
        let with = with.lines().take(MOST_NAMED).map(str::to_owned).collect();
        let marked = self.marked(&tree)?;
        let unmarked = unmerged.into_iter().filter(|file| !marked.contains(&file.path));
        Ok(Merged::Conflict {
            unmarked: unmarked.map(|file| (file.path, file.how)).collect(),
            commit,
            files,
            with,
        })
    }

    /// Git compares whole seconds: files that it could not merge get an old time, so that whoever writes them at once is seen to.
    fn age(&self, task: TaskId, files: Vec<&str>) -> Result<(), WorkError> {
        // Without a path git would list everything.
        if files.is_empty() {
            return Ok(());
        }
        let folder = self.folder(task);
        let git = self.within(task)?.env("GIT_LITERAL_PATHSPECS", "1");
        let lie = git.args(["ls-files", "-z", "--"]).run(files)?.stdout;
        for path in lie.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            let path = folder.join(OsStr::from_bytes(path));
            age(&path).map_err(WorkError::file("date", &path))?;
        }
        self.within(task)?.done(["update-index", "-q", "--refresh"])
    }

    /// The files of a tree in the folder of a task, and nothing else but what git ignores.
    fn replace_files(&self, task: TaskId, tree: &str) -> Result<(), WorkError> {
        let folder = self.folder(task);
        let replaced = self.check_out(&folder, tree).and_then(|()| self.clean(&folder));
        replaced.or_else(|_| {
            // Its agent may have closed folders.
            open_folders(&folder);
            self.check_out(&folder, tree)?;
            self.clean(&folder)
        })
    }

    pub fn commit_tree(
        &self,
        plan: &Plan,
        task: TaskId,
        tree: &str,
        parents: &[&str],
    ) -> Result<String, WorkError> {
        let work = plan.task(task);
        let agent = plan.agent_name(work.agent);
        let message = format!("{}\n\nquorum-run: {}", work.title, self.run);
        let git = self.git().args(["commit-tree", tree, "-m", &message]);
        let git = git.env("GIT_AUTHOR_NAME", agent).env("GIT_AUTHOR_EMAIL", "agent@quorum.invalid");
        let git = git.env("GIT_COMMITTER_NAME", "quorum").env("GIT_COMMITTER_EMAIL", "quorum@quorum.invalid");
        git.line(parents.iter().flat_map(|parent| ["-p", parent]))
    }
}

/// Has git follow all that lies in a folder, but for what it ignores. `git` works in the folder; no file may have more than
/// `largest` bytes.
///
/// # Errors
/// Why git does not take it.
pub fn add_all(
    git: impl Fn() -> Result<Git, WorkError>,
    folder: &Path,
    largest: u64,
) -> Result<(), NotCommitted> {
    if let Some(odd) = odd_file(&git, folder, largest)? {
        return Err(NotCommitted::Work(odd));
    }
    let added = git()?.output(["add", "-A", "."])?;
    if added.status.success() {
        return Ok(());
    }
    // `git init` in a subfolder, without a commit.
    let said = String::from_utf8_lossy(&added.stderr).into_owned();
    let nested = said.lines().find_map(|line| {
        let path = line.strip_prefix("error: '")?;
        path.strip_suffix("/' does not have a commit checked out")
    });
    match nested {
        Some(path) => Err(NotCommitted::Work(own_repository(path))),
        None => Err(fault_of_work(git()?, &failed(&added))),
    }
}

/// What a failure of git is about: where git can write an object, it is not git that fails.
pub fn fault_of_work(git: Git, why: &WorkError) -> NotCommitted {
    match git.run(["hash-object", "-w", "--stdin"]) {
        Ok(_) => NotCommitted::Work(why.to_string()),
        Err(fails) => NotCommitted::Git(fails),
    }
}

pub fn own_repository(path: &str) -> String {
    format!("{path} is a repository of its own: remove its `.git`")
}

pub fn not_utf8(path: &str) -> String {
    format!("{path} has a name that is not UTF-8: give it another one, or leave it as it was")
}

pub fn link_out(path: &str, target: &str) -> String {
    format!("{path} is a link to {target}, which lies outside of the repository")
}

/// A path without `.`, as git names it.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}
