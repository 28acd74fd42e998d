//! What an agent may hand down: sub-tasks as it wrote them, read strictly (semantics, section 12).

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::{apply, skip_serializing_none};

use crate::domain::folded;

use crate::mission::{
    file::{
        document::{Node, Tree},
        key_check,
        keys::{Keys, Value as Readable},
        scalar::{Fault, InnerPath, Name, Positive, Scalar},
    },
    model::{FinishGate, TaskType, TestList},
};

/// The longest description that is taken, in characters.
const DESCRIPTION: usize = 16_000;
/// The keys of a sub-task.
const KEYS: [&str; 9] = [
    "title",
    "description",
    "assignTo",
    "type",
    "dependsOn",
    "priority",
    "targetFiles",
    "acceptance",
    "verify",
];
/// The keys of a finish gate that only a mission may use: whoever delegates work proves nothing by them.
const OF_MISSIONS: [&str; 2] = ["passToPass", "before"];
/// The most criteria of one sub-task.
const CRITERIA: usize = 50;
/// The longest criterion, test or command, in characters.
const LONGEST: usize = 2_000;
/// How often the agent of a sub-task may at most be told what is missing, or that its work does not compile.
const NUDGES: u32 = 20;
/// The most tests and commands of one sub-task's finish gate.
const COMMANDS: usize = 50;

/// A sub-task that an agent asks for. Nothing is known yet of the names in it.
#[skip_serializing_none]
#[apply(Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubTask {
    pub title: String,
    /// The work to do.
    pub description: Option<String>,
    /// The name of the agent that is to do the work; `None` is right where there is only one other agent.
    pub assign_to: Option<String>,
    /// The kind of the work.
    #[serde(rename = "type", default)]
    pub kind: TaskType,
    /// Titles of what it waits for: other sub-tasks of the same task, or work that is done.
    pub depends_on: Vec<String>,
    pub priority: Option<Decimal>,
    /// Files that it must produce.
    pub target_files: Vec<String>,
    /// The first of `target_files` that is protected; `None` where the runtime found none.
    pub protected: Option<String>,
    /// The criteria by which the work is accepted.
    pub acceptance: Vec<String>,
    /// The finish gate: it must hold before the agent may call its work finished.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "gate_by_value")]
    pub verify: Option<Box<FinishGate>>,
}

/// A finish gate in a record, read by the rules of missions.
pub mod gate_by_value {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
    use serde_json::Value;

    use crate::mission::file::document::{Node, Tree};
    use crate::mission::file::keys::Value as _;
    use crate::mission::model::FinishGate;

    pub fn serialize<S: Serializer>(
        gate: &Option<Box<FinishGate>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        gate.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<FinishGate>>, D::Error> {
        let value = Option::<Value>::deserialize(deserializer)?;
        let gate = value.map(|value| FinishGate::read(Node::root(&Tree::of_plain(&value))));
        let gate = gate.map(|gate| gate.ok_or_else(|| de::Error::custom("it is no finish gate")));
        Ok(gate.transpose()?.map(Box::new))
    }
}

/// Reads `delegate` of a result file: a list of sub-tasks, or one. What cannot be read is told in words, one by one;
/// the others stand.
pub fn read_delegations(value: &Value) -> (Vec<SubTask>, Vec<String>) {
    let items = match value {
        Value::Null => &[],
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let (mut read, mut refused) = (Vec::new(), Vec::new());
    for (number, item) in (1..).zip(items) {
        match read_sub_task(item) {
            Ok(sub_task) => read.push(sub_task),
            Err(why) => refused.push(format!("sub-task {number} cannot be read: {why}")),
        }
    }
    (read, refused)
}

/// The mistake in a sub-task.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SubTaskError {
    /// The sub-task is no object with a `title`.
    #[error("it is no object with a `title`")]
    NoObject,
    /// The sub-task or its `verify` has an unknown key; the last text lists the known ones.
    #[error("{0} has a key {1:.100?}, which it may not have; known are {2}")]
    UnknownKey(&'static str, String, String),
    /// The sub-task has no title.
    #[error("it has no `title`")]
    NoTitle,
    /// A value of this key is of another kind than this.
    #[error("`{0}` is no {1}")]
    NotA(String, &'static str),
    /// The value of a key is not one that missions take.
    #[error("{0}")]
    Value(String),
    /// The description is too long.
    #[error("its description is longer than {DESCRIPTION} characters; put it into a file")]
    LongDescription,
    /// The sub-task is a verification, which does no work.
    #[error("a verification node belongs in the mission")]
    Verification,
    /// A criterion says nothing.
    #[error("a criterion of `acceptance` is empty")]
    EmptyCriterion,
    /// The sub-task has too many criteria, or too long ones.
    #[error("`acceptance` may have {CRITERIA} criteria of {LONGEST} characters each")]
    Criteria,
    /// The finish gate cannot be read by the rules of missions.
    #[error("its `verify` cannot be read: {0}")]
    Gate(String),
    /// Nothing runs the tests of its finish gate.
    #[error("its `verify` names tests and no `testCommand` with `{{test}}`, which runs one of them")]
    NoTestCommand,
    /// Nothing compiles for its finish gate.
    #[error("its `verify` requires compilation and names no `compileCommand`")]
    NoCompileCommand,
    /// The finish gate tells the agent too often what is missing.
    #[error("its `verify` may have at most {NUDGES} `maxAttempts` and `compilationMaxAttempts`")]
    Nudges,
    /// The finish gate has too many tests and commands, or too long ones.
    #[error("its `verify` may have {COMMANDS} tests and commands of {LONGEST} characters each")]
    Commands,
}

impl From<Fault> for SubTaskError {
    fn from(fault: Fault) -> Self {
        Self::Value(fault.message)
    }
}

/// Reads one sub-task.
///
/// # Errors
/// What is wrong with it.
pub fn read_sub_task(item: &Value) -> Result<SubTask, SubTaskError> {
    let Value::Object(map) = item else {
        return Err(SubTaskError::NoObject);
    };
    if let Some(key) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(SubTaskError::UnknownKey("it", key.clone(), KEYS.join(", ")));
    }
    let title = text(map, "title")?.ok_or(SubTaskError::NoTitle)?;
    Name::parse(&title)?;
    let title = folded(&title);
    let description = text(map, "description")?;
    if description.as_ref().is_some_and(|text| text.chars().count() > DESCRIPTION) {
        return Err(SubTaskError::LongDescription);
    }
    let kind = match text(map, "type")? {
        None => TaskType::Other,
        Some(word) => TaskType::parse(&word)?,
    };
    if kind == TaskType::Verification {
        return Err(SubTaskError::Verification);
    }
    let priority = match map.get("priority") {
        None | Some(Value::Null) => None,
        Some(Value::Number(number)) => Some(Positive::parse(&number.to_string())?.get()),
        Some(_) => return Err(SubTaskError::NotA("priority".to_owned(), "number")),
    };
    let target_files = texts(map, "targetFiles")?;
    for path in &target_files {
        InnerPath::parse(path)?;
    }
    Ok(SubTask {
        title,
        description,
        assign_to: text(map, "assignTo")?,
        kind,
        depends_on: texts(map, "dependsOn")?,
        priority,
        target_files,
        protected: None,
        acceptance: criteria(map)?,
        verify: finish_gate(map)?,
    })
}

fn criteria(map: &Map<String, Value>) -> Result<Vec<String>, SubTaskError> {
    let criteria = texts(map, "acceptance")?;
    if criteria.iter().any(|criterion| criterion.trim().is_empty()) {
        return Err(SubTaskError::EmptyCriterion);
    }
    let is_long = |text: &String| text.chars().count() > LONGEST;
    if criteria.len() > CRITERIA || criteria.iter().any(is_long) {
        return Err(SubTaskError::Criteria);
    }
    Ok(criteria)
}

/// `verify`, which must stand for itself: no file of the mission is read for it.
fn finish_gate(map: &Map<String, Value>) -> Result<Option<Box<FinishGate>>, SubTaskError> {
    let declared = match map.get("verify") {
        None | Some(Value::Null) => return Ok(None),
        Some(declared) => declared,
    };
    let Value::Object(keys) = declared else {
        return Err(SubTaskError::NotA("verify".to_owned(), "object"));
    };
    let known = FinishGate::TABLE.keys.iter().map(|key| key.name);
    let known: Vec<&str> = known.filter(|key| !OF_MISSIONS.contains(key)).collect();
    if let Some(key) = keys.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(SubTaskError::UnknownKey("its `verify`", key.clone(), known.join(", ")));
    }
    let mut tree = Tree::of_plain(declared);
    let problems = key_check::check(&mut tree, FinishGate::TABLE, None).problems;
    if let Some(wrong) = problems.first_error() {
        return Err(SubTaskError::Gate(wrong.to_owned()));
    }
    let gate = FinishGate::read(Node::root(&tree));
    let gate = gate.ok_or_else(|| SubTaskError::Gate("it is no finish gate".to_owned()))?;
    let more = match &gate.fail_to_pass {
        None => &[][..],
        Some(TestList::Tests(tests)) => tests,
        Some(TestList::File(_)) => {
            return Err(SubTaskError::NotA("failToPass".to_owned(), "list of tests"));
        }
    };
    let tests = gate.required_tests.iter().chain(more);
    if tests.clone().next().is_some()
        && !gate.test_command.as_deref().is_some_and(|run| run.contains("{test}"))
    {
        return Err(SubTaskError::NoTestCommand);
    }
    if gate.require_compilation && gate.compile_command.is_none() {
        return Err(SubTaskError::NoCompileCommand);
    }
    let nudges = [gate.max_attempts, gate.compilation_max_attempts];
    if nudges.into_iter().flatten().any(|most| most > NUDGES) {
        return Err(SubTaskError::Nudges);
    }
    let own = [&gate.test_command, &gate.compile_command];
    let own = own.into_iter().flatten().map(String::as_str);
    let texts = tests.chain(&gate.commands).map(AsRef::as_ref).chain(own);
    let is_too_much =
        texts.clone().count() > COMMANDS || texts.clone().any(|text| text.chars().count() > LONGEST);
    drop(texts);
    if is_too_much {
        return Err(SubTaskError::Commands);
    }
    Ok(Some(Box::new(gate)))
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, SubTaskError> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(SubTaskError::NotA(key.to_owned(), "text")),
    }
}

fn texts(map: &Map<String, Value>, key: &str) -> Result<Vec<String>, SubTaskError> {
    let item = |value: &Value| value.as_str().map(str::to_owned);
    let list = match map.get(key) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(item).collect(),
        Some(one) => item(one).map(|text| vec![text]),
    };
    list.ok_or_else(|| SubTaskError::NotA(key.to_owned(), "list of texts"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_right_is_read_and_what_is_wrong_is_told_one_by_one() {
        let value = json!([
            {"title": "a", "assignTo": "w", "type": "test", "dependsOn": "b", "priority": 2.5, "targetFiles": ["x.rs"]},
            {"title": "b", "description": null},
            7,
            {"title": " "},
            {"title": "c", "run": "rm"},
            {"title": "d", "type": "verification"},
            {"title": "e", "priority": 0},
            {"title": "f", "targetFiles": ["../x"]},
            {"title": "g", "dependsOn": [1]},
            {"description": "no title"},
            {"title": "h", "description": "x".repeat(16_001)},
            {"title": ["i"]},
            {"title": "j", "verify": {"command": ["x"]}},
            {"title": "k", "verify": {"requiredTests": ["x"]}},
            {"title": "l", "verify": {"failToPass": "list.txt", "testCommand": "run {test}"}},
            {"title": "m", "verify": "make"},
            {"title": "n", "acceptance": ["", "b"]},
        ]);
        let (read, refused) = read_delegations(&value);
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].kind, read[0].priority), (TaskType::Test, Some(Decimal::new(25, 1))));
        assert_eq!(read[0].depends_on, ["b"]);
        assert_eq!(refused.len(), 15, "{refused:#?}");
        assert!(refused[2].contains("acceptance, verify"), "{refused:#?}");
        assert_eq!(read_delegations(&Value::Null), (Vec::new(), Vec::new()));
        let (one, none) = read_delegations(&json!({"title": "alone"}));
        assert_eq!((one.len(), none.len()), (1, 0));
    }

    #[test]
    fn a_finish_gate_and_criteria_come_back_from_a_journal_as_they_were() {
        let gate = json!({"requiredTests": ["a"], "testCommand": "run {test}", "failToPass": ["b"], "requireFileChanges": true,
            "requireCompilation": true, "compileCommand": "make", "commands": ["lint"], "maxAttempts": 1, "compilationMaxAttempts": 3});
        let (read, refused) =
            read_delegations(&json!({"title": "a", "acceptance": ["It is there."], "verify": gate}));
        assert!(refused.is_empty(), "{refused:?}");
        let gate = read[0].verify.as_deref().unwrap();
        assert_eq!((gate.max_attempts, gate.commands.len()), (Some(1), 1));
        let text = serde_json::to_string(&read[0]).unwrap();
        assert_eq!(serde_json::from_str::<SubTask>(&text).unwrap(), read[0]);
    }
}
