//! The plan for people: waves from the first to the last, then gates, and how much it can come to.

use minijinja::value::{Serde, Value};
use minijinja::{Error, context};

use super::style::TextLayout;
use super::templates::environment;
use crate::report::documents::plan::{PlanDocument, TaskRow};

/// The page, with a line feed at its end.
///
/// # Errors
/// When a template does not fit its values: our bug.
pub fn human(mut plan: PlanDocument<'_>, screen: &TextLayout) -> Result<String, Error> {
    let mut tasks = std::mem::take(&mut plan.tasks);
    tasks.sort_by_key(|task| task.wave);
    let mut environment = environment(screen)?;
    environment.add_template("words.txt", include_str!("plan/words.txt"))?;
    let task = environment.template_from_str(include_str!("plan/task.txt"))?;
    // One by one: as values they take many times the memory of their text.
    let wave = |tasks: &[TaskRow<'_>]| {
        let rows: Result<String, Error> = tasks.iter().map(|row| task.render(Serde(row))).collect();
        Ok((tasks[0].wave, Value::from_safe_string(rows?)))
    };
    let waves = tasks.chunk_by(|one, next| one.wave == next.wave).map(wave);
    let rows = waves.collect::<Result<Vec<_>, Error>>()?;
    let page = context! { rows => Serde(rows), total => tasks.len(), ..Serde(plan) };
    Ok(screen.wrap(&environment.render_str(include_str!("plan/plan.txt"), page)?))
}
