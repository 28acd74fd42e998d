//! The tables of `stages` and `redTeam`, with the words that they go by.

use super::tables::{FILLED, SPAN};
use super::{Key, Referent, Shape, Table, key, one, reference};
use crate::mission::model::{Autonomy, OnMissing, Stakes};
use crate::mission::scalar::Name;

const AGENT: Shape = reference(Referent::Agent);

pub(super) const AUTONOMY: Key = key(
    "autonomy",
    one::<Autonomy>(),
    "How much agents may decide alone: under locked and supervised, findings of medium severity block too [semi].",
);
pub(super) const STAKES: Key = key(
    "stakes",
    one::<Stakes>(),
    "How much harm wrong work would do: `redTeam.minStakes` goes by it [medium].",
);
pub(super) const RED_TEAM_KEY: Key = key(
    "redTeam",
    Shape::Map(&RED_TEAM),
    "An agent that attacks work before it is accepted; what it finds of critical or high severity sends the work back.",
);

static RED_TEAM: Table = Table {
    name: "a red team",
    keys: &[
        key("agent", AGENT, "Who attacks; never the work of its own.").required(),
        key(
            "minStakes",
            one::<Stakes>(),
            "The least stakes of a task at which it is asked [low].",
        ),
        key(
            "onMissing",
            one::<OnMissing>(),
            "What happens where it has nothing to attack, or may not be asked [block].",
        ),
    ],
};

static STAGE: Table = Table {
    name: "a stage",
    keys: &[
        key(
            "name",
            one::<Name>(),
            "Its name, unique among the stages of a task.",
        )
        .required(),
        key("agent", AGENT, "The agent that judges; never its own work."),
        key("criteria", FILLED, "What the agent is to look at."),
        key(
            "command",
            FILLED,
            "The command that judges: exit 0 passes, any other exit sends the work back with its output.",
        ),
        key("timeout", SPAN, "How long it may take [10m]."),
    ],
};

pub(super) const STAGES: Shape = Shape::List(&Shape::Map(&STAGE));
