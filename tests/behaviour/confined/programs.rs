//! What people use works in confinement without any setting.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Plays `use_it` in a turn for each program that this user can start here, and notes in `played` which those are.
fn each_works(who: Who, programs: &[(&'static str, &str)], played: &mut BTreeSet<&'static str>) {
    let script: String = programs
        .iter()
        .map(|(program, use_it)| {
            format!(
                "if {program} --version >/dev/null 2>&1; then
                (set -eu; mkdir {program}; cd {program}; {use_it}) > {program}.log 2>&1 && echo {program} >> works
                else echo {program} >> missing; fi\n"
            )
        })
        .collect();
    // Programs in the tester's own home find what they need of it, where this user may look there.
    let home = std::env::var("HOME").unwrap_or_default();
    let kept = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")];
    let place = |(name, folder)| (name, std::env::var(name).unwrap_or(format!("{home}/{folder}")));
    let kept: BTreeMap<&str, String> = kept.map(place).into();
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": script, "env": kept}))
        .setting("protect", ["tests/**"])
        .task("work", |t| t.attempts(1).unreviewed())
        .workspace()
        .confined();
    workspace.write("tests/check.sh", "true");
    ended(&who.run(&workspace), 0);
    let (works, missing) = (workspace.lines("works"), workspace.lines("missing"));
    for (program, _) in programs {
        let name = (*program).to_owned();
        assert!(
            works.contains(&name) || missing.contains(&name),
            "{program}: {}",
            workspace.read(&format!("{program}.log"))
        );
        if works.contains(&name) {
            played.insert(*program);
        }
    }
}

#[test]
fn git_cargo_node_and_python_work_without_settings() {
    let programs = [
                (
                    "git",
                    "git init -q .; git config user.email a@b; git config user.name a; echo x > f; git add f
                     git commit -qm one; git checkout -qb other; echo y > f; git commit -qam two; git worktree add -q ../tree HEAD~1
                     test \"$(git log --oneline | wc -l)\" = 2",
                ),
                (
                    "cargo",
                    "mkdir src; printf '[package]\\nname = \"e\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n' > Cargo.toml
                     echo 'fn main() {} #[test] fn t() {}' > src/main.rs; cargo test --offline -q",
                ),
                (
                    "node",
                    "node -e 'const c = require(\"child_process\"), fs = require(\"fs\"), os = require(\"os\");
                     fs.writeFileSync(fs.mkdtempSync(os.tmpdir() + \"/q\") + \"/f\", \"x\");
                     require(\"assert\").equal(c.execSync(\"echo hi\").toString(), \"hi\\n\");
                     new (require(\"worker_threads\").Worker)(\"1\", {eval: true});
                     const s = require(\"net\").createServer().listen(0, \"127.0.0.1\", () => s.close())'",
                ),
                (
                    "python3",
                    "cat > m.py <<'END'
import multiprocessing, subprocess, tempfile
def double(n): return 2 * n
if __name__ == '__main__':
    with multiprocessing.Pool(2) as pool: assert pool.map(double, [1, 2]) == [2, 4]
    with tempfile.TemporaryFile() as file: file.write(b'x')
    assert subprocess.run(['echo', 'hi'], capture_output=True).stdout == b'hi\\n'
END
                     python3 m.py; python3 -m venv --without-pip v; v/bin/python -c 1",
                ),
                ("script", "test \"$(script -qec 'test -t 0 && echo tty' /dev/null </dev/null | tr -d '\\r')\" = tty"),
    ];
    // A program in the home of root is out of everybody else's reach.
    let played = RefCell::new(BTreeSet::new());
    by_everybody(|who| each_works(who, &programs, &mut played.borrow_mut()));
    if !makes_namespaces() {
        return;
    }
    for (program, _) in programs.iter().filter(|(program, _)| !played.borrow().contains(program)) {
        skipped(format!("nobody here can start {program}"));
    }
}

#[test]
fn without_network_the_loopback_inside_works() {
    by_everybody(|who| {
        let serve = "use IO::Socket::INET; my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die;
            if (!fork) { my $c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport) or die; print $c \"hi\\n\"; exit }
            my $line = $s->accept->getline; wait; die if $line ne \"hi\\n\";
            IO::Socket::INET->new(PeerAddr => \"192.0.2.1\", PeerPort => 80, Timeout => 5) and die \"reached\";
            die \"$!\" unless $!{ENETUNREACH}";
        let workspace = Mission::new()
            .agent_with(
                "worker",
                json!({"network": "deny", "run":
                    format!("perl -e 1 || {{ touch skipped; exit; }}; perl -MErrno -e '{serve}' 2> why && touch served")}),
            )
            .task("work", |t| t.attempts(1).unreviewed())
            .workspace()
            .confined();
        ended(&who.run(&workspace), 0);
        if workspace.exists("skipped") {
            return skipped("there is no perl to serve and to ask");
        }
        assert!(workspace.exists("served"), "{}", workspace.read("why"));
    });
}

#[test]
fn opencode_judges_where_its_folder_is_there_and_leaves_nothing_in_it() {
    let workspace = Mission::new()
        .agent("worker", "echo work")
        .agent_with("judge", json!({"run": ["./opencode"], "role": "reviewer"}))
        .task("work", |t| t.by("worker"))
        .workspace()
        .confined();
    program(&workspace, "opencode", "echo '*' > .opencode/.gitignore || exit 1\necho SCORE: 90");
    workspace.write(".opencode/kept", "");
    workspace.quorum(RUN_AS_R1).exits(0);
    assert!(!workspace.exists(".opencode/.gitignore") || !makes_namespaces());
    assert!(workspace.exists(".opencode/kept"));
}
