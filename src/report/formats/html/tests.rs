use rules::domain::OutcomeClass;
use std::collections::BTreeSet;

use super::*;
use crate::report::testing::{Mission, Scene, eventful, play_eventful};
use rules::engine::StopCause;

/// What a page must not let through, wherever it comes from.
const HOSTILE: &str =
    "</script></pre></title><img src=x onerror=alert(1)> \u{202e}\u{1b}[31m'\"&amp; {{ 7*7 }}";

/// The page of a scene, by the way that the command goes.
fn page(scene: &Scene<'_>) -> String {
    page_with(scene, &|_| None)
}

fn page_with(scene: &Scene<'_>, files: &Files<'_>) -> String {
    let (state, view) = (&scene.state, &scene.view);
    let run = RunDocument::of_session(state, view, view.outcome.as_ref());
    let mut histories = histories(&run);
    for record in &scene.records {
        histories.take(record.seq, record.at, &record.events);
    }
    html(&PageInput { run: &run, histories: &histories, files, shown: None }).expect("the template fits")
}

fn played() -> Scene<'static> {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    scene.stopped(StopCause::Interrupted);
    scene
}

/// The names of all tags, having checked that every one is closed in turn and no attribute is a handler.
fn tags(page: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("tags end");
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or_default();
        let outside_quotes: String = tag.split('"').step_by(2).collect();
        assert!(!outside_quotes.contains(" on"), "<{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') && !["!doctype", "meta", "br"].contains(&name) {
            open.push(name);
        }
        names.insert(name);
    }
    assert!(open.is_empty(), "{open:?}");
    names
}

/// The page without its style, which says nothing of a run.
fn without_style(page: &str) -> String {
    let (before, rest) = page.split_once("<style>").expect("there is a style");
    let (_, after) = rest.split_once("</style>").expect("it ends");
    format!("{before}{after}")
}

#[test]
fn an_eventful_run_is_told_in_full() {
    let page = page(&played());
    insta::assert_snapshot!(without_style(&page));
    tags(&page);
}

#[test]
fn the_same_journal_always_gives_the_same_page() {
    assert_eq!(page(&played()), page(&played()));
}

#[test]
fn nothing_is_fetched_and_nothing_is_run() {
    let page = page(&played());
    assert!(page.contains(r#"content="default-src 'none'; style-src 'unsafe-inline';"#));
    let known = [
        "!doctype", "a", "b", "body", "br", "code", "dd", "details", "div", "dl", "dt", "footer", "g", "h1",
        "h2", "h3", "h4", "head", "header", "html", "i", "li", "main", "meta", "p", "path", "pre", "rect",
        "section", "small", "span", "strong", "style", "summary", "svg", "table", "tbody", "td", "text",
        "th", "thead", "time", "title", "tr", "ul",
    ];
    let names = tags(&page);
    assert!(names.is_subset(&known.into()), "{names:?}");
    // The one address is the name of SVG's language, which nobody fetches.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["://", "url(", "@import", "src=", "href=\"/", "javascript:"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn what_others_wrote_is_text_wherever_it_stands() {
    let mut mission = Mission::new(HOSTILE)
        .task(HOSTILE, &[])
        .check(HOSTILE)
        .panel()
        .task("evaluated", &[])
        .gate(HOSTILE, &[0], &[1], None);
    mission.plan.tasks[0].description = Some(HOSTILE.into());
    let mut scene = Scene::start(mission);
    scene.input(&rules::engine::Fact::Warn(HOSTILE.to_owned()));
    scene.works(0).checked(0, 0, false, HOSTILE);
    scene.works(0).checked(0, 0, true, "").unreadable(0, 1);
    scene.stopped(StopCause::Interrupted);
    let quoted = |name: &crate::store::SpoolName| {
        matches!(name, crate::store::SpoolName::Out(_)).then(|| crate::report::documents::show::FileView {
            path: "/spool".into(),
            shown: "/spool".into(),
            bytes: 9_000,
            preview: HOSTILE.to_owned(),
            cut: true,
        })
    };
    let page = page_with(&scene, &quoted);
    let names = tags(&page);
    assert!(!names.contains("img") && !names.contains("script"), "{names:?}");
    assert!(!page.contains(['\u{202e}', '\u{1b}', '\u{9b}']));
    assert!(!page.contains("[31m") && page.contains("{{ 7*7 }}"));
    // Title, description, check, warning, gate, output.
    assert!(page.matches("onerror=alert(1)&gt;").count() >= 8, "{page}");
    assert!(page.contains("[cut: the file has 9000 bytes]"));
}

#[test]
fn what_reviewers_wrote_is_text_too() {
    let mut scene = Scene::start(Mission::new("m").task("one", &[]));
    scene.works(0).evaluated(0, 40, HOSTILE);
    let page = page(&scene);
    assert!(!tags(&page).contains("img"));
    assert!(page.contains("onerror=alert(1)&gt;"), "{page}");
}

#[test]
fn accepted_below_the_bar_is_said_even_when_it_is_nothing() {
    let mut scene = Scene::start(Mission::new("m").task("one", &[]));
    scene.works(0).evaluated(0, 90, "fine");
    let page = page(&scene);
    assert!(page.contains("<dt>Accepted below the bar:</dt><dd>0</dd>"));
    assert!(page.contains("exit 0 (ok)") && page.contains(r#"<div class="verdict good""#));
}

#[test]
fn what_was_allowed_is_not_green() {
    let mut mission = Mission::new("m").task("one", &[]).attempts(1);
    mission.plan.rules.quality_threshold = None;
    let mut scene = Scene::start(mission);
    scene.state.options.allow = vec![OutcomeClass::BelowThreshold];
    scene.works(0).evaluated(0, 40, "poor");
    let page = page(&scene);
    assert!(page.contains("exit 0 (ok); allowed: below_threshold"), "{page}");
    assert!(!page.contains(r#"<div class="verdict good""#));
    assert!(page.contains("<dt>Accepted below the bar:</dt><dd>1</dd>"));
}

#[test]
fn a_run_without_an_end_is_not_green() {
    let mut scene = Scene::start(Mission::new("m").task("one", &[]));
    scene.spawned(0);
    let page = page(&scene);
    assert!(page.contains("the run has not ended") && page.contains(r#"<div class="verdict bad""#));
    assert!(!page.contains("exit 0"));
}

#[test]
fn long_texts_are_cut_and_say_so() {
    let mut scene = Scene::start(Mission::new("m").task(&"long ".repeat(2_000), &[]));
    scene.works(0).evaluated(0, 40, &"word ".repeat(200_000));
    scene.works(0).evaluated(0, 45, &"word ".repeat(200_000));
    let page = page(&scene);
    assert!(page.len() < 100_000, "{}", page.len());
    assert!(page.contains("[cut: 996000 more characters]"), "{page}");
    tags(&page);
}

#[test]
fn ten_thousand_tasks_are_rows_and_waves_and_the_page_says_so() {
    let mut mission = Mission::new("many");
    for n in 0..10_500 {
        mission = mission.task(&format!("task {n}"), &[]).unreviewed();
    }
    mission.plan.rules.concurrency = 500;
    let mut scene = Scene::start(mission);
    for task in 0..400 {
        scene.spawned(task);
    }
    scene.stopped(StopCause::Interrupted);
    let page = page(&scene);
    assert!(page.len() < 8_000_000, "{}", page.len());
    assert_eq!(page.matches("<details class=\"task\"").count(), IN_FULL);
    assert!(page.contains("10500 tasks are too many to draw one by one: here are the waves instead."));
    assert!(page.contains("500 more tasks are not listed; these are the worst."));
    assert!(page.contains("The 300 worst of 10500 tasks are told in full here"));
    assert!(page.contains("10400 more tasks are not drawn here"));
    // Every link leads somewhere.
    for link in page.split("href=\"#").skip(1) {
        let (target, _) = link.split_once('"').expect("attributes end");
        assert!(page.contains(&format!("id=\"{target}\"")), "{target}");
    }
}

#[test]
fn tasks_in_full_stop_where_the_room_is_used_up() {
    let mut mission = Mission::new("wordy");
    let words = "word ".repeat(1_000);
    for n in 0..IN_FULL {
        mission = mission.task(&format!("task {n}"), &[]).attempts(20);
    }
    mission.plan.rules.concurrency = 1_000;
    let mut scene = Scene::start(mission);
    for _ in 0..8 {
        for task in 0..300 {
            scene.works(task).evaluated(task, 10, &words);
        }
    }
    let page = page(&scene);
    let told = page.matches("<details class=\"task\"").count();
    assert!((10..IN_FULL).contains(&told), "{told}");
    assert!(page.len() < IN_FULL_BYTES + 1_000_000, "{}", page.len());
    assert!(page.contains(&format!("The {told} worst of 300 tasks are told in full")));
}

#[test]
fn stories_end_where_the_view_ends() {
    let scene = played();
    let all = |until| {
        let mut histories = Histories::of([TaskId(1)], until);
        for record in &scene.records {
            histories.take(record.seq, record.at, &record.events);
        }
        histories.task(TaskId(1)).map_or(0, |history| history.attempts.len())
    };
    assert_eq!((all(scene.view.seq), all(Some(3)), all(None)), (2, 0, 0));
}

#[test]
fn cuts_count_characters_and_numbers_are_short() {
    assert_eq!(cut("日本語", 3), "日本語");
    assert_eq!(cut("日本語", 2), "日本 … [cut: 1 more characters]");
    assert_eq!((number(4.0), number(2.75), number(0.0)), ("4".into(), "2.75".into(), "0".into()));
    assert_eq!(sanitize_lines("a\r\n\tb\nc\u{1b}[2Jd\n\u{202e}e"), "a\n    b\ncd\n\\u{202e}e");
}
