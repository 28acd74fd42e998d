//! Connections for the tests of other packages.

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;

use super::{Client, Handle};
use crate::identity::ProcessIdentity;
use crate::protocol::Frames;

impl Client {
    /// A connection whose supervisor has ended. Needs a tokio runtime, as every connection does.
    pub fn left_alone() -> Self {
        let (runner, supervisor) = UnixStream::pair().expect("sockets can be made");
        drop(supervisor);
        let handle = Handle {
            socket: runner,
            pid: rustix::process::getpid(),
            farewell: None,
            identity: ProcessIdentity { pid: 0, start_time: 0, boot_id: String::new() },
            incoming: Frames::default(),
            received: VecDeque::new(),
        };
        handle.into_async().expect("a socket can be made asynchronous")
    }
}
