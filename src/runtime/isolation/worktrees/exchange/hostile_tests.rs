//! What a worker could put into an exchange that is not ours: none of it is written at home, and each is refused in words.

use std::path::PathBuf;

use super::super::random_changes_tests::lying_in;
use super::tests::{Away, LARGEST, Scene, put, work_refused};
use super::*;
use crate::runtime::isolation::worktrees::difference::NotCommitted;
use rules::domain::TaskId;

/// An entry of a tree: its mode, its name, and the object.
type Entry = (&'static str, Vec<u8>, String);

impl Scene {
    /// An object of the exchange, whatever it is.
    fn object(&self, kind: &str, bytes: &[u8]) -> String {
        let make = ["hash-object", "-w", "--literally", "--stdin", "-t", kind];
        let (is_good, said) = self.try_plain("exchange.git", &make, bytes);
        assert!(is_good, "{said}");
        said
    }

    fn blob(&self, bytes: &[u8]) -> String {
        self.object("blob", bytes)
    }

    /// A tree with these entries in this order.
    fn tree(&self, entries: &[Entry]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend([mode.as_bytes(), b" ", name, b"\0"].concat());
            let digits = id.as_bytes().chunks(2);
            bytes.extend(
                digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()),
            );
        }
        self.object("tree", &bytes)
    }

    /// A commit of work and of what is beside it, on these.
    fn forged(&self, work: &str, beside: &str, parents: &[&str]) -> CommitId {
        self.commit_of(&self.tree(&[folder("q", beside), folder("w", work)]), parents)
    }

    fn commit_of(&self, tree: &str, parents: &[&str]) -> CommitId {
        let parents = parents.iter().flat_map(|parent| ["-p", parent]);
        let arguments: Vec<&str> = ["commit-tree", "-m", "forged", tree].into_iter().chain(parents).collect();
        CommitId::try_from(self.plain("exchange.git", &arguments)).unwrap()
    }
}

fn folder(name: &str, tree: &str) -> Entry {
    ("40000", name.into(), tree.to_owned())
}

fn file(name: impl AsRef<[u8]>, blob: &str) -> Entry {
    ("100644", name.as_ref().to_vec(), blob.to_owned())
}

fn link(name: &str, blob: &str) -> Entry {
    ("120000", name.into(), blob.to_owned())
}

/// A task whose folder was handed out, and all that lies around it.
struct Home {
    scene: Scene,
    away: Away,
    folder: PathBuf,
}

impl Home {
    fn new() -> Self {
        let scene = Scene::new();
        let folder = scene.folder(0);
        put(scene.place(), "outside", "outside\n");
        let away = scene.hand_out(0, 1, &Vec::new()).unwrap();
        Self { scene, away, folder }
    }

    /// Brings such work home, and nothing is written.
    #[track_caller]
    fn refused(&self, work: &[Entry]) -> String {
        let commit =
            self.scene.forged(&self.scene.tree(work), &self.scene.tree(&[]), &[self.away.given.as_str()]);
        self.refused_commit(&commit)
    }

    #[track_caller]
    fn refused_commit(&self, commit: &CommitId) -> String {
        let outside = || {
            let mut all = lying_in(self.scene.place());
            let ours = ["run/carried.git", "run/0.carried", "run/0.refused"];
            all.retain(|path, _| !ours.iter().any(|own| path.starts_with(own)));
            all
        };
        let before = (lying_in(&self.folder), outside());
        let why = work_refused(self.scene.bring_home(0, &self.away, commit));
        let after = (lying_in(&self.folder), outside());
        assert!(before == after, "something was written: {why}");
        // What lies here is not taken for that work.
        let came_home = self.scene.worktrees.came_home(TaskId(0));
        assert_eq!(work_refused(came_home), why);
        why
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let home = Home::new();
    let scene = &home.scene;
    let blob = scene.blob(b"evil");
    let inner = scene.tree(&[file("config", &blob)]);
    for (entry, words) in [
        (file("..", &blob), ".. leads out of its folder"),
        (folder("..", &inner), ".. leads out of its folder"),
        (file(".", &blob), ". leads out of its folder"),
        (file("../../outside", &blob), "../../outside has a name that is a path"),
        (file("/etc/evil", &blob), "/etc/evil has a name that is a path"),
        (file("a/b", &blob), "a/b has a name that is a path"),
        (folder(".git", &inner), ".git is what git keeps for itself"),
        (folder(".GIT", &inner), ".GIT is what git keeps for itself"),
        (file(".Git", &blob), ".Git is what git keeps for itself"),
        (folder("git~1", &inner), "git~1 is what git keeps for itself"),
        (folder(".git. ", &inner), ".git.  is what git keeps for itself"),
        (folder("a\\.git", &inner), "a\\.git is what git keeps for itself"),
        (folder(".g\u{200c}it", &inner), ".g\u{200c}it is what git keeps for itself"),
        (
            file(b"n\xff", &blob),
            "n\u{fffd} has a name that is not UTF-8: give it another one, or leave it as it was",
        ),
    ] {
        assert_eq!(home.refused(&[entry]), words);
    }
    let deep = scene.tree(&[folder(".git", &inner)]);
    let deep = scene.tree(&[folder("sub", &deep)]);
    assert_eq!(home.refused(&[folder("dir", &deep)]), "dir/sub/.git is what git keeps for itself");
    let long = "n".repeat(256);
    assert_eq!(home.refused(&[file(&long, &blob)]), format!("{long} has a name that is too long"));
}

#[test]
fn links_that_lead_out_are_refused() {
    let home = Home::new();
    let scene = &home.scene;
    for (target, words) in [
        (&b"/etc/passwd"[..], "l is a link to /etc/passwd, which lies outside of the repository"),
        (b"..", "l is a link to .., which lies outside of the repository"),
        (b"../../outside", "l is a link to ../../outside, which lies outside of the repository"),
        (b"a/../../x", "l is a link to a/../../x, which lies outside of the repository"),
        (b".git/config", "l is a link to .git/config, which lies outside of the repository"),
        (b".GIT", "l is a link to .GIT, which lies outside of the repository"),
        (b"", "l is a link that names nothing"),
        (b"..\0a", "l is a link that names nothing"),
    ] {
        assert_eq!(home.refused(&[link("l", &scene.blob(target))]), words);
    }
    // One that goes through another one, which goes up.
    let within = scene.tree(&[link("up", &scene.blob(b".."))]);
    let chain = [folder("d", &within), link("e", &scene.blob(b"d/up/../x"))];
    assert_eq!(home.refused(&chain), "e is a link to d/up/../x, which lies outside of the repository");
    let endless = scene.blob(&[b'a'; 5_000]);
    assert_eq!(home.refused(&[link("l", &endless)]), "l is a link of 5000 bytes");
    // A folder that is a link, and a file below it.
    let below = scene.tree(&[file("x", &scene.blob(b"evil"))]);
    let twice = [link("d", &scene.blob(b"kept")), folder("d", &below)];
    assert_eq!(home.refused(&twice), "d stands twice, or in the wrong place, in its tree");
}

#[test]
fn trees_that_git_would_not_make_are_refused() {
    let home = Home::new();
    let scene = &home.scene;
    let (blob, given) = (scene.blob(b"evil"), home.away.given.as_str());
    let inner = scene.tree(&[file("x", &blob)]);
    assert_eq!(
        home.refused(&[("160000", "sub".into(), given.to_owned())]),
        "sub is a repository of its own: remove its `.git`"
    );
    for twice in [
        [file("a", &blob), file("a", &scene.blob(b"two"))],
        [file("a", &blob), folder("a", &inner)],
        [folder("a", &inner), folder("a", &inner)],
    ] {
        assert_eq!(home.refused(&twice), "a stands twice, or in the wrong place, in its tree");
    }
    let unsorted = [file("b", &blob), file("a", &blob)];
    assert_eq!(home.refused(&unsorted), "a stands twice, or in the wrong place, in its tree");
    // Git takes what is neither file, link nor folder for another repository.
    for mode in ["60000", "20000", "0"] {
        let why = home.refused(&[(mode, "m".into(), blob.clone())]);
        assert_eq!(why, "m is a repository of its own: remove its `.git`", "{mode}");
    }
    let large = scene.blob(&vec![b'x'; usize::try_from(LARGEST).unwrap() + 1]);
    assert_eq!(
        home.refused(&[file("large", &large)]),
        "large has 4194305 bytes, more than settings.worktree.maxFile (4194304 bytes): remove it"
    );
    let beside = [folder("q", &scene.tree(&[])), folder("w", &inner), folder("x", &inner)];
    assert_eq!(
        home.refused_commit(&scene.commit_of(&scene.tree(&beside), &[given])),
        "x lies beside the work"
    );
    let beside = scene.tree(&[link("out", &scene.blob(b"/etc/passwd"))]);
    assert_eq!(home.refused_commit(&scene.forged(&inner, &beside, &[given])), "out is a link");
    let said = scene.tree(&[file("exchange.refused", &scene.blob(b"it has a pipe"))]);
    assert_eq!(home.refused_commit(&scene.forged(&inner, &said, &[given])), "it has a pipe");
}

#[test]
fn work_that_has_more_than_anybody_makes_is_refused_before_it_is_read() {
    let home = Home::new();
    let scene = &home.scene;
    let mut deep = scene.tree(&[file("x", &scene.blob(b"evil"))]);
    for _ in 0..300 {
        deep = scene.tree(&[folder("d", &deep)]);
    }
    let why = home.refused(&[folder("d", &deep)]);
    assert!(why.ends_with("… lies too deep"), "{why}");
    // Sixty-four to the power of nine files in ten trees.
    let mut many = scene.tree(&[file("x", &scene.blob(b"evil"))]);
    for _ in 0..9 {
        let all: Vec<Entry> = (10..74).map(|at| folder(&format!("d{at}"), &many)).collect();
        many = scene.tree(&all);
    }
    let why = home.refused(&[folder("d", &many)]);
    assert!(why.ends_with("it printed more than it may"), "{why}");
}

#[test]
fn what_is_no_work_on_what_was_handed_out_is_refused() {
    let home = Home::new();
    let scene = &home.scene;
    let work = scene.tree(&[file("x", &scene.blob(b"evil"))]);
    let (given, empty) = (home.away.given.as_str(), scene.tree(&[]));
    let other = scene.forged(&work, &empty, &[]);
    let on_other = scene.forged(&work, &empty, &[other.as_str()]);
    let on_both = scene.forged(&work, &empty, &[given, other.as_str()]);
    let on_work = scene.forged(&work, &empty, &[given]);
    let twice_on = scene.forged(&work, &empty, &[on_work.as_str()]);
    for commit in [&other, &on_other, &on_both, &twice_on, &home.away.given] {
        assert_eq!(home.refused_commit(commit), "what came home is not made of what was handed out");
    }
    // What is no commit at all.
    let tag = format!("object {given}\ntype commit\ntag t\ntagger a <a@b> 0 +0000\n\nt\n");
    for id in [scene.object("tag", tag.as_bytes()), work, scene.blob(b"x")] {
        home.refused_commit(&CommitId::try_from(id).unwrap());
    }
    // Whatever of that was refused, what was left is taken.
    scene.bring_home(0, &home.away, &on_work).unwrap();
    assert_eq!(lying_in(&home.folder).len(), 1);
}

#[test]
fn a_worker_looks_at_what_it_is_given_as_well() {
    let scene = Scene::new();
    let evil = scene.tree(&[link("l", &scene.blob(b"/etc"))]);
    let forged = scene.forged(&evil, &scene.tree(&[]), &[]);
    let place = scene.path("worker/place");
    let refused = scene.exchange.check_out(&forged, &scene.path("worker/cache"), &place).unwrap_err();
    assert_eq!(refused.to_string(), "l is a link to /etc, which lies outside of the repository");
    assert!(!place.exists());
    let outputs = scene.exchange.outputs(
        &scene.path("worker/cache/sha1/repository.git"),
        [&forged, &forged],
        &place,
        10,
    );
    assert_eq!(outputs.unwrap_err().to_string(), "what came home is not made of what was handed out");
}

#[test]
fn a_fetch_that_brings_too_much_is_ended() {
    let scene = Scene::new();
    let bytes: Vec<u8> = (0..30_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let commit = scene.forged(&scene.tree(&[file("x", &scene.blob(&bytes))]), &scene.tree(&[]), &[]);
    let repository = scene.path("worker/small");
    init_exact(&repository, "sha1", "").unwrap();
    let fetch = |most| {
        let git = scene.exchange.git(&repository).unwrap().growing_at_most(most).args(FETCH);
        git.done([&scene.exchange.place(), commit.as_str()])
    };
    let ended = fetch(1_000).unwrap_err().to_string();
    assert!(ended.contains("did not end by itself"), "{ended}");
    fetch(1 << 30).unwrap();
}

#[test]
fn what_git_cannot_read_is_not_taken_for_work() {
    let home = Home::new();
    let scene = &home.scene;
    let cut = scene.object("tree", b"100644 x\0short");
    let commit = scene.forged(&cut, &scene.tree(&[]), &[home.away.given.as_str()]);
    let before = lying_in(&home.folder);
    match scene.bring_home(0, &home.away, &commit) {
        Err(NotCommitted::Git(_) | NotCommitted::Work(_)) => {}
        Ok(()) => panic!("it is no tree"),
    }
    assert_eq!(lying_in(&home.folder), before);
}
