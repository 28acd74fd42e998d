//! Every kind of progress, on every screen.

use std::io;
use std::sync::{Arc, Mutex};

use indicatif::{ProgressDrawTarget, TermLike};

use super::bar::shown::bottom;
use super::*;
use crate::report::screens::style::{Style, TextLayout};
use crate::report::testing::{Mission, SCREENS, Scene, assert_fits, eventful, play_eventful, run_id};
use rules::engine::StopCause;

fn watch(mission: Mission, observer: &mut dyn Observer, play: impl FnOnce(&mut Scene<'_>)) {
    let mut scene = Scene::watched(mission, vec![observer]);
    play(&mut scene);
    scene.end();
}

fn plain(mission: Mission, screen: TextLayout, play: impl FnOnce(&mut Scene<'_>)) -> String {
    let mut out = Vec::new();
    watch(mission, &mut Plain::new(&mut out, run_id(), screen), play);
    String::from_utf8(out).unwrap()
}

/// The last line that was said.
fn last(mission: Mission, play: impl FnOnce(&mut Scene<'_>)) -> String {
    let text = plain(mission, TextLayout::default(), play);
    text.lines().last().unwrap_or_default().trim().to_owned()
}

#[test]
fn an_eventful_run_line_by_line() {
    for (name, screen) in SCREENS {
        let text = plain(eventful(), screen, play_eventful);
        assert_fits(text.trim_end_matches('\n'), &screen);
        insta::assert_snapshot!(format!("plain_{name}"), text);
    }
}

#[test]
fn verbose_adds_programs_turns_checks_and_answers() {
    let mission = || {
        Mission::new("m")
            .task("judged", &[])
            .check("cargo test")
            .panel()
            .task("scored", &[])
            .target("out.txt")
            .task("broken", &[])
            .attempts(1)
    };
    let mut out = Vec::new();
    let programs = vec![("worker".to_owned(), "/usr/bin/worker".to_owned())];
    let tail = |turn: rules::domain::TurnId| {
        let said = format!("turn {} said\u{1b}[2J this", turn.turn);
        vec![said, "and that".to_owned()]
    };
    let plain = Plain::new(&mut out, run_id(), TextLayout::default());
    watch(mission(), &mut plain.verbose(Some(Details::new(programs, tail))), |scene| {
        scene.after(3).works(0).checked(0, 0, false, "2 tests failed");
        scene.works(0).checked(0, 0, true, "");
        scene.scored(0, 0, 4, 4).scored(0, 1, 4, 1);
        scene.works(1).scanned(1, "out.txt", Some(12));
        scene.unreadable(1, 0).evaluated(1, 80, "good");
        scene.fails(2, rules::domain::FailureClass::Unknown, "exited 1");
    });
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn quiet_shows_failures_only() {
    let mut out = Vec::new();
    watch(
        eventful(),
        &mut Plain::new(&mut out, run_id(), TextLayout::default()).only_failures(),
        play_eventful,
    );
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn what_stops_a_run_is_said() {
    let mission = || Mission::new("m").task("a", &[]);
    assert_eq!(
        last(mission(), |scene| {
            scene.after(12).input(&rules::engine::Fact::Stop(StopCause::Interrupted));
        }),
        "STOP [  12.0s] m  interrupted: what runs is ended, nothing new starts; a second Ctrl-C ends at once"
    );
    assert_eq!(
        last(mission(), |scene| {
            scene.after(12).stopped(StopCause::TimeLimit);
        }),
        "LOST [  12.0s] a  its turn was interrupted"
    );
}

#[test]
fn rework_says_why() {
    let preflight = Mission::new("m").task("a", &[]).target("out.txt");
    assert_eq!(
        plain(preflight, TextLayout::default(), |scene| {
            scene.works(0).scanned(0, "out.txt", None);
        })
        .lines()
        .rev()
        .nth(1)
        .map(str::trim),
        Some("REWORK [   0.0s] a  attempt 2  artifact 20: target file out.txt does not exist")
    );
    let crash = Mission::new("m").task("a", &[]);
    let lines = plain(crash, TextLayout::default(), |scene| {
        scene.fails(0, rules::domain::FailureClass::Unknown, "exit status 3");
    });
    assert!(lines.contains("RETRY [   0.0s] a  attempt 2  outcome: exit status 3\n"), "{lines}");
}

#[test]
fn a_task_that_passes_at_once_is_one_line_and_says_what_passed() {
    let mission = Mission::new("m").task("a", &[]).check("true").panel();
    let text = plain(mission, terminal(false), |scene| {
        scene.after(2).works(0).checked(0, 0, true, "");
        scene.after(2).scored(0, 0, 4, 4).scored(0, 1, 4, 4);
    });
    let of_task: Vec<&str> = text.lines().filter(|line| line.contains("] a ")).collect();
    let done = "        DONE [   4.0s] a  clean  80 >= 70  1/1 check, 1 proof, 2/2 judges  4.0s";
    assert_eq!(of_task, ["       START [   0.0s] a  worker", done], "{text}");
}

#[test]
fn what_a_failed_check_printed_is_a_block_of_its_last_lines() {
    let mission = || Mission::new("m").task("a", &[]).check("pytest");
    let output: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    for screen in [TextLayout::default(), terminal(false)] {
        let text = plain(mission(), screen, |scene| {
            scene.works(0).checked(0, 0, false, &format!("test `pytest` exited 1\n{output}"));
        });
        let at = text.find("1/1 check failed: test `pytest` exited 1\n").expect(&text);
        let block: Vec<&str> = text[at..].lines().skip(1).take(6).collect();
        let expected: Vec<String> = (25..=30).map(|n| format!("{:13}| line {n}", "")).collect();
        assert_eq!(block, expected, "{text}");
        let rework = text.lines().find(|line| line.contains("REWORK")).expect(&text);
        assert!(rework.ends_with("attempt 2  checks"), "said twice: {rework}");
    }
}

#[test]
fn what_is_too_long_goes_on_below_and_loses_nothing() {
    let mission = Mission::new("m").task("a", &[]);
    let cause = "the provider refused the request because nobody pays for it any more, and says so at length in its reply";
    let text = plain(mission, terminal(false), |scene| {
        scene.fails(0, rules::domain::FailureClass::Unknown, cause);
    });
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.contains("RETRY")).collect();
    assert!(lines.len() > 1 && lines[1].starts_with(&" ".repeat(23)), "{text}");
    let said = lines.join(" ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(cause), "{said}");
}

#[test]
fn a_heartbeat_comes_once_a_minute_and_names_what_runs() {
    let mission = || {
        let mission = (0..5).fold(Mission::new("m"), |mission, n| mission.task(&format!("task {n}"), &[]));
        mission.gate("g", &[0, 1, 2, 3, 4], &[], None)
    };
    let beats =
        |play: fn(&mut Scene<'_>)| plain(mission(), TextLayout::default(), play).matches("running  ").count();
    assert_eq!(beats(|scene| scene.after(59).heartbeat()), 0);
    assert_eq!(
        beats(|scene| {
            scene.after(60).heartbeat();
            scene.after(30).heartbeat();
            scene.after(30).heartbeat();
        }),
        2
    );
    assert_eq!(
        last(mission(), |scene| scene.after(61).heartbeat()),
        "RUN [  61.0s] 4 tasks running  task 0 (working, 01:01), task 1 (working, 01:01), task 2 (working, 01:01), 1 more"
    );
    assert_eq!(
        last(Mission::new("m").task("a", &[]).unreviewed(), |scene| {
            scene.works(0).after(100).heartbeat();
        }),
        "DONE [   0.0s] a  unreviewed"
    );
}

#[test]
fn what_an_earlier_session_left_under_way_is_named_too() {
    let mut scene = Scene::start(Mission::new("m").task("judged", &[]).panel().task("worked on", &[]));
    scene.works(0).scored(0, 0, 4, 4).spawned(1).stopped(StopCause::Interrupted);
    scene.after(3600).input(&rules::engine::Fact::resume(rules::plan::RunOptions::default()));
    let mut out = Vec::new();
    let mut progress = Plain::new(&mut out, run_id(), TextLayout::default());
    let resumed = scene.records.last().unwrap();
    progress.on_events(&scene.state, resumed.seq, resumed.at, &resumed.events);
    scene.after(60);
    progress.on_heartbeat(&scene.state, scene.now);
    assert_eq!(
        String::from_utf8(out).unwrap().lines().map(str::trim).collect::<Vec<_>>(),
        [
            "RESUME [   0.0s] m  0 of 2 tasks finished before",
            "RUN [  60.0s] 2 tasks running  judged (judges 1/2, 01:00), worked on (working, 01:00)",
        ]
    );
}

/// A reader that went away.
struct Closed;

impl io::Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn a_broken_pipe_is_silent() {
    watch(eventful(), &mut Plain::new(Closed, run_id(), TextLayout::default()), play_eventful);
}

/// A terminal that remembers what was written to it, without cursor movement.
#[derive(Debug, Clone, Default)]
struct Paper(Arc<Mutex<String>>);

impl TermLike for Paper {
    fn width(&self) -> u16 {
        80
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)?;
        self.write_str("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.lock().unwrap().push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_str(std::str::from_utf8(bytes).expect("lines are written whole"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn terminal(unicode: bool) -> TextLayout {
    TextLayout { width: Some(80), style: Style { color: false, unicode } }
}

#[test]
fn the_bar_scrolls_the_lines_of_plain_progress() {
    let paper = Paper::default();
    let target = ProgressDrawTarget::term_like(Box::new(paper.clone()));
    watch(eventful(), &mut BarView::on(target, paper.clone(), run_id(), terminal(true)), play_eventful);
    let seen = paper.0.lock().unwrap().clone();
    let expected = plain(eventful(), terminal(true), play_eventful);
    // Each with what goes on below it.
    let expected = expected.replace(&format!("\n{:23}", ""), " ");
    let seen = seen.replace(&format!("\n{:23}", ""), " ");
    // What runs is on the screen anyway, so neither a beginning nor a heartbeat scrolls by.
    let is_live = |line: &&str| line.contains(" START [") || line.contains(" running  ");
    assert!(expected.lines().any(|line| is_live(&line)), "{expected}");
    for line in expected.lines().filter(|line| !is_live(line)) {
        assert!(seen.contains(line.trim_end()), "{line}");
    }
    assert!(!seen.contains(" START ["), "{seen}");
    assert!(seen.contains(" 4/8 done · 1 failed · 1 skipped · 2 rework · 1 waiting · 0"), "{seen}");
}

#[test]
fn the_bottom_shows_what_runs_and_the_sums() {
    for (name, screen) in SCREENS {
        let mut bar = BarView::on(ProgressDrawTarget::hidden(), io::sink(), run_id(), screen);
        let mut scene = Scene::start(eventful());
        scene.after(3).works(2);
        scene.evaluated(2, 40, "the examples do not run");
        scene.after(61).works(0);
        scene.scored(0, 0, 4, 4);
        bar.on_start(&scene.state);
        for record in &scene.records {
            bar.on_events(&scene.state, record.seq, record.at, &record.events);
        }
        let text = bottom(&bar);
        assert_fits(&text, &screen);
        insta::assert_snapshot!(format!("bottom_{name}"), text);
    }
}

#[test]
fn at_most_eight_rows_are_shown_and_the_rest_is_counted() {
    let mut mission = (0..20).fold(Mission::new("m"), |mission, n| mission.task(&format!("task {n}"), &[]));
    mission.plan.rules.concurrency = 11;
    let mut bar = BarView::on(ProgressDrawTarget::hidden(), io::sink(), run_id(), terminal(false));
    let scene = Scene::start(mission);
    bar.on_start(&scene.state);
    for record in &scene.records {
        bar.on_events(&scene.state, record.seq, record.at, &record.events);
    }
    let text = bottom(&bar);
    assert_eq!(text.lines().count(), 9);
    assert_eq!(text.lines().last(), Some("................ 0/20 done | 11 running | 00:00"));
}
