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
    let listeners: Vec<_> = all_listeners()
        .into_iter()
        .filter(|listener| listener.port == port)
        .map(|listener| listener.file)
        .collect();
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
    let listeners = all_listeners();
    let fds =
        processes(group).flat_map(|process| fs::read_dir(process.join("fd")).into_iter().flatten().flatten());
    let sockets: HashSet<_> = fds.filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
    let own = listeners.iter().filter(|listener| sockets.contains(&listener.file));
    let mut places: Vec<_> = own.filter_map(PortListener::place).collect();
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

/// Whether a process that runs is of a group.
fn belongs_to(process: &Path, group: Pid) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    // Behind its name, which is in parentheses and may hold anything: its state, its parent, its group.
    let words = stat.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace().collect::<Vec<_>>());
    match words.as_deref() {
        Some([state, _, found, ..]) => {
            !matches!(*state, "Z" | "X") && found.parse() == Ok(group.as_raw_nonzero().get())
        }
        _ => false,
    }
}

/// A socket that listens.
struct PortListener {
    /// As the kernel writes it: in words of this machine's order.
    address: String,
    port: u16,
    /// The target of its descriptors' links in `/proc`.
    file: PathBuf,
}

impl PortListener {
    /// Where it is reached from this machine by a loopback address; nothing if it is not.
    fn place(&self) -> Option<LocalPort> {
        const V4: [&str; 2] = ["00000000", "0100007F"];
        const V6_LOCAL: &str = "00000000000000000000000001000000";
        // Most sockets for all addresses of IPv6 take those of IPv4, too.
        const V6_ANY: &str = "00000000000000000000000000000000";
        let v6 = match &*self.address {
            address if V4.contains(&address) => false,
            V6_LOCAL => true,
            V6_ANY => connect(LocalPort::v4(self.port)).is_err(),
            _ => return None,
        };
        Some(LocalPort { port: self.port, v6 })
    }
}

fn all_listeners() -> Vec<PortListener> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| listeners(table)).collect()
}

/// The listening sockets in the kernel's table.
fn listeners(table: &str) -> impl Iterator<Item = PortListener> {
    table.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_ascii_whitespace();
        let (local, state) = (words.nth(1)?, words.nth(1)?);
        let (address, port) = local.rsplit_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let inode = words.nth(5)?;
        let file = format!("socket:[{inode}]").into();
        (state == LISTENING).then(|| PortListener { address: address.to_owned(), port, file })
    })
}

const LISTENING: &str = "0A";

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
    fn the_kernel_s_table_tells_who_listens() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 17 1 0 100\n\
            \x20  1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000   33        0 18 1 0 100\n";
        let found: Vec<_> = listeners(table).collect();
        let [listener] = &found[..] else { panic!("the other one is a connection") };
        assert_eq!((listener.port, &*listener.file), (8080, Path::new("socket:[17]")));
        assert_eq!(listener.place(), Some(LocalPort::v4(8080)));
        assert_eq!(
            PortListener { address: "0A00A8C0".to_owned(), port: 80, file: PathBuf::new() }.place(),
            None
        );
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
