//! Processes that may connect to the control API. The permissions of a socket's file decide that, and the token. An
//! abstract name has neither: every process of the machine's network can connect, so the kernel's word about the peer
//! counts.

use std::io;
use std::os::fd::AsFd;

use rustix::net::SocketAddrUnix;

/// The users whose processes may connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peers {
    /// Everybody's: something else decides.
    Any,
    /// Root and the user that has started the daemon.
    Starter(u32),
}

impl Peers {
    /// For a listening socket, and whether each request has to show a token.
    pub(crate) fn of(socket: impl AsFd, has_token: bool, starter: u32) -> Self {
        if !has_token && is_abstract(socket) { Self::Starter(starter) } else { Self::Any }
    }

    pub(crate) fn admit(self, uid: u32) -> bool {
        match self {
            Self::Any => true,
            Self::Starter(starter) => [0, starter].contains(&uid),
        }
    }
}

/// The user of the process that has made a pair of sockets: main's, of a link to it. For a connection, that of the
/// process that listens.
///
/// # Errors
/// Where the kernel does not say it, as of a port.
pub fn uid_behind(link: impl AsFd) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(link)?.uid.as_raw())
}

fn is_abstract(socket: impl AsFd) -> bool {
    let address = rustix::net::getsockname(socket).ok();
    let unix = address.and_then(|address| SocketAddrUnix::try_from(address).ok());
    unix.is_some_and(|unix| unix.path().is_none())
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_file_and_a_token_decide_by_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let file = UnixListener::bind(folder.path().join("socket")).unwrap();
        let name = folder.path().display().to_string();
        let name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
        assert_eq!(Peers::of(&file, false, 7), Peers::Any);
        assert_eq!(Peers::of(&name, true, 7), Peers::Any);
        assert_eq!(Peers::of(&name, false, 7), Peers::Starter(7));
    }

    #[test]
    fn root_and_the_starter_may_connect() {
        for (uid, expected) in [(0, true), (7, true), (8, false), (65534, false)] {
            assert_eq!(Peers::Starter(7).admit(uid), expected, "{uid}");
        }
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(uid_behind(&one).unwrap(), rustix::process::geteuid().as_raw());
    }
}
