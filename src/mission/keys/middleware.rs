//! The keys of middleware (semantics, section 17).

use super::{Key, Shape, Table, key, one};
use crate::mission::model::{AgentMiddleware, Clarification, CoordinationMiddleware};

static MIDDLEWARE: Table = Table {
    name: "middleware settings",
    keys: &[
        key(
            "agent",
            Shape::List(&one::<AgentMiddleware>()),
            "Around every turn of an agent, in order [all but semantic_drift].",
        ),
        key(
            "coordination",
            Shape::List(&one::<CoordinationMiddleware>()),
            "Around the work on the whole graph, in order [clarification_gate, task_ledger, plan_review_gate, progress_ledger, coordination_replan, authority_deference_coordination].",
        ),
    ],
};

pub(super) const MIDDLEWARE_KEY: Key = key(
    "middleware",
    Shape::Map(&MIDDLEWARE),
    "What is done around every turn of an agent, and around the work on the whole graph.",
);
pub(super) const OWN_MIDDLEWARE: Key = key(
    "middleware",
    Shape::List(&one::<AgentMiddleware>()),
    "What is done around the turns of its agent, instead of what the mission says.",
);
pub(super) const CLARIFICATION: Key = key(
    "clarification",
    one::<Clarification>(),
    "Whether criteria that say nothing that could be judged are warned about or refused [warn].",
);
