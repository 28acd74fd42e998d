//! The side of a worker: what was handed out is laid out in a folder, and what an agent has made of it is handed back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::executor::error::WorkError;
use supervisor::files;

use super::super::creation::{is_folder, make, make_parent, patterns, remove, replace};
use super::super::difference::NotCommitted;
use super::super::git::{Git, refused};
use super::super::hidden::by_quorum;
use super::super::merge::{add_all, fault_of_work};
use super::super::{EXCLUDED, Worktrees};
use super::carried::{CommitHead, ListedCommit, link_that_leads_out};
use super::commit_trees::TreeListing;
use super::files::{CarriedFiles, EXCLUDE, LARGEST, NAME, REFUSED};
use super::{CarriedName, CommitId, GitExchange, init_exact};

/// The longest note of the exchange beside a folder that is read, in bytes.
const LONGEST_NOTE: u64 = 256;
/// The moment of each commit of a worker: one that is made again of the same files is the same.
const MOMENT: &str = "1000000000 +0000";

/// A folder that was laid out for an agent.
#[derive(Debug, Clone)]
pub struct CheckedOut {
    /// The folder that the agent works in on the worker.
    pub folder: PathBuf,
    /// The files that came with it.
    pub files: PathBuf,
    /// The name under which it is handed back.
    name: CarriedName,
    /// How many bytes a file in it may have.
    largest: u64,
    /// What it was made of.
    given: CommitId,
    /// The tree that lay in the folder then.
    begun: String,
    cache: Worktrees,
}

impl GitExchange {
    /// Lays out a commit in `place`, which is to be new: `w` is the folder for an agent, with a repository of its own, `q` the
    /// files that go with it. `cache` is a folder of the worker, where what was fetched is kept. Blocks.
    ///
    /// # Errors
    /// In the words of git or of the system, and what is wrong with the commit.
    pub fn check_out(&self, commit: &CommitId, cache: &Path, place: &Path) -> Result<CheckedOut, WorkError> {
        let root = cache.join(commit.format());
        let bare = root.join("repository.git");
        init_exact(&bare, commit.format(), "")?;
        self.fetch(&bare, commit)?;
        let cache = Worktrees {
            state: root.clone(),
            root,
            bare,
            run: String::new(),
            accepted: Arc::default(),
            hidden: None,
        };
        let git = || cache.git();
        let (head, listed) = (CommitHead::read(git(), commit)?, ListedCommit::read(git(), commit)?);
        let (listing, nothing) = (listed.listing().map_err(as_refused)?, TreeListing::default());
        if let Some(why) = link_that_leads_out(git, [&nothing, &listing])? {
            return Err(refused(why));
        }
        // What comes next lies mostly on one of these, and then only the rest is fetched.
        let last = cache.bare.join(format!("refs/quorum/last/{}", &commit.as_str()[..2]));
        make_parent(&last)?;
        replace(&last, &format!("{}\n", commit.as_str()))?;
        let [folder, files] = ["w", "q"].map(|name| place.join(name));
        for (folder, tree) in [&folder, &files].into_iter().zip(listing.trees) {
            make(folder)?;
            cache.check_out(folder, tree)?;
        }
        let begins = |half: &Path| {
            let begins = match head.parents.as_slice() {
                [base] => base.clone(),
                _ => cache.commit_alone(listing.trees[0])?,
            };
            cache.pack(half, &begins)?;
            let excluded = half.join(EXCLUDED);
            make_parent(&excluded)?;
            replace(&excluded, &patterns(&files.join(EXCLUDE))?)?;
            Ok(begins)
        };
        cache.own_repository(&folder, &head.author, begins)?;
        let beside = |name: &str| {
            let read = files::read_regular(&files.join(name), LONGEST_NOTE);
            let read = read.map_err(WorkError::lost(format!("{name} of what was handed out")))?;
            Ok::<_, WorkError>(String::from_utf8_lossy(&read).into_owned())
        };
        let largest = beside(LARGEST)?.parse();
        let name = CarriedName::try_from(beside(NAME)?)?;
        Ok(CheckedOut {
            name,
            largest: largest.map_err(|_| refused("it is not known how large a file may be"))?,
            folder,
            files,
            given: commit.clone(),
            begun: listing.trees[0].to_owned(),
            cache,
        })
    }

    /// Commits what lies in an agent's folder, but for what git ignores, with `outputs` beside it, and pushes that to where nothing
    /// is yet. Work that cannot be committed is not brought home: the commit says why. Blocks.
    ///
    /// # Errors
    /// In the words of git or of the system, and where something was handed back already.
    pub fn hand_back(&self, work: &CheckedOut, outputs: &CarriedFiles) -> Result<CommitId, WorkError> {
        let (cache, place) = (&work.cache, work.folder.with_file_name("w-beside"));
        let given = work.given.as_str();
        let commit = |tree: &str, refusal: &[(&str, &str)]| {
            let beside = cache.tree_of_files(&place, outputs, refusal)?;
            let root = cache.put_beside(&place, [tree, &beside])?;
            let git = by_quorum(cache.git()).env("GIT_AUTHOR_DATE", MOMENT).env("GIT_COMMITTER_DATE", MOMENT);
            let commit = ["commit-tree", &root, "-p", given, "-m", "what the work has left"];
            CommitId::try_from(git.line(commit)?)
        };
        let made = work.tree().and_then(|tree| {
            let made = commit(&tree, &[])?;
            let found = ListedCommit::read(cache.git(), &made);
            let found = found.map_err(|why| fault_of_work(cache.git(), &why))?;
            found.listing()?;
            Ok(made)
        });
        let commit = match made {
            Ok(made) => made,
            Err(NotCommitted::Work(why)) => commit(&work.begun, &[(REFUSED, &why)])?,
            Err(NotCommitted::Git(why)) => return Err(why),
        };
        let left = work.name.left();
        self.push(&cache.bare, Some(&left), &[format!("{}:{left}", commit.as_str())])?;
        Ok(commit)
    }

    /// Lays the files that were handed back with `out` in a folder, which is made: at most `most` bytes. `repository` is one of ours;
    /// `given` is what was handed out. Blocks.
    ///
    /// # Errors
    /// In the words of git or of the system, and what is wrong with the commit.
    pub fn outputs(
        &self,
        repository: &Path,
        [given, out]: [&CommitId; 2],
        to: &Path,
        most: u64,
    ) -> Result<(), WorkError> {
        self.fetch(repository, out)?;
        let git = || Git::new().in_repository(repository).cut_off_with_us();
        if CommitHead::read(git(), out)?.parents != [given.as_str()] {
            return Err(refused("what came home is not made of what was handed out"));
        }
        let listed = ListedCommit::read(git(), out)?;
        let listing = listed.listing().map_err(as_refused)?;
        let all = listing.beside.values().map(|entry| entry.size).fold(0, u64::saturating_add);
        if all > most {
            return Err(refused(format!("what came home beside the work has {all} bytes, more than {most}")));
        }
        make(to)?;
        let index = to.with_extension("index");
        remove(&index)?;
        let git = git().env("GIT_WORK_TREE", to).indexed(&index).at(to);
        git.done(["read-tree", "--reset", "-u", listing.trees[1]])?;
        remove(&index)
    }
}

/// What is wrong with a commit that is not for an agent to mend.
fn as_refused(why: NotCommitted) -> WorkError {
    match why {
        NotCommitted::Work(why) => refused(why),
        NotCommitted::Git(why) => why,
    }
}

impl CheckedOut {
    /// The tree of what lies in the folder.
    fn tree(&self) -> Result<String, NotCommitted> {
        let excluded = self.files.join(EXCLUDE);
        let git = || Ok(self.cache.at(&self.folder)?.excluding(&excluded));
        if !is_folder(&self.folder) {
            return Err(NotCommitted::Work("the folder of the work is gone".to_owned()));
        }
        add_all(git, &self.folder, self.largest)?;
        Ok(git()?.line(["write-tree"])?)
    }
}
