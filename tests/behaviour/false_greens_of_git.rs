//! What is green because of git: programs that it was told to run, and files that are not those that were checked.

use crate::support::scenes::repositories::{git, repository};
use crate::support::{Mission, Running, Workspace, makes_namespaces, skipped};

fn one(script: &str) -> Mission {
    Mission::new().worker(script).setting("evaluate", false)
}

/// Whether a planted program ran.
fn is_quiet(workspace: &Workspace, what: &str) {
    assert!(!workspace.exists("home/ran"), "{what}: {}", workspace.read("home/ran"));
}

/// What agents plant so that git runs it: a name and a script, in which RUN is the program and TOP the user's repository.
const PLANTED: [(&str, &str); 12] = [
    ("a hook for packs of the user", "git config --global uploadpack.packObjectsHook 'RUN'"),
    ("a filter of the user", "git config --global filter.x.smudge 'RUN'; echo '* filter=x' > .gitattributes"),
    (
        "a process as a filter of the user",
        "git config --global filter.x.process 'RUN'; git config --global filter.x.required true; \
         echo '*.txt filter=x' > .gitattributes; echo x > a.txt",
    ),
    (
        "a filter of the repository",
        "git -C 'TOP' config filter.y.smudge 'RUN'; git -C 'TOP' config filter.y.clean 'RUN'; echo '* filter=y' > .gitattributes",
    ),
    (
        "a filter with an odd name, in a file that is included",
        "printf '[filter \"a.b=c\"]\\nsmudge = RUN\\n' > \"$HOME/inc\"; git -C 'TOP' config include.path \"$HOME/inc\"; \
         echo '* filter=a.b=c' > .gitattributes",
    ),
    (
        "another address for every path",
        "git -C 'TOP' config 'url.ext::RUN %G.insteadOf' /; git -C 'TOP' config protocol.allow always; \
         git -C 'TOP' config protocol.ext.allow always",
    ),
    (
        "another program to fetch by",
        "git -C 'TOP' config remote.'TOP'/.polpo/runs/r1/worktrees/repository.git.uploadpack 'RUN'; \
         git -C 'TOP' config remote.'TOP'/.polpo/runs/r1/worktrees/repository.git.vcs ext",
    ),
    ("a monitor of files", "git -C 'TOP' config core.fsmonitor 'RUN'"),
    (
        "a hook of the repository",
        "for h in post-merge post-checkout reference-transaction post-index-change; do cp 'RUN' 'TOP'/.git/hooks/$h; done",
    ),
    (
        "a lazy fetch",
        "git -C 'TOP' config extensions.partialClone o; git -C 'TOP' config remote.o.url /nowhere; \
         git -C 'TOP' config remote.o.promisor true; git -C 'TOP' config remote.o.uploadpack 'RUN'; \
         git -C 'TOP' update-index --add --cacheinfo 120000,1111111111111111111111111111111111111111,l",
    ),
    (
        "a program for signatures",
        "git -C 'TOP' config merge.verifySignatures true; git -C 'TOP' config gpg.program 'RUN'",
    ),
    (
        "a program that stands first on the PATH",
        "cp 'RUN' \"$HOME/bin/git\"; cp 'RUN' \"$HOME/bin/git-upload-pack\"; chmod +x \"$HOME\"/bin/*",
    ),
];

#[test]
fn false_green_40_nothing_that_an_agent_plants_is_run_by_quorums_own_git() {
    for (what, script) in PLANTED {
        let workspace = repository(one(&format!("{script}; echo x > x")).tasks(["a"]), &[("file", "1\n")]);
        let top = workspace.root().to_string_lossy().into_owned();
        let program = workspace.path("home/run");
        let said = format!("#!/bin/sh\necho \"$0 $*\" >> {top}/home/ran\nexit 1\n");
        workspace.write("home/run", said);
        workspace.bash("chmod +x home/run; mkdir -p home/bin").exits(0);
        let mission = workspace.read("mission.yaml");
        let mission = mission.replace("RUN", &program.to_string_lossy()).replace("TOP", &top);
        workspace.mission(&mission);
        git(&workspace, &["commit", "-qam", "where it is"]);
        let path = format!("{top}/home/bin:{}", std::env::var("PATH").unwrap_or_default());
        let ended = workspace.quorum_with(&[("PATH", &path)], &["run", "mission.yaml", "--run-id", "r1"]);
        is_quiet(&workspace, what);
        // Where the repository cannot be used any more, nothing was delivered, and that is said.
        let is_merged = workspace.exists("x");
        assert_eq!(ended.code(), Some(if is_merged { 0 } else { 9 }), "{what}: {}", ended.stderr);
        workspace.quorum(&["clean", "--all", "--yes"]);
        is_quiet(&workspace, what);
    }
}

#[test]
fn false_green_44_an_object_that_replaces_another_one_reaches_no_checkout() {
    let script = "good=$(echo good | git hash-object -w --stdin); git -C 'TOP' hash-object -w --stdin <<< good > /dev/null; \
                  evil=$(git -C 'TOP' hash-object -w --stdin <<< evil); git -C 'TOP' replace -f $good $evil; echo good > n.txt";
    let workspace = repository(one("SCRIPT").task("a", |task| task.check("grep -q good n.txt")), &[]);
    workspace.write("plant.sh", script);
    let mission = workspace.read("mission.yaml").replace("SCRIPT", "bash plant.sh");
    workspace.mission(&mission);
    let plant = workspace.read("plant.sh").replace("TOP", &workspace.root().to_string_lossy());
    workspace.write("plant.sh", plant);
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-qm", "how it is done"]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(workspace.read("n.txt"), "good\n");
}

#[test]
fn false_green_44_no_isolated_agent_writes_the_git_folder_wherever_it_lies() {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    let tries = "git --git-dir=\"$MAIN\" replace -f HEAD HEAD~0; git --git-dir=\"$MAIN\" tag planted; \
                 git --git-dir=\"$MAIN\" config planted.key value; touch \"$MAIN/objects/planted\"; \
                 echo x >> \"$HOME/.gitconfig\"; echo x > x";
    let main = repository(one(tries).tasks(["a"]), &[]).confined();
    main.write("home/.gitconfig", "[user]\nname = ada\n");
    let common = main.path(".git").to_string_lossy().into_owned();
    let mission = main.read("mission.yaml").replace("$MAIN", &common);
    main.mission(&mission);
    git(&main, &["commit", "-qam", "where it is"]);
    let linked = Workspace::new();
    let place = linked.path("linked");
    git(&main, &["worktree", "add", "-q", "-b", "other", &place.to_string_lossy()]);
    let mut command = main.command(&["run", "mission.yaml"]);
    command.current_dir(&place);
    Running::start(command).finish().exits(0);
    assert!(place.join("x").exists());
    assert_eq!(git(&main, &["for-each-ref", "--format=%(refname)", "refs/tags", "refs/replace"]), "");
    assert!(!main.exists(".git/objects/planted") && !main.read(".git/config").contains("planted"));
    assert_eq!(main.read("home/.gitconfig"), "[user]\nname = ada\n");
}
