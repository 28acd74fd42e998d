//! A person's word about a tool call (semantics, section 5): the first call of a turn that needs one is asked about when the turn
//! has ended, and a yes is for that call, once, in the turn that follows.

use crate::agents::model::ToolCall;
use crate::agents::tools::run;
use rules::domain::Digest;

/// A longer call nobody could read, in characters.
const LONGEST: usize = 8_000;

/// The tool call that is allowed in a turn, and the one that a person is asked for after it.
#[derive(Debug, Clone, Default)]
pub struct Permission {
    allowed: Option<Digest>,
    wish: Option<String>,
}

impl Permission {
    /// In a turn for which a person has allowed this call, if any.
    pub fn of(allowed: Option<Digest>) -> Self {
        Self { allowed, wish: None }
    }

    /// The question to a person, and the call that it is about.
    pub fn wish(&self) -> Option<(&str, Digest)> {
        let wish = self.wish.as_deref()?;
        Some((wish, Digest::of(wish.as_bytes())))
    }

    /// Whether this call may be made now; then it is made, and not a second time. `asks` says that the turn has a question, which
    /// comes first.
    ///
    /// # Errors
    /// What the model is told where it may not.
    pub fn use_for(&mut self, call: &ToolCall, asks: bool) -> Result<(), &'static str> {
        let wish = wish_of(call);
        let wanted = Digest::of(wish.as_bytes());
        if self.allowed.take_if(|allowed| *allowed == wanted).is_some() {
            return Ok(());
        }
        Err(if wish.chars().count() > LONGEST {
            "a person must allow this call, and it is too long to be read; put it into a file"
        } else if asks {
            "a person must allow this call, and your question comes first; end your turn now"
        } else if self.wish.is_some() {
            "a person is asked about an earlier call of this turn first; end your turn now"
        } else {
            self.wish = Some(wish);
            "A person must allow this call, and is asked when your turn has ended. End it now; if the call is allowed, you are \
             told so in the next one and make it then, once, exactly as it was."
        })
    }
}

/// A call as a person is asked about it, without doubt about where its parts end; what is to be written is not part of it.
fn wish_of(call: &ToolCall) -> String {
    let arguments = &call.arguments;
    let parts = ["argv", "shell", "path", "pattern"].map(|key| &arguments[key]);
    let parts = parts.iter().filter(|part| !part.is_null());
    let parts: Vec<String> = parts.map(ToString::to_string).collect();
    let rest = match call.name.as_str() {
        "write" => ", whatever it holds",
        run::RUN => ", whatever the files hold that it uses",
        _ => "",
    };
    format!("{} {}{rest}", call.name, parts.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall { id: String::new(), name: name.to_owned(), arguments }
    }

    #[test]
    fn a_yes_is_for_one_call_and_one_call_is_asked_about() {
        let (one, other) = (call("run", json!({"argv": ["a b"]})), call("run", json!({"argv": ["a", "b"]})));
        let mut first = Permission::default();
        assert!(first.use_for(&one, false).unwrap_err().contains("is asked when your turn has ended"));
        assert!(first.use_for(&other, false).unwrap_err().contains("earlier call"));
        let (words, digest) = first.wish().unwrap();
        assert_eq!(words, r#"run ["a b"], whatever the files hold that it uses"#);

        let mut next = Permission::of(Some(digest));
        assert!(next.use_for(&other, false).is_err());
        assert!(next.use_for(&one, false).is_ok());
        assert!(next.use_for(&one, false).is_err(), "a second time");
    }

    #[test]
    fn what_nobody_can_read_and_what_comes_beside_a_question_is_not_asked_about() {
        let mut permission = Permission::default();
        let long = call("run", json!({"shell": "x".repeat(LONGEST)}));
        assert!(permission.use_for(&long, false).unwrap_err().contains("too long"));
        let short = call("write", json!({"path": "a", "content": "b"}));
        assert!(permission.use_for(&short, true).unwrap_err().contains("question comes first"));
        assert!(permission.wish().is_none());
        assert!(permission.use_for(&short, false).is_err());
        assert_eq!(permission.wish().unwrap().0, r#"write "a", whatever it holds"#);
    }
}
