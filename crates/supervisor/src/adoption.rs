//! The socket of a supervisor that outlived its runner: where the next runner connects, and how it is greeted.
//!
//! Who comes in is told two things: the version of the protocol, which every version says alike, and what the supervisor
//! holds. From then on the connection is like the one between a runner and the supervisor that it forked.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use super::platform;
use super::protocol::{Holding, Outgoing, PROTOCOL, VersionGreeting};
use super::socket::{SocketAddress, may_speak};

/// Where the next runner finds a supervisor without one.
pub struct AdoptionSocket {
    pub listener: UnixListener,
    address: SocketAddress,
}

impl AdoptionSocket {
    pub fn open(path: &Path) -> io::Result<AdoptionSocket> {
        let address = SocketAddress::of(path)?;
        let listener = address.bind()?;
        Ok(AdoptionSocket { listener, address })
    }

    /// Lets in who has knocked and may come in. Who may not sees the connection close.
    pub fn admit(&self) -> Option<UnixStream> {
        let (peer, _) = self.listener.accept().ok()?;
        let (uid, pid) = platform::peer(&peer).ok()?;
        may_speak(uid, pid).ok()?;
        peer.set_nonblocking(true).ok()?;
        Some(peer)
    }
}

impl Drop for AdoptionSocket {
    fn drop(&mut self) {
        // One that stays leads nowhere, and the next supervisor takes its place.
        let _ = self.address.remove();
    }
}

/// Greets a new runner: the version, then the children.
pub fn greet(outgoing: &mut Outgoing, holding: &Holding) -> io::Result<()> {
    outgoing.push_for_ever(&VersionGreeting { protocol: PROTOCOL })?;
    outgoing.push(holding)
}
