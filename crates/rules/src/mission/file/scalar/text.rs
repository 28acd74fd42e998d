//! Values that are texts: names and what refers to them, paths and globs below the workspace.

use crate::{
    domain::{folded, invisible_in},
    mission::file::{codes::Code, shown_text::quoted},
};

use super::{Fault, JsonForm, Referent, Scalar, scalars};

// Any text at all.
scalars! {
    String: "a text", JsonForm::Text(""), |text| Some(text.into());
    Box<str>: "a text", JsonForm::Text(""), |text| Some(text.into());
}

/// A text with something in it.
pub struct Filled(String);

impl Scalar for Filled {
    const EXPECTS: &'static str = "a text that is not empty";
    const FORM: JsonForm = JsonForm::Text(r"\S");

    fn parse(text: &str) -> Result<Self, Fault> {
        if text.trim().is_empty() {
            return Err(Fault::new(Code::EmptyValue, "this text is empty")
                .with_help("say something here, or leave the key out"));
        }
        if text.contains('\0') {
            return Err(Fault::new(Code::BadValue, "this text contains a null character"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A title or name: one printable line of at most 200 characters.
pub struct Name(String);

impl Name {
    const LIMIT: usize = 200;
}

impl Scalar for Name {
    const EXPECTS: &'static str = "a name";
    const FORM: JsonForm = JsonForm::Text(r"^\S([^\x00-\x1f\x7f]{0,198}\S)?$");

    fn parse(text: &str) -> Result<Self, Fault> {
        let length = text.chars().count();
        let problem = if text.trim().is_empty() {
            "this name is empty".to_owned()
        } else if text.trim() != text {
            format!("the name {} begins or ends with white space", quoted(text))
        } else if text.chars().any(char::is_control) {
            format!("the name {} contains a line break or another control character", quoted(text))
        } else if let Some(invisible) = invisible_in(text) {
            format!("the name {} contains a character that nobody sees, {invisible}", quoted(text))
        } else if length > Self::LIMIT {
            format!("this name has {length} characters, at most {} are allowed", Self::LIMIT)
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(Fault::new(Code::BadTitle, problem)
            .with_help("write one short line; details belong in `description`"))
    }
}

/// The name of an environment variable, or of something else that gets a text.
pub struct VariableName(String);

impl Scalar for VariableName {
    const EXPECTS: &'static str = "a name without `=`";
    const FORM: JsonForm = JsonForm::Text(r"^[^\s=]([^\x00-\x1f\x7f=]{0,198}[^\s=])?$");

    fn parse(text: &str) -> Result<Self, Fault> {
        let Name(name) = Name::parse(text)?;
        if name.contains('=') {
            return Err(Fault::expected::<Self>(&name).with_help("write `NAME: value`"));
        }
        Ok(Self(name))
    }
}

/// The name of a queue of workers: a part of a name that servers and command lines take.
pub struct QueueName(String);

impl Scalar for QueueName {
    const EXPECTS: &'static str = "a name of letters, digits, `.`, `_` and `-`";
    const FORM: JsonForm = JsonForm::Text(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$");

    fn parse(text: &str) -> Result<Self, Fault> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if begins && text.len() <= 100 && text.chars().all(is_plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Fault::expected::<Self>(text).with_help("write for example `gpu`"))
        }
    }
}

/// A task's title, in the one form in which titles are compared.
pub struct Title(String);

impl Scalar for Title {
    const EXPECTS: &'static str = Name::EXPECTS;
    const FORM: JsonForm = Name::FORM;

    fn parse(text: &str) -> Result<Self, Fault> {
        Name::parse(text).map(|Name(text)| Self(one_form(text)))
    }
}

/// The title of another task, in the same form.
pub struct TaskTitle(String);

impl Scalar for TaskTitle {
    const EXPECTS: &'static str = Filled::EXPECTS;
    const FORM: JsonForm = Filled::FORM;
    const REFERS_TO: Option<Referent> = Some(Referent::Task);

    fn parse(text: &str) -> Result<Self, Fault> {
        Filled::parse(text).map(|Filled(text)| Self(one_form(text)))
    }
}

/// Names of other things of the mission.
macro_rules! references {
    ($($name:ident to $referent:ident),+) => {$(
        #[doc = concat!("The name of a referent: ", stringify!($referent), ".")]
        pub struct $name(String);

        impl Scalar for $name {
            const EXPECTS: &'static str = Filled::EXPECTS;
            const FORM: JsonForm = Filled::FORM;
            const REFERS_TO: Option<Referent> = Some(Referent::$referent);

            fn parse(text: &str) -> Result<Self, Fault> {
                Filled::parse(text).map(|Filled(text)| Self(text))
            }
        }
    )+};
}

references!(AgentName to Agent, ChannelName to Channel, RubricName to Rubric);

fn one_form(title: String) -> String {
    if title.is_ascii() { title } else { folded(&title) }
}

/// A path below the workspace, or a glob of such paths.
pub struct InnerPath(String);

impl Scalar for InnerPath {
    const EXPECTS: &'static str = "a path below the workspace";
    const FORM: JsonForm = JsonForm::Text(r"^(?![/~]|\.\.(/|$)).*\S");

    fn parse(text: &str) -> Result<Self, Fault> {
        let Filled(path) = Filled::parse(text)?;
        let mut depth = 0i32;
        let stays_inside = !path.starts_with(['/', '~'])
            && path.split('/').all(|part| {
                depth += match part {
                    "" | "." => 0,
                    ".." => -1,
                    _ => 1,
                };
                depth >= 0
            });
        if stays_inside {
            Ok(Self(path))
        } else {
            Err(Fault::new(
                Code::PathEscapes,
                format!("the path {} leads out of the workspace", quoted(&path)),
            )
            .with_help("write a path relative to the workspace, such as src/core.rs"))
        }
    }
}

/// The path of one file below the workspace.
pub struct InnerFile(String);

impl Scalar for InnerFile {
    const EXPECTS: &'static str = "the path of a file below the workspace";
    const FORM: JsonForm = JsonForm::Text(r"^(?![/~]|\.\.(/|$))(?!.*[*?\[{]).*\S");

    fn parse(text: &str) -> Result<Self, Fault> {
        let InnerPath(path) = InnerPath::parse(text)?;
        if path.contains(['*', '?', '[', '{']) {
            return Err(Fault::new(
                Code::BadValue,
                format!("{} is a glob, and one file is meant", quoted(&path)),
            )
            .with_help("name each file by its path"));
        }
        Ok(Self(path))
    }
}

/// A file that a task must produce. A glob would be taken for a name that nobody can make.
pub struct TargetFile(String);

impl Scalar for TargetFile {
    const EXPECTS: &'static str = InnerFile::EXPECTS;
    const FORM: JsonForm = JsonForm::Text(r"^(?![/~]|\.\.(/|$))(?!.*[*?])(?!.*\{.*,.*\}).*\S");

    fn parse(text: &str) -> Result<Self, Fault> {
        let InnerPath(path) = InnerPath::parse(text)?;
        // Brackets are a part of names (`app/[id]/page.tsx`).
        let is_choice = |path: &str| path.split_once('{').is_some_and(|(_, rest)| rest.contains(','));
        match InnerFile::parse(text) {
            Ok(InnerFile(path)) => Ok(Self(path)),
            Err(_) if !path.contains(['*', '?']) && !is_choice(&path) => Ok(Self(path)),
            Err(fault) => Err(fault.with_help(
                "name each file by its path, or use file_exists: `expectations: [{type: file_exists, paths: [\"src/*.rs\"]}]`",
            )),
        }
    }
}

/// A path or glob below the workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct InnerGlob(String);

impl Scalar for InnerGlob {
    const EXPECTS: &'static str = "a path or glob below the workspace";
    const FORM: JsonForm = InnerPath::FORM;

    fn parse(text: &str) -> Result<Self, Fault> {
        let InnerPath(path) = InnerPath::parse(text)?;
        match globset::Glob::new(&path) {
            Ok(_) => Ok(Self(path)),
            Err(error) => {
                Err(Fault::new(Code::BadValue, format!("{} is not a glob: {}", quoted(&path), error.kind()))
                    .with_help("globs are written like tests/** or src/*.{js,ts}"))
            }
        }
    }
}

macro_rules! text_scalars {
    ($($name:ident),+) => {$(
        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl From<$name> for Box<str> {
            fn from(text: $name) -> Self {
                text.0.into()
            }
        }
    )+};
}

text_scalars!(
    Filled,
    Name,
    VariableName,
    QueueName,
    Title,
    TaskTitle,
    AgentName,
    ChannelName,
    RubricName,
    InnerPath,
    InnerFile,
    TargetFile,
    InnerGlob
);
