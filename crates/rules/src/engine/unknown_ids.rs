//! Whether the ids that an event names are members of the mission. [`super::apply`] goes by them without asking, and what
//! stands in a journal may have been written by anybody: whoever replays one asks here first.
//!
//! The event is walked as it is written to the journal, so that no event and no field can be forgotten.

use std::fmt::{self, Display};

use serde::ser::{self, Serialize};

use crate::domain::TaskId;
use crate::judging::baseline_checks::items;
use crate::plan::{Plan, migrate_plan};

use super::audit::AuditEvidence;
use super::event::{Event, RunEvent, TurnEvent, WorkEvent};
use super::fact::Fact;
use super::job::{Job, JobEnd};

/// Nothing that a run counts comes near it: attempts, turns, rounds, tries.
const MOST_COUNTED: u64 = 1 << 31;
/// No task has so many checks.
const MOST_CHECKS: u32 = 1 << 16;

/// How many of each there are.
#[derive(Debug, Clone, Copy)]
struct Members {
    tasks: usize,
    agents: usize,
    gates: usize,
    barriers: usize,
}

impl Members {
    fn of(plan: &Plan) -> Self {
        Self {
            tasks: plan.tasks.len(),
            agents: plan.agents.len(),
            gates: plan.gates.len(),
            barriers: plan.barriers.len(),
        }
    }
}

/// An id that is none of the mission's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Stranger(String);

/// Looks at the events of a record, in their order: some of them add members for those that follow.
///
/// # Errors
/// [`Stranger`]
pub fn members_only(plan: &Plan, events: &[Event]) -> Result<(), Stranger> {
    let mut members = Members::of(plan);
    for event in events {
        match event {
            Event::Run(RunEvent::TasksAdded(addition)) => {
                // One that takes the place of a task that left is not one more.
                for added in &addition.tasks {
                    members.tasks += usize::from(added.id.index() == members.tasks);
                }
            }
            Event::Run(RunEvent::MissionChanged(change)) => {
                if let Some(mission) = &change.mission {
                    members = Members::of(&migrate_plan(plan, (**mission).clone()));
                }
            }
            _ => {}
        }
        if let Event::Work(_, WorkEvent::Requested(Job::Check(check))) = event
            && *check >= MOST_CHECKS
        {
            return Err(Stranger(format!("it names check {check} of a task")));
        }
        if let Event::Work(task, WorkEvent::Ended { end, .. }) = event {
            has_checks(plan, *task, end)?;
        }
        walk(members, event, !holds_settings(event))?;
    }
    Ok(())
}

/// Looks at whether what was seen before the work is of checks that the task has.
fn has_checks(plan: &Plan, task: TaskId, end: &JobEnd) -> Result<(), Stranger> {
    let checks = match end {
        JobEnd::Baseline { checks, .. } => checks,
        JobEnd::Looked(looked) => &looked.checks,
        _ => return Ok(()),
    };
    let known = plan.tasks.get(task.index()).map(items).unwrap_or_default();
    let mut strange = checks.iter().filter(|seen| known.iter().all(|item| item.key != seen.key));
    strange.next().map_or(Ok(()), |seen| {
        Err(Stranger(format!("it names a check that task {} does not have: {:?}", task.index(), seen.key)))
    })
}

/// Looks at the fact of a record, for who decides about it again. What a person says may name anything.
///
/// # Errors
/// [`Stranger`]
pub fn fact_of_members(plan: &Plan, fact: &Fact) -> Result<(), Stranger> {
    if matches!(fact, Fact::Operator(_)) {
        return Ok(());
    }
    let counts = !matches!(fact, Fact::Start(_) | Fact::Resume(_) | Fact::TurnEnded(_));
    walk(Members::of(plan), fact, counts)
}

/// Looks at what an audit saw, as it was read back.
///
/// # Errors
/// [`Stranger`]
pub fn evidence_of_members(plan: &Plan, evidence: &AuditEvidence) -> Result<(), Stranger> {
    walk(Members::of(plan), evidence, false)
}

fn walk(members: Members, value: &impl Serialize, counts: bool) -> Result<(), Stranger> {
    value.serialize(&mut Walk { members, kind: None, counts })
}

/// Whether numbers in it are what somebody wrote into a mission or typed, which may be as large as they like.
fn holds_settings(event: &Event) -> bool {
    matches!(event, Event::Run(RunEvent::Started(_) | RunEvent::Resumed(_) | RunEvent::TasksAdded(_)))
        || matches!(event, Event::Turn(_, TurnEvent::Finished(end)) if !end.delegate.is_empty())
}

struct Walk {
    members: Members,
    /// Whether other numbers in the value count something.
    counts: bool,
    /// The kind of id that the next number is; `None` where it is none.
    kind: Option<&'static str>,
}

impl Walk {
    fn number(&mut self, number: u64) -> Result<(), Stranger> {
        let (what, most) = match self.kind.take() {
            Some("TaskId") => ("task", self.members.tasks),
            Some("AgentId") => ("agent", self.members.agents),
            Some("GateId") => ("gate", self.members.gates),
            Some("BarrierId") => ("checkpoint or delay", self.members.barriers),
            _ => return Ok(()),
        };
        if usize::try_from(number).is_ok_and(|number| number < most) {
            Ok(())
        } else {
            Err(Stranger(format!("it names {what} {number} of {most}")))
        }
    }
}

impl ser::Error for Stranger {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Takes values that hold no id.
macro_rules! nothing {
    ($($name:ident($($kind:ty),*))*) => {
        $(fn $name(self, $(_: $kind),*) -> Result<(), Stranger> {
            Ok(())
        })*
    };
}

/// Begins a value whose parts are to come.
macro_rules! begins {
    ($($name:ident($($kind:ty),*))*) => {
        $(fn $name(self, $(_: $kind),*) -> Result<Self, Stranger> {
            Ok(self)
        })*
    };
}

macro_rules! numbers {
    ($($name:ident($kind:ty))*) => {
        $(fn $name(self, number: $kind) -> Result<(), Stranger> {
            self.number(number.into())
        })*
    };
}

impl ser::Serializer for &mut Walk {
    type Ok = ();
    type Error = Stranger;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    nothing! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_f32(f32) serialize_f64(f64) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_unit_struct(&'static str) serialize_none() serialize_unit()
        serialize_unit_variant(&'static str, u32, &'static str)
    }

    begins! {
        serialize_seq(Option<usize>) serialize_tuple(usize) serialize_tuple_struct(&'static str, usize)
        serialize_tuple_variant(&'static str, u32, &'static str, usize) serialize_map(Option<usize>)
        serialize_struct(&'static str, usize)
        serialize_struct_variant(&'static str, u32, &'static str, usize)
    }

    numbers! { serialize_u8(u8) serialize_u16(u16) serialize_u64(u64) }

    fn serialize_u32(self, number: u32) -> Result<(), Stranger> {
        if self.counts && self.kind.is_none() && u64::from(number) >= MOST_COUNTED {
            Err(Stranger(format!("it counts to {number}")))
        } else {
            self.number(number.into())
        }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stranger> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Stranger> {
        self.kind = Some(name);
        let walked = value.serialize(&mut *self);
        self.kind = None;
        walked
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stranger> {
        value.serialize(self)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<(), Stranger> {
        Ok(())
    }
}

/// Takes a value with parts, with or without names.
macro_rules! parts {
    ($($kind:ident $($name:ident($($key:ty)?))+;)*) => {
        $(impl ser::$kind for &mut Walk {
            type Ok = ();
            type Error = Stranger;

            $(fn $name<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Result<(), Stranger> {
                value.serialize(&mut **self)
            })+

            fn end(self) -> Result<(), Stranger> {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq serialize_element();
    SerializeTuple serialize_element();
    SerializeTupleStruct serialize_field();
    SerializeTupleVariant serialize_field();
    SerializeStruct serialize_field(&'static str);
    SerializeStructVariant serialize_field(&'static str);
    SerializeMap serialize_key() serialize_value();
}
