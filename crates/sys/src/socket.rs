//! Socket pairs that carry datagrams and descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use crate::deferred_close;

/// Most descriptors that the kernel lets one datagram carry (`SCM_MAX_FD`).
pub const MAX_DESCRIPTORS: usize = 253;

/// Whether a call may wait for the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until it can be done.
    Block,
    /// Not at all: `WouldBlock` is the answer.
    Never,
}

/// One received datagram.
#[derive(Debug)]
pub struct Received {
    /// Bytes written to the buffer. Zero with no descriptors means that the other side is closed.
    pub len: usize,
    /// The descriptors that came along, close-on-exec.
    pub fds: Vec<OwnedFd>,
    /// The datagram did not fit; what is missing is lost.
    pub truncated: bool,
    /// Descriptors are missing, as this process may not have more.
    pub lacks_descriptors: bool,
}

/// Two connected `SOCK_SEQPACKET` sockets, close-on-exec: message boundaries are kept and the end
/// of the other side is seen.
pub fn seqpacket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    Ok(pair)
}

/// Two connected `SOCK_STREAM` sockets of this machine, close-on-exec.
///
/// # Errors
/// Errors of socketpair(2): no descriptor is left.
pub fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    Ok(pair)
}

/// Forbids sending descriptors to this Unix socket, or to those that it will accept. A process that closes it, or
/// receives without asking for them, closes what came, which takes as long as others like for a socket that lingers
/// (`SO_LINGER`). False before Linux 6.16, which cannot do it: then [`receive_local`] and [`deferred_close`] are for
/// such sockets.
pub fn refuse_descriptors(socket: impl AsFd) -> bool {
    const SO_PASSRIGHTS: libc::c_int = 83;
    let (no, len) = (0 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open while it is borrowed, and the value has the length that is given.
    let set =
        unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, SO_PASSRIGHTS, (&raw const no).cast(), len) };
    set == 0
}

/// Has a socket that is bound to an address get its port when it connects, so that as many connections can come from
/// the address as from any other. Without effect where the system cannot do it.
pub fn choose_port_late(socket: impl AsFd) {
    let (yes, len) = (1 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
    let socket = socket.as_fd().as_raw_fd();
    let option = libc::IP_BIND_ADDRESS_NO_PORT;
    // SAFETY: the descriptor is open while it is borrowed, and the value has the length that is given.
    unsafe { libc::setsockopt(socket, libc::IPPROTO_IP, option, (&raw const yes).cast(), len) };
}

/// Whether this kernel lets sockets refuse descriptors.
#[must_use]
pub fn can_refuse_descriptors() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    // Where there is no descriptor left to find out by, the answer is the one that is always right.
    *CAN.get_or_init(|| stream_pair().is_ok_and(|(socket, _)| refuse_descriptors(socket)))
}

/// Sends one datagram with descriptors; the receiver gets duplicates.
///
/// # Errors
/// `BrokenPipe` or `ConnectionReset` when the other side is closed, `WouldBlock` when its queue is
/// full and `wait` forbids to wait, `InvalidInput` for more than [`MAX_DESCRIPTORS`].
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>], wait: Wait) -> io::Result<()> {
    if fds.len() > MAX_DESCRIPTORS {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many descriptors for one message"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        let pushed = control.push(SendAncillaryMessage::ScmRights(fds));
        debug_assert!(pushed, "the space was sized for the maximum");
    }
    let flags =
        SendFlags::NOSIGNAL | if wait == Wait::Never { SendFlags::DONTWAIT } else { SendFlags::empty() };
    rustix::io::retry_on_intr(|| rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags))?;
    Ok(())
}

/// Appends what a stream has for its reader to the room that is left in `buffer`, which must be some; 0 at the end.
/// Does not wait, whatever the socket's other owners have made of it.
///
/// # Errors
/// Errors of recv(2); `WouldBlock` when there is nothing yet.
pub fn receive(socket: impl AsFd, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let (n, _) = rustix::io::retry_on_intr(|| {
        rustix::net::recv(&socket, rustix::buffer::spare_capacity(buffer), RecvFlags::DONTWAIT)
    })?;
    Ok(n)
}

/// The same of a Unix socket, to which anybody may send descriptors: they are closed in another thread. A call that
/// does not ask for them closes them itself, and waits with those whose end is waited for. Says too whether some came:
/// then there may be more to read, although there was room for it.
///
/// # Errors
/// As for [`receive`].
pub fn receive_local(socket: impl AsFd, buffer: &mut Vec<u8>) -> io::Result<(usize, bool)> {
    let room = buffer.spare_capacity_mut();
    let mut pieces = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    let mut space = [MaybeUninit::<u64>::uninit(); CONTROL_WORDS];
    // SAFETY: for this structure, zeros are neither pointers nor lengths.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut pieces;
    message.msg_iovlen = 1;
    message.msg_control = space.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&space) as _;
    let (fd, flags) = (socket.as_fd().as_raw_fd(), libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
    let received = loop {
        // SAFETY: the pieces and the space for control data are as long as is said, and live through the call.
        match usize::try_from(unsafe { libc::recvmsg(fd, &raw mut message, flags) }) {
            Ok(received) => break received,
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    };
    let had_descriptors = message.msg_controllen > 0;
    if had_descriptors {
        // SAFETY: the kernel has just filled it, and nothing has looked at it.
        unsafe { close_received(&message) };
    }
    // SAFETY: so many bytes were written to the room behind its bytes.
    unsafe { buffer.set_len(buffer.len() + received) };
    Ok((received, had_descriptors))
}

/// Room for as many descriptors as one message carries, aligned as `cmsghdr` is.
const CONTROL_WORDS: usize =
    (size_of::<libc::cmsghdr>() + MAX_DESCRIPTORS * size_of::<RawFd>()).div_ceil(8) + 1;

/// Closes the descriptors that came with a message.
///
/// # Safety
/// The message's control data is as recvmsg(2) has left it, and its descriptors have no owner yet.
unsafe fn close_received(message: &libc::msghdr) {
    // SAFETY: by the contract, here and below: heads are within the control data, as are the bytes behind them.
    let mut head = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !head.is_null() {
        // SAFETY: as above.
        let libc::cmsghdr { cmsg_len, cmsg_level, cmsg_type, .. } = unsafe { *head };
        if (cmsg_level, cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: as above.
            let data = unsafe { libc::CMSG_DATA(head) }.cast::<RawFd>();
            // SAFETY: it only calculates. C libraries differ in the type of the length.
            let holds =
                |n: usize| cmsg_len >= unsafe { libc::CMSG_LEN((n * size_of::<RawFd>()) as u32) } as _;
            let owned = |n| {
                // SAFETY: as above.
                let place = unsafe { data.add(n) };
                // SAFETY: as above.
                let fd = unsafe { place.read_unaligned() };
                // SAFETY: it is open, and has no other owner.
                unsafe { OwnedFd::from_raw_fd(fd) }
            };
            deferred_close::close((0..).take_while(|n| holds(n + 1)).map(owned));
        }
        // SAFETY: as above.
        head = unsafe { libc::CMSG_NXTHDR(message, head) };
    }
}

/// Sends as much as there is room for. Does not wait, as `receive`.
///
/// # Errors
/// Errors of send(2); `WouldBlock` when there is no room.
pub fn send_some(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    Ok(rustix::io::retry_on_intr(|| rustix::net::send(&socket, bytes, flags))?)
}

/// The same of several pieces, one behind the other.
///
/// # Errors
/// The errors of sendmsg(2); `WouldBlock` when there is no room.
pub fn send_pieces(socket: impl AsFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let mut control = SendAncillaryBuffer::default();
    Ok(rustix::io::retry_on_intr(|| rustix::net::sendmsg(&socket, pieces, &mut control, flags))?)
}

/// Whether the other side of a Unix socket has not read all that was sent to it; of TCP, whether its system has not
/// acknowledged all of it.
pub fn has_unread(socket: impl AsFd) -> bool {
    let mut n_unread: libc::c_int = 0;
    // SAFETY: the descriptor is open, and the kernel writes one integer to where the pointer leads.
    let result = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut n_unread) };
    result == 0 && n_unread > 0
}

/// Says that nothing more will be written.
///
/// # Errors
/// The errors of shutdown(2).
pub fn finish_writing(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::shutdown(socket, rustix::net::Shutdown::Write)?)
}

/// Takes nothing more from the other side, whose writes fail from now on.
///
/// # Errors
/// The errors of shutdown(2).
pub fn stop_reading(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::shutdown(socket, rustix::net::Shutdown::Read)?)
}

/// Has a connection of TCP reset when it is closed, instead of ended.
///
/// # Errors
/// The errors of setsockopt(2).
pub fn reset_on_close(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// Sends bytes of a stream that are to be joined with what follows at once (`MSG_MORE`).
///
/// # Errors
/// Errors of send(2); `WouldBlock` when there is no room.
pub fn send_more(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = SendFlags::NOSIGNAL | SendFlags::MORE;
    Ok(rustix::io::retry_on_intr(|| rustix::net::send(&socket, bytes, flags))?)
}

/// Has TCP hold back a packet that is not full until the connection ends, but for 200 ms at most (`TCP_CORK`). The end
/// travels in the last packet then, and not in one of its own.
///
/// # Errors
/// Errors of setsockopt(2), for example when it is not a socket of TCP.
pub fn cork(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_tcp_cork(socket, true)?)
}

/// Receives one datagram of a Unix socket with its descriptors; an empty one when the other side is closed.
///
/// # Errors
/// `WouldBlock` when nothing is there and `wait` forbids to wait.
pub fn recv(socket: BorrowedFd<'_>, buffer: &mut [u8], wait: Wait) -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags =
        RecvFlags::CMSG_CLOEXEC | if wait == Wait::Never { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
    let mut receive = || {
        rustix::io::retry_on_intr(|| {
            rustix::net::recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags)
        })
    };
    let message = match receive() {
        // The other side was closed with unread messages in its queue. That is said once, before what it has sent.
        Err(rustix::io::Errno::CONNRESET) => receive(),
        message => message,
    }?;
    let mut fds = Vec::new();
    for item in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = item {
            fds.extend(rights);
        }
    }
    let truncated = message.flags.contains(ReturnFlags::TRUNC);
    // There is room for as many as the kernel lets through.
    let lacks_descriptors = message.flags.contains(ReturnFlags::CTRUNC);
    Ok(Received { len: message.bytes, fds, truncated, lacks_descriptors })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    fn received(socket: &OwnedFd, room: usize) -> (Vec<u8>, Received) {
        let mut buffer = vec![0; room];
        let received = recv(socket.as_fd(), &mut buffer, Wait::Block).unwrap();
        buffer.truncate(received.len);
        (buffer, received)
    }

    /// Whether this kernel knows the option.
    fn is_refusing_kernel() -> bool {
        let version = rustix::system::uname().release().to_string_lossy().into_owned();
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        (numbers.next(), numbers.next()) >= (Some(6), Some(16))
    }

    #[test]
    fn all_that_is_corked_comes_with_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        cork(&server).unwrap();
        assert_eq!(send_some(&server, b"the ").unwrap(), 4);
        assert_eq!(send_pieces(&server, &[IoSlice::new(b"last "), IoSlice::new(b"word")]).unwrap(), 9);
        drop(server);
        let mut received = String::new();
        client.read_to_string(&mut received).unwrap();
        assert_eq!(received, "the last word");
        assert!(cork(stream_pair().unwrap().0).is_err(), "a Unix socket has no packets");
    }

    #[test]
    fn descriptors_can_be_refused() {
        let (a, b) = stream_pair().unwrap();
        assert_eq!(can_refuse_descriptors(), is_refusing_kernel());
        refuse_descriptors(&b);
        send(a.as_fd(), b"x", &[], Wait::Never).unwrap();
        let sent = send(a.as_fd(), b"x", &[a.as_fd()], Wait::Never);
        assert_eq!(sent.is_err(), is_refusing_kernel(), "{sent:?}");
        send(b.as_fd(), b"x", &[a.as_fd()], Wait::Never).unwrap();
    }

    #[test]
    fn those_that_are_accepted_refuse_too() {
        let path = std::env::temp_dir().join(format!("corral-refusing-{}.sock", std::process::id()));
        let listener = crate::listen::unix(&path, 0o600, None).unwrap();
        let client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let sent = send(client.as_fd(), b"x", &[client.as_fd()], Wait::Never);
        assert_eq!(sent.is_err(), is_refusing_kernel(), "{sent:?}");
        drop(listener);
    }

    #[test]
    fn boundaries_are_kept() {
        let (a, b) = seqpacket_pair().unwrap();
        send(a.as_fd(), b"one", &[], Wait::Block).unwrap();
        send(a.as_fd(), b"two!", &[], Wait::Block).unwrap();
        assert_eq!(received(&b, 64).0, b"one");
        assert_eq!(received(&b, 64).0, b"two!");
    }

    #[test]
    fn a_long_datagram_says_that_it_was_cut() {
        let (a, b) = seqpacket_pair().unwrap();
        send(a.as_fd(), b"0123456789", &[], Wait::Block).unwrap();
        let (bytes, got) = received(&b, 4);
        assert_eq!(bytes, b"0123");
        assert!(got.truncated);
    }

    #[test]
    fn descriptors_arrive_usable() {
        let (a, b) = seqpacket_pair().unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        send(a.as_fd(), b"x", &[writer.as_fd()], Wait::Block).unwrap();
        drop(writer);
        let (_, got) = received(&b, 16);
        let [fd] = <[OwnedFd; 1]>::try_from(got.fds).unwrap();
        File::from(fd).write_all(b"through").unwrap();
        assert_eq!(io::read_to_string(File::from(reader)).unwrap(), "through");
    }

    #[test]
    fn as_many_descriptors_as_the_kernel_allows() {
        let (a, b) = seqpacket_pair().unwrap();
        let fds = vec![a.as_fd(); MAX_DESCRIPTORS];
        send(a.as_fd(), b"x", &fds, Wait::Block).unwrap();
        assert_eq!(received(&b, 16).1.fds.len(), MAX_DESCRIPTORS);
        let fds = vec![a.as_fd(); MAX_DESCRIPTORS + 1];
        let error = send(a.as_fd(), b"x", &fds, Wait::Block).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_stream_fills_the_room_that_is_left() {
        let (a, b) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(send_some(&a, b"abcdef").unwrap(), 6);
        let mut buffer = Vec::with_capacity(4);
        buffer.push(b'>');
        let room = buffer.capacity() - 1;
        assert_eq!(receive(&b, &mut buffer).unwrap(), room.min(6));
        buffer.reserve(8);
        assert_eq!(receive(&b, &mut buffer).unwrap(), 6 - room.min(6));
        assert_eq!(buffer, b">abcdef");
        assert_eq!(receive(&b, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(a);
        assert_eq!(receive(&b, &mut buffer).unwrap(), 0);
        assert_eq!(send_some(&b, b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn descriptors_that_come_with_a_stream_are_closed_aside() {
        let (a, b) = stream_pair().unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        send(a.as_fd(), b"abc", &[writer.as_fd(); 7], Wait::Never).unwrap();
        send(a.as_fd(), b"def", &[], Wait::Never).unwrap();
        drop(writer);
        let mut buffer = Vec::with_capacity(64);
        assert_eq!(receive_local(&b, &mut buffer).unwrap(), (3, true));
        assert_eq!(receive_local(&b, &mut buffer).unwrap(), (3, false));
        assert_eq!(buffer, b"abcdef");
        assert_eq!(receive_local(&b, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(a);
        assert_eq!(receive_local(&b, &mut buffer).unwrap(), (0, false));
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while !crate::poll::has_hung_up(reader.as_fd()) {
            assert!(std::time::Instant::now() < deadline, "they are still open");
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_empty_queue_and_a_full_one_do_not_block() {
        let (a, b) = seqpacket_pair().unwrap();
        let error = recv(b.as_fd(), &mut [0; 8], Wait::Never).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let error = (0..10_000).find_map(|_| send(a.as_fd(), &[0; 1024], &[], Wait::Never).err());
        assert_eq!(error.expect("the queue has a limit").kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_closed_side_is_seen_by_both_calls() {
        let (a, b) = seqpacket_pair().unwrap();
        drop(b);
        assert_eq!(received(&a, 8).1.len, 0);
        let error = send(a.as_fd(), b"x", &[], Wait::Block).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
