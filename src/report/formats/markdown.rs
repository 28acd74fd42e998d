//! A run in Markdown, the worst first, never longer than it may be: for `$GITHUB_STEP_SUMMARY`, merge requests, mails.

use minijinja::value::{Serde, Value};
use minijinja::{Captured, Error, context};
use serde::Serialize;

use rules::mission::char_start;

use super::html::TaskTableRow;
use crate::report::{
    documents::{RunDocument, TaskRow, Wait},
    folds::{
        findings,
        further_stages::{remarks, stage_words},
        rank::Rank,
    },
    screens::{
        style::TextLayout,
        summary::facts,
        templates::{environment, harmless},
    },
};

/// Findings that are shown of one task.
const FINDINGS: usize = 5;

/// Decisions that are named above the table.
const NAMED: usize = 10;

/// Bytes kept for what stands below a list that had to be cut.
const RESERVE: usize = 512;

/// The page. `most` is how many bytes it may have.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn markdown(run: &RunDocument<'_>, most: usize) -> Result<String, Error> {
    let mut environment = environment(&TextLayout::default())?;
    environment.set_formatter(|out, _, value| Ok(out.write_str(&escape(value))?));
    let template = environment.template_from_str(include_str!("markdown.txt"))?;
    let accepted = run.tasks.accepted();
    let asked =
        |wait: &Wait<'_>| (wait.line(), Value::from_safe_string(wait.command.clone().unwrap_or_default()));
    let drawn = template.render_captured(context! {
        standing => run.not_ended(),
        asked => run.asked().take(NAMED).map(asked).collect::<Vec<_>>(),
        missed => run.mission_score.missed_with.is_some(),
        found => accepted.counts.words(),
        severe => Serde(accepted.severe.iter().map(|(title, found)| (title, found.line())).collect::<Vec<_>>()),
        ..facts(run)
    })?;
    let mut page =
        MarkdownPage { text: drawn.output().to_owned(), most: most.saturating_sub(RESERVE), drawn };
    if run.unconfined.is_some() || !run.warnings.is_empty() {
        page.push("above_warnings", run.unconfined)?;
        page.rows("warning", run.warnings.iter(), "warning")?;
    }
    if !run.gates.is_empty() {
        page.push("above_gates", ())?;
        page.rows("gate", run.gates.iter(), "gate")?;
    }
    page.push("above_tasks", ())?;
    page.rows("task", run.tasks.worst_first().map(|task| TaskTableRow::of(&task, false)), "task")?;
    let bad = run.tasks.worst_first().take_while(|task| task.rank <= Rank::BelowBar);
    page.rows("findings", bad.filter_map(|task| findings(&task)), "task with findings")?;
    let looked_at = run.tasks.looked_at_further().map(|task| further(&task));
    page.rows("further", looked_at, "task with further stages")?;
    page.text.truncate(char_start(&page.text, most));
    Ok(page.text)
}

struct MarkdownPage<'t> {
    text: String,
    most: usize,
    /// The template, whose macros draw the parts of the page.
    drawn: Captured<'t>,
}

impl MarkdownPage<'_> {
    fn draw(&mut self, part: &str, values: impl Serialize) -> Result<String, Error> {
        let values = [Serde(values).into()];
        self.drawn.with_state_mut(|state| state.call_macro(part, &values))
    }

    fn push(&mut self, part: &str, values: impl Serialize) -> Result<(), Error> {
        let text = self.draw(part, values)?;
        self.text.push_str(&text);
        Ok(())
    }

    /// As many as fit; the rest is counted.
    fn rows<R: Serialize>(
        &mut self,
        part: &str,
        rows: impl Iterator<Item = R>,
        noun: &str,
    ) -> Result<(), Error> {
        let mut left_out = 0usize;
        for row in rows {
            if left_out == 0 {
                let row = self.draw(part, row)?;
                if self.text.len() + row.len() <= self.most {
                    self.text.push_str(&row);
                    continue;
                }
            }
            left_out += 1;
        }
        if left_out > 0 {
            append_line!(self.text, "\n{left_out} more: {noun}s that did not fit\n");
        }
        Ok(())
    }
}

/// The findings with which the last attempt was sent back.
fn findings(task: &TaskRow<'_>) -> Option<Value> {
    let last = task.rejections.last()?;
    let found = findings::top_lines(task);
    let dimensions = last.dimensions.iter();
    let dimensions =
        dimensions.map(|scored| (&scored.dimension, scored.points.to_string(), &scored.reasoning));
    (!found.is_empty() || !last.dimensions.is_empty()).then(|| {
        context! {
            title => task.title,
            dimensions => Serde(dimensions.collect::<Vec<_>>()),
            found,
        }
    })
}

/// The verdicts of the stages behind the verification, with the findings of those that let the work pass.
fn further(task: &TaskRow<'_>) -> Value {
    let found = remarks(task.scrutiny());
    let lines: Vec<String> =
        task.scrutiny().map(stage_words).chain(found.into_iter().take(FINDINGS)).collect();
    context! { title => task.title, lines }
}

/// Anybody's text on one line, so that Markdown, HTML and tables take it for text.
fn escape(value: &Value) -> String {
    let text = harmless(value);
    if value.is_safe() {
        return text;
    }
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // Somebody else's name must not be called by what an agent wrote.
            '@' => safe.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}
