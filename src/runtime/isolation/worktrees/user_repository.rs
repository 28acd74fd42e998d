//! The repository of the user: read when a run begins, and written to once, at its end.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::executor::error::WorkError;
use rules::engine::Delivery;
use rules::mission::first_line;
use rules::mission::model::MergeInto;
use rules::plan::Plan;
use supervisor::files;
use supervisor::files::if_there;

use super::creation::{patterns, replace};
use super::git::{Configuration, Git, borrowed, entries, failed, refused, text};
use super::unmerged::{GITLINK, LINK, leads_out};
use super::{BOUNDS, EXCLUDED, MAIN, START, Worktrees};

/// The most files that are compared one by one after a move.
const MOST_COMPARED: usize = 500;

/// Fetches what is named, and nothing else.
pub const FETCH: [&str; 6] =
    ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"];

/// Paths that git has printed.
fn names(printed: &Output) -> BTreeSet<String> {
    entries(printed).collect()
}

/// The repository that agents work on.
pub struct User {
    top: PathBuf,
    /// The values that are needed of the repository's configuration.
    wanted: Configuration,
    /// Whether the repository may belong to somebody else.
    is_trusted: bool,
}

impl User {
    /// The repository that a folder belongs to, if it belongs to one.
    pub fn at(folder: &Path, is_trusted: bool) -> Result<Self, WorkError> {
        let here = fs::canonicalize(folder)?;
        Ok(Self { wanted: Configuration::of(&here)?, top: here, is_trusted })
    }

    /// The repository whose top is the workspace. Where it is not trusted it must be this user's own.
    pub fn open(workspace: &Path, is_trusted: bool) -> Result<Self, WorkError> {
        let version = Git::new()
            .line(["--version"])
            .map_err(|why| refused(format!("isolation: worktree needs git, which cannot be run: {why}")))?;
        if !is_new_enough(&version) {
            return Err(refused(format!("isolation: worktree needs git 2.38 or newer, this is {version}")));
        }
        let user = Self::at(workspace, is_trusted)?;
        let top = user.git().output(["rev-parse", "--show-toplevel"])?;
        let place = workspace.display();
        if !top.status.success() {
            let said = failed(&top);
            return Err(refused(if String::from_utf8_lossy(&top.stderr).contains("not a git repository") {
                format!(
                    "isolation: worktree needs a git repository, and {place} is none: `git init` makes one"
                )
            } else {
                format!(
                    "isolation: worktree needs a git repository, and {place} cannot be used as one: {said}"
                )
            }));
        }
        let top = PathBuf::from(text(top));
        if fs::canonicalize(&top).ok().as_ref() != Some(&user.top) {
            return Err(refused(format!(
                "isolation: worktree needs the top of a repository as its workspace, and {place} lies within {}",
                top.display()
            )));
        }
        Ok(user)
    }

    fn git(&self) -> Git {
        let git = self.wanted.git().at(&self.top);
        if self.is_trusted { git.trusting() } else { git }
    }

    fn head(&self) -> Result<String, WorkError> {
        let none =
            || refused("isolation: worktree needs a commit to begin with, and the repository has none");
        self.git().resolve("HEAD")?.ok_or_else(none)
    }

    /// The commit that is checked out, where no file that git follows differs from it.
    pub fn clean_head(&self) -> Result<String, WorkError> {
        let head = self.head()?;
        let begun = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];
        let places = ["rev-parse"].into_iter().chain(begun.iter().flat_map(|name| ["--git-path", name]));
        let places = self.git().line(places)?;
        if let Some(place) = places.lines().find(|place| self.top.join(place).exists()) {
            return Err(refused(format!(
                "git is at a merge or the like in the repository: {place} is there"
            )));
        }
        let files = self.git().run(["ls-files", "-s", "-z"])?;
        for line in entries(&files) {
            self.check_file(&line)?;
        }
        let filtered = ["ls-files", "-z", "--", ".", ":(exclude,attr:!filter)"];
        let filtered = self.git().run(filtered)?;
        if let Some(first) = entries(&filtered).next() {
            return Err(refused(format!(
                "isolation: worktree knows no filters of git (as of LFS), and {first} has one"
            )));
        }
        let status = [
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=no",
            "--ignore-submodules=none",
        ];
        let changed: Vec<String> = entries(&self.git().run(status)?).collect();
        if let Some(first) = changed.first() {
            let more = match changed.len() {
                1 => String::new(),
                all => format!(" and {} more", all - 1),
            };
            return Err(refused(format!(
                "the repository has changes that are not committed: {}{more}; commit or stash them",
                first.get(3..).unwrap_or(first)
            )));
        }
        Ok(head)
    }

    /// Whether one that git follows can be in a worktree, by its line in the index.
    fn check_file(&self, line: &str) -> Result<(), WorkError> {
        let path = line.split('\t').nth(1).unwrap_or(line);
        if line.starts_with(GITLINK) {
            return Err(refused(format!("isolation: worktree knows no submodules, and {path} is one")));
        }
        if !line.starts_with(LINK) {
            return Ok(());
        }
        let blob = line.split(' ').nth(1).unwrap_or_default();
        let target = self.git().line(["cat-file", "blob", blob])?;
        if leads_out(path, &target) {
            Err(refused(format!(
                "isolation: worktree needs links that stay in the repository, and {path} is a link to {target}, which lies \
                 outside of the repository"
            )))
        } else {
            Ok(())
        }
    }

    /// Whether a commit is another one or comes before it.
    fn comes_before(&self, commit: &str, other: &str) -> Result<bool, WorkError> {
        let is_ancestor = ["merge-base", "--is-ancestor", commit, other];
        Ok(self.git().answer(is_ancestor)?.is_some())
    }

    /// The first file that would appear and is there already, or has a file for a folder above it.
    fn in_the_way(&self, head: &str, main: &str) -> Result<Option<String>, WorkError> {
        let new = self.new_files(head, main)?;
        let followed = ["ls-tree", "-r", "-t", "-z", "--name-only", head];
        let followed: HashSet<PathBuf> = entries(&self.git().run(followed)?).map(PathBuf::from).collect();
        let is_there = |path: &Path| fs::symlink_metadata(self.top.join(path)).is_ok();
        let is_file =
            |path: &Path| fs::symlink_metadata(self.top.join(path)).is_ok_and(|found| !found.is_dir());
        for path in new.iter().map(Path::new) {
            let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
            let mut above = above.filter(|above| !followed.contains(*above));
            if is_there(path) && !followed.contains(path) || above.any(is_file) {
                return Ok(Some(path.display().to_string()));
            }
        }
        Ok(None)
    }

    /// Makes a branch, or moves one forward that is not checked out.
    fn move_branch(&self, branch: &str, to: &str) -> Result<(), WorkError> {
        if self.git().run(["branch", "-q", branch, to]).is_ok() {
            return Ok(());
        }
        let refspec = format!("{to}:refs/heads/{branch}");
        let forward =
            ["fetch", "-q", "--no-write-fetch-head", "--upload-pack=git-upload-pack", ".", &refspec];
        let moved = self.git().fetching().done(forward);
        moved.map_err(|why| refused(format!("branch {branch} cannot be moved: {why}")))
    }

    /// The patterns of files that git does not follow here, beside those of the tree.
    ///
    /// # Errors
    ///
    /// When such a file is there and cannot be read.
    pub fn excludes(&self) -> Result<String, WorkError> {
        let own = self.git().line(["rev-parse", "--git-path", EXCLUDED])?;
        let files = [self.wanted.excludes_file(), Some(self.top.join(own))];
        let texts = files.iter().flatten().map(|path| patterns(path));
        Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
    }

    /// The user's settings for line ends, file modes and links, each with its key.
    pub fn line_ends(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let keys = ["core.autocrlf", "core.eol", "core.filemode", "core.symlinks"];
        keys.into_iter().filter_map(|key| Some((key, self.wanted.value(key)?)))
    }

    /// The keys by which programs are set that merge files.
    ///
    /// # Errors
    /// In the words of git.
    pub fn merge_drivers(&self) -> Result<Vec<String>, WorkError> {
        let list = ["config", "-z", "--name-only", "--get-regexp", r"^merge\..*\.driver$"];
        Ok(self.git().answer(list)?.iter().flat_map(entries).collect())
    }

    /// Moves what is checked out from one commit to another, but for its files.
    fn set_head(&self, from: &str, to: &str) -> Result<(), WorkError> {
        let update = ["update-ref", "-m", "merge: work that was accepted", "HEAD", to, from];
        self.git().done(update)
    }

    /// Files that differ between a commit and what lies there, of those that git follows.
    fn differing(&self, commit: &str) -> Result<BTreeSet<String>, WorkError> {
        let diff = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit, "--"];
        // It writes down what it has found out of files, for which a full disk has no room.
        let without = || self.git().set("diff.autoRefreshIndex", "false").run(diff);
        Ok(names(&self.git().run(diff).or_else(|_| without())?))
    }

    /// The bytes that git writes for a file of a commit, which may be stored otherwise by the attributes that
    /// hold now.
    fn written(&self, commit: &str, path: &str) -> Result<Vec<u8>, WorkError> {
        let whole = ["cat-file", "--filters", &format!("{commit}:{path}")];
        Ok(self.git().run(whole)?.stdout)
    }

    /// Has the files follow what is checked out, where a move between two commits was cut off. What is of neither was written by
    /// somebody else since.
    fn follow(&self, from: &str, to: &str, now: &str) -> Result<(), WorkError> {
        let (old, new) = (self.differing(from)?, self.differing(to)?);
        for path in old.intersection(&new) {
            let place = self.top.join(path);
            let Some(lies) = if_there(fs::read(&place)).map_err(WorkError::file("read", &place))? else {
                continue;
            };
            if !self.written(to, path)?.starts_with(&lies) {
                return Err(refused(format!("{path} was changed while your branch was moved")));
            }
        }
        if now == from {
            for path in self.new_files(from, to)? {
                let path = self.top.join(path);
                if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir()) {
                    fs::remove_file(&path)?;
                }
            }
        }
        if self.differing(now)?.is_empty() {
            Ok(())
        } else {
            self.git().done(["read-tree", "--reset", "-u", now])
        }
    }

    /// Files that a commit has and another one has not.
    fn new_files(&self, from: &str, to: &str) -> Result<BTreeSet<String>, WorkError> {
        let new = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A"];
        Ok(names(&self.git().args(new).run([from, to])?))
    }

    /// Whether the files that a move has changed hold what the commit says, whatever its index says of them.
    fn holds(&self, index: &Path, from: &str, to: &str) -> Result<(), WorkError> {
        let git = || {
            let git = self.git().indexed(index);
            git.env("GIT_LITERAL_PATHSPECS", "1")
        };
        let changed = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to];
        let mut changed = names(&git().run(changed)?);
        // Of many the whole checkout is looked at.
        if changed.len() > MOST_COMPARED {
            changed.clear();
        }
        git().run(["read-tree", to])?;
        let diff = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--"];
        let differs = names(&git().args(diff).run(&changed)?);
        fs::remove_file(index)?;
        for path in differs {
            let lies = files::read_regular(&self.top.join(&path), files::LONGEST_FILE).ok();
            if lies != Some(self.written(to, &path)?) {
                return Err(refused(format!("{path} in your checkout is not what was checked and accepted")));
            }
        }
        Ok(())
    }

    /// The branch that is checked out; empty where none is.
    pub fn branch(&self) -> Result<String, WorkError> {
        let branch = self.git().answer(["symbolic-ref", "-q", "HEAD"])?;
        Ok(branch.map(text).unwrap_or_default())
    }

    /// The format of the repository's object names: `sha1` or `sha256`.
    pub fn object_format(&self) -> Result<String, WorkError> {
        self.git().line(["rev-parse", "--show-object-format"])
    }

    /// The file that says where its history is cut, if it is.
    pub fn bounds(&self) -> Result<Option<PathBuf>, WorkError> {
        Ok(Some(self.place(BOUNDS)?).filter(|path| path.exists()))
    }

    pub fn objects(&self) -> Result<PathBuf, WorkError> {
        Ok(fs::canonicalize(self.place("objects")?)?)
    }

    /// The locks that git has while it moves the checkout, or the branch that is `named`.
    fn locks_of_a_move(&self, named: &str) -> Result<Vec<PathBuf>, WorkError> {
        let names = ["HEAD", "index", &*self.branch()?, named];
        let names = names.iter().filter(|name| !name.is_empty());
        names.map(|name| self.place(&format!("{name}.lock"))).collect()
    }

    /// Where something of the repository lies.
    fn place(&self, name: &str) -> Result<PathBuf, WorkError> {
        let path = self.git().line(["rev-parse", "--git-path", name])?;
        Ok(self.top.join(path))
    }
}

/// `git version 2.47.1` and the like.
fn is_new_enough(version: &str) -> bool {
    let number = version.rsplit(' ').find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let mut parts = number.unwrap_or_default().split('.').map(|part| part.parse().unwrap_or(0u32));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (2, 38)
}

impl Worktrees {
    /// Brings what was accepted into the user's repository, as a reference of its own, and moves the branch where that is
    /// wanted and can be done without touching anything of theirs. Blocks.
    pub fn deliver(&self, plan: &Plan, merge: bool) -> Delivery {
        let into = if merge { &plan.rules.worktrees.merge } else { &MergeInto::Never };
        self.try_to_deliver(&plan.rules.workspace, into).unwrap_or_else(|why| Delivery {
            why: Some(format!("what was accepted is not in your repository: {why}")),
            ..Delivery::default()
        })
    }

    fn try_to_deliver(&self, workspace: &Path, merge: &MergeInto) -> Result<Delivery, WorkError> {
        let user = User::open(workspace, true)?;
        let (start, main) = (self.resolve(START)?, self.recorded()?);
        if start == main {
            return Ok(Delivery::default());
        }
        let name = format!("refs/quorum/{}/main", self.run);
        let before = user.git().resolve(&name)?;
        self.bring(&user)?;
        let count = ["rev-list", "--count", &format!("{start}..{main}")];
        let commits = user.git().line(count)?.parse().unwrap_or(0);
        let moved = match merge {
            MergeInto::Never => Err(None),
            MergeInto::Branch(branch) => self.move_branch(&user, branch, &main).map_err(Some),
            MergeInto::FastForward => self.move_head(&user, (&start, before.as_deref()), &main).map_err(Some),
        };
        let why = |why| format!("your branch does not have what was accepted: {why}");
        Ok(Delivery { commits, waits: moved.is_err().then_some(name), why: moved.err().flatten().map(why) })
    }

    /// The commits of the run, under references that are no branches.
    fn bring(&self, user: &User) -> Result<(), WorkError> {
        self.set(MAIN, &self.recorded()?, None)?;
        let all = format!("+{MAIN}:refs/quorum/{}/main", self.run);
        let of_tasks = format!("+refs/quorum/task/*:refs/quorum/{}/task/*", self.run);
        let ours = user.objects()?.with_file_name("refs").join("quorum").join(&self.run);
        self.unlock(&[ours.join("task"), ours])?;
        self.fetch_into(user.git(), &[all, of_tasks])
    }

    /// Brings references of ours into the user's repository.
    fn fetch_into(&self, user: Git, names: &[String]) -> Result<(), WorkError> {
        // Else the configuration of the repository could name another one for this path.
        let by = ["--upload-pack=git-upload-pack"];
        let ours = self.repository();
        let fetch = user.fetching().reads(&ours).args(FETCH).args(by).args([ours]);
        fetch.done(names)
    }

    /// Moves what is checked out from where it was, or where an earlier session of the run has left it.
    fn move_head(
        &self,
        user: &User,
        (start, before): (&str, Option<&str>),
        main: &str,
    ) -> Result<(), WorkError> {
        self.finish_move(user)?;
        let head = user.clean_head()?;
        if user.comes_before(main, &head)? {
            return Ok(());
        }
        // A reference that somebody else has moved there says nothing: what only it has would be lost.
        let is_earlier = before == Some(&*head) && user.comes_before(&head, main)?;
        if head != start && !is_earlier {
            return Err(refused("your branch has moved since the run began"));
        }
        let branch = user.branch()?;
        let file = self.branch_file();
        let then = fs::read_to_string(&file).map_err(WorkError::file("read", &file))?;
        if then != branch {
            return Err(refused("another branch is checked out than when the run began"));
        }
        if let Some(path) = user.in_the_way(&head, main)? {
            return Err(refused(format!("{path} is there, and git does not follow it: it would be lost")));
        }
        // The reference first: whatever keeps it where it is keeps the files, too.
        replace(&self.moving(), &format!("{head} {main}"))?;
        let moved = user.set_head(&head, main);
        let moved = moved.and_then(|()| {
            let followed = user.git().run(["read-tree", "-m", "-u", &head, main]);
            followed.map(drop).map_err(|why| {
                // Files before the reference: on a full disk that makes the room for it.
                let back = user.follow(&head, main, &head);
                match user.set_head(main, &head).and(back) {
                    Ok(()) => why,
                    Err(also) => refused(format!("{why}; and your checkout cannot be put back: {also}")),
                }
            })
        });
        match moved {
            Ok(()) => fs::remove_file(self.moving())?,
            Err(why) => {
                let back = self.finish_move(user);
                return back.and(Err(why));
            }
        }
        user.holds(&self.root.join("delivered.index"), &head, main)
    }

    fn move_branch(&self, user: &User, branch: &str, main: &str) -> Result<(), WorkError> {
        self.finish_move(user)?;
        replace(&self.moving(), &format!("refs/heads/{branch}"))?;
        let moved = user.move_branch(branch, main);
        self.finish_move(user).and(moved)
    }

    /// Whether the user's repository has the work that was accepted where it is wanted, whole.
    pub fn has_accepted(&self, workspace: &Path, into: &MergeInto) -> Result<bool, WorkError> {
        let user = User::open(workspace, true)?;
        let (name, main) = (format!("refs/quorum/{}/main", self.run), self.recorded()?);
        let Some(brought) = user.git().resolve(&name)? else {
            return Ok(false);
        };
        if brought != main {
            return Err(refused(format!(
                "{name} is {brought}, and the record of the run says {main}: somebody has moved it"
            )));
        }
        let branch = match into {
            MergeInto::FastForward => "HEAD".to_owned(),
            MergeInto::Branch(branch) => format!("refs/heads/{branch}"),
            MergeInto::Never => return Ok(false),
        };
        Ok(!self.moving().exists()
            && user.git().resolve(&branch)?.is_some()
            && user.comes_before(&main, &branch)?)
    }

    /// The file that says between which commits the user's checkout is being moved, or which branch is.
    fn moving(&self) -> PathBuf {
        self.root.join("moving")
    }

    /// Has the files of the user's checkout follow its reference, where a move was cut off.
    fn finish_move(&self, user: &User) -> Result<(), WorkError> {
        let mark = self.moving();
        let said = if_there(fs::read_to_string(&mark)).map_err(WorkError::file("read", &mark))?;
        let Some(said) = said else { return Ok(()) };
        // Git that was killed in the middle of it has left these; what was locked before is somebody else's.
        self.remove_locks(user.locks_of_a_move(&said)?, fs::metadata(&mark)?.modified()?)?;
        let now = user.head()?;
        if let Some((from, to)) = said.split_once(' ').filter(|(from, to)| now == *from || now == *to) {
            user.follow(from, to, &now).map_err(|why| {
                refused(format!("your checkout is on the way between two commits, and {why}"))
            })?;
        }
        Ok(fs::remove_file(&mark)?)
    }

    /// Removes the references of the run, but for what was accepted and is on no branch, which is named.
    pub fn forget(&self) -> Result<Option<String>, WorkError> {
        let list = self.repository().join("objects/info/alternates");
        let objects = fs::read_to_string(&list).map_err(WorkError::file("read", &list))?;
        let objects = borrowed(first_line(&objects));
        let Some(repository) = objects.parent() else {
            return Ok(None);
        };
        let git = || Git::new().in_repository(repository);
        let main = format!("refs/quorum/{}/main", self.run);
        // The session may have ended before it could bring that.
        if self.resolve(START)? != self.resolve(MAIN)? {
            self.fetch_into(git(), &[format!("+{MAIN}:{main}")])?;
        }
        let list = ["for-each-ref", "--format=%(refname)"];
        let own = git().args(list).line([format!("refs/quorum/{}/", self.run)])?;
        let mut kept = None;
        for name in own.lines() {
            let branches = ["for-each-ref", "--count=1", "--contains", name, "refs/heads"];
            if name == main && git().line(branches)?.is_empty() {
                kept = Some(main.clone());
                continue;
            }
            git().run(["update-ref", "-d", name])?;
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_into_a_repository_that_fails_has_not_seen_nothing() {
        let place = supervisor::files::no_links::scratch_folder().unwrap();
        Git::new().at(place.path()).run(["init", "-q", "--initial-branch=main"]).unwrap();
        let user = User::open(place.path(), true).unwrap();
        assert_eq!(user.branch().unwrap(), "refs/heads/main");
        assert!(user.merge_drivers().unwrap().is_empty() && user.excludes().is_ok());
        assert!(user.head().unwrap_err().to_string().contains("has none"));
        fs::write(place.path().join(".git/config"), "[merge\n").unwrap();
        let looks = [
            user.merge_drivers().map(drop),
            user.branch().map(drop),
            user.excludes().map(drop),
            user.head().map(drop),
            user.comes_before("HEAD", "HEAD").map(drop),
        ];
        for looked in looks {
            let why = looked.unwrap_err().to_string();
            assert!(why.contains("bad config") && !why.contains("has none"), "{why}");
        }
    }

    #[test]
    fn git_must_be_new_enough() {
        for old in ["git version 2.30.2", "git version 2.37.9 (Apple Git-1)", "git version 1.99", "git", ""] {
            assert!(!is_new_enough(old), "{old}");
        }
        for new in ["git version 2.38.0", "git version 2.47.3", "git version 3.0"] {
            assert!(is_new_enough(new), "{new}");
        }
    }
}
