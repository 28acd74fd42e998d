//! The processes at the other end of a TCP connection within this machine, as `/proc` shows them.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::posix;

/// Descriptors that are looked at; a machine with more is one of which nothing can be told.
const MOST_DESCRIPTORS: usize = 2_000_000;

/// The other end of a connection.
#[derive(Debug, PartialEq)]
pub struct TcpPeer {
    /// The user of the socket.
    pub uid: u32,
    /// The processes that hold it, as far as they can be seen.
    pub holders: Vec<u32>,
}

/// The other end of a connection; `None` where that is another machine.
///
/// # Errors
/// When it is on this machine and cannot be found.
pub fn tcp_peer(ours: SocketAddr, theirs: SocketAddr) -> io::Result<Option<TcpPeer>> {
    let mut found = None;
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        match fs::read_to_string(table) {
            Ok(text) => found = found.or_else(|| socket_in(&text, theirs, ours)),
            // A kernel without that version.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let (theirs, ours) = (theirs.ip().to_canonical(), ours.ip().to_canonical());
    match found {
        Some((uid, inode)) => Ok(Some(TcpPeer { uid, holders: holders(inode)? })),
        None if theirs.is_loopback() || theirs == ours => Err(io::ErrorKind::NotFound.into()),
        None => Ok(None),
    }
}

/// The user and the number of the socket with these ends.
fn socket_in(table: &str, near: SocketAddr, far: SocketAddr) -> Option<(u32, u64)> {
    let same = |text: &str, wanted: SocketAddr| {
        end_of(text).is_some_and(|(ip, port)| ip == wanted.ip().to_canonical() && port == wanted.port())
    };
    table.lines().find_map(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, remote) = (columns.get(1)?, columns.get(2)?);
        let is_it = same(local, near) && same(remote, far);
        // A socket that nobody holds any more has no number.
        let inode = columns.get(9)?.parse().ok().filter(|inode| *inode != 0)?;
        is_it.then_some((columns.get(7)?.parse().ok()?, inode))
    })
}

/// `0100007F:1F90`: words of the address as this machine keeps them, and the port.
fn end_of(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let mut bytes = Vec::new();
    for at in (0..address.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        _ => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    Some((ip.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

/// The processes that hold a socket. One whose descriptors may not be seen is none of them.
fn holders(inode: u64) -> io::Result<Vec<u32>> {
    let wanted = format!("socket:[{inode}]");
    let (mut holders, mut looked_at) = (Vec::new(), 0);
    for pid in posix::numbers_in("/proc")? {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        let mut holds = false;
        for descriptor in descriptors.flatten() {
            looked_at += 1;
            holds |= fs::read_link(descriptor.path()).is_ok_and(|held| held.as_os_str() == wanted.as_str());
        }
        if looked_at > MOST_DESCRIPTORS {
            return Err(io::Error::other("too many descriptors are open on this machine"));
        }
        holders.extend(u32::try_from(pid).ok().filter(|_| holds));
    }
    Ok(holders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_process_at_the_other_end_is_found_until_it_lets_go() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (ours, theirs) = (client.peer_addr().unwrap(), client.local_addr().unwrap());
        let peer = tcp_peer(ours, theirs).unwrap().unwrap();
        assert_eq!(peer.uid, rustix::process::getuid().as_raw());
        assert_eq!(peer.holders, [std::process::id()]);
        drop(client);
        assert!(tcp_peer(ours, theirs).is_err());
    }

    #[test]
    fn an_end_on_another_machine_is_nobodys_here() {
        let far = "203.0.113.9:4000".parse().unwrap();
        assert_eq!(tcp_peer("203.0.113.1:80".parse().unwrap(), far).unwrap(), None);
        assert!(
            tcp_peer("203.0.113.9:80".parse().unwrap(), far).is_err(),
            "it is this machine's own address"
        );
    }

    #[test]
    fn both_versions_of_addresses_are_read() {
        let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        let mapped = [[0; 4], [0; 4], [0, 0, 255, 255], [127, 0, 0, 1]].map(word).concat();
        let loopback = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(end_of(&format!("{}:1F90", word([127, 0, 0, 1]))), Some((loopback, 8080)));
        assert_eq!(end_of(&format!("{mapped}:0050")), Some((loopback, 80)));
        assert_eq!(end_of("sl"), None);
    }
}
