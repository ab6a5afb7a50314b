//! Whether an address can be listened on, and what to do where it cannot.

use std::io;
use std::net::{SocketAddr, TcpListener};

use corral_config::address::ListenAddress;
use corral_sys::listening;

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub(super) enum AddressError {
    #[error(
        "this user may not listen on port {0}. Start it by sudo; or let this executable do so: sudo setcap \
         cap_net_bind_service=+ep {path}; or let every user do so: sudo sysctl \
         net.ipv4.ip_unprivileged_port_start={0}", path = std::env::current_exe().unwrap_or_default().display()
    )]
    Privileged(u16),
    #[error("{}: stop it, or choose another port with --listen", .0.reason())]
    Taken(TakenAddress),
}

/// An address that another program listens on.
#[derive(Debug)]
pub(super) struct TakenAddress(SocketAddr);

impl TakenAddress {
    /// The fact, with the name of the program if that is told to this user.
    pub(super) fn reason(&self) -> String {
        let holder = listening::holder(self.0);
        let holder = holder.map_or_else(|| "another program".to_owned(), |holder| holder.to_string());
        format!("{} is in use by {holder}", self.0)
    }

    /// The same address with the next port that can be listened on.
    pub(super) fn next_free(&self) -> Option<SocketAddr> {
        let ports = (1..=MOST_TRIES).map_while(|more| self.0.port().checked_add(more));
        let mut addresses = ports.map(|port| SocketAddr::new(self.0.ip(), port));
        addresses.find(|address| TcpListener::bind(address).is_ok())
    }
}

/// People look for a site near the port that they know.
const MOST_TRIES: u16 = 100;

/// Tries to listen on a port.
pub(super) fn check_address(listen: &ListenAddress) -> Result<(), AddressError> {
    let ListenAddress::Inet(address) = listen else { return Ok(()) };
    let Err(error) = TcpListener::bind(address) else { return Ok(()) };
    match error.kind() {
        io::ErrorKind::PermissionDenied => Err(AddressError::Privileged(address.port())),
        io::ErrorKind::AddrInUse => Err(AddressError::Taken(TakenAddress(*address))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_port_that_is_free_is_found() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let listen = ListenAddress::Inet(address);
        let Err(AddressError::Taken(found)) = check_address(&listen) else { panic!("it is taken") };
        let own = format!("{address} is in use by ");
        assert!(found.reason().starts_with(&own) && found.reason().contains(&std::process::id().to_string()));
        let free = found.next_free().unwrap();
        assert!(free.port() > address.port() && free.ip() == address.ip());
        assert!(TakenAddress(SocketAddr::new(address.ip(), u16::MAX)).next_free().is_none());
        drop(taken);
        check_address(&listen).unwrap();
    }
}
