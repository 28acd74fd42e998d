//! Messages between us and the server: newline-delimited JSON-RPC 2.0, cut out of bytes, read leniently.

use serde_json::{Value, json};

use crate::agents::failure::objects;

use super::lines::{LONG_TEXT, cut};

/// The longest line of a server that is read, in bytes.
pub const MAX_LINE: usize = 8 << 20;
/// JSON-RPC: there is no such method.
const METHOD_NOT_FOUND: i64 = -32601;

/// A line of more than [`MAX_LINE`] bytes, of which nothing was kept.
#[derive(Debug, PartialEq)]
pub struct TooLong;

/// Cuts lines out of what arrives in pieces. It holds at most [`MAX_LINE`] bytes and one piece more.
#[derive(Debug, Default)]
pub struct Splitter {
    bytes: Vec<u8>,
    /// The number of bytes at the beginning that have no end of a line.
    searched: usize,
}

impl Splitter {
    /// Takes what has arrived. To be followed by [`Self::next_line`] until that has none.
    pub fn extend(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
    }

    /// The next whole line without its end.
    ///
    /// # Errors
    ///
    /// When the line is longer than [`MAX_LINE`]. Nothing can be read behind it.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let rest = self.bytes.get(self.searched..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b'\n').map(|at| self.searched + at);
        let length = end.unwrap_or(self.bytes.len());
        if length > MAX_LINE {
            self.bytes = Vec::new();
            self.searched = 0;
            return Err(TooLong);
        }
        let Some(end) = end else {
            self.searched = length;
            return Ok(None);
        };
        let rest = self.bytes.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.bytes, rest);
        line.truncate(end);
        self.searched = 0;
        Ok(Some(line))
    }

    /// The bytes that have come without an end of a line so far.
    pub fn rest(&self) -> &[u8] {
        &self.bytes
    }
}

/// A message of a server.
#[derive(Debug, PartialEq)]
pub enum ServerMessage {
    /// The server asks for something and must be answered, under its own id.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The server answers a request of ours.
    Answer {
        id: u64,
        result: Result<Value, RpcError>,
    },
    /// JSON, but nothing that we know: an answer to nothing, an object without a method.
    Unknown,
}

/// The error of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    pub code: Option<i64>,
    /// At most [`LONG_TEXT`] bytes.
    pub message: String,
    pub data: Value,
}

/// A line in which there is no JSON object.
#[derive(Debug, PartialEq)]
pub struct NoMessage;

/// Places of a line at which a message may begin that are looked at.
const MOST_STARTS: usize = 20;

/// Reads one line of a server. A notice, a byte order mark or a control sequence may stand beside the message.
///
/// # Errors
/// When there is no JSON object in it.
pub fn read(line: &[u8]) -> Result<ServerMessage, NoMessage> {
    let whole = serde_json::from_slice(line).ok().filter(Value::is_object);
    let within = || Some(objects(&String::from_utf8_lossy(line), MOST_STARTS).next()?.0);
    let mut value = whole.or_else(within).ok_or(NoMessage)?;
    let Some(object) = value.as_object_mut() else {
        return Err(NoMessage);
    };
    let mut take = |key: &str| object.get_mut(key).map_or(Value::Null, Value::take);
    let id = take("id");
    if let Value::String(method) = take("method") {
        let params = take("params");
        return Ok(match id {
            Value::Number(_) | Value::String(_) => ServerMessage::Request { id, method, params },
            _ => ServerMessage::Notification { method, params },
        });
    }
    // Some send numbers back as text, or with a fraction of nothing.
    let number = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    let Ok(id) = number.strip_suffix(".0").unwrap_or(&number).parse() else {
        return Ok(ServerMessage::Unknown);
    };
    let mut error = take("error");
    let result = if error.is_null() { Ok(take("result")) } else { Err(rpc_error(&mut error)) };
    Ok(ServerMessage::Answer { id, result })
}

fn rpc_error(error: &mut Value) -> RpcError {
    let message = match error.get("message").unwrap_or(error) {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let code = error["code"].as_i64();
    let data = error.get_mut("data").map_or(Value::Null, Value::take);
    RpcError { code, message: cut(&message, LONG_TEXT), data }
}

/// A request of ours.
pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification of ours.
pub fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Our answer to a request of the server.
pub fn answer(id: Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// Our answer to a request that we know nothing of.
pub fn unknown_method(id: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_arrive() {
        let text = b"{\"a\":1}\n\n{\"b\":2}\nrest";
        for size in 1..text.len() {
            let mut splitter = Splitter::default();
            let mut lines = Vec::new();
            for piece in text.chunks(size) {
                splitter.extend(piece);
                while let Some(line) = splitter.next_line().unwrap() {
                    lines.push(String::from_utf8(line).unwrap());
                }
            }
            assert_eq!(lines, ["{\"a\":1}", "", "{\"b\":2}"], "pieces of {size}");
            assert_eq!(splitter.rest(), b"rest");
        }
    }

    #[test]
    fn a_line_may_have_eight_mebibytes_and_not_one_byte_more() {
        let mut splitter = Splitter::default();
        splitter.extend(&vec![b'x'; MAX_LINE]);
        assert_eq!(splitter.next_line(), Ok(None));
        splitter.extend(b"\n");
        assert_eq!(splitter.next_line().unwrap().map(|line| line.len()), Some(MAX_LINE));
        splitter.extend(&vec![b'x'; MAX_LINE + 1]);
        assert_eq!(splitter.next_line(), Err(TooLong));
        assert_eq!(splitter.rest(), b"");
    }

    #[test]
    fn messages_are_told_apart_by_their_keys() {
        let read = |text: &str| read(text.as_bytes());
        assert_eq!(
            read(r#"{"id":"x-1","method":"a","params":3}"#),
            Ok(ServerMessage::Request { id: "x-1".into(), method: "a".to_owned(), params: 3.into() })
        );
        let notification = ServerMessage::Notification { method: "a".to_owned(), params: Value::Null };
        assert_eq!(read(r#"{"id":null,"method":"a"}"#), Ok(notification));
        assert_eq!(
            read(r#"{"id":"7","result":1}"#),
            Ok(ServerMessage::Answer { id: 7, result: Ok(1.into()) })
        );
        let error = RpcError { code: None, message: "\"no\"".to_owned(), data: Value::Null };
        let error = RpcError { message: error.message.trim_matches('"').to_owned(), ..error };
        assert_eq!(read(r#"{"id":7,"error":"no"}"#), Ok(ServerMessage::Answer { id: 7, result: Err(error) }));
        for answer in [
            r#"{"id":7.0,"result":1}"#,
            r#"{"id":"7.0","result":1}"#,
            "\u{feff}{\"id\":7,\"result\":1}",
            "\u{1b}[2K{\"id\":7,\"result\":1}\u{1b}[0m",
            r#"Update {2.0} is there! {"id":7,"result":1}"#,
            r#"{"id":7,"result":1} bye"#,
        ] {
            let want = ServerMessage::Answer { id: 7, result: Ok(1.into()) };
            assert_eq!(read(answer), Ok(want), "{answer}");
        }
        assert_eq!(read(r#"{"id":7.5,"result":1}"#), Ok(ServerMessage::Unknown));
        assert_eq!(read(r#"{"id":{},"result":1}"#), Ok(ServerMessage::Unknown));
        assert_eq!(read("[]"), Err(NoMessage));
        assert_eq!(read("Loading…"), Err(NoMessage));
    }
}
