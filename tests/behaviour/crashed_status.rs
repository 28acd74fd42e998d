//! `status` of a long run whose session was killed: the page that the session's last snapshot holds, with what the journal
//! says behind it. It says nothing that the journal does not, and nothing at all where the snapshot is not the run's own.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::journal;
use crate::support::{Finished, Mission, Running, Workspace, wait_for};

/// Enough for a journal of which a snapshot is written while the session works.
const TASKS: usize = 2300;

/// Many quick tasks; behind them one that fails, and `stays`, which ends when the file `go` is there.
fn mission() -> String {
    let mut text = "name: long
agents:
  quick: {run: [/bin/true], input: none}
  bad: {run: exit 1}
  patient: {run: 'while [ ! -e go ]; do sleep 0.02; done'}
settings: {concurrency: 4, maxRetries: 0, evaluate: false}
tasks:
"
    .to_owned();
    let quick: Vec<String> = (0..TASKS).map(|n| format!("t{n}")).collect();
    let quick = quick.join(", ");
    for (title, agent) in [("stays", "patient"), ("bad", "bad")] {
        let _ = writeln!(text, "  - {{title: {title}, assignTo: {agent}, dependsOn: [{quick}]}}");
    }
    for n in 0..TASKS {
        let _ = writeln!(text, "  - {{title: t{n}, assignTo: quick}}");
    }
    // A run that is folded soon is folded; what is read and means nothing takes its time too.
    text + &format!("# {}\n", "long ".repeat(20)).repeat(40_000)
}

struct Crashed {
    workspace: Workspace,
    /// The last snapshot of the session that was killed.
    snapshot: String,
}

impl Crashed {
    fn new() -> Self {
        let workspace = Workspace::with(&mission());
        let session = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--progress", "none"]);
        let crashed = Self { workspace, snapshot: String::new() };
        crashed.kill_when_stays_is_at_work(session)
    }

    fn kill_when_stays_is_at_work(mut self, session: Running) -> Self {
        wait_for("the failure and the process on record", || {
            let events = fs::read_to_string(self.journal()).unwrap_or_default();
            events.contains(&journal::spawned(0)) && events.contains(&journal::moved_to("failed"))
        });
        session.kill();
        self.snapshot = fs::read_to_string(self.path()).expect("a snapshot was written while it worked");
        self
    }

    fn path(&self) -> PathBuf {
        self.workspace.path(&journal::snapshot_of("r1"))
    }

    fn journal(&self) -> PathBuf {
        self.workspace.path(&journal::of("r1"))
    }

    fn status(&self) -> Finished {
        self.workspace.quorum(&["status", "r1"])
    }

    /// What is said where there is no snapshot.
    fn folded(&self) -> Finished {
        let kept = fs::read(self.path()).expect("there is one");
        fs::remove_file(self.path()).expect("there is one");
        let said = self.status();
        fs::write(self.path(), kept).expect("it can be written");
        said
    }

    /// Lets the agent that is still at work end.
    fn let_go(&self) {
        self.workspace.write("go", "");
        wait_for("the end of the last agent", || !self.status().stdout.contains("still at work"));
    }

    fn offset(&self) -> usize {
        let snapshot: Value = serde_json::from_str(&self.snapshot).expect("it is JSON");
        let offset = snapshot["offset"].as_u64().expect("it says how far it goes");
        usize::try_from(offset).expect("it is short")
    }
}

/// A page without the line that says of when it is.
fn without_moment(page: &str) -> String {
    let (told, rest): (Vec<&str>, Vec<&str>) = page.lines().partition(|line| line.starts_with("as of "));
    assert_eq!(told.len(), 1, "{page}");
    rest.join("\n") + "\n"
}

/// The number in front of words.
fn number(text: &str, words: &str) -> u64 {
    let (before, _) = text.split_once(words).unwrap_or_else(|| panic!("no {words}: {text}"));
    let number = before.rsplit(|letter: char| !letter.is_ascii_digit()).next();
    number.and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn the_page_is_what_the_journal_said_then_and_names_what_followed() {
    let crashed = Crashed::new();
    let shown = crashed.status().exits(0).stdout;
    assert!(shown.starts_with("run r1: long, crashed\nas of 20"), "{shown}");
    let stays = "agents are still at work on stays; `quorum resume` takes them over\n";
    assert!(shown.contains(stays), "{shown}");
    // Nothing is lost between the page and the line.
    let (moment, page) = shown.split_once("\ntasks: ").expect("it counts tasks");
    let all = crashed.workspace.status_of("r1");
    assert_eq!(all["state"], "crashed");
    assert_eq!(
        number(page, " of 2302 done") + number(moment, " done"),
        all["counts"]["done"].as_u64().unwrap_or_default()
    );
    assert_eq!((number(moment, " failed"), &all["counts"]["failed"]), (1, &1.into()));

    // The page is what a fold of the journal up to there says, letter by letter.
    crashed.let_go();
    let shown = crashed.status().exits(0).stdout;
    let whole = fs::read(crashed.journal()).expect("there is one");
    fs::write(crashed.journal(), &whole[..crashed.offset()]).expect("it can be written");
    let then = crashed.folded().exits(0).stdout;
    assert_eq!(without_moment(&shown), then);
    // Where nothing follows, it says of no moment.
    assert_eq!(crashed.status().exits(0).stdout, then);
    // A record that was torn off never happened.
    let torn = [&whole[..crashed.offset()], journal::TORN.as_bytes()].concat();
    fs::write(crashed.journal(), torn).expect("it can be written");
    assert_eq!(crashed.status().exits(0).stdout, then);
    fs::write(crashed.journal(), &whole).expect("it can be written");

    // Once a later session has ended the run, no earlier snapshot says anything.
    crashed.workspace.quorum(&["resume", "r1"]).exits(3);
    let ended = crashed.status().exits(0).stdout;
    assert_eq!(crashed.folded().exits(0).stdout, ended);
    fs::write(crashed.path(), &crashed.snapshot).expect("it can be written");
    assert_eq!(crashed.status().exits(0).stdout, ended);
}

#[test]
fn a_snapshot_that_is_not_the_runs_own_changes_nothing() {
    let crashed = Crashed::new();
    crashed.let_go();
    let folded = crashed.folded().exits(0).stdout;
    assert!(!folded.contains("as of "), "{folded}");
    assert_ne!(crashed.status().stdout, folded, "the snapshot is looked at");
    let good = &crashed.snapshot;
    let better = good.replace("crashed", "ended").replace(" of 2302 done", "2302 of 2302 done");
    assert_ne!(&better, good);
    crashed.workspace.write("small.yaml", Mission::new().agent("w", "true").tasks(["s"]).yaml());
    crashed.workspace.quorum(&["run", "small.yaml", "--run-id", "r2"]).exits(0);
    let of_another_run = crashed.workspace.read(&journal::snapshot_of("r2"));
    for (what, text) in [
        ("changed", better.clone()),
        ("changed and sealed", journal::sealed(&better)),
        ("vouched for by another key", journal::vouched_for(&better, b"a key of somebody else", true)),
        ("with a code of another key", journal::vouched_for(&better, b"a key of somebody else", false)),
        ("cut short", good[..good.len() / 2].to_owned()),
        ("empty", String::new()),
        ("of another run", of_another_run),
        ("of another length", journal::sealed(&good.replace("\"offset\":1", "\"offset\":"))),
    ] {
        fs::write(crashed.path(), text).expect("it can be written");
        assert_eq!(crashed.status().exits(0).stdout, folded, "{what}");
    }
    fs::write(crashed.path(), good).expect("it can be written");

    // Damage is named as it is without a snapshot, before it and behind it.
    let whole = fs::read(crashed.journal()).expect("there is one");
    for byte in [crashed.offset() / 2, crashed.offset() + 100] {
        let mut damaged = whole.clone();
        damaged[byte] ^= 1;
        fs::write(crashed.journal(), damaged).expect("it can be written");
        let said = crashed.status().exits(1).stderr;
        assert_eq!(said, crashed.folded().exits(1).stderr);
    }
}
