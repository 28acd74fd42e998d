//! The drawing of a mission with what became of it; of one too large to read, its waves in rows.

use serde::Serialize;

use rules::{domain::TaskId, plan::waves};

use super::layout::{Frame, SvgLine, lay_out};
use super::{sign, tone};
use crate::report::{
    documents::{RunDocument, TaskRow},
    folds::rank::Rank,
    formats::plan_graph::{Thing, hold_words, lines},
    screens::text::{count, fit},
};

/// More tasks than these are shown as waves: nobody can read so many boxes.
const TASKS: usize = 600;
/// More lines than these are a grey area.
const LINES: usize = 2_500;
/// Waves in the table that stands for a drawing.
const WAVES: usize = 200;
/// The drawing, or what stands for it.
#[derive(Serialize)]
pub struct Drawing {
    graph: Option<GraphPage>,
    /// Why there is no graph.
    why_not: Option<String>,
    waves: Vec<WaveRow>,
    waves_left_out: usize,
    words: String,
}

#[derive(Serialize)]
struct GraphPage {
    width: i64,
    height: i64,
    small: bool,
    headings: Vec<Heading>,
    boxes: Vec<Box>,
    lines: Vec<SvgLine>,
}

/// The heading above a wave's first column.
#[derive(Serialize)]
struct Heading {
    x: i64,
    text: String,
}

#[derive(Serialize)]
struct Box {
    /// The task whose story can be linked to.
    id: Option<u32>,
    /// The state of a gate, a checkpoint or a delay, which has its look; `None` for a task.
    state: Option<&'static str>,
    #[serde(flatten)]
    frame: Frame,
    tone: &'static str,
    sign: &'static str,
    label: String,
    note: String,
    /// In full, for whoever points at it.
    title: String,
}

/// One wave where boxes are too many.
#[derive(Serialize)]
struct WaveRow {
    number: u32,
    tasks: usize,
    parts: Vec<GraphPart>,
}

#[derive(Serialize)]
struct GraphPart {
    tone: &'static str,
    sign: &'static str,
    words: &'static str,
    tasks: usize,
}

/// The drawing of a run. `full` are the tasks whose story the page has.
pub fn drawing(run: &RunDocument<'_>, ranked: &[(Rank, TaskId)], full: &[TaskId]) -> Drawing {
    let plan = run.plan;
    let wave_of = waves(plan);
    let number = wave_of.iter().max().map_or(0, |last| *last as usize + 1);
    let lines = lines(plan);
    let (tasks, gates) = (plan.task_ids().count(), plan.gate_ids().count());
    let mut words = format!(
        "{}, {}, {}, {}",
        count(tasks, "task"),
        count(number, "wave"),
        count(lines.len(), "dependency line"),
        count(gates, "gate"),
    );
    for (holds, what) in [(&run.checkpoints, "checkpoint"), (&run.delays, "delay")] {
        if !holds.is_empty() {
            append!(words, ", {}", count(holds.len(), what));
        }
    }
    let why_not = if tasks > TASKS {
        Some(format!("{tasks} tasks are too many to draw one by one"))
    } else if lines.len() > LINES || gates > TASKS {
        Some(format!("{} lines and {gates} gates are too many to draw one by one", lines.len(),))
    } else {
        None
    };
    let (rows, graph) = match &why_not {
        Some(_) => {
            let sorted = ranked.iter().map(|(rank, id)| (wave_of[id.index()], *rank));
            (wave_rows(sorted.collect(), number), None)
        }
        None => (Vec::new(), Some(graph(run, &wave_of, &lines, full))),
    };
    Drawing {
        graph,
        why_not,
        waves_left_out: rows.len().saturating_sub(WAVES),
        waves: rows.into_iter().take(WAVES).collect(),
        words,
    }
}

/// `tasks` are the wave and the rank of each.
fn wave_rows(mut tasks: Vec<(u32, Rank)>, number: usize) -> Vec<WaveRow> {
    tasks.sort_unstable();
    let mut rows = Vec::with_capacity(number);
    for wave in tasks.chunk_by(|one, other| one.0 == other.0) {
        let parts = wave.chunk_by(|one, other| one.1 == other.1);
        rows.push(WaveRow {
            number: wave[0].0 + 1,
            tasks: wave.len(),
            parts: parts
                .map(|part| GraphPart {
                    tone: tone(part[0].1),
                    sign: sign(part[0].1),
                    words: part[0].1.words(),
                    tasks: part.len(),
                })
                .collect(),
        });
    }
    rows
}

fn graph(run: &RunDocument<'_>, wave_of: &[u32], lines: &[(Thing, Thing)], full: &[TaskId]) -> GraphPage {
    let mut linked = vec![false; run.plan.tasks.len()];
    full.iter().for_each(|id| linked[id.index()] = true);
    let layout = lay_out(run.plan, wave_of, lines);
    let boxes = layout.boxes.into_iter().map(|(thing, frame)| match thing {
        Thing::Task(id) => Box {
            id: linked[id.index()].then_some(id.0),
            ..task_box(&run.tasks.row(id), frame, layout.small)
        },
        Thing::Gate(id) => {
            let gate = &run.gates[id.index()];
            hold_box("gate", gate.name, gate.state.as_str(), frame, layout.small)
        }
        Thing::Hold(id) => {
            let mut holds = run.checkpoints.iter().chain(&run.delays);
            let state = holds.find(|hold| hold.id == id).map_or("", |hold| hold.state);
            let words = hold_words(run.plan, id);
            let (what, name) = words.split_once(' ').unwrap_or_default();
            hold_box(what, name, state, frame, layout.small)
        }
    });
    let heading = |(wave, x): (usize, &i64)| Heading { x: *x, text: format!("Wave {}", wave + 1) };
    GraphPage {
        width: layout.width,
        height: layout.height,
        small: layout.small,
        headings: layout.waves.iter().enumerate().map(heading).collect(),
        boxes: boxes.collect(),
        lines: layout.lines,
    }
}

fn task_box(task: &TaskRow<'_>, frame: Frame, small: bool) -> Box {
    let (rank, title, agent) = (task.rank, task.title, task.agent);
    let score = task.points.map_or_else(String::new, |points| format!(" · {points}"));
    Box {
        id: None,
        state: None,
        frame,
        tone: tone(rank),
        sign: sign(rank),
        label: fit(title, if small { 19 } else { 22 }, "…").into_owned(),
        note: format!("{}{score}", fit(agent, 18, "…")),
        title: super::cut(&format!("{title}: {}, {agent}{score}", rank.words()), 300),
    }
}

/// The box of a gate, a checkpoint or a delay.
fn hold_box(what: &str, name: &str, state: &'static str, frame: Frame, small: bool) -> Box {
    Box {
        id: None,
        state: Some(state),
        frame,
        tone: "",
        sign: "",
        label: fit(name, if small { 14 } else { 15 }, "…").into_owned(),
        note: format!("{what} · {state}"),
        title: super::cut(&format!("{what} {name}: {state}"), 300),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::documents::RunState;
    use crate::report::folds::rank::worst_first;
    use crate::report::testing::{Mission, Scene};

    fn draw(mission: Mission) -> Drawing {
        let scene = Scene::start(mission);
        drawing(
            &RunDocument::of(&scene.state, &scene.view, RunState::Running, None),
            &worst_first(&scene.state, &scene.view),
            &[TaskId(0)],
        )
    }

    /// A mission of waves in which every task needs some of the wave before and one of any earlier one.
    fn layered(waves: u32, each: u32) -> Mission {
        let mut mission = Mission::new("layered");
        for wave in 0..waves {
            for n in 0..each {
                let before = |n: u32| (wave - 1) * each + n % each;
                let needs = match wave {
                    0 => Vec::new(),
                    _ => vec![before(n), before(n * 7 + 1), (n * 13) % (wave * each)],
                };
                let needs: std::collections::BTreeSet<u32> = needs.into_iter().collect();
                let needs: Vec<u32> = needs.into_iter().collect();
                mission = mission.task(&format!("task {n} of wave {wave}"), &needs);
            }
        }
        mission
    }

    #[test]
    fn boxes_never_overlap_and_lie_within_the_drawing() {
        for (waves, each) in [(1, 1), (1, 5), (5, 10), (10, 50), (1, 600), (100, 1)] {
            let graph = draw(layered(waves, each)).graph.expect("it is small enough");
            for (index, one) in graph.boxes.iter().enumerate() {
                assert!(one.frame.x >= 0 && one.frame.y >= 0 && one.frame.x + one.frame.width <= graph.width);
                assert!(one.frame.y + one.frame.height <= graph.height, "{waves} x {each}");
                for other in &graph.boxes[..index] {
                    let apart = |from: i64, size: i64, other: i64, its: i64| {
                        from + size <= other || other + its <= from
                    };
                    let is_apart = apart(one.frame.x, one.frame.width, other.frame.x, other.frame.width)
                        || apart(one.frame.y, one.frame.height, other.frame.y, other.frame.height);
                    assert!(is_apart, "{}, {}", one.title, other.title);
                }
            }
        }
    }

    #[test]
    fn lines_run_from_left_to_right_and_a_gate_stands_between_its_tasks() {
        let mission = Mission::new("gated").task("a", &[]).task("b", &[0]).task("c", &[0]).gate(
            "door",
            &[1],
            &[2],
            None,
        );
        let drawing = draw(mission);
        let graph = drawing.graph.expect("it is small enough");
        let x =
            |label: &str| graph.boxes.iter().find(|found| found.label == label).map(|found| found.frame.x);
        assert!(x("a") < x("b") && x("b") < x("door") && x("door") < x("c"));
        assert_eq!(graph.lines.iter().filter(|line| line.gate).count(), 2);
        assert_eq!(graph.headings.len(), 3);
        assert_eq!(drawing.words, "3 tasks, 3 waves, 4 dependency lines, 1 gate");
        // Only what is told in full is linked to.
        let linked: Vec<_> = graph.boxes.iter().filter_map(|found| found.id).collect();
        assert_eq!(linked, [0]);
    }

    #[test]
    fn what_is_too_large_to_read_is_waves_with_all_their_tasks() {
        let drawing = draw(layered(7, 100));
        assert!(drawing.graph.is_none());
        assert_eq!(drawing.why_not.as_deref(), Some("700 tasks are too many to draw one by one"));
        let tasks: usize = drawing.waves.iter().flat_map(|wave| &wave.parts).map(|part| part.tasks).sum();
        assert_eq!((drawing.waves.len(), tasks), (7, 700));

        let drawing = draw(layered(700, 1));
        assert_eq!((drawing.waves.len(), drawing.waves_left_out), (WAVES, 500));
    }
}
