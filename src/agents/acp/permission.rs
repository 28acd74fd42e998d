//! Requests for a permission: what they are for, what a person reads of them, what is done with them.

use serde_json::Value;

use super::options::{Options, PermissionLevel, PermissionRules, RequestRule};
use super::paths::{MAX_PATHS, WorkingFolder};

/// The longest wish that a person is shown, in bytes; more than that nobody reads.
pub const MAX_WISH: usize = 8_000;

/// A request for a permission.
#[derive(Debug, Default)]
pub struct PermissionRequest {
    /// The server's word for what kind of thing it is; empty where it tells none.
    pub kind: String,
    pub title: String,
    pub paths: Vec<String>,
    /// The input of the tool, as far as the server tells it.
    pub input: Value,
}

/// The decision about a permission request.
#[derive(Debug, PartialEq)]
pub enum PermissionDecision {
    Allow,
    Deny,
    /// A person has to allow this wish.
    Ask(String),
}

#[derive(Clone, Copy, PartialEq)]
enum ToolGroup {
    Read,
    Edit,
    Run,
}

fn group(kind: &str) -> Option<ToolGroup> {
    match kind {
        "read" | "search" | "think" | "fetch" => Some(ToolGroup::Read),
        "edit" | "delete" | "move" => Some(ToolGroup::Edit),
        "execute" => Some(ToolGroup::Run),
        _ => None,
    }
}

impl PermissionRequest {
    /// Decides the request by the options alone.
    pub fn decide(&self, options: &Options, folder: &WorkingFolder) -> PermissionDecision {
        let Some(rules) = &options.rules else {
            let is_allowed = match (options.permissions, group(&self.kind)) {
                (PermissionLevel::Full, _) => true,
                (PermissionLevel::Edit, group) => matches!(group, Some(ToolGroup::Read | ToolGroup::Edit)),
                (PermissionLevel::Read, group) => group == Some(ToolGroup::Read),
            };
            return if is_allowed { PermissionDecision::Allow } else { PermissionDecision::Deny };
        };
        let asked = || self.wish(folder).map(PermissionDecision::Ask);
        let decided = self.by_rules(rules, folder).or_else(asked);
        decided.unwrap_or(PermissionDecision::Deny)
    }

    /// Decides the request by the rules; `None` where a person is to be asked.
    fn by_rules(&self, rules: &PermissionRules, folder: &WorkingFolder) -> Option<PermissionDecision> {
        let rule = match group(&self.kind) {
            Some(ToolGroup::Read) => &rules.read,
            Some(ToolGroup::Edit) => &rules.edit,
            Some(ToolGroup::Run) => &rules.run,
            // It may be anything, so it is held to the strictest of them.
            None => {
                let each = [&rules.read, &rules.edit, &rules.run];
                if each.iter().all(|rule| matches!(rule, RequestRule::Allow)) {
                    return Some(PermissionDecision::Allow);
                }
                let asks = each.iter().all(|rule| matches!(rule, RequestRule::Allow | RequestRule::Ask));
                return (!asks).then_some(PermissionDecision::Deny);
            }
        };
        match rule {
            RequestRule::Allow => Some(PermissionDecision::Allow),
            RequestRule::Deny => Some(PermissionDecision::Deny),
            RequestRule::Ask => None,
            RequestRule::Paths(globs) => {
                let is_inside =
                    |path: &String| folder.relative(path).is_some_and(|inside| globs.is_match(inside));
                let few = (1..=MAX_PATHS).contains(&self.paths.len());
                let allowed = few && self.paths.iter().all(is_inside);
                Some(if allowed { PermissionDecision::Allow } else { PermissionDecision::Deny })
            }
        }
    }

    /// The call that a person is to allow, in one line. It says everything that is known of the request in an
    /// order that does not change, so that an allowed call is recognised again. `None` where it would be too
    /// long.
    fn wish(&self, folder: &WorkingFolder) -> Option<String> {
        let mut wish = String::new();
        match self.kind.as_str() {
            "execute" => self.run(folder, &mut wish),
            kind @ ("read" | "edit" | "delete" | "move") if !self.paths.is_empty() => {
                wish.push_str(kind);
                for path in &self.paths {
                    wish.push(' ');
                    quote(&folder.shown(path), &mut wish);
                }
            }
            _ => self.whole(&mut wish),
        }
        (wish.len() <= MAX_WISH && self.paths.len() <= MAX_PATHS).then_some(wish)
    }

    fn run(&self, folder: &WorkingFolder, wish: &mut String) {
        match self.input.get("command") {
            Some(Value::String(command)) => {
                wish.push_str("run ");
                quote(command, wish);
            }
            Some(Value::Array(words)) => {
                wish.push_str("run [");
                for (at, word) in words.iter().enumerate() {
                    wish.push_str(if at == 0 { "" } else { ", " });
                    quote(word.as_str().map_or_else(|| word.to_string(), str::to_owned).as_str(), wish);
                }
                wish.push(']');
            }
            // All that is known is what the server calls it.
            _ => return self.whole(wish),
        }
        let place = ["cwd", "workdir", "directory"].iter().find_map(|key| self.input.get(key)?.as_str());
        if let Some(place) = place.map(|place| folder.shown(place)).filter(|place| place != ".") {
            wish.push_str(" in ");
            quote(&place, wish);
        }
    }

    /// Everything that is known, for what has no shorter form: the kind, the title, the input.
    fn whole(&self, wish: &mut String) {
        let kind = match self.kind.as_str() {
            "execute" => "run",
            kind if group(kind).is_some() => kind,
            _ => "use",
        };
        wish.push_str(kind);
        wish.push_str(" titled ");
        quote(&self.title, wish);
        if self.input.as_object().is_some_and(|input| !input.is_empty()) {
            let mut input = self.input.clone();
            input.sort_all_objects();
            wish.push_str(" with ");
            escape(&input.to_string(), wish);
        }
    }
}

/// Writes a text as a JSON string of visible characters.
fn quote(text: &str, into: &mut String) {
    escape(&Value::from(text).to_string(), into);
}

/// Writes JSON with escapes for whatever could hide in it or change the order in which it is read.
fn escape(json: &str, into: &mut String) {
    for character in json.chars() {
        let is_plain = character.is_ascii() || character.escape_debug().len() == 1;
        if is_plain {
            into.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // A string takes everything.
            append!(into, "\\u{unit:04x}");
        }
    }
}

/// The option that says `is_allowed`, for this once: what is allowed for good would outlive the turn. None where the
/// server offers no such option.
pub fn choose(options: &Value, is_allowed: bool) -> Option<Value> {
    let kinds: &[&str] = if is_allowed { &["allow_once"] } else { &["reject_once", "reject_always"] };
    let options = options.as_array()?;
    kinds.iter().find_map(|kind| {
        let option = options.iter().find(|option| option["kind"] == *kind)?;
        Some(&option["optionId"]).filter(|id| id.is_string()).cloned()
    })
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
