//! Many tasks: time and records stay in proportion. The limits are wide; what they catch is a quadratic corner.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::support::journal;
use crate::support::{Says, Workspace};

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
    // Of ten times as many one record of all of them could not be written.
    let longest = longest_record(&workspace);
    assert!(longest < 1_700_000, "{longest}");
    workspace.quorum(&["resume", "--retry-failed"]).exits(3);
    assert!(longest_record(&workspace) < 1_700_000, "{}", longest_record(&workspace));
    workspace.quorum(&["review", "--replay"]).exits(0);
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

/// The longest record of the run, in bytes.
fn longest_record(workspace: &Workspace) -> usize {
    let journal = std::fs::read_to_string(workspace.journal()).unwrap();
    journal.lines().map(str::len).max().unwrap_or(0)
}

/// Many tasks that are accepted for the same command, and a last one that breaks it. `first`: what the others do.
fn with_one_check(tasks: usize, first: &str) -> Workspace {
    let check = "test -e ok || { seq 1 2000; exit 1; }";
    let task =
        |n| format!("{{title: t{n}, assignTo: first, expectations: [{{type: script, command: '{check}'}}]}}");
    let all: Vec<String> = (0..tasks).map(|n| format!("t{n}")).collect();
    let last = format!("{{title: last, assignTo: last, dependsOn: [{}]}}", all.join(", "));
    mission(
        &format!("  first: {{run: '{first}', input: none}}\n  last: {{run: rm ok, input: none}}\n"),
        (0..tasks).map(task).chain([last]),
    )
}

/// Its output once stood in the record of the audit twice for each task: of 1,700 tasks the record could not be written, by
/// no session.
#[test]
fn what_many_tasks_are_accepted_for_is_told_once_by_an_audit_that_finds_it_broken() {
    let workspace = with_one_check(150, "touch ok");
    let document = workspace.run_json(0, &[]);
    assert_eq!(document["counts"]["regressed"], 150);
    let longest = longest_record(&workspace);
    assert!(longest < 150 * 2_000, "{longest}");
    workspace.quorum(&["review", "--replay"]).exits(0);
    let told = workspace.quorum(&["show", "t0", "--full"]).exits(0).stdout;
    told.as_str().says(&["1201 1202", "1999 2000"]);
    workspace
        .quorum(&["show", "t1", "--full"])
        .exits(0)
        .stdout
        .says(&["the audit tells 't0' the whole output", "1999 2000"]);
}

#[test]
fn many_tasks_whose_common_check_stays_broken_fail_and_a_resumed_session_ends_too() {
    let workspace = with_one_check(100, "test -e broken || touch ok broken");
    let document = workspace.run_json(3, &[]);
    assert_eq!(document["counts"]["failed"], 100);
    workspace.quorum(&["resume"]).exits(3);
    workspace.quorum(&["resume", "--retry-failed"]).exits(3);
    workspace.quorum(&["review", "--replay"]).exits(0);
}

/// Each look at a file once stood in the record of the audit.
#[test]
fn an_audit_of_many_files_is_a_record_of_a_few_bytes() {
    let check = "{type: script, command: 'true'}";
    let tasks = (0..300).map(|n| format!("{{title: t{n}, targetFiles: [f{n}], expectations: [{check}]}}"));
    let workspace = mission("  worker: {run: 'echo x > f${QUORUM_TASK#t}', input: none}\n", tasks);
    let document = workspace.run_json(0, &[]);
    assert_eq!(document["audit"], "held");
    let journal = std::fs::read_to_string(workspace.journal()).unwrap();
    let audited = journal.lines().find(|line| line.contains("\"audited\"")).expect("it is on record");
    assert!(audited.len() < 4_000, "{audited}");
}

/// Of tasks that name one file each one waits for the one before it: no list has more than that.
#[test]
fn many_tasks_that_lost_a_common_file_are_done_again_one_by_one() {
    let all: Vec<String> = (0..80).map(|n| format!("t{n}")).collect();
    let tasks = (0..80).map(|n| format!("{{title: t{n}, assignTo: first, targetFiles: [CHANGELOG.md]}}"));
    let last = format!("{{title: last, assignTo: last, dependsOn: [{}]}}", all.join(", "));
    let workspace = mission(
        "  first: {run: 'echo $QUORUM_TASK >> CHANGELOG.md', input: none}\n  last: {run: rm CHANGELOG.md, input: none}\n",
        tasks.chain([last]),
    );
    let document = workspace.run_json(0, &[]);
    assert_eq!(document["counts"]["regressed"], 80);
    assert_eq!(workspace.read("CHANGELOG.md").lines().collect::<Vec<_>>(), all);
    let events = workspace.events();
    let regressed = crate::support::events::named(&events, "task:regressed");
    let listed = |key: &str| -> usize {
        regressed.iter().map(|event| event[key].as_array().map_or(0, Vec::len)).sum()
    };
    assert_eq!((listed("behind"), listed("aheadOf")), (79, 0));
}

/// Of a large run that has ended the snapshot tells, and the list says of it what the fold says.
#[test]
fn the_list_of_runs_says_of_a_large_one_what_its_journal_says() {
    let tasks = (0..2500).map(|n| format!("{{title: t{n}, maxAttempts: 1}}"));
    let workspace = mission("  worker: {run: 'test $QUORUM_TASK != t7', input: none}\n", tasks);
    workspace.run_json(3, &[]);
    let list = || workspace.quorum(&["runs", "--json"]).exits(0).json()["runs"].clone();
    let told = list();
    let path = workspace.run_folder().join(journal::SNAPSHOT);
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept.len() < 100_000, "no row of each task: {}", kept.len());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(list(), told);
    // Of one that has ended in another way than its snapshot says the journal is believed.
    std::fs::write(&path, journal::sealed(&kept.replace("\"done\":2499", "\"done\":2500"))).unwrap();
    assert_eq!(list(), told);
    let counts = &told[0]["counts"];
    assert_eq!(
        (&counts["done"], &counts["failed"], &told[0]["outcome"]),
        (&2499.into(), &1.into(), &"task_failed".into())
    );
}
