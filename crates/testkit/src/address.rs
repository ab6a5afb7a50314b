//! Addresses that no other test uses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, io};

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

/// A port that no address of this machine uses, for listeners on all addresses.
///
/// The system would choose one of those that it gives to outgoing connections as well, and any connection of
/// a test that runs beside could take it. This one is from below them, and found by trying.
///
/// # Panics
///
/// When there is none.
#[must_use]
pub fn port_of_all_addresses() -> u16 {
    const LOWEST: u16 = 10_000;
    /// Tests that are threads of one process begin at different ones.
    static N_CALLS: AtomicUsize = AtomicUsize::new(0);
    let span = usize::from(lowest_outgoing_port().saturating_sub(LOWEST));
    let start = std::process::id() as usize * 7 + N_CALLS.fetch_add(1, Ordering::Relaxed);
    let candidates = (0..span).map(|n| LOWEST + ((start + n) % span) as u16);
    let is_free = |port: &u16| {
        let any = [(Ipv4Addr::UNSPECIFIED.into(), *port), (IpAddr::from(Ipv6Addr::UNSPECIFIED), *port)];
        any.iter().all(|address| match TcpListener::bind(address) {
            Ok(_) => true,
            Err(error) => error.kind() != io::ErrorKind::AddrInUse,
        })
    };
    candidates.into_iter().find(is_free).expect("a port is free")
}

fn lowest_outgoing_port() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let range = range.expect("Linux tells which ports it gives away");
    let first = range.split_whitespace().next().and_then(|port| port.parse().ok());
    first.expect("a range begins with a port")
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
