//! Ports for programs that can listen on nothing else.

use std::fs::{self, DirEntry};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corral_sys::signal::Pid;

/// A connection on the same machine takes no longer.
const LONGEST_CONNECT: Duration = Duration::from_millis(50);

/// Below these are ports of well-known services.
const FIRST: u16 = 10_000;

/// A port that nobody listens on, none of those that outgoing connections get: such a connection would take it away
/// before the program has it.
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

/// Connects to a program.
pub(crate) fn connect(port: u16) -> io::Result<TcpStream> {
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let stream = TcpStream::connect_timeout(&address.into(), LONGEST_CONNECT)?;
    if stream.local_addr()? == address.into() {
        return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "it is connected with itself"));
    }
    Ok(stream)
}

/// Whether others listen there: no process of this group does. False where the system does not tell.
pub(crate) fn is_foreign(port: u16, group: Pid) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let listeners: Vec<_> = tables.iter().flat_map(|table| listeners(table, port)).collect();
    let knows_processes = fs::read_link("/proc/self").is_ok_and(|own| own == Path::new(&own_number()));
    if listeners.is_empty() || !knows_processes {
        return false;
    }
    let is_it = |fd: DirEntry| fs::read_link(fd.path()).is_ok_and(|link| listeners.contains(&link));
    let is_here = |process: PathBuf| match fs::read_dir(process.join("fd")) {
        Ok(fds) => fds.flatten().any(is_it),
        // Whoever keeps what he has to himself may have it. One that has ended looks alike.
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied && belongs_to(&process, group),
    };
    !processes(group).any(is_here)
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

/// What descriptors of those who listen on a port lead to, by the kernel's table.
fn listeners(table: &str, port: u16) -> impl Iterator<Item = PathBuf> {
    table.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_ascii_whitespace();
        let (local, state) = (words.nth(1)?, words.nth(1)?);
        let (_, found) = local.rsplit_once(':')?;
        let is_it = state == LISTENING && u16::from_str_radix(found, 16).ok()? == port;
        let inode = words.nth(5)?;
        is_it.then(|| format!("socket:[{inode}]").into())
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
        connect(port).unwrap();
        let own_group = rustix::process::getpgrp();
        assert!(!is_foreign(port, own_group), "this process listens there");
        assert!(is_foreign(port, Pid::from_raw(i32::MAX).unwrap()), "no group has that number");
        drop(listener);
        assert!(connect(port).is_err());
    }

    #[test]
    fn the_kernel_s_table_tells_who_listens() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 17 1 0 100\n\
            \x20  1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000   33        0 18 1 0 100\n";
        assert_eq!(listeners(table, 8080).collect::<Vec<_>>(), [Path::new("socket:[17]")]);
        assert_eq!(listeners(table, 8081).count(), 0, "that is a connection");
    }
}
