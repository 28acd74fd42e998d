//! `quorum status`: a run as its journal tells it, whether somebody works on it or not.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::from_value;

use crate::{
    cli::{
        args::{OfRun, Trust},
        command_error::Failure,
        project::{open_run, state_folder, vouched_run},
        screen::{FirstPage, LiveView, Screen, lines_of_stdout},
        writer::{at_work, has_writer},
    },
    report::{
        documents::{RunDocument, RunState},
        screens::status::{self as table, StatusPage},
    },
    runtime::{CheckedOrigin, Recovered, operator_key, summary_of_snapshot},
    store::{RunFolder, StateFolder},
};
use rules::{domain::Timestamp, engine::outcome};

/// How often a watched run is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// The time after which the page is drawn anew where nothing happens.
const STILL: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub of: OfRun,
    /// Show it again whenever it changes, until the session ends
    #[arg(short, long)]
    pub watch: bool,
    /// Exit with the run's own code
    #[arg(long)]
    pub exit_code: bool,
    #[command(flatten)]
    pub trust: Trust,
}

pub fn status(arguments: &StatusArgs, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let (run, vouched) = vouched_run(&folder, arguments.of.id())?;
    let wants_more = screen.is_json() || arguments.watch || arguments.exit_code;
    if !wants_more && let Some((page, standing)) = status_page(&folder, &run, vouched) {
        screen.drawn(page.render(standing, Timestamp::now(), &screen.out()));
        return Ok(0);
    }
    let mut recovered = show(&folder, &run, screen, false)?;
    if arguments.watch {
        recovered = watch(&folder, &run, screen, recovered)?;
    }
    if !arguments.exit_code {
        return Ok(0);
    }
    // A session that was waited for has vouched for its end since.
    let origin =
        if arguments.watch { crate::runtime::origin(&run, operator_key().as_ref()) } else { vouched.origin };
    arguments.trust.holds(&run, origin)?;
    Ok(exit_code(&recovered))
}

/// The page that the run's snapshot holds, with what the journal says behind it, and where the run stands. `None` where only a
/// fold tells: of a run that is worked on people want what is, not what was.
fn status_page(
    folder: &StateFolder,
    run: &RunFolder,
    vouched: CheckedOrigin,
) -> Option<(StatusPage, RunState)> {
    // Before the look at the journal: who writes to it then may end while it is read.
    let live = has_writer(folder, run);
    let told = summary_of_snapshot(run, vouched)?;
    let mut page = from_value::<FirstPage>(told.page).ok()?.status;
    let standing = page.run_state(live);
    page.outlived_by(&at_work(&told.left, standing));
    match told.tail {
        Some(_) if standing != RunState::Crashed => return None,
        Some(tail) => page.goes_on(tail),
        None => {}
    }
    Some((page, standing))
}

/// Shows the run each time its journal has grown, until nobody writes to it any more.
fn watch(
    folder: &StateFolder,
    run: &RunFolder,
    screen: &Screen,
    mut recovered: Recovered,
) -> Result<Recovered, Failure> {
    let length = || std::fs::metadata(run.journal()).map_or(0, |journal| journal.len());
    let mut shown = (recovered.end.offset, true);
    let mut since = Instant::now();
    loop {
        // Before the look at the journal: what a writer adds until it lets go is then shown.
        let live = has_writer(folder, run);
        let now = (length(), live);
        // Without a change the times go on all the same.
        if now != shown || (live && since.elapsed() > STILL) {
            (shown, since) = (now, Instant::now());
            recovered = show(folder, run, screen, true)?;
        }
        if !live {
            return Ok(recovered);
        }
        std::thread::sleep(LOOK);
    }
}

/// Folds the journal and prints what it says.
fn show(folder: &StateFolder, run: &RunFolder, screen: &Screen, again: bool) -> Result<Recovered, Failure> {
    let mut view = LiveView::default();
    let recovered = open_run(run, |state, record| view.take(state, record))?;
    let mut view = view.into_view(&recovered.state);
    let standing = RunState::of(&recovered.state, has_writer(folder, run));
    view.at_work = at_work(&recovered.left(), standing);
    let document = RunDocument::of(&recovered.state, &view, standing, view.outcome.as_ref());
    if screen.is_json() {
        screen.run(&document);
    } else {
        let lines = if again { lines_of_stdout() } else { None };
        let text = table::status_within(&document, Timestamp::now(), &screen.out(), lines);
        screen.drawn(if again { text.map(|text| table::frame(&text, &screen.out())) } else { text });
    }
    Ok(recovered)
}

/// The run's own code. A run without an end has none yet: it is resumable, and never a success.
fn exit_code(recovered: &Recovered) -> u8 {
    match recovered.finished {
        Some(_) => outcome(&recovered.state).class.exit_code(),
        None => rules::domain::OutcomeClass::Awaiting.exit_code(),
    }
}
