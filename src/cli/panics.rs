//! What a bug of ours looks like to a user: exit code 1, words that say whose fault it is, and how the run goes on.

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::sync::{Mutex, PoisonError};

use rules::domain::{OutcomeClass, RunId};

/// The run that this process works on.
static LIVE: Mutex<Option<RunId>> = Mutex::new(None);

/// The variable by which a test asks for a bug.
#[cfg(debug_assertions)]
const VARIABLE: &str = "QUORUM_TEST_PANIC";

/// From now on a panic anywhere ends the process with exit code 1 instead of a signal. The process that holds the
/// children sees that the runner is gone, and looks after them.
pub fn take_charge() {
    std::panic::set_hook(Box::new(|info| {
        // Whoever read us may be gone; there is nobody left to tell.
        let _ = io::stderr().write_all(words(info).as_bytes());
        supervisor::exit_now(i32::from(OutcomeClass::Internal.exit_code()))
    }));
}

/// The process works on a run, or not any more.
pub fn works_on(run: Option<&RunId>) {
    *LIVE.lock().unwrap_or_else(PoisonError::into_inner) = run.cloned();
    #[cfg(debug_assertions)]
    if run.is_some() && std::env::var_os(VARIABLE).is_some() {
        panic!("as {VARIABLE} asks");
    }
}

fn words(info: &PanicHookInfo) -> String {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    let what = text.unwrap_or("no words");
    // Nobody else may wait for it here: the panic may have happened under it.
    let live = LIVE.try_lock().ok().and_then(|run| run.clone());
    let help = match live {
        Some(run) => format!("the state is as of the last record; `quorum resume {run}` goes on from there"),
        None => "nothing else was harmed; the same command may be tried again".to_owned(),
    };
    format!("error: this is a bug of quorum, please report it: {what} ({place})\nhelp: {help}\n")
}
