//! The line of a prompt that tells the time: the one part of what a reviewer is asked that is never the same twice.

use std::borrow::Cow;

use super::Timestamp;

const BEFORE: &str = "Now it is ";
const AFTER: &str = " (UTC). Look out for content that is out of date.";
const SOME_TIME: &str = "Now it is some time (UTC). Look out for content that is out of date.";

/// The line, without a line feed.
pub fn date_line(now: Timestamp) -> String {
    format!("{BEFORE}{}{AFTER}", now.to_rfc3339())
}

/// `text` without the times in such lines, so that two prompts that differ in nothing else are the same.
pub fn undated(text: &str) -> Cow<'_, str> {
    if !text.contains(AFTER) {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(|line| {
        let is_date_line = line.starts_with(BEFORE) && line.ends_with(AFTER);
        if is_date_line { SOME_TIME } else { line }
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_does_not_count() {
        let prompt = |now, rest: &str| format!("# The task\n\n{}\n\n{rest}\n", date_line(Timestamp(now)));
        let (first, second) = (prompt(1_795_298_340_000, "same"), prompt(1_795_298_999_000, "same"));
        assert_ne!(first, second);
        assert_eq!(undated(&first), undated(&second));
        assert_ne!(undated(&first), undated(&prompt(1_795_298_340_000, "other")));
        assert_eq!(undated("Now it is late."), "Now it is late.");
    }
}
