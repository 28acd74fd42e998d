//! What makes judging less strict than it would be, and where each of it is said: the run tells it, because a file of
//! settings that somebody planted, or a variable that nobody remembers, must not be what makes a run green (semantics,
//! sections 8 and 22).

use super::run_options::RunOptions;
use crate::{
    domain::{Bar, BarOrigin},
    mission::{
        file::strictness_source::Loosening,
        model::{
            AgentChain, AgentMiddleware, BUILT_IN_RUBRICS, CoordinationChain, CoordinationMiddleware,
            FinalChecks, Mission, Settings,
        },
    },
};

/// Said of every run that does not want to know.
pub const NO_FINAL_CHECKS: &str = "nobody looks whether accepted work still stands at the end";
const NO_BASELINES: &str = "nobody looks what checks say before the work";

/// All that does, of files, variables and flags.
pub(crate) fn loosened(mission: &Mission, options: &RunOptions) -> Vec<Loosening> {
    let settings = &mission.settings;
    let mut found = Vec::new();
    let evaluate = by_file(mission, "evaluate", String::new());
    found.extend(off(mission, options, evaluate));
    found.extend(lowered(settings.eval_threshold, options, |what| by_file(mission, "evalThreshold", what)));
    let mut switch = |is_loose: bool, key: &str, what: &str| {
        found.extend(is_loose.then(|| by_file(mission, key, what.to_owned())).flatten());
    };
    switch(
        settings.fail_open_on_unparsed_eval == Some(true),
        "failOpenOnUnparsedEval",
        "an evaluation that cannot be read passes",
    );
    switch(
        settings.verify_prior_feedback == Some(false),
        "verifyPriorFeedback",
        "judges need not answer for what was found before",
    );
    switch(settings.final_checks == Some(FinalChecks::Never), "finalChecks", NO_FINAL_CHECKS);
    switch(settings.baseline == Some(false), "baseline", NO_BASELINES);
    let bars = "the bars of panels come from labelled work";
    switch(settings.calibration.file.is_some(), "calibration", bars);
    for name in BUILT_IN_RUBRICS {
        switch(
            mission.rubrics.0.iter().any(|(own, _)| **own == *name),
            &format!("rubrics.{name}"),
            &format!("work is graded by another rubric than the built-in '{name}'"),
        );
    }
    let usual = Settings::default();
    let beyond = |globs: &[Box<str>], usual: &[Box<str>]| -> String {
        let beyond = globs.iter().filter(|glob| !usual.contains(glob));
        beyond.map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
    };
    let more = settings.checks_may_write.as_deref();
    let more = beyond(more.unwrap_or_default(), &usual.checks_may_write());
    switch(!more.is_empty(), "checksMayWrite", &format!("checks may write below protected folders: {more}"));
    let tests = "what is taken for a test is said elsewhere";
    switch(settings.tests.is_some(), "tests", tests);
    let fewer = beyond(&usual.scratch(), &settings.scratch());
    switch(!fewer.is_empty(), "scratch", &format!("checks use caches that turns leave: {fewer}"));
    found.extend(unguarded(mission));
    found.extend(options.said_by.allow.as_ref().map(|variable| {
        let classes: Vec<&str> = options.allow.iter().map(|class| class.as_str()).collect();
        Loosening {
            what: format!("not counted for the exit code: {}", classes.join(", ")),
            place: variable.clone(),
            is_beneath: true,
            is_off: false,
        }
    }));
    found
}

/// The effect of a key of a settings or mission file, with its place; `None` where no file has the key.
fn by_file(mission: &Mission, key: &str, what: String) -> Option<Loosening> {
    let mut files = mission.written.iter().enumerate();
    let (index, place) = files.find_map(|(index, file)| Some((index, file.place(key)?)))?;
    Some(Loosening { what, place, is_beneath: index > 0, is_off: false })
}

/// Chains of middleware that leave out what guards.
fn unguarded(mission: &Mission) -> impl Iterator<Item = Loosening> {
    let chains = &mission.settings.middleware;
    let no_plan = |chain: &CoordinationChain| !chain.has(CoordinationMiddleware::PlanReviewGate);
    let no_plan = chains.coordination.as_ref().is_some_and(no_plan);
    let no_plan = no_plan.then_some("no person is asked to agree to the plan");
    let left_out = |chain: &AgentChain| {
        let usual: Vec<AgentMiddleware> =
            AgentChain::default().iter().filter(|entry| !chain.has(*entry)).collect();
        usual.into_iter().filter_map(AgentMiddleware::guards)
    };
    let agent = chains.agent.iter().flat_map(left_out);
    let unguarded = no_plan.into_iter().chain(agent);
    let unguarded = unguarded.filter_map(|what| by_file(mission, "middleware", what.to_owned()));
    // A mission that leaves them out has said so itself.
    unguarded.filter(|loosening| loosening.is_beneath)
}

/// Reviews that are switched off.
fn off(mission: &Mission, options: &RunOptions, by_file: Option<Loosening>) -> Option<Loosening> {
    let found = if options.no_eval {
        let place = options.said_by.no_eval.clone();
        let place = place.unwrap_or_else(|| "--no-eval or EVAL=off".to_owned());
        Loosening { is_beneath: !place.starts_with("--"), place, what: String::new(), is_off: true }
    } else if mission.settings.evaluate == Some(false) {
        by_file?
    } else {
        return None;
    };
    Some(Loosening { what: "reviews are switched off".to_owned(), is_off: true, ..found })
}

/// A bar that is lower than the one that would hold without what is said.
fn lowered(
    of_files: Option<Bar>,
    options: &RunOptions,
    by_file: impl Fn(String) -> Option<Loosening>,
) -> Option<Loosening> {
    let what = |bar: Bar, instead: Bar| {
        (bar.points < instead.points)
            .then(|| format!("the bar of evaluations is {} instead of {}", bar.points, instead.points))
    };
    let usual = Bar::default_bar();
    match options.eval_threshold {
        Some(bar) if bar.origin == BarOrigin::Environment => Some(Loosening {
            what: what(bar, of_files.unwrap_or(usual))?,
            place: options.said_by.eval_threshold.clone().unwrap_or_else(|| "EVAL_THRESHOLD".to_owned()),
            is_beneath: true,
            is_off: false,
        }),
        Some(_) => None,
        None => by_file(what(of_files?, usual)?),
    }
}
