//! Congestion control of accepted connections: those from this machine are not paced.
//!
//! BBR holds each segment back until its time has come, by a timer that interrupts the core once a segment. Between two
//! processes of one machine there is no path that could be congested, and the timers are then a third of what sending
//! costs. Whether a socket is paced is settled for good when its first algorithm begins, before it can be accepted. So
//! a listener that would hand out paced sockets is given an algorithm without pacing, and connections from elsewhere get
//! the system's back as they are accepted.

use std::{
    io,
    net::{TcpListener, TcpStream},
    os::fd::{AsRawFd, RawFd},
};

/// Bytes of an algorithm's name at most (`TCP_CA_NAME_MAX`), its end among them.
const NAME_BYTES: usize = 16;

/// In every kernel, and every process may use it. Where nothing is lost it is slow start without an end.
const UNPACED: Algorithm = Algorithm(*b"reno\0\0\0\0\0\0\0\0\0\0\0\0");

/// A congestion control algorithm of the kernel, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Algorithm([u8; NAME_BYTES]);

impl Algorithm {
    /// That of a socket.
    fn of(socket: &impl AsRawFd) -> io::Result<Algorithm> {
        let mut name = [0; NAME_BYTES];
        let mut length = NAME_BYTES as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to the live array, and the length to the live integer.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                name.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(Algorithm(name)) }
    }

    /// Whether it paces by itself: BBR and its kin.
    fn paces(self) -> bool {
        self.0.starts_with(b"bbr")
    }

    /// Has a socket use it.
    fn apply(self, fd: RawFd) -> io::Result<()> {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        // SAFETY: the pointer is to live bytes, and no more than there are is the length.
        let result = unsafe {
            libc::setsockopt(
                fd,
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                self.0.as_ptr().cast(),
                length as libc::socklen_t,
            )
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Gives the system's algorithm back to a connection of [`unpace`]'s listener that is not from this machine.
    pub(crate) fn restore(self, stream: &TcpStream) {
        if !is_local(stream)
            && let Err(err) = self.apply(stream.as_raw_fd())
        {
            // It works with the other as well.
            tracing::debug!(error = %err, "cannot set a connection's congestion control");
        }
    }
}

/// Has a listener hand out connections that are not paced. Answers what connections from elsewhere are to get instead;
/// nothing where there was no pacing, or it cannot be changed.
pub(crate) fn unpace(listener: &TcpListener) -> Option<Algorithm> {
    let system = Algorithm::of(listener).ok().filter(|algorithm| algorithm.paces())?;
    UNPACED.apply(listener.as_raw_fd()).ok()?;
    Some(system)
}

/// Whether both ends are on this machine. A peer that is gone already counts as one from elsewhere.
fn is_local(stream: &TcpStream) -> bool {
    match (stream.peer_addr(), stream.local_addr()) {
        (Ok(peer), Ok(local)) => peer.ip().to_canonical().is_loopback() || peer.ip() == local.ip(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn connections_from_this_machine_keep_what_the_listener_was_given() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let system = Algorithm::of(&listener).unwrap();
        let given = unpace(&listener);
        assert_eq!(given, system.paces().then_some(system));
        let expect = if system.paces() { UNPACED } else { system };
        let (_client, accepted) = pair(&listener);
        assert_eq!(Algorithm::of(&accepted).unwrap(), expect);
        if let Some(system) = given {
            system.restore(&accepted);
        }
        assert_eq!(Algorithm::of(&accepted).unwrap(), expect, "it is from this machine");
    }

    #[test]
    fn an_algorithm_can_be_given_and_given_back() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let system = Algorithm::of(&listener).unwrap();
        UNPACED.apply(listener.as_raw_fd()).unwrap();
        let (_client, accepted) = pair(&listener);
        assert_eq!(Algorithm::of(&accepted).unwrap(), UNPACED);
        system.apply(accepted.as_raw_fd()).unwrap();
        assert_eq!(Algorithm::of(&accepted).unwrap(), system);
    }

    #[test]
    fn those_that_pace_are_known_by_name() {
        let named = |name: &[u8]| {
            let mut bytes = [0; NAME_BYTES];
            bytes[..name.len()].copy_from_slice(name);
            Algorithm(bytes)
        };
        assert!(named(b"bbr").paces() && named(b"bbr3").paces());
        assert!(!named(b"cubic").paces() && !UNPACED.paces());
    }
}
