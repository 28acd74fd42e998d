//! The plan as a drawing: DOT for Graphviz, Mermaid for Markdown. Titles are anybody's text, so they only ever stand
//! inside quotes; nodes are named by number.

use crate::report::screens::text::sanitize;
use rules::{
    domain::{BarrierId, Edge, GateId, TaskId},
    plan::{BarrierKind, Part, Plan, waves},
};

/// A thing that is drawn as a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thing {
    Task(TaskId),
    Gate(GateId),
    /// A checkpoint or a delay.
    Hold(BarrierId),
}

impl Thing {
    /// All things of a plan: tasks, gates, checkpoints and delays.
    pub fn all(plan: &Plan) -> impl Iterator<Item = Self> {
        let holds = plan.gate_ids().map(Self::Gate).chain(plan.barrier_ids().map(Self::Hold));
        plan.task_ids().map(Self::Task).chain(holds)
    }

    /// What a gate, a checkpoint or a delay comes behind, and what waits for it.
    pub fn between(self, plan: &Plan) -> (&[TaskId], &[TaskId]) {
        match self {
            Self::Task(_) => (&[], &[]),
            Self::Gate(id) => (&plan.gate(id).after, &plan.gate(id).blocks),
            Self::Hold(id) => (&plan.barrier(id).after, &plan.barrier(id).blocks),
        }
    }

    /// Whether the run comes to it.
    fn is_selected(self, plan: &Plan) -> bool {
        Part::Selected
            == match self {
                Self::Task(id) => plan.task(id).part,
                Self::Gate(id) => plan.gate(id).part,
                Self::Hold(id) => plan.barrier(id).part,
            }
    }

    fn key(self) -> String {
        match self {
            Self::Task(id) => format!("t{}", id.0),
            Self::Gate(id) => format!("g{}", id.0),
            Self::Hold(id) => format!("h{}", id.0),
        }
    }
}

/// From what comes first to what waits for it.
pub fn lines(plan: &Plan) -> Vec<(Thing, Thing)> {
    let needs = |task| {
        let needs = plan.dependencies.of(task).iter();
        needs.map(move |need| (Thing::Task(*need), Thing::Task(task)))
    };
    let around = |thing: Thing| {
        let (after, blocks) = thing.between(plan);
        let after = after.iter().map(move |task| (Thing::Task(*task), thing));
        after.chain(blocks.iter().map(move |task| (thing, Thing::Task(*task))))
    };
    plan.task_ids().flat_map(needs).chain(Thing::all(plan).flat_map(around)).collect()
}

/// `checkpoint review`, `delay night of 8h`
pub fn hold_words(plan: &Plan, id: BarrierId) -> String {
    let hold = plan.barrier(id);
    match hold.kind {
        BarrierKind::Checkpoint => format!("checkpoint {}", hold.name),
        BarrierKind::Delay(duration) => format!("delay {} of {duration}", hold.name),
    }
}

/// The graph in Graphviz's language: tasks as boxes in ranks, gates as diamonds, checkpoints and delays as octagons.
pub fn dot(plan: &Plan) -> String {
    let quoted = |text: &str| sanitize(text).replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = format!("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n", quoted(&plan.name));
    let wave_of = waves(plan);
    for thing in drawn(plan) {
        let (shape, label) = match thing {
            Thing::Task(id) => {
                let (title, agent) = (quoted(plan.title(id)), quoted(plan.agent_name(plan.task(id).agent)));
                ("", format!("{title}\\n{agent}, wave {}", wave_of[id.index()] + 1))
            }
            Thing::Gate(id) => ("shape=diamond, ", quoted(&plan.gate(id).name)),
            Thing::Hold(id) => ("shape=octagon, ", quoted(&hold_words(plan, id))),
        };
        append_line!(text, "  {} [{shape}label=\"{label}\"];", thing.key());
    }
    for (from, to, label) in edges(plan) {
        let label = label.map(|label| label.dot()).unwrap_or_default();
        append_line!(text, "  {} -> {}{label};", from.key(), to.key());
    }
    text.push_str("}\n");
    text
}

/// The graph in Mermaid's language.
pub fn mermaid(plan: &Plan) -> String {
    // Entities are the only escapes that Mermaid knows; `#` begins them.
    let quoted = |text: &str| {
        let mut safe = String::new();
        for c in sanitize(text).chars() {
            match c {
                '"' | '#' | '<' | '>' | '&' | '`' | '\\' => {
                    append!(safe, "#{};", u32::from(c));
                }
                c => safe.push(c),
            }
        }
        safe
    };
    let mut text = "flowchart LR\n".to_owned();
    for thing in drawn(plan) {
        let node = match thing {
            Thing::Task(id) => {
                let (title, agent) = (quoted(plan.title(id)), quoted(plan.agent_name(plan.task(id).agent)));
                format!("[\"{title}<br/>{agent}\"]")
            }
            Thing::Gate(id) => format!("{{\"{}\"}}", quoted(&plan.gate(id).name)),
            Thing::Hold(id) => format!("{{{{\"{}\"}}}}", quoted(&hold_words(plan, id))),
        };
        append_line!(text, "  {}{node}", thing.key());
    }
    for (from, to, label) in edges(plan) {
        let arrow = label.map_or_else(|| "-->".to_owned(), |label| label.mermaid());
        append_line!(text, "  {} {arrow} {}", from.key(), to.key());
    }
    text
}

/// What the run comes to.
fn drawn(plan: &Plan) -> impl Iterator<Item = Thing> {
    Thing::all(plan).filter(|thing| thing.is_selected(plan))
}

/// The label of an arrow out of a verification.
struct Label {
    /// The edges, by name.
    names: String,
    /// Whether the arrow points back.
    back: bool,
}

impl Label {
    /// How a verification leads on to a task, if it does.
    fn onward(plan: &Plan, from: TaskId, to: TaskId) -> Option<Self> {
        let route = plan.route(from)?;
        let edges = route.forward().filter(|(_, target)| *target == to);
        let names: Vec<&str> = edges.map(|(edge, _)| edge.as_str()).collect();
        (!names.is_empty()).then(|| Self { names: names.join(", "), back: false })
    }

    fn dot(&self) -> String {
        let style = if self.back { ", style=dashed, constraint=false" } else { "" };
        format!(" [label=\"{}\"{style}]", self.names)
    }

    fn mermaid(&self) -> String {
        let line = if self.back { "-.->" } else { "-->" };
        format!("{line}|{}|", self.names)
    }
}

/// From what comes first to what waits for it, and back where a verification sends work back.
fn edges(plan: &Plan) -> Vec<(Thing, Thing, Option<Label>)> {
    let lines = lines(plan).into_iter();
    let lines = lines.filter(|(from, to)| from.is_selected(plan) && to.is_selected(plan));
    let forward = lines.map(|line| match line {
        (Thing::Task(from), Thing::Task(to)) => (line.0, line.1, Label::onward(plan, from, to)),
        (from, to) => (from, to, None),
    });
    let back = plan.selected_ids().filter_map(|task| {
        let route = plan.route(task).filter(|route| route.fail_goes_back)?;
        let names = Edge::Fail.as_str().to_owned();
        Some((Thing::Task(task), Thing::Task(route.fail), Some(Label { names, back: true })))
    });
    forward.chain(back).collect()
}
