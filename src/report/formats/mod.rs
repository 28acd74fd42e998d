//! Reports for other programs and browsers: JUnit, Markdown, annotations, HTML, DOT, Mermaid.
//!
//! | file | what |
//! |---|---|
//! | `annotations` | what GitHub shows beside a job: a few annotations, the worst first |
//! | `html` | a run as one page for a browser: self-contained, without a network |
//! | `junit` | JUnit XML |
//! | `markdown` | a run in Markdown, the worst first, for `$GITHUB_STEP_SUMMARY`, merge requests, mails |
//! | `plan_graph` | the plan as a drawing: DOT for Graphviz, Mermaid for Markdown |

pub mod annotations;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod plan_graph;
