//! A disk that becomes full while work is merged.

use super::*;
use crate::support::scenes::small_disks::with_a_small_disk;

/// `right` passes its check when `left` is merged, and that check leaves a disk with so many KiB to the merge.
const SCRIPT: &str = "\"$0\" run mission.yaml --progress none --state-dir small/.polpo; echo run $?
    git rev-parse main; git status --porcelain; echo looked
    rm small/ballast
    \"$0\" resume --progress none --state-dir small/.polpo; echo resumed $?";

fn two() -> Workspace {
    let mission = Mission::new()
        .agent("left", "echo left > left.txt")
        .agent("next", "echo next > next.txt; touch TOP/seen/merged")
        .agent("right", "while ! test -e TOP/seen/merged; do sleep 0.02; done; echo right > right.txt")
        .setting("concurrency", 3)
        .setting("baseline", false)
        .setting("evaluate", false)
        .task("left", |task| task.by("left"))
        .task("next", |task| task.by("next").needs("left"))
        .task("right", |task| task.by("right").check("sh fill.sh TOP"));
    let fill = "test ! -e \"$1/seen/full\" || exit 0
        free=$(df -k --output=avail \"$1/small\" | tail -n 1)
        head -c $((free - $(cat \"$1/seen/free\")))k /dev/zero > \"$1/small/ballast\"
        touch \"$1/seen/full\"\n";
    let workspace = repository(mission, &[("fill.sh", fill), (".gitignore", ".polpo\nhome\nseen\nsmall\n")]);
    names_its_top(&workspace);
    workspace
}

#[test]
fn a_disk_that_is_full_in_mid_merge_stops_the_run_and_resume_ends_it() {
    let mut stopped = 0;
    for free in [0, 4, 8, 12, 16, 24, 32, 64] {
        let workspace = two();
        workspace.write("seen/free", free.to_string());
        let base = git(&workspace, &["rev-parse", "main"]);
        let Some(finished) = with_a_small_disk(&workspace, 4096, &[SCRIPT]) else { return };
        let told = format!("{free} KiB: {}\n{}", finished.stdout, finished.stderr);
        // The checkout was what it was, unless all was merged.
        if !finished.stdout.contains("run 0") {
            stopped += 1;
            let names_it = ["error: git ended", "No space left on device"];
            let is_named = names_it.iter().any(|words| finished.stderr.contains(words));
            assert!(finished.stdout.contains("run 9") && is_named, "{told}");
            assert!(finished.stdout.contains(&format!("{base}\nlooked")), "{told}");
        }
        assert!(finished.stdout.contains("resumed 0"), "{told}");
        let mut all = subjects(&workspace, "main");
        all.sort();
        assert_eq!(all, ["left", "next", "right", "where it is"], "{told}");
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{told}");
    }
    assert!(stopped >= 2, "only {stopped} of eight disks were full");
}

/// The checkout lies on the small disk, and the state elsewhere: the check leaves so many KiB to what moves the branch.
const CHECKOUT: &str = "git clone -q . small/own
    \"$0\" run mission.yaml --progress none --state-dir state; echo run $?
    git -C small/own rev-parse main; git -C small/own status --porcelain; echo looked
    rm small/ballast
    \"$0\" resume --progress none --state-dir state; echo resumed $?
    cd small/own; git log --format=%s main; git status --porcelain; git fsck --strict --no-dangling; echo end";

#[test]
fn a_checkout_on_a_full_disk_is_left_alone_put_back_or_named_and_resume_moves_it() {
    let mut stopped = 0;
    for free in [0, 4, 8, 48, 72, 88, 104, 120] {
        let mission = Mission::new()
            .worker("head -c 40k /dev/urandom > large; echo x > y; echo more >> fill.sh")
            .setting("evaluate", false)
            .key("workspace", "small/own")
            .task("a", |task| task.check("sh TOP/fill.sh TOP"));
        let fill = "test ! -e \"$1/seen/full\" || exit 0
            free=$(df -k --output=avail \"$1/small\" | tail -n 1)
            head -c $((free - $(cat \"$1/seen/free\")))k /dev/zero > \"$1/small/ballast\"
            touch \"$1/seen/full\"\n";
        let workspace =
            repository(mission, &[("fill.sh", fill), (".gitignore", ".polpo\nhome\nseen\nsmall\nstate\n")]);
        names_its_top(&workspace);
        workspace.write("seen/free", free.to_string());
        let base = git(&workspace, &["rev-parse", "main"]);
        let Some(finished) = with_a_small_disk(&workspace, 4096, &[CHECKOUT]) else { return };
        let told = format!("{free} KiB: {}\n{}", finished.stdout, finished.stderr);
        if !finished.stdout.contains("run 0") {
            stopped += 1;
            assert!(finished.stdout.contains("run 9"), "{told}");
            assert!(finished.stderr.contains("git ended"), "{told}");
            // Where there is no room for the lock of the branch it says so.
            let is_back = finished.stdout.contains(&format!("{base}\nlooked"));
            assert!(is_back || finished.stderr.contains("on the way between two commits"), "{told}");
        }
        assert!(finished.stdout.contains("resumed 0\na\nwhere it is\nbase\nend\n"), "{told}");
    }
    assert!(stopped >= 4, "only {stopped} of eight disks were full");
}
