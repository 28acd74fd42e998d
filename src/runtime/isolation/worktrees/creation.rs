//! The folders that isolated tasks work in: how each is made, and what it has beside what git follows.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::executor::error::WorkError;
use rules::domain::TaskId;
use rules::engine::Committed;
use rules::mission::model::Isolation;
use rules::plan::{Origin, Plan};
use supervisor::files;
use supervisor::files::copy_file;
use supervisor::files::no_links::remove_folder;

use super::difference::MOST_NAMED;
use super::git::{Git, borrow, entries, quoted, refused};
use super::{BOUNDS, EXCLUDED, START, Worktrees, base_ref, commit_ref, prepared_ref};
use crate::runtime::isolation::protection::INCLUDED;

/// The largest list of such files that is read, in bytes.
const LONGEST_LIST: usize = 16 * 1024 * 1024;
/// Where a repository says in which others it finds objects.
const BORROWED: &str = "objects/info/alternates";
/// The branch that a new repository has checked out.
const BRANCH: &str = "refs/heads/master";

impl Worktrees {
    /// Makes the folder of a task ready for its next turn, and says whether any file was put there. What is there of its work
    /// stays; one whose work was merged begins with what was accepted since. Blocks.
    ///
    /// # Errors
    /// In the words of git, or of the system.
    pub fn create(&self, plan: &Plan, task: TaskId, known: &Committed) -> Result<bool, WorkError> {
        let made = match plan.task(task).isolation {
            Isolation::Shared => return Ok(false),
            Isolation::Worktree => self.create_worktree(plan, task, known)?,
            isolation => self.create_copy(plan, task, isolation)?,
        };
        if made && let Some(own) = &plan.task(task).workspace {
            let own = self.folder(task).join(own.as_ref());
            make(&own)?;
        }
        Ok(made)
    }

    fn create_worktree(&self, plan: &Plan, task: TaskId, known: &Committed) -> Result<bool, WorkError> {
        let (name, folder) = (task.0.to_string(), self.folder(task));
        let base = self.reference(&base_ref(task))?;
        let tip = self.tip()?;
        // One whose work was merged begins with what was accepted since.
        let goes_on = base.as_ref().filter(|base| !known.merged || **base == tip);
        let own = folder.join(".git");
        if is_folder(&own) && self.hidden.is_some() == own.join(BORROWED).exists() {
            // Since its repository was made checks came to be hidden, or are no more.
            let mut hidden = self.hidden.iter().flat_map(|hidden| &hidden.inner);
            hidden.try_for_each(|path| remove(&folder.join(path)))?;
            remove(&own)?;
        }
        if goes_on.is_some() && is_folder(&own) {
            return Ok(false);
        }
        let recorded = known.goes_on().map(|commit| commit.id.to_string());
        let (start, base) = match goes_on {
            Some(base) => (recorded.unwrap_or_else(|| base.clone()), None),
            None => match self.begins_with(plan, task)?.filter(|_| base.is_none()) {
                Some((work, below)) => (work, Some(below)),
                None => (tip.clone(), Some(tip)),
            },
        };
        let agent = &plan.worker_of(task).name;
        self.check_out_anew(plan, &name, &start, agent)?;
        if let Some(base) = base {
            self.set(&base_ref(task), &base, None)?;
        }
        Ok(true)
    }

    /// The work that a fixup is to mend, and what that lies on.
    fn begins_with(&self, plan: &Plan, task: TaskId) -> Result<Option<(String, String)>, WorkError> {
        let Some(failed) = to_mend(plan, task) else {
            return Ok(None);
        };
        let work = self.reference(&commit_ref(failed))?;
        Ok(work.zip(self.reference(&base_ref(failed))?))
    }

    /// The folder of a task that somebody removed, or put something else in place of, with what was committed last.
    pub fn restore(&self, plan: &Plan, task: TaskId, commit: &str) -> Result<(), WorkError> {
        let folder = self.folder(task);
        if is_folder(&folder) {
            return Ok(());
        }
        remove(&folder)?;
        let agent = &plan.worker_of(task).name;
        self.check_out_anew(plan, &task.0.to_string(), commit, agent)
    }

    /// Makes the folder of a task again that was removed once its work was accepted. Blocks.
    ///
    /// # Errors
    /// In the words of git, or of the system.
    pub fn restore_committed(&self, plan: &Plan, task: TaskId, known: &Committed) -> Result<(), WorkError> {
        match &known.commit {
            Some(commit) => self.restore(plan, task, &commit.id),
            None => Ok(()),
        }
    }

    /// Checks out all accepted work in a folder, for a look at all of it. Blocks.
    ///
    /// # Errors
    ///
    /// In the words of git, or of the system.
    pub fn check_out_accepted(&self, plan: &Plan, name: &str) -> Result<(), WorkError> {
        self.check_out_anew(plan, name, &self.tip()?, "quorum")?;
        self.clean(&self.root.join(name))
    }

    /// The commit of the accepted work.
    pub fn tip(&self) -> Result<String, WorkError> {
        let mut accepted = crate::locked(&self.accepted);
        self.tip_of(&mut accepted)
    }

    /// The commit of the accepted work, which is looked up once and kept in `accepted`.
    pub fn tip_of(&self, accepted: &mut Option<Box<str>>) -> Result<String, WorkError> {
        let tip = match accepted.take() {
            Some(tip) => tip.into(),
            None => self.resolve(START)?,
        };
        *accepted = Some(tip.as_str().into());
        Ok(tip)
    }

    /// The commit that the work of a task begins with, and the tree of all that lies in its folder then. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn start_of(&self, plan: &Plan, task: TaskId) -> Result<(String, String), WorkError> {
        let base = self.reference(&base_ref(task))?;
        let base = base.ok_or_else(|| refused("it is not known what it began with"))?;
        if plan.rules.worktrees.setup.is_none() {
            return Ok((base.clone(), base));
        }
        // What prepares a folder may leave files there that are to stay, and a look that was cut off others, that are not.
        let name = prepared_ref(task);
        if let Some(tree) = self.reference(&name)? {
            return Ok((base, tree));
        }
        self.within(task)?.run(["add", "-A"])?;
        let tree = self.within(task)?.line(["write-tree"])?;
        self.set(&name, &tree, None)?;
        Ok((base, tree))
    }

    /// Puts the folder of a task back to a tree of its own; what git ignores stays, and is nobody's work. Blocks.
    ///
    /// # Errors
    /// In the words of git, or of the system.
    pub fn put_back(&self, task: TaskId, tree: &str) -> Result<(), WorkError> {
        let folder = self.folder(task);
        self.check_out(&folder, tree)?;
        self.clean(&folder)?;
        self.is_ready(&task.0.to_string())
    }

    /// Removes what git does not follow in a folder, but for what it ignores, which was built there.
    pub fn clean(&self, folder: &Path) -> Result<(), WorkError> {
        self.at(folder)?.done(["clean", "-q", "-f", "-f", "-d"])
    }

    /// The files of a commit in a folder that has its own repository, and what it needs beside them.
    pub fn check_out_anew(
        &self,
        plan: &Plan,
        name: &str,
        commit: &str,
        agent: &str,
    ) -> Result<(), WorkError> {
        let folder = self.root.join(name);
        let git = folder.join(".git");
        let is_new = !is_folder(&git);
        if is_new {
            for old in [&git, &self.ready_mark(name), &folder.with_extension("index")] {
                remove(old)?;
            }
            make(&folder)?;
        }
        self.check_out(&folder, commit)?;
        if is_new {
            self.furnish(plan, &folder)?;
            let begins = |half: &Path| self.begin_history(&folder, half, commit);
            self.own_repository(&folder, agent, begins)?;
        }
        Ok(())
    }

    /// Puts the files into a worktree that git does not follow.
    fn furnish(&self, plan: &Plan, folder: &Path) -> Result<(), WorkError> {
        let (workspace, worktrees) = (&plan.rules.workspace, &plan.rules.worktrees);
        let included = included(workspace)?;
        let copied = worktrees.copy.iter().map(|path| PathBuf::from(&**path));
        for path in copied.chain(included) {
            let target = folder.join(&path);
            if fs::symlink_metadata(&target).is_err() {
                copy(&workspace.join(&path), &target, &|path| self.is_hidden(path))?;
            }
        }
        for path in &worktrees.link {
            let target = folder.join(path.as_ref());
            if fs::symlink_metadata(&target).is_err() {
                make_parent(&target)?;
                let source = workspace.join(path.as_ref());
                symlink(&source, &target).map_err(WorkError::file("link", &target))?;
            }
        }
        Ok(())
    }

    /// Lets a new repository find the commit that it begins with, which is named: one of ours, or one without the hidden files.
    fn begin_history(&self, folder: &Path, repository: &Path, tip: &str) -> Result<String, WorkError> {
        if let Some(alone) = self.alone(folder, repository, tip)? {
            return Ok(alone);
        }
        let borrowed = fs::read_to_string(self.repository().join(BORROWED))?;
        borrow(repository, &borrowed, &self.objects())?;
        self.share(BOUNDS, repository)?;
        Ok(tip.to_owned())
    }

    /// A repository for the agent: it may look at what was, and commit as it likes. Nothing of it is read again. `begins` has it
    /// find the commit that it begins with, and names that.
    pub fn own_repository(
        &self,
        folder: &Path,
        agent: &str,
        begins: impl FnOnce(&Path) -> Result<String, WorkError>,
    ) -> Result<(), WorkError> {
        // In one step, so that there is all of it or none.
        let name = folder.file_name().unwrap_or_default().display();
        let half = folder.with_file_name(format!("new.{name}.git"));
        let git = folder.join(".git");
        remove(&half)?;
        let template = self.root.join("template.git");
        if !is_folder(&template) {
            self.init(&half)?;
            let own = || Git::new().in_repository(&half);
            own().run(["config", "core.bare", "false"])?;
            own().run(["config", "user.email", "agent@quorum.invalid"])?;
            if fs::rename(&half, &template).is_err() {
                // Another task's has come first.
                remove(&half)?;
            }
        }
        copy(&template, &half, &|_| false)?;
        let tip = begins(&half)?;
        self.share(EXCLUDED, &half)?;
        let put = |name: &str, text: String| {
            let path = half.join(name);
            let file = fs::File::options().create(true).append(true).open(&path);
            let put = file.and_then(|mut file| file.write_all(text.as_bytes()));
            put.map_err(WorkError::file("write", &path))
        };
        put(BRANCH, format!("{tip}\n"))?;
        put("config", format!("[user]\n\tname = {}\n", quoted(agent)))?;
        copy(&folder.with_extension("index"), &half.join("index"), &|_| false)?;
        fs::rename(&half, &git).map_err(WorkError::file("make", &git))
    }

    /// A bare repository whose objects are named as the user's are.
    fn init(&self, repository: &Path) -> Result<(), WorkError> {
        let format = self.git().line(["rev-parse", "--show-object-format"])?;
        init(repository, &format)
    }

    /// A file of the run's repository, if it is there, for another one.
    fn share(&self, name: &str, repository: &Path) -> Result<(), WorkError> {
        let (ours, theirs) = (self.repository().join(name), repository.join(name));
        make_parent(&theirs)?;
        match fs::copy(&ours, &theirs) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(WorkError::file("copy to", &theirs)(error))
            }
            _ => Ok(()),
        }
    }

    /// A copy of the workspace, or an empty folder, for a task whose files nobody else needs.
    fn create_copy(&self, plan: &Plan, task: TaskId, isolation: Isolation) -> Result<bool, WorkError> {
        let (name, folder) = (task.0.to_string(), self.folder(task));
        let mark = self.ready_mark(&name);
        if mark.exists() && is_folder(&folder) {
            return Ok(false);
        }
        remove(&folder)?;
        let to_mend = to_mend(plan, task).map(|failed| self.folder(failed));
        match (isolation, to_mend.filter(|failed| is_folder(failed))) {
            (_, Some(failed)) => copy(&failed, &folder, &|_| false)?,
            (Isolation::Copy, None) => {
                let state = fs::canonicalize(self.state_folder())?;
                let is_state = |path: &Path| fs::canonicalize(path).is_ok_and(|path| path == state);
                let history = plan.rules.workspace.join(".git");
                copy(&plan.rules.workspace, &folder, &|path| {
                    path.is_dir() && is_state(path)
                        || self.is_hidden(path)
                        || self.hidden.is_some() && path == history
                })?;
            }
            _ => make(&folder)?,
        }
        self.is_ready(&name)?;
        Ok(true)
    }

    /// The first of the files that git ignores in the folder of a task and that were written there since it was ready. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn left_out(&self, task: TaskId) -> Result<Vec<String>, WorkError> {
        let list = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard"];
        let ignored = self.within(task)?.run(list)?;
        let (folder, ready) = (self.folder(task), changed_at(&self.ready_mark(&task.0.to_string())));
        let is_new = |path: &String| changed_at(&folder.join(path)) > ready;
        Ok(entries(&ignored).filter(is_new).take(MOST_NAMED).collect())
    }

    /// Everything that a folder needs is there.
    ///
    /// # Errors
    /// When that cannot be noted.
    pub fn is_ready(&self, name: &str) -> Result<(), WorkError> {
        let mark = self.ready_mark(name);
        replace(&mark, "")
    }

    /// The file that is there once a folder is ready for whoever works there.
    pub fn ready_mark(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.ready"))
    }

    /// Removes the folder of a task, or of all accepted work. Blocks.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn remove_folder(&self, name: &str) -> Result<(), WorkError> {
        for path in ["", ".index", ".ready", ".merging", ".hidden", ".carried", ".refused"]
            .map(|end| format!("{name}{end}"))
        {
            remove(&self.root.join(path))?;
        }
        Ok(())
    }
}

/// The failed task whose work a fixup is to mend.
fn to_mend(plan: &Plan, fixup: TaskId) -> Option<TaskId> {
    let from = plan.task(fixup).provenance.as_deref()?;
    from.source.filter(|_| from.origin == Origin::Fixup)
}

/// Makes a bare repository.
pub fn init(repository: &Path, format: &str) -> Result<(), WorkError> {
    // Git writes only in what is there.
    make(repository)?;
    let git = Git::new().in_repository(repository);
    let git = git.args(["init", "-q", "--bare", "--template=", "--initial-branch=master"]);
    git.done([format!("--object-format={format}")])
}

/// The first file that the mission wants copied or linked and that is not there, and what it is for.
pub fn missing(plan: &Plan) -> Option<String> {
    let worktrees = &plan.rules.worktrees;
    let copied = worktrees.copy.iter().map(|path| ("copy", path));
    let linked = worktrees.link.iter().map(|path| ("link", path));
    let mut all = copied.chain(linked);
    let (key, path) =
        all.find(|(_, path)| fs::symlink_metadata(plan.rules.workspace.join(path.as_ref())).is_err())?;
    Some(format!(
        "settings.worktree.{key} names {path}, and there is no such file or folder in {}",
        plan.rules.workspace.display()
    ))
}

/// Files of the workspace that git does not follow and that its list names.
fn included(workspace: &Path) -> Result<Vec<PathBuf>, WorkError> {
    if !workspace.join(INCLUDED).is_file() {
        return Ok(Vec::new());
    }
    let list = ["ls-files", "-z", "--others", "--ignored", "--exclude-from", INCLUDED];
    let named = Git::new().trusting().at(workspace).run(list)?;
    if named.stdout.len() > LONGEST_LIST {
        return Err(refused(format!("{INCLUDED} names too much: narrow its patterns")));
    }
    Ok(entries(&named).map(PathBuf::from).filter(|path| !path.starts_with(".polpo")).collect())
}

/// Excludes the files that are put into worktrees from outside, which are nobody's work: neither repository
/// follows them.
pub fn exclude(plan: &Plan, of_user: &str, repository: &Path) -> Result<(), WorkError> {
    let worktrees = &plan.rules.worktrees;
    let named = worktrees.copy.iter().chain(&worktrees.link);
    let mut lines: String = named.map(|path| format!("/{}\n", escaped(path))).collect();
    lines.push_str(&patterns(&plan.rules.workspace.join(INCLUDED))?);
    let path = repository.join(EXCLUDED);
    make_parent(&path)?;
    replace(&path, &format!("{of_user}\n{lines}"))
}

/// The text of a file of patterns; empty where it is not there.
pub fn patterns(path: &Path) -> Result<String, WorkError> {
    use io::ErrorKind::{NotADirectory, NotFound};
    // People keep such files behind links.
    let read = fs::canonicalize(path).and_then(|path| files::read_regular(&path, LONGEST_LIST as u64));
    match read {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(String::new()),
        Err(error) => Err(WorkError::file("read", path)(error)),
    }
}

/// Writes a file of ours whole, or not at all.
pub fn replace(path: &Path, text: &str) -> Result<(), WorkError> {
    files::replace_file(path, text.as_bytes()).map_err(WorkError::file("write", path))
}

/// A path as a pattern that names nothing else.
fn escaped(path: &str) -> String {
    let mut pattern = String::new();
    for character in path.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\' | ' ' | '!' | '#') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// Copies a file or a folder, and shares what it holds where the file system can. A file keeps its time, so that what was built of
/// older sources is not taken for newer than these. Links stay links; what is neither file, folder nor link is left out.
pub fn copy(from: &Path, to: &Path, is_left_out: &dyn Fn(&Path) -> bool) -> Result<(), WorkError> {
    if is_left_out(from) {
        return Ok(());
    }
    let found = fs::symlink_metadata(from).map_err(WorkError::file("read", from))?;
    let kind = found.file_type();
    make_parent(to)?;
    if kind.is_symlink() {
        let target = fs::read_link(from).map_err(WorkError::file("read", from))?;
        symlink(target, to).map_err(WorkError::file("link", to))
    } else if kind.is_file() {
        let copied = copy_file(from, to);
        let dated = copied.and_then(|()| fs::File::open(to)?.set_modified(found.modified()?));
        dated.map_err(WorkError::file("copy to", to))
    } else if kind.is_dir() {
        make(to)?;
        for entry in fs::read_dir(from).map_err(WorkError::file("read", from))? {
            let entry = entry.map_err(WorkError::file("read", from))?;
            copy(&entry.path(), &to.join(entry.file_name()), is_left_out)?;
        }
        fs::set_permissions(to, found.permissions()).map_err(WorkError::file("make", to))
    } else {
        Ok(())
    }
}

pub fn make_parent(path: &Path) -> Result<(), WorkError> {
    make(path.parent().unwrap_or(path))
}

/// Makes a folder, and those above it.
pub fn make(path: &Path) -> Result<(), WorkError> {
    fs::create_dir_all(path).map_err(WorkError::file("make", path))
}

/// When a file, or what is known of it, was changed last: seconds and nanoseconds; `None` where there is none.
fn changed_at(path: &Path) -> Option<(i64, i64)> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.ctime(), found.ctime_nsec()))
}

/// Whether there is a folder, and no link to one.
pub fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Removes whatever is there.
pub fn remove(path: &Path) -> Result<(), WorkError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_folder(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(WorkError::file("remove", path)(error)),
        _ => Ok(()),
    }
}
