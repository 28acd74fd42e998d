//! The pages of documents for people: which template draws which. A page says what its document says and nothing else.

use minijinja::value::{Serde, Value};
use minijinja::{Error, context};
use serde::Serialize;

use super::style::TextLayout;
use super::templates::{environment, render};
use crate::report::documents::{
    BaselineDocument, GateDocument, InboxDocument, JudgeTestDocument, MetricsDocument, ReviewDocument,
    calibration::CalibrationDocument,
    commands::{
        CleanDocument, CompletionsDocument, ConfigDocument, DeadLettersDocument, ExplainDocument,
        IntakeDocument, KeyDocument, SalvageDocument, ValidatedFile,
    },
    compare::CompareDocument,
    diff::DiffRow,
    doctor::DoctorDocument,
    plan::{PlanDocument, TaskRow},
    replay::ReplayDocument,
    runs::{LeftRuns, RunsDocument},
    show::TaskDocument,
    stats::StatsDocument,
};
use rules::domain::OutcomeClass;

/// A document with a page for people.
pub trait Page: Serialize + Sized {
    /// The template of the page.
    const TEMPLATE: &'static str;

    /// The values of the template.
    fn values(&self) -> Value {
        Serde(self).into()
    }

    /// The page, with a line feed at its end.
    ///
    /// # Errors
    /// When the template does not fit its values: our bug.
    fn human(&self, screen: &TextLayout) -> Result<String, Error> {
        Ok(screen.wrap(&render(screen, Self::TEMPLATE, self.values())?))
    }
}

macro_rules! pages {
    ($($Document:ty => $template:literal;)+) => {
        $(impl Page for $Document { const TEMPLATE: &'static str = include_str!($template); })+
    };
}

pages! {
    CalibrationDocument => "calibrate.txt";
    CleanDocument<'_> => "clean.txt";
    CompareDocument<'_> => "compare.txt";
    ConfigDocument<'_> => "config.txt";
    DoctorDocument<'_> => "doctor.txt";
    ExplainDocument => "explain.txt";
    GateDocument<'_> => "gate.txt";
    InboxDocument<'_> => "inbox.txt";
    IntakeDocument<'_> => "request.txt";
    JudgeTestDocument<'_> => "judge_test.txt";
    KeyDocument<'_> => "schema.txt";
    LeftRuns<'_> => "left.txt";
    MetricsDocument<'_> => "metrics.txt";
    ReplayDocument<'_> => "replay.txt";
    ReviewDocument<'_> => "review.txt";
    RunsDocument<'_> => "runs.txt";
    SalvageDocument<'_> => "salvage.txt";
    StatsDocument<'_> => "stats.txt";
    ValidatedFile<'_> => "validate.txt";
}

impl Page for BaselineDocument<'_> {
    const TEMPLATE: &'static str = include_str!("baseline.txt");

    fn values(&self) -> Value {
        let class = self.class();
        let differs = class == OutcomeClass::BelowThreshold;
        context! { exit => class.exit_code(), differs, ..Serde(self) }
    }
}

impl Page for DeadLettersDocument<'_> {
    const TEMPLATE: &'static str = include_str!("dlq.txt");

    fn values(&self) -> Value {
        context! { args => self.letter.map(|letter| letter.args.to_string()), ..Serde(self) }
    }
}

impl Page for TaskDocument<'_> {
    const TEMPLATE: &'static str = include_str!("show.txt");

    fn values(&self) -> Value {
        let diff = self.task.diff.as_ref();
        context! { change => diff.map(DiffRow::words), files => diff.map(DiffRow::named), ..Serde(self) }
    }
}

impl Page for PlanDocument<'_> {
    const TEMPLATE: &'static str = include_str!("plan/plan.txt");

    fn human(&self, screen: &TextLayout) -> Result<String, Error> {
        let mut tasks: Vec<&TaskRow<'_>> = self.tasks.iter().collect();
        tasks.sort_by_key(|task| task.wave);
        let mut environment = environment(screen)?;
        environment.add_template("words.txt", include_str!("plan/words.txt"))?;
        let task = environment.template_from_str(include_str!("plan/task.txt"))?;
        // One by one: as values they take many times the memory of their text.
        let wave = |tasks: &[&TaskRow<'_>]| {
            let rows: Result<String, Error> = tasks.iter().map(|row| task.render(Serde(row))).collect();
            Ok((tasks[0].wave, Value::from_safe_string(rows?)))
        };
        let waves = tasks.chunk_by(|one, next| one.wave == next.wave).map(wave);
        let rows = waves.collect::<Result<Vec<_>, Error>>()?;
        let page = context! { rows => Serde(rows), total => tasks.len(), ..Serde(self) };
        Ok(screen.wrap(&environment.render_str(Self::TEMPLATE, page)?))
    }
}

impl Page for CompletionsDocument<'_> {
    const TEMPLATE: &'static str = "";

    fn human(&self, _: &TextLayout) -> Result<String, Error> {
        Ok(self.script.to_owned())
    }
}
