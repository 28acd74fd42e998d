//! `quorum gate`: gates from stored state only. Nothing is run; a person may let a failed gate pass.

use std::time::{Duration, Instant};

use clap::Args;

use crate::{
    cli::{
        args::{OfRun, Trust},
        command_error::Failure,
        confirm::confirm,
        decision::{override_of, selected_gates},
        operator_client::{ActorArgs, Submitted, refuse_agents, submit_command},
        project::{is_run, open_run, trusted_run},
        screen::Screen,
    },
    report::documents::GateDocument,
    store::RunFolder,
};
use rules::{
    domain::{GateId, Millis, OutcomeClass},
    engine::{Command, CommandResult, GateStanding, State, gate_view},
};

/// How often a journal is looked at that others write.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub struct GateArgs {
    /// The gate [default: all]
    #[arg(value_name = "GATE")]
    pub name: Option<String>,
    #[command(flatten)]
    pub of: OfRun,
    #[command(flatten)]
    pub trust: Trust,
    /// Wait until the gate's tasks have ended
    #[arg(long)]
    pub wait: bool,
    /// How long --wait waits at most
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub timeout: Millis,
    /// Let the failed gate pass; recorded, and shown as overridden. `quorum resume` then goes on
    #[arg(long = "override", requires_all = ["name", "reason"])]
    pub let_pass: bool,
    /// Why it may pass
    #[arg(long, value_name = "TEXT", requires = "let_pass")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub actor: ActorArgs,
}

/// The exit class of `quorum gate` for the state of one gate.
fn class(standing: GateStanding) -> OutcomeClass {
    match standing {
        GateStanding::Passed | GateStanding::Overridden | GateStanding::NotTaken => OutcomeClass::Ok,
        GateStanding::Failed => OutcomeClass::GateFailed,
        GateStanding::Waiting => OutcomeClass::Awaiting,
    }
}

pub fn gate(arguments: &GateArgs, screen: &Screen) -> Result<u8, Failure> {
    let (folder, run) = trusted_run(&arguments.of, &arguments.trust, screen)?;
    let mut state = open_run(&run, |_, _| {})?.state;
    let gates = selected_gates(&state, arguments.name.as_deref()).map_err(|failure| {
        let named = arguments.name.as_deref().filter(|name| is_run(&folder, name));
        match named {
            Some(name) => failure.help(format!(
                "{name} is a run: the name of a gate comes before it, or `--run {name}` shows all gates of it"
            )),
            None => failure,
        }
    })?;
    if let (true, Some(reason)) = (arguments.let_pass, &arguments.reason) {
        refuse_agents()?;
        let name = arguments.name.as_deref().unwrap_or_default();
        let command = |gate: &GateId| override_of(*gate, reason);
        let commands: Vec<Command> = gates.iter().map(command).collect::<Result<_, _>>()?;
        let is_shut = gates.iter().any(|id| !state.gate(*id).is_open());
        if is_shut {
            let question = format!("override gate '{name}'? This is recorded.");
            confirm(screen, &question, "add --yes to override it without a question")?;
        }
        for command in commands {
            let met = submit_command(&folder, &run, command, &arguments.actor)?;
            tell_override(screen, met);
        }
        state = open_run(&run, |_, _| {})?.state;
    }
    if arguments.wait {
        state = wait(&run, state, &gates, arguments.timeout)?;
    }
    let document = GateDocument::of(run.id(), &state, &gates);
    screen.show(&document);
    // The worst of them: a failure weighs more than a gate that is not there yet.
    let gates = document.gates.iter();
    let found: Vec<OutcomeClass> = gates.map(|gate| class(gate.state)).collect();
    let worst = OutcomeClass::BY_PRECEDENCE.into_iter().find(|class| found.contains(class));
    Ok(worst.unwrap_or(OutcomeClass::Ok).exit_code())
}

fn tell_override(screen: &Screen, given: Submitted) {
    let said = match given {
        Submitted::Queued => "note: the session does not answer; the override is queued\n",
        Submitted::Decided(CommandResult::TooEarly) => {
            "note: the gate's tasks have not ended; it cannot be overridden yet\n"
        }
        Submitted::Decided(CommandResult::AlreadySo) => {
            "note: the gate is open already; nothing was changed\n"
        }
        _ => return,
    };
    screen.error(said);
}

/// Follows the journal until no gate of these waits any more, or the time is up. Waiting is not working: whoever runs
/// the mission is somebody else.
fn wait(run: &RunFolder, mut state: State, gates: &[GateId], limit: Millis) -> Result<State, Failure> {
    let begin = Instant::now();
    // How long the journal was before it was read: what came while it was read may be missing from the state. Of the
    // state that is given nobody knows.
    let mut read = None;
    let waits = |state: &State, id: &GateId| gate_view(state, *id).standing == GateStanding::Waiting;
    while gates.iter().any(|id| waits(&state, id)) {
        if begin.elapsed() >= limit.as_duration() {
            break;
        }
        std::thread::sleep(LOOK);
        let now = std::fs::metadata(run.journal()).map_or(0, |journal| journal.len());
        if read != Some(now) {
            read = Some(now);
            state = open_run(run, |_, _| {})?.state;
        }
    }
    Ok(state)
}
