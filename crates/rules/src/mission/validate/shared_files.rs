//! Tasks that may work at the same time and name the same target file: one of them overwrites what the other was accepted
//! for. An audit finds that out at the end (semantics, section 6); here it is said before the start.

use std::collections::BTreeMap;
use std::collections::HashSet;

use super::order::Graph;
use super::{Names, quoted};
use crate::mission::{
    file::{
        codes::Code,
        diagnostics::DiagnosticSeverity,
        violation::{Path, Violation, Violations},
    },
    model::Mission,
    paths::place_in,
};

/// How many pairs of tasks are looked at, in all: a mission of which more share files has been told enough.
const MOST_PAIRS: usize = 2_000;

pub fn warn(mission: &Mission, problems: &mut Violations) {
    // Whoever is alone at work overwrites nothing that is being made.
    let tasks = mission.tasks.iter().enumerate();
    let beside = tasks.filter(|(_, task)| !task.exclusive && !task.target_files.is_empty());
    let mut by_file: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (index, task) in beside {
        for (item, path) in task.target_files.iter().enumerate() {
            let whole = place_in(task.workspace.as_deref().map_or("", |own| own), path);
            by_file.entry(whole).or_default().push((index, item));
        }
    }
    by_file.retain(|_, named| named.len() > 1);
    if by_file.is_empty() {
        return;
    }
    let nothing = HashSet::new();
    let graph = Graph::new(mission, &Names::new(mission, &nothing));
    let mut pairs = 0;
    for named in by_file.values() {
        let found = named.iter().enumerate().find_map(|(n, later)| {
            named[..n].iter().find_map(|earlier| {
                pairs += 1;
                let (one, other) = (earlier.0, later.0);
                let free = one != other && !graph.waits_for(one, other) && !graph.waits_for(other, one);
                (pairs <= MOST_PAIRS && free).then_some((*earlier, *later))
            })
        });
        if let Some((earlier, later)) = found {
            problems.push(describe(mission, earlier, later));
        }
        if pairs > MOST_PAIRS {
            return;
        }
    }
}

fn describe(mission: &Mission, earlier: (usize, usize), later: (usize, usize)) -> Violation {
    let title = |(index, _): (usize, usize)| quoted(&mission.tasks[index].title);
    let at = |(index, item): (usize, usize)| Path::of("tasks").item(index).key("targetFiles").item(item);
    let path = &mission.tasks[later.0].target_files[later.1];
    let message = format!(
        "the tasks {} and {} may work at the same time and both name {}",
        title(earlier),
        title(later),
        quoted(path)
    );
    Violation::error(Code::SharedTargetFile, at(later), message)
        .severity(DiagnosticSeverity::Warning)
        .related(at(earlier), "first here")
        .help("let one depend on the other, or make one of them `exclusive: true`")
}
