//! The table of channels (semantics, section 18).

use super::tables::{COMMAND_LINE, FILLED, SPAN};
use super::{Shape, Table, key, one, one_shape};
use crate::mission::environment::Template;
use crate::mission::model::ChannelType;
use crate::mission::scalar::Name;

pub(super) static CHANNEL: Table = Table {
    name: "a channel",
    keys: &[
        key(
            "type",
            one::<ChannelType>(),
            "What kind of channel it is; `email` and `telegram` post to a service's webhook.",
        )
        .required(),
        key(
            "url",
            one::<Template>(),
            "Where notifications are posted; ${NAME} is taken from the environment of quorum.",
        ),
        key(
            "path",
            FILLED,
            "The file that notifications are appended to, relative to the mission's folder.",
        ),
        key(
            "run",
            COMMAND_LINE,
            "The command that gets a notification on its standard input.",
        ),
        key(
            "headers",
            Shape::Named(&one_shape::<Name>(), &one::<Template>()),
            "Headers of the request.",
        ),
        key(
            "timeout",
            SPAN,
            "How long one of three tries to deliver may take [10s].",
        ),
    ],
};
