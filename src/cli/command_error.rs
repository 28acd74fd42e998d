//! Why a command could not do what it was asked: a message, what to do next, an exit code.

use anyhow::anyhow;
use serde_json::Value;

use crate::report::{
    documents::commands::ErrorDocument,
    screens::{command_error as human, style::TextLayout},
};
use rules::{
    domain::OutcomeClass,
    mission::{self, Report},
};

/// A [`Failure`] of something the user typed or wrote, with a message as of `format!`.
macro_rules! usage {
    ($($message:tt)+) => {
        $crate::cli::command_error::Failure::usage(anyhow::anyhow!($($message)+))
    };
}

/// A [`Failure`] of this machine, with a message as of `format!`.
macro_rules! environment {
    ($($message:tt)+) => {
        $crate::cli::command_error::Failure::environment(anyhow::anyhow!($($message)+))
    };
}

/// A [`Failure`] that is our bug or a state I/O error, with a message as of `format!`.
macro_rules! internal {
    ($($message:tt)+) => {
        $crate::cli::command_error::Failure::internal(anyhow::anyhow!($($message)+))
    };
}

/// A command that ends without a result.
#[derive(Debug)]
pub struct Failure {
    class: OutcomeClass,
    error: anyhow::Error,
    help: Option<String>,
    details: Option<String>,
    report: Option<Report>,
    run: Option<Box<Value>>,
}

impl Failure {
    /// Something the user typed or wrote: exit 2, nothing was started.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(OutcomeClass::Usage, error)
    }

    /// A mission that is wrong.
    pub fn mission(report: Report) -> Self {
        Self { report: Some(report), ..Self::new(OutcomeClass::Usage, anyhow!("the mission cannot be run")) }
    }

    /// Something of this machine is missing or in the way: exit 9, before any work.
    pub fn environment(error: impl Into<anyhow::Error>) -> Self {
        Self::new(OutcomeClass::Environment, error)
    }

    /// Our bug or a state I/O error: exit 1.
    pub fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self::new(OutcomeClass::Internal, error)
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the document of the run as far as it was durable.
    #[must_use]
    pub fn with_run(mut self, document: Value) -> Self {
        self.run = Some(Box::new(document));
        self
    }

    /// Whether the failure is our bug or a state I/O error.
    pub fn is_internal(&self) -> bool {
        self.class == OutcomeClass::Internal
    }

    /// Adds lines that show what the failure is about. They come before everything else.
    #[must_use]
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// One of this class.
    pub fn new(class: OutcomeClass, error: impl Into<anyhow::Error>) -> Self {
        Self { class, error: error.into(), help: None, details: None, report: None, run: None }
    }

    /// The error and its causes in one line. Many errors quote their cause themselves: such a cause is not
    /// repeated.
    pub fn message(&self) -> String {
        let mut message = self.error.to_string();
        for cause in self.error.chain().skip(1).map(ToString::to_string) {
            if !message.contains(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        message
    }

    /// The text for standard error.
    pub fn text(&self, diagnostics: mission::DiagnosticStyle, screen: &TextLayout) -> String {
        let mut text = self.details.clone().unwrap_or_default();
        match &self.report {
            Some(report) => {
                text.push_str(&report.render(diagnostics));
                if let Some(help) = &self.help {
                    text.push_str(&human::help(help, screen));
                }
            }
            None => text.push_str(&human::human(&self.message(), self.help.as_deref(), screen)),
        }
        text
    }

    /// The failure as a document.
    pub fn document(&self) -> ErrorDocument<'_> {
        ErrorDocument {
            outcome: self.class.as_str(),
            exit_code: self.class.exit_code(),
            message: self.message(),
            help: self.help.as_deref(),
            details: self.details.as_deref(),
            diagnostics: self.report.as_ref().map(Report::rows),
            run: self.run.as_deref(),
        }
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        self.class.exit_code()
    }
}
