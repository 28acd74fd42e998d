//! Presets: what they name is there, and stays where it belongs.

use crate::mission::{
    file::{
        codes::Code,
        keys::Named,
        shown_text::quoted,
        violation::{Path, ViolationPlace, Violations},
    },
    model::Preset,
};

pub fn validate(presets: &Named<Preset>, problems: &mut Violations) {
    for (name, preset) in &presets.0 {
        let at = |key: &'static str| Path::of("presets").key(name.to_string()).key(key);
        let mut add = |place, message, help| {
            problems.refuse(Code::BadValue, place, message, help);
        };
        if preset.argv.first().is_none_or(|word| word.trim().is_empty()) {
            let help = "name the program first: `argv: [\"program\", \"argument\"]`";
            let message = format!("the preset {} starts nothing", quoted(name));
            add(ViolationPlace::Value(at("argv")), message, help);
        }
        let words = preset.argv.len();
        if preset.resume_at.is_some_and(|at| at == 0 || at as usize > words) {
            let message = format!("`argv` has {words} words, and `resumeAt` names none of them");
            let help = "count from 1: `resumeAt: 2` is behind the second word";
            add(ViolationPlace::Value(at("resumeAt")), message, help);
        }
        for file in preset.files.keys().filter(|file| !is_plain(file)) {
            let help = "write letters, digits, `.`, `-` and `_` only: it lies in the state folder";
            let message = format!("{} is no name of a file", quoted(file));
            add(ViolationPlace::Key(at("files").key(file.clone())), message, help);
        }
        let [read, edit, full] = [&preset.read, &preset.edit, &preset.full].map(|grant| &grant.env);
        let granted =
            [("read", read), ("edit", edit), ("full", full)].map(|(key, env)| (at(key).key("env"), env));
        for (place, env) in granted.into_iter().chain([(at("env"), &preset.env)]) {
            for (variable, text) in env {
                let named = text.split("{file:").skip(1).filter_map(|rest| rest.split('}').next());
                for file in named.filter(|file| !preset.files.contains_key(*file)) {
                    let message = format!("the preset has no file {}", quoted(file));
                    let place = ViolationPlace::Value(place.clone().key(variable.clone()));
                    add(place, message, "add it to `files`, or write another name");
                }
            }
        }
    }
}

/// A name that leads nowhere else.
fn is_plain(name: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.chars().all(is_known) && name.starts_with(|first| first != '.')
}
