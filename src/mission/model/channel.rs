//! Channels: where notifications go, as the file describes them (semantics, section 18).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::domain::Millis;
use crate::mission::environment::Template;
use crate::mission::read;
use crate::mission::scalar::{Filled, words};

use super::CommandLine;

/// Where notifications go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Channel {
    /// `type`: what kind of channel it is.
    #[serde(rename = "type", deserialize_with = "read::or_default")]
    pub kind: ChannelType,
    /// Where messages are posted, `${NAME}` not yet expanded.
    #[serde(deserialize_with = "read::option_as::<Template, _, _>")]
    pub url: Option<String>,
    /// Headers of the request, `${NAME}` not yet expanded.
    #[serde(deserialize_with = "read::templates::<Template, _>")]
    pub headers: BTreeMap<String, String>,
    /// The file that messages are appended to, relative to the mission's folder.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub path: Option<String>,
    /// The command that gets messages.
    #[serde(deserialize_with = "read::or_empty")]
    pub run: Option<CommandLine>,
    /// How long one delivery may take.
    #[serde(deserialize_with = "read::option")]
    pub timeout: Option<Millis>,
}

/// What kind of channel it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChannelType {
    /// A POST of the notification as JSON.
    #[default]
    Webhook,
    /// A POST in the form of Slack's incoming webhooks.
    Slack,
    /// A command with the notification on its standard input.
    Command,
    /// A file that the notification is appended to, one line each.
    File,
    /// A webhook of a service that sends mail.
    Email,
    /// A webhook of a Telegram bot.
    Telegram,
}

words!(ChannelType: "a type of channel",
    "webhook" => Webhook, "slack" => Slack, "command" => Command, "file" => File,
    "email" => Email, "telegram" => Telegram);

impl ChannelType {
    /// The key that says where such a channel leads.
    #[must_use]
    pub fn target_key(self) -> &'static str {
        match self {
            Self::Webhook | Self::Slack | Self::Email | Self::Telegram => "url",
            Self::Command => "run",
            Self::File => "path",
        }
    }
}
