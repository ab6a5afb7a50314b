//! Ports for programs that can listen on nothing else.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, DirEntry};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corral_sys::listening::{self, PortListener};
use corral_sys::signal::Pid;

/// A connection on the same machine takes no longer.
const LONGEST_CONNECT: Duration = Duration::from_millis(50);

/// Below these are ports of well-known services.
const FIRST: u16 = 10_000;

/// A port that is free, outside of the range for outgoing connections: such a connection would take it away before the
/// program has it.
pub(crate) fn choose() -> io::Result<u16> {
    let candidates = candidates(first_outgoing());
    let n_candidates = u64::from(candidates.end - candidates.start);
    for attempt in 0..MOST_ATTEMPTS {
        let offset = RandomState::new().hash_one(attempt) % n_candidates;
        let port = candidates.start + u16::try_from(offset).expect("it is below the number of ports");
        if !is_taken(port) {
            return Ok(port);
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "no free port was found"))
}

const MOST_ATTEMPTS: u32 = 100;

/// Whether a program could not listen there.
pub(crate) fn is_taken(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_err()
}

/// Below the ports of outgoing connections, or all if these are nearly all.
fn candidates(first_outgoing: u16) -> Range<u16> {
    if first_outgoing > FIRST + 1000 { FIRST..first_outgoing } else { FIRST..u16::MAX }
}

fn first_outgoing() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_ascii_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(32_768)
}

/// A port of this machine's own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LocalPort {
    pub(crate) port: u16,
    /// Only the address of IPv6 has it.
    pub(crate) v6: bool,
}

impl LocalPort {
    pub(crate) fn v4(port: u16) -> Self {
        Self { port, v6: false }
    }

    fn address(self) -> SocketAddr {
        let ip = if self.v6 { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { IpAddr::V4(Ipv4Addr::LOCALHOST) };
        SocketAddr::new(ip, self.port)
    }
}

impl fmt::Display for LocalPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {} of {}", self.port, self.address().ip())
    }
}

/// Connects to a program.
pub(crate) fn connect(place: LocalPort) -> io::Result<TcpStream> {
    let address = place.address();
    let stream = TcpStream::connect_timeout(&address, LONGEST_CONNECT)?;
    if stream.local_addr()? == address {
        return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "it is connected with itself"));
    }
    Ok(stream)
}

/// Whether others listen there: no process of this group does. False where the system does not tell.
pub(crate) fn is_foreign(port: u16, group: Pid) -> bool {
    let all = listening::listeners().into_iter();
    let listeners: Vec<_> =
        all.filter(|listener| listener.address.port() == port).map(|listener| listener.file).collect();
    let knows_processes = fs::read_link("/proc/self").is_ok_and(|own| own == Path::new(&own_number()));
    if listeners.is_empty() || !knows_processes {
        return false;
    }
    let is_it = |fd: DirEntry| fs::read_link(fd.path()).is_ok_and(|link| listeners.contains(&link));
    let is_here = |process: PathBuf| match fs::read_dir(process.join("fd")) {
        Ok(fds) => fds.flatten().any(is_it),
        // A process whose descriptors are hidden may have the socket. A process that has ended looks alike.
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied && belongs_to(&process, group),
    };
    !processes(group).any(is_here)
}

/// Where the processes of a group listen that this machine reaches by its own addresses. One that has both kinds is
/// named by that of IPv4.
pub(crate) fn listened_on(group: Pid) -> Vec<LocalPort> {
    let listeners = listening::listeners();
    let fds =
        processes(group).flat_map(|process| fs::read_dir(process.join("fd")).into_iter().flatten().flatten());
    let sockets: HashSet<_> = fds.filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
    let own = listeners.iter().filter(|listener| sockets.contains(&listener.file));
    let mut places: Vec<_> = own.filter_map(place).collect();
    places.sort_unstable();
    places.dedup_by_key(|place| place.port);
    places
}

fn own_number() -> String {
    std::process::id().to_string()
}

/// The folders of a group's processes.
fn processes(group: Pid) -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(move |path| belongs_to(path, group))
}

/// The flag `PF_EXITING` of the kernel: the process is ending, and its descriptors are hidden or closed already.
const IS_ENDING: u32 = 0x4;

/// Whether a process that runs is of a group.
fn belongs_to(process: &Path, group: Pid) -> bool {
    is_running_in(&fs::read_to_string(process.join("stat")).unwrap_or_default(), group)
}

/// The same, by the text that proc(5) has about a process.
fn is_running_in(stat: &str, group: Pid) -> bool {
    // Behind its name, which is in parentheses and may hold anything: its state, its parent, its group, its session,
    // its terminal, the group in front there, its flags.
    let words = stat.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace().collect::<Vec<_>>());
    let Some([state, _, found, _, _, _, flags, ..]) = words.as_deref() else { return false };
    let is_ending = flags.parse().is_ok_and(|flags: u32| flags & IS_ENDING != 0);
    !is_ending && !matches!(*state, "Z" | "X") && found.parse() == Ok(group.as_raw_nonzero().get())
}

/// Where a socket is reached from this machine by a loopback address; nothing if it is not.
fn place(listener: &PortListener) -> Option<LocalPort> {
    let port = listener.address.port();
    let v6 = match listener.address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED | Ipv4Addr::LOCALHOST) => false,
        IpAddr::V6(Ipv6Addr::LOCALHOST) => true,
        // Most sockets for all addresses of IPv6 take those of IPv4, too.
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => connect(LocalPort::v4(port)).is_err(),
        IpAddr::V4(_) | IpAddr::V6(_) => return None,
    };
    Some(LocalPort { port, v6 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outgoing_connections_take_none_of_them() {
        assert_eq!(candidates(32_768), 10_000..32_768);
        assert_eq!(candidates(1024), 10_000..65_535);
        let port = choose().unwrap();
        assert!(!is_taken(port) && candidates(first_outgoing()).contains(&port));
    }

    #[test]
    fn a_process_that_is_ending_has_no_place() {
        for (stat, expected) in [
            ("7 (a) b) S 1 5 5 0 -1 4194304 100", true),
            ("7 (sh) R 1 5 5 0 -1 4194308 100", false),
            ("7 (sh) Z 1 5 5 0 -1 4227340 100", false),
            ("7 (sh) S 1 6 6 0 -1 4194304 100", false),
            ("7 (sh) S 1 5", false),
            ("", false),
        ] {
            assert_eq!(is_running_in(stat, Pid::from_raw(5).unwrap()), expected, "{stat}");
        }
    }

    #[test]
    fn a_port_that_somebody_has_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_taken(port));
        connect(LocalPort::v4(port)).unwrap();
        let own_group = rustix::process::getpgrp();
        assert!(listened_on(own_group).contains(&LocalPort::v4(port)));
        assert!(!is_foreign(port, own_group), "this process listens there");
        assert!(is_foreign(port, Pid::from_raw(i32::MAX).unwrap()), "no group has that number");
        drop(listener);
        assert!(connect(LocalPort::v4(port)).is_err());
    }

    #[test]
    fn an_address_of_the_network_is_no_place() {
        let listener =
            |address: &str| PortListener { address: address.parse().unwrap(), uid: 0, file: PathBuf::new() };
        assert_eq!(place(&listener("127.0.0.1:8080")), Some(LocalPort::v4(8080)));
        assert_eq!(place(&listener("0.0.0.0:8080")), Some(LocalPort::v4(8080)));
        assert_eq!(place(&listener("[::1]:8080")), Some(LocalPort { port: 8080, v6: true }));
        for elsewhere in ["192.168.0.10:80", "127.0.0.2:80", "[fd00::1]:80"] {
            assert_eq!(place(&listener(elsewhere)), None, "{elsewhere}");
        }
    }

    #[test]
    fn a_listener_of_ipv6_alone_is_reached_there() {
        let Ok(listener) = TcpListener::bind("[::1]:0") else {
            return eprintln!("skipped: there is no IPv6");
        };
        let place = LocalPort { port: listener.local_addr().unwrap().port(), v6: true };
        assert!(listened_on(rustix::process::getpgrp()).contains(&place));
        connect(place).unwrap();
        assert_eq!(place.to_string(), format!("port {} of ::1", place.port));
    }
}
