//! What a text or a document must say.

use std::borrow::Cow;

use serde_json::Value;

/// What has words: texts, and texts in documents.
pub trait Says {
    /// All that it says.
    fn text(&self) -> Cow<'_, str>;

    /// It must have all these words.
    #[track_caller]
    fn says(&self, words: &[&str]) -> &Self {
        let text = self.text();
        for word in words {
            assert!(text.contains(word), "it does not say '{word}':\n{text}");
        }
        self
    }

    /// It must have none of these words.
    #[track_caller]
    fn omits(&self, words: &[&str]) -> &Self {
        let text = self.text();
        for word in words {
            assert!(!text.contains(word), "it says '{word}':\n{text}");
        }
        self
    }
}

impl Says for str {
    fn text(&self) -> Cow<'_, str> {
        self.into()
    }
}

impl Says for String {
    fn text(&self) -> Cow<'_, str> {
        self.into()
    }
}

/// A document that must be a text.
impl Says for Value {
    #[track_caller]
    fn text(&self) -> Cow<'_, str> {
        self.as_str().unwrap_or_else(|| panic!("it is no text: {self:#}")).into()
    }
}

/// Documents, of which a test names the fields that matter.
pub trait Has {
    /// The document must have these fields, and objects in it theirs; other fields may be there. `null` is no field.
    fn has(&self, fields: Value);
}

impl Has for Value {
    #[track_caller]
    fn has(&self, fields: Value) {
        let fields = fields.as_object().expect("fields of an object");
        for (key, wanted) in fields {
            let found = &self[key];
            match wanted {
                Value::Object(inner) if !inner.is_empty() => found.has(wanted.clone()),
                Value::Number(number) if number.is_f64() => {
                    assert_eq!(found.as_f64(), number.as_f64(), "{key} of {self:#}");
                }
                _ => assert_eq!(found, wanted, "{key} of {self:#}"),
            }
        }
    }
}
