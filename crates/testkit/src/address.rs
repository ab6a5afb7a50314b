//! Addresses that no other test uses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::{fmt, io, iter};

/// Ports of a test's own addresses. The system gives none of them to outgoing connections, nor to servers that let it
/// choose and listen on all addresses, this test's among them.
const OWN: Range<u16> = 10_000..20_000;
/// The lowest port for listeners on all addresses.
const LOWEST_OF_ALL_ADDRESSES: u16 = OWN.end;

/// An address of this test process alone.
///
/// All of 127.0.0.0/8 is this machine, so each process takes an IP address of its own from its id:
/// a port that is free here cannot be taken by a test that runs beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(SocketAddr);

impl Address {
    /// A port that is free, and that this process has not been given before.
    #[must_use]
    pub fn fresh() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(OWN.start);
        let pid = std::process::id();
        let [_, _, high, low] = pid.to_be_bytes();
        // 127.0.x.y is left to people and to other programs.
        let ip = Ipv4Addr::new(127, 1 + (pid >> 16) as u8 % 250, high, low);
        let is_free = |address: &SocketAddr| TcpListener::bind(address).is_ok();
        let ports =
            iter::repeat_with(|| NEXT.fetch_add(1, Ordering::Relaxed)).take_while(|port| OWN.contains(port));
        let addresses = ports.map(|port| SocketAddr::from((ip, port)));
        Self({ addresses }.find(is_free).expect("a loopback port is free"))
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
    /// Tests that are threads of one process begin at different ones.
    static N_CALLS: AtomicUsize = AtomicUsize::new(0);
    let span = usize::from(lowest_outgoing_port().saturating_sub(LOWEST_OF_ALL_ADDRESSES));
    let start = std::process::id() as usize * 7 + N_CALLS.fetch_add(1, Ordering::Relaxed);
    let candidates = (0..span).map(|n| LOWEST_OF_ALL_ADDRESSES + ((start + n) % span) as u16);
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
