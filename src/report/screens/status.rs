//! `quorum status` for people: one row per task, then gates, what waits, and the outcome.

use comfy_table::presets::{ASCII_BORDERS_ONLY_CONDENSED, NOTHING, UTF8_BORDERS_ONLY};
use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Row, Table};

use serde::{Deserialize, Serialize};

use crate::runtime::Tail;
use rules::{
    domain::{Bar, Phase, Points, QualityFlag, RunId, Status, TaskId, Timestamp},
    engine::GateStanding,
};

use super::style::{Role, Sheet, TextLayout};
use super::summary::{outcome_words, resumable_at};
use super::text::{against_bar, elapsed, fit, sanitize};
use crate::report::{
    documents::{GateRow, RunDocument, RunState, SlotWait, TaskRow},
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

/// The page in at most so many lines, as far as that can be: what is done and clean gives way first, then what has not begun.
/// What failed, runs or waits stays.
pub fn status_within(
    run: &RunDocument<'_>,
    now: Timestamp,
    screen: &TextLayout,
    lines: Option<usize>,
) -> String {
    let mut page = StatusPage::of(run);
    let mut text = page.render(run.state, now, screen);
    // The line in which the cursor then stands is one of them.
    while lines.is_some_and(|most| text.lines().count() >= most) && page.leave_one_out() {
        text = page.render(run.state, now, screen);
    }
    text
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
    above: Vec<StatusLine>,
    rows: Vec<TaskLine>,
    hidden: usize,
    below: Vec<StatusLine>,
    outcome: Option<String>,
    /// The end of the run's last session.
    finished: Option<Timestamp>,
}

/// A line above or below the tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StatusLine {
    role: Option<Role>,
    text: String,
    /// Whether the line holds only while a session works on the run, or only while none does; `None` for
    /// always.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<bool>,
}

impl StatusLine {
    fn new(role: Option<Role>, text: impl Into<String>) -> Self {
        Self {
            role,
            text: text.into(),
            live: None,
        }
    }

    fn warn(text: impl Into<String>) -> Self {
        Self::new(Some(Role::Warn), text)
    }

    fn while_live(self, live: bool) -> Self {
        Self {
            live: Some(live),
            ..self
        }
    }
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
        Self {
            run: run.run_id.cloned(),
            mission: run.mission.to_owned(),
            unattended: run.unattended,
            at_work: run
                .agents_at_work
                .iter()
                .map(|title| (*title).to_owned())
                .collect(),
            more_at_work: 0,
            since: None,
            above: above(run),
            hidden: run.counts.total.saturating_sub(shown.len()),
            rows: shown
                .into_iter()
                .map(|id| TaskLine::of(&run.tasks.row(id)))
                .collect(),
            below: below(run),
            outcome: run.recorded.map(outcome_words),
            finished: run.finished_at,
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
        if has_writer {
            RunState::Running
        } else {
            self.unattended
        }
    }

    /// The page for a screen, with a line feed at its end.
    pub fn render(&self, standing: RunState, now: Timestamp, screen: &TextLayout) -> String {
        let live = standing == RunState::Running;
        let mut page = StatusText {
            told: self,
            // Nobody works on a run without a session, so no time passes in it.
            now: if live { Some(now) } else { self.finished },
            sheet: Sheet::new(screen),
        };
        page.head(standing);
        page.lines(&self.above, live);
        page.tasks();
        page.lines(&self.below, live);
        // Not cut: it is what scripts and people look for.
        let nothing = screen.style.symbols().nothing;
        append_line!(
            page.sheet.text,
            "outcome: {}",
            self.outcome.as_deref().unwrap_or(nothing)
        );
        page.sheet.text
    }
}

/// The lines above the tasks.
fn above(run: &RunDocument<'_>) -> Vec<StatusLine> {
    let not_reviewed = run.not_reviewed().map(|words| StatusLine::warn(sanitize(&words)));
    let left_out = run.counts.left_out().map(StatusLine::warn);
    let counts = StatusLine::new(None, format!("tasks: {}", run.counts.words()));
    not_reviewed.into_iter().chain(left_out).chain([counts]).collect()
}

/// The lines below the tasks: gates, holds, waits, warnings.
fn below(run: &RunDocument<'_>) -> Vec<StatusLine> {
    let mut lines: Vec<StatusLine> = run.gates.iter().map(gate_line).collect();
    let holds = run.checkpoints.iter().chain(&run.delays).take(ROWS);
    lines.extend(holds.map(|hold| StatusLine::new(None, hold.line())));
    let waits = run.asked().take(ROWS).chain(run.windows().take(ROWS));
    lines.extend(waits.map(|wait| StatusLine::warn(format!("waiting {}", wait.line()))));
    lines.extend(resumable_at(run).map(|words| StatusLine::warn(words).while_live(false)));
    lines.extend(run.waits_until.map(|until| {
        let words = format!("the session waits for a person until {}", until.to_rfc3339());
        StatusLine::warn(words).while_live(true)
    }));
    let unconfined = run.unconfined.map(sanitize);
    lines.extend(unconfined.map(|why| StatusLine::warn(format!("unconfined: {why}"))));
    let warnings = run.warnings.iter().take(ROWS);
    lines.extend(warnings.map(|warning| StatusLine::warn(format!("warning: {}", sanitize(warning)))));
    if run.warnings.len() > ROWS {
        let more = run.warnings.len() - ROWS;
        lines.push(StatusLine::warn(format!("and {more} more warnings")));
    }
    lines
}

fn gate_line(gate: &GateRow<'_>) -> StatusLine {
    let stands = match gate.state {
        GateStanding::NotTaken => "not taken",
        stands => stands.as_str(),
    };
    let mut text = format!("gate {}: {stands}", sanitize(gate.name));
    if let Some(average) = gate.average {
        append!(text, ", average {average}");
    }
    if let Some(reason) = &gate.reason {
        append!(text, ", {}", sanitize(reason));
    }
    StatusLine::new((gate.state == GateStanding::Failed).then_some(Role::Bad), text)
}

/// `as of 2026-11-21T21:59:00Z; since then 5 records, the last at 2026-11-21T21:59:02Z, moved tasks: 2 done, 1 failed;
/// --json tells of all`.
fn words_of(tail: &Tail) -> String {
    let seconds = |at: Timestamp| format!("{}Z", at.to_rfc3339().get(..19).unwrap_or_default());
    let moved = [
        (&[Status::Done][..], "done"),
        (&[Status::Failed], "failed"),
        (
            &[Status::Assigned, Status::InProgress, Status::Review],
            "under way",
        ),
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
    let said = said.map(|report| format!("{} {}", sanitize(stage_name(report)), report.verdict.as_str()));
    let person = row.person.filter(|_| row.standing == Status::Done);
    let person = person.map(|name| format!("accepted by {}", sanitize(name)));
    let reopened = row.reopened.map(|why| format!("reopened: {}", sanitize(why)));
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
        return Some(format!("by {}", sanitize(by)));
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
        return Some(format!("{edge}: {}", sanitize(target)));
    }
    if let Some(waiting) = row.waiting.as_ref().filter(|waiting| waiting.id.is_some()) {
        return Some(format!("waits: {}", waiting.reason));
    }
    if !row.blocked_by.is_empty() {
        let names: Vec<_> = row.blocked_by.iter().map(|name| sanitize(name)).collect();
        return Some(format!("needs {}", names.join(", ")));
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
        SlotWait::Agent(name, most) => format!("waits for agent {} (maxConcurrent: {most})", sanitize(name)),
        SlotWait::Slot(most) => format!("waits for a slot ({most} at a time)"),
    })
}

struct StatusText<'a> {
    told: &'a StatusPage,
    /// Up to when what has not ended has taken its time.
    now: Option<Timestamp>,
    sheet: Sheet<'a>,
}

impl StatusText<'_> {
    fn head(&mut self, standing: RunState) {
        let told = self.told;
        let name = sanitize(&told.mission);
        let run = told.run.as_ref();
        let run = run.map(|run| format!("run {run}: ")).unwrap_or_default();
        let head = format!("{run}{name}, {}", standing.as_str());
        self.sheet.line(Some(Role::Strong), &head);
        if let Some(since) = &told.since {
            self.sheet.line(Some(Role::Warn), &words_of(since));
        }
        let mut names: Vec<_> = told.at_work.iter().map(|title| sanitize(title)).collect();
        if told.more_at_work > 0 {
            let more = if names.is_empty() { "" } else { " more" };
            let tasks = if told.more_at_work == 1 { "task" } else { "tasks" };
            names.push(format!("{}{more} {tasks}", told.more_at_work).into());
        }
        if !names.is_empty() {
            let line = format!(
                "agents are still at work on {}; `quorum resume` takes them over",
                names.join(", ")
            );
            self.sheet.line(Some(Role::Warn), &line);
        }
    }

    fn lines(&mut self, lines: &[StatusLine], live: bool) {
        for line in lines
            .iter()
            .filter(|line| line.live.is_none_or(|wanted| wanted == live))
        {
            self.sheet.line(line.role, &line.text);
        }
    }

    fn has(&self, columns: usize) -> bool {
        self.sheet.screen.width.is_none_or(|width| width >= columns)
    }

    fn tasks(&mut self) {
        let told = self.told;
        let mut table = self.empty_table();
        for row in &told.rows {
            table.add_row(self.row(row));
        }
        // All but the title and, where nothing is cut, the note are words that must stay in one piece.
        for column in 1..self.heads().len() {
            if let Some(column) = table.column_mut(column) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        for line in table.lines() {
            append_line!(self.sheet.text, "{}", line.trim_end());
        }
        if told.hidden > 0 {
            self.sheet.line(
                Some(Role::Dim),
                &format!("and {} more, all in --json", told.hidden),
            );
        }
        if self.sheet.screen.width.is_some() {
            self.notes();
        }
    }

    fn heads(&self) -> Vec<&'static str> {
        let mut heads = vec!["TASK", "AGENT", "STATUS"];
        heads.extend(self.has(WIDE).then_some("FLAG"));
        heads.extend(["SCORE", "TRIES"]);
        heads.extend(self.has(ROOMY).then_some("STARTED (UTC)"));
        heads.push("TIME");
        // On a terminal notes stand below the table, where nothing is cut.
        heads.extend(self.sheet.screen.width.is_none().then_some("NOTE"));
        heads
    }

    fn empty_table(&self) -> Table {
        let mut table = Table::new();
        // The screen says what may be done; the library must not look for itself.
        table.force_no_tty();
        if self.sheet.screen.style.color {
            table.enforce_styling();
            table.style_text_only();
        }
        match self.sheet.screen.width {
            Some(width) => table
                .load_style(if self.sheet.screen.style.unicode {
                    UTF8_BORDERS_ONLY
                } else {
                    ASCII_BORDERS_ONLY_CONDENSED
                })
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_truncation_indicator(self.sheet.screen.style.symbols().ellipsis)
                .set_width(u16::try_from(width).unwrap_or(u16::MAX)),
            None => table
                .load_style(NOTHING)
                .set_content_arrangement(ContentArrangement::Disabled),
        };
        table.set_header(self.heads());
        table
    }

    fn row(&self, told: &TaskLine) -> Row {
        let symbols = self.sheet.screen.style.symbols();
        let agent = sanitize(&told.agent);
        let agent = match self.sheet.screen.width {
            Some(_) => fit(&agent, AGENT_WIDTH, symbols.ellipsis).into_owned(),
            None => agent.into_owned(),
        };
        let score = |points: Points| against_bar(points, told.bar, symbols);
        let score = told.points.map_or_else(|| symbols.nothing.to_owned(), score);
        let (mut status, flag) = (told.words.clone(), told.flag.map(QualityFlag::as_str));
        if !self.has(WIDE)
            && let Some(flag) = flag.filter(|_| told.flag != Some(QualityFlag::Clean))
        {
            append!(status, "\n{flag}");
        }
        let status = match told.color() {
            Some(color) => Cell::new(status).fg(color),
            None => Cell::new(status),
        };
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        let mut cells = vec![Cell::new(sanitize(&told.title)), Cell::new(agent), status];
        if self.has(WIDE) {
            cells.push(Cell::new(flag.unwrap_or(symbols.nothing)));
        }
        cells.extend([Cell::new(score), right(told.tries.to_string())]);
        if self.has(ROOMY) {
            let at = told.started.map(Timestamp::to_rfc3339);
            // The day stands in `quorum runs`.
            let at = at.as_deref().and_then(|at| at.get(11..19));
            cells.push(right(at.unwrap_or(symbols.nothing).to_owned()));
        }
        let took = told.started.zip(told.finished.or(self.now));
        let took = took.map(|(from, to)| elapsed(to.since(from)));
        cells.push(right(took.unwrap_or_else(|| symbols.nothing.to_owned())));
        if self.sheet.screen.width.is_none() {
            cells.push(Cell::new(told.note.as_deref().unwrap_or_default()));
        }
        let mut row = Row::from(cells);
        if self.sheet.screen.width.is_some() {
            row.max_height(ROW_HEIGHT);
        }
        row
    }

    fn notes(&mut self) {
        for row in &self.told.rows {
            if let Some(note) = &row.note {
                let line = format!("{}: {note}", sanitize(&row.title));
                self.sheet.line(None, &line);
            }
        }
    }
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
        StatusPage::of(&document(scene, standing)).render(standing, scene.now, screen)
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
        assert_eq!(
            note(&scene, 1),
            "",
            "without a session nobody waits for its slots"
        );
        let mut mission = Mission::new("m").task("a", &[]).task("b", &[]);
        std::sync::Arc::make_mut(&mut mission.plan.agents)[0]
            .spec
            .max_concurrent = Some(1);
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
        let text = |page: &StatusPage| page.render(RunState::Crashed, scene.now, &TextLayout::default());
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
            (
                vec![TaskId(1), TaskId(7), TaskId(8)],
                "at work on b, 2 more tasks;",
            ),
            (vec![TaskId(7)], "at work on 1 task;"),
        ] {
            page.outlived_by(&tasks);
            assert!(text(&page).contains(words), "{}", text(&page));
        }
    }

    #[test]
    fn what_is_done_and_clean_gives_way_in_a_long_table() {
        let mission = (0..300).fold(Mission::new("m"), |mission, n| {
            mission.task(&format!("task {n}"), &[])
        });
        let mut scene = Scene::start(mission);
        scene.works(0).evaluated(0, 90, "");
        let text = status(&scene, RunState::Running, &TextLayout::default());
        assert!(!text.contains("task 0 ") && text.contains("task 1 "), "{text}");
        assert!(text.contains("\nand 100 more, all in --json\n"), "{text}");
    }
}
