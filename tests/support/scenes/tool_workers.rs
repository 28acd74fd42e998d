//! A worker that is a model behind HTTP, with tools.

use crate::support::Workspace;
use crate::support::model::Model;

/// One task of a model with these tools; `more` goes to the task.
pub fn tool_worker(model: &Model, tools: &str, more: &str) -> Workspace {
    Workspace::with(&format!(
        "
name: tools
settings: {{evaluate: false, maxRetries: 0, maxFixAttempts: 0}}
agents:
  w: {{adapter: openai, model: m, baseUrl: '{}', tools: {tools}}}
tasks: [{{title: work, assignTo: w, {more}}}]
",
        model.base()
    ))
}
