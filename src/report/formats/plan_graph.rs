//! The plan as a drawing: DOT for Graphviz, Mermaid for Markdown. Titles are anybody's text, so they only ever stand
//! inside quotes; nodes are named by number.

use crate::report::screens::text::sanitize;
use rules::{
    domain::{Edge, TaskId},
    plan::{GatePlan, Part, Plan, waves},
};

/// The graph in Graphviz's language: tasks as boxes in ranks, gates as diamonds.
pub fn dot(plan: &Plan) -> String {
    let quoted = |text: &str| sanitize(text).replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = format!(
        "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n",
        quoted(&plan.name)
    );
    let wave_of = waves(plan);
    for id in plan.selected_ids() {
        let (index, task, wave) = (id.index(), plan.task(id), wave_of[id.index()]);
        let agent = plan.agent_name(task.agent);
        append_line!(
            text,
            "  t{index} [label=\"{}\\n{}, wave {}\"];",
            quoted(&task.title),
            quoted(agent),
            wave + 1
        );
    }
    for (index, gate) in evaluated(plan) {
        append_line!(
            text,
            "  g{index} [shape=diamond, label=\"{}\"];",
            quoted(&gate.name)
        );
    }
    for (from, to, label) in edges(plan) {
        let label = label.map(|label| label.dot()).unwrap_or_default();
        append_line!(text, "  {from} -> {to}{label};");
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
    for id in plan.selected_ids() {
        let (index, task) = (id.index(), plan.task(id));
        let agent = plan.agent_name(task.agent);
        append_line!(
            text,
            "  t{index}[\"{}<br/>{}\"]",
            quoted(&task.title),
            quoted(agent)
        );
    }
    for (index, gate) in evaluated(plan) {
        append_line!(text, "  g{index}{{\"{}\"}}", quoted(&gate.name));
    }
    for (from, to, label) in edges(plan) {
        let arrow = label.map_or_else(|| "-->".to_owned(), |label| label.mermaid());
        append_line!(text, "  {from} {arrow} {to}");
    }
    text
}

/// The gates that the run evaluates, by number.
fn evaluated(plan: &Plan) -> impl Iterator<Item = (usize, &GatePlan)> {
    let gates = plan.gates.iter().enumerate();
    gates.filter(|(_, gate)| gate.part == Part::Selected)
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
        (!names.is_empty()).then(|| Self {
            names: names.join(", "),
            back: false,
        })
    }

    fn dot(&self) -> String {
        let style = if self.back {
            ", style=dashed, constraint=false"
        } else {
            ""
        };
        format!(" [label=\"{}\"{style}]", self.names)
    }

    fn mermaid(&self) -> String {
        let line = if self.back { "-.->" } else { "-->" };
        format!("{line}|{}|", self.names)
    }
}

/// From what comes first to what waits for it, and back where a verification sends work back.
fn edges(plan: &Plan) -> Vec<(String, String, Option<Label>)> {
    let mut edges = Vec::new();
    for task in plan.selected_ids() {
        let needs = plan.dependencies.of(task);
        edges.extend(needs.iter().map(|need| {
            let label = Label::onward(plan, *need, task);
            (format!("t{}", need.0), format!("t{}", task.0), label)
        }));
        if let Some(route) = plan.route(task).filter(|route| route.fail_goes_back) {
            let label = Label {
                names: Edge::Fail.as_str().to_owned(),
                back: true,
            };
            edges.push((format!("t{}", task.0), format!("t{}", route.fail.0), Some(label)));
        }
    }
    for (index, gate) in evaluated(plan) {
        edges.extend(
            gate.after
                .iter()
                .map(|task| (format!("t{}", task.0), format!("g{index}"), None)),
        );
        edges.extend(
            gate.blocks
                .iter()
                .filter(|task| plan.task(**task).part == Part::Selected)
                .map(|task| (format!("g{index}"), format!("t{}", task.0), None)),
        );
    }
    edges
}
