//! Every screen that has no test of its own elsewhere, on every kind of output, with texts of others that would like to
//! break it.

use std::borrow::Cow;

use super::pages::Page;
use super::status::StatusPage;
use super::style::TextLayout;
use super::{command_error, logs, status};
use crate::report::documents::commands::{
    CleanDocument, CleanedRun, ConfigDocument, ConfigFiles, ConfigSetting, ExplainDocument, ExplainedCode,
    ExplainedWord,
};
use crate::report::documents::doctor::{CheckOutcome, DoctorDocument, HealthCheck};
use crate::report::documents::plan::PlanDocument;
use crate::report::documents::reviews::CriterionRow;
use crate::report::documents::runs::{LeftRuns, RunRow, RunsDocument};
use crate::report::documents::show::{FileView, TaskDocument};
use crate::report::documents::{
    DimensionRow, GateDocument, GateRow, InboxDocument, ReviewDocument, RunDocument, RunState, Tasks, Wait,
};
use crate::report::folds::history::TaskHistory;
use crate::report::folds::metrics;
use crate::report::testing::{Mission, SCREENS, Scene, assert_fits, eventful, play_eventful, run_id};
use crate::report::vocabulary::words;
use rules::domain::{Finding, GateId, OutcomeClass, RunId, Severity, TaskId, Timestamp};
use rules::engine::{GateStanding, StopCause};
use rules::mission::{self, Code, Layers, Source};

/// A title that is wide, coloured, joined, turned, and moves the cursor.
const HOSTILE: &str =
    "größe 日本語 👩\u{200d}👩\u{200d}👧 \u{1b}[31mred\u{1b}[0m\u{1b}[2J\r\u{7}\u{202e}end\n";
const LONG: &str = "the reason is long, and it goes on for as long as it likes, because whoever wrote it has never seen a \
                    terminal of eighty columns\u{1b}]0;title\u{7} and does not intend to";

/// The page of a document on all kinds of output, one below the other.
fn pages(document: &impl Page) -> String {
    everywhere(|screen| document.human(screen).unwrap())
}

/// The screen on all kinds of output, one below the other.
fn everywhere(render: impl Fn(&TextLayout) -> String) -> String {
    let mut all = String::new();
    for (name, screen) in SCREENS {
        let text = render(&screen);
        assert!(text.ends_with('\n') && !text.contains("\u{7}"), "{text:?}");
        let text = text.trim_end_matches('\n');
        // What others wrote stays as they wrote it: titles are to be typed again.
        let shown: String = match screen.style.unicode {
            true => text.to_owned(),
            false => text.replace(|c: char| "öß日本語👩👧".contains(c), "?"),
        };
        assert_fits(&shown, &screen);
        all.push_str(&format!("----- {name}\n{text}\n"));
    }
    all
}

fn hostile() -> Mission {
    Mission::new(&format!("mission {HOSTILE}"))
        .task(HOSTILE, &[])
        .check(&format!("grep -q '{LONG}' README.md"))
        .panel()
        .task(LONG, &[0])
        .target("a/b")
        .task("quiet", &[0])
        .unreviewed()
        .gate(HOSTILE, &[0, 1], &[2], Some(60))
}

fn played() -> Scene<'static> {
    let mut scene = Scene::start(hostile());
    scene.after(2).works(0).checked(0, 0, false, LONG);
    scene.works(0).checked(0, 0, true, "");
    scene.scored(0, 0, 4, 4).scored(0, 1, 4, 1);
    scene.after(90).works(1);
    scene.scanned(1, "a/b", Some(7)).evaluated(1, 40, LONG);
    scene
}

fn history(scene: &Scene<'_>, task: u32) -> TaskHistory {
    let mut history = TaskHistory::new(TaskId(task));
    for record in &scene.records {
        for event in &record.events {
            history.apply(record.at, event);
        }
    }
    history
}

#[test]
fn a_plan() {
    let scene = Scene::start(hostile());
    insta::assert_snapshot!(pages(&PlanDocument::of(&scene.state)));
}

#[test]
fn a_task_with_everything() {
    let scene = played();
    let history = history(&scene, 0);
    let files = |_: &_| {
        Some(FileView {
            path: "/site/.polpo/runs/r/spool/0.1.1.out".into(),
            shown: ".polpo/runs/r/spool/0.1.1.out".into(),
            bytes: 3000,
            cut: true,
            preview: format!("  {HOSTILE}\tindented\n{LONG}\n"),
        })
    };
    let mut document = TaskDocument::of(Tasks::of(&scene.state, &scene.view), &history, None, &files);
    document.full = true;
    insta::assert_snapshot!(pages(&document));
    document.full = false;
    insta::assert_snapshot!(pages(&document));
}

#[test]
fn the_lines_between_the_outputs_of_turns() {
    let mut scene = Scene::start(Mission::new("m").task("a", &[]).attempts(1));
    scene.spawned(0).stopped(StopCause::Interrupted);
    let history = history(&scene, 0);
    insta::assert_snapshot!(everywhere(|screen| {
        history.turns().map(|turn| logs::header(turn, screen)).collect()
    }));
}

#[test]
fn the_runs_of_a_folder() {
    let scene = played();
    let run = |id: &str| RunId::new(id).unwrap();
    let rows = [
        RunRow::of(run_id(), ("/r".into(), "verified"), &scene.state, &scene.view, RunState::Suspended),
        RunRow::unreadable(run("20261121-220000-002"), ("/r".into(), "verified"), format!("journal: {LONG}")),
    ];
    let document = RunsDocument { runs: &rows, skipped: 0 };
    insta::assert_snapshot!(pages(&document));
    fn row(row: &RunRow) -> CleanedRun<'_> {
        CleanedRun { run_id: &row.run_id, state: &row.state, outcome: row.outcome.as_deref() }
    }
    let left = LeftRuns { kept: &[&rows[1]] };
    let clean = CleanDocument { removed: vec![row(&rows[0])], kept: vec![row(&rows[1])] };
    insta::assert_snapshot!(
        "clean",
        everywhere(|screen| left.human(screen).unwrap() + &clean.human(screen).unwrap())
    );
}

#[test]
fn how_tasks_and_agents_did() {
    let scene = played();
    let mut sums = metrics::Metrics::default();
    for event in scene.records.iter().flat_map(|record| &record.events) {
        sums.apply(&scene.plan, event);
    }
    let id = run_id();
    insta::assert_snapshot!(pages(&sums.document(&scene.plan, &id)));
}

#[test]
fn what_waits_for_a_person() {
    let wait = |id: &str, title, reason, message| Wait {
        id: Some(id.to_owned()),
        command: None,
        behind: Vec::new(),
        task: Some(title),
        checkpoint: None,
        delay: None,
        reason,
        message,
        since: Timestamp(0),
        expires: None,
        task_id: None,
        is_for_judges: false,
    };
    let run = run_id();
    let document = InboxDocument {
        schema: "",
        run_id: &run,
        approvals: Some(vec![
            wait("20261121-215900-ab12.0.1", HOSTILE, "refer", LONG),
            wait("20261121-215900-ab12.7.1", "short", "approval", "as the mission asks for"),
        ]),
        requests: None,
    };
    insta::assert_snapshot!(pages(&document));
}

#[test]
fn gates_from_stored_state() {
    let gate = |name: &'static str, state, reason: Option<&'static str>| GateRow {
        id: GateId(0),
        name,
        state,
        average: None,
        points: None,
        reason: reason.map(Cow::Borrowed),
    };
    let gates = vec![
        gate(HOSTILE, GateStanding::Failed, Some(LONG)),
        gate("b", GateStanding::Passed, None),
        gate("c", GateStanding::Waiting, Some("not finished: a")),
        gate("d", GateStanding::Overridden, None),
    ];
    let run_id = &run_id();
    insta::assert_snapshot!(pages(&GateDocument { run_id, gates, warnings: &[] }));
}

#[test]
fn settings_and_where_they_come_from() {
    let setting = |name, shown: &str, origin, source| ConfigSetting {
        name,
        value: &serde_json::Value::Null,
        shown: shown.to_owned(),
        origin,
        source,
    };
    let path = format!("/{LONG}");
    let mut document = ConfigDocument {
        settings: vec![
            setting("concurrency", "4", "flag", Some("--jobs")),
            setting("stateDir", HOSTILE, "project", Some(&path)),
            setting("maxAttempts", "-", "default", None),
        ],
        files: ConfigFiles { mission: None, project: None, user: None },
        with_origin: true,
    };
    insta::assert_snapshot!(pages(&document));
    document.settings.truncate(1);
    document.with_origin = false;
    insta::assert_snapshot!("config_short", pages(&document));
}

#[test]
fn what_a_code_means() {
    let row = |code: &Code| ExplainedCode {
        code: code.as_str(),
        summary: code.summary(),
        explanation: code.explanation(),
    };
    let document = |codes: &[Code], words| ExplainDocument { codes: codes.iter().map(row).collect(), words };
    insta::assert_snapshot!(pages(&document(&Code::ALL[3..4], Vec::new())));
    // Its lines are many; that they fit is what matters.
    let words = words::all()
        .iter()
        .map(|word| ExplainedWord { word: word.name().to_owned(), explanation: word.meaning.clone() });
    let list = pages(&document(Code::ALL, words.collect()));
    assert!(list.contains(Code::ALL[0].summary()), "{list}");
}

#[test]
fn the_machine() {
    let checks = [
        HealthCheck::new("state folder", CheckOutcome::Ok, "/site/.polpo can be written"),
        HealthCheck::new("clock", CheckOutcome::Warn, LONG),
        HealthCheck::new(format!("agent {HOSTILE}"), CheckOutcome::Fail, "there is no program 'x'"),
        HealthCheck::new("endpoint", CheckOutcome::Skipped, "it was not contacted"),
    ];
    insta::assert_snapshot!(pages(&DoctorDocument { ok: false, checks: &checks }));
}

#[test]
fn a_command_that_could_not_do_its_work() {
    let message = format!("agent 'a': no program\n       agent '{HOSTILE}': {LONG}");
    insta::assert_snapshot!(everywhere(|screen| command_error::human(&message, Some(LONG), screen)));
    let short = everywhere(|screen| command_error::human("there is no run", None, screen));
    assert!(short.contains("error: there is no run\n") && !short.contains("help"), "{short}");
}

#[test]
fn what_a_review_came_to() {
    let findings = [Finding {
        severity: Severity::High,
        description: format!("{HOSTILE}{LONG}"),
        evidence: None,
        suggested_fix: None,
        open: false,
    }];
    let dimension = |dimension, score, reasoning| DimensionRow {
        dimension,
        score,
        points: rules::domain::Points::ZERO,
        weight: None,
        reasoning,
    };
    let mut document = ReviewDocument::new(HOSTILE, "llm", OutcomeClass::BelowThreshold);
    (document.points, document.bar) = (Some(52.5), Some(60.0));
    document.dimensions = vec![dimension("correctness", 2.0, LONG), dimension(HOSTILE, 3.25, "fine")];
    document.criteria =
        Some(vec![CriterionRow { criterion: HOSTILE, result: "unmet", grade: None, evidence: LONG }]);
    document.findings = &findings;
    insta::assert_snapshot!(pages(&document));
    let without = ReviewDocument::new(HOSTILE, "llm", OutcomeClass::Indeterminate);
    let text = without.human(&TextLayout::default()).unwrap();
    assert!(text.contains(": indeterminate\nexit 6 (indeterminate)\n"), "{text}");
}

#[test]
fn diagnostics_of_a_mission() {
    let text = "name: Größe\nagents: {a: {run: cat}}\ntasks:\n  - title: one\n    asignTo: a\n    dependsOn: [tow]\n  - {title: two, assignTo: a, description: \"a line that is longer than any terminal has columns, and then some more of it so that it is\", priority: none}\n";
    let source = Source::new("missions/with a name.yaml", text.as_bytes().to_vec());
    let report = mission::load(&source, &Layers::default()).expect_err("it is wrong");
    insta::assert_snapshot!(everywhere(|screen| {
        report.render(mission::DiagnosticStyle {
            color: screen.style.color,
            ascii: !screen.style.unicode,
            columns: screen.width,
        })
    }));
}

fn status_page(scene: &Scene<'_>, standing: RunState, screen: &TextLayout) -> String {
    let run = RunDocument::of(&scene.state, &scene.view, standing, None);
    StatusPage::of(&run).render(standing, scene.now, screen).unwrap()
}

#[test]
fn a_watched_status_erases_what_was_there() {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    for (_, screen) in SCREENS {
        let page = status_page(&scene, RunState::Running, &screen);
        let frame = status::frame(&page, &screen);
        let clear = if screen.width.is_some() { "\u{1b}[H\u{1b}[2J" } else { "" };
        assert_eq!(frame, format!("{clear}{page}"));
    }
}

#[test]
fn hostile_texts_break_neither_table_nor_block() {
    let mut scene = played();
    scene.after(1);
    insta::assert_snapshot!(everywhere(|screen| { status_page(&scene, RunState::Suspended, screen) }));
}
