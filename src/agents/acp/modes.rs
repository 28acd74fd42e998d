//! Settings of a session that a server offers: its modes and models, and which mode a turn needs.

use serde_json::{Value, json};

use super::lines::{SHORT_TEXT, ServerFailure, cut};
use super::options::{Options, PermissionLevel};

/// How many of what a server offers are remembered and shown.
const MAX_OFFERED: usize = 200;

/// Modes in which a server changes nothing.
const READ: &[&str] = &["plan", "read-only"];
/// Modes in which the agent edits files unasked.
const EDIT: &[&str] = &["acceptEdits", "workspace-write", "autoEdit", "auto-edit", "build"];
/// Modes in which the agent does everything unasked.
const FULL: &[&str] = &["bypassPermissions", "agent-full-access", "yolo", "build"];
/// Modes in which the agent asks. codex asks in `read-only`, for what its sandbox does not let through.
/// opencode has none of its own: it asks in `build` for what its configuration says.
const ASK: &[&str] = &["default", "read-only", "build"];

/// The mode that a turn needs in its session.
pub struct NeededMode {
    /// The first that is offered is taken.
    candidates: &'static [&'static str],
    may_become_anything: bool,
}

impl NeededMode {
    pub fn of(options: &Options) -> Self {
        let candidates = match (&options.rules, options.permissions) {
            (Some(_), _) => ASK,
            (None, PermissionLevel::Read) => READ,
            (None, PermissionLevel::Edit) => EDIT,
            (None, PermissionLevel::Full) => FULL,
        };
        let may_become_anything = options.rules.is_none() && options.permissions == PermissionLevel::Full;
        Self { candidates, may_become_anything }
    }

    /// Whether the agent may change into this mode by itself: one that it might have been set to, or a stricter one.
    pub fn tolerates(&self, mode: &str) -> bool {
        self.may_become_anything || self.candidates.contains(&mode) || READ.contains(&mode)
    }
}

/// A setting of the session with its values.
#[derive(Debug, Default, PartialEq)]
struct SessionSetting {
    /// Values with the names that people read.
    offered: Vec<(String, String)>,
    /// The name under which `session/set_config_option` sets it; without one it has a method of its own.
    option: Option<String>,
}

/// The settings that an answer to `session/new` and its like offers.
#[derive(Debug, Default)]
pub struct SessionSettings {
    mode: SessionSetting,
    model: SessionSetting,
}

/// A request that sets something.
#[derive(Debug, PartialEq)]
pub struct Change {
    pub method: &'static str,
    pub params: Value,
    /// The value that it sets.
    pub value: String,
    /// The server lists that value.
    pub is_offered: bool,
}

impl SessionSettings {
    pub fn read(answer: &Value) -> Self {
        let own = |key: &str, list: &str, id: &str| SessionSetting {
            offered: offered(&answer[key][list], id),
            option: None,
        };
        let mode = own("modes", "availableModes", "id");
        let model = own("models", "availableModels", "modelId");
        Self {
            mode: if mode.offered.is_empty() { of_option(answer, "mode") } else { mode },
            model: match of_option(answer, "model") {
                option if option.offered.is_empty() => model,
                option => option,
            },
        }
    }

    /// How the mode of a session is set to what a turn needs.
    ///
    /// # Errors
    /// When the server offers none of the modes that would do.
    pub fn set_mode(&self, needed: &NeededMode, session: &str) -> Result<Change, ServerFailure> {
        let offered = |name: &&&str| self.mode.offered.iter().any(|(value, _)| value == **name);
        let Some(value) = needed.candidates.iter().find(offered) else {
            let offers = self.mode.names();
            let needed = needed.candidates.join(", ");
            return Err(ServerFailure::new(format!(
                "the server offers none of the modes that this turn may run in ({needed}); it offers {offers}"
            )));
        };
        Ok(self.mode.change(session, value, "session/set_mode", "modeId"))
    }

    /// How the model of a session is set.
    ///
    /// # Errors
    /// When no model can be set.
    pub fn set_model(&self, model: &str, session: &str) -> Result<Change, ServerFailure> {
        if self.model.offered.is_empty() {
            return Err(ServerFailure::new("the server does not let its model be chosen"));
        }
        let mut offered = self.model.offered.iter();
        // Servers know more models than they list, so what is not in the list is left to them to refuse.
        let value = offered.find(|(value, name)| value == model || name == model);
        let value = value.map_or(model, |(value, _)| value);
        Ok(self.model.change(session, value, "session/set_model", "modelId"))
    }
}

impl SessionSetting {
    fn change(&self, session: &str, value: &str, method: &'static str, key: &str) -> Change {
        let (method, params) = match &self.option {
            Some(option) => (
                "session/set_config_option",
                json!({"sessionId": session, "configId": option, "value": value}),
            ),
            None => (method, json!({"sessionId": session, key: value})),
        };
        let is_offered = self.offered.iter().any(|(offered, _)| offered == value);
        Change { method, params, value: value.to_owned(), is_offered }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.offered.iter().map(|(value, _)| value.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

fn offered(list: &Value, id: &str) -> Vec<(String, String)> {
    let list = list.as_array().into_iter().flatten();
    let text = |entry: &Value, key: &str| entry[key].as_str().map(|text| cut(text, SHORT_TEXT));
    let values = list.filter_map(|entry| Some((text(entry, id)?, text(entry, "name").unwrap_or_default())));
    values.take(MAX_OFFERED).collect()
}

/// One of the `configOptions` of an answer or a notification.
fn option_of<'a>(holder: &'a Value, name: &str) -> Option<&'a Value> {
    let mut options = holder["configOptions"].as_array()?.iter();
    options.find(|option| option["id"] == name)
}

fn of_option(answer: &Value, name: &str) -> SessionSetting {
    option_of(answer, name).map_or_else(SessionSetting::default, |option| SessionSetting {
        offered: offered(&option["options"], "value"),
        option: Some(name.to_owned()),
    })
}

/// The value of a setting by the `configOptions` of an answer or a notification; `None` where they do not name
/// it.
pub fn current_of_option<'a>(holder: &'a Value, name: &str) -> Option<&'a str> {
    option_of(holder, name)?["currentValue"].as_str()
}

/// The mode that a `session/update` tells.
pub fn mode_in(update: &Value) -> Option<&str> {
    match update["sessionUpdate"].as_str()? {
        "current_mode_update" => update["currentModeId"].as_str(),
        "config_option_update" => current_of_option(update, "mode"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(options: &str) -> NeededMode {
        NeededMode::of(&serde_json::from_str(options).unwrap())
    }

    #[test]
    fn a_mode_is_set_as_the_server_offers_it() {
        let modes = json!({"modes": {"availableModes": [{"id": "yolo"}, {"id": "plan"}, 3, {"id": 4}]}});
        let change =
            SessionSettings::read(&modes).set_mode(&needed(r#"{"permissions": "read"}"#), "s").unwrap();
        assert_eq!((change.method, change.value.as_str()), ("session/set_mode", "plan"));
        assert_eq!(change.params, json!({"sessionId": "s", "modeId": "plan"}));
        let option = json!({"id": "mode", "options": [{"value": "plan"}, {"value": "build"}]});
        let settings = SessionSettings::read(&json!({"configOptions": [3, {"id": "model"}, option]}));
        let change = settings.set_mode(&needed(r#"{"permissions": "full"}"#), "s").unwrap();
        assert_eq!(change.method, "session/set_config_option");
        assert_eq!(change.params, json!({"sessionId": "s", "configId": "mode", "value": "build"}));
    }

    #[test]
    fn a_server_without_a_mode_that_will_do_is_refused() {
        let modes = json!({"modes": {"availableModes": [{"id": "auto"}, {"id": "default"}]}});
        let refused =
            SessionSettings::read(&modes).set_mode(&needed(r#"{"permissions": "full"}"#), "s").unwrap_err();
        assert!(refused.message.ends_with("it offers auto, default"), "{}", refused.message);
        let refused =
            SessionSettings::read(&Value::Null).set_mode(&needed(r#"{"permissions": "read"}"#), "s");
        assert!(refused.unwrap_err().message.ends_with("it offers none"));
    }

    #[test]
    fn an_agent_may_become_stricter_but_not_looser() {
        let edit = needed(r#"{"permissions": "edit"}"#);
        assert!(edit.tolerates("acceptEdits") && edit.tolerates("plan") && !edit.tolerates("yolo"));
        let read = needed(r#"{"permissions": "read"}"#);
        assert!(read.tolerates("read-only") && !read.tolerates("default"));
        assert!(needed(r#"{"permissions": "full"}"#).tolerates("auto"));
    }

    #[test]
    fn a_model_is_set_by_its_id_or_its_name() {
        let models = json!({"models": {"availableModels": [{"modelId": "m-1", "name": "One"}]}});
        let settings = SessionSettings::read(&models);
        for (asked, sent) in [("m-1", "m-1"), ("One", "m-1"), ("m-2", "m-2")] {
            let change = settings.set_model(asked, "s").unwrap();
            assert_eq!(change.params, json!({"sessionId": "s", "modelId": sent}));
        }
        assert!(SessionSettings::read(&json!({})).set_model("m", "s").is_err());
    }
}
