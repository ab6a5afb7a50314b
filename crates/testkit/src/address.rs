//! Addresses that no other test uses.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// An address of this test process alone.
///
/// All of 127.0.0.0/8 is this machine, so each process takes an IP address of its own from its id:
/// a port that is free here cannot be taken by a test that runs beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(SocketAddr);

impl Address {
    /// A port that is free, chosen by the system.
    #[must_use]
    pub fn fresh() -> Self {
        let pid = std::process::id();
        let [_, _, high, low] = pid.to_be_bytes();
        // 127.0.x.y is left to people and to other programs.
        let ip = Ipv4Addr::new(127, 1 + (pid >> 16) as u8 % 250, high, low);
        let probe = TcpListener::bind((ip, 0)).expect("a loopback port is free");
        Self(probe.local_addr().expect("a bound socket has an address"))
    }

    /// For connecting.
    #[must_use]
    pub fn socket(self) -> SocketAddr {
        self.0
    }

    /// The port alone.
    #[must_use]
    pub fn port(self) -> u16 {
        self.0.port()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
