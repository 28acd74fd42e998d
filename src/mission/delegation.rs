//! What an agent may hand down: sub-tasks as it wrote them, read strictly (semantics, section 12).

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::folded;

use super::model::TaskType;
use super::scalar::{InnerPath, Name, Positive, Scalar};

/// The longest description that is taken, in characters.
const DESCRIPTION: usize = 16_000;
/// What a sub-task may say of itself.
const KEYS: [&str; 7] = [
    "title",
    "description",
    "assignTo",
    "type",
    "dependsOn",
    "priority",
    "targetFiles",
];

/// A sub-task that an agent asks for. Nothing is known yet of the names in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubTask {
    /// Its title.
    pub title: String,
    /// What is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who is to do it; may be left out if there is only one other agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assign_to: Option<String>,
    /// What kind of work it is.
    #[serde(rename = "type", default)]
    pub kind: TaskType,
    /// Titles of what it waits for: other sub-tasks of the same task, or work that is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Its priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Decimal>,
    /// Files that it must produce.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_files: Vec<String>,
}

/// Reads `delegate` of a result file: a list of sub-tasks, or one. What cannot be read is told in words, one by one;
/// the others stand.
#[must_use]
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

/// Reads one sub-task.
///
/// # Errors
/// What is wrong with it, in words.
pub fn read_sub_task(item: &Value) -> Result<SubTask, String> {
    let Value::Object(map) = item else {
        return Err("it is no object with a `title`".to_owned());
    };
    if let Some(key) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let known = KEYS.join(", ");
        return Err(format!(
            "it has a key {key:.100?}, which it may not have; known are {known}"
        ));
    }
    let title = text(map, "title")?.ok_or("it has no `title`")?;
    Name::parse(&title).map_err(|fault| fault.message)?;
    let title = folded(&title);
    let description = text(map, "description")?;
    if description
        .as_ref()
        .is_some_and(|text| text.chars().count() > DESCRIPTION)
    {
        return Err(format!(
            "its description is longer than {DESCRIPTION} characters; put it into a file"
        ));
    }
    let kind = match text(map, "type")? {
        None => TaskType::Other,
        Some(word) => TaskType::parse(&word).map_err(|fault| fault.message)?,
    };
    if kind == TaskType::Verification {
        return Err("a verification node belongs in the mission".to_owned());
    }
    let priority = match map.get("priority") {
        None | Some(Value::Null) => None,
        Some(Value::Number(number)) => {
            let positive = Positive::parse(&number.to_string()).map_err(|fault| fault.message)?;
            Some(positive.get())
        }
        Some(_) => return Err("`priority` is no number".to_owned()),
    };
    let target_files = texts(map, "targetFiles")?;
    for path in &target_files {
        InnerPath::parse(path).map_err(|fault| fault.message)?;
    }
    Ok(SubTask {
        title,
        description,
        assign_to: text(map, "assignTo")?,
        kind,
        depends_on: texts(map, "dependsOn")?,
        priority,
        target_files,
    })
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` is no text")),
    }
}

fn texts(map: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let item = |value: &Value| value.as_str().map(str::to_owned);
    let list = match map.get(key) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(item).collect(),
        Some(one) => item(one).map(|text| vec![text]),
    };
    list.ok_or_else(|| format!("`{key}` is no list of texts"))
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
        ]);
        let (read, refused) = read_delegations(&value);
        assert_eq!(read.len(), 2);
        assert_eq!(
            (read[0].kind, read[0].priority),
            (TaskType::Test, Some(Decimal::new(25, 1)))
        );
        assert_eq!(read[0].depends_on, ["b"]);
        assert_eq!(refused.len(), 10, "{refused:#?}");
        assert_eq!(read_delegations(&Value::Null), (Vec::new(), Vec::new()));
        let (one, none) = read_delegations(&json!({"title": "alone"}));
        assert_eq!((one.len(), none.len()), (1, 0));
    }
}
