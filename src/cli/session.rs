//! What sessions have in common: the supervisor, programs and credentials, the session itself.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::{
    agents::{
        cassette::{Cassette, CassetteError},
        transport::Network,
    },
    runtime::{
        AgentBackends, Ending, EnvironmentProblem, Keeping, Observer, ReadBefore, Session, SessionSetup,
        begin_worktrees, hide, not_hidden, settings_files,
    },
    store::{FsLog, Journal, OperatorKey, RunFolder},
};
use rules::{
    domain::{RunId, Timestamp},
    engine::{Fact, State, SupervisorRef, agents_needed},
    plan::{Confinement, Plan, RunOptions},
};
use supervisor::Tier;

use super::command_error::Failure;
use super::event_loop::block_on;
use super::panics;
use super::project::current_dir;

/// The time for the trial whether a process can be confined.
const CONFINEMENT_WITHIN: Duration = Duration::from_secs(10);

/// The supervisor of a command that was known to need one before its line was read.
static FORKED: Mutex<Option<io::Result<supervisor::Handle>>> = Mutex::new(None);

/// Starts the supervisor of a command whose line is about to be read, where its name says that it has work done. Each process
/// begins with a copy of what the supervisor holds in memory, and whoever reads a command line leaves much there.
pub fn fork_early(words: &[OsString]) {
    if words.get(1).is_some_and(|name| name == "run" || name == "resume" || name == "merge") {
        *crate::locked(&FORKED) = Some(supervisor::fork(false));
    }
}

/// Starts the supervisor, if it was not started already. Must come before anything opens a thread, a lock or a large mission.
pub fn fork_supervisor() -> Result<supervisor::Handle, Failure> {
    let forked = crate::locked(&FORKED).take();
    begun(forked.unwrap_or_else(|| supervisor::fork(false)))
}

/// The supervisor that was begun, or why there is none.
pub fn begun(forked: io::Result<supervisor::Handle>) -> Result<supervisor::Handle, Failure> {
    forked.map_err(|error| {
        environment!("cannot start the supervisor, the process that owns all agents: {error}")
    })
}

/// The supervisor as the journal remembers it.
pub fn supervisor_ref(supervisor: &supervisor::Handle) -> SupervisorRef {
    let identity = supervisor.identity();
    SupervisorRef {
        pid: identity.pid,
        start_time: identity.start_time,
        boot_id: identity.boot_id.clone(),
        farewell: supervisor.farewell().map(str::to_owned),
    }
}

/// Programs and credentials of all agents, or everything that is missing. A run may add to what it recorded before, and to
/// no other recording.
pub fn resolve_programs(state: &State, options: &RunOptions, run: &RunId) -> Result<AgentBackends, Failure> {
    let offline = options.offline;
    AgentBackends::resolve(&state.plan, agents_needed(state), &options.mission_folder, network(options, run)?)
        .map_err(|problems| {
            let list: Vec<String> = problems.iter().map(EnvironmentProblem::to_string).collect();
            let failure = environment!(list.join("\n       "));
            failure.help(if offline {
                "nothing was started; `--offline --record DIR` takes models' replies from a recording that \
             `quorum run --record DIR` made"
            } else {
                "nothing was started; install what is missing or correct the agents, then run again"
            })
        })
}

/// The use that the session may make of the network.
fn network(options: &RunOptions, run: &RunId) -> Result<Network, Failure> {
    let Some(folder) = &options.record else {
        return Ok(if options.offline { Network::Offline(None) } else { Network::Open });
    };
    let opened = if options.offline {
        Cassette::open(folder).map(|cassette| Network::Offline(Some(Arc::new(cassette))))
    } else {
        Cassette::record_into(folder, run).map(|cassette| Network::Recording(Arc::new(cassette)))
    };
    opened.map_err(|error| {
        let help = match &error {
            CassetteError::Taken(_) => {
                "name another folder, or remove this one; `--offline` would work from the recording"
            }
            CassetteError::Nothing(_) => "`quorum run --record DIR` makes one",
            CassetteError::Unknown { .. } | CassetteError::Io { .. } => {
                "record again into another folder with `quorum run --record DIR`"
            }
        };
        Failure::environment(error).help(help)
    })
}

/// A ceiling on the cost needs the price of every model that may be called, whoever sets it.
pub fn refuse_unpriced(state: &State) -> Result<(), Failure> {
    let plan = &state.plan;
    if plan.rules.budget.max_cost.is_none() {
        return Ok(());
    }
    let unpriced = agents_needed(state);
    let unpriced = unpriced.into_iter().filter_map(|id| Some((id, plan.unpriced_model(id)?)));
    let list: Vec<String> = unpriced
        .map(|(id, model)| format!("the model '{model}' of the agent '{}' has no price", plan.agent_name(id)))
        .collect();
    if list.is_empty() {
        return Ok(());
    }
    Err(usage!("what the run may cost is limited, and {}", list.join("; "))
        .help("add it to `settings.prices`, or set no `--max-cost`; `quorum explain Q0308` says more"))
}

/// Whether processes can be confined here, and by what.
pub fn can_be_confined(supervisor: &mut supervisor::Handle) -> Result<Tier, Failure> {
    let tried = supervisor.try_confinement(CONFINEMENT_WITHIN);
    tried.map_err(|error| internal!("the supervisor: {error}"))
}

/// Why no process can be confined here, where the plan wants any to be; `None` where each can be.
///
/// # Errors
/// Where the mission, or `--strict`, does not let it go on unconfined, or with hidden checks that workers may see.
pub fn try_confinement(
    supervisor: &mut supervisor::Handle,
    state: &State,
    options: &RunOptions,
) -> Result<Option<String>, Failure> {
    let refused = confinement_refused(supervisor, &state.plan, options)?;
    match not_hidden(state, options, refused.is_some()).as_slice() {
        shown if options.strict && !shown.is_empty() => {
            let failure = environment!("`--strict`, and {}", shown.join("; "));
            Err(failure.help("nothing was started; hide that, or leave out `--strict`"))
        }
        _ => Ok(refused),
    }
}

fn confinement_refused(
    supervisor: &mut supervisor::Handle,
    plan: &Plan,
    options: &RunOptions,
) -> Result<Option<String>, Failure> {
    if plan.confinements().all(Confinement::is_off) {
        return Ok(None);
    }
    let refused = can_be_confined(supervisor)?.refused();
    match (&refused, Confinement::required_by(plan.confinements(), options.strict)) {
        (Some(why), Some(by)) => {
            let failure = environment!("{by}, and agents cannot be confined here: {why}");
            Err(failure.help(
                "nothing was started; let the system make user namespaces (`quorum doctor` says more), or write `sandbox: off`",
            ))
        }
        _ => Ok(refused),
    }
}

/// Makes the mission's workspace, if it is not there.
pub fn make_workspace(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path)
        .map_err(|error| environment!("cannot make the workspace {}: {error}", path.display()))
}

/// One session, on a runtime of its own.
pub fn run_session(
    folder: &RunFolder,
    state: State,
    journal: Journal<FsLog>,
    keeping: Keeping,
    programs: AgentBackends,
    observers: Vec<Box<dyn Observer>>,
    (first, begins, mission, refused): (Fact, Option<Timestamp>, Option<PathBuf>, Option<String>),
) -> Result<Ending, Failure> {
    let run = folder.id().clone();
    let mut state = state;
    let settings = settings_files(&current_dir()?).into_iter().map(|file| file.path).collect();
    let read = ReadBefore { mission, settings };
    let options = state.options_of(&first).clone();
    hide(&mut state, &options, &read, refused.is_some());
    begin_worktrees(folder, &mut state).map_err(Failure::environment)?;
    panics::works_on(Some(&run));
    let ending = block_on(async {
        let supervisor =
            keeping.supervisor.into_async().map_err(|error| internal!("the supervisor: {error}"))?;
        let setup = SessionSetup {
            folder: folder.clone(),
            state,
            journal,
            supervisor,
            programs,
            adopted: keeping.adopted,
            read,
            observers,
            // Without a key the run can be worked on all the same; its readers say that nobody vouches for it.
            key: OperatorKey::existing_or_new().ok(),
            begins,
            refused,
        };
        Session::new(setup).run(first).await.map_err(|error| {
            let failure = if error.is_of_environment() {
                Failure::environment(error)
            } else {
                Failure::internal(error)
            };
            failure.help(if folder.never_began() {
                "nothing was started; see to that, then run the mission again".to_owned()
            } else {
                format!("the state is as of the last record; `quorum resume {run}` goes on from there")
            })
        })
    });
    panics::works_on(None);
    ending.map_err(Failure::internal)?
}
