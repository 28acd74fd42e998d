//! Many tasks: time and records stay in proportion. The limits are wide; what they catch is a quadratic corner.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::support::Workspace;
use crate::support::journal;

fn mission(agents: &str, tasks: impl Iterator<Item = String>) -> Workspace {
    let mut text = format!("name: many\nagents:\n{agents}settings: {{concurrency: 4}}\ntasks:\n");
    for task in tasks {
        let _ = writeln!(text, "  - {task}");
    }
    Workspace::with(&text)
}

fn within(limit: u64, what: &str, work: impl FnOnce()) {
    let begin = Instant::now();
    work();
    assert!(begin.elapsed() < Duration::from_secs(limit), "{what} took {:?}", begin.elapsed());
}

#[test]
fn a_thousand_trivial_tasks_cost_two_records_each() {
    let tasks = (0..1000).map(|n| format!("{{title: t{n}}}"));
    let workspace = mission("  worker: {run: [/bin/true], input: none}\n", tasks);
    within(120, "the run", || {
        let document = workspace.run_json(0, &[]);
        assert_eq!(document["counts"]["done"], 1000);
    });
    costs_two_records_each(&workspace, 1000);
    // No file for a task that said nothing.
    let spool = std::fs::read_dir(workspace.run_folder().join(journal::WORK)).unwrap();
    assert!(spool.count() <= 1000);
}

/// A prompt is on record with the decision that its turn starts.
#[test]
fn a_prompt_costs_no_record_of_its_own() {
    let tasks = (0..200).map(|n| match n {
        0..=99 => format!("{{title: t{n}}}"),
        n => format!("{{title: t{n}, dependsOn: [t{}]}}", n - 1),
    });
    let workspace = mission("  worker: {run: [/bin/true]}\n", tasks);
    let document = workspace.run_json(0, &[]);
    assert_eq!(document["counts"]["done"], 200);
    costs_two_records_each(&workspace, 200);
    workspace.quorum(&["review", "--replay"]).exits(0);
}

/// What a task may cost in the journal: two records, with a little for the session, and 720 bytes.
fn costs_two_records_each(workspace: &Workspace, tasks: usize) {
    let journal = std::fs::read_to_string(workspace.journal()).unwrap();
    let (records, bytes) = (journal.lines().count(), journal.len());
    assert!(records * 100 <= 205 * tasks + 500, "{records} records");
    assert!(bytes <= 720 * tasks + 4_000, "{bytes} bytes");
}

#[test]
fn thirty_thousand_tasks_are_validated_in_no_time() {
    let tasks = (0..30_000).map(|n| match n {
        0..=2 => format!("{{title: t{n}}}"),
        n => format!("{{title: t{n}, dependsOn: [t{}, t{}]}}", n - 1, n / 2),
    });
    let workspace = mission("  worker: {run: 'true'}\n", tasks);
    within(80, "validating", || {
        workspace.quorum(&["validate", "mission.yaml"]).exits(0);
    });
}

#[test]
fn a_failure_with_ten_thousand_dependents_is_told_at_once() {
    // A long chain behind a wide fan: both shapes in which a cascade could become slow.
    let fan = (0..5_000).map(|n| format!("{{title: f{n}, dependsOn: [root]}}"));
    let chain = (0..5_000).map(|n| match n {
        0 => "{title: c0, dependsOn: [root]}".to_owned(),
        n => format!("{{title: c{n}, dependsOn: [c{}]}}", n - 1),
    });
    let tasks = std::iter::once("{title: root, maxAttempts: 1}".to_owned()).chain(fan).chain(chain);
    let workspace = mission("  worker: {run: exit 1}\n", tasks);
    within(160, "run and status", || {
        let document = workspace.run_json(3, &[]);
        assert_eq!(document["counts"]["failed"], 10_001);
        assert_eq!(workspace.status()["counts"]["failed"], 10_001);
    });
}

#[test]
fn the_first_page_of_a_long_run_is_kept_and_never_believed_blindly() {
    let tasks = (0..2500).map(|n| format!("{{title: t{n}}}"));
    let workspace = mission("  worker: {run: [/bin/true], input: none}\n", tasks);
    workspace.run_json(0, &[]);
    let path = workspace.run_folder().join(journal::SNAPSHOT);
    let page = || workspace.quorum(&["status"]).exits(0).stdout;
    let kept = page();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(page(), kept, "the page is what the journal says");

    // What was changed is not shown, whatever checksum it has.
    let other = text.replace("2500 of 2500 done", "2499 of 2500 done");
    assert_ne!(other, text);
    for other in [&other, &journal::sealed(&other)] {
        std::fs::write(&path, other).unwrap();
        assert_eq!(page(), kept);
    }
    // Nor is one of a journal or a mission that is another by now.
    std::fs::write(&path, &text).unwrap();
    let mission = workspace.run_folder().join("mission.yaml");
    let frozen = std::fs::read_to_string(&mission).unwrap();
    std::fs::write(&mission, format!("{frozen}# touched\n")).unwrap();
    workspace.quorum(&["status"]).exits(2).says(&["was changed"]);
}
