//! Fits that are stored beside a mission, and judges who are held against what they did then.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::{
    cli::{
        calibration::{PLACE, stored_fits},
        command_error::Failure,
    },
    report::documents::calibration::DriftRow,
    runtime::form_of_request,
};
use rules::{
    domain::{Digest, Points},
    judging::calibration::{
        Drift, EvaluatedJudge, Evaluation, LabelSet, StoredFit, StoredFits, StoredSeat, cases,
    },
    plan::{Plan, dimensions_digest},
};
use supervisor::files::no_links::real_path;
use supervisor::files::replace_file;

/// Stores what judges' scores say of the work, of all judges and panels that are agents. Says where.
pub fn save(
    (plan, folder): (&Plan, &Path),
    measured: &[(&LabelSet, Evaluation)],
    good_from: Points,
) -> Result<PathBuf, Failure> {
    let mut fits: Vec<StoredFit> = Vec::new();
    let mut why = None;
    for (set, evaluation) in measured {
        for entry in &evaluation.entries {
            match stored(plan, set, entry, good_from)? {
                Ok(fit) => fits.push(fit),
                Err(reason) => why = why.or(Some(reason)),
            }
        }
    }
    let what = |fit: &StoredFit| {
        let mut seats: Vec<Digest> = fit.seats.iter().map(|seat| seat.asked_as).collect();
        seats.sort_unstable();
        (seats, fit.consensus, fit.dimensions)
    };
    for (at, fit) in fits.iter().enumerate() {
        if fits[..at].iter().any(|other| what(other) == what(fit) && other.source != fit.source) {
            return Err(usage!("two sets of rows hold for {}: which of them counts?", fit.names())
                .help("keep the rows of one `source`, or give all of them the same one"));
        }
    }
    if let (true, Some(why)) = (fits.is_empty(), why) {
        return Err(usage!("nothing can be stored: {why}"));
    }
    let place = folder.join(PLACE);
    let text = serde_json::to_string_pretty(&StoredFits::new(fits)).map_err(Failure::internal)? + "\n";
    let write = || {
        fs::create_dir_all(place.parent().unwrap_or(folder))?;
        real_path(&place).and_then(|place| replace_file(&place, text.as_bytes()))
    };
    write().map_err(|error| environment!("cannot write {}: {error}", place.display()))?;
    Ok(place)
}

/// The fit of one judge or panel, or why there is none.
fn stored(
    plan: &Plan,
    set: &LabelSet,
    entry: &EvaluatedJudge,
    good_from: Points,
) -> Result<anyhow::Result<StoredFit>, Failure> {
    let mut seats = Vec::new();
    for judge in &entry.seats {
        let name = &set.judges[*judge];
        let Some(agent) = plan.agents.iter().find(|agent| *agent.name == **name) else {
            return Ok(Err(anyhow!("'{name}' is no agent of the mission")));
        };
        let asked_as = agent.spec.seat_digest(form_of_request());
        let asked = set.items.iter().filter_map(|item| item.says.get(*judge)?.as_ref()?.asked);
        let others = asked.filter(|asked| *asked != asked_as).count();
        if others > 0 {
            return Err(usage!(
                "{others} replies of '{name}' are to another request, or of another agent or model of that name"
            )
            .help("ask it again with --reviewers and another --record FILE"));
        }
        seats.push(StoredSeat { agent: name.clone(), asked_as });
    }
    Ok(match entry.fit {
        Err(why) => Err(why.into()),
        Ok(fit) => Ok(StoredFit {
            source: set.name.clone(),
            seats,
            consensus: entry.rule,
            dimensions: dimensions_digest(&set.dimensions),
            good_from,
            fit,
            figures: fit.figures(&entry.cases),
            cases: entry.cases.clone(),
        }),
    })
}

/// Holds judges against what the fits of a file say that they did.
pub fn against(file: &Path, sets: &[LabelSet], seed: u64) -> Result<Vec<DriftRow>, Failure> {
    let mut rows = Vec::new();
    for then in &stored_fits(file)?.fits {
        for set in sets {
            let judge = |seat: &StoredSeat| set.judges.iter().position(|judge| *judge == seat.agent);
            let seats: Option<Vec<usize>> = then.seats.iter().map(judge).collect();
            let is_scored = dimensions_digest(&set.dimensions) == then.dimensions;
            let Some(seats) = seats.filter(|_| is_scored) else {
                continue;
            };
            let now = cases(set, &seats, then.consensus, then.good_from);
            let Some(drift) = Drift::of(&then.fit, &then.cases, &now, seed) else {
                return Err(usage!(
                    "{} and the labels have too few rows in common to tell of {}",
                    file.display(),
                    then.names()
                )
                .help("ask the judges about the rows that the fit comes from"));
            };
            rows.push(DriftRow {
                seats: then.seats.iter().map(|seat| seat.agent.clone()).collect(),
                consensus: then.consensus,
                of: then.cases.len(),
                drift,
            });
        }
    }
    if rows.is_empty() {
        return Err(usage!("{} holds no fit of judges in these labels", file.display())
            .help("the judges have the names of agents, and score what they scored then"));
    }
    Ok(rows)
}
