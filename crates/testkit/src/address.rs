//! Addresses that no other test uses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, io, iter};

/// Ports of a test's own addresses. The system gives none of them to outgoing connections, nor to servers that let it
/// choose and listen on all addresses, this test's among them.
const OWN: Range<u16> = 10_000..20_000;

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
        static N_CALLS: AtomicUsize = AtomicUsize::new(0);
        let ip = own_ip();
        let is_free = |port: &u16| TcpListener::bind((ip, *port)).is_ok();
        Self::new(ports(OWN, &N_CALLS).find(is_free).expect("a loopback port is free"))
    }

    /// An address for a server that listens on all addresses; clients connect to this one.
    #[must_use]
    pub fn on_all_addresses() -> Self {
        Self::new(port_of_all_addresses())
    }

    fn new(port: u16) -> Self {
        Self(SocketAddr::from((own_ip(), port)))
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
    static N_CALLS: AtomicUsize = AtomicUsize::new(0);
    let is_free = |port: &u16| {
        let any = [(Ipv4Addr::UNSPECIFIED.into(), *port), (IpAddr::from(Ipv6Addr::UNSPECIFIED), *port)];
        any.iter().all(|address| match TcpListener::bind(address) {
            Ok(_) => true,
            Err(error) => error.kind() != io::ErrorKind::AddrInUse,
        })
    };
    ports(OWN.end..lowest_outgoing_port(), &N_CALLS).find(is_free).expect("a port is free")
}

/// Each port once. Tests that run at the same time begin at different ones.
fn ports(range: Range<u16>, n_calls: &AtomicUsize) -> impl Iterator<Item = u16> {
    let (first, length) = (std::process::id() as usize * 7, range.len());
    let next = move || range.start + ((first + n_calls.fetch_add(1, Ordering::Relaxed)) % length) as u16;
    iter::repeat_with(next).take(length)
}

/// The IP address of this process.
fn own_ip() -> Ipv4Addr {
    let pid = std::process::id();
    let [_, _, high, low] = pid.to_be_bytes();
    // 127.0.x.y is left to people and to other programs.
    Ipv4Addr::new(127, 1 + (pid >> 16) as u8 % 250, high, low)
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
