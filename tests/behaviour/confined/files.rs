//! No protected file of any kind is changed by any way of changing one.

use super::*;

/// What is protected, by what: files that somebody has written, which are there before the run begins.
const FILES: [&str; 7] = [
    "w/src/deep/one.test.js",
    "w/tests/unit/a.sh",
    "w/check.sh",
    "w/judge.sh",
    "mission.yaml",
    "quorum.yaml",
    "home/.config/quorum/quorum.yaml",
];

/// Folders of which everything is protected.
const FOLDERS: [&str; 2] = ["w/tests", "w/tests/unit"];

/// Ways to change the file `$f`, of which `$d` is the folder and `$n` the name.
const OF_FILES: &[&str] = &[
    "echo evil > \"$f\"",
    "echo evil >> \"$f\"",
    "truncate -s 0 \"$f\"",
    "chmod 777 \"$f\"",
    "touch \"$f\"",
    "rm -f \"$f\" && test ! -e \"$f\"",
    "mv -f \"$f\" \"$f.away\"",
    "echo evil > new && mv -f new \"$f\"",
    "echo evil > \"$d/.$n.swp\" && mv -f \"$d/.$n.swp\" \"$f\"",
    "sed -i s/^/evil/ \"$f\"",
    "ln \"$f\" \"hard.$n.made\" && echo evil > \"hard.$n.made\"",
    "ln -s \"$f\" \"soft.$n.made\"; echo evil > \"soft.$n.made\"",
    "ln -sf /dev/null \"$f\"",
    "echo evil > \"/proc/self/cwd/../${f##*/../}\"",
    "exec 3< \"$f\" && echo evil > /proc/self/fd/3",
    "rm -f \"$f\" && mkdir \"$f\"",
    "mv \"$d\" \"$d.away\" && mkdir -p \"$d\" && echo evil > \"$f\"",
    "mv \"$d/..\" ../../elsewhere || mv \"$(dirname \"$d\")\" \"$(dirname \"$d\").away\"",
    "umount \"$f\"",
    "mount --bind /dev/null \"$f\"",
    "unshare -Urm sh -c \"umount $f || mount -o remount,bind,rw $f || mount -o remount,rw $f\"",
];

/// Ways to change the folder `$d`.
const OF_FOLDERS: &[&str] = &[
    "echo evil > \"$d/new\"",
    "mkdir \"$d/new\"",
    "ln -s /dev/null \"$d/new\"",
    "mkfifo \"$d/new\"",
    "rm -rf \"$d\" && test ! -e \"$d\"",
    "mv \"$d\" \"$d.away\"",
    "mkdir fresh && mv -T fresh \"$d\"",
    "chmod 777 \"$d\"",
    "touch \"$d\"",
    "cp /bin/sh \"$d/new\"",
];

/// Tries each way with each path, and notes in `went` which went through.
fn ways(paths: &[&str], ways: &[&str]) -> String {
    let mut script = String::new();
    for path in paths {
        script.push_str(&format!("f=\"$PWD/../{path}\"; d=$(dirname \"$f\"); n=$(basename \"$f\")\n"));
        if FOLDERS.contains(path) {
            script.push_str("d=$f\n");
        }
        for way in ways {
            let shown = way.replace('\'', "");
            script.push_str(&format!(
                "if ( {way} ) >/dev/null 2>&1; then printf '%s\\n' '{path}: {shown}' >> went; fi\n"
            ));
        }
    }
    script
}

#[test]
fn no_way_of_changing_a_file_works_with_a_protected_one() {
    by_everybody(|who| {
        let tries = format!("{}{}echo yes > tried", ways(&FILES, OF_FILES), ways(&FOLDERS, OF_FOLDERS));
        // The same ways, all of which must work with a file that nobody protects, or they would show nothing.
        let free = format!("test -e free || exit 0\n{}", ways(&["w/loose/free"], &OF_FILES[..12]));
        let workspace = Mission::new()
            .key("workspace", "w")
            .worker(tries)
            .agent("free", free)
            .agent_with("judge", json!({"run": ["/bin/sh", "judge.sh"], "role": "reviewer"}))
            .setting("protect", ["**/*.test.js", "tests/**"])
            .task("free", |t| t.by("free").unreviewed())
            .task("work", |t| t.needs("free").attempts(1).set("review", "required").check("sh check.sh"))
            .workspace()
            .confined();
        for file in FILES.into_iter().filter(|file| *file != "mission.yaml") {
            let text = match file {
                file if file.ends_with("yaml") => "settings: {maxAttempts: 1}\n",
                "w/judge.sh" => "echo SCORE: 90",
                _ => "true",
            };
            workspace.write(file, text);
        }
        workspace.write("w/free", "");
        workspace.write("w/loose/free", "true");
        let before = FILES.map(|file| workspace.read(file));
        let document = ended(&who.run(&workspace), 0);
        let went = workspace.lines("w/went");
        let (free, held): (Vec<_>, Vec<_>) = went.iter().partition(|line| line.starts_with("w/loose"));
        assert_eq!(held, Vec::<&String>::new(), "{document:#}");
        assert!(free.len() >= 10, "{free:#?}");
        assert!(workspace.exists("w/tried"), "nothing was tried");
        assert_eq!(FILES.map(|file| workspace.read(file)), before);
    });
}

#[test]
fn a_second_name_that_was_there_before_is_found_by_comparing() {
    by_everybody(|who| {
        let workspace = Mission::new()
            .worker("echo 'exit 0' > other.sh")
            .task("work", |t| t.attempts(1).unreviewed().check("sh check.sh"))
            .workspace()
            .confined();
        workspace.write("check.sh", "false");
        fs::hard_link(workspace.path("check.sh"), workspace.path("other.sh")).expect("a second name");
        let document = ended(&who.run(&workspace), 3);
        assert_eq!(task(&document, "work")["failure"]["mode"], "protected", "{document:#}");
    });
}

#[test]
fn what_is_mounted_a_second_time_is_protected_there_too() {
    by_everybody(|who| {
        if !who.is_tester() {
            // Whoever tests makes the second mount, in a namespace of its own.
            return;
        }
        let tries = tries(&[
            "echo evil > ../again/w/tests/check.sh",
            "echo evil > ../again/w/tests/new.sh",
            "mv ../again/w/tests ../again/w/other",
            "mv ../again/w ../again/v",
            "echo evil > ../again/mission.yaml",
            "ls ../again/.polpo/runs/r1/journal.jsonl",
            "echo evil > ../unit/check.sh",
            "umount ../again",
        ]);
        let workspace = Mission::new()
            .key("workspace", "w")
            .worker(format!("{tries}echo free > ../again/free"))
            .setting("protect", ["tests/**"])
            .task("work", |t| t.attempts(1).unreviewed())
            .workspace()
            .confined();
        workspace.write("w/tests/check.sh", "true");
        for folder in ["again", "unit"] {
            fs::create_dir(workspace.path(folder)).expect("it can be made");
        }
        let script = "mount --bind . again && mount --bind w/tests unit && exec \"$0\" \"$@\"";
        let mut command = workspace.other_command("unshare");
        command.args(["-Urm", "sh", "-c", script, BINARY]).args(RUN_AS_R1);
        ended(&Running::start(command).finish(), 0);
        assert!(workspace.exists("w/tried"), "nothing was tried");
        assert_eq!(workspace.lines("w/went"), Vec::<String>::new());
        assert_eq!((workspace.read("w/tests/check.sh").as_str(), workspace.exists("free")), ("true", true));
    });
}

#[test]
fn no_device_that_holds_a_file_system_leads_around_the_mounts() {
    // Root reaches the disks of a machine; who reaches none outside of a sandbox has nothing to be kept from.
    by_everybody(|who| {
        let mission = Mission::new().worker("sh attack.sh").task("work", |t| t.unreviewed());
        let workspace = mission.workspace().confined();
        let attack = "find /dev -type b 2>/dev/null | while read -r d; do test -b \"$d\" && head -c 1 \"$d\" > /dev/null 2>&1 && echo \"$d\"; done > reached
                      echo yes > tried";
        workspace.write("attack.sh", attack);
        let reached = |id: &str, sandbox: &str| {
            let arguments = ["run", "mission.yaml", "--json", "--run-id", id, "--sandbox", sandbox];
            let run = who.start(&workspace, &arguments).finish();
            run.exits(0);
            assert!(workspace.exists("tried"), "nothing was tried");
            fs::remove_file(workspace.path("tried")).expect("it is there");
            let reached = workspace.lines("reached");
            fs::remove_file(workspace.path("reached")).expect("it is there");
            reached
        };
        let outside = reached("r1", "off");
        let inside = reached("r2", "required");
        assert_eq!(inside, Vec::<String>::new(), "of {outside:?}");
    });
}
