//! What the end of a program means that a preset reads.

use std::fs::File;
use std::io::{self, BufReader};
use std::sync::Arc;

use crate::agents::failure::{CommandFailure, FailedCommand, read_command};
use crate::agents::preset::{OutputReader, PrintedTurn};
use rules::domain::FailureClass;
use rules::mission::model::Preset;
use supervisor::files::if_there;

use super::command::{CommandEnd, GivenUp};

/// The messages of a program on its outputs.
#[derive(Debug)]
pub struct ProgramOutput {
    pub heard: PrintedTurn,
    /// The failure of the program, if there is one, whatever the exit code says.
    pub failure: Option<CommandFailure>,
    /// Whether the session that it was to go on in is not there any more.
    pub lost_session: bool,
}

/// Reads what a program told. Blocks.
///
/// # Errors
/// When its output cannot be read.
pub fn read_program(
    preset: &Arc<Preset>,
    end: &CommandEnd,
    failed: FailedCommand<'_>,
) -> io::Result<ProgramOutput> {
    let given_up = end.outputs().given_up.as_ref();
    let given_up = given_up.filter(|why| **why != GivenUp::Over);
    let mut reading = OutputReader::of(preset.clone());
    if let Some(output) = &end.outputs().stdout {
        // Else it printed nothing.
        if let Some(file) = if_there(File::open(output))? {
            reading.output(BufReader::new(file))?;
        }
    }
    let (_, stderr) = end.last_words();
    reading.standard_error(&stderr);
    let has_failed =
        failed.code != Some(0) || failed.timed_out || reading.error().is_some() || !reading.is_complete();
    let failure =
        (has_failed || given_up.is_some()).then(|| why(preset, &reading, failed, &stderr, given_up));
    let lost = |text: &str| preset.lost_session.iter().any(|known| text.contains(&**known));
    let words = failure.as_ref().map_or("", |failure| failure.reason.as_str());
    Ok(ProgramOutput {
        lost_session: has_failed && (lost(words) || lost(&stderr)),
        heard: reading.heard,
        failure,
    })
}

fn why(
    preset: &Preset,
    reading: &OutputReader,
    failed: FailedCommand<'_>,
    stderr: &str,
    given_up: Option<&GivenUp>,
) -> CommandFailure {
    let error = reading.error().map(|error| error.to_string());
    let told = match given_up {
        // It told what it waits for, and was not waited for.
        Some(GivenUp::Waits { line, waits }) => {
            // The reason may stand above the line.
            let said = format!("{stderr}\n{line}");
            let told = read_command(&FailedCommand { code: Some(1), stderr: &said, stdout: "", ..failed });
            let is_open = matches!(told.class, FailureClass::Unknown | FailureClass::RateLimited);
            match waits {
                // Whatever it waits for, it is there again at that time.
                Some(waits) if is_open => CommandFailure {
                    class: FailureClass::UsageWindow,
                    retry_after: told.retry_after.max(Some(*waits)),
                    ..told
                },
                _ => told,
            }
        }
        _ => read_command(&FailedCommand { stderr, stdout: error.as_deref().unwrap_or_default(), ..failed }),
    };
    let by_rule = preset.errors.iter().find(|rule| {
        let code = rule.code.as_deref().is_none_or(|code| reading.code() == Some(code));
        let text =
            rule.text.as_deref().is_none_or(|text| told.reason.contains(text) || stderr.contains(text));
        let exit =
            rule.exit.is_none_or(|exit| failed.code.is_some_and(|code| i64::from(code) == i64::from(exit)));
        code && text && exit
    });
    let class = by_rule.and_then(|rule| rule.class).filter(|_| !failed.timed_out);
    let is_silent = told.reason.is_empty() && failed.code == Some(0);
    CommandFailure {
        class: class.unwrap_or(told.class),
        reason: match reading.code() {
            _ if !is_silent => told.reason,
            Some(word) => format!("it ended without saying that it is done: {word}"),
            None => "it ended without saying that it is done".to_owned(),
        },
        retry_after: told.retry_after,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::agents::failure::Moment;
    use crate::executor::command::CommandOutputs;
    use rules::mission::preset_of;
    use supervisor::ChildExit;

    /// What was recorded of a real program, as its preset reads it; `None` where nothing was.
    fn recorded(name: &str, mode: &str) -> Option<ProgramOutput> {
        let place = format!("{}/fixtures/agents/{name}/{mode}.recording", env!("CARGO_MANIFEST_DIR"));
        let recording = fs::read_to_string(place).ok()?;
        let (exit, printed) = recording.strip_prefix("exit ")?.split_once("\n--- stdout\n")?;
        let (stdout, stderr) = printed.rsplit_once("--- stderr\n")?;
        let folder = tempfile::tempdir().unwrap();
        let written = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            Some(path)
        };
        let code = exit.parse::<i32>().ok();
        let outputs = CommandOutputs {
            stdout: written("stdout", stdout),
            stderr: written("stderr", stderr),
            limit: u64::MAX,
            ..CommandOutputs::default()
        };
        let exit = ChildExit { code, timed_out: code.is_none(), ..ChildExit::default() };
        let failed = FailedCommand {
            program: name,
            code,
            timed_out: exit.timed_out,
            at: Moment::of_end(&exit),
            ..FailedCommand::default()
        };
        Some(read_program(&preset_of(name), &outputs.end(Ok(exit)), failed).unwrap())
    }

    const NAMES: [&str; 5] = ["claude", "codex", "gemini", "opencode", "qwen"];

    #[test]
    fn each_failure_of_each_program_has_its_class() {
        use FailureClass::*;
        for (mode, class) in [
            ("e401", ProviderAuth),
            ("e402", ProviderSpendLimit),
            ("e429", RateLimited),
            ("quota", ProviderSpendLimit),
            ("e500", ProviderTransient),
            ("ctx", ContextTooLong),
            ("hang", Timeout),
            ("nologin", ProviderAuth),
        ] {
            for name in NAMES {
                let Some(told) = recorded(name, mode) else { panic!("{name} {mode} is not on record") };
                let failure = told.failure.expect("it failed");
                // These wait for ever where nobody can be reached, and opencode for more than a minute.
                let is_killed =
                    matches!((name, mode), ("codex" | "opencode", "nologin") | ("opencode", "quota"));
                let class = if is_killed { Timeout } else { class };
                assert_eq!(failure.class, class, "{name} {mode}: {}", failure.reason);
                assert!(class == Timeout || !failure.reason.is_empty(), "{name} {mode}");
            }
        }
    }

    #[test]
    fn a_limit_of_a_subscription_is_told_with_the_time_at_which_it_resets() {
        for (name, mode) in [("claude", "window-oauth"), ("codex", "window")] {
            let failure = recorded(name, mode).unwrap().failure.expect("it failed");
            assert_eq!(failure.class, FailureClass::UsageWindow, "{name}: {}", failure.reason);
            assert!(failure.retry_after.is_some(), "{name}: {}", failure.reason);
        }
        // With a key of the provider's API there is no such limit.
        assert_eq!(recorded("claude", "window").unwrap().failure.unwrap().class, FailureClass::RateLimited);
    }

    #[test]
    fn what_each_program_said_used_and_was_not_allowed_is_read() {
        for name in NAMES {
            for mode in ["ok", "idle", "denied", "judge"] {
                let told = recorded(name, mode).unwrap();
                assert!(told.failure.is_none(), "{name} {mode}: {:?}", told.failure);
                assert!(told.heard.session.is_some() && !told.lost_session, "{name} {mode}");
                let usage = told.heard.usage;
                assert!(
                    usage.input.is_some_and(|input| input % 100 == 0 && input > 0),
                    "{name} {mode}: {usage:?}"
                );
                let reply = told.heard.structured.is_some() || !told.heard.text.trim().is_empty();
                assert!(reply || (name, mode) == ("opencode", "denied"), "{name} {mode}");
            }
            let ok = recorded(name, "ok").unwrap().heard;
            assert!(ok.calls > 0 && ok.denied.is_empty(), "{name}: {:?}", ok.tools);
            assert!(recorded(name, "badsession").unwrap().lost_session, "{name}");
        }
        assert_eq!(recorded("claude", "denied").unwrap().heard.denied, ["Write"]);
        assert!(recorded("gemini", "denied").unwrap().heard.denied[0].starts_with("Access denied"));
        assert_eq!(recorded("claude", "judge").unwrap().heard.structured.unwrap()["score"], 4);
        // What these count is the whole session.
        for (name, both) in
            [("codex", 400), ("qwen", 400), ("claude", 200), ("gemini", 200), ("opencode", 200)]
        {
            assert_eq!(recorded(name, "resumed").unwrap().heard.usage.input, Some(both), "{name}");
        }
    }
}
