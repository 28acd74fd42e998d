//! Random pairs of changes, put together by quorum and by `git merge` in a checkout: the same tree, or the same files unmerged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::domain::TaskId;
use crate::runtime::worktrees::Worktrees;
use crate::runtime::worktrees::folders::{borrow, init};
use crate::runtime::worktrees::git::run;

use super::invented;

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap_or(0)
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// Mode and content of each file.
type Tree = BTreeMap<String, (&'static str, Vec<u8>)>;

const PATHS: [&str; 11] = [
    "a", "b", "c.bin", "d", "d/a", "d/b", "d/e/c", "x", "x/y", "union", "sub/log",
];
const ATTRIBUTES: [&str; 6] = [
    "union merge=union\n",
    "a -merge\n",
    "*.bin binary\n",
    "* merge=union\n",
    "b merge=unknown\n",
    "d/a conflict-marker-size=20\n",
];

fn text(random: &mut Random) -> Vec<u8> {
    let kind = random.below(1000);
    (0..12)
        .map(|line| format!("{kind} {line}\n"))
        .collect::<String>()
        .into_bytes()
}

/// Puts a file somewhere, in place of whatever would be in its way.
fn put(tree: &mut Tree, path: &str, file: (&'static str, Vec<u8>)) {
    tree.retain(|other, _| !Path::new(other).starts_with(path) && !Path::new(path).starts_with(other));
    tree.insert(path.to_owned(), file);
}

fn change(tree: &mut Tree, random: &mut Random) {
    let names: Vec<String> = tree.keys().cloned().collect();
    let path = match names.is_empty() {
        true => "a".to_owned(),
        false => names[random.below(names.len())].clone(),
    };
    let (mode, content) = tree.get(&path).cloned().unwrap_or(("100644", Vec::new()));
    match random.below(12) {
        0..=3 if mode != "120000" => {
            let mut lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
            let line = format!("changed {}\n", random.below(3));
            if lines.is_empty() || random.below(3) == 0 {
                lines.push(line.as_bytes());
            } else {
                let at = random.below(lines.len());
                lines[at] = line.as_bytes();
            }
            let content = lines.concat();
            tree.insert(path, (mode, content));
        }
        4 => drop(tree.remove(&path)),
        5 | 6 => {
            tree.remove(&path);
            put(
                tree,
                &format!(
                    "{}{}",
                    random.of(&["moved", "d/moved", "new/"]),
                    random.of(&["1", "2"])
                ),
                (mode, content),
            );
        }
        7 if mode != "120000" => {
            let mode = if mode == "100644" { "100755" } else { "100644" };
            tree.insert(path, (mode, content));
        }
        8 => put(tree, &path, ("120000", random.of(&["a", "b", "d"]).into())),
        9 => put(
            tree,
            &path,
            ("100644", format!("\0{}", random.below(3)).into_bytes()),
        ),
        10 => {
            let old = tree
                .get(".gitattributes")
                .map_or(Vec::new(), |(_, content)| content.clone());
            let content = [old.as_slice(), random.of(&ATTRIBUTES).as_bytes()].concat();
            tree.insert(".gitattributes".to_owned(), ("100644", content));
        }
        _ => {
            let new = random.of(&PATHS);
            let content = text(random);
            put(tree, new, ("100644", content));
        }
    }
}

/// A commit for `git fast-import`.
fn commit(stream: &mut Vec<u8>, name: &str, from: Option<&str>, tree: &Tree) {
    let mut head = format!("commit refs/heads/{name}\ncommitter t <t@example.invalid> 0 +0000\ndata 0\n");
    if let Some(from) = from {
        let _ = writeln!(head, "from refs/heads/{from}");
    }
    head.push_str("deleteall\n");
    stream.extend(head.into_bytes());
    for (path, (mode, content)) in tree {
        stream.extend(format!("M {mode} inline {path}\ndata {}\n", content.len()).into_bytes());
        stream.extend(content);
        stream.push(b'\n');
    }
}

struct Checkout<'p>(&'p Path);

impl Checkout<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(self.0)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs([
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("LC_ALL", "C"),
        ]);
        command.args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.invalid",
            "-c",
            "advice.detachedHead=false",
        ]);
        command.args(arguments);
        command
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("there is git");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout)
            .expect("text")
            .trim_end()
            .to_owned()
    }
}

/// How many of them were merged, and how many were not.
fn compare(pairs: usize, seed: u64) -> (usize, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path().join("user");
    std::fs::create_dir(&top).expect("a folder");
    let user = Checkout(&top);
    user.git(&["init", "-q", "-b", "start"]);
    let mut random = Random(seed);
    let mut stream = Vec::new();
    for pair in 0..pairs {
        let mut base = Tree::new();
        for _ in 0..3 + random.below(5) {
            let (path, content) = (random.of(&PATHS), text(&mut random));
            put(&mut base, path, ("100644", content));
        }
        if random.below(2) == 0 {
            base.insert(
                ".gitattributes".to_owned(),
                ("100644", random.of(&ATTRIBUTES).into()),
            );
        }
        commit(&mut stream, &format!("base{pair}"), None, &base);
        for side in ["mine", "theirs"] {
            let mut tree = base.clone();
            (0..1 + random.below(4)).for_each(|_| change(&mut tree, &mut random));
            commit(
                &mut stream,
                &format!("{side}{pair}"),
                Some(&format!("base{pair}")),
                &tree,
            );
        }
    }
    let mut import = user
        .command(&["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git");
    import
        .stdin
        .take()
        .expect("it is piped")
        .write_all(&stream)
        .expect("it reads");
    assert!(import.wait().expect("it ends").success());
    let worktrees = Worktrees {
        accepted: Arc::default(),
        root: folder.path().join("worktrees"),
        state: folder.path().to_owned(),
        run: "r1".to_owned(),
    };
    std::fs::create_dir(&worktrees.root).expect("a folder");
    run(init(&worktrees.repository(), "sha1")).expect("a repository");
    borrow(&worktrees.repository(), &[top.join(".git/objects")]).expect("it is written");
    let refs = user.git(&[
        "for-each-ref",
        "--format=%(refname:short) %(objectname)",
        "refs/heads",
    ]);
    let ids: BTreeMap<&str, &str> = refs.lines().filter_map(|line| line.split_once(' ')).collect();
    let (mut merged, mut unmerged) = (0, 0);
    for pair in 0..pairs {
        let of = |side: &str| ids[format!("{side}{pair}").as_str()];
        let (mine, theirs) = (of("mine"), of("theirs"));
        let both = worktrees
            .put_together(TaskId(0), mine, theirs)
            .expect("git works");
        user.git(&["checkout", "-q", "-f", "--detach", mine]);
        user.git(&["clean", "-q", "-f", "-d", "-x"]);
        let by_git = user
            .command(&["merge", "-q", "--no-ff", "-m", "m", theirs])
            .output()
            .expect("there is git");
        let why = || {
            format!(
                "pair {pair} of seed {seed}: {}",
                String::from_utf8_lossy(&by_git.stdout)
            )
        };
        assert_eq!(by_git.status.success(), both.is_clean, "{}", why());
        if both.is_clean {
            merged += 1;
            assert_eq!(user.git(&["rev-parse", "HEAD^{tree}"]), both.tree, "{}", why());
            continue;
        }
        unmerged += 1;
        let open = user.git(&["ls-files", "-u", "-z"]);
        let open = open.split('\0').filter_map(|line| line.split_once('\t'));
        let open: BTreeSet<&str> = open
            .map(|(_, path)| invented(path, ["HEAD", theirs]).unwrap_or(path))
            .collect();
        let ours: BTreeSet<&str> = both.unmerged.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(ours, open, "{}", why());
        let names = user.git(&[
            "ls-tree",
            "-r",
            "--name-only",
            &imported(&user, &worktrees, &both.tree),
        ]);
        assert!(!names.contains('~'), "{names}");
        user.git(&["reset", "-q", "--hard"]);
    }
    (merged, unmerged)
}

/// A tree of the run's repository as the user's can name it.
fn imported(user: &Checkout<'_>, worktrees: &Worktrees, tree: &str) -> String {
    let alternates = user.0.join(".git/objects/info/alternates");
    if !alternates.exists() {
        let objects = worktrees.repository().join("objects");
        std::fs::write(alternates, format!("{}\n", objects.display())).expect("it is written");
    }
    tree.to_owned()
}

#[test]
fn random_pairs_of_changes_are_merged_as_git_merges_them() {
    let (merged, unmerged) = compare(300, 0x5eed_0001);
    assert!(merged > 60 && unmerged > 60, "{merged} merged, {unmerged} not");
}

#[test]
#[ignore = "many minutes"]
fn ten_thousand_random_pairs_of_changes_are_merged_as_git_merges_them() {
    for part in 1..=20 {
        let (merged, unmerged) = compare(500, 0x5eed_1000 + part);
        println!("part {part}: {merged} merged, {unmerged} not");
    }
}
