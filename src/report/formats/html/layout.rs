//! Where the boxes and lines of the drawing are: waves from left to right, gates, checkpoints and delays between them.
//!
//! Columns are waves, boxes stand in file order, and lines run straight from one to the other, behind what lies between.

use std::collections::HashMap;

use serde::Serialize;

use crate::report::formats::plan_graph::Thing;
use rules::{domain::TaskId, plan::Plan};

/// Boxes on top of each other; a wave with more takes several columns.
const HIGH: usize = 40;
/// From so many tasks on, boxes have one line.
const SMALL: usize = 60;
/// Room around the drawing, and above it for the headings.
const MARGIN: i64 = 12;
const TOP: i64 = 34;

/// Where everything is, in pixels.
pub struct GraphLayout {
    pub width: i64,
    pub height: i64,
    /// Whether boxes have one line.
    pub small: bool,
    /// Where each wave begins.
    pub waves: Vec<i64>,
    pub boxes: Vec<(Thing, Frame)>,
    pub lines: Vec<SvgLine>,
}

/// The place of a box.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Frame {
    pub x: i64,
    pub y: i64,
    pub width: i64,
    pub height: i64,
}

/// A line as SVG draws it.
#[derive(Serialize)]
pub struct SvgLine {
    path: String,
    /// Whether the line begins or ends at a gate, a checkpoint or a delay.
    pub gate: bool,
}

/// Lays a mission out, with its lines.
pub fn lay_out(plan: &Plan, wave_of: &[u32], lines: &[(Thing, Thing)]) -> GraphLayout {
    let small = plan.task_ids().count() > SMALL;
    let (height, pitch, gap) = if small { (24, 30, 44) } else { (46, 62, 48) };
    let wave = |task: &TaskId| wave_of[task.index()] as usize;
    let waves = wave_of.iter().max().map_or(0, |last| *last as usize + 1);
    let mut things = vec![(Vec::new(), Vec::new()); waves];
    for task in plan.task_ids() {
        things[wave(&task)].0.push(Thing::Task(task));
    }
    for thing in Thing::all(plan).filter(|thing| !matches!(thing, Thing::Task(_))) {
        let last = thing.between(plan).0.iter().map(wave).max();
        things[last.unwrap_or(0)].1.push(thing);
    }
    let sizes = things.iter().flat_map(|(tasks, gates)| [tasks.len(), gates.len()]);
    let highest = sizes.max().unwrap_or(0).min(HIGH);
    let rows = |count: usize| i64::try_from(count).unwrap_or(i64::MAX / pitch) * pitch;
    let (mut x, mut starts, mut boxes) = (MARGIN, Vec::new(), Vec::new());
    for (tasks, gates) in &things {
        starts.push(x);
        for column in tasks.chunks(HIGH).chain(gates.chunks(HIGH)) {
            // What is no task has a short name: its column is narrow.
            let width = match (column.first(), small) {
                (Some(Thing::Gate(_) | Thing::Hold(_)), false) => 150,
                (Some(Thing::Gate(_) | Thing::Hold(_)), true) => 140,
                (_, false) => 216,
                (_, true) => 180,
            };
            let top = TOP + rows(highest - column.len()) / 2;
            for (position, thing) in column.iter().enumerate() {
                let y = top + rows(position);
                let frame = Frame { x, y, width, height };
                boxes.push((*thing, frame));
            }
            x += width + gap;
        }
    }
    let frames: HashMap<Thing, Frame> = boxes.iter().copied().collect();
    let line = |(from, to): &(Thing, Thing)| {
        let (left, right) = (frames[from], frames[to]);
        let (begin, above) = (left.x + left.width, left.y + height / 2);
        let (end, below) = (right.x, right.y + height / 2);
        let middle = i64::midpoint(begin, end);
        SvgLine {
            path: format!("M{begin} {above}C{middle} {above} {middle} {below} {end} {below}"),
            gate: !matches!((from, to), (Thing::Task(_), Thing::Task(_))),
        }
    };
    GraphLayout {
        width: (x - gap).max(0) + MARGIN,
        height: TOP + rows(highest) - (pitch - height) + MARGIN,
        small,
        waves: starts,
        boxes,
        lines: lines.iter().map(line).collect(),
    }
}
