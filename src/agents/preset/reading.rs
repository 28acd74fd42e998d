//! What the program of an agent prints, read by the rules of its preset: bounded, and lenient to whatever else stands there.

use std::io::{self, BufRead, Read};
use std::str::FromStr;
use std::sync::Arc;

use rust_decimal::Decimal;
use serde::Serialize;
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use crate::agents::failure::{MOST_OBJECTS, objects};
use crate::agents::tools::brief;
use rules::mission::model::{Field, OutputFormat, Preset, Rule, RuleChange, RuleOperation};

/// A longer line is noise, in bytes.
const LONGEST_LINE: u64 = 8 * 1024 * 1024;
/// How much of a message is kept, in bytes.
const LONGEST_TEXT: usize = 1024 * 1024;
/// How many names of tools are kept, and of what was denied.
const MOST_NAMES: usize = 1_000;
/// Places of a line that is no JSON at which an event may begin that are looked at.
const MOST_EVENTS: usize = 20;
/// How much of a name or of a denial is kept, in characters.
const LONGEST_NAME: usize = 200;

/// The usage of a turn, as its program tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PresetUsage {
    /// The tokens that were read.
    pub input: Option<u64>,
    /// The tokens that were written.
    pub output: Option<u64>,
    /// The cost in US dollars.
    pub cost: Option<Decimal>,
}

/// A call of a tool, as far as the event tells that names it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Called {
    pub tool: String,
    /// The arguments of the call, cut.
    pub arguments: Value,
    /// The exit code of a command that has ended.
    pub exit: Option<i64>,
}

impl Called {
    fn of(tool: &str, event: &Value) -> Self {
        let call = event.get("state").unwrap_or(event);
        let keys = ["input", "parameters", "arguments", "command", "changes", "title"];
        let given = keys.into_iter().find_map(|key| Some((key, call.get(key)?)));
        Self {
            tool: short(tool),
            arguments: match given {
                Some((_, given @ Value::Object(_))) => brief(given),
                Some((key, given)) => brief(&json!({key: given})),
                None => Value::Null,
            },
            exit: call["exit_code"].as_i64().or(call["metadata"]["exit"].as_i64()),
        }
    }
}

/// The values about a turn that its program printed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PrintedTurn {
    pub session: Option<String>,
    pub model: Option<String>,
    /// The last message of the program.
    pub text: String,
    /// A reply that is held to a schema.
    pub structured: Option<Value>,
    /// Where the preset says so, from the beginning of its session.
    pub usage: PresetUsage,
    /// How many tools it called.
    pub calls: u32,
    /// The tool calls in the order in which they came.
    pub tools: Vec<Called>,
    /// The calls that were denied.
    pub denied: Vec<String>,
    /// The call that a person is asked to allow.
    pub wish: Option<String>,
    /// The time for which the program waits before it asks its provider again, in milliseconds.
    pub waits: Option<u64>,
    resets_at: Option<Value>,
    error: Option<String>,
    status: Option<Value>,
    code: Option<String>,
    /// Whether the program said that it ended as it should, and nothing else since.
    ended: bool,
    /// The program's word for the limit at which its last message is cut.
    cut: Option<String>,
    /// Whether the program said that nothing more is to come.
    over: bool,
}

/// Reads what a program prints, line by line.
#[derive(Debug)]
pub struct OutputReader {
    preset: Arc<Preset>,
    pub heard: PrintedTurn,
}

impl OutputReader {
    pub fn of(preset: Arc<Preset>) -> Self {
        Self { preset, heard: PrintedTurn::default() }
    }

    /// Reads all of an output. Of a text its end is kept.
    ///
    /// # Errors
    /// What the file system says.
    pub fn output(&mut self, mut output: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            let is_whole = line.ends_with(b"\n") || (read as u64) < LONGEST_LINE;
            if is_whole || self.preset.format == OutputFormat::Text {
                self.line(&line);
            } else {
                skip_line(&mut output)?;
            }
        }
    }

    /// Reads a line. What is no JSON object is noise, unless the program prints its reply as it is.
    pub fn line(&mut self, line: &[u8]) {
        match self.preset.format {
            OutputFormat::Text => {
                let text = String::from_utf8_lossy(line);
                if !self.preset.rules.is_empty() {
                    self.event(&json!({"line": text.trim()}));
                }
                self.heard.text.push_str(&text);
                keep_end(&mut self.heard.text);
            }
            OutputFormat::Jsonl => match serde_json::from_slice::<Value>(line.trim_ascii()) {
                Ok(Value::Array(events)) => events.iter().for_each(|event| self.event(event)),
                Ok(event) => self.event(&event),
                // A notice, a byte order mark or a control sequence may stand beside an event.
                Err(_) => {
                    let text = String::from_utf8_lossy(line);
                    objects(&text, MOST_EVENTS).for_each(|(event, _)| self.event(&event));
                }
            },
        }
    }

    /// Reads what stands in standard error, where the preset has rules for it and the output told neither of a good end nor
    /// of the status of an error: objects stand in lines of prose there.
    pub fn standard_error(&mut self, text: &str) {
        let preset = self.preset.clone();
        let rules = &preset.stderr_rules;
        if rules.is_empty() || self.heard.status.is_some() || self.heard.ended {
            return;
        }
        for (object, _) in objects(text, MOST_OBJECTS) {
            self.heard.event(&object, rules);
        }
    }

    fn event(&mut self, event: &Value) {
        let rules = self.preset.clone();
        self.heard.event(event, &rules.rules);
    }

    /// The time for which the program waits, as a line of standard error tells it, in milliseconds.
    pub fn waits_in(&self, line: &str) -> Option<u64> {
        let (_, behind) = self.preset.waits.iter().find_map(|text| line.split_once(&**text))?;
        let digits = behind.trim_start().split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    }

    /// Whether so many failed requests are more than are waited for.
    pub fn is_too_much_trouble(&self, count: u32) -> bool {
        self.preset.max_troubles.is_some_and(|most| count > most)
    }

    /// The message about a failed request in a line of standard error: the string of JSON that the preset's
    /// text begins, else the whole line. `None` where the line tells of none.
    pub fn trouble_in<'l>(&self, line: &'l str) -> Option<&'l str> {
        let (text, behind) = self.preset.troubles.iter().find_map(|text| {
            let (_, behind) = line.split_once(&**text)?;
            Some((text, behind))
        })?;
        Some(if text.ends_with(": \"") {
            behind.trim_end().trim_end_matches(',').trim_end_matches('"')
        } else {
            line
        })
    }

    /// The error that a failed turn tells of, as providers write theirs: one line of JSON. `None` where it tells of none. A
    /// turn whose last message is cut has failed.
    pub fn error(&self) -> Option<Value> {
        let heard = &self.heard;
        let message = match (heard.error.as_deref(), &heard.cut) {
            (Some(message), _) => message,
            (None, Some(word)) => &format!("its reply was cut short ({word})"),
            (None, None) => return None,
        };
        // What a program says behind it is its own advice.
        let line = message.lines().map(str::trim).find(|line| !line.is_empty());
        let code = heard.code.as_deref().unwrap_or("without a reason");
        let line = line.map_or_else(|| format!("it says that it failed: {code}"), str::to_owned);
        Some(json!({"error": {
            "message": line,
            "status": heard.status,
            "code": heard.code,
            "resetsAt": heard.resets_at,
        }}))
    }

    /// The code of the error.
    pub fn code(&self) -> Option<&str> {
        self.heard.code.as_deref()
    }

    /// Whether the program says that nothing more is to come: an output that is the reply may always go on.
    pub fn is_over(&self) -> bool {
        self.preset.format == OutputFormat::Jsonl && (self.heard.over || self.heard.ended)
    }

    /// Whether the program ended as its preset says that a turn ends.
    pub fn is_complete(&self) -> bool {
        self.preset.complete.is_none_or(|field| match field {
            Field::Session => self.heard.session.is_some(),
            Field::Text => !self.heard.text.trim().is_empty(),
            _ => self.heard.ended,
        })
    }
}

impl PrintedTurn {
    fn event(&mut self, event: &Value, rules: &[Rule]) {
        for rule in rules.iter().filter(|rule| fits(event, rule)) {
            for setting in &rule.set {
                self.set(event, setting);
            }
        }
    }

    fn set(&mut self, event: &Value, setting: &RuleChange) {
        let (operation, field) = (setting.operation, setting.field);
        if operation == RuleOperation::Clear {
            self.clear(field);
            return;
        }
        let found = found(event, &setting.pointer);
        if field == Field::Err {
            // An error is one without words, too, and what ended well before it did not end.
            self.error.get_or_insert_default();
            self.ended = false;
        }
        if operation == RuleOperation::Replace && !found.is_empty() {
            self.clear(field);
        }
        for (around, value) in found {
            self.take(field, operation == RuleOperation::Add, value, around);
        }
    }

    /// Forgets what is a text or a list; all else is replaced when it is told.
    fn clear(&mut self, field: Field) {
        match field {
            Field::Text => self.text.clear(),
            Field::Tool => {
                self.tools.clear();
                self.calls = 0;
            }
            Field::Denied => self.denied.clear(),
            Field::Ended => (self.ended, self.over) = (false, false),
            Field::Cut => self.cut = None,
            _ => {}
        }
    }

    fn take(&mut self, field: Field, adds: bool, value: &Value, around: &Value) {
        let text = || match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        match field {
            Field::Session => self.session = Some(short(&text())),
            Field::Model => self.model = Some(short(&text())),
            Field::Text => {
                self.text.push_str(&text());
                keep_end(&mut self.text);
            }
            Field::Structured => self.structured = Some(value.clone()),
            Field::In => count(&mut self.usage.input, value, adds),
            Field::Out => count(&mut self.usage.output, value, adds),
            Field::Cost => {
                let told = value.is_number().then(|| decimal(&value.to_string())).flatten();
                let before = self.usage.cost.filter(|_| adds).unwrap_or_default();
                self.usage.cost = told.and_then(|told| before.checked_add(told)).or(self.usage.cost);
            }
            Field::Tool => {
                self.calls = self.calls.saturating_add(1);
                keep(&mut self.tools, Called::of(&text(), around));
            }
            Field::Denied => keep(&mut self.denied, short(&text())),
            Field::Wish => self.wish = Some(text()),
            Field::ResetsAt => self.resets_at = Some(value.clone()),
            Field::Waits => self.waits = value.as_u64(),
            Field::Err => {
                let mut text = text();
                keep_end(&mut text);
                self.error = Some(text);
            }
            Field::ErrStatus => self.status = Some(value.clone()),
            Field::ErrCode => self.code = Some(short(&text())),
            Field::Ended => {
                // What it met on the way, it got over.
                (self.error, self.status, self.code) = (None, None, None);
                self.ended = true;
            }
            Field::Cut => self.cut = Some(short(&text())),
            Field::Over => self.over = true,
        }
    }
}

/// Goes behind the end of a line that is too long.
fn skip_line(output: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = output.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let read = end.map_or(buffer.len(), |end| end + 1);
        output.consume(read);
        if end.is_some() {
            return Ok(());
        }
    }
}

/// Cuts a text that is too long at its beginning: what an agent says last is its reply.
fn keep_end(text: &mut String) {
    if text.len() > LONGEST_TEXT {
        let mut at = text.len() - LONGEST_TEXT;
        while !text.is_char_boundary(at) {
            at += 1;
        }
        text.drain(..at);
    }
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

fn keep<T>(all: &mut Vec<T>, one: T) {
    if all.len() < MOST_NAMES {
        all.push(one);
    }
}

fn count(total: &mut Option<u64>, value: &Value, adds: bool) {
    if let Some(told) = value.as_u64() {
        let before = total.filter(|_| adds).unwrap_or_default();
        *total = Some(before.saturating_add(told));
    }
}

fn decimal(text: &str) -> Option<Decimal> {
    Decimal::from_str(text).or_else(|_| Decimal::from_scientific(text)).ok()
}

/// Whether an event is one of those that a rule is for.
fn fits(event: &Value, rule: &Rule) -> bool {
    rule.when.0.iter().all(|(pointer, wanted)| {
        let value = event.pointer(pointer).filter(|value| !value.is_null());
        let text = match value {
            Some(Value::String(text)) => text,
            Some(value) => &value.to_string(),
            None => return wanted.split('|').any(|wanted| wanted == "absent"),
        };
        wanted.split('|').any(|wanted| wanted == "present" || is_like(text, wanted))
    })
}

/// Whether a text is one of a pattern, in which `*` is any text.
fn is_like(text: &str, pattern: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else {
        return text == pattern;
    };
    let Some(mut left) = text.strip_prefix(begin) else {
        return false;
    };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match left.split_once(part) {
            Some((_, behind)) => left = behind,
            None => return false,
        }
    }
    left.ends_with(end)
}

/// The values that a pointer leads to, each behind the value that it stands in; `*` is each item of a list. A
/// value that is null or not there gives nothing.
fn found<'v>(event: &'v Value, pointer: &str) -> Vec<(&'v Value, &'v Value)> {
    let mut all = vec![(event, event)];
    for part in pointer.split('/').skip(1) {
        all = match part {
            "*" => all
                .iter()
                .filter_map(|(_, list)| Some((*list, list.as_array()?)))
                .flat_map(|(list, items)| items.iter().map(move |item| (list, item)))
                .collect(),
            name => {
                let name = name.replace("~1", "/").replace("~0", "~");
                let below = |(_, value): (&'v Value, &'v Value)| {
                    let inner = match value {
                        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
                        value => value.get(&name),
                    };
                    Some((value, inner?))
                };
                all.into_iter().filter_map(below).collect()
            }
        };
    }
    all.retain(|(_, value)| !value.is_null());
    all
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;
    use rules::mission::preset_of;

    const NAMES: [&str; 6] = ["claude", "codex", "gemini", "opencode", "qwen", "acp"];

    fn read(name: &str, output: impl Read) -> PrintedTurn {
        let mut reading = OutputReader::of(preset_of(name));
        reading.output(BufReader::new(output)).unwrap();
        reading.heard
    }

    #[test]
    fn keys_come_in_any_order_and_what_is_not_known_is_ignored() {
        let lines = concat!(
            "\u{feff}not json\n{\"type\":\"unknown\",\"deep\":{\"er\":[1]}}\n[]\nnull\n7\n\"text\"\n",
            "{\"result\":\"done\",\"usage\":{\"output_tokens\":2,\"input_tokens\":3},\"is_error\":false,\"type\":\"result\"}\n",
            "{\"type\":\"result\",\"res",
        );
        let heard = read("claude", Cursor::new(lines));
        assert_eq!((heard.text.as_str(), heard.usage.input, heard.usage.output), ("done", Some(3), Some(2)));
    }

    /// Events of a stream that never seems to end, and one line that is too long in the middle of it.
    struct Endless {
        left: u64,
        line: &'static [u8],
        at: usize,
    }

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
            for byte in &mut buffer[..most] {
                *byte = self.line[self.at];
                self.at = (self.at + 1) % self.line.len();
            }
            self.left -= most as u64;
            Ok(most)
        }
    }

    #[test]
    fn a_hundred_megabytes_are_read_in_bounded_memory() {
        let events = Endless {
            left: 20_000_000,
            line: b"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"0123456789\"}\n{\"type\":\"tool_use\",\"tool_name\":\"t\"}\n",
            at: 0,
        };
        let line = Endless { left: 80_000_000, line: b"x", at: 0 };
        let last = Cursor::new("\n{\"type\":\"result\",\"stats\":{\"input_tokens\":1}}\n");
        let heard = read("gemini", events.chain(line).chain(last));
        assert!(heard.text.len() <= LONGEST_TEXT && heard.tools.len() == MOST_NAMES);
        assert_eq!(heard.usage.input, Some(1), "what stands behind it is read");
    }

    proptest! {
        #[test]
        fn any_output_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000), which in 0..NAMES.len()) {
            let mut reading = OutputReader::of(preset_of(NAMES[which]));
            reading.output(Cursor::new(&bytes)).unwrap();
            reading.standard_error(&String::from_utf8_lossy(&bytes));
            let _ = (reading.error(), reading.is_complete());
        }

        /// What a real program printed, with bytes changed and cut off.
        #[test]
        fn what_was_recorded_may_be_torn_anywhere(at in any::<prop::sample::Index>(), byte in any::<u8>(), which in 0..5_usize) {
            let place = format!("{}/fixtures/agents/{}/ok.recording", env!("CARGO_MANIFEST_DIR"), NAMES[which]);
            let mut bytes = std::fs::read(place).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let whole = read(NAMES[which], Cursor::new(&bytes));
            let torn = read(NAMES[which], Cursor::new(&bytes[..at]));
            prop_assert!(torn.calls <= whole.calls + 1);
        }
    }
}
