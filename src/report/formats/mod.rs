//! Reports for other programs and browsers: JUnit, SARIF, code quality, Markdown, annotations, HTML, DOT, Mermaid.
//!
//! | file | what |
//! |---|---|
//! | `annotations` | what GitHub shows beside a job: a few annotations, the worst first |
//! | `code_quality` | GitLab's report of code quality: an issue for each alert |
//! | `html` | a run as one page for a browser: self-contained, without a network |
//! | `junit` | JUnit XML |
//! | `markdown` | a run in Markdown, the worst first, for `$GITHUB_STEP_SUMMARY`, merge requests, mails |
//! | `otlp` | spans as collectors of OpenTelemetry take them |
//! | `plan_graph` | the plan as a drawing: DOT for Graphviz, Mermaid for Markdown |
//! | `sarif` | SARIF 2.1.0: a result for each alert |

pub mod annotations;
pub mod code_quality;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod otlp;
pub mod plan_graph;
pub mod sarif;
#[cfg(test)]
mod tests;
