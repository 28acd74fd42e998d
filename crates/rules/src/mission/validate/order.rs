//! Circles: tasks and gates that wait for each other.
//!
//! A gate adds an order of its own: it waits for its `afterTasks`, and its `blocksTasks` wait for it; so do checkpoints
//! and delays. So the graph has tasks and all of these as nodes. The edges of a verification are an order too, but for an
//! `onFail` that points back.

use std::collections::{BTreeSet, HashSet, VecDeque};

use super::{Names, quoted};
use crate::domain::Edge;
use crate::mission::{
    adjacency::Edges,
    file::{
        codes::Code,
        violation::{Path, Violation, Violations},
    },
    model::{Mission, Task, TaskType},
};

/// How many circles are looked for. Each costs a pass over what is left of the graph.
const CIRCLES: usize = 20;
/// How many names of a circle are shown.
const SHOWN: usize = 12;

pub(super) fn validate(mission: &Mission, names: &Names<'_>, problems: &mut Violations) {
    let graph = Graph::new(mission, names);
    let mut stuck = graph.stuck(&vec![true; graph.nodes]);
    for _ in 0..CIRCLES {
        let Some(circle) = graph.circle_in(&stuck) else {
            return;
        };
        for node in &circle {
            stuck[*node] = false;
        }
        problems.push(describe(mission, &circle));
        stuck = graph.stuck(&stuck);
    }
}

/// The verifications, by index, whose `onFail` points back.
pub(crate) fn going_back(mission: &Mission) -> BTreeSet<usize> {
    if mission.tasks.iter().all(|task| task.kind != TaskType::Verification) {
        return BTreeSet::new();
    }
    let nothing = HashSet::new();
    Graph::new(mission, &Names::new(mission, &nothing)).going_back
}

/// Nodes are tasks, then what stands between them, by index.
pub(super) struct Graph {
    nodes: usize,
    /// From a node to what it needs.
    needs: Edges<u32>,
    /// From a node to what needs it.
    needed_by: Edges<u32>,
    /// Verifications whose `onFail` points back.
    going_back: BTreeSet<usize>,
}

impl Graph {
    pub(super) fn new(mission: &Mission, names: &Names<'_>) -> Self {
        let between = between(mission);
        let nodes = mission.tasks.len() + between.len();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut edge = |from: usize, to: usize| {
            // The limit on values per file keeps indices far below u32::MAX.
            if let (Ok(from), Ok(to)) = (u32::try_from(from), u32::try_from(to)) {
                pairs.push((from, to));
            }
        };
        let known = |titles: &[Box<str>]| -> Vec<usize> {
            titles.iter().filter_map(|title| names.tasks.get(&**title).copied()).collect()
        };
        for (index, task) in mission.tasks.iter().enumerate() {
            known(&task.depends_on).into_iter().for_each(|needed| edge(index, needed));
        }
        for (index, barrier) in between.iter().enumerate() {
            let node = mission.tasks.len() + index;
            known(barrier.after).into_iter().for_each(|needed| edge(node, needed));
            known(barrier.blocks).into_iter().for_each(|blocked| edge(blocked, node));
        }
        let nodes_of = |edge: Edge| {
            let tasks = mission.tasks.iter().enumerate();
            let verifications = tasks.filter(|(_, task)| task.kind == TaskType::Verification);
            verifications.filter_map(move |(index, task)| {
                let target = names.tasks.get(task.edge(edge)?).copied()?;
                (target != index).then_some((index, target))
            })
        };
        for onward in [Edge::Pass, Edge::Refer] {
            nodes_of(onward).for_each(|(verification, target)| edge(target, verification));
        }
        let turned: Vec<(u32, u32)> = pairs.iter().map(|(from, to)| (*to, *from)).collect();
        let mut graph = Self {
            nodes,
            needs: Edges::new(nodes, &pairs),
            needed_by: Edges::new(nodes, &turned),
            going_back: BTreeSet::new(),
        };
        for (verification, target) in nodes_of(Edge::Fail) {
            if graph.waits_for(verification, target) {
                graph.going_back.insert(verification);
            } else if let (Ok(from), Ok(to)) = (u32::try_from(target), u32::try_from(verification)) {
                graph.needs.add(from, to);
                graph.needed_by.add(to, from);
            }
        }
        graph
    }

    /// Whether a node waits for another one, directly or not. Looks from both sides at once, so it costs no more than the
    /// smaller of them.
    pub(super) fn waits_for(&self, node: usize, on: usize) -> bool {
        let mut sides = [node, on].map(|start| (VecDeque::from([start]), HashSet::from([start])));
        for turn in 0.. {
            let side = turn % 2;
            let Some(at) = sides[side].0.pop_front() else {
                return false;
            };
            if sides[1 - side].1.contains(&at) {
                return true;
            }
            let next = if side == 0 { &self.needs } else { &self.needed_by };
            for next in next.of(at) {
                if sides[side].1.insert(*next as usize) {
                    sides[side].0.push_back(*next as usize);
                }
            }
        }
        false
    }

    /// The nodes of `among` that could never start because they wait, directly or not, for a circle within it.
    fn stuck(&self, among: &[bool]) -> Vec<bool> {
        let open = |node: usize| self.needs.of(node).iter().filter(|needed| among[**needed as usize]).count();
        let mut waits: Vec<usize> = (0..self.nodes).map(open).collect();
        let mut stuck = among.to_vec();
        let mut ready: Vec<usize> =
            (0..self.nodes).filter(|node| among[*node] && waits[*node] == 0).collect();
        while let Some(node) = ready.pop() {
            stuck[node] = false;
            for dependent in self.needed_by.of(node) {
                let dependent = *dependent as usize;
                waits[dependent] -= 1;
                if waits[dependent] == 0 && among[dependent] {
                    ready.push(dependent);
                }
            }
        }
        stuck
    }

    /// A circle among stuck nodes: from any of them, what it needs always leads back to one seen before.
    fn circle_in(&self, stuck: &[bool]) -> Option<Vec<usize>> {
        let mut at = stuck.iter().position(|is_stuck| *is_stuck)?;
        let mut order = vec![usize::MAX; self.nodes];
        let mut walk = Vec::new();
        while order[at] == usize::MAX {
            order[at] = walk.len();
            walk.push(at);
            at = self.needs.of(at).iter().map(|needed| *needed as usize).find(|needed| stuck[*needed])?;
        }
        let mut circle = walk.split_off(order[at]);
        let first = circle.iter().enumerate().min_by_key(|(_, node)| **node).map_or(0, |(place, _)| place);
        circle.rotate_left(first);
        Some(circle)
    }
}

/// A thing between tasks: a gate, a checkpoint, or a delay.
pub struct Barrier<'m> {
    pub what: &'static str,
    pub list: &'static str,
    pub index: usize,
    pub name: &'m str,
    pub after: &'m [Box<str>],
    pub blocks: &'m [Box<str>],
}

/// The things between tasks: gates, then checkpoints, then delays.
pub fn between(mission: &Mission) -> Vec<Barrier<'_>> {
    let gates = mission.gates.iter().enumerate();
    let mut all: Vec<Barrier<'_>> = gates
        .map(|(index, gate)| Barrier {
            what: "gate",
            list: "qualityGates",
            index,
            name: &gate.name,
            after: &gate.after_tasks,
            blocks: &gate.blocks_tasks,
        })
        .collect();
    for (what, list, holds) in
        [("checkpoint", "checkpoints", &mission.checkpoints), ("delay", "delays", &mission.delays)]
    {
        all.extend(holds.iter().enumerate().map(|(index, hold)| Barrier {
            what,
            list,
            index,
            name: &hold.name,
            after: &hold.after_tasks,
            blocks: &hold.blocks_tasks,
        }));
    }
    all
}

fn describe(mission: &Mission, circle: &[usize]) -> Violation {
    let tasks = mission.tasks.len();
    let between = between(mission);
    let name = |node: usize| match mission.tasks.get(node) {
        Some(task) => quoted(&task.title),
        None => format!("{} {}", between[node - tasks].what, quoted(between[node - tasks].name)),
    };
    // The smallest index comes first, so a circle with any task in it begins with one.
    let first = circle[0];
    let next = circle.get(1).copied().unwrap_or(first);
    let needed = mission.tasks.get(next).map(|task| &*task.title);
    let place = match needed {
        Some(title) => match routed(&mission.tasks[next], &mission.tasks[first]) {
            Some(edge) if !mission.tasks[first].depends_on.iter().any(|on| **on == *title) => {
                Path::of("tasks").item(next).key(edge.as_str())
            }
            _ => {
                let item = position(&mission.tasks[first].depends_on, title);
                Path::of("tasks").item(first).key("dependsOn").item(item)
            }
        },
        None => {
            let barrier = &between[next - tasks];
            let item = position(barrier.blocks, &mission.tasks[first].title);
            Path::of(barrier.list).item(barrier.index).key("blocksTasks").item(item)
        }
    };
    if circle.len() == 1 {
        return Violation::error(Code::Cycle, place, format!("the task {} depends on itself", name(first)))
            .help("remove it from its own `dependsOn`");
    }
    let mut shown: Vec<String> = circle.iter().take(SHOWN).map(|node| name(*node)).collect();
    if circle.len() > SHOWN {
        shown.push(format!("({} more)", circle.len() - SHOWN));
    }
    shown.push(name(first));
    let message = format!("dependency cycle: {}", shown.join(" -> "));
    Violation::error(Code::Cycle, place, message)
        .label("one of the arrows is here")
        .help("`a -> b` means a needs b; remove one of the arrows")
}

/// The edge by which a verification leads to a task.
fn routed(verification: &Task, to: &Task) -> Option<Edge> {
    let mut edges = Edge::ALL.into_iter();
    edges.find(|edge| {
        verification.kind == TaskType::Verification && verification.edge(*edge) == Some(&*to.title)
    })
}

/// Where a list names this title; it does, because the circle goes through it.
fn position(titles: &[Box<str>], title: &str) -> usize {
    titles.iter().position(|other| &**other == title).unwrap_or_default()
}
