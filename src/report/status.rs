//! `quorum status` for people: one row per task, then gates, what waits, and the outcome.

use std::fmt::Write as _;

use comfy_table::presets::{ASCII_BORDERS_ONLY_CONDENSED, NOTHING, UTF8_BORDERS_ONLY};
use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table};

use crate::domain::{GateId, Phase, Points, QualityFlag, Status, TaskId};
use crate::engine::{self, SeatState, State, TaskState};

use super::json::{Standing, blocked_by, gate_state};
use super::style::{Role, Screen};
use super::summary::{approvals, task_counts};
use super::text::{against_bar, sanitize};
use super::view::RunView;

/// Rows that a person can still read; what is done and clean gives way first.
const ROWS: usize = 200;

/// The columns whose words must stay in one piece.
const NEVER_WRAPPED: [usize; 4] = [2, 3, 4, 5];

/// The page, with a line feed at its end.
#[must_use]
pub fn status(state: &State, view: &RunView, standing: Standing, screen: &Screen) -> String {
    let style = screen.style;
    let mut text = String::new();
    let name = sanitize(&state.plan.name);
    let run = view
        .run_id
        .as_ref()
        .map(|run| format!("run {run}: "))
        .unwrap_or_default();
    let head = format!("{run}{name}, {}, {}", standing.as_str(), task_counts(state));
    put(&mut text, screen, Some(Role::Strong), &head);

    let shown = rows(state);
    for line in table(state, view, &shown, screen).lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if shown.len() < state.tasks.len() {
        let more = format!("and {} more, all in --json", state.tasks.len() - shown.len());
        put(&mut text, screen, Some(Role::Dim), &more);
    }
    for (index, gate) in state.gates.iter().enumerate() {
        let name = sanitize(&state.plan.gate(GateId::from_index(index)).name).into_owned();
        let (stands, result) = (gate_state(gate), gate.result.as_ref());
        let mut line = format!("gate {name}: {stands}");
        if let Some(avg) = result.and_then(|result| result.avg) {
            let _ = write!(line, ", average {avg}");
        }
        if let Some(reason) = result.and_then(|result| result.reason.as_deref()) {
            let _ = write!(line, ", {}", sanitize(reason));
        }
        put(
            &mut text,
            screen,
            (stands == "failed").then_some(Role::Bad),
            &line,
        );
    }
    for line in approvals(state, view, ROWS) {
        put(&mut text, screen, Some(Role::Warn), &format!("waiting {line}"));
    }
    let outcome = match &view.outcome {
        Some(outcome) => {
            let names: Vec<_> = outcome.conditions.iter().map(|class| class.as_str()).collect();
            let class = outcome.class;
            format!(
                "outcome {} (exit {}): {}",
                class.as_str(),
                class.exit_code(),
                names.join(", ")
            )
        }
        None => format!("outcome {}", style.symbols().nothing),
    };
    put(&mut text, screen, None, &outcome);
    text
}

fn put(text: &mut String, screen: &Screen, role: Option<Role>, line: &str) {
    let line = screen.fit(line, 0);
    let _ = match role {
        Some(role) => writeln!(text, "{}", screen.style.paint(role, line)),
        None => writeln!(text, "{line}"),
    };
}

/// The tasks that are shown, in file order.
fn rows(state: &State) -> Vec<TaskId> {
    if state.tasks.len() <= ROWS {
        return state.plan.task_ids().collect();
    }
    let is_news = |id: &TaskId| state.task(*id).flag != Some(QualityFlag::Clean);
    let mut shown: Vec<_> = state.plan.task_ids().filter(is_news).take(ROWS).collect();
    let room = ROWS - shown.len();
    shown.extend(state.plan.task_ids().filter(|id| !is_news(id)).take(room));
    shown.sort_unstable();
    shown
}

fn table(state: &State, view: &RunView, shown: &[TaskId], screen: &Screen) -> Table {
    let mut table = Table::new();
    // The screen says what may be done; the library must not look for itself.
    table.force_no_tty();
    if screen.style.color {
        table.enforce_styling();
    }
    match screen.width {
        Some(width) => {
            table
                .load_style(if screen.style.unicode {
                    UTF8_BORDERS_ONLY
                } else {
                    ASCII_BORDERS_ONLY_CONDENSED
                })
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(u16::try_from(width).unwrap_or(u16::MAX));
        }
        None => {
            table
                .load_style(NOTHING)
                .set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    table.set_header(["TASK", "AGENT", "STATUS", "FLAG", "SCORE", "TRIES", "NOTE"]);
    for id in shown {
        table.add_row(row(state, view, *id, screen));
    }
    for column in NEVER_WRAPPED {
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

fn row(state: &State, view: &RunView, id: TaskId, screen: &Screen) -> Vec<Cell> {
    let (plan, task) = (state.plan.task(id), state.task(id));
    let nothing = screen.style.symbols().nothing;
    let score = |points: Points| against_bar(points, engine::bar(state, id), screen.style.symbols());
    let color = match (task.status, task.flag) {
        (Status::Done, Some(QualityFlag::Clean)) => Color::Green,
        (Status::Done | Status::AwaitingApproval, _) => Color::Yellow,
        (Status::Failed, _) => Color::Red,
        (Status::Assigned | Status::InProgress | Status::Review, _) => Color::Cyan,
        (Status::Pending, _) => Color::Reset,
    };
    let attempts = view.task(id).attempts.len();
    vec![
        Cell::new(sanitize(&plan.title)),
        Cell::new(sanitize(&state.plan.agent(plan.agent).name)),
        Cell::new(status_words(task)).fg(color),
        Cell::new(task.flag.map_or(nothing, QualityFlag::as_str)),
        Cell::new(task.points.map_or_else(|| nothing.to_owned(), score)),
        Cell::new(attempts).set_alignment(CellAlignment::Right),
        Cell::new(note(state, view, id)),
    ]
}

/// The status, with the phase where it says more.
fn status_words(task: &TaskState) -> String {
    match task.phase {
        Some(phase @ (Phase::Fix | Phase::Clarification)) => {
            format!("{}, {}", task.status.as_str(), phase.as_str())
        }
        _ => task.status.as_str().to_owned(),
    }
}

/// Why a task is where it is: what holds it, what it waits for, how it failed, how far its review is.
fn note(state: &State, view: &RunView, id: TaskId) -> String {
    let seen = view.task(id);
    if let Some(failure) = seen.failure.as_deref() {
        return format!("{}: {}", failure.mode.as_str(), sanitize(&failure.message));
    }
    if let Some(waiting) = seen.waiting.as_deref() {
        return format!("waits: {}", waiting.reason.as_str());
    }
    let blocked = blocked_by(state, id);
    if !blocked.is_empty() {
        let names: Vec<_> = blocked.into_iter().map(sanitize).collect();
        return format!("needs {}", names.join(", "));
    }
    let seats = state
        .task(id)
        .judging
        .as_deref()
        .map_or(&[][..], |judging| &judging.seats);
    if seats.is_empty() {
        return String::new();
    }
    let replied = seats.iter().filter(|seat| seat.state != SeatState::Asked).count();
    format!("judges {replied}/{}", seats.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{Mission, SCREENS, Scene, assert_fits, eventful, play_eventful};

    #[test]
    fn an_eventful_run_as_a_table() {
        let mut scene = Scene::start(eventful());
        play_eventful(&mut scene);
        for (name, screen) in SCREENS {
            let text = status(
                &scene.state,
                &scene.view,
                Standing::of(&scene.state, false),
                &screen,
            );
            assert_fits(text.trim_end_matches('\n'), &screen);
            insta::assert_snapshot!(format!("status_{name}"), text);
        }
    }

    #[test]
    fn a_run_under_way_says_what_holds_and_what_is_judged() {
        let mut scene = Scene::start(eventful());
        scene.works(0).scored(0, 0, 4, 4);
        scene.works(2).evaluated(2, 40, "no");
        let text = status(&scene.state, &scene.view, Standing::Running, &Screen::default());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn what_is_done_and_clean_gives_way_in_a_long_table() {
        let mission = (0..300).fold(Mission::new("m"), |mission, n| {
            mission.task(&format!("task {n}"), &[])
        });
        let mut scene = Scene::start(mission);
        scene.works(0).evaluated(0, 90, "");
        let text = status(&scene.state, &scene.view, Standing::Running, &Screen::default());
        assert!(!text.contains("task 0 ") && text.contains("task 1 "), "{text}");
        assert!(text.contains("\nand 100 more, all in --json\n"), "{text}");
    }
}
