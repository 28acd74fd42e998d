//! `quorum explain`: what a diagnostic code means and what to do about it.

use anyhow::anyhow;
use clap::Args;
use serde_json::{Value, json};

use crate::mission::{Code, suggestion};
use crate::report::codes;

use super::failure::Failure;
use super::screen::Screen;

/// Explain a diagnostic code, or list them all
#[derive(Debug, Args)]
#[command(after_help = "Example: quorum explain Q0201")]
pub struct Explain {
    /// The code, as diagnostics print it [default: a list of all codes]
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

/// Prints one code's paragraph, or all codes with a few words each.
pub fn explain(arguments: &Explain, screen: &Screen) -> Result<u8, Failure> {
    match &arguments.code {
        Some(text) => one(find(text)?, screen),
        None => all(screen),
    }
    Ok(0)
}

fn find(text: &str) -> Result<Code, Failure> {
    text.parse().map_err(|error| {
        let help = suggestion(text, Code::ALL.iter().map(|code| code.as_str()), "codes are");
        Failure::usage(anyhow!("{error}")).help(format!("{help} (`quorum explain` lists them all)"))
    })
}

fn one(code: Code, screen: &Screen) {
    if screen.is_json() {
        screen.document(&json!({"schema": "quorum.explain/v1", "codes": [row(code)]}));
    } else {
        screen.result(&codes::one(code, &screen.out()));
    }
}

fn all(screen: &Screen) {
    if screen.is_json() {
        let rows: Vec<Value> = Code::ALL.iter().map(|code| row(*code)).collect();
        screen.document(&json!({"schema": "quorum.explain/v1", "codes": rows}));
    } else {
        screen.result(&codes::all(&screen.out()));
    }
}

fn row(code: Code) -> Value {
    json!({"code": code.as_str(), "summary": code.summary(), "explanation": code.explanation()})
}
