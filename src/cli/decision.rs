//! A person's decisions, as commands and the forms of `quorum serve` give them: what is said about what, checked, and as the command
//! that the run gets.

use crate::report::vocabulary::ids::{parse_approval, parse_request};
use rules::{
    domain::{GateId, HoldOwner, RunId},
    engine::{Command, State},
    mission::suggestion,
    plan::Part,
};

use super::command_error::Failure;

/// A longer answer is a file of the workspace.
const LONGEST_ANSWER: usize = 32 << 10;

/// What a person says about something that waits.
#[derive(Debug, Clone, Copy)]
pub enum SpokenDecision<'a> {
    Approve,
    /// With the reason that the worker is told.
    Reject(&'a str),
    /// With what the agent is told.
    Answer(&'a str),
}

impl SpokenDecision<'_> {
    /// The command that says so.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject(_) => "reject",
            Self::Answer(_) => "answer",
        }
    }

    /// The run that is meant by the id of what waits, and the command that it gets.
    ///
    /// # Errors
    /// When nothing is said, it is too long, or the id is none.
    pub fn about(self, id: &str) -> Result<(RunId, Command), Failure> {
        self.check()?;
        if let (Some((run, task, attempt)), Some(refused)) = (parse_request(id), self.refusal()) {
            return Ok((run, Command::AnswerAcceptance { task, attempt, refused }));
        }
        let Some((run, of, number)) = parse_approval(id) else {
            return Err(usage!("'{id}' is not the id of an approval")
                .help("`quorum inbox` shows what waits for a person, `quorum requests` what was accepted below its bar, with ids"));
        };
        let command = match (self, of) {
            (Self::Approve, _) => Command::approve(of, number),
            (Self::Reject(reason), _) => Command::reject(of, number, reason),
            (Self::Answer(text), HoldOwner::Task(task)) => {
                Command::Answer { task, number, text: text.trim().to_owned() }
            }
            (Self::Answer(_), HoldOwner::Barrier(_)) => {
                return Err(
                    usage!("a checkpoint asks nothing").help("`quorum approve` lets the run go on behind it")
                );
            }
        };
        Ok((run, command))
    }

    fn check(self) -> Result<(), Failure> {
        match self {
            Self::Reject(reason) if reason.trim().is_empty() => {
                Err(usage!("a rejection needs a reason: it is what the worker is told"))
            }
            Self::Answer(text) if text.trim().is_empty() => Err(usage!("the answer is empty")),
            Self::Answer(text) if text.trim().len() > LONGEST_ANSWER => {
                Err(usage!("the answer has more than {LONGEST_ANSWER} bytes")
                    .help("write it to a file of the workspace and say where it is"))
            }
            _ => Ok(()),
        }
    }

    /// What is said about accepted work: that it stays, or why it is refused; `None` where that is no word about it.
    fn refusal(self) -> Option<Option<String>> {
        match self {
            Self::Approve => Some(None),
            Self::Reject(reason) => Some(Some(reason.to_owned())),
            Self::Answer(_) => None,
        }
    }
}

/// The command that lets a gate pass.
///
/// # Errors
/// When no reason is given.
pub fn override_of(gate: GateId, reason: &str) -> Result<Command, Failure> {
    if reason.trim().is_empty() {
        return Err(usage!("an override needs a reason"));
    }
    Ok(Command::OverrideGate { gate, reason: reason.to_owned() })
}

/// The gates of this name, all that are evaluated where none is named.
///
/// # Errors
/// When there is none of them.
pub fn selected_gates(state: &State, name: Option<&str>) -> Result<Vec<GateId>, Failure> {
    let gates: Vec<GateId> = state.plan.gate_ids().collect();
    let name_of = |id: &GateId| state.plan.gate(*id).name.as_ref();
    let is_evaluated = |id: &GateId| state.plan.gate(*id).part == Part::Selected;
    let names: Vec<&str> = gates.iter().map(name_of).collect();
    match name {
        None if names.is_empty() => Err(no_gates()),
        // What the run leaves out will never say anything.
        None => Ok(gates.into_iter().filter(|id| is_evaluated(id) && !state.gate(*id).left).collect()),
        Some(name) => match gates.iter().find(|id| name_of(id) == name) {
            Some(id) if state.gate(*id).left => Err(usage!(
                "gate '{name}' is not evaluated: the verdict of a verification left out all tasks that it waits for"
            )),
            Some(id) if is_evaluated(id) => Ok(vec![*id]),
            Some(_) => Err(usage!(
                "gate '{name}' is not evaluated: this run was told to leave out tasks that it waits for (--only)"
            )),
            None if names.is_empty() => Err(no_gates()),
            None => Err(usage!("there is no gate '{name}'").help(suggestion(
                name,
                names.iter().copied(),
                "the gates of this run are",
            ))),
        },
    }
}

fn no_gates() -> Failure {
    usage!("this run's mission has no gates")
        .help("`quorum schema mission qualityGates` documents how to write one")
}
