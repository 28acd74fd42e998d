//! A writer to a terminal that shows what would move the cursor, turn the reading direction or stay unseen.

use std::io::{self, Write};

/// How a character that a terminal must not get is written instead.
pub type Escape = fn(char, &mut String);

/// Passes text on. Bytes that are no text are shown as U+FFFD.
pub struct Harmless<W> {
    out: W,
    escape: Escape,
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
    /// A carriage return, of which only the next character tells whether it ends a line.
    returned: bool,
}

impl<W: Write> Harmless<W> {
    /// Writes to `out`, with harmful characters escaped by `escape`.
    pub fn new(out: W, escape: Escape) -> Self {
        Self { out, escape, begun: Vec::new(), returned: false }
    }

    fn put(&mut self, text: &str, into: &mut String) {
        for c in text.chars() {
            // What goes back to overwrite its line begins a new one.
            if std::mem::take(&mut self.returned) && c != '\n' {
                into.push('\n');
            }
            match c {
                '\r' => self.returned = true,
                '\n' | '\t' => into.push(c),
                c => (self.escape)(c, into),
            }
        }
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut shown = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.put(chunk.valid(), &mut shown);
            let broken = chunk.invalid();
            let may_go_on = chunks.peek().is_none()
                && std::str::from_utf8(broken).is_err_and(|error| error.error_len().is_none());
            if may_go_on {
                self.begun = broken.to_vec();
            } else if !broken.is_empty() {
                self.put("\u{fffd}", &mut shown);
            }
        }
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{escape, escape_json};

    /// What comes out, however the bytes are cut.
    fn shown(bytes: &[u8], how: Escape) -> String {
        let mut whole = Vec::new();
        Harmless::new(&mut whole, how).write_all(bytes).unwrap();
        let mut piecewise = Vec::new();
        let mut writer = Harmless::new(&mut piecewise, how);
        bytes.iter().for_each(|byte| writer.write_all(&[*byte]).unwrap());
        assert_eq!(whole, piecewise);
        String::from_utf8(whole).unwrap()
    }

    #[test]
    fn what_a_terminal_would_act_on_is_shown() {
        for (written, seen) in [
            ("größe 日本\n\tplain", "größe 日本\n\tplain"),
            ("a\u{9b}31mb\u{202e}c\u{e0041}d\u{1}e", r"a\u{9b}31mb\u{202e}c\u{e0041}d\u{1}e"),
            ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ] {
            assert_eq!(shown(written.as_bytes(), escape), seen);
        }
        assert_eq!(shown(b"a\xff\xe2\x82", escape), "a\u{fffd}");
    }

    #[test]
    fn a_document_stays_the_same_document() {
        let value = serde_json::json!({"text": "a\u{9b}\u{202e}b\u{e0041}c"});
        let text = serde_json::to_string(&value).unwrap();
        let escaped = shown(text.as_bytes(), escape_json);
        assert!(escaped.is_ascii(), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
