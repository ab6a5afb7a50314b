//! Datagrams of UDP, with the address of this machine that they were sent to: an answer is to come from the same one,
//! also where a socket has all of them.

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::listen;

/// A datagram that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes in the buffer.
    pub len: usize,
    /// The datagram did not fit; what is missing is lost.
    pub is_truncated: bool,
    /// The sender.
    pub peer: SocketAddr,
    /// The address of this machine that it was sent to.
    pub local: LocalIp,
}

/// An address of this machine, with the network interface that a link-local one belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocalIp {
    ip: IpAddr,
    interface: u32,
}

/// Binds an address of UDP. Non-blocking, close-on-exec. With `exclusive` the address must be free; without, another
/// socket of the same user may share it that was bound here.
///
/// # Errors
/// `AddrInUse`, `PermissionDenied` (ports below 1024), `AddrNotAvailable`.
pub fn bind(address: SocketAddr, exclusive: bool) -> io::Result<OwnedFd> {
    if exclusive && address.port() != 0 {
        bind_socket(address, false)?;
    }
    bind_socket(address, true)
}

fn bind_socket(address: SocketAddr, shares: bool) -> io::Result<OwnedFd> {
    let socket = socket(address)?;
    if shares {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    tell_local_addresses(&socket, address)?;
    Ok(socket)
}

/// A socket that sends to one address and receives from it alone. Non-blocking, close-on-exec.
///
/// # Errors
/// Errors of socket(2) and connect(2): no descriptor or no port is left, no way leads there.
pub fn connect(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = socket(address)?;
    rustix::net::connect(&socket, &address)?;
    Ok(socket)
}

fn socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?)
}

/// Prepares a socket of UDP that another process has bound; its address.
///
/// # Errors
/// Errors of fcntl(2) and getsockname(2).
pub(crate) fn adopt(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let flags = rustix::fs::fcntl_getfl(socket)?;
    rustix::fs::fcntl_setfl(socket, flags | rustix::fs::OFlags::NONBLOCK)?;
    let address = listen::local_address(socket)?;
    tell_local_addresses(socket, address)?;
    Ok(address)
}

/// Has the kernel tell which address a datagram was sent to.
fn tell_local_addresses(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let (level, name) = match address {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_PKTINFO),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
    };
    let (yes, len) = (1 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the descriptor is open while it is borrowed, and the value has the length that is given.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const yes).cast(), len) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Room for the control data of one datagram, aligned as `cmsghdr` is.
type ControlData = [MaybeUninit<u64>; 16];

/// Receives one datagram into the buffer. Does not wait.
///
/// # Errors
/// Errors of recvmsg(2); `WouldBlock` when there is none, `InvalidData` for one that does not say whence it comes.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Datagram> {
    // SAFETY: zeros are an address of no family.
    let mut from: libc::sockaddr_storage = unsafe { mem::zeroed() };
    // SAFETY: for this structure, zeros are neither pointers nor lengths.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control: ControlData = [MaybeUninit::uninit(); 16];
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = size_of_val(&from) as libc::socklen_t;
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    let (fd, flags) = (socket.as_fd().as_raw_fd(), libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
    let len = loop {
        // SAFETY: the address, the piece and the control data are as long as is said, and live through the call.
        match usize::try_from(unsafe { libc::recvmsg(fd, &raw mut message, flags) }) {
            Ok(len) => break len,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    };
    // SAFETY: the kernel has just filled it.
    let peer = unsafe { socket_address(&from) };
    // SAFETY: as above.
    let local = unsafe { local_address(&message) };
    let (Some(peer), Some(local)) = (peer, local) else { return Err(io::ErrorKind::InvalidData.into()) };
    Ok(Datagram { len, is_truncated: message.msg_flags & libc::MSG_TRUNC != 0, peer, local })
}

/// The address in a structure that a call has filled.
///
/// # Safety
/// The structure is initialised as its family says.
unsafe fn socket_address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let storage = (&raw const *storage).cast::<libc::sockaddr>();
    // SAFETY: every address begins so.
    match libc::c_int::from(unsafe { (*storage).sa_family }) {
        libc::AF_INET => {
            // SAFETY: the storage has room for any address, and by its family it is of this kind.
            let address = unsafe { *storage.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
            Some((ip, u16::from_be(address.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let address = unsafe { *storage.cast::<libc::sockaddr_in6>() };
            let (ip, port) = (Ipv6Addr::from(address.sin6_addr.s6_addr), u16::from_be(address.sin6_port));
            let (flow, scope) = (address.sin6_flowinfo, address.sin6_scope_id);
            Some(std::net::SocketAddrV6::new(ip, port, flow, scope).into())
        }
        _ => None,
    }
}

/// The address that a datagram was sent to.
///
/// # Safety
/// The message's control data is as recvmsg(2) has left it.
unsafe fn local_address(message: &libc::msghdr) -> Option<LocalIp> {
    // SAFETY: by the contract, here and below: heads are within the control data, as are the bytes behind them.
    let mut head = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !head.is_null() {
        // SAFETY: as above.
        let libc::cmsghdr { cmsg_level, cmsg_type, .. } = unsafe { *head };
        // SAFETY: as above.
        let data = unsafe { libc::CMSG_DATA(head) };
        match (cmsg_level, cmsg_type) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // SAFETY: as above; the kernel puts a whole structure there.
                let info = unsafe { data.cast::<libc::in_pktinfo>().read_unaligned() };
                // Of a broadcast, the address that an answer can come from.
                let ip = Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr));
                return Some(LocalIp { ip: ip.into(), interface: 0 });
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                // SAFETY: as above.
                let info = unsafe { data.cast::<libc::in6_pktinfo>().read_unaligned() };
                let ip = Ipv6Addr::from(info.ipi6_addr.s6_addr);
                let interface = if ip.is_unicast_link_local() { info.ipi6_ifindex } else { 0 };
                return Some(LocalIp { ip: ip.into(), interface });
            }
            _ => {}
        }
        // SAFETY: as above.
        head = unsafe { libc::CMSG_NXTHDR(message, head) };
    }
    None
}

/// Sends one datagram from an address of this machine. Does not wait.
///
/// # Errors
/// Errors of sendmsg(2); `WouldBlock` when there is no room, `AddrNotAvailable` when the machine has lost the address.
pub fn send_from(socket: impl AsFd, bytes: &[u8], peer: SocketAddr, local: LocalIp) -> io::Result<()> {
    // SAFETY: for this structure, zeros are neither pointers nor lengths.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    let mut to = rustix::net::SocketAddrAny::from(peer);
    let mut piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control: ControlData = [MaybeUninit::zeroed(); 16];
    message.msg_name = to.as_mut_ptr().cast();
    message.msg_namelen = to.addr_len();
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the control data is zeroed, and as long as is said.
    message.msg_controllen = unsafe { push_source(&message, local) } as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    loop {
        // SAFETY: the address, the piece, which is only read, and the control data live through the call.
        if unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, flags) } >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Says in a message's control data which address it comes from; the length of that.
///
/// # Safety
/// The message has control data that may be written, and has room for a structure of this kind.
unsafe fn push_source(message: &libc::msghdr, local: LocalIp) -> usize {
    match local.ip {
        IpAddr::V4(ip) => {
            let spec_dst = libc::in_addr { s_addr: u32::from(ip).to_be() };
            let none = libc::in_addr { s_addr: 0 };
            let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: spec_dst, ipi_addr: none };
            // SAFETY: by the contract.
            unsafe { push(message, (libc::IPPROTO_IP, libc::IP_PKTINFO), info) }
        }
        IpAddr::V6(ip) => {
            let addr = libc::in6_addr { s6_addr: ip.octets() };
            let info = libc::in6_pktinfo { ipi6_addr: addr, ipi6_ifindex: local.interface };
            // SAFETY: by the contract.
            unsafe { push(message, (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO), info) }
        }
    }
}

/// Makes a value the only control data of a message; the length of that.
///
/// # Safety
/// As for `push_source`.
unsafe fn push<T>(message: &libc::msghdr, (level, kind): (libc::c_int, libc::c_int), value: T) -> usize {
    let len = size_of::<T>() as libc::c_uint;
    // SAFETY: there is control data, so that there is a first head.
    let head = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: it only calculates.
    let cmsg_len = unsafe { libc::CMSG_LEN(len) };
    // SAFETY: by the contract, the head may be written; where it has further fields, they are zero.
    let mut filled = unsafe { head.read() };
    (filled.cmsg_len, filled.cmsg_level, filled.cmsg_type) = (cmsg_len as _, level, kind);
    // SAFETY: as above.
    unsafe { head.write(filled) };
    // SAFETY: it only calculates.
    let data = unsafe { libc::CMSG_DATA(head) };
    // SAFETY: by the contract, there is room for it.
    unsafe { data.cast::<T>().write_unaligned(value) };
    // SAFETY: it only calculates.
    (unsafe { libc::CMSG_SPACE(len) }) as usize
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn received(socket: &OwnedFd, room: usize) -> (Vec<u8>, Datagram) {
        let mut buffer = vec![0; room];
        let datagram = (0..1000).find_map(|_| match receive(socket, &mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::yield_now();
                None
            }
            received => Some(received),
        });
        let datagram = datagram.expect("it comes at once on this machine").unwrap();
        buffer.truncate(datagram.len);
        (buffer, datagram)
    }

    /// A client that sends to `to` gets its answer from there, though the socket has all addresses.
    #[track_caller]
    fn check(any: &str, to: &str) {
        let socket = bind(any.parse().unwrap(), true).unwrap();
        let port = listen::local_address(&socket).unwrap().port();
        let to = SocketAddr::new(to.parse().unwrap(), port);
        let client = UdpSocket::bind((to.ip(), 0)).unwrap();
        client.connect(to).unwrap();
        client.send(b"question").unwrap();
        let (bytes, datagram) = received(&socket, 64);
        assert_eq!((bytes.as_slice(), datagram.peer), (&b"question"[..], client.local_addr().unwrap()));
        send_from(&socket, b"answer", datagram.peer, datagram.local).unwrap();
        let mut answer = [0; 64];
        assert_eq!(client.recv(&mut answer).unwrap(), 6, "a connected socket hears nothing of others");
    }

    #[test]
    fn answers_come_from_the_address_that_was_asked() {
        check("0.0.0.0:0", "127.0.0.1");
        check("0.0.0.0:0", "127.9.8.7");
        check("127.0.0.1:0", "127.0.0.1");
        if UdpSocket::bind("[::1]:0").is_ok() {
            check("[::]:0", "::1");
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let socket = bind("127.0.0.1:0".parse().unwrap(), true).unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(listen::local_address(&socket).unwrap()).unwrap();
        client.send(&[7; 100]).unwrap();
        client.send(b"").unwrap();
        let (bytes, datagram) = received(&socket, 10);
        assert_eq!((bytes.len(), datagram.is_truncated), (10, true));
        let (bytes, datagram) = received(&socket, 10);
        assert_eq!((bytes.len(), datagram.is_truncated), (0, false));
        assert_eq!(receive(&socket, &mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn an_address_is_bound_once_unless_it_may_be_shared() {
        let first = bind("127.0.0.1:0".parse().unwrap(), true).unwrap();
        let address = listen::local_address(&first).unwrap();
        assert_eq!(bind(address, true).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        bind(address, false).unwrap();
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(bind(stranger.local_addr().unwrap(), true).is_err());
    }
}
