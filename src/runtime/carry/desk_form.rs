//! What is said at the desk of a run: a command from another machine, and what it has printed so far.

use anyhow::ensure;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::form::FORM;
use crate::store::OperatorKey;
use rules::domain::{RunId, Timestamp};

/// How far the moment of a code may be from now, in milliseconds: clocks of machines differ.
const GOOD_FOR: u64 = 120_000;

/// A command for the desk of a run. The same call asks for more of what it prints.
#[derive(Clone, Serialize, Deserialize)]
pub struct DeskCall {
    /// The words of the command line, with the program's name.
    pub words: Vec<String>,
    /// The person who gives it, where its words do not say.
    pub by: String,
    /// When it was given.
    pub at: Timestamp,
    /// A text that no other command has.
    pub nonce: String,
    /// The operator's code of all of this and of the run.
    pub code: String,
    /// How many bytes of standard output and of errors are known.
    pub read: [u64; 2],
}

/// What a command has printed behind what is known.
#[derive(Serialize, Deserialize)]
pub struct DeskOutput {
    /// The bytes of standard output and of errors.
    pub pieces: [Vec<u8>; 2],
    /// The exit code, once there is nothing more.
    pub exit: Option<i32>,
}

impl DeskCall {
    /// A command of now, under the operator's key.
    pub fn new((run, key): (&RunId, &OperatorKey), words: Vec<String>, by: String) -> Self {
        let mut call = Self {
            words,
            by,
            at: Timestamp::now(),
            nonce: format!("{:032x}", fastrand::u128(..)),
            code: String::new(),
            read: [0; 2],
        };
        call.code = key.code(&call.covered(run));
        call
    }

    /// The text that the code covers: as JSON, in which no part can reach into the next one.
    fn covered(&self, run: &RunId) -> String {
        let covered = json!([run.as_str(), self.words, self.by, self.at.0, self.nonce]);
        format!("desk {FORM}\n{covered}")
    }

    /// Checks the code at a desk that has opened `since`. Whether it was used, the desk knows itself.
    ///
    /// # Errors
    /// Why the command does not begin now.
    pub fn check(&self, run: &RunId, key: &OperatorKey, [since, now]: [Timestamp; 2]) -> anyhow::Result<()> {
        ensure!(
            key.verifies(&self.covered(run), &self.code),
            "the command carries no code of the key of this run's operator"
        );
        ensure!(
            self.at >= since && self.at.0.abs_diff(now.0) <= GOOD_FOR,
            "the code of the command is old, of an earlier session, or the clocks of both machines differ"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_begins_soon_and_as_it_was_signed() {
        let (operator, other) = (OperatorKey::of(&[1; 32]), OperatorKey::of(&[2; 32]));
        let run = RunId::new("r-1").unwrap();
        let words: Vec<String> = ["quorum", "approve", "r-1.0.1"].map(str::to_owned).into();
        let call = DeskCall::new((&run, &operator), words.clone(), "ada".to_owned());
        let next = DeskCall::new((&run, &operator), words, "ada".to_owned());
        assert_ne!(call.nonce, next.nonce);
        let given = call.at;
        let refused = |call: &DeskCall, run: &RunId, key, since, now| {
            let checked = call.check(run, key, [Timestamp(since), Timestamp(now)]);
            checked.map_err(|why| why.to_string()).err().unwrap_or_default()
        };
        let now = |call: &DeskCall, run: &RunId, key| refused(call, run, key, given.0, given.0);
        assert_eq!(now(&call, &run, &operator), "");

        let wrong = "the command carries no code of the key of this run's operator";
        assert_eq!(now(&call, &run, &other), wrong);
        assert_eq!(now(&call, &RunId::new("r-2").unwrap(), &operator), wrong);
        let changes: [fn(&mut DeskCall); 7] = [
            |call| call.by.push('a'),
            |call| call.words.push(String::new()),
            // What one word loses the next one does not gain.
            |call| call.words = vec!["quorum\",\"approve\",\"r-1.0.1".to_owned()],
            |call| call.at.0 += 1,
            |call| call.nonce.push('n'),
            |call| call.code.push('0'),
            |call| call.code.clear(),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut changed = call.clone();
            change(&mut changed);
            assert_eq!(now(&changed, &run, &operator), wrong, "{number}");
        }
        let mut more = call.clone();
        more.read = [7, 1];
        assert_eq!(now(&more, &run, &operator), "", "the same command goes on");

        let at = |since, now| refused(&call, &run, &operator, since, now);
        let (begins, ends) = (given.0 - GOOD_FOR, given.0 + GOOD_FOR);
        assert_eq!([at(0, begins), at(0, ends)], ["", ""]);
        for old in [at(0, begins - 1), at(0, ends + 1), at(given.0 + 1, given.0 + 1)] {
            assert!(old.contains("is old"), "{old}");
        }
    }

    #[test]
    fn what_is_printed_comes_back_byte_by_byte() {
        let output = DeskOutput { pieces: [b"more".into(), Vec::new()], exit: Some(0) };
        let text = serde_json::to_string(&output).unwrap();
        assert_eq!(text, r#"{"pieces":[[109,111,114,101],[]],"exit":0}"#);
        let read: DeskOutput = serde_json::from_str(&text).unwrap();
        assert_eq!((read.pieces, read.exit), (output.pieces, output.exit));
    }
}
