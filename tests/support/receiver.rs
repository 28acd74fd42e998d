//! A server of HTTP on this machine that notes what is posted to it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// What a receiver does with a request.
#[derive(Clone, Copy)]
pub enum Answer {
    /// Answers with this status.
    Status(u16),
    /// Sends the sender elsewhere.
    Elsewhere,
    /// Never answers.
    Silence,
}

/// A receiver on loopback that notes what it is sent.
pub struct Receiver {
    pub address: String,
    requests: Arc<Mutex<Vec<(String, String)>>>,
}

impl Receiver {
    /// One that answers in this way, the last way for ever.
    pub fn that(answers: &'static [Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be bound");
        let address = listener.local_addr().expect("it has an address").to_string();
        let requests: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming().flatten() {
                let mut stream = stream;
                let Some(request) = read_request(&mut stream) else {
                    continue;
                };
                let count = {
                    let mut seen = seen.lock().expect("nobody panics with it");
                    seen.push(request);
                    seen.len()
                };
                let text = match answers[(count - 1).min(answers.len() - 1)] {
                    Answer::Status(status) => format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\nno"),
                    Answer::Elsewhere => {
                        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/there\r\ncontent-length: 0\r\n\r\n".to_owned()
                    }
                    Answer::Silence => {
                        silent.push(stream);
                        continue;
                    }
                };
                let _ = stream.write_all(text.as_bytes());
            }
        });
        Self { address, requests }
    }

    /// Head and body of each request, in order.
    pub fn requests(&self) -> Vec<(String, String)> {
        self.requests.lock().expect("nobody panics with it").clone()
    }

    /// The bodies, in order.
    pub fn documents(&self) -> Vec<Value> {
        let requests = self.requests();
        let bodies = requests.iter();
        bodies.map(|(_, body)| serde_json::from_str(body).expect("a body is JSON")).collect()
    }
}

/// Head and body of one request.
fn read_request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}
