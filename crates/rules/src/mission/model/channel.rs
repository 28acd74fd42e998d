//! Channels: where notifications go, as the file describes them (semantics, section 18).

use std::collections::BTreeMap;

use crate::{
    domain::Millis,
    mission::file::{
        environment::Template,
        keys::{keys, words},
        scalar::Filled,
    },
};

use super::command_line::CommandLine;
use super::words::Sandbox;

keys! {
    /// Where notifications go.
    #[derive(Default)]
    pub struct Channel: "a channel" {
        /// What kind of channel it is; `email` and `telegram` post to a service's webhook.
        "type" kind: ChannelType, required, or("webhook");
        /// Where notifications are posted; ${NAME} is taken from the environment of quorum.
        "url" url: Option<String> as Template;
        /// The file that notifications are appended to, relative to the mission's folder.
        "path" path: Option<String> as Filled;
        /// The command that gets a notification on its standard input.
        "run" run: Option<CommandLine>;
        /// Headers of the request.
        "headers" headers: BTreeMap<String, String> as Template;
        /// Whether its command is confined by the system: it can then change neither the workspace nor the state folder.
        "sandbox" sandbox: Option<Sandbox>, or("auto");
        /// How long one of three tries to deliver may take [=].
        "timeout" timeout: Option<Millis> = "10s";
    }
}

words! {
    /// The kind of a channel.
    #[derive(Default)]
    pub enum ChannelType: "a type of channel" {
        /// A POST of the notification as JSON.
        #[default]
        Webhook = "webhook",
        /// A POST in the form of Slack's incoming webhooks.
        Slack = "slack",
        /// A command with the notification on its standard input.
        Command = "command",
        /// A file that the notification is appended to, one line each.
        File = "file",
        /// A webhook of a service that sends mail.
        Email = "email",
        /// A webhook of a Telegram bot.
        Telegram = "telegram",
    }
}

impl ChannelType {
    /// The key that says where such a channel leads.
    pub fn target_key(self) -> &'static str {
        match self {
            Self::Webhook | Self::Slack | Self::Email | Self::Telegram => "url",
            Self::Command => "run",
            Self::File => "path",
        }
    }
}
