//! Keys that only make sense together, where the tree says more of their places than the structs: lists that name something
//! twice, criteria and who grades them, the weights of a rubric.

use rust_decimal::Decimal;

use super::codes::Code;
use super::document::{NodeId, Tree};
use super::scalar::Scalar;
use super::shown_text::quoted;
use super::suggest::suggestion;
use super::violation::{Violation, ViolationPlace, Violations, first_line};

/// Reports what does not fit together anywhere in a mission.
pub fn check(tree: &Tree<'_>) -> Violations {
    let mut problems = Violations::default();
    let root = tree.root();
    for task in items(tree, root, "tasks") {
        verification(tree, task, &mut problems);
        named_once(tree, items(tree, task, "middleware"), "middleware", &mut problems);
    }
    if let Some(rubrics) = tree.get(root, "rubrics") {
        for entry in tree.entries(rubrics) {
            rubric(tree, entry.key, entry.value, &mut problems);
        }
    }
    if let Some(chains) = tree.get(root, "settings").and_then(|settings| tree.get(settings, "middleware")) {
        for key in ["agent", "coordination"] {
            named_once(tree, items(tree, chains, key), key, &mut problems);
        }
    }
    problems
}

fn items<'t>(tree: &'t Tree<'_>, map: NodeId, key: &str) -> Box<dyn Iterator<Item = NodeId> + 't> {
    match tree.get(map, key) {
        Some(list) => Box::new(tree.items(list)),
        None => Box::new(std::iter::empty()),
    }
}

fn at(tree: &Tree<'_>, node: NodeId) -> ViolationPlace {
    ViolationPlace::Span(first_line(tree, node))
}

/// Criteria and the one who grades them: neither means anything without the other.
fn verification(tree: &Tree<'_>, task: NodeId, problems: &mut Violations) {
    let acceptance = tree.get(task, "acceptance");
    let Some(declared) = tree.get(task, "verification") else {
        return;
    };
    let is_heuristic = tree.get(declared, "grader").is_some_and(|grader| tree.text(grader) == "heuristic");
    let missing = |message: &str, help: &str| {
        Violation::error(Code::MissingKey, at(tree, declared), message).help(help)
    };
    if is_heuristic && acceptance.is_none() {
        problems.push(missing(
            "a heuristic verification needs `acceptance`, which is missing",
            "add `acceptance: [...]` to the task, for example \"`README.md` exists\"",
        ));
    } else if let Some(rubric) = tree.get(declared, "rubric").filter(|_| is_heuristic) {
        problems.refuse(
            Code::KeyDoesNotApply,
            at(tree, rubric),
            "a heuristic grader grades by no rubric",
            "remove `rubric`, or `grader: heuristic`",
        );
    }
}

/// Weights of a rubric sum to 1, its criteria have different names, its examples grade only them.
fn rubric(tree: &Tree<'_>, name: NodeId, rubric: NodeId, problems: &mut Violations) {
    let criteria: Vec<NodeId> = items(tree, rubric, "criteria").collect();
    let name_of = |criterion: &NodeId| tree.get(*criterion, "name");
    let names: Vec<&str> = criteria.iter().filter_map(name_of).map(|name| tree.text(name)).collect();
    named_once(tree, criteria.iter().filter_map(name_of), "criteria", problems);

    let weight = |criterion: &NodeId| Decimal::parse(tree.text(tree.get(*criterion, "weight")?)).ok();
    let weights: Option<Vec<Decimal>> = criteria.iter().map(weight).collect();
    let sum: Decimal = weights.iter().flatten().copied().sum();
    if weights.is_some() && !criteria.is_empty() && (sum - Decimal::ONE).abs() > Decimal::new(1, 6) {
        problems.refuse(
            Code::BadValue,
            at(tree, name),
            format!("the weights of the rubric {} sum to {sum}, not to 1", quoted(tree.text(name))),
            "change the weights so that they sum to 1",
        );
    }
    for grades in items(tree, rubric, "examples").filter_map(|example| tree.get(example, "grades")) {
        for grade in tree.entries(grades).filter(|grade| !names.contains(&tree.text(grade.key))) {
            let text = tree.text(grade.key);
            problems.refuse(
                Code::UnknownWord,
                at(tree, grade.key),
                format!("the rubric has no criterion {}", quoted(text)),
                suggestion(text, names.iter().copied(), "known criteria"),
            );
        }
    }
}

fn named_once(tree: &Tree<'_>, nodes: impl Iterator<Item = NodeId>, list: &str, problems: &mut Violations) {
    let mut seen = Vec::new();
    for node in nodes {
        let text = tree.text(node);
        if seen.contains(&text) {
            problems.refuse(
                Code::Repeated,
                at(tree, node),
                format!("`{list}` names {} twice", quoted(text)),
                "remove one of them",
            );
        }
        seen.push(text);
    }
}
