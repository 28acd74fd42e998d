//! `quorum stats`: how agents and judges did over all runs of the state folder. Nothing is stored: journals are counted.

use std::thread;

use clap::{Args, ValueEnum};

use crate::{
    cli::{
        args::Trust,
        command_error::Failure,
        project::{all_runs, open_run, state_folder},
        screen::{LiveView, Screen},
    },
    report::{
        documents::stats::{LeftOutRun, StatsDocument},
        folds::track_record::{JudgeCounter, RecordKey, TrackRecord},
    },
    runtime::{RunOrigin, operator_key, vouched},
    store::{Reader, RunFolder},
};
use rules::domain::{Millis, Timestamp};

#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Count only runs that began within this time (12h, 30d)
    #[arg(long, value_name = "DURATION")]
    pub since: Option<Millis>,
    /// Show the figures of these
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = StatsBy::Agent)]
    pub by: StatsBy,
    #[command(flatten)]
    pub trust: Trust,
}

worded! {
    /// The subject of the figures that `quorum stats` shows.
    #[derive(ValueEnum)]
    pub enum StatsBy {
        /// The agents that tasks are assigned to
        Agent = "agent",
        /// The types of tasks
        Type = "type",
        /// The agents that judged
        Judge = "judge",
    }
}

pub fn stats(arguments: &StatsArgs, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let runs = all_runs(&folder)?;
    let since = arguments.since.map(|age| Timestamp(Timestamp::now().0.saturating_sub(age.0)));
    let count = |runs: &[RunFolder]| {
        runs.iter().fold(Counted::default(), |counted, run| counted.with(run, since, arguments))
    };
    // Reading is work for processors, and runs know nothing of each other.
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = runs.len().div_ceil(threads).max(1);
    let counted = thread::scope(|scope| {
        let parts: Vec<_> = runs.chunks(share).map(|runs| scope.spawn(move || count(runs))).collect();
        parts.into_iter().try_fold(Counted::default(), |all, part| part.join().ok().map(|part| all.and(part)))
    });
    let counted = counted.ok_or_else(|| internal!("a run could not be counted"))?;
    let document = match arguments.by {
        StatsBy::Judge => StatsDocument::of_judges(arguments.by.as_str(), &counted.record),
        StatsBy::Agent | StatsBy::Type => StatsDocument::of_work(arguments.by.as_str(), &counted.record),
    };
    screen.show(&document.over(since, counted.runs, &counted.left_out));
    Ok(0)
}

/// What some of the runs came to.
#[derive(Default)]
struct Counted {
    record: TrackRecord,
    runs: usize,
    left_out: Vec<LeftOutRun>,
}

impl Counted {
    /// Counts one more run. What nobody can read, or vouches for, is left out and named.
    fn with(mut self, run: &RunFolder, since: Option<Timestamp>, arguments: &StatsArgs) -> Self {
        let key = operator_key();
        let is_trusted = arguments.trust.trust_origin
            || key.is_none()
            || vouched(run, key.as_ref()).origin == RunOrigin::Verified;
        let counted = if is_trusted {
            count(run, since, arguments.by)
        } else {
            Err(environment!("nobody vouches for it"))
        };
        match counted {
            Ok(Some(record)) => {
                self.record.add(record);
                self.runs += 1;
            }
            Ok(None) => {}
            Err(why) => self.left_out.push(LeftOutRun { run: run.id().clone(), why: why.message() }),
        }
        self
    }

    fn and(mut self, other: Self) -> Self {
        self.record.add(other.record);
        self.runs += other.runs;
        self.left_out.extend(other.left_out);
        self
    }
}

/// Counts one run; `None` where it began before the time that is asked for.
fn count(run: &RunFolder, since: Option<Timestamp>, by: StatsBy) -> Result<Option<TrackRecord>, Failure> {
    // The first record tells whether the others are worth reading; one that cannot be read is told of below.
    let first = Reader::open(&run.journal()).and_then(|mut reader| reader.next_record());
    if let Ok(Some(first)) = first
        && Some(first.at) < since
    {
        return Ok(None);
    }
    let (mut view, mut judges) = (LiveView::default(), JudgeCounter::default());
    let mut record = TrackRecord::default();
    let recovered = open_run(run, |state, told| {
        view.take(state, told);
        if let (StatsBy::Judge, Some(view)) = (by, view.view()) {
            judges.take(&mut record, state, view, told.at, &told.events);
        }
    })?;
    let view = view.into_view(&recovered.state);
    let key = match by {
        StatsBy::Judge => return Ok(Some(record)),
        StatsBy::Agent => RecordKey::Agent,
        StatsBy::Type => RecordKey::Type,
    };
    record.take_tasks(key, &recovered.state, &view);
    Ok(Some(record))
}
