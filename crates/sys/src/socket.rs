//! Socket pairs that carry datagrams and descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

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
/// Those of socketpair(2): no descriptor is left.
pub fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    Ok(pair)
}

/// Whether a descriptor that somebody has sent is a socket as [`stream_pair`] makes them.
#[must_use]
pub fn is_local_stream(fd: BorrowedFd<'_>) -> bool {
    let is_local = socket_domain(fd).is_ok_and(|domain| domain == AddressFamily::UNIX);
    is_local && socket_type(fd).is_ok_and(|kind| kind == SocketType::STREAM)
}

/// Has nobody send descriptors to this Unix socket, or to those that it will accept. Who receives without asking for them
/// closes them, which takes as long as others like for a socket that lingers (`SO_LINGER`). Without effect before Linux
/// 6.16, where that cannot be helped.
pub fn refuse_descriptors(socket: impl AsFd) {
    const SO_PASSRIGHTS: libc::c_int = 83;
    let (no, len) = (0 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open while it is borrowed, and the value has the length that is given.
    unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, SO_PASSRIGHTS, (&raw const no).cast(), len) };
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

/// Appends what a stream has for its reader to the room that is left in `buffer`, which must be some; 0 at the end. Does not
/// wait, whatever the socket's other owners have made of it.
///
/// # Errors
/// Those of recv(2); `WouldBlock` when there is nothing yet.
pub fn receive(socket: impl AsFd, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let (n, _) = rustix::io::retry_on_intr(|| {
        rustix::net::recv(&socket, rustix::buffer::spare_capacity(buffer), RecvFlags::DONTWAIT)
    })?;
    Ok(n)
}

/// Sends as much as there is room for. Does not wait, as `receive`.
///
/// # Errors
/// Those of send(2); `WouldBlock` when there is no room.
pub fn send_some(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    Ok(rustix::io::retry_on_intr(|| rustix::net::send(&socket, bytes, flags))?)
}

/// Sends bytes of a stream that are to be joined with what follows at once (`MSG_MORE`).
///
/// # Errors
/// Those of send(2); `WouldBlock` when there is no room.
pub fn send_more(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = SendFlags::NOSIGNAL | SendFlags::MORE;
    Ok(rustix::io::retry_on_intr(|| rustix::net::send(&socket, bytes, flags))?)
}

/// Receives one datagram with its descriptors.
///
/// # Errors
/// `WouldBlock` when nothing is there and `wait` forbids to wait; `ConnectionReset` when the other
/// side was closed with unread messages in its queue.
pub fn recv(socket: BorrowedFd<'_>, buffer: &mut [u8], wait: Wait) -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags =
        RecvFlags::CMSG_CLOEXEC | if wait == Wait::Never { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
    let message = rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags)
    })?;
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
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    fn received(socket: &OwnedFd, room: usize) -> (Vec<u8>, Received) {
        let mut buffer = vec![0; room];
        let received = recv(socket.as_fd(), &mut buffer, Wait::Block).unwrap();
        buffer.truncate(received.len);
        (buffer, received)
    }

    /// Whether this kernel knows the option.
    fn can_refuse() -> bool {
        let version = rustix::system::uname().release().to_string_lossy().into_owned();
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        (numbers.next(), numbers.next()) >= (Some(6), Some(16))
    }

    #[test]
    fn descriptors_can_be_refused() {
        let (a, b) = stream_pair().unwrap();
        refuse_descriptors(&b);
        send(a.as_fd(), b"x", &[], Wait::Never).unwrap();
        let sent = send(a.as_fd(), b"x", &[a.as_fd()], Wait::Never);
        assert_eq!(sent.is_err(), can_refuse(), "{sent:?}");
        send(b.as_fd(), b"x", &[a.as_fd()], Wait::Never).unwrap();
    }

    #[test]
    fn those_that_are_accepted_refuse_too() {
        let path = std::env::temp_dir().join(format!("corral-refusing-{}.sock", std::process::id()));
        let listener = crate::listen::unix(&path, 0o600, None).unwrap();
        let client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let sent = send(client.as_fd(), b"x", &[client.as_fd()], Wait::Never);
        assert_eq!(sent.is_err(), can_refuse(), "{sent:?}");
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
    fn only_streams_of_this_machine_are_taken_for_some() {
        assert!(is_local_stream(stream_pair().unwrap().0.as_fd()));
        assert!(!is_local_stream(seqpacket_pair().unwrap().0.as_fd()));
        assert!(!is_local_stream(std::net::TcpListener::bind("127.0.0.1:0").unwrap().as_fd()));
        assert!(!is_local_stream(File::open("/dev/null").unwrap().as_fd()));
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
