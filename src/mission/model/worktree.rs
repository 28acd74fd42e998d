//! How worktrees are prepared and merged, where tasks are isolated in them (semantics, section 22).

use crate::mission::keys::{Later, keys, single};
use crate::mission::levels::shown;
use crate::mission::scalar::{Fault, Filled, Form, InnerPath, Scalar};

keys! {
    /// `settings.worktree`. `None` leaves a value to the next level and at last to the default.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Worktree: "worktree", by level {
        /// Files that are copied into each worktree.
        "copy" copy: Later as Vec<InnerPath>, later("isolation");
        /// Files and folders that each worktree links to.
        "link" link: Later as Vec<InnerPath>, later("isolation");
        /// A command that prepares a worktree.
        "setup" setup: Later as Filled, later("isolation");
        /// What becomes of accepted work at the end: ff (the branch that is checked out moves), never, or `branch NAME` [=].
        "merge" merge: Option<MergeInto> = "ff";
    }
}

/// What becomes of accepted work at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeInto {
    /// The branch that is checked out is moved, where it is clean and has not moved.
    FastForward,
    /// Nothing: it waits under a reference of its own.
    Never,
    /// This branch is made, or moved forward.
    Branch(Box<str>),
}

impl Scalar for MergeInto {
    const EXPECTS: &'static str = "ff, never or `branch NAME`";
    const FORM: Form = Form::Either(&[Form::Words(&["ff", "never"]), Form::Text(r"^branch \S+$")]);

    fn parse(text: &str) -> Result<Self, Fault> {
        match text {
            "ff" => Ok(Self::FastForward),
            "never" => Ok(Self::Never),
            _ => match text.strip_prefix("branch ").map(str::trim) {
                Some(name)
                    if !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace) =>
                {
                    Ok(Self::Branch(name.into()))
                }
                _ => Err(Fault::expected::<Self>(text)),
            },
        }
    }
}

single!(MergeInto);
shown!(MergeInto: |merge| match merge {
    MergeInto::FastForward => "ff".to_owned(),
    MergeInto::Never => "never".to_owned(),
    MergeInto::Branch(name) => format!("branch {name}"),
});
