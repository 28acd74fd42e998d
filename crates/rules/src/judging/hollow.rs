//! Work in name only: what an agent says that has done nothing (semantics, section 6, preflight).
//!
//! Only asked where evidence shows that no file was written, and that no tool was called or the work is to write files; where
//! work is evidenced, no word of the agent makes it hollow.

/// Below this many characters an answer without any work says nothing.
const SHORT: usize = 120;

/// Words that say that something was done.
const DONE: [&str; 10] = [
    "done",
    "completed",
    "created",
    "saved",
    "wrote",
    "implemented",
    "fixed",
    "updated",
    "added",
    "finished",
];

/// Words that say that something is still to be done, if nothing says that anything was.
const ANNOUNCED: [&str; 10] = [
    "i will",
    "i'll",
    "let me",
    "i need to",
    "i should",
    "i can",
    "i am going to",
    "i'm going to",
    "still need to",
    "to be done",
];

/// Words that say that it was not done.
const ADMITTED: [&str; 11] = [
    "i could not",
    "i couldn't",
    "i was unable",
    "i am unable",
    "i'm unable",
    "unable to complete",
    "i was not able",
    "i cannot",
    "i can't",
    "unfortunately i",
    "budget exhausted",
];

/// Why an answer stands for no work; `None` if it may be the work itself. Of an agent that can only answer (`only_speaks`) a
/// short answer may be the work, and a long one speaks of more than what is to come.
pub fn hollow(answer: &str, only_speaks: bool) -> Option<&'static str> {
    let length = answer.trim().chars().count();
    if length == 0 || (length < SHORT && !only_speaks) {
        return Some("it did nothing, and says next to nothing");
    }
    if length >= SHORT && only_speaks {
        return None;
    }
    let words = words(answer);
    if has_any(&words, &ADMITTED) {
        return Some("it did nothing, and says that it could not");
    }
    if !has_any(&words, &DONE) && has_any(&words, &ANNOUNCED) {
        return Some("it did nothing, and only says what it will do");
    }
    None
}

/// Lower case, one space between words, nothing else than letters, digits and apostrophes; a space at both ends.
fn words(text: &str) -> String {
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let mut joined = String::from(" ");
    for part in parts.filter(|part| !part.is_empty()) {
        joined.push_str(part);
        joined.push(' ');
    }
    joined
}

fn has_any(words: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| words.contains(&format!(" {phrase} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(text: &str) -> String {
        format!("{text} {}", "and so on ".repeat(15))
    }

    #[test]
    fn a_short_answer_is_hollow() {
        assert!(hollow("", false).is_some());
        assert!(hollow(&"x".repeat(119), false).is_some());
        assert!(hollow(&format!("  {}\n", "ä".repeat(119)), false).is_some());
        assert_eq!(hollow(&"x".repeat(120), false), None);
    }

    #[test]
    fn an_announcement_is_hollow_unless_something_was_done() {
        assert!(hollow(&long("I will create the file"), false).is_some());
        assert!(hollow(&long("I\u{2019}ll create the file"), false).is_some());
        assert_eq!(hollow(&long("I will create the file. Done."), false), None);
        assert_eq!(hollow(&long("We will create the file"), false), None);
        assert_eq!(hollow(&long("remaining work: none"), false), None);
        // Whole words: "abandoned" is not "done".
        assert!(hollow(&long("I will see why it was abandoned"), false).is_some());
    }

    #[test]
    fn of_who_can_only_speak_a_short_answer_may_be_the_work_and_a_long_one_is() {
        assert!(hollow(" ", true).is_some());
        assert!(hollow("I will now implement it.", true).is_some());
        assert_eq!(hollow("fn f() {}", true), None);
        assert_eq!(hollow(&long("Let me know if I can help"), true), None);
    }

    #[test]
    fn an_admission_is_hollow() {
        assert!(hollow(&long("I couldn't do it"), false).is_some());
        assert!(hollow(&long("Unfortunately, I have no access. Done."), false).is_some());
        assert_eq!(hollow(&long("The parser could not be simpler"), false), None);
    }
}
