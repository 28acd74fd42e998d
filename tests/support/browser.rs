//! `quorum serve`, and a browser as simple as one can be: what it sends is all that a test says.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::Workspace;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that was started. Killed if the test forgets it.
pub struct Server {
    /// None where the test has it.
    child: Option<Child>,
    /// `127.0.0.1:PORT`
    pub host: String,
    pub token: String,
}

/// An answer of a server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Somebody who was let in.
pub struct Browser<'a> {
    server: &'a Server,
    pub cookie: String,
}

impl Server {
    pub fn start(workspace: &Workspace, arguments: &[&str]) -> Self {
        let all = [&["serve"], arguments].concat();
        Self::of(workspace.command(&all))
    }

    pub fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("it is a pipe");
        BufReader::new(output).read_line(&mut line).expect("it prints a line");
        let mut server = Self::at(&line);
        server.child = Some(child);
        server
    }

    /// The server that printed this address.
    pub fn at(address: &str) -> Self {
        let address = address.trim().strip_prefix("http://").expect("it is an address");
        let (host, token) = address.split_once("/?token=").unwrap_or((address.trim_end_matches('/'), ""));
        Self { host: host.to_owned(), token: token.to_owned(), child: None }
    }

    /// Starts a server that says where it is in JSON; with what it says.
    pub fn document(workspace: &Workspace) -> Value {
        let mut command = workspace.command(&["serve", "--json"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let output = child.stdout.take().expect("it is a pipe");
        let document = serde_json::Deserializer::from_reader(output).into_iter().next();
        let document: Value = document.expect("it prints one").expect("it is JSON");
        Self::at(document["url"].as_str().expect("it is text")).child = Some(child);
        document
    }

    pub fn port(&self) -> &str {
        self.host.rsplit(':').next().expect("it has a port")
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(self.child.as_ref().expect("it is ours"))
    }

    /// Waits for its end; its exit code.
    pub fn end(mut self) -> Option<i32> {
        self.child.as_mut().expect("it is ours").wait().expect("it is our child").code()
    }

    /// Sends these lines and this body, and reads the answer to its end.
    pub fn send(&self, lines: &[&str], body: &str) -> Answer {
        let mut stream = self.connect();
        let head = lines.join("\r\n");
        write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .expect("it can be sent");
        let mut bytes = Vec::new();
        // One that refuses may close before it has read all.
        let _ = stream.read_to_end(&mut bytes);
        Answer::of(&String::from_utf8_lossy(&bytes))
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is a socket");
        stream
    }

    /// Reads a page without being known.
    pub fn get(&self, path: &str) -> Answer {
        self.send(&[&format!("GET {path} HTTP/1.1"), &format!("Host: {}", self.host)], "")
    }

    /// Somebody who opens the address that was printed.
    pub fn browser(&self) -> Browser<'_> {
        let answer = self.get(&format!("/?token={}", self.token));
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{answer:?}");
        let cookie = answer.header("set-cookie").expect("it gives a cookie");
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
        Browser { server: self, cookie: cookie.split(';').next().expect("it has a value").to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Answer {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The answer must have this status.
    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.body);
        self
    }

    /// The token of the forms on the page.
    pub fn form(&self) -> &str {
        let (_, rest) = self.body.split_once("name=\"form\" value=\"").expect("the page has a form");
        rest.split('"').next().expect("it has a value")
    }
}

impl Browser<'_> {
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    /// Sends a form as a page of the server does, with the token of a page that was read before.
    pub fn decide(&self, form: &str, fields: &[(&str, &str)]) -> Answer {
        let origin = format!("Origin: http://{}", self.server.host);
        self.send("POST", "/decide", &[&origin, FORM], &encoded(form, fields))
    }

    /// Sends whatever a test wants.
    pub fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let first = format!("{method} {path} HTTP/1.1");
        let host = format!("Host: {}", self.server.host);
        let cookie = format!("Cookie: {}", self.cookie);
        self.server.send(&[&[first.as_str(), &host, &cookie], headers].concat(), body)
    }
}

pub const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// A form as it is sent.
pub fn encoded(form: &str, fields: &[(&str, &str)]) -> String {
    let escape = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let all = [&[("form", form)], fields].concat();
    let pairs = all.iter().map(|(name, value)| format!("{name}={}", escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}
