//! Where a program is reached: the socket or port that it gets, and what the router gets of that.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use corral_config::plan::ProgramSocket;
use corral_ipc::message::{Endpoint, WorkerId};
use corral_sys::listen;
use corral_sys::poll::{self, Interest};
use corral_sys::signal::Pid;
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::folder::{ProgramFolder, SocketPath};
use crate::port::{self, LocalPort};

/// The socket or port of a program that starts.
#[derive(Debug)]
pub(crate) enum ProgramEndpoint {
    /// A socket that listens already. The listener is here only until the program is ready: no connection shall wait
    /// for a program that has ended. `number` is the descriptor that the socket becomes.
    Inherited { listener: OwnedFd, path: SocketPath, number: RawFd },
    /// A socket that the program makes.
    Unix { path: SocketPath },
    /// A port that the program listens on.
    Port(LocalPort),
    /// A port that it listens on in place of that.
    Strayed(LocalPort),
}

/// The socket or port of a program that is ready.
#[derive(Debug)]
pub(crate) struct OpenEndpoint {
    pub(crate) endpoint: Endpoint,
    /// The socket's file, which is all that the router needs.
    pub(crate) file: Option<OwnedFd>,
    /// Removed when the program has ended.
    pub(crate) path: Option<SocketPath>,
}

/// Where `sd_listen_fds` begins.
const FIRST_DESCRIPTOR: RawFd = 3;

/// The mode of a socket's file: the router runs as another user. Other users cannot enter the folder.
const FOR_THE_ROUTER: u32 = 0o666;

impl ProgramEndpoint {
    /// Makes what can be made before the program starts. `folder` is there unless it is a port.
    pub(crate) fn new(
        socket: &ProgramSocket,
        folder: Option<&ProgramFolder>,
        worker: WorkerId,
    ) -> anyhow::Result<Self> {
        let path = folder.map(|folder| folder.socket(&format!("{}.http", worker.0)));
        match (socket, path) {
            (ProgramSocket::Port { .. }, _) => {
                Ok(Self::Port(LocalPort::v4(port::choose().context("choose a port")?)))
            }
            (ProgramSocket::Inherited, Some(path)) => Self::inherited(path, FIRST_DESCRIPTOR),
            (ProgramSocket::Standard, Some(path)) => Self::inherited(path, 0),
            (ProgramSocket::Unix { .. }, Some(path)) => Ok(Self::Unix { path }),
            (_, None) => bail!("there is no folder for its socket"),
        }
    }

    fn inherited(path: SocketPath, number: RawFd) -> anyhow::Result<Self> {
        let listener = path.with(listen_on).context("make its socket")?;
        Ok(Self::Inherited { listener, path, number })
    }

    /// A connection to the program that need not be accepted yet. Does not block for long.
    pub(crate) fn connect(&self, program: Pid) -> io::Result<OwnedFd> {
        match self {
            Self::Inherited { path, .. } | Self::Unix { path } => {
                let socket = rustix::net::socket_with(
                    AddressFamily::UNIX,
                    SocketType::STREAM,
                    SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
                    None,
                )?;
                path.with(|path| Ok(rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?))?;
                Ok(socket)
            }
            Self::Port(place) | Self::Strayed(place) => {
                let stream = port::connect(*place)?;
                stream.set_nonblocking(true)?;
                if port::is_foreign(place.port, program) {
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process does"));
                }
                Ok(stream.into())
            }
        }
    }

    /// Whether the program has accepted all connections so far; where it listens itself that does not matter.
    pub(crate) fn is_attended(&self) -> bool {
        let Self::Inherited { listener, .. } = self else { return true };
        let waiting = poll::wait(&[(listener.as_fd(), Interest::Read)], Some(Duration::ZERO));
        waiting.is_ok_and(|ready| ready.iter().all(|ready| !ready.readable))
    }

    /// The program is ready.
    pub(crate) fn open(self) -> anyhow::Result<OpenEndpoint> {
        match self {
            Self::Inherited { path, .. } => {
                let file = Some(path.with(open_file)?);
                Ok(OpenEndpoint { endpoint: Endpoint::Socket, file, path: None })
            }
            Self::Unix { path } => {
                let shown = path.path().display();
                let permissions = Permissions::from_mode(FOR_THE_ROUTER);
                fs::set_permissions(path.path(), permissions).with_context(|| format!("open {shown}"))?;
                let file = Some(open_file(path.path()).with_context(|| format!("open {shown}"))?);
                Ok(OpenEndpoint { endpoint: Endpoint::Socket, file, path: Some(path) })
            }
            Self::Port(LocalPort { port, .. }) => {
                Ok(OpenEndpoint { endpoint: Endpoint::Port(port), file: None, path: None })
            }
            Self::Strayed(LocalPort { port, v6 }) => {
                Ok(OpenEndpoint { endpoint: Endpoint::Strayed { port, v6 }, file: None, path: None })
            }
        }
    }

    /// The name of the socket or port in messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Inherited { number, .. } => format!("descriptor {number}"),
            Self::Unix { path } => path.path().display().to_string(),
            Self::Port(place) | Self::Strayed(place) => place.to_string(),
        }
    }
}

/// Blocking, as service managers hand them over: a program that wants another kind can change that.
fn listen_on(path: &Path) -> io::Result<OwnedFd> {
    let listener = listen::unix(path, FOR_THE_ROUTER, None)?;
    let flags = rustix::fs::fcntl_getfl(&listener)?;
    rustix::fs::fcntl_setfl(&listener, flags - OFlags::NONBLOCK)?;
    Ok(listener)
}

/// The file itself, whatever becomes of its name.
fn open_file(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}
