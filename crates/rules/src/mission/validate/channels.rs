//! Channels: each needs the key that says where it leads, and no other.

use crate::mission::{
    file::{
        codes::Code,
        keys::Named,
        shown_text::quoted,
        violation::{Path, Violation, ViolationPlace, Violations},
    },
    model::Channel,
};

pub fn validate(channels: &Named<Channel>, problems: &mut Violations) {
    for (name, channel) in &channels.0 {
        let at = |key: &'static str| Path::of("channels").key(name.to_string()).key(key);
        let wanted = channel.kind.target_key();
        let given = [
            ("url", channel.url.is_some()),
            ("path", channel.path.is_some()),
            ("run", channel.run.is_some()),
            ("headers", !channel.headers.is_empty()),
        ];
        for (key, is_given) in given {
            let applies = key == wanted || (key == "headers" && wanted == "url");
            if key == wanted && !is_given {
                let message = format!("the channel {} has no `{key}`", quoted(name));
                let problem = Violation::error(Code::MissingKey, at(key), message);
                problems.push(problem.help(format!("add {}", example(key))).unless_wrong(at("type")));
            } else if is_given && !applies {
                let message = format!("`{key}` does not apply to the channel {}", quoted(name));
                let problem = Violation::error(Code::KeyDoesNotApply, ViolationPlace::Key(at(key)), message);
                let help = format!("its type leads to `{wanted}`; remove `{key}`, or write another `type`");
                problems.push(problem.help(help).unless_wrong(at("type")));
            }
        }
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "url" => "`url: ${OPS_WEBHOOK}`, the name of an environment variable with the address",
        "run" => "`run: [\"my-notifier\"]`; it gets the notification on its standard input",
        _ => "`path: notifications.jsonl`",
    }
}
