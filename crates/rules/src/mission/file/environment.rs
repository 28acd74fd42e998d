//! `${NAME}`: values that come from the environment of the run, never from the file.
//!
//! Only agents' `env`, `headers` and `apiKey` and the URLs and headers of channels are expanded. `$${` stands for a literal `${`.

use super::codes::Code;
use super::scalar::{Fault, JsonForm, Scalar};
use super::shown_text::quoted;

/// A text with `${NAME}` in it, checked but not expanded.
pub struct Template(String);

/// Exactly one `${NAME}`: the only way to give a key.
pub struct Secret(String);

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.0
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> Self {
        secret.0
    }
}

impl Scalar for Template {
    const EXPECTS: &'static str = "a text, in which ${NAME} stands for an environment variable";
    const FORM: JsonForm = JsonForm::Text("");

    fn parse(text: &str) -> Result<Self, Fault> {
        if text.contains('\0') {
            return Err(Fault::new(Code::BadValue, "this text contains a null character"));
        }
        pieces(text)
            .find_map(|piece| match piece {
                TemplatePiece::Malformed(part) => Some(part),
                _ => None,
            })
            .map_or_else(
                || Ok(Self(text.to_owned())),
                |part| {
                    Err(Fault::new(
                        Code::BadPlaceholder,
                        format!("{} names no environment variable", quoted(part)),
                    )
                    .with_help("write ${NAME}, or $${ for a literal dollar sign and brace"))
                },
            )
    }
}

impl Scalar for Secret {
    const EXPECTS: &'static str = "${NAME} of an environment variable";
    const FORM: JsonForm = JsonForm::Text(r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$");

    /// The text is never repeated in the message: it may be the key itself.
    fn parse(text: &str) -> Result<Self, Fault> {
        let mut parts = pieces(text);
        match (parts.next(), parts.next()) {
            (Some(TemplatePiece::Variable(_)), None) => Ok(Self(text.to_owned())),
            _ => Err(Fault::new(Code::SecretInFile, "a key must not stand in the file")
                .with_help("write ${NAME}, and set the variable NAME where quorum runs")),
        }
    }
}

enum TemplatePiece<'t> {
    Literal(&'t str),
    Variable(&'t str),
    Malformed(&'t str),
}

/// Cuts a text into literals and variables.
fn pieces(text: &str) -> impl Iterator<Item = TemplatePiece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(after) = rest.strip_prefix("$${") {
            rest = after;
            return Some(TemplatePiece::Literal("${"));
        }
        if let Some(after) = rest.strip_prefix("${") {
            let end = after.find('}').map_or(after.len(), |at| at + 1);
            let (inner, following) = after.split_at(end);
            let whole = &rest[..2 + end];
            rest = following;
            let name = inner.strip_suffix('}').filter(|name| is_variable_name(name));
            return Some(name.map_or(TemplatePiece::Malformed(whole), TemplatePiece::Variable));
        }
        // At least one character, then up to the next dollar sign.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..].find('$').map_or(rest.len(), |at| first + at);
        let (literal, following) = rest.split_at(end);
        rest = following;
        Some(TemplatePiece::Literal(literal))
    })
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// An environment variable that a text needs and that has no value that is text.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the environment variable {0} is not set, or not to UTF-8 text")]
pub struct UnsetVariable(pub String);

/// The text with every `${NAME}` replaced by what `lookup` says.
///
/// # Errors
/// When a variable is not set.
pub fn expand(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, UnsetVariable> {
    let mut expanded = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            TemplatePiece::Literal(part) | TemplatePiece::Malformed(part) => expanded.push_str(part),
            TemplatePiece::Variable(name) => {
                expanded.push_str(&lookup(name).ok_or_else(|| UnsetVariable(name.to_owned()))?);
            }
        }
    }
    Ok(expanded)
}

/// The names of the variables in a text.
pub fn variables(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        TemplatePiece::Variable(name) => Some(name),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<String> {
        (name == "HOST").then(|| "h".to_owned())
    }

    #[test]
    fn variables_are_expanded_and_dollars_kept() {
        for (text, expanded) in [
            ("a ${HOST} b", "a h b"),
            ("$HOME costs $5", "$HOME costs $5"),
            ("$${HOST}", "${HOST}"),
            ("", ""),
            ("$", "$"),
        ] {
            assert_eq!(expand(text, env).unwrap(), expanded, "{text}");
        }
        assert_eq!(expand("${NOPE}", env), Err(UnsetVariable("NOPE".to_owned())));
    }

    #[test]
    fn malformed_variables_are_refused() {
        for bad in ["${}", "${1A}", "${A B}", "${A", "x${é}"] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_never_stands_in_the_file_nor_in_the_message() {
        assert!(Secret::parse("${OPENAI_API_KEY}").is_ok());
        for bad in ["sk-12345", "${A}x", "x${A}", "", "${A}${B}"] {
            let fault = Secret::parse(bad).err().unwrap();
            assert_eq!(fault.code, Code::SecretInFile);
            assert!(!fault.message.contains("sk-"), "{}", fault.message);
        }
    }
}
