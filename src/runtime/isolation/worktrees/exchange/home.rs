//! The side of the session: the folder of a task is handed out, and what a worker has made of it is brought home.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::executor::error::WorkError;
use rules::domain::{RunId, TaskId};
use rules::plan::Plan;
use supervisor::files::if_there;
use supervisor::files::no_links::open_folders;

use super::super::creation::{is_folder, make, make_parent, patterns, remove, replace};
use super::super::difference::{MOST_NAMED, NotCommitted};
use super::super::git::Git;
use super::super::merge::{add_all, fault_of_work};
use super::super::{BOUNDS, EXCLUDED, Worktrees, base_ref};
use super::carried::{CommitHead, ListedCommit, link_that_leads_out};
use super::commit_trees::{TreeFiles, TreeListing, told};
use super::files::{CarriedFiles, EXCLUDE, LARGEST, NAME, REFUSED};
use super::{CarriedName, CommitId, GitExchange, init_exact};

/// The index of what lies in the folder of a task, byte by byte.
const INDEX: &str = "carried";
/// What says beside the folder of a task why nothing of its work could be brought home.
const REFUSAL: &str = "refused";
/// What has the exchange of a run, in the repository by which folders are handed over.
const EXCHANGE: &str = "exchange.json";
/// Where the repository finds the objects of the worktrees.
const WORKTREES: &str = "../../repository.git/objects\n";
/// The longest sentence of a worker that is read, in bytes.
const LONGEST_REFUSAL: u64 = 4 << 10;

impl Worktrees {
    /// The bare repository of the run by which folders are handed over.
    pub fn carried_repository(&self) -> PathBuf {
        self.root.join("carried.git")
    }

    /// These worktrees by that repository, which finds the objects of theirs. It is made where it is missing.
    fn carried(&self) -> Result<Self, WorkError> {
        let carried = Self { bare: self.carried_repository(), ..self.clone() };
        if !is_folder(&carried.bare) {
            let is_there = is_folder(&self.repository());
            let (format, borrowed) = if is_there {
                (self.git().line(["rev-parse", "--show-object-format"])?, WORKTREES)
            } else {
                ("sha1".to_owned(), "")
            };
            init_exact(&carried.bare, &format, borrowed)?;
        }
        Ok(carried)
    }

    /// Git in the folder of a task as it is carried: nothing is followed here that is not followed in worktrees.
    fn carrying(&self, task: TaskId) -> Result<Git, WorkError> {
        let git = self.at_index(&self.folder(task), INDEX)?;
        let excluded = self.root.join("repository.git").join(EXCLUDED);
        Ok(if excluded.exists() { git.excluding(&excluded) } else { git })
    }

    /// The tree of what lies in the folder of a task, but for what git ignores and what is kept from workers.
    fn tree_of_folder(
        &self,
        (plan, task, left_out): (&Plan, TaskId, &[PathBuf]),
    ) -> Result<String, NotCommitted> {
        let (git, folder) = (|| self.carrying(task), self.folder(task));
        add_all(git, &folder, plan.rules.worktrees.max_file)?;
        let hidden = self.hidden.iter().flat_map(|hidden| &hidden.inner);
        let mut hidden: Vec<&Path> = hidden.map(Path::new).collect();
        let folder = fs::canonicalize(&folder).map_err(WorkError::file("read", &folder))?;
        hidden.extend(left_out.iter().filter_map(|path| path.strip_prefix(&folder).ok()));
        if !hidden.is_empty() {
            git()?.args(["update-index", "--force-remove", "--"]).done(hidden)?;
        }
        Ok(git()?.line(["write-tree"])?)
    }

    /// The commit that the work of a task lies on, and the tree of what lies in its folder; before it has one, what it would begin with.
    fn given(
        &self,
        carried: &Self,
        of_task: (&Plan, TaskId, &[PathBuf]),
    ) -> Result<(Option<String>, String), NotCommitted> {
        let (plan, task, _) = of_task;
        let (folder, has_worktree) = (self.folder(task), plan.task(task).has_worktree());
        let base = if has_worktree { self.reference(&base_ref(task))? } else { None };
        if let Some(base) = &base {
            // What git follows although it ignores it.
            carried.carrying(task)?.done(["read-tree", "--reset", base])?;
        } else if !folder.exists() && !self.ready_mark(&task.0.to_string()).exists() {
            if has_worktree {
                let tip = self.tip()?;
                let tree = self.without_hidden(&folder, &self.tree_of(&tip)?)?;
                return Ok((Some(tip), tree));
            }
            let nothing = folder.with_extension("nothing");
            return Ok((None, carried.git().indexed(&nothing).line(["write-tree"])?));
        }
        Ok((base, carried.tree_of_folder(of_task)?))
    }

    /// Commits the folder of a task as it lies there, but for what is left out, with `files` beside it, and pushes that to where nothing is yet: all but what
    /// git ignores and what is kept from workers. Blocks.
    ///
    /// # Errors
    /// What cannot be handed out of what lies there, and why the exchange does not take it.
    pub fn hand_out(
        &self,
        exchange: &GitExchange,
        of_task: (&Plan, TaskId, &[PathBuf]),
        name: &CarriedName,
        files: &CarriedFiles,
    ) -> Result<CommitId, NotCommitted> {
        let (carried, (plan, task, _)) = (self.carried()?, of_task);
        let lock = self.folder(task).with_extension("handed");
        // Several may be asked about one task at once.
        let lock = fs::File::create(&lock).map_err(WorkError::file("make", &lock))?;
        lock.lock().map_err(WorkError::from)?;
        let (base, work) = self.given(&carried, of_task)?;
        let excluded = patterns(&self.repository().join(EXCLUDED))?;
        let largest = plan.rules.worktrees.max_file.to_string();
        let place = self.root.join(format!("{}-beside", task.0));
        let ours = [(EXCLUDE, &*excluded), (LARGEST, &*largest), (NAME, name.as_str())];
        let beside = carried.tree_of_files(&place, files, &ours)?;
        let tree = carried.put_beside(&place, [&work, &beside])?;
        // A history with files that are kept from workers, or one that is cut, stays here.
        let stays = self.hidden.is_some() || self.repository().join(BOUNDS).exists();
        let parents: Vec<&str> = base.as_deref().filter(|_| !stays).into_iter().collect();
        let commit = CommitId::try_from(carried.commit_tree(plan, task, &tree, &parents)?)?;
        let listed = ListedCommit::read(carried.git(), &commit)?;
        let listing = listed.listing()?;
        let nothing = TreeListing::default();
        if let Some(why) = link_that_leads_out(|| carried.git(), [&nothing, &listing])? {
            return Err(NotCommitted::Work(why));
        }
        let given = name.given();
        // With it there, no later push has to bring what this one brings. One call only makes it.
        let begun = carried.bare.join(name.begun());
        let _held = (!begun.exists()).then(|| crate::locked(&self.accepted));
        let mut lines = vec![format!("{}:{given}", commit.as_str())];
        if !begun.exists() {
            replace(
                &carried.bare.join(EXCHANGE),
                &serde_json::to_string(exchange).map_err(WorkError::from)?,
            )?;
            lines.push(format!("+{}:{}", commit.as_str(), name.begun()));
        }
        exchange.push(&carried.bare, Some(&given), &lines)?;
        for reference in [&begun, &carried.bare.join(&given)] {
            make_parent(reference)?;
            replace(reference, &format!("{}\n", commit.as_str()))?;
        }
        Ok(commit)
    }

    /// Removes what the run has left in its exchange, if it has used one. Blocks.
    ///
    /// # Errors
    /// In the words of git or of the system.
    pub(in super::super) fn forget_exchange(&self, run: &RunId) -> Result<(), WorkError> {
        let repository = self.carried_repository();
        let note = repository.join(EXCHANGE);
        let exchange = if_there(fs::read(&note)).map_err(WorkError::file("read", &note))?;
        let exchange = exchange.map(|text| serde_json::from_slice::<GitExchange>(&text));
        match exchange.transpose()? {
            Some(exchange) => exchange.forget_run(&repository, run),
            None => Ok(()),
        }
    }

    /// The tree of a folder and of the files that go with it.
    pub(super) fn put_beside(&self, place: &Path, [work, beside]: [&str; 2]) -> Result<String, WorkError> {
        let list = place.with_extension("list");
        fs::write(&list, format!("040000 tree {beside}\tq\n040000 tree {work}\tw\n"))
            .map_err(WorkError::file("write", &list))?;
        let tree = self.git().reading(&list).line(["mktree"])?;
        remove(&list)?;
        Ok(tree)
    }

    /// Makes the folder of a task what a worker has handed back of it: `given` is what was handed out. What git ignores stays; where
    /// that is refused nothing is written. Blocks.
    ///
    /// # Errors
    /// What is wrong with what came home, and why it could not be brought.
    pub fn bring_home(
        &self,
        exchange: &GitExchange,
        (plan, task): (&Plan, TaskId),
        commits: [&CommitId; 2],
    ) -> Result<(), NotCommitted> {
        let brought = self.bring_commit(exchange, (plan, task), commits);
        if let Err(NotCommitted::Work(why)) = &brought {
            // What lies here is not the work, so that it cannot be taken for it.
            replace(&self.folder(task).with_extension(REFUSAL), why)?;
        }
        brought
    }

    /// Whether the work of a task has come home, where it was away.
    ///
    /// # Errors
    /// Why nothing of it could be brought.
    pub(in super::super) fn came_home(&self, task: TaskId) -> Result<(), NotCommitted> {
        let note = self.folder(task).with_extension(REFUSAL);
        match if_there(fs::read_to_string(&note)).map_err(WorkError::file("read", &note))? {
            Some(why) => Err(NotCommitted::Work(why)),
            None => Ok(()),
        }
    }

    /// Notes that a task is worked on anew: what came home of it before counts no more.
    ///
    /// # Errors
    /// In the words of the system.
    pub fn begins_anew(&self, task: TaskId) -> Result<(), WorkError> {
        remove(&self.folder(task).with_extension(REFUSAL))
    }

    fn bring_commit(
        &self,
        exchange: &GitExchange,
        (plan, task): (&Plan, TaskId),
        [given, out]: [&CommitId; 2],
    ) -> Result<(), NotCommitted> {
        let carried = self.carried()?;
        let (folder, file) = out.as_str().split_at(2);
        // Whoever stands here for the command has fetched it mostly.
        if !carried.bare.join("objects").join(folder).join(file).exists() {
            exchange.fetch(&carried.bare, out)?;
        }
        let git = || carried.git();
        let theirs = |why: WorkError| fault_of_work(git(), &why);
        let before = ListedCommit::read(git(), given)?;
        let before = before.listing()?;
        if CommitHead::read(git(), out).map_err(theirs)?.parents != [given.as_str()] {
            let why = "what came home is not made of what was handed out".to_owned();
            return Err(NotCommitted::Work(why));
        }
        let after = ListedCommit::read(git(), out).map_err(theirs)?;
        let after = after.listing()?;
        let refusal = after.beside.get(REFUSED.as_bytes());
        if let Some(refusal) = refusal.filter(|refusal| refusal.size <= LONGEST_REFUSAL) {
            let why = git().line(["cat-file", "blob", refusal.id])?;
            return Err(NotCommitted::Work(why));
        }
        let largest = plan.rules.worktrees.max_file;
        after.is_fit(&before, largest)?;
        if let Some(why) = link_that_leads_out(git, [&before, &after]).map_err(theirs)? {
            return Err(NotCommitted::Work(why));
        }
        let folder = self.folder(task);
        if !is_folder(&folder) {
            carried.lay_out_again(plan, (self, task), before.trees[0])?;
        }
        if !folder.with_extension(INDEX).exists() {
            let learn = carried.carrying(task)?;
            learn.done(["read-tree", "--reset", before.trees[0]])?;
        }
        let now = carried.tree_of_folder((plan, task, &[]))?;
        let wanted = carried.wanted(task, &now, [&before, &after])?;
        let follow = || carried.carrying(task)?.done(["read-tree", "-m", "-u", &now, &wanted]);
        let followed = follow().or_else(|_| {
            // Whoever prepared it may have closed folders.
            open_folders(&folder);
            follow()
        });
        followed.map_err(theirs)
    }

    /// The folder of a task that somebody removed, or put something else in place of, as it was handed out.
    fn lay_out_again(
        &self,
        plan: &Plan,
        (ours, task): (&Self, TaskId),
        given: &str,
    ) -> Result<(), WorkError> {
        let folder = self.folder(task);
        match ours.reference(&base_ref(task))?.filter(|_| plan.task(task).has_worktree()) {
            Some(base) => ours.restore(plan, task, &base)?,
            None => {
                remove(&folder)?;
                make(&folder)?;
            }
        }
        remove(&folder.with_extension(INDEX))?;
        self.carrying(task)?.done(["read-tree", "--reset", "-u", given])
    }

    /// The tree that the folder of a task is to be: what came home, with what was changed here meanwhile. What is kept from workers is
    /// not brought.
    fn wanted(
        &self,
        task: TaskId,
        now: &str,
        [before, after]: [&TreeListing<'_>; 2],
    ) -> Result<String, NotCommitted> {
        let hidden = self.hidden.iter().flat_map(|hidden| &hidden.inner);
        let hidden: BTreeSet<&[u8]> = hidden.map(|path| path.as_bytes()).collect();
        if before.trees[0] == now && !after.work.keys().any(|path| hidden.contains(path)) {
            return Ok(after.trees[0].to_owned());
        }
        let here = self.git().run(["ls-tree", "-r", "-z", "-l", "--full-tree", now])?;
        let here = TreeListing::of_tree(&here.stdout);
        let (wanted, lost) = together(&before.work, &here, &after.work);
        if !lost.is_empty() {
            let named: Vec<String> = lost.iter().take(MOST_NAMED).map(|path| told(path)).collect();
            return Err(NotCommitted::Work(format!(
                "{} was changed here while the work was away, which changed it as well: nothing of that work was brought home",
                named.join(", ")
            )));
        }
        let kept = wanted.iter().filter(|(path, _)| !hidden.contains(*path));
        let mut lines = Vec::new();
        for (path, entry) in kept {
            lines.extend(format!("{} {}\t", entry.mode, entry.id).bytes());
            lines.extend([*path, b"\0"].concat());
        }
        let place = self.folder(task).with_extension("wanted");
        fs::write(&place, lines).map_err(WorkError::file("write", &place))?;
        let index = place.with_extension("wanted-index");
        remove(&index)?;
        let git = || self.git().indexed(&index);
        git().reading(&place).done(["update-index", "-z", "--index-info"])?;
        let tree = git().line(["write-tree"])?;
        remove(&index)?;
        remove(&place)?;
        Ok(tree)
    }
}

/// What two sides have made of the same files, and the paths that both have changed.
fn together<'l>(
    before: &TreeFiles<'l>,
    here: &TreeFiles<'l>,
    away: &TreeFiles<'l>,
) -> (TreeFiles<'l>, BTreeSet<&'l [u8]>) {
    let (mut both, mut lost) = (away.clone(), BTreeSet::new());
    for path in before.keys().chain(here.keys()) {
        let (was, is, came) = (before.get(path), here.get(path), away.get(path));
        if is == was || is == came {
            continue;
        }
        match is {
            _ if came != was => drop(lost.insert(*path)),
            Some(entry) => drop(both.insert(path, *entry)),
            None => drop(both.remove(path)),
        }
    }
    // A file on one side, a folder on the other.
    let slashes = |path: &'l [u8]| (0..path.len()).filter(move |at| path[*at] == b'/');
    let is_below = |path: &&'l [u8]| slashes(path).any(|at| both.contains_key(&path[..at]));
    lost.extend(both.keys().copied().filter(is_below));
    (both, lost)
}
