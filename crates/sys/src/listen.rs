//! Listening sockets.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::datagram;
use crate::socket::refuse_descriptors;

/// How to listen on an IPv4 or IPv6 address.
#[derive(Debug, Clone, Copy)]
pub struct Inet {
    /// Address and port; port 0 takes a free one. IPv6 sockets never accept IPv4.
    pub address: SocketAddr,
    /// Length of the accept queue; `None` is the system's maximum.
    pub backlog: Option<u32>,
    /// Sockets that share the address, each with a queue of its own.
    pub n_sockets: u16,
    /// Whether the address must be free. Without it another socket of the same user may share it
    /// if that was bound here too: for the change between `*:80` and `127.0.0.1:80`.
    pub exclusive: bool,
}

/// Binds and listens on an IPv4 or IPv6 address. Non-blocking, close-on-exec.
///
/// # Errors
/// `AddrInUse`, `PermissionDenied` (ports below 1024), `AddrNotAvailable`.
pub fn inet(options: &Inet) -> io::Result<Vec<OwnedFd>> {
    if options.exclusive && options.address.port() != 0 {
        // Sockets that share an address do not notice a stranger that shares it as well (one of the
        // same user), so a socket that does not share asks first.
        inet_socket(options.address, Share::No)?;
    }
    let mut address = options.address;
    let mut sockets = Vec::new();
    for _ in 0..options.n_sockets.max(1) {
        let socket = inet_socket(address, Share::Yes)?;
        listen(&socket, options.backlog)?;
        address = local_address(&socket)?;
        sockets.push(socket);
    }
    Ok(sockets)
}

/// Binds further sockets to the address of a listening one. They take connections from their first
/// [`set_backlog`] on; until then they can be closed without resetting anybody.
///
/// # Errors
/// Errors of socket(2) and bind(2).
pub fn join(socket: &OwnedFd, n_sockets: usize) -> io::Result<Vec<OwnedFd>> {
    let address = local_address(socket)?;
    (0..n_sockets).map(|_| inet_socket(address, Share::Yes)).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    Yes,
    No,
}

fn inet_socket(address: SocketAddr, share: Share) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = stream_socket(family)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if share == Share::Yes {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    // Inherited by every accepted connection, which saves a system call for each: replies are written
    // whole, and the last piece of a long one must not wait for an acknowledgement.
    sockopt::set_tcp_nodelay(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

/// Has connections that are accepted from the socket acknowledge a request in the packet of the reply, and not in one
/// of its own (`TCP_QUICKACK`); the kernel waits for that for 40 ms. A connection that waits for more input has to
/// acknowledge by itself what has come.
fn acknowledge_late(socket: &OwnedFd) {
    // Fails for a Unix socket, which has no packets.
    let _ = sockopt::set_tcp_quickack(socket, false);
}

fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

fn listen(socket: &OwnedFd, backlog: Option<u32>) -> io::Result<()> {
    let backlog = backlog.map_or(i32::MAX, |backlog| i32::try_from(backlog).unwrap_or(i32::MAX));
    rustix::net::listen(socket, backlog)?;
    // Not before: the kernel forgets it when a socket begins to listen.
    acknowledge_late(socket);
    Ok(())
}

/// Gives a listening socket another length of its accept queue; `None` is the system's maximum.
///
/// # Errors
/// Errors of listen(2).
pub fn set_backlog(socket: &OwnedFd, backlog: Option<u32>) -> io::Result<()> {
    listen(socket, backlog)
}

/// The address that a socket got, when it was bound to port 0.
pub fn local_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let address = rustix::net::getsockname(socket)?;
    SocketAddr::try_from(address).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Binds and listens on a socket file, created with `mode`. The file of a dead socket, one without a listener, is
/// replaced. Non-blocking, close-on-exec.
///
/// # Errors
/// `AddrInUse` when a process listens there or the file is something else, `NotFound` when the folder is missing,
/// `InvalidInput` for a path above 107 bytes.
pub fn unix(path: &Path, mode: u32, backlog: Option<u32>) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let socket = stream_socket(AddressFamily::UNIX)?;
    refuse_descriptors(&socket);
    // The file gets them with its name: later, that name could lead to another file.
    rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode))?;
    let umask = rustix::process::umask(Mode::empty());
    let bound = bind_over(&socket, path, &address);
    rustix::process::umask(umask);
    bound?;
    if let Err(error) = listen(&socket, backlog) {
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(socket)
}

/// Whether a socket file has no listener, and the path is no other file.
pub fn is_free(path: &Path) -> io::Result<bool> {
    let address = SocketAddrUnix::new(path)?;
    Ok(fs::symlink_metadata(path).is_err() || is_dead(path, &address))
}

fn bind_over(socket: &OwnedFd, path: &Path, address: &SocketAddrUnix) -> io::Result<()> {
    match rustix::net::bind(socket, address) {
        Err(Errno::ADDRINUSE) if is_dead(path, address) => {
            fs::remove_file(path)?;
            Ok(rustix::net::bind(socket, address)?)
        }
        bound => Ok(bound?),
    }
}

/// Whether the path is a socket file without a listener.
fn is_dead(path: &Path, address: &SocketAddrUnix) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket());
    if !is_socket {
        return false;
    }
    let Ok(socket) = stream_socket(AddressFamily::UNIX) else {
        return false;
    };
    // A full queue answers `EAGAIN`: a process listens.
    rustix::net::connect(&socket, address) == Err(Errno::CONNREFUSED)
}

/// Binds and listens on a name in the abstract namespace. Non-blocking, close-on-exec.
///
/// # Errors
/// `AddrInUse`; `InvalidInput` for a name above 107 bytes.
pub fn abstract_name(name: &[u8], backlog: Option<u32>) -> io::Result<OwnedFd> {
    let socket = stream_socket(AddressFamily::UNIX)?;
    refuse_descriptors(&socket);
    rustix::net::bind(&socket, &SocketAddrUnix::new_abstract_name(name)?)?;
    listen(&socket, backlog)?;
    Ok(socket)
}

/// Takes a connection that waits: non-blocking, close-on-exec, with the client's address if that is one of IPv4 or
/// IPv6.
///
/// # Errors
/// `WouldBlock` when none waits, and those of accept(2).
pub fn accept(socket: &OwnedFd) -> io::Result<(OwnedFd, Option<SocketAddr>)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (connection, address) = rustix::net::acceptfrom_with(socket, flags)?;
    Ok((connection, address.and_then(|address| SocketAddr::try_from(address).ok())))
}

/// Where a socket listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Local {
    /// IPv4 or IPv6.
    Inet(SocketAddr),
    /// A socket file.
    Unix(PathBuf),
    /// A name in the abstract namespace.
    Abstract(Vec<u8>),
    /// IPv4 or IPv6, for datagrams.
    Udp(SocketAddr),
}

/// Prepares a socket that another process has made for being listened on here: non-blocking, and what `inet` says.
///
/// # Errors
/// `InvalidInput` for anything but a stream socket that listens, or a socket of UDP.
pub fn adopt(socket: &OwnedFd) -> io::Result<Local> {
    let kind = sockopt::socket_type(socket)?;
    if kind == SocketType::DGRAM && sockopt::socket_domain(socket)? != AddressFamily::UNIX {
        return datagram::adopt(socket).map(Local::Udp);
    }
    let is_stream = kind == SocketType::STREAM;
    if !is_stream || !sockopt::socket_acceptconn(socket)? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a stream socket that listens"));
    }
    let flags = rustix::fs::fcntl_getfl(socket)?;
    rustix::fs::fcntl_setfl(socket, flags | rustix::fs::OFlags::NONBLOCK)?;
    let address = rustix::net::getsockname(socket)?;
    if let Ok(address) = SocketAddr::try_from(address.clone()) {
        sockopt::set_tcp_nodelay(socket, true)?;
        acknowledge_late(socket);
        return Ok(Local::Inet(address));
    }
    refuse_descriptors(socket);
    let address = SocketAddrUnix::try_from(address)?;
    let path = address.path_bytes().map(|path| PathBuf::from(OsStr::from_bytes(path)));
    let name = || address.abstract_name().map(<[u8]>::to_vec);
    let local = path.map(Local::Unix).or_else(|| name().map(Local::Abstract));
    local.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no address"))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn inet_on(address: &str, n_sockets: u16) -> io::Result<Vec<OwnedFd>> {
        let address = address.parse().unwrap();
        inet(&Inet { address, backlog: None, n_sockets, exclusive: true })
    }

    #[test]
    fn a_group_shares_one_port() {
        let sockets = inet_on("127.0.0.1:0", 4).unwrap();
        let addresses: Vec<_> = sockets.iter().map(|socket| local_address(socket).unwrap()).collect();
        assert_eq!(addresses.len(), 4);
        assert!(addresses.iter().all(|address| *address == addresses[0]));
        TcpStream::connect(addresses[0]).unwrap();
    }

    #[test]
    fn who_waits_is_accepted_with_its_address() {
        let sockets = inet_on("127.0.0.1:0", 1).unwrap();
        assert_eq!(accept(&sockets[0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let client = TcpStream::connect(local_address(&sockets[0]).unwrap()).unwrap();
        let (connection, address) = accept(&sockets[0]).unwrap();
        assert_eq!(address, Some(client.local_addr().unwrap()));
        assert!(rustix::fs::fcntl_getfl(&connection).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
        let name = format!("corral-accept-{}", std::process::id()).into_bytes();
        let unix = abstract_name(&name, None).unwrap();
        let stranger = stream_socket(AddressFamily::UNIX).unwrap();
        rustix::net::connect(&stranger, &SocketAddrUnix::new_abstract_name(&name).unwrap()).unwrap();
        assert_eq!(accept(&unix).unwrap().1, None);
    }

    #[test]
    fn accepted_connections_acknowledge_late() {
        let socket = inet_on("127.0.0.1:0", 1).unwrap().remove(0);
        let _client = TcpStream::connect(local_address(&socket).unwrap()).unwrap();
        let (connection, _) = accept(&socket).unwrap();
        assert!(!sockopt::tcp_quickack(&connection).unwrap());
        assert!(sockopt::tcp_nodelay(&connection).unwrap());
    }

    #[track_caller]
    fn check_in_use(address: &str) {
        let error = inet_on(address, 2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_taken_port_is_reported() {
        let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
        check_in_use(&stranger.local_addr().unwrap().to_string());
        let ours = inet_on("127.0.0.1:0", 2).unwrap();
        check_in_use(&local_address(&ours[0]).unwrap().to_string());
    }

    #[test]
    fn an_address_that_is_ours_can_be_shared() {
        let old = inet_on("127.0.0.1:0", 2).unwrap();
        let port = local_address(&old[0]).unwrap().port();
        let address = ([127, 0, 0, 1], port).into();
        let another = Inet { address, backlog: Some(5), n_sockets: 1, exclusive: false };
        inet(&another).unwrap();
        assert!(inet(&Inet { exclusive: true, ..another }).is_err());
    }

    #[test]
    fn an_address_of_another_machine_is_reported() {
        assert_eq!(inet_on("192.0.2.1:1", 1).unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn ipv6_is_not_ipv4() {
        let Ok(six) = inet_on("[::1]:0", 1) else {
            return; // no IPv6 on this machine
        };
        assert!(sockopt::ipv6_v6only(&six[0]).unwrap());
    }

    fn socket_path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("corral-{name}-{}.sock", std::process::id()))
    }

    #[test]
    fn a_dead_socket_is_replaced_and_a_live_one_is_not() {
        let path = socket_path("dead");
        drop(UnixListener::bind(&path).unwrap());
        let socket = unix(&path, 0o666, None).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
        UnixStream::connect(&path).unwrap();
        assert_eq!(unix(&path, 0o666, None).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(socket);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn other_files_are_left_alone() {
        let path = socket_path("file");
        fs::write(&path, "precious").unwrap();
        assert_eq!(unix(&path, 0o666, None).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn bad_paths_are_errors() {
        let error = unix(Path::new("/no/such/folder/socket"), 0o666, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(unix(&PathBuf::from("/tmp/".to_owned() + &"x".repeat(120)), 0o666, None).is_err());
    }

    #[test]
    fn abstract_names_leave_no_file() {
        let name = format!("corral-test-{}", std::process::id());
        let socket = abstract_name(name.as_bytes(), None).unwrap();
        assert_eq!(abstract_name(name.as_bytes(), None).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(socket);
        abstract_name(name.as_bytes(), None).unwrap();
    }

    #[test]
    fn sockets_of_others_say_where_they_listen() {
        let inet = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = inet.local_addr().unwrap();
        let inet = OwnedFd::from(inet);
        assert_eq!(adopt(&inet).unwrap(), Local::Inet(address));
        assert!(rustix::fs::fcntl_getfl(&inet).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
        let path = socket_path("given");
        let unix = OwnedFd::from(UnixListener::bind(&path).unwrap());
        assert_eq!(adopt(&unix).unwrap(), Local::Unix(path.clone()));
        fs::remove_file(&path).unwrap();
        let name = format!("corral-given-{}", std::process::id()).into_bytes();
        assert_eq!(adopt(&abstract_name(&name, None).unwrap()).unwrap(), Local::Abstract(name));
        let datagram = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = datagram.local_addr().unwrap();
        assert_eq!(adopt(&datagram.into()).unwrap(), Local::Udp(address));
        let local = std::os::unix::net::UnixDatagram::unbound().unwrap();
        assert!(adopt(&local.into()).is_err());
        assert!(adopt(&stream_socket(AddressFamily::INET).unwrap()).is_err(), "it does not listen");
    }
}
