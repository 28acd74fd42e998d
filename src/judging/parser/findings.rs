//! Findings in a reply of any kind, read one by one.

use crate::domain::{Finding, Severity};

use super::json::Json;

/// Keys below which a reply may put its findings.
const LISTS: &[&str] = &["findings", "issues"];
/// Keys of what a finding says.
const DESCRIPTIONS: &[&str] = &["description", "finding", "issue", "title"];
/// Words that stand where evidence would and are none.
const NOTHING: &[&str] = &["-", "n/a", "na", "none", "null", "unknown"];

/// One item of a list of findings.
pub(in crate::judging) enum Item<'a> {
    /// A finding, with the object that holds it.
    Read(Finding, &'a Json),
    /// One that says what, but not how bad on the known scale; it is taken for a medium one.
    Unrated(Finding, &'a Json),
    /// It says nothing.
    Nothing,
}

/// The items of all lists of findings that a value has, in their order; `None` if it has no such list.
pub(in crate::judging) fn items_of(value: &Json) -> Option<Vec<Item<'_>>> {
    let lists: Vec<&Json> = match value {
        Json::List(_) => vec![value],
        object if is_finding(object) => return Some(vec![item(object)]),
        object => object.all(LISTS).collect(),
    };
    if lists.is_empty() {
        return None;
    }
    let items = lists.into_iter().flat_map(|list| match list {
        Json::List(items) => items.iter().map(item).collect(),
        object @ Json::Object(_) => vec![item(object)],
        Json::Text(text) if is_nothing(text) => Vec::new(),
        _ => vec![Item::Nothing],
    });
    Some(items.collect())
}

/// Whether an object is a finding itself, outside of any list.
pub(in crate::judging) fn is_finding(value: &Json) -> bool {
    value.get(&["severity"]).is_some() && value.get(DESCRIPTIONS).is_some()
}

/// The findings of a verdict that does not hang on them: at most so many. One that names no known severity is medium, one
/// without a text is none.
pub(in crate::judging) fn findings_of(verdict: &Json, most: usize) -> Vec<Finding> {
    let items = items_of(verdict).unwrap_or_default().into_iter();
    let read = items.filter_map(|item| match item {
        Item::Read(finding, _) | Item::Unrated(finding, _) => Some(finding),
        Item::Nothing => None,
    });
    read.take(most).collect()
}

fn item(item: &Json) -> Item<'_> {
    let field = |names: &[&str]| {
        item.get(names)
            .map(Json::words)
            .filter(|words| !is_nothing(words))
    };
    let description = match item {
        Json::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => field(DESCRIPTIONS),
    };
    let Some(description) = description else {
        return Item::Nothing;
    };
    let rated = item
        .get(&["severity"])
        .and_then(Json::text)
        .and_then(severity_named);
    let finding = Finding {
        severity: rated.unwrap_or(Severity::Medium),
        description,
        evidence: field(&["evidence"]),
        suggested_fix: field(&["suggestedfix", "fix", "suggestion", "recommendation"]),
        open: false,
    };
    match rated {
        Some(_) => Item::Read(finding, item),
        None => Item::Unrated(finding, item),
    }
}

fn is_nothing(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    text.is_empty() || NOTHING.contains(&text.as_str())
}

fn severity_named(name: &str) -> Option<Severity> {
    Some(match name.trim().to_lowercase().as_str() {
        "critical" | "blocker" => Severity::Critical,
        "high" | "major" => Severity::High,
        "medium" | "moderate" => Severity::Medium,
        "low" | "minor" => Severity::Low,
        "info" | "informational" | "note" => Severity::Info,
        _ => return None,
    })
}
