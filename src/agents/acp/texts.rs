//! What the agent says: chunks, joined to messages.

use serde_json::Value;

use rules::mission::char_start;

use super::lines;

/// How long a text may become before it is printed in parts, in bytes.
const MAX_PART: usize = 64 << 10;

/// The message that is being said.
#[derive(Debug, Default)]
pub struct Texts {
    id: Option<String>,
    text: String,
}

/// The text of an `agent_message_chunk`; none where it is no word of the agent's.
pub fn chunk(update: &Value) -> Option<&str> {
    if update["_meta"]["claudeCode"]["kind"] == "informational" {
        return None;
    }
    let text = update["content"]["text"].as_str();
    text.filter(|text| !text.is_empty())
}

impl Texts {
    /// Takes a chunk of the message with this id, if it has one.
    pub fn add(&mut self, id: Option<&str>, text: &str, printed: &mut Vec<Value>) {
        if self.id.as_deref() != id {
            self.end(printed);
            self.id = id.map(|id| lines::cut(id, lines::SHORT_TEXT));
        }
        let mut rest = text;
        while !rest.is_empty() {
            let room = char_start(rest, MAX_PART.saturating_sub(self.text.len()));
            let (part, later) = rest.split_at(room);
            self.text.push_str(part);
            rest = later;
            if !rest.is_empty() || self.text.len() >= MAX_PART {
                self.print(printed);
            }
        }
    }

    /// The message has ended.
    pub fn end(&mut self, printed: &mut Vec<Value>) {
        self.print(printed);
        self.id = None;
    }

    fn print(&mut self, printed: &mut Vec<Value>) {
        if !self.text.is_empty() {
            printed.push(lines::text(&std::mem::take(&mut self.text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_message_are_one_text() {
        let mut printed = Vec::new();
        let mut texts = Texts::default();
        for (id, text) in [(None, "a"), (None, "b"), (Some("1"), "c"), (Some("1"), "d"), (Some("2"), "e")] {
            texts.add(id, text, &mut printed);
        }
        texts.end(&mut printed);
        texts.end(&mut printed);
        assert_eq!(printed, ["ab", "cd", "e"].map(lines::text));
    }

    #[test]
    fn a_long_text_is_printed_in_parts_of_whole_characters() {
        let mut printed = Vec::new();
        let mut texts = Texts::default();
        let long = "€".repeat(50_000);
        texts.add(None, &long, &mut printed);
        texts.end(&mut printed);
        let parts: Vec<&str> = printed.iter().filter_map(|line| line.get("text")?.as_str()).collect();
        assert!(parts.iter().all(|part| part.len() <= MAX_PART));
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.concat(), long);
    }
}
