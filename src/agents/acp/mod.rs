//! One turn of an agent that speaks the Agent Client Protocol (ACP: JSON-RPC 2.0 in lines, protocol version 1).
//!
//! quorum starts itself as the command of such a turn: `quorum --acp-turn SERVER ARGUMENT…`, the prompt on standard input,
//! [`options::Options`] as JSON in `QUORUM_ACP_TURN`. It starts the server as its child, in its own group, folder and
//! environment (without that variable), runs one prompt, and prints what happens in lines of JSON. The server's standard
//! error is passed on. At the end the server's input is closed, and after 2 s it is killed.
//!
//! | key of the options | value |
//! |---|---|
//! | `permissions` | `read`, `edit` or `full` |
//! | `rules` | null, or `{read, edit, run}`, each `allow`, `ask`, `deny` or `{"allow": [globs]}` of paths in the working folder; then requests go by them alone |
//! | `session` | null, or the session to go on in |
//! | `model` | null, or the model |
//! | `allowed` | null, or the wish that a person has allowed: the first request that is exactly this wish is allowed |
//!
//! | line | when |
//! |---|---|
//! | `{"type":"session","id","resumed"}` | the session is open; without an id where the server can go on in none |
//! | `{"type":"mode","id"}` | the server has taken the mode; the prompt goes out |
//! | `{"type":"tool","name","kind","title","id"}` | a tool is called, once a call; `kind` is the protocol's word, or empty |
//! | `{"type":"tool_end","id","status"}` | it has `completed` or `failed` |
//! | `{"type":"denied","tool","title"}` | a request for a permission was denied |
//! | `{"type":"permission","wish","kind"}` | a person must allow it; the turn is cancelled, exit 0 |
//! | `{"type":"text","text"}` | a message of the agent, in parts of at most 64 KiB |
//! | `{"type":"usage","inputTokens","outputTokens","cacheRead","cacheWrite","cost","sessionCost"}` | once at the end, where anything was told; what was not told is null; with `"partial":true` where more may have been used than is told |
//! | `{"type":"error","message","code","status","kind"}` | the turn failed, exit 1: code of JSON-RPC, status of HTTP, the server's own word, each or null |
//! | `{"type":"end","stopReason":"end_turn"}` | the turn came to its end, exit 0 |
//!
//! Costs are in dollars. Servers tell what the session has cost in all its turns (`sessionCost`); what this turn has cost
//! (`cost`) is null where a session was gone on in whose cost was not told before the prompt.
//!
//! The last of `permission`, `error` and `end` says how the turn ended; after SIGTERM none of them may come, exit 143.
//! Titles, names and ids have at most 1 KiB, messages of errors 8 KiB, wishes 8,000 bytes.
//!
//! | file | what |
//! |---|---|
//! | `failures` | what went wrong, made out of the ways in which servers tell it |
//! | `lines` | what is printed |
//! | `login` | which of the server's ways to log in needs no person |
//! | `modes` | which mode and model a session is set to, and how |
//! | `options` | what the turn is told |
//! | `paths` | which paths a request is about, and whether they lie in the folder |
//! | `permission` | what is done with a request for a permission, and how a person reads it |
//! | `process` | the server as a child process |
//! | `texts` | chunks of messages, joined |
//! | `tools` | tool calls, each told once |
//! | `turn` | the turn as a state machine |
//! | `usage` | tokens and cost |
//! | `wire` | messages of the protocol |

mod failures;
mod lines;
mod login;
mod modes;
mod options;
mod paths;
mod permission;
mod process;
mod texts;
mod tools;
mod turn;
mod usage;
mod wire;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use lines::ServerFailure;
use options::Options;
use paths::{WorkingFolder, follow_links};
use turn::{FAILED, Turn};

/// The first word of a command line that runs a turn.
pub const WORD: &str = "--acp-turn";
/// The environment variable that holds the options.
pub const VARIABLE: &str = "QUORUM_ACP_TURN";
/// The longest prompt, in bytes.
const MAX_PROMPT: u64 = 16 << 20;

/// Runs a turn if this program was started for one, and gives its exit code.
pub fn run_if_asked(words: &[OsString]) -> Option<ExitCode> {
    let server = words.get(2..).filter(|_| words.get(1).is_some_and(|word| word == WORD))?;
    let code = run(server).unwrap_or_else(|failure| {
        // Whoever does not read it sees the exit code.
        let _ = writeln!(io::stdout(), "{}", failure.line());
        FAILED
    });
    Some(ExitCode::from(code))
}

fn run(server: &[OsString]) -> Result<u8, ServerFailure> {
    let options =
        std::env::var(VARIABLE).map_err(|error| ServerFailure::new(format!("{VARIABLE}: {error}")))?;
    let options: Options =
        serde_json::from_str(&options).map_err(|error| ServerFailure::new(format!("{VARIABLE}: {error}")))?;
    let program = server.first().ok_or_else(|| ServerFailure::new(format!("{WORD}: it needs a server")))?;
    let folder = std::env::current_dir().and_then(|folder| folder.canonicalize());
    let folder = folder.map_err(|error| ServerFailure::new(format!("the working folder: {error}")))?;
    if folder.to_str().is_none() {
        return Err(ServerFailure::new(
            "the working folder's name is not UTF-8, and the protocol knows no other",
        ));
    }
    let mut prompt = Vec::new();
    let read = io::stdin().take(MAX_PROMPT + 1).read_to_end(&mut prompt);
    let length = read.map_err(|error| ServerFailure::new(format!("the prompt: {error}")))?;
    if length as u64 > MAX_PROMPT {
        return Err(ServerFailure::new(format!("the prompt has more than {} MiB", MAX_PROMPT >> 20)));
    }
    let prompt = String::from_utf8_lossy(&prompt).into_owned();
    let turn = Turn::new(options, WorkingFolder::new(folder, follow_links), prompt);
    process::run(server, VARIABLE.as_ref(), turn, length)
        .map_err(|error| ServerFailure::new(format!("{}: {error}", program.to_string_lossy())))
}

#[cfg(test)]
mod tests;
