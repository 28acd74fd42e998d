//! What is protected and cannot be held by mounts is said, so that nobody believes that it is.

use super::*;

/// The warnings of a run that say so, which people see too.
#[track_caller]
fn not_held(finished: &Finished) -> Vec<String> {
    let document = finished.json();
    let warnings = document["warnings"].as_array().expect("a list").iter();
    let warnings = warnings.filter_map(|warning| warning.as_str().map(str::to_owned));
    let told: Vec<String> = warnings.filter(|said| said.contains("not by the sandbox")).collect();
    for said in &told {
        assert!(finished.stderr.contains(said.as_str()), "{said}\n{}", finished.stderr);
    }
    told
}

fn protecting(patterns: &[&str], script: &str) -> Workspace {
    Mission::new()
        .worker(script)
        .setting("protect", patterns)
        .task("work", |t| t.attempts(1).unreviewed())
        .workspace()
        .confined()
}

#[test]
fn more_protected_files_than_can_be_mounted_are_named() {
    by_everybody(|who| {
        let script =
            "for f in 000 399 400; do ( : >> checks/$f.check ) 2>/dev/null && echo $f >> went; done; :";
        let workspace = protecting(&["**/*.check"], script);
        for number in 0..403 {
            workspace.write(&format!("checks/{number:03}.check"), "true");
        }
        let finished = who.run(&workspace);
        let told = not_held(&finished);
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(told[0].contains("no more than 400 paths"), "{told:#?}");
        // The mission and the settings are mounted too, but stand behind them.
        for name in ["`checks/400.check`", "`checks/401.check`", "`checks/402.check`"] {
            assert!(told[0].contains(name), "{told:#?}");
        }
        assert_eq!(workspace.lines("went"), ["400"], "what is said is so");
        // As many in one folder that is protected whole are one mount.
        let workspace = protecting(&["checks/**"], script);
        for number in 0..403 {
            workspace.write(&format!("checks/{number:03}.check"), "true");
        }
        let finished = who.run(&workspace);
        assert_eq!(not_held(&finished), Vec::<String>::new());
        assert_eq!((finished.code(), workspace.exists("went")), (Some(0), false));
    });
}

#[test]
fn what_cannot_be_found_or_is_a_link_is_named() {
    by_everybody(|who| {
        let patterns = ["gone.sh", "link.sh", "loose.sh", "hard.sh", "tests/**", "plain.sh", "*.none"];
        let workspace = protecting(&patterns, "true");
        for file in ["elsewhere/target.sh", "hard.sh", "plain.sh", "tests/there.sh"] {
            workspace.write(file, "true");
        }
        let link =
            |to: &str, name: &str| std::os::unix::fs::symlink(to, workspace.path(name)).expect("a link");
        link("elsewhere/target.sh", "link.sh");
        link("nowhere", "loose.sh");
        // In a folder that is mounted whole a link stays what it is.
        link("../plain.sh", "tests/held.sh");
        fs::hard_link(workspace.path("hard.sh"), workspace.path("other.sh")).expect("a second name");
        let finished = who.run(&workspace);
        assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
        let about = |why: &str| not_held(&finished).into_iter().find(|said| said.contains(why));
        let link = about("a link can be replaced").expect("of the link");
        assert!(link.contains("and after: `link.sh`: "), "{link}");
        let missing = about("nothing is found there").expect("of what is not there");
        assert!(missing.contains("and after: `gone.sh` and `loose.sh`: "), "{missing}");
        let hard = about("hard links").expect("of the second name");
        assert!(hard.contains("and after: `hard.sh`: "), "{hard}");
        assert_eq!(not_held(&finished).len(), 3);
        // Who looks later sees it too; where nothing is confined at all that is what is said.
        let shown = workspace.quorum(&["status"]).exits(0);
        assert!(shown.stdout.contains("hard links"), "{}", shown.stdout);
        let document = workspace.run_json(0, &["--fresh", "--sandbox", "off"]);
        assert!(!document["warnings"].to_string().contains("not by the sandbox"), "{document:#}");
    });
}
