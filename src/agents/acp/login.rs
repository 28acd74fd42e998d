//! Ways to log in that a server offers, and which of them needs no person.

use serde_json::Value;

/// How many ways of a server are looked at.
const MAX_METHODS: usize = 100;

/// The ways that an answer or the data of an error list.
pub fn methods(holder: &Value) -> Vec<Value> {
    let methods = holder["authMethods"].as_array();
    methods.into_iter().flatten().take(MAX_METHODS).cloned().collect()
}

/// The id of the one way that needs no person, of those known before and those that an error lists. None where there is
/// no such way or there are several.
pub fn choose(known: &[Value], error: &Value) -> Option<String> {
    let told = methods(error);
    let usable = told.iter().chain(known).filter(|method| needs_nobody(method));
    let mut ids: Vec<&str> = usable.filter_map(|method| method["id"].as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    match ids.as_slice() {
        [id] => Some((*id).to_owned()),
        _ => None,
    }
}

/// Whether a key in the environment is enough. What runs in a terminal or opens a browser needs somebody.
fn needs_nobody(method: &Value) -> bool {
    let meta = &method["_meta"];
    let kind = method.get("type").unwrap_or(&meta["type"]);
    match kind.as_str() {
        Some("env_var") => true,
        Some("terminal") => false,
        _ => {
            let is_key = |id: &str| id.ends_with("api-key");
            meta.get("api-key").is_some() || method["id"].as_str().is_some_and(is_key)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_one_way_that_needs_no_person_is_taken() {
        let browser = json!({"id": "oauth", "name": "Log in"});
        let terminal = json!({"id": "openai", "_meta": {"type": "terminal", "args": []}});
        let key = json!({"id": "key", "_meta": {"api-key": {"provider": "p"}}});
        let variable = json!({"id": "variable", "type": "env_var"});
        let choose = |methods: &[&Value]| {
            let methods: Vec<Value> = methods.iter().map(|method| (*method).clone()).collect();
            super::choose(&methods, &Value::Null)
        };
        assert_eq!(choose(&[&browser, &terminal, &key]).as_deref(), Some("key"));
        assert_eq!(choose(&[&variable]).as_deref(), Some("variable"));
        assert_eq!(choose(&[&browser, &terminal]), None);
        assert_eq!(choose(&[&key, &variable]), None);
        let told = json!({"authMethods": [key, 3]});
        assert_eq!(super::choose(&[json!({"id": "key", "type": "env_var"})], &told).as_deref(), Some("key"));
    }
}
