//! `when` of an approval gate: which tasks it holds.
//!
//! The expressions are those of minijinja, without its templates and functions: comparisons, `and`, `or`, `not`, `in`,
//! arithmetic, `is startingwith` and the like. They read the fields below and nothing else, cannot call out, and are
//! bounded in length, depth and steps. All they can see stands in the file, so they are decided when it is loaded.

use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior, context, filters, tests};

use super::model::{Mission, Task};

/// The longest expression, in bytes.
const LONGEST: usize = 2_000;
/// Steps that one evaluation may take.
const STEPS: u64 = 10_000;

/// The values of the task and its mission that an expression may read.
const FIELDS: [&str; 19] = [
    "task.title",
    "task.description",
    "task.assignTo",
    "task.role",
    "task.type",
    "task.dependsOn",
    "task.priority",
    "task.tags",
    "task.exclusive",
    "task.sideEffects",
    "task.requiresApproval",
    "task.targetFiles",
    "task.delegatedBy",
    "task.review",
    "task.workspace",
    "mission.name",
    "mission.description",
    "mission.tasks",
    "mission.qualityThreshold",
];

/// Why an expression says neither yes nor no about a task.
#[derive(Debug, thiserror::Error)]
pub enum ConditionError {
    /// The expression cannot be evaluated.
    #[error("{}", .0.detail().unwrap_or("it cannot be evaluated"))]
    Evaluation(#[from] minijinja::Error),
    /// The value of the expression is of another kind.
    #[error("it is {0}, which is neither true nor false")]
    NeitherNor(Value),
}

/// A problem of an expression, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrong {
    pub message: String,
    pub help: String,
}

fn wrong(message: impl Into<String>, help: impl Into<String>) -> Wrong {
    Wrong { message: message.into(), help: help.into() }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(STEPS));
    environment.add_filter("length", filters::length);
    environment.add_filter("lower", filters::lower);
    environment.add_test("startingwith", tests::is_startingwith);
    environment.add_test("endingwith", tests::is_endingwith);
    environment
}

/// Finds the problem that an expression has whatever the task: its syntax, or a field that is not there.
pub fn check(when: &str) -> Result<(), Wrong> {
    if when.len() > LONGEST {
        let message = format!("the expression is longer than {LONGEST} bytes");
        return Err(wrong(message, "split it over several approval gates"));
    }
    let unreadable = |detail: &str, at: usize| {
        let place = when.get(..at).map_or(0, |before| before.chars().count()) + 1;
        wrong(
            format!("this is no expression: {detail} (at character {place})"),
            "write for example `task.type == \"deploy\" and \"prod\" in task.tags`; the words are `and`, `or`, `not`, `in`",
        )
    };
    if let Some(at) = foreign_character(when) {
        return Err(unreadable("unexpected character", at));
    }
    let environment = environment();
    let expression = environment.compile_expression(when).map_err(|error| {
        let at = error.range().map_or(0, |range| range.start);
        unreadable(error.detail().unwrap_or("it cannot be read"), at)
    })?;
    let mut read: Vec<String> = expression.undeclared_variables(true).into_iter().collect();
    read.sort_unstable();
    match read.into_iter().find(|name| !FIELDS.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(wrong(
            format!("the expression reads `{unknown}`, which does not exist"),
            super::file::suggest::suggestion(&unknown, FIELDS, "it may read"),
        )),
    }
}

/// The first character outside of texts that means nothing. The parser forgets such a one behind a comparison, and with it
/// the rest of the expression.
fn foreign_character(when: &str) -> Option<usize> {
    let mut quote = None;
    let mut characters = when.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                characters.next();
            }
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '!') if characters.peek().is_none_or(|(_, next)| *next != '=') => return Some(at),
            (None, _) => {
                let known = character.is_ascii_alphanumeric()
                    || character.is_ascii_whitespace()
                    || "_+-*/%.,:~|=!<>()[]".contains(character);
                if !known {
                    return Some(at);
                }
            }
        }
    }
    None
}

/// Expressions over the tasks of one mission.
pub struct Conditions<'m> {
    environment: Environment<'static>,
    mission: &'m Mission,
    about_mission: Value,
}

impl<'m> Conditions<'m> {
    pub fn new(mission: &'m Mission) -> Self {
        let about_mission = context! {
            name => &*mission.name,
            description => mission.description.as_deref().unwrap_or_default(),
            tasks => mission.tasks.len(),
            qualityThreshold => mission.quality_threshold.map(crate::domain::Points::to_f64),
        };
        Self { environment: environment(), mission, about_mission }
    }

    /// Whether an expression holds for a task.
    ///
    /// # Errors
    /// What keeps it from being true or false.
    pub fn holds(&self, when: &str, task: &Task) -> Result<bool, ConditionError> {
        let expression = self.environment.compile_expression(when)?;
        let about = context! { task => self.about(task), mission => self.about_mission.clone() };
        let value = expression.eval(about)?;
        bool::try_from(value.clone())
            .ok()
            .filter(|_| value.kind() == minijinja::value::ValueKind::Bool)
            .ok_or(ConditionError::NeitherNor(value))
    }

    fn about(&self, task: &Task) -> Value {
        let assignee = self.mission.assignee(task).unwrap_or_default();
        let agents = &self.mission.agents.0;
        let agent = agents.iter().find(|(name, _)| &**name == assignee);
        let role = agent.and_then(|(_, agent)| agent.role.as_deref());
        let list = |texts: &[Box<str>]| texts.iter().map(|text| Value::from(&**text)).collect::<Value>();
        // Exact for every number that a person writes; an expression only compares it.
        let priority = task.priority.as_deref().map_or(1.0, |priority| {
            rust_decimal::prelude::ToPrimitive::to_f64(&priority.get()).unwrap_or(1.0)
        });
        context! {
            title => &*task.title,
            description => task.description.as_deref().unwrap_or_default(),
            assignTo => assignee,
            role => role.unwrap_or_default(),
            type => Value::from(Serde(task.kind)),
            dependsOn => list(&task.depends_on),
            priority => priority,
            tags => list(&task.tags),
            exclusive => task.exclusive,
            sideEffects => task.side_effects(),
            requiresApproval => task.requires_approval.is_some(),
            targetFiles => list(&task.target_files),
            delegatedBy => task.delegated_by.as_deref().map_or("", AsRef::as_ref),
            review => Value::from(Serde(task.review)),
            workspace => task.workspace.as_deref().map_or("", AsRef::as_ref),
        }
    }
}

#[cfg(test)]
mod tests_of_conditions {
    use super::*;
    use crate::mission::file::keys::Named;
    use crate::mission::model::Agent;

    fn holds(when: &str) -> Result<bool, ConditionError> {
        let mission = Mission {
            name: "m".into(),
            agents: Named(vec![("a".into(), Agent::default())]),
            tasks: vec![Task {
                title: "Ship it".into(),
                tags: [Box::from("prod")].into(),
                side_effects: Some(true),
                ..Task::default()
            }],
            ..Mission::default()
        };
        Conditions::new(&mission).holds(when, &mission.tasks[0])
    }

    #[test]
    fn expressions_read_fields_and_say_yes_or_no() {
        for (when, expected) in [
            ("task.sideEffects", true),
            ("task.type == \"deploy\" or \"prod\" in task.tags", true),
            ("not (task.priority > 1 and task.exclusive)", true),
            ("task.title is startingwith \"Ship\" and task.tags|length == 1", true),
            ("mission.tasks > 1", false),
            ("task.description == \"\" and task.assignTo != \"a\"", false),
        ] {
            assert_eq!(check(when), Ok(()), "{when}");
            assert_eq!(holds(when).unwrap(), expected, "{when}");
        }
        let why = holds("task.title").unwrap_err().to_string();
        assert!(why.contains("neither true nor false"), "{why}");
        assert!(holds("task.title > task.tags + 1").is_err());
    }

    #[test]
    fn what_is_no_expression_or_reads_what_is_not_there_is_told() {
        let told = |when: &str| check(when).unwrap_err();
        assert!(told("task.type ==").message.contains("no expression"));
        for when in
            ["task.type == 'a' && true", "task.type == 'a' !x", "task.exclusive; x", "(1 == 1 && false)"]
        {
            assert!(told(when).help.contains("`and`"), "{when}");
        }
        assert_eq!(check("task.title != 'a && b; \\' c'"), Ok(()));
        let unknown = told("task.tpye == 'deploy'");
        assert!(unknown.message.contains("task.tpye") && unknown.help.contains("task.type"), "{unknown:?}");
        for when in ["title == 'a'", "env.HOME == 'x'", "task == 1", "range(5)", "task[mission.name] == 'a'"]
        {
            assert!(check(when).is_err_and(|wrong| wrong.message.contains("does not exist")), "{when}");
        }
        // Neither length nor depth nor size breaks anything.
        assert!(check(&"(".repeat(LONGEST)).is_err());
        assert!(check(&"x".repeat(LONGEST + 1)).is_err());
        assert!(holds("('a' * 100000000000)|length > 1").is_err());
        assert!(holds("task.title|upper == 'A'").is_err());
    }
}
