//! The plan as a drawing: DOT for Graphviz, Mermaid for Markdown. Titles are anybody's text, so they only ever stand
//! inside quotes; nodes are named by number.

use std::fmt::Write as _;

use super::super::text::sanitize;
use crate::mission::{GatePlan, Part, Plan, waves};

/// The graph in Graphviz's language: tasks as boxes in ranks, gates as diamonds.
#[must_use]
pub fn dot(plan: &Plan) -> String {
    let quoted = |text: &str| sanitize(text).replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = format!(
        "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n",
        quoted(&plan.name)
    );
    let wave_of = waves(plan);
    for id in plan.selected_ids() {
        let (index, task, wave) = (id.index(), plan.task(id), wave_of[id.index()]);
        let agent = &plan.agent(task.agent).name;
        let _ = writeln!(
            text,
            "  t{index} [label=\"{}\\n{}, wave {}\"];",
            quoted(&task.title),
            quoted(agent),
            wave + 1
        );
    }
    for (index, gate) in evaluated(plan) {
        let _ = writeln!(
            text,
            "  g{index} [shape=diamond, label=\"{}\"];",
            quoted(&gate.name)
        );
    }
    for (from, to) in edges(plan) {
        let _ = writeln!(text, "  {from} -> {to};");
    }
    text.push_str("}\n");
    text
}

/// The graph in Mermaid's language.
#[must_use]
pub fn mermaid(plan: &Plan) -> String {
    // Entities are the only escapes that Mermaid knows; `#` begins them.
    let quoted = |text: &str| {
        let mut safe = String::new();
        for c in sanitize(text).chars() {
            match c {
                '"' | '#' | '<' | '>' | '&' | '`' | '\\' => {
                    let _ = write!(safe, "#{};", u32::from(c));
                }
                c => safe.push(c),
            }
        }
        safe
    };
    let mut text = "flowchart LR\n".to_owned();
    for id in plan.selected_ids() {
        let (index, task) = (id.index(), plan.task(id));
        let agent = &plan.agent(task.agent).name;
        let _ = writeln!(
            text,
            "  t{index}[\"{}<br/>{}\"]",
            quoted(&task.title),
            quoted(agent)
        );
    }
    for (index, gate) in evaluated(plan) {
        let _ = writeln!(text, "  g{index}{{\"{}\"}}", quoted(&gate.name));
    }
    for (from, to) in edges(plan) {
        let _ = writeln!(text, "  {from} --> {to}");
    }
    text
}

/// The gates that the run evaluates, by number.
fn evaluated(plan: &Plan) -> impl Iterator<Item = (usize, &GatePlan)> {
    let gates = plan.gates.iter().enumerate();
    gates.filter(|(_, gate)| gate.part == Part::Selected)
}

/// From what comes first to what waits for it.
fn edges(plan: &Plan) -> Vec<(String, String)> {
    let mut edges = Vec::new();
    for task in plan.selected_ids() {
        let needs = plan.dependencies.of(task.index());
        edges.extend(
            needs
                .iter()
                .map(|need| (format!("t{}", need.0), format!("t{}", task.0))),
        );
    }
    for (index, gate) in evaluated(plan) {
        edges.extend(
            gate.after
                .iter()
                .map(|task| (format!("t{}", task.0), format!("g{index}"))),
        );
        edges.extend(
            gate.blocks
                .iter()
                .filter(|task| plan.task(**task).part == Part::Selected)
                .map(|task| (format!("g{index}"), format!("t{}", task.0))),
        );
    }
    edges
}
