//! The kind of a descriptor that another process has sent. Nothing here waits, whatever it is: a file system may be
//! another user's program, which answers when it likes.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, CWD, FileType, OFlags, SealFlags, StatxFlags};
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};

/// The kinds that processes of ours send each other. Closing one waits for nothing but for what others have put into a
/// socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorKind {
    /// Memory of a memfd that cannot be shrunk.
    Memory,
    /// A counter (eventfd).
    Event,
    /// A process (pidfd).
    Process,
    /// A stream socket of this machine.
    Stream,
    /// A socket of this machine that carries datagrams in order (`SOCK_SEQPACKET`).
    Packets,
    /// A socket's file that was not connected to (`O_PATH`).
    SocketFile,
    /// Anything else.
    Other,
}

impl DescriptorKind {
    /// The kind of a descriptor; `Other` where the system does not tell.
    #[must_use]
    pub fn of(fd: impl AsFd) -> Self {
        let fd = fd.as_fd();
        if let Some(kind) = Self::of_socket(fd) {
            return kind;
        }
        if rustix::fs::fcntl_getfl(fd).is_ok_and(|flags| flags.contains(OFlags::PATH)) {
            return if is_socket_file(fd) { Self::SocketFile } else { Self::Other };
        }
        if rustix::fs::fcntl_get_seals(fd).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Self::Memory;
        }
        of_nameless(fd)
    }

    /// The kind of a socket; nothing for any other descriptor, which is known by a single system call.
    #[must_use]
    pub fn of_socket(fd: impl AsFd) -> Option<Self> {
        let fd = fd.as_fd();
        let domain = socket_domain(fd).ok()?;
        // What waits to be accepted would be closed with one that listens.
        let is_local = domain == AddressFamily::UNIX && socket_acceptconn(fd).is_ok_and(|listens| !listens);
        Some(match socket_type(fd) {
            Ok(SocketType::STREAM) if is_local => Self::Stream,
            Ok(SocketType::SEQPACKET) if is_local => Self::Packets,
            _ => Self::Other,
        })
    }
}

/// By what is known already: a file system that would have to be asked is not.
fn is_socket_file(fd: BorrowedFd<'_>) -> bool {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    rustix::fs::statx(fd, c"", flags, StatxFlags::TYPE)
        .is_ok_and(|status| FileType::from_raw_mode(status.stx_mode.into()) == FileType::Socket)
}

/// The name of every eventfd in `/proc`, and of nothing else: names of files begin with a slash.
const EVENT: &[u8] = b"anon_inode:[eventfd]";

/// The kind of a descriptor that the kernel makes without a file: only its name in `/proc` tells.
fn of_nameless(fd: BorrowedFd<'_>) -> DescriptorKind {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    if rustix::fs::readlinkat(CWD, link, Vec::new()).is_ok_and(|name| name.as_bytes() == EVENT) {
        return DescriptorKind::Event;
    }
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).unwrap_or_default();
    if info.lines().any(|line| line.starts_with("Pid:")) {
        DescriptorKind::Process
    } else {
        DescriptorKind::Other
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::fs::OpenOptionsExt;
    use std::os::unix::net::{UnixDatagram, UnixListener};
    use std::path::Path;

    use super::*;
    use crate::eventfd::EventFd;
    use crate::{memory::SharedMemory, process, sealed, socket};

    #[test]
    fn what_ours_send_is_known() {
        let (_, memory) = SharedMemory::create("kind", 4096).unwrap();
        assert_eq!(DescriptorKind::of(memory), DescriptorKind::Memory);
        assert_eq!(DescriptorKind::of(sealed::seal("kind", b"x").unwrap()), DescriptorKind::Memory);
        assert_eq!(DescriptorKind::of(EventFd::new().unwrap()), DescriptorKind::Event);
        assert_eq!(
            DescriptorKind::of(process::pidfd(rustix::process::getpid()).unwrap()),
            DescriptorKind::Process
        );
        assert_eq!(DescriptorKind::of(socket::stream_pair().unwrap().0), DescriptorKind::Stream);
        assert_eq!(DescriptorKind::of(socket::seqpacket_pair().unwrap().0), DescriptorKind::Packets);
        assert_eq!(DescriptorKind::of_socket(socket::stream_pair().unwrap().0), Some(DescriptorKind::Stream));
        assert_eq!(DescriptorKind::of_socket(EventFd::new().unwrap()), None);
    }

    #[test]
    fn a_socket_s_file_is_one_as_long_as_it_is_not_opened() {
        let path = std::env::temp_dir().join(format!("corral-kind-{}.sock", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let place =
            |path: &Path| OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path).unwrap();
        let kind = DescriptorKind::of(place(&path));
        fs::remove_file(&path).unwrap();
        assert_eq!(kind, DescriptorKind::SocketFile);
        assert_eq!(DescriptorKind::of(&listener), DescriptorKind::Other, "it listens");
        assert_eq!(DescriptorKind::of(place(Path::new("/"))), DescriptorKind::Other);
        assert_eq!(DescriptorKind::of(place(Path::new("/dev/null"))), DescriptorKind::Other);
    }

    #[test]
    fn everything_else_is_something_else() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let others = [reader, writer, TcpListener::bind("127.0.0.1:0").unwrap().into()];
        assert!(others.iter().all(|other| DescriptorKind::of(other) == DescriptorKind::Other));
        assert_eq!(DescriptorKind::of(UdpSocket::bind("127.0.0.1:0").unwrap()), DescriptorKind::Other);
        assert_eq!(DescriptorKind::of(UnixDatagram::unbound().unwrap()), DescriptorKind::Other);
        for path in ["/dev/null", "/dev/zero", "/etc/passwd", "/", "/proc/self/status"] {
            assert_eq!(DescriptorKind::of(File::open(path).unwrap()), DescriptorKind::Other, "{path}");
        }
        let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).unwrap();
        assert_eq!(DescriptorKind::of(epoll), DescriptorKind::Other);
        let name = "anon_inode:[eventfd]";
        let folder = std::env::temp_dir().join(format!("corral-kind-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = File::create(folder.join(name)).unwrap();
        assert_eq!(DescriptorKind::of(file), DescriptorKind::Other, "it is only called so");
        fs::remove_dir_all(&folder).unwrap();
        let memory = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        assert_eq!(DescriptorKind::of(memory), DescriptorKind::Other);
        let open = rustix::fs::memfd_create("kind", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
        assert_eq!(DescriptorKind::of(open), DescriptorKind::Other, "it could be shrunk");
    }
}
