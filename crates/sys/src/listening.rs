//! Sockets that listen on ports, from the kernel's tables, and the processes that have them.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// A socket that listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortListener {
    /// The address that it is bound to.
    pub address: SocketAddr,
    /// The user that has made it.
    pub uid: u32,
    /// The target of its descriptors' links in `/proc`.
    pub file: PathBuf,
}

/// A process that has a port, as far as this one may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListeningProcess {
    /// Name of its program, without control characters.
    pub name: String,
    /// Process id.
    pub pid: u32,
}

impl fmt::Display for ListeningProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

/// All sockets that listen on ports of this network namespace.
pub fn listeners() -> Vec<PortListener> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| in_table(table)).collect()
}

/// Whether this process listens on a port.
pub fn is_own(port: u16) -> bool {
    let sockets = listeners().into_iter().filter(|listener| listener.address.port() == port);
    has_one(std::process::id(), &sockets.map(|socket| socket.file).collect())
}

/// The process that keeps an address from being bound; `None` if that is not told to this process' user.
pub fn holder(address: SocketAddr) -> Option<ListeningProcess> {
    let sockets: Vec<_> = listeners().into_iter().filter(|other| collides(other.address, address)).collect();
    let uid = sockets.first()?.uid;
    let files: HashSet<_> = sockets.into_iter().map(|socket| socket.file).collect();
    let holders: Vec<_> = processes().filter(|pid| has_one(*pid, &files)).collect();
    let pid = match first_ones(&holders)[..] {
        [pid, ..] => pid,
        // It may hide its descriptors, as this program does. A user seldom starts that twice.
        [] => match first_ones(&alike(uid))[..] {
            [pid] => pid,
            _ => return None,
        },
    };
    Some(ListeningProcess { name: name_of(pid), pid })
}

fn has_one(pid: u32, files: &HashSet<PathBuf>) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut links = entries.take(MOST_DESCRIPTORS).filter_map(|entry| fs::read_link(entry.path()).ok());
    links.any(|link| files.contains(&link))
}

/// The processes whose parent is not among them: the children of a server have its sockets, too.
fn first_ones(pids: &[u32]) -> Vec<u32> {
    let is_first = |pid: &u32| parent(*pid).is_none_or(|parent| !pids.contains(&parent));
    pids.iter().copied().filter(is_first).collect()
}

/// Other processes of this program that hide their descriptors, and run as a user.
fn alike(uid: u32) -> Vec<u32> {
    let own = std::process::id();
    let name = name_of(own);
    let is_hidden = |pid: &u32| fs::read_dir(format!("/proc/{pid}/fd")).is_err();
    processes()
        .filter(|pid| *pid != own && is_hidden(pid) && user_of(*pid) == Some(uid) && name_of(*pid) == name)
        .collect()
}

/// The user of a process. The owner of its files in `/proc` may be root, if it hides something.
fn user_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// More descriptors of a process are not looked at.
const MOST_DESCRIPTORS: usize = 4096;

/// Whether a socket that listens on one address keeps another one from it.
fn collides(one: SocketAddr, other: SocketAddr) -> bool {
    let same_ip = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && same_ip
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before, in parentheses, may hold anything.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The name by which people know a process: that of its program, or the first word of the title that it has given
/// itself.
fn name_of(pid: u32) -> String {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = command.split(|byte| byte.is_ascii_whitespace() || *byte == 0).next().unwrap_or_default();
    let first = String::from_utf8_lossy(first).into_owned();
    let name =
        Path::new(first.trim_end_matches(':')).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default());
    name.trim().chars().filter(|letter| !letter.is_control()).take(LONGEST_NAME).collect()
}

const LONGEST_NAME: usize = 40;

/// The listening sockets in the kernel's table.
fn in_table(table: &str) -> impl Iterator<Item = PortListener> {
    table.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_ascii_whitespace();
        let (local, state) = (words.nth(1)?, words.nth(1)?);
        let (address, port) = local.rsplit_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let (uid, inode) = (words.nth(3)?.parse().ok()?, words.nth(1)?);
        let file = format!("socket:[{inode}]").into();
        let address = SocketAddr::new(ip(address)?, port);
        (state == LISTENING).then_some(PortListener { address, uid, file })
    })
}

const LISTENING: &str = "0A";

/// The kernel writes an address in words of four bytes, each in this machine's order.
fn ip(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = text.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let bytes = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_kernel_s_table_tells_which_socket_listens() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 17 1 0 100\n\
            \x20  1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000   33        0 18 1 0 100\n\
            \x20  2: 00000000000000000000000001000000:1F90 0:0 0A 0:0 00:0 0 33 0 19 1 0 100\n\
            \x20  3: x\n";
        let found: Vec<_> = in_table(table).collect();
        let listener = |address: &str, uid, inode| PortListener {
            address: address.parse().unwrap(),
            uid,
            file: format!("socket:[{inode}]").into(),
        };
        if cfg!(target_endian = "little") {
            assert_eq!(found, [listener("127.0.0.1:8080", 1000, 17), listener("[::1]:8080", 33, 19)]);
        }
        assert!(ip("0").is_none() && ip("zzzzzzzz").is_none() && ip("é".repeat(4).as_str()).is_none());
    }

    #[test]
    fn the_holder_of_a_port_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let holder = holder(address).unwrap();
        assert_eq!(holder.pid, std::process::id());
        let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
        assert_eq!(super::holder(any), Some(holder.clone()));
        assert!(is_own(address.port()) && !is_own(1));
        assert!(
            !holder.name.is_empty() && holder.to_string().ends_with(&format!("(process {})", holder.pid))
        );
        drop(listener);
        assert_eq!(super::holder(address), None);
    }
}
