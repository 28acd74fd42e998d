//! Whether the process that held a run's agents ended in order.
//!
//! What people say counts only where no agent can say it. As long as a run's supervisor lives, every process that an agent
//! started is below it and is recognised; when it ends in order, none is left. One that was killed leaves processes that
//! belong to nobody any more, and one of these could speak for a person. So until a `resume` has ended what is left and made
//! a new supervisor, no command is taken (semantics, section 5; `docs/design/architecture.md`, People and agents).

use crate::store::RunFolder;
use rules::domain::RunId;
use rules::engine::{Command, Fact, SupervisorRef};
use supervisor::{ExitsLog, ProcessIdentity};

use super::recover::Recovered;

/// Why no command is taken for a run.
#[derive(Debug, thiserror::Error)]
pub enum NoWord {
    /// The supervisor of the run's last session was killed.
    #[error("{}", unsupervised(.0))]
    Unsupervised(RunId),
    /// Something that was left behind by a session whose supervisor was killed still lives.
    #[error("{}", left_alive(*.0))]
    LeftAlive(u32),
}

/// A supervisor of the run, and whether the session that it served has put its end on record.
pub type Served = (SupervisorRef, bool);

/// As processes are recognised.
pub fn identity(supervisor: &SupervisorRef) -> ProcessIdentity {
    ProcessIdentity {
        pid: supervisor.pid,
        start_time: supervisor.start_time,
        boot_id: supervisor.boot_id.clone(),
    }
}

/// Whether a supervisor of this boot is gone without its farewell.
fn was_killed((supervisor, finished): &Served, exits: &ExitsLog) -> bool {
    let identity = identity(supervisor);
    // Nothing lives on in another boot.
    if supervisor.pid == 0 || !supervisor::is_this_boot(&supervisor.boot_id) || supervisor::alive(&identity) {
        return false;
    }
    match &supervisor.farewell {
        Some(promised) => !exits.said_farewell(&identity, promised),
        // Of a version that promised none: its session ended the supervisor when it ended.
        None => !finished,
    }
}

/// The supervisors of the run that were killed, and of which something may still live; the last session's is the last.
pub fn killed(run: &RunFolder, recovered: &Recovered) -> Vec<ProcessIdentity> {
    let last = (recovered.supervisor().clone(), recovered.finished.is_some());
    let all = recovered.supervisors_before.iter().chain([&last]);
    // Where the record cannot be read, no farewell was said.
    let exits = supervisor::read_exits(&run.exits()).unwrap_or_default();
    let killed = all.filter(|served| was_killed(served, &exits));
    killed.map(|(supervisor, _)| identity(supervisor)).collect()
}

/// All supervisors that the run ever had.
pub fn supervisors(recovered: &Recovered) -> Vec<ProcessIdentity> {
    let before = recovered.supervisors_before.iter().map(|(supervisor, _)| supervisor);
    before.chain([recovered.supervisor()]).map(identity).collect()
}

/// Whether what a person says may be put down for a run without a session.
///
/// # Errors
/// [`NoWord`]
pub fn allows(run: &RunFolder, recovered: &Recovered, inputs: &[Fact]) -> Result<(), NoWord> {
    let is_word = |input: &Fact| matches!(input, Fact::Operator(said) if said.command.is_a_persons_word());
    if !inputs.iter().any(is_word) {
        return Ok(());
    }
    let killed = killed(run, recovered);
    if killed.last() == Some(&identity(recovered.supervisor())) {
        return Err(NoWord::Unsupervised(run.id().clone()));
    }
    let at_terminal = || supervisor::is_at_terminal(std::process::id());
    match supervisor::something_left_of(&killed) {
        Some(pid) if !at_terminal() => Err(NoWord::LeftAlive(pid)),
        _ => Ok(()),
    }
}

/// Why a word is not taken by the live session of a run of whose earlier supervisors these were killed; `None` where it is.
pub fn refusal(killed: &[ProcessIdentity], command: &Command, proven: bool) -> Option<String> {
    if proven || !command.is_a_persons_word() {
        return None;
    }
    supervisor::something_left_of(killed)
        .map(|pid| format!("{}; say it at a terminal, or with QUORUM_OPERATOR_KEY", left_alive(pid)))
}

/// The problem as long as a process lives on.
pub fn left_alive(pid: u32) -> String {
    format!(
        "process {pid}, which an earlier session's agents started, still lives and could speak for a person"
    )
}

/// The problem of a run whose last supervisor was killed.
fn unsupervised(run: &RunId) -> String {
    format!(
        "the process that held the agents of run '{run}' was killed, and what they started may live on: nobody's word is \
         taken until the run is resumed"
    )
}
