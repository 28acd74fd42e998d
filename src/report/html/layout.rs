//! Where the boxes and lines of the drawing are: waves from left to right, gates between them.
//!
//! A layered drawing in the usual steps: columns from the waves, lines that skip a column get a bend in it, orders
//! that cross little (barycentres, a few sweeps), heights near one's neighbours (least squares that keep the order).
//! Everything is computed in file order from vectors, so a mission always looks the same.

use serde::Serialize;

use crate::domain::{GateId, TaskId};
use crate::mission::Plan;

/// More bends than these cost more than they help: lines then go straight.
const BENDS: usize = 6_000;
/// Boxes on top of each other; a wave with more takes several columns.
const HIGH: usize = 40;
/// From so many tasks on, boxes have one line.
const SMALL: usize = 60;
/// Room around the drawing, and above it for the headings.
const MARGIN: i64 = 12;
const TOP: i64 = 34;

/// Where everything is, in pixels.
pub(super) struct GraphLayout {
    pub width: i64,
    pub height: i64,
    /// Whether boxes have one line.
    pub small: bool,
    /// Where each wave begins.
    pub waves: Vec<i64>,
    pub boxes: Vec<(Thing, Frame)>,
    pub lines: Vec<Line>,
}

/// The place of a box.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Frame {
    pub x: i64,
    pub y: i64,
    pub width: i64,
    pub height: i64,
}

/// A line as SVG draws it.
#[derive(Serialize)]
pub(super) struct Line {
    path: String,
    /// Whether it begins or ends at a gate.
    pub gate: bool,
}

/// Lays a mission out. `lines` are those of [`lines`].
pub(super) fn lay_out(plan: &Plan, wave_of: &[u32], lines: &[(Thing, Thing)]) -> GraphLayout {
    Layout::new(plan, wave_of, lines).into_pixels()
}

/// What is drawn as a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thing {
    Task(TaskId),
    Gate(GateId),
}

/// From what comes first to what waits for it.
pub(super) fn lines(plan: &Plan) -> Vec<(Thing, Thing)> {
    let mut lines = Vec::new();
    for task in plan.task_ids() {
        let needs = plan.dependencies.of(task.index()).iter();
        lines.extend(needs.map(|need| (Thing::Task(*need), Thing::Task(task))));
    }
    for id in plan.gate_ids() {
        let gate = plan.gate(id);
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
        for id in plan.gate_ids() {
            let last = plan
                .gate(id)
                .after
                .iter()
                .map(|task| wave_of[task.index()] as usize)
                .max();
            gates_of[last.unwrap_or(0)].push(id);
        }
        let mut layout = Self {
            places: Vec::new(),
            columns: Vec::new(),
            first: Vec::new(),
            lines: Vec::new(),
            small: plan.task_ids().count() > SMALL,
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

    fn into_pixels(self) -> GraphLayout {
        let lefts = self.lefts();
        let last = self.columns.len().checked_sub(1);
        let mut bottom = TOP;
        let mut boxes = Vec::new();
        for (index, place) in self.places.iter().enumerate() {
            let half = self.height(index) / 2.0;
            bottom = bottom.max(TOP + whole(place.y + half));
            let frame = Frame {
                x: lefts[place.column],
                y: TOP + whole(place.y - half),
                width: self.width(place.column),
                height: whole(self.height(index)),
            };
            boxes.extend(place.thing.map(|thing| (thing, frame)));
        }
        GraphLayout {
            width: last.map_or(0, |last| lefts[last] + self.width(last)) + MARGIN,
            height: bottom + MARGIN,
            small: self.small,
            waves: self.first.iter().map(|column| lefts[*column]).collect(),
            boxes,
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
