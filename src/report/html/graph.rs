//! Where the boxes and lines of the drawing are: waves from left to right, gates between them.
//!
//! A layered drawing in the usual steps: columns from the waves, lines that skip a column get a bend in it, orders
//! that cross little (barycentres, a few sweeps), heights near one's neighbours (least squares that keep the order).
//! Everything is computed in file order from vectors, so a mission always looks the same.

use serde::Serialize;

use crate::domain::{GateId, TaskId};
use crate::engine::State;
use crate::mission::{Plan, waves};

use super::super::json::gate_state;
use super::super::rank::Rank;
use super::super::text::{count, fit, sanitize};
use super::{sign, tone};

/// More tasks than these are shown as waves: nobody can read so many boxes.
const TASKS: usize = 600;
/// More lines than these are a grey area.
const LINES: usize = 2_500;
/// More bends than these cost more than they help: lines then go straight.
const BENDS: usize = 6_000;
/// Boxes on top of each other; a wave with more takes several columns.
const HIGH: usize = 40;
/// Waves in the table that stands for a drawing.
const WAVES: usize = 200;
/// From so many tasks on, boxes have one line.
const SMALL: usize = 60;

/// The drawing, or what stands for it.
#[derive(Serialize)]
pub(super) struct Drawing {
    graph: Option<Graph>,
    /// Why there is no graph.
    why_not: Option<String>,
    waves: Vec<WaveRow>,
    waves_left_out: usize,
    words: String,
}

#[derive(Serialize)]
struct Graph {
    width: i64,
    height: i64,
    small: bool,
    headings: Vec<Heading>,
    boxes: Vec<Box>,
    lines: Vec<Line>,
}

/// What stands above a wave's first column.
#[derive(Serialize)]
struct Heading {
    x: i64,
    text: String,
}

#[derive(Serialize)]
struct Box {
    /// The task whose story can be linked to.
    id: Option<u32>,
    gate: bool,
    x: i64,
    y: i64,
    width: i64,
    height: i64,
    tone: &'static str,
    sign: &'static str,
    label: String,
    note: String,
    /// In full, for whoever points at it.
    title: String,
}

#[derive(Serialize)]
struct Line {
    path: String,
    gate: bool,
}

/// One wave where boxes are too many.
#[derive(Serialize)]
struct WaveRow {
    number: u32,
    tasks: usize,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    tone: &'static str,
    sign: &'static str,
    words: &'static str,
    tasks: usize,
}

/// The drawing of a run. `full` are the tasks whose story the page has.
pub(super) fn drawing(state: &State, ranked: &[(Rank, TaskId)], full: &[TaskId]) -> Drawing {
    let plan = &state.plan;
    let wave_of = waves(plan);
    let number = wave_of.iter().max().map_or(0, |last| *last as usize + 1);
    let lines = lines(plan);
    let words = format!(
        "{}, {}, {}, {}",
        count(plan.tasks.len(), "task"),
        count(number, "wave"),
        count(lines.len(), "dependency line"),
        count(plan.gates.len(), "gate"),
    );
    let why_not = if plan.tasks.len() > TASKS {
        Some(format!(
            "{} tasks are too many to draw one by one",
            plan.tasks.len()
        ))
    } else if lines.len() > LINES || plan.gates.len() > TASKS {
        Some(format!(
            "{} lines and {} gates are too many to draw one by one",
            lines.len(),
            plan.gates.len()
        ))
    } else {
        None
    };
    let mut ranks = vec![Rank::Open; plan.tasks.len()];
    for (rank, id) in ranked {
        ranks[id.index()] = *rank;
    }
    let (rows, graph) = match &why_not {
        Some(_) => (wave_rows(&wave_of, &ranks, number), None),
        None => (
            Vec::new(),
            Some(Layout::new(plan, &wave_of, &lines).graph(state, &ranks, full)),
        ),
    };
    Drawing {
        graph,
        why_not,
        waves_left_out: rows.len().saturating_sub(WAVES),
        waves: rows.into_iter().take(WAVES).collect(),
        words,
    }
}

fn wave_rows(wave_of: &[u32], ranks: &[Rank], number: usize) -> Vec<WaveRow> {
    let mut sorted: Vec<(u32, Rank)> = wave_of.iter().copied().zip(ranks.iter().copied()).collect();
    sorted.sort_unstable();
    let mut rows = Vec::with_capacity(number);
    for wave in sorted.chunk_by(|one, other| one.0 == other.0) {
        let parts = wave.chunk_by(|one, other| one.1 == other.1);
        rows.push(WaveRow {
            number: wave[0].0 + 1,
            tasks: wave.len(),
            parts: parts
                .map(|part| Part {
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

/// What is drawn as a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thing {
    Task(TaskId),
    Gate(GateId),
}

/// From what comes first to what waits for it.
fn lines(plan: &Plan) -> Vec<(Thing, Thing)> {
    let mut lines = Vec::new();
    for task in plan.task_ids() {
        let needs = plan.dependencies.of(task.index()).iter();
        lines.extend(needs.map(|need| (Thing::Task(*need), Thing::Task(task))));
    }
    for (index, gate) in plan.gates.iter().enumerate() {
        let id = GateId::from_index(index);
        lines.extend(
            gate.after
                .iter()
                .map(|task| (Thing::Task(*task), Thing::Gate(id))),
        );
        lines.extend(
            gate.blocks
                .iter()
                .map(|task| (Thing::Gate(id), Thing::Task(*task))),
        );
    }
    lines
}

/// A place in a column: a box, or the bend of a line that passes by.
struct Place {
    thing: Option<Thing>,
    column: usize,
    /// Centre.
    y: f64,
    left: Vec<usize>,
    right: Vec<usize>,
}

struct Layout {
    places: Vec<Place>,
    /// Places of each column from top to bottom.
    columns: Vec<Vec<usize>>,
    /// The first column of each wave.
    first: Vec<usize>,
    /// The places that each line goes through.
    lines: Vec<Vec<usize>>,
    small: bool,
}

impl Layout {
    fn new(plan: &Plan, wave_of: &[u32], lines: &[(Thing, Thing)]) -> Self {
        let waves = wave_of.iter().max().map_or(0, |last| *last as usize + 1);
        let mut tasks_of = vec![Vec::new(); waves];
        for task in plan.task_ids() {
            tasks_of[wave_of[task.index()] as usize].push(task);
        }
        let mut gates_of = vec![Vec::new(); waves];
        for (index, gate) in plan.gates.iter().enumerate() {
            let last = gate.after.iter().map(|task| wave_of[task.index()] as usize).max();
            gates_of[last.unwrap_or(0)].push(GateId::from_index(index));
        }
        let mut layout = Self {
            places: Vec::new(),
            columns: Vec::new(),
            first: Vec::new(),
            lines: Vec::new(),
            small: plan.tasks.len() > SMALL,
        };
        let (mut of_task, mut of_gate) = (vec![0; plan.tasks.len()], vec![0; plan.gates.len()]);
        for wave in 0..waves {
            layout.first.push(layout.columns.len());
            for tasks in tasks_of[wave].chunks(HIGH) {
                layout.columns.push(Vec::new());
                for task in tasks {
                    of_task[task.index()] = layout.place(Some(Thing::Task(*task)));
                }
            }
            for gates in gates_of[wave].chunks(HIGH) {
                layout.columns.push(Vec::new());
                for gate in gates {
                    of_gate[gate.index()] = layout.place(Some(Thing::Gate(*gate)));
                }
            }
        }
        let place_of = |thing: Thing| match thing {
            Thing::Task(task) => of_task[task.index()],
            Thing::Gate(gate) => of_gate[gate.index()],
        };
        let ends: Vec<(usize, usize)> = lines
            .iter()
            .map(|(from, to)| (place_of(*from), place_of(*to)))
            .collect();
        layout.draw_lines(&ends);
        layout.order();
        layout.align();
        layout
    }

    /// A new place at the end of the last column.
    fn place(&mut self, thing: Option<Thing>) -> usize {
        let column = self.columns.len().saturating_sub(1);
        self.place_in(column, thing)
    }

    fn place_in(&mut self, column: usize, thing: Option<Thing>) -> usize {
        let index = self.places.len();
        self.places.push(Place {
            thing,
            column,
            y: 0.0,
            left: Vec::new(),
            right: Vec::new(),
        });
        self.columns[column].push(index);
        index
    }

    fn draw_lines(&mut self, ends: &[(usize, usize)]) {
        let between =
            |places: &[Place], (from, to): (usize, usize)| places[from].column + 1..places[to].column;
        let bends: usize = ends.iter().map(|ends| between(&self.places, *ends).len()).sum();
        for (from, to) in ends {
            let mut through = vec![*from];
            if bends <= BENDS {
                for column in between(&self.places, (*from, *to)) {
                    through.push(self.place_in(column, None));
                }
            }
            through.push(*to);
            for pair in through.windows(2) {
                self.places[pair[0]].right.push(pair[1]);
                self.places[pair[1]].left.push(pair[0]);
            }
            self.lines.push(through);
        }
    }

    /// Orders every column by where its neighbours are, to and fro.
    fn order(&mut self) {
        let mut rank = vec![0.0; self.places.len()];
        let number = |column: &[usize], rank: &mut Vec<f64>| {
            let middle = column.len() as f64 / 2.0;
            for (position, place) in column.iter().enumerate() {
                rank[*place] = position as f64 - middle;
            }
        };
        self.columns.iter().for_each(|column| number(column, &mut rank));
        for sweep in 0..8 {
            let forward = sweep % 2 == 0;
            for step in 0..self.columns.len() {
                let index = if forward {
                    step
                } else {
                    self.columns.len() - 1 - step
                };
                let wanted = |place: &usize| {
                    let place_of = &self.places[*place];
                    let side = if forward { &place_of.left } else { &place_of.right };
                    mean(side.iter().map(|near| rank[*near])).unwrap_or(rank[*place])
                };
                let mut column: Vec<(f64, usize)> = self.columns[index]
                    .iter()
                    .map(|place| (wanted(place), *place))
                    .collect();
                column.sort_by(|one, other| one.0.total_cmp(&other.0));
                self.columns[index] = column.into_iter().map(|(_, place)| place).collect();
                number(&self.columns[index], &mut rank);
            }
        }
    }

    /// Moves every column's places to the height of their neighbours, as near as their order and size let them.
    fn align(&mut self) {
        for column in &self.columns {
            let mut y = 0.0;
            let high: f64 = column.iter().map(|place| self.height(*place) + self.gap()).sum();
            for place in column {
                let height = self.height(*place);
                self.places[*place].y = y + height / 2.0 - high / 2.0;
                y += height + self.gap();
            }
        }
        for sweep in 0..10 {
            for step in 0..self.columns.len() {
                let index = if sweep % 2 == 0 {
                    step
                } else {
                    self.columns.len() - 1 - step
                };
                self.align_column(index);
            }
        }
        let top = self
            .places
            .iter()
            .enumerate()
            .map(|(index, place)| place.y - self.height(index) / 2.0);
        let top = top.fold(f64::INFINITY, f64::min);
        for place in &mut self.places {
            place.y -= top;
        }
    }

    fn align_column(&mut self, index: usize) {
        let column = &self.columns[index];
        // Where each would be if all before it were of no height: these must not fall.
        let mut offset = 0.0;
        let mut offsets = Vec::with_capacity(column.len());
        let mut blocks: Vec<(f64, usize)> = Vec::new();
        for (position, place) in column.iter().enumerate() {
            if position > 0 {
                offset += (self.height(column[position - 1]) + self.height(*place)) / 2.0 + self.gap();
            }
            offsets.push(offset);
            let near = self.places[*place].left.iter().chain(&self.places[*place].right);
            let wanted = mean(near.map(|near| self.places[*near].y)).unwrap_or(self.places[*place].y);
            blocks.push((wanted - offset, 1));
            while let [.., before, last] = blocks[..]
                && before.0 > last.0
            {
                let size = before.1 + last.1;
                let sum = before.0 * before.1 as f64 + last.0 * last.1 as f64;
                blocks.truncate(blocks.len() - 2);
                blocks.push((sum / size as f64, size));
            }
        }
        let heights = blocks
            .iter()
            .flat_map(|(height, size)| std::iter::repeat_n(*height, *size));
        for ((place, height), offset) in column.iter().zip(heights).zip(offsets) {
            self.places[*place].y = height + offset;
        }
    }

    fn height(&self, place: usize) -> f64 {
        match (self.places[place].thing, self.small) {
            (None, _) => 4.0,
            (Some(_), true) => 24.0,
            (Some(_), false) => 46.0,
        }
    }

    fn gap(&self) -> f64 {
        if self.small { 6.0 } else { 16.0 }
    }

    /// Gates have short names: their columns are narrow.
    fn width(&self, column: usize) -> i64 {
        let first = self.columns[column]
            .iter()
            .find_map(|place| self.places[*place].thing);
        match (first, self.small) {
            (Some(Thing::Gate(_)), false) => 150,
            (Some(Thing::Gate(_)), true) => 140,
            (_, false) => 216,
            (_, true) => 180,
        }
    }

    /// Where each column begins.
    fn lefts(&self) -> Vec<i64> {
        let gap = if self.small { 44 } else { 48 };
        let widths = (0..self.columns.len()).map(|column| self.width(column) + gap);
        let begin = |x: &mut i64, width| Some(std::mem::replace(x, *x + width));
        widths.scan(MARGIN, begin).collect()
    }

    fn graph(&self, state: &State, ranks: &[Rank], full: &[TaskId]) -> Graph {
        let mut linked = vec![false; ranks.len()];
        full.iter().for_each(|id| linked[id.index()] = true);
        let bottom = self
            .places
            .iter()
            .enumerate()
            .map(|(index, place)| place.y + self.height(index) / 2.0);
        let lefts = self.lefts();
        let last = self.columns.len().checked_sub(1);
        let boxes = self.places.iter().enumerate().filter_map(|(index, place)| {
            let (x, y) = (
                lefts[place.column],
                TOP + whole(place.y - self.height(index) / 2.0),
            );
            let frame = (x, y, self.width(place.column), whole(self.height(index)));
            Some(match place.thing? {
                Thing::Task(id) => task_box(
                    state,
                    id,
                    ranks[id.index()],
                    linked[id.index()],
                    frame,
                    self.small,
                ),
                Thing::Gate(id) => gate_box(state, id, frame),
            })
        });
        Graph {
            width: last.map_or(0, |last| lefts[last] + self.width(last)) + MARGIN,
            height: TOP + whole(bottom.fold(0.0, f64::max)) + MARGIN,
            small: self.small,
            headings: self
                .first
                .iter()
                .enumerate()
                .map(|(wave, column)| Heading {
                    x: lefts[*column],
                    text: format!("Wave {}", wave + 1),
                })
                .collect(),
            boxes: boxes.collect(),
            lines: self.lines.iter().map(|line| self.line(line, &lefts)).collect(),
        }
    }

    fn line(&self, through: &[usize], lefts: &[i64]) -> Line {
        let place = |index: usize| &self.places[index];
        let height = |index: usize| TOP + whole(place(index).y);
        let right = |index: usize| lefts[place(index).column] + self.width(place(index).column);
        let is_gate = |index: usize| matches!(place(index).thing, Some(Thing::Gate(_)));
        let (first, last) = (through[0], through[through.len() - 1]);
        let mut path = format!("M{} {}", right(first), height(first));
        for pair in through.windows(2) {
            let (from, to) = (right(pair[0]), lefts[place(pair[1]).column]);
            let (above, below) = (height(pair[0]), height(pair[1]));
            let middle = i64::midpoint(from, to);
            path.push_str(&format!("C{middle} {above} {middle} {below} {to} {below}"));
            if place(pair[1]).thing.is_none() {
                path.push_str(&format!("H{}", right(pair[1])));
            }
        }
        Line {
            path,
            gate: is_gate(first) || is_gate(last),
        }
    }
}

/// Room around the drawing, and above it for the headings.
const MARGIN: i64 = 12;
const TOP: i64 = 34;

fn task_box(
    state: &State,
    id: TaskId,
    rank: Rank,
    linked: bool,
    (x, y, width, height): (i64, i64, i64, i64),
    small: bool,
) -> Box {
    let plan = state.plan.task(id);
    let (title, agent) = (
        sanitize(&plan.title),
        sanitize(&state.plan.agent(plan.agent).name),
    );
    let points = state.task(id).points;
    let score = points.map_or_else(String::new, |points| format!(" · {points}"));
    Box {
        id: linked.then_some(id.0),
        gate: false,
        x,
        y,
        width,
        height,
        tone: tone(rank),
        sign: sign(rank),
        label: fit(&title, if small { 19 } else { 22 }, "…").into_owned(),
        note: format!("{}{score}", fit(&agent, 18, "…")),
        title: super::cut(&format!("{title}: {}, {agent}{score}", rank.words()), 300),
    }
}

fn gate_box(state: &State, id: GateId, (x, y, width, height): (i64, i64, i64, i64)) -> Box {
    let name = sanitize(&state.plan.gate(id).name);
    let standing = gate_state(state.gate(id));
    let (tone, sign) = match standing {
        "passed" => ("good", "✓"),
        "failed" => ("bad", "×"),
        "overridden" => ("warn", "!"),
        _ => ("open", "○"),
    };
    Box {
        id: None,
        gate: true,
        x,
        y,
        width,
        height,
        tone,
        sign,
        label: fit(&name, if height < 30 { 14 } else { 15 }, "…").into_owned(),
        note: format!("gate · {standing}"),
        title: super::cut(&format!("gate {name}: {standing}"), 300),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut number) = (0.0, 0u32);
    for value in values {
        sum += value;
        number += 1;
    }
    (number > 0).then(|| sum / f64::from(number))
}

/// Pixels are whole: a page has no use for more, and texts stay short.
fn whole(value: f64) -> i64 {
    value.round() as i64
}

#[cfg(test)]
mod tests {
    use super::super::super::rank::worst_first;
    use super::super::super::testing::{Mission, Scene};
    use super::*;

    fn draw(mission: Mission) -> Drawing {
        let scene = Scene::start(mission);
        drawing(
            &scene.state,
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
                assert!(one.x >= 0 && one.y >= TOP && one.x + one.width <= graph.width);
                assert!(one.y + one.height <= graph.height, "{waves} x {each}");
                for other in &graph.boxes[..index] {
                    let apart = |from: i64, size: i64, other: i64, its: i64| {
                        from + size <= other || other + its <= from
                    };
                    let is_apart = apart(one.x, one.width, other.x, other.width)
                        || apart(one.y, one.height, other.y, other.height);
                    assert!(is_apart, "{}, {}", one.title, other.title);
                }
            }
        }
    }

    #[test]
    fn lines_run_from_left_to_right_and_a_gate_stands_between_its_tasks() {
        let mission = Mission::new("gated")
            .task("a", &[])
            .task("b", &[0])
            .task("c", &[0])
            .gate("door", &[1], &[2], None);
        let drawing = draw(mission);
        let graph = drawing.graph.expect("it is small enough");
        let x = |label: &str| {
            graph
                .boxes
                .iter()
                .find(|found| found.label == label)
                .map(|found| found.x)
        };
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
        assert_eq!(
            drawing.why_not.as_deref(),
            Some("700 tasks are too many to draw one by one")
        );
        let tasks: usize = drawing
            .waves
            .iter()
            .flat_map(|wave| &wave.parts)
            .map(|part| part.tasks)
            .sum();
        assert_eq!((drawing.waves.len(), tasks), (7, 700));

        let drawing = draw(layered(700, 1));
        assert_eq!((drawing.waves.len(), drawing.waves_left_out), (WAVES, 500));
    }
}
