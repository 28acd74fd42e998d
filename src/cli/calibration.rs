//! Bars that labelled work gives to panels: read from `settings.calibration.file` when a run begins, and frozen into its
//! options. Nothing reads the file again: an agent that edits it changes nothing.

use std::path::Path;

use crate::runtime::form_of_request;
use rules::{
    domain::{BarOrigin, Digest, Points},
    judging::calibration::{StoredFit, StoredFits},
    mission::model::Mission,
    plan::{CalibratedBar, Calibration, Plan, RunOptions},
};
use supervisor::files::no_links::real_path;
use supervisor::files::read_regular;

use super::command_error::Failure;

/// Where fits are stored, beside a mission.
pub const PLACE: &str = ".quorum/calibration.json";
/// The largest file of fits that is read, in bytes.
const LARGEST: u64 = 32 << 20;

/// The fits of a file.
pub fn stored_fits(path: &Path) -> Result<StoredFits, Failure> {
    let place = path.display();
    let read = real_path(path).and_then(|path| read_regular(&path, LARGEST));
    let bytes = read.map_err(|error| usage!("{place}: {error}").help(HELP))?;
    let text = String::from_utf8(bytes).map_err(|_| usage!("{place}: it is not UTF-8").help(HELP))?;
    StoredFits::read(&text).map_err(|why| usage!("{place}:{why}").help(HELP))
}

const HELP: &str = "`quorum calibrate LABELS --save` writes the file anew";

/// Reads the bars that the mission asks for into the options.
pub fn freeze(mission: &Mission, options: &mut RunOptions) -> Result<(), Failure> {
    let settings = &mission.settings.calibration;
    options.calibration = None;
    let Some(file) = settings.file.as_deref() else {
        return match options.max_false_pass {
            None => Ok(()),
            Some(_) => Err(usage!("--max-false-pass holds for nothing: no file of fits is named")
                .help(format!("write `settings: {{calibration: {{file: {PLACE}}}}}`"))),
        };
    };
    let max_false_pass = options.max_false_pass.unwrap_or_else(|| settings.max_false_pass().points());
    let refer_share = settings.refer_share().points();
    let stored = stored_fits(&options.mission_folder.join(file))?;
    let bar = |stored: &StoredFit| bar(stored, max_false_pass, refer_share);
    let bars = stored.fits.iter().map(bar).collect();
    options.calibration = Some(
        Calibration { file: file.to_owned(), max_false_pass, refer_share, request: form_of_request(), bars }
            .into(),
    );
    Ok(())
}

fn bar(stored: &StoredFit, max_false_pass: Points, refer_share: Points) -> CalibratedBar {
    let share = |points: Points| points.to_f64() / 100.0;
    let bar = stored.fit.bar(&stored.cases, share(max_false_pass));
    let mut seats: Vec<Digest> = stored.seats.iter().map(|seat| seat.asked_as).collect();
    seats.sort_unstable();
    CalibratedBar {
        seats,
        consensus: stored.consensus,
        dimensions: stored.dimensions,
        refer: bar.and_then(|bar| stored.fit.band(&stored.cases, bar, share(refer_share))),
        bar,
    }
}

/// A plan of which at least one review has its bar from the fits that it asks for.
pub fn applies(plan: Plan) -> Result<Plan, Failure> {
    let settings = &plan.rules.settings;
    let is_told = settings.eval_threshold.origin == BarOrigin::Flag || !settings.evaluate;
    let Some(calibration) = plan.rules.calibration.clone().filter(|_| !is_told) else {
        return Ok(plan);
    };
    let panels = || plan.task_ids().filter_map(|id| plan.task(id).panel());
    if panels().any(|panel| panel.calibrated.is_some()) {
        return Ok(plan);
    }
    let why =
        plan.task_ids().find_map(|id| Some(format!("'{}': {}", plan.title(id), plan.not_calibrated(id)?)));
    let why = why.unwrap_or_else(|| "no task is judged by a panel without a threshold of its own".to_owned());
    Err(usage!("no fit of {} holds for this mission: {why}", calibration.file).help(
        "calibrate these judges: `quorum calibrate LABELS --save`; or take `calibration` out of the settings",
    ))
}

/// Whether a run that goes on keeps the bars that it began with under a changed mission.
pub fn is_kept(mission: &Mission, options: &RunOptions) -> Result<(), Failure> {
    let settings = &mission.settings.calibration;
    let Some(file) = settings.file.as_deref() else {
        return Ok(());
    };
    let began = options.calibration.as_ref();
    let cap = options.max_false_pass.unwrap_or_else(|| settings.max_false_pass().points());
    let asked = (file, cap, settings.refer_share().points());
    let is_same = |began: &Calibration| (&*began.file, began.max_false_pass, began.refer_share) == asked;
    if began.is_some_and(|began| is_same(began)) {
        return Ok(());
    }
    Err(usage!("the changed mission asks for bars by `calibration` that the run did not start with")
        .help("start a new run with `quorum run`"))
}
