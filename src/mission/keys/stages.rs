//! The tables of `stages`, `redTeam` and `vision`, with the words that they go by.

use std::num::NonZeroU32;

use super::tables::{FILLED, SPAN};
use super::{Key, Referent, Shape, Table, key, one, reference};
use crate::domain::Severity;
use crate::mission::model::{Autonomy, Color, OnMissing, Stakes, VisionKind};
use crate::mission::scalar::{Fraction, InnerFile, Name};

const AGENT: Shape = reference(Referent::Agent);
const PICTURE: Shape = one::<InnerFile>();
const NUMBER: Shape = one::<u32>();
const COUNT: Shape = one::<NonZeroU32>();

pub(super) const AUTONOMY: Key = key(
    "autonomy",
    one::<Autonomy>(),
    "How much agents may decide alone: under locked and supervised, findings of medium severity block too, and a person agrees to a \
     plan of two tasks or more before its work begins [semi].",
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
            "The command that judges: exit 0 passes, any other exit sends the work back with its output. What a shell ends with \
             where a command cannot run (126, 127, 128 and a signal) is no verdict.",
        ),
        key("timeout", SPAN, "How long it may take [10m]."),
    ],
};

pub(super) const STAGES: Shape = Shape::List(&Shape::Map(&STAGE));

pub(super) const VISION_KEY: Key = key(
    "vision",
    Shape::Map(&VISION),
    "A check of screenshots before work is accepted; what it finds counts like a red team's findings.",
);

static VISION: Table = Table {
    name: "a vision check",
    keys: &[
        key(
            "kind",
            one::<VisionKind>(),
            "How it looks: not at all (noop), by mean colours (heuristic), or by an agent (llm_vision) [noop].",
        ),
        key(
            "agent",
            AGENT,
            "Who looks, for llm_vision: an agent with `vision: true`; never at its own work.",
        ),
        key(
            "screenshots",
            Shape::List(&PICTURE),
            "The pictures, PNG or JPEG, relative to the workspace; without any the check is skipped.",
        ),
        key(
            "expectations",
            Shape::List(&Shape::Either(&[Shape::Map(&EXPECTED), FILLED])),
            "What must be seen: texts for an agent, colours of regions for the heuristic check.",
        ),
        key(
            "tolerance",
            one::<Fraction>(),
            "How far a colour may be off, as a share of the distance from black to white [0.15].",
        ),
    ],
};

static EXPECTED: Table = Table {
    name: "something that a screenshot must show",
    keys: &[
        key("description", FILLED, "What it is, in words."),
        key(
            "color",
            one::<Color>(),
            "The mean colour of the region in the last screenshot, for example \"#1a73e8\".",
        ),
        key("region", Shape::Map(&REGION), "Where [the whole picture]."),
        key(
            "severity",
            one::<Severity>(),
            "How bad it is if it is not so [high].",
        ),
    ],
};

static REGION: Table = Table {
    name: "a region of a picture",
    keys: &[
        key("x", NUMBER, "Pixels from the left [0]."),
        key("y", NUMBER, "Pixels from the top [0]."),
        key("width", COUNT, "Pixels to the right.").required(),
        key("height", COUNT, "Pixels downwards.").required(),
    ],
};
