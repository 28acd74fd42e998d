//! `quorum status` for people: one row per task, then gates, what waits, and the outcome.

use comfy_table::presets::{ASCII_BORDERS_ONLY_CONDENSED, NOTHING, UTF8_BORDERS_ONLY};
use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Row, Table};
use minijinja::value::{Serde, Value};
use minijinja::{Error, context};
use serde::{Deserialize, Serialize};

use crate::runtime::Tail;
use rules::domain::{Bar, Phase, Points, QualityFlag, RunId, Status, TaskId, Timestamp};

use super::style::TextLayout;
use super::summary::{outcome_words, resumable_at};
use super::templates::render;
use super::text::{against_bar, elapsed, fit};
use crate::report::{
    documents::{RunDocument, RunState, SlotWait, TaskRow},
    folds::{
        further_stages::stage_name,
        rank::{Rank, reason},
    },
};

/// Rows that a person can still read; what is done and clean gives way first.
const ROWS: usize = 200;

/// With fewer columns flags go below the status, and with still fewer nobody is told when a task began.
const WIDE: usize = 112;
const ROOMY: usize = 96;

/// Columns of an agent's name, and lines of a task's row, on a terminal.
const AGENT_WIDTH: usize = 16;
const ROW_HEIGHT: usize = 3;

const COLUMNS: [&str; 9] =
    ["TASK", "AGENT", "STATUS", "FLAG", "SCORE", "TRIES", "STARTED (UTC)", "TIME", "NOTE"];

/// The page in at most so many lines, as far as that can be: what is done and clean gives way first, then what has not begun.
/// What failed, runs or waits stays.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn status_within(
    run: &RunDocument<'_>,
    now: Timestamp,
    screen: &TextLayout,
    lines: Option<usize>,
) -> Result<String, Error> {
    let mut page = StatusPage::of(run);
    let mut text = page.render(run.state, now, screen)?;
    // The line in which the cursor then stands is one of them.
    while lines.is_some_and(|most| text.lines().count() >= most) && page.leave_one_out() {
        text = page.render(run.state, now, screen)?;
    }
    Ok(text)
}

/// A terminal with this page and nothing else: one frame of `--watch`.
pub fn frame(page: &str, screen: &TextLayout) -> String {
    // Cursor to the top left, and everything from there on erased; where there is no cursor, pages follow each other.
    let clear = match screen.width {
        Some(_) => "\u{1b}[H\u{1b}[2J",
        None => "",
    };
    format!("{clear}{page}")
}

/// The content of the status page, without its layout: at most [`ROWS`] tasks, whatever the size of the
/// mission. A snapshot holds one, so that a reader of a large run need not fold it to see its first page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusPage {
    run: Option<RunId>,
    mission: String,
    /// The state of the run if nobody writes to it.
    unattended: RunState,
    /// Tasks whose agents outlived the session that started them.
    at_work: Vec<String>,
    /// How many more there are, where only some can be named.
    more_at_work: usize,
    /// The records since the page was made, which it does not show.
    #[serde(skip)]
    since: Option<Tail>,
    rows: Vec<TaskLine>,
    hidden: usize,
    /// The end of the run's last session.
    finished: Option<Timestamp>,
    /// What stands above and below the tasks.
    facts: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TaskLine {
    id: TaskId,
    title: String,
    agent: String,
    status: Status,
    /// The status for people, with the phase where it says more.
    words: String,
    is_superseded: bool,
    flag: Option<QualityFlag>,
    points: Option<Points>,
    bar: Option<Bar>,
    tries: usize,
    started: Option<Timestamp>,
    finished: Option<Timestamp>,
    note: Option<String>,
}

impl StatusPage {
    /// Makes the page of a run.
    pub fn of(run: &RunDocument<'_>) -> Self {
        let shown = run.tasks.news_first(ROWS);
        let holds = run.checkpoints.iter().chain(&run.delays).take(ROWS);
        let waits = run.asked().take(ROWS).chain(run.windows().take(ROWS));
        Self {
            run: run.run_id.cloned(),
            mission: run.mission.to_owned(),
            unattended: run.unattended,
            at_work: run.agents_at_work.iter().map(|title| (*title).to_owned()).collect(),
            more_at_work: 0,
            since: None,
            hidden: run.counts.total.saturating_sub(shown.len()),
            rows: shown.into_iter().map(|id| TaskLine::of(&run.tasks.row(id))).collect(),
            finished: run.finished_at,
            facts: context! {
                not_reviewed => run.not_reviewed(),
                left_out => run.counts.left_out(),
                counts => run.counts.words(),
                gates => Serde(&run.gates),
                holds => Serde(holds.collect::<Vec<_>>()),
                waits => waits.map(|wait| wait.line()).collect::<Vec<_>>(),
                resumes => resumable_at(run),
                waits_until => run.waits_until.map(Timestamp::to_rfc3339),
                unconfined => run.unconfined,
                warnings => Serde(run.warnings.iter().take(ROWS).collect::<Vec<_>>()),
                more_warnings => run.warnings.len().saturating_sub(ROWS),
                outcome => run.recorded.map(outcome_words),
            },
        }
    }

    /// Says whose agents outlived the session, of a page that was drawn up before it ended.
    pub fn outlived_by(&mut self, tasks: &[TaskId]) {
        let shown = self.rows.iter().filter(|row| tasks.contains(&row.id));
        self.at_work = shown.map(|row| row.title.clone()).collect();
        self.more_at_work = tasks.len() - self.at_work.len();
    }

    /// Says what was recorded since the page was drawn up.
    pub fn goes_on(&mut self, since: Tail) {
        self.since = Some(since);
    }

    /// Leaves out the row that says least; `false` if all of them matter.
    fn leave_one_out(&mut self) -> bool {
        let says_nothing = |row: &TaskLine| row.flag == Some(QualityFlag::Clean);
        let least = self.rows.iter().rposition(says_nothing);
        let has_not_begun = |row: &TaskLine| row.status == Status::Pending;
        let Some(least) = least.or_else(|| self.rows.iter().rposition(has_not_begun)) else {
            return false;
        };
        self.rows.remove(least);
        self.hidden += 1;
        true
    }

    /// Where the run stands, given whether a live process writes to it.
    pub fn run_state(&self, has_writer: bool) -> RunState {
        if has_writer { RunState::Running } else { self.unattended }
    }

    /// The page for a screen, with a line feed at its end.
    ///
    /// # Errors
    /// When the template does not fit its values: our bug.
    pub fn render(&self, standing: RunState, now: Timestamp, screen: &TextLayout) -> Result<String, Error> {
        let live = standing == RunState::Running;
        // Nobody works on a run without a session, so no time passes in it.
        let until = if live { Some(now) } else { self.finished };
        let page = context! {
            state => standing.as_str(),
            live,
            since => self.since.as_ref().map(words_of),
            table => Value::from_safe_string(self.table(until, screen)),
            with_notes => screen.width.is_some(),
            ..Serde(self)
        };
        render(screen, include_str!("status.txt"), page)
    }

    fn table(&self, until: Option<Timestamp>, screen: &TextLayout) -> String {
        let has = |columns| screen.width.is_none_or(|width| width >= columns);
        let mut shown = [true; COLUMNS.len()];
        // On a terminal notes stand below the table, where nothing is cut.
        (shown[3], shown[6], shown[8]) = (has(WIDE), has(ROOMY), screen.width.is_none());
        let mut table = empty_table(screen);
        table.set_header(chosen(COLUMNS, shown));
        for row in &self.rows {
            let mut cells = Row::from(chosen(row.cells(has(WIDE), until, screen), shown));
            if screen.width.is_some() {
                cells.max_height(ROW_HEIGHT);
            }
            table.add_row(cells);
        }
        // All but the title and, where nothing is cut, the note are words that must stay in one piece.
        for column in table.column_iter_mut().skip(1) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

fn chosen<T>(all: [T; COLUMNS.len()], shown: [bool; COLUMNS.len()]) -> Vec<T> {
    let all = all.into_iter().zip(shown);
    all.filter_map(|(one, is_shown)| is_shown.then_some(one)).collect()
}

fn empty_table(screen: &TextLayout) -> Table {
    let mut table = Table::new();
    // The screen says what may be done; the library must not look for itself.
    table.force_no_tty();
    if screen.style.color {
        table.enforce_styling();
        table.style_text_only();
    }
    match screen.width {
        Some(width) => table
            .load_style(if screen.style.unicode { UTF8_BORDERS_ONLY } else { ASCII_BORDERS_ONLY_CONDENSED })
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_truncation_indicator(screen.style.symbols().ellipsis)
            .set_width(u16::try_from(width).unwrap_or(u16::MAX)),
        None => table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

/// `as of 2026-11-21T21:59:00Z; since then 5 records, the last at 2026-11-21T21:59:02Z, moved tasks: 2 done, 1 failed;
/// --json tells of all`.
fn words_of(tail: &Tail) -> String {
    let seconds = |at: Timestamp| format!("{}Z", at.to_rfc3339().get(..19).unwrap_or_default());
    let moved = [
        (&[Status::Done][..], "done"),
        (&[Status::Failed], "failed"),
        (&[Status::Assigned, Status::InProgress, Status::Review], "under way"),
        (&[Status::Pending], "pending"),
        (&[Status::AwaitingApproval], "waiting"),
    ];
    let count = |statuses: &[Status]| tail.moved.values().filter(|to| statuses.contains(to)).count();
    let moved = moved.iter().map(|(statuses, what)| (count(statuses), what));
    let moved = moved.filter(|(number, _)| *number > 0);
    let moved: Vec<String> = moved.map(|(number, what)| format!("{number} {what}")).collect();
    let moved = match moved.as_slice() {
        [] => "moved no task".to_owned(),
        moved => format!("moved tasks: {}", moved.join(", ")),
    };
    format!(
        "as of {}; since then {}, the last at {}, {moved}; --json tells of all",
        seconds(tail.from),
        super::text::count(tail.records, "record"),
        seconds(tail.until),
    )
}

impl TaskLine {
    fn of(row: &TaskRow<'_>) -> Self {
        let words = match (row.rank, row.phase) {
            (Rank::NotSelected | Rank::NotTaken | Rank::Superseded, _) => row.rank.words().to_owned(),
            (_, Some(phase @ (Phase::Fix | Phase::Clarification))) => {
                format!("{}, {}", row.status, phase.as_str())
            }
            _ => row.status.to_owned(),
        };
        Self {
            id: row.id,
            title: row.title.to_owned(),
            agent: row.agent.to_owned(),
            status: row.standing,
            words,
            is_superseded: row.superseded_by.is_some(),
            flag: row.quality_flag,
            points: row.points,
            bar: row.bar,
            tries: row.attempts.len(),
            started: row.started_at,
            finished: row.finished_at,
            note: note(row),
        }
    }

    /// The cells of its row: what there is room for is chosen of them. `until`: when what has not ended has taken its time.
    fn cells(&self, has_flag: bool, until: Option<Timestamp>, screen: &TextLayout) -> [Cell; COLUMNS.len()] {
        let symbols = screen.style.symbols();
        let or_nothing = |text: Option<String>| text.unwrap_or_else(|| symbols.nothing.to_owned());
        let harmless = |text: &str, columns| Cell::new(fit(text, columns, symbols.ellipsis));
        let right = |text: Option<String>| Cell::new(or_nothing(text)).set_alignment(CellAlignment::Right);
        let flag = self.flag.map(|flag| flag.as_str().to_owned());
        let mut status = self.words.clone();
        if let Some(flag) = &flag
            && !has_flag
            && self.flag != Some(QualityFlag::Clean)
        {
            append!(status, "\n{flag}");
        }
        let agent = screen.width.map_or(usize::MAX, |_| AGENT_WIDTH);
        let started = self.started.map(Timestamp::to_rfc3339);
        let took = self.started.zip(self.finished.or(until));
        [
            harmless(&self.title, usize::MAX),
            harmless(&self.agent, agent),
            self.color().into_iter().fold(Cell::new(status), Cell::fg),
            Cell::new(or_nothing(flag)),
            Cell::new(or_nothing(self.points.map(|points| against_bar(points, self.bar, symbols)))),
            right(Some(self.tries.to_string())),
            // The day stands in `quorum runs`.
            right(started.map(|at| at[11..19].to_owned())),
            right(took.map(|(from, to)| elapsed(to.since(from)))),
            harmless(self.note.as_deref().unwrap_or_default(), usize::MAX),
        ]
    }

    fn color(&self) -> Option<Color> {
        match (self.status, self.flag) {
            (Status::Done, Some(QualityFlag::Clean)) => Some(Color::DarkGreen),
            (Status::Done, Some(QualityFlag::Unreviewed)) => None,
            (Status::Done | Status::AwaitingApproval, _) => Some(Color::DarkYellow),
            (Status::Failed, _) if self.is_superseded => None,
            (Status::Failed, _) => Some(Color::DarkRed),
            (Status::Assigned | Status::InProgress | Status::Review, _) => Some(Color::DarkCyan),
            (Status::Pending, _) => None,
        }
    }
}

/// Why a task is where it is, and what the further stages said of its work.
fn note(row: &TaskRow<'_>) -> Option<String> {
    let said = row.scrutiny();
    let said = said.map(|report| format!("{} {}", stage_name(report), report.verdict.as_str()));
    let person = row.person.filter(|_| row.standing == Status::Done);
    let person = person.map(|name| format!("accepted by {name}"));
    let reopened = row.reopened.map(|why| format!("reopened: {why}"));
    let notes: Vec<String> = reason_of(row)
        .into_iter()
        .chain(reopened)
        .chain(person)
        .chain(said)
        .chain(row.diff.as_ref().map(|diff| diff.words()))
        .collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The reason of a task's state: what holds it, what it waits for, how it failed, or how far its review is.
fn reason_of(row: &TaskRow<'_>) -> Option<String> {
    if let Some(by) = row.superseded_by {
        return Some(format!("by {by}"));
    }
    if row.not_taken {
        return Some(row.not_taken_words());
    }
    if let Some(failure) = &row.failure {
        return Some(failure.words());
    }
    if row.rank == Rank::Indeterminate && row.waiting.is_none() {
        return Some(format!("{}: {}", row.rank.words(), reason(row)));
    }
    if let Some((edge, target)) = row.edges.as_ref().and_then(|edges| edges.taken.zip(edges.led_to)) {
        return Some(format!("{edge}: {target}"));
    }
    if let Some(waiting) = row.waiting.as_ref().filter(|waiting| waiting.id.is_some()) {
        return Some(format!("waits: {}", waiting.reason));
    }
    if !row.blocked_by.is_empty() {
        return Some(format!("needs {}", row.blocked_by.join(", ")));
    }
    if let Some(words) = queued(row) {
        return Some(words);
    }
    let (replied, asked) = row.judges;
    (asked > 0).then(|| format!("judges {replied}/{asked}"))
}

/// The wait of a task that lacks only its turn: for a slot, for its agent, or for the pause before an attempt.
fn queued(row: &TaskRow<'_>) -> Option<String> {
    Some(match row.queued.as_ref()? {
        SlotWait::Attempt(until) => {
            let at = until.to_rfc3339();
            format!("waits until {} for its next attempt", &at[..at.len().min(19)])
        }
        SlotWait::Agent(name, most) => format!("waits for agent {name} (maxConcurrent: {most})"),
        SlotWait::Slot(most) => format!("waits for a slot ({most} at a time)"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::report::testing::{Mission, SCREENS, Scene, assert_fits, eventful, play_eventful};

    fn document<'a>(scene: &'a Scene<'_>, standing: RunState) -> RunDocument<'a> {
        RunDocument::of(&scene.state, &scene.view, standing, scene.view.outcome.as_ref())
    }

    fn status(scene: &Scene<'_>, standing: RunState, screen: &TextLayout) -> String {
        StatusPage::of(&document(scene, standing)).render(standing, scene.now, screen).unwrap()
    }

    #[test]
    fn an_eventful_run_as_a_table() {
        let mut scene = Scene::start(eventful());
        play_eventful(&mut scene);
        for (name, screen) in SCREENS {
            let text = status(&scene, RunState::of(&scene.state, false), &screen);
            assert_fits(text.trim_end_matches('\n'), &screen);
            insta::assert_snapshot!(format!("status_{name}"), text);
        }
    }

    #[test]
    fn a_run_under_way_says_what_holds_and_what_is_judged() {
        let mut scene = Scene::start(eventful());
        scene.works(0).scored(0, 0, 4, 4);
        scene.works(2).evaluated(2, 40, "no");
        let text = status(&scene, RunState::Running, &TextLayout::default());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_run_without_reviews_says_so_here_too() {
        let mut mission = Mission::new("m").task("a", &[]);
        mission.plan.rules.settings.evaluate = false;
        let mut scene = Scene::start(mission);
        scene.works(0);
        let text = status(&scene, RunState::Ended, &TextLayout::default());
        insta::assert_snapshot!(text, @r"
        run 20261121-215900-ab12: m, ended
        NOTHING WAS REVIEWED: reviews are switched off, agents' work was taken as it came
        tasks: 1 of 1 done
         TASK  AGENT   STATUS  FLAG        SCORE  TRIES  STARTED (UTC)  TIME  NOTE
         a     worker  done    unreviewed  -          1       21:59:00  0.0s
        outcome: exit 0 (ok)
        ");
    }

    #[test]
    fn what_waits_for_its_turn_says_for_which() {
        let mut mission = Mission::new("m").task("a", &[]).task("b", &[]).task("c", &[1]);
        mission.plan.rules.concurrency = 1;
        let mut scene = Scene::start(mission);
        let note = |scene: &Scene<'_>, id| {
            let tasks = document(scene, RunState::Running).tasks;
            note(&tasks.row(TaskId(id))).unwrap_or_default()
        };
        assert_eq!(note(&scene, 1), "waits for a slot (1 at a time)");
        assert_eq!(note(&scene, 0), "");
        scene.stopped(rules::engine::StopCause::Interrupted);
        assert_eq!(note(&scene, 1), "", "without a session nobody waits for its slots");
        let mut mission = Mission::new("m").task("a", &[]).task("b", &[]);
        std::sync::Arc::make_mut(&mut mission.plan.agents)[0].spec.max_concurrent = Some(1);
        let scene = Scene::start(mission);
        let waits = "waits for agent worker (maxConcurrent: 1)";
        let text = status(&scene, RunState::Running, &TextLayout::default());
        assert!(text.contains(waits), "{text}");
    }

    #[test]
    fn a_page_that_was_drawn_up_before_a_crash_says_of_when_it_is_and_what_followed() {
        let mut scene = Scene::start(Mission::new("m").task("a", &[]).task("b", &[]));
        scene.works(0);
        let mut page = StatusPage::of(&document(&scene, RunState::Crashed));
        let text =
            |page: &StatusPage| page.render(RunState::Crashed, scene.now, &TextLayout::default()).unwrap();
        let plain = text(&page);
        let mut since = Tail {
            from: Timestamp(1_795_298_340_000),
            until: Timestamp(1_795_298_341_999),
            records: 1,
            moved: BTreeMap::new(),
        };
        page.goes_on(since.clone());
        let head = |page: &StatusPage| text(page).lines().nth(1).unwrap_or_default().to_owned();
        insta::assert_snapshot!(head(&page), @"as of 2026-11-21T21:59:00Z; since then 1 record, the last at 2026-11-21T21:59:01Z, moved no task; --json tells of all");
        since.records = 4;
        let moved = [
            Status::Failed,
            Status::Review,
            Status::Done,
            Status::Failed,
            Status::Pending,
            Status::AwaitingApproval,
        ];
        since.moved = (0..).map(TaskId).zip(moved).collect();
        page.goes_on(since);
        insta::assert_snapshot!(head(&page), @"as of 2026-11-21T21:59:00Z; since then 4 records, the last at 2026-11-21T21:59:01Z, moved tasks: 1 done, 2 failed, 1 under way, 1 pending, 1 waiting; --json tells of all");
        let rest: Vec<_> = plain.lines().skip(1).collect();
        assert!(text(&page).ends_with(&(rest.join("\n") + "\n")));
        // Who is not on the page is counted.
        for (tasks, words) in [
            (vec![TaskId(1)], "at work on b;"),
            (vec![TaskId(1), TaskId(7), TaskId(8)], "at work on b, 2 more tasks;"),
            (vec![TaskId(7)], "at work on 1 task;"),
        ] {
            page.outlived_by(&tasks);
            assert!(text(&page).contains(words), "{}", text(&page));
        }
    }

    #[test]
    fn what_is_done_and_clean_gives_way_in_a_long_table() {
        let mission = (0..300).fold(Mission::new("m"), |mission, n| mission.task(&format!("task {n}"), &[]));
        let mut scene = Scene::start(mission);
        scene.works(0).evaluated(0, 90, "");
        let text = status(&scene, RunState::Running, &TextLayout::default());
        assert!(!text.contains("task 0 ") && text.contains("task 1 "), "{text}");
        assert!(text.contains("\nand 100 more, all in --json\n"), "{text}");
    }
}
