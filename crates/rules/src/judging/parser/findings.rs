//! Findings in a reply of any kind, read one by one.

use crate::domain::{Finding, Severity};

use super::json::Json;

/// Keys below which a reply may put its findings.
const LISTS: &[&str] = &["findings", "issues", "problems", "vulnerabilities"];
/// Keys of what a finding says.
const DESCRIPTIONS: &[&str] = &["description", "finding", "issue", "title", "message", "problem", "text"];
/// The keys for the severity of a finding.
const SEVERITIES: &[&str] = &["severity", "level", "priority"];
/// Keys of what shows it.
const EVIDENCE: &[&str] = &["evidence", "proof", "location", "file", "line"];
/// Words that stand where evidence would and are none.
const NOTHING: &[&str] = &["-", "n/a", "na", "none", "null", "unknown"];

/// One item of a list of findings, with the value that holds it; `None` if it says nothing.
pub(crate) type FindingItem<'a> = Option<(Finding, &'a Json)>;

/// The items of all lists of findings that a value has, in their order; `None` if it has no such list.
pub(crate) fn items_of(value: &Json) -> Option<Vec<FindingItem<'_>>> {
    let lists: Vec<&Json> = match value {
        value if matches!(value, Json::List(_)) || is_finding(value) => vec![value],
        object => object.all(LISTS).collect(),
    };
    let mut items = Vec::new();
    lists.iter().for_each(|list| add(list, None, &mut items));
    (!lists.is_empty()).then_some(items)
}

/// Whether an object is a finding itself, outside of any list.
pub(crate) fn is_finding(value: &Json) -> bool {
    let mut lists = value.all(LISTS).filter(|list| matches!(list, Json::List(_)));
    value.get(SEVERITIES).is_some() && value.get(DESCRIPTIONS).is_some() && lists.next().is_none()
}

/// Whether a finding says in a text of its own what is wrong.
pub(crate) fn is_described(finding: &Json) -> bool {
    finding.get(DESCRIPTIONS).is_some_and(|said| !is_nothing(&said.words()))
}

/// The findings of a verdict that does not hang on them: at most so many.
pub(crate) fn findings_of(verdict: &Json, most: usize) -> Vec<Finding> {
    let items = items_of(verdict).unwrap_or_default().into_iter().flatten();
    items.map(|(finding, _)| finding).take(most).collect()
}

/// Adds the items of a list, or of an object of them: its keys may say how bad they are.
fn add<'a>(list: &'a Json, severity: Option<Severity>, items: &mut Vec<FindingItem<'a>>) {
    let is_list = |value: &Json| matches!(value, Json::List(_) | Json::Object(_));
    match list {
        Json::List(inner) => inner.iter().for_each(|one| match one {
            Json::List(_) => add(one, severity, items),
            one => items.push(item(one, severity)),
        }),
        Json::Object(entries) if !entries.is_empty() && entries.iter().all(|(_, inner)| is_list(inner)) => {
            entries.iter().for_each(|(key, inner)| add(inner, severity_named(key).or(severity), items));
        }
        Json::Text(text) if is_nothing(text) => {}
        other => items.push(item(other, severity)),
    }
}

/// A finding of whatever form. One whose severity is missing, or none that is known, is taken for a high one; a mere text
/// that names none, for a medium one.
fn item(item: &Json, severity: Option<Severity>) -> FindingItem<'_> {
    let field = |names: &[&str]| {
        let words = names.iter().filter_map(|name| item.get(&[name])).map(Json::words);
        words.into_iter().find(|words| !is_nothing(words))
    };
    let description = match item {
        Json::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Json::Object(_) => {
            field(DESCRIPTIONS).or_else(|| Some(item.words()).filter(|words| !words.is_empty()))
        }
        _ => None,
    };
    let description = description?;
    let unrated = match item {
        Json::Text(_) => Severity::Medium,
        _ => Severity::High,
    };
    // Of a key that stands there twice, the worse counts.
    let own = SEVERITIES.iter().find(|key| item.get(&[key]).is_some());
    let own = own
        .and_then(|key| item.all(&[key]).map(|said| severity_named(&said.words()).unwrap_or(unrated)).max());
    let finding = Finding {
        severity: own.or(severity).unwrap_or(unrated),
        description,
        evidence: field(EVIDENCE),
        suggested_fix: field(&["suggestedfix", "fix", "suggestion", "recommendation"]),
        open: false,
    };
    Some((finding, item))
}

fn is_nothing(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    text.is_empty() || NOTHING.contains(&text.as_str())
}

/// The worst severity that a text names; `None` if a word in it is not known, so that it could be any.
fn severity_named(name: &str) -> Option<Severity> {
    let words = name.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).map(str::to_lowercase);
    let named = |word: String| match word.as_str() {
        "critical" | "blocker" | "severe" | "p0" => Some(Severity::Critical),
        "high" | "major" | "p1" => Some(Severity::High),
        "medium" | "moderate" | "p2" => Some(Severity::Medium),
        "low" | "minor" | "trivial" | "nit" => Some(Severity::Low),
        "info" | "informational" | "note" | "none" => Some(Severity::Info),
        _ => None,
    };
    let filler = ["severity", "risk", "impact", "issue", "to"];
    let words = words.filter(|word| !filler.contains(&word.as_str()));
    words.map(named).collect::<Option<Vec<_>>>()?.into_iter().max()
}
