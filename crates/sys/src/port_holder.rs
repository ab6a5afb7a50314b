//! The process that listens on an address, as `/proc` shows it.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The holder of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortHolder {
    /// A process that this one may look at.
    Process {
        /// The name of its program.
        name: String,
        /// The process's number.
        pid: u32,
    },
    /// A process of another user.
    Hidden,
}

/// The process that listens on an address, or on one that stands for it as well; nothing if there is none.
pub fn find(address: SocketAddr) -> Option<PortHolder> {
    let tables =
        ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default());
    let mut sockets = tables.iter().flat_map(|table| table.lines().filter_map(listening));
    let (_, inode) = sockets.find(|(other, _)| overlap(address, *other))?;
    Some(process_with(inode).unwrap_or(PortHolder::Hidden))
}

/// Whether a process runs whose program has such a name.
pub fn runs(is_meant: impl Fn(&str) -> bool) -> bool {
    pids().any(|pid| name_of(pid).is_some_and(|name| is_meant(&name)))
}

/// The address and the inode of a line about a socket that listens.
fn listening(line: &str) -> Option<(SocketAddr, u64)> {
    let mut columns = line.split_ascii_whitespace();
    let (ip, port) = columns.nth(1)?.split_once(':')?;
    if columns.nth(1)? != LISTEN {
        return None;
    }
    let inode = columns.nth(5)?.parse().ok()?;
    Some((SocketAddr::new(parse_ip(ip)?, u16::from_str_radix(port, 16).ok()?), inode))
}

/// `TCP_LISTEN`.
const LISTEN: &str = "0A";

/// Words of 32 bits, each in the byte order of the machine.
fn parse_ip(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(hex.get(at..at + 8)?, 16).ok();
    if hex.len() == 8 {
        return Some(Ipv4Addr::from(word(0)?.to_ne_bytes()).into());
    }
    let mut bytes = [0; 16];
    for (idx, place) in bytes.chunks_exact_mut(4).enumerate() {
        place.copy_from_slice(&word(8 * idx)?.to_ne_bytes());
    }
    Some(Ipv6Addr::from(bytes).into())
}

/// Whether both cannot be listened on at once. A socket for all addresses of IPv6 is mostly one for IPv4, too.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port()
        && match (one.ip().to_canonical(), other.ip().to_canonical()) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                one == other || one.is_unspecified() || other.is_unspecified()
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                one == other || one.is_unspecified() || other.is_unspecified()
            }
            (IpAddr::V4(_), IpAddr::V6(other)) => other.is_unspecified(),
            (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
}

fn process_with(inode: u64) -> Option<PortHolder> {
    let wanted = format!("socket:[{inode}]");
    let has_it = |pid: &u32| {
        let mut open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.any(|entry| {
            fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str() == wanted.as_str())
        })
    };
    let pid = pids().find(has_it)?;
    Some(PortHolder::Process { name: name_of(pid)?, pid })
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn name_of(pid: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_socket_that_listens_is_found_by_all_of_its_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for ip in ["127.0.0.1", "0.0.0.0"] {
            let address = SocketAddr::new(ip.parse().unwrap(), port);
            let Some(PortHolder::Process { pid, .. }) = find(address) else { panic!("{address} is free") };
            assert_eq!(pid, std::process::id());
        }
        for ip in ["127.0.0.2", "::1"] {
            assert_eq!(find(SocketAddr::new(ip.parse().unwrap(), port)), None, "{ip}");
        }
        drop(listener);
    }

    #[test]
    fn lines_are_read() {
        let line =
            "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1";
        let expected = if cfg!(target_endian = "little") { "127.0.0.1:8080" } else { "1.0.0.127:8080" };
        assert_eq!(listening(line), Some((expected.parse().unwrap(), 77)));
        assert_eq!(listening(&line.replace(" 0A ", " 01 ")), None);
        for line in ["", "sl local_address", "0: zz:1 0:0 0A 0 0 0 0 0 0", "0: 0100007F"] {
            assert_eq!(listening(line), None, "{line}");
        }
    }

    #[test]
    fn addresses_overlap() {
        let check = |one: &str, other: &str, expected| {
            assert_eq!(overlap(one.parse().unwrap(), other.parse().unwrap()), expected, "{one} {other}");
        };
        check("0.0.0.0:80", "127.0.0.1:80", true);
        check("127.0.0.1:80", "[::]:80", true);
        check("[::]:80", "127.0.0.1:80", false);
        check("[::1]:80", "[::]:80", true);
        check("127.0.0.1:80", "127.0.0.1:81", false);
        check("127.0.0.1:80", "[::1]:80", false);
    }
}
